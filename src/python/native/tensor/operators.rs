//! Python's operators on tensors: `a + b`, `-a`, `a < b`, `float(a)`. Each is the call of the ATen operator it stands for.

use rustpython_vm::function::{Either, FuncArgs, PyComparisonValue};
use rustpython_vm::protocol::PyNumberMethods;
use rustpython_vm::types::{AsNumber, Comparable, PyComparisonOp};
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::convert::{from_value, to_tensor, to_value, with_numpy_inputs};
use super::packet::call_packet;
use super::payload::TensorBase;
use super::reading::{only, read_index, truth};
use super::torch_function::overridden_method;
use crate::dynamo::tracing::{Callee, as_written};
use crate::span::Written;
use crate::tensor::Tensor;

/// The method of tensors that an operator calls, as PyTorch names it to a class that handles calls; with the tensor on the right, where
/// that is another.
fn method_of(symbol: &str, reflected: bool) -> &'static str {
    match (symbol, reflected) {
        ("+", _) => "add",
        ("*", _) => "mul",
        ("@", _) => "matmul",
        ("-", false) => "sub",
        ("-", true) => "__rsub__",
        ("/", false) => "div",
        ("/", true) => "__rtruediv__",
        ("//", false) => "__floordiv__",
        ("//", true) => "__rfloordiv__",
        ("%", false) => "remainder",
        ("%", true) => "__rmod__",
        ("**", false) => "pow",
        ("**", true) => "__rpow__",
        ("<<", false) => "__lshift__",
        ("<<", true) => "__rlshift__",
        (">>", false) => "__rshift__",
        (">>", true) => "__rrshift__",
        ("&", false) => "__and__",
        ("&", true) => "bitwise_and",
        ("|", false) => "__or__",
        ("|", true) => "bitwise_or",
        ("^", false) => "__xor__",
        ("^", true) => "bitwise_xor",
        ("<", _) => "lt",
        (">", _) => "gt",
        (">=", _) => "ge",
        ("<=", _) => "le",
        ("==", _) => "__eq__",
        ("!=", _) => "ne",
        ("+=", _) => "add_",
        ("-=", _) => "sub_",
        ("*=", _) => "mul_",
        ("/=", _) => "div_",
        ("//=", _) => "floor_divide_",
        ("%=", _) => "remainder_",
        ("**=", _) => "pow_",
        ("<<=", _) => "__ilshift__",
        (">>=", _) => "__irshift__",
        ("&=", _) => "__iand__",
        ("|=", _) => "__ior__",
        _ => "__ixor__",
    }
}

fn unary(packet: &'static str, symbol: &'static str, method: &'static str, a: &PyObject, vm: &VirtualMachine) -> PyResult {
    match overridden_method(method, &[a], vm)? {
        Some(result) => Ok(result),
        None => call_packet(packet, Written::Operator(symbol), &FuncArgs::from(vec![a.to_owned()]), vm),
    }
}

/// As PyTorch's operators have it: the other side is asked where this one does not know the type.
fn or_not_implemented(result: PyResult, vm: &VirtualMachine) -> PyResult {
    result.or_else(|e| if e.class().is(vm.ctx.exceptions.type_error) { Ok(vm.ctx.not_implemented()) } else { Err(e) })
}

/// A binary operator; what is neither tensor nor number is left to the other side.
fn binary(packet: &'static str, symbol: &'static str, a: &PyObject, b: &PyObject, vm: &VirtualMachine) -> PyResult {
    if let Some(args) = with_numpy_inputs(&FuncArgs::from(vec![a.to_owned(), b.to_owned()]), vm) {
        return binary(packet, symbol, &args.args[0], &args.args[1], vm);
    }
    let reflected = to_tensor(a).is_none();
    let operands = if reflected { [b, a] } else { [a, b] };
    match overridden_method(method_of(symbol, reflected), &operands, vm) {
        Ok(None) => {}
        Ok(Some(result)) => return Ok(result),
        Err(e) => return or_not_implemented(Err(e), vm),
    }
    let result = calculated(packet, symbol, a, b, vm)?;
    if result.is(&vm.ctx.not_implemented)
        && let (Some(left), Some(recorder)) = (to_tensor(a), crate::dynamo::tracing::recorder())
    {
        recorder.note_operands(symbol, &left, &b.repr(vm)?.to_string_lossy(), &b.class().name());
    }
    Ok(result)
}

/// The same where nobody else is asked.
fn calculated(packet: &'static str, symbol: &'static str, a: &PyObject, b: &PyObject, vm: &VirtualMachine) -> PyResult {
    let fits = |o: &PyObject| match to_value(o, vm) {
        Some(v) => v.is_scalar() || v.as_tensor().is_some(),
        None => false,
    };
    if !fits(a) || !fits(b) {
        return Ok(vm.ctx.not_implemented());
    }
    or_not_implemented(call_packet(packet, Written::Operator(symbol), &FuncArgs::from(vec![a.to_owned(), b.to_owned()]), vm), vm)
}

/// An operator with its tensor on the right, whose operands the call to make takes in another order or another form.
fn reflected(symbol: &'static str, a: &PyObject, b: &PyObject, vm: &VirtualMachine, make: impl FnOnce() -> PyResult) -> PyResult {
    match overridden_method(method_of(symbol, true), &[b, a], vm) {
        Ok(None) => {}
        Ok(Some(result)) => return Ok(result),
        Err(e) => return or_not_implemented(Err(e), vm),
    }
    as_written(|| Callee::Operator(symbol), &FuncArgs::from(vec![a.to_owned(), b.to_owned()]), vm, make)
}

macro_rules! commutative {
    ($packet:literal, $symbol:literal) => {
        Some(|a, b, vm| match to_tensor(a) {
            Some(_) => binary($packet, $symbol, a, b, vm),
            None => reflected($symbol, a, b, vm, || calculated($packet, $symbol, b, a, vm)),
        })
    };
}
macro_rules! ordered {
    ($packet:literal, $symbol:literal) => {
        Some(|a, b, vm| binary($packet, $symbol, a, b, vm))
    };
}
macro_rules! shift {
    ($packet:literal, $reflected:literal, $symbol:literal) => {
        Some(|a, b, vm| match to_tensor(a) {
            Some(_) => binary($packet, $symbol, a, b, vm),
            None => reflected($symbol, a, b, vm, || calculated($reflected, $symbol, a, b, vm)),
        })
    };
}
macro_rules! written_to {
    ($packet:literal, $symbol:literal) => {
        Some(|a, b, vm| binary($packet, $symbol, a, b, vm))
    };
}

fn me(o: &PyObject, vm: &VirtualMachine) -> PyResult<Tensor> {
    to_tensor(o).ok_or_else(|| vm.new_type_error("expected a Tensor"))
}

impl AsNumber for TensorBase {
    fn as_number() -> &'static PyNumberMethods {
        static METHODS: PyNumberMethods = PyNumberMethods {
            add: commutative!("aten.add", "+"),
            multiply: commutative!("aten.mul", "*"),
            subtract: Some(|a, b, vm| match to_tensor(a) {
                Some(_) => binary("aten.sub", "-", a, b, vm),
                None => reflected("-", a, b, vm, || calculated("aten.rsub", "-", b, a, vm)),
            }),
            true_divide: Some(|a, b, vm| match to_tensor(a) {
                Some(_) => binary("aten.div", "/", a, b, vm),
                None => {
                    if to_value(a, vm).is_none_or(|v| !v.is_scalar()) {
                        return Ok(vm.ctx.not_implemented());
                    }
                    reflected("/", a, b, vm, || {
                        let inverse =
                            call_packet("aten.reciprocal", Written::Method("reciprocal"), &FuncArgs::from(vec![b.to_owned()]), vm)?;
                        calculated("aten.mul", "*", &inverse, a, vm)
                    })
                }
            }),
            floor_divide: ordered!("aten.floor_divide", "//"),
            remainder: ordered!("aten.remainder", "%"),
            power: Some(|a, b, _modulus, vm| binary("aten.pow", "**", a, b, vm)),
            matrix_multiply: ordered!("aten.matmul", "@"),
            and: commutative!("aten.bitwise_and", "&"),
            or: commutative!("aten.bitwise_or", "|"),
            xor: commutative!("aten.bitwise_xor", "^"),
            lshift: shift!("aten.__lshift__", "aten.bitwise_left_shift", "<<"),
            rshift: shift!("aten.__rshift__", "aten.bitwise_right_shift", ">>"),
            negative: Some(|a, vm| unary("aten.neg", "-", "neg", a.obj, vm)),
            positive: Some(|a, vm| Ok(overridden_method("positive", &[a.obj], vm)?.unwrap_or_else(|| a.obj.to_owned()))),
            absolute: Some(|a, vm| unary("aten.abs", "abs", "abs", a.obj, vm)),
            invert: Some(|a, vm| {
                if !me(a.obj, vm)?.dtype().is_integral() {
                    return Err(vm.new_type_error("~ (operator.invert) is only implemented on integer and Boolean-type tensors"));
                }
                unary("aten.bitwise_not", "~", "__invert__", a.obj, vm)
            }),
            boolean: Some(|a, vm| match overridden_method("__bool__", &[a.obj], vm)? {
                Some(result) => result.try_to_bool(vm),
                None => truth(&me(a.obj, vm)?, vm),
            }),
            int: Some(|a, vm| {
                if let Some(result) = overridden_method("__int__", &[a.obj], vm)? {
                    return Ok(result);
                }
                let value = from_value(only(&me(a.obj, vm)?, vm)?, vm)?;
                value.try_int(vm).map(Into::into)
            }),
            float: Some(|a, vm| {
                if let Some(result) = overridden_method("__float__", &[a.obj], vm)? {
                    return Ok(result);
                }
                let value = from_value(only(&me(a.obj, vm)?, vm)?, vm)?;
                value.try_float(vm).map(Into::into)
            }),
            index: Some(|a, vm| {
                if let Some(result) = overridden_method("__index__", &[a.obj], vm)? {
                    return Ok(result);
                }
                let t = me(a.obj, vm)?;
                if t.dtype().is_integral() && t.numel().as_int() == Some(1) {
                    let value = from_value(read_index(&t, vm)?, vm)?;
                    return vm.ctx.types.int_type.to_owned().as_object().call((value,), vm);
                }
                Err(vm.new_type_error("only integer tensors of a single element can be converted to an index"))
            }),
            inplace_add: written_to!("aten.add_", "+="),
            inplace_subtract: written_to!("aten.sub_", "-="),
            inplace_multiply: written_to!("aten.mul_", "*="),
            inplace_true_divide: written_to!("aten.div_", "/="),
            inplace_floor_divide: written_to!("aten.floor_divide_", "//="),
            inplace_remainder: written_to!("aten.remainder_", "%="),
            inplace_power: Some(|a, b, _modulus, vm| binary("aten.pow_", "**=", a, b, vm)),
            inplace_lshift: written_to!("aten.__ilshift__", "<<="),
            inplace_rshift: written_to!("aten.__irshift__", ">>="),
            inplace_and: written_to!("aten.bitwise_and_", "&="),
            inplace_or: written_to!("aten.bitwise_or_", "|="),
            inplace_xor: written_to!("aten.bitwise_xor_", "^="),
            ..PyNumberMethods::NOT_IMPLEMENTED
        };
        &METHODS
    }
}

impl Comparable for TensorBase {
    fn slot_richcompare(
        zelf: &PyObject,
        other: &PyObject,
        op: PyComparisonOp,
        vm: &VirtualMachine,
    ) -> PyResult<Either<PyObjectRef, PyComparisonValue>> {
        let (packet, symbol) = match op {
            PyComparisonOp::Lt => ("aten.lt", "<"),
            PyComparisonOp::Gt => ("aten.gt", ">"),
            PyComparisonOp::Ge => ("aten.ge", ">="),
            PyComparisonOp::Le => ("aten.le", "<="),
            PyComparisonOp::Eq => ("aten.eq", "=="),
            PyComparisonOp::Ne => ("aten.ne", "!="),
        };
        let result = binary(packet, symbol, zelf, other, vm)?;
        Ok(if result.is(&vm.ctx.not_implemented) { Either::B(PyComparisonValue::NotImplemented) } else { Either::A(result) })
    }

    fn cmp(_zelf: &Py<Self>, _other: &PyObject, _op: PyComparisonOp, _vm: &VirtualMachine) -> PyResult<PyComparisonValue> {
        Ok(PyComparisonValue::NotImplemented)
    }
}
