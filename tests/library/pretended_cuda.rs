//! A CUDA device that is pretended: tensors say so, and values are those of the CPU.

use aot_playground::python::{Interpreter, RunOptions, on_large_stack};

use super::script::{Run, run_in};

fn run(program: &str, backend: &str, pretend_cuda: bool) -> Run {
    let options = RunOptions { backend: backend.to_owned(), pretend_cuda, ..RunOptions::default() };
    on_large_stack(|| run_in(&Interpreter::new(), program, &options)).unwrap()
}

const TRAINING: &str = r#"
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.drop = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout(0.2)
        self.head = nn.Linear(2 * 36, 3)
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x):
        y = self.drop(self.norm(self.conv(x)).relu()).flatten(1)
        return self.head(y) * self.scale + torch.arange(3, device=x.device)


model = Net().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler(device.type, enabled=device.type == "cuda")
compiled = torch.compile(model)
x, y = torch.randn(4, 1, 8, 8, device=device), torch.tensor([0, 1, 2, 0], device=device)
for _ in range(3):
    optimizer.zero_grad()
    with torch.autocast("cuda", enabled=device.type == "cuda"):
        loss = nn.functional.cross_entropy(compiled(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(loss.item(), loss.device.type)
print(model.head.bias.detach().cpu().tolist())
"#;

#[test]
fn a_model_trains_as_on_the_cpu() {
    for backend in ["aot_eager", "inductor", "eager"] {
        let (there, here) = (run(TRAINING, backend, true), run(TRAINING, backend, false));
        assert!(there.report.exception.is_none(), "{:?}", there.report.exception);
        assert!(there.report.pretends_cuda && !here.report.pretends_cuda);
        assert_eq!(there.report.stdout.replace("cuda", "cpu"), here.report.stdout, "{backend}");
        let forward = |run: &Run| run.report.compilations.first().and_then(|c| c.forward.as_ref()).map(|g| g.readable.clone());
        let wanted = forward(&here).map(|text| text.replace("]cpu", "]cuda:0"));
        let plain = |text: Option<String>| text.map(|t| t.replace("device(type='cuda', index=0)", "device(type='cpu')"));
        assert_eq!(plain(forward(&there)), plain(wanted), "{backend}");
    }
}

#[test]
fn what_a_device_would_have_to_know_is_refused() {
    let program = r#"
import torch
for use in (lambda: torch.ones(2, device="cuda:1"), lambda: torch.ones(2, device="cuda") + torch.ones(2), lambda: torch.cuda.memory_allocated()):
    try:
        print("taken", use())
    except Exception as error:
        print(type(error).__name__, str(error)[:60])
print(torch.ones(2).cuda() + 1, torch.tensor(2.0) * torch.ones(1, device="cuda"), torch.cuda.device_count())
"#;
    let run = run(program, "aot_eager", true);
    let wanted = "RuntimeError CUDA error: invalid device ordinal
RuntimeError Expected all tensors to be on the same device, but found at 
NotImplementedError torch.cuda.memory_allocated is not supported: the playground
tensor([2., 2.], device='cuda:0') tensor([2.], device='cuda:0') 1
";
    assert_eq!(run.report.stdout, wanted);
}

const PHILOX: &str = r#"
import torch
import torch._functorch.config as config

def f(x):
    return torch.nn.functional.dropout(x.sin(), 0.3) * torch.rand_like(x)

x = torch.ones(4, 3, device="cuda", requires_grad=True)
with config.patch(functionalize_rng_ops=True):
    g = torch.compile(f)
    torch.manual_seed(5)
    first, second = g(x), g(x)
    torch.manual_seed(5)
    print(torch.equal(first, g(x)), torch.equal(first, second))
    first.sum().backward()
    print(bool((x.grad[first == 0] == 0).all()))
"#;

/// Graphs as PyTorch gives them where the CPU's check for a CUDA device is taken out of its decompositions.
#[test]
fn random_numbers_take_seed_and_offset() {
    let run = run(PHILOX, "aot_eager", true);
    assert_eq!(run.report.stdout, "True False\nTrue\n", "{:?}", run.report.exception);
    let graphs = &run.report.compilations[0];
    let [forward, backward] = [&graphs.forward, &graphs.backward].map(|graph| graph.as_ref().unwrap().readable.clone());
    for line in [
        "fwd_seed_1: \"i64[][]cpu\", fwd_base_offset_1: \"i64[][]cpu\"):",
        "add: \"i64[][]cpu\" = torch.ops.aten.add.Tensor(fwd_base_offset_1, 0)",
        "philox_rand = torch.ops.rngprims.philox_rand.default([4, 3], fwd_seed_1, add, None, device(type='cuda', index=0), torch.float32)",
        "add_3: \"i64[][]cpu\" = torch.ops.aten.add.Tensor(add_1, getitem_3)",
        "floor_divide: \"i64[][]cpu\" = torch.ops.aten.floor_divide.default(add_5, 4)",
    ] {
        assert!(forward.contains(line), "{line}\n{forward}");
    }
    assert!(backward.contains("bwd_seed_1: \"i64[][]cpu\", bwd_base_offset_1: \"i64[][]cpu\"):"), "{backward}");
    assert!(backward.contains(", bwd_base_offset_1)"), "{backward}");
}
