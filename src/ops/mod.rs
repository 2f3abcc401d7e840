//! The operator catalogue: a file per family, an entry per overload. No state.
//!
//! Adding an operator touches its entry here and its lowerings in the backends, nothing else.

pub mod activation;
pub mod advanced;
pub mod attention;
pub mod binary;
mod clamp_tensor;
pub mod common;
pub mod compare;
pub mod convolution;
pub mod copy;
pub mod distance;
pub mod einsum;
pub mod embedding;
pub mod factors;
pub mod factory;
pub mod gathering;
pub mod geometry;
pub mod grids;
pub mod indexing;
pub mod joining;
pub mod layout;
pub mod linalg;
pub mod loss;
pub mod margin;
pub mod matmul;
pub mod matrix;
pub mod nll;
pub mod normalization;
pub mod norms;
mod padding;
pub mod patches;
pub mod pooling;
pub mod random;
pub mod recurrent;
pub mod reduce;
pub mod reinterpret;
pub mod resampling;
mod sampled;
pub mod sampling;
mod scans;
pub mod scatters;
pub mod shapes;
pub mod softmax;
pub mod sorting;
pub mod unary;
pub mod view_composites;
pub mod views;

use crate::dispatch::OpBuilder;

/// Registers every family.
pub fn register(builder: &mut OpBuilder) {
    matrix::register(builder);
    matmul::register(builder);
    einsum::register(builder);
    softmax::register(builder);
    loss::register(builder);
    nll::register(builder);
    distance::register(builder);
    views::register(builder);
    view_composites::register(builder);
    reinterpret::register(builder);
    joining::register(builder);
    grids::register(builder);
    scatters::register(builder);
    gathering::register(builder);
    advanced::register(builder);
    sorting::register(builder);
    unary::register(builder);
    activation::register(builder);
    binary::register(builder);
    compare::register(builder);
    factory::register(builder);
    copy::register(builder);
    embedding::register(builder);
    normalization::register(builder);
    margin::register(builder);
    sampling::register(builder);
    sampled::register(builder);
    padding::register(builder);
    linalg::register(builder);
    patches::register(builder);
    resampling::register(builder);
    attention::register(builder);
    recurrent::register(builder);
    pooling::register(builder);
    convolution::register(builder);
    reduce::register(builder);
    random::register(builder);
}
