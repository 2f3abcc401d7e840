//! Random joint graphs: a forward of cheap, costly and reducing calls, and a backward shaped like autograd's.

use graph::{Arg, FakeValue, Graph, Meta, NodeId, Target};
use shape::ints;
use tensor::{Device, Dtype, TensorSpec};

/// A small generator of random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

fn tensor(sizes: &[i64], is_backward: bool) -> Meta {
    let spec = TensorSpec::contiguous(ints(sizes), Dtype::Float32, Device::CPU);
    Meta { value: Some(FakeValue::Tensor(spec)), is_backward, ..Meta::default() }
}

fn call(graph: &mut Graph, op: &str, args: Vec<Arg>, sizes: &[i64], is_backward: bool) -> NodeId {
    let name = op.split('.').nth(1).unwrap_or(op).to_owned();
    graph.call(&name, Target::Op(op.into()), args, Vec::new(), tensor(sizes, is_backward))
}

/// A joint graph of about `size` nodes that returns one forward output and a gradient per primal. Each value reads ones up
/// to `reach` calls before it.
pub fn joint_graph(size: usize, reach: usize, seed: u64) -> Graph {
    operators::install();
    let mut random = Random(seed);
    let mut graph = Graph::new("inner_f");
    graph.joint_signature = true;
    let sizes = [64i64, 64];
    let inputs = 2 + size / 50;
    let primals: Vec<NodeId> = (1..=inputs).map(|i| graph.placeholder(&format!("primals_{i}"), tensor(&sizes, false))).collect();
    let tangent = graph.placeholder("tangents_1", tensor(&sizes, true));
    let mut values = primals.clone();
    let mut forward: Vec<(NodeId, Vec<NodeId>)> = Vec::new();
    while forward.len() < size / 3 {
        let from = values.len().saturating_sub(reach);
        let pick = |random: &mut Random| values[from + random.below(values.len() - from)];
        let a = pick(&mut random);
        let (op, reads): (&str, Vec<NodeId>) = match random.below(10) {
            0 | 1 => ("aten.mm.default", vec![a, pick(&mut random)]),
            2 | 3 => ("aten.mul.Tensor", vec![a, pick(&mut random)]),
            4 => ("aten.add.Tensor", vec![a, pick(&mut random)]),
            5 => ("aten.t.default", vec![a]),
            6 => ("aten.cumsum.default", vec![a]),
            7 => ("aten.sin.default", vec![a]),
            8 => ("aten.relu.default", vec![a]),
            _ => ("aten.exp.default", vec![a]),
        };
        let id = call(&mut graph, op, reads.iter().map(|r| Arg::Node(*r)).collect(), &sizes, false);
        values.push(id);
        forward.push((id, reads));
    }
    let output = forward.last().map_or(primals[0], |(id, _)| *id);
    // Gradients, last call first; each formula reads the gradient and what the call read.
    let mut gradient: std::collections::HashMap<NodeId, NodeId> = std::collections::HashMap::from([(output, tangent)]);
    for (id, reads) in forward.iter().rev() {
        let Some(incoming) = gradient.get(id).copied() else { continue };
        for (i, read) in reads.iter().enumerate() {
            let other = reads[reads.len() - 1 - i];
            let part = match random.below(3) {
                0 => call(&mut graph, "aten.mm.default", vec![Arg::Node(incoming), Arg::Node(other)], &sizes, true),
                1 => {
                    let local = call(&mut graph, "aten.cos.default", vec![Arg::Node(other)], &sizes, true);
                    call(&mut graph, "aten.mul.Tensor", vec![Arg::Node(incoming), Arg::Node(local)], &sizes, true)
                }
                _ => call(&mut graph, "aten.mul.Tensor", vec![Arg::Node(incoming), Arg::Node(*id)], &sizes, true),
            };
            let sum = match gradient.get(read) {
                Some(before) => call(&mut graph, "aten.add.Tensor", vec![Arg::Node(*before), Arg::Node(part)], &sizes, true),
                None => part,
            };
            gradient.insert(*read, sum);
        }
    }
    let mut outputs = vec![Arg::Node(output)];
    outputs.extend(primals.iter().map(|p| gradient.get(p).map_or(Arg::None, |g| Arg::Node(*g))));
    graph.set_output(Arg::List(outputs));
    graph
}
