//! Kernels as the processor runs them: step after step over a tile that stays in its nearest cache. Conditions are one or zero.

use super::functions::{self, One};
use super::kernel::{Binary, Code, Id, Step, Test, Unary};
use cpu::widest::widest;

/// Elements of a tile.
pub const TILE: usize = 512;

/// A function of some floats as a type: what is compiled into the loops.
trait Formula {
    fn at(a: f32, b: f32, c: f32) -> f32;
}

/// What is true as a float.
#[inline(always)]
fn number(holds: bool) -> f32 {
    if holds { 1.0 } else { 0.0 }
}

macro_rules! formulas {
    ($($name:ident = |$a:ident, $b:ident, $c:ident| $body:expr;)*) => { $(
        struct $name;
        impl Formula for $name {
            #[inline(always)]
            fn at($a: f32, $b: f32, $c: f32) -> f32 {
                $body
            }
        }
    )* };
}
formulas! {
    Neg = |a, _b, _c| -a;
    Abs = |a, _b, _c| a.abs();
    Sqrt = |a, _b, _c| a.sqrt();
    Floor = |a, _b, _c| a.floor();
    Ceil = |a, _b, _c| a.ceil();
    Trunc = |a, _b, _c| a.trunc();
    Nearest = |a, _b, _c| a.round_ties_even();
    Sign = |a, _b, _c| functions::sign(&mut One, a);
    Exp = |a, _b, _c| functions::exp(&mut One, a);
    Expm1 = |a, _b, _c| functions::expm1(&mut One, a);
    Log = |a, _b, _c| functions::log(&mut One, a);
    Log1p = |a, _b, _c| functions::log1p(&mut One, a);
    Tanh = |a, _b, _c| functions::tanh(&mut One, a);
    Sigmoid = |a, _b, _c| functions::sigmoid(&mut One, a);
    Erf = |a, _b, _c| functions::erf(&mut One, a);
    Add = |a, b, _c| a + b;
    Sub = |a, b, _c| a - b;
    Mul = |a, b, _c| a * b;
    Div = |a, b, _c| a / b;
    Maximum = |a, b, _c| functions::maximum(&mut One, a, b);
    Minimum = |a, b, _c| functions::minimum(&mut One, a, b);
    Lt = |a, b, _c| number(a < b);
    Le = |a, b, _c| number(a <= b);
    Eq = |a, b, _c| number(a == b);
    Ne = |a, b, _c| number(a != b);
    And = |a, b, _c| a * b;
    Or = |a, b, _c| if a > b { a } else { b };
    Not = |a, _b, _c| 1.0 - a;
    Select = |a, b, c| if a != 0.0 { b } else { c };
}

widest! {
    fn each<F: Formula>(a: &[f32], b: &[f32], c: &[f32], out: &mut [f32]) {
        let n = out.len();
        let (a, b, c) = (&a[..n], &b[..n], &c[..n]);
        for i in 0..n {
            out[i] = F::at(a[i], b[i], c[i]);
        }
    }
}

/// Where the value of a step lies during a tile.
#[derive(Clone, Copy)]
enum Seat {
    Input(u16),
    Slot(u16),
}

/// A step with its operands' seats.
struct Op {
    run: fn(&[f32], &[f32], &[f32], &mut [f32]),
    operands: [Seat; 3],
    slot: u16,
}

/// A kernel's code, laid out for tiles.
pub struct Tiles {
    ops: Vec<Op>,
    /// Slots that hold the same number throughout: of constants, and of inputs that are the same everywhere.
    constants: Vec<(u16, u16)>,
    same: Vec<(u16, u16)>,
    outputs: Vec<Seat>,
    slots: Vec<Vec<f32>>,
}

fn operation(step: &Step) -> Option<(fn(&[f32], &[f32], &[f32], &mut [f32]), [Id; 3])> {
    macro_rules! chosen {
        ($of:expr, $kind:ident: $($name:ident),*) => { match $of { $($kind::$name => each::<$name> as fn(&[f32], &[f32], &[f32], &mut [f32]),)* } };
    }
    Some(match *step {
        Step::Input(_) | Step::Same(_) | Step::Constant(_) | Step::Number(_) => return None,
        Step::Unary(f, a) => {
            let run = chosen!(f, Unary: Neg, Abs, Sqrt, Floor, Ceil, Trunc, Nearest, Sign, Exp, Expm1, Log, Log1p, Tanh, Sigmoid, Erf);
            (run, [a, a, a])
        }
        Step::Binary(f, a, b) => (chosen!(f, Binary: Add, Sub, Mul, Div, Maximum, Minimum), [a, b, b]),
        Step::Test(f, a, b) => (chosen!(f, Test: Lt, Le, Eq, Ne), [a, b, b]),
        Step::And(a, b) => (each::<And>, [a, b, b]),
        Step::Or(a, b) => (each::<Or>, [a, b, b]),
        Step::Not(a) => (each::<Not>, [a, a, a]),
        Step::Select(c, a, b) => (each::<Select>, [c, a, b]),
    })
}

impl Tiles {
    /// Lays out a kernel's code: a slot is used anew once the value in it has been read for the last time.
    pub fn new(code: &Code) -> Tiles {
        let mut last = vec![0; code.steps.len()];
        for (at, step) in code.steps.iter().enumerate() {
            operation(step).into_iter().flat_map(|(_, operands)| operands).for_each(|id| last[id as usize] = at);
        }
        code.outputs.iter().for_each(|id| last[*id as usize] = usize::MAX);
        // A condition's number lies where the condition lies.
        for (at, step) in code.steps.iter().enumerate().rev() {
            if let Step::Number(of) = step {
                last[*of as usize] = last[*of as usize].max(last[at]);
            }
        }
        let (mut seats, mut free, mut count): (Vec<Seat>, Vec<u16>, u16) = (Vec::new(), Vec::new(), 0);
        let mut fresh = |free: &mut Vec<u16>| {
            free.pop().unwrap_or_else(|| {
                count += 1;
                count - 1
            })
        };
        let mut tiles = Tiles { ops: Vec::new(), constants: Vec::new(), same: Vec::new(), outputs: Vec::new(), slots: Vec::new() };
        for (at, step) in code.steps.iter().enumerate() {
            let seat = match step {
                Step::Input(input) => Seat::Input(*input),
                Step::Number(of) => seats[*of as usize],
                Step::Constant(which) => {
                    let slot = fresh(&mut Vec::new());
                    tiles.constants.push((*which, slot));
                    Seat::Slot(slot)
                }
                Step::Same(input) => {
                    let slot = fresh(&mut Vec::new());
                    tiles.same.push((*input, slot));
                    Seat::Slot(slot)
                }
                _ => match operation(step) {
                    Some((run, operands)) => {
                        let slot = fresh(&mut free);
                        tiles.ops.push(Op { run, operands: operands.map(|id| seats[id as usize]), slot });
                        Seat::Slot(slot)
                    }
                    None => Seat::Slot(0),
                },
            };
            seats.push(seat);
            // What has now been read for the last time: the operands of this step, each once.
            let mut done: Vec<Id> = operation(step).map_or(Vec::new(), |(_, operands)| operands.to_vec());
            done.push(at as Id);
            done.sort_unstable();
            done.dedup();
            for id in done {
                let lasting = matches!(code.steps[id as usize], Step::Input(_) | Step::Same(_) | Step::Constant(_) | Step::Number(_));
                let read = last[id as usize] <= at && (id as usize != at || last[at] == 0);
                if let (Seat::Slot(slot), false, true) = (seats[id as usize], lasting, read) {
                    free.push(slot);
                }
            }
        }
        tiles.outputs = code.outputs.iter().map(|id| seats[*id as usize]).collect();
        tiles.slots = vec![vec![0.0; TILE]; count as usize];
        tiles
    }

    /// Fills what is the same in every tile.
    pub fn begin(&mut self, constants: &[f32], same: &[f32]) {
        for (which, slot) in &self.constants {
            self.slots[*slot as usize].fill(constants[*which as usize]);
        }
        for (input, slot) in &self.same {
            self.slots[*slot as usize].fill(same[*input as usize]);
        }
    }

    /// Runs a tile of `n` elements. Inputs that are the same everywhere are not read.
    pub fn run(&mut self, inputs: &[&[f32]], n: usize) {
        for op in &self.ops {
            let mut out = std::mem::take(&mut self.slots[op.slot as usize]);
            {
                let operand = |seat: Seat| match seat {
                    Seat::Input(i) => inputs[i as usize],
                    Seat::Slot(s) => self.slots[s as usize].as_slice(),
                };
                let [a, b, c] = op.operands.map(operand);
                (op.run)(a, b, c, &mut out[..n]);
            }
            self.slots[op.slot as usize] = out;
        }
    }

    /// The input that an output is, where it is one.
    pub fn passes(&self, output: usize) -> Option<usize> {
        match self.outputs[output] {
            Seat::Input(input) => Some(input.into()),
            Seat::Slot(_) => None,
        }
    }

    /// An output of the tile that has just been run, where it is no input.
    pub fn output(&self, output: usize) -> &[f32] {
        match self.outputs[output] {
            Seat::Input(_) => &[],
            Seat::Slot(slot) => &self.slots[slot as usize],
        }
    }
}
