//! `backward()`: from Python's arguments to the engine; and, where backwards are compiled, the tape as a function that is recorded.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;
use std::rc::Rc;

use rustpython_vm::{AsObject, PyObjectRef, PyResult, VirtualMachine};

use super::convert::{items, to_tensor};
use super::errors::raise;
use super::payload::wrap;
use crate::autograd::{BackwardOptions, Edge, Node, compiled, gradient_edge, meta, run_backward};
use crate::error::{Error, Result};
use crate::tensor::{MemoryFormat, Tensor};

pub(in crate::python::native) use module::module_def;

thread_local! {
    /// The arguments of the backward that is recorded.
    static TAPE: RefCell<Option<Vec<PyObjectRef>>> = const { RefCell::new(None) };
    /// The leaves whose gradients it gave.
    static LEAVES: RefCell<Vec<Tensor>> = const { RefCell::new(Vec::new()) };
}

/// Lets go of a backward that an error ended.
pub fn forget() {
    TAPE.take();
    LEAVES.take();
}

/// Where gradients flow from, and the gradients.
fn roots(tensors: &[PyObjectRef], grads: &[PyObjectRef], vm: &VirtualMachine) -> PyResult<Vec<(Edge, Tensor)>> {
    let error = |e: Error| raise(e, vm);
    let mut roots = Vec::new();
    for (i, o) in tensors.iter().enumerate() {
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

/// `_run_backward(tensors, grad_tensors, retain_graph, create_graph, inputs, allow_unreachable, accumulate_grad)`
pub fn backward(args: &[PyObjectRef], vm: &VirtualMachine) -> PyResult {
    let list = |i: usize| args.get(i).and_then(|o| items(o)).unwrap_or_default();
    let flag = |i: usize| args.get(i).is_some_and(|o| o.is(&vm.ctx.true_value));
    let error = |e: Error| raise(e, vm);
    let roots = roots(&list(0), &list(1), vm)?;
    let options = BackwardOptions { retain_graph: flag(2), create_graph: flag(3) };
    let inputs = list(4);
    if inputs.is_empty() {
        run_backward(roots, None, options).map_err(error)?;
        return Ok(vm.ctx.new_tuple(Vec::new()).into());
    }
    let tensors: Vec<Tensor> = inputs.iter().filter_map(|o| to_tensor(o)).collect();
    let mut edges: Vec<Edge> = Vec::new();
    for t in &tensors {
        edges.push(
            gradient_edge(t)
                .map_err(error)?
                .ok_or_else(|| error(Error::runtime("One of the differentiated Tensors does not require grad")))?,
        );
    }
    let found = run_backward(roots, Some(&edges), options).map_err(error)?;
    if flag(6) {
        for (t, g) in tensors.iter().zip(&found) {
            if let Some(g) = g {
                crate::autograd::accumulate(t, g.clone()).map_err(error)?;
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

/// The shape of the tape behind some tensors, as text, and all sizes in it.
fn shape(tensors: &[Tensor]) -> Result<(String, Vec<i64>)> {
    let (mut text, mut sizes) = (String::new(), Vec::new());
    let mut known: HashMap<usize, usize> = HashMap::new();
    let mut nodes: Vec<Rc<Node>> = Vec::new();
    let mut number = |node: &Rc<Node>, nodes: &mut Vec<Rc<Node>>| {
        let next = known.len();
        *known.entry(Rc::as_ptr(node) as usize).or_insert_with(|| {
            nodes.push(node.clone());
            next
        })
    };
    for t in tensors {
        if let Some(edge) = gradient_edge(t)? {
            let _ = write!(text, "{}.{} ", number(&edge.node, &mut nodes), edge.index);
        }
    }
    let mut at = 0;
    while let Some(node) = nodes.get(at).cloned() {
        at += 1;
        let _ = write!(text, "{}(", node.name);
        for input in node.inputs.borrow().iter() {
            let _ = write!(text, "{}{} ", input.dtype, input.sizes.len());
            sizes.extend(input.sizes.iter().map(|s| s.hint().unwrap_or(-1)));
        }
        for edge in node.edges.borrow().iter() {
            match edge {
                Some(edge) => write!(text, "{}.{} ", number(&edge.node, &mut nodes), edge.index),
                None => write!(text, "- "),
            }
            .unwrap_or_default();
        }
        let hooks = (node.tensor_hooks.borrow().len(), node.pre_hooks.borrow().len(), node.post_hooks.borrow().len());
        let _ = write!(text, "{hooks:?}");
        if let Some(leaf) = crate::autograd::accumulated_variable(&node) {
            let hooks = meta::peek(&leaf, |m| (m.hooks.len(), m.post_accumulate_hooks.len()));
            let _ = write!(text, "{hooks:?}{}", meta::grad(&leaf).is_some());
        }
        text.push(')');
    }
    Ok((text, sizes))
}

#[pymodule(name = "torch._native_tape")]
mod module {
    use super::*;
    use rustpython_vm::builtins::PyTupleRef;

    /// `shape_of_tape(tensors)`: what two backwards have in common that are one function, and the sizes, which may differ.
    #[pyfunction]
    fn shape_of_tape(tensors: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let tensors: Vec<Tensor> = items(&tensors).unwrap_or_default().iter().filter_map(|o| to_tensor(o)).collect();
        let (text, sizes) = shape(&tensors).map_err(|e| raise(e, vm))?;
        let sizes = vm.ctx.new_list(sizes.into_iter().map(|n| vm.ctx.new_int(n).into()).collect());
        Ok(vm.ctx.new_tuple(vec![vm.ctx.new_str(text).into(), sizes.into()]).into())
    }

    /// A backward with these arguments is run next by `run_tape`.
    #[pyfunction]
    fn begin_tape(args: PyTupleRef) {
        TAPE.set(Some(args.as_slice().to_vec()));
    }

    /// It is over.
    #[pyfunction]
    fn end_tape() {
        super::forget();
    }

    /// Runs the tape from these gradients, recorded: what it gives, or the gradients of the leaves that had none.
    #[pyfunction]
    fn run_tape(roots: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let Some(mut args) = TAPE.with_borrow(Clone::clone) else { return Err(vm.new_runtime_error("no backward is under way")) };
        args[1] = roots;
        let recording = compiled::Recording::new();
        for root in items(&args[1]).unwrap_or_default().iter().filter_map(|o| to_tensor(o)) {
            compiled::lift_to_input(&root).map_err(|e| raise(e, vm))?;
        }
        let result = backward(&args, vm)?;
        drop(recording);
        let received = compiled::take_received();
        if received.is_empty() {
            return Ok(result);
        }
        LEAVES.set(received.iter().map(|(leaf, _)| leaf.clone()).collect());
        let grads = received.iter().map(|(_, grad)| wrap(grad, vm)).collect::<PyResult<Vec<_>>>()?;
        Ok(vm.ctx.new_list(grads).into())
    }

    /// What the tape gave has its values: so have the gradients of leaves.
    #[pyfunction]
    fn settle_tape(result: PyObjectRef, vm: &VirtualMachine) -> PyObjectRef {
        let leaves = LEAVES.take();
        if leaves.is_empty() {
            return result;
        }
        for (leaf, grad) in leaves.iter().zip(items(&result).unwrap_or_default().iter().filter_map(|o| to_tensor(o))) {
            meta::set_grad(leaf, Some(grad));
        }
        vm.ctx.new_tuple(Vec::new()).into()
    }
}
