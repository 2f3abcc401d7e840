//! The rules of the min-cut partitioner: what may be recomputed, what saving costs, and the flow network they make.
//!
//! Every node is two vertices with an edge between them that costs what saving its value costs. An infinite edge from the
//! source forbids to recompute it; an infinite edge to the sink says that the backward needs it.

use super::classify::{NodeInfo, UNREACHABLE};
use super::config::{MinCutOptions, PartitionConfig};
use super::flow::{infinite_path, minimum_cut};
use super::joint::{Joint, index, is_backward_state, is_fwd_seed_offset, is_primal, is_sym_node, must_recompute, size_of};
use super::op_sets::{self, is_aliasing, is_view, packet};
use super::reasons::{BanReason, CostNote};
use diagnostics::error::{Error, Result};
use graph::{FakeValue, Node, NodeId, Opcode, Recompute, Target};
use petgraph::graph::{DiGraph, NodeIndex};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// What a minimum cut says.
pub(super) struct Solution {
    /// Values on the cut, in the graph's order.
    pub(super) saved: Vec<NodeId>,
    /// Values that may not be recomputed, in the order they were banned.
    pub(super) banned: Vec<NodeId>,
    /// Capacity of the cut.
    pub(super) value: f64,
    /// Cost of saving each value that could be saved.
    pub(super) capacities: Vec<(NodeId, Weight)>,
    /// Why a value may not be recomputed.
    pub(super) reasons: HashMap<NodeId, BanReason>,
    /// Per vertex pair, whether the value is computed in the backward, and whether it can be had there.
    pub(super) sides: Vec<(bool, bool)>,
}

/// What saving a value costs, and how that came about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    /// The capacity of its edge.
    pub(super) value: f64,
    /// Its bytes.
    pub(super) bytes: u64,
    /// Steps to the backward, as far as they count; 0 where they do not.
    pub(super) distance: u64,
    /// Whether it counts twice: it would be fused away if it were not saved.
    pub(super) doubled: bool,
    /// Why it cannot be saved, or costs nothing.
    pub(super) note: Option<CostNote>,
}

struct Rules<'a> {
    joint: &'a Joint<'a>,
    info: &'a NodeInfo,
    options: MinCutOptions,
    config: &'a PartitionConfig,
    dont_ban: &'a HashSet<NodeId>,
    network: DiGraph<(), f64>,
    banned: Vec<NodeId>,
    is_banned: Vec<bool>,
    reasons: HashMap<NodeId, BanReason>,
}

/// Whether two calls, one reading the other, can be one kernel.
fn is_fusible(producer: &Node, reader: &Node) -> bool {
    packet(reader) == Some("aten.cat") || (op_sets::is_fusible(producer) && op_sets::is_fusible(reader))
}

fn source() -> NodeIndex {
    NodeIndex::new(0)
}

fn sink() -> NodeIndex {
    NodeIndex::new(1)
}

fn vertex_in(id: NodeId) -> NodeIndex {
    NodeIndex::new(2 + 2 * index(id))
}

fn vertex_out(id: NodeId) -> NodeIndex {
    NodeIndex::new(3 + 2 * index(id))
}

/// Solves for the cheapest set of values to save.
pub(super) fn solve_min_cut(
    joint: &Joint,
    info: &NodeInfo,
    options: MinCutOptions,
    config: &PartitionConfig,
    dont_ban: &HashSet<NodeId>,
) -> Result<Solution> {
    let vertices = 2 + 2 * joint.graph.arena_len();
    let mut network = DiGraph::with_capacity(vertices, 2 * vertices);
    for _ in 0..vertices {
        network.add_node(());
    }
    let mut rules = Rules {
        joint,
        info,
        options,
        config,
        dont_ban,
        network,
        banned: Vec::new(),
        is_banned: vec![false; joint.graph.arena_len()],
        reasons: HashMap::new(),
    };
    let capacities = rules.add_nodes()?;
    if options.ban_if_used_far_apart {
        rules.ban_used_far_apart();
    }
    if options.ban_if_long_fusible_chains {
        rules.ban_long_fusible_chains();
    }
    let Some(cut) = minimum_cut(&rules.network, source(), sink()) else { return Err(rules.no_cut()) };
    let on_cut = |id: NodeId| !cut.sink_side[vertex_in(id).index()] && cut.sink_side[vertex_out(id).index()];
    let mut saved: Vec<NodeId> = capacities.iter().map(|(id, _)| *id).filter(|id| on_cut(*id)).collect();
    let mut position = vec![0; joint.graph.arena_len()];
    joint.graph.nodes().enumerate().for_each(|(i, n)| position[index(n.id)] = i);
    saved.sort_by_key(|id| position[index(*id)]);
    let side = |at: usize| {
        let id = NodeId(at as u32);
        (cut.sink_side[vertex_in(id).index()], cut.sink_side[vertex_out(id).index()])
    };
    let sides = (0..joint.graph.arena_len()).map(side).collect();
    Ok(Solution { saved, banned: rules.banned, value: cut.value, capacities, reasons: rules.reasons, sides })
}

impl Rules<'_> {
    /// A vertex pair per node, with its cost and its edges to readers.
    fn add_nodes(&mut self) -> Result<Vec<(NodeId, Weight)>> {
        let mut capacities = Vec::new();
        for node in self.joint.graph.nodes().filter(|n| n.opcode != Opcode::Output) {
            let (at, into, out) = (index(node.id), vertex_in(node.id), vertex_out(node.id));
            if self.info.required_bw[at] {
                if self.info.tangents_closure[at] {
                    self.network.add_edge(into, sink(), f64::INFINITY);
                    continue;
                }
                self.network.add_edge(out, sink(), f64::INFINITY);
            }
            if must_recompute(node) {
                self.network.add_edge(into, sink(), f64::INFINITY);
                continue;
            }
            if is_primal(node) {
                self.ban(node, BanReason::PrimalInput);
            } else if is_fwd_seed_offset(node) {
                self.ban(node, BanReason::ForwardRngSeed);
            }
            if self.info.required_fw[at]
                && let Some(reason) = self.ban_reason(node)?
            {
                self.ban(node, reason);
            }
            let weight = self.weight(node)?;
            self.network.add_edge(into, out, weight.value);
            capacities.push((node.id, weight));
            for user in &self.joint.users[at] {
                self.network.add_edge(out, vertex_in(*user), f64::INFINITY);
            }
        }
        Ok(capacities)
    }

    /// Forbids to recompute a node, unless it is a view, exempt, or marked to be recomputed.
    fn ban(&mut self, node: &Node, reason: BanReason) {
        let symbolic_float = matches!(node.meta.value, Some(FakeValue::Float(_) | FakeValue::SymFloat(_)));
        if is_view(node) || self.dont_ban.contains(&node.id) || must_recompute(node) || symbolic_float {
            return;
        }
        self.reasons.insert(node.id, reason);
        if !std::mem::replace(&mut self.is_banned[index(node.id)], true) {
            self.banned.push(node.id);
            self.network.add_edge(source(), vertex_in(node.id), f64::INFINITY);
        }
    }

    /// Why a call of the forward may not be recomputed.
    fn ban_reason(&self, node: &Node) -> Result<Option<BanReason>> {
        if node.opcode != Opcode::Call || node.target == Target::Getitem {
            return Ok(None);
        }
        if node.meta.recompute == Some(Recompute::MustSave) {
            return Ok(Some(BanReason::MarkedMustSave));
        }
        if self.config.recompute_views && is_view(node) {
            return Ok(None);
        }
        if matches!(node.op(), Some("aten.lift_fresh_copy.default" | "aten.lift_fresh.default")) {
            return Ok(None);
        }
        if self.options.ban_if_not_in_allowlist {
            if !op_sets::is_recomputable(node) {
                return Ok(Some(BanReason::NotInAllowlist));
            }
        } else if op_sets::is_random(node) {
            return Ok(Some(BanReason::Random));
        } else if op_sets::is_compute_intensive(node) {
            return Ok(Some(BanReason::ComputeIntensive));
        }
        if self.options.ban_if_materialized_backward && materialized_by(self.joint, self.info, node).is_some() {
            return Ok(Some(BanReason::MaterializedInBackward));
        }
        let distance = self.info.dist_from_bw[index(node.id)];
        if distance < 1000 && distance > self.config.max_dist_from_bw {
            return Ok(Some(BanReason::TooFarFromBackward));
        }
        if self.options.ban_if_reduction {
            let mut arguments = 0;
            for arg in &node.args {
                if let graph::Arg::Node(id) = arg {
                    arguments += size_of(self.joint.graph.node(*id))?;
                }
            }
            if size_of(node)?.saturating_mul(4) < arguments {
                return Ok(Some(BanReason::Reduction));
            }
        }
        Ok(None)
    }

    /// What saving a value costs: its bytes, more of them the farther from the backward, twice where it would be fused away.
    fn weight(&self, node: &Node) -> Result<Weight> {
        let never = |note| Ok(Weight { value: f64::INFINITY, note: Some(note), ..Weight::default() });
        if is_sym_node(node) {
            let value = if matches!(node.meta.value, Some(FakeValue::Float(_) | FakeValue::SymFloat(_))) { 4.0 } else { 1.0 };
            return Ok(Weight { value, note: Some(CostNote::Symbolic), ..Weight::default() });
        }
        if is_backward_state(node) {
            return Ok(Weight { note: Some(CostNote::BackwardState), ..Weight::default() });
        }
        if node.tensor().is_none() {
            return never(CostNote::NonTensor);
        }
        if self.info.is_replayed[index(node.id)] {
            return never(CostNote::ReplayedMutation);
        }
        let bytes = size_of(node)?;
        if self.config.treat_parameters_as_free_to_save && self.info.is_static[index(node.id)] {
            return Ok(Weight { bytes, note: Some(CostNote::FreeParameter), ..Weight::default() });
        }
        if self.config.recompute_views && is_view(node) {
            return never(CostNote::View);
        }
        let distance = self.info.dist_from_bw[index(node.id)].clamp(1, 100);
        let value = (bytes as f64 * 1.1f64.powf(distance as f64)).trunc();
        let doubled = node.opcode != Opcode::Placeholder && self.joint.users(node.id).all(|u| is_fusible(node, u));
        Ok(Weight { value: if doubled { value * 2.0 } else { value }, bytes, distance, doubled, note: None })
    }

    /// Readers of a value that lie beyond the first reader that does not fuse are not recomputed.
    fn ban_used_far_apart(&mut self) {
        let (joint, info) = (self.joint, self.info);
        for used in &info.required_fw_nodes {
            let node = joint.graph.node(*used);
            let readers: Vec<&Node> = joint.users(*used).filter(|u| info.required_fw[index(u.id)]).collect();
            let order = |n: &Node| info.fw_order[index(n.id)];
            let Some(last) = readers.iter().map(|u| order(u)).max() else { continue };
            // With one reader, or none that fuses, there is nothing to ban.
            if !readers.iter().any(|u| is_fusible(node, u) && !self.is_banned[index(u.id)]) {
                continue;
            }
            let first_unfusible = self.first_unfusible(&readers, last);
            for user in readers {
                if order(user) > first_unfusible && is_fusible(node, user) && !self.is_banned[index(user.id)] {
                    self.ban(user, BanReason::UsedFarApart);
                }
            }
        }
    }

    /// Position of the first call downstream, up to `last`, that does not fuse with what it reads.
    fn first_unfusible(&self, start: &[&Node], last: usize) -> usize {
        let info = self.info;
        let order = |n: &Node| info.fw_order[index(n.id)];
        let mut heap: BinaryHeap<Reverse<(usize, bool, NodeId)>> = start.iter().map(|n| Reverse((order(n), true, n.id))).collect();
        let mut queued: HashSet<(NodeId, bool)> = start.iter().map(|n| (n.id, true)).collect();
        while let Some(Reverse((position, fusible, id))) = heap.pop() {
            queued.remove(&(id, fusible));
            if !fusible {
                return position;
            }
            let node = self.joint.graph.node(id);
            for user in self.joint.users(id).filter(|u| info.required_fw[index(u.id)] && order(u) <= last) {
                let fusible = is_fusible(node, user);
                if queued.insert((user.id, fusible)) {
                    heap.push(Reverse((order(user), fusible, user.id)));
                }
            }
        }
        last
    }

    /// The end of a chain of more than 100 fusible calls is not recomputed.
    fn ban_long_fusible_chains(&mut self) {
        let (joint, info) = (self.joint, self.info);
        let mut visited = vec![false; joint.graph.arena_len()];
        for start in &info.required_fw_nodes {
            let order = |id: NodeId| info.fw_order[index(id)];
            let start_order = order(*start);
            let mut heap = BinaryHeap::from([Reverse((start_order, *start))]);
            while let Some(Reverse((position, id))) = heap.pop() {
                if std::mem::replace(&mut visited[index(id)], true) {
                    continue;
                }
                let node = joint.graph.node(id);
                if position > start_order + 100 && heap.is_empty() {
                    self.ban(node, BanReason::LongFusibleChain);
                    break;
                }
                for user in joint.users(id) {
                    if info.required_fw[index(user.id)] && is_fusible(node, user) && !self.is_banned[index(user.id)] {
                        heap.push(Reverse((order(user.id), user.id)));
                    }
                }
            }
        }
    }

    /// A value is needed that can be neither saved nor recomputed: PyTorch's message.
    fn no_cut(&self) -> Error {
        let path = infinite_path(&self.network, source(), sink()).unwrap_or_default();
        let node_of = |v: NodeIndex| {
            let id = NodeId(((v.index() - 2) / 2) as u32);
            let suffix = if v.index() % 2 == 0 { "_in" } else { "_out" };
            (self.joint.graph.node(id), suffix)
        };
        let label = |v: NodeIndex| match v.index() {
            0 => "source".to_owned(),
            1 => "sink".to_owned(),
            _ => {
                let (node, suffix) = node_of(v);
                format!("{}{suffix}", node.name)
            }
        };
        let mut constraints: Vec<(&str, Vec<String>)> = Vec::new();
        let mut say = |name, text: String| match constraints.iter_mut().find(|(n, _)| *n == name) {
            Some((_, texts)) => texts.push(text),
            None => constraints.push((name, vec![text])),
        };
        for pair in path.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if from == source() {
                let (node, _) = node_of(to);
                say(&*node.name, self.reasons.get(&node.id).map(|r| r.name()).unwrap_or_default().to_owned());
            } else if to == sink() {
                let (node, _) = node_of(from);
                let reason = match (must_recompute(node), label(from).ends_with("_out")) {
                    (_, true) => "must be available for backward: input required for gradient",
                    (true, false) => "must recompute: marked by checkpoint policy",
                    (false, false) => "must be computed in backward: required for gradient",
                };
                say(&*node.name, reason.to_owned());
            } else {
                let ((a, _), (b, _)) = (node_of(from), node_of(to));
                if a.id == b.id {
                    say(&*a.name, self.weight(a).ok().and_then(|w| w.note).map_or("unknown", CostNote::name).to_owned());
                } else {
                    say(&*b.name, format!("depends on {}", a.name));
                }
            }
        }
        let lines: Vec<String> = constraints
            .iter()
            .map(|(name, texts)| format!("  {name}:\n{}", texts.iter().map(|t| format!("    - {t}")).collect::<Vec<_>>().join("\n")))
            .collect();
        let raw = path.iter().map(|v| label(*v)).collect::<Vec<_>>().join(" -> ");
        Error::runtime(format!(
            "AOT Autograd failed to partition the joint forward-backward graph.\n\nA value is required for backward, but cannot be \
             saved AND cannot be recomputed.\n\nNodes involved in the conflict:\n{}\n\n[Debug: min-cut path] {raw}\n",
            lines.join("\n")
        ))
    }
}

/// Whether the backward can reach a value.
pub(super) fn is_reachable(info: &NodeInfo, id: NodeId) -> bool {
    info.dist_from_bw[index(id)] < UNREACHABLE
}

/// The call of the backward that reads a value, or a view of it, without fusing with it: the value is materialized for that anyway. Of
/// several the first that computes something.
pub(super) fn materialized_by<'a>(joint: &'a Joint, info: &NodeInfo, node: &'a Node) -> Option<&'a Node> {
    if is_view(node) {
        return None;
    }
    let mut stack = vec![node];
    let mut seen = HashSet::from([node.id]);
    let mut alias = None;
    while let Some(current) = stack.pop() {
        for user in joint.users(current.id) {
            if !info.required_fw[index(user.id)] && !is_fusible(current, user) {
                if !is_aliasing(user) {
                    return Some(user);
                }
                alias = alias.or(Some(user));
            }
            if is_view(user) && seen.insert(user.id) {
                stack.push(user);
            }
        }
    }
    alias
}
