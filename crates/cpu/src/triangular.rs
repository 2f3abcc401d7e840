//! LU factors and solving with triangles, in the order in which PyTorch's library adds in single precision. It has ways of its own
//! for small systems and for single columns; a step subtracts a product that is not rounded, and it multiplies by reciprocals
//! where it has more than one column.

use super::linalg::Mat;
use super::vectorized::{Vectorized, wide};

/// Beyond this the library factors in blocks; here in float64, rounded once.
const UNBLOCKED: usize = 16;
/// Up to this many unknowns and right sides the library has kernels for small systems.
const SMALL: usize = 8;

/// PA = LU in one matrix, rows exchanged (counted from one), the first zero pivot (counted from one; 0: none) and the sign of P.
pub(super) struct Lu<T> {
    pub(super) lu: Mat<T>,
    pub(super) pivots: Vec<i64>,
    pub(super) info: i64,
    pub(super) sign: T,
}

/// Factors a matrix of any shape, with or without exchanging rows.
pub(super) fn factor<T: Vectorized>(a: Mat<T>, exchange: bool) -> Lu<T> {
    if a.rows.max(a.cols) <= UNBLOCKED {
        return eliminated(a, exchange);
    }
    let Lu { lu, pivots, info, sign } = eliminated(a.held::<f64>(), exchange);
    Lu { lu: lu.held(), pivots, info, sign: T::of(sign) }
}

fn eliminated<T: Vectorized>(mut lu: Mat<T>, exchange: bool) -> Lu<T> {
    let (n, steps) = (lu.rows, lu.rows.min(lu.cols));
    let tiny = lu.rows == lu.cols && n <= 4;
    let (mut pivots, mut info, mut sign) = (Vec::with_capacity(n), 0, T::of(1.0));
    for k in 0..steps {
        let p = (k..if exchange { n } else { k + 1 }).fold(k, |best, i| if lu.at(i, k).abs() > lu.at(best, k).abs() { i } else { best });
        pivots.push(p as i64 + 1);
        if p != k {
            lu.swap_rows(p, k);
            sign = -sign;
        }
        let pivot = lu.at(k, k);
        if pivot == T::default() {
            info = if info == 0 { k as i64 + 1 } else { info };
            continue;
        }
        let inverse = T::of(1.0) / pivot;
        // The last step of a tiny matrix divides, and so does one whose reciprocal is too large.
        let divides = tiny && k + 2 == n || inverse.wide().is_infinite();
        for i in k + 1..n {
            let factor = if divides { lu.at(i, k) / pivot } else { lu.at(i, k) * inverse };
            lu.set(i, k, factor);
            for j in k + 1..lu.cols {
                lu.set(i, j, (-factor).fused(lu.at(k, j), lu.at(i, j)));
            }
        }
    }
    Lu { lu, pivots, info, sign }
}

/// Which triangle of a matrix counts, and whether ones are on its diagonal whatever the matrix holds there.
#[derive(Clone, Copy)]
pub(super) struct Triangle {
    pub(super) upper: bool,
    pub(super) unit: bool,
}

/// A triangular system in the making: the unknowns in the order in which they are found.
struct System<'a, T> {
    a: &'a Mat<T>,
    order: Vec<usize>,
    unit: bool,
    /// Divides by the diagonal instead of multiplying by its reciprocal.
    divides: bool,
}

impl<'a, T: Vectorized> System<'a, T> {
    fn new(a: &'a Mat<T>, triangle: Triangle, divides: bool) -> Self {
        let order = if triangle.upper { (0..a.rows).rev().collect() } else { (0..a.rows).collect() };
        System { a, order, unit: triangle.unit, divides }
    }

    /// An unknown of what is left of its right side.
    fn settle(&self, i: usize, x: &mut [T]) {
        let pivot = self.a.at(i, i);
        let inverse = T::of(1.0) / pivot;
        if !self.unit {
            x[i] = if self.divides { x[i] / pivot } else { x[i] * inverse };
        }
    }

    /// What `sum` makes of the unknowns found so far is taken away before an unknown is settled.
    fn by_rows(&self, x: &mut [T], sum: impl Fn(usize, &[usize], &[T]) -> T) {
        for (step, &i) in self.order.iter().enumerate() {
            match &self.order[..step] {
                [] => {}
                [only] => x[i] = (-self.a.at(i, *only)).fused(x[*only], x[i]),
                found => x[i] = x[i] - sum(i, found, x),
            }
            self.settle(i, x);
        }
    }

    /// Takes an unknown away from the equations that follow, one unknown after the other, within part of the order.
    fn by_columns(&self, x: &mut [T], part: std::ops::Range<usize>) {
        let order = &self.order[part];
        for (step, &i) in order.iter().enumerate() {
            self.settle(i, x);
            for &j in &order[step + 1..] {
                x[j] = (-self.a.at(j, i)).fused(x[i], x[j]);
            }
        }
    }

    /// In blocks: sixteens together, then powers of two, by the index; a block's sum over those before it is taken away at once.
    fn by_blocks(&self, x: &mut [T]) {
        let n = self.order.len();
        let upper = self.order.first() > self.order.last();
        let mut sizes = vec![n / UNBLOCKED * UNBLOCKED];
        sizes.extend((0..UNBLOCKED.ilog2()).rev().map(|bit| n & (1 << bit)));
        if upper {
            sizes.reverse();
        }
        let mut from = 0;
        for size in sizes {
            let mut found = self.order[..from].to_vec();
            found.sort_unstable();
            for &i in self.order[from..from + size].iter().filter(|_| from > 0) {
                x[i] = x[i] - found.iter().fold(T::default(), |sum, k| self.a.at(i, *k).fused(x[*k], sum));
            }
            self.by_columns(x, from..from + size);
            from += size;
        }
    }

    /// A small system's sum: the second unknown first.
    fn small_sum(&self, i: usize, found: &[usize], x: &[T]) -> T {
        let first = self.a.at(i, found[1]) * x[found[1]];
        let rest = found[..1].iter().chain(&found[2..]);
        rest.fold(first, |sum, k| self.a.at(i, *k).fused(x[*k], sum))
    }

    /// The sum of a small system that is the transpose of a factor: two products, then the rest one by one.
    fn turned_sum(&self, i: usize, found: &[usize], x: &[T]) -> T {
        let pair = self.a.at(i, found[0]) * x[found[0]] + self.a.at(i, found[1]) * x[found[1]];
        found[2..].iter().fold(pair, |sum, k| self.a.at(i, *k).fused(x[*k], sum))
    }

    /// A sum by lanes.
    fn lanes_sum(&self, i: usize, found: &[usize], x: &[T]) -> T {
        let mut found = found.to_vec();
        found.sort_unstable();
        masked_dot(found.iter().map(|k| (self.a.at(i, *k), x[*k])))
    }
}

/// The sum of products as the library's compiler adds it: in wide lanes that start from zero, folded in halves.
pub(super) fn masked_dot<T: Vectorized>(pairs: impl Iterator<Item = (T, T)>) -> T {
    let width = wide::<T>();
    let mut lanes = vec![T::default(); width];
    pairs.enumerate().for_each(|(i, (a, b))| lanes[i % width] = a.fused(b, lanes[i % width]));
    super::vectorized::fold(lanes)
}

/// Runs `f` on every column.
fn each_column<T: Vectorized>(x: &mut Mat<T>, f: impl Fn(usize, &mut [T])) {
    for j in 0..x.cols {
        let mut column: Vec<T> = (0..x.rows).map(|i| x.at(i, j)).collect();
        f(j, &mut column);
        column.into_iter().enumerate().for_each(|(i, v)| x.set(i, j, v));
    }
}

/// Solves a triangular system in place; `a` may hold more than the triangle. `turned`: the library is given the transpose.
pub(super) fn substitute<T: Vectorized>(a: &Mat<T>, x: &mut Mat<T>, triangle: Triangle, turned: bool) {
    let system = System::new(a, triangle, x.cols == 1);
    let single = x.cols == 1;
    each_column(x, |_, column| match single {
        true if turned => system.by_rows(column, |i, found, x| system.lanes_sum(i, found, x)),
        true => system.by_columns(column, 0..a.rows),
        false => system.by_blocks(column),
    });
}

/// Both triangles of a factorization, one after the other.
fn factors_solved<T: Vectorized>(a: &Mat<T>, x: &mut Mat<T>, turned: bool) {
    let (n, count) = (a.rows, x.cols);
    let small = n < SMALL && count <= SMALL;
    let narrow = n == SMALL && count <= SMALL || n > SMALL && count == 1;
    let triangles = [Triangle { upper: false, unit: !turned }, Triangle { upper: true, unit: turned }];
    each_column(x, |j, column| {
        // Three unknowns are solved for in pairs of columns, and a last one divides.
        let divides = narrow || n == 3 && !turned && j + 1 == count && count % 2 == 1;
        for triangle in triangles {
            let system = System::new(a, triangle, divides);
            match (small, narrow) {
                (true, _) if turned && !triangle.upper && n > 4 => system.by_columns(column, 0..n),
                (true, _) if turned && !triangle.upper => system.by_rows(column, |i, found, x| system.turned_sum(i, found, x)),
                (true, _) => system.by_rows(column, |i, found, x| system.small_sum(i, found, x)),
                (_, true) if turned => system.by_rows(column, |i, found, x| system.lanes_sum(i, found, x)),
                (_, true) => system.by_columns(column, 0..n),
                _ => system.by_blocks(column),
            }
        }
    });
}

/// Solves A X = B, or with the transpose of A, from the factorization of A.
pub(super) fn solve_factored<T: Vectorized>(lu: &Mat<T>, pivots: &[i64], b: &Mat<T>, transposed: bool) -> Mat<T> {
    let mut x = b.clone();
    let exchange = |x: &mut Mat<T>, k: usize| {
        let p = pivots[k] as usize - 1;
        if p != k {
            x.swap_rows(p, k);
        }
    };
    if transposed {
        factors_solved(&lu.t(), &mut x, true);
        (0..lu.rows).rev().for_each(|k| exchange(&mut x, k));
    } else {
        (0..lu.rows).for_each(|k| exchange(&mut x, k));
        factors_solved(lu, &mut x, false);
    }
    x
}
