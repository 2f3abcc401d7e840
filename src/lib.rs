//! A playground for PyTorch's ahead-of-time autograd.
//!
//! See ARCHITECTURE.md for the way of a program through the crate's rooms.

#[cfg(feature = "python")]
#[macro_use]
extern crate rustpython_vm;

pub mod bundle;
#[cfg(feature = "python")]
pub mod python;
pub mod report;

#[cfg(test)]
mod typescript;
