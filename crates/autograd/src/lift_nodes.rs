//! What the tape's nodes are to compiled autograd: their tensors, their edges, what they expect of gradients.

use super::lift::{Lift, Lifted, Packed, dtype_number};
use super::meta;
use super::node::{InputMeta, Node};
use super::saved::SavedVariable;
use diagnostics::error::{Error, Result};
use std::rc::Rc;
use tensor::Tensor;

impl Lift {
    /// Whether the gradient that goes along an edge is asked for.
    pub fn asks(&self, node: &Node, edge: usize) -> bool {
        let edges = node.edges.borrow();
        let Some(Some(edge)) = edges.get(edge) else { return false };
        self.executed.as_ref().is_none_or(|nodes| nodes.contains(&super::engine::node_key(&edge.node)))
    }

    /// A tensor becomes an input.
    pub fn tensor(&mut self, t: &Tensor) -> Packed {
        let next = self.inputs.len();
        let number = *self.known.entry(t.id()).or_insert(next);
        if number == next {
            self.inputs.push(t.clone());
        }
        self.number(number + 1);
        self.specialize(format_args!("{} {} {} {}", t.device(), t.dtype(), meta::requires_grad(t), t.dim()));
        Packed::Tensor(number)
    }

    /// A tensor that may be undefined.
    pub fn optional(&mut self, t: Option<&Tensor>) -> Packed {
        match t {
            Some(t) => self.tensor(t),
            None => {
                self.number(0);
                Packed::None
            }
        }
    }

    /// What a node saved.
    pub fn saved(&mut self, saved: &SavedVariable, node: &Rc<Node>) -> Result<Packed> {
        if let Some((hook, data)) = saved.packed() {
            self.objects.push(hook);
            self.packed_data.push(data);
            return Ok(Packed::Unpack(self.objects.len() - 1, self.packed_data.len() - 1));
        }
        Ok(self.tensor(&saved.unpack(node)?))
    }
}

/// What a gradient must look like: `InputMetadata` as the graph has it.
pub fn metadata(lift: &mut Lift, spec: &InputMeta) -> Result<Packed> {
    let options = lift.options(spec.dtype, spec.device);
    let sizes = lift.list_of_sizes(&spec.sizes)?;
    Ok(Packed::Tuple(vec![options, sizes, Packed::Bool(false), Packed::Int(dtype_number(spec.dtype))]))
}

/// The refusal of a node that a graph can't have.
pub(super) fn unsupported(node: &Node) -> Error {
    Error::not_implemented(format!("compiled autograd: {} is not supported in the playground", node.full_name()))
}

/// Lifts the body of a node.
pub fn lift_node(node: &Rc<Node>, lift: &mut Lift) -> Result<Lifted> {
    node.body.lift(node, lift)
}
