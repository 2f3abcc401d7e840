//! Reductions: sums, means, products, extrema, moments, norms, counts.
//!
//! Results are contiguous. Integers are summed in int64. A derivative brings its gradient back to the operand's dimensions
//! first, the way PyTorch does, because traced graphs show it.

use super::common::*;
use super::shapes::{default_dtype, wrap_dim, wrap_dims};
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Batch, Call, CastPolicy, Complex, Grads, Key, OpBuilder, OpClasses, OpRef, Rule, Tags, Value, is_taken, levels};
use dispatch::{aten, t};
use shape::{FloatExpr, Relation, SymFloat, SymInt};
use tensor::{Dtype, Tensor, TensorSpec};

/// The dimensions of `dim`; all of them for None or an empty list.
fn dims_of(c: &Call, ndim: usize) -> Result<Vec<usize>> {
    match c.get("dim") {
        Value::None => Ok((0..ndim).collect()),
        _ => wrap_dims(&c.ints("dim")?, ndim),
    }
}

fn keeps(c: &Call) -> bool {
    c.get("keepdim").bool().unwrap_or(false)
}

/// Sizes of what a reduction leaves.
fn reduced_sizes(c: &Call) -> Result<Vec<SymInt>> {
    let sizes = c.tensor("self")?.sizes();
    let (dims, keep) = (dims_of(c, sizes.len())?, keeps(c));
    Ok(sizes
        .into_iter()
        .enumerate()
        .filter_map(|(i, n)| match (dims.contains(&i), keep) {
            (true, true) => Some(1.into()),
            (true, false) => None,
            (false, _) => Some(n),
        })
        .collect())
}

fn result(c: &Call, dtype: Dtype) -> Result<Option<TensorSpec>> {
    Ok(Some(TensorSpec::contiguous(reduced_sizes(c)?, dtype, c.tensor("self")?.device())))
}

/// A result whose dimensions were dropped and then put back, as PyTorch makes sums, products, extrema and variances whose sizes are
/// symbols: the stride of one that was is the extent of what is behind it.
fn put_back(c: &Call, dtype: Dtype) -> Result<Option<TensorSpec>> {
    let mut spec = result(c, dtype)?;
    if let Some(spec) = spec.as_mut().filter(|_| keeps(c)) {
        let dims = dims_of(c, c.tensor("self")?.dim())?;
        let geometry = &mut spec.geometry;
        let mut extent = SymInt::Int(1);
        for d in (0..geometry.sizes.len()).rev() {
            if !dims.contains(&d) {
                extent = &geometry.strides[d] * &geometry.sizes[d];
            } else if extent.as_int().is_none() {
                geometry.strides[d] = extent.clone();
            }
        }
    }
    Ok(spec)
}

fn sum_spec(c: &Call) -> Specs {
    let dtype = c.dtype("dtype")?.unwrap_or(sum_dtype(c.tensor("self")?.dtype()));
    Ok(vec![put_back(c, dtype)?])
}

fn mean_spec(c: &Call) -> Specs {
    let x = c.tensor("self")?;
    let dtype = c.dtype("dtype")?.unwrap_or(x.dtype());
    if dtype.is_integral() {
        let what = match c.dtype("dtype")? {
            Some(_) => "Optional dtype must be either a floating point or complex dtype",
            None => "Input dtype must be either a floating point or complex dtype",
        };
        return Err(Error::not_implemented(format!("mean(): could not infer output dtype. {what}. Got: {}", dtype.scalar_type())));
    }
    Ok(vec![result(c, dtype)?])
}

/// Extrema need something to choose from.
fn not_empty(c: &Call) -> Result<()> {
    let sizes = c.tensor("self")?.sizes();
    for d in dims_of(c, sizes.len())? {
        if sizes.get(d).is_some_and(|n| n.as_int() == Some(0)) {
            let name = c.entry.base_name();
            return Err(match c.get("dim") {
                Value::None if name.starts_with("arg") => {
                    Error::index(format!("{name}(): Expected reduction dim to be specified for input.numel() == 0."))
                }
                // PyTorch's kernel asks.
                Value::None if c.tensor("self")?.is_fake() => continue,
                Value::None => Error::runtime(format!(
                    "{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
                )),
                _ => Error::index(format!("{name}(): Expected reduction dim {d} to have non-zero size.")),
            });
        }
    }
    Ok(())
}

fn same_dtype(c: &Call) -> Specs {
    not_empty(c)?;
    Ok(vec![put_back(c, c.tensor("self")?.dtype())?])
}

fn with_indices(c: &Call) -> Specs {
    not_empty(c)?;
    Ok(vec![result(c, c.tensor("self")?.dtype())?, result(c, Dtype::Int64)?])
}

fn truth_spec(c: &Call) -> Specs {
    let dtype = if c.tensor("self")?.dtype() == Dtype::UInt8 { Dtype::UInt8 } else { Dtype::Bool };
    Ok(vec![result(c, dtype)?])
}

fn float_only(c: &Call) -> Result<Dtype> {
    let dtype = c.tensor("self")?.dtype();
    // PyTorch's kernel asks: a graph of fake tensors may hold such a call.
    if dtype.is_integral() && !c.tensor("self")?.is_fake() {
        return Err(Error::not_implemented("std and var only support floating point and complex dtypes"));
    }
    Ok(dtype.to_real())
}

/// The gradient with the reduced dimensions back, each of size one.
pub(super) fn unsqueeze_multiple(grad: &Tensor, dim: &Value, ndim: usize) -> Result<Tensor> {
    let dims = match dim {
        Value::None => (0..ndim).collect(),
        given => {
            let raw = given.ints()?;
            match raw.as_slice() {
                [] => return Ok(grad.clone()),
                [only] => return t!("unsqueeze", grad, *only),
                _ => wrap_dims(&raw, ndim)?,
            }
        }
    };
    (0..ndim).filter(|d| dims.contains(d)).try_fold(grad.clone(), |g, d| t!("unsqueeze", g, d as i64))
}

fn no_dims(dim: &Value) -> bool {
    matches!(dim, Value::None) || matches!(dim, Value::List(l) if l.is_empty())
}

/// `sum_backward`: every reduced element gets the gradient.
fn spread(b: &Backward, grad: &Tensor) -> Result<Tensor> {
    let sizes = b.sizes("self")?;
    let (dim, keep) = (b.arg("dim"), b.arg("keepdim").bool().unwrap_or(false));
    if !keep && !sizes.is_empty() && !no_dims(dim) {
        return t!("expand", unsqueeze_multiple(grad, dim, sizes.len())?, sizes);
    }
    t!("expand", grad, sizes)
}

/// How many elements each result reduces.
fn reduced_count(b: &Backward) -> Result<SymInt> {
    let sizes = b.sizes("self")?;
    if no_dims(b.arg("dim")) {
        return Ok(b.numel.clone().unwrap_or_else(|| dispatch::counted(&sizes)));
    }
    let dims = wrap_dims(&b.arg("dim").ints()?, sizes.len())?;
    let reduced: Vec<SymInt> = dims.iter().filter_map(|d| sizes.get(*d)).cloned().collect();
    dispatch::multiply(&reduced)
}

fn mean_of(b: &Backward, grad: &Tensor) -> Result<Tensor> {
    t!("div.Scalar", spread(b, grad)?, reduced_count(b)?)
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    register_sums(b);
    register_moments(b);
    register_extrema(b);
    register_selecting(b);
    register_truth(b);
    super::norms::register(b);
    super::scans::register(b);
}

fn register_sums(b: &mut OpBuilder) {
    b.op("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", Rule::Fresh(sum_spec))
        .doc("The sum, of all or along dimensions.")
        .classes(OpClasses::RECOMPUTABLE)
        .batch(Batch::Rule(super::batch_rules::sum))
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD | Tags::REDUCTION);
    b.grad("SumBackward", &[], |b| unary_grad(b, |g| spread(b, g)));
    b.op("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", Rule::Fresh(sum_spec))
        .batch(Batch::Rule(super::batch_rules::reduction))
        .complex(Complex::ByParts)
        .auto_linear(&["self"]);
    b.tags(Tags::REDUCTION | Tags::CORE).grad("SumBackward1", &[], |b| unary_grad(b, |g| spread(b, g)));
    b.op("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", Rule::Fresh(mean_spec))
        .doc("The mean, of all or along dimensions.")
        .classes(OpClasses::RECOMPUTABLE)
        .batch(Batch::Rule(super::batch_rules::mean))
        .complex(Complex::ByParts)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD | Tags::REDUCTION | Tags::CORE);
    b.grad("MeanBackward", &[], |b| unary_grad(b, |g| mean_of(b, g))).counts_elements();
    b.op("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", Rule::Fresh(mean_spec))
        .batch(Batch::Rule(super::batch_rules::reduction))
        .complex(Complex::ByParts)
        .auto_linear(&["self"]);
    b.tags(Tags::REDUCTION | Tags::CORE).grad("MeanBackward1", &[], |b| unary_grad(b, |g| mean_of(b, g))).counts_elements();
    b.op("nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", Rule::Fresh(sum_spec))
        .doc("The sum without NaN.")
        .batch(Batch::Rule(super::batch_rules::nansum))
        .refuses("c", "nansum on CPU does not support complex inputs");
    b.tags(Tags::REDUCTION).grad("NansumBackward", &["self"], |b| {
        unary_grad(b, |g| {
            let known = t!("logical_not", t!("isnan", b.saved("self")?)?)?;
            t!("mul.Tensor", spread(b, g)?, known)
        })
    });
    b.op(
        "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        Rule::Composite(|c| {
            let x = t!("detach", c.tensor("self")?)?;
            let known = t!("logical_not_", t!("ne.Tensor", &x, &x)?)?;
            let count = t!("sum.dim_IntList", known, c.get("dim"), c.get("keepdim"))?;
            let total = t!("nansum", c.get("self"), c.get("dim"), c.get("keepdim"); dtype = c.get("dtype"))?;
            aten!("div.Tensor", total, count)
        }),
    )
    .doc("The mean without NaN.")
    .refuses("bi", "nanmean(): expected input to have floating point or complex dtype but got {}");
    b.op("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", Rule::Fresh(sum_spec))
        .doc("The product, of all or along a dimension.")
        .autocast(CastPolicy::Fp32)
        .batch(Batch::Rule(super::batch_rules::prod))
        .tags(Tags::COMPLEX_GRAD | Tags::HOLOMORPHIC | Tags::REDUCTION | Tags::CORE);
    b.grad("ProdBackward", &["self", "result"], |b| {
        let x = b.saved("self")?;
        // The product of nothing does not move.
        if x.numel().as_int() == Some(0) {
            return unary_grad(b, |_| t!("zeros_like", x));
        }
        unary_grad(b, |g| prod_all(b, g))
    });
    b.op("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", Rule::Fresh(sum_spec))
        .batch(Batch::Shifted);
    b.tags(Tags::REDUCTION | Tags::CORE).grad("ProdBackward1", &["self", "result"], |b| unary_grad(b, |g| prod_dim(b, g)));
    for schema in ["count_nonzero(Tensor self, int? dim=None) -> Tensor", "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor"] {
        b.op(schema, Rule::Fresh(|c| Ok(vec![result(c, Dtype::Int64)?])))
            .complex(Complex::Truth)
            .batch(Batch::Rule(super::batch_rules::count_nonzero))
            .tags(Tags::REDUCTION)
            .not_differentiable();
    }
    b.at("count_nonzero").doc("How many elements are not zero.");
    b.op("sum_to_size(Tensor self, SymInt[] size) -> Tensor", Rule::Composite(sum_to_size))
        .doc("Summed down to a shape that broadcasts to this one.")
        .classes(OpClasses::RECOMPUTABLE);
}

/// The product of all other elements along `dim`, zeros or not, times the gradient.
fn prod_safe(grad: &Tensor, x: &Tensor, dim: usize) -> Result<Tensor> {
    // Where there is nothing to multiply, the gradient's missing size stands for none.
    if x.numel().known_eq(0)? {
        return t!("expand", grad, x.sizes());
    }
    let size = x.size(dim);
    if size.sym_eq(1)? {
        return Ok(grad.clone());
    }
    let mut sizes = x.sizes();
    sizes[dim] = 1.into();
    let d = dim as i64;
    let ones = t!("ones", sizes; dtype = grad.dtype(), layout = Value::Layout(tensor::Layout::Strided), device = grad.device())?;
    let before = t!("slice.Tensor", x, d, 0, &size - 1)?;
    let before = t!("cumprod", t!("cat", vec![ones.clone(), before], d)?, d)?;
    let after = t!("flip", t!("slice.Tensor", x, d, 1, size)?, vec![d])?;
    let after = t!("flip", t!("cumprod", t!("cat", vec![ones, after], d)?, d)?, vec![d])?;
    t!("mul.Tensor", grad, t!("mul.Tensor", before, after)?)
}

/// How many elements are zero, where PyTorch's formulas look: not at complex numbers, at what stands for values, or where something
/// else sees the calls.
fn zeros_among(x: &Tensor) -> Result<Option<i64>> {
    static EQ: OpRef = OpRef::new("eq.Scalar");
    let args = [Value::from(x), Value::from(0)];
    let seen = is_taken(&Call { entry: EQ.get(), args: &args }, &[Key::Capture, Key::Subclass, Key::Functionalize, Key::Trace]);
    if seen || levels::current().is_some() || levels::wrapped(x).is_some() || x.is_fake() || x.dtype().is_complex() {
        return Ok(None);
    }
    let count = t!("sum", t!("eq.Scalar", x, 0)?)?;
    Ok(Some(aten!("_local_scalar_dense", count)?.int()?))
}

/// The gradient where no element is zero.
fn prod_by_quotients(grad: &Tensor, result: &Tensor, x: &Tensor) -> Result<Tensor> {
    t!("mul.Tensor", grad, t!("div.Tensor", result, x)?)
}

pub(super) fn prod_all(b: &Backward, grad: &Tensor) -> Result<Tensor> {
    let x = t!("to.dtype", b.saved("self")?, grad.dtype())?;
    if x.dim() == 0 {
        return Ok(grad.clone());
    }
    match zeros_among(&x)? {
        Some(0) => return prod_by_quotients(grad, b.result(0)?, &x),
        Some(2..) => return t!("zeros_like", x),
        _ => {}
    }
    let flat = t!("view", t!("contiguous", &x)?, vec![-1i64])?;
    t!("view", prod_safe(grad, &flat, 0)?, x.sizes())
}

fn prod_dim(b: &Backward, grad: &Tensor) -> Result<Tensor> {
    let x = t!("to.dtype", b.saved("self")?, grad.dtype())?;
    if x.dim() == 0 {
        return Ok(grad.clone());
    }
    let dim = wrap_dim(b.arg("dim").int()?, x.dim())?;
    let (grad, result) = match b.arg("keepdim").bool()? {
        true => (grad.clone(), b.result(0)?.clone()),
        false => (t!("unsqueeze", grad, dim as i64)?, t!("unsqueeze", b.result(0)?, dim as i64)?),
    };
    if x.numel().as_int() != Some(0) && zeros_among(&x)? == Some(0) {
        return prod_by_quotients(&grad, &result, &x);
    }
    prod_safe(&grad, &x, dim)
}

/// Sums over the dimensions in which `size` is one or absent.
fn sum_to_size(c: &Call) -> Result<Value> {
    let (x, size) = (c.tensor("self")?, c.sym_ints("size")?);
    let have = x.sizes();
    if size.len() > have.len() {
        return Err(Error::runtime(format!("size {{{size:?}}} is not expandable to size {{{have:?}}}.")));
    }
    if size.is_empty() {
        return aten!("sum", x);
    }
    let lead = have.len() - size.len();
    let mut dims: Vec<i64> = (0..lead as i64).collect();
    for (i, want) in size.iter().enumerate() {
        if want.sym_eq(1)? && !have[lead + i].sym_eq(1)? {
            dims.push((lead + i) as i64);
        } else if !want.sym_eq(have[lead + i].clone())? {
            return Err(Error::runtime(format!("size {{{size:?}}} is not expandable to size {{{have:?}}}.")));
        }
    }
    let summed = if dims.is_empty() { x.clone() } else { t!("sum.dim_IntList", x, dims, true)? };
    if lead > 0 { aten!("view", summed, size) } else { Ok(summed.into()) }
}

fn correction(b: &Backward) -> Result<f64> {
    if b.arg("correction").is_none() { Ok(1.0) } else { b.arg("correction").float() }
}

/// `2 / (count - correction)`, symbolic where the count is.
fn twice_over(count: &SymInt, correction: f64) -> Result<Value> {
    let is_positive = |n: i64| n as f64 - correction > 0.0;
    if let (Some(n), SymInt::Sym(_, env), Some(float)) = (count.hint(), count, SymFloat::of_size(count))
        && is_positive(n)
    {
        // It is above zero for every count from the smallest such on.
        let least = (0..=n).find(|n| is_positive(*n)).unwrap_or(n);
        if count.compare(Relation::Ge, &least.into())? {
            let freedom = SymFloat::binary("sub", &float.expr, &FloatExpr::Number(correction), env);
            return Ok(Value::SymFloat(SymFloat::binary("truediv", &FloatExpr::Number(2.0), &freedom.expr, env)));
        }
    }
    let freedom = count.guard_int()? as f64 - correction;
    Ok(Value::Float(if freedom > 0.0 { 2.0 / freedom } else { f64::INFINITY }))
}

pub(super) fn var_backward(b: &Backward, grad: &Tensor) -> Result<Tensor> {
    let x = b.saved("self")?;
    let all = x.dim() == 0 || b.arg("dim").is_none();
    // An empty list of dimensions counts one element here, though it reduces all of them: PyTorch's answer.
    let count = match b.arg("dim") {
        _ if all => x.numel(),
        Value::List(dims) if dims.is_empty() => SymInt::Int(1),
        _ => reduced_count(b)?,
    };
    let scale = twice_over(&count, correction(b)?)?;
    if all {
        let centred = t!("sub.Tensor", x, t!("mean", x)?)?;
        return t!("mul.Tensor", t!("mul.Scalar", grad, scale.clone())?, centred);
    }
    let keep = b.arg("keepdim").bool()?;
    let grad = if !keep && x.dim() > 1 { unsqueeze_multiple(grad, b.arg("dim"), x.dim())? } else { grad.clone() };
    let centred = t!("sub.Tensor", x, t!("mean.dim", x, b.arg("dim"), true)?)?;
    t!("mul.Tensor", t!("mul.Scalar", grad, scale)?, centred)
}

fn std_backward(b: &Backward, grad: &Tensor) -> Result<Tensor> {
    let result = b.result(0)?;
    let scaled = t!("div.Tensor", grad, t!("mul.Scalar", result, 2)?)?;
    let scaled = t!("masked_fill_.Scalar", scaled, t!("eq.Scalar", result, 0)?, 0)?;
    var_backward(b, &scaled)
}

/// Gradients of both results, added.
fn with_mean(b: &Backward, moment: fn(&Backward, &Tensor) -> Result<Tensor>) -> Result<Grads> {
    let first = b.grads.first().and_then(Option::as_ref).map(|g| moment(b, g)).transpose()?;
    let second = b.grads.get(1).and_then(Option::as_ref).map(|g| mean_of(b, g)).transpose()?;
    let mut grads = Grads::new(b);
    let joined = match (first, second) {
        (Some(a), Some(m)) => Some(t!("add.Tensor", a, m)?),
        (a, m) => a.or(m),
    };
    grads.put(b, "self", joined)?;
    Ok(grads)
}

/// `unbiased` as a correction.
fn unbiased(c: &Call) -> Result<i64> {
    Ok(i64::from(c.bool("unbiased")?))
}

fn register_moments(b: &mut OpBuilder) {
    let one: Rule = Rule::Fresh(|c| Ok(vec![result(c, float_only(c)?)?]));
    let two: Rule = Rule::Fresh(|c| {
        let spec = put_back(c, float_only(c)?)?;
        let mut mean = spec.clone();
        // The mean of complex numbers is one, how they vary is real.
        mean.iter_mut().filter(|_| c.tensor("self").is_ok_and(|x| x.dtype().is_complex())).for_each(|m| m.dtype = m.dtype.to_complex());
        Ok(vec![spec, mean])
    });
    macro_rules! over_dims {
        ($($name:literal $correction:literal $returns:literal;)*) => { $(
            b.op(concat!($name, ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> ", $returns), Rule::Composite(|c| {
                aten!($correction, c.get("self"), c.get("dim"); correction = unbiased(c)?, keepdim = c.get("keepdim"))
            }));
        )* };
    }
    over_dims! {
        "var" "var.correction" "Tensor";
        "std" "std.correction" "Tensor";
        "var_mean" "var_mean.correction" "(Tensor, Tensor)";
        "std_mean" "std_mean.correction" "(Tensor, Tensor)";
    }
    const REST: &str = "int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)";
    b.op(&format!("var.correction(Tensor self, {REST} -> Tensor"), Rule::Fresh(|c| Ok(vec![put_back(c, float_only(c)?)?])))
        .tags(Tags::COMPLEX_GRAD)
        .doc("The variance.")
        .classes(OpClasses::RECOMPUTABLE)
        .batch(Batch::Shifted)
        .tags(Tags::REDUCTION | Tags::CORE);
    b.grad("VarBackward", &["self"], |b| unary_grad(b, |g| var_backward(b, g)));
    b.op(&format!("std.correction(Tensor self, {REST} -> Tensor"), one)
        .tags(Tags::COMPLEX_GRAD)
        .doc("The standard deviation.")
        .classes(OpClasses::RECOMPUTABLE)
        .batch(Batch::Shifted)
        .tags(Tags::REDUCTION);
    b.grad("StdBackward", &["self", "result"], |b| unary_grad(b, |g| std_backward(b, g)));
    b.op(&format!("var_mean.correction(Tensor self, {REST} -> (Tensor, Tensor)"), two)
        .tags(Tags::COMPLEX_GRAD)
        .doc("Variance and mean.")
        .function()
        .classes(OpClasses::RECOMPUTABLE)
        .batch(Batch::Shifted)
        .tags(Tags::REDUCTION);
    b.grad("VarMeanBackward", &["self"], |b| with_mean(b, var_backward));
    b.op(&format!("std_mean.correction(Tensor self, {REST} -> (Tensor, Tensor)"), two)
        .tags(Tags::COMPLEX_GRAD)
        .doc("Standard deviation and mean.")
        .function()
        .batch(Batch::Shifted)
        .tags(Tags::REDUCTION);
    b.grad("StdMeanBackward", &["self", "result"], |b| with_mean(b, std_backward));
    // A call from Python tries them in this order.
    macro_rules! without_dims {
        ($($name:literal $correction:literal $returns:literal;)*) => { $(
            b.op(concat!($name, "(Tensor self, bool unbiased=True) -> ", $returns), Rule::Composite(|c| {
                aten!($correction, c.get("self"), Value::None; correction = unbiased(c)?)
            }));
        )* };
    }
    without_dims! {
        "var" "var.correction" "Tensor";
        "std" "std.correction" "Tensor";
        "var_mean" "var_mean.correction" "(Tensor, Tensor)";
        "std_mean" "std_mean.correction" "(Tensor, Tensor)";
    }
}

/// `evenly_distribute_backward`: all elements equal to the result share its gradient.
fn evenly(b: &Backward, grad: &Tensor) -> Result<Tensor> {
    let (x, value) = (b.saved("self")?, b.result(0)?);
    let nan = t!("isnan", x)?;
    let nan = t!("logical_and", nan, t!("isnan", value)?)?;
    let mask = t!("logical_or_", t!("eq.Tensor", x, value)?, nan)?;
    let share = t!("div.Tensor", grad, t!("sum", &mask)?)?;
    t!("mul.Tensor", mask, share)
}

/// A reduced tensor with its dimensions back, by a view.
fn restored(reduced: &Tensor, dims: &[i64], keep: bool) -> Result<Tensor> {
    if keep {
        return Ok(reduced.clone());
    }
    let total = reduced.dim() + dims.len();
    let mut ones = vec![false; total];
    for d in dims {
        ones[wrap_dim(*d, total)?] = true;
    }
    let mut left = reduced.sizes().into_iter();
    let sizes: Vec<SymInt> = ones.into_iter().map(|one| if one { 1.into() } else { left.next().unwrap_or(1.into()) }).collect();
    t!("view", reduced, sizes)
}

/// `(grad / count of chosen) * chosen`
fn by_count(grad: &Tensor, chosen: &Tensor, dims: &[i64]) -> Result<Tensor> {
    let share = t!("div.Tensor", grad, t!("sum.dim_IntList", chosen, dims, true)?)?;
    t!("mul.Tensor", share, chosen)
}

fn amax_backward(b: &Backward) -> Result<Grads> {
    unary_grad(b, |g| {
        let (dims, keep) = (b.arg("dim").ints()?, b.arg("keepdim").bool()?);
        let chosen = t!("eq.Tensor", restored(b.result(0)?, &dims, keep)?, b.saved("self")?)?;
        by_count(&restored(g, &dims, keep)?, &chosen, &dims)
    })
}

fn aminmax_backward(b: &Backward) -> Result<Grads> {
    let x = b.saved("self")?;
    let keep = b.arg("keepdim").bool()?;
    let dims: Vec<i64> = if b.arg("dim").is_none() { (0..x.dim() as i64).collect() } else { vec![b.arg("dim").int()?] };
    let mut out: Option<Tensor> = None;
    for i in 0..2 {
        let Some(g) = b.grads.get(i).and_then(Option::as_ref) else { continue };
        let g = restored(g, &dims, keep)?;
        let chosen = t!("eq.Tensor", x, restored(b.result(i)?, &dims, keep)?)?;
        let part = by_count(&g, &chosen, &dims)?;
        out = Some(match out {
            Some(have) => t!("add.Tensor", have, part)?,
            None => part,
        });
    }
    let mut grads = Grads::new(b);
    grads.put(b, "self", out)?;
    Ok(grads)
}

fn register_extrema(b: &mut OpBuilder) {
    for (name, node) in [("max", "MaxBackward1"), ("min", "MinBackward1")] {
        b.op(&format!("{name}(Tensor self) -> Tensor"), Rule::Fresh(same_dtype)).tags(Tags::REDUCTION);
        b.grad(node, &["self", "result"], |b| unary_grad(b, |g| evenly(b, g)));
    }
    b.at("max").batch(Batch::Rule(super::batch_rules::max));
    b.at("min").batch(Batch::Rule(super::batch_rules::min));
    for (name, node) in [("amax", "AmaxBackward"), ("amin", "AminBackward")] {
        b.op(&format!("{name}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"), Rule::Fresh(same_dtype)).batch(Batch::Shifted);
        b.tags(Tags::REDUCTION | Tags::CORE).grad(node, &["self", "result"], amax_backward);
    }
    b.at("amax").doc("Maxima along dimensions; equal ones share the gradient.").classes(OpClasses::RECOMPUTABLE);
    b.at("amin").doc("Minima along dimensions; equal ones share the gradient.");
    b.op(
        "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
        Rule::Fresh(|c| {
            let spec = same_dtype(c)?.pop().flatten();
            Ok(vec![spec.clone(), spec])
        }),
    )
    .batch(Batch::Rule(super::batch_rules::reduced_row))
    .doc("Minimum and maximum together.");
    b.tags(Tags::REDUCTION).grad("AminmaxBackward", &["self", "result1", "result"], aminmax_backward);
    for name in ["argmax", "argmin"] {
        b.op(
            &format!("{name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"),
            Rule::Fresh(|c| {
                not_empty(c)?;
                Ok(vec![result(c, Dtype::Int64)?])
            }),
        )
        .batch(Batch::Rule(super::batch_rules::reduced_row));
        b.tags(Tags::REDUCTION | Tags::CORE).not_differentiable();
    }
    b.at("argmax")
        .doc("Where the largest element is.")
        .classes(OpClasses::RECOMPUTABLE)
        .refuses("b", "argmax(): does not support bool input")
        .refuses("c", "T:argmax(): does not support complex input");
    b.at("argmin")
        .doc("Where the smallest element is.")
        .refuses("b", "argmin(): does not support bool input")
        .refuses("c", "T:argmin(): does not support complex input");
}

/// The gradient goes to the element that was selected along `dim`.
pub(super) fn select_backward(b: &Backward) -> Result<Grads> {
    unary_grad(b, |g| {
        let (sizes, dim, indices) = (b.sizes("self")?, b.arg("dim").int()?, b.result(1)?);
        let (g, indices) = if !b.arg("keepdim").bool()? && !sizes.is_empty() {
            (t!("unsqueeze", g, dim)?, t!("unsqueeze", indices, dim)?)
        } else {
            (g.clone(), indices.clone())
        };
        t!("scatter.src", t!("new_zeros", &g, sizes)?, dim, indices, &g)
    })
}

fn register_selecting(b: &mut OpBuilder) {
    for (schema, node) in [
        ("max.dim(Tensor self, int dim, bool keepdim=False)", "MaxBackward"),
        ("min.dim(Tensor self, int dim, bool keepdim=False)", "MinBackward"),
        ("median.dim(Tensor self, int dim, bool keepdim=False)", "MedianBackward1"),
        ("nanmedian.dim(Tensor self, int dim, bool keepdim=False)", "NanmedianBackward1"),
    ] {
        b.op(&format!("{schema} -> (Tensor values, Tensor indices)"), Rule::Fresh(with_indices)).tags(Tags::REDUCTION);
        b.indices_without_grad(&[1]).grad(node, &["result1"], select_backward);
    }
    b.at("max.dim").batch(Batch::Rule(super::batch_rules::reduction));
    b.at("median.dim").batch(Batch::Rule(super::batch_rules::reduction));
    b.at("nanmedian.dim").batch(Batch::Rule(super::batch_rules::reduction));
    b.at("min.dim").batch(Batch::Rule(super::batch_rules::reduction));
    for (name, node) in [("median", "MedianBackward"), ("nanmedian", "NanmedianBackward")] {
        b.op(&format!("{name}(Tensor self) -> Tensor"), Rule::Fresh(|c| Ok(vec![result(c, c.tensor("self")?.dtype())?])))
            .refuses("bc", "median_cpu");
        b.tags(Tags::REDUCTION).grad(node, &["self", "result"], |b| unary_grad(b, |g| evenly(b, g)));
    }
    b.at("median").doc("The lower median; along a dimension also where it is.").batch(Batch::Rule(super::batch_rules::median));
    b.at("nanmedian").doc("The median without NaN.").batch(Batch::Rule(super::batch_rules::nanmedian));
}

fn register_truth(b: &mut OpBuilder) {
    for name in ["all", "any"] {
        for schema in
            ["(Tensor self)", ".dim(Tensor self, int dim, bool keepdim=False)", ".dims(Tensor self, int[]? dim=None, bool keepdim=False)"]
        {
            b.op(&format!("{name}{schema} -> Tensor"), Rule::Fresh(truth_spec))
                .complex(Complex::Truth)
                .tags(Tags::REDUCTION)
                .not_differentiable();
        }
    }
    b.at("all").doc("Whether all elements are true, or all along a dimension.").batch(Batch::Rule(super::batch_rules::all));
    b.at("any")
        .doc("Whether any element is true, or any along a dimension.")
        .classes(OpClasses::RECOMPUTABLE)
        .batch(Batch::Rule(super::batch_rules::any));
    b.at("all.dim").batch(Batch::Shifted);
    b.at("all.dims").batch(Batch::Shifted);
    b.at("any.dim").batch(Batch::Shifted);
    b.at("any.dims").batch(Batch::Shifted);
}

/// The dtype that float reductions of integers have.
pub(super) fn float_dtype(dtype: Dtype) -> Dtype {
    if dtype.is_integral() { default_dtype() } else { dtype }
}

/// A reduced result for the other files of this family.
pub(super) fn reduced(c: &Call, dtype: Dtype) -> Result<Option<TensorSpec>> {
    result(c, dtype)
}
