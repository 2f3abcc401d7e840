//! The GPU backend: a graph of ATen operators becomes a few WGSL kernels, run through wgpu natively and in the browser.
//!
//! The way of a graph: [`program`] runs its nodes on fake tensors and lowers them (rules in [`lower`]) to loops in the small
//! language of [`ir`]; [`schedule`] fuses the loops; [`kernel`] and [`wgsl`] write the text; [`plan`] builds pipelines, lays
//! buffers out and runs; [`device`] knows the device.
//!
//! Invariants. Every failure is a value, the loss of the device too. Nothing blocks in a browser. Numbers are 32 bits wide:
//! int64 inputs that do not fit are refused, float64 is computed in float32, and [`Plan::notes`] says so. An operator
//! without a lowering runs on the CPU, and [`Plan::fallbacks`] says so: nothing is silently wrong or silently elsewhere.

mod bundle;
mod device;
mod ir;
mod kernel;
mod library;
mod lower;
mod plan;
mod program;
mod schedule;
mod transfer;
mod wgsl;

pub use bundle::run_bundle;
pub use device::GpuDevice;
pub use lower::supported;
pub use plan::{FallbackInfo, Input, Outcome, Plan, Resident, compile, compile_for};
pub use program::{Argument, argument_of, arguments_of};
