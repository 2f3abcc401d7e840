//! Bodies of higher-order operators: what was recorded since a mark is cut out of the graph into a subgraph.
//!
//! Inputs that were first used inside stay inputs of the graph, in order of first use; values the body reads from outside
//! become its own inputs. After a graph break in between there is nothing to cut: what follows is recorded as it is.

use super::tracer::{Recorder, class_of};
use crate::aot::trace::fake_value;
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::graph::{Arg, FakeValue, Graph, Meta, Node, NodeId, Opcode, Place, Target};
use crate::python::native::tensor::held_by_python;
use crate::shape::{Expr, SymInt};
use crate::tensor::Tensor;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// A place in a recording.
pub struct Mark {
    place: Place,
    epoch: u32,
}

/// A part of the recording that becomes a subgraph.
pub struct Part {
    /// Nodes, by position.
    pub range: Range<usize>,
    /// What it takes first, whether it reads it or not.
    pub takes: Vec<NodeId>,
    /// What it returns.
    pub returns: Arg,
}

/// A subgraph that was cut out, and the values of the recording that it takes.
pub struct Body {
    /// The subgraph.
    pub graph: Graph,
    /// Per input of it, the node of the recording.
    pub takes: Vec<NodeId>,
}

/// Parts cut out of a recording, which now ends where the mark was.
pub struct Cut {
    /// The bodies, in order.
    pub bodies: Vec<Body>,
    /// How many nodes are where they were.
    start: usize,
    moved: HashMap<NodeId, NodeId>,
}

impl Cut {
    /// The node of what remains that a node of the recording became; none for what was cut out.
    pub fn moved(&self, id: NodeId) -> Option<NodeId> {
        if (id.0 as usize) < self.start { Some(id) } else { self.moved.get(&id).copied() }
    }
}

/// Whether a node belongs to a part: its calls, and the subgraphs they name.
fn is_inside(graph: &Graph, part: &Part, id: NodeId) -> bool {
    let node = graph.node(id);
    part.range.contains(&(id.0 as usize))
        && match (&node.opcode, &node.target) {
            (Opcode::Call, _) => true,
            (Opcode::GetAttr, Target::Name(name)) => graph.subgraphs.iter().any(|(n, _)| n == name),
            _ => false,
        }
}

/// The nodes of a part. A recording's nodes are in the order in which they were made.
fn nodes_of<'g>(graph: &'g Graph, part: &'g Part) -> impl Iterator<Item = &'g Node> {
    part.range.clone().map(|i| graph.node(NodeId(i as u32))).filter(|n| is_inside(graph, part, n.id))
}

/// Values that a part reads and does not compute, each once, in order of first use: within a call as the script wrote its arguments.
fn free_values(graph: &Graph, part: &Part) -> Vec<NodeId> {
    let mut found = Vec::new();
    let inside = |id: NodeId| is_inside(graph, part, id);
    let mut add = |id: NodeId| {
        if !inside(id) && !part.takes.contains(&id) && !found.contains(&id) {
            found.push(id);
        }
    };
    for node in nodes_of(graph, part) {
        let says = node.written.as_ref().and_then(|written| written.says.as_deref());
        let written = says.into_iter().flat_map(|call| call.args.iter().chain(call.kwargs.iter().map(|(_, arg)| arg)));
        written.for_each(|arg| arg.for_each_node(&mut add));
        node.reads().into_iter().for_each(&mut add);
    }
    part.returns.for_each_node(&mut add);
    found
}

/// Whether the end of a name tells it from others.
fn is_number(end: &str) -> bool {
    end.strip_prefix('_').is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
}

fn body_of(graph: &Graph, part: &Part) -> Body {
    let mut takes = part.takes.clone();
    takes.extend(free_values(graph, part));
    let mut body = Graph::new("GraphModule");
    let mut ids: HashMap<NodeId, NodeId> = HashMap::new();
    for id in &takes {
        let node = graph.node(*id);
        let meta = Meta { value: node.meta.value.clone(), subclass: node.meta.subclass.clone(), ..Meta::default() };
        // An input of the body's own is called as it would be in a graph of its own.
        let name = match &node.target {
            Target::Name(own) if node.name.strip_prefix(&**own).is_some_and(is_number) => own,
            _ => &node.name,
        };
        let input = body.placeholder(name, meta);
        let name = body.node(input).name.clone();
        body.node_mut(input).target = Target::Name(name);
        ids.insert(*id, input);
    }
    for node in nodes_of(graph, part) {
        let id = body.copy_node(node, &mut |n| ids.get(&n).map_or(Arg::None, |n| Arg::Node(*n)));
        ids.insert(node.id, id);
    }
    let subgraphs: Vec<_> = body
        .nodes()
        .flat_map(|n| n.inputs())
        .filter_map(|id| match &body.node(id).target {
            Target::Name(name) => graph.subgraphs.iter().find(|(n, _)| n == name).cloned(),
            _ => None,
        })
        .collect();
    body.subgraphs = subgraphs;
    body.set_output(part.returns.map_nodes(&mut |n| ids.get(&n).map_or(Arg::None, |n| Arg::Node(*n))));
    Body { graph: body, takes }
}

impl Recorder {
    /// Marks the place from which a body is recorded.
    pub fn mark(&self) -> Mark {
        Mark { place: self.output().graph.borrow_mut().place(), epoch: self.output().epoch }
    }

    /// Whether the graph still is the one of the mark.
    pub fn is_since(&self, mark: &Mark) -> bool {
        mark.epoch == self.output().epoch
    }

    /// How many nodes were recorded so far.
    pub fn position(&self) -> usize {
        self.output().graph.borrow().arena_len()
    }

    /// Where a mark was set.
    pub fn start_of(&self, mark: &Mark) -> usize {
        mark.place.arena_len()
    }

    /// The node of a tensor, where it has one; the caller's tensors become inputs.
    pub fn node_of(&self, t: &Tensor) -> Result<NodeId> {
        let t = self.wrap_tensor(t)?;
        let known = self.output().nodes.borrow().get(&t.id()).copied();
        known.ok_or_else(|| Error::runtime("a tensor that is not part of this graph"))
    }

    /// The node that a tensor had before so many nodes were recorded: a call may have given it again since.
    pub fn node_before(&self, t: &Tensor, start: usize) -> Result<NodeId> {
        let now = self.node_of(t)?;
        let is_before = |id: &&NodeId| (id.0 as usize) < start;
        let t = self.wrap_tensor(t)?;
        let before = self.output().earlier.borrow().get(&t.id()).and_then(|known| known.iter().rfind(is_before).copied());
        Ok(if is_before(&&now) { now } else { before.unwrap_or(now) })
    }

    /// The node of a tensor, where it has one already.
    pub fn known_node(&self, t: &Tensor) -> Option<NodeId> {
        let t = self.current(t);
        if let Some(id) = self.output().nodes.borrow().get(&t.id()) {
            return Some(*id);
        }
        self.output().inputs.borrow().iter().find(|i| i.real.is(&t)).map(|i| i.node)
    }

    /// The node of a fake tensor that was computed since a position.
    pub fn computed_since(&self, t: &Tensor, start: usize) -> Option<NodeId> {
        let id = self.output().nodes.borrow().get(&t.id()).copied()?;
        (id.0 as usize >= start && self.output().graph.borrow().node(id).opcode == Opcode::Call).then_some(id)
    }

    /// Fake tensors computed since a position that are live in Python.
    pub fn kept_since(&self, start: usize) -> Vec<Tensor> {
        let all = self.alive();
        let held = held_by_python(&all);
        all.into_iter().filter(|t| held.contains(&t.id()) && self.computed_since(t, start).is_some()).collect()
    }

    /// The tensors whose nodes these are.
    pub fn tensors_of(&self, ids: &[NodeId]) -> Vec<Tensor> {
        let output = self.output();
        let nodes = output.nodes.borrow();
        let fake_tensors = self.known_tensors();
        ids.iter().filter_map(|id| fake_tensors.iter().find(|t| nodes.get(&t.id()) == Some(id)).cloned()).collect()
    }

    /// Inputs, and what was computed of them and is still alive.
    pub fn known_tensors(&self) -> Vec<Tensor> {
        self.output().inputs.borrow().iter().map(|i| i.fake_tensor.clone()).chain(self.alive()).collect()
    }

    /// A value that a body is given when it runs, such as a gradient.
    pub fn given(&self, name: &str, t: &Tensor) -> NodeId {
        let meta = Meta { value: Some(FakeValue::Tensor(t.spec())), subclass: class_of(t), ..Meta::default() };
        let id = self.output().graph.borrow_mut().placeholder(name, meta);
        self.output().nodes.borrow_mut().insert(t.id(), id);
        id
    }

    /// An integer that a body is given when it runs.
    pub fn given_number(&self) -> (SymInt, NodeId) {
        let number = self.number_of_run("unbacked_symint");
        let meta = Meta { value: Some(FakeValue::Int(number.clone())), ..Meta::default() };
        let output = self.output();
        let mut graph = output.graph.borrow_mut();
        // Dynamo numbers its inputs from the second on.
        let taken = |name: &String| graph.nodes().any(|n| *n.name == *name.as_str());
        let name = std::iter::once("unbacked_symint".to_owned()).chain((0..).map(|i| format!("unbacked_symint_{i}"))).find(|n| !taken(n));
        let id = graph.placeholder(&name.unwrap_or_default(), meta);
        output.sizes.borrow_mut().insert(number.expr(), id);
        (number, id)
    }

    /// An integer that only the run knows.
    pub fn number_of_run(&self, origin: &str) -> SymInt {
        self.output().symbols.borrow().env.unbacked(origin, i64::MIN)
    }

    /// Values that a part reads and does not compute.
    pub fn free_values(&self, part: &Part) -> Vec<NodeId> {
        free_values(&self.output().graph.borrow(), part)
    }

    /// What a part takes besides: values that it reads and does not compute, and before each tensor the symbols in its sizes, which Dynamo
    /// hands in with it.
    pub fn lifted_values(&self, part: &Part) -> Vec<NodeId> {
        let free = self.free_values(part);
        let output = self.output();
        let (graph, sizes) = (output.graph.borrow(), output.sizes.borrow());
        let mut all: Vec<NodeId> = Vec::new();
        for id in part.takes.iter().chain(&free) {
            let geometry = graph.node(*id).tensor().map(|spec| &spec.geometry);
            let symbolic = geometry.into_iter().flat_map(|g| g.sizes.iter().chain(&g.strides)).filter(|size| size.as_int().is_none());
            for symbol in symbolic.flat_map(|size| size.expr().symbols()) {
                let input = sizes.get(&Expr::symbol(symbol)).copied();
                all.extend(input.filter(|input| !part.takes.contains(input) && !all.contains(input)));
            }
            if free.contains(id) && !all.contains(id) {
                all.push(*id);
            }
        }
        all
    }

    /// Cuts parts out of what was recorded since the mark. `given` are inputs of bodies alone.
    pub fn cut(&self, mark: Mark, parts: &[Part], given: &[NodeId]) -> Cut {
        let start = mark.place.arena_len();
        let output = self.output();
        let mut graph = output.graph.borrow_mut();
        let bodies = parts.iter().map(|p| body_of(&graph, p)).collect();
        let is_kept = |node: &&Node| match (&node.opcode, &node.target) {
            (Opcode::Placeholder, _) => !given.contains(&node.id),
            (Opcode::GetAttr, Target::Name(name)) => graph.constants.iter().any(|(n, _)| n == name),
            _ => false,
        };
        let since = (start..graph.arena_len()).map(|i| graph.node(NodeId(i as u32)));
        let kept: Vec<Node> = since.filter(is_kept).cloned().collect();
        graph.go_back(mark.place);
        let mut moved: HashMap<NodeId, NodeId> = HashMap::new();
        for node in kept {
            let Target::Name(name) = &node.target else { continue };
            let id = match node.opcode {
                Opcode::Placeholder => graph.placeholder(name, node.meta.clone()),
                _ => graph.get_attr(name, node.meta.clone()),
            };
            moved.insert(node.id, id);
        }
        drop(graph);
        let follow = |id: &mut NodeId| match moved.get(id) {
            _ if (id.0 as usize) < start => true,
            Some(new) => {
                *id = *new;
                true
            }
            None => false,
        };
        for input in output.inputs.borrow_mut().iter_mut() {
            input.node = moved.get(&input.node).copied().unwrap_or(input.node);
        }
        output.follow(&follow);
        Cut { bodies, start, moved }
    }

    /// Adds a subgraph under the next free name of its kind (`wrap_body_0`); gives the node that names it.
    pub fn subgraph(&self, kind: &str, body: Graph) -> NodeId {
        let output = self.output();
        let mut graph = output.graph.borrow_mut();
        // Those of one kind are numbered in order.
        let of_kind = |name: &str| name.rsplit_once('_').filter(|(k, _)| *k == kind).and_then(|(_, number)| number.parse::<usize>().ok());
        let number = graph.subgraphs.iter().rev().find_map(|(name, _)| of_kind(name)).map_or(0, |last| last + 1);
        let name = format!("{kind}_{number}");
        graph.subgraphs.push((name.as_str().into(), body));
        drop(graph);
        self.names_subgraph(&name)
    }

    /// A node that names a subgraph.
    pub fn names_subgraph(&self, name: &str) -> NodeId {
        let meta = Meta { source: crate::span::current_source(), modules: crate::span::current_modules(), ..Meta::default() };
        self.output().graph.borrow_mut().get_attr(name, meta)
    }

    /// Records the call of a higher-order operator with several results, of which some may be nothing; these values stand for them.
    pub fn call_higher_order(&self, name: &str, args: Vec<Arg>, kwargs: Vec<(Rc<str>, Arg)>, results: &[Value]) {
        let meta = self.meta(FakeValue::List(results.iter().map(fake_value).collect()));
        let call = self.output().graph.borrow_mut().call(name, Target::HigherOrder(name.into()), args, kwargs, meta.clone());
        for (i, value) in results.iter().enumerate().filter(|(_, value)| !value.is_none()) {
            let known = value.as_tensor();
            let (grad_fn, subclass) = (known.and_then(super::tracer::grad_fn), known.and_then(class_of));
            let meta = Meta { value: Some(fake_value(value)), grad_fn, subclass, ..meta.clone() };
            let args = vec![Arg::Node(call), Arg::Int(i as i64)];
            let item = self.output().graph.borrow_mut().call("getitem", Target::Getitem, args, Vec::new(), meta);
            match value {
                Value::Tensor(t) => self.note(t, item),
                Value::Int(number) => drop(self.output().sizes.borrow_mut().insert(number.expr(), item)),
                _ => {}
            }
        }
    }

    /// Records the call of a higher-order operator that gives its operand back; the tensor is its result from now on.
    pub fn call_in_place(&self, name: &str, args: Vec<Arg>, t: &Tensor) {
        let meta = self.meta(FakeValue::Tensor(t.spec()));
        let call = self.output().graph.borrow_mut().call(name, Target::HigherOrder(name.into()), args, Vec::new(), meta);
        self.note(t, call);
    }

    /// From now on a fake tensor is the value of a node.
    pub(in crate::dynamo) fn note(&self, t: &Tensor, id: NodeId) {
        if self.output().nodes.borrow_mut().insert(t.id(), id).is_none() {
            return self.output().fakes.borrow_mut().push(t.downgrade());
        }
        let output = self.output();
        let mut fakes = output.fakes.borrow_mut();
        if !fakes.iter().any(|w| Tensor::upgrade(w).is_some_and(|o| o.is(t))) {
            fakes.push(t.downgrade());
        }
    }
}
