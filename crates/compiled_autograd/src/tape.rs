//! The tape behind a backward, node by node in the order in which PyTorch's compiled autograd calls them.

use autograd::lift::{Lift, Lifted, Packed};
use autograd::{Edge, Node, dependencies, leading_to, lift_node, meta, metadata, node_key};
use diagnostics::error::{Error, Result};
use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use tensor::{Tensor, TensorImpl};

/// Where a gradient goes.
#[derive(Clone)]
pub struct Next {
    /// The node, by address.
    pub node: usize,
    /// Which of its gradients.
    pub index: usize,
    /// What that must look like.
    pub metadata: Packed,
}

/// A tensor whose gradient is kept, where a node has it (`retain_grad`).
pub type Retained = std::rc::Weak<TensorImpl>;

/// One node's call.
pub struct NodeCall {
    /// The node; the first call has none: it gives the gradients that the backward starts with.
    pub node: Option<Rc<Node>>,
    /// As the graph's comments name it.
    pub name: String,
    /// What it is in the graph; none of a node that is asked for its gradient alone.
    pub lifted: Option<Lifted>,
    /// Where its gradients go.
    pub next: Vec<Option<Next>>,
    /// How many gradients it is given.
    pub width: usize,
    /// Hooks on its gradients: the number of the hook, and which gradient.
    pub tensor_pre_hooks: Vec<(usize, usize)>,
    /// Gradients that are kept: the number of the tensor among the retained, and which gradient.
    pub retained: Vec<(usize, usize)>,
    /// Hooks before it, by number.
    pub pre_hooks: Vec<usize>,
    /// Hooks after it.
    pub post_hooks: Vec<usize>,
    /// Hooks after a leaf's gradient is accumulated.
    pub post_acc_grad_hooks: Vec<usize>,
    /// Gradients that the backward gives: which, and its place among the results.
    pub outputs: Vec<(usize, usize)>,
    /// How many sizes were lifted when it was done.
    pub sizes: usize,
}

/// The tape, taken apart.
pub struct Tape {
    /// Calls in order.
    pub calls: Vec<NodeCall>,
    /// Inputs, sizes, hooks.
    pub lift: Lift,
    /// Tensors that retain their gradient.
    pub retained: Vec<Retained>,
    /// Key of each call: tapes with equal keys have one graph.
    pub keys: Vec<Vec<u8>>,
    /// How many gradients it gives.
    pub num_outputs: usize,
}

/// Nodes that lead to an input, and those that are inputs and lead to none.
struct Executed {
    leads: HashSet<usize>,
    captured: HashSet<usize>,
}

impl Executed {
    fn of(inputs: &[Edge], order: &[Rc<Node>]) -> Self {
        let captured: HashSet<usize> = inputs.iter().map(|e| node_key(&e.node)).collect();
        Executed { leads: leading_to(&captured, order), captured }
    }

    fn has(&self, node: &Rc<Node>) -> bool {
        self.leads.contains(&node_key(node)) || self.captured.contains(&node_key(node))
    }
}

/// Numbers of nodes, in the order in which they are met.
#[derive(Default)]
struct Numbers(HashMap<usize, usize>);

impl Numbers {
    fn of(&mut self, node: usize) -> usize {
        let next = self.0.len();
        *self.0.entry(node).or_insert(next)
    }
}

impl Tape {
    /// Takes apart the tape behind `roots`, with the gradients that come there. `inputs`: edges whose gradients are wanted;
    /// `accumulates`: they are accumulated, as all leaves are where no inputs are given.
    ///
    /// # Errors
    /// Of saved values that were written to or freed, and of nodes that a graph can't have.
    pub fn new(roots: &[(Edge, Tensor)], inputs: Option<&[Edge]>, accumulates: bool) -> Result<Tape> {
        let edges: Vec<Edge> = roots.iter().map(|(edge, _)| edge.clone()).collect();
        let (mut count, order) = dependencies(&edges);
        let executed = inputs.map(|inputs| Executed::of(inputs, &order));
        // They are results even where leaves accumulate them.
        let outputs = inputs.unwrap_or(&[]);
        let mut numbers = Numbers::default();
        let mut tape =
            Tape { calls: Vec::new(), lift: Lift::default(), retained: Vec::new(), keys: Vec::new(), num_outputs: outputs.len() };
        for output in outputs {
            numbers.of(node_key(&output.node));
        }
        if let Some(executed) = &executed {
            tape.lift.executes(Some(executed.leads.union(&executed.captured).copied().collect()));
        }
        tape.root(roots, &edges, &mut numbers)?;
        let mut worklist: Vec<Rc<Node>> = Vec::new();
        let mut reach = |edges: &[Option<Edge>], worklist: &mut Vec<Rc<Node>>| {
            for edge in edges.iter().flatten() {
                if executed.as_ref().is_some_and(|e| !e.has(&edge.node)) {
                    continue;
                }
                let left = count.entry(node_key(&edge.node)).or_insert(1);
                *left -= 1;
                if *left == 0 {
                    worklist.push(edge.node.clone());
                }
            }
        };
        reach(&edges.into_iter().map(Some).collect::<Vec<_>>(), &mut worklist);
        while let Some(node) = worklist.pop() {
            let needed = executed.as_ref().is_none_or(|e| e.leads.contains(&node_key(&node)) || accumulates);
            tape.node(&node, needed, outputs, &mut numbers)?;
            let next = node.edges.borrow().clone();
            reach(&next, &mut worklist);
        }
        Ok(tape)
    }

    /// The leaves whose gradients it accumulates, by their numbers among the inputs.
    pub fn leaves(&self) -> Vec<usize> {
        let leaf = |call: &NodeCall| match &call.lifted {
            Some(Lifted::Accumulate { variable: Some(Packed::Tensor(leaf)), .. }) => Some(*leaf),
            _ => None,
        };
        self.calls.iter().filter_map(leaf).collect()
    }

    fn root(&mut self, roots: &[(Edge, Tensor)], edges: &[Edge], numbers: &mut Numbers) -> Result<()> {
        self.lift.specialize("torch::autograd::GraphRoot");
        let given = roots.iter().map(|(_, grad)| self.lift.tensor(grad)).collect();
        let edges: Vec<Option<Edge>> = edges.iter().cloned().map(Some).collect();
        let next = self.next(&edges, numbers)?;
        self.push(NodeCall {
            node: None,
            name: "torch::autograd::GraphRoot".to_owned(),
            lifted: Some(Lifted::Root(given)),
            next,
            width: 0,
            tensor_pre_hooks: Vec::new(),
            retained: Vec::new(),
            pre_hooks: Vec::new(),
            post_hooks: Vec::new(),
            post_acc_grad_hooks: Vec::new(),
            outputs: Vec::new(),
            sizes: 0,
        });
        Ok(())
    }

    fn push(&mut self, mut call: NodeCall) {
        call.sizes = self.lift.sizes.len();
        self.keys.push(self.lift.take_key());
        self.calls.push(call);
    }

    fn next(&mut self, edges: &[Option<Edge>], numbers: &mut Numbers) -> Result<Vec<Option<Next>>> {
        let mut next: Vec<Option<Next>> = Vec::with_capacity(edges.len());
        for edge in edges {
            let Some(edge) = edge else {
                self.lift.specialize("-");
                next.push(None);
                continue;
            };
            self.lift.number(numbers.of(node_key(&edge.node)));
            self.lift.number(edge.index);
            let expected = edge.node.inputs.borrow().get(edge.index).cloned();
            let metadata = match &expected {
                Some(expected) => metadata(&mut self.lift, expected)?,
                None => Packed::None,
            };
            next.push(Some(Next { node: node_key(&edge.node), index: edge.index, metadata }));
        }
        // Two edges to one place have one description, which has the sizes that were lifted last.
        for i in (0..next.len()).rev() {
            let Some(last) = next[i].clone() else { continue };
            for earlier in next[..i].iter_mut().flatten().filter(|n| n.node == last.node && n.index == last.index) {
                earlier.metadata = last.metadata.clone();
            }
        }
        Ok(next)
    }

    fn node(&mut self, node: &Rc<Node>, needed: bool, outputs: &[Edge], numbers: &mut Numbers) -> Result<()> {
        let lift = &mut self.lift;
        lift.number(numbers.of(node_key(node)));
        lift.specialize(&node.name);
        let outputs: Vec<(usize, usize)> =
            outputs.iter().enumerate().filter(|(_, e)| Rc::ptr_eq(&e.node, node)).map(|(place, e)| (e.index, place)).collect();
        lift.specialize(format_args!("{outputs:?}"));
        let leaf = autograd::accumulated_variable(node);
        let mut tensor_pre_hooks = Vec::new();
        for (index, _, hook) in node.tensor_hooks.borrow().iter() {
            tensor_pre_hooks.push((lift_hook(lift, &hook.function)?, *index));
        }
        if let Some(leaf) = &leaf {
            for (_, hook) in meta::peek(leaf, |m| m.hooks.clone()) {
                tensor_pre_hooks.push((lift_hook(lift, &hook.function)?, 0));
            }
        }
        let mut retained = Vec::new();
        for (index, tensor) in node.retain_grad.borrow().iter() {
            self.retained.push(tensor.clone());
            retained.push((self.retained.len() - 1, *index));
        }
        lift.specialize(format_args!("{tensor_pre_hooks:?} {retained:?}"));
        let pre_hooks = node.pre_hooks.borrow().iter().map(|(_, hook)| lift_hook(lift, &hook.function)).collect::<Result<Vec<_>>>()?;
        let post_hooks = node.post_hooks.borrow().iter().map(|(_, hook)| lift_hook(lift, &hook.function)).collect::<Result<Vec<_>>>()?;
        lift.specialize(format_args!("{pre_hooks:?} {post_hooks:?} {needed}"));
        let (mut lifted, mut next, mut post_acc_grad_hooks) = (None, Vec::new(), Vec::new());
        if needed {
            lifted = Some(lift_node(node, lift)?);
            if let Some(leaf) = &leaf {
                let hooks = meta::peek(leaf, |m| m.post_accumulate_hooks.clone());
                post_acc_grad_hooks = hooks.iter().map(|(_, hook)| lift_hook(lift, &hook.function)).collect::<Result<Vec<_>>>()?;
                lift.specialize(format_args!("{post_acc_grad_hooks:?}"));
            }
            let edges = edges_in_graph(node, lifted.as_ref());
            next = self.next(&edges, numbers)?;
        }
        let width = node.inputs.borrow().len().max(1);
        let name = node.full_name();
        self.push(NodeCall {
            node: Some(node.clone()),
            name,
            lifted,
            next,
            width,
            tensor_pre_hooks,
            retained,
            pre_hooks,
            post_hooks,
            post_acc_grad_hooks,
            outputs,
            sizes: 0,
        });
        Ok(())
    }
}

fn lift_hook(lift: &mut Lift, function: &Option<Rc<dyn Any>>) -> Result<usize> {
    let none =
        || Error::not_implemented("compiled autograd: a hook that a compiled function registered is not supported in the playground");
    function.as_ref().map(|function| lift.object(function.clone())).ok_or_else(none)
}

/// The edges that the node's call in the graph has: those of arguments that have gradients.
fn edges_in_graph(node: &Rc<Node>, lifted: Option<&Lifted>) -> Vec<Option<Edge>> {
    let own = node.edges.borrow();
    let inner = match lifted {
        Some(Lifted::CopySlices { inner, .. }) => Some(&**inner),
        other => other,
    };
    match inner {
        Some(Lifted::Call { edges, .. }) => edges.iter().map(|slot| slot.and_then(|slot| own.get(slot).cloned().flatten())).collect(),
        _ => own.clone(),
    }
}
