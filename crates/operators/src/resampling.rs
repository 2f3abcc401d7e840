//! Resampling of images: nearest, linear and cubic, composed of indexing and arithmetic as PyTorch's tracing composes them.

use crate::layout::suggested;
use diagnostics::error::{Error, Result};
use dispatch::{Call, OpBuilder, OpClasses, Rule, Tags, Value, multiply};
use dispatch::{aten, t};
use shape::{FloatExpr, Relation, SymFloat, SymInt};
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    let scales = [
        "float? scales=None",
        "float? scales_h=None, float? scales_w=None",
        "float? scales_d=None, float? scales_h=None, float? scales_w=None",
    ];
    for n in 1..=3 {
        let each = scales[n - 1];
        for (name, run) in [("upsample_nearest", nearest as fn(&Call) -> Result<Value>), ("_upsample_nearest_exact", nearest_exact)] {
            b.op(&format!("{name}{n}d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"), Rule::Composite(run));
            b.op(&format!("{name}{n}d(Tensor self, SymInt[{n}] output_size, {each}) -> Tensor"), Rule::Composite(run));
        }
        let name = ["upsample_linear", "upsample_bilinear", "upsample_trilinear"][n - 1];
        b.op(
            &format!("{name}{n}d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"),
            Rule::Composite(linear),
        );
        b.op(&format!("{name}{n}d(Tensor self, SymInt[{n}] output_size, bool align_corners, {each}) -> Tensor"), Rule::Composite(linear))
            .tags(Tags::APART_IN_EXPORT);
    }
    b.at("upsample_bilinear2d").classes(OpClasses::COMPUTE_INTENSIVE).refuses("bu", "upsample_bilinear2d_channels_last");
    b.at("upsample_linear1d").refuses("bi", "compute_indices_weights_linear");
    b.at("upsample_nearest1d").refuses("bi", "compute_indices_weights_nearest");
    b.at("upsample_nearest2d").refuses("bu", "upsample_nearest2d_channels_last");
    b.at("upsample_nearest3d").refuses("bu", "compute_indices_weights_nearest");
    b.at("upsample_trilinear3d").refuses("bi", "compute_indices_weights_linear");
    b.op(
        "upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor",
        Rule::Composite(cubic),
    );
    b.op(
        "upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
        Rule::Composite(cubic),
    )
    .refuses("bu", "compute_indices_weights_cubic")
    .tags(Tags::APART_IN_EXPORT);
}

/// What PyTorch calls the kernel.
fn kernel_name(operator: &str) -> &'static str {
    match operator {
        "upsample_nearest2d" | "_upsample_nearest_exact2d" => "upsample_nearest2d_channels_last",
        "upsample_bilinear2d" => "upsample_bilinear2d_channels_last",
        name if name.contains("nearest") => "compute_indices_weights_nearest",
        name if name.contains("cubic") => "compute_indices_weights_cubic",
        _ => "compute_indices_weights_linear",
    }
}

/// What a call asks for: the input, the result's places, and a scale per dimension where one was given.
pub(super) struct Request {
    pub(super) input: Tensor,
    sizes: Vec<SymInt>,
    pub(super) output: Vec<SymInt>,
    pub(super) scales: Vec<Option<f64>>,
}

/// A size times a scale; a symbolic one only by a whole number.
fn scaled(size: &SymInt, scale: f64) -> Result<SymInt> {
    if size.as_int().is_none() && scale.fract() == 0.0 {
        return multiply(&[size.clone(), SymInt::Int(scale as i64)]);
    }
    Ok(SymInt::Int((size.guard_int()? as f64 * scale) as i64))
}

/// `a / b` as a float, symbolic where one of them is.
fn ratio(a: &SymInt, b: &SymInt) -> Value {
    match (a.as_int(), b.as_int()) {
        (Some(a), Some(b)) => Value::Float(a as f64 / b as f64),
        _ => SymFloat::quotient(a, b).map_or(Value::None, Value::SymFloat),
    }
}

/// A scale, computed before it is used.
fn measured(scale: Value) -> Result<Value> {
    if let Value::SymFloat(float) = &scale {
        dispatch::measure_float(float)?;
    }
    Ok(scale)
}

/// `size / (size * scale)`, as it is computed.
fn by_scale(size: &SymInt, scale: f64) -> Value {
    match (size.as_int(), SymFloat::of_size(size), size) {
        (Some(n), ..) => Value::Float(n as f64 / (n as f64 * scale)),
        (_, Some(float), SymInt::Sym(_, env)) => {
            let whole = SymFloat::binary("mul", &float.expr, &FloatExpr::Number(scale), env);
            Value::SymFloat(SymFloat::binary("truediv", &float.expr, &whole.expr, env))
        }
        _ => Value::None,
    }
}

pub(super) fn request(c: &Call) -> Result<Request> {
    let input = c.args[0].tensor()?.clone();
    let n = crate::pooling::spatial(c);
    let given = |name: &str| if c.get(name).is_none() { Ok(None) } else { c.sym_ints(name).map(Some) };
    let output = given("output_size")?;
    if let Some(output) = output.as_ref().filter(|output| output.len() != n) {
        return Err(Error::runtime(format!("It is expected output_size equals to {n}, but got size {}", output.len())));
    }
    if input.dim() != n + 2 {
        return Err(Error::runtime(format!("It is expected input_size equals to {}, but got size {}", n + 2, input.dim())));
    }
    let sizes: Vec<SymInt> = input.sizes()[2..].to_vec();
    let mut scales = vec![None; n];
    if c.entry.schema.overload == "vec" {
        if let Value::List(items) = c.get("scale_factors") {
            scales = items.iter().map(|v| v.float().map(Some)).collect::<Result<_>>()?;
        }
        if output.is_some() == scales.iter().any(Option::is_some) {
            return Err(Error::runtime("Must specify exactly one of output_size and scale_factors"));
        }
    } else {
        for (scale, v) in scales.iter_mut().zip(&c.args[c.args.len() - n..]) {
            *scale = if v.is_none() { None } else { Some(v.float()?) };
        }
    }
    let output = match output {
        Some(output) => output,
        None => sizes.iter().zip(&scales).map(|(s, f)| scaled(s, f.unwrap_or(1.0))).collect::<Result<_>>()?,
    };
    if output.len() != n || scales.len() != n {
        return Err(Error::runtime(format!("It is expected output_size equals to {n}, but got size {}", output.len())));
    }
    let is_positive = |size: &SymInt| size.as_int().is_none_or(|size| size > 0);
    if !sizes.iter().chain(&output).all(is_positive) {
        let named = |sizes: &[SymInt]| {
            let names = ["D", "H", "W"].into_iter().skip(3_usize.saturating_sub(n));
            names.zip(sizes).map(|(name, size)| format!("{name}: {size}")).collect::<Vec<_>>().join(", ")
        };
        let and = if n == 1 { "and " } else { "" };
        return Err(Error::runtime(format!(
            "Input and output sizes should be greater than 0, but got input ({}) {and}output ({})",
            named(&sizes),
            named(&output)
        )));
    }
    if input.dtype().is_complex() && !input.is_fake() {
        return Err(super::common::not_for_complex(kernel_name(c.entry.base_name()), &input));
    }
    Ok(Request { input, sizes, output, scales })
}

/// Computes in float32 for the narrow floats, and narrows the result.
fn widened(mut request: Request, f: impl FnOnce(&Request) -> Result<Tensor>) -> Result<Value> {
    let dtype = request.input.dtype();
    let narrow = matches!(dtype, Dtype::Float16 | Dtype::BFloat16);
    if narrow {
        request.input = t!("to.dtype", &request.input, Dtype::Float32)?;
    }
    let format = suggested(&request.input);
    let result = f(&request)?;
    let result = if result.dim() > 3 { t!("contiguous", result; memory_format = format)? } else { result };
    Ok(if narrow { t!("to.dtype", result, dtype)? } else { result }.into())
}

fn pick(input: &Tensor, indices: Vec<Tensor>) -> Result<Tensor> {
    let mut list = vec![Value::None, Value::None];
    list.extend(indices.into_iter().map(Value::from));
    t!("_unsafe_index.Tensor", input, list)
}

fn nearest(c: &Call) -> Result<Value> {
    nearest_at(c, 0.0)
}

fn nearest_exact(c: &Call) -> Result<Value> {
    nearest_at(c, 0.5)
}

/// A call with lists as ATen makes it: of the kernel, with the sizes of the result.
fn of_kernel(c: &Call) -> Result<Option<Value>> {
    if c.entry.schema.overload != "vec" || !dispatch::modes().calls_as_aten {
        return Ok(None);
    }
    let name = format!("aten.{}.default", c.entry.base_name());
    let kernel = dispatch::lookup(&name).ok_or_else(|| Error::runtime(format!("{name} is not in the catalogue")))?;
    let r = request(c)?;
    let mut args = vec![Value::from(&r.input), Value::from(r.output)];
    if c.entry.schema.position("align_corners").is_some() {
        args.push(c.get("align_corners").clone());
    }
    args.extend(r.scales.into_iter().map(|scale| scale.map_or(Value::None, Value::Float)));
    dispatch::call(kernel, args).map(Some)
}

fn nearest_at(c: &Call, offset: f64) -> Result<Value> {
    if let Some(made) = of_kernel(c)? {
        return Ok(made);
    }
    widened(request(c)?, |r| {
        let mut indices = Vec::new();
        for (d, (size, count)) in r.sizes.iter().zip(&r.output).enumerate() {
            let scale = measured(match r.scales[d] {
                Some(s) if s > 0.0 => by_scale(size, s),
                _ => ratio(size, count),
            })?;
            let places = t!("arange", count; dtype = Dtype::Float32, device = r.input.device(), pin_memory = false)?;
            let places = t!("mul.Tensor", t!("add.Tensor", places, offset)?, scale)?;
            let mut places = t!("to.dtype", places, Dtype::Int64)?;
            for _ in d + 1..r.sizes.len() {
                places = t!("unsqueeze", places, -1)?;
            }
            indices.push(places);
        }
        pick(&r.input, indices)
    })
}

/// How far apart the source places of neighbouring results are.
fn step(size: &SymInt, count: &SymInt, corners: bool, scale: Option<f64>) -> Result<Value> {
    measured(match scale {
        _ if corners && count.compare(Relation::Gt, &SymInt::Int(1))? => ratio(&(size - 1), &(count - 1)),
        _ if corners => Value::Float(0.0),
        Some(s) if s > 0.0 => Value::Float(1.0 / s),
        _ => ratio(size, count),
    })
}

fn source(places: Tensor, step: Value, corners: bool) -> Result<Tensor> {
    if corners {
        return t!("mul.Tensor", places, step);
    }
    t!("sub.Tensor", t!("mul.Tensor", t!("add.Tensor", places, 0.5)?, step)?, 0.5)
}

fn counted(r: &Request, count: &SymInt, dtype: Dtype) -> Result<Tensor> {
    t!("to.dtype", t!("arange", count; device = r.input.device(), pin_memory = false)?, dtype)
}

fn linear(c: &Call) -> Result<Value> {
    if let Some(made) = of_kernel(c)? {
        return Ok(made);
    }
    let corners = c.bool("align_corners")?;
    widened(request(c)?, |r| {
        let n = r.sizes.len();
        let dtype = if r.input.dtype().is_floating() { r.input.dtype() } else { crate::shapes::default_dtype() };
        let (mut exact, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new());
        for d in 0..n {
            let step = step(&r.sizes[d], &r.output[d], corners, r.scales[d])?;
            let places = source(counted(r, &r.output[d], dtype)?, step, corners)?;
            let places = t!("clamp", places, 0.0)?;
            let mut shape = vec![SymInt::Int(1); n - d];
            shape[0] = r.output[d].clone();
            let places = t!("reshape", places, shape)?;
            let below = t!("to.dtype", &places, Dtype::Int64)?;
            high.push(t!("clamp", t!("add.Tensor", &below, 1)?, Value::None, &r.sizes[d] - 1)?);
            exact.push(places);
            low.push(below);
        }
        let mut corners = Vec::new();
        for which in 0..1usize << n {
            let index = (0..n).map(|d| if which >> (n - 1 - d) & 1 == 0 { low[d].clone() } else { high[d].clone() }).collect();
            let corner = pick(&r.input, index)?;
            corners.push(if corner.dtype() == dtype { corner } else { t!("to.dtype", corner, dtype)? });
        }
        for d in (0..n).rev() {
            let weight = t!("clamp", t!("sub.Tensor", &exact[d], &low[d])?, 0.0, 1.0)?;
            let weight = if weight.dtype() == dtype { weight } else { t!("to.dtype", weight, dtype)? };
            let mut merged = Vec::new();
            for pair in corners.chunks(2) {
                let difference = t!("sub.Tensor", &pair[1], &pair[0])?;
                merged.push(t!("add.Tensor", &pair[0], t!("mul.Tensor", difference, &weight)?)?);
            }
            corners = merged;
        }
        let result = corners.swap_remove(0);
        if r.input.dtype().is_floating() { Ok(result) } else { t!("round", result) }
    })
}

/// The four weights of cubic convolution. Source: Keys.
pub fn cubic_weights(x: &Tensor) -> Result<[Tensor; 4]> {
    const A: f64 = -0.75;
    let near = t!("stack", vec![x.clone(), t!("rsub.Scalar", x, 1.0)?], 0)?;
    let far = t!("stack", vec![t!("add.Tensor", x, 1.0)?, t!("rsub.Scalar", x, 2.0)?], 0)?;
    let outer = t!("sub.Tensor", t!("mul.Tensor", &far, A)?, 5.0 * A)?;
    let outer = t!("add.Tensor", t!("mul.Tensor", outer, &far)?, 8.0 * A)?;
    let outer = t!("sub.Tensor", t!("mul.Tensor", outer, &far)?, 4.0 * A)?;
    let inner = t!("sub.Tensor", t!("mul.Tensor", &near, A + 2.0)?, A + 3.0)?;
    let inner = t!("mul.Tensor", t!("mul.Tensor", inner, &near)?, &near)?;
    let inner = t!("add.Tensor", inner, 1)?;
    let outer = aten!("unbind.int", outer)?.tensors()?;
    let inner = aten!("unbind.int", inner)?.tensors()?;
    Ok([outer[0].clone(), inner[0].clone(), inner[1].clone(), outer[1].clone()])
}

/// Values times their weights, added up.
pub fn weighted_sum(values: Vec<Tensor>, weights: &[Tensor; 4]) -> Result<Tensor> {
    let mut sum: Option<Tensor> = None;
    for (value, weight) in values.into_iter().zip(weights) {
        let term = t!("mul.Tensor", value, weight)?;
        sum = Some(match sum {
            Some(sum) => t!("add.Tensor", sum, term)?,
            None => term,
        });
    }
    sum.ok_or_else(|| Error::runtime("nothing to sum"))
}

fn cubic(c: &Call) -> Result<Value> {
    if let Some(made) = of_kernel(c)? {
        return Ok(made);
    }
    let corners = c.bool("align_corners")?;
    let r = request(c)?;
    if !r.input.dtype().is_floating() {
        return Err(Error::not_implemented(format!(
            "\"upsample_bicubic2d\" not implemented for '{}' in this playground",
            r.input.dtype().scalar_type()
        )));
    }
    widened(r, |r| {
        let dtype = r.input.dtype();
        let along = |d: usize| step(&r.sizes[d], &r.output[d], corners, r.scales[d]);
        let (rows, cols) = (counted(r, &r.output[0], dtype)?, counted(r, &r.output[1], dtype)?);
        let x = source(cols, along(1)?, corners)?;
        let y = t!("unsqueeze", source(rows, along(0)?, corners)?, -1)?;
        let (x_floor, y_floor) = (t!("floor", &x)?, t!("floor", &y)?);
        let y_rest = t!("clamp", t!("sub.Tensor", y, &y_floor)?, 0.0, 1.0)?;
        let x_rest = t!("clamp", t!("sub.Tensor", x, &x_floor)?, 0.0, 1.0)?;
        let (x, y) = (t!("to.dtype", x_floor, Dtype::Int64)?, t!("to.dtype", y_floor, Dtype::Int64)?);
        let around = |t: &Tensor| -> Result<[Tensor; 4]> {
            Ok([t!("sub.Tensor", t, 1)?, t.clone(), t!("add.Tensor", t, 1)?, t!("add.Tensor", t, 2)?])
        };
        let (ys, xs) = (around(&y)?, around(&x)?);
        let (x_weights, y_weights) = (cubic_weights(&x_rest)?, cubic_weights(&y_rest)?);
        let mut lines = Vec::new();
        for y in &ys {
            let mut line = Vec::new();
            for x in &xs {
                let y = t!("clamp", y, 0, &r.sizes[0] - 1)?;
                let x = t!("clamp", x, 0, &r.sizes[1] - 1)?;
                line.push(pick(&r.input, vec![y, x])?);
            }
            lines.push(weighted_sum(line, &x_weights)?);
        }
        weighted_sum(lines, &y_weights)
    })
}
