//! What became of every forward value, and why: the rule in words, the capacity taken apart, who needs it, what it is
//! recomputed from. PyTorch's own reasons and its debug report are kept beside them.

use super::budget::Choice;
use super::classify::NodeInfo;
use super::config::PartitionConfig;
use super::cost::flops;
use super::extract::Modules;
use super::joint::{Joint, index, is_getitem, is_sym_node, must_recompute, size_of};
use super::op_sets::{self, packet};
use super::reasons::{BanReason, CostNote};
use super::rules::{Solution, Weight, is_reachable, materialized_by};
use diagnostics::error::Result;
use graph::{Graph, Node, NodeId, Opcode, Recompute};
use report::{self, Capacity, CapacityParts, Cost, Cut, Decision};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Calls followed to say what one value is recomputed from; a longer way back is not followed to its end.
const FAR_BACK: u64 = 100;

/// A partition's parts, as explanations ask of them. Vectors are indexed by the joint graph's node id.
struct Explained<'a> {
    joint: &'a Joint<'a>,
    info: &'a NodeInfo,
    solution: Option<&'a Solution>,
    weights: HashMap<NodeId, Weight>,
    saved: Vec<bool>,
    /// Whether the backward calls it.
    in_backward: Vec<bool>,
    /// Whether forward and backward both call it.
    recomputed: Vec<bool>,
}

fn calls(graph: &Graph) -> HashSet<&str> {
    graph.nodes().filter(|n| n.opcode == Opcode::Call).map(|n| &*n.name).collect()
}

/// Everything the report says of a partition, but for what is replayed.
pub(super) fn report(
    config: &PartitionConfig,
    joint: &Joint,
    info: &NodeInfo,
    modules: &Modules,
    choice: Option<&Choice>,
) -> Result<report::Partition> {
    let graph = joint.graph;
    let solution = choice.and_then(Choice::decisive);
    let (forward, backward) = (calls(&modules.forward), calls(&modules.backward));
    let mut out = Explained {
        joint,
        info,
        solution,
        weights: solution.iter().flat_map(|s| s.capacities.iter().copied()).collect(),
        saved: vec![false; graph.arena_len()],
        in_backward: vec![false; graph.arena_len()],
        recomputed: vec![false; graph.arena_len()],
    };
    for id in modules.saved_values.iter().chain(&modules.saved_sym_nodes) {
        out.saved[index(*id)] = true;
    }
    for node in graph.nodes() {
        out.in_backward[index(node.id)] = backward.contains(&*node.name);
        out.recomputed[index(node.id)] = forward.contains(&*node.name) && backward.contains(&*node.name);
    }
    let recomputed: Vec<&Node> = graph.nodes().filter(|n| out.recomputed[index(n.id)]).collect();
    let name = |id: &NodeId| graph.node(*id).name.to_string();
    Ok(report::Partition {
        partitioner: config.partitioner.name().to_owned(),
        budget: config.activation_memory_budget,
        banned: solution.map(|s| s.banned.iter().map(name).collect()),
        cut: choice.and_then(|c| c.fastest.as_ref()).map(|s| cut(graph, s)),
        decisive: choice.and_then(|c| c.leaner.as_ref()).map(|s| cut(graph, s)),
        recomputed: recomputed.iter().map(|n| n.name.to_string()).collect(),
        replayed: Vec::new(),
        decisions: out.decisions(),
        activation_bytes: super::saved::activation_bytes(joint, &modules.saved_values),
        saved_bytes: modules.saved_values.iter().map(|id| size_of(graph.node(*id)).unwrap_or(0)).sum(),
        recompute_cost: cost(joint, recomputed.iter().copied()),
        debug_report: if choice.is_some() { debug_report(joint, modules, &out) } else { Vec::new() },
    })
}

/// A capacity as the report has it.
pub(super) fn capacity(weight: &Weight) -> Capacity {
    if matches!(weight.note, Some(CostNote::Symbolic | CostNote::BackwardState)) {
        Capacity::Symbolic(weight.value)
    } else if weight.value.is_infinite() {
        Capacity::Infinite("inf".to_owned())
    } else {
        Capacity::Finite(weight.value)
    }
}

fn cut(graph: &Graph, solution: &Solution) -> Cut {
    let name = |id: &NodeId| graph.node(*id).name.to_string();
    Cut {
        value: solution.value,
        capacities: solution.capacities.iter().map(|(id, w)| (name(id), capacity(w))).collect(),
        reasons: solution.reasons.iter().map(|(id, r)| (name(id), r.name().to_owned())).collect::<BTreeMap<_, _>>(),
    }
}

/// What some calls cost together.
fn cost<'a>(joint: &Joint, nodes: impl Iterator<Item = &'a Node>) -> Cost {
    nodes.fold(Cost::default(), |sum, node| Cost {
        calls: sum.calls + 1,
        flops: sum.flops + flops(joint, node),
        bytes: sum.bytes + if op_sets::is_aliasing(node) { 0 } else { size_of(node).unwrap_or(0) },
    })
}

/// How a weight came about.
fn parts(weight: &Weight) -> CapacityParts {
    CapacityParts {
        value: capacity(weight),
        bytes: weight.bytes,
        distance: weight.distance,
        factor: if weight.distance == 0 { 1.0 } else { 1.1f64.powf(weight.distance as f64) },
        doubled: weight.doubled,
        note: weight.note.map(|note| note.name().to_owned()),
    }
}

/// Walks from recomputed values to what they are recomputed from. Thousands of walks cross the same calls: what each costs is
/// computed once, and where a walk has been is a number per call, not a set per walk.
struct WaysBack {
    costs: Vec<Cost>,
    seen_by: Vec<u32>,
    walks: u32,
}

impl WaysBack {
    fn new(explained: &Explained) -> Self {
        let graph = explained.joint.graph;
        let mut costs = vec![Cost::default(); graph.arena_len()];
        for node in graph.nodes().filter(|n| explained.in_backward[index(n.id)]) {
            costs[index(node.id)] = cost(explained.joint, std::iter::once(node));
        }
        WaysBack { costs, seen_by: vec![0; graph.arena_len()], walks: 0 }
    }

    /// What a value is recomputed from, and what that costs where nothing else is.
    fn of(&mut self, explained: &Explained, node: &Node) -> (Vec<String>, Option<Cost>) {
        self.walks += 1;
        self.seen_by[index(node.id)] = self.walks;
        let (mut stack, mut from, mut total) = (vec![node.id], Vec::new(), Cost::default());
        while let Some(id) = stack.pop() {
            if explained.saved[index(id)] || !explained.in_backward[index(id)] {
                from.push(id);
                continue;
            }
            let own = &self.costs[index(id)];
            total = Cost { calls: total.calls + own.calls, flops: total.flops + own.flops, bytes: total.bytes + own.bytes };
            if total.calls > FAR_BACK {
                return (Vec::new(), None);
            }
            for input in &explained.joint.inputs[index(id)] {
                if std::mem::replace(&mut self.seen_by[index(*input)], self.walks) != self.walks {
                    stack.push(*input);
                }
            }
        }
        from.sort_by_key(|id| id.0);
        let names = from.iter().map(|id| explained.joint.graph.node(*id).name.to_string()).collect();
        (names, Some(total))
    }
}

impl Explained<'_> {
    fn decisions(&self) -> Vec<Decision> {
        let mut ways = WaysBack::new(self);
        let of_forward = |n: &Node| {
            let here = self.info.required_fw[index(n.id)] || !(n.meta.is_backward || self.info.required_bw[index(n.id)]);
            self.saved[index(n.id)] || (here && matches!(n.opcode, Opcode::Placeholder | Opcode::Call))
        };
        self.joint.graph.nodes().filter(|n| of_forward(n)).map(|n| self.decision(n, &mut ways)).collect()
    }

    fn decision(&self, node: &Node, ways: &mut WaysBack) -> Decision {
        let at = index(node.id);
        // What the forward does not compute is not recomputed: the backward alone does.
        let (is_recomputed, is_of_backward) = (self.recomputed[at] && !self.saved[at], !self.saved[at] && self.in_backward[at]);
        let (recomputed_from, cost) = if is_recomputed { ways.of(self, node) } else { (Vec::new(), None) };
        let (fate, reason) = if self.saved[at] {
            ("saved", self.why_saved(node))
        } else if is_recomputed {
            ("recomputed", self.why_recomputed(node, &recomputed_from, cost.as_ref()))
        } else if is_of_backward {
            ("backward only", "the forward does not need it: the backward computes it".to_owned())
        } else {
            ("not needed", self.why_not_needed(node))
        };
        Decision {
            name: node.name.to_string(),
            fate: fate.to_owned(),
            reason,
            capacity: self.weights.get(&node.id).map(parts),
            needed_by: self.joint.users(node.id).filter(|u| self.in_backward[index(u.id)]).map(|u| u.name.to_string()).collect(),
            recomputed_from,
            cost,
            line: node.meta.source.as_ref().map(|s| s.span.line),
        }
    }

    fn why_saved(&self, node: &Node) -> String {
        if is_sym_node(node) {
            return "a symbolic number that the backward, or a size in it, needs".to_owned();
        }
        let Some(solution) = self.solution else { return "the backward reads it".to_owned() };
        if let Some(reason) = solution.reasons.get(&node.id) {
            return self.why_not_recomputed(node, *reason);
        }
        let bytes = size_of(node).unwrap_or(0);
        format!("saving its {bytes} bytes is cheaper than saving what it would be recomputed from")
    }

    /// By which rule a value that the backward needs is saved.
    fn why_not_recomputed(&self, node: &Node, reason: BanReason) -> String {
        let operator = |node: &Node| match node.inputs().first() {
            Some(call) if is_getitem(node) => packet(self.joint.graph.node(*call)).map(str::to_owned),
            _ => packet(node).map(str::to_owned),
        };
        let of = operator(node).map_or_else(|| "its operator".to_owned(), |name| format!("`{name}`"));
        let why = match reason {
            BanReason::PrimalInput => {
                let name = node.meta.input.as_ref().map(|input| format!(" (`{}`)", input.name)).unwrap_or_default();
                return format!("graph input{name}, needed by the backward; already in memory, saving it costs nothing");
            }
            BanReason::MarkedMustSave => return "marked MUST_SAVE by checkpointing".to_owned(),
            BanReason::NotInAllowlist => format!("{of} is never recomputed by default (not in the recomputable list)"),
            BanReason::ComputeIntensive => format!("{of} is compute-intensive"),
            BanReason::Random => format!("{of} draws random numbers"),
            BanReason::MaterializedInBackward => {
                let user = materialized_by(self.joint, self.info, node).and_then(operator);
                let user = user.map_or_else(|| "a call".to_owned(), |name| format!("`{name}`"));
                format!(
                    "the backward uses it in {user}, which does not fuse, so it would be materialized anyway (`ban_recompute_materialized_backward`)"
                )
            }
            BanReason::ForwardRngSeed
            | BanReason::TooFarFromBackward
            | BanReason::Reduction
            | BanReason::UsedFarApart
            | BanReason::LongFusibleChain => reason.words().to_owned(),
        };
        format!("not recomputed: {why}")
    }

    fn why_recomputed(&self, node: &Node, from: &[String], cost: Option<&report::Cost>) -> String {
        const MOST_NAMES: usize = 3;
        match node.meta.recompute {
            Some(Recompute::MustRecompute | Recompute::PreferRecompute) => "marked to be recomputed by checkpointing".to_owned(),
            _ if self.solution.is_none() => "a value that the backward computes as well".to_owned(),
            _ if op_sets::is_view(node) => "a view: recomputing it costs nothing".to_owned(),
            _ if from.is_empty() => "cheaper to recompute than to save".to_owned(),
            _ => {
                let more = if from.len() > MOST_NAMES { format!(" and {} others", from.len() - MOST_NAMES) } else { String::new() };
                let calls = cost.map_or(1, |cost| cost.calls);
                let (ops, bytes) = (if calls == 1 { "1 op".to_owned() } else { format!("{calls} ops") }, size_of(node).unwrap_or(0));
                let from = from.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", ");
                format!("recomputed from {from}{more}: {ops} instead of {bytes} bytes saved")
            }
        }
    }

    fn why_not_needed(&self, node: &Node) -> String {
        let read = self.joint.users(node.id).any(|u| !self.info.required_fw[index(u.id)]);
        match self.solution {
            _ if must_recompute(node) => "marked to be recomputed, and the backward does not need it".to_owned(),
            Some(_) if !is_reachable(self.info, node.id) => "nothing in the backward depends on it".to_owned(),
            Some(_) if !read => "only forward values read it, and what the backward needs of them is saved".to_owned(),
            _ if read => "what reads it in the backward is saved instead, or unused".to_owned(),
            _ => "only the forward reads it".to_owned(),
        }
    }
}

/// What PyTorch logs where `AOT_PARTITIONER_DEBUG` is set.
fn debug_report(joint: &Joint, modules: &Modules, explained: &Explained) -> Vec<String> {
    let graph = joint.graph;
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    let mut seen = HashSet::new();
    let operators = graph.nodes().filter(|n| n.op().is_some() && !op_sets::is_recomputable(n)).filter_map(packet);
    let banned: Vec<String> = operators.filter(|p| seen.insert(p.to_string())).map(|p| format!("'{p}'")).collect();
    let mut sizes: Vec<(u64, &str)> =
        modules.saved_values.iter().map(|id| (size_of(graph.node(*id)).unwrap_or(0), &*graph.node(*id).name)).collect();
    sizes.sort_unstable();
    let total: u64 = sizes.iter().map(|(bytes, _)| bytes).sum();
    let (forward, backward) = (calls(&modules.forward), calls(&modules.backward));
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let mut place: HashMap<&str, usize> = HashMap::new();
    for node in graph.nodes().filter(|n| explained.recomputed[index(n.id)]) {
        if let Some(packet) = packet(node) {
            let at = *place.entry(packet).or_insert_with(|| {
                counts.push((packet, 0));
                counts.len() - 1
            });
            counts[at].1 += 1;
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    vec![
        format!("Ops banned from re-materialization: OrderedSet({})", list(banned)),
        format!("Theoretical Activations Stored: {:.2} GB", total as f64 / 1e9),
        format!(
            "Theoretical Per Activation Storage Sizes: {}",
            list(sizes.iter().map(|(bytes, name)| format!("({bytes}, '{name}')")).collect())
        ),
        format!("# remat/fw/bw: {}/{}/{}", forward.intersection(&backward).count(), forward.len(), backward.len()),
        format!("Count of Ops Rematerialized: {}", list(counts.iter().map(|(packet, count)| format!("('{packet}', {count})")).collect())),
    ]
}
