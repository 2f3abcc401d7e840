//! `mod_index`: indexing in a function that changes a score, as it is differentiated: its gradient is one operator, whose results at all
//! positions are added up.

use super::operator::{HigherOrderCall, HigherOrderOperator};
use crate::aot::functional_tensor::{unwrap, wrap};
use crate::aot::trace::current_tracer;
use crate::autograd::{Body, Node, gradient_edge, meta};
use crate::dispatch::{Exclude, Key, Value, modes};
use crate::error::{Error, Result};
use crate::graph::{Arg, Graph, Target};
use crate::shape::SymInt;
use crate::t;
use crate::tensor::{Tensor, TensorSpec};
use std::any::Any;
use std::rc::Rc;

pub(super) static MOD_INDEX: HigherOrderOperator = HigherOrderOperator { name: "mod_index", run, trace: None };

/// The gradient's operator.
pub const ZEROS_AND_SCATTER: &str = "flex_lib.zeros_and_scatter.default";

fn run(call: &HigherOrderCall) -> Result<Value> {
    match call.args.as_slice() {
        [Value::Tensor(t), indices, ..] => index(t, indices.list()?).map(Value::Tensor),
        _ => Err(Error::type_error("mod_index takes a tensor and indices")),
    }
}

/// A tensor at indices; without any, a tensor without dimensions as it is.
pub(super) fn index(t: &Tensor, indices: &[Value]) -> Result<Tensor> {
    let made = {
        let _below = Exclude::down_to(Key::Autograd);
        if indices.is_empty() { t!("view", t, Vec::<i64>::new())? } else { t!("index.Tensor", t, Value::List(indices.to_vec()))? }
    };
    if modes().grad && meta::requires_grad(t) {
        let body = Scatter { spec: t.spec(), indices: indices.to_vec() };
        let node = Node::new("ModIndexBackward", vec![gradient_edge(t)?], Box::new(body));
        meta::set_history(&made, &node);
    }
    Ok(made)
}

/// Writes every index among the calls of a body as `mod_index`.
pub(super) fn with_own_gradient(body: &Graph) -> Graph {
    let mut graph = body.clone();
    let has_all =
        |args: &[Arg]| matches!(args.get(1), Some(Arg::List(items) | Arg::Tuple(items)) if items.iter().all(|i| matches!(i, Arg::Node(_))));
    let calls: Vec<_> = graph.nodes().filter(|n| n.op() == Some("aten.index.Tensor") && has_all(&n.args)).map(|n| n.id).collect();
    for id in calls {
        graph.node_mut(id).target = Target::HigherOrder(MOD_INDEX.name.into());
    }
    graph
}

struct Scatter {
    /// What was indexed.
    spec: TensorSpec,
    indices: Vec<Value>,
}

impl Body for Scatter {
    fn apply(&self, _node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        let Some(grad) = grads.into_iter().next().flatten() else { return Ok(vec![None]) };
        let sizes = &self.spec.geometry.sizes;
        let Some(tracer) = current_tracer().filter(|_| modes().fake) else {
            return zeros_and_scatter(sizes, &self.indices, &grad).map(|t| vec![Some(t)]);
        };
        let result = Tensor::fake(&TensorSpec::contiguous(sizes.clone(), self.spec.dtype, self.spec.device))?;
        let indices = self.indices.iter().map(|v| v.map_tensors(&mut unwrap)).collect::<Result<_>>()?;
        let args = [Value::List(sizes.iter().cloned().map(Value::Int).collect()), Value::List(indices), unwrap(&grad)?.into()];
        tracer.record_by_text(ZEROS_AND_SCATTER, "zeros_and_scatter", &args, &result)?;
        Ok(vec![Some(wrap(&result)?)])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Zeros of some sizes, with values added at indices.
pub fn zeros_and_scatter(sizes: &[SymInt], indices: &[Value], values: &Tensor) -> Result<Tensor> {
    if indices.is_empty() {
        return Ok(values.clone());
    }
    let zeros = t!("new_zeros", values, sizes)?;
    t!("index_put", zeros, Value::List(indices.to_vec()), values, true)
}
