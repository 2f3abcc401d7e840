//! Native functions behind `torch.compile`.

pub(crate) use native::module_def;

#[pymodule(name = "torch._native_compile")]
mod native {
    use std::rc::Rc;

    use rustpython_vm::builtins::{PyDictRef, PyStrRef, PyTupleRef, PyTypeRef};
    use rustpython_vm::function::ArgSequence;
    use rustpython_vm::{AsObject, Py, PyObjectRef, PyPayload, PyResult, VirtualMachine};

    use crate::dynamo::backends::Backend;
    use crate::dynamo::cache::compiled_function::{self, Asked, CompiledFunction};
    use crate::dynamo::eval_frame;
    use crate::dynamo::eval_frame::call;
    use crate::dynamo::graph_breaks::kinds;
    use crate::dynamo::guards::explain;
    use crate::dynamo::source::Source;
    use crate::dynamo::variables::control_flow;
    use crate::dynamo::variables::flex_attention::{Given, flex_attention};
    use crate::python::native::graph_module::{self};

    use crate::dispatch::{Modes, Value, modes, set_modes};
    use crate::dynamo::{Unsupported, constraints};

    use crate::python::native::calls::func_args;
    use crate::python::native::tensor::{raise, to_tensor, to_value};

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
        fn holds(zelf: &Py<Self>, entry: usize, variables: PyDictRef, vm: &VirtualMachine) -> Option<bool> {
            zelf.0.cache.borrow().entry(0, entry)?;
            let variable = |(k, v): (PyObjectRef, PyObjectRef)| {
                let name = k.downcast_ref::<rustpython_vm::builtins::PyStr>()?.to_string_lossy().as_ref().into();
                Some((name, v))
            };
            let locals = (&variables).into_iter().filter_map(variable).collect();
            Some(crate::dynamo::cache::found_inputs::holds(&zelf.0, 0, entry, &locals, vm))
        }
        #[pymethod]
        fn is_empty(zelf: &Py<Self>) -> bool {
            zelf.0.cache.borrow().is_empty()
        }
    }

    /// The state of a code compiled with `torch.compile(f, backend=..., dynamic=...)`, with these settings and this filter of guards.
    #[pyfunction]
    fn _compiled_state(
        code: PyObjectRef,
        backend: PyObjectRef,
        dynamic: Option<bool>,
        settings: PyObjectRef,
        guard_filter: Option<PyObjectRef>,
        vm: &VirtualMachine,
    ) -> PyState {
        let backend = match backend.downcast_ref::<rustpython_vm::builtins::PyStr>() {
            Some(name) => Backend::Named(name.to_string_lossy().into_owned()),
            None => Backend::Custom(backend),
        };
        PyState(compiled_function::function_of(&code, &Asked { backend, dynamic, settings, guard_filter }, vm))
    }

    /// The states of a code.
    #[pyfunction]
    fn _states_of(code: PyObjectRef, vm: &VirtualMachine) -> PyObjectRef {
        let states = compiled_function::functions_of(&code).into_iter().map(|f| PyState(f).into_pyobject(vm)).collect();
        vm.ctx.new_list(states).into()
    }

    /// Forgets what was compiled.
    #[pyfunction]
    fn _forget() {
        compiled_function::forget();
    }

    fn compiled_state(state: &PyObjectRef, vm: &VirtualMachine) -> PyResult<Rc<CompiledFunction>> {
        let state = state.downcast_ref::<PyState>().ok_or_else(|| vm.new_type_error("expected a CompiledState"))?;
        Ok(state.0.clone())
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
        args: PyTupleRef,
        kwargs: PyDictRef,
        vm: &VirtualMachine,
    ) -> PyResult {
        let state = compiled_state(&state, vm)?;
        let args = func_args(&args, &kwargs);
        eval_frame::call(&state, fullgraph, &function, name.to_string_lossy().into_owned(), namer, args, vm)
    }

    /// Whether a tracer meets what is called now: operators that take functions are captured for it.
    #[pyfunction]
    fn _is_in_trace(vm: &VirtualMachine) -> bool {
        eval_frame::within_trace::is_traced(vm)
    }

    /// `_call_within_trace(state, function, name, namer, args)`: captures what a function calls for the tracer at work.
    #[pyfunction]
    fn _call_within_trace(
        state: PyObjectRef,
        function: PyObjectRef,
        name: PyStrRef,
        namer: PyObjectRef,
        args: PyTupleRef,
        kwargs: PyDictRef,
        vm: &VirtualMachine,
    ) -> PyResult {
        let state = compiled_state(&state, vm)?;
        let args = func_args(&args, &kwargs);
        eval_frame::within_trace::call(&state, &function, name.to_string_lossy().into_owned(), namer, args, vm)
    }

    /// `_call_overridable(public, implementation, args, kwargs)`
    #[pyfunction]
    fn _call_overridable(
        public: PyObjectRef,
        implementation: PyObjectRef,
        args: PyTupleRef,
        kwargs: PyDictRef,
        vm: &VirtualMachine,
    ) -> PyResult {
        crate::dynamo::variables::torch::call_overridable(&public, &implementation, &func_args(&args, &kwargs), vm)
    }

    /// `_call_as_one(public, implementation, args, kwargs)`
    #[pyfunction]
    fn _call_as_one(
        public: PyObjectRef,
        implementation: PyObjectRef,
        args: PyTupleRef,
        kwargs: PyDictRef,
        vm: &VirtualMachine,
    ) -> PyResult {
        crate::dynamo::variables::torch::call_as_one(&public, &implementation, &func_args(&args, &kwargs), vm)
    }

    /// The number that one of numpy's scalars, given as the tensor that a graph has of it, is in this call, on which the graph is guarded.
    #[pyfunction]
    fn _guard_on_number(t: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        let Some((recorder, t)) = call::recorder().zip(crate::python::native::tensor::to_tensor(&t)) else { return Ok(()) };
        recorder.number_of_numpy(&t).map(drop).map_err(|e| raise(e, vm))
    }

    /// `_call_of_numpy(name, implementation, args, kwargs)`: a call of numpy's, which counts as one of Dynamo's wrapper of that name.
    #[pyfunction]
    fn _call_of_numpy(name: PyStrRef, implementation: PyObjectRef, args: PyTupleRef, kwargs: PyDictRef, vm: &VirtualMachine) -> PyResult {
        crate::dynamo::variables::torch::call_of_numpy(&name.to_string_lossy(), &implementation, &func_args(&args, &kwargs), vm)
    }

    /// Breaks the graph before a backward, which is one of its own.
    #[pyfunction]
    fn _end_for_backward(vm: &VirtualMachine) -> PyResult<()> {
        match call::recorder().is_some_and(|r| !r.is_empty()) {
            true => call::break_graph(&crate::dynamo::graph_breaks::unsupported::Unsupported::backward()).map_err(|e| raise(e, vm)),
            false => Ok(()),
        }
    }

    /// Calls something that no compiled function that is called at the moment has to do with.
    #[pyfunction]
    fn _outside_of_calls(function: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        call::outside(|| function.call((), vm))
    }

    #[pyfunction]
    fn _is_compiling() -> bool {
        call::capturing()
    }

    /// Whether what is being recorded is compiled, and does not run as it is after all.
    #[pyfunction]
    fn _is_compiled(vm: &VirtualMachine) -> bool {
        call::is_compiled(vm)
    }

    /// Whether calls are being recorded right now.
    #[pyfunction]
    fn _is_capturing() -> bool {
        call::recorder().is_some()
    }

    /// Whether a function runs that is one call of the captured graph.
    #[pyfunction]
    fn _is_in_call() -> bool {
        call::recorder().is_some_and(|recorder| recorder.is_in_call())
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

    /// Whether guards of a cache entry pass in the frame that is being captured.
    #[pyfunction]
    fn _serves_again(vm: &VirtualMachine) -> bool {
        call::serves_again(vm)
    }

    /// The constant result of a call, in a tuple, where an entry of the cache has it.
    #[pyfunction]
    fn _constant_result(call: String, vm: &VirtualMachine) -> PyObjectRef {
        call::constant_result(&call, vm).map_or_else(|| vm.ctx.none(), |result| vm.new_tuple((result,)).into())
    }

    /// Keeps the constant result of a call for the entry of the cache that is made, or whose guards pass.
    #[pyfunction]
    fn _keep_constant_result(call: String, result: PyObjectRef, vm: &VirtualMachine) {
        call::keep_constant_result(&call, result, vm);
    }

    /// A module with hooks is called with these: Dynamo asks of each whether it is a constant, and realizes the first that is none.
    #[pyfunction]
    fn _read_first(args: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        match crate::dynamo::variables::nn_module::first_value(&args).as_ref().and_then(|first| to_tensor(first)) {
            Some(t) if call::capturing() && !crate::dynamo::variables::nn_module::is_root_call(vm) => {
                call::touch_around(&t).map_err(|e| raise(e, vm))
            }
            _ => Ok(()),
        }
    }

    /// A module is called; whether that is noted, so that `_leave_module` has to follow.
    #[pyfunction]
    fn _enter_module(module: PyObjectRef, vm: &VirtualMachine) -> bool {
        let noted = call::capturing() || crate::aot::trace::current_tracer().is_some();
        if noted {
            crate::dynamo::variables::nn_module::enter(module, vm);
        } else if call::is_called() {
            crate::dynamo::variables::nn_module::enter_outside(&module, vm);
        }
        noted
    }

    /// What numbers the calls of modules while a program is exported; `None` where none is.
    #[pyfunction]
    fn _number_module_calls(by: Option<PyObjectRef>) {
        crate::dynamo::variables::nn_module::number_calls(by);
    }

    /// What the call of a module gives: where its `forward` was recorded on its own, that returned it.
    #[pyfunction]
    fn _gives(result: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        call::note_result(&result, vm).map_err(|e| raise(e, vm))?;
        Ok(result)
    }

    #[pyfunction]
    fn _leave_module() {
        crate::dynamo::variables::nn_module::leave();
    }

    #[pyfunction]
    fn _graph_break(kind: PyStrRef, args: rustpython_vm::function::PosArgs<Option<String>>, vm: &VirtualMachine) -> PyResult<()> {
        let kind = kind.to_string_lossy();
        let reason = kinds::reason(&kind, &args.into_vec());
        let reason = reason.ok_or_else(|| vm.new_runtime_error(format!("there is no kind of graph break called {kind}")))?;
        call::break_graph(&reason).map_err(|e| raise(e, vm))
    }

    /// `_break_at_rnn(weight)`: a recurrent module, known by one of its weights, is called.
    #[pyfunction]
    fn _break_at_rnn(weight: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        let Some(recorder) = call::recorder() else { return Ok(()) };
        let weight = to_tensor(&weight).ok_or_else(|| vm.new_type_error("a weight is a tensor"))?;
        let place = (recorder.input_name)(&weight, 0).source;
        let source = place.rsplit_once("._parameters[").and_then(|(owner, _)| Source::parse(owner, Some(&vm.ctx.new_dict()), vm));
        let (text, shown) = source.map_or_else(Default::default, |s| (s.text(vm), s.shown(vm)));
        call::break_graph(&Unsupported::rnn(&text, &shown)).map_err(|e| raise(e, vm))
    }

    /// `_leave(kind, ...)`: the function that says this is left to Python. The graph of a script's function that calls it ends before.
    #[pyfunction]
    fn _leave(kind: PyStrRef, args: rustpython_vm::function::PosArgs<Option<String>>, vm: &VirtualMachine) -> PyResult<()> {
        if crate::dynamo::tracing::is_called_by_script(1) { _graph_break(kind, args, vm) } else { Ok(()) }
    }

    /// `_leave_value(tensor, kind, method)`: a method that gives no tensor is left to Python where the graph computes its tensor.
    #[pyfunction]
    fn _leave_value(tensor: PyObjectRef, kind: PyStrRef, method: PyStrRef, vm: &VirtualMachine) -> PyResult<()> {
        let (kind, method) = (kind.to_string_lossy(), method.to_string_lossy());
        to_tensor(&tensor).map_or(Ok(()), |t| crate::dynamo::tracing::leave_value(&t, 1, &kind, &method, vm))
    }

    /// `_break_at_grad(inputs)`: gradients of these are asked for.
    #[pyfunction]
    fn _break_at_grad(inputs: Vec<PyObjectRef>, vm: &VirtualMachine) -> PyResult<()> {
        let Some(recorder) = call::recorder() else { return Ok(()) };
        let is_result = |t: &crate::tensor::Tensor| recorder.is_traced(t) && crate::autograd::meta::requires_grad(t);
        let of_intermediate = inputs.iter().filter_map(|o| to_tensor(o)).any(|t| is_result(&t));
        call::break_graph(&Unsupported::grad(of_intermediate)).map_err(|e| raise(e, vm))
    }

    /// Functions that have returned have their graphs end and run now, not when the next operator is called: what they run under changes.
    #[pyfunction]
    fn _end_returned(vm: &VirtualMachine) -> PyResult<()> {
        let (Some(call), Some(recorder)) = (call::current(), call::recorder()) else { return Ok(()) };
        call.look_around(&recorder).map_err(|e| raise(e, vm))
    }

    /// A `while_loop` that is differentiated is not captured where graphs hold no numbers of tensors.
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
        drop(crate::dynamo::variables::autograd_function::Suspended::make_static_type());
        crate::dynamo::variables::autograd_function::Suspended::new().into_pyobject(vm)
    }

    /// A context manager: the function that is captured waits, functions called inside are compiled on their own, but for the first
    /// so many.
    #[pyfunction]
    fn _skipped(frames: rustpython_vm::function::OptionalArg<usize>, vm: &VirtualMachine) -> PyObjectRef {
        use rustpython_vm::class::PyClassImpl;
        drop(crate::dynamo::eval_frame::skipped::Skipped::make_static_type());
        crate::dynamo::eval_frame::skipped::Skipped::new(frames.unwrap_or(0)).into_pyobject(vm)
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

    /// A parameter is about to be made of a tensor: where a graph computes that, it ends.
    #[pyfunction]
    fn _before_parameter(data: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        let Some(t) = to_tensor(&data) else { return Ok(()) };
        crate::dynamo::tracing::graph_break_of(&t, &Unsupported::parameter()).map_err(|e| raise(e, vm))
    }

    /// A module's buffer or attribute is set to the tensor that it is: where a call gave that again, it is a value that the graph returns.
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
                    vm.ctx.new_tuple(vec![text(&p.file), vm.ctx.new_int(p.line()).into(), text(&p.function), text(&p.code)]).into()
                },
            );
            vm.ctx.new_tuple(vec![vm.ctx.new_str(reason).into(), place]).into()
        };
        vm.ctx.new_list(compiled_function::breaks().into_iter().map(one).collect()).into()
    }

    /// Begins to keep the guards of entries that are made, or ends; gives those that were kept: what each asks, the name of its value, its
    /// scope, kinds and texts.
    #[pyfunction]
    fn _keep_guards(keeps: bool, vm: &VirtualMachine) -> PyObjectRef {
        let text = |s: &str| -> PyObjectRef { vm.ctx.new_str(s).into() };
        let one = |guard: explain::Told| -> PyObjectRef {
            let kinds = vm.ctx.new_list(guard.kinds.iter().map(|s| text(s)).collect()).into();
            let texts = vm.ctx.new_list(guard.texts.iter().map(|s| text(s)).collect()).into();
            vm.ctx.new_tuple(vec![text(guard.asks), text(&guard.name), text(&guard.scope), kinds, texts]).into()
        };
        vm.ctx.new_list(explain::keep(keeps).into_iter().map(one).collect()).into()
    }

    /// That a dimension that was to vary is a number.
    #[pyfunction]
    fn _specialized(name: PyStrRef, number: i64) -> String {
        constraints::specialized(&name.to_string_lossy(), number)
    }

    /// That a dimension, found at a place, does not take all values between `least` and `most`: only those from `lower` to `upper`.
    #[pyfunction]
    fn _unsatisfied(name: PyStrRef, place: PyStrRef, least: Option<i64>, most: Option<i64>, condition: PyStrRef) -> String {
        constraints::unsatisfied(&name.to_string_lossy(), &place.to_string_lossy(), (least, most), &condition.to_string_lossy())
    }

    /// The bounds of what is found at a place, as a condition.
    #[pyfunction]
    fn _within(place: PyStrRef, lower: i64, upper: Option<i64>) -> String {
        constraints::within(&place.to_string_lossy(), lower, upper)
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
        vm.ctx.new_list(compiled_function::compile_times().into_iter().map(|s| vm.ctx.new_float(s).into()).collect()).into()
    }

    /// Whether the graph that is compiled ended where capture stopped.
    #[pyfunction]
    fn _ends_in_break() -> bool {
        compiled_function::ends_in_break()
    }

    /// Whether a break is an error; gives what was said before.
    #[pyfunction]
    fn _set_error_on_graph_break(value: Option<bool>) -> Option<bool> {
        compiled_function::set_breaks_are_errors(value)
    }

    /// Tensors that the function that is captured returns first.
    #[pyfunction]
    fn _return_first(values: rustpython_vm::function::PosArgs) {
        if let Some(recorder) = call::recorder() {
            recorder.first_outputs.borrow_mut().extend(values.iter().filter_map(|o| to_tensor(o)).map(|t| t.id()));
        }
    }

    /// `_transformed(transform, args, kwargs)`: calls a transform of `torch.func` as a part of what is captured.
    #[pyfunction]
    fn _transformed(transform: PyObjectRef, args: PyTupleRef, kwargs: PyDictRef, vm: &VirtualMachine) -> PyResult {
        let args = func_args(&args, &kwargs);
        match call::recorder() {
            Some(recorder) => crate::dynamo::variables::transforms::call(&recorder, &transform, args, vm),
            None => transform.call(args, vm),
        }
    }

    /// What the call that ended a graph returned.
    #[pyfunction]
    fn _returned(result: PyObjectRef, vm: &VirtualMachine) -> PyObjectRef {
        call::note_returned(&result, vm);
        result
    }

    /// A block begins that sets the grad `mode`, which was `before`; without those it ends.
    #[pyfunction]
    fn _grad_block(block: PyObjectRef, before: Option<bool>, mode: rustpython_vm::function::OptionalArg<bool>) {
        call::note_grad_block(block.get_id(), before.zip(mode.into_option()));
    }

    /// How compiled functions are called; gives what was said before.
    #[pyfunction]
    fn _set_stance(stance: PyStrRef) -> String {
        compiled_function::set_stance(stance.to_string_lossy().into_owned())
    }

    /// How compiled functions are called.
    #[pyfunction]
    fn _stance() -> String {
        compiled_function::stance().to_owned()
    }

    /// `_announce_inputs(tensors, holders, tape)`: what the next compiled call has as inputs, whether it reads it or not, and the tape
    /// whose backward it is.
    #[pyfunction]
    fn _announce_inputs(tensors: Vec<PyObjectRef>, holders: Vec<PyObjectRef>, tape: Option<u32>) {
        let all = |objects: Vec<PyObjectRef>| objects.iter().filter_map(|o| to_tensor(o)).collect();
        eval_frame::announce_inputs(all(tensors), all(holders), tape);
    }

    /// Settings of the program that compiled code depends on.
    #[pyfunction]
    fn _set_state(deterministic: bool, warn_only: bool, threads: u32) {
        crate::dynamo::guards::global_state::set_state(deterministic, warn_only, threads);
    }

    /// `Function.apply(*args)`
    #[pyfunction]
    fn _function_apply(cls: PyObjectRef, args: PyTupleRef, vm: &VirtualMachine) -> PyResult {
        crate::dynamo::variables::autograd_function::apply(&cls, args.as_slice().to_vec(), vm)
    }

    /// The same in a level of a transform.
    #[pyfunction]
    fn _function_apply_in_level(cls: PyObjectRef, args: PyTupleRef, vm: &VirtualMachine) -> PyResult {
        crate::dynamo::variables::autograd_function::apply_in_level(&cls, args.as_slice().to_vec(), vm)
    }

    /// Whether a function was made in the function that is captured.
    #[pyfunction]
    fn _is_made_inside(function: PyObjectRef, vm: &VirtualMachine) -> bool {
        let Ok(code) = function.get_attr("__code__", vm) else { return false };
        let makes = |frame: &rustpython_vm::Py<rustpython_vm::builtins::PyCode>| {
            frame.constants.iter().any(|constant| PyObjectRef::from(constant.clone()).is(&code))
        };
        call::frames().iter().any(|(frame, _)| makes(frame))
    }

    /// Raises what Dynamo says of a function that an operator takes, if that changes what is outside of it.
    #[pyfunction]
    fn _refuse_side_effects(operator: PyStrRef, function: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        let Some(reason) = crate::dynamo::symbolic_convert::side_effect(&function, &[], vm) else { return Ok(()) };
        let said = reason.in_operator(&operator.to_string_lossy()).text();
        let place = crate::dynamo::from_user_code(crate::span::current_source().as_ref());
        let uncaptured = crate::python::native::calls::imported("torch._higher_order_ops._flat", vm)?.get_attr("uncaptured", vm)?;
        uncaptured.call((format!("{said}{place}"),), vm).map(drop)
    }

    /// Calls a function as a checkpointed body of what is recorded; as it is where nothing is. Where the graph broke before the call, that is
    /// made otherwise.
    #[pyfunction]
    fn _checkpoint(
        function: PyObjectRef,
        args: PyTupleRef,
        kwargs: PyDictRef,
        context_fn: Option<PyObjectRef>,
        use_reentrant: bool,
        otherwise: PyObjectRef,
        vm: &VirtualMachine,
    ) -> PyResult {
        let call = func_args(&args, &kwargs);
        match call::recorder() {
            Some(recorder) => {
                let done =
                    crate::dynamo::variables::higher_order_ops::checkpoint(&recorder, &function, call, context_fn, use_reentrant, vm)?;
                done.map_or_else(|| otherwise.call((), vm), Ok)
            }
            None => function.call(call, vm),
        }
    }

    /// Refuses what a loop's function gives where it does not look as what the loop began with.
    #[pyfunction]
    fn _check_carried(
        operator: PyStrRef,
        first: PyStrRef,
        second: PyStrRef,
        left: Vec<PyObjectRef>,
        right: Vec<PyObjectRef>,
        vm: &VirtualMachine,
    ) -> PyResult<()> {
        let (first, second) = (first.to_string_lossy(), second.to_string_lossy());
        crate::dynamo::variables::control_flow::check_leaves(&operator.to_string_lossy(), [&first, &second], &left, &right, vm)
    }

    /// Whether a `context_fn` was called for a body that was captured before.
    #[pyfunction]
    fn _knows_contexts(context_fn: PyObjectRef) -> bool {
        crate::dynamo::variables::higher_order_ops::contexts_number(&context_fn).is_some()
    }

    /// Keeps a `context_fn` that was called for the first time, with the policy that it gave.
    #[pyfunction]
    fn _keep_contexts(context_fn: PyObjectRef, policy: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        crate::dynamo::variables::higher_order_ops::keep_contexts(context_fn, policy, vm)
    }

    /// Calls a function that is marked to be compiled once.
    #[pyfunction]
    fn _region(function: PyObjectRef, args: PyTupleRef, kwargs: PyDictRef, vm: &VirtualMachine) -> PyResult {
        let call = func_args(&args, &kwargs);
        match call::recorder() {
            Some(recorder) => crate::dynamo::variables::invoke_subgraph::region(&recorder, &function, call, vm),
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

    /// `flex_attention` of what is recorded: the functions of leaves that change and mask a score, queries, keys and values, the mask by
    /// blocks without its function, the scale, and what kernels are told.
    #[pyfunction]
    fn _flex_attention(
        score: PyObjectRef,
        mask: PyObjectRef,
        tensors: PyTupleRef,
        blocks: PyTupleRef,
        scale: PyObjectRef,
        options: PyObjectRef,
        vm: &VirtualMachine,
    ) -> PyResult {
        let given = Given { tensors: tensors.as_slice(), blocks: blocks.as_slice(), scale: &scale, options: &options };
        flex_attention(&recorded(vm)?, [&score, &mask], &given, vm)
    }

    fn recorded(vm: &VirtualMachine) -> PyResult<Rc<crate::dynamo::output_graph::tracer::Recorder>> {
        call::recorder().ok_or_else(|| vm.new_runtime_error("nothing is recorded"))
    }

    #[pyfunction]
    fn _reset() {
        eval_frame::reset();
        crate::dynamo::backends::bundle::reset();
    }

    /// `_annotate(shown, memory_budget)`: annotates the calls recorded from now on; `_annotate(None, None)` ends that.
    #[pyfunction]
    fn _annotate(shown: Option<PyStrRef>, memory_budget: Option<f64>) {
        let shown = shown.map(|s| s.to_string_lossy().into_owned());
        crate::aot::trace::set_annotation(shown.map(|shown| crate::graph::Annotation { shown, memory_budget }));
    }

    /// Whether what the script calls while it is traced keeps its annotations; gives what was said before.
    #[pyfunction]
    fn _keep_annotations(keeps: bool) -> bool {
        crate::aot::trace::keep_annotations(keeps)
    }

    /// Whether a block of `preserve_node_meta` runs.
    #[pyfunction]
    fn _preserve_meta(preserves: bool) {
        crate::aot::trace::preserve_meta(preserves);
    }

    /// How many values the frame so many calls above is unpacking into, or None.
    #[pyfunction]
    fn _unpacked_count(depth: usize) -> Option<u32> {
        crate::dynamo::eval_frame::frames::unpacked_count(depth)
    }
}
