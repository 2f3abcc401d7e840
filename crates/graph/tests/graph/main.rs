//! Every graph that PyTorch printed reads and prints back, byte for byte.

mod mutated;

use diagnostics::source::Source;
use diagnostics::span::Span;
use graph::{Arg, Graph, Meta, Style, Target, code, listing, parse, print_readable, readable};
use serde_json::Value;
use std::path::Path;

fn expected() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compilations/conformance");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files
        .into_iter()
        .map(|f| {
            (f.file_stem().unwrap().to_string_lossy().into_owned(), serde_json::from_str(&std::fs::read_to_string(&f).unwrap()).unwrap())
        })
        .collect()
}

/// Where two texts first differ, for a message.
fn difference(want: &str, got: &str) -> String {
    let at = want.lines().zip(got.lines()).position(|(a, b)| a != b);
    match at {
        Some(i) => format!("line {}:\n  want {}\n  got  {}", i + 1, want.lines().nth(i).unwrap(), got.lines().nth(i).unwrap()),
        None => format!("lengths {} and {}", want.len(), got.len()),
    }
}

#[test]
fn printed_graphs_round_trip() {
    let (mut count, mut failures) = (0, Vec::new());
    for (name, file) in expected() {
        for (i, compilation) in file["compilations"].as_array().unwrap().iter().enumerate() {
            for part in ["joint", "inference", "forward", "backward"] {
                let Some(text) = compilation[part].as_str() else { continue };
                count += 1;
                match parse(text, &|_| None) {
                    Err(e) => failures.push(format!("{name} {i} {part}: {e}")),
                    Ok(parsed) => {
                        let again = readable(&parsed.graph);
                        if again != text {
                            failures.push(format!("{name} {i} {part}: {}", difference(text, &again)));
                        }
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} differ\n{}", failures.len(), failures.join("\n"));
    assert!(count > 500, "{count} graphs");
}

/// A text that is no graph is refused with the line and what was expected.
#[test]
fn errors_name_the_line() {
    let cases = [
        ("", "line 1: expected `class NAME(torch.nn.Module):` or `def forward(self, ...):`, found the end of the line"),
        ("class G(torch.nn.Module):\n    pass", "line 2: expected `def forward(self, ...):`, found `pass`"),
        (
            "def forward(self, a):\n    b = torch.ops.aten.sin.default(c)\n    return (b,)",
            "line 2: expected a constant or a value computed above, found `c)`",
        ),
        ("def forward(self, a):\n    b = torch.ops.aten.sin.default(a)", "line 3: expected `return`, found the end of the line"),
        (
            "def forward(self, a: \"q9[2]\"):\n    return (a,)",
            "line 1: expected a type such as `f32[2, 3][3, 1]cpu` or `Sym(s77)`, found `q9[2]`",
        ),
        ("def forward(self, a, a):\n    return (a,)", "line 1: expected a name that is free, found `a`"),
    ];
    for (text, message) in cases {
        assert_eq!(parse(text, &|_| None).unwrap_err().to_string(), message);
    }
}

/// A log's prefixes and headings are not part of a graph.
#[test]
fn logs_read() {
    let prefix = "I1120 15:51:52.107000 7031 torch/_functorch/_aot_autograd/graph_compile.py:1844] [0/0] [__aot_joint_graph] ";
    let graph = "class GraphModule(torch.nn.Module):\n    def forward(self, a: \"f32[s77][1]cpu\"):\n        # No stacktrace found for following nodes\n        sin: \"f32[s77][1]cpu\" = torch.ops.aten.sin.default(a);  a = None\n        return (sin,)\n";
    let mut log = format!("{prefix}TRACED GRAPH\n{prefix} ===== Forward graph 0 =====\n{prefix} /x/torch/fx/_lazy_graph_module.py ");
    log.push_str(&graph.lines().collect::<Vec<_>>().join(&format!("\n{prefix}")));
    assert_eq!(readable(&parse(&log, &|_| None).unwrap().graph), graph);
}

/// Captured graphs, of torch-level calls, read and print back as well.
#[test]
fn captured_graphs_round_trip() {
    let (mut count, mut failures) = (0, Vec::new());
    for (name, file) in expected() {
        for (i, text) in file["captured"].as_array().unwrap().iter().enumerate() {
            let text = text.as_str().unwrap();
            // Compiled autograd's own inputs are lists; they are read by nobody.
            // Nor is there a type for a tensor subclass or a symbolic float.
            if ["L_inputs_ : list", "\"TwoTensor(", "\"Sym(0."].iter().any(|t| text.contains(t)) {
                continue;
            }
            count += 1;
            match parse(text, &|_| None) {
                Err(e) => failures.push(format!("{name} {i}: {e}")),
                Ok(parsed) => {
                    let again = readable(&parsed.graph);
                    if again != text {
                        failures.push(format!("{name} {i}: {}", difference(text, &again)));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {count} differ\n{}", failures.len(), failures.join("\n"));
}

/// What scripts print of graphs: `gm.code`, `print_readable()` and `print(gm.graph)`.
#[test]
fn scripts_print_graphs() {
    let mut found = [0; 3];
    for (name, file) in expected() {
        if !["02_", "03_", "26_", "42_"].iter().any(|p| name.starts_with(p)) {
            continue;
        }
        let stdout = file["stdout"].as_str().unwrap();
        for compilation in file["compilations"].as_array().unwrap() {
            for part in ["joint", "inference", "forward", "backward"] {
                let Some(text) = compilation[part].as_str() else { continue };
                let graph = parse(text, &|_| None).unwrap().graph;
                let forms = [code(&graph).trim_matches(['\n', ' ']).to_owned(), print_readable(&graph, Style::PLAIN).text, listing(&graph)];
                for (count, form) in found.iter_mut().zip(&forms) {
                    *count += usize::from(stdout.contains(form));
                }
            }
        }
    }
    // In three files each: two graphs of 02, four of 03, two of 26; of 42 one of each other form.
    assert_eq!(found, [24, 3, 3]);
}

/// What a script calls an attribute, a place or a keyword as it likes is no code of the graph's, nor a line of it.
#[test]
fn names_of_a_script_stay_names() {
    const EVIL: &str = "x\"); import os; os.system('ls')\n        evil = 1\r\u{2028}\u{202e}\u{e0001}#";
    let mut graph = Graph::new(EVIL);
    let input = graph.placeholder("input_1", Meta::default());
    graph.node_mut(input).target = Target::Name(EVIL.into());
    let mut meta = Meta::default();
    let span = Span { line: 3, column: 0, end_line: 3, end_column: 0, file: None };
    meta.source = Some(Source { span, file: EVIL.into(), function: EVIL.into(), code: EVIL.into(), indent: 0, library_line: None });
    let weight = graph.get_attr("weight", meta.clone());
    graph.node_mut(weight).target = Target::Name(EVIL.into());
    let sum = graph.call(
        "add",
        Target::Op("aten.add.Tensor".into()),
        vec![Arg::Node(input), Arg::Node(weight)],
        vec![(EVIL.into(), Arg::Int(1))],
        meta,
    );
    graph.set_output(Arg::Tuple(vec![Arg::Node(sum), Arg::Str(EVIL.into())]));
    let expected = r#"class x____import_os__os_system__ls___________evil___1_____(torch.nn.Module):
    def forward(self, x____import_os__os_system__ls___________evil___1_____):
        input_1 = x____import_os__os_system__ls___________evil___1_____

        # File: x"); import os; os.system('ls')         evil = 1    #:3 in x"); import os; os.system('ls')         evil = 1    #, code: x"); import os; os.system('ls')         evil = 1    #
        weight = getattr(getattr(self, "x\"); import os; os"), "system('ls')\n        evil = 1\r\u2028\u202e\U000e0001#")
        add = torch.ops.aten.add.Tensor(input_1, weight, x____import_os__os_system__ls___________evil___1_____ = 1);  input_1 = weight = None
        return (add, 'x"); import os; os.system(\'ls\')\n        evil = 1\r\u2028\u202e\U000e0001#')
"#;
    let printed = print_readable(&graph, Style::FULL).text;
    assert_eq!(printed, expected, "\n{}", difference(expected, &printed));
}

/// A text that calls what graphs do not call is no graph.
#[test]
fn only_graphs_are_read() {
    for call in ["os.system('ls')", "exec('import os')", "__import__('os')", "open('x')", "builtins.eval('1')", "torchx.f(x)", "print(x)"] {
        let text = format!("class G(torch.nn.Module):\n    def forward(self, x):\n        y = {call};  x = None\n        return (y,)\n");
        let error = parse(&text, &|_| None).err().map(|e| e.message).unwrap_or_default();
        assert_eq!(error, format!("line 3: expected a function of PyTorch's, found `{call};  x = None`"));
    }
}
