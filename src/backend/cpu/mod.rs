//! CPU kernels: the reference that every other backend is compared with.

mod activation;
mod arranging;
mod attention;
mod bessel;
mod binary;
pub mod bundle;
mod complex;
mod convolution;
mod copy;
pub mod dense;
mod distance;
mod distributions;
pub mod elementwise;
mod embedding;
mod factory;
mod fourier;
mod gathering;
pub mod interpret;
mod linalg;
mod loss;
mod lu;
mod matrix;
mod nll;
mod normalization;
mod patches;
mod pooling;
mod prims;
mod random;
mod reduce;
mod sampling;
mod selecting;
mod softmax;
mod sorting;
mod special;
mod special_functions;
pub mod training;
mod unary;
mod weight_norm;

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
    weight_norm::register(table);
    special_functions::register(table);
    activation::register(table);
    binary::register(table);
    factory::register(table);
    copy::register(table);
    embedding::register(table);
    normalization::register(table);
    sampling::register(table);
    linalg::register(table);
    lu::register(table);
    patches::register(table);
    attention::register(table);
    pooling::register(table);
    convolution::register(table);
    distance::register(table);
    complex::register(table);
    reduce::register(table);
    random::register(table);
    distributions::register(table);
    prims::register(table);
}
