//! Nodes of the tape. A node computes gradients of its inputs from gradients of its outputs; edges lead to what made the inputs.
//!
//! Dropping a deep tape must not recurse: edges of a dying node are taken apart in a loop.

use diagnostics::error::{Error, Result};
use diagnostics::span::Span;
use dispatch::Value;
use shape::SymInt;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tensor::{Device, Dtype, Tensor};

use super::lift::{Lift, Lifted};
use super::meta;

thread_local! {
    /// The nodes that the engine is running, the innermost last.
    pub(super) static CURRENT: RefCell<Vec<Rc<Node>>> = const { RefCell::new(Vec::new()) };
    static SEQ: Cell<u64> = const { Cell::new(0) };
}

/// The number the next node will get (`torch.autograd._get_sequence_nr()`).
pub fn peek_seq_nr() -> u64 {
    SEQ.get()
}

/// Takes a sequence number.
pub fn next_seq_nr() -> u64 {
    SEQ.replace(SEQ.get() + 1)
}

/// Starts counting from a number, so that two runs of one program count alike.
pub fn set_seq_nr(next: u64) {
    SEQ.set(next);
}

/// Where a gradient goes: input `index` of a node.
#[derive(Clone)]
pub struct Edge {
    /// The node.
    pub node: Rc<Node>,
    /// Which of its inputs.
    pub index: usize,
}

/// What a gradient arriving at a node's input must look like.
#[derive(Clone)]
pub struct InputMeta {
    /// Sizes of the forward's output.
    pub sizes: Vec<SymInt>,
    /// Its dtype.
    pub dtype: Dtype,
    /// Its device.
    pub device: Device,
}

impl InputMeta {
    /// Of a tensor.
    pub fn of(t: &Tensor) -> Self {
        InputMeta { sizes: t.sizes(), dtype: t.dtype(), device: t.device() }
    }
}

/// What a node computes.
pub trait Body {
    /// Gradients of the inputs, one per edge, from gradients of the outputs. `None` is zero.
    fn apply(&self, node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>>;
    /// What it is to compiled autograd: what it keeps becomes inputs of a graph, and what it does there.
    fn lift(&self, node: &Rc<Node>, _lift: &mut Lift) -> Result<Lifted> {
        Err(Error::not_implemented(format!("compiled autograd: {} is not supported in the playground", node.full_name())))
    }
    /// Frees what was saved.
    fn release(&self) {}
    /// The edges that PyTorch's node has, in its order, as places among the node's own: none where a number stands, or nothing.
    /// `None` where they are the node's own.
    fn shown_edges(&self) -> Option<Vec<Option<usize>>> {
        None
    }
    /// What was saved, where a script may ask: of a compiled function.
    fn saved_tensors(&self, _node: &Rc<Node>) -> Option<Result<Vec<Tensor>>> {
        None
    }
    /// What was saved under a name, as PyTorch's nodes show it (`_saved_self`), and whether it is an int64 or several, which are shown
    /// without a sign; `None` where nothing is.
    fn saved_field(&self, _node: &Rc<Node>, _name: &str) -> Option<Result<(Value, bool)>> {
        None
    }
    /// Whether a script wrote it (`torch.autograd.Function`).
    fn is_custom_function(&self) -> bool {
        false
    }
    /// For rooms above that need to know which body this is.
    fn as_any(&self) -> &dyn Any;
}

/// A tensor hook: sees a gradient, which no gradient reached where it is `None`, and may replace it.
pub type GradHook = Hook<dyn Fn(Option<&Tensor>) -> Result<Option<Tensor>>>;
/// A node hook: sees gradients before (`pre`) or after the node ran and may replace them.
pub type NodeHook = Hook<dyn Fn(Vec<Option<Tensor>>, &[Option<Tensor>]) -> Result<Vec<Option<Tensor>>>>;

/// A hook: what the engine calls, and the script's function, which a graph calls.
pub struct Hook<F: ?Sized> {
    /// Calls it.
    pub call: Rc<F>,
    /// The script's function, as the room above knows it; none of a hook that is the project's own.
    pub function: Option<Rc<dyn Any>>,
}

impl<F: ?Sized> Clone for Hook<F> {
    fn clone(&self) -> Self {
        Hook { call: self.call.clone(), function: self.function.clone() }
    }
}

/// One function of the tape.
pub struct Node {
    /// `AddBackward0`.
    pub name: String,
    /// Its place in the order of the forward; `u64::MAX` for accumulators, which run first.
    pub seq_nr: u64,
    /// What made its inputs; `None` where no gradient is wanted.
    pub edges: RefCell<Vec<Option<Edge>>>,
    /// Per output of the forward, what its gradient must look like.
    pub inputs: RefCell<Vec<InputMeta>>,
    /// What it computes.
    pub body: Box<dyn Body>,
    /// Hooks on gradients of its outputs: input index, handle, hook.
    pub tensor_hooks: RefCell<Vec<(usize, u64, GradHook)>>,
    /// `retain_grad` on outputs: where the gradient is put, after the other hooks.
    pub retain_grad: RefCell<Vec<(usize, std::rc::Weak<tensor::TensorImpl>)>>,
    /// Hooks before it runs.
    pub pre_hooks: RefCell<Vec<(u64, NodeHook)>>,
    /// Hooks after it ran.
    pub post_hooks: RefCell<Vec<(u64, NodeHook)>>,
    /// The expression of the script that it is of; none of accumulators.
    pub span: Option<Span>,
    /// Where and when it was made, in anomaly mode.
    pub made: Option<Box<super::anomaly::Made>>,
    /// What the room above attaches (what Python knows of it).
    pub metadata: RefCell<Option<Box<dyn Any>>>,
}

impl Node {
    /// A node with the next sequence number.
    pub fn new(name: impl Into<String>, edges: Vec<Option<Edge>>, body: Box<dyn Body>) -> Rc<Node> {
        Self::with_seq_nr(name, next_seq_nr(), edges, body)
    }

    /// A node with a given sequence number.
    pub fn with_seq_nr(name: impl Into<String>, seq_nr: u64, edges: Vec<Option<Edge>>, body: Box<dyn Body>) -> Rc<Node> {
        Rc::new(Node {
            name: name.into(),
            seq_nr,
            edges: RefCell::new(edges),
            inputs: RefCell::default(),
            body,
            tensor_hooks: RefCell::default(),
            retain_grad: RefCell::default(),
            pre_hooks: RefCell::default(),
            post_hooks: RefCell::default(),
            span: if seq_nr == u64::MAX { None } else { diagnostics::source::current_span() },
            made: super::anomaly::made(),
            metadata: RefCell::default(),
        })
    }

    /// Its name as PyTorch's C++ calls it: nodes written by hand there have a namespace.
    pub fn full_name(&self) -> String {
        let by_hand = matches!(self.name.as_str(), "AccumulateGrad" | "CopySlices" | "CopyBackwards" | "NotImplemented");
        if by_hand { format!("torch::autograd::{}", self.name) } else { self.name.clone() }
    }

    /// What made its inputs, as a script sees it (`next_functions`).
    pub fn next_edges(self: &Rc<Node>) -> Vec<Option<Edge>> {
        let edges = self.edges.borrow();
        match self.body.shown_edges() {
            Some(shown) => shown.into_iter().map(|at| at.and_then(|at| edges.get(at).cloned().flatten())).collect(),
            None => edges.clone(),
        }
    }

    /// Adds an output of the forward; gives the index of its gradient.
    pub fn add_input(&self, t: &Tensor) -> usize {
        let mut inputs = self.inputs.borrow_mut();
        inputs.push(InputMeta::of(t));
        inputs.len() - 1
    }

    /// Whether the gradient of input `i` of the forward is wanted.
    pub fn should_compute(&self, i: usize) -> bool {
        self.edges.borrow().get(i).is_some_and(Option::is_some)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let mut pending: Vec<Rc<Node>> = self.edges.get_mut().drain(..).flatten().map(|e| e.node).collect();
        self.body.release();
        while let Some(node) = pending.pop() {
            if let Some(mut last) = Rc::into_inner(node) {
                pending.extend(last.edges.get_mut().drain(..).flatten().map(|e| e.node));
            }
        }
    }
}

/// Where the gradient of a tensor goes: its grad_fn, or the accumulator of a leaf that requires grad. A view made under no_grad
/// says that it requires grad because its base does, and has neither.
pub fn gradient_edge(t: &Tensor) -> Result<Option<Edge>> {
    if let Some((node, index)) = meta::grad_fn(t)? {
        return Ok(Some(Edge { node, index }));
    }
    Ok(if meta::is_marked(t) { Some(Edge { node: meta::accumulator(t), index: 0 }) } else { None })
}

/// The node that the engine is running.
pub fn current_node() -> Option<Rc<Node>> {
    CURRENT.with_borrow(|c| c.last().cloned())
}
