//! PyTorch's `prims`: the few operators below `aten` that decompositions for Inductor end in.

use super::common::Specs;
use super::factory::copy_strides;
use super::shapes::pointwise;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Batch, Call, Grads, OpBuilder, OpClasses, Rule, Tags, Value};
use shape::SymInt;
use tensor::{Device, Dtype, MemoryFormat, Tensor, TensorSpec};

fn fma_backward(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    let scaled = |by: &Value, of: &str| t!("sum_to_size", t!("mul.Tensor", b.grad()?, by)?, b.sizes(of)?);
    grads.set(b, "a", || scaled(b.arg("b"), "a"))?;
    if b.needs("b") {
        grads.set(b, "b", || scaled(b.arg("a"), "b"))?;
    }
    grads.set(b, "c", || t!("sum_to_size", b.grad()?, b.sizes("c")?))?;
    Ok(grads)
}

/// Registers the operators.
pub fn register(b: &mut OpBuilder) {
    b.namespaced(
        "prims",
        "fma(Tensor a, Tensor b, Tensor c) -> Tensor",
        Rule::Fresh(|c| Ok(vec![Some(pointwise(&[c.get("a"), c.get("b"), c.get("c")], c.tensor("a")?.dtype())?)])),
    );
    b.tags(Tags::POINTWISE | Tags::NUMBERS_AS_TENSORS).grad("FmaBackward", &["a", "b"], fma_backward);
    let mut op = |schema: &str, rule: Rule| {
        b.namespaced("prims", schema, rule).not_differentiable();
    };
    op("convert_element_type(Tensor a, ScalarType dtype) -> Tensor", Rule::Fresh(converted));
    op(
        "rev(Tensor a, SymInt[] dims) -> Tensor",
        Rule::Fresh(|c| {
            let a = c.tensor("a")?;
            Ok(vec![Some(TensorSpec::strided(a.sizes(), copy_strides(a, MemoryFormat::Preserve)?, a.dtype(), a.device()))])
        }),
    );
    op(
        "iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool requires_grad) -> Tensor",
        Rule::Fresh(|c| made(c, vec![c.sym_int("length")?], c.dtype("dtype")?.unwrap_or(Dtype::Int64))),
    );
    op(
        "_low_memory_max_pool_with_offsets(Tensor self, SymInt[] kernel_size, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool ceil_mode) -> (Tensor, Tensor)",
        Rule::Fresh(pooled),
    );
    op(
        "_low_memory_max_pool_offsets_to_indices(Tensor self, SymInt[] kernel_size, SymInt[] input_size, SymInt[] stride, SymInt[] padding, SymInt[] dilation) -> Tensor",
        Rule::Fresh(|c| {
            let offsets = c.tensor("self")?;
            let kernel = c.sym_ints("kernel_size")?;
            super::shapes::need_dims(c.entry.base_name(), "self", offsets, kernel.len())?;
            for name in ["input_size", "stride", "padding", "dilation"] {
                let given = c.sym_ints(name)?.len();
                if given != kernel.len() {
                    return Err(Error::runtime(format!(
                        "{}(): expected {name} to have {} numbers, but got {given}",
                        c.entry.base_name(),
                        kernel.len()
                    )));
                }
            }
            if let Some(size) = kernel.iter().find(|size| size.as_int().is_some_and(|size| size <= 0)) {
                return Err(Error::runtime(format!("kernel size should be greater than zero, but got {size}")));
            }
            let strides = copy_strides(offsets, MemoryFormat::Preserve)?;
            Ok(vec![Some(TensorSpec::strided(offsets.sizes(), strides, Dtype::Int64, offsets.device()))])
        }),
    );
    b.namespaced(
        "prims",
        "inductor_seeds(int count, Device device) -> Tensor",
        Rule::Fresh(|c| made(c, vec![c.sym_int("count")?], Dtype::Int64)),
    )
    .not_differentiable()
    .tags(Tags::RANDOM);
    let mut op = |schema: &str, rule: Rule| {
        b.namespaced("prims", schema, rule).not_differentiable();
    };
    op("inductor_lookup_seed(Tensor seeds, int index) -> Tensor", Rule::Fresh(|c| made(c, Vec::new(), Dtype::Int64)));
    op(
        "inductor_random(SymInt[] size, Tensor seed, str mode, *, int offset=0, ScalarType? align_dtype=None) -> Tensor",
        Rule::Fresh(|c| made(c, c.sym_ints("size")?, c.dtype("align_dtype")?.unwrap_or(Dtype::Float32))),
    );
    op(
        "inductor_randint(SymInt low, SymInt high, SymInt[] size, Tensor seed, *, int offset=0) -> Tensor",
        Rule::Fresh(|c| made(c, c.sym_ints("size")?, Dtype::Int64)),
    );

    b.namespaced(
        "prims",
        "inductor_force_stride_order(Tensor input, SymInt[] stride) -> Tensor",
        Rule::Fresh(|c| {
            let input = c.tensor("input")?;
            let strides = c.sym_ints("stride")?;
            if strides.len() != input.dim() {
                let text = format!("inductor_force_stride_order: {} strides for {} dimensions", strides.len(), input.dim());
                return Err(Error::runtime(text));
            }
            Ok(vec![Some(TensorSpec::strided(input.sizes(), strides, input.dtype(), input.device()))])
        }),
    )
    .not_differentiable();

    b.namespaced(
        "rngprims",
        "philox_rand(SymInt[] size, Tensor seed, Tensor offset, int[]? stride, Device? device=None, ScalarType? dtype=None) -> (Tensor, Tensor)",
        Rule::Fresh(philox_rand),
    )
    .not_differentiable()
    .tags(Tags::RANDOM);

    b.at("_low_memory_max_pool_offsets_to_indices").classes(OpClasses::RECOMPUTABLE);
    b.at("iota").classes(OpClasses::RECOMPUTABLE);
    b.at("convert_element_type").classes(OpClasses::RECOMPUTABLE).batch(Batch::Elementwise).tags(Tags::POINTWISE);
}

/// Uniform numbers by seed and offset, and how far the offset goes on: of a CUDA device alone.
fn philox_rand(c: &Call) -> Specs {
    let device = c.get("device").device()?.unwrap_or(Device::CPU);
    if device.kind != tensor::DeviceType::Cuda {
        let kind = format!("{device}");
        return Err(Error::runtime(format!(
            "You are trying to functionalize a {kind} RNG operator but {kind} does not use Philox/counter-based RNG. Therefore, functionalizing a {kind} RNG operator is not supported. We are discussing the possibility of a Philox-based RNG implementation for CPU."
        )));
    }
    if !c.get("stride").is_none() {
        return Err(Error::not_implemented("philox_rand with strides is not supported"));
    }
    let values = TensorSpec::contiguous(c.sym_ints("size")?, c.dtype("dtype")?.unwrap_or(Dtype::Float32), device);
    Ok(vec![Some(values), Some(TensorSpec::contiguous(Vec::new(), Dtype::Int64, Device::CPU))])
}

fn made(c: &Call, sizes: Vec<SymInt>, dtype: Dtype) -> Specs {
    let device = match c.get("device").device()? {
        Some(device) => device,
        None => c.opt_tensor("seed").or(c.opt_tensor("seeds")).map_or(Device::CPU, Tensor::device),
    };
    Ok(vec![Some(TensorSpec::contiguous(sizes, dtype, device))])
}

fn converted(c: &Call) -> Specs {
    let a = c.tensor("a")?;
    let dtype = c.dtype("dtype")?.unwrap_or(a.dtype());
    Ok(vec![Some(TensorSpec::strided(a.sizes(), copy_strides(a, MemoryFormat::Preserve)?, dtype, a.device()))])
}

/// The call of `max_pool2d_with_indices` or its like in three dimensions that pools in the same windows.
pub fn pooling_call(c: &Call) -> Result<(&'static dispatch::OpEntry, Vec<dispatch::Value>)> {
    let n = c.get("kernel_size").list()?.len();
    let entry = dispatch::lookup(&format!("aten.max_pool{n}d_with_indices.default"))
        .filter(|entry| matches!(entry.rule, Rule::Fresh(_)))
        .ok_or_else(|| diagnostics::error::Error::not_implemented(format!("max_pool of {n} dimensions")))?;
    let names = ["self", "kernel_size", "stride", "padding", "dilation", "ceil_mode"];
    Ok((entry, names.iter().map(|name| c.get(name).clone()).collect()))
}

/// Values as the real pooling gives them; of each, where in its window it was found.
fn pooled(c: &Call) -> Specs {
    let (entry, args) = pooling_call(c)?;
    let Rule::Fresh(rule) = entry.rule else { return Ok(Vec::new()) };
    let mut specs = rule(&Call { entry, args: &args })?;
    if let Some(Some(indices)) = specs.get_mut(1) {
        indices.dtype = Dtype::Int8;
    }
    Ok(specs)
}
