//! numpy's bit generators and the samplers that need no table; its order of summation.

use std::ops::AddAssign;

use crate::python::native::random::Twister;

/// PCG64: a linear congruential generator of 128 bits with a permuted output (XSL-RR).
#[derive(Debug)]
pub(super) struct Pcg {
    state: u128,
    increment: u128,
    /// The upper half of the last draw of 64 bits whose lower half was asked for, and whether it is still to come.
    half: (bool, u32),
}

impl Pcg {
    // Source: O'Neill
    const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(Self::MULTIPLIER).wrapping_add(self.increment);
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }
}

/// A bit generator and what it keeps between draws.
#[derive(Debug)]
pub(super) enum Source {
    /// MT19937, with the second of the last pair of normal samples, not yet handed out.
    Twister(Box<Twister>, Option<f64>),
    Pcg(Pcg),
}

/// Bits of a draw of 32 that are left where samples take 8 or 16.
#[derive(Default)]
pub(super) struct Pending {
    bits: u32,
    left: u32,
}

impl Source {
    /// A generator of a state as words; `None` where they are none.
    pub(super) fn new(kind: &str, words: &[u32]) -> Option<Self> {
        match kind {
            "MT19937" => {
                let (state, rest) = words.split_at_checked(Twister::WORDS)?;
                let [index, has_normal, low, high] = <[u32; 4]>::try_from(rest).ok()?;
                let normal = f64::from_bits(u64::from(high) << 32 | u64::from(low));
                let twister = Twister::from_state(state, index as usize)?;
                Some(Source::Twister(Box::new(twister), (has_normal != 0).then_some(normal)))
            }
            _ => {
                let [a, b, c, d, e, f, g, h, has_half, half] = <[u32; 10]>::try_from(words).ok()?;
                let number = |words: [u32; 4]| words.iter().rev().fold(0, |number: u128, word| number << 32 | u128::from(*word));
                Some(Source::Pcg(Pcg { state: number([a, b, c, d]), increment: number([e, f, g, h]), half: (has_half != 0, half) }))
            }
        }
    }

    /// The state as words.
    pub(super) fn words(&self) -> Vec<u32> {
        match self {
            Source::Twister(twister, normal) => {
                let bits = normal.unwrap_or_default().to_bits();
                let (state, index) = twister.state();
                state.iter().copied().chain([index as u32, u32::from(normal.is_some()), bits as u32, (bits >> 32) as u32]).collect()
            }
            Source::Pcg(pcg) => {
                let words = [pcg.state, pcg.increment].into_iter().flat_map(|number| (0..4).map(move |i| (number >> (32 * i)) as u32));
                words.chain([u32::from(pcg.half.0), pcg.half.1]).collect()
            }
        }
    }

    pub(super) fn next32(&mut self) -> u32 {
        match self {
            Source::Twister(twister, _) => twister.next_u32(),
            Source::Pcg(pcg) => {
                if pcg.half.0 {
                    pcg.half.0 = false;
                    return pcg.half.1;
                }
                let drawn = pcg.next();
                pcg.half = (true, (drawn >> 32) as u32);
                drawn as u32
            }
        }
    }

    pub(super) fn next64(&mut self) -> u64 {
        match self {
            Source::Twister(twister, _) => {
                let high = twister.next_u32();
                u64::from(high) << 32 | u64::from(twister.next_u32())
            }
            Source::Pcg(pcg) => pcg.next(),
        }
    }

    /// Uniform in [0, 1), of 53 bits.
    pub(super) fn next_double(&mut self) -> f64 {
        match self {
            Source::Twister(twister, _) => twister.next_f64(),
            Source::Pcg(pcg) => (pcg.next() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0),
        }
    }

    /// Uniform in [0, 1), of 24 bits.
    pub(super) fn next_single(&mut self) -> f32 {
        (self.next32() >> 8) as f32 * (1.0 / 16_777_216.0)
    }

    /// A normal sample by the polar method of Marsaglia: one of a pair, the other kept for the next call.
    pub(super) fn legacy_normal(&mut self) -> f64 {
        if let Source::Twister(_, normal) = self
            && let Some(kept) = normal.take()
        {
            return kept;
        }
        let (first, second, square) = loop {
            let (first, second) = (2.0 * self.next_double() - 1.0, 2.0 * self.next_double() - 1.0);
            let square = first * first + second * second;
            if square < 1.0 && square != 0.0 {
                break (first, second, square);
            }
        };
        let factor = (-2.0 * square.ln() / square).sqrt();
        if let Source::Twister(_, normal) = self {
            *normal = Some(factor * first);
        }
        factor * second
    }

    /// An integer in `0 ..= range` as for a dtype of so many bits: those of 8 and 16 share draws of 32.
    pub(super) fn bounded(&mut self, range: u64, bits: u32, masked: bool, pending: &mut Pending) -> u64 {
        if bits >= 32 {
            return self.interval(range, masked);
        }
        let full = (1 << bits) - 1;
        let range = range as u32;
        let mut draw = || {
            if pending.left == 0 {
                (pending.bits, pending.left) = (self.next32(), 32 / bits);
            } else {
                pending.bits >>= bits;
            }
            pending.left -= 1;
            pending.bits & full
        };
        u64::from(match range {
            0 => 0,
            _ if range == full => draw(),
            _ if masked => {
                let mask = full_below(u64::from(range)) as u32;
                loop {
                    let drawn = draw() & mask;
                    if drawn <= range {
                        break drawn;
                    }
                }
            }
            _ => {
                let count = range + 1;
                let least = (full - range) % count;
                loop {
                    let product = draw() * count;
                    if product & full >= least {
                        break product >> bits;
                    }
                }
            }
        })
    }

    /// An integer in `0 ..= range`, by 32 bits where they suffice.
    pub(super) fn interval(&mut self, range: u64, masked: bool) -> u64 {
        let is_small = range <= u64::from(u32::MAX);
        match range {
            0 => 0,
            u64::MAX => self.next64(),
            _ if range == u64::from(u32::MAX) => u64::from(self.next32()),
            _ if masked => {
                let mask = full_below(range);
                loop {
                    let drawn = mask & if is_small { u64::from(self.next32()) } else { self.next64() };
                    if drawn <= range {
                        return drawn;
                    }
                }
            }
            _ if is_small => {
                let count = range as u32 + 1;
                let least = (u32::MAX - range as u32) % count;
                loop {
                    let product = u64::from(self.next32()) * u64::from(count);
                    if product as u32 >= least {
                        return product >> 32;
                    }
                }
            }
            _ => {
                let count = range + 1;
                let least = (u64::MAX - range) % count;
                loop {
                    let product = u128::from(self.next64()) * u128::from(count);
                    if product as u64 >= least {
                        return (product >> 64) as u64;
                    }
                }
            }
        }
    }
}

/// All ones up to the highest bit of a number.
fn full_below(number: u64) -> u64 {
    u64::MAX.checked_shr(number.leading_zeros()).unwrap_or_default()
}

/// The sum of row-major elements along the axes that are reduced. Axes that lie beside each other and share their fate are one; along the
/// innermost, where it is reduced, elements are summed in pairs; along others, one after the other.
pub(super) fn sum<T: Copy + Default + AddAssign>(data: &[T], sizes: &[usize], reduced: &[bool]) -> Vec<T> {
    let mut axes: Vec<(usize, bool)> = Vec::new();
    for (size, reduced) in sizes.iter().copied().zip(reduced.iter().copied()).filter(|(size, _)| *size != 1) {
        match axes.last_mut() {
            Some(last) if last.1 == reduced => last.0 *= size,
            _ => axes.push((size, reduced)),
        }
    }
    let mut out = vec![T::default(); axes.iter().filter(|axis| !axis.1).map(|axis| axis.0).product()];
    add(&mut out, data, &axes);
    out
}

fn add<T: Copy + Default + AddAssign>(out: &mut [T], data: &[T], axes: &[(usize, bool)]) {
    match axes {
        [] => out.iter_mut().zip(data).for_each(|(out, value)| *out += *value),
        [(_, true)] => out.iter_mut().for_each(|out| *out += pairwise(data)),
        [(_, false)] => out.iter_mut().zip(data).for_each(|(out, value)| *out += *value),
        [(size, reduced), inner @ ..] if *size > 0 && !data.is_empty() => {
            let parts = data.chunks(data.len() / size);
            if *reduced {
                parts.for_each(|part| add(out, part, inner));
            } else if !out.is_empty() {
                let length = out.len() / size;
                out.chunks_mut(length.max(1)).zip(parts).for_each(|(out, part)| add(out, part, inner));
            }
        }
        _ => {}
    }
}

/// The sum of elements by halves, and of at most 128 in eight lanes.
fn pairwise<T: Copy + Default + AddAssign>(data: &[T]) -> T {
    let plus = |mut a: T, b: T| {
        a += b;
        a
    };
    if data.len() < 8 {
        return data.iter().fold(T::default(), |sum, value| plus(sum, *value));
    }
    if data.len() > 128 {
        let half = data.len() / 2;
        let (left, right) = data.split_at(half - half % 8);
        return plus(pairwise(left), pairwise(right));
    }
    let (rows, rest) = data.as_chunks::<8>();
    let lanes = rows.iter().skip(1).fold(rows[0], |mut lanes, row| {
        lanes.iter_mut().zip(row).for_each(|(lane, value)| *lane += *value);
        lanes
    });
    let [a, b, c, d, e, f, g, h] = lanes;
    let sum = plus(plus(plus(a, b), plus(c, d)), plus(plus(e, f), plus(g, h)));
    rest.iter().fold(sum, |sum, value| plus(sum, *value))
}
