//! Normalisation kernels. Every kind is the same arithmetic over sets of elements: a row (layer), a channel over the batch
//! (batch), a group of channels of one item (group). Statistics over a batch are carried in float64, those of rows and groups as
//! PyTorch's kernels carry them.

use super::dense::{Lane, Real, held};
use super::vectorized::{Vectorized, row_moments};
use crate::dispatch::{Call, KernelTable};
use crate::error::Result;
use crate::for_floats;
use crate::tensor::Tensor;

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.native_layer_norm.default", layer_norm);
    t.fill("aten.native_layer_norm_backward.default", layer_norm_backward);
    t.fill("aten._native_batch_norm_legit.default", batch_norm);
    t.fill("aten._native_batch_norm_legit.no_stats", batch_norm);
    t.fill("aten._native_batch_norm_legit_functional.default", batch_norm);
    t.fill("aten._native_batch_norm_legit_no_training.default", batch_norm);
    t.fill("aten.native_batch_norm_backward.default", batch_norm_backward);
    t.fill("aten.native_group_norm.default", group_norm);
    t.fill("aten.native_group_norm_backward.default", group_norm_backward);
}

/// Which set an element belongs to, and which weight it takes.
struct Plan {
    sets: usize,
    weights: usize,
    set_of: Vec<usize>,
    weight_of: Vec<usize>,
}

impl Plan {
    /// Rows of `width` elements; each column has a weight.
    fn rows(count: usize, width: usize) -> Plan {
        let n = count * width;
        Plan { sets: count, weights: width, set_of: (0..n).map(|i| i / width).collect(), weight_of: (0..n).map(|i| i % width).collect() }
    }

    /// Batch x channel x place: a set per channel, over the batch.
    fn channels(sizes: &[usize]) -> Plan {
        let (channels, places) = (sizes[1], sizes[2..].iter().product::<usize>());
        let of: Vec<usize> = (0..sizes[0] * channels * places).map(|i| i / places.max(1) % channels).collect();
        Plan { sets: channels, weights: channels, set_of: of.clone(), weight_of: of }
    }

    /// Batch x channel x place: a set per item and group of channels.
    fn groups(batch: usize, channels: usize, places: usize, groups: usize) -> Plan {
        let (n, per) = (batch * channels * places, channels / groups);
        let channel = |i: usize| i / places.max(1) % channels;
        Plan {
            sets: batch * groups,
            weights: channels,
            set_of: (0..n).map(|i| i / (channels * places).max(1) * groups + channel(i) / per).collect(),
            weight_of: (0..n).map(channel).collect(),
        }
    }

    fn size(&self) -> usize {
        self.set_of.len() / self.sets.max(1)
    }

    /// Mean and variance of every set.
    fn moments<T: Real>(&self, x: &[T]) -> (Vec<f64>, Vec<f64>) {
        let n = self.size() as f64;
        let (mut mean, mut var) = (vec![0f64; self.sets], vec![0f64; self.sets]);
        for (v, s) in x.iter().zip(&self.set_of) {
            mean[*s] += v.wide();
        }
        mean.iter_mut().for_each(|m| *m /= n);
        for (v, s) in x.iter().zip(&self.set_of) {
            var[*s] += (v.wide() - mean[*s]).powi(2);
        }
        var.iter_mut().for_each(|v| *v /= n);
        (mean, var)
    }

    /// Every element times a factor plus a shift, which its set and its weight decide.
    fn apply<T: Vectorized>(&self, x: &[T], mean: &[T], rstd: &[T], weight: Option<&[T]>, bias: Option<&[T]>) -> Vec<T> {
        let at = |i: usize| {
            let (s, w) = (self.set_of[i], self.weight_of[i]);
            let factor = weight.map_or(rstd[s], |v| rstd[s] * v[w]);
            x[i].fused(factor, (-mean[s]).fused(factor, bias.map_or(T::default(), |v| v[w])))
        };
        (0..x.len()).map(at).collect()
    }

    /// Mean and variance of every set, of which each row of a batch has one element: carried in the elements' precision.
    fn column_moments<T: Vectorized>(&self, x: &[T]) -> (Vec<f64>, Vec<f64>) {
        let (n, zero) = (T::of(self.size() as f64), vec![T::default(); self.sets]);
        let (mut mean, mut var) = (zero.clone(), zero);
        x.iter().zip(&self.set_of).for_each(|(v, s)| mean[*s] += *v);
        mean.iter_mut().for_each(|m| *m /= n);
        for (v, s) in x.iter().zip(&self.set_of) {
            let away = *v - mean[*s];
            var[*s] = away.fused(away, var[*s]);
        }
        (mean.into_iter().map(T::wide).collect(), var.into_iter().map(|v| (v / n).wide()).collect())
    }

    /// Mean and inverse deviation of sets that lie side by side, one after the other.
    fn row_moments<T: Vectorized>(&self, x: &[T], eps: f64) -> (Vec<T>, Vec<T>) {
        let rows = x.chunks(self.size().max(1)).map(row_moments);
        rows.map(|(mean, var)| (mean, T::of(1.0) / (var + T::of(eps)).sqrt())).unzip()
    }

    /// Gradients of input, weight and bias. `fixed`: the statistics do not depend on the input.
    fn backward<T: Real>(&self, g: &[T], x: &[T], mean: &[f64], rstd: &[f64], weight: Option<&[T]>, fixed: bool) -> [Vec<T>; 3] {
        let n = self.size() as f64;
        let (mut sum, mut dot) = (vec![0f64; self.sets], vec![0f64; self.sets]);
        let (mut dw, mut db) = (vec![0f64; self.weights], vec![0f64; self.weights]);
        let normal = |i: usize| (x[i].wide() - mean[self.set_of[i]]) * rstd[self.set_of[i]];
        let weighted = |i: usize| g[i].wide() * weight.map_or(1.0, |w| w[self.weight_of[i]].wide());
        for i in 0..x.len() {
            let (s, w) = (self.set_of[i], self.weight_of[i]);
            sum[s] += weighted(i);
            dot[s] += weighted(i) * normal(i);
            dw[w] += g[i].wide() * normal(i);
            db[w] += g[i].wide();
        }
        let at = |i: usize| {
            let s = self.set_of[i];
            let correction = if fixed { 0.0 } else { (sum[s] + normal(i) * dot[s]) / n };
            T::of(rstd[s] * (weighted(i) - correction))
        };
        let narrow = |v: Vec<f64>| v.into_iter().map(T::of).collect();
        [(0..x.len()).map(at).collect(), narrow(dw), narrow(db)]
    }
}

fn optional<T: Real>(c: &Call, name: &str) -> Result<Option<Vec<T>>> {
    c.opt_tensor(name).map(T::read).transpose()
}

fn wide<T: Real>(t: &Tensor) -> Result<Vec<f64>> {
    Ok(T::read(t)?.into_iter().map(T::wide).collect())
}

fn write_wide<T: Real>(t: &Tensor, values: &[f64]) -> Result<()> {
    T::write(t, &values.iter().map(|v| T::of(*v)).collect::<Vec<T>>())
}

fn inverse_std(var: &[f64], eps: f64) -> Vec<f64> {
    var.iter().map(|v| 1.0 / (v + eps).sqrt()).collect()
}

/// Writes those gradients that the mask asks for; `out` holds only those.
fn write_masked<T: Real>(c: &Call, grads: [Vec<T>; 3], out: &[Tensor], has_parameters: [bool; 2]) -> Result<()> {
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

fn layer_norm(c: &Call, out: &[Tensor]) -> Result<()> {
    for_floats!("LayerNormKernelImpl", out[0].dtype(), T => {
        let (plan, x) = (layer_norm_plan(c)?, T::read(c.tensor("input")?)?);
        let (weight, bias) = (optional::<T>(c, "weight")?, optional::<T>(c, "bias")?);
        let (mean, rstd) = plan.row_moments(&x, c.float("eps")?);
        let at = |i: usize| {
            let (s, w) = (plan.set_of[i], plan.weight_of[i]);
            let scale = weight.as_ref().map_or(T::of(1.0), |v| v[w]);
            ((x[i] - mean[s]) * rstd[s]).fused(scale, bias.as_ref().map_or(T::default(), |v| v[w]))
        };
        T::write(&out[0], &(0..x.len()).map(at).collect::<Vec<T>>())?;
        T::write(&out[1], &mean)?;
        T::write(&out[2], &rstd)
    })
}

fn layer_norm_backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let input = c.tensor("input")?;
    for_floats!("LayerNormBackwardKernelImpl", input.dtype(), T => {
        let (plan, g, x) = (layer_norm_plan(c)?, T::read(c.tensor("grad_out")?)?, T::read(input)?);
        let (mean, rstd) = (wide::<T>(c.tensor("mean")?)?, wide::<T>(c.tensor("rstd")?)?);
        let grads = plan.backward(&g, &x, &mean, &rstd, optional::<T>(c, "weight")?.as_deref(), false);
        write_masked(c, grads, out, [c.opt_tensor("weight").is_some(), c.opt_tensor("bias").is_some()])
    })
}

fn batch_norm(c: &Call, out: &[Tensor]) -> Result<()> {
    let input = c.tensor("input")?;
    let training = c.entry.schema.position("training").is_some() && c.bool("training")?;
    for_floats!("batch_norm", input.dtype(), T => {
        let (plan, x) = (Plan::channels(&input.concrete()?.sizes), T::read(input)?);
        let (weight, bias, eps) = (optional::<T>(c, "weight")?, optional::<T>(c, "bias")?, c.float("eps")?);
        let stats = c.opt_tensor("running_mean").zip(c.opt_tensor("running_var"));
        let (mean, var) = match stats {
            Some((mean, var)) if !training => (wide::<T>(mean)?, wide::<T>(var)?),
            _ if plan.size() == input.concrete()?.sizes[0] => plan.column_moments(&x),
            _ => plan.moments(&x),
        };
        let rstd = inverse_std(&var, eps);
        // As they are saved, of the parameters' dtype.
        let dtype = if training { out[1].dtype() } else { crate::tensor::Dtype::Float64 };
        let narrow = |v: &[f64]| v.iter().map(|v| held(T::of(*v), dtype)).collect::<Vec<T>>();
        T::write(&out[0], &plan.apply(&x, &narrow(&mean), &narrow(&rstd), weight.as_deref(), bias.as_deref()))?;
        if !training {
            return Ok(());
        }
        write_wide::<T>(&out[1], &mean)?;
        write_wide::<T>(&out[2], &rstd)?;
        if let Some((running_mean, running_var)) = stats {
            let (momentum, n) = (c.float("momentum")?, plan.size() as f64);
            let unbiased: Vec<f64> = var.iter().map(|v| v * n / (n - 1.0)).collect();
            // The functional form has results for the new statistics; the other writes into its arguments.
            let targets = if out.len() == 5 { [&out[3], &out[4]] } else { [running_mean, running_var] };
            for ((old, new), target) in [(running_mean, &mean), (running_var, &unbiased)].into_iter().zip(targets) {
                let mixed: Vec<f64> = wide::<T>(old)?.iter().zip(new).map(|(o, n)| (1.0 - momentum) * o + momentum * n).collect();
                write_wide::<T>(target, &mixed)?;
            }
        }
        Ok(())
    })
}

fn batch_norm_backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (input, training) = (c.tensor("input")?, c.bool("train")?);
    for_floats!("batch_norm_backward", input.dtype(), T => {
        let (plan, g, x) = (Plan::channels(&input.concrete()?.sizes), T::read(c.tensor("grad_out")?)?, T::read(input)?);
        let (mean, rstd) = if training {
            (wide::<T>(c.tensor("save_mean")?)?, wide::<T>(c.tensor("save_invstd")?)?)
        } else {
            (wide::<T>(c.tensor("running_mean")?)?, inverse_std(&wide::<T>(c.tensor("running_var")?)?, c.float("eps")?))
        };
        let grads = plan.backward(&g, &x, &mean, &rstd, optional::<T>(c, "weight")?.as_deref(), !training);
        write_masked(c, grads, out, [true, true])
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
        let (mean, rstd) = plan.row_moments(&x, c.float("eps")?);
        T::write(&out[0], &plan.apply(&x, &mean, &rstd, weight.as_deref(), bias.as_deref()))?;
        T::write(&out[1], &mean)?;
        T::write(&out[2], &rstd)
    })
}

fn group_norm_backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let input = c.tensor("input")?;
    for_floats!("GroupNormBackwardKernelImpl", input.dtype(), T => {
        let (plan, g, x) = (group_plan(c)?, T::read(c.tensor("grad_out")?)?, T::read(input)?);
        let (mean, rstd) = (wide::<T>(c.tensor("mean")?)?, wide::<T>(c.tensor("rstd")?)?);
        let grads = plan.backward(&g, &x, &mean, &rstd, optional::<T>(c, "weight")?.as_deref(), false);
        write_masked(c, grads, out, [true, true])
    })
}
