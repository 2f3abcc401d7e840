//! Derivatives of derivatives: what a gradient penalty differentiates. Pointwise ones and those of linear operators; norms and
//! convolutions are beside.

use super::common::*;
use diagnostics::error::Result;
use dispatch::{Backward, Grads, OpBuilder, Value};
use dispatch::{aten, t};
use tensor::Tensor;

/// Derives the operators that are registered already.
pub fn register(b: &mut OpBuilder) {
    register_activations(b);
    register_losses(b);
    register_linear(b);
    super::second_order_norms::register(b);
}

fn mul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    t!("mul.Tensor", a, b)
}

/// `1 - x`
fn complement(x: &Tensor) -> Result<Tensor> {
    t!("rsub.Scalar", x, 1)
}

fn zero_like(x: &Tensor) -> Result<Tensor> {
    t!("scalar_tensor", 0.0; dtype = x.dtype(), device = x.device())
}

/// The two gradients of `f_backward(grad_output, self)`: the operator itself is linear in its first argument, `slope` is the
/// second derivative, `flat` where it is zero.
fn pointwise(
    b: &Backward,
    again: impl FnOnce(&Tensor) -> Result<Tensor>,
    slope: impl FnOnce(&Tensor) -> Result<Tensor>,
    name: &str,
) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "grad_output", || again(b.grad()?))?;
    grads.set(b, name, || {
        let both = mul(b.grad()?, b.saved("grad_output")?)?;
        let slope = slope(b.saved(name)?)?;
        mul(&both, &slope)
    })?;
    Ok(grads)
}

fn register_activations(b: &mut OpBuilder) {
    const SAVED: &[&str] = &["grad_output", "self"];
    b.at("elu_backward").grad("EluBackwardBackward", &["grad_output", "self_or_result"], |b| {
        let [alpha, scale, input_scale, result] = ["alpha", "scale", "input_scale", "is_result"].map(|n| b.arg(n));
        let again = |g: &Tensor| t!("elu_backward", g, alpha, scale, input_scale, result, b.arg("self_or_result"));
        let slope = |x: &Tensor| {
            let by = input_scale.float()?;
            let curved = if result.bool()? {
                t!("full_like", x, by)?
            } else {
                t!("mul.Scalar", t!("exp", t!("mul.Scalar", x, by)?)?, by * by * alpha.float()? * scale.float()?)?
            };
            let bent = if result.bool()? { t!("lt.Scalar", x, 0)? } else { t!("le.Scalar", x, 0)? };
            t!("where.self", bent, curved, zero_like(x)?)
        };
        pointwise(b, again, slope, "self_or_result")
    });
    b.at("gelu_backward").grad("GeluBackwardBackward", SAVED, |b| {
        let approximate = b.arg("approximate");
        pointwise(b, |g| t!("gelu_backward", g, b.saved("self")?; approximate = approximate), |x| gelu_slope(x, approximate), "self")
    });
    b.at("silu_backward").grad("SiluBackwardBackward", SAVED, |b| {
        let slope = |x: &Tensor| {
            // s (1 - s) (2 + x (1 - 2 s))
            let s = t!("sigmoid", x)?;
            let bent = t!("add.Scalar", mul(x, &complement(&t!("mul.Scalar", &s, 2)?)?)?, 2)?;
            mul(&mul(&s, &complement(&s)?)?, &bent)
        };
        pointwise(b, |g| t!("silu_backward", g, b.saved("self")?), slope, "self")
    });
    b.at("mish_backward").grad("MishBackwardBackward", SAVED, |b| {
        let slope = |x: &Tensor| {
            // s (1 - t^2) (2 + x (1 - s - 2 t s)), t the hyperbolic tangent of softplus
            let (s, t) = (t!("sigmoid", x)?, t!("tanh", t!("softplus", x)?)?);
            let inner = complement(&t!("add.Tensor", &s, t!("mul.Scalar", mul(&t, &s)?, 2)?)?)?;
            let bent = t!("add.Scalar", mul(x, &inner)?, 2)?;
            mul(&mul(&s, &complement(&mul(&t, &t)?)?)?, &bent)
        };
        pointwise(b, |g| t!("mish_backward", g, b.saved("self")?), slope, "self")
    });
    b.at("hardswish_backward").grad("HardswishBackwardBackward", SAVED, |b| {
        let slope = |x: &Tensor| {
            let inside = t!("logical_and", t!("gt.Scalar", x, -3.0)?, t!("lt.Scalar", x, 3.0)?)?;
            t!("where.self", inside, t!("full_like", x, 1.0 / 3.0)?, zero_like(x)?)
        };
        pointwise(b, |g| t!("hardswish_backward", g, b.saved("self")?), slope, "self")
    });
    b.at("hardsigmoid_backward").grad("HardsigmoidBackwardBackward", SAVED, |b| {
        pointwise(b, |g| t!("hardsigmoid_backward", g, b.saved("self")?), |x| t!("zeros_like", x), "self")
    });
    b.at("softplus_backward").grad("SoftplusBackwardBackward", SAVED, |b| {
        let (beta, threshold) = (b.arg("beta"), b.arg("threshold"));
        let slope = |x: &Tensor| {
            let scaled = t!("mul.Scalar", x, beta)?;
            let s = t!("sigmoid", &scaled)?;
            let curved = t!("mul.Scalar", mul(&s, &complement(&s)?)?, beta)?;
            t!("where.self", t!("gt.Scalar", scaled, threshold)?, zero_like(x)?, curved)
        };
        pointwise(b, |g| t!("softplus_backward", g, b.saved("self")?, beta, threshold), slope, "self")
    });
    b.at("log_sigmoid_backward").grad("LogSigmoidBackwardBackward", &["grad_output", "self", "buffer"], |b| {
        let slope = |x: &Tensor| {
            let s = t!("sigmoid", x)?;
            mul(&t!("sub.Scalar", &s, 1)?, &s)
        };
        pointwise(b, |g| t!("log_sigmoid_backward", g, b.saved("self")?, b.saved("buffer")?), slope, "self")
    });
    b.at("logit_backward").grad("LogitBackwardBackward", SAVED, |b| {
        let eps = b.arg("eps");
        let slope = |x: &Tensor| {
            // (2 x - 1) / (x (1 - x))^2, and nothing where the input was clamped
            let spread = mul(x, &complement(x)?)?;
            let slope = t!("div.Tensor", t!("sub.Scalar", t!("mul.Scalar", x, 2)?, 1)?, mul(&spread, &spread)?)?;
            if eps.is_none() {
                return Ok(slope);
            }
            let eps = eps.float()?;
            let inside = t!("logical_and", t!("ge.Scalar", x, eps)?, t!("le.Scalar", x, 1.0 - eps)?)?;
            t!("where.self", inside, slope, zero_like(x)?)
        };
        pointwise(b, |g| t!("logit_backward", g, b.saved("self")?, eps), slope, "self")
    });
    b.at("_cdist_backward").grad("CdistBackwardBackward", &["grad_output", "x1", "x2", "cdist"], distances);
    b.at("glu_backward").grad("GluBackwardBackward", SAVED, glu);
    b.at("_prelu_kernel_backward").grad("PreluKernelBackwardBackward", &["grad_output", "self", "weight"], prelu);
}

fn gelu_slope(x: &Tensor, approximate: &Value) -> Result<Tensor> {
    let square = mul(x, x)?;
    if approximate.str()? != "tanh" {
        // The density times (2 - x^2).
        let density = t!("mul.Scalar", t!("exp", t!("mul.Scalar", &square, -0.5)?)?, 1.0 / (2.0 * std::f64::consts::PI).sqrt())?;
        return mul(&density, &t!("rsub.Scalar", square, 2)?);
    }
    let (k, cubic) = ((2.0 / std::f64::consts::PI).sqrt(), 0.044715);
    let inner = mul(&t!("mul.Scalar", x, k)?, &t!("add.Scalar", t!("mul.Scalar", &square, cubic)?, 1)?)?;
    let t = t!("tanh", inner)?;
    let slope = t!("mul.Scalar", t!("add.Scalar", t!("mul.Scalar", &square, 3.0 * cubic)?, 1)?, k)?;
    let sech = complement(&mul(&t, &t)?)?;
    let bend = t!("sub.Tensor", t!("mul.Scalar", x, 6.0 * cubic * k)?, t!("mul.Scalar", mul(&t, &mul(&slope, &slope)?)?, 2)?)?;
    let sum = t!("add.Tensor", slope, t!("mul.Scalar", mul(x, &bend)?, 0.5)?)?;
    mul(&sech, &sum)
}

/// `_cdist_backward` sums `g f'(d)` over pairs, where `d` is a difference of rows and `f` the norm of order `p`. Its derivative takes
/// the distances as what they are, functions of the rows.
fn distances(b: &Backward) -> Result<Grads> {
    let (g, v, p) = (b.saved("grad_output")?, b.grad()?, b.arg("p").float()?);
    let apart = t!("sub.Tensor", t!("unsqueeze", b.saved("x1")?, -2)?, t!("unsqueeze", b.saved("x2")?, -3)?)?;
    let norm = t!("unsqueeze", b.saved("cdist")?, -1)?;
    let apart_at_all = t!("ne.Scalar", &norm, 0)?;
    let safe = |x: Tensor| t!("where.self", &apart_at_all, x, zero_like(&norm)?);
    let size = t!("abs", &apart)?;
    // The norm's slope along each coordinate.
    let slope = match p {
        p if p == f64::INFINITY => mul(&t!("sgn", &apart)?, &t!("eq.Tensor", &size, &norm)?)?,
        0.0 => t!("zeros_like", &apart)?,
        p => {
            let ratio = t!("pow.Tensor_Scalar", t!("div.Tensor", &size, &norm)?, p - 1.0)?;
            safe(mul(&t!("sgn", &apart)?, &ratio)?)?
        }
    };
    let along = t!("unsqueeze", v, -2)?;
    let dot = t!("sum.dim_IntList", mul(&along, &slope)?, vec![-1i64], true)?;
    let mut grads = Grads::new(b);
    grads.set(b, "grad_output", || t!("squeeze.dim", &dot, -1))?;
    let curved = p != 1.0 && p != 0.0 && p.is_finite();
    let weighed = || -> Result<Tensor> {
        if !curved {
            return t!("zeros_like", &apart);
        }
        // (p - 1) / |d| ((|d_k| / |d|)^(p-2) v - (slope . v) slope)
        let own = mul(&t!("pow.Tensor_Scalar", t!("div.Tensor", &size, &norm)?, p - 2.0)?, &along)?;
        let bend = t!("div.Tensor", t!("sub.Tensor", own, mul(&slope, &dot)?)?, &norm)?;
        mul(&safe(t!("mul.Scalar", bend, p - 1.0)?)?, &t!("unsqueeze", g, -1)?)
    };
    grads.set(b, "x1", || t!("sum.dim_IntList", weighed()?, vec![-2i64]))?;
    grads.set(b, "x2", || t!("neg", t!("sum.dim_IntList", weighed()?, vec![-3i64])?))?;
    Ok(grads)
}

/// `glu_backward` gives `(g s, g a s (1 - s))` for the halves `a` and `b`, `s` the sigmoid of `b`.
fn glu(b: &Backward) -> Result<Grads> {
    let (grad, dim, mut grads) = (b.grad()?, b.arg("dim"), Grads::new(b));
    let halves = |x: &Tensor| -> Result<(Tensor, Tensor)> {
        let parts = aten!("chunk", x, 2, dim)?.tensors()?;
        Ok((parts[0].clone(), parts[1].clone()))
    };
    let ((first, second), (a, gate)) = (halves(grad)?, halves(b.saved("self")?)?);
    let s = t!("sigmoid", gate)?;
    let slope = mul(&s, &complement(&s)?)?;
    grads.set(b, "grad_output", || t!("add.Tensor", mul(&first, &s)?, mul(&mul(&second, &a)?, &slope)?))?;
    grads.set(b, "self", || {
        let g = b.saved("grad_output")?;
        let (of_first, of_second) = (mul(&mul(&first, g)?, &slope)?, mul(&mul(&second, g)?, &slope)?);
        let bend = mul(&mul(&of_second, &a)?, &complement(&t!("mul.Scalar", &s, 2)?)?)?;
        aten!("cat", Value::List(vec![of_second.into(), t!("add.Tensor", of_first, bend)?.into()]), dim)?.into_tensor()
    })?;
    Ok(grads)
}

fn prelu(b: &Backward) -> Result<Grads> {
    let (g, x, w) = (b.saved("grad_output")?, b.saved("self")?, b.saved("weight")?);
    let (of_self, of_weight) = (b.grads.first().and_then(Option::as_ref), b.grads.get(1).and_then(Option::as_ref));
    let right = t!("ge.Scalar", x, 0)?;
    let zero = zero_like(x)?;
    let left_of = |value: Tensor| t!("where.self", &right, &zero, value);
    let mut grads = Grads::new(b);
    grads.set(b, "grad_output", || {
        let from_self = of_self.map(|u| t!("where.self", &right, u, mul(u, w)?)).transpose()?;
        let from_weight = of_weight.map(|u| left_of(mul(u, x)?)).transpose()?;
        match (from_self, from_weight) {
            (Some(a), Some(b)) => t!("add.Tensor", a, b),
            (Some(one), None) | (None, Some(one)) => Ok(one),
            (None, None) => t!("zeros_like", g),
        }
    })?;
    grads.set(b, "self", || of_weight.map_or_else(|| t!("zeros_like", x), |u| left_of(mul(u, g)?)))?;
    grads.set(b, "weight", || of_self.map_or_else(|| t!("zeros_like", x), |u| left_of(mul(u, g)?)))?;
    Ok(grads)
}

/// A mean's share of each element.
fn shared(b: &Backward, slope: Tensor) -> Result<Tensor> {
    if b.arg("reduction").int()? == 1 { t!("div.Scalar", slope, b.spec("self")?.geometry.numel()) } else { Ok(slope) }
}

fn register_losses(b: &mut OpBuilder) {
    const SAVED: &[&str] = &["grad_output", "self", "target"];
    /// Losses of the difference, whose second derivative is constant near zero.
    fn near(b: &Backward, again: impl FnOnce(&Tensor) -> Result<Tensor>, within: f64, height: f64) -> Result<Grads> {
        let mut grads = Grads::new(b);
        grads.set(b, "grad_output", || again(b.grad()?))?;
        let slope = || -> Result<Tensor> {
            let apart = t!("abs", t!("sub.Tensor", b.saved("self")?, b.saved("target")?)?)?;
            let close = t!("where.ScalarOther", t!("lt.Scalar", &apart, within)?, t!("full_like", &apart, height)?, 0)?;
            shared(b, mul(&mul(b.grad()?, b.saved("grad_output")?)?, &close)?)
        };
        grads.set(b, "self", slope)?;
        grads.set(b, "target", || t!("neg", slope()?))?;
        Ok(grads)
    }
    b.at("smooth_l1_loss_backward").grad("SmoothL1LossBackwardBackward", SAVED, |b| {
        let (x, y, beta) = (b.saved("self")?, b.saved("target")?, b.arg("beta").float()?);
        near(b, |g| t!("smooth_l1_loss_backward", g, x, y, b.arg("reduction"), beta), beta, 1.0 / beta)
    });
    b.at("huber_loss_backward").grad("HuberLossBackwardBackward", SAVED, |b| {
        let (x, y, delta) = (b.saved("self")?, b.saved("target")?, b.arg("delta").float()?);
        near(b, |g| t!("huber_loss_backward", g, x, y, b.arg("reduction"), delta), delta, 1.0)
    });
    b.at("soft_margin_loss_backward").grad("SoftMarginLossBackwardBackward", SAVED, |b| {
        let (x, y, mut grads) = (b.saved("self")?, b.saved("target")?, Grads::new(b));
        grads.set(b, "grad_output", || t!("soft_margin_loss_backward", b.grad()?, x, y, b.arg("reduction")))?;
        grads.set(b, "self", || {
            let z = t!("sigmoid", t!("neg", mul(x, y)?)?)?;
            let slope = mul(&mul(&mul(y, y)?, &z)?, &complement(&z)?)?;
            shared(b, mul(&mul(b.grad()?, b.saved("grad_output")?)?, &slope)?)
        })?;
        Ok(grads)
    });
    b.at("binary_cross_entropy_backward").grad("BinaryCrossEntropyBackwardBackward", &["grad_output", "self", "target", "weight"], |b| {
        let (x, y, weight, mut grads) = (b.saved("self")?, b.saved("target")?, b.opt_saved("weight")?, Grads::new(b));
        let spread = mul(x, &complement(x)?)?;
        let spread = t!("clamp_min", spread, 1e-12)?;
        let both = || -> Result<Tensor> {
            let both = mul(b.grad()?, b.saved("grad_output")?)?;
            shared(b, weight.map_or(Ok(both.clone()), |w| mul(&both, w))?)
        };
        grads.set(b, "grad_output", || {
            let slope = t!("div.Tensor", mul(b.grad()?, &t!("sub.Tensor", x, y)?)?, &spread)?;
            shared(b, weight.map_or(Ok(slope.clone()), |w| mul(&slope, w))?)
        })?;
        grads.set(b, "self", || {
            let bent = t!("add.Tensor", t!("sub.Tensor", mul(x, x)?, t!("mul.Scalar", mul(x, y)?, 2)?)?, y)?;
            t!("div.Tensor", t!("div.Tensor", mul(&both()?, &bent)?, &spread)?, &spread)
        })?;
        grads.set(b, "target", || t!("neg", t!("div.Tensor", both()?, &spread)?))?;
        Ok(grads)
    });
}

/// Zero for the argument whose values only say where.
fn linear(b: &Backward, grad: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "grad_output", || grad(b.grad()?))?;
    if b.call().entry.schema.position("self").is_some() && b.needs("self") {
        let spec = b.spec("self")?.clone();
        grads.set(b, "self", || t!("zeros", &spec.geometry.sizes; dtype = spec.dtype, device = spec.device))?;
    }
    Ok(grads)
}

/// What lies at the indices of a pooling's maxima.
fn at_maxima(b: &Backward, dims: usize) -> Result<Grads> {
    let indices = b.saved("indices")?;
    linear(b, |g| {
        let flat = |x: &Tensor| t!("flatten.using_ints", x, -(dims as i64), -1);
        t!("view_as", t!("gather", flat(&t!("contiguous", g)?)?, -1, flat(indices)?)?, indices)
    })
}

fn register_linear(b: &mut OpBuilder) {
    macro_rules! pools {
        ($($name:literal $node:literal $of:literal;)*) => { $(
            b.at($name).grad($node, &[], |b| {
                let arg = |name: &str| b.arg(name);
                linear(b, |g| t!(
                    $of, g, arg("kernel_size"), arg("stride"), arg("padding"), arg("ceil_mode"), arg("count_include_pad"), arg("divisor_override")
                ))
            });
        )* };
    }
    pools! {
        "avg_pool2d_backward" "AvgPool2DBackwardBackward" "avg_pool2d";
        "avg_pool3d_backward" "AvgPool3DBackwardBackward" "avg_pool3d";
    }
    fn last(b: &Backward, dims: usize) -> Result<Vec<shape::SymInt>> {
        let sizes = b.sizes("grad_output")?;
        Ok(sizes[sizes.len() - dims..].to_vec())
    }
    b.at("_adaptive_avg_pool2d_backward")
        .grad("AdaptiveAvgPool2DBackwardBackward", &[], |b| linear(b, |g| t!("_adaptive_avg_pool2d", g, last(b, 2)?)));
    b.at("_adaptive_avg_pool3d_backward")
        .grad("AdaptiveAvgPool3DBackwardBackward", &[], |b| linear(b, |g| t!("_adaptive_avg_pool3d", g, last(b, 3)?)));
    b.at("max_pool2d_with_indices_backward").grad("MaxPool2DWithIndicesBackwardBackward", &["indices"], |b| at_maxima(b, 2));
    b.at("max_pool3d_with_indices_backward").grad("MaxPool3DWithIndicesBackwardBackward", &["indices"], |b| at_maxima(b, 3));
    b.at("adaptive_max_pool2d_backward").grad("AdaptiveMaxPool2DBackwardBackward", &["indices"], |b| at_maxima(b, 2));
    b.at("adaptive_max_pool3d_backward").grad("AdaptiveMaxPool3DBackwardBackward", &["indices"], |b| at_maxima(b, 3));
    macro_rules! pads {
        ($($name:literal $node:literal $of:literal;)*) => { $(
            b.at($name).grad($node, &[], |b| linear(b, |g| t!($of, g, b.arg("padding"))));
        )* };
    }
    pads! {
        "reflection_pad1d_backward" "ReflectionPad1DBackwardBackward" "reflection_pad1d";
        "reflection_pad2d_backward" "ReflectionPad2DBackwardBackward" "reflection_pad2d";
        "reflection_pad3d_backward" "ReflectionPad3DBackwardBackward" "reflection_pad3d";
        "replication_pad1d_backward" "ReplicationPad1DBackwardBackward" "replication_pad1d";
        "replication_pad2d_backward" "ReplicationPad2DBackwardBackward" "replication_pad2d";
        "replication_pad3d_backward" "ReplicationPad3DBackwardBackward" "replication_pad3d";
    }
    b.at("native_dropout_backward")
        .grad("NativeDropoutBackwardBackward", &["mask"], |b| linear(b, |g| t!("mul.Scalar", mul(g, b.saved("mask")?)?, b.arg("scale"))));
    b.at("embedding_dense_backward").grad("EmbeddingDenseBackwardBackward", &["indices"], |b| {
        let indices = b.saved("indices")?;
        linear(b, |g| {
            let mut sizes = indices.sizes();
            sizes.push(g.size(1));
            let picked = t!("view", t!("index_select", g, 0, t!("reshape", indices, vec![-1i64])?)?, sizes)?;
            let padding = b.arg("padding_idx").int()?;
            if padding < 0 {
                return Ok(picked);
            }
            t!("masked_fill.Scalar", picked, t!("unsqueeze", t!("eq.Scalar", indices, padding)?, -1)?, 0)
        })
    });
    b.at("nll_loss2d_backward").grad("NllLoss2DBackwardBackward", &["target", "weight"], |b| {
        let (target, weight) = (b.saved("target")?, Value::from(b.opt_saved("weight")?.cloned()));
        linear(b, |g| t!("nll_loss2d", g, target, weight, b.arg("reduction"), b.arg("ignore_index")))
    });
    // Samples do not depend on the values they are drawn in place of.
    for (name, node) in [("bernoulli.p", "BernoulliBackward"), ("bernoulli.Tensor", "BernoulliBackward1")] {
        b.at(name).grad(node, &[], zero_grad);
    }
}
