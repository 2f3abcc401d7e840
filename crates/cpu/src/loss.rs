//! Losses element by element, reduced where asked, and their gradients.

use super::cascade;
use super::dense::{Lane, Real, expanded, held, unsupported};
use super::vectorized::Vectorized;
use crate::dense::for_floats;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value};
use operators::loss::{MEAN, NONE};
use operators::shapes::{broadcast_two, result_type};
use tensor::{Dtype, Tensor, promote};

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.mse_loss.default", |c, out| forward(c, out, "mse_cpu", Formula::Mse));
    t.fill("aten.mse_loss_backward.default", |c, out| backward(c, out, "mse_backward_cpu_out", Formula::Mse));
    t.fill("aten.smooth_l1_loss.default", |c, out| forward(c, out, "smooth_l1_cpu", Formula::SmoothL1(c.float("beta")?)));
    t.fill("aten.smooth_l1_loss_backward.default", |c, out| {
        backward(c, out, "smooth_l1_backward_cpu_out", Formula::SmoothL1(c.float("beta")?))
    });
    t.fill("aten.huber_loss.default", |c, out| forward(c, out, "huber_cpu", Formula::Huber(c.float("delta")?)));
    t.fill("aten.huber_loss_backward.default", |c, out| backward(c, out, "huber_backward_cpu_out", Formula::Huber(c.float("delta")?)));
    t.fill("aten.soft_margin_loss.default", |c, out| forward(c, out, "soft_margin", Formula::SoftMargin));
    t.fill("aten.soft_margin_loss_backward.default", |c, out| backward(c, out, "soft_margin", Formula::SoftMargin));
    t.fill("aten.binary_cross_entropy.default", bce);
    t.fill("aten.binary_cross_entropy_backward.default", bce_backward);
    t.fill("aten.binary_cross_entropy_with_logits.default", bce_logits);
}

/// A loss of one element.
#[derive(Clone, Copy)]
enum Formula {
    Mse,
    SmoothL1(f64),
    Huber(f64),
    SoftMargin,
}

impl Formula {
    fn value<T: Real>(self, x: T, y: T) -> T {
        let (z, half) = ((x - y).abs(), T::of(0.5));
        match self {
            Formula::Mse => (x - y) * (x - y),
            Formula::SmoothL1(beta) if z < T::of(beta) => half * z * z / T::of(beta),
            Formula::SmoothL1(beta) => z - half * T::of(beta),
            Formula::Huber(delta) if z <= T::of(delta) => half * z * z,
            Formula::Huber(delta) => T::of(delta) * (z - half * T::of(delta)),
            Formula::SoftMargin => (-y * x).exp().ln_1p(),
        }
    }

    fn slope<T: Real>(self, x: T, y: T) -> T {
        let d = x - y;
        let sign = |t: T| {
            if t > T::of(0.0) {
                T::of(1.0)
            } else if t < T::of(0.0) {
                T::of(-1.0)
            } else {
                T::of(0.0)
            }
        };
        match self {
            Formula::Mse => T::of(2.0) * d,
            Formula::SmoothL1(beta) if d.abs() < T::of(beta) => d / T::of(beta),
            Formula::SmoothL1(_) => sign(d),
            Formula::Huber(delta) if d.abs() <= T::of(delta) => d,
            Formula::Huber(delta) => T::of(delta) * sign(d),
            Formula::SoftMargin => {
                let z = (-y * x).exp();
                -y * z / (z + T::of(1.0))
            }
        }
    }
}

/// Writes the elements, their mean or their sum.
fn reduce<T: Vectorized>(values: Vec<T>, reduction: i64, out: &Tensor) -> Result<()> {
    if reduction == NONE {
        return T::write(out, &values);
    }
    let sum = cascade::sum_of(&values);
    T::write(out, &[if reduction == MEAN { sum / T::of(values.len() as f64) } else { sum }])
}

/// Two tensors broadcast against each other.
fn pair<T: Lane>(a: &Tensor, b: &Tensor) -> Result<(Vec<T>, Vec<T>)> {
    let sizes = broadcast_two(&a.sizes(), &b.sizes())?;
    Ok((T::read(&expanded(a, &sizes)?)?, T::read(&expanded(b, &sizes)?)?))
}

/// A tensor broadcast to another's sizes.
fn along<T: Lane>(t: &Tensor, like: &Tensor) -> Result<Vec<T>> {
    T::read(&expanded(t, &like.sizes())?)
}

fn forward(c: &Call, out: &[Tensor], kernel: &str, formula: Formula) -> Result<()> {
    for_floats!(kernel, result_type(&[c.get("self"), c.get("target")])?, T => {
        let (x, y) = pair::<T>(c.tensor("self")?, c.tensor("target")?)?;
        // The losses of the elements are a tensor of that dtype before they are reduced.
        let dtype = out[0].dtype();
        let value = |(x, y): (T, T)| match formula {
            Formula::Mse => held(x - y, dtype) * held(x - y, dtype),
            // Each step is taken in the result.
            Formula::SoftMargin => held(held(held(-y, dtype) * x, dtype).exp(), dtype).ln_1p(),
            _ => formula.value(x, y),
        };
        reduce(x.into_iter().zip(y).map(|pair| held(value(pair), dtype)).collect(), c.int("reduction")?, &out[0])
    })
}

fn backward(c: &Call, out: &[Tensor], kernel: &str, formula: Formula) -> Result<()> {
    let computed_in = result_type(&[c.get("self"), c.get("target"), c.get("grad_output")])?;
    for_floats!(kernel, computed_in, T => {
        let input = c.tensor("self")?;
        if let Formula::Huber(_) = formula {
            need_dtype(&[c.tensor("target")?, c.tensor("grad_output")?], out[0].dtype())?;
        }
        let (x, y) = (along::<T>(input, &out[0])?, along::<T>(c.tensor("target")?, &out[0])?);
        let grad = along::<T>(c.tensor("grad_output")?, &out[0])?;
        // However much it is broadcast, the input's own elements count.
        let count = input.concrete()?.numel();
        let norm = if c.int("reduction")? == MEAN { T::of(1.0) / T::of(count as f64) } else { T::of(1.0) };
        let dtype = out[0].dtype();
        let twice = held(T::of(2.0) * norm, computed_in);
        let of_grad = c.tensor("grad_output")?.dtype();
        let slope = |((x, y), g): ((T, T), T)| match formula {
            // Each product is rounded.
            Formula::Mse => held(twice * held(x - y, computed_in), computed_in) * g,
            Formula::Huber(_) => held(norm, dtype) * formula.slope(x, y) * g,
            Formula::SoftMargin => {
                let z = held((-held(y * x, dtype)).exp(), dtype);
                let scaled = held(held(g * norm, of_grad) * -y, computed_in);
                held(scaled * z, computed_in) / held(z + T::of(1.0), dtype)
            }
            _ => norm * formula.slope(x, y) * g,
        };
        let values: Vec<T> = x.into_iter().zip(y).zip(grad).map(slope).collect();
        T::write(&out[0], &values)
    })
}

/// What a kernel that promotes nothing demands of its operands.
fn need_dtype(operands: &[&Tensor], dtype: Dtype) -> Result<()> {
    match operands.iter().find(|t| t.dtype() != dtype) {
        Some(t) => Err(Error::runtime(format!("Found dtype {} but expected {}", t.dtype().scalar_type(), dtype.scalar_type()))),
        None => Ok(()),
    }
}

fn bce(c: &Call, out: &[Tensor]) -> Result<()> {
    let input = c.tensor("self")?;
    let dtype = input.dtype();
    need_dtype(&[c.tensor("target")?], dtype)?;
    for_floats!("binary_cross_entropy", input.dtype(), T => {
        let (zero, one, floor) = (T::of(0.0), T::of(1.0), T::of(-100.0));
        let (x, y) = (T::read(input)?, along::<T>(c.tensor("target")?, input)?);
        if x.iter().any(|v| !(*v >= zero && *v <= one)) {
            return Err(Error::runtime("all elements of input should be between 0 and 1"));
        }
        let clamped = |v: T| if v < floor { floor } else { v };
        let mut loss: Vec<T> = x
            .into_iter()
            .zip(y)
            .map(|(x, y)| held((y - one) * clamped((-x).ln_1p()) - y * clamped(x.ln()), dtype))
            .collect();
        if let Some(weight) = c.opt_tensor("weight") {
            loss.iter_mut().zip(along::<T>(weight, input)?).for_each(|(l, w)| *l = held(*l * w, dtype));
        }
        reduce(loss, c.int("reduction")?, &out[0])
    })
}

fn bce_backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let input = c.tensor("self")?;
    let dtype = input.dtype();
    need_dtype(&[c.tensor("target")?, c.tensor("grad_output")?], dtype)?;
    for_floats!("binary_cross_entropy_backward", input.dtype(), T => {
        let (x, y) = (T::read(input)?, along::<T>(c.tensor("target")?, input)?);
        let grad = along::<T>(c.tensor("grad_output")?, input)?;
        let count = x.len();
        let mut result: Vec<T> = x
            .into_iter()
            .zip(y)
            .zip(grad)
            .map(|((x, y), g)| {
                let spread = (T::of(1.0) - x) * x;
                held(g * (x - y) / if spread < T::of(1e-12) { T::of(1e-12) } else { spread }, dtype)
            })
            .collect();
        if let Some(weight) = c.opt_tensor("weight") {
            result.iter_mut().zip(along::<T>(weight, input)?).for_each(|(l, w)| *l = held(*l * w, dtype));
        }
        if c.int("reduction")? == MEAN {
            result.iter_mut().for_each(|v| *v /= T::of(count as f64));
        }
        T::write(&out[0], &result)
    })
}

fn bce_logits(c: &Call, out: &[Tensor]) -> Result<()> {
    let (input, target) = (c.tensor("self")?, c.tensor("target")?);
    if !input.dtype().is_floating() {
        return Err(unsupported("log_sigmoid_cpu", input.dtype()));
    }
    let given: Vec<&Value> = ["self", "target", "weight", "pos_weight"].iter().map(|n| c.get(n)).filter(|v| !v.is_none()).collect();
    for_floats!("log_sigmoid_cpu", result_type(&given)?, T => {
        let (one, dtype) = (T::of(1.0), target.dtype());
        let (x, y) = (T::read(input)?, T::read(target)?);
        let pos = c.opt_tensor("pos_weight");
        let factors: Option<Vec<T>> = pos.map(|p| along::<T>(p, input)).transpose()?;
        let factor_dtype = pos.map_or(dtype, |p| promote(p.dtype(), dtype));
        let mut loss: Vec<T> = Vec::with_capacity(x.len());
        // Each step is a tensor, most of the target's dtype, which may be narrower than what is computed in.
        let held = |v: T, dtype: Dtype| if dtype == Dtype::Float32 { T::of(f64::from(v.wide() as f32)) } else { held(v, dtype) };
        for (i, (x, y)) in x.into_iter().zip(y).enumerate() {
            let low = if x < T::of(0.0) { x } else { T::of(0.0) };
            let mut log_sigmoid = held(low - (-x.abs()).exp().ln_1p(), input.dtype());
            if let (Some(factors), Some(pos)) = (&factors, pos) {
                let less = held(factors[i] - one, pos.dtype());
                let factor = held(held(less * y, factor_dtype) + one, factor_dtype);
                log_sigmoid = held(factor * log_sigmoid, factor_dtype);
            }
            loss.push(held(held(held(one - y, dtype) * x, dtype) - log_sigmoid, dtype));
        }
        if let Some(weight) = c.opt_tensor("weight") {
            loss.iter_mut().zip(along::<T>(weight, input)?).for_each(|(l, w)| *l = held(*l * w, dtype));
        }
        reduce(loss, c.int("reduction")?, &out[0])
    })
}
