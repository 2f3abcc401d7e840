//! Sums in the order in which PyTorch's CPU kernel adds: in cascades of partial sums, so that errors do not grow with the number
//! of elements, and by lanes where elements lie side by side.
//!
//! Which elements a lane adds depends on how the tensor lies in memory. As in PyTorch's iterator, the summed dimensions come
//! first, by stride, then the kept ones, and dimensions that lie like one are one. The two innermost are the kernel's.

use super::vectorized::Vectorized;
use diagnostics::error::Result;
use tensor::Tensor;

/// How many rows are added beside each other.
const ROWS: usize = 4;
/// The widest row: four groups of eight lanes.
const WIDEST: usize = 32;
/// Partial sums of partial sums.
const LEVELS: usize = 4;

/// A dimension: how far to the next element, of what is read and of what is written. A summed one is written nowhere else.
#[derive(Clone, Copy)]
struct Axis {
    size: usize,
    from: isize,
    to: usize,
}

/// The sums over `dims`, in row-major order of the kept dimensions.
pub fn sums<T: Vectorized>(x: &Tensor, dims: &[usize]) -> Result<Vec<T>> {
    sums_of(x, dims, |v| v)
}

/// The sums of what `term` makes of the elements.
pub fn sums_of<T: Vectorized>(x: &Tensor, dims: &[usize], term: impl Fn(T) -> T) -> Result<Vec<T>> {
    let g = x.concrete()?;
    let mut kept = Vec::new();
    let mut count = 1;
    for d in (0..g.sizes.len()).rev().filter(|d| !dims.contains(d)) {
        kept.push(Axis { size: g.sizes[d], from: g.strides[d], to: count });
        count *= g.sizes[d];
    }
    let mut out = vec![T::default(); count];
    if g.numel() == 0 {
        return Ok(out);
    }
    let mut axes: Vec<Axis> = dims.iter().map(|d| Axis { size: g.sizes[*d], from: g.strides[*d], to: 0 }).collect();
    axes.sort_by_key(|a| a.from);
    axes.extend(kept);
    let mut axes = joined(axes).into_iter();
    let one = Axis { size: 1, from: 0, to: 0 };
    let (inner, next) = (axes.next().unwrap_or(one), axes.next().unwrap_or(one));
    let outer: Vec<Axis> = axes.collect();
    x.with_slice::<T, _>(|data| {
        let mut place = vec![0; outer.len()];
        loop {
            let from = outer.iter().zip(&place).map(|(a, i)| a.from * *i as isize).sum::<isize>();
            let to: usize = outer.iter().zip(&place).map(|(a, i)| a.to * i).sum();
            let start = g.offset as isize + from;
            plane(
                |i, j| term(data[(start + i as isize * inner.from + j as isize * next.from) as usize]),
                inner,
                next,
                |j, sum| {
                    out[to + j * next.to] += sum;
                },
            );
            let Some(d) = (0..outer.len()).find(|d| place[*d] + 1 < outer[*d].size) else { break };
            place[d] += 1;
            place[..d].fill(0);
        }
    })?;
    Ok(out)
}

/// The sum of numbers that lie side by side.
pub fn sum_of<T: Vectorized>(values: &[T]) -> T {
    let mut sum = T::default();
    plane(|i, _| values[i], Axis { size: values.len(), from: 1, to: 0 }, Axis { size: 1, from: 0, to: 0 }, |_, v| sum = v);
    sum
}

/// Without dimensions of one element; neighbours that lie like one dimension are one.
fn joined(axes: Vec<Axis>) -> Vec<Axis> {
    let mut all: Vec<Axis> = Vec::new();
    for axis in axes.into_iter().filter(|a| a.size != 1) {
        match all.last_mut() {
            Some(last) if last.from * last.size as isize == axis.from && last.to * last.size == axis.to => last.size *= axis.size,
            _ => all.push(axis),
        }
    }
    // What is not summed at all is summed over nothing.
    if all.first().is_some_and(|a| a.to != 0) {
        all.insert(0, Axis { size: 1, from: 0, to: 0 });
    }
    all
}

/// Sums over `inner`, for every place of `next`.
fn plane<T: Vectorized>(at: impl Fn(usize, usize) -> T, inner: Axis, next: Axis, mut write: impl FnMut(usize, T)) {
    let lanes = T::LANES;
    if inner.from == 1 && inner.size >= lanes {
        let whole = inner.size - inner.size % lanes;
        for j in 0..next.size {
            let sums = row_sum(inner.size / lanes, lanes, |i, lane| at(i * lanes + lane, j));
            let rest = (whole..inner.size).fold(T::default(), |sum, i| sum + at(i, j));
            write(j, sums[..lanes].iter().fold(rest, |sum, lane| sum + *lane));
        }
        return;
    }
    let side_by_side = next.from == 1 && next.size >= lanes;
    let mut j = 0;
    if side_by_side || inner.from >= next.from {
        let width = if side_by_side { ROWS * lanes } else { ROWS };
        while j + width <= next.size {
            let sums = rows(inner.size, width, |i, k| at(i, j + k));
            (0..width).for_each(|k| write(j + k, sums[k]));
            j += width;
        }
    }
    while side_by_side && j + lanes <= next.size {
        let sums = row_sum(inner.size, lanes, |i, lane| at(i, j + lane));
        (0..lanes).for_each(|lane| write(j + lane, sums[lane]));
        j += lanes;
    }
    (j..next.size).for_each(|j| write(j, row_sum(inner.size, 1, |i, _| at(i, j))[0]));
}

/// One row of `lanes`, added as four that take turns.
fn row_sum<T: Vectorized>(size: usize, lanes: usize, at: impl Fn(usize, usize) -> T) -> [T; WIDEST] {
    let turns = size / ROWS;
    let mut sums = rows(turns, ROWS * lanes, |i, k| at(i * ROWS + k / lanes, k % lanes));
    for i in turns * ROWS..size {
        (0..lanes).for_each(|lane| sums[lane] += at(i, lane));
    }
    for k in lanes..ROWS * lanes {
        let turn = sums[k];
        sums[k % lanes] += turn;
    }
    sums
}

/// `width` sums beside each other, of `size` elements each.
fn rows<T: Vectorized>(size: usize, width: usize, at: impl Fn(usize, usize) -> T) -> [T; WIDEST] {
    let power = (size.next_power_of_two().ilog2() as usize / LEVELS).max(4);
    let step = 1 << power;
    let mut levels = [[T::default(); WIDEST]; LEVELS];
    for i in 0..size {
        (0..width).for_each(|k| levels[0][k] += at(i, k));
        let done = i + 1;
        if done % step != 0 {
            continue;
        }
        for level in 1..LEVELS {
            let partial = std::mem::replace(&mut levels[level - 1], [T::default(); WIDEST]);
            (0..width).for_each(|k| levels[level][k] += partial[k]);
            if done & ((step - 1) << (level * power)) != 0 {
                break;
            }
        }
    }
    let [mut sums, rest @ ..] = levels;
    for level in rest {
        (0..width).for_each(|k| sums[k] += level[k]);
    }
    sums
}
