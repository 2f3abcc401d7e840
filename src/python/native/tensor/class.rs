//! `torch._C.TensorBase`: what of a tensor is Python protocol rather than operator. `torch.Tensor` subclasses it in Python.

use std::cell::RefCell;

use rustpython_vm::builtins::{PySlice, PyStr, PyType, PyTypeRef};
use rustpython_vm::function::{Either, FuncArgs, OptionalArg, PyComparisonValue};
use rustpython_vm::protocol::{PyMappingMethods, PyNumberMethods};
use rustpython_vm::types::{AsMapping, AsNumber, Comparable, Constructor, GetAttr, Hashable, PyComparisonOp};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyPayload, PyRef, PyResult, VirtualMachine};

use super::convert::{from_size, from_value, items, raise, to_int, to_tensor, to_value};
use super::objects::{PyDevice, PyDtype, PyLayout, PyNode};
use super::packet::call_packet;
use crate::autograd::{gradient_edge, meta};
use crate::capture::Unsupported;
use crate::dispatch::{Modes, Value, modes, set_modes};
use crate::error::{Error, Result};
use crate::ops::indexing::{IndexItem, getitem, setitem};
use crate::python::native::compile::{Callee, as_written};
use crate::shape::SymInt;
use crate::span::Written;
use crate::tensor::{Dtype, Layout, Tensor};

/// The payload of every tensor object.
#[pyclass(module = "torch._C", name = "TensorBase")]
#[derive(PyPayload)]
pub struct TensorBase(RefCell<Tensor>);

/// PyTorch's front end leaves a change of whether a tensor requires grad to Python.
fn leave_to_python(t: &Tensor, requires_grad: bool, what: &str) -> Result<()> {
    match meta::requires_grad(t) == requires_grad {
        true => Ok(()),
        false => super::super::compile::end_region_where_grad_is_required(t, requires_grad, what),
    }
}

impl std::fmt::Debug for TensorBase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.tensor().fmt(f)
    }
}

/// The Python object a tensor is known by. The object clears it when it dies, so what is there is alive.
struct Known {
    object: *const PyObject,
    payload: *const TensorBase,
}

impl Drop for TensorBase {
    fn drop(&mut self) {
        let this: *const TensorBase = self;
        let t = self.0.get_mut();
        let mut slot = t.imp().python.borrow_mut();
        // A tensor that was given to another object is known by that one.
        if slot.as_ref().and_then(|b| b.downcast_ref::<Known>()).is_some_and(|k| std::ptr::eq(k.payload, this)) {
            *slot = None;
        }
    }
}

thread_local! {
    static CLASS: RefCell<Option<PyTypeRef>> = const { RefCell::new(None) };
}

/// The class that tensors get: `torch.Tensor` once it exists.
pub fn tensor_class(vm: &VirtualMachine) -> PyTypeRef {
    CLASS.with_borrow(Clone::clone).unwrap_or_else(|| TensorBase::class(&vm.ctx).to_owned())
}

/// Says which class tensors get.
pub fn set_tensor_class(class: PyTypeRef) {
    CLASS.set(Some(class));
}

/// Lets go of the class that `torch` gave tensors.
pub fn forget_tensor_class() {
    CLASS.set(None);
}

/// The Python object of a tensor: the one it is known by, or a new one.
pub fn wrap(t: &Tensor, vm: &VirtualMachine) -> PyResult {
    if let Some(known) = t.imp().python.borrow().as_ref().and_then(|b| b.downcast_ref::<Known>()) {
        // SAFETY: the pointer is removed when the object's payload is dropped (above), and objects do not move.
        return Ok(unsafe { &*known.object }.to_owned());
    }
    wrap_as(t, super::fake::class_of(t).unwrap_or_else(|| tensor_class(vm)), vm)
}

/// A new Python object of a class for a tensor that has none.
pub fn wrap_as(t: &Tensor, class: PyTypeRef, vm: &VirtualMachine) -> PyResult {
    let object: PyRef<TensorBase> = TensorBase(RefCell::new(t.clone())).into_ref_with_type_lazy_dict(vm, class)?;
    let payload: *const TensorBase = &**object;
    let object: PyObjectRef = object.into();
    *t.imp().python.borrow_mut() = Some(Box::new(Known { object: &*object as *const PyObject, payload }));
    Ok(object)
}

/// The Python object of a lazy tensor becomes that of its value.
pub fn replace_payload(lazy: &Tensor, real: &Tensor) {
    let known = lazy.imp().python.borrow_mut().take();
    let Some(known) = known else { return };
    if let Some(k) = known.downcast_ref::<Known>() {
        // SAFETY: as in `wrap`: what is in the slot is alive.
        let payload = unsafe { &*k.payload };
        *payload.0.borrow_mut() = real.clone();
    }
    let mut slot = real.imp().python.borrow_mut();
    if slot.is_none() {
        *slot = Some(known);
    }
}

/// Reading what a tensor is like makes it an input of the region being captured.
fn touched(zelf: &Py<TensorBase>) {
    // A tensor that cannot be an input fails when it is used.
    let _ = super::super::compile::touch(&zelf.tensor(), false);
}

impl GetAttr for TensorBase {
    /// A tensor whose method or attribute the script looks up becomes an input there, before the arguments of the method's call
    /// (`h.add_(w.sum())`: first `h`), as in PyTorch's front end.
    fn getattro(zelf: &Py<Self>, name: &Py<PyStr>, vm: &VirtualMachine) -> PyResult {
        if super::super::compile::capturing() && crate::python::span::in_script() {
            touched(zelf);
        }
        zelf.as_object().generic_getattr(name, vm)
    }
}

/// The tensor whose sizes a script sees: while it is recorded, an input's may be symbolic.
fn sized(zelf: &Py<TensorBase>) -> Tensor {
    let t = zelf.tensor();
    super::super::compile::twin(&t).unwrap_or(t)
}

/// The first size of a tensor that is recorded, where it is symbolic.
pub fn symbolic_length(o: &PyObject, vm: &VirtualMachine) -> PyResult<Option<PyObjectRef>> {
    let Some(t) = o.downcast_ref::<TensorBase>().filter(|_| super::super::compile::capturing()) else { return Ok(None) };
    touched(t);
    match sized(t).sizes().first() {
        Some(size @ SymInt::Sym(..)) => from_size(size, vm).map(Some),
        _ => Ok(None),
    }
}

impl TensorBase {
    /// The tensor.
    pub fn tensor(&self) -> Tensor {
        self.0.borrow().clone()
    }
}

fn unary(packet: &'static str, written: Written, a: &PyObject, vm: &VirtualMachine) -> PyResult {
    call_packet(packet, written, &FuncArgs::from(vec![a.to_owned()]), vm)
}

/// A binary operator; what is neither tensor nor number is left to the other side.
fn binary(packet: &'static str, written: Written, a: &PyObject, b: &PyObject, vm: &VirtualMachine) -> PyResult {
    let fits = |o: &PyObject| match to_value(o, vm) {
        Some(v) => v.is_scalar() || v.as_tensor().is_some(),
        None => false,
    };
    if !fits(a) || !fits(b) {
        return Ok(vm.ctx.not_implemented());
    }
    call_packet(packet, written, &FuncArgs::from(vec![a.to_owned(), b.to_owned()]), vm)
}

/// An operator whose operands the call to make takes in another order or another form.
fn reflected(symbol: &'static str, a: &PyObject, b: &PyObject, vm: &VirtualMachine, make: impl FnOnce() -> PyResult) -> PyResult {
    as_written(|| Callee::Operator(symbol), &FuncArgs::from(vec![a.to_owned(), b.to_owned()]), vm, make)
}

macro_rules! commutative {
    ($packet:literal, $symbol:literal) => {
        Some(|a, b, vm| match to_tensor(a) {
            Some(_) => binary($packet, Written::Operator($symbol), a, b, vm),
            None => reflected($symbol, a, b, vm, || binary($packet, Written::Operator($symbol), b, a, vm)),
        })
    };
}
macro_rules! ordered {
    ($packet:literal, $symbol:literal) => {
        Some(|a, b, vm| binary($packet, Written::Operator($symbol), a, b, vm))
    };
}
macro_rules! written_to {
    ($packet:literal, $symbol:literal) => {
        Some(|a, b, vm| binary($packet, Written::Operator($symbol), a, b, vm))
    };
}

/// The number behind a tensor of one element.
fn item(t: &Tensor, vm: &VirtualMachine) -> PyResult<Value> {
    if t.numel().guard_int().map_err(|e| raise(e, vm))? != 1 {
        return Err(raise(Error::runtime(format!("a Tensor with {} elements cannot be converted to Scalar", t.numel())), vm));
    }
    crate::aten!("_local_scalar_dense", t).map_err(|e| raise(e, vm))
}

/// The number that `float(t)` and `int(t)` convert.
fn only(t: &Tensor, vm: &VirtualMachine) -> PyResult<Value> {
    if t.numel().guard_int().map_err(|e| raise(e, vm))? != 1 {
        return Err(vm.new_value_error("only one element tensors can be converted to Python scalars"));
    }
    item(t, vm)
}

fn truth(t: &Tensor, vm: &VirtualMachine) -> PyResult<bool> {
    let n = t.numel().guard_int().map_err(|e| raise(e, vm))?;
    match n {
        1 if crate::transforms::levels::batched(t) => Err(raise(Error::runtime(crate::transforms::batching::CONTROL_FLOW), vm)),
        1 if super::super::compile::record_assert(t, vm)? => Ok(true),
        1 => {
            let t = with_values(t, || super::super::compile::branch_reason(t), vm)?;
            // The graph has ended, and which way Python goes is asked of the value.
            let number = {
                let is_traced = crate::aot::trace::current_tracer().is_some_and(|tracer| tracer.sees_script());
                let _outside = (!is_traced).then(|| crate::dispatch::Exclude::only(crate::dispatch::Key::Capture));
                item(&t, vm)?
            };
            let truth = match number {
                Value::Bool(b) => b,
                Value::Int(i) => i.as_int() != Some(0),
                Value::Float(f) => f != 0.0,
                Value::Complex(re, im) => re != 0.0 || im != 0.0,
                _ => true,
            };
            super::super::compile::branched(truth);
            Ok(truth)
        }
        0 => Err(raise(Error::runtime("Boolean value of Tensor with no values is ambiguous"), vm)),
        _ => Err(raise(Error::runtime("Boolean value of Tensor with more than one value is ambiguous"), vm)),
    }
}

fn me(o: &PyObject, vm: &VirtualMachine) -> PyResult<Tensor> {
    to_tensor(o).ok_or_else(|| vm.new_type_error("expected a Tensor"))
}

impl AsNumber for TensorBase {
    fn as_number() -> &'static PyNumberMethods {
        static METHODS: PyNumberMethods = PyNumberMethods {
            add: commutative!("aten.add", "+"),
            multiply: commutative!("aten.mul", "*"),
            subtract: Some(|a, b, vm| match to_tensor(a) {
                Some(_) => binary("aten.sub", Written::Operator("-"), a, b, vm),
                None => reflected("-", a, b, vm, || binary("aten.rsub", Written::Operator("-"), b, a, vm)),
            }),
            true_divide: Some(|a, b, vm| match to_tensor(a) {
                Some(_) => binary("aten.div", Written::Operator("/"), a, b, vm),
                None => {
                    if to_value(a, vm).is_none_or(|v| !v.is_scalar()) {
                        return Ok(vm.ctx.not_implemented());
                    }
                    reflected("/", a, b, vm, || {
                        let inverse = unary("aten.reciprocal", Written::Method("reciprocal"), b, vm)?;
                        binary("aten.mul", Written::Operator("*"), &inverse, a, vm)
                    })
                }
            }),
            floor_divide: ordered!("aten.floor_divide", "//"),
            remainder: ordered!("aten.remainder", "%"),
            power: Some(|a, b, _modulus, vm| binary("aten.pow", Written::Operator("**"), a, b, vm)),
            matrix_multiply: ordered!("aten.matmul", "@"),
            and: commutative!("aten.bitwise_and", "&"),
            or: commutative!("aten.bitwise_or", "|"),
            xor: commutative!("aten.bitwise_xor", "^"),
            lshift: ordered!("aten.__lshift__", "<<"),
            rshift: ordered!("aten.__rshift__", ">>"),
            negative: Some(|a, vm| unary("aten.neg", Written::Operator("-"), a.obj, vm)),
            positive: Some(|a, _vm| Ok(a.obj.to_owned())),
            absolute: Some(|a, vm| unary("aten.abs", Written::Operator("abs"), a.obj, vm)),
            invert: Some(|a, vm| {
                if !me(a.obj, vm)?.dtype().is_integral() {
                    return Err(vm.new_type_error("~ (operator.invert) is only implemented on integer and Boolean-type tensors"));
                }
                unary("aten.bitwise_not", Written::Operator("~"), a.obj, vm)
            }),
            boolean: Some(|a, vm| truth(&me(a.obj, vm)?, vm)),
            int: Some(|a, vm| {
                let value = from_value(only(&me(a.obj, vm)?, vm)?, vm)?;
                value.try_int(vm).map(Into::into)
            }),
            float: Some(|a, vm| {
                let value = from_value(only(&me(a.obj, vm)?, vm)?, vm)?;
                value.try_float(vm).map(Into::into)
            }),
            index: Some(|a, vm| {
                let t = me(a.obj, vm)?;
                if t.dtype().is_integral() && t.numel().as_int() == Some(1) {
                    let value = from_value(item(&t, vm)?, vm)?;
                    return vm.ctx.types.int_type.to_owned().as_object().call((value,), vm);
                }
                Err(vm.new_type_error("only integer tensors of a single element can be converted to an index"))
            }),
            inplace_add: written_to!("aten.add_", "+="),
            inplace_subtract: written_to!("aten.sub_", "-="),
            inplace_multiply: written_to!("aten.mul_", "*="),
            inplace_true_divide: written_to!("aten.div_", "/="),
            inplace_floor_divide: written_to!("aten.floor_divide_", "//="),
            inplace_remainder: written_to!("aten.remainder_", "%="),
            inplace_power: Some(|a, b, _modulus, vm| binary("aten.pow_", Written::Operator("**="), a, b, vm)),
            inplace_and: written_to!("aten.bitwise_and_", "&="),
            inplace_or: written_to!("aten.bitwise_or_", "|="),
            inplace_xor: written_to!("aten.bitwise_xor_", "^="),
            ..PyNumberMethods::NOT_IMPLEMENTED
        };
        &METHODS
    }
}

impl Comparable for TensorBase {
    fn slot_richcompare(
        zelf: &PyObject,
        other: &PyObject,
        op: PyComparisonOp,
        vm: &VirtualMachine,
    ) -> PyResult<Either<PyObjectRef, PyComparisonValue>> {
        let (packet, symbol) = match op {
            PyComparisonOp::Lt => ("aten.lt", "<"),
            PyComparisonOp::Gt => ("aten.gt", ">"),
            PyComparisonOp::Ge => ("aten.ge", ">="),
            PyComparisonOp::Le => ("aten.le", "<="),
            PyComparisonOp::Eq => ("aten.eq", "=="),
            PyComparisonOp::Ne => ("aten.ne", "!="),
        };
        let result = binary(packet, Written::Operator(symbol), zelf, other, vm)?;
        Ok(if result.is(&vm.ctx.not_implemented) { Either::B(PyComparisonValue::NotImplemented) } else { Either::A(result) })
    }

    fn cmp(_zelf: &Py<Self>, _other: &PyObject, _op: PyComparisonOp, _vm: &VirtualMachine) -> PyResult<PyComparisonValue> {
        Ok(PyComparisonValue::NotImplemented)
    }
}

impl Hashable for TensorBase {
    fn hash(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<i64> {
        Ok(zelf.as_object().get_id() as i64)
    }
}

fn same_sizes(a: &Tensor, b: &Tensor) -> bool {
    let (a, b) = (a.sizes(), b.sizes());
    a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| x.statically_eq(y.clone()))
}

/// `target.data = value` where calls are recorded: a call that writes to a tensor from outside. Says whether it was recorded;
/// what the graph cannot hold ends it.
fn replace_data(target: &Tensor, value: &Tensor) -> Result<bool> {
    use crate::python::native::compile::{break_graph, recorder};
    let recorder = recorder();
    if recorder.is_none() && !target.is_fake() {
        return Ok(false);
    }
    if let Some(recorder) = recorder {
        let (same_dtype, same_shape) = (target.dtype() == value.dtype(), same_sizes(target, value));
        if recorder.is_lazy(target) || !same_dtype || !same_shape {
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

/// A list whose symbolic numbers are the numbers that they are.
fn numbers_of(o: &PyObject, vm: &VirtualMachine) -> PyResult {
    match (super::symint::symbolic(o, vm), items(o)) {
        (Some(size), _) => Ok(vm.ctx.new_int(size.guard_int().map_err(|e| raise(e, vm))?).into()),
        (None, Some(parts)) => {
            let parts = parts.iter().map(|part| numbers_of(part, vm)).collect::<PyResult<Vec<_>>>()?;
            Ok(vm.ctx.new_list(parts).into())
        }
        _ => Ok(o.to_owned()),
    }
}

fn index_item(o: &PyObject, vm: &VirtualMachine) -> PyResult<IndexItem> {
    if let Some(s) = o.downcast_ref::<PySlice>() {
        let part = |p: &PyObject| -> PyResult<Option<SymInt>> {
            if vm.is_none(p) {
                return Ok(None);
            }
            if let Some(size) = super::symint::symbolic(p, vm) {
                return Ok(Some(size));
            }
            let index = p.try_index(vm)?;
            Ok(to_int(index.as_object()).map(SymInt::Int))
        };
        let or_none = |p: &Option<PyObjectRef>| p.as_ref().map_or(Ok(None), |p| part(p));
        return Ok(IndexItem::Slice(or_none(&s.start)?, part(&s.stop)?, or_none(&s.step)?));
    }
    if o.is(&vm.ctx.ellipsis) {
        return Ok(IndexItem::Ellipsis);
    }
    let range = o.downcast_ref::<rustpython_vm::builtins::PyRange>().map(|_| vm.ctx.types.list_type.to_owned());
    if let Some(list) = range {
        let numbers = list.as_object().call((o.to_owned(),), vm)?;
        return index_item(&numbers, vm);
    }
    if items(o).is_some() {
        // A list inside an index is a tensor of positions, or a mask.
        // Only what is recorded or traced has symbols.
        let has_symbols = super::super::compile::is_called() || crate::aot::trace::current_tracer().is_some();
        let numbers = if has_symbols { numbers_of(o, vm)? } else { o.to_owned() };
        let t = super::autograd::functions::tensor_from(&numbers, None, vm)?;
        let dtype = if t.dtype() == Dtype::Bool { Dtype::Bool } else { Dtype::Int64 };
        let t = if t.dtype() == dtype { t } else { crate::t!("_to_copy", t; dtype = dtype).map_err(|e| raise(e, vm))? };
        return Ok(if super::super::compile::is_called() { IndexItem::Constant(t) } else { IndexItem::Tensor(t) });
    }
    match to_value(o, vm) {
        Some(Value::None) => Ok(IndexItem::NewAxis),
        Some(Value::Bool(b)) => Ok(IndexItem::Bool(b)),
        Some(Value::Int(i)) => Ok(IndexItem::Int(i)),
        Some(Value::Tensor(t)) => Ok(IndexItem::Tensor(t)),
        // A string is a sequence, of which PyTorch would make a tensor.
        Some(Value::Str(_)) => Err(vm.new_type_error("new(): invalid data type 'str'")),
        _ => {
            let index = o.try_index(vm).map_err(|_| {
                vm.new_index_error(format!(
                    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})",
                    o.class().name()
                ))
            })?;
            Ok(IndexItem::Int(SymInt::Int(to_int(index.as_object()).unwrap_or(i64::MAX))))
        }
    }
}

fn index_items(o: &PyObject, vm: &VirtualMachine) -> PyResult<Vec<IndexItem>> {
    if let Some(t) = o.downcast_ref::<rustpython_vm::builtins::PyTuple>() {
        // Among several indices PyTorch takes integers as numbers, also those that are symbols.
        let number = |item: IndexItem| match item {
            IndexItem::Int(i) => i.guard_int().map(|i| IndexItem::Int(SymInt::Int(i))).map_err(|e| raise(e, vm)),
            other => Ok(other),
        };
        return t.as_slice().iter().map(|i| index_item(i, vm).and_then(number)).collect();
    }
    Ok(vec![index_item(o, vm)?])
}

impl AsMapping for TensorBase {
    fn as_mapping() -> &'static PyMappingMethods {
        static METHODS: PyMappingMethods = PyMappingMethods {
            length: Some(|mapping, vm| {
                let t = TensorBase::mapping_downcast(mapping).tensor();
                if t.dim() == 0 {
                    return Err(vm.new_type_error("len() of a 0-d tensor"));
                }
                t.size(0).guard_int().map(|n| n as usize).map_err(|e| raise(e, vm))
            }),
            subscript: Some(|mapping, needle, vm| {
                let t = TensorBase::mapping_downcast(mapping).tensor();
                let args = FuncArgs::from(vec![mapping.obj.to_owned(), needle.to_owned()]);
                as_written(
                    || Callee::Operator("[]"),
                    &args,
                    vm,
                    || {
                        let _written = Written::Operator("[]").enter();
                        let result = getitem(&t, &index_items(needle, vm)?).map_err(|e| raise(e, vm))?;
                        super::wrap(&result, vm)
                    },
                )
            }),
            ass_subscript: Some(|mapping, needle, value, vm| {
                let t = TensorBase::mapping_downcast(mapping).tensor();
                let Some(value) = value else { return Err(vm.new_type_error("'Tensor' object does not support item deletion")) };
                let args = FuncArgs::from(vec![mapping.obj.to_owned(), needle.to_owned(), value.clone()]);
                let value = super::packet::value(&value, vm)?;
                // While it is recorded, an input's sizes may be symbolic: first the one that is written becomes an input.
                let read = |t: &Tensor| super::super::compile::touch(t, false).map_err(|e| raise(e, vm));
                let value = match &value {
                    Value::Tensor(source) => {
                        read(&t)?;
                        super::to_tensor(needle).map_or(Ok(()), |index| read(&index))?;
                        super::super::compile::touch_numbers(needle, vm)?;
                        read(source)?;
                        super::super::compile::twin(source).map_or(value, Value::Tensor)
                    }
                    _ => value,
                };
                let set = || {
                    let _written = Written::Operator("[]=").enter();
                    setitem(&t, &index_items(needle, vm)?, &value).map_err(|e| raise(e, vm))?;
                    Ok(vm.ctx.none())
                };
                as_written(|| Callee::Operator("[]="), &args, vm, set).map(|_| ())
            }),
        };
        &METHODS
    }
}

impl Constructor for TensorBase {
    type Args = FuncArgs;

    fn slot_new(cls: PyTypeRef, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let t = super::autograd::functions::legacy_tensor(crate::ops::shapes::default_dtype(), &args, vm)?;
        wrap_as(&t, cls, vm)
    }

    fn py_new(_cls: &Py<PyType>, _args: FuncArgs, vm: &VirtualMachine) -> PyResult<Self> {
        Err(vm.new_type_error("TensorBase cannot be made this way"))
    }
}

/// The tensor with its values: where it is lazy, recording stops here.
pub fn with_values(t: &Tensor, reason: impl FnOnce() -> Unsupported, vm: &VirtualMachine) -> PyResult<Tensor> {
    if !t.is_fake() || !super::super::compile::is_called() {
        return Ok(t.clone());
    }
    let object = wrap(t, vm)?;
    super::super::compile::break_graph(&reason()).map_err(|e| raise(e, vm))?;
    to_tensor(&object).ok_or_else(|| vm.new_type_error("expected a Tensor"))
}

/// A nested list of the elements.
fn nested(t: &Tensor, vm: &VirtualMachine) -> PyResult {
    let is_integer = t.dtype().is_integral() && t.dtype() != Dtype::Bool;
    if is_integer && super::super::compile::recorder().is_some_and(|r| r.wants_scalars()) {
        return nested_symbols(t, vm);
    }
    // Also a tensor of the caller's ends the graph.
    super::super::compile::end_region(&Unsupported::tolist()).map_err(|e| raise(e, vm))?;
    let t = &with_values(t, Unsupported::tolist, vm)?;
    let _outside = crate::dispatch::Exclude::only(crate::dispatch::Key::Capture);
    let c = t.concrete().map_err(|e| raise(e, vm))?;
    let flat = crate::t!("contiguous", t).map_err(|e| raise(e, vm))?;
    let values = elements(&flat).map_err(|e| raise(e, vm))?;
    let mut objects: Vec<PyObjectRef> = values.into_iter().map(|v| from_value(v, vm)).collect::<PyResult<_>>()?;
    for &size in c.sizes.iter().rev() {
        if size == 0 {
            // Lists of nothing: as many as the sizes before it say.
            objects = vec![vm.ctx.new_list(Vec::new()).into(); c.sizes.iter().take_while(|s| **s != 0).product()];
            continue;
        }
        objects = objects.chunks(size).map(|chunk| vm.ctx.new_list(chunk.to_vec()).into()).collect();
    }
    Ok(objects.into_iter().next().unwrap_or_else(|| vm.ctx.new_list(Vec::new()).into()))
}

/// The same, each number a symbol of the graph that is recorded.
fn nested_symbols(t: &Tensor, vm: &VirtualMachine) -> PyResult {
    if t.dim() == 0 {
        let _written = Written::Method("item").enter();
        return from_value(item(t, vm)?, vm);
    }
    let rows = t.size(0).guard_int().map_err(|e| raise(e, vm))?;
    let row = |i: i64| {
        let written = Written::Operator("[]").enter();
        let row = crate::t!("select.int", t, 0, i).map_err(|e| raise(e, vm))?;
        drop(written);
        nested_symbols(&row, vm)
    };
    Ok(vm.ctx.new_list((0..rows).map(row).collect::<PyResult<Vec<_>>>()?).into())
}

/// The elements of a contiguous tensor as Python numbers.
pub fn elements(t: &Tensor) -> Result<Vec<Value>> {
    let n = t.numel().guard_int()? as usize;
    // An empty view may begin beyond its storage.
    let at = if n == 0 { 0 } else { t.geometry().offset.guard_int()? as usize };
    macro_rules! read {
        ($ty:ty, $f:expr) => {
            t.with_slice::<$ty, _>(|s| s[at..at + n].iter().map($f).collect())
        };
    }
    match t.dtype() {
        Dtype::Bool => read!(u8, |v| Value::Bool(*v != 0)),
        Dtype::UInt8 => read!(u8, |v| Value::from(i64::from(*v))),
        Dtype::Int8 => read!(i8, |v| Value::from(i64::from(*v))),
        Dtype::Int16 => read!(i16, |v| Value::from(i64::from(*v))),
        Dtype::Int32 => read!(i32, |v| Value::from(i64::from(*v))),
        Dtype::Int64 => read!(i64, |v| Value::from(*v)),
        Dtype::Float16 => read!(half::f16, |v| Value::Float(f64::from(*v))),
        Dtype::BFloat16 => read!(half::bf16, |v| Value::Float(f64::from(*v))),
        Dtype::Float32 => read!(f32, |v| Value::Float(f64::from(*v))),
        Dtype::Float64 => read!(f64, |v| Value::Float(*v)),
        Dtype::Complex64 => t.with_slice::<f32, _>(|s| {
            s[2 * at..2 * (at + n)].chunks(2).map(|p| Value::Complex(f64::from(p[0]), f64::from(p[1]))).collect()
        }),
        Dtype::Complex128 => t.with_slice::<f64, _>(|s| s[2 * at..2 * (at + n)].chunks(2).map(|p| Value::Complex(p[0], p[1])).collect()),
    }
}

#[pyclass(flags(BASETYPE, HAS_DICT, HAS_WEAKREF), with(AsNumber, AsMapping, Comparable, GetAttr, Hashable, Constructor))]
impl TensorBase {
    #[pygetset]
    fn shape(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        touched(zelf);
        let sizes = sized(zelf).sizes().iter().map(|s| from_size(s, vm)).collect::<PyResult<Vec<_>>>()?;
        super::autograd::functions::size_object(sizes, vm)
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
        if let Some(recorder) = super::super::compile::recorder() {
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
    fn is_signed(zelf: &Py<Self>) -> bool {
        !matches!(zelf.tensor().dtype(), Dtype::Bool | Dtype::UInt8)
    }
    #[pymethod]
    fn is_conj(_zelf: &Py<Self>) -> bool {
        false
    }
    #[pymethod]
    fn is_neg(_zelf: &Py<Self>) -> bool {
        false
    }
    #[pymethod]
    fn is_contiguous(zelf: &Py<Self>, args: FuncArgs, vm: &VirtualMachine) -> PyResult<bool> {
        touched(zelf);
        let t = zelf.tensor();
        let format = args.args.first().or_else(|| args.kwargs.get("memory_format")).and_then(|o| to_value(o, vm));
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
    fn is_set_to(zelf: &Py<Self>, other: PyObjectRef) -> bool {
        to_tensor(&other).is_some_and(|o| o.storage().same(&zelf.tensor().storage()))
    }
    #[pymethod]
    fn data_ptr(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<i64> {
        let t = zelf.tensor();
        let offset = t.geometry().offset.guard_int().map_err(|e| raise(e, vm))?;
        Ok(((t.storage().id() as i64) << 36) + offset * t.dtype().itemsize() as i64)
    }
    #[pymethod]
    fn _storage_nbytes(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<i64> {
        zelf.tensor().storage().nbytes().guard_int().map_err(|e| raise(e, vm))
    }
    #[pymethod]
    fn _storage_id(zelf: &Py<Self>) -> u64 {
        zelf.tensor().storage().id()
    }
    #[pymethod]
    fn item(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let _written = Written::Method("item").enter();
        from_value(item(&zelf.tensor(), vm)?, vm).map(super::super::compile::given_number)
    }
    #[pymethod]
    fn tolist(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        nested(&zelf.tensor(), vm).map(super::super::compile::given_number)
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
            return super::wrap(&grad, vm);
        }
        if meta::requires_grad(&t) && !meta::is_leaf(&t) && !meta::peek(&t, |m| m.retains_grad) {
            let module = vm.import("torch._tensor", 0)?.get_attr("_tensor", vm)?;
            vm.call_method(&module, "_warn_of_grad", ())?;
        }
        Ok(vm.ctx.none())
    }
    #[pygetset(setter)]
    fn set_grad(zelf: &Py<Self>, value: rustpython_vm::function::PySetterValue<PyObjectRef>, vm: &VirtualMachine) -> PyResult<()> {
        crate::python::native::compile::note_side_effect();
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
        let read = || {
            let alias = crate::t!("detach", &t).map_err(|e| raise(e, vm))?;
            // Where calls are recorded, it is the call's result; else it counts its own writes.
            let recorded = alias.is_fake() || t.imp().functional.borrow().is_some();
            super::wrap(&if recorded { alias } else { alias.shallow_copy() }, vm)
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
        zelf.tensor().adopt(&to_tensor(&given).unwrap_or(value));
        Ok(())
    }
    #[pygetset]
    fn _base(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let t = zelf.tensor();
        let base = meta::base(&t).filter(|_| meta::is_differentiable_view(&t));
        base.map_or_else(|| Ok(vm.ctx.none()), |b| super::wrap(&b, vm))
    }
    #[pymethod]
    fn _is_view(zelf: &Py<Self>) -> bool {
        meta::is_differentiable_view(&zelf.tensor())
    }
    #[pymethod]
    fn is_inference(zelf: &Py<Self>) -> bool {
        meta::is_inference(&zelf.tensor())
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
        let t = zelf.tensor();
        if !meta::requires_grad(&t) {
            return Err(raise(Error::runtime("can't retain_grad on Tensor that has requires_grad=False"), vm));
        }
        if meta::peek(&t, |m| m.retains_grad) {
            return Ok(());
        }
        super::super::compile::end_region_of(&t, &Unsupported::retain_grad()).map_err(|e| raise(e, vm))?;
        let t = zelf.tensor();
        if let Some((node, index)) = meta::grad_fn(&t).map_err(|e| raise(e, vm))? {
            node.retain_grad.borrow_mut().push((index, t.downgrade()));
            meta::with(&t, |m| m.retains_grad = true);
        }
        Ok(())
    }
    #[pymethod]
    fn _gradient_edge_is_leaf(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<bool> {
        Ok(gradient_edge(&zelf.tensor()).map_err(|e| raise(e, vm))?.is_none_or(|e| e.node.seq_nr == u64::MAX))
    }
}

/// A part of a complex tensor, which PyTorch's front end reads as an attribute.
fn part(of: &Py<TensorBase>, name: &str, read: impl FnOnce() -> crate::error::Result<Tensor>, vm: &VirtualMachine) -> PyResult {
    let read = || super::wrap(&read().map_err(|e| raise(e, vm))?, vm);
    let args = FuncArgs::from(vec![PyObjectRef::from(of.to_owned()), vm.ctx.new_str(name).into()]);
    as_written(|| Callee::Function("getattr".to_owned(), "getattr".to_owned()), &args, vm, read)
}

/// Writes a tensor, or one number, to all of a part.
fn fill(part: &PyObject, given: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
    let write = if to_tensor(&given).is_some() { "copy_" } else { "fill_" };
    vm.call_method(part, write, (given,)).map(drop)
}
