//! Complex numbers. Operators that move or add elements run their real kernel on the real parts, then on the imaginary ones;
//! products are four real products; functions are computed in pairs of f64.

use super::complex_number::{C, ONE, c};
use super::elementwise::{gather, not_for, scatter};
use diagnostics::error::{Error, Result};
use dispatch::{Call, Complex, Kernel, KernelTable, OpRef, Value, real_kernel};
use std::f64::consts::PI;
use tensor::{Dtype, Tensor};

/// The real (0) or imaginary (1) part of a complex tensor, as a view.
pub fn part(t: &Tensor, index: i64) -> Tensor {
    let mut g = (*t.geometry()).clone();
    g.strides.iter_mut().for_each(|s| *s = &*s * 2);
    g.offset = &(&g.offset * 2) + &index.into();
    t.view_dtype(g, t.dtype().to_real())
}

/// A complex tensor as the real numbers it lies in, with a dimension of two more.
pub fn pairs(t: &Tensor) -> Tensor {
    let mut g = (*t.geometry()).clone();
    g.strides.iter_mut().for_each(|s| *s = &*s * 2);
    g.sizes.push(2.into());
    g.strides.push(1.into());
    g.offset = &g.offset * 2;
    t.view_dtype(g, t.dtype().to_real())
}

/// The part of an argument: indices and masks are whole in both, what is real has no imaginary part.
fn part_of(name: &str, value: &Value, index: i64) -> Result<Value> {
    let whole = index == 0 || matches!(name, "index" | "indices" | "mask" | "condition");
    let counts = matches!(name, "self" | "other" | "value" | "fill_value" | "s" | "values" | "fill" | "source" | "src");
    Ok(match value {
        Value::Tensor(t) if t.dtype().is_complex() => part(t, index).into(),
        Value::Tensor(t) if !whole => {
            let mut spec = t.spec();
            spec.geometry.strides = tensor::contiguous_strides(&spec.geometry.sizes);
            spec.geometry.offset = 0.into();
            Tensor::zeros(&spec)?.into()
        }
        Value::List(items) => Value::List(items.iter().map(|v| part_of(name, v, index)).collect::<Result<_>>()?),
        Value::Complex(re, im) => Value::Float(if index == 0 { *re } else { *im }),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) if !whole && counts => Value::Float(0.0),
        Value::Dtype(d) => Value::Dtype(d.to_real()),
        other => other.clone(),
    })
}

fn split(c: &Call, index: i64) -> Result<Vec<Value>> {
    c.entry.schema.arguments.iter().zip(c.args).map(|(a, v)| part_of(&a.name, v, index)).collect()
}

/// A call that no kernel computes.
pub fn unknown(c: &Call) -> Error {
    not_for(c.entry.base_name(), Dtype::Complex64)
}

/// The arguments of a call with a complex `alpha` multiplied into what it scales.
fn scaled(c: &Call) -> Result<Option<Vec<Value>>> {
    let Some(at) = c.entry.schema.position("alpha").filter(|at| matches!(c.args[*at], Value::Complex(..))) else { return Ok(None) };
    let alpha = read(&c.args[at], &[])?[0];
    let name = if c.entry.base_name().starts_with("rsub") { "self" } else { "other" };
    let to = c.entry.schema.position(name).or_else(|| c.entry.schema.position("source")).ok_or_else(|| unknown(c))?;
    let mut args = c.args.to_vec();
    args[to] = match &args[to] {
        Value::Tensor(x) => {
            let made = Tensor::zeros(&tensor::TensorSpec::contiguous(x.sizes(), x.dtype().to_complex(), x.device()))?;
            let values = read(&args[to], &x.concrete()?.sizes)?;
            write(&made, &values.into_iter().map(|z| z * alpha).collect::<Vec<_>>())?;
            made.into()
        }
        number => {
            let product = read(number, &[])?[0] * alpha;
            Value::Complex(product.re, product.im)
        }
    };
    args[at] = Value::from(1);
    Ok(Some(args))
}

fn by_parts(c: &Call, outs: &[Tensor]) -> Result<()> {
    if let Some(args) = scaled(c)? {
        return by_parts(&Call { entry: c.entry, args: &args }, outs);
    }
    let Some(Kernel::Fill(fill)) = real_kernel(c.entry) else { return Err(unknown(c)) };
    let complex = outs.iter().any(|o| o.dtype().is_complex());
    for index in 0..if complex { 2 } else { 1 } {
        // Kernels fill results that lie densely, so each part is made apart.
        let made: Vec<Tensor> = outs.iter().map(|o| if complex { apart(o) } else { Ok(o.clone()) }).collect::<Result<_>>()?;
        fill(&Call { entry: c.entry, args: &split(c, index)? }, &made)?;
        if complex {
            outs.iter().zip(&made).try_for_each(|(out, made)| super::copy::write(&part(out, index), made))?;
        }
    }
    Ok(())
}

/// A real tensor of the geometry of a complex result.
pub fn apart(out: &Tensor) -> Result<Tensor> {
    let mut spec = out.spec();
    spec.dtype = spec.dtype.to_real();
    spec.geometry.offset = 0.into();
    Tensor::zeros(&spec)
}

fn by_parts_in_place(c: &Call) -> Result<()> {
    let Some(Kernel::Mutate(mutate)) = real_kernel(c.entry) else { return Err(unknown(c)) };
    for index in 0..if c.tensor("self")?.dtype().is_complex() { 2 } else { 1 } {
        mutate(&Call { entry: c.entry, args: &split(c, index)? })?;
    }
    Ok(())
}

fn real_part_only(c: &Call, outs: &[Tensor]) -> Result<()> {
    let Some(Kernel::Fill(fill)) = real_kernel(c.entry) else { return Err(unknown(c)) };
    if !outs[0].dtype().is_complex() {
        return fill(c, outs);
    }
    let made = apart(&outs[0])?;
    fill(&Call { entry: c.entry, args: &split(c, 0)? }, std::slice::from_ref(&made))?;
    super::copy::write(&part(&outs[0], 0), &made)
}

/// The elements of an argument broadcast to `sizes`.
pub fn read(value: &Value, sizes: &[usize]) -> Result<Vec<C>> {
    let count = sizes.iter().product();
    Ok(match value {
        Value::Tensor(t) if t.dtype().is_complex() => {
            let (re, im) = (gather::<f64>(&part(t, 0), sizes)?, gather::<f64>(&part(t, 1), sizes)?);
            re.into_iter().zip(im).map(|(re, im)| c(re, im)).collect()
        }
        Value::Tensor(t) => gather::<f64>(t, sizes)?.into_iter().map(|re| c(re, 0.0)).collect(),
        Value::Complex(re, im) => vec![c(*re, *im); count],
        other => vec![c(super::elementwise::number(other)?, 0.0); count],
    })
}

/// Writes elements given in row-major order.
pub fn write(out: &Tensor, values: &[C]) -> Result<()> {
    let part_values = |f: fn(&C) -> f64| values.iter().map(f).collect::<Vec<f64>>();
    scatter(&part(out, 0), &part_values(|z| z.re))?;
    scatter(&part(out, 1), &part_values(|z| z.im))
}

/// Numbers of tensors that products are told apart by: what a part of an argument stands for.
fn unit(conjugate: bool) -> C {
    c(0.0, if conjugate { -1.0 } else { 1.0 })
}

/// A product that is linear in its arguments, or in the first one's conjugate: real products of every choice of their parts.
fn product(call: &Call, outs: &[Tensor]) -> Result<()> {
    let Some(Complex::Product(names)) = call.entry.complex.filter(|_| outs[0].dtype().is_complex()) else { return Err(unknown(call)) };
    let Some(Kernel::Fill(fill)) = real_kernel(call.entry) else { return Err(unknown(call)) };
    let position = |name: &str| call.entry.schema.position(name);
    let factors = names.iter().map(|name| position(name).ok_or_else(|| unknown(call))).collect::<Result<Vec<usize>>>()?;
    // vdot takes the conjugate of its first vector.
    static VDOT: OpRef = OpRef::new("vdot");
    let mut args = call.args.to_vec();
    let (beta, alpha, bias) = (position("beta"), position("alpha"), position("bias"));
    if let (Some(beta), Some(alpha)) = (beta, alpha) {
        args[0] = part_of("", &args[0], 0)?;
        (args[beta], args[alpha]) = (0.into(), 1.into());
    }
    if let Some(bias) = bias {
        args[bias] = Value::None;
    }
    let sizes = outs[0].concrete()?.sizes;
    let mut values = vec![C::default(); sizes.iter().product()];
    for choice in 0..1u32 << factors.len() {
        let (mut by, mut vanishes) = (ONE, false);
        for (k, at) in factors.iter().enumerate() {
            let index = i64::from(choice >> k & 1);
            vanishes |= index == 1 && call.args[*at].as_tensor().is_some_and(|t| !t.dtype().is_complex());
            args[*at] = part_of("", &call.args[*at], index)?;
            by = if index == 1 { by * unit(k == 0 && VDOT.is(call.entry)) } else { by };
        }
        if vanishes {
            continue;
        }
        let out = apart(&outs[0])?;
        fill(&Call { entry: call.entry, args: &args }, std::slice::from_ref(&out))?;
        values.iter_mut().zip(gather::<f64>(&out, &sizes)?).for_each(|(z, v)| *z += by.scale(v));
    }
    if let (Some(beta), Some(alpha)) = (beta, alpha) {
        let (beta, alpha) = (read(&call.args[beta], &[])?[0], read(&call.args[alpha], &[])?[0]);
        values.iter_mut().for_each(|z| *z = alpha * *z);
        // What is not counted at all may be NaN.
        if beta != C::default() {
            values.iter_mut().zip(read(&call.args[0], &sizes)?).for_each(|(z, own)| *z += beta * own);
        }
    }
    if let Some(Value::Tensor(bias)) = bias.map(|at| &call.args[at]) {
        let (bias, inner) = (read(&bias.into(), &sizes[1..2])?, sizes[2..].iter().product::<usize>().max(1));
        values.iter_mut().enumerate().for_each(|(i, z)| *z += bias[i / inner % sizes[1]]);
    }
    write(&outs[0], &values)
}

/// The gradients of a convolution: products of the incoming one with the conjugates of the others.
fn convolution_backward(call: &Call, outs: &[Tensor]) -> Result<()> {
    let Some(Kernel::Fill(fill)) = real_kernel(call.entry) else { return Err(unknown(call)) };
    let mask: Vec<bool> = call.get("output_mask").list()?.iter().map(|v| matches!(v, Value::Bool(true))).collect();
    let of_bias = |k: usize| mask[2] && k + 1 == outs.len();
    let sizes: Vec<Vec<usize>> = outs.iter().map(|o| Ok(o.concrete()?.sizes)).collect::<Result<_>>()?;
    let mut values: Vec<Vec<C>> = sizes.iter().map(|s| vec![C::default(); s.iter().product()]).collect();
    for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let mut args = call.args.to_vec();
        args[0] = part_of("", &args[0], i)?;
        (args[1], args[2]) = (part_of("", &args[1], j)?, part_of("", &args[2], j)?);
        let made: Vec<Tensor> = outs.iter().map(apart).collect::<Result<_>>()?;
        fill(&Call { entry: call.entry, args: &args }, &made)?;
        let by = if i == 1 { unit(false) } else { ONE } * if j == 1 { unit(true) } else { ONE };
        for (k, part) in made.iter().enumerate().filter(|(k, _)| j == 0 || !of_bias(*k)) {
            values[k].iter_mut().zip(gather::<f64>(part, &sizes[k])?).for_each(|(z, v)| *z += by.scale(v));
        }
    }
    outs.iter().zip(&values).try_for_each(|(out, values)| write(out, values))
}

/// Runs the real kernel on which elements are not zero.
fn truth(call: &Call, outs: &[Tensor]) -> Result<()> {
    let Some(Kernel::Fill(fill)) = real_kernel(call.entry) else { return Err(unknown(call)) };
    let x = call.tensor("self")?;
    let mask = Tensor::zeros(&tensor::TensorSpec::contiguous(x.sizes(), Dtype::Bool, x.device()))?;
    let values = read(&call.args[0], &x.concrete()?.sizes)?;
    scatter(&mask, &values.into_iter().map(|z| u8::from(z != C::default())).collect::<Vec<u8>>())?;
    let mut args = call.args.to_vec();
    args[0] = mask.into();
    fill(&Call { entry: call.entry, args: &args }, outs)
}

/// Sums and means add; other reductions compare.
fn scatter_reduce(call: &Call, outs: &[Tensor]) -> Result<()> {
    match call.str("reduce")? {
        "sum" | "mean" => by_parts(call, outs),
        _ => Err(not_for("scatter_reduce", Dtype::Complex64)),
    }
}

fn equal(call: &Call) -> Result<Value> {
    let sizes = call.tensor("self")?.concrete()?.sizes;
    let same = sizes == call.tensor("other")?.concrete()?.sizes;
    Ok(Value::Bool(same && read(call.get("self"), &sizes)? == read(call.get("other"), &sizes)?))
}

fn allclose(call: &Call) -> Result<Value> {
    let (x, y) = (call.tensor("self")?, call.tensor("other")?);
    if x.dtype() != y.dtype() {
        return Err(Error::runtime(format!("{} did not match {}", x.dtype().scalar_type(), y.dtype().scalar_type())));
    }
    let (rtol, atol, equal_nan) = (call.float("rtol")?, call.float("atol")?, call.bool("equal_nan")?);
    let sizes = operators::shapes::broadcast_two(&x.sizes(), &y.sizes())?;
    let sizes: Vec<usize> = shape::concrete(&sizes)?.into_iter().map(|n| n as usize).collect();
    let nan = |z: C| z.re.is_nan() || z.im.is_nan();
    let close = |a: C, b: C| {
        let distance = (a - b).abs();
        a == b || (equal_nan && nan(a) && nan(b)) || (distance.is_finite() && distance <= atol + rtol * b.abs())
    };
    let (a, b) = (read(call.get("self"), &sizes)?, read(call.get("other"), &sizes)?);
    Ok(Value::Bool(a.into_iter().zip(b).all(|(a, b)| close(a, b))))
}

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    for entry in dispatch::all() {
        let Some(rule) = entry.complex else { continue };
        t.complex(
            entry.name,
            match rule {
                Complex::ByParts if entry.is_mutable() => Kernel::Mutate(by_parts_in_place),
                Complex::ByParts => Kernel::Fill(by_parts),
                Complex::RealPart => Kernel::Fill(real_part_only),
                Complex::Product(_) => Kernel::Fill(product),
                Complex::Truth => Kernel::Fill(truth),
            },
        );
    }
    super::complex_functions::register(t);
    super::complex_linalg::register(t);
    super::complex_eigen::register(t);
    t.complex("aten._local_scalar_dense.default", Kernel::Make(|call| super::copy::item(call.tensor("self")?)));
    t.complex("aten.convolution_backward.default", Kernel::Fill(convolution_backward));
    t.complex("aten.scatter_reduce.two", Kernel::Fill(scatter_reduce));
    t.complex("aten.equal.default", Kernel::Make(equal));
    t.complex("aten.allclose.default", Kernel::Make(allclose));
    t.complex("aten.complex.default", Kernel::Fill(|call, o| pair(call, o, c)));
    t.complex("aten.polar.default", Kernel::Fill(|call, o| pair(call, o, C::polar)));
    t.fill("aten.angle.default", |call, o| {
        let sizes = o[0].concrete()?.sizes;
        let angles: Vec<f64> = gather::<f64>(call.tensor("self")?, &sizes)?
            .into_iter()
            .map(|x| {
                if x < 0.0 {
                    PI
                } else if x.is_nan() {
                    x
                } else {
                    0.0
                }
            })
            .collect();
        scatter(&o[0], &angles)
    });
    super::fourier::register(t);
    super::fourier::register_windows(t);
}

/// Complex numbers of two real arguments.
fn pair(call: &Call, outs: &[Tensor], make: fn(f64, f64) -> C) -> Result<()> {
    let sizes = outs[0].concrete()?.sizes;
    let (a, b) = (gather::<f64>(call.args[0].tensor()?, &sizes)?, gather::<f64>(call.args[1].tensor()?, &sizes)?);
    write(&outs[0], &a.into_iter().zip(b).map(|(a, b)| make(a, b)).collect::<Vec<_>>())
}
