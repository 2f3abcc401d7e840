//! Training steps made of compiled graphs: they give the losses that the script's own loop prints.

use crate::script;
use aot_playground::backend::cpu::bundle::{numbers, run_bundle_cpu};
use aot_playground::backend::cpu::step::Then;
use aot_playground::backend::cpu::training::CpuTrainer;
use aot_playground::bundle::{Bundle, Recipe, Value};

/// What a script prints, and its first compilation.
fn run(program: &str) -> (String, Bundle) {
    let mut run = script::run(program);
    assert_eq!(run.status, 0, "{}", run.stderr());
    (run.report.stdout, run.bundles.remove(&0).unwrap())
}

fn all_parameters(bundle: &Bundle) -> Vec<String> {
    bundle.parameters.iter().map(|i| bundle.inputs[*i as usize].name.clone()).collect()
}

fn losses(bundle: &Bundle, recipe: &Recipe, steps: u32) -> Vec<f64> {
    let (mut trainer, _) = CpuTrainer::start(bundle, Then::Descend(recipe)).unwrap();
    trainer.steps(steps, recipe.lr).unwrap()
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "{found:?} instead of {expected:?}");
    }
}

/// The training loop that the page's steps stand for, with a buffer that the forward updates and a dropout that draws anew.
const LOOP: &str = "
import torch, torch.nn as nn
torch.manual_seed(3)
model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.25), nn.Linear(8, 2))
x, y = torch.randn(5, 6), torch.randn(5, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

@torch.compile
def loss_fn(x, y):
    return ((model(x) - y) ** 2).mean()

for _ in range(6):
    optimizer.zero_grad()
    loss = loss_fn(x, y)
    loss.backward()
    optimizer.step()
    print(loss.item())
";

#[test]
fn steps_are_those_of_the_loop() {
    let (printed, bundle) = run(LOOP);
    let expected: Vec<f64> = printed.lines().map(|l| l.parse().unwrap()).collect();
    assert_eq!(bundle.parameters.len(), 6);
    let recipe = Recipe { parameters: all_parameters(&bundle), loss: None, lr: 0.05, momentum: 0.9 };
    close(&losses(&bundle, &recipe, 6), &expected);
    let (trainer, training) = CpuTrainer::start(&bundle, Then::Descend(&recipe)).unwrap();
    assert_eq!(training.parameters.len(), 6);
    assert_eq!(training.carried.len(), 3, "the running statistics: {:?}", training.carried);
    assert!(!training.stands_in);
    assert_eq!(trainer.parameters().unwrap().len(), 6);
}

#[test]
fn a_run_draws_what_the_script_drew() {
    let (_, bundle) = run(LOOP);
    let result = run_bundle_cpu(&bundle).unwrap();
    for computed in result.forward.outputs.iter().chain(&result.backward.unwrap().outputs) {
        assert_eq!(computed.mismatch, None, "{}", computed.named.name);
        assert_eq!(computed.max_abs.unwrap_or(0.0), 0.0, "{}", computed.named.name);
    }
}

#[test]
fn without_a_scalar_squares_take_its_place() {
    let (_, bundle) = run("
import torch
w = torch.tensor([2.0, -4.0], requires_grad=True)
f = torch.compile(lambda w, x: w * x)
f(w, torch.ones(2)).sum().backward()
");
    let recipe = Recipe { parameters: all_parameters(&bundle), loss: None, lr: 0.5, momentum: 0.0 };
    // mean(w ** 2) is 10; a step of 0.5 * w halves w.
    close(&losses(&bundle, &recipe, 3), &[10.0, 2.5, 0.625]);
    let (mut trainer, training) = CpuTrainer::start(&bundle, Then::Descend(&recipe)).unwrap();
    assert!(training.stands_in);
    trainer.steps(1, 0.5).unwrap();
    let after = trainer.parameters().unwrap();
    let Value::Tensor { tensor } = &after[0].value else { panic!("a tensor") };
    close(&numbers(tensor).unwrap(), &[1.0, -2.0]);
}

#[test]
fn what_cannot_be_trained_says_why() {
    let (_, inference) = run("
import torch
torch.compile(lambda x: x.sin())(torch.ones(2))
");
    let none = Recipe::default();
    let why =
        |bundle: &Bundle, recipe: &Recipe| CpuTrainer::start(bundle, Then::Descend(recipe)).err().map(|e| e.message).unwrap_or_default();
    assert!(why(&inference, &none).contains("no backward"));
    let (_, bundle) = run(LOOP);
    assert!(why(&bundle, &none).contains("no parameter is chosen"));
    let data = (0..bundle.inputs.len() as u32).find(|i| !bundle.parameters.contains(i)).unwrap();
    let data = Recipe { parameters: vec![bundle.inputs[data as usize].name.clone()], ..Recipe::default() };
    assert!(why(&bundle, &data).contains("no parameter is chosen"));
    let unknown = Recipe { loss: Some("nothing".to_owned()), ..Recipe::default() };
    assert!(why(&bundle, &unknown).contains("nothing is no output"));
}
