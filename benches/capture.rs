//! What a call of a compiled function costs once its region is in the cache, next to the same call without `torch.compile`.
//!
//! `cargo bench --no-default-features --features python --bench capture`

use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use aot_playground::report::Report;
use std::cell::RefCell;
use std::rc::Rc;

const PROGRAM: &str = r#"
import time
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d=32, h=4):
        super().__init__()
        self.h = h
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.ln1(x)).split(c, dim=2)
        q, k, v = [u.view(b, t, self.h, c // self.h).transpose(1, 2) for u in (q, k, v)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.mlp(self.ln2(x))


def fastest(f, x, runs=30):
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        f(x)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


block = Block()
x = torch.randn(2, 8, 32)
eager = fastest(block, x)
compiled = torch.compile(block)
compiled(x)
cached = fastest(compiled, x)
print(f"eager call            {eager:8.3f} ms")
print(f"cached call           {cached:8.3f} ms   {cached / eager:.2f} times the eager one")
"#;

fn main() {
    let outcome = on_large_stack(|| {
        let report = Rc::new(RefCell::new(Report::default()));
        let sink = report.clone();
        let options = RunOptions::default();
        Interpreter::new().run(PROGRAM, "bench.py", &options, Rc::new(move |event| sink.borrow_mut().fold(event)));
        report.take()
    });
    match outcome {
        Ok(report) => print!("{}{}", report.stdout, report.stderr),
        Err(error) => println!("{error:?}"),
    }
}
