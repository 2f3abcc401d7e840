//! Complex numbers: making them, their parts, absolute values and angles.
//!
//! A conjugate is a view with the conjugate bit (`transforms/math_bits`).

use super::common::*;
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Batch, Call, CastPolicy, Grads, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Dtype, Geometry, Tensor};

/// A tensor's conjugate; a real one is its own.
pub fn conj(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { t!("_conj", x) } else { Ok(x.clone()) }
}

/// The real part of a gradient, where the argument is real.
fn real(x: Tensor) -> Result<Tensor> {
    t!("real", x)
}

/// The complex result of two real tensors.
fn pair(c: &Call) -> Specs {
    let (a, b) = (c.args[0].tensor()?, c.args[1].tensor()?);
    let (first, second) = (a.dtype(), b.dtype());
    // PyTorch's kernels ask: a graph of fake tensors may hold such calls.
    let is_asked = !a.is_fake();
    if is_asked
        && !(matches!(first, Dtype::Float32 | Dtype::Float64 | Dtype::Float16)
            && matches!(second, Dtype::Float32 | Dtype::Float64 | Dtype::Float16))
    {
        return Err(Error::not_implemented(format!(
            "Expected both inputs to be Half, Float or Double tensors but got {} and {}",
            first.scalar_type(),
            second.scalar_type()
        )));
    }
    if is_asked && first != second {
        return Err(Error::runtime(format!(
            "Expected object of scalar type {} but got scalar type {} for second argument",
            first.scalar_type(),
            second.scalar_type()
        )));
    }
    one(&[&c.args[0], &c.args[1]], if second == Dtype::Float64 { second } else { first }.to_complex())
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op("complex(Tensor real, Tensor imag) -> Tensor", Rule::Fresh(pair))
        .doc("Complex numbers of real and imaginary parts.")
        .tags(Tags::COMPLEX_GRAD | Tags::ELEMENTWISE);
    b.grad("ComplexBackward", &[], |b| {
        let mut grads = Grads::new(b);
        grads.set(b, "imag", || t!("imag", b.grad()?))?;
        grads.set(b, "real", || t!("real", b.grad()?))?;
        Ok(grads)
    });
    b.op("polar(Tensor abs, Tensor angle) -> Tensor", Rule::Fresh(pair))
        .doc("Complex numbers of lengths and angles; of matrices, an orthonormal factor times a symmetric one.")
        .autocast(CastPolicy::Fp32)
        .tags(Tags::COMPLEX_GRAD | Tags::ELEMENTWISE)
        .grad("PolarBackward", &["result"], |b| {
            let (mut grads, z) = (Grads::new(b), b.result(0)?);
            let turned = conj(b.grad()?)?;
            let times = |by: Tensor| t!("mul.Tensor", &turned, by);
            grads.set(b, "abs", || real(times(t!("sgn", z)?)?))?;
            grads.set(b, "angle", || {
                let quarter = t!("mul.Scalar", z, Value::Complex(0.0, 1.0))?;
                real(times(quarter)?)
            })?;
            Ok(grads)
        });
    b.op(
        "angle(Tensor self) -> Tensor",
        Rule::Fresh(|c| {
            let dtype = c.tensor("self")?.dtype();
            one(&[c.get("self")], if dtype.is_complex() { dtype.to_real() } else { to_float(dtype) })
        }),
    )
    .doc("The angle of complex numbers.")
    .tags(Tags::COMPLEX_GRAD | Tags::POINTWISE)
    .grad("AngleBackward", &["self"], angle_backward);
    b.op("_conj(Tensor(a) self) -> Tensor(a)", Rule::View(as_it_lies))
        .batch(Batch::Elementwise)
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("ConjBackward", &[], |b| unary_grad(b, conj));
    b.op("_conj_physical(Tensor self) -> Tensor", Rule::Fresh(like_self))
        .auto_linear(&["self"])
        .tags(Tags::COMPLEX_GRAD | Tags::CONJ_FALLTHROUGH | Tags::POINTWISE);
    b.grad("ConjPhysicalBackward", &[], |b| unary_grad(b, |g| t!("conj_physical", g)));
    b.op("_neg_view(Tensor(a) self) -> Tensor(a)", Rule::View(as_it_lies)).batch(Batch::Elementwise).auto_linear(&["self"]).grad(
        "NegViewBackward",
        &[],
        |b| unary_grad(b, |g| t!("neg", g)),
    );
    b.op(
        "conj_physical(Tensor self) -> Tensor",
        Rule::Composite(|c| {
            let x = c.tensor("self")?;
            if x.dtype().is_complex() { aten!("_conj_physical", x) } else { Ok(x.into()) }
        }),
    )
    .tags(Tags::APART_IN_EXPORT | Tags::POINTWISE);
    b.op(
        "resolve_conj(Tensor(a) self) -> Tensor(a)",
        Rule::Composite(|c| if c.tensor("self")?.math_bits().conj { aten!("clone", c.get("self")) } else { Ok(c.get("self").clone()) }),
    )
    .doc("The tensor with its conjugate computed.");
    b.op(
        "resolve_neg(Tensor(a) self) -> Tensor(a)",
        Rule::Composite(|c| if c.tensor("self")?.math_bits().neg { aten!("clone", c.get("self")) } else { Ok(c.get("self").clone()) }),
    );
    b.op(
        "isreal(Tensor self) -> Tensor",
        Rule::Composite(|c| {
            let x = c.tensor("self")?;
            if x.dtype().is_complex() { aten!("eq.Scalar", t!("imag", x)?, 0) } else { aten!("ones_like", x; dtype = Dtype::Bool) }
        }),
    )
    .doc("Whether elements have no imaginary part.");
}

/// The memory as it is: math bits change no geometry. A number stands for a tensor of its own.
fn as_it_lies(c: &Call) -> Result<Vec<Geometry>> {
    Ok(vec![match c.get("self") {
        Value::Tensor(t) => (*t.geometry()).clone(),
        _ => Geometry { sizes: Vec::new(), strides: Vec::new(), offset: SymInt::Int(0) },
    }])
}

fn angle_backward(b: &Backward) -> Result<Grads> {
    let x = b.saved("self")?;
    unary_grad(b, |g| {
        if !x.dtype().is_complex() {
            return t!("zeros_like", x; memory_format = tensor::MemoryFormat::Preserve);
        }
        // i z / |z|^2, and nothing at zero; in PyTorch's order.
        let square = t!("pow.Tensor_Scalar", t!("abs", x)?, 2)?;
        let scaled = t!("div.Tensor", t!("mul.Tensor", g, x)?, square)?;
        let turned = t!("mul.Scalar", scaled, Value::Complex(0.0, 1.0))?;
        let layout = Value::Layout(tensor::Layout::Strided);
        let nothing = t!("zeros", Vec::<i64>::new(); dtype = x.dtype(), layout = layout, device = x.device())?;
        t!("where.self", t!("eq.Scalar", x, 0.0)?, nothing, turned)
    })
}
