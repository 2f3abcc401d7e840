//! Whether two values are the same, but for the rounding that another order of the same arithmetic makes.

use crate::aot::like::copied;
use crate::autograd::meta;
use crate::dispatch::{Exclude, Key, Modes, Value, modes, set_modes};
use crate::error::Result;
use crate::tensor::{Category, Dtype, Tensor};

/// How a value differs from the expected one; `None` where it does not.
pub fn difference(found: &Value, expected: &Value) -> Option<String> {
    match (found, expected) {
        (Value::Tensor(found), Value::Tensor(expected)) => of_tensors(found, expected),
        (Value::Tensor(t), Value::None) => is_not_zero(t).then(|| "it is a tensor, in eager mode there is none".to_owned()),
        (Value::None, Value::Tensor(t)) => is_not_zero(t).then(|| "there is none, in eager mode it is a tensor".to_owned()),
        (Value::List(found), Value::List(expected)) => found.iter().zip(expected.iter()).find_map(|(f, e)| difference(f, e)),
        (Value::Bool(f), Value::Bool(e)) => (f != e).then(|| format!("{f}, in eager mode {e}")),
        (Value::Int(f), Value::Int(e)) => (f.hint() != e.hint()).then(|| format!("{f}, in eager mode {e}")),
        (Value::Float(f), Value::Float(e)) => (!close(*f, *e, tolerance(Dtype::Float64), 0.0)).then(|| format!("{f}, in eager mode {e}")),
        _ => None,
    }
}

fn is_not_zero(t: &Tensor) -> bool {
    numbers(t).is_ok_and(|numbers| numbers.into_iter().any(|n| n != 0.0))
}

fn of_tensors(found: &Tensor, expected: &Tensor) -> Option<String> {
    let sizes = |t: &Tensor| t.sizes().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if sizes(found) != sizes(expected) {
        return Some(format!("its shape is [{}], in eager mode [{}]", sizes(found), sizes(expected)));
    }
    if found.dtype() != expected.dtype() {
        return Some(format!("its dtype is {}, in eager mode {}", found.dtype(), expected.dtype()));
    }
    if meta::requires_grad(found) != meta::requires_grad(expected) {
        let says = |yes: bool| if yes { "it requires grad" } else { "it does not require grad" };
        return Some(format!("{}, in eager mode {}", says(meta::requires_grad(found)), says(meta::requires_grad(expected))));
    }
    let (a, b) = (numbers(found).ok()?, numbers(expected).ok()?);
    let (tolerance, largest) =
        (tolerance(found.dtype()), b.iter().copied().filter(|n| n.is_finite()).fold(0.0, |m: f64, n| m.max(n.abs())));
    let apart: Vec<usize> = (0..a.len().min(b.len())).filter(|i| !close(a[*i], b[*i], tolerance, largest)).collect();
    let worst = apart.iter().copied().max_by(|i, j| (a[*i] - b[*i]).abs().total_cmp(&(a[*j] - b[*j]).abs()))?;
    let shown = |n: f64| if is_short(found.dtype()) { (n as f32).to_string() } else { n.to_string() };
    Some(format!("{} of {} numbers differ: {} where eager mode has {}", apart.len(), a.len(), shown(a[worst]), shown(b[worst])))
}

/// Whether numbers of a dtype have no more digits than those of 32 bits.
fn is_short(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::Float32 | Dtype::Float16 | Dtype::BFloat16 | Dtype::Complex64)
}

/// Relative and absolute tolerances: those of `torch.testing.assert_close`.
fn tolerance(dtype: Dtype) -> (f64, f64) {
    match dtype {
        Dtype::Float16 => (1e-3, 1e-5),
        Dtype::BFloat16 => (1.6e-2, 1e-5),
        Dtype::Float32 | Dtype::Complex64 => (1.3e-6, 1e-5),
        Dtype::Float64 | Dtype::Complex128 => (1e-7, 1e-7),
        _ => (0.0, 0.0),
    }
}

/// Whether two numbers are the same up to rounding, among numbers as large as `largest`: a sum of them has an error of that size.
fn close(a: f64, b: f64, (relative, absolute): (f64, f64), largest: f64) -> bool {
    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= absolute + relative * b.abs().max(largest)
}

/// Whether two tensors of one shape and dtype hold the same numbers.
pub fn same_numbers(a: &Tensor, b: &Tensor) -> bool {
    let shape = |t: &Tensor| t.sizes().iter().map(|size| size.hint()).collect::<Vec<_>>();
    a.dtype() == b.dtype() && shape(a) == shape(b) && difference(&detached(a), &detached(b)).is_none()
}

fn detached(t: &Tensor) -> Value {
    copied(t).map_or(Value::None, Value::Tensor)
}

/// A tensor's numbers in order; of complex ones, both parts.
fn numbers(t: &Tensor) -> Result<Vec<f64>> {
    let _below = Exclude::down_to(Key::Lower);
    let before = set_modes(Modes { grad: false, inference: false, ..modes() });
    let read = || -> Result<Vec<f64>> {
        let is_complex = t.dtype().category() == Category::Complex;
        let wide = crate::t!("_to_copy", t; dtype = if is_complex { Dtype::Complex128 } else { Dtype::Float64 })?;
        let plain = if is_complex { crate::t!("view_as_real", wide)? } else { wide };
        crate::t!("contiguous", plain)?.with_slice::<f64, _>(<[f64]>::to_vec)
    };
    let numbers = read();
    set_modes(before);
    numbers
}
