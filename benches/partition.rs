//! Time to partition joint graphs of 1,000 and 10,000 nodes, and to cut a network with our algorithm and with petgraph's.
//!
//! `cargo bench --no-default-features --bench partition`

#[path = "../tests/support/random_graph.rs"]
mod random_graph;

use aot_playground::graph::{parse, readable};
use aot_playground::partition::flow::minimum_cut;
use aot_playground::partition::{PartitionConfig, Partitioner, partition};
use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, NodeIndex};
use random_graph::{Random, joint_graph};
use std::time::Instant;

/// Milliseconds of the fastest of a few runs.
fn time(label: &str, mut run: impl FnMut()) {
    let fastest = (0..5)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e3
        })
        .fold(f64::INFINITY, f64::min);
    println!("{label:40} {fastest:10.2} ms");
}

/// A network of the partitioner's kind: two vertices per value, with the edge of saving it between them.
fn network(values: usize) -> DiGraph<(), f64> {
    let mut random = Random(1);
    let mut network = DiGraph::new();
    for _ in 0..2 + 2 * values {
        network.add_node(());
    }
    let (into, out) = (|v: usize| NodeIndex::new(2 + 2 * v), |v: usize| NodeIndex::new(3 + 2 * v));
    for v in 0..values {
        network.add_edge(into(v), out(v), 100.0 + random.below(1000) as f64);
        for _ in 0..2 {
            let reader = v + 1 + random.below(10);
            if reader < values {
                network.add_edge(out(v), into(reader), 1e9);
            }
        }
        if random.below(8) == 0 {
            network.add_edge(NodeIndex::new(0), into(v), 1e9);
        }
        if random.below(4) == 0 {
            network.add_edge(out(v), NodeIndex::new(1), 1e9);
        }
    }
    network
}

fn main() {
    for size in [1_000, 10_000] {
        let joint = joint_graph(size, 12, 5);
        let text = readable(&joint);
        println!("{} nodes", joint.len());
        time("  print_readable", || drop(readable(&joint)));
        time("  parse", || drop(parse(&text, &|_| None)));
        for partitioner in [Partitioner::Default, Partitioner::MinCut] {
            let config = PartitionConfig { partitioner, ..PartitionConfig::default() };
            time(&format!("  {}", partitioner.name()), || drop(partition(&joint, 1, &config)));
        }
        let network = network(size);
        time("  minimum_cut", || drop(minimum_cut(&network, NodeIndex::new(0), NodeIndex::new(1))));
        time("  petgraph's dinics", || drop(dinics(&network, NodeIndex::new(0), NodeIndex::new(1))));
    }
}
