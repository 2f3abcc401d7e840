//! Logs as people paste them: the same graphs are found whatever stands around and before the lines.

use super::{open, recorded};
use trace::{Log, explain};

/// Every graph that was found: whose, which, and its text.
fn graphs(log: &Log) -> Vec<String> {
    let of_compilations = log.compilations.iter().flat_map(|c| &c.graphs);
    let frames = log.frames.iter().filter_map(|f| f.graph.as_ref());
    of_compilations.chain(frames).map(|graph| format!("{}\n{}", graph.stage.name(), trim(&log.text(&graph.text)))).collect()
}

/// Without what a line may lose where it is pasted.
fn trim(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The lines of a log, each changed.
fn each(text: &str, change: impl Fn(&str) -> String) -> String {
    text.lines().map(|line| change(line) + "\n").collect()
}

/// What is left of a line where its prefix is cut at the logger's file.
fn cut(line: &str) -> String {
    line.find("] [").and_then(|end| line[..end].rfind('/')).map_or_else(|| line.to_owned(), |at| line[at + 1..].to_owned())
}

#[test]
fn pasted_logs_are_read() {
    let text = recorded("10_input_mutation.torch_logs.txt");
    let plain = open(&[("a.txt", &text)]).unwrap();
    let want = graphs(&plain);
    assert_eq!(want.len(), 6);
    let html = |line: &str| line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let interleaved: String =
        text.lines().flat_map(|line| [format!("[rank0]:{line}\n"), format!("[rank1]:{line}\n"), "loss 0.25\n".to_owned()]).collect();
    let variants = [
        ("ranks", each(&text, |line| format!("[rank1]:{line}"))),
        ("cut", each(&text, cut)),
        ("quoted", each(&text, |line| format!("> {line}"))),
        ("fenced", format!("I ran this:\n\n```\n{text}```\nand it is slow\n")),
        ("details", format!("<details>\n<summary>log</summary>\n\n```\n{text}\n```\n</details>\n")),
        ("html", each(&text, html)),
        ("coloured", each(&text, |line| format!("\u{1b}[31m{line}\u{1b}[0m"))),
        ("windows", text.replace('\n', "\r\n")),
        ("tags only", each(&text, |line| line.find("] [").map_or_else(|| line.to_owned(), |at| line[at + 2..].to_owned()))),
    ];
    for (name, variant) in variants {
        let log = open(&[("a.txt", &variant)]).unwrap();
        assert_eq!(graphs(&log), want, "{name}");
    }
    let both = open(&[("a.txt", &interleaved)]).unwrap();
    let ranks: Vec<Option<u32>> = both.compilations.iter().map(|c| c.key.rank).collect();
    assert_eq!(ranks.iter().filter(|rank| **rank == Some(0)).count(), ranks.iter().filter(|rank| **rank == Some(1)).count());
    assert_eq!(graphs(&both).len(), 12);
    // UTF-16, as a shell of Windows redirects it.
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let log = trace::open(vec![trace::Given { name: "a.txt".to_owned(), bytes: wide }]).unwrap();
    assert_eq!(graphs(&log), want);
}

/// A trace whose TABs did not survive.
#[test]
fn traces_without_tabs_are_read() {
    let text = recorded("01_mlp.trace.txt");
    let want = graphs(&open(&[("a.log", &text)]).unwrap());
    assert_eq!(want.len(), 4);
    for blanks in ["", "    "] {
        assert_eq!(graphs(&open(&[("a.log", &text.replace('\t', blanks))]).unwrap()), want);
    }
}

/// Without any prefix the headings say which graph is which.
#[test]
fn bare_graphs_are_read() {
    let text = recorded("40_graph_break.torch_logs.txt");
    let bare =
        each(&text, |line| match line.find("graphs] ").or_else(|| line.find("joint_graph] ")).or_else(|| line.find("graph_code] ")) {
            Some(at) => line[at..].split_once("] ").map_or("", |(_, rest)| rest).to_owned(),
            None => String::new(),
        });
    let log = open(&[("a.txt", &bare)]).unwrap();
    let stages: Vec<Vec<&str>> = log.compilations.iter().map(|c| c.graphs.iter().map(|g| g.stage.name()).collect()).collect();
    assert_eq!(stages, [["joint", "forward", "backward"]; 3]);
    assert!(log.compilations.iter().all(|c| c.key.id.is_none()));
}

/// PyTorch 2.0's prefix stands before the first line alone, and types have no quotes.
#[test]
fn the_oldest_logs_are_read() {
    operators::install();
    let text = "[2023-04-10 12:28:09,922] torch._functorch.aot_autograd.__aot_graphs: [INFO] TRACED GRAPH
 ====== Forward graph 0 ======
 <eval_with_key>.4 class <lambda>(torch.nn.Module):
    def forward(self, arg0_1: f32[3], arg1_1: f32[3]):
        # File: /.../repro.py:8, code: return x + x
        add: f32[3] = torch.ops.aten.add.Tensor(arg0_1, arg1_1);  arg0_1 = arg1_1 = None
        return (add,)
";
    let log = open(&[("a.txt", text)]).unwrap();
    assert_eq!(
        explain::overview(&log),
        "TORCH_LOGS, PyTorch a version that the log does not name: 1 compilation\n   0  compilation 0                             inference\n"
    );
    let parsed = log.graph(&log.compilations[0].graphs[0], None).unwrap();
    let add = parsed.graph.find("add").unwrap();
    assert_eq!(add.meta.source.as_ref().map(|s| (s.span.line, s.code.to_string())), Some((8, "return x + x".to_owned())));
}

/// Of half a graph what is whole is read, and the rest is named with its line.
#[test]
fn half_a_graph_is_named() {
    operators::install();
    let text = recorded("01_mlp.trace.txt");
    let at = text.find("\"aot_backward_graph\"").unwrap();
    let rest = text[at..].match_indices('\n').nth(12).unwrap().0;
    let log = open(&[("a.log", &text[..at + rest])]).unwrap();
    let explained = explain::explain(&log);
    let problem = explained.lines().find(|line| line.contains("is not whole")).unwrap();
    assert!(problem.starts_with("  a.log: the backward graph at line "), "{problem}");
    assert!(problem.ends_with("found the end of the line"), "{problem}");
    assert!(explained.contains("calls: joint "), "{explained}");
}

#[test]
fn what_is_no_log_is_refused() {
    let cases = [
        ("", "a.txt: the file is empty"),
        ("hello\nworld\n", "a.txt:1: this is no log, trace or graph that PyTorch writes; it begins with `hello`"),
        (
            "import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x\n",
            "a.txt:1: this is no log, trace or graph that PyTorch writes; it begins with `import torch`",
        ),
        ("{\"a\": 1}", "a.txt:1: this is no log, trace or graph that PyTorch writes; it begins with `{\"a\": 1}`"),
    ];
    for (text, want) in cases {
        assert_eq!(open(&[("a.txt", text)]).err().as_deref(), Some(want));
    }
}

/// Files of the minifier: a graph without types, and what makes its inputs.
#[test]
fn runnable_files_are_read() {
    let text = "import torch
# torch version: 2.15.0
class Repro(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, primals_1, primals_2):
        mul = torch.ops.aten.mul.Tensor(primals_1, primals_2);  primals_2 = None
        return (mul, primals_1)

def load_args(reader):
    buf0 = reader.storage(None, 20)
    reader.tensor(buf0, (5, 2), (2, 1), dtype=torch.float16, is_leaf=True)  # primals_1
    reader.symint(7)  # primals_2
load_args._version = 0
mod = Repro()
";
    let log = open(&[("fx_graph_runnable.py", text)]).unwrap();
    assert_eq!(log.pytorch.as_deref(), Some("2.15.0"));
    let graph = log.graph(&log.compilations[0].graphs[0], None).unwrap().graph;
    let types: Vec<String> = graph::readable(&graph).lines().take(2).map(|line| line.trim().to_owned()).collect();
    assert_eq!(types[1], "def forward(self, primals_1: \"f16[5, 2][2, 1]cpu\", primals_2):");
}
