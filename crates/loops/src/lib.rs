//! Graphs of ATen operators as loops: what every machine that compiles kernels of its own shares.
//!
//! The way of a graph: [`program`] runs its nodes on fake tensors and lowers them (rules in [`lower`]) to loops in the small
//! language of [`language`]; [`split`] takes long sums apart; [`schedule`] fuses the loops and says which of them one kernel runs, [`rows`] how
//! those over the same rows share one; [`beside`] runs independent kernels as one. A
//! writer makes a machine's text of them. Nothing here knows a machine.
//!
//! Invariants. Every failure is a value. An operator without a lowering stays a call of its CPU kernel, with the reason: nothing is
//! silently wrong or silently elsewhere.

pub mod address;
pub mod beside;
pub mod language;
pub mod lower;
pub mod nest;
pub mod program;
pub mod rows;
pub mod schedule;
pub mod split;

pub use lower::{supported, supports};
pub use program::{Argument, argument_of, arguments_of};
