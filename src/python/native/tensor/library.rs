//! Operators that a script defines: `torch._native_library`, on which `torch.library` is written.
//!
//! The script's functions are kept here, by operator and by what they say of it, and are called for dispatch with the arguments
//! as the script would have written them: trailing defaults left out, keyword-only ones by keyword.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rustpython_vm::function::FuncArgs;
use rustpython_vm::vm::thread::with_current_vm;
use rustpython_vm::{PyObjectRef, PyResult, VirtualMachine};

use super::convert::{from_value, to_value};
use super::errors::raised;
use crate::dispatch::levels::{Kind, Level, Randomness};
use crate::dispatch::{Argument, OpEntry, Part, ScriptOperators, Type, Value, set_script_operators};
use crate::error::{Error, Result};

pub(in crate::python::native) use module::module_def;

thread_local! {
    static FUNCTIONS: RefCell<HashMap<(usize, Part), PyObjectRef>> = RefCell::default();
}

/// Lets go of the script's functions.
pub fn forget() {
    FUNCTIONS.take();
    crate::dispatch::forget_script_operators();
}

fn function(part: Part, entry: &OpEntry) -> Option<PyObjectRef> {
    FUNCTIONS.with_borrow(|f| f.get(&(entry.id, part)).cloned())
}

/// Defines an operator that is composed of what a function of Python's does.
pub(super) fn define_composite(namespace: &str, signature: &str, function: PyObjectRef) -> Result<&'static OpEntry> {
    set_script_operators(Rc::new(Script));
    let entry = crate::dispatch::define(namespace, signature)?;
    FUNCTIONS.with_borrow_mut(|f| f.insert((entry.id, Part::Composite), function));
    Ok(entry)
}

/// An argument as a Python object: a list is a list, as the schema says.
fn object(argument: &Argument, value: &Value, vm: &VirtualMachine) -> PyResult {
    let plain = match &argument.ty {
        Type::Optional(inner) => inner,
        other => other,
    };
    match (plain, value) {
        (Type::List(..), Value::List(items)) => {
            let items = items.iter().map(|v| from_value(v.clone(), vm)).collect::<PyResult<Vec<_>>>()?;
            Ok(vm.ctx.new_list(items).into())
        }
        _ => from_value(value.clone(), vm),
    }
}

/// The arguments of a call as Python passes them.
pub(super) fn python_arguments(entry: &OpEntry, args: &[Value], vm: &VirtualMachine) -> Result<FuncArgs> {
    let (positional, keywords) = entry.schema.shown(args, |argument, value| object(argument, value, vm).map_err(raised))?;
    let keywords = keywords.into_iter().map(|(name, value)| (name.to_string(), value));
    Ok(FuncArgs::new(positional, keywords.collect::<rustpython_vm::function::KwArgs>()))
}

/// What a script's function returned, as the schema says.
pub(super) fn results(entry: &OpEntry, object: &PyObjectRef, vm: &VirtualMachine) -> Result<Value> {
    let value = to_value(object, vm)
        .ok_or_else(|| Error::runtime(format!("{}: an implementation returned what an operator cannot return", entry.name)))?;
    match (&entry.schema.returns[..], &value) {
        ([], _) => Ok(Value::None),
        // A tuple of one result is that result.
        ([only], Value::List(items)) if !matches!(only.ty, Type::List(..)) && items.len() == 1 => Ok(items[0].clone()),
        ([only], Value::List(_)) if matches!(only.ty, Type::List(..)) => Ok(value),
        ([_], other) if !matches!(other, Value::List(_)) => Ok(value),
        (several, Value::List(items)) if several.len() == items.len() => Ok(value),
        (wanted, _) => Err(Error::runtime(format!(
            "Expected {} to return {} values, but its implementation returned something else",
            entry.qualified_name(),
            wanted.len()
        ))),
    }
}

/// Calls the functions of the script that runs on this thread.
struct Script;

impl ScriptOperators for Script {
    fn has(&self, part: Part, entry: &OpEntry) -> bool {
        FUNCTIONS.with_borrow(|f| f.contains_key(&(entry.id, part)))
    }

    fn call(&self, part: Part, entry: &'static OpEntry, args: &[Value]) -> Result<Value> {
        let function = function(part, entry).ok_or_else(|| Error::runtime(format!("{} has no such implementation", entry.name)))?;
        with_current_vm(|vm| {
            let out = function.call(python_arguments(entry, args, vm)?, vm).map_err(raised)?;
            results(entry, &out, vm)
        })
    }

    fn call_batched(&self, entry: &'static OpEntry, level: &Level, args: &[Value]) -> Result<Value> {
        let function = function(Part::Batch, entry).ok_or_else(|| Error::runtime(format!("{} has no such implementation", entry.name)))?;
        let randomness = match level.kind {
            Kind::Vmap(Randomness::Different) => "different",
            Kind::Vmap(Randomness::Same) => "same",
            _ => "error",
        };
        with_current_vm(|vm| {
            let size = from_value(Value::Int(level.size.clone()), vm).map_err(raised)?;
            let given = python_arguments(entry, args, vm)?;
            let told = [vm.ctx.new_int(level.number).into(), size, vm.ctx.new_str(randomness).into()];
            let out = function.call(FuncArgs::new(told.into_iter().chain(given.args).collect::<Vec<_>>(), given.kwargs), vm);
            results(entry, &out.map_err(raised)?, vm)
        })
    }

    fn no_fake(&self, entry: &'static OpEntry) -> Error {
        with_current_vm(|vm| {
            let said = (|| -> PyResult<String> {
                let module = crate::python::native::calls::imported("torch.library", vm)?;
                let text = vm.call_method(&module, "_no_fake", (super::overloads::overload(entry, vm),))?;
                Ok(text.str(vm)?.to_string_lossy().into_owned())
            })();
            said.map_or_else(raised, Error::runtime)
        })
    }
}

#[pymodule(name = "torch._native_library")]
mod module {
    use super::super::errors::raise;
    use super::super::packet::PyOverload;
    use super::*;
    use rustpython_vm::PyRef;
    use rustpython_vm::builtins::{PyDictRef, PyStr, PyStrRef, PyTupleRef};
    use rustpython_vm::function::KwArgs;

    fn part(name: &str, vm: &VirtualMachine) -> PyResult<Part> {
        Ok(match name {
            "kernel" => Part::Kernel,
            "fake" => Part::Fake,
            "composite" => Part::Composite,
            "autograd" => Part::Autograd,
            "batch" => Part::Batch,
            other => return Err(vm.new_value_error(format!("no part {other}"))),
        })
    }

    /// All arguments of a call, as dispatch takes them.
    fn arguments(overload: &PyOverload, args: &PyTupleRef, kwargs: &PyDictRef, vm: &VirtualMachine) -> PyResult<Vec<Value>> {
        let text = |o: &PyObjectRef| Some(o.downcast_ref::<PyStr>()?.to_string_lossy().into_owned());
        let keywords: KwArgs = kwargs.into_iter().filter_map(|(k, v)| Some((text(&k)?, v))).collect();
        super::super::overloads::bound(overload.0, &FuncArgs::new(args.as_slice().to_vec(), keywords), vm)
    }

    /// `define(namespace, signature)`: the overload, of which nothing is said yet.
    #[pyfunction]
    fn define(namespace: PyStrRef, signature: PyStrRef, vm: &VirtualMachine) -> PyResult {
        set_script_operators(Rc::new(Script));
        let entry = crate::dispatch::define(&namespace.to_string_lossy(), &signature.to_string_lossy()).map_err(|e| raise(e, vm))?;
        FUNCTIONS.with_borrow_mut(|f| f.retain(|(id, _), _| *id != entry.id));
        Ok(super::super::overloads::overload(entry, vm))
    }

    /// `implement(overload, part, function)`
    #[pyfunction]
    fn implement(overload: PyRef<PyOverload>, name: PyStrRef, function: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        let part = part(&name.to_string_lossy(), vm)?;
        FUNCTIONS.with_borrow_mut(|f| f.insert((overload.0.id, part), function));
        Ok(())
    }

    /// Whether something is said of an operator.
    #[pyfunction]
    fn is_implemented(overload: PyRef<PyOverload>, name: PyStrRef, vm: &VirtualMachine) -> PyResult<bool> {
        let part = part(&name.to_string_lossy(), vm)?;
        Ok(FUNCTIONS.with_borrow(|f| f.contains_key(&(overload.0.id, part))))
    }

    /// Calls an overload below autograd.
    #[pyfunction]
    fn call_below_autograd(overload: PyRef<PyOverload>, args: PyTupleRef, kwargs: PyDictRef, vm: &VirtualMachine) -> PyResult {
        let bound = arguments(&overload, &args, &kwargs, vm)?;
        let out = crate::dispatch::call_below(crate::dispatch::Key::Autograd, overload.0, bound).map_err(|e| raise(e, vm))?;
        from_value(out, vm)
    }

    /// What tells a tensor's memory from others'.
    #[pyfunction]
    fn storage_id(tensor: PyObjectRef, vm: &VirtualMachine) -> PyResult<u64> {
        let t = super::super::to_tensor(&tensor).ok_or_else(|| vm.new_type_error("expected a Tensor"))?;
        Ok(t.storage().id())
    }

    /// A size that only the values of an operator's result decide: a symbol, while something is traced.
    #[pyfunction]
    fn new_dynamic_size(vm: &VirtualMachine) -> PyResult {
        let size = crate::dispatch::size_of_values(None).map_err(|e| raise(e, vm))?;
        from_value(Value::Int(size), vm)
    }
}
