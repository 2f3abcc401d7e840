//! `torch._C.TensorBase`: what of a tensor is Python protocol rather than operator. `torch.Tensor` subclasses it in Python.

use rustpython_vm::builtins::{PyStr, PyType, PyTypeRef};
use rustpython_vm::function::{FuncArgs, OptionalArg};
use rustpython_vm::types::{AsMapping, AsNumber, Comparable, Constructor, GetAttr, Hashable};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyPayload, PyRef, PyResult, VirtualMachine};

use super::convert::{from_size, from_value, to_tensor, to_value};
use super::errors::raise;
use super::objects::{PyDevice, PyDtype, PyLayout, PyNode};
use super::payload::TensorBase;
use super::reading::{item, nested};
use super::subclass::wrap_as;
use crate::autograd::meta;
use crate::dispatch::{Modes, Value, modes, set_modes};
use crate::dynamo::Unsupported;
use crate::dynamo::tracing::{Callee, as_written, leave, leave_value};
use crate::error::{Error, Result};
use crate::shape::SymInt;
use crate::span::Written;
use crate::tensor::{Dtype, Layout, Tensor};

/// A change of whether a tensor requires grad is a graph break.
fn leave_to_python(t: &Tensor, requires_grad: bool, what: &str) -> Result<()> {
    match meta::requires_grad(t) == requires_grad {
        true => Ok(()),
        false => crate::dynamo::tracing::graph_break_on_requires_grad(t, requires_grad, what),
    }
}

/// What a leaf is to autograd, a function that is transformed may not change: its tensors are those of a level.
fn refuse_in_transform(what: &str, call: &str, vm: &VirtualMachine) -> PyResult<()> {
    // What is captured is no part of the level: without a change, it is left out.
    if !crate::transforms::levels::are_active() || crate::dynamo::tracing::capturing() {
        return Ok(());
    }
    let said = format!(
        "You are attempting to call {what} inside of a function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {call} outside of a function being transformed instead."
    );
    Err(raise(Error::runtime(said), vm))
}

/// Reading what a tensor is like makes it an input of the graph that is captured.
fn touched(zelf: &Py<TensorBase>) {
    // A tensor that cannot be an input fails when it is used.
    let _ = crate::dynamo::tracing::touch(&zelf.tensor(), false);
}

impl GetAttr for TensorBase {
    /// A tensor whose method or attribute the script looks up becomes an input there, before the arguments of the method's call
    /// (`h.add_(w.sum())`: first `h`), as in Dynamo.
    fn getattro(zelf: &Py<Self>, name: &Py<PyStr>, vm: &VirtualMachine) -> PyResult {
        if crate::dynamo::tracing::capturing() && crate::python::span::in_script() {
            touched(zelf);
            if let Some(inner) = super::subclass_calls::inner_tensor(&zelf.tensor(), name, vm)? {
                return Ok(inner);
            }
        }
        match super::torch_function::attribute(zelf, name, vm)? {
            Some(value) => Ok(value),
            None => zelf.as_object().generic_getattr(name, vm),
        }
    }
}

/// The tensor whose sizes a script sees: while it is recorded, an input's may be symbolic.
fn sized(zelf: &Py<TensorBase>) -> Tensor {
    let t = zelf.tensor();
    crate::dynamo::tracing::fake_tensor(&t).unwrap_or(t)
}

/// Sizes of a tensor are read: what computes them stands there in what is recorded.
fn read(sizes: &[SymInt], vm: &VirtualMachine) -> PyResult<()> {
    let Some(recorder) = crate::dynamo::tracing::recorder().filter(|_| sizes.iter().any(|size| size.as_int().is_none())) else {
        return Ok(());
    };
    sizes.iter().try_for_each(|size| recorder.read_size(size)).map_err(|e| raise(e, vm))
}

/// The first size of a tensor that is recorded, where it is symbolic.
pub fn symbolic_length(o: &PyObject, vm: &VirtualMachine) -> PyResult<Option<PyObjectRef>> {
    let Some(t) = o.downcast_ref::<TensorBase>().filter(|_| crate::dynamo::tracing::capturing()) else { return Ok(None) };
    touched(t);
    match sized(t).sizes().first() {
        Some(size @ SymInt::Sym(..)) => from_size(size, vm).map(Some),
        _ => Ok(None),
    }
}

impl Hashable for TensorBase {
    fn hash(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<i64> {
        Ok(zelf.as_object().get_id() as i64)
    }
}

fn same_sizes(a: &Tensor, b: &Tensor) -> bool {
    SymInt::all_statically_eq(&a.sizes(), &b.sizes())
}

/// `target.data = value` where calls are recorded: a call that writes to a tensor from outside. Says whether it was recorded;
/// what the graph cannot hold ends it.
fn replace_data(target: &Tensor, value: &Tensor) -> Result<bool> {
    use crate::dynamo::tracing::{break_graph, recorder};
    let recorder = recorder();
    if recorder.is_none() && !target.is_fake() {
        return Ok(false);
    }
    if let Some(recorder) = recorder {
        let (same_dtype, same_shape) = (target.dtype() == value.dtype(), same_sizes(target, value));
        if recorder.is_traced(target) || !same_dtype || !same_shape {
            break_graph(&Unsupported::set_data(same_dtype, same_shape))?;
            return Ok(false);
        }
    }
    let before = modes();
    set_modes(Modes { grad: false, ..before });
    let result = crate::aten!("shallow_copy_data_", target, value);
    set_modes(Modes { grad: before.grad, ..modes() });
    result.map(|_| true)
}

impl Constructor for TensorBase {
    type Args = FuncArgs;

    fn slot_new(cls: PyTypeRef, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let t = super::from_python::legacy_tensor(crate::ops::shapes::default_dtype(), true, &args, vm)?;
        wrap_as(&t, cls, vm)
    }

    fn py_new(_cls: &Py<PyType>, _args: FuncArgs, vm: &VirtualMachine) -> PyResult<Self> {
        Err(vm.new_type_error("TensorBase cannot be made this way"))
    }
}

#[pyclass(flags(BASETYPE, HAS_DICT, HAS_WEAKREF), with(AsNumber, AsMapping, Comparable, GetAttr, Hashable, Constructor))]
impl TensorBase {
    #[pygetset]
    fn shape(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        touched(zelf);
        let sizes = sized(zelf).sizes();
        read(&sizes, vm)?;
        let sizes = sizes.iter().map(|s| from_size(s, vm)).collect::<PyResult<Vec<_>>>()?;
        super::size::size_object(sizes, vm)
    }
    #[pymethod]
    fn size(zelf: &Py<Self>, dim: OptionalArg<Option<i64>>, vm: &VirtualMachine) -> PyResult {
        match dim.flatten() {
            None => Self::shape(zelf, vm),
            Some(d) => {
                touched(zelf);
                let t = sized(zelf);
                let d = crate::ops::shapes::wrap_dim(d, t.dim()).map_err(|e| raise(e, vm))?;
                if t.dim() == 0 {
                    return Err(vm.new_index_error("Dimension specified as 0 but tensor has no dimensions"));
                }
                read(&[t.size(d)], vm)?;
                from_size(&t.size(d), vm)
            }
        }
    }
    #[pymethod]
    fn stride(zelf: &Py<Self>, dim: OptionalArg<Option<i64>>, vm: &VirtualMachine) -> PyResult {
        touched(zelf);
        let t = sized(zelf);
        let strides = t.geometry().strides.clone();
        match dim.flatten() {
            None => Ok(vm.ctx.new_tuple(strides.iter().map(|s| from_size(s, vm)).collect::<PyResult<_>>()?).into()),
            Some(d) => {
                let d = crate::ops::shapes::wrap_dim(d, t.dim()).map_err(|e| raise(e, vm))?;
                strides.get(d).map_or_else(|| Err(vm.new_index_error("Dimension out of range")), |s| from_size(s, vm))
            }
        }
    }
    #[pymethod]
    fn storage_offset(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        leave_value(&zelf.tensor(), 0, "int", "storage_offset", vm)?;
        from_size(&zelf.tensor().geometry().offset, vm)
    }
    #[pymethod]
    fn dim(zelf: &Py<Self>) -> usize {
        touched(zelf);
        zelf.tensor().dim()
    }
    #[pymethod]
    fn ndimension(zelf: &Py<Self>) -> usize {
        zelf.tensor().dim()
    }
    #[pygetset]
    fn ndim(zelf: &Py<Self>) -> usize {
        touched(zelf);
        zelf.tensor().dim()
    }
    #[pymethod]
    fn numel(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        touched(zelf);
        let count = sized(zelf).numel();
        if let Some(recorder) = crate::dynamo::tracing::recorder() {
            recorder.counted(&zelf.tensor(), &count).map_err(|e| raise(e, vm))?;
        }
        from_size(&count, vm)
    }
    #[pymethod]
    fn nelement(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        Self::numel(zelf, vm)
    }
    #[pymethod]
    fn element_size(zelf: &Py<Self>) -> usize {
        zelf.tensor().dtype().itemsize()
    }
    #[pygetset]
    fn itemsize(zelf: &Py<Self>) -> usize {
        zelf.tensor().dtype().itemsize()
    }
    #[pygetset]
    fn nbytes(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let t = zelf.tensor();
        from_size(&(&t.numel() * t.dtype().itemsize() as i64), vm)
    }
    #[pygetset]
    fn dtype(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        touched(zelf);
        PyDtype::object(zelf.tensor().dtype(), vm)
    }
    #[pygetset]
    fn device(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
        touched(zelf);
        PyDevice(zelf.tensor().device()).into_pyobject(vm)
    }
    #[pygetset]
    fn layout(_zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
        PyLayout(Layout::Strided).into_pyobject(vm)
    }
    #[pygetset]
    fn is_cuda(zelf: &Py<Self>) -> bool {
        zelf.tensor().device().kind == crate::tensor::DeviceType::Cuda
    }
    #[pygetset]
    fn is_cpu(zelf: &Py<Self>) -> bool {
        zelf.tensor().device().kind == crate::tensor::DeviceType::Cpu
    }
    #[pygetset]
    fn is_meta(zelf: &Py<Self>) -> bool {
        zelf.tensor().device().kind == crate::tensor::DeviceType::Meta
    }
    #[pygetset]
    fn is_sparse(_zelf: &Py<Self>) -> bool {
        false
    }
    #[pygetset]
    fn is_quantized(_zelf: &Py<Self>) -> bool {
        false
    }
    #[pygetset]
    fn is_mkldnn(_zelf: &Py<Self>) -> bool {
        false
    }
    #[pygetset]
    fn is_nested(_zelf: &Py<Self>) -> bool {
        false
    }
    #[pymethod]
    fn is_floating_point(zelf: &Py<Self>) -> bool {
        zelf.tensor().dtype().is_floating()
    }
    #[pymethod]
    fn is_complex(zelf: &Py<Self>) -> bool {
        zelf.tensor().dtype().is_complex()
    }
    #[pymethod]
    fn is_signed(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<bool> {
        leave_value(&zelf.tensor(), 0, "bool", "is_signed", vm)?;
        Ok(!matches!(zelf.tensor().dtype(), Dtype::Bool | Dtype::UInt8))
    }
    #[pymethod]
    fn is_conj(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<bool> {
        leave_value(&zelf.tensor(), 0, "bool", "is_conj", vm)?;
        Ok(zelf.tensor().math_bits().conj)
    }
    #[pymethod]
    fn is_neg(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<bool> {
        leave_value(&zelf.tensor(), 0, "bool", "is_neg", vm)?;
        Ok(zelf.tensor().math_bits().neg)
    }
    #[pymethod]
    fn is_contiguous(zelf: &Py<Self>, args: FuncArgs, vm: &VirtualMachine) -> PyResult<bool> {
        super::errors::check_taken("is_contiguous", &args, 0, &["memory_format"], vm)?;
        touched(zelf);
        let t = zelf.tensor();
        let format = args.kwargs.get("memory_format").and_then(|o| to_value(o, vm));
        match format {
            Some(Value::MemoryFormat(f)) if f != crate::tensor::MemoryFormat::Contiguous => {
                let g = t.geometry();
                let order: &[usize] = match (f, g.sizes.len()) {
                    (crate::tensor::MemoryFormat::ChannelsLast, 4) => &[1, 3, 2, 0],
                    (crate::tensor::MemoryFormat::ChannelsLast3d, 5) => &[1, 4, 3, 2, 0],
                    _ => return Ok(false),
                };
                let mut expected = SymInt::Int(1);
                Ok(order.iter().all(|d| {
                    let fits = g.sizes[*d].statically_eq(1) || g.strides[*d].statically_eq(expected.clone());
                    expected = &expected * &g.sizes[*d];
                    fits
                }))
            }
            _ => t.is_contiguous().map_err(|e| raise(e, vm)),
        }
    }
    #[pymethod]
    fn is_set_to(zelf: &Py<Self>, other: PyObjectRef, vm: &VirtualMachine) -> PyResult<bool> {
        leave_value(&zelf.tensor(), 0, "bool", "is_set_to", vm)?;
        let (t, other) = (zelf.tensor(), to_tensor(&other));
        let Some(other) = other.filter(|o| o.storage().same(&t.storage())) else { return Ok(false) };
        let (a, b) = (t.concrete().map_err(|e| raise(e, vm))?, other.concrete().map_err(|e| raise(e, vm))?);
        Ok(a.sizes == b.sizes && a.strides == b.strides && a.offset == b.offset)
    }
    #[pymethod]
    fn data_ptr(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<i64> {
        let t = zelf.tensor();
        if super::reading::is_of_trace(&t) {
            let said = "Cannot access data pointer of Tensor (e.g. FakeTensor, FunctionalTensor). If you're using torch.compile/export/fx, it is likely that we are erroneously tracing into a custom kernel. To fix this, please wrap the custom kernel into an opaque custom op. Please see the following for details: https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html";
            return Err(raise(Error::runtime(said), vm));
        }
        super::reading::refuse_wrapped(&t, vm)?;
        if t.numel().as_int() == Some(0) {
            return Ok(0);
        }
        let offset = t.geometry().offset.guard_int().map_err(|e| raise(e, vm))?;
        Ok(((t.storage().id() as i64) << 36) + offset * t.dtype().itemsize() as i64)
    }
    #[pymethod]
    fn _storage_nbytes(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<i64> {
        zelf.tensor().storage().nbytes().guard_int().map_err(|e| raise(e, vm))
    }
    #[pymethod]
    fn item(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let _written = Written::Method("item").enter();
        from_value(item(&zelf.tensor(), vm)?, vm).map(crate::dynamo::tracing::given_number)
    }
    #[pymethod]
    fn tolist(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        nested(&zelf.tensor(), vm).map(crate::dynamo::tracing::given_number)
    }
    #[pygetset]
    fn requires_grad(zelf: &Py<Self>) -> bool {
        touched(zelf);
        meta::requires_grad(&zelf.tensor())
    }
    #[pygetset(setter)]
    fn set_requires_grad(zelf: &Py<Self>, value: bool, vm: &VirtualMachine) -> PyResult<()> {
        leave_to_python(&zelf.tensor(), value, "setattr() on Tensor.requires_grad").map_err(|e| raise(e, vm))?;
        meta::set_requires_grad(&zelf.tensor(), value).map_err(|e| raise(e, vm))
    }
    #[pymethod]
    fn requires_grad_(zelf: PyRef<Self>, value: OptionalArg<bool>, vm: &VirtualMachine) -> PyResult {
        let value = value.unwrap_or(true);
        leave_to_python(&zelf.tensor(), value, "Unsupported Tensor.requires_grad_() call").map_err(|e| raise(e, vm))?;
        refuse_in_transform("Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs)", "requires_grad_()", vm)?;
        meta::set_requires_grad(&zelf.tensor(), value).map_err(|e| raise(e, vm))?;
        Ok(zelf.into())
    }
    #[pygetset]
    fn is_leaf(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<bool> {
        Ok(meta::grad_fn(&zelf.tensor()).map_err(|e| raise(e, vm))?.is_none())
    }
    #[pygetset]
    fn grad(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let t = zelf.tensor();
        if let Some(grad) = meta::grad(&t) {
            return super::payload::wrap(&grad, vm);
        }
        if meta::requires_grad(&t) && !meta::is_leaf(&t) && !meta::peek(&t, |m| m.retains_grad) {
            let module = vm.import("torch._tensor", 0)?.get_attr("_tensor", vm)?;
            vm.call_method(&module, "_warn_of_grad", ())?;
        }
        Ok(vm.ctx.none())
    }
    #[pygetset(setter)]
    fn set_grad(zelf: &Py<Self>, value: rustpython_vm::function::PySetterValue<PyObjectRef>, vm: &VirtualMachine) -> PyResult<()> {
        crate::dynamo::tracing::note_side_effect();
        let rustpython_vm::function::PySetterValue::Assign(value) = value else {
            meta::set_grad(&zelf.tensor(), None);
            return Ok(());
        };
        if vm.is_none(&value) {
            meta::set_grad(&zelf.tensor(), None);
            return Ok(());
        }
        let Some(g) = to_tensor(&value) else {
            return Err(
                vm.new_type_error(format!("assigned grad expected to be a Tensor or None but got grad of type {}", value.class().name()))
            );
        };
        let t = zelf.tensor();
        if g.is(&t) {
            return Err(raise(Error::runtime("can't assign Variable as its own grad"), vm));
        }
        if g.dtype() != t.dtype() {
            let (given, own) = (g.dtype().c_name(), t.dtype().scalar_type());
            return Err(raise(
                Error::runtime(format!(
                    "attempting to assign a gradient with dtype '{given}' to a tensor with grad_dtype '{own}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream systems that assume they match."
                )),
                vm,
            ));
        }
        if g.dim() != t.dim() || g.sizes().iter().zip(t.sizes()).any(|(a, b)| a.hint() != b.hint()) {
            let (given, own) = (crate::ops::geometry::list(&g.sizes()), crate::ops::geometry::list(&t.sizes()));
            return Err(raise(
                Error::runtime(format!(
                    "attempting to assign a gradient of size '{given}' to a tensor of size '{own}'. Please ensure that the gradient and the tensor are the same size"
                )),
                vm,
            ));
        }
        if let Some(recorder) = crate::dynamo::tracing::recorder() {
            recorder.note_gradient(&t, &g);
        }
        meta::set_grad(&t, Some(g));
        Ok(())
    }
    #[pygetset]
    fn grad_fn(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let f = meta::grad_fn(&zelf.tensor()).map_err(|e| raise(e, vm))?;
        f.map_or_else(|| Ok(vm.ctx.none()), |(node, _)| PyNode::object(node, vm))
    }
    #[pygetset]
    fn output_nr(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<usize> {
        Ok(meta::grad_fn(&zelf.tensor()).map_err(|e| raise(e, vm))?.map_or(0, |(_, i)| i))
    }
    #[pygetset]
    fn data(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let t = zelf.tensor();
        if crate::transforms::levels::batched(&crate::transforms::levels::live(&t)) {
            return Err(raise(Error::runtime("accessing `data` under vmap transform is not allowed"), vm));
        }
        let read = || {
            let alias = crate::t!("detach", &t).map_err(|e| raise(e, vm))?;
            // Where calls are recorded, it is the call's result; else it counts its own writes.
            let recorded = alias.is_fake() || t.imp().functional.borrow().is_some();
            super::payload::wrap(&if recorded { alias } else { alias.shallow_copy() }, vm)
        };
        let callee = || Callee::function("torch._C._autograd._get_data_attr".to_owned());
        as_written(callee, &FuncArgs::from(vec![PyObjectRef::from(zelf.to_owned())]), vm, read)
    }
    #[pygetset]
    fn real(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        if zelf.tensor().dtype().is_complex() {
            part(zelf, "real", || crate::t!("real", &zelf.tensor()), vm)
        } else {
            Ok(zelf.to_owned().into())
        }
    }
    #[pygetset]
    fn imag(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        part(zelf, "imag", || crate::t!("imag", &zelf.tensor()), vm)
    }
    #[pygetset(setter)]
    fn set_real(zelf: &Py<Self>, given: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        fill(&*Self::real(zelf, vm)?, given, vm)
    }
    #[pygetset(setter)]
    fn set_imag(zelf: &Py<Self>, given: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        fill(&*Self::imag(zelf, vm)?, given, vm)
    }
    #[pygetset(setter)]
    fn set_data(zelf: &Py<Self>, given: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        let value = to_tensor(&given).ok_or_else(|| vm.new_type_error("Variable data has to be a tensor"))?;
        if replace_data(&zelf.tensor(), &value).map_err(|e| raise(e, vm))? {
            return Ok(());
        }
        // A graph may have ended: both are what they are now.
        let value = to_tensor(&given).unwrap_or(value);
        meta::set_data(&zelf.tensor(), &value).map_err(|e| raise(e, vm))?;
        zelf.tensor().adopt(&value);
        Ok(())
    }
    #[pygetset]
    fn _base(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let t = zelf.tensor();
        let base = meta::base(&t).filter(|_| meta::is_differentiable_view(&t));
        base.map_or_else(|| Ok(vm.ctx.none()), |b| super::payload::wrap(&b, vm))
    }
    #[pymethod]
    fn _is_view(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<bool> {
        leave_value(&zelf.tensor(), 0, "bool", "_is_view", vm)?;
        Ok(meta::is_differentiable_view(&zelf.tensor()))
    }
    #[pymethod]
    fn is_inference(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<bool> {
        if zelf.tensor().is_fake() {
            leave(Unsupported::is_inference, vm)?;
        }
        Ok(meta::is_inference(&zelf.tensor()))
    }
    #[pygetset]
    fn _version(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<u64> {
        let t = zelf.tensor();
        if meta::is_inference(&t) {
            return Err(raise(Error::runtime("Inference tensors do not track version counter."), vm));
        }
        Ok(t.version())
    }
    #[pygetset]
    fn retains_grad(zelf: &Py<Self>) -> bool {
        meta::peek(&zelf.tensor(), |m| m.retains_grad)
    }
    #[pymethod]
    fn retain_grad(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<()> {
        crate::dynamo::tracing::graph_break(&Unsupported::retain_grad()).map_err(|e| raise(e, vm))?;
        let t = zelf.tensor();
        if !meta::requires_grad(&t) {
            return Err(raise(Error::runtime("can't retain_grad on Tensor that has requires_grad=False"), vm));
        }
        refuse_in_transform("Tensor.retain_grad()", "retain_grad()", vm)?;
        if meta::peek(&t, |m| m.retains_grad) {
            return Ok(());
        }
        if let Some((node, index)) = meta::grad_fn(&t).map_err(|e| raise(e, vm))? {
            node.retain_grad.borrow_mut().push((index, t.downgrade()));
            meta::with(&t, |m| m.retains_grad = true);
        }
        Ok(())
    }
}

/// A part of a complex tensor, which Dynamo reads as an attribute.
fn part(of: &Py<TensorBase>, name: &str, read: impl FnOnce() -> crate::error::Result<Tensor>, vm: &VirtualMachine) -> PyResult {
    let read = || super::payload::wrap(&read().map_err(|e| raise(e, vm))?, vm);
    let args = FuncArgs::from(vec![PyObjectRef::from(of.to_owned()), vm.ctx.new_str(name).into()]);
    as_written(|| Callee::Function("getattr".to_owned(), "getattr".to_owned()), &args, vm, read)
}

/// Writes a tensor, or one number, to all of a part.
fn fill(part: &PyObject, given: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
    let write = if to_tensor(&given).is_some() { "copy_" } else { "fill_" };
    vm.call_method(part, write, (given,)).map(drop)
}
