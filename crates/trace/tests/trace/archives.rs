//! Archives: what is in them is read as if it stood alone; what unpacks without end is refused.

use super::{open, recorded};
use std::io::Write;
use trace::{Given, explain};
use zip::write::SimpleFileOptions;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut to = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        to.start_file(*name, SimpleFileOptions::default()).unwrap();
        to.write_all(bytes).unwrap();
    }
    to.finish().unwrap().into_inner()
}

fn one(name: &str, bytes: Vec<u8>) -> Result<trace::Log, String> {
    trace::open(vec![Given { name: name.to_owned(), bytes }])
}

#[test]
fn archives_are_read() {
    operators::install();
    let (first, second) = (recorded("ranks/rank_0.txt"), recorded("ranks/rank_1.txt"));
    let plain = explain::explain(&open(&[("rank_0.txt", &first), ("rank_1.txt", &second)]).unwrap());
    let archive = zipped(&[("rank_1.txt", second.as_bytes()), ("rank_0.txt", first.as_bytes())]);
    assert_eq!(explain::explain(&one("run.zip", archive).unwrap()), plain);
    let alone = explain::explain(&open(&[("rank_0.txt", &first)]).unwrap());
    assert_eq!(explain::explain(&one("rank_0.log.gz", gzip(first.as_bytes())).unwrap()), alone);
}

#[test]
fn endless_archives_are_refused() {
    let inner = zipped(&[("a.log", b"x")]);
    assert_eq!(
        one("a.zip", zipped(&[("b.zip", &inner)])).err().as_deref(),
        Some("a.zip/b.zip holds an archive in an archive: unpack the outer one first")
    );
    assert_eq!(one("a.gz", gzip(&gzip(b"x"))).err().as_deref(), Some("a.gz holds an archive in an archive: unpack the outer one first"));
    let damaged = one("a.zip", b"PK\x03\x04nothing".to_vec()).err().unwrap();
    assert!(damaged.starts_with("a.zip: the archive is damaged: "), "{damaged}");
}

/// tlparse's folder: with its list of records, and without.
#[test]
fn folders_are_read() {
    operators::install();
    let graph =
        |class: &str, inputs: &str, body: &str| format!("class {class}(torch.nn.Module):\n    def forward(self, {inputs}):\n{body}\n");
    let joint = graph(
        "joint_helper",
        "primals, tangents",
        "        primals_1: \"f32[2][1]cpu\"; tangents_1: \"f32[2][1]cpu\";\n\n        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)\n        sin: \"f32[2][1]cpu\" = torch.ops.aten.sin.default(primals_1)\n        cos: \"f32[2][1]cpu\" = torch.ops.aten.cos.default(primals_1);  primals_1 = None\n        mul: \"f32[2][1]cpu\" = torch.ops.aten.mul.Tensor(tangents_1, cos);  tangents_1 = cos = None\n        return pytree.tree_unflatten([sin, mul], self._out_spec)",
    );
    let forward = graph(
        "GraphModule",
        "primals_1: \"f32[2][1]cpu\"",
        "        sin: \"f32[2][1]cpu\" = torch.ops.aten.sin.default(primals_1)\n        return (sin, primals_1)",
    );
    let backward = graph(
        "GraphModule",
        "primals_1: \"f32[2][1]cpu\", tangents_1: \"f32[2][1]cpu\"",
        "        cos: \"f32[2][1]cpu\" = torch.ops.aten.cos.default(primals_1);  primals_1 = None\n        mul: \"f32[2][1]cpu\" = torch.ops.aten.mul.Tensor(tangents_1, cos);  tangents_1 = cos = None\n        return (mul,)",
    );
    let record = |kind: &str, number: usize| {
        format!(
            "{{\"attempt\":0,\"{kind}\":{{}},\"frame_compile_id\":1,\"frame_id\":0,\"has_payload\":\"\",\"payload_filename\":\"-_0_1_0/{kind}_{number}.txt\"}}\n"
        )
    };
    let list = format!(
        "{{\"string_table\":[\"a.py\"]}}\n{}{}{}",
        record("aot_joint_graph", 1),
        record("aot_forward_graph", 2),
        record("aot_backward_graph", 3)
    );
    let files = [
        ("out/-_0_1_0/aot_joint_graph_1.txt", joint.as_str()),
        ("out/-_0_1_0/aot_forward_graph_2.txt", forward.as_str()),
        ("out/-_0_1_0/aot_backward_graph_3.txt", backward.as_str()),
        ("out/index.html", "<html></html>"),
        ("out/raw.jsonl", list.as_str()),
    ];
    let want = "tlparse, PyTorch a version that the log does not name: 1 compilation

[0/1]: calls: joint 3, forward 1, backward 2
  saved for backward: 1 value, 8 B
    primals_1: float32[2], 8 B of an input, in memory anyway
        graph input, needed by the backward; already in memory, saving it costs nothing
  Peak 40 B at mul: 24 B without a line, 8 B other inputs, 8 B tangents.
  partition: the partitioner here decides the same
    the log has no torch._functorch.config: its defaults are assumed
    the log has no metadata: no input is assumed to live as long as the model, or to be written to
";
    assert_eq!(explain::explain(&open(&files).unwrap()), want);
    assert_eq!(explain::explain(&open(&files[..3]).unwrap()), want);
    // A file that is missing is named.
    let log = open(&files[1..]).unwrap();
    assert_eq!(log.unknown[0].kind, "out/-_0_1_0/aot_joint_graph_1.txt, a payload that is not among the files".replace("out/", ""));
}
