//! Python files inside the binary, compiled by `build.rs`: the hand-picked standard library and our `torch` package.
//! A module is decompressed and run when it is first imported.

use rustpython_vm::frozen::{FrozenLib, FrozenModule};

static STDLIB: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stdlib.frozen"));
static TORCH: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/torch.frozen"));

/// Every frozen module with its dotted name.
pub(super) fn modules() -> Vec<(&'static str, FrozenModule)> {
    [STDLIB, TORCH].into_iter().flat_map(|archive| FrozenLib::<[u8]>::from_ref(archive).decode()).collect()
}
