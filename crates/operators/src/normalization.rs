//! layer_norm, batch_norm, group_norm, instance_norm, rms_norm.

use crate::layout::{spec, suggested};
use crate::nll::first;
use crate::shapes::{dim_of, may_be_same, need_elements, need_sizes, pointwise_strides};
use diagnostics::error::{Error, Result};
use dispatch::aten;
use dispatch::t;
use dispatch::{Backward, Batch, Call, Grads, OpBuilder, Rule, Tags, Value};
use shape::{Relation, SymInt, numel};
use tensor::{DeviceType, Dtype, Tensor, TensorSpec, promote};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
        Rule::Composite(|c| first(aten!("native_layer_norm", &c.args[0], &c.args[1], &c.args[2], &c.args[3], &c.args[4])?)),
    ).doc("Normalizes the last dimensions.");
    b.op(
        "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
        Rule::Fresh(layer_norm_spec),
    )
    .refuses("c", "LayerNormKernelImpl")
    .doc("Layer normalization, with means and inverse deviations.")
    .batch(Batch::Rule(super::batch_rules::native_layer_norm))
    .grad("NativeLayerNormBackward", &["input", "weight", "bias", "result1", "result2"], layer_norm_grad)
    .indices_without_grad(&[1, 2]);
    b.op(
        "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
        Rule::Fresh(layer_norm_backward_spec),
    );
    b.op("rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor", Rule::Composite(rms_norm))
        .doc("Divides by the root mean square of the last dimensions.");
    b.op(
        "_fused_rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
        Rule::Composite(|c| rms_normalized(c).map(|(result, scale)| Value::List(vec![result.into(), scale.into()]))),
    );
    register_batch_norm(b);
    b.op(
        "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
        Rule::Composite(instance_norm),
    ).doc("Normalizes every channel of every example.");
    b.op(
        "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
        Rule::Composite(group_norm),
    ).doc("Normalizes groups of channels, example by example.");
    b.op(
        "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
        Rule::Fresh(group_norm_spec),
    ).refuses("c", "GroupNormKernelImpl").doc("Group normalization, with means and inverse deviations.")
    .grad("NativeGroupNormBackward", &["input", "weight", "result1", "result2"], group_norm_grad);
    b.op(
        "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
        Rule::Fresh(group_norm_backward_spec),
    );
}

fn register_batch_norm(b: &mut OpBuilder) {
    b.op(
        "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
        Rule::Composite(batch_norm),
    ).doc("Normalizes every channel over the batch, or by running statistics.").tags(Tags::APART_IN_EXPORT);
    b.op(
        "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
        Rule::Composite(native_batch_norm),
    ).refuses("c", "batch_norm").doc("Batch normalization, with means and inverse deviations.").tags(Tags::APART_IN_EXPORT);
    b.op(
        "cudnn_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor, Tensor)",
        Rule::Composite(cudnn_batch_norm),
    );
    let saves = &["input", "weight", "running_mean", "running_var", "result1", "result2"];
    b.op(
        "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
        Rule::Fresh(batch_norm_spec),
    ).refuses("c", "batch_norm")
    .grad("NativeBatchNormBackward", saves, batch_norm_grad)
    .indices_without_grad(&[1, 2]);
    b.op(
        "_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
        Rule::Fresh(|c| {
            let mut specs = batch_norm_spec(c)?;
            for name in ["running_mean", "running_var"] {
                let t = c.tensor(name)?;
                // What is traced carries short floats of an input in single precision (PyTorch's decomposition of it).
                let is_short = |t: &Tensor| matches!(t.dtype(), Dtype::Float16 | Dtype::BFloat16);
                let is_wide = dispatch::modes().fake && is_short(c.tensor("input")?) && is_short(t);
                let dtype = if is_wide { Dtype::Float32 } else { t.dtype() };
                specs.push(Some(TensorSpec::contiguous(t.sizes(), dtype, t.device())));
            }
            Ok(specs)
        }),
    )
    .grad("NativeBatchNormLegitFunctionalBackward", saves, batch_norm_grad)
    .indices_without_grad(&[1, 2, 3, 4]);
    b.op(
        "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
        Rule::Fresh(batch_norm_spec),
    ).refuses("c", "batch_norm")
    .grad("NativeBatchNormBackward", &["input", "weight", "result1", "result2"], batch_norm_grad)
    .indices_without_grad(&[1, 2]);
    b.op(
        "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
        Rule::Fresh(batch_norm_spec),
    )
    .grad("NativeBatchNormBackward", saves, batch_norm_grad)
    .indices_without_grad(&[1, 2]);
    b.op(
        "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
        Rule::Fresh(batch_norm_backward_spec),
    );
}

/// Gradients of input, weight and bias from an operator that computes them together.
fn together(b: &Backward, results: Value) -> Result<Grads> {
    let mut grads = Grads::new(b);
    for (name, value) in ["input", "weight", "bias"].iter().zip(results.list()?) {
        grads.put(b, name, value.as_tensor().cloned())?;
    }
    Ok(grads)
}

/// Which of input, weight and bias need a gradient.
fn mask(b: &Backward) -> Vec<bool> {
    ["input", "weight", "bias"].iter().map(|n| b.needs(n)).collect()
}

/// A spec where the mask asks for one.
fn masked(c: &Call, specs: [Option<TensorSpec>; 3]) -> Result<Vec<Option<TensorSpec>>> {
    let mask = c.get("output_mask").list()?;
    specs.into_iter().zip(mask).map(|(s, m)| Ok(if m.bool()? { s } else { None })).collect()
}

fn vector(t: &Tensor, n: SymInt) -> TensorSpec {
    TensorSpec::contiguous(vec![n], t.dtype(), t.device())
}

/// Parameters of another type than the input: a CPU takes only single ones, and those for a short input alone.
fn check_types(c: &Call) -> Result<()> {
    let input = c.tensor("input")?;
    let of_parameters: Vec<Dtype> =
        ["weight", "bias", "running_mean", "running_var"].iter().filter_map(|name| opt_named(c, name)).map(Tensor::dtype).collect();
    let is_mixed = of_parameters.first().is_some_and(|dtype| *dtype != input.dtype());
    if !is_mixed || input.is_fake() || input.device().kind != tensor::DeviceType::Cpu {
        return Ok(());
    }
    if of_parameters.iter().any(|dtype| *dtype != Dtype::Float32) {
        return Err(Error::runtime("mixed dtype (CPU): expect parameter to have scalar type of Float"));
    }
    if !matches!(input.dtype(), Dtype::Float16 | Dtype::BFloat16) {
        return Err(Error::runtime("mixed dtype (CPU): all inputs must share same datatype."));
    }
    Ok(())
}

fn layer_norm_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (input, shape) = (c.tensor("input")?, c.sym_ints("normalized_shape")?);
    let sizes = input.sizes();
    if shape.is_empty() {
        return Err(Error::runtime(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []",
        ));
    }
    for name in ["weight", "bias"] {
        if let Some(t) = c.opt_tensor(name)
            && !same(&t.sizes(), &shape)?
        {
            return Err(Error::runtime(format!(
                "Expected {name} to be of same shape as normalized_shape, but got {name} of shape {:?} and normalized_shape = {shape:?}",
                t.sizes()
            )));
        }
    }
    let lead = sizes.len().checked_sub(shape.len());
    let fits = match lead {
        Some(lead) => same(&sizes[lead..], &shape)?,
        None => false,
    };
    let (true, Some(lead)) = (fits, lead) else {
        let shown: String = shape.iter().map(|s| format!(", {s}")).collect();
        return Err(Error::runtime(format!(
            "Given normalized_shape={shape:?}, expected input with shape [*{shown}], but got input of size{sizes:?}"
        )));
    };
    let mut stats = sizes[..lead].to_vec();
    stats.extend(shape.iter().map(|_| SymInt::Int(1)));
    let make = |sizes| Some(TensorSpec::contiguous(sizes, input.dtype(), input.device()));
    let make_stats = |sizes| Some(TensorSpec::contiguous(sizes, dtype_of_stats(input), input.device()));
    check_types(c)?;
    let out = if input.is_fake() { Some(traced_layer_norm(c, input, &stats)?) } else { make(sizes) };
    Ok(vec![out, make_stats(stats.clone()), make_stats(stats)])
}

/// Means and deviations of short numbers are single ones on a GPU.
fn dtype_of_stats(input: &Tensor) -> Dtype {
    let is_short = matches!(input.dtype(), Dtype::Float16 | Dtype::BFloat16);
    if is_short && input.device().kind == tensor::DeviceType::Cuda { Dtype::Float32 } else { input.dtype() }
}

/// What a fake layer norm gives: what PyTorch takes it apart into. A dimension of one element keeps the stride of the input.
fn traced_layer_norm(c: &Call, input: &Tensor, stats: &[SymInt]) -> Result<TensorSpec> {
    let sizes = input.sizes();
    let contiguous = TensorSpec::contiguous(sizes.clone(), input.dtype(), input.device());
    let mut out = if input.is_contiguous()? { input.clone() } else { Tensor::fake(&contiguous)? };
    let stats = Tensor::fake(&TensorSpec::contiguous(stats.to_vec(), input.dtype(), input.device()))?;
    for by in [Some(&stats), Some(&stats), c.opt_tensor("weight"), c.opt_tensor("bias")].into_iter().flatten() {
        out = pointwise_step(input, &[&out, by])?;
    }
    Ok(out.spec())
}

/// What a pointwise step of a formula gives when traced, of the sizes and type of the normalized input.
fn pointwise_step(input: &Tensor, operands: &[&Tensor]) -> Result<Tensor> {
    let sizes = input.sizes();
    let strides = pointwise_strides(&sizes, operands)?;
    Tensor::fake(&TensorSpec::strided(sizes, strides, input.dtype(), input.device()))
}

fn same(a: &[SymInt], b: &[SymInt]) -> Result<bool> {
    let mut same = a.len() == b.len();
    for (x, y) in a.iter().zip(b) {
        same = same && x.sym_eq(y.clone())?;
    }
    Ok(same)
}

fn layer_norm_grad(b: &Backward) -> Result<Grads> {
    let (grad, input) = (b.grad()?, b.saved("input")?);
    let (weight, bias, shape) = (b.opt_saved("weight")?, b.opt_saved("bias")?, b.arg("normalized_shape"));
    together(b, aten!("native_layer_norm_backward", grad, input, shape, b.result(1)?, b.result(2)?, weight, bias, mask(b))?)
}

fn layer_norm_backward_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let input = c.tensor("input")?;
    let specs = layer_norm_spec(c)?;
    for (argument, index) in [("grad_out", 0), ("mean", 1), ("rstd", 2)] {
        if let Some(Some(spec)) = specs.get(index) {
            need_elements(c.entry.base_name(), argument, c.tensor(argument)?, &spec.geometry.numel())?;
        }
    }
    let like = |t: &Tensor| TensorSpec::contiguous(t.sizes(), t.dtype(), t.device());
    let of_input = if c.tensor("grad_out")?.is_fake() { traced_layer_norm_gradient(c)? } else { like(input) };
    masked(c, [Some(of_input), c.opt_tensor("weight").map(like), c.opt_tensor("bias").map(like)])
}

/// The input's gradient as PyTorch traces it: its strides are those that the formula's own pointwise steps come to, while the
/// kernel's result is contiguous.
fn traced_layer_norm_gradient(c: &Call) -> Result<TensorSpec> {
    let (grad, input, rstd) = (c.tensor("grad_out")?, c.tensor("input")?, c.tensor("rstd")?);
    let step = |operands: &[&Tensor]| pointwise_step(input, operands);
    let scaled = match c.opt_tensor("weight") {
        Some(weight) => step(&[grad, weight])?,
        None => step(&[grad])?,
    };
    let normalized = step(&[input, rstd])?;
    let difference = step(&[&scaled, &normalized])?;
    Ok(step(&[rstd, &difference])?.spec())
}

fn rms_norm(c: &Call) -> Result<Value> {
    let input = c.tensor("input")?;
    if dispatch::modes().calls_as_aten && input.device().kind == DeviceType::Cuda {
        let [input, shape, weight, eps] = [0, 1, 2, 3].map(|i| Value::from(&c.args[i]));
        return first(aten!("_fused_rms_norm", input, shape, weight, eps)?);
    }
    rms_normalized(c).map(|(result, _)| result.into())
}

/// The normalized values, and what they were multiplied by.
fn rms_normalized(c: &Call) -> Result<(Tensor, Tensor)> {
    let (input, shape, weight) = (c.tensor("input")?, c.sym_ints("normalized_shape")?, c.opt_tensor("weight"));
    let sizes = input.sizes();
    let lead = sizes.len().checked_sub(shape.len());
    let fits = match lead {
        Some(lead) => same(&sizes[lead..], &shape)?,
        None => false,
    };
    let (true, Some(lead)) = (fits, lead) else {
        let shown: String = shape.iter().map(|s| format!(", {s}")).collect();
        return Err(Error::runtime(format!(
            "Given normalized_shape={shape:?}, expected input with shape [*{shown}], but got input of size{sizes:?}"
        )));
    };
    let eps = match c.get("eps") {
        Value::None if input.dtype() == Dtype::Float64 => f64::EPSILON,
        Value::None => f64::from(f32::EPSILON),
        // A number of the kind that is computed with.
        eps if input.dtype() == Dtype::Float64 => eps.float()?,
        eps => f64::from(eps.float()? as f32),
    };
    let narrow = matches!(input.dtype(), Dtype::Float16 | Dtype::BFloat16);
    let wide = if narrow { t!("to.dtype", input, Dtype::Float32)? } else { input.clone() };
    let dims: Vec<i64> = (lead..sizes.len()).rev().map(|d| d as i64).collect();
    let mean = t!("mean.dim", t!("pow.Tensor_Scalar", &wide, 2)?, dims, true)?;
    let scale = t!("rsqrt", t!("add_.Scalar", mean, eps)?)?;
    let mut result = t!("mul.Tensor", wide, &scale)?;
    if let Some(w) = weight {
        result = t!("mul.Tensor", result, w)?;
    }
    let result = if narrow { t!("to.dtype", result, input.dtype())? } else { result };
    dispatch::ask_contiguity(&scale)?;
    Ok((t!("contiguous", result; memory_format = suggested(input))?, scale))
}

fn batch_norm(c: &Call) -> Result<Value> {
    let input = c.tensor("input")?;
    let channels = if input.dim() < 2 { SymInt::Int(0) } else { input.size(1) };
    for name in ["running_mean", "running_var", "weight", "bias"] {
        if let Some(t) = c.opt_tensor(name)
            && !t.numel().sym_eq(channels.clone())?
        {
            return Err(Error::runtime(format!("{name} should contain {channels} elements not {}", t.numel())));
        }
    }
    if c.bool("training")? {
        let per_channel: Vec<SymInt> = input.sizes().iter().enumerate().filter(|(d, _)| *d != 1).map(|(_, s)| s.clone()).collect();
        let count = dispatch::multiply(&per_channel)?;
        dispatch::compare_sizes(&count, Relation::Eq, &SymInt::Int(1))?;
    } else {
        for name in ["running_mean", "running_var"] {
            if c.opt_tensor(name).is_none() {
                return Err(Error::runtime(format!("{name} must be defined in evaluation mode")));
            }
        }
    }
    dispatch::ask_empty(input)?;
    let [x, weight, bias, mean, var, training, momentum, eps] = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| Value::from(&c.args[i]));
    if dispatch::modes().calls_as_aten && takes_cudnn(c)? {
        return first(aten!("cudnn_batch_norm", x, weight, bias, mean, var, training, momentum, eps)?);
    }
    if dispatch::modes().fake || dispatch::modes().calls_as_aten {
        // What cuDNN would reserve: nothing reads it, but a trace has it.
        let (dtype, layout, device) = (Dtype::UInt8, tensor::Layout::Strided, input.device());
        dispatch::t!("empty.memory_format", vec![0i64]; dtype = dtype, layout = layout, device = device)?;
    }
    first(aten!("native_batch_norm", x, weight, bias, mean, var, training, momentum, eps)?)
}

/// Whether a card's batch norm is cuDNN's: where there are weights, of what is not too large.
fn takes_cudnn(c: &Call) -> Result<bool> {
    let input = c.tensor("input")?;
    let has = |name: &str| c.opt_tensor(name).is_some();
    let is_short = |t: &Tensor| t.dtype() == Dtype::BFloat16;
    let training = c.bool("training")?;
    let has_statistics = has("running_mean") && has("running_var") || !has("running_mean") && !has("running_var") && training;
    let most = |d: usize, n: i64| input.size(d).hint().is_none_or(|size| size <= n);
    let fits = match input.dim() {
        0 | 1 => false,
        2 => most(0, if training { 131_070 } else { 262_136 }),
        _ => most(0, 880_801) && most(1, 65_535),
    };
    let is_long = !is_short(input) && c.opt_tensor("weight").is_some_and(|weight| !is_short(weight));
    Ok(input.device().kind == DeviceType::Cuda && c.bool("cudnn_enabled")? && has("bias") && is_long && has_statistics && fits)
}

/// cuDNN's batch norm: it keeps bytes for the backward, besides.
fn cudnn_batch_norm(c: &Call) -> Result<Value> {
    let [x, weight, bias, mean, var, training, momentum, eps] = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| Value::from(&c.args[i]));
    let mut results = aten!("native_batch_norm", x, weight, bias, mean, var, training, momentum, eps)?.list()?.to_vec();
    results.push(t!("empty.memory_format", vec![0i64]; dtype = Dtype::UInt8, device = c.tensor("input")?.device())?.into());
    Ok(Value::List(results))
}

fn native_batch_norm(c: &Call) -> Result<Value> {
    let [input, weight, bias, mean, var, training, momentum, eps] = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| Value::from(&c.args[i]));
    match (mean.is_none(), var.is_none()) {
        (true, true) => aten!("_native_batch_norm_legit.no_stats", input, weight, bias, training, momentum, eps),
        (true, false) => {
            Err(Error::runtime("running_mean is None, but running_var is provided. They should both be None or both be provided."))
        }
        (false, true) => {
            Err(Error::runtime("running_var is None, but running_mean is provided. They should both be None or both be provided."))
        }
        _ if training.bool()? => aten!("_native_batch_norm_legit", input, weight, bias, mean, var, training, momentum, eps),
        _ => aten!("_native_batch_norm_legit_no_training", input, weight, bias, mean, var, momentum, eps),
    }
}

/// A tensor argument that not every operator of a family has.
fn opt_named<'a>(c: &Call<'a>, name: &str) -> Option<&'a Tensor> {
    c.entry.schema.position(name).and_then(|_| c.opt_tensor(name))
}

fn batch_norm_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let input = c.tensor("input")?;
    // A vector of nothing has no channels, and is normalized all the same.
    let nothing = input.dim() == 1 && input.numel().as_int() == Some(0);
    let channels = if nothing { SymInt::Int(0) } else { input.size(dim_of(input, 1)?) };
    for name in ["weight", "bias", "running_mean", "running_var"] {
        if let Some(t) = opt_named(c, name) {
            need_elements(c.entry.base_name(), name, t, &channels)?;
        }
    }
    if c.entry.schema.overload == "no_stats" && !c.bool("training")? {
        return Err(Error::value("running_mean must be defined in evaluation mode"));
    }
    check_types(c)?;
    let training = c.get("training").as_tensor().is_none() && !c.get("training").is_none() && c.bool("training")?;
    // Without training there are no statistics to keep.
    let channels = if training { channels } else { SymInt::Int(0) };
    // What is traced has statistics of the input's dtype (PyTorch's decomposition of it); the kernel's are the parameters'.
    let parameters = c.opt_tensor("weight").or(c.opt_tensor("running_mean"));
    let stats = parameters.filter(|_| !dispatch::modes().fake).unwrap_or(input);
    // Its result is that of pointwise steps, which keep the order of the dimensions.
    let result = if input.is_fake() { pointwise_step(input, &[input])?.spec() } else { spec(input.sizes(), suggested(input), input) };
    Ok(vec![Some(result), Some(vector(stats, channels.clone())), Some(vector(stats, channels))])
}

fn batch_norm_grad(b: &Backward) -> Result<Grads> {
    let (grad, input, weight) = (b.grad()?, b.saved("input")?, b.opt_saved("weight")?);
    let has_stats = b.entry.schema.position("running_mean").is_some();
    let stat = |name: &str| if has_stats { b.opt_saved(name) } else { Ok(None) };
    let training = b.entry.schema.position("training").is_some() && b.arg("training").bool()?;
    let (mean, var) = (stat("running_mean")?, stat("running_var")?);
    together(
        b,
        aten!("native_batch_norm_backward", grad, input, weight, mean, var, b.result(1)?, b.result(2)?, training, b.arg("eps"), mask(b))?,
    )
}

fn batch_norm_backward_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (input, name) = (c.tensor("input")?, c.entry.base_name());
    let nothing = input.dim() == 1 && input.numel().as_int() == Some(0);
    let channels = if nothing { SymInt::Int(0) } else { input.size(dim_of(input, 1)?) };
    need_sizes(name, "grad_out", c.tensor("grad_out")?, &input.sizes())?;
    for (argument, t) in ["weight", "running_mean", "running_var"].map(|n| (n, c.opt_tensor(n))) {
        if let Some(t) = t {
            need_elements(name, argument, t, &channels)?;
        }
    }
    // Which statistics the kernel reads: those of the batch where it trained, else the running ones.
    let read = if c.bool("train")? { ["save_mean", "save_invstd"] } else { ["running_mean", "running_var"] };
    for argument in read {
        match c.opt_tensor(argument) {
            Some(t) => need_elements(name, argument, t, &channels)?,
            None => return Err(Error::runtime(format!("{name}(): expected {argument} to be defined"))),
        }
    }
    let like = c.opt_tensor("weight").unwrap_or(input);
    let parameter = || Some(vector(like, channels.clone()));
    let of_input = if c.tensor("grad_out")?.is_fake() && !nothing {
        traced_batch_norm_gradient(c, &channels)?
    } else {
        spec(input.sizes(), suggested(input), input)
    };
    masked(c, [Some(of_input), parameter(), parameter()])
}

/// The input's gradient as PyTorch traces it, with the strides of the formula's pointwise steps: those of the gradient that
/// arrives, while the kernel's result is laid out as the input is.
fn traced_batch_norm_gradient(c: &Call, channels: &SymInt) -> Result<TensorSpec> {
    let (grad, input) = (c.tensor("grad_out")?, c.tensor("input")?);
    let mut along = vec![SymInt::Int(1); input.dim()];
    along[1] = channels.clone();
    let per_channel = Tensor::fake(&TensorSpec::contiguous(along, input.dtype(), input.device()))?;
    let step = |operands: &[&Tensor]| pointwise_step(input, operands);
    let difference = match c.bool("train")? {
        true => {
            let projected = step(&[&step(&[input, &per_channel])?, &per_channel])?;
            step(&[&step(&[grad, &projected])?, &per_channel])?
        }
        false => grad.clone(),
    };
    Ok(step(&[&difference, &per_channel])?.spec())
}

fn instance_norm(c: &Call) -> Result<Value> {
    let input = c.tensor("input")?;
    let use_input_stats = c.bool("use_input_stats")?;
    let (running_mean, running_var) = (c.opt_tensor("running_mean"), c.opt_tensor("running_var"));
    if !use_input_stats && (running_mean.is_none() || running_var.is_none()) {
        return Err(Error::runtime("Expected running_mean and running_var to be defined when use_input_stats is false"));
    }
    let sizes = input.sizes();
    let (batch, channels) = (input.size(dim_of(input, 0)?), input.size(dim_of(input, 1)?));
    let planes = dispatch::multiply(&[batch.clone(), channels.clone()])?;
    let repeated = |t: Option<&Tensor>| t.map(|t| t!("repeat", t, vec![batch.clone()])).transpose();
    let (weight, bias) = (repeated(c.opt_tensor("weight"))?, repeated(c.opt_tensor("bias"))?);
    let (mean, var) = (repeated(running_mean)?, repeated(running_var)?);
    let mut flat = vec![SymInt::Int(1), planes];
    flat.extend_from_slice(&sizes[2..]);
    let flat_input = t!("view", t!("contiguous", input)?, flat)?;
    let result = t!(
        "batch_norm",
        flat_input,
        weight,
        bias,
        mean.clone(),
        var.clone(),
        use_input_stats,
        c.get("momentum"),
        c.get("eps"),
        c.get("cudnn_enabled")
    )?;
    for (stat, new) in [(running_mean, mean), (running_var, var)] {
        if let (true, Some(stat), Some(new)) = (use_input_stats, stat, new) {
            let target = t!("alias", stat)?;
            let new = t!("mean.dim", t!("view", new, vec![batch.clone(), channels.clone()])?, vec![0i64], false)?;
            t!("copy_", target, new)?;
        }
    }
    Ok(t!("view", result, sizes)?.into())
}

/// Refuses groups that an input's channels cannot be divided into.
fn check_groups(input: &Tensor, channels: &SymInt, groups: i64) -> Result<()> {
    if groups <= 0 {
        return Err(Error::runtime(format!("Expected num groups to be greater than 0, got {groups}")));
    }
    if !channels.modulo(&SymInt::Int(groups))?.sym_eq(0)? {
        return Err(Error::runtime(format!(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape {:?} and num_groups={groups}",
            input.sizes()
        )));
    }
    Ok(())
}

fn group_norm(c: &Call) -> Result<Value> {
    let (input, groups) = (c.tensor("input")?, c.int("num_groups")?);
    let (weight, bias) = (c.opt_tensor("weight"), c.opt_tensor("bias"));
    if input.dim() < 2 {
        return Err(Error::runtime(format!("Expected at least 2 dimensions for input tensor but received {}", input.dim())));
    }
    let (n, channels) = (input.size(0), input.size(1));
    check_groups(input, &channels, groups)?;
    for (name, t) in [("weight", weight), ("bias", bias)] {
        if let Some(t) = t
            && !(t.dim() == 1 && t.numel().sym_eq(channels.clone())?)
        {
            return Err(Error::runtime(format!(
                "Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape {:?} and input of shape {:?}",
                t.sizes(),
                input.sizes()
            )));
        }
    }
    // As many values as a group has over all places: the script's side of the call counts them.
    let sizes = input.sizes();
    let in_groups = dispatch::multiply(&[n.clone(), channels.clone()])?;
    let per_group = dispatch::divide_sizes(&in_groups, &SymInt::Int(groups))?;
    let counted: Vec<SymInt> = [per_group].into_iter().chain(sizes[2..].iter().cloned()).collect();
    let count = dispatch::multiply(&counted)?;
    dispatch::compare_sizes(&count, Relation::Eq, &SymInt::Int(1))?;
    let places = dispatch::multiply(&sizes[2..])?;
    first(aten!("native_group_norm", input, weight, bias, n, channels, places, groups, c.get("eps"))?)
}

/// Refuses a tensor of another number of elements, in the words of PyTorch's checks that have none of their own.
fn need_counted(condition: &str, t: &Tensor, count: &SymInt) -> Result<()> {
    if may_be_same(&[t.numel()], std::slice::from_ref(count)) {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "Expected {condition} to be true, but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
    )))
}

/// How many elements a group normalization's numbers say that its input has.
fn group_norm_elements(c: &Call) -> Result<SymInt> {
    Ok(numel(&[c.sym_int("N")?, c.sym_int("C")?, c.sym_int("HxW")?]))
}

fn group_norm_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let input = c.tensor("input")?;
    let (groups, channels) = (c.int("group")?, c.sym_int("C")?);
    check_groups(input, &channels, groups)?;
    for (name, t) in [("weight", c.opt_tensor("weight")), ("bias", c.opt_tensor("bias"))] {
        if let Some(t) = t
            && !may_be_same(&t.sizes(), std::slice::from_ref(&channels))
        {
            return Err(Error::runtime(format!(
                "Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape {:?} and input of shape {:?}",
                t.sizes(),
                input.sizes()
            )));
        }
    }
    need_counted("X.numel() == N * C * HxW", input, &group_norm_elements(c)?)?;
    for (name, count) in [("number of channels", &channels), ("HxW", &c.sym_int("HxW")?)] {
        if count.as_int().is_some_and(|count| count <= 0) {
            return Err(Error::runtime(format!("Expected {name} to be greater than 0, got {count}")));
        }
    }
    check_types(c)?;
    let stats = vec![c.sym_int("N")?, SymInt::Int(groups)];
    let make = || Some(TensorSpec::contiguous(stats.clone(), input.dtype(), input.device()));
    Ok(vec![Some(spec(input.sizes(), suggested(input), input)), make(), make()])
}

fn group_norm_grad(b: &Backward) -> Result<Grads> {
    let input = b.saved("input")?;
    let [n, channels, places, group] = ["N", "C", "HxW", "group"].map(|name| b.arg(name).clone());
    let (mean, rstd, weight) = (b.result(1)?, b.result(2)?, b.opt_saved("weight")?);
    let values = match b.grads.first().and_then(Option::as_ref) {
        None => Value::List(vec![Value::None; 3]),
        Some(grad) => aten!("native_group_norm_backward", grad, input, mean, rstd, weight, n, channels, places, group, mask(b))?,
    };
    let of_input = values.list()?[0].as_tensor().cloned();
    let mut grads = together(b, values)?;
    if b.grads.iter().skip(1).any(Option::is_some) && b.needs("input") {
        let more = statistics_grad(b, input, mean, rstd)?;
        let all = of_input.map_or(Ok(more.clone()), |g| t!("add.Tensor", g, more))?;
        grads.put(b, "input", Some(all))?;
    }
    Ok(grads)
}

/// What the gradients of a group's mean and of its deviation's inverse are for its elements.
fn statistics_grad(b: &Backward, input: &Tensor, mean: &Tensor, rstd: &Tensor) -> Result<Tensor> {
    let (groups, sizes) = (b.arg("group").int()?, b.sizes("input")?);
    let each = numel(&sizes[1..]).floor_div(&SymInt::Int(groups))?;
    let rows = vec![b.arg("N").sym_int()?, SymInt::Int(groups), each.clone()];
    let column = |x: &Tensor| t!("unsqueeze", x, -1);
    let of = |i: usize| b.grads.get(i).and_then(Option::as_ref).map(column).transpose();
    let mut sum = t!("zeros_like", t!("reshape", input, &rows)?)?;
    if let Some(g) = of(1)? {
        sum = t!("add.Tensor", sum, g)?;
    }
    if let Some(g) = of(2)? {
        let centered = t!("sub.Tensor", t!("reshape", input, &rows)?, column(mean)?)?;
        let cube = t!("pow.Tensor_Scalar", column(rstd)?, 3)?;
        sum = t!("sub.Tensor", sum, t!("mul.Tensor", t!("mul.Tensor", centered, cube)?, g)?)?;
    }
    t!("reshape", t!("div.Tensor", sum, Value::from(each))?, sizes)
}

fn group_norm_backward_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let input = c.tensor("input")?;
    let (elements, groups) = (group_norm_elements(c)?, c.int("group")?);
    need_counted("dY.numel() == N * C * HxW", c.tensor("grad_out")?, &elements)?;
    need_counted("X.numel() == N * C * HxW", input, &elements)?;
    let stats = &c.sym_int("N")? * groups;
    need_counted("mean.numel() == N * group", c.tensor("mean")?, &stats)?;
    need_counted("rstd.numel() == N * group", c.tensor("rstd")?, &stats)?;
    if let Some(gamma) = c.opt_tensor("weight") {
        need_counted("!gamma.defined() || gamma.numel() == C", gamma, &c.sym_int("C")?)?;
    }
    if groups <= 0 {
        return Err(Error::runtime(format!("Expected num groups to be greater than 0, got {groups}")));
    }
    if !c.sym_int("C")?.modulo(&SymInt::Int(groups))?.sym_eq(0)? {
        return Err(Error::runtime(format!(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape {:?} and num_groups={groups}",
            input.sizes()
        )));
    }
    let like = c.opt_tensor("weight").unwrap_or(input);
    // Where it is traced, PyTorch computes with both: the wider of them is what comes out. Its kernel gives the input's.
    let wider = if input.is_fake() { promote(input.dtype(), like.dtype()) } else { input.dtype() };
    let own = TensorSpec { dtype: wider, ..spec(input.sizes(), suggested(input), input) };
    let parameter = || -> Result<_> { Ok(Some(vector(like, c.sym_int("C")?))) };
    masked(c, [Some(own), parameter()?, parameter()?])
}
