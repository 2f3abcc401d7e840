//! The page's WebAssembly modules: what `aot_playground::web` exports, in one piece with all that it needs.
#![cfg(target_arch = "wasm32")]

pub use aot_playground::web;

/// Has the page told where memory is used up.
#[cfg(feature = "python")]
#[global_allocator]
static ALLOCATOR: aot_playground::python::Counted<std::alloc::System> = aot_playground::python::Counted(std::alloc::System);
