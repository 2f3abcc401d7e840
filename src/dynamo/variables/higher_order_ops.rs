//! Python functions captured as bodies of higher-order operators: a custom function's forward and backward, a checkpointed
//! function, a hook.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use rustpython_vm::builtins::PyStr;
use rustpython_vm::function::FuncArgs;
use rustpython_vm::vm::thread::with_current_vm;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::backward_state;
use super::torch::name_results;
use crate::aot::subclass::fake_like;
use crate::aot::trace::{CheckpointPolicy, add_checkpoint_contexts};
use crate::autograd::{Body, Node, gradient_edge, meta, rebase_history};
use crate::dispatch::{Modes, Value, modes, set_modes};
use crate::dynamo::containers::for_each_leaf;
use crate::dynamo::eval_frame::call::{break_graph, in_body, is_whole};
use crate::dynamo::settings::switch;
use crate::dynamo::source::cells;
use crate::dynamo::symbolic_convert::side_effect;
use crate::dynamo::{Mark, Part, Recorder, Unsupported};
use crate::error::{Error, Result};
use crate::graph::{Arg, NodeId, Recompute};
use crate::python::native::tensor::{from_value, items, overload, raise, raised, to_tensor, to_value, wrap};
use crate::tensor::Tensor;

/// Tensors in a structure of Python's, in order, each once.
pub(in crate::dynamo) fn tensors_in(o: &PyObject, found: &mut Vec<Tensor>) {
    for_each_leaf(o, |o| found.extend(to_tensor(o).filter(|t| !found.iter().any(|f| f.is(t)))));
}

pub(in crate::dynamo) fn nodes(ids: impl IntoIterator<Item = NodeId>) -> Vec<Arg> {
    ids.into_iter().map(Arg::Node).collect()
}

/// A script's `context_fn`, with the policy that it gave when it was first called.
struct Contexts {
    number: u32,
    context_fn: PyObjectRef,
    policy: PyObjectRef,
}

thread_local! {
    static CONTEXTS: RefCell<Vec<Contexts>> = const { RefCell::new(Vec::new()) };
}

/// Forgets the script's functions.
pub fn reset() {
    CONTEXTS.take();
}

/// The number of a `context_fn` that was called before.
pub fn contexts_number(context_fn: &PyObject) -> Option<u32> {
    CONTEXTS.with_borrow(|known| known.iter().find(|c| c.context_fn.is(context_fn)).map(|c| c.number))
}

/// Keeps a `context_fn` that was called for the first time and gave a policy: a function `(ctx, op, *args, **kwargs)` or a list of
/// overloads to save. The first pass over a body has that one, later ones call it again.
pub fn keep_contexts(context_fn: PyObjectRef, policy: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
    // One that is made on every call, as a `partial`, is told by what it gives.
    let mut equal = None;
    for (number, known) in CONTEXTS.with_borrow(|known| known.iter().map(|c| (c.number, c.policy.clone())).collect::<Vec<_>>()) {
        if equal.is_none() && vm.bool_eq(&known, &policy)? {
            equal = Some(number);
        }
    }
    let number = equal.unwrap_or_else(|| {
        let (context_fn, first) = (context_fn.clone(), RefCell::new(Some(policy.clone())));
        add_checkpoint_contexts(Rc::new(move || {
            let policy = match first.take() {
                Some(policy) => policy,
                None => with_current_vm(|vm| context_fn.call((), vm)?.get_item(&0, vm)?.get_attr("policy", vm)).map_err(raised)?,
            };
            Ok(asked(policy))
        }))
    });
    CONTEXTS.with_borrow_mut(|known| known.push(Contexts { number, context_fn, policy }));
    Ok(())
}

/// A policy of the script's as the tracer asks it.
fn asked(decide: PyObjectRef) -> CheckpointPolicy {
    Rc::new(move |entry, args, result| {
        with_current_vm(|vm| {
            let op = overload(entry, vm);
            let chosen = match items(&decide) {
                Some(saved) => {
                    let mut found = false;
                    for one in &saved {
                        found |= vm.bool_eq(one, &op).map_err(raised)?;
                    }
                    return Ok(if found { Recompute::MustSave } else { Recompute::PreferRecompute });
                }
                None => {
                    let result = from_value(result.clone(), vm).map_err(raised)?;
                    let module = crate::python::native::calls::imported("torch.utils.checkpoint", vm);
                    let context = module.and_then(|module| vm.call_method(&module, "_policy_context", (result,)));
                    let mut given = vec![context.map_err(raised)?, op];
                    for arg in args {
                        given.push(from_value(arg.clone(), vm).map_err(raised)?);
                    }
                    decide.call(FuncArgs::from(given), vm).map_err(raised)?
                }
            };
            let name =
                match chosen.get_attr("name", vm).ok().and_then(|o| o.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned())) {
                    Some(name) => name,
                    None if chosen.is(&vm.ctx.true_value) => "MUST_SAVE".to_owned(),
                    None => "PREFER_RECOMPUTE".to_owned(),
                };
            Ok(match name.as_str() {
                "MUST_SAVE" | "MUST_CPU_OFFLOAD" => Recompute::MustSave,
                "PREFER_SAVE" | "PREFER_CPU_OFFLOAD" => Recompute::PreferSave,
                "MUST_RECOMPUTE" => Recompute::MustRecompute,
                _ => Recompute::PreferRecompute,
            })
        })
    })
}

/// Runs a function on what is recorded and cuts it out as the body of `tag_activation_checkpoint`. Gives nothing where the function changes
/// what is outside of it, or would break the graph: that is broken before the call, and the function is still to be called, by Python.
pub fn checkpoint(
    recorder: &Rc<Recorder>,
    function: &PyObjectRef,
    args: FuncArgs,
    context_fn: Option<PyObjectRef>,
    use_reentrant: bool,
    vm: &VirtualMachine,
) -> PyResult<Option<PyObjectRef>> {
    let replays = !switch("skip_fwd_side_effects_in_bwd_under_checkpoint");
    if let Some(reason) = side_effect(function, &args.args, vm).filter(|_| replays) {
        break_graph(&reason.in_operator("torch.utils.checkpoint.checkpoint")).map_err(|e| raise(e, vm))?;
        return Ok(None);
    }
    let policy = context_fn.and_then(|f| contexts_number(&f));
    let mut given = Vec::new();
    args.args.iter().for_each(|o| tensors_in(o, &mut given));
    args.kwargs.values().for_each(|o| tensors_in(o, &mut given));
    for t in &given {
        recorder.touch(t, false).map_err(|e| raise(e, vm))?;
    }
    let (mark, part) = (recorder.mark(), recorder.section());
    let start = recorder.position();
    let run = || in_body(|| function.call(args, vm));
    // Where a break is an error, it is raised where it happens.
    let (result, refused) = if is_whole() { (run(), None) } else { recorder.attempt(run) };
    if let Some(reason) = refused {
        // Nothing that it did so far counts.
        recorder.forget_part(mark, &part);
        break_graph(&reason.of_call()).map_err(|e| raise(e, vm))?;
        return Ok(None);
    }
    let result = result?;
    if !recorder.is_since(&mark) {
        return Ok(Some(result));
    }
    let mut outputs = Vec::new();
    tensors_in(&result, &mut outputs);
    outputs.retain(|t| recorder.computed_since(t, start).is_some());
    for t in recorder.kept_since(start) {
        if !outputs.iter().any(|o| o.is(&t)) {
            outputs.push(t);
        }
    }
    if outputs.is_empty() {
        return Ok(Some(result));
    }
    let returns = Arg::Tuple(nodes(outputs.iter().filter_map(|t| recorder.computed_since(t, start))));
    let mut part = Part { range: start..recorder.position(), takes: Vec::new(), returns };
    // Arguments come first, then what the function read besides.
    let free = recorder.free_values(&part);
    for t in &given {
        let id = recorder.known_node(t);
        part.takes.extend(id.filter(|id| free.contains(id) && !part.takes.contains(id)));
    }
    let cut = recorder.cut(mark, &[part], &[]);
    let all: Vec<Value> = outputs.into_iter().map(Value::Tensor).collect();
    for body in &cut.bodies {
        let mut graph = body.graph.clone();
        graph.checkpoint_policy = policy;
        let mut call = vec![Arg::Node(recorder.subgraph("wrap_body", graph))];
        call.extend(nodes(body.takes.iter().filter_map(|id| cut.moved(*id))));
        recorder.call_higher_order("tag_activation_checkpoint", call, vec![("use_reentrant".into(), Arg::Bool(use_reentrant))], &all);
    }
    name_results(recorder, &result);
    Ok(Some(result))
}

/// The node of a custom function while it is recorded: the compiled graph has the true one.
pub(in crate::dynamo) struct Recorded(pub String);

impl Body for Recorded {
    fn apply(&self, _node: &Rc<Node>, _grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        Err(Error::runtime(format!("{} has no backward before its graph is compiled", self.0)))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Switches grad mode off, in the recording too; gives what it was.
fn no_grad(recorder: &Recorder) -> Modes {
    let before = modes();
    if before.grad {
        recorder.record_grad_mode(false);
    }
    set_modes(Modes { grad: false, ..before });
    before
}

fn restore(recorder: &Recorder, mark: &Mark, before: Modes) {
    if before.grad && recorder.is_since(mark) {
        recorder.record_grad_mode(true);
    }
    set_modes(Modes { grad: before.grad, ..modes() });
}

fn parameter_names(function: &PyObject, vm: &VirtualMachine) -> Vec<String> {
    let names = function.get_attr("__code__", vm).and_then(|c| c.get_attr("co_varnames", vm)).ok().and_then(|o| items(&o));
    names.unwrap_or_default().iter().filter_map(|o| o.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned())).collect()
}

/// Whether the code of a function names something.
pub fn code_names(function: &PyObject, wanted: &[&str], vm: &VirtualMachine) -> bool {
    let names = function.get_attr("__code__", vm).and_then(|c| c.get_attr("co_names", vm)).ok().and_then(|o| items(&o));
    names.unwrap_or_default().iter().any(|o| o.downcast_ref::<PyStr>().is_some_and(|s| wanted.iter().any(|w| s.to_string_lossy() == *w)))
}

/// A forward that was recorded.
pub struct Forward {
    mark: Mark,
    end: usize,
    /// What the script's forward returned.
    pub result: PyObjectRef,
    /// What it says it wrote to.
    written: Vec<Tensor>,
}

impl Forward {
    /// Whether what it wrote to are values of the graph, and results of its own: what Dynamo records.
    pub fn writes_to_values(&self, recorder: &Recorder) -> bool {
        let results = items(&self.result).unwrap_or_else(|| vec![self.result.clone()]);
        let returned = |t: &Tensor| results.iter().any(|o| to_tensor(o).is_some_and(|r| r.is(t)));
        self.written.iter().all(|t| recorder.is_traced(t) && returned(t))
    }
}

/// Runs a custom function's forward on what is recorded; the second value says whether the graph is still the same.
pub fn forward(recorder: &Rc<Recorder>, context: &PyObjectRef, args: &[PyObjectRef], vm: &VirtualMachine) -> PyResult<(Forward, bool)> {
    for t in args.iter().filter_map(|o| to_tensor(o)) {
        recorder.touch(&t, false).map_err(|e| raise(e, vm))?;
        recorder.name_argument(&t, "arg");
    }
    let mark = recorder.mark();
    // Where nothing is differentiated, it is a function like others.
    let is_differentiated = modes().grad && args.iter().filter_map(|o| to_tensor(o)).any(|t| meta::requires_grad(&t));
    let before = is_differentiated.then(|| no_grad(recorder));
    let result = in_body(|| vm.call_method(context, "_run_forward", (vm.ctx.new_tuple(args.to_vec()),)));
    let written = tensors_of(context, "dirty_tensors", vm)?;
    let result = match result {
        Ok(result) if recorder.is_since(&mark) => own_outputs(&result, args, &written, vm),
        other => other,
    };
    if let Some(before) = before {
        restore(recorder, &mark, before);
    }
    let same = recorder.is_since(&mark);
    Ok((Forward { mark, end: recorder.position(), result: result?, written }, same))
}

/// Inputs that are returned as they are become views of themselves, unless they were `written` to.
fn own_outputs(result: &PyObjectRef, args: &[PyObjectRef], written: &[Tensor], vm: &VirtualMachine) -> PyResult {
    let own = |o: &PyObjectRef| -> PyResult {
        match to_tensor(o) {
            Some(t) if written.iter().any(|w| w.is(&t)) => Ok(o.clone()),
            Some(t) if args.iter().any(|a| a.is(o)) => {
                let view = crate::t!("view_as", &t, &t).map_err(|e| raise(e, vm))?;
                wrap(&view, vm)
            }
            _ => Ok(o.clone()),
        }
    };
    match items(result) {
        None => own(result),
        Some(list) => Ok(vm.ctx.new_tuple(list.iter().map(own).collect::<PyResult<Vec<_>>>()?).into()),
    }
}

/// What becomes of the call of a custom function.
pub enum Called {
    /// It is recorded, and gives this.
    Recorded(PyObjectRef),
    /// Its backward is none that a graph can hold: the graph breaks before the call.
    Refused(Unsupported),
}

/// Runs the backward once on fake gradients and records the call as `autograd_function_apply`.
pub fn function(
    recorder: &Rc<Recorder>,
    recorded: Forward,
    context: &PyObjectRef,
    cls: &PyObject,
    args: &[PyObjectRef],
    vm: &VirtualMachine,
) -> PyResult<Called> {
    let error = |e: Error| raise(e, vm);
    let Forward { mark, end, result, written } = recorded;
    let start = recorder.start_of(&mark);
    let mut operands: Vec<Tensor> = Vec::new();
    for t in args.iter().filter_map(|o| to_tensor(o)) {
        if !operands.iter().any(|o| o.is(&t)) {
            operands.push(t);
        }
    }
    if !modes().grad || !operands.iter().any(meta::requires_grad) {
        return Ok(Called::Recorded(result));
    }
    let outputs = items(&result).unwrap_or_else(|| vec![result.clone()]);
    let tensors: Vec<Tensor> = outputs.iter().filter_map(|o| to_tensor(o)).collect();
    let constant: Vec<Tensor> = tensors_of(context, "non_differentiable", vm)?;
    let is_constant = |t: &Tensor| t.dtype().is_integral() || constant.iter().any(|c| c.is(t));
    let edges = operands.iter().map(gradient_edge).collect::<Result<Vec<_>>>().map_err(error)?;

    let names = parameter_names(&*cls.get_attr("backward", vm)?, vm);
    let mut given = Vec::new();
    let mut grads = Vec::new();
    for (i, o) in outputs.iter().enumerate() {
        grads.push(match to_tensor(o) {
            None => vm.ctx.none(),
            Some(t) => {
                let grad = fake_like(&t).map_err(error)?;
                let name = names.get(i + 1).cloned().unwrap_or_else(|| format!("grad_{i}"));
                given.push(recorder.given(&name, &grad));
                wrap(&grad, vm)?
            }
        });
    }
    let before = no_grad(recorder);
    let from = recorder.position() - usize::from(before.grad);
    let run = || in_body(|| vm.call_method(context, "_run_backward", (vm.ctx.new_list(grads), true)));
    let (computed, refused) = recorder.attempt(run);
    let summed = computed.and_then(|o| sum_gradients(&operands, args, &items(&o).unwrap_or_default(), vm));
    restore(recorder, &mark, before);
    let summed = match (summed, refused) {
        (Ok(summed), None) => summed,
        (_, refused) => {
            recorder.cut(mark, &[], &given);
            return Ok(Called::Refused(refused.unwrap_or_else(Unsupported::exception)));
        }
    };
    let gradients = summed.iter().map(|g| recorder.argument(g)).collect::<Result<Vec<_>>>().map_err(error)?;
    let backward = Part { range: from..recorder.position(), takes: given.clone(), returns: Arg::Tuple(gradients) };
    let saved = recorder.free_values(&backward);
    let to_save: Vec<NodeId> = tensors_of(context, "to_save", vm)?.iter().filter_map(|t| recorder.known_node(t)).collect();
    let watched: Vec<Arg> = (0..saved.len()).filter(|i| to_save.contains(&saved[*i])).map(|i| Arg::Int(i as i64)).collect();
    let takes = operands.iter().map(|t| recorder.node_before(t, start)).collect::<Result<Vec<_>>>().map_err(error)?;
    let returned = tensors.iter().map(|t| recorder.node_of(t)).collect::<Result<Vec<_>>>().map_err(error)?;
    let returns = Arg::Tuple(vec![Arg::Tuple(nodes(returned)), Arg::Tuple(nodes(saved))]);
    let forward = Part { range: start..end, takes, returns };
    // What was written to stays the tensor that it is.
    let is_written = |t: &Tensor| written.iter().any(|w| w.is(t));
    let result_of = |t: &Tensor| if is_written(t) { Ok(t.clone()) } else { fake_like(t) };
    let results = tensors.iter().map(result_of).collect::<Result<Vec<_>>>().map_err(error)?;
    let name = cls.get_attr("__name__", vm)?.str(vm)?.to_string_lossy().into_owned();
    let node = Node::new(format!("{name}Backward"), edges, Box::new(Recorded(name)));
    for (own, t) in results.iter().zip(&tensors) {
        if is_constant(t) {
            node.add_input(own);
        } else if is_written(t) {
            rebase_history(own, &node).map_err(error)?;
        } else {
            meta::set_history(own, &node);
        }
    }
    let non_differentiable =
        (0..tensors.len()).filter(|i| constant.iter().any(|c| c.is(&tensors[*i]))).map(|i| Arg::Int(i as i64)).collect();
    let cut = recorder.cut(mark, &[forward, backward], &given);
    if let [forward, backward] = cut.bodies.as_slice() {
        let mut call = vec![
            Arg::Node(recorder.subgraph("fwd_body", forward.graph.clone())),
            Arg::Node(recorder.subgraph("bwd_body", backward.graph.clone())),
        ];
        call.extend(nodes(forward.takes.iter().filter_map(|id| cut.moved(*id))));
        let mut keywords: Vec<(Rc<str>, Arg)> =
            vec![("non_differentiable_idx".into(), Arg::List(non_differentiable)), ("saved_for_backward_idx".into(), Arg::List(watched))];
        if !written.is_empty() {
            let places = (0..tensors.len()).filter(|i| is_written(&tensors[*i])).map(|i| Arg::Int(i as i64)).collect();
            keywords.push(("dirty_idx".into(), Arg::List(places)));
        }
        let all: Vec<Value> = results.iter().cloned().map(Value::Tensor).collect();
        recorder.call_higher_order("autograd_function_apply", call, keywords, &all);
    }
    let mut results = results.iter();
    let mut wrapped = Vec::new();
    for o in &outputs {
        wrapped.push(match to_tensor(o) {
            Some(_) => results.next().map_or_else(|| Ok(vm.ctx.none()), |t| wrap(t, vm))?,
            None => o.clone(),
        });
    }
    Ok(Called::Recorded(if items(&result).is_none() { wrapped.remove(0) } else { vm.ctx.new_tuple(wrapped).into() }))
}

/// One gradient per operand: those of its places among the arguments, summed.
fn sum_gradients(operands: &[Tensor], args: &[PyObjectRef], computed: &[PyObjectRef], vm: &VirtualMachine) -> PyResult<Vec<Value>> {
    let mut sums = vec![Value::None; operands.len()];
    for (arg, grad) in args.iter().zip(computed) {
        let (Some(arg), Some(grad)) = (to_tensor(arg), to_tensor(grad)) else { continue };
        let Some(sum) = operands.iter().position(|o| o.is(&arg)).map(|i| &mut sums[i]) else { continue };
        *sum = Value::Tensor(match sum {
            Value::Tensor(have) => crate::t!("add.Tensor", &*have, grad).map_err(|e| raise(e, vm))?,
            _ => grad,
        });
    }
    Ok(sums)
}

/// Names whose mention makes a hook more than a function of its gradient.
const EFFECTS: &[&str] = &[
    "append",
    "extend",
    "insert",
    "update",
    "setdefault",
    "pop",
    "clear",
    "print",
    "write",
    "item",
    "tolist",
    "numpy",
    "backward",
    "register_hook",
    "copy_",
    "set_",
    "requires_grad_",
    "retain_grad",
];

/// Whether a hook is a function of its gradient alone, as far as its code shows: it names nothing but `torch` and methods, and
/// closes over tensors and numbers.
fn is_pure(hook: &PyObject, vm: &VirtualMachine) -> bool {
    let Ok(code) = hook.get_attr("__code__", vm) else { return is_of_torch(hook, vm) };
    if code_names(hook, EFFECTS, vm) {
        return false;
    }
    let text = |o: &PyObjectRef| o.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned());
    let names = code.get_attr("co_names", vm).ok().and_then(|o| items(&o)).unwrap_or_default();
    let Ok(globals) = hook.get_attr("__globals__", vm) else { return false };
    let harmless = |o: &PyObjectRef| to_value(o, vm).is_some() || o.class().name().to_string() == "module";
    let known = |name: &PyObjectRef| globals.get_item(&**name, vm).ok().is_none_or(|o| harmless(&o));
    let builtin = |name: &PyObjectRef| text(name).is_some_and(|n| vm.builtins.get_attr(vm.ctx.intern_str(n), vm).is_ok());
    if !names.iter().all(|n| {
        known(n) && (!builtin(n) || text(n).is_some_and(|n| matches!(n.as_str(), "abs" | "round" | "sum" | "max" | "min" | "pow")))
    }) {
        return false;
    }
    cells(hook, vm).iter().all(|c| c.get_attr("cell_contents", vm).is_ok_and(|o| harmless(&o)))
}

/// Whether it is a function of PyTorch's, by its name.
fn is_of_torch(function: &PyObject, vm: &VirtualMachine) -> bool {
    let Some(name) = function.get_attr("__name__", vm).ok().and_then(|n| n.downcast::<PyStr>().ok()) else { return false };
    crate::python::native::calls::imported("torch", vm).and_then(|torch| torch.get_attr(&name, vm)).is_ok_and(|known| known.is(function))
}

/// Records a hook on a value of the graph as `register_hook`, or, where compiled autograd is on, as a call that stays one. False where it
/// has to be the script's own.
pub fn hook(recorder: &Rc<Recorder>, t: &Tensor, hook: &PyObject, vm: &VirtualMachine) -> PyResult<bool> {
    if backward_state::is_wanted(vm) {
        return backward_state::register(recorder, t, hook, vm).map(|()| true);
    }
    if !is_pure(hook, vm) {
        return Ok(false);
    }
    let error = |e: Error| raise(e, vm);
    let mark = recorder.mark();
    let start = recorder.position();
    let grad = Tensor::fake(&t.spec()).map_err(error)?;
    let name = parameter_names(hook, vm).into_iter().next().unwrap_or_else(|| "grad".to_owned());
    let given = recorder.given(&name, &grad);
    let before = set_modes(Modes { grad: false, ..modes() });
    let result = wrap(&grad, vm).and_then(|g| hook.call((g,), vm));
    set_modes(Modes { grad: before.grad, ..modes() });
    let result = result?;
    if !recorder.is_since(&mark) {
        return Ok(false);
    }
    let Some(result) = to_tensor(&result) else {
        recorder.cut(mark, &[], &[given]);
        return Ok(vm.is_none(&result));
    };
    let returns = Arg::Node(recorder.node_of(&result).map_err(error)?);
    let part = Part { range: start..recorder.position(), takes: vec![given], returns };
    let cut = recorder.cut(mark, &[part], &[given]);
    for body in &cut.bodies {
        let mut call = vec![Arg::Node(recorder.node_of(t).map_err(error)?), Arg::Node(recorder.subgraph("hook_body", body.graph.clone()))];
        call.extend(nodes(body.takes.iter().filter_map(|id| cut.moved(*id))));
        recorder.call_in_place("register_hook", call, t);
    }
    Ok(true)
}

fn tensors_of(context: &PyObjectRef, name: &str, vm: &VirtualMachine) -> PyResult<Vec<Tensor>> {
    let value = context.get_attr(vm.ctx.intern_str(name), vm)?;
    Ok(items(&value).unwrap_or_default().iter().filter_map(|o| to_tensor(o)).collect())
}
