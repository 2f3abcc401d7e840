//! Antialiased resampling: each result is a weighted mean of the places that its filter covers.

use super::dense::Lane;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable};
use std::f32::consts::PI;
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten._upsample_bilinear2d_aa.default", |c, out| forward(c, out, LINEAR));
    t.fill("aten._upsample_bicubic2d_aa.default", |c, out| forward(c, out, CUBIC));
    t.fill("aten._upsample_lanczos2d_aa.default", |c, out| forward(c, out, LANCZOS));
    t.fill("aten._upsample_bilinear2d_aa_backward.default", |c, out| backward(c, out, LINEAR));
    t.fill("aten._upsample_bicubic2d_aa_backward.default", |c, out| backward(c, out, CUBIC));
    t.fill("aten._upsample_lanczos2d_aa_backward.default", |c, out| backward(c, out, LANCZOS));
}

/// A filter, which is zero beyond half of its width.
#[derive(Clone, Copy)]
struct Filter {
    width: f32,
    at: fn(f32) -> f32,
}

const LINEAR: Filter = Filter { width: 2.0, at: |x| if x.abs() < 1.0 { 1.0 - x.abs() } else { 0.0 } };

/// Cubic convolution. Source: Keys.
const CUBIC: Filter = Filter {
    width: 4.0,
    at: |x| {
        const A: f32 = -0.5;
        let x = x.abs();
        match x {
            _ if x < 1.0 => ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0,
            _ if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * A,
            _ => 0.0,
        }
    },
};

const LANCZOS: Filter = Filter {
    width: 6.0,
    at: |x| {
        let sinc = |x: f32| if x == 0.0 { 1.0 } else { (x * PI).sin() / (x * PI) };
        if (-3.0..3.0).contains(&x) { sinc(x) * sinc(x / 3.0) } else { 0.0 }
    },
};

/// The places that a result is a mean of: the first of them, and the weights.
struct Window {
    first: usize,
    weights: Vec<f32>,
}

fn windows(filter: Filter, from: usize, to: usize, corners: bool, scale: Option<f64>) -> Vec<Window> {
    let scale = match scale {
        _ if corners && to > 1 => (from as f32 - 1.0) / (to as f32 - 1.0),
        _ if corners => 0.0,
        Some(s) if s > 0.0 => (1.0 / s) as f32,
        _ => from as f32 / to as f32,
    };
    let wide = scale.max(1.0);
    let (support, inverse) = (filter.width * 0.5 * wide, 1.0 / wide);
    let window = |i: usize| {
        let center = scale * (i as f32 + 0.5);
        let first = ((center - support + 0.5) as i64).max(0) as usize;
        let end = ((center + support + 0.5) as i64).clamp(0, from as i64) as usize;
        let mut weights: Vec<f32> = (first..end.max(first)).map(|j| (filter.at)((j as f32 - center + 0.5) * inverse)).collect();
        let total: f32 = weights.iter().sum();
        if total != 0.0 {
            weights.iter_mut().for_each(|w| *w /= total);
        }
        Window { first, weights }
    };
    (0..to).map(window).collect()
}

/// Windows over rows and over columns, for an image of so many of each.
fn both(c: &Call, filter: Filter, from: (usize, usize), to: (usize, usize)) -> Result<(Vec<Window>, Vec<Window>)> {
    let corners = c.bool("align_corners")?;
    let scale = |name: &str| if c.get(name).is_none() { Ok(None) } else { c.float(name).map(Some) };
    Ok((windows(filter, from.0, to.0, corners, scale("scales_h")?), windows(filter, from.1, to.1, corners, scale("scales_w")?)))
}

fn rows_and_columns(t: &Tensor) -> Result<(usize, usize)> {
    let sizes = t.concrete()?.sizes;
    Ok((sizes[2], sizes[3]))
}

fn refuse(t: &Tensor) -> Result<()> {
    match t.dtype() {
        d if d.is_floating() => Ok(()),
        Dtype::UInt8 => Err(Error::not_implemented("antialiased resampling of 'Byte' is not in the playground")),
        d => Err(Error::not_implemented(format!("\"compute_index_ranges_weights\" not implemented for '{}'", d.scalar_type()))),
    }
}

fn forward(c: &Call, out: &[Tensor], filter: Filter) -> Result<()> {
    let x = c.tensor("self")?;
    refuse(x)?;
    let (from, to) = (rows_and_columns(x)?, rows_and_columns(&out[0])?);
    let (rows, columns) = both(c, filter, from, to)?;
    fn run<T>(x: &Tensor, out: &Tensor, (from, to): ((usize, usize), (usize, usize)), rows: &[Window], columns: &[Window]) -> Result<()>
    where
        T: Lane + Copy + std::ops::Mul<Output = T> + std::ops::Add<Output = T> + From<f32>,
    {
        let values = T::read(x)?;
        let mean = |window: &Window, at: &dyn Fn(usize) -> T| {
            let terms = window.weights.iter().enumerate().map(|(j, w)| at(window.first + j) * T::from(*w));
            terms.reduce(|sum, term| sum + term).unwrap_or_default()
        };
        let mut results = Vec::with_capacity(values.len());
        for image in values.chunks((from.0 * from.1).max(1)) {
            let narrow: Vec<T> = image.chunks(from.1.max(1)).flat_map(|row| columns.iter().map(move |w| mean(w, &|i| row[i]))).collect();
            for window in rows {
                results.extend((0..to.1).map(|column| mean(window, &|i| narrow[i * to.1 + column])));
            }
        }
        T::write(out, &results)
    }
    match x.dtype() {
        Dtype::Float64 => run::<f64>(x, &out[0], (from, to), &rows, &columns),
        _ => run::<f32>(x, &out[0], (from, to), &rows, &columns),
    }
}

fn backward(c: &Call, out: &[Tensor], filter: Filter) -> Result<()> {
    let grad = c.tensor("grad_output")?;
    refuse(grad)?;
    let (from, to) = (rows_and_columns(&out[0])?, rows_and_columns(grad)?);
    let (rows, columns) = both(c, filter, from, to)?;
    let grads = f64::read(grad)?;
    let size = from.0 * from.1;
    let images = grads.len() / (to.0 * to.1).max(1);
    let mut results = vec![0f64; images * size];
    for (image, result) in grads.chunks((to.0 * to.1).max(1)).zip(results.chunks_mut(size.max(1))) {
        for (row, along) in rows.iter().zip(image.chunks(to.1.max(1))) {
            for (column, g) in columns.iter().zip(along) {
                for (y, wy) in row.weights.iter().enumerate() {
                    for (x, wx) in column.weights.iter().enumerate() {
                        result[(row.first + y) * from.1 + column.first + x] += f64::from(*wx) * f64::from(*wy) * g;
                    }
                }
            }
        }
    }
    f64::write(&out[0], &results)
}
