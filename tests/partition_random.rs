//! What holds of every partition: forward and backward together compute what the joint graph does, nothing that may not be
//! recomputed is, and the cut is a minimum one.

#[path = "support/random_graph.rs"]
mod random_graph;

use aot_playground::graph::{Arg, Graph, NodeId, Opcode, readable};
use aot_playground::partition::flow::minimum_cut;
use aot_playground::partition::{PartitionConfig, Partitioner, is_primal, is_tangent, partition};
use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use random_graph::{Random, joint_graph};
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

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
