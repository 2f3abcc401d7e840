//! Running a graph node by node: replaying a captured region through the whole dispatch stack, or a compiled graph on values.

use super::trace::{Origin, set_origin};
use crate::dispatch::{Value, call, fill_args, fill_factory_options, lookup};
use crate::error::{Error, Result};
use crate::graph::{Arg, Graph, Node, NodeId, Opcode, Shown, Target};
use crate::shape::SymInt;

/// Runs a graph on its inputs, in order; gives its outputs. Values are dropped after their last use, inputs too (boxed call:
/// `inputs` is emptied).
pub fn run_graph(graph: &Graph, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
    run(graph, inputs, false)
}

/// Like [`run_graph`], telling the tracer below where each call comes from.
pub fn replay_graph(graph: &Graph, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
    run(graph, inputs, true)
}

pub(super) fn run(graph: &Graph, inputs: &mut Vec<Value>, tell: bool) -> Result<Vec<Value>> {
    let mut last_use = vec![0u32; graph.arena_len()];
    for (at, node) in graph.nodes().enumerate() {
        for input in node.inputs() {
            last_use[input.0 as usize] = at as u32;
        }
    }
    let mut values: Vec<Value> = vec![Value::None; graph.arena_len()];
    let mut given = std::mem::take(inputs).into_iter();
    for (at, node) in graph.nodes().enumerate() {
        match node.opcode {
            Opcode::Placeholder => {
                values[node.id.0 as usize] = given.next().ok_or_else(|| Error::runtime(format!("missing input {}", node.name)))?;
            }
            Opcode::GetAttr => {
                let Target::Name(name) = &node.target else { continue };
                if let Some((_, t)) = graph.constants.iter().find(|(n, _)| n == name) {
                    values[node.id.0 as usize] = Value::Tensor(t.clone());
                }
            }
            Opcode::Output => {
                let out = node.args.first().map(|a| value(a, &values)).transpose()?.unwrap_or_default();
                return Ok(match out {
                    Value::List(items) => items,
                    single => vec![single],
                });
            }
            Opcode::Call => {
                let before = tell.then(|| {
                    let before = super::trace::origin();
                    set_origin(Origin {
                        source: node.meta.source.clone().or_else(|| before.source.clone()),
                        module_path: node.meta.module_path.clone(),
                        original_op: node.target.op().cloned(),
                        recompute: node.meta.recompute.or(before.recompute),
                        checkpoint_region: node.meta.checkpoint_region.or(before.checkpoint_region),
                        policy: before.policy,
                    })
                });
                let result = step(graph, node, &values, tell);
                if let Some(before) = before {
                    set_origin(before);
                }
                values[node.id.0 as usize] = result?;
            }
        }
        for input in node.inputs() {
            if last_use[input.0 as usize] == at as u32 {
                values[input.0 as usize] = Value::None;
            }
        }
    }
    Err(Error::runtime("graph: the last node is not the output"))
}

fn step(graph: &Graph, node: &Node, values: &[Value], tell: bool) -> Result<Value> {
    let args: Vec<Value> = node.args.iter().map(|a| value(a, values)).collect::<Result<_>>()?;
    match &node.target {
        Target::Op(name) | Target::Torch { op: name, .. } => {
            if let Some(special) = special(name, &args) {
                return special;
            }
            let entry = lookup(name).ok_or_else(|| Error::not_implemented(format!("the operator {name} is not in the catalogue")))?;
            let keywords: Vec<(&str, Value)> = node.kwargs.iter().map(|(k, a)| Ok((&**k, value(a, values)?))).collect::<Result<_>>()?;
            let mut args = fill_args(entry, args, &keywords)?;
            if let Target::Torch { shown, .. } = &node.target
                && !matches!(shown, Shown::Function(name) if name.starts_with("torch.ops."))
            {
                fill_factory_options(entry, &mut args);
            }
            call(entry, args)
        }
        Target::Getitem => {
            let index = args.get(1).map_or(Ok(0), Value::int)?;
            let items = args.first().map_or(Ok(&[][..]), Value::list)?;
            usize::try_from(index).ok().and_then(|i| items.get(i).cloned()).ok_or_else(|| Error::index("tuple index out of range"))
        }
        Target::Operator(name) => arithmetic(name, &args),
        Target::HigherOrder(name) => {
            let keywords: Vec<(&str, Value)> = node.kwargs.iter().map(|(k, a)| Ok((&**k, value(a, values)?))).collect::<Result<_>>()?;
            super::higher_order::call(name, &subgraphs(graph, node), args, &keywords, tell)
        }
        Target::Name(name) => Err(Error::runtime(format!("{name} is no call"))),
    }
}

/// The subgraphs that a call names, in order.
fn subgraphs<'g>(graph: &'g Graph, node: &Node) -> Vec<&'g Graph> {
    let named = |id: &NodeId| match (&graph.node(*id).opcode, &graph.node(*id).target) {
        (Opcode::GetAttr, Target::Name(name)) => graph.subgraphs.iter().find(|(n, _)| n == name).map(|(_, g)| g),
        _ => None,
    };
    node.args.iter().filter_map(|a| if let Arg::Node(id) = a { named(id) } else { None }).collect()
}

/// Calls of a captured or traced graph that are no operators of the catalogue.
fn special(name: &str, args: &[Value]) -> Option<Result<Value>> {
    match name {
        "aten.sym_size.int" => Some((|| {
            let t = args[0].tensor()?;
            Ok(Value::Int(t.size(crate::ops::shapes::wrap_dim(args[1].int()?, t.dim())?)))
        })()),
        "_C._set_grad_enabled" => Some((|| {
            let grad = args[0].bool()?;
            crate::dispatch::set_modes(crate::dispatch::Modes { grad, ..crate::dispatch::modes() });
            Ok(Value::None)
        })()),
        _ => None,
    }
}

fn arithmetic(name: &str, args: &[Value]) -> Result<Value> {
    let (a, b) = (args[0].sym_int()?, args.get(1).map_or(Ok(SymInt::Int(0)), Value::sym_int)?);
    Ok(Value::Int(match name {
        "add" => &a + &b,
        "sub" => &a - &b,
        "mul" => &a * &b,
        "floordiv" => a.floor_div(&b)?,
        "mod" => a.modulo(&b)?,
        "sym_max" => a.max(&b),
        "sym_min" => a.min(&b),
        "neg" => &SymInt::Int(0) - &a,
        other => return Err(Error::not_implemented(format!("arithmetic on sizes: operator.{other}"))),
    }))
}

fn value(arg: &Arg, values: &[Value]) -> Result<Value> {
    Ok(match arg {
        Arg::None | Arg::Ellipsis | Arg::Slice(_) | Arg::Op(_) => Value::None,
        Arg::Bool(b) => Value::Bool(*b),
        Arg::Int(i) => Value::from(*i),
        Arg::Float(f) => Value::Float(*f),
        Arg::Complex(re, im) => Value::Complex(*re, *im),
        Arg::Str(s) => Value::Str(s.clone()),
        Arg::Dtype(d) => Value::Dtype(*d),
        Arg::Device(d) => Value::Device(*d),
        Arg::Layout(l) => Value::Layout(*l),
        Arg::MemoryFormat(m) => Value::MemoryFormat(*m),
        Arg::Node(NodeId(i)) => values[*i as usize].clone(),
        Arg::List(items) | Arg::Tuple(items) => Value::List(items.iter().map(|a| value(a, values)).collect::<Result<_>>()?),
    })
}
