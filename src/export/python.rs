//! A graph as a Python file that runs by itself: its lines as PyTorch prints them, and inputs that fit its types.
//!
//! The lines come from the text by their numbers, and everything else from the report: nothing is read from a text. So whatever
//! stands in a script's names, the file holds what the graph holds.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use crate::bundle::{Bundle, Named, TensorData, Value};
use crate::error::{Error, Result};
use crate::graph::{float_repr, str_repr};
use crate::report::{ExampleValue, GraphView, InputView, ModuleView};

/// Integer tensors larger than this are not written out.
const MOST_ELEMENTS: usize = 4096;

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

/// The file. `about` says what the graph is; the bundle, where there is one, what its inputs were. Inputs whose values are not
/// known are random numbers, and zeros where they are integers: any index is one of something.
///
/// # Errors
/// Where the modules are not those of the text.
pub fn python(graph: &GraphView, about: &str, bundle: Option<&Bundle>) -> Result<String> {
    let wrong = || Error::value("the report does not say where this graph stands in its text");
    let Some((outermost, _)) = graph.modules.split_first() else { return Err(wrong()) };
    let about = str_repr(&about.replace('"', "'"));
    let mut out = format!("\"\"\"{}\"\"\"\n", &about[1..about.len() - 1]);
    out.push_str("from math import inf, nan\n\nimport torch\nfrom torch import device\n");
    for name in graph.modules.iter().flat_map(|module| &module.imports).collect::<BTreeSet<_>>() {
        let _ = match name.strip_prefix("math_") {
            Some(function) => writeln!(out, "from math import {function} as {name}"),
            None => writeln!(out, "from operator import {name} as _operator_{name}"),
        };
    }
    let lines: Vec<&str> = graph.readable.split('\n').collect();
    // A class stands after those that it makes modules of.
    for module in graph.modules.iter().rev() {
        class(module, &graph.modules, &lines, &mut out).ok_or_else(wrong)?;
    }
    let values = bundle.map(values).unwrap_or_default();
    let sources: HashMap<&str, &str> = graph.nodes.iter().filter_map(|node| Some((node.name.as_str(), node.source.as_deref()?))).collect();
    let takes = |input: &InputView| {
        // A script may call anything anything; a comment ends with its line.
        let source = sources.get(&*input.name).map(|source| format!(" ({})", source.replace(char::is_control, " "))).unwrap_or_default();
        let value = values.get(&*input.name).map_or_else(|| expression(&input.value, &[]), |value| known(value, &input.value));
        format!("        {value},  # {}{source}\n", input.name)
    };
    let inputs: String = outermost.inputs.iter().map(takes).collect();
    let inputs = if inputs.is_empty() { "    return []\n".to_owned() } else { format!("    return [\n{inputs}    ]\n") };
    let _ = write!(out, "\n{TENSOR}\n\ndef inputs():\n    \"\"\"What the graph takes, in order.\"\"\"\n    torch.manual_seed(0)\n{inputs}");
    let outputs = format!("torch.utils._pytree.tree_leaves({}()(*inputs()))", outermost.name);
    let _ = write!(out, "\n\nif __name__ == \"__main__\":\n    for output in {outputs}:\n        print(output)\n");
    Ok(out)
}

/// Adds a module's class; nothing where its lines are none of the text's.
fn class(module: &ModuleView, modules: &[ModuleView], lines: &[&str], out: &mut String) -> Option<()> {
    let at = |line: u32| usize::try_from(line).ok();
    let (first, body, end) = (at(module.first)?, at(module.body)?, at(module.end)?);
    let (head, rest) = (lines.get(first..body)?, lines.get(body..end)?);
    let (returns, rest) = rest.split_last()?;
    let indent = head.first()?.find(|c| c != ' ')?.checked_sub(4)?;
    let _ = write!(out, "\n\nclass {}(torch.nn.Module):\n", module.name);
    constructor(&module.attributes, modules, out);
    let mut push = |line: &str| {
        let _ = writeln!(out, "{}", line.get(indent..).unwrap_or(line.trim_start()));
    };
    match &module.flat {
        Some((signature, returned)) => {
            push(&format!("{:1$}{signature}", "", indent + 4));
            rest.iter().for_each(|line| push(line));
            push(&format!("{:1$}{returned}", "", indent + 8));
        }
        None => head.iter().chain(rest).chain([returns]).for_each(|line| push(line)),
    }
    Some(())
}

/// `__init__`, where there is something to make.
fn constructor(attributes: &[InputView], modules: &[ModuleView], out: &mut String) {
    let mut made = BTreeSet::new();
    let mut lines = String::new();
    for InputView { name: path, value } in attributes {
        let (owners, last) = path.rsplit_once('.').unwrap_or(("", path));
        let mut owner = String::new();
        for name in owners.split('.').filter(|_| !owners.is_empty()) {
            let outer = get("self", &owner);
            owner = if owner.is_empty() { name.to_owned() } else { format!("{owner}.{name}") };
            if made.insert(owner.clone()) {
                let _ = writeln!(lines, "        setattr({outer}, {}, torch.nn.Module())", str_repr(name));
            }
        }
        let _ = writeln!(lines, "        setattr({}, {}, {})", get("self", &owner), str_repr(last), expression(value, modules));
    }
    if !lines.is_empty() {
        let _ = write!(out, "    def __init__(self):\n        super().__init__()\n{lines}\n");
    }
}

/// `self.get_submodule("a.b")`, or `self` alone.
fn get(base: &str, path: &str) -> String {
    if path.is_empty() { base.to_owned() } else { format!("{base}.get_submodule({})", str_repr(path)) }
}

/// An expression for a value of which nothing else is known.
fn expression(value: &ExampleValue, modules: &[ModuleView]) -> String {
    let is_module = |attribute: &InputView| matches!(attribute.value, ExampleValue::Module { .. });
    match value {
        ExampleValue::None => "None".to_owned(),
        ExampleValue::Literal { text } => text.clone(),
        ExampleValue::Tensor { dtype, shape, stride } => format!("tensor({shape:?}, {stride:?}, torch.{dtype})"),
        // torch.fx traces through no higher-order operator.
        ExampleValue::Module { name } if modules.iter().any(|m| m.name == *name && m.attributes.iter().any(is_module)) => {
            format!("{name}()")
        }
        // Some higher-order operators want what torch.fx has traced.
        ExampleValue::Module { name } => format!("torch.fx.symbolic_trace({name}())"),
    }
}

/// An expression for a value of a run: numbers, and integers of tensors, since not every one of them would do as an index.
fn known(value: &Value, example: &ExampleValue) -> String {
    match value {
        Value::None => "None".to_owned(),
        Value::Int { value } => value.to_string(),
        Value::Float { value } => float_repr(*value),
        Value::Bool { value } => if *value { "True" } else { "False" }.to_owned(),
        Value::Tensor { tensor } => {
            let TensorData { dtype, shape, stride, .. } = tensor;
            match (elements(tensor).filter(|elements| !elements.is_empty() || shape.contains(&0)), example) {
                (Some(elements), _) => format!("tensor({shape:?}, {stride:?}, torch.{dtype}, [{}])", elements.join(", ")),
                (None, ExampleValue::Tensor { dtype, .. }) => format!("tensor({shape:?}, {stride:?}, torch.{dtype})"),
                (None, other) => expression(other, &[]),
            }
        }
    }
}

/// Values by the names of the inputs they may be of: the forward's inputs, what it saved, and tangents.
fn values(bundle: &Bundle) -> HashMap<&str, &Value> {
    let tangents = bundle.backward.iter().flat_map(|backward| &backward.tangents);
    let named: Vec<&Named> = bundle.expected.iter().chain(&bundle.inputs).chain(tangents).collect();
    named.into_iter().map(|named| (named.name.as_str(), &named.value)).collect()
}

/// The elements of a tensor of integers, as they lie in its storage.
fn elements(tensor: &TensorData) -> Option<Vec<String>> {
    let (size, read): (usize, fn(&[u8]) -> String) = match tensor.dtype.as_str() {
        "int64" => (8, |b| i64::from_le_bytes(b.try_into().unwrap_or_default()).to_string()),
        "int32" => (4, |b| i32::from_le_bytes(b.try_into().unwrap_or_default()).to_string()),
        "int16" => (2, |b| i16::from_le_bytes(b.try_into().unwrap_or_default()).to_string()),
        "int8" => (1, |b| i8::from_le_bytes(b.try_into().unwrap_or_default()).to_string()),
        "uint8" => (1, |b| u8::from_le_bytes(b.try_into().unwrap_or_default()).to_string()),
        "bool" => (1, |b| if b == [0] { "False" } else { "True" }.to_owned()),
        _ => return None,
    };
    (tensor.bytes.len() <= MOST_ELEMENTS * size).then(|| tensor.bytes.chunks_exact(size).map(read).collect())
}
