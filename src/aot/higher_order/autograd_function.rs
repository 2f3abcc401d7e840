//! `autograd_function_apply`: a custom function's forward runs without autograd; a node keeps what its backward takes.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use crate::aot::functional_tensor::unwrap;
use crate::aot::interpret::run;
use crate::aot::trace::{current_tracer, set_unwatched};
use crate::autograd::{Body, InputMeta, Node, gradient_edge, keep_view, meta};
use crate::dispatch::{Modes, Value, modes, set_modes};
use crate::error::Result;
use crate::graph::Graph;
use crate::tensor::{Layout, Tensor, TensorSpec};
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

/// `torch.ops.higher_order.autograd_function_apply`
pub(super) static AUTOGRAD_FUNCTION_APPLY: HigherOrderOperator =
    HigherOrderOperator { name: "autograd_function_apply", run: apply_function, trace: None };

fn indices(keywords: &[(&str, Value)], name: &str) -> Result<HashSet<usize>> {
    let Some((_, value)) = keywords.iter().find(|(k, _)| *k == name) else { return Ok(HashSet::new()) };
    value.list()?.iter().map(|v| Ok(usize::try_from(v.int()?).unwrap_or(usize::MAX))).collect()
}

/// While it lives, grad mode is as asked.
struct GradMode(bool);

impl GradMode {
    fn set(grad: bool) -> Self {
        let before = set_modes(Modes { grad, ..modes() });
        GradMode(before.grad)
    }
}

impl Drop for GradMode {
    fn drop(&mut self) {
        set_modes(Modes { grad: self.0, ..modes() });
    }
}

fn apply_function(call: &HigherOrderCall) -> Result<Value> {
    let ([forward, backward], keywords, tell) = (call.bodies()?, &call.keywords, call.tell);
    let operands = &call.args[2..];
    let tensors: Vec<&Tensor> = operands.iter().filter_map(Value::as_tensor).collect();
    let differentiable = modes().grad && tensors.iter().any(|t| meta::requires_grad(t));
    let edges = tensors.iter().map(|t| gradient_edge(t)).collect::<Result<Vec<_>>>()?;
    let count = edges.len();
    let body = Rc::new(Kept::default());
    let node = differentiable.then(|| {
        let replay = Replay { body: backward.clone(), kept: body.clone(), count, tell };
        let node = Node::new("ApplyTemplateBackward", edges, Box::new(replay));
        if let Some(tracer) = current_tracer() {
            tracer.note_node(&node);
        }
        node
    });
    let mut returned = {
        let _no_grad = GradMode::set(false);
        run(forward, &mut operands.to_vec(), tell)?.into_iter()
    };
    let outputs = returned.next().unwrap_or_default();
    let saved = returned.next().map(|v| v.list().map(<[Value]>::to_vec)).transpose()?.unwrap_or_default();
    let watched = indices(keywords, "saved_for_backward_idx")?;
    for (i, value) in saved.iter().enumerate() {
        if let (false, Value::Tensor(t)) = (watched.contains(&i), value) {
            set_unwatched(&unwrap(t).unwrap_or_else(|_| t.clone()));
        }
    }
    let Some(node) = node else { return Ok(outputs) };
    let constant = indices(keywords, "non_differentiable_idx")?;
    let written = indices(keywords, "dirty_idx")?;
    let mut results = Vec::new();
    let is_differentiable = |(i, v): (usize, &Value)| !constant.contains(&i) && v.as_tensor().is_some_and(|t| !t.dtype().is_integral());
    let several = outputs.list()?.iter().enumerate().filter(|v| is_differentiable(*v)).count() > 1;
    for (i, value) in outputs.list()?.iter().enumerate() {
        let Value::Tensor(t) = value else {
            node.inputs.borrow_mut().push(InputMeta {
                sizes: Vec::new(),
                dtype: crate::tensor::Dtype::Float32,
                device: crate::tensor::Device::CPU,
            });
            body.specs.borrow_mut().push(None);
            results.push(value.clone());
            continue;
        };
        body.specs.borrow_mut().push(Some(t.spec()));
        if constant.contains(&i) || t.dtype().is_integral() {
            node.add_input(t);
            results.push(value.clone());
            continue;
        }
        if written.contains(&i) {
            crate::autograd::rebase_history(t, &node)?;
            results.push(value.clone());
            continue;
        }
        // An input as it is becomes a view of its own; a view remembers its base, and its gradient is the function's.
        let input = tensors.iter().find(|o| o.is(t)).copied();
        let own = if input.is_some() { own_handle(t)? } else { t.clone() };
        let info = meta::peek(t, |m| m.view.clone());
        meta::clear(&own);
        keep_view(&own, info, input, several);
        meta::set_history(&own, &node);
        results.push(Value::Tensor(own));
    }
    *body.saved.borrow_mut() = saved;
    Ok(Value::List(results))
}

/// The same values under another handle, without history.
fn own_handle(t: &Tensor) -> Result<Tensor> {
    let _no_grad = GradMode::set(false);
    crate::t!("detach", t)
}

/// What a replayed custom function keeps for its backward.
#[derive(Default)]
struct Kept {
    saved: RefCell<Vec<Value>>,
    specs: RefCell<Vec<Option<TensorSpec>>>,
}

/// The backward of a replayed custom function.
struct Replay {
    body: Graph,
    kept: Rc<Kept>,
    count: usize,
    tell: bool,
}

impl Body for Replay {
    fn apply(&self, _node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        let mut inputs = Vec::new();
        for (grad, spec) in grads.into_iter().zip(self.kept.specs.borrow().iter()) {
            match (grad, spec) {
                (Some(g), Some(_)) => inputs.push(Value::Tensor(g)),
                (None, Some(spec)) => {
                    inputs.push(Value::Tensor(
                        crate::t!("zeros", &spec.geometry.sizes; dtype = spec.dtype, layout = Layout::Strided, device = spec.device)?,
                    ));
                }
                (_, None) => {}
            }
        }
        inputs.extend(self.kept.saved.borrow().iter().cloned());
        let grad = modes().grad;
        let out = run(&self.body, &mut inputs, self.tell);
        set_modes(Modes { grad, ..modes() });
        let mut out: Vec<Option<Tensor>> = out?.into_iter().map(|v| v.as_tensor().cloned()).collect();
        out.resize(self.count, None);
        Ok(out)
    }

    fn is_custom_function(&self) -> bool {
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
