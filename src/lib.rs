//! A playground for PyTorch's ahead-of-time autograd.
//!
//! See ARCHITECTURE.md for the way of a program through the crate's rooms.

pub mod bundle;
pub mod report;

#[cfg(test)]
mod typescript;
