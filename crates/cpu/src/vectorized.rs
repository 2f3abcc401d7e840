//! Arithmetic in the order in which PyTorch's vectorized CPU kernels do it, so that last digits agree: products that are fused
//! with a sum, the exponential of the SLEEF library, sums by lanes, and the mean and variance of a row.
//!
//! A compiler of PyTorch's fuses `a * b + c` where a kernel is vectorized, and each kernel is built for a width of its own:
//! softmax for sixteen lanes, sums and moments of rows for eight.

use super::dense::Real;
use super::paired;
use super::widest::widest;

/// Lanes of a softmax in single precision; half as many in double precision.
const WIDE: usize = 16;

/// A float with the operations of the vectorized kernels.
pub trait Vectorized: Real {
    /// How many lanes sums of tensors have.
    const LANES: usize;
    /// Whether a fused step costs about what a product and a sum cost.
    const FUSES: bool = true;
    /// `self * b + c`, rounded once.
    fn fused(self, b: Self, c: Self) -> Self;
    /// The exponential.
    fn exponential(self) -> Self;
    /// The exponential to some units in the last place, which is enough for attention.
    fn coarse_exponential(self) -> Self;
    /// The exponential as a vectorized kernel computes it, or as it does for what is left over after whole groups of lanes.
    #[inline(always)]
    fn exponential_in(self, grouped: bool) -> Self {
        if grouped { self.exponential() } else { self.exp() }
    }
    /// The natural logarithm as a vectorized kernel computes it.
    fn logarithm(self) -> Self;
    /// Likewise `e^x - 1`.
    fn expm1_in(self, grouped: bool) -> Self;
    /// Likewise `ln(1 + x)`.
    fn log1p_in(self, grouped: bool) -> Self;
    /// Likewise the hyperbolic tangent.
    fn tanh_in(self, grouped: bool) -> Self;
    /// Likewise a power.
    fn pow_in(self, exponent: Self, grouped: bool) -> Self;
    /// Likewise an angle.
    fn atan2_in(self, x: Self, grouped: bool) -> Self;
}

impl Vectorized for f32 {
    const LANES: usize = 8;
    #[inline(always)]
    fn fused(self, b: Self, c: Self) -> Self {
        if cfg!(target_arch = "wasm32") {
            // No instruction does it; the product is exact in double precision.
            (f64::from(self) * f64::from(b) + f64::from(c)) as f32
        } else {
            self.mul_add(b, c)
        }
    }
    #[inline(always)]
    fn exponential(self) -> Self {
        exponential(self)
    }
    #[inline(always)]
    fn coarse_exponential(self) -> Self {
        coarse_exponential(self)
    }
    #[inline(always)]
    fn logarithm(self) -> Self {
        paired::log(self)
    }
    #[inline(always)]
    fn expm1_in(self, grouped: bool) -> Self {
        if grouped { paired::expm1(self) } else { self.exp_m1() }
    }
    #[inline(always)]
    fn log1p_in(self, grouped: bool) -> Self {
        if grouped { paired::log1p(self) } else { self.ln_1p() }
    }
    #[inline(always)]
    fn tanh_in(self, grouped: bool) -> Self {
        if grouped { paired::tanh(self) } else { self.tanh() }
    }
    #[inline(always)]
    fn pow_in(self, exponent: Self, grouped: bool) -> Self {
        if grouped { paired::pow(self, exponent) } else { self.powf(exponent) }
    }
    #[inline(always)]
    fn atan2_in(self, x: Self, grouped: bool) -> Self {
        if grouped { paired::atan2(self, x) } else { self.atan2(x) }
    }
}

impl Vectorized for f64 {
    const LANES: usize = 4;
    const FUSES: bool = !cfg!(target_arch = "wasm32");
    #[inline(always)]
    fn fused(self, b: Self, c: Self) -> Self {
        self.mul_add(b, c)
    }
    #[inline(always)]
    fn exponential(self) -> Self {
        self.exp()
    }
    #[inline(always)]
    fn coarse_exponential(self) -> Self {
        self.exp()
    }
    #[inline(always)]
    fn logarithm(self) -> Self {
        self.ln()
    }
    #[inline(always)]
    fn expm1_in(self, _: bool) -> Self {
        self.exp_m1()
    }
    #[inline(always)]
    fn log1p_in(self, _: bool) -> Self {
        self.ln_1p()
    }
    #[inline(always)]
    fn tanh_in(self, _: bool) -> Self {
        self.tanh()
    }
    #[inline(always)]
    fn pow_in(self, exponent: Self, _: bool) -> Self {
        self.powf(exponent)
    }
    #[inline(always)]
    fn atan2_in(self, x: Self, _: bool) -> Self {
        self.atan2(x)
    }
}

/// e^x as 2^q e^s with s small: a polynomial in s, within one unit in the last place. Source: SLEEF, `xexpf`.
#[inline(always)]
fn exponential(x: f32) -> f32 {
    const LN2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];
    const TERMS: [f32; 6] = [0.000_198_527_62, 0.001_393_043_6, 0.008_333_361, 0.041_666_485, 0.166_666_67, 0.5];
    let q = (x * std::f32::consts::LOG2_E).round_ties_even();
    let s = q.fused(-LN2[1], q.fused(-LN2[0], x));
    let u = TERMS[1..].iter().fold(TERMS[0], |u, term| u.fused(s, *term));
    let u = 1.0 + (s * s).fused(u, s);
    let (half, q) = (q as i32 >> 1, q as i32);
    let power = |q: i32| f32::from_bits(((q + 127) as u32) << 23);
    let within = u * power(half) * power(q - half);
    // Chosen at the end: a loop without branches fills registers.
    let above = if x > 104.0 { f32::INFINITY } else { within };
    if x < -104.0 { 0.0 } else { above }
}

/// e^x by a shorter polynomial, which starts from 1 instead of the fraction's square. Source: oneDNN, its eltwise injector.
#[inline(always)]
fn coarse_exponential(x: f32) -> f32 {
    const TERMS: [f32; 6] = [0.008_289_29, 0.041_897_82, 0.166_676_52, 0.499_991_5, 0.999_999_7, 1.0];
    const RANGE: [f32; 2] = [-87.336_55, 88.722_84];
    let low = x < RANGE[0];
    let x = x.min(RANGE[1]);
    let q = x.fused(std::f32::consts::LOG2_E, 0.5).floor();
    let s = (-q).fused(std::f32::consts::LN_2, x);
    let u = TERMS[1..].iter().fold(TERMS[0], |u, term| u.fused(s, *term));
    let within = u * f32::from_bits(((q as i32).wrapping_add(126) as u32) << 23) * 2.0;
    if low { 0.0 } else { within }
}

/// The lanes of a sum, added in halves.
pub fn fold<T: Vectorized>(mut lanes: Vec<T>) -> T {
    while lanes.len() > 1 {
        let upper = lanes.split_off(lanes.len() / 2);
        lanes.iter_mut().zip(upper).for_each(|(a, b)| *a += b);
    }
    lanes.first().copied().unwrap_or_default()
}

/// The sum of a line as softmax kernels add it.
pub fn line_sum<T: Vectorized>(values: &[T]) -> T {
    line_reduce(wide::<T>(), values.len(), |i| values[i], |i, sum| sum + values[i])
}

/// The sum of products of two lines as softmax kernels add it: what is left over after whole groups of lanes is fused.
pub fn line_dot<T: Vectorized>(a: &[T], b: &[T]) -> T {
    line_reduce(wide::<T>(), a.len(), |i| a[i] * b[i], |i, sum| a[i].fused(b[i], sum))
}

/// The sum of a line as other kernels add it, which are built for half as many lanes.
pub fn lanes_sum<T: Vectorized>(values: &[T]) -> T {
    line_reduce(T::LANES, values.len(), |i| values[i], |i, sum| sum + values[i])
}

/// The sum of products of two lines as those kernels add it; what is left over after whole groups of lanes is `fused` in some.
pub fn lanes_dot<T: Vectorized>(a: &[T], b: &[T], fused: bool) -> T {
    line_reduce(T::LANES, a.len(), |i| a[i] * b[i], |i, sum| if fused { a[i].fused(b[i], sum) } else { sum + a[i] * b[i] })
}

/// The product of a line: four sets of lanes at once, joined two by two, then lane by lane, then with what is left over.
pub fn line_product<T: Vectorized>(values: &[T]) -> T {
    let (lanes, one) = (T::LANES, T::of(1.0));
    let whole = values.len() / (4 * lanes) * 4 * lanes;
    let mut sets = vec![one; 4 * lanes];
    values[..whole].iter().enumerate().for_each(|(i, v)| sets[i % (4 * lanes)] *= *v);
    let joined = (0..lanes).map(|i| (sets[i] * sets[lanes + i]) * (sets[2 * lanes + i] * sets[3 * lanes + i]));
    let first = if whole > 0 { joined.reduce(|a, b| a * b).unwrap_or(one) } else { one };
    values[whole..].iter().fold(first, |product, v| product * *v)
}

/// Lanes of a softmax.
pub fn wide<T: Vectorized>() -> usize {
    WIDE * T::LANES / f32::LANES
}

fn line_reduce<T: Vectorized>(width: usize, n: usize, term: impl Fn(usize) -> T, last: impl Fn(usize, T) -> T) -> T {
    if n < width {
        return (1..n).fold(if n > 0 { term(0) } else { T::default() }, |sum, i| sum + term(i));
    }
    let mut lanes: Vec<T> = (0..width).map(&term).collect();
    let whole = n - n % width;
    (width..whole).for_each(|i| lanes[i % width] += term(i));
    (whole..n).for_each(|i| lanes[i - whole] = last(i, lanes[i - whole]));
    fold(lanes)
}

/// Counts, means and sums of squared distances, of one set of numbers per lane.
#[derive(Clone)]
struct Moments<T> {
    count: usize,
    mean: Vec<T>,
    squares: Vec<T>,
}

impl<T: Vectorized> Moments<T> {
    fn new(lanes: usize) -> Self {
        Moments { count: 0, mean: vec![T::default(); lanes], squares: vec![T::default(); lanes] }
    }

    /// One more number per lane.
    #[inline(always)]
    fn push(&mut self, values: &[T]) {
        self.count += 1;
        let share = T::of(1.0) / T::of(self.count as f64);
        for (lane, x) in values.iter().enumerate() {
            let delta = *x - self.mean[lane];
            self.mean[lane] = delta.fused(share, self.mean[lane]);
            self.squares[lane] = delta.fused(*x - self.mean[lane], self.squares[lane]);
        }
    }

    /// Other sets, lane by lane.
    fn join(&mut self, other: &Moments<T>) {
        let share = self.share(other);
        for lane in 0..self.mean.len() {
            let delta = other.mean[lane] - self.mean[lane];
            let (step, spread) = (share * delta, delta * T::of(self.count as f64));
            self.mean[lane] += step;
            self.squares[lane] = spread.fused(step, self.squares[lane] + other.squares[lane]);
        }
        self.count += other.count;
    }

    fn share(&self, other: &Moments<T>) -> T {
        let n = self.count + other.count;
        if n == 0 { T::default() } else { T::of(other.count as f64) / T::of(n as f64) }
    }

    /// One set of all lanes, to which `rest` is counted first, one by one.
    fn flattened(&self, rest: &[T]) -> (T, T) {
        let (mut mean, mut squares) = (T::default(), T::default());
        for (i, x) in rest.iter().enumerate() {
            let delta = *x - mean;
            mean += delta / T::of((i + 1) as f64);
            squares += delta * (*x - mean);
        }
        let mut all = Moments { count: rest.len(), mean: Vec::new(), squares: Vec::new() };
        for lane in 0..self.mean.len() {
            let (share, delta) = (all.share(self), self.mean[lane] - mean);
            mean = share.fused(delta, mean);
            squares += (delta * delta * share).fused(T::of(all.count as f64), self.squares[lane]);
            all.count += self.count;
        }
        (mean, squares)
    }
}

widest! {
    fn push_all<T: Vectorized>(sets: &mut Moments<T>, values: &[T]) {
        for values in values.chunks(T::LANES) {
            sets.push(values);
        }
    }

    /// Turns numbers into exponentials of what they are above `base`.
    pub fn exponentials_above<T: Vectorized>(values: &mut [T], base: T, grouped: bool) {
        for v in values {
            *v = (*v - base).exponential_in(grouped);
        }
    }

    /// Likewise those that are good enough for attention.
    pub fn coarse_exponentials_above<T: Vectorized>(values: &mut [T], base: T) {
        for v in values {
            *v = (*v - base).coarse_exponential();
        }
    }
}

/// Mean and variance of a row: by lanes and in chunks of sixteen steps, joined as a binary counter counts them; then what is left
/// over, then the lanes.
pub fn row_moments<T: Vectorized>(row: &[T]) -> (T, T) {
    const CHUNK: usize = 16;
    let lanes = T::LANES;
    let whole = row.len() / lanes * lanes;
    let chunks: Vec<&[T]> = row[..whole].chunks(CHUNK * lanes).collect();
    let depth = chunks.len().next_power_of_two().ilog2().max(1) as usize;
    let mut levels = vec![Moments::new(lanes); depth];
    for (i, chunk) in chunks.iter().enumerate() {
        let mut sets = Moments::new(lanes);
        push_all(&mut sets, chunk);
        levels[0].join(&sets);
        for level in 1..depth.min(1 + (i + 1).trailing_zeros() as usize) {
            let full = std::mem::replace(&mut levels[level - 1], Moments::new(lanes));
            levels[level].join(&full);
        }
    }
    let (first, rest) = levels.split_at_mut(1);
    rest.iter().for_each(|level| first[0].join(level));
    let (mean, squares) = first[0].flattened(&row[whole..]);
    (mean, squares / T::of(row.len() as f64))
}
