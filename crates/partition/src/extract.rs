//! Cutting the forward and the backward out of a joint graph.
//!
//! A part is what can be computed from its inputs and is needed for its outputs. Nodes keep their names, so that a value
//! that is recomputed carries the same name in both parts.

use super::joint::{
    Joint, index, is_backward_state, is_bwd_seed_offset, is_copy_, is_fwd_seed_offset, is_primal, is_tangent, must_be_in_backward,
    must_be_in_forward,
};
use super::op_sets::is_impure;
use diagnostics::error::{Error, ErrorKind, Result};
use graph::{Arg, FakeValue, Graph, NodeId, Opcode, Target};
use shape::{Expr, SymInt, Symbol};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Which part is cut out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The forward.
    Forward,
    /// The backward.
    Backward,
}

/// The calls of a part, in order, and what it returns.
pub(super) struct Kept {
    pub(super) nodes: Vec<NodeId>,
    /// Calls that could be computed but are not needed: only their names are taken.
    dropped: Vec<bool>,
    pub(super) outputs: Vec<Arg>,
}

/// The calls that compute the outputs from the inputs alone.
pub(super) fn kept_nodes(joint: &Joint, inputs: &[NodeId], outputs: &[Arg], side: Side, random_is_impure: bool) -> Result<Kept> {
    let graph = joint.graph;
    let mut valid = vec![false; graph.arena_len()];
    for id in inputs {
        valid[index(*id)] = true;
    }
    let mut nodes = Vec::new();
    for node in graph.nodes() {
        let at = index(node.id);
        if valid[at] {
            continue;
        }
        if (must_be_in_backward(node) && side != Side::Backward) || (must_be_in_forward(node) && side != Side::Forward) {
            continue;
        }
        valid[at] = match node.opcode {
            Opcode::Placeholder | Opcode::Output => false,
            Opcode::GetAttr => true,
            Opcode::Call => joint.inputs[at].iter().all(|i| valid[index(*i)]),
        };
        if valid[at] {
            nodes.push(node.id);
        }
    }
    let outputs = outputs
        .iter()
        .map(|output| match output {
            Arg::Node(id) if !valid[index(*id)] => {
                // A write to an input that belongs to the backward: the forward returns the input itself.
                let node = graph.node(*id);
                match node.args.first() {
                    Some(Arg::Node(base)) if is_copy_(node) && must_be_in_backward(node) && valid[index(*base)] => Ok(Arg::Node(*base)),
                    _ => Err(Error::new(ErrorKind::Assertion, format!("Node {} was invalid, but is output", node.name))),
                }
            }
            other => Ok(other.clone()),
        })
        .collect::<Result<Vec<_>>>()?;
    let mut uses = vec![0usize; graph.arena_len()];
    for id in &nodes {
        joint.inputs[index(*id)].iter().for_each(|i| uses[index(*i)] += 1);
    }
    for output in &outputs {
        output.for_each_node(&mut |n| uses[index(n)] += 1);
    }
    let mut kept = Vec::with_capacity(nodes.len());
    let mut dropped = vec![false; graph.arena_len()];
    for id in nodes.into_iter().rev() {
        if uses[index(id)] > 0 || is_impure(graph.node(id), random_is_impure) {
            kept.push(id);
        } else {
            joint.inputs[index(id)].iter().for_each(|i| uses[index(*i)] -= 1);
            dropped[index(id)] = true;
        }
    }
    kept.reverse();
    Ok(Kept { nodes: kept, dropped, outputs })
}

/// A part as a graph of its own.
fn build(joint: &Joint, inputs: &[NodeId], kept: &Kept) -> Result<Graph> {
    let source = joint.graph;
    let mut graph = Graph::new("GraphModule");
    let mut env: Vec<Option<NodeId>> = vec![None; source.arena_len()];
    for id in inputs {
        let node = source.node(*id);
        env[index(*id)] = Some(graph.placeholder(&node.name, node.meta.clone()));
    }
    let mut missing = None;
    let mut wanted = kept.nodes.iter().peekable();
    for node in source.nodes() {
        // Names in the order torch.fx gives them, which later names continue.
        if kept.dropped[index(node.id)] {
            graph.reserve_name(&node.name);
        }
        let Some(id) = wanted.next_if(|id| **id == node.id) else { continue };
        let mut map = |n: NodeId| match env[index(n)] {
            Some(new) => Arg::Node(new),
            None => {
                missing = Some(n);
                Arg::None
            }
        };
        let new = graph.copy_node(node, &mut map);
        env[index(*id)] = Some(new);
        if let (Opcode::GetAttr, Target::Name(name)) = (node.opcode, &node.target) {
            adopt_attribute(&mut graph, source, name);
        }
    }
    let mut map = |n: NodeId| match env[index(n)] {
        Some(new) => Arg::Node(new),
        None => {
            missing = Some(n);
            Arg::None
        }
    };
    let outputs = kept.outputs.iter().map(|o| o.map_nodes(&mut map)).collect();
    if let Some(id) = missing {
        return Err(Error::runtime(format!("Node {} couldn't be found in env", source.node(id).name)));
    }
    graph.set_output(Arg::Tuple(outputs));
    Ok(graph)
}

/// Takes over a subgraph or constant that a `get_attr` node names.
fn adopt_attribute(graph: &mut Graph, source: &Graph, name: &Rc<str>) {
    if let Some((_, subgraph)) = source.subgraphs.iter().find(|(n, _)| n == name)
        && !graph.subgraphs.iter().any(|(n, _)| n == name)
    {
        graph.subgraphs.push((name.clone(), subgraph.clone()));
    }
    if let Some((_, constant)) = source.constants.iter().find(|(n, _)| n == name)
        && !graph.constants.iter().any(|(n, _)| n == name)
    {
        graph.constants.push((name.clone(), constant.clone()));
    }
}

/// Forward and backward, and what is really saved: the first list without what the backward does not read, the second with
/// every symbol that a size in the backward needs.
pub(super) struct Modules {
    pub(super) forward: Graph,
    pub(super) backward: Graph,
    pub(super) saved_values: Vec<NodeId>,
    pub(super) saved_sym_nodes: Vec<NodeId>,
}

/// Cuts out both parts, given what is to be saved.
pub(super) fn extract_fwd_bwd_modules(
    joint: &Joint,
    mut saved_values: Vec<NodeId>,
    mut saved_sym_nodes: Vec<NodeId>,
    random_is_impure: bool,
) -> Result<Modules> {
    let graph = joint.graph;
    let (fwd_outputs, bwd_outputs) = joint.outputs();
    let pick = |test: &dyn Fn(&graph::Node) -> bool| graph.nodes().filter(|n| test(n)).map(|n| n.id).collect::<Vec<_>>();
    let tangents = pick(&is_tangent);
    let bwd_seeds = pick(&is_bwd_seed_offset);
    let mut fwd_inputs = pick(&is_primal);
    fwd_inputs.extend(pick(&is_fwd_seed_offset));

    let states = pick(&is_backward_state);
    saved_values.retain(|id| !states.contains(id));

    let handed = [tangents.clone(), bwd_seeds, states].concat();
    let bwd_inputs: Vec<NodeId> = saved_sym_nodes.iter().chain(&saved_values).chain(&handed).copied().collect();
    let kept = kept_nodes(joint, &bwd_inputs, &bwd_outputs, Side::Backward, random_is_impure)?;
    let mut read = vec![false; graph.arena_len()];
    kept.nodes.iter().flat_map(|id| &joint.inputs[index(*id)]).for_each(|input| read[index(*input)] = true);
    for output in &kept.outputs {
        output.for_each_node(&mut |n| read[index(n)] = true);
    }
    saved_values.retain(|id| read[index(*id)]);
    saved_sym_nodes.retain(|id| read[index(*id)]);

    // What is not watched for writes comes last; a stable order otherwise.
    saved_values.sort_by_key(|id| graph.node(*id).meta.no_version_check);

    saved_sym_nodes = with_bindings(joint, &saved_values, &saved_sym_nodes, &tangents);

    let saved = saved_values.iter().chain(&saved_sym_nodes).map(|id| Arg::Node(*id));
    let fwd_all: Vec<Arg> = fwd_outputs.into_iter().chain(saved).collect();
    let bwd_inputs: Vec<NodeId> = saved_sym_nodes.iter().chain(&saved_values).chain(&handed).copied().collect();
    let fwd_kept = kept_nodes(joint, &fwd_inputs, &fwd_all, Side::Forward, random_is_impure)?;
    let bwd_kept = kept_nodes(joint, &bwd_inputs, &bwd_outputs, Side::Backward, random_is_impure)?;
    let forward = build(joint, &fwd_inputs, &fwd_kept)?;
    let mut backward = build(joint, &bwd_inputs, &bwd_kept)?;
    let calls: Vec<NodeId> = backward.nodes().filter(|n| matches!(n.opcode, Opcode::Call | Opcode::GetAttr)).map(|n| n.id).collect();
    for id in calls {
        let meta = &mut backward.node_mut(id).meta;
        (meta.is_backward, meta.own_source) = (true, false);
    }
    Ok(Modules { forward, backward, saved_values, saved_sym_nodes })
}

/// Symbolic numbers to save: those that are a bare symbol first, with every other symbol in the sizes of what the backward
/// takes; then those computed from symbols.
pub(super) fn with_bindings(joint: &Joint, saved_values: &[NodeId], saved_sym_nodes: &[NodeId], tangents: &[NodeId]) -> Vec<NodeId> {
    let graph = joint.graph;
    let mut binders: BTreeMap<Symbol, NodeId> = BTreeMap::new();
    for node in graph.placeholders() {
        if let Some(symbol) = bound_symbol(graph, node.id) {
            binders.entry(symbol).or_insert(node.id);
        }
    }
    let mut known: BTreeSet<Symbol> = BTreeSet::new();
    let (mut binding, mut derived) = (Vec::new(), Vec::new());
    for id in saved_sym_nodes {
        match bound_symbol(graph, *id) {
            Some(symbol) => {
                known.insert(symbol);
                binding.push(*id);
            }
            None => derived.push(*id),
        }
    }
    for id in derived.iter().chain(saved_values).chain(tangents) {
        let Some(value) = &graph.node(*id).meta.value else { continue };
        let new: BTreeSet<Symbol> = free_symbols(value).into_iter().filter(|s| !known.contains(s)).collect();
        binding.extend(new.iter().filter_map(|s| binders.get(s)).copied());
        known.extend(new);
    }
    binding.extend(derived);
    binding
}

/// The symbol an input stands for.
fn bound_symbol(graph: &Graph, id: NodeId) -> Option<Symbol> {
    let node = graph.node(id);
    match (&node.meta.value, node.opcode) {
        (Some(FakeValue::Int(SymInt::Sym(own, _))), Opcode::Placeholder) => own.as_symbol().cloned(),
        _ => None,
    }
}

fn free_symbols(value: &FakeValue) -> BTreeSet<Symbol> {
    let of = |size: &SymInt| match size {
        SymInt::Int(_) => BTreeSet::new(),
        // Symbols that turned out to be equal to others count as well.
        SymInt::Sym(own, _) => Expr::symbols(&size.expr()).into_iter().chain(own.symbols()).collect(),
    };
    match value {
        FakeValue::Int(size) => of(size),
        FakeValue::Tensor(spec) => {
            let geometry = &spec.geometry;
            geometry.sizes.iter().chain(&geometry.strides).chain([&geometry.offset]).flat_map(of).collect()
        }
        FakeValue::List(items) => items.iter().flat_map(free_symbols).collect(),
        _ => BTreeSet::new(),
    }
}
