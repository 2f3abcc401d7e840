//! The activation memory budget: cuts from the fastest to the leanest, and a knapsack between them.
//!
//! At a budget of 1 the default rules decide; at 0 only inputs are saved; between, rules are lifted one after the other
//! until the saved bytes fit, and of what is still banned a knapsack chooses what is worth saving (PyTorch's
//! `choose_saved_values_set`).

use super::classify::NodeInfo;
use super::config::{Candidates, MemoryBudgetSolver, MinCutOptions, PartitionConfig};
use super::cost::estimate_runtimes;
use super::joint::{Joint, index, size_of};
use super::knapsack;
use super::rules::{Solution, is_reachable, solve_min_cut};
use diagnostics::error::{Error, Result};
use graph::{NodeId, Opcode, Recompute, str_repr};
use std::collections::HashSet;

/// What was chosen.
pub(super) struct Choice {
    /// Values to save.
    pub(super) saved: Vec<NodeId>,
    /// The cut made first, by the default rules; none is made where a budget of 0 leaves nothing to decide.
    pub(super) fastest: Option<Solution>,
    /// The cut that decided, where it was another one.
    pub(super) leaner: Option<Solution>,
}

impl Choice {
    fn fastest(solution: Solution) -> Self {
        Choice { saved: solution.saved.clone(), fastest: Some(solution), leaner: None }
    }

    fn leaner(fastest: Solution, solution: Solution) -> Self {
        Choice { saved: solution.saved.clone(), fastest: Some(fastest), leaner: Some(solution) }
    }

    /// The cut that decided.
    pub(super) fn decisive(&self) -> Option<&Solution> {
        self.leaner.as_ref().or(self.fastest.as_ref())
    }
}

/// Which values to save, within the budget of a region or of the settings.
pub(super) fn choose_saved_values(joint: &Joint, info: &NodeInfo, config: &PartitionConfig) -> Result<Choice> {
    choose_within(joint, info, config, region_budget(joint, info, config)?.unwrap_or(config.activation_memory_budget))
}

/// Which values to save within a budget.
pub(super) fn choose_within(joint: &Joint, info: &NodeInfo, config: &PartitionConfig, budget: f64) -> Result<Choice> {
    if !(0.0..=1.0).contains(&budget) {
        return Err(Error::runtime(format!(
            "The valid ranges for memory budget are 0 <= m <= 1. The provided value is {}",
            graph::float_repr(budget)
        )));
    }
    let mut options = config.min_cut;
    if config.aggressive_recomputation {
        options = MinCutOptions { ban_if_reduction: options.ban_if_reduction, ..NO_BANS };
    }
    if budget == 0.0 && !info.is_replayed.contains(&true) {
        return Ok(Choice { saved: info.inputs.clone(), fastest: None, leaner: None });
    }
    let none = HashSet::new();
    let fastest = solve_min_cut(joint, info, options, config, &none)?;
    if budget == 1.0 {
        return Ok(Choice::fastest(fastest));
    }
    let gigabytes = |ids: &[NodeId]| -> Result<f64> {
        let mut bytes = 0;
        for id in ids {
            bytes += size_of(joint.graph.node(*id))?;
        }
        Ok(bytes as f64 / 1e9)
    };
    let (least, most) = (gigabytes(&info.inputs)?, gigabytes(&fastest.saved)?);
    if most <= least {
        return Ok(Choice::fastest(fastest));
    }
    let ratio = |ids: &[NodeId]| -> Result<f64> { Ok((gigabytes(ids)? - least) / (most - least)) };
    let more_aggressive =
        MinCutOptions { ban_if_used_far_apart: false, ban_if_long_fusible_chains: false, ban_if_materialized_backward: false, ..options };
    let leaner = solve_min_cut(joint, info, more_aggressive, config, &none)?;
    if ratio(&leaner.saved)? < budget {
        return Ok(Choice::leaner(fastest, leaner));
    }
    let aggressive = MinCutOptions { ban_if_not_in_allowlist: false, ..more_aggressive };
    let leanest = solve_min_cut(joint, info, aggressive, config, &none)?;
    if ratio(&leanest.saved)? < budget {
        return Ok(Choice::leaner(fastest, leanest));
    }
    let storage = joint.storages();
    let inputs: HashSet<NodeId> = info.inputs.iter().map(|id| storage[index(*id)]).collect();
    let mut candidates: Vec<(NodeId, u64)> = Vec::new();
    for id in &leanest.banned {
        let node = joint.graph.node(*id);
        let free = is_reachable(info, *id) && !inputs.contains(&storage[index(*id)]);
        if free && node.meta.recompute != Some(Recompute::MustSave) {
            candidates.push((*id, size_of(node)?));
        }
    }
    candidates.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    if candidates.is_empty() {
        return Ok(Choice::leaner(fastest, leanest));
    }
    let memory: Vec<f64> = candidates.iter().map(|(_, size)| (*size as f64 / 1e9) / (most - least)).collect();
    let nodes: Vec<NodeId> = candidates.iter().map(|(id, _)| *id).collect();
    let runtime = estimate_runtimes(joint, &nodes, &config.activation_memory_budget_runtime_estimator)?;
    let recompute = match &config.activation_memory_budget_solver {
        MemoryBudgetSolver::Custom(solver) => (solver.0)(&Candidates {
            graph: joint.graph,
            inputs: &info.inputs,
            required_fw_nodes: &info.required_fw_nodes,
            required_bw_nodes: &marked(joint, &info.required_bw),
            tangents_closure: &marked(joint, &info.tangents_closure),
            static_inputs: &marked(joint, &info.is_static),
            nodes: &nodes,
            memory: &memory,
            runtime: &runtime,
            budget,
        })?,
        solver => knapsack::solve(solver, &memory, &runtime, budget)?,
    };
    let dont_ban: HashSet<NodeId> = recompute.into_iter().filter_map(|i| nodes.get(i).copied()).collect();
    let chosen = solve_min_cut(joint, info, aggressive, config, &dont_ban)?;
    Ok(Choice::leaner(fastest, chosen))
}

/// The nodes that are marked, in order.
fn marked(joint: &Joint, marks: &[bool]) -> Vec<NodeId> {
    joint.graph.nodes().map(|node| node.id).filter(|id| marks[index(*id)]).collect()
}

/// The budget that the script gave the region (`torch.autograd.graph.region_activation_memory_budget`): one, for the whole forward.
fn region_budget(joint: &Joint, info: &NodeInfo, config: &PartitionConfig) -> Result<Option<f64>> {
    const WHO: &str = "torch.autograd.graph.region_activation_memory_budget:";
    let mut budgets: Vec<f64> = Vec::new();
    let mut unannotated = Vec::new();
    let bodies = joint.graph.subgraphs.iter().flat_map(|(_, body)| body.nodes().map(|n| (n, true)));
    for (node, in_forward) in joint.graph.nodes().map(|n| (n, info.required_fw[index(n.id)])).chain(bodies) {
        match node.meta.annotation.as_ref().and_then(|a| a.memory_budget) {
            Some(budget) if !budgets.contains(&budget) => budgets.push(budget),
            Some(_) => {}
            None if in_forward && node.opcode == Opcode::Call => unannotated.push(str_repr(&node.name)),
            None => {}
        }
    }
    budgets.sort_by(f64::total_cmp);
    match budgets.as_slice() {
        [] => Ok(None),
        [_] if config.activation_memory_budget_require_full_coverage && !unannotated.is_empty() => Err(Error::runtime(format!(
            "{WHO} must cover the entire forward of a graph (including HOP bodies), but {} forward op(s) are unannotated. Wrap the whole forward in a single region, or set torch._functorch.config.activation_memory_budget_require_full_coverage=False to apply the budget to the entire graph. Unannotated ops: [{}].",
            unannotated.len(),
            unannotated.join(", ")
        ))),
        [budget] => Ok(Some(*budget)),
        several => Err(Error::runtime(format!(
            "{WHO} conflicting budgets within a single joint graph (including nested subgraphs): [{}]. Use a graph break to separate regions that need different budgets.",
            several.iter().map(|b| graph::float_repr(*b)).collect::<Vec<_>>().join(", ")
        ))),
    }
}

const NO_BANS: MinCutOptions = MinCutOptions {
    ban_if_used_far_apart: false,
    ban_if_long_fusible_chains: false,
    ban_if_materialized_backward: false,
    ban_if_not_in_allowlist: false,
    ban_if_reduction: false,
};
