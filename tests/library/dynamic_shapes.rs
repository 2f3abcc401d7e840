//! A graph of symbolic sizes is used for many sizes: outputs and gradients are eager's, and it is compiled as often as PyTorch compiles.

use crate::script;
use script::report;

#[test]
fn fifty_sizes_of_an_attention_block() {
    let report = script::report(
        r#"
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
for i in range(50):
    x = torch.randn(random.randint(2, 9), random.randint(2, 17), 8, requires_grad=True)
    found = []
    for g in (f, eager):
        x.grad = w.grad = None
        out = g(x, w)
        out.square().sum().backward()
        found.append((out.detach(), x.grad, w.grad))
    for a, b in zip(*found):
        assert torch.allclose(a, b, atol=1e-4), (i, x.shape)
"#,
    );
    // First the sizes as numbers, then both dimensions that vary as symbols.
    assert_eq!(report.compilations.len(), 2, "{:?}", report.recompiles);
    assert_eq!(report.recompiles[0], ["0/0: tensor 'x' size mismatch at index 0. expected 8, actual 2"]);
}

#[test]
fn sizes_zero_and_one_are_numbers() {
    let report = script::report(
        "
import torch

f = torch.compile(lambda x: x * x.shape[0])
for n in (2, 3, 4, 1, 0, 5):
    assert f(torch.ones(n)).sum().item() == n * n
",
    );
    assert_eq!(report.compilations.len(), 4, "{:?}", report.recompiles);
}

#[test]
fn marks_decide() {
    let report = script::report(
        "
import torch

x = torch.ones(6, 4)
torch._dynamo.mark_dynamic(x, 0, max=10)
f = torch.compile(lambda x: (x * 2).sum(1))
for n in (x, torch.ones(9, 4), torch.ones(12, 4)):
    assert f(n).sum().item() == 2 * n.numel()
",
    );
    assert_eq!(report.recompiles, [["0/0: 2 <= x.size()[0] <= 10"]]);
}

#[test]
fn integers_that_vary_are_symbols() {
    let report = script::report(
        "
import torch

@torch.compile
def f(x, n):
    return x * n + n

x = torch.arange(4.0, requires_grad=True)
for n in (3, 5, 7, 1, 0, -2):
    x.grad = None
    out = f(x, n)
    out.sum().backward()
    assert out.tolist() == [i * n + n for i in range(4)] and x.grad.tolist() == [n] * 4
",
    );
    assert_eq!(report.compilations.len(), 2, "{:?}", report.recompiles);
    assert!(report.recompiles[0][0].starts_with("0/0: n == 3 "), "{:?}", report.recompiles);
}

#[test]
fn python_values_are_guarded_where_they_are_read() {
    let report = script::report(
        "
import torch

scale = 2.0

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mode, self.unread = 'a', 1
    def forward(self, x, opt=None):
        if opt is not None:
            x = x + 1
        return x * scale if self.mode == 'a' else x.sin()

m = M()
f = torch.compile(m)
x = torch.ones(2)
f(x)
m.unread = 2
f(x)
m.mode = 'b'
f(x)
m.mode = 'a'
f(x)
f(x, 1)
",
    );
    let said: Vec<Vec<&str>> =
        report.recompiles.iter().map(|g| g.iter().map(|r| r.split('#').next().unwrap_or(r).trim()).collect()).collect();
    assert_eq!(said[0], ["0/0: self.mode == 'a'"]);
    assert_eq!(said[1], ["0/0: opt is None", "0/1: self.mode == 'b'"]);
}

#[test]
fn graphs_end_with_what_lives_on() {
    let report = script::report(
        "
import torch

@torch.compile
def f(x):
    kept = x.sin()
    dead = x.cos()
    y = kept + dead
    print('between')
    return y * kept

f(torch.ones(2))
",
    );
    let graph = &report.regions[0].graph.readable;
    assert!(graph.contains("return (kept, y)"), "{graph}");
    assert_eq!(report.breaks[0].reason, "Failed to trace builtin operator");
}

/// Guards are validated wherever sizes are symbols: what came of it, and which of them leave a single size.
#[test]
fn guards_are_validated() {
    let script = "import torch
import torch.fx.experimental._config as config

@torch.compile(backend='aot_eager', dynamic=True)
def f(x, y):
    if x.shape[0] > 3 and x.shape[0] < 6:
        if x.shape[0] != 4:
            return x * 2 + y.shape[0]
    return x + 1

f(torch.ones(5), torch.ones(7))
f(torch.ones(9), torch.ones(12))
torch.compile(lambda x: x + 1, backend='aot_eager', dynamic=False)(torch.ones(3))
with config.patch(inject_EVALUATE_EXPR_flip_equality_TESTING_ONLY=True):
    torch.compile(lambda x: x * 2 if x.shape[0] == 6 else x, backend='aot_eager', dynamic=True)(torch.ones(6))
";
    let report = report(script);
    let said: Vec<String> = report
        .regions
        .iter()
        .map(|region| match &region.validation {
            None => "no symbols".to_owned(),
            Some(v) => {
                let symbols: String = v.symbols.iter().map(|s| format!("; {} {}: {}", s.name, s.source, s.sentence.text())).collect();
                v.sentence.text() + &symbols
            }
        })
        .collect();
    let expected = [
        "proved: what tracing asked for (5 conditions) follows from the guards; s77 L['x'].size()[0]: 3 guards: line 6, line 7; these three leave only 5",
        "proved: what tracing asked for (4 conditions) follows from the guards; s77 L['x'].size()[0]: 6 <= s77; 2 guards: line 6",
        "no symbols",
        "counterexample: s77 = 2 passes the guards, but not L['x'].size()[0] == 6, which tracing asked for at line 15; s77 L['x'].size()[0]: 2 <= s77; 1 guard: line 15",
    ];
    assert_eq!(said, expected);
}
