//! What every other crate says with: errors as values, and places in the visitor's script.

pub mod error;
pub mod source;
pub mod span;
