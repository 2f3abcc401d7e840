//! CPU kernels: the reference that every other backend is compared with.

mod activation;
mod antialias;
mod arranging;
mod attention;
mod bessel;
mod bidiagonal;
mod binary;
pub mod bundle;
mod cascade;
mod complex;
mod convolution;
mod copy;
mod ctc;
pub mod dense;
mod distance;
mod distributions;
mod drawn;
mod eigen;
pub mod elementwise;
mod embedding;
mod factory;
mod fake_quantize;
mod foreach;
mod fourier;
mod gathering;
mod gelu;
mod grouped;
pub mod interpret;
mod ldl;
mod library;
mod linalg;
mod loss;
mod lu;
mod matrix;
mod native_attention;
mod nll;
mod normalization;
mod normalization_backward;
mod paired;
mod patches;
mod pooling;
mod prims;
mod product;
mod random;
mod reduce;
mod reflectors;
mod root;
mod rotations;
mod sampling;
mod segments;
mod selecting;
mod softmax;
mod sorting;
mod special;
mod special_functions;
pub mod step;
pub mod training;
mod triangular;
mod tridiagonal;
mod unary;
mod vectorized;
mod volume;
mod weight_norm;
pub mod widest;

use dispatch::KernelTable;

/// Makes every operator and its kernel known to dispatch; needed once, before the first operator is called.
pub fn install() {
    operators::install();
    dispatch::install_kernels(register);
}

/// Registers every kernel.
fn register(table: &mut KernelTable) {
    matrix::register(table);
    softmax::register(table);
    loss::register(table);
    native_attention::register(table);
    nll::register(table);
    ctc::register(table);
    arranging::register(table);
    gathering::register(table);
    sorting::register(table);
    unary::register(table);
    weight_norm::register(table);
    fake_quantize::register(table);
    segments::register(table);
    antialias::register(table);
    special_functions::register(table);
    activation::register(table);
    gelu::register(table);
    binary::register(table);
    factory::register(table);
    copy::register(table);
    embedding::register(table);
    normalization::register(table);
    normalization_backward::register(table);
    sampling::register(table);
    volume::register(table);
    linalg::register(table);
    ldl::register(table);
    lu::register(table);
    reflectors::register(table);
    eigen::register(table);
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
    foreach::register(table);
}
