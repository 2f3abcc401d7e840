//! A tape becomes a graph: the gradients that start it, a call per node, and what leaves accumulate or the backward gives.
//!
//! The names, the numbers and the order are those of `AutogradCompilerInstance` in `torch/_dynamo/compiled_autograd.py`.

use super::cache::KnownSize;
use super::reorder::reorder;
use super::tape::{NodeCall, Tape};
use autograd::lift::{AotBackward, Functional, Lifted, Packed};
use diagnostics::error::{Error, Result};
use diagnostics::source::Source;
use diagnostics::span::Span;
use dispatch::Value;
use graph::{Arg, Graph, Meta, NodeId, Opcode, Shown, Target, snake_case};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use tensor::Tensor;

/// Inputs of the graph from what a compiled function saved and the gradients that come.
pub type Prologue = Rc<dyn Fn(Vec<Value>, Vec<Value>, Vec<Option<Tensor>>) -> Result<Vec<Value>>>;

/// What a name in the graph's code stands for.
#[derive(Clone)]
pub enum Function {
    /// The derivative of an operator: its name in `torch._dynamo.compiled_autograd.ops`.
    Derivative(Rc<str>, Rc<dyn Functional>),
    /// What comes before the backward graph of a compiled function.
    Prologue(Prologue),
    /// A function of the library, by module and name.
    Library(&'static str, &'static str),
    /// The hook of a name that is in a backward state.
    OfState(Rc<str>),
}

impl Function {
    /// Whether it calls Python of the script's, or breaks the graph: hooks, custom functions.
    pub fn calls_script(&self) -> bool {
        matches!(self, Function::OfState(_) | Function::Library(_, "call_hook" | "call_backward" | "call_cpp_tensor_pre_hooks"))
    }
}

/// A captured backward.
pub struct Captured {
    /// The graph as PyTorch prints it.
    pub graph: Graph,
    /// The same, each function under a name of its own.
    pub code: Graph,
    /// What the names in `code` stand for.
    pub functions: Vec<(String, Function)>,
    /// Which of the dynamic sizes are read.
    pub used_sizes: Vec<usize>,
    /// Where its tensors come from.
    pub inputs: Vec<CapturedInput>,
}

/// A tensor that a captured backward reads.
pub struct CapturedInput {
    /// The node of `graph` that gives it.
    pub node: NodeId,
    /// The call that reads it first, as the graph's comments name it; its place among them.
    pub call: (usize, String),
    /// The expression of the script that the call's node is of.
    pub span: Option<Span>,
    /// Where a compiled function saved it: the number of its compilation, and the name that its backward has for it.
    pub saved: Option<(u64, String)>,
}

/// The operator of calls of hooks that are in a backward state; the hook's name follows.
pub const TRACE_WRAPPED: &str = "trace_wrapped.";

/// The target of a call of a hook, by its operator: torch.fx numbers functions of one name where there are several in a graph.
pub fn trace_wrapped(graph: &Graph, op: Rc<str>) -> Target {
    let mut known: Vec<&str> = Vec::new();
    for other in graph.nodes().filter_map(|n| n.op()).filter(|o| o.starts_with(TRACE_WRAPPED)) {
        if !known.contains(&other) {
            known.push(other);
        }
    }
    let number = known.iter().position(|o| **o == *op).unwrap_or(known.len());
    let name = "torch__dynamo__trace_wrapped_higher_order_op_self_invoke";
    let shown = if number == 0 { name.to_owned() } else { format!("{name}_{number}") };
    Target::Torch { op, shown: Shown::Function(shown.into()) }
}

pub(crate) const DYNAMO: &str = "torch._dynamo.external_utils";
const CAPTURE: &str = "torch._dynamo.compiled_autograd";

/// The name of a function in the graph.
pub(crate) fn shown_name(module: &str, name: &str) -> String {
    format!("{}_{name}", module.replace('.', "_"))
}

/// A node's name as an identifier: `torch::autograd::CopyBackwards` is `torch_autograd_CopyBackwards`.
fn operation_name(name: &str) -> String {
    name.split("::").collect::<Vec<_>>().join("_")
}

/// A call as the graph's comments name it.
fn call_name(call: &NodeCall) -> String {
    match &call.lifted {
        Some(Lifted::Compiled { backward, .. }) => format!("{}{}", call.name, backward.id),
        _ => call.name.clone(),
    }
}

struct Builder<'a> {
    tape: &'a Tape,
    graph: Graph,
    /// What each function node calls.
    functions: HashMap<NodeId, Function>,
    inputs: Vec<NodeId>,
    /// Per size, its input, or its value where it is none.
    sizes: Vec<Arg>,
    hooks: NodeId,
    packed_data: NodeId,
    source: Option<Source>,
    /// The call that is being made: its place among the calls.
    call: usize,
    /// Per tensor that was read, where it comes from.
    read: HashMap<usize, CapturedInput>,
    /// How often the backward graph of a compilation was copied into this one.
    copies: HashMap<u64, usize>,
}

/// Captures a tape as graph number `number`. `sizes`: which of its sizes are inputs.
///
/// # Errors
/// Of what a graph can't have.
pub fn capture(tape: &Tape, number: usize, sizes: &[KnownSize], creates_graph: bool) -> Result<Captured> {
    let mut graph = Graph::new(&format!("CompiledAutograd{number}"));
    let [inputs, of_sizes, _, hooks, packed_data] =
        ["inputs", "sizes", "scalars", "hooks", "packed_data"].map(|name| graph.placeholder(name, Meta::default()));
    let mut builder = Builder {
        tape,
        graph,
        functions: HashMap::new(),
        inputs: Vec::new(),
        sizes: Vec::new(),
        hooks,
        packed_data,
        source: None,
        call: 0,
        read: HashMap::new(),
        copies: HashMap::new(),
    };
    builder.inputs = (0..tape.lift.inputs.len()).map(|i| builder.item(inputs, i)).collect();
    let dynamic = sizes.iter().filter(|size| size.is_dynamic).count();
    let items: Vec<NodeId> = (0..dynamic).map(|i| builder.item(of_sizes, i)).collect();
    let mut unwrapped = items
        .iter()
        .map(|item| builder.library(DYNAMO, "unwrap_maybe_dynamic_int", vec![Arg::Node(*item)], Vec::new()))
        .collect::<Vec<_>>()
        .into_iter();
    builder.sizes = sizes
        .iter()
        .map(|size| if size.is_dynamic { unwrapped.next().map_or(Arg::None, Arg::Node) } else { Arg::Int(size.value) })
        .collect();
    let mut buffers: HashMap<(usize, usize), NodeId> = HashMap::new();
    let mut outputs: Vec<Arg> = vec![Arg::None; tape.num_outputs];
    for (number, call) in tape.calls.iter().enumerate() {
        builder.node_call(number, call, creates_graph, &mut buffers, &mut outputs)?;
    }
    builder.library(DYNAMO, "_exec_final_callbacks_stub", Vec::new(), Vec::new());
    builder.graph.set_output(Arg::List(outputs));
    Ok(builder.finish(of_sizes))
}

impl Builder<'_> {
    fn call(&mut self, name: &str, target: Target, args: Vec<Arg>, kwargs: Vec<(Rc<str>, Arg)>) -> NodeId {
        let meta = Meta { source: self.source.clone(), ..Meta::default() };
        self.graph.call(name, target, args, kwargs, meta)
    }

    fn function(&mut self, module: &str, name: &str, function: Function, args: Vec<Arg>, kwargs: Vec<(Rc<str>, Arg)>) -> NodeId {
        let target = Target::Torch { op: "".into(), shown: Shown::Function(shown_name(module, name).into()) };
        let id = self.call(&snake_case(name), target, args, kwargs);
        self.functions.insert(id, function);
        id
    }

    fn library(&mut self, module: &'static str, name: &'static str, args: Vec<Arg>, kwargs: Vec<(Rc<str>, Arg)>) -> NodeId {
        self.function(module, name, Function::Library(module, name), args, kwargs)
    }

    fn item(&mut self, of: NodeId, index: usize) -> NodeId {
        self.call("getitem", Target::Getitem, vec![Arg::Node(of), Arg::Int(index as i64)], Vec::new())
    }

    fn hook(&mut self, number: usize, args: Vec<Arg>, kind: &str) -> NodeId {
        let hook = self.item(self.hooks, number);
        let args = std::iter::once(Arg::Node(hook)).chain(args).collect();
        self.library(DYNAMO, "call_hook", args, vec![("hook_type".into(), Arg::Str(kind.into()))])
    }

    /// A tensor, which the present call reads.
    fn read(&mut self, input: usize) -> NodeId {
        let node = self.inputs[input];
        let call = &self.tape.calls[self.call];
        let span = call.node.as_ref().and_then(|node| node.span.clone());
        let reader = || CapturedInput { node, call: (self.call, call_name(call)), span, saved: None };
        self.read.entry(input).or_insert_with(reader);
        node
    }

    /// An argument; unpacking a saved tensor is a call.
    fn arg(&mut self, packed: &Packed) -> Arg {
        match packed {
            Packed::None => Arg::None,
            Packed::Bool(b) => Arg::Bool(*b),
            Packed::Int(i) => Arg::Int(*i),
            Packed::Float(f) => Arg::Float(*f),
            Packed::Complex(re, im) => Arg::Complex(*re, *im),
            Packed::Str(s) => Arg::Str(s.clone()),
            Packed::Device(d) => Arg::Device(*d),
            Packed::Tensor(i) => Arg::Node(self.read(*i)),
            Packed::Size(i) => self.sizes[*i].clone(),
            Packed::Unpack(hook, data) => {
                let hook = self.item(self.hooks, *hook);
                let data = self.item(self.packed_data, *data);
                let kind = vec![("hook_type".into(), Arg::Str("unpack_hook".into()))];
                Arg::Node(self.library(DYNAMO, "call_hook", vec![Arg::Node(hook), Arg::Node(data)], kind))
            }
            Packed::List(items) => Arg::List(items.iter().map(|p| self.arg(p)).collect()),
            Packed::Tuple(items) => Arg::Tuple(items.iter().map(|p| self.arg(p)).collect()),
        }
    }

    fn node_call(
        &mut self,
        number: usize,
        call: &NodeCall,
        creates_graph: bool,
        buffers: &mut HashMap<(usize, usize), NodeId>,
        outputs: &mut [Arg],
    ) -> Result<()> {
        let key = call.node.as_ref().map_or(0, autograd::node_key);
        self.set_origin(number, call);
        let mut grads: Vec<Arg> = (0..call.width).map(|i| buffers.remove(&(key, i)).map_or(Arg::None, Arg::Node)).collect();
        for (hook, index) in &call.tensor_pre_hooks {
            let given = grads.get(*index).cloned().unwrap_or(Arg::None);
            let id = self.hook(*hook, vec![given.clone()], "tensor_pre_hook");
            if given != Arg::None {
                grads[*index] = Arg::Node(id);
            }
        }
        for (retained, index) in &call.retained {
            let given = grads.get(*index).cloned().unwrap_or(Arg::None);
            let args = vec![Arg::Int(*retained as i64), given.clone()];
            let name = "call_cpp_tensor_pre_hooks";
            let function = Function::Library(CAPTURE, name);
            let id = self.function("torch._C._dynamo.autograd_compiler", name, function, args, Vec::new());
            if given != Arg::None {
                grads[*index] = Arg::Node(id);
            }
        }
        for (index, place) in &call.outputs {
            outputs[*place] = grads.get(*index).cloned().unwrap_or(Arg::None);
        }
        let Some(lifted) = &call.lifted else { return Ok(()) };
        for hook in &call.pre_hooks {
            let id = self.hook(*hook, vec![Arg::List(grads.clone())], "pre_hook");
            grads = self.items_of(id, &grads);
        }
        let mut gives = self.lifted(lifted, call, &grads, creates_graph)?;
        // The gradients of a compiled function are as its backward gives them.
        if !matches!(lifted, Lifted::Compiled { .. }) {
            gives = self.checked(call, gives);
        }
        for hook in &call.post_hooks {
            let id = self.hook(*hook, vec![Arg::List(gives.clone()), Arg::List(grads.clone())], "post_hook");
            gives = self.items_of(id, &gives);
        }
        for (next, grad) in call.next.iter().zip(gives) {
            let (Some(next), Arg::Node(grad)) = (next, grad) else { continue };
            let place = (next.node, next.index);
            let total = match buffers.get(&place) {
                Some(have) => {
                    let target = Target::Torch { op: "aten.add.Tensor".into(), shown: Shown::Function("torch.add".into()) };
                    self.call("add", target, vec![Arg::Node(*have), Arg::Node(grad)], Vec::new())
                }
                None => grad,
            };
            buffers.insert(place, total);
        }
        Ok(())
    }

    /// Gradients as their receivers expect them.
    fn checked(&mut self, call: &NodeCall, gives: Vec<Arg>) -> Vec<Arg> {
        let metadata = match gives.is_empty() {
            true => Vec::new(),
            false => call.next.iter().map(|next| next.as_ref().map_or(Arg::None, |next| self.arg(&next.metadata))).collect(),
        };
        let args = vec![Arg::List(gives.clone()), Arg::List(metadata)];
        let checked = self.library("torch._dynamo.compiled_autograd.ops", "validate_outputs", args, Vec::new());
        self.items_of(checked, &gives)
    }

    /// What a call gives in place of values: an item for each, none for those that are none.
    fn items_of(&mut self, id: NodeId, values: &[Arg]) -> Vec<Arg> {
        let items: Vec<NodeId> = (0..values.len()).map(|i| self.item(id, i)).collect();
        items.into_iter().zip(values).map(|(item, value)| if *value == Arg::None { Arg::None } else { Arg::Node(item) }).collect()
    }

    /// What follows belongs to a node's call.
    fn set_origin(&mut self, number: usize, call: &NodeCall) {
        self.call = number;
        self.source = Some(Source {
            span: call.node.as_ref().and_then(|node| node.span.clone()).unwrap_or_default(),
            file: "compiled_autograd.py".into(),
            function: "set_node_origin".into(),
            code: format!("{} (NodeCall {number})", call_name(call)).into(),
            indent: 0,
            library_line: Some(1606),
        });
    }

    /// The gradients that a node gives.
    fn lifted(&mut self, lifted: &Lifted, call: &NodeCall, grads: &[Arg], creates_graph: bool) -> Result<Vec<Arg>> {
        match lifted {
            Lifted::Root(given) => Ok(given.iter().map(|p| self.arg(p)).collect()),
            Lifted::Call { name, needs, args, function, edges, results } => {
                let grads: Vec<Arg> = results.iter().map(|i| grads.get(*i).cloned().unwrap_or(Arg::None)).collect();
                let packed: Vec<Arg> = args.iter().map(|p| self.arg(p)).collect();
                let needs = Arg::List(needs.iter().map(|b| Arg::Bool(*b)).collect());
                let args = [Arg::List(grads), needs].into_iter().chain(packed).collect();
                let name: Rc<str> = operation_name(name).into();
                let derivative = Function::Derivative(name.clone(), function.clone());
                let id = self.function("torch._dynamo.compiled_autograd.ops", &name, derivative, args, Vec::new());
                Ok((0..edges.len()).map(|i| Arg::Node(self.item(id, i))).collect())
            }
            Lifted::Accumulate { variable: None, .. } => Ok(Vec::new()),
            Lifted::Accumulate { variable: Some(variable), grad, has_post_hooks } => {
                if matches!(grads, [Arg::None] | []) {
                    return Ok(Vec::new());
                }
                let (variable, grad) = (self.arg(variable), self.arg(grad));
                let args = vec![variable.clone(), grad, grads[0].clone(), Arg::Bool(*has_post_hooks)];
                self.library(DYNAMO, "call_accumulate_grad", args, Vec::new());
                for hook in &call.post_acc_grad_hooks {
                    self.hook(*hook, vec![variable.clone()], "post_acc_grad_hook");
                }
                Ok(Vec::new())
            }
            Lifted::CopySlices { base, view, inner } => {
                let args: Vec<Arg> = std::iter::once(Arg::List(grads.to_vec()))
                    .chain(base.iter().chain(view).map(|p| self.arg(p)).collect::<Vec<_>>())
                    .collect();
                let prologue = self.library(CAPTURE, "copy_slices_prologue", args, Vec::new());
                let [result, slice, clone] = [0, 1, 2].map(|i| self.item(prologue, i));
                let gives = self.lifted(inner, call, &[Arg::Node(clone)], creates_graph)?;
                let node = call.node.as_ref();
                let edges: Vec<Option<usize>> = match &**inner {
                    Lifted::Call { edges, .. } => edges.clone(),
                    _ => (0..gives.len()).map(Some).collect(),
                };
                let asks = |slot: &Option<usize>| node.zip(*slot).is_some_and(|(node, slot)| self.tape.lift.asks(node, slot));
                let needs: Vec<Arg> = edges.iter().map(|slot| Arg::Bool(asks(slot))).collect();
                let count = needs.len();
                let args = vec![Arg::List(needs), Arg::Node(result), Arg::List(gives), Arg::Node(slice)];
                let epilogue = self.library(CAPTURE, "copy_slices_epilogue", args, Vec::new());
                Ok((0..count).map(|i| Arg::Node(self.item(epilogue, i))).collect())
            }
            Lifted::Script { context, saved, zeros, gradients } => {
                let mut given = Vec::new();
                for (grad, zeros) in grads.iter().zip(zeros) {
                    given.push(match (grad, zeros) {
                        (Arg::None, Some((sizes, dtype, device))) => {
                            let sizes = Arg::List(sizes.iter().map(|p| self.arg(p)).collect());
                            let options = vec![
                                ("dtype".into(), Arg::Dtype(*dtype)),
                                ("layout".into(), Arg::Layout(tensor::Layout::Strided)),
                                ("device".into(), Arg::Device(*device)),
                            ];
                            Arg::Node(self.call("zeros", Target::Op("aten.zeros.default".into()), vec![sizes], options))
                        }
                        (grad, _) => grad.clone(),
                    });
                }
                let context = self.item(self.hooks, *context);
                let saved = Arg::Tuple(saved.iter().map(|p| self.arg(p)).collect());
                let args = [Arg::Node(context), saved].into_iter().chain(given).collect();
                let id = self.library(DYNAMO, "call_backward", args, Vec::new());
                // PyTorch asks for each gradient once before it takes it, which takes a name.
                for i in (0..gradients.len()).filter(|i| gradients[*i]) {
                    self.item(id, i);
                }
                let items: Vec<NodeId> = (0..gradients.len()).map(|i| self.item(id, i)).collect();
                Ok(items.into_iter().zip(gradients).filter(|(_, is_tensor)| **is_tensor).map(|(item, _)| Arg::Node(item)).collect())
            }
            Lifted::Compiled { context, backward } => {
                if creates_graph {
                    return Err(Error::runtime("torch.compile does not currently support higher order gradients."));
                }
                self.item(self.hooks, *context);
                self.compiled(backward, grads)
            }
        }
    }

    /// The backward graph of a compiled function, copied call by call.
    fn compiled(&mut self, backward: &AotBackward, grads: &[Arg]) -> Result<Vec<Arg>> {
        let sizes: Vec<Arg> = backward.sizes.iter().map(|p| self.arg(p)).collect();
        let names = backward.graph.placeholders().skip(sizes.len()).map(|node| node.name.to_string());
        let mut saved = Vec::with_capacity(backward.saved.len());
        for (packed, name) in backward.saved.iter().zip(names.collect::<Vec<_>>()) {
            saved.push(self.arg(packed));
            if let Packed::Tensor(i) = packed
                && let Some(input) = self.read.get_mut(i)
            {
                input.saved.get_or_insert((backward.id, name));
            }
        }
        let saved = Arg::Tuple(saved);
        let args = vec![saved, Arg::List(sizes.clone()), Arg::List(Vec::new()), Arg::Tuple(grads.to_vec())];
        let prologue = Function::Prologue(backward.prologue.clone());
        let prologue = self.function(CAPTURE, "call_aot_bwd_prologue", prologue, args, Vec::new());
        let source = backward.graph.clone();
        let state = backward.state.map(|(object, _)| self.item(self.hooks, object));
        let count = source.placeholders().count() - usize::from(state.is_some());
        let mut given: Vec<Arg> = (0..count).map(|i| Arg::Node(self.item(prologue, i))).collect();
        given.splice(0..sizes.len(), sizes);
        given.extend(state.map(Arg::Node));
        let copies = self.copies.entry(backward.id).or_insert(0);
        let prefix = if *copies == 0 { format!("aot{}", backward.id) } else { format!("aot{}_{copies}", backward.id) };
        *copies += 1;
        let mut map: HashMap<NodeId, Arg> = HashMap::new();
        let mut given = given.into_iter();
        let mut gives = Vec::new();
        let before = self.source.take();
        for node in source.nodes() {
            let mut read = |n: NodeId| map.get(&n).cloned().unwrap_or(Arg::None);
            match node.opcode {
                Opcode::Placeholder => {
                    let value = given.next().unwrap_or(Arg::None);
                    if let Arg::Node(id) = &value {
                        self.graph.rename(*id, &format!("{prefix}_{}", node.name));
                    }
                    map.insert(node.id, value);
                }
                Opcode::Output => {
                    gives = source.outputs().iter().map(|arg| arg.map_nodes(&mut read)).collect();
                }
                Opcode::GetAttr => {
                    let name = node.target.text();
                    let own: Rc<str> = format!("{name}_{}", self.graph.constants.len() + self.graph.subgraphs.len()).into();
                    if let Some((_, t)) = source.constants.iter().find(|(n, _)| **n == *name) {
                        self.graph.constants.push((own.clone(), t.clone()));
                    } else if let Some((_, body)) = source.subgraphs.iter().find(|(n, _)| **n == *name) {
                        self.graph.subgraphs.push((own.clone(), body.clone()));
                    }
                    let id = self.graph.get_attr(&own, Meta::default());
                    self.graph.rename(id, &format!("{prefix}_{}", node.name));
                    map.insert(node.id, Arg::Node(id));
                }
                Opcode::Call => {
                    let mut copy = node.clone();
                    // Where it comes from is still said; what it gives is not known here.
                    let Meta { source, is_backward, own_source, .. } = node.meta.clone();
                    copy.meta = Meta { source, is_backward, own_source, ..Meta::default() };
                    // The forward's gradients may have other strides than those that the view was traced with.
                    if copy.op() == Some("aten.view.default") {
                        copy.target = Target::Op("aten.reshape.default".into());
                    }
                    let hook = node.op().and_then(|op| op.strip_prefix(TRACE_WRAPPED)).map(|hook| {
                        let op = format!("{TRACE_WRAPPED}{prefix}.{hook}");
                        (Function::OfState(hook.into()), trace_wrapped(&self.graph, op.into()))
                    });
                    let id = self.graph.copy_node(&copy, &mut read);
                    if let Some((function, target)) = hook {
                        self.graph.node_mut(id).target = target;
                        self.functions.insert(id, function);
                    }
                    self.graph.rename(id, &format!("{prefix}_{}", node.name));
                    map.insert(node.id, Arg::Node(id));
                }
            }
        }
        self.source = before;
        if let Some((_, place)) = backward.state.filter(|(_, place)| *place < gives.len()) {
            gives.remove(place);
        }
        gives.resize(backward.num_gradients, Arg::None);
        Ok(gives)
    }

    /// The graph in its last order, without what nobody reads.
    fn finish(mut self, sizes: NodeId) -> Captured {
        reorder(&mut self.graph);
        let placeholders: HashSet<NodeId> = self.graph.placeholders().map(|n| n.id).collect();
        let is_read_off = |node: &graph::Node| {
            node.target == Target::Getitem && matches!(node.args.first(), Some(Arg::Node(of)) if placeholders.contains(of))
        };
        let has_effect = |node: &graph::Node| {
            let by_name = matches!(
                self.functions.get(&node.id),
                Some(Function::Library(_, "call_hook" | "call_backward" | "_exec_final_callbacks_stub" | "call_accumulate_grad"))
            );
            by_name || node.op().and_then(dispatch::lookup).is_some_and(|entry| entry.is_mutable())
        };
        self.graph.eliminate_dead_code(&|node| is_read_off(node) || has_effect(node));
        let users = self.graph.users();
        let (mut used, mut unused) = (Vec::new(), HashSet::new());
        for id in &users[sizes.0 as usize] {
            let Some(Arg::Int(index)) = self.graph.node(*id).args.get(1).cloned() else { continue };
            if users[id.0 as usize].is_empty() {
                unused.insert(*id);
            } else {
                self.graph.node_mut(*id).args[1] = Arg::Int(used.len() as i64);
                used.push(index as usize);
            }
        }
        self.graph.retain(|node| !unused.contains(&node.id));
        let mut code = self.graph.clone();
        let mut functions = Vec::new();
        for (number, id) in self.graph.nodes().map(|n| n.id).enumerate().collect::<Vec<_>>() {
            let Some(function) = self.functions.get(&id) else { continue };
            let Target::Torch { op, shown: Shown::Function(name) } = self.graph.node(id).target.clone() else { continue };
            let own = match function {
                Function::Library(..) => name.to_string(),
                _ => format!("{name}__call_{number}"),
            };
            code.node_mut(id).target = Target::Torch { op, shown: Shown::Function(own.as_str().into()) };
            if !functions.iter().any(|(known, _)| *known == own) {
                functions.push((own, function.clone()));
            }
        }
        let mut inputs: Vec<CapturedInput> = self.read.into_values().collect();
        inputs.sort_by_key(|input| input.node);
        Captured { graph: self.graph, code, functions, used_sizes: used, inputs }
    }
}
