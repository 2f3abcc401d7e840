//! Plane rotations as the reference library chooses them: what factorizations that go by rotations have in common.

use super::dense::Real;
use super::linalg::Mat;

/// A cosine and a sine.
#[derive(Clone, Copy)]
pub struct Turn<T> {
    /// The cosine.
    pub cos: T,
    /// The sine.
    pub sin: T,
}

/// The turn that makes `(f, g)` into `(r, 0)`, and `r`, whose cosine is not negative where `f` is the larger, or `always`.
pub fn turn_of<T: Real>(f: T, g: T, always: bool) -> (Turn<T>, T) {
    let (zero, one) = (T::default(), T::of(1.0));
    if g == zero {
        return (Turn { cos: one, sin: zero }, f);
    }
    if f == zero {
        return (Turn { cos: zero, sin: one }, g);
    }
    let r = (f * f + g * g).sqrt();
    let (cos, sin) = (f / r, g / r);
    let flips = cos < zero && (always || f.abs() > g.abs());
    if flips { (Turn { cos: -cos, sin: -sin }, -r) } else { (Turn { cos, sin }, r) }
}

impl<T: Real> Turn<T> {
    /// Turns two rows of a matrix.
    pub fn rows(self, m: &mut Mat<T>, p: usize, q: usize) {
        for k in 0..m.cols {
            let (x, y) = (m.at(p, k), m.at(q, k));
            m.set(p, k, self.cos * x + self.sin * y);
            m.set(q, k, self.cos * y - self.sin * x);
        }
    }
}

/// The magnitude of one number with the sign of another.
pub fn signed<T: Real>(magnitude: T, sign: T) -> T {
    let magnitude = magnitude.abs();
    if sign.wide().is_sign_negative() { -magnitude } else { magnitude }
}

/// The distance from one to the next number below, and the smallest ordinary number.
pub fn limits<T: Real>() -> (T, T) {
    if size_of::<T>() == size_of::<f32>() {
        (T::of(f64::from(f32::EPSILON) / 2.0), T::of(f32::MIN_POSITIVE.into()))
    } else {
        (T::of(f64::EPSILON / 2.0), T::of(f64::MIN_POSITIVE))
    }
}
