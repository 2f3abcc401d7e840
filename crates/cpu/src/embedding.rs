//! Embedding tables: rows by index, and their gradient.

use super::dense::{Lane, Real, held};
use super::reduce::norm;
use crate::dense::for_floats;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable};
use std::collections::BTreeSet;
use tensor::Tensor;

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.embedding.default", embedding);
    t.fill("aten.embedding_dense_backward.default", dense_backward);
    t.fill("aten.embedding_renorm.default", renorm);
}

fn rows(indices: &Tensor, count: usize) -> Result<Vec<usize>> {
    i64::read(indices)?
        .into_iter()
        .map(|i| if (0..count as i64).contains(&i) { Ok(i as usize) } else { Err(Error::index("index out of range in self")) })
        .collect()
}

fn embedding(c: &Call, out: &[Tensor]) -> Result<()> {
    let weight = c.tensor("weight")?;
    let sizes = weight.concrete()?.sizes;
    let rows = rows(c.tensor("indices")?, sizes[0])?;
    fn pick<T: Lane>(weight: &Tensor, rows: &[usize], width: usize, out: &Tensor) -> Result<()> {
        let table = T::read(weight)?;
        let picked: Vec<T> = rows.iter().flat_map(|r| table[r * width..(r + 1) * width].iter().copied()).collect();
        T::write(out, &picked)
    }
    if weight.dtype().is_integral() {
        return pick::<i64>(weight, &rows, sizes[1], &out[0]);
    }
    for_floats!("embedding", weight.dtype(), T => pick::<T>(weight, &rows, sizes[1], &out[0]))
}

/// Rows that are used and longer than the norm are scaled to it, each once.
fn renorm(c: &Call, out: &[Tensor]) -> Result<()> {
    let table = c.tensor("self")?;
    let sizes = table.concrete()?.sizes;
    let indices = i64::read(c.tensor("indices")?)?;
    let row = |i: i64| match usize::try_from(if i < 0 { i + sizes[0] as i64 } else { i }) {
        Ok(row) if row < sizes[0] => Ok(row),
        _ => Err(Error::index(format!("select(): index {i} out of range for tensor of size [{}, {}] at dimension 0", sizes[0], sizes[1]))),
    };
    let used: BTreeSet<usize> = indices.into_iter().map(row).collect::<Result<_>>()?;
    let (longest, order) = (c.float("max_norm")?, c.float("norm_type")?);
    for_floats!("embedding_renorm_", table.dtype(), T => {
        let mut values = T::read(table)?;
        for row in used {
            let row = &mut values[row * sizes[1]..(row + 1) * sizes[1]];
            let wide: Vec<f64> = row.iter().map(|v| v.wide()).collect();
            let length = held(T::of(norm(&wide, order)), table.dtype()).wide();
            if length > longest {
                let scale = T::of(longest / (length + 1e-7));
                row.iter_mut().for_each(|v| *v = held(*v * scale, table.dtype()));
            }
        }
        T::write(&out[0], &values)
    })
}

fn dense_backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let sizes = out[0].concrete()?.sizes;
    let (count, width) = (sizes[0], sizes[1]);
    if count == 0 || width == 0 {
        return Ok(());
    }
    let (rows, padding) = (i64::read(c.tensor("indices")?)?, c.int("padding_idx")?);
    // What is no row has no gradient.
    let used = |row: &i64| (0..count as i64).contains(row);
    let mut uses = vec![0usize; count];
    rows.iter().filter(|row| used(row)).for_each(|row| uses[*row as usize] += 1);
    let by_frequency = c.bool("scale_grad_by_freq")?;
    for_floats!("embedding_backward", out[0].dtype(), T => {
        let grad = T::read(c.tensor("grad_output")?)?;
        let mut sums = vec![T::of(0.0); count * width];
        for (i, row) in rows.iter().enumerate().filter(|(_, row)| used(row) && **row != padding) {
            let row = *row as usize;
            let scale = if by_frequency { T::of(1.0) / T::of(uses[row] as f64) } else { T::of(1.0) };
            for j in 0..width {
                // The gradient is added up where it lies.
                let sum = &mut sums[row * width + j];
                *sum = held(*sum + grad[i * width + j] * scale, out[0].dtype());
            }
        }
        T::write(&out[0], &sums)
    })
}
