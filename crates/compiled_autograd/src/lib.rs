//! Compiled autograd: `loss.backward()` as one graph, which a compiler is given.
//!
//! - [`tape`]: walks the tape as PyTorch does, and lifts what nodes keep: inputs, sizes, hooks, and a key per node
//! - [`cache`]: which tapes are alike (PyTorch's shadow graph), and which sizes have changed
//! - [`capture`]: a call per node becomes a graph, `CompiledAutogradN`
//! - [`reorder`]: puts accumulation and hooks where the engine would run them
//! - [`functions`]: what the graph calls besides derivatives
//!
//! The counterpart is `torch/_dynamo/compiled_autograd.py` with `torch/csrc/dynamo/python_compiled_autograd.cpp`.

pub mod cache;
pub mod capture;
pub mod functions;
mod order;
mod reorder;
pub mod tape;
