//! Sizes: numbers or symbolic expressions, from the first day.
//!
//! [`SymInt`] is what shapes are made of. Comparing two of them may install a guard and may fail, so it has neither `Eq`
//! nor `Ord`: comparisons go through [`ShapeEnv`] and return `Result<bool>`.
//! An expression is kept as PyTorch writes it; [`Expr::expanded`] is the normal form by which two are compared.

mod condition;
mod decide;
mod env;
mod expr;
mod python;
mod ranges;
mod relation;
mod solve;
mod srepr;
mod substitution;
mod symfloat;
mod symint;
mod validation_log;

pub use condition::SymCondition;
pub use env::{FloatGuard, ShapeEnv, ShapeGuard, SymbolInfo};
pub use expr::{Atom, Bitwise, Expr, Symbol};
pub use relation::Relation;
pub use solve::GuardOnOne;
pub use symfloat::{FUNCTIONS, FloatExpr, Rounded, Rounding, SymFloat};
pub use symint::{SymInt, concrete, ints, numel};
pub use validation_log::{Computed, Operation};
