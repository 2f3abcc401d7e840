//! Forward derivatives: how operators carry tangents on, in PyTorch's order of calls.
//!
//! Most are said in a word: linear operators, and those whose results depend on one element each. The others have formulas here and in
//! `forward_reductions`; a name ending in `_t` is an argument's tangent, one ending in `_p` its primal.

use super::common::*;
use super::complex::conj;
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Dual, OpBuilder, Value};
use tensor::{Layout, Tensor};

/// Gives entries that are registered already their formulas.
pub fn register(b: &mut OpBuilder) {
    register_arithmetic(b);
    register_products(b);
    register_choices(b);
    register_moving(b);
    register_gradients(b);
    super::forward_reductions::register(b);
}

pub(super) fn mul(a: &Tensor, b: impl Into<Value>) -> Result<Tensor> {
    t!("mul.Tensor", a, b.into())
}

/// A sum whose second operand is computed first.
pub(super) fn sum(first: impl FnOnce() -> Result<Tensor>, second: impl FnOnce() -> Result<Tensor>) -> Result<Tensor> {
    let second = second()?;
    t!("add.Tensor", first()?, second)
}

fn register_arithmetic(b: &mut OpBuilder) {
    b.at("mul.Tensor").forward(&["self_t", "self_p", "other_t", "other_p"], |d| {
        sum(|| mul(d.t("other_t")?, d.value("self_p")?), || mul(d.t("self_t")?, d.value("other_p")?))
    });
    b.at("add.Tensor")
        .forward(&["self_t", "other_t"], |d| t!("add.Tensor", d.t("self_t")?, maybe_multiply(d.t("other_t")?.clone(), d.arg("alpha"))?));
    b.at("sub.Tensor")
        .forward(&["self_t", "other_t"], |d| t!("sub.Tensor", d.t("self_t")?, maybe_multiply(d.t("other_t")?.clone(), d.arg("alpha"))?));
    b.at("rsub.Tensor").forward(&["self_t", "other_t"], |d| {
        let negated = t!("neg", maybe_multiply(d.t("self_t")?.clone(), d.arg("alpha"))?)?;
        t!("add.Tensor", negated, d.t("other_t")?)
    });
    // These read the argument's dtype, and so its primal.
    b.at("add.Scalar").forward(&["self_t"], |d| Ok(d.t("self_t")?.clone()));
    b.at("frac").forward(&["self_t"], |d| Ok(d.t("self_t")?.clone()));
    b.at("sub.Scalar").forward(&["self_t", "self_p"], |d| Ok(d.t("self_t")?.clone()));
    b.at("rsub.Scalar").forward(&["self_t", "self_p"], |d| maybe_multiply(t!("neg", d.t("self_t")?)?, d.arg("alpha")));
    b.at("div.Tensor").forward(&["self_t", "other_t", "other_p"], |d| {
        let less = t!("sub.Tensor", d.t("self_t")?, mul(d.t("other_t")?, d.result(0)?)?)?;
        t!("div.Tensor", less, d.value("other_p")?)
    });
    b.at("pow.Tensor_Tensor")
        .forward(&["self_t", "self_p", "exponent_t", "exponent_p"], |d| sum(|| power_of_base(d), || power_of_exponent(d)));
    b.at("atan2").forward(&["self_t", "self_p", "other_t", "other_p"], |d| {
        let (x, y) = (d.t("self_p")?, d.t("other_p")?);
        let squares = sum(|| t!("pow.Tensor_Scalar", x, 2), || t!("pow.Tensor_Scalar", y, 2))?;
        let turned = sum(|| mul(&t!("neg", x)?, d.t("other_t")?), || mul(y, d.t("self_t")?))?;
        t!("div.Tensor", turned, squares)
    });
    b.at("hypot").forward(&["self_t", "self_p", "other_t", "other_p"], |d| {
        let part = |t, p| t!("div.Tensor", mul(d.t(t)?, d.t(p)?)?, d.result(0)?);
        sum(|| part("self_t", "self_p"), || part("other_t", "other_p"))
    });
    b.at("addcmul").forward(&["self_t", "tensor1_t", "tensor1_p", "tensor2_t", "tensor2_p"], |d| {
        let value = d.arg("value");
        sum(
            || {
                let first = maybe_multiply(mul(d.t("tensor1_t")?, d.t("tensor2_p")?)?, value)?;
                t!("add.Tensor", d.t("self_t")?, first)
            },
            || maybe_multiply(mul(d.t("tensor2_t")?, d.t("tensor1_p")?)?, value),
        )
    });
    b.at("addcdiv").forward(&["self_t", "tensor1_t", "tensor1_p", "tensor2_t", "tensor2_p"], |d| {
        let (value, under) = (d.arg("value"), d.t("tensor2_p")?);
        let by_divisor = mul(d.t("tensor2_t")?, t!("div.Tensor", d.t("tensor1_p")?, under)?)?;
        let by_divisor = maybe_multiply(t!("div.Tensor", by_divisor, under)?, value)?;
        let first = maybe_multiply(t!("div.Tensor", d.t("tensor1_t")?, under)?, value)?;
        t!("sub.Tensor", t!("add.Tensor", d.t("self_t")?, first)?, by_divisor)
    });
    b.at("lerp.Scalar").forward(&["self_t", "end_t"], |d| t!("lerp.Scalar", d.t("self_t")?, d.t("end_t")?, d.arg("weight")));
    b.at("lerp.Tensor").forward(&["self_t", "self_p", "end_t", "end_p", "weight_t", "weight_p"], |d| {
        sum(
            || t!("lerp.Tensor", d.t("self_t")?, d.t("end_t")?, d.t("weight_p")?),
            || mul(d.t("weight_t")?, t!("sub.Tensor", d.t("end_p")?, d.t("self_p")?)?),
        )
    });
    b.at("fmod.Tensor").forward(&["self_t", "self_p", "other_t", "other_p"], |d| rest(d, "trunc"));
    b.at("remainder.Tensor").forward(&["self_t", "self_p", "other_t", "other_p"], |d| rest(d, "floor"));
    b.at("abs").forward(&["self_t", "self_p"], |d| {
        let sign = t!("sgn", d.t("self_p")?)?;
        let slope = mul(&t!("conj", d.t("self_t")?)?, sign)?;
        if d.result(0)?.dtype().is_complex() || !slope.dtype().is_complex() { Ok(slope) } else { t!("real", slope) }
    });
    b.at("complex").forward(&["real_t", "imag_t"], |d| t!("complex", d.t("real_t")?, d.t("imag_t")?));
}

fn rest(d: &Dual, rounding: &str) -> Result<Tensor> {
    let whole = t!("div.Tensor_mode", d.t("self_p")?, d.value("other_p")?; rounding_mode = rounding)?;
    t!("sub.Tensor", d.t("self_t")?, mul(d.t("other_t")?, whole)?)
}

fn power_of_base(d: &Dual) -> Result<Tensor> {
    let (x, e) = (d.t("self_p")?, d.t("exponent_p")?);
    let power = t!("pow.Tensor_Tensor", x, t!("sub.Scalar", e, 1)?)?;
    let slope = mul(d.t("self_t")?, mul(e, power)?)?;
    let flat = scalar_like(0.0, &slope)?;
    t!("where.self", t!("eq.Scalar", e, 0.0)?, flat, slope)
}

fn power_of_exponent(d: &Dual) -> Result<Tensor> {
    let (x, e, result) = (d.t("self_p")?, d.t("exponent_p")?, d.result(0)?);
    let flat = {
        let grows = t!("ge.Scalar", e, 0)?;
        t!("logical_and", t!("eq.Scalar", x, 0)?, grows)?
    };
    let slope = mul(result, t!("log", x)?)?;
    let zero = scalar_like(0.0, &slope)?;
    mul(d.t("exponent_t")?, t!("where.self", flat, zero, slope)?)
}

/// `f(a_t, b_p) + f(a_p, b_t)`
fn bilinear(d: &Dual, [a_t, a_p, b_t, b_p]: [&'static str; 4], f: impl Fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    sum(|| f(d.t(a_t)?, d.t(b_p)?), || f(d.t(a_p)?, d.t(b_t)?))
}

/// `beta * self_t + alpha * f(a_t, b_p) + alpha * f(a_p, b_t)`
fn added(d: &Dual, [a_t, a_p, b_t, b_p]: [&'static str; 4], f: impl Fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let (alpha, beta) = (d.arg("alpha"), d.arg("beta"));
    sum(
        || sum(|| maybe_multiply(d.t("self_t")?.clone(), beta), || maybe_multiply(f(d.t(a_t)?, d.t(b_p)?)?, alpha)),
        || maybe_multiply(f(d.t(a_p)?, d.t(b_t)?)?, alpha),
    )
}

fn register_products(b: &mut OpBuilder) {
    const PAIR: [&str; 4] = ["self_t", "self_p", "mat2_t", "mat2_p"];
    b.at("mm").forward(&PAIR, |d| bilinear(d, PAIR, |a, b| t!("mm", a, b)));
    b.at("bmm").forward(&PAIR, |d| bilinear(d, PAIR, |a, b| t!("bmm", a, b)));
    const VECTOR: [&str; 4] = ["self_t", "self_p", "vec_t", "vec_p"];
    b.at("mv").forward(&VECTOR, |d| bilinear(d, VECTOR, |a, b| t!("mv", a, b)));
    const VECTORS: [&str; 4] = ["self_t", "self_p", "tensor_t", "tensor_p"];
    b.at("dot").forward(&VECTORS, |d| bilinear(d, VECTORS, |a, b| t!("dot", a, b)));
    const OTHER: [&str; 4] = ["self_t", "self_p", "other_t", "other_p"];
    b.at("vdot").forward(&OTHER, |d| bilinear(d, OTHER, |a, b| t!("vdot", a, b)));
    b.at("linalg_cross").forward(&OTHER, |d| bilinear(d, OTHER, |a, b| t!("linalg_cross", a, b; dim = d.arg("dim").clone())));
    b.at("addmm").forward(&["self_t", "mat1_t", "mat1_p", "mat2_t", "mat2_p"], |d| {
        added(d, ["mat1_t", "mat1_p", "mat2_t", "mat2_p"], |a, b| t!("mm", a, b))
    });
    b.at("addmv").forward(&["self_t", "mat_t", "mat_p", "vec_t", "vec_p"], |d| {
        added(d, ["mat_t", "mat_p", "vec_t", "vec_p"], |a, b| t!("mv", a, b))
    });
    b.at("baddbmm").forward(&["self_t", "batch1_t", "batch1_p", "batch2_t", "batch2_p"], |d| {
        added(d, ["batch1_t", "batch1_p", "batch2_t", "batch2_p"], |a, b| t!("bmm", a, b))
    });
    b.at("convolution").forward(&["input_t", "input_p", "weight_t", "weight_p", "bias_t", "bias_p"], |d| {
        let rest = ["stride", "padding", "dilation", "transposed", "output_padding", "groups"].map(|name| d.arg(name));
        let [stride, padding, dilation, transposed, output_padding, groups] = rest;
        let run = |x: &Tensor, w: &Tensor, bias: Value| {
            t!("convolution", x, w, bias, stride, padding, dilation, transposed, output_padding, groups)
        };
        let bias = d.opt("bias_t")?.map_or(Value::None, Value::from);
        sum(|| run(d.t("input_t")?, d.t("weight_p")?, Value::None), || run(d.t("input_p")?, d.t("weight_t")?, bias))
    });
    b.at("_linalg_solve_ex").forward(&["A_t", "A_p", "B_t"], |d| {
        let (x, left) = (d.result(0)?, d.arg("left"));
        let vector = d.arg("B").as_tensor().is_some_and(|b| b.dim() + 1 == x.dim().max(d.t("A_p").map_or(0, Tensor::dim)) && b.dim() == 1);
        let product = match (left.bool()?, vector) {
            (true, true) => t!("matmul", d.t("A_t")?, x)?,
            (true, false) => t!("matmul", d.t("A_t")?, x)?,
            (false, _) => t!("matmul", x, d.t("A_t")?)?,
        };
        let side = t!("sub.Tensor", d.t("B_t")?, product)?;
        t!("linalg_solve", d.t("A_p")?, side; left = left.clone())
    });
    b.at("linalg_inv_ex").forward(&["A_t"], |d| {
        let inverse = d.result(0)?;
        t!("neg", t!("matmul", t!("matmul", inverse, d.t("A_t")?)?, inverse)?)
    });
}

fn register_choices(b: &mut OpBuilder) {
    b.at("where.self").forward(&["self_t", "other_t"], |d| t!("where.self", d.arg("condition"), d.t("self_t")?, d.t("other_t")?));
    for name in ["maximum", "fmax"] {
        b.at(name).forward(&["self_t", "self_p", "other_t", "other_p"], |d| extreme(d, |x, y| t!("gt.Tensor", x, y)));
    }
    for name in ["minimum", "fmin"] {
        b.at(name).forward(&["self_t", "self_p", "other_t", "other_p"], |d| extreme(d, |x, y| t!("lt.Tensor", x, y)));
    }
    b.at("masked_fill.Scalar").forward(&["self_t"], |d| t!("masked_fill.Scalar", d.t("self_t")?, d.arg("mask"), 0));
    b.at("masked_fill.Tensor")
        .forward(&["self_t", "value_t"], |d| t!("masked_fill.Tensor", d.t("self_t")?, d.arg("mask"), d.t("value_t")?));
    b.at("masked_scatter").forward(&["self_t", "source_t"], |d| t!("masked_scatter", d.t("self_t")?, d.arg("mask"), d.t("source_t")?));
    b.at("_prelu_kernel").forward(&["self_t", "self_p", "weight_t", "weight_p"], |d| {
        let (x, w) = (d.t("self_p")?, d.t("weight_p")?);
        let slope = sum(|| mul(w, d.t("self_t")?), || mul(d.t("weight_t")?, x))?;
        t!("where.self", t!("ge.Scalar", x, 0)?, d.t("self_t")?, slope)
    });
    b.at("fill.Scalar").forward(&["self_t"], |d| t!("fill.Scalar", d.t("self_t")?, 0));
    b.at("fill.Tensor").forward(&["self_t", "value_t"], |d| t!("fill.Tensor", d.t("self_t")?, d.t("value_t")?));
}

fn extreme(d: &Dual, wins: impl Fn(&Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let (x, y) = (d.t("self_p")?, d.t("other_p")?);
    if d.entry.base_name().starts_with('f') {
        // What is no number never wins.
        let either = t!("logical_or", wins(x, y)?, t!("isnan", y)?)?;
        let one = t!("where.self", either, d.t("self_t")?, d.t("other_t")?)?;
        let half = t!("div.Scalar", t!("add.Tensor", d.t("self_t")?, d.t("other_t")?)?, 2)?;
        return t!("where.self", t!("eq.Tensor", x, y)?, half, one);
    }
    let one = t!("where.self", wins(x, y)?, d.t("self_t")?, d.t("other_t")?)?;
    let half = t!("div.Scalar", t!("add.Tensor", d.t("self_t")?, d.t("other_t")?)?, 2)?;
    t!("where.self", t!("eq.Tensor", x, y)?, half, one)
}

fn register_moving(b: &mut OpBuilder) {
    b.at("cat").forward(&["tensors_t"], |d| t!("cat", d.value("tensors_t")?, d.arg("dim")));
    b.at("stack").forward(&["tensors_t"], |d| t!("stack", d.value("tensors_t")?, d.arg("dim")));
    b.at("constant_pad_nd").forward(&["self_t"], |d| t!("constant_pad_nd", d.t("self_t")?, d.arg("pad"), 0));
    b.at("scatter.src").forward(&["self_t", "src_t"], |d| t!("scatter.src", d.t("self_t")?, d.arg("dim"), d.arg("index"), d.t("src_t")?));
    b.at("scatter.value").forward(&["self_t"], |d| t!("scatter.value", d.t("self_t")?, d.arg("dim"), d.arg("index"), 0));
    b.at("scatter_add").forward(&["self_t", "src_t"], |d| t!("scatter_add", d.t("self_t")?, d.arg("dim"), d.arg("index"), d.t("src_t")?));
    b.at("index_add").forward(&["self_t", "source_t"], |d| {
        let source = maybe_multiply(d.t("source_t")?.clone(), d.arg("alpha"))?;
        t!("index_add", d.t("self_t")?, d.arg("dim"), d.arg("index"), source)
    });
    b.at("index_copy")
        .forward(&["self_t", "source_t"], |d| t!("index_copy", d.t("self_t")?, d.arg("dim"), d.arg("index"), d.t("source_t")?));
    b.at("index_put")
        .forward(&["self_t", "values_t"], |d| t!("index_put", d.t("self_t")?, d.arg("indices"), d.t("values_t")?, d.arg("accumulate")));
    b.at("_unsafe_index_put").forward(&["self_t", "values_t"], |d| {
        t!("_unsafe_index_put", d.t("self_t")?, d.arg("indices"), d.t("values_t")?, d.arg("accumulate"))
    });
    b.at("index_fill.int_Scalar").forward(&["self_t"], |d| t!("index_fill.int_Scalar", d.t("self_t")?, d.arg("dim"), d.arg("index"), 0));
    b.at("native_dropout").forward(&["input_t"], |d| {
        let (p, train) = (d.arg("p").float()?, d.arg("train"));
        if !train.is_none() && !train.bool()? {
            return Ok(d.t("input_t")?.clone());
        }
        let scale = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
        mul(&t!("mul.Scalar", d.t("input_t")?, scale)?, d.result(1)?)
    });
    for name in ["sort", "sort.stable", "topk", "kthvalue", "mode", "max.dim", "min.dim", "median.dim", "nanmedian.dim"] {
        b.at(name).forward(&["self_t"], selected);
    }
    for name in ["cummax", "cummin"] {
        b.at(name).forward(&["self_t"], |d| t!("gather", d.t("self_t")?, d.arg("dim"), d.result(1)?));
    }
    for name in ["max_pool2d_with_indices", "adaptive_max_pool2d"] {
        b.at(name).forward(&["self_t"], |d| at_maxima(d, 2));
    }
    for name in ["max_pool3d_with_indices", "adaptive_max_pool3d"] {
        b.at(name).forward(&["self_t"], |d| at_maxima(d, 3));
    }
    b.at("_new_zeros_with_same_feature_meta").forward(&[], |d| t!("zeros_like", d.result(0)?));
}

/// The tangents of the elements that were selected.
fn selected(d: &Dual) -> Result<Tensor> {
    let (x, dim, indices) = (d.t("self_t")?, d.arg("dim"), d.result(1)?);
    let keeps = match d.call().get("keepdim") {
        Value::Bool(keeps) => *keeps || x.dim() == 0,
        _ => true,
    };
    if keeps {
        return t!("gather", x, dim, indices);
    }
    t!("squeeze.dim", t!("gather", x, dim, t!("unsqueeze", indices, dim)?)?, dim)
}

fn at_maxima(d: &Dual, dims: i64) -> Result<Tensor> {
    let indices = d.result(1)?;
    let flat = t!("flatten.using_ints", indices, -dims)?;
    let found = t!("gather", t!("flatten.using_ints", d.t("self_t")?, -dims)?, -1, flat)?;
    t!("view", found, indices.sizes())
}

/// Of gradient formulas, differentiated forward.
fn register_gradients(b: &mut OpBuilder) {
    b.at("sigmoid_backward").forward(&["grad_output_t", "grad_output_p", "output_t", "output_p"], |d| {
        sum(
            || t!("sigmoid_backward", d.t("grad_output_t")?, d.t("output_p")?),
            || {
                let slope = t!("add.Scalar", t!("mul.Scalar", conj(d.t("output_p")?)?, -2)?, 1)?;
                mul(&mul(&conj(d.t("output_t")?)?, d.t("grad_output_p")?)?, slope)
            },
        )
    });
    b.at("tanh_backward").forward(&["grad_output_t", "grad_output_p", "output_t", "output_p"], |d| {
        sum(
            || t!("tanh_backward", d.t("grad_output_t")?, d.t("output_p")?),
            || {
                let slope = mul(&t!("mul.Scalar", conj(d.t("output_p")?)?, -2)?, d.t("grad_output_p")?)?;
                mul(&conj(d.t("output_t")?)?, slope)
            },
        )
    });
    b.at("threshold_backward").forward(&["grad_output_t", "self_t", "self_p"], |d| {
        sum(|| t!("zeros_like", d.t("self_t")?), || t!("threshold_backward", d.t("grad_output_t")?, d.t("self_p")?, d.arg("threshold")))
    });
    b.at("log_sigmoid_forward")
        .forward(&["self_t", "self_p"], |d| t!("log_sigmoid_backward", d.t("self_t")?, d.t("self_p")?, d.result(1)?));
    b.at("leaky_relu_backward").forward(&["grad_output_t", "self_p"], |d| {
        t!("leaky_relu_backward", d.t("grad_output_t")?, d.t("self_p")?, d.arg("negative_slope"), d.arg("self_is_result"))
    });
    b.at("hardtanh_backward").forward(&["grad_output_t", "self_p"], |d| {
        let x = d.t("self_p")?;
        let inside = {
            let below = t!("lt.Scalar", x, d.arg("max_val"))?;
            t!("logical_and", t!("gt.Scalar", x, d.arg("min_val"))?, below)?
        };
        let result = d.result(0)?;
        let zero =
            t!("zeros", Vec::<i64>::new(); dtype = result.dtype(), layout = Value::Layout(Layout::Strided), device = result.device())?;
        t!("where.self", inside, d.t("grad_output_t")?, t!("expand", zero, result.sizes())?)
    });
    b.at("mse_loss_backward").forward(&["grad_output_t", "grad_output_p", "self_t", "self_p", "target_t", "target_p"], |d| {
        let reduction = d.arg("reduction").int()?;
        let double = |t: &str, p: &str| -> Result<Tensor> {
            let product = mul(d.t(t)?, d.t("grad_output_p")?)?;
            let twice = t!("mul.Scalar", product, 2)?;
            if reduction == 1 { t!("div.Scalar", twice, d.t(p)?.numel()) } else { Ok(twice) }
        };
        sum(
            || {
                let second = double("target_t", "target_p")?;
                t!("sub.Tensor", double("self_t", "self_p")?, second)
            },
            || t!("mse_loss_backward", d.t("grad_output_t")?, d.t("self_p")?, d.t("target_p")?, reduction),
        )
    });
    for name in ["_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward"] {
        b.at(name).forward(&["grad_output_t", "self_p"], |d| {
            let args = vec![d.t("grad_output_t")?.into(), d.t("self_p")?.into()];
            dispatch::call(d.entry, args)?.into_tensor()
        });
    }
}
