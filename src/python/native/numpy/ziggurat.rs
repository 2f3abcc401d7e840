//! Normal and exponential samples by the ziggurat method of Marsaglia and Tsang, with 256 layers.
//!
//! The tables are the caller's: of each layer its width as an integer, its scale and its density.

use super::generator::Source;

/// Where the tail of the normal distribution begins.
const NORMAL_TAIL: f64 = 3.654_152_885_361_009;
/// Where the tail of the exponential distribution begins.
const EXPONENTIAL_TAIL: f64 = 7.697_117_470_131_05;

/// The layers of one distribution.
pub(super) struct Layers {
    width: [u64; 256],
    scale: [f64; 256],
    density: [f64; 256],
}

impl Layers {
    /// Of three tables of 256 little-endian words of 64 bits.
    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let word = |at: usize| u64::from_le_bytes(words[at]);
        (words.len() == 3 * 256 && rest.is_empty()).then(|| Layers {
            width: std::array::from_fn(word),
            scale: std::array::from_fn(|i| f64::from_bits(word(256 + i))),
            density: std::array::from_fn(|i| f64::from_bits(word(512 + i))),
        })
    }
}

/// A normal sample.
pub(super) fn normal(source: &mut Source, layers: &Layers) -> f64 {
    loop {
        let drawn = source.next64();
        let (layer, is_negative, bits) = ((drawn & 0xff) as usize, drawn >> 8 & 1 == 1, drawn >> 9 & 0x000f_ffff_ffff_ffff);
        let x = bits as f64 * layers.scale[layer];
        let x = if is_negative { -x } else { x };
        if bits < layers.width[layer] {
            return x;
        }
        if layer == 0 {
            loop {
                let beyond = -(1.0 / NORMAL_TAIL) * (-source.next_double()).ln_1p();
                let height = -(-source.next_double()).ln_1p();
                if height + height > beyond * beyond {
                    return if bits >> 8 & 1 == 1 { -(NORMAL_TAIL + beyond) } else { NORMAL_TAIL + beyond };
                }
            }
        }
        let (above, below) = (layers.density[layer - 1], layers.density[layer]);
        if (above - below) * source.next_double() + below < (-0.5 * x * x).exp() {
            return x;
        }
    }
}

/// The same in float32, of 32 bits. Its tables are those of float64, rounded.
pub(super) fn single_normal(source: &mut Source, layers: &Layers) -> f32 {
    /// 2^29: what the 23 bits of a sample are scaled by beside 52.
    const RATIO: u64 = 1 << 29;
    let tail = NORMAL_TAIL as f32;
    loop {
        let drawn = source.next32();
        let (layer, is_negative, bits) = ((drawn & 0xff) as usize, drawn >> 8 & 1 == 1, drawn >> 9 & 0x007f_ffff);
        let x = bits as f32 * (layers.scale[layer] * RATIO as f64) as f32;
        let x = if is_negative { -x } else { x };
        if u64::from(bits) < (layers.width[layer] + RATIO / 2) / RATIO {
            return x;
        }
        if layer == 0 {
            loop {
                let beyond = -((1.0 / NORMAL_TAIL) as f32) * (-source.next_single()).ln_1p();
                let height = -(-source.next_single()).ln_1p();
                if height + height > beyond * beyond {
                    return if bits >> 8 & 1 == 1 { -(tail + beyond) } else { tail + beyond };
                }
            }
        }
        let (above, below) = (layers.density[layer - 1] as f32, layers.density[layer] as f32);
        if f64::from((above - below) * source.next_single() + below) < (-0.5 * f64::from(x) * f64::from(x)).exp() {
            return x;
        }
    }
}

/// An exponential sample.
pub(super) fn exponential(source: &mut Source, layers: &Layers) -> f64 {
    loop {
        let drawn = source.next64() >> 3;
        let (layer, bits) = ((drawn & 0xff) as usize, drawn >> 8);
        let x = bits as f64 * layers.scale[layer];
        if bits < layers.width[layer] {
            return x;
        }
        if layer == 0 {
            return EXPONENTIAL_TAIL - (-source.next_double()).ln_1p();
        }
        let (above, below) = (layers.density[layer - 1], layers.density[layer]);
        if (above - below) * source.next_double() + below < (-x).exp() {
            return x;
        }
    }
}
