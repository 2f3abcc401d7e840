//! Graphs as the report shows them: readable text, and one row per node.

use std::collections::{HashMap, HashSet};

use graph::{
    Arg, FakeValue, FunctionLines, Graph, Node, Opcode, Style, float_repr, identifier, imports, listing_row, print_readable, returned,
    signature,
};
use partition::is_tangent;
use partition::op_sets::{is_impure, is_mutable};
use partition::saved::{Storage, storages};
use report::{ExampleValue, GraphView, InputView, ModuleView, NodeView, Saved};
use shape::SymInt;
use tensor::strided::{dense_bytes, number_at};
use tensor::{Dtype, Number, Tensor};

/// The text and the nodes of a graph. Ids are positions in the graph's order.
pub fn view(graph: &Graph) -> GraphView {
    let printed = print_readable(graph, Style::FULL);
    let mut position = vec![0u32; graph.arena_len()];
    for (i, node) in graph.nodes().enumerate() {
        position[node.id.0 as usize] = i as u32;
    }
    let nodes = graph
        .nodes()
        .map(|node| {
            let tensor = node.tensor();
            let [op, name, target, args, kwargs] = listing_row(graph, node);
            NodeView {
                id: position[node.id.0 as usize],
                name,
                op,
                target,
                args,
                kwargs,
                text_line: printed.line_of_node[node.id.0 as usize],
                dtype: tensor.map(|t| foreign_dtype(node).map_or_else(|| t.dtype.name().to_owned(), str::to_owned)),
                shape: tensor.map(|t| texts(&t.geometry.sizes)),
                stride: tensor.map(|t| texts(&t.geometry.strides)),
                bytes: tensor.and_then(|t| t.bytes()),
                inputs: node.inputs().iter().map(|i| position[i.0 as usize]).collect(),
                span: node.meta.source.as_ref().map(|s| s.span.clone()).filter(|span| span.line > 0),
                module_path: node.meta.module_path().to_owned(),
                source_fn: node.meta.source_fn.as_ref().map(|of| of.called.to_string()),
                is_backward: node.meta.is_backward,
                mutates: is_mutable(node),
                seq_nr: node.meta.seq_nr,
                source: node.meta.input.as_ref().filter(|_| node.opcode == Opcode::Placeholder).map(|input| input.name.clone()),
            }
        })
        .collect();
    let mut modules = Modules { functions: printed.functions.into_iter(), made: Vec::new(), names: HashSet::new() };
    modules.add(graph, "GraphModule");
    GraphView { readable: printed.text, nodes, modules: modules.made }
}

/// A dtype that no tensor here has, by the short name that a log writes: `f8e4m3fn`.
pub fn foreign_dtype(node: &Node) -> Option<&str> {
    let written = node.meta.written_type.as_deref()?.trim_start_matches([':', ' ', '"']);
    let short = written.split('[').next().unwrap_or(written);
    // A class of tensors around it, or nothing that is unknown.
    let is_foreign = !short.contains('(') && Dtype::ALL.iter().all(|known| known.short() != short);
    is_foreign.then_some(short)
}

/// The modules of a graph, as they are found.
struct Modules<F> {
    functions: F,
    made: Vec<ModuleView>,
    names: HashSet<String>,
}

impl<F: Iterator<Item = FunctionLines>> Modules<F> {
    /// Adds a graph and its subgraphs, in the order of the text; gives the name of its class.
    fn add(&mut self, graph: &Graph, wanted: &str) -> String {
        let mut name = identifier(wanted).into_owned();
        while !self.names.insert(name.clone()) {
            name.push('_');
        }
        let Some(FunctionLines { first, body, end }) = self.functions.next() else { return name };
        let at = self.made.len();
        self.made.push(ModuleView { name: name.clone(), first, body, end, ..ModuleView::default() });
        let subgraphs: Vec<(&str, String)> =
            graph.subgraphs.iter().map(|(part, body)| (&**part, self.add(body, &format!("{name}_{part}")))).collect();
        let module = &mut self.made[at];
        module.flat = graph.nodes().find(|node| graph.joint_signature && node.opcode == Opcode::Output).map(|output| {
            let returned = returned(graph, output);
            (signature(graph, Some(Style::FULL)), format!("return {returned}"))
        });
        module.inputs = graph.placeholders().map(|node| InputView { name: node.name.to_string(), value: example(node) }).collect();
        let mut met = HashSet::new();
        for node in graph.nodes().filter(|node| node.opcode == Opcode::GetAttr) {
            let path = node.target.text();
            if !met.insert(path.clone()) {
                continue;
            }
            let value = match subgraphs.iter().find(|(part, _)| *part == path) {
                Some((_, class)) => ExampleValue::Module { name: class.clone() },
                None => {
                    graph.constants.iter().find(|(name, _)| **name == *path).and_then(|(_, t)| constant(t)).unwrap_or_else(|| example(node))
                }
            };
            module.attributes.push(InputView { name: path, value });
        }
        module.imports = imports(graph).into_iter().map(str::to_owned).collect();
        name
    }
}

/// Constants with more elements than this are not written out.
const MOST_ELEMENTS: usize = 4096;

/// A constant of the script's with its elements, as a file calls for it.
fn constant(t: &Tensor) -> Option<ExampleValue> {
    let shape: Vec<i64> = t.sizes().iter().map(SymInt::as_int).collect::<Option<_>>()?;
    let count = usize::try_from(shape.iter().product::<i64>()).ok().filter(|count| *count <= MOST_ELEMENTS && !t.is_fake())?;
    let (dtype, bytes) = (t.dtype(), dense_bytes(t).ok()?);
    let element = |i: usize| match number_at(&bytes, i, dtype) {
        Number::Bool(value) => Some(if value { "True" } else { "False" }.to_owned()),
        Number::Int(value) => Some(value.to_string()),
        Number::Float(value) => Some(float_repr(value)),
        _ => None,
    };
    let elements: Vec<String> = (0..count).map(element).collect::<Option<_>>()?;
    let mut stride = vec![1; shape.len()];
    for d in (1..shape.len()).rev() {
        stride[d - 1] = stride[d] * shape[d].max(1);
    }
    Some(ExampleValue::Literal { text: format!("tensor({shape:?}, {stride:?}, torch.{}, [{}])", dtype.name(), elements.join(", ")) })
}

/// What stands for a node's value. A size whose number nobody knows has to be some number.
fn example(node: &Node) -> ExampleValue {
    let number = |size: &SymInt| size.hint().unwrap_or(4);
    let numbers = |sizes: &[SymInt]| sizes.iter().map(number).collect();
    let truth = |value: bool| if value { "True" } else { "False" }.to_owned();
    let text = match &node.meta.value {
        Some(FakeValue::Tensor(spec)) => {
            let (shape, stride) = (numbers(&spec.geometry.sizes), numbers(&spec.geometry.strides));
            return ExampleValue::Tensor { dtype: spec.dtype.name().to_owned(), shape, stride };
        }
        Some(FakeValue::Int(size)) => number(size).to_string(),
        Some(FakeValue::Float(value)) => float_repr(value.unwrap_or(1.0)),
        Some(FakeValue::SymFloat(float)) => float_repr(float.hint().unwrap_or(1.0)),
        Some(FakeValue::Condition(_)) => truth(true),
        Some(FakeValue::Bool(value)) => truth(value.unwrap_or(false)),
        Some(FakeValue::List(_) | FakeValue::None) | None => return ExampleValue::None,
    };
    ExampleValue::Literal { text }
}

/// The functionalized stage: what a joint graph computes before anything is differentiated. That is its first outputs with
/// all they need and every write that is not the backward's; without tangents, gradients, and what is computed for those alone.
pub fn functionalized(joint: &Graph, num_fwd_outputs: usize) -> Graph {
    let mut graph = joint.clone();
    let outputs: Vec<Arg> = graph.outputs().into_iter().take(num_fwd_outputs).collect();
    let mut wanted = vec![false; graph.arena_len()];
    for output in &outputs {
        output.for_each_node(&mut |id| wanted[id.0 as usize] = true);
    }
    for node in joint.nodes().rev() {
        let write = node.opcode == Opcode::Call && !node.meta.is_backward && is_impure(node, false);
        let input = node.opcode == Opcode::Placeholder && !is_tangent(node);
        let at = node.id.0 as usize;
        wanted[at] |= write || input;
        if node.opcode == Opcode::Output {
            wanted[at] = true;
            graph.node_mut(node.id).args = vec![Arg::Tuple(outputs.clone())];
        } else if wanted[at] {
            node.inputs().iter().for_each(|i| wanted[i.0 as usize] = true);
        }
    }
    graph.retain(|node| wanted[node.id.0 as usize]);
    graph.joint_signature = false;
    graph
}

fn texts(sizes: &[SymInt]) -> Vec<String> {
    sizes.iter().map(SymInt::to_string).collect()
}

/// Values that a forward saves for its backward, by their names.
pub fn saved_values(forward: &Graph, names: &[String]) -> Vec<Saved> {
    let by_name: HashMap<&str, &Node> = forward.nodes().map(|n| (&*n.name, n)).collect();
    let storages = storages(forward);
    let one = |name: &String| {
        let storage = storages.get(name);
        Saved {
            view_of: storage.filter(|storage| storage.base != *name).map(|storage| storage.base.clone()),
            of_input: storage.is_some_and(|storage| storage.is_given),
            ..saved(name, by_name.get(name.as_str()).copied())
        }
    };
    names.iter().map(one).collect()
}

/// Marks saved values that belong to the backward alone (PyTorch's donated buffers): no input, no output of the forward or of the
/// backward lies in their storage.
pub fn mark_donated(saved: &mut [Saved], forward: &Graph, backward: &Graph) {
    let (of_forward, of_backward) = (storages(forward), storages(backward));
    let bases = |graph: &Graph, outputs: &[Arg], storages: &HashMap<String, Storage>| {
        let mut found = HashSet::new();
        outputs.iter().for_each(|output| {
            output.for_each_node(&mut |id| {
                let base = storages.get(&*graph.node(id).name).map(|storage| storage.base.clone());
                found.extend(base);
            });
        });
        found
    };
    let returned = forward.outputs();
    let own = bases(forward, &returned[..returned.len().saturating_sub(saved.len())], &of_forward);
    let gradients = bases(backward, &backward.outputs(), &of_backward);
    for value in saved.iter_mut().filter(|value| value.dtype.is_some() && !value.of_input) {
        let base = of_forward.get(&value.name).map(|storage| &storage.base);
        value.donated = base.is_some_and(|base| !own.contains(base)) && !gradients.contains(&value.name);
    }
}

fn saved(name: &str, node: Option<&Node>) -> Saved {
    let mut out = Saved { name: name.to_owned(), ..Saved::default() };
    let Some(node) = node else { return out };
    out.span = node.meta.source.as_ref().map(|s| s.span.clone());
    match &node.meta.value {
        Some(FakeValue::Tensor(spec)) => {
            out.dtype = Some(foreign_dtype(node).map_or_else(|| spec.dtype.name().to_owned(), str::to_owned));
            out.shape = Some(texts(&spec.geometry.sizes));
            out.stride = Some(texts(&spec.geometry.strides));
            out.bytes = spec.bytes();
        }
        Some(FakeValue::Int(i)) => out.sym = Some(i.to_string()),
        _ => {}
    }
    out
}
