//! `torch.cond`: on values one branch runs; while tracing both become subgraphs, and the backward chooses between theirs.

use super::compile::Tracing;
use super::functionalize;
use super::interpret::run;
use super::trace::{Tracer, current_tracer};
use crate::autograd::{BackwardOptions, Body, Edge, Node, gradient_edge, meta, run_backward};
use crate::dispatch::{Modes, Value, modes, set_modes};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::Tensor;
use std::any::Any;
use std::rc::Rc;

/// Calls `cond(predicate, true_graph, false_graph, operands)`.
pub(super) fn cond(branches: [&Graph; 2], args: &[Value], tell: bool) -> Result<Value> {
    let [predicate, _, _, operands] = args else { return Err(Error::type_error("cond() takes four arguments")) };
    let operands = operands.list()?.to_vec();
    if !modes().fake {
        let chosen = match predicate {
            Value::Tensor(t) => crate::aten!("_local_scalar_dense", t)?.bool()?,
            other => other.bool()?,
        };
        return run(branches[usize::from(!chosen)], &mut operands.clone(), tell).map(Value::List);
    }
    let tensors = operands.iter().map(|v| v.tensor().cloned()).collect::<Result<Vec<_>>>()?;
    let edges = tensors.iter().map(gradient_edge).collect::<Result<Vec<_>>>()?;
    let differentiable = modes().grad && tensors.iter().any(meta::requires_grad);
    if differentiable {
        for branch in branches {
            count_calls(branch, &tensors)?;
        }
    }
    let node = differentiable.then(|| {
        let branches = [branches[0].clone(), branches[1].clone()];
        let body = Backward { branches, predicate: predicate.clone(), operands: tensors.clone() };
        Node::new("CondAutogradOpBackward", edges, Box::new(body))
    });
    let traced = [forward_of(branches[0], &tensors)?, forward_of(branches[1], &tensors)?];
    let results = record(traced, predicate, &tensors)?;
    if let Some(node) = node {
        results.iter().for_each(|t| meta::set_history(t, &node));
    }
    Ok(Value::List(results.into_iter().map(Value::Tensor).collect()))
}

/// Inputs of a subgraph: fake tensors like those given, and functional wrappers around them.
fn inputs_like(tracer: &Tracer, like: &[Tensor]) -> Result<Vec<Tensor>> {
    like.iter()
        .enumerate()
        .map(|(i, t)| {
            let inner = Tensor::fake(&t.spec())?;
            tracer.placeholder(&format!("arg{i}_1"), &inner);
            functionalize::wrap(&inner)
        })
        .collect()
}

fn forward_of(branch: &Graph, operands: &[Tensor]) -> Result<Graph> {
    let tracer = Tracer::new("<lambda>");
    let inputs = inputs_like(&tracer, operands)?;
    let outputs = {
        let _tracing = Tracing::start(&tracer);
        set_modes(Modes { grad: false, ..modes() });
        let outputs = run(branch, &mut inputs.iter().map(Value::from).collect(), true)?;
        outputs.iter().map(|v| v.map_tensors(&mut functionalize::unwrap)).collect::<Result<Vec<_>>>()?
    };
    tracer.finish(&outputs)
}

/// Runs a branch as its backward will be traced, for the sequence numbers that its calls take: PyTorch traces the backward's
/// graph before the call gets its own number.
fn count_calls(branch: &Graph, operands: &[Tensor]) -> Result<()> {
    let tracer = Tracer::new("<lambda>");
    let inputs = inputs_like(&tracer, operands)?;
    for (t, like) in inputs.iter().zip(operands) {
        meta::set_requires_grad(t, meta::requires_grad(like))?;
    }
    let _tracing = Tracing::start(&tracer);
    set_modes(Modes { grad: true, ..modes() });
    run(branch, &mut inputs.iter().map(Value::from).collect(), false).map(|_| ())
}

/// A branch's backward: gradients of the operands that want one, from the operands and the gradients of its results.
fn backward_of(branch: &Graph, operands: &[Tensor], wanted: &[bool], grads: &[Tensor]) -> Result<Graph> {
    let tracer = Tracer::new("<lambda>");
    let like: Vec<Tensor> = operands.iter().chain(grads).cloned().collect();
    let inputs = inputs_like(&tracer, &like)?;
    let (operands, grads) = inputs.split_at(operands.len());
    for (t, _) in operands.iter().zip(wanted).filter(|(_, w)| **w) {
        meta::set_requires_grad(t, true)?;
    }
    let outputs = {
        let _tracing = Tracing::start(&tracer);
        set_modes(Modes { grad: true, ..modes() });
        let outputs = run(branch, &mut operands.iter().map(Value::from).collect(), true)?;
        tracer.enter_backward();
        let mut roots = Vec::new();
        for (output, grad) in outputs.iter().zip(grads) {
            if let Some(edge) = output.as_tensor().map(gradient_edge).transpose()?.flatten() {
                roots.push((edge, grad.clone()));
            }
        }
        let asked: Vec<&Tensor> = operands.iter().zip(wanted).filter(|(_, w)| **w).map(|(t, _)| t).collect();
        let edges: Vec<Edge> = asked.iter().map(|t| gradient_edge(t)).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        let found = run_backward(roots, Some(&edges), BackwardOptions::default())?;
        set_modes(Modes { grad: false, ..modes() });
        let mut outputs = Vec::new();
        for (t, grad) in asked.into_iter().zip(found) {
            let grad = grad.map_or_else(|| crate::t!("zeros_like", t), Ok)?;
            outputs.push(Value::Tensor(functionalize::unwrap(&grad)?));
        }
        outputs
    };
    tracer.finish(&outputs)
}

/// Records the call where a graph is traced; gives its results, which look like those of the first branch.
fn record(branches: [Graph; 2], predicate: &Value, operands: &[Tensor]) -> Result<Vec<Tensor>> {
    let specs = |graph: &Graph| -> Result<Vec<crate::tensor::TensorSpec>> {
        let spec = |a: &crate::graph::Arg| match a {
            crate::graph::Arg::Node(id) => graph.node(*id).tensor().cloned(),
            _ => None,
        };
        graph.outputs().iter().map(|a| spec(a).ok_or_else(|| Error::type_error("the branches of cond return tensors"))).collect()
    };
    let (yes, no) = (specs(&branches[0])?, specs(&branches[1])?);
    if yes.len() != no.len() {
        return Err(Error::runtime(format!(
            "Expected to return same number of outputs but got:\n  true branch returns {} item(s)\n  false branch returns {} item(s)",
            yes.len(),
            no.len()
        )));
    }
    let inner = yes.iter().map(Tensor::fake).collect::<Result<Vec<_>>>()?;
    if let Some(tracer) = current_tracer() {
        let operands = operands.iter().map(functionalize::unwrap).collect::<Result<Vec<_>>>()?;
        tracer.record_cond(&predicate.map_tensors(&mut functionalize::unwrap)?, branches, &operands, &inner)?;
    }
    inner.iter().map(functionalize::wrap).collect()
}

/// The backward of a traced `cond`.
struct Backward {
    branches: [Graph; 2],
    predicate: Value,
    operands: Vec<Tensor>,
}

impl Body for Backward {
    fn apply(&self, node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        let mut given = Vec::new();
        for (grad, like) in grads.into_iter().zip(node.inputs.borrow().iter()) {
            given.push(match grad {
                Some(grad) => grad,
                None => crate::t!("zeros", &like.sizes; dtype = like.dtype, device = like.device)?,
            });
        }
        let wanted: Vec<bool> = (0..self.operands.len()).map(|i| node.should_compute(i)).collect();
        let traced = [
            backward_of(&self.branches[0], &self.operands, &wanted, &given)?,
            backward_of(&self.branches[1], &self.operands, &wanted, &given)?,
        ];
        let all: Vec<Tensor> = self.operands.iter().chain(&given).cloned().collect();
        let traced = match current_tracer() {
            Some(tracer) => traced.map(|graph| tracer.as_backward_of_call(graph)),
            None => traced,
        };
        let mut found = record(traced, &self.predicate, &all)?.into_iter();
        Ok(wanted.into_iter().map(|w| if w { found.next() } else { None }).collect())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
