//! Splitting a joint graph into a forward and a backward: PyTorch's `default_partition` and
//! `min_cut_rematerialization_partition`, with the reasons for every value.
//!
//! Both decide which forward values to save and leave the rest to [`extract`]: a part is what can be computed from its
//! inputs and is needed for its outputs. Decisions rest on operators' names ([`op_sets`]), sizes, strides and marks in the
//! graph's metadata; no tensor data is read. Invariants: what may not be recomputed never is, and the forward returns what
//! the joint graph returned first, then saved tensors, then saved symbolic numbers.

mod budget;
mod classify;
mod config;
mod cost;
mod cse;
mod explain;
mod extract;
pub mod flow;
mod joint;
mod knapsack;
mod memory;
pub mod op_sets;
pub mod pieces;
mod reasons;
mod recompute;
mod regions;
mod reorder;
mod rng;
mod rules;
pub mod saved;
mod study;

pub use config::{
    Candidates, ChooseRecomputed, EstimateRuntimes, MemoryBudgetSolver, MinCutOptions, PartitionConfig, Partitioner, RuntimeEstimator,
    Scripted,
};
pub use cse::merge_equal_calls;
pub use joint::{is_primal, is_tangent, mark_backward};

pub use regions::split_regions;
pub use study::{EagerGraph, Study};

use budget::Choice;
use classify::{NodeInfo, classify_nodes};
use diagnostics::error::{Error, ErrorKind, Result};
use extract::{Modules, extract_fwd_bwd_modules};
use graph::{Arg, Graph, NodeId, Opcode, Recompute, Target};
use joint::{Joint, index, is_bwd_seed_offset, is_fwd_seed_offset, is_sym_node, must_recompute};
use std::collections::HashSet;

impl<F: ?Sized> Clone for Scripted<F> {
    fn clone(&self) -> Self {
        Scripted(self.0.clone())
    }
}

impl<F: ?Sized> std::fmt::Debug for Scripted<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

/// A joint graph in two.
#[derive(Clone, Debug)]
pub struct Partitioned {
    /// The forward: the joint graph's first outputs, then what is saved.
    pub forward: Graph,
    /// The backward: takes symbolic numbers, tensors, then tangents.
    pub backward: Graph,
    /// What runs instead where the backward draws random numbers again that the forward drew: the same parts, with the
    /// generator's state handed over. PyTorch draws others there.
    pub replaying: Option<Box<(Graph, Graph)>>,
    /// Names of what is saved, in the order the forward returns it: tensors, then symbolic numbers.
    pub saved: Vec<String>,
    /// How many of them, at the end, are symbolic numbers.
    pub num_saved_symints: usize,
    /// How many of the tensors, at their end, are not watched for writes.
    pub num_saved_no_version_check: usize,
    /// What was decided and why.
    pub report: report::Partition,
}

/// Splits a joint graph whose first outputs are the forward's.
///
/// # Errors
/// `RuntimeError` where a value is needed in the backward that can be neither saved nor recomputed; `AssertionError` where
/// an output of the forward depends on tangents.
pub fn partition(joint: &Graph, num_fwd_outputs: usize, config: &PartitionConfig) -> Result<Partitioned> {
    let graph = joint.clone();
    match config.partitioner {
        Partitioner::Default => default_partition(graph, num_fwd_outputs, config),
        Partitioner::MinCut => min_cut_partition(graph, num_fwd_outputs, config),
    }
}

fn has_recomputable_ops(graph: &Graph) -> bool {
    graph.nodes().any(must_recompute)
}

/// What is done to a joint graph before it is cut: dead and equal calls go, marks are adjusted. Whether something
/// random is marked to be recomputed.
fn prepare(graph: &mut Graph, num_fwd_outputs: usize, config: &PartitionConfig) -> bool {
    graph.eliminate_dead_code(&|n| op_sets::is_impure(n, config.random_is_impure));
    if config.cse {
        cse::merge_equal_calls(graph, num_fwd_outputs);
    }
    let recomputes_random = rng::has_recomputable_rng_ops(graph);
    if has_recomputable_ops(graph) {
        recompute::cleanup_recompute_tags(graph, false);
    }
    recompute::force_save_bw_mutation_src(graph);
    recomputes_random
}

fn min_cut_partition(mut graph: Graph, num_fwd_outputs: usize, config: &PartitionConfig) -> Result<Partitioned> {
    let recomputes_random = prepare(&mut graph, num_fwd_outputs, config);
    let joint = Joint::new(&graph, num_fwd_outputs);
    let info = classify_nodes(&joint, config)?;
    if !info.has_backward() {
        return default_partition(graph, num_fwd_outputs, config);
    }
    let choice = budget::choose_saved_values(&joint, &info, config)?;
    let is_sym = |id: &NodeId| is_sym_node(graph.node(*id)) && !is_assert_only(&joint, *id);
    let (sym_nodes, values): (Vec<NodeId>, Vec<NodeId>) = choice.saved.iter().partition(|id| is_sym_node(graph.node(**id)));
    let sym_nodes = sym_nodes.into_iter().filter(is_sym).collect();
    let mut modules = extract_fwd_bwd_modules(&joint, values, sym_nodes, config.random_is_impure)?;
    if recomputes_random {
        let tagged = rng::tagged(&graph);
        rng::functionalize_rng_ops(&tagged, &mut modules.forward, &mut modules.backward, modules.saved_sym_nodes.len())?;
    }
    reorder::mimic_autograd_engine(&mut modules.backward);
    finish(config, &joint, &info, modules, Some(&choice))
}

fn default_partition(mut graph: Graph, num_fwd_outputs: usize, config: &PartitionConfig) -> Result<Partitioned> {
    let recomputes = has_recomputable_ops(&graph);
    let recomputes_random = rng::has_recomputable_rng_ops(&graph);
    let writes_input = |n: &graph::Node| match n.args.first() {
        Some(graph::Arg::Node(base)) => joint::is_copy_(n) && graph.node(*base).opcode == Opcode::Placeholder,
        _ => false,
    };
    let is_functional = graph.nodes().all(|n| !op_sets::is_mutable(n) || writes_input(n));
    if recomputes && !is_functional {
        return min_cut_partition(graph, num_fwd_outputs, config);
    }
    if recomputes {
        recompute::cleanup_recompute_tags(&mut graph, true);
    }
    recompute::force_save_bw_mutation_src(&mut graph);
    let joint = Joint::new(&graph, num_fwd_outputs);
    let info = classify_nodes(&joint, config)?;
    let (values, sym_nodes) = default_saved_values(&joint)?;
    let mut modules = extract_fwd_bwd_modules(&joint, values, sym_nodes, config.random_is_impure)?;
    if recomputes {
        if recomputes_random {
            let tagged = rng::tagged(&graph);
            rng::functionalize_rng_ops(&tagged, &mut modules.forward, &mut modules.backward, modules.saved_sym_nodes.len())?;
        }
        reorder::mimic_autograd_engine(&mut modules.backward);
    }
    let config = PartitionConfig { partitioner: Partitioner::Default, ..config.clone() };
    finish(&config, &joint, &info, modules, None)
}

/// Whether a symbolic condition is only asserted: it need not be saved.
fn is_assert_only(joint: &Joint, id: NodeId) -> bool {
    let users = &joint.users[index(id)];
    matches!(joint.graph.node(id).meta.value, Some(graph::FakeValue::Bool(_)))
        && !users.is_empty()
        && users.iter().all(|u| joint.graph.node(*u).op() == Some("aten._assert_scalar.default"))
}

/// What was traced in the forward and is read in the backward: tensors, and symbolic numbers.
fn default_saved_values(joint: &Joint) -> Result<(Vec<NodeId>, Vec<NodeId>)> {
    let graph = joint.graph;
    let traced_forward = |n: &graph::Node| match n.opcode {
        Opcode::Placeholder => is_primal(n) || is_fwd_seed_offset(n),
        Opcode::Call | Opcode::GetAttr => !n.meta.is_backward && !n.meta.is_trailing && !op_sets::is_mutable(n),
        Opcode::Output => false,
    };
    let last = graph.nodes().rposition(traced_forward);
    let Some(last) = last else { return Err(Error::new(ErrorKind::Assertion, "last_node must not be None")) };
    let mut in_forward = vec![false; graph.arena_len()];
    for node in graph.nodes().take(last + 1).filter(|n| !is_tangent(n) && !is_bwd_seed_offset(n)) {
        in_forward[index(node.id)] = true;
    }
    let (mut values, mut sym_nodes) = (Vec::new(), Vec::new());
    for node in graph.nodes().filter(|n| in_forward[index(n.id)]) {
        let names_subgraph = match &node.target {
            Target::Name(name) => node.opcode == Opcode::GetAttr && graph.subgraphs.iter().any(|(n, _)| n == name),
            _ => false,
        };
        if names_subgraph || node.op().is_some_and(|op| op.starts_with("aten._assert_")) {
            continue;
        }
        if is_sym_node(node) {
            sym_nodes.push(node.id);
            continue;
        }
        if joint.is_multi_output(node.id) {
            continue;
        }
        if node.meta.recompute == Some(Recompute::MustSave) || (node.opcode == Opcode::Call && op_sets::is_impure(node, false)) {
            values.push(node.id);
            continue;
        }
        if node.opcode == Opcode::Call && node.tensor().is_none() {
            return Err(Error::new(ErrorKind::Assertion, format!("Expected {} to be a tensor", node.name)));
        }
        let read: Vec<NodeId> = joint.users[index(node.id)].iter().copied().filter(|u| !in_forward[index(*u)]).collect();
        if read.iter().all(|u| is_sym_node(graph.node(*u))) {
            // Only its sizes are needed: those are saved, not the tensor.
            sym_nodes.extend(read);
        } else if !must_recompute(node) {
            values.push(node.id);
        }
    }
    let mut seen = HashSet::new();
    sym_nodes.retain(|id| seen.insert(*id));
    sym_nodes.retain(|id| !is_assert_only(joint, *id));
    Ok((values, sym_nodes))
}

/// Puts results in their final order and writes down what was decided.
fn finish(config: &PartitionConfig, joint: &Joint, info: &NodeInfo, mut modules: Modules, choice: Option<&Choice>) -> Result<Partitioned> {
    let graph = joint.graph;
    let replayed = rng::drawn_twice(graph, &modules.forward, &modules.backward);
    let replaying = if replayed.is_empty() {
        None
    } else {
        let (mut forward, mut backward) = (modules.forward.clone(), modules.backward.clone());
        rng::functionalize_rng_ops(&replayed, &mut forward, &mut backward, modules.saved_sym_nodes.len())?;
        reorder::raise_getitems(&mut forward)?;
        reorder::raise_getitems(&mut backward)?;
        Some(Box::new((forward, backward)))
    };
    reorder::raise_getitems(&mut modules.forward)?;
    reorder::raise_getitems(&mut modules.backward)?;
    let returned = modules.forward.outputs();
    let name = |output: &Arg| if let Arg::Node(id) = output { Some(modules.forward.node(*id).name.to_string()) } else { None };
    let saved = returned.iter().skip(joint.num_fwd_outputs).filter_map(name).collect();
    let report = report::Partition { replayed, ..explain::report(config, joint, info, &modules, choice)? };
    Ok(Partitioned {
        saved,
        num_saved_no_version_check: modules.saved_values.iter().filter(|id| graph.node(**id).meta.no_version_check).count(),
        num_saved_symints: modules.saved_sym_nodes.len(),
        forward: modules.forward,
        backward: modules.backward,
        replaying,
        report,
    })
}
