//! The activation memory budget: cuts from the fastest to the leanest, and a knapsack between them.
//!
//! At a budget of 1 the default rules decide; at 0 only inputs are saved; between, rules are lifted one after the other
//! until the saved bytes fit, and of what is still banned a knapsack chooses what is worth saving (PyTorch's
//! `choose_saved_values_set`).

use super::PartitionConfig;
use super::classify::NodeInfo;
use super::joint::{Joint, index, size_of};
use super::op_sets::packet;
use super::rules::{MinCutOptions, Solution, is_reachable, solve_min_cut};
use crate::error::{Error, Result};
use crate::graph::{Arg, Node, NodeId, Recompute};
use std::collections::HashSet;

/// Which values to save, and the cut made first, by the default rules, where one was made.
pub(super) fn choose_saved_values(joint: &Joint, info: &NodeInfo, config: &PartitionConfig) -> Result<(Vec<NodeId>, Option<Solution>)> {
    let budget = config.activation_memory_budget;
    if !(0.0..=1.0).contains(&budget) {
        return Err(Error::runtime(format!(
            "The valid ranges for memory budget are 0 <= m <= 1. The provided value is {}",
            crate::graph::float_repr(budget)
        )));
    }
    let mut options = config.min_cut;
    if config.aggressive_recomputation {
        options = MinCutOptions { ban_if_reduction: options.ban_if_reduction, ..NO_BANS };
    }
    if budget == 0.0 && !info.is_replayed.contains(&true) {
        return Ok((info.inputs.clone(), None));
    }
    let none = HashSet::new();
    let fastest = solve_min_cut(joint, info, options, config, &none)?;
    if budget == 1.0 {
        return Ok((fastest.saved.clone(), Some(fastest)));
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
        return Ok((fastest.saved.clone(), Some(fastest)));
    }
    let ratio = |ids: &[NodeId]| -> Result<f64> { Ok((gigabytes(ids)? - least) / (most - least)) };
    let more_aggressive =
        MinCutOptions { ban_if_used_far_apart: false, ban_if_long_fusible_chains: false, ban_if_materialized_backward: false, ..options };
    let leaner = solve_min_cut(joint, info, more_aggressive, config, &none)?;
    if ratio(&leaner.saved)? < budget {
        return Ok((leaner.saved, Some(fastest)));
    }
    let aggressive = MinCutOptions { ban_if_not_in_allowlist: false, ..more_aggressive };
    let leanest = solve_min_cut(joint, info, aggressive, config, &none)?;
    if ratio(&leanest.saved)? < budget {
        return Ok((leanest.saved, Some(fastest)));
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
        return Ok((leanest.saved, Some(fastest)));
    }
    let memory: Vec<f64> = candidates.iter().map(|(_, size)| (*size as f64 / 1e9) / (most - least)).collect();
    let runtime: Vec<f64> = candidates.iter().map(|(id, _)| estimate_runtime(joint, joint.graph.node(*id))).collect();
    let recompute = dp_knapsack(&memory, &runtime, budget);
    let dont_ban: HashSet<NodeId> = recompute.into_iter().map(|i| candidates[i].0).collect();
    let chosen = solve_min_cut(joint, info, aggressive, config, &dont_ban)?;
    Ok((chosen.saved, Some(fastest)))
}

const NO_BANS: MinCutOptions = MinCutOptions {
    ban_if_used_far_apart: false,
    ban_if_long_fusible_chains: false,
    ban_if_materialized_backward: false,
    ban_if_not_in_allowlist: false,
    ban_if_reduction: false,
};

/// Items that do not go into the knapsack: 0-1 knapsack over memory in ten-thousandths, values in float32.
fn dp_knapsack(memory: &[f64], runtime: &[f64], max_memory: f64) -> Vec<usize> {
    const SCALE: f64 = 10_000.0;
    let weights: Vec<usize> = memory.iter().map(|m| (m * SCALE).round_ties_even() as usize).collect();
    let capacity = (max_memory * SCALE).round_ties_even() as usize;
    let mut rows = vec![vec![0f32; capacity + 1]];
    for (i, weight) in weights.iter().enumerate() {
        let before = &rows[i];
        let value = runtime[i] as f32;
        let row = (0..=capacity)
            .map(|j| match (*weight, j.checked_sub(*weight)) {
                (0, _) => before[j] + value,
                (_, Some(rest)) => before[j].max(before[rest] + value),
                (_, None) => before[j],
            })
            .collect();
        rows.push(row);
    }
    let mut left_out = Vec::new();
    let mut room = capacity;
    for i in (0..weights.len()).rev() {
        if rows[i + 1][room] != rows[i][room] {
            room = room.saturating_sub(weights[i]);
        } else {
            left_out.push(i);
        }
    }
    left_out
}

/// Floating-point operations of a call, as PyTorch's flop counter counts them; one at least.
fn estimate_runtime(joint: &Joint, node: &Node) -> f64 {
    let shape = |i: usize| -> Vec<f64> {
        match node.args.get(i) {
            Some(Arg::Node(id)) => match joint.graph.node(*id).tensor() {
                Some(spec) => spec.geometry.sizes.iter().map(|s| s.hint().unwrap_or(4096) as f64).collect(),
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    };
    let product = |sizes: &[f64]| sizes.iter().product::<f64>();
    let matmul = |a: usize| match (shape(a).as_slice(), shape(a + 1).as_slice()) {
        ([m, k], [_, n]) => 2.0 * m * n * k,
        ([b, m, k], [_, _, n]) => 2.0 * b * m * n * k,
        _ => 0.0,
    };
    let flops = match packet(node) {
        Some("aten.mm" | "aten.bmm") => matmul(0),
        Some("aten.addmm" | "aten.baddbmm") => matmul(1),
        Some("aten.convolution" | "aten._convolution") => {
            let (x, weight) = (shape(0), shape(1));
            let transposed = matches!(node.args.get(6), Some(Arg::Bool(true)));
            let out = node.tensor().map(|t| t.geometry.sizes.iter().map(|s| s.hint().unwrap_or(4096) as f64).collect::<Vec<_>>());
            match (x.first(), weight.len() > 2) {
                (Some(batch), true) => {
                    let spatial = if transposed { product(&x[2..]) } else { out.map_or(0.0, |o| product(&o[2..])) };
                    2.0 * batch * spatial * product(&weight)
                }
                _ => 0.0,
            }
        }
        Some(p) if p.starts_with("aten._scaled_dot_product") && !p.ends_with("_backward") => {
            match (shape(0).as_slice(), shape(1).as_slice(), shape(2).as_slice()) {
                ([b, h, sq, dq], [_, _, sk, _], [_, _, _, dv]) => 2.0 * b * h * (sq * sk * dq + sq * sk * dv),
                _ => 0.0,
            }
        }
        _ => 0.0,
    };
    flops.max(1.0)
}
