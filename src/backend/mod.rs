//! Backends: where graphs and operators are computed. `cpu` is the reference, `gpu` runs compiled graphs through wgpu;
//! `training` makes a step of training one graph for either.

pub mod cpu;
pub mod gpu;
pub mod training;
