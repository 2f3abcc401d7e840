//! Symbolic sizes as Python sees them: `torch.SymInt`, a Python class around the node here.
//!
//! The class says that it is an `int`, but is none: arithmetic and comparison go to the node, where comparison guards, and
//! whatever needs the number asks the node for it, which guards too.

use std::cell::RefCell;

use rustpython_vm::builtins::{PyBaseExceptionRef, PyFloat, PySlice, PyStrRef, PyWeak};
use rustpython_vm::class::PyClassImpl;
use rustpython_vm::function::OptionalArg;
use rustpython_vm::types::Representable;
use rustpython_vm::{Py, PyObject, PyObjectRef, PyPayload, PyRef, PyResult, VirtualMachine};

use super::convert::{to_int, to_value};
use super::errors::raise;
use crate::dispatch::Value;
use crate::dynamo::Unsupported;
use crate::error::{Error, ErrorKind, Result};
use crate::shape::{FloatExpr, Relation, Rounding, ShapeEnv, SymCondition, SymFloat, SymInt};

/// `torch.SymInt.node`
#[pyclass(module = "torch", name = "SymNode")]
#[derive(Debug, PyPayload)]
pub struct PySymNode(SymInt);

thread_local! {
    /// Objects of numbers that only the run knows.
    static UNKNOWN: RefCell<Vec<PyRef<PyWeak>>> = const { RefCell::new(Vec::new()) };
    /// Symbolic numbers that a compiled function's call made.
    static MADE: RefCell<Vec<PyRef<PyWeak>>> = const { RefCell::new(Vec::new()) };
}

/// The Python object of a size.
pub fn object(size: &SymInt, vm: &VirtualMachine) -> PyResult {
    let SymInt::Sym(_, env) = size else {
        return number(size, vm);
    };
    if env.is_settled() || size.expr().as_int().is_some() {
        return number(size, vm);
    }
    let module = vm.sys_module.get_attr("modules", vm)?.get_item("torch._C", vm)?;
    let node: PyObjectRef = PySymNode(size.clone()).into_pyobject(vm);
    let object = module.get_attr("SymInt", vm)?.call((node,), vm)?;
    if crate::dynamo::tracing::is_called() {
        note_made(&object, vm)?;
    }
    if size.hint().is_none() {
        note_unknown(&object, vm)?;
    }
    Ok(object)
}

fn note_unknown(object: &PyObject, vm: &VirtualMachine) -> PyResult<()> {
    let weak = object.downgrade(None, vm)?;
    UNKNOWN.with_borrow_mut(|u| u.push(weak));
    Ok(())
}

/// The interpreter keeps the last slice that died, and what it was made of, until there is another.
fn let_go_of_slice(vm: &VirtualMachine) {
    drop(PySlice { start: None, stop: vm.ctx.none(), step: None }.into_pyobject(vm));
}

/// Numbers that only the run knows and that Python still knows, wherever it keeps them; forgets them.
pub fn take_unknown(vm: &VirtualMachine) -> Vec<Value> {
    let_go_of_slice(vm);
    let alive = UNKNOWN.take();
    alive.iter().filter_map(|weak| to_value(&*weak.upgrade()?, vm)).collect()
}

/// Notes a symbolic number of a compiled function's call.
pub fn note_made(object: &PyObject, vm: &VirtualMachine) -> PyResult<()> {
    let weak = object.downgrade(None, vm)?;
    MADE.with_borrow_mut(|made| made.push(weak));
    Ok(())
}

/// Symbolic numbers that a call made and that Python still knows; forgets them.
pub fn take_made(vm: &VirtualMachine) -> Vec<PyObjectRef> {
    let_go_of_slice(vm);
    MADE.take().iter().filter_map(|weak| weak.upgrade()).collect()
}

/// Symbolic numbers that a call made so far and that Python still knows.
pub fn made(vm: &VirtualMachine) -> Vec<PyObjectRef> {
    let_go_of_slice(vm);
    MADE.with_borrow(|made| made.iter().filter_map(|weak| weak.upgrade()).collect())
}

fn number(size: &SymInt, vm: &VirtualMachine) -> PyResult {
    Ok(vm.ctx.new_int(size.guard_int().map_err(|e| raise(e, vm))?).into())
}

fn node(o: &PyObject, vm: &VirtualMachine) -> Option<SymInt> {
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

/// The size of a Python object: symbolic while its call is recorded, afterwards the number that it was.
pub fn size(o: &PyObject, vm: &VirtualMachine) -> Option<SymInt> {
    symbolic(o, vm).or_else(|| symbolic_hint(o, vm).map(SymInt::Int))
}

/// The number that a symbolic size stands for in its call.
pub fn symbolic_hint(o: &PyObject, vm: &VirtualMachine) -> Option<i64> {
    node(o, vm)?.hint()
}

pub(super) fn operand(o: &PyObject, vm: &VirtualMachine) -> Option<SymInt> {
    size(o, vm).or_else(|| to_int(o).map(SymInt::Int))
}

fn relation(name: &str) -> Option<Relation> {
    Relation::ALL.into_iter().find(|r| r.operator() == name)
}

/// The result, and the function of Python's or PyTorch's that makes it.
fn arithmetic(name: &str, a: &SymInt, b: &SymInt) -> Result<(&'static str, SymInt)> {
    const NAMES: &[&str] = &["sub", "mul", "floordiv", "mod", "neg", "abs", "pow", "lshift", "rshift", "and_", "or_", "xor"];
    let name = match name {
        "max" => "sym_max",
        "min" => "sym_min",
        other => NAMES.iter().find(|name| **name == other).copied().unwrap_or("add"),
    };
    Ok((name, SymInt::calculated(name, a, b)?.unwrap_or_else(|| a + b)))
}

/// An operand of arithmetic on floats, and where its symbols are known.
fn float_operand(o: &PyObject, vm: &VirtualMachine) -> Option<(FloatExpr, Option<ShapeEnv>)> {
    Some(match to_value(o, vm)? {
        Value::SymFloat(f) => ((*f.expr).clone(), Some(f.env)),
        Value::Int(SymInt::Sym(e, env)) => (FloatExpr::ToFloat(e), Some(env)),
        Value::Int(SymInt::Int(i)) => (FloatExpr::Number(i as f64), None),
        Value::Float(f) => (FloatExpr::Number(f), None),
        _ => return None,
    })
}

/// Arithmetic and comparison that have to do with floats; none where they have not.
pub(super) fn operate_on_floats(name: &str, a: &PyObject, b: &PyObject, vm: &VirtualMachine) -> PyResult<Option<PyObjectRef>> {
    let is_float = |o: &PyObject| o.downcast_ref::<PyFloat>().is_some() || float_node(o, vm).is_some();
    if !is_float(a) && !is_float(b) && name != "truediv" && name != "float" {
        return Ok(None);
    }
    let (Some((x, env)), Some((y, other))) = (float_operand(a, vm), float_operand(b, vm)) else {
        return Ok(Some(vm.ctx.not_implemented()));
    };
    let Some(env) = env.or(other) else { return Ok(Some(vm.ctx.not_implemented())) };
    if let Some(relation) = relation(name) {
        let (left, right) = (SymFloat { expr: x.into(), env: env.clone() }, SymFloat { expr: y.clone().into(), env });
        if left.hint().is_none() || right.hint().is_none() {
            let condition = format!("{left} {} {right}", relation.text());
            for side in [&left, &right].into_iter().filter(|side| side.hint().is_none()) {
                need(&Value::SymFloat(side.clone()), &condition, true, vm)?;
            }
            let holds = left.hint().zip(right.hint()).map(|(a, b)| relation.holds(a, b));
            return holds.map(|b| Some(vm.ctx.new_bool(b).into())).ok_or_else(|| unknown(&condition, vm));
        }
        if let Some(recorder) = crate::dynamo::tracing::recorder() {
            recorder.computed_float(&left);
        }
        return Ok(Some(vm.ctx.new_bool(left.compare(relation, &y).map_err(|e| raise(e, vm))?).into()));
    }
    let quotient = match (operand(a, vm), operand(b, vm)) {
        (Some(a), Some(b)) if name == "truediv" && !is_float_object(&a, &b) => SymFloat::quotient(&a, &b),
        _ => None,
    };
    let names = ["add", "sub", "mul", "truediv", "pow", "sym_max", "sym_min"];
    let made = match (quotient, names.into_iter().find(|n| *n == name)) {
        (Some(quotient), _) => quotient,
        (None, Some(name)) => SymFloat::binary(name, &x, &y, &env),
        (None, None) if name == "float" => SymFloat { expr: x.into(), env },
        (None, None) if name == "round" => match y {
            FloatExpr::Number(digits) => SymFloat { expr: x.into(), env }.rounded_to(digits.clamp(-400.0, 400.0) as i32),
            _ => return Ok(Some(vm.ctx.not_implemented())),
        },
        (None, None) if name == "neg" => SymFloat { expr: FloatExpr::Neg(x.into()).into(), env },
        (None, None) => return Ok(Some(vm.ctx.not_implemented())),
    };
    if let Some(recorder) = crate::dynamo::tracing::recorder().filter(|r| !r.defers_float(&made)) {
        recorder.computed_float(&made);
    }
    float_object(&made, vm).map(Some)
}

fn is_float_object(a: &SymInt, b: &SymInt) -> bool {
    a.as_int().is_some() && b.as_int().is_some()
}

/// The Python object of a symbolic float.
pub fn float_object(float: &SymFloat, vm: &VirtualMachine) -> PyResult {
    let hint = float.hint().unwrap_or_default();
    if float.env.is_settled() || matches!(*float.expr, FloatExpr::Number(_)) {
        return Ok(vm.ctx.new_float(hint).into());
    }
    let module = vm.sys_module.get_attr("modules", vm)?.get_item("torch._C", vm)?;
    drop(PySymFloatNode::make_static_type());
    let node: PyObjectRef = PySymFloatNode(float.clone()).into_pyobject(vm);
    let object = module.get_attr("SymFloat", vm)?.call((node,), vm)?;
    if float.hint().is_none() {
        note_unknown(&object, vm)?;
    } else if !matches!(*float.expr, FloatExpr::Symbol(_)) && crate::dynamo::tracing::recorder().is_some() {
        note_made(&object, vm)?;
    }
    Ok(object)
}

fn float_node(o: &PyObject, vm: &VirtualMachine) -> Option<SymFloat> {
    let node = o.dict()?.get_item_opt("node", vm).ok()??;
    node.downcast_ref::<PySymFloatNode>().map(|n| n.0.clone())
}

/// The symbolic float of a Python object, while the call that it belongs to is recorded.
pub fn symbolic_float(o: &PyObject, vm: &VirtualMachine) -> Option<SymFloat> {
    float_node(o, vm).filter(|f| !f.env.is_settled())
}

/// The number that a symbolic float stands for in its call.
pub fn float_hint(o: &PyObject, vm: &VirtualMachine) -> Option<f64> {
    float_node(o, vm)?.hint()
}

/// A function of `math` of a symbolic number; none where it is a plain one, or PyTorch has no symbol for the function's.
pub fn function_of_number(name: &str, o: &PyObject, vm: &VirtualMachine) -> PyResult<Option<PyObjectRef>> {
    let float = match symbolic(o, vm) {
        Some(size) => SymFloat::of_size(&size),
        None => symbolic_float(o, vm),
    };
    let Some(made) = float.and_then(|f| f.function(name)) else { return Ok(None) };
    if let Some(recorder) = crate::dynamo::tracing::recorder() {
        recorder.computed_float(&made);
    }
    float_object(&made, vm).map(Some)
}

/// A symbolic number as a float, which it is from now on; none where it is a plain one.
pub fn guarded_number(o: &PyObject, vm: &VirtualMachine) -> PyResult<Option<f64>> {
    let guarded = match (symbolic(o, vm), symbolic_float(o, vm)) {
        (Some(size), _) => size.guard_int().map(|i| i as f64),
        (_, Some(float)) => {
            if let Some(recorder) = crate::dynamo::tracing::recorder() {
                recorder.asked_float(&float);
            }
            float.guard_float()
        }
        _ => return Ok(None),
    };
    guarded.map(Some).map_err(|e| raise(e, vm))
}

/// An expression as scripts see it: its text, with the number or condition that it is.
fn expression(text: &str, number: PyObjectRef, vm: &VirtualMachine) -> PyResult {
    const HOME: &str = "torch.fx.experimental._expressions";
    vm.import(HOME, 0)?;
    let home = vm.sys_module.get_attr("modules", vm)?.get_item(HOME, vm)?;
    home.get_attr("written", vm)?.call((text, number), vm)
}

/// `torch.SymFloat.node`
#[pyclass(module = "torch", name = "SymFloatNode")]
#[derive(Debug, PyPayload)]
pub struct PySymFloatNode(SymFloat);

#[pyclass]
impl PySymFloatNode {
    /// The calls of sympy's that make the expression.
    #[pymethod]
    fn srepr(zelf: &Py<Self>) -> String {
        zelf.0.expr.srepr(&zelf.0.env)
    }

    /// The number in the call, without a guard; `None` where only the run knows it.
    #[pygetset]
    fn hint(zelf: &Py<Self>) -> Option<f64> {
        zelf.0.hint()
    }

    /// Whether it is a number of the call that is recorded.
    #[pymethod]
    fn is_recorded(zelf: &Py<Self>) -> bool {
        crate::dynamo::tracing::recorder().is_some_and(|r| r.has_float(&zelf.0)) && zelf.0.hint().is_some()
    }

    /// The number in the call being compiled, with a guard.
    #[pymethod]
    fn guard_float(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<f64> {
        if zelf.0.env.is_settled() {
            return zelf.0.hint().ok_or_else(|| unknown(&zelf.0.to_string(), vm));
        }
        if zelf.0.hint().is_none() {
            let text = zelf.0.to_string();
            need(&Value::SymFloat(zelf.0.clone()), &text, false, vm)?;
            return zelf.0.hint().ok_or_else(|| unknown(&text, vm));
        }
        if let Some(recorder) = crate::dynamo::tracing::recorder() {
            recorder.asked_float(&zelf.0);
        }
        zelf.0.guard_float().map_err(|e| raise(e, vm))
    }

    /// The expression.
    #[pygetset]
    fn expr(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        expression(&zelf.0.to_string(), float_object(&zelf.0, vm)?, vm)
    }

    /// What `str` says of it: the number where a call is recorded or over, else the expression.
    #[pymethod]
    fn text(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<String> {
        if zelf.0.env.is_settled() || crate::dynamo::tracing::recorder().is_some() {
            let number: PyObjectRef = vm.ctx.new_float(Self::guard_float(zelf, vm)?).into();
            return Ok(number.repr(vm)?.to_string_lossy().into_owned());
        }
        Ok(zelf.0.to_string())
    }
}

/// `torch.SymBool.node`: a condition on numbers that only the run knows.
#[pyclass(module = "torch", name = "SymBoolNode")]
#[derive(Debug, PyPayload)]
pub struct PySymCondition(SymCondition);

/// The `torch.SymBool` of a condition.
pub fn condition_object(condition: SymCondition, vm: &VirtualMachine) -> PyResult {
    drop(PySymCondition::make_static_type());
    let module = vm.sys_module.get_attr("modules", vm)?.get_item("torch._C", vm)?;
    let node: PyObjectRef = PySymCondition(condition).into_pyobject(vm);
    let object = module.get_attr("SymBool", vm)?.call((node,), vm)?;
    if crate::dynamo::tracing::is_called() {
        note_made(&object, vm)?;
    }
    Ok(object)
}

/// The condition that an object is, if it is a `torch.SymBool`.
pub fn condition(o: &PyObject, vm: &VirtualMachine) -> Option<SymCondition> {
    if &*o.class().name() != "SymBool" {
        return None;
    }
    let node = o.get_attr("node", vm).ok()?;
    node.downcast_ref::<PySymCondition>().map(|condition| condition.0.clone())
}

impl PySymCondition {
    /// Notes that it holds, with the symbols in it.
    fn says(&self) -> bool {
        let SymCondition { left, relation, right } = &self.0;
        let Some(env) = self.0.env() else { return false };
        env.expect(&left.expr(), *relation, &right.expr());
        true
    }
}

#[pyclass]
impl PySymCondition {
    /// Whether it holds: the graph breaks, so that it is known.
    #[pymethod]
    fn guard_bool(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<bool> {
        let SymCondition { left: a, relation, right: b } = &zelf.0;
        if let (true, Some(holds)) = (zelf.0.env().is_some_and(ShapeEnv::is_settled), zelf.0.holds()) {
            return Ok(holds);
        }
        let condition = relation.condition(a, b);
        let is_known = a.hint().is_some() && b.hint().is_some();
        for side in [a, b].into_iter().filter(|side| side.hint().is_none()) {
            need(&Value::Int(side.clone()), &condition, true, vm)?;
        }
        if let Some(side) = [a, b].into_iter().find(|side| side.hint().is_none()) {
            return Err(unknown_to_script(&condition, true, side, vm));
        }
        if is_known && a.decide(*relation, b).is_none() {
            crate::dynamo::tracing::compared(&[a, b]).map_err(|e| raise(e, vm))?;
        }
        a.compare_asked(*relation, b).map_err(|e| raise(e, vm))
    }

    /// Has the graph that is recorded check it, with what is said where it does not hold; whether there is such a graph, and it holds in
    /// this call as far as that is known.
    #[pymethod]
    fn expect(zelf: &Py<Self>, said: OptionalArg<Option<PyStrRef>>, vm: &VirtualMachine) -> PyResult<bool> {
        let SymCondition { left: a, relation, right: b } = &zelf.0;
        let said = said.flatten().map(|s| s.to_string_lossy().into_owned());
        match crate::dynamo::tracing::recorder().filter(|r| r.has_size(a) || r.has_size(b)) {
            Some(recorder) => recorder.check(a, *relation, b, said.as_deref()).map_err(|e| raise(e, vm)),
            // Numbers of a script's own environment: what it says of them holds from here on.
            None if crate::dynamo::tracing::is_called() || (a.hint().is_some() && b.hint().is_some()) => Ok(false),
            None => {
                let said = zelf.says();
                // A graph that is exported checks it.
                if let Some(tracer) = crate::aot::trace::current_tracer().filter(|t| said && t.sees_script()) {
                    tracer.state(a, *relation, b).map_err(|e| raise(e, vm))?;
                }
                Ok(said)
            }
        }
    }

    /// It holds of numbers that only the run knows; whether that could be said.
    #[pymethod]
    fn assume(zelf: &Py<Self>) -> bool {
        let SymCondition { left: a, relation, right: b } = &zelf.0;
        let recorder = crate::dynamo::tracing::recorder().filter(|r| r.has_size(a) || r.has_size(b));
        recorder.map(|recorder| recorder.assume(a, *relation, b)).is_some()
    }

    /// The exception that is raised because it does not hold says this.
    #[pymethod]
    fn failed(zelf: &Py<Self>, said: PyStrRef) {
        let SymCondition { left: a, relation, right: b } = &zelf.0;
        if let Some(recorder) = crate::dynamo::tracing::recorder() {
            recorder.check_failed(&said.to_string_lossy(), &relation.condition(a, b));
        }
    }

    /// Whether it holds whatever the symbols are; `None` where that is open.
    #[pymethod]
    fn decided(zelf: &Py<Self>) -> Option<bool> {
        zelf.0.decided()
    }

    /// The calls of sympy's that make the condition.
    #[pymethod]
    fn srepr(zelf: &Py<Self>) -> Option<String> {
        let SymCondition { left, relation, right } = &zelf.0;
        let env = zelf.0.env()?;
        Some(format!("{}({}, {})", relation.srepr(), left.expr().srepr(env), right.expr().srepr(env)))
    }

    /// Whether the numbers in it are known in the call.
    #[pymethod]
    fn is_known(zelf: &Py<Self>) -> bool {
        zelf.0.sides().into_iter().all(|side| side.hint().is_some())
    }

    /// The condition.
    #[pygetset]
    fn expr(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        expression(&zelf.0.to_string(), condition_object(zelf.0.clone(), vm)?, vm)
    }

    /// The condition that holds where this one does not.
    #[pymethod]
    fn negated(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let SymCondition { left: a, relation, right: b } = &zelf.0;
        condition_object(SymCondition { left: a.clone(), relation: relation.negated(), right: b.clone() }, vm)
    }

    /// What `str` says of it: whether it holds where a call is recorded that knows its numbers, or is over, else the condition.
    #[pymethod]
    fn text(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<String> {
        let is_over = zelf.0.env().is_some_and(ShapeEnv::is_settled);
        if zelf.0.holds().is_some() && (is_over || crate::dynamo::tracing::recorder().is_some()) {
            let holds: PyObjectRef = vm.ctx.new_bool(Self::guard_bool(zelf, vm)?).into();
            return Ok(holds.repr(vm)?.to_string_lossy().into_owned());
        }
        Ok(zelf.0.to_string())
    }
}

/// Breaks the graph because the value of an unbacked symbol is needed: as the operand of a decision, or by itself.
fn need(number: &Value, expression: &str, is_decision: bool, vm: &VirtualMachine) -> PyResult<()> {
    let size_like = match number {
        Value::Int(SymInt::Sym(expr, env)) => expr.symbols().into_iter().filter(|s| env.is_size(s)).map(|s| s.0.to_string()).collect(),
        _ => Vec::new(),
    };
    let reason = Unsupported::data_dependent(expression, &size_like, is_decision);
    crate::dynamo::tracing::need_number(number, &reason).map_err(|e| raise(e, vm))
}

/// What is raised where a number is known neither now nor later.
fn unknown(expression: &str, vm: &VirtualMachine) -> PyBaseExceptionRef {
    let is_traced = crate::aot::trace::current_tracer().is_some_and(|tracer| tracer.sees_script());
    let message = if is_traced {
        format!("Could not guard on data-dependent expression {expression} (unhinted: {expression}).")
    } else {
        format!("the number {expression} is known only inside of a compiled graph, which did not return it")
    };
    raise(Error::new(ErrorKind::GuardOnDataDependent, message), vm)
}

/// The same where its environment is a script's own: PyTorch's words.
fn unknown_to_script(expression: &str, is_decision: bool, number: &SymInt, vm: &VirtualMachine) -> PyBaseExceptionRef {
    let SymInt::Sym(expr, env) = number else { return unknown(expression, vm) };
    if env.is_settled() || crate::aot::trace::current_tracer().is_some_and(|tracer| tracer.sees_script()) {
        return unknown(expression, vm);
    }
    let size_like: Vec<String> = expr.symbols().into_iter().filter(|s| env.is_size(s)).map(|s| s.0.to_string()).collect();
    let size_like = if size_like.is_empty() { "none".to_owned() } else { size_like.join(", ") };
    let what = if is_decision { "guard on" } else { "extract specialized integer from" };
    let message = format!(
        "Could not {what} data-dependent expression {expression} (unhinted: {expression}).  (Size-like symbols: {size_like})\n\n\
         consider using data-dependent friendly APIs such as guard_or_false, guard_or_true and statically_known_true."
    );
    raise(Error::new(ErrorKind::GuardOnDataDependent, message), vm)
}

/// `int(o)` and what `math` rounds by: a symbolic number stays one; `None` where it is a plain number, or has to be one.
pub fn whole_number(name: &str, o: &PyObject, vm: &VirtualMachine) -> PyResult<Option<PyObjectRef>> {
    let Some(recorder) = crate::dynamo::tracing::recorder() else { return Ok(None) };
    if let Some(size) = symbolic(o, vm) {
        return Ok(recorder.has_size(&size).then(|| o.to_owned()));
    }
    let rounded = symbolic_float(o, vm).and_then(|f| Some((f.rounded(Rounding::named(name)?), f)));
    let Some((size, float)) = rounded else { return Ok(None) };
    recorder.computed_float(&float);
    object(&size, vm).map(Some)
}

/// `float(o)` of a symbolic number; `None` where it is a plain one.
pub fn symbolic_to_float(o: &PyObject, vm: &VirtualMachine) -> PyResult<Option<PyObjectRef>> {
    let Some(recorder) = crate::dynamo::tracing::recorder() else { return Ok(None) };
    if symbolic_float(o, vm).is_some_and(|f| recorder.has_float(&f)) {
        return Ok(Some(o.to_owned()));
    }
    let float = symbolic(o, vm).filter(|size| recorder.has_size(size)).and_then(|size| SymFloat::of_size(&size));
    let Some(float) = float else { return Ok(None) };
    recorder.computed_float(&float);
    float_object(&float, vm).map(Some)
}

/// `op(name, a, b)`: arithmetic and comparison of sizes; `NotImplemented` where one of them is no integer.
pub fn operate(name: &str, a: &PyObject, b: &PyObject, vm: &VirtualMachine) -> PyResult {
    if Rounding::named(name).is_some() {
        return Ok(whole_number(name, a, vm)?.unwrap_or_else(|| vm.ctx.not_implemented()));
    }
    if let Some(float) = operate_on_floats(name, a, b, vm)? {
        return Ok(float);
    }
    let (Some(a), Some(b)) = (operand(a, vm), operand(b, vm)) else {
        return Ok(vm.ctx.not_implemented());
    };
    if let Some(relation) = relation(name) {
        if let (None, Some(tracer)) = (crate::dynamo::tracing::recorder(), crate::aot::trace::current_tracer()) {
            tracer.script_compared(relation.operator(), [&a, &b]);
        }
        if (a.hint().is_none() || b.hint().is_none()) && a.decide(relation, &b).is_none() {
            return condition_object(SymCondition { left: a, relation, right: b }, vm);
        }
        let recorder = crate::dynamo::tracing::recorder();
        let is_of_graph = recorder.is_some_and(|r| r.has_size(&a) || r.has_size(&b));
        let is_open = || crate::dynamo::tracing::compares_for_later() && a.decide(relation, &b).is_none();
        if is_of_graph && (crate::dynamo::tracing::is_checked() || is_open()) {
            return condition_object(SymCondition { left: a, relation, right: b }, vm);
        }
        // Outside of compiled functions a script may ask what holds without deciding by it.
        if !crate::dynamo::tracing::is_called() && a.decide(relation, &b).is_none() {
            return condition_object(SymCondition { left: a, relation, right: b }, vm);
        }
        crate::dynamo::tracing::compared(&[&a, &b]).map_err(|e| raise(e, vm))?;
        return Ok(vm.ctx.new_bool(a.compare_asked(relation, &b).map_err(|e| raise(e, vm))?).into());
    }
    let (name, result) = arithmetic(name, &a, &b).map_err(|e| raise(e, vm))?;
    if let Some(recorder) = crate::dynamo::tracing::recorder() {
        let operands = [&a, &b];
        recorder.computed(name, if name == "neg" || name == "abs" { &operands[..1] } else { &operands }, &result);
    } else if let Some(tracer) = crate::aot::trace::current_tracer() {
        tracer.script_calculated(name, [&a, &b], &result).map_err(|e| raise(e, vm))?;
    }
    object(&result, vm)
}

impl Representable for PySymNode {
    fn repr_str(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<String> {
        Ok(zelf.0.to_string())
    }
}

#[pyclass(with(Representable))]
impl PySymNode {
    /// Whether it is a number of the call that is recorded.
    #[pymethod]
    fn is_recorded(zelf: &Py<Self>) -> bool {
        let size = if let SymInt::Sym(_, env) = &zelf.0
            && env.is_settled()
        {
            zelf.0.succeeded()
        } else {
            Some(zelf.0.clone())
        };
        let is_open = |size: SymInt| crate::dynamo::tracing::recorder().is_some_and(|r| r.has_size(&size) && size.hint().is_some());
        size.is_some_and(is_open)
    }

    /// The number in the call being compiled, with a guard.
    #[pymethod]
    fn guard_int(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<i64> {
        if let SymInt::Sym(_, env) = &zelf.0 {
            if let (true, Some(number)) = (env.is_settled(), zelf.0.hint()) {
                return Ok(number);
            }
            if zelf.0.hint().is_none() {
                let text = zelf.0.to_string();
                need(&Value::Int(zelf.0.clone()), &text, false, vm)?;
                return zelf.0.hint().ok_or_else(|| unknown_to_script(&text, false, &zelf.0, vm));
            }
        }
        zelf.0.guard_int().map_err(|e| raise(e, vm))
    }

    /// The expression.
    #[pygetset]
    fn expr(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        expression(&zelf.0.to_string(), object(&zelf.0, vm)?, vm)
    }

    /// The calls of sympy's that make the expression.
    #[pymethod]
    fn srepr(zelf: &Py<Self>) -> String {
        match &zelf.0 {
            SymInt::Sym(expr, env) => env.simplify(expr).srepr(env),
            SymInt::Int(number) => format!("Integer({number})"),
        }
    }

    /// What it is known to be; `None` where that is open.
    #[pymethod]
    fn maybe_as_int(zelf: &Py<Self>) -> Option<i64> {
        match &zelf.0 {
            SymInt::Sym(expr, env) => env.simplify(expr).as_int(),
            SymInt::Int(number) => Some(*number),
        }
    }

    /// Whether it is no plain number.
    #[pymethod]
    fn is_symbolic(zelf: &Py<Self>) -> bool {
        zelf.0.as_int().is_none()
    }

    /// Whether the number is known in the call.
    #[pymethod]
    fn has_hint(zelf: &Py<Self>) -> bool {
        zelf.0.hint().is_some()
    }

    /// The number in the call being compiled; `None` where only the run knows it.
    #[pygetset]
    fn hint(zelf: &Py<Self>) -> Option<i64> {
        zelf.0.hint()
    }

    /// What `str` says of it: the number where a call is recorded or over, else the expression.
    #[pymethod]
    fn text(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<String> {
        let is_over = matches!(&zelf.0, SymInt::Sym(_, env) if env.is_settled());
        if is_over || crate::dynamo::tracing::recorder().is_some() {
            return Ok(Self::guard_int(zelf, vm)?.to_string());
        }
        Ok(zelf.0.to_string())
    }
}
