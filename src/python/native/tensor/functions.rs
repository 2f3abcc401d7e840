//! What `torch._C` offers as functions: the grad modes, backward, registering hooks, defaults, constructors.

pub(in crate::python::native) use module::module_def;

#[pymodule(name = "torch._native")]
mod module {
    use rustpython_vm::builtins::PyTypeRef;
    use rustpython_vm::class::PyClassImpl;
    use rustpython_vm::function::{FuncArgs, OptionalArg};
    use rustpython_vm::{PyObjectRef, PyPayload, PyRef, PyResult, VirtualMachine};

    use super::super::convert::{from_value, items, to_tensor, to_value};
    use super::super::errors::raise;
    use super::super::from_python::{holds_tensors, legacy_tensor, new_tensor};
    use super::super::hooks;
    use super::super::methods;
    use super::super::objects::{PyDtype, PyGenerator, PyNode};
    use super::super::packet::{self, Style};
    use super::super::payload::{TensorBase, set_tensor_class, wrap};
    use super::super::subclass::wrap_as;
    use super::super::torch_function::{WrittenIn, overridden};
    use crate::autograd::meta;
    use crate::dispatch::{Modes, Value, modes, set_modes};
    use crate::dynamo::Unsupported;
    use crate::dynamo::tracing::{Callee, as_written};
    use crate::error::Error;
    use crate::ops::shapes::{default_dtype, set_default_dtype};
    use crate::python::native::calls::imported;
    use crate::tensor::{Dtype, Layout, MemoryFormat, random};
    use crate::transforms::levels;

    #[pyattr(name = "TensorBase")]
    fn class_tensorbase(_vm: &VirtualMachine) -> PyTypeRef {
        TensorBase::make_static_type()
    }

    #[pyattr(name = "Node")]
    fn class_node(_vm: &VirtualMachine) -> PyTypeRef {
        super::super::objects::PyNode::make_static_type()
    }

    #[pyattr(name = "SavedTensor")]
    fn class_savedtensor(_vm: &VirtualMachine) -> PyTypeRef {
        super::super::saved_hooks::PySavedTensor::make_static_type()
    }

    #[pyattr(name = "SymNode")]
    fn class_symnode(_vm: &VirtualMachine) -> PyTypeRef {
        super::super::symint::PySymNode::make_static_type()
    }

    /// `_sym_op(name, a, b)`: arithmetic and comparison of symbolic sizes.
    #[pyfunction]
    fn _sym_op(name: rustpython_vm::builtins::PyStrRef, a: PyObjectRef, b: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        super::super::symint::operate(&name.to_string_lossy(), &a, &b, vm)
    }

    #[pyattr(name = "device")]
    fn class_device(_vm: &VirtualMachine) -> PyTypeRef {
        super::super::objects::PyDevice::make_static_type()
    }

    #[pyattr(name = "dtype")]
    fn class_dtype(_vm: &VirtualMachine) -> PyTypeRef {
        super::super::objects::PyDtype::make_static_type()
    }

    #[pyattr(name = "Generator")]
    fn class_generator(_vm: &VirtualMachine) -> PyTypeRef {
        super::super::objects::PyGenerator::make_static_type()
    }

    #[pyattr(name = "layout")]
    fn class_layout(_vm: &VirtualMachine) -> PyTypeRef {
        super::super::objects::PyLayout::make_static_type()
    }

    #[pyattr(name = "memory_format")]
    fn class_memory_format(_vm: &VirtualMachine) -> PyTypeRef {
        super::super::objects::PyMemoryFormat::make_static_type()
    }

    #[pyattr(name = "OpOverload")]
    fn class_opoverload(_vm: &VirtualMachine) -> PyTypeRef {
        super::super::packet::PyOverload::make_static_type()
    }

    #[pyattr(name = "OpOverloadPacket")]
    fn class_opoverloadpacket(_vm: &VirtualMachine) -> PyTypeRef {
        super::super::packet::PyPacket::make_static_type()
    }

    /// The release of PyTorch that is imitated.
    #[pyattr]
    fn _pytorch_version(_vm: &VirtualMachine) -> &'static str {
        crate::report::PYTORCH_VERSION
    }

    /// PyTorch's name of the backend that a plain `torch.compile` stands for.
    #[pyfunction]
    fn _default_backend() -> Option<String> {
        crate::python::current::current().map(|run| run.options.backend.clone())
    }

    /// Names of every operator.
    #[pyfunction]
    fn _function_names(vm: &VirtualMachine) -> PyObjectRef {
        let names: std::collections::BTreeSet<&str> = crate::dispatch::all().iter().map(|e| e.base_name()).collect();
        vm.ctx.new_list(names.into_iter().map(|n| vm.ctx.new_str(n).into()).collect()).into()
    }

    #[pyfunction]
    fn _set_tensor_class(cls: PyTypeRef, vm: &VirtualMachine) {
        thread_local! {
            static DONE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
        }
        use rustpython_vm::class::StaticType;
        if !DONE.replace(true) {
            methods::add_methods(super::super::TensorBase::static_type(), vm);
        }
        set_tensor_class(cls);
    }

    /// A tensor object of a Python subclass over the data of another tensor.
    #[pyfunction]
    fn _make_subclass(cls: PyTypeRef, data: PyObjectRef, requires_grad: OptionalArg<bool>, vm: &VirtualMachine) -> PyResult {
        let data = to_tensor(&data).ok_or_else(|| vm.new_type_error("_make_subclass(): data must be a Tensor"))?;
        // Of a tensor of the script's it is one of the script's, too: no graph makes it.
        let _outside = (!data.is_fake()).then(|| crate::dispatch::Exclude::only(crate::dispatch::Key::Capture));
        let own = crate::t!("detach", &data).map_err(|e| raise(e, vm))?;
        if requires_grad.unwrap_or(false) {
            packet::made_to_require_grad(&own).map_err(|e| raise(e, vm))?;
        }
        wrap_as(&own, cls, vm)
    }

    /// Another handle on a tensor, of a Python subclass.
    #[pyfunction]
    fn _as_subclass(tensor: PyObjectRef, cls: PyTypeRef, vm: &VirtualMachine) -> PyResult {
        let t = to_tensor(&tensor).ok_or_else(|| vm.new_type_error("as_subclass(): expected a Tensor"))?;
        // To Dynamo it is the same tensor, with the class around it.
        if crate::dynamo::tracing::recorder().is_some() && t.is_fake() {
            return wrap_as(&t, cls, vm);
        }
        let alias = crate::t!("alias", &t).map_err(|e| raise(e, vm))?;
        wrap_as(&alias, cls, vm)
    }

    /// The packet of a name in `aten` as `torch.<name>`, or None.
    #[pyfunction]
    fn _function(name: rustpython_vm::builtins::PyStrRef, prefix: rustpython_vm::builtins::PyStrRef, vm: &VirtualMachine) -> PyObjectRef {
        let prefix = match &*prefix.to_string_lossy() {
            "torch._C._nn." => "torch._C._nn.",
            "torch.nn.functional." => "torch.nn.functional.",
            "torch.special." => "torch._C._special.",
            "torch.linalg." => "torch._C._linalg.",
            "torch.fft." => "torch._C._fft.",
            _ => "torch.",
        };
        packet::packet(&format!("aten.{}", name.to_string_lossy()), Style::Function(prefix))
            .map_or_else(|| vm.ctx.none(), |p| p.into_pyobject(vm))
    }

    /// How code writes an operator, or None for other objects.
    #[pyfunction]
    fn _written_name(function: PyObjectRef) -> Option<String> {
        packet::written_name(&function)
    }

    /// The packet `namespace.name` as in `torch.ops`, or None.
    #[pyfunction]
    fn _ops_packet(
        namespace: rustpython_vm::builtins::PyStrRef,
        name: rustpython_vm::builtins::PyStrRef,
        vm: &VirtualMachine,
    ) -> PyObjectRef {
        let full = format!("{}.{}", namespace.to_string_lossy(), name.to_string_lossy());
        packet::packet(&full, Style::Ops).map_or_else(|| vm.ctx.none(), |p| p.into_pyobject(vm))
    }

    #[pyfunction]
    fn _dtype(name: rustpython_vm::builtins::PyStrRef, vm: &VirtualMachine) -> PyResult {
        Dtype::parse(&name.to_string_lossy()).map_or_else(|| Ok(vm.ctx.none()), |d| PyDtype::object(d, vm))
    }

    #[pyfunction]
    fn _memory_format(name: rustpython_vm::builtins::PyStrRef, vm: &VirtualMachine) -> PyResult {
        let format = match &*name.to_string_lossy() {
            "contiguous_format" => MemoryFormat::Contiguous,
            "preserve_format" => MemoryFormat::Preserve,
            "channels_last" => MemoryFormat::ChannelsLast,
            "channels_last_3d" => MemoryFormat::ChannelsLast3d,
            other => return Err(vm.new_value_error(format!("no memory format {other}"))),
        };
        from_value(Value::MemoryFormat(format), vm)
    }

    #[pyfunction]
    fn _strided(vm: &VirtualMachine) -> PyResult {
        from_value(Value::Layout(Layout::Strided), vm)
    }

    #[pyfunction]
    fn _set_size_class(cls: PyTypeRef) {
        super::super::size::set_size_class(cls);
    }

    /// Whether two shapes are equal, asked at once; `None` where Python compares them element by element.
    #[pyfunction]
    fn _all_equal(a: PyObjectRef, b: PyObjectRef, vm: &VirtualMachine) -> PyResult<Option<bool>> {
        super::super::size::all_equal(&a, &b, vm)
    }

    #[pyfunction]
    fn _legacy_tensor(dtype: PyObjectRef, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let Some(Value::Dtype(dtype)) = to_value(&dtype, vm) else { return Err(vm.new_type_error("expected a torch.dtype")) };
        wrap(&legacy_tensor(dtype, false, &args, vm)?, vm)
    }

    /// `torch.tensor(data, *, dtype=None, device=None, requires_grad=False)`
    #[pyfunction]
    fn tensor(args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let args = super::super::packet::in_device_context(&args, vm).unwrap_or(args);
        let public = || imported("torch", vm)?.get_attr("tensor", vm);
        if let Some(result) = overridden(public, &args, WrittenIn::Cpp, vm)? {
            return Ok(result);
        }
        if args.kwargs.get("requires_grad").is_some_and(|o| rustpython_vm::AsObject::is(o, &vm.ctx.true_value))
            && let Some(made) = crate::dynamo::tracing::outside(
                || crate::dynamo::tracing::leaf("tensor", &args, vm),
                &args,
                &mut |_| new_tensor(&args, vm),
                vm,
            )?
        {
            return Ok(made);
        }
        // What holds tensors is computed from them.
        let data = args.args.first().or_else(|| args.kwargs.get("data")).filter(|_| crate::dynamo::tracing::recorder().is_some());
        let is_computed = data.is_some_and(|data| holds_tensors(data, vm));
        let callee = || Callee::function(if is_computed { "torch._refs.tensor" } else { "torch.tensor" }.to_owned());
        as_written(callee, &args, vm, || new_tensor(&args, vm))
    }

    #[pyfunction]
    fn is_grad_enabled() -> bool {
        modes().grad
    }

    #[pyfunction]
    fn _set_grad_enabled(enabled: bool) {
        if modes().grad != enabled {
            crate::dynamo::tracing::record_grad_mode(enabled);
        }
        set_modes(Modes { grad: enabled, ..modes() });
    }

    #[pyfunction]
    fn is_anomaly_enabled() -> bool {
        crate::autograd::anomaly::mode().0
    }

    #[pyfunction]
    fn is_anomaly_check_nan_enabled() -> bool {
        crate::autograd::anomaly::mode().1
    }

    #[pyfunction]
    fn set_anomaly_enabled(enabled: bool, check_nan: OptionalArg<bool>) {
        crate::python::native::anomaly::install();
        crate::autograd::anomaly::set_mode(enabled, check_nan.unwrap_or(true));
    }

    #[pyfunction]
    fn is_inference_mode_enabled(vm: &VirtualMachine) -> PyResult<bool> {
        crate::dynamo::tracing::leave(crate::dynamo::Unsupported::inference_mode, vm)?;
        Ok(modes().inference)
    }

    #[pyfunction]
    fn _set_inference_mode(enabled: bool) {
        set_modes(Modes { inference: enabled, grad: if enabled { false } else { modes().grad }, ..modes() });
    }

    #[pyfunction]
    fn get_default_dtype(vm: &VirtualMachine) -> PyResult {
        PyDtype::object(default_dtype(), vm)
    }

    /// The backends of attention that may be used, a bit each.
    #[pyfunction]
    fn _allowed_sdp() -> u32 {
        super::super::sdp::all_allowed()
    }

    #[pyfunction]
    fn _allow_sdp(backends: u32) {
        super::super::sdp::allow(backends);
    }

    #[pyfunction]
    fn _set_default_device(device: Option<rustpython_vm::PyRef<super::super::objects::PyDevice>>) {
        crate::dispatch::set_device_context(device.map(|device| device.0));
    }

    #[pyfunction]
    fn _get_default_device() -> super::super::objects::PyDevice {
        super::super::objects::PyDevice(crate::dispatch::default_device())
    }

    #[pyfunction]
    fn _set_default_dtype(dtype: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        match to_value(&dtype, vm) {
            Some(Value::Dtype(d)) if d.is_floating() => {
                set_default_dtype(d);
                Ok(())
            }
            _ => Err(vm.new_type_error("only floating-point types are supported as the default type")),
        }
    }

    #[pyfunction]
    fn promote_types(a: PyObjectRef, b: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        match (to_value(&a, vm), to_value(&b, vm)) {
            (Some(Value::Dtype(a)), Some(Value::Dtype(b))) => {
                crate::tensor::check_promotion(a, b).map_err(|e| raise(e, vm))?;
                PyDtype::object(crate::tensor::promote(a, b), vm)
            }
            _ => Err(vm.new_type_error("promote_types(): arguments must be torch.dtype")),
        }
    }

    #[pyfunction]
    fn result_type(a: PyObjectRef, b: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        crate::dynamo::tracing::leave(|| crate::dynamo::Unsupported::non_tensor("dtype", "result_type"), vm)?;
        let (a, b) = (packet::value(&a, vm)?, packet::value(&b, vm)?);
        PyDtype::object(crate::ops::shapes::result_type(&[&a, &b]).map_err(|e| raise(e, vm))?, vm)
    }

    #[pyfunction]
    fn can_cast(from: PyObjectRef, to: PyObjectRef, vm: &VirtualMachine) -> PyResult<bool> {
        crate::dynamo::tracing::leave(|| crate::dynamo::Unsupported::non_tensor("bool", "can_cast"), vm)?;
        match (to_value(&from, vm), to_value(&to, vm)) {
            (Some(Value::Dtype(a)), Some(Value::Dtype(b))) => Ok(a.can_cast(b)),
            _ => Err(vm.new_type_error("can_cast(): arguments must be torch.dtype")),
        }
    }

    #[pyfunction]
    fn _default_generator(vm: &VirtualMachine) -> PyObjectRef {
        PyGenerator(random::default_generator()).into_pyobject(vm)
    }

    /// `_make_saved_tensor(tensor, is_output)`: the tensor as a node saves one.
    #[pyfunction]
    fn _make_saved_tensor(tensor: PyObjectRef, is_output: bool, vm: &VirtualMachine) -> PyResult {
        let Some(t) = to_tensor(&tensor).filter(|_| !is_output) else {
            return Err(vm.new_not_implemented_error("_make_saved_tensor takes a tensor that is no output"));
        };
        crate::python::native::tensor::saved_hooks::PySavedTensor::of(&t, vm)
    }

    /// `_run_backward(tensors, grad_tensors, retain_graph, create_graph, inputs, allow_unreachable, accumulate_grad, more_rows)`
    #[pyfunction]
    fn _run_backward(args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        // The graph ended before this was called; what was recorded since belongs to no graph of its own.
        if crate::dynamo::tracing::recorder().is_some_and(|r| !r.is_empty()) {
            crate::dynamo::tracing::break_graph(&Unsupported::backward()).map_err(|e| raise(e, vm))?;
        }
        hooks::in_engine(|| super::super::tape::backward(&args.args, vm))
    }

    /// Registers a hook on a tensor's gradient under a handle of the caller's.
    #[pyfunction]
    fn _register_hook(tensor: PyObjectRef, id: u64, hook: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        let t = to_tensor(&tensor).ok_or_else(|| vm.new_type_error("expected a Tensor"))?;
        if !meta::requires_grad(&t) {
            return Err(raise(Error::runtime("cannot register a hook on a tensor that doesn't require gradient"), vm));
        }
        let (t, hook) = match crate::dynamo::tracing::capture_hook(&t, &hook, vm)? {
            true => return Ok(()),
            false => (to_tensor(&tensor).unwrap_or(t), hooks::grad_hook(hook)),
        };
        match meta::grad_fn(&t).map_err(|e| raise(e, vm))? {
            Some((node, index)) => node.tensor_hooks.borrow_mut().push((index, id, hook)),
            None => meta::with(&t, |m| m.hooks.push((id, hook))),
        }
        Ok(())
    }

    /// Registers a hook that runs after a leaf's gradient was accumulated.
    #[pyfunction]
    fn _register_post_accumulate_grad_hook(tensor: PyObjectRef, id: u64, hook: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        let t = to_tensor(&tensor).ok_or_else(|| vm.new_type_error("expected a Tensor"))?;
        if !meta::requires_grad(&t) {
            return Err(raise(Error::runtime("cannot register a hook on a tensor that doesn't require gradient"), vm));
        }
        if meta::grad_fn(&t).map_err(|e| raise(e, vm))?.is_some() {
            return Err(raise(Error::runtime("post accumulate grad hooks cannot be registered on non-leaf tensors"), vm));
        }
        meta::with(&t, |m| m.post_accumulate_hooks.push((id, hooks::post_accumulate_hook(hook))));
        Ok(())
    }

    /// Removes a hook by its handle.
    #[pyfunction]
    fn _remove_hook(tensor: PyObjectRef, id: u64, vm: &VirtualMachine) -> PyResult<()> {
        let t = to_tensor(&tensor).ok_or_else(|| vm.new_type_error("expected a Tensor"))?;
        meta::with(&t, |m| {
            m.hooks.retain(|(i, _)| *i != id);
            m.post_accumulate_hooks.retain(|(i, _)| *i != id);
        });
        if let Some((node, _)) = meta::grad_fn(&t).map_err(|e| raise(e, vm))? {
            node.tensor_hooks.borrow_mut().retain(|(_, i, _)| *i != id);
        }
        Ok(())
    }

    /// `torch.set_printoptions(...)`, every option given.
    #[pyfunction]
    fn _set_printoptions(args: FuncArgs, vm: &VirtualMachine) -> PyResult<()> {
        let mut options = crate::tensor::print::print_options();
        let number = |name: &str| args.kwargs.get(name).and_then(|o| to_value(o, vm)).and_then(|v| v.float().ok());
        if let Some(n) = number("precision") {
            options.precision = n as usize;
        }
        if let Some(n) = number("threshold") {
            options.threshold = n;
        }
        if let Some(n) = number("edgeitems") {
            options.edgeitems = n as usize;
        }
        if let Some(n) = number("linewidth") {
            options.linewidth = n as usize;
        }
        options.sci_mode = match args.kwargs.get("sci_mode").and_then(|o| to_value(o, vm)) {
            Some(Value::Bool(b)) => Some(b),
            _ => None,
        };
        crate::tensor::print::set_print_options(options);
        Ok(())
    }

    /// A number that no other tensor has or will have; objects that stand for one tensor share it.
    #[pyfunction]
    fn _tensor_id(tensor: PyObjectRef, vm: &VirtualMachine) -> PyResult<u64> {
        to_tensor(&tensor).map(|t| t.id()).ok_or_else(|| vm.new_type_error("expected a Tensor"))
    }

    /// How many hold a tensor: its object, nodes of the tape, views of it.
    #[pyfunction]
    fn _use_count(tensor: PyObjectRef, vm: &VirtualMachine) -> PyResult<usize> {
        let t = to_tensor(&tensor).ok_or_else(|| vm.new_type_error("expected a tensor"))?;
        Ok(t.handles() - 1)
    }

    /// Two objects of tensors change their tensors.
    #[pyfunction]
    fn _swap_tensor_impl(a: PyObjectRef, b: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        super::super::payload::swap(&a, &b).ok_or_else(|| vm.new_type_error("expected two tensors"))
    }

    /// Counts a write that was made behind autograd's back.
    #[pyfunction]
    fn _increment_version(tensor: PyObjectRef) {
        let tensors = items(&tensor).unwrap_or_else(|| vec![tensor.clone()]);
        tensors.iter().filter_map(|o| to_tensor(o)).for_each(|t| t.bump_version());
    }

    #[pyfunction]
    fn _push_saved_tensors_default_hooks(pack: PyObjectRef, unpack: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        crate::python::native::tensor::saved_hooks::push(pack, unpack).map_err(|e| raise(e, vm))
    }

    #[pyfunction]
    fn _pop_saved_tensors_default_hooks() {
        crate::autograd::pop_saved_tensor_hooks();
    }

    /// The functions that a tensor saved now goes through; `None` where there are none.
    #[pyfunction]
    fn _top_saved_tensors_default_hooks(_ignore_is_tracing: bool, vm: &VirtualMachine) -> PyObjectRef {
        match crate::python::native::tensor::saved_hooks::top() {
            Some((pack, unpack)) => vm.ctx.new_tuple(vec![pack, unpack]).into(),
            None => vm.ctx.none(),
        }
    }

    /// Why hooks on saved tensors are refused at the moment; `None` where they are not.
    #[pyfunction]
    fn _saved_tensors_hooks_get_disabled_error_message() -> Option<String> {
        crate::python::native::tensor::saved_hooks::disabled()
    }

    #[pyfunction]
    fn _saved_tensors_hooks_disable(message: String, vm: &VirtualMachine) -> PyResult<()> {
        crate::python::native::tensor::saved_hooks::disable(message).map_err(|e| raise(e, vm))
    }

    #[pyfunction]
    fn _saved_tensors_hooks_enable() {
        crate::python::native::tensor::saved_hooks::enable();
    }

    /// The number of the backward that is running; -1 outside of one.
    #[pyfunction]
    fn _current_graph_task_id() -> i64 {
        crate::autograd::current_graph_task()
    }

    /// Whether a checkpoint may run a backward of its own.
    #[pyfunction]
    fn _is_checkpoint_valid() -> bool {
        crate::autograd::is_checkpoint_valid()
    }

    /// Whether the backward that is running executes a node.
    #[pyfunction]
    fn _will_engine_execute_node(node: PyRef<PyNode>, vm: &VirtualMachine) -> PyResult<bool> {
        crate::autograd::will_execute(&node.0).map_err(|e| raise(e, vm))
    }

    /// A tensor of a transform: its level, and what it stands for there.
    fn shown_in_level(outer: &levels::Wrapped, vm: &VirtualMachine) -> PyResult<String> {
        let inner = wrap(&outer.value, vm)?.repr(vm)?.to_string_lossy().into_owned();
        let indented = inner.lines().map(|line| if line.trim().is_empty() { line.to_owned() } else { format!("    {line}") });
        let value = indented.collect::<Vec<_>>().join("\n");
        Ok(match outer.batch_dim {
            Some(dim) => format!("BatchedTensor(lvl={}, bdim={dim}, value=\n{value}\n)", outer.number),
            None => format!("GradTrackingTensor(lvl={}, value=\n{value}\n)", outer.number),
        })
    }

    /// The text `print(tensor)` shows.
    #[pyfunction]
    fn _tensor_repr(tensor: PyObjectRef, class_name: rustpython_vm::builtins::PyStrRef, vm: &VirtualMachine) -> PyResult<String> {
        let t = to_tensor(&tensor).ok_or_else(|| vm.new_type_error("expected a Tensor"))?;
        let t = super::super::reading::with_values(&t, || Unsupported::other("print of a Tensor"), vm)?;
        if let Some(value) = super::super::fake::functional_value(&t).map_err(|e| raise(e, vm))? {
            let text = wrap(&value, vm)?.repr(vm)?.to_string_lossy().into_owned();
            return Ok(match levels::functionalized_at() {
                Some(level) => format!("FunctionalTensor(lvl={level}, value=\\\n{text})"),
                None => format!("_to_functional_tensor({text})"),
            });
        }
        if let Some(outer) = levels::wrapped(&levels::live(&t)) {
            return shown_in_level(&outer, vm);
        }
        let grad_fn = meta::grad_fn(&t).map_err(|e| raise(e, vm))?.map(|(node, _)| node.name.clone());
        let is_fake = t.is_fake() && (t.device().kind != crate::tensor::DeviceType::Meta || t.storage().fake_mode() != 0);
        let suffixes = crate::tensor::print::Suffixes {
            requires_grad: meta::requires_grad(&t),
            grad_fn,
            prefix: if is_fake { "FakeTensor(".to_owned() } else { class_name.to_string_lossy().into_owned() },
            default_dtype: default_dtype(),
            ..Default::default()
        };
        let t = crate::dispatch::as_in_memory(&t).map_err(|e| raise(e, vm))?;
        crate::tensor::print::repr(&t, &suffixes).map_err(|e| raise(e, vm))
    }
}
