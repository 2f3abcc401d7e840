//! Where a compiled function finds its Python values: a path from an argument or a global (`L['self']._modules['drop'].training`),
//! which can be followed again in another call, and read from the text of a guard.

use std::rc::Rc;

use rustpython_vm::builtins::{PyDict, PyDictRef, PyFunction, PyList, PySet, PyStr, PyTuple, PyType};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyRef, PyResult, VirtualMachine};

use crate::python::native::tensor::{numpy_input, to_tensor, wrap};

/// The Python values that a call starts from: arguments by name, and what the function closes over.
pub type Locals = Vec<(Rc<str>, PyObjectRef)>;

/// Where a Python value is found.
#[derive(Clone, Debug)]
pub enum Source {
    /// An argument, or a variable of an enclosing function: `L['n']`.
    Local(Rc<str>),
    /// A global of the function's: `G['scale']`.
    Global(PyDictRef, Rc<str>),
    /// A global of another module's, by that module's name: `G['__import_helpers'].scale`.
    Imported(PyDictRef, Rc<str>, Rc<str>),
    /// An attribute: `L['self'].gain`.
    Attr(Rc<Source>, Rc<str>),
    /// A submodule: `L['self']._modules['drop']`.
    Module(Rc<Source>, Rc<str>),
    /// An element of a list or tuple.
    Index(Rc<Source>, usize),
    /// A value of a dictionary.
    Key(Rc<Source>, PyObjectRef),
    /// A value of a dictionary of the script's class, by the position of its key.
    Entry(Rc<Source>, usize),
    /// What a function closes over, by position.
    Cell(Rc<Source>, usize),
    /// What the class of an object has itself, or the class at that position among those it inherits from, itself first: a dictionary to
    /// guards.
    ClassDict(Rc<Source>, usize),
    /// What is built in.
    Builtin(Rc<str>),
    /// The tensor of one of numpy's arrays or scalars: `___from_numpy(L['x'])`.
    Numpy(Rc<Source>),
}

/// An attribute that an object has itself.
pub fn own_attribute(o: &PyObject, name: &str, vm: &VirtualMachine) -> Option<PyObjectRef> {
    o.dict()?.get_item_opt(name, vm).ok().flatten()
}

/// What a class has itself.
pub fn attribute_of_class(class: &Py<PyType>, name: &str, vm: &VirtualMachine) -> Option<PyObjectRef> {
    class.get_direct_attr(vm.ctx.intern_str(name))
}

/// The class from which objects of one have an attribute, and its position among those that it inherits from, itself first.
pub fn class_with(class: &Py<PyType>, name: &str, vm: &VirtualMachine) -> Option<(usize, PyRef<PyType>)> {
    class.mro_collect().into_iter().enumerate().find(|(_, class)| attribute_of_class(class, name, vm).is_some())
}

/// What a dictionary has at a key, or a class itself by that name. A dictionary of the script's class is not asked: it may make what it
/// lacks.
pub fn item(o: &PyObject, key: &PyObject, vm: &VirtualMachine) -> Option<PyObjectRef> {
    if let (Some(class), Some(name)) = (o.downcast_ref::<PyType>(), key.downcast_ref::<PyStr>()) {
        return attribute_of_class(class, &name.to_string_lossy(), vm);
    }
    let dict = o.downcast_ref::<PyDict>()?;
    let is_plain = o.class().is(vm.ctx.types.dict_type);
    if is_plain { dict.get_item_opt(key, vm).ok().flatten() } else { entry(dict, key, vm).map(|(_, value)| value) }
}

/// A module's own submodule.
pub fn submodule(o: &PyObject, name: &str, vm: &VirtualMachine) -> Option<PyObjectRef> {
    let modules = own_attribute(o, "_modules", vm)?;
    modules.downcast_ref::<PyDict>()?.get_item_opt(name, vm).ok().flatten()
}

/// The cells of what a function closes over.
pub fn cells(function: &PyObject, vm: &VirtualMachine) -> Vec<PyObjectRef> {
    let cells = function.get_attr("__closure__", vm).ok();
    cells.and_then(|cells| cells.downcast_ref::<PyTuple>().map(|cells| cells.as_slice().to_vec())).unwrap_or_default()
}

/// A cell of a function.
fn cell_at(o: &PyObject, index: usize, vm: &VirtualMachine) -> Option<PyObjectRef> {
    cells(o.downcast_ref::<PyFunction>()?.as_object(), vm).get(index).cloned()
}

/// The value of a function's cell.
pub fn cell(o: &PyObject, index: usize, vm: &VirtualMachine) -> Option<PyObjectRef> {
    cell_at(o, index, vm)?.get_attr("cell_contents", vm).ok()
}

/// Whether an object, its class or a module's registries have an attribute; nothing of the script's is asked.
pub fn has_attribute(o: &PyObject, name: &str, vm: &VirtualMachine) -> bool {
    let interned = vm.ctx.intern_str(name);
    let of_class = match o.downcast_ref::<PyType>() {
        Some(class) => class.get_attr(interned),
        None => o.class().get_attr(interned),
    };
    let registered =
        |registry| own_attribute(o, registry, vm).is_some_and(|held| item(&held, vm.ctx.new_str(name).as_object(), vm).is_some());
    if own_attribute(o, "_modules", vm).is_some() && ["_parameters", "_buffers", "_modules"].into_iter().any(registered) {
        return true;
    }
    of_class.is_some() || own_attribute(o, name, vm).is_some()
}

/// Whether a dictionary is of one of Python's own classes, which Dynamo knows: sources of what others hold are by position.
pub fn is_known_dict(o: &PyObject) -> bool {
    o.downcast_ref::<PyDict>().is_some() && ["dict", "OrderedDict", "defaultdict"].contains(&&*o.class().name())
}

/// The value of a dictionary's key, and its position; its class is not asked what it makes of keys that are not there.
pub fn entry(dict: &Py<PyDict>, key: &PyObject, vm: &VirtualMachine) -> Option<(usize, PyObjectRef)> {
    let is_key = |k: &PyObject| k.is(key) || vm.bool_eq(k, key).unwrap_or(false);
    dict.into_iter().enumerate().find(|(_, (k, _))| is_key(k)).map(|(i, (_, value))| (i, value))
}

/// The elements of a `collections.deque`.
pub fn deque(o: &PyObject, vm: &VirtualMachine) -> Option<Vec<PyObjectRef>> {
    (&*o.class().name() == "deque").then(|| vm.extract_elements_with(o, Ok).ok()).flatten()
}

/// How many elements a `collections.deque` or a set has.
pub fn count(o: &PyObject, vm: &VirtualMachine) -> Option<usize> {
    match o.downcast_ref::<PySet>() {
        Some(set) => Some(set.elements().len()),
        None => deque(o, vm).map(|items| items.len()),
    }
}

/// The gradient that a tensor of the script's has, or None.
pub fn gradient(o: &PyObject, vm: &VirtualMachine) -> Option<PyObjectRef> {
    let t = to_tensor(o).filter(|t| !t.is_fake())?;
    match crate::autograd::meta::grad(&t) {
        Some(grad) => wrap(&grad, vm).ok(),
        None => Some(vm.ctx.none()),
    }
}

/// What a module is called among the globals of a function that calls into it.
fn imported(module: &str) -> String {
    format!("__import_{}", module.replace(['>', '<'], "_").replace('.', "_dot_"))
}

/// A field of a named tuple.
pub fn field(o: &PyObject, name: &str, vm: &VirtualMachine) -> Option<PyObjectRef> {
    let items = o.downcast_ref::<PyTuple>()?;
    let fields = o.class().get_attr(vm.ctx.intern_str("_fields"))?;
    let is_named = |f: &PyObjectRef| f.downcast_ref::<PyStr>().is_some_and(|f| f.as_bytes() == name.as_bytes());
    items.as_slice().get(fields.downcast_ref::<PyTuple>()?.as_slice().iter().position(is_named)?).cloned()
}

fn element(o: &PyObject, index: usize, vm: &VirtualMachine) -> Option<PyObjectRef> {
    match (o.downcast_ref::<PyTuple>(), o.downcast_ref::<PyList>()) {
        (Some(items), _) => items.as_slice().get(index).cloned(),
        (_, Some(items)) => items.borrow_vec().get(index).cloned(),
        _ => deque(o, vm)?.get(index).cloned(),
    }
}

impl Source {
    /// The value that is there now.
    pub fn value(&self, locals: &Locals, vm: &VirtualMachine) -> Option<PyObjectRef> {
        match self {
            Source::Local(name) => locals.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone()),
            Source::Global(globals, name) | Source::Imported(globals, _, name) => globals.get_item_opt(&**name, vm).ok().flatten(),
            Source::Attr(base, name) => {
                let base = base.value(locals, vm)?;
                if &**name == "grad"
                    && let Some(grad) = gradient(&base, vm)
                {
                    return Some(grad);
                }
                if let Some(field) = field(&base, name, vm) {
                    return Some(field);
                }
                if &**name == "__dict__" {
                    return base.dict().map(Into::into);
                }
                let name = vm.ctx.intern_str(&**name);
                match base.downcast_ref::<PyType>() {
                    Some(class) => class.get_attr(name),
                    None => own_attribute(&base, name.as_str(), vm).or_else(|| base.class().get_attr(name)),
                }
            }
            Source::Module(base, name) => submodule(&*base.value(locals, vm)?, name, vm),
            Source::Index(base, index) => element(&*base.value(locals, vm)?, *index, vm),
            Source::Key(base, key) => item(&*base.value(locals, vm)?, key, vm),
            Source::Entry(base, index) => base.value(locals, vm)?.downcast_ref::<PyDict>()?.into_iter().nth(*index).map(|(_, value)| value),
            Source::Cell(base, index) => cell(&*base.value(locals, vm)?, *index, vm),
            Source::ClassDict(base, index) => base.value(locals, vm)?.class().mro_collect().into_iter().nth(*index).map(Into::into),
            Source::Builtin(name) => vm.builtins.get_attr(vm.ctx.intern_str(&**name), vm).ok(),
            Source::Numpy(base) => wrap(&numpy_input(&*base.value(locals, vm)?, vm)?, vm).ok(),
        }
    }

    /// As a guard writes it: `L['self']._modules['drop'].training`.
    pub fn text(&self, vm: &VirtualMachine) -> String {
        match self {
            Source::Local(name) => format!("L['{name}']"),
            Source::Global(_, name) => format!("G['{name}']"),
            Source::Imported(_, module, name) => format!("G['{}'].{name}", imported(module)),
            Source::Attr(base, name) => format!("{}.{name}", base.text(vm)),
            Source::Module(base, name) => format!("{}._modules['{name}']", base.text(vm)),
            Source::Index(base, index) => format!("{}[{index}]", base.text(vm)),
            Source::Key(base, key) => {
                format!("{}[{}]", base.text(vm), key.repr(vm).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default())
            }
            Source::Entry(base, index) => {
                let base = base.text(vm);
                format!("dict.__getitem__({base}, list(dict.keys({base}))[{index}])")
            }
            Source::Cell(base, index) => format!("{}.__closure__[{index}].cell_contents", base.text(vm)),
            Source::ClassDict(base, 0) => format!("dict(type({}).__dict__)", base.text(vm)),
            Source::ClassDict(base, index) => format!("dict(type({}).__mro__[{index}].__dict__)", base.text(vm)),
            Source::Builtin(name) => format!("G['__builtins_dict___1']['{name}']"),
            Source::Numpy(base) => format!("___from_numpy({})", base.text(vm)),
        }
    }

    /// As Python shows an object of PyTorch's `Source` classes.
    pub fn shown(&self, vm: &VirtualMachine) -> String {
        let item = |base: &str, index: &str| format!("DictGetItemSource(base={base}, index={index})");
        let attribute = |base: &str, name: &str| format!("AttrSource(base={base}, member='{name}')");
        match self {
            Source::Local(name) => {
                format!("LocalSource(local_name='{name}', is_input=True, dynamism=None, is_derefed_cell_contents=False)")
            }
            Source::Global(_, name) => format!("GlobalSource(global_name='{name}')"),
            Source::Imported(_, module, name) => attribute(&format!("GlobalSource(global_name='{}')", imported(module)), name),
            Source::Attr(base, name) => attribute(&base.shown(vm), name),
            Source::Module(base, name) => {
                let modules = attribute(&format!("UnspecializedNNModuleSource(base={})", base.shown(vm)), "_modules");
                item(&modules, &format!("'{name}'"))
            }
            Source::Key(base, key) => item(&base.shown(vm), &key.repr(vm).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()),
            Source::Index(base, index) => format!("GetItemSource(base={}, index={index}, index_is_slice=False)", base.shown(vm)),
            Source::Numpy(base) => format!("NumpyTensorSource(base={})", base.shown(vm)),
            Source::Entry(..) | Source::Cell(..) | Source::ClassDict(..) | Source::Builtin(_) => self.text(vm),
        }
    }

    /// What it starts from, by the name that orders guards.
    pub fn root(&self) -> (bool, Rc<str>) {
        match self {
            Source::Local(name) => (false, name.clone()),
            Source::Global(_, name) => (true, name.clone()),
            Source::Imported(_, module, _) => (true, imported(module).into()),
            Source::Builtin(_) => (true, "__builtins_dict___1".into()),
            Source::Attr(base, _) | Source::Module(base, _) | Source::Key(base, _) => base.root(),
            Source::Index(base, _) | Source::Entry(base, _) | Source::Cell(base, _) | Source::ClassDict(base, _) => base.root(),
            Source::Numpy(base) => base.root(),
        }
    }

    /// Whether it is the dictionary of what an object, or a class, has itself.
    pub fn is_of_attributes(&self) -> bool {
        match self {
            Source::ClassDict(..) => true,
            Source::Attr(_, name) => &**name == "__dict__",
            _ => false,
        }
    }

    /// Whether it is an attribute of a module, or in one.
    pub fn is_in_module(&self, locals: &Locals, vm: &VirtualMachine) -> bool {
        match self {
            Source::Attr(base, _) | Source::Index(base, _) | Source::Key(base, _) | Source::Entry(base, _) | Source::ClassDict(base, _) => {
                base.value(locals, vm).is_some_and(|o| own_attribute(&o, "_modules", vm).is_some()) || base.is_in_module(locals, vm)
            }
            _ => false,
        }
    }

    /// Where the values are that have it, the nearest first.
    pub fn holders(&self) -> Vec<Rc<Source>> {
        let (Source::Attr(base, _)
        | Source::Module(base, _)
        | Source::Index(base, _)
        | Source::Key(base, _)
        | Source::Entry(base, _)
        | Source::Cell(base, _)
        | Source::Numpy(base)
        | Source::ClassDict(base, _)) = self
        else {
            return Vec::new();
        };
        std::iter::once(base.clone()).chain(base.holders()).collect()
    }

    /// Puts a value there. False where that cannot be done.
    pub fn set(&self, locals: &mut Locals, value: PyObjectRef, vm: &VirtualMachine) -> bool {
        match self {
            Source::Local(name) => locals.iter_mut().find(|(n, _)| n == name).map(|slot| slot.1 = value).is_some(),
            Source::Global(globals, name) | Source::Imported(globals, _, name) => globals.set_item(&**name, value, vm).is_ok(),
            Source::Attr(base, name) => base.value(locals, vm).is_some_and(|o| {
                if o.downcast_ref::<PyType>().is_some() {
                    return o.set_attr(vm.ctx.intern_str(&**name), value, vm).is_ok();
                }
                // What its class has is no attribute of its own.
                let own = o.dict().filter(|d| d.contains_key(&**name, vm));
                own.is_some_and(|d| d.set_item(&**name, value, vm).is_ok())
            }),
            Source::Entry(base, index) => base.value(locals, vm).is_some_and(|o| {
                let found = o.downcast_ref::<PyDict>().and_then(|d| Some((d, d.into_iter().nth(*index)?.0)));
                found.is_some_and(|(d, key)| d.set_item(&*key, value, vm).is_ok())
            }),
            Source::Index(base, index) => base.value(locals, vm).is_some_and(|o| {
                let list = o.downcast_ref::<PyList>();
                list.is_some_and(|l| l.borrow_vec_mut().get_mut(*index).map(|slot| *slot = value).is_some())
            }),
            Source::Key(base, key) => base.value(locals, vm).is_some_and(|o| {
                if let (Some(_), Some(name)) = (o.downcast_ref::<PyType>(), key.downcast_ref::<PyStr>()) {
                    return o.set_attr(vm.ctx.intern_str(&*name.to_string_lossy()), value, vm).is_ok();
                }
                let dict = o.downcast_ref::<PyDict>();
                dict.is_some_and(|d| d.set_item(&**key, value, vm).is_ok())
            }),
            Source::Cell(base, index) => base
                .value(locals, vm)
                .and_then(|o| cell_at(&o, *index, vm))
                .is_some_and(|cell| cell.set_attr("cell_contents", value, vm).is_ok()),
            Source::Module(..) | Source::ClassDict(..) | Source::Builtin(_) | Source::Numpy(_) => false,
        }
    }
}

/// A quoted string at the beginning of a text, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (inner, rest) = text[1..].split_once(quote)?;
    (!inner.contains('\\')).then_some((inner, rest))
}

impl Source {
    /// The path that a guard's text says; `None` for one with other keys than strings and numbers.
    pub fn parse(text: &str, globals: Option<&PyDictRef>, vm: &VirtualMachine) -> Option<Rc<Source>> {
        if let Some(inner) = text.strip_prefix("___from_numpy(").and_then(|rest| rest.strip_suffix(')')) {
            return Some(Rc::new(Source::Numpy(Source::parse(inner, globals, vm)?)));
        }
        let is_local = text.starts_with("L[");
        let (name, rest) = quoted(text.strip_prefix("L[").or_else(|| text.strip_prefix("G["))?)?;
        let mut rest = rest.strip_prefix(']')?;
        let mut source = Rc::new(if is_local { Source::Local(name.into()) } else { Source::Global(globals?.clone(), name.into()) });
        while !rest.is_empty() {
            let next = if let Some(after) = rest.strip_prefix("._modules[") {
                let (name, after) = quoted(after)?;
                rest = after.strip_prefix(']')?;
                Source::Module(source, name.into())
            } else if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                rest = &after[end..];
                Source::Attr(source, after[..end].into())
            } else if let Some((key, after)) = rest.strip_prefix('[').and_then(quoted) {
                rest = after.strip_prefix(']')?;
                Source::Key(source, vm.ctx.new_str(key).into())
            } else {
                let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
                rest = after;
                Source::Index(source, index.parse().ok()?)
            };
            source = Rc::new(next);
        }
        Some(source)
    }
}

/// Puts a value into a variable of a frame.
pub fn set_variable(frame: &PyObject, name: &str, value: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
    frame.get_attr("f_locals", vm)?.set_item(name, value, vm)
}
