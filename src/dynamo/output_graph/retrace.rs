//! A graph break inside an inlined function: what was recorded before the call is a graph of its own, and what was recorded since begins
//! the function's. It is recorded again, on the values that the first graph gave.

use super::captured_graph::sets_grad_mode;
use super::subgraph::Mark;
use super::tracer::Recorder;
use crate::aot::trace::fake_value;
use crate::dispatch::{Key, Modes, Value, call_below, fill_args, lookup, modes, set_modes};
use crate::error::{Error, Result};

use crate::graph::{Arg, FakeValue, Graph, Meta, Node, NodeId, Opcode, Target};
use crate::shape::{ShapeEnv, SymInt, Symbol};
use crate::tensor::{Tensor, TensorImpl};
use std::collections::{HashMap, HashSet};
use std::rc::{Rc, Weak};

/// What was recorded since a function was called.
pub struct Retrace {
    /// The whole recording.
    graph: Graph,
    /// The calls that belong to the function, in order.
    ids: Vec<NodeId>,
    /// The function's fake tensors that are alive, by node.
    known: HashMap<NodeId, Vec<Weak<TensorImpl>>>,
    /// What the function takes, by node: tensors of the caller's, and fake tensors of the first graph.
    given: HashMap<NodeId, Tensor>,
    /// Tensors of the caller's that the function read, in order, and whether each is a module's. None where only calls did
    /// that are no part of the function any more.
    touched: Vec<Option<(Tensor, bool)>>,
    /// Where the frames stood at each call, and how many tensors the function had read.
    places: HashMap<NodeId, (Rc<[u32]>, usize)>,
    /// Tensors of the first graph that the function read without a call, the number of the call that came next, and how many tensors of the
    /// caller's the function had read by then.
    glances: Vec<(NodeId, u32, usize)>,
    env: ShapeEnv,
}

/// Where a part of what is recorded begins.
#[derive(Clone)]
pub struct Section {
    /// Calls of the part, and of those behind it, have this number or a later one.
    node: u32,
    /// How many inputs there were.
    inputs: usize,
    /// Nodes of what the part returns, in order.
    pub returned: Vec<NodeId>,
    epoch: u32,
}

/// What recording again has made so far, by the nodes of the first recording.
#[derive(Default)]
struct Made {
    values: HashMap<NodeId, Value>,
    /// Calls with several results, whose nodes are no value of their own.
    lists: HashMap<NodeId, NodeId>,
    /// The new nodes.
    nodes: HashMap<NodeId, NodeId>,
    /// How many of the caller's tensors were read again.
    touched: usize,
}

impl Retrace {
    fn of(graph: Graph, ids: Vec<NodeId>, env: ShapeEnv) -> Self {
        Retrace {
            graph,
            ids,
            known: HashMap::new(),
            given: HashMap::new(),
            touched: Vec::new(),
            places: HashMap::new(),
            glances: Vec::new(),
            env,
        }
    }

    /// Whether the function has recorded nothing.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Fake tensors of the first graph that the function reads, in order.
    pub fn reads(&self) -> Vec<Tensor> {
        let mut given: Vec<_> = self.given.iter().filter(|(_, t)| t.is_fake()).collect();
        given.sort_by_key(|(id, _)| id.0);
        given.into_iter().map(|(_, t)| t.clone()).collect()
    }
}

/// Whether a call can be recorded again: bodies of higher-order operators, constants and blocks of autocast cannot.
fn repeats(node: &Node) -> bool {
    match &node.target {
        Target::Torch { op, .. } => !op.starts_with("autocast."),
        Target::Getitem | Target::Operator(_) => true,
        _ => false,
    }
}

impl Recorder {
    /// Takes away what was recorded since a function was called: calls whose places in the frames `is_inner` knows. `None` where
    /// that cannot be recorded again.
    pub fn split(&self, is_inner: &dyn Fn(&[u32]) -> bool) -> Option<Retrace> {
        let env = self.output().symbols.borrow().env.clone();
        let graph = self.output().graph.borrow().clone();
        let order: Vec<NodeId> = graph.nodes().map(|n| n.id).collect();
        let first = {
            let output = self.output();
            let (stacks, modes) = (output.stacks.borrow(), output.mode_places.borrow());
            let place = |id: &NodeId| stacks.get(id).map(|(place, _)| place.clone()).or_else(|| modes.get(id).cloned());
            order.iter().position(|id| place(id).is_some_and(|place| is_inner(&place)))
        };
        let Some(first) = first else {
            return Some(Retrace::of(graph, Vec::new(), env));
        };
        let inputs = self.output().input_places.borrow().iter().position(|s| is_inner(s)).unwrap_or(self.output().inputs.borrow().len());
        let nodes = self.output().nodes.borrow().clone();
        let inner = |(t, place, next, seen): &(u64, Rc<[u32]>, u32, usize)| {
            Some((*nodes.get(t).filter(|_| is_inner(place))?, *next, seen.saturating_sub(inputs)))
        };
        let glances = self.output().glances.borrow().iter().filter_map(inner).collect();
        Some(Retrace { glances, ..self.take_away(graph, &order, (first, inputs))? })
    }

    /// A part of what is recorded begins here.
    pub fn section(&self) -> Section {
        let last = self.output().graph.borrow().nodes().map(|n| n.id.0).max();
        Section {
            node: last.map_or(0, |n| n + 1),
            inputs: self.output().inputs.borrow().len(),
            returned: Vec::new(),
            epoch: self.output().epoch,
        }
    }

    /// The part that begins with the first of the last calls and inputs whose places in the frames `is_since` knows.
    pub fn since(&self, is_since: &dyn Fn(&[u32]) -> bool) -> Section {
        let output = self.output();
        let (graph, stacks, modes) = (output.graph.borrow(), output.stacks.borrow(), output.mode_places.borrow());
        let mut node = self.section().node;
        for call in graph.nodes().rev().filter(|n| n.opcode == Opcode::Call) {
            let place = stacks.get(&call.id).map(|(stack, _)| stack).or_else(|| modes.get(&call.id));
            match place {
                Some(stack) if is_since(stack) => node = call.id.0,
                // Numbers are computed where they are read.
                None if matches!(call.target, Target::Operator(_)) => {}
                _ => break,
            }
        }
        let places = output.input_places.borrow();
        let inputs = places.iter().rposition(|stack| !is_since(stack)).map_or(0, |last| last + 1);
        Section { node, inputs, returned: Vec::new(), epoch: output.epoch }
    }

    /// How many calls of the script's were recorded before a part.
    pub fn count_calls_before(&self, part: &Section) -> usize {
        let output = self.output();
        let graph = output.graph.borrow();
        let before = graph.nodes().filter(|n| n.opcode == Opcode::Call && n.id.0 < part.node);
        let mut known = HashSet::new();
        before.filter(|n| n.written.as_ref().is_none_or(|w| known.insert(w.call))).count()
    }

    /// Whether a part is one of the graph that is recorded.
    pub fn has_section(&self, part: &Section) -> bool {
        part.epoch == self.output().epoch
    }

    /// Forgets what was recorded since a part began, whose beginning the mark is, too.
    pub fn forget_part(&self, mark: Mark, part: &Section) {
        if self.split_at(part).is_none() {
            self.cut(mark, &[], &[]);
        }
    }

    /// Takes away what was recorded since a part began, and tensors of the caller's that it was the first to read.
    pub fn split_at(&self, part: &Section) -> Option<Retrace> {
        let graph = self.output().graph.borrow().clone();
        let order: Vec<NodeId> = graph.nodes().map(|n| n.id).collect();
        let first = order.iter().position(|id| id.0 >= part.node && graph.node(*id).opcode != Opcode::Placeholder);
        let inputs = part.inputs.min(self.output().inputs.borrow().len());
        self.take_away(graph, &order, (first.unwrap_or(order.len()), inputs))
    }

    fn take_away(&self, graph: Graph, order: &[NodeId], (first, inputs): (usize, usize)) -> Option<Retrace> {
        let env = self.output().symbols.borrow().env.clone();
        let is_call = |id: &&NodeId| graph.node(**id).opcode != Opcode::Placeholder;
        let ids: Vec<NodeId> = order[first..].iter().filter(is_call).copied().collect();
        if !ids.iter().all(|id| repeats(graph.node(*id))) {
            return None;
        }
        let inside = |id: &NodeId| ids.contains(id);
        self.step_back(&inside);
        let mut rest = Retrace::of(graph.clone(), ids.clone(), env);
        let seen = |n: &usize| n.saturating_sub(inputs);
        rest.places = self.output().stacks.borrow().iter().map(|(id, (stack, n))| (*id, (stack.clone(), seen(n)))).collect();
        let is_left = |i: usize, t: &Tensor| self.output().read_around.borrow().contains(&t.id()) && self.stands_in_call(i);
        let touched = self.output().inputs.borrow()[inputs..]
            .iter()
            .map(|i| (i.real.clone(), i.spec.is_static, i.source.is_number))
            .collect::<Vec<_>>();
        let realized = |(i, (t, is_static, is_number)): (usize, (Tensor, bool, bool))| {
            (!is_number && !is_left(inputs + i, &t)).then_some((t, is_static))
        };
        rest.touched = touched.into_iter().enumerate().map(realized).collect();
        for t in self.alive() {
            if let Some(id) = self.output().nodes.borrow().get(&t.id()).copied() {
                if inside(&id) {
                    rest.known.entry(id).or_default().push(t.downgrade());
                } else {
                    rest.given.insert(id, t);
                }
            }
        }
        let read: Vec<NodeId> = ids.iter().flat_map(|id| graph.node(*id).reads()).filter(|id| !inside(id)).collect();
        rest.given.retain(|id, _| read.contains(id));
        for input in self.output().inputs.borrow().iter().filter(|i| read.contains(&i.node)) {
            rest.given.insert(input.node, input.real.clone());
        }
        for id in read {
            if let Some(FakeValue::Tensor(spec)) = &graph.node(id).meta.value
                && !rest.given.contains_key(&id)
            {
                // Python has let go of it, the function's calls have not.
                let kept = Tensor::fake(spec).ok()?;
                self.output().nodes.borrow_mut().insert(kept.id(), id);
                self.output().fakes.borrow_mut().push(kept.downgrade());
                rest.given.insert(id, kept);
            }
        }
        self.output().take_away(&inside, inputs);
        Some(rest)
    }

    /// Tensors that the function's calls gave again are those that they were before.
    fn step_back(&self, inside: &dyn Fn(&NodeId) -> bool) {
        let output = self.output();
        let mut nodes = output.nodes.borrow_mut();
        for (t, earlier) in self.output().earlier.borrow_mut().iter_mut() {
            let Some(node) = nodes.get_mut(t) else { continue };
            while inside(node)
                && let Some(before) = earlier.pop()
            {
                *node = before;
            }
        }
    }

    /// What surrounds the `forward` of a module, its hooks and what calls them, reads a tensor of the caller's. Where the graph breaks in
    /// there, `forward` is a frame of its own, and what surrounds it is none.
    pub fn touch_around(&self, t: &Tensor) -> Result<()> {
        if self.output().by_real.borrow().contains_key(&t.id()) {
            return Ok(());
        }
        if t.is_fake() {
            // To `forward` it is an input where that reads it.
            if self.is_traced(t) {
                self.glance(t, usize::MAX);
            }
            return Ok(());
        }
        self.touch(t, false)?;
        if self.output().by_real.borrow().contains_key(&t.id()) {
            self.output().read_around.borrow_mut().push(t.id());
        }
        Ok(())
    }

    /// Whether the call in which an input was read is not over.
    fn stands_in_call(&self, input: usize) -> bool {
        let now = (self.surroundings.places)();
        self.output().input_places.borrow().get(input).and_then(|at| at.split_last()).is_some_and(|(_, calls)| now.starts_with(calls))
    }

    /// The mode of gradients that was in force where the recording stands.
    pub fn grad_mode(&self) -> bool {
        let output = self.output();
        let graph = output.graph.borrow();
        graph.nodes().rev().find_map(sets_grad_mode).unwrap_or(self.grad.get())
    }

    /// Records the calls of a function again. `rename` gives a fake tensor's Python object to its new one.
    /// `parts` begin in it: where they begin in the new recording is put in their place.
    pub fn record_again(&self, rest: &Retrace, parts: &mut [Section], rename: &dyn Fn(&Tensor, &Tensor)) -> Result<()> {
        let before = modes();
        set_modes(Modes { grad: self.grad.get(), ..before });
        let mut made = Made::default();
        let mut begun = 0;
        let done: Result<()> = rest.ids.iter().try_for_each(|id| {
            while let Some(part) = parts.get_mut(begun).filter(|part| part.node <= id.0) {
                *part = Section { returned: std::mem::take(&mut part.returned), ..self.section() };
                begun += 1;
            }
            self.repeat(rest, rest.graph.node(*id), &mut made, rename)
        });
        for part in &mut parts[begun..] {
            *part = Section { returned: std::mem::take(&mut part.returned), ..self.section() };
        }
        parts.iter_mut().flat_map(|part| &mut part.returned).for_each(|id| *id = made.nodes.get(id).copied().unwrap_or(*id));
        self.write_again(rest, &made);
        set_modes(before);
        self.repeated_at.take();
        rest.env.succeed(self.successors(rest));
        done
    }

    fn repeat(&self, rest: &Retrace, node: &Node, made: &mut Made, rename: &dyn Fn(&Tensor, &Tensor)) -> Result<()> {
        if let Some(enabled) = sets_grad_mode(node) {
            set_modes(Modes { grad: enabled, ..modes() });
            self.record_grad_mode(enabled);
            return Ok(());
        }
        let op = match &node.target {
            // Numbers are computed where they are read.
            Target::Operator(_) => return Ok(()),
            _ if matches!(node.meta.value, Some(FakeValue::SymFloat(_))) => return Ok(()),
            Target::Torch { op, .. } => Some(op.clone()),
            _ => None,
        };
        let place = rest.places.get(&node.id);
        self.repeated_at.replace(place.map(|(stack, _)| stack.clone()));
        let all = place.map_or(0, |(_, n)| *n).min(rest.touched.len());
        let glance = |touched: usize| {
            let before = rest.glances.iter().filter(|(_, next, seen)| *next <= node.id.0 && *seen <= touched);
            before.filter_map(|(given, ..)| rest.given.get(given)).try_for_each(|t| self.wrap_tensor(t).map(drop))
        };
        glance(made.touched)?;
        for touched in rest.touched[..all].iter().skip(made.touched) {
            if let Some((t, is_static)) = touched {
                self.touch(t, *is_static)?;
            }
            made.touched += 1;
            glance(made.touched)?;
        }
        glance(usize::MAX)?;
        let values = &mut made.values;
        for id in node.reads() {
            if let Some(t) = rest.given.get(&id) {
                values.insert(id, Value::Tensor(self.wrap_tensor(t)?));
            }
        }
        for id in node.reads() {
            match &rest.graph.node(id).meta.value {
                Some(FakeValue::Int(size)) => drop(values.insert(id, Value::Int(self.translated(rest, size)?))),
                // The function has the number that the float was.
                Some(FakeValue::SymFloat(float)) => {
                    let number = float.hint().ok_or_else(|| Error::runtime("a float that only the program knows crosses a break"))?;
                    values.insert(id, Value::Float(number));
                }
                _ => {}
            }
        }
        let inputs = self.output().inputs.borrow().len();
        let result = match op {
            Some(op) => {
                let entry = lookup(&op).ok_or_else(|| Error::not_implemented(format!("the operator {op} is not in the catalogue")))?;
                let positional = node.args.iter().map(|a| value(a, values)).collect();
                let keywords: Vec<(&str, Value)> = node.kwargs.iter().map(|(k, a)| (&**k, value(a, values))).collect();
                let args = fill_args(entry, positional, &keywords)?;
                let mode = set_modes(Modes { fake: true, ..modes() });
                let hooks = crate::autograd::WithoutSavedTensorHooks::new();
                let result = call_below(Key::Capture, entry, args.clone());
                drop(hooks);
                set_modes(Modes { fake: mode.fake, ..modes() });
                result?
            }
            None => match (node.args.first().map(|a| value(a, values)), node.args.get(1)) {
                (Some(Value::List(items)), Some(Arg::Int(i))) => items.get(*i as usize).cloned().unwrap_or_default(),
                _ => return Err(Error::runtime("an item of something that is no list was recorded")),
            },
        };
        let mut failed = None;
        let mut again = |id: NodeId| {
            let arg = match (made.lists.get(&id), values.get(&id)) {
                (Some(list), _) => Ok(Arg::Node(*list)),
                (None, Some(value)) => self.argument(value),
                (None, None) => Ok(Arg::None),
            };
            arg.unwrap_or_else(|e| {
                failed = Some(e);
                Arg::None
            })
        };
        let args: Vec<Arg> = node.args.iter().map(|a| a.map_nodes(&mut again)).collect();
        let kwargs = node.kwargs.iter().map(|(k, a)| (k.clone(), a.map_nodes(&mut again))).collect();
        if let Some(error) = failed {
            return Err(error);
        }
        let meta = Meta { value: Some(fake_value(&result)), ..node.meta.clone() };
        let id = self.output().graph.borrow_mut().call(&node.name, node.target.clone(), args, kwargs, meta);
        made.nodes.insert(node.id, id);
        if let Some((stack, _)) = place {
            self.output().stacks.borrow_mut().insert(id, (stack.clone(), inputs));
        }
        match &result {
            // A written tensor keeps its node.
            Value::Tensor(t) if self.output().nodes.borrow().contains_key(&t.id()) => {}
            Value::Tensor(t) => {
                self.output().nodes.borrow_mut().insert(t.id(), id);
                self.output().fakes.borrow_mut().push(t.downgrade());
                for old in rest.known.get(&node.id).into_iter().flatten().filter_map(Tensor::upgrade) {
                    rename(&old, t);
                    self.arrive(&old, t);
                }
            }
            Value::List(_) => drop(made.lists.insert(node.id, id)),
            _ => {}
        }
        values.insert(node.id, result);
        Ok(())
    }

    /// Calls that were recorded again are written as they were.
    fn write_again(&self, rest: &Retrace, made: &Made) {
        let mut failed = false;
        let mut again = |id: NodeId| match made.nodes.get(&id) {
            Some(new) => Arg::Node(*new),
            None => match made.values.get(&id).map(|v| self.argument(v)) {
                Some(Ok(arg)) => arg,
                _ => {
                    failed = true;
                    Arg::None
                }
            },
        };
        let new: Vec<_> = rest
            .ids
            .iter()
            .filter_map(|id| {
                let written = rest.graph.node(*id).written.as_ref()?.map_nodes(&mut again);
                Some((*made.nodes.get(id)?, written))
            })
            .collect();
        let output = self.output();
        let mut graph = output.graph.borrow_mut();
        // What cannot be written again is shown as what was recorded.
        for (id, written) in new.into_iter().filter(|_| !failed) {
            graph.node_mut(id).written = Some(written);
        }
    }

    /// What the symbols of the first graph are in the one that is recorded now: sizes of what both have.
    fn successors(&self, rest: &Retrace) -> HashMap<Symbol, SymInt> {
        let mut found = HashMap::new();
        for (id, t) in &rest.given {
            let Some(fake_tensor) = self.fake_tensor(t) else { continue };
            let Some(spec) = rest.graph.node(*id).tensor() else { continue };
            for (old, new) in spec.geometry.sizes.iter().zip(fake_tensor.sizes().iter()) {
                if let Some(symbol) = old.expr().as_symbol() {
                    found.insert(symbol.clone(), new.clone());
                }
            }
        }
        found
    }

    /// A size of the first graph in terms of this one; the number it was where this one does not know its symbols.
    fn translated(&self, rest: &Retrace, size: &SymInt) -> Result<SymInt> {
        Ok(match size.translated(&self.successors(rest)) {
            Some(size) => size,
            None => SymInt::Int(size.hint().ok_or_else(|| Error::runtime("a size that only the program knows crosses a break"))?),
        })
    }
}

fn value(arg: &Arg, values: &HashMap<NodeId, Value>) -> Value {
    match arg {
        Arg::Node(id) => values.get(id).cloned().unwrap_or_default(),
        Arg::List(items) | Arg::Tuple(items) => Value::List(items.iter().map(|a| value(a, values)).collect()),
        Arg::Bool(b) => Value::Bool(*b),
        Arg::Int(i) => Value::from(*i),
        Arg::Float(f) => Value::Float(*f),
        Arg::Complex(re, im) => Value::Complex(*re, *im),
        Arg::Str(s) => Value::Str(s.clone()),
        Arg::Dtype(d) => Value::Dtype(*d),
        Arg::Device(d) => Value::Device(*d),
        Arg::Layout(l) => Value::Layout(*l),
        Arg::MemoryFormat(m) => Value::MemoryFormat(*m),
        Arg::None | Arg::Ellipsis | Arg::Slice(_) | Arg::Dict(_) | Arg::Op(_) | Arg::Text(_) => Value::None,
    }
}
