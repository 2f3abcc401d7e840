//! Logs that are handed on: they read as the logs that they were made of, and hold no paths and no source where these were to be cut.

use super::{open, recorded};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use trace::{Given, Log, explain, share};

/// Packs a log, and opens that again.
fn handed_on(log: &Log, cut: bool) -> (String, Log) {
    let text = share::packed(log, "/home/user/a.log", cut).unwrap();
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(text.as_bytes()).unwrap();
    let again = trace::open(vec![Given { name: "a.aotz".to_owned(), bytes: packer.finish().unwrap() }]).unwrap();
    (text, again)
}

/// What is said of a log, without lines of the program.
fn said(log: &Log) -> String {
    let without_code =
        |line: &str| line.split(" # ").next().unwrap_or_default().split("  ").filter(|part| !part.contains(".py:")).collect::<String>();
    explain::explain(log).lines().map(|line| without_code(line).trim_end().to_owned() + "\n").collect()
}

#[test]
fn a_log_that_is_handed_on_reads_as_before() {
    operators::install();
    for name in
        ["06_dropout_sdpa.trace.txt", "40_graph_break.trace.txt", "10_input_mutation.torch_logs.txt", "2.1.2/40_graph_break.torch_logs.txt"]
    {
        let log = open(&[("a.log", &recorded(name))]).unwrap();
        let (_, whole) = handed_on(&log, false);
        assert_eq!(explain::explain(&whole), explain::explain(&log), "{name}");
        let (text, cut) = handed_on(&log, true);
        assert_eq!(said(&cut), said(&log), "{name}");
        for secret in ["/home/user", "site-packages", "F.scaled_dot_product_attention(q", "return F.dropout", "torch._dynamo.graph_break()"]
        {
            let found = text.find(secret).map(|at| &text[at.saturating_sub(80)..(at + 80).min(text.len())]);
            assert_eq!(found, None, "{name}");
        }
    }
}

#[test]
fn what_is_no_packed_log_of_this_version_is_refused() {
    let opened = |text: &str| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(text.as_bytes()).unwrap();
        trace::open(vec![Given { name: "a.aotz".to_owned(), bytes: packer.finish().unwrap() }]).unwrap_err()
    };
    assert_eq!(
        opened("{\"aotz\":9,\"name\":\"a\",\"files\":[]}"),
        "a.aotz was made by a newer version, of form 9; this one reads up to form 1"
    );
    assert_eq!(opened("{\"aotz\":1,\"name\":"), "a.aotz is damaged: EOF while parsing a value at line 1 column 17");
}
