//! From loops to a kernel: a straight line of steps on floats, with where its inputs lie and where its outputs go.
//!
//! A kernel goes through its elements in row-major order, a tile at a time. What does not lie in that order is gathered before the
//! tile's steps and scattered after them; conditions are floats outside of a kernel, one or zero.

use diagnostics::error::{Error, Result};
use loops::address::{Address, address, own_address};
use loops::language::{Kind, Loop, Node, Prim, Ty, View, X};
use loops::schedule::Group;
use std::collections::HashMap;
use std::rc::Rc;
use tensor::Dtype;

/// A value of a kernel: the step that makes it.
pub type Id = u16;

/// A function of one float.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each is what its name says")]
pub enum Unary {
    Neg,
    Abs,
    Sqrt,
    Floor,
    Ceil,
    Trunc,
    Nearest,
    Sign,
    Exp,
    Expm1,
    Log,
    Log1p,
    Tanh,
    Sigmoid,
    Erf,
}

/// A function of two floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each is what its name says")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Maximum,
    Minimum,
}

/// A condition on floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each is what its name says")]
pub enum Test {
    Lt,
    Le,
    Eq,
    Ne,
}

/// A step of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// An input's element.
    Input(u16),
    /// An input that is the same everywhere.
    Same(u16),
    /// A constant, by its position.
    Constant(u16),
    /// A function of one.
    Unary(Unary, Id),
    /// A function of two.
    Binary(Binary, Id, Id),
    /// A condition.
    Test(Test, Id, Id),
    /// Both conditions.
    And(Id, Id),
    /// One of them.
    Or(Id, Id),
    /// The opposite.
    Not(Id),
    /// A value by a condition.
    Select(Id, Id, Id),
    /// A condition as a number.
    Number(Id),
}

/// The part of a kernel that does not depend on sizes, places or constants.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Code {
    /// Steps, each of which reads earlier ones.
    pub steps: Vec<Step>,
    /// How many inputs there are.
    pub inputs: u16,
    /// How many constants there are.
    pub constants: u16,
    /// The values that go out.
    pub outputs: Vec<Id>,
}

/// How the elements of a region are met in row-major order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Walk {
    /// Side by side from an offset on.
    Flat(usize),
    /// One for all.
    Same(usize),
    /// By sizes, strides and an offset.
    Strided(Vec<usize>, Vec<isize>, isize),
}

impl Walk {
    fn of(sizes: &[i64], strides: &[i64], offset: i64) -> Result<Walk> {
        let outside = || Error::not_implemented("a region before its storage");
        let at = usize::try_from(offset).map_err(|_| outside())?;
        // Neighbours that one stride covers are one.
        let mut dims: Vec<(i64, i64)> = Vec::new();
        for (&size, &stride) in sizes.iter().zip(strides).filter(|(size, _)| **size != 1) {
            match dims.last_mut() {
                Some((have, outer)) if *outer == stride * size => {
                    *have *= size;
                    *outer = stride;
                }
                _ => dims.push((size, stride)),
            }
        }
        Ok(match dims.as_slice() {
            [] => Walk::Same(at),
            [(_, 1)] => Walk::Flat(at),
            dims if dims.iter().all(|(_, stride)| *stride == 0) => Walk::Same(at),
            dims => Walk::Strided(
                dims.iter().map(|(size, _)| *size as usize).collect(),
                dims.iter().map(|(_, stride)| *stride as isize).collect(),
                offset as isize,
            ),
        })
    }
}

/// Where an input or output of a kernel lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The storage, by its index in the program.
    pub storage: usize,
    /// Whether it holds bools.
    pub truth: bool,
    /// How its elements are met.
    pub walk: Walk,
}

/// A kernel.
pub struct Kernel {
    /// What it computes.
    pub code: Code,
    /// Constants.
    pub constants: Vec<f32>,
    /// Where inputs lie.
    pub inputs: Vec<Place>,
    /// Where outputs go, one for each of the code.
    pub outputs: Vec<Place>,
    /// How many elements there are.
    pub elements: usize,
}

/// Why a loop cannot be part of a kernel.
///
/// # Errors
/// The reason.
pub fn takes(prim: &Prim) -> Result<()> {
    let mut builder = Builder::new(prim.out.numel());
    builder.pointwise(prim).map(drop)
}

/// The kernel of loops over the same elements. `stored` says of which the elements are wanted by others.
///
/// # Errors
/// Where there is something in them that a kernel has no step for.
pub fn write(group: &Group, stored: &dyn Fn(&Prim) -> bool) -> Result<Kernel> {
    let mut builder = Builder::new(group.root.out.numel());
    for prim in group.prims() {
        let value = builder.pointwise(prim)?;
        if stored(prim) {
            builder.store(&prim.out, value)?;
        }
    }
    let Builder { steps, constants, inputs, outputs, elements, .. } = builder;
    let code = Code {
        steps,
        inputs: inputs.len() as u16,
        constants: constants.len() as u16,
        outputs: outputs.iter().map(|(_, id)| *id).collect(),
    };
    Ok(Kernel { code, constants, inputs, outputs: outputs.into_iter().map(|(place, _)| place).collect(), elements })
}

/// Steps beyond which a kernel is not written.
const MAX_STEPS: usize = 4096;

struct Builder {
    steps: Vec<Step>,
    known: HashMap<Step, Id>,
    constants: Vec<f32>,
    inputs: Vec<Place>,
    outputs: Vec<(Place, Id)>,
    /// Elements that earlier loops have computed.
    registers: HashMap<(usize, Address), (Id, bool)>,
    /// Expressions of the loop that have a value: many stand in several places.
    seen: HashMap<*const Node, Id>,
    elements: usize,
}

fn unknown(what: &str) -> Error {
    Error::not_implemented(format!("a kernel on the CPU has no {what}"))
}

impl Builder {
    fn new(elements: i64) -> Self {
        Builder {
            steps: Vec::new(),
            known: HashMap::new(),
            constants: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            registers: HashMap::new(),
            seen: HashMap::new(),
            elements: elements.max(0) as usize,
        }
    }

    fn step(&mut self, step: Step) -> Result<Id> {
        if let Some(id) = self.known.get(&step) {
            return Ok(*id);
        }
        if self.steps.len() >= MAX_STEPS {
            return Err(unknown("room for so many steps"));
        }
        let id = self.steps.len() as Id;
        self.steps.push(step);
        self.known.insert(step, id);
        Ok(id)
    }

    fn number(&mut self, v: f32) -> Result<Id> {
        let at = self.constants.iter().position(|c| c.to_bits() == v.to_bits()).unwrap_or_else(|| {
            self.constants.push(v);
            self.constants.len() - 1
        });
        self.step(Step::Constant(at as u16))
    }

    /// The value of a pointwise loop, as its region's dtype holds it.
    fn pointwise(&mut self, prim: &Prim) -> Result<Id> {
        let Loop::Pointwise(body) = &prim.body else { return Err(unknown("step for a reduction")) };
        let truth = truth_of(&prim.out)?;
        self.seen.clear();
        let value = self.x(body, &prim.out.sizes)?;
        let value = match (body.ty(), truth) {
            (Ty::Float, true) => {
                let zero = self.number(0.0)?;
                self.step(Step::Test(Test::Ne, value, zero))?
            }
            (Ty::Bool, false) => self.step(Step::Number(value))?,
            (Ty::Int, _) => return Err(unknown("integers")),
            _ => value,
        };
        if let Some(at) = own_address(&prim.out) {
            self.registers.insert((prim.out.storage, at), (value, truth));
        }
        Ok(value)
    }

    fn store(&mut self, out: &View, value: Id) -> Result<()> {
        let truth = truth_of(out)?;
        let value = if truth { self.step(Step::Number(value))? } else { value };
        let walk = match Walk::of(&out.sizes, &out.strides, out.offset)? {
            // One element is where it is.
            Walk::Same(at) if self.elements <= 1 => Walk::Flat(at),
            Walk::Same(_) => return Err(unknown("region that is written over and over")),
            walk => walk,
        };
        self.outputs.push((Place { storage: out.storage, truth, walk }, value));
        Ok(())
    }

    fn load(&mut self, view: &View, index: &[X], sizes: &[i64]) -> Result<Id> {
        let at = address(view, index, sizes).ok_or_else(|| unknown("index that depends on data or coordinates"))?;
        if let Some((id, _)) = self.registers.get(&(view.storage, at.clone())) {
            return Ok(*id);
        }
        let walk = match &at {
            Address::Flat(offset) => Walk::of(&[self.elements as i64], &[1], *offset)?,
            Address::Affine(sizes, strides, offset) => Walk::of(sizes, strides, *offset)?,
        };
        let truth = truth_of(view)?;
        let same = matches!(walk, Walk::Same(_));
        let place = Place { storage: view.storage, truth, walk };
        let input = self.inputs.iter().position(|p| *p == place).unwrap_or_else(|| {
            self.inputs.push(place);
            self.inputs.len() - 1
        }) as u16;
        let value = self.step(if same { Step::Same(input) } else { Step::Input(input) })?;
        if !truth {
            return Ok(value);
        }
        let zero = self.number(0.0)?;
        self.step(Step::Test(Test::Ne, value, zero))
    }

    fn x(&mut self, x: &X, sizes: &[i64]) -> Result<Id> {
        if let Some(id) = self.seen.get(&Rc::as_ptr(&x.0)) {
            return Ok(*id);
        }
        let id = self.compute(x, sizes)?;
        self.seen.insert(Rc::as_ptr(&x.0), id);
        Ok(id)
    }

    fn compute(&mut self, x: &X, sizes: &[i64]) -> Result<Id> {
        match &x.0.kind {
            Kind::Float(v) => self.number(*v),
            Kind::Bool(v) => {
                let (v, zero) = (self.number(f32::from(u8::from(*v)))?, self.number(0.0)?);
                self.step(Step::Test(Test::Ne, v, zero))
            }
            Kind::Int(_) | Kind::Coord(_) | Kind::Over(_) => Err(unknown("integers")),
            Kind::Load(view, index) => self.load(view, index, sizes),
            Kind::Infix(op, a, b) => self.infix(op, a, b, sizes),
            Kind::Call(name, args) => self.call(name, args, sizes),
            Kind::Prefix(op, a) => {
                let (value, ty) = (self.x(a, sizes)?, a.ty());
                match (*op, ty) {
                    ("-", Ty::Float) => self.step(Step::Unary(Unary::Neg, value)),
                    ("!", Ty::Bool) => self.step(Step::Not(value)),
                    _ => Err(unknown("integers")),
                }
            }
            Kind::Select(c, a, b) => {
                let (c, a, b) = (self.x(c, sizes)?, self.x(a, sizes)?, self.x(b, sizes)?);
                match x.ty() {
                    Ty::Float => self.step(Step::Select(c, a, b)),
                    Ty::Bool => {
                        let (both, other) = (self.step(Step::And(c, a))?, self.step(Step::Not(c))?);
                        let other = self.step(Step::And(other, b))?;
                        self.step(Step::Or(both, other))
                    }
                    Ty::Int => Err(unknown("integers")),
                }
            }
            Kind::Cast(a) => {
                let value = self.x(a, sizes)?;
                match (a.ty(), x.ty()) {
                    (Ty::Bool, Ty::Float) => self.step(Step::Number(value)),
                    (Ty::Float, Ty::Bool) => {
                        let zero = self.number(0.0)?;
                        self.step(Step::Test(Test::Ne, value, zero))
                    }
                    _ => Err(unknown("integers")),
                }
            }
        }
    }

    fn infix(&mut self, op: &str, a: &X, b: &X, sizes: &[i64]) -> Result<Id> {
        if [a, b].into_iter().any(|x| x.ty() == Ty::Int) {
            return Err(unknown("integers"));
        }
        let (left, right) = (self.x(a, sizes)?, self.x(b, sizes)?);
        self.step(match op {
            "+" => Step::Binary(Binary::Add, left, right),
            "-" => Step::Binary(Binary::Sub, left, right),
            "*" => Step::Binary(Binary::Mul, left, right),
            "/" => Step::Binary(Binary::Div, left, right),
            "<" => Step::Test(Test::Lt, left, right),
            "<=" => Step::Test(Test::Le, left, right),
            ">" => Step::Test(Test::Lt, right, left),
            ">=" => Step::Test(Test::Le, right, left),
            "==" => Step::Test(Test::Eq, left, right),
            "!=" => Step::Test(Test::Ne, left, right),
            "&&" => Step::And(left, right),
            "||" => Step::Or(left, right),
            _ => return Err(unknown("integers")),
        })
    }

    fn call(&mut self, name: &str, args: &[X], sizes: &[i64]) -> Result<Id> {
        if args.iter().any(|x| x.ty() != Ty::Float) {
            return Err(unknown("integers"));
        }
        // The tests of floats ask how large they are.
        let values: Vec<Id> = args.iter().map(|x| self.x(x, sizes)).collect::<Result<_>>()?;
        let unary = match (name, values.as_slice()) {
            ("nan_max", [a, b]) => return self.step(Step::Binary(Binary::Maximum, *a, *b)),
            ("nan_min", [a, b]) => return self.step(Step::Binary(Binary::Minimum, *a, *b)),
            ("is_nan", [a]) => return self.step(Step::Test(Test::Ne, *a, *a)),
            ("is_inf" | "is_finite", [a]) => {
                let (size, infinite) = (self.step(Step::Unary(Unary::Abs, *a))?, self.number(f32::INFINITY)?);
                return self.step(Step::Test(if name == "is_inf" { Test::Eq } else { Test::Lt }, size, infinite));
            }
            ("abs", _) => Unary::Abs,
            ("sqrt", _) => Unary::Sqrt,
            ("floor", _) => Unary::Floor,
            ("ceil", _) => Unary::Ceil,
            ("trunc", _) => Unary::Trunc,
            ("round", _) => Unary::Nearest,
            ("sign", _) => Unary::Sign,
            ("exp", _) => Unary::Exp,
            ("expm1", _) => Unary::Expm1,
            ("log", _) => Unary::Log,
            ("log1p", _) => Unary::Log1p,
            ("tanh_of", _) => Unary::Tanh,
            ("sigmoid", _) => Unary::Sigmoid,
            ("erf", _) => Unary::Erf,
            _ => return Err(unknown(name)),
        };
        let [value] = values.as_slice() else { return Err(unknown(name)) };
        self.step(Step::Unary(unary, *value))
    }
}

/// Whether a region holds bools.
///
/// # Errors
/// Where it holds neither them nor single precision.
fn truth_of(view: &View) -> Result<bool> {
    match view.dtype {
        Dtype::Float32 => Ok(false),
        Dtype::Bool => Ok(true),
        other => Err(unknown(&format!("elements of {}", other.name()))),
    }
}
