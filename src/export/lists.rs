//! A graph's nodes as lists: `graph.print_tabular()`, and Graphviz.

use std::fmt::Write;

use crate::report::NodeView;
use crate::tensor::Dtype;

/// `gm.graph.print_tabular()`, without the last newline.
pub fn tabular(nodes: &[NodeView]) -> String {
    let headers = ["opcode", "name", "target", "args", "kwargs"];
    let rows: Vec<[&str; 5]> = nodes.iter().map(|n| [&*n.op, &*n.name, &*n.target, &*n.args, &*n.kwargs]).collect();
    // A column is two wider than its header at least.
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).chain([headers[i].len() + 2]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    let line = |cells: &[&str; 5]| {
        let padded: Vec<_> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    let rule = widths.iter().map(|w| "-".repeat(*w)).collect::<Vec<_>>().join("  ");
    let mut lines = vec![line(&headers), rule];
    lines.extend(rows.iter().map(line));
    lines.join("\n")
}

/// The graph for Graphviz: a box per node, with its type, and an edge per use; backward nodes are grey.
pub fn dot(nodes: &[NodeView]) -> String {
    let mut out = String::from("digraph {\n    node [shape=box, fontname=\"monospace\"];\n");
    for node in nodes {
        let kind = annotation(node).map(|kind| format!("\n{kind}")).unwrap_or_default();
        let is_call = node.op.starts_with("call_");
        let second = if is_call { Some(&node.target) } else { node.source.as_ref() };
        let label = format!("{}{}{kind}", node.name, second.map(|line| format!("\n{line}")).unwrap_or_default());
        let shape = match &*node.op {
            "placeholder" => ", shape=ellipse",
            "output" => ", shape=doubleoctagon",
            _ => "",
        };
        let fill = if node.is_backward { ", style=filled, fillcolor=\"#e0e0e0\"" } else { "" };
        let _ = writeln!(out, "    n{} [label=\"{}\"{shape}{fill}];", node.id, escape(&label));
    }
    for node in nodes {
        for input in &node.inputs {
            let _ = writeln!(out, "    n{input} -> n{};", node.id);
        }
    }
    out.push_str("}\n");
    out
}

/// `f32[2, 3][3, 1]`
fn annotation(node: &NodeView) -> Option<String> {
    let dtype = Dtype::parse(node.dtype.as_ref()?)?;
    Some(format!("{}[{}][{}]", dtype.short(), node.shape.as_ref()?.join(", "), node.stride.as_ref()?.join(", ")))
}

fn escape(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
