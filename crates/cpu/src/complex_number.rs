//! Complex numbers in pairs of f64, their functions, and what algorithms ask of them and of real numbers alike.

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct C {
    /// Its real part.
    pub re: f64,
    /// Its imaginary part.
    pub im: f64,
}

/// The number of these parts.
pub fn c(re: f64, im: f64) -> C {
    C { re, im }
}

impl std::ops::Add for C {
    type Output = C;
    fn add(self, o: C) -> C {
        c(self.re + o.re, self.im + o.im)
    }
}
impl std::ops::Sub for C {
    type Output = C;
    fn sub(self, o: C) -> C {
        c(self.re - o.re, self.im - o.im)
    }
}
impl std::ops::Mul for C {
    type Output = C;
    fn mul(self, o: C) -> C {
        c(self.re * o.re - self.im * o.im, self.re * o.im + self.im * o.re)
    }
}
impl std::ops::Div for C {
    type Output = C;
    fn div(self, o: C) -> C {
        let scale = o.re.abs().max(o.im.abs());
        if scale == 0.0 {
            return c(self.re / scale, self.im / scale);
        }
        if !scale.is_finite() {
            let n = o.re * o.re + o.im * o.im;
            return c((self.re * o.re + self.im * o.im) / n, (self.im * o.re - self.re * o.im) / n);
        }
        let (a, b) = (o.re / scale, o.im / scale);
        let n = (a * a + b * b) * scale;
        c((self.re * a + self.im * b) / n, (self.im * a - self.re * b) / n)
    }
}

impl C {
    /// `exp(i angle) * abs`
    pub fn polar(abs: f64, angle: f64) -> C {
        c(abs * angle.cos(), abs * angle.sin())
    }
    /// Its distance from zero.
    pub fn abs(self) -> f64 {
        self.re.hypot(self.im)
    }
    /// Its angle.
    pub fn angle(self) -> f64 {
        self.im.atan2(self.re)
    }
    /// Both parts, times a number.
    pub fn scale(self, by: f64) -> C {
        c(self.re * by, self.im * by)
    }
    /// The exponential.
    pub fn exp(self) -> C {
        if self.im == 0.0 { c(self.re.exp(), self.im) } else { C::polar(self.re.exp(), self.im) }
    }
    /// The natural logarithm.
    pub fn ln(self) -> C {
        c(self.abs().ln(), self.angle())
    }
    /// The square root with a real part that is not negative.
    pub fn sqrt(self) -> C {
        if self == C::default() {
            return self;
        }
        let half = ((self.abs() + self.re.abs()) / 2.0).sqrt();
        let other = self.im / (2.0 * half);
        if self.re >= 0.0 { c(half, other) } else { c(other.abs(), half.copysign(self.im)) }
    }
    /// The hyperbolic sine.
    pub fn sinh(self) -> C {
        c(self.re.sinh() * self.im.cos(), self.re.cosh() * self.im.sin())
    }
    /// The hyperbolic cosine.
    pub fn cosh(self) -> C {
        c(self.re.cosh() * self.im.cos(), self.re.sinh() * self.im.sin())
    }
    /// The sine.
    pub fn sin(self) -> C {
        c(self.re.sin() * self.im.cosh(), self.re.cos() * self.im.sinh())
    }
    /// The cosine.
    pub fn cos(self) -> C {
        c(self.re.cos() * self.im.cosh(), -self.re.sin() * self.im.sinh())
    }
    /// The hyperbolic tangent.
    pub fn tanh(self) -> C {
        if self.re.abs() > 20.0 {
            return c(1f64.copysign(self.re), 0.0);
        }
        let n = self.re.sinh().powi(2) + self.im.cos().powi(2);
        c(self.re.sinh() * self.re.cosh() / n, self.im.sin() * self.im.cos() / n)
    }
    /// A power.
    pub fn pow(self, o: C) -> C {
        if o == C::default() {
            return c(1.0, 0.0);
        }
        // Small whole exponents are products.
        if o.im == 0.0 && o.re.fract() == 0.0 && o.re.abs() <= 16.0 {
            let power = (0..o.re.abs() as i32).fold(c(1.0, 0.0), |acc, _| acc * self);
            return if o.re < 0.0 { c(1.0, 0.0) / power } else { power };
        }
        if self == C::default() { C::default() } else { (self.ln() * o).exp() }
    }
}

/// One.
pub const ONE: C = C { re: 1.0, im: 0.0 };

impl std::ops::Neg for C {
    type Output = C;
    fn neg(self) -> C {
        c(-self.re, -self.im)
    }
}
impl std::ops::AddAssign for C {
    fn add_assign(&mut self, o: C) {
        *self = *self + o;
    }
}
impl std::iter::Sum for C {
    fn sum<I: Iterator<Item = C>>(values: I) -> C {
        values.fold(C::default(), |a, b| a + b)
    }
}

/// Inverse functions: real and imaginary parts each of their own formula, of roots that stay on their sides of the branch cuts.
impl C {
    /// Its conjugate.
    pub fn conj(self) -> C {
        c(self.re, -self.im)
    }
    /// Itself times the imaginary unit.
    pub fn turned(self) -> C {
        c(-self.im, self.re)
    }
    /// The square of its distance from zero.
    pub fn square(self) -> f64 {
        self.re * self.re + self.im * self.im
    }
    /// Whether a part is NaN.
    pub fn is_nan(self) -> bool {
        self.re.is_nan() || self.im.is_nan()
    }
    /// `log(1 + z)`
    pub fn ln_1p(self) -> C {
        let grown = self.re * (2.0 + self.re) + self.im * self.im;
        // Near zero the square of the distance is one and a little more.
        if grown.abs() < 0.5 { c(grown.ln_1p() / 2.0, self.im.atan2(1.0 + self.re)) } else { (self + ONE).ln() }
    }
    /// The roots of one less and one more.
    fn roots(self) -> (C, C) {
        (c(1.0 - self.re, -self.im).sqrt(), c(1.0 + self.re, self.im).sqrt())
    }
    /// The arc sine.
    pub fn asin(self) -> C {
        let (less, more) = self.roots();
        c(self.re.atan2((less * more).re), (less.conj() * more).im.asinh())
    }
    /// The arc cosine.
    pub fn acos(self) -> C {
        let (less, more) = self.roots();
        c(2.0 * less.re.atan2(more.re), (more.conj() * less).im.asinh())
    }
    /// The arc tangent.
    pub fn atan(self) -> C {
        let z = self.turned().atanh();
        c(z.im, -z.re)
    }
    /// The inverse hyperbolic sine.
    pub fn asinh(self) -> C {
        let z = self.turned().asin();
        c(z.im, -z.re)
    }
    /// The inverse hyperbolic cosine.
    pub fn acosh(self) -> C {
        let (less, more) = (c(self.re - 1.0, self.im).sqrt(), c(self.re + 1.0, self.im).sqrt());
        c((less.conj() * more).re.asinh(), 2.0 * less.im.atan2(more.re))
    }
    /// The inverse hyperbolic tangent.
    pub fn atanh(self) -> C {
        let (x, y) = (self.re, self.im);
        let across = (1.0 - x) * (1.0 + x) - y * y;
        c((4.0 * x / ((1.0 - x) * (1.0 - x) + y * y)).ln_1p() / 4.0, (2.0 * y).atan2(across) / 2.0)
    }
    /// The logistic function.
    pub fn sigmoid(self) -> C {
        ONE / (ONE + (-self).exp())
    }
    /// `log(exp(z) + exp(o))`, by the larger of both.
    pub fn log_add_exp(self, o: C) -> C {
        if self.is_nan() || o.is_nan() {
            return c(f64::NAN, f64::NAN);
        }
        let (small, large) = if self.re < o.re { (self, o) } else { (o, self) };
        if small.re == large.re && !large.re.is_finite() {
            return if large.re < 0.0 { small } else { (small.exp() + large.exp()).ln() };
        }
        let apart = small - large;
        if apart.re == f64::NEG_INFINITY { large } else { apart.exp().ln_1p() + large }
    }
    /// `sin(pi z) / (pi z)`
    pub fn sinc(self) -> C {
        let z = self.scale(std::f64::consts::PI);
        if z == C::default() { ONE } else { z.sin() / z }
    }
}

/// Real numbers and complex ones, for what is computed alike of both.
pub trait Number:
    Copy + Default + PartialEq + std::ops::Add<Output = Self> + std::ops::Sub<Output = Self> + std::ops::Mul<Output = Self> + std::iter::Sum
{
    /// A real number as one of these.
    fn number(v: f64) -> Self;
    /// Its conjugate.
    fn conjugate(self) -> Self;
    /// Its distance from zero.
    fn size(self) -> f64;
}

impl Number for f64 {
    fn number(v: f64) -> f64 {
        v
    }
    fn conjugate(self) -> f64 {
        self
    }
    fn size(self) -> f64 {
        self.abs()
    }
}

impl Number for C {
    fn number(v: f64) -> C {
        c(v, 0.0)
    }
    fn conjugate(self) -> C {
        self.conj()
    }
    fn size(self) -> f64 {
        self.abs()
    }
}
