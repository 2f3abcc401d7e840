//! Graphs that nobody printed: a text with random edits is a graph or an error with a line; what was read can be written in every form, and
//! reads as the same graph again. `GRAPHS=number` tries so many, `SEED=number` begins at that seed (it is printed).

use super::expected;
use graph::{code, listing, parse, readable};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{SystemTime, UNIX_EPOCH};

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

const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    ",",
    "\"",
    "'",
    ":",
    ";",
    "=",
    "->",
    "\n",
    "\\",
    "None",
    "-1",
    "9223372036854775808",
    "1e999",
    "nan",
    "inf",
    "s0",
    "s0 + 1",
    "f32[2, 2][2, 1]cpu",
    "torch.ops.aten.sin.default",
    "torch.ops.aten.nothing.default",
    "__import__('os')",
    "é",
    "\u{202e}",
    "{}",
    "getattr(self, \"a\")",
    "self.x.y",
    "primals_1",
    "return",
    "# comment",
    "def forward(self):",
    "*",
    "torch.float32",
    "device(type='cpu')",
    "Sym(s0)",
    "\"Sym(s0*2)\"",
    "\"f32[s0, 3][3, 1]\"",
];

/// A text with some edits.
fn mutant(texts: &[String], seed: u64) -> String {
    let mut draw = Draw(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut text: Vec<char> = texts[draw.below(texts.len())].chars().collect();
    for _ in 0..1 + draw.below(4) {
        let at = draw.below(text.len());
        let length = draw.below(6).min(text.len() - at);
        match draw.below(5) {
            0 => drop(text.drain(at..at + length)),
            1 => drop(text.splice(at..at + length, PIECES[draw.below(PIECES.len())].chars())),
            2 => drop(text.splice(at..at, PIECES[draw.below(PIECES.len())].chars())),
            // A line left out, or brought over from elsewhere.
            3 => {
                let end = text[at..].iter().position(|c| *c == '\n').map_or(text.len(), |n| at + n);
                text.drain(at..end);
            }
            _ => {
                let from: Vec<char> = texts[draw.below(texts.len())].chars().collect();
                let start = draw.below(from.len());
                let end = from[start..].iter().position(|c| *c == '\n').map_or(from.len(), |n| start + n);
                text.splice(at..at, from[start..end].iter().copied());
            }
        }
        if text.is_empty() {
            break;
        }
    }
    text.into_iter().collect()
}

/// Reads a text and writes what was read in every form; whether it was a graph.
fn read(text: &str) -> Result<bool, String> {
    let Ok(parsed) = parse(text, &|_| None) else { return Ok(false) };
    let printed = readable(&parsed.graph);
    drop([listing(&parsed.graph), code(&parsed.graph)]);
    match parse(&printed, &|_| None) {
        Ok(again) if readable(&again.graph) == printed => Ok(true),
        Ok(again) => Err(format!("read again it prints\n{}\nin the place of\n{printed}", readable(&again.graph))),
        Err(error) => Err(format!("what was printed is not read: {error}\n{printed}")),
    }
}

#[test]
fn nobodys_graphs_are_read_or_refused() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    // The few of every run are the same ones everywhere; a longer run goes where none was.
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() << 20);
    let begin = || number("GRAPHS").map_or(1, |_: u64| clock());
    let (first, count) = (number("SEED").unwrap_or_else(begin), number("GRAPHS").unwrap_or(4000));
    println!("SEED={first}");
    let mut texts = Vec::new();
    for (_, file) in expected() {
        for compilation in file["compilations"].as_array().unwrap() {
            texts.extend(["joint", "forward", "backward"].iter().filter_map(|part| compilation[part].as_str().map(str::to_owned)));
        }
    }
    texts.retain(|text| text.len() < 4000);
    let (mut wrong, mut read_count) = (Vec::new(), 0);
    for seed in first..first + count {
        let text = mutant(&texts, seed);
        if count == 1 {
            println!("{text}");
        }
        match catch_unwind(AssertUnwindSafe(|| read(&text))) {
            Ok(Ok(is_graph)) => read_count += u64::from(is_graph),
            Ok(Err(what)) => wrong.push(format!("SEED={seed}: {what}")),
            Err(_) => wrong.push(format!("SEED={seed}: a panic")),
        }
    }
    assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong.iter().take(5).map(String::as_str).collect::<Vec<_>>().join("\n"));
    assert!(read_count > count / 20, "{read_count} of {count} were graphs");
}
