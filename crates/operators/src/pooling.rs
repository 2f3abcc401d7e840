//! Pooling: maxima and means over windows, fixed or adaptive.

use crate::layout::{spec, suggested};
use crate::nll::first;
use crate::shapes::may_be_same;
use diagnostics::error::{Error, Result};
use dispatch::aten;
use dispatch::t;
use dispatch::{Backward, Batch, Call, CastPolicy, Grads, OpBuilder, Rule, Value};
use shape::SymInt;
use tensor::{Dtype, MemoryFormat, Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    for n in [2, 3] {
        b.op(
            &format!("max_pool{n}d(Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding=0, int[{n}] dilation=1, bool ceil_mode=False) -> Tensor"),
            Rule::Composite(if n == 2 { max_pool2d } else { max_pool3d }),
        ).doc("Maxima over windows.");
        b.op(
            &format!("max_pool{n}d_with_indices(Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding=0, int[{n}] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"),
            Rule::Fresh(max_pool_spec),
        ).function()
        .grad(if n == 2 { "MaxPool2DWithIndicesBackward" } else { "MaxPool3DWithIndicesBackward" }, &["self", "result1"], max_pool_grad)
        .indices_without_grad(&[1]);
        b.op(
            &format!("max_pool{n}d_with_indices_backward(Tensor grad_output, Tensor self, int[{n}] kernel_size, int[{n}] stride, int[{n}] padding, int[{n}] dilation, bool ceil_mode, Tensor indices) -> Tensor"),
            Rule::Fresh(like_input),
        ).auto_linear(&["grad_output", "self"]);
        b.op(
            &format!("avg_pool{n}d(Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"),
            Rule::Fresh(avg_pool_spec),
        ).doc("Means over windows.").auto_linear(&["self"])
        .grad(if n == 2 { "AvgPool2DBackward" } else { "AvgPool3DBackward" }, &["self"], avg_pool_grad);
        b.op(
            &format!("avg_pool{n}d_backward(Tensor grad_output, Tensor self, int[{n}] kernel_size, int[{n}] stride, int[{n}] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor"),
            Rule::Fresh(like_input),
        );
        b.op(&format!("adaptive_avg_pool{n}d(Tensor self, SymInt[{n}] output_size) -> Tensor"), Rule::Composite(adaptive_avg_pool))
            .doc("Means over as many windows as the output has places.");
        b.op(&format!("_adaptive_avg_pool{n}d(Tensor self, SymInt[{n}] output_size) -> Tensor"), Rule::Fresh(adaptive_avg_spec))
            .auto_linear(&["self"])
            .grad(if n == 2 { "AdaptiveAvgPool2DBackward" } else { "AdaptiveAvgPool3DBackward" }, &["self"], adaptive_avg_grad);
        b.op(&format!("_adaptive_avg_pool{n}d_backward(Tensor grad_output, Tensor self) -> Tensor"), Rule::Fresh(like_input));
        b.op(&format!("adaptive_max_pool{n}d(Tensor self, int[{n}] output_size) -> (Tensor, Tensor)"), Rule::Fresh(adaptive_max_spec))
            .doc("Maxima over as many windows as the output has places, and where they were.")
            .grad(if n == 2 { "AdaptiveMaxPool2DBackward" } else { "AdaptiveMaxPool3DBackward" }, &["self", "result1"], adaptive_max_grad)
            .indices_without_grad(&[1]);
        b.op(
            &format!("adaptive_max_pool{n}d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor"),
            Rule::Fresh(like_input),
        )
        .auto_linear(&["grad_output", "self"]);
    }
    b.at("adaptive_avg_pool3d").autocast(CastPolicy::Fp32);
    b.at("adaptive_max_pool2d").refuses("bi", "adaptive_max_pool2d");
    b.at("adaptive_max_pool3d").autocast(CastPolicy::Fp32).refuses("bi", "adaptive_max_pool3d_cpu");
    b.at("avg_pool3d").autocast(CastPolicy::Fp32).batch(Batch::Rule(super::batch_convolution::volume));
    b.at("max_pool3d").autocast(CastPolicy::Fp32);
    b.at("_adaptive_avg_pool2d").refuses("bi", "adaptive_avg_pool2d").batch(Batch::Rule(super::batch_convolution::plane));
    b.at("avg_pool2d").batch(Batch::Rule(super::batch_convolution::plane));
    b.at("max_pool2d_with_indices_backward").batch(Batch::Rule(super::batch_convolution::plane));
    b.at("max_pool3d_with_indices_backward").batch(Batch::Rule(super::batch_convolution::volume));
    b.at("_adaptive_avg_pool2d_backward").batch(Batch::Rule(super::batch_convolution::plane));
    b.at("avg_pool2d_backward").batch(Batch::Rule(super::batch_convolution::plane));
    b.at("avg_pool3d_backward").batch(Batch::Rule(super::batch_convolution::volume));
    b.at("max_pool2d_with_indices").batch(Batch::Rule(super::batch_convolution::plane));
    b.at("max_pool3d_with_indices").batch(Batch::Rule(super::batch_convolution::volume));
    b.op("max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, bool ceil_mode=False) -> Tensor", Rule::Composite(max_pool1d)).doc("Maxima over windows.").refuses("bi", "max_pool1d_impl");
    b.op("max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)", Rule::Composite(max_pool1d_with_indices)).function();
    b.op("avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, bool count_include_pad=True) -> Tensor", Rule::Composite(avg_pool1d)).doc("Means over windows.");
    b.op("adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", Rule::Composite(adaptive_avg_pool1d))
        .doc("Means over as many windows as the output has places.");
    b.op("adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)", Rule::Composite(adaptive_max_pool1d))
        .doc("Maxima over as many windows as the output has places, and where they were.");
}

/// The number of spatial dimensions, from the operator's name.
pub fn spatial(c: &Call) -> usize {
    c.entry.schema.name.bytes().find(u8::is_ascii_digit).map_or(2, |d| (d - b'0') as usize)
}

/// A window's numbers, one per spatial dimension; an empty stride is the kernel's size.
fn per_dim(c: &Call, name: &str, n: usize) -> Result<Vec<i64>> {
    let values = if c.entry.schema.position(name).is_some() { c.ints(name)? } else { vec![1] };
    match values.len() {
        0 if name == "stride" => per_dim(c, "kernel_size", n),
        1 => Ok(vec![values[0]; n]),
        m if m == n => Ok(values),
        _ => Err(Error::runtime(format!("{}: {name} must either be a single int, or a tuple of {n} ints", c.entry.schema.name))),
    }
}

/// The windows of a pooling call.
pub struct Windows {
    /// Sizes of the windows.
    pub kernel: Vec<i64>,
    /// Steps between them.
    pub stride: Vec<i64>,
    /// Zeros (or nothings) around the input.
    pub padding: Vec<i64>,
    /// Steps inside a window.
    pub dilation: Vec<i64>,
}

impl Windows {
    /// The windows of a call, checked as PyTorch checks them.
    pub fn of(c: &Call) -> Result<Windows> {
        let n = spatial(c);
        let [kernel, stride, padding, dilation] =
            [per_dim(c, "kernel_size", n)?, per_dim(c, "stride", n)?, per_dim(c, "padding", n)?, per_dim(c, "dilation", n)?];
        for i in 0..n {
            if stride[i] == 0 {
                return Err(Error::runtime("stride should not be zero"));
            }
            // PyTorch's kernels count in 32 bits.
            if [kernel[i], stride[i], padding[i], dilation[i]].iter().any(|n| i32::try_from(*n).is_err()) {
                return Err(Error::runtime("value cannot be converted to type int without overflow"));
            }
            if kernel[i] <= 0 || stride[i] < 0 || dilation[i] <= 0 {
                let names = ["kT", "kH", "kW"].into_iter().skip(3_usize.saturating_sub(n));
                let named: Vec<String> = names.zip(&kernel).map(|(name, size)| format!("{name}: {size}")).collect();
                return Err(Error::runtime(format!("kernel size should be greater than zero, but got {}", named.join(" "))));
            }
            if padding[i] < 0 {
                return Err(Error::runtime(format!("pad must be non-negative, but got pad: {}", padding[i])));
            }
            let effective = (kernel[i] - 1).checked_mul(dilation[i]).and_then(|reach| reach.checked_add(1)).ok_or_else(|| {
                let (kernel, dilation) = (kernel[i], dilation[i]);
                Error::runtime(format!("effective kernel size overflows, but got kernel_size={kernel} and dilation={dilation}"))
            })?;
            if padding[i] > effective / 2 {
                return Err(Error::runtime(format!(
                    "pad should be at most half of effective kernel size, but got pad={}, kernel_size={} and dilation={}",
                    padding[i], kernel[i], dilation[i]
                )));
            }
        }
        Ok(Windows { kernel, stride, padding, dilation })
    }

    fn output(&self, size: &SymInt, i: usize, ceil: bool) -> Result<SymInt> {
        let reach = self.dilation[i] * (self.kernel[i] - 1);
        let extra = if ceil { self.stride[i] - 1 } else { 0 };
        let room = size + (2 * self.padding[i] - reach - 1 + extra);
        let mut count = &room.floor_div(&SymInt::Int(self.stride[i]))? + 1;
        // The last window starts inside the input or its left padding.
        if ceil && !(&(&count - 1) * self.stride[i]).sym_lt(size + self.padding[i])? {
            count = &count - 1;
        }
        Ok(count)
    }
}

fn is_batched_or_not(input: &Tensor, n: usize) -> bool {
    input.dim() == n + 1 || input.dim() == n + 2
}

fn result_sizes(c: &Call) -> Result<Vec<SymInt>> {
    let (input, n, windows) = (c.tensor("self")?, spatial(c), Windows::of(c)?);
    if !is_batched_or_not(input, n) {
        return Err(Error::runtime(format!("non-empty {}D or {}D (batch mode) tensor expected for input", n + 1, n + 2)));
    }
    let ceil = c.bool("ceil_mode")?;
    let lead = input.dim() - n;
    let sizes = input.sizes();
    let mut out = sizes[..lead].to_vec();
    for i in 0..n {
        out.push(windows.output(&sizes[lead + i], i, ceil)?);
    }
    for size in &out[lead..] {
        if size.sym_lt(1)? {
            let show = |s: &[SymInt]| s[lead - 1..].iter().map(|v| v.to_string()).collect::<Vec<_>>().join("x");
            return Err(Error::runtime(format!(
                "Given input size: ({}). Calculated output size: ({}). Output size is too small",
                show(&sizes),
                show(&out)
            )));
        }
    }
    Ok(out)
}

fn like_input(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    for name in ["grad_output", "self"] {
        let x = c.tensor(name)?;
        if x.dim() <= spatial(c) {
            let (op, n) = (c.entry.base_name(), spatial(c));
            return Err(Error::runtime(format!("{op}(): Expected {}D or {}D tensor, but got {:?}", n + 1, n + 2, x.sizes())));
        }
    }
    let (input, grad) = (c.tensor("self")?, c.tensor("grad_output")?);
    // Windows say what came out; the adaptive ones are as many as the gradient has places.
    let expected = if c.entry.schema.position("kernel_size").is_some() {
        result_sizes(c)?
    } else {
        let lead = input.dim() - spatial(c);
        let places = grad.dim().checked_sub(spatial(c)).map_or_else(Vec::new, |from| grad.sizes()[from..].to_vec());
        input.sizes()[..lead].iter().cloned().chain(places).collect()
    };
    check_shape(grad, &expected)?;
    if c.entry.schema.position("indices").is_some() {
        let indices = c.tensor("indices")?;
        if indices.dtype() != Dtype::Int64 {
            return Err(Error::runtime(format!("expected scalar type Long but found {}", indices.dtype().scalar_type())));
        }
        check_shape(indices, &expected)?;
    }
    Ok(vec![Some(spec(input.sizes(), format(c, input), input))])
}

/// The format of a result. Of three dimensions only maxima over windows keep it.
fn format(c: &Call, input: &Tensor) -> MemoryFormat {
    let is_kept = spatial(c) < 3 || c.entry.base_name().starts_with("max_pool3d");
    if is_kept { suggested(input) } else { MemoryFormat::Contiguous }
}

/// Refuses a tensor of other sizes than a pooling's result has.
pub(super) fn check_shape(t: &Tensor, expected: &[SymInt]) -> Result<()> {
    let sizes = t.sizes();
    let differs = |d: &usize| sizes.len() != expected.len() || !may_be_same(&sizes[*d..=*d], &expected[*d..=*d]);
    let Some(d) = (0..expected.len()).find(differs) else { return Ok(()) };
    let (dims, size) = (expected.len(), &expected[d]);
    let got = sizes.get(d).map_or_else(String::new, |got| format!(" and tensor.size[{d}] = {got}"));
    Err(Error::runtime(format!(
        "Expected a tensor of dimension {dims} and tensor.size[{d}] == {size} but got: dimension {}{got}",
        sizes.len()
    )))
}

fn with_indices(c: &Call, sizes: Vec<SymInt>, input: &Tensor) -> Vec<Option<TensorSpec>> {
    let values = spec(sizes, format(c, input), input);
    let indices = TensorSpec { dtype: Dtype::Int64, ..values.clone() };
    vec![Some(values), Some(indices)]
}

fn max_pool_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    Ok(with_indices(c, result_sizes(c)?, c.tensor("self")?))
}

fn avg_pool_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    if !c.get("divisor_override").is_none() && c.int("divisor_override")? == 0 {
        return Err(Error::runtime("divisor must be not zero"));
    }
    let input = c.tensor("self")?;
    Ok(vec![Some(spec(result_sizes(c)?, format(c, input), input))])
}

/// The call's own numbers; single ones written out per dimension, as PyTorch hands them on.
fn spelled(c: &Call, name: &str) -> Result<Value> {
    let values = c.ints(name)?;
    Ok(if values.len() == 1 { vec![values[0]; spatial(c)] } else { values }.into())
}

fn max_pool(c: &Call) -> Result<Value> {
    let (input, ceil) = (c.get("self"), c.get("ceil_mode"));
    let [kernel, stride, padding, dilation] =
        [spelled(c, "kernel_size")?, spelled(c, "stride")?, spelled(c, "padding")?, spelled(c, "dilation")?];
    first(if spatial(c) == 2 {
        aten!("max_pool2d_with_indices", input, kernel, stride, padding, dilation, ceil)?
    } else {
        aten!("max_pool3d_with_indices", input, kernel, stride, padding, dilation, ceil)?
    })
}

fn max_pool2d(c: &Call) -> Result<Value> {
    max_pool(c)
}

fn max_pool3d(c: &Call) -> Result<Value> {
    max_pool(c)
}

fn max_pool_grad(b: &Backward) -> Result<Grads> {
    let (grad, input, indices, c) = (b.grad()?, b.saved("self")?, b.result(1)?, b.call());
    let [kernel, stride, padding, dilation] =
        [spelled(&c, "kernel_size")?, spelled(&c, "stride")?, spelled(&c, "padding")?, spelled(&c, "dilation")?];
    let ceil = b.arg("ceil_mode");
    Grads::one(b, "self", || {
        if spatial(&c) == 2 {
            t!("max_pool2d_with_indices_backward", grad, input, kernel, stride, padding, dilation, ceil, indices)
        } else {
            t!("max_pool3d_with_indices_backward", grad, input, kernel, stride, padding, dilation, ceil, indices)
        }
    })
}

fn avg_pool_grad(b: &Backward) -> Result<Grads> {
    let (grad, input, c) = (b.grad()?, b.saved("self")?, b.call());
    let [kernel, stride, padding] = [spelled(&c, "kernel_size")?, spelled(&c, "stride")?, spelled(&c, "padding")?];
    let [ceil, include, divisor] = ["ceil_mode", "count_include_pad", "divisor_override"].map(|n| b.arg(n).clone());
    Grads::one(b, "self", || {
        if spatial(&c) == 2 {
            t!("avg_pool2d_backward", grad, input, kernel, stride, padding, ceil, include, divisor)
        } else {
            t!("avg_pool3d_backward", grad, input, kernel, stride, padding, ceil, include, divisor)
        }
    })
}

fn check_1d<'a>(c: &Call<'a>) -> Result<&'a Tensor> {
    let input = c.tensor("self")?;
    if input.dim() != 2 && input.dim() != 3 {
        return Err(Error::runtime(format!(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{:?}",
            input.sizes()
        )));
    }
    Ok(input)
}

/// `[lead, value]`, the two-dimensional form of a one-dimensional window's number.
fn raised(c: &Call, name: &str, lead: i64) -> Result<Vec<i64>> {
    Ok(vec![lead, per_dim(c, name, 1)?[0]])
}

fn max_pool1d_pair(c: &Call) -> Result<(Tensor, Tensor)> {
    let input = t!("unsqueeze", check_1d(c)?, -2)?;
    let results = aten!(
        "max_pool2d_with_indices",
        input,
        raised(c, "kernel_size", 1)?,
        raised(c, "stride", 1)?,
        raised(c, "padding", 0)?,
        raised(c, "dilation", 1)?,
        c.get("ceil_mode")
    )?;
    let results = results.tensors()?;
    Ok((results[0].clone(), results[1].clone()))
}

fn max_pool1d_with_indices(c: &Call) -> Result<Value> {
    let (values, indices) = max_pool1d_pair(c)?;
    let values = t!("squeeze.dim", values, -2)?;
    Ok(Value::List(vec![values.into(), t!("squeeze.dim", indices, -2)?.into()]))
}

fn max_pool1d(c: &Call) -> Result<Value> {
    // Whether it is empty is asked; the dimension of the windows is a number.
    let input = check_1d(c)?;
    dispatch::ask_numel(input)?;
    input.size(input.dim() - 1).guard_int()?;
    first(max_pool1d_with_indices(c)?)
}

fn avg_pool1d(c: &Call) -> Result<Value> {
    let input = t!("unsqueeze", c.tensor("self")?, -2)?;
    let (kernel, stride, padding) = (raised(c, "kernel_size", 1)?, raised(c, "stride", 1)?, raised(c, "padding", 0)?);
    let result = t!("avg_pool2d", input, kernel, stride, padding, c.get("ceil_mode"), c.get("count_include_pad"))?;
    Ok(t!("squeeze.dim", result, -2)?.into())
}

fn adaptive_avg_pool(c: &Call) -> Result<Value> {
    let (input, n, output) = (c.tensor("self")?, spatial(c), c.sym_ints("output_size")?);
    let name = &c.entry.schema.name;
    if output.len() != n {
        return Err(Error::runtime(format!("{name}: output_size must be {n}")));
    }
    for size in &output {
        if size.sym_lt(0)? {
            return Err(Error::runtime(format!(
                "{name}: elements of output_size must be greater than or equal to 0 but received {output:?}"
            )));
        }
    }
    let mut global = true;
    for size in &output {
        global = global && size.sym_eq(1)?;
    }
    if !global {
        return if n == 2 { aten!("_adaptive_avg_pool2d", input, output) } else { aten!("_adaptive_avg_pool3d", input, output) };
    }
    let dims: Vec<i64> = (1..=n as i64).map(|d| -d).collect();
    let mean = t!("mean.dim", input, dims, true)?;
    if n == 2 && suggested(input) == MemoryFormat::ChannelsLast {
        let (batch, channels, one) = (mean.size(0), mean.size(1), SymInt::Int(1));
        let strides = vec![channels.clone(), one.clone(), channels.clone(), channels.clone()];
        return aten!("as_strided_", mean, vec![batch, channels, one.clone(), one], strides);
    }
    Ok(mean.into())
}

/// Refuses an input without places to pool.
fn check_places(name: &str, sizes: &[SymInt], first: usize) -> Result<()> {
    let Some(empty) = (first..sizes.len()).find(|d| sizes[*d].as_int() == Some(0)) else { return Ok(()) };
    Err(Error::runtime(format!(
        "{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {sizes:?} with dimension {empty} being empty"
    )))
}

/// Sizes of an adaptive result, checked in the words of `name`.
fn adaptive_sizes(c: &Call, name: &str) -> Result<Vec<SymInt>> {
    let (input, n, output) = (c.tensor("self")?, spatial(c), c.sym_ints("output_size")?);
    if !is_batched_or_not(input, n) {
        return Err(Error::runtime(format!("{name}(): Expected {}D or {}D tensor, but got {:?}", n + 1, n + 2, input.sizes())));
    }
    if output.len() != n {
        return Err(Error::runtime(format!("{name}(): internal error: output_size.size() must be {n}")));
    }
    for size in &output {
        if size.sym_lt(0)? {
            return Err(Error::runtime(format!(
                "{name}(): elements of output_size must be greater than or equal to 0 but received {output:?}"
            )));
        }
    }
    let (lead, sizes) = (input.dim() - n, input.sizes());
    // A maximum asks for channels, too.
    let first = if c.entry.base_name().contains("max") { 1 } else { lead };
    check_places(name, &sizes, first)?;
    Ok(sizes[..lead].iter().cloned().chain(output).collect())
}

fn adaptive_avg_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let input = c.tensor("self")?;
    let sizes = adaptive_sizes(c, &format!("adaptive_avg_pool{}d", spatial(c)))?;
    Ok(vec![Some(spec(sizes, format(c, input), input))])
}

fn adaptive_max_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    Ok(with_indices(c, adaptive_sizes(c, &c.entry.schema.name)?, c.tensor("self")?))
}

fn adaptive_avg_grad(b: &Backward) -> Result<Grads> {
    let (grad, input) = (b.grad()?, b.saved("self")?);
    Grads::one(b, "self", || {
        if spatial(&b.call()) == 2 {
            t!("_adaptive_avg_pool2d_backward", grad, input)
        } else {
            t!("_adaptive_avg_pool3d_backward", grad, input)
        }
    })
}

fn adaptive_max_grad(b: &Backward) -> Result<Grads> {
    let (grad, input, indices) = (b.grad()?, b.saved("self")?, b.result(1)?);
    Grads::one(b, "self", || {
        if spatial(&b.call()) == 2 {
            t!("adaptive_max_pool2d_backward", grad, input, indices)
        } else {
            t!("adaptive_max_pool3d_backward", grad, input, indices)
        }
    })
}

/// The result's only size.
fn single_output(c: &Call) -> Result<i64> {
    match c.ints("output_size")?[..] {
        [size] => Ok(size),
        _ => Err(Error::runtime(format!("{}() argument 'output_size' should contain one int", c.entry.schema.name))),
    }
}

fn adaptive_avg_pool1d(c: &Call) -> Result<Value> {
    let input = t!("unsqueeze", c.tensor("self")?, -2)?;
    let output = vec![1, single_output(c)?];
    Ok(t!("squeeze.dim", t!("adaptive_avg_pool2d", input, output)?, -2)?.into())
}

fn adaptive_max_pool1d(c: &Call) -> Result<Value> {
    let input = c.tensor("self")?;
    check_places(&c.entry.schema.name, &input.sizes(), 1)?;
    let input = t!("unsqueeze", input, -2)?;
    let results = aten!("adaptive_max_pool2d", input, vec![1, single_output(c)?])?.tensors()?;
    let indices = t!("squeeze.dim", &results[1], -2)?;
    Ok(Value::List(vec![t!("squeeze.dim", &results[0], -2)?.into(), indices.into()]))
}
