//! The engine: runs the tape backward, in order of falling sequence number among what is ready.

use super::accumulate::AccumulateGrad;
use super::anomaly;
use super::meta;
use super::node::{CURRENT, Edge, InputMeta, Node, next_seq_nr};
use super::ready::ReadyQueue;
use super::views::GradMode;
use diagnostics::error::{Error, Result};
use dispatch::t;
use shape::SymInt;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use tensor::Tensor;

thread_local! {
    /// The sequence number of the node that the backward under way, or the last one, ran last.
    static LAST: Cell<Option<u64>> = const { Cell::new(None) };
    static ADDING: Cell<bool> = const { Cell::new(false) };
    /// Backwards that are running, and the number of the next one.
    static TASKS: RefCell<(Vec<Rc<GraphTask>>, i64)> = const { RefCell::new((Vec::new(), 0)) };
}

/// The number of the backward that is running (`torch._C._current_graph_task_id()`); -1 outside of one.
pub fn current_graph_task() -> i64 {
    TASKS.with_borrow(|t| t.0.last().map_or(-1, |task| task.number))
}

/// Whether a checkpoint that runs a backward of its own may: none of the backwards that run is asked for the gradients of some inputs
/// alone.
pub fn is_checkpoint_valid() -> bool {
    TASKS.with_borrow(|t| t.0.iter().all(|task| task.needed.is_none()))
}

/// Whether the backward that is running executes a node, or hands out what arrives there (`torch._C._will_engine_execute_node`).
///
/// # Errors
/// PyTorch's: outside of a backward, and for a leaf whose gradient is asked for.
pub fn will_execute(node: &Rc<Node>) -> Result<bool> {
    let Some(task) = TASKS.with_borrow(|t| t.0.last().cloned()) else {
        return Err(Error::runtime(
            "_get_should_execute_nodes should only be called during the backward pass, and while a hook of it runs",
        ));
    };
    let nodes = task.nodes.get_or_init(|| dependencies(&task.roots).0.into_keys().collect());
    let key = node_key(node);
    let executed = nodes.contains(&key) && task.needed.as_ref().is_none_or(|needed| needed.contains(&key));
    if executed && task.needed.is_some() && node.edges.borrow().is_empty() {
        return Err(Error::runtime(
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is currently not supported.",
        ));
    }
    Ok(executed)
}

/// A backward that runs.
struct GraphTask {
    number: i64,
    roots: Vec<Edge>,
    /// The nodes that lead to what is asked for, and those asked for; `None` where all run.
    needed: Option<HashSet<usize>>,
    /// All nodes below the roots, once somebody asks.
    nodes: OnceCell<HashSet<usize>>,
}

/// While it lives, its backward is running.
struct RunningTask;

impl GraphTask {
    fn begin(roots: Vec<Edge>, needed: Option<HashSet<usize>>) -> (Rc<Self>, RunningTask) {
        TASKS.with_borrow_mut(|t| {
            let task = Rc::new(GraphTask { number: t.1, roots, needed, nodes: OnceCell::new() });
            t.0.push(task.clone());
            t.1 += 1;
            (task, RunningTask)
        })
    }
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        let ended = TASKS.with_borrow_mut(|t| t.0.pop());
        // Outside of the borrow: what ends with it may be a whole tape.
        drop(ended);
    }
}

thread_local! {
    static OPTIONS: std::cell::Cell<BackwardOptions> =
        const { std::cell::Cell::new(BackwardOptions { retain_graph: false, create_graph: false, more_rows: false }) };
}

/// How the backward under way runs.
pub fn options() -> BackwardOptions {
    OPTIONS.get()
}

/// Whether the backward under way was told to keep the graph (`retain_graph` or `create_graph`).
pub fn keeps_graph() -> bool {
    let options = options();
    options.retain_graph || options.create_graph
}

/// What the options were before: a hook may run a backward of its own.
struct OuterOptions(BackwardOptions);

impl Drop for OuterOptions {
    fn drop(&mut self) {
        OPTIONS.set(self.0);
    }
}

/// Whether the engine is adding up gradients that meet, which is the work of no node.
pub fn adding_up() -> bool {
    ADDING.get()
}

/// The sequence number of the node that a backward ran last: hooks between two nodes belong to it.
pub fn last_node() -> Option<u64> {
    LAST.get()
}

/// How a backward runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackwardOptions {
    /// `retain_graph`
    pub retain_graph: bool,
    /// `create_graph`
    pub create_graph: bool,
    /// Whether more rows of gradients follow (`is_grads_batched`): they need the graph, of which nobody asked that it is kept.
    pub more_rows: bool,
}

impl BackwardOptions {
    /// Whether the graph is needed after the backward.
    pub fn needs_graph(self) -> bool {
        self.retain_graph || self.create_graph || self.more_rows
    }
}

/// What a node is known by in the tables of a backward: its address.
pub fn node_key(node: &Rc<Node>) -> usize {
    Rc::as_ptr(node) as usize
}

/// How many edges lead to each node below `roots` (by [`node_key`]), and all these nodes in postorder: what a node needs comes
/// before it.
pub fn dependencies(roots: &[Edge]) -> (HashMap<usize, usize>, Vec<Rc<Node>>) {
    let mut count: HashMap<usize, usize> = HashMap::new();
    let mut order: Vec<Rc<Node>> = Vec::new();
    let mut seen = HashSet::new();
    let mut stack: Vec<(Rc<Node>, usize)> = Vec::new();
    for root in roots {
        *count.entry(node_key(&root.node)).or_insert(0) += 1;
        if seen.insert(node_key(&root.node)) {
            stack.push((root.node.clone(), 0));
        }
        // Depth first, so that `order` is a postorder.
        while let Some((node, at)) = stack.pop() {
            let next = node.edges.borrow().get(at).cloned();
            match next {
                Some(edge) => {
                    stack.push((node, at + 1));
                    if let Some(edge) = edge {
                        *count.entry(node_key(&edge.node)).or_insert(0) += 1;
                        if seen.insert(node_key(&edge.node)) {
                            stack.push((edge.node, 0));
                        }
                    }
                }
                None => order.push(node),
            }
        }
    }
    (count, order)
}

/// Which nodes of a postorder have an edge from which one of `inputs` is reached. An input itself is among them only if it
/// leads to another.
pub fn leading_to(inputs: &HashSet<usize>, order: &[Rc<Node>]) -> HashSet<usize> {
    let mut leads = HashSet::new();
    for node in order {
        let reaches = |e: &Edge| inputs.contains(&node_key(&e.node)) || leads.contains(&node_key(&e.node));
        if node.edges.borrow().iter().flatten().any(reaches) {
            leads.insert(node_key(node));
        }
    }
    leads
}

/// Runs backward from `roots` with their gradients. With `inputs`, nothing is accumulated: the gradients that arrive at them
/// are returned. Without, leaves accumulate into `.grad` and the result is empty.
pub fn run_backward(roots: Vec<(Edge, Tensor)>, inputs: Option<&[Edge]>, options: BackwardOptions) -> Result<Vec<Option<Tensor>>> {
    let root_edges: Vec<Edge> = roots.iter().map(|(e, _)| e.clone()).collect();
    let (mut dependencies, order) = dependencies(&root_edges);
    let needed: Option<HashSet<usize>> = inputs.map(|inputs| {
        let inputs: HashSet<usize> = inputs.iter().map(|e| node_key(&e.node)).collect();
        leading_to(&inputs, &order).into_iter().chain(inputs).collect()
    });
    drop(order);
    let mut captured: Vec<Option<Tensor>> = vec![None; inputs.map_or(0, <[Edge]>::len)];
    let mut buffers: HashMap<usize, Vec<Option<Tensor>>> = HashMap::new();
    let mut waiting: HashMap<usize, Rc<Node>> = HashMap::new();
    LAST.set(None);
    let mut ready = ReadyQueue::default();
    let _mode = GradMode::set(options.create_graph);
    let _outer = OuterOptions(OPTIONS.replace(options));
    let (task, _running) = GraphTask::begin(root_edges, needed);
    let needed = &task.needed;

    let deliver = |edge: &Edge,
                   grad: Option<Tensor>,
                   dependencies: &mut HashMap<usize, usize>,
                   buffers: &mut HashMap<usize, Vec<Option<Tensor>>>,
                   waiting: &mut HashMap<usize, Rc<Node>>,
                   ready: &mut ReadyQueue|
     -> Result<()> {
        let k = node_key(&edge.node);
        if needed.as_ref().is_some_and(|n| !n.contains(&k)) {
            return Ok(());
        }
        let width = edge.node.inputs.borrow().len().max(edge.index + 1);
        let buffer = buffers.entry(k).or_insert_with(|| vec![None; width]);
        if let Some(grad) = grad {
            let slot = &mut buffer[edge.index];
            *slot = Some(match slot.take() {
                Some(have) => {
                    ADDING.set(true);
                    let sum = t!("add.Tensor", have, grad);
                    ADDING.set(false);
                    sum?
                }
                None => grad,
            });
        }
        waiting.entry(k).or_insert_with(|| edge.node.clone());
        let left = dependencies.entry(k).or_insert(1);
        *left -= 1;
        if *left == 0 {
            ready.push(edge.node.seq_nr, k);
        }
        Ok(())
    };

    // Several roots hang on a node of their own, which takes a sequence number like any other.
    if roots.len() > 1 {
        next_seq_nr();
    }
    for (edge, grad) in roots {
        deliver(&edge, Some(grad), &mut dependencies, &mut buffers, &mut waiting, &mut ready)?;
    }
    while let Some(next_key) = ready.pop() {
        let (Some(node), Some(mut grads)) = (waiting.remove(&next_key), buffers.remove(&next_key)) else { continue };
        run_hooks(&node, &mut grads).inspect_err(|_| anomaly::tell(&node))?;
        if let Some(inputs) = inputs {
            let mut wanted_below = false;
            for (slot, edge) in captured.iter_mut().zip(inputs) {
                if node_key(&edge.node) == next_key {
                    *slot = grads.get(edge.index).cloned().flatten();
                }
            }
            if let Some(needed) = needed {
                wanted_below = node.edges.borrow().iter().flatten().any(|e| needed.contains(&node_key(&e.node)));
            }
            if !wanted_below {
                continue;
            }
        }
        let edges = node.edges.borrow().clone();
        // With inputs, only edges that lead to one are computed.
        if let Some(needed) = needed {
            let pruned = edges.iter().map(|e| e.clone().filter(|e| needed.contains(&node_key(&e.node)))).collect();
            *node.edges.borrow_mut() = pruned;
        }
        CURRENT.with_borrow_mut(|c| c.push(node.clone()));
        let result = call_node(&node, grads, options.needs_graph());
        CURRENT.with_borrow_mut(Vec::pop);
        LAST.set(Some(node.seq_nr));
        *node.edges.borrow_mut() = edges.clone();
        let outputs = result.and_then(|o| anomaly::check(&node, &o).map(|()| o)).inspect_err(|_| anomaly::tell(&node))?;
        // Gradients are checked and added up on behalf of the node that computed them.
        CURRENT.with_borrow_mut(|c| c.push(node.clone()));
        let delivered = validate(&node, &edges, outputs).and_then(|checked| {
            edges.iter().zip(checked).try_for_each(|(edge, grad)| match edge {
                Some(edge) => deliver(edge, grad, &mut dependencies, &mut buffers, &mut waiting, &mut ready),
                None => Ok(()),
            })
        });
        CURRENT.with_borrow_mut(Vec::pop);
        delivered?;
    }
    Ok(captured)
}

fn run_hooks(node: &Rc<Node>, grads: &mut Vec<Option<Tensor>>) -> Result<()> {
    let hooks = node.tensor_hooks.borrow().clone();
    for (index, _, hook) in hooks {
        if let Some(grad) = grads.get_mut(index)
            && let Some(replaced) = (hook.call)(grad.as_ref())?
        {
            *grad = Some(replaced);
        }
    }
    // Hooks on a leaf sit on the tensor, not on its accumulator.
    if let Some(accumulate) = node.body.as_any().downcast_ref::<AccumulateGrad>() {
        let hooks: Vec<_> = meta::peek(&accumulate.variable, |m| m.hooks.clone());
        for (_, hook) in hooks {
            if let Some(grad) = grads.first_mut()
                && let Some(replaced) = (hook.call)(grad.as_ref())?
            {
                *grad = Some(replaced);
            }
        }
    }
    let pre: Vec<_> = node.pre_hooks.borrow().clone();
    for (_, hook) in pre {
        *grads = (hook.call)(std::mem::take(grads), &[])?;
    }
    let retain: Vec<_> = node.retain_grad.borrow().clone();
    for (index, weak) in retain {
        if let (Some(t), Some(Some(grad))) = (Tensor::upgrade(&weak), grads.get(index)) {
            let total = match meta::grad(&t) {
                Some(have) => t!("add.Tensor", have, grad)?,
                None => grad.clone(),
            };
            meta::set_grad(&t, Some(total));
        }
    }
    Ok(())
}

fn call_node(node: &Rc<Node>, grads: Vec<Option<Tensor>>, retain: bool) -> Result<Vec<Option<Tensor>>> {
    let post: Vec<_> = node.post_hooks.borrow().clone();
    let seen = if post.is_empty() { Vec::new() } else { grads.clone() };
    let mut outputs = node.body.apply(node, grads)?;
    if !retain {
        node.body.release();
    }
    if post.is_empty() {
        return Ok(outputs);
    }
    // Hooks see the gradients of the edges that a script sees.
    let shown = node.body.shown_edges().unwrap_or_else(|| (0..outputs.len()).map(Some).collect());
    let at = |outputs: &[Option<Tensor>], slot: &Option<usize>| slot.and_then(|slot| outputs.get(slot).cloned().flatten());
    let mut grads: Vec<_> = shown.iter().map(|slot| at(&outputs, slot)).collect();
    for (_, hook) in post {
        grads = (hook.call)(grads, &seen)?;
    }
    for (slot, grad) in shown.iter().zip(grads) {
        if let Some(place) = slot.and_then(|slot| outputs.get_mut(slot)) {
            *place = grad;
        }
    }
    Ok(outputs)
}

/// Brings each gradient to the shape and dtype its receiver expects.
fn validate(node: &Rc<Node>, edges: &[Option<Edge>], outputs: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
    if outputs.len() < edges.len() {
        return Err(Error::runtime(format!(
            "Function {} returned an invalid number of gradients (expected {}, but got {})",
            node.name,
            edges.len(),
            outputs.len()
        )));
    }
    outputs
        .into_iter()
        .zip(edges)
        .enumerate()
        .map(|(i, (grad, edge))| match (grad, edge) {
            (Some(grad), Some(edge)) => {
                let expected = edge.node.inputs.borrow().get(edge.index).cloned();
                // Counted among the edges that a script sees.
                let index = || node.body.shown_edges().and_then(|shown| shown.iter().position(|at| *at == Some(i))).unwrap_or(i);
                expected.map_or(Ok(Some(grad.clone())), |m| fit_gradient(&node.name, index, grad, &m).map(Some))
            }
            _ => Ok(None),
        })
        .collect()
}

/// Brings gradient `index` of the node of a name to the sizes and the dtype that its receiver expects.
///
/// # Errors
/// PyTorch's, where its sizes can't be reduced to those.
pub fn fit_gradient(node: &str, index: impl FnOnce() -> usize, grad: Tensor, expected: &InputMeta) -> Result<Tensor> {
    // A real input of a complex result: only the real part reaches it.
    let grad = if grad.dtype().is_complex() && !expected.dtype.is_complex() { t!("real", grad)? } else { grad };
    let sizes = grad.sizes();
    let mut same = sizes.len() == expected.sizes.len();
    for (a, b) in sizes.iter().zip(&expected.sizes) {
        same = same && a.sym_eq(b.clone())?;
    }
    let grad = if same {
        grad
    } else {
        sum_to(&grad, &expected.sizes)?.ok_or_else(|| {
            Error::runtime(format!(
                "Function {node} returned an invalid gradient at index {} - got {sizes:?} but expected shape compatible with {:?}",
                index(),
                expected.sizes
            ))
        })?
    };
    if grad.dtype() != expected.dtype {
        return t!("_to_copy", grad; dtype = expected.dtype);
    }
    Ok(grad)
}

/// `at::sum_to`: reduces the dimensions along which `shape` was broadcast; `None` where it cannot have been.
fn sum_to(grad: &Tensor, shape: &[SymInt]) -> Result<Option<Tensor>> {
    let sizes = grad.sizes();
    let Some(lead) = sizes.len().checked_sub(shape.len()) else { return Ok(None) };
    let mut dims: Vec<i64> = (0..lead as i64).collect();
    for (i, want) in shape.iter().enumerate() {
        let have = &sizes[lead + i];
        if want.sym_eq(1)? {
            if !have.sym_eq(1)? {
                dims.push((lead + i) as i64);
            }
        } else if !have.sym_eq(want.clone())? {
            return Ok(None);
        }
    }
    let mut out = grad.clone();
    if shape.is_empty() {
        return t!("sum", out).map(Some);
    }
    if !dims.is_empty() {
        out = t!("sum.dim_IntList", out, dims, true)?;
    }
    if lead > 0 {
        out = t!("view", out, shape)?;
    }
    Ok(Some(out))
}
