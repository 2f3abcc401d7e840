//! How long a large log takes: `cargo bench -p trace`, or `LOG=FILE cargo bench -p trace` for one of your own. Without a file, recorded logs
//! are repeated under other compile ids until they are 100 MB.

use std::path::Path;
use std::time::Instant;
use trace::Given;

const WANTED: usize = 100 << 20;

/// Recorded traces, again and again, every compilation another one.
fn repeated() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace/logs");
    let names = ["01_mlp", "06_dropout_sdpa", "10_input_mutation", "21_dynamic_true", "37_two_tensor_subclass", "40_graph_break"];
    let logs: Vec<String> = names.iter().map(|name| std::fs::read_to_string(folder.join(format!("{name}.trace.txt"))).unwrap()).collect();
    let mut out = String::with_capacity(WANTED + (1 << 20));
    let mut round = 0;
    while out.len() < WANTED {
        for log in &logs {
            for line in log.lines() {
                match line.strip_prefix('V') {
                    Some(_) => out.push_str(&line.replace("\"frame_id\": ", &format!("\"frame_id\": {round}"))),
                    None => out.push_str(line),
                }
                out.push('\n');
            }
            round += 1;
        }
    }
    out
}

/// The most memory that was held so far, in MB, where the system says.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.split_ascii_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn main() {
    let bytes = match std::env::var_os("LOG") {
        Some(path) => std::fs::read(path).unwrap(),
        None => repeated().into_bytes(),
    };
    let size = bytes.len() as f64 / f64::from(1 << 20);
    let before = peak();
    let start = Instant::now();
    let log = trace::open(vec![Given { name: "log".to_owned(), bytes }]).unwrap();
    println!(
        "{size:.0} MB opened in {:.2} s: {} compilations, {} frames",
        start.elapsed().as_secs_f64(),
        log.compilations.len(),
        log.frames.len()
    );
    let first = Instant::now();
    if let Some(compilation) = log.compilations.first() {
        log.graph(&compilation.graphs[0], log.frame_of(compilation)).unwrap();
    }
    println!("the first graph read in {:.4} s", first.elapsed().as_secs_f64());
    let (mut count, mut nodes) = (0, 0);
    for compilation in &log.compilations {
        for graph in &compilation.graphs {
            nodes += log.graph(graph, log.frame_of(compilation)).map_or(0, |parsed| parsed.graph.len());
            count += 1;
        }
    }
    for frame in &log.frames {
        if let Some(graph) = &frame.graph {
            nodes += log.graph(graph, Some(frame)).map_or(0, |parsed| parsed.graph.len());
            count += 1;
        }
    }
    println!("with all of its {count} graphs ({nodes} nodes) in {:.2} s", start.elapsed().as_secs_f64());
    println!("memory: {before} MB with the file, {} MB at most", peak());
}
