//! Inductor's decomposition table: operators written in terms of simpler ones, as PyTorch traces them for its code generator.
//!
//! A decomposition is tried where a call reaches the tracer, below autograd and functionalization: what it calls is recorded in
//! its place, with the line and the number of the call it stands for, and is decomposed in turn. Derivatives are formulas of
//! operators, so that a backward comes out decomposed too. Sizes, strides and names follow from the calls.
//!
//! The rules are those of PyTorch 2.15's `torch._inductor.decomposition` on the CPU; `tests/decompositions.rs` holds what it traces.

mod complex;
mod expr;
mod factories;
mod gradients;
mod grids;
mod images;
mod indexing;
mod losses;
mod moving;
mod normalization;
mod pointwise;
mod products;
mod random;
mod reductions;
mod softmax;
mod table;
mod views;

pub use table::{Decomposed, Table};

use std::sync::OnceLock;

/// The table that `torch.compile`'s default backend traces with.
pub fn inductor() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = families();
        random::register_drawn(&mut table);
        table
    })
}

/// The same where random numbers are drawn as in eager mode (`fallback_random`).
pub fn inductor_with_eager_random() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(families)
}

fn families() -> Table {
    let mut table = Table::default();
    let registers: [fn(&mut Table); 15] = [
        views::register,
        complex::register,
        factories::register,
        products::register,
        pointwise::register,
        gradients::register,
        reductions::register,
        softmax::register,
        normalization::register,
        losses::register,
        indexing::register,
        moving::register,
        images::register,
        grids::register,
        random::register,
    ];
    registers.iter().for_each(|register| register(&mut table));
    table
}
