//! Convolutions by im2col and matrix products, one item and one group at a time. Fewer than three spatial dimensions get
//! leading ones; a transposed convolution is the input gradient of the plain one.
//!
//! A product adds along a column, so its rows are in the order in which PyTorch's kernels add: places of the kernel outside,
//! channels inside. Gradients of small convolutions are added one product after the other, as there.

use super::dense::{Lane, Matrix, Real};
use super::vectorized::Vectorized;
use crate::dispatch::{Call, KernelTable};
use crate::error::Result;
use crate::for_floats;
use crate::tensor::{Dtype, Tensor};

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

    /// The weights of a group, a row of the column matrix after the other.
    fn by_rows<T: Real>(&self, weight: &[T], g: usize) -> Vec<T> {
        let own = &weight[self.weight_at(g)..][..self.per_group() * self.rows()];
        (0..own.len()).map(|i| own[self.weight_of_row(i)]).collect()
    }

    /// The weight that comes `i`th in [`Shape::by_rows`].
    fn weight_of_row(&self, i: usize) -> usize {
        let (channels, kernel) = (self.inner_channels / self.groups, self.kernel.iter().product::<usize>());
        i / self.rows() * self.rows() + i % self.rows() % channels * kernel + i % self.rows() / channels
    }

    /// Calls `f` with (place in the column matrix, place in one group of the inner side) for every pair that lies inside.
    fn columns(&self, mut f: impl FnMut(usize, usize)) {
        let inside = |out: usize, k: usize, d: usize| {
            let at = (out * self.stride[d] + k * self.dilation[d]).checked_sub(self.padding[d])?;
            (at < self.inner[d]).then_some(at)
        };
        let mut row = 0;
        for k0 in 0..self.kernel[0] {
            for k1 in 0..self.kernel[1] {
                for k2 in 0..self.kernel[2] {
                    for channel in 0..self.inner_channels / self.groups {
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

    fn unfold<T: Real>(&self, inner: &[T], columns: &mut [T]) {
        columns.fill(T::of(0.0));
        self.columns(|c, i| columns[c] = inner[i]);
    }

    /// From the inner side to the outer one.
    fn to_outer<T: Real>(&self, inner: &[T], weight: &[T]) -> Vec<T> {
        let (rows, places, per) = (self.rows(), self.outer_size(), self.per_group());
        let weights: Vec<Vec<T>> = (0..self.groups).map(|g| self.by_rows(weight, g)).collect();
        let mut outer = vec![T::of(0.0); self.batch * self.outer_channels * places];
        let mut columns = vec![T::of(0.0); rows * places];
        for n in 0..self.batch {
            for g in 0..self.groups {
                self.unfold(&inner[self.inner_at(n, g)..], &mut columns);
                let (w, x) = (Matrix::rows(&weights[g], 0, rows), Matrix::rows(&columns, 0, places));
                T::gemm(per, rows, places, T::of(1.0), w, x, T::of(0.0), &mut outer[self.outer_at(n, g)..]);
            }
        }
        outer
    }

    /// Whether gradients are added one product after the other: what larger ones gain is not worth the time.
    fn in_order(&self) -> bool {
        const PRODUCTS: usize = 1 << 22;
        self.batch * self.outer_channels * self.outer_size() * self.rows() <= PRODUCTS
    }

    /// Per place of the kernel, the places of both sides that it joins: outer, inner.
    fn joined(&self) -> Vec<Vec<(usize, usize)>> {
        let (channels, places) = (self.inner_channels / self.groups, self.outer_size());
        let mut pairs = vec![Vec::new(); self.kernel.iter().product()];
        self.columns(|column, inner| {
            let row = column / places;
            if row % channels == 0 {
                pairs[row / channels].push((column % places, inner));
            }
        });
        pairs
    }

    /// [`Shape::to_inner`] in order: places of the kernel outside, outer channels inside.
    fn to_inner_in_order<T: Vectorized>(&self, outer: &[T], weight: &[T]) -> Vec<T> {
        let (channels, kernel, size) = (self.inner_channels / self.groups, self.kernel.iter().product::<usize>(), self.inner_size());
        let mut inner = vec![T::of(0.0); self.batch * self.inner_channels * size];
        let joined = self.joined();
        for (n, g) in (0..self.batch).flat_map(|n| (0..self.groups).map(move |g| (n, g))) {
            let (from, own) = (&outer[self.outer_at(n, g)..], &weight[self.weight_at(g)..]);
            let target = &mut inner[self.inner_at(n, g)..];
            for (k, pairs) in joined.iter().enumerate() {
                for (o, c) in (0..self.per_group()).flat_map(|o| (0..channels).map(move |c| (o, c))) {
                    let w = own[(o * channels + c) * kernel + k];
                    for (from_place, place) in pairs {
                        let at = &mut target[c * size + place];
                        *at = from[o * self.outer_size() + from_place].fused(w, *at);
                    }
                }
            }
        }
        inner
    }

    /// [`Shape::to_weight`] in order: items outside, places inside.
    fn to_weight_in_order<T: Vectorized>(&self, inner: &[T], outer: &[T]) -> Vec<T> {
        let kernel = self.kernel.iter().product::<usize>();
        let mut weight = vec![T::of(0.0); self.outer_channels * self.rows()];
        let joined = self.joined();
        for (i, w) in weight.iter_mut().enumerate() {
            let (o, c, k) = (i / self.rows(), i % self.rows() / kernel, i % kernel);
            let (g, o) = (o / self.per_group(), o % self.per_group());
            for n in 0..self.batch {
                let x = &inner[self.inner_at(n, g) + c * self.inner_size()..];
                let y = &outer[self.outer_at(n, g) + o * self.outer_size()..];
                *w = joined[k].iter().fold(*w, |sum, (outer, inner)| x[*inner].fused(y[*outer], sum));
            }
        }
        weight
    }

    /// From the outer side to the inner one: the input gradient.
    fn to_inner<T: Vectorized>(&self, outer: &[T], weight: &[T]) -> Vec<T> {
        if self.in_order() {
            return self.to_inner_in_order(outer, weight);
        }
        let (rows, places, per) = (self.rows(), self.outer_size(), self.per_group());
        let weights: Vec<Vec<T>> = (0..self.groups).map(|g| self.by_rows(weight, g)).collect();
        let mut inner = vec![T::of(0.0); self.batch * self.inner_channels * self.inner_size()];
        let mut columns = vec![T::of(0.0); rows * places];
        for n in 0..self.batch {
            for g in 0..self.groups {
                let (w, y) = (Matrix::rows(&weights[g], 0, rows).t(), Matrix::rows(outer, self.outer_at(n, g), places));
                T::gemm(rows, per, places, T::of(1.0), w, y, T::of(0.0), &mut columns);
                let target = &mut inner[self.inner_at(n, g)..];
                self.columns(|c, i| target[i] += columns[c]);
            }
        }
        inner
    }

    /// The weight gradient.
    fn to_weight<T: Vectorized>(&self, inner: &[T], outer: &[T]) -> Vec<T> {
        if self.in_order() {
            return self.to_weight_in_order(inner, outer);
        }
        let (rows, places, per) = (self.rows(), self.outer_size(), self.per_group());
        let mut sums = vec![T::of(0.0); self.outer_channels * rows];
        let mut columns = vec![T::of(0.0); rows * places];
        for n in 0..self.batch {
            for g in 0..self.groups {
                self.unfold(&inner[self.inner_at(n, g)..], &mut columns);
                let (y, x) = (Matrix::rows(outer, self.outer_at(n, g), places), Matrix::rows(&columns, 0, places).t());
                T::gemm(per, places, rows, T::of(1.0), y, x, T::of(1.0), &mut sums[self.weight_at(g)..]);
            }
        }
        let mut weight = vec![T::of(0.0); sums.len()];
        sums.into_iter().enumerate().for_each(|(i, sum)| weight[self.weight_of_row(i)] = sum);
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
        let mut result = if transposed { shape.to_inner(&x, &w) } else { shape.to_outer(&x, &w) };
        if let Some(bias) = c.opt_tensor("bias") {
            let (bias, places) = (T::read(bias)?, sizes[2..].iter().product::<usize>());
            for (i, v) in result.iter_mut().enumerate() {
                *v += bias[i / places % bias.len()];
            }
        }
        T::write(&out[0], &result)
    })
}

fn backward(c: &Call, out: &[Tensor]) -> Result<()> {
    let (grad, input, weight) = (c.tensor("grad_output")?, c.tensor("input")?, c.tensor("weight")?);
    let sizes = grad.concrete()?.sizes;
    let (shape, transposed) = (Shape::of(c, &sizes)?, c.bool("transposed")?);
    let mask: Vec<bool> = c.get("output_mask").list()?.iter().map(|m| m.bool()).collect::<Result<_>>()?;
    let mut outs = out.iter();
    for_floats!("convolution_backward", grad.dtype(), T => {
        let g = T::read(grad)?;
        if mask[0] && let Some(out) = outs.next() {
            let w = T::read(weight)?;
            T::write(out, &if transposed { shape.to_outer(&g, &w) } else { shape.to_inner(&g, &w) })?;
        }
        if mask[1] && let Some(out) = outs.next() {
            let x = T::read(input)?;
            T::write(out, &if transposed { shape.to_weight(&g, &x) } else { shape.to_weight(&x, &g) })?;
        }
        if mask[2] && let Some(out) = outs.next() {
            let places = sizes[2..].iter().product::<usize>().max(1);
            let mut sums = vec![0f64; sizes[1]];
            for (i, v) in g.iter().enumerate() {
                sums[i / places % sizes[1]] += v.wide();
            }
            T::write(out, &sums.into_iter().map(T::of).collect::<Vec<T>>())?;
        }
        Ok(())
    })
}
