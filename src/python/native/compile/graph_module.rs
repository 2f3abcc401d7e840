//! `torch.fx.GraphModule` over a graph of ours: printed, walked and called.

use std::cell::RefCell;
use std::rc::Rc;

use rustpython_vm::builtins::PyTypeRef;
use rustpython_vm::function::FuncArgs;
use rustpython_vm::types::{Callable, Representable};
use rustpython_vm::{AsObject, Py, PyObjectRef, PyPayload, PyResult, VirtualMachine};

use crate::aot::interpret::replay_graph;
use crate::dispatch::Value;
use crate::graph::{self, Graph, Style};
use crate::python::current::emit;
use crate::python::native::tensor::{from_value, raise, to_value};
use crate::report::Event;

/// A graph as a Python module.
#[pyclass(module = "torch.fx.graph_module", name = "GraphModule")]
#[derive(PyPayload)]
pub struct PyGraphModule(pub Rc<RefCell<Graph>>);

impl std::fmt::Debug for PyGraphModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GraphModule")
    }
}

impl PyGraphModule {
    /// A module of a graph.
    pub fn new(graph: Graph) -> Self {
        PyGraphModule(Rc::new(RefCell::new(graph)))
    }
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
        let graph = zelf.0.borrow().clone();
        let out = replay_graph(&graph, &mut given).map_err(|e| raise(e, vm))?;
        let items = out.into_iter().map(|v| from_value(v, vm)).collect::<PyResult<Vec<_>>>()?;
        Ok(vm.ctx.new_tuple(items).into())
    }
}

impl Representable for PyGraphModule {
    fn repr_str(_zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<String> {
        Ok("GraphModule()".to_owned())
    }
}

#[pyclass(with(Callable, Representable))]
impl PyGraphModule {
    #[pygetset]
    fn code(zelf: &Py<Self>) -> String {
        graph::code(&zelf.0.borrow())
    }

    #[pygetset]
    fn graph(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
        PyGraph(zelf.0.clone()).into_pyobject(vm)
    }

    /// Prints the graph with types; returns the text.
    #[pymethod]
    fn print_readable(zelf: &Py<Self>, args: FuncArgs, vm: &VirtualMachine) -> String {
        let flag = |name: &str, default: bool| args.kwargs.get(name).map_or(default, |o| o.is(&vm.ctx.true_value));
        let style = Style { strides: flag("include_stride", false), devices: flag("include_device", false) };
        let text = graph::print_readable(&zelf.0.borrow(), style).text;
        if args.args.first().map_or_else(|| flag("print_output", true), |o| o.is(&vm.ctx.true_value)) {
            emit(Event::Stdout { text: format!("{text}\n") });
        }
        text
    }

    #[pymethod]
    fn forward(zelf: &Py<Self>, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        Self::call(zelf, args, vm)
    }

    #[pymethod]
    fn recompile(_zelf: &Py<Self>) {}

    #[pymethod]
    fn eval(zelf: rustpython_vm::PyRef<Self>) -> PyObjectRef {
        zelf.into()
    }
}

/// `torch.fx.Graph`
#[pyclass(module = "torch.fx.graph", name = "Graph")]
#[derive(PyPayload)]
pub struct PyGraph(Rc<RefCell<Graph>>);

impl std::fmt::Debug for PyGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Graph")
    }
}

#[pyclass]
impl PyGraph {
    #[pymethod]
    fn __str__(zelf: &Py<Self>) -> String {
        graph::listing(&zelf.0.borrow())
    }

    #[pymethod]
    fn print_tabular(zelf: &Py<Self>) {
        emit(Event::Stdout { text: format!("{}\n", graph::tabular(&zelf.0.borrow())) });
    }

    #[pygetset]
    fn nodes(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
        let graph = zelf.0.borrow();
        let nodes = graph.nodes().map(|n| PyFxNode { graph: zelf.0.clone(), id: n.id }.into_pyobject(vm)).collect();
        vm.ctx.new_list(nodes).into()
    }
}

/// `torch.fx.Node`
#[pyclass(module = "torch.fx.node", name = "Node")]
#[derive(PyPayload)]
pub struct PyFxNode {
    graph: Rc<RefCell<Graph>>,
    id: crate::graph::NodeId,
}

impl std::fmt::Debug for PyFxNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Node")
    }
}

impl Representable for PyFxNode {
    fn repr_str(zelf: &Py<Self>, _vm: &VirtualMachine) -> PyResult<String> {
        Ok(zelf.graph.borrow().node(zelf.id).name.to_string())
    }
}

#[pyclass(with(Representable))]
impl PyFxNode {
    #[pygetset]
    fn name(zelf: &Py<Self>) -> String {
        zelf.graph.borrow().node(zelf.id).name.to_string()
    }

    #[pygetset]
    fn op(zelf: &Py<Self>) -> &'static str {
        graph::opcode(zelf.graph.borrow().node(zelf.id))
    }

    #[pygetset]
    fn target(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let graph = zelf.graph.borrow();
        let node = graph.node(zelf.id);
        let text = node.target.text();
        if let crate::graph::Target::Op(name) = &node.target
            && let Some(entry) = crate::dispatch::lookup(name)
        {
            return Ok(crate::python::native::tensor::overload(entry, vm));
        }
        Ok(vm.ctx.new_str(text).into())
    }

    #[pygetset]
    fn users(zelf: &Py<Self>, vm: &VirtualMachine) -> PyResult {
        let graph = zelf.graph.borrow();
        let dict = vm.ctx.new_dict();
        for user in &graph.users()[zelf.id.0 as usize] {
            dict.set_item(&*PyFxNode { graph: zelf.graph.clone(), id: *user }.into_pyobject(vm), vm.ctx.none(), vm)?;
        }
        Ok(dict.into())
    }

    #[pygetset]
    fn all_input_nodes(zelf: &Py<Self>, vm: &VirtualMachine) -> PyObjectRef {
        let inputs = zelf.graph.borrow().node(zelf.id).inputs();
        vm.ctx.new_list(inputs.into_iter().map(|id| PyFxNode { graph: zelf.graph.clone(), id }.into_pyobject(vm)).collect()).into()
    }
}

/// The class of modules.
pub fn class() -> PyTypeRef {
    use rustpython_vm::class::PyClassImpl;
    drop((PyGraph::make_static_type(), PyFxNode::make_static_type()));
    PyGraphModule::make_static_type()
}
