//! Matrix products of floats on the operands' own strides (`product` says in which order single precision adds); plain loops for
//! integers.

use super::arranging::{check_fits, computed_in};
use super::dense::{Lane, Matrix, Real, unsupported, with_trailing_one as column};
use super::vectorized::Vectorized;
use diagnostics::error::Result;
use dispatch::{Call, KernelTable, Value};
use std::cell::Ref;
use std::ops::Deref;
use tensor::{Dtype, Storage, Tensor};

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.mm.default", |c, out| product(None, c.tensor("self")?, c.tensor("mat2")?, &out[0], "addmm_impl_cpu_"));
    t.fill("aten.bmm.default", |c, out| product(None, c.tensor("self")?, c.tensor("mat2")?, &out[0], "bmm"));
    t.fill("aten._scaled_mm.default", |c, out| {
        let product = dispatch::t!("mm", c.tensor("self")?, c.tensor("mat2")?)?;
        let scales = dispatch::t!("mul.Tensor", c.tensor("scale_a")?, c.tensor("scale_b")?)?;
        let mut result = dispatch::t!("mul.Tensor", product, scales)?;
        if let Some(bias) = c.get("bias").as_tensor() {
            result = dispatch::t!("add.Tensor", result, bias)?;
        }
        if let Some(scale) = c.get("scale_result").as_tensor() {
            result = dispatch::t!("mul.Tensor", result, scale)?;
        }
        super::copy::write(&out[0], &result)
    });
    t.fill("aten.addmm.default", |c, out| product(Some(scaled(c)?), c.tensor("mat1")?, c.tensor("mat2")?, &out[0], "addmm_impl_cpu_"));
    t.fill("aten.baddbmm.default", |c, out| product(Some(scaled(c)?), c.tensor("batch1")?, c.tensor("batch2")?, &out[0], "baddbmm"));
    t.fill("aten.addbmm.default", addbmm);
    t.fill("aten.mv.default", |c, out| {
        let (matrix, vector) = (c.tensor("self")?, column(c.tensor("vec")?));
        let sizes = matrix.concrete()?;
        let columns_lie = sizes.strides[0] == 1 && (sizes.sizes[1] == 1 || sizes.strides[1] >= sizes.sizes[0] as isize);
        if out[0].dtype() == Dtype::Float32 && sizes.strides[1] == 1 && !columns_lie {
            let (m, v) = (matrix.storage().clone(), vector.storage().clone());
            let (m, v) = (operand::<f32>(matrix, &m)?, operand::<f32>(&vector, &v)?);
            let products = super::product::rows_times([sizes.sizes[0], sizes.sizes[1]], m.matrix(0), v.matrix(0));
            return f32::write(&out[0], &products);
        }
        product(None, matrix, &vector, &column(&out[0]), "addmv_impl_cpu")
    });
    t.fill("aten.addmv.default", |c, out| {
        let mut bias = scaled(c)?;
        if c.tensor("mat")?.concrete()?.numel() == 0 {
            return alone(&bias, &out[0]);
        }
        bias.input = column(&bias.input);
        product(Some(bias), c.tensor("mat")?, &column(c.tensor("vec")?), &column(&out[0]), "addmv_impl_cpu")
    });
    t.fill("aten.dot.default", |c, out| dot(c.tensor("self")?, c.tensor("tensor")?, &out[0], "dot"));
    t.fill("aten.vdot.default", |c, out| dot(c.tensor("self")?, c.tensor("other")?, &out[0], "vdot"));
    t.fill("aten.addr.default", |c, out| {
        let row = super::dense::with_leading_one(c.tensor("vec2")?);
        product(Some(scaled(c)?), &column(c.tensor("vec1")?), &row, &out[0], "addr")
    });
}

/// `beta * input`, where there is no product; a factor of zero drops NaN as well.
fn alone(bias: &Scaled, out: &Tensor) -> Result<()> {
    let dropped = bias.beta.float()? == 0.0;
    let product = if dropped { dispatch::t!("zeros_like", &bias.input)? } else { dispatch::t!("mul.Scalar", &bias.input, &bias.beta)? };
    super::copy::write(out, &product)
}

/// `beta * input + alpha * (a b)`
struct Scaled {
    input: Tensor,
    beta: Value,
    alpha: Value,
}

fn scaled(c: &Call) -> Result<Scaled> {
    let dtype = computed_in(c.tensor("self")?.dtype());
    [c.get("beta"), c.get("alpha")].into_iter().try_for_each(|factor| check_fits(factor, dtype))?;
    Ok(Scaled { input: c.tensor("self")?.clone(), beta: c.get("beta").clone(), alpha: c.get("alpha").clone() })
}

/// Elements that are borrowed where dtype and strides serve as they are, and copied otherwise.
enum Held<'a, T> {
    Borrowed(Ref<'a, [T]>),
    Own(Vec<T>),
}

impl<T> Deref for Held<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match self {
            Held::Borrowed(r) => r,
            Held::Own(v) => v,
        }
    }
}

/// The last two dimensions of an operand, per batch.
struct Operand<'a, T> {
    data: Held<'a, T>,
    offset: usize,
    batch: isize,
    row: isize,
    col: isize,
}

impl<T> Operand<'_, T> {
    fn matrix(&self, batch: usize) -> Matrix<'_, T> {
        Matrix { data: &self.data, offset: self.offset + batch * self.batch as usize, row: self.row, col: self.col }
    }
}

fn operand<'s, T: Lane>(t: &Tensor, storage: &'s Storage) -> Result<Operand<'s, T>> {
    let g = t.concrete()?;
    let n = g.sizes.len();
    Ok(if t.dtype() == T::DTYPE {
        let batch = if n == 3 { g.strides[0] } else { 0 };
        Operand { data: Held::Borrowed(storage.slice::<T>()?), offset: g.offset, batch, row: g.strides[n - 2], col: g.strides[n - 1] }
    } else {
        let cols = g.sizes[n - 1];
        let batch = (g.sizes[n - 2] * cols) as isize;
        Operand { data: Held::Own(T::read(t)?), offset: 0, batch, row: cols as isize, col: 1 }
    })
}

fn product(bias: Option<Scaled>, a: &Tensor, b: &Tensor, out: &Tensor, kernel: &str) -> Result<()> {
    match out.dtype() {
        Dtype::Float64 => float_product::<f64>(bias, a, b, out),
        Dtype::Float32 | Dtype::Float16 | Dtype::BFloat16 => float_product::<f32>(bias, a, b, out),
        d if d.is_integral() && d != Dtype::Bool => int_product(bias, a, b, out),
        d => Err(unsupported(kernel, d)),
    }
}

fn dims(a: &Tensor, b: &Tensor) -> Result<[usize; 4]> {
    let (sa, sb) = (a.concrete()?.sizes, b.concrete()?.sizes);
    let n = sa.len();
    Ok([if n == 3 { sa[0] } else { 1 }, sa[n - 2], sa[n - 1], sb[n - 1]])
}

/// The elements of a bias, expanded to the result's sizes.
fn expanded<T: Lane>(bias: &Tensor, out: &Tensor) -> Result<Vec<T>> {
    T::read(&super::dense::expanded(bias, &out.sizes())?)
}

fn float_product<T: Vectorized>(bias: Option<Scaled>, a: &Tensor, b: &Tensor, out: &Tensor) -> Result<()> {
    let [batches, m, k, n] = dims(a, b)?;
    let batched = a.dim() == 3;
    let few = batched && m * k * n < FEW;
    let (sa, sb) = (a.storage().clone(), b.storage().clone());
    let (a, b) = (operand::<T>(a, &sa)?, operand::<T>(b, &sb)?);
    let (mut c, beta, alpha) = match &bias {
        // A factor of zero drops the bias altogether, NaNs included.
        Some(s) if s.beta.float()? != 0.0 => (expanded::<T>(&s.input, out)?, T::of(s.beta.float()?), T::of(s.alpha.float()?)),
        Some(s) => (vec![T::of(0.0); batches * m * n], T::of(0.0), T::of(s.alpha.float()?)),
        None => (vec![T::of(0.0); batches * m * n], T::of(0.0), T::of(1.0)),
    };
    if m * n > 0 {
        for (i, c) in c.chunks_mut(m * n).enumerate() {
            let (sizes, a, b) = ([m, k, n], a.matrix(i), b.matrix(i));
            match few {
                true => multiply_in_order(sizes, alpha, a, b, beta, c),
                false if T::DTYPE == Dtype::Float32 => super::product::multiply(sizes, alpha, a, b, beta, c, batched),
                false => T::gemm(m, k, n, alpha, a, b, beta, c),
            }
        }
    }
    T::write(out, &c)
}

/// A batched product of fewer multiplications per batch than this is computed in PyTorch by loops of its own, not by a library.
const FEW: usize = 400;

/// `c = alpha * a b + beta * c`, each sum along the inner dimension, without fused steps.
fn multiply_in_order<T: Real>([_, k, n]: [usize; 3], alpha: T, a: Matrix<T>, b: Matrix<T>, beta: T, c: &mut [T]) {
    add_sums(n, alpha, beta, c, |i, j| (0..k).fold(T::default(), |sum, p| sum + a.times(b, [i, p, j])));
}

/// `c = alpha * sum(row, column) + beta * c`
fn add_sums<T: Real>(n: usize, alpha: T, beta: T, c: &mut [T], sum: impl Fn(usize, usize) -> T) {
    for (at, c) in c.iter_mut().enumerate() {
        let sum = sum(at / n, at % n);
        *c = if beta == T::of(0.0) { alpha * sum } else { beta * *c + alpha * sum };
    }
}

/// A factor of integers: of a float its whole part.
fn whole(factor: &Value) -> Result<i64> {
    Ok(match factor {
        Value::Float(f) => *f as i64,
        other => other.int()?,
    })
}

fn int_product(bias: Option<Scaled>, a: &Tensor, b: &Tensor, out: &Tensor) -> Result<()> {
    let [batches, m, k, n] = dims(a, b)?;
    let (a, b) = (i64::read(a)?, i64::read(b)?);
    let (mut c, beta, alpha) = match &bias {
        Some(s) if s.beta.float()? != 0.0 => (expanded::<i64>(&s.input, out)?, whole(&s.beta)?, whole(&s.alpha)?),
        Some(s) => (vec![0; batches * m * n], 0, whole(&s.alpha)?),
        None => (vec![0; batches * m * n], 0, 1),
    };
    for batch in 0..batches {
        for i in 0..m {
            for j in 0..n {
                let sum = (0..k).fold(0i64, |sum, p| sum.wrapping_add(a[(batch * m + i) * k + p].wrapping_mul(b[(batch * k + p) * n + j])));
                let at = &mut c[(batch * m + i) * n + j];
                *at = at.wrapping_mul(beta).wrapping_add(sum.wrapping_mul(alpha));
            }
        }
    }
    i64::write(out, &c)
}

/// One product over the batches laid side by side: the sum over batches is part of the inner dimension.
fn addbmm(c: &Call, out: &[Tensor]) -> Result<()> {
    let (a, b) = (c.tensor("batch1")?, c.tensor("batch2")?);
    let [batches, m, k, n] = dims(a, b)?;
    let s = scaled(c)?;
    if out[0].dtype().is_integral() && out[0].dtype() != Dtype::Bool {
        let (a, b, given) = (i64::read(a)?, i64::read(b)?, expanded::<i64>(&s.input, &out[0])?);
        let (beta, alpha) = (whole(&s.beta)?, whole(&s.alpha)?);
        let product = |i: usize, j: usize| {
            (0..batches * k).fold(0i64, |sum, p| {
                let (batch, p) = (p / k, p % k);
                sum.wrapping_add(a[(batch * m + i) * k + p].wrapping_mul(b[(batch * k + p) * n + j]))
            })
        };
        let sums = given.iter().enumerate().map(|(at, v)| v.wrapping_mul(beta).wrapping_add(product(at / n, at % n).wrapping_mul(alpha)));
        return i64::write(&out[0], &sums.collect::<Vec<_>>());
    }
    crate::dense::for_floats!("addbmm", out[0].dtype(), T => {
        let (a, b) = (T::read(a)?, T::read(b)?);
        let mut sum = if s.beta.float()? == 0.0 { vec![T::of(0.0); m * n] } else { expanded::<T>(&s.input, &out[0])? };
        let beta = T::of(s.beta.float()?);
        sum.iter_mut().for_each(|v| *v *= beta);
        for i in 0..batches {
            let (a, b) = (Matrix::rows(&a, i * m * k, k), Matrix::rows(&b, i * k * n, n));
            T::gemm(m, k, n, T::of(s.alpha.float()?), a, b, T::of(1.0), &mut sum);
        }
        T::write(&out[0], &sum)
    })
}

fn dot(a: &Tensor, b: &Tensor, out: &Tensor, kernel: &str) -> Result<()> {
    match out.dtype() {
        d if d.is_integral() && d != Dtype::Bool => {
            let sum = i64::read(a)?.iter().zip(i64::read(b)?).fold(0i64, |s, (x, y)| s.wrapping_add(x.wrapping_mul(y)));
            i64::write(out, &[sum])
        }
        d => crate::dense::for_floats!(kernel, d, T => {
            T::write(out, &[super::product::dot(&T::read(a)?, &T::read(b)?)])
        }),
    }
}
