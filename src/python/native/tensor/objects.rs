//! The small objects around tensors: dtypes, devices, layouts, memory formats, generators, autograd nodes.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use rustpython_vm::builtins::{PyStr, PyTypeRef};
use rustpython_vm::function::PyComparisonValue;
use rustpython_vm::function::{FuncArgs, OptionalArg};
use rustpython_vm::types::{Comparable, Constructor, GetAttr, Hashable, PyComparisonOp, Representable};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyPayload, PyResult, VirtualMachine};

use super::errors::raise;
use crate::autograd::Node;
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::tensor::random::Generator;
use crate::tensor::{Device, DeviceType, Dtype, Layout, MemoryFormat};

/// `torch.dtype`
#[pyclass(module = "torch", name = "dtype")]
#[derive(Debug, PyPayload)]
pub struct PyDtype(pub Dtype);

impl PyDtype {
    /// The one object of a dtype: comparison by identity is what scripts do.
    pub fn object(dtype: Dtype, vm: &VirtualMachine) -> PyResult {
        thread_local! {
            static OBJECTS: std::cell::RefCell<Vec<PyObjectRef>> = const { std::cell::RefCell::new(Vec::new()) };
        }
        let known = OBJECTS.with_borrow(|o| o.get(dtype as usize).cloned());
        Ok(known.unwrap_or_else(|| {
            OBJECTS.with_borrow_mut(|o| {
                *o = Dtype::ALL.iter().map(|d| PyDtype(*d).into_pyobject(vm)).collect();
                o[dtype as usize].clone()
            })
        }))
    }

    /// `float`, `int`, `bool`, `complex` as dtypes.
    pub fn of_python_type(o: &PyObject, vm: &VirtualMachine) -> Option<Dtype> {
        let types = &vm.ctx.types;
        if o.is(types.float_type) {
            Some(crate::ops::shapes::default_dtype())
        } else if o.is(types.int_type) {
            Some(Dtype::Int64)
        } else if o.is(types.bool_type) {
            Some(Dtype::Bool)
        } else if o.is(types.complex_type) {
            Some(crate::ops::shapes::default_dtype().to_complex())
        } else {
            None
        }
    }
}

impl Representable for PyDtype {
    fn repr_str(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<String> {
        Ok(zelf.0.to_string())
    }
}

#[pyclass(with(Representable))]
impl PyDtype {
    #[pygetset]
    fn is_floating_point(zelf: &Py<Self>) -> bool {
        zelf.0.is_floating()
    }
    #[pygetset]
    fn is_complex(zelf: &Py<Self>) -> bool {
        zelf.0.is_complex()
    }
    #[pygetset]
    fn is_signed(zelf: &Py<Self>) -> bool {
        !matches!(zelf.0, Dtype::Bool | Dtype::UInt8)
    }
    #[pygetset]
    fn itemsize(zelf: &Py<Self>) -> usize {
        zelf.0.itemsize()
    }
    #[pymethod]
    fn to_real(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        PyDtype::object(zelf.0.to_real(), vm)
    }
    #[pymethod]
    fn to_complex(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        PyDtype::object(zelf.0.to_complex(), vm)
    }
    #[pymethod]
    fn __reduce__(zelf: &Py<Self>) -> &'static str {
        zelf.0.name()
    }
    #[pymethod]
    fn __copy__(zelf: rustpython_vm::PyRef<Self>) -> PyObjectRef {
        zelf.into()
    }
    #[pymethod]
    fn __deepcopy__(zelf: rustpython_vm::PyRef<Self>, _memo: FuncArgs) -> PyObjectRef {
        zelf.into()
    }
}

/// `cpu`, `cuda:0`
pub fn parse_device(text: &str) -> Result<Device> {
    let (kind, index) = match text.split_once(':') {
        Some((kind, index)) => (kind, Some(index.parse().map_err(|_| Error::runtime(format!("Invalid device string: '{text}'")))?)),
        None => (text, None),
    };
    let kind = match kind {
        "cpu" => DeviceType::Cpu,
        "cuda" => DeviceType::Cuda,
        "meta" => DeviceType::Meta,
        _ => {
            return Err(Error::runtime(format!(
                "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device string: {kind}"
            )));
        }
    };
    Ok(Device { kind, index })
}

/// `torch.device`
#[pyclass(module = "torch", name = "device")]
#[derive(Debug, PyPayload)]
pub struct PyDevice(pub Device);

/// `torch.device(type, index)`
#[derive(FromArgs)]
pub struct DeviceArgs {
    #[pyarg(any, name = "type")]
    kind: PyObjectRef,
    #[pyarg(any, optional)]
    index: OptionalArg<u8>,
}

impl Constructor for PyDevice {
    type Args = DeviceArgs;
    fn py_new(_cls: &Py<rustpython_vm::builtins::PyType>, DeviceArgs { kind, index }: Self::Args, vm: &VirtualMachine) -> PyResult<Self> {
        if let Some(d) = kind.downcast_ref::<PyDevice>() {
            return Ok(PyDevice(d.0));
        }
        if let Some(i) = super::convert::to_int(&kind) {
            return Ok(PyDevice(Device { kind: DeviceType::Cuda, index: u8::try_from(i).ok() }));
        }
        let text = kind.str(vm)?.to_string_lossy().into_owned();
        let mut device = parse_device(&text).map_err(|e| raise(e, vm))?;
        if let OptionalArg::Present(i) = index {
            device.index = Some(i);
        }
        Ok(PyDevice(device))
    }
}

impl Representable for PyDevice {
    fn repr_str(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<String> {
        let d = zelf.0;
        let kind = Device { index: None, ..d };
        Ok(d.index.map_or_else(|| format!("device(type='{kind}')"), |i| format!("device(type='{kind}', index={i})")))
    }
}

impl Comparable for PyDevice {
    fn cmp(zelf: &Py<Self>, other: &PyObject, op: PyComparisonOp, _vm: &VirtualMachine) -> PyResult<PyComparisonValue> {
        op.eq_only(|| {
            Ok(other.downcast_ref::<Self>().map_or(PyComparisonValue::NotImplemented, |o| PyComparisonValue::Implemented(o.0 == zelf.0)))
        })
    }
}

impl Hashable for PyDevice {
    fn hash(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<i64> {
        Ok(i64::from(zelf.0.index.map_or(-1, i16::from)) * 8 + zelf.0.kind as i64)
    }
}

thread_local! {
    /// The default devices around the blocks of `with torch.device(...)` that are under way.
    static AROUND: RefCell<Vec<Option<Device>>> = const { RefCell::new(Vec::new()) };
}

/// No block is under way.
pub(in crate::python::native) fn reset() {
    AROUND.take();
}

#[pyclass(with(Constructor, Representable, Comparable, Hashable))]
impl PyDevice {
    #[pymethod]
    fn __enter__(zelf: rustpython_vm::PyRef<Self>, vm: &VirtualMachine) -> PyResult {
        crate::dynamo::tracing::leave_at_block(zelf.as_object(), vm)?;
        AROUND.with_borrow_mut(|around| around.push(crate::dispatch::set_device_context(Some(zelf.0))));
        Ok(zelf.into())
    }
    #[pymethod]
    fn __exit__(_zelf: &Py<Self>, _args: FuncArgs) {
        if let Some(before) = AROUND.with_borrow_mut(Vec::pop) {
            crate::dispatch::set_device_context(before);
        }
    }
    /// Copied and pickled as the call that makes it.
    #[pymethod]
    fn __reduce__(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
        let mut args: Vec<PyObjectRef> = vec![vm.ctx.new_str(Self::kind(zelf)).into()];
        args.extend(zelf.0.index.map(|i| vm.ctx.new_int(i).into()));
        vm.ctx.new_tuple(vec![zelf.class().to_owned().into(), vm.ctx.new_tuple(args).into()]).into()
    }
    #[pygetset(name = "type")]
    fn kind(zelf: &Py<Self>) -> String {
        Device { index: None, ..zelf.0 }.to_string()
    }
    #[pygetset]
    fn index(zelf: &Py<Self>) -> Option<u8> {
        zelf.0.index
    }
    #[pymethod]
    fn __str__(zelf: &Py<Self>) -> String {
        zelf.0.to_string()
    }
}

/// `torch.layout`
#[pyclass(module = "torch", name = "layout")]
#[derive(Debug, PyPayload)]
pub struct PyLayout(pub Layout);

impl Representable for PyLayout {
    fn repr_str(_zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<String> {
        Ok("torch.strided".to_owned())
    }
}

impl Comparable for PyLayout {
    fn cmp(zelf: &Py<Self>, other: &PyObject, op: PyComparisonOp, _vm: &VirtualMachine) -> PyResult<PyComparisonValue> {
        op.eq_only(|| {
            Ok(other.downcast_ref::<Self>().map_or(PyComparisonValue::NotImplemented, |o| PyComparisonValue::Implemented(o.0 == zelf.0)))
        })
    }
}

impl Hashable for PyLayout {
    fn hash(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<i64> {
        Ok(zelf.0 as i64)
    }
}

#[pyclass(with(Representable, Comparable, Hashable))]
impl PyLayout {
    /// Pickled by its name in `torch`.
    #[pymethod]
    fn __reduce__(_zelf: &Py<Self>) -> &'static str {
        "strided"
    }
    #[pymethod]
    fn __copy__(zelf: rustpython_vm::PyRef<Self>) -> PyObjectRef {
        zelf.into()
    }
    #[pymethod]
    fn __deepcopy__(zelf: rustpython_vm::PyRef<Self>, _memo: FuncArgs) -> PyObjectRef {
        zelf.into()
    }
}

/// `torch.memory_format`
#[pyclass(module = "torch", name = "memory_format")]
#[derive(Debug, PyPayload)]
pub struct PyMemoryFormat(pub MemoryFormat);

impl Representable for PyMemoryFormat {
    fn repr_str(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<String> {
        Ok(zelf.0.name().to_owned())
    }
}

impl Comparable for PyMemoryFormat {
    fn cmp(zelf: &Py<Self>, other: &PyObject, op: PyComparisonOp, _vm: &VirtualMachine) -> PyResult<PyComparisonValue> {
        op.eq_only(|| {
            Ok(other.downcast_ref::<Self>().map_or(PyComparisonValue::NotImplemented, |o| PyComparisonValue::Implemented(o.0 == zelf.0)))
        })
    }
}

impl Hashable for PyMemoryFormat {
    fn hash(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<i64> {
        Ok(zelf.0 as i64)
    }
}

#[pyclass(with(Representable, Comparable, Hashable))]
impl PyMemoryFormat {
    /// Pickled by its name in `torch`.
    #[pymethod]
    fn __reduce__(zelf: &Py<Self>) -> &'static str {
        zelf.0.name().trim_start_matches("torch.")
    }
    #[pymethod]
    fn __copy__(zelf: rustpython_vm::PyRef<Self>) -> PyObjectRef {
        zelf.into()
    }
    #[pymethod]
    fn __deepcopy__(zelf: rustpython_vm::PyRef<Self>, _memo: FuncArgs) -> PyObjectRef {
        zelf.into()
    }
}

/// `torch.Generator`
#[pyclass(module = "torch", name = "Generator")]
#[derive(PyPayload)]
pub struct PyGenerator(pub Rc<Generator>);

impl std::fmt::Debug for PyGenerator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<torch.Generator>")
    }
}

impl Constructor for PyGenerator {
    type Args = FuncArgs;
    fn py_new(_cls: &Py<rustpython_vm::builtins::PyType>, args: FuncArgs, vm: &VirtualMachine) -> PyResult<Self> {
        crate::dynamo::tracing::leave(|| crate::dynamo::Unsupported::opaque("torch._C.Generator"), vm)?;
        super::errors::check_taken("Generator", &args, 1, &["device"], vm)?;
        let device = match args.args.first().or_else(|| args.kwargs.get("device")).and_then(|o| super::to_value(o, vm)) {
            Some(crate::dispatch::Value::Str(text)) => parse_device(&text).map_err(|e| raise(e, vm))?,
            other => other.and_then(|v| v.device().ok().flatten()).unwrap_or(Device::CPU),
        };
        if device != Device::CPU {
            let said = format!("torch.Generator(device='{device}'): generators of the CPU alone are supported");
            return Err(raise(Error::new(crate::error::ErrorKind::NotImplemented, said), vm));
        }
        Ok(PyGenerator(Rc::new(Generator::default())))
    }
}

/// A method that reads or sets a generator's state ends the graph of the script's function that calls it.
fn stateful(method: &str, vm: &VirtualMachine) -> PyResult<()> {
    crate::dynamo::tracing::leave(|| crate::dynamo::Unsupported::generator(method), vm)
}

#[pyclass(with(Constructor))]
impl PyGenerator {
    #[pymethod]
    fn manual_seed(zelf: rustpython_vm::PyRef<Self>, seed: i64, vm: &VirtualMachine) -> PyResult {
        stateful("manual_seed", vm)?;
        zelf.0.manual_seed(seed as u64);
        if Rc::ptr_eq(&zelf.0, &crate::tensor::random::default_generator()) {
            crate::aot::philox::reset();
        }
        Ok(zelf.into())
    }
    #[pymethod]
    fn initial_seed(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<u64> {
        stateful("initial_seed", vm)?;
        Ok(zelf.0.initial_seed())
    }
    #[pymethod]
    fn seed(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<u64> {
        stateful("seed", vm)?;
        // Without entropy a page cannot reproduce a run; the seed is derived from the state.
        let seed = zelf.0.random64();
        zelf.0.manual_seed(seed);
        Ok(seed)
    }
    #[pymethod]
    fn get_state(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        stateful("get_state", vm)?;
        let state = zelf.0.get_state().map_err(|e| raise(e, vm))?;
        super::payload::wrap(&state, vm)
    }
    #[pymethod]
    fn set_state(zelf: rustpython_vm::PyRef<Self>, state: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        stateful("set_state", vm)?;
        let state = super::convert::to_tensor(&state).ok_or_else(|| vm.new_type_error("expected a torch.ByteTensor"))?;
        zelf.0.set_state(&state).map_err(|e| raise(e, vm))?;
        Ok(zelf.into())
    }
    /// Another one that goes on from where this one is.
    #[pymethod]
    fn clone_state(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        stateful("clone_state", vm)?;
        let made = crate::tensor::random::Generator::new(zelf.0.initial_seed());
        made.set_state(&zelf.0.get_state().map_err(|e| raise(e, vm))?).map_err(|e| raise(e, vm))?;
        Ok(PyGenerator(Rc::new(made)).into_pyobject(vm))
    }
    /// Copied and pickled as a new one that gets its state.
    #[pymethod]
    fn __reduce__(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let state = Self::get_state(zelf, vm)?;
        let seed = vm.ctx.new_int(Self::initial_seed(zelf, vm)?).into();
        let args = vm.ctx.new_tuple(vec![PyDevice(Device::CPU).into_pyobject(vm)]);
        let state = vm.ctx.new_tuple(vec![seed, vm.ctx.none(), state]);
        Ok(vm.ctx.new_tuple(vec![zelf.class().to_owned().into(), args.into(), state.into()]).into())
    }
    #[pymethod]
    fn __setstate__(zelf: rustpython_vm::PyRef<Self>, state: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        let parts = super::convert::items(&state).unwrap_or_default();
        let [seed, _, state] = parts.as_slice() else { return Err(vm.new_type_error("__setstate__: (seed, offset, state) is needed")) };
        zelf.0.manual_seed(seed.clone().try_to_value(vm)?);
        Self::set_state(zelf, state.clone(), vm).map(drop)
    }
    #[pygetset]
    fn device(_zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
        PyDevice(Device::CPU).into_pyobject(vm)
    }
}

/// `torch.autograd.graph.Node`
#[pyclass(module = "torch.autograd.graph", name = "Node")]
#[derive(PyPayload)]
pub struct PyNode(pub Rc<Node>);

impl std::fmt::Debug for PyNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl PyNode {
    /// The object of a node, whose class has the node's name: the same one as long as somebody has it.
    pub fn object(node: Rc<Node>, vm: &VirtualMachine) -> PyResult {
        let known = attached(&node, |a| a.object.as_ref().and_then(|weak| weak.upgrade()));
        if let Some(known) = known {
            return Ok(known);
        }
        thread_local! {
            static CLASSES: std::cell::RefCell<std::collections::HashMap<String, PyTypeRef>> = std::cell::RefCell::default();
        }
        let class = CLASSES.with_borrow_mut(|known| {
            let make = || {
                use rustpython_vm::class::PyClassImpl;
                let base = PyNode::make_static_type();
                let slots = rustpython_vm::types::PyTypeSlots::heap_default();
                vm.ctx.new_class(None, &node.name, base, slots)
            };
            known.entry(node.name.clone()).or_insert_with(make).clone()
        });
        let object: PyObjectRef = PyNode(node.clone()).into_ref_with_type(vm, class)?.into();
        let weak = object.downgrade(None, vm).ok();
        attached(&node, |a| a.object = weak);
        Ok(object)
    }
}

/// What Python knows of a node.
#[derive(Default)]
struct Attached {
    /// `node.metadata`
    dict: Option<PyObjectRef>,
    object: Option<rustpython_vm::PyRef<rustpython_vm::builtins::PyWeak>>,
}

fn attached<R>(node: &Node, f: impl FnOnce(&mut Attached) -> R) -> R {
    let mut slot = node.metadata.borrow_mut();
    let any: &mut Box<dyn Any> = slot.get_or_insert_with(|| Box::new(Attached::default()));
    match any.downcast_mut::<Attached>() {
        Some(known) => f(known),
        None => f(&mut Attached::default()),
    }
}

impl GetAttr for PyNode {
    /// The node of a custom function is its context: what a script put there is found here.
    fn getattro(zelf: &Py<Self>, name: &Py<PyStr>, vm: &VirtualMachine) -> PyResult {
        zelf.as_object().generic_getattr(name, vm).or_else(|error| match crate::dynamo::tracing::context_of(&zelf.0) {
            Some(context) => context.get_attr(name, vm),
            None if name.to_string_lossy() == "saved_tensors" => match zelf.0.body.saved_tensors(&zelf.0) {
                Some(saved) => {
                    let saved = saved.map_err(|e| super::errors::raise(e, vm))?;
                    Ok(vm.ctx.new_tuple(saved.iter().map(|t| super::payload::wrap(t, vm)).collect::<PyResult<Vec<_>>>()?).into())
                }
                None => Err(error),
            },
            None => match name.to_string_lossy().strip_prefix("_saved_").and_then(|field| zelf.0.body.saved_field(&zelf.0, field)) {
                Some(value) => shown_field(value.map_err(|e| super::errors::raise(e, vm))?, vm),
                None => Err(error),
            },
        })
    }
}

/// What a node saved, for a script: lists are tuples there, and a negative int64, as a dimension counted from the end is, has no sign.
fn shown_field((value, is_int64): (Value, bool), vm: &VirtualMachine) -> PyResult {
    match value {
        Value::List(items) => {
            let items = items.into_iter().map(|item| shown_field((item, is_int64), vm)).collect::<PyResult<Vec<_>>>()?;
            Ok(vm.ctx.new_tuple(items).into())
        }
        Value::Int(crate::shape::SymInt::Int(i)) if is_int64 => Ok(vm.ctx.new_int(i as u64).into()),
        value => super::from_value(value, vm),
    }
}

impl Representable for PyNode {
    fn repr_str(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<String> {
        let node = &zelf.0;
        let is_function = node.body.is_custom_function() || node.name.starts_with("CompiledFunctionBackward");
        let module = if is_function { "torch.autograd.function." } else { "" };
        Ok(format!("<{module}{} object at {:#x}>", node.name, Rc::as_ptr(node) as usize))
    }
}

impl Comparable for PyNode {
    fn cmp(zelf: &Py<Self>, other: &PyObject, op: PyComparisonOp, _vm: &VirtualMachine) -> PyResult<PyComparisonValue> {
        op.eq_only(|| {
            Ok(other
                .downcast_ref::<Self>()
                .map_or(PyComparisonValue::NotImplemented, |o| PyComparisonValue::Implemented(Rc::ptr_eq(&o.0, &zelf.0))))
        })
    }
}

impl Hashable for PyNode {
    fn hash(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<i64> {
        Ok(Rc::as_ptr(&zelf.0) as usize as i64)
    }
}

#[pyclass(flags(BASETYPE, HAS_WEAKREF), with(Representable, Comparable, Hashable, GetAttr))]
impl PyNode {
    #[pymethod]
    fn name(zelf: &Py<Self>) -> String {
        zelf.0.full_name()
    }
    #[pygetset]
    fn next_functions(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let edges = zelf.0.next_edges();
        let items = edges
            .iter()
            .map(|e| {
                let (node, index) = match e {
                    Some(e) => (PyNode::object(e.node.clone(), vm)?, e.index),
                    None => (vm.ctx.none(), 0),
                };
                Ok(vm.ctx.new_tuple(vec![node, vm.ctx.new_int(index).into()]).into())
            })
            .collect::<PyResult<Vec<PyObjectRef>>>()?;
        Ok(vm.ctx.new_tuple(items).into())
    }
    /// What it expects of the gradient of each of its results.
    #[pygetset]
    fn _input_metadata(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let of = |meta: &crate::autograd::InputMeta| {
            let sizes = meta.sizes.iter().map(|s| super::convert::from_size(s, vm)).collect::<PyResult<Vec<_>>>()?;
            let described = vm.import("types", 0)?.get_attr("SimpleNamespace", vm)?.call((), vm)?;
            described.set_attr("shape", super::size::size_object(sizes, vm)?, vm)?;
            described.set_attr("dtype", PyDtype::object(meta.dtype, vm)?, vm)?;
            described.set_attr("device", PyDevice(meta.device).into_pyobject(vm), vm)?;
            Ok(described)
        };
        let each = zelf.0.inputs.borrow().iter().map(of).collect::<PyResult<Vec<_>>>()?;
        Ok(vm.ctx.new_list(each).into())
    }
    #[pygetset]
    fn metadata(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        if let Some(known) = attached(&zelf.0, |a| a.dict.clone()) {
            return Ok(known);
        }
        let dict = vm.ctx.new_dict();
        if let Some(made) = &zelf.0.made {
            let entries = made.entries().into_iter().map(|entry| vm.ctx.new_str(entry).into()).collect();
            dict.set_item("traceback_", vm.ctx.new_list(entries).into(), vm)?;
            if let Some(parent) = made.parent() {
                dict.set_item("parent_", PyNode::object(parent.clone(), vm)?, vm)?;
            }
        }
        let dict: PyObjectRef = dict.into();
        attached(&zelf.0, |a| a.dict = Some(dict.clone()));
        Ok(dict)
    }
    #[pymethod]
    fn _sequence_nr(zelf: &Py<Self>) -> u64 {
        zelf.0.seq_nr
    }
    #[pygetset]
    fn variable(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        match crate::autograd::accumulated_variable(&zelf.0) {
            Some(t) => super::payload::wrap(&t, vm),
            None => Err(vm.new_attribute_error(format!("'{}' object has no attribute 'variable'", zelf.0.name))),
        }
    }
    #[pymethod]
    fn register_hook(zelf: rustpython_vm::PyRef<Self>, hook: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        node_handle(zelf.into(), hook, false, vm)
    }
    #[pymethod]
    fn register_prehook(zelf: rustpython_vm::PyRef<Self>, hook: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        node_handle(zelf.into(), hook, true, vm)
    }
    #[pymethod]
    fn _register_hook(zelf: &Py<Self>, id: u64, hook: PyObjectRef) {
        super::hooks::register_node_hook(&zelf.0, id, hook, false);
    }
    #[pymethod]
    fn _register_prehook(zelf: &Py<Self>, id: u64, hook: PyObjectRef) {
        super::hooks::register_node_hook(&zelf.0, id, hook, true);
    }
    #[pymethod]
    fn _remove_hook(zelf: &Py<Self>, id: u64) {
        zelf.0.post_hooks.borrow_mut().retain(|(i, _)| *i != id);
        zelf.0.pre_hooks.borrow_mut().retain(|(i, _)| *i != id);
    }
}

/// Registers a hook on a node; gives the handle that removes it.
fn node_handle(node: PyObjectRef, hook: PyObjectRef, before: bool, vm: &VirtualMachine) -> PyResult {
    let module = crate::python::native::calls::imported("torch.utils.hooks", vm)?;
    module.get_attr("_node_handle", vm)?.call((node, hook, before), vm)
}
