//! Kernels that move elements by a rule of indices: shuffles, unfold and fold, padding by reflection or repetition.

use super::dense::{Lane, Real};
use crate::dense::for_floats;
use diagnostics::error::Result;
use dispatch::{Call, KernelTable};
use operators::patches::{two, window_counts};
use operators::pooling::spatial;
use shape::SymInt;
use tensor::Tensor;

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.pixel_shuffle.default", |c, out| shuffle(c.tensor("self")?, &out[0], &out[0], c.int("upscale_factor")?, false));
    t.fill("aten.pixel_unshuffle.default", |c, out| {
        shuffle(c.tensor("self")?, c.tensor("self")?, &out[0], c.int("downscale_factor")?, true)
    });
    t.fill("aten.channel_shuffle.default", |c, out| {
        let sizes = out[0].concrete()?.sizes;
        let (channels, places, groups) = (sizes[1], sizes[2..].iter().product::<usize>().max(1), c.int("groups")? as usize);
        moved(c.tensor("self")?, &out[0], |i| {
            let (item, channel, place) = (i / places / channels, i / places % channels, i % places);
            let from = channel % groups * (channels / groups) + channel / groups;
            (item * channels + from) * places + place
        })
    });
    t.fill("aten.im2col.default", im2col);
    t.fill("aten.col2im.default", col2im);
    for n in 1..=3 {
        for (kind, reflects) in [("reflection", true), ("replication", false)] {
            let forward: fn(&Call, &[Tensor]) -> Result<()> = if reflects { reflect } else { replicate };
            let backward: fn(&Call, &[Tensor]) -> Result<()> = if reflects { reflect_backward } else { replicate_backward };
            t.fill(Box::leak(format!("aten.{kind}_pad{n}d.default").into_boxed_str()), forward);
            t.fill(Box::leak(format!("aten.{kind}_pad{n}d_backward.default").into_boxed_str()), backward);
        }
    }
}

/// Fills a result from the input elements that `from` names; both in row-major order.
fn moved(input: &Tensor, out: &Tensor, from: impl Fn(usize) -> usize) -> Result<()> {
    fn run<T: Lane>(input: &Tensor, out: &Tensor, from: impl Fn(usize) -> usize) -> Result<()> {
        let x = T::read(input)?;
        let n = out.numel().guard_int()? as usize;
        T::write(out, &(0..n).map(|i| x[from(i)]).collect::<Vec<T>>())
    }
    if input.dtype().is_integral() { run::<i64>(input, out, from) } else { run::<f64>(input, out, from) }
}

/// `fine`: the tensor with the finer places, whose sizes say how to count.
fn shuffle(input: &Tensor, fine: &Tensor, out: &Tensor, r: i64, inverse: bool) -> Result<()> {
    let (sizes, r) = (fine.concrete()?.sizes, r as usize);
    let n = sizes.len();
    let (channels, height, width) = (sizes[n - 3], sizes[n - 2], sizes[n - 1]);
    // The element of the coarse tensor that lies at a place of the fine one.
    let coarse = |i: usize| {
        let (x, y, rest) = (i % width, i / width % height, i / width / height);
        let (channel, item) = (rest % channels, rest / channels);
        let from = (channel * r + y % r) * r + x % r;
        ((item * channels * r * r + from) * (height / r) + y / r) * (width / r) + x / r
    };
    if !inverse {
        return moved(input, out, coarse);
    }
    let count = out.numel().guard_int()? as usize;
    let mut fine_of = vec![0; count];
    (0..count).for_each(|i| fine_of[coarse(i)] = i);
    moved(input, out, |i| fine_of[i])
}

/// Calls `f` with (element of the columns, element of the image) for every pair that lies inside.
fn columns(c: &Call, planes: usize, image: [usize; 2], mut f: impl FnMut(usize, usize)) -> Result<()> {
    let [kernel, dilation, padding, stride] = [two(c, "kernel_size")?, two(c, "dilation")?, two(c, "padding")?, two(c, "stride")?];
    let [rows, columns] = window_counts(c, &image.map(|v| SymInt::Int(v as i64)))?;
    let counts = [rows.guard_int()?, columns.guard_int()?];
    let mut at = 0;
    for plane in 0..planes {
        for ky in 0..kernel[0] {
            for kx in 0..kernel[1] {
                for wy in 0..counts[0] {
                    for wx in 0..counts[1] {
                        let y = wy * stride[0] - padding[0] + ky * dilation[0];
                        let x = wx * stride[1] - padding[1] + kx * dilation[1];
                        if (0..image[0] as i64).contains(&y) && (0..image[1] as i64).contains(&x) {
                            f(at, (plane * image[0] + y as usize) * image[1] + x as usize);
                        }
                        at += 1;
                    }
                }
            }
        }
    }
    Ok(())
}

fn plane_sizes(image: &Tensor) -> Result<(usize, [usize; 2])> {
    let sizes = image.concrete()?.sizes;
    let n = sizes.len();
    Ok((sizes[..n - 2].iter().product(), [sizes[n - 2], sizes[n - 1]]))
}

fn im2col(c: &Call, out: &[Tensor]) -> Result<()> {
    let input = c.tensor("self")?;
    let (planes, image) = plane_sizes(input)?;
    for_floats!("im2col_out_cpu", input.dtype(), T => {
        let x = T::read(input)?;
        let mut result = vec![T::of(0.0); out[0].numel().guard_int()? as usize];
        columns(c, planes, image, |col, pixel| result[col] = x[pixel])?;
        T::write(&out[0], &result)
    })
}

fn col2im(c: &Call, out: &[Tensor]) -> Result<()> {
    let input = c.tensor("self")?;
    let (planes, image) = plane_sizes(&out[0])?;
    for_floats!("col2im_out_cpu", input.dtype(), T => {
        let x = T::read(input)?;
        let mut result = vec![T::of(0.0); out[0].numel().guard_int()? as usize];
        columns(c, planes, image, |col, pixel| result[pixel] += x[col])?;
        T::write(&out[0], &result)
    })
}

fn reflected(i: i64, size: i64) -> i64 {
    let i = i.abs();
    if i >= size { 2 * (size - 1) - i } else { i }
}

fn repeated(i: i64, size: i64) -> i64 {
    i.clamp(0, size - 1)
}

/// For every element of the padded tensor, the element of the input it repeats.
fn sources(c: &Call, input: &[usize], padded: &[usize], along: fn(i64, i64) -> i64) -> Result<Vec<usize>> {
    let (n, padding) = (spatial(c), c.ints("padding")?);
    let lead = input.len() - n;
    let count: usize = padded.iter().product();
    Ok((0..count)
        .map(|i| {
            let (mut rest, mut from, mut step) = (i, 0, 1);
            for d in (0..input.len()).rev() {
                let at = (rest % padded[d]) as i64;
                rest /= padded[d];
                let own = if d < lead { at } else { along(at - padding[2 * (input.len() - 1 - d)], input[d] as i64) };
                from += own as usize * step;
                step *= input[d];
            }
            from
        })
        .collect())
}

fn pad(c: &Call, out: &[Tensor], along: fn(i64, i64) -> i64) -> Result<()> {
    let input = c.tensor("self")?;
    let from = sources(c, &input.concrete()?.sizes, &out[0].concrete()?.sizes, along)?;
    moved(input, &out[0], |i| from[i])
}

fn pad_backward(c: &Call, out: &[Tensor], along: fn(i64, i64) -> i64) -> Result<()> {
    let grad = c.tensor("grad_output")?;
    let from = sources(c, &out[0].concrete()?.sizes, &grad.concrete()?.sizes, along)?;
    for_floats!("padding_backward", grad.dtype(), T => {
        let mut result = vec![T::of(0.0); out[0].numel().guard_int()? as usize];
        T::read(grad)?.into_iter().zip(from).for_each(|(g, i)| result[i] += g);
        T::write(&out[0], &result)
    })
}

fn reflect(c: &Call, out: &[Tensor]) -> Result<()> {
    pad(c, out, reflected)
}

fn replicate(c: &Call, out: &[Tensor]) -> Result<()> {
    pad(c, out, repeated)
}

fn reflect_backward(c: &Call, out: &[Tensor]) -> Result<()> {
    pad_backward(c, out, reflected)
}

fn replicate_backward(c: &Call, out: &[Tensor]) -> Result<()> {
    pad_backward(c, out, repeated)
}
