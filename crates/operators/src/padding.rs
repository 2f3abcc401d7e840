//! `pad` and its modes: which operator serves, and the circular one, which takes itself apart.

use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Call, OpBuilder, Rule, Value};
use shape::SymInt;

fn pad(call: &Call) -> Result<Value> {
    let (tensor, pad, mode) = (call.tensor("self")?, call.sym_ints("pad")?, call.str("mode")?);
    if pad.len() % 2 != 0 {
        return Err(Error::runtime("Padding length must be divisible by 2"));
    }
    if pad.len() / 2 > tensor.dim() {
        return Err(Error::runtime(format!(
            "Padding length should be less than or equal to two times the input dimension but got padding length {} and input of dimension {}",
            pad.len(),
            tensor.dim()
        )));
    }
    if mode == "constant" {
        let value = match call.get("value") {
            Value::None => Value::Float(0.0),
            given => given.clone(),
        };
        return t!("constant_pad_nd", tensor, pad, value).map(Value::from);
    }
    if !call.get("value").is_none() && call.float("value")? != 0.0 {
        return Err(Error::runtime(format!("Padding mode \"{mode}\" doesn't take in value argument")));
    }
    if mode == "circular" {
        return t!("_pad_circular", tensor, pad).map(Value::from);
    }
    let n = tensor.dim();
    let fits = |spatial: usize| pad.len() == 2 * spatial && (n == spatial + 1 || n == spatial + 2);
    match mode {
        "reflect" if fits(1) => t!("reflection_pad1d", tensor, pad),
        "reflect" if fits(2) => t!("reflection_pad2d", tensor, pad),
        "reflect" if fits(3) => t!("reflection_pad3d", tensor, pad),
        "replicate" if fits(1) => t!("replication_pad1d", tensor, pad),
        "replicate" if fits(2) => t!("replication_pad2d", tensor, pad),
        "replicate" if fits(3) => t!("replication_pad3d", tensor, pad),
        "reflect" | "replicate" => Err(unsupported(pad.len(), n)),
        other => Err(Error::not_implemented(format!("Unrecognised padding mode {other}"))),
    }
    .map(Value::from)
}

fn unsupported(padding: usize, dims: usize) -> Error {
    Error::not_implemented(format!(
        "Padding size {padding} is not supported for {dims}D input tensor.\nSupported combinations for non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
    ))
}

/// Padding with what lies at the other end, dimension by dimension.
fn pad_circular(call: &Call) -> Result<Value> {
    let (tensor, pad) = (call.tensor("self")?, call.sym_ints("pad")?);
    let (n, spatial) = (tensor.dim(), pad.len() / 2);
    if n != spatial + 1 && n != spatial + 2 {
        return Err(unsupported(pad.len(), n));
    }
    let first = n - spatial;
    let around = |d: usize| (&pad[2 * (n - 1 - d)], &pad[2 * (n - 1 - d) + 1]);
    let mut sizes = tensor.sizes();
    for (d, size) in sizes.iter_mut().enumerate().skip(first) {
        let (before, after) = around(d);
        if size.sym_lt(before.clone())? || size.sym_lt(after.clone())? {
            return Err(Error::runtime("Padding value causes wrapping around more than once."));
        }
        *size = &(&*size + before) + after;
        if size.sym_lt(0)? {
            return Err(Error::runtime("Negative padding value is resulting in an empty dimension"));
        }
    }
    let layout = Value::Layout(tensor::Layout::Strided);
    let out = t!("new_empty", tensor, &sizes; dtype = tensor.dtype(), layout = layout, device = tensor.device())?;
    // The middle first, then the edges from what is there.
    let (mut target, mut source) = (out.clone(), tensor.clone());
    let zero = SymInt::Int(0);
    for d in (first..n).rev() {
        let (before, after) = around(d);
        let (inner_start, inner_end) = (before.max(&zero), &sizes[d] - &after.max(&zero));
        target = t!("slice.Tensor", target, d as i64, inner_start, inner_end)?;
        let (cut_start, cut_end) = ((&zero - before).max(&zero), &tensor.size(d) - &(&zero - after).max(&zero));
        source = t!("slice.Tensor", source, d as i64, cut_start, cut_end)?;
    }
    t!("copy_", target, source)?;
    for d in (first..n).rev() {
        let (before, after) = around(d);
        if zero.sym_lt(before.clone())? {
            let edge = t!("slice.Tensor", &out, d as i64, 0, before.clone())?;
            let end = &sizes[d] - &after.max(&zero);
            t!("copy_", edge, t!("slice.Tensor", &out, d as i64, &end - before, end)?)?;
        }
        if zero.sym_lt(after.clone())? {
            let edge = t!("slice.Tensor", &out, d as i64, &sizes[d] - after, sizes[d].clone())?;
            let start = before.max(&zero);
            t!("copy_", edge, t!("slice.Tensor", &out, d as i64, start.clone(), &start + after)?)?;
        }
    }
    Ok(out.into())
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op("_pad_circular(Tensor self, SymInt[] pad) -> Tensor", Rule::Composite(pad_circular));
    b.op("pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor", Rule::Composite(pad))
        .doc("Borders by a constant, by reflection, by repetition or around.")
        .function();
}
