//! Reports that nobody's run made: whatever a report's JSON says, it is refused or read as a report that says the same when it is written again,
//! and exports of its graphs are texts or errors. `REPORTS=number` tries so many, `SEED=number` begins at that seed (it is printed).

use crate::script::run;
use aot_playground::bundle::Bundle;
use aot_playground::export;
use aot_playground::report::protocol::GraphFormat;
use aot_playground::report::{GraphView, Report};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many are tried where nobody says.
const FEW: u64 = 1000;

/// What is in it: two graphs, a graph break, a recompile, symbolic sizes, a backward, a subgraph, an exception.
const SCRIPT: &str = "\
import torch
@torch.compile
def f(x, y):
    z = torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,))
    print('break')
    return (z * y).relu()
for n in (2, 3, 4):
    f(torch.ones(n, requires_grad=True), torch.ones(n)).sum().backward()
raise ValueError('ends')
";

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

const TEXTS: &[&str] = &[
    "",
    "\n",
    "\"",
    "'",
    "\\",
    "(",
    ")",
    "]",
    "x",
    "s0",
    "None",
    "-1",
    "1e999",
    "\u{202e}",
    "\u{2028}",
    "é",
    "torch.ops.aten.sin.default",
    "f32[2, 2][2, 1]cpu",
    "f32[s0][1]cpu",
    "Sym(s0)",
    "__import__('os')",
    "true_graph_0",
    "return",
    "    def forward(self):",
    "class a(torch.nn.Module):",
];

/// A value in the place of another one: of its own kind more often than not.
fn other(value: &Value, draw: &mut Draw) -> Value {
    let numbers = [
        json!(0),
        json!(-1),
        json!(1),
        json!(7),
        json!(u32::MAX),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(0.5),
        json!(1e300),
    ];
    match (value, draw.below(4)) {
        (Value::Number(_), 1..) => numbers[draw.below(numbers.len())].clone(),
        (Value::Bool(b), 1..) => json!(!b),
        (Value::String(text), 1..) => {
            let mut text: Vec<char> = text.chars().collect();
            let at = draw.below(text.len() + 1);
            let length = draw.below(8).min(text.len() - at);
            text.splice(at..at + length, TEXTS[draw.below(TEXTS.len())].chars());
            json!(text.into_iter().collect::<String>())
        }
        (Value::Array(items), 1..) if !items.is_empty() => {
            let mut items = items.clone();
            let (from, to) = (draw.below(items.len()), draw.below(items.len()));
            match draw.below(3) {
                0 => drop(items.remove(from)),
                1 => items.swap(from, to),
                _ => items.insert(to, items[from].clone()),
            }
            Value::Array(items)
        }
        (Value::Object(fields), 1..) if !fields.is_empty() => {
            let mut fields = fields.clone();
            let key = fields.keys().nth(draw.below(fields.len())).cloned().unwrap_or_default();
            let removed = fields.remove(&key);
            if draw.below(3) == 0 {
                fields.insert(TEXTS[draw.below(TEXTS.len())].to_owned(), removed.unwrap_or_default());
            }
            Value::Object(fields)
        }
        _ => [json!(null), json!([]), json!({}), json!(""), json!(0), json!(true)][draw.below(6)].clone(),
    }
}

/// The number of values in one.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// Puts another value in the place of the one of that number; gives whether there was one, or else how many are left to count.
fn edit(value: &mut Value, at: &mut usize, draw: &mut Draw) -> bool {
    if *at == 0 {
        *value = other(value, draw);
        return true;
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| edit(item, at, draw)),
        Value::Object(fields) => fields.values_mut().any(|field| edit(field, at, draw)),
        _ => false,
    }
}

fn edited(value: &Value, draw: &mut Draw) -> Value {
    let mut value = value.clone();
    for _ in 0..draw.below(4) {
        let mut at = draw.below(count(&value));
        edit(&mut value, &mut at, draw);
    }
    value
}

/// Whether these are a report and a bundle; wrong is what is written and read otherwise.
fn check(report: Value, bundle: Value) -> Result<bool, String> {
    let bundle = serde_json::from_value::<Bundle>(bundle).ok();
    let Ok(report) = serde_json::from_value::<Report>(report) else { return Ok(false) };
    let text = serde_json::to_string(&report).map_err(|e| e.to_string())?;
    let again: Report = serde_json::from_str(&text).map_err(|e| format!("{e}: {text}"))?;
    if again != report {
        return Err(format!("read otherwise: {text}"));
    }
    export::logs(&report);
    let of_compilations = report.compilations.iter().flat_map(|c| [&c.joint, &c.functionalized, &c.forward, &c.backward, &c.inference]);
    let graphs: Vec<&GraphView> = report.regions.iter().map(|r| &r.graph).chain(of_compilations.flatten()).collect();
    for graph in graphs {
        for format in [GraphFormat::Python, GraphFormat::Dot, GraphFormat::Table] {
            // A text, or why there is none.
            drop(export::graph(graph, format, &export::about("forward", 0), bundle.as_ref()));
        }
    }
    Ok(true)
}

#[test]
fn reports_that_nobody_made_are_refused_or_read() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    // The few of every run are the same ones everywhere; a longer run goes where none was.
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() << 20);
    let begin = || number("REPORTS").map_or(1, |_: u64| clock());
    let first: u64 = number("SEED").unwrap_or_else(begin);
    let tried = number("REPORTS").unwrap_or(FEW);
    println!("SEED={first}");
    let run = run(SCRIPT);
    assert_eq!(run.report.exception.as_ref().map(|e| &*e.message), Some("ends"));
    let report = serde_json::to_value(&run.report).unwrap();
    let bundle = serde_json::to_value(run.bundles.values().last().unwrap()).unwrap();
    let (mut wrong, mut read) = (Vec::new(), 0);
    for seed in first..first + tried {
        let mut draw = Draw(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let (report, bundle) = (edited(&report, &mut draw), edited(&bundle, &mut draw));
        match catch_unwind(AssertUnwindSafe(|| check(report, bundle))) {
            Ok(Ok(is_read)) => read += u64::from(is_read),
            Ok(Err(what)) => wrong.push(format!("SEED={seed}: {what}")),
            Err(_) => wrong.push(format!("SEED={seed}: panics")),
        }
    }
    println!("{tried} reports, {read} read");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > tried / 4, "{read} of {tried}");
}
