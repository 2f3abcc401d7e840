//! CPU kernels: the reference that every other backend is compared with.

mod activation;
mod arranging;
mod binary;
pub mod bundle;
mod copy;
pub mod dense;
pub mod elementwise;
mod factory;
pub mod interpret;
mod loss;
mod matrix;
mod nll;
mod softmax;
mod special;
mod unary;

use crate::dispatch::KernelTable;

/// Registers every kernel.
pub fn register(table: &mut KernelTable) {
    matrix::register(table);
    softmax::register(table);
    loss::register(table);
    nll::register(table);
    arranging::register(table);
    unary::register(table);
    activation::register(table);
    binary::register(table);
    factory::register(table);
    copy::register(table);
}
