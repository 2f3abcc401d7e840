//! Runs written as `TORCH_TRACE` logs: what reads PyTorch's logs reads the run's graphs from them and decides as it did, and the graphs of
//! AOTAutograd are PyTorch's to the letter, descriptors of inputs and outputs included. PyTorch's logs are those of crates/trace.

use std::path::Path;

use aot_playground::graph::{Graph, Style, print_readable};
use aot_playground::report::{GraphView, Report};
use aot_playground::trace::{self, Given, Log, Stage, decision, write};

use super::script;

const LOGS: &str = "crates/trace/tests/trace/logs";

fn opened(name: &str, text: String) -> Log {
    trace::open(vec![Given { name: name.to_owned(), bytes: text.into_bytes() }]).unwrap()
}

fn program(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let case = root.join(format!("tests/cases/conformance/{name}.py"));
    let own = root.join(format!("{LOGS}/{name}.py"));
    std::fs::read_to_string(if case.exists() { case } else { own }).unwrap()
}

/// A graph as traces show it, without lines of the program.
fn expanded(graph: &Graph) -> String {
    let text = print_readable(graph, Style { expanded: true, ..Style::FULL }).text;
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("# ");
    text.lines().filter(is_code).map(|line| format!("{line}\n")).collect()
}

/// AOTAutograd's graphs of a log, in order.
fn graphs(log: &Log) -> Vec<String> {
    let mut out = Vec::new();
    for compilation in &log.compilations {
        for stage in [Stage::Joint, Stage::Inference, Stage::Forward, Stage::Backward] {
            let Some(logged) = compilation.graph(&stage) else { continue };
            let graph = log.graph(logged, log.frame_of(compilation)).unwrap().graph;
            out.push(format!("{} {}", stage.name(), expanded(&graph)));
        }
    }
    out
}

/// The graphs of a report, as they are shown.
fn shown(report: &Report) -> Vec<String> {
    let text = |graph: &Option<GraphView>| graph.as_ref().map(|graph| graph.readable.clone());
    let all = |c: &aot_playground::report::Compilation| [text(&c.joint), text(&c.inference), text(&c.forward), text(&c.backward)];
    report.compilations.iter().flat_map(all).flatten().collect()
}

#[test]
fn a_trace_of_a_run_gives_back_its_graphs_and_decisions() {
    aot_playground::ops::install();
    for name in ["01_mlp", "06_dropout_sdpa", "10_input_mutation", "21_dynamic_true", "36_compiled_autograd", "40_graph_break", "described"]
    {
        let report = script::report(&program(name));
        let log = opened("ours.log", write::write(&report, "script.py"));
        assert!(log.unknown.is_empty(), "{name}: {:?}", log.unknown);
        let read: Vec<String> = log
            .compilations
            .iter()
            .flat_map(|compilation| {
                let stages = [Stage::Joint, Stage::Inference, Stage::Forward, Stage::Backward];
                let logged = stages.into_iter().filter_map(|stage| compilation.graph(&stage));
                logged
                    .map(|logged| print_readable(&log.graph(logged, log.frame_of(compilation)).unwrap().graph, Style::FULL).text)
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(read, shown(&report), "{name}");
        let captured = log.frames.iter().filter_map(|frame| Some(log.text(&frame.graph.as_ref()?.text).trim_end().to_owned()));
        let regions = report.regions.iter().map(|region| region.graph.readable.trim_end().to_owned());
        assert_eq!(captured.collect::<Vec<_>>(), regions.collect::<Vec<_>>(), "{name}");
        for compilation in log.compilations.iter().filter(|of| of.graph(&Stage::Forward).is_some()) {
            let decision = decision::decide(&log, compilation, &decision::graphs(&log, compilation)).unwrap();
            assert_eq!(decision.differences, Vec::<String>::new(), "{name}");
        }
    }
}

#[test]
fn inputs_and_outputs_are_described_as_by_pytorch() {
    for name in ["01_mlp", "10_input_mutation", "21_dynamic_true", "40_graph_break", "described"] {
        let theirs = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{LOGS}/{name}.trace.txt"))).unwrap();
        let ours = write::write(&script::report(&program(name)), "script.py");
        let (theirs, ours) = (graphs(&opened("theirs.log", theirs)), graphs(&opened("ours.log", ours)));
        for (want, got) in theirs.iter().zip(&ours) {
            assert!(want == got, "{name}: {}", similar::TextDiff::from_lines(want, got).unified_diff());
        }
        assert_eq!(ours.len(), theirs.len(), "{name}");
    }
}
