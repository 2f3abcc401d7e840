//! Tensors of the script's own classes within a graph that is captured: making one, and reading a tensor that it is made of, are calls
//! of the graph.
//!
//! Dynamo does not trace the `__new__` and `__init__` of a class that says what its tensors are made of. It puts the call of the class
//! into the graph, as it puts `getattr` there for an inner tensor of a value that the graph computes. Each such call is an operator of its
//! own here, composed of what Python does: whatever runs the graph later calls Python again.

use std::cell::RefCell;
use std::rc::Rc;

use rustpython_vm::builtins::{PyDict, PyStr, PyTuple, PyType, PyTypeRef};
use rustpython_vm::function::{FuncArgs, KwArgs};
use rustpython_vm::types::Callable;
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::convert::{from_value, to_tensor, to_value};
use super::errors::raise;
use super::payload::{answers, object_of};
use crate::dispatch::{OpEntry, Value, call};
use crate::dynamo::tracing::{self, Callee};
use crate::error::Result;
use crate::graph::is_identifier;
use crate::shape::SymInt;
use crate::tensor::Tensor;

/// The namespace of these operators.
const NAMESPACE: &str = "_subclass";

/// A call of a class that was part of a graph, and its operator.
struct Known {
    class: PyTypeRef,
    arguments: Rc<Arguments>,
    signature: String,
    entry: &'static OpEntry,
}

thread_local! {
    /// Calls that differ in tensors and sizes alone are of one operator: graphs with them are the same.
    static KNOWN: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
}

/// Lets go of the script's classes.
pub(super) fn forget() {
    KNOWN.take();
}

/// Objects of the metaclass are called by [`construct`] from here on, and so are those of metaclasses that derive from it later.
pub(super) fn watch(metaclass: &Py<PyType>) {
    metaclass.slots.vectorcall.store(None);
    metaclass.slots.call.store(Some(construct));
}

/// Whether a class says what its tensors are made of (PyTorch's `is_traceable_wrapper_subclass_type`).
pub(super) fn is_traceable(class: &Py<PyType>, vm: &VirtualMachine) -> bool {
    let says = |name: &'static str| class.get_attr(vm.ctx.intern_str(name)).is_some();
    answers(class, vm) && says("__tensor_flatten__") && says("__tensor_unflatten__")
}

/// A call of a class of tensors.
fn construct(class: &PyObject, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    let Some(class) = class.downcast_ref::<PyType>() else { return Err(vm.new_type_error("expected a class")) };
    let is_captured = || tracing::recorder().is_some_and(|recorder| !recorder.is_in_call());
    let is_ours = is_traceable(class, vm) && is_captured() && crate::python::span::in_script();
    match path(class, vm).filter(|_| is_ours).zip(Arguments::of(&args, vm)) {
        Some((path, (arguments, values))) => {
            let callee = || Callee::function(path);
            tracing::as_written(callee, &args, vm, || in_graph(class.to_owned(), arguments, values, vm))
        }
        None => <PyType as Callable>::call(class, args, vm),
    }
}

/// What a graph calls the class: none where its name is no identifier.
fn path(class: &Py<PyType>, vm: &VirtualMachine) -> Option<String> {
    let name = class.name().to_string();
    let module = class.as_object().get_attr("__module__", vm).ok()?.downcast_ref::<PyStr>()?.to_string_lossy().into_owned();
    let is_path = is_identifier(&name) && module.split('.').all(is_identifier);
    let wrapped = if module.starts_with("torch.") { format!("{module}.{name}") } else { format!("{}_{name}", module.replace('.', "_")) };
    is_path.then_some(wrapped)
}

/// An argument of a call: what the operator is given, or what stays as it is.
enum Piece {
    Given(usize),
    Object(PyObjectRef),
    Tuple(Vec<Piece>),
    List(Vec<Piece>),
    Dict(Vec<(PyObjectRef, Piece)>),
}

/// The arguments of a class.
struct Arguments {
    positional: Vec<Piece>,
    keywords: Vec<(String, Piece)>,
}

impl Arguments {
    /// The arguments, and the tensors and symbolic numbers in them, which the operator is given. Nothing where a graph cannot hold one.
    fn of(args: &FuncArgs, vm: &VirtualMachine) -> Option<(Self, Vec<Value>)> {
        let mut values = Vec::new();
        let positional = args.args.iter().map(|o| Piece::of(o, &mut values, 0, vm)).collect::<Option<_>>()?;
        let named = |(name, o): (&String, &PyObjectRef)| Some((name.clone(), Piece::of(o, &mut values, 0, vm)?));
        let keywords = args.kwargs.iter().map(|(name, o)| (name.to_string_lossy().into_owned(), o));
        let keywords: Vec<(String, &PyObjectRef)> = keywords.collect();
        let keywords = keywords.iter().map(|(name, o)| (name, *o)).map(named).collect::<Option<_>>()?;
        Some((Arguments { positional, keywords }, values))
    }

    /// Whether they are the same but for what the operator is given.
    fn same(&self, other: &Self, vm: &VirtualMachine) -> bool {
        let is_same = |a: &[Piece], b: &[Piece]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b, vm));
        let named = self.keywords.iter().zip(&other.keywords).all(|((n, a), (m, b))| n == m && a.same(b, vm));
        is_same(&self.positional, &other.positional) && self.keywords.len() == other.keywords.len() && named
    }

    /// As Python passes them.
    fn python(&self, given: &[PyObjectRef], vm: &VirtualMachine) -> PyResult<FuncArgs> {
        let positional = self.positional.iter().map(|p| p.object(given, vm)).collect::<PyResult<Vec<_>>>()?;
        let keywords = self.keywords.iter().map(|(name, p)| Ok((name.clone(), p.object(given, vm)?)));
        Ok(FuncArgs::new(positional, keywords.collect::<PyResult<Vec<_>>>()?.into_iter().collect::<KwArgs>()))
    }
}

impl Piece {
    /// Whether it is the same but for what the operator is given.
    fn same(&self, other: &Self, vm: &VirtualMachine) -> bool {
        let equal = |a: &PyObject, b: &PyObject| a.is(b) || a.class().is(b.class()) && vm.bool_eq(a, b).unwrap_or(false);
        match (self, other) {
            (Piece::Given(a), Piece::Given(b)) => a == b,
            (Piece::Object(a), Piece::Object(b)) => equal(a, b),
            (Piece::Tuple(a), Piece::Tuple(b)) | (Piece::List(a), Piece::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b, vm))
            }
            (Piece::Dict(a), Piece::Dict(b)) => a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| equal(k, l) && a.same(b, vm)),
            _ => false,
        }
    }

    fn of(o: &PyObject, values: &mut Vec<Value>, depth: usize, vm: &VirtualMachine) -> Option<Self> {
        const DEEPEST: usize = 8;
        let mut all = |items: &[PyObjectRef]| {
            let each = items.iter().map(|o| Piece::of(o, values, depth + 1, vm));
            (depth < DEEPEST).then(|| each.collect::<Option<Vec<_>>>()).flatten()
        };
        if let Some(dict) = o.downcast_ref::<PyDict>() {
            let (keys, items): (Vec<_>, Vec<_>) = dict.into_iter().unzip();
            return Some(Piece::Dict(keys.into_iter().zip(all(&items)?).collect()));
        }
        if let Some(items) = super::items(o) {
            // A tuple of numbers may be of a class of its own.
            let pieces = all(&items)?;
            let is_constant = pieces.iter().all(|p| matches!(p, Piece::Object(_)));
            return Some(match o.downcast_ref::<PyTuple>() {
                Some(_) if is_constant => Piece::Object(o.to_owned()),
                Some(_) => Piece::Tuple(pieces),
                None => Piece::List(pieces),
            });
        }
        let value = to_value(o, vm)?;
        Some(match value {
            Value::Tensor(_) | Value::Int(SymInt::Sym(..)) => {
                values.push(value);
                Piece::Given(values.len() - 1)
            }
            Value::SymFloat(_) | Value::Opaque(_) => return None,
            _ => Piece::Object(o.to_owned()),
        })
    }

    fn object(&self, given: &[PyObjectRef], vm: &VirtualMachine) -> PyResult {
        let all = |pieces: &[Piece]| pieces.iter().map(|p| p.object(given, vm)).collect::<PyResult<Vec<_>>>();
        Ok(match self {
            Piece::Given(i) => given.get(*i).cloned().ok_or_else(|| vm.new_type_error("an argument is missing"))?,
            Piece::Object(o) => o.clone(),
            Piece::Tuple(pieces) => vm.ctx.new_tuple(all(pieces)?).into(),
            Piece::List(pieces) => vm.ctx.new_list(all(pieces)?).into(),
            Piece::Dict(pieces) => {
                let dict = vm.ctx.new_dict();
                for (key, piece) in pieces {
                    dict.set_item(&**key, piece.object(given, vm)?, vm)?;
                }
                dict.into()
            }
        })
    }
}

/// Makes a call of an operator that is composed of the call of a class.
fn in_graph(class: PyTypeRef, arguments: Arguments, values: Vec<Value>, vm: &VirtualMachine) -> PyResult {
    let entry = operator(class, arguments, &values, vm).map_err(|e| raise(e, vm))?;
    from_value(call(entry, values).map_err(|e| raise(e, vm))?, vm)
}

/// The operator of the call of a class.
fn operator(class: PyTypeRef, arguments: Arguments, values: &[Value], vm: &VirtualMachine) -> Result<&'static OpEntry> {
    let types = values.iter().map(|v| if matches!(v, Value::Tensor(_)) { "Tensor" } else { "SymInt" });
    let parameters: Vec<String> = types.enumerate().map(|(i, ty)| format!("{ty} a{i}")).collect();
    let signature = format!("({}) -> Tensor", parameters.join(", "));
    let is_same = |known: &&Known| known.class.is(&class) && known.signature == signature && known.arguments.same(&arguments, vm);
    if let Some(entry) = KNOWN.with_borrow(|all| all.iter().find(is_same).map(|known| known.entry)) {
        return Ok(entry);
    }
    let name = format!("{}_{}{signature}", class.name(), KNOWN.with_borrow(Vec::len));
    let arguments = Rc::new(arguments);
    let (called, given) = (class.clone(), arguments.clone());
    let make = vm.new_function("construct", move |args: FuncArgs, vm: &VirtualMachine| -> PyResult {
        <PyType as Callable>::call(&called, given.python(&args.args, vm)?, vm)
    });
    let entry = super::library::define_composite(NAMESPACE, &name, make.into())?;
    KNOWN.with_borrow_mut(|all| all.push(Known { class, arguments, signature, entry }));
    Ok(entry)
}

/// The inner tensor that an attribute of a value of the captured graph is: read by the graph. None for other values and attributes.
pub(super) fn inner_tensor(t: &Tensor, name: &Py<PyStr>, vm: &VirtualMachine) -> PyResult<Option<PyObjectRef>> {
    let Some(recorder) = tracing::recorder().filter(|r| r.is_traced(t) && !r.is_in_call()) else { return Ok(None) };
    let Some((class, dict)) = object_of(t).filter(|_| recorder.real_tensor(t).is_none()) else { return Ok(None) };
    let Some(inner) = dict.get_item_opt(name.as_object(), vm)?.filter(|value| to_tensor(value).is_some()) else { return Ok(None) };
    let text = name.to_string_lossy().into_owned();
    if !is_traceable(&class, vm) || !is_identifier(&text) {
        return Ok(Some(inner));
    }
    let attribute: Rc<str> = text.as_str().into();
    let read = vm.new_function("getattr", move |args: FuncArgs, vm: &VirtualMachine| -> PyResult {
        let own = args.args.first().ok_or_else(|| vm.new_type_error("an argument is missing"))?;
        own.get_attr(&*vm.ctx.new_str(&*attribute), vm)
    });
    let signature = format!("getattr_{text}(Tensor self) -> Tensor");
    let entry = super::library::define_composite(NAMESPACE, &signature, read.into()).map_err(|e| raise(e, vm))?;
    let args = FuncArgs::from(vec![super::wrap(t, vm)?, name.to_owned().into()]);
    let callee = || Callee::function("getattr".to_owned());
    let make = || from_value(call(entry, vec![Value::from(t)]).map_err(|e| raise(e, vm))?, vm);
    tracing::as_written(callee, &args, vm, make).map(Some)
}
