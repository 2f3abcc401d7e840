//! What a program costs that is twice as long as another: at most 2.3 times as much. Counted are allocations and the steps of passes over
//! graphs, which are the same on every machine.

use crate::allocations::allocations;
use crate::script::run_in;
use aot_playground::graph::steps;
use aot_playground::python::{Interpreter, RunOptions, on_large_stack};

/// How much more a program of twice the length may cost.
const MOST: f64 = 2.3;

/// A kind of program, the shorter length, and the program of a length.
struct Family {
    name: &'static str,
    length: usize,
    program: fn(usize) -> String,
}

const FAMILIES: &[Family] = &[
    Family {
        name: "chain",
        length: 100,
        program: |n| format!("def f(x):\n    for _ in range({n}): x = x.sin()\n    return x.sum()\nmake = lambda: [torch.ones(3)]\n"),
    },
    Family {
        name: "tree",
        length: 100,
        program: |n| {
            format!(
                "def f(x):\n    xs = [x * i for i in range({n})]\n    while len(xs) > 1:\n        \
                 xs = [a + b for a, b in zip(xs[::2], xs[1::2])] + ([xs[-1]] if len(xs) % 2 else [])\n    return xs[0].sum()\nmake = lambda: [torch.ones(3)]\n"
            )
        },
    },
    Family {
        name: "residual stack",
        length: 60,
        program: |n| {
            format!(
                "def f(x, y):\n    for _ in range({n}): x = x + torch.tanh(x * y)\n    return x.sum()\nmake = lambda: [torch.ones(3), torch.ones(3)]\n"
            )
        },
    },
    Family {
        name: "many inputs",
        length: 70,
        program: |n| {
            format!(
                "def f(*xs):\n    return sum((x * i).sum() for i, x in enumerate(xs))\nmake = lambda: [torch.ones(2) for _ in range({n})]\n"
            )
        },
    },
    Family {
        name: "writes in place",
        length: 70,
        program: |n| {
            format!(
                "def f(x):\n    y = x * 2\n    for i in range({n}): y[i % 3].mul_(1.5); y.add_(1)\n    return y.sum()\nmake = lambda: [torch.ones(3, 2)]\n"
            )
        },
    },
    Family {
        name: "views of views",
        length: 100,
        program: |n| {
            format!("def f(x):\n    y = x * 2\n    for _ in range({n}): y = y.t()\n    return y.sum()\nmake = lambda: [torch.ones(3, 2)]\n")
        },
    },
    Family {
        name: "transformer",
        length: 2,
        program: |n| {
            format!(
                "import torch.nn.functional as F\nclass Block(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        \
                 self.norm = torch.nn.LayerNorm(8)\n        self.qkv = torch.nn.Linear(8, 24)\n        self.out = torch.nn.Linear(8, 8)\n    \
                 def forward(self, x):\n        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)\n        \
                 return x + self.out(torch.softmax(q @ k.transpose(-1, -2), -1) @ v)\nmodel = torch.nn.Sequential(*[Block() for _ in range({n})])\n\
                 def f(x):\n    return model(x).sum()\nmake = lambda: [torch.ones(2, 4, 8)]\n"
            )
        },
    },
];

const RUN: &str = "inputs = [t.requires_grad_() for t in make()]\nfunction(*inputs).backward()\n";

/// Allocations and steps, by a program after its imports.
fn cost(interpreter: &Interpreter, program: &str, backend: &str) -> [u64; 2] {
    let options = RunOptions { backend: backend.to_owned(), ..RunOptions::default() };
    interpreter.warm_up();
    let before = [allocations(), steps()];
    let run = run_in(interpreter, program, &options);
    assert_eq!(run.status, 0, "{}", run.stderr());
    [allocations() - before[0], steps() - before[1]]
}

#[test]
fn twice_the_length_costs_twice_as_much() {
    let wrong = on_large_stack(|| {
        let interpreter = Interpreter::new();
        let mut wrong = Vec::new();
        for (way, function, backend) in [
            ("tape", "function = f", "aot_eager"),
            ("aot_eager", "function = torch.compile(f)", "aot_eager"),
            ("inductor", "function = torch.compile(f)", "inductor"),
        ] {
            for family in FAMILIES {
                let program = |n| format!("import torch\n{}{function}\n{RUN}", (family.program)(n));
                // The first run imports what the others find. What does not depend on the length is taken off.
                cost(&interpreter, &program(family.length), backend);
                let [once, twice, thrice] = [1, 2, 4].map(|times| cost(&interpreter, &program(times * family.length), backend));
                for (what, at) in [("allocations", 0), ("steps", 1)] {
                    let [first, second] = [twice[at] as f64 - once[at] as f64, thrice[at] as f64 - twice[at] as f64];
                    if second > MOST * first {
                        wrong.push(format!("{}, {way}: {what} {} {} {}", family.name, once[at], twice[at], thrice[at]));
                    }
                }
            }
        }
        wrong
    })
    .unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_function_that_recompiles_costs_what_its_calls_are() {
    // Beyond PyTorch's limit of cache entries a call is one more of the same kind: it asks each entry, and is not compiled.
    let program = |n: usize| {
        format!(
            "import torch\ntorch._dynamo.config.recompile_limit = 10**6\n@torch.compile(dynamic=False)\ndef f(x):\n    return x.sin()\n\
             for n in range({n}): f(torch.ones(n))\n"
        )
    };
    let costs = on_large_stack(|| {
        let interpreter = Interpreter::new();
        cost(&interpreter, &program(2), "aot_eager");
        [300, 600, 1200].map(|n| cost(&interpreter, &program(n), "aot_eager"))
    })
    .unwrap();
    for at in [0, 1] {
        let [first, second] = [costs[1][at] - costs[0][at], costs[2][at] - costs[1][at]];
        assert!(second as f64 <= MOST * first as f64, "{costs:?}");
    }
}
