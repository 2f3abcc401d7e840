//! The browser's side: workers that the page talks to.
//!
//! `crates/page` makes three modules of this crate, each for workers of its own: the interpreter (feature `python`), whose module also
//! serves the worker that makes exports, the GPU (feature `gpu`), and what reads logs (feature `reader`). The page starts a worker with its module and one call of
//! `serve_...`; everything else is messages (`report::protocol`, of which the page's TypeScript types are generated). Absent values cross
//! as `null`, maps as objects, bytes as `Uint8Array`.

#[cfg(feature = "python")]
pub mod export;
#[cfg(feature = "gpu")]
pub mod gpu;
#[cfg(feature = "python")]
pub mod interpreter;
#[cfg(feature = "python")]
mod minimize;
#[cfg(feature = "reader")]
pub mod reader;
mod scope;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;

/// Said where one object would be larger than any in this memory can be: Python's own error has no words.
const TOO_LARGE: &str = "MemoryError: a single object of more than 2 GiB, which WebAssembly has no memory for";

/// Makes panics readable in the browser's console, and has the page told. A panic is a bug, and ends the instance.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|panic| {
        console_error_panic_hook::hook(panic);
        // What no allocation can hold, Rust does not ask the allocator for.
        let is_memory = panic.payload_as_str().is_some_and(|words| words == "capacity overflow");
        failed(if is_memory { TOO_LARGE.to_owned() } else { panic.to_string() });
    }));
    // Nothing catches it: the memory that the browser gives is used up.
    #[cfg(feature = "python")]
    crate::python::on_failed_allocation(|bytes| failed(format!("RuntimeError: {}", crate::tensor::not_enough_memory(bytes as u128))));
}

/// Tells the page that this instance is of no more use. Of every worker's messages this one has the same form.
fn failed(message: String) {
    scope::post(&crate::report::protocol::FromExport::Failed { message });
}

/// `value` as a plain JavaScript object.
///
/// # Errors
/// Where it has no form in JavaScript.
pub fn to_js(value: &impl Serialize) -> Result<JsValue, String> {
    let serializer = serde_wasm_bindgen::Serializer::json_compatible().serialize_bytes_as_arrays(false);
    value.serialize(&serializer).map_err(|error| error.to_string())
}

/// A message of the page's.
///
/// # Errors
/// Where it is none.
pub fn from_js<M: DeserializeOwned>(message: JsValue) -> Result<M, String> {
    serde_wasm_bindgen::from_value(message).map_err(|error| format!("a message that cannot be read: {error}"))
}
