//! Gradients where random calls are recomputed; questions about the partitions of a run.

use crate::script;
use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use aot_playground::report::{Answer, MemoryProfile, Question};
use serde_json::Value;

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

#[test]
fn recomputed_random_numbers_are_those_of_the_forward() {
    let report = script::report(DROPOUT);
    assert_eq!(report.stdout, "1.0 True\n0.5 True\n0.2 True\n0.0 True\nTrue\n");
    // PyTorch's own decision is reported, and that it draws other numbers there.
    let replayed = |i: usize| report.compilations[i].partition.as_ref().unwrap().replayed.len();
    assert_eq!((replayed(0), replayed(3)), (0, 2));
    let backward = &report.compilations[3].backward.as_ref().unwrap().readable;
    assert!(backward.contains("native_dropout.default") && !backward.contains("rng_state"), "{backward}");
}

#[test]
fn questions_are_answered_without_another_run() {
    let questions = [
        r#"{"ask": "curve", "points": 4}"#,
        r#"{"ask": "partition", "query": {"budget": 0.5}}"#,
        r#"{"ask": "counterfactual", "name": "primals_1"}"#,
    ];
    let answers: Vec<Value> = on_large_stack(|| {
        let interpreter = Interpreter::new();
        script::run_in(&interpreter, DROPOUT, &RunOptions::default());
        let answer = |question: &&str| interpreter.ask(0, &serde_json::from_str::<Question>(question).unwrap());
        questions.iter().map(|question| serde_json::to_value(answer(question)).unwrap()).collect()
    })
    .unwrap();
    let [curve, half, otherwise] = &answers[..] else { panic!("{answers:?}") };
    let budgets: Vec<f64> = curve["points"].as_array().unwrap().iter().map(|p| p["budget"].as_f64().unwrap()).collect();
    assert_eq!(budgets, [0.0, 0.25, 0.5, 0.75, 1.0]);
    let saved = |answer: &Value| answer["saved_bytes"].as_u64().unwrap();
    assert_eq!(saved(&half["partition"]["partition"]), saved(&curve["points"][2]));
    assert!(saved(&curve["points"][0]) < saved(&curve["points"][4]));
    assert!(otherwise["counterfactual"]["impossible"].as_str().unwrap().contains("an input"), "{otherwise}");
}

/// Eager mode runs the operators that the script calls, whatever a backend takes them apart into.
#[test]
fn eager_memory_is_the_same_under_every_backend() {
    const BLOCK: &str = "
import torch, torch.nn as nn
torch.manual_seed(0)
m = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 64), nn.Softmax(-1), nn.Linear(64, 4))
torch.compile(m)(torch.randn(8, 16)).square().mean().backward()
";
    let memory = |backend: &str| {
        let backend = backend.to_owned();
        on_large_stack(move || {
            let interpreter = Interpreter::new();
            script::run_in(&interpreter, BLOCK, &RunOptions { backend, ..RunOptions::default() });
            let Answer::Eager { memory, .. } = interpreter.ask(0, &Question::Eager) else { panic!("no memory of eager mode") };
            memory
        })
        .unwrap()
    };
    let (plain, inductor) = (memory("aot_eager"), memory("inductor"));
    let steps = |memory: &MemoryProfile| memory.steps.iter().map(|step| (step.name.clone(), step.bytes)).collect::<Vec<_>>();
    assert_eq!(steps(&inductor), steps(&plain));
    assert_eq!((inductor.peak_bytes, inductor.between_bytes), (plain.peak_bytes, plain.between_bytes));
}

/// Views that are saved take no memory beside their base, and inputs are in memory already.
#[test]
fn saved_storages_are_counted_once() {
    const TWO_VIEWS: &str = "
import torch
@torch.compile
def f(x, w):
    h = (x @ w).exp()
    return (h.view(32).sin() * h.view(8, 4).reshape(32)).sum()
f(torch.ones(4, 8), torch.ones(8, 8, requires_grad=True)).backward()
";
    let report = script::report(TWO_VIEWS);
    let compilation = &report.compilations[0];
    let (saved, partition) = (compilation.saved.as_ref().unwrap(), compilation.partition.as_ref().unwrap());
    let listed: u64 = saved.iter().filter_map(|value| value.bytes).sum();
    assert_eq!(partition.saved_bytes, listed);
    let mut bases: Vec<&str> =
        saved.iter().filter(|value| !value.of_input).map(|value| value.view_of.as_deref().unwrap_or(&value.name)).collect();
    bases.sort_unstable();
    bases.dedup();
    assert_eq!(partition.activation_bytes, bases.len() as u64 * 4 * 8 * 4, "{saved:?}");
    assert!(saved.iter().any(|value| value.of_input), "{saved:?}");
}
