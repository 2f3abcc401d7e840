//! Sampled curves and samples of distributions: differences, trapezoids, quantiles, covariances. All take themselves apart.

use super::complex::conj;
use super::shapes::wrap_dim;
use diagnostics::error::{Error, Result};
use dispatch::{Call, CastPolicy, OpBuilder, Rule, Value, subtract_sizes};
use dispatch::{aten, t};
use shape::{Relation, SymInt};
use tensor::{Dtype, Layout, Tensor};

fn own(call: &Call, name: &str) -> Result<Tensor> {
    call.tensor(name).cloned()
}

fn diff(call: &Call) -> Result<Value> {
    let (tensor, n) = (own(call, "self")?, call.int("n")?);
    if tensor.dim() == 0 {
        return Err(Error::runtime("diff expects input to be at least one-dimensional"));
    }
    if n < 0 {
        return Err(Error::runtime(format!("order must be non-negative but got {n}")));
    }
    let d = wrap_dim(call.int("dim")?, tensor.dim())?;
    if n == 0 {
        return aten!("copy_", t!("zeros_like", &tensor)?, &tensor);
    }
    let around: Vec<Tensor> =
        [call.opt_tensor("prepend").cloned(), Some(tensor.clone()), call.opt_tensor("append").cloned()].into_iter().flatten().collect();
    let dim = call.int("dim")?;
    let mut result = if around.len() > 1 { t!("cat", Value::from(around), dim)? } else { tensor };
    let size = result.size(d);
    let mut length = subtract_sizes(&size, &SymInt::Int(1))?;
    let times = if SymInt::Int(n).compare(Relation::Gt, &size)? { size.guard_int()? } else { n };
    tensor::check_count(times)?;
    for time in 0..times {
        if time > 0 {
            length = subtract_sizes(&length, &SymInt::Int(1))?;
        }
        let earlier = t!("narrow", &result, dim, 0, &length)?;
        let later = t!("narrow", &result, dim, 1, &length)?;
        result = if result.dtype() == Dtype::Bool { t!("logical_xor", later, earlier)? } else { t!("sub.Tensor", later, earlier)? };
    }
    Ok(result.into())
}

/// All but the last and all but the first along a dimension.
fn neighbours(tensor: &Tensor, dim: i64) -> Result<(Tensor, Tensor)> {
    if tensor.dim() == 0 {
        return Err(Error::index("slice() cannot be applied to a 0-dim tensor."));
    }
    Ok((t!("slice.Tensor", tensor, dim, 0, -1)?, t!("slice.Tensor", tensor, dim, 1)?))
}

/// The dimension to go along, and its number in a tensor that has dimensions.
fn along(call: &Call, y: &Tensor) -> Result<(i64, usize)> {
    let dim = call.int("dim")?;
    if y.dim() == 0 {
        let at = if call.opt_tensor("x").is_some() { dim.saturating_add(1) } else { dim };
        return Err(Error::index(format!("Dimension specified as {at} but tensor has no dimensions")));
    }
    Ok((dim, wrap_dim(dim, y.dim())?))
}

/// The distances between the places `x`, shaped to go with `y`.
fn distances(x: &Tensor, y: &Tensor, d: usize, name: &str) -> Result<Tensor> {
    let places = if x.dim() == 1 {
        if !x.size(0).sym_eq(y.size(d))? {
            return Err(Error::runtime(format!("{name}: There must be one `x` value for each sample point")));
        }
        let mut sizes = vec![SymInt::Int(1); y.dim()];
        sizes[d] = x.size(0);
        t!("view", x, sizes)?
    } else if x.dim() < y.dim() {
        let mut sizes = vec![SymInt::Int(1); y.dim() - x.dim()];
        sizes.extend(x.sizes());
        t!("view", x, sizes)?
    } else {
        x.clone()
    };
    let (left, right) = neighbours(&places, d as i64)?;
    t!("sub.Tensor", right, left)
}

fn trapezoid(call: &Call) -> Result<Value> {
    let y = own(call, "y")?;
    let (dim, d) = along(call, &y)?;
    if y.size(d).sym_eq(0)? {
        let mut sizes = y.sizes();
        sizes.remove(d);
        return aten!("zeros", sizes; dtype = y.dtype(), device = y.device());
    }
    if let Some(x) = call.opt_tensor("x") {
        let dx = distances(x, &y, d, "trapezoid")?;
        let (left, right) = neighbours(&y, d as i64)?;
        let areas = t!("mul.Tensor", t!("add.Tensor", left, right)?, dx)?;
        return aten!("div.Scalar", t!("sum.dim_IntList", areas, vec![SymInt::Int(d as i64)])?, 2.0);
    }
    let dx = call.get("dx").float()?;
    let (last, first) = (t!("select.int", &y, dim, -1)?, t!("select.int", &y, dim, 0)?);
    let ends = t!("mul.Scalar", t!("add.Tensor", first, last)?, 0.5)?;
    let inner = t!("sub.Tensor", t!("sum.dim_IntList", &y, vec![SymInt::Int(dim)])?, ends)?;
    aten!("mul.Scalar", inner, dx)
}

fn cumulative_trapezoid(call: &Call) -> Result<Value> {
    let y = own(call, "y")?;
    if y.dim() == 0 {
        return neighbours(&y, 0).map(|_| Value::None);
    }
    let (dim, d) = along(call, &y)?;
    if let Some(x) = call.opt_tensor("x") {
        let dx = distances(x, &y, d, "cumulative_trapezoid")?;
        let (left, right) = neighbours(&y, d as i64)?;
        let areas = t!("mul.Tensor", dx, t!("add.Tensor", left, right)?)?;
        return aten!("div.Scalar", t!("cumsum", areas, d as i64)?, 2.0);
    }
    let (left, right) = neighbours(&y, dim)?;
    aten!("cumsum", t!("mul.Scalar", t!("add.Tensor", left, right)?, call.get("dx").float()? / 2.0)?, dim)
}

fn quantile(call: &Call) -> Result<Value> {
    let (tensor, name) = (own(call, "self")?, call.entry.base_name());
    let ignore_nan = name == "nanquantile";
    if !matches!(tensor.dtype(), Dtype::Float32 | Dtype::Float64) {
        return Err(Error::runtime(format!("{name}() input tensor must be either float or double dtype")));
    }
    if tensor.numel().sym_eq(0)? {
        return Err(Error::runtime(format!("{name}() input tensor must be non-empty")));
    }
    let outside = || Error::runtime(format!("{name}() q must be in the range [0, 1]"));
    let q = match call.get("q") {
        Value::Tensor(q) => {
            if q.dim() > 1 {
                return Err(Error::runtime(format!("{name}() q must be a scalar or 1D tensor")));
            }
            if q.dtype() != tensor.dtype() {
                return Err(Error::runtime(format!("{name}() q tensor must be same dtype as the input tensor")));
            }
            q.clone()
        }
        number => {
            if !(0.0..=1.0).contains(&number.float()?) {
                return Err(outside());
            }
            t!("scalar_tensor", number; dtype = tensor.dtype(), layout = Value::Layout(Layout::Strided), device = tensor.device())?
        }
    };
    let mode = call.str("interpolation")?;
    if !["linear", "lower", "higher", "midpoint", "nearest"].contains(&mode) {
        return Err(Error::runtime(format!(
            "{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {mode}"
        )));
    }
    let d = match call.get("dim") {
        Value::None => None,
        given => Some(wrap_dim(given.int()?, tensor.dim())?),
    };
    let keepdim = call.bool("keepdim")?;
    // The dimension comes last, in order.
    let rows = match d {
        None => t!("flatten.using_ints", &tensor)?,
        Some(d) if d + 1 == tensor.dim() => tensor.clone(),
        Some(d) => t!("transpose.int", t!("unsqueeze", &tensor, -1)?, d as i64, -1)?,
    };
    let count = rows.size(rows.dim().max(1) - 1);
    let mut sizes = match d {
        Some(d) if tensor.dim() > 0 => {
            let mut sizes = tensor.sizes();
            if keepdim {
                sizes[d] = SymInt::Int(1)
            } else {
                drop(sizes.remove(d))
            }
            sizes
        }
        _ if keepdim => vec![SymInt::Int(1); tensor.dim()],
        _ => vec![],
    };
    sizes.push(count.clone());
    let (rows, last) = (t!("reshape", rows, sizes)?, &count - 1);
    // Ranks are counted in double precision.
    let places = |q: &Tensor| t!("to.dtype", q, Dtype::Float64);
    let ranks = if ignore_nan {
        let count = t!("sum.dim_IntList", t!("logical_not", t!("isnan", &rows)?)?, vec![SymInt::Int(-1)], true)?;
        let count = t!("sub.Scalar", count, 1)?;
        let ranks = t!("mul.Tensor", places(&q)?, count)?;
        t!("masked_fill.Scalar", &ranks, t!("lt.Scalar", &ranks, 0)?, 0)?
    } else {
        let ranks = t!("mul.Scalar", places(&q)?, Value::Int(last.clone()))?;
        let both = vec![ranks, t!("any.dim", t!("isnan", &rows)?, -1, true)?];
        let both = aten!("broadcast_tensors", Value::from(both))?.tensors()?;
        t!("masked_fill.Scalar", &both[0], &both[1], Value::Int(last))?
    };
    let ranks = match mode {
        "lower" => t!("floor", ranks)?,
        "higher" => t!("ceil", ranks)?,
        "nearest" => t!("round", ranks)?,
        _ => ranks,
    };
    let whole = |ranks: &Tensor| t!("to.dtype_layout", ranks; dtype = Dtype::Int64, layout = Value::Layout(Layout::Strided), device = ranks.device());
    let sorted = |rows: &Tensor| aten!("sort", rows).and_then(|v| Ok(v.tensors()?.swap_remove(0)));
    let below = whole(&ranks)?;
    let values = if mode == "linear" || mode == "midpoint" {
        let weights = if mode == "midpoint" { t!("full_like", &ranks, 0.5)? } else { t!("sub.Tensor", &ranks, &below)? };
        let weights = t!("to.dtype", weights, tensor.dtype())?;
        let above = whole(&t!("ceil", ranks)?)?;
        let sorted = sorted(&rows)?;
        let values = t!("gather", &sorted, -1, below)?;
        t!("lerp.Tensor", values, t!("gather", sorted, -1, above)?, weights)?
    } else {
        t!("gather", sorted(&rows)?, -1, below)?
    };
    if q.dim() == 0 {
        return aten!("squeeze_.dim", values, -1);
    }
    // One value per q, in front.
    aten!("squeeze_.dim", t!("transpose_", t!("unsqueeze_", values, 0)?, 0, -1)?, -1)
}

/// What `cov` asks of weights: one for each observation, counts that are integers or weights that are floats, none below zero.
fn check_weights(name: &str, weights: &Tensor, observations: &SymInt) -> Result<()> {
    if weights.dim() > 1 {
        return Err(Error::runtime(format!(
            "cov(): expected {name} to have one or fewer dimensions but got {name} with {} dimensions",
            weights.dim()
        )));
    }
    let dtype = weights.dtype();
    let (fits, kind) = match name {
        "fweights" => (dtype.is_integral() && dtype != Dtype::Bool, "integral"),
        _ => (dtype.is_floating(), "floating point"),
    };
    if !fits {
        let found = dtype.scalar_type();
        return Err(Error::runtime(format!("cov(): expected {name} to have {kind} dtype but got {name} with {found} dtype")));
    }
    if !weights.numel().sym_eq(observations.clone())? {
        return Err(Error::runtime(format!(
            "cov(): expected {name} to have the same numel as there are observations in the input but got {} != {observations}",
            weights.numel()
        )));
    }
    if weights.is_fake() || weights.numel().as_int() == Some(0) {
        return Ok(());
    }
    // NaN is not known to be at least zero.
    let least = t!("ge.Scalar", t!("min", weights)?, 0)?;
    match aten!("_local_scalar_dense", least)?.bool()? {
        true => Ok(()),
        false => Err(Error::runtime(format!("cov(): {name} cannot be negative"))),
    }
}

fn cov(call: &Call) -> Result<Value> {
    let (tensor, correction) = (own(call, "self")?, call.int("correction")?);
    if tensor.dim() > 2 {
        return Err(Error::runtime(format!(
            "cov(): expected input to have two or fewer dimensions but got an input with {} dimensions",
            tensor.dim()
        )));
    }
    if tensor.dtype() == Dtype::Bool {
        return Err(Error::not_implemented("cov(): bool dtype is not supported for input"));
    }
    let mut rows = if tensor.dim() < 2 { t!("view", &tensor, vec![SymInt::Int(1), SymInt::Int(-1)])? } else { tensor };
    let aweights = call.opt_tensor("aweights");
    for name in ["fweights", "aweights"] {
        if let Some(w) = call.opt_tensor(name) {
            check_weights(name, w, &rows.size(1))?;
        }
    }
    let weights = match (call.opt_tensor("fweights"), aweights) {
        (Some(f), Some(a)) => Some(t!("mul.Tensor", f, a)?),
        (one, other) => one.or(other).cloned(),
    };
    let number = |n: SymInt, rows: &Tensor| t!("scalar_tensor", Value::Int(n); dtype = Dtype::Int64, layout = Value::Layout(Layout::Strided), device = rows.device());
    let observations = rows.size(1);
    let total = match &weights {
        Some(w) => {
            let sum = t!("sum", w)?;
            if !sum.is_fake() && aten!("_local_scalar_dense", &sum)?.float()? == 0.0 {
                return Err(Error::runtime("cov(): weights sum to zero, can't be normalized"));
            }
            sum
        }
        None => number(observations.clone(), &rows)?,
    };
    let weighted = |rows: &Tensor| weights.as_ref().map_or_else(|| Ok(rows.clone()), |w| t!("mul.Tensor", rows, w));
    let mean = t!("div.Tensor", t!("sum.dim_IntList", weighted(&rows)?, vec![SymInt::Int(1)])?, &total)?;
    // Never below zero, so that too few observations make NaN.
    let freedom = match (&weights, aweights) {
        (None, _) => number((&observations - correction).max(&SymInt::Int(0)), &rows)?,
        (Some(w), Some(a)) if correction != 0 => {
            let share = t!("div.Tensor", t!("mul.Scalar", t!("sum", t!("mul.Tensor", w, a)?)?, correction)?, &total)?;
            t!("clamp_min", t!("sub.Tensor", &total, share)?, 0)?
        }
        _ => t!("clamp_min", t!("sub.Scalar", &total, correction)?, 0)?,
    };
    // Whether there are enough observations is asked of the tensor: a graph ends before such a call.
    let too_few = t!("le.Scalar", &freedom, 0)?;
    aten!("equal", &too_few, t!("ones_like", &too_few)?)?;
    rows = t!("sub.Tensor", &rows, t!("unsqueeze", mean, 1)?)?;
    let product = t!("mm", &rows, conj(&t!("t", weighted(&rows)?)?)?)?;
    aten!("squeeze", t!("div.Tensor", product, freedom)?)
}

fn corrcoef(call: &Call) -> Result<Value> {
    let tensor = call.tensor("self")?;
    if tensor.dim() > 2 {
        return Err(Error::runtime(format!(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with {} dimensions",
            tensor.dim()
        )));
    }
    let c = t!("cov", tensor)?;
    if c.dim() == 0 {
        return aten!("div.Tensor", &c, &c);
    }
    let variance = t!("diagonal", &c)?;
    let deviation = t!("sqrt", if c.dtype().is_complex() { t!("real", variance)? } else { variance })?;
    let c = t!("div.Tensor", c, t!("view", &deviation, vec![SymInt::Int(-1), SymInt::Int(1)])?)?;
    let c = t!("div.Tensor", c, t!("view", deviation, vec![SymInt::Int(1), SymInt::Int(-1)])?)?;
    if c.dtype().is_complex() {
        return aten!("complex", t!("clip", t!("real", &c)?, -1, 1)?, t!("clip", t!("imag", &c)?, -1, 1)?);
    }
    aten!("clip", c, -1, 1)
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", Rule::Composite(diff))
        .doc("Differences of neighbours.");
    b.op("trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", Rule::Composite(trapezoid));
    b.op("trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", Rule::Composite(trapezoid))
        .doc("The integral by the trapezoid rule.");
    b.op("trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", Rule::Composite(trapezoid));
    b.op("trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor", Rule::Composite(trapezoid)).doc("The integral by the trapezoid rule.");
    b.op("cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", Rule::Composite(cumulative_trapezoid));
    b.op("cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", Rule::Composite(cumulative_trapezoid))
        .doc("Running integrals by the trapezoid rule.");
    for name in ["quantile", "nanquantile"] {
        for (overload, q) in [("", "Tensor"), (".scalar", "float")] {
            b.op(
                &format!(
                    "{name}{overload}(Tensor self, {q} q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor"
                ),
                Rule::Composite(quantile),
            )
            .autocast(CastPolicy::Fp32);
        }
    }
    b.at("nanquantile").doc("Quantiles without NaN.");
    b.at("quantile").doc("Quantiles.");
    b.op("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor", Rule::Composite(cov))
        .doc("Covariances between variables.");
    b.op("corrcoef(Tensor self) -> Tensor", Rule::Composite(corrcoef)).doc("Correlations between variables.");
    b.op(
        "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
        Rule::Composite(|c| {
            let (x, y, dim) = (c.tensor("x")?, c.tensor("y")?, c.int("dim")?);
            if x.dtype() != y.dtype() {
                return Err(Error::runtime("linalg.vecdot: Expected x and y to have the same dtype"));
            }
            if x.dim() == 1 && y.dim() == 1 {
                return aten!("vdot", x, y);
            }
            aten!("sum.dim_IntList", t!("mul.Tensor", conj(x)?, y)?, vec![SymInt::Int(dim)])
        }),
    )
    .doc("Products of vectors along a dimension.")
    .autocast(CastPolicy::LowerPrecisionFp);
}
