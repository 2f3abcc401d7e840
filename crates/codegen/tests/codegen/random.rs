//! Numbers that are the same in every run.

/// A generator: a linear congruence, its high bits.
pub struct Random(pub u64);

impl Random {
    /// The next number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
    /// A float, now and then a special one.
    pub fn float(&mut self) -> f32 {
        const SPECIAL: [f32; 8] = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40, 3e38, -1.0];
        match self.below(40) {
            0 => SPECIAL[self.below(SPECIAL.len())],
            _ => (self.below(20_001) as f32 - 10_000.0) / 1_700.0,
        }
    }
}
