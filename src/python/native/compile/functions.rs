//! Native functions behind `torch.compile` and `torch._functorch.aot_autograd`.

use std::cell::RefCell;

use rustpython_vm::PyObjectRef;

use crate::aot::compile::{GraphCallable, GraphCompiler};
use crate::dispatch::Value;
use crate::error::Result;
use crate::tensor::Tensor;

thread_local! {
    static REGION: RefCell<Option<CustomRegion>> = const { RefCell::new(None) };
    /// What a partitioner of ours decided when a script called it.
    static LAST_PARTITION: RefCell<Option<crate::report::Partition>> = const { RefCell::new(None) };
}

/// A captured region that a backend of the script's compiles: its number, and its inputs with their stand-ins.
type CustomRegion = (u32, Vec<(Tensor, Tensor)>);

/// Says which captured region is being compiled by a backend of the script's.
pub fn set_region(region: Option<CustomRegion>) {
    REGION.set(region);
}

/// What stands for a tensor of the captured region that a backend of the script's compiles.
pub fn twin(t: &Tensor) -> Option<Tensor> {
    REGION.with_borrow(|region| {
        region.as_ref().and_then(|(_, twins)| twins.iter().find(|(real, _)| real.is(t)).map(|(_, twin)| twin.clone()))
    })
}

/// A compiler of the script's: called with a `GraphModule` and fake examples, gives a callable.
struct PythonCompiled(PyObjectRef);

impl GraphCallable for PythonCompiled {
    fn call(&self, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
        let _below = crate::dispatch::Exclude::down_to(crate::dispatch::Key::Autograd);
        super::backend::call_python(&self.0, std::mem::take(inputs))
    }
}

fn python_compiler(compiler: PyObjectRef) -> GraphCompiler {
    use super::graph_module::{PyGraphModule, script_module};
    use crate::python::native::tensor::{from_value, raised};
    use rustpython_vm::PyResult;
    use std::rc::Rc;
    Rc::new(move |graph, examples| {
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            let module = script_module(PyGraphModule::new(graph), vm).map_err(raised)?;
            let examples = examples.iter().map(|v| from_value(v.clone(), vm)).collect::<PyResult<Vec<_>>>().map_err(raised)?;
            let callable = compiler.call((module, vm.ctx.new_list(examples)), vm).map_err(raised)?;
            Ok(Rc::new(PythonCompiled(callable)) as Rc<dyn GraphCallable>)
        })
    })
}

pub(in crate::python::native) use native::module_def;

#[pymodule(name = "torch._native_compile")]
mod native {
    use std::rc::Rc;

    use rustpython_vm::builtins::{PyStrRef, PyTupleRef, PyTypeRef};
    use rustpython_vm::function::{ArgSequence, FuncArgs};
    use rustpython_vm::types::Callable;
    use rustpython_vm::{AsObject, Py, PyObjectRef, PyPayload, PyResult, VirtualMachine};

    use super::super::backend::{self, Backend};
    use super::super::call;
    use super::super::control_flow;
    use super::super::graph_module::{self, Attributes, PyGraphModule};
    use super::super::session::{self, Asked, CompiledFunction};
    use super::super::told;
    use crate::aot::compile::InputSpec;
    use crate::aot::{self};
    use crate::capture::{Unsupported, constraints};
    use crate::dispatch::{Modes, Value, modes, set_modes};
    use crate::partition::{PartitionConfig, Partitioner};
    use crate::python::native::tensor::{from_value, raise, raised, to_tensor, to_value, wrap};
    use crate::tensor::Tensor;

    #[pyattr(name = "NativeGraph")]
    fn class_graph_module(_vm: &VirtualMachine) -> PyTypeRef {
        graph_module::class()
    }

    /// The cache and settings of a compiled function.
    #[pyattr]
    #[pyclass(module = "torch._dynamo", name = "CompiledState")]
    #[derive(PyPayload)]
    struct PyState(Rc<CompiledFunction>);

    impl std::fmt::Debug for PyState {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("CompiledState")
        }
    }

    #[pyclass]
    impl PyState {
        /// `holds(entry, variables)`: whether the guards of an entry hold for a function's variables; `None` where there is no such
        /// entry.
        #[pymethod]
        fn holds(zelf: &Py<Self>, entry: usize, variables: rustpython_vm::builtins::PyDictRef, vm: &VirtualMachine) -> Option<bool> {
            zelf.0.cache.borrow().entry(0, entry)?;
            let variable = |(k, v): (PyObjectRef, PyObjectRef)| {
                let name = k.downcast_ref::<rustpython_vm::builtins::PyStr>()?.to_string_lossy().as_ref().into();
                Some((name, v))
            };
            let locals = (&variables).into_iter().filter_map(variable).collect();
            Some(super::super::entries::holds(&zelf.0, 0, entry, &locals, vm))
        }
        #[pymethod]
        fn is_empty(zelf: &Py<Self>) -> bool {
            zelf.0.cache.borrow().is_empty()
        }
    }

    /// Arguments of a call as Python's `*args, **kwargs` have them.
    fn func_args(args: &rustpython_vm::builtins::PyTupleRef, kwargs: &rustpython_vm::builtins::PyDictRef) -> FuncArgs {
        let keywords: rustpython_vm::function::KwArgs = kwargs
            .into_iter()
            .filter_map(|(k, v)| Some((k.downcast_ref::<rustpython_vm::builtins::PyStr>()?.to_string_lossy().into_owned(), v)))
            .collect();
        FuncArgs::new(args.as_slice().to_vec(), keywords)
    }

    /// The state of a code compiled with `torch.compile(f, backend=..., dynamic=...)`, and with these settings.
    #[pyfunction]
    fn _compiled_state(
        code: PyObjectRef,
        backend: PyObjectRef,
        dynamic: Option<bool>,
        settings: PyObjectRef,
        vm: &VirtualMachine,
    ) -> PyState {
        let backend = match backend.downcast_ref::<rustpython_vm::builtins::PyStr>() {
            Some(name) => Backend::Named(name.to_string_lossy().into_owned()),
            None => Backend::Custom(backend),
        };
        PyState(session::function_of(&code, &Asked { backend, dynamic, settings }, vm))
    }

    /// The states of a code.
    #[pyfunction]
    fn _states_of(code: PyObjectRef, vm: &VirtualMachine) -> PyObjectRef {
        let states = session::functions_of(&code).into_iter().map(|f| PyState(f).into_pyobject(vm)).collect();
        vm.ctx.new_list(states).into()
    }

    /// Forgets what was compiled.
    #[pyfunction]
    fn _forget() {
        session::forget();
    }

    /// `_call_compiled(state, fullgraph, function, name, namer, args, kwargs)`
    #[pyfunction]
    #[allow(clippy::too_many_arguments, reason = "Python's side gives them one by one")]
    fn _call_compiled(
        state: PyObjectRef,
        fullgraph: bool,
        function: PyObjectRef,
        name: PyStrRef,
        namer: PyObjectRef,
        args: rustpython_vm::builtins::PyTupleRef,
        kwargs: rustpython_vm::builtins::PyDictRef,
        vm: &VirtualMachine,
    ) -> PyResult {
        let state = state.downcast_ref::<PyState>().ok_or_else(|| vm.new_type_error("expected a CompiledState"))?.0.clone();
        let args = func_args(&args, &kwargs);
        call::call(&state, fullgraph, &function, name.to_string_lossy().into_owned(), namer, args, vm)
    }

    /// `_call_overridable(public, implementation, args, kwargs)`
    #[pyfunction]
    fn _call_overridable(
        public: PyObjectRef,
        implementation: PyObjectRef,
        args: rustpython_vm::builtins::PyTupleRef,
        kwargs: rustpython_vm::builtins::PyDictRef,
        vm: &VirtualMachine,
    ) -> PyResult {
        super::super::written::call_overridable(&public, &implementation, &func_args(&args, &kwargs), vm)
    }

    #[pyfunction]
    fn _is_compiling() -> bool {
        call::capturing()
    }

    /// Whether calls are being recorded right now.
    #[pyfunction]
    fn _is_capturing() -> bool {
        call::recorder().is_some()
    }

    /// A parameter or buffer was read, or a number that may be symbolic.
    #[pyfunction]
    fn _touch(value: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        match (to_tensor(&value), call::recorder()) {
            (Some(t), _) if call::capturing() => call::touch(&t, true).map_err(|e| raise(e, vm)),
            (None, Some(recorder)) => match to_value(&value, vm) {
                Some(number @ Value::SymFloat(_)) => recorder.argument(&number).map(|_| ()).map_err(|e| raise(e, vm)),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// A module with hooks is called with these: the front end, which asks whether they are constants, reads the first that is none.
    #[pyfunction]
    fn _read_first(args: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        match super::super::modules::first_value(&args).as_ref().and_then(|first| to_tensor(first)) {
            Some(t) if call::capturing() && !super::super::modules::is_root_call(vm) => call::touch_around(&t).map_err(|e| raise(e, vm)),
            _ => Ok(()),
        }
    }

    /// A module is called; whether that is noted, so that `_leave_module` has to follow.
    #[pyfunction]
    fn _enter_module(module: PyObjectRef, vm: &VirtualMachine) -> bool {
        let noted = call::capturing() || crate::aot::trace::current_tracer().is_some();
        if noted {
            super::super::modules::enter(module, vm);
        } else if call::is_called() {
            super::super::modules::enter_outside(&module, vm);
        }
        noted
    }

    /// What the call of a module gives: where its `forward` was recorded on its own, that returned it.
    #[pyfunction]
    fn _gives(result: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        call::note_result(&result, vm).map_err(|e| raise(e, vm))?;
        Ok(result)
    }

    #[pyfunction]
    fn _leave_module() {
        super::super::modules::leave();
    }

    #[pyfunction]
    fn _graph_break(kind: PyStrRef, args: rustpython_vm::function::PosArgs<Option<String>>, vm: &VirtualMachine) -> PyResult<()> {
        let args = args.into_vec();
        let arg = |i: usize| args.get(i).and_then(|a| a.as_deref());
        let reason = match &*kind.to_string_lossy() {
            "requested" => Unsupported::requested(arg(0)),
            "disabled" => Unsupported::disabled(arg(0).unwrap_or_default(), arg(1)),
            "backward" => Unsupported::backward(),
            "not_inlined" => Unsupported::not_inlined(arg(0).unwrap_or_default(), arg(1).unwrap_or_default()),
            "skipped" => Unsupported::skipped(arg(0).unwrap_or_default(), arg(1).unwrap_or_default()),
            "builtin" => {
                let kind = [format!("functions.{}", arg(2).unwrap_or_default())];
                Unsupported::builtin(arg(0).unwrap_or_default(), &[arg(1).unwrap_or_default().to_owned()], &kind)
            }
            "rnn" => Unsupported::rnn(arg(0).unwrap_or_default()),
            "module_backward_hooks" => Unsupported::module_backward_hooks(),
            "warning" => Unsupported::warning(),
            "logging" => {
                let shown: Vec<String> = args.iter().skip(2).flatten().cloned().collect();
                Unsupported::logging(arg(0).unwrap_or_default(), arg(1).unwrap_or_default(), &shown)
            }
            "context_manager" => Unsupported::context_manager(arg(0).unwrap_or_default()),
            other => Unsupported::other(other),
        };
        call::break_graph(&reason).map_err(|e| raise(e, vm))
    }

    /// `_break_at_grad(inputs)`: gradients of these are asked for.
    #[pyfunction]
    fn _break_at_grad(inputs: Vec<PyObjectRef>, vm: &VirtualMachine) -> PyResult<()> {
        let Some(recorder) = call::recorder() else { return Ok(()) };
        let is_result = |t: &crate::tensor::Tensor| recorder.is_lazy(t) && crate::autograd::meta::requires_grad(t);
        let of_intermediate = inputs.iter().filter_map(|o| to_tensor(o)).any(|t| is_result(&t));
        call::break_graph(&Unsupported::grad(of_intermediate)).map_err(|e| raise(e, vm))
    }

    /// A `while_loop` that is differentiated is left to Python, where graphs hold no numbers of tensors.
    #[pyfunction]
    fn _leave_loop(vm: &VirtualMachine) -> PyResult<()> {
        let Some(recorder) = call::recorder().filter(|r| !r.wants_scalars()) else { return Ok(()) };
        recorder.break_graph(&Unsupported::backward_of_loop()).map_err(|e| raise(e, vm))
    }

    /// A block of inference mode begins in what is recorded; false where nothing is.
    #[pyfunction]
    fn _enter_inference_mode() -> bool {
        let recorder = call::recorder();
        if let Some(recorder) = &recorder {
            recorder.record_inference_mode();
            set_modes(Modes { grad: false, ..modes() });
        }
        recorder.is_some()
    }

    /// The block ends: gradients are as they were around it.
    #[pyfunction]
    fn _exit_inference_mode(grad: bool) {
        if let Some(recorder) = call::recorder() {
            recorder.record_inference_mode_end(grad);
        }
        set_modes(Modes { grad, ..modes() });
    }

    /// A context manager: what is called inside is not captured.
    #[pyfunction]
    fn _suspended(vm: &VirtualMachine) -> PyObjectRef {
        use rustpython_vm::class::PyClassImpl;
        drop(super::super::custom::Suspended::make_static_type());
        super::super::custom::Suspended::new().into_pyobject(vm)
    }

    /// A context manager: the function that is captured waits, functions called inside are compiled on their own, but for the first
    /// so many.
    #[pyfunction]
    fn _skipped(frames: rustpython_vm::function::OptionalArg<usize>, vm: &VirtualMachine) -> PyObjectRef {
        use rustpython_vm::class::PyClassImpl;
        drop(super::super::skipped::Skipped::make_static_type());
        super::super::skipped::Skipped::new(frames.unwrap_or(0)).into_pyobject(vm)
    }

    /// Tensors and numbers become inputs of what is captured, in this order.
    #[pyfunction]
    fn _become_inputs(values: rustpython_vm::function::PosArgs, vm: &VirtualMachine) -> PyResult<()> {
        let Some(recorder) = call::recorder() else { return Ok(()) };
        for o in values.iter() {
            let touched = match to_value(o, vm) {
                Some(Value::Tensor(t)) => recorder.touch(&t, false),
                Some(number @ Value::SymFloat(_)) => recorder.argument(&number).map(drop),
                _ => Ok(()),
            };
            touched.map_err(|e| raise(e, vm))?;
        }
        Ok(())
    }

    /// A module's buffer is set to the tensor that it is: where a call gave that again, it is a value that the graph returns.
    #[pyfunction]
    fn _stored_again(value: PyObjectRef) {
        if let (Some(recorder), Some(t)) = (call::recorder(), to_tensor(&value)) {
            recorder.note_stored_again(&t);
        }
    }

    /// Why capture stopped since the run began, each time: the reason, and `(file, line, function, code)`.
    #[pyfunction]
    fn _breaks(vm: &VirtualMachine) -> PyObjectRef {
        let one = |(reason, place): (String, Option<crate::span::Source>)| -> PyObjectRef {
            let place: PyObjectRef = place.map_or_else(
                || vm.ctx.none(),
                |p| {
                    let text = |s: &str| -> PyObjectRef { vm.ctx.new_str(s).into() };
                    vm.ctx.new_tuple(vec![text(&p.file), vm.ctx.new_int(p.span.line).into(), text(&p.function), text(&p.code)]).into()
                },
            );
            vm.ctx.new_tuple(vec![vm.ctx.new_str(reason).into(), place]).into()
        };
        vm.ctx.new_list(session::breaks().into_iter().map(one).collect()).into()
    }

    /// Begins to keep the guards of entries that are made, or ends; gives those that were kept: what each asks, the name of its value, its
    /// scope, kinds and texts.
    #[pyfunction]
    fn _keep_guards(keeps: bool, vm: &VirtualMachine) -> PyObjectRef {
        let text = |s: &str| -> PyObjectRef { vm.ctx.new_str(s).into() };
        let one = |guard: told::Told| -> PyObjectRef {
            let kinds = vm.ctx.new_list(guard.kinds.iter().map(|s| text(s)).collect()).into();
            let texts = vm.ctx.new_list(guard.texts.iter().map(|s| text(s)).collect()).into();
            vm.ctx.new_tuple(vec![text(guard.asks), text(&guard.name), text(&guard.scope), kinds, texts]).into()
        };
        vm.ctx.new_list(told::keep(keeps).into_iter().map(one).collect()).into()
    }

    /// That a dimension that was to vary is a number.
    #[pyfunction]
    fn _specialized(name: PyStrRef, number: i64) -> String {
        constraints::specialized(&name.to_string_lossy(), number)
    }

    /// That a dimension, found at a place, does not take all values between `least` and `most`: only those from `lower` to `upper`.
    #[pyfunction]
    fn _unsatisfied(name: PyStrRef, place: PyStrRef, least: Option<i64>, most: Option<i64>, lower: i64, upper: Option<i64>) -> String {
        let place = place.to_string_lossy();
        constraints::unsatisfied(&name.to_string_lossy(), &place, (least, most), &constraints::within(&place, lower, upper))
    }

    /// What is said of dimensions, of which these are the names.
    #[pyfunction]
    fn _violated(names: ArgSequence<PyStrRef>, said: ArgSequence<PyStrRef>) -> String {
        let texts = |all: ArgSequence<PyStrRef>| all.into_vec().iter().map(|s| s.to_string_lossy().into_owned()).collect::<Vec<_>>();
        constraints::violated(&texts(names), &texts(said))
    }

    /// How long backends took, graph by graph, in seconds.
    #[pyfunction]
    fn _compile_times(vm: &VirtualMachine) -> PyObjectRef {
        vm.ctx.new_list(session::compile_times().into_iter().map(|s| vm.ctx.new_float(s).into()).collect()).into()
    }

    /// Whether the graph that is compiled ended where capture stopped.
    #[pyfunction]
    fn _ends_in_break() -> bool {
        session::ends_in_break()
    }

    /// Whether a break is an error; gives what was said before.
    #[pyfunction]
    fn _set_error_on_graph_break(value: Option<bool>) -> Option<bool> {
        session::set_breaks_are_errors(value)
    }

    /// Tensors that the function that is captured returns first.
    #[pyfunction]
    fn _return_first(values: rustpython_vm::function::PosArgs) {
        if let Some(recorder) = call::recorder() {
            recorder.first_outputs.borrow_mut().extend(values.iter().filter_map(|o| to_tensor(o)).map(|t| t.id()));
        }
    }

    /// What the call that ended a graph returned.
    #[pyfunction]
    fn _returned(result: PyObjectRef, vm: &VirtualMachine) -> PyObjectRef {
        call::note_returned(&result, vm);
        result
    }

    /// A block begins that changes the grad mode, which was `before`; without that it ends.
    #[pyfunction]
    fn _grad_block(block: PyObjectRef, before: Option<bool>) {
        call::note_grad_block(block.get_id(), before);
    }

    /// How compiled functions are called; gives what was said before.
    #[pyfunction]
    fn _set_stance(stance: PyStrRef) -> String {
        session::set_stance(stance.to_string_lossy().into_owned())
    }

    /// Settings of the program that compiled code depends on.
    #[pyfunction]
    fn _set_state(deterministic: bool, warn_only: bool, threads: u32) {
        crate::capture::set_state(deterministic, warn_only, threads);
    }

    /// `Function.apply(*args)`
    #[pyfunction]
    fn _function_apply(cls: PyObjectRef, args: rustpython_vm::builtins::PyTupleRef, vm: &VirtualMachine) -> PyResult {
        super::super::custom::apply(&cls, args.as_slice().to_vec(), vm)
    }

    /// Calls a function as a checkpointed body of what is recorded; as it is where nothing is.
    #[pyfunction]
    fn _checkpoint(
        function: PyObjectRef,
        args: rustpython_vm::builtins::PyTupleRef,
        kwargs: rustpython_vm::builtins::PyDictRef,
        policy: Option<PyObjectRef>,
        use_reentrant: bool,
        vm: &VirtualMachine,
    ) -> PyResult {
        let keywords: rustpython_vm::function::KwArgs = (&kwargs)
            .into_iter()
            .filter_map(|(k, v)| Some((k.downcast_ref::<rustpython_vm::builtins::PyStr>()?.to_string_lossy().into_owned(), v)))
            .collect();
        let call = FuncArgs::new(args.as_slice().to_vec(), keywords);
        match call::recorder() {
            Some(recorder) => super::super::bodies::checkpoint(&recorder, &function, call, policy, use_reentrant, vm),
            None => function.call(call, vm),
        }
    }

    /// `torch.cond` of what is recorded: functions of leaves, the leaves, and what puts the results together.
    #[pyfunction]
    fn _cond(
        predicate: PyObjectRef,
        true_fn: PyObjectRef,
        false_fn: PyObjectRef,
        operands: PyTupleRef,
        together: PyObjectRef,
        vm: &VirtualMachine,
    ) -> PyResult {
        control_flow::cond(&recorded(vm)?, &predicate, [&true_fn, &false_fn], operands.as_slice(), &together, vm)
    }

    /// `while_loop` of what is recorded.
    #[pyfunction]
    fn _while_loop(
        cond_fn: PyObjectRef,
        body_fn: PyObjectRef,
        carried: PyTupleRef,
        together: PyObjectRef,
        vm: &VirtualMachine,
    ) -> PyResult {
        control_flow::while_loop(&recorded(vm)?, [&cond_fn, &body_fn], carried.as_slice(), &together, vm)
    }

    /// `map` of what is recorded.
    #[pyfunction]
    fn _map(function: PyObjectRef, rows: PyTupleRef, others: PyTupleRef, together: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        control_flow::map(&recorded(vm)?, &function, rows.as_slice(), others.as_slice(), &together, vm)
    }

    /// `scan` of what is recorded.
    #[pyfunction]
    fn _scan(function: PyObjectRef, first: PyTupleRef, rows: PyTupleRef, together: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        control_flow::scan(&recorded(vm)?, &function, first.as_slice(), rows.as_slice(), &together, vm)
    }

    fn recorded(vm: &VirtualMachine) -> PyResult<Rc<crate::capture::Recorder>> {
        call::recorder().ok_or_else(|| vm.new_runtime_error("nothing is recorded"))
    }

    #[pyfunction]
    fn _reset() {
        session::reset();
        super::super::bundle::reset();
    }

    /// A function compiled by AOTAutograd alone.
    #[pyattr]
    #[pyclass(module = "torch._functorch.aot_autograd", name = "CompiledFunction")]
    #[derive(PyPayload)]
    struct PyAot(aot::Compiled, Attributes);

    impl std::fmt::Debug for PyAot {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("CompiledFunction")
        }
    }

    impl Callable for PyAot {
        type Args = FuncArgs;
        fn call(zelf: &Py<Self>, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
            let mut inputs: Vec<Value> =
                args.args.iter().filter_map(|o| to_value(o, vm)).filter(|v| matches!(v, Value::Tensor(_) | Value::Int(_))).collect();
            graph_module::with_attributes(&zelf.1, &mut inputs, |t| Value::Tensor(t.clone()));
            let inputs = backend::as_tensors(inputs).map_err(|e| raise(e, vm))?;
            let out = zelf.0.call(inputs).map_err(|e| raise(e, vm))?;
            let items = out.into_iter().map(|v| from_value(v, vm)).collect::<PyResult<Vec<_>>>()?;
            Ok(vm.ctx.new_list(items).into())
        }
    }

    #[pyclass(with(Callable))]
    impl PyAot {}

    fn option(args: &FuncArgs, name: &str, vm: &VirtualMachine) -> Option<PyObjectRef> {
        args.kwargs.get(name).filter(|o| !vm.is_none(o)).cloned()
    }

    /// A Python function of tensors that gives a list, or a captured graph, and what is known of its inputs.
    fn traced_function(function: PyObjectRef, inputs: &PyObjectRef, vm: &VirtualMachine) -> PyResult<(aot::Function, Vec<InputSpec>)> {
        let inputs: Vec<PyObjectRef> = inputs.try_to_value(vm)?;
        let mut specs = inputs
            .iter()
            .map(|o| {
                if let Some(Value::Int(size @ crate::shape::SymInt::Sym(..))) = to_value(o, vm) {
                    return Ok(InputSpec::of_symbol(&size));
                }
                let t = to_tensor(o).ok_or_else(|| vm.new_type_error("AOTAutograd's inputs must be tensors"))?;
                InputSpec::of(&super::twin(&t).unwrap_or(t)).map_err(|e| raise(e, vm))
            })
            .collect::<PyResult<Vec<_>>>()?;
        let module = graph_module::native(&function, vm);
        if let Some(module) = &module {
            for (position, t) in module.attributes.iter() {
                specs.insert((*position).min(specs.len()), InputSpec::of(t).map_err(|e| raise(e, vm))?);
            }
        }
        let f: aot::Function = match module {
            // A captured graph is replayed with the lines it came from.
            Some(module) => {
                let (graph, specs) = (module.graph.clone(), specs.clone());
                Rc::new(move |inputs: &[Tensor]| {
                    let mut inputs = specs.iter().zip(inputs).map(|(spec, t)| spec.argument(t)).collect();
                    aot::interpret::replay_graph(&graph.borrow(), &mut inputs)
                })
            }
            None => Rc::new(move |inputs: &[Tensor]| {
                rustpython_vm::vm::thread::with_current_vm(|vm| {
                    let args = inputs.iter().map(|t| wrap(t, vm)).collect::<PyResult<Vec<_>>>().map_err(raised)?;
                    let out = function.call(FuncArgs::from(args), vm).map_err(raised)?;
                    match to_value(&out, vm) {
                        Some(Value::List(items)) => Ok(items),
                        Some(single) => Ok(vec![single]),
                        None => Err(crate::error::Error::type_error("a traced function returns tensors and numbers")),
                    }
                })
            }),
        };
        Ok((f, specs))
    }

    /// `_aot_compile(flat_function, inputs, fw_compiler=, bw_compiler=, inference_compiler=, partition_fn=, keep_inference_input_mutations=)`:
    /// `flat_function` takes tensors and returns a list; with `dynamic`, all its sizes are symbols; compilers default to running
    /// graphs as they are.
    #[pyfunction]
    fn _aot_compile(args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let (Some(function), Some(inputs)) = (args.args.first().cloned(), args.args.get(1)) else {
            return Err(vm.new_type_error("_aot_compile() takes a function and its inputs"));
        };
        let attributes = graph_module::native(&function, vm).map(|m| m.attributes.clone()).unwrap_or_default();
        let (f, mut specs) = traced_function(function, inputs, vm)?;
        if option(&args, "dynamic", vm).is_some_and(|o| o.is(&vm.ctx.true_value)) {
            let inputs = super::super::make_fx::values_of(&inputs.try_to_value::<Vec<PyObjectRef>>(vm)?, vm)?;
            let twins = super::super::make_fx::fake_inputs(inputs, "__meta_utils_unknown_tensor", true).map_err(|e| raise(e, vm))?;
            for (spec, twin) in specs.iter_mut().zip(twins.iter().filter_map(Value::as_tensor)) {
                spec.spec = twin.spec();
            }
        }
        let partition_fn = option(&args, "partition_fn", vm);
        let named = partition_fn
            .as_ref()
            .and_then(|o| o.downcast_ref::<rustpython_vm::builtins::PyStr>().map(|s| s.to_string_lossy().into_owned()));
        let partitioner = if named.as_deref() == Some("min_cut") { Partitioner::MinCut } else { Partitioner::Default };
        let keep = option(&args, "keep_inference_input_mutations", vm).is_some_and(|o| o.is(&vm.ctx.true_value));
        let region = super::REGION.with_borrow(|region| region.as_ref().map(|(number, _)| *number));
        let mut config = backend::config(&backend::Pipeline::plain(partitioner), keep, region);
        if let (None, Some(split)) = (&named, partition_fn) {
            config.partition_fn = Some(Rc::new(move |joint, num_fwd_outputs, static_inputs| {
                rustpython_vm::vm::thread::with_current_vm(|vm| {
                    let module = graph_module::script_module(PyGraphModule::new(joint.clone()), vm).map_err(raised)?;
                    let static_inputs = static_inputs.iter().map(|i| PyObjectRef::from(vm.ctx.new_int(*i))).collect();
                    let keywords: rustpython_vm::function::KwArgs = [
                        ("num_fwd_outputs".to_owned(), PyObjectRef::from(vm.ctx.new_int(num_fwd_outputs))),
                        ("static_lifetime_input_indices".to_owned(), vm.ctx.new_list(static_inputs).into()),
                    ]
                    .into_iter()
                    .collect();
                    let inputs = super::super::settings::joint_inputs(joint, vm)?;
                    super::LAST_PARTITION.take();
                    let pair = split.call(FuncArgs::new(vec![module, inputs], keywords), vm).map_err(raised)?;
                    let pair: Vec<PyObjectRef> = pair.try_to_value(vm).map_err(raised)?;
                    let decided = super::LAST_PARTITION.take();
                    let parts: Vec<_> = pair.iter().filter_map(|o| graph_module::native(o, vm)).collect();
                    match parts.as_slice() {
                        [f, b] => Ok((f.graph.borrow().clone(), b.graph.borrow().clone(), decided)),
                        _ => Err(crate::error::Error::type_error(
                            "partition_fn must return two GraphModules as PyTorch's partitioners made them; edited ones are not supported in the playground",
                        )),
                    }
                })
            }));
        }
        if let Some(table) = option(&args, "decompositions", vm) {
            let table = table.downcast().map_err(|_| vm.new_type_error("decompositions must be a dict"))?;
            config.script_decompositions = Some(super::super::make_fx::decompose_by(&table, vm)?);
        }
        // A compiler of the script's own gets PyTorch's graphs as they are.
        config.replay_random = option(&args, "fw_compiler", vm).is_none() && option(&args, "bw_compiler", vm).is_none();
        if let Some(c) = option(&args, "fw_compiler", vm) {
            config.fw_compiler = super::python_compiler(c.clone());
            config.bw_compiler = super::python_compiler(c.clone());
            config.inference_compiler = super::python_compiler(c);
        }
        if let Some(c) = option(&args, "bw_compiler", vm) {
            config.bw_compiler = super::python_compiler(c);
        }
        if let Some(c) = option(&args, "inference_compiler", vm) {
            config.inference_compiler = super::python_compiler(c);
        }
        let compiled = aot::compile(&f, &specs, &config).map_err(|e| raise(e, vm))?;
        Ok(PyAot(compiled, attributes).into_pyobject(vm))
    }

    /// `_make_fx(flat_function, names, inputs, class_name, mode, table, pre_dispatch)`: what the function calls, as a graph.
    #[pyfunction]
    #[allow(clippy::too_many_arguments, reason = "Python's side gives them one by one")]
    fn _make_fx(
        function: PyObjectRef,
        names: Vec<String>,
        inputs: Vec<PyObjectRef>,
        class_name: PyStrRef,
        mode: PyStrRef,
        table: Option<rustpython_vm::builtins::PyDictRef>,
        pre_dispatch: bool,
        vm: &VirtualMachine,
    ) -> PyResult {
        let class_name = class_name.to_string_lossy().into_owned();
        super::super::make_fx::trace(function, names, inputs, class_name, &mode.to_string_lossy(), table, pre_dispatch, vm)
    }

    /// `_export(flat_function, names, inputs, state, symbols)`: the graph of what is called, and the constants it reads.
    #[pyfunction]
    fn _export(
        function: PyObjectRef,
        names: Vec<String>,
        inputs: Vec<PyObjectRef>,
        state: usize,
        symbols: PyObjectRef,
        vm: &VirtualMachine,
    ) -> PyResult {
        let env = crate::python::native::tensor::environment_of(&symbols)
            .ok_or_else(|| vm.new_type_error("_export() takes an environment of symbols"))?;
        super::super::export::called(function, &names, &inputs, state, env, vm)
    }

    /// `_exported_functional(graph, inputs, rules, apart)`: the graph functionalized, and of each input whether it is written to.
    #[pyfunction]
    fn _exported_functional(
        function: PyObjectRef,
        inputs: PyObjectRef,
        rules: rustpython_vm::builtins::PyDictRef,
        apart: Vec<String>,
        vm: &VirtualMachine,
    ) -> PyResult {
        let (f, specs) = traced_function(function, &inputs, vm)?;
        super::super::export::functionalized(&f, &specs, rules, apart, vm)
    }

    /// Names of operators that exported programs may keep, though they are composed of others.
    #[pyfunction]
    fn _may_stay_whole(vm: &VirtualMachine) -> PyObjectRef {
        let names = super::super::export::may_stay_whole();
        vm.ctx.new_list(names.into_iter().map(|name| vm.ctx.new_str(name).into()).collect()).into()
    }

    /// `_functionalize(flat_function, inputs, copies_views)`: what the function gives, its writes made functional.
    #[pyfunction]
    fn _functionalize(function: PyObjectRef, inputs: Vec<PyObjectRef>, copies_views: bool, vm: &VirtualMachine) -> PyResult {
        super::super::make_fx::functionalize(function, &inputs, copies_views, vm)
    }

    /// `_decomposed(overload, *args, **kwargs)`: what the call comes to by Inductor's table, or `NotImplemented`.
    #[pyfunction]
    fn _decomposed(mut args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let operator = args.take_positional().ok_or_else(|| vm.new_type_error("_decomposed() takes an operator"))?;
        super::super::make_fx::decomposed(&operator, args, vm)
    }

    /// Overloads that Inductor's table has rules for.
    #[pyfunction]
    fn _decomposition_names(vm: &VirtualMachine) -> PyObjectRef {
        let names = crate::decompositions::inductor_with_eager_random().names();
        vm.ctx.new_list(names.into_iter().map(|name| vm.ctx.new_str(name).into()).collect()).into()
    }

    /// `_aot_export(flat_function, inputs, "inference" | "joint" | "loss", table)`: the graph, operators taken apart by the table; of
    /// each input whether it is mutated; of each output what it aliases, whether it requires grad, and its sizes.
    #[pyfunction]
    fn _aot_export(
        function: PyObjectRef,
        inputs: PyObjectRef,
        kind: PyStrRef,
        table: Option<rustpython_vm::builtins::PyDictRef>,
        vm: &VirtualMachine,
    ) -> PyResult {
        use crate::aot::export::{Exported, export};
        let kind = match &*kind.to_string_lossy() {
            "inference" => Exported::Inference,
            "joint" => Exported::Joint,
            _ => Exported::OfLoss,
        };
        let (f, specs) = traced_function(function, &inputs, vm)?;
        let mut config = backend::config(&backend::Pipeline::plain(Partitioner::Default), false, None);
        config.script_decompositions = table.map(|table| super::super::make_fx::decompose_by(&table, vm)).transpose()?;
        let (graph, metadata) = export(&f, &specs, &config, kind).map_err(|e| raise(e, vm))?;
        let module = graph_module::script_module(PyGraphModule::new((*graph).clone()), vm)?;
        let flag = |b: bool| PyObjectRef::from(vm.ctx.new_bool(b));
        let mutated = metadata.input_info.iter().map(|i| flag(i.mutates_data || i.mutates_metadata)).collect();
        let outputs = metadata.output_info.iter().map(|o| {
            let sizes = o.spec.iter().flat_map(|s| &s.geometry.sizes).map(|size| from_value(Value::Int(size.clone()), vm));
            let sizes = vm.ctx.new_tuple(sizes.collect::<PyResult<Vec<_>>>()?);
            Ok(vm.ctx.new_tuple(vec![vm.ctx.new_str(o.output_type.name()).into(), flag(o.requires_grad), sizes.into()]).into())
        });
        let outputs = outputs.collect::<PyResult<Vec<_>>>()?;
        Ok(vm.ctx.new_tuple(vec![module, vm.ctx.new_list(mutated).into(), vm.ctx.new_list(outputs).into()]).into())
    }

    /// `_annotate(shown, memory_budget)`: annotates the calls recorded from now on; `_annotate(None, None)` ends that.
    #[pyfunction]
    fn _annotate(shown: Option<PyStrRef>, memory_budget: Option<f64>) {
        let shown = shown.map(|s| s.to_string_lossy().into_owned());
        crate::capture::set_annotation(shown.map(|shown| crate::graph::Annotation { shown, memory_budget }));
    }

    /// How many values the frame so many calls above is unpacking into, or None.
    #[pyfunction]
    fn _unpacked_count(depth: usize) -> Option<u32> {
        super::super::frames::unpacked_count(depth)
    }

    /// `_partition(joint, num_fwd_outputs, "default" | "min_cut", static_inputs)`: two graph modules.
    #[pyfunction]
    fn _partition(joint: PyObjectRef, num_fwd_outputs: usize, name: PyStrRef, static_inputs: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let static_inputs: Vec<usize> = static_inputs.try_to_value(vm)?;
        let module = graph_module::native(&joint, vm).ok_or_else(|| {
            vm.new_type_error("a partitioner takes the joint GraphModule as it was traced; edited ones are not supported in the playground")
        })?;
        let partitioner = if &*name.to_string_lossy() == "min_cut" { Partitioner::MinCut } else { Partitioner::Default };
        let config = PartitionConfig { static_inputs, ..super::super::settings::partition(partitioner) };
        let split = crate::partition::partition(&module.graph.borrow(), num_fwd_outputs, &config).map_err(|e| raise(e, vm))?;
        super::LAST_PARTITION.set(Some(split.report));
        let parts = [split.forward, split.backward].map(|part| graph_module::script_module(PyGraphModule::new(part), vm));
        let parts = parts.into_iter().collect::<PyResult<Vec<_>>>()?;
        Ok(vm.ctx.new_tuple(parts).into())
    }
}
