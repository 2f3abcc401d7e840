//! A joint graph repeated: what one copy returns is what the next one takes, and gradients go back the other way.

use graph::{Arg, Graph, NodeId, Opcode, parse};
use partition::{is_tangent, mark_backward};
use std::collections::HashMap;

/// The joint graph of a transformer block, as PyTorch prints it. Its first primal is the block's input.
pub const TRANSFORMER_BLOCK: &str = include_str!("transformer_block.txt");

/// `copies` of a joint graph with one output and one tangent, whose first gradient is that of its first primal.
pub fn stack(text: &str, copies: usize) -> Graph {
    let mut one = parse(text, &|_| None).unwrap().graph;
    mark_backward(&mut one, 1);
    let outputs = one.outputs();
    let (Arg::Node(output), Arg::Node(gradient)) = (&outputs[0], &outputs[1]) else { panic!("an output and a gradient are tensors") };
    let primals: Vec<NodeId> = one.placeholders().filter(|n| !is_tangent(n)).map(|n| n.id).collect();
    let tangent = one.placeholders().find(|n| is_tangent(n)).unwrap().id;
    let mut graph = Graph::new("inner_f");
    graph.joint_signature = true;
    let mut known: Vec<HashMap<NodeId, NodeId>> = vec![HashMap::new(); copies];
    let mut count = 0;
    for (i, known) in known.iter_mut().enumerate() {
        for primal in primals.iter().skip(usize::from(i > 0)) {
            count += 1;
            known.insert(*primal, graph.placeholder(&format!("primals_{count}"), one.node(*primal).meta.clone()));
        }
    }
    known[copies - 1].insert(tangent, graph.placeholder("tangents_1", one.node(tangent).meta.clone()));
    let calls = |is_backward: bool| one.nodes().filter(move |n| n.opcode == Opcode::Call && n.meta.is_backward == is_backward);
    for i in 0..copies {
        if i > 0 {
            let before = known[i - 1][output];
            known[i].insert(primals[0], before);
        }
        for node in calls(false) {
            let new = graph.copy_node(node, &mut |n| Arg::Node(known[i][&n]));
            known[i].insert(node.id, new);
        }
    }
    for i in (0..copies).rev() {
        if i + 1 < copies {
            let after = known[i + 1][gradient];
            known[i].insert(tangent, after);
        }
        for node in calls(true) {
            let new = graph.copy_node(node, &mut |n| Arg::Node(known[i][&n]));
            known[i].insert(node.id, new);
        }
    }
    let mut returned = vec![Arg::Node(known[copies - 1][output])];
    for (i, known) in known.iter().enumerate() {
        let gradients = outputs[1..].iter().skip(usize::from(i > 0));
        returned.extend(gradients.map(|a| a.map_nodes(&mut |n| Arg::Node(known[&n]))));
    }
    graph.set_output(Arg::List(returned));
    graph
}
