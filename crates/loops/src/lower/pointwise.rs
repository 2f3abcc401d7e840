//! Operators that compute every element on its own, as formulas.

use super::rule::Lower;
use crate::language::{Ty, X, coord, float, int, scalar};
use diagnostics::error::{Error, Result};
use dispatch::Value;
use tensor::{Category, Dtype};

/// The element of a result.
pub type Formula = fn(&mut Lower) -> Result<X>;

macro_rules! unary {
    ($l:ident, $x:ident, $body:expr) => {
        |$l: &mut Lower| {
            let $x = $l.x("self")?.f();
            Ok($body)
        }
    };
}

/// Formulas by operator name.
pub const FORMULAS: &[(&str, Formula)] = &[
    // Functions of one float.
    ("aten.sin.default", unary!(l, x, X::call("sine", &[&x]))),
    ("aten.cos.default", unary!(l, x, X::call("cosine", &[&x]))),
    ("aten.tan.default", unary!(l, x, X::call("sine", &[&x]) / X::call("cosine", &[&x]))),
    ("aten.asin.default", unary!(l, x, X::call("asin", &[&x]))),
    ("aten.acos.default", unary!(l, x, X::call("acos", &[&x]))),
    ("aten.atan.default", unary!(l, x, X::call("atan", &[&x]))),
    ("aten.sinh.default", unary!(l, x, X::call("sinh", &[&x]))),
    ("aten.cosh.default", unary!(l, x, X::call("cosh", &[&x]))),
    ("aten.tanh.default", unary!(l, x, X::call("tanh_of", &[&x]))),
    ("aten.exp.default", unary!(l, x, x.exp())),
    ("aten.exp2.default", unary!(l, x, X::call("exp2", &[&x]))),
    ("aten.expm1.default", unary!(l, x, X::call("expm1", &[&x]))),
    ("aten.log.default", unary!(l, x, x.log())),
    ("aten.log2.default", unary!(l, x, X::call("log2", &[&x]))),
    ("aten.log10.default", unary!(l, x, x.log() * float(std::f64::consts::LOG10_E))),
    ("aten.log1p.default", unary!(l, x, X::call("log1p", &[&x]))),
    ("aten.sqrt.default", unary!(l, x, x.sqrt())),
    ("aten.rsqrt.default", unary!(l, x, x.rsqrt())),
    ("aten.reciprocal.default", unary!(l, x, float(1.0) / x)),
    ("aten.sigmoid.default", unary!(l, x, X::call("sigmoid", &[&x]))),
    ("aten.erf.default", unary!(l, x, X::call("erf", &[&x]))),
    ("aten.frac.default", unary!(l, x, x.clone() - X::call("trunc", &[&x]))),
    ("aten.silu.default", unary!(l, x, x.clone() * X::call("sigmoid", &[&x]))),
    ("aten.mish.default", unary!(l, x, x.clone() * X::call("tanh_of", &[&softplus(&x)]))),
    ("aten.log_sigmoid_forward.default", |_| Err(Error::not_implemented("two results"))),
    ("aten.isnan.default", unary!(l, x, X::test("is_nan", &[&x]))),
    ("aten.isinf.default", unary!(l, x, X::test("is_inf", &[&x]))),
    ("aten.hardsigmoid.default", unary!(l, x, clamp(&(x / float(6.0) + float(0.5)), 0.0, 1.0))),
    ("aten.hardswish.default", unary!(l, x, x.clone() * clamp(&(x + float(3.0)), 0.0, 6.0) / float(6.0))),
    // Functions of one number of any type.
    ("aten.neg.default", |l| Ok(-l.as_out("self")?)),
    ("aten.abs.default", |l| any_unary(l, "abs")),
    ("aten.sign.default", |l| any_unary(l, "sign")),
    ("aten.sgn.default", |l| any_unary(l, "sign")),
    ("aten.floor.default", |l| rounding(l, "floor")),
    ("aten.ceil.default", |l| rounding(l, "ceil")),
    ("aten.round.default", |l| rounding(l, "round")),
    ("aten.trunc.default", |l| rounding(l, "trunc")),
    ("aten.square.default", |l| Ok(l.as_out("self")?.square())),
    ("aten.relu.default", |l| {
        let x = l.as_out("self")?;
        let zero = int(0).cast(x.ty());
        Ok(X::where_(&x.le(&zero), &zero, &x))
    }),
    ("aten.logical_not.default", |l| Ok(l.x("self")?.b().not())),
    ("aten.bitwise_not.default", |l| {
        let x = l.x("self")?;
        Ok(if x.ty() == Ty::Bool { x.not() } else { x.invert() })
    }),
    // Copies and conversions.
    ("aten.clone.default", |l| l.x("self")),
    ("aten._to_copy.default", |l| l.as_out("self")),
    ("aten.contiguous.default", |l| l.x("self")),
    ("aten.lift_fresh_copy.default", |l| l.x("self")),
    ("aten.copy.default", |l| l.as_out("src")),
    ("prims.convert_element_type.default", |l| {
        let out = l.out(0)?;
        let name = l.call.entry.schema.arguments.first().map_or("a", |a| a.name.as_str()).to_owned();
        Ok(l.x(&name)?.cast(Ty::of(out.dtype).unwrap_or(Ty::Float)))
    }),
    ("aten.fill.Scalar", |l| l.as_out("value")),
    ("aten.fill.Tensor", |l| l.as_out("value")),
    // Arithmetic of two.
    ("aten.add.Tensor", add),
    ("aten.add.Scalar", add),
    ("aten.sub.Tensor", sub),
    ("aten.sub.Scalar", sub),
    ("aten.rsub.Tensor", rsub),
    ("aten.rsub.Scalar", rsub),
    ("aten.mul.Tensor", mul),
    ("aten.mul.Scalar", mul),
    ("aten.div.Tensor", |l| Ok(l.x("self")?.f() / l.x("other")?.f())),
    ("aten.div.Scalar", |l| Ok(l.x("self")?.f() / l.x("other")?.f())),
    ("aten.div.Tensor_mode", div_mode),
    ("aten.div.Scalar_mode", div_mode),
    ("aten.floor_divide.default", |l| rounded_div(l, "floor")),
    ("aten.floor_divide.Scalar", |l| rounded_div(l, "floor")),
    ("aten.remainder.Tensor", |l| two(l, "remainder", "remainder_int")),
    ("aten.remainder.Scalar", |l| two(l, "remainder", "remainder_int")),
    ("aten.fmod.Tensor", |l| two(l, "fmod", "fmod_int")),
    ("aten.fmod.Scalar", |l| two(l, "fmod", "fmod_int")),
    ("aten.maximum.default", |l| two(l, "nan_max", "max")),
    ("aten.minimum.default", |l| two(l, "nan_min", "min")),
    ("aten.atan2.default", |l| Ok(X::call("atan2", &[&l.x("self")?, &l.x("other")?]))),
    ("aten.pow.Tensor_Tensor", |l| {
        let (a, b) = (l.as_out("self")?, l.as_out("exponent")?);
        Ok(X::call_any("power", "power_int", &a, &b))
    }),
    ("aten.pow.Scalar", |l| {
        let (a, b) = (l.as_out("self")?, l.as_out("exponent")?);
        Ok(X::call_any("power", "power_int", &a, &b))
    }),
    ("aten.pow.Tensor_Scalar", pow_scalar),
    ("aten.addcmul.default", |l| {
        let (x, a, b, v) = (l.as_out("self")?, l.as_out("tensor1")?, l.as_out("tensor2")?, l.as_out("value")?);
        Ok(x + v * (a * b))
    }),
    ("aten.addcdiv.default", |l| {
        let (x, a, b, v) = (l.as_out("self")?, l.as_out("tensor1")?, l.as_out("tensor2")?, l.as_out("value")?);
        Ok(x + v * (a / b))
    }),
    ("aten.lerp.Scalar", lerp),
    ("aten.lerp.Tensor", lerp),
    ("prims.fma.default", |l| {
        let names: Vec<String> = l.call.entry.schema.arguments.iter().map(|a| a.name.clone()).collect();
        let [a, b, c] = names.as_slice() else { return Err(Error::not_implemented("fma of other than three")) };
        Ok(l.x(a)?.f() * l.x(b)?.f() + l.x(c)?.f())
    }),
    // Comparisons and logic.
    ("aten.eq.Tensor", |l| compare(l, X::equals)),
    ("aten.eq.Scalar", |l| compare(l, X::equals)),
    ("aten.ne.Tensor", |l| compare(l, X::differs)),
    ("aten.ne.Scalar", |l| compare(l, X::differs)),
    ("aten.lt.Tensor", |l| compare(l, X::lt)),
    ("aten.lt.Scalar", |l| compare(l, X::lt)),
    ("aten.le.Tensor", |l| compare(l, X::le)),
    ("aten.le.Scalar", |l| compare(l, X::le)),
    ("aten.gt.Tensor", |l| compare(l, X::gt)),
    ("aten.gt.Scalar", |l| compare(l, X::gt)),
    ("aten.ge.Tensor", |l| compare(l, X::ge)),
    ("aten.ge.Scalar", |l| compare(l, X::ge)),
    ("aten.logical_and.default", |l| Ok(l.x("self")?.and(&l.x("other")?))),
    ("aten.logical_or.default", |l| Ok(l.x("self")?.or(&l.x("other")?))),
    ("aten.logical_xor.default", |l| Ok(l.x("self")?.b().differs(&l.x("other")?.b()))),
    ("aten.bitwise_and.Tensor", |l| bitwise(l, "&")),
    ("aten.bitwise_and.Scalar", |l| bitwise(l, "&")),
    ("aten.bitwise_or.Tensor", |l| bitwise(l, "|")),
    ("aten.bitwise_or.Scalar", |l| bitwise(l, "|")),
    ("aten.bitwise_xor.Tensor", |l| bitwise(l, "^")),
    ("aten.bitwise_xor.Scalar", |l| bitwise(l, "^")),
    // Choices.
    ("aten.where.self", where_),
    ("aten.where.ScalarOther", where_),
    ("aten.where.ScalarSelf", where_),
    ("aten.where.Scalar", where_),
    ("aten.masked_fill.Scalar", |l| Ok(X::where_(&l.x("mask")?, &l.as_out("value")?, &l.as_out("self")?))),
    ("aten.masked_fill.Tensor", |l| Ok(X::where_(&l.x("mask")?, &l.as_out("value")?, &l.as_out("self")?))),
    ("aten.clamp.default", |l| limits(l, "min", "max")),
    ("aten.clamp.Tensor", |l| limits(l, "min", "max")),
    ("aten.clamp_min.default", |l| limits(l, "min", "")),
    ("aten.clamp_min.Tensor", |l| limits(l, "min", "")),
    ("aten.clamp_max.default", |l| limits(l, "", "max")),
    ("aten.clamp_max.Tensor", |l| limits(l, "", "max")),
    ("aten.hardtanh.default", |l| limits(l, "min_val", "max_val")),
    ("aten.tril.default", |l| triangle(l, true)),
    ("aten.triu.default", |l| triangle(l, false)),
    // Activations and their gradients.
    ("aten.leaky_relu.default", |l| {
        let (x, s) = (l.x("self")?.f(), l.x("negative_slope")?.f());
        Ok(X::where_(&x.gt(&float(0.0)), &x, &(&x * &s)))
    }),
    ("aten.leaky_relu_backward.default", |l| {
        let (g, x, s) = (l.x("grad_output")?.f(), l.x("self")?.f(), l.x("negative_slope")?.f());
        Ok(X::where_(&x.gt(&float(0.0)), &g, &(&g * &s)))
    }),
    ("aten.hardshrink.default", |l| {
        let (x, b) = (l.x("self")?.f(), l.x("lambd")?.f());
        Ok(X::where_(&x.ge(&(float(0.0) - b.clone())).and(&x.le(&b)), &float(0.0), &x))
    }),
    ("aten.softshrink.default", |l| {
        let (x, b) = (l.x("self")?.f(), l.x("lambd")?.f());
        let low = float(0.0) - b.clone();
        Ok(X::where_(&x.gt(&b), &(&x - &b), &X::where_(&x.lt(&low), &(&x + &b), &(&x * &float(0.0)))))
    }),
    ("aten.hardshrink_backward.default", |l| shrink_backward(l, "grad_out")),
    ("aten.softshrink_backward.default", |l| shrink_backward(l, "grad_output")),
    ("aten.elu.default", |l| {
        let (x, a, s, i) = (l.x("self")?.f(), l.x("alpha")?.f(), l.x("scale")?.f(), l.x("input_scale")?.f());
        let low = X::call("expm1", &[&(&x * &i)]) * (a * s.clone());
        Ok(X::where_(&x.gt(&float(0.0)), &(x * s), &low))
    }),
    ("aten.elu_backward.default", |l| {
        let (g, a, s, i) = (l.x("grad_output")?.f(), l.x("alpha")?.f(), l.x("scale")?.f(), l.x("input_scale")?.f());
        let (x, is_result) = (l.x("self_or_result")?.f(), l.call.bool("is_result")?);
        let low = if is_result {
            g.clone() * i * (x.clone() + a * s.clone())
        } else {
            g.clone() * i.clone() * a * s.clone() * X::call("exp", &[&(&x * &i)])
        };
        Ok(X::where_(&x.le(&float(0.0)), &low, &(g * s)))
    }),
    ("aten.gelu.default", |l| {
        let x = l.x("self")?.f();
        let inner = if l.call.str("approximate")? == "tanh" {
            X::call("tanh_of", &[&gelu_inner(&x)])
        } else {
            X::call("erf", &[&(x.clone() * float(std::f64::consts::FRAC_1_SQRT_2))])
        };
        Ok(float(0.5) * x * (float(1.0) + inner))
    }),
    ("aten.gelu_backward.default", gelu_backward),
    ("aten.softplus.default", |l| {
        let (x, beta, threshold) = (l.x("self")?.f(), l.x("beta")?.f(), l.x("threshold")?.f());
        let scaled = &x * &beta;
        Ok(X::where_(&scaled.gt(&threshold), &x, &(X::call("log1p", &[&scaled.exp()]) / beta)))
    }),
    ("aten.softplus_backward.default", |l| {
        let (g, x) = (l.x("grad_output")?.f(), l.x("self")?.f());
        let (beta, threshold) = (l.x("beta")?.f(), l.x("threshold")?.f());
        let scaled = &x * &beta;
        Ok(X::where_(&scaled.gt(&threshold), &g, &(g.clone() * X::call("sigmoid", &[&scaled]))))
    }),
    ("aten.threshold.default", |l| {
        let (x, t, v) = (l.as_out("self")?, l.as_out("threshold")?, l.as_out("value")?);
        Ok(X::where_(&x.le(&t), &v, &x))
    }),
    ("aten.threshold_backward.default", |l| {
        let (g, x, t) = (l.as_out("grad_output")?, l.as_out("self")?, l.as_out("threshold")?);
        let zero = int(0).cast(g.ty());
        Ok(X::where_(&x.le(&t), &zero, &g))
    }),
    ("aten.sigmoid_backward.default", |l| {
        let (g, y) = (l.x("grad_output")?.f(), l.x("output")?.f());
        Ok(g * (float(1.0) - y.clone()) * y)
    }),
    ("aten.tanh_backward.default", |l| {
        let (g, y) = (l.x("grad_output")?.f(), l.x("output")?.f());
        Ok(g * (float(1.0) - y.square()))
    }),
    ("aten.silu_backward.default", |l| {
        let (g, x) = (l.x("grad_output")?.f(), l.x("self")?.f());
        let s = X::call("sigmoid", &[&x]);
        Ok(g * s.clone() * (float(1.0) + x * (float(1.0) - s)))
    }),
    ("aten.hardtanh_backward.default", |l| {
        let (g, x) = (l.x("grad_output")?.f(), l.x("self")?.f());
        let (low, high) = (l.x("min_val")?.f(), l.x("max_val")?.f());
        Ok(X::where_(&x.le(&low).or(&x.ge(&high)), &float(0.0), &g))
    }),
    ("aten.hardsigmoid_backward.default", |l| {
        let (g, x) = (l.x("grad_output")?.f(), l.x("self")?.f());
        let inside = x.gt(&float(-3.0)).and(&x.lt(&float(3.0)));
        Ok(X::where_(&inside, &(g * float(1.0 / 6.0)), &float(0.0)))
    }),
    ("aten.hardswish_backward.default", |l| {
        let (g, x) = (l.x("grad_output")?.f(), l.x("self")?.f());
        let middle = g.clone() * (x.clone() / float(3.0) + float(0.5));
        let high = X::where_(&x.le(&float(3.0)), &middle, &g);
        Ok(X::where_(&x.lt(&float(-3.0)), &float(0.0), &high))
    }),
    ("aten.native_dropout_backward.default", |l| {
        let (g, mask, scale) = (l.x("grad_output")?.f(), l.x("mask")?.f(), l.x("scale")?.f());
        Ok(g * mask * scale)
    }),
    // Tensors from nothing.
    ("aten.full.default", |l| l.as_out("fill_value")),
    ("aten.full_like.default", |l| l.as_out("fill_value")),
    ("aten.new_full.default", |l| l.as_out("fill_value")),
    ("aten.scalar_tensor.default", |l| l.as_out("s")),
    ("aten.zeros.default", |l| constant(l, 0)),
    ("aten.zeros_like.default", |l| constant(l, 0)),
    ("aten.new_zeros.default", |l| constant(l, 0)),
    ("aten.ones.default", |l| constant(l, 1)),
    ("aten.ones_like.default", |l| constant(l, 1)),
    ("aten.new_ones.default", |l| constant(l, 1)),
    ("aten.empty.memory_format", |l| constant(l, 0)),
    ("aten.empty_like.default", |l| constant(l, 0)),
    ("aten.empty_strided.default", |l| constant(l, 0)),
    ("aten.new_empty.default", |l| constant(l, 0)),
    ("aten.new_empty_strided.default", |l| constant(l, 0)),
    ("aten.arange.default", |l| steps(l, "", "")),
    ("aten.arange.start", |l| steps(l, "start", "")),
    ("aten.arange.start_step", |l| steps(l, "start", "step")),
    ("prims.iota.default", |l| steps(l, "start", "step")),
    ("aten.eye.default", |l| {
        let ty = l.ty()?;
        Ok(coord(0).equals(&coord(1)).cast(ty))
    }),
];

fn shrink_backward(l: &mut Lower, grad: &str) -> Result<X> {
    let (g, x, b) = (l.x(grad)?.f(), l.x("self")?.f(), l.x("lambd")?.f());
    Ok(X::where_(&x.ge(&(float(0.0) - b.clone())).and(&x.le(&b)), &float(0.0), &g))
}

fn softplus(x: &X) -> X {
    X::where_(&x.gt(&float(20.0)), x, &X::call("log1p", &[&x.exp()]))
}

fn clamp(x: &X, low: f64, high: f64) -> X {
    X::call("nan_min", &[&X::call("nan_max", &[x, &float(low)]), &float(high)])
}

fn any_unary(l: &mut Lower, name: &'static str) -> Result<X> {
    let x = l.x("self")?;
    Ok(match x.ty() {
        Ty::Float => X::call(name, &[&x]),
        Ty::Int => X::call_int(name, &[&x]),
        Ty::Bool => x,
    })
}

fn rounding(l: &mut Lower, name: &'static str) -> Result<X> {
    let x = l.x("self")?;
    if name == "round" && l.call.entry.schema.position("decimals").is_some() {
        return Err(Error::not_implemented("decimals"));
    }
    Ok(if x.ty() == Ty::Float { X::call(name, &[&x]) } else { x })
}

fn times(l: &mut Lower, x: X, name: &str) -> Result<X> {
    let ty = l.ty()?;
    let alpha = scalar(l.call.get(name))?.cast(ty);
    Ok(match alpha.0.kind {
        crate::language::Kind::Float(1.0) | crate::language::Kind::Int(1) | crate::language::Kind::Bool(true) => x,
        _ => x * alpha,
    })
}

fn arithmetic_out(l: &Lower) -> Result<()> {
    if l.out(0)?.dtype == Dtype::Bool { Err(Error::not_implemented("arithmetic of bools")) } else { Ok(()) }
}

fn add(l: &mut Lower) -> Result<X> {
    if l.out(0)?.dtype == Dtype::Bool {
        return Ok(l.x("self")?.or(&l.x("other")?));
    }
    let (a, b) = (l.as_out("self")?, l.as_out("other")?);
    Ok(a + times(l, b, "alpha")?)
}

fn sub(l: &mut Lower) -> Result<X> {
    arithmetic_out(l)?;
    let (a, b) = (l.as_out("self")?, l.as_out("other")?);
    Ok(a - times(l, b, "alpha")?)
}

fn rsub(l: &mut Lower) -> Result<X> {
    arithmetic_out(l)?;
    let (a, b) = (l.as_out("self")?, l.as_out("other")?);
    Ok(b - times(l, a, "alpha")?)
}

fn mul(l: &mut Lower) -> Result<X> {
    if l.out(0)?.dtype == Dtype::Bool {
        return Ok(l.x("self")?.and(&l.x("other")?));
    }
    Ok(l.as_out("self")? * l.as_out("other")?)
}

fn div_mode(l: &mut Lower) -> Result<X> {
    match l.call.get("rounding_mode") {
        Value::None => Ok(l.x("self")?.f() / l.x("other")?.f()),
        Value::Str(mode) if &**mode == "floor" => rounded_div(l, "floor"),
        _ => rounded_div(l, "trunc"),
    }
}

fn rounded_div(l: &mut Lower, mode: &'static str) -> Result<X> {
    let dtype = l.out(0)?.dtype;
    let (a, b) =
        if dtype.is_integral() { (l.cast("self", dtype)?, l.cast("other", dtype)?) } else { (l.as_out("self")?, l.as_out("other")?) };
    Ok(match (a.ty(), mode) {
        (Ty::Float, _) => X::call(mode, &[&(a / b)]),
        (_, "floor") => X::call_int("floor_div_int", &[&a, &b]),
        _ => a.i() / b.i(),
    })
}

fn two(l: &mut Lower, name: &'static str, int_name: &'static str) -> Result<X> {
    let dtype = l.out(0)?.dtype;
    let (a, b) = (l.cast("self", dtype)?, l.cast("other", dtype)?);
    Ok(X::call_any(name, int_name, &a, &b))
}

fn pow_scalar(l: &mut Lower) -> Result<X> {
    let x = l.as_out("self")?;
    let exponent = scalar(l.call.get("exponent"))?;
    let number = l.call.get("exponent").float()?;
    Ok(match number {
        _ if number == 2.0 => x.square(),
        _ if number == 1.0 => x,
        _ if number == 3.0 => x.clone() * x.clone() * x,
        _ if number == 0.5 && x.ty() == Ty::Float => x.sqrt(),
        _ if number == -0.5 && x.ty() == Ty::Float => x.rsqrt(),
        _ if number == -1.0 && x.ty() == Ty::Float => float(1.0) / x,
        _ if number == -2.0 && x.ty() == Ty::Float => float(1.0) / x.square(),
        _ => X::call_any("power", "power_int", &x, &exponent.cast(x.ty())),
    })
}

fn lerp(l: &mut Lower) -> Result<X> {
    let (a, b, w) = (l.x("self")?.f(), l.x("end")?.f(), l.x("weight")?.f());
    let difference = &b - &a;
    let near = &a + &(&w * &difference);
    let far = &b - &(&difference * &(float(1.0) - w.clone()));
    Ok(X::where_(&X::call("abs", &[&w]).lt(&float(0.5)), &near, &far))
}

fn compare(l: &mut Lower, relation: fn(&X, &X) -> X) -> Result<X> {
    let dtype = l.common(&["self", "other"]);
    Ok(relation(&l.cast("self", dtype)?, &l.cast("other", dtype)?))
}

fn bitwise(l: &mut Lower, op: &'static str) -> Result<X> {
    let (a, b) = (l.x("self")?, l.x("other")?);
    if l.out(0)?.dtype != Dtype::Bool {
        return Ok(a.bits(op, &b));
    }
    Ok(match op {
        "&" => a.and(&b),
        "|" => a.or(&b),
        _ => a.b().differs(&b.b()),
    })
}

fn where_(l: &mut Lower) -> Result<X> {
    let condition = l.x("condition")?;
    Ok(X::where_(&condition, &l.as_out("self")?, &l.as_out("other")?))
}

fn limits(l: &mut Lower, low: &str, high: &str) -> Result<X> {
    let mut x = l.as_out("self")?;
    if !low.is_empty() && !l.call.get(low).is_none() {
        x = X::call_any("nan_max", "max", &x, &l.as_out(low)?);
    }
    if !high.is_empty() && !l.call.get(high).is_none() {
        x = X::call_any("nan_min", "min", &x, &l.as_out(high)?);
    }
    Ok(x)
}

fn triangle(l: &mut Lower, lower: bool) -> Result<X> {
    let (x, rank, diagonal) = (l.x("self")?, l.rank(), l.call.int("diagonal")?);
    if rank < 2 {
        return Err(Error::not_implemented("a triangle of fewer than two dimensions"));
    }
    let edge = coord(rank - 1) - coord(rank - 2);
    let keep = if lower { edge.le(&int(diagonal)) } else { edge.ge(&int(diagonal)) };
    Ok(X::where_(&keep, &x, &int(0).cast(x.ty())))
}

fn constant(l: &mut Lower, value: i64) -> Result<X> {
    let ty = l.ty()?;
    Ok(int(value).cast(ty))
}

fn steps(l: &mut Lower, start: &str, step: &str) -> Result<X> {
    let out = l.out(0)?;
    let ty = if out.dtype.category() == Category::Floating { Ty::Float } else { Ty::Int };
    let mut x = coord(0).cast(ty);
    if !step.is_empty() {
        x = x * scalar(l.call.get(step))?.cast(ty);
    }
    if !start.is_empty() {
        x = x + scalar(l.call.get(start))?.cast(ty);
    }
    Ok(x)
}

/// What gelu's approximation takes the tanh of. Source: Hendrycks and Gimpel.
fn gelu_inner(x: &X) -> X {
    let cubed = x.clone() * x.clone() * x.clone();
    float(0.797_884_560_802_865_4) * (x.clone() + float(0.044715) * cubed)
}

fn gelu_backward(l: &mut Lower) -> Result<X> {
    let (g, x) = (l.x("grad_output")?.f(), l.x("self")?.f());
    if l.call.str("approximate")? == "tanh" {
        let t = X::call("tanh_of", &[&gelu_inner(&x)]);
        let slope = float(0.797_884_560_802_865_4) * (float(1.0) + float(3.0 * 0.044715) * x.square());
        let left = float(0.5) * (float(1.0) + t.clone());
        let right = float(0.5) * x * (float(1.0) - t.square()) * slope;
        return Ok(g * (left + right));
    }
    let cdf = float(0.5) * (float(1.0) + X::call("erf", &[&(x.clone() * float(std::f64::consts::FRAC_1_SQRT_2))]));
    let pdf = (float(-0.5) * x.square()).exp() * float(0.398_942_280_401_432_7);
    Ok(g * (cdf + x * pdf))
}
