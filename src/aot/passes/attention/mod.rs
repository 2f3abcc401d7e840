//! Attention written out by hand becomes one call of the fused operator.
//!
//! A pattern is a function: what is looked for is the graph that it traces to, with its backward where it is for training. A rough
//! match, in which numbers and sizes are left open, says what the function's arguments would be; the function is then traced on
//! these and has to match exactly. Then the replacement, a function of the same arguments, is traced and put in the place.

mod matcher;
mod patterns;

use super::edit::{Editor, Place};
use super::{noop, patterns as views, rewrite};
use crate::aot::export::{Exported, export};
use crate::aot::schemas::{Config, CustomPasses, Function, GraphCompiler, InputSpec, Switches};
use crate::decompositions::{Table, inductor, inductor_with_eager_random};
use crate::dispatch::{Modes, Value, modes, set_modes};
use crate::error::{Error, Result};
use crate::graph::{Arg, FakeValue, Graph, Meta, NodeId, Opcode, Target};
use crate::partition::PartitionConfig;
use crate::shape::concrete;
use crate::tensor::{Dtype, Tensor, TensorSpec};
use matcher::{Match, Pattern};
use patterns::Candidate;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A candidate as it is looked for: with or without a backward.
struct Entry {
    candidate: &'static Candidate,
    trains: bool,
    rough: Pattern,
}

thread_local! {
    static ENTRIES: RefCell<Vec<Rc<Vec<Entry>>>> = const { RefCell::new(Vec::new()) };
}

/// Replaces what matches, from the last call to the first.
pub fn fuse(graph: &mut Graph, eager_random: bool) -> Result<()> {
    let products = graph.nodes().filter(|n| n.op() == Some("aten.bmm.default")).count();
    let has_softmax = graph.nodes().any(|n| matches!(n.op(), Some("aten.exp.default" | "aten._safe_softmax.default")));
    if products < 2 || !has_softmax {
        return Ok(());
    }
    let table = if eager_random { inductor_with_eager_random() } else { inductor() };
    let entries = entries(table)?;
    let mut replaced = false;
    let mut editor = Editor::new(graph);
    for id in editor.ids().into_iter().rev() {
        for entry in entries.iter() {
            if editor.is_erased(id) {
                break;
            }
            if entry.rough.anchor() != editor.node(id).op() {
                continue;
            }
            let Some(found) = entry.rough.find(&editor, id) else { continue };
            if let Some(replacement) = accepted(&editor, entry, &found, table)? {
                put(&mut editor, &found, &replacement, entry)?;
                replaced = true;
            }
        }
    }
    editor.finish();
    if replaced {
        graph.sort();
    }
    Ok(())
}

/// All patterns as rough graphs; they are traced once.
fn entries(table: &'static Table) -> Result<Rc<Vec<Entry>>> {
    if let Some(known) = ENTRIES.with_borrow(|e| e.first().cloned()) {
        return Ok(known);
    }
    let mut made = Vec::new();
    for dtype in [Dtype::Float32, Dtype::Float16] {
        for candidate in patterns::CANDIDATES.iter().filter(|c| c.serves(dtype)) {
            for trains in [true, false] {
                if trains && candidate.inference_only {
                    continue;
                }
                let args = candidate.parameters(trains).map(|p| p.example(dtype)).collect::<Result<Vec<_>>>()?;
                let traced = trace(candidate.search, candidate, trains, &args, table)?;
                made.push(Entry { candidate, trains, rough: Pattern::rough(traced, candidate, trains) });
            }
        }
    }
    let made = Rc::new(made);
    ENTRIES.with_borrow_mut(|e| e.push(made.clone()));
    Ok(made)
}

/// An argument of a pattern: a tensor that may require grad, or a number.
#[derive(Clone)]
enum Argument {
    Tensor(TensorSpec, bool),
    Number(Value),
}

/// The graph of a pattern's function: of its forward, or with its backward.
fn trace(function: patterns::Function, candidate: &Candidate, trains: bool, args: &[Argument], table: &'static Table) -> Result<Graph> {
    let mut inputs = Vec::new();
    for arg in args {
        if let Argument::Tensor(spec, requires_grad) = arg {
            let mut input = InputSpec::of(&Tensor::fake(spec)?)?;
            (input.requires_grad, input.is_leaf) = (*requires_grad && trains, true);
            inputs.push(input);
        }
    }
    let (args, drops) = (args.to_vec(), candidate.drops());
    let called: Function = Rc::new(move |tensors: &[Tensor]| {
        let mut tensors = tensors.iter();
        let mut values: Vec<Value> = Vec::new();
        for arg in &args {
            values.push(match arg {
                Argument::Tensor(..) => tensors.next().map_or(Value::None, Value::from),
                Argument::Number(n) => n.clone(),
            });
        }
        if drops && !trains {
            values.push(Value::Float(0.0));
        }
        Ok(function(&values)?.into_iter().map(Value::Tensor).collect())
    });
    let never: GraphCompiler = Rc::new(|_, _| Err(Error::runtime("a pattern is not compiled")));
    let config = Config {
        is_captured: false,
        keep_input_mutations: true,
        partition: PartitionConfig::default(),
        script_decompositions: None,
        decompositions: Some(table),
        passes: None,
        switches: Switches::default(),
        custom_passes: CustomPasses::default(),
        freezing: None,
        partition_fn: None,
        replay_random: false,
        fw_compiler: never.clone(),
        bw_compiler: never.clone(),
        inference_compiler: never,
        is_outdated: None,
        check: None,
        observer: None,
    };
    let before = modes();
    // A call in inference mode has its patterns traced like any other.
    set_modes(Modes { grad: true, inference: false, ..before });
    let traced = export(&called, &inputs, &config, if trains { Exported::Joint } else { Exported::Inference });
    set_modes(before);
    let mut graph = Rc::unwrap_or_clone(traced?.0);
    noop::remove(&mut graph, &[])?;
    if trains {
        views::remove_pointless_views(&mut graph);
    }
    graph.eliminate_dead_code(&|_| false);
    Ok(graph)
}

/// The replacement's graph, where the pattern traced on the match's own arguments matches, too, and the fused operator takes them.
fn accepted(editor: &Editor, entry: &Entry, found: &Match, table: &'static Table) -> Result<Option<Graph>> {
    let candidate = entry.candidate;
    let mut args = Vec::new();
    for parameter in candidate.parameters(entry.trains) {
        let Some(arg) = found.args.get(parameter.name()) else { return Ok(None) };
        args.push(match arg {
            Arg::Node(n) => match &editor.node(*n).meta.value {
                Some(FakeValue::Tensor(spec)) => {
                    let integers = parameter.requires_grad() && !spec.dtype.is_floating();
                    // Symbolic sizes stay written out.
                    if integers || concrete(&spec.geometry.sizes).is_err() || concrete(&spec.geometry.strides).is_err() {
                        return Ok(None);
                    }
                    let contiguous =
                        TensorSpec::strided(spec.geometry.sizes.clone(), spec.geometry.strides.clone(), spec.dtype, spec.device);
                    Argument::Tensor(contiguous, parameter.requires_grad())
                }
                _ => return Ok(None),
            },
            number => Argument::Number(rewrite::example(editor, number)?),
        });
    }
    // Shapes that the function refuses are no match.
    let Ok(specific) = trace(candidate.search, candidate, entry.trains, &args, table) else { return Ok(None) };
    let specific = Pattern::exact(specific, candidate, entry.trains);
    let outputs_begin = found.outputs.iter().flatten().next().copied();
    let Some(exact) = outputs_begin.and_then(|id| specific.find(editor, id)) else { return Ok(None) };
    if !serves(editor, candidate, found, &exact) {
        return Ok(None);
    }
    trace(candidate.replace, candidate, entry.trains, &args, table).map(Some)
}

/// Whether scale, dtypes and mask are such as the fused operator takes.
fn serves(editor: &Editor, candidate: &Candidate, found: &Match, exact: &Match) -> bool {
    let is_number = |name: &str| match found.args.get(name) {
        Some(Arg::Int(_) | Arg::Float(_)) | None => true,
        Some(Arg::Node(n)) => matches!(editor.node(*n).meta.value, Some(FakeValue::Int(_))),
        _ => false,
    };
    if !candidate.parameters(true).filter(|p| p.is_scale()).all(|p| is_number(p.name())) {
        return false;
    }
    let tensor = |name: &str| match found.args.get(name) {
        Some(Arg::Node(n)) => editor.node(*n).tensor(),
        _ => None,
    };
    let (Some(query), Some(key), Some(value)) = (tensor("query"), tensor("key"), tensor("value")) else { return false };
    if key.dtype != query.dtype || value.dtype != query.dtype || key.device != query.device || value.device != query.device {
        return false;
    }
    let Some(added) = exact.nodes.iter().find(|n| editor.node(**n).op() == Some("aten.add.Tensor")) else { return true };
    let Some(mask) = editor.argument(*added, 1).and_then(|n| editor.node(n).tensor()) else { return false };
    let dtypes = [query.dtype, Dtype::Bool, Dtype::Float32];
    dtypes.contains(&mask.dtype) && mask.device == query.device && !mask.geometry.sizes.is_empty()
}

/// Puts a replacement where the match's first result is, and takes away what nobody reads any more.
fn put(editor: &mut Editor, found: &Match, replacement: &Graph, entry: &Entry) -> Result<()> {
    let ids = editor.ids();
    let outputs: Vec<NodeId> = found.outputs.iter().flatten().copied().collect();
    let Some(place) = ids.iter().find(|id| outputs.contains(id)).copied() else { return Ok(()) };
    let mut given = Vec::new();
    for parameter in entry.candidate.parameters(entry.trains) {
        match found.args.get(parameter.name()) {
            Some(Arg::Node(n)) if editor.node(*n).tensor().is_some() => given.push(Arg::Node(*n)),
            _ => {}
        }
    }
    let tangents = (1..).map_while(|i| found.args.get(format!("tangents_{i}").as_str()).cloned());
    let mut given = given.into_iter().chain(tangents);
    let mut map: HashMap<NodeId, Arg> = HashMap::new();
    let mut added = Vec::new();
    for node in replacement.nodes() {
        let mut of = |n: NodeId| map.get(&n).cloned().unwrap_or(Arg::None);
        match node.opcode {
            Opcode::Placeholder => {
                let arg = given.next().ok_or_else(|| Error::runtime("attention: an argument is missing"))?;
                map.insert(node.id, arg);
            }
            Opcode::Call => {
                let args = node.args.iter().map(|a| a.map_nodes(&mut of)).collect();
                let kwargs = node.kwargs.iter().map(|(k, a)| (k.clone(), a.map_nodes(&mut of))).collect();
                let meta = Meta { value: node.meta.value.clone(), is_backward: node.meta.is_backward, ..Meta::default() };
                let place = Place::Before(place);
                let made = match (&node.target, node.op()) {
                    (Target::Getitem, _) => editor.insert("getitem", Target::Getitem, args, kwargs, meta, place),
                    (_, Some(op)) => editor.call(op, args, kwargs, meta, place),
                    _ => return Err(Error::runtime("attention: an unexpected call")),
                };
                added.push(made);
                map.insert(node.id, Arg::Node(made));
            }
            Opcode::GetAttr | Opcode::Output => {}
        }
    }
    for (old, new) in found.outputs.iter().zip(replacement.outputs()) {
        let (Some(old), Arg::Node(new)) = (old, new) else { continue };
        let Some(Arg::Node(new)) = map.get(&new).cloned() else { continue };
        if added.contains(&new) {
            // What is said of the result is said of what gives it now.
            let value = editor.node(new).meta.value.clone();
            *editor.meta_mut(new) = Meta { value, ..editor.node(*old).meta.clone() };
        }
        editor.replace_for_others(*old, new, &added);
        editor.erase(*old);
    }
    for id in found.nodes.iter().rev().chain(added.iter().rev()) {
        editor.erase(*id);
    }
    Ok(())
}
