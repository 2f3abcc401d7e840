//! The recorder: torch-level calls become nodes of a captured graph, real tensors its inputs in order of first use.

use super::failure::Failure;
use super::symbols::{Dim, InputSource, Symbols, Witness};
use super::unsupported::Unsupported;
use super::written::{Writing, shown, with_source_fns};
use crate::aot::compile::InputSpec;
use crate::aot::trace::fake_value;
use crate::autograd::meta as autograd_meta;
use crate::dispatch::{Call, Key, Layer, Modes, Naming, OpEntry, Rule, Value, call_below, modes, set_modes};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{
    self, Arg, FakeValue, FloatNodes, Graph, Meta, NodeId, Shown, SizeNodes, Target, WrittenCall, compute_float, compute_size,
};
use crate::shape::{Expr, FloatExpr, Relation, ShapeEnv, SymFloat, SymInt, Symbol};
use crate::span::{Source, Written, current_module_path, current_source};
use crate::tensor::{Dtype, Tensor};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// An input of a region: the caller's tensor and what stands for it while recording.
#[derive(Clone)]
pub struct RegionInput {
    /// The caller's tensor.
    pub real: Tensor,
    /// Its fake stand-in.
    pub twin: Tensor,
    /// Its placeholder.
    pub node: NodeId,
    /// What the region's cache depends on.
    pub spec: InputSpec,
    /// Where the caller keeps it.
    pub source: InputSource,
}

/// A recorded region, ready to be compiled.
pub struct Region {
    /// The captured graph; its outputs are the lazy tensors asked for.
    pub graph: Graph,
    /// Its inputs that are tensors, in order of first use.
    pub inputs: Vec<RegionInput>,
    /// All tensors of the caller's that were looked at.
    pub touched: Vec<RegionInput>,
    /// The grad mode it began in.
    pub grad: bool,
    /// The short dtype of autocast it began in.
    pub autocast: Option<Dtype>,
    /// Its symbolic sizes.
    pub env: ShapeEnv,
    /// Where its symbols are read among `touched`.
    pub witnesses: Vec<Witness>,
    /// Per input, the first that has its storage, and whether it is shared at all.
    pub(super) storages: Vec<(usize, bool)>,
    /// All nodes of the graph, with those that it dropped because nobody reads them.
    recorded: Vec<NodeId>,
}

impl Region {
    /// The region without the caller's tensors: what a cache may keep.
    pub fn without_tensors(mut self) -> Self {
        for input in self.inputs.iter_mut().chain(&mut self.touched) {
            input.real = input.twin.clone();
        }
        self
    }

    /// The region with floats as the numbers that they are: those are no inputs any more.
    pub fn with_numbers(mut self, floats: &[(Symbol, String, f64)]) -> Self {
        let is_needed = |input: &RegionInput| input.source.is_number && floats.iter().any(|(_, origin, _)| *origin == input.source.source);
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
        let kept: Vec<bool> = self.inputs.iter().map(|i| !is_needed(i)).collect();
        let mut keeps = kept.iter();
        self.storages.retain(|_| keeps.next().copied().unwrap_or(true));
        self.inputs.retain(|i| !is_needed(i));
        for id in gone {
            self.graph.erase(id);
        }
        self.env.forget_floats(floats.iter().map(|(s, ..)| s));
        self
    }

    /// The graph as the script wrote it, which is what PyTorch's front end shows.
    pub fn written(&self) -> Graph {
        shown(&self.graph, &self.recorded, None)
    }

    /// The graph that is traced: the operators, each with what the script called (`source_fn`).
    pub fn traced(&self) -> Graph {
        with_source_fns(&self.graph, &self.recorded)
    }

    /// Inputs that are one tensor in another region, and are not here.
    pub(super) fn duplicates(&self, other: &Region) -> Option<String> {
        if other.touched.len() >= self.touched.len() {
            return None;
        }
        let names: Vec<String> = self.touched.iter().map(|i| format!("\"{}\"", super::strip_locals(&i.source.source))).collect();
        let missing = self.touched.iter().any(|i| other.touched.iter().all(|o| o.source.name != i.source.name));
        missing.then(|| format!("Duplicate tensors found: [{}]", names.join(", ")))
    }

    /// The values of its symbols in the call it was recorded in.
    pub fn hints(&self) -> HashMap<Symbol, i64> {
        self.env.symbols().into_iter().filter_map(|(s, info)| Some((s, info.hint?))).collect()
    }
}

/// The integer that a tensor of one element holds.
pub(super) fn number_of(t: &Tensor) -> Option<i64> {
    let _below = crate::dispatch::Exclude::down_to(Key::Autograd);
    crate::aten!("_local_scalar_dense", t).ok()?.int().ok()
}

/// Whether a captured graph computes anything.
pub fn computes(graph: &Graph) -> bool {
    graph.nodes().any(|n| matches!(n.target, Target::HigherOrder(_)) || n.op().is_some_and(|o| o.starts_with("aten.")))
}

/// Names an input: where the caller keeps it (`L_x_`).
pub type InputName = Rc<dyn Fn(&Tensor, usize) -> InputSource>;
/// Says how the dimensions of an input are treated.
pub type Plan = Rc<dyn Fn(&InputSource, &[SymInt]) -> Vec<Dim>>;
/// Called where recording has to stop: the reason and the place.
pub type OnBreak = Rc<dyn Fn(&Recorder, &Unsupported, Option<Source>) -> Result<()>>;

/// What the recorder asks of the front end whose calls it records.
#[derive(Clone)]
pub struct Surroundings {
    /// Where the frames of the recorded call stand, outermost first.
    pub places: Rc<dyn Fn() -> Rc<[u32]>>,
    /// Asked before anything is recorded: a function that was recorded may have returned, another may have been called.
    pub look_around: Rc<dyn Fn(&Recorder) -> Result<()>>,
    /// Called where recording has to stop.
    pub on_break: OnBreak,
    /// Whether the script stores the result of the operator that it evaluates in an object or a container (`self.n += 1`).
    pub stores_result: Rc<dyn Fn() -> bool>,
    /// Whether `.item()` is part of the graph.
    pub wants_scalars: Rc<dyn Fn() -> bool>,
    /// Whether calls whose results' sizes their values decide are part of the graph.
    pub wants_sizes: Rc<dyn Fn() -> bool>,
}

/// What is recorded of one call of a compiled function, region after region.
pub struct Recorder {
    pub(super) graph: RefCell<Graph>,
    pub(super) nodes: RefCell<HashMap<u64, NodeId>>,
    pub(super) inputs: RefCell<Vec<RegionInput>>,
    pub(super) by_real: RefCell<HashMap<u64, usize>>,
    /// Whether gradients are on around the function that is recorded.
    pub(super) grad: Cell<bool>,
    autocast: Cell<Option<Dtype>>,
    /// Blocks of autocast that began in this region.
    blocks: RefCell<Vec<NodeId>>,
    /// Blocks of inference mode that began in this region.
    inference_blocks: RefCell<Vec<NodeId>>,
    /// Lazy tensors whose values have come: what stands for them now.
    arrived: RefCell<HashMap<u64, Tensor>>,
    /// Lazy tensors of the region being recorded.
    pub(super) lazy: RefCell<Vec<std::rc::Weak<crate::tensor::TensorImpl>>>,
    /// Arguments of the call that ends the region, whose values it reads.
    needed: RefCell<Vec<Tensor>>,
    /// Calls as they are written.
    pub(super) writing: Writing,
    /// Numbers that only the run knows and that what ends the region reads.
    needed_numbers: RefCell<Vec<Value>>,
    /// Numbers of tensors that are part of the graph, by tensor.
    scalars: RefCell<HashMap<u64, Value>>,
    /// Calls that `x[...]` makes.
    pub(super) items: RefCell<Vec<NodeId>>,
    /// Per call, where the frames stood, and how many inputs there were before it.
    pub(super) stacks: RefCell<HashMap<NodeId, (Rc<[u32]>, usize)>>,
    /// Per input, where the frames stood when it became one.
    pub(super) input_places: RefCell<Vec<Rc<[u32]>>>,
    /// Where the frames stood when what is recorded again was recorded first.
    pub(super) repeated_at: RefCell<Option<Rc<[u32]>>>,
    /// Inputs that were written to and stored back where they came from, and the calls that did it.
    pub(super) stored: RefCell<Vec<(Tensor, NodeId)>>,
    pub(super) surroundings: Surroundings,
    input_name: InputName,
    plan: Plan,
    constants: Cell<usize>,
    is_over: Cell<bool>,
    /// Which region this is: counts up where one ends.
    pub(super) epoch: Cell<u32>,
    pub(super) symbols: RefCell<Symbols>,
    /// The last call that failed.
    pub(super) failure: RefCell<Option<Failure>>,
    /// Nodes that compute symbolic sizes.
    pub(super) sizes: RefCell<HashMap<Expr, NodeId>>,
    /// Nodes that compute symbolic floats.
    floats: RefCell<Vec<(Rc<FloatExpr>, NodeId)>>,
    /// Symbols of Python numbers that were not used yet, and the names of the inputs that they become.
    numbers: RefCell<HashMap<Expr, String>>,
    /// What the script computed from such numbers alone: calls that are made where something reads them.
    deferred: RefCell<HashMap<Expr, (&'static str, Vec<SymInt>)>>,
}

/// Items that nobody reads (`x[0]`, of which `items` are, one of several results) are no part of a region, nor are sizes; other
/// calls are, read or not.
fn drop_unread_items(graph: &mut Graph, items: &[NodeId]) {
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
    graph.retain(|n| !dropped.contains(&n.id));
}

/// The grad mode that a node sets.
pub(super) fn sets_grad_mode(node: &graph::Node) -> Option<bool> {
    match (&node.target, node.args.as_slice()) {
        (Target::Torch { op, .. }, [Arg::Bool(enabled)]) if &**op == "_C._set_grad_enabled" => Some(*enabled),
        _ => None,
    }
}

/// Drops changes of the grad mode that the next node takes back, as PyTorch's front end does: `grad` is the mode that the graph
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

/// The name of the autograd node that gave a tensor, where it requires grad; empty for a leaf.
pub(super) fn grad_fn(t: &Tensor) -> Option<Rc<str>> {
    let node = || autograd_meta::peek(t, |m| m.grad_fn.as_ref().map(|(node, _)| node.name.as_str().into()));
    autograd_meta::requires_grad(t).then(|| node().unwrap_or_else(|| "".into()))
}

/// How many nodes read each, as it runs or as it is written.
fn readers(graph: &Graph) -> Vec<usize> {
    let mut readers = vec![0; graph.arena_len()];
    graph.nodes().flat_map(|n| n.reads()).for_each(|id| readers[id.0 as usize] += 1);
    readers
}

impl Recorder {
    /// A recorder for one call.
    pub fn new(input_name: InputName, plan: Plan, surroundings: Surroundings) -> Rc<Self> {
        Rc::new(Recorder {
            graph: RefCell::new(Graph::new("GraphModule")),
            nodes: RefCell::default(),
            inputs: RefCell::default(),
            by_real: RefCell::default(),
            grad: Cell::new(modes().grad),
            autocast: Cell::new(modes().autocast),
            blocks: RefCell::default(),
            inference_blocks: RefCell::default(),
            arrived: RefCell::default(),
            lazy: RefCell::default(),
            needed: RefCell::default(),
            writing: Writing::default(),
            needed_numbers: RefCell::default(),
            scalars: RefCell::default(),
            items: RefCell::default(),
            stacks: RefCell::default(),
            input_places: RefCell::default(),
            repeated_at: RefCell::default(),
            stored: RefCell::default(),
            surroundings,
            input_name,
            plan,
            failure: RefCell::default(),
            constants: Cell::new(0),
            is_over: Cell::new(false),
            epoch: Cell::new(0),
            symbols: RefCell::default(),
            sizes: RefCell::default(),
            floats: RefCell::default(),
            numbers: RefCell::default(),
            deferred: RefCell::default(),
        })
    }

    /// Whether nothing was recorded since the last region ended.
    pub fn is_empty(&self) -> bool {
        !computes(&self.graph.borrow())
    }

    /// Whether a tensor is a lazy one of the region being recorded.
    pub fn is_lazy(&self, t: &Tensor) -> bool {
        t.is_fake() && self.nodes.borrow().contains_key(&t.id())
    }

    /// Lazy tensors of this region that are still alive, in order of creation.
    pub fn alive(&self) -> Vec<Tensor> {
        self.lazy.borrow().iter().filter_map(Tensor::upgrade).collect()
    }

    /// At which place among its arguments the call that ends the region reads a tensor.
    pub fn needs(&self, t: &Tensor) -> Option<usize> {
        self.needed.borrow().iter().position(|n| n.is(t) || self.current(n).is(t))
    }

    /// A symbol for a Python number of the call, which becomes an input where it is used. `number` is that of its source.
    pub fn number(&self, source: &str, number: u32, value: i64) -> SymInt {
        let size = self.symbols.borrow_mut().number(source, number, value);
        self.numbers.borrow_mut().insert(size.expr(), number_name(source));
        size
    }

    /// A symbol for a Python float of the call, which becomes an input where it is used: a tensor that holds it.
    pub fn float_number(&self, source: &str, number: u32, value: f64) -> SymFloat {
        self.symbols.borrow_mut().float(source, number, value)
    }

    /// A float was computed from others: the call stands here, where something reads it.
    pub fn computed_float(&self, float: &SymFloat) {
        if self.has_float(float) {
            // What cannot be part of the graph is asked for its number where it is used.
            let _ = compute_float(self, float);
        }
    }

    /// Whether a symbolic float belongs to the region being recorded.
    pub fn has_float(&self, float: &SymFloat) -> bool {
        float.env.same(&self.symbols.borrow().env)
    }

    /// The input that a float of the call becomes, and the call that reads its number.
    fn float_input(&self, float: &SymFloat, symbol: &Symbol) -> Result<Arg> {
        let origin = float.env.float_origin(symbol).unwrap_or_default();
        let real = {
            let _below = crate::dispatch::Exclude::down_to(Key::Autograd);
            crate::t!("full", Vec::<i64>::new(), float.hint().unwrap_or_default(); dtype = Dtype::Float64)?
        };
        let spec = InputSpec::of(&real)?;
        let twin = Tensor::fake(&spec.spec)?;
        let source = InputSource { name: number_name(&origin), source: origin, is_static: true, is_number: true, ..InputSource::default() };
        let meta = Meta { value: Some(FakeValue::Tensor(spec.spec.clone())), ..Meta::default() };
        let node = self.graph.borrow_mut().placeholder(&source.name, meta);
        self.nodes.borrow_mut().insert(twin.id(), node);
        self.input_places.borrow_mut().push(self.place());
        self.inputs.borrow_mut().push(RegionInput { real, twin, node, spec, source });
        let target = Target::Torch { op: "aten._local_scalar_dense.default".into(), shown: Shown::Method("item".into()) };
        Ok(self.float_call("item", target, vec![Arg::Node(node)], float))
    }

    fn float_call(&self, name: &str, target: Target, args: Vec<Arg>, float: &SymFloat) -> Arg {
        let meta = self.meta(FakeValue::SymFloat(float.clone()));
        let id = self.graph.borrow_mut().call(name, target, args, Vec::new(), meta);
        self.graph.borrow_mut().node_mut(id).written = self.writing.stamp();
        self.floats.borrow_mut().push((float.expr.clone(), id));
        Arg::Node(id)
    }

    /// A tensor of the caller's was read: it becomes an input now, as PyTorch's front end has it. A module's parameters and
    /// buffers are `is_static`: they live as long as the model.
    pub fn touch(&self, t: &Tensor, is_static: bool) -> Result<()> {
        if t.is_fake() {
            return Ok(());
        }
        self.stand_in(t)?;
        if is_static && let Some(i) = self.by_real.borrow().get(&t.id()) {
            self.inputs.borrow_mut()[*i].spec.is_static = true;
        }
        Ok(())
    }

    /// What stands for a tensor of the caller's while recording, if it is an input already: its sizes may be symbolic.
    pub fn twin(&self, t: &Tensor) -> Option<Tensor> {
        self.by_real.borrow().get(&self.current(t).id()).map(|i| self.inputs.borrow()[*i].twin.clone())
    }

    /// Ends the region: `outputs` are the lazy tensors and the symbolic sizes whose values are wanted.
    pub fn end(&self, outputs: &[Value]) -> Result<Region> {
        let wanted = |output: &Value| match output {
            Value::Tensor(t) => {
                let stored = self.stored.borrow().iter().find(|(twin, _)| twin.is(t)).map(|(_, id)| *id);
                stored
                    .or_else(|| self.nodes.borrow().get(&t.id()).copied())
                    .map(Arg::Node)
                    .ok_or_else(|| Error::runtime("an output that was not recorded"))
            }
            other => self.argument(other),
        };
        let args = outputs.iter().map(wanted).collect::<Result<Vec<_>>>()?;
        self.stored.borrow_mut().clear();
        self.epoch.set(self.epoch.get() + 1);
        let mut graph = self.graph.replace(Graph::new("GraphModule"));
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
        self.writing.clear();
        let symbols = self.symbols.take();
        self.sizes.borrow_mut().clear();
        self.numbers.borrow_mut().clear();
        self.deferred.borrow_mut().clear();
        self.floats.borrow_mut().clear();
        self.scalars.borrow_mut().clear();
        unify_sizes(&mut graph);
        let recorded = graph.nodes().map(|n| n.id).collect();
        drop_unread_items(&mut graph, &self.items.take());
        drop_idle_grad_modes(&mut graph, self.grad.get());
        // Inputs that were looked at but not used are none; a symbol is one where a tensor that is used has it.
        let readers = readers(&graph);
        let unused = |id: NodeId| readers[id.0 as usize] == 0;
        let touched = self.inputs.take();
        let mut inputs = touched.clone();
        inputs.retain(|i| !unused(i.node) || i.source.is_number);
        let in_shapes = |i: &RegionInput| {
            let geometry = &i.spec.spec.geometry;
            geometry.sizes.iter().chain(&geometry.strides).flat_map(|s| s.expr().symbols()).collect::<Vec<_>>()
        };
        let mut in_shapes: std::collections::BTreeSet<Symbol> = inputs.iter().flat_map(in_shapes).collect();
        // Of symbols that turned out to be equal, those that are used are inputs, and the first of the others.
        graph.retain(|n| match (&n.meta.value, n.opcode) {
            (Some(FakeValue::Int(size)), crate::graph::Opcode::Placeholder) => {
                !unused(n.id) || size.expr().as_symbol().is_some_and(|s| in_shapes.remove(s))
            }
            (_, crate::graph::Opcode::Placeholder) => !unused(n.id) || touched.iter().any(|i| i.node == n.id && i.source.is_number),
            _ => true,
        });
        // A block that turns gradients on or off is left where a graph ends, and entered again by the next one.
        let grad = self.grad.get();
        if modes().grad != grad {
            self.record_grad_mode(modes().grad);
        }
        let autocast = self.autocast.replace(modes().autocast);
        self.blocks.borrow_mut().clear();
        self.inference_blocks.borrow_mut().clear();
        self.nodes.borrow_mut().clear();
        self.lazy.borrow_mut().clear();
        self.stacks.borrow_mut().clear();
        self.input_places.borrow_mut().clear();
        self.by_real.borrow_mut().clear();
        let storages = inputs
            .iter()
            .map(|input| {
                let same = |o: &&RegionInput| o.real.storage().same(&input.real.storage());
                (inputs.iter().position(|o| same(&o)).unwrap_or(0), inputs.iter().filter(same).count() > 1)
            })
            .collect();
        Ok(Region { storages, recorded, graph, inputs, touched, grad, autocast, env: symbols.env, witnesses: symbols.witnesses })
    }

    /// Says that a lazy tensor's value has come.
    pub fn arrive(&self, lazy: &Tensor, real: &Tensor) {
        self.arrived.borrow_mut().insert(lazy.id(), real.clone());
    }

    /// The tensor that stands for a lazy one of an earlier region; others stand for themselves.
    pub fn current(&self, t: &Tensor) -> Tensor {
        let arrived = self.arrived.borrow();
        std::iter::successors(Some(t), |t| arrived.get(&t.id())).last().unwrap_or(t).clone()
    }

    /// Stops the region here.
    pub fn break_graph(&self, reason: &Unsupported) -> Result<()> {
        self.look_around()?;
        if self.is_over.get() {
            return Ok(());
        }
        (self.surroundings.on_break.clone())(self, reason, current_source())
    }

    /// Stops the region here, at a call that reads tensors.
    pub fn break_graph_at(&self, reason: &Unsupported, read: Vec<Tensor>) -> Result<()> {
        self.needed.replace(read);
        let broke = self.break_graph(reason);
        self.needed.borrow_mut().clear();
        broke
    }

    /// Stops the region here, because a number that only the run knows is needed: afterwards it is known.
    pub fn need_number(&self, number: &Value, reason: &Unsupported) -> Result<()> {
        self.needed_numbers.borrow_mut().push(number.clone());
        let broke = self.break_graph(reason);
        self.needed_numbers.borrow_mut().clear();
        broke
    }

    /// The script says that a condition holds on numbers that only the run knows: the graph checks it.
    pub fn expect(&self, left: &SymInt, relation: Relation, right: &SymInt) -> Result<()> {
        // A bound of one number is the least or the largest that it may be.
        let is_bare = left.expr().as_symbol().is_some();
        let (relation, right) = match (relation, right.as_int().filter(|_| is_bare)) {
            (Relation::Lt, Some(bound)) => (Relation::Le, &SymInt::Int(bound - 1)),
            (Relation::Gt, Some(bound)) => (Relation::Ge, &SymInt::Int(bound + 1)),
            (relation, _) => (relation, right),
        };
        let condition = relation.condition(left, right);
        let meta = || self.meta(FakeValue::Condition(condition.as_str().into()));
        let args = vec![self.size(left)?, self.size(right)?];
        let name = relation.operator();
        let id = self.graph.borrow_mut().call(name, Target::operator(name), args, Vec::new(), meta());
        let shown = self.graph.borrow().node(id).name.to_string();
        let said = format!("Runtime assertion failed for expression {condition} on node '{shown}'");
        let target = Target::Op("aten._assert_scalar.default".into());
        let args = vec![Arg::Node(id), Arg::Str(said.as_str().into())];
        let check = self.graph.borrow_mut().call("_assert_scalar_default", target, args, Vec::new(), Meta { value: None, ..meta() });
        for id in [id, check] {
            self.stacks.borrow_mut().insert(id, (self.place(), self.inputs.borrow().len()));
        }
        self.symbols.borrow().env.expect(&left.expr(), relation, &right.expr());
        Ok(())
    }

    /// A size that the values of a call decide: the graph reads it off the result and checks that it is one.
    fn bind_size(&self, size: &SymInt, most: Option<i64>, result: &Value) -> Result<()> {
        let mut found = None;
        result.for_each_tensor(&mut |t| {
            let dim = t.sizes().iter().position(|s| s.as_int().is_none() && s.expr() == size.expr());
            found = found.or(dim.and_then(|d| Some((self.nodes.borrow().get(&t.id()).copied()?, d))));
        });
        let Some((node, dim)) = found else { return Ok(()) };
        let meta = self.meta(FakeValue::Int(size.clone()));
        let target = Target::Op("aten.sym_size.int".into());
        let id = self.graph.borrow_mut().call("sym_size_int", target, vec![Arg::Node(node), Arg::Int(dim as i64)], Vec::new(), meta);
        self.stacks.borrow_mut().insert(id, (self.place(), self.inputs.borrow().len()));
        self.sizes.borrow_mut().insert(size.expr(), id);
        self.expect(size, Relation::Ge, &SymInt::Int(0))?;
        most.map_or(Ok(()), |most| self.expect(size, Relation::Le, &SymInt::Int(most)))
    }

    /// Whether `.item()` is part of the graph.
    pub fn wants_scalars(&self) -> bool {
        (self.surroundings.wants_scalars)()
    }

    /// Numbers that what ends the region reads, as far as they belong to it.
    pub fn needed_numbers(&self) -> Vec<Value> {
        let belongs = |v: &&Value| match v {
            Value::Int(size) => self.has_size(size),
            Value::SymFloat(float) => self.has_float(float),
            _ => false,
        };
        self.needed_numbers.borrow().iter().filter(belongs).cloned().collect()
    }

    /// The number that a tensor holds, as part of the graph: that of an input is known in this call and guarded on where it decides,
    /// another only when the graph runs. `None` where it cannot be part of it.
    fn scalar(&self, t: &Tensor) -> Result<Option<Value>> {
        let twin = self.stand_in(t)?;
        let Some(node) = self.nodes.borrow().get(&twin.id()).copied() else { return Ok(None) };
        let dtype = twin.dtype();
        let is_integer = dtype.is_integral() && dtype != Dtype::Bool;
        if !is_integer && !dtype.is_floating() {
            return Ok(None);
        }
        let known = self.scalars.borrow().get(&twin.id()).cloned();
        let number = match known {
            Some(number) => number,
            None if is_integer => {
                let index = self.inputs.borrow().iter().position(|i| i.twin.is(&twin) && i.real.dim() == 0 && i.twin.version() == 0);
                Value::Int(match index {
                    Some(index) => {
                        let input = self.inputs.borrow()[index].clone();
                        let value = number_of(&input.real).unwrap_or_default();
                        self.symbols.borrow_mut().item(&input.source, index, value)
                    }
                    None => self.symbols.borrow().env.unbacked("item", i64::MIN),
                })
            }
            None => Value::SymFloat(self.symbols.borrow().env.unbacked_float("item")),
        };
        let target = Target::Torch { op: "aten._local_scalar_dense.default".into(), shown: Shown::Method("item".into()) };
        let inputs = self.inputs.borrow().len();
        let id = match &number {
            Value::SymFloat(float) => match self.float_call("item", target, vec![Arg::Node(node)], float) {
                Arg::Node(id) => id,
                _ => return Ok(None),
            },
            other => {
                let id = self.graph.borrow_mut().call("item", target, vec![Arg::Node(node)], Vec::new(), self.meta(fake_value(other)));
                if let Value::Int(size) = other {
                    self.sizes.borrow_mut().entry(size.expr()).or_insert(id);
                }
                id
            }
        };
        self.stacks.borrow_mut().insert(id, (self.place(), inputs));
        self.scalars.borrow_mut().insert(twin.id(), number.clone());
        Ok(Some(number))
    }

    /// Stops the region before a call that needs values, and makes the call.
    fn break_and_call(&self, reason: &Unsupported, entry: &'static OpEntry, args: &[Value]) -> Result<Value> {
        let mut read = Vec::new();
        args.iter().for_each(|arg| arg.for_each_tensor(&mut |t| read.push(t.clone())));
        self.break_graph_at(reason, read)?;
        let args = args.iter().map(|v| v.map_tensors(&mut |t| Ok(self.current(t)))).collect::<Result<Vec<_>>>()?;
        call_below(Key::Capture, entry, args)
    }

    /// Where the frames of the recorded call stand.
    fn place(&self) -> Rc<[u32]> {
        self.repeated_at.borrow().clone().unwrap_or_else(|| (self.surroundings.places)())
    }

    /// Finds out which function is recorded now.
    pub fn look_around(&self) -> Result<()> {
        (self.surroundings.look_around.clone())(self)
    }

    /// Says whether what follows is recorded, and whether gradients are on around it.
    pub fn go_on(&self, records: bool, grad: bool) {
        self.is_over.set(!records);
        self.grad.set(grad);
    }

    /// Whether recording was given up.
    pub fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// How a lazy tensor was computed: the place, and the call as the front end shows it (`gt(sum_1, 0)`).
    pub fn computed_as(&self, t: &Tensor) -> Option<(Source, String)> {
        let id = self.nodes.borrow().get(&t.id()).copied()?;
        let graph = self.graph.borrow();
        let node = graph.node(id);
        let shown = |arg: &Arg| match arg {
            Arg::Node(id) => graph.node(*id).name.to_string(),
            other => crate::graph::arg_repr(&graph, other),
        };
        let args: Vec<String> = node.args.iter().map(shown).collect();
        let name = match &node.target {
            Target::Torch { op, .. } => op.split('.').nth(1).unwrap_or(op).to_owned(),
            other => other.text(),
        };
        Some((node.meta.source.clone()?, format!("{} = {name}({})", node.name, args.join(", "))))
    }

    /// The lazy tensors that a lazy tensor was computed from.
    pub fn operands(&self, t: &Tensor) -> Vec<Tensor> {
        let nodes = self.nodes.borrow();
        let Some(id) = nodes.get(&t.id()) else { return Vec::new() };
        let inputs = self.graph.borrow().node(*id).inputs();
        self.alive().into_iter().filter(|a| nodes.get(&a.id()).is_some_and(|n| inputs.contains(n))).collect()
    }

    pub(super) fn meta(&self, value: FakeValue) -> Meta {
        Meta {
            value: Some(value),
            source: current_source(),
            module_path: current_module_path(),
            annotation: super::annotation(),
            ..Meta::default()
        }
    }

    /// The stand-in of a tensor: itself if it is lazy, a twin if it is the caller's.
    pub(super) fn stand_in(&self, t: &Tensor) -> Result<Tensor> {
        let t = &self.current(t);
        if self.nodes.borrow().contains_key(&t.id()) {
            return Ok(t.clone());
        }
        if let Some(i) = self.by_real.borrow().get(&t.id()) {
            return Ok(self.inputs.borrow()[*i].twin.clone());
        }
        let mut spec = InputSpec::of(t)?;
        let index = self.inputs.borrow().len();
        let source = (self.input_name)(t, index);
        let dims = (self.plan)(&source, &spec.spec.geometry.sizes);
        let (geometry, made) = self.symbols.borrow_mut().geometry(&source, index, &spec.spec.geometry, &dims);
        for size in made {
            let meta = Meta { value: Some(FakeValue::Int(size.clone())), ..Meta::default() };
            let id = self.graph.borrow_mut().placeholder(&size.to_string(), meta);
            self.sizes.borrow_mut().insert(size.expr(), id);
        }
        spec.spec.geometry = geometry;
        let twin = Tensor::fake(&spec.spec)?;
        if spec.requires_grad {
            autograd_meta::set_requires_grad(&twin, true)?;
        }
        // One that is no leaf may be written to: its stand-in is the result of a call.
        let twin = if spec.requires_grad && !spec.is_leaf {
            let _guard = crate::dispatch::Exclude::only(Key::Capture);
            let before = set_modes(Modes { grad: true, fake: true, ..modes() });
            let cloned = crate::t!("clone", &twin);
            set_modes(before);
            let cloned = cloned?;
            cloned.adopt(&Tensor::fake(&spec.spec)?);
            cloned
        } else {
            twin
        };
        let grad_fn = grad_fn(t).map(|name| if spec.is_leaf { "".into() } else { name });
        let meta = Meta { value: Some(FakeValue::Tensor(spec.spec.clone())), grad_fn, ..Meta::default() };
        let node = self.graph.borrow_mut().placeholder(&source.name, meta);
        self.nodes.borrow_mut().insert(twin.id(), node);
        self.by_real.borrow_mut().insert(t.id(), index);
        self.input_places.borrow_mut().push(self.place());
        self.inputs.borrow_mut().push(RegionInput { real: t.clone(), twin: twin.clone(), node, spec, source });
        Ok(twin)
    }

    /// The tensor the script knows for a stand-in.
    fn known_as(&self, t: &Tensor) -> Tensor {
        self.inputs.borrow().iter().find(|i| i.twin.is(t)).map_or_else(|| t.clone(), |i| i.real.clone())
    }

    fn constant(&self, t: &Tensor) -> NodeId {
        let name = format!("_tensor_constant{}", self.constants.get());
        self.constants.set(self.constants.get() + 1);
        let meta = self.meta(FakeValue::Tensor(t.spec()));
        let mut graph = self.graph.borrow_mut();
        graph.constants.push((name.as_str().into(), t.clone()));
        graph.get_attr(&name, meta)
    }

    /// The node of a symbolic size; one of another region is the number it was there.
    fn size(&self, size: &SymInt) -> Result<Arg> {
        match size {
            SymInt::Sym(_, env) if env.same(&self.symbols.borrow().env) => compute_size(&Sizes(self, env), &size.expr()),
            _ => Ok(Arg::Int(size.guard_int()?)),
        }
    }

    /// The script computed a size from two others: the call stands here, where something reads it.
    pub fn computed(&self, name: &'static str, operands: &[&SymInt], result: &SymInt) {
        let SymInt::Sym(expr, env) = result else { return };
        if !env.same(&self.symbols.borrow().env) || expr.as_symbol().is_some() || self.sizes.borrow().contains_key(&result.expr()) {
            return;
        }
        if self.is_of_numbers(&result.expr()) {
            self.deferred.borrow_mut().entry(result.expr()).or_insert_with(|| (name, operands.iter().map(|o| (*o).clone()).collect()));
        } else if let Ok(args) = operands.iter().map(|size| self.size(size)).collect::<Result<Vec<_>>>() {
            // A sum has one argument, its terms.
            let args = if name == "sym_sum" { vec![Arg::Tuple(args)] } else { args };
            Sizes(self, env).emit(name, args, &result.expr());
        }
    }

    /// Whether a symbolic size belongs to the region being recorded.
    pub fn has_size(&self, size: &SymInt) -> bool {
        matches!(size, SymInt::Sym(_, env) if env.same(&self.symbols.borrow().env) && size.expr().as_int().is_none())
    }

    /// A value as an argument of a recorded call.
    pub fn argument(&self, value: &Value) -> Result<Arg> {
        Ok(match value {
            Value::None | Value::Opaque(_) => Arg::None,
            Value::Bool(b) => Arg::Bool(*b),
            Value::Int(i) => self.size(i)?,
            Value::Float(f) => Arg::Float(*f),
            Value::SymFloat(f) if self.has_float(f) => compute_float(self, f)?,
            Value::SymFloat(f) => Arg::Float(f.guard_float()?),
            Value::Complex(re, im) => Arg::Complex(*re, *im),
            Value::Str(s) => Arg::Str(s.clone()),
            Value::Tensor(t) => {
                let known = self.nodes.borrow().get(&t.id()).copied();
                Arg::Node(known.unwrap_or_else(|| {
                    let id = self.constant(t);
                    self.nodes.borrow_mut().insert(t.id(), id);
                    id
                }))
            }
            Value::List(items) => Arg::List(items.iter().map(|v| self.argument(v)).collect::<Result<_>>()?),
            Value::Dtype(d) => Arg::Dtype(*d),
            Value::Device(d) => Arg::Device(*d),
            Value::Layout(l) => Arg::Layout(*l),
            Value::MemoryFormat(m) => Arg::MemoryFormat(*m),
        })
    }

    /// Records a change of the grad mode.
    pub fn record_grad_mode(&self, enabled: bool) {
        let target = Target::Torch { op: "_C._set_grad_enabled".into(), shown: Shown::Function("torch._C._set_grad_enabled".into()) };
        let meta = Meta::default();
        self.graph.borrow_mut().call("_set_grad_enabled", target, vec![Arg::Bool(enabled)], Vec::new(), meta);
    }

    /// Records that a block of inference mode begins: one without gradients.
    pub fn record_inference_mode(&self) {
        let id = self.inference_call("_enter_inference_mode", false, Arg::Bool(true));
        self.inference_blocks.borrow_mut().push(id);
    }

    /// Records that it ends; gradients are as they were around it.
    pub fn record_inference_mode_end(&self, grad: bool) {
        let block = self.inference_blocks.borrow_mut().pop();
        match block {
            Some(block) => drop(self.inference_call("_exit_inference_mode", grad, Arg::Node(block))),
            // It began in an earlier region.
            None => self.record_grad_mode(grad),
        }
    }

    fn inference_call(&self, name: &str, grad: bool, shown: Arg) -> NodeId {
        let path = Shown::Function(format!("torch.autograd.grad_mode.{name}").into());
        let target = Target::Torch { op: "_C._set_grad_enabled".into(), shown: path };
        let id = self.graph.borrow_mut().call(name, target, vec![Arg::Bool(grad)], Vec::new(), Meta::default());
        self.write(self.graph.borrow_mut().node_mut(id), vec![shown], Vec::new());
        id
    }

    /// Records that a block of autocast begins: with the short dtype, which the script says or not, or off.
    pub fn record_autocast(&self, dtype: Dtype, enabled: bool, is_said: bool) {
        let args = |dtype: Arg| vec![Arg::Str("cpu".into()), dtype, Arg::Bool(enabled), Arg::None];
        let id = self.autocast_call("_enter_autocast", args(Arg::Dtype(dtype)));
        if !is_said {
            self.write(self.graph.borrow_mut().node_mut(id), args(Arg::None), Vec::new());
        }
        self.blocks.borrow_mut().push(id);
    }

    /// Records that a block of autocast ends; `outer` is the short dtype around it.
    pub fn record_autocast_end(&self, outer: Option<Dtype>) {
        let block = self.blocks.borrow_mut().pop();
        match block {
            Some(block) => self.autocast_call("_exit_autocast", vec![Arg::Node(block)]),
            // It began in an earlier region: this one goes on in what was around it.
            None => self.autocast_call(
                "_enter_autocast",
                vec![Arg::Str("cpu".into()), Arg::Dtype(outer.unwrap_or(Dtype::BFloat16)), Arg::Bool(outer.is_some()), Arg::None],
            ),
        };
    }

    fn autocast_call(&self, name: &str, args: Vec<Arg>) -> NodeId {
        let shown = Shown::Function(format!("torch.amp.autocast_mode.{name}").into());
        let target = Target::Torch { op: format!("autocast.{name}").into(), shown };
        self.graph.borrow_mut().call(name, target, args, Vec::new(), Meta::default())
    }

    fn record(&self, entry: &'static OpEntry, args: &[Value], result: &Value, inputs: usize) -> Result<()> {
        let (positional, keywords) = entry.schema.shown(args, |_, value| self.argument(value))?;
        let (shown, name) = match Written::current() {
            Some(Written::Function(prefix, name)) => {
                (Shown::Function(format!("{prefix}{name}").into()), name.rsplit('.').next().unwrap_or(name))
            }
            Some(Written::Method(name)) => (Shown::Method(name.into()), name),
            Some(Written::Operator(symbol)) if symbol.starts_with(|c: char| "+-*/%@&|^<>=!~".contains(c)) => {
                (Shown::Operator(symbol.into()), entry.base_name())
            }
            _ => (Shown::Function(format!("torch.{}", entry.base_name()).into()), entry.base_name()),
        };
        let target = Target::Torch { op: entry.name.into(), shown };
        let meta = Meta { grad_fn: result.as_tensor().and_then(grad_fn), ..self.meta(fake_value(result)) };
        let id = self.graph.borrow_mut().call(name, target, positional, keywords, meta.clone());
        self.graph.borrow_mut().node_mut(id).written = self.writing.stamp();
        let place = self.place();
        self.stacks.borrow_mut().insert(id, (place.clone(), inputs));
        if Written::current() == Some(Written::Operator("[]")) {
            self.items.borrow_mut().push(id);
        }
        let note = |t: &Tensor, id: NodeId| {
            if let Some(before) = self.nodes.borrow_mut().insert(t.id(), id) {
                self.writing.gave_again(t, Some(before), id);
            }
            self.lazy.borrow_mut().push(t.downgrade());
        };
        match result {
            Value::Tensor(t) if entry.is_mutable() => {
                // The written tensor keeps its node: replaying the write replays it on that value.
                self.writing.gave_again(t, None, id);
                self.note_stored(t, id);
            }
            Value::Tensor(t) => note(t, id),
            Value::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    let Value::Tensor(t) = item else { continue };
                    let meta = Meta { value: Some(FakeValue::Tensor(t.spec())), grad_fn: grad_fn(t), ..meta.clone() };
                    let item =
                        self.graph.borrow_mut().call("getitem", Target::Getitem, vec![Arg::Node(id), Arg::Int(i as i64)], Vec::new(), meta);
                    self.graph.borrow_mut().node_mut(item).written = self.writing.stamp();
                    self.stacks.borrow_mut().insert(item, (place.clone(), inputs));
                    note(t, item);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl FloatNodes for Recorder {
    fn size(&self, size: &SymInt) -> Result<Arg> {
        Recorder::size(self, size)
    }

    fn known(&self, float: &SymFloat) -> Option<Arg> {
        self.floats.borrow().iter().find(|(e, _)| *e == float.expr).map(|(_, id)| Arg::Node(*id))
    }

    fn emit(&self, name: &'static str, args: Vec<Arg>, float: &SymFloat) -> Result<Arg> {
        match &*float.expr {
            FloatExpr::Symbol(symbol) => self.float_input(float, symbol),
            _ => Ok(self.float_call(name, Target::operator(name), args, float)),
        }
    }
}

/// The placeholder of a Python number that is found there.
fn number_name(source: &str) -> String {
    let name: String = source.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { ' ' }).collect();
    name.split(' ').filter(|w| !w.is_empty()).collect::<Vec<_>>().join("_") + if source.ends_with(']') { "_" } else { "" }
}

/// Sizes of the graph being recorded, and their symbols.
struct Sizes<'a>(&'a Recorder, &'a ShapeEnv);

impl SizeNodes for Sizes<'_> {
    fn known(&self, expr: &Expr) -> Option<Arg> {
        if let Some(name) = self.0.numbers.borrow_mut().remove(expr) {
            let meta = Meta { value: Some(FakeValue::Int(SymInt::Sym(expr.clone(), self.1.clone()))), ..Meta::default() };
            let id = self.0.graph.borrow_mut().placeholder(&name, meta);
            self.0.sizes.borrow_mut().insert(expr.clone(), id);
        }
        let deferred = self.0.deferred.borrow_mut().remove(expr);
        if let Some((name, operands)) = deferred
            && let Ok(args) = operands.iter().map(|size| self.0.size(size)).collect::<Result<Vec<_>>>()
        {
            let args = if name == "sym_sum" { vec![Arg::Tuple(args)] } else { args };
            return Some(self.emit(name, args, expr));
        }
        self.0.sizes.borrow().get(expr).copied().map(Arg::Node)
    }

    fn emit(&self, name: &'static str, args: Vec<Arg>, expr: &Expr) -> Arg {
        let meta = self.0.meta(FakeValue::Int(SymInt::Sym(expr.clone(), self.1.clone())));
        let id = self.0.graph.borrow_mut().call(graph::node_name(name), Target::operator(name), args, Vec::new(), meta);
        self.0.graph.borrow_mut().node_mut(id).written = self.0.writing.stamp();
        self.0.sizes.borrow_mut().insert(expr.clone(), id);
        Arg::Node(id)
    }

    fn emit_sum(&self, terms: Vec<Arg>, expr: &Expr) -> Option<Arg> {
        Some(self.emit("sym_sum", vec![Arg::Tuple(terms)], expr))
    }

    fn number_first(&self) -> bool {
        true
    }

    fn float(&self, float: &Rc<FloatExpr>) -> Result<Arg> {
        compute_float(self.0, &SymFloat { expr: float.clone(), env: self.1.clone() })
    }
}

/// Symbols that turned out to be the same number are one input, the first.
fn unify_sizes(graph: &mut Graph) {
    let mut first: HashMap<Expr, NodeId> = HashMap::new();
    let mut again = Vec::new();
    for node in graph.nodes().filter(|n| n.opcode == crate::graph::Opcode::Placeholder) {
        let Some(FakeValue::Int(size)) = &node.meta.value else { continue };
        if size.expr().as_int().is_none() {
            continue;
        }
        match first.get(&size.expr()) {
            Some(known) => again.push((node.id, *known)),
            None => drop(first.insert(size.expr(), node.id)),
        }
    }
    for (id, known) in again {
        graph.replace_uses(id, &Arg::Node(known));
        graph.erase(id);
    }
}

/// The operator that decides the result's size by values: the call's own, or the one that makes positions of a mask.
fn sized_by_values(entry: &'static OpEntry, args: &[Value]) -> Option<&'static str> {
    if entry.tags.has(crate::dispatch::Tags::DYNAMIC_SHAPE) {
        // The size may be said.
        let said = entry.schema.arguments.iter().position(|a| a.name == "output_size").and_then(|i| args.get(i));
        let operator = match entry.name {
            "aten.ctc_loss.IntList" => "aten._ctc_loss.default",
            "aten.ctc_loss.Tensor" => "aten._ctc_loss.Tensor",
            name => name,
        };
        return said.is_none_or(Value::is_none).then_some(operator);
    }
    let is_mask = |v: &Value| v.as_tensor().is_some_and(|t| matches!(t.dtype(), Dtype::Bool | Dtype::UInt8));
    let indexes = matches!(entry.name, "aten.index.Tensor" | "aten._unsafe_index.Tensor");
    (indexes && args.get(1)?.list().ok()?.iter().any(is_mask)).then_some("aten.nonzero.default")
}

/// Whether a composite operator is `nonzero` in another form.
fn positions(entry: &OpEntry) -> bool {
    matches!(entry.name, "aten.where.default" | "aten.argwhere.default" | "aten.nonzero_numpy.default")
}

/// The layer of dispatch.
pub struct CaptureLayer(pub Rc<Recorder>);

impl Layer for CaptureLayer {
    fn key(&self) -> Key {
        Key::Capture
    }

    fn wants(&self, _call: &Call) -> bool {
        // Where nothing is recorded, a function that is may have been called.
        !self.0.is_over() || self.0.look_around().is_err() || !self.0.is_over()
    }

    fn seen_as(&self, t: &Tensor) -> Result<Option<Tensor>> {
        self.0.look_around()?;
        if self.0.is_over() { Ok(None) } else { self.0.stand_in(t).map(Some) }
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        let recorder = &self.0;
        recorder.look_around()?;
        if recorder.is_over() {
            let args = args.iter().map(|v| v.map_tensors(&mut |t| Ok(recorder.current(t)))).collect::<Result<Vec<_>>>()?;
            return call_below(Key::Capture, entry, args);
        }
        let before_call = recorder.inputs.borrow().len();
        let writes_geometry = matches!(entry.rule, Rule::InplaceView(_));
        let on_callers =
            writes_geometry && args.first().and_then(Value::as_tensor).is_some_and(|t| !recorder.is_lazy(&recorder.current(t)));
        let sized_by_values = sized_by_values(entry, &args);
        if entry.name == "aten._local_scalar_dense.default"
            && Written::current() == Some(Written::Method("item"))
            && recorder.wants_scalars()
            && let Some(Value::Tensor(t)) = args.first()
            && let Some(number) = recorder.scalar(t)?
        {
            return Ok(number);
        }
        let is_resize = entry.name == "aten.resize_.default";
        let names_sizes = (recorder.surroundings.wants_sizes)();
        let ends = if sized_by_values.is_some() { !names_sizes } else { matches!(entry.rule, Rule::Data) };
        if ends || on_callers || is_resize {
            let reason = if is_resize {
                Unsupported::other("Unsupported Tensor.resize_() call")
            } else if on_callers {
                let input = args.first().and_then(Value::as_tensor).map(|t| (recorder.input_name)(t, 0).source);
                let name = input.unwrap_or_default().replace("L['", "").replacen("']", "", 1);
                Unsupported::inplace_view(&name, entry.base_name())
            } else {
                match entry.name {
                    "aten._local_scalar_dense.default" => Unsupported::item(),
                    name => Unsupported::dynamic_shape(sized_by_values.unwrap_or(name)),
                }
            };
            return recorder.break_and_call(&reason, entry, &args);
        }
        let is_fresh = entry.name == "aten.lift_fresh.default";
        let inner = if is_fresh {
            args.iter().map(|v| v.map_tensors(&mut |t| Tensor::fake(&t.spec()))).collect::<Result<Vec<_>>>()?
        } else {
            args.iter().map(|v| v.map_tensors(&mut |t| recorder.stand_in(t))).collect::<Result<Vec<_>>>()?
        };
        let before = set_modes(Modes { fake: true, ..modes() });
        let hooks = crate::autograd::WithoutSavedTensorHooks::new();
        let unbacked: Rc<RefCell<Vec<(SymInt, Option<i64>)>>> = Rc::default();
        let naming = names_sizes.then(|| {
            let (unbacked, env) = (unbacked.clone(), recorder.symbols.borrow().env.clone());
            Naming::new(Rc::new(move |most| {
                let size = env.unbacked_size(most);
                unbacked.borrow_mut().push((size.clone(), most));
                size
            }))
        });
        let result = call_below(Key::Capture, entry, inner.clone());
        drop((hooks, naming));
        set_modes(Modes { fake: before.fake, ..modes() });
        let may_need_values = matches!(entry.rule, Rule::Composite(_)) || sized_by_values.is_some();
        if result.as_ref().is_err_and(|e| e.kind == ErrorKind::DataDependent) && may_need_values {
            let operator = if positions(entry) { "aten.nonzero.default" } else { sized_by_values.unwrap_or(entry.name) };
            return recorder.break_and_call(&Unsupported::dynamic_shape(operator), entry, &args);
        }
        let result = result.inspect_err(|e| recorder.note_failure(entry, &args, e))?;
        recorder.record(entry, if is_fresh { &args } else { &inner }, &result, before_call)?;
        for (size, most) in unbacked.take() {
            recorder.bind_size(&size, most, &result)?;
        }
        result.map_tensors(&mut |t| Ok(recorder.known_as(t)))
    }
}
