//! Compiled functions against eager mode (`--check`): wrong code is found and its first node named, and scripts see nothing of it.

use std::fs;
use std::path::Path;

use aot_playground::python::{Interpreter, RunOptions, on_large_stack};

use super::script::{Run, run_in};

fn checked(program: &str, backend: &str) -> Run {
    let options = RunOptions { backend: backend.to_owned(), check: true, ..RunOptions::default() };
    on_large_stack(|| run_in(&Interpreter::new(), program, &options)).unwrap()
}

/// What is said of all compilations.
fn sentences(run: &Run) -> String {
    let of_one = |check: &aot_playground::report::Check| {
        check.sentences.iter().map(|line| format!("{}: {line}\n", check.compilation)).collect::<String>()
    };
    run.report.checks.iter().map(of_one).collect()
}

/// A pass of the script's puts another operator into the forward, which the backward computes again.
const ANOTHER_NODE: &str = r#"
import torch
import torch._inductor.config as config


def swap(graph):
    for node in list(graph.nodes):
        if node.target is torch.ops.aten.sin.default:
            with graph.inserting_after(node):
                other = graph.call_function(torch.ops.aten.cos.default, node.args)
            other.meta = dict(node.meta)
            node.replace_all_uses_with(other)
            graph.erase_node(node)


config.post_grad_custom_post_pass = swap


@torch.compile
def f(x, w):
    y = x.sin() * w
    return y.exp().sum()


x = torch.zeros(3, requires_grad=True)
f(x, torch.ones(3)).backward()
"#;

#[test]
fn a_node_that_a_pass_puts_in_is_named() {
    let run = checked(ANOTHER_NODE, "inductor");
    assert_eq!(
        sentences(&run),
        "\
0: forward: output 0: 1 of 1 numbers differ: 8.154845 where eager mode has 3; first differing node, of the forward graph: cos_default = aten.cos.default(primals_1,), in place of sin, line 21
0: backward: gradient of input 0: 3 of 3 numbers differ: 2.7182817 where eager mode has 1; first differing node, of the backward graph: cos_default = aten.cos.default(primals_1,), in place of sin, line 21
",
        "{}",
        run.stderr()
    );
}

/// A pass changes a node of the backward alone.
const ANOTHER_TARGET: &str = r#"
import torch
import torch._inductor.config as config


def divide(graph):
    for node in graph.nodes:
        if node.target is torch.ops.aten.mul.Tensor and node.name == "mul_2":
            node.target = torch.ops.aten.div.Tensor


@torch.compile
def f(x, total):
    total.add_(1)
    return (x * total).tanh()


config.post_grad_custom_pre_pass = divide
x = torch.tensor([0.5, 2.0], requires_grad=True)
total = torch.ones(2)
f(x, total).sum().backward()
f(x, total).sum().backward()
"#;

#[test]
fn a_gradient_that_differs_is_found() {
    let run = checked(ANOTHER_TARGET, "inductor");
    let said = sentences(&run);
    assert_eq!(said.lines().count(), 2, "{said}{}", run.stderr());
    for line in said.lines() {
        let node = "first differing node, of the backward graph: mul_2 = aten.div.Tensor(tangents_1, sub), line 15";
        assert!(line.starts_with("0: backward: gradient of input 1: 2 of 2 numbers differ") && line.ends_with(node), "{line}");
    }
}

/// Random numbers, running statistics, views and writes, sequence numbers, an operator and a mode of the script's own.
const SIDE_EFFECTS: &str = r#"
import torch
from torch.utils._python_dispatch import TorchDispatchMode

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2))
step = torch.compile(lambda x: net(x).pow(2).mean())
for _ in range(2):
    step(torch.randn(6, 4)).backward()
print(torch.rand(2), net[1].running_mean, net[1].num_batches_tracked, net[0].weight.grad.sum())


@torch.compile
def shared(v, w):
    v.mul_(2)
    return v + w


a = torch.arange(6.0)
print(shared(a[:4], a[2:]), a)


@torch.library.custom_op("mine::told", mutates_args=())
def told(x: torch.Tensor) -> torch.Tensor:
    print("called")
    return x * 2


@told.register_fake
def _(x):
    return torch.empty_like(x)


print(torch.compile(lambda x: told(x) + 1)(torch.ones(2)))


class Counts(TorchDispatchMode):
    calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls += 1
        return func(*args, **(kwargs or {}))


f = torch.compile(lambda x: x.sin().cos())
f(torch.ones(2))
with Counts() as counts:
    f(torch.ones(2))
print(counts.calls)
print(torch.autograd._get_sequence_nr() if hasattr(torch.autograd, "_get_sequence_nr") else "")
"#;

#[test]
fn a_script_sees_nothing_of_it() {
    for backend in ["aot_eager", "inductor"] {
        let run = checked(SIDE_EFFECTS, backend);
        let options = RunOptions { backend: backend.to_owned(), ..RunOptions::default() };
        let plain = on_large_stack(move || run_in(&Interpreter::new(), SIDE_EFFECTS, &options)).unwrap();
        assert_eq!(run.report.stdout, plain.report.stdout, "{}", run.stderr());
        assert_eq!(run.report.runs, plain.report.runs);
        assert!(plain.report.checks.is_empty());
        let said = sentences(&run);
        assert!(said.contains("not compared: the operator mine.told.default is the script's own"), "{said}");
        assert!(run.report.checks.iter().all(|check| check.differences.is_empty()), "{said}");
    }
}

/// Where PyTorch's compiled code differs from its eager mode: a min cut recomputes a value from a parameter that was written to since; a
/// write to overlapping windows goes once over each element, not once over each window.
const AS_IN_PYTORCH: [&str; 2] = [
    r#"
import torch


@torch.compile
def f(p, x):
    with torch.no_grad():
        p.add_(1)
    return p * x


x = torch.ones(2, requires_grad=True)
f(torch.nn.Parameter(torch.zeros(2)), x).sum().backward()
"#,
    r#"
import torch


@torch.compile
def f(x):
    y = x.clone()
    y.as_strided((3, 2), (1, 1)).mul_(2.0)
    return y


f(torch.arange(6.0))
"#,
];

#[test]
fn differences_of_pytorchs_own_are_found() {
    for program in AS_IN_PYTORCH {
        let run = checked(program, "aot_eager");
        let said = sentences(&run);
        assert!(said.contains("numbers differ"), "{said}{}", run.stderr());
    }
}

#[test]
fn recorded_scripts_give_what_eager_mode_gives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let run_all = |folder: &str, backend: &str| {
        let (interpreter, options) = (Interpreter::new(), RunOptions { backend: backend.to_owned(), check: true, ..RunOptions::default() });
        let (mut compared, mut wrong) = (0, String::new());
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "py") {
                let run = run_in(&interpreter, &fs::read_to_string(&path).unwrap(), &options);
                compared += run.report.checks.iter().map(|check| check.compared[0]).sum::<u32>();
                if run.report.checks.iter().any(|check| !check.differences.is_empty()) {
                    wrong += &format!("{}\n{}", path.display(), sentences(&run));
                }
            }
        }
        assert!(compared > 50, "{folder}: {compared} calls were compared");
        assert!(wrong.is_empty(), "{wrong}");
    };
    on_large_stack(|| run_all("tests/cases/conformance", "inductor")).unwrap();
    on_large_stack(|| run_all("www/src/gallery/examples", "aot_eager")).unwrap();
}
