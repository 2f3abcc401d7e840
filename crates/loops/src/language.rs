//! The loop language that operators are lowered to: scalar expressions over coordinates, and the few loops they run in
//! ([`nest`](super::nest)).
//!
//! A [`Prim`] writes one strided region of one storage. Its body says what an element is, in terms of the element's
//! coordinates and of loads from other storages through views; a view of a tensor therefore never needs a kernel. What
//! cannot be said this way has no lowering here and runs on the CPU.

pub use super::nest::{Attention, Combine, Loop, Part, Prim, Slopes};
use diagnostics::error::{Error, Result};
use dispatch::Value;
use std::rc::Rc;
use tensor::{Category, Concrete, Dtype};

/// The type of a scalar in a loop. int64 is computed in 32 bits and float64 in float32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// `f32`
    Float,
    /// `i32`
    Int,
    /// `bool`
    Bool,
}

impl Ty {
    /// What elements of a dtype are computed in; `None` where there is nothing for it.
    pub fn of(dtype: Dtype) -> Option<Ty> {
        Some(match dtype.category() {
            Category::Bool => Ty::Bool,
            Category::Integral => Ty::Int,
            Category::Floating if dtype.is_float8() => return None,
            Category::Floating => Ty::Float,
            Category::Complex => return None,
        })
    }
}

/// A strided region of a storage, in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// Index of the storage in the program.
    pub storage: usize,
    /// Sizes.
    pub sizes: Vec<i64>,
    /// Strides in elements.
    pub strides: Vec<i64>,
    /// First element.
    pub offset: i64,
    /// Element type.
    pub dtype: Dtype,
}

/// Row-major strides.
pub fn row_major(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; sizes.len()];
    for d in (0..sizes.len().saturating_sub(1)).rev() {
        strides[d] = strides[d + 1] * sizes[d + 1].max(1);
    }
    strides
}

impl View {
    /// A view of a storage with a tensor's geometry.
    pub fn new(storage: usize, geometry: &Concrete, dtype: Dtype) -> View {
        View {
            storage,
            sizes: geometry.sizes.iter().map(|s| *s as i64).collect(),
            strides: geometry.strides.iter().map(|s| *s as i64).collect(),
            offset: geometry.offset as i64,
            dtype,
        }
    }
    /// Number of elements.
    pub fn numel(&self) -> i64 {
        self.sizes.iter().product()
    }
    /// Number of dimensions.
    pub fn dim(&self) -> usize {
        self.sizes.len()
    }
    /// Elements of storage from its first to its last, both included.
    pub fn extent(&self) -> i64 {
        if self.numel() == 0 { 0 } else { 1 + self.sizes.iter().zip(&self.strides).map(|(s, t)| (s - 1) * t).sum::<i64>() }
    }
    /// Whether elements lie in row-major order without gaps.
    pub fn is_row_major(&self) -> bool {
        let strides = row_major(&self.sizes);
        (0..self.dim()).all(|d| self.sizes[d] == 1 || self.strides[d] == strides[d]) || self.numel() == 0
    }
    /// Whether every element of the region has its own place and the region has no gaps.
    pub fn is_dense(&self) -> bool {
        let mut dims: Vec<_> = (0..self.dim()).filter(|d| self.sizes[*d] != 1).collect();
        dims.sort_by_key(|d| self.strides[*d]);
        let mut expected = 1;
        dims.iter().all(|&d| {
            let fits = self.strides[d] == expected;
            expected *= self.sizes[d];
            fits
        })
    }
    /// The dimension `dim` split in two, the first of `outer` elements.
    pub fn split(&self, dim: usize, outer: i64) -> View {
        let mut v = self.clone();
        let inner = self.sizes[dim] / outer.max(1);
        v.sizes[dim] = outer;
        v.strides[dim] = self.strides[dim] * inner;
        v.sizes.insert(dim + 1, inner);
        v.strides.insert(dim + 1, self.strides[dim]);
        v
    }
    /// Part of one dimension.
    pub fn narrow(&self, dim: usize, start: i64, length: i64) -> View {
        let mut v = self.clone();
        v.offset += start * v.strides[dim];
        v.sizes[dim] = length;
        v
    }
    /// Without the dimensions for which `drop` is true.
    pub fn without(&self, drop: impl Fn(usize) -> bool) -> View {
        let mut v = self.clone();
        let keep: Vec<usize> = (0..self.dim()).filter(|d| !drop(*d)).collect();
        v.sizes = keep.iter().map(|d| self.sizes[*d]).collect();
        v.strides = keep.iter().map(|d| self.strides[*d]).collect();
        v
    }
    /// The element at the given coordinates.
    pub fn at(&self, index: Vec<X>) -> X {
        X(Rc::new(Node { ty: Ty::of(self.dtype).unwrap_or(Ty::Float), kind: Kind::Load(self.clone(), index) }))
    }
    /// The element at the output's coordinates, broadcast to a rank as PyTorch broadcasts.
    pub fn broadcast(&self, rank: usize) -> X {
        let skip = rank - self.dim().min(rank);
        self.at((0..self.dim()).map(|d| if self.sizes[d] == 1 { int(0) } else { coord(skip + d) }).collect())
    }
    /// The element at the output's coordinates, one for each dimension.
    pub fn here(&self) -> X {
        self.at((0..self.dim()).map(coord).collect())
    }
}

/// One node of a scalar expression.
#[derive(Debug)]
pub struct Node {
    /// Its type.
    pub ty: Ty,
    /// What it is.
    pub kind: Kind,
}

/// What a scalar expression is.
#[derive(Debug)]
pub enum Kind {
    /// A constant; `inf` and NaN too.
    Float(f32),
    /// A constant.
    Int(i32),
    /// A constant.
    Bool(bool),
    /// A coordinate of the element that is computed.
    Coord(usize),
    /// A coordinate of the loop that is reduced over.
    Over(usize),
    /// A load.
    Load(View, Vec<X>),
    /// An operator between two, written between them.
    Infix(&'static str, X, X),
    /// A function by its name, which every writer has a text for.
    Call(&'static str, Vec<X>),
    /// `-x`, `!x`, `~x`
    Prefix(&'static str, X),
    /// `if c { a } else { b }`
    Select(X, X, X),
    /// A conversion to the node's type.
    Cast(X),
}

/// A scalar expression.
#[derive(Clone, Debug)]
pub struct X(pub Rc<Node>);

fn node(ty: Ty, kind: Kind) -> X {
    X(Rc::new(Node { ty, kind }))
}

/// A float constant.
pub fn float(v: f64) -> X {
    node(Ty::Float, Kind::Float(v as f32))
}
/// An integer constant that fits in 32 bits by construction.
pub fn int(v: i64) -> X {
    node(Ty::Int, Kind::Int(v.clamp(i32::MIN.into(), i32::MAX.into()) as i32))
}
/// A boolean constant.
pub fn truth(v: bool) -> X {
    node(Ty::Bool, Kind::Bool(v))
}
/// A coordinate of the output.
pub fn coord(d: usize) -> X {
    node(Ty::Int, Kind::Coord(d))
}
/// A coordinate of the reduction.
pub fn over(d: usize) -> X {
    node(Ty::Int, Kind::Over(d))
}
/// A number of the script. An integer that 32 bits do not hold is refused, so that the operator runs on the CPU.
pub fn scalar(value: &Value) -> Result<X> {
    Ok(match value {
        Value::Bool(b) => truth(*b),
        Value::Int(i) => {
            let i = i.guard_int()?;
            i32::try_from(i).map_err(|_| Error::not_implemented(format!("{i} does not fit in 32 bits")))?;
            int(i)
        }
        Value::Float(v) => float(*v),
        other => return Err(Error::not_implemented(format!("a {} in a kernel", other.kind()))),
    })
}

impl X {
    /// Its type.
    pub fn ty(&self) -> Ty {
        self.0.ty
    }
    /// Converted to a type.
    pub fn cast(&self, ty: Ty) -> X {
        match (&self.0.kind, ty) {
            _ if self.ty() == ty => self.clone(),
            (Kind::Int(v), Ty::Float) => node(ty, Kind::Float(*v as f32)),
            (Kind::Bool(v), Ty::Float) => float(f64::from(u8::from(*v))),
            (Kind::Bool(v), Ty::Int) => int((*v).into()),
            (Kind::Int(v), Ty::Bool) => truth(*v != 0),
            (Kind::Float(v), Ty::Bool) => truth(*v != 0.0),
            (Kind::Float(v), Ty::Int) => node(ty, Kind::Int(*v as i32)),
            _ => node(ty, Kind::Cast(self.clone())),
        }
    }
    /// As a float.
    pub fn f(&self) -> X {
        self.cast(Ty::Float)
    }
    /// As an integer.
    pub fn i(&self) -> X {
        self.cast(Ty::Int)
    }
    /// As a boolean.
    pub fn b(&self) -> X {
        self.cast(Ty::Bool)
    }
    /// The constant, where it is an integer one.
    pub fn as_int(&self) -> Option<i64> {
        match self.0.kind {
            Kind::Int(v) => Some(v.into()),
            _ => None,
        }
    }
    fn unify(&self, other: &X) -> (X, X) {
        let ty = match (self.ty(), other.ty()) {
            (Ty::Float, _) | (_, Ty::Float) => Ty::Float,
            _ => Ty::Int,
        };
        (self.cast(ty), other.cast(ty))
    }
    fn infix(&self, op: &'static str, other: &X) -> X {
        let (a, b) = self.unify(other);
        if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
            match op {
                "+" => return int(x + y),
                "-" => return int(x - y),
                "*" => return int(x * y),
                "/" if y != 0 => return int(x / y),
                "%" if y != 0 => return int(x % y),
                _ => {}
            }
        }
        // A compiler of kernels may refuse an operation of constants that overflows: it is done here.
        if let (Kind::Float(x), Kind::Float(y)) = (&a.0.kind, &b.0.kind) {
            let value = match op {
                "+" => Some(x + y),
                "-" => Some(x - y),
                "*" => Some(x * y),
                "/" => Some(x / y),
                _ => None,
            };
            if let Some(value) = value {
                return node(Ty::Float, Kind::Float(value));
            }
        }
        match (op, a.as_int(), b.as_int()) {
            ("+", Some(0), _) | ("*", Some(1), _) => return b,
            ("+" | "-", _, Some(0)) | ("*" | "/", _, Some(1)) => return a,
            ("*", Some(0), _) | ("*", _, Some(0)) | ("%", _, Some(1)) | ("/", Some(0), _) | ("%", Some(0), _) => return int(0),
            // The length of nothing: what divides by it is in a loop without turns. A compiler may refuse the text.
            ("/" | "%", _, Some(0)) => return int(0),
            _ => {}
        }
        node(a.ty(), Kind::Infix(op, a, b))
    }
    fn compared(&self, op: &'static str, other: &X) -> X {
        let (a, b) = if self.ty() == Ty::Bool && other.ty() == Ty::Bool { (self.i(), other.i()) } else { self.unify(other) };
        node(Ty::Bool, Kind::Infix(op, a, b))
    }
    /// `self < other`
    pub fn lt(&self, other: &X) -> X {
        self.compared("<", other)
    }
    /// `self <= other`
    pub fn le(&self, other: &X) -> X {
        self.compared("<=", other)
    }
    /// `self > other`
    pub fn gt(&self, other: &X) -> X {
        self.compared(">", other)
    }
    /// `self >= other`
    pub fn ge(&self, other: &X) -> X {
        self.compared(">=", other)
    }
    /// `self == other`
    pub fn equals(&self, other: &X) -> X {
        self.compared("==", other)
    }
    /// `self != other`
    pub fn differs(&self, other: &X) -> X {
        self.compared("!=", other)
    }
    /// `self && other`
    pub fn and(&self, other: &X) -> X {
        match (&self.0.kind, &other.0.kind) {
            (Kind::Bool(true), _) => other.b(),
            (_, Kind::Bool(true)) => self.b(),
            _ => node(Ty::Bool, Kind::Infix("&&", self.b(), other.b())),
        }
    }
    /// `self || other`
    pub fn or(&self, other: &X) -> X {
        node(Ty::Bool, Kind::Infix("||", self.b(), other.b()))
    }
    /// An operator on bits, of two integers.
    pub fn bits(&self, op: &'static str, other: &X) -> X {
        node(Ty::Int, Kind::Infix(op, self.i(), other.i()))
    }
    /// `!self`
    pub fn not(&self) -> X {
        node(Ty::Bool, Kind::Prefix("!", self.b()))
    }
    /// `~self`
    pub fn invert(&self) -> X {
        node(Ty::Int, Kind::Prefix("~", self.i()))
    }
    /// `self` where the condition holds, `other` elsewhere.
    pub fn where_(condition: &X, then: &X, other: &X) -> X {
        let (a, b) = if then.ty() == other.ty() { (then.clone(), other.clone()) } else { then.unify(other) };
        match condition.0.kind {
            Kind::Bool(true) => a,
            Kind::Bool(false) => b,
            _ => node(a.ty(), Kind::Select(condition.b(), a, b)),
        }
    }
    /// A function of floats.
    pub fn call(name: &'static str, args: &[&X]) -> X {
        node(Ty::Float, Kind::Call(name, args.iter().map(|a| a.f()).collect()))
    }
    /// A function of floats that answers yes or no.
    pub fn test(name: &'static str, args: &[&X]) -> X {
        node(Ty::Bool, Kind::Call(name, args.iter().map(|a| a.f()).collect()))
    }
    /// A function of integers.
    pub fn call_int(name: &'static str, args: &[&X]) -> X {
        node(Ty::Int, Kind::Call(name, args.iter().map(|a| a.i()).collect()))
    }
    /// A function that exists for floats and integers alike.
    pub fn call_any(name: &'static str, int_name: &'static str, a: &X, b: &X) -> X {
        let (a, b) = a.unify(b);
        if a.ty() == Ty::Float { X::call(name, &[&a, &b]) } else { X::call_int(int_name, &[&a, &b]) }
    }
    /// `exp(self)`
    pub fn exp(&self) -> X {
        X::call("exp", &[self])
    }
    /// `log(self)`
    pub fn log(&self) -> X {
        X::call("log", &[self])
    }
    /// `sqrt(self)`
    pub fn sqrt(&self) -> X {
        X::call("sqrt", &[self])
    }
    /// `1 / sqrt(self)`
    pub fn rsqrt(&self) -> X {
        float(1.0) / self.sqrt()
    }
    /// `self * self`
    pub fn square(&self) -> X {
        self.clone() * self.clone()
    }
    /// Python's `self // other` for a positive constant and `self` that is not negative.
    pub fn div_by(&self, other: i64) -> X {
        self.infix("/", &int(other))
    }
    /// Python's `self % other`, likewise.
    pub fn rem_by(&self, other: i64) -> X {
        self.infix("%", &int(other))
    }

    /// Calls `f` on every load in it, those in indices too. A load met twice is reported twice.
    pub fn for_each_load(&self, f: &mut dyn FnMut(&View, &[X])) {
        match &self.0.kind {
            Kind::Load(view, index) => {
                index.iter().for_each(|x| x.for_each_load(f));
                f(view, index);
            }
            Kind::Infix(_, a, b) => {
                a.for_each_load(f);
                b.for_each_load(f);
            }
            Kind::Call(_, args) => args.iter().for_each(|x| x.for_each_load(f)),
            Kind::Prefix(_, a) | Kind::Cast(a) => a.for_each_load(f),
            Kind::Select(c, a, b) => [c, a, b].into_iter().for_each(|x| x.for_each_load(f)),
            _ => {}
        }
    }

    /// How many operations it takes; functions count four.
    pub fn cost(&self) -> usize {
        match &self.0.kind {
            Kind::Load(_, index) => index.iter().map(X::cost).sum(),
            Kind::Infix(_, a, b) => 1 + a.cost() + b.cost(),
            Kind::Call(_, args) => 4 + args.iter().map(X::cost).sum::<usize>(),
            Kind::Prefix(_, a) => 1 + a.cost(),
            Kind::Cast(a) => a.cost(),
            Kind::Select(c, a, b) => 1 + c.cost() + a.cost() + b.cost(),
            _ => 0,
        }
    }

    /// Rebuilt with coordinates replaced. `load` sees every load as it was before and may replace it whole.
    pub fn rewrite_with(&self, coords: Option<&[X]>, load: &dyn Fn(&View, &[X]) -> Option<X>) -> X {
        let go = |x: &X| x.rewrite_with(coords, load);
        match &self.0.kind {
            Kind::Load(view, index) => load(view, index).unwrap_or_else(|| view.at(index.iter().map(go).collect())),
            _ => self.rebuild(coords, None, &go),
        }
    }

    /// Rebuilt for another loop: the coordinates of the element, and of the loop that is reduced over, are these.
    pub fn placed(&self, coords: &[X], overs: &[X]) -> X {
        let go = |x: &X| x.placed(coords, overs);
        match &self.0.kind {
            Kind::Load(view, index) => view.at(index.iter().map(go).collect()),
            _ => self.rebuild(Some(coords), Some(overs), &go),
        }
    }

    /// Rebuilt with loads and coordinates replaced. `load` gets the view and the rebuilt index; `None` keeps the load.
    pub fn rewrite(&self, coords: Option<&[X]>, load: &dyn Fn(&View, &[X]) -> Option<X>) -> X {
        let go = |x: &X| x.rewrite(coords, load);
        match &self.0.kind {
            Kind::Load(view, index) => {
                let index: Vec<X> = index.iter().map(go).collect();
                load(view, &index).unwrap_or_else(|| view.at(index))
            }
            _ => self.rebuild(coords, None, &go),
        }
    }

    fn rebuild(&self, coords: Option<&[X]>, overs: Option<&[X]>, go: &dyn Fn(&X) -> X) -> X {
        match &self.0.kind {
            Kind::Coord(d) => coords.and_then(|c| c.get(*d).cloned()).unwrap_or_else(|| self.clone()),
            Kind::Over(d) => overs.and_then(|o| o.get(*d).cloned()).unwrap_or_else(|| self.clone()),
            Kind::Infix(op @ ("+" | "-" | "*" | "/" | "%"), a, b) => go(a).infix(op, &go(b)),
            Kind::Infix(op, a, b) => node(self.ty(), Kind::Infix(op, go(a), go(b))),
            Kind::Call(name, args) => node(self.ty(), Kind::Call(name, args.iter().map(go).collect())),
            Kind::Prefix(op, a) => node(self.ty(), Kind::Prefix(op, go(a))),
            Kind::Cast(a) => go(a).cast(self.ty()),
            Kind::Select(c, a, b) => X::where_(&go(c), &go(a), &go(b)),
            _ => self.clone(),
        }
    }
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $op:literal;)*) => { $(
        impl std::ops::$trait for X {
            type Output = X;
            fn $method(self, other: X) -> X { self.infix($op, &other) }
        }
        impl std::ops::$trait<&X> for &X {
            type Output = X;
            fn $method(self, other: &X) -> X { self.infix($op, other) }
        }
    )* };
}
arithmetic! { Add add "+"; Sub sub "-"; Mul mul "*"; Div div "/"; }

impl std::ops::Neg for X {
    type Output = X;
    fn neg(self) -> X {
        let x = if self.ty() == Ty::Bool { self.i() } else { self };
        if let Kind::Int(v) = x.0.kind {
            return node(Ty::Int, Kind::Int(v.wrapping_neg()));
        }
        node(x.ty(), Kind::Prefix("-", x))
    }
}
