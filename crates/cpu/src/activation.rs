//! Activation kernels and their backward kernels, clamps and thresholds.

use super::arranging::{check_fits, computed_in};
use super::elementwise::{float1, float2, map1, map2, map3, not_for, number};
use super::grouped::{grouped, map1_grouped, map1_steps, map2_grouped, map2_steps};
use super::vectorized::Vectorized;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value};
use tensor::{Dtype, Tensor};

/// Forward kernels with numbers among the arguments: `|x, a, b| ...` with `a`, `b` the named arguments.
macro_rules! forward {
    ($t:ident: $($name:literal, $stub:literal, ($($arg:ident),*) => |$x:ident| $body:expr;)*) => { $(
        $t.fill($name, |c, o| {
            $(check_fits(c.get(stringify!($arg)), computed_in(o[0].dtype()))?;)*
            $(let $arg: f64 = number(c.get(stringify!($arg)))?;)*
            match o[0].dtype() {
                Dtype::Float64 => map1(c.get("self"), &o[0], |$x: f64| $body),
                d if d.is_floating() => {
                    $(let $arg = $arg as f32;)*
                    map1(c.get("self"), &o[0], |$x: f32| $body)
                }
                d => Err(not_for($stub, d)),
            }
        });
    )* };
}

/// Backward kernels: `g` is the gradient, `x` the saved input or result.
macro_rules! backward {
    ($t:ident: $($name:literal, $stub:literal, $grad:literal, $saved:literal, ($($arg:ident),*) => |$g:ident, $x:ident| $body:expr;)*) => { $(
        $t.fill($name, |c, o| {
            $(let $arg: f64 = number(c.get(stringify!($arg)))?;)*
            match o[0].dtype() {
                Dtype::Float64 => map2(c.get($grad), c.get($saved), &o[0], |$g: f64, $x: f64| $body),
                d if d.is_floating() => {
                    $(let $arg = $arg as f32;)*
                    map2(c.get($grad), c.get($saved), &o[0], |$g: f32, $x: f32| $body)
                }
                d => Err(not_for($stub, d)),
            }
        });
    )* };
}

/// Kernels of exponentials and their like, which vectorized code computes otherwise than what it leaves over, `v` says which: of one
/// operand, or with the gradient `g` before it.
macro_rules! exponentials {
    ($t:ident: $($name:literal, $stub:literal, [$($of:literal),*], ($($arg:ident),*) => |$($x:ident),*| $body:expr;)*) => { $(
        $t.fill($name, |c, o| {
            $(check_fits(c.get(stringify!($arg)), computed_in(o[0].dtype()))?;)*
            $(let $arg: f64 = number(c.get(stringify!($arg)))?;)*
            match o[0].dtype() {
                Dtype::Float64 => exponentials!(@run f64, c, o, [$($of),*], [$($arg),*] |$($x),*| $body),
                d if d.is_floating() => {
                    $(let $arg = $arg as f32;)*
                    exponentials!(@run f32, c, o, [$($of),*], [$($arg),*] |$($x),*| $body)
                }
                d => Err(not_for($stub, d)),
            }
        });
    )* };
    (@run $t:ty, $c:ident, $o:ident, [$of:literal], [$($arg:ident),*] |$v:ident, $x:ident| $body:expr) => {
        map1_steps($c.get($of), &$o[0], grouped!([$($arg),*] |$x: $t, $v| $body))
    };
    (@run $t:ty, $c:ident, $o:ident, [$grad:literal, $of:literal], [$($arg:ident),*] |$v:ident, $g:ident, $x:ident| $body:expr) => {
        map2_steps($c.get($grad), $c.get($of), &$o[0], grouped!([$($arg),*] |$g: $t, $x, $v| $body))
    };
}

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    exponentials! { t:
        "aten.sigmoid.default", "sigmoid_cpu", ["self"], () => |v, x| 1.0 / (1.0 + (-x).exponential_in(v));
        "aten.silu.default", "silu_cpu", ["self"], () => |v, x| x / (1.0 + (-x).exponential_in(v));
        "aten.mish.default", "mish_cpu", ["self"], () => |v, x| x * x.exponential_in(v).log1p_in(v).tanh_in(v);
        "aten.softplus.default", "softplus_cpu", ["self"], (beta, threshold) =>
            |v, x| if x * beta > threshold { x } else { (x * beta).exponential_in(v).log1p_in(v) / beta };
        "aten.silu_backward.default", "silu_backward_cpu", ["grad_output", "self"], () => |v, g, x| {
            let s = 1.0 / (1.0 + (-x).exponential_in(v));
            g * s * x.fused(1.0 - s, 1.0)
        };
        "aten.mish_backward.default", "mish_backward_cpu", ["grad_output", "self"], () => |v, g, x| {
            let s = 1.0 / (1.0 + (-x).exponential_in(v));
            let t = x.exponential_in(v).log1p_in(v).tanh_in(v);
            g * (x * s).fused((-t).fused(t, 1.0), t)
        };
        "aten.softplus_backward.default", "softplus_backward_cpu", ["grad_output", "self"], (beta, threshold) => |v, g, x| {
            let z = (x * beta).exponential_in(v);
            if x * beta > threshold { g } else { g * z / (z + 1.0) }
        };
        "aten.elu.default", "elu_cpu", ["self"], (alpha, scale, input_scale) =>
            |v, x| if x < 0.0 { (x * input_scale).expm1_in(v) * (alpha * scale) } else { x * scale };
    }
    forward! { t:
        "aten.leaky_relu.default", "leaky_relu_cpu", (negative_slope) => |x| if x > 0.0 { x } else { x * negative_slope };
        "aten.hardswish.default", "hardswish_cpu", () => |x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0;
        "aten.hardsigmoid.default", "hardsigmoid_cpu", () => |x| (x + 3.0).clamp(0.0, 6.0) / 6.0;
    }
    backward! { t:
        "aten.tanh_backward.default", "tanh_backward_cpu", "grad_output", "output", () => |g, y| g * (-y).fused(y, 1.0);
        "aten.sigmoid_backward.default", "sigmoid_backward_cpu", "grad_output", "output", () => |g, y| g * (1.0 - y) * y;
        "aten.leaky_relu_backward.default", "leaky_relu_backward_cpu", "grad_output", "self", (negative_slope) =>
            |g, x| if x > 0.0 { g } else { g * negative_slope };
        "aten.hardshrink_backward.default", "shrink_backward_cpu", "grad_out", "self", (lambd) =>
            |g, x| if x >= -lambd && x <= lambd { 0.0 } else { g };
        "aten.softshrink_backward.default", "shrink_backward_cpu", "grad_output", "self", (lambd) =>
            |g, x| if x >= -lambd && x <= lambd { 0.0 } else { g };
        "aten.hardtanh_backward.default", "hardtanh_backward_cpu", "grad_output", "self", (min_val, max_val) =>
            |g, x| if x <= min_val || x >= max_val { 0.0 } else { g };
        "aten.hardswish_backward.default", "hardswish_backward_cpu", "grad_output", "self", () =>
            |g, x| if x <= -3.0 { 0.0 } else if x < 3.0 { g * (x / 3.0 + 0.5) } else { g };
    }
    t.fill("aten.hardsigmoid_backward.default", |c, o| {
        // PyTorch rounds a sixth to single precision for every dtype.
        const SIXTH: f32 = 1.0 / 6.0;
        let (g, x) = (c.get("grad_output"), c.get("self"));
        float2(
            "hardsigmoid_backward",
            g,
            x,
            &o[0],
            |g, x| if x > -3.0 && x < 3.0 { g * SIXTH } else { 0.0 },
            |g, x| if x > -3.0 && x < 3.0 { g * SIXTH as f64 } else { 0.0 },
        )
    });
    t.fill("aten.logit_backward.default", |c, o| {
        let eps = if c.get("eps").is_none() { -1.0 } else { c.float("eps")? };
        let (g, x) = (c.get("grad_output"), c.get("self"));
        let (low, high) = if eps < 0.0 { (0.0, 1.0) } else { (eps, 1.0 - eps) };
        let outside = if eps < 0.0 { f64::NAN } else { 0.0 };
        // Of whole groups of lanes, what is known to be inside has a slope. Of the others, what is known to be outside has none, and
        // at the ends of the interval it is infinite, whatever the sign of zero.
        macro_rules! slope {
            ($t:ty) => {
                |g: $t, x: $t, grouped| {
                    let (low, high) = (low as $t, high as $t);
                    match grouped {
                        true if x >= low && x <= high => g / (x * (1.0 - x)),
                        true => outside as $t,
                        false if x < low || x > high => outside as $t,
                        false if eps < 0.0 && (x == 0.0 || x == 1.0) => g * <$t>::INFINITY,
                        false => g / (x * (1.0 - x)),
                    }
                }
            };
        }
        match o[0].dtype() {
            Dtype::Float64 => map2_grouped(g, x, &o[0], slope!(f64)),
            d if d.is_floating() => map2_grouped(g, x, &o[0], slope!(f32)),
            d => Err(not_for("logit_backward_cpu", d)),
        }
    });
    t.fill("aten.threshold_backward.default", |c, o| match o[0].dtype() {
        Dtype::Float64 => {
            let threshold: f64 = number(c.get("threshold"))?;
            map2(c.get("grad_output"), c.get("self"), &o[0], |g: f64, x: f64| if x <= threshold { 0.0 } else { g })
        }
        d if d.is_integral() => {
            let threshold: i64 = number(c.get("threshold"))?;
            map2(c.get("grad_output"), c.get("self"), &o[0], |g: i64, x: i64| if x <= threshold { 0 } else { g })
        }
        _ => {
            let threshold: f32 = number(c.get("threshold"))?;
            map2(c.get("grad_output"), c.get("self"), &o[0], |g: f32, x: f32| if x <= threshold { 0.0 } else { g })
        }
    });
    t.fill("aten.threshold.default", |c, o| {
        let dtype = o[0].dtype();
        let (threshold, value) = (fitting(c.get("threshold"), dtype)?, fitting(c.get("value"), dtype)?);
        match dtype {
            Dtype::Float64 => {
                let (threshold, value): (f64, f64) = (number(&threshold)?, number(&value)?);
                map1(c.get("self"), &o[0], |x: f64| if x <= threshold { value } else { x })
            }
            Dtype::Bool => Err(not_for("threshold_cpu", dtype)),
            d if d.is_integral() => {
                let (threshold, value): (i64, i64) = (number(&threshold)?, number(&value)?);
                map1(c.get("self"), &o[0], |x: i64| if x <= threshold { value } else { x })
            }
            _ => {
                let (threshold, value): (f32, f32) = (number(&threshold)?, number(&value)?);
                map1(c.get("self"), &o[0], |x: f32| if x <= threshold { value } else { x })
            }
        }
    });
    macro_rules! shrinking {
        ($($name:literal, $stub:literal => |$x:ident, $lambd:ident| $body:expr;)*) => { $(
            t.fill($name, |c, o| {
                let lambd = fitting(c.get("lambd"), o[0].dtype())?;
                let (wide, $lambd): (f64, f32) = (number(&lambd)?, number(&lambd)?);
                float1($stub, c.get("self"), &o[0], |$x| $body, |$x| { let $lambd = wide; $body })
            });
        )* };
    }
    shrinking! {
        "aten.hardshrink.default", "hardshrink_cpu" => |x, lambd| if x >= -lambd && x <= lambd { 0.0 } else { x };
        "aten.softshrink.default", "softshrink_cpu" =>
            |x, lambd| if x > lambd { x - lambd } else if x < -lambd { x + lambd } else { x * 0.0 };
    }
    t.fill("aten.elu_backward.default", elu_backward);
    t.fill("aten.celu.default", |c, o| {
        let alpha: f64 = number(c.get("alpha"))?;
        macro_rules! run {
            ($t:ty) => {{
                let (alpha, inverse) = (alpha as $t, (1.0 / alpha) as $t);
                map1_grouped(c.get("self"), &o[0], |x: $t, v| if x < 0.0 { (x * inverse).expm1_in(v) * alpha } else { x })
            }};
        }
        match o[0].dtype() {
            Dtype::Float64 => run!(f64),
            d if d.is_floating() => run!(f32),
            d => Err(not_for("elu_cpu", d)),
        }
    });
    t.fill("aten.log_sigmoid_forward.default", |c, o| {
        // The buffer keeps exp(-|x|) for the backward.
        float1("log_sigmoid_cpu", c.get("self"), &o[1], |x| (-x.abs()).exponential(), |x| (-x.abs()).exponential())?;
        float1(
            "log_sigmoid_cpu",
            c.get("self"),
            &o[0],
            |x| x.min(0.0) - (-x.abs()).exponential().log1p_in(true),
            |x| x.min(0.0) - (-x.abs()).exponential().ln_1p(),
        )
    });
    t.fill("aten.log_sigmoid_backward.default", |c, o| {
        let (g, x) = (c.get("grad_output"), c.get("self"));
        // Of either sign the exponential is one below 1.
        macro_rules! run {
            ($t:ty) => {
                |g: $t, x: $t| {
                    let e = (-x.abs()).exponential();
                    let part = e / (1.0 + e);
                    g * if x < 0.0 { 1.0 - part } else { part }
                }
            };
        }
        float2("log_sigmoid_backward_cpu", g, x, &o[0], run!(f32), run!(f64))
    });
    t.fill("aten._prelu_kernel.default", |c, o| {
        let (x, w) = (c.get("self"), c.get("weight"));
        float2("prelu_cpu", x, w, &o[0], |x, w| if x > 0.0 { x } else { w * x }, |x, w| if x > 0.0 { x } else { w * x })
    });
    t.fill("aten._prelu_kernel_backward.default", |c, o| {
        let (g, x, w) = (c.get("grad_output"), c.get("self"), c.get("weight"));
        if o[0].dtype() == Dtype::Float64 {
            map3(g, x, w, &o[0], |g: f64, x, w| if x > 0.0 { g } else { w * g })?;
        } else {
            map3(g, x, w, &o[0], |g: f32, x, w| if x > 0.0 { g } else { w * g })?;
        }
        float2("prelu_backward_cpu", g, x, &o[1], |g, x| if x > 0.0 { 0.0 } else { x * g }, |g, x| if x > 0.0 { 0.0 } else { x * g })
    });
    t.fill("aten.glu.default", |c, o| {
        let (a, b) = halves(c)?;
        match o[0].dtype() {
            Dtype::Float64 => map2(&a, &b, &o[0], |a: f64, b| a * (1.0 / (1.0 + (-b).exp()))),
            d if d.is_floating() => map2_grouped(&a, &b, &o[0], |a: f32, b, v| a * (1.0 / (1.0 + (-b).exponential_in(v)))),
            d => Err(not_for("glu_cpu", d)),
        }
    });
    t.fill("aten.glu_backward.default", |c, o| {
        let (a, b) = halves(c)?;
        let target = Call { entry: c.entry, args: &[Value::None, Value::Tensor(o[0].clone()), c.get("dim").clone()] };
        let (da, db) = halves(&target)?;
        let g = c.get("grad_output");
        let (da, db) = (da.tensor()?, db.tensor()?);
        let gate = Tensor::zeros(&tensor::TensorSpec::contiguous(da.sizes(), da.dtype(), da.device()))?;
        macro_rules! run {
            ($t:ty) => {{
                map1_grouped(&b, &gate, |b: $t, v| 1.0 / (1.0 + (-b).exponential_in(v)))?;
                let gate = Value::Tensor(gate);
                map3(&gate, &a, g, db, |s: $t, a, g| (1.0 - s) * s * a * g)?;
                map2(&gate, g, da, |s: $t, g| s * g)
            }};
        }
        match o[0].dtype() {
            Dtype::Float64 => run!(f64),
            d if d.is_floating() => run!(f32),
            d => Err(not_for("glu_backward_cpu", d)),
        }
    });
    for name in ["aten.clamp.default", "aten.clamp.Tensor", "aten.hardtanh.default"] {
        t.fill(name, |c, o| {
            let first = |a: &str, b: &str| if c.get(a).is_none() { c.get(b).clone() } else { c.get(a).clone() };
            clamp(c.get("self"), &first("min", "min_val"), &first("max", "max_val"), &o[0])
        });
    }
    for name in ["aten.clamp_min.default", "aten.clamp_min.Tensor"] {
        t.fill(name, |c, o| clamp(c.get("self"), c.get("min"), &Value::None, &o[0]));
    }
    for name in ["aten.clamp_max.default", "aten.clamp_max.Tensor"] {
        t.fill(name, |c, o| clamp(c.get("self"), &Value::None, c.get("max"), &o[0]));
    }
}

/// The two halves of `self` along `dim`.
fn halves(c: &Call) -> Result<(Value, Value)> {
    let t = c.tensor("self")?;
    let mut g = (*t.geometry()).clone();
    let dim = operators::shapes::wrap_dim(c.int("dim")?, g.sizes.len())?;
    let half = g.sizes[dim].guard_int()? / 2;
    g.sizes[dim] = half.into();
    let first = t.view_as(g.clone());
    g.offset = &g.offset + &(&g.strides[dim] * half);
    Ok((first.into(), t.view_as(g).into()))
}

/// A number of a call on elements of a dtype, cast to it; one out of its range is refused.
fn fitting(v: &Value, dtype: Dtype) -> Result<Value> {
    check_fits(v, dtype)?;
    v.cast_number(dtype)
}

/// A bound of a clamp: one of integers that none reaches has no effect.
fn bound(v: &Value, dtype: Dtype) -> Result<Value> {
    let is_number = matches!(v, Value::Int(_) | Value::Float(_) | Value::Bool(_));
    if is_number && dtype.is_floating() {
        check_fits(v, dtype)?;
    }
    if !is_number || dtype.is_floating() || dtype == Dtype::Bool {
        return Ok(v.clone());
    }
    let (low, high) = operators::shapes::range_of_integers(dtype);
    Ok(number::<i64>(v)?.clamp(low, high).into())
}

fn clamp(x: &Value, low: &Value, high: &Value, out: &Tensor) -> Result<()> {
    let (low, high) = (&bound(low, out.dtype())?, &bound(high, out.dtype())?);
    // A NaN anywhere gives NaN; where the bounds cross, the upper one wins.
    macro_rules! run {
        ($t:ty, $nan:expr) => {{
            let nan = $nan;
            let at_least = move |x: $t, low: $t| {
                if nan(x) || nan(low) {
                    x + low
                } else if x < low {
                    low
                } else {
                    x
                }
            };
            let at_most = move |x: $t, high: $t| {
                if nan(x) || nan(high) {
                    x + high
                } else if x > high {
                    high
                } else {
                    x
                }
            };
            match (low.is_none(), high.is_none()) {
                (false, false) => map3(x, low, high, out, |x: $t, l, h| at_most(at_least(x, l), h)),
                (false, true) => map2(x, low, out, at_least),
                (true, false) => map2(x, high, out, at_most),
                (true, true) => Err(Error::runtime("torch.clamp: At least one of 'min' or 'max' must not be None")),
            }
        }};
    }
    match out.dtype() {
        Dtype::Float64 => run!(f64, |v: f64| v.is_nan()),
        d if d.is_floating() => run!(f32, |v: f32| v.is_nan()),
        d if d.is_integral() => run!(i64, |_: i64| false),
        d => Err(not_for("clamp_cpu", d)),
    }
}

fn elu_backward(c: &Call, o: &[Tensor]) -> Result<()> {
    let (alpha, scale, input_scale): (f64, f64, f64) = (number(c.get("alpha"))?, number(c.get("scale"))?, number(c.get("input_scale"))?);
    let (g, x, is_result) = (c.get("grad_output"), c.get("self_or_result"), c.bool("is_result")?);
    macro_rules! run {
        ($t:ty) => {{
            let (slope, scale, input) = ((alpha * scale) as $t, scale as $t, input_scale as $t);
            // Whole groups of lanes ask what is above zero, the rest what is not: they differ in NaN.
            let above = |x: $t, grouped: bool| x > 0.0 || (!grouped && x.is_nan());
            map2_grouped(g, x, &o[0], |g: $t, x: $t, grouped| match (is_result, !above(x, grouped)) {
                (_, false) => g * scale,
                (true, true) => g * input * (x + slope),
                (false, true) => g * input * slope * (x * input).exponential_in(grouped),
            })
        }};
    }
    match o[0].dtype() {
        Dtype::Float64 => run!(f64),
        _ => run!(f32),
    }
}
