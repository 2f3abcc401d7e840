//! Samplers of `torch.distributions` that reject: Poisson, binomial, gamma, Dirichlet; and the randomized leaky relu.

use super::common::*;
use diagnostics::error::{Error, Result};
use dispatch::{Call, Grads, OpBuilder, OpClasses, Rule, Tags, Value};
use dispatch::{aten, t};
use tensor::{MemoryFormat, TensorSpec};

fn contiguous_as(c: &Call, name: &str) -> Specs {
    let x = c.tensor(name)?;
    Ok(vec![Some(TensorSpec::contiguous(x.sizes(), x.dtype(), x.device()))])
}

fn sampled(c: &Call) -> Specs {
    if !c.args[0].tensor()?.dtype().is_floating() {
        let stub = format!("{}_cpu", c.entry.base_name().trim_start_matches("_s"));
        return Err(Error::not_implemented(format!("\"{stub}\" not implemented for '{}'", c.args[0].tensor()?.dtype().scalar_type())));
    }
    // Tracing makes a tensor like the first argument, where kernels make a contiguous one; but for two arguments.
    if c.args[0].tensor()?.is_fake() && c.args.get(1).and_then(Value::as_tensor).is_none() && c.entry.base_name() != "_sample_dirichlet" {
        return one(&[&c.args[0]], c.args[0].tensor()?.dtype());
    }
    contiguous_as(c, &c.entry.schema.arguments[0].name)
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op("poisson(Tensor self, Generator? generator=None) -> Tensor", Rule::Fresh(sampled))
        .doc("Draws from Poisson distributions.")
        .function()
        .classes(OpClasses::NEVER_MERGED)
        .auto_element_wise("self")
        .tags(Tags::RANDOM);
    b.grad("PoissonBackward", &[], |b| unary_grad(b, |g| t!("zeros_like", g; memory_format = MemoryFormat::Preserve)));
    b.op("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", Rule::Fresh(sampled))
        .doc("Draws from binomial distributions.")
        .classes(OpClasses::NEVER_MERGED)
        .tags(Tags::RANDOM);
    b.not_differentiable();
    b.op("_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", Rule::Fresh(sampled))
        .classes(OpClasses::NEVER_MERGED)
        .tags(Tags::RANDOM);
    b.grad("StandardGammaBackward", &["self", "result"], |b| {
        unary_grad(b, |g| t!("mul.Tensor", g, t!("_standard_gamma_grad", b.saved("self")?, b.result(0)?)?))
    });
    b.op(
        "_standard_gamma_grad(Tensor self, Tensor output) -> Tensor",
        Rule::Fresh(|c| one(&[c.get("self"), c.get("output")], c.tensor("self")?.dtype())),
    )
    .tags(Tags::ELEMENTWISE);
    b.op("_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", Rule::Fresh(sampled)).tags(Tags::RANDOM);
    register_rrelu(b);
}

fn register_rrelu(b: &mut OpBuilder) {
    const RANGE: &str = "Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None";
    b.op(
        &format!("rrelu_with_noise_functional(Tensor self, Tensor noise, {RANGE}) -> (Tensor, Tensor noise_out)"),
        Rule::Fresh(|c| {
            let mut specs = if c.tensor("self")?.is_fake() { like_self(c)? } else { contiguous_as(c, "self")? };
            let (own, noise) = (c.tensor("self")?.sizes(), c.tensor("noise")?.sizes());
            if !super::shapes::may_be_same(&own, &noise) {
                return Err(Error::runtime(format!(
                    "noise tensor shape must match self tensor shape. Got self.shape = {own:?} noise.shape = {noise:?}"
                )));
            }
            if c.get("lower").float()? > c.get("upper").float()? {
                return Err(Error::runtime("Lower bound should be less than or equal to the upper bound"));
            }
            specs.extend(contiguous_as(c, "noise")?);
            Ok(specs)
        }),
    )
    .function()
    .tags(Tags::RANDOM)
    .grad("RreluWithNoiseBackward", &["self", "result1"], |b| {
        let names = ["lower", "upper", "training"];
        let [lower, upper, training] = names.map(|n| b.arg(n));
        Grads::one(b, "self", || t!("rrelu_with_noise_backward", b.grad()?, b.saved("self")?, b.result(1)?, lower, upper, training, false))
    })
    .indices_without_grad(&[1]);
    b.op(
        "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor",
        Rule::Fresh(|c| {
            // What is drawn multiplies, else the slope is that of the operand.
            let drawn = c.bool("training")? && c.get("upper").float()? - c.get("lower").float()? > 1e-6;
            let by = if drawn { c.get("noise") } else { c.get("self") };
            one(&[c.get("grad_output"), by], c.tensor("self")?.dtype())
        }),
    )
    .grad("RreluWithNoiseBackwardBackward", &["self", "noise"], |b| {
        let names = ["lower", "upper", "training"];
        let [lower, upper, training] = names.map(|n| b.arg(n));
        let mut grads = Grads::new(b);
        grads.set(b, "grad_output", || {
            t!("rrelu_with_noise_backward", b.grad()?, b.saved("self")?, b.saved("noise")?, lower, upper, training, false)
        })?;
        grads.set(b, "self", || t!("zeros_like", b.grad()?))?;
        Ok(grads)
    });
    fn drawn(c: &Call) -> Result<Value> {
        let noise = t!("empty_like", c.get("self"); memory_format = MemoryFormat::Contiguous)?;
        let results = aten!(
            "rrelu_with_noise_functional",
            c.get("self"),
            noise,
            c.get("lower"),
            c.get("upper"),
            c.get("training"),
            c.get("generator")
        )?;
        Ok(results.list()?[0].clone())
    }
    b.op(&format!("rrelu(Tensor self, {RANGE}) -> Tensor"), Rule::Composite(drawn))
        .doc("`x` where positive, else a random fraction of it.")
        .function()
        .classes(OpClasses::NEVER_MERGED | OpClasses::SEEDED)
        .refuses("bi", "leaky_relu_cpu")
        .tags(Tags::POINTWISE);
    // The derivative reads what was there before.
    fn drawn_in_place(c: &Call) -> Result<Value> {
        let mut args = c.args.to_vec();
        args[0] = t!("clone", c.get("self"))?.into();
        aten!("copy_", c.get("self"), drawn(&Call { entry: c.entry, args: &args })?)
    }
    b.op(&format!("rrelu_(Tensor(a!) self, {RANGE}) -> Tensor(a!)"), Rule::Composite(drawn_in_place)).function();
}
