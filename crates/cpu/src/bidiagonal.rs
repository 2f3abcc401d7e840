//! Singular values as the library finds them, so that vectors have the signs that it gives them: by reflectors to a triangle, by
//! reflectors from both sides to a bidiagonal matrix, then by implicit shifts.

use super::linalg::Mat;
use super::reflectors::{reflected, reflector};
use super::rotations::{Turn, limits, signed, turn_of};
use super::triangular::masked_dot;
use super::vectorized::Vectorized;

/// A reflector from a place on, with its factor.
type Reflector<T> = (usize, Vec<T>, T);

/// Reflects the columns of a matrix, from one on.
fn reflect_columns<T: Vectorized>(m: &mut Mat<T>, (at, v, tau): &Reflector<T>, from: usize) {
    if *tau == T::default() {
        return;
    }
    for j in from..m.cols {
        let along = *tau * masked_dot(v.iter().enumerate().map(|(i, v)| (*v, m.at(at + i, j))));
        v.iter().enumerate().for_each(|(i, v)| m.set(at + i, j, (-*v).fused(along, m.at(at + i, j))));
    }
}

/// Reflects the rows of a matrix, from one on.
fn reflect_rows<T: Vectorized>(m: &mut Mat<T>, (at, v, tau): &Reflector<T>, from: usize) {
    if *tau == T::default() {
        return;
    }
    for i in from..m.rows {
        let along = *tau * v.iter().enumerate().fold(T::default(), |sum, (j, v)| v.fused(m.at(i, at + j), sum));
        v.iter().enumerate().for_each(|(j, v)| m.set(i, at + j, (-*v).fused(along, m.at(i, at + j))));
    }
}

/// Singular values, falling, with U (of so many columns) and V. The matrix has at least as many rows as columns; `turned`: it is
/// the transpose of what is decomposed, which has a lower bidiagonal matrix where this has an upper one.
pub(super) fn tall<T: Vectorized>(mut a: Mat<T>, columns: usize, turned: bool) -> (Mat<T>, Vec<T>, Mat<T>) {
    let (m, n) = (a.rows, a.cols);
    if turned || m == n || m < n * 8 / 5 {
        return by_sides(a, columns, turned);
    }
    // Of a matrix that is much taller than wide its triangle is decomposed.
    let factors = reflected(&mut a);
    let column = |k: usize| std::iter::once(T::of(1.0)).chain((k + 1..m).map(|i| a.at(i, k))).collect();
    let first: Vec<Reflector<T>> = factors.into_iter().enumerate().map(|(k, tau)| (k, column(k), tau)).collect();
    let mut triangle = Mat::zeros(n, n);
    (0..n).for_each(|i| (i..n).for_each(|j| triangle.set(i, j, a.at(i, j))));
    let (u, s, v) = by_sides(triangle, n, turned);
    (applied(&first, widened(&u, m, columns)), s, v)
}

/// Reflectors applied to columns, the last first.
fn applied<T: Vectorized>(reflectors: &[Reflector<T>], mut x: Mat<T>) -> Mat<T> {
    reflectors.iter().rev().for_each(|r| reflect_columns(&mut x, r, 0));
    x
}

/// A matrix in the upper left of a larger one, whose diagonal goes on in ones.
fn widened<T: Vectorized>(m: &Mat<T>, rows: usize, cols: usize) -> Mat<T> {
    let mut wide = Mat::zeros(rows, cols);
    for i in 0..rows {
        for j in 0..cols {
            let inside = i < m.rows && j < m.cols;
            wide.set(i, j, if inside { m.at(i, j) } else { T::of(f64::from(u8::from(i == j))) });
        }
    }
    wide
}

/// The decomposition of a square matrix by way of a bidiagonal one.
fn by_sides<T: Vectorized>(mut a: Mat<T>, columns: usize, turned: bool) -> (Mat<T>, Vec<T>, Mat<T>) {
    let (m, n) = (a.rows, a.cols);
    let (mut left, mut right): (Vec<Reflector<T>>, Vec<Reflector<T>>) = (Vec::new(), Vec::new());
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let made = |mut v: Vec<T>, at: usize| {
        let (beta, tau) = reflector(&mut v, false);
        v[0] = T::of(1.0);
        (beta, (at, v, tau))
    };
    for k in 0..n {
        let (d, reflector) = made((k..m).map(|i| a.at(i, k)).collect(), k);
        reflect_columns(&mut a, &reflector, k + 1);
        diagonal.push(d);
        left.push(reflector);
        if k + 1 < n {
            let (e, reflector) = made((k + 1..n).map(|j| a.at(k, j)).collect(), k + 1);
            reflect_rows(&mut a, &reflector, k + 1);
            beside.push(e);
            right.push(reflector);
        }
    }
    // Vectors of the bidiagonal matrix are rows. What is turned is a lower one, which turns make an upper one.
    let mut found = Bidiagonal { diagonal, beside, left: Mat::identity(n), right: Mat::identity(n) };
    let lower: Vec<Turn<T>> = if turned { found.raise() } else { Vec::new() };
    found.settle();
    let order = found.order();
    let pick = |m: &Mat<T>| {
        let mut columns = Mat::zeros(n, n);
        order.iter().enumerate().for_each(|(to, from)| (0..n).for_each(|i| columns.set(i, to, m.at(*from, i))));
        columns
    };
    let (mut of_rows, of_columns) = (pick(&found.left), pick(&found.right));
    for (i, turn) in lower.iter().enumerate().rev() {
        Turn { cos: turn.cos, sin: -turn.sin }.rows(&mut of_rows, i, i + 1);
    }
    let values = order.iter().map(|i| found.diagonal[*i]).collect();
    let (u, v) = if turned { (of_columns, of_rows) } else { (of_rows, of_columns) };
    (applied(&left, widened(&u, m, columns)), values, applied(&right, v))
}

/// An upper bidiagonal matrix on its way to a diagonal one, and its vectors of both sides as rows.
struct Bidiagonal<T> {
    diagonal: Vec<T>,
    beside: Vec<T>,
    left: Mat<T>,
    right: Mat<T>,
}

impl<T: Vectorized> Bidiagonal<T> {
    /// Makes an upper matrix of a lower one, and gives the turns.
    fn raise(&mut self) -> Vec<Turn<T>> {
        let (d, e) = (&mut self.diagonal, &mut self.beside);
        let mut turns = Vec::new();
        for i in 0..e.len() {
            let (turn, r) = turn_of(d[i], e[i], true);
            d[i] = r;
            e[i] = turn.sin * d[i + 1];
            d[i + 1] = turn.cos * d[i + 1];
            turns.push(turn);
        }
        turns
    }

    /// Places by falling values; of equal ones the first comes first.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.diagonal.len()).collect();
        order.sort_by(|i, j| self.diagonal[*j].wide().total_cmp(&self.diagonal[*i].wide()));
        order
    }

    /// Makes the matrix diagonal, with no negative element.
    fn settle(&mut self) {
        let n = self.diagonal.len();
        let (eps, least) = limits::<T>();
        let tolerance = T::of(eps.wide().powf(-0.125).clamp(10.0, 100.0)) * eps;
        let mut smallest = self.diagonal.first().map_or(T::default(), |d| d.abs());
        let mut mu = smallest;
        for i in 1..n {
            mu = self.diagonal[i].abs() * (mu / (mu + self.beside[i - 1].abs()));
            smallest = if mu < smallest || mu.nan() { mu } else { smallest };
            if smallest == T::default() {
                break;
            }
        }
        let floor = T::of(6.0 * (n * n) as f64) * least;
        let threshold = tolerance * (smallest / T::of(n as f64).sqrt());
        let threshold = if threshold > floor { threshold } else { floor };
        let (mut m, mut left, mut block, mut down) = (n, 6 * n * n, None, true);
        while m > 1 && left > 0 {
            left -= 1;
            let cut = (0..m - 1).rev().find(|k| self.beside[*k].abs() <= threshold);
            if let Some(k) = cut {
                self.beside[k] = T::default();
            }
            let start = cut.map_or(0, |k| k + 1);
            if start == m - 1 {
                m -= 1;
            } else if start + 2 == m {
                self.settle_pair(start);
                m -= 2;
            } else {
                // The direction holds as long as the search stays in a block.
                if block.is_none_or(|(first, last)| start > last || m - 1 < first) {
                    down = self.diagonal[start].abs() >= self.diagonal[m - 1].abs();
                }
                if let Some(lowest) = self.bounded(start, m - 1, down, tolerance) {
                    block = Some((start, m - 1));
                    self.sweep(start, m - 1, down, lowest, tolerance, threshold);
                }
            }
        }
        // A negative value turns its vector of the right side, a single one that of the left.
        let vectors = if n == 1 { &mut self.left } else { &mut self.right };
        for i in 0..n {
            if self.diagonal[i] < T::default() {
                self.diagonal[i] = -self.diagonal[i];
                (0..n).for_each(|k| vectors.set(i, k, -vectors.at(i, k)));
            }
        }
    }

    /// A lower bound of a block's values, or none where an element beside the diagonal was small enough to be dropped.
    fn bounded(&mut self, start: usize, end: usize, down: bool, tolerance: T) -> Option<T> {
        let place = Place { start, end, down };
        let last = end - start;
        let far = place.between(last - 1);
        if self.beside[far].abs() <= tolerance * self.diagonal[place.at(last)].abs() {
            self.beside[far] = T::default();
            return None;
        }
        let mut mu = self.diagonal[place.at(0)].abs();
        let mut lowest = mu;
        for k in 0..last {
            let e = self.beside[place.between(k)].abs();
            if e <= tolerance * mu {
                self.beside[place.between(k)] = T::default();
                return None;
            }
            mu = self.diagonal[place.at(k + 1)].abs() * (mu / (mu + e));
            lowest = if mu < lowest { mu } else { lowest };
        }
        Some(lowest)
    }

    /// One step through a block, with a shift where that does not cost accuracy.
    fn sweep(&mut self, start: usize, end: usize, down: bool, lowest: T, tolerance: T, threshold: T) {
        let place = Place { start, end, down };
        let (last, one, zero) = (end - start, T::of(1.0), T::default());
        let (eps, _) = limits::<T>();
        let part = self.diagonal[start..=end].iter().chain(&self.beside[start..end]);
        let largest = part.fold(zero, |most, v| if v.abs() > most { v.abs() } else { most });
        let (d, e) = (&mut self.diagonal, &mut self.beside);
        let bound = T::of((eps.wide()).max(0.01 * tolerance.wide()));
        let mut shift = zero;
        if T::of(d.len() as f64) * tolerance * (lowest / largest) > bound {
            shift = smaller(d[place.at(last - 1)], e[place.between(last - 1)], d[place.at(last)]);
            let share = shift / d[place.at(0)].abs();
            if share * share < eps {
                shift = zero;
            }
        }
        // Turns of the side that the step starts with, and of the other.
        let mut turns = Vec::new();
        if shift == zero {
            let mut other = Turn { cos: one, sin: zero };
            let mut turn = other;
            for k in 0..last {
                let (next, r) = turn_of(d[place.at(k)] * turn.cos, e[place.between(k)], true);
                turn = next;
                if k > 0 {
                    e[place.between(k - 1)] = other.sin * r;
                }
                let (next, r) = turn_of(other.cos * r, d[place.at(k + 1)] * turn.sin, true);
                other = next;
                d[place.at(k)] = r;
                turns.push((turn, other));
            }
            let h = d[place.at(last)] * turn.cos;
            d[place.at(last)] = h * other.cos;
            e[place.between(last - 1)] = h * other.sin;
        } else {
            let corner = d[place.at(0)];
            let mut f = (corner.abs() - shift) * (signed(one, corner) + shift / corner);
            let mut g = e[place.between(0)];
            for k in 0..last {
                let (turn, r) = turn_of(f, g, true);
                if k > 0 {
                    e[place.between(k - 1)] = r;
                }
                let (here, there, beside) = (place.at(k), place.at(k + 1), place.between(k));
                f = turn.cos * d[here] + turn.sin * e[beside];
                e[beside] = turn.cos * e[beside] - turn.sin * d[here];
                g = turn.sin * d[there];
                d[there] = turn.cos * d[there];
                let (other, r) = turn_of(f, g, true);
                d[here] = r;
                f = other.cos * e[beside] + other.sin * d[there];
                d[there] = other.cos * d[there] - other.sin * e[beside];
                if k + 1 < last {
                    let next = place.between(k + 1);
                    g = other.sin * e[next];
                    e[next] = other.cos * e[next];
                }
                turns.push((turn, other));
            }
            e[place.between(last - 1)] = f;
        }
        if e[place.between(last - 1)].abs() <= threshold {
            e[place.between(last - 1)] = zero;
        }
        let (first, second) = if down { (&mut self.right, &mut self.left) } else { (&mut self.left, &mut self.right) };
        for (k, (turn, other)) in turns.into_iter().enumerate() {
            turn.rows(first, place.at(k), place.at(k + 1));
            other.rows(second, place.at(k), place.at(k + 1));
        }
    }

    /// Two rows and columns, from `k` on.
    fn settle_pair(&mut self, k: usize) {
        let Pair { large, little, left, right } = pair(self.diagonal[k], self.beside[k], self.diagonal[k + 1]);
        self.diagonal[k] = large;
        self.beside[k] = T::default();
        self.diagonal[k + 1] = little;
        right.rows(&mut self.right, k, k + 1);
        left.rows(&mut self.left, k, k + 1);
    }
}

/// A block as a step goes through it, from its start down or from its end up.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    end: usize,
    down: bool,
}

impl Place {
    fn at(self, k: usize) -> usize {
        if self.down { self.start + k } else { self.end - k }
    }
    /// What lies between a place and the next.
    fn between(self, k: usize) -> usize {
        if self.down { self.start + k } else { self.end - 1 - k }
    }
}

/// The smaller singular value of `[[f, g], [0, h]]`.
fn smaller<T: Vectorized>(f: T, g: T, h: T) -> T {
    let (one, f, g, h) = (T::of(1.0), f.abs(), g.abs(), h.abs());
    let (least, most) = if f < h { (f, h) } else { (h, f) };
    if least == T::default() {
        return least;
    }
    let (up, down) = (one + least / most, (most - least) / most);
    if g < most {
        let across = (g / most) * (g / most);
        return least * (T::of(2.0) / ((up * up + across).sqrt() + (down * down + across).sqrt()));
    }
    let across = most / g;
    if across == T::default() {
        return (least * most) / g;
    }
    let root = |side: T| (one + (side * across) * (side * across)).sqrt();
    let half = (least * (one / (root(up) + root(down)))) * across;
    half + half
}

/// Singular values of a matrix of two rows, with signs, and the turns to its vectors.
struct Pair<T> {
    large: T,
    little: T,
    left: Turn<T>,
    right: Turn<T>,
}

/// The decomposition of `[[f, g], [0, h]]`.
fn pair<T: Vectorized>(f: T, g: T, h: T) -> Pair<T> {
    let (zero, one) = (T::default(), T::of(1.0));
    let swaps = h.abs() > f.abs();
    let (ft, ht) = if swaps { (h, f) } else { (f, h) };
    let (fa, ha, ga) = (ft.abs(), ht.abs(), g.abs());
    let (eps, _) = limits::<T>();
    let vast = ga > fa && fa / ga < eps;
    let (little, large, left, right);
    if ga == zero {
        (little, large) = (ha, fa);
        (left, right) = (Turn { cos: one, sin: zero }, Turn { cos: one, sin: zero });
    } else if vast {
        large = ga;
        little = if ha > one { fa / (ga / ha) } else { (fa / ga) * ha };
        (left, right) = (Turn { cos: one, sin: ht / g }, Turn { cos: ft / g, sin: one });
    } else {
        let d = fa - ha;
        let l = if d == fa { one } else { d / fa };
        let (m, t) = (g / ft, T::of(2.0) - l);
        let mm = m * m;
        let s = (t * t + mm).sqrt();
        let r = if l == zero { m.abs() } else { (l * l + mm).sqrt() };
        let a = T::of(0.5) * (s + r);
        (little, large) = (ha / a, fa * a);
        let t = if mm != zero {
            (m / (s + t) + m / (r + l)) * (one + a)
        } else if l == zero {
            signed(T::of(2.0), ft) * signed(one, g)
        } else {
            g / signed(d, ft) + m / t
        };
        let l = (t * t + T::of(4.0)).sqrt();
        let turn = Turn { cos: T::of(2.0) / l, sin: t / l };
        left = Turn { cos: (turn.cos + turn.sin * m) / a, sin: (ht / ft) * turn.sin / a };
        right = turn;
    }
    let crossed = |t: Turn<T>| Turn { cos: t.sin, sin: t.cos };
    let (left, right) = if swaps { (crossed(right), crossed(left)) } else { (left, right) };
    let sign = if ga > fa {
        signed(one, right.sin) * signed(one, left.cos) * signed(one, g)
    } else if swaps {
        signed(one, right.sin) * signed(one, left.sin) * signed(one, h)
    } else {
        signed(one, right.cos) * signed(one, left.cos) * signed(one, f)
    };
    Pair { large: signed(large, sign), little: signed(little, sign * signed(one, f) * signed(one, h)), left, right }
}
