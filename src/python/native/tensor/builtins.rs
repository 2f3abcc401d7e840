//! `min`, `max` and `sum` of symbolic numbers, and of tensors of one element: what a graph holds of them.

use rustpython_vm::builtins::{PyList, PyTuple};
use rustpython_vm::function::{FuncArgs, KwArgs};
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::convert::to_tensor;
use super::packet::call_packet;
use super::symint::{object, operand, operate, operate_on_floats, symbolic, symbolic_float};
use crate::shape::SymInt;
use crate::span::Written;

/// The smaller or the larger of a tensor and another, or a number: as part of a graph, where Python's own would ask for a truth.
fn extremum_of_tensors(name: &str, a: &PyObjectRef, b: &PyObjectRef, vm: &VirtualMachine) -> PyResult {
    let is_max = name == "max";
    if to_tensor(a).is_some() && to_tensor(b).is_some() {
        let (packet, name) = if is_max { ("aten.maximum", "maximum") } else { ("aten.minimum", "minimum") };
        return call_packet(packet, Written::Function("torch.", name), &FuncArgs::from(vec![a.clone(), b.clone()]), vm);
    }
    let (tensor, number) = if to_tensor(a).is_some() { (a, b) } else { (b, a) };
    let bound: KwArgs = [((if is_max { "min" } else { "max" }).to_owned(), number.clone())].into_iter().collect();
    call_packet("aten.clamp", Written::Function("torch.", "clamp"), &FuncArgs::new(vec![tensor.clone()], bound), vm)
}

/// `min` and `max`: of sizes, without a guard, and of tensors of one element.
pub fn extremum(name: &str, plain: &PyObject, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    if !args.kwargs.is_empty() || crate::dynamo::tracing::recorder().is_none() {
        return plain.call(args, vm);
    }
    let items: Vec<PyObjectRef> = match args.args.as_slice() {
        [all] => all.try_to_value(vm)?,
        several => several.to_vec(),
    };
    let are_sizes = items.iter().any(|o| symbolic(o, vm).is_some()) && items.iter().all(|o| operand(o, vm).is_some());
    let is_float = |o: &PyObjectRef| o.class().is(vm.ctx.types.float_type) || symbolic_float(o, vm).is_some();
    let are_floats = items.iter().any(|o| symbolic_float(o, vm).is_some()) && items.iter().all(is_float);
    let is_scalar = |o: &PyObjectRef| to_tensor(o).is_some_and(|t| t.dim() == 0);
    let is_number = |o: &PyObjectRef| o.class().is(vm.ctx.types.int_type) || o.class().is(vm.ctx.types.float_type);
    let are_tensors = items.iter().any(is_scalar) && items.iter().all(|o| is_scalar(o) || is_number(o));
    match items.split_first() {
        Some((first, rest)) if are_tensors => {
            rest.iter().try_fold(first.clone(), |found, next| match is_number(&found) && is_number(next) {
                true => plain.call((found, next.clone()), vm),
                false => extremum_of_tensors(name, &found, next, vm),
            })
        }
        Some((first, rest)) if are_floats => {
            let name = if name == "max" { "sym_max" } else { "sym_min" };
            rest.iter().try_fold(first.clone(), |found, next| match symbolic_float(&found, vm).or_else(|| symbolic_float(next, vm)) {
                // A symbol comes first.
                Some(_) => {
                    let (a, b) = if symbolic_float(&found, vm).is_some() { (&found, next) } else { (next, &found) };
                    Ok(operate_on_floats(name, a, b, vm)?.unwrap_or_else(|| vm.ctx.not_implemented()))
                }
                None => plain.call((found, next.clone()), vm),
            })
        }
        Some((first, rest)) if are_sizes => rest.iter().try_fold(first.clone(), |found, next| operate(name, &found, next, vm)),
        _ => plain.call((vm.ctx.new_list(items),), vm),
    }
}

/// `sum`: of sizes, in one call.
pub fn summed(plain: &PyObject, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
    let Some(recorder) = crate::dynamo::tracing::recorder().filter(|_| args.kwargs.is_empty()) else {
        return plain.call(args, vm);
    };
    let is_sequence = |o: &PyObject| o.downcast_ref::<PyList>().is_some() || o.downcast_ref::<PyTuple>().is_some();
    let [all] = args.args.as_slice() else { return plain.call(args, vm) };
    if !is_sequence(all) {
        return plain.call(args, vm);
    }
    let items: Vec<PyObjectRef> = all.try_to_value(vm)?;
    let sizes: Option<Vec<SymInt>> = items.iter().map(|o| operand(o, vm)).collect();
    match sizes {
        Some(sizes) if sizes.len() > 1 && items.iter().any(|o| symbolic(o, vm).is_some()) => {
            let sum = sizes.iter().fold(SymInt::Int(0), |sum, size| &sum + size);
            recorder.computed("sym_sum", &sizes.iter().collect::<Vec<_>>(), &sum);
            object(&sum, vm)
        }
        _ => plain.call(args, vm),
    }
}
