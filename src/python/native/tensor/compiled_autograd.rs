//! Compiled autograd as Python sees it: a backward is looked up by its tape, captured as a `GraphModule`, and called with what its tape keeps.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use rustpython_vm::function::FuncArgs;
use rustpython_vm::types::{Callable, Representable};
use rustpython_vm::{AsObject, Py, PyObjectRef, PyPayload, PyResult, VirtualMachine};

use super::captured_calls;
use super::convert::{from_value, items, to_tensor, to_value};
use super::errors::raise;
use super::payload::wrap;
use super::tape::{edges, roots};
use crate::autograd::lift::Functional;
use crate::autograd::{Node, meta};
use crate::dispatch::Value;
use crate::dynamo::Locals;
use crate::dynamo::replay::{self, Ran, Replay};
use crate::error::{Error, Result};
use crate::graph;
use crate::python::current::emit;
use crate::python::native::graph_module::{PyGraphModule, script_module};
use crate::report::{self, Event};
use crate::tensor::Tensor;
use compiled_autograd::cache::{Cache, KnownSize};
use compiled_autograd::capture::{Captured, CapturedInput, Function, Prologue, capture};
use compiled_autograd::functions;
use compiled_autograd::tape::{Retained, Tape};

pub(in crate::python::native) use module::module_def;

/// What is kept for tapes of a kind.
struct Entry {
    used_sizes: Vec<usize>,
    /// What the compiler made of the graph.
    compiled: PyObjectRef,
    /// Whether the graph calls no Python of the script's: hooks, custom functions.
    is_pure: bool,
    /// Calls that can be made again without Python, the last first.
    replays: RefCell<Vec<Rc<Known>>>,
}

/// A call of the compiled graph that can be made again.
struct Known {
    replay: Replay,
    /// What it gives.
    result: Vec<Option<Origin>>,
    /// Leaves, by their number among the inputs, whose gradient becomes another tensor.
    gradients: Vec<(usize, Origin)>,
}

/// Where a tensor comes from that a call gives.
#[derive(Clone, Copy)]
enum Origin {
    /// An output of the compiled graph.
    Output(usize),
    /// An input.
    Input(usize),
}

impl Origin {
    fn of(t: &Tensor, outputs: &[Value], inputs: &[Tensor]) -> Option<Origin> {
        let output = outputs.iter().position(|o| o.as_tensor().is_some_and(|o| o.is(t)));
        output.map(Origin::Output).or_else(|| inputs.iter().position(|i| i.is(t)).map(Origin::Input))
    }

    fn tensor(self, outputs: &[Value], inputs: &[Tensor]) -> Option<Tensor> {
        match self {
            Origin::Output(i) => outputs.get(i)?.as_tensor().cloned(),
            Origin::Input(i) => inputs.get(i).cloned(),
        }
    }
}

thread_local! {
    static CACHE: RefCell<Cache<Entry>> = RefCell::default();
    /// How many tapes the run has captured.
    static TAPES: Cell<u32> = const { Cell::new(0) };
    /// Tensors that retain their gradient in the backwards that are running, the innermost last.
    static RETAINED: RefCell<Vec<Vec<Retained>>> = const { RefCell::new(Vec::new()) };
}

/// Forgets an earlier run.
pub fn forget() {
    CACHE.take();
    RETAINED.take();
    TAPES.set(0);
}

/// A function that graphs of compiled autograd call: `torch._dynamo.compiled_autograd.ops.MulBackward0`.
#[pyclass(module = "torch._dynamo.compiled_autograd", name = "Op")]
#[derive(PyPayload)]
struct PyOp {
    name: Rc<str>,
    function: Rc<dyn Functional>,
}

impl std::fmt::Debug for PyOp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Op")
    }
}

fn value_of(o: &PyObjectRef, vm: &VirtualMachine) -> PyResult<Value> {
    to_value(o, vm).ok_or_else(|| vm.new_type_error(format!("a graph of compiled autograd can't be given a {}", o.class().name())))
}

fn optional_tensors(o: &PyObjectRef) -> Vec<Option<Tensor>> {
    items(o).unwrap_or_default().iter().map(|o| to_tensor(o)).collect()
}

/// A function of the library is called with tensors: where that is recorded, they are inputs from here on.
fn read(tensors: &[Tensor], vm: &VirtualMachine) -> PyResult<()> {
    crate::dynamo::recorder().map_or(Ok(()), |recorder| recorder.keep_inputs(tensors, &[])).map_err(|e| raise(e, vm))
}

fn wrapped(tensors: Vec<Option<Tensor>>, vm: &VirtualMachine) -> PyResult<Vec<PyObjectRef>> {
    tensors.into_iter().map(|t| t.map_or_else(|| Ok(vm.ctx.none()), |t| wrap(&t, vm))).collect()
}

impl Callable for PyOp {
    type Args = FuncArgs;
    fn call(zelf: &Py<Self>, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let [grads, needs, rest @ ..] = &args.args[..] else {
            return Err(vm.new_type_error(format!("{}: gradients, which are asked for, and saved values are needed", zelf.name)));
        };
        // The order in which Dynamo makes inputs: arguments, then what lists among them hold.
        let plain: Vec<Tensor> = rest.iter().filter_map(|o| to_tensor(o)).collect();
        let listed: Vec<Tensor> = [grads].into_iter().chain(rest).flat_map(optional_tensors).flatten().collect();
        read(&[plain, listed].concat(), vm)?;
        let needs: Vec<bool> = items(needs).unwrap_or_default().iter().map(|o| o.is(&vm.ctx.true_value)).collect();
        let given = rest.iter().map(|o| value_of(o, vm)).collect::<PyResult<Vec<_>>>()?;
        let out = zelf.function.call(&optional_tensors(grads), &needs, &given).map_err(|e| raise(e, vm))?;
        Ok(vm.ctx.new_list(wrapped(out, vm)?).into())
    }
}

impl Representable for PyOp {
    fn repr_str(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<String> {
        Ok(format!("torch._dynamo.compiled_autograd.ops.{}", zelf.name))
    }
}

#[pyclass(with(Callable, Representable))]
impl PyOp {
    #[pygetset]
    fn __name__(zelf: &Py<Self>) -> String {
        zelf.name.to_string()
    }
}

/// A tape that was taken apart.
#[pyclass(module = "torch._native_tape", name = "Tape")]
#[derive(PyPayload)]
struct PyTape {
    tape: RefCell<Option<Tape>>,
    sizes: Vec<KnownSize>,
    found: RefCell<Option<Rc<Entry>>>,
    captured: RefCell<(Vec<usize>, bool)>,
    reasons: Vec<String>,
    creates_graph: bool,
    /// Inputs of the graph.
    inputs: Vec<Tensor>,
    /// The retained tensors, and the leaves by their numbers among the inputs, once its arguments were taken.
    taken: RefCell<(Vec<Retained>, Vec<usize>)>,
}

impl std::fmt::Debug for PyTape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tape")
    }
}

/// A tensor that a tape reads, as the report says it.
fn tape_input(graph: &graph::Graph, input: CapturedInput) -> report::TapeInput {
    let (call, read_by) = input.call;
    report::TapeInput {
        name: graph.node(input.node).name.to_string(),
        read_by,
        call: call as u32,
        span: input.span,
        saved: input.saved.map(|(id, name)| (id as u32, name)),
    }
}

/// A hook, a context or what a hook packed, as Python knows it.
fn object(known: &Rc<dyn Any>, vm: &VirtualMachine) -> PyObjectRef {
    if let Some(o) = known.downcast_ref::<PyObjectRef>() {
        return o.clone();
    }
    match known.downcast_ref::<Rc<Node>>() {
        Some(node) => super::objects::PyNode::object(node.clone(), vm).unwrap_or_else(|_| vm.ctx.none()),
        None => vm.ctx.none(),
    }
}

#[pyclass]
impl PyTape {
    /// What the compiler made for tapes like it, or None.
    #[pygetset]
    fn compiled(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
        zelf.found.borrow().as_ref().map_or_else(|| vm.ctx.none(), |entry| entry.compiled.clone())
    }

    /// Why nothing was there.
    #[pygetset]
    fn reasons(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
        vm.ctx.new_list(zelf.reasons.iter().map(|r| vm.ctx.new_str(r.as_str()).into()).collect()).into()
    }

    /// Captures it as graph number `number`. Gives the module, and the tape's number in the report.
    #[pymethod]
    fn capture(zelf: &Py<Self>, number: usize, vm: &VirtualMachine) -> PyResult {
        let captured = {
            let tape = zelf.tape.borrow();
            let tape = tape.as_ref().ok_or_else(|| vm.new_runtime_error("the tape was released"))?;
            capture(tape, number, &zelf.sizes, zelf.creates_graph).map_err(|e| raise(e, vm))?
        };
        let Captured { graph, code, functions, used_sizes, inputs } = captured;
        let is_pure = functions.iter().all(|(_, function)| !function.calls_script());
        *zelf.captured.borrow_mut() = (used_sizes, is_pure);
        let objects = |(name, function)| Ok((name, function_object(function, vm)?));
        let functions: HashMap<String, PyObjectRef> = functions.into_iter().map(objects).collect::<PyResult<_>>()?;
        let id = TAPES.replace(TAPES.get() + 1);
        let tape = report::Tape {
            id,
            name: graph.class_name.to_string(),
            graph: crate::graph_view::view(&graph),
            reasons: zelf.reasons.clone(),
            hits: 0,
            inputs: inputs.into_iter().map(|input| tape_input(&graph, input)).collect(),
        };
        emit(Event::CompiledAutograd { tape });
        let runner = if is_pure { captured_calls::runner(&code, &functions, vm) } else { None };
        let names = vm.ctx.new_dict();
        for (name, function) in functions {
            names.set_item(name.as_str(), function, vm)?;
        }
        let text = match runner {
            Some((runner, reads)) => {
                names.set_item("_run", runner, vm)?;
                format!("def forward(self, inputs, sizes, scalars, hooks, packed_data):\n    return _run({})", reads.join(", "))
            }
            None => graph::code(&code),
        };
        let module = script_module(PyGraphModule::new(graph), vm)?;
        let made = crate::python::native::calls::imported("torch.fx.graph_module", vm)?;
        made.get_attr("_run_code", vm)?.call((module.clone(), text, names), vm)?;
        Ok(vm.ctx.new_tuple(vec![module, vm.ctx.new_int(id).into()]).into())
    }

    /// Keeps what the compiler made of the graph.
    #[pymethod]
    fn keep(zelf: &Py<Self>, compiled: PyObjectRef) {
        let (used_sizes, is_pure) = zelf.captured.take();
        let entry = Rc::new(Entry { used_sizes, compiled, is_pure, replays: RefCell::default() });
        if let Some(tape) = &*zelf.tape.borrow() {
            CACHE.with_borrow_mut(|cache| cache.insert(tape, entry.clone()));
        }
        *zelf.found.borrow_mut() = Some(entry);
    }

    /// What the graph is called with: tensors, sizes that it reads, hooks, and what hooks packed. Frees what nodes saved where the
    /// graph is not kept.
    #[pymethod]
    fn arguments(zelf: &Py<Self>, retain_graph: bool, vm: &VirtualMachine) -> PyResult {
        let tape = zelf.release(retain_graph).ok_or_else(|| vm.new_runtime_error("the tape was released"))?;
        let sizes = zelf.used_sizes().into_iter().map(|size| vm.ctx.new_int(size).into()).collect();
        let inputs = zelf.inputs.iter().map(|t| wrap(t, vm)).collect::<PyResult<Vec<_>>>()?;
        let objects = |all: &[Rc<dyn Any>]| vm.ctx.new_tuple(all.iter().map(|o| object(o, vm)).collect()).into();
        let parts: Vec<PyObjectRef> = vec![
            vm.ctx.new_list(inputs).into(),
            vm.ctx.new_list(sizes).into(),
            objects(&tape.lift.objects),
            objects(&tape.lift.packed_data),
        ];
        let leaves = tape.leaves();
        *zelf.taken.borrow_mut() = (tape.retained, leaves);
        Ok(vm.ctx.new_tuple(parts).into())
    }

    /// `call(compiled, is_alone, *arguments)`: calls what the compiler made of the graph; `is_alone`: that calls the compiled graph and does
    /// nothing else, so that the call can be made again without Python.
    #[pymethod]
    fn call(zelf: &Py<Self>, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let [compiled, is_alone, given @ ..] = &args.args[..] else {
            return Err(vm.new_type_error("what is called, and its arguments are needed"));
        };
        let (retained, leaves) = zelf.taken.take();
        let before: Vec<Option<Tensor>> = leaves.iter().map(|leaf| meta::grad(&zelf.inputs[*leaf])).collect();
        RETAINED.with_borrow_mut(|all| all.push(retained));
        let (result, ran) = replay::watching(|| compiled.call(FuncArgs::from(given.to_vec()), vm));
        RETAINED.with_borrow_mut(Vec::pop);
        let result = result?;
        if let Some(ran) = ran.filter(|_| is_alone.is(&vm.ctx.true_value)) {
            zelf.learn(&ran, &result, &leaves, &before);
        }
        Ok(result)
    }

    /// Runs the compiled graph at once where a call like this was made before; None where none was.
    #[pymethod]
    fn replay(zelf: &Py<Self>, retain_graph: bool, vm: &VirtualMachine) -> PyResult {
        let Some(entry) = zelf.found.borrow().clone() else { return Ok(vm.ctx.none()) };
        let known = entry.replays.borrow().clone();
        if known.is_empty() {
            return Ok(vm.ctx.none());
        }
        let inputs = zelf.inputs.iter().map(|t| wrap(t, vm)).collect::<PyResult<Vec<_>>>()?;
        let sizes = zelf.used_sizes().into_iter().map(|size| size_argument(size, vm)).collect::<PyResult<Vec<_>>>()?;
        let locals: Locals = vec![
            ("inputs".into(), vm.ctx.new_list(inputs).into()),
            ("sizes".into(), vm.ctx.new_list(sizes).into()),
            ("scalars".into(), vm.ctx.new_list(Vec::new()).into()),
        ];
        for (place, known) in known.iter().enumerate() {
            let Some(outputs) = known.replay.run(&locals, &|| drop(zelf.release(retain_graph)), vm) else { continue };
            let outputs = outputs.map_err(|e| raise(e, vm))?;
            let missing = || vm.new_runtime_error("a compiled graph lacks an output");
            for (leaf, origin) in &known.gradients {
                meta::set_grad(&zelf.inputs[*leaf], Some(origin.tensor(&outputs, &zelf.inputs).ok_or_else(missing)?));
            }
            if place > 0 {
                entry.replays.borrow_mut()[..=place].rotate_right(1);
            }
            let given = known.result.iter().map(|origin| match origin {
                None => Ok(vm.ctx.none()),
                Some(origin) => wrap(&origin.tensor(&outputs, &zelf.inputs).ok_or_else(missing)?, vm),
            });
            return Ok(vm.ctx.new_list(given.collect::<PyResult<_>>()?).into());
        }
        Ok(vm.ctx.none())
    }
}

impl PyTape {
    /// Gives the tape; frees what its nodes saved where the graph is not kept.
    fn release(&self, retain_graph: bool) -> Option<Tape> {
        let tape = self.tape.take()?;
        if !retain_graph {
            tape.calls.iter().filter_map(|call| call.node.as_ref()).for_each(|node| node.body.release());
        }
        Some(tape)
    }

    /// The sizes that the graph reads.
    fn used_sizes(&self) -> Vec<i64> {
        let found = self.found.borrow();
        let used = found.as_ref().map_or(&[][..], |entry| entry.used_sizes.as_slice());
        let dynamic: Vec<i64> = self.sizes.iter().filter(|size| size.is_dynamic).map(|size| size.value).collect();
        used.iter().map(|i| dynamic.get(*i).copied().unwrap_or(0)).collect()
    }

    /// Notes what a call did, where it can be made again: `before` are the gradients that the leaves had.
    fn learn(&self, ran: &Ran, result: &PyObjectRef, leaves: &[usize], before: &[Option<Tensor>]) {
        let Some(entry) = self.found.borrow().clone().filter(|entry| entry.is_pure) else { return };
        if entry.replays.borrow().iter().any(|known| known.replay.is(ran)) {
            return;
        }
        let origin = |t: &Tensor| Origin::of(t, &ran.outputs, &self.inputs);
        let Some(result) = items(result) else { return };
        let is_none = |o: &PyObjectRef| to_tensor(o).is_none();
        let result: Option<Vec<Option<Origin>>> =
            result.iter().map(|o| if is_none(o) { Some(None) } else { to_tensor(o).and_then(|t| origin(&t)).map(Some) }).collect();
        let mut gradients = Vec::new();
        for (leaf, before) in leaves.iter().zip(before) {
            let now = meta::grad(&self.inputs[*leaf]);
            let is_same = match (&now, before) {
                (Some(now), Some(before)) => now.is(before),
                (now, before) => now.is_none() && before.is_none(),
            };
            if !is_same {
                let Some(origin) = now.and_then(|now| origin(&now)) else { return };
                gradients.push((*leaf, origin));
            }
        }
        let Some(result) = result else { return };
        entry.replays.borrow_mut().insert(0, Rc::new(Known { replay: Replay::of(ran), result, gradients }));
    }
}

/// A size as an argument that can be dynamic: an integer can't.
fn size_argument(size: i64, vm: &VirtualMachine) -> PyResult {
    // No tensor holds what stands for the end of a slice.
    if size <= 0 || size >= 1 << 62 {
        return Ok(vm.ctx.new_int(size).into());
    }
    wrap(&Tensor::from_slice::<f32>(&[], &[0, size]).map_err(|e| raise(e, vm))?, vm)
}

fn function_object(function: Function, vm: &VirtualMachine) -> PyResult {
    match function {
        Function::Derivative(name, function) => Ok(PyOp { name, function }.into_pyobject(vm)),
        Function::Prologue(prologue) => Ok(prologue_object(prologue, vm)),
        Function::Library("torch._dynamo.compiled_autograd.ops", name) => {
            let module = crate::python::native::calls::imported("torch._dynamo.compiled_autograd", vm)?;
            module.get_attr("ops", vm)?.get_attr(vm.ctx.intern_str(name), vm)
        }
        Function::OfState(hook) => {
            let module = crate::python::native::calls::imported("torch._dynamo.compiled_autograd", vm)?;
            module.get_attr("_hook_of_state", vm)?.call((hook.to_string(),), vm)
        }
        Function::Library(module, name) => {
            let module = crate::python::native::calls::imported(module, vm)?;
            module.get_attr(vm.ctx.intern_str(name), vm)
        }
    }
}

fn prologue_object(prologue: Prologue, vm: &VirtualMachine) -> PyObjectRef {
    let call = move |saved: PyObjectRef, sizes: PyObjectRef, _opaque: PyObjectRef, grads: PyObjectRef, vm: &VirtualMachine| -> PyResult {
        let values = |o: &PyObjectRef| items(o).unwrap_or_default().iter().map(|o| value_of(o, vm)).collect::<PyResult<Vec<_>>>();
        let out = prologue(values(&saved)?, values(&sizes)?, optional_tensors(&grads)).map_err(|e| raise(e, vm))?;
        let out = out.into_iter().map(|v| from_value(v, vm)).collect::<PyResult<Vec<_>>>()?;
        Ok(vm.ctx.new_list(out).into())
    };
    vm.new_function("call_aot_bwd_prologue", call).into()
}

fn values(o: &PyObjectRef, vm: &VirtualMachine) -> PyResult<Vec<Value>> {
    items(o).unwrap_or_default().iter().map(|o| value_of(o, vm)).collect()
}

#[pymodule(name = "torch._native_tape")]
mod module {
    use super::*;
    use rustpython_vm::builtins::PyTypeRef;
    use rustpython_vm::class::PyClassImpl;

    #[pyattr(name = "Op")]
    fn class_op(_vm: &VirtualMachine) -> PyTypeRef {
        PyOp::make_static_type()
    }

    #[pyattr(name = "Tape")]
    fn class_tape(_vm: &VirtualMachine) -> PyTypeRef {
        PyTape::make_static_type()
    }

    /// `take_apart(tensors, grads, create_graph, inputs, accumulate_grad, dynamic)`: the tape behind a backward.
    #[pyfunction]
    fn take_apart(args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let list = |i: usize| args.args.get(i).and_then(|o| items(o)).unwrap_or_default();
        let flag = |i: usize| args.args.get(i).is_some_and(|o| o.is(&vm.ctx.true_value));
        let error = |e: Error| raise(e, vm);
        let roots = roots(&list(0), &list(1), vm)?;
        let edges = edges(&list(3), vm)?;
        let edges = (!edges.is_empty()).then_some(edges.as_slice());
        let tape = Tape::new(&roots, edges, flag(4)).map_err(error)?;
        let found = CACHE.with_borrow_mut(|cache| cache.find(&tape, flag(5)));
        let tape = PyTape {
            inputs: tape.lift.inputs.clone(),
            tape: RefCell::new(Some(tape)),
            sizes: found.sizes,
            found: RefCell::new(found.captured),
            captured: RefCell::default(),
            taken: RefCell::default(),
            reasons: found.reasons,
            creates_graph: flag(2),
        };
        Ok(tape.into_pyobject(vm))
    }

    /// `size_argument(size)`: a size as an argument that can be dynamic.
    #[pyfunction]
    fn size_argument(size: i64, vm: &VirtualMachine) -> PyResult {
        super::size_argument(size, vm)
    }

    /// A tape that was captured serves again, by its number in the report.
    #[pyfunction]
    fn note_hit(tape: u32) {
        emit(Event::TapeHit { tape });
    }

    /// Whether no tape was captured.
    #[pyfunction]
    fn is_cache_empty() -> bool {
        CACHE.with_borrow(Cache::is_empty)
    }

    /// Forgets all tapes.
    #[pyfunction]
    fn clear_cache() {
        CACHE.take();
    }

    /// `ops.validate_outputs`
    #[pyfunction]
    fn validate_outputs(gradients: PyObjectRef, metadata: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let out = functions::validate_outputs(&values(&gradients, vm)?, &values(&metadata, vm)?).map_err(|e| raise(e, vm))?;
        let out = out.into_iter().map(|v| from_value(v, vm)).collect::<PyResult<Vec<_>>>()?;
        Ok(vm.ctx.new_list(out).into())
    }

    /// `ops.AccumulateGrad`: the gradient that the variable is to have.
    #[pyfunction]
    fn accumulate_grad(args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let tensor = |i: usize| args.args.get(i).and_then(|o| to_tensor(o));
        let wrong = || vm.new_type_error("AccumulateGrad: a variable and a gradient are needed");
        let (variable, have, grad) = (tensor(0).ok_or_else(wrong)?, tensor(1), tensor(2).ok_or_else(wrong)?);
        let inputs: Vec<Tensor> = [Some(&variable), have.as_ref(), Some(&grad)].into_iter().flatten().cloned().collect();
        read(&inputs, vm)?;
        let total = functions::accumulate_grad(&variable, have.as_ref(), grad).map_err(|e| raise(e, vm))?;
        wrap(&total, vm)
    }

    /// Keeps a gradient where a tensor retains it: number `index` of those of the backward that is running.
    #[pyfunction]
    fn keep_gradient(index: usize, grad: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        let tensor = RETAINED.with_borrow(|all| all.last().and_then(|tensors| tensors.get(index)).and_then(Tensor::upgrade));
        if let (Some(tensor), Some(grad)) = (tensor, to_tensor(&grad)) {
            let total: Result<Tensor> = match meta::grad(&tensor) {
                Some(have) => crate::t!("add.Tensor", have, grad),
                None => Ok(grad),
            };
            meta::set_grad(&tensor, Some(total.map_err(|e| raise(e, vm))?));
        }
        Ok(())
    }
}
