//! How a Python call finds its overload: each signature of the packet is tried in turn, as PyTorch's argument parser does.

use std::cell::RefCell;

use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, VirtualMachine};

use super::convert::{items, to_int, to_tensor, to_value};
use super::objects::PyDtype;
use crate::dispatch::{Argument, OpEntry, Rule, Schema, Tags, Type, Value};
use crate::error::{Error, Result};
use crate::shape::SymInt;
use crate::span::Written;
use crate::tensor::{Device, Dtype, Tensor};

/// What a call resolved to.
pub struct Bound {
    /// The overload.
    pub entry: &'static OpEntry,
    /// All of its arguments.
    pub args: Vec<Value>,
    /// `requires_grad=True` was given to an operator that makes a new tensor.
    pub requires_grad: bool,
    /// `out=` was given.
    pub out: Option<PyObjectRef>,
    /// Tensors of the graph that is captured whose numbers are arguments: they are not known yet.
    pub reads: Vec<Tensor>,
}

/// Tensors whose numbers a call takes.
#[derive(Default)]
struct Reads {
    tensors: RefCell<Vec<Tensor>>,
    /// Whether numbers are read. Before it is known which signature fits none is: a graph that is captured has a node of each.
    are_made: bool,
}

/// The number that a call takes off a tensor. Where a graph is captured that has no such numbers, something stands for it.
fn number(t: &Tensor, reads: &Reads) -> Option<Value> {
    let recorder = crate::dynamo::tracing::recorder();
    if let Some(known) = recorder.as_ref().and_then(|recorder| recorder.constant_number(t)) {
        return Some(known);
    }
    match recorder {
        _ if !reads.are_made => {
            reads.tensors.borrow_mut().push(t.clone());
            Some(match t.dtype() {
                Dtype::Bool => Value::Bool(true),
                dtype if dtype.is_integral() => Value::from(1),
                _ => Value::Float(1.0),
            })
        }
        Some(_) => {
            let _written = Written::Method("item").enter();
            crate::aten!("_local_scalar_dense", t).ok()
        }
        None => crate::aten!("_local_scalar_dense", t).ok(),
    }
}

/// Finds the overload for a call. `args` holds `self`, also for a method, whose messages do not count it.
pub fn bind(name: &str, overloads: &[&'static OpEntry], args: &FuncArgs, method: bool, vm: &VirtualMachine) -> Result<Bound> {
    let mut keywords: Vec<(String, PyObjectRef)> = args.kwargs.iter().map(|(k, v)| (k.to_string_lossy().into_owned(), v.clone())).collect();
    let mut take = |name: &str| keywords.iter().position(|(k, _)| k == name).map(|i| keywords.remove(i).1);
    // A script's operator may have an argument of that name.
    let is_argument = overloads.iter().any(|e| e.schema.position("out").is_some());
    let out = if is_argument { None } else { take("out").filter(|o| !vm.is_none(o)) };
    let factory = overloads.iter().any(|e| e.tags.has(Tags::FACTORY));
    let requires_grad =
        if overloads.iter().any(|e| makes_new(e)) { take("requires_grad").is_some_and(|o| o.is(&vm.ctx.true_value)) } else { false };
    if factory {
        take("names");
    }
    // Where a number may stand for a tensor, the signature with a number is not shown.
    let numbers = overloads.iter().any(|e| e.tags.has(Tags::NUMBERS_AS_TENSORS));
    let shown: Vec<&'static OpEntry> = overloads.iter().copied().filter(|e| !(numbers && e.name.ends_with(".Scalar"))).collect();
    let mut failures = Vec::new();
    let given = args.args.len() + keywords.len();
    for entry in overloads {
        let reads = Reads::default();
        let mut fits = bind_one(entry, &args.args, &keywords, (method, &reads), vm);
        let mut reads = reads.tensors.take();
        let are_kept = crate::dynamo::tracing::recorder().is_some_and(|recorder| !recorder.wants_scalars());
        if fits.is_ok() && !reads.is_empty() && !are_kept {
            let made = Reads { are_made: true, ..Reads::default() };
            fits = bind_one(entry, &args.args, &keywords, (method, &made), vm);
            reads.clear();
        }
        match fits {
            Ok(args) => return Ok(Bound { entry, args, requires_grad, out, reads }),
            Err(e) if shown.iter().any(|s| s.id == entry.id) => failures.push((accepts(entry, given), e)),
            Err(_) => {}
        }
    }
    // One signature that takes as many arguments says what is wrong; several are listed.
    if shown.len() > 1 {
        failures.retain(|(plausible, _)| *plausible);
    }
    Err(match &failures[..] {
        [(_, reason)] if reason.starts_with("expected Tensor as element") => Error::type_error(reason.clone()),
        [(_, reason)] if reason.starts_with("argument") => Error::type_error(format!("{name}(): {reason}")),
        [(_, reason)] => Error::type_error(format!("{name}() {reason}")),
        _ => invalid_combination(name, &shown, args, method),
    })
}

/// Whether an operator makes a tensor that may be told to require grad: a factory, also one that takes after a tensor.
pub fn makes_new(entry: &OpEntry) -> bool {
    let name = entry.base_name();
    entry.tags.has(Tags::FACTORY) || (!matches!(entry.rule, Rule::Script) && (name.starts_with("new_") || name.ends_with("_like")))
}

/// Whether a signature can take so many arguments.
fn accepts(entry: &OpEntry, given: usize) -> bool {
    let arguments = &entry.schema.arguments;
    let required = arguments.iter().filter(|a| a.default.is_none() && !a.kwarg_only).count();
    (required..=arguments.len()).contains(&given)
}

fn invalid_combination(name: &str, overloads: &[&'static OpEntry], args: &FuncArgs, method: bool) -> Error {
    let type_name = |o: &PyObjectRef| {
        let class = o.class().name().to_string();
        if to_tensor(o).is_some() && class == "TensorBase" { "Tensor".to_owned() } else { class }
    };
    let mut got: Vec<String> = args.args.iter().skip(usize::from(method)).map(type_name).collect();
    got.extend(args.kwargs.iter().map(|(k, v)| format!("{}={}", k.to_string_lossy(), type_name(v))));
    let forms: Vec<String> = overloads.iter().map(|e| format!(" * ({})", python_signature(&e.schema, method))).collect();
    Error::type_error(format!(
        "{name}() received an invalid combination of arguments - got ({}), but expected one of:\n{}\n",
        if got.len() == args.kwargs.len() && !got.is_empty() { format!("{}, ", got.join(", ")) } else { got.join(", ") },
        forms.join("\n")
    ))
}

/// `Tensor input, Tensor other, *, Number alpha = 1`
fn python_signature(schema: &Schema, method: bool) -> String {
    let mut parts = Vec::new();
    let mut star = false;
    for a in schema.arguments.iter().skip(usize::from(method)) {
        if a.kwarg_only && !star {
            parts.push("*".to_owned());
            star = true;
        }
        let name = if a.name == "self" { "input" } else { &a.name };
        let default = match &a.default {
            None => String::new(),
            Some(crate::dispatch::Default::None | crate::dispatch::Default::Long) => " = None".to_owned(),
            Some(d) => match d.value() {
                Value::Bool(b) => format!(" = {}", if b { "True" } else { "False" }),
                other => format!(" = {other:?}"),
            },
        };
        parts.push(format!("{} {name}{default}", python_type(&a.ty)));
    }
    parts.join(", ")
}

fn python_type(ty: &Type) -> String {
    match ty {
        Type::Tensor => "Tensor".into(),
        Type::Int => "int".into(),
        Type::Float => "float".into(),
        Type::Bool => "bool".into(),
        Type::Scalar => "Number".into(),
        Type::Str => "str".into(),
        Type::Dtype => "torch.dtype".into(),
        Type::Device => "torch.device".into(),
        Type::Layout => "torch.layout".into(),
        Type::MemoryFormat => "torch.memory_format".into(),
        Type::Generator => "torch.Generator".into(),
        Type::Dimname => "name".into(),
        Type::Optional(inner) => python_type(inner),
        Type::List(inner, _) => format!("tuple of {}s", python_type(inner)),
    }
}

/// Names that Python callers may use for an argument.
fn answers_to(argument: &Argument, keyword: &str) -> bool {
    argument.name == keyword
        || matches!(
            (argument.name.as_str(), keyword),
            ("self", "input" | "x" | "a" | "x1")
                | ("dim", "axis")
                | ("dims", "axis" | "dim" | "axes")
                | ("keepdim", "keepdims")
                | ("other", "x2")
        )
}

fn bind_one(
    entry: &'static OpEntry,
    positional: &[PyObjectRef],
    keywords: &[(String, PyObjectRef)],
    (method, reads): (bool, &Reads),
    vm: &VirtualMachine,
) -> Result<Vec<Value>, String> {
    let arguments = &entry.schema.arguments;
    let numbers = entry.tags.has(Tags::NUMBERS_AS_TENSORS);
    let positional_count = arguments.iter().filter(|a| !a.kwarg_only).count();
    // `x.view(2, 3)`, `torch.zeros(2, 3)`: a signature whose only positional argument beside self is a list takes it spread out.
    let first = usize::from(arguments.first().is_some_and(|a| a.name == "self" && a.ty == Type::Tensor));
    let spread = positional_count == first + 1
        && matches!(&arguments[first].ty, Type::List(inner, length)
            if matches!(**inner, Type::Int) && (length.is_none() || positional.len() > first + 1))
        && positional.get(first).is_some_and(|o| items(o).is_none() && is_index(vm, o));
    let spread_bound: Vec<PyObjectRef>;
    let mut positional = positional;
    if spread {
        let list = vm.ctx.new_list(positional[first..].to_vec()).into();
        spread_bound = positional[..first].iter().cloned().chain([list]).collect();
        positional = &spread_bound;
    }
    if positional.len() > positional_count {
        let (takes, given) = (positional_count - usize::from(method), positional.len() - usize::from(method));
        let required = arguments.iter().filter(|a| !a.kwarg_only && a.default.is_none()).count() - usize::from(method);
        let range = if required < takes { format!("from {required} to {takes}") } else { takes.to_string() };
        let plural = if takes == 1 && required == takes { "" } else { "s" };
        let verb = if given == 1 { "was" } else { "were" };
        return Err(format!("takes {range} positional argument{plural} but {given} {verb} given"));
    }
    let mut used = 0;
    let mut values = Vec::with_capacity(arguments.len());
    for (i, argument) in arguments.iter().enumerate() {
        let given = match positional.get(i).filter(|_| !argument.kwarg_only) {
            Some(o) => Some(o),
            None => {
                let found = keywords.iter().find(|(k, _)| answers_to(argument, k)).map(|(_, o)| o);
                used += usize::from(found.is_some());
                found
            }
        };
        values.push(match (given, &argument.default) {
            (Some(o), default) => match convert(o, &argument.ty, (numbers, reads), vm) {
                Some(v) => v,
                // A None where the schema has a default but no optional type stands for the default.
                None if vm.is_none(o) && default.is_some() => default.as_ref().map(crate::dispatch::Default::value).unwrap_or_default(),
                None => {
                    let at = i - usize::from(method).min(i);
                    let position = if argument.kwarg_only { String::new() } else { format!(" (position {})", at + 1) };
                    let name = if argument.name == "self" { "input" } else { &argument.name };
                    return Err(mismatch((name, at), &position, &argument.ty, o, vm));
                }
            },
            (None, Some(default)) => default.value(),
            (None, None) if matches!(argument.ty, Type::Optional(_)) && argument.kwarg_only => Value::None,
            (None, None) => {
                let name = if argument.name == "self" { "input" } else { &argument.name };
                return Err(format!("missing 1 required positional arguments: \"{name}\""));
            }
        });
    }
    if used < keywords.len() {
        let unknown = keywords.iter().find(|(k, _)| !arguments.iter().any(|a| answers_to(a, k))).map_or("", |(k, _)| k);
        return Err(format!("got an unexpected keyword argument '{unknown}'"));
    }
    Ok(values)
}

/// What is wrong with an object that stands for an argument, the one `at` that place.
fn mismatch((name, at): (&str, usize), position: &str, ty: &Type, o: &PyObject, vm: &VirtualMachine) -> String {
    let wanted = python_type(ty);
    let inner = match ty {
        Type::List(inner, _) => Some(inner),
        Type::Optional(optional) => match &**optional {
            Type::List(inner, _) => Some(inner),
            _ => None,
        },
        _ => None,
    };
    let wrong = inner.zip(items(o)).and_then(|(inner, items)| {
        let i = items.iter().position(|item| convert(item, inner, (false, &Reads::default()), vm).is_none())?;
        Some((i, items[i].class().name().to_string(), matches!(**inner, Type::Tensor)))
    });
    match wrong {
        Some((i, got, true)) => format!("expected Tensor as element {i} in argument {at}, but got {got}"),
        Some((i, got, false)) if i > 0 => {
            format!("argument '{name}' failed to unpack the object at pos {} with error \"type must be {wanted},but got {got}\"", i + 1)
        }
        Some((i, got, _)) => format!("argument '{name}'{position} must be {wanted}, but found element of type {got} at pos {i}"),
        None => format!("argument '{name}'{position} must be {wanted}, not {}", o.class().name()),
    }
}

/// Whether an object counts as an integer: an int, or a zero-dimensional integer tensor.
fn is_index(vm: &VirtualMachine, o: &PyObject) -> bool {
    to_int(o).is_some_and(|_| !o.class().is(vm.ctx.types.bool_type))
        || super::symint::size(o, vm).is_some()
        || to_tensor(o).is_some_and(|t| t.dim() == 0 && t.dtype().is_integral())
        || super::convert::numpy_number(o, vm).is_some_and(|number| number.class().is(vm.ctx.types.int_type))
}

fn integer(o: &PyObject, reads: &Reads, vm: &VirtualMachine) -> Option<Value> {
    if let Some(size) = super::symint::size(o, vm) {
        return Some(Value::Int(size));
    }
    if let Some(i) = to_int(o) {
        return Some(Value::Int(SymInt::Int(i)));
    }
    if let Some(t) = to_tensor(o) {
        let of_numpy = crate::dynamo::tracing::recorder().and_then(|r| r.number_of_numpy(&t).ok().flatten());
        if let Some(number @ Value::Int(_)) = of_numpy {
            return Some(number);
        }
        return (t.dim() == 0 && t.dtype().is_integral() && t.dtype() != Dtype::Bool).then(|| number(&t, reads)).flatten();
    }
    // Whatever has `__index__` (an enum of integers), but no float.
    o.to_number().index(vm)?.ok().and_then(|i| to_int(i.as_object())).map(|i| Value::Int(SymInt::Int(i)))
}

trait ToNumber {
    fn to_number(&self) -> rustpython_vm::protocol::PyNumber<'_>;
}

impl ToNumber for PyObject {
    fn to_number(&self) -> rustpython_vm::protocol::PyNumber<'_> {
        self.number()
    }
}

fn convert(o: &PyObject, ty: &Type, (numbers, reads): (bool, &Reads), vm: &VirtualMachine) -> Option<Value> {
    match ty {
        Type::Optional(_) if vm.is_none(o) => Some(Value::None),
        Type::Optional(inner) => convert(o, inner, (numbers, reads), vm),
        Type::Tensor => match to_value(o, vm)? {
            v @ Value::Tensor(_) => Some(v),
            v if numbers && v.is_scalar() => Some(v),
            _ => None,
        },
        Type::Bool => match to_value(o, vm)? {
            v @ Value::Bool(_) => Some(v),
            Value::Tensor(t) if t.dim() == 0 && t.dtype() == Dtype::Bool => number(&t, reads),
            // What is no `Scalar` needs the truth.
            v if v.condition().is_some() => o.to_owned().try_to_bool(vm).ok().map(Value::Bool),
            _ => None,
        },
        Type::Int => (!o.class().is(vm.ctx.types.bool_type)).then(|| integer(o, reads, vm)).flatten(),
        Type::Float => match to_value(o, vm)? {
            v @ Value::Float(_) => Some(v),
            // What is no `Scalar` needs the number.
            Value::SymFloat(f) => f.guard_float().ok().map(Value::Float),
            Value::Int(i) => i.guard_int().ok().map(|i| Value::Float(i as f64)),
            Value::Bool(b) => Some(Value::Float(f64::from(u8::from(b)))),
            v if v.condition().is_some() => o.to_owned().try_to_bool(vm).ok().map(|b| Value::Float(f64::from(u8::from(b)))),
            Value::Tensor(t) if t.numel().as_int() == Some(1) => number(&t, reads).and_then(|v| v.float().ok()).map(Value::Float),
            _ => None,
        },
        Type::Scalar => match to_value(o, vm)? {
            v if v.is_scalar() => Some(v),
            Value::Tensor(t) if t.dim() == 0 && !crate::autograd::meta::requires_grad(&t) => number(&t, reads),
            _ => None,
        },
        Type::Str => match to_value(o, vm)? {
            v @ Value::Str(_) => Some(v),
            _ => None,
        },
        Type::Dtype => match to_value(o, vm) {
            Some(v @ Value::Dtype(_)) => Some(v),
            _ => PyDtype::of_python_type(o, vm).map(Value::Dtype),
        },
        Type::Device => match to_value(o, vm)? {
            v @ Value::Device(_) => Some(v),
            Value::Str(s) => super::objects::parse_device(&s).ok().map(Value::Device),
            Value::Int(i) => {
                Some(Value::Device(Device { kind: crate::tensor::DeviceType::Cuda, index: i.as_int().and_then(|i| u8::try_from(i).ok()) }))
            }
            _ => None,
        },
        Type::Layout => match to_value(o, vm)? {
            v @ Value::Layout(_) => Some(v),
            _ => None,
        },
        Type::MemoryFormat => match to_value(o, vm)? {
            v @ Value::MemoryFormat(_) => Some(v),
            _ => None,
        },
        Type::Generator => match to_value(o, vm)? {
            v @ Value::Opaque(_) => Some(v),
            _ => None,
        },
        Type::Dimname => None,
        Type::List(inner, length) => {
            let list = match items(o) {
                Some(items) => items.iter().map(|i| convert(i, inner, (numbers, reads), vm)).collect::<Option<Vec<_>>>()?,
                // A single number stands for a list of the fixed length.
                None if length.is_some() && !matches!(**inner, Type::Tensor) => vec![convert(o, inner, (numbers, reads), vm)?; 1],
                None => return None,
            };
            Some(Value::List(match (items(o), length) {
                (None, Some(n)) => vec![list.first()?.clone(); *n],
                _ => list,
            }))
        }
    }
}
