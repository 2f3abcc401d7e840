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

    /// Whether it holds whatever the symbols are; `None` where that is open.
    pub fn decided(&self) -> Option<bool> {
        self.left.decide(self.relation, &self.right)
    }

    /// Whether it holds in the call, where its numbers are known or the graph has said it.
    pub fn holds(&self) -> Option<bool> {
        match (self.left.hint(), self.right.hint()) {
            (Some(left), Some(right)) => Some(self.relation.holds(left, right)),
            _ => self.env()?.learned_condition(&self.to_string()),
        }
    }
}

impl fmt::Display for SymCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.left.condition(self.relation, &self.right))
    }
}
