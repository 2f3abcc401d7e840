//! Backends: where graphs and operators are computed. `cpu` is the reference, `gpu` runs compiled graphs through wgpu.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;
