//! Resampling of images with antialiasing: where an image shrinks, filters widen with the scale. Separable, along the width first.

use super::common::*;
use super::layout::{spec, suggested};
use super::resampling::request;
use super::shapes::need_sizes;
use diagnostics::error::{Error, Result};
use dispatch::{Call, Grads, OpBuilder, Rule, Value, lookup};
use tensor::Tensor;

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    const REST: &str = "bool align_corners, float? scales_h=None, float? scales_w=None";
    for (mode, node) in [
        ("bilinear", "UpsampleBilinear2DAaBackward"),
        ("bicubic", "UpsampleBicubic2DAaBackward"),
        ("lanczos", "UpsampleLanczos2DAaBackward"),
    ] {
        let name = format!("_upsample_{mode}2d_aa");
        b.op(
            &format!("{name}.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"),
            Rule::Composite(of_lists),
        );
        b.op(&format!("{name}(Tensor self, SymInt[2] output_size, {REST}) -> Tensor"), Rule::Fresh(resampled));
        b.grad(node, &[], |b| {
            let backward = format!("aten.{}_backward.default", b.entry.base_name());
            let backward = lookup(&backward).ok_or_else(|| Error::not_implemented(b.entry.name))?;
            let sizes = Value::from(b.sizes("self")?);
            Grads::one(b, "self", || {
                let arg = |name: &str| b.arg(name).clone();
                let rest = ["align_corners", "scales_h", "scales_w"].map(arg);
                let args = [Value::from(b.grad()?), arg("output_size"), sizes].into_iter().chain(rest).collect();
                dispatch::call(backward, args)?.into_tensor()
            })
        });
        b.op(
            &format!("{name}_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, {REST}) -> Tensor"),
            Rule::Fresh(|c| {
                let (grad, output, input) = (c.tensor("grad_output")?, c.sym_ints("output_size")?, c.sym_ints("input_size")?);
                for (name, sizes, count) in [("output_size", &output, 2), ("input_size", &input, 4)] {
                    if sizes.len() != count {
                        return Err(Error::runtime(format!("It is expected {name} equals to {count}, but got size {}", sizes.len())));
                    }
                }
                if output.iter().chain(&input).any(|size| size.as_int().is_some_and(|size| size <= 0)) {
                    return Err(Error::runtime("Input and output sizes should be greater than 0"));
                }
                need_sizes(c.entry.base_name(), "grad_output", grad, &[&input[..2], &output[..]].concat())?;
                Ok(vec![Some(spec(input, suggested(grad), grad))])
            }),
        );
    }
}

/// A call with lists, as one with the sizes of the result.
fn of_lists(c: &Call) -> Result<Value> {
    let kernel = format!("aten.{}.default", c.entry.base_name());
    let kernel = lookup(&kernel).ok_or_else(|| Error::not_implemented(c.entry.name))?;
    let r = request(c)?;
    let mut args = vec![Value::from(&r.input), Value::from(r.output), c.get("align_corners").clone()];
    args.extend(r.scales.into_iter().map(|scale| scale.map_or(Value::None, Value::Float)));
    dispatch::call(kernel, args)
}

fn resampled(c: &Call) -> Specs {
    let r = request(c)?;
    let x: &Tensor = &r.input;
    let sizes = [&x.sizes()[..2], &r.output[..]].concat();
    Ok(vec![Some(spec(sizes, suggested(x), x))])
}
