//! Fake quantization: `(clamp(round(x / scale) + zero_point) - zero_point) * scale`, and where nothing was clamped.

use super::dense::Lane;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value};
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.fake_quantize_per_tensor_affine_cachemask.default", per_tensor);
    t.fill("aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default", per_tensor);
    t.fill("aten.fake_quantize_per_channel_affine_cachemask.default", per_channel);
}

/// The step, and the integer that zero becomes.
#[derive(Clone, Copy)]
struct Step {
    scale: f32,
    point: f32,
}

/// Writes the rounded values and the mask; `step` is that of an element in row-major order.
fn rounded(c: &Call, out: &[Tensor], step: impl Fn(usize) -> Option<Step>) -> Result<()> {
    let x = c.tensor("self")?;
    let (least, most) = (c.int("quant_min")?, c.int("quant_max")?);
    if !x.dtype().is_floating() {
        let kind = if c.entry.schema.position("axis").is_some() { "channel" } else { "tensor" };
        let name = format!("fake_quantize_{kind}_cachemask_kernel_type_handling");
        return Err(Error::not_implemented(format!("\"{name}\" not implemented for '{}'", x.dtype().scalar_type())));
    }
    let values = f64::read(x)?;
    let mut mask = vec![1i64; values.len()];
    let is_double = x.dtype() == Dtype::Float64;
    let mut results = Vec::with_capacity(values.len());
    for (i, x) in values.into_iter().enumerate() {
        let Some(Step { scale, point }) = step(i) else {
            results.push(x);
            continue;
        };
        let inverse = 1.0 / scale;
        let (least, most) = (least as f64, most as f64);
        let product = if is_double { x * f64::from(inverse) } else { f64::from(x as f32 * inverse) };
        let stepped = f64::from(point) + product.round_ties_even();
        mask[i] = i64::from(least <= stepped && stepped <= most);
        let clamped = stepped.max(least).min(most) - f64::from(point);
        results.push(if is_double { clamped * f64::from(scale) } else { f64::from(clamped as f32 * scale) });
    }
    f64::write(&out[0], &results)?;
    i64::write(&out[1], &mask)
}

fn one(value: &Value) -> Result<f64> {
    match value {
        Value::Tensor(t) => f64::read(t)?.first().copied().ok_or_else(|| Error::runtime("a tensor of one element is needed")),
        number => number.float(),
    }
}

fn per_tensor(c: &Call, out: &[Tensor]) -> Result<()> {
    let step = Step { scale: one(c.get("scale"))? as f32, point: one(c.get("zero_point"))? as f32 };
    let is_off = c.entry.schema.position("fake_quant_enabled").is_some() && one(c.get("fake_quant_enabled"))? == 0.0;
    rounded(c, out, |_| (!is_off).then_some(step))
}

fn per_channel(c: &Call, out: &[Tensor]) -> Result<()> {
    let (scales, points) = (f64::read(c.tensor("scale")?)?, f64::read(c.tensor("zero_point")?)?);
    let sizes = c.tensor("self")?.concrete()?.sizes;
    let axis = c.int("axis")? as usize;
    let inner: usize = sizes.iter().skip(axis + 1).product();
    let channel = |i: usize| i / inner.max(1) % scales.len().max(1);
    rounded(c, out, |i| Some(Step { scale: scales[channel(i)] as f32, point: points[channel(i)] as f32 }))
}
