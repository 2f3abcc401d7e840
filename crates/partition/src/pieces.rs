//! The min-cut partitioner's steps one by one, for partition functions that are written of them.
//!
//! Whoever calls a step says what it decides by: which nodes the forward needs, which the backward, how far each is from the backward.
//! Nodes go by their names.

use super::budget;
use super::classify::{NodeInfo, UNREACHABLE};
use super::config::{MemoryBudgetSolver, MinCutOptions, PartitionConfig, RuntimeEstimator};
use super::joint::{Joint, index};
use super::{cost, extract, knapsack, rng, rules};
use diagnostics::error::{Error, Result};
use graph::{Graph, NodeId};
use std::collections::HashSet;

/// What is said of a joint graph's nodes (PyTorch's `NodeInfo`), by their names.
#[derive(Debug, Default)]
pub struct ToldNodes {
    /// Inputs of the forward.
    pub inputs: Vec<String>,
    /// Needed for the forward's outputs, in order.
    pub required_fw: Vec<String>,
    /// Needed in the backward.
    pub required_bw: Vec<String>,
    /// What tangents reach.
    pub tangents_closure: Vec<String>,
    /// Inputs that live as long as the model.
    pub is_static: Vec<String>,
    /// Inputs that are written to after the forward has run (`aot_runtime_epilogue_input_mutation`).
    pub is_replayed: Vec<String>,
    /// Steps from each node to the nearest one that is not the forward's.
    pub dist_from_bw: Vec<(String, u64)>,
}

fn find(graph: &Graph, name: &str) -> Result<NodeId> {
    graph.find(name).map(|node| node.id).ok_or_else(|| Error::runtime(format!("Node {name} is not of the graph")))
}

fn find_all(graph: &Graph, names: &[String]) -> Result<Vec<NodeId>> {
    names.iter().map(|name| find(graph, name)).collect()
}

fn names(graph: &Graph, ids: &[NodeId]) -> Vec<String> {
    ids.iter().map(|id| graph.node(*id).name.to_string()).collect()
}

fn node_info(graph: &Graph, told: &ToldNodes) -> Result<NodeInfo> {
    let len = graph.arena_len();
    let among = |names: &[String]| -> Result<Vec<bool>> {
        let mut found = vec![false; len];
        find_all(graph, names)?.into_iter().for_each(|id| found[index(id)] = true);
        Ok(found)
    };
    let required_fw_nodes = find_all(graph, &told.required_fw)?;
    let mut fw_order = vec![usize::MAX; len];
    required_fw_nodes.iter().enumerate().for_each(|(position, id)| fw_order[index(*id)] = position);
    let mut dist_from_bw = vec![UNREACHABLE; len];
    for (name, distance) in &told.dist_from_bw {
        dist_from_bw[index(find(graph, name)?)] = *distance;
    }
    Ok(NodeInfo {
        inputs: find_all(graph, &told.inputs)?,
        required_fw: among(&told.required_fw)?,
        required_bw: among(&told.required_bw)?,
        tangents_closure: among(&told.tangents_closure)?,
        fw_order,
        required_fw_nodes,
        is_static: among(&told.is_static)?,
        is_replayed: among(&told.is_replayed)?,
        dist_from_bw,
    })
}

/// The cheapest values to save by some rules, and the values that the rules forbid to recompute (PyTorch's `solve_min_cut`).
///
/// # Errors
/// `RuntimeError` where a name is not a node's, or a value is needed in the backward that can be neither saved nor recomputed.
pub fn solve_min_cut(
    graph: &Graph,
    told: &ToldNodes,
    options: MinCutOptions,
    config: &PartitionConfig,
    dont_ban: &[String],
) -> Result<(Vec<String>, Vec<String>)> {
    let joint = Joint::new(graph, 0);
    let dont_ban: HashSet<NodeId> = find_all(graph, dont_ban)?.into_iter().collect();
    let solution = rules::solve_min_cut(&joint, &node_info(graph, told)?, options, config, &dont_ban)?;
    Ok((names(graph, &solution.saved), names(graph, &solution.banned)))
}

/// The values to save within a memory budget (PyTorch's `choose_saved_values_set`).
///
/// # Errors
/// As [`solve_min_cut`]; and where the budget is none, or a solver or an estimator refuses.
pub fn choose_saved_values(graph: &Graph, told: &ToldNodes, config: &PartitionConfig, budget: f64) -> Result<Vec<String>> {
    let choice = budget::choose_within(&Joint::new(graph, 0), &node_info(graph, told)?, config, budget)?;
    Ok(names(graph, &choice.saved))
}

/// Items that do not go into a knapsack of a size, in the order in which a solver leaves them out.
///
/// # Errors
/// What the solver refuses.
pub fn left_out(solver: &MemoryBudgetSolver, memory: &[f64], runtime: &[f64], budget: f64) -> Result<Vec<usize>> {
    knapsack::solve(solver, memory, runtime, budget)
}

/// What computing a node costs.
///
/// # Errors
/// `RuntimeError` where there is no such node or estimator.
pub fn estimate_runtime(graph: &Graph, name: &str, estimator: &RuntimeEstimator) -> Result<f64> {
    let costs = cost::estimate_runtimes(&Joint::new(graph, 0), &[find(graph, name)?], estimator)?;
    Ok(costs[0])
}

/// The symbolic numbers to save: those of `sym_nodes`, and every symbol in the sizes of saved values and tangents; bare symbols first.
///
/// # Errors
/// `RuntimeError` where a name is not a node's.
pub fn sym_nodes_to_save(graph: &Graph, values: &[String], sym_nodes: &[String], tangents: &[String]) -> Result<Vec<String>> {
    let of = |names: &[String]| find_all(graph, names);
    let found = extract::with_bindings(&Joint::new(graph, 0), &of(values)?, &of(sym_nodes)?, &of(tangents)?);
    Ok(names(graph, &found))
}

/// Hands the generator's state over to a backward that draws again what its forward drew, where checkpointing asks for it
/// (PyTorch's `functionalize_rng_ops`).
///
/// # Errors
/// `RuntimeError` where the parts are not of the joint graph.
pub fn functionalize_rng_ops(joint: &Graph, forward: &mut Graph, backward: &mut Graph, num_sym_nodes: usize) -> Result<()> {
    rng::functionalize_rng_ops(&rng::tagged(joint), forward, backward, num_sym_nodes)
}
