//! What is behind a Python tensor: its payload, the one object that each tensor has, and the classes of such objects.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use rustpython_vm::builtins::{PyDictRef, PyType, PyTypeRef};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyPayload, PyRef, PyResult, VirtualMachine};

use crate::tensor::Tensor;

/// The payload of every tensor object.
#[pyclass(module = "torch._C", name = "TensorBase")]
#[derive(PyPayload)]
pub struct TensorBase(RefCell<Tensor>);

impl TensorBase {
    /// The tensor.
    pub fn tensor(&self) -> Tensor {
        self.0.borrow().clone()
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

/// What a class answers operators with.
pub const DISPATCH: &str = "__torch_dispatch__";

thread_local! {
    static CLASS: RefCell<Option<PyTypeRef>> = const { RefCell::new(None) };
    static FAKE_CLASS: RefCell<Option<PyTypeRef>> = const { RefCell::new(None) };
    static FUNCTIONAL_CLASS: RefCell<Option<PyTypeRef>> = const { RefCell::new(None) };
}

/// The class that tensors get: `torch.Tensor` once it exists.
pub fn tensor_class(vm: &VirtualMachine) -> PyTypeRef {
    CLASS.with_borrow(Clone::clone).unwrap_or_else(|| TensorBase::class(&vm.ctx).to_owned())
}

/// Says which class tensors get.
pub fn set_tensor_class(class: PyTypeRef) {
    CLASS.set(Some(class));
}

/// Says which class tensors of a script's fake mode get.
pub fn set_fake_class(class: PyTypeRef) {
    FAKE_CLASS.set(Some(class));
}

/// The object of a tensor without values that no mode of the script's made: it is of the class that theirs have.
pub fn fake_object(t: &Tensor, vm: &VirtualMachine) -> PyResult {
    let class = match FAKE_CLASS.with_borrow(Clone::clone) {
        Some(class) => class,
        None => crate::python::native::calls::imported("torch._subclasses.fake_tensor", vm)?
            .get_attr("FakeTensor", vm)?
            .downcast()
            .map_err(|_| vm.new_type_error("FakeTensor is no class"))?,
    };
    wrap_with(t, class, None, vm)
}

/// Says which class functional tensors of a script's get.
pub fn set_functional_class(class: Option<PyTypeRef>) {
    FUNCTIONAL_CLASS.set(class);
}

/// Lets go of the classes that `torch` gave tensors.
pub fn forget() {
    CLASS.take();
    FAKE_CLASS.take();
    FUNCTIONAL_CLASS.take();
}

/// The class of a tensor that a script's mode made; none for other tensors.
fn class_of(t: &Tensor) -> Option<PyTypeRef> {
    if t.storage().fake_mode() != 0 {
        return FAKE_CLASS.with_borrow(Clone::clone);
    }
    let of_mode = crate::aot::functional::is_enabled() && crate::aot::functional::is_functional_tensor(t);
    of_mode.then(|| FUNCTIONAL_CLASS.with_borrow(Clone::clone)).flatten()
}

/// Whether a class answers operators.
pub fn answers(class: &Py<PyType>, vm: &VirtualMachine) -> bool {
    let Some(found) = class.get_attr(vm.ctx.intern_str(DISPATCH)) else { return false };
    tensor_class(vm).get_attr(vm.ctx.intern_str(DISPATCH)).is_none_or(|plain| !plain.is(&found))
}

/// What a tensor's class and attributes are.
pub struct Instance {
    pub class: PyTypeRef,
    pub dict: PyDictRef,
}

/// The class and the attributes of a tensor's objects, where its class answers operators.
pub fn object_of(t: &Tensor) -> Option<(PyTypeRef, PyDictRef)> {
    let known = t.imp().subclass.borrow();
    let instance = known.as_ref()?.as_any().downcast_ref::<Instance>()?;
    Some((instance.class.clone(), instance.dict.clone()))
}

/// How many hold the Python object of a tensor; none where it has no object.
fn holders(t: &Tensor) -> usize {
    let slot = t.imp().python.borrow();
    // SAFETY: as in `wrap`.
    slot.as_ref().and_then(|b| b.downcast_ref::<Known>()).map_or(0, |known| unsafe { &*known.object }.strong_count())
}

/// Those of some tensors, by number, that Python holds: by more than the attributes of those among them that are made of others.
pub fn held_by_python(tensors: &[Tensor]) -> HashSet<u64> {
    let mut as_parts: HashMap<u64, usize> = HashMap::new();
    for (_, dict) in tensors.iter().filter_map(object_of) {
        for (_, value) in dict {
            if let Some(part) = value.downcast_ref::<TensorBase>() {
                *as_parts.entry(part.tensor().id()).or_default() += 1;
            }
        }
    }
    let as_part = |t: &Tensor| as_parts.get(&t.id()).copied().unwrap_or(0);
    tensors.iter().filter(|t| holders(t) > as_part(t)).map(Tensor::id).collect()
}

/// The Python object of a tensor: the one it is known by, or a new one.
pub fn wrap(t: &Tensor, vm: &VirtualMachine) -> PyResult {
    if let Some(known) = t.imp().python.borrow().as_ref().and_then(|b| b.downcast_ref::<Known>()) {
        // SAFETY: the pointer is removed when the object's payload is dropped (above), and objects do not move.
        return Ok(unsafe { &*known.object }.to_owned());
    }
    if let Some((class, dict)) = object_of(t) {
        return wrap_with(t, class, Some(dict), vm);
    }
    wrap_with(t, class_of(t).unwrap_or_else(|| tensor_class(vm)), None, vm)
}

/// The same with the attributes that it has; where there are none, with room for some.
pub fn wrap_with(t: &Tensor, class: PyTypeRef, dict: Option<PyDictRef>, vm: &VirtualMachine) -> PyResult {
    let payload = TensorBase(RefCell::new(t.clone()));
    let object: PyRef<TensorBase> = match dict {
        Some(dict) => PyRef::new_ref(payload, class, Some(dict)),
        None => payload.into_ref_with_type_lazy_dict(vm, class)?,
    };
    let payload: *const TensorBase = &**object;
    let object: PyObjectRef = object.into();
    *t.imp().python.borrow_mut() = Some(Box::new(Known { object: &*object as *const PyObject, payload }));
    Ok(object)
}

/// Two objects change their tensors, each of which is known by the other object from then on; nothing where one is no tensor's.
pub fn swap(a: &PyObject, b: &PyObject) -> Option<()> {
    let (a, b) = (a.downcast_ref::<TensorBase>()?, b.downcast_ref::<TensorBase>()?);
    if !std::ptr::eq(&**a, &**b) {
        let (of_a, of_b) = (a.tensor(), b.tensor());
        a.0.swap(&b.0);
        of_a.imp().python.swap(&of_b.imp().python);
    }
    Some(())
}

/// The Python object of a fake tensor becomes that of its value.
pub fn replace_payload(fake: &Tensor, real: &Tensor) {
    let known = fake.imp().python.borrow_mut().take();
    let Some(known) = known else { return };
    if let Some(k) = known.downcast_ref::<Known>() {
        // SAFETY: as in `wrap`: what is in the slot is alive.
        let payload = unsafe { &*k.payload };
        *payload.0.borrow_mut() = real.clone();
        // What its class keeps on it is what it keeps on the value, which may be of another class than was thought.
        let (was, is) = (object_of(fake), object_of(real));
        if was.is_some() || is.is_some() {
            rustpython_vm::vm::thread::with_current_vm(|vm| {
                let (class, dict) = is.unwrap_or_else(|| (tensor_class(vm), vm.ctx.new_dict()));
                // SAFETY: likewise.
                let object = unsafe { &*k.object };
                object.set_class(class, vm);
                let _ = object.set_dict(Some(dict));
            });
        }
    }
    let mut slot = real.imp().python.borrow_mut();
    if slot.is_none() {
        *slot = Some(known);
    }
}
