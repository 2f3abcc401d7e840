//! Exports of graphs: what a script calls its things stays a name in each of them, and whatever a graph holds can be exported.

use crate::script;
use aot_playground::export;
use aot_playground::graph::{Arg, Graph, Meta, NodeId, Target};
use aot_playground::graph_view::view;
use aot_playground::report::GraphView;
use aot_playground::report::protocol::GraphFormat;
use aot_playground::span::{Source, Span};
use std::collections::BTreeMap;

/// Ends strings, calls, lines and comments of Python, cells of tables and labels of Graphviz.
const EVIL: &str = "x\"); import os; os.system('ls')\n        evil = 1\r\u{2028}\u{202e}\u{85}\\#";

fn meta() -> Meta {
    let span = Span { line: 3, column: 0, end_line: 3, end_column: 0, file: None };
    let source = Source { span, file: EVIL.into(), function: EVIL.into(), code: EVIL.into(), indent: 0, library_line: None };
    Meta { source: Some(source), ..Meta::default() }
}

/// A graph in which a script named everything that it can name.
fn evil() -> GraphView {
    let body = |graph: &mut Graph| {
        let input = graph.placeholder("input_1", Meta::default());
        graph.node_mut(input).target = Target::Name(EVIL.into());
        input
    };
    let mut inner = Graph::new(EVIL);
    let input = body(&mut inner);
    inner.set_output(Arg::Tuple(vec![Arg::Node(input)]));
    let mut graph = Graph::new(EVIL);
    let input = body(&mut graph);
    let attribute = |graph: &mut Graph, name: &str, path: &str| -> NodeId {
        let node = graph.get_attr(name, meta());
        graph.node_mut(node).target = Target::Name(path.into());
        node
    };
    let weight = attribute(&mut graph, "weight", EVIL);
    let part = EVIL.replace('.', "");
    let subgraph = attribute(&mut graph, "subgraph", &part);
    graph.subgraphs.push((part.into(), inner));
    let keywords = vec![(EVIL.into(), Arg::Str(EVIL.into()))];
    let args = vec![Arg::Node(input), Arg::Node(weight), Arg::Node(subgraph)];
    let call = graph.call("call", Target::Op("aten.add.Tensor".into()), args, keywords, meta());
    graph.set_output(Arg::Tuple(vec![Arg::Node(call), Arg::Str(EVIL.into())]));
    view(&graph)
}

fn exported(graph: &GraphView, format: GraphFormat) -> String {
    export::graph(graph, format, EVIL, None).unwrap()
}

#[test]
fn names_of_a_script_stay_names_in_tables() {
    let (table, dot) = (exported(&evil(), GraphFormat::Table), exported(&evil(), GraphFormat::Dot));
    assert_eq!(table.lines().count(), 2 + 5, "{table}");
    assert!(!table.contains(['\r', '\u{2028}', '\u{202e}', '\u{85}']), "{table:?}");
    let lines: Vec<&str> = dot.lines().collect();
    let [first, font, rows @ .., last] = &*lines else { panic!("{dot}") };
    assert_eq!((*first, *font, *last), ("digraph {", "    node [shape=box, fontname=\"monospace\"];", "}"));
    assert!(rows.iter().all(|row| row.starts_with("    n") && row.ends_with(';')), "{dot}");
}

/// All of it is on lines of the graph's, and inside of quotes, where Python reads what the script said.
#[test]
fn names_of_a_script_stay_names_in_python_files() {
    let file = exported(&evil(), GraphFormat::Python);
    let classes = file.split("\n\n\ndef tensor").next().unwrap();
    let expected = r#""""x'); import os; os.system('ls')\n        evil = 1\r\u2028\u202e\x85\\#"""
from math import inf, nan

import torch
from torch import device


class GraphModule_x____import_os__ossystem__ls___________evil___1______(torch.nn.Module):
    def forward(self, x____import_os__os_system__ls___________evil___1______):
        input_1 = x____import_os__os_system__ls___________evil___1______
        return (input_1,)


class GraphModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        setattr(self, 'x"); import os; os', torch.nn.Module())
        setattr(self.get_submodule('x"); import os; os'), "system('ls')\n        evil = 1\r\u2028\u202e\x85\\#", None)
        setattr(self, 'x"); import os; ossystem(\'ls\')\n        evil = 1\r\u2028\u202e\x85\\#', torch.fx.symbolic_trace(GraphModule_x____import_os__ossystem__ls___________evil___1______()))

    def forward(self, x____import_os__os_system__ls___________evil___1______):
        input_1 = x____import_os__os_system__ls___________evil___1______

        # File: x"); import os; os.system('ls')         evil = 1    \#:3 in x"); import os; os.system('ls')         evil = 1    \#, code: x"); import os; os.system('ls')         evil = 1    \#
        weight = getattr(getattr(self, "x\"); import os; os"), "system('ls')\n        evil = 1\r\u2028\u202e\x85\\#")
        subgraph = getattr(self, "x\"); import os; ossystem('ls')\n        evil = 1\r\u2028\u202e\x85\\#")
        call = torch.ops.aten.add.Tensor(input_1, weight, subgraph, x____import_os__os_system__ls___________evil___1______ = 'x"); import os; os.system(\'ls\')\n        evil = 1\r\u2028\u202e\x85\\#');  input_1 = weight = subgraph = None
        return (call, 'x"); import os; os.system(\'ls\')\n        evil = 1\r\u2028\u202e\x85\\#')"#;
    assert_eq!(classes.trim_end(), expected, "\n{}", similar::TextDiff::from_lines(expected, classes).unified_diff());
}

/// Floats that vary, true division of sizes, sizes that only the run knows, trees of subgraphs, a joint graph of them.
const KINDS: [&str; 4] = [
    "@torch.compile(dynamic=True)\ndef f(x, s, n):\n    return x * s + x.size(0) ** 2 / n + torch.arange(n * 2).sum()\nf(torch.ones(3), 2.5, 4)\nf(torch.ones(5), 3.5, 6)\n",
    "@torch.compile(fullgraph=True)\ndef f(x):\n    return torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: torch.cond(a.sum() > -9, lambda b: b.exp(), lambda b: b.cos(), (a,)), (x,)) * 2\nf(torch.ones(3, requires_grad=True)).sum().backward()\n",
    "torch._dynamo.config.capture_scalar_outputs = True\n@torch.compile(fullgraph=True)\ndef f(x):\n    n = x.sum().item()\n    torch._check(n >= 0)\n    return torch.ones(n) * math.sqrt(x.size(0)), torch.full((2,), x.float().mean().item())\nf(torch.tensor([1, 2]))\n",
    "@torch.compile\ndef f(x, y):\n    return (x @ y).relu().sum(), x[y.argmax(0) % 2]\nfor n in (2, 3, 4):\n    f(torch.ones(n, 4, requires_grad=True), torch.ones(4, n))[0].backward()\n",
];

#[test]
fn whatever_a_graph_holds_is_exported_and_runs() {
    for program in KINDS {
        let ran = script::run(&format!("import math, torch\ntorch._dynamo.config.specialize_float = False\n{program}"));
        assert_eq!(ran.stderr(), "", "{program}");
        let captured = ran.report.regions.iter().map(|r| ("captured", r.id, &r.graph));
        let compiled = ran.report.compilations.iter().flat_map(|c| {
            let stages = BTreeMap::from([
                ("joint", &c.joint),
                ("functionalized", &c.functionalized),
                ("forward", &c.forward),
                ("backward", &c.backward),
                ("inference", &c.inference),
            ]);
            stages.into_iter().filter_map(|(stage, graph)| Some((stage, c.id, graph.as_ref()?)))
        });
        let mut count = 0;
        for (stage, id, graph) in captured.chain(compiled) {
            let bundle = ran.bundles.get(&id).filter(|_| stage != "captured");
            for format in [GraphFormat::Table, GraphFormat::Dot] {
                export::graph(graph, format, "", bundle).unwrap();
            }
            let file = export::graph(graph, GraphFormat::Python, &export::about(stage, id), bundle).unwrap();
            // Higher-order operators are called by their functions here, by their names in PyTorch alone.
            if !file.contains("torch.ops.higher_order.") {
                let again = script::run(&file);
                assert_eq!(again.stderr(), "", "{stage} {id} of\n{program}\n{file}");
            }
            count += 1;
        }
        assert!(count > 1, "{program}");
    }
}
