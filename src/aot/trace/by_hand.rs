//! Nodes that a script's rule for an operator makes by hand: the call, what it is given, and what it gives.

use super::{Tracer, coming_from, fake_value};
use crate::aot::schemas::Decompose;
use crate::dispatch::Value;
use crate::error::Result;
use crate::graph::{Arg, Graph, Meta, NodeId, Target};
use std::rc::Rc;

impl Tracer {
    /// Whether the graph is that of the calls as they are made.
    pub fn is_as_called(&self) -> bool {
        self.as_called
    }

    /// What calls are taken apart by before the table is asked.
    pub fn told_decompositions(&self) -> Option<Decompose> {
        self.script_decompositions.borrow().clone()
    }

    /// The node that a value has: of a tensor that the graph knows, of a size that is calculated.
    pub fn node_for(&self, value: &Value) -> Result<Option<NodeId>> {
        let is_known = match value {
            Value::Tensor(t) => self.knows(t),
            Value::Int(size) => size.as_int().is_none(),
            Value::SymFloat(_) => true,
            other => other.condition().is_some(),
        };
        if !is_known {
            return Ok(None);
        }
        Ok(if let Arg::Node(id) = self.argument(value)? { Some(id) } else { None })
    }

    /// What is said about a node made now: of a program that is exported, where the script is.
    fn meta_by_hand(&self) -> Meta {
        match self.sees_script.get() {
            Some(provider) => coming_from(provider(), || self.meta()),
            None => self.meta(),
        }
    }

    /// A call, named after something.
    pub fn call_by_hand(&self, named: &str, target: Target, args: Vec<Arg>, kwargs: Vec<(Rc<str>, Arg)>) -> NodeId {
        let meta = self.meta_by_hand();
        self.graph.borrow_mut().call(named, target, args, kwargs, meta)
    }

    /// A read of a subgraph.
    pub fn subgraph_read(&self, name: &str) -> NodeId {
        let meta = self.meta_by_hand();
        self.graph.borrow_mut().get_attr(name, meta)
    }

    /// The graph of a name, from here on.
    pub fn add_subgraph(&self, name: &str, graph: Graph) {
        let graph = if self.in_backward.get() { self.as_backward_of_call(graph) } else { graph };
        self.graph.borrow_mut().subgraphs.push((name.into(), graph));
    }

    /// Whether the graph has a subgraph or a constant of a name.
    pub fn has_attribute(&self, name: &str) -> bool {
        let graph = self.graph.borrow();
        graph.subgraphs.iter().map(|(of, _)| of).chain(graph.constants.iter().map(|(of, _)| of)).any(|of| **of == *name)
    }

    /// The name of a node.
    pub fn node_name(&self, id: NodeId) -> String {
        self.graph.borrow().node(id).name.to_string()
    }

    /// A node gives a value, which is the node's from here on.
    pub fn gives(&self, id: NodeId, value: &Value) -> Result<()> {
        self.graph.borrow_mut().node_mut(id).meta.value = Some(fake_value(value));
        match value {
            Value::Tensor(t) => {
                self.nodes.borrow_mut().insert(t.id(), id);
                self.note_sizes(t, id);
                super::layout::look_for_format(t)?;
            }
            Value::Int(number) if number.as_int().is_none() => drop(self.symbols.borrow_mut().insert(number.expr(), id)),
            _ => {}
        }
        Ok(())
    }
}
