//! Complex numbers. Operators that move or add elements run their real kernel on the real parts, then on the imaginary ones;
//! products are four real products; functions are computed in pairs of f64.

use super::elementwise::{gather, not_for, scatter};
use diagnostics::error::{Error, Result};
use dispatch::{Call, Complex, Kernel, KernelTable, OpRef, Value, real_kernel};
use std::f64::consts::PI;
use tensor::{Dtype, Tensor};

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct C {
    /// Its real part.
    pub re: f64,
    /// Its imaginary part.
    pub im: f64,
}

/// The number of these parts.
pub fn c(re: f64, im: f64) -> C {
    C { re, im }
}

impl std::ops::Add for C {
    type Output = C;
    fn add(self, o: C) -> C {
        c(self.re + o.re, self.im + o.im)
    }
}
impl std::ops::Sub for C {
    type Output = C;
    fn sub(self, o: C) -> C {
        c(self.re - o.re, self.im - o.im)
    }
}
impl std::ops::Mul for C {
    type Output = C;
    fn mul(self, o: C) -> C {
        c(self.re * o.re - self.im * o.im, self.re * o.im + self.im * o.re)
    }
}
impl std::ops::Div for C {
    type Output = C;
    fn div(self, o: C) -> C {
        let scale = o.re.abs().max(o.im.abs());
        if scale == 0.0 {
            return c(self.re / scale, self.im / scale);
        }
        if !scale.is_finite() {
            let n = o.re * o.re + o.im * o.im;
            return c((self.re * o.re + self.im * o.im) / n, (self.im * o.re - self.re * o.im) / n);
        }
        let (a, b) = (o.re / scale, o.im / scale);
        let n = (a * a + b * b) * scale;
        c((self.re * a + self.im * b) / n, (self.im * a - self.re * b) / n)
    }
}

impl C {
    /// `exp(i angle) * abs`
    pub fn polar(abs: f64, angle: f64) -> C {
        c(abs * angle.cos(), abs * angle.sin())
    }
    /// Its distance from zero.
    pub fn abs(self) -> f64 {
        self.re.hypot(self.im)
    }
    fn angle(self) -> f64 {
        self.im.atan2(self.re)
    }
    /// Both parts, times a number.
    pub fn scale(self, by: f64) -> C {
        c(self.re * by, self.im * by)
    }
    fn exp(self) -> C {
        if self.im == 0.0 { c(self.re.exp(), self.im) } else { C::polar(self.re.exp(), self.im) }
    }
    fn ln(self) -> C {
        c(self.abs().ln(), self.angle())
    }
    fn sqrt(self) -> C {
        if self == C::default() {
            return self;
        }
        let half = ((self.abs() + self.re.abs()) / 2.0).sqrt();
        let other = self.im / (2.0 * half);
        if self.re >= 0.0 { c(half, other) } else { c(other.abs(), half.copysign(self.im)) }
    }
    fn sinh(self) -> C {
        c(self.re.sinh() * self.im.cos(), self.re.cosh() * self.im.sin())
    }
    fn cosh(self) -> C {
        c(self.re.cosh() * self.im.cos(), self.re.sinh() * self.im.sin())
    }
    fn sin(self) -> C {
        c(self.re.sin() * self.im.cosh(), self.re.cos() * self.im.sinh())
    }
    fn cos(self) -> C {
        c(self.re.cos() * self.im.cosh(), -self.re.sin() * self.im.sinh())
    }
    fn tanh(self) -> C {
        if self.re.abs() > 20.0 {
            return c(1f64.copysign(self.re), 0.0);
        }
        let n = self.re.sinh().powi(2) + self.im.cos().powi(2);
        c(self.re.sinh() * self.re.cosh() / n, self.im.sin() * self.im.cos() / n)
    }
    fn pow(self, o: C) -> C {
        if o == C::default() {
            return c(1.0, 0.0);
        }
        // Small whole exponents are products.
        if o.im == 0.0 && o.re.fract() == 0.0 && o.re.abs() <= 16.0 {
            let power = (0..o.re.abs() as i32).fold(c(1.0, 0.0), |acc, _| acc * self);
            return if o.re < 0.0 { c(1.0, 0.0) / power } else { power };
        }
        if self == C::default() { C::default() } else { (self.ln() * o).exp() }
    }
}

const ONE: C = C { re: 1.0, im: 0.0 };

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
    let counts = matches!(name, "self" | "other" | "value" | "fill_value" | "s" | "values");
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

fn unknown(c: &Call) -> Error {
    not_for(c.entry.base_name(), Dtype::Complex64)
}

fn by_parts(c: &Call, outs: &[Tensor]) -> Result<()> {
    if matches!(c.get("alpha"), Value::Complex(..)) {
        return Err(Error::not_implemented(format!("{}: a complex alpha is not implemented in this playground", c.entry.base_name())));
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
fn apart(out: &Tensor) -> Result<Tensor> {
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

fn unary(call: &Call, outs: &[Tensor], f: fn(C) -> C) -> Result<()> {
    let values: Vec<C> = read(&call.args[0], &outs[0].concrete()?.sizes)?.into_iter().map(f).collect();
    write(&outs[0], &values)
}

fn reading(call: &Call, outs: &[Tensor], f: fn(C) -> f64) -> Result<()> {
    let values: Vec<f64> = read(&call.args[0], &outs[0].concrete()?.sizes)?.into_iter().map(f).collect();
    scatter(&outs[0], &values)
}

fn binary(call: &Call, outs: &[Tensor], f: fn(C, C) -> C) -> Result<()> {
    let sizes = outs[0].concrete()?.sizes;
    let (a, b) = (read(&call.args[0], &sizes)?, read(&call.args[1], &sizes)?);
    write(&outs[0], &a.into_iter().zip(b).map(|(a, b)| f(a, b)).collect::<Vec<_>>())
}

fn equality(call: &Call, outs: &[Tensor], equal: bool) -> Result<()> {
    let sizes = outs[0].concrete()?.sizes;
    let (a, b) = (read(&call.args[0], &sizes)?, read(&call.args[1], &sizes)?);
    scatter(&outs[0], &a.into_iter().zip(b).map(|(a, b)| u8::from((a == b) == equal)).collect::<Vec<u8>>())
}

/// A product that is linear in both arguments, or in the first one's conjugate: its parts are sums of real products.
fn product(call: &Call, outs: &[Tensor]) -> Result<()> {
    let Some(Complex::Product(first, second)) = call.entry.complex else { return Err(unknown(call)) };
    let Some(Kernel::Fill(fill)) = real_kernel(call.entry) else { return Err(unknown(call)) };
    let position = |name: &str| call.entry.schema.position(name).ok_or_else(|| unknown(call));
    let (first, second) = (position(first)?, position(second)?);
    let mut spec = outs[0].spec();
    spec.dtype = spec.dtype.to_real();
    let sizes = outs[0].concrete()?.sizes;
    let real = |i: i64, j: i64| -> Result<Vec<f64>> {
        let mut args = call.args.to_vec();
        args[first] = part_of("", &args[first], i)?;
        args[second] = part_of("", &args[second], j)?;
        let out = Tensor::zeros(&spec)?;
        fill(&Call { entry: call.entry, args: &args }, std::slice::from_ref(&out))?;
        gather::<f64>(&out, &sizes)
    };
    let (rr, ii, ri, ir) = (real(0, 0)?, real(1, 1)?, real(0, 1)?, real(1, 0)?);
    // vdot takes the conjugate of its first vector.
    static VDOT: OpRef = OpRef::new("vdot");
    let sign = if VDOT.is(call.entry) { -1.0 } else { 1.0 };
    let values: Vec<C> = (0..rr.len()).map(|k| c(rr[k] - sign * ii[k], ri[k] + sign * ir[k])).collect();
    write(&outs[0], &values)
}

/// The norm of complex numbers is that of their absolute values.
fn norm(call: &Call, outs: &[Tensor]) -> Result<()> {
    let Some(Kernel::Fill(fill)) = real_kernel(call.entry) else { return Err(unknown(call)) };
    let x = call.args[0].tensor()?;
    let sizes = x.concrete()?.sizes;
    let values: Vec<f64> = read(&call.args[0], &sizes)?.into_iter().map(C::abs).collect();
    let absolute = Tensor::zeros(&tensor::TensorSpec::contiguous(x.sizes(), x.dtype().to_real(), x.device()))?;
    scatter(&absolute, &values)?;
    let mut args = call.args.to_vec();
    args[0] = absolute.into();
    fill(&Call { entry: call.entry, args: &args }, outs)
}

fn product_of_elements(call: &Call, outs: &[Tensor]) -> Result<()> {
    let x = call.tensor("self")?.concrete()?;
    let values = read(call.get("self"), &x.sizes)?.into_iter();
    if !outs[0].dtype().is_complex() {
        // What is made real is made so before it is multiplied.
        return scatter(&outs[0], &[values.map(|z| z.re).product::<f64>()]);
    }
    write(&outs[0], &[values.fold(ONE, |a, b| a * b)])
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

/// Functions of one number or two, element by element.
fn register_functions(t: &mut KernelTable) {
    t.fill_complex("aten.exp.default", |call, o| unary(call, o, C::exp));
    t.fill_complex("aten.expm1.default", |call, o| unary(call, o, |z| z.exp() - ONE));
    t.fill_complex("aten.log.default", |call, o| unary(call, o, C::ln));
    t.fill_complex("aten.log2.default", |call, o| unary(call, o, |z| z.ln().scale(std::f64::consts::LOG2_E)));
    t.fill_complex("aten.log10.default", |call, o| unary(call, o, |z| z.ln().scale(std::f64::consts::LOG10_E)));
    t.fill_complex("aten.log1p.default", |call, o| unary(call, o, |z| (z + ONE).ln()));
    t.fill_complex("aten.sqrt.default", |call, o| unary(call, o, C::sqrt));
    t.fill_complex("aten.rsqrt.default", |call, o| unary(call, o, |z| ONE / z.sqrt()));
    t.fill_complex("aten.reciprocal.default", |call, o| unary(call, o, |z| ONE / z));
    t.fill_complex("aten.sin.default", |call, o| unary(call, o, C::sin));
    t.fill_complex("aten.cos.default", |call, o| unary(call, o, C::cos));
    t.fill_complex("aten.tan.default", |call, o| unary(call, o, |z| z.sin() / z.cos()));
    t.fill_complex("aten.sinh.default", |call, o| unary(call, o, C::sinh));
    t.fill_complex("aten.cosh.default", |call, o| unary(call, o, C::cosh));
    t.fill_complex("aten.tanh.default", |call, o| unary(call, o, C::tanh));
    t.fill_complex("aten.sigmoid.default", |call, o| unary(call, o, |z| ONE / (ONE + c(-z.re, -z.im).exp())));
    t.fill_complex("aten._conj.default", |call, o| unary(call, o, |z| c(z.re, -z.im)));
    t.fill_complex("aten._conj_physical.default", |call, o| unary(call, o, |z| c(z.re, -z.im)));
    t.fill_complex("aten.sgn.default", |call, o| unary(call, o, |z| if z == C::default() { z } else { c(z.re / z.abs(), z.im / z.abs()) }));
    t.fill_complex("aten.abs.default", |call, o| reading(call, o, C::abs));
    t.fill_complex("aten.angle.default", |call, o| reading(call, o, C::angle));
    t.fill_complex("aten.isnan.default", |call, o| reading(call, o, |z| f64::from(u8::from(z.re.is_nan() || z.im.is_nan()))));
    t.fill_complex("aten.isinf.default", |call, o| reading(call, o, |z| f64::from(u8::from(z.re.is_infinite() || z.im.is_infinite()))));
    t.fill_complex("aten.logical_not.default", |call, o| reading(call, o, |z| f64::from(u8::from(z == C::default()))));
    t.fill_complex("aten.mul.Tensor", |call, o| binary(call, o, |a, b| a * b));
    t.fill_complex("aten.mul.Scalar", |call, o| binary(call, o, |a, b| a * b));
    t.fill_complex("aten.div.Tensor", |call, o| binary(call, o, |a, b| a / b));
    t.fill_complex("aten.div.Scalar", |call, o| binary(call, o, |a, b| a / b));
    t.fill_complex("aten.pow.Tensor_Tensor", |call, o| binary(call, o, C::pow));
    t.fill_complex("aten.pow.Tensor_Scalar", |call, o| binary(call, o, C::pow));
    t.fill_complex("aten.pow.Scalar", |call, o| binary(call, o, C::pow));
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
                Complex::Product(..) => Kernel::Fill(product),
            },
        );
    }
    register_functions(t);
    for (name, equal) in [("aten.eq.Tensor", true), ("aten.eq.Scalar", true), ("aten.ne.Tensor", false), ("aten.ne.Scalar", false)] {
        t.complex(name, Kernel::Fill(if equal { |call, o| equality(call, o, true) } else { |call, o| equality(call, o, false) }));
    }
    t.complex("aten.linalg_vector_norm.default", Kernel::Fill(norm));
    t.complex("aten.prod.default", Kernel::Fill(product_of_elements));
    t.complex("aten._local_scalar_dense.default", Kernel::Make(|call| super::copy::item(call.tensor("self")?)));
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
