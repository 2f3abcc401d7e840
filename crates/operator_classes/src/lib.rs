//! What may be done with calls of an operator in a graph: recompute them, fuse them, merge equal ones.
//!
//! Operators say it of themselves, in their entries; a partitioner asks by the name that a node has. Neither knows the other.

use std::sync::OnceLock;

/// Classes of operators, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpClasses(pub u16);

impl OpClasses {
    /// Cheap enough to compute again (`recomputable_ops`).
    pub const RECOMPUTABLE: OpClasses = OpClasses(1);
    /// A view that is free (`view_ops`).
    pub const VIEW: OpClasses = OpClasses(2);
    /// Random, and may be fused but not recomputed (`random_ops`).
    pub const RANDOM: OpClasses = OpClasses(4);
    /// Too costly to recompute, where the list of what may be is off (`compute_intensive_ops`).
    pub const COMPUTE_INTENSIVE: OpClasses = OpClasses(8);
    /// Two equal calls are two values: common subexpression elimination leaves them alone.
    pub const NEVER_MERGED: OpClasses = OpClasses(16);
    /// Draws from the generator (the tag `nondeterministic_seeded`).
    pub const SEEDED: OpClasses = OpClasses(32);
    /// Its result shares the storage of its first argument.
    pub const ALIASING: OpClasses = OpClasses(64);

    /// Whether every bit of `other` is set.
    pub fn has(self, other: OpClasses) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for OpClasses {
    type Output = OpClasses;
    fn bitor(self, other: OpClasses) -> OpClasses {
        OpClasses(self.0 | other.0)
    }
}

/// What knows the classes of an overload packet (`aten.add`).
static CLASSES: OnceLock<fn(&str) -> OpClasses> = OnceLock::new();

/// Says what knows the classes of an overload packet, before the first graph is split. What comes later changes nothing.
pub fn install(classes: fn(&str) -> OpClasses) {
    let _ = CLASSES.set(classes);
}

/// The classes of an overload packet (`aten.add`): none where no operator has the name.
pub fn of(packet: &str) -> OpClasses {
    let classes = CLASSES.get().expect("no operators are known yet: call `operators::install()`");
    classes(packet)
}
