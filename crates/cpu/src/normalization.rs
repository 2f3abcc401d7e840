//! Normalisation kernels. Every kind is the same arithmetic over sets of elements: a row (layer), a channel over the batch
//! (batch), a group of channels of one item (group). Sums over a batch are carried in float64, and kept as PyTorch's kernels keep
//! them, those of rows and groups as its kernels carry them.

use super::dense::{Lane, Real, held};
use super::vectorized::{Vectorized, row_moments};
use super::widest::widest;
use crate::dense::for_floats;
use diagnostics::error::Result;
use dispatch::{Call, KernelTable};
use tensor::Tensor;

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.native_layer_norm.default", layer_norm);
    t.fill("aten._native_batch_norm_legit.default", batch_norm);
    t.fill("aten._native_batch_norm_legit.no_stats", batch_norm);
    t.fill("aten._native_batch_norm_legit_functional.default", batch_norm);
    t.fill("aten._native_batch_norm_legit_no_training.default", batch_norm);
    t.fill("aten.native_group_norm.default", group_norm);
}

/// Which set an element belongs to, and which weight it takes.
struct Plan {
    sets: usize,
    set_of: Vec<usize>,
    weight_of: Vec<usize>,
}

impl Plan {
    /// Rows of `width` elements; each column has a weight.
    fn rows(count: usize, width: usize) -> Plan {
        let n = count * width;
        Plan { sets: count, set_of: (0..n).map(|i| i / width).collect(), weight_of: (0..n).map(|i| i % width).collect() }
    }

    /// Batch x channel x place: a set per channel, over the batch.
    fn channels(sizes: &[usize]) -> Plan {
        let (channels, places) = (sizes[1], sizes[2..].iter().product::<usize>());
        let of: Vec<usize> = (0..sizes[0] * channels * places).map(|i| i / places.max(1) % channels).collect();
        Plan { sets: channels, set_of: of.clone(), weight_of: of }
    }

    /// Batch x channel x place: a set per item and group of channels.
    fn groups(batch: usize, channels: usize, places: usize, groups: usize) -> Plan {
        let (n, per) = (batch * channels * places, channels / groups);
        let channel = |i: usize| i / places.max(1) % channels;
        Plan {
            sets: batch * groups,
            set_of: (0..n).map(|i| i / (channels * places).max(1) * groups + channel(i) / per).collect(),
            weight_of: (0..n).map(channel).collect(),
        }
    }

    fn size(&self) -> usize {
        self.set_of.len() / self.sets.max(1)
    }

    /// Mean and sum of squared distances of every set.
    fn moments<T: Real>(&self, x: &[T]) -> (Vec<f64>, Vec<f64>) {
        let n = self.size() as f64;
        let (mut mean, mut var) = (vec![0f64; self.sets], vec![0f64; self.sets]);
        for (v, s) in x.iter().zip(&self.set_of) {
            mean[*s] += v.wide();
        }
        mean.iter_mut().for_each(|m| *m = T::of(*m / n).wide());
        // A square is rounded before it is added.
        for (v, s) in x.iter().zip(&self.set_of) {
            let away = *v - T::of(mean[*s]);
            var[*s] += (away * away).wide();
        }
        (mean, var)
    }

    /// Every element times a factor plus a shift, which its set and its weight decide.
    fn apply<T: Vectorized>(&self, x: &[T], mean: &[T], rstd: &[T], weight: Option<&[T]>, bias: Option<&[T]>) -> Vec<T> {
        let of = |i: usize| {
            let (s, w) = (self.set_of[i], self.weight_of[i]);
            (mean[s], weight.map_or(rstd[s], |v| rstd[s] * v[w]), bias.map_or(T::default(), |v| v[w]))
        };
        let mut y = x.to_vec();
        apply(&mut y, of);
        y
    }

    /// Mean and sum of squared distances of every set, of which each row of a batch has one element: carried in the elements' precision.
    fn column_moments<T: Vectorized>(&self, x: &[T]) -> (Vec<f64>, Vec<f64>) {
        let (n, zero) = (T::of(self.size() as f64), vec![T::default(); self.sets]);
        let (mut mean, mut var) = (zero.clone(), zero);
        x.iter().zip(&self.set_of).for_each(|(v, s)| mean[*s] += *v);
        mean.iter_mut().for_each(|m| *m /= n);
        for (v, s) in x.iter().zip(&self.set_of) {
            let away = *v - mean[*s];
            var[*s] = away.fused(away, var[*s]);
        }
        (mean.into_iter().map(T::wide).collect(), var.into_iter().map(T::wide).collect())
    }

    /// Mean, and `inverse` of the variance, of sets that lie side by side, one after the other.
    fn row_moments<T: Vectorized>(&self, x: &[T], inverse: impl Fn(T) -> T) -> (Vec<T>, Vec<T>) {
        x.chunks(self.size().max(1)).map(row_moments).map(|(mean, var)| (mean, inverse(var))).unzip()
    }
}

/// An argument's elements, where it is given.
pub fn optional<T: Real>(c: &Call, name: &str) -> Result<Option<Vec<T>>> {
    c.opt_tensor(name).map(T::read).transpose()
}

fn wide<T: Real>(t: &Tensor) -> Result<Vec<f64>> {
    Ok(T::read(t)?.into_iter().map(T::wide).collect())
}

fn write_wide<T: Real>(t: &Tensor, values: &[f64]) -> Result<()> {
    T::write(t, &values.iter().map(|v| T::of(*v)).collect::<Vec<T>>())
}

/// Writes those gradients that the mask asks for; `out` holds only those.
pub fn write_masked<T: Real>(c: &Call, grads: [Vec<T>; 3], out: &[Tensor], has_parameters: [bool; 2]) -> Result<()> {
    let mask = c.get("output_mask").list()?;
    let mut outs = out.iter();
    for (i, grad) in grads.into_iter().enumerate() {
        if mask[i].bool()?
            && (i == 0 || has_parameters[i - 1])
            && let Some(out) = outs.next()
        {
            T::write(out, &grad)?;
        }
    }
    Ok(())
}

fn layer_norm_plan(c: &Call) -> Result<Plan> {
    let sizes = c.tensor("input")?.concrete()?.sizes;
    let lead = sizes.len() - c.get("normalized_shape").list()?.len();
    Ok(Plan::rows(sizes[..lead].iter().product(), sizes[lead..].iter().product::<usize>().max(1)))
}

widest! {
    /// Of every element, less a mean, a multiple plus a shift.
    fn apply<T: Vectorized, F: Fn(usize) -> (T, T, T)>(values: &mut [T], of: F) {
        for (i, v) in values.iter_mut().enumerate() {
            let (mean, factor, shift) = of(i);
            *v = v.fused(factor, (-mean).fused(factor, shift));
        }
    }

    /// A row less its mean over its deviation, times weights plus a bias.
    fn normalise<T: Vectorized>(row: &mut [T], mean: T, rstd: T, weight: &[T], bias: &[T]) {
        for ((v, weight), bias) in row.iter_mut().zip(weight).zip(bias) {
            *v = ((*v - mean) * rstd).fused(*weight, *bias);
        }
    }
}

fn layer_norm(c: &Call, out: &[Tensor]) -> Result<()> {
    for_floats!("LayerNormKernelImpl", out[0].dtype(), T => {
        let (plan, x) = (layer_norm_plan(c)?, T::read(c.tensor("input")?)?);
        let (weight, bias) = (optional::<T>(c, "weight")?, optional::<T>(c, "bias")?);
        let eps = T::of(c.float("eps")?);
        let (mean, rstd) = plan.row_moments(&x, |var: T| T::of(1.0) / (var + eps).sqrt());
        let width = plan.size().max(1);
        let (weight, bias) = (weight.unwrap_or_else(|| vec![T::of(1.0); width]), bias.unwrap_or_else(|| vec![T::default(); width]));
        let mut y = x;
        y.chunks_mut(width).zip(mean.iter().zip(&rstd)).for_each(|(row, (mean, rstd))| normalise(row, *mean, *rstd, &weight, &bias));
        T::write(&out[0], &y)?;
        T::write(&out[1], &mean)?;
        T::write(&out[2], &rstd)
    })
}

fn batch_norm(c: &Call, out: &[Tensor]) -> Result<()> {
    let input = c.tensor("input")?;
    // A vector of nothing has no channels.
    if input.dim() < 2 {
        return Ok(());
    }
    let training = c.entry.schema.position("training").is_some() && c.bool("training")?;
    for_floats!("batch_norm", input.dtype(), T => {
        let (plan, x) = (Plan::channels(&input.concrete()?.sizes), T::read(input)?);
        let (weight, bias, eps) = (optional::<T>(c, "weight")?, optional::<T>(c, "bias")?, c.float("eps")?);
        let stats = c.opt_tensor("running_mean").zip(c.opt_tensor("running_var"));
        let n = plan.size() as f64;
        // New statistics are rounded before the reciprocal of the deviation is taken in double precision.
        let (mean, squares, rstd): (Vec<f64>, Vec<f64>, Vec<f64>) = match stats {
            Some((mean, var)) if !training => {
                let single = |v: T| (T::of(1.0) / (v + T::of(eps)).sqrt()).wide();
                (wide::<T>(mean)?, Vec::new(), T::read(var)?.into_iter().map(single).collect())
            }
            _ => {
                let flat = plan.size() == input.concrete()?.sizes[0];
                let (mean, squares) = if flat { plan.column_moments(&x) } else { plan.moments(&x) };
                let rstd = squares.iter().map(|s| 1.0 / ((T::of(*s) / T::of(n)).wide() + eps).sqrt()).collect();
                (mean, squares, rstd)
            }
        };
        // As they are saved, of the parameters' dtype.
        let dtype = if training { out[1].dtype() } else { tensor::Dtype::Float64 };
        let narrow = |v: &[f64]| v.iter().map(|v| held(T::of(*v), dtype)).collect::<Vec<T>>();
        T::write(&out[0], &plan.apply(&x, &narrow(&mean), &narrow(&rstd), weight.as_deref(), bias.as_deref()))?;
        if !training {
            return Ok(());
        }
        write_wide::<T>(&out[1], &mean)?;
        write_wide::<T>(&out[2], &rstd)?;
        if let Some((running_mean, running_var)) = stats {
            let momentum = c.float("momentum")?;
            let (new, old) = (T::of(momentum), T::of(1.0 - momentum));
            let means = T::read(running_mean)?.into_iter().zip(&mean).map(|(o, m)| old * o + new * T::of(*m));
            let unbiased = |s: f64| T::of(s) / T::of(n - 1.0);
            let vars = T::read(running_var)?.into_iter().zip(&squares).map(|(o, s)| new.fused(unbiased(*s), old * o));
            // The functional form has results for the new statistics; the other writes into its arguments.
            let targets = if out.len() == 5 { [&out[3], &out[4]] } else { [running_mean, running_var] };
            T::write(targets[0], &means.collect::<Vec<T>>())?;
            T::write(targets[1], &vars.collect::<Vec<T>>())?;
        }
        Ok(())
    })
}

fn group_plan(c: &Call) -> Result<Plan> {
    let [n, channels, places, group] = [c.int("N")?, c.int("C")?, c.int("HxW")?, c.int("group")?].map(|v| v as usize);
    Ok(Plan::groups(n, channels, places, group))
}

fn group_norm(c: &Call, out: &[Tensor]) -> Result<()> {
    for_floats!("GroupNormKernelImpl", out[0].dtype(), T => {
        let (plan, x) = (group_plan(c)?, T::read(c.tensor("input")?)?);
        let (weight, bias) = (optional::<T>(c, "weight")?, optional::<T>(c, "bias")?);
        let eps = c.float("eps")?;
        let (mean, rstd) = plan.row_moments(&x, |var: T| T::of(1.0 / (var.wide() + eps).sqrt()));
        // Without weights a group is a row that is normalised, and no scale and shift are made of it.
        let normalised = || (0..x.len()).map(|i| (x[i] - mean[plan.set_of[i]]) * rstd[plan.set_of[i]]).collect::<Vec<T>>();
        let is_plain = weight.is_none() && bias.is_none();
        let y = if is_plain { normalised() } else { plan.apply(&x, &mean, &rstd, weight.as_deref(), bias.as_deref()) };
        T::write(&out[0], &y)?;
        T::write(&out[1], &mean)?;
        T::write(&out[2], &rstd)
    })
}
