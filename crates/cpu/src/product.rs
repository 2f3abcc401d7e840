//! Products of matrices in single precision, each sum in the order in which the library adds that PyTorch calls: one fused step
//! after the other in blocks of the inner dimension, and otherwise where few rows or columns make another order faster.
//!
//! An order belongs to the sizes of a product and to how its operands lie in memory, not to the numbers.

use super::dense::Matrix;
use super::vectorized::Vectorized;
use super::widest::widest;
use std::ops::Range;

/// Lanes of the library's registers.
const WIDE: usize = 16;
/// The longest block of the inner dimension; what is left is halved.
const BLOCK: usize = 384;
/// A block that `matrixmultiply` adds in one go, where the processor fuses.
const ONE_GO: usize = if cfg!(target_arch = "wasm32") { 0 } else { 256 };
/// What a larger product would gain by its order is not worth the time, least of all where no instruction fuses.
const PRODUCTS: usize = if cfg!(target_arch = "wasm32") { 1 << 14 } else { 1 << 21 };

/// One operand's row or column, whose elements lie side by side or not.
struct Line<'a, T> {
    data: &'a [T],
    step: usize,
}

impl<'a, T: Vectorized> Line<'a, T> {
    fn row(m: &Matrix<'a, T>, i: usize) -> Self {
        Line { data: &m.data[m.offset + i * m.row as usize..], step: m.col as usize }
    }
    fn column(m: &Matrix<'a, T>, j: usize) -> Self {
        Line { data: &m.data[m.offset + j * m.col as usize..], step: m.row as usize }
    }
    fn at(&self, p: usize) -> T {
        self.data[p * self.step]
    }
}

/// `c = alpha * a b + beta * c` for `[m, k, n]`; one of a batch goes other ways where it has one column.
pub fn multiply<T: Vectorized>([m, k, n]: [usize; 3], alpha: T, a: Matrix<T>, b: Matrix<T>, beta: T, c: &mut [T], batched: bool) {
    let across = b.row == 1 && b.col != 1 && a.col == 1;
    let row = |i: usize| Line::row(&a, i);
    let column = |j: usize| Line::column(&b, j);
    if k == 0 || (n == 1 && (batched || m == 1)) {
        return in_blocks([m, k, n], alpha, a, b, beta, c);
    }
    if k == 1 && m > 1 && n > 1 && beta != T::default() {
        // A lone step is fused with what is there.
        c.iter_mut().for_each(|c| *c *= beta);
        let factors: Vec<T> = (0..m).map(|i| alpha * row(i).at(0)).collect();
        return one_by_one([m, k, n], Matrix::rows(&factors, 0, 1), b, c);
    }
    let mut set = |at: usize, sum: T| c[at] = scaled(alpha, sum, beta, c[at]);
    if m == 1 || n == 1 {
        // A matrix times a vector.
        let (count, lines_lie) = if n == 1 { (m, a.col == 1) } else { (n, across) };
        let operands = |i: usize| if n == 1 { (column(0), row(i)) } else { (row(0), column(i)) };
        if lines_lie {
            return (0..count).for_each(|i| set(i, led(k, operands(i), i, count)));
        }
        let groups = count - count % WIDE;
        for (i, at) in c.iter_mut().enumerate() {
            let start = if beta == T::default() { T::default() } else { beta * *at / alpha };
            let (x, y) = operands(i);
            *at = alpha * stacked(k, &x, &y, start, i < groups);
        }
        return;
    }
    let few_rows = m < WIDE && k >= 24 * m;
    let small = if n < 4 { m * n < 2 * WIDE } else { k <= n && n < 12 && m < n };
    let ordered = !cfg!(target_arch = "wasm32") || m * n * k <= PRODUCTS;
    if across && ordered && (few_rows || small) {
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let (x, y) = (row(i), column(j));
            let sum = if few_rows {
                by_fours(lanes(0..k, &x, &y, [T::default(); WIDE]))
            } else {
                dotted(0..k, &x, &y, i.is_multiple_of(2) && n < 4)
            };
            set(i * n + j, sum);
        }
        return;
    }
    in_blocks([m, k, n], alpha, a, b, beta, c);
}

/// The products of a matrix's rows, which lie side by side each, with a vector.
pub fn rows_times<T: Vectorized>([m, k]: [usize; 2], a: Matrix<T>, b: Matrix<T>) -> Vec<T> {
    (0..m).map(|i| if k == 0 { T::default() } else { led(k, (Line::column(&b, 0), Line::row(&a, i)), i, m) }).collect()
}

/// A sum and what it is added to.
fn scaled<T: Vectorized>(alpha: T, sum: T, beta: T, c: T) -> T {
    if beta == T::default() { alpha * sum } else { beta.fused(c, alpha * sum) }
}

/// The dot product of two vectors: four registers that take turns.
pub fn dot<T: Vectorized>(x: &[T], y: &[T]) -> T {
    let mut turns = [[T::default(); WIDE]; 4];
    let mut start = 0;
    // As many registers at once as there are numbers left for.
    for count in [4, 2, 1] {
        while start + count * WIDE <= x.len() {
            for turn in turns.iter_mut().take(count) {
                *turn = add_lanes(x, y, start, WIDE, *turn);
                start += WIDE;
            }
        }
    }
    turns[0] = add_lanes(x, y, start, x.len() - start, turns[0]);
    let [a, b, c, d] = turns;
    let l: [T; WIDE] = std::array::from_fn(|i| (a[i] + b[i]) + (c[i] + d[i]));
    let l: [T; 4] = std::array::from_fn(|i| (l[i] + l[i + 8]) + (l[i + 4] + l[i + 12]));
    (l[0] + l[1]) + (l[2] + l[3])
}

widest! {
    fn add_lanes<T: Vectorized>(x: &[T], y: &[T], start: usize, count: usize, sums: [T; WIDE]) -> [T; WIDE] {
        let mut sums = sums;
        (0..count).for_each(|l| sums[l] = x[start + l].fused(y[start + l], sums[l]));
        sums
    }

    /// Adds the products of `range` to sixteen sums, which take turns.
    fn lanes<T: Vectorized>(range: Range<usize>, x: &Line<T>, y: &Line<T>, sums: [T; WIDE]) -> [T; WIDE] {
        let mut sums = sums;
        for (l, p) in range.enumerate() {
            let sum = &mut sums[l % WIDE];
            *sum = x.at(p).fused(y.at(p), *sum);
        }
        sums
    }

    /// The sum for one place of a vector times a matrix whose lines lie across: eight lines at once for places in whole `groups`.
    fn stacked<T: Vectorized>(k: usize, x: &Line<T>, y: &Line<T>, start: T, grouped: bool) -> T {
        let next = |p: usize, sum: T| x.at(p).fused(y.at(p), sum);
        let two = |p: usize, q: usize| next(p, x.at(q) * y.at(q));
        let eights = if grouped { k - k % 8 } else { 0 };
        let sum = (0..eights).step_by(8).fold(start, |sum, p| {
            let (even, odd) = (next(p + 4, next(p + 6, sum)), two(p + 5, p + 7));
            (even + odd) + (two(p, p + 2) + two(p + 1, p + 3))
        });
        (eights..k).fold(sum, |sum, p| next(p, sum))
    }
}

/// Sixteen sums, the upper half added to the lower until one is left.
fn halved<T: Vectorized>(mut sums: [T; WIDE]) -> T {
    for half in [8, 4, 2, 1] {
        (0..half).for_each(|l| {
            let upper = sums[l + half];
            sums[l] += upper;
        });
    }
    sums[0]
}

/// Sixteen sums, every fourth with every fourth.
fn by_fours<T: Vectorized>(l: [T; WIDE]) -> T {
    let four = |i: usize| ((l[i] + l[i + 4]) + l[i + 8]) + l[i + 12];
    (four(0) + four(1)) + (four(2) + four(3))
}

/// The sum of a range of products: one register, or `two` that take turns.
fn dotted<T: Vectorized>(range: Range<usize>, x: &Line<T>, y: &Line<T>, two: bool) -> T {
    let none = [T::default(); WIDE];
    if !two {
        return halved(lanes(range, x, y, none));
    }
    let (mut even, mut odd, mut start) = (none, none, range.start);
    while start + 2 * WIDE <= range.end {
        even = lanes(start..start + WIDE, x, y, even);
        odd = lanes(start + WIDE..start + 2 * WIDE, x, y, odd);
        start += 2 * WIDE;
    }
    let both = std::array::from_fn(|l| even[l] + odd[l]);
    halved(lanes(start..range.end, x, y, both))
}

/// The sum of line `i` of `count` of a matrix with a vector, which its first product leads. In groups of four lines, what whole
/// registers leave over is added after them; of the last lines, every other has two registers.
fn led<T: Vectorized>(k: usize, (x, y): (Line<T>, Line<T>), i: usize, count: usize) -> T {
    let first = x.at(0) * y.at(0);
    if i >= count - count % 4 {
        return first + dotted(1..k, &x, &y, i.is_multiple_of(2));
    }
    let whole = 1 + (k - 1) / WIDE * WIDE;
    let add = |sum: T, range: Range<usize>| {
        let mut sums = [T::default(); WIDE];
        sums[0] = sum;
        if range.is_empty() { sum } else { halved(lanes(range, &x, &y, sums)) }
    };
    add(add(first, 1..whole), whole..k)
}

/// Block after block of the inner dimension, each added to the result.
fn in_blocks<T: Vectorized>([m, k, n]: [usize; 3], alpha: T, a: Matrix<T>, b: Matrix<T>, beta: T, c: &mut [T]) {
    if m * n == 0 {
        return;
    }
    let mut start = 0;
    while start == 0 || start < k {
        let left = k - start;
        let size = if left <= BLOCK {
            left
        } else if left <= 2 * BLOCK {
            left.div_ceil(2)
        } else {
            BLOCK
        };
        let rows = Matrix { offset: a.offset + start * a.col as usize, ..a };
        let columns = Matrix { offset: b.offset + start * b.row as usize, ..b };
        let beta = if start == 0 { beta } else { T::of(1.0) };
        let mut block = vec![T::default(); m * n];
        in_one([m, size, n], rows, columns, &mut block);
        for (c, sum) in c.iter_mut().zip(block) {
            *c = scaled(alpha, sum, beta, *c);
        }
        start += size.max(1);
    }
}

/// `c = a b`, one fused step after the other.
pub fn in_one<T: Vectorized>([m, k, n]: [usize; 3], a: Matrix<T>, b: Matrix<T>, c: &mut [T]) {
    if T::FUSES && k > ONE_GO && m * n * k <= PRODUCTS {
        c.fill(T::default());
        one_by_one([m, k, n], a, b, c);
    } else {
        T::gemm(m, k, n, T::of(1.0), a, b, T::default(), c);
    }
}

widest! {
    fn add_line<T: Vectorized>(factor: T, line: &[T], sums: &mut [T]) {
        for (sum, y) in sums.iter_mut().zip(line) {
            *sum = factor.fused(*y, *sum);
        }
    }
}

/// Adds `a b` to `c`, one fused step after the other.
pub fn one_by_one<T: Vectorized>([m, k, n]: [usize; 3], a: Matrix<T>, b: Matrix<T>, c: &mut [T]) {
    let lie = b.col == 1;
    let own: Vec<T> = if lie { Vec::new() } else { (0..k * n).map(|at| Line::row(&b, at / n).at(at % n)).collect() };
    for i in 0..m {
        let (factors, sums) = (Line::row(&a, i), &mut c[i * n..][..n]);
        for p in 0..k {
            let factor = factors.at(p);
            let line = if lie { &b.data[b.offset + p * b.row as usize..][..n] } else { &own[p * n..][..n] };
            add_line(factor, line, sums);
        }
    }
}
