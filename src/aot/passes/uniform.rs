//! Constants: values all of whose elements are one number that is known become `full`, and arithmetic with zeros and ones goes.

use super::edit::{Editor, Place, mutated, storages};
use crate::dispatch::{Call, OpEntry, OpRef, Rule, Tags, Value, lookup, named, run_backend};
use crate::error::Result;
use crate::graph::{Arg, FakeValue, Graph, Node, NodeId, Opcode, Target};
use crate::shape::{Expr, SymInt};
use crate::tensor::{Dtype, Layout, Tensor};
use std::collections::{HashMap, HashSet};

/// Views that show the same number.
static VIEWS: [OpRef; 11] = [
    OpRef::new("squeeze"),
    OpRef::new("squeeze.dim"),
    OpRef::new("squeeze.dims"),
    OpRef::new("unsqueeze"),
    OpRef::new("alias"),
    OpRef::new("view"),
    OpRef::new("slice.Tensor"),
    OpRef::new("t"),
    OpRef::new("expand"),
    OpRef::new("as_strided"),
    OpRef::new("permute"),
];

/// Folds constants, then removes arithmetic that does nothing.
pub fn fold(graph: &mut Graph) -> Result<()> {
    let found = uniform_values(graph)?;
    let (zeros, ones) = replace_constants(graph, found);
    remove_arithmetic(graph, &zeros, &ones);
    Ok(())
}

/// A value of one number: a tensor that holds it once. Views of a value are the same tensor.
type Uniform = Tensor;

/// The nodes whose value is one number, in order, without those that only others of them read.
fn uniform_values(graph: &Graph) -> Result<Vec<(NodeId, Uniform)>> {
    let storage = storages(graph);
    let written = mutated(graph, &storage);
    let users = graph.users();
    let mut last_reader: HashMap<NodeId, NodeId> = HashMap::new();
    for node in graph.nodes() {
        for input in node.inputs() {
            last_reader.insert(input, node.id);
        }
    }
    let mut known: HashMap<NodeId, Uniform> = HashMap::new();
    let mut found: Vec<(NodeId, Uniform)> = Vec::new();
    let mut replaced_reads: HashMap<NodeId, usize> = HashMap::new();
    for node in graph.nodes() {
        if written.contains(&storage[node.id.0 as usize]) {
            continue;
        }
        let Some(value) = deduce(graph, node, &known)? else { continue };
        known.insert(node.id, value.clone());
        if node.opcode != Opcode::Call {
            continue;
        }
        found.push((node.id, value));
        let mut reads = Vec::new();
        node.args.iter().for_each(|a| a.for_each_node(&mut |n| reads.push(n)));
        node.kwargs.iter().for_each(|(_, a)| a.for_each_node(&mut |n| reads.push(n)));
        for read in &reads {
            *replaced_reads.entry(*read).or_default() += 1;
        }
        reads.dedup();
        for read in reads {
            let done = replaced_reads.get(&read).copied() == Some(users[read.0 as usize].len());
            if last_reader.get(&read) == Some(&node.id) && done {
                found.retain(|(id, _)| *id != read);
            }
        }
    }
    Ok(found)
}

/// The number that all elements of a node's value are, as a tensor of one element.
fn deduce(graph: &Graph, node: &Node, known: &HashMap<NodeId, Uniform>) -> Result<Option<Uniform>> {
    if node.opcode == Opcode::GetAttr {
        let Target::Name(name) = &node.target else { return Ok(None) };
        let constant = graph.constants.iter().find(|(n, _)| n == name).map(|(_, t)| t);
        return Ok(constant.filter(|t| t.numel().as_int() == Some(1) && !t.is_fake()).cloned());
    }
    let Some(entry) = node.op().and_then(lookup) else { return Ok(None) };
    let Some(spec) = node.tensor() else { return Ok(None) };
    if node.opcode != Opcode::Call || spec.dtype.is_complex() || entry.tags.has(Tags::RANDOM) {
        return Ok(None);
    }
    let call = |args: Vec<Value>| run_backend(entry, &args, false).and_then(Value::into_tensor).map(Some);
    if named::FULL.is(entry) {
        let Some(mut args) = arguments(entry, node, known) else { return Ok(None) };
        args[0] = Value::from(vec![1i64]);
        return if args[1].is_scalar() && !is_symbolic(&args[1]) { call(args) } else { Ok(None) };
    }
    // A whole number times zero is zero, whatever the number.
    static MUL_SCALAR: OpRef = OpRef::new("mul.Scalar");
    if named::is_any(entry, &[&named::MUL, &MUL_SCALAR]) && node.args.iter().any(|a| matches!(a, Arg::Int(0))) && spec.dtype.is_integral() {
        let args = crate::dispatch::fill_args(named::FULL.get(), vec![Value::from(vec![1i64]), 0.into()], &[("dtype", spec.dtype.into())])?;
        return run_backend(named::FULL.get(), &args, false).and_then(Value::into_tensor).map(Some);
    }
    if VIEWS.iter().any(|op| op.is(entry)) {
        return Ok(match node.args.first() {
            Some(Arg::Node(of)) => known.get(of).cloned(),
            _ => None,
        });
    }
    static ALIKE: [OpRef; 4] =
        [OpRef::new("scalar_tensor"), OpRef::new("lift_fresh_copy"), OpRef::new("prims.convert_element_type"), OpRef::new("where.self")];
    let pointwise = entry.is_elementwise() || ALIKE.iter().any(|op| op.is(entry));
    if !pointwise || !matches!(entry.rule, Rule::Fresh(_)) {
        return Ok(None);
    }
    let Some(mut args) = arguments(entry, node, known) else { return Ok(None) };
    if args.iter().any(is_symbolic) {
        return Ok(None);
    }
    if let Some(at) = entry.schema.position("memory_format") {
        args[at] = Value::None;
    }
    call(args)
}

fn is_symbolic(value: &Value) -> bool {
    matches!(value, Value::Int(i) if i.as_int().is_none())
}

/// The arguments of a call, where every tensor among them is known.
fn arguments(entry: &'static OpEntry, node: &Node, known: &HashMap<NodeId, Uniform>) -> Option<Vec<Value>> {
    let value = |arg: &Arg| -> Option<Value> {
        Some(match arg {
            Arg::None => Value::None,
            Arg::Bool(b) => Value::Bool(*b),
            Arg::Int(i) => Value::from(*i),
            Arg::Float(f) => Value::Float(*f),
            Arg::Str(s) => Value::Str(s.clone()),
            Arg::Dtype(d) => Value::Dtype(*d),
            Arg::Device(d) => Value::Device(*d),
            Arg::Layout(l) => Value::Layout(*l),
            Arg::MemoryFormat(m) => Value::MemoryFormat(*m),
            Arg::Node(n) => Value::from(known.get(n)?),
            // Sizes do not matter for one number.
            Arg::List(_) => Value::List(Vec::new()),
            _ => return None,
        })
    };
    let mut args: Vec<Value> = entry.schema.arguments.iter().map(|a| a.default.as_ref().map_or(Value::None, |d| d.value())).collect();
    for (slot, arg) in args.iter_mut().zip(&node.args) {
        *slot = value(arg)?;
    }
    for (name, arg) in &node.kwargs {
        args[entry.schema.position(name)?] = value(arg)?;
    }
    // A call that takes its tensor as a tensor cannot be made of a number alone.
    let call = Call { entry, args: &args };
    (call.entry.schema.arguments.len() == args.len()).then_some(args)
}

/// Puts `full` in place of constants; gives those of zeros and of ones.
fn replace_constants(graph: &mut Graph, found: Vec<(NodeId, Uniform)>) -> (HashSet<NodeId>, HashSet<NodeId>) {
    let mut shared: HashMap<u64, usize> = HashMap::new();
    for (_, value) in &found {
        *shared.entry(value.storage().id()).or_default() += 1;
    }
    let mut symbols: HashMap<Expr, NodeId> = HashMap::new();
    for node in graph.nodes() {
        if let Some(FakeValue::Int(size @ SymInt::Sym(..))) = &node.meta.value {
            symbols.entry(size.expr()).or_insert(node.id);
        }
    }
    let (mut zeros, mut ones) = (HashSet::new(), HashSet::new());
    let mut editor = Editor::new(graph);
    for (id, value) in found {
        let node = editor.node(id);
        let Some(spec) = node.tensor().cloned() else { continue };
        let contiguous = spec.geometry.is_contiguous().unwrap_or(false);
        // What has aliases among the constants is left alone, and small unsigned numbers are.
        if !contiguous || spec.dtype == Dtype::UInt8 || shared[&value.storage().id()] > 1 {
            continue;
        }
        let number = match (node.op(), node.args.get(1)) {
            (Some("aten.full.default"), Some(given)) => given.clone(),
            _ => match item(&value) {
                Some(number) => number,
                None => continue,
            },
        };
        let size = |s: &SymInt| match s.as_int() {
            Some(n) => Some(Arg::Int(n)),
            None => symbols.get(&s.expr()).filter(|n| !editor.node(**n).inputs().contains(&id)).map(|n| Arg::Node(*n)),
        };
        let Some(sizes) = spec.geometry.sizes.iter().map(size).collect::<Option<Vec<_>>>() else { continue };
        let pin = node.kwargs.iter().find(|(k, _)| &**k == "pin_memory").map_or(Arg::Bool(false), |(_, v)| v.clone());
        let kwargs = vec![
            ("dtype".into(), Arg::Dtype(spec.dtype)),
            ("layout".into(), Arg::Layout(Layout::Strided)),
            ("device".into(), Arg::Device(spec.device)),
            ("pin_memory".into(), pin),
        ];
        let meta = node.meta.clone();
        let is = |n: f64| match number {
            Arg::Int(i) => i as f64 == n,
            Arg::Float(f) => f == n,
            Arg::Bool(b) => f64::from(u8::from(b)) == n,
            _ => false,
        };
        let (is_zero, is_one) = (is(0.0), is(1.0));
        let made = editor.call("aten.full.default", vec![Arg::List(sizes), number], kwargs, meta, Place::After(id));
        editor.replace(id, made);
        editor.erase(id);
        if is_zero {
            zeros.insert(made);
        } else if is_one {
            ones.insert(made);
        }
    }
    editor.finish();
    (zeros, ones)
}

/// The number in a tensor, as Python's `item()` gives it.
fn item(value: &Tensor) -> Option<Arg> {
    let entry = lookup("aten._local_scalar_dense.default")?;
    match run_backend(entry, &[Value::from(value)], false).ok()? {
        Value::Bool(b) => Some(Arg::Bool(b)),
        Value::Int(i) => i.as_int().map(Arg::Int),
        Value::Float(f) => Some(Arg::Float(f)),
        _ => None,
    }
}

fn remove_arithmetic(graph: &mut Graph, zeros: &HashSet<NodeId>, ones: &HashSet<NodeId>) {
    let is = |arg: &Arg, set: &HashSet<NodeId>, number: f64| match arg {
        Arg::Node(n) => set.contains(n),
        Arg::Int(i) => *i as f64 == number,
        Arg::Float(f) => *f == number,
        Arg::Bool(b) => f64::from(u8::from(*b)) == number,
        _ => false,
    };
    let mut editor = Editor::new(graph);
    for (op, set, number, either) in [
        ("aten.add.Tensor", zeros, 0.0, true),
        ("aten.sub.Tensor", zeros, 0.0, false),
        ("aten.mul.Tensor", ones, 1.0, true),
        ("aten.div.Tensor", ones, 1.0, false),
    ] {
        for id in editor.ids() {
            let node = editor.node(id);
            let [a, b] = &node.args[..] else { continue };
            let scaled = node.kwargs.iter().any(|(k, v)| &**k == "alpha" && !is(v, &HashSet::new(), 1.0));
            if node.op() != Some(op) || scaled {
                continue;
            }
            let kept = if either && is(a, set, number) {
                1
            } else if is(b, set, number) {
                0
            } else {
                continue;
            };
            keep_operand(&mut editor, id, kept);
        }
    }
    editor.finish();
}

/// Replaces a call by one of its operands, cast where dtypes differ.
fn keep_operand(editor: &mut Editor, id: NodeId, index: usize) {
    let Some(operand) = editor.argument(id, index) else { return };
    let written = |user: &NodeId| {
        let user = editor.node(*user);
        user.op().and_then(lookup).is_some_and(|e| e.is_mutable()) && matches!(user.args.first(), Some(Arg::Node(n)) if *n == operand)
    };
    if editor.users(operand).iter().any(written) {
        return;
    }
    let (node, kept) = (editor.node(id), editor.node(operand));
    let (Some(a), Some(b)) = (node.tensor(), kept.tensor()) else { return };
    let same_sizes = a.geometry.sizes.len() == b.geometry.sizes.len()
        && a.geometry.sizes.iter().zip(&b.geometry.sizes).all(|(a, b)| a.statically_eq(b.clone()));
    if !same_sizes || a.device != b.device {
        return;
    }
    let meta = node.meta.clone();
    let replacement = if a.dtype == b.dtype {
        operand
    } else {
        let args = vec![Arg::Node(operand), Arg::Dtype(a.dtype)];
        editor.call("prims.convert_element_type.default", args, Vec::new(), meta.clone(), Place::After(id))
    };
    editor.replace(id, replacement);
    // As in PyTorch, what is said of the call is said of what replaces it.
    *editor.meta_mut(replacement) = meta;
    editor.erase(id);
}
