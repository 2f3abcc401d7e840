//! What a report's graphs become elsewhere: a Python file, Graphviz, a table, PyTorch's log.
//!
//! Each is written from what the report says of nodes and modules, not from a graph's text read again.

mod lists;
mod python;

use std::collections::HashSet;
use std::fmt::Write;

use crate::bundle::Bundle;
use crate::error::Result;
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

/// One graph in another form. `about` is a sentence that says which graph it is; the bundle tells what its inputs were.
///
/// # Errors
/// Where a report says of its graph what cannot be.
pub fn graph(graph: &GraphView, format: GraphFormat, about: &str, bundle: Option<&Bundle>) -> Result<String> {
    match format {
        GraphFormat::Python => python::python(graph, about, bundle),
        GraphFormat::Dot => Ok(lists::dot(&graph.nodes)),
        GraphFormat::Table => Ok(format!("{}\n", lists::tabular(&graph.nodes))),
    }
}

/// Every graph of a report, as `TORCH_LOGS=graph_code,aot_joint_graph,aot_graphs,compiled_autograd` prints them where
/// `TORCH_LOGS_FORMAT` is `%(message)s`; what PyTorch's log says of its own files and of metadata is left out.
pub fn logs(report: &Report) -> String {
    let mut out = String::new();
    // A tape may have several graphs: it stands before the first.
    let mut printed = HashSet::new();
    for region in &report.regions {
        let of_region = report.tapes.iter().filter(|tape| region.tape == Some(tape.id));
        of_region.filter(|tape| printed.insert(tape.id)).for_each(|tape| log(&mut out, COMPILED_AUTOGRAD, &tape.graph));
        log(&mut out, &format!("__compiled_fn_{}", u64::from(region.id) + 1), &region.graph);
        for compilation in report.compilations.iter().filter(|c| c.region == Some(region.id)) {
            log_compilation(&mut out, compilation);
        }
    }
    let known = |id: u32| report.regions.iter().any(|region| region.id == id);
    for compilation in report.compilations.iter().filter(|c| c.region.is_none_or(|id| !known(id))) {
        log_compilation(&mut out, compilation);
    }
    report.tapes.iter().filter(|tape| !printed.contains(&tape.id)).for_each(|tape| log(&mut out, COMPILED_AUTOGRAD, &tape.graph));
    out
}

const COMPILED_AUTOGRAD: &str = "Compiled autograd graph";

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
