//! The minimum cut of a network, by Dinic's algorithm.
//!
//! Of several minimum cuts it is the one nearest the sink: the sink's side is what can still reach the sink when the flow is
//! maximal, which does not depend on the flow found, and is what PyTorch takes. Infinite edges count as three times the sum
//! of the finite ones. petgraph holds the network; its own `dinics` finds the same flow but restarts every search with
//! vectors as long as the network, and is some thirty times slower on a graph of 10,000 nodes (see the partition bench).
//!
//! Bound: with V vertices and E edges there are fewer than V phases, since each finds longer paths than the one before; a phase sends
//! along at most E paths of at most V edges and looks at every edge once more, so that all take O(V² E) steps. The networks of chains,
//! trees and stacks of blocks, in which a value's way to the sink does not lengthen with the graph, take O(E): the steps tests hold that.

use graph::step;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use std::collections::VecDeque;

/// A minimum cut.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Its capacity.
    pub value: f64,
    /// Per vertex, whether it is on the sink's side.
    pub sink_side: Vec<bool>,
}

/// The residual network: edge `2k` goes forward, edge `2k + 1` back.
struct Residual {
    first: Vec<usize>,
    edges: Vec<usize>,
    ends: Vec<usize>,
    capacity: Vec<f64>,
}

impl Residual {
    fn new(network: &DiGraph<(), f64>) -> Self {
        let finite: f64 = network.edge_weights().filter(|c| c.is_finite() && **c > 0.0).sum();
        let infinite = if finite > 0.0 { 3.0 * finite } else { 1.0 };
        let (mut ends, mut capacity) = (Vec::new(), Vec::new());
        let mut degree = vec![0usize; network.node_count() + 1];
        for edge in network.edge_references().filter(|e| *e.weight() > 0.0 && e.source() != e.target()) {
            let (from, to) = (edge.source().index(), edge.target().index());
            ends.extend([to, from]);
            capacity.extend([edge.weight().min(infinite), 0.0]);
            degree[from] += 1;
            degree[to] += 1;
        }
        // Edges by the vertex they leave, in one vector.
        let mut first = Vec::with_capacity(degree.len());
        let mut total = 0;
        for d in &degree {
            first.push(total);
            total += d;
        }
        let mut next = first.clone();
        let mut edges = vec![0; ends.len()];
        for edge in 0..ends.len() {
            let from = ends[edge ^ 1];
            edges[next[from]] = edge;
            next[from] += 1;
        }
        Residual { first, edges, ends, capacity }
    }

    fn leaving(&self, vertex: usize) -> &[usize] {
        &self.edges[self.first[vertex]..self.first[vertex + 1]]
    }

    /// Steps from the source over edges with capacity left, as far as the sink.
    fn levels(&self, source: usize, sink: usize) -> Vec<u32> {
        let mut levels = vec![u32::MAX; self.first.len() - 1];
        levels[source] = 0;
        let mut queue = VecDeque::from([source]);
        while let Some(vertex) = queue.pop_front() {
            if levels[sink] != u32::MAX {
                break;
            }
            for edge in self.leaving(vertex) {
                step();
                let end = self.ends[*edge];
                if self.capacity[*edge] > 0.0 && levels[end] == u32::MAX {
                    levels[end] = levels[vertex] + 1;
                    queue.push_back(end);
                }
            }
        }
        levels
    }

    /// Sends what one path takes; zero where none is left.
    fn send_one(&mut self, source: usize, sink: usize, levels: &mut [u32], current: &mut [usize], path: &mut Vec<usize>) -> f64 {
        path.clear();
        let mut vertex = source;
        loop {
            if vertex == sink {
                let amount = path.iter().map(|e| self.capacity[*e]).fold(f64::INFINITY, f64::min);
                for edge in path.iter() {
                    step();
                    self.capacity[*edge] -= amount;
                    self.capacity[*edge ^ 1] += amount;
                }
                return amount;
            }
            let (start, end) = (self.first[vertex], self.first[vertex + 1]);
            let onward = (start + current[vertex]..end).find(|at| {
                step();
                let edge = self.edges[*at];
                self.capacity[edge] > 0.0 && levels[self.ends[edge]] == levels[vertex].wrapping_add(1)
            });
            match onward {
                Some(at) => {
                    current[vertex] = at - start;
                    path.push(self.edges[at]);
                    vertex = self.ends[self.edges[at]];
                }
                None => {
                    // A dead end for the rest of this phase.
                    levels[vertex] = u32::MAX - 1;
                    match path.pop() {
                        Some(edge) => vertex = self.ends[edge ^ 1],
                        None => return 0.0,
                    }
                }
            }
        }
    }
}

/// The minimum cut nearest the sink, in O(V² E) steps; `None` where a path of infinite edges leads from source to sink.
pub fn minimum_cut(network: &DiGraph<(), f64>, source: NodeIndex, sink: NodeIndex) -> Option<Cut> {
    if infinite_path(network, source, sink).is_some() {
        return None;
    }
    let (source, sink) = (source.index(), sink.index());
    let mut residual = Residual::new(network);
    let mut value = 0.0;
    let mut path = Vec::new();
    loop {
        let mut levels = residual.levels(source, sink);
        if levels[sink] == u32::MAX {
            break;
        }
        let mut current = vec![0; levels.len()];
        loop {
            let sent = residual.send_one(source, sink, &mut levels, &mut current, &mut path);
            if sent == 0.0 {
                break;
            }
            value += sent;
        }
    }
    let mut sink_side = vec![false; network.node_count()];
    sink_side[sink] = true;
    let mut queue = VecDeque::from([sink]);
    while let Some(vertex) = queue.pop_front() {
        for edge in residual.leaving(vertex) {
            let end = residual.ends[*edge];
            if residual.capacity[*edge ^ 1] > 0.0 && !sink_side[end] {
                sink_side[end] = true;
                queue.push_back(end);
            }
        }
    }
    Some(Cut { value, sink_side })
}

/// Vertices of a path of infinite edges from source to sink, where there is one; in O(V + E) steps.
pub fn infinite_path(network: &DiGraph<(), f64>, source: NodeIndex, sink: NodeIndex) -> Option<Vec<NodeIndex>> {
    let mut from: Vec<Option<NodeIndex>> = vec![None; network.node_count()];
    let mut queue = VecDeque::from([source]);
    while let Some(vertex) = queue.pop_front() {
        for edge in network.edges(vertex).filter(|e| e.weight().is_infinite()) {
            let end = edge.target();
            if end == source || from[end.index()].is_some() {
                continue;
            }
            from[end.index()] = Some(vertex);
            if end == sink {
                let mut path = vec![sink];
                let mut at = sink;
                while let Some(previous) = from[at.index()] {
                    path.push(previous);
                    at = previous;
                }
                path.reverse();
                return Some(path);
            }
            queue.push_back(end);
        }
    }
    None
}
