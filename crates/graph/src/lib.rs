//! Graphs: an ordered list of nodes with nested argument trees, subgraphs and metadata. That list is the truth and what prints.
//!
//! petgraph serves what is graph theory over it (see [`Graph::users`] for use-def edges). A graph knows operators by name
//! only. Invariants (checked by [`Graph::validate`]): a node reads only nodes before it, names are unique, the last node is
//! the output. A validated graph always prints, partitions and lowers.

mod annotation;
mod cursor;
mod expression;
mod foreign;
#[allow(clippy::module_inception)]
mod graph;
mod listing;
mod literal;
mod node;
mod parse;
mod print;
pub mod regions;
mod sizes;
mod steps;

pub use graph::{Graph, Place, snake_case};
pub use listing::{listing, listing_row, opcode};
pub use literal::{arg_repr, float_repr, str_repr};
pub use node::{
    Annotation, Arg, FakeValue, Meta, Node, NodeId, Opcode, Recompute, Shown, SourceFn, SourceName, Target, Written, WrittenCall,
};
pub use parse::{Parsed, parse, parse_size, parse_type, read};
pub use print::{
    FunctionLines, Printed, Style, code, identifier, imports, is_identifier, print_readable, readable, recompute_name, returned, signature,
};
pub use sizes::{FloatNodes, SizeNodes, compute as compute_size, compute_float, node_name};
pub use steps::{step, steps};
