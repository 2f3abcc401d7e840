//! PyTorch's CPU random generator: a Mersenne Twister, with its cached normal samples and its saved form.
//!
//! Draws come out bit for bit as in PyTorch. How tensors are filled from draws is the kernels' affair.

use super::{Dtype, Tensor};
use diagnostics::error::{Error, Result};
use std::cell::RefCell;
use std::f64::consts::PI;
use std::rc::Rc;

// Source: Matsumoto and Nishimura, MT19937.
const N: usize = 624;
const M: usize = 397;
/// The seed of a generator that was never seeded.
pub const DEFAULT_SEED: u64 = 67280421310721;
/// Bytes of a saved state.
pub const STATE_BYTES: usize = 5056;

#[derive(Clone)]
struct State {
    seed: u64,
    left: u32,
    next: u32,
    words: [u32; N],
    /// The second of the last pair of normal samples, not yet handed out.
    normal: Option<f64>,
}

impl State {
    fn new(seed: u64) -> State {
        let mut words = [0u32; N];
        words[0] = seed as u32;
        for j in 1..N {
            let last = words[j - 1];
            words[j] = 1812433253u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(j as u32);
        }
        State { seed, left: 1, next: 0, words, normal: None }
    }

    fn refill(&mut self) {
        self.left = N as u32;
        self.next = 0;
        for j in 0..N {
            let mixed = (self.words[j] & 0x8000_0000) | (self.words[(j + 1) % N] & 0x7fff_ffff);
            let twist = if mixed & 1 == 1 { 0x9908_b0df } else { 0 };
            self.words[j] = self.words[(j + M) % N] ^ (mixed >> 1) ^ twist;
        }
    }

    fn draw(&mut self) -> u32 {
        self.left -= 1;
        if self.left == 0 {
            self.refill();
        }
        let mut y = self.words[self.next as usize];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }
}

/// `torch.Generator` on the CPU.
pub struct Generator(RefCell<State>);

impl Default for Generator {
    fn default() -> Self {
        Generator::new(DEFAULT_SEED)
    }
}

impl Generator {
    /// A generator of the given seed.
    pub fn new(seed: u64) -> Self {
        Generator(RefCell::new(State::new(seed)))
    }

    /// Starts over from a seed.
    pub fn manual_seed(&self, seed: u64) {
        *self.0.borrow_mut() = State::new(seed);
    }

    /// The seed it started from.
    pub fn initial_seed(&self) -> u64 {
        self.0.borrow().seed
    }

    /// 32 random bits.
    pub fn random(&self) -> u32 {
        self.0.borrow_mut().draw()
    }

    /// 64 random bits.
    pub fn random64(&self) -> u64 {
        let mut state = self.0.borrow_mut();
        let high = state.draw();
        u64::from(high) << 32 | u64::from(state.draw())
    }

    /// A uniform float32 in [0, 1), of 24 random bits.
    pub fn uniform32(&self) -> f32 {
        (self.random() & 0x00ff_ffff) as f32 * (1.0 / 16_777_216.0)
    }

    /// A uniform float64 in [0, 1), of 53 random bits.
    pub fn uniform64(&self) -> f64 {
        (self.random64() & ((1 << 53) - 1)) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// A normal sample: one of a pair, the other kept for the next call.
    pub fn normal64(&self) -> f64 {
        let kept = self.0.borrow_mut().normal.take();
        if let Some(kept) = kept {
            return kept;
        }
        let (u1, u2) = (self.uniform64(), self.uniform64());
        let radius = (-2.0 * (-u2).ln_1p()).sqrt();
        let angle = 2.0 * PI * u1;
        self.0.borrow_mut().normal = Some(radius * angle.sin());
        radius * angle.cos()
    }

    /// An integer in [base, base + range).
    pub fn from_to(&self, range: u64, base: i64) -> i64 {
        let bits = if range >= 1 << 28 { self.random64() } else { u64::from(self.random()) };
        if range == 0 { base } else { ((bits % range) as i64).wrapping_add(base) }
    }

    /// `torch.get_rng_state()`: the state as a tensor of bytes.
    pub fn get_state(&self) -> Result<Tensor> {
        Tensor::from_bytes(&self.state_bytes(), &[STATE_BYTES as i64], Dtype::UInt8)
    }

    /// `torch.set_rng_state(state)`
    pub fn set_state(&self, state: &Tensor) -> Result<()> {
        if state.dtype() != Dtype::UInt8 {
            return Err(Error::type_error("RNG state must be a torch.ByteTensor"));
        }
        let g = state.concrete()?;
        if g.numel() != STATE_BYTES || !g.is_contiguous() {
            return Err(Error::runtime("RNG state is wrong size"));
        }
        let bytes = state.with_slice::<u8, _>(|d| d[g.offset..g.offset + STATE_BYTES].to_vec())?;
        self.restore(&bytes)
    }

    /// The state in PyTorch's saved form.
    pub fn state_bytes(&self) -> Vec<u8> {
        let state = self.0.borrow();
        let mut out = Vec::with_capacity(STATE_BYTES);
        out.extend(state.seed.to_le_bytes());
        out.extend(state.left.to_le_bytes());
        out.extend(1u32.to_le_bytes());
        out.extend(u64::from(state.next).to_le_bytes());
        state.words.iter().for_each(|w| out.extend(u64::from(*w).to_le_bytes()));
        out.extend(0f64.to_le_bytes());
        out.extend(state.normal.unwrap_or(0.0).to_le_bytes());
        out.extend(0f64.to_le_bytes());
        out.extend(u32::from(state.normal.is_some()).to_le_bytes());
        out.resize(STATE_BYTES, 0);
        out
    }

    /// Resumes from the saved form.
    pub fn restore(&self, bytes: &[u8]) -> Result<()> {
        if bytes.len() != STATE_BYTES {
            return Err(Error::runtime("RNG state is wrong size"));
        }
        let eight = |at: usize| -> [u8; 8] { std::array::from_fn(|i| bytes[at + i]) };
        let four = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let mut state = State::new(u64::from_le_bytes(eight(0)));
        (state.left, state.next) = (four(8), u64::from_le_bytes(eight(16)) as u32);
        if four(12) != 1 || state.left == 0 || state.left as usize > N || state.next as usize > N {
            return Err(Error::runtime("Invalid mt19937 state"));
        }
        for (i, word) in state.words.iter_mut().enumerate() {
            *word = u64::from_le_bytes(eight(24 + 8 * i)) as u32;
        }
        let after = 24 + 8 * N;
        state.normal = (four(after + 24) != 0).then(|| f64::from_le_bytes(eight(after + 8)));
        *self.0.borrow_mut() = state;
        Ok(())
    }
}

thread_local! {
    static DEFAULT: Rc<Generator> = Rc::new(Generator::default());
}

/// The generator that operators draw from where none is given (`torch.default_generator`).
pub fn default_generator() -> Rc<Generator> {
    DEFAULT.with(Rc::clone)
}
