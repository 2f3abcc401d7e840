//! Logs that nobody wrote: whatever is edited in one, reading it ends in a report or a sentence.
//! `MUTATED=number` tries so many, `SEED=number` begins at that seed (it is printed).

use super::recorded;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{SystemTime, UNIX_EPOCH};
use trace::{Given, diff, explain, report};

struct Draw(u64);

impl Draw {
    /// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

const PIECES: &[&[u8]] = &[
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b"\"",
    b"'",
    b":",
    b";",
    b" = ",
    b"\n",
    b"\n\t",
    b"\t",
    b"\\",
    b"-",
    b"0",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"99999999999999999999",
    b"1e999",
    b"s0",
    b"Sym(s0)",
    b"None",
    b"return ",
    b"class G(torch.nn.Module):\n",
    b"def forward(",
    b"] {",
    b"{\"str\": [\"\", 18446744073709551615]}",
    b"\"has_payload\"",
    b"\xff\xfe",
    b"\x1b[31m",
    b"&lt;",
    b"> ",
    b"[rank0]:",
    b" ===== Forward graph 0 =====",
    b"primals",
    b"tangents_1",
    b"aot_joint_graph",
    b"GradAOTOutput(",
    b"SavedForBackwardsAOTOutput(idx=0)",
    b"f32[0]",
    b"f64[4294967296, 4294967296]",
    b"torch.ops.aten.mm.default(",
    b"getitem[65535]",
    b"getattr(",
    b"((((((((((((((((",
];

/// A part of a log with a few edits.
fn mutant(log: &[u8], draw: &mut Draw) -> Vec<u8> {
    // A window of it, so that many can be tried.
    let length = 2000 + draw.below(30_000);
    let from = draw.below(log.len().saturating_sub(length));
    let mut out = log[from..(from + length).min(log.len())].to_vec();
    for _ in 0..1 + draw.below(6) {
        let at = draw.below(out.len());
        match draw.below(5) {
            0 => drop(out.drain(at..(at + draw.below(40)).min(out.len()))),
            1 => drop(out.splice(at..at, PIECES[draw.below(PIECES.len())].iter().copied())),
            2 => {
                let piece = out[at..(at + draw.below(200)).min(out.len())].to_vec();
                let to = draw.below(out.len());
                drop(out.splice(to..to, piece));
            }
            3 => out[at] = draw.below(256) as u8,
            _ => out.truncate(at.max(100).min(out.len())),
        }
        if out.is_empty() {
            out.push(b' ');
        }
    }
    out
}

#[test]
fn nobodys_logs_are_read_or_refused() {
    operators::install();
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("MUTATED").unwrap_or(150);
    // Few are tried always alike; many, otherwise in every run.
    let random = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64);
    let first = number("SEED").unwrap_or_else(|| if number("MUTATED").is_some() { random() } else { 0 });
    println!("SEED={first}");
    let names = [
        "01_mlp.trace.txt",
        "21_dynamic_true.trace.txt",
        "10_input_mutation.torch_logs.txt",
        "40_graph_break.trace.txt",
        "2.1.2/21_dynamic_true.torch_logs.txt",
        "failing.trace.txt",
    ];
    let logs: Vec<String> = names.iter().map(|name| recorded(name)).collect();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut failed = None;
    for seed in first..first + count {
        let mut draw = Draw(seed);
        let bytes = mutant(logs[draw.below(logs.len())].as_bytes(), &mut draw);
        let read = || {
            if let Ok(log) = trace::open(vec![Given { name: "a.log".to_owned(), bytes: bytes.clone() }]) {
                let mut out = Vec::new();
                report::write(&log, &mut out).unwrap();
                serde_json::from_slice::<serde::de::IgnoredAny>(&out).unwrap();
                explain::explain(&log);
                diff::words(&diff::diff(&log, &log));
            }
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(read)) {
            let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            failed = Some((seed, text));
            break;
        }
    }
    std::panic::set_hook(hook);
    if let Some((seed, text)) = failed {
        panic!("SEED={seed} MUTATED=1: {text:?}");
    }
}
