//! What is known of calls as they are written, and of the variables that results are stored in.

use crate::graph::{NodeId, Written};
use crate::tensor::Tensor;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// A variable of a function, by its code and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// The function's code.
    pub code: usize,
    /// The name.
    pub name: Rc<str>,
    /// Whether it is given to the function: what a caller hands over is not named after it.
    pub is_parameter: bool,
}

/// Variables that a result is stored in, in order, with the way to what each gets of it.
pub type Stored = Vec<(Vec<u32>, Variable)>;

/// What a recorder knows of calls as they are written.
///
/// A call that writes to a tensor gives that tensor, which is the same value here and a new one to PyTorch's Dynamo: the script goes on
/// with the call's result where it takes that, and with what it had where it does not. So what a tensor is depends on the variable that it
/// is read from.
#[derive(Default)]
pub(in crate::dynamo) struct Writing {
    pub(super) open: Cell<Option<u32>>,
    pub(super) last: Cell<u32>,
    /// What a tensor is in a variable.
    pub(super) variables: RefCell<HashMap<(u64, Variable), NodeId>>,
    /// What it is in variables that are not known, where a call gave it again.
    pub(super) kept: RefCell<HashMap<u64, NodeId>>,
    /// What it is as the result of the call made last.
    pub(super) flowing: RefCell<HashMap<u64, NodeId>>,
    /// What it was before a call gave it again.
    pub(super) first: RefCell<HashMap<u64, NodeId>>,
    /// The nodes that gave a known tensor since the open call began.
    pub(super) again: RefCell<HashMap<u64, NodeId>>,
}

impl Writing {
    /// What a node that is recorded now belongs to.
    pub(in crate::dynamo) fn stamp(&self) -> Option<Written> {
        self.open.get().map(|call| Written { call, says: None, gives: None })
    }

    /// A node gave a tensor that had a node before, because it wrote to it or had nothing to do.
    pub(in crate::dynamo) fn gave_again(&self, t: &Tensor, before: Option<NodeId>, id: NodeId) {
        if self.open.get().is_some() {
            self.again.borrow_mut().insert(t.id(), id);
        }
        if let Some(before) = before {
            self.first.borrow_mut().entry(t.id()).or_insert(before);
        }
    }

    /// What is known where the graph has ended: which call is open.
    pub(in crate::dynamo) fn in_next_graph(&self) -> Self {
        Writing { open: self.open.clone(), last: self.last.clone(), ..Writing::default() }
    }

    /// Nodes have moved; those for which `follow` is false are gone.
    pub(in crate::dynamo) fn retain(&self, follow: &dyn Fn(&mut NodeId) -> bool) {
        self.variables.borrow_mut().retain(|_, id| follow(id));
        self.tensors().into_iter().for_each(|nodes| nodes.borrow_mut().retain(|_, id| follow(id)));
    }

    pub(super) fn tensors(&self) -> [&RefCell<HashMap<u64, NodeId>>; 4] {
        [&self.kept, &self.flowing, &self.first, &self.again]
    }

    /// The call that gave a known tensor last, where the script goes on with its result.
    pub(in crate::dynamo) fn last_call(&self, tensor: u64) -> Option<NodeId> {
        [&self.flowing, &self.kept].iter().find_map(|nodes| nodes.borrow().get(&tensor).copied())
    }

    pub(super) fn next(&self) -> u32 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }
}
