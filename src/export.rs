//! What a report's graphs become elsewhere: a Python file, Graphviz, a table, PyTorch's log.
//!
//! A graph arrives as its readable text, as reports and links hold it; a bundle, where there is one, tells which numbers its
//! symbols and integer inputs stood for.

use std::collections::HashMap;
use std::fmt::Write;

use crate::bundle::{Bundle, Named, TensorData, Value};
use crate::error::{Error, Result};
use crate::graph::{self, FakeValue, Known};
use crate::report::protocol::GraphFormat;
use crate::report::{Compilation, GraphView, Report};

/// Says which graph a file holds.
pub fn about(stage: &str, compilation: u32) -> String {
    let which = match stage {
        "captured" => "The graph that torch.compile captured for".to_owned(),
        stage => format!("The {stage} graph of"),
    };
    format!("{which} compilation {compilation}. Runs with PyTorch {}.", crate::report::PYTORCH_VERSION)
}

/// Integer tensors larger than this are not written out.
const MOST_ELEMENTS: usize = 4096;

/// One graph in another form. `about` is a sentence that says which graph it is.
///
/// # Errors
/// Where the text is no graph.
pub fn graph(readable: &str, format: GraphFormat, about: &str, bundle: Option<&Bundle>) -> Result<String> {
    let numbers = bundle.map(symbols).transpose()?.unwrap_or_default();
    let parsed = graph::parse(readable, &|symbol| numbers.get(symbol).copied())?;
    Ok(match format {
        GraphFormat::Python => {
            let values = bundle.map(values).unwrap_or_default();
            graph::runnable(&parsed.graph, about, &|name| values.get(name).and_then(|value| known(value)))
        }
        GraphFormat::Dot => graph::dot(&parsed.graph),
        GraphFormat::Table => format!("{}\n", graph::tabular(&parsed.graph)),
    })
}

/// The numbers that symbols stood for: inputs tell, each by its annotation.
fn symbols(bundle: &Bundle) -> Result<HashMap<String, i64>> {
    let parsed = graph::parse(&bundle.forward, &|_| None)?;
    let mut numbers = HashMap::new();
    let mut learn = |size: &crate::shape::SymInt, number: i64| {
        if let Some(symbol) = size.expr().as_symbol() {
            numbers.entry(symbol.0.to_string()).or_insert(number);
        }
    };
    for (node, input) in parsed.graph.placeholders().zip(&bundle.inputs) {
        match (&node.meta.value, &input.value) {
            (Some(FakeValue::Int(size)), Value::Int { value }) => learn(size, *value),
            (Some(FakeValue::Tensor(spec)), Value::Tensor { tensor }) => {
                for (size, &number) in spec.geometry.sizes.iter().zip(&tensor.shape) {
                    learn(size, i64::try_from(number).map_err(|_| Error::value("a size is out of range"))?);
                }
            }
            _ => {}
        }
    }
    Ok(numbers)
}

/// Values by the names of the inputs they may be of: the forward's inputs, what it saved, and tangents.
fn values(bundle: &Bundle) -> HashMap<&str, &Value> {
    let tangents = bundle.backward.iter().flat_map(|backward| &backward.tangents);
    let named: Vec<&Named> = bundle.expected.iter().chain(&bundle.inputs).chain(tangents).collect();
    named.into_iter().map(|named| (named.name.as_str(), &named.value)).collect()
}

/// What is written out of a value: numbers, and integers of tensors, since not every one of them would do as an index.
fn known(value: &Value) -> Option<Known> {
    match value {
        Value::None => Some(Known::Literal("None".to_owned())),
        Value::Int { value } => Some(Known::Literal(value.to_string())),
        Value::Float { value } => Some(Known::Literal(graph::float_repr(*value))),
        Value::Bool { value } => Some(Known::Literal(if *value { "True" } else { "False" }.to_owned())),
        Value::Tensor { tensor } => integers(tensor).map(Known::Elements),
    }
}

fn integers(tensor: &TensorData) -> Option<Vec<String>> {
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

/// Every graph of a report, as `TORCH_LOGS=graph_code,aot_joint_graph,aot_graphs` prints them where `TORCH_LOGS_FORMAT` is
/// `%(message)s`; what PyTorch's log says of its own files and of metadata is left out.
pub fn logs(report: &Report) -> String {
    let mut out = String::new();
    for region in &report.regions {
        log(&mut out, &format!("__compiled_fn_{}", region.id + 1), &region.graph);
        for compilation in report.compilations.iter().filter(|c| c.region == Some(region.id)) {
            log_compilation(&mut out, compilation);
        }
    }
    let known = |id: u32| report.regions.iter().any(|region| region.id == id);
    for compilation in report.compilations.iter().filter(|c| c.region.is_none_or(|id| !known(id))) {
        log_compilation(&mut out, compilation);
    }
    out
}

fn log_compilation(out: &mut String, compilation: &Compilation) {
    let graphs = [
        ("Joint", &compilation.joint),
        ("Forward", &compilation.forward),
        ("Backward", &compilation.backward),
        ("Forward", &compilation.inference),
    ];
    for (title, graph) in graphs {
        if let Some(graph) = graph {
            log(out, &format!("{title} graph {}", compilation.id), graph);
        }
    }
}

fn log(out: &mut String, title: &str, graph: &GraphView) {
    let _ = write!(out, "TRACED GRAPH\n ===== {title} =====\n {}\n\n\n", graph.readable.trim_end_matches('\n'));
}
