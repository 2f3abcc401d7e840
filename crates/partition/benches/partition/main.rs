//! Time to partition stacked transformer blocks of 1,000, 10,000 and 100,000 nodes, with the memory it takes, and to cut a
//! network with our algorithm and with petgraph's.
//!
//! `cargo bench -p partition [-- --write FOLDER]` writes the graphs' text, too; the time PyTorch
//! takes for the same graphs: `python crates/partition/benches/partition/pytorch.py FOLDER/1000.txt ...`

#[path = "../../tests/partition/random_graph.rs"]
mod random_graph;
mod stack;

use graph::{parse, readable};
use partition::flow::minimum_cut;
use partition::{PartitionConfig, Partitioner, partition};
use petgraph::algo::dinics;
use petgraph::graph::{DiGraph, NodeIndex};
use random_graph::{Random, joint_graph};
use stack::{TRANSFORMER_BLOCK, stack};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// The system's allocator, with a count of what is in use and its peak.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        PEAK.fetch_max(USED.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Milliseconds that this thread has been on a processor: what other programs take does not count. Elsewhere than on Linux,
/// milliseconds since the first call.
fn now() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let start = *START;
    let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = scheduled.split_whitespace().next().and_then(|n| n.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64() * 1e3, |n| n / 1e6)
}

/// Milliseconds of the fastest of a few runs, and the most memory one took.
fn time(label: &str, runs: usize, mut run: impl FnMut()) {
    let (mut fastest, mut most) = (f64::INFINITY, 0);
    for _ in 0..runs {
        let before = USED.load(Relaxed);
        PEAK.store(before, Relaxed);
        let start = now();
        run();
        fastest = fastest.min(now() - start);
        most = most.max(PEAK.load(Relaxed) - before);
    }
    println!("{label:44} {fastest:10.2} ms {:10.1} MiB", most as f64 / f64::from(1 << 20));
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
    operators::install();
    let arguments: Vec<String> = std::env::args().collect();
    let folder = arguments.iter().position(|a| a == "--write").and_then(|i| arguments.get(i + 1));
    let block = parse(TRANSFORMER_BLOCK, &|_| None).map(|p| p.graph.len()).unwrap_or(1);
    for size in [1_000, 10_000, 100_000] {
        let joint = stack(TRANSFORMER_BLOCK, (size + block / 2) / block);
        let runs = if size > 50_000 { 1 } else { 5 };
        println!("{} nodes", joint.len());
        let text = readable(&joint);
        if let Some(folder) = folder {
            std::fs::write(format!("{folder}/{size}.txt"), &text).unwrap();
        }
        time("  print_readable", runs, || drop(readable(&joint)));
        time("  parse", runs, || drop(parse(&text, &|_| None)));
        for (partitioner, budget) in [(Partitioner::Default, 1.0), (Partitioner::MinCut, 1.0), (Partitioner::MinCut, 0.5)] {
            let config = PartitionConfig { partitioner, activation_memory_budget: budget, ..PartitionConfig::default() };
            time(&format!("  {}, budget {budget}", partitioner.name()), runs, || drop(partition(&joint, 1, &config)));
        }
        if size <= 10_000 {
            let random = joint_graph(size, 12, 5);
            time("  min cut of a random graph as large", runs, || drop(partition(&random, 1, &PartitionConfig::default())));
            let network = network(size);
            time("  minimum_cut", runs, || drop(minimum_cut(&network, NodeIndex::new(0), NodeIndex::new(1))));
            time("  petgraph's dinics", 1, || drop(dinics(&network, NodeIndex::new(0), NodeIndex::new(1))));
        }
    }
}
