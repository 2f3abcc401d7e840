//! A graph as lists: `print(graph)`, `graph.print_tabular()`, and Graphviz.

use super::literal::{arg_listing, arg_repr, str_repr};
use super::{Arg, Graph, Node, Opcode, Shown, Target};
use std::fmt::Write;

/// `str(gm.graph)`.
pub fn listing(graph: &Graph) -> String {
    let users = graph.users();
    let mut out = String::from("graph():");
    for node in graph.nodes() {
        let head = format!("%{} : [num_users={}]", node.name, users[node.id.0 as usize].len());
        let target = qualified_target(node);
        out.push_str("\n    ");
        let _ = match node.opcode {
            Opcode::Placeholder => {
                let default = node.args.first().map(|a| format!("(default={})", arg_repr(graph, a))).unwrap_or_default();
                write!(out, "{head} = placeholder[target={target}]{default}")
            }
            Opcode::GetAttr => write!(out, "{head} = get_attr[target={target}]"),
            Opcode::Call => {
                let args = arg_listing(graph, &Arg::Tuple(node.args.clone()));
                let kwargs: Vec<_> = node.kwargs.iter().map(|(k, v)| format!("{k}: {}", arg_listing(graph, v))).collect();
                write!(out, "{head} = {}[target={target}](args = {args}, kwargs = {{{}}})", opcode(node), kwargs.join(", "))
            }
            Opcode::Output => write!(out, "return {}", node.args.first().map(|a| arg_repr(graph, a)).unwrap_or_default()),
        };
    }
    out
}

/// A node's row of `print_tabular`: opcode, name, target, args, kwargs.
pub fn listing_row(graph: &Graph, node: &Node) -> [String; 5] {
    let args = arg_repr(graph, &Arg::Tuple(node.args.clone()));
    let kwargs: Vec<_> = node.kwargs.iter().map(|(k, v)| format!("{}: {}", str_repr(k), arg_repr(graph, v))).collect();
    let target = match &node.target {
        Target::Getitem => "<built-in function getitem>".to_owned(),
        Target::Operator(name) => format!("<built-in function {}>", super::node_name(name)),
        Target::HigherOrder(name) => name.to_string(),
        other => other.text(),
    };
    [opcode(node).to_owned(), node.name.to_string(), target, args, format!("{{{}}}", kwargs.join(", "))]
}

/// `gm.graph.print_tabular()`, without the last newline.
pub fn tabular(graph: &Graph) -> String {
    let headers = ["opcode", "name", "target", "args", "kwargs"].map(str::to_owned);
    let rows: Vec<[String; 5]> = graph.nodes().map(|node| listing_row(graph, node)).collect();
    // A column is two wider than its header at least.
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).chain([headers[i].len() + 2]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    let line = |cells: &[String; 5]| {
        let padded: Vec<_> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        padded.join("  ").trim_end().to_owned()
    };
    let rule = widths.iter().map(|w| "-".repeat(*w)).collect::<Vec<_>>().join("  ");
    let mut lines = vec![line(&headers), rule];
    lines.extend(rows.iter().map(line));
    lines.join("\n")
}

/// The graph for Graphviz: a box per node, with its type, and an edge per use; backward nodes are grey.
pub fn dot(graph: &Graph) -> String {
    let mut out = String::from("digraph {\n    node [shape=box, fontname=\"monospace\"];\n");
    for node in graph.nodes() {
        let kind = node.tensor().map(|t| format!("\n{}", t.annotation())).unwrap_or_default();
        let label = match node.opcode {
            Opcode::Call => format!("{}\n{}{kind}", node.name, node.target.text()),
            _ => format!("{}{kind}", node.name),
        };
        let shape = match node.opcode {
            Opcode::Placeholder => ", shape=ellipse",
            Opcode::Output => ", shape=doubleoctagon",
            _ => "",
        };
        let fill = if node.meta.is_backward { ", style=filled, fillcolor=\"#e0e0e0\"" } else { "" };
        let _ = writeln!(out, "    n{} [label=\"{}\"{shape}{fill}];", node.id.0, escape(&label));
    }
    for node in graph.nodes() {
        for input in node.inputs() {
            let _ = writeln!(out, "    n{} -> n{};", input.0, node.id.0);
        }
    }
    out.push_str("}\n");
    out
}

fn escape(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// torch.fx's name of a node's kind.
pub fn opcode(node: &Node) -> &'static str {
    match (node.opcode, &node.target) {
        (Opcode::Placeholder, _) => "placeholder",
        (Opcode::GetAttr, _) => "get_attr",
        (Opcode::Output, _) => "output",
        (Opcode::Call, Target::Torch { shown: Shown::Method(_), .. }) => "call_method",
        (Opcode::Call, _) => "call_function",
    }
}

fn qualified_target(node: &Node) -> String {
    match &node.target {
        Target::Op(name) => format!("torch.ops.{name}"),
        Target::HigherOrder(name) => format!("torch.ops.higher_order.{name}"),
        Target::Getitem => "operator.getitem".to_owned(),
        Target::Operator(name) => format!("operator.{name}"),
        Target::Torch { shown: Shown::Operator(symbol), .. } => {
            format!("operator.{}", super::literal::operator_of(symbol).unwrap_or("setitem"))
        }
        other => other.text(),
    }
}
