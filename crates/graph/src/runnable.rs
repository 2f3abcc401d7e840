//! A graph as a Python file that runs by itself: its code as `print_readable` has it, and inputs that fit its types.

use super::literal::escaped;
use super::print::{Style, attribute_names, print_readable};
use super::{FakeValue, Graph, Node, Opcode, Target, opcode};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What is known of an input's value, as Python writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// A number or `None`.
    Literal(String),
    /// A tensor's elements as they lie in its storage.
    Elements(Vec<String>),
}

const TENSOR: &str = r#"
def tensor(sizes, strides, dtype, elements=None):
    """A tensor of this geometry: of the given elements, or of made-up ones."""
    extent = 0 if 0 in sizes else 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    if elements is not None:
        storage = torch.tensor(elements, dtype=dtype)
    elif dtype.is_complex:
        storage = torch.randn(extent, dtype=dtype)
    elif dtype.is_floating_point:
        storage = torch.randn(extent).to(dtype)
    elif dtype == torch.bool:
        storage = torch.rand(extent) < 0.5
    else:
        storage = torch.zeros(extent, dtype=dtype)
    return storage.as_strided(sizes, strides)
"#;

/// The file. `about` says what the graph is; `known` what an input held, by the input's name. Inputs whose values are not
/// known are random numbers, and zeros where they are integers: any index is one of something.
pub fn runnable(graph: &Graph, about: &str, known: &dyn Fn(&str) -> Option<Known>) -> String {
    let mut imports = BTreeSet::new();
    operator_imports(graph, &mut imports);
    let mut out = format!("\"\"\"{}\"\"\"\n", about.replace(['"', '\\'], "'"));
    out.push_str("from math import inf, nan\n\nimport torch\nfrom torch import device\n");
    for name in imports {
        let _ = match name.strip_prefix("math_") {
            Some(function) => writeln!(out, "from math import {function} as {name}"),
            None => writeln!(out, "from operator import {name} as _operator_{name}"),
        };
    }
    class(graph, "GraphModule", &mut out);
    let inputs: String = graph
        .placeholders()
        .map(|node| {
            let line = format!("        {},", input(node, known(&node.name)));
            format!("{line}  # {}\n", node.name)
        })
        .collect();
    let inputs = if inputs.is_empty() { "    return []\n".to_owned() } else { format!("    return [\n{inputs}    ]\n") };
    let _ = write!(out, "\n{TENSOR}\n\ndef inputs():\n    \"\"\"What the graph takes, in order.\"\"\"\n    torch.manual_seed(0)\n{inputs}");
    out.push_str(
        "\n\nif __name__ == \"__main__\":\n    for output in torch.utils._pytree.tree_leaves(GraphModule()(*inputs())):\n        print(output)\n",
    );
    out
}

/// A class of its own for every graph, those that others call before them. A joint graph takes its inputs one by one here.
fn class(graph: &Graph, name: &str, out: &mut String) {
    let part = |subgraph: &str| format!("{name}_{subgraph}");
    for (subgraph, body) in &graph.subgraphs {
        class(body, &part(subgraph), out);
    }
    let mut flat = graph.clone();
    flat.class_name = name.into();
    flat.joint_signature = false;
    flat.subgraphs.clear();
    let text = print_readable(&flat, Style::FULL).text;
    let (head, body) = text.split_once('\n').unwrap_or((&text, ""));
    let _ = write!(out, "\n\n{head}\n");
    let mut made = BTreeSet::new();
    let mut lines = String::new();
    for node in graph.nodes().filter(|n| n.opcode == Opcode::GetAttr) {
        let path = node.target.text();
        if !made.insert(path.clone()) {
            continue;
        }
        let value = match graph.subgraphs.iter().any(|(subgraph, _)| **subgraph == *path) {
            // Higher-order operators want what torch.fx has traced.
            true => format!("torch.fx.symbolic_trace({}())", part(&path)),
            false => input(node, None),
        };
        let (owners, last) = attribute_names(&path);
        let mut owner = String::new();
        for name in owners {
            let _ = write!(owner, "{}{name}", if owner.is_empty() { "" } else { "." });
            if made.insert(owner.clone()) {
                let (outer, name) = owner.rsplit_once('.').unwrap_or(("", &owner));
                let _ = writeln!(lines, "        setattr({}, \"{}\", torch.nn.Module())", get("self", outer), escaped(name, '"'));
            }
        }
        let _ = writeln!(lines, "        setattr({}, \"{}\", {value})", get("self", &owner), escaped(last, '"'));
    }
    if !lines.is_empty() {
        let _ = write!(out, "    def __init__(self):\n        super().__init__()\n{lines}\n");
    }
    out.push_str(body.trim_end_matches('\n'));
    out.push('\n');
}

/// `self.get_submodule("a.b")`, or `self` alone.
fn get(base: &str, path: &str) -> String {
    if path.is_empty() { base.to_owned() } else { format!("{base}.get_submodule(\"{}\")", escaped(path, '"')) }
}

/// An expression for the value of an input or a constant.
fn input(node: &Node, known: Option<Known>) -> String {
    if let Some(Known::Literal(text)) = known {
        return text;
    }
    match &node.meta.value {
        Some(FakeValue::Tensor(spec)) => {
            // Sizes whose numbers nobody knows have to be something.
            let list = |sizes: &[shape::SymInt]| {
                let numbers: Vec<_> = sizes.iter().map(|s| s.hint().unwrap_or(4).to_string()).collect();
                format!("[{}]", numbers.join(", "))
            };
            let elements = match known {
                Some(Known::Elements(elements)) => format!(", [{}]", elements.join(", ")),
                _ => String::new(),
            };
            let (sizes, strides) = (list(&spec.geometry.sizes), list(&spec.geometry.strides));
            format!("tensor({sizes}, {strides}, torch.{}{elements})", spec.dtype.name())
        }
        Some(FakeValue::Int(size)) => size.hint().unwrap_or(4).to_string(),
        Some(FakeValue::Float(value)) => value.map_or_else(|| "1.0".to_owned(), super::float_repr),
        Some(FakeValue::SymFloat(float)) => super::float_repr(float.hint().unwrap_or(1.0)),
        Some(FakeValue::Condition(_)) => "True".to_owned(),
        Some(FakeValue::Bool(value)) => if value.unwrap_or(false) { "True" } else { "False" }.to_owned(),
        Some(FakeValue::List(_) | FakeValue::None) | None => "None".to_owned(),
    }
}

/// Names that the code takes from Python's `operator` module.
fn operator_imports(graph: &Graph, found: &mut BTreeSet<String>) {
    for node in graph.nodes() {
        match &node.target {
            Target::Operator(name)
                if opcode(node) == "call_function"
                    && !name.starts_with("sym_")
                    && !name.starts_with("_sym_")
                    && super::literal::symbol_of(name).is_none()
                    && !matches!(&**name, "neg" | "pos" | "invert" | "setitem" | "round") =>
            {
                found.insert(name.to_string());
            }
            _ => {}
        }
    }
    for (_, subgraph) in &graph.subgraphs {
        operator_imports(subgraph, found);
    }
}
