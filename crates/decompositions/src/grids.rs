//! Images read at the places of a grid, grids under affine maps, and the indices of triangles.

use super::expr::*;
use super::table::{Decomposed, Table};
use diagnostics::error::Result;
use dispatch::t;
use dispatch::{Call, Value};
use operators::resampling::{cubic_weights, weighted_sum};
use shape::SymInt;
use tensor::{Device, Dtype, Tensor};

/// Registers the rules.
pub fn register(table: &mut Table) {
    table.compute("aten.grid_sampler_2d.default", grid_sampler);
    table.compute("aten.affine_grid_generator.default", affine_grid);
    table.add("aten.tril_indices.default", tril_indices);
    table.add("aten.triu_indices.default", triu_indices);
}

/// What happens to places outside of the image.
#[derive(Clone, Copy, PartialEq)]
enum Outside {
    Zeros,
    Border,
    Reflection,
}

/// An image with a grid: what reading it at places needs.
struct Sampler<'a> {
    image: &'a Tensor,
    outside: Outside,
    align_corners: bool,
    /// Sizes that places are viewed as beside the image's indices.
    shape: Vec<SymInt>,
    batch: Tensor,
    channels: Tensor,
    height: i64,
    width: i64,
}

impl Sampler<'_> {
    /// From -1 to 1 to pixels.
    fn pixels(&self, places: &Tensor, size: i64) -> Result<Tensor> {
        let half = size as f64 * 0.5;
        add(mul(places, if self.align_corners { half - 0.5 } else { half })?, half - 0.5)
    }

    /// Pixels within the image, where what is outside is not zero.
    fn inside(&self, pixels: &Tensor, size: i64) -> Result<Tensor> {
        match self.outside {
            Outside::Zeros => Ok(pixels.clone()),
            Outside::Border => t!("clamp", pixels, 0, size - 1),
            Outside::Reflection => {
                let (low, high) = if self.align_corners { (0, 2 * (size - 1)) } else { (-1, 2 * size - 1) };
                t!("clamp", reflect(pixels, low, high)?, 0, size - 1)
            }
        }
    }

    /// The image at whole pixels, times a weight; zero outside.
    fn summand(&self, x: &Tensor, y: &Tensor, weight: &Value) -> Result<Tensor> {
        let right_of = ge(x, 0)?;
        let left_of = lt(x, self.width)?;
        let (below, above) = (ge(y, 0)?, lt(y, self.height)?);
        let rows = t!("logical_and", below, above)?;
        let valid = t!("logical_and", right_of, t!("logical_and", left_of, rows)?)?;
        let (x, y) = (t!("to.dtype", x, Dtype::Int64)?, t!("to.dtype", y, Dtype::Int64)?);
        let clip = |value: Value| t!("view", choose(&valid, value, 0)?, self.shape.clone());
        let (x, y, weight) = (clip(x.into())?, clip(y.into())?, clip(weight.clone())?);
        let indices = vec![self.batch.clone(), self.channels.clone(), y, x];
        mul(t!("index.Tensor", self.image, indices)?, weight)
    }

    fn bilinear(&self, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let (left, top) = (t!("floor", x)?, t!("floor", y)?);
        let right = add(&left, 1)?;
        let bottom = add(&top, 1)?;
        let north_west = mul(sub(&right, x)?, sub(&bottom, y)?)?;
        let north_east = mul(sub(x, &left)?, sub(&bottom, y)?)?;
        let south_west = mul(sub(&right, x)?, sub(y, &top)?)?;
        let south_east = mul(sub(x, &left)?, sub(y, &top)?)?;
        let mut sum = self.summand(&left, &top, &north_west.into())?;
        for (x, y, weight) in [(&right, &top, north_east), (&left, &bottom, south_west), (&right, &bottom, south_east)] {
            sum = add(sum, self.summand(x, y, &weight.into())?)?;
        }
        Ok(sum)
    }

    fn bicubic(&self, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let (left, top) = (t!("floor", x)?, t!("floor", y)?);
        let (beside, below) = (sub(x, &left)?, sub(y, &top)?);
        let mut lines = Vec::new();
        for row in 0..4i64 {
            let y = add(&top, row - 1)?;
            let mut line = Vec::new();
            for column in 0..4i64 {
                let x = match column {
                    0 => sub(&left, 1)?,
                    1 => left.clone(),
                    _ => add(&left, column - 1)?,
                };
                let x = self.inside(&x, self.width)?;
                line.push(self.summand(&x, &self.inside(&y, self.height)?, &Value::from(1))?);
            }
            lines.push(weighted_sum(line, &cubic_weights(&beside)?)?);
        }
        weighted_sum(lines, &cubic_weights(&below)?)
    }
}

/// Places reflected until they lie between two bounds, which are given twice as large.
fn reflect(pixels: &Tensor, twice_low: i64, twice_high: i64) -> Result<Tensor> {
    if twice_low == twice_high {
        return t!("zeros_like", pixels);
    }
    let (low, span) = (twice_low as f64 / 2.0, (twice_high - twice_low) as f64 / 2.0);
    let distance = abs(&sub(pixels, low)?)?;
    let extra = t!("fmod.Scalar", &distance, span)?;
    let flips = t!("to.dtype", t!("floor", div(&distance, span)?)?, Dtype::Int8)?;
    let even = eq(t!("bitwise_and.Scalar", flips, 1)?, 0)?;
    let forth = add(&extra, low)?;
    choose(&even, forth, sub(span + low, &extra)?)
}

fn grid_sampler(c: &Call) -> Decomposed {
    let (image, grid) = (c.tensor("input")?, c.tensor("grid")?);
    let (mode, align_corners) = (c.int("interpolation_mode")?, c.bool("align_corners")?);
    let outside = match c.int("padding_mode")? {
        0 => Outside::Zeros,
        1 => Outside::Border,
        _ => Outside::Reflection,
    };
    let (sizes, wanted) = (image.sizes(), grid.sizes());
    let (n, channels) = (sizes[0].clone(), sizes[1].clone());
    let (height, width) = (sizes[2].guard_int()?, sizes[3].guard_int()?);
    // A place per channel makes one loop of it; read in the order of memory, a place for all channels does.
    let expands = mode != 0 || !image.is_contiguous()?;
    let mut places = grid.clone();
    if expands {
        let one = vec![n.clone(), 1.into(), wanted[1].clone(), wanted[2].clone(), 2.into()];
        let all = vec![n.clone(), channels.clone(), wanted[1].clone(), wanted[2].clone(), 2.into()];
        places = t!("expand", t!("view", places, one)?, all)?;
    }
    let index = |size: &SymInt, shape: Vec<SymInt>| t!("view", iota(size, 0, 1, Dtype::Int64, image.device())?, shape);
    let batch = index(&n, vec![n.clone(), 1.into(), 1.into(), 1.into()])?;
    let along = index(&channels, vec![1.into(), channels.clone(), 1.into(), 1.into()])?;
    let shape = vec![n, if expands { channels } else { 1.into() }, wanted[1].clone(), wanted[2].clone()];
    let sampler = Sampler { image, outside, align_corners, shape, batch, channels: along, height, width };
    let last = places.dim() as i64 - 1;
    let (x, y) = (t!("select.int", &places, last, 0)?, t!("select.int", &places, last, 1)?);
    done(match mode {
        0 | 1 => {
            let x = sampler.inside(&sampler.pixels(&x, width)?, width)?;
            let y = sampler.inside(&sampler.pixels(&y, height)?, height)?;
            if mode == 0 {
                sampler.bilinear(&x, &y)?
            } else {
                let (x, y) = (t!("round", x)?, t!("round", y)?);
                sampler.summand(&x, &y, &Value::from(1))?
            }
        }
        _ => {
            let x = sampler.pixels(&x, width)?;
            sampler.bicubic(&x, &sampler.pixels(&y, height)?)?
        }
    })
}

/// Each axis from -1 to 1, beside zeros, and their sum with ones at the end: places in homogeneous coordinates.
fn affine_grid(c: &Call) -> Decomposed {
    let (theta, size, align_corners) = (c.tensor("theta")?, c.ints("size")?, c.bool("align_corners")?);
    let (dtype, device) = (theta.dtype(), theta.device());
    let axes = size.len() - 2;
    let line = |count: i64| -> Result<Tensor> {
        if count <= 1 {
            return t!("scalar_tensor", 0; dtype = dtype, device = device);
        }
        let (start, end) = if align_corners {
            (Value::from(-1), Value::from(1))
        } else {
            let a = (count - 1) as f64 / count as f64;
            (Value::Float(-a), Value::Float(a))
        };
        t!("linspace", start, end, count; dtype = dtype, device = device, pin_memory = false)
    };
    // The last axis comes first among the coordinates.
    let mut parts = Vec::new();
    for axis in 0..axes {
        let count = size[size.len() - 1 - axis];
        let mut shape = vec![1i64; axes + 1];
        shape[axes - 1 - axis] = count;
        parts.push(t!("view", line(count)?, shape)?);
    }
    parts.push(full(vec![1i64; axes + 1], 1, dtype, device)?);
    let mut padded = Vec::new();
    for (place, part) in parts.iter().enumerate() {
        padded.push(t!("constant_pad_nd", part, vec![place as i64, (axes - place) as i64], 0.0)?);
    }
    let mut base = padded[0].clone();
    for part in &padded[1..] {
        base = add(base, part)?;
    }
    let rows = t!("view", base, vec![-1, axes as i64 + 1, 1])?;
    let map = t!("unsqueeze", t!("transpose.int", theta, -2, -1)?, 1)?;
    let mapped = sum(&mul(rows, map)?, vec![-2i64], false)?;
    let mut shape = vec![size[0]];
    shape.extend_from_slice(&size[2..]);
    shape.push(axes as i64);
    done(t!("view", mapped, shape)?)
}

/// A triangle's rows: how many elements lie where they grow longer, how many in full rows below, and the first row's length.
fn triangle_sizes(rows: i64, columns: i64, offset: i64) -> (i64, i64, i64) {
    if rows == 0 || columns == 0 {
        return (0, 0, 0);
    }
    let first = if offset > 0 { columns.min(1 + offset) } else { i64::from(rows + offset > 0) };
    let last = columns.min(rows + offset).max(0);
    let all = rows.min(rows + offset).max(0);
    let growing = last - first + 1;
    ((first + last) * growing / 2, ((all - growing) * columns).max(0), first)
}

/// What both triangles need: sizes, and how their indices are made.
struct Indices {
    rows: i64,
    columns: i64,
    offset: i64,
    dtype: Dtype,
    device: Device,
}

impl Indices {
    fn of(c: &Call) -> Result<Self> {
        let dtype = c.dtype("dtype")?.unwrap_or(Dtype::Int64);
        let device = c.get("device").device()?.unwrap_or(Device::CPU);
        Ok(Indices { rows: c.int("row")?, columns: c.int("col")?, offset: c.int("offset")?, dtype, device })
    }

    fn count(&self, n: i64, dtype: Dtype) -> Result<Tensor> {
        t!("arange.start_step", 0, n, 1; dtype = dtype, device = self.device, pin_memory = false)
    }

    fn whole(&self, x: &Tensor) -> Result<Tensor> {
        cast(x, self.dtype)
    }

    /// Row and column of a count within a rectangle.
    fn rectangle(&self, n: i64) -> Result<(Tensor, Tensor)> {
        let place = self.count(n, self.dtype)?;
        let row = t!("floor_divide.Scalar", &place, self.columns)?;
        Ok((row, place))
    }
}

fn pairs(rows: [Tensor; 2], columns: [Tensor; 2]) -> Decomposed {
    let rows = t!("cat", rows.to_vec(), 0)?;
    done(t!("stack", vec![rows, t!("cat", columns.to_vec(), 0)?], 0)?)
}

fn tril_indices(c: &Call) -> Decomposed {
    let i = Indices::of(c)?;
    let (growing, rest, first) = triangle_sizes(i.rows, i.columns, i.offset);
    let below = (-i.offset).max(0);
    let place = i.count(growing, Dtype::Float64)?;
    let b = first as f64 - 0.5;
    let root = t!("sqrt", add(mul(&place, 2)?, b * b)?)?;
    let row = t!("floor", add(root, -b)?)?;
    let before = mul(mul(add(&row, 2 * first - 1)?, &row)?, 0.5)?;
    let column = t!("floor", sub(place, before)?)?;
    let row = i.whole(&add(row, below)?)?;
    let column = i.whole(&column)?;
    let (full_row, place) = i.rectangle(rest)?;
    let full_row = add(full_row, i.columns - first + 1 + below)?;
    let full_column = t!("remainder.Scalar", place, i.columns)?;
    pairs([row, full_row], [column, full_column])
}

fn triu_indices(c: &Call) -> Decomposed {
    let i = Indices::of(c)?;
    let (mut rest, mut shrinking, mut first) = (0, 0, 0);
    if i.rows != 0 && i.columns != 0 {
        first = if i.offset > 0 { (i.columns - i.offset).max(0) } else { i.columns };
        rest = (i.rows.min(-i.offset) * i.columns).max(0);
        let (a, b, _) = triangle_sizes(i.rows, i.columns, i.offset - 1);
        shrinking = i.rows * i.columns - (a + b) - rest;
    }
    let (full_row, place) = i.rectangle(rest)?;
    let full_column = t!("remainder.Scalar", place, i.columns)?;
    let place = i.count(shrinking, Dtype::Float64)?;
    let b = -0.5 - first as f64;
    let root = t!("sqrt", sub(b * b, mul(&place, 2)?)?)?;
    let row = t!("floor", sub(-b, root)?)?;
    let before = mul(mul(sub(2 * first - 1, &row)?, &row)?, 0.5)?;
    let column = t!("floor", sub(place, before)?)?;
    let (mut row, mut column) = (i.whole(&row)?, i.whole(&column)?);
    if i.columns != 0 {
        row = add(row, rest / i.columns)?;
    }
    column = add(column, i.offset.max(0))?;
    pairs([full_row, row], [full_column, column])
}
