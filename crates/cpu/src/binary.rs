//! Pointwise kernels of two and three operands: arithmetic, comparisons, logic, bits, selection.

use super::arranging::{check_fits, computed_in};
use super::dense::held;
use super::elementwise::{Operand, Plan, float2, gather, map2, map3, not_for, number, values};
use super::grouped::{map1_grouped, map2_grouped};
use super::vectorized::Vectorized;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value};
use operators::shapes::result_type;
use tensor::{Dtype, Tensor};

/// Arithmetic per kind of dtype.
fn arithmetic(
    name: &str,
    a: &Value,
    b: &Value,
    out: &Tensor,
    f: impl Fn(f32, f32) -> f32,
    g: impl Fn(f64, f64) -> f64,
    h: impl Fn(i64, i64) -> i64,
) -> Result<()> {
    let (a, b) = (&operand(a, out.dtype())?, &operand(b, out.dtype())?);
    match out.dtype() {
        d if d.is_integral() => map2(a, b, out, h),
        _ => float2(name, a, b, out, f, g),
    }
}

/// An operand of a call that is computed in a dtype: a number, or a tensor without dimensions, is cast to it first. Products and quotients
/// of floats take a number as it is.
fn operand(v: &Value, dtype: Dtype) -> Result<Value> {
    match v {
        Value::Tensor(t) if t.dim() == 0 && t.dtype() != dtype && t.dtype() != Dtype::Bool && !t.dtype().is_complex() => {
            super::copy::item(t)?.cast_number(dtype)
        }
        other => other.cast_number(dtype),
    }
}

/// Kernels `|a, b| float, |i, j| integer` over two named arguments.
macro_rules! kernels {
    ($t:ident: $($names:expr, $stub:literal, $first:literal, $second:literal => |$a:ident, $b:ident| $float:expr, |$i:ident, $j:ident| $int:expr;)*) => { $(
        for name in $names {
            $t.fill(name, |c, o| {
                arithmetic($stub, c.get($first), c.get($second), &o[0], |$a, $b| $float, |$a, $b| $float, |$i, $j| $int)
            });
        }
    )* };
}

fn floor_mod(a: i64, b: i64) -> i64 {
    let r = a.wrapping_rem(b);
    if r != 0 && ((r < 0) != (b < 0)) { r + b } else { r }
}

fn floor_div(a: i64, b: i64) -> i64 {
    let q = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && ((a < 0) != (b < 0)) { q - 1 } else { q }
}

/// Python's floor division of floats: exact where the quotient is an integer.
macro_rules! float_floor_div {
    ($a:expr, $b:expr) => {{
        let (a, b) = ($a, $b);
        if b == 0.0 {
            a / b
        } else {
            let m = a % b;
            let mut q = (a - m) / b;
            if m != 0.0 && ((b < 0.0) != (m < 0.0)) {
                q -= 1.0;
            }
            if q != 0.0 {
                let floor = q.floor();
                if q - floor > 0.5 { floor + 1.0 } else { floor }
            } else {
                (a / b) * 0.0
            }
        }
    }};
}

fn integer_power(base: i64, exponent: i64) -> i64 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 => {
                if exponent % 2 == 0 {
                    1
                } else {
                    -1
                }
            }
            _ => 0,
        };
    }
    let (mut base, mut exponent, mut out) = (base, exponent, 1i64);
    while exponent > 0 {
        if exponent & 1 == 1 {
            out = out.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    out
}

/// Where nothing is divided, no divisor is zero.
fn zero_division(divisor: &Value, out: &Tensor) -> Result<()> {
    if out.concrete()?.numel() == 0 {
        return Ok(());
    }
    let zero = match divisor {
        Value::Tensor(t) if t.dtype().is_integral() => values::<i64>(t)?.contains(&0),
        Value::Int(i) => i.guard_int()? == 0,
        Value::Bool(b) => !b,
        _ => false,
    };
    if zero { Err(Error::new(diagnostics::error::ErrorKind::Runtime, "ZeroDivisionError")) } else { Ok(()) }
}

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    kernels! { t:
        ["aten.maximum.default"], "maximum_cpu", "self", "other" =>
            |a, b| if a.is_nan() || b.is_nan() { a + b } else if a > b { a } else { b }, |i, j| i.max(j);
        ["aten.minimum.default"], "minimum_cpu", "self", "other" =>
            |a, b| if a.is_nan() || b.is_nan() { a + b } else if a < b { a } else { b }, |i, j| i.min(j);
        ["aten.fmax.default"], "fmax_cpu", "self", "other" => |a, b| a.max(b), |i, j| i.max(j);
        ["aten.fmin.default"], "fmin_cpu", "self", "other" => |a, b| a.min(b), |i, j| i.min(j);
        ["aten.heaviside.default"], "heaviside_cpu", "self", "values" =>
            |a, b| if a == 0.0 { b } else if a > 0.0 { 1.0 } else { 0.0 }, |i, j| if i == 0 { j } else { i64::from(i > 0) };
    }
    for name in ["aten.mul.Tensor", "aten.mul.Scalar"] {
        t.fill(name, |c, o| {
            let (a, b, out) = (c.get("self"), c.get("other"), &o[0]);
            match out.dtype() {
                d if d.is_integral() => map2(a, b, out, i64::wrapping_mul),
                _ => float2("mul_cpu", a, b, out, |a, b| a * b, |a, b| a * b),
            }
        });
    }
    for name in ["aten.fmod.Tensor", "aten.fmod.Scalar", "aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor"] {
        t.fill(name, remainder);
    }
    for name in ["aten.add.Tensor", "aten.add.Scalar"] {
        t.fill(name, |c, o| add(c.get("self"), c.get("other"), c.get("alpha"), 1, &o[0]));
    }
    for name in ["aten.sub.Tensor", "aten.sub.Scalar"] {
        t.fill(name, |c, o| add(c.get("self"), c.get("other"), c.get("alpha"), -1, &o[0]));
    }
    for name in ["aten.rsub.Tensor", "aten.rsub.Scalar"] {
        t.fill(name, |c, o| add(c.get("other"), c.get("self"), c.get("alpha"), -1, &o[0]));
    }
    for name in ["aten.div.Tensor", "aten.div.Scalar", "aten.div.Tensor_mode", "aten.div.Scalar_mode"] {
        t.fill(name, |c, o| divide(c, c.str("rounding_mode").unwrap_or(""), &o[0]));
    }
    for name in ["aten.floor_divide.default", "aten.floor_divide.Scalar"] {
        t.fill(name, |c, o| divide(c, "floor", &o[0]));
    }
    for name in ["aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar", "aten.pow.Scalar"] {
        t.fill(name, power);
    }
    register_float(t);
    register_compare(t);
    register_bits(t);
    register_ternary(t);
}

/// fmod truncates, remainder floors; integers refuse a zero divisor.
fn remainder(c: &Call, o: &[Tensor]) -> Result<()> {
    let out = &o[0];
    let (a, b) = (&operand(c.get("self"), out.dtype())?, &operand(c.get("other"), out.dtype())?);
    if out.dtype().is_integral() {
        zero_division(b, out)?;
    }
    if c.entry.base_name().starts_with("fmod") {
        return arithmetic("fmod_cpu", a, b, out, |a, b| a % b, |a, b| a % b, i64::wrapping_rem);
    }
    macro_rules! floored {
        ($a:ident, $b:ident) => {{
            let m = $a % $b;
            if m != 0.0 && (($b < 0.0) != (m < 0.0)) { m + $b } else { m }
        }};
    }
    arithmetic("remainder_cpu", a, b, out, |a, b| floored!(a, b), |a, b| floored!(a, b), floor_mod)
}

/// `a + sign * alpha * b`
fn add(a: &Value, b: &Value, alpha: &Value, sign: i64, out: &Tensor) -> Result<()> {
    check_fits(alpha, out.dtype())?;
    let (a, b) = (&operand(a, out.dtype())?, &operand(b, out.dtype())?);
    let alpha = &operand(alpha, out.dtype())?;
    match out.dtype() {
        d if d.is_integral() => {
            let k = number::<i64>(alpha)?.wrapping_mul(sign);
            map2(a, b, out, |a: i64, b: i64| a.wrapping_add(b.wrapping_mul(k)))
        }
        d => {
            let k = number::<f64>(alpha)? * sign as f64;
            match (d, k) {
                (Dtype::Float64, 1.0) => map2(a, b, out, |a: f64, b: f64| a + b),
                (Dtype::Float64, -1.0) => map2(a, b, out, |a: f64, b: f64| a - b),
                (Dtype::Float64, _) => map2(a, b, out, |a: f64, b: f64| k.fused(b, a)),
                (d, _) if !d.is_floating() => Err(not_for("add_stub", d)),
                (_, 1.0) => map2(a, b, out, |a: f32, b: f32| a + b),
                (_, -1.0) => map2(a, b, out, |a: f32, b: f32| a - b),
                _ => {
                    let k = k as f32;
                    map2(a, b, out, |a: f32, b: f32| k.fused(b, a))
                }
            }
        }
    }
}

fn divide(c: &Call, mode: &str, out: &Tensor) -> Result<()> {
    let (a, b) = (c.get("self"), c.get("other"));
    if out.dtype().is_integral() {
        let (a, b) = (&operand(a, out.dtype())?, &operand(b, out.dtype())?);
        zero_division(b, out)?;
        return match mode {
            "floor" => map2(a, b, out, floor_div),
            _ => map2(a, b, out, i64::wrapping_div),
        };
    }
    match mode {
        "floor" => float2("div_floor_cpu", a, b, out, |a, b| float_floor_div!(a, b), |a, b| float_floor_div!(a, b)),
        // The quotient is rounded to the dtype first.
        "trunc" => float2("div_trunc_cpu", a, b, out, |a, b| super::dense::held(a / b, out.dtype()).trunc(), |a, b| (a / b).trunc()),
        _ => float2("div_cpu", a, b, out, |a, b| a / b, |a, b| a / b),
    }
}

fn power(c: &Call, o: &[Tensor]) -> Result<()> {
    let (base, exponent, out) = (c.get("self"), c.get("exponent"), &o[0]);
    if matches!(out.dtype(), Dtype::Float16 | Dtype::BFloat16) && matches!(base, Value::Tensor(_)) && !matches!(exponent, Value::Tensor(_))
    {
        check_fits(exponent, out.dtype())?;
    }
    if out.dtype().is_integral() {
        return map2(base, exponent, out, integer_power);
    }
    // Small exponents are products and roots, as in PyTorch, so that equal numbers come out.
    let simple = match exponent {
        Value::Tensor(_) => None,
        other => Some(number::<f64>(other)?),
    };
    let square = |f: fn(f32) -> f32, g: fn(f64) -> f64| float2("pow", base, exponent, out, move |x, _| f(x), move |x, _| g(x));
    // Every product of bfloat16 is rounded; half precision goes through single.
    let rounded = |f: &dyn Fn(f32, &dyn Fn(f32) -> f32) -> f32, g: fn(f64) -> f64| {
        let held = |x: f32| if out.dtype() == Dtype::BFloat16 { super::dense::held(x, Dtype::BFloat16) } else { x };
        float2("pow", base, exponent, out, |x, _| f(x, &held), move |x, _| g(x))
    };
    match simple {
        Some(2.0) => square(|x| x * x, |x| x * x),
        Some(3.0) => rounded(&|x, held| held(x * x) * x, |x| x * x * x),
        Some(0.5) => square(super::root::square_root, f64::sqrt),
        Some(-0.5) if out.dtype() == Dtype::BFloat16 => super::unary::inverse_root("pow", base, out),
        Some(-0.5) => square(|x| 1.0 / x.sqrt(), |x| 1.0 / x.sqrt()),
        Some(-1.0) => square(|x| 1.0 / x, |x| 1.0 / x),
        Some(-2.0) => rounded(&|x, held| 1.0 / held(x * x), |x| 1.0 / (x * x)),
        // What groups leave over has a number's exponent in double precision.
        Some(e) if matches!(base, Value::Tensor(_)) && out.dtype() == Dtype::Float32 => {
            map1_grouped(base, out, |x: f32, grouped| if grouped { x.pow_in(e as f32, true) } else { f64::from(x).powf(e) as f32 })
        }
        _ => grouped2("pow", base, exponent, out, f32::pow_in, f64::pow_in),
    }
}

/// Float kernels over `self` and `other`.
macro_rules! floats {
    ($t:ident: $($names:expr, $stub:literal => |$a:ident, $b:ident| $body:expr;)*) => { $(
        for name in $names {
            $t.fill(name, |c, o| {
                let (a, b) = (operand(c.get("self"), o[0].dtype())?, operand(c.get("other"), o[0].dtype())?);
                float2($stub, &a, &b, &o[0], |$a, $b| $body, |$a, $b| $body)
            });
        }
    )* };
}

fn register_float(t: &mut KernelTable) {
    t.fill("aten.atan2.default", |c, o| grouped2("atan2_cpu", c.get("self"), c.get("other"), &o[0], f32::atan2_in, f64::atan2_in));
    for name in ["aten.xlogy.Tensor", "aten.xlogy.Scalar_Self", "aten.xlogy.Scalar_Other"] {
        t.fill(name, |c, o| {
            let dtype = o[0].dtype();
            macro_rules! xlogy {
                ($t:ty) => {
                    |a: $t, b: $t| match () {
                        _ if b.is_nan() => b,
                        _ if a == 0.0 => 0.0,
                        _ => a * held(b.ln(), dtype),
                    }
                };
            }
            let (a, b) = (operand(c.get("self"), dtype)?, operand(c.get("other"), dtype)?);
            float2("xlogy_cpu", &a, &b, &o[0], xlogy!(f32), xlogy!(f64))
        });
    }
    t.fill("aten.logaddexp.default", |c, o| {
        grouped2("logaddexp_cpu", c.get("self"), c.get("other"), &o[0], log_add_exp::<f32>, log_add_exp::<f64>)
    });
    floats! { t:
        ["aten.hypot.default"], "hypot_cpu" => |a, b| a.hypot(b);
        ["aten.ldexp.Tensor"], "ldexp" => |a, b| a * b.exp2();
        ["aten.copysign.Tensor", "aten.copysign.Scalar"], "copysign_cpu" => |a, b| a.copysign(b);
        ["aten.logaddexp2.default"], "logaddexp2_cpu" =>
            |a, b| if a.is_infinite() && a == b { a } else { a.max(b) + (1.0 + (-(a - b).abs()).exp2()).log2() };
    }
}

/// A float kernel of two operands that vectorized code computes otherwise than what it leaves over.
fn grouped2(
    name: &str,
    a: &Value,
    b: &Value,
    out: &Tensor,
    f: impl Fn(f32, f32, bool) -> f32,
    g: impl Fn(f64, f64, bool) -> f64,
) -> Result<()> {
    let (a, b) = (&operand(a, out.dtype())?, &operand(b, out.dtype())?);
    match out.dtype() {
        Dtype::Float64 => map2_grouped(a, b, out, g),
        d if d.is_floating() => map2_grouped(a, b, out, f),
        d => Err(not_for(name, d)),
    }
}

/// The logarithm of a sum of exponentials.
fn log_add_exp<T: Vectorized + PartialOrd>(a: T, b: T, grouped: bool) -> T {
    if a == b && (a - b).nan() {
        return a;
    }
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    high + (low - high).exponential_in(grouped).log1p_in(grouped)
}

/// Compares in the promoted dtype of the operands.
fn compare(c: &Call, out: &Tensor, f: impl Fn(f32, f32) -> bool, g: impl Fn(f64, f64) -> bool, h: impl Fn(i64, i64) -> bool) -> Result<()> {
    let dtype = result_type(&[c.get("self"), c.get("other")])?;
    let (a, b) = (&operand(c.get("self"), dtype)?, &operand(c.get("other"), dtype)?);
    match dtype {
        Dtype::Float64 => map2(a, b, out, |a, b| u8::from(g(a, b))),
        d if d.is_integral() => map2(a, b, out, |a, b| u8::from(h(a, b))),
        d if d.is_floating() => map2(a, b, out, |a, b| u8::from(f(a, b))),
        d => Err(not_for("compare_cpu", d)),
    }
}

fn register_compare(t: &mut KernelTable) {
    macro_rules! comparisons {
        ($($name:literal $op:tt;)*) => { $(
            t.fill(concat!("aten.", $name, ".Tensor"), |c, o| compare(c, &o[0], |a, b| a $op b, |a, b| a $op b, |a, b| a $op b));
            t.fill(concat!("aten.", $name, ".Scalar"), |c, o| compare(c, &o[0], |a, b| a $op b, |a, b| a $op b, |a, b| a $op b));
        )* };
    }
    comparisons! { "eq" ==; "ne" !=; "lt" <; "le" <=; "gt" >; "ge" >=; }
    macro_rules! logic {
        ($($name:literal $op:tt;)*) => { $(
            t.fill(concat!("aten.logical_", $name, ".default"), |c, o| {
                map2(c.get("self"), c.get("other"), &o[0], |a: f64, b: f64| u8::from((a != 0.0) $op (b != 0.0)))
            });
        )* };
    }
    logic! { "and" &; "or" |; "xor" ^; }
}

fn register_bits(t: &mut KernelTable) {
    macro_rules! bits {
        ($($name:literal [$($overload:literal)*] $f:expr;)*) => { $( $(
            t.fill(concat!("aten.", $name, ".", $overload), |c, o| map2(c.get("self"), c.get("other"), &o[0], $f));
        )* )* };
    }
    fn left(a: i64, b: i64) -> i64 {
        if (0..64).contains(&b) { a << b } else { 0 }
    }
    fn right(a: i64, b: i64) -> i64 {
        if (0..64).contains(&b) { a >> b } else { a >> 63 }
    }
    bits! {
        "bitwise_and" ["Tensor" "Scalar" "Scalar_Tensor"] |a: i64, b: i64| a & b;
        "bitwise_or" ["Tensor" "Scalar" "Scalar_Tensor"] |a: i64, b: i64| a | b;
        "bitwise_xor" ["Tensor" "Scalar" "Scalar_Tensor"] |a: i64, b: i64| a ^ b;
        "bitwise_left_shift" ["Tensor" "Tensor_Scalar" "Scalar_Tensor"] left;
        "bitwise_right_shift" ["Tensor" "Tensor_Scalar" "Scalar_Tensor"] right;
        "__lshift__" ["Tensor" "Scalar"] left;
        "__rshift__" ["Tensor" "Scalar"] right;
    }
}

fn register_ternary(t: &mut KernelTable) {
    for name in ["aten.lerp.Scalar", "aten.lerp.Tensor"] {
        t.fill(name, |c, o| {
            let (a, b, w) = (c.get("self"), c.get("end"), c.get("weight"));
            if !matches!(w, Value::Tensor(_)) {
                check_fits(w, computed_in(o[0].dtype()))?;
            }
            // From whichever end is nearer, so that both ends are exact.
            match o[0].dtype() {
                Dtype::Float64 => {
                    map3(a, b, w, &o[0], |a: f64, b, w| if w.abs() < 0.5 { w.fused(b - a, a) } else { (a - b).fused(1.0 - w, b) })
                }
                d if d.is_floating() => {
                    map3(a, b, w, &o[0], |a: f32, b, w| if w.abs() < 0.5 { w.fused(b - a, a) } else { (a - b).fused(1.0 - w, b) })
                }
                d => Err(not_for("lerp_kernel_scalar", d)),
            }
        });
    }
    t.fill("aten.addcmul.default", |c, o| addc(c, &o[0], |x, k, a, b| (k * a).fused(b, x), |x, k, a, b| (k * a).fused(b, x)));
    t.fill("aten.addcdiv.default", |c, o| addc(c, &o[0], |x, k, a, b| x + k * a / b, |x, k, a, b| x + k * a / b));
    t.fill("aten.where.self", |c, o| {
        let (m, a, b) = (c.get("condition"), c.get("self"), c.get("other"));
        match o[0].dtype() {
            Dtype::Float64 => select::<f64>(m, a, b, &o[0]),
            d if d.is_integral() => select::<i64>(m, a, b, &o[0]),
            d if d.is_floating() => select::<f32>(m, a, b, &o[0]),
            d => Err(not_for("where_cpu", d)),
        }
    });
    for name in ["aten.masked_fill.Scalar", "aten.masked_fill.Tensor"] {
        t.fill(name, |c, o| {
            let (m, x) = (c.get("mask"), c.get("self"));
            check_fits(c.get("value"), o[0].dtype())?;
            // Among booleans whatever is not zero is true.
            let v = &match (o[0].dtype(), c.get("value")) {
                (Dtype::Bool, Value::Float(f)) => Value::from(i64::from(*f != 0.0)),
                (Dtype::Bool, Value::Tensor(t)) => dispatch::t!("to.dtype", t, Dtype::Bool)?.into(),
                (_, v) => v.clone(),
            };
            match o[0].dtype() {
                Dtype::Float64 => select::<f64>(m, v, x, &o[0]),
                d if d.is_integral() => select::<i64>(m, v, x, &o[0]),
                d if d.is_floating() => select::<f32>(m, v, x, &o[0]),
                d => Err(not_for("masked_fill", d)),
            }
        });
    }
    t.make("aten._local_scalar_dense.default", |c| super::copy::item(c.tensor("self")?));
    t.make("aten.equal.default", |c| {
        let (x, y) = (c.tensor("self")?, c.tensor("other")?);
        if x.concrete()?.sizes != y.concrete()?.sizes {
            return Ok(Value::Bool(false));
        }
        Ok(Value::Bool(if x.dtype().is_integral() && y.dtype().is_integral() {
            values::<i64>(x)? == values::<i64>(y)?
        } else {
            values::<f64>(x)? == values::<f64>(y)?
        }))
    });
    t.make("aten.allclose.default", |c| {
        let (x, y) = (c.tensor("self")?, c.tensor("other")?);
        if x.dtype() != y.dtype() {
            return Err(Error::runtime(format!("{} did not match {}", x.dtype().scalar_type(), y.dtype().scalar_type())));
        }
        let (rtol, atol, equal_nan) = (c.float("rtol")?, c.float("atol")?, c.bool("equal_nan")?);
        let sizes = operators::shapes::broadcast_two(&x.sizes(), &y.sizes())?;
        let sizes: Vec<usize> = shape::concrete(&sizes)?.into_iter().map(|n| n as usize).collect();
        let close = |a: f64, b: f64| {
            a == b || (equal_nan && a.is_nan() && b.is_nan()) || ((a - b).is_finite() && (a - b).abs() <= atol + (rtol * b).abs())
        };
        let (a, b) = (gather::<f64>(x, &sizes)?, gather::<f64>(y, &sizes)?);
        Ok(Value::Bool(a.into_iter().zip(b).all(|(a, b)| close(a, b))))
    });
}

fn addc(c: &Call, out: &Tensor, f: impl Fn(f32, f32, f32, f32) -> f32, g: impl Fn(f64, f64, f64, f64) -> f64) -> Result<()> {
    let (x, a, b) = (c.get("self"), c.get("tensor1"), c.get("tensor2"));
    check_fits(c.get("value"), computed_in(out.dtype()))?;
    match out.dtype() {
        Dtype::Float64 => {
            let k: f64 = number(c.get("value"))?;
            map3(x, a, b, out, |x, a, b| g(x, k, a, b))
        }
        d if d.is_integral() => {
            let k: i64 = number(c.get("value"))?;
            map3(x, a, b, out, |x: i64, a, b| x.wrapping_add(k.wrapping_mul(a).wrapping_mul(b)))
        }
        _ => {
            let k: f32 = number(c.get("value"))?;
            map3(x, a, b, out, |x, a, b| f(x, k, a, b))
        }
    }
}

/// `out = mask ? a : b`
fn select<C: super::elementwise::Compute>(mask: &Value, a: &Value, b: &Value, out: &Tensor) -> Result<()> {
    let plan = Plan::new(out, &[mask, a, b])?;
    plan.operand::<u8, _>(mask, &mut |m| {
        plan.operand::<C, _>(a, &mut |a| {
            plan.operand::<C, _>(b, &mut |b| {
                plan.fill::<C>(out, &mut |d| match m {
                    Operand::Slice(m) => {
                        d.iter_mut().zip(m).enumerate().for_each(|(i, (o, m))| *o = if *m != 0 { a.at(i) } else { b.at(i) })
                    }
                    Operand::One(m) => d.iter_mut().enumerate().for_each(|(i, o)| *o = if m != 0 { a.at(i) } else { b.at(i) }),
                })
            })?
        })?
    })?
}
