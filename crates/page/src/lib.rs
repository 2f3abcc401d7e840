//! The page's WebAssembly modules: what `aot_playground::web` exports, in one piece with all that it needs.
#![cfg(target_arch = "wasm32")]

pub use aot_playground::web;
