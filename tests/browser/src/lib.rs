//! What must hold of the WebAssembly modules in a browser, in a page and in a dedicated worker alike: `tests/` says where.
#![cfg(target_arch = "wasm32")]

#[cfg(feature = "gpu")]
pub mod gpu;
#[cfg(feature = "python")]
pub mod interpreter;
#[cfg(feature = "reader")]
pub mod reader;
