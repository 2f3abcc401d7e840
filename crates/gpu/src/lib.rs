//! The GPU backend: a graph of ATen operators becomes a few WGSL kernels, run through wgpu natively and in the browser.
//!
//! The crate `loops` lowers a graph to loops and fuses them; [`kernel`] and [`wgsl`] write the text; [`plan`] builds pipelines and
//! lays buffers out, [`plans`] keeps what it made, [`run`] runs it, [`training`] runs one again and again; [`device`] knows the
//! device, [`roof`] measures it.
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
#[cfg(feature = "device")]
mod kernel;
#[cfg(feature = "device")]
mod library;
#[cfg(feature = "device")]
mod plan;
#[cfg(feature = "device")]
mod plans;
#[cfg(feature = "device")]
mod roof;
#[cfg(feature = "device")]
mod run;
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
#[cfg(feature = "device")]
pub use kernel::Adapter;
pub use loops::{Argument, argument_of, arguments_of, supported, supports};
#[cfg(feature = "device")]
pub use plan::{FallbackInfo, Input, Outcome, Plan, Resident, compile, compile_for, kernels};
#[cfg(feature = "device")]
pub use roof::roof;
#[cfg(feature = "device")]
pub use training::GpuTrainer;
