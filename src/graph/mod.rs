//! Graphs: an ordered list of nodes with nested argument trees, subgraphs and metadata. That list is the truth and what prints.
//!
//! petgraph serves what is graph theory over it (see [`Graph::users`] for use-def edges). A graph knows operators by name
//! only. Invariants (checked by [`Graph::validate`]): a node reads only nodes before it, names are unique, the last node is
//! the output. A validated graph always prints, partitions and lowers.

#[allow(clippy::module_inception)]
mod graph;
mod node;

pub use graph::Graph;
pub use node::{Arg, FakeValue, Meta, Node, NodeId, Opcode, Recompute, Shown, Target};
