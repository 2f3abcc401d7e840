//! Arithmetic on tensors and numbers, as decompositions are written: each function is one call of an operator.

use super::table::Decomposed;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Value, add_sizes, compare_sizes, divide_sizes, measure_float, multiply, subtract_sizes};
use operators::shapes::pointwise_strides;
use shape::{FloatExpr, Relation, ShapeEnv, SymFloat, SymInt};
use std::rc::Rc;
use tensor::{Device, Dtype, Geometry, Layout, MemoryFormat, Tensor};

/// A decomposition into one tensor.
pub fn done(t: Tensor) -> Decomposed {
    Ok(Some(Value::Tensor(t)))
}

/// A decomposition into several results.
pub fn all(values: Vec<Value>) -> Decomposed {
    Ok(Some(Value::List(values)))
}

macro_rules! binary {
    ($($name:ident = $op:literal;)*) => { $(
        pub fn $name(a: impl Into<Value>, b: impl Into<Value>) -> Result<Tensor> {
            t!($op, a.into(), b.into())
        }
    )* };
}
binary! {
    add = "add.Tensor";
    sub = "sub.Tensor";
    mul = "mul.Tensor";
    div = "div.Tensor";
    lt = "lt.Scalar";
    le = "le.Scalar";
    gt = "gt.Scalar";
    ge = "ge.Scalar";
    eq = "eq.Scalar";
    ne = "ne.Scalar";
    and = "bitwise_and.Tensor";
    or = "bitwise_or.Tensor";
    power = "pow.Tensor_Scalar";
    minimum = "minimum";
    maximum = "maximum";
}

macro_rules! unary {
    ($($name:ident = $op:literal;)*) => { $( pub fn $name(a: &Tensor) -> Result<Tensor> { t!($op, a) } )* };
}
unary! {
    neg = "neg";
    exp = "exp";
    log = "log";
    log1p = "log1p";
    expm1 = "expm1";
    abs = "abs";
    sign = "sign";
    sigmoid = "sigmoid";
    tanh = "tanh";
    erf = "erf";
    rsqrt = "rsqrt";
    isnan = "isnan";
    mean = "mean";
    sum_all = "sum";
}

/// `torch.where` with a tensor or a number on either side.
pub fn choose(condition: &Tensor, a: impl Into<Value>, b: impl Into<Value>) -> Result<Tensor> {
    let (a, b) = (a.into(), b.into());
    match (a.is_scalar(), b.is_scalar()) {
        (false, false) => t!("where.self", condition, a, b),
        (true, false) => t!("where.ScalarSelf", condition, a, b),
        (false, true) => t!("where.ScalarOther", condition, a, b),
        (true, true) => t!("where.Scalar", condition, a, b),
    }
}

/// The sum over dimensions.
pub fn sum(x: &Tensor, dims: impl Into<Value>, keepdim: bool) -> Result<Tensor> {
    t!("sum.dim_IntList", x, dims.into(), keepdim)
}

/// The tensor in a dtype; itself where it has it.
pub fn cast(x: &Tensor, dtype: Dtype) -> Result<Tensor> {
    if x.dtype() == dtype { Ok(x.clone()) } else { convert(x, dtype) }
}

/// A copy in a dtype, also where it has it.
pub fn convert(x: &Tensor, dtype: Dtype) -> Result<Tensor> {
    t!("prims.convert_element_type", x, dtype)
}

/// A tensor of one number.
pub fn full(sizes: impl Into<Value>, value: impl Into<Value>, dtype: Dtype, device: Device) -> Result<Tensor> {
    let (sizes, value) = (sizes.into(), value.into());
    t!("full", sizes, value; dtype = dtype, layout = Value::Layout(Layout::Strided), device = device, pin_memory = false)
}

/// `x.new_full(sizes, value)`
pub fn new_full(x: &Tensor, sizes: impl Into<Value>, value: impl Into<Value>) -> Result<Tensor> {
    full(sizes, value, x.dtype(), x.device())
}

/// As many numbers as Inductor counts.
pub fn iota(length: impl Into<Value>, start: impl Into<Value>, step: i64, dtype: Dtype, device: Device) -> Result<Tensor> {
    let (length, start) = (length.into(), start.into());
    t!("prims.iota", length; start = start, step = step, dtype = dtype, device = device, requires_grad = false)
}

/// `torch.arange(start, end)`
pub fn arange(start: impl Into<SymInt>, end: impl Into<SymInt>, device: Device) -> Result<Tensor> {
    let (start, end) = (start.into(), end.into());
    iota(range_length(&start, &end, 1)?, start, 1, Dtype::Int64, device)
}

/// How many numbers a range has.
pub fn range_length(start: &SymInt, end: &SymInt, step: i64) -> Result<SymInt> {
    compare_sizes(end, if step > 0 { Relation::Ge } else { Relation::Le }, start)?;
    let past = add_sizes(&subtract_sizes(end, start)?, &step.into())?;
    divide_sizes(&subtract_sizes(&past, &step.signum().into())?, &step.into())
}

/// `x.contiguous(memory_format=...)`
pub fn contiguous(x: &Tensor, format: MemoryFormat) -> Result<Tensor> {
    t!("contiguous", x; memory_format = format)
}

/// The memory format that a tensor's strides suggest.
pub fn suggested_format(x: &Tensor) -> Result<MemoryFormat> {
    let g = x.geometry();
    let format = match g.sizes.len() {
        4 => MemoryFormat::ChannelsLast,
        5 => MemoryFormat::ChannelsLast3d,
        _ => return Ok(MemoryFormat::Contiguous),
    };
    ask_strides(&g)?;
    let wanted = operators::factory::format_strides(&g.sizes, format)?;
    // Dimensions of one element say nothing; where both formats would do, it is the contiguous one.
    let fits = g.sizes.iter().zip(g.strides.iter().zip(&wanted)).all(|(n, (have, want))| n.hint() == Some(1) || have.hint() == want.hint());
    Ok(if fits && !g.is_contiguous()? { format } else { MemoryFormat::Contiguous })
}

/// Whether channels lie last is asked dimension by dimension, the channels first: each has to reach over those before it.
fn ask_strides(g: &Geometry) -> Result<()> {
    let zero = SymInt::Int(0);
    let asks = |a: &SymInt, relation: Relation, b: &SymInt| -> Result<bool> {
        compare_sizes(a, relation, b)?;
        Ok(a.decide(relation, b) != Some(false))
    };
    if asks(&g.strides[1], Relation::Eq, &zero)? {
        return Ok(());
    }
    let mut least = zero.clone();
    for d in std::iter::once(1).chain((2..g.sizes.len()).rev()).chain([0]) {
        let (size, stride) = (&g.sizes[d], &g.strides[d]);
        if asks(size, Relation::Eq, &zero)? || asks(stride, Relation::Lt, &least)? {
            return Ok(());
        }
        least = multiply(&[stride.clone(), size.clone()])?;
    }
    Ok(())
}

/// Unsqueezed at its end up to a number of dimensions.
pub fn unsqueeze_to(x: &Tensor, ndim: usize) -> Result<Tensor> {
    (x.dim()..ndim).try_fold(x.clone(), |x, _| t!("unsqueeze", x, -1))
}

/// Sizes in the order in which dimensions lie in memory, and the permutation from there back.
pub fn shape_and_permutation(x: &Tensor) -> Result<(Vec<SymInt>, Vec<usize>)> {
    let sizes = x.sizes();
    dispatch::ask_order(x)?;
    let strides = if x.is_contiguous()? { tensor::contiguous_strides(&sizes) } else { pointwise_strides(&sizes, &[x])? };
    let mut layout: Vec<usize> = (0..sizes.len()).collect();
    if !x.is_contiguous()? {
        layout.sort_by_key(|d| std::cmp::Reverse(strides[*d].hint()));
    }
    let mut permutation = vec![0; layout.len()];
    for (place, dim) in layout.iter().enumerate() {
        permutation[*dim] = place;
    }
    Ok((layout.iter().map(|d| sizes[*d].clone()).collect(), permutation))
}

/// Whether a permutation leaves everything in its place.
pub fn is_identity(permutation: &[usize]) -> bool {
    permutation.iter().enumerate().all(|(i, d)| i == *d)
}

/// Dimensions as an argument.
pub fn dims(of: &[usize]) -> Value {
    Value::List(of.iter().map(|d| Value::from(*d)).collect())
}

/// How many elements a tensor has, as Python's `x.numel()`.
pub fn numel(x: &Tensor) -> Value {
    Value::Int(dispatch::count_of(x))
}

/// Python's arithmetic on two numbers, of which one is a float or the operation divides: a float, symbolic where one of them is.
pub fn calculate(name: &'static str, a: impl Into<Value>, b: impl Into<Value>) -> Result<Value> {
    let (a, b) = (a.into(), b.into());
    if let (Value::Int(a), Value::Int(b), "truediv") = (&a, &b, name)
        && let Some(quotient) = SymFloat::quotient(a, b).filter(|_| a.as_int().is_none() || b.as_int().is_none())
    {
        return computed(quotient);
    }
    let (a, b) = (part(&a)?, part(&b)?);
    let (env, made) = (a.1.or(b.1), FloatExpr::Binary(name, a.0, b.0));
    match env {
        Some(env) => computed(SymFloat { expr: Rc::new(made), env }),
        None => {
            let number = made.evaluate(&|_| None, &|_| None);
            number.map(Value::Float).ok_or_else(|| Error::runtime("a float without symbols has no value"))
        }
    }
}

/// A symbolic float: in the forward it is a value of the graph whether something reads it or not.
fn computed(float: SymFloat) -> Result<Value> {
    measure_float(&float)?;
    Ok(Value::SymFloat(float))
}

/// A number as part of a float.
fn part(v: &Value) -> Result<(Rc<FloatExpr>, Option<ShapeEnv>)> {
    Ok(match v {
        Value::SymFloat(f) => (f.expr.clone(), Some(f.env.clone())),
        Value::Int(SymInt::Sym(e, env)) => (Rc::new(FloatExpr::ToFloat(e.clone())), Some(env.clone())),
        other => (Rc::new(FloatExpr::Number(other.float()?)), None),
    })
}

/// `-number`
pub fn negated(v: &Value) -> Result<Value> {
    Ok(match v {
        Value::SymFloat(f) => computed(SymFloat { expr: Rc::new(FloatExpr::Neg(f.expr.clone())), env: f.env.clone() })?,
        other => Value::Float(-other.float()?),
    })
}

/// The number of an argument as a float, as Python's `float()`.
pub fn as_float(v: &Value) -> Value {
    v.float().map_or_else(|_| v.clone(), Value::Float)
}

/// A number as the Python type of a dtype: what `torch.masked_fill` makes of its value.
pub fn number_of(v: &Value, dtype: Dtype) -> Value {
    if dtype.is_floating() { as_float(v) } else { v.clone() }
}
