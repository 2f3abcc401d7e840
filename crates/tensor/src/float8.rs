//! Floats of 8 bits: `e4m3fn` (4 bits of exponent, 3 of mantissa, no infinities) and `e5m2` (5 and 2, as IEEE 754 would have it).
//!
//! Formats: Micikevicius et al., "FP8 Formats for Deep Learning", 2022. What is too large for `e4m3fn` becomes its largest number, as
//! on PyTorch's CPU.

/// How a format lays out its bits below the sign.
struct Format {
    mantissa: u32,
    bias: i32,
    /// The bits of the largest number.
    largest: u8,
    /// The bits of what is too large.
    overflow: u8,
}

const E4M3FN: Format = Format { mantissa: 3, bias: 7, largest: 0x7e, overflow: 0x7e };
const E5M2: Format = Format { mantissa: 2, bias: 15, largest: 0x7b, overflow: 0x7c };
const NAN: u8 = 0x7f;

impl Format {
    /// The value of bits that are no NaN and no infinity.
    fn value(&self, bits: u8) -> f32 {
        let fraction = f32::from(bits & ((1 << self.mantissa) - 1)) / (1 << self.mantissa) as f32;
        let exponent = i32::from((bits & 0x7f) >> self.mantissa);
        let size = if exponent == 0 { fraction * 2f32.powi(1 - self.bias) } else { (1.0 + fraction) * 2f32.powi(exponent - self.bias) };
        if bits & 0x80 == 0 { size } else { -size }
    }

    /// The nearest number's bits; of two, those of the even one.
    fn nearest(&self, value: f32) -> u8 {
        if value.is_nan() {
            return NAN;
        }
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        // Anything so large is too large.
        let size = f64::from(value.abs()).min(1e9);
        // Numbers of one exponent are this far from each other.
        let smallest = 1 - self.bias;
        let exponent = if size == 0.0 { smallest } else { (size.log2().floor() as i32).max(smallest) };
        let step = 2f64.powi(exponent - self.mantissa as i32);
        let steps = (size / step).round_ties_even();
        let first = if exponent > smallest || steps >= f64::from(1 << self.mantissa) {
            f64::from((exponent + self.bias) << self.mantissa) - f64::from(1 << self.mantissa)
        } else {
            0.0
        };
        let bits = first + steps;
        sign | if bits > f64::from(self.largest) { self.overflow } else { bits as u8 }
    }
}

macro_rules! floats {
    ($($(#[$doc:meta])* $name:ident $format:ident $infinity:expr;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(transparent)]
        pub struct $name(pub u8);

        impl $name {
            /// The nearest number to one.
            pub fn from_f32(value: f32) -> Self {
                $name($format.nearest(value))
            }
            /// The nearest number to one.
            pub fn from_f64(value: f64) -> Self {
                Self::from_f32(value as f32)
            }
            /// Its value.
            pub fn to_f32(self) -> f32 {
                match self.0 & 0x7f {
                    size if $infinity == Some(size) => if self.0 & 0x80 == 0 { f32::INFINITY } else { f32::NEG_INFINITY },
                    size if size > $format.largest => f32::NAN,
                    _ => $format.value(self.0),
                }
            }
            /// Its value.
            pub fn to_f64(self) -> f64 {
                self.to_f32().into()
            }
        }
    )* };
}
floats! {
    /// `torch.float8_e4m3fn`
    F8E4M3FN E4M3FN None::<u8>;
    /// `torch.float8_e5m2`
    F8E5M2 E5M2 Some(0x7c_u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_its_own_nearest() {
        for bits in 0..=u8::MAX {
            let (a, b) = (F8E4M3FN(bits).to_f32(), F8E5M2(bits).to_f32());
            assert!(a.is_nan() || F8E4M3FN::from_f32(a) == F8E4M3FN(bits), "e4m3fn {bits:#x}: {a}");
            assert!(b.is_nan() || F8E5M2::from_f32(b) == F8E5M2(bits), "e5m2 {bits:#x}: {b}");
        }
    }

    // As PyTorch 2.15 casts them on the CPU.
    #[test]
    fn numbers_in_between() {
        let small = 1.0 / 1024.0;
        let e4m3fn =
            [456.0, 500.0, f32::INFINITY, -500.0, small, small * 1.01, 3.0 * small, 5.0 * small, -0.0].map(|v| F8E4M3FN::from_f32(v).0);
        assert_eq!(e4m3fn, [126, 126, 126, 254, 0, 1, 2, 2, 128]);
        let e5m2 = [480.0, 500.0, 61439.0, 61440.0, 1e9, -1e9, 3.0 / 1024.0, 2f32.powi(-17)].map(|v| F8E5M2::from_f32(v).0);
        assert_eq!(e5m2, [96, 96, 123, 124, 124, 252, 26, 0]);
        assert!(F8E4M3FN::from_f32(f32::NAN).to_f32().is_nan() && F8E5M2::from_f32(f32::NAN).to_f32().is_nan());
    }
}
