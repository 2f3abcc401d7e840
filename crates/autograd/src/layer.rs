//! The autograd layer: builds the tape, makes views views, counts versions. It calls what lies below and nothing else.

use super::forward::DualCall;
use super::lift::{Lift, Lifted};
use super::meta::{self, CreationMeta};
use super::node::{Body, Node, next_seq_nr};
use super::saved::{SavedVariable, freed};
use super::views::{ViewStep, allow_write, become_result, edges_of, make_view, rebase_history};
use diagnostics::error::{Error, Result};
use dispatch::foreach::{self, is_foreach};
use dispatch::saved_fields::FieldKind;
use dispatch::t;
use dispatch::{
    Backward, Call, Derivative, Grad, Key, Layer, OpEntry, Part, Rule, Tags, Value, call_below, call_script, has_layer, modes, named,
    push_layer, run_backend, script_has,
};
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use tensor::{Tensor, TensorSpec};

/// The dispatch layer.
pub struct AutogradLayer;

/// Puts the layer into this thread's stack; needed once per thread.
pub fn install() {
    thread_local! {
        static DONE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }
    if !DONE.replace(true) {
        push_layer(Rc::new(AutogradLayer));
    }
}

fn tensor_slots(args: &[Value]) -> Vec<Option<Tensor>> {
    // One slot per tensor position of the arguments, lists spread out; other arguments have none.
    let mut slots = Vec::new();
    for arg in args {
        match arg {
            Value::Tensor(t) => slots.push(Some(t.clone())),
            Value::List(items) if items.iter().any(|v| v.as_tensor().is_some()) => {
                slots.extend(items.iter().map(|v| v.as_tensor().cloned()));
            }
            _ => {}
        }
    }
    slots
}

impl Layer for AutogradLayer {
    fn key(&self) -> Key {
        Key::Autograd
    }

    fn wants(&self, _call: &Call) -> bool {
        true
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        let mut wants_grad = false;
        if modes().grad && !entry.not_differentiable && !converts_to_integers(entry, &args) {
            for arg in &args {
                arg.for_each_tensor(&mut |t| wants_grad |= meta::requires_grad(t));
            }
        }
        let dual = DualCall::before(entry, &args)?;
        if let Some(composed) = dual.as_ref().and_then(DualCall::composed) {
            return composed;
        }
        let out = self.differentiate(entry, args, wants_grad)?;
        if let Some(dual) = dual {
            dual.after(&out)?;
        }
        Ok(out)
    }
}

impl AutogradLayer {
    /// Makes a call, and its node.
    fn differentiate(&self, entry: &'static OpEntry, args: Vec<Value>, wants_grad: bool) -> Result<Value> {
        match entry.rule {
            Rule::View(_) => {
                let inference = args.iter().find_map(Value::as_tensor).is_some_and(meta::is_inference);
                let out = view(entry, args, wants_grad)?;
                Ok(if inference { mark_inference(out) } else { out })
            }
            // In inference mode only views have a history, where gradients are on: that of what they are views of. What is traced there is
            // traced as if the mode were off.
            _ if wants_grad && modes().inference && !modes().fake => self.differentiate(entry, args, false),
            Rule::Inplace(_) if is_foreach(entry) => inplace_each(entry, args, wants_grad),
            Rule::Inplace(_) | Rule::InplaceView(_) => inplace(entry, args, wants_grad),
            Rule::Script => script(entry, args, wants_grad),
            _ if modes().inference => fresh(entry, args, wants_grad).map(mark_inference),
            _ => fresh(entry, args, wants_grad),
        }
    }
}

/// Says of results that they were made in inference mode.
fn mark_inference(out: Value) -> Value {
    out.for_each_tensor(&mut |t| meta::with(t, |m| m.inference = true));
    out
}

/// A conversion to a dtype without derivatives makes no node: the one operator whose arguments decide on that.
fn converts_to_integers(entry: &OpEntry, args: &[Value]) -> bool {
    named::TO_COPY.is(entry) && matches!(args.get(1), Some(Value::Dtype(dtype)) if dtype.is_integral())
}

/// The arguments that a node keeps: those that the formula reads, and those that PyTorch's node keeps besides.
fn save_arguments(derivative: &Derivative, entry: &OpEntry, args: &[Value], written: Option<&Tensor>) -> Result<Vec<(usize, Saved)>> {
    let has_edge = |other: usize| {
        let mut has = false;
        args[other].for_each_tensor(&mut |t| has |= meta::has_edge(t));
        has
    };
    let serving =
        |name: &str| derivative.serves.iter().find(|(saved, _)| *saved == name).and_then(|(_, other)| entry.schema.position(other));
    let read = derivative.saves.iter().filter(|name| serving(name).is_none_or(has_edge)).filter_map(|name| entry.schema.position(name));
    let mut kept: Vec<usize> = read.collect();
    for (fields, field) in derivative.fields.iter().flat_map(|f| f.fields.iter().map(move |field| (f, field))) {
        if field.is_result || !matches!(field.kind, FieldKind::Tensor | FieldKind::Tensors) {
            continue;
        }
        let asked = |i: &usize| fields.inputs.get(*i).and_then(|(name, _)| entry.schema.position(name)).is_some_and(has_edge);
        let is_kept = field.serves.is_empty() || field.serves.iter().any(asked);
        kept.extend(entry.schema.position(field.name).filter(|i| is_kept && !kept.contains(i)));
    }
    // Hooks on saved tensors see PyTorch's order.
    if let Some(fields) = derivative.fields {
        let place = |i: &usize| fields.fields.iter().position(|f| !f.is_result && entry.schema.position(f.name) == Some(*i));
        kept.sort_by_cached_key(|i| place(i).unwrap_or(usize::MAX));
    }
    let mut saved = Vec::new();
    for i in kept {
        match &args[i] {
            Value::Tensor(t) => {
                // What is about to be overwritten is kept as it was; a second argument that is the same tensor is not, as in PyTorch.
                let kept = if i == 0 && written.is_some_and(|w| w.is(t)) { dispatch::t!("clone", t)? } else { t.clone() };
                saved.push((i, Saved::One(SavedVariable::input(&kept)?)));
            }
            Value::List(items) => {
                let each = items.iter().map(|v| v.as_tensor().map(SavedVariable::input).transpose()).collect::<Result<_>>()?;
                saved.push((i, Saved::Many(each)));
            }
            _ => {}
        }
    }
    Ok(saved)
}

/// What the tensors of each argument are like.
pub(super) fn specs_of(args: &[Value]) -> Vec<Vec<TensorSpec>> {
    let of = |v: &Value| {
        let mut specs = Vec::new();
        v.for_each_tensor(&mut |t| specs.push(t.spec()));
        specs
    };
    args.iter().map(of).collect()
}

fn make_node(entry: &'static OpEntry, args: &[Value], written: Option<&Tensor>) -> Result<(Rc<Node>, Option<&'static Derivative>)> {
    // A node takes its number before views among its inputs regenerate theirs and what it saves is cloned.
    let seq_nr = next_seq_nr();
    let edges = edges_of(&tensor_slots(args))?;
    let Some(derivative) = &entry.derivative else {
        let node = Node::with_seq_nr("NotImplemented", seq_nr, edges, Box::new(NotImplemented(entry)));
        return Ok((node, None));
    };
    if let (true, Some(Value::Tensor(t))) = (entry.counts_elements, args.first()) {
        dispatch::ask_numel(t)?;
    }
    let saved = save_arguments(derivative, entry, args, written)?;
    let kept = args
        .iter()
        .map(|v| match v {
            Value::Tensor(_) => Value::None,
            Value::List(items) if items.iter().any(|v| v.as_tensor().is_some()) => Value::None,
            other => other.clone(),
        })
        .collect();
    let specs = specs_of(args);
    let shapes = args
        .iter()
        .map(|v| match v {
            Value::Tensor(_) => Shape::Tensor,
            Value::List(items) if items.iter().any(|v| v.as_tensor().is_some()) => {
                Shape::List(items.iter().map(|v| v.as_tensor().is_some()).collect())
            }
            _ => Shape::Other,
        })
        .collect();
    let body = OpBody {
        entry,
        derivative,
        args: kept,
        specs,
        shapes,
        saved: RefCell::new(Some(saved)),
        results: RefCell::new(Some(Vec::new())),
        result_specs: RefCell::default(),
    };
    Ok((Node::with_seq_nr(derivative.node_name(), seq_nr, edges, Box::new(body)), Some(derivative)))
}

fn body_of(node: &Node) -> Option<&OpBody> {
    node.body.as_any().downcast_ref::<OpBody>()
}

fn differentiable(t: &Tensor) -> bool {
    !t.dtype().is_integral()
}

fn save_results(node: &Rc<Node>, derivative: &Derivative, results: &[Option<Tensor>]) -> Result<()> {
    let Some(body) = body_of(node) else { return Ok(()) };
    *body.result_specs.borrow_mut() = results.iter().map(|r| r.as_ref().map(Tensor::spec)).collect();
    for name in derivative.saves {
        let Some(number) = name.strip_prefix("result") else { continue };
        let i = number.parse::<usize>().unwrap_or(0);
        // `results` are all of them.
        let wanted = if number == "s" { 0..results.len() } else { i..i + 1 };
        for i in wanted {
            let Some(Some(t)) = results.get(i) else { continue };
            // A result without history is kept as it is, like an input.
            let saved = if meta::requires_grad(t) { SavedVariable::result(t, i)? } else { SavedVariable::input(t)? };
            if let Some(list) = body.results.borrow_mut().as_mut() {
                list.push((i, saved));
            }
        }
    }
    Ok(())
}

fn results_of(value: &Value) -> Vec<Option<Tensor>> {
    match value {
        Value::List(items) => items.iter().map(|v| v.as_tensor().cloned()).collect(),
        other => vec![other.as_tensor().cloned()],
    }
}

fn fresh(entry: &'static OpEntry, args: Vec<Value>, wants_grad: bool) -> Result<Value> {
    // What such an operator writes to (running statistics) is no write that counts: its gradient formula wants the values that
    // are there when it runs.
    if !wants_grad {
        return call_below(Key::Autograd, entry, args);
    }
    let (node, derivative) = make_node(entry, &args, None)?;
    let out = call_below(Key::Autograd, entry, args)?;
    let results = results_of(&out);
    let mut any = false;
    for (i, result) in results.iter().enumerate() {
        match result {
            Some(t) if differentiable(t) && !entry.non_differentiable_results.contains(&i) => {
                meta::set_history(t, &node);
                any = true;
            }
            Some(t) => {
                node.add_input(t);
            }
            // Undefined results keep their place.
            None => node.inputs.borrow_mut().push(super::node::InputMeta {
                sizes: Vec::new(),
                dtype: tensor::Dtype::Float32,
                device: tensor::Device::CPU,
            }),
        }
    }
    if any && let Some(derivative) = derivative {
        save_results(&node, derivative, &results)?;
    }
    Ok(out)
}

/// An operator of the script's own: it differentiates it itself, or its kernel is made of operators that are differentiated, or it
/// has no derivative. What it writes to counts as written, whether gradients flow or not.
fn script(entry: &'static OpEntry, args: Vec<Value>, wants_grad: bool) -> Result<Value> {
    let mut written = Vec::new();
    for (argument, value) in entry.schema.arguments.iter().zip(&args) {
        if argument.mutated {
            value.for_each_tensor(&mut |t| written.push(t.clone()));
        }
    }
    let is_fake = modes().fake || Value::any_fake(&args);
    // What is only captured is differentiated when the graph is traced.
    let is_captured = is_fake && !has_layer(Key::Functionalize) && !has_layer(Key::Trace);
    let is_differentiated = script_has(Part::Autograd, entry);
    let out = if is_differentiated && !is_captured {
        call_script(Part::Autograd, entry, &args)?
    } else if !wants_grad || !entry.schema.returns.iter().any(|r| r.alias.is_none()) {
        call_below(Key::Autograd, entry, args)?
    } else {
        let seq_nr = next_seq_nr();
        let edges = edges_of(&tensor_slots(&args))?;
        let out = if is_fake { call_below(Key::Autograd, entry, args)? } else { run_backend(entry, &args, false)? };
        let name = match is_differentiated {
            true => format!("GeneratedBackwardFor_{}Backward", entry.name.replace('.', "_")),
            false => "WarnNotImplemented".to_owned(),
        };
        let node = Node::with_seq_nr(name, seq_nr, edges, Box::new(NoGradients(entry)));
        for t in results_of(&out).into_iter().flatten().filter(|t| differentiable(t) && !meta::requires_grad(t)) {
            meta::set_history(&t, &node);
        }
        out
    };
    if is_differentiated {
        written.iter().for_each(Tensor::bump_version);
    }
    Ok(out)
}

fn view(entry: &'static OpEntry, args: Vec<Value>, wants_grad: bool) -> Result<Value> {
    if matches!(args.first(), Some(Value::Complex(..))) {
        // A number has no history.
        return call_below(Key::Autograd, entry, args);
    }
    let of = args.iter().find_map(Value::as_tensor).cloned().ok_or_else(|| Error::runtime(format!("{}: no tensor to view", entry.name)))?;
    let is_detach = named::DETACH.is(entry);
    let node = if wants_grad && !is_detach { Some(make_node(entry, &args, None)?) } else { None };
    let mut kept = args.clone();
    kept[0] = Value::None;
    let mut out = call_below(Key::Autograd, entry, args)?;
    if entry.not_differentiable && !is_detach {
        // A view that no gradient goes through is cut off as PyTorch does it, by an operator of its own.
        out = out.map_tensors(&mut |t| call_below(Key::Autograd, named::DETACH.get(), vec![t.into()])?.into_tensor())?;
    }
    // A literal's tensor is itself, not a view of something that nobody has.
    let is_view = !is_detach && !named::LIFT_FRESH.is(entry);
    let several = matches!(out, Value::List(_));
    let creation = match (modes(), several) {
        (m, _) if m.inference => CreationMeta::Inference,
        (m, _) if !m.grad => CreationMeta::NoGrad,
        (_, true) => CreationMeta::MultiOutputNode,
        (_, false) => CreationMeta::Default,
    };
    for (i, t) in results_of(&out).into_iter().enumerate() {
        let Some(t) = t else { continue };
        let step = ViewStep { entry, args: kept.clone(), result: several.then_some(i) };
        if let Some((node, _)) = &node {
            meta::set_history(&t, node);
        }
        if is_view {
            super::forward::note_view(&t, &of, &step);
            make_view(&t, &of, step, creation, true);
        }
    }
    if let Some((node, Some(derivative))) = &node {
        save_results(node, derivative, &results_of(&out))?;
    }
    Ok(out)
}

/// What PyTorch refuses before an in-place operator on `t`.
pub(super) fn check_inplace(t: &Tensor, wants_grad: bool) -> Result<()> {
    if !wants_grad || !modes().grad {
        return Ok(());
    }
    let view = meta::peek(t, |m| m.view.clone()).filter(|v| v.differentiable);
    if let Some(view) = view {
        allow_write(t, view.creation, "is being")?;
        if meta::is_leaf(&view.base) && meta::requires_grad(t) {
            return Err(Error::runtime("a view of a leaf Variable that requires grad is being used in an in-place operation."));
        }
    }
    // A view whose history was not made anew since its base got one counts as a leaf here, as in PyTorch.
    if meta::is_leaf(t) && meta::requires_grad(t) {
        return Err(Error::runtime("a leaf Variable that requires grad is being used in an in-place operation."));
    }
    Ok(())
}

fn inplace(entry: &'static OpEntry, args: Vec<Value>, wants_grad: bool) -> Result<Value> {
    let target = args.first().ok_or_else(|| Error::runtime(format!("{}: nothing to write to", entry.name)))?.tensor()?.clone();
    let wants_grad = wants_grad && differentiable(&target);
    if meta::is_inference(&target) && !modes().inference {
        return Err(Error::runtime(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.",
        ));
    }
    check_inplace(&target, wants_grad)?;
    if named::RESIZE_.is(entry) && meta::requires_grad(&target) {
        return Err(Error::runtime("cannot resize variables that require grad"));
    }
    if named::DETACH_.is(entry) {
        if meta::base(&target).is_some() {
            return Err(Error::runtime(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.",
            ));
        }
        meta::clear(&target);
        return Ok(Value::Tensor(target));
    }
    let node = if wants_grad { Some(make_node(entry, &args, Some(&target))?) } else { None };
    call_below(Key::Autograd, entry, args)?;
    // Other memory is no write.
    if !named::SHALLOW_COPY_DATA_.is(entry) {
        target.bump_version();
    }
    if let Some((node, derivative)) = node {
        match entry.rule {
            // Other dimensions of a view are nothing to its base.
            Rule::InplaceView(_) => become_result(&target, &node),
            _ => rebase_history(&target, &node)?,
        }
        if let Some(derivative) = derivative {
            save_results(&node, derivative, &[Some(target.clone())])?;
        }
    }
    Ok(Value::Tensor(target))
}

/// A write to every tensor of a list: autograd sees one to each.
fn inplace_each(entry: &'static OpEntry, args: Vec<Value>, wants_grad: bool) -> Result<Value> {
    let mut nodes = Vec::new();
    for each in foreach::each(&Call { entry, args: &args }, true)? {
        let target = each.args.first().map_or_else(|| Err(Error::runtime("nothing to write to")), |v| v.tensor().cloned())?;
        let mut wants = false;
        if wants_grad && differentiable(&target) {
            each.args.iter().for_each(|v| v.for_each_tensor(&mut |t| wants |= meta::requires_grad(t)));
        }
        check_inplace(&target, wants)?;
        let node = if wants { Some(make_node(each.entry, &each.args, Some(&target))?) } else { None };
        nodes.push((target, node));
    }
    let out = call_below(Key::Autograd, entry, args)?;
    for (target, node) in nodes {
        target.bump_version();
        if let Some((node, derivative)) = node {
            rebase_history(&target, &node)?;
            if let Some(derivative) = derivative {
                save_results(&node, derivative, &[Some(target)])?;
            }
        }
    }
    Ok(out)
}

pub(super) enum Saved {
    One(SavedVariable),
    Many(Vec<Option<SavedVariable>>),
}

impl Saved {
    /// The argument again, for the backward of a node.
    pub(super) fn unpack(&self, node: &Rc<Node>) -> Result<Value> {
        match self {
            Saved::One(v) => v.unpack(node).map(Value::Tensor),
            Saved::Many(list) => {
                let each = list.iter().map(|v| v.as_ref().map(|v| v.unpack(node)).transpose());
                each.map(|t| Ok(t?.map_or(Value::None, Value::Tensor))).collect::<Result<_>>().map(Value::List)
            }
        }
    }
}

/// What an argument is to the tape.
#[derive(Clone)]
pub(super) enum Shape {
    Tensor,
    List(Vec<bool>),
    Other,
}

impl Shape {
    /// How many edges it has.
    pub(super) fn count(&self) -> usize {
        match self {
            Shape::Tensor => 1,
            Shape::List(items) => items.len(),
            Shape::Other => 0,
        }
    }
}

/// The backward of an operator of the catalogue.
pub(super) struct OpBody {
    pub(super) entry: &'static OpEntry,
    pub(super) derivative: &'static Derivative,
    pub(super) args: Vec<Value>,
    pub(super) specs: Vec<Vec<TensorSpec>>,
    pub(super) shapes: Vec<Shape>,
    pub(super) saved: RefCell<Option<Vec<(usize, Saved)>>>,
    pub(super) results: RefCell<Option<Vec<(usize, SavedVariable)>>>,
    pub(super) result_specs: RefCell<Vec<Option<TensorSpec>>>,
}

/// The formula of a derivative, with what its arguments are to the tape.
pub(super) struct Formula<'a> {
    pub(super) entry: &'static OpEntry,
    pub(super) derivative: &'static Derivative,
    pub(super) shapes: &'a [Shape],
    /// How many elements `self` has, where a tape says so.
    pub(super) numel: Option<shape::SymInt>,
}

impl Formula<'_> {
    /// A gradient per tensor of the arguments. `needs`: per argument, whether its gradient is asked for.
    pub(super) fn run(
        &self,
        args: &[Value],
        specs: &[Vec<TensorSpec>],
        results: &[Option<Tensor>],
        result_specs: &[Option<TensorSpec>],
        grads: Vec<Option<Tensor>>,
        needs: &[bool],
    ) -> Result<Vec<Option<Tensor>>> {
        let slots: usize = self.shapes.iter().map(Shape::count).sum();
        if grads.iter().all(Option::is_none) {
            return Ok(vec![None; slots]);
        }
        let complex = specs.iter().flatten().chain(result_specs.iter().flatten()).any(|spec| spec.dtype.is_complex());
        if complex && !self.entry.tags.has(Tags::COMPLEX_GRAD) {
            let name = &self.entry.schema.name;
            let said = format!("{name} does not support automatic differentiation for outputs with complex dtype.");
            return Err(Error::not_implemented(said));
        }
        let holomorphic = complex && self.entry.tags.has(Tags::HOLOMORPHIC);
        let conjugate = |grad: Tensor| if grad.dtype().is_complex() { t!("conj", grad) } else { Ok(grad) };
        let grads = if holomorphic { grads.into_iter().map(|g| g.map(conjugate).transpose()).collect::<Result<_>>()? } else { grads };
        let backward = Backward { entry: self.entry, args, specs, results, result_specs, grads: &grads, needs, numel: self.numel.clone() };
        let computed = dispatch::contained(backward.entry.name, || (self.derivative.formula)(&backward))?;
        let mut out = Vec::with_capacity(slots);
        for (i, (shape, grad)) in self.shapes.iter().zip(computed.0).enumerate() {
            // What is real has the real part of a gradient.
            let real_where_it_is = |t: Tensor, at: usize| {
                let is_real = complex && specs.get(i).and_then(|specs| specs.get(at)).is_some_and(|spec| !spec.dtype.is_complex());
                if is_real && t.dtype().is_complex() { t!("real", t) } else { Ok(t) }
            };
            match (shape, grad) {
                (Shape::Tensor, Grad::Tensor(t)) => {
                    out.push(Some(real_where_it_is(if holomorphic { conjugate(t)? } else { t }, 0)?));
                }
                (Shape::Tensor, _) => out.push(None),
                (Shape::List(_), Grad::List(items)) => {
                    for (at, item) in items.into_iter().enumerate() {
                        out.push(item.map(|t| real_where_it_is(t, at)).transpose()?);
                    }
                }
                (Shape::List(items), _) => out.extend(items.iter().map(|_| None)),
                (Shape::Other, _) => {}
            }
        }
        Ok(out)
    }
}

impl OpBody {
    /// Whether its formula reads what was saved: else it may run again after that is freed.
    fn reads(&self) -> bool {
        !self.derivative.saves.is_empty()
    }
}

impl Body for OpBody {
    fn apply(&self, node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        let mut args = self.args.clone();
        let mut results: Vec<Option<Tensor>> = vec![None; self.result_specs.borrow().len()];
        {
            let (saved, kept) = (self.saved.borrow(), self.results.borrow());
            if saved.is_none() && self.reads() {
                return Err(freed());
            }
            for (i, value) in saved.iter().flatten() {
                args[*i] = value.unpack(node)?;
            }
            for (i, value) in kept.iter().flatten() {
                results[*i] = Some(value.unpack(node)?);
            }
        }
        // Which arguments ask for a gradient: edges follow the tensor slots.
        let (mut needs, mut slot) = (vec![false; self.shapes.len()], 0);
        for (i, shape) in self.shapes.iter().enumerate() {
            needs[i] = (slot..slot + shape.count()).any(|s| node.should_compute(s));
            slot += shape.count();
        }
        let formula = Formula { entry: self.entry, derivative: self.derivative, shapes: &self.shapes, numel: None };
        formula.run(&args, &self.specs, &results, &self.result_specs.borrow(), grads, &needs)
    }

    fn lift(&self, node: &Rc<Node>, lift: &mut Lift) -> Result<Lifted> {
        if self.saved.borrow().is_none() && self.reads() {
            return Err(freed());
        }
        self.lift_fields(node, lift)
    }

    fn saved_field(&self, node: &Rc<Node>, name: &str) -> Option<Result<(Value, bool)>> {
        self.shown_field(node, name)
    }

    fn shown_edges(&self) -> Option<Vec<Option<usize>>> {
        self.edges_of_fields()
    }

    fn release(&self) {
        *self.saved.borrow_mut() = None;
        *self.results.borrow_mut() = None;
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The backward of a script's operator of which the script says nothing: no gradients, as in PyTorch, which warns of it.
struct NoGradients(&'static OpEntry);

impl Body for NoGradients {
    fn apply(&self, node: &Rc<Node>, _grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        super::anomaly::warn(&format!(
            "{}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop through it. This may lead to silently incorrect behavior. This behavior is deprecated and will be removed in a future version of PyTorch. If your operator is differentiable, please ensure you have registered an autograd kernel to the correct Autograd key (e.g. DispatchKey::Autograd, DispatchKey::CompositeImplicitAutograd). If your operator is not differentiable, or to squash this warning and use the previous behavior, please register torch::CppFunction::makeFallthrough() to DispatchKey::Autograd.",
            self.0.qualified_name()
        ));
        Ok(vec![None; node.edges.borrow().len()])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The backward of an operator without a derivative: an error that names it.
struct NotImplemented(&'static OpEntry);

impl Body for NotImplemented {
    fn apply(&self, _node: &Rc<Node>, _grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        Err(Error::runtime(format!("derivative for aten::{} is not implemented", self.0.schema.name)))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
