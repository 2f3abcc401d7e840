//! Replacing a call by what a function makes of its arguments: the function is traced under Inductor's table, and its graph put
//! in the call's place.

use super::edit::{Editor, Place};
use crate::aot::trace::{Pushed, TraceLayer, Tracer, begin_tracing, end_tracing};
use crate::decompositions::inductor;
use crate::dispatch::{Exclude, Key, Modes, Value, modes, set_modes};
use crate::error::Result;
use crate::graph::{Arg, FakeValue, Graph, Meta, NodeId, Opcode};
use crate::tensor::Tensor;
use std::collections::HashMap;
use std::rc::Rc;

/// A function of values that makes one tensor.
type Function<'a> = dyn Fn(&[Value]) -> Result<Tensor> + 'a;

/// Puts what a function makes of some values in the place of a call, which is removed.
pub fn replace(editor: &mut Editor, id: NodeId, args: &[Arg], function: &Function) -> Result<()> {
    let values = args.iter().map(|a| example(editor, a)).collect::<Result<Vec<_>>>()?;
    let replacement = traced(&values, function)?;
    let mut given = args.iter().filter(|a| matches!(a, Arg::Node(_)));
    let mut map: HashMap<NodeId, Arg> = HashMap::new();
    for node in replacement.nodes() {
        let mut of = |n: NodeId| map.get(&n).cloned().unwrap_or(Arg::None);
        match node.opcode {
            Opcode::Placeholder => {
                map.insert(node.id, given.next().cloned().unwrap_or(Arg::None));
            }
            Opcode::Call => {
                let args = node.args.iter().map(|a| a.map_nodes(&mut of)).collect();
                let kwargs: Vec<(Rc<str>, Arg)> = node.kwargs.iter().map(|(k, a)| (k.clone(), a.map_nodes(&mut of))).collect();
                let is_backward = editor.node(id).meta.is_backward;
                let meta = Meta { value: node.meta.value.clone(), is_backward, ..Meta::default() };
                let made = editor.call(node.op().unwrap_or_default(), args, kwargs, meta, Place::Before(id));
                map.insert(node.id, Arg::Node(made));
            }
            Opcode::GetAttr | Opcode::Output => {}
        }
    }
    if let Some(Arg::Node(last)) = replacement.outputs().first()
        && let Some(Arg::Node(made)) = map.get(last)
    {
        // What is said of the call is said of what gives its value.
        let value = editor.node(*made).meta.value.clone();
        *editor.meta_mut(*made) = Meta { value, ..editor.node(id).meta.clone() };
        editor.replace(id, *made);
        editor.erase(id);
    }
    Ok(())
}

/// An argument as a value: fake where it is a tensor.
pub fn example(editor: &Editor, arg: &Arg) -> Result<Value> {
    Ok(match arg {
        Arg::Node(n) => match &editor.node(*n).meta.value {
            Some(FakeValue::Tensor(spec)) => Tensor::fake(spec)?.into(),
            Some(FakeValue::Int(i)) => Value::Int(i.clone()),
            _ => Value::None,
        },
        Arg::Bool(b) => Value::Bool(*b),
        Arg::Int(i) => Value::from(*i),
        Arg::Float(f) => Value::Float(*f),
        Arg::List(items) => Value::List(items.iter().map(|a| example(editor, a)).collect::<Result<_>>()?),
        _ => Value::None,
    })
}

fn traced(values: &[Value], function: &Function) -> Result<Graph> {
    let tracer = Tracer::new("<lambda>");
    tracer.decompose(Some(inductor()));
    for (i, value) in values.iter().enumerate() {
        match value {
            Value::Tensor(t) => tracer.placeholder(&format!("arg{i}_1"), t)?,
            Value::Int(size) if size.as_int().is_none() => tracer.symbol(&format!("arg{i}_1"), size),
            _ => continue,
        };
    }
    let before = modes();
    begin_tracing(&tracer);
    set_modes(Modes { fake: true, ..before });
    let made = {
        let _trace = Pushed::new(Rc::new(TraceLayer(tracer.clone())));
        let _below = Exclude::down_to(Key::Functionalize);
        function(values)
    };
    set_modes(before);
    end_tracing();
    let mut graph = tracer.finish(&[made?.into()])?;
    super::noop::remove(&mut graph, &[])?;
    graph.eliminate_dead_code(&|_| false);
    Ok(graph)
}
