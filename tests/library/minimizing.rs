//! Scripts made smaller by running what is left of them.

use std::process::Command;
use std::rc::Rc;

use aot_playground::minimizing::{Keep, Smallest, minimize, statements};
use aot_playground::python::{Interpreter, RunOptions, on_large_stack};

use crate::script::run_in;

/// The smallest script that keeps this, or why there is none.
fn smallest(program: &str, keep: &str, options: &RunOptions) -> Result<Smallest, String> {
    let keep = Keep::named(keep).unwrap();
    on_large_stack(|| {
        let interpreter = Rc::new(Interpreter::new());
        minimize(program, &keep, options, &[], &mut |text, options| Some(run_in(&interpreter, text, options).report), &mut |_| {})
    })
    .unwrap()
}

const TRAINING: &str = "import torch
from torch import nn, optim


class Net(nn.Module):
    '''A net.'''

    def __init__(self, width: int = 16):
        super().__init__()
        self.first = nn.Linear(8, width)
        self.second = nn.Linear(width, 1)

    def forward(self, x):
        h = torch.relu(self.first(x))
        return self.second(h)


def main(steps):
    torch.manual_seed(0)
    net = torch.compile(Net())
    optimizer = optim.SGD(net.parameters(), lr=0.01)
    for step in range(steps):
        x = torch.randn(4, 8)
        loss = net(x).square().mean()  # of no target
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print('step', step, loss.item() > 0)
    raise ValueError(f'the loss after {steps} steps is {loss.item():.3f}')


if __name__ == '__main__':
    main(3)
";

fn of_training(keep: &str) -> String {
    smallest(TRAINING, keep, &RunOptions::default()).unwrap().text
}

#[test]
fn an_exception_is_kept_by_class_and_message() {
    let text = of_training("exception");
    assert!(text.contains("raise ValueError(") && text.lines().count() <= 2, "{text}");
    let clash = "import torch

def f(x, w, scale=2.0):
    y = x @ w
    return y * scale

x = torch.ones(8, 4)
print(torch.compile(f)(x, torch.ones(3, 8)))
";
    let smallest = smallest(clash, "exception", &RunOptions::default()).unwrap();
    assert!(smallest.statements <= 4 && smallest.text.contains('@'), "{}", smallest.text);
}

#[test]
fn text_and_operators_are_kept() {
    let text = of_training("text:step 2");
    assert!(text.ends_with("print('step', step)\n") && text.lines().count() == 2, "{text}");
    assert_eq!(of_training("operator:aten.mm"), "import torch\ntorch.compile(torch.nn.Linear(1, 1))(torch.randn(1))\n");
    let text = of_training("operator:torch.ops.aten.threshold_backward");
    assert!(text.contains("relu(") && text.lines().count() <= 5, "{text}");
}

#[test]
fn what_differs_from_eager_mode_is_kept() {
    let printed = "import torch

@torch.compile
def f(x, scale=2.0):
    y = (x * scale).relu()
    return y.sum()

x = torch.ones(16, requires_grad=True)
print('of', tuple(x.shape))
out = f(x)
print('made by', type(out.grad_fn).__name__)
";
    let of_printed = smallest(printed, "differs:eager", &RunOptions::default()).unwrap();
    assert!(of_printed.statements <= 5 && of_printed.text.contains("compile"), "{}", of_printed.text);
    // A pass puts another operator into the graph.
    let computed = "import torch
import torch._inductor.config as config

def swap(graph):
    for node in list(graph.nodes):
        if node.target is torch.ops.aten.sin.default:
            node.target = torch.ops.aten.cos.default

config.post_grad_custom_post_pass = swap

@torch.compile
def f(x, w):
    y = x.sin() * w
    return y.exp().sum()

x = torch.zeros(3, requires_grad=True)
f(x, torch.ones(3)).backward()
";
    let options = RunOptions { backend: "inductor".to_owned(), ..RunOptions::default() };
    let of_computed = smallest(computed, "differs:eager", &options).unwrap();
    assert!(of_computed.statements <= 10 && !of_computed.text.contains("exp"), "{}", of_computed.text);
}

#[test]
fn what_a_script_does_not_have_is_said() {
    let options = RunOptions::default();
    for (keep, why) in [
        ("exception", "no exception ends the script"),
        ("text:nothing", "the script does not print 'nothing'"),
        ("operator:aten.mm", "no graph of the script has the operator 'aten.mm'"),
        ("differs:eager", "under 'aot_eager' the script computes and prints what it does in eager mode"),
    ] {
        assert_eq!(smallest("print(1)\n", keep, &options), Err(why.to_owned()));
    }
    for words in ["", "text", "text:", "operator", "differs:inductor", "nothing"] {
        assert_eq!(Keep::named(words), None);
    }
}

#[test]
fn what_is_no_python_keeps_its_error() {
    let text = smallest("import torch\nx = 1\nfor x in\nprint(x)\n", "exception", &RunOptions::default()).unwrap().text;
    assert_eq!(text, "for x in\n");
}

/// Programs beside the smallest scripts known that keep what their first line says.
#[test]
#[ignore = "takes minutes"]
fn scripts_are_about_as_small_as_by_hand() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/minimize");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".smallest.py")?.to_owned()))
        .collect();
    names.sort();
    let mut large = Vec::new();
    for name in names {
        let path = |ending: &str| folder.join(format!("{name}{ending}")).to_str().unwrap().to_owned();
        let program = std::fs::read_to_string(path(".py")).unwrap();
        let keep = program.lines().next().unwrap().strip_prefix("# keep: ").unwrap();
        let search = |path: &str| {
            let output = Command::new(env!("CARGO_BIN_EXE_aot-playground")).args(["minimize", path, "--keep", keep]).output().unwrap();
            assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
        };
        // By hand it is as small as it is, and keeps what is to be kept.
        search(&path(".smallest.py"));
        let by_hand = statements(&std::fs::read_to_string(path(".smallest.py")).unwrap());
        let (smallest, said) = search(&path(".py"));
        println!("{name:14} {keep:50} by hand {by_hand}, {}", said.trim());
        if statements(&smallest) > 2 * by_hand {
            large.push(format!("{name}, {by_hand} by hand:\n{smallest}"));
        }
    }
    assert!(large.is_empty(), "{}", large.join("\n"));
}
