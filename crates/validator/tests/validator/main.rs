//! The decision procedure: formulas beside what is said of them.

mod by_hand;
mod environments;
mod guard_sets;
