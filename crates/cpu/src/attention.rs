//! Fused attention, one head at a time, and the softmax that survives rows of minus infinity.

use super::dense::{Lane, Matrix, Real, expanded, held};
use super::product;
use super::vectorized::{Vectorized, coarse_exponentials_above, exponentials_above, line_dot, line_sum, wide};
use crate::dense::for_floats;
use diagnostics::error::Result;
use dispatch::{Call, KernelTable};
use shape::ints;
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten._scaled_dot_product_flash_attention_for_cpu.default", forward);
    t.fill("aten._scaled_dot_product_flash_attention_for_cpu_backward.default", backward);
    t.fill("aten._safe_softmax.default", safe_softmax);
}

/// The sizes of a call and what turns products into scores.
struct Heads<T> {
    batch: usize,
    heads: usize,
    /// Query heads per key head.
    group: usize,
    rows: usize,
    cols: usize,
    width: usize,
    scale: f64,
    causal: bool,
    mask: Option<Vec<T>>,
}

impl<T: Vectorized> Heads<T> {
    fn of(c: &Call) -> Result<Self> {
        let (q, k) = (c.tensor("query")?.concrete()?.sizes, c.tensor("key")?.concrete()?.sizes);
        let full: Vec<i64> = [q[0], q[1], q[2], k[2]].iter().map(|v| *v as i64).collect();
        let mask = c.opt_tensor("attn_mask").map(|m| T::read(&expanded(m, &ints(&full))?)).transpose()?;
        let scale = if c.get("scale").is_none() { 1.0 / (q[3] as f64).sqrt() } else { c.float("scale")? };
        let causal = c.bool("is_causal")?;
        Ok(Heads { batch: q[0], heads: q[1], group: (q[1] / k[1].max(1)).max(1), rows: q[2], cols: k[2], width: q[3], scale, causal, mask })
    }

    /// Calls `f` with the number of each head and where its queries and its keys start.
    fn each(&self, mut f: impl FnMut(usize, usize, usize) -> Result<()>) -> Result<()> {
        for b in 0..self.batch {
            for h in 0..self.heads {
                let key = b * (self.heads / self.group) + h / self.group;
                let number = b * self.heads + h;
                f(number, number * self.rows * self.width, key * self.cols * self.width)?;
            }
        }
        Ok(())
    }

    /// Calls `f` with the first row and the number of rows that the kernel takes at a time.
    fn in_turns(&self, mut f: impl FnMut(usize, usize)) {
        let turn = match self.rows {
            0..192 => 32,
            192..768 => 64,
            _ => 256,
        };
        (0..self.rows).step_by(turn).for_each(|from| f(from, turn.min(self.rows - from)));
    }

    /// Scores of a head: scaled products, masked.
    fn scores(&self, number: usize, q: Matrix<T>, k: Matrix<T>) -> Vec<T> {
        let (rows, cols) = (self.rows, self.cols);
        let mut scores = vec![T::of(0.0); rows * cols];
        self.in_turns(|from, count| {
            multiply([count, self.width, cols], from_row(q, from), k.t(), &mut scores[from * cols..][..count * cols])
        });
        scores.iter_mut().for_each(|s| *s *= T::of(self.scale));
        if let Some(mask) = &self.mask {
            scores.iter_mut().zip(&mask[number * rows * cols..]).for_each(|(s, m)| *s += *m);
        }
        if self.causal {
            for i in 0..rows {
                (i + 1..cols).for_each(|j| scores[i * cols + j] = T::of(f64::NEG_INFINITY));
            }
        }
        scores
    }
}

/// A matrix from one of its rows on.
fn from_row<T>(m: Matrix<T>, row: usize) -> Matrix<T> {
    Matrix { offset: m.offset + row * m.row as usize, ..m }
}

/// A product in the library's order of sums, which is known in single precision.
fn multiply<T: Vectorized>([m, k, n]: [usize; 3], a: Matrix<T>, b: Matrix<T>, c: &mut [T]) {
    if T::DTYPE == Dtype::Float32 {
        product::multiply([m, k, n], T::of(1.0), a, b, T::default(), c, false);
    } else {
        T::gemm(m, k, n, T::of(1.0), a, b, T::default(), c);
    }
}

fn forward(c: &Call, out: &[Tensor]) -> Result<()> {
    for_floats!("flash_attention", out[0].dtype(), T => {
        let heads = Heads::<T>::of(c)?;
        let (q, k, v) = (T::read(c.tensor("query")?)?, T::read(c.tensor("key")?)?, T::read(c.tensor("value")?)?);
        let (rows, cols, width) = (heads.rows, heads.cols, heads.width);
        let mut result = vec![T::of(0.0); q.len()];
        let mut sums = Vec::with_capacity(heads.batch * heads.heads * rows);
        heads.each(|number, at_q, at_k| {
            let mut weights = heads.scores(number, Matrix::rows(&q, at_q, width), Matrix::rows(&k, at_k, width));
            let mut scales = Vec::with_capacity(rows);
            for row in weights.chunks_mut(cols) {
                let (max, sum) = weights_of(row);
                sums.push(max + T::of(sum.wide().ln()));
                scales.push(T::of(1.0) / sum);
                // They are multiplied with values of that dtype, and divided by their sum afterwards.
                row.iter_mut().for_each(|w| *w = held(*w, out[0].dtype()));
            }
            let (w, v) = (Matrix::rows(&weights, 0, cols), Matrix::rows(&v, at_k, width));
            let result = &mut result[at_q..][..rows * width];
            heads.in_turns(|from, count| multiply([count, cols, width], from_row(w, from), v, &mut result[from * width..][..count * width]));
            for (row, scale) in result.chunks_mut(width.max(1)).zip(scales) {
                row.iter_mut().for_each(|r| *r *= scale);
            }
            Ok(())
        })?;
        T::write(&out[0], &result)?;
        T::write(&out[1], &sums)
    })
}

/// As `exponentials`, in the order in which the fused kernel adds.
fn weights_of<T: Vectorized>(row: &mut [T]) -> (T, T) {
    let max = row.iter().fold(T::of(f64::NEG_INFINITY), |m, v| if v.nan() || *v > m { *v } else { m });
    if max == T::of(f64::NEG_INFINITY) {
        row.fill(T::default());
        return (max, T::of(1.0));
    }
    let whole = row.len() / wide::<T>() * wide::<T>();
    let (groups, rest) = row.split_at_mut(whole);
    coarse_exponentials_above(groups, max);
    rest.iter_mut().for_each(|v| *v = (*v - max).exp());
    (max, row[whole..].iter().fold(line_sum(&row[..whole]), |sum, v| sum + *v))
}

/// Turns a row of scores into exponentials of what they are below the largest; gives that and the sum. A row of minus infinity gives
/// zeros, and a sum of one.
fn exponentials<T: Real>(row: &mut [T]) -> (f64, f64) {
    let max = row.iter().fold(f64::NEG_INFINITY, |m, v| if v.nan() { f64::NAN } else { m.max(v.wide()) });
    if max == f64::NEG_INFINITY {
        row.fill(T::of(0.0));
        return (max, 1.0);
    }
    let mut sum = 0.0;
    for v in row {
        let e = (v.wide() - max).exp();
        sum += e;
        *v = T::of(e);
    }
    (max, sum)
}

fn backward(c: &Call, out: &[Tensor]) -> Result<()> {
    for_floats!("flash_attention_backward", out[0].dtype(), T => {
        let heads = Heads::<T>::of(c)?;
        let read = |name: &str| T::read(c.tensor(name)?);
        let (q, k, v) = (read("query")?, read("key")?, read("value")?);
        let (grad, output, sums) = (read("grad_out")?, read("out")?, read("logsumexp")?);
        let (rows, cols, width) = (heads.rows, heads.cols, heads.width);
        let (mut dq, mut dk, mut dv) = (vec![T::of(0.0); q.len()], vec![T::of(0.0); k.len()], vec![T::of(0.0); v.len()]);
        let (one, scale) = (T::of(1.0), T::of(heads.scale));
        heads.each(|number, at_q, at_k| {
            let mut weights = heads.scores(number, Matrix::rows(&q, at_q, width), Matrix::rows(&k, at_k, width));
            for (row, sum) in weights.chunks_mut(cols).zip(&sums[number * rows..]) {
                match sum.wide() == f64::NEG_INFINITY {
                    true => row.fill(T::of(0.0)),
                    false => exponentials_above(row, *sum, true),
                }
            }
            let g = Matrix::rows(&grad, at_q, width);
            T::gemm(cols, rows, width, one, Matrix::rows(&weights, 0, cols).t(), g, one, &mut dv[at_k..]);
            // The gradient of the scores: weights * (grad v' - sum(grad * output)).
            let mut slopes = vec![T::of(0.0); rows * cols];
            T::gemm(rows, width, cols, one, g, Matrix::rows(&v, at_k, width).t(), T::of(0.0), &mut slopes);
            for i in 0..rows {
                let at = at_q + i * width;
                let mean = line_dot(&grad[at..at + width], &output[at..at + width]);
                for j in i * cols..(i + 1) * cols {
                    slopes[j] = weights[j] * (slopes[j] - mean);
                }
            }
            let s = Matrix::rows(&slopes, 0, cols);
            T::gemm(rows, cols, width, scale, s, Matrix::rows(&k, at_k, width), T::of(0.0), &mut dq[at_q..]);
            T::gemm(cols, rows, width, scale, s.t(), Matrix::rows(&q, at_q, width), one, &mut dk[at_k..]);
            Ok(())
        })?;
        T::write(&out[0], &dq)?;
        T::write(&out[1], &dk)?;
        T::write(&out[2], &dv)
    })
}

fn safe_softmax(c: &Call, out: &[Tensor]) -> Result<()> {
    let (input, dim) = (c.tensor("self")?, c.int("dim")?);
    for_floats!("_safe_softmax", out[0].dtype(), T => {
        let mut x = T::read(input)?;
        super::softmax::lines(input, dim, |start, step, n| {
            let mut row: Vec<T> = (0..n).map(|i| x[start + i * step]).collect();
            let (_, sum) = exponentials(&mut row);
            (0..n).for_each(|i| x[start + i * step] = T::of(row[i].wide() / sum));
        })?;
        T::write(&out[0], &x)
    })
}
