//! `backward()`: from Python's arguments to the engine, and to compiled autograd.

use rustpython_vm::{AsObject, PyObjectRef, PyResult, VirtualMachine};

use super::convert::{items, to_tensor};
use super::errors::raise;
use super::objects::PyNode;
use super::payload::wrap;
use crate::autograd::{BackwardOptions, Edge, gradient_edge, run_backward};
use crate::error::Error;
use crate::tensor::{MemoryFormat, Tensor};

/// The edge that a `GradientEdge` is, if it is one.
fn edge_of(o: &PyObjectRef, vm: &VirtualMachine) -> Option<Edge> {
    if &*o.class().name() != "GradientEdge" {
        return None;
    }
    let node = o.get_attr("node", vm).ok()?;
    let node = node.downcast_ref::<PyNode>()?.0.clone();
    let index = o.get_attr("output_nr", vm).ok()?.try_into_value::<usize>(vm).ok()?;
    Some(Edge { node, index })
}

/// Where gradients flow from, and the gradients.
pub(super) fn roots(tensors: &[PyObjectRef], grads: &[PyObjectRef], vm: &VirtualMachine) -> PyResult<Vec<(Edge, Tensor)>> {
    let error = |e: Error| raise(e, vm);
    let mut roots = Vec::new();
    for (i, o) in tensors.iter().enumerate() {
        if let Some(edge) = edge_of(o, vm) {
            let grad = grads.get(i).and_then(|g| to_tensor(g)).ok_or_else(|| vm.new_type_error("expected a gradient of an edge"))?;
            roots.push((edge, grad));
            continue;
        }
        let t = to_tensor(o).ok_or_else(|| vm.new_type_error("expected Tensors to differentiate"))?;
        let Some(edge) = gradient_edge(&t).map_err(error)? else {
            return Err(error(Error::runtime(format!("element {i} of tensors does not require grad and does not have a grad_fn"))));
        };
        let grad = match grads.get(i).and_then(|g| to_tensor(g)) {
            Some(g) => g,
            None => {
                if t.numel().hint() != Some(1) {
                    return Err(error(Error::runtime("grad can be implicitly created only for scalar outputs")));
                }
                crate::t!("ones_like", &t; memory_format = MemoryFormat::Preserve).map_err(error)?
            }
        };
        roots.push((edge, grad));
    }
    Ok(roots)
}

/// Where the gradients of inputs arrive, which are tensors or edges.
pub(super) fn edges(inputs: &[PyObjectRef], vm: &VirtualMachine) -> PyResult<Vec<Edge>> {
    let error = |e: Error| raise(e, vm);
    let none = || error(Error::runtime("One of the differentiated Tensors does not require grad"));
    let edge = |o: &PyObjectRef| match (edge_of(o, vm), to_tensor(o)) {
        (Some(edge), _) => Ok(edge),
        (None, Some(t)) => gradient_edge(&t).map_err(error)?.ok_or_else(none),
        (None, None) => Err(none()),
    };
    inputs.iter().map(edge).collect()
}

/// `_run_backward(tensors, grad_tensors, retain_graph, create_graph, inputs, allow_unreachable, accumulate_grad, more_rows)`
pub fn backward(args: &[PyObjectRef], vm: &VirtualMachine) -> PyResult {
    let list = |i: usize| args.get(i).and_then(|o| items(o)).unwrap_or_default();
    let flag = |i: usize| args.get(i).is_some_and(|o| o.is(&vm.ctx.true_value));
    let error = |e: Error| raise(e, vm);
    let roots = roots(&list(0), &list(1), vm)?;
    let options = BackwardOptions { retain_graph: flag(2), create_graph: flag(3), more_rows: flag(7) };
    let inputs = list(4);
    if inputs.is_empty() {
        run_backward(roots, None, options).map_err(error)?;
        return Ok(vm.ctx.new_tuple(Vec::new()).into());
    }
    let edges = edges(&inputs, vm)?;
    let found = run_backward(roots, Some(&edges), options).map_err(error)?;
    if flag(6) {
        for ((o, edge), g) in inputs.iter().zip(&edges).zip(found) {
            // An edge to a result of a function has no tensor to accumulate into.
            let target = to_tensor(o).or_else(|| crate::autograd::accumulated_variable(&edge.node));
            if let (Some(t), Some(g)) = (target, g) {
                crate::autograd::accumulate(&t, g).map_err(error)?;
            }
        }
        return Ok(vm.ctx.new_tuple(Vec::new()).into());
    }
    let mut out = Vec::new();
    for (place, g) in found.into_iter().enumerate() {
        out.push(match g {
            Some(g) => wrap(&g, vm)?,
            None if flag(5) => vm.ctx.none(),
            None => {
                return Err(error(Error::runtime(format!(
                    "The differentiated Tensor at index {place} appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior."
                ))));
            }
        });
    }
    Ok(vm.ctx.new_tuple(out).into())
}
