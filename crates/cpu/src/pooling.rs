//! Pooling kernels. Planes are (leading dimensions) x (up to three places); windows are lists of places.

use super::dense::{Lane, Real};
use crate::dense::for_floats;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable};
use operators::pooling::{Windows, spatial};
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    for name in ["aten.max_pool2d_with_indices.default", "aten.max_pool3d_with_indices.default"] {
        t.fill(name, |c, out| max_pool(c, out, &fixed(c)?));
    }
    for name in ["aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default"] {
        t.fill(name, |c, out| max_pool(c, out, &adaptive));
    }
    for name in [
        "aten.max_pool2d_with_indices_backward.default",
        "aten.max_pool3d_with_indices_backward.default",
        "aten.adaptive_max_pool2d_backward.default",
        "aten.adaptive_max_pool3d_backward.default",
        "aten.fractional_max_pool2d_backward.default",
        "aten.fractional_max_pool3d_backward.default",
    ] {
        t.fill(name, max_backward);
    }
    for name in ["aten.fractional_max_pool2d.default", "aten.fractional_max_pool3d.default"] {
        t.fill(name, fractional_max_pool);
    }
    for name in ["aten.avg_pool2d.default", "aten.avg_pool3d.default"] {
        t.fill(name, |c, out| average(c, out, &averaging(c)?));
    }
    for name in ["aten.avg_pool2d_backward.default", "aten.avg_pool3d_backward.default"] {
        t.fill(name, |c, out| average_backward(c, out, &averaging(c)?));
    }
    for name in ["aten._adaptive_avg_pool2d.default", "aten._adaptive_avg_pool3d.default"] {
        t.fill(name, |c, out| average(c, out, &mean_of(adaptive)));
    }
    for name in ["aten._adaptive_avg_pool2d_backward.default", "aten._adaptive_avg_pool3d_backward.default"] {
        t.fill(name, |c, out| average_backward(c, out, &mean_of(adaptive)));
    }
}

/// The places of window `i` along dimension `d`, for an input and output of these sizes.
type Window<'a> = dyn Fn(usize, usize, usize, usize) -> Vec<usize> + 'a;

fn fixed(c: &Call) -> Result<impl Fn(usize, usize, usize, usize) -> Vec<usize>> {
    let w = Windows::of(c)?;
    Ok(move |d: usize, i: usize, size: usize, _: usize| {
        (0..w.kernel[d])
            .map(|k| i as i64 * w.stride[d] - w.padding[d] + k * w.dilation[d])
            .filter(|p| (0..size as i64).contains(p))
            .map(|p| p as usize)
            .collect()
    })
}

fn adaptive(_: usize, i: usize, size: usize, count: usize) -> Vec<usize> {
    (i * size / count..((i + 1) * size).div_ceil(count)).collect()
}

/// Sizes of a pooling: planes, input places, output places.
struct Planes {
    count: usize,
    input: Vec<usize>,
    output: Vec<usize>,
}

impl Planes {
    fn of(input: &Tensor, output: &Tensor, n: usize) -> Result<Planes> {
        let (input, output) = (input.concrete()?.sizes, output.concrete()?.sizes);
        let lead = input.len() - n;
        Ok(Planes { count: input[..lead].iter().product(), input: input[lead..].to_vec(), output: output[lead..].to_vec() })
    }

    fn input_size(&self) -> usize {
        self.input.iter().product()
    }
    fn output_size(&self) -> usize {
        self.output.iter().product()
    }

    /// For every output place of a plane, its index along each dimension and the input places its window covers, in order.
    fn windows(&self, window: &Window) -> Vec<(Vec<usize>, Vec<usize>)> {
        if self.count == 0 || self.output.contains(&0) {
            return Vec::new();
        }
        let per_dim: Vec<Vec<Vec<usize>>> =
            (0..self.input.len()).map(|d| (0..self.output[d]).map(|i| window(d, i, self.input[d], self.output[d])).collect()).collect();
        let mut all = Vec::with_capacity(self.output_size());
        for place in 0..self.output_size() {
            let (mut rest, mut index) = (place, vec![0; self.output.len()]);
            for d in (0..self.output.len()).rev() {
                index[d] = rest % self.output[d];
                rest /= self.output[d];
            }
            let mut places = vec![0usize];
            for (d, i) in index.iter().enumerate() {
                places = places.iter().flat_map(|p| per_dim[d][*i].iter().map(move |q| p * self.input[d] + q)).collect();
            }
            all.push((index, places));
        }
        all
    }
}

fn max_pool(c: &Call, out: &[Tensor], window: &Window) -> Result<()> {
    let input = c.tensor("self")?;
    let planes = Planes::of(input, &out[0], spatial(c))?;
    fn run<T: Lane>(input: &Tensor, planes: &Planes, window: &Window, out: &[Tensor], is_nan: fn(T) -> bool) -> Result<()> {
        let (x, windows) = (T::read(input)?, planes.windows(window));
        let (mut values, mut indices) = (Vec::new(), Vec::new());
        for plane in 0..planes.count {
            let x = &x[plane * planes.input_size()..][..planes.input_size()];
            for (_, places) in &windows {
                let best = largest(x, places, is_nan);
                values.push(x[best]);
                indices.push(best as i64);
            }
        }
        T::write(&out[0], &values)?;
        i64::write(&out[1], &indices)
    }
    match input.dtype() {
        d if d.is_integral() && d != Dtype::Bool => run::<i64>(input, &planes, window, out, |_| false),
        d => for_floats!("max_pool2d", d, T => run::<T>(input, &planes, window, out, |v| v.nan())),
    }
}

/// Where the largest of some elements lies: the first of equals wins; a NaN wins over everything.
fn largest<T: Lane>(x: &[T], places: &[usize], is_nan: fn(T) -> bool) -> usize {
    places.iter().copied().reduce(|best, p| if x[p] > x[best] || is_nan(x[p]) { p } else { best }).unwrap_or(0)
}

/// Where windows begin that a random number spreads over a dimension; the last one ends with it.
fn beginnings<T: Real>(sample: T, input: usize, output: usize, kernel: usize) -> Vec<usize> {
    let mut starts = Vec::with_capacity(output);
    if output > 1 {
        let step = T::of((input - kernel) as f64) / T::of((output - 1) as f64);
        let place = |i: usize| ((T::of(i as f64) + sample) * step).wide() as i64 - (sample * step).wide() as i64;
        starts.extend((0..output - 1).map(|i| place(i) as usize));
    }
    if output > 0 {
        starts.push(input - kernel);
    }
    starts
}

fn fractional_max_pool(c: &Call, out: &[Tensor]) -> Result<()> {
    let (input, kernel, n) = (c.tensor("self")?, c.ints("kernel_size")?, spatial(c));
    let planes = Planes::of(input, &out[0], n)?;
    for_floats!("fractional_max_pool", input.dtype(), T => {
        let (x, samples) = (T::read(input)?, T::read(c.tensor("random_samples")?)?);
        let (mut values, mut indices) = (Vec::new(), Vec::new());
        for plane in 0..planes.count {
            let starts: Vec<Vec<usize>> = (0..n)
                .map(|d| {
                    // In two dimensions the first number is the width's, in three it is the time's.
                    let number = samples[plane * n + if n == 2 { 1 - d } else { d }];
                    beginnings(number, planes.input[d], planes.output[d], kernel[d] as usize)
                })
                .collect();
            let window = |d: usize, i: usize, _: usize, _: usize| (starts[d][i]..starts[d][i] + kernel[d] as usize).collect();
            let x = &x[plane * planes.input_size()..][..planes.input_size()];
            for (_, places) in planes.windows(&window) {
                let best = largest(x, &places, T::nan);
                values.push(x[best]);
                indices.push(best as i64);
            }
        }
        T::write(&out[0], &values)?;
        i64::write(&out[1], &indices)
    })
}

fn max_backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (grad, indices) = (c.tensor("grad_output")?, c.tensor("indices")?);
    let planes = Planes::of(c.tensor("self")?, grad, spatial(c))?;
    for_floats!("max_pool2d_backward", grad.dtype(), T => {
        let (g, at) = (T::read(grad)?, i64::read(indices)?);
        if let Some(index) = at.iter().find(|at| !(0..planes.input_size() as i64).contains(*at)) {
            return Err(Error::runtime(format!("{}(): index {index} is out of the input's range", c.entry.base_name())));
        }
        let mut result = vec![T::of(0.0); planes.count * planes.input_size()];
        for (i, (g, at)) in g.into_iter().zip(at).enumerate() {
            result[i / planes.output_size() * planes.input_size() + at as usize] += g;
        }
        T::write(&out[0], &result)
    })
}

/// An averaging window: its places and what its sum is divided by, one number after the other.
type Averaging<'a> = dyn Fn(&Planes) -> Vec<(Vec<usize>, Vec<f64>)> + 'a;

fn mean_of(window: impl Fn(usize, usize, usize, usize) -> Vec<usize>) -> impl Fn(&Planes) -> Vec<(Vec<usize>, Vec<f64>)> {
    move |planes| {
        let extent = |(d, i): (usize, &usize)| window(d, *i, planes.input[d], planes.output[d]).len() as f64;
        let windows = planes.windows(&window).into_iter();
        windows.map(|(index, places)| (places, index.iter().enumerate().map(extent).collect())).collect()
    }
}

fn averaging(c: &Call) -> Result<impl Fn(&Planes) -> Vec<(Vec<usize>, Vec<f64>)>> {
    let (w, include) = (Windows::of(c)?, c.bool("count_include_pad")?);
    let divisor = if c.get("divisor_override").is_none() { None } else { Some(c.int("divisor_override")? as f64) };
    let window = fixed(c)?;
    Ok(move |planes: &Planes| {
        // With padding counted, a window reaches as far as the padded input does.
        let reach = |d: usize, i: usize| {
            let start = i as i64 * w.stride[d] - w.padding[d];
            (start + w.kernel[d]).min(planes.input[d] as i64 + w.padding[d]) - start
        };
        let windows = planes.windows(&window);
        windows
            .into_iter()
            .map(|(index, places)| {
                let padded = || index.iter().enumerate().map(|(d, i)| reach(d, *i)).product::<i64>() as f64;
                let n = divisor.unwrap_or_else(|| if include { padded() } else { places.len() as f64 });
                (places, vec![n])
            })
            .collect()
    })
}

fn divided<T: Real>(v: T, by: &[f64]) -> T {
    by.iter().fold(v, |v, n| v / T::of(*n))
}

fn average(c: &Call, out: &[Tensor], windows: &Averaging) -> Result<()> {
    let input = c.tensor("self")?;
    let planes = Planes::of(input, &out[0], spatial(c))?;
    for_floats!("avg_pool2d_out_frame", input.dtype(), T => {
        let (x, windows) = (T::read(input)?, windows(&planes));
        let mut result = Vec::with_capacity(planes.count * planes.output_size());
        for plane in 0..planes.count {
            let x = &x[plane * planes.input_size()..];
            for (places, n) in &windows {
                let sum = places.iter().fold(T::of(0.0), |sum, p| sum + x[*p]);
                result.push(if places.is_empty() { sum } else { divided(sum, n) });
            }
        }
        T::write(&out[0], &result)
    })
}

fn average_backward(c: &Call, out: &[Tensor], windows: &Averaging) -> Result<()> {
    let grad = c.tensor("grad_output")?;
    let planes = Planes::of(c.tensor("self")?, grad, spatial(c))?;
    for_floats!("avg_pool2d_backward_out_frame", grad.dtype(), T => {
        let (g, windows) = (T::read(grad)?, windows(&planes));
        let mut result = vec![T::of(0.0); planes.count * planes.input_size()];
        for plane in 0..planes.count {
            for (i, (places, n)) in windows.iter().enumerate() {
                let share = divided(g[plane * windows.len() + i], n);
                places.iter().for_each(|p| result[plane * planes.input_size() + p] += share);
            }
        }
        T::write(&out[0], &result)
    })
}
