//! CPU kernels: the reference that every other backend is compared with.

mod arranging;
pub mod bundle;
pub mod dense;
pub mod interpret;
mod loss;
mod matrix;
mod nll;
mod softmax;

use crate::dispatch::KernelTable;

/// Registers every kernel.
pub fn register(table: &mut KernelTable) {
    matrix::register(table);
    softmax::register(table);
    loss::register(table);
    nll::register(table);
    arranging::register(table);
}
