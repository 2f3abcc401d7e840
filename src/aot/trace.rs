//! The tracer: the lowest layer; it records every call that reaches it and answers with fake tensors.

use super::schemas::{Decompose, Provider};
use crate::autograd;
use crate::decompositions::Table;
use crate::dispatch::{Fact, OpEntry, Type, Value, named};
use crate::error::Result;
use crate::graph::{
    Annotation, Arg, FakeValue, Graph, Meta, Node, NodeId, Recompute, SourceFn, SourceName, Target, compute_float, snake_case,
};
use crate::shape::{Expr, FloatExpr, SymInt};
use crate::span::{ModuleStack, Source};
use crate::tensor::Tensor;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

mod by_hand;
mod calculated;
mod calls;
mod layer;
mod layout;
mod origin;
mod repeated;
mod sizes;

pub use calls::Piece;
pub use layer::{Pushed, TraceLayer};
pub use origin::{
    CheckpointPolicy, Origin, add_checkpoint_contexts, coming_from, enter_checkpoint, keep_annotations, next_checkpoint_region, origin,
    preserve_meta, reset_checkpoint_regions, script_annotation, set_annotation, set_origin, set_replayed, set_unwatched,
};
use sizes::{InputSize, OwnSize};

thread_local! {
    static TRACERS: RefCell<Vec<Rc<Tracer>>> = const { RefCell::new(Vec::new()) };
}

/// What the forward node of a sequence number said about itself; its backward nodes repeat it.
#[derive(Clone, Default)]
struct Forward {
    source: Option<Source>,
    modules: Option<Rc<ModuleStack>>,
    source_fn: Option<Rc<SourceFn>>,
    annotation: Option<Rc<Annotation>>,
}

/// Whether what is traced is the forward of a checkpointed region.
pub(super) fn in_checkpoint() -> bool {
    origin::is_in_region() && current_tracer().is_some_and(|t| !t.in_backward.get())
}

/// The innermost tracer at work.
pub fn current_tracer() -> Option<Rc<Tracer>> {
    TRACERS.with_borrow(|t| t.last().cloned())
}

/// Puts tracers aside; gives those that were at work.
pub fn replace_tracers(tracers: Vec<Rc<Tracer>>) -> Vec<Rc<Tracer>> {
    TRACERS.replace(tracers)
}

/// A tracer begins its work.
pub(super) fn begin_tracing(tracer: &Rc<Tracer>) {
    TRACERS.with_borrow_mut(|t| t.push(tracer.clone()));
}

/// The innermost tracer ends its work.
pub(super) fn end_tracing() {
    TRACERS.with_borrow_mut(Vec::pop);
}

/// A graph being recorded.
pub struct Tracer {
    graph: RefCell<Graph>,
    nodes: RefCell<HashMap<u64, NodeId>>,
    /// Symbols that are inputs, and whether a tensor's size was asked for one of them.
    input_sizes: RefCell<HashMap<Expr, InputSize>>,
    /// Symbolic sizes that a node computes.
    symbols: RefCell<HashMap<Expr, NodeId>>,
    /// Symbolic sizes that are a tensor's: of the first that has it, its node and dimension.
    sizes: RefCell<HashMap<Expr, (NodeId, usize)>>,
    /// Sizes by identity: one that a rule computed anew is read off the tensor that has it, though another has an equal one.
    own_sizes: RefCell<HashMap<usize, (Expr, OwnSize)>>,
    /// Calculations of sizes, by identity, that nobody has read so far.
    pending: RefCell<HashMap<usize, calculated::Pending>>,
    /// What tensors were asked.
    facts: RefCell<HashSet<(u64, Fact)>>,
    /// How many elements tensors of some sizes have, by the identity of the sizes, which are kept alive.
    counts: RefCell<HashMap<Vec<(usize, i64)>, (Vec<SymInt>, SymInt)>>,
    /// The numbers of elements that nodes of the graph were asked for.
    counted_off: RefCell<HashMap<NodeId, Expr>>,
    /// Conditions on sizes that calls choose by.
    conditions: RefCell<HashMap<Rc<str>, NodeId>>,
    /// The nodes that read a size off a tensor, by its node and the dimension.
    read_sizes: RefCell<HashMap<(NodeId, usize), NodeId>>,
    /// Symbolic floats that a node computes.
    floats: RefCell<Vec<(Rc<FloatExpr>, NodeId)>>,
    /// Floats that decompositions computed: each is a value of its own, also where another is equal.
    own_floats: RefCell<Vec<Rc<FloatExpr>>>,
    /// Inputs whose sizes count where the backward begins, or where nothing else has them: what the forward needs must not come
    /// from a tangent.
    tangents: RefCell<Vec<(Tensor, NodeId)>>,
    forward: RefCell<BTreeMap<i64, Forward>>,
    constants: Cell<usize>,
    /// What tells the subgraphs that calls share from each other, by the number that each has.
    repeated: RefCell<Vec<Rc<str>>>,
    /// What gradients of calls of shared subgraphs looked like: those that look alike share a backward, too.
    backwards_of_repeated: RefCell<Vec<(Rc<str>, repeated::Look)>>,
    /// Whether the graph is that of the calls as they are made (`make_fx`): a constant is read wherever it is used.
    as_called: bool,
    /// Where what the script calculates with sizes is recorded as it does, who knows where the script is.
    pub(super) sees_script: Cell<Option<Provider>>,
    in_backward: Cell<bool>,
    /// Whether the argument being recorded is a number to calculate with, not a size.
    wants_number: Cell<bool>,
    /// Whether forward and backward are done.
    is_trailing: Cell<bool>,
    /// Writes of inputs at the end do not change what the inputs are called.
    keeps_values: Cell<bool>,
    /// Whether it holds a backward.
    is_joint: Cell<bool>,
    /// The operator that reached the tracer last; what it is taken apart into does not count.
    arrived: Cell<Option<&'static str>>,
    /// The token that the next call takes whose order counts, where the graph has one.
    token: Cell<Option<NodeId>>,
    /// The input that hooks of the function's are in, where it has one.
    backward_state: Cell<Option<NodeId>>,
    /// Whether a rule of the table is running.
    takes_apart: Cell<bool>,
    /// What calls are taken apart by before they are recorded.
    decompositions: Cell<Option<&'static Table>>,
    /// The same, as the script says.
    script_decompositions: RefCell<Option<Decompose>>,
    /// What calls that draw random numbers come to, where they are not recorded as they are.
    draws: RefCell<Option<Decompose>>,
}

impl Tracer {
    /// A tracer of a graph that prints as the given class. Inside another tracer's work it decomposes as that one does.
    pub fn new(class_name: &str) -> Rc<Self> {
        Rc::new(Self::plain(class_name, false))
    }

    /// A tracer of calls as they are made.
    pub(super) fn as_called(class_name: &str) -> Rc<Self> {
        Rc::new(Self::plain(class_name, true))
    }

    fn plain(class_name: &str, as_called: bool) -> Self {
        Tracer {
            graph: RefCell::new(Graph::new(class_name)),
            nodes: RefCell::default(),
            input_sizes: RefCell::default(),
            symbols: RefCell::default(),
            sizes: RefCell::default(),
            own_sizes: RefCell::default(),
            pending: RefCell::default(),
            facts: RefCell::default(),
            counts: RefCell::default(),
            counted_off: RefCell::default(),
            conditions: RefCell::default(),
            read_sizes: RefCell::default(),
            floats: RefCell::default(),
            own_floats: RefCell::default(),
            tangents: RefCell::default(),
            forward: RefCell::default(),
            constants: Cell::new(0),
            repeated: RefCell::default(),
            backwards_of_repeated: RefCell::default(),
            as_called,
            sees_script: Cell::new(None),
            in_backward: Cell::new(false),
            wants_number: Cell::new(false),
            is_trailing: Cell::new(false),
            keeps_values: Cell::new(false),
            is_joint: Cell::new(false),
            arrived: Cell::new(None),
            token: Cell::new(None),
            backward_state: Cell::default(),
            takes_apart: Cell::new(false),
            decompositions: Cell::new(current_tracer().and_then(|t| t.decompositions.get())),
            script_decompositions: RefCell::default(),
            draws: RefCell::default(),
        }
    }

    /// Says what calls are taken apart by.
    pub fn decompose(&self, table: Option<&'static Table>) {
        self.decompositions.set(table);
    }

    /// Runs a rule of the table.
    fn taking_apart<T>(&self, rule: impl FnOnce() -> T) -> T {
        let outer = self.takes_apart.replace(true);
        let made = rule();
        self.takes_apart.set(outer);
        made
    }

    /// Says what calls are taken apart by before the table is asked.
    pub(super) fn decompose_as_told(&self, rules: Option<Decompose>) {
        self.script_decompositions.replace(rules);
    }

    /// Says what calls that draw random numbers come to.
    pub(super) fn draw_by(&self, rules: Decompose) {
        self.draws.replace(Some(rules));
    }

    /// How many inputs there are as yet.
    pub(super) fn count_inputs(&self) -> usize {
        self.graph.borrow().placeholders().count()
    }

    /// Does something that an operator which reached the tracer asks for.
    pub(super) fn arriving<T>(&self, entry: &'static OpEntry, act: impl FnOnce() -> T) -> T {
        let outer = self.arrived.get();
        self.arrived.set(outer.or(Some(entry.name)));
        let done = act();
        self.arrived.set(outer);
        done
    }

    /// The operator that a call is recorded as: where calls are recorded as they are made, a `detach` shows as `alias`.
    pub(super) fn shown(&self, entry: &'static OpEntry) -> &'static OpEntry {
        if self.as_called && named::DETACH.is(entry) { named::ALIAS.get() } else { entry }
    }

    /// Adds an input; gives its fake tensor. A symbolic size that is an input of its own is given by [`Tracer::symbol`].
    pub fn placeholder(&self, name: &str, t: &Tensor) -> Result<NodeId> {
        let meta = Meta { value: Some(FakeValue::Tensor(t.spec())), seq_nr: last_seq_nr(), ..Meta::default() };
        let id = self.graph.borrow_mut().placeholder(name, meta);
        self.nodes.borrow_mut().insert(t.id(), id);
        if name.starts_with("tangents") {
            self.tangents.borrow_mut().push((t.clone(), id));
        } else {
            self.note_sizes(t, id);
        }
        layout::look_for_format(t)?;
        Ok(id)
    }

    /// Notes what the script calls an input.
    pub(super) fn call_input(&self, id: NodeId, called: Option<Rc<SourceName>>) {
        self.graph.borrow_mut().node_mut(id).meta.input = called;
    }

    /// Adds a token as an input.
    pub(super) fn begin_token(&self, name: &str) {
        let meta = Meta { value: Some(FakeValue::Tensor(super::effects::token_spec())), ..Meta::default() };
        self.token.set(Some(self.graph.borrow_mut().placeholder(name, meta)));
    }

    /// Adds a symbolic size as an input.
    pub fn symbol(&self, name: &str, size: &SymInt) -> NodeId {
        let meta = Meta { value: Some(FakeValue::Int(size.clone())), ..Meta::default() };
        let id = self.graph.borrow_mut().placeholder(name, meta);
        // A symbol that turned out to be another is read off the other's input, where that is one.
        let expr = size.expr();
        if let SymInt::Sym(own, _) = size {
            self.symbols.borrow_mut().insert(own.clone(), id);
        }
        self.symbols.borrow_mut().entry(expr.clone()).or_insert(id);
        self.input_sizes.borrow_mut().insert(expr, InputSize::Number);
        id
    }

    /// Adds a size of a part of an input as an input, which is no new symbol where it is one already.
    pub fn size_of_part(&self, name: &str, size: &SymInt) -> NodeId {
        let is_known = self.symbols.borrow().contains_key(&size.expr());
        if !is_known {
            return self.symbol(name, size);
        }
        let meta = Meta { value: Some(FakeValue::Int(size.clone())), ..Meta::default() };
        self.graph.borrow_mut().placeholder(name, meta)
    }

    /// Says that what follows is traced while the autograd engine runs.
    pub fn enter_backward(&self) {
        self.in_backward.set(true);
        self.is_joint.set(true);
        for (t, id) in self.tangents.take() {
            self.note_sizes(&t, id);
        }
    }

    /// What follows belongs to the forward again: the writes of inputs at the end of a joint graph.
    pub fn leave_backward(&self) {
        self.in_backward.set(false);
    }

    /// Trailing writes of inputs: a tensor that is written to stays the value that it was to what follows.
    pub fn enter_writes(&self) {
        self.keeps_values.set(true);
    }

    /// Forward and backward are done: what follows only unwraps outputs, and nothing is said about it, as in PyTorch.
    pub fn enter_outputs(&self) {
        self.in_backward.set(false);
        self.keeps_values.set(false);
        self.is_trailing.set(true);
    }

    /// Ends the graph with its outputs.
    pub fn finish(&self, outputs: &[Value]) -> Result<Graph> {
        let mut items: Vec<Arg> = self.token.get().map(Arg::Node).into_iter().collect();
        for value in outputs {
            items.push(self.argument(value)?);
        }
        let mut graph = self.graph.take();
        for id in origin::take_unwatched() {
            if let Some(node) = self.nodes.borrow().get(&id) {
                graph.node_mut(*node).meta.no_version_check = true;
            }
        }
        let output = graph.set_output(if self.is_joint.get() { Arg::List(items) } else { Arg::Tuple(items) });
        graph.node_mut(output).meta.seq_nr = last_seq_nr();
        if !self.is_joint.get() {
            give_writes_their_lines(&mut graph);
        }
        let is_impure = |node: &Node| node.op().is_some_and(is_impure);
        graph.eliminate_dead_code(&is_impure);
        graph.unify_sizes();
        graph.eliminate_dead_code(&is_impure);
        if self.is_joint.get() {
            let made: Vec<NodeId> = graph.nodes().map(|node| node.id).collect();
            made.into_iter().for_each(|id| graph.node_mut(id).meta.is_of_joint = true);
        }
        graph.validate()?;
        Ok(graph)
    }

    /// Ends a graph of calls as they were made: but for sizes that nobody reads, everything stays.
    pub(super) fn finish_as_called(&self, outputs: &[Value]) -> Result<Graph> {
        let items = outputs.iter().map(|value| self.argument(value)).collect::<Result<_>>()?;
        let mut graph = self.graph.take();
        let output = graph.set_output(Arg::Tuple(items));
        graph.node_mut(output).meta.seq_nr = last_seq_nr();
        let is_size = |target: &Target| matches!(target, Target::Operator(_)) || target.op().is_some_and(|op| &**op == "aten.sym_size.int");
        graph.eliminate_dead_code(&|node| !is_size(&node.target));
        graph.validate()?;
        Ok(graph)
    }

    /// Adds an input that is neither a tensor nor a symbol.
    pub(super) fn plain_input(&self, name: &str, value: &Value) -> NodeId {
        self.graph.borrow_mut().placeholder(name, Meta { value: Some(fake_value(value)), ..Meta::default() })
    }

    /// Adds inputs: tensors, symbols and others.
    pub(super) fn inputs(&self, names: &[String], inputs: &[Value]) -> Result<()> {
        for (name, input) in names.iter().zip(inputs) {
            match input {
                Value::Tensor(t) => self.placeholder(name, t)?,
                Value::Int(size) if size.as_int().is_none() => self.symbol(name, size),
                other => self.plain_input(name, other),
            };
        }
        Ok(())
    }

    /// Whether a tensor is a value of this graph.
    pub(super) fn knows(&self, t: &Tensor) -> bool {
        self.known(t).is_some()
    }

    /// The name of a tensor of this graph as yet.
    pub fn name_of(&self, value: &Value) -> Option<String> {
        let Value::Tensor(t) = value else { return None };
        self.known(t).map(|id| self.graph.borrow().node(id).name.to_string())
    }

    fn known(&self, t: &Tensor) -> Option<NodeId> {
        self.nodes.borrow().get(&t.id()).copied()
    }

    /// A tensor that is no value of this graph: a constant of the module.
    fn constant(&self, t: &Tensor) -> NodeId {
        let meta = Meta { value: Some(FakeValue::Tensor(t.spec())), ..self.meta() };
        let mut graph = self.graph.borrow_mut();
        let known = graph.constants.iter().find(|(_, constant)| constant.is(t)).map(|(name, _)| name.clone());
        let name = known.unwrap_or_else(|| {
            let name: Rc<str> = format!("_tensor_constant{}", self.constants.replace(self.constants.get() + 1)).into();
            graph.constants.push((name.clone(), t.clone()));
            name
        });
        let id = graph.get_attr(&name, meta);
        if !self.as_called {
            self.nodes.borrow_mut().insert(t.id(), id);
        }
        id
    }

    /// An argument as the graph keeps it.
    pub fn argument(&self, value: &Value) -> Result<Arg> {
        Ok(match value {
            Value::Opaque(_) => value.condition().map_or(Ok(Arg::None), |condition| self.condition(condition))?,
            Value::None => Arg::None,
            Value::Bool(b) => Arg::Bool(*b),
            Value::Int(i) => self.size(i)?,
            Value::Float(f) => Arg::Float(*f),
            Value::SymFloat(f) => compute_float(self, f)?,
            Value::Complex(re, im) => Arg::Complex(*re, *im),
            Value::Str(s) => Arg::Str(s.clone()),
            Value::Tensor(t) => Arg::Node(self.known(t).unwrap_or_else(|| self.constant(t))),
            Value::List(items) => Arg::List(items.iter().map(|v| self.argument(v)).collect::<Result<_>>()?),
            Value::Dtype(d) => Arg::Dtype(*d),
            Value::Device(d) => Arg::Device(*d),
            Value::Layout(l) => Arg::Layout(*l),
            Value::MemoryFormat(m) => Arg::MemoryFormat(*m),
        })
    }

    /// What was said when the node of a number was made: where none of its calls bears it, the first call after it does.
    fn made_with(&self, seq_nr: i64) -> Option<Forward> {
        self.forward.borrow().range(seq_nr..).next().map(|(_, forward)| forward.clone())
    }

    /// A tensor is what another is the trace of.
    pub(super) fn stands_for(&self, value: &Tensor, traced: &Tensor) {
        let node = self.nodes.borrow().get(&traced.id()).copied();
        if let Some(node) = node {
            self.nodes.borrow_mut().insert(value.id(), node);
        }
    }

    /// An autograd node is made by the call under way, whatever that calls inside.
    pub(super) fn note_node(&self, node: &autograd::Node) {
        self.note_forward(node.seq_nr as i64, &origin());
    }

    fn note_forward(&self, seq_nr: i64, origin: &Origin) {
        self.forward.borrow_mut().entry(seq_nr).or_insert_with(|| Forward {
            source: origin.source.clone(),
            modules: origin.modules.clone(),
            source_fn: origin.source_fn.clone(),
            annotation: origin.annotation.clone().or_else(origin::annotation),
        });
    }

    /// What is said about a node made now.
    fn meta(&self) -> Meta {
        if self.is_trailing.get() {
            return Meta { is_trailing: true, ..Meta::default() };
        }
        let mut meta = self.meta_here();
        let replayed = origin::replayed().and_then(|id| self.nodes.borrow().get(&id).copied());
        if let Some(id) = replayed {
            let graph = self.graph.borrow();
            let of = &graph.node(id).meta;
            meta.seq_nr = of.seq_nr.or(meta.seq_nr);
            meta.source = of.source.clone().or(meta.source);
        }
        meta
    }

    fn meta_here(&self) -> Meta {
        let origin = origin();
        if self.in_backward.get() {
            // What a hook calls between two nodes belongs to the one that ran before.
            let seq_nr = autograd::current_node().map(|n| n.seq_nr).or_else(autograd::last_node).map(|n| n as i64);
            let forward = seq_nr.and_then(|s| self.made_with(s)).unwrap_or_default();
            // A custom function's backward has lines of its own.
            let (source, is_own) = match origin.source {
                Some(own) => (Some(own), true),
                None => (forward.source, false),
            };
            // The numbers of nodes hold for derivatives alone: sums of gradients, hooks and a script's own backward get the last one.
            let of_node = autograd::current_node().is_some() && !autograd::adding_up() && !is_own;
            let seq_nr = if of_node { seq_nr } else { Some(autograd::peek_seq_nr() as i64 - 1) };
            return Meta {
                source,
                is_backward: true,
                is_gradient_acc: autograd::adding_up(),
                seq_nr,
                source_fn: forward.source_fn.filter(|_| of_node),
                original_op: self.arrived.get().map(Rc::from),
                modules: forward.modules,
                recompute: origin.recompute,
                checkpoint_region: origin.checkpoint_region,
                annotation: forward.annotation.filter(|_| !autograd::adding_up()),
                own_source: is_own,
                ..Meta::default()
            };
        }
        let seq_nr = autograd::peek_seq_nr() as i64 - 1;
        self.note_forward(seq_nr, &origin);
        Meta {
            source: origin.source,
            seq_nr: Some(seq_nr),
            source_fn: origin.source_fn,
            original_op: self.arrived.get().map(Rc::from),
            modules: origin.modules,
            recompute: origin.recompute,
            checkpoint_region: origin.checkpoint_region,
            annotation: origin.annotation.or_else(origin::annotation),
            from_node: origin.from_node,
            ..Meta::default()
        }
    }

    /// How many nodes were made so far.
    pub fn position(&self) -> usize {
        self.graph.borrow().arena_len()
    }

    /// Says what becomes of the nodes made since a position.
    pub fn tag(&self, position: usize, recompute: Recompute) {
        let mut graph = self.graph.borrow_mut();
        (position..graph.arena_len()).for_each(|made| graph.node_mut(NodeId(made as u32)).meta.recompute = Some(recompute));
    }

    pub(super) fn record(&self, entry: &'static OpEntry, args: &[Value], result: &Value) -> Result<()> {
        let (positional, keywords) = self.arguments(entry, args)?;
        let meta = Meta { value: Some(fake_value(result)), ..self.meta() };
        let id =
            self.graph.borrow_mut().call(&snake_case(entry.node_name()), Target::Op(entry.name.into()), positional, keywords, meta.clone());
        match result {
            Value::Tensor(_) if self.keeps_values.get() => {}
            Value::Tensor(t) => {
                self.nodes.borrow_mut().insert(t.id(), id);
                self.note_sizes(t, id);
                layout::look_for_format(t)?;
            }
            Value::List(items) => self.record_items(id, items, &meta)?,
            _ => {}
        }
        Ok(())
    }

    /// Positional arguments without trailing defaults, keyword-only ones that differ from theirs.
    #[allow(clippy::type_complexity)]
    fn arguments(&self, entry: &'static OpEntry, args: &[Value]) -> Result<(Vec<Arg>, Vec<(Rc<str>, Arg)>)> {
        let shown = entry.schema.shown(args, |argument, value| {
            // A number to calculate with is the script's own, also where a derivative calculates with it again.
            self.wants_number.set(matches!(argument.ty, Type::Scalar | Type::Tensor));
            self.argument(value)
        });
        self.wants_number.set(false);
        shown
    }
}

/// The number of the autograd node that was made last, for what is no call: in a block of `preserve_node_meta`.
fn last_seq_nr() -> Option<i64> {
    origin::preserves_meta().then(|| autograd::peek_seq_nr() as i64 - 1)
}

/// A trailing write of an input has the line of the value written; in a joint graph it has none.
fn give_writes_their_lines(graph: &mut Graph) {
    let written: Vec<(NodeId, NodeId)> = graph
        .nodes()
        .filter(|n| matches!(n.op(), Some("aten.copy_.default" | "aten.shallow_copy_data_.default")))
        .filter_map(|n| match n.args.get(1) {
            Some(Arg::Node(value)) => Some((n.id, *value)),
            _ => None,
        })
        .collect();
    for (write, value) in written {
        let source = graph.node(value).meta.source.clone();
        graph.node_mut(write).meta.source = source;
    }
}

pub(super) fn is_impure(op: &str) -> bool {
    // Writes, checks and what draws from a generator's state must stay.
    matches!(op, "aten._assert_async.msg" | "aten._assert_tensor_metadata.default")
        || op == "aten._assert_scalar.default"
        || crate::dispatch::lookup(op).is_some_and(OpEntry::is_mutable)
}

/// A value without its numbers.
pub fn fake_value(value: &Value) -> FakeValue {
    match value {
        Value::Tensor(t) => FakeValue::Tensor(t.spec()),
        Value::Int(i) => FakeValue::Int(i.clone()),
        Value::Float(f) => FakeValue::Float(Some(*f)),
        Value::SymFloat(f) => FakeValue::SymFloat(f.clone()),
        Value::Bool(b) => FakeValue::Bool(Some(*b)),
        Value::List(items) => FakeValue::List(items.iter().map(fake_value).collect()),
        Value::Opaque(_) => value.condition().map_or(FakeValue::None, |condition| FakeValue::Condition(condition.to_string().into())),
        _ => FakeValue::None,
    }
}
