//! Symbolic sizes as Python sees them: `torch.SymInt`, a Python class around the node here.
//!
//! The class is an `int` of the value in the call being compiled, so that whatever takes an integer takes it; arithmetic and
//! comparison go to the node, where comparison guards.

use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyPayload, PyResult, VirtualMachine};

use super::convert::{raise, to_int};
use crate::error::Result;
use crate::shape::{Relation, SymInt};

/// `torch.SymInt.node`
#[pyclass(module = "torch", name = "SymNode")]
#[derive(Debug, PyPayload)]
pub struct PySymNode(SymInt);

/// The Python object of a size.
pub fn object(size: &SymInt, vm: &VirtualMachine) -> PyResult {
    let SymInt::Sym(_, env) = size else {
        return number(size, vm);
    };
    if env.is_settled() || size.expr().as_int().is_some() {
        return number(size, vm);
    }
    let Some(hint) = size.hint() else { return number(size, vm) };
    let module = vm.sys_module.get_attr("modules", vm)?.get_item("torch._C", vm)?;
    let node: PyObjectRef = PySymNode(size.clone()).into_pyobject(vm);
    module.get_attr("SymInt", vm)?.call((vm.ctx.new_int(hint), node), vm)
}

fn number(size: &SymInt, vm: &VirtualMachine) -> PyResult {
    Ok(vm.ctx.new_int(size.guard_int().map_err(|e| raise(e, vm))?).into())
}

fn node(o: &PyObject, vm: &VirtualMachine) -> Option<SymInt> {
    let types = &vm.ctx.types;
    if o.class().is(types.int_type) || o.class().is(types.bool_type) || !o.class().fast_issubclass(types.int_type) {
        return None;
    }
    let node = o.dict()?.get_item_opt("node", vm).ok()??;
    node.downcast_ref::<PySymNode>().map(|n| n.0.clone())
}

/// The symbolic size of a Python object, while the call that it belongs to is recorded.
pub fn symbolic(o: &PyObject, vm: &VirtualMachine) -> Option<SymInt> {
    let is_over = |size: &SymInt| matches!(size, SymInt::Sym(_, env) if env.is_settled());
    let mut size = node(o, vm)?;
    while is_over(&size) {
        size = size.succeeded()?;
    }
    Some(size)
}

/// The number that a symbolic size stands for in its call.
pub fn symbolic_hint(o: &PyObject, vm: &VirtualMachine) -> Option<i64> {
    node(o, vm)?.hint()
}

fn operand(o: &PyObject, vm: &VirtualMachine) -> Option<SymInt> {
    symbolic(o, vm).or_else(|| to_int(o).map(SymInt::Int))
}

fn relation(name: &str) -> Option<Relation> {
    Some(match name {
        "eq" => Relation::Eq,
        "ne" => Relation::Ne,
        "lt" => Relation::Lt,
        "le" => Relation::Le,
        "gt" => Relation::Gt,
        "ge" => Relation::Ge,
        _ => return None,
    })
}

/// The result, and the function of Python's or PyTorch's that makes it.
fn arithmetic(name: &str, a: &SymInt, b: &SymInt) -> Result<(&'static str, SymInt)> {
    Ok(match name {
        "sub" => ("sub", a - b),
        "mul" => ("mul", a * b),
        "floordiv" => ("floordiv", a.floor_div(b)?),
        "mod" => ("mod", a.modulo(b)?),
        "max" => ("sym_max", a.max(b)),
        "min" => ("sym_min", a.min(b)),
        _ => ("add", a + b),
    })
}

/// `op(name, a, b)`: arithmetic and comparison of sizes; `NotImplemented` where one of them is no integer.
pub fn operate(name: &str, a: &PyObject, b: &PyObject, vm: &VirtualMachine) -> PyResult {
    let (Some(a), Some(b)) = (operand(a, vm), operand(b, vm)) else {
        return Ok(vm.ctx.not_implemented());
    };
    for size in [&a, &b] {
        if let SymInt::Sym(_, env) = size {
            env.set_source(crate::span::current_source());
        }
    }
    if let Some(relation) = relation(name) {
        return Ok(vm.ctx.new_bool(a.compare(relation, &b).map_err(|e| raise(e, vm))?).into());
    }
    let (name, result) = arithmetic(name, &a, &b).map_err(|e| raise(e, vm))?;
    if let Some(recorder) = super::super::compile::recorder() {
        recorder.computed(name, [&a, &b], &result);
    }
    object(&result, vm)
}

#[pyclass]
impl PySymNode {
    /// The number in the call being compiled, with a guard.
    #[pymethod]
    fn guard_int(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<i64> {
        if let SymInt::Sym(_, env) = &zelf.0 {
            if let (true, Some(number)) = (env.is_settled(), zelf.0.hint()) {
                return Ok(number);
            }
            env.set_source(crate::span::current_source());
        }
        zelf.0.guard_int().map_err(|e| raise(e, vm))
    }

    /// The expression.
    #[pymethod]
    fn expr(zelf: &Py<Self>) -> String {
        zelf.0.to_string()
    }
}
