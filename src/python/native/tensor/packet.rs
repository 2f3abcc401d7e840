//! Operators as Python objects: `torch.add`, `Tensor.add`, `torch.ops.aten.add` are a packet; `torch.ops.aten.add.Tensor` an overload.

use operators::out_dtypes;
use rustpython_vm::function::{FuncArgs, PyComparisonValue};
use rustpython_vm::types::{Callable, Comparable, GetAttr, GetDescriptor, Hashable, PyComparisonOp, Representable};
use rustpython_vm::{
    AsObject, Py, PyObject, PyObjectRef, PyPayload, PyRef, PyResult, VirtualMachine,
    builtins::{PyStr, PyTuple},
};

use super::bind::{Bound, bind, makes_new};
use super::convert::{from_value, to_tensor, to_value, with_numpy_inputs};
use super::errors::raise;
use super::torch_function::{WrittenIn, overridden};
use crate::dispatch::{
    Key, OpEntry, Rule, Tags, Type, Value, call, fill_factory_options, has_layer, lookup, overloads, overloads_as_called,
};
use crate::dynamo::tracing::{Callee, as_written};
use crate::error::{Error, Result};
use crate::python::native::calls::imported;
use crate::span::Written;
use crate::tensor::Tensor;

/// All overloads of an operator.
#[pyclass(module = "torch._ops", name = "OpOverloadPacket")]
#[derive(Debug, PyPayload)]
pub struct PyPacket {
    /// `aten.add`
    pub packet: &'static str,
    /// How a call through it is written.
    pub style: Style,
}

/// How a call is written, which the captured graph shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `torch.add(x, y)`, with what stands before the name.
    Function(&'static str),
    /// `x.add(y)`
    Method,
    /// `torch.ops.aten.add(x, y)`
    Ops,
}

/// One overload.
#[pyclass(module = "torch._ops", name = "OpOverload")]
#[derive(PyPayload)]
pub struct PyOverload(pub &'static OpEntry);

impl std::fmt::Debug for PyOverload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

/// The module that an operator says it is of: its namespace below `torch._ops`.
fn module_of(name: &str) -> String {
    format!("torch._ops.{}", name.split('.').next().unwrap_or_default())
}

/// What stands after the namespace.
pub fn base_name(packet: &str) -> &str {
    packet.rsplit('.').next().unwrap_or(packet)
}

/// Calls a packet: finds the overload, dispatches, converts the result.
pub fn call_packet(packet: &'static str, written: Written, args: &FuncArgs, vm: &VirtualMachine) -> PyResult {
    if let Some(args) = with_numpy_inputs(args, vm) {
        return call_packet(packet, written, &args, vm);
    }
    let is_placed = crate::dispatch::device_context().is_some()
        && matches!(written, Written::Function(prefix, _) if prefix != "torch.ops.")
        && is_device_constructor(packet);
    let placed = if is_placed { in_device_context(args, vm) } else { None };
    let args = placed.as_ref().unwrap_or(args);
    // `nonzero(as_tuple=True)` is an operator of its own.
    let as_tuple = (packet == "aten.nonzero").then(|| args.kwargs.get("as_tuple").cloned()).flatten();
    if let Some(as_tuple) = as_tuple {
        let mut plain = args.clone();
        plain.kwargs.shift_remove("as_tuple");
        let packet = if as_tuple.is(&vm.ctx.true_value) { "aten.nonzero_numpy" } else { packet };
        return as_written(|| callee(written), args, vm, || bind_and_run(packet, written, &plain, vm));
    }
    // Without the fused operator attention is its parts, which are called here: a graph that is compiled later does not know what
    // was allowed.
    if packet == "aten.scaled_dot_product_attention" && !super::sdp::allowed(super::sdp::FLASH) {
        if !super::sdp::allowed(super::sdp::MATH) {
            return Err(vm.new_runtime_error(
                "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math kernel and the fused kernels.",
            ));
        }
        let parts = || bind_and_run("aten._scaled_dot_product_attention_math", written, args, vm)?.get_item(&0, vm);
        return as_written(|| callee(written), args, vm, parts);
    }
    if let Some((size, fill)) = filled_with_tensor(packet, args) {
        let mut plain = FuncArgs::from(vec![size]);
        plain.kwargs = args.kwargs.clone();
        ["size", "fill_value"].into_iter().for_each(|name| drop(plain.kwargs.shift_remove(name)));
        let empty = call_packet("aten.empty", Written::Function("torch.", "empty"), &plain, vm)?;
        return call_packet("aten.fill_", Written::Method("fill_"), &vec![empty, fill].into(), vm);
    }
    if let Some(parts) = taken_apart(written, args) {
        return parts.call(args.args[0].clone(), vm);
    }
    as_written(|| callee(written), args, vm, || bind_and_run(packet, written, args, vm))
}

/// Whether a function makes a tensor on a device that it is told; `torch.normal` is told none.
fn is_device_constructor(packet: &'static str) -> bool {
    let is_constructor = |entry: &&'static OpEntry| entry.tags.has(Tags::FACTORY) && entry.schema.position("device").is_some();
    packet != "aten.normal" && overloads_as_called(packet).iter().any(is_constructor)
}

/// The arguments of a function that makes a tensor, with the device that a block around the call says and the call does not.
pub fn in_device_context(args: &FuncArgs, vm: &VirtualMachine) -> Option<FuncArgs> {
    let device = crate::dispatch::device_context()?;
    if args.kwargs.get("device").is_some_and(|o| !vm.is_none(o)) {
        return None;
    }
    let mut placed = args.clone();
    placed.kwargs.insert("device".into(), super::objects::PyDevice(device).into_pyobject(vm));
    Some(placed)
}

/// The size and the value of `torch.full` with a tensor as its value, which Dynamo captures as an empty tensor that is filled.
fn filled_with_tensor(packet: &str, args: &FuncArgs) -> Option<(PyObjectRef, PyObjectRef)> {
    let argument = |i: usize, name: &str| args.args.get(i).or_else(|| args.kwargs.get(name)).cloned();
    let fill = argument(1, "fill_value").filter(|_| packet == "aten.full").filter(|fill| to_tensor(fill).is_some())?;
    crate::dynamo::tracing::capturing().then_some((argument(0, "size")?, fill))
}

/// A call with a factor that Dynamo takes apart: the product or quotient that the factor is of, and what is done with it.
struct Parts {
    /// The operator of the product; without it, its first operand alone.
    product: Option<(&'static str, &'static str)>,
    operands: [PyObjectRef; 2],
    factor: PyObjectRef,
    in_place: bool,
}

/// The parts of a call that is captured and gives a factor by name: of `add_`, where the factor is a tensor.
fn taken_apart(written: Written, args: &FuncArgs) -> Option<Parts> {
    let (in_place, product, name) = match written {
        Written::Method("add_") => (true, None, "alpha"),
        Written::Method("addcmul_") => (true, Some(("aten.mul", "mul")), "value"),
        Written::Method("addcdiv_") => (true, Some(("aten.div", "div")), "value"),
        Written::Function("torch.", "addcdiv") => (false, Some(("aten.div", "div")), "value"),
        _ => return None,
    };
    let operands = match (product, args.args.as_slice()) {
        (None, [_, other]) => [other.clone(), other.clone()],
        (Some(_), [_, first, second]) => [first.clone(), second.clone()],
        _ => return None,
    };
    let factor = args.kwargs.get(name).filter(|f| product.is_some() || to_tensor(f).is_some())?.clone();
    (args.kwargs.len() == 1 && crate::dynamo::tracing::capturing()).then_some(Parts { product, operands, factor, in_place })
}

impl Parts {
    fn call(self, target: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let function = |packet, name, args: FuncArgs| call_packet(packet, Written::Function("torch.", name), &args, vm);
        let [first, second] = self.operands;
        let product = || match self.product {
            Some((packet, name)) => function(packet, name, vec![first.clone(), second].into()),
            None => Ok(first.clone()),
        };
        if !self.in_place {
            // What is added to is read first.
            if let (Some(recorder), Some(t)) = (crate::dynamo::tracing::recorder(), to_tensor(&target)) {
                recorder.touch(&t, false).map_err(|e| raise(e, vm))?;
            }
            let scaled = crate::dynamo::tracing::in_body(|| function("aten.mul", "mul", vec![product()?, self.factor].into()))?;
            return function("aten.add", "add", vec![target, scaled].into());
        }
        let fma = || {
            let args: FuncArgs = vec![product()?, self.factor, target.clone()].into();
            let fma = || {
                // The factor may be a number.
                let given: Vec<Value> = args.args.iter().map(|o| to_value(o, vm).unwrap_or(Value::None)).collect();
                let made = crate::dispatch::call(overloads("prims.fma")[0], given).map_err(|e| raise(e, vm))?;
                from_value(made, vm)
            };
            as_written(|| Callee::function("torch.ops.prims.fma.default".to_owned()), &args, vm, fma)
        };
        let sum = crate::dynamo::tracing::in_body(fma)?;
        call_packet("aten.copy_", Written::Method("copy_"), &vec![target, sum].into(), vm)
    }
}

/// What a call is shown as.
fn callee(written: Written) -> Callee {
    match written {
        Written::Function(prefix, name) => Callee::function(format!("{prefix}{name}")),
        Written::Method(name) => Callee::Method(name),
        Written::Operator(symbol) => Callee::Operator(symbol),
    }
}

fn bind_and_run(packet: &'static str, written: Written, args: &FuncArgs, vm: &VirtualMachine) -> PyResult {
    let method = matches!(written, Written::Method(_) | Written::Operator(_));
    let entries = overloads_as_called(packet);
    let mut bound = bind(base_name(packet), entries, args, method, vm).map_err(|e| raise(of_own(entries, args, e, vm), vm))?;
    if !bound.reads.is_empty() {
        return reading(&bound.reads, args, &mut || bind_and_run(packet, written, args, vm), vm);
    }
    if !has_layer(Key::Capture) && !matches!(written, Written::Function("torch.ops.", _)) {
        fill_factory_options(bound.entry, &mut bound.args);
    }
    // What writes to a list of tensors gives that list.
    let gives = args.args.first().filter(|_| crate::dispatch::foreach::is_foreach(bound.entry) && bound.entry.is_mutable());
    let _written = written.enter();
    // Dynamo does not look at `requires_grad` in the call of a method.
    let makes_leaf = bound.requires_grad && matches!(written, Written::Function(..)) && makes_new(bound.entry);
    // What only an operator understands: a generator.
    let has_generator = bound.args.iter().any(|v| matches!(v, Value::Opaque(_)) && v.condition().is_none());
    // The one sampler that Dynamo does not trace as a method.
    let draws_integers = packet == "aten.random_" && matches!(written, Written::Method(_));
    if (makes_leaf || has_generator || draws_integers) && bound.out.is_none() {
        let (entry, requires_grad, given) = (bound.entry, bound.requires_grad, std::mem::take(&mut bound.args));
        let mut make = |current: &mut dyn FnMut(&Tensor) -> Tensor| {
            let now = given.iter().map(|v| v.map_tensors(&mut |t| Ok(current(t)))).collect::<Result<Vec<_>>>();
            let made = now.and_then(|mut now| {
                fill_factory_options(entry, &mut now);
                dispatch(entry, now, requires_grad)
            });
            results(entry, made.map_err(|e| raise(e, vm))?, vm)
        };
        let name = base_name(packet);
        let reason = || match (makes_leaf, draws_integers) {
            (true, _) => crate::dynamo::tracing::leaf(name, args, vm),
            (_, true) => crate::dynamo::tracing::random(args, vm),
            _ => crate::dynamo::tracing::proxy(args, vm),
        };
        if let Some(made) = crate::dynamo::tracing::outside(reason, args, &mut make, vm)? {
            return Ok(made);
        }
        bound.args = given;
    }
    if matches!(written, Written::Function("torch.ops.", _)) {
        return run_operator(bound, vm);
    }
    let result = run(bound, vm)?;
    Ok(gives.cloned().unwrap_or(result))
}

/// A call that takes numbers off tensors which the graph computes: the graph ends before it, and Python makes it.
fn reading(reads: &[Tensor], args: &FuncArgs, make: &mut dyn FnMut() -> PyResult, vm: &VirtualMachine) -> PyResult {
    let numbers: Vec<&Tensor> = reads.iter().collect();
    let reason = match crate::dynamo::tracing::recorder() {
        Some(recorder) => recorder.leaves_at_numbers(&numbers).map_err(|e| raise(e, vm))?,
        None => None,
    };
    let made = match reason {
        Some(reason) => crate::dynamo::tracing::outside(|| reason, args, &mut |_| make(), vm)?,
        None => None,
    };
    made.map_or_else(make, Ok)
}

/// The plain type that an object is not, though an argument is of it; lists and others are not looked into.
fn misfit(ty: &Type, object: &PyObject, vm: &VirtualMachine) -> Option<&'static str> {
    let value = to_value(object, vm);
    let (name, fits) = match ty {
        Type::Tensor => ("Tensor", matches!(value, Some(Value::Tensor(_)))),
        Type::Int => ("int", matches!(value, Some(Value::Int(_) | Value::Bool(_)))),
        Type::Float => ("float", matches!(value, Some(Value::Int(_) | Value::Float(_) | Value::SymFloat(_) | Value::Bool(_)))),
        Type::Bool => ("bool", matches!(value, Some(Value::Bool(_)))),
        Type::Str => ("str", matches!(value, Some(Value::Str(_)))),
        _ => return None,
    };
    (!fits).then_some(name)
}

/// What is said of a call that does not fit a script's operator: an argument that is missing or that nobody asked for.
fn of_own(entries: &[&'static OpEntry], args: &FuncArgs, error: Error, vm: &VirtualMachine) -> Error {
    let [entry] = entries else { return error };
    if !matches!(entry.rule, Rule::Script) {
        return error;
    }
    let name = entry.qualified_name();
    let declaration = format!("{}::{}", name.split("::").next().unwrap_or_default(), entry.schema.text);
    let positions = entry.schema.arguments.iter().filter(|a| !a.kwarg_only).count();
    if args.args.len() > positions {
        return Error::runtime(format!(
            "{name}() expected at most {positions} argument(s) but received {} argument(s). Declaration: {declaration}",
            args.args.len()
        ));
    }
    if let Some((unknown, _)) = args.kwargs.iter().find(|(k, _)| entry.schema.position(&k.to_string_lossy()).is_none()) {
        return Error::runtime(format!(
            "Unknown keyword argument '{}' for operator '{name}'. Schema: {declaration}",
            unknown.to_string_lossy()
        ));
    }
    for (i, argument) in entry.schema.arguments.iter().enumerate() {
        let by_name = || args.kwargs.iter().find(|(k, _)| k.to_string_lossy() == argument.name).map(|(_, v)| v);
        let Some(object) = args.args.get(i).filter(|_| !argument.kwarg_only).or_else(by_name) else {
            if argument.default.is_some() {
                continue;
            }
            return Error::runtime(format!("{name}() is missing value for argument '{}'. Declaration: {declaration}", argument.name));
        };
        let Some(wanted) = misfit(&argument.ty, object, vm) else { continue };
        let shown = object.repr(vm).map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned());
        let kind = object.class().name().to_string();
        let details = match wanted {
            "Tensor" => format!("Unable to cast {shown} to Tensor"),
            _ => format!(
                "Unable to cast Python instance of type <class '{kind}'> to C++ type '?' (#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
            ),
        };
        return Error::runtime(format!(
            "{name}() Expected a value of type '{wanted}' for argument '{}' but instead found type '{kind}'.\nPosition: {i}\nValue: {shown}\nDeclaration: {declaration}\nCast error details: {details}",
            argument.name
        ));
    }
    error
}

fn run(bound: Bound, vm: &VirtualMachine) -> PyResult {
    let Bound { entry, args, requires_grad, out, .. } = bound;
    if let Some(out) = out {
        return with_out(entry, args, &out).map_err(|e| raise(e, vm)).map(|()| out);
    }
    let result = dispatch(entry, args, requires_grad).map_err(|e| raise(e, vm))?;
    results(entry, result, vm)
}

/// The same for an operator that is called by itself: it gives the list that its schema says, where functions and methods give a tuple.
fn run_operator(bound: Bound, vm: &VirtualMachine) -> PyResult {
    let gives_list = bound.entry.returns_list();
    let result = run(bound, vm)?;
    Ok(match result.downcast_ref::<PyTuple>() {
        Some(tensors) if gives_list => vm.ctx.new_list(tensors.to_vec()).into(),
        // Names of results are those of the functions of `torch`.
        Some(tensors) if !result.class().is(vm.ctx.types.tuple_type) => vm.ctx.new_tuple(tensors.to_vec()).into(),
        _ => result,
    })
}

/// Makes a new tensor require grad.
pub fn made_to_require_grad(t: &Tensor) -> Result<()> {
    crate::autograd::meta::set_requires_grad(t, true)
        .map_err(|e| Error { message: "Only Tensors of floating point and complex dtype can require gradients".to_owned(), ..e })
}

fn dispatch(entry: &'static OpEntry, args: Vec<Value>, requires_grad: bool) -> Result<Value> {
    let value = call(entry, args).inspect_err(crate::dynamo::tracing::note_failed_call)?;
    if requires_grad && makes_new(entry) {
        made_to_require_grad(value.tensor()?)?;
    }
    Ok(value)
}

/// The tensors given as `out=`.
fn targets(out: &PyObject) -> Vec<Tensor> {
    super::convert::items(out).map_or_else(|| to_tensor(out).into_iter().collect(), |all| all.iter().filter_map(|o| to_tensor(o)).collect())
}

/// A call with `out=`: it has no derivative, its target has a dtype that the operator writes, and the graph breaks where the call
/// gives its target another size.
fn with_out(entry: &'static OpEntry, mut args: Vec<Value>, out: &PyObject) -> Result<()> {
    let recorder = crate::dynamo::tracing::recorder();
    let given = targets(out);
    let mut requires_grad = given.iter().any(crate::autograd::meta::requires_grad);
    args.iter().for_each(|v| v.for_each_tensor(&mut |t| requires_grad |= crate::autograd::meta::requires_grad(t)));
    if crate::dispatch::modes().grad && requires_grad {
        let error = Error::runtime(format!(
            "{}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.",
            entry.base_name()
        ));
        if let Some(recorder) = &recorder {
            recorder.note_failure(entry, &args, &given, &error);
        }
        return Err(error);
    }
    if let [target] = &given[..] {
        out_dtypes::fill_dtype(entry, &mut args, target.dtype());
    }
    let is_empty = |t: &Tensor| t.dim() == 1 && t.size(0).as_int() == Some(0);
    let is_eager = recorder.is_none() && !crate::dispatch::modes().fake && !given.iter().any(Tensor::is_fake) && !Value::any_fake(&args);
    if is_eager {
        given.iter().filter(|t| !is_empty(t)).try_for_each(|t| crate::dispatch::check_overlap(entry, t, &args))?;
    }
    let compute = |args: Vec<Value>, traced: bool| -> Result<()> {
        let seen = if recorder.is_some() && traced { args.clone() } else { Vec::new() };
        let result = call(entry, args)?;
        out_dtypes::check(entry, &result, &given, traced).inspect_err(|error| {
            if let Some(recorder) = recorder.as_ref().filter(|_| traced) {
                recorder.note_failure(entry, &seen, &given, error);
            }
        })?;
        write_out(&result, out)
    };
    let Some(recorder) = recorder.as_ref().filter(|_| given.iter().any(is_empty)) else { return compute(args, !is_eager) };
    crate::dynamo::tracing::graph_break(&crate::dynamo::Unsupported::other("Shape mismatch with out= tensor variant"))?;
    let args = args.iter().map(|v| v.map_tensors(&mut |t| Ok(recorder.current(t)))).collect::<Result<Vec<_>>>()?;
    let _eager = crate::dispatch::Exclude::capture_too();
    compute(args, false)
}

/// `out=`: the result is written into the given tensor, which takes its shape.
fn write_out(result: &Value, out: &PyObject) -> Result<()> {
    let write = |value: &Tensor, target: &Tensor| -> Result<()> {
        if target.sizes().len() != value.sizes().len() || target.sizes().iter().zip(value.sizes()).any(|(a, b)| !a.statically_eq(b)) {
            crate::t!("resize_", target, value.sizes())?;
        }
        crate::t!("_copy_result_", target, value).map(|_| ())
    };
    match result {
        Value::List(values) => values.iter().zip(targets(out)).try_for_each(|(value, target)| write(value.tensor()?, &target)),
        value => write(value.tensor()?, &to_tensor(out).ok_or_else(|| Error::type_error("out must be a Tensor"))?),
    }
}

/// Several named results become PyTorch's named tuple, a list of tensors a list or tuple as there.
fn results(entry: &'static OpEntry, value: Value, vm: &VirtualMachine) -> PyResult {
    // A script's operator gives a plain tuple.
    let is_own = matches!(entry.rule, Rule::Script);
    let named = !is_own && entry.schema.returns.len() > 1 && entry.schema.returns.iter().all(|r| r.name.is_some());
    if named {
        let names: Vec<PyObjectRef> =
            entry.schema.returns.iter().filter_map(|r| r.name.as_ref()).map(|n| vm.ctx.new_str(n.as_str()).into()).collect();
        let tuple = from_value(value, vm)?;
        let make = imported("torch._results", vm)?.get_attr("make", vm)?;
        return make.call((vm.ctx.new_str(base_name(&entry.schema.name)), vm.ctx.new_tuple(names), tuple), vm);
    }
    from_value(value, vm)
}

impl PyPacket {
    fn written(&self) -> Written {
        match self.style {
            Style::Function(prefix) => Written::Function(prefix, base_name(self.packet)),
            Style::Method => Written::Method(base_name(self.packet)),
            Style::Ops => Written::Function("torch.ops.", self.packet),
        }
    }
}

impl Callable for PyPacket {
    type Args = FuncArgs;
    fn call(zelf: &Py<Self>, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        match overridden(|| Ok(zelf.to_owned().into()), &args, WrittenIn::Cpp, vm)? {
            Some(result) => Ok(result),
            None => call_packet(zelf.packet, zelf.written(), &args, vm),
        }
    }
}

impl GetDescriptor for PyPacket {
    fn descr_get(zelf: &PyObject, obj: Option<&PyObject>, _cls: Option<&PyObject>, vm: &VirtualMachine) -> PyResult {
        let packet = Self::_as_pyref(zelf, vm)?;
        match obj {
            Some(obj) if packet.style == Style::Method && !vm.is_none(obj) => {
                Ok(rustpython_vm::builtins::PyBoundMethod::new(obj.to_owned(), zelf.to_owned()).into_pyobject(vm))
            }
            _ => Ok(zelf.to_owned()),
        }
    }
}

impl GetAttr for PyPacket {
    fn getattro(zelf: &Py<Self>, name: &Py<PyStr>, vm: &VirtualMachine) -> PyResult {
        let text = name.to_string_lossy();
        if !text.starts_with("__")
            && let Some(entry) = lookup(&format!("{}.{text}", zelf.packet))
        {
            return Ok(super::overloads::overload(entry, vm));
        }
        zelf.as_object().generic_getattr(name, vm)
    }
}

impl Representable for PyPacket {
    fn repr_str(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<String> {
        Ok(match zelf.style {
            Style::Ops => format!("<OpOverloadPacket(op='{}')>", zelf.packet),
            Style::Method => format!("<method '{}' of 'torch._C.TensorBase' objects>", base_name(zelf.packet)),
            Style::Function("torch._C._nn." | "torch._C._linalg." | "torch._C._fft." | "torch._C._special.") => {
                format!("<built-in function {}>", base_name(zelf.packet))
            }
            Style::Function(_) => {
                format!("<built-in method {} of type object at {:#x}>", base_name(zelf.packet), zelf.as_object().get_id())
            }
        })
    }
}

#[pyclass(with(Callable, GetDescriptor, GetAttr, Representable))]
impl PyPacket {
    /// A function is its own copy: modules that keep one are copied.
    #[pymethod]
    fn __copy__(zelf: PyRef<Self>) -> PyRef<Self> {
        zelf
    }

    #[pymethod]
    fn __deepcopy__(zelf: PyRef<Self>, _memo: PyObjectRef) -> PyRef<Self> {
        zelf
    }

    #[pygetset]
    fn __name__(zelf: &Py<Self>) -> &'static str {
        base_name(zelf.packet)
    }

    #[pygetset]
    fn __module__(zelf: &Py<Self>) -> String {
        module_of(zelf.packet)
    }

    #[pygetset]
    fn __qualname__(zelf: &Py<Self>) -> &'static str {
        base_name(zelf.packet)
    }

    #[pygetset]
    fn __doc__(zelf: &Py<Self>) -> String {
        overloads(zelf.packet).iter().map(|e| e.name).collect::<Vec<_>>().join("\n")
    }

    #[pymethod]
    fn __str__(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult<String> {
        if zelf.style == Style::Ops { Ok(zelf.packet.to_owned()) } else { Self::repr_str(zelf, vm) }
    }

    #[pymethod]
    fn overloads(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
        let names = overloads(zelf.packet).iter().map(|e| vm.ctx.new_str(e.name.rsplit('.').next().unwrap_or("default")).into());
        vm.ctx.new_list(names.collect()).into()
    }
}

impl Hashable for PyOverload {
    fn hash(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<i64> {
        Ok(zelf.0.id as i64)
    }
}

impl Comparable for PyOverload {
    fn cmp(zelf: &Py<Self>, other: &PyObject, op: PyComparisonOp, _vm: &VirtualMachine) -> PyResult<PyComparisonValue> {
        op.eq_only(|| {
            Ok(other
                .downcast_ref::<Self>()
                .map_or(PyComparisonValue::NotImplemented, |o| PyComparisonValue::Implemented(o.0.id == zelf.0.id)))
        })
    }
}

impl Callable for PyOverload {
    type Args = FuncArgs;
    fn call(zelf: &Py<Self>, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let entry = zelf.0;
        if let Some(result) = overridden(|| Ok(zelf.to_owned().into()), &args, WrittenIn::Cpp, vm)? {
            return Ok(result);
        }
        let bound = bind(entry.name, &[entry], &args, false, vm).map_err(|e| raise(of_own(&[entry], &args, e, vm), vm))?;
        if !bound.reads.is_empty() {
            return reading(&bound.reads, &args, &mut || zelf.as_object().call(args.clone(), vm), vm);
        }
        let written = Written::Function("torch.ops.", entry.name);
        as_written(
            || callee(written),
            &args,
            vm,
            || {
                let _written = written.enter();
                run_operator(bound, vm)
            },
        )
    }
}

impl Representable for PyOverload {
    fn repr_str(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<String> {
        let entry = zelf.0;
        let overload = entry.name.rsplit('.').next().unwrap_or("default");
        Ok(format!("<OpOverload(op='{}', overload='{overload}')>", entry.name.trim_end_matches(overload).trim_end_matches('.')))
    }
}

#[pyclass(with(Callable, Representable, Hashable, Comparable))]
impl PyOverload {
    #[pygetset]
    fn __module__(zelf: &Py<Self>) -> String {
        module_of(zelf.0.name)
    }

    #[pygetset]
    fn __name__(zelf: &Py<Self>) -> String {
        let parts: Vec<&str> = zelf.0.name.split('.').skip(1).collect();
        parts.join(".")
    }

    #[pymethod]
    fn __str__(zelf: &Py<Self>) -> &'static str {
        zelf.0.name
    }

    /// The operator without its overload.
    #[pygetset]
    fn overloadpacket(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        // There is one object for it, below `torch.ops`.
        zelf.0
            .name
            .split('.')
            .take(2)
            .try_fold(vm.import("torch", 0)?.get_attr("ops", vm)?, |object, name| object.get_attr(&*vm.ctx.new_str(name), vm))
    }

    #[pygetset(name = "_overloadpacket")]
    fn own_overloadpacket(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        Self::overloadpacket(zelf, vm)
    }

    #[pygetset]
    fn namespace(zelf: &Py<Self>) -> &'static str {
        zelf.0.name.split('.').next().unwrap_or_default()
    }

    #[pygetset]
    fn _overloadname(zelf: &Py<Self>) -> &'static str {
        zelf.0.name.rsplit('.').next().unwrap_or_default()
    }

    /// The signature.
    #[pygetset]
    fn _schema(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let module = imported("torch._library.schema", vm)?;
        let namespace = zelf.0.name.split('.').next().unwrap_or_default();
        vm.call_method(&module, "FunctionSchema", (namespace, zelf.0.schema.text.as_str()))
    }

    /// What is said of the operator.
    #[pygetset]
    fn tags(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        vm.call_method(&*imported("torch._tags", vm)?, "of", (zelf.0.name,))
    }

    #[pygetset]
    fn _opname(zelf: &Py<Self>) -> &'static str {
        zelf.0.base_name()
    }

    #[pymethod]
    fn name(zelf: &Py<Self>) -> String {
        zelf.0.qualified_name()
    }
}

/// The packet of a name, if the catalogue has it: `aten.add`.
pub fn packet(name: &str, style: Style) -> Option<PyPacket> {
    let first = overloads(name).first()?;
    let end = first.name.rfind('.')?;
    Some(PyPacket { packet: &first.name[..end], style })
}

/// How code writes an operator: `torch.cat`, `torch.Tensor.relu`, `torch.ops.aten.mm.default`; none for other objects.
pub fn written_name(function: &PyObject) -> Option<String> {
    if let Some(overload) = function.downcast_ref::<PyOverload>() {
        return Some(format!("torch.ops.{}", overload.0.name));
    }
    let packet = function.downcast_ref::<PyPacket>()?;
    Some(match packet.style {
        Style::Function(prefix) => format!("{prefix}{}", base_name(packet.packet)),
        Style::Method => format!("torch.Tensor.{}", base_name(packet.packet)),
        Style::Ops => format!("torch.ops.{}", packet.packet),
    })
}

/// The value of an object or a `TypeError`.
pub fn value(o: &PyObject, vm: &VirtualMachine) -> PyResult<Value> {
    to_value(o, vm).ok_or_else(|| vm.new_type_error(format!("{} is not a value an operator takes", o.class().name())))
}
