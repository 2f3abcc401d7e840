//! `torch._native_trace`: what rules of a script's own higher-order operators need of dispatch and of the tracer at work. The operators
//! themselves are Python, `torch/_higher_order_ops/_operator.py`.

use std::cell::RefCell;
use std::rc::Rc;

use rustpython_vm::builtins::{PyDict, PyList, PyTuple};
use rustpython_vm::function::{FuncArgs, KwArgs};
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyPayload, PyResult, VirtualMachine};

use super::graph_module::{PyGraphModule, script_module};
use super::tensor::{from_value, overload, overload_entry, raise, raised, to_value};
use crate::aot::ScriptOperatorCall;
use crate::aot::trace::Tracer;
use crate::dispatch::{Value, lookup};
use crate::error::{Error, Result};
use crate::graph::{Arg, NodeId};

pub(in crate::python::native) use module::module_def;

/// A call of such an operator in a graph: the operator is called as the script would call it.
fn run(call: &ScriptOperatorCall) -> Result<Value> {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let told = Told { call, vm };
        let result = (|| {
            let operators = super::calls::imported("torch._ops", vm)?;
            let operator = operators.get_attr("script_operator", vm)?.call((call.name,), vm)?;
            if vm.is_none(&operator) {
                return Ok(None);
            }
            let args = call.written.iter().zip(&call.args).map(|(arg, value)| told.object(arg, value)).collect::<PyResult<Vec<_>>>()?;
            let keywords = call.keywords.iter().zip(call.written_keywords);
            let keywords: KwArgs = keywords
                .map(|((name, value), (_, arg))| Ok(((*name).to_owned(), told.object(arg, value)?)))
                .collect::<PyResult<Vec<(String, PyObjectRef)>>>()?
                .into_iter()
                .collect();
            operator.call(FuncArgs::new(args, keywords), vm).map(Some)
        })();
        match result.map_err(raised)? {
            None => Err(Error::not_implemented(format!("the higher-order operator {} is not supported yet", call.name))),
            Some(result) => to_value(&result, vm).ok_or_else(|| {
                let class = result.class().name().to_string();
                Error::type_error(format!("the operator {} gave a {class} where a graph runs", call.name))
            }),
        }
    })
}

/// Arguments of a call in a graph as Python's objects.
struct Told<'a> {
    call: &'a ScriptOperatorCall<'a>,
    vm: &'a VirtualMachine,
}

impl Told<'_> {
    fn object(&self, arg: &Arg, value: &Value) -> PyResult {
        let vm = self.vm;
        let items = |args: &[Arg]| -> PyResult<Vec<PyObjectRef>> {
            let values = value.list().map_err(|e| raise(e, vm))?;
            args.iter().zip(values).map(|(arg, value)| self.object(arg, value)).collect()
        };
        match arg {
            Arg::Node(id) => match self.call.bodies.iter().find(|(of, _)| of == id) {
                Some((_, body)) => script_module(PyGraphModule::new((*body).clone()), vm),
                None => from_value(value.clone(), vm),
            },
            Arg::Tuple(args) => Ok(vm.ctx.new_tuple(items(args)?).into()),
            Arg::List(args) => Ok(vm.ctx.new_list(items(args)?).into()),
            Arg::Op(name) => Ok(lookup(name).map_or_else(|| vm.ctx.new_str(&**name).into(), |entry| overload(entry, vm))),
            Arg::Dict(_) | Arg::Slice(_) | Arg::Ellipsis | Arg::Text(_) => {
                Err(vm.new_not_implemented_error(format!("{} is given what a graph that runs does not hand on", self.call.name)))
            }
            _ => from_value(value.clone(), vm),
        }
    }
}

/// What a script's rule gives a call, as a graph keeps it.
fn argument(tracer: &Tracer, object: &PyObject, vm: &VirtualMachine) -> PyResult<Arg> {
    if let Some(node) = object.downcast_ref::<module::PyTracedNode>() {
        return Ok(Arg::Node(node.0));
    }
    if let Some(entry) = overload_entry(object) {
        return Ok(Arg::Op(entry.name.into()));
    }
    let all = |items: &[PyObjectRef]| vm.with_recursion("", || items.iter().map(|o| argument(tracer, o, vm)).collect::<PyResult<Vec<_>>>());
    if let Some(list) = object.downcast_ref::<PyList>() {
        return all(&list.borrow_vec()).map(Arg::List);
    }
    if let Some(tuple) = object.downcast_ref::<PyTuple>() {
        return all(tuple.as_slice()).map(Arg::Tuple);
    }
    if let Some(dict) = object.downcast_ref::<PyDict>() {
        let entry =
            |(key, value): (PyObjectRef, PyObjectRef)| Ok((Rc::from(&*key.str(vm)?.to_string_lossy()), argument(tracer, &value, vm)?));
        return dict.into_iter().map(entry).collect::<PyResult<_>>().map(Arg::Dict);
    }
    match to_value(object, vm) {
        Some(value) => tracer.argument(&value).map_err(|e| raise(e, vm)),
        None => Err(vm.new_not_implemented_error(format!("argument of type: {}", object.class().as_object().repr(vm)?))),
    }
}

/// What a body returns, as numbers of its results in their containers.
fn returned(template: &PyObject, items: &[Arg], vm: &VirtualMachine) -> PyResult<Arg> {
    let all = |parts: &[PyObjectRef]| parts.iter().map(|part| returned(part, items, vm)).collect::<PyResult<Vec<_>>>();
    if let Some(tuple) = template.downcast_ref::<PyTuple>() {
        return all(tuple.as_slice()).map(Arg::Tuple);
    }
    if let Some(list) = template.downcast_ref::<PyList>() {
        return all(&list.borrow_vec()).map(Arg::List);
    }
    if vm.is_none(template) {
        return Ok(Arg::None);
    }
    match template.to_owned().try_into_value::<usize>(vm) {
        Ok(i) => Ok(items.get(i).cloned().unwrap_or(Arg::None)),
        Err(_) => Err(vm.new_not_implemented_error("a body that returns something else than tensors in tuples and lists")),
    }
}

/// What was in force before a part of dispatch was left or entered.
struct Before {
    seen: crate::dispatch::Restore,
    tracers: Option<Vec<Rc<Tracer>>>,
    fake: bool,
}

thread_local! {
    static BEFORE: RefCell<Vec<Before>> = const { RefCell::new(Vec::new()) };
}

/// Forgets what a script that was ended had left.
pub(super) fn reset() {
    BEFORE.take();
}

#[pymodule(name = "torch._native_trace")]
mod module {
    use super::*;
    use crate::aot::functional;
    use crate::aot::functional_tensor::{unwrap, wrap};
    use crate::aot::trace::{current_tracer, replace_tracers};
    use crate::autograd::{Body, Node, meta};
    use crate::dispatch::{Exclude, Key, Modes, Restore, has_layer, is_excluded, modes, set_modes};
    use crate::graph::Target;
    use crate::python::native::make_fx::{flat_function, no_argument, no_output, values_of};
    use crate::tensor::Tensor;
    use rustpython_vm::builtins::{PyCode, PyDictRef, PyStrRef};
    use rustpython_vm::bytecode::CodeFlags;
    use rustpython_vm::{Py, PyRef};

    /// `with_plain_parameters(code, count)`: the code with that many positional parameters, those that collect arguments among them.
    #[pyfunction]
    fn with_plain_parameters(code: PyRef<PyCode>, count: u32, vm: &VirtualMachine) -> PyRef<PyCode> {
        let mut plain = code.code.clone();
        plain.flags.remove(CodeFlags::VARARGS | CodeFlags::VARKEYWORDS);
        (plain.posonlyarg_count, plain.kwonlyarg_count, plain.arg_count) = (0, 0, count);
        vm.ctx.new_code(plain)
    }

    /// Graphs that call operators of the script's run from here on.
    #[pyfunction]
    fn serve() {
        crate::aot::serve_script_operators(super::run);
    }

    /// What a call would meet: whether autograd does, how it would be functionalized (`None`, "mode", "own", "views",
    /// "copies"), how it would be
    /// recorded (`None`, "calls", "pre_dispatch"), and whether its results would be fake.
    #[pyfunction]
    fn state() -> (bool, Option<&'static str>, Option<&'static str>, bool) {
        let tracer = current_tracer();
        let is_compiled = tracer.as_ref().is_some_and(|tracer| !tracer.is_as_called());
        let functional = match functional::copies_views() {
            _ if is_excluded(Key::Functionalize) => None,
            Some(true) => Some("copies"),
            Some(false) => Some("views"),
            None if is_compiled => Some("mode"),
            None => functional::is_enabled().then_some("own"),
        };
        let recorded = match tracer {
            Some(tracer) if tracer.sees_script() => (!is_excluded(Key::Capture) && has_layer(Key::Capture)).then_some("pre_dispatch"),
            Some(_) => (!is_excluded(Key::Trace)).then_some("calls"),
            None => None,
        };
        (!is_excluded(Key::Autograd), functional, recorded, modes().fake)
    }

    /// Leaves a part of dispatch (`autograd`, `functional`, `proxy`, `pre_dispatch`, `fake`), until `back`.
    #[pyfunction]
    fn leave(part: PyStrRef) {
        let mut before = Before { seen: Restore::current(), tracers: None, fake: modes().fake };
        let excluded = match &*part.to_string_lossy() {
            "autograd" => Some(Key::Autograd),
            "functional" => Some(Key::Functionalize),
            "pre_dispatch" => Some(Key::Capture),
            "fake" => {
                set_modes(Modes { fake: false, ..modes() });
                None
            }
            _ => {
                before.tracers = Some(replace_tracers(Vec::new()));
                Some(Key::Trace)
            }
        };
        if let Some(key) = excluded {
            std::mem::forget(Exclude::also(key));
        }
        BEFORE.with_borrow_mut(|all| all.push(before));
    }

    /// Enters a part again that was left (`autograd`, `functional`, `fake`), until `back`.
    #[pyfunction]
    fn enter(part: PyStrRef) {
        BEFORE.with_borrow_mut(|all| all.push(Before { seen: Restore::current(), tracers: None, fake: modes().fake }));
        match &*part.to_string_lossy() {
            "functional" => std::mem::forget(Exclude::lift(Key::Functionalize)),
            "autograd" => std::mem::forget(Exclude::lift(Key::Autograd)),
            _ => drop(set_modes(Modes { fake: true, ..modes() })),
        }
    }

    /// Undoes the last `leave` or `enter`.
    #[pyfunction]
    fn back() {
        let Some(before) = BEFORE.with_borrow_mut(Vec::pop) else { return };
        std::mem::forget(before.seen.enter());
        if let Some(tracers) = before.tracers {
            replace_tracers(tracers);
        }
        set_modes(Modes { fake: before.fake, ..modes() });
    }

    fn tensor(o: &PyObject, vm: &VirtualMachine) -> PyResult<Tensor> {
        crate::python::native::tensor::to_tensor(o).ok_or_else(|| vm.new_type_error("expected a Tensor"))
    }

    /// A functional tensor for a value.
    #[pyfunction]
    fn to_functional(o: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let t = tensor(&o, vm)?;
        if functional::is_functional_tensor(&t) {
            return Ok(o);
        }
        from_value(Value::Tensor(wrap(&t).map_err(|e| raise(e, vm))?), vm)
    }

    /// The value of a functional tensor.
    #[pyfunction]
    fn from_functional(o: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let t = tensor(&o, vm)?;
        if !functional::is_functional_tensor(&t) {
            return Ok(o);
        }
        from_value(Value::Tensor(unwrap(&t).map_err(|e| raise(e, vm))?), vm)
    }

    /// A functional tensor is written to: it stands for another value from here on.
    #[pyfunction]
    fn replace(o: PyObjectRef, value: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
        crate::aot::functional_tensor::replace(&tensor(&o, vm)?, tensor(&value, vm)?).map_err(|e| raise(e, vm))
    }

    /// What a function of a list gives, its calls functionalized as in a graph that is compiled. Its inputs stay as they were.
    #[pyfunction]
    fn functional_calls(function: PyObjectRef, inputs: Vec<PyObjectRef>, vm: &VirtualMachine) -> PyResult {
        let given = values_of(&inputs, vm)?;
        let out = functional::functional_calls(&flat_function(function, no_output), &given).map_err(|e| raise(e, vm))?;
        let items = out.into_iter().map(|v| from_value(v, vm)).collect::<PyResult<Vec<_>>>()?;
        Ok(vm.ctx.new_list(items).into())
    }

    /// A tensor without values that looks like another.
    #[pyfunction]
    fn fake_like(o: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let value = unwrap(&tensor(&o, vm)?).map_err(|e| raise(e, vm))?;
        from_value(Value::Tensor(Tensor::fake(&value.spec()).map_err(|e| raise(e, vm))?), vm)
    }

    /// What tells a tensor's memory from that of others.
    #[pyfunction]
    fn memory(o: PyObjectRef, vm: &VirtualMachine) -> PyResult<u64> {
        Ok(unwrap(&tensor(&o, vm)?).map_err(|e| raise(e, vm))?.storage().id())
    }

    /// Says this where the gradient of a value is asked for.
    struct Delayed(String);

    impl Body for Delayed {
        fn apply(&self, _node: &Rc<Node>, _grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
            Err(Error::runtime(self.0.clone()))
        }

        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    }

    /// The same value, with a gradient that is an error.
    #[pyfunction]
    fn with_error(o: PyObjectRef, message: PyStrRef, vm: &VirtualMachine) -> PyResult {
        let made = crate::t!("detach", &tensor(&o, vm)?).map_err(|e: Error| raise(e, vm))?;
        meta::set_history(&made, &Node::new("Error", Vec::new(), Box::new(Delayed(message.to_string_lossy().into_owned()))));
        from_value(Value::Tensor(made), vm)
    }

    /// A node of a graph that is being recorded.
    #[pyattr]
    #[pyclass(module = "torch._native_trace", name = "TracedNode")]
    #[derive(PyPayload)]
    pub struct PyTracedNode(pub NodeId);

    impl std::fmt::Debug for PyTracedNode {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("TracedNode")
        }
    }

    #[pyclass]
    impl PyTracedNode {}

    /// A tracer at work.
    #[pyattr]
    #[pyclass(module = "torch._native_trace", name = "Tracer")]
    #[derive(PyPayload)]
    struct PyTracer(Rc<Tracer>);

    impl std::fmt::Debug for PyTracer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Tracer")
        }
    }

    /// The innermost tracer at work.
    #[pyfunction]
    fn tracer() -> Option<PyTracer> {
        current_tracer().map(PyTracer)
    }

    #[pyclass]
    impl PyTracer {
        /// The node of a value that the graph knows.
        #[pymethod]
        fn node_for(zelf: &Py<Self>, value: PyObjectRef, vm: &VirtualMachine) -> PyResult<Option<PyTracedNode>> {
            let Some(value) = to_value(&value, vm) else { return Ok(None) };
            Ok(zelf.0.node_for(&value).map_err(|e| raise(e, vm))?.map(PyTracedNode))
        }

        /// `call(kind, target, named, args, kwargs)`: a node of a call.
        #[pymethod]
        fn call(
            zelf: &Py<Self>,
            kind: PyStrRef,
            target: PyObjectRef,
            named: PyStrRef,
            args: Vec<PyObjectRef>,
            kwargs: PyDictRef,
            vm: &VirtualMachine,
        ) -> PyResult<PyTracedNode> {
            let text = || target.str(vm).map(|s| Rc::<str>::from(&*s.to_string_lossy()));
            let target = match &*kind.to_string_lossy() {
                "object" => Target::Op(overload_entry(&target).ok_or_else(|| vm.new_type_error("expected an overload"))?.name.into()),
                "getitem" => Target::Getitem,
                "operator" => Target::Operator(text()?),
                _ => Target::HigherOrder(text()?),
            };
            let args = args.iter().map(|o| argument(&zelf.0, o, vm)).collect::<PyResult<Vec<_>>>()?;
            let keyword = |(name, value): (PyObjectRef, PyObjectRef)| {
                Ok((Rc::from(&*name.str(vm)?.to_string_lossy()), argument(&zelf.0, &value, vm)?))
            };
            let kwargs = kwargs.into_iter().map(keyword).collect::<PyResult<Vec<_>>>()?;
            Ok(PyTracedNode(zelf.0.call_by_hand(&named.to_string_lossy(), target, args, kwargs)))
        }

        /// A node that reads a subgraph.
        #[pymethod]
        fn read(zelf: &Py<Self>, name: PyStrRef) -> PyTracedNode {
            PyTracedNode(zelf.0.subgraph_read(&name.to_string_lossy()))
        }

        /// A node gives a value.
        #[pymethod]
        fn gives(zelf: &Py<Self>, node: PyRef<PyTracedNode>, value: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
            let value = to_value(&value, vm).unwrap_or_default();
            zelf.0.gives(node.0, &value).map_err(|e| raise(e, vm))
        }

        /// The graph of a module is a subgraph of a name.
        #[pymethod]
        fn register(zelf: &Py<Self>, name: PyStrRef, module: PyObjectRef, vm: &VirtualMachine) -> PyResult<()> {
            let graph = crate::python::native::edited_graph::graph_of(&module, vm)?;
            zelf.0.add_subgraph(&name.to_string_lossy(), graph);
            Ok(())
        }

        #[pymethod]
        fn has(zelf: &Py<Self>, name: PyStrRef) -> bool {
            zelf.0.has_attribute(&name.to_string_lossy())
        }

        #[pymethod]
        fn name(zelf: &Py<Self>, node: PyRef<PyTracedNode>) -> String {
            zelf.0.node_name(node.0)
        }

        /// `body(function, names, inputs, template)`: the calls of a function of a list, as a graph. `template()` says afterwards what the
        /// function returned, as numbers of the results in their containers.
        #[pymethod]
        fn body(
            zelf: &Py<Self>,
            function: PyObjectRef,
            names: Vec<String>,
            inputs: Vec<PyObjectRef>,
            template: PyObjectRef,
            vm: &VirtualMachine,
        ) -> PyResult {
            let given = values_of(&inputs, vm)?;
            let mut graph =
                crate::aot::bodies::body_of(&zelf.0, &flat_function(function, no_argument), &names, &given).map_err(|e| raise(e, vm))?;
            let items = graph.outputs();
            let said = returned(&*template.call((), vm)?, &items, vm)?;
            if let Some(output) = graph.output().map(|o| o.id) {
                graph.node_mut(output).args = vec![said];
            }
            script_module(PyGraphModule::new(graph), vm)
        }
    }
}
