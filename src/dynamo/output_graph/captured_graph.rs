//! A captured graph: its inputs, symbols and modes when it ends, and what is dropped from it then.

use super::graph_arg::{GraphArg, float_of};
use super::single_calls::inline_single_calls;
use super::torch_calls::{shown, with_source_fns};
use super::tracer::Recorder;
use crate::aot::BackwardState;
use crate::dispatch::{Value, modes};
use crate::dynamo::dynamic_shapes::{Place, Witness};
use crate::dynamo::guards::global_state::State;
use crate::error::{Error, Result};
use crate::graph::{self, Arg, FakeValue, Graph, NodeId, Opcode, Target, WrittenCall};
use crate::shape::{Expr, FloatExpr, ShapeEnv, SymFloat, SymInt, Symbol, SymbolInfo};
use crate::tensor::{Device, Dtype, Tensor};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A captured graph, ready to be compiled.
pub struct CapturedGraph {
    /// The FX graph; its outputs are the fake tensors asked for.
    pub graph: Graph,
    /// Its inputs that are tensors, in order of first use.
    pub inputs: Vec<GraphArg>,
    /// All tensors of the caller's that were read: each is guarded.
    pub touched: Vec<GraphArg>,
    /// The grad mode it began in.
    pub grad: bool,
    /// The short dtype of autocast it began in.
    pub autocast: Option<Dtype>,
    /// Whether it is called in inference mode, where tensors dispatch otherwise.
    pub inference: bool,
    /// The settings of the program that it is called with.
    pub(in crate::dynamo) state: State,
    /// Its symbolic sizes.
    pub env: ShapeEnv,
    /// Where its symbols are read among `touched`.
    pub witnesses: Vec<Witness>,
    /// Per input, the first that has its storage, and whether it is shared, where the graph writes to it.
    pub(in crate::dynamo) storages: Vec<(usize, bool)>,
    /// What hooks on its values are in that stay calls in its backward.
    pub(in crate::dynamo) backward_state: Option<Rc<dyn BackwardState>>,
    /// All nodes of the graph, with those that it dropped because nobody reads them.
    recorded: Vec<NodeId>,
    /// Floats of the call that nothing computes with.
    unread: Vec<SymFloat>,
}

impl CapturedGraph {
    /// The graph without the caller's tensors: what a cache may keep.
    pub fn without_tensors(mut self) -> Self {
        self.backward_state = None;
        for input in self.inputs.iter_mut().chain(&mut self.touched) {
            input.real = input.fake_tensor.clone();
        }
        self
    }

    /// The numbers of the symbols that fake tensors of inputs know their own numbers as: of tensors without axes on the CPU, in double
    /// precision.
    pub fn float_memos(&self) -> Vec<u32> {
        let memo = |input: &GraphArg| {
            let t = &input.real;
            let is_of_cpu = t.dim() == 0 && t.dtype() == Dtype::Float64 && t.device() == Device::CPU && input.spec.subclass.is_none();
            let is_known = is_of_cpu && !input.source.is_number && float_of(t).is_some_and(f64::is_finite);
            input.source.numbers.first().copied().filter(|_| is_known)
        };
        self.inputs.iter().filter_map(memo).collect()
    }

    /// The graph with floats as the numbers that they are: those are no inputs any more.
    pub fn with_numbers(mut self, floats: &[(Symbol, String, f64)]) -> Self {
        let is_needed = |input: &GraphArg| input.source.is_number && floats.iter().any(|(_, origin, _)| *origin == input.source.source);
        let calls: Vec<(NodeId, FloatExpr)> = self
            .graph
            .nodes()
            .filter_map(|n| match &n.meta.value {
                Some(FakeValue::SymFloat(float)) => Some((n.id, (*float.expr).clone())),
                _ => None,
            })
            .collect();
        let value = |s: &Symbol| floats.iter().find(|(known, ..)| known == s).map(|(.., value)| *value);
        for (id, expr) in calls {
            if let Some(number) = expr.evaluate(&|_| None, &value) {
                self.graph.replace_uses(id, &Arg::Float(number));
                self.graph.erase(id);
            }
        }
        let gone: Vec<NodeId> = self.inputs.iter().filter(|i| is_needed(i)).map(|i| i.node).collect();
        // Positions are those among what is left.
        let left = |all: &[GraphArg], at: usize| all.iter().take(at).filter(|i| !is_needed(i)).count();
        let inputs = std::mem::take(&mut self.inputs);
        let storages = std::mem::take(&mut self.storages);
        self.storages = storages
            .into_iter()
            .zip(&inputs)
            .filter(|(_, i)| !is_needed(i))
            .map(|((first, shared), _)| (left(&inputs, first), shared))
            .collect();
        self.inputs = inputs.into_iter().filter(|i| !is_needed(i)).collect();
        for witness in &mut self.witnesses {
            if let Place::Size(at, _) | Place::Stride(at, _) | Place::Offset(at) | Place::Item(at) = &mut witness.at {
                *at = left(&self.touched, *at);
            }
        }
        self.touched.retain(|i| !is_needed(i));
        for id in gone {
            self.graph.erase(id);
        }
        self.env.forget_floats(floats.iter().map(|(s, ..)| s));
        self
    }

    /// The tensor of the caller's that it read under a name.
    pub(in crate::dynamo) fn input_named(&self, name: &str) -> Option<&GraphArg> {
        self.touched.iter().find(|input| input.source.name == name)
    }

    /// Floats of the call that nothing computes with.
    pub fn unread_floats(&self) -> Vec<SymFloat> {
        // What the script wrote may name one that no operator is given.
        let read: HashSet<NodeId> = self.graph.nodes().flat_map(|n| n.inputs()).collect();
        let named = self.graph.nodes().filter(|n| n.op() == Some("aten._local_scalar_dense.default") && !read.contains(&n.id));
        let float = |n: &graph::Node| if let Some(FakeValue::SymFloat(f)) = &n.meta.value { Some(f.clone()) } else { None };
        named.filter_map(float).chain(self.unread.iter().cloned()).collect()
    }

    /// The graph as the script wrote it, which is what Dynamo shows.
    pub fn written(&self) -> Graph {
        self.with_attributes(shown(&self.graph, &self.recorded, None))
    }

    /// The graph that is traced: the operators, each with what the script called (`source_fn`).
    pub fn traced(&self) -> Graph {
        with_source_fns(&self.graph, &self.recorded, None)
    }

    /// What Dynamo keeps as attributes of the graph module is read from there, after the inputs.
    fn with_attributes(&self, mut graph: Graph) -> Graph {
        let attributes: HashMap<&str, &Tensor> =
            self.inputs.iter().filter(|i| i.source.attribute.is_some()).map(|i| (i.source.name.as_str(), &i.real)).collect();
        if attributes.is_empty() {
            return graph;
        }
        let found: Vec<NodeId> = graph.placeholders().filter(|n| attributes.contains_key(&*n.target.text())).map(|n| n.id).collect();
        for id in &found {
            let node = graph.node_mut(*id);
            node.opcode = Opcode::GetAttr;
            let name = node.target.text();
            if let Some(t) = attributes.get(&*name) {
                graph.constants.push((name.as_str().into(), (*t).clone()));
            }
        }
        let rank = |n: &graph::Node| match n.opcode {
            Opcode::Placeholder => 0,
            _ if found.contains(&n.id) => 1,
            _ => 2,
        };
        let mut order: Vec<(u8, NodeId)> = graph.nodes().map(|n| (rank(n), n.id)).collect();
        order.sort_by_key(|(rank, _)| *rank);
        graph.reorder(order.into_iter().map(|(_, id)| id).collect());
        if self.inputs.iter().any(|i| i.source.is_frozen) {
            before_readers(&mut graph, &found);
        }
        graph
    }

    /// Inputs that are one tensor in another graph, and are not here.
    pub(in crate::dynamo) fn duplicates(&self, other: &CapturedGraph) -> Option<(String, String)> {
        if other.touched.len() >= self.touched.len() {
            return None;
        }
        // What modules hold may be held twice.
        let given: Vec<&GraphArg> = self.touched.iter().filter(|i| !i.source.is_static && !i.source.is_number).collect();
        let names: Vec<String> =
            given.iter().map(|i| format!("\"{}\"", crate::dynamo::guards::text::strip_locals(&i.source.source))).collect();
        let missing = self.touched.iter().any(|i| other.touched.iter().all(|o| o.source.name != i.source.name));
        let last = given.last()?.source.source.clone();
        missing.then(|| (format!("Duplicate tensors found: [{}]", names.join(", ")), last))
    }

    /// The values of its symbols in the call it was recorded in.
    pub fn hints(&self) -> HashMap<Symbol, i64> {
        // Sizes that are unbacked while something is compiled have values, too.
        let read = |symbol: &Symbol| {
            let witness = self.witnesses.iter().find(|w| w.symbol == *symbol)?;
            let Place::Size(input, dim) = witness.at else { return None };
            self.touched.get(input)?.real.sizes().get(dim)?.as_int()
        };
        let value = |(symbol, info): (Symbol, SymbolInfo)| {
            let value = info.hint.or_else(|| read(&symbol))?;
            Some((symbol, value))
        };
        self.env.symbols().into_iter().filter_map(value).collect()
    }
}

/// Whether a captured graph computes anything.
pub fn computes(graph: &Graph) -> bool {
    graph.nodes().any(|n| matches!(n.target, Target::HigherOrder(_)) || n.op().is_some_and(|o| crate::dispatch::lookup(o).is_some()))
}

impl Recorder {
    /// Ends the graph: `outputs` are the fake tensors and the symbolic sizes whose values are wanted.
    pub fn end(&self, outputs: &[Value]) -> Result<CapturedGraph> {
        let wanted = |output: &Value| match output {
            Value::Tensor(t) => {
                let stored = self.output().stored.borrow().iter().find(|(fake_tensor, _)| fake_tensor.is(t)).map(|(_, id)| *id);
                stored
                    .or_else(|| self.output().nodes.borrow().get(&t.id()).copied())
                    .map(Arg::Node)
                    .ok_or_else(|| Error::runtime("an output that was not recorded"))
            }
            // The graph gives floats as tensors.
            Value::SymFloat(float) if self.has_float(float) => {
                let held = crate::t!("scalar_tensor", output.clone(); dtype = Dtype::Float64, device = crate::tensor::Device::CPU, pin_memory = false)?;
                self.argument(&Value::Tensor(held))
            }
            other => self.argument(other),
        };
        let args = outputs.iter().map(wanted).collect::<Result<Vec<_>>>()?;
        // Blocks that change the grad mode are left where a graph ends, and entered again by the next one; what a function set stays.
        let around = self.output().around.take();
        // A function that is called where the graph ends has not set its mode yet.
        let is_split = self.output().is_split.take();
        let mode = if is_split { self.grad_mode() } else { modes().grad };
        if around.is_some_and(|mode| mode != self.grad_mode()) {
            self.record_grad_mode(!self.grad_mode());
        }
        let mut graph = self.output().graph.replace(Graph::new("GraphModule"));
        self.check_defined(&mut graph);
        self.move_checks(&mut graph);
        let as_written = |(value, arg): (&Value, &Arg)| {
            let node = value.as_tensor().and_then(|t| self.written_node(t, None));
            node.map_or_else(|| arg.clone(), Arg::Node)
        };
        let written: Vec<Arg> = outputs.iter().zip(&args).map(as_written).collect();
        let output = graph.set_output(Arg::Tuple(args));
        let call = WrittenCall {
            target: Target::Name("output".into()),
            name: "output".into(),
            args: vec![Arg::Tuple(written)],
            kwargs: Vec::new(),
            stored: Vec::new(),
        };
        graph.node_mut(output).written = Some(graph::Written { call: 0, says: Some(Box::new(call)), gives: None });
        inline_single_calls(&mut graph);
        let symbols = self.output().symbols.take();
        drop_known_sizes(&mut graph);
        let held = find_holders(&mut graph, &self.output().sizes_without_holder.take(), &symbols.env);
        unify_sizes(&mut graph, !self.output().holders.borrow().is_empty());
        let items = self.output().items.take();
        drop_whole_slices(&mut graph, &items, &symbols.env);
        let recorded = graph.nodes().map(|n| n.id).collect();
        let unread = drop_unread_items(&mut graph, &items);
        drop_idle_grad_modes(&mut graph, self.grad.get());
        // Inputs that were read but not used are none; a symbol is one where a tensor that is used has it.
        let readers = readers(&graph);
        let unused = |id: NodeId| readers[id.0 as usize] == 0;
        let touched = self.output().inputs.take();
        let mut inputs = touched.clone();
        let mut given = self.output().given.take();
        let (kept, mut sizes) = {
            let output = self.output();
            let holders = output.holders.borrow();
            kept_inputs(&touched, &output.kept.borrow(), (&holders, &held), &symbols.env)
        };
        // A float that is only compared is none either.
        inputs.retain(|i| !unused(i.node) || kept.contains(&i.node) || i.source.is_number && given.contains(&i.node));
        given.extend(kept);
        let in_shapes = |i: &GraphArg| {
            let geometry = &i.spec.spec.geometry;
            geometry.sizes.iter().chain(&geometry.strides).flat_map(|s| s.expr().symbols()).collect::<Vec<_>>()
        };
        let mut in_shapes: std::collections::BTreeSet<Symbol> = inputs.iter().flat_map(in_shapes).collect();
        in_shapes.extend(symbols.witnesses.iter().filter_map(|w| match w.at {
            Place::Offset(input) if touched.get(input).is_some_and(|i| !unused(i.node)) => Some(w.symbol.clone()),
            _ => None,
        }));
        // Of symbols that turned out to be equal, those that are used are inputs, and the first of the others.
        graph.retain(|n| match (&n.meta.value, n.opcode) {
            (Some(FakeValue::Int(size)), crate::graph::Opcode::Placeholder) => {
                let symbol = size.expr().as_symbol().cloned();
                // Of a size that several hold, the first is an input.
                let is_first = symbol.as_ref().is_some_and(|s| sizes.remove(s));
                let used = !unused(n.id) || given.contains(&n.id);
                used || is_first || symbol.is_some_and(|s| in_shapes.remove(&s))
            }
            (_, crate::graph::Opcode::Placeholder) => !unused(n.id) || given.contains(&n.id),
            _ => true,
        });
        attributes_first(&mut graph, &mut inputs);
        place_backward_state(&mut graph);
        let backward_state = self.output().backward_state.take().map(|state| state as Rc<dyn BackwardState>);
        let grad = self.grad.get();
        self.begin_output();
        self.resumes_in.set(around.unwrap_or(mode));
        self.grad.set(if is_split { mode } else { self.resumes_in.get() });
        if self.grad.get() != mode {
            self.record_grad_mode(mode);
        }
        let autocast = self.autocast.replace(modes().autocast);
        let storages = inputs
            .iter()
            .enumerate()
            .map(|(i, input)| {
                let same = |o: &&GraphArg| o.real.storage().same(&input.real.storage());
                // Who shares memory matters where somebody writes to it.
                let is_written = inputs.iter().filter(same).any(|o| o.fake_tensor.version() > 0);
                let first = if is_written { inputs.iter().position(|o| same(&o)).unwrap_or(i) } else { i };
                (first, is_written && inputs.iter().filter(same).count() > 1)
            })
            .collect();
        let (env, witnesses, inference, state) = (symbols.env, symbols.witnesses, modes().inference, State::now());
        Ok(CapturedGraph {
            backward_state,
            state,
            storages,
            recorded,
            unread,
            graph,
            inputs,
            touched,
            grad,
            autocast,
            inference,
            env,
            witnesses,
        })
    }
}

/// Nodes right before the first that reads each.
fn before_readers(graph: &mut Graph, nodes: &[NodeId]) {
    let mut waiting: Vec<NodeId> = nodes.to_vec();
    let mut order = Vec::with_capacity(graph.len());
    for node in graph.nodes().filter(|n| !nodes.contains(&n.id)) {
        let read = node.reads();
        order.extend(waiting.extract_if(.., |id| read.contains(id)));
        order.push(node.id);
    }
    graph.reorder(order);
}

/// What is an attribute of the graph's module comes before its inputs, parameters first.
fn attributes_first(graph: &mut Graph, inputs: &mut [GraphArg]) {
    let attributes: HashSet<NodeId> = inputs.iter().filter(|i| i.source.attribute.is_some()).map(|i| i.node).collect();
    if attributes.is_empty() {
        return;
    }
    let is_parameter = |input: &GraphArg| input.source.is_parameter || !input.source.is_frozen;
    let others: HashSet<NodeId> = inputs.iter().filter(|i| !is_parameter(i)).map(|i| i.node).collect();
    let rank = |id: &NodeId| (!attributes.contains(id), others.contains(id) && attributes.contains(id));
    inputs.sort_by_key(|input| rank(&input.node));
    let mut order: Vec<NodeId> = graph.nodes().map(|n| n.id).collect();
    order.sort_by_key(rank);
    graph.reorder(order);
}

/// Hooks that stay calls are in a state that stands among the inputs where the first of them was registered.
fn place_backward_state(graph: &mut Graph) {
    let is_hook = |n: &graph::Node| matches!(&n.target, Target::HigherOrder(name) if &**name == "register_hook_trampoline");
    let hooks: Vec<NodeId> = graph.nodes().filter(|n| is_hook(n)).map(|n| n.id).collect();
    let Some(first) = hooks.first() else { return };
    let place = graph.placeholders().filter(|n| n.id < *first).count();
    for id in hooks {
        graph.node_mut(id).args.push(Arg::Int(place as i64));
    }
}

/// A size that nothing holds is the input that turned out to be equal to it, where there is one. Gives those sizes.
fn find_holders(graph: &mut Graph, alone: &[NodeId], env: &ShapeEnv) -> Vec<Expr> {
    let size = |node: &graph::Node| match &node.meta.value {
        Some(FakeValue::Int(size)) => Some(env.simplify(&size.expr())),
        _ => None,
    };
    let holder = |id: &NodeId| {
        let own = size(graph.node(*id))?;
        let other = graph.placeholders().find(|n| !alone.contains(&n.id) && size(n).is_some_and(|size| size == own))?;
        Some((*id, Arg::Node(other.id)))
    };
    let held: HashMap<NodeId, Arg> = alone.iter().filter(|id| graph.nodes().any(|n| n.id == **id)).filter_map(holder).collect();
    let sizes = held.keys().filter_map(|id| size(graph.node(*id))).collect();
    graph.replace_all(&held);
    graph.retain(|n| !held.contains_key(&n.id));
    sizes
}

/// Inputs that the graph has in any case, and symbols: what holds a size is an input where that turned out to be a number, or one of those
/// that nothing `held`.
fn kept_inputs(
    touched: &[GraphArg],
    kept: &HashSet<u64>,
    (holders, held): (&[u64], &[Expr]),
    env: &ShapeEnv,
) -> (HashSet<NodeId>, HashSet<Symbol>) {
    let mut nodes: HashSet<NodeId> = touched.iter().filter(|i| kept.contains(&i.real.id())).map(|i| i.node).collect();
    let mut symbols = HashSet::new();
    for input in touched.iter().filter(|i| holders.contains(&i.real.id())) {
        let Some(SymInt::Sym(size, _)) = input.spec.spec.geometry.sizes.get(1) else { continue };
        let now = env.simplify(size);
        if now.as_int().is_some() || held.contains(&now) {
            nodes.insert(input.node);
        } else if now == *size
            && let Some(symbol) = size.as_symbol()
        {
            symbols.insert(symbol.clone());
        }
    }
    (nodes, symbols)
}

/// `x[:, i]` takes no slice of a dimension whose size is known: of one that became a number later on, either.
fn drop_whole_slices(graph: &mut Graph, items: &[NodeId], env: &ShapeEnv) {
    let whole = |id: &NodeId| {
        let (of, dim) = crate::dynamo::guards::same_graph::sliced_whole(graph.node(*id))?;
        let size = graph.node(of).tensor()?.geometry.sizes.get(usize::try_from(dim).ok()?)?.clone();
        let became_known = size.as_int().is_none() && env.simplify(&size.expr()).as_int().is_some();
        became_known.then_some((*id, of))
    };
    for (id, of) in items.iter().filter_map(whole).collect::<Vec<_>>() {
        graph.replace_uses(id, &Arg::Node(of));
        graph.erase(id);
    }
}

/// Items that nobody reads (`x[0]`, of which `items` are, one of several results) are no part of a graph, nor are sizes; other
/// calls are, read or not.
fn drop_unread_items(graph: &mut Graph, items: &[NodeId]) -> Vec<SymFloat> {
    let mut readers = readers(graph);
    let nodes: Vec<_> = graph.nodes().map(|n| n.id).collect();
    let mut dropped = std::collections::HashSet::new();
    for id in nodes.into_iter().rev() {
        let node = graph.node(id);
        let is_item = match &node.target {
            crate::graph::Target::Getitem | crate::graph::Target::Operator(_) => true,
            _ => items.contains(&id) || matches!(node.meta.value, Some(FakeValue::SymFloat(_))),
        };
        if is_item && readers[id.0 as usize] == 0 {
            node.reads().iter().for_each(|i| readers[i.0 as usize] -= 1);
            dropped.insert(id);
        }
    }
    let is_of_call = |n: &&graph::Node| dropped.contains(&n.id) && n.op() == Some("aten._local_scalar_dense.default");
    let float = |n: &graph::Node| if let Some(FakeValue::SymFloat(f)) = &n.meta.value { Some(f.clone()) } else { None };
    let unread = graph.nodes().filter(is_of_call).filter_map(float).filter(|f| f.hint().is_some()).collect();
    graph.retain(|n| !dropped.contains(&n.id));
    unread
}

/// The grad mode that a node sets.
pub(in crate::dynamo) fn sets_grad_mode(node: &graph::Node) -> Option<bool> {
    match (&node.target, node.args.as_slice()) {
        (Target::Torch { op, .. }, [Arg::Bool(enabled)]) if &**op == "_C._set_grad_enabled" => Some(*enabled),
        _ => None,
    }
}

/// Drops changes of the grad mode that the next node takes back, as Dynamo does: `grad` is the mode that the graph
/// begins in.
fn drop_idle_grad_modes(graph: &mut Graph, mut grad: bool) {
    let mut idle = HashSet::new();
    let nodes: Vec<_> = graph.nodes().map(|n| (n.id, sets_grad_mode(n))).collect();
    for pair in nodes.windows(2) {
        let [(first, set_first), (second, set_second)] = pair else { continue };
        if *set_first != Some(!grad) || idle.contains(first) {
            continue;
        }
        grad = !grad;
        if *set_second == Some(!grad) {
            grad = !grad;
            idle.extend([*first, *second]);
        }
    }
    if !idle.is_empty() {
        graph.retain(|n| !idle.contains(&n.id));
    }
}

/// How many nodes read each, as it runs or as it is written.
fn readers(graph: &Graph) -> Vec<usize> {
    let mut readers = vec![0; graph.arena_len()];
    graph.nodes().flat_map(|n| n.reads()).for_each(|id| readers[id.0 as usize] += 1);
    readers
}

/// Symbols that turned out to be the same number are one input, the first. Those of a tape that turned out to be equal are the one whose
/// own symbol stands for all of them.
fn unify_sizes(graph: &mut Graph, is_of_tape: bool) {
    let size_of = |node: &graph::Node| match &node.meta.value {
        Some(FakeValue::Int(size)) => Some(size.expr()).filter(|size| is_of_tape || size.as_int().is_some()),
        _ => None,
    };
    let mut kept: HashMap<Expr, NodeId> = HashMap::new();
    for node in graph.placeholders() {
        let Some(size) = size_of(node) else { continue };
        let is_own = size.as_symbol().is_some_and(|symbol| *symbol.0 == *node.target.text());
        let known = kept.entry(size).or_insert(node.id);
        if is_own {
            *known = node.id;
        }
    }
    let other = |node: &graph::Node| Some((node.id, *kept.get(&size_of(node)?).filter(|known| **known != node.id)?));
    let again: HashMap<NodeId, Arg> = graph.placeholders().filter_map(other).map(|(id, known)| (id, Arg::Node(known))).collect();
    graph.replace_all(&again);
    graph.retain(|n| !again.contains_key(&n.id));
}

/// Sizes of tensors that turned out to be numbers are no inputs: what read them has the number.
fn drop_known_sizes(graph: &mut Graph) {
    let known: HashMap<NodeId, Arg> = graph
        .placeholders()
        .filter_map(|n| match &n.meta.value {
            // The placeholder of a size is called by its symbol, that of a Python number by its place.
            Some(FakeValue::Int(SymInt::Sym(size, env))) if size.as_symbol().is_some_and(|s| *s.0 == *n.target.text()) => {
                Some((n.id, Arg::Int(env.simplify(size).as_int()?)))
            }
            _ => None,
        })
        .collect();
    graph.replace_all(&known);
    graph.retain(|n| !known.contains_key(&n.id));
}
