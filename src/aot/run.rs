//! Running graphs from outside: with every higher-order operator in the table.

use super::{higher_order, interpret};
use crate::dispatch::Value;
use crate::error::Result;
use crate::graph::Graph;

/// A graph to be run often, with what can be known of it beforehand.
pub struct Program(interpret::Program);

impl Program {
    /// Prepares a graph. `only_new`: whether autograd looks at its calls, for which of its results are views of others.
    pub fn new(graph: Graph, only_new: bool) -> Self {
        higher_order::register();
        Program(interpret::Program::new(graph, only_new))
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        self.0.graph()
    }

    /// Runs it, as [`run_graph`] does.
    ///
    /// # Errors
    /// Those of its calls.
    pub fn run(&self, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
        self.0.run(inputs)
    }
}

/// Runs a graph on its inputs, in order; gives its outputs. Values are dropped after their last use, inputs too (boxed call:
/// `inputs` is emptied).
///
/// # Errors
/// Those of its calls.
pub fn run_graph(graph: &Graph, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
    higher_order::register();
    interpret::run(graph, inputs, false)
}

/// Like [`run_graph`], telling the tracer below where each call comes from.
///
/// # Errors
/// Those of its calls.
pub fn replay_graph(graph: &Graph, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
    higher_order::register();
    interpret::run(graph, inputs, true)
}
