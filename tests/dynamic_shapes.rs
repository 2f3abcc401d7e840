//! A region of symbolic sizes serves many sizes: outputs and gradients are eager's, and it is compiled as often as PyTorch compiles.

#![cfg(feature = "python")]

use std::cell::RefCell;
use std::rc::Rc;

use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use aot_playground::report::Report;

/// Runs a script; it must end well.
fn run(program: &str) -> Report {
    let program = program.to_owned();
    on_large_stack(move || {
        let report = Rc::new(RefCell::new(Report::default()));
        let sink = report.clone();
        let options = RunOptions::default();
        let status = Interpreter::new().run(&program, "script.py", &options, Rc::new(move |event| sink.borrow_mut().fold(event)));
        let report = report.take();
        assert_eq!(status, 0, "{}", report.stdout);
        report
    })
    .unwrap()
}

#[test]
fn thirty_sizes_of_an_attention_block() {
    let report = run(r#"
import random
import torch

@torch.compile
def f(x, w):
    b, t, c = x.shape
    q, k = (x @ w).view(b, t, 2, c // 2, 2).unbind(-1)
    a = (q.transpose(1, 2) @ k.permute(0, 2, 3, 1)).softmax(-1)
    return (a @ q.transpose(1, 2)).transpose(1, 2).reshape(b, t, c).mean(1) * t

eager = f._torchdynamo_orig_callable
random.seed(0)
torch.manual_seed(0)
w = torch.randn(8, 16, requires_grad=True)
for i in range(30):
    x = torch.randn(random.randint(2, 9), random.randint(2, 17), 8, requires_grad=True)
    found = []
    for g in (f, eager):
        x.grad = w.grad = None
        out = g(x, w)
        out.square().sum().backward()
        found.append((out.detach(), x.grad, w.grad))
    for a, b in zip(*found):
        assert torch.allclose(a, b, atol=1e-4), (i, x.shape)
"#);
    // First the sizes as numbers, then both dimensions that vary as symbols.
    assert_eq!(report.compilations.len(), 2, "{:?}", report.recompiles);
    assert_eq!(report.recompiles[0], ["0/0: tensor 'x' size mismatch at index 0. expected 8, actual 2"]);
}

#[test]
fn sizes_zero_and_one_are_numbers() {
    let report = run("
import torch

f = torch.compile(lambda x: x * x.shape[0])
for n in (2, 3, 4, 1, 0, 5):
    assert f(torch.ones(n)).sum().item() == n * n
");
    assert_eq!(report.compilations.len(), 4, "{:?}", report.recompiles);
}

#[test]
fn marks_decide() {
    let report = run("
import torch

x = torch.ones(6, 4)
torch._dynamo.mark_dynamic(x, 0, max=10)
f = torch.compile(lambda x: (x * 2).sum(1))
for n in (x, torch.ones(9, 4), torch.ones(12, 4)):
    assert f(n).sum().item() == 2 * n.numel()
");
    assert_eq!(report.recompiles, [["0/0: x.size()[0] <= 10"]]);
}
