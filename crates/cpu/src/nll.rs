//! Negative log likelihood: picks one class per item. Items are laid out as batch x class x place. Every step is rounded to the
//! input's dtype, sums of half precision too, as PyTorch's kernel does it.

use super::dense::{Lane, Real, held};
use crate::dense::for_floats;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable};
use operators::loss::{MEAN, NONE};
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    for name in ["aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default"] {
        t.fill(name, forward);
    }
    for name in ["aten.nll_loss_backward.default", "aten.nll_loss2d_backward.default"] {
        t.fill(name, backward);
    }
}

/// One item that counts: its number, its element in the input, its weight.
struct Item<T> {
    number: usize,
    element: usize,
    weight: T,
}

fn items<T: Real>(c: &Call) -> Result<Vec<Item<T>>> {
    let (sizes, targets) = (c.tensor("self")?.concrete()?.sizes, i64::read(c.tensor("target")?)?);
    let classes = if sizes.len() == 1 { sizes[0] } else { sizes[1] };
    let places: usize = sizes.iter().skip(2).product();
    let dtype = c.tensor("self")?.dtype();
    if let Some(weight) = c.opt_tensor("weight").filter(|w| w.dtype() != dtype) {
        let (wanted, found) = (dtype.scalar_type(), weight.dtype().scalar_type());
        return Err(Error::runtime(format!("expected scalar type {wanted} but found {found}")));
    }
    let weights: Option<Vec<T>> = c.opt_tensor("weight").map(T::read).transpose()?;
    let ignore = c.int("ignore_index")?;
    let mut items = Vec::new();
    for (number, target) in targets.into_iter().enumerate() {
        if target == ignore {
            continue;
        }
        if target < 0 || target >= classes as i64 {
            return Err(Error::index(format!("Target {target} is out of bounds.")));
        }
        let class = target as usize;
        let (batch, place) = (number / places.max(1), number % places.max(1));
        let element = (batch * classes + class) * places.max(1) + place;
        items.push(Item { number, element, weight: weights.as_ref().map_or(T::of(1.0), |w| w[class]) });
    }
    Ok(items)
}

/// The sum over those of `count` items that count, by number, in cascades as PyTorch adds them: a level's sum moves up whenever
/// the item's number has no digit left below the next level.
fn cascaded<T: Real>(dtype: Dtype, count: usize, values: impl Iterator<Item = (usize, T)>) -> T {
    const LEVELS: usize = 8;
    let power = (count.next_power_of_two().ilog2() as usize / LEVELS).max(4);
    let mut sums = [T::of(0.0); LEVELS];
    for (number, value) in values {
        sums[0] = held(sums[0] + held(value, dtype), dtype);
        for level in 0..LEVELS - 1 {
            if number & (((1 << power) - 1) << (level * power)) != 0 {
                break;
            }
            let partial = std::mem::replace(&mut sums[level], T::of(0.0));
            sums[level + 1] = held(sums[level + 1] + partial, dtype);
        }
    }
    sums.into_iter().fold(T::of(0.0), |all, sum| held(all + sum, dtype))
}

fn forward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (input, reduction) = (c.tensor("self")?, c.int("reduction")?);
    let dtype = input.dtype();
    for_floats!("nll_loss_out_frame", dtype, T => {
        let (x, items) = (T::read(input)?, items::<T>(c)?);
        if reduction == NONE {
            let mut result = vec![T::of(0.0); out[0].numel().guard_int()? as usize];
            for i in &items {
                result[i.number] = -x[i.element] * i.weight;
            }
            return T::write(&out[0], &result);
        }
        let count = i64::read(c.tensor("target")?)?.len();
        let total = if c.opt_tensor("weight").is_some() {
            cascaded(dtype, count, items.iter().map(|i| (i.number, i.weight)))
        } else {
            held(T::of(items.len() as f64), dtype)
        };
        let sum = cascaded(dtype, count, items.iter().map(|i| (i.number, -x[i.element] * i.weight)));
        T::write(&out[0], &[if reduction == MEAN { sum / total } else { sum }])?;
        T::write(&out[1], &[total])
    })
}

fn backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (input, reduction) = (c.tensor("self")?, c.int("reduction")?);
    for_floats!("nll_loss_backward_out_frame", input.dtype(), T => {
        let (grad, total) = (T::read(c.tensor("grad_output")?)?, T::read(c.tensor("total_weight")?)?);
        let mut result = vec![T::of(0.0); input.numel().guard_int()? as usize];
        for i in items::<T>(c)? {
            let g = if reduction == NONE { grad[i.number] } else { grad[0] };
            result[i.element] = -i.weight * if reduction == MEAN { held(g / total[0], input.dtype()) } else { g };
        }
        T::write(&out[0], &result)
    })
}
