//! A captured backward that calls no Python runs without Python code of its own: call after call, as its code would.
//!
//! Compiling thousands of straight lines costs more than the calls that they make, and a tape that stays the same runs them once.

use std::collections::{HashMap, HashSet};

use rustpython_vm::function::{FuncArgs, KwArgs};
use rustpython_vm::{PyObjectRef, PyResult, VirtualMachine};

use super::overloads::overload;
use crate::dispatch::lookup;
use crate::graph::{Arg, Graph, Node, NodeId, Opcode, Shown, Target};
use crate::python::native::graph_module::Tell;

/// What a node does.
enum Step {
    /// `of[index]`
    Item { of: NodeId, index: Arg },
    /// `function(*args, **kwargs)`
    Call { function: PyObjectRef, args: Vec<Arg>, kwargs: Vec<(String, Arg)> },
}

/// A graph, ready to run.
struct Calls {
    inputs: Vec<NodeId>,
    /// The nodes in order, each with the nodes that nothing after it reads.
    steps: Vec<(NodeId, Step, Vec<NodeId>)>,
    output: Arg,
    /// One above the highest number of a node.
    size: usize,
}

/// The function that runs a graph, given what the names of its calls stand for, and the graph's inputs that it takes: those that are
/// read. None where the graph does more than call and look up items.
pub fn runner(graph: &Graph, functions: &HashMap<String, PyObjectRef>, vm: &VirtualMachine) -> Option<(PyObjectRef, Vec<String>)> {
    let calls = calls(graph, functions, vm)?;
    let names = calls.inputs.iter().map(|input| graph.node(*input).name.to_string()).collect();
    let run = move |given: FuncArgs, vm: &VirtualMachine| run(&calls, given, vm);
    Some((vm.new_function("forward", run).into(), names))
}

fn calls(graph: &Graph, functions: &HashMap<String, PyObjectRef>, vm: &VirtualMachine) -> Option<Calls> {
    let mut last = HashMap::new();
    for node in graph.nodes() {
        last.extend(node.inputs().into_iter().map(|input| (input, node.id)));
    }
    let read: HashSet<NodeId> = last.keys().copied().collect();
    let mut ends: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    for (node, reader) in last {
        ends.entry(reader).or_default().push(node);
    }
    let mut made = Calls { inputs: Vec::new(), steps: Vec::new(), output: Arg::None, size: 0 };
    for node in graph.nodes() {
        made.size = made.size.max(node.id.0 as usize + 1);
        match node.opcode {
            Opcode::Placeholder if read.contains(&node.id) => made.inputs.push(node.id),
            Opcode::Placeholder => {}
            Opcode::Output => made.output = node.args.first()?.clone(),
            Opcode::GetAttr => return None,
            Opcode::Call => made.steps.push((node.id, step(node, functions, vm)?, ends.remove(&node.id).unwrap_or_default())),
        }
    }
    Some(made)
}

fn step(node: &Node, functions: &HashMap<String, PyObjectRef>, vm: &VirtualMachine) -> Option<Step> {
    let function = match &node.target {
        Target::Getitem => {
            let [Arg::Node(of), index] = &node.args[..] else { return None };
            return Some(Step::Item { of: *of, index: index.clone() });
        }
        Target::Torch { shown: Shown::Function(name), .. } => functions.get(&**name)?.clone(),
        Target::Op(name) => overload(lookup(name)?, vm),
        _ => return None,
    };
    let kwargs = node.kwargs.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    Some(Step::Call { function, args: node.args.clone(), kwargs })
}

fn run(calls: &Calls, given: FuncArgs, vm: &VirtualMachine) -> PyResult {
    if given.args.len() != calls.inputs.len() {
        return Err(vm.new_type_error(format!("{} arguments are needed", calls.inputs.len())));
    }
    let mut made: Vec<Option<PyObjectRef>> = vec![None; calls.size];
    for (node, value) in calls.inputs.iter().zip(given.args) {
        made[node.0 as usize] = Some(value);
    }
    for (node, step, ended) in &calls.steps {
        let tell = Tell { made: &made, vm };
        let value = match step {
            Step::Item { of, index } => tell.arg(&Arg::Node(*of))?.get_item(&*tell.arg(index)?, vm)?,
            Step::Call { function, args, kwargs } => {
                let args = args.iter().map(|a| tell.arg(a)).collect::<PyResult<Vec<_>>>()?;
                let kwargs = kwargs.iter().map(|(name, value)| Ok((name.clone(), tell.arg(value)?))).collect::<PyResult<KwArgs>>()?;
                function.call(FuncArgs::new(args, kwargs), vm)?
            }
        };
        made[node.0 as usize] = Some(value);
        for node in ended {
            made[node.0 as usize] = None;
        }
    }
    Tell { made: &made, vm }.arg(&calls.output)
}
