//! `flex_attention`: attention with functions that change and mask its scores. On values it is written out (`flex_math.rs`); while
//! tracing the functions are subgraphs, and its backward is `flex_attention_backward` with the joint graph of the first.

use super::flex_math::{attend, gradients, strides_like};
use super::operator::{HigherOrderCall, HigherOrderOperator};
use super::subgraphs::{forward_of, gradient_of_body, in_backward, record_values};
use crate::aot::trace::{Piece, current_tracer};
use crate::autograd::{Body, Node, gradient_edge, meta};
use crate::dispatch::{Value, modes};
use crate::error::{Error, Result};
use crate::graph::{Arg, Graph};
use crate::t;
use crate::tensor::{Dtype, Tensor, TensorSpec};
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// `torch.ops.higher_order.flex_attention`
pub(super) static FLEX_ATTENTION: HigherOrderOperator = HigherOrderOperator { name: "flex_attention", run, trace: Some(trace) };
/// `torch.ops.higher_order.flex_attention_backward`
pub(super) static FLEX_ATTENTION_BACKWARD: HigherOrderOperator =
    HigherOrderOperator { name: "flex_attention_backward", run: run_backward, trace: Some(trace_backward) };

/// A call's arguments.
pub(super) struct Flex<'g> {
    /// Queries, keys and values.
    pub tensors: [Tensor; 3],
    /// Changes a score.
    pub score: &'g Graph,
    /// Says which scores are left in.
    pub mask: &'g Graph,
    /// What the mask is by blocks, but for the function.
    blocks: Vec<Value>,
    /// By what scores are multiplied.
    pub scale: f64,
    /// The scale and what kernels are told, as they are written.
    written: [Arg; 2],
    /// What the first function reads besides.
    pub score_buffers: Vec<Value>,
    /// The same of the second.
    pub mask_buffers: Vec<Value>,
}

fn lacks() -> Error {
    Error::type_error("flex_attention lacks an argument")
}

impl<'g> Flex<'g> {
    /// Of a forward's call; a backward's has `extra` arguments behind the tensors, and a body more.
    fn of(call: &HigherOrderCall<'g>, extra: usize) -> Result<Self> {
        let (score, mask) = match *call.subgraphs.as_slice() {
            [score, mask] | [score, _, mask] => (score, mask),
            _ => return Err(lacks()),
        };
        let bodies = call.subgraphs.len() - 1;
        let tensor = |i: usize| call.args.get(i).ok_or_else(lacks)?.tensor().cloned();
        let after = 3 + extra + bodies;
        let list = |i: usize| call.args.get(i).map_or(Ok(Vec::new()), |v| v.list().map(<[Value]>::to_vec));
        let mut blocks = list(after)?;
        blocks.pop();
        let written = |i: usize| call.written.get(i).cloned().ok_or_else(lacks);
        Ok(Flex {
            tensors: [tensor(0)?, tensor(1)?, tensor(2)?],
            score,
            mask,
            blocks,
            scale: call.args.get(after + 1).ok_or_else(lacks)?.float()?,
            written: [written(after + 1)?, written(after + 2)?],
            score_buffers: list(after + 3)?,
            mask_buffers: list(after + 4)?,
        })
    }

    /// What the functions take: a score where `has_score`, and its position.
    fn examples(&self, has_score: bool) -> Result<Vec<Value>> {
        let query = &self.tensors[0];
        let scalar = |dtype| Tensor::fake(&TensorSpec::contiguous(Vec::new(), dtype, query.device())).map(Value::Tensor);
        let score = if has_score { vec![scalar(query.dtype())?] } else { Vec::new() };
        Ok(score.into_iter().chain((0..4).map(|_| scalar(Dtype::Int32)).collect::<Result<Vec<_>>>()?).collect())
    }

    fn score_graph(&self) -> Result<Graph> {
        forward_of(self.score, &[self.examples(true)?, self.score_buffers.clone()].concat())
    }

    fn mask_graph(&self) -> Result<Graph> {
        forward_of(self.mask, &[self.examples(false)?, self.mask_buffers.clone()].concat())
    }

    /// The arguments behind the bodies that come first; the mask's own is the last of its tuple.
    fn rest(&self, kind: &'static str, mask: Graph) -> Vec<Piece> {
        let mut blocks: Vec<Piece> = self.blocks.iter().cloned().map(Piece::One).collect();
        blocks.push(Piece::Fresh(kind, mask));
        let [scale, options] = self.written.clone();
        vec![
            Piece::Nested(blocks),
            Piece::Written(scale),
            Piece::Written(options),
            Piece::Tuple(self.score_buffers.clone()),
            Piece::Tuple(self.mask_buffers.clone()),
        ]
    }

    fn needs_grad(&self) -> bool {
        let buffers = self.score_buffers.iter().filter_map(Value::as_tensor);
        modes().grad && self.tensors.iter().chain(buffers).any(meta::requires_grad)
    }

    /// What remains of the call until its backward.
    fn kept(&self) -> Kept {
        Kept {
            tensors: self.tensors.clone(),
            score: self.score.clone(),
            mask: self.mask.clone(),
            blocks: self.blocks.clone(),
            scale: self.scale,
            written: self.written.clone(),
            score_buffers: self.score_buffers.clone(),
            mask_buffers: self.mask_buffers.clone(),
            results: RefCell::default(),
        }
    }

    /// The node of a call that is differentiated.
    fn node(&self) -> Result<Option<(Rc<Kept>, Rc<Node>)>> {
        if !self.needs_grad() {
            return Ok(None);
        }
        if self.mask_buffers.iter().filter_map(Value::as_tensor).any(meta::requires_grad) {
            return Err(Error::new(
                crate::error::ErrorKind::Assertion,
                "Captured buffers from mask mod that require grad are not supported.",
            ));
        }
        if self.blocks.get(7).is_none_or(Value::is_none) {
            return Err(Error::runtime(
                "BlockMask q_indices is None. Backward pass requires q_indices to be computed. Please create the BlockMask with compute_q_blocks=True",
            ));
        }
        let buffers = self.score_buffers.iter().filter_map(Value::as_tensor);
        let edges = self.tensors.iter().chain(buffers).map(gradient_edge).collect::<Result<Vec<_>>>()?;
        let kept = Rc::new(self.kept());
        let node = Node::new("FlexAttentionAutogradOpBackward", edges, Box::new(FlexBackward(kept.clone())));
        Ok(Some((kept, node)))
    }

    /// The joint graph of the change of a score.
    fn joint_graph(&self) -> Result<Graph> {
        let requires_grad: Vec<bool> =
            self.score_buffers.iter().map(|v| v.as_tensor().is_some_and(|t| meta::requires_grad(t) && t.dtype().is_floating())).collect();
        gradient_of_body(self.score, self.examples(true)?, &self.score_buffers, &requires_grad)
    }
}

/// What a backward needs of its forward.
struct Kept {
    tensors: [Tensor; 3],
    score: Graph,
    mask: Graph,
    blocks: Vec<Value>,
    scale: f64,
    written: [Arg; 2],
    score_buffers: Vec<Value>,
    mask_buffers: Vec<Value>,
    /// The attention and the log-sum-exp, without history.
    results: RefCell<Vec<Tensor>>,
}

impl Kept {
    fn call(&self) -> Flex<'_> {
        Flex {
            tensors: self.tensors.clone(),
            score: &self.score,
            mask: &self.mask,
            blocks: self.blocks.clone(),
            scale: self.scale,
            written: self.written.clone(),
            score_buffers: self.score_buffers.clone(),
            mask_buffers: self.mask_buffers.clone(),
        }
    }
}

/// Gives a call's results its node; the maximum has no derivative. Saved results are the backward's own.
fn with_node(made: Vec<Tensor>, node: Option<(Rc<Kept>, Rc<Node>)>) -> Result<Value> {
    if let Some((kept, node)) = node {
        made.iter().take(2).for_each(|t| meta::set_history(t, &node));
        let saved = made.iter().take(2).map(|t| t!("detach", t)).collect::<Result<_>>()?;
        kept.results.replace(saved);
    }
    Ok(Value::List(made.into_iter().map(Value::Tensor).collect()))
}

fn run(call: &HigherOrderCall) -> Result<Value> {
    let flex = Flex::of(call, 0)?;
    let node = flex.node()?;
    with_node(attend(&flex)?.into(), node)
}

fn trace(call: &HigherOrderCall) -> Result<Value> {
    let flex = Flex::of(call, 0)?;
    let node = flex.node()?;
    let [query, _, value] = &flex.tensors;
    let mut sizes = query.sizes();
    let rows = TensorSpec::contiguous(sizes[..3].to_vec(), Dtype::Float32, query.device());
    sizes[3] = value.size(3);
    let strides = strides_like(&sizes, &query.geometry());
    let out = TensorSpec::strided(sizes, strides, query.dtype(), query.device());
    let (score, mask) = (flex.score_graph()?, flex.mask_graph()?);
    let mut pieces: Vec<Piece> = flex.tensors.iter().map(|t| Piece::One(t.into())).collect();
    pieces.push(Piece::Fresh("sdpa_score", score));
    pieces.extend(flex.rest("sdpa_mask", mask));
    let results = [&out, &rows, &rows].into_iter().map(|spec| Tensor::fake(spec).map(Value::Tensor)).collect::<Result<Vec<_>>>()?;
    let made = record_values(FLEX_ATTENTION.name, pieces, results)?;
    with_node(made.into_iter().map(Value::into_tensor).collect::<Result<_>>()?, node)
}

/// The backward of a call.
struct FlexBackward(Rc<Kept>);

impl Body for FlexBackward {
    fn apply(&self, _node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        let flex = self.0.call();
        let saved = self.0.results.borrow().iter().map(|t| t!("detach", t)).collect::<Result<Vec<_>>>()?;
        let [out, lse] = saved.as_slice() else { return Err(Error::runtime("flex_attention kept no results")) };
        let joint = flex.joint_graph()?;
        let grad = |i: usize| grads.get(i).cloned().flatten();
        let found = match modes().fake && current_tracer().is_some() {
            true => recorded(&flex, joint, [out, lse], [grad(0), grad(1)])?,
            false => gradients(&flex, &joint, [out, lse], [grad(0).as_ref(), grad(1).as_ref()])?,
        };
        let [query, key, value, Value::List(of_buffers)] = found else { return Err(lacks()) };
        // Numbers among what the function reads have no edge.
        let of_tensors = flex.score_buffers.iter().zip(of_buffers).filter(|(buffer, _)| buffer.as_tensor().is_some()).map(|(_, grad)| grad);
        Ok([query, key, value].into_iter().chain(of_tensors).map(|v| v.as_tensor().cloned()).collect())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Records a backward.
fn recorded(flex: &Flex, joint: Graph, [out, lse]: [&Tensor; 2], grads: [Option<Tensor>; 2]) -> Result<[Value; 4]> {
    let like = |t: &Tensor| {
        let sizes = t.sizes();
        let strides = strides_like(&sizes, &t.geometry());
        Tensor::fake(&TensorSpec::strided(sizes, strides, t.dtype(), t.device())).map(Value::Tensor)
    };
    let has_grad: Vec<bool> = joint.outputs().iter().skip(5).map(|a| !matches!(a, Arg::None)).collect();
    let of_buffer = |(buffer, has_grad): (&Value, &bool)| match buffer.as_tensor().filter(|_| *has_grad) {
        Some(t) => Tensor::fake(&TensorSpec::contiguous(t.sizes(), t.dtype(), t.device())).map(Value::Tensor),
        None => Ok(Value::None),
    };
    let of_buffers = flex.score_buffers.iter().zip(&has_grad).map(of_buffer).collect::<Result<Vec<_>>>()?;
    let [query, key, value] = &flex.tensors;
    let results = vec![like(query)?, like(key)?, like(value)?, Value::List(of_buffers)];
    let score = in_backward(flex.score_graph()?);
    let (joint, mask) = (in_backward(joint), flex.mask_graph()?);
    let mut pieces: Vec<Piece> = flex.tensors.iter().chain([out, lse]).map(|t| Piece::One(t.into())).collect();
    pieces.extend(grads.into_iter().map(|grad| Piece::One(grad.into())));
    pieces.push(Piece::Fresh("fw_graph", score));
    pieces.push(Piece::Fresh("joint_graph", joint));
    pieces.extend(flex.rest("mask_graph", mask));
    let made = record_values(FLEX_ATTENTION_BACKWARD.name, pieces, results)?;
    <[Value; 4]>::try_from(made).map_err(|_| lacks())
}

/// A backward's call: results of the forward and their gradients.
fn of_backward<'g>(call: &HigherOrderCall<'g>) -> Result<(Flex<'g>, [Tensor; 2], [Option<Tensor>; 2], &'g Graph)> {
    let tensor = |i: usize| call.args.get(i).ok_or_else(lacks)?.tensor().cloned();
    let grad = |i: usize| call.args.get(i).and_then(Value::as_tensor).cloned();
    let joint = call.subgraphs.get(1).copied().ok_or_else(lacks)?;
    Ok((Flex::of(call, 4)?, [tensor(3)?, tensor(4)?], [grad(5), grad(6)], joint))
}

fn run_backward(call: &HigherOrderCall) -> Result<Value> {
    let (flex, [out, lse], [grad_out, grad_lse], joint) = of_backward(call)?;
    gradients(&flex, joint, [&out, &lse], [grad_out.as_ref(), grad_lse.as_ref()]).map(|found| Value::List(found.into()))
}

fn trace_backward(call: &HigherOrderCall) -> Result<Value> {
    let (flex, [out, lse], grads, joint) = of_backward(call)?;
    recorded(&flex, joint.clone(), [&out, &lse], grads).map(|found| Value::List(found.into()))
}
