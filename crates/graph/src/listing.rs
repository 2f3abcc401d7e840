//! A graph as lists: `print(graph)`, and the rows of `graph.print_tabular()`.

use super::literal::{arg_listing, arg_repr, str_repr};
use super::print::on_one_line;
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
        other => on_one_line(&other.text()).into_owned(),
    };
    [opcode(node).to_owned(), node.name.to_string(), target, args, format!("{{{}}}", kwargs.join(", "))]
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
