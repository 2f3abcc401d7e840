//! The recorder: torch-level calls become nodes of a captured graph, real tensors its inputs in order of first use.

use super::captured_graph::computes;
use super::graph_arg::GraphArg;
use super::state::OutputGraph;
use crate::aot::schemas::InputSpec;
use crate::aot::subclass;
use crate::aot::trace::fake_value;
use crate::autograd::meta as autograd_meta;
use crate::dispatch::{Key, Modes, OpEntry, Value, modes, set_modes};
use crate::dynamo::dynamic_shapes::{InputSource, Treatment};
use crate::dynamo::exc::Failure;
use crate::dynamo::graph_breaks::unsupported::Unsupported;
use crate::error::{Error, Result};
use crate::graph::{Arg, FakeValue, Meta, NodeId, Opcode, Shown, SourceName, Target, compute_float, identifier};
use crate::shape::SymInt;
use crate::span::{Source, Written, current_modules, current_source};
use crate::tensor::{Dtype, Geometry, Tensor};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Names an input: where the caller keeps it (`L_x_`).
pub type InputName = Rc<dyn Fn(&Tensor, usize) -> InputSource>;
/// Says how the sizes and strides of an input are treated.
pub type Plan = Rc<dyn Fn(&InputSource, &Geometry) -> Treatment>;
/// Called where recording has to stop: the reason and the place.
pub type OnBreak = Rc<dyn Fn(&Recorder, &Unsupported, Option<Source>) -> Result<()>>;

/// What the recorder asks about the frames whose calls it records.
#[derive(Clone)]
pub struct Surroundings {
    /// Where the frames of the recorded call stand, outermost first.
    pub places: Rc<dyn Fn() -> Rc<[u32]>>,
    /// Asked before anything is recorded: a function that was recorded may have returned, another may have been called.
    pub look_around: Rc<dyn Fn(&Recorder) -> Result<()>>,
    /// Tensors that the script has realized before the instruction that runs, without an operator; tells each once.
    pub realized: Rc<dyn Fn() -> Vec<Tensor>>,
    /// Called where recording has to stop.
    pub on_break: OnBreak,
    /// Whether the script stores the result of the operator that it evaluates in an object or a container (`self.n += 1`).
    pub stores_result: Rc<dyn Fn() -> bool>,
    /// Why the call that the script makes breaks the graph, whatever is called, where it does.
    pub breaks_call: Rc<dyn Fn() -> Option<Unsupported>>,
    /// Whether `.item()` is part of the graph.
    pub wants_scalars: Rc<dyn Fn() -> bool>,
    /// Whether calls whose results' sizes their values decide are part of the graph.
    pub wants_sizes: Rc<dyn Fn() -> bool>,
}

/// What is recorded of one call of a compiled function, graph after graph.
pub struct Recorder {
    /// The graph that is captured now.
    output: RefCell<Rc<OutputGraph>>,
    /// Whether gradients are on around the function that is recorded.
    pub(in crate::dynamo) grad: Cell<bool>,
    /// Whether they are on where the function whose graph ended last goes on: that enters its blocks again by itself.
    pub(in crate::dynamo) resumes_in: Cell<bool>,
    pub(in crate::dynamo) autocast: Cell<Option<Dtype>>,
    /// Fake tensors whose values are known by now, and the tensors that replace them.
    pub(in crate::dynamo) arrived: RefCell<HashMap<u64, Tensor>>,
    /// Arguments of the call that breaks the graph, whose values it reads.
    pub(in crate::dynamo) needed: RefCell<Vec<Tensor>>,
    /// Numbers that only the run knows and that what breaks the graph reads.
    pub(in crate::dynamo) needed_numbers: RefCell<Vec<Value>>,
    /// While something is recorded that counts only as a whole: what would have ended the graph, once something has.
    pub(in crate::dynamo) trial: RefCell<Option<Option<Unsupported>>>,
    /// Where the frames stood when what is recorded again was recorded first.
    pub(in crate::dynamo) repeated_at: RefCell<Option<Rc<[u32]>>>,
    pub(in crate::dynamo) surroundings: Surroundings,
    pub(in crate::dynamo) input_name: InputName,
    pub(in crate::dynamo) plan: Plan,
    /// Blocks that set the grad mode and are not over.
    grad_blocks: RefCell<Vec<GradBlock>>,
    /// Tensors that a function that is recorded on its own returns before others.
    pub first_outputs: RefCell<Vec<u64>>,
    pub(in crate::dynamo) constants: Cell<usize>,
    pub(in crate::dynamo) is_over: Cell<bool>,
    /// The last call that failed.
    pub(in crate::dynamo) failure: RefCell<Option<Failure>>,
    /// What the call that failed last said.
    pub(in crate::dynamo) failed_call: RefCell<Option<String>>,
}

/// A `with` block that sets the grad mode.
pub struct GradBlock {
    /// The address of its context manager.
    pub id: usize,
    /// The mode around it.
    pub before: bool,
    /// The mode that it sets.
    pub mode: bool,
    /// The position of the frame that it is in.
    pub frame: usize,
}

/// The name of the autograd node that gave a tensor, where it requires grad; empty for a leaf.
pub(in crate::dynamo) fn grad_fn(t: &Tensor) -> Option<Rc<str>> {
    let node = || autograd_meta::peek(t, |m| m.grad_fn.as_ref().map(|(node, _)| node.name.as_str().into()));
    autograd_meta::requires_grad(t).then(|| node().unwrap_or_else(|| "".into()))
}

/// The class of a tensor, where it is one of the script's that says how it answers operators.
pub(in crate::dynamo) fn class_of(t: &Tensor) -> Option<Rc<str>> {
    let class = t.imp().subclass.borrow().clone()?;
    Some(identifier(&class.class_name()).as_ref().into())
}

impl Recorder {
    /// A recorder for one call.
    pub fn new(input_name: InputName, plan: Plan, surroundings: Surroundings) -> Rc<Self> {
        Rc::new(Recorder {
            output: RefCell::default(),
            grad: Cell::new(modes().grad),
            resumes_in: Cell::new(modes().grad),
            autocast: Cell::new(modes().autocast),
            arrived: RefCell::default(),
            needed: RefCell::default(),
            needed_numbers: RefCell::default(),
            trial: RefCell::default(),
            repeated_at: RefCell::default(),
            surroundings,
            input_name,
            plan,
            failure: RefCell::default(),
            failed_call: RefCell::default(),
            grad_blocks: RefCell::default(),
            first_outputs: RefCell::default(),
            constants: Cell::new(0),
            is_over: Cell::new(false),
        })
    }

    /// The graph that is captured now.
    pub(in crate::dynamo) fn output(&self) -> Rc<OutputGraph> {
        self.output.borrow().clone()
    }

    /// The graph has ended: the next one begins.
    pub(in crate::dynamo) fn begin_output(&self) {
        let next = self.output().next();
        self.output.replace(Rc::new(next));
    }

    /// Whether nothing was recorded since the last graph ended.
    pub fn is_empty(&self) -> bool {
        !computes(&self.output().graph.borrow())
    }

    /// Whether an operator that writes to a tensor was recorded since the last graph ended.
    pub fn mutates(&self) -> bool {
        let output = self.output();
        let graph = output.graph.borrow();
        graph.nodes().any(|node| node.op().and_then(crate::dispatch::lookup).is_some_and(|entry| entry.is_mutable()))
    }

    /// Whether not even a mode was changed since the last graph ended.
    pub fn has_no_calls(&self) -> bool {
        self.output().graph.borrow().nodes().all(|node| node.opcode != Opcode::Call)
    }

    /// Whether a tensor is a fake tensor of the graph that is captured.
    pub fn is_traced(&self, t: &Tensor) -> bool {
        t.is_fake() && self.output().nodes.borrow().contains_key(&t.id())
    }

    /// Fake tensors of this graph that are still alive, in order of creation.
    pub fn alive(&self) -> Vec<Tensor> {
        self.output().fakes.borrow().iter().filter_map(Tensor::upgrade).collect()
    }

    /// At which place among its arguments the call that breaks the graph reads a tensor.
    pub fn needs(&self, t: &Tensor) -> Option<usize> {
        self.needed.borrow().iter().position(|n| n.is(t) || self.current(n).is(t))
    }

    /// A tensor of the caller's was read: it becomes an input now, as in Dynamo. A module's parameters and
    /// buffers are `is_static`: they live as long as the model.
    pub fn touch(&self, t: &Tensor, is_static: bool) -> Result<()> {
        if t.is_fake() {
            if self.is_traced(t) {
                self.glance(t, self.output().inputs.borrow().len());
            }
            return Ok(());
        }
        match self.fake_tensor(t) {
            Some(fake_tensor) => self.glance(&fake_tensor, self.output().inputs.borrow().len()),
            None => drop(self.wrap_tensor(t)?),
        }
        if is_static && let Some(i) = self.output().by_real.borrow().get(&t.id()) {
            self.output().inputs.borrow_mut()[*i].spec.is_static = true;
        }
        Ok(())
    }

    /// A fake tensor, or one that is an input already, was read: to a called function that is traced as a frame of its own it is an input
    /// from there on.
    pub(in crate::dynamo) fn glance(&self, t: &Tensor, inputs: usize) {
        let next = self.output().graph.borrow().nodes().next_back().map_or(0, |n| n.id.0 + 1);
        let place = self.place();
        let is_new = self.output().glances.borrow().last().is_none_or(|(last, from, at, _)| (*last, from, *at) != (t.id(), &place, next));
        if is_new {
            self.output().glances.borrow_mut().push((t.id(), place, next, inputs));
        }
    }

    /// The fake tensor of a tensor of the caller's, if that is an input already: its sizes may be symbolic.
    pub fn fake_tensor(&self, t: &Tensor) -> Option<Tensor> {
        self.output().by_real.borrow().get(&self.current(t).id()).map(|i| self.output().inputs.borrow()[*i].fake_tensor.clone())
    }

    /// A tensor as the graph has it: an input's sizes may be symbolic.
    pub fn seen(&self, t: &Tensor) -> Tensor {
        self.fake_tensor(t).unwrap_or_else(|| t.clone())
    }

    /// The input of the caller's that a fake tensor stands for.
    pub fn real_tensor(&self, fake: &Tensor) -> Option<Tensor> {
        let output = self.output();
        let inputs = output.inputs.borrow();
        inputs.iter().find(|input| input.fake_tensor.is(fake)).map(|input| input.real.clone())
    }

    /// Says that a fake tensor's value is known.
    pub fn arrive(&self, fake: &Tensor, real: &Tensor) {
        self.arrived.borrow_mut().insert(fake.id(), real.clone());
    }

    /// The tensor that replaces a fake one of an earlier graph; any other tensor itself.
    pub fn current(&self, t: &Tensor) -> Tensor {
        let arrived = self.arrived.borrow();
        std::iter::successors(Some(t), |t| arrived.get(&t.id())).last().unwrap_or(t).clone()
    }

    /// Breaks the graph here.
    pub fn break_graph(&self, reason: &Unsupported) -> Result<()> {
        self.look_around()?;
        if self.is_over.get() {
            return Ok(());
        }
        if let Some(refused) = self.trial.borrow_mut().as_mut() {
            refused.get_or_insert_with(|| reason.clone());
            return Err(Error::runtime("a graph break in the backward of a custom function"));
        }
        (self.surroundings.on_break.clone())(self, reason, current_source())
    }

    /// Does something in which the graph must not end. Also gives what would have ended it, which failed.
    pub fn attempt<R>(&self, f: impl FnOnce() -> R) -> (R, Option<Unsupported>) {
        let before = self.trial.replace(Some(None));
        let done = f();
        (done, self.trial.replace(before).flatten())
    }

    /// Whether the graph must not end here.
    pub fn is_attempting(&self) -> bool {
        self.trial.borrow().is_some()
    }

    /// Breaks the graph here, at a call that reads tensors.
    pub fn break_graph_at(&self, reason: &Unsupported, read: Vec<Value>) -> Result<()> {
        let (tensors, numbers): (Vec<Value>, Vec<Value>) = read.into_iter().partition(|v| matches!(v, Value::Tensor(_)));
        self.needed.replace(tensors.into_iter().filter_map(|v| v.into_tensor().ok()).collect());
        self.needed_numbers.borrow_mut().extend(numbers);
        let broke = self.break_graph(reason);
        self.needed.borrow_mut().clear();
        self.needed_numbers.borrow_mut().clear();
        broke
    }

    /// Where the frames of the recorded call stand.
    pub(in crate::dynamo) fn place(&self) -> Rc<[u32]> {
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

    /// Whether nothing is recorded any more.
    pub fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// How a fake tensor was computed: the place, and the call as Dynamo shows it (`gt(sum_1, 0)`).
    pub fn computed_as(&self, t: &Tensor) -> Option<(Source, String)> {
        let id = self.output().nodes.borrow().get(&t.id()).copied()?;
        let output = self.output();
        let graph = output.graph.borrow();
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

    /// The fake tensors that a fake tensor was computed from.
    pub fn operands(&self, t: &Tensor) -> Vec<Tensor> {
        let output = self.output();
        let nodes = output.nodes.borrow();
        let Some(id) = nodes.get(&t.id()) else { return Vec::new() };
        let inputs = self.output().graph.borrow().node(*id).inputs();
        self.alive().into_iter().filter(|a| nodes.get(&a.id()).is_some_and(|n| inputs.contains(n))).collect()
    }

    pub(in crate::dynamo) fn meta(&self, value: FakeValue) -> Meta {
        Meta {
            value: Some(value),
            source: current_source(),
            modules: current_modules(),
            annotation: crate::aot::trace::script_annotation(),
            ..Meta::default()
        }
    }

    /// The fake tensor of a tensor: itself if it is one of the graph; a tensor of the caller's becomes an input (PyTorch's `wrap_tensor`).
    pub(in crate::dynamo) fn wrap_tensor(&self, t: &Tensor) -> Result<Tensor> {
        let t = &self.current(t);
        if self.output().nodes.borrow().contains_key(&t.id()) {
            return Ok(t.clone());
        }
        if let Some(i) = self.output().by_real.borrow().get(&t.id()) {
            return Ok(self.output().inputs.borrow()[*i].fake_tensor.clone());
        }
        for realized in (self.surroundings.realized.clone())() {
            self.wrap_tensor(&realized)?;
        }
        if let Some(i) = self.output().by_real.borrow().get(&t.id()) {
            return Ok(self.output().inputs.borrow()[*i].fake_tensor.clone());
        }
        let mut spec = InputSpec::of(t)?;
        let index = self.output().inputs.borrow().len();
        let source = (self.input_name)(t, index);
        spec.is_static = source.is_static || source.is_held;
        // A backward goes on with the sizes that its forward had.
        let saved = if self.output().keeping.get() { crate::aot::saved_dynamic_dims(t) } else { Vec::new() };
        let dims = (self.plan)(&source.propagated(t, &saved), &spec.spec.geometry);
        crate::dynamo::guards::constraints::check(&dims, &spec.spec.geometry)?;
        let (geometry, made) = self.output().symbols.borrow_mut().geometry(&source, index, &spec.spec.geometry, &dims);
        if self.output().keeping.get() {
            self.output().unplaced_sizes.borrow_mut().extend(made.iter().cloned());
        } else {
            let of_shape = |size: &mut SymInt| geometry.sizes.iter().any(|own| own.expr() == size.expr());
            let placed: Vec<SymInt> = self.output().unplaced_sizes.borrow_mut().extract_if(.., of_shape).collect();
            for size in placed.iter().chain(&made) {
                self.size_input(size);
            }
        }
        let unknown: Vec<SymInt> = made.into_iter().filter(|size| size.hint().is_none()).collect();
        spec.subclass = spec.subclass.map(|meta| meta.made_symbolic(&geometry).with_sizes());
        spec.spec.geometry = geometry;
        let fake_tensor = subclass::fake_of(&spec.subclass, &spec.spec)?;
        fake_tensor.set_math_bits(spec.math_bits);
        if spec.requires_grad {
            autograd_meta::set_requires_grad(&fake_tensor, true)?;
        }
        // One that is no leaf may be written to: its fake tensor is the result of a call.
        let fake_tensor = if spec.requires_grad && !spec.is_leaf {
            let _guard = crate::dispatch::Exclude::only(Key::Capture);
            let before = set_modes(Modes { grad: true, fake: true, ..modes() });
            let cloned = crate::t!("clone", &fake_tensor);
            set_modes(before);
            let cloned = cloned?;
            cloned.adopt(&Tensor::fake(&spec.spec)?);
            cloned
        } else {
            fake_tensor
        };
        let grad_fn = grad_fn(t).map(|name| if spec.is_leaf { "".into() } else { name });
        let spec = InputSpec { called: Some(source.called()), ..spec };
        let meta = Meta {
            value: Some(FakeValue::Tensor(spec.spec.clone())),
            grad_fn,
            subclass: class_of(t),
            input: spec.called.clone(),
            ..Meta::default()
        };
        let node = self.output().graph.borrow_mut().placeholder(&source.name, meta);
        self.output().nodes.borrow_mut().insert(fake_tensor.id(), node);
        self.output().by_real.borrow_mut().insert(t.id(), index);
        self.output().input_places.borrow_mut().push(self.place());
        let is_inference = crate::autograd::meta::is_inference(t);
        let input = GraphArg { real: t.clone(), fake_tensor: fake_tensor.clone(), node, spec, is_inference, source };
        self.output().inputs.borrow_mut().push(input);
        unknown.iter().try_for_each(|size| self.expect_bounds(size))?;
        Ok(fake_tensor)
    }

    /// A symbolic size becomes an input.
    pub(in crate::dynamo) fn size_input(&self, size: &SymInt) -> NodeId {
        let origin = |size: &SymInt| match size {
            SymInt::Sym(expr, env) => env.info(expr.as_symbol()?).map(|info| info.origin),
            SymInt::Int(_) => None,
        };
        let called = origin(size).map(|origin| Rc::new(SourceName::of_source(&origin, false)));
        let meta = Meta { value: Some(FakeValue::Int(size.clone())), input: called, ..Meta::default() };
        let id = self.output().graph.borrow_mut().placeholder(&size.to_string(), meta);
        self.output().sizes.borrow_mut().insert(size.expr(), id);
        id
    }

    /// The tensor of the caller's that a fake tensor belongs to.
    pub(in crate::dynamo) fn known_as(&self, t: &Tensor) -> Tensor {
        self.output().inputs.borrow().iter().find(|i| i.fake_tensor.is(t)).map_or_else(|| t.clone(), |i| i.real.clone())
    }

    pub(in crate::dynamo) fn constant(&self, t: &Tensor) -> NodeId {
        let name = format!("_tensor_constant{}", self.constants.get());
        self.constants.set(self.constants.get() + 1);
        let meta = self.meta(FakeValue::Tensor(t.spec()));
        let output = self.output();
        let mut graph = output.graph.borrow_mut();
        graph.constants.push((name.as_str().into(), t.clone()));
        graph.get_attr(&name, meta)
    }

    /// A value as an argument of a recorded call.
    pub fn argument(&self, value: &Value) -> Result<Arg> {
        Ok(match value {
            Value::Opaque(_) => value.condition().map_or(Ok(Arg::None), |condition| self.condition(condition).map(Arg::Node))?,
            Value::None => Arg::None,
            Value::Bool(b) => Arg::Bool(*b),
            Value::Int(i) => self.size(i)?,
            Value::Float(f) => Arg::Float(*f),
            Value::SymFloat(f) if self.has_float(f) => compute_float(self, f)?,
            Value::SymFloat(f) => Arg::Float(f.guard_float()?),
            Value::Complex(re, im) => Arg::Complex(*re, *im),
            Value::Str(s) => Arg::Str(s.clone()),
            Value::Tensor(t) => {
                let known = self.output().nodes.borrow().get(&t.id()).copied();
                Arg::Node(known.unwrap_or_else(|| {
                    let id = self.constant(t);
                    self.output().nodes.borrow_mut().insert(t.id(), id);
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

    /// A block begins that sets the grad mode.
    pub fn begin_grad_block(&self, block: GradBlock) {
        self.grad_blocks.borrow_mut().push(block);
    }

    /// The graph ends inside of blocks of these frames: they are left there, and entered again by the next one.
    pub fn leave_grad_blocks(&self, frames: &std::ops::Range<usize>) {
        let blocks = self.grad_blocks.borrow();
        self.output().around.set(blocks.iter().find(|block| frames.contains(&block.frame)).map(|block| block.before));
    }

    /// The mode that the innermost block of these frames sets.
    pub fn mode_of_blocks(&self, frames: &std::ops::Range<usize>) -> Option<bool> {
        self.grad_blocks.borrow().iter().rfind(|block| frames.contains(&block.frame)).map(|block| block.mode)
    }

    /// A block is over.
    pub fn end_grad_block(&self, block: usize) {
        self.grad_blocks.borrow_mut().retain(|known| known.id != block);
    }

    /// Whether the graph ends at the call of a function that is recorded on its own from there.
    pub fn ends_at_call(&self, is_split: bool) {
        self.output().is_split.set(is_split);
    }

    /// The grad mode that the frame whose graph ended last goes on in.
    pub fn mode_around(&self) -> bool {
        self.resumes_in.get()
    }

    /// Records a change of the grad mode.
    pub fn record_grad_mode(&self, enabled: bool) {
        let output = self.output();
        let id = output.graph.borrow_mut().set_grad_enabled(enabled);
        output.mode_places.borrow_mut().insert(id, self.place());
    }

    /// Records that a block of inference mode begins: one without gradients.
    pub fn record_inference_mode(&self) {
        let id = self.inference_call("_enter_inference_mode", false, Arg::Bool(true));
        self.output().inference_blocks.borrow_mut().push(id);
    }

    /// Records that it ends; gradients are as they were around it.
    pub fn record_inference_mode_end(&self, grad: bool) {
        let block = self.output().inference_blocks.borrow_mut().pop();
        match block {
            Some(block) => drop(self.inference_call("_exit_inference_mode", grad, Arg::Node(block))),
            // It began in an earlier graph.
            None => self.record_grad_mode(grad),
        }
    }

    fn inference_call(&self, name: &str, grad: bool, shown: Arg) -> NodeId {
        let path = Shown::Function(format!("torch.autograd.grad_mode.{name}").into());
        let target = Target::Torch { op: "_C._set_grad_enabled".into(), shown: path };
        let id = self.output().graph.borrow_mut().call(name, target, vec![Arg::Bool(grad)], Vec::new(), Meta::default());
        self.write(self.output().graph.borrow_mut().node_mut(id), vec![shown], Vec::new());
        id
    }

    /// Records that a block of autocast begins: with the short dtype, which the script says or not, or off.
    pub fn record_autocast(&self, dtype: Dtype, enabled: bool, is_said: bool) {
        let args = |dtype: Arg| vec![Arg::Str("cpu".into()), dtype, Arg::Bool(enabled), Arg::None];
        let id = self.autocast_call("_enter_autocast", args(Arg::Dtype(dtype)));
        if !is_said {
            self.write(self.output().graph.borrow_mut().node_mut(id), args(Arg::None), Vec::new());
        }
        self.output().blocks.borrow_mut().push(id);
    }

    /// Records that a block of autocast ends; `outer` is the short dtype around it.
    pub fn record_autocast_end(&self, outer: Option<Dtype>) {
        let block = self.output().blocks.borrow_mut().pop();
        match block {
            Some(block) => self.autocast_call("_exit_autocast", vec![Arg::Node(block)]),
            // It began in an earlier graph: this one goes on in what was around it.
            None => self.autocast_call(
                "_enter_autocast",
                vec![Arg::Str("cpu".into()), Arg::Dtype(outer.unwrap_or(Dtype::BFloat16)), Arg::Bool(outer.is_some()), Arg::None],
            ),
        };
    }

    fn autocast_call(&self, name: &str, args: Vec<Arg>) -> NodeId {
        let shown = Shown::Function(format!("torch.amp.autocast_mode.{name}").into());
        let target = Target::Torch { op: format!("autocast.{name}").into(), shown };
        self.output().graph.borrow_mut().call(name, target, args, Vec::new(), Meta::default())
    }

    pub(in crate::dynamo) fn record(&self, entry: &'static OpEntry, args: &[Value], result: &Value, inputs: usize) -> Result<()> {
        let (positional, keywords) = entry.schema.shown(args, |_, value| self.argument(value))?;
        // What a transform makes of a written call is shown as the operators that it is. A factory is called as it was.
        let is_factory = entry.schema.position("pin_memory").is_some();
        let is_rewritten = crate::dispatch::levels::rewrite_calls() && !is_factory;
        let (shown, name) = match Written::current().filter(|_| !is_rewritten) {
            Some(Written::Function(prefix, name)) => {
                (Shown::Function(format!("{prefix}{name}").into()), name.rsplit('.').next().unwrap_or(name))
            }
            Some(Written::Method(name)) => (Shown::Method(name.into()), name),
            Some(Written::Operator(symbol)) if symbol.starts_with(|c: char| "+-*/%@&|^<>=!~".contains(c)) => {
                (Shown::Operator(symbol.into()), entry.base_name())
            }
            // A factory that nobody called from Python.
            None if is_rewritten || is_factory => (Shown::Function(format!("torch.ops.{}", entry.name).into()), entry.base_name()),
            _ => (Shown::Function(format!("torch.{}", entry.base_name()).into()), entry.base_name()),
        };
        let target = Target::Torch { op: entry.name.into(), shown };
        let subclass = result.as_tensor().and_then(class_of);
        let meta = Meta { grad_fn: result.as_tensor().and_then(grad_fn), subclass, ..self.meta(fake_value(result)) };
        let id = self.output().graph.borrow_mut().call(name, target, positional, keywords, meta.clone());
        self.output().graph.borrow_mut().node_mut(id).written = self.output().writing.stamp();
        let place = self.place();
        self.output().stacks.borrow_mut().insert(id, (place.clone(), inputs));
        if Written::current() == Some(Written::Operator("[]")) {
            self.output().items.borrow_mut().push(id);
        }
        let note = |t: &Tensor, id: NodeId| match self.output().nodes.borrow_mut().insert(t.id(), id) {
            Some(before) => {
                self.output().earlier.borrow_mut().entry(t.id()).or_default().push(before);
                self.output().writing.gave_again(t, Some(before), id)
            }
            None => self.output().fakes.borrow_mut().push(t.downgrade()),
        };
        match result {
            Value::Tensor(t) if entry.schema.returns.first().is_some_and(|r| r.alias.is_some()) && entry.is_mutable() => {
                // The written tensor keeps its node: replaying the write replays it on that value.
                self.output().writing.gave_again(t, None, id);
                self.note_stored(t, id);
            }
            Value::Tensor(t) => note(t, id),
            Value::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    let Value::Tensor(t) = item else { continue };
                    let value = Some(FakeValue::Tensor(t.spec()));
                    let meta = Meta { value, grad_fn: grad_fn(t), subclass: class_of(t), ..meta.clone() };
                    let item = self.output().graph.borrow_mut().call(
                        "getitem",
                        Target::Getitem,
                        vec![Arg::Node(id), Arg::Int(i as i64)],
                        Vec::new(),
                        meta,
                    );
                    self.output().graph.borrow_mut().node_mut(item).written = self.output().writing.stamp();
                    self.output().stacks.borrow_mut().insert(item, (place.clone(), inputs));
                    note(t, item);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
