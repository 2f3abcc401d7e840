//! The order of the cases is another in every run, so that none depends on what ran before it.

use libtest_mimic::Trial;
use std::time::{SystemTime, UNIX_EPOCH};

/// Shuffles by `SEED`, or by the clock; prints the seed.
pub fn shuffle(trials: &mut [Trial]) {
    let given = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let seed: u64 = given.unwrap_or_else(clock);
    println!("SEED={seed}");
    // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    for i in (1..trials.len()).rev() {
        trials.swap(i, (next() % (i as u64 + 1)) as usize);
    }
}
