//! The GPU backend: a graph of ATen operators becomes a few WGSL kernels, run through wgpu natively and in the browser.
//!
//! The way of a graph: [`program`] runs its nodes on fake tensors and lowers them (rules in [`lower`]) to loops in the small
//! language of [`ir`]; [`schedule`] fuses the loops; [`kernel`] and [`wgsl`] write the text; [`plan`] builds pipelines and
//! lays buffers out, [`run`] runs it, [`training`] runs one again and again; [`device`] knows the device.
//!
//! Invariants. Every failure is a value, the loss of the device too. Nothing blocks in a browser. Numbers are 32 bits wide:
//! int64 inputs that do not fit are refused, float64 is computed in float32, and [`Plan::notes`] says so. An operator
//! without a lowering runs on the CPU, and [`Plan::fallbacks`] says so: nothing is silently wrong or silently elsewhere.
//!
//! Without the feature `device` only the lowerings are built, so that the list of operators can tell which there are.

#[cfg(feature = "device")]
mod bundle;
#[cfg(feature = "device")]
mod device;
#[cfg_attr(not(feature = "device"), allow(dead_code))]
mod ir;
#[cfg(feature = "device")]
mod kernel;
#[cfg(feature = "device")]
mod library;
#[cfg_attr(not(feature = "device"), allow(dead_code))]
mod lower;
#[cfg(feature = "device")]
mod plan;
#[cfg_attr(not(feature = "device"), allow(dead_code))]
mod program;
#[cfg(feature = "device")]
mod run;
#[cfg(feature = "device")]
mod schedule;
#[cfg(feature = "device")]
mod training;
#[cfg(feature = "device")]
mod transfer;
#[cfg(feature = "device")]
mod wgsl;

#[cfg(feature = "device")]
pub use bundle::run_bundle;
#[cfg(feature = "device")]
pub use device::GpuDevice;
pub use lower::{supported, supports};
#[cfg(feature = "device")]
pub use plan::{FallbackInfo, Input, Outcome, Plan, Resident, compile, compile_for, kernels};
pub use program::{Argument, argument_of, arguments_of};
#[cfg(feature = "device")]
pub use training::GpuTrainer;
