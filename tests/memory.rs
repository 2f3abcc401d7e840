//! 200 runs in one interpreter take no more memory than 50. Alone in its process: memory is the process's.

#![cfg(feature = "python")]

use std::rc::Rc;

use aot_playground::python::{Interpreter, RunOptions};

#[test]
fn many_runs() {
    let program = "
import contextlib, dataclasses, enum, functools, json, logging, math, os, random, re, torch, typing
logging.basicConfig()
class Module:
    def __init__(self):
        self.me = self
        self.call = self.forward
    def forward(self, x):
        return [x] * 1000
    @functools.cached_property
    def cached(self):
        return self
@dataclasses.dataclass
class Node:
    me: typing.Any = None
class Kind(enum.Enum):
    ONE = 1
module = Module()
module.cached
node = Node()
node.me = node
@contextlib.contextmanager
def managed():
    yield module
with managed() as m:
    kept = [m.call(i) for i in range(10)]
torch.kept = kept
json.loads(json.dumps(re.findall('a', 'aaa')))
raise ValueError(module)
";
    let interpreter = Interpreter::new();
    let mut resident = Vec::new();
    for _ in 0..200 {
        assert_eq!(interpreter.run(program, "script.py", &RunOptions::default(), Rc::new(drop)), 1);
        resident.push(resident_bytes());
    }
    let grown = resident[199].saturating_sub(resident[50]);
    assert!(grown < 2 << 20, "150 runs took {grown} bytes");
}

/// Memory of this process; 0 where the system does not tell.
fn resident_bytes() -> usize {
    let statistics = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statistics.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}
