//! What holds of every partition: forward and backward together compute what the joint graph does, nothing that may not be
//! recomputed is, and the cut is a minimum one.

use super::random_graph::{Random, joint_graph};
use graph::{Arg, Graph, NodeId, Opcode, Recompute, readable};
use partition::flow::minimum_cut;
use partition::{PartitionConfig, Partitioner, Study, is_primal, is_tangent, partition};
use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use report::{Answer, Capacity, CutNetwork, Question};
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// What a graph computes, each value as a hash of its call on hashes; inputs by name.
fn values(graph: &Graph, inputs: &HashMap<String, u64>) -> Vec<Option<u64>> {
    let mut known: HashMap<NodeId, u64> = HashMap::new();
    for node in graph.nodes() {
        let value = match node.opcode {
            Opcode::Placeholder => inputs[&*node.name],
            Opcode::Output => break,
            _ => {
                let mut hasher = DefaultHasher::new();
                node.target.text().hash(&mut hasher);
                node.args.iter().for_each(|a| a.for_each_node(&mut |n| known[&n].hash(&mut hasher)));
                hasher.finish()
            }
        };
        known.insert(node.id, value);
    }
    graph.outputs().iter().map(|o| if let Arg::Node(n) = o { Some(known[n]) } else { None }).collect()
}

#[test]
fn parts_compute_what_the_whole_does() {
    for seed in 0..60 {
        let joint = joint_graph(40 + 7 * seed as usize, 3 + seed as usize % 9, seed);
        let inputs: HashMap<String, u64> = joint.placeholders().enumerate().map(|(i, n)| (n.name.to_string(), i as u64)).collect();
        let whole = values(&joint, &inputs);
        for (partitioner, budget) in
            [(Partitioner::Default, 1.0), (Partitioner::MinCut, 1.0), (Partitioner::MinCut, 0.4), (Partitioner::MinCut, 0.0)]
        {
            let config = PartitionConfig { partitioner, activation_memory_budget: budget, ..PartitionConfig::default() };
            let done = partition(&joint, 1, &config).unwrap();
            done.forward.validate().unwrap();
            done.backward.validate().unwrap();
            let forward = values(&done.forward, &inputs);
            assert_eq!(forward[..1], whole[..1]);
            let mut given = inputs.clone();
            given.extend(done.saved.iter().cloned().zip(forward[1..].iter().map(|v| v.unwrap())));
            assert_eq!(values(&done.backward, &given), whole[1..], "seed {seed}\n{}", readable(&done.backward));
            let takes: Vec<_> = done.backward.placeholders().filter(|n| !is_tangent(n)).map(|n| n.name.to_string()).collect();
            assert_eq!(takes, done.saved);
            assert!(done.forward.placeholders().all(is_primal));
            // Every forward value has a decision, and what is banned is not recomputed.
            if budget == 1.0 {
                let recomputed: HashSet<&String> = done.report.recomputed.iter().collect();
                assert!(done.report.banned.iter().flatten().all(|n| !recomputed.contains(n)), "seed {seed}");
                assert!(done.report.decisions.iter().filter(|d| d.fate == "saved").count() == done.saved.len());
            }
        }
    }
}

#[test]
fn partitions_are_the_same_every_time() {
    let joint = joint_graph(600, 8, 3);
    let once = partition(&joint, 1, &PartitionConfig::default()).unwrap();
    let again = partition(&joint, 1, &PartitionConfig::default()).unwrap();
    assert_eq!(readable(&once.forward), readable(&again.forward));
    assert_eq!(readable(&once.backward), readable(&again.backward));
    assert_eq!(once.report, again.report);
}

/// A random network with some infinite edges.
fn network(random: &mut Random, vertices: usize, edges: usize) -> DiGraph<(), f64> {
    let mut network = DiGraph::new();
    for _ in 0..vertices {
        network.add_node(());
    }
    let mut seen = HashSet::new();
    for _ in 0..edges {
        let (a, b) = (random.below(vertices), random.below(vertices));
        if a != b && b != 0 && a != 1 && seen.insert((a, b)) && !seen.contains(&(b, a)) {
            let capacity = if random.below(6) == 0 { f64::INFINITY } else { random.below(50) as f64 };
            network.add_edge(NodeIndex::new(a), NodeIndex::new(b), capacity);
        }
    }
    network
}

#[test]
fn cuts_are_minimum_and_nearest_the_sink() {
    let mut random = Random(7);
    let mut cuts = 0;
    for _ in 0..400 {
        let vertices = 4 + random.below(30);
        let network = network(&mut random, vertices, 3 * vertices);
        let (source, sink) = (NodeIndex::new(0), NodeIndex::new(1));
        let Some(cut) = minimum_cut(&network, source, sink) else { continue };
        cuts += 1;
        // petgraph's flow, with a large number for infinity.
        let finite = network.map(|_, _| (), |_, c| c.min(1e9));
        let (value, flows) = dinics(&finite, source, sink);
        assert_eq!(cut.value, value);
        let mut sink_side = vec![false; vertices];
        sink_side[1] = true;
        let mut stack = vec![1];
        while let Some(to) = stack.pop() {
            for edge in finite.edge_references() {
                let (a, b, flow) = (edge.source().index(), edge.target().index(), flows[edge.id().index()]);
                let reaches = [(b == to && flow < *edge.weight()).then_some(a), (a == to && flow > 0.0).then_some(b)];
                for from in reaches.into_iter().flatten() {
                    if !std::mem::replace(&mut sink_side[from], true) {
                        stack.push(from);
                    }
                }
            }
        }
        assert_eq!(cut.sink_side, sink_side);
        let crossing = network.edge_references().filter(|e| !sink_side[e.source().index()] && sink_side[e.target().index()]);
        assert_eq!(crossing.map(|e| *e.weight()).sum::<f64>(), cut.value);
    }
    assert!(cuts > 100, "{cuts}");
}

/// The largest flow through the network of an answer, by petgraph.
fn largest_flow(answer: &CutNetwork) -> f64 {
    const INFINITE: f64 = 1e15;
    let mut network = DiGraph::new();
    for _ in 0..2 + 2 * answer.nodes.len() {
        network.add_node(());
    }
    let (source, sink) = (NodeIndex::new(0), NodeIndex::new(1));
    let (into, out) = (|i: usize| NodeIndex::new(2 + 2 * i), |i: usize| NodeIndex::new(3 + 2 * i));
    for (i, node) in answer.nodes.iter().enumerate() {
        match &node.capacity {
            Some(Capacity::Finite(c) | Capacity::Symbolic(c)) => drop(network.add_edge(into(i), out(i), *c)),
            Some(Capacity::Infinite(_)) => drop(network.add_edge(into(i), out(i), INFINITE)),
            None => {}
        }
        if node.source.is_some() {
            network.add_edge(source, into(i), INFINITE);
        }
        if node.sink.is_some() {
            network.add_edge(if node.capacity.is_some() { out(i) } else { into(i) }, sink, INFINITE);
        }
    }
    for (a, b) in &answer.edges {
        network.add_edge(out(*a as usize), into(*b as usize), INFINITE);
    }
    dinics(&network, source, sink).0
}

#[test]
fn the_cut_of_a_joint_graph_is_its_largest_flow() {
    for seed in 0..40 {
        let mut joint = joint_graph(60 + 5 * seed as usize, 3 + seed as usize % 7, 100 + seed);
        if seed % 3 == 0 {
            // Some of the forward is marked as checkpointing marks it.
            let mut random = Random(seed);
            let marked: Vec<NodeId> = joint.nodes().filter(|n| n.opcode == Opcode::Call && !n.meta.is_backward).map(|n| n.id).collect();
            for id in marked {
                let mark = [None, Some(Recompute::MustSave), Some(Recompute::PreferRecompute), Some(Recompute::MustRecompute)];
                joint.node_mut(id).meta.recompute = mark[random.below(4)];
            }
        }
        let Answer::Network { network } = Study::new(Rc::new(joint.clone()), 1, PartitionConfig::default()).answer(&Question::Network {
            query: Default::default(),
            around: None,
            radius: None,
        }) else {
            panic!("no network")
        };
        assert_eq!(network.nodes.len(), network.total as usize);
        assert_eq!(largest_flow(&network), network.value, "seed {seed}");
        let done = partition(&joint, 1, &PartitionConfig::default()).unwrap();
        assert_eq!(done.report.cut.unwrap().value, network.value);
        // Nothing is recomputed that may not be, marked or not.
        let recomputed: HashSet<&String> = done.report.recomputed.iter().collect();
        assert!(done.report.banned.iter().flatten().all(|n| !recomputed.contains(n)), "seed {seed}");
        let must_save = joint.nodes().filter(|n| n.meta.recompute == Some(Recompute::MustSave) && n.op() != Some("aten.t.default"));
        assert!(must_save.into_iter().all(|n| !recomputed.contains(&n.name.to_string())), "seed {seed}");
    }
}

#[test]
fn the_cut_is_no_more_than_what_the_default_partitioner_saves() {
    for seed in 0..40 {
        let joint = joint_graph(50 + 9 * seed as usize, 2 + seed as usize % 11, 500 + seed);
        let cut = partition(&joint, 1, &PartitionConfig::default()).unwrap().report.cut.unwrap();
        let config = PartitionConfig { cse: false, ..PartitionConfig::default() };
        let whole = partition(&joint, 1, &config).unwrap().report.cut.unwrap();
        let default = partition(&joint, 1, &PartitionConfig { partitioner: Partitioner::Default, ..config }).unwrap();
        let weight = |name: &String| match &whole.capacities[name] {
            Capacity::Finite(c) | Capacity::Symbolic(c) => *c,
            Capacity::Infinite(_) => f64::INFINITY,
        };
        let saved: f64 = default.saved.iter().map(weight).sum();
        assert!(whole.value <= saved, "seed {seed}: {} > {saved}", whole.value);
        assert!(cut.value <= saved, "seed {seed}: {} > {saved}", cut.value);
    }
}

#[test]
fn what_is_explained_fits_what_was_decided() {
    for seed in 0..20 {
        let joint = joint_graph(120, 6, 900 + seed);
        for budget in [1.0, 0.5] {
            let config = PartitionConfig { activation_memory_budget: budget, ..PartitionConfig::default() };
            let done = partition(&joint, 1, &config).unwrap();
            let saved: HashSet<&String> = done.saved.iter().collect();
            for decision in &done.report.decisions {
                assert_eq!(decision.fate == "saved", saved.contains(&decision.name));
                // What something is recomputed from is saved, or comes with the backward.
                let there = |n: &String| saved.contains(n) || n.starts_with("tangents");
                assert!(decision.recomputed_from.iter().all(there), "{decision:?}");
                assert_eq!(decision.fate == "recomputed", decision.cost.is_some());
                if let Some(parts) = &decision.capacity
                    && let (Capacity::Finite(value), None) = (&parts.value, &parts.note)
                {
                    let grown = (parts.bytes as f64 * parts.factor).trunc();
                    assert_eq!(*value, if parts.doubled { 2.0 * grown } else { grown });
                }
            }
            assert_eq!(done.report.recompute_cost.calls, done.report.recomputed.len() as u64);
        }
    }
}

#[test]
fn memory_is_alive_from_birth_to_last_use() {
    let joint = joint_graph(40, 4, 3);
    let study = Study::new(Rc::new(joint.clone()), 1, PartitionConfig::default());
    let Answer::Eager { memory: eager, .. } = study.answer(&Question::Eager) else { panic!("no answer") };
    let Answer::Partition { partition } = study.answer(&Question::Partition { query: Default::default() }) else { panic!("no answer") };
    for memory in [&eager, &partition.memory] {
        for (i, step) in memory.steps.iter().enumerate() {
            let alive = memory.values.iter().filter(|v| v.born <= i as u32 && i as u32 <= v.dies).map(|v| v.bytes).sum::<u64>();
            assert_eq!(step.bytes, alive, "{} at {}", memory.label, step.name);
        }
        assert_eq!(memory.peak_bytes, memory.steps.iter().map(|s| s.bytes).max().unwrap());
        assert_eq!(memory.steps[memory.peak_step as usize].bytes, memory.peak_bytes);
    }
    // Followed step by step or read off the cut, what is kept is the same; eager mode keeps no less than what min-cut saves in weight.
    assert_eq!(partition.memory.saved_bytes, partition.partition.activation_bytes);
    assert!(eager.saved_bytes > 0);
    // Between the parts lie the inputs, the output and what is saved, each storage once.
    let inputs = joint.placeholders().filter(|n| is_primal(n)).count() as u64;
    let storage = 64 * 64 * 4;
    assert!(partition.memory.between_bytes >= (inputs + 1) * storage);
    assert!(partition.memory.between_bytes <= eager.between_bytes + partition.partition.saved_bytes);
}

#[test]
fn a_counterfactual_recomputes_the_value_and_saves_no_less_in_weight() {
    let joint = joint_graph(150, 6, 77);
    let study = Study::new(Rc::new(joint.clone()), 1, PartitionConfig::default());
    let done = partition(&joint, 1, &PartitionConfig::default()).unwrap();
    let mut answered = 0;
    for name in &done.saved {
        let Answer::Counterfactual { counterfactual } =
            study.answer(&Question::Counterfactual { name: name.clone(), query: Default::default() })
        else {
            panic!("no answer")
        };
        if counterfactual.impossible.is_some() {
            assert!(joint.find(name).is_some_and(is_primal), "{name}: {counterfactual:?}");
            continue;
        }
        answered += 1;
        assert!(counterfactual.no_longer_saved.iter().any(|v| v.name == *name));
        assert!(counterfactual.recomputed.contains(name));
        // Without a rule that forbids to recompute it, another cut cannot be cheaper.
        let banned = done.report.banned.iter().flatten().any(|n| n == name);
        assert!(banned || counterfactual.cut >= 0.0, "{counterfactual:?}");
    }
    assert!(answered > 3);
}
