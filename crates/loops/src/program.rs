//! From a graph to loops: every node is run on fake tensors, which gives exact sizes, strides and aliasing, and lowered.
//!
//! The result is a [`Program`]: storages, loops in order, and the nodes that have no lowering and run on the CPU. Views and
//! in-place operators need no rule of their own: fake tensors share storages exactly as real ones would.

use super::language::{Loop, Prim, Ty, View, X};
use super::lower;
use cpu::interpret::{interpret, operator_call, plain_call, value_of};
use diagnostics::error::{Error, Result};
use dispatch::{Call, OpEntry, OpRef, Rule, Value, named, op, run_backend};
use graph::{Arg, FakeValue, Graph, Node, NodeId, Opcode, Target};
use report::bundle;
use shape::{SymInt, ints};
use std::collections::HashMap;
use std::rc::Rc;
use tensor::{Device, Dtype, Geometry, Tensor, TensorSpec};

/// What a placeholder will be given.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A tensor of this spec.
    Tensor(TensorSpec),
    /// A number or nothing; a plan is for this very value.
    Constant(Value),
}

/// A storage of the program.
#[derive(Clone, Debug)]
pub struct StorageInfo {
    /// Elements it holds.
    pub elements: i64,
    /// Their type.
    pub dtype: Dtype,
    /// The node that made it, or the placeholder.
    pub name: Rc<str>,
}

/// What a node on the CPU calls.
#[derive(Clone)]
pub enum Callee {
    /// An operator.
    Operator(&'static OpEntry),
    /// `torch.cond`: the predicate chooses one of two subgraphs, which takes the operands.
    Cond(Rc<[Graph; 2]>),
}

impl Callee {
    /// As the graph prints it.
    pub fn name(&self) -> &str {
        match self {
            Callee::Operator(entry) => entry.name,
            Callee::Cond(_) => "higher_order.cond",
        }
    }
    /// Calls it with real tensors.
    pub fn run(&self, args: &[Value]) -> Result<Value> {
        match (self, args) {
            (Callee::Operator(entry), _) => run_backend(entry, args, false),
            (Callee::Cond(branches), [predicate, operands @ ..]) => {
                let chosen = match predicate {
                    Value::Tensor(t) => t.storage().bytes()?.get(t.concrete()?.offset * t.dtype().itemsize()).is_some_and(|b| *b != 0),
                    other => other.bool()?,
                };
                Ok(Value::List(interpret(&branches[usize::from(!chosen)], operands.to_vec())?))
            }
            (Callee::Cond(_), []) => Err(Error::type_error("cond of nothing")),
        }
    }
}

/// A node that runs on the CPU.
#[derive(Clone)]
pub struct Fallback {
    /// The node.
    pub node: NodeId,
    /// What is called.
    pub callee: Callee,
    /// Its arguments; tensors are fake and stand for regions of storages.
    pub args: Vec<Value>,
    /// Regions it reads.
    pub reads: Vec<View>,
    /// Regions it makes, in the order its result holds them.
    pub writes: Vec<View>,
    /// Why it does not run on the GPU.
    pub reason: String,
}

/// Something to do, in order.
#[derive(Clone)]
pub enum Item {
    /// A loop.
    Prim(Prim),
    /// A node on the CPU.
    Fallback(Box<Fallback>),
}

/// What the graph returns.
#[derive(Clone, Debug)]
pub enum Output {
    /// A region of a storage.
    Tensor(View),
    /// A number or nothing.
    Constant(Value),
}

/// A graph as loops over storages.
pub struct Program {
    /// Storages.
    pub storages: Vec<StorageInfo>,
    /// What to do, in order.
    pub items: Vec<Item>,
    /// Per placeholder, the region it fills.
    pub inputs: Vec<Option<View>>,
    /// What is returned, with the name of the node it is the value of.
    pub outputs: Vec<(Rc<str>, Output)>,
    /// Constant tensors of the graph and the storages they fill.
    pub constants: Vec<(View, Tensor)>,
    /// What a reader of the results should know.
    pub notes: Vec<String>,
}

/// The arguments that a graph's own metadata describes, sizes taken at their hints.
pub fn arguments_of(graph: &Graph) -> Result<Vec<Argument>> {
    graph
        .placeholders()
        .map(|node| match &node.meta.value {
            Some(FakeValue::Tensor(spec)) => Ok(Argument::Tensor(concrete_spec(spec)?)),
            Some(FakeValue::Int(i)) => i.hint().map(|i| Argument::Constant(Value::from(i))).ok_or_else(|| unknown(node)),
            _ => Err(unknown(node)),
        })
        .collect()
}

fn unknown(node: &Node) -> Error {
    Error::runtime(format!("{}: the graph does not say what this input is", node.name))
}

/// A spec with every size at its hint.
pub fn concrete_spec(spec: &TensorSpec) -> Result<TensorSpec> {
    let list = |v: &[SymInt]| -> Result<Vec<SymInt>> {
        v.iter().map(|s| s.hint().map(SymInt::Int).ok_or_else(|| Error::runtime(format!("the size {s} is not known")))).collect()
    };
    let g = &spec.geometry;
    let geometry = Geometry { sizes: list(&g.sizes)?, strides: list(&g.strides)?, offset: SymInt::Int(g.offset.hint().unwrap_or(0)) };
    Ok(TensorSpec { geometry, dtype: spec.dtype, device: Device::CPU })
}

/// The argument that a value of a bundle is.
pub fn argument_of(value: &bundle::Value) -> Result<Argument> {
    Ok(match value {
        bundle::Value::Tensor { tensor } => {
            let dtype = Dtype::parse(&tensor.dtype).ok_or_else(|| Error::type_error(format!("unknown dtype {}", tensor.dtype)))?;
            let list = |v: &[u64]| ints(&v.iter().map(|s| *s as i64).collect::<Vec<_>>());
            Argument::Tensor(TensorSpec::strided(list(&tensor.shape), list(&tensor.stride), dtype, Device::CPU))
        }
        bundle::Value::None => Argument::Constant(Value::None),
        bundle::Value::Int { value } => Argument::Constant(Value::from(*value)),
        bundle::Value::Float { value } => Argument::Constant(Value::Float(*value)),
        bundle::Value::Bool { value } => Argument::Constant(Value::Bool(*value)),
    })
}

/// What a machine takes of the lowerings; what it does not take stays a call of its CPU kernel.
pub trait Machine {
    /// Why a call is not lowered.
    ///
    /// # Errors
    /// The reason.
    fn takes_call(&self, _call: &Call, _outs: &[Option<View>]) -> Result<()> {
        Ok(())
    }
    /// Why a loop that a call was lowered to is of no use.
    ///
    /// # Errors
    /// The reason.
    fn takes(&self, _prim: &Prim) -> Result<()> {
        Ok(())
    }
}

/// A machine that takes all there is.
pub struct Everything;

impl Machine for Everything {}

/// State of lowering: what rules of operators write to.
pub struct Builder {
    machine: Rc<dyn Machine>,
    /// Storages so far.
    pub storages: Vec<StorageInfo>,
    /// What to do, so far.
    pub items: Vec<Item>,
    /// Storages of fake tensors.
    known: HashMap<u64, usize>,
    /// Keeps fake tensors alive, so that their storages' identities stay theirs.
    alive: Vec<Tensor>,
    /// The node being lowered.
    pub node: NodeId,
    name: Rc<str>,
}

impl Builder {
    /// Nothing yet.
    pub fn new(machine: Rc<dyn Machine>) -> Builder {
        Builder {
            machine,
            storages: Vec::new(),
            items: Vec::new(),
            known: HashMap::new(),
            alive: Vec::new(),
            node: NodeId(0),
            name: "".into(),
        }
    }

    /// The storage of a tensor, by its index.
    pub fn index_of(&self, tensor: &Tensor) -> Option<usize> {
        self.known.get(&tensor.storage().id()).copied()
    }

    /// Lowers one call whose results are to fill `outs`.
    ///
    /// # Errors
    /// The reason why it has no lowering that the machine takes.
    pub fn lower_call(&mut self, call: &Call, outs: &[Option<View>]) -> Result<()> {
        self.machine.clone().takes_call(call, outs)?;
        let first = self.items.len();
        if !lower::lower(self, call, outs)? {
            return Err(Error::not_implemented("it has no lowering"));
        }
        let machine = self.machine.clone();
        self.items[first..].iter().try_for_each(|item| match item {
            Item::Prim(prim) => machine.takes(prim),
            Item::Fallback(_) => Ok(()),
        })
    }

    fn storage(&mut self, tensor: &Tensor) -> Result<usize> {
        let id = tensor.storage().id();
        if let Some(index) = self.known.get(&id) {
            return Ok(*index);
        }
        let bytes = tensor.storage().nbytes().guard_int()?;
        let elements = bytes / tensor.dtype().itemsize() as i64;
        self.storages.push(StorageInfo { elements, dtype: tensor.dtype(), name: self.name.clone() });
        self.known.insert(id, self.storages.len() - 1);
        self.alive.push(tensor.clone());
        Ok(self.storages.len() - 1)
    }

    /// Whether every tensor in a value is a view of something computed before.
    fn knows(&self, value: &Value) -> bool {
        let mut known = true;
        value.for_each_tensor(&mut |t| known &= self.known.contains_key(&t.storage().id()));
        known
    }

    /// The region a fake tensor stands for.
    pub fn view(&mut self, tensor: &Tensor) -> Result<View> {
        let storage = self.storage(tensor)?;
        if self.storages[storage].dtype.itemsize() != tensor.dtype().itemsize() {
            return Err(Error::not_implemented("a view as another dtype"));
        }
        Ok(View::new(storage, &tensor.concrete()?, tensor.dtype()))
    }

    /// A fresh region of its own, row-major.
    pub fn temp(&mut self, sizes: &[i64], dtype: Dtype) -> View {
        self.storages.push(StorageInfo { elements: sizes.iter().product(), dtype, name: self.name.clone() });
        let strides = super::language::row_major(sizes);
        View { storage: self.storages.len() - 1, sizes: sizes.to_vec(), strides, offset: 0, dtype }
    }

    /// Appends the node as one that runs on the CPU.
    fn on_cpu(&mut self, callee: Callee, args: Vec<Value>, writes: Vec<View>, reason: String) -> Result<()> {
        let mut tensors = Vec::new();
        args.iter().for_each(|v| v.for_each_tensor(&mut |t| tensors.push(t.clone())));
        let reads = tensors.iter().map(|t| self.view(t)).collect::<Result<_>>()?;
        self.items.push(Item::Fallback(Box::new(Fallback { node: self.node, callee, args, reads, writes, reason })));
        Ok(())
    }

    /// Appends a loop.
    pub fn emit(&mut self, out: &View, body: Loop) {
        if out.numel() > 0 {
            self.items.push(Item::Prim(Prim { out: out.clone(), body, node: self.node }));
        }
    }

    /// Appends a pointwise loop.
    pub fn pointwise(&mut self, out: &View, body: X) {
        self.emit(out, Loop::Pointwise(body));
    }
}

/// Lowers a graph for the given arguments, as far as the machine takes it.
pub fn lower(graph: &Graph, arguments: &[Argument], machine: Rc<dyn Machine>) -> Result<Program> {
    let mut b = Builder::new(machine);
    let mut values: Vec<Value> = vec![Value::None; graph.arena_len()];
    let (mut inputs, mut outputs, mut constants, mut notes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut given = arguments.iter();
    for node in graph.nodes() {
        b.node = node.id;
        b.name = node.name.clone();
        let value = match node.opcode {
            Opcode::Placeholder => match given.next() {
                Some(Argument::Tensor(spec)) => {
                    let tensor = Tensor::fake(spec)?;
                    inputs.push(Some(b.view(&tensor)?));
                    Value::Tensor(tensor)
                }
                Some(Argument::Constant(value)) => {
                    inputs.push(None);
                    value.clone()
                }
                None => return Err(Error::type_error(format!("{}: an input is missing", node.name))),
            },
            Opcode::GetAttr => match graph.constants.iter().find(|(name, _)| *name == target_name(node)) {
                Some((_, real)) => {
                    let tensor = Tensor::fake(&real.spec())?;
                    constants.push((b.view(&tensor)?, real.clone()));
                    Value::Tensor(tensor)
                }
                // A subgraph: found by name where it is called.
                None => Value::None,
            },
            Opcode::Call => call(&mut b, graph, node, &values)?,
            Opcode::Output => {
                for arg in graph.outputs() {
                    let name = match &arg {
                        Arg::Node(id) => graph.node(*id).name.clone(),
                        _ => "None".into(),
                    };
                    outputs.push((
                        name,
                        match value_of(&arg, &values)? {
                            Value::Tensor(t) => Output::Tensor(b.view(&t)?),
                            other => Output::Constant(other),
                        },
                    ));
                }
                continue;
            }
        };
        values[node.id.0 as usize] = value;
    }
    for item in &b.items {
        if let Item::Prim(prim) = item {
            is_countable(prim, &b.storages)
                .map_err(|e| Error { message: format!("{}: {}", graph.node(prim.node).name, e.message), ..e })?;
        }
    }
    let has = |dtype: Dtype| b.storages.iter().any(|s| s.dtype == dtype);
    if has(Dtype::Float64) {
        notes.push("float64 is computed in float32: WebGPU has no wider float".to_owned());
    }
    if has(Dtype::Int64) {
        notes.push("int64 is computed in 32 bits; inputs that do not fit are refused".to_owned());
    }
    Ok(Program { storages: b.storages, items: b.items, inputs, outputs, constants, notes })
}

/// Whether a kernel, which counts in 32 bits, can count a loop's turns and the elements of what it reads and writes.
fn is_countable(prim: &Prim, storages: &[StorageInfo]) -> Result<()> {
    let counts = |sizes: &[i64]| sizes.iter().try_fold(1i32, |n, size| n.checked_mul(i32::try_from(*size).ok()?)).is_some();
    let over: &[i64] = match &prim.body {
        Loop::Reduce { over, .. } | Loop::Matmul { over, .. } => over,
        Loop::Pointwise(_) | Loop::Scan { .. } => &[],
        Loop::Attention(a) => &a.lengths,
    };
    let fits = |view: &View| i32::try_from(storages[view.storage].elements).is_ok();
    let mut all = counts(&prim.out.sizes) && counts(over) && prim.outs().all(fits);
    prim.body.bodies().iter().for_each(|body| body.for_each_load(&mut |view, _| all &= fits(view)));
    if all { Ok(()) } else { Err(Error::not_implemented("more elements than a kernel can count in 32 bits")) }
}

fn target_name(node: &Node) -> Rc<str> {
    match &node.target {
        Target::Name(name) => name.clone(),
        other => other.text().into(),
    }
}

fn call(b: &mut Builder, graph: &Graph, node: &Node, values: &[Value]) -> Result<Value> {
    if let Target::HigherOrder(name) = &node.target {
        return match &**name {
            "cond" => cond(b, graph, node, values),
            _ => Err(Error::not_implemented(format!("{}: the higher-order operator {name} has no lowering", node.name))),
        };
    }
    let (entry, args) = operator_call(node, values)?;
    let Some(entry) = entry else { return plain_call(node, &args) };
    execute(b, entry, args).map_err(|e| Error { message: format!("{}: {}", node.name, e.message), ..e })
}

/// `cond(predicate, true_graph, false_graph, operands)`: which branch runs is known when the predicate is.
fn cond(b: &mut Builder, graph: &Graph, node: &Node, values: &[Value]) -> Result<Value> {
    let [predicate, yes, no, operands] = node.args.as_slice() else {
        return Err(Error::type_error(format!("{}: cond takes four arguments", node.name)));
    };
    let branch = |arg: &Arg| -> Result<Graph> {
        let Arg::Node(id) = arg else { return Err(Error::type_error(format!("{}: a subgraph was expected", node.name))) };
        let target = target_name(graph.node(*id));
        let found = graph.subgraphs.iter().find(|(name, _)| *name == target);
        found.map(|(_, g)| g.clone()).ok_or_else(|| Error::runtime(format!("there is no subgraph {target}")))
    };
    let branches = [branch(yes)?, branch(no)?];
    let operands = match value_of(operands, values)? {
        Value::List(items) => items,
        other => vec![other],
    };
    let result = interpret(&branches[0], operands.clone())?;
    let mut writes = Vec::new();
    for value in &result {
        if let Value::Tensor(t) = value {
            if b.known.contains_key(&t.storage().id()) {
                return Err(Error::not_implemented(format!("{}: a branch returns a view of its operand", node.name)));
            }
            writes.push(b.view(t)?);
        }
    }
    let args = std::iter::once(value_of(predicate, values)?).chain(operands).collect();
    b.on_cpu(Callee::Cond(Rc::new(branches)), args, writes, "which branch runs depends on data".to_owned())?;
    Ok(Value::List(result))
}

/// Lowers one call of an operator; gives its fake result.
fn execute(b: &mut Builder, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let call = Call { entry, args: &args };
    // A plan's memory holds elements as they are read.
    let at_once = match () {
        () if named::CONJ.is(entry) => op("_conj_physical"),
        () if named::NEG_VIEW.is(entry) => op("neg"),
        () => None,
    };
    if let Some(at_once) = at_once {
        return execute(b, at_once, args);
    }
    match entry.rule {
        Rule::View(_) if entry.view_dtype.is_some() => {
            return Err(Error::not_implemented(format!("{} reads bytes as another dtype, which the GPU plan does not", entry.name)));
        }
        Rule::View(_) | Rule::InplaceView(_) => {
            return run_backend(entry, &args, true);
        }
        Rule::Inplace(functional) => {
            let target = args.first().ok_or_else(|| Error::runtime("an in-place operator of nothing"))?.tensor()?.clone();
            let region = b.view(&target)?;
            let source = if named::COPY_.is(entry) {
                args.get(1).cloned().unwrap_or_default().into_tensor()?
            } else {
                let functional = op(functional).ok_or_else(|| Error::not_implemented(format!("no operator {functional}")))?;
                execute(b, functional, args.clone())?.into_tensor()?
            };
            let mut source = b.view(&source)?;
            if source.storage == region.storage {
                let copy = b.temp(&source.sizes, source.dtype);
                b.pointwise(&copy, source.here());
                source = copy;
            }
            b.pointwise(&region, source.broadcast(region.dim()));
            return Ok(Value::Tensor(target));
        }
        _ => {}
    }
    let mut result = run_backend(entry, &args, true)?;
    if matches!(entry.rule, Rule::Composite(_)) && b.knows(&result) {
        return Ok(result);
    }
    static RESHAPE: OpRef = OpRef::new("reshape");
    let is_view = named::is_any(entry, &[&named::UNSAFE_VIEW, &named::ALIAS, &named::DETACH, &RESHAPE]);
    if let (true, Value::Tensor(made), Some(Value::Tensor(base))) = (is_view, &result, args.first())
        && (b.known.contains_key(&made.storage().id()) || base.is_contiguous()?)
    {
        // Contiguous elements under other sizes: nothing to compute.
        if !b.known.contains_key(&made.storage().id()) {
            let mut geometry = (*made.geometry()).clone();
            geometry.offset = base.geometry().offset.clone();
            result = Value::Tensor(base.view_as(geometry));
        }
        return Ok(result);
    }
    let mut outs = Vec::new();
    collect(b, &result, &mut outs)?;
    let before = (b.items.len(), b.storages.len());
    let mut complex = false;
    args.iter().for_each(|v| v.for_each_tensor(&mut |t| complex |= Ty::of(t.dtype()).is_none()));
    complex |= outs.iter().flatten().any(|v| Ty::of(v.dtype).is_none());
    let lowered = if complex { Err(Error::not_implemented("complex numbers and floats of 8 bits")) } else { b.lower_call(&call, &outs) };
    let reason = match lowered {
        Ok(()) => return Ok(result),
        Err(e) => e.message,
    };
    b.items.truncate(before.0);
    b.storages.truncate(before.1);
    let writes = outs.into_iter().flatten().collect();
    b.on_cpu(Callee::Operator(entry), args, writes, reason)?;
    Ok(result)
}

/// The regions of an operator's results, in order; `None` for one that is undefined.
fn collect(b: &mut Builder, value: &Value, outs: &mut Vec<Option<View>>) -> Result<()> {
    match value {
        Value::Tensor(t) => outs.push(Some(b.view(t)?)),
        Value::List(items) => items.iter().try_for_each(|v| collect(b, v, outs))?,
        _ => outs.push(None),
    }
    Ok(())
}
