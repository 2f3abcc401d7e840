//! What translation validation needs to know of a trace: the conditions that were asked for, before anything was simplified, and, where it is
//! wanted, what every operation on sizes was simplified to.

use super::{Expr, Relation, ShapeEnv, ShapeGuard};
use std::collections::HashSet;

/// An operation on two sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a // b`
    FloorDiv,
    /// `a % b`
    Mod,
    /// `a ** b`
    Power,
    /// The larger.
    Max,
    /// The smaller.
    Min,
}

/// An operation, and what it was simplified to.
pub type Computed = (Operation, Expr, Expr, Expr);

#[derive(Default)]
pub(super) struct ValidationLog {
    asked: Vec<ShapeGuard>,
    is_asked: HashSet<(Expr, Relation, Expr)>,
    /// What the graph checks when it runs.
    pub(super) expected: Vec<(Expr, Relation, Expr)>,
    computed: Option<(Vec<Computed>, HashSet<Computed>)>,
    flips_equalities: bool,
}

impl ShapeEnv {
    /// From here on every operation on sizes is logged, too.
    pub fn log_operations(&self) {
        self.0.borrow_mut().log.computed.get_or_insert_default();
    }

    /// From here on an equality is installed as its opposite, after it was asked for: so tests see that validation finds what is wrong.
    pub fn flip_equalities(&self) {
        self.0.borrow_mut().log.flips_equalities = true;
    }

    pub(super) fn flips_equalities(&self) -> bool {
        self.0.borrow().log.flips_equalities
    }

    /// A condition holds in the call being compiled, and the trace depends on it.
    pub(super) fn note_asked(&self, left: &Expr, relation: Relation, right: &Expr) {
        let log = &mut self.0.borrow_mut().log;
        if left.as_int().is_some() && right.as_int().is_some() || !log.is_asked.insert((left.clone(), relation, right.clone())) {
            return;
        }
        let source = diagnostics::source::asking();
        log.asked.push(ShapeGuard { left: left.clone(), relation, right: right.clone(), pairs: Vec::new(), source });
    }

    pub(super) fn note_computed(&self, operation: Operation, left: &Expr, right: &Expr, result: &Expr) {
        let Some((list, known)) = &mut self.0.borrow_mut().log.computed else { return };
        let computed = (operation, left.clone(), right.clone(), result.clone());
        if known.insert(computed.clone()) {
            list.push(computed);
        }
    }

    /// Conditions that the trace depends on, as they were asked for, each once.
    pub fn asked(&self) -> Vec<ShapeGuard> {
        self.0.borrow().log.asked.clone()
    }

    /// Conditions that the graph checks when it runs.
    pub fn expected(&self) -> Vec<(Expr, Relation, Expr)> {
        self.0.borrow().log.expected.clone()
    }

    /// Operations on sizes, where they were logged.
    pub fn computed(&self) -> Vec<Computed> {
        self.0.borrow().log.computed.as_ref().map(|(list, _)| list.clone()).unwrap_or_default()
    }
}
