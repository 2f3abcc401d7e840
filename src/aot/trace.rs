//! The tracer: the lowest layer; it records every call that reaches it and answers with fake tensors.

use crate::autograd;
use crate::decompositions::Table;
use crate::dispatch::{Call, Key, Layer, OpEntry, OpRef, Tags, Type, Value, run_backend};
use crate::error::{Error, Result};
use crate::graph::{
    Annotation, Arg, FakeValue, FloatNodes, Graph, Meta, Node, NodeId, Recompute, SizeNodes, Target, compute_float, compute_product,
    compute_size, node_name,
};
use crate::shape::{Expr, FloatExpr, ShapeEnv, SymFloat, SymInt};
use crate::span::Source;
use crate::tensor::Tensor;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// What the forward node of a sequence number said about itself; its backward nodes repeat it.
#[derive(Clone, Default)]
struct Forward {
    source: Option<Source>,
    module_path: Option<Rc<str>>,
    original_op: Option<Rc<str>>,
    source_fn: Option<Rc<str>>,
    annotation: Option<Rc<Annotation>>,
}

/// What a replayed region says about the calls it makes.
#[derive(Clone, Default)]
pub struct Origin {
    /// The script's line.
    pub source: Option<Source>,
    /// Modules it ran in.
    pub module_path: Option<Rc<str>>,
    /// The torch-level operator.
    pub original_op: Option<Rc<str>>,
    /// What the script called, by name.
    pub source_fn: Option<Rc<str>>,
    /// What checkpointing asks of it.
    pub recompute: Option<Recompute>,
    /// Which checkpointed region it belongs to.
    pub checkpoint_region: Option<u32>,
    /// What the script annotated it with.
    pub annotation: Option<Rc<Annotation>>,
    /// Symbolic numbers that the script hands to it.
    pub numbers: Vec<Expr>,
    /// The number of the script's policy that decides on each call.
    pub policy: Option<u32>,
    /// How many checkpointed regions it is in.
    pub checkpoint_depth: usize,
}

/// A part of the arguments of a higher-order operator.
pub enum Piece {
    /// A subgraph, and what it is named after.
    Body(&'static str, Graph),
    /// A value.
    One(Value),
    /// Several values.
    Tuple(Vec<Value>),
    /// Several values.
    List(Vec<Value>),
}

/// A script's checkpoint policy: what becomes of a call, given its arguments and its result.
pub type CheckpointPolicy = Rc<dyn Fn(&'static OpEntry, &[Value], &Value) -> Result<Recompute>>;

thread_local! {
    static ORIGIN: RefCell<Origin> = RefCell::default();
    static TRACERS: RefCell<Vec<Rc<Tracer>>> = const { RefCell::new(Vec::new()) };
    static UNWATCHED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static POLICIES: RefCell<Vec<CheckpointPolicy>> = const { RefCell::new(Vec::new()) };
    static REGIONS: Cell<u32> = const { Cell::new(0) };
    static REPLAYED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Says which value is being made anew because an alias of it was written to; gives what was said before. Its nodes keep the
/// number and the line of the value's own.
pub fn set_replayed(value: Option<u64>) -> Option<u64> {
    REPLAYED.replace(value)
}

/// Says where the calls that follow come from; gives what was said before.
pub fn set_origin(origin: Origin) -> Origin {
    crate::span::set_asking(origin.source.clone());
    ORIGIN.replace(origin)
}

/// Where calls come from at the moment.
pub fn origin() -> Origin {
    ORIGIN.with_borrow(Clone::clone)
}

/// Whether what is traced is the forward of a checkpointed region.
pub(super) fn in_checkpoint() -> bool {
    ORIGIN.with_borrow(|o| o.checkpoint_region.is_some()) && current_tracer().is_some_and(|t| !t.in_backward.get())
}

/// The innermost tracer at work.
pub fn current_tracer() -> Option<Rc<Tracer>> {
    TRACERS.with_borrow(|t| t.last().cloned())
}

/// A tracer begins its work.
pub(super) fn begin_tracing(tracer: &Rc<Tracer>) {
    TRACERS.with_borrow_mut(|t| t.push(tracer.clone()));
}

/// The innermost tracer ends its work.
pub(super) fn end_tracing() {
    TRACERS.with_borrow_mut(Vec::pop);
}

/// Says that a traced tensor is kept by a script's own backward without `save_for_backward`: writes to it go unnoticed.
pub fn set_unwatched(t: &Tensor) {
    UNWATCHED.with_borrow_mut(|u| u.push(t.id()));
}

/// The number of the next checkpointed region.
pub fn next_checkpoint_region() -> u32 {
    REGIONS.set(REGIONS.get() + 1);
    REGIONS.get()
}

/// Keeps a checkpoint policy under a number.
pub fn add_checkpoint_policy(policy: CheckpointPolicy) -> u32 {
    POLICIES.with_borrow_mut(|p| {
        p.push(policy);
        p.len() as u32 - 1
    })
}

/// Counts checkpointed regions anew and forgets policies.
pub fn reset_checkpoint_regions() {
    REGIONS.set(0);
    POLICIES.take();
}

/// A symbol that is an input of its own. PyTorch reads it off the first tensor that has that size when a tensor's size is asked
/// for, and puts the input in its place later: the node is gone, its name is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InputSize {
    /// No tensor has that size.
    Number,
    /// A tensor has it; nobody has asked.
    OfTensor,
    /// The name is taken.
    Asked,
}

/// Where one computation of a size is found.
#[derive(Clone, Copy)]
enum OwnSize {
    /// It is a tensor's, in a dimension.
    OfTensor(NodeId, usize),
    /// A node computes it.
    Node(NodeId),
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
    /// The nodes that read a size off a tensor, by its node and the dimension.
    read_sizes: RefCell<HashMap<(NodeId, usize), NodeId>>,
    /// Symbolic floats that a node computes.
    floats: RefCell<Vec<(Rc<FloatExpr>, NodeId)>>,
    /// Inputs whose sizes count where the backward begins, or where nothing else has them: what the forward needs must not come
    /// from a tangent.
    tangents: RefCell<Vec<(Tensor, NodeId)>>,
    forward: RefCell<BTreeMap<i64, Forward>>,
    constants: Cell<usize>,
    /// Whether the graph is that of the calls as they are made (`make_fx`): a constant is read wherever it is used.
    as_called: bool,
    /// Whether a `detach` shows as `alias`, as in graphs that PyTorch traces twice.
    shows_alias: Cell<bool>,
    in_backward: Cell<bool>,
    /// Whether the argument being recorded is a number to calculate with, not a size.
    wants_number: Cell<bool>,
    /// Whether forward and backward are done.
    is_trailing: Cell<bool>,
    /// Whether it holds a backward.
    is_joint: Cell<bool>,
    /// The backward node that was seen last.
    last_node: Cell<Option<i64>>,
    /// The token that the next call takes whose order counts, where the graph has one.
    token: Cell<Option<NodeId>>,
    /// What calls are taken apart by before they are recorded.
    decompositions: Cell<Option<&'static Table>>,
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
            read_sizes: RefCell::default(),
            floats: RefCell::default(),
            tangents: RefCell::default(),
            forward: RefCell::default(),
            constants: Cell::new(0),
            as_called,
            shows_alias: Cell::new(as_called),
            in_backward: Cell::new(false),
            wants_number: Cell::new(false),
            is_trailing: Cell::new(false),
            is_joint: Cell::new(false),
            last_node: Cell::new(None),
            token: Cell::new(None),
            decompositions: Cell::new(current_tracer().and_then(|t| t.decompositions.get())),
        }
    }

    /// Says what calls are taken apart by.
    pub fn decompose(&self, table: Option<&'static Table>) {
        self.decompositions.set(table);
    }

    /// Says whether a `detach` shows as `alias`.
    pub(super) fn show_alias(&self, shows: bool) {
        self.shows_alias.set(shows);
    }

    /// The operator that a call is recorded as.
    pub(super) fn shown(&self, entry: &'static OpEntry) -> &'static OpEntry {
        static ALIAS: OpRef = OpRef::new("alias");
        if self.shows_alias.get() && entry.name == "aten.detach.default" { ALIAS.get() } else { entry }
    }

    /// Adds an input; gives its fake tensor. A symbolic size that is an input of its own is given by [`Tracer::symbol`].
    pub fn placeholder(&self, name: &str, t: &Tensor) -> NodeId {
        let meta = Meta { value: Some(FakeValue::Tensor(t.spec())), ..Meta::default() };
        let id = self.graph.borrow_mut().placeholder(name, meta);
        self.nodes.borrow_mut().insert(t.id(), id);
        if name.starts_with("tangents") {
            self.tangents.borrow_mut().push((t.clone(), id));
        } else {
            self.note_sizes(t, id);
        }
        id
    }

    /// Adds a token as an input.
    pub(super) fn begin_token(&self, name: &str) {
        let meta = Meta { value: Some(FakeValue::Tensor(super::effects::token_spec())), ..Meta::default() };
        self.token.set(Some(self.graph.borrow_mut().placeholder(name, meta)));
    }

    /// Records a call whose order counts: it takes the token, and gives the next one before its results.
    fn record_with_token(&self, token: NodeId, entry: &'static OpEntry, args: &[Value], result: &Value) -> Result<()> {
        let (positional, keywords) = self.arguments(entry, args)?;
        let results: Vec<Value> = match result {
            Value::List(items) if !items.is_empty() => items.clone(),
            Value::List(_) => vec![Value::None],
            single => vec![single.clone()],
        };
        let token_value = FakeValue::Tensor(super::effects::token_spec());
        let values = std::iter::once(token_value.clone()).chain(results.iter().map(fake_value)).collect();
        let meta = Meta { value: Some(FakeValue::List(values)), ..self.meta() };
        let args = [Arg::Node(token), Arg::Op(entry.name.into())].into_iter().chain(positional).collect();
        let call = self.graph.borrow_mut().call("with_effects", Target::HigherOrder("with_effects".into()), args, keywords, meta.clone());
        let item = |i: usize, value: FakeValue| {
            let meta = Meta { value: Some(value), ..meta.clone() };
            self.graph.borrow_mut().call("getitem", Target::Getitem, vec![Arg::Node(call), Arg::Int(i as i64)], Vec::new(), meta)
        };
        self.token.set(Some(item(0, token_value)));
        for (i, value) in results.iter().enumerate() {
            let id = item(i + 1, fake_value(value));
            if let Value::Tensor(t) = value {
                self.nodes.borrow_mut().insert(t.id(), id);
                self.note_sizes(t, id);
            }
        }
        Ok(())
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

    /// Forward and backward are done: what follows only looks at outputs, and nothing is said about it, as in PyTorch.
    pub fn look_at_outputs(&self) {
        self.in_backward.set(false);
        self.is_trailing.set(true);
    }

    /// Ends the graph with its outputs.
    pub fn finish(&self, outputs: &[Value]) -> Result<Graph> {
        let mut items: Vec<Arg> = self.token.get().map(Arg::Node).into_iter().collect();
        for value in outputs {
            items.push(self.argument(value)?);
        }
        let mut graph = self.graph.take();
        for id in UNWATCHED.take() {
            if let Some(node) = self.nodes.borrow().get(&id) {
                graph.node_mut(*node).meta.no_version_check = true;
            }
        }
        graph.set_output(if self.is_joint.get() { Arg::List(items) } else { Arg::Tuple(items) });
        if !self.is_joint.get() {
            give_writes_their_lines(&mut graph);
        }
        graph.eliminate_dead_code(&|node| node.op().is_some_and(is_impure));
        graph.validate()?;
        Ok(graph)
    }

    /// Ends a graph of calls as they were made: but for sizes that nobody reads, everything stays.
    pub(super) fn finish_as_called(&self, outputs: &[Value]) -> Result<Graph> {
        let items = outputs.iter().map(|value| self.argument(value)).collect::<Result<_>>()?;
        let mut graph = self.graph.take();
        graph.set_output(Arg::Tuple(items));
        let is_size = |target: &Target| matches!(target, Target::Operator(_)) || target.op().is_some_and(|op| &**op == "aten.sym_size.int");
        graph.eliminate_dead_code(&|node| !is_size(&node.target));
        graph.validate()?;
        Ok(graph)
    }

    /// Adds an input that is neither a tensor nor a symbol.
    pub(super) fn plain_input(&self, name: &str, value: &Value) -> NodeId {
        self.graph.borrow_mut().placeholder(name, Meta { value: Some(fake_value(value)), ..Meta::default() })
    }

    /// Whether a tensor is a value of this graph.
    pub(super) fn knows(&self, t: &Tensor) -> bool {
        self.known(t).is_some()
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

    /// Remembers the symbolic sizes of a tensor that a node makes.
    fn note_sizes(&self, t: &Tensor, id: NodeId) {
        for (dim, size) in t.sizes().iter().enumerate() {
            if size.as_int().is_none() {
                let expr = size.expr();
                if let SymInt::Sym(own, _) = size {
                    let of_tensor = || (own.clone(), OwnSize::OfTensor(id, dim));
                    self.own_sizes.borrow_mut().entry(own.identity()).or_insert_with(of_tensor);
                }
                self.sizes.borrow_mut().entry(expr).or_insert((id, dim));
                if let Some(known) = self.input_sizes.borrow_mut().get_mut(&size.expr()).filter(|s| **s == InputSize::Number) {
                    *known = InputSize::OfTensor;
                }
            }
        }
    }

    /// The node that computes a symbolic size.
    fn size(&self, size: &SymInt) -> Result<Arg> {
        match size {
            SymInt::Int(i) => Ok(Arg::Int(*i)),
            SymInt::Sym(own, env) => {
                let (sizes, expr) = (Sizes(self, env), size.expr());
                let is_computed = expr.as_int().is_none() && expr.as_symbol().is_none();
                if let Some(known) = is_computed.then(|| sizes.own(own, &expr)).flatten() {
                    return Ok(known);
                }
                let made = compute_size(&sizes, &expr)?;
                if let (Arg::Node(id), true) = (&made, is_computed) {
                    self.own_sizes.borrow_mut().insert(own.identity(), (own.clone(), OwnSize::Node(*id)));
                }
                Ok(made)
            }
        }
    }

    /// A tensor's number was asked for, which is a symbol.
    pub fn item(&self, t: &Tensor, number: &Value) -> Result<()> {
        let args = vec![self.argument(&Value::from(t))?];
        let (name, target) = ("_local_scalar_dense", Target::Op("aten._local_scalar_dense.default".into()));
        match number {
            Value::SymFloat(float) => drop(self.float_call(name, target, args, float)),
            Value::Int(size @ SymInt::Sym(_, env)) => drop(Sizes(self, env).call(name, target, args, &size.expr())),
            _ => {}
        }
        Ok(())
    }

    /// A condition on numbers that only the run knows: it is checked where it stands.
    pub fn expect(&self, name: &'static str, sides: [&Value; 2], node: &Node, said: &Value) -> Result<()> {
        let sides = sides.into_iter().map(|side| self.argument(side)).collect::<Result<Vec<_>>>()?;
        let meta = Meta { value: node.meta.value.clone(), ..self.meta() };
        let condition = self.graph.borrow_mut().call(name, Target::operator(name), sides, Vec::new(), meta);
        let args = vec![Arg::Node(condition), self.argument(said)?];
        let target = Target::Op("aten._assert_scalar.default".into());
        self.graph.borrow_mut().call("_assert_scalar", target, args, Vec::new(), self.meta());
        Ok(())
    }

    fn float_call(&self, name: &str, target: Target, args: Vec<Arg>, float: &SymFloat) -> Arg {
        let meta = Meta { value: Some(FakeValue::SymFloat(float.clone())), ..self.meta() };
        let id = self.graph.borrow_mut().call(name, target, args, Vec::new(), meta);
        self.floats.borrow_mut().push((float.expr.clone(), id));
        Arg::Node(id)
    }

    /// The product of sizes, multiplied one after the other.
    fn product(&self, sizes: &[SymInt]) -> Result<Arg> {
        let env = sizes.iter().find_map(|s| if let SymInt::Sym(_, env) = s { Some(env) } else { None });
        match env {
            Some(env) => compute_product(&Sizes(self, env), &sizes.iter().map(SymInt::expr).collect::<Vec<_>>()),
            None => self.size(&crate::shape::numel(sizes)),
        }
    }

    /// A size was computed from others: the call stands here, where something reads it.
    pub fn computed(&self, name: &str, operands: &[Value], result: &Value) -> Result<()> {
        if let Value::SymFloat(float) = result {
            return compute_float(self, float).map(drop);
        }
        let Value::Int(size @ SymInt::Sym(_, env)) = result else { return Ok(()) };
        let expr = size.expr();
        if expr.as_int().is_none() && expr.as_symbol().is_none() {
            let operand = |v: &Value| match self.argument(v)? {
                Arg::List(terms) => Ok(Arg::Tuple(terms)),
                other => Ok(other),
            };
            let args = operands.iter().map(operand).collect::<Result<Vec<_>>>()?;
            if let (Arg::Node(id), SymInt::Sym(own, _)) = (Sizes(self, env).call(name, Target::operator(name), args, &expr), size) {
                self.own_sizes.borrow_mut().insert(own.identity(), (own.clone(), OwnSize::Node(id)));
            }
        }
        Ok(())
    }

    /// An argument as the graph keeps it.
    pub fn argument(&self, value: &Value) -> Result<Arg> {
        Ok(match value {
            Value::None | Value::Opaque(_) => Arg::None,
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

    /// What is said about a node made now.
    fn meta(&self) -> Meta {
        if self.is_trailing.get() {
            return Meta { is_trailing: true, ..Meta::default() };
        }
        let mut meta = self.meta_here();
        let replayed = REPLAYED.get().and_then(|id| self.nodes.borrow().get(&id).copied());
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
            let seq_nr = autograd::current_node().map(|n| n.seq_nr as i64).or_else(|| self.last_node.get());
            self.last_node.set(seq_nr);
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
                seq_nr,
                original_op: forward.original_op,
                source_fn: forward.source_fn,
                module_path: forward.module_path,
                recompute: origin.recompute,
                checkpoint_region: origin.checkpoint_region,
                annotation: forward.annotation,
                own_source: is_own,
                ..Meta::default()
            };
        }
        let seq_nr = autograd::peek_seq_nr() as i64 - 1;
        let source = origin.source;
        self.forward.borrow_mut().entry(seq_nr).or_insert_with(|| Forward {
            source: source.clone(),
            module_path: origin.module_path.clone(),
            original_op: origin.original_op.clone(),
            source_fn: origin.source_fn.clone(),
            annotation: origin.annotation.clone(),
        });
        Meta {
            source,
            seq_nr: Some(seq_nr),
            original_op: origin.original_op,
            source_fn: origin.source_fn,
            module_path: origin.module_path,
            recompute: origin.recompute,
            checkpoint_region: origin.checkpoint_region,
            annotation: origin.annotation,
            ..Meta::default()
        }
    }

    pub(super) fn record(&self, entry: &'static OpEntry, args: &[Value], result: &Value) -> Result<()> {
        let (positional, keywords) = self.arguments(entry, args)?;
        let mut meta = Meta { value: Some(fake_value(result)), ..self.meta() };
        let policy = origin().policy.filter(|_| entry.name != "aten.detach.default" && !self.in_backward.get());
        if let Some(policy) = policy.and_then(|i| POLICIES.with_borrow(|p| p.get(i as usize).cloned())) {
            meta.recompute = Some(policy(entry, args, result)?);
        }
        let id = self.graph.borrow_mut().call(entry.node_name(), Target::Op(entry.name.into()), positional, keywords, meta.clone());
        match result {
            Value::Tensor(t) => {
                self.nodes.borrow_mut().insert(t.id(), id);
                self.note_sizes(t, id);
            }
            Value::List(items) => self.record_items(id, items, &meta),
            _ => {}
        }
        Ok(())
    }

    /// Records a higher-order operator whose arguments are given by name.
    pub(super) fn record_by_name(&self, name: &str, args: Vec<Arg>, keywords: &[(Rc<str>, Value)], results: &[Value]) -> Result<()> {
        let keywords = keywords.iter().map(|(k, v)| Ok((k.clone(), self.argument(v)?))).collect::<Result<Vec<_>>>()?;
        let meta = self.meta();
        let value = FakeValue::List(results.iter().map(fake_value).collect());
        let call_meta = Meta { value: Some(value), ..meta.clone() };
        let call = self.graph.borrow_mut().call(name, Target::HigherOrder(name.into()), args, keywords, call_meta);
        self.record_items(call, results, &meta);
        Ok(())
    }

    /// A node for each of several results. An undefined one has a node too, which nobody reads: it takes a name, as in PyTorch.
    fn record_items(&self, call: NodeId, results: &[Value], meta: &Meta) {
        for (i, item) in results.iter().enumerate() {
            let meta = Meta { value: Some(fake_value(item)), ..meta.clone() };
            let args = vec![Arg::Node(call), Arg::Int(i as i64)];
            let node = self.graph.borrow_mut().call("getitem", Target::Getitem, args, Vec::new(), meta.clone());
            match item {
                Value::Tensor(t) => {
                    self.nodes.borrow_mut().insert(t.id(), node);
                    self.note_sizes(t, node);
                }
                Value::List(items) => self.record_items(node, items, &meta),
                _ => {}
            }
        }
    }

    /// Records the call of a higher-order operator, its bodies as subgraphs of one number: the first that is free for the first of them.
    pub fn record_higher_order(&self, op: &str, pieces: Vec<Piece>, results: &[Option<Tensor>]) -> Result<()> {
        let meta = self.meta();
        let kind = pieces.iter().find_map(|p| if let Piece::Body(kind, _) = p { Some(*kind) } else { None }).unwrap_or_default();
        let taken = |i: &usize| self.graph.borrow().subgraphs.iter().any(|(n, _)| **n == *format!("{kind}_{i}"));
        let number = (0..).find(|i| !taken(i)).unwrap_or(0);
        let all = |values: &[Value]| values.iter().map(|v| self.argument(v)).collect::<Result<Vec<_>>>();
        let mut args = Vec::new();
        for piece in pieces {
            args.push(match piece {
                Piece::One(value) => self.argument(&value)?,
                Piece::Tuple(values) => Arg::Tuple(all(&values)?),
                Piece::List(values) => Arg::List(all(&values)?),
                Piece::Body(kind, body) => {
                    let name = format!("{kind}_{number}");
                    let mut graph = self.graph.borrow_mut();
                    graph.subgraphs.push((name.as_str().into(), body));
                    Arg::Node(graph.get_attr(&name, meta.clone()))
                }
            });
        }
        let value = |t: &Option<Tensor>| t.as_ref().map_or(FakeValue::None, |t| FakeValue::Tensor(t.spec()));
        let call_meta = Meta { value: Some(FakeValue::List(results.iter().map(value).collect())), ..meta.clone() };
        let call = self.graph.borrow_mut().call(op, Target::HigherOrder(op.into()), args, Vec::new(), call_meta);
        for (i, t) in results.iter().enumerate() {
            let Some(t) = t else { continue };
            let meta = Meta { value: Some(FakeValue::Tensor(t.spec())), ..meta.clone() };
            let item =
                self.graph.borrow_mut().call("getitem", Target::Getitem, vec![Arg::Node(call), Arg::Int(i as i64)], Vec::new(), meta);
            self.nodes.borrow_mut().insert(t.id(), item);
            self.note_sizes(t, item);
        }
        Ok(())
    }

    /// A backward's subgraph: all its calls belong to the call whose backward is being traced.
    pub fn as_backward_of_call(&self, mut graph: Graph) -> Graph {
        let here = self.meta();
        let calls: Vec<NodeId> = graph.nodes().filter(|n| n.opcode == crate::graph::Opcode::Call).map(|n| n.id).collect();
        for id in calls {
            let meta = &mut graph.node_mut(id).meta;
            (meta.source, meta.is_backward, meta.own_source) = (here.source.clone(), true, false);
        }
        graph
    }

    /// A size is wanted: unless the script handed the number on itself, it is read off a tensor.
    fn ask_for_size(&self, expr: &Expr) {
        let mut sizes = self.input_sizes.borrow_mut();
        let Some(size) = sizes.get_mut(expr).filter(|s| **s == InputSize::OfTensor) else { return };
        if self.wants_number.get() {
            return;
        }
        if self.in_backward.get() || !ORIGIN.with_borrow(|o| o.numbers.contains(expr)) {
            *size = InputSize::Asked;
            self.graph.borrow_mut().reserve_name("sym_size_int");
        }
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

/// Sizes of the graph being traced, and their symbols.
struct Sizes<'a>(&'a Tracer, &'a ShapeEnv);

impl Sizes<'_> {
    fn call(&self, name: &str, target: Target, args: Vec<Arg>, expr: &Expr) -> Arg {
        let value = FakeValue::Int(SymInt::Sym(expr.clone(), self.1.clone()));
        let meta = Meta { value: Some(value), ..self.0.meta() };
        let id = self.0.graph.borrow_mut().call(node_name(name), target, args, Vec::new(), meta);
        self.0.symbols.borrow_mut().insert(expr.clone(), id);
        self.0.own_sizes.borrow_mut().insert(expr.identity(), (expr.clone(), OwnSize::Node(id)));
        Arg::Node(id)
    }

    /// The node that has this very computation of a size.
    fn own(&self, own: &Expr, expr: &Expr) -> Option<Arg> {
        let found = self.0.own_sizes.borrow().get(&own.identity()).map(|(_, own)| *own)?;
        Some(match found {
            OwnSize::Node(id) => Arg::Node(id),
            OwnSize::OfTensor(id, dim) => self.size_of(id, dim, expr),
        })
    }

    fn size_of(&self, tensor: NodeId, dim: usize, expr: &Expr) -> Arg {
        let read = self.0.read_sizes.borrow().get(&(tensor, dim)).copied();
        if let Some(id) = read {
            return Arg::Node(id);
        }
        let made = self.call("sym_size_int", Target::Op("aten.sym_size.int".into()), vec![Arg::Node(tensor), Arg::Int(dim as i64)], expr);
        if let Arg::Node(id) = made {
            self.0.read_sizes.borrow_mut().insert((tensor, dim), id);
        }
        made
    }
}

impl SizeNodes for Sizes<'_> {
    fn known(&self, expr: &Expr) -> Option<Arg> {
        if expr.as_symbol().is_none()
            && let Some(arg) = self.own(expr, expr)
        {
            return Some(arg);
        }
        if let Some(id) = self.0.symbols.borrow().get(expr).copied() {
            self.0.ask_for_size(expr);
            return Some(Arg::Node(id));
        }
        let (id, dim) = self.0.sizes.borrow().get(expr).copied()?;
        Some(self.size_of(id, dim, expr))
    }

    fn emit(&self, name: &'static str, args: Vec<Arg>, expr: &Expr) -> Arg {
        self.call(name, Target::operator(name), args, expr)
    }

    fn float(&self, float: &Rc<FloatExpr>) -> Result<Arg> {
        compute_float(self.0, &SymFloat { expr: float.clone(), env: self.1.clone() })
    }
}

impl FloatNodes for Tracer {
    fn size(&self, size: &SymInt) -> Result<Arg> {
        Tracer::size(self, size)
    }

    fn known(&self, float: &SymFloat) -> Option<Arg> {
        // What is a number by now is written as one.
        if float.is_number() {
            return float.hint().map(Arg::Float);
        }
        self.floats.borrow().iter().find(|(e, _)| *e == float.expr).map(|(_, id)| Arg::Node(*id))
    }

    fn emit(&self, name: &'static str, args: Vec<Arg>, float: &SymFloat) -> Result<Arg> {
        if name.is_empty() {
            return Err(Error::runtime(format!("the float {float} is no input of this graph")));
        }
        Ok(self.float_call(name, Target::operator(name), args, float))
    }
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
    op == "aten._assert_async.msg" || op == "aten._assert_scalar.default" || crate::dispatch::lookup(op).is_some_and(OpEntry::is_mutable)
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
        _ => FakeValue::None,
    }
}

/// The layer of dispatch.
pub struct TraceLayer(pub Rc<Tracer>);

impl Layer for TraceLayer {
    fn key(&self) -> Key {
        Key::Trace
    }

    fn wants(&self, _call: &Call) -> bool {
        true
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        if let Some(table) = self.0.decompositions.get()
            && let Some(made) = table.apply(entry, &args)?
        {
            return Ok(made);
        }
        let entry = self.0.shown(entry);
        let result = run_backend(entry, &args, true)?;
        match self.0.token.get().filter(|_| entry.tags.has(Tags::ORDERED) && !self.0.in_backward.get()) {
            Some(token) => self.0.record_with_token(token, entry, &args, &result)?,
            None => self.0.record(entry, &args, &result)?,
        }
        Ok(result)
    }

    fn measure(&self, size: &SymInt) -> Result<()> {
        self.0.size(size).map(drop)
    }

    fn multiply(&self, sizes: &[SymInt]) -> Result<()> {
        self.0.product(sizes).map(drop)
    }

    fn measure_float(&self, float: &SymFloat) -> Result<()> {
        compute_float(&*self.0, float).map(drop)
    }

    fn infer(&self, all: &[SymInt], known: &[SymInt], rest: &SymInt) -> Result<()> {
        let (all, known) = (self.0.product(all)?, self.0.product(known)?);
        if let (SymInt::Sym(_, env), false) = (rest, matches!(known, Arg::Int(1))) {
            Sizes(&self.0, env).emit("floordiv", vec![all, known], &rest.expr());
        }
        Ok(())
    }

    fn calculate(&self, name: &'static str, a: &SymInt, b: &SymInt, result: &SymInt) -> Result<()> {
        let (a, b) = (self.0.size(a)?, self.0.size(b)?);
        if let SymInt::Sym(_, env) = result {
            Sizes(&self.0, env).emit(name, vec![a, b], &result.expr());
        }
        Ok(())
    }
}

/// While it lives, a layer is on the stack.
pub struct Pushed(Key);

impl Pushed {
    /// Pushes a layer.
    pub fn new(layer: Rc<dyn Layer>) -> Self {
        let key = layer.key();
        crate::dispatch::push_layer(layer);
        Pushed(key)
    }
}

impl Drop for Pushed {
    fn drop(&mut self) {
        crate::dispatch::pop_layer(self.0);
    }
}
