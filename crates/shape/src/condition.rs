//! A condition on symbolic integers that nobody has decided: PyTorch's `SymBool`.

use super::{Relation, ShapeEnv, SymInt};
use std::fmt;

/// A comparison of two integers, one of which is symbolic.
#[derive(Clone, Debug)]
pub struct SymCondition {
    /// The left side.
    pub left: SymInt,
    /// How they are compared.
    pub relation: Relation,
    /// The right side.
    pub right: SymInt,
}

impl SymCondition {
    /// The two sides.
    pub fn sides(&self) -> [&SymInt; 2] {
        [&self.left, &self.right]
    }

    /// Where the symbols in it come from.
    pub fn env(&self) -> Option<&ShapeEnv> {
        self.sides().into_iter().find_map(|side| if let SymInt::Sym(_, env) = side { Some(env) } else { None })
    }
}

impl fmt::Display for SymCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.left.condition(self.relation, &self.right))
    }
}
