//! Pointwise arithmetic of three operands: a point between two, products and quotients that are added.

use super::common::*;
use super::complex::conj;
use super::matrix::cpp_name;
use super::shapes::result_type;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Call, Grads, OpBuilder, Rule, Tags, Value};
use tensor::Category;

/// One dtype for both ends, and for a weight but where it is one number.
fn lerp_spec(c: &Call) -> Specs {
    let dtype = c.tensor("self")?.dtype();
    let others = ["end", "weight"].into_iter().filter_map(|name| Some((name, c.opt_tensor(name)?)));
    for (name, other) in others.filter(|(name, other)| *name == "end" || other.dim() > 0) {
        if other.dtype() != dtype {
            return Err(Error::runtime(format!(
                "expected dtype {} for `{name}` but got dtype {}",
                cpp_name(dtype),
                cpp_name(other.dtype())
            )));
        }
    }
    let has_weights = c.entry.schema.position("weight").is_some_and(|at| matches!(c.args.get(at), Some(Value::Tensor(_))));
    promoted(c, if has_weights { &["self", "end", "weight"] } else { &["self", "end"] })
}

fn lerp_tensor(b: &Backward) -> Result<Grads> {
    let w = b.saved("weight")?;
    let mut grads = Grads::new(b);
    grads.set(b, "end", || t!("mul.Tensor", b.grad()?, conj(w)?))?;
    grads.set(b, "self", || t!("mul.Tensor", b.grad()?, conj(&number_minus(1, w)?)?))?;
    grads.set(b, "weight", || t!("mul.Tensor", b.grad()?, conj(&t!("sub.Tensor", b.saved("end")?, b.saved("self")?)?)?))?;
    Ok(grads)
}

fn addcmul_backward(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "self", || b.grad().cloned())?;
    for (name, factor) in [("tensor1", "tensor2"), ("tensor2", "tensor1")] {
        grads.set(b, name, || t!("mul.Tensor", b.grad()?, conj(&t!("mul.Scalar", b.saved(factor)?, b.arg("value"))?)?))?;
    }
    Ok(grads)
}

fn addcdiv_backward(b: &Backward) -> Result<Grads> {
    let divisor = b.saved("tensor2")?;
    let mut grads = Grads::new(b);
    grads.set(b, "self", || b.grad().cloned())?;
    grads.set(b, "tensor1", || t!("mul.Tensor", b.grad()?, conj(&number_over(b.arg("value"), divisor)?)?))?;
    grads.set(b, "tensor2", || {
        let square = t!("mul.Tensor", divisor, divisor)?;
        let quotient = t!("div.Tensor", t!("mul.Scalar", b.saved("tensor1")?, b.arg("value"))?, square)?;
        t!("mul.Tensor", t!("neg", b.grad()?)?, conj(&quotient)?)
    })?;
    Ok(grads)
}

fn addcdiv_spec(c: &Call) -> Specs {
    let both = result_type(&[c.get("tensor1"), c.get("tensor2")])?;
    if both.category() <= Category::Integral {
        return Err(Error::runtime(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of tensor1 and tensor2.",
        ));
    }
    promoted(c, &["self", "tensor1", "tensor2"])
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op("lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", Rule::Fresh(lerp_spec))
        .tags(Tags::COMPLEX_GRAD)
        .doc("Between two tensors, by a weight.")
        .tags(Tags::POINTWISE);
    b.grad("LerpBackward", &[], |b| {
        let mut grads = Grads::new(b);
        let weight = conjugate_number(b.arg("weight"));
        grads.set(b, "end", || t!("mul.Scalar", b.grad()?, weight.clone()))?;
        grads.set(b, "self", || match weight {
            Value::Complex(re, im) => t!("mul.Scalar", b.grad()?, Value::Complex(1.0 - re, -im)),
            _ => t!("mul.Scalar", b.grad()?, 1.0 - weight.float()?),
        })?;
        Ok(grads)
    });
    b.inplace();
    b.op("lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", Rule::Fresh(lerp_spec)).tags(Tags::POINTWISE);
    b.grad("LerpBackward1", &["self", "end", "weight"], lerp_tensor).inplace();
    b.op(
        "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
        Rule::Fresh(|c| promoted(c, &["self", "tensor1", "tensor2"])),
    )
    .tags(Tags::COMPLEX_GRAD)
    .doc("`self + value * tensor1 * tensor2`.")
    .refuses("*b", "addcmul_cpu_out");
    b.tags(Tags::POINTWISE)
        .grad("AddcmulBackward", &["tensor1", "tensor2"], addcmul_backward)
        .serves(&[("tensor1", "tensor2"), ("tensor2", "tensor1")])
        .inplace();
    b.op("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", Rule::Fresh(addcdiv_spec))
        .tags(Tags::COMPLEX_GRAD)
        .doc("`self + value * tensor1 / tensor2`.");
    b.tags(Tags::POINTWISE).grad("AddcdivBackward", &["tensor1", "tensor2"], addcdiv_backward).serves(&[("tensor1", "tensor2")]).inplace();
}
