//! Gradients where random calls are recomputed; questions about partitions on the command line.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn playground(arguments: &[&str]) -> Output {
    Command::new(std::env::var("CARGO_BIN_EXE_aot-playground").unwrap()).args(arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// A budget below 1 recomputes dropout: the gradients are those of eager mode under the same seed, and later numbers too.
const DROPOUT: &str = "\
import torch, torch.nn as nn
import torch._functorch.config as config
from torch.utils.checkpoint import checkpoint
torch.manual_seed(5)
m = nn.Sequential(nn.Linear(16, 64), nn.Dropout(0.5), nn.ReLU(), nn.Linear(64, 64), nn.Dropout(0.5), nn.Tanh(), nn.Linear(64, 4))
x = torch.randn(8, 16)
def run(f):
    torch._dynamo.reset(); torch.manual_seed(0); m.zero_grad()
    f(x).sum().backward()
    return [p.grad.clone() for p in m.parameters()], torch.rand(3)
want, after = run(m)
def same(f):
    got, later = run(f)
    return all(torch.allclose(a, b, atol=1e-5) for a, b in zip(want, got)) and torch.equal(after, later)
for budget in (1.0, 0.5, 0.2, 0.0):
    with config.patch(activation_memory_budget=budget):
        print(budget, same(torch.compile(m, backend='aot_eager')))
print(same(torch.compile(lambda x: checkpoint(m, x, use_reentrant=False), backend='aot_eager')))
";

fn script(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn recomputed_random_numbers_are_those_of_the_forward() {
    let path = script("dropout.py", DROPOUT);
    let output = playground(&["run", path.to_str().unwrap()]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "1.0 True\n0.5 True\n0.2 True\n0.0 True\nTrue\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // PyTorch's own decision is reported, and that it draws other numbers there.
    let report = json(&playground(&["run", path.to_str().unwrap(), "--json"]));
    let replayed = |i: usize| report["compilations"][i]["partition"]["replayed"].as_array().unwrap().len();
    assert_eq!((replayed(0), replayed(3)), (0, 2));
    let backward = report["compilations"][3]["backward"]["readable"].as_str().unwrap();
    assert!(backward.contains("native_dropout.default") && !backward.contains("rng_state"), "{backward}");
}

#[test]
fn questions_are_answered_without_another_run() {
    let path = script("ask.py", DROPOUT);
    let ask = |question: &str| json(&playground(&["ask", path.to_str().unwrap(), question, "--compilation", "0"]));
    let curve = ask(r#"{"ask": "curve", "points": 4}"#);
    let budgets: Vec<f64> = curve["points"].as_array().unwrap().iter().map(|p| p["budget"].as_f64().unwrap()).collect();
    assert_eq!(budgets, [0.0, 0.25, 0.5, 0.75, 1.0]);
    let half = ask(r#"{"ask": "partition", "query": {"budget": 0.5}}"#);
    let saved = |answer: &Value| answer["saved_bytes"].as_u64().unwrap();
    assert_eq!(saved(&half["partition"]["partition"]), saved(&curve["points"][2]));
    assert!(saved(&curve["points"][0]) < saved(&curve["points"][4]));
    let otherwise = ask(r#"{"ask": "counterfactual", "name": "primals_1"}"#);
    assert!(otherwise["counterfactual"]["impossible"].as_str().unwrap().contains("an input"), "{otherwise}");
    let failed = playground(&["ask", path.to_str().unwrap(), r#"{"ask": "eager"}"#, "--compilation", "99"]);
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(json(&failed)["answer"], "failed");
}
