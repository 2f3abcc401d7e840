//! Attributes of the caller's tensors that are tensors: `x.data`, and the parts of a complex `x`. PyTorch knows where such a value is
//! to be had, so that a graph does not return it: it is read again when the graph has run.

use super::tracer::Recorder;
use crate::dispatch::Value;
use crate::graph::{Arg, Opcode, Shown, Target};
use crate::tensor::Tensor;

/// What is read off a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// `x.data`
    Data,
    /// `x.real`
    Real,
    /// `x.imag`
    Imaginary,
}

impl Recorder {
    /// The caller's tensor that a lazy value is an attribute of, and which.
    pub fn attribute_of_input(&self, value: &Value) -> Option<(Tensor, Attribute)> {
        let id = *self.output().nodes.borrow().get(&value.as_tensor()?.id())?;
        let output = self.output();
        let graph = output.graph.borrow();
        let call = graph.node(id).written.as_ref()?.call;
        let says = |n: &crate::graph::Node| n.written.as_ref().filter(|w| w.call == call).and_then(|w| w.says.clone());
        let written = graph.nodes().find_map(says)?;
        let Target::Torch { shown: Shown::Function(path), .. } = &written.target else { return None };
        let attribute = match (&**path, written.args.get(1)) {
            ("torch._C._autograd._get_data_attr", None) => Attribute::Data,
            ("getattr", Some(Arg::Str(name))) if &**name == "real" => Attribute::Real,
            ("getattr", Some(Arg::Str(name))) if &**name == "imag" => Attribute::Imaginary,
            _ => return None,
        };
        // What an in-place operator gives is a value of the graph, though it is the same tensor.
        let writes = |n: &crate::graph::Node| {
            let in_place = n.op().is_some_and(|op| op.split('.').nth(1).is_some_and(|base| base.ends_with('_') && !base.starts_with("__")));
            in_place && n.args.first() == Some(&Arg::Node(id))
        };
        if graph.nodes().any(writes) {
            return None;
        }
        let Some(Arg::Node(of)) = written.args.first() else { return None };
        let input = self.output().inputs.borrow().iter().find(|i| i.node == *of).map(|i| i.real.clone());
        input.filter(|_| graph.node(*of).opcode == Opcode::Placeholder).map(|real| (real, attribute))
    }
}
