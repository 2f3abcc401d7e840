//! Convolutions by im2col and matrix products, one item and one group at a time. Fewer than three spatial dimensions get
//! leading ones; a transposed convolution is the input gradient of the plain one.
//!
//! A product adds along a column, so its rows are in the order in which PyTorch's kernels add: blocks of channels one after the
//! other, in a block places of the kernel outside and channels inside; the bias comes after the first block. Where PyTorch multiplies
//! matrices itself, for a lone small item or a kernel of one place, channels are outside. Gradients of small convolutions are
//! added one product after the other, as there.

use super::dense::{Lane, Matrix, Real};
use super::product;
use super::vectorized::Vectorized;
use super::widest::widest;
use crate::dense::for_floats;
use diagnostics::error::Result;
use dispatch::{Call, KernelTable};
use std::ops::Range;
use tensor::{Dtype, Tensor};

/// Registers the family.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.convolution.default", forward);
    t.fill("aten.convolution_backward.default", backward);
}

/// The plain convolution that an operator means: from `inner` (channels, places) to `outer`.
struct Shape {
    batch: usize,
    groups: usize,
    /// Channels of the side that the kernel slides over.
    inner_channels: usize,
    inner: [usize; 3],
    /// Channels of the other side.
    outer_channels: usize,
    outer: [usize; 3],
    kernel: [usize; 3],
    stride: [usize; 3],
    padding: [usize; 3],
    dilation: [usize; 3],
}

/// Places that a place of the kernel joins: so many of the outer side, one after the other, with those of the inner side a step apart.
#[derive(Clone)]
struct Run {
    outer: usize,
    inner: usize,
    length: usize,
}

/// Outer channels of which sums are added beside each other.
const BESIDE: usize = 8;

widest! {
    /// Adds the outer side times a weight to the places of the inner side that they are joined with.
    fn add_weighted<T: Vectorized>(outer: &[T], weight: T, runs: &[Run], step: usize, inner: &mut [T]) {
        for run in runs {
            let from = &outer[run.outer..][..run.length];
            let inner = &mut inner[run.inner..];
            if step == 1 {
                for (to, v) in inner.iter_mut().zip(from) {
                    *to = v.fused(weight, *to);
                }
            } else {
                for (to, v) in inner.iter_mut().step_by(step).zip(from) {
                    *to = v.fused(weight, *to);
                }
            }
        }
    }

    /// Adds the products of joined places, the outer channels beside each other.
    fn add_beside<T: Vectorized>(inner: &[T], outer: &[[T; BESIDE]], runs: &[Run], step: usize, sums: &mut [T; BESIDE]) {
        let mut all = *sums;
        for run in runs {
            for (x, y) in inner[run.inner..].iter().step_by(step).zip(&outer[run.outer..][..run.length]) {
                (0..BESIDE).for_each(|l| all[l] = x.fused(y[l], all[l]));
            }
        }
        *sums = all;
    }
}

fn three(values: &[usize], fill: usize) -> [usize; 3] {
    let mut out = [fill; 3];
    out[3 - values.len()..].copy_from_slice(values);
    out
}

impl Shape {
    /// `result`: sizes of the operator's result.
    fn of(c: &Call, result: &[usize]) -> Result<Shape> {
        let (input, weight) = (c.tensor("input")?.concrete()?.sizes, c.tensor("weight")?.concrete()?.sizes);
        let list = |name: &str| -> Result<Vec<usize>> { Ok(c.ints(name)?.into_iter().map(|v| v as usize).collect()) };
        let (inner, outer) = if c.bool("transposed")? { (result, &input[..]) } else { (&input[..], result) };
        Ok(Shape {
            batch: input[0],
            groups: c.int("groups")? as usize,
            inner_channels: inner[1],
            inner: three(&inner[2..], 1),
            outer_channels: outer[1],
            outer: three(&outer[2..], 1),
            kernel: three(&weight[2..], 1),
            stride: three(&list("stride")?, 1),
            padding: three(&list("padding")?, 0),
            dilation: three(&list("dilation")?, 1),
        })
    }

    fn inner_size(&self) -> usize {
        self.inner.iter().product()
    }
    fn outer_size(&self) -> usize {
        self.outer.iter().product()
    }
    /// Rows of the column matrix: channels of a group times kernel places.
    fn rows(&self) -> usize {
        self.inner_channels / self.groups * self.kernel.iter().product::<usize>()
    }
    /// Outer channels of a group.
    fn per_group(&self) -> usize {
        self.outer_channels / self.groups
    }
    /// Where group `g` of item `n` starts on the inner side.
    fn inner_at(&self, n: usize, g: usize) -> usize {
        (n * self.inner_channels + g * (self.inner_channels / self.groups)) * self.inner_size()
    }
    fn outer_at(&self, n: usize, g: usize) -> usize {
        (n * self.outer_channels + g * self.per_group()) * self.outer_size()
    }
    fn weight_at(&self, g: usize) -> usize {
        g * self.per_group() * self.rows()
    }

    /// Channels of a block of the kernels that PyTorch calls, of this many channels beside that many.
    fn block(&self, channels: usize, others: usize) -> usize {
        const WIDE: usize = 16;
        if self.kernel == [1; 3] {
            return channels;
        }
        if self.groups == 1 {
            return WIDE.min(channels);
        }
        [WIDE, 8, 4].into_iter().find(|b| channels.is_multiple_of(*b) && others.is_multiple_of(*b)).unwrap_or(channels)
    }

    /// Whether PyTorch lays out columns and multiplies matrices, for `elements` of input.
    fn by_columns(&self, elements: usize) -> bool {
        const FEW_ITEMS: usize = 16;
        const FEW_ELEMENTS: usize = 20_480;
        let [_, height, width] = self.kernel;
        let one_place = height == 1 && width == 1 && self.stride == [1; 3] && self.dilation == [1; 3];
        let alone = self.groups == 1 && (height <= 3 || width <= 3) && self.batch == 1 && elements <= FEW_ELEMENTS;
        (one_place && self.batch < FEW_ITEMS) || alone
    }

    /// The weights of some channels of a group, a row of their column matrix after the other.
    fn by_rows<T: Real>(&self, weight: &[T], g: usize, channels: Range<usize>) -> Vec<T> {
        let own = &weight[self.weight_at(g)..];
        let (all, kernel) = (self.inner_channels / self.groups, self.kernel.iter().product::<usize>());
        let mut rows = Vec::with_capacity(self.per_group() * kernel * channels.len());
        for (o, k) in (0..self.per_group()).flat_map(|o| (0..kernel).map(move |k| (o, k))) {
            rows.extend(channels.clone().map(|c| own[(o * all + c) * kernel + k]));
        }
        rows
    }

    /// Calls `f` with (place in the column matrix of some channels, place in one group of the inner side) for every pair that lies
    /// inside.
    fn columns(&self, channels: Range<usize>, mut f: impl FnMut(usize, usize)) {
        let inside = |out: usize, k: usize, d: usize| {
            let at = (out * self.stride[d] + k * self.dilation[d]).checked_sub(self.padding[d])?;
            (at < self.inner[d]).then_some(at)
        };
        let mut row = 0;
        for k0 in 0..self.kernel[0] {
            for k1 in 0..self.kernel[1] {
                for k2 in 0..self.kernel[2] {
                    for channel in channels.clone() {
                        let mut at = row * self.outer_size();
                        for o0 in 0..self.outer[0] {
                            let i0 = inside(o0, k0, 0);
                            for o1 in 0..self.outer[1] {
                                let i1 = inside(o1, k1, 1);
                                let Some((i0, i1)) = i0.zip(i1) else {
                                    at += self.outer[2];
                                    continue;
                                };
                                let base = ((channel * self.inner[0] + i0) * self.inner[1] + i1) * self.inner[2];
                                for o2 in 0..self.outer[2] {
                                    if let Some(i2) = inside(o2, k2, 2) {
                                        f(at, base + i2);
                                    }
                                    at += 1;
                                }
                            }
                        }
                        row += 1;
                    }
                }
            }
        }
    }

    fn unfold<T: Real>(&self, inner: &[T], channels: Range<usize>, columns: &mut [T]) {
        columns.fill(T::of(0.0));
        self.columns(channels, |c, i| columns[c] = inner[i]);
    }

    /// The column matrix of all channels with the channels outside.
    fn unfold_by_channel<T: Real>(&self, inner: &[T], columns: &mut [T]) {
        let size = self.kernel.iter().product::<usize>() * self.outer_size();
        if size > 0 {
            columns.chunks_mut(size).enumerate().for_each(|(c, columns)| self.unfold(inner, c..c + 1, columns));
        }
    }

    /// From the inner side to the outer one.
    fn to_outer<T: Vectorized>(&self, inner: &[T], weight: &[T], bias: Option<&[T]>) -> Vec<T> {
        let (rows, places, per) = (self.rows(), self.outer_size(), self.per_group());
        let channels = self.inner_channels / self.groups;
        let mut outer = vec![T::of(0.0); self.batch * self.outer_channels * places];
        let mut columns = vec![T::of(0.0); rows * places];
        let (by_columns, block) = (self.by_columns(inner.len()), self.block(channels, per));
        for (n, g) in (0..self.batch).flat_map(|n| (0..self.groups).map(move |g| (n, g))) {
            let (from, at) = (&inner[self.inner_at(n, g)..], self.outer_at(n, g));
            let target = &mut outer[at..at + per * places];
            let add_bias = |target: &mut [T]| {
                if let Some(bias) = bias {
                    target.iter_mut().enumerate().for_each(|(i, v)| *v += bias[g * per + i / places]);
                }
            };
            if by_columns {
                add_bias(target);
                self.unfold_by_channel(from, &mut columns);
                let (w, x) = (Matrix::rows(weight, self.weight_at(g), rows), Matrix::rows(&columns, 0, places));
                product::multiply([per, rows, places], T::of(1.0), w, x, T::of(1.0), target, false);
                continue;
            }
            let bias_first = self.kernel == [1; 3] || (channels == 1 && per == 1 && self.groups > 1);
            if bias_first {
                add_bias(target);
            }
            for start in (0..channels).step_by(block.max(1)) {
                let own = start..channels.min(start + block);
                let size = rows / channels * own.len();
                self.unfold(from, own.clone(), &mut columns[..size * places]);
                let weights = self.by_rows(weight, g, own);
                let (w, x) = (Matrix::rows(&weights, 0, size), Matrix::rows(&columns, 0, places));
                if bias_first {
                    product::one_by_one([per, size, places], w, x, target);
                } else if start == 0 {
                    product::in_one([per, size, places], w, x, target);
                    add_bias(target);
                } else {
                    let mut sums = vec![T::of(0.0); per * places];
                    product::in_one([per, size, places], w, x, &mut sums);
                    target.iter_mut().zip(sums).for_each(|(v, sum)| *v += sum);
                }
            }
        }
        outer
    }

    /// Whether gradients are added one product after the other: what larger ones gain is not worth the time, least of all where no
    /// instruction fuses.
    fn in_order(&self) -> bool {
        const PRODUCTS: usize = if cfg!(target_arch = "wasm32") { 1 << 17 } else { 1 << 22 };
        self.batch * self.outer_channels * self.outer_size() * self.rows() <= PRODUCTS
    }

    /// Per place of the kernel, the places of both sides that it joins.
    fn joined(&self) -> Vec<Vec<Run>> {
        let (places, step) = (self.outer_size(), self.stride[2]);
        let mut runs: Vec<Vec<Run>> = vec![Vec::new(); self.kernel.iter().product()];
        self.columns(0..1, |column, inner| {
            let (runs, outer) = (&mut runs[column / places], column % places);
            match runs.last_mut() {
                Some(r) if r.outer + r.length == outer && r.inner + r.length * step == inner => r.length += 1,
                _ => runs.push(Run { outer, inner, length: 1 }),
            }
        });
        runs
    }

    /// What [`Shape::to_inner`] adds in one go: places of the kernel, and outer channels. Where the kernel moves by more than one
    /// place, those are all channels, with the places of a column of the kernel if its steps divide the width, else with all; where
    /// it does not, all places with a block of channels.
    fn parts(&self) -> Vec<(Vec<usize>, Range<usize>)> {
        let (kernel, per) = (self.kernel.iter().product::<usize>(), self.per_group());
        if self.groups == 1 && self.stride != [1; 3] {
            let columns = if self.inner[2].is_multiple_of(self.stride[2]) { self.kernel[2] } else { 1 };
            return (0..columns).map(|column| ((column..kernel).step_by(columns).collect(), 0..per)).collect();
        }
        let block = self.block(per, self.inner_channels / self.groups).max(1);
        (0..per).step_by(block).map(|start| ((0..kernel).collect(), start..per.min(start + block))).collect()
    }

    /// [`Shape::to_inner`] in order: in a part places of the kernel outside, channels inside.
    fn to_inner_in_order<T: Vectorized>(&self, outer: &[T], weight: &[T], bias: Option<&[T]>) -> Vec<T> {
        let (channels, kernel, size) = (self.inner_channels / self.groups, self.kernel.iter().product::<usize>(), self.inner_size());
        let mut inner = vec![T::of(0.0); self.batch * self.inner_channels * size];
        let joined = self.joined();
        let parts = self.parts();
        let mut sums = vec![T::of(0.0); channels * size];
        for (n, g) in (0..self.batch).flat_map(|n| (0..self.groups).map(move |g| (n, g))) {
            let (from, own) = (&outer[self.outer_at(n, g)..], &weight[self.weight_at(g)..]);
            let at = self.inner_at(n, g);
            let target = &mut inner[at..at + channels * size];
            for (places, block) in &parts {
                sums.fill(T::of(0.0));
                for (o, k) in places.iter().flat_map(|k| block.clone().map(move |o| (o, *k))) {
                    let from = &from[o * self.outer_size()..];
                    for c in 0..channels {
                        let weight = own[(o * channels + c) * kernel + k];
                        add_weighted(from, weight, &joined[k], self.stride[2], &mut sums[c * size..]);
                    }
                }
                target.iter_mut().zip(&sums).for_each(|(v, sum)| *v += *sum);
            }
        }
        self.add_bias(&mut inner, bias);
        inner
    }

    /// [`Shape::to_weight`] in order: items outside, places inside; some outer channels beside each other.
    fn to_weight_in_order<T: Vectorized>(&self, inner: &[T], outer: &[T]) -> Vec<T> {
        let kernel = self.kernel.iter().product::<usize>();
        let mut weight = vec![T::of(0.0); self.outer_channels * self.rows()];
        let (joined, per, places) = (self.joined(), self.per_group(), self.outer_size());
        let (channels, blocks) = (self.inner_channels / self.groups, per.div_ceil(BESIDE));
        let mut beside = vec![[T::default(); BESIDE]; blocks * places];
        for (n, g) in (0..self.batch).flat_map(|n| (0..self.groups).map(move |g| (n, g))) {
            let (x, y) = (&inner[self.inner_at(n, g)..], &outer[self.outer_at(n, g)..]);
            for (o, p) in (0..per).flat_map(|o| (0..places).map(move |p| (o, p))) {
                beside[o / BESIDE * places + p][o % BESIDE] = y[o * places + p];
            }
            for (b, c) in (0..blocks).flat_map(|b| (0..channels).map(move |c| (b, c))) {
                let (x, y) = (&x[c * self.inner_size()..], &beside[b * places..][..places]);
                for (k, runs) in joined.iter().enumerate() {
                    let at = |l: usize| self.weight_at(g) + ((b * BESIDE + l) * channels + c) * kernel + k;
                    let filled = BESIDE.min(per - b * BESIDE);
                    let mut sums = [T::default(); BESIDE];
                    (0..filled).for_each(|l| sums[l] = weight[at(l)]);
                    add_beside(x, y, runs, self.stride[2], &mut sums);
                    (0..filled).for_each(|l| weight[at(l)] = sums[l]);
                }
            }
        }
        weight
    }

    /// From the outer side to the inner one: the input gradient, or a transposed convolution of `elements` of input.
    fn to_inner<T: Vectorized>(&self, outer: &[T], weight: &[T], bias: Option<&[T]>, elements: usize) -> Vec<T> {
        if !self.by_columns(elements) && self.in_order() {
            return self.to_inner_in_order(outer, weight, bias);
        }
        let (rows, places, per) = (self.rows(), self.outer_size(), self.per_group());
        let mut inner = vec![T::of(0.0); self.batch * self.inner_channels * self.inner_size()];
        let mut columns = vec![T::of(0.0); rows * places];
        let one_channel = self.kernel.iter().product::<usize>() * places;
        for (n, g) in (0..self.batch).flat_map(|n| (0..self.groups).map(move |g| (n, g))) {
            let w = Matrix::rows(weight, self.weight_at(g), rows).t();
            let y = Matrix::rows(outer, self.outer_at(n, g), places);
            product::multiply([rows, per, places], T::of(1.0), w, y, T::of(0.0), &mut columns, false);
            let target = &mut inner[self.inner_at(n, g)..];
            for c in 0..self.inner_channels / self.groups {
                self.columns(c..c + 1, |at, i| target[i] += columns[c * one_channel + at]);
            }
        }
        self.add_bias(&mut inner, bias);
        inner
    }

    /// Adds a number per channel of the inner side.
    fn add_bias<T: Real>(&self, inner: &mut [T], bias: Option<&[T]>) {
        if let Some(bias) = bias {
            inner.iter_mut().enumerate().for_each(|(i, v)| *v += bias[i / self.inner_size() % self.inner_channels]);
        }
    }

    /// The weight gradient.
    fn to_weight<T: Vectorized>(&self, inner: &[T], outer: &[T], elements: usize) -> Vec<T> {
        let by_columns = self.by_columns(elements);
        if !by_columns && self.in_order() {
            return self.to_weight_in_order(inner, outer);
        }
        let (rows, places, per) = (self.rows(), self.outer_size(), self.per_group());
        let mut weight = vec![T::of(0.0); self.outer_channels * rows];
        let mut columns = vec![T::of(0.0); rows * places];
        for (n, g) in (0..self.batch).flat_map(|n| (0..self.groups).map(move |g| (n, g))) {
            self.unfold_by_channel(&inner[self.inner_at(n, g)..], &mut columns);
            let (y, x) = (Matrix::rows(outer, self.outer_at(n, g), places), Matrix::rows(&columns, 0, places).t());
            let at = self.weight_at(g);
            product::multiply([per, places, rows], T::of(1.0), y, x, T::of(1.0), &mut weight[at..at + per * rows], false);
        }
        weight
    }
}

fn kernel_name(dtype: Dtype) -> &'static str {
    if dtype.is_integral() { "slow_conv2d_cpu" } else { "convolution" }
}

fn forward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (input, weight, transposed) = (c.tensor("input")?, c.tensor("weight")?, c.bool("transposed")?);
    let sizes = out[0].concrete()?.sizes;
    let shape = Shape::of(c, &sizes)?;
    for_floats!(kernel_name(input.dtype()), input.dtype(), T => {
        let (x, w) = (T::read(input)?, T::read(weight)?);
        let bias = c.opt_tensor("bias").map(T::read).transpose()?;
        let result = if transposed { shape.to_inner(&x, &w, bias.as_deref(), x.len()) } else { shape.to_outer(&x, &w, bias.as_deref()) };
        T::write(&out[0], &result)
    })
}

fn backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (grad, input, weight) = (c.tensor("grad_output")?, c.tensor("input")?, c.tensor("weight")?);
    let sizes = grad.concrete()?.sizes;
    let (shape, transposed) = (Shape::of(c, &sizes)?, c.bool("transposed")?);
    let mask: Vec<bool> = c.get("output_mask").list()?.iter().map(|m| m.bool()).collect::<Result<_>>()?;
    let mut outs = out.iter();
    let elements = input.concrete()?.numel();
    for_floats!("convolution_backward", grad.dtype(), T => {
        let g = T::read(grad)?;
        if mask[0] && let Some(out) = outs.next() {
            let w = T::read(weight)?;
            T::write(out, &if transposed { shape.to_outer(&g, &w, None) } else { shape.to_inner(&g, &w, None, elements) })?;
        }
        if mask[1] && let Some(out) = outs.next() {
            let x = T::read(input)?;
            T::write(out, &if transposed { shape.to_weight(&g, &x, elements) } else { shape.to_weight(&x, &g, elements) })?;
        }
        if mask[2] && let Some(out) = outs.next() {
            let places = sizes[2..].iter().product::<usize>().max(1);
            let mut sums = vec![T::of(0.0); sizes[1]];
            // Numbers that are computed with in another precision are added as they come.
            if shape.by_columns(elements) && grad.dtype().itemsize() == std::mem::size_of::<T>() {
                let dims: Vec<usize> = (0..sizes.len()).filter(|d| *d != 1).collect();
                sums = super::cascade::sums(grad, &dims)?;
            } else {
                g.iter().enumerate().for_each(|(i, v)| sums[i / places % sizes[1]] += *v);
            }
            T::write(out, &sums)?;
        }
        Ok(())
    })
}
