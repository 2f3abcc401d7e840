//! Aliasing and mutation around compiled graphs: random programs of views, writes, aliases among inputs and outputs, `detach`
//! and `no_grad`, whose compiled run must show what their eager run shows: outputs, inputs, gradients, and what a later write
//! to an output changes.

use crate::script;
use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use std::fmt::Write;

const PROGRAMS: u64 = 300;
const SEED: u64 = 20_240_601;

/// A small generator of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A variable of the program: its name and shape.
#[derive(Clone)]
struct Variable {
    name: String,
    shape: Vec<usize>,
    /// Whether it was reached through `detach()`: PyTorch hides writes to it from autograd when it compiles.
    hidden: bool,
}

/// The body of the function under test.
struct Body {
    lines: String,
    live: Vec<Variable>,
    count: usize,
}

impl Body {
    fn bind(&mut self, expression: &str, shape: Vec<usize>, no_grad: bool, hidden: bool) {
        let name = format!("v{}", self.count);
        self.count += 1;
        if no_grad {
            self.lines.push_str("    with torch.no_grad():\n    ");
        }
        writeln!(self.lines, "    {name} = {expression}").unwrap();
        self.live.push(Variable { name, shape, hidden });
    }

    fn step(&mut self, random: &mut Random) {
        let of = self.live[random.below(self.live.len())].clone();
        let (name, shape) = (&of.name, of.shape.clone());
        let twins: Vec<Variable> = self.live.iter().filter(|v| v.shape == shape).cloned().collect();
        let other = twins[random.below(twins.len())].name.clone();
        let no_grad = random.chance(10);
        match random.below(10) {
            0 => self.bind(&format!("{name}.sin()"), shape, no_grad, false),
            1 => self.bind(&format!("{name} * {other}"), shape, no_grad, false),
            2 => self.bind(&format!("{name}.detach()"), shape, false, true),
            3 | 4 => match (random.below(5), shape.len()) {
                (0, 2) => self.bind(&format!("{name}.t()"), vec![shape[1], shape[0]], false, of.hidden),
                (1, 2) => self.bind(&format!("{name}[0]"), vec![shape[1]], false, of.hidden),
                (2, 2) => self.bind(&format!("{name}[:, 1]"), vec![shape[0]], false, of.hidden),
                (3, _) => self.bind(&format!("{name}[1:]"), [&[shape[0] - 1], &shape[1..]].concat(), false, of.hidden),
                _ => self.bind(&format!("{name}.unsqueeze(0).squeeze(0)"), shape, false, of.hidden),
            },
            5 => self.bind(&format!("{name} + 0.5"), shape, no_grad, false),
            kind => {
                if no_grad || of.hidden {
                    self.lines.push_str("    with torch.no_grad():\n    ");
                }
                let write = match kind {
                    6 => format!("{name}.mul_(0.75)"),
                    7 => format!("{name}.add_({other})"),
                    8 => format!("{name}.sin_()"),
                    _ => format!("{name}[0] = 0.25"),
                };
                writeln!(self.lines, "    {write}").unwrap();
            }
        }
        self.live.retain(|v| v.shape[0] > 1);
    }
}

fn program(seed: u64) -> String {
    let mut random = Random(seed);
    let mut inputs = String::new();
    let mut arguments = Vec::new();
    let mut live = Vec::new();
    let related = random.chance(40);
    let differentiable = random.chance(70);
    writeln!(inputs, "    leaf = torch.randn(24).requires_grad_({})", if differentiable { "True" } else { "False" }).unwrap();
    writeln!(inputs, "    base = leaf.clone()").unwrap();
    for i in 0..1 + random.below(3) {
        let made = match (related, random.below(3)) {
            (true, 0) => "base[0:12].view(3, 4)".to_owned(),
            (true, 1) => "base[6:18].view(3, 4)".to_owned(),
            (true, _) => "base[12:24].view(3, 4)".to_owned(),
            (false, 0) => "torch.randn(3, 4)".to_owned(),
            (false, _) => "leaf.view(2, 3, 4)[0].clone()".to_owned(),
        };
        writeln!(inputs, "    a{i} = {made}").unwrap();
        arguments.push(format!("a{i}"));
        live.push(Variable { name: format!("a{i}"), shape: vec![3, 4], hidden: false });
    }
    let mut body = Body { lines: String::new(), live, count: 0 };
    for _ in 0..3 + random.below(8) {
        body.step(&mut random);
    }
    let outputs: Vec<String> = (0..1 + random.below(3)).map(|_| body.live[random.below(body.live.len())].name.clone()).collect();
    let (arguments, outputs) = (arguments.join(", "), outputs.join(", "));
    let lines = &body.lines;
    format!(
        r#"import torch
from torch._dynamo.exc import BackendCompilerFailed

def f({arguments}):
{lines}    return [{outputs}]

def make():
    torch.manual_seed(7)
{inputs}    return leaf, [{arguments}]

def observe(fn):
    leaf, args = make()
    outs = fn(*args)
    seen = [[t.requires_grad, list(t.shape), t.tolist()] for t in outs + args]
    wanted = [(t * 1.5).sum() for t in outs + args if t.requires_grad]
    if wanted:
        sum(wanted).backward()
        seen.append(None if leaf.grad is None else leaf.grad.tolist())
    with torch.no_grad():
        outs[0].detach().add_(1)
    return seen + [t.tolist() for t in outs + args]

def close(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-4 * (1 + abs(a))
    return a == b

try:
    eager = observe(f)
except RuntimeError as e:
    print("eager refuses")
else:
    for backend in ["aot_eager", "aot_eager_default_partitioner"]:
        try:
            compiled = observe(torch.compile(f, backend=backend))
        except BackendCompilerFailed as e:
            assert isinstance(e.inner_exception, AssertionError), e
            print("PyTorch refuses")
            continue
        except (AssertionError, IndexError, RuntimeError) as e:
            # Besides what the version of a saved value says: views that the function made of an input that was merged with another are
            # made again of the common base, where they may not fit.
            refused = [
                "modified by an inplace operation",
                "application of ViewMeta sequence",
                "Dimension out of range",
                "number of dimensions in the tensor input",
                "is invalid for input of size",
            ]
            assert any(words in str(e) for words in refused), e
            print("PyTorch refuses")
            continue
        if not close(eager, compiled):
            for a, b in zip(eager, compiled):
                print("eager", a, "compiled", b, "" if close(a, b) else "<<<")
            raise SystemExit(backend + " differs")
        print("same")
"#
    )
}

#[test]
fn compiled_programs_show_what_eager_ones_show() {
    let first = std::env::var("ALIASING_SEED").ok().and_then(|s| s.parse().ok());
    let seeds: Vec<u64> = first.map_or_else(|| (SEED..SEED + PROGRAMS).collect(), |seed| vec![seed]);
    println!("seeds {} to {}", seeds[0], seeds[seeds.len() - 1]);
    let (wrong, same) = on_large_stack(move || {
        let interpreter = Interpreter::new();
        let (mut wrong, mut same) = (Vec::new(), 0);
        for seed in seeds {
            let text = program(seed);
            let run = script::run_in(&interpreter, &text, &RunOptions::default());
            same += run.report.stdout.matches("same").count();
            if run.status != 0 {
                wrong.push(format!("ALIASING_SEED={seed}\n{text}\n{}{}", run.report.stdout, run.stderr()));
            }
        }
        (wrong, same)
    })
    .unwrap();
    println!("{} programs differ, {same} runs are the same", wrong.len());
    wrong.iter().for_each(|w| println!("{} ... {}", w.lines().next().unwrap_or_default(), w.trim_end().lines().last().unwrap_or_default()));
    assert!(wrong.is_empty(), "{} programs differ; the first:\n{}", wrong.len(), wrong[0]);
    assert!(first.is_some() || same > PROGRAMS as usize, "too few programs ran: {same}");
}

/// A script's operator that writes to views of an input which does not begin where its memory begins. (PyTorch 2.15 writes to other
/// rows there; eager mode says what is right.)
#[test]
fn a_scripts_operator_writes_where_it_is_told_to() {
    let text = r#"
import torch

@torch.library.custom_op("aliasing::add_", mutates_args={"x"})
def add_(x: torch.Tensor, by: float) -> None:
    x.add_(by)

def f(x):
    add_(x[1:2], 1.0)
    add_(x[:, 1:3], 10.0)
    add_(x.t()[0], 100.0)
    return x * 1

inputs = {
    "plain": lambda: torch.zeros(4, 4),
    "rows": lambda: torch.zeros(8, 4)[2:6],
    "columns": lambda: torch.zeros(4, 8)[:, 3:7],
    "transposed": lambda: torch.zeros(4, 4).t(),
    "every other": lambda: torch.zeros(9, 9)[1::2, 1::2],
}
for name, make in inputs.items():
    a, b = make(), make()
    torch._dynamo.reset()
    eager, compiled = f(a), torch.compile(f)(b)
    assert torch.equal(a, b) and torch.equal(eager, compiled), (name, a, b)
print("same")
"#;
    assert_eq!(script::report(text).stdout, "same\n");
}
