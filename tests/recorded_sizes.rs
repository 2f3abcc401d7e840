//! Programs about sizes that vary (`tests/dynamic`), against what PyTorch printed and compiled, and on which conditions.
//!
//! `expected.json` holds what PyTorch does (`python tests/programs/record.py --folder tests/dynamic` records it anew), `status.txt`
//! what agrees and must go on agreeing (`UPDATE_EXPECT=1` writes it anew): `out`; `count`, how often something was compiled; and
//! per compilation `graphs0` (joint or inference, forward and backward read the same), `implied0` (whatever sizes our entry accepts,
//! PyTorch's conditions hold of them) and `equal0` (and the other way round). Conditions are those of `ShapeEnv`, evaluated on
//! many sizes. The conformance programs' are asked the same way.

#![cfg(feature = "python")]

use std::cell::RefCell;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use aot_playground::report::Report;
use serde_json::{Value, json};

#[path = "support/runs.rs"]
mod runs;
use runs::{compilations, each, fnv, recordings, report};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// A hash of the lines of a printed graph that mean something.
fn hash(compilation: &Value, kinds: &[&str]) -> Value {
    let text = kinds.iter().find_map(|k| compilation[*k]["readable"].as_str());
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#') && !l.starts_with("class "));
        lines.map(str::to_owned).collect()
    };
    text.map_or(Value::Null, |text| Value::from(fnv(&lines(text).join("\n"))))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The conditions of the entry that a compilation was made for, in the form of a recording.
fn conditions(report: &Value, compilation: &Value) -> Value {
    let entry = list(&report["regions"]).iter().find(|r| r["id"] == compilation["region"]).map_or(&Value::Null, |r| &r["entry"]);
    let symbols: serde_json::Map<String, Value> = list(&entry["symbols"])
        .iter()
        .map(|s| (s["name"].as_str().unwrap().to_owned(), json!([s["lower"], s["upper"], s["value"].to_string()])))
        .collect();
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let guards: Vec<String> = list(&entry["conditions"])
        .iter()
        .map(|c| format!("({}) {} ({})", text(&c["left"]), text(&c["relation"]), text(&c["right"])))
        .collect();
    json!([symbols, guards, {}])
}

/// Evaluates pairs of conditions, PyTorch's and ours, on many sizes; says of each pair whether ours imply PyTorch's, and whether
/// they are implied by them. A symbol that only one side knows is a number to the other.
const EVALUATE: &str = r#"
import json, math, random

names = {
    "Eq": lambda a, b: a == b, "Ne": lambda a, b: a != b, "Max": max, "Min": min, "Mod": lambda a, b: a % b,
    "PythonMod": lambda a, b: a % b, "FloorDiv": lambda a, b: a // b, "ToFloat": float, "IntTrueDiv": lambda a, b: a / b,
    "TruncToInt": int, "FloorToInt": math.floor, "CeilToInt": math.ceil, "RoundToInt": round, "Abs": abs,
    "OpaqueUnaryFn_sqrt": math.sqrt, "FloatTrueDiv": lambda a, b: a / b,
}

def compiled(side):
    symbols, guards, replaced = side
    texts = [f"{s} == {e}" for s, e in replaced.items()] + guards
    for name, (lower, upper, _) in symbols.items():
        texts += [f"{name} >= {lower}"] * (lower is not None) + [f"{name} <= {upper}"] * (upper is not None)
    return [(text, compile(text, text, "eval")) for text in texts]

def failed(conditions, values):
    for text, code in conditions:
        try:
            if not eval(code, names, values):
                return text
        except (ZeroDivisionError, ValueError):
            return text
        except NameError:
            pass
    return None

random.seed(0)
for theirs, ours in json.loads(cases):
    known = {}
    for side in (theirs, ours):
        for name, (_, _, value) in side[0].items():
            if value not in ("None", "null"):
                known[name] = float(value) if "." in value else int(value)
    both = [n for n in known if n in theirs[0] and n in ours[0]]
    sides = compiled(theirs), compiled(ours)
    verdict = [True, True]
    why = ""
    for _ in range(600):
        values = dict(known)
        for name in both:
            if random.random() < 0.7:
                values[name] = random.randrange(0, 40) if isinstance(known[name], int) else random.choice([0.0, 0.25, 0.5, 1.0, 1.5, -1.0])
        found = [failed(side, values) for side in sides]
        for i in (0, 1):
            if found[i] and not found[1 - i]:
                verdict[i] = False
                why = f"{values}: {'theirs' if i == 0 else 'ours'} fail on {found[i]}"
    print(json.dumps([*verdict, why]))
"#;

/// Per pair: whether ours imply theirs, whether theirs imply ours, and an example where not.
fn compare(cases: &[(Value, Value)]) -> Vec<(bool, bool, String)> {
    let cases: Vec<Value> = cases.iter().map(|(a, b)| json!([a, b])).collect();
    let program = format!("cases = r'''{}'''\n{EVALUATE}", Value::from(cases));
    let said = on_large_stack(move || {
        let report = Rc::new(RefCell::new(Report::default()));
        let sink = report.clone();
        let status =
            Interpreter::new().run(&program, "script.py", &RunOptions::default(), Rc::new(move |event| sink.borrow_mut().fold(event)));
        let report = report.take();
        assert_eq!(status, 0, "{:?}", report.exception);
        report.stdout
    })
    .unwrap();
    let one = |line: &str| -> (bool, bool, String) { serde_json::from_str(line).unwrap() };
    said.lines().map(one).collect()
}

/// What is said of every compilation in whose conditions symbols stand, in order.
fn judged(theirs: &[Value], report: &Value) -> Vec<(usize, (bool, bool, String))> {
    let ours = compilations(report);
    let indices: Vec<usize> = (0..theirs.len().min(ours.len())).filter(|i| !theirs[*i].is_null()).collect();
    let cases: Vec<(Value, Value)> = indices.iter().map(|i| (theirs[*i].clone(), conditions(report, ours[*i]))).collect();
    indices.into_iter().zip(compare(&cases)).collect()
}

fn agree(name: &str, now: &str) {
    let file = folder(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&file, now).unwrap();
        return;
    }
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    let mut lost = String::new();
    for line in before.lines() {
        let (key, flags) = line.split_once(':').unwrap_or((line, ""));
        let is = now.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':')).unwrap_or("");
        for flag in flags.split_whitespace().filter(|f| !is.split_whitespace().any(|i| i == *f)) {
            writeln!(lost, "{key}: {flag} no longer holds").unwrap();
        }
    }
    assert!(lost.is_empty(), "{lost}");
}

#[test]
fn programs_about_sizes() {
    let expected: Value = serde_json::from_slice(&std::fs::read(folder("dynamic/expected.json")).unwrap()).unwrap();
    let lines = each(&recordings(&expected), |(name, backend, want)| {
        let got = report(&folder("dynamic").join(format!("{name}.py")), backend);
        let mut held: Vec<String> = Vec::new();
        if got["stdout"] == want["stdout"] && got["exception"]["type"] == want["exception"] {
            held.push("out".to_owned());
        }
        let (theirs, ours) = (list(&want["graphs"]), compilations(&got));
        if theirs.len() == ours.len() {
            held.push("count".to_owned());
        }
        for (i, (a, b)) in theirs.iter().zip(ours).enumerate() {
            if *a == json!([hash(b, &["joint", "inference"]), hash(b, &["forward"]), hash(b, &["backward"])]) {
                held.push(format!("graphs{i}"));
            }
        }
        for (i, (implies, implied, why)) in judged(list(&want["conditions"]), &got) {
            if !(implies && implied) {
                println!("{name} {backend} {i}: {why}");
            }
            held.extend(implies.then(|| format!("implied{i}")));
            held.extend((implies && implied).then(|| format!("equal{i}")));
        }
        format!("{name} {backend}: {}\n", held.join(" "))
    });
    agree("dynamic/status.txt", &lines.concat());
}

/// The guards that PyTorch recorded for the conformance programs hold of every size that our entries accept.
#[test]
fn guards_of_the_conformance_programs() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder("conformance/expected")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let mut wrong = String::new();
    let mut asked = 0;
    for file in files.iter().filter(|f| f.to_str().is_some_and(|f| f.ends_with(".aot_eager.json"))) {
        let expected: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let theirs: Vec<Value> = list(&expected["compilations"]).iter().map(|c| recorded(&c["shape_env"])).collect();
        if theirs.iter().all(Value::is_null) {
            continue;
        }
        let name = file.file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned();
        let got = report(&folder("conformance/programs").join(format!("{name}.py")), "aot_eager");
        for (i, (implies, _, why)) in judged(&theirs, &got) {
            asked += 1;
            if !implies {
                writeln!(wrong, "{name} {i}: {why}").unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(asked > 5, "only {asked} compilations have symbols");
}

/// `{"replacements", "guards", "var_to_hint", "var_to_range"}` in the form of `tests/dynamic/expected.json`; null where nothing
/// is symbolic, or where symbols stand for nothing that a call brings (`-int_oo` to `int_oo`).
fn recorded(env: &Value) -> Value {
    let Some(ranges) = env["var_to_range"].as_object() else { return Value::Null };
    let mut symbols = serde_json::Map::new();
    for (name, range) in ranges {
        let range = range.as_str().unwrap_or_default().trim_start_matches("VR[").trim_end_matches(']').to_owned();
        let bound = |text: &str| text.trim().parse::<f64>().map_or(Value::Null, |b| json!(b));
        let (lower, upper) = range.split_once(',').unwrap_or_default();
        symbols.insert(name.clone(), json!([bound(lower), bound(upper), env["var_to_hint"][name]]));
    }
    if symbols.is_empty() || symbols.values().all(|s| s[0].is_null() && s[1].is_null()) {
        return Value::Null;
    }
    json!([symbols, env["guards"], env["replacements"]])
}
