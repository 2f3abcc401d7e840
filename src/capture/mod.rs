//! Capture: what `torch.compile` does around a region.
//!
//! The Python body of a compiled function runs on every call, on lazy tensors: operators are recorded and answered with fake
//! tensors. When values are needed (return, or a break), the recorded region is compiled, or served by a cache entry whose
//! guards hold, and run; the lazy tensors that are still alive get its results. So Python's side effects are real on every
//! call, and a missing guard can never serve a stale graph: the region as recorded must equal that of the entry.

mod annotation;
mod attribute;
mod body;
mod cache;
mod checks;
mod compare;
pub mod constraints;
mod failure;
mod given;
mod layer;
mod misses;
mod numbers;
mod recorder;
mod region;
mod split;
mod state;
mod stored;
mod symbols;
mod unsupported;
pub mod what_if;
mod written;

use annotation::annotation;
pub use annotation::set_annotation;
pub use attribute::Attribute;
pub use body::{Body, Cut, Mark, Part};
pub use cache::{Cache, Entry, Lookup, Number, Root, Runner, Unmet, strip_locals};
pub use failure::from_user_code;
pub use layer::CaptureLayer;
pub use misses::Holder;
pub use recorder::{Recorder, Surroundings};
pub use region::{Region, RegionInput, computes};
pub use split::{Rest, Section};
pub use state::{reset_state, set_state};
pub use symbols::{Dim, DimMark, InputSource, Place, SeenSizes, Symbols, Treatment, Witness, value_of};
pub use unsupported::Unsupported;
pub use written::{Fate, OpenCall, Variable};
