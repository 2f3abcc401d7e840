//! Runs of a dimension reduced each to one element, and the gradients of that.

use super::dense::{Lane, Real, for_floats};
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable};
use std::ops::Range;
use tensor::Tensor;
use tensor::strided::integers;

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.segment_reduce.default", forward);
    t.fill("aten._segment_reduce_backward.default", backward);
}

/// The data as rows of places of elements, and the runs of every row.
struct Layout {
    places: usize,
    inner: usize,
    runs: Vec<Vec<Range<usize>>>,
}

fn layout(c: &Call, data: &Tensor) -> Result<Layout> {
    let sizes = data.concrete()?.sizes;
    let axis = c.int("axis")?;
    let axis = if axis < 0 { axis + sizes.len() as i64 } else { axis } as usize;
    let (places, inner) = (sizes[axis], sizes[axis + 1..].iter().product());
    let of_offsets = |row: &[i64]| row.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>();
    let of_lengths = |row: &[i64]| {
        let mut end = 0;
        let next = |length: &i64| {
            end += length;
            (end - length, end)
        };
        row.iter().map(next).collect::<Vec<_>>()
    };
    let (values, per_row, is_offsets) = match (c.opt_tensor("offsets"), c.opt_tensor("lengths")) {
        (Some(offsets), _) => (integers(offsets)?, offsets.concrete()?.sizes[axis], true),
        (_, Some(lengths)) => (integers(lengths)?, lengths.concrete()?.sizes[axis], false),
        _ => return Err(Error::runtime("segment_reduce(): Either lengths or offsets must be defined.")),
    };
    let rows = values.chunks(per_row.max(1)).map(|row| {
        let pairs = if is_offsets { of_offsets(row) } else { of_lengths(row) };
        let runs = pairs.into_iter().map(|(from, to)| {
            let fits = 0 <= from && from <= to && to <= places as i64;
            if fits { Ok(from as usize..to as usize) } else { Err(Error::runtime("segment_reduce(): a run lies beyond the data")) }
        });
        runs.collect::<Result<Vec<_>>>()
    });
    Ok(Layout { places, inner, runs: rows.collect::<Result<_>>()? })
}

fn forward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (data, reduce) = (c.tensor("data")?, c.str("reduce")?);
    let l = layout(c, data)?;
    let given = if c.get("initial").is_none() { None } else { Some(c.float("initial")?) };
    for_floats!("_segment_reduce_cpu", data.dtype(), T => {
        let values = T::read(data)?;
        let start = given.unwrap_or(match reduce {
            "max" | "amax" => f64::NEG_INFINITY,
            "min" | "amin" => f64::INFINITY,
            "prod" => 1.0,
            _ => 0.0,
        });
        let mut results = Vec::new();
        for (row, runs) in l.runs.iter().enumerate() {
            for run in runs {
                for i in 0..l.inner {
                    let at = |place: usize| values[(row * l.places + place) * l.inner + i];
                    let sum = run.clone().map(at).fold(T::of(start), |sum, x| match reduce {
                        "max" | "amax" => if x.is_nan() || x > sum && !sum.is_nan() { x } else { sum },
                        "min" | "amin" => if x.is_nan() || x < sum && !sum.is_nan() { x } else { sum },
                        "prod" => sum * x,
                        _ => sum + x,
                    });
                    results.push(match (reduce, run.len()) {
                        ("mean", 0) if given.is_none() => T::of(f64::NAN),
                        ("mean", count @ 1..) => sum / T::of(count as f64),
                        _ => sum,
                    });
                }
            }
        }
        T::write(&out[0], &results)
    })
}

fn backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (data, reduce) = (c.tensor("data")?, c.str("reduce")?);
    let l = layout(c, data)?;
    let start = if c.get("initial").is_none() { 1.0 } else { c.float("initial")? };
    for_floats!("_segment_reduce_cpu", data.dtype(), T => {
        let (values, grads, outputs) = (T::read(data)?, T::read(c.tensor("grad")?)?, T::read(c.tensor("output")?)?);
        let mut results = vec![T::of(0.0); values.len()];
        let mut next = 0;
        for (row, runs) in l.runs.iter().enumerate() {
            for run in runs {
                for i in 0..l.inner {
                    let (grad, output) = (grads[next], outputs[next]);
                    next += 1;
                    let at = |place: usize| (row * l.places + place) * l.inner + i;
                    match reduce {
                        "max" | "min" | "amax" | "amin" => {
                            let is_it = |x: T| x.is_nan() || x == output;
                            let count = run.clone().filter(|place| is_it(values[at(*place)])).count();
                            let share = grad / T::of(count as f64);
                            run.clone().filter(|place| is_it(values[at(*place)])).for_each(|place| results[at(place)] = share);
                        }
                        "mean" => run.clone().for_each(|place| results[at(place)] = grad / T::of(run.len() as f64)),
                        "prod" => {
                            for place in run.clone() {
                                let x = values[at(place)];
                                let rest = if x.is_nan() || x == T::of(0.0) {
                                    let others = run.clone().filter(|other| *other != place).map(|other| values[at(other)]);
                                    others.fold(T::of(start), |product, x| product * x)
                                } else {
                                    output / x
                                };
                                results[at(place)] = grad * rest;
                            }
                        }
                        _ => run.clone().for_each(|place| results[at(place)] = grad),
                    }
                }
            }
        }
        T::write(&out[0], &results)
    })
}
