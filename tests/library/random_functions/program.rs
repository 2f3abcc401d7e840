//! A random function of tensors: inputs that may share memory, views, writes, `detach`, `no_grad`, several outputs. It can be run,
//! and written as a Python script for PyTorch.

use aot_playground::dispatch::{Modes, Value, call, fill_args, lookup, modes, set_modes};
use aot_playground::error::Result;
use aot_playground::tensor::Tensor;
use std::fmt::Write;

/// A small generator of random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// An argument of a call.
#[derive(Clone)]
pub enum Arg {
    Var(usize),
    Int(i64),
    Float(f64),
    Ints(Vec<i64>),
}

/// A call of an operator; a new variable holds its result, or the one of several that is picked. A write makes none.
#[derive(Clone)]
pub struct Step {
    op: &'static str,
    args: Vec<Arg>,
    no_grad: bool,
    pick: Option<usize>,
    writes: bool,
}

/// How an input is made.
#[derive(Clone, Copy)]
pub enum Input {
    /// A leaf of its own, which may require grad.
    Leaf { requires_grad: bool },
    /// A copy of the first half of the common leaf.
    Copy,
    /// Twelve elements of the common base, from the given one on.
    Part { start: i64 },
    /// Three of five columns of a matrix in the common base.
    Columns { start: i64 },
    /// An earlier input once more.
    Again(usize),
}

/// What is done to an output before the backward.
#[derive(Clone, Copy, PartialEq)]
pub enum Afterwards {
    Nothing,
    /// It is written to, and autograd sees it.
    Write,
}

pub struct Program {
    pub inputs: Vec<Input>,
    pub leaf_requires_grad: bool,
    pub steps: Vec<Step>,
    pub outputs: Vec<usize>,
    pub afterwards: Afterwards,
    pub keep_input_mutations: bool,
    pub min_cut: bool,
}

struct Generator {
    random: Random,
    /// Shapes of variables, and whether elements of one may share memory.
    live: Vec<(Vec<i64>, bool)>,
    steps: Vec<Step>,
}

impl Generator {
    fn bind(&mut self, op: &'static str, args: Vec<Arg>, shape: Vec<i64>, overlaps: bool) {
        let no_grad = self.random.chance(10);
        self.steps.push(Step { op, args, no_grad, pick: None, writes: false });
        self.live.push((shape, overlaps));
    }

    fn view(&mut self, of: usize) {
        let (shape, overlaps) = self.live[of].clone();
        let v = Arg::Var(of);
        let ints = |v: &[i64]| Arg::Ints(v.to_vec());
        let matrix = shape.len() == 2;
        match self.random.below(15) {
            0 if matrix => self.bind("aten.t.default", vec![v], vec![shape[1], shape[0]], overlaps),
            1 if matrix => self.bind("aten.transpose.int", vec![v, Arg::Int(0), Arg::Int(-1)], vec![shape[1], shape[0]], overlaps),
            2 if matrix => {
                let dim = self.random.below(2);
                let index = self.random.below(shape[dim] as usize) as i64;
                self.bind("aten.select.int", vec![v, Arg::Int(dim as i64), Arg::Int(index)], vec![shape[1 - dim]], overlaps);
            }
            3 if matrix => {
                let offset = self.random.below(2) as i64;
                let length = shape[0].min(shape[1] - offset);
                if length > 0 {
                    let args = vec![v, Arg::Int(offset), Arg::Int(0), Arg::Int(1)];
                    self.bind("aten.diagonal.default", args, vec![length], overlaps);
                }
            }
            4 | 5 => {
                let dim = self.random.below(shape.len());
                let step = if self.random.chance(20) { 2 } else { 1 };
                let start = self.random.below(shape[dim] as usize) as i64;
                let mut sizes = shape.clone();
                sizes[dim] = (shape[dim] - start + step - 1) / step;
                let args = vec![v, Arg::Int(dim as i64), Arg::Int(start), Arg::Int(i64::MAX), Arg::Int(step)];
                self.bind("aten.slice.Tensor", args, sizes, overlaps);
            }
            6 => self.bind("aten.view.default", vec![v, ints(&[shape.iter().product()])], vec![shape.iter().product()], overlaps),
            7 => self.bind("aten.reshape.default", vec![v, ints(&[-1])], vec![shape.iter().product()], overlaps),
            8 if shape.len() == 1 => {
                let dim = self.random.below(2);
                let mut sizes = shape.clone();
                sizes.insert(dim, 1);
                self.bind("aten.unsqueeze.default", vec![v, Arg::Int(dim as i64)], sizes, overlaps);
            }
            9 if matrix && shape.contains(&1) => {
                let dim = usize::from(shape[0] != 1);
                self.bind("aten.squeeze.dim", vec![v, Arg::Int(dim as i64)], vec![shape[1 - dim]], overlaps);
            }
            10 if shape.len() == 1 => {
                let sizes = vec![2, shape[0]];
                self.bind("aten.expand.default", vec![v, ints(&sizes)], sizes, true);
            }
            11 if matrix => {
                let dim = self.random.below(2);
                let index = self.random.below(shape[dim] as usize);
                let no_grad = self.random.chance(15);
                let args = vec![v, Arg::Int(dim as i64)];
                self.steps.push(Step { op: "aten.unbind.int", args, no_grad, pick: Some(index), writes: false });
                self.live.push((vec![shape[1 - dim]], overlaps));
            }
            12 if shape[0] > 1 => {
                let no_grad = self.random.chance(15);
                let (args, index) = (vec![v, Arg::Int(1), Arg::Int(0)], self.random.below(shape[0] as usize));
                self.steps.push(Step { op: "aten.split.Tensor", args, no_grad, pick: Some(index), writes: false });
                let mut sizes = shape;
                sizes[0] = 1;
                self.live.push((sizes, overlaps));
            }
            13 => self.bind("aten.alias.default", vec![v], shape, overlaps),
            _ => {
                let mut dims: Vec<i64> = (0..shape.len() as i64).collect();
                dims.reverse();
                let sizes = shape.iter().rev().copied().collect();
                self.bind("aten.permute.default", vec![v, ints(&dims)], sizes, overlaps);
            }
        }
    }

    /// A variable with the same shape.
    fn twin(&mut self, of: usize) -> usize {
        let twins: Vec<usize> = (0..self.live.len()).filter(|i| self.live[*i].0 == self.live[of].0).collect();
        self.random.pick(&twins)
    }

    fn write(&mut self, target: usize) {
        if self.live[target].1 {
            return;
        }
        let (v, other) = (Arg::Var(target), Arg::Var(self.twin(target)));
        let number = Arg::Float(self.random.pick(&[0.75, -0.5, 1.25]));
        let (op, args) = match self.random.below(7) {
            0 => ("aten.mul_.Tensor", vec![v, number]),
            1 => ("aten.add_.Tensor", vec![v, other]),
            2 => ("aten.sin_.default", vec![v]),
            3 => ("aten.copy_.default", vec![v, other]),
            4 => ("aten.fill_.Scalar", vec![v, number]),
            5 => ("aten.zero_.default", vec![v]),
            _ => ("aten.mul_.Tensor", vec![v, other]),
        };
        let no_grad = self.random.chance(20);
        self.steps.push(Step { op, args, no_grad, pick: None, writes: true });
    }

    fn step(&mut self) {
        let of = self.random.below(self.live.len());
        let shape = self.live[of].0.clone();
        let v = Arg::Var(of);
        match self.random.below(16) {
            0 => self.bind("aten.sin.default", vec![v], shape, false),
            1 => self.bind("aten.exp.default", vec![v], shape, false),
            2 => {
                let other = Arg::Var(self.twin(of));
                self.bind("aten.mul.Tensor", vec![v, other], shape, false);
            }
            3 => self.bind("aten.add.Tensor", vec![v, Arg::Float(0.5)], shape, false),
            4 => self.bind("aten.clone.default", vec![v], shape, false),
            5 => self.bind("aten.contiguous.default", vec![v], shape, self.live[of].1),
            6 | 7 => self.bind("aten.detach.default", vec![v], shape, self.live[of].1),
            8..=11 => self.view(of),
            _ => self.write(of),
        }
    }
}

impl Program {
    /// The program of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let related = random.chance(40);
        let mut inputs = Vec::new();
        for i in 0..1 + random.below(3) {
            inputs.push(match (related, random.below(10)) {
                (_, 0) if i > 0 => Input::Again(random.below(i)),
                (true, 1 | 2) => Input::Columns { start: random.below(3) as i64 },
                (true, _) => Input::Part { start: random.pick(&[0, 6, 12]) },
                (false, 1..=3) => Input::Leaf { requires_grad: false },
                (false, 4 | 5) => Input::Leaf { requires_grad: true },
                (false, _) => Input::Copy,
            });
        }
        let leaf_requires_grad = random.chance(75);
        let live = inputs.iter().map(|i| (if matches!(i, Input::Columns { .. }) { vec![4, 3] } else { vec![3, 4] }, false)).collect();
        let mut g = Generator { random, live, steps: Vec::new() };
        for (i, input) in inputs.iter().enumerate() {
            if let Input::Again(of) = input {
                g.live[i] = g.live[*of].clone();
            }
        }
        for _ in 0..3 + g.random.below(8) {
            g.step();
        }
        let outputs = (0..1 + g.random.below(4)).map(|_| g.random.below(g.live.len())).collect();
        let afterwards = if g.random.chance(15) { Afterwards::Write } else { Afterwards::Nothing };
        let (keep_input_mutations, min_cut) = (g.random.chance(50), g.random.chance(50));
        Program { inputs, leaf_requires_grad, steps: g.steps, outputs, afterwards, keep_input_mutations, min_cut }
    }

    /// Runs it.
    pub fn run(&self, inputs: &[Tensor]) -> Result<Vec<Value>> {
        let mut variables = inputs.to_vec();
        for step in &self.steps {
            let args = step.args.iter().map(|a| match a {
                Arg::Var(i) => Value::from(&variables[*i]),
                Arg::Int(i) => Value::from(*i),
                Arg::Float(f) => Value::from(*f),
                Arg::Ints(v) => Value::from(v.as_slice()),
            });
            let before = modes();
            if step.no_grad {
                set_modes(Modes { grad: false, ..before });
            }
            let result = invoke(step.op, args.collect());
            set_modes(before);
            match (result?, step.pick) {
                _ if step.writes => {}
                (Value::List(items), Some(i)) => variables.push(items[i].tensor()?.clone()),
                (result, _) => variables.push(result.into_tensor()?),
            }
        }
        Ok(self.outputs.iter().map(|i| Value::from(&variables[*i])).collect())
    }

    /// It as the body of a Python function `f`.
    pub fn body(&self) -> String {
        let name = |i: usize| if i < self.inputs.len() { format!("a{i}") } else { format!("v{i}") };
        let mut text = String::new();
        let mut next = self.inputs.len();
        for step in &self.steps {
            let args = step.args.iter().map(|a| match a {
                Arg::Var(i) => name(*i),
                Arg::Int(i) => i.to_string(),
                Arg::Float(f) => f.to_string(),
                Arg::Ints(v) => format!("{v:?}"),
            });
            if step.no_grad {
                text.push_str("    with torch.no_grad():\n    ");
            }
            let call = format!("torch.ops.{}({})", step.op, args.collect::<Vec<_>>().join(", "));
            match (step.writes, step.pick) {
                (true, _) => writeln!(text, "    {call}").unwrap(),
                (_, Some(i)) => writeln!(text, "    {} = {call}[{i}]", name(next)).unwrap(),
                _ => writeln!(text, "    {} = {call}", name(next)).unwrap(),
            }
            next += usize::from(!step.writes);
        }
        let outputs: Vec<String> = self.outputs.iter().map(|i| name(*i)).collect();
        let parameters: Vec<String> = (0..self.inputs.len()).map(name).collect();
        format!("def f({}):\n{text}    return [{}]\n", parameters.join(", "), outputs.join(", "))
    }
}

/// Calls an operator by name.
pub fn invoke(op: &str, args: Vec<Value>) -> Result<Value> {
    let entry = lookup(op).unwrap_or_else(|| panic!("there is no operator {op}"));
    call(entry, fill_args(entry, args, &[])?)
}
