//! Elementwise machinery: how pointwise kernels read their operands and write their results.
//!
//! A kernel computes in one of three types (f32, which also serves float16 and bfloat16, f64, and i64, which serves every
//! integer and bool) or yields bools (u8). Operands that already lie densely in the result's own order are read in place;
//! everything else (views, broadcasts, other dtypes) is gathered first.

use super::widest::widest;
use diagnostics::error::{Error, Result};
use dispatch::Value;
use half::{bf16, f16};
use std::ops::{Add, Mul};
use tensor::{Concrete, Dtype, Element, Tensor};

/// An element of any dtype, convertible to and from the types that kernels compute in.
pub trait Number: Element {
    /// As f32.
    fn to_f32(self) -> f32;
    /// As f64.
    fn to_f64(self) -> f64;
    /// As i64, truncating; out of range values wrap as C++ conversions do in practice.
    fn to_i64(self) -> i64;
    /// From f32.
    fn of_f32(v: f32) -> Self;
    /// From f64.
    fn of_f64(v: f64) -> Self;
    /// From i64, wrapping.
    fn of_i64(v: i64) -> Self;
}

/// A float as a machine's instruction makes an integer of 32 bits of it, which shorter ones are then cut from.
fn to_i32(v: f64) -> i32 {
    let whole = v.to_i64();
    i32::try_from(whole).unwrap_or(i32::MIN)
}

macro_rules! integers {
    ($($t:ty)*; $whole:expr) => { $(impl Number for $t {
        fn to_f32(self) -> f32 { self as f32 }
        fn to_f64(self) -> f64 { self as f64 }
        fn to_i64(self) -> i64 { self as i64 }
        fn of_f32(v: f32) -> Self { $whole(f64::from(v)) as $t }
        fn of_f64(v: f64) -> Self { $whole(v) as $t }
        fn of_i64(v: i64) -> Self { v as $t }
    })* };
}
integers!(u8 i8 i16 i32; to_i32);
integers!(i64; Number::to_i64);

impl Number for f32 {
    fn to_f32(self) -> f32 {
        self
    }
    fn to_f64(self) -> f64 {
        self as f64
    }
    fn to_i64(self) -> i64 {
        (self as f64).to_i64()
    }
    fn of_f32(v: f32) -> Self {
        v
    }
    fn of_f64(v: f64) -> Self {
        v as f32
    }
    fn of_i64(v: i64) -> Self {
        v as f32
    }
}

impl Number for f64 {
    fn to_f32(self) -> f32 {
        self as f32
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn to_i64(self) -> i64 {
        if self.is_nan() || self >= 9_223_372_036_854_775_808.0 { i64::MIN } else { self as i64 }
    }
    fn of_f32(v: f32) -> Self {
        v as f64
    }
    fn of_f64(v: f64) -> Self {
        v
    }
    fn of_i64(v: i64) -> Self {
        v as f64
    }
}

macro_rules! halves {
    ($($t:ty)*) => { $(impl Number for $t {
        fn to_f32(self) -> f32 { <$t>::to_f32(self) }
        fn to_f64(self) -> f64 { <$t>::to_f64(self) }
        fn to_i64(self) -> i64 { Number::to_i64(<$t>::to_f64(self)) }
        fn of_f32(v: f32) -> Self { <$t>::from_f32(v) }
        fn of_f64(v: f64) -> Self { <$t>::from_f32(v as f32) }
        fn of_i64(v: i64) -> Self { <$t>::from_f32(v as f32) }
    })* };
}
halves!(f16 bf16);

/// A type that kernels compute in or yield.
pub trait Compute: Number + PartialOrd + Default {
    /// From an element.
    fn read<S: Number>(v: S) -> Self;
    /// To an element.
    fn write<S: Number>(self) -> S;
    /// Whether it counts as true.
    fn truth(self) -> bool;
    /// The sum; of integers, what is left of it.
    fn plus(self, other: Self) -> Self;
    /// The product; of integers, what is left of it.
    fn times(self, other: Self) -> Self;
}

macro_rules! compute {
    ($($t:ty, $to:ident, $of:ident, $zero:expr, $plus:expr, $times:expr;)*) => { $(impl Compute for $t {
        fn read<S: Number>(v: S) -> Self { v.$to() as $t }
        fn write<S: Number>(self) -> S { S::$of(self as _) }
        fn truth(self) -> bool { self != $zero }
        fn plus(self, other: Self) -> Self { $plus(self, other) }
        fn times(self, other: Self) -> Self { $times(self, other) }
    })* };
}
compute! {
    f32, to_f32, of_f32, 0.0, f32::add, f32::mul;
    f64, to_f64, of_f64, 0.0, f64::add, f64::mul;
    i64, to_i64, of_i64, 0, i64::wrapping_add, i64::wrapping_mul;
    u8, to_i64, of_i64, 0, u8::wrapping_add, u8::wrapping_mul;
}

/// Runs `$body` with `$t` as the Rust type of the dtype's elements; complex dtypes are refused in PyTorch's words.
macro_rules! with_element {
    ($dtype:expr, $name:expr, $t:ident => $body:expr) => {{
        use tensor::Dtype;
        match $dtype {
            Dtype::Bool | Dtype::UInt8 => {
                type $t = u8;
                $body
            }
            Dtype::Int8 => {
                type $t = i8;
                $body
            }
            Dtype::Int16 => {
                type $t = i16;
                $body
            }
            Dtype::Int32 => {
                type $t = i32;
                $body
            }
            Dtype::Int64 => {
                type $t = i64;
                $body
            }
            Dtype::Float16 => {
                type $t = half::f16;
                $body
            }
            Dtype::BFloat16 => {
                type $t = half::bf16;
                $body
            }
            Dtype::Float32 => {
                type $t = f32;
                $body
            }
            Dtype::Float64 => {
                type $t = f64;
                $body
            }
            other => Err($crate::elementwise::not_for($name, other)),
        }
    }};
}
pub(crate) use with_element;

/// PyTorch's message for a dtype that a kernel does not take.
pub fn not_for(name: &str, dtype: Dtype) -> Error {
    Error::not_implemented(format!("\"{name}\" not implemented for '{}'", dtype.scalar_type()))
}

/// Calls `f(start, stride, length)` for every innermost run of a strided tensor, in row-major order.
pub fn for_runs(sizes: &[usize], strides: &[isize], offset: isize, f: &mut dyn FnMut(isize, isize, usize)) {
    if sizes.contains(&0) {
        return;
    }
    // Neighbouring dimensions that one stride covers are one.
    let mut dims: Vec<(usize, isize)> = Vec::with_capacity(sizes.len());
    for (&size, &stride) in sizes.iter().zip(strides) {
        if size == 1 {
            continue;
        }
        match dims.last_mut() {
            Some((have, outer)) if *outer == stride * size as isize => {
                *have *= size;
                *outer = stride;
            }
            _ => dims.push((size, stride)),
        }
    }
    let Some((length, inner)) = dims.pop() else {
        f(offset, 1, 1);
        return;
    };
    let (mut index, mut at) = (vec![0usize; dims.len()], offset);
    loop {
        f(at, inner, length);
        let mut d = dims.len();
        loop {
            if d == 0 {
                return;
            }
            d -= 1;
            index[d] += 1;
            at += dims[d].1;
            if index[d] < dims[d].0 {
                break;
            }
            at -= dims[d].1 * dims[d].0 as isize;
            index[d] = 0;
        }
    }
}

/// Likewise for the elements from one row-major position to another.
pub fn for_runs_between(sizes: &[usize], strides: &[isize], offset: isize, from: usize, to: usize, f: &mut dyn FnMut(isize, isize, usize)) {
    if sizes.contains(&0) {
        return;
    }
    let Some((&length, outer)) = sizes.split_last() else {
        if from < to {
            f(offset, 1, 1);
        }
        return;
    };
    let inner = strides[outer.len()];
    let mut index = vec![0; outer.len()];
    let (mut row, mut at) = (from / length, offset);
    for d in (0..outer.len()).rev() {
        index[d] = row % outer[d];
        row /= outer[d];
        at += index[d] as isize * strides[d];
    }
    let (mut position, mut first) = (from, from % length);
    while position < to {
        let run = (length - first).min(to - position);
        f(at + first as isize * inner, inner, run);
        position += run;
        first = 0;
        for d in (0..outer.len()).rev() {
            index[d] += 1;
            at += strides[d];
            if index[d] < outer[d] {
                break;
            }
            at -= strides[d] * outer[d] as isize;
            index[d] = 0;
        }
    }
}

/// Strides with which a tensor of `g` is read as one of `sizes`: broadcast dimensions have none.
pub fn broadcast_strides(g: &Concrete, sizes: &[usize]) -> Vec<isize> {
    let lead = sizes.len() - g.sizes.len();
    let mut strides = vec![0; sizes.len()];
    for (i, (&size, &stride)) in g.sizes.iter().zip(&g.strides).enumerate() {
        strides[lead + i] = if size == 1 && sizes[lead + i] != 1 { 0 } else { stride };
    }
    strides
}

/// The elements of a tensor broadcast to `sizes`, in row-major order.
pub fn gather<C: Compute>(t: &Tensor, sizes: &[usize]) -> Result<Vec<C>> {
    let g = t.concrete()?;
    if g.sizes.len() > sizes.len() {
        return Err(Error::runtime("an operand has more dimensions than its result"));
    }
    let strides = broadcast_strides(&g, sizes);
    let mut out = Vec::with_capacity(tensor::elements(sizes));
    with_element!(t.dtype(), "copy_", S => t.with_slice::<S, _>(|data| {
        for_runs(sizes, &strides, g.offset as isize, &mut |start, stride, length| {
            if stride == 1 {
                out.extend(data[start as usize..start as usize + length].iter().map(|v| C::read(*v)));
            } else if stride == 0 {
                out.extend(std::iter::repeat_n(C::read(data[start as usize]), length));
            } else {
                out.extend((0..length as isize).map(|i| C::read(data[(start + i * stride) as usize])));
            }
        })
    }))?;
    Ok(out)
}

/// The elements of a tensor, in row-major order.
pub fn values<C: Compute>(t: &Tensor) -> Result<Vec<C>> {
    gather(t, &t.concrete()?.sizes)
}

/// Writes elements given in row-major order.
pub fn scatter<C: Compute>(t: &Tensor, values: &[C]) -> Result<()> {
    let g = t.concrete()?;
    let mut next = 0;
    if t.dtype() == Dtype::Bool {
        return t.with_slice_mut::<u8, _>(|data| {
            for_runs(&g.sizes, &g.strides, g.offset as isize, &mut |start, stride, length| {
                for i in 0..length as isize {
                    data[(start + i * stride) as usize] = u8::from(values[next].truth());
                    next += 1;
                }
            });
        });
    }
    with_element!(t.dtype(), "copy_", S => t.with_slice_mut::<S, _>(|data| {
        for_runs(&g.sizes, &g.strides, g.offset as isize, &mut |start, stride, length| {
            if stride == 1 {
                for (to, from) in data[start as usize..start as usize + length].iter_mut().zip(&values[next..]) {
                    *to = from.write();
                }
            } else {
                for i in 0..length as isize {
                    data[(start + i * stride) as usize] = values[next + i as usize].write();
                }
            }
            next += length;
        });
    }))
}

/// An operand: all of its elements in the order of the result, or one for all.
#[derive(Clone, Copy)]
pub enum Operand<'a, C> {
    /// Element by element.
    Slice(&'a [C]),
    /// The same everywhere.
    One(C),
}

impl<C: Copy> Operand<'_, C> {
    /// The element of an index.
    #[inline(always)]
    pub fn at(&self, i: usize) -> C {
        match self {
            Operand::Slice(s) => s[i],
            Operand::One(v) => *v,
        }
    }
}

/// A Python number as an element.
pub fn number<C: Compute>(v: &Value) -> Result<C> {
    Ok(match v {
        Value::Int(i) => C::read(i.guard_int()?),
        Value::Complex(..) => return Err(not_for("fill_cpu", Dtype::Complex64)),
        other => C::read(other.float()?),
    })
}

/// How the elements of a call's operands and result correspond.
pub struct Plan {
    /// The result's geometry.
    pub out: Concrete,
    /// Whether everything of the result's size is dense in the result's own memory order.
    pub flat: bool,
}

impl Plan {
    /// The plan for a freshly allocated result and its operands (tensors and Python numbers).
    pub fn new(out: &Tensor, operands: &[&Value]) -> Result<Plan> {
        let out = out.concrete()?;
        let mut flat = true;
        for t in operands.iter().filter_map(|v| v.as_tensor()) {
            let g = t.concrete()?;
            let same = g.sizes == out.sizes && g.strides.iter().zip(&out.strides).zip(&g.sizes).all(|((a, b), n)| a == b || *n == 1);
            flat &= same || g.numel() == 1;
        }
        Ok(Plan { out, flat })
    }

    /// Hands an operand's elements to `f`.
    pub fn operand<C: Compute, R>(&self, v: &Value, f: &mut dyn FnMut(Operand<C>) -> R) -> Result<R> {
        let Value::Tensor(t) = v else { return Ok(f(Operand::One(number(v)?))) };
        let (g, n) = (t.concrete()?, self.out.numel());
        if g.numel() == 1 {
            let one = with_element!(t.dtype(), "copy_", S => t.with_slice::<S, _>(|d| C::read(d[g.offset])))?;
            return Ok(f(Operand::One(one)));
        }
        if n == 0 {
            return Ok(f(Operand::Slice(&[])));
        }
        if !self.flat && !(g.sizes == self.out.sizes && g.is_contiguous() && t.dtype() == C::DTYPE) {
            return Ok(f(Operand::Slice(&gather(t, &self.out.sizes)?)));
        }
        if t.dtype() == C::DTYPE || (t.dtype() == Dtype::Bool && C::DTYPE == Dtype::UInt8) {
            return t.with_slice::<C, _>(|d| f(Operand::Slice(&d[g.offset..g.offset + n])));
        }
        let converted: Vec<C> = with_element!(t.dtype(), "copy_", S => t.with_slice::<S, _>(|d| d[g.offset..g.offset + n].iter().map(|v| C::read(*v)).collect()))?;
        Ok(f(Operand::Slice(&converted)))
    }

    /// Lets `f` fill the result's elements: in memory order where the plan is flat, in row-major order otherwise.
    pub fn fill<O: Compute>(&self, out: &Tensor, f: &mut dyn FnMut(&mut [O])) -> Result<()> {
        let n = self.out.numel();
        let direct = out.dtype() == O::DTYPE || (out.dtype() == Dtype::Bool && O::DTYPE == Dtype::UInt8);
        if n == 0 {
            return Ok(());
        }
        if direct && (self.flat || self.out.is_contiguous()) {
            return out.with_slice_mut::<O, _>(|d| f(&mut d[self.out.offset..self.out.offset + n]));
        }
        let mut made = vec![O::default(); n];
        f(&mut made);
        if !self.flat {
            return scatter(out, &made);
        }
        let dense = Concrete { sizes: vec![n], strides: vec![1], offset: self.out.offset };
        let geometry = tensor::Geometry { sizes: vec![(n as i64).into()], strides: vec![1.into()], offset: (dense.offset as i64).into() };
        scatter(&out.view_as(geometry), &made)
    }
}

widest! {
    fn each1<C: Compute, O: Compute, F: Fn(C) -> O>(a: &[C], out: &mut [O], f: F) {
        for (o, a) in out.iter_mut().zip(a) {
            *o = f(*a);
        }
    }

    fn each2<C: Compute, O: Compute, F: Fn(C, C) -> O>(a: &[C], b: &[C], out: &mut [O], f: F) {
        for ((o, a), b) in out.iter_mut().zip(a).zip(b) {
            *o = f(*a, *b);
        }
    }

    fn each3<C: Compute, F: Fn(C, C, C) -> C>(a: &[C], b: &[C], c: &[C], out: &mut [C], f: F) {
        for (((o, a), b), c) in out.iter_mut().zip(a).zip(b).zip(c) {
            *o = f(*a, *b, *c);
        }
    }
}

/// `out = f(a)`
pub fn map1<C: Compute, O: Compute>(a: &Value, out: &Tensor, f: impl Fn(C) -> O) -> Result<()> {
    let plan = Plan::new(out, &[a])?;
    plan.operand::<C, _>(a, &mut |a| {
        plan.fill::<O>(out, &mut |d| match a {
            Operand::Slice(a) => each1(a, d, &f),
            Operand::One(a) => d.fill(f(a)),
        })
    })?
}

/// `out = f(a, b)`
pub fn map2<C: Compute, O: Compute>(a: &Value, b: &Value, out: &Tensor, f: impl Fn(C, C) -> O) -> Result<()> {
    let plan = Plan::new(out, &[a, b])?;
    plan.operand::<C, _>(a, &mut |a| {
        plan.operand::<C, _>(b, &mut |b| {
            plan.fill::<O>(out, &mut |d| match (a, b) {
                (Operand::Slice(a), Operand::Slice(b)) => each2(a, b, d, &f),
                (Operand::Slice(a), Operand::One(b)) => each1(a, d, |a| f(a, b)),
                (Operand::One(a), Operand::Slice(b)) => each1(b, d, |b| f(a, b)),
                (Operand::One(a), Operand::One(b)) => d.fill(f(a, b)),
            })
        })?
    })?
}

/// `out = f(a, b, c)`
pub fn map3<C: Compute>(a: &Value, b: &Value, c: &Value, out: &Tensor, f: impl Fn(C, C, C) -> C) -> Result<()> {
    let plan = Plan::new(out, &[a, b, c])?;
    plan.operand::<C, _>(a, &mut |a| {
        plan.operand::<C, _>(b, &mut |b| {
            plan.operand::<C, _>(c, &mut |c| {
                plan.fill::<C>(out, &mut |d| match (a, b, c) {
                    (Operand::Slice(a), Operand::Slice(b), Operand::Slice(c)) => each3(a, b, c, d, &f),
                    (Operand::Slice(a), Operand::Slice(b), Operand::One(c)) => each2(a, b, d, |a, b| f(a, b, c)),
                    _ => d.iter_mut().enumerate().for_each(|(i, o)| *o = f(a.at(i), b.at(i), c.at(i))),
                })
            })?
        })?
    })?
}

/// A float kernel of one operand: computes in f64 for float64 results, in f32 for the others.
pub fn float1(name: &str, a: &Value, out: &Tensor, f: impl Fn(f32) -> f32, g: impl Fn(f64) -> f64) -> Result<()> {
    match out.dtype() {
        Dtype::Float64 => map1(a, out, g),
        d if d.is_floating() => map1(a, out, f),
        d => Err(not_for(name, d)),
    }
}

/// A float kernel of two operands.
pub fn float2(name: &str, a: &Value, b: &Value, out: &Tensor, f: impl Fn(f32, f32) -> f32, g: impl Fn(f64, f64) -> f64) -> Result<()> {
    match out.dtype() {
        Dtype::Float64 => map2(a, b, out, g),
        d if d.is_floating() => map2(a, b, out, f),
        d => Err(not_for(name, d)),
    }
}
