//! Operators that draw random numbers, and dropout.
//!
//! In-place samplers have functional forms that functionalization uses: `uniform`, `bernoulli.p`, `normal_functional`, ...

use super::common::*;
use super::factory::{copy_strides, like, sized};
use super::layout::{spec, suggested};
use super::shapes::broadcast_two;
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Batch, Call, Grads, OpBuilder, OpClasses, Rule, Tags, Value, modes};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Device, Dtype, Layout, MemoryFormat, Tensor, TensorSpec};

const OPTIONS: &str = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";
const LONG_OPTIONS: &str = "ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None";

/// As `self`, in the order of its dimensions.
fn same(c: &Call) -> Specs {
    let x = c.tensor("self")?;
    Ok(vec![Some(TensorSpec::strided(x.sizes(), copy_strides(x, MemoryFormat::Preserve)?, x.dtype(), x.device()))])
}

/// As `self`, contiguous.
fn in_order(c: &Call) -> Specs {
    let x = c.tensor("self")?;
    Ok(vec![Some(TensorSpec::contiguous(x.sizes(), x.dtype(), x.device()))])
}

fn zeros_of(b: &Backward, name: &str) -> Result<Tensor> {
    let (spec, grad) = (b.spec(name)?, b.grad()?);
    t!("zeros", &spec.geometry.sizes; dtype = grad.dtype(), layout = Value::Layout(Layout::Strided), device = grad.device())
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    register_samplers(b);
    register_factories(b);
    register_normal(b);
    register_dropout(b);
}

fn register_samplers(b: &mut OpBuilder) {
    for (schema, node) in [
        ("uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor", "UniformBackward"),
        ("exponential(Tensor self, float lambd=1, *, Generator? generator=None) -> Tensor", "ExponentialBackward"),
        ("cauchy(Tensor self, float median=0, float sigma=1, *, Generator? generator=None) -> Tensor", "CauchyBackward"),
        ("log_normal(Tensor self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor", "LogNormalBackward"),
        ("geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor", "GeometricBackward"),
        ("random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor", "RandomBackward"),
        ("random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", "RandomBackward1"),
        ("random(Tensor self, *, Generator? generator=None) -> Tensor", "RandomBackward2"),
    ] {
        b.op(schema, Rule::Fresh(same)).tags(Tags::RANDOM).inplace().grad(node, &[], zero_grad);
    }
    b.at("cauchy").doc("Fills with draws from a Cauchy distribution.").function();
    b.at("exponential").doc("Fills with draws from an exponential distribution.").function();
    b.at("geometric").doc("Fills with draws from a geometric distribution.").function();
    b.at("log_normal").doc("Fills with draws from a log-normal distribution.").function();
    b.at("random").doc("Fills with integers drawn uniformly.").function();
    b.at("uniform").doc("Fills with uniform draws.").function();
    b.op("normal_functional(Tensor self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor", Rule::Fresh(same)).function();
    b.tags(Tags::RANDOM);
    b.op(
        "normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor(a!)",
        Rule::Inplace("normal_functional"),
    );
    b.tags(Tags::RANDOM).grad("NormalBackward", &[], zero_grad);
    b.op("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", Rule::Fresh(in_order))
        .refuses("c", "bernoulli_tensor_cpu_self_")
        .doc("Ones with the given probabilities, zeros otherwise.")
        .classes(OpClasses::NEVER_MERGED)
        .auto_element_wise("self")
        .tags(Tags::RANDOM);
    b.grad("BernoulliBackward", &[], zero_grad);
    b.op("bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", Rule::Fresh(in_order)).tags(Tags::RANDOM);
    b.op("bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)", Rule::Inplace("bernoulli.p"));
    b.tags(Tags::RANDOM).grad("BernoulliBackward2", &[], zero_grad);
    b.op(
        "bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
        Rule::Fresh(|c| {
            let p = c.tensor("p")?;
            super::geometry::expand(&p.geometry(), &c.tensor("self")?.sizes(), &super::views::cpp_name(p))?;
            same(c)
        }),
    )
    .tags(Tags::RANDOM)
    .inplace();
    b.grad("BernoulliBackward1", &[], |b| {
        let mut grads = Grads::new(b);
        grads.set(b, "p", || zeros_of(b, "p"))?;
        grads.set(b, "self", || t!("zeros_like", b.grad()?))?;
        Ok(grads)
    });
    b.op(
        "multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor",
        Rule::Fresh(multinomial),
    )
    .doc("Draws indices by their weights.")
    .classes(OpClasses::NEVER_MERGED);
    b.tags(Tags::RANDOM).not_differentiable();
}

fn multinomial(c: &Call) -> Specs {
    let (x, count) = (c.tensor("self")?, c.sym_int("num_samples")?);
    if x.dim() == 0 || x.dim() > 2 {
        return Err(Error::runtime("prob_dist must be 1 or 2 dim"));
    }
    if !x.dtype().is_floating() {
        return Err(Error::runtime(
            "multinomial only supports floating-point dtypes for input, got: ".to_owned() + x.dtype().scalar_type(),
        ));
    }
    if !SymInt::Int(0).sym_lt(count.clone())? {
        return Err(Error::runtime("cannot sample n_sample <= 0 samples"));
    }
    if !c.bool("replacement")? && x.size(x.dim() - 1).sym_lt(count.clone())? {
        return Err(Error::runtime("cannot sample n_sample > prob_dist.size(-1) samples without replacement"));
    }
    let mut sizes = x.sizes();
    sizes.pop();
    sizes.push(count);
    Ok(vec![Some(TensorSpec::contiguous(sizes, Dtype::Int64, x.device()))])
}

fn integers(c: &Call) -> Specs {
    let dtype = c.dtype("dtype")?.unwrap_or(Dtype::Int64);
    let sizes = if c.get("n").is_none() { c.sym_ints("size")? } else { vec![c.sym_int("n")?] };
    if let Some(size) = sizes.iter().find(|size| size.hint().is_some_and(|n| n < 0)) {
        return Err(Error::runtime(format!("Trying to create tensor with negative dimension {size}: {sizes:?}")));
    }
    Ok(vec![Some(TensorSpec::contiguous(sizes, dtype, c.get("device").device()?.unwrap_or(Device::CPU)))])
}

fn register_factories(b: &mut OpBuilder) {
    let tags = Tags::RANDOM | Tags::FACTORY;
    for name in ["rand", "randn"] {
        b.op(&format!("{name}(SymInt[] size, *, {OPTIONS}) -> Tensor"), Rule::Fresh(sized)).classes(OpClasses::NEVER_MERGED).tags(tags);
        b.op(&format!("{name}.generator(SymInt[] size, *, Generator? generator, {OPTIONS}) -> Tensor"), Rule::Fresh(sized)).tags(tags);
        b.op(&format!("{name}_like(Tensor self, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor"), Rule::Fresh(like)).function();
        b.tags(Tags::RANDOM).not_differentiable();
        b.op(
            &format!("{name}_like.generator(Tensor self, *, Generator? generator, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor"),
            Rule::Fresh(like),
        );
        b.tags(Tags::RANDOM).not_differentiable();
    }
    b.at("rand").doc("Uniform draws from [0, 1).");
    b.at("rand_like").doc("Uniform draws like another tensor.").classes(OpClasses::RANDOM | OpClasses::NEVER_MERGED);
    b.at("randn").doc("Draws from the standard normal distribution.");
    b.at("randn_like").doc("Normal draws like another tensor.").classes(OpClasses::RANDOM);
    b.op(&format!("randint(SymInt high, SymInt[] size, *, {LONG_OPTIONS}) -> Tensor"), Rule::Fresh(integers))
        .doc("Integers drawn uniformly.")
        .classes(OpClasses::NEVER_MERGED)
        .tags(tags);
    b.op(
        &format!("randint.generator(SymInt high, SymInt[] size, *, Generator? generator, {LONG_OPTIONS}) -> Tensor"),
        Rule::Fresh(integers),
    )
    .tags(tags);
    b.op(&format!("randint.low(SymInt low, SymInt high, SymInt[] size, *, {LONG_OPTIONS}) -> Tensor"), Rule::Fresh(integers)).tags(tags);
    b.op(
        &format!("randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, {LONG_OPTIONS}) -> Tensor"),
        Rule::Fresh(integers),
    );
    b.tags(tags);
    b.op(&format!("randint_like(Tensor self, SymInt high, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor"), Rule::Fresh(like))
        .doc("Integers drawn like another tensor.")
        .function();
    b.tags(Tags::RANDOM).not_differentiable();
    b.op(
        &format!("randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor"),
        Rule::Fresh(like),
    );
    b.tags(Tags::RANDOM).not_differentiable();
    b.op(&format!("randperm(SymInt n, *, {LONG_OPTIONS}) -> Tensor"), Rule::Fresh(integers))
        .doc("A random order of the first n integers.")
        .classes(OpClasses::NEVER_MERGED)
        .tags(tags);
    b.op(&format!("randperm.generator(SymInt n, *, Generator? generator, {LONG_OPTIONS}) -> Tensor"), Rule::Fresh(integers)).tags(tags);
}

fn normal_spec(c: &Call) -> Specs {
    let values: Vec<&Value> = ["mean", "std"].iter().map(|n| c.get(n)).filter(|v| v.as_tensor().is_some()).collect();
    let spec = one(&values, values[0].tensor()?.dtype())?;
    // Tracing takes the standard deviations' product and the means' sum for pointwise ones, where nothing is broadcast.
    let are_alike = || {
        values[0]
            .as_tensor()
            .zip(values.last().and_then(|v| v.as_tensor()))
            .is_some_and(|(a, b)| super::shapes::may_be_same(&a.sizes(), &b.sizes()))
    };
    if values.len() == 2 && values.iter().any(|v| v.as_tensor().is_some_and(Tensor::is_fake)) && are_alike() {
        return Ok(spec);
    }
    Ok(spec.into_iter().map(|s| s.map(|s| TensorSpec::contiguous(s.geometry.sizes, s.dtype, s.device))).collect())
}

fn normal_grads(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    for name in ["mean", "std"] {
        if b.spec(name).is_ok() {
            grads.set(b, name, || zeros_of(b, name))?;
        }
    }
    Ok(grads)
}

fn register_normal(b: &mut OpBuilder) {
    for (schema, node) in [
        ("normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor", "NormalBackward1"),
        ("normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor", "NormalBackward2"),
        ("normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor", "NormalBackward3"),
    ] {
        b.op(schema, Rule::Fresh(normal_spec)).tags(Tags::RANDOM).grad(node, &[], normal_grads);
    }
    b.at("normal.Tensor_float").auto_element_wise("mean");
    b.at("normal.float_Tensor").auto_element_wise("std");
    b.op(
        &format!("normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, {OPTIONS}) -> Tensor"),
        Rule::Fresh(sized),
    )
    .doc("Draws from normal distributions.")
    .classes(OpClasses::NEVER_MERGED);
    b.tags(Tags::RANDOM | Tags::FACTORY);
}

fn register_dropout(b: &mut OpBuilder) {
    b.op(
        "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
        Rule::Fresh(|c| {
            let x = c.tensor("input")?;
            let strides = copy_strides(x, MemoryFormat::Preserve)?;
            let of = |dtype| Some(TensorSpec::strided(x.sizes(), strides.clone(), dtype, x.device()));
            Ok(vec![of(x.dtype()), of(Dtype::Bool)])
        }),
    )
    .doc("Dropout, and the mask of what was kept.")
    .classes(OpClasses::RANDOM | OpClasses::NEVER_MERGED);
    b.tags(Tags::RANDOM | Tags::CORE).indices_without_grad(&[1]).grad("NativeDropoutBackward", &["result1"], |b| {
        Grads::one(b, "input", || {
            let p = b.arg("p").float()?;
            let scale = match b.arg("train").bool().unwrap_or(false) {
                false => 1.0,
                true if p == 1.0 => 0.0,
                true => 1.0 / (1.0 - p),
            };
            t!("native_dropout_backward", b.grad()?, b.result(1)?, scale)
        })
    });
    b.op(
        "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
        Rule::Fresh(|c| {
            let grad = c.tensor("grad_output")?;
            if !grad.is_fake() {
                return one(&[c.get("grad_output"), c.get("mask")], grad.dtype());
            }
            // Tracing lays it out as its format says, whatever the strides of what comes in.
            let sizes = broadcast_two(&grad.sizes(), &c.tensor("mask")?.sizes())?;
            Ok(vec![Some(spec(sizes, suggested(grad), grad))])
        }),
    );
    b.tags(Tags::POINTWISE);
    b.op(
        "dropout(Tensor input, float p, bool train) -> Tensor",
        Rule::Composite(|c| {
            let x = c.tensor("input")?;
            // What is traced keeps the mask; eager mode multiplies by noise. Both draw the same numbers.
            let p = c.float("p")?;
            let is_fused = x.device().kind == tensor::DeviceType::Cuda && p > 0.0 && p < 1.0;
            let traced = (modes().fake || x.is_fake()) && (!modes().calls_as_aten || is_fused);
            if traced && c.bool("train")? && p != 0.0 {
                let both = aten!("native_dropout", x, c.get("p"), c.get("train"))?;
                return Ok(both.list()?.first().cloned().unwrap_or_default());
            }
            noise(c, x, false, false, false)
        }),
    )
    .doc("Elements zeroed at random, the others scaled up.")
    .classes(OpClasses::NEVER_MERGED | OpClasses::SEEDED)
    .batch(Batch::Elementwise)
    .tags(Tags::APART_IN_EXPORT);
    b.op(
        "dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
        Rule::Composite(|c| noise(c, c.tensor("self")?, false, false, true)),
    )
    .function();
    b.op(
        "feature_dropout(Tensor input, float p, bool train) -> Tensor",
        Rule::Composite(|c| noise(c, c.tensor("input")?, true, false, false)),
    )
    .doc("Whole channels zeroed at random.")
    .classes(OpClasses::SEEDED)
    .tags(Tags::APART_IN_EXPORT);
    b.op(
        "feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
        Rule::Composite(|c| noise(c, c.tensor("self")?, true, false, true)),
    )
    .function();
    b.op(
        "alpha_dropout(Tensor input, float p, bool train) -> Tensor",
        Rule::Composite(|c| noise(c, c.tensor("input")?, false, true, false)),
    )
    .doc("Dropout that keeps mean and variance, for `selu`.")
    .classes(OpClasses::SEEDED)
    .tags(Tags::APART_IN_EXPORT);
    b.op(
        "alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
        Rule::Composite(|c| noise(c, c.tensor("self")?, false, true, true)),
    )
    .function();
    b.op(
        "feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
        Rule::Composite(|c| noise(c, c.tensor("input")?, true, true, false)),
    )
    .doc("Whole channels dropped so that mean and variance stay.")
    .classes(OpClasses::SEEDED)
    .tags(Tags::APART_IN_EXPORT);
    b.op(
        "feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
        Rule::Composite(|c| noise(c, c.tensor("self")?, true, true, true)),
    )
    .function();
}

/// Dropout as multiplication by noise: per element or per feature (channel), scaled, or shifted to keep self-normalization.
fn noise(c: &Call, x: &Tensor, feature: bool, alpha: bool, inplace: bool) -> Result<Value> {
    let (p, train) = (c.float("p")?, c.bool("train")?);
    if !(0.0..=1.0).contains(&p) {
        return Err(Error::runtime(format!("dropout probability has to be between 0 and 1, but got {p}")));
    }
    if p != 0.0 && train {
        dispatch::ask_empty(x)?;
    }
    if p == 0.0 || !train || x.numel().sym_eq(0)? {
        return Ok(x.into());
    }
    let multiply = |by: Tensor| if inplace { t!("mul_.Tensor", x, by) } else { t!("mul.Tensor", x, by) };
    if p == 1.0 {
        let zero = t!("zeros", Vec::<i64>::new(); dtype = x.dtype(), layout = Value::Layout(Layout::Strided), device = x.device())?;
        return multiply(zero).map(Value::from);
    }
    let noise = if feature {
        if x.dim() < 2 {
            return Err(Error::runtime("Feature dropout requires at least 2 dimensions in the input"));
        }
        let sizes: Vec<SymInt> = x.sizes().into_iter().enumerate().map(|(i, n)| if i < 2 { n } else { 1.into() }).collect();
        t!("new_empty", x, sizes)?
    } else {
        t!("empty_like", x)?
    };
    let noise = t!("bernoulli_.float", noise, 1.0 - p)?;
    if !alpha {
        return multiply(t!("div_.Scalar", noise, 1.0 - p)?).map(Value::from);
    }
    // The product of selu's two factors. Source: Klambauer and others.
    const ALPHA: f64 = 1.758_099_340_847_376_6;
    let a = 1.0 / ((ALPHA * ALPHA * p + 1.0) * (1.0 - p)).sqrt();
    let shift = t!("add.Scalar", &noise, -1)?;
    let shift = t!("add_.Scalar", t!("mul_.Scalar", shift, ALPHA * a)?, ALPHA * a * p)?;
    let scaled = multiply(t!("mul_.Scalar", noise, a)?)?;
    if inplace { aten!("add_.Tensor", scaled, shift) } else { aten!("add.Tensor", scaled, shift) }
}
