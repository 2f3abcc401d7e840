//! What the report says of graphs beside their text: stages, module paths, rows of `print_tabular`.

use crate::script;
use aot_playground::report::{Compilation, GraphView, NodeView};

const NET: &str = "
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
    def forward(self, x):
        return self.mlp(x) * 2
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block()])
        self.register_buffer('calls', torch.zeros(1))
    def forward(self, x):
        self.calls.add_(1)
        for layer in self.layers:
            x = layer(x)
        return x.exp_().sum()
net = Net()
";

/// What a script compiles, in order.
fn compilations(program: &str) -> Vec<Compilation> {
    script::report(program).compilations
}

fn names(graph: &GraphView) -> Vec<&str> {
    graph.nodes.iter().map(|n| n.name.as_str()).collect()
}

fn node<'a>(graph: &'a GraphView, name: &str) -> &'a NodeView {
    graph.nodes.iter().find(|n| n.name == name).unwrap()
}

#[test]
fn functionalized_is_the_forward_alone() {
    let all = compilations(&format!("{NET}torch.compile(net)(torch.ones(2, 4))\n"));
    let graph = all[0].functionalized.as_ref().unwrap();
    // Neither tangents nor the `detach` that a gradient saves; the buffer's write is functional, and copied back at the end.
    assert_eq!(
        names(graph),
        ["primals_1", "primals_2", "primals_3", "primals_4", "add", "t", "addmm", "relu", "mul", "exp", "sum_1", "copy_", "output"]
    );
    assert!(graph.readable.contains("def forward(self, primals_1: "), "{}", graph.readable);
    assert!(graph.readable.contains("return (sum_1,)"), "{}", graph.readable);
    let writes: Vec<&str> = graph.nodes.iter().filter(|n| n.mutates).map(|n| n.name.as_str()).collect();
    assert_eq!(writes, ["copy_"]);
}

#[test]
fn module_paths_reach_the_backward() {
    let all = compilations(&format!("{NET}torch.compile(net)(torch.ones(2, 4)).backward()\n"));
    let joint = all[0].joint.as_ref().unwrap();
    for (name, path) in [("add", ""), ("addmm", "layers.0.mlp.0"), ("relu", "layers.0.mlp.1"), ("mul", "layers.0"), ("sum_1", "")] {
        assert_eq!(node(joint, name).module_path, path, "{name}");
    }
    let backward = all[0].backward.as_ref().unwrap();
    assert_eq!(node(backward, "threshold_backward").module_path, "layers.0.mlp.1");
    assert!(backward.nodes.iter().any(|n| n.target == "aten.mm.default" && n.module_path == "layers.0.mlp.0"));
}

#[test]
fn what_the_script_called_reaches_the_backward() {
    let all = compilations(&format!("{NET}torch.compile(net)(torch.ones(2, 4)).backward()\n"));
    let joint = all[0].joint.as_ref().unwrap();
    let said = |name: &str| node(joint, name).source_fn.as_deref();
    for (name, called) in [("add", "add_"), ("t", "linear"), ("addmm", "linear"), ("exp", "exp_"), ("threshold_backward", "relu")] {
        assert_eq!(said(name), Some(called), "{name}");
    }
    assert_eq!(said("primals_1"), None);
}

#[test]
fn modules_a_function_calls_go_by_their_class() {
    let script = format!("{NET}@torch.compile\ndef step(x):\n    return net(x) + torch.nn.ReLU()(x).sum()\nstep(torch.ones(2, 4))\n");
    let all = compilations(&script);
    let joint = all[0].joint.as_ref().unwrap();
    assert_eq!(node(joint, "addmm").module_path, "Net.layers.0.mlp.0");
    assert_eq!(node(joint, "relu_1").module_path, "ReLU");
    assert_eq!(node(joint, "add_1").module_path, "");
}

#[test]
fn rows_are_those_of_print_tabular() {
    let script = "
import torch
@torch.compile
def f(x):
    return x.sum(0, dtype=torch.float64), x.split(1)[1]
f(torch.ones(2, 3))
";
    let all = compilations(script);
    let graph = all[0].inference.as_ref().unwrap();
    let row = |name: &str| {
        let n = node(graph, name);
        [n.op.as_str(), n.target.as_str(), n.args.as_str(), n.kwargs.as_str()].map(str::to_owned)
    };
    assert_eq!(row("arg0_1"), ["placeholder", "arg0_1", "()", "{}"]);
    assert_eq!(row("sum_1"), ["call_function", "aten.sum.dim_IntList", "(arg0_1, [0])", "{'dtype': torch.float64}"]);
    assert_eq!(row("getitem_1"), ["call_function", "<built-in function getitem>", "(split, 1)", "{}"]);
}
