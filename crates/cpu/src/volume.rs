//! Reading volumes at the places of a three-dimensional grid: the nearest element, or eight or 64 neighbours weighted.

use super::dense::{Lane, Real};
use super::elementwise::Number;
use super::sampling::Sampler;
use crate::dense::for_floats;
use diagnostics::error::Result;
use dispatch::{Call, KernelTable};
use tensor::Tensor;

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.grid_sampler_3d.default", forward);
    t.fill("aten.grid_sampler_3d_backward.default", backward);
}

/// One element read: where it lies in its volume, its weight, and the slopes of the weight by the grid's x, y and z.
struct Tap {
    at: usize,
    weight: f64,
    slope: [f64; 3],
}

/// The elements that a place of the grid (x, y, z) reads from a volume (depth, height, width).
fn taps(sampler: &Sampler, grid: [f64; 3], sizes: [usize; 3]) -> Vec<Tap> {
    let [depth, height, width] = sizes;
    let index = |at: [i64; 3]| {
        let inside = at.iter().zip([width, height, depth]).all(|(i, size)| (0..size as i64).contains(i));
        inside.then(|| (at[2] as usize * height + at[1] as usize) * width + at[0] as usize)
    };
    if sampler.is_cubic() {
        let along = [sampler.cubic(grid[0], width), sampler.cubic(grid[1], height), sampler.cubic(grid[2], depth)];
        let tap = |i: usize| {
            let [x, y, z] = [along[0][i % 4], along[1][i / 4 % 4], along[2][i / 16]];
            let at = index([x.0, y.0, z.0].map(Number::to_i64))?;
            Some(Tap { at, weight: x.1 * y.1 * z.1, slope: [x.2 * y.1 * z.1, x.1 * y.2 * z.1, x.1 * y.1 * z.2] })
        };
        return (0..64).filter_map(tap).collect();
    }
    let places = [sampler.place(grid[0], width), sampler.place(grid[1], height), sampler.place(grid[2], depth)];
    if sampler.nearest() {
        let at = index(places.map(|(v, _)| v.round_ties_even().to_i64()));
        return at.map(|at| Tap { at, weight: 1.0, slope: [0.0; 3] }).into_iter().collect();
    }
    let mut found = Vec::with_capacity(8);
    for corner in 0..8 {
        let upper = [0, 1, 2].map(|d| corner >> d & 1 == 1);
        let low = places.map(|(v, _)| v.floor());
        let part = [0, 1, 2].map(|d| {
            let fraction = places[d].0 - low[d];
            if upper[d] { (fraction, places[d].1) } else { (1.0 - fraction, -places[d].1) }
        });
        let Some(at) = index([0, 1, 2].map(|d| low[d].to_i64().wrapping_add(i64::from(upper[d])))) else { continue };
        let slope = [0, 1, 2].map(|d| part[d].1 * part[(d + 1) % 3].0 * part[(d + 2) % 3].0);
        found.push(Tap { at, weight: part[0].0 * part[1].0 * part[2].0, slope });
    }
    found
}

/// Sizes of a call: batch and channels, the input's volume, and how many places are read.
struct Sizes {
    batch: usize,
    channels: usize,
    volume: [usize; 3],
    places: usize,
}

impl Sizes {
    fn of(input: &Tensor, result: &Tensor) -> Result<Sizes> {
        let (si, so) = (input.concrete()?.sizes, result.concrete()?.sizes);
        Ok(Sizes { batch: si[0], channels: si[1], volume: [si[2], si[3], si[4]], places: so[2] * so[3] * so[4] })
    }
    fn elements(&self) -> usize {
        self.volume.iter().product()
    }
}

fn forward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (input, sampler) = (c.tensor("input")?, Sampler::of(c)?);
    let sizes = Sizes::of(input, &out[0])?;
    for_floats!("grid_sampler_3d_cpu", input.dtype(), T => {
        let (x, g) = (T::read(input)?, T::read(c.tensor("grid")?)?);
        let mut result = vec![T::of(0.0); sizes.batch * sizes.channels * sizes.places];
        for n in 0..sizes.batch {
            for p in 0..sizes.places {
                let at = (n * sizes.places + p) * 3;
                for tap in taps(&sampler, [0, 1, 2].map(|d| g[at + d].wide()), sizes.volume) {
                    for plane in n * sizes.channels..(n + 1) * sizes.channels {
                        result[plane * sizes.places + p] += x[plane * sizes.elements() + tap.at] * T::of(tap.weight);
                    }
                }
            }
        }
        T::write(&out[0], &result)
    })
}

fn backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (grad, input, sampler) = (c.tensor("grad_output")?, c.tensor("input")?, Sampler::of(c)?);
    let (sizes, mask) = (Sizes::of(input, grad)?, c.get("output_mask").list()?);
    for_floats!("grid_sampler_3d_backward_cpu", input.dtype(), T => {
        let (up, x, g) = (T::read(grad)?, T::read(input)?, T::read(c.tensor("grid")?)?);
        let (mut dx, mut dg) = (vec![T::of(0.0); x.len()], vec![0f64; g.len()]);
        for n in 0..sizes.batch {
            for p in 0..sizes.places {
                let at = (n * sizes.places + p) * 3;
                for tap in taps(&sampler, [0, 1, 2].map(|d| g[at + d].wide()), sizes.volume) {
                    for plane in n * sizes.channels..(n + 1) * sizes.channels {
                        let (source, slope) = (plane * sizes.elements() + tap.at, up[plane * sizes.places + p]);
                        dx[source] += slope * T::of(tap.weight);
                        (0..3).for_each(|d| dg[at + d] += slope.wide() * x[source].wide() * tap.slope[d]);
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
