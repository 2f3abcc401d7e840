//! A graph that a script has edited through `torch.fx`, as one of the compiler's: the way back from [`super::graph_module`].

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use rustpython_vm::builtins::{PyDict, PyDictRef, PyList, PySlice, PyStr, PyTuple};
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::graph_module::{PyGraphModule, native};
use super::tensor::{overload_entry, raise, to_tensor, to_value};
use crate::aot::update_fake_tensors;
use crate::dispatch::Value;
use crate::graph::{Arg, FakeValue, Graph, Meta, Node, NodeId, Recompute, Shown, Target};

/// The graph of a module as it is now.
pub fn graph_of(module: &PyObject, vm: &VirtualMachine) -> PyResult<Graph> {
    read(module, false, vm)
}

/// The same of one whose nodes say what their values look like, which is so.
pub fn graph_with_its_values(module: &PyObject, vm: &VirtualMachine) -> PyResult<Graph> {
    read(module, true, vm)
}

fn read(module: &PyObject, has_values: bool, vm: &VirtualMachine) -> PyResult<Graph> {
    let told = super::calls::imported("torch.fx._native_graph", vm)?.get_attr("told", vm)?.call((module.to_owned(),), vm)?;
    if vm.is_none(&told) {
        let module = module.get_attr("owning_module", vm).unwrap_or_else(|_| module.to_owned());
        let module = &*module;
        let native = native(module, vm).ok_or_else(|| vm.new_type_error("a module without a graph"))?;
        return Ok(native.graph.borrow().clone());
    }
    let parts: Vec<PyObjectRef> = told.try_to_value(vm)?;
    if let [base, marks] = parts.as_slice() {
        let base = base.downcast_ref::<PyGraphModule>().ok_or_else(|| vm.new_type_error("a module without a graph"))?;
        let mut graph = base.graph.borrow().clone();
        for marked in marks.try_to_value::<Vec<PyObjectRef>>(vm)? {
            let parts: Vec<PyObjectRef> = marked.try_to_value(vm)?;
            let [name, meta] = parts.as_slice() else { return Err(vm.new_type_error("a mark is told in two parts")) };
            if let Some(id) = graph.find(&name.str(vm)?.to_string_lossy()).map(|node| node.id) {
                mark(&mut graph.node_mut(id).meta, &meta.clone().try_into_value(vm)?, vm)?;
            }
        }
        return Ok(graph);
    }
    let [base, nodes, attributes] = parts.as_slice() else { return Err(vm.new_type_error("a graph is told in three parts")) };
    let base = base.downcast_ref::<PyGraphModule>().map(|base| base.graph.borrow().clone()).unwrap_or_default();
    let mut reader = Reader { vm, graph: Graph::new(&base.class_name), ids: HashMap::new(), has_values };
    reader.graph.joint_signature = base.joint_signature;
    reader.graph.checkpoint_policy = base.checkpoint_policy;
    reader.attributes(attributes)?;
    let edited = reader.nodes(&nodes.try_to_value::<Vec<PyObjectRef>>(vm)?, &base)?;
    let mut graph = reader.graph;
    graph.sort();
    if !has_values {
        update_fake_tensors(&mut graph, edited).map_err(|e| raise(e, vm))?;
    }
    graph.validate().map_err(|e| raise(e, vm))?;
    Ok(graph)
}

struct Reader<'a> {
    vm: &'a VirtualMachine,
    graph: Graph,
    /// Nodes by the identity of Python's.
    ids: HashMap<usize, NodeId>,
    /// Whether nodes say what their values look like.
    has_values: bool,
}

impl Reader<'_> {
    /// Constants and subgraphs that nodes name.
    fn attributes(&mut self, attributes: &PyObject) -> PyResult<()> {
        for (name, value) in attributes.to_owned().try_into_value::<PyDictRef>(self.vm)? {
            let name: Rc<str> = Rc::from(&*name.str(self.vm)?.to_string_lossy());
            match to_tensor(&value) {
                Some(constant) => self.graph.constants.push((name, constant)),
                None => self.graph.subgraphs.push((name, read(&value, self.has_values, self.vm)?)),
            }
        }
        Ok(())
    }

    /// Makes the nodes; gives those whose call is not that of the base graph's node of the same name.
    fn nodes(&mut self, told: &[PyObjectRef], base: &Graph) -> PyResult<HashSet<NodeId>> {
        let vm = self.vm;
        let before: HashMap<&str, &Node> = base.nodes().map(|node| (&*node.name, node)).collect();
        let mut read = Vec::new();
        for node in told {
            let parts: Vec<PyObjectRef> = node.try_to_value(vm)?;
            let [object, op, name, kind, target, args, kwargs, meta] = parts.as_slice() else {
                return Err(vm.new_type_error("a node is told in eight parts"));
            };
            let text = |o: &PyObject| o.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            let name = text(name);
            let known = before.get(&*name);
            let told: PyDictRef = meta.clone().try_into_value(vm)?;
            let mut meta = match known {
                Some(node) => node.meta.clone(),
                None => self.meta(&told, base.joint_signature)?,
            };
            if !matches!(&*text(op), "placeholder" | "output") {
                mark(&mut meta, &told, vm)?;
            }
            let id = match &*text(op) {
                "placeholder" => {
                    let id = self.graph.placeholder(&name, meta);
                    self.graph.node_mut(id).target = Target::Name(text(target).into());
                    id
                }
                "get_attr" => self.graph.get_attr(&name, meta),
                "output" => self.graph.set_output(Arg::None),
                _ => self.graph.call(&name, self.target(&text(kind), target)?, Vec::new(), Vec::new(), meta),
            };
            if &*text(op) == "get_attr" {
                self.graph.node_mut(id).target = Target::Name(text(target).into());
            }
            self.ids.insert(object.get_id(), id);
            read.push((id, args.clone(), kwargs.clone(), known.copied()));
        }
        let mut edited = HashSet::new();
        for (id, args, kwargs, known) in read {
            let args: Vec<Arg> = args.try_to_value::<Vec<PyObjectRef>>(vm)?.iter().map(|a| self.arg(a)).collect::<PyResult<_>>()?;
            let kwargs = kwargs.try_into_value::<PyDictRef>(vm)?.into_iter();
            let kwargs = kwargs
                .map(|(name, value)| Ok((Rc::from(&*name.str(vm)?.to_string_lossy()), self.arg(&value)?)))
                .collect::<PyResult<Vec<(Rc<str>, Arg)>>>()?;
            let node = self.graph.node_mut(id);
            (node.args, node.kwargs) = (args, kwargs);
            if known.is_none_or(|known| said(known, base) != said(self.graph.node(id), &self.graph)) {
                edited.insert(id);
            }
        }
        Ok(edited)
    }

    fn target(&self, kind: &str, target: &PyObject) -> PyResult<Target> {
        let name = || target.str(self.vm).map(|s| Rc::<str>::from(&*s.to_string_lossy()));
        Ok(match kind {
            "object" => {
                let entry = overload_entry(target).ok_or_else(|| self.vm.new_type_error("a graph calls operators"))?;
                Target::Op(entry.name.into())
            }
            "getitem" => Target::Getitem,
            "named" => Target::Op(name()?),
            "grad_mode" => {
                let shown = Shown::Function("torch._C._set_grad_enabled".into());
                Target::Torch { op: "_C._set_grad_enabled".into(), shown }
            }
            "operator" => Target::Operator(name()?),
            _ => Target::HigherOrder(name()?),
        })
    }

    fn arg(&self, object: &PyObject) -> PyResult<Arg> {
        let vm = self.vm;
        if let Some(id) = self.ids.get(&object.get_id()) {
            return Ok(Arg::Node(*id));
        }
        if let Some(entry) = overload_entry(object) {
            return Ok(Arg::Op(entry.name.into()));
        }
        // A list may hold itself.
        let items = |items: &[PyObjectRef]| vm.with_recursion("", || items.iter().map(|o| self.arg(o)).collect::<PyResult<Vec<Arg>>>());
        if let Some(list) = object.downcast_ref::<PyList>() {
            return Ok(Arg::List(items(&list.borrow_vec())?));
        }
        if let Some(tuple) = object.downcast_ref::<PyTuple>() {
            return Ok(Arg::Tuple(items(tuple.as_slice())?));
        }
        if let Some(dict) = object.downcast_ref::<PyDict>() {
            let entry = |(key, value): (PyObjectRef, PyObjectRef)| Ok((Rc::from(&*key.str(vm)?.to_string_lossy()), self.arg(&value)?));
            return Ok(Arg::Dict(dict.into_iter().map(entry).collect::<PyResult<_>>()?));
        }
        if object.downcast_ref::<PySlice>().is_some() {
            let part = |name: &'static str| self.arg(&*object.get_attr(name, vm)?);
            return Ok(Arg::Slice(Box::new([part("start")?, part("stop")?, part("step")?])));
        }
        if object.is(&vm.ctx.ellipsis) {
            return Ok(Arg::Ellipsis);
        }
        Ok(match to_value(object, vm) {
            Some(Value::Bool(b)) => Arg::Bool(b),
            Some(Value::Int(i)) => Arg::Int(i.guard_int().map_err(|e| raise(e, vm))?),
            Some(Value::Float(f)) => Arg::Float(f),
            Some(Value::Complex(re, im)) => Arg::Complex(re, im),
            Some(Value::Str(s)) => Arg::Str(s),
            Some(Value::Dtype(d)) => Arg::Dtype(d),
            Some(Value::Device(d)) => Arg::Device(d),
            Some(Value::Layout(l)) => Arg::Layout(l),
            Some(Value::MemoryFormat(m)) => Arg::MemoryFormat(m),
            Some(Value::None) => Arg::None,
            _ => return Err(vm.new_type_error(format!("{} is no argument of a graph's call", object.repr(vm)?))),
        })
    }

    /// What a script says of a node that it added.
    fn meta(&self, told: &PyDictRef, is_of_joint: bool) -> PyResult<Meta> {
        let vm = self.vm;
        let item = |name: &'static str| told.get_item_opt(name, vm);
        let value = item("val")?.and_then(|o| self.fake_value(&o));
        let seq_nr = item("seq_nr")?.and_then(|o| o.try_to_value(vm).ok());
        Ok(Meta { value, is_of_joint, seq_nr, ..Meta::default() })
    }

    fn fake_value(&self, object: &PyObject) -> Option<FakeValue> {
        if let Some(tensor) = to_tensor(object) {
            return Some(FakeValue::Tensor(tensor.spec()));
        }
        let items = |items: &[PyObjectRef]| items.iter().map(|o| self.fake_value(o)).collect::<Option<Vec<_>>>().map(FakeValue::List);
        if let Some(list) = object.downcast_ref::<PyList>() {
            return items(&list.borrow_vec());
        }
        if let Some(tuple) = object.downcast_ref::<PyTuple>() {
            return items(tuple.as_slice());
        }
        match to_value(object, self.vm) {
            Some(Value::Int(size)) => Some(FakeValue::Int(size)),
            Some(Value::Float(number)) => Some(FakeValue::Float(Some(number))),
            Some(Value::Bool(condition)) => Some(FakeValue::Bool(Some(condition))),
            _ => None,
        }
    }
}

/// Puts down what a script says of a node, whoever made it: what checkpointing asks, and which part it belongs to.
fn mark(meta: &mut Meta, told: &PyDictRef, vm: &VirtualMachine) -> PyResult<()> {
    let item = |name: &'static str| told.get_item_opt(name, vm);
    meta.recompute = match item("recompute")? {
        Some(policy) if !vm.is_none(&policy) => match &*policy.get_attr("name", vm)?.str(vm)?.to_string_lossy() {
            "MUST_SAVE" => Some(Recompute::MustSave),
            "PREFER_SAVE" => Some(Recompute::PreferSave),
            "MUST_RECOMPUTE" => Some(Recompute::MustRecompute),
            _ => Some(Recompute::PreferRecompute),
        },
        _ => None,
    };
    meta.checkpoint_region = item("ac_graph_id")?.and_then(|o| o.try_to_value(vm).ok());
    let tag = item("partitioner_tag")?.and_then(|o| o.downcast_ref::<PyStr>().map(|s| s.to_string_lossy().into_owned()));
    let is_backward = matches!(tag.as_deref(), Some("is_backward" | "must_be_in_backward")) || item("autograd_backward")?.is_some();
    if is_backward != meta.is_backward {
        (meta.is_backward, meta.own_source) = (is_backward, false);
    }
    Ok(())
}

/// A node's call, nodes by their names.
fn said(node: &Node, graph: &Graph) -> (Target, Vec<Arg>, Vec<(Rc<str>, Arg)>) {
    let mut by_name = |id: NodeId| Arg::Str(graph.node(id).name.clone());
    let args = node.args.iter().map(|a| a.map_nodes(&mut by_name)).collect();
    let kwargs = node.kwargs.iter().map(|(name, a)| (name.clone(), a.map_nodes(&mut by_name))).collect();
    (node.target.clone(), args, kwargs)
}
