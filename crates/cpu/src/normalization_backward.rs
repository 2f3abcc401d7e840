//! Gradients of layer, batch and group normalisation, each in the order in which PyTorch's kernel adds: sums along a row by lanes,
//! sums over a batch one after the other, and the input's gradient as products of the row's two sums.

use super::normalization::{optional, write_masked};
use super::vectorized::{Vectorized, lanes_dot, lanes_sum};
use super::widest::widest;
use crate::dense::for_floats;
use diagnostics::error::Result;
use dispatch::{Call, KernelTable, Value};
use tensor::Tensor;

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.native_layer_norm_backward.default", layer_norm);
    t.fill("aten.native_batch_norm_backward.default", batch_norm);
    t.fill("aten.native_group_norm_backward.default", group_norm);
}

/// The factor `b` of a row's input gradient `a * dy + b * x + c`: from the sums `ds` of `dy * x` and `db` of `dy`, and the share
/// that an element has of the row.
fn slope<T: Vectorized>(ds: T, db: T, mean: T, rstd: T, share: T) -> T {
    db.fused(mean, -ds) * rstd * rstd * rstd * share
}

fn layer_norm(c: &Call, out: &[Tensor]) -> Result<()> {
    let input = c.tensor("input")?;
    let sizes = input.concrete()?.sizes;
    let lead = sizes.len() - c.get("normalized_shape").list()?.len();
    let n = sizes[lead..].iter().product::<usize>().max(1);
    for_floats!("LayerNormBackwardKernelImpl", input.dtype(), T => rows_backward::<T>(c, out, n))
}

widest! {
    fn rows_backward<T: Vectorized>(c: &Call, out: &[Tensor], n: usize) -> Result<()> {
        let (g, x) = (T::read(c.tensor("grad_out")?)?, T::read(c.tensor("input")?)?);
        let (mean, rstd) = (T::read(c.tensor("mean")?)?, T::read(c.tensor("rstd")?)?);
        let weight = optional::<T>(c, "weight")?;
        let (mut dx, mut dw, mut db) = (Vec::with_capacity(x.len()), vec![T::default(); n], vec![T::default(); n]);
        for (row, (g, x)) in g.chunks(n).zip(x.chunks(n)).enumerate() {
            let (mean, rstd) = (mean[row], rstd[row]);
            for i in 0..n {
                dw[i] = g[i].fused(rstd.fused(x[i], -rstd * mean), dw[i]);
                db[i] += g[i];
            }
            let (ds, sum) = match &weight {
                Some(w) => (lanes_dot(&g.iter().zip(x).map(|(g, x)| *g * *x).collect::<Vec<T>>(), w, true), lanes_dot(g, w, true)),
                None => (lanes_dot(g, x, true), lanes_sum(g)),
            };
            let share = T::of(1.0) / T::of(n as f64);
            let b = slope(ds, sum, mean, rstd, share);
            let shift = (-b).fused(mean, -(sum * rstd * share));
            dx.extend((0..n).map(|i| b.fused(x[i], weight.as_ref().map_or(rstd * g[i], |w| rstd * g[i] * w[i])) + shift));
        }
        write_masked(c, [dx, dw, db], out, [weight.is_some(), c.opt_tensor("bias").is_some()])
    }
}

fn batch_norm(c: &Call, out: &[Tensor]) -> Result<()> {
    let (input, training) = (c.tensor("input")?, c.bool("train")?);
    let sizes = input.concrete()?.sizes;
    // A vector of nothing has no channels.
    if sizes.len() < 2 {
        return Ok(());
    }
    // Without items the sums over them are zeros, not quotients by their number.
    if sizes.contains(&0) {
        return out.iter().try_for_each(|t| super::copy::fill(t, &Value::Float(0.0)));
    }
    for_floats!("batch_norm_backward", input.dtype(), T => channels_backward::<T>(c, out, &sizes, training))
}

widest! {
    fn channels_backward<T: Vectorized>(c: &Call, out: &[Tensor], sizes: &[usize], training: bool) -> Result<()> {
        let (channels, places) = (sizes[1], sizes[2..].iter().product::<usize>());
        let (g, x) = (T::read(c.tensor("grad_out")?)?, T::read(c.tensor("input")?)?);
        let (mean, rstd) = if training {
            (T::read(c.tensor("save_mean")?)?, T::read(c.tensor("save_invstd")?)?)
        } else {
            let (var, eps) = (T::read(c.tensor("running_var")?)?, c.float("eps")?);
            (T::read(c.tensor("running_mean")?)?, var.into_iter().map(|v| T::of(1.0 / (v.wide() + eps).sqrt())).collect())
        };
        let weight = optional::<T>(c, "weight")?;
        let mut grads = [vec![T::default(); x.len()], vec![T::default(); channels], vec![T::default(); channels]];
        // One place per item: channels lie side by side, and are added in the elements' precision.
        let flat = places == 1;
        let lanes = channels / T::LANES * T::LANES;
        for ch in 0..channels {
            let images = (0..sizes[0]).map(|n| (n * channels + ch) * places);
            let away = |i: usize| x[i] - mean[ch];
            let (sum, dot) = if flat {
                let sum = images.clone().fold(T::default(), |sum, i| sum + g[i]);
                (sum.wide(), images.clone().fold(T::default(), |dot, i| away(i).fused(g[i], dot)).wide())
            } else {
                let sums = images.clone().map(|i| lanes_sum(&g[i..i + places]).wide()).sum();
                let image = |i: usize| (i..i + places).map(away).collect::<Vec<T>>();
                (sums, images.clone().map(|i| lanes_dot(&image(i), &g[i..i + places], true).wide()).sum::<f64>())
            };
            let count = (sizes[0] * places) as f64;
            let k = T::of(dot) * rstd[ch] * rstd[ch] / T::of(count);
            let share = if flat { T::of(sum) / T::of(count) } else { T::of(sum / count) };
            for i in images.flat_map(|i| i..i + places) {
                let centered = match training {
                    false => g[i],
                    // The channels that fill no lanes are computed one by one.
                    true if flat && ch >= lanes => g[i] - share - away(i) * k,
                    true => (-away(i)).fused(k, g[i] - share),
                };
                grads[0][i] = weight.as_ref().map_or(centered * rstd[ch], |w| centered * rstd[ch] * w[ch]);
            }
            grads[1][ch] = T::of(dot * rstd[ch].wide());
            grads[2][ch] = T::of(sum);
        }
        write_masked(c, grads, out, [true, true])
    }
}

fn group_norm(c: &Call, out: &[Tensor]) -> Result<()> {
    let input = c.tensor("input")?;
    let [items, channels, places, groups] = [c.int("N")?, c.int("C")?, c.int("HxW")?, c.int("group")?].map(|v| v as usize);
    if input.concrete()?.numel() == 0 {
        return Ok(());
    }
    for_floats!("GroupNormBackwardKernelImpl", input.dtype(), T => groups_backward::<T>(c, out, [items, channels, places, groups]))
}

widest! {
    fn groups_backward<T: Vectorized>(c: &Call, out: &[Tensor], sizes: [usize; 4]) -> Result<()> {
        let [items, channels, places, groups] = sizes;
        let per = channels / groups;
        let (g, x) = (T::read(c.tensor("grad_out")?)?, T::read(c.tensor("input")?)?);
        let (mean, rstd) = (T::read(c.tensor("mean")?)?, T::read(c.tensor("rstd")?)?);
        let weight = optional::<T>(c, "weight")?;
        let has_weight = weight.is_some();
        let weight = weight.unwrap_or_else(|| vec![T::of(1.0); channels]);
        let place = |i: usize| i * places..(i + 1) * places;
        let dots: Vec<T> = (0..items * channels).map(|i| lanes_dot(&g[place(i)], &x[place(i)], false)).collect();
        let sums: Vec<T> = (0..items * channels).map(|i| lanes_sum(&g[place(i)])).collect();
        let mut grads = [vec![T::default(); x.len()], vec![T::default(); channels], vec![T::default(); channels]];
        let share = T::of(1.0) / T::of((per * places) as f64);
        for set in 0..items * groups {
            let (mean, rstd, first) = (mean[set], rstd[set], set * per);
            let w = &weight[first % channels..][..per];
            let (ds, db) = (weighted(&dots[first..first + per], w), weighted(&sums[first..first + per], w));
            let b = slope(ds, db, mean, rstd, share);
            let shift = (-(db * rstd)).fused(share, -(b * mean));
            for ch in first..first + per {
                let a = rstd * w[ch - first];
                place(ch).for_each(|i| grads[0][i] = a.fused(g[i], b * x[i]) + shift);
                let slot = ch % channels;
                grads[1][slot] = (-sums[ch]).fused(mean, dots[ch]).fused(rstd, grads[1][slot]);
                grads[2][slot] += sums[ch];
            }
        }
        write_masked(c, grads, out, [has_weight, has_weight])
    }
}

/// The sum of a group's channels times their weights: by lanes, the lanes one after the other, then by fours, then one by one.
fn weighted<T: Vectorized>(values: &[T], weights: &[T]) -> T {
    const TURN: usize = 4;
    let whole = values.len() / T::LANES * T::LANES;
    let mut lanes = vec![T::default(); T::LANES];
    (0..whole).for_each(|i| lanes[i % T::LANES] = values[i].fused(weights[i], lanes[i % T::LANES]));
    let sum = if whole > 0 { lanes.into_iter().fold(T::default(), |sum, lane| sum + lane) } else { T::default() };
    let fours = whole + (values.len() - whole) / TURN * TURN;
    let sum = (whole..fours).fold(sum, |sum, i| sum + values[i] * weights[i]);
    (fours..values.len()).fold(sum, |sum, i| values[i].fused(weights[i], sum))
}
