//! Fake quantization: values rounded to the steps of integers and back, per tensor or per channel. Gradients pass where nothing was clamped.

use super::common::*;
use super::shapes::{need_elements, wrap_dim};
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, Grads, OpBuilder, Rule, Value};
use dispatch::{aten, t};
use tensor::{Device, Dtype, Layout, Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    // A tensor of one element may stand for a number: what takes tensors is asked first.
    b.op(
        "fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor",
        Rule::Composite(|c| {
            let enabled = t!("ones", vec![1i64]; dtype = Dtype::Int64, layout = Value::Layout(Layout::Strided), device = Device::CPU)?;
            let results = aten!(
                "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
                &c.args[0],
                &c.args[1],
                &c.args[2],
                enabled,
                &c.args[3],
                &c.args[4]
            )?;
            Ok(results.tensors()?.swap_remove(0).into())
        }),
    )
    .function();
    b.op(
        "fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor",
        Rule::Composite(|c| {
            let results = aten!("fake_quantize_per_tensor_affine_cachemask", &c.args[0], &c.args[1], &c.args[2], &c.args[3], &c.args[4])?;
            Ok(results.tensors()?.swap_remove(0).into())
        }),
    )
    .doc("Rounded to the steps of integers, and back.")
    .function();
    b.op(
        "fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> Tensor",
        Rule::Composite(|c| {
            let results = aten!(
                "fake_quantize_per_channel_affine_cachemask",
                &c.args[0],
                &c.args[1],
                &c.args[2],
                &c.args[3],
                &c.args[4],
                &c.args[5]
            )?;
            Ok(results.tensors()?.swap_remove(0).into())
        }),
    )
    .doc("Rounded to the steps of integers, and back, each channel with its own.")
    .function();
    for (schema, node) in [
        (
            "fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
            "FakeQuantizePerTensorAffineCachemaskBackward",
        ),
        (
            "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
            "FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward",
        ),
        (
            "fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
            "FakeQuantizePerChannelAffineCachemaskBackward",
        ),
    ] {
        b.op(schema, Rule::Fresh(quantized)).grad(node, &["result1"], where_kept).indices_without_grad(&[1]);
    }
}

fn where_kept(b: &Backward) -> Result<Grads> {
    unary_grad(b, |g| t!("mul.Tensor", g, b.result(1)?))
}

fn quantized(c: &Call) -> Specs {
    let (least, most) = (c.int("quant_min")?, c.int("quant_max")?);
    let x = c.tensor("self")?;
    let out_of_range = || Error::runtime("`zero_point` must be between `quant_min` and `quant_max`.");
    if c.entry.schema.position("axis").is_some() {
        check_channels(c, x)?;
    }
    if least > most {
        return Err(Error::runtime("`quant_min` should be less than or         equal to `quant_max`."));
    }
    match c.get("zero_point") {
        Value::Tensor(point) if c.entry.schema.position("axis").is_some() => {
            let is_read = !point.is_fake() && point.dtype() == Dtype::Int32;
            if is_read && tensor::strided::integers(point)?.iter().any(|point| *point < least || *point > most) {
                return Err(out_of_range());
            }
        }
        Value::Tensor(point) => {
            need_elements(c.entry.base_name(), "zero_point", point, &1.into())?;
            need_elements(c.entry.base_name(), "scale", c.tensor("scale")?, &1.into())?;
        }
        point => {
            let point = point.int()?;
            if point < least || point > most {
                return Err(out_of_range());
            }
        }
    }
    let value = like_self(c)?.swap_remove(0);
    let mask = value.as_ref().map(|spec| TensorSpec { dtype: Dtype::Bool, ..spec.clone() });
    Ok(vec![value, mask])
}

fn check_channels(c: &Call, x: &Tensor) -> Result<()> {
    let (scale, point, axis) = (c.tensor("scale")?, c.tensor("zero_point")?, c.int("axis")?);
    if !matches!(scale.dtype(), Dtype::Float32 | Dtype::BFloat16) {
        return Err(Error::runtime(format!("Scale must be Float or BFloat16, found {}", scale.dtype().scalar_type())));
    }
    if !matches!(point.dtype(), Dtype::Int32 | Dtype::Float32 | Dtype::Float16) {
        return Err(Error::runtime(format!("Zero-point must be Int32, Float or Half, found {}", point.dtype().scalar_type())));
    }
    let channels = x.size(wrap_dim(axis, x.dim())?);
    for t in [scale, point] {
        if t.dim() != 1 {
            return Err(Error::runtime("scale and zero point need to be 1D tensors"));
        }
        if !t.size(0).sym_eq(channels.clone())? {
            return Err(Error::runtime("dimensions of scale and zero-point are not consistent with input tensor"));
        }
    }
    if axis < 0 || axis > x.dim() as i64 {
        return Err(Error::runtime("`axis` must be between 0 and number of dimensions of input"));
    }
    Ok(())
}
