//! A graph run node by node on real tensors, below autograd: the CPU's way to execute what was compiled.
//!
//! Inputs are handed over for good and every value is dropped after its last use, so that memory is freed as the graph
//! goes on; an in-place operator on an input writes to the caller's tensor.

use diagnostics::error::{Error, Result};
use dispatch::{Exclude, Key, OpEntry, Value, fill_args, lookup, run_backend};
use graph::{Arg, Graph, Node, NodeId, Opcode, Target};
use shape::SymInt;

/// Runs a graph.
pub fn interpret(graph: &Graph, inputs: Vec<Value>) -> Result<Vec<Value>> {
    interpret_with(graph, inputs, &mut |_, run| run())
}

/// What surrounds a call: it is given the call's node and the way to make the call.
pub type Around<'a> = dyn FnMut(&Node, &dyn Fn() -> Result<Value>) -> Result<Value> + 'a;

/// Runs a graph; `around` is given every call's node and the way to make the call, to time or to watch it.
pub fn interpret_with(graph: &Graph, inputs: Vec<Value>, around: &mut Around) -> Result<Vec<Value>> {
    let _below = Exclude::down_to(Key::Trace);
    let last = last_uses(graph);
    let mut values: Vec<Value> = vec![Value::None; graph.arena_len()];
    let mut inputs = inputs.into_iter();
    let mut results = Vec::new();
    for (position, node) in graph.nodes().enumerate() {
        let value = match node.opcode {
            Opcode::Placeholder => inputs.next().ok_or_else(|| Error::type_error(format!("{}: an input is missing", node.name)))?,
            Opcode::GetAttr => constant(graph, node),
            Opcode::Call => around(node, &|| call(graph, node, &values)).map_err(|e| at(node, e))?,
            Opcode::Output => {
                results = graph.outputs().iter().map(|arg| value_of(arg, &values)).collect::<Result<_>>()?;
                Value::None
            }
        };
        values[node.id.0 as usize] = value;
        for input in node.inputs().into_iter().chain([node.id]) {
            if last[input.0 as usize] <= position {
                values[input.0 as usize] = Value::None;
            }
        }
    }
    match inputs.next() {
        Some(_) => Err(Error::type_error("more inputs than placeholders")),
        None => Ok(results),
    }
}

fn at(node: &Node, error: Error) -> Error {
    Error { message: format!("{}: {}", node.name, error.message), ..error }
}

/// Per node, the position of its last reader; its own where nobody reads it.
fn last_uses(graph: &Graph) -> Vec<usize> {
    let mut last = vec![0; graph.arena_len()];
    for (position, node) in graph.nodes().enumerate() {
        for used in node.inputs().into_iter().chain([node.id]) {
            last[used.0 as usize] = position;
        }
    }
    last
}

/// A constant tensor of the graph; a subgraph is found by name where it is called.
fn constant(graph: &Graph, node: &Node) -> Value {
    let found = graph.constants.iter().find(|(name, _)| matches!(&node.target, Target::Name(n) if n == name));
    found.map_or(Value::None, |(_, tensor)| Value::Tensor(tensor.clone()))
}

fn call(graph: &Graph, node: &Node, values: &[Value]) -> Result<Value> {
    if let Target::HigherOrder(name) = &node.target {
        return higher_order(graph, name, node, values);
    }
    match operator_call(node, values)? {
        (Some(entry), args) => run_backend(entry, &args, false),
        (None, args) => plain_call(node, &args),
    }
}

fn higher_order(graph: &Graph, name: &str, node: &Node, values: &[Value]) -> Result<Value> {
    let subgraph = |arg: Option<&Arg>| -> Result<&Graph> {
        let Some(Arg::Node(id)) = arg else { return Err(Error::runtime("a subgraph was expected")) };
        let target = graph.node(*id).target.text();
        let found = graph.subgraphs.iter().find(|(name, _)| **name == *target);
        found.map(|(_, g)| g).ok_or_else(|| Error::runtime(format!("there is no subgraph {target}")))
    };
    match (name, node.args.as_slice()) {
        ("cond", [predicate, yes, no, operands]) => {
            let chosen = match value_of(predicate, values)? {
                Value::Tensor(t) => run_backend(entry_of("aten._local_scalar_dense.default")?, &[Value::Tensor(t)], false)?.bool()?,
                other => other.bool()?,
            };
            let branch = subgraph(Some(if chosen { yes } else { no }))?;
            let operands = match value_of(operands, values)? {
                Value::List(items) => items,
                other => vec![other],
            };
            Ok(Value::List(interpret(branch, operands)?))
        }
        _ => Err(Error::not_implemented(format!("the higher-order operator {name} cannot be run node by node"))),
    }
}

fn entry_of(name: &str) -> Result<&'static OpEntry> {
    crate::install();
    lookup(name).ok_or_else(|| Error::not_implemented(format!("the catalogue has no operator {name}")))
}

/// An argument tree as a value; nodes are looked up in `values`, by id.
pub fn value_of(arg: &Arg, values: &[Value]) -> Result<Value> {
    Ok(match arg {
        Arg::None => Value::None,
        Arg::Bool(v) => Value::Bool(*v),
        Arg::Int(v) => Value::from(*v),
        Arg::Float(v) => Value::Float(*v),
        Arg::Complex(re, im) => Value::Complex(*re, *im),
        Arg::Str(v) => Value::Str(v.clone()),
        Arg::Dtype(v) => Value::Dtype(*v),
        Arg::Device(v) => Value::Device(*v),
        Arg::Layout(v) => Value::Layout(*v),
        Arg::MemoryFormat(v) => Value::MemoryFormat(*v),
        Arg::Node(NodeId(id)) => values.get(*id as usize).cloned().unwrap_or_default(),
        Arg::List(items) | Arg::Tuple(items) => Value::List(items.iter().map(|a| value_of(a, values)).collect::<Result<_>>()?),
        other => return Err(Error::not_implemented(format!("{other:?} as an argument of a compiled graph"))),
    })
}

/// The operator of a node and its full list of arguments, as values; no operator where something else is called.
pub fn operator_call(node: &Node, values: &[Value]) -> Result<(Option<&'static OpEntry>, Vec<Value>)> {
    let args: Vec<Value> = node.args.iter().map(|a| value_of(a, values)).collect::<Result<_>>()?;
    let Some(name) = node.op().filter(|name| ![SIZE, COUNT].contains(name)) else { return Ok((None, args)) };
    let entry = entry_of(name)?;
    let kwargs: Vec<(&str, Value)> = node.kwargs.iter().map(|(k, a)| Ok((&**k, value_of(a, values)?))).collect::<Result<_>>()?;
    Ok((Some(entry), fill_args(entry, args, &kwargs)?))
}

/// The size of a dimension: a number, which the dispatcher has no part in.
const SIZE: &str = "aten.sym_size.int";
/// How many elements there are: likewise.
const COUNT: &str = "aten.sym_numel.default";

/// What a call that is no operator gives: a size, an item of several results, or arithmetic on sizes.
pub fn plain_call(node: &Node, args: &[Value]) -> Result<Value> {
    match (&node.target, args) {
        (Target::Getitem, [items, index]) => {
            let index = index.int()?;
            let found = items.list()?.get(usize::try_from(index).unwrap_or(usize::MAX)).cloned();
            found.ok_or_else(|| Error::index(format!("there is no item {index}")))
        }
        (Target::Op(name) | Target::Torch { op: name, .. }, [tensor, dim]) if &**name == SIZE => {
            let tensor = tensor.tensor()?;
            Ok(Value::from(tensor.size(operators::shapes::wrap_dim(dim.int()?, tensor.dim())?)))
        }
        (Target::Op(name), [tensor]) if &**name == COUNT => Ok(Value::from(tensor.tensor()?.numel())),
        (Target::Operator(name), [a]) if &**name == "sym_float" => Ok(Value::Float(a.float()?)),
        (Target::Operator(name), [a]) if matches!((&**name, a), ("neg", Value::Float(_))) => Ok(Value::Float(-a.float()?)),
        (Target::Operator(name), [a]) => arithmetic(name, a, &Value::from(0)),
        (Target::Operator(name), [a, b]) => arithmetic(name, a, b),
        _ => Err(Error::not_implemented(format!("{} cannot be run in a compiled graph", node.target.text()))),
    }
}

fn arithmetic(name: &str, a: &Value, b: &Value) -> Result<Value> {
    let unknown = || Error::not_implemented(format!("operator.{name} in a compiled graph"));
    if matches!(a, Value::Float(_)) || matches!(b, Value::Float(_)) || name == "truediv" {
        let (a, b) = (a.float()?, b.float()?);
        return Ok(match name {
            "add" => Value::Float(a + b),
            "sub" => Value::Float(a - b),
            "mul" => Value::Float(a * b),
            "truediv" => Value::Float(a / b),
            "pow" => Value::Float(a.powf(b)),
            "lt" => Value::Bool(a < b),
            "le" => Value::Bool(a <= b),
            "gt" => Value::Bool(a > b),
            "ge" => Value::Bool(a >= b),
            "eq" => Value::Bool(a == b),
            "ne" => Value::Bool(a != b),
            _ => return Err(unknown()),
        });
    }
    let (a, b) = (a.sym_int()?, b.sym_int()?);
    if let Some(made) = SymInt::calculated(name, &a, &b)? {
        return Ok(Value::Int(made));
    }
    let (a, b) = (a.guard_int()?, b.guard_int()?);
    Ok(Value::Bool(match name {
        "lt" => a < b,
        "le" => a <= b,
        "gt" => a > b,
        "ge" => a >= b,
        "eq" => a == b,
        "ne" => a != b,
        _ => return Err(unknown()),
    }))
}
