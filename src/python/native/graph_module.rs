//! A graph of ours as Python's `torch.fx` reads it: called, printed, and told node by node.
//!
//! What a script holds is `torch.fx.GraphModule`, in Python, over one of these; [`script_module`] makes one, [`native`] finds
//! what a module is over, unless the script has edited and recompiled it.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use rustpython_vm::builtins::{PyDictRef, PyStrRef, PyTypeRef};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::types::Callable;
use rustpython_vm::{AsObject, Py, PyObject, PyObjectRef, PyPayload, PyRef, PyResult, VirtualMachine};

use crate::aot::replay_graph;
use crate::autograd::{Body, Node as AutogradNode};
use crate::dispatch::{Value, lookup};
use crate::error::{Error, Result};
use crate::graph::{self, Arg, FakeValue, Graph, Meta, NodeId, Opcode, Shown, Style, Target};
use crate::python::native::tensor::{fake_object, from_value, overload, raise, to_tensor, to_value};
use crate::shape::SymInt;
use crate::tensor::Tensor;

/// A graph as a Python object.
#[pyclass(module = "torch._native_compile", name = "NativeGraph")]
#[derive(PyPayload)]
pub struct PyGraphModule {
    /// The graph, as it runs.
    pub graph: Rc<RefCell<Graph>>,
    /// The graph as it is shown, where that is another.
    shown: Option<Rc<Graph>>,
    /// Whether it is a captured graph, with the inputs that are parameters.
    captured: Option<HashSet<NodeId>>,
    /// Inputs that callers do not give, because Dynamo keeps them as attributes, by position.
    pub attributes: Attributes,
}

/// Inputs of a graph that callers do not give, by position.
pub type Attributes = Rc<[(usize, Tensor)]>;

/// Puts a graph's own inputs among those that a caller gave.
pub fn with_attributes<T>(attributes: &[(usize, Tensor)], given: &mut Vec<T>, value: impl Fn(&Tensor) -> T) {
    for (position, t) in attributes {
        given.insert((*position).min(given.len()), value(t));
    }
}

impl std::fmt::Debug for PyGraphModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NativeGraph")
    }
}

impl PyGraphModule {
    /// A graph that AOTAutograd made.
    pub fn new(graph: Graph) -> Self {
        PyGraphModule { graph: Rc::new(RefCell::new(graph)), shown: None, captured: None, attributes: Rc::default() }
    }

    /// A captured graph, as it runs and as the script wrote it; some inputs of the latter are parameters.
    pub fn captured(graph: Graph, written: Graph, parameters: HashSet<NodeId>, attributes: Attributes) -> Self {
        PyGraphModule { graph: Rc::new(RefCell::new(graph)), shown: Some(Rc::new(written)), captured: Some(parameters), attributes }
    }

    fn with_shown<R>(&self, f: impl FnOnce(&Graph) -> R) -> R {
        match &self.shown {
            Some(shown) => f(shown),
            None => f(&self.graph.borrow()),
        }
    }
}

/// The module that a script sees of a graph.
pub fn script_module(native: PyGraphModule, vm: &VirtualMachine) -> PyResult {
    let module = crate::python::native::calls::imported("torch.fx.graph_module", vm)?;
    module.get_attr("of_native", vm)?.call((native.into_pyobject(vm),), vm)
}

/// The graph that a script's module is over.
pub fn native(module: &PyObject, vm: &VirtualMachine) -> Option<PyRef<PyGraphModule>> {
    let inner = module.get_attr("_native", vm).ok()?;
    inner.downcast::<PyGraphModule>().ok()
}

/// Arguments of a graph's call, lists spread out.
fn inputs(args: &FuncArgs, vm: &VirtualMachine) -> PyResult<Vec<Value>> {
    let mut values = Vec::new();
    for arg in &args.args {
        match to_value(arg, vm) {
            Some(Value::List(items)) => values.extend(items),
            Some(v) => values.push(v),
            None => return Err(vm.new_type_error("a graph takes tensors and numbers")),
        }
    }
    Ok(values)
}

impl Callable for PyGraphModule {
    type Args = FuncArgs;
    fn call(zelf: &Py<Self>, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let mut given = inputs(&args, vm)?;
        with_attributes(&zelf.attributes, &mut given, |t| Value::Tensor(t.clone()));
        let graph = zelf.graph.borrow().clone();
        let out = replay_graph(&graph, &mut given).map_err(|e| raise(e, vm))?;
        // A body returns what the function returned that it was traced from.
        let output = graph.output().and_then(|o| o.args.first()).cloned();
        let is_single = matches!(output, Some(Arg::Node(_)));
        let mut items = out.into_iter().map(|v| from_value(v, vm)).collect::<PyResult<Vec<_>>>()?;
        if is_single && items.len() == 1 {
            return Ok(items.swap_remove(0));
        }
        Ok(vm.ctx.new_tuple(items).into())
    }
}

#[pyclass(with(Callable))]
impl PyGraphModule {
    #[pygetset]
    fn class_name(zelf: &Py<Self>) -> String {
        zelf.graph.borrow().class_name.to_string()
    }

    /// Whether its code takes trees of primals and tangents.
    #[pygetset]
    fn takes_trees(zelf: &Py<Self>) -> bool {
        zelf.graph.borrow().joint_signature
    }

    #[pygetset]
    fn code(zelf: &Py<Self>) -> String {
        zelf.with_shown(graph::code)
    }

    /// Says where a node's call stands in a file of PyTorch's.
    #[pymethod]
    fn set_source(zelf: &Py<Self>, name: PyStrRef, file: PyStrRef, line: u32, code: PyStrRef) {
        let mut graph = zelf.graph.borrow_mut();
        let Some(id) = graph.find(&name.to_string_lossy()).map(|node| node.id) else { return };
        let text = |s: &PyStrRef| Rc::from(&*s.to_string_lossy());
        if let Some(source) = &mut graph.node_mut(id).meta.source {
            (source.file, source.function, source.code) = (text(&file), "forward".into(), text(&code));
            source.library_line = Some(line);
        }
    }

    /// The graph with types and lines of the script.
    #[pymethod]
    fn print_readable(zelf: &Py<Self>, args: FuncArgs, vm: &VirtualMachine) -> String {
        let flag = |name: &str| args.kwargs.get(name).is_some_and(|o| o.is(&vm.ctx.true_value));
        let style = Style { strides: flag("include_stride"), devices: flag("include_device"), ..Style::PLAIN };
        zelf.with_shown(|graph| graph::print_readable(graph, style).text)
    }

    /// Calls `make(op, name, kind, target, args, kwargs, type_name, meta)` for every node in order, with what it gave for the
    /// nodes that are read; gives the constants and subgraphs by name.
    #[pymethod]
    fn nodes(zelf: &Py<Self>, make: PyObjectRef, vm: &VirtualMachine) -> PyResult<PyDictRef> {
        zelf.with_shown(|graph| zelf.tell(graph, &make, vm))
    }
}

impl PyGraphModule {
    fn tell(&self, graph: &Graph, make: &PyObject, vm: &VirtualMachine) -> PyResult<PyDictRef> {
        let mut made: Vec<Option<PyObjectRef>> = vec![None; graph.arena_len()];
        for node in graph.nodes() {
            let tell = Tell { made: &made, vm };
            let args = node.args.iter().map(|a| tell.arg(a)).collect::<PyResult<Vec<_>>>()?;
            let kwargs = vm.ctx.new_dict();
            for (name, value) in &node.kwargs {
                kwargs.set_item(&**name, tell.arg(value)?, vm)?;
            }
            let (kind, target) = tell.target(&node.target, node.args.len());
            let type_name = match (&self.captured, node.opcode, &node.meta.value) {
                (Some(_), Opcode::Placeholder, Some(FakeValue::Int(_))) => "SymInt",
                (Some(parameters), Opcode::Placeholder, _) if parameters.contains(&node.id) => "Parameter",
                (Some(_), Opcode::Placeholder, _) => "Tensor",
                _ => "",
            };
            let meta = tell.meta(&node.meta, if self.captured.is_some() { "example_value" } else { "val" })?;
            if let (None, Some(source_fn)) = (&self.captured, &node.meta.source_fn) {
                let mut stack: Vec<PyObjectRef> = Vec::new();
                let mut next = Some(source_fn);
                while let Some(of) = next {
                    let (kind, target) = tell.target(&of.target, of.num_args);
                    let parts = vec![vm.ctx.new_str(&*of.name).into(), vm.ctx.new_str(kind).into(), target];
                    stack.insert(0, vm.ctx.new_tuple(parts).into());
                    next = of.outer.as_ref();
                }
                meta.set_item("source_fns", vm.ctx.new_list(stack).into(), vm)?;
            }
            if self.captured.is_some() && node.opcode == Opcode::Call {
                let name = node.meta.first_name.as_ref().unwrap_or(&node.name);
                meta.set_item("first_name", vm.ctx.new_str(&**name).into(), vm)?;
            }
            if type_name == "Parameter"
                && let Some(value) = meta.get_item_opt("example_value", vm)?
            {
                let class = crate::python::native::calls::imported("torch.nn.parameter", vm)?.get_attr("Parameter", vm)?;
                meta.set_item("example_value", class.call((value, node.meta.grad_fn.is_some()), vm)?, vm)?;
            }
            let parts: Vec<PyObjectRef> = vec![
                vm.ctx.new_str(graph::opcode(node)).into(),
                vm.ctx.new_str(&*node.name).into(),
                vm.ctx.new_str(kind).into(),
                target,
                vm.ctx.new_tuple(args).into(),
                kwargs.into(),
                vm.ctx.new_str(type_name).into(),
                meta.into(),
            ];
            made[node.id.0 as usize] = Some(make.call(parts, vm)?);
        }
        let named = vm.ctx.new_dict();
        for (name, constant) in &graph.constants {
            named.set_item(&**name, from_value(Value::Tensor(constant.clone()), vm)?, vm)?;
        }
        for (name, subgraph) in &graph.subgraphs {
            let captured = self.captured.as_ref().map(|_| HashSet::new());
            let below = PyGraphModule { graph: Rc::new(RefCell::new(subgraph.clone())), shown: None, captured, attributes: Rc::default() };
            named.set_item(&**name, below.into_pyobject(vm), vm)?;
        }
        Ok(named)
    }
}

/// The autograd node that gave a value of a graph, by its name alone: nothing runs backward from there.
struct Recorded;

impl Body for Recorded {
    fn apply(&self, node: &Rc<AutogradNode>, _grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        Err(Error::runtime(format!("{} belongs to a captured graph, which has no backward of its own", node.name)))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What Python is told of a node.
pub struct Tell<'a> {
    /// What stands for each node, by its number.
    pub made: &'a [Option<PyObjectRef>],
    /// Python.
    pub vm: &'a VirtualMachine,
}

impl Tell<'_> {
    /// An argument as a Python object.
    pub fn arg(&self, arg: &Arg) -> PyResult {
        let vm = self.vm;
        let items = |items: &[Arg]| items.iter().map(|a| self.arg(a)).collect::<PyResult<Vec<_>>>();
        let value = match arg {
            Arg::None => Value::None,
            Arg::Bool(b) => Value::Bool(*b),
            Arg::Int(i) => return Ok(vm.ctx.new_int(*i).into()),
            Arg::Float(f) => Value::Float(*f),
            Arg::Complex(re, im) => Value::Complex(*re, *im),
            Arg::Str(s) => return Ok(vm.ctx.new_str(&**s).into()),
            Arg::Dtype(d) => Value::Dtype(*d),
            Arg::Device(d) => Value::Device(*d),
            Arg::Layout(l) => Value::Layout(*l),
            Arg::MemoryFormat(m) => Value::MemoryFormat(*m),
            Arg::Op(name) => return Ok(lookup(name).map_or_else(|| vm.ctx.new_str(&**name).into(), |entry| overload(entry, vm))),
            Arg::Node(id) => return Ok(self.made[id.0 as usize].clone().unwrap_or_else(|| vm.ctx.none())),
            Arg::List(list) => return Ok(vm.ctx.new_list(items(list)?).into()),
            Arg::Tuple(tuple) => return Ok(vm.ctx.new_tuple(items(tuple)?).into()),
            Arg::Dict(entries) => {
                let dict = vm.ctx.new_dict();
                for (key, value) in entries {
                    dict.set_item(&**key, self.arg(value)?, vm)?;
                }
                return Ok(dict.into());
            }
            Arg::Slice(parts) => return vm.ctx.types.slice_type.to_owned().as_object().call(items(&parts[..])?, vm),
            Arg::Ellipsis => return Ok(vm.ctx.ellipsis.clone().into()),
            Arg::Text(text) => return Ok(vm.ctx.new_str(&**text).into()),
        };
        from_value(value, vm)
    }

    /// How a target is looked up, and its name or the object itself.
    fn target(&self, target: &Target, num_args: usize) -> (&'static str, PyObjectRef) {
        let vm = self.vm;
        let text = |t: &str| PyObjectRef::from(vm.ctx.new_str(t));
        match target {
            Target::Op(name) => match lookup(name) {
                Some(entry) => ("object", overload(entry, vm)),
                None => ("function", text(&format!("torch.ops.{name}"))),
            },
            Target::Torch { shown: Shown::Function(name) | Shown::Text(name), .. } => ("function", text(name)),
            Target::Torch { shown: Shown::Method(name), .. } => ("method", text(name)),
            Target::Torch { shown: Shown::Operator(symbol), .. } => match (&**symbol, num_args) {
                ("-", 1) => ("operator", text("neg")),
                ("+", 1) => ("operator", text("pos")),
                _ => ("operator", text(symbol)),
            },
            Target::Getitem => ("operator", text("getitem")),
            Target::Operator(name) if name.starts_with("sym_") => ("function", text(&format!("torch.{name}"))),
            Target::Operator(name) => ("operator", text(name)),
            Target::HigherOrder(name) => ("higher_order", text(name)),
            Target::Name(name) => ("name", text(name)),
        }
    }

    /// What stands for a value. `is_fake`: tensors are of the class that PyTorch's fake tensors have.
    fn value(&self, value: &FakeValue, is_fake: bool) -> PyResult {
        let vm = self.vm;
        Ok(match value {
            FakeValue::Tensor(spec) => {
                let t = Tensor::fake(spec).map_err(|e| raise(e, vm))?;
                if is_fake { fake_object(&t, vm)? } else { from_value(Value::Tensor(t), vm)? }
            }
            FakeValue::Int(i) => from_value(Value::Int(i.clone()), vm)?,
            FakeValue::SymFloat(f) => from_value(Value::SymFloat(f.clone()), vm)?,
            FakeValue::Float(Some(f)) => vm.ctx.new_float(*f).into(),
            FakeValue::Bool(Some(b)) => vm.ctx.new_bool(*b).into(),
            FakeValue::Condition(text) => vm.ctx.new_str(&**text).into(),
            FakeValue::List(items) => vm.ctx.new_tuple(items.iter().map(|v| self.value(v, is_fake)).collect::<PyResult<Vec<_>>>()?).into(),
            FakeValue::Float(None) | FakeValue::Bool(None) | FakeValue::None => vm.ctx.none(),
        })
    }

    /// The symbolic sizes and strides of a value, or the symbolic number, as text.
    fn written(&self, value: &FakeValue) -> Option<PyObjectRef> {
        let vm = self.vm;
        let texts = |sizes: &[SymInt]| vm.ctx.new_list(sizes.iter().map(|s| vm.ctx.new_str(s.to_string()).into()).collect()).into();
        match value {
            FakeValue::Tensor(spec) => {
                let geometry = &spec.geometry;
                let is_symbolic = geometry.sizes.iter().chain(&geometry.strides).any(|s| matches!(s, SymInt::Sym(..)));
                is_symbolic.then(|| vm.ctx.new_tuple(vec![texts(&geometry.sizes), texts(&geometry.strides)]).into())
            }
            FakeValue::Int(size @ SymInt::Sym(..)) => Some(vm.ctx.new_str(size.to_string()).into()),
            FakeValue::SymFloat(float) => Some(vm.ctx.new_str(float.to_string()).into()),
            _ => None,
        }
    }

    fn meta(&self, meta: &Meta, key: &str) -> PyResult<PyDictRef> {
        let vm = self.vm;
        let dict = vm.ctx.new_dict();
        if let Some(value) = &meta.value {
            let told = self.value(value, key == "val")?;
            if let (Some(name), Some(t)) = (&meta.grad_fn, to_tensor(&told)) {
                crate::autograd::meta::set_requires_grad(&t, true).map_err(|e| raise(e, vm))?;
                if !name.is_empty() {
                    crate::autograd::meta::set_history(&t, &AutogradNode::new(name.to_string(), Vec::new(), Box::new(Recorded)));
                }
            }
            dict.set_item(key, told, vm)?;
            // Sizes are numbers once their call is over; a graph shows the symbols that it was made with.
            if let Some(written) = self.written(value) {
                dict.set_item("written", written, vm)?;
            }
        }
        if let Some(source) = &meta.source {
            let marks = source.marks().map_or_else(String::new, |marks| format!("    {marks}\n"));
            let sums = if meta.is_gradient_acc { "Gradient addition node due to multiple use of tensor around:" } else { "" };
            let trace =
                format!("  File \"{}\", line {}, in {}\n    {}\n{marks}{sums}", source.file, source.line(), source.function, source.code);
            dict.set_item("stack_trace", vm.ctx.new_str(trace).into(), vm)?;
        }
        if let Some(modules) = meta.modules.as_ref().filter(|modules| !modules.called.is_empty() && !meta.is_gradient_acc) {
            let stack = vm.ctx.new_dict();
            for module in &modules.called {
                let class = module.class.downcast_ref::<PyObjectRef>().cloned().unwrap_or_else(|| vm.ctx.none());
                let told = vm.ctx.new_tuple(vec![vm.ctx.new_str(&*module.path).into(), class]);
                stack.set_item(module.id.to_string().as_str(), told.into(), vm)?;
            }
            dict.set_item(if meta.is_backward { "fwd_nn_module_stack" } else { "nn_module_stack" }, stack.into(), vm)?;
        }
        if let Some(number) = meta.seq_nr {
            dict.set_item("seq_nr", vm.ctx.new_int(number).into(), vm)?;
        }
        if let Some(entry) = meta.original_op.as_deref().and_then(lookup) {
            dict.set_item("original_aten", overload(entry, vm), vm)?;
        }
        if meta.is_of_joint && !meta.is_trailing {
            let tag = if meta.is_backward { "is_backward" } else { "is_forward" };
            dict.set_item("partitioner_tag", vm.ctx.new_str(tag).into(), vm)?;
        }
        if meta.is_backward {
            dict.set_item("autograd_backward", vm.ctx.true_value.clone().into(), vm)?;
        }
        if meta.is_gradient_acc {
            dict.set_item("is_gradient_acc", vm.ctx.true_value.clone().into(), vm)?;
        }
        if let Some(tag) = meta.recompute {
            dict.set_item("recompute", vm.ctx.new_str(graph::recompute_name(tag)).into(), vm)?;
        }
        if let Some(annotation) = &meta.annotation {
            dict.set_item("custom", vm.ctx.new_str(&*annotation.shown).into(), vm)?;
        }
        if let Some(name) = &meta.from_node {
            dict.set_item("from_node", vm.ctx.new_str(&**name).into(), vm)?;
        }
        if let Some(region) = meta.checkpoint_region {
            dict.set_item("ac_graph_id", vm.ctx.new_int(region).into(), vm)?;
        }
        Ok(dict)
    }
}

/// The class of native graphs.
pub fn class() -> PyTypeRef {
    use rustpython_vm::class::PyClassImpl;
    PyGraphModule::make_static_type()
}
