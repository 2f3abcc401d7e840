//! CPU kernels: the reference that every other backend is compared with.

mod activation;
mod arranging;
mod attention;
mod binary;
pub mod bundle;
mod convolution;
mod copy;
pub mod dense;
mod distance;
pub mod elementwise;
mod embedding;
mod factory;
mod gathering;
pub mod interpret;
mod linalg;
mod loss;
mod matrix;
mod nll;
mod normalization;
mod patches;
mod pooling;
mod random;
mod reduce;
mod sampling;
mod selecting;
mod softmax;
mod sorting;
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
    gathering::register(table);
    sorting::register(table);
    unary::register(table);
    activation::register(table);
    binary::register(table);
    factory::register(table);
    copy::register(table);
    embedding::register(table);
    normalization::register(table);
    sampling::register(table);
    linalg::register(table);
    patches::register(table);
    attention::register(table);
    pooling::register(table);
    convolution::register(table);
    distance::register(table);
    reduce::register(table);
    random::register(table);
}
