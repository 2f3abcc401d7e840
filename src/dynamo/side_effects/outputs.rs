//! What a function's last graph gives back: values that it returns, and those that it left elsewhere.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use rustpython_vm::builtins::{PyDict, PyList, PyTuple};
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::escapes;
use crate::dispatch::Value;
use crate::dynamo::Recorder;
use crate::dynamo::containers::{elements_of, for_each_leaf};
use crate::dynamo::guards::manager;
use crate::dynamo::guards::needs::{Needs, guarded};
use crate::dynamo::source::Locals;
use crate::python::native::tensor::{
    TensorBase, condition, float_hint, held_by_python, made, symbolic, symbolic_float, symbolic_hint, take_made, wrap,
};
use crate::shape::FloatExpr;
use crate::tensor::Tensor;

/// Fake tensors and symbolic sizes in a returned structure, in order, each once. A size that was asked for again is a value of its own.
pub fn returned(o: &PyObject, recorder: &Recorder, found: &mut Vec<Value>, vm: &VirtualMachine) {
    let mut sizes = HashSet::new();
    for_each_leaf(o, |o| {
        if let Some(t) = o.downcast_ref::<TensorBase>() {
            let t = t.tensor();
            if recorder.is_traced(&t) {
                if !is_among(&t, found) {
                    found.push(Value::Tensor(t));
                }
            } else if let Some((fake_tensor, times)) = recorder.given_again(&t) {
                // Each call that gave it again is a value of its own to Dynamo.
                let known = found.iter().filter(|v| v.as_tensor().is_some_and(|t| t.is(&fake_tensor))).count();
                found.extend((known < times).then_some(Value::Tensor(fake_tensor)));
            }
        } else if let Some(size) = symbolic(o, vm) {
            let is_new = recorder.has_size(&size) && !recorder.is_number(&size) && sizes.insert(o.get_id());
            found.extend(is_new.then_some(Value::Int(size)));
        } else if let Some(float) = symbolic_float(o, vm).filter(|f| f.hint().is_none() || !matches!(*f.expr, FloatExpr::Symbol(_))) {
            let is_new = recorder.has_float(&float) && !is_known(&Value::SymFloat(float.clone()), found);
            found.extend(is_new.then_some(Value::SymFloat(float)));
        } else if let Some(condition) = open_condition(o, recorder, vm) {
            let is_new = !is_known(&condition, found);
            found.extend(is_new.then_some(condition));
        }
    });
}

/// A condition on numbers of the graph that nobody has decided.
fn open_condition(o: &PyObject, recorder: &Recorder, vm: &VirtualMachine) -> Option<Value> {
    let condition = condition(o, vm).filter(|condition| condition.decided().is_none())?;
    Some(Value::Opaque(Rc::new(condition))).filter(|condition| recorder.has_condition(condition))
}

/// A returned structure with symbolic sizes as the numbers they are in this call.
pub fn numbers_for_sizes(o: PyObjectRef, vm: &VirtualMachine) -> PyResult {
    Settled::default().settle(o, vm)
}

/// Containers that were looked into, and what they have become. The first of each pair is kept, so that its address stays its own.
#[derive(Default)]
struct Settled(HashMap<usize, (PyObjectRef, PyObjectRef)>);

impl Settled {
    fn settle(&mut self, o: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        if let Some(number) = symbolic_hint(&o, vm) {
            return Ok(vm.ctx.new_int(number).into());
        }
        if let Some(number) = float_hint(&o, vm) {
            return Ok(vm.ctx.new_float(number).into());
        }
        if let Some(holds) = condition(&o, vm).and_then(|condition| condition.holds()) {
            return Ok(vm.ctx.new_bool(holds).into());
        }
        if let Some((_, settled)) = self.0.get(&o.get_id()) {
            return Ok(settled.clone());
        }
        vm.with_recursion("", || self.elements(o, vm))
    }

    /// A container with its elements settled; anything else as it is.
    fn elements(&mut self, o: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        if o.class().is(vm.ctx.types.tuple_type) {
            let Some(items) = o.downcast_ref::<PyTuple>() else { return Ok(o) };
            let new = items.as_slice().iter().map(|i| self.settle(i.clone(), vm)).collect::<PyResult<Vec<_>>>()?;
            let is_same = new.iter().zip(items.as_slice()).all(|(a, b)| a.is(b));
            let settled = if is_same { o.clone() } else { vm.ctx.new_tuple(new).into() };
            self.0.insert(o.get_id(), (o, settled.clone()));
            return Ok(settled);
        }
        if let Some(list) = o.downcast_ref::<PyList>() {
            self.0.insert(o.get_id(), (o.clone(), o.clone()));
            let items = list.borrow_vec().to_vec();
            for (i, item) in items.into_iter().enumerate() {
                let new = self.settle(item, vm)?;
                if let Some(slot) = list.borrow_vec_mut().get_mut(i) {
                    *slot = new;
                }
            }
        }
        if let Some(dict) = o.downcast_ref::<PyDict>() {
            self.0.insert(o.get_id(), (o.clone(), o.clone()));
            for (key, value) in dict {
                let new = self.settle(value.clone(), vm)?;
                if !new.is(&value) {
                    dict.set_item(&*key, new, vm)?;
                }
            }
        }
        Ok(o)
    }
}

/// A tensor of the caller's that is all that a function returns: Dynamo returns it from the graph, which does more.
pub fn lone_input(result: &PyObject, recorder: &Recorder) -> Option<Value> {
    if recorder.output().has_side_effect.get() {
        return None;
    }
    let t = recorder.current(&result.downcast_ref::<TensorBase>()?.tensor());
    recorder.touch(&t, false).ok()?;
    recorder.fake_tensor(&t).map(Value::Tensor)
}

/// Symbolic numbers that a function left in objects, and the objects: when its graph has run, they are the numbers that they were.
#[derive(Default)]
pub struct Left(Vec<(PyObjectRef, PyObjectRef)>);

impl Left {
    /// Puts numbers in their place.
    pub fn settle(self, vm: &VirtualMachine) -> PyResult<()> {
        for (holder, symbol) in self.0 {
            let number = numbers_for_sizes(symbol.clone(), vm)?;
            let dict = holder.clone().downcast::<PyDict>().ok().or_else(|| holder.dict());
            if let Some(list) = holder.downcast_ref::<PyList>() {
                list.borrow_vec_mut().iter_mut().filter(|slot| slot.is(&symbol)).for_each(|slot| *slot = number.clone());
            } else if &*holder.class().name() == "cell" {
                // An object of the script's is not asked: it may make what it lacks.
                if holder.get_attr("cell_contents", vm).is_ok_and(|value| value.is(&symbol)) {
                    holder.set_attr("cell_contents", number, vm)?;
                }
            } else if let Some(dict) = dict {
                for (key, _) in dict.clone().into_iter().filter(|(_, value)| value.is(&symbol)) {
                    dict.set_item(&*key, number.clone(), vm)?;
                }
            }
        }
        Ok(())
    }
}

/// Adds what escaped otherwise, to a global, an attribute, a list: it is wanted too. Gives the numbers among it.
pub fn add_escaped(
    outputs: &mut Vec<Value>,
    recorder: &Recorder,
    result: Option<&PyObjectRef>,
    (bound, needs): (Option<&manager::Bound>, &Needs),
    vm: &VirtualMachine,
) -> Left {
    let symbols = take_made(vm);
    let mut escaped: Vec<(Value, Tensor)> = Vec::new();
    escaped.extend(alive(recorder).into_iter().filter(|t| !is_among(t, outputs)).map(|t| (Value::Tensor(t.clone()), t)));
    escaped.extend(recorder.stored_back().into_iter().map(|(fake_tensor, known)| (Value::Tensor(fake_tensor), known)));
    // One alone is in order, but for what comes of it in an object that is returned.
    let is_alone = escaped.is_empty() || escaped.len() == 1 && (outputs.is_empty() || result.is_none_or(|r| elements_of(r).is_none()));
    if symbols.is_empty() && is_alone && result.is_none_or(|r| r.dict().is_none()) {
        outputs.extend(escaped.into_iter().map(|(value, _)| value));
        recorder.in_order_of_leaves(outputs);
        return Left::default();
    }
    let tensors = escaped.iter().map(|(_, known)| wrap(known, vm).map_or(0, |o| o.get_id()));
    let objects: Vec<usize> = tensors.chain(symbols.iter().map(|o| o.get_id())).collect();
    let none = Locals::new();
    let (globals, code) = (bound.and_then(|b| b.globals(vm)), bound.and_then(|b| b.code(vm)));
    let locals = bound.map_or(&none, |b| &b.locals);
    let cells = bound.map_or_else(Vec::new, |b| b.cells(vm));
    let roots = escapes::Roots { result, locals, cells: &cells, globals: globals.as_ref(), code: code.as_deref() };
    let guarded = guarded(needs, locals, vm);
    let kept = escapes::find(&objects, &roots, &guarded, !symbols.is_empty(), vm);
    let count = escaped.len();
    let values = escaped.into_iter().map(|(value, _)| Some(value)).chain(symbols.iter().map(|o| computed(o, recorder, vm)));
    let mut ranked: Vec<(escapes::Rank, Value)> = Vec::new();
    for (i, (rank, value)) in kept.ranks.iter().zip(values).enumerate() {
        let Some(value) = value.filter(|v| i < count || rank.is_some() && !is_known(v, outputs)) else { continue };
        if !ranked.iter().any(|(_, known)| is_known(&value, std::slice::from_ref(known))) {
            ranked.push((rank.unwrap_or_else(|| escapes::alone(i)), value));
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let first = ranked.iter().filter(|(rank, _)| rank.is_first()).count();
    let mut values: Vec<Value> = ranked.into_iter().map(|(_, value)| value).collect();
    outputs.extend(values.split_off(first));
    outputs.splice(0..0, values);
    recorder.in_order_of_leaves(outputs);
    let symbol = |id: usize| symbols.iter().find(|o| o.get_id() == id).cloned();
    Left(kept.holders.into_iter().filter_map(|(holder, id)| Some((holder, symbol(id)?))).collect())
}

/// Numbers of the graph that ends in a called function and that somebody still has: what that gave its caller, and what it left in objects.
pub fn numbers_left(recorder: &Recorder, vm: &VirtualMachine) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for number in made(vm).iter().filter_map(|o| computed(o, recorder, vm)) {
        let is_input = matches!(&number, Value::SymFloat(float) if matches!(*float.expr, FloatExpr::Symbol(_)));
        if !is_input && !is_known(&number, &found) {
            found.push(number);
        }
    }
    found
}

/// A symbolic number that the function computed: the graph returns it.
fn computed(o: &PyObject, recorder: &Recorder, vm: &VirtualMachine) -> Option<Value> {
    let size = symbolic(o, vm).filter(|size| recorder.has_size(size) && !recorder.is_number(size)).map(Value::Int);
    let number = size.or_else(|| symbolic_float(o, vm).filter(|float| recorder.has_float(float)).map(Value::SymFloat));
    number.or_else(|| open_condition(o, recorder, vm))
}

/// Whether a symbolic number is among values.
pub fn is_known(number: &Value, values: &[Value]) -> bool {
    values.iter().any(|v| match (v, number) {
        (Value::Int(a), Value::Int(b)) => a.expr() == b.expr(),
        (Value::SymFloat(a), Value::SymFloat(b)) => a.expr == b.expr,
        _ => v.condition().zip(number.condition()).is_some_and(|(a, b)| a.to_string() == b.to_string()),
    })
}

pub fn is_among(t: &Tensor, values: &[Value]) -> bool {
    values.iter().any(|v| matches!(v, Value::Tensor(o) if o.is(t)))
}

/// Fake tensors that are live in Python, or that the call that breaks the graph reads.
pub fn alive(recorder: &Recorder) -> Vec<Tensor> {
    let all = recorder.alive();
    let held = held_by_python(&all);
    all.into_iter().filter(|t| held.contains(&t.id()) || recorder.needs(t).is_some() || recorder.is_gradient(t)).collect()
}
