//! Tensors of the script's own classes that answer operators (`__torch_dispatch__`), and modes that see every operator
//! (`TorchDispatchMode`): the layer of dispatch that calls Python, below autograd.
//!
//! A tensor keeps its class and its object's attributes: autograd may hold it longer than Python does, and an object that is made for it
//! later is the same again. A class that says what its tensors are made of (`__tensor_flatten__`) is put together again of others.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustpython_vm::builtins::{PyDict, PyType, PyTypeRef};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::vm::thread::with_current_vm;
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyPayload, PyResult, VirtualMachine};

use super::convert::{from_size, items, to_tensor};
use super::errors::{raise, raised};
use super::library::{python_arguments, results};
use super::payload::{DISPATCH, Instance, answers, object_of};
use super::payload::{tensor_class, wrap, wrap_with};
use super::size::size_object;
use crate::dispatch::{Call, Exclude, Key, Layer, OpEntry, Value};
use crate::dynamo::Unsupported;
use crate::dynamo::tracing;
use crate::error::{Error, Result};
use crate::shape::SymInt;
use crate::tensor::{Parts, Recipe, Subclass, Tensor};

thread_local! {
    static MODES: RefCell<Vec<PyObjectRef>> = const { RefCell::new(Vec::new()) };
    /// Objects whose class keeps values outside of a dictionary (`__slots__`): those go with the object, which lives as long as the run.
    static KEPT: RefCell<Vec<PyObjectRef>> = const { RefCell::new(Vec::new()) };
    static IS_INSTALLED: Cell<bool> = const { Cell::new(false) };
    static DISABLED: RefCell<Vec<Exclude>> = const { RefCell::new(Vec::new()) };
}

/// Whether a mode is in force that Dynamo does not compile under: one that does not say that compiling is none of its business.
pub fn has_mode(vm: &VirtualMachine) -> bool {
    let ignores =
        |mode: &PyObjectRef| vm.call_method(mode, "ignore_compile_internals", ()).and_then(|o| o.try_to_bool(vm)).unwrap_or(false);
    MODES.with_borrow(Clone::clone).iter().any(|mode| !ignores(mode))
}

/// Lets go of what the script made; the layer is taken away with the others of its key.
pub fn forget() {
    MODES.take();
    KEPT.take();
    while DISABLED.with_borrow_mut(Vec::pop).is_some() {}
    IS_INSTALLED.set(false);
}

fn install() {
    if !IS_INSTALLED.replace(true) {
        crate::dispatch::push_layer(Rc::new(SubclassLayer));
    }
}

/// A new Python object of a class for a tensor that has none.
pub fn wrap_as(t: &Tensor, class: PyTypeRef, vm: &VirtualMachine) -> PyResult {
    if answers(&class, vm) { new_object(t, class, vm) } else { wrap_with(t, class, None, vm) }
}

/// A new object of a class that answers operators, for a tensor that has none.
pub fn new_object(t: &Tensor, class: PyTypeRef, vm: &VirtualMachine) -> PyResult {
    install();
    let dict = vm.ctx.new_dict();
    let object = wrap_with(t, class.clone(), Some(dict.clone()), vm)?;
    if class.slots.member_count > 0 {
        KEPT.with_borrow_mut(|kept| kept.push(object.clone()));
    }
    *t.imp().subclass.borrow_mut() = Some(Rc::new(Instance { class, dict }));
    Ok(object)
}

/// While it lives, nothing above the script's class sees what the script does.
fn below() -> Exclude {
    Exclude::down_to(Key::Lower)
}

impl Subclass for Instance {
    fn copied(&self) -> Rc<dyn Subclass> {
        let dict = with_current_vm(|vm| PyDict::copy(&self.dict).into_ref(&vm.ctx));
        Rc::new(Instance { class: self.class.clone(), dict })
    }

    fn class_name(&self) -> String {
        self.class.name().to_string()
    }

    fn flatten(&self, t: &Tensor) -> Result<Option<Parts>> {
        with_current_vm(|vm| {
            if !super::subclass_calls::is_traceable(&self.class, vm) {
                return Ok(None);
            }
            let _below = below();
            let flatten = || -> PyResult<_> {
                let object = wrap(t, vm)?;
                let made = vm.call_method(&object, "__tensor_flatten__", ())?;
                let (names, context) = match items(&made).as_deref() {
                    Some([names, context]) => (items(names).unwrap_or_default(), context.clone()),
                    _ => return Err(vm.new_type_error("__tensor_flatten__ must return the names of attributes and a context")),
                };
                let mut inner = Vec::new();
                for name in names {
                    let text = name.str(vm)?.to_string_lossy().into_owned();
                    let value = object.get_attr(&*vm.ctx.new_str(text.as_str()), vm)?;
                    let tensor = to_tensor(&value)
                        .ok_or_else(|| vm.new_type_error(format!("__tensor_flatten__ names {text}, which holds no tensor")))?;
                    inner.push((Rc::from(text.as_str()), tensor));
                }
                Ok(Parts { inner, recipe: Rc::new(Unflatten { class: self.class.clone(), context }) })
            };
            flatten().map(Some).map_err(raised)
        })
    }

    fn coerce(&self, t: &Tensor, wanted: Option<&dyn Recipe>) -> Result<Option<Tensor>> {
        const COERCE: &str = "__coerce_same_metadata_as_tangent__";
        with_current_vm(|vm| {
            if self.class.get_attr(vm.ctx.intern_str(COERCE)).is_none() {
                return Ok(None);
            }
            let wanted = wanted.and_then(|w| w.as_any().downcast_ref::<Unflatten>());
            let (context, class) = match wanted {
                Some(wanted) => (wanted.context.clone(), wanted.class.clone()),
                None => (vm.ctx.none(), tensor_class(vm)),
            };
            let _below = below();
            let coerce = || -> PyResult {
                let method = wrap(t, vm)?.get_attr(COERCE, vm)?;
                // Where the class is the same, only what it says differs.
                if class.is(&self.class) { method.call((context,), vm) } else { method.call((context, class), vm) }
            };
            let made = coerce().map_err(raised)?;
            Ok(to_tensor(&made))
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// How a class puts its tensors together.
struct Unflatten {
    class: PyTypeRef,
    context: PyObjectRef,
}

impl Recipe for Unflatten {
    fn class_name(&self) -> String {
        self.class.name().to_string()
    }

    fn printed(&self) -> (String, String) {
        with_current_vm(|vm| (printed(&self.context, vm), printed(self.class.as_object(), vm)))
    }

    fn make(&self, inner: &[(Rc<str>, Tensor)], sizes: &[SymInt], strides: &[SymInt]) -> Result<Tensor> {
        with_current_vm(|vm| {
            let _below = below();
            let make = || -> PyResult {
                let given = vm.ctx.new_dict();
                for (name, t) in inner {
                    given.set_item(&**name, wrap(t, vm)?, vm)?;
                }
                let each = |sizes: &[SymInt]| sizes.iter().map(|s| from_size(s, vm)).collect::<PyResult<Vec<_>>>();
                let (sizes, strides) = (size_object(each(sizes)?, vm)?, vm.ctx.new_tuple(each(strides)?));
                self.class.as_object().get_attr("__tensor_unflatten__", vm)?.call((given, self.context.clone(), sizes, strides), vm)
            };
            let made = make().map_err(raised)?;
            to_tensor(&made).ok_or_else(|| Error::type_error("__tensor_unflatten__ must return a tensor"))
        })
    }

    fn same(&self, other: &dyn Recipe) -> bool {
        let Some(other) = other.as_any().downcast_ref::<Unflatten>() else { return false };
        let same_context = || with_current_vm(|vm| vm.bool_eq(&self.context, &other.context).unwrap_or(false));
        self.class.is(&other.class) && (self.context.is(&other.context) || same_context())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The layer of dispatch.
struct SubclassLayer;

fn is_answered(t: &Tensor) -> bool {
    t.imp().subclass.borrow().is_some()
}

/// While it lives, the innermost mode is not asked: its own calls go to those around it.
struct Aside(Option<PyObjectRef>);

impl Drop for Aside {
    fn drop(&mut self) {
        MODES.with_borrow_mut(|modes| modes.extend(self.0.take()));
    }
}

impl Layer for SubclassLayer {
    fn key(&self) -> Key {
        Key::Subclass
    }

    fn wants(&self, call: &Call) -> bool {
        let mut found = MODES.with_borrow(|modes| !modes.is_empty());
        call.args.iter().for_each(|v| v.for_each_tensor(&mut |t| found |= is_answered(t)));
        found
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        with_current_vm(|vm| {
            let _below = below();
            let classes = answering(&args);
            let FuncArgs { args: positional, kwargs } = python_arguments(entry, &args, vm)?;
            let named = vm.ctx.new_dict();
            for (name, value) in &kwargs {
                named.set_item(&*name.to_string_lossy(), value.clone(), vm).map_err(raised)?;
            }
            let types = vm.ctx.new_tuple(classes.iter().map(|c| c.clone().into()).collect());
            let given = (super::overloads::overload(entry, vm), types, vm.ctx.new_tuple(positional), named);
            let mode = Aside(MODES.with_borrow_mut(Vec::pop));
            if let Some(asked) = &mode.0 {
                let function = asked.get_attr(DISPATCH, vm).map_err(raised)?;
                let answer = function.call(given.clone(), vm).map_err(raised)?;
                if !answer.is(&vm.ctx.not_implemented) {
                    return results(entry, &answer, vm);
                }
            }
            let asked = mode.0.clone();
            drop(mode);
            for class in &classes {
                let function = class.as_object().get_attr(DISPATCH, vm).map_err(raised)?;
                let answer = function.call(given.clone(), vm).map_err(raised)?;
                if !answer.is(&vm.ctx.not_implemented) {
                    return results(entry, &answer, vm);
                }
            }
            Err(refused(entry, asked.as_ref(), &classes, vm))
        })
    }
}

/// An object as Python prints it.
fn printed(o: &PyObject, vm: &VirtualMachine) -> String {
    o.repr(vm).map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned())
}

/// Every mode and class said that it does not know the operator.
fn refused(entry: &OpEntry, mode: Option<&PyObjectRef>, classes: &[PyTypeRef], vm: &VirtualMachine) -> Error {
    let modes = mode.map(|mode| format!("\n  - mode object {}", printed(mode, vm)));
    let classes = classes.iter().map(|class| format!("\n  - tensor subclass {}", printed(class.as_object(), vm)));
    let all: String = modes.into_iter().chain(classes).collect();
    Error::type_error(format!(
        "Multiple dispatch failed for 'torch.ops.{}'; all __torch_dispatch__ handlers returned NotImplemented:\n{all}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented",
        entry.name
    ))
}

/// The classes of a call's arguments that answer operators, each once, those that derive from others before them.
fn answering(args: &[Value]) -> Vec<PyTypeRef> {
    let mut classes: Vec<PyTypeRef> = Vec::new();
    let mut add = |t: &Tensor| {
        let Some((class, _)) = object_of(t) else { return };
        if classes.iter().any(|known| known.is(&class)) {
            return;
        }
        let at = classes.iter().position(|known| class.fast_issubclass(known)).unwrap_or(classes.len());
        classes.insert(at, class);
    };
    args.iter().for_each(|v| v.for_each_tensor(&mut add));
    classes
}

pub(in crate::python::native) use module::module_def;

#[pymodule(name = "torch._native_subclass")]
mod module {
    use super::super::convert::to_value;
    use super::super::packet::PyOverload;
    use super::*;
    use crate::dispatch::{Rule, modes};
    use crate::tensor::{Device, Geometry, TensorSpec, contiguous_strides};
    use rustpython_vm::PyRef;
    use rustpython_vm::types::Constructor;

    /// `_make_wrapper_subclass(cls, size, strides=None, storage_offset=None, ..., dtype, device, requires_grad)`: a tensor that has no
    /// memory, and whose class answers every operator.
    #[pyfunction]
    fn make_wrapper_subclass(args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        const NAMES: [&str; 9] = ["cls", "size", "strides", "storage_offset", "memory_format", "dtype", "layout", "device", "pin_memory"];
        let given = |name: &str| {
            let at = NAMES.iter().position(|n| *n == name);
            at.and_then(|i| args.args.get(i)).or_else(|| args.kwargs.get(name)).filter(|o| !vm.is_none(o)).cloned()
        };
        let value = |name: &str| given(name).and_then(|o| to_value(&o, vm));
        let error = |e: Error| raise(e, vm);
        let class = given("cls").and_then(|o| o.downcast::<PyType>().ok());
        let class = class.ok_or_else(|| vm.new_type_error("_make_wrapper_subclass(): argument 'cls' must be a type"))?;
        if !answers(&class, vm) {
            return Err(vm.new_type_error(format!("{} must define __torch_dispatch__", class.name())));
        }
        // What the graph has computed becomes part of a tensor that no call of an operator made.
        tracing::graph_break(&Unsupported::other(&format!("construction of a {}", class.name()))).map_err(error)?;
        let size = value("size").ok_or_else(|| vm.new_type_error("_make_wrapper_subclass(): argument 'size' must be tuple of ints"))?;
        let sizes = size.sym_ints().map_err(error)?;
        let strides = value("strides").map(|v| v.sym_ints()).transpose().map_err(error)?.unwrap_or_else(|| contiguous_strides(&sizes));
        let offset = value("storage_offset").map(|v| v.sym_int()).transpose().map_err(error)?.unwrap_or(SymInt::Int(0));
        let dtype = value("dtype").map(|v| v.dtype()).transpose().map_err(error)?.flatten();
        let device = value("device").map(|v| v.device()).transpose().map_err(error)?.flatten();
        let device = match given("device") {
            Some(o) if device.is_none() => super::super::objects::parse_device(&o.str(vm)?.to_string_lossy()).map_err(error)?,
            _ => device.unwrap_or(Device::CPU),
        };
        let spec = TensorSpec {
            geometry: Geometry { sizes, strides, offset },
            dtype: dtype.unwrap_or_else(crate::ops::shapes::default_dtype),
            device,
        };
        let made = if modes().fake { Tensor::fake(&spec) } else { Tensor::without_memory(&spec) }.map_err(error)?;
        if args.kwargs.get("requires_grad").is_some_and(|o| o.is(&vm.ctx.true_value)) {
            super::super::packet::made_to_require_grad(&made).map_err(error)?;
        }
        new_object(&made, class, vm)
    }

    /// Calls of the metaclass's classes may become part of a graph from here on.
    #[pyfunction]
    fn watch_calls(metaclass: PyTypeRef) {
        super::super::subclass_calls::watch(&metaclass);
    }

    /// A mode sees every operator from here on, before those around it.
    #[pyfunction]
    fn push_mode(mode: PyObjectRef) {
        install();
        MODES.with_borrow_mut(|modes| modes.push(mode));
    }

    #[pyfunction]
    fn pop_mode(vm: &VirtualMachine) -> PyObjectRef {
        MODES.with_borrow_mut(Vec::pop).unwrap_or_else(|| vm.ctx.none())
    }

    /// The modes in force, the innermost last.
    #[pyfunction]
    fn modes_in_force() -> Vec<PyObjectRef> {
        MODES.with_borrow(Clone::clone)
    }

    /// `torch._C._DisableTorchDispatch`: in such a block neither modes nor classes are asked.
    #[pyattr]
    #[pyclass(name = "DisableTorchDispatch")]
    #[derive(Debug, PyPayload)]
    struct DisableTorchDispatch;

    impl Constructor for DisableTorchDispatch {
        type Args = ();
        fn py_new(_cls: &Py<PyType>, _args: (), _vm: &VirtualMachine) -> PyResult<Self> {
            Ok(DisableTorchDispatch)
        }
    }

    #[pyclass(with(Constructor))]
    impl DisableTorchDispatch {
        #[pymethod]
        fn __enter__(zelf: PyRef<Self>) -> PyRef<Self> {
            DISABLED.with_borrow_mut(|d| d.push(Exclude::also(Key::Subclass)));
            zelf
        }
        #[pymethod]
        fn __exit__(_zelf: &Py<Self>, _args: FuncArgs) {
            DISABLED.with_borrow_mut(Vec::pop);
        }
    }

    /// Per result of an operator: the position and name of the argument that it aliases, and whether that is written to; `None` where
    /// it aliases nothing.
    #[pyfunction]
    fn aliases(overload: PyRef<PyOverload>, vm: &VirtualMachine) -> PyResult {
        let schema = &overload.0.schema;
        let of = |set: char| schema.arguments.iter().enumerate().find(|(_, a)| a.alias == Some(set));
        let each = schema.returns.iter().map(|r| match r.alias.and_then(of) {
            Some((i, a)) => {
                let name = vm.ctx.new_str(a.name.as_str()).into();
                vm.ctx.new_tuple(vec![vm.ctx.new_int(i).into(), name, vm.ctx.new_bool(a.mutated).into()]).into()
            }
            None => vm.ctx.none(),
        });
        Ok(vm.ctx.new_list(each.collect()).into())
    }

    /// Whether an operator changes sizes and strides of its first argument in place.
    #[pyfunction]
    fn is_inplace_view(overload: PyRef<PyOverload>) -> bool {
        matches!(overload.0.rule, Rule::InplaceView(_))
    }

    /// From here on a tensor has the memory of another, in whatever sense tensors of its class have memory.
    #[pyfunction]
    fn share_storage(tensor: PyObjectRef, of: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        match (to_tensor(&tensor), to_tensor(&of)) {
            (Some(t), Some(of)) => t.share_storage(&of),
            _ => return Err(vm.new_type_error("expected Tensors")),
        }
        Ok(())
    }
}
