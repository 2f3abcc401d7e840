//! `make_fx`, `functionalize`, and the decompositions that scripts give and ask for.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rustpython_vm::builtins::PyDictRef;
use rustpython_vm::function::{FuncArgs, KwArgs};
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyPayload, PyResult, VirtualMachine};

use super::graph_module::PyGraphModule;
use crate::aot::functional::functionalized;
use crate::aot::make_fx::{Tracing, make_fx};
use crate::aot::schemas::{Decompose, Provider};
use crate::dispatch::{OpEntry, Value};
use crate::dynamo::tracing::{symbol_number, symbol_numbers};
use crate::dynamo::{Dim, InputSource, Symbols, Treatment};
use crate::error::{Error, Result};
use crate::python::native::tensor::{from_value, overload_entry, raise, raised, symbols_object, to_value};
use crate::span::Source;
use crate::tensor::{Geometry, Tensor, TensorSpec};

/// A table of a script's own: operators and what they come to, as Python calls it.
pub(crate) fn decompose_by(table: &PyDictRef, vm: &VirtualMachine) -> PyResult<Decompose> {
    let mut rules: HashMap<&'static str, PyObjectRef> = HashMap::new();
    for (operator, rule) in table {
        let Some(entry) = overload_entry(&operator) else {
            return Err(vm.new_type_error("a decomposition table is keyed by overloads of operators (torch.ops.aten.silu.default)"));
        };
        rules.insert(entry.name, rule);
    }
    // Calls that a rule is asked about: what it leaves alone by calling it again is recorded.
    let asked: RefCell<Vec<(&'static str, Vec<u64>)>> = RefCell::default();
    Ok(Rc::new(move |entry: &'static OpEntry, args: &[Value]| {
        let Some(rule) = rules.get(entry.name) else { return Ok(None) };
        let mut call = (entry.name, Vec::new());
        args.iter().for_each(|v| v.for_each_tensor(&mut |t| call.1.push(t.id())));
        if asked.borrow().contains(&call) {
            return Ok(None);
        }
        asked.borrow_mut().push(call);
        let made = rustpython_vm::vm::thread::with_current_vm(|vm| {
            let given = call_arguments(entry, args, vm).map_err(raised)?;
            let made = rule.call(given, vm).map_err(raised)?;
            if made.is(&vm.ctx.not_implemented()) {
                return Ok(None);
            }
            to_value(&made, vm).map(Some).ok_or_else(|| Error::type_error(format!("the decomposition of {} gave no tensor", entry.name)))
        });
        asked.borrow_mut().pop();
        made
    }))
}

/// Arguments as a call is written: what has its default at the end is left out, what only goes by name has its name.
fn call_arguments(entry: &OpEntry, args: &[Value], vm: &VirtualMachine) -> PyResult<FuncArgs> {
    let is_default = |i: usize| entry.schema.arguments[i].default.as_ref().is_some_and(|d| d.is(&args[i]));
    let positional: Vec<usize> = (0..args.len()).filter(|i| !entry.schema.arguments[*i].kwarg_only).collect();
    let count = positional.iter().rposition(|i| !is_default(*i)).map_or(0, |last| last + 1);
    let given = positional[..count].iter().map(|i| from_value(args[*i].clone(), vm)).collect::<PyResult<Vec<_>>>()?;
    let named = (0..args.len()).filter(|i| entry.schema.arguments[*i].kwarg_only && !is_default(*i));
    let named = named.map(|i| Ok((entry.schema.arguments[i].name.clone(), from_value(args[i].clone(), vm)?)));
    let named: KwArgs = named.collect::<PyResult<Vec<(String, PyObjectRef)>>>()?.into_iter().collect();
    Ok(FuncArgs::new(given, named))
}

/// Fake tensors for inputs, with symbols for sizes where that is wanted, which are named after `source` and a number.
/// An input of a captured graph, while a backend compiles that, has the fake tensor that the graph was captured with.
/// Also gives the symbols.
pub(crate) fn fake_inputs(inputs: Vec<Value>, source: &str, symbolic: bool) -> Result<(Vec<Value>, Symbols)> {
    let mut symbols = Symbols::default();
    let mut made = Vec::new();
    for (i, input) in inputs.into_iter().enumerate() {
        let source = format!("{source}{i}");
        made.push(match input {
            Value::Tensor(t) if let Some(fake_tensor) = super::aot_functions::fake_tensor(&t) => Value::Tensor(fake_tensor),
            Value::Tensor(t) => {
                let numbers = symbol_numbers(&source, t.dim());
                let input = InputSource { name: source.clone(), source, numbers, ..InputSource::default() };
                let kind = if symbolic { Dim::Shared } else { Dim::Static };
                let real: Geometry = (*t.geometry()).clone();
                let (geometry, _) =
                    symbols.geometry(&input, i, &real, &Treatment { dims: vec![kind; t.dim()], varying_strides: Vec::new() });
                let fake = Tensor::fake(&TensorSpec { geometry, ..t.spec() })?;
                crate::autograd::meta::set_requires_grad(&fake, crate::autograd::meta::requires_grad(&t))?;
                Value::Tensor(fake)
            }
            Value::Int(n) if symbolic && n.as_int().is_some_and(|n| n > 1) => {
                Value::Int(symbols.number(&source, symbol_number(&source), n.as_int().unwrap_or_default()))
            }
            other => other,
        });
    }
    Ok((made, symbols))
}

fn shown(class: &PyObject, vm: &VirtualMachine) -> String {
    class.repr(vm).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}

/// What is said of a class that no graph can return.
pub(crate) fn no_output(class: &PyObject, vm: &VirtualMachine) -> Error {
    let class = shown(class, vm);
    Error::runtime(format!(
        "Found {class} in output, which is not a known type. If this type holds tensors, you need to register a pytree for it. See \
         https://github.com/pytorch/functorch/issues/475 for a brief explanation why. If you don't need to register a pytree, please leave \
         a comment explaining your use case and we'll make this more ergonomic to deal with"
    ))
}

/// What `make_fx` says of it.
pub(crate) fn no_argument(class: &PyObject, vm: &VirtualMachine) -> Error {
    Error::not_implemented(format!("argument of type: {}", shown(class, vm)))
}

/// A function of a list, in Python, as one of values. `refuse` says what is wrong with a class that no graph can return.
pub(crate) fn flat_function(
    function: PyObjectRef,
    refuse: fn(&PyObject, &VirtualMachine) -> Error,
) -> impl Fn(&[Value]) -> Result<Vec<Value>> {
    move |values: &[Value]| {
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            let values = values.iter().map(|v| from_value(v.clone(), vm)).collect::<PyResult<Vec<_>>>().map_err(raised)?;
            let out = function.call((vm.ctx.new_list(values),), vm).map_err(raised)?;
            let out: Vec<PyObjectRef> = out.try_to_value(vm).map_err(raised)?;
            let value = |o: &PyObjectRef| to_value(o, vm).ok_or_else(|| refuse(o.class().as_object(), vm));
            out.iter().map(value).collect::<Result<Vec<_>>>()
        })
    }
}

/// Inputs as values.
pub(crate) fn values_of(inputs: &[PyObjectRef], vm: &VirtualMachine) -> PyResult<Vec<Value>> {
    let value = |o: &PyObjectRef| to_value(o, vm).ok_or_else(|| vm.new_type_error(format!("an input is a {}", o.class().name())));
    inputs.iter().map(value).collect()
}

/// `_functionalize(flat_function, inputs, copies_views)`: the results of a function of a list, run functionalized.
pub fn functionalize(function: PyObjectRef, inputs: &[PyObjectRef], copies_views: bool, vm: &VirtualMachine) -> PyResult {
    let given = values_of(inputs, vm)?;
    let _within = crate::transforms::levels::Functionalizing::enter();
    let out = functionalized(&flat_function(function, no_output), &given, copies_views).map_err(|e| raise(e, vm))?;
    let items = out.into_iter().map(|v| from_value(v, vm)).collect::<PyResult<Vec<_>>>()?;
    Ok(vm.ctx.new_list(items).into())
}

/// `_make_fx(flat_function, names, inputs, class_name, mode, table, pre_dispatch)`: the graph of a function that takes a list and
/// gives one, and the symbols of its sizes.
#[allow(clippy::too_many_arguments, reason = "Python's side gives them one by one")]
pub fn trace(
    function: PyObjectRef,
    names: Vec<String>,
    inputs: Vec<PyObjectRef>,
    class_name: String,
    mode: &str,
    table: Option<PyDictRef>,
    pre_dispatch: bool,
    vm: &VirtualMachine,
) -> PyResult {
    let given = values_of(&inputs, vm)?;
    let (given, symbols) = if mode == "real" {
        (given, Symbols::default())
    } else {
        fake_inputs(given, "input", mode == "symbolic").map_err(|e| raise(e, vm))?
    };
    let decompose = table.map(|table| decompose_by(&table, vm)).transpose()?;
    let calls_as_aten = mode != "symbolic" && !pre_dispatch;
    let pre_dispatch = pre_dispatch.then_some(nowhere as Provider);
    let env = (mode != "real" && pre_dispatch.is_none()).then(|| symbols.env.clone());
    let tracing = Tracing { class_name, real: mode == "real", decompose, pre_dispatch, calls_as_aten, symbols: env };
    let graph = make_fx(&flat_function(function, no_argument), &names, &given, tracing).map_err(|e| raise(e, vm))?;
    let symbols = symbols_object(symbols, vm);
    Ok(vm.ctx.new_tuple(vec![PyGraphModule::new(graph).into_pyobject(vm), symbols]).into())
}

/// Graphs that a script makes by hand say nothing of its lines.
fn nowhere() -> Option<Source> {
    None
}

/// What Inductor's table makes of a call: its results, or `NotImplemented` where the call stays as it is.
pub fn decomposed(operator: &PyObjectRef, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    let entry = overload_entry(operator).ok_or_else(|| vm.new_type_error("a decomposition is one of an overload of an operator"))?;
    let values = crate::python::native::tensor::bound(entry, &args, vm)?;
    let made = crate::decompositions::inductor_with_eager_random().apply(entry, &values).map_err(|e| raise(e, vm))?;
    made.map_or_else(|| Ok(vm.ctx.not_implemented()), |value| from_value(value, vm))
}
