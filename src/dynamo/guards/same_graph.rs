//! Whether two captured graphs are one computation, sizes as numbers: what a cache hit needs besides guards.

use crate::aot::subclass::made_alike;
use crate::aot::synthetic_base::overlapping;
use crate::dynamo::dynamic_shapes::value_of;
use crate::dynamo::output_graph::captured_graph::CapturedGraph;
use crate::dynamo::output_graph::graph_arg::GraphArg;
use crate::graph::{Arg, FakeValue, Graph, Node, NodeId, Opcode, Target};
use crate::shape::{SymInt, Symbol};
use crate::tensor::Tensor;
use std::collections::HashMap;

/// A captured graph and the values of its symbols.
struct Side<'a> {
    graph: &'a Graph,
    values: &'a HashMap<Symbol, i64>,
    /// The position of each node among those that are compared.
    order: Vec<usize>,
}

/// Whether only the run knows a number, also where it is over.
fn depends_on_run(size: &SymInt) -> bool {
    match size {
        SymInt::Sym(_, env) => size.expr().symbols().iter().any(|s| env.info(s).is_none_or(|info| info.hint.is_none())),
        SymInt::Int(_) => false,
    }
}

/// Whether a number is known when the call begins: of an input, or calculated from such numbers.
fn is_given(graph: &Graph, arg: &Arg) -> bool {
    let Arg::Node(id) = arg else { return matches!(arg, Arg::Int(_)) };
    let node = graph.node(*id);
    match (&node.opcode, &node.target, &node.meta.value) {
        (Opcode::Placeholder, ..) => true,
        (_, Target::Operator(_), Some(FakeValue::Int(_))) => node.args.iter().all(|arg| is_given(graph, arg)),
        (.., Some(FakeValue::Int(size))) => !depends_on_run(size),
        _ => false,
    }
}

/// Whether a node is a condition on numbers of the call, or checks one: a call in which nothing is marked makes none.
fn checks_input(graph: &Graph, node: &Node) -> bool {
    match (&node.meta.value, node.op(), node.args.first()) {
        (Some(FakeValue::Condition(_)), None, _) => node.args.iter().all(|arg| is_given(graph, arg)),
        (_, Some("aten._assert_scalar.default"), Some(Arg::Node(id))) => checks_input(graph, graph.node(*id)),
        _ => false,
    }
}

/// What a slice of everything is taken of, and in which dimension: indexing leaves such slices out where it knows the size as a number.
pub(in crate::dynamo) fn sliced_whole(node: &Node) -> Option<(NodeId, i64)> {
    match (node.op(), node.args.as_slice()) {
        (Some("aten.slice.Tensor"), [Arg::Node(of), Arg::Int(dim), Arg::Int(0), Arg::Int(i64::MAX), step @ ..]) => {
            step.iter().all(|s| matches!(s, Arg::Int(1))).then_some((*of, *dim))
        }
        _ => None,
    }
}

/// Calls are compared; sizes and floats are where they are read.
fn is_compared(graph: &Graph, node: &Node) -> bool {
    if checks_input(graph, node) || sliced_whole(node).is_some() {
        return false;
    }
    match &node.meta.value {
        // Where a number comes from that only the run knows is compared.
        Some(FakeValue::Int(size)) => depends_on_run(size) && node.op() == Some("aten._local_scalar_dense.default"),
        Some(FakeValue::SymFloat(float)) => {
            // What the run of an entry told is not asked.
            let is_of_run = float.expr.floats().iter().any(|symbol| float.env.float(symbol).is_none());
            is_of_run && node.op() == Some("aten._local_scalar_dense.default")
        }
        _ => true,
    }
}

impl<'a> Side<'a> {
    fn of(graph: &'a Graph, values: &'a HashMap<Symbol, i64>) -> Self {
        let mut order = vec![usize::MAX; graph.arena_len()];
        let mut count = 0..;
        for node in graph.nodes() {
            if let Some((of, _)) = sliced_whole(node) {
                order[node.id.0 as usize] = order[of.0 as usize];
            } else if is_compared(graph, node)
                && let Some(i) = count.next()
            {
                order[node.id.0 as usize] = i;
            }
        }
        Side { graph, values, order }
    }

    fn size(&self, arg: &Arg) -> Option<i64> {
        match arg {
            Arg::Int(i) => Some(*i),
            Arg::Node(id) => match &self.graph.node(*id).meta.value {
                Some(FakeValue::Int(size)) => value_of(size, self.values),
                _ => None,
            },
            _ => None,
        }
    }

    /// A float, or a size that only the run knows, as an expression.
    fn unknown(&self, id: NodeId) -> Option<String> {
        match &self.graph.node(id).meta.value {
            Some(FakeValue::SymFloat(float)) => Some(float.to_string()),
            Some(FakeValue::Int(size)) if value_of(size, self.values).is_none() => {
                Some(size.expr().substitute(&|s| self.values.get(s).map(|v| (*v).into())).to_string())
            }
            _ => None,
        }
    }
}

fn same_args<'a>(a: &Side, b: &Side, left: impl ExactSizeIterator<Item = &'a Arg>, right: impl ExactSizeIterator<Item = &'a Arg>) -> bool {
    left.len() == right.len() && left.zip(right).all(|(l, r)| same_arg(a, b, l, r))
}

fn same_arg(a: &Side, b: &Side, left: &Arg, right: &Arg) -> bool {
    if let (Some(l), Some(r)) = (a.size(left), b.size(right)) {
        return l == r;
    }
    match (left, right) {
        (Arg::Node(l), Arg::Node(r)) => match (a.unknown(*l), b.unknown(*r)) {
            (None, None) => a.size(left).is_none() && b.size(right).is_none() && a.order[l.0 as usize] == b.order[r.0 as usize],
            (l, r) => l == r,
        },
        (Arg::List(l) | Arg::Tuple(l), Arg::List(r) | Arg::Tuple(r)) => same_args(a, b, l.iter(), r.iter()),
        (Arg::Slice(l), Arg::Slice(r)) => same_args(a, b, l.iter(), r.iter()),
        (Arg::Dict(l), Arg::Dict(r)) => {
            l.iter().map(|(key, _)| key).eq(r.iter().map(|(key, _)| key))
                && same_args(a, b, l.iter().map(|(_, v)| v), r.iter().map(|(_, v)| v))
        }
        (Arg::None, Arg::None) | (Arg::Ellipsis, Arg::Ellipsis) => true,
        (Arg::Bool(l), Arg::Bool(r)) => l == r,
        (Arg::Float(l), Arg::Float(r)) => l.to_bits() == r.to_bits(),
        (Arg::Complex(l, m), Arg::Complex(r, s)) => l.to_bits() == r.to_bits() && m.to_bits() == s.to_bits(),
        (Arg::Str(l), Arg::Str(r)) | (Arg::Op(l), Arg::Op(r)) => l == r,
        (Arg::Dtype(l), Arg::Dtype(r)) => l == r,
        (Arg::Device(l), Arg::Device(r)) => l == r,
        (Arg::Layout(l), Arg::Layout(r)) => l == r,
        (Arg::MemoryFormat(l), Arg::MemoryFormat(r)) => l == r,
        _ => false,
    }
}

fn same_call(a: &Side, b: &Side, left: &Node, right: &Node) -> bool {
    if left.opcode == Opcode::Placeholder || right.opcode == Opcode::Placeholder {
        return left.opcode == right.opcode;
    }
    left.target == right.target
        && left.kwargs.iter().map(|(k, _)| k).eq(right.kwargs.iter().map(|(k, _)| k))
        && same_args(a, b, left.args.iter(), right.args.iter())
        && left.kwargs.iter().zip(&right.kwargs).all(|((_, l), (_, r))| same_arg(a, b, l, r))
}

/// Whether two constants of a graph hold the same: numbers that the script wrote may differ from call to call.
fn same_constant(a: &Tensor, b: &Tensor) -> bool {
    let (l, r) = (a.geometry(), b.geometry());
    let same_size = |(a, b): (&SymInt, &SymInt)| a.expr() == b.expr();
    let same_sizes = |a: &[SymInt], b: &[SymInt]| a.len() == b.len() && a.iter().zip(b).all(same_size);
    let same_bytes = || match (a.storage().bytes(), b.storage().bytes()) {
        (Ok(a), Ok(b)) => *a == *b,
        (a, b) => a.is_err() && b.is_err(),
    };
    let same_geometry = || same_sizes(&l.sizes, &r.sizes) && same_sizes(&l.strides, &r.strides) && same_size((&l.offset, &r.offset));
    a.is(b) || a.dtype() == b.dtype() && same_geometry() && same_bytes()
}

fn same_graph(a: &Graph, a_values: &HashMap<Symbol, i64>, b: &Graph, b_values: &HashMap<Symbol, i64>) -> bool {
    let (left, right) = (Side::of(a, a_values), Side::of(b, b_values));
    let mut ours = a.nodes().filter(|n| is_compared(a, n));
    let mut theirs = b.nodes().filter(|n| is_compared(b, n));
    loop {
        match (ours.next(), theirs.next()) {
            (Some(l), Some(r)) if same_call(&left, &right, l, r) => {}
            (None, None) => break,
            _ => return false,
        }
    }
    a.constants.len() == b.constants.len()
        && a.constants.iter().zip(&b.constants).all(|((m, l), (n, r))| m == n && same_constant(l, r))
        && a.subgraphs.len() == b.subgraphs.len()
        && a.subgraphs
            .iter()
            .zip(&b.subgraphs)
            .all(|((m, l), (n, r))| m == n && l.checkpoint_policy == r.checkpoint_policy && same_graph(l, a_values, r, b_values))
}

impl CapturedGraph {
    /// Whether another captured graph computes the same for its inputs, with these values of the symbols of each.
    pub(in crate::dynamo) fn repeats(&self, values: &HashMap<Symbol, i64>, other: &CapturedGraph, others: &HashMap<Symbol, i64>) -> bool {
        let sizes = |a: &[SymInt], b: &[SymInt]| {
            let known = |s: &SymInt, values| value_of(s, values);
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| known(a, values).is_some() && known(a, values) == known(b, others))
        };
        let base = |i: &GraphArg| i.spec.identity.base.as_ref().map(|b| (b.spec.annotation(), b.requires_grad));
        let same = |(a, b): (&GraphArg, &GraphArg)| {
            let (l, r) = (&a.spec.spec, &b.spec.spec);
            a.source.attribute == b.source.attribute
                && l.dtype == r.dtype
                && l.device == r.device
                && a.spec.requires_grad == b.spec.requires_grad
                && a.is_inference == b.is_inference
                && made_alike(&a.spec.subclass, &b.spec.subclass, &sizes)
                && sizes(&l.geometry.sizes, &r.geometry.sizes)
                && sizes(&l.geometry.strides, &r.geometry.strides)
        };
        let shared = |((a, b), (_, shared)): ((&GraphArg, &GraphArg), &(usize, bool))| {
            let (l, r) = (&a.spec.spec.geometry.offset, &b.spec.spec.geometry.offset);
            let same_offset = l.as_int().is_some() || sizes(std::slice::from_ref(l), std::slice::from_ref(r));
            !shared || same_offset && base(a) == base(b)
        };
        let pairs = || self.inputs.iter().zip(&other.inputs);
        // `StorageOverlap`: memory that inputs share is guarded where symbols stand for their geometry. Elsewhere a graph serves whatever
        // shares memory, and computes what it computes for what it was compiled for.
        let is_symbolic = |i: &GraphArg| {
            let geometry = &i.spec.spec.geometry;
            geometry.sizes.iter().chain(&geometry.strides).chain([&geometry.offset]).any(|s| s.as_int().is_none())
        };
        let guards_memory = self.inputs.iter().zip(&self.storages).any(|(i, (_, shared))| *shared && is_symbolic(i));
        let overlapping = |graph: &CapturedGraph| overlapping(graph.inputs.iter().map(|i| &i.spec));
        let same_memory =
            || self.storages == other.storages && overlapping(self) == overlapping(other) && pairs().zip(&self.storages).all(shared);
        self.grad == other.grad
            && self.autocast == other.autocast
            && self.inference == other.inference
            && self.state == other.state
            && self.inputs.len() == other.inputs.len()
            && (!guards_memory || same_memory())
            && pairs().all(same)
            && same_graph(&self.graph, values, &other.graph, others)
    }
}
