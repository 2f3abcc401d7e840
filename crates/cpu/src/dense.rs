//! Elements in row-major order in one working type, whatever the strides and dtype of the tensor they come from or go to.
//!
//! float16 and bfloat16 are computed in `f32` and rounded once on the way out; integers and bools are computed in `i64`.

use super::elementwise::for_runs;
use diagnostics::error::{Error, Result};
use half::{bf16, f16};
use shape::SymInt;
use tensor::float8::{F8E4M3FN, F8E5M2};
use tensor::{Dtype, Element, Geometry, Tensor};

fn gather<E: Element, T>(t: &Tensor, convert: impl Fn(E) -> T) -> Result<Vec<T>> {
    let g = t.concrete()?;
    t.with_slice::<E, _>(|s| {
        let mut out = Vec::with_capacity(g.numel());
        for_runs(&g.sizes, &g.strides, g.offset as isize, &mut |start, stride, length| match stride {
            1 => out.extend(s[start as usize..][..length].iter().map(|v| convert(*v))),
            _ => out.extend((0..length as isize).map(|i| convert(s[(start + i * stride) as usize]))),
        });
        out
    })
}

fn spread<E: Element, T: Copy>(t: &Tensor, values: &[T], convert: impl Fn(T) -> E) -> Result<()> {
    let g = t.concrete()?;
    t.with_slice_mut::<E, _>(|s| {
        let mut left = values;
        for_runs(&g.sizes, &g.strides, g.offset as isize, &mut |start, stride, length| {
            let (own, rest) = left.split_at(length.min(left.len()));
            left = rest;
            match stride {
                1 => s[start as usize..][..own.len()].iter_mut().zip(own).for_each(|(to, v)| *to = convert(*v)),
                _ => own.iter().enumerate().for_each(|(i, v)| s[(start + i as isize * stride) as usize] = convert(*v)),
            }
        });
    })
}

fn refuse(t: &Tensor) -> Error {
    Error::not_implemented(format!("not implemented for '{}'", t.dtype().scalar_type()))
}

/// A type that kernels compute in.
pub trait Lane: Element + Default + PartialOrd + std::fmt::Debug + 'static {
    /// Elements of a tensor, in row-major order.
    fn read(t: &Tensor) -> Result<Vec<Self>>;
    /// Sets the elements of a tensor, in row-major order.
    fn write(t: &Tensor, values: &[Self]) -> Result<()>;
}

impl Lane for f32 {
    fn read(t: &Tensor) -> Result<Vec<f32>> {
        match t.dtype() {
            Dtype::Float32 => gather(t, |v: f32| v),
            Dtype::Float8E4m3fn => gather(t, F8E4M3FN::to_f32),
            Dtype::Float8E5m2 => gather(t, F8E5M2::to_f32),
            Dtype::Float16 => gather(t, f16::to_f32),
            Dtype::BFloat16 => gather(t, bf16::to_f32),
            Dtype::Float64 => gather(t, |v: f64| v as f32),
            d if d.is_integral() => Ok(i64::read(t)?.into_iter().map(|v| v as f32).collect()),
            _ => Err(refuse(t)),
        }
    }
    fn write(t: &Tensor, values: &[f32]) -> Result<()> {
        match t.dtype() {
            Dtype::Float32 => spread(t, values, |v| v),
            Dtype::Float8E4m3fn => spread(t, values, F8E4M3FN::from_f32),
            Dtype::Float8E5m2 => spread(t, values, F8E5M2::from_f32),
            Dtype::Float16 => spread(t, values, f16::from_f32),
            Dtype::BFloat16 => spread(t, values, bf16::from_f32),
            _ => Err(refuse(t)),
        }
    }
}

impl Lane for f64 {
    fn read(t: &Tensor) -> Result<Vec<f64>> {
        match t.dtype() {
            Dtype::Float64 => gather(t, |v: f64| v),
            d if d.is_integral() => Ok(i64::read(t)?.into_iter().map(|v| v as f64).collect()),
            _ => Ok(f32::read(t)?.into_iter().map(f64::from).collect()),
        }
    }
    fn write(t: &Tensor, values: &[f64]) -> Result<()> {
        match t.dtype() {
            Dtype::Float64 => spread(t, values, |v| v),
            Dtype::Float32 => spread(t, values, |v| v as f32),
            Dtype::Float8E4m3fn => spread(t, values, F8E4M3FN::from_f64),
            Dtype::Float8E5m2 => spread(t, values, F8E5M2::from_f64),
            Dtype::Float16 => spread(t, values, f16::from_f64),
            Dtype::BFloat16 => spread(t, values, bf16::from_f64),
            _ => Err(refuse(t)),
        }
    }
}

impl Lane for i64 {
    fn read(t: &Tensor) -> Result<Vec<i64>> {
        match t.dtype() {
            Dtype::Int64 => gather(t, |v: i64| v),
            Dtype::Int32 => gather(t, |v: i32| v.into()),
            Dtype::Int16 => gather(t, |v: i16| v.into()),
            Dtype::Int8 => gather(t, |v: i8| v.into()),
            Dtype::UInt8 | Dtype::Bool => gather(t, |v: u8| v.into()),
            _ => Err(refuse(t)),
        }
    }
    fn write(t: &Tensor, values: &[i64]) -> Result<()> {
        match t.dtype() {
            Dtype::Int64 => spread(t, values, |v| v),
            Dtype::Int32 => spread(t, values, |v| v as i32),
            Dtype::Int16 => spread(t, values, |v| v as i16),
            Dtype::Int8 => spread(t, values, |v| v as i8),
            Dtype::UInt8 => spread(t, values, |v| v as u8),
            Dtype::Bool => spread(t, values, |v| u8::from(v != 0)),
            _ => Err(refuse(t)),
        }
    }
}

macro_rules! real {
    ($($name:ident)*) => {
        /// Floating-point working types, with what kernels ask of them.
        pub trait Real:
            Lane
            + std::ops::Add<Output = Self>
            + std::ops::Sub<Output = Self>
            + std::ops::Mul<Output = Self>
            + std::ops::Div<Output = Self>
            + std::ops::Neg<Output = Self>
            + std::ops::AddAssign
            + std::ops::MulAssign
            + std::ops::DivAssign
            + std::iter::Sum
        {
            /// The nearest value.
            fn of(v: f64) -> Self;
            /// The value, widened.
            fn wide(self) -> f64;
            /// Whether it is no number.
            fn nan(self) -> bool;
            /// `self` to a power.
            fn power(self, p: Self) -> Self;
            $(#[doc = concat!("`", stringify!($name), "`")] fn $name(self) -> Self;)*
            /// Matrix product by strides: `c = alpha * a b + beta * c`, with `a` m x k and `b` k x n.
            fn gemm(m: usize, k: usize, n: usize, alpha: Self, a: Matrix<Self>, b: Matrix<Self>, beta: Self, c: &mut [Self]);
        }
        real!(@impl f32 sgemm $($name)*);
        real!(@impl f64 dgemm $($name)*);
    };
    (@impl $t:ident $gemm:ident $($name:ident)*) => {
        impl Real for $t {
            fn of(v: f64) -> Self { v as $t }
            fn wide(self) -> f64 { self as f64 }
            fn nan(self) -> bool { self.is_nan() }
            fn power(self, p: Self) -> Self { self.powf(p) }
            $(fn $name(self) -> Self { <$t>::$name(self) })*
            fn gemm(m: usize, k: usize, n: usize, alpha: Self, a: Matrix<Self>, b: Matrix<Self>, beta: Self, c: &mut [Self]) {
                if m == 0 || k == 0 || n == 0 {
                    // A sum of no products: what an empty operand's strides name is not read.
                    c.iter_mut().for_each(|v| *v = if beta == 0.0 { 0.0 } else { *v * beta });
                    return;
                }
                assert!(c.len() >= m * n && a.holds(m, k) && b.holds(k, n), "a matrix reaches beyond its elements");
                // SAFETY: every element that the sizes and strides name lies inside the slices, as just checked.
                unsafe {
                    matrixmultiply::$gemm(
                        m, k, n, alpha,
                        a.data[a.offset..].as_ptr(), a.row, a.col,
                        b.data[b.offset..].as_ptr(), b.row, b.col,
                        beta, c.as_mut_ptr(), n as isize, 1,
                    );
                }
            }
        }
    };
}
real!(exp ln ln_1p exp_m1 sqrt tanh sin cos abs floor ceil);

/// A matrix inside a slice, with non-negative strides.
#[derive(Clone, Copy)]
pub struct Matrix<'a, T> {
    /// The elements it lies in.
    pub data: &'a [T],
    /// Its first element.
    pub offset: usize,
    /// From a row to the next.
    pub row: isize,
    /// From a column to the next.
    pub col: isize,
}

impl<T: Real> Matrix<'_, T> {
    /// Element `(i, p)` times the other's element `(p, j)`.
    pub fn times(self, other: Matrix<T>, [i, p, j]: [usize; 3]) -> T {
        let at = |m: Matrix<T>, i: usize, j: usize| m.data[m.offset + i * m.row as usize + j * m.col as usize];
        at(self, i, p) * at(other, p, j)
    }
}

impl<'a, T> Matrix<'a, T> {
    /// Row-major, `cols` wide, starting at `offset`.
    pub fn rows(data: &'a [T], offset: usize, cols: usize) -> Self {
        Matrix { data, offset, row: cols as isize, col: 1 }
    }

    /// Its transpose.
    pub fn t(self) -> Self {
        Matrix { row: self.col, col: self.row, ..self }
    }

    fn holds(&self, rows: usize, cols: usize) -> bool {
        let reach = |n: usize, s: isize| n.saturating_sub(1).checked_mul(usize::try_from(s).unwrap_or(usize::MAX));
        let last = reach(rows, self.row).zip(reach(cols, self.col)).and_then(|(r, c)| r.checked_add(c)?.checked_add(self.offset));
        if rows == 0 || cols == 0 { self.offset <= self.data.len() } else { last.is_some_and(|l| l < self.data.len()) }
    }
}

/// `"mm" not implemented for 'Bool'`
pub fn unsupported(kernel: &str, dtype: Dtype) -> Error {
    Error::not_implemented(format!("\"{kernel}\" not implemented for '{}'", dtype.scalar_type()))
}

/// Runs a block with `T` as the working type of a floating dtype; other dtypes are refused in PyTorch's words.
macro_rules! for_floats {
    ($kernel:expr, $dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            tensor::Dtype::Float64 => {
                type $T = f64;
                $body
            }
            tensor::Dtype::Float32 | tensor::Dtype::Float16 | tensor::Dtype::BFloat16 => {
                type $T = f32;
                $body
            }
            other => Err($crate::dense::unsupported($kernel, other)),
        }
    };
}
pub(crate) use for_floats;

/// What is left of a number once a tensor of this dtype has held it.
pub fn held<T: Real>(v: T, dtype: Dtype) -> T {
    match dtype {
        Dtype::Float8E4m3fn => T::of(F8E4M3FN::from_f64(v.wide()).to_f64()),
        Dtype::Float8E5m2 => T::of(F8E5M2::from_f64(v.wide()).to_f64()),
        Dtype::Float16 => T::of(f16::from_f64(v.wide()).to_f64()),
        Dtype::BFloat16 => T::of(bf16::from_f64(v.wide()).to_f64()),
        _ => v,
    }
}

fn viewed(t: &Tensor, change: impl FnOnce(&mut Geometry)) -> Tensor {
    let mut g = (*t.geometry()).clone();
    change(&mut g);
    t.view_as(g)
}

/// The tensor with one more dimension of size one at the end.
pub fn with_trailing_one(t: &Tensor) -> Tensor {
    viewed(t, |g| {
        g.sizes.push(SymInt::Int(1));
        g.strides.push(SymInt::Int(1));
    })
}

/// The tensor with one more dimension of size one at the front.
pub fn with_leading_one(t: &Tensor) -> Tensor {
    viewed(t, |g| {
        g.sizes.insert(0, SymInt::Int(1));
        g.strides.insert(0, SymInt::Int(0));
    })
}

/// The tensor broadcast to sizes that its shape rule has found to fit.
pub fn expanded(t: &Tensor, sizes: &[SymInt]) -> Result<Tensor> {
    let own = t.geometry();
    let lead = sizes.len().saturating_sub(own.sizes.len());
    let mut g = Geometry { sizes: sizes.to_vec(), strides: vec![SymInt::Int(0); sizes.len()], offset: own.offset.clone() };
    for (i, (size, stride)) in own.sizes.iter().zip(&own.strides).enumerate() {
        if size.sym_eq(sizes[lead + i].clone())? {
            g.strides[lead + i] = stride.clone();
        }
    }
    Ok(t.view_as(g))
}
