//! Kernels that read at named places: 2-D grids with interpolation, and bags of embeddings.

use super::dense::{Lane, Real, held};
use super::elementwise::Number;
use super::vectorized::Vectorized;
use crate::dense::for_floats;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable};
use operators::affine::mapped;
use tensor::strided::{dense_bytes, write_dense};
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.grid_sampler_2d.default", grid_sampler);
    t.fill("aten.grid_sampler_2d_backward.default", grid_sampler_backward);
    t.fill("aten.affine_grid_generator.default", |c, outs| write_dense(&outs[0], &dense_bytes(&mapped(c)?)?));
    t.fill("aten._embedding_bag.default", embedding_bag);
    t.fill("aten._embedding_bag_backward.default", embedding_bag_backward);
    t.fill("aten._embedding_bag_per_sample_weights_backward.default", per_sample_weights_backward);
}

/// How a grid is read.
pub(super) struct Sampler {
    mode: i64,
    padding: i64,
    corners: bool,
    /// Places are computed in single precision: at a pixel's very middle its last bit decides which neighbours are read.
    single: bool,
    /// Whether volumes are sampled, not planes.
    volume: bool,
}

/// One place read: its row and column, its weight, and the slopes of the weight by the source's x and y.
struct Tap {
    y: i64,
    x: i64,
    weight: f64,
    slope: (f64, f64),
}

impl Sampler {
    pub(super) fn of(c: &Call) -> Result<Sampler> {
        let single = c.tensor("grid")?.dtype() != Dtype::Float64;
        let volume = c.tensor("input")?.dim() == 5;
        Ok(Sampler {
            volume,
            mode: c.int("interpolation_mode")?,
            padding: c.int("padding_mode")?,
            corners: c.bool("align_corners")?,
            single,
        })
    }

    /// The source coordinate of a grid value, and its slope, padding not yet applied.
    fn unnormalize(&self, v: f64, size: usize) -> (f64, f64) {
        let scale = if self.corners { (size as f64 - 1.0) / 2.0 } else { size as f64 / 2.0 };
        let round = |v: f64| if self.single { f64::from(v as f32) } else { v };
        let place = round(round(v + 1.0) * scale);
        (if self.corners { place } else { round(place - 0.5) }, scale)
    }

    /// A coordinate moved inside, and the factor on its slope.
    fn pad(&self, v: f64, size: usize) -> (f64, f64) {
        let clip = |v: f64| {
            let last = size as f64 - 1.0;
            if v.is_nan() {
                // PyTorch's kernel of planes takes the first element for NaN, that of volumes the last.
                (if self.volume { last } else { 0.0 }, 0.0)
            } else if v <= 0.0 {
                (0.0, 0.0)
            } else if v >= last {
                (last, 0.0)
            } else {
                (v, 1.0)
            }
        };
        match self.padding {
            1 => clip(v),
            2 => {
                let (low, high) = if self.corners { (0.0, 2.0 * (size as f64 - 1.0)) } else { (-1.0, 2.0 * size as f64 - 1.0) };
                let (inside, turn) = reflect(v, low, high);
                let (inside, cut) = clip(inside);
                (inside, turn * cut)
            }
            _ => (v, 1.0),
        }
    }

    /// The source coordinate of a grid value with padding applied and its slope.
    pub(super) fn place(&self, v: f64, size: usize) -> (f64, f64) {
        let (at, scale) = self.unnormalize(v, size);
        let (at, slope) = self.pad(at, size);
        (at, scale * slope)
    }

    /// Whether the nearest element is read, and none between.
    pub(super) fn nearest(&self) -> bool {
        self.mode == 1
    }

    /// Along one dimension, the four places that cubic interpolation reads, their weights, and the weights' slopes. Padding moves
    /// the places, and leaves the weights alone.
    pub(super) fn cubic(&self, v: f64, size: usize) -> [(f64, f64, f64); 4] {
        let (at, scale) = self.unnormalize(v, size);
        let weights = cubic(at - at.floor());
        [0, 1, 2, 3].map(|i| (self.pad(at.floor() - 1.0 + i as f64, size).0, weights[i].0, weights[i].1 * scale))
    }

    /// Whether interpolation is cubic.
    pub(super) fn is_cubic(&self) -> bool {
        self.mode == 2
    }

    fn taps(&self, gx: f64, gy: f64, height: usize, width: usize) -> Vec<Tap> {
        if self.is_cubic() {
            return self.cubic_taps(gx, gy, height, width);
        }
        let ((x, mx), (y, my)) = (self.place(gx, width), self.place(gy, height));
        if self.nearest() {
            return vec![Tap { y: y.round_ties_even().to_i64(), x: x.round_ties_even().to_i64(), weight: 1.0, slope: (0.0, 0.0) }];
        }
        let (x0, y0) = (x.floor(), y.floor());
        let (dx, dy) = (x - x0, y - y0);
        // What is far out, or NaN, is so far below that its neighbour is out as well.
        let (x0, y0) = (x0.to_i64(), y0.to_i64());
        let (x1, y1) = (x0.wrapping_add(1), y0.wrapping_add(1));
        vec![
            Tap { y: y0, x: x0, weight: (1.0 - dx) * (1.0 - dy), slope: (-(1.0 - dy) * mx, -(1.0 - dx) * my) },
            Tap { y: y0, x: x1, weight: dx * (1.0 - dy), slope: ((1.0 - dy) * mx, -dx * my) },
            Tap { y: y1, x: x0, weight: (1.0 - dx) * dy, slope: (-dy * mx, (1.0 - dx) * my) },
            Tap { y: y1, x: x1, weight: dx * dy, slope: (dy * mx, dx * my) },
        ]
    }

    fn cubic_taps(&self, gx: f64, gy: f64, height: usize, width: usize) -> Vec<Tap> {
        let mut taps = Vec::with_capacity(16);
        let along = self.cubic(gx, width);
        for (y, vy, sy) in self.cubic(gy, height) {
            for (x, vx, sx) in along {
                taps.push(Tap { y: y.to_i64(), x: x.to_i64(), weight: vx * vy, slope: (sx * vy, vx * sy) });
            }
        }
        taps
    }
}

/// The four weights of cubic convolution at a fraction, with their slopes. Source: Keys.
fn cubic(t: f64) -> [(f64, f64); 4] {
    const A: f64 = -0.75;
    let near = |x: f64| (((A + 2.0) * x - (A + 3.0)) * x * x + 1.0, (3.0 * (A + 2.0) * x - 2.0 * (A + 3.0)) * x);
    let far = |x: f64| (((x - 5.0) * x + 8.0) * x * A - 4.0 * A, (3.0 * x - 10.0) * x * A + 8.0 * A);
    let turn = |(v, s): (f64, f64)| (v, -s);
    [far(t + 1.0), near(t), turn(near(1.0 - t)), turn(far(2.0 - t))]
}

/// A coordinate reflected between two bounds (given doubled), and the sign of its slope.
fn reflect(v: f64, low: f64, high: f64) -> (f64, f64) {
    if low == high {
        return (0.0, 0.0);
    }
    let (low, span) = (low / 2.0, (high - low) / 2.0);
    let (distance, sign) = if v < low { (low - v, -1.0) } else { (v - low, 1.0) };
    let (rest, flips) = (distance % span, (distance / span).floor());
    if flips % 2.0 == 0.0 { (rest + low, sign) } else { (span - rest + low, -sign) }
}

fn inside(t: &Tap, height: usize, width: usize) -> bool {
    (0..height as i64).contains(&t.y) && (0..width as i64).contains(&t.x)
}

fn grid_sampler(c: &Call, out: &[Tensor]) -> Result<()> {
    let (input, grid, sampler) = (c.tensor("input")?, c.tensor("grid")?, Sampler::of(c)?);
    let (si, so) = (input.concrete()?.sizes, out[0].concrete()?.sizes);
    let (channels, height, width, places) = (si[1], si[2], si[3], so[2] * so[3]);
    for_floats!("grid_sampler_2d_cpu", input.dtype(), T => {
        let (x, g) = (T::read(input)?, T::read(grid)?);
        let mut result = vec![T::of(0.0); si[0] * channels * places];
        for n in 0..si[0] {
            for p in 0..places {
                let at = (n * places + p) * 2;
                for tap in sampler.taps(g[at].wide(), g[at + 1].wide(), height, width) {
                    // Outside are zeros, which a weight that is not finite makes NaN.
                    let from = inside(&tap, height, width).then(|| tap.y as usize * width + tap.x as usize);
                    for channel in 0..channels {
                        let plane = n * channels + channel;
                        let value = from.map_or(T::of(0.0), |from| x[plane * height * width + from]);
                        result[plane * places + p] += value * T::of(tap.weight);
                    }
                }
            }
        }
        T::write(&out[0], &result)
    })
}

fn grid_sampler_backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (grad, input, grid, sampler) = (c.tensor("grad_output")?, c.tensor("input")?, c.tensor("grid")?, Sampler::of(c)?);
    let (si, so) = (input.concrete()?.sizes, grad.concrete()?.sizes);
    let (channels, height, width, places) = (si[1], si[2], si[3], so[2] * so[3]);
    let mask = c.get("output_mask").list()?;
    for_floats!("grid_sampler_2d_backward_cpu", input.dtype(), T => {
        let (up, x, g) = (T::read(grad)?, T::read(input)?, T::read(grid)?);
        let (mut dx, mut dg) = (vec![T::of(0.0); x.len()], vec![0f64; g.len()]);
        for n in 0..si[0] {
            for p in 0..places {
                let at = (n * places + p) * 2;
                for tap in sampler.taps(g[at].wide(), g[at + 1].wide(), height, width) {
                    let from = inside(&tap, height, width).then(|| tap.y as usize * width + tap.x as usize);
                    for channel in 0..channels {
                        let plane = n * channels + channel;
                        let (source, slope) = (from.map(|from| plane * height * width + from), up[plane * places + p]);
                        if let Some(source) = source {
                            dx[source] += slope * T::of(tap.weight);
                        }
                        let value = source.map_or(0.0, |source| x[source].wide());
                        dg[at] += slope.wide() * value * tap.slope.0;
                        dg[at + 1] += slope.wide() * value * tap.slope.1;
                    }
                }
            }
        }
        let mut outs = out.iter();
        if mask[0].bool()? && let Some(out) = outs.next() {
            T::write(out, &dx)?;
        }
        if mask[1].bool()? && let Some(out) = outs.next() {
            T::write(out, &dg.into_iter().map(T::of).collect::<Vec<T>>())?;
        }
        Ok(())
    })
}

/// The bags of a call: which bag each index belongs to.
fn bags(c: &Call, count: usize) -> Result<Vec<usize>> {
    let (indices, offsets) = (c.tensor("indices")?.numel().guard_int()?, i64::read(c.tensor("offsets")?)?);
    if offsets.first().is_some_and(|o| *o != 0) {
        return Err(Error::runtime("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0."));
    }
    if offsets.iter().any(|o| *o > indices) {
        return Err(Error::runtime("offsets[-1] can not be greater than input's length"));
    }
    Ok((0..indices).map(|i| offsets[..count].iter().rposition(|o| *o <= i).unwrap_or(0)).collect())
}

fn embedding_bag(c: &Call, out: &[Tensor]) -> Result<()> {
    let (weight, mode, padding) = (c.tensor("weight")?, c.int("mode")?, c.int("padding_idx")?);
    let sizes = weight.concrete()?.sizes;
    let (rows, width) = (sizes[0], sizes[1]);
    let count = out[0].concrete()?.sizes[0];
    let (indices, bag_of) = (i64::read(c.tensor("indices")?)?, bags(c, count)?);
    for_floats!("embedding_bag", weight.dtype(), T => {
        let table = T::read(weight)?;
        let scales = c.opt_tensor("per_sample_weights").map(T::read).transpose()?;
        let (mut sums, mut sizes) = (vec![T::of(0.0); count * width], vec![0i64; count]);
        let mut largest = vec![0i64; if mode == 2 { count * width } else { count }];
        for (i, (row, bag)) in indices.iter().zip(&bag_of).enumerate() {
            if !(0..rows as i64).contains(row) {
                return Err(Error::runtime(format!(
                    "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {row}"
                )));
            }
            if *row == padding {
                continue;
            }
            sizes[*bag] += 1;
            let scale = scales.as_ref().map_or(T::of(1.0), |s| s[i]);
            for j in 0..width {
                let (v, at) = (table[*row as usize * width + j], bag * width + j);
                if mode != 2 {
                    sums[at] = v.fused(scale, sums[at]);
                } else if sizes[*bag] == 1 || v > sums[at] {
                    sums[at] = v;
                    largest[at] = *row;
                }
            }
        }
        if mode == 1 {
            for (at, v) in sums.iter_mut().enumerate() {
                *v /= T::of(sizes[at / width].max(1) as f64);
            }
        }
        T::write(&out[0], &sums)?;
        i64::write(&out[1], &bag_of.iter().map(|b| *b as i64).collect::<Vec<_>>())?;
        // Sums keep no sizes; means keep them twice.
        if mode == 1 {
            largest.clone_from(&sizes);
        }
        i64::write(&out[2], &if mode == 0 { vec![0; count] } else { sizes })?;
        i64::write(&out[3], &largest)
    })
}

fn embedding_bag_backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (grad, mode, padding) = (c.tensor("grad")?, c.int("mode")?, c.int("padding_idx")?);
    let sizes = out[0].concrete()?.sizes;
    let (rows, width) = (sizes[0], sizes[1]);
    let (indices, bag_of) = (i64::read(c.tensor("indices")?)?, bags(c, grad.concrete()?.sizes[0])?);
    let (bag_sizes, largest) = (i64::read(c.tensor("bag_size")?)?, i64::read(c.tensor("maximum_indices")?)?);
    let in_range = |row: &i64| (0..rows as i64).contains(row);
    if let Some(row) = indices.iter().chain(if mode == 2 { largest.as_slice() } else { &[] }).find(|row| !in_range(row)) {
        return Err(Error::runtime(format!("embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {row}")));
    }
    let mut uses = vec![0usize; rows];
    indices.iter().for_each(|i| uses[*i as usize] += 1);
    let by_frequency = c.bool("scale_grad_by_freq")?;
    for_floats!("embedding_bag_backward", grad.dtype(), T => {
        let g = T::read(grad)?;
        let scales = c.opt_tensor("per_sample_weights").map(T::read).transpose()?;
        let mut result = vec![T::of(0.0); rows * width];
        if mode == 2 {
            for (at, row) in largest.iter().enumerate().filter(|(at, _)| bag_sizes[at / width] > 0) {
                result[*row as usize * width + at % width] += g[at];
            }
        } else {
            for (i, (row, bag)) in indices.iter().zip(&bag_of).enumerate().filter(|(_, (row, _))| **row != padding) {
                let mut scale = scales.as_ref().map_or(T::of(1.0), |s| s[i]);
                if mode == 1 {
                    scale /= T::of(bag_sizes[*bag].max(1) as f64);
                }
                if by_frequency {
                    scale /= T::of(uses[*row as usize] as f64);
                }
                for j in 0..width {
                    let at = &mut result[*row as usize * width + j];
                    *at = held(g[*bag * width + j].fused(scale, *at), grad.dtype());
                }
            }
        }
        T::write(&out[0], &result)
    })
}

fn per_sample_weights_backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (grad, weight, padding) = (c.tensor("grad")?, c.tensor("weight")?, c.int("padding_idx")?);
    let sizes = grad.concrete()?.sizes;
    let (indices, bag_of, width) = (i64::read(c.tensor("indices")?)?, bags(c, sizes[0])?, sizes[1]);
    for_floats!("_embedding_bag_per_sample_weights_backward", grad.dtype(), T => {
        let (g, table) = (T::read(grad)?, T::read(weight)?);
        let rows = weight.concrete()?.sizes[0] as i64;
        if let Some(row) = indices.iter().find(|row| !(0..rows).contains(*row)) {
            return Err(Error::runtime(format!("embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {row}")));
        }
        let one = |(row, bag): (&i64, &usize)| {
            let (g, row) = (&g[bag * width..][..width], if *row == padding { return T::of(0.0) } else { *row as usize });
            T::of(g.iter().zip(&table[row * width..]).fold(0.0, |sum, (a, b)| sum + a.wide() * b.wide()))
        };
        T::write(&out[0], &indices.iter().zip(&bag_of).map(one).collect::<Vec<T>>())
    })
}
