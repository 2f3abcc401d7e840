//! Python files compiled by `build.rs`: the hand-picked standard library and our `torch` package. A module is decompressed and
//! run when it is first imported.
//!
//! What few scripts import (`later.txt`) the page does not carry: a stub of a few bytes takes its place, and the archive
//! that holds the modules themselves is asked for when the first of them is imported. Natively all of it is in the binary.

use rustpython_vm::frozen::{FrozenLib, FrozenModule};

static CARRIED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/carried.frozen"));
#[cfg(not(target_arch = "wasm32"))]
static LATER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/later.frozen"));
#[cfg(target_arch = "wasm32")]
static LATER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stubs.frozen"));

/// Every frozen module with its dotted name.
pub(super) fn modules() -> Vec<(&'static str, FrozenModule)> {
    [CARRIED, LATER].into_iter().flat_map(decoded).collect()
}

fn decoded(archive: &'static [u8]) -> impl Iterator<Item = (&'static str, FrozenModule)> {
    FrozenLib::<[u8]>::from_ref(archive).decode()
}

#[cfg(target_arch = "wasm32")]
pub(super) use fetched::fetched;
#[cfg(target_arch = "wasm32")]
pub use fetched::set_library;

/// The archive of what is imported later, in a browser.
#[cfg(target_arch = "wasm32")]
mod fetched {
    use std::cell::{OnceCell, RefCell};
    use std::collections::HashMap;

    use rustpython_vm::frozen::FrozenModule;

    /// A custom section of the module, not of its memory: the page's build moves it into a file of its own.
    #[expect(dead_code, reason = "what reads it is outside of the module")]
    #[unsafe(link_section = "library")]
    static LIBRARY: [u8; include_bytes!(concat!(env!("OUT_DIR"), "/later.frozen")).len()] =
        *include_bytes!(concat!(env!("OUT_DIR"), "/later.frozen"));

    type Source = Box<dyn Fn() -> Result<Vec<u8>, String>>;

    thread_local! {
        static SOURCE: RefCell<Option<Source>> = const { RefCell::new(None) };
        static MODULES: OnceCell<HashMap<&'static str, FrozenModule>> = const { OnceCell::new() };
    }

    /// Says where the archive comes from: bytes, or a sentence that says why they are not to be had. It is asked at the first
    /// import of a module that is not carried, and again where it failed.
    pub fn set_library(source: Source) {
        SOURCE.set(Some(source));
    }

    /// A module of the archive.
    ///
    /// # Errors
    ///
    /// A sentence that says why there is none.
    pub fn fetched(name: &str) -> Result<FrozenModule, String> {
        MODULES.with(|modules| {
            if modules.get().is_none() {
                let archive =
                    SOURCE.with_borrow(|source| source.as_ref().map_or_else(|| Err("nothing gives it".to_owned()), |source| source()))?;
                // Kept for the life of the worker, as what is in the binary is.
                let _ = modules.set(super::decoded(archive.leak()).collect());
            }
            modules.get().and_then(|modules| modules.get(name)).copied().ok_or_else(|| format!("it holds no {name}"))
        })
    }
}
