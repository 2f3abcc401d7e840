//! Questions about a joint graph that is kept after it was partitioned: other partitioners and budgets, what if a value were
//! recomputed, the flow network, memory over time. Nothing is traced again.

use super::budget::{Choice, choose_saved_values};
use super::classify::{NodeInfo, classify_nodes};
use super::joint::{Joint, index, is_primal, must_recompute, size_of};
use super::rules::{Solution, Weight};
use super::{MemoryBudgetSolver, PartitionConfig, Partitioned, Partitioner, explain, memory, partition, prepare};
use diagnostics::error::{Error, Result};
use graph::{Graph, NodeId, Opcode, Recompute};
use report::sentences::{self, Sentence};
use report::{
    Answer, Counterfactual, CurvePoint, CutNetwork, CutNode, MemoryProfile, PartitionAnswer, PartitionQuery, Question, ValueSize,
};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// Budgets on the curve beside 0, where none are asked for.
const CURVE_POINTS: u32 = 20;
/// Values of a network shown at once, where all of it is asked for.
const NETWORK_LIMIT: usize = 400;

/// A joint graph and how it was partitioned.
pub struct Study {
    joint: Rc<Graph>,
    num_fwd_outputs: usize,
    config: PartitionConfig,
    eager: Option<EagerGraph>,
}

/// Makes the joint graph of a function as eager mode runs it, where the other one is of decomposed operators.
pub type EagerGraph = Box<dyn Fn() -> Result<Graph>>;

impl Study {
    /// Of a joint graph whose first outputs are the forward's.
    pub fn new(joint: Rc<Graph>, num_fwd_outputs: usize, config: PartitionConfig) -> Self {
        Study { joint, num_fwd_outputs, config, eager: None }
    }

    /// The same, where the joint graph is not what eager mode runs.
    pub fn with_eager(self, eager: EagerGraph) -> Self {
        Study { eager: Some(eager), ..self }
    }

    /// Inputs that live as long as the model, by their places among the joint graph's.
    pub fn static_inputs(&self) -> &[usize] {
        &self.config.static_inputs
    }

    /// Answers a question.
    pub fn answer(&self, question: &Question) -> Answer {
        let answer = match question {
            Question::Partition { query } => self.partition(query).map(|partition| Answer::Partition { partition: Box::new(partition) }),
            Question::Eager => self.compared_with_eager(),
            Question::Peak { budget } => self.peak(*budget).map(|sentence| Answer::Peak { sentence }),
            Question::Curve { solver, points } => {
                self.curve(solver.as_deref(), points.unwrap_or(CURVE_POINTS)).map(|points| Answer::Curve { points })
            }
            Question::Counterfactual { name, query } => {
                self.counterfactual(name, query).map(|counterfactual| Answer::Counterfactual { counterfactual })
            }
            Question::Network { query, around, radius } => {
                self.network(query, around.as_deref(), radius.unwrap_or(2)).map(|network| Answer::Network { network })
            }
        };
        answer.unwrap_or_else(|error| Answer::Failed { message: error.message })
    }

    /// The settings of the run, with what a query changes.
    fn config(&self, query: &PartitionQuery) -> Result<PartitionConfig> {
        let mut config = self.config.clone();
        if let Some(name) = &query.partitioner {
            let known = [Partitioner::Default, Partitioner::MinCut].into_iter().find(|p| p.name() == name);
            config.partitioner = known.ok_or_else(|| Error::runtime(format!("there is no partitioner {name}")))?;
        }
        if let Some(budget) = query.budget {
            config.activation_memory_budget = budget;
        }
        if let Some(solver) = &query.solver {
            config.activation_memory_budget_solver = MemoryBudgetSolver::of(solver);
        }
        Ok(config)
    }

    fn split(&self, query: &PartitionQuery) -> Result<Partitioned> {
        let config = self.config(query)?;
        match &query.recompute {
            None => partition(&self.joint, self.num_fwd_outputs, &config),
            Some(name) => partition(&self.with_recomputed(name)?, self.num_fwd_outputs, &config),
        }
    }

    /// The joint graph with a value marked to be recomputed.
    fn with_recomputed(&self, name: &str) -> Result<Graph> {
        let mut graph = Graph::clone(&self.joint);
        let node = graph.find(name).ok_or_else(|| Error::runtime(format!("there is no value {name}")))?;
        if is_primal(node) {
            return Err(Error::runtime(format!("{name} is an input: there is nothing to recompute it from")));
        }
        let id = node.id;
        // One result of several: the call is what is recomputed.
        let call = match (super::joint::is_getitem(node), node.inputs().first()) {
            (true, Some(call)) => Some(*call),
            _ => None,
        };
        for id in [Some(id), call].into_iter().flatten() {
            graph.node_mut(id).meta.recompute = Some(Recompute::MustRecompute);
        }
        Ok(graph)
    }

    fn profile(&self, label: &str, split: &Partitioned) -> MemoryProfile {
        memory::of_parts(label, &split.forward, &split.backward, self.num_fwd_outputs)
    }

    fn partition(&self, query: &PartitionQuery) -> Result<PartitionAnswer> {
        let split = self.split(query)?;
        let memory = self.profile(&split.report.partitioner, &split);
        Ok(PartitionAnswer { partition: split.report, memory })
    }

    /// Memory in eager mode, and what the run's partition keeps beside it.
    fn compared_with_eager(&self) -> Result<Answer> {
        let (memory, split) = (self.eager()?, self.split(&PartitionQuery::default())?);
        let (ours, eager) = (split.report.activation_bytes, memory.saved_bytes);
        Ok(Answer::Eager { kept: sentences::kept(ours, eager), is_less: eager < ours, memory })
    }

    /// Memory in eager mode.
    fn eager(&self) -> Result<MemoryProfile> {
        let mut graph = self.eager.as_ref().map_or_else(|| Ok(Graph::clone(&self.joint)), |trace| trace())?;
        graph.eliminate_dead_code(&|n| super::op_sets::is_impure(n, self.config.random_is_impure));
        Ok(memory::of_joint("eager", &graph, self.num_fwd_outputs))
    }

    /// Where the peak of the run's partition is, beside the one under a budget.
    fn peak(&self, budget: f64) -> Result<Sentence> {
        let run = self.partition(&PartitionQuery::default())?;
        let min_cut = Some(Partitioner::MinCut.name().to_owned());
        let other = self.partition(&PartitionQuery { partitioner: min_cut, budget: Some(budget), ..PartitionQuery::default() })?;
        Ok(sentences::peak(&run.memory, Some((budget, other.memory.peak_bytes)), false))
    }

    fn curve(&self, solver: Option<&str>, points: u32) -> Result<Vec<CurvePoint>> {
        let points = points.clamp(1, 200);
        (0..=points)
            .map(|i| {
                let query = PartitionQuery {
                    partitioner: Some(Partitioner::MinCut.name().to_owned()),
                    budget: Some(f64::from(i) / f64::from(points)),
                    solver: solver.map(str::to_owned),
                    recompute: None,
                };
                let split = self.split(&query)?;
                Ok(CurvePoint {
                    budget: split.report.budget,
                    saved_bytes: split.report.saved_bytes,
                    peak_bytes: self.profile("", &split).peak_bytes,
                    recompute: split.report.recompute_cost,
                    recomputed: split.report.recomputed.len() as u64,
                })
            })
            .collect()
    }

    fn counterfactual(&self, name: &str, query: &PartitionQuery) -> Result<Counterfactual> {
        let now = self.split(query)?;
        let otherwise = match self.split(&PartitionQuery { recompute: Some(name.to_owned()), ..query.clone() }) {
            Ok(split) => split,
            Err(error) => {
                return Ok(Counterfactual { name: name.to_owned(), impossible: Some(error.message), ..Counterfactual::default() });
            }
        };
        let sizes = |split: &Partitioned| -> Vec<ValueSize> {
            let bytes = |n: &str| split.forward.find(n).filter(|n| n.tensor().is_some()).map_or(0, |n| size_of(n).unwrap_or(0));
            split.saved.iter().map(|n| ValueSize { name: n.clone(), bytes: bytes(n) }).collect()
        };
        let (before, after) = (sizes(&now), sizes(&otherwise));
        if after.iter().any(|v| v.name == name) {
            let message = format!("{name} would be saved all the same: the forward and the backward both need it as it is");
            return Ok(Counterfactual { name: name.to_owned(), impossible: Some(message), ..Counterfactual::default() });
        }
        let without = |a: &[ValueSize], b: &[ValueSize]| -> Vec<ValueSize> {
            let known: BTreeSet<&str> = b.iter().map(|v| v.name.as_str()).collect();
            a.iter().filter(|v| !known.contains(v.name.as_str())).cloned().collect()
        };
        let value = |split: &Partitioned| split.report.decisive.as_ref().or(split.report.cut.as_ref()).map_or(0.0, |c| c.value);
        let known: BTreeSet<&String> = now.report.recomputed.iter().collect();
        Ok(Counterfactual {
            name: name.to_owned(),
            impossible: None,
            saved_instead: without(&after, &before),
            no_longer_saved: without(&before, &after),
            bytes: otherwise.report.saved_bytes as i64 - now.report.saved_bytes as i64,
            cut: value(&otherwise) - value(&now),
            recomputed: otherwise.report.recomputed.iter().filter(|n| !known.contains(n)).cloned().collect(),
        })
    }

    fn network(&self, query: &PartitionQuery, around: Option<&str>, radius: u32) -> Result<CutNetwork> {
        let config = PartitionConfig { partitioner: Partitioner::MinCut, ..self.config(query)? };
        let mut graph = Graph::clone(&self.joint);
        prepare(&mut graph, self.num_fwd_outputs, &config);
        let joint = Joint::new(&graph, self.num_fwd_outputs);
        let info = classify_nodes(&joint, &config)?;
        if !info.has_backward() {
            return Ok(CutNetwork::default());
        }
        let choice = choose_saved_values(&joint, &info, &config)?;
        let Some(solution) = choice.decisive() else {
            return Err(Error::runtime("With a budget of 0 nothing is cut: the inputs are saved, and everything else is recomputed."));
        };
        let shown = shown_nodes(&joint, &choice, around, radius)?;
        let weights: HashMap<NodeId, &Weight> = solution.capacities.iter().map(|(id, w)| (*id, w)).collect();
        let place: HashMap<NodeId, u32> = shown.iter().enumerate().map(|(i, id)| (*id, i as u32)).collect();
        let edges = shown
            .iter()
            .enumerate()
            .filter(|(_, id)| weights.contains_key(id))
            .flat_map(|(i, id)| joint.users[index(*id)].iter().filter_map(|u| place.get(u)).map(move |u| (i as u32, *u)))
            .collect();
        Ok(CutNetwork {
            nodes: shown.iter().map(|id| cut_node(&joint, &info, solution, &weights, *id)).collect(),
            edges,
            total: graph.nodes().filter(|n| n.opcode != Opcode::Output).count() as u32,
            value: solution.value,
        })
    }
}

/// Values to show: all of a small network; of a large one those around a value, or around the cut.
fn shown_nodes(joint: &Joint, choice: &Choice, around: Option<&str>, radius: u32) -> Result<Vec<NodeId>> {
    let graph = joint.graph;
    let all: Vec<NodeId> = graph.nodes().filter(|n| n.opcode != Opcode::Output).map(|n| n.id).collect();
    if around.is_none() && all.len() <= NETWORK_LIMIT {
        return Ok(all);
    }
    let start = match around {
        Some(name) => vec![graph.find(name).ok_or_else(|| Error::runtime(format!("there is no value {name}")))?.id],
        None => choice.saved.clone(),
    };
    let mut found = vec![false; graph.arena_len()];
    let mut ring = start;
    let mut count = 0;
    for _ in 0..=radius {
        let mut next = Vec::new();
        for id in ring {
            if count < NETWORK_LIMIT && graph.node(id).opcode != Opcode::Output && !std::mem::replace(&mut found[index(id)], true) {
                count += 1;
                next.extend(joint.inputs[index(id)].iter().chain(&joint.users[index(id)]).copied());
            }
        }
        ring = next;
    }
    Ok(all.into_iter().filter(|id| found[index(*id)]).collect())
}

fn cut_node(joint: &Joint, info: &NodeInfo, solution: &Solution, weights: &HashMap<NodeId, &Weight>, id: NodeId) -> CutNode {
    let node = joint.graph.node(id);
    let at = index(id);
    let (into, out) = solution.sides[at];
    let sink = if info.tangents_closure[at] {
        Some("computed in the backward, from tangents")
    } else if must_recompute(node) {
        Some("marked to be recomputed by checkpointing")
    } else if info.required_bw[at] {
        Some("the backward returns it")
    } else {
        None
    };
    CutNode {
        name: node.name.to_string(),
        capacity: weights.get(&id).map(|w| explain::capacity(w)),
        cut: !into && out,
        side: if into || out { "backward" } else { "forward" }.to_owned(),
        source: solution.reasons.get(&id).map(|reason| reason.words().to_owned()),
        sink: sink.map(str::to_owned),
    }
}
