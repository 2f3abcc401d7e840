//! Calls as the script wrote them: a captured graph is shown with those, and runs the operators that they came down to.
//!
//! While a call is open, what is recorded belongs to it. Its first node keeps what was written, and the nodes that hold its
//! result say where in the result they are. [`shown`] makes the graph that PyTorch's Dynamo makes: a node per written call,
//! named after the variable that its result is stored in.

use super::captured_graph::sets_grad_mode;
use super::subgraph_inputs::{Given, bodies_of, calls_of_bodies, count_fresh, inputs_of_body};
use super::tracer::Recorder;
use super::written::{Stored, Variable};
use crate::graph::{Arg, FakeValue, Graph, Meta, Node, NodeId, Opcode, SourceFn, Target, Written, WrittenCall, snake_case};
use crate::tensor::Tensor;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// What becomes of a call's result.
#[derive(Default)]
pub struct Fate {
    /// Where it is stored.
    pub stored: Stored,
    /// Whether nobody gets it.
    pub is_dropped: bool,
}

impl Fate {
    /// The names that the result and its items get: each that of the first variable that it is stored in.
    pub fn names(&self) -> Vec<(Vec<u32>, Rc<str>)> {
        let mut names: Vec<(Vec<u32>, Rc<str>)> = Vec::new();
        for (way, variable) in &self.stored {
            if !names.iter().any(|(known, _)| known == way) {
                names.push((way.clone(), variable.name.clone()));
            }
        }
        names
    }
}

/// A call that is being made. What is recorded until it is closed or dropped belongs to it.
pub struct OpenCall {
    recorder: Rc<Recorder>,
    number: u32,
    epoch: u32,
    start: usize,
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.recorder.output().writing.open.set(None);
    }
}

impl OpenCall {
    /// The call has returned: this is how it was written, and these are the tensors in its result, with the ways to them. Without a
    /// `call`, it is shown as what was recorded. `operands` are tensors that it read from variables, and what they were.
    pub fn close(self, call: Option<WrittenCall>, results: &[(Vec<u32>, Tensor)], operands: &[(Tensor, Variable, NodeId)], fate: &Fate) {
        let recorder = &self.recorder;
        if recorder.output().epoch != self.epoch {
            return;
        }
        let output = recorder.output();
        let mut graph = output.graph.borrow_mut();
        let belongs = |node: &Node| node.written.as_ref().is_some_and(|w| w.call == self.number);
        let ids = (self.start..graph.arena_len()).map(|i| NodeId(i as u32));
        let Some(first) = ids.clone().find(|id| belongs(graph.node(*id)) && matches!(graph.node(*id).target, Target::Torch { .. })) else {
            return;
        };
        let writing = &recorder.output().writing;
        let again = writing.again.take();
        let mut gave = results.is_empty();
        for (way, t) in results {
            let key = recorder.fake_tensor_id(t);
            let given = again.get(&key).copied();
            let Some(id) = given.or_else(|| recorder.output().nodes.borrow().get(&key).copied()).filter(|id| ids.clone().any(|i| i == *id))
            else {
                continue;
            };
            if let Some(of_call) = graph.node_mut(id).written.as_mut().filter(|w| w.call == self.number) {
                of_call.gives.get_or_insert_with(|| way.clone());
                gave = true;
            }
            if given.is_some() {
                // Other variables go on having what they had.
                for (_, variable, before) in operands.iter().filter(|(t, ..)| recorder.fake_tensor_id(t) == key) {
                    writing.variables.borrow_mut().entry((key, variable.clone())).or_insert(*before);
                }
            }
            let mut is_stored = false;
            for (_, variable) in fate.stored.iter().filter(|(w, _)| w == way) {
                writing.variables.borrow_mut().insert((key, variable.clone()), id);
                is_stored = true;
            }
            match given {
                Some(_) if is_stored => drop(writing.kept.borrow_mut().insert(key, id)),
                Some(_) if fate.is_dropped => drop(writing.flowing.borrow_mut().remove(&key)),
                Some(_) => drop(writing.flowing.borrow_mut().insert(key, id)),
                None => {}
            }
        }
        if let Some(mut call) = call.filter(|_| gave) {
            if let (Target::Torch { op, .. }, Target::Torch { op: own, .. }) = (&graph.node(first).target, &mut call.target) {
                *own = op.clone();
            }
            if let Some(of_call) = &mut graph.node_mut(first).written {
                of_call.says = Some(Box::new(call));
            }
        }
    }
}

impl Recorder {
    /// The names that values have so far in the graph that is shown.
    pub fn shown_names(&self) -> HashMap<NodeId, Rc<str>> {
        let output = self.output();
        let graph = output.graph.borrow();
        let all: Vec<NodeId> = (0..graph.arena_len()).map(|i| NodeId(i as u32)).collect();
        let made = made(&graph, &all, None);
        made.nodes.iter().map(|(id, shown)| (*id, made.graph.node(*shown).name.clone())).collect()
    }

    /// A call of the script's begins; none within another one, or where nothing is recorded.
    pub fn open_call(self: &Rc<Self>) -> Option<OpenCall> {
        if self.is_over() || self.output().writing.open.get().is_some() {
            return None;
        }
        let number = self.output().writing.next();
        self.output().writing.open.set(Some(number));
        self.output().writing.again.borrow_mut().clear();
        Some(OpenCall { recorder: self.clone(), number, epoch: self.output().epoch, start: self.position() })
    }

    /// Whether a call of the script's is being made.
    pub fn is_in_call(&self) -> bool {
        self.output().writing.open.get().is_some()
    }

    fn fake_tensor_id(&self, t: &Tensor) -> u64 {
        let t = self.current(t);
        let fake_tensor = self.output().by_real.borrow().get(&t.id()).map(|i| self.output().inputs.borrow()[*i].fake_tensor.id());
        fake_tensor.unwrap_or_else(|| t.id())
    }

    /// The node that a tensor is to the script, which reads it from a variable or has it from a call; none for one that has none yet.
    pub fn written_node(&self, t: &Tensor, variable: Option<&Variable>) -> Option<NodeId> {
        let key = self.fake_tensor_id(t);
        let writing = &self.output().writing;
        let known = match variable {
            Some(variable) => writing.variables.borrow().get(&(key, variable.clone())).copied(),
            None => writing.flowing.borrow().get(&key).copied(),
        };
        let unnamed = || writing.kept.borrow().get(&key).or(writing.first.borrow().get(&key)).copied();
        let node = known.or_else(unnamed).or_else(|| self.known_node(t))?;
        if let Some(variable) = variable.filter(|v| !v.is_parameter) {
            self.name_late(node, &variable.name);
        }
        Some(node)
    }

    /// What stands for a tensor of the caller's that a call gave again and the script goes on with, and how many calls did.
    pub fn given_again(&self, t: &Tensor) -> Option<(Tensor, usize)> {
        let fake_tensor = self.fake_tensor(t)?;
        let output = self.output();
        let graph = output.graph.borrow();
        let is_call = |id: &NodeId| graph.node(*id).opcode == Opcode::Call;
        let writing = &self.output().writing;
        let goes_on = [&writing.flowing, &writing.kept].iter().any(|nodes| nodes.borrow().get(&fake_tensor.id()).is_some_and(is_call));
        if !goes_on {
            return None;
        }
        let now = self.output().nodes.borrow().get(&fake_tensor.id()).copied();
        let output = self.output();
        let earlier = output.earlier.borrow();
        let gave = earlier.get(&fake_tensor.id()).into_iter().flatten().chain(&now).filter(|id| is_call(id)).count();
        Some((fake_tensor, gave.max(1)))
    }

    /// A value is handed to a function of PyTorch's own, whose variables name it.
    pub fn name_argument(&self, t: &Tensor, name: &str) {
        if let Some(id) = self.written_node(t, None) {
            self.name_late(id, &name.into());
        }
    }

    /// A value that a container kept was stored in a variable, and is named after it unless it has a name.
    fn name_late(&self, id: NodeId, name: &Rc<str>) {
        let output = self.output();
        let mut graph = output.graph.borrow_mut();
        let Some(Written { call, gives: Some(way), .. }) = graph.node(id).written.clone() else { return };
        let says = |node: &Node| node.written.as_ref().is_some_and(|w| w.call == call && w.says.is_some());
        let head = (0..=id.0).rev().map(NodeId).find(|i| says(graph.node(*i)));
        let head = head.and_then(|head| graph.node_mut(head).written.as_mut()?.says.as_mut());
        if let Some(head) = head.filter(|h| !h.stored.iter().any(|(known, _)| *known == way)) {
            head.stored.push((way, name.clone()));
        }
    }

    /// Names values that are no results of written calls after the variables that they are stored in. `results` and `names` have the ways
    /// to them in what the script gets.
    pub fn name_results(&self, results: &[(Vec<u32>, Tensor)], names: &[(Vec<u32>, Rc<str>)]) {
        let output = self.output();
        let mut graph = output.graph.borrow_mut();
        for (way, name) in names {
            let found = results.iter().find(|(w, _)| w == way).and_then(|(_, t)| self.output().nodes.borrow().get(&t.id()).copied());
            let Some(id) = found else { continue };
            let node = graph.node_mut(id);
            if node.opcode == Opcode::Call && node.written.is_none() {
                let args = node.args.clone();
                self.write(node, args, vec![(Vec::new(), name.clone())]);
            }
        }
    }

    /// Says how a call that is recorded as it is was written.
    pub(in crate::dynamo) fn write(&self, node: &mut Node, args: Vec<Arg>, stored: Vec<(Vec<u32>, Rc<str>)>) {
        let call = WrittenCall { target: node.target.clone(), name: candidate(node).into(), args, kwargs: node.kwargs.clone(), stored };
        node.written = Some(Written { call: self.output().writing.next(), says: Some(Box::new(call)), gives: Some(Vec::new()) });
    }
}

/// The calls of a recording that say how they were written.
struct Calls {
    /// Per call, the nodes that hold its result, with the ways to them.
    gives: HashMap<u32, Vec<(Vec<u32>, NodeId)>>,
}

impl Calls {
    fn of(graph: &Graph, recorded: &[NodeId]) -> Self {
        let mut gives: HashMap<u32, Vec<(Vec<u32>, NodeId)>> = HashMap::new();
        let written = || recorded.iter().filter_map(|id| graph.node(*id).written.as_ref().map(|w| (*id, w)));
        for (_, of_call) in written().filter(|(_, w)| w.says.is_some()) {
            gives.insert(of_call.call, Vec::new());
        }
        for (id, of_call) in written() {
            if let (Some(ways), Some(way)) = (gives.get_mut(&of_call.call), &of_call.gives) {
                ways.push((way.clone(), id));
            }
        }
        gives.values_mut().for_each(|ways| ways.sort());
        Calls { gives }
    }

    /// Whether a node is part of a call that is shown as written.
    fn covers(&self, node: &Node) -> bool {
        node.written.as_ref().is_some_and(|w| self.gives.contains_key(&w.call))
    }

    /// Nodes inside of written calls that something outside reads all the same: they are shown as they are.
    fn exposed(&self, graph: &Graph, recorded: &[NodeId]) -> HashSet<NodeId> {
        let (mut wanted, mut exposed) = (HashSet::new(), HashSet::new());
        for node in recorded.iter().rev().map(|id| graph.node(*id)) {
            let says = node.written.as_ref().and_then(|w| w.says.as_ref());
            let gives = node.written.as_ref().is_some_and(|w| w.gives.is_some());
            let is_exposed = self.covers(node) && !gives && wanted.contains(&node.id);
            if is_exposed {
                exposed.insert(node.id);
            }
            if is_exposed || !self.covers(node) && says.is_none() {
                wanted.extend(node.inputs());
            }
            if let Some(call) = says {
                let mut read = |n: NodeId| {
                    wanted.insert(n);
                };
                call.args.iter().chain(call.kwargs.iter().map(|(_, a)| a)).for_each(|a| a.for_each_node(&mut read));
            }
        }
        exposed
    }
}

/// What a node that is shown as it is is named after.
fn candidate(node: &Node) -> String {
    match &node.target {
        Target::HigherOrder(name) | Target::Operator(name) => name.to_string(),
        Target::Getitem => "getitem".to_owned(),
        // Names in a recording are numbered on their own.
        _ => match node.name.rsplit_once('_') {
            Some((base, digits)) if !base.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => base.to_owned(),
            _ => node.name.to_string(),
        },
    }
}

/// A recording whose calls, those of bodies too, say which call of the script they are part of.
/// `outer` is the call that they are the body of.
pub(in crate::dynamo) fn with_source_fns(graph: &Graph, recorded: &[NodeId], outer: Option<&Rc<SourceFn>>) -> Graph {
    let shown = made(graph, recorded, None);
    let mut graph = graph.clone();
    let written = recorded.iter().filter_map(|id| graph.node(*id).written.as_ref());
    let names: HashMap<u32, Rc<str>> = written.filter_map(|w| Some((w.call, w.says.as_ref()?.name.clone()))).collect();
    let calls: Vec<NodeId> = graph.nodes().filter(|n| n.opcode == Opcode::Call).map(|n| n.id).collect();
    let mut of_bodies = HashMap::new();
    for id in calls {
        let node = graph.node(id);
        let call = node.written.as_ref().map(|w| w.call);
        let called = call.and_then(|call| names.get(&call).cloned()).unwrap_or_else(|| candidate(node).into());
        let as_shown = call.and_then(|call| shown.heads.get(&call)).or_else(|| shown.nodes.get(&id)).map(|id| shown.graph.node(*id));
        let (name, of) = as_shown.map_or((&node.name, node), |n| (n.meta.first_name.as_ref().unwrap_or(&n.name), n));
        let source_fn = SourceFn { called, name: name.clone(), target: of.target.clone(), num_args: of.args.len(), outer: outer.cloned() };
        let source_fn = Rc::new(source_fn);
        bodies_of(&graph, &node.args).into_iter().for_each(|body| drop(of_bodies.insert(body, source_fn.clone())));
        graph.node_mut(id).meta.source_fn = Some(source_fn);
    }
    for (name, body) in &mut graph.subgraphs {
        let recorded: Vec<NodeId> = body.nodes().map(|n| n.id).collect();
        *body = with_source_fns(body, &recorded, of_bodies.get(name));
    }
    graph
}

/// The graph that shows a recording as it was written. `recorded` are its nodes with those that were dropped since, which had names;
/// `given` is what it is given, where it is the body of a call.
pub(in crate::dynamo) fn shown(graph: &Graph, recorded: &[NodeId], given: Option<&[Given]>) -> Graph {
    let mut made = made(graph, recorded, given);
    let kept: HashSet<NodeId> = graph.nodes().map(|n| n.id).collect();
    let is_input = |node: &Node| node.opcode == Opcode::Placeholder;
    let nodes = || recorded.iter().map(|id| graph.node(*id));
    let dropped: HashSet<NodeId> =
        nodes().filter(|n| is_input(n) && !kept.contains(&n.id)).filter_map(|n| made.nodes.get(&n.id).copied()).collect();
    drop_unread(&mut made.graph, &dropped);
    let is_idle = |n: &&Node| sets_grad_mode(n).is_some() && !kept.contains(&n.id);
    let idle: HashSet<NodeId> = nodes().filter(is_idle).filter_map(|n| made.nodes.get(&n.id).copied()).collect();
    made.graph.retain(|n| !idle.contains(&n.id));
    let calls = calls_of_bodies(&made.graph);
    for (name, body) in &graph.subgraphs {
        let fresh = made.fresh.get(name).map_or(&[][..], Vec::as_slice);
        let call = calls.get(name).map(|id| made.graph.node(*id));
        let given = call.and_then(|call| inputs_of_body(&made.graph, call, fresh, graph, name));
        let given = given.filter(|n| n.len() == body.placeholders().count());
        let recorded: Vec<NodeId> = body.nodes().map(|n| n.id).collect();
        let body = shown(body, &recorded, given.as_deref());
        made.graph.subgraphs.push((name.clone(), body));
    }
    made.graph
}

/// The nodes that show a recording, among them some that nobody reads.
fn made(graph: &Graph, recorded: &[NodeId], given: Option<&[Given]>) -> Made {
    let calls = Calls::of(graph, recorded);
    let exposed = calls.exposed(graph, recorded);
    let mut made = Made { graph: Graph::new(&graph.class_name), nodes: HashMap::new(), heads: HashMap::new(), fresh: HashMap::new() };
    made.graph.constants = graph.constants.clone();
    made.graph.checkpoint_policy = graph.checkpoint_policy;
    let is_input = |node: &Node| node.opcode == Opcode::Placeholder;
    let nodes = || recorded.iter().map(|id| graph.node(*id));
    for (i, node) in nodes().filter(|n| is_input(n)).enumerate() {
        let Target::Name(name) = &node.target else { continue };
        let given = given.and_then(|g| g.get(i));
        let name = given.map_or(name, |g| &g.name);
        if given.is_some_and(|g| g.is_taken) {
            made.graph.reserve_name(name);
        }
        let id = made.graph.placeholder(name, node.meta.clone());
        made.graph.node_mut(id).args = node.args.clone();
        made.nodes.insert(node.id, id);
    }
    for node in nodes().filter(|n| !is_input(n)) {
        match (&node.target, node.opcode) {
            (Target::Name(name), Opcode::GetAttr) => {
                let id = made.graph.get_attr(name, node.meta.clone());
                made.nodes.insert(node.id, id);
            }
            (_, Opcode::Output) => {
                let says = node.written.as_ref().and_then(|w| w.says.as_ref());
                let value = says.map_or(&node.args, |call| &call.args).first().map_or(Arg::None, |a| made.follow(a));
                made.graph.set_output(value);
            }
            _ => {
                if let Some(call) = node.written.as_ref().and_then(|w| w.says.as_ref()) {
                    let ways = node.written.as_ref().and_then(|w| calls.gives.get(&w.call)).map_or(&[][..], Vec::as_slice);
                    let head = made.call(graph, node, call, ways);
                    made.heads.extend(node.written.as_ref().map(|w| (w.call, head)));
                }
                if !calls.covers(node) || exposed.contains(&node.id) {
                    made.as_it_is(node);
                }
            }
        }
    }
    made
}

/// Items and sizes that nobody reads are no part of a graph, nor are constants of calls that say what they hold.
fn drop_unread(graph: &mut Graph, inputs: &HashSet<NodeId>) {
    let mut readers: Vec<usize> = graph.users().iter().map(Vec::len).collect();
    let order: Vec<NodeId> = graph.nodes().map(|n| n.id).collect();
    let mut dropped = HashSet::new();
    for id in order.into_iter().rev() {
        if readers[id.0 as usize] > 0 {
            continue;
        }
        let node = graph.node(id);
        let is_item = match (&node.target, node.opcode) {
            (_, Opcode::Placeholder) => inputs.contains(&id),
            (Target::Name(name), Opcode::GetAttr) => graph.constants.iter().any(|(n, _)| n == name),
            (Target::Getitem | Target::Operator(_), _) => true,
            _ => matches!(node.meta.value, Some(FakeValue::SymFloat(_))),
        };
        if is_item {
            node.inputs().iter().for_each(|i| readers[i.0 as usize] -= 1);
            dropped.insert(id);
        }
    }
    graph.retain(|n| !dropped.contains(&n.id));
    let used: HashSet<Rc<str>> = graph.nodes().filter(|n| n.opcode == Opcode::GetAttr).map(|n| n.target.text().into()).collect();
    graph.constants.retain(|(name, _)| used.contains(name));
}

/// A graph that is being made, with its nodes by those of the recording.
struct Made {
    graph: Graph,
    nodes: HashMap<NodeId, NodeId>,
    /// The nodes of written calls, by the calls' numbers.
    heads: HashMap<u32, NodeId>,
    /// Names of the values that bodies are given as their own. They are taken where the call stands, whose function makes them.
    fresh: HashMap<Rc<str>, Vec<Rc<str>>>,
}

impl Made {
    fn follow(&self, arg: &Arg) -> Arg {
        arg.map_nodes(&mut |id| self.nodes.get(&id).map_or(Arg::None, |id| Arg::Node(*id)))
    }

    fn follow_all(&self, args: &[Arg], kwargs: &[(Rc<str>, Arg)]) -> (Vec<Arg>, Vec<(Rc<str>, Arg)>) {
        (args.iter().map(|a| self.follow(a)).collect(), kwargs.iter().map(|(k, a)| (k.clone(), self.follow(a))).collect())
    }

    fn as_it_is(&mut self, node: &Node) {
        let (args, kwargs) = self.follow_all(&node.args, &node.kwargs);
        if let Target::HigherOrder(name) = &node.target {
            let count = count_fresh(&self.graph, name, &args);
            for body in bodies_of(&self.graph, &args).into_iter().filter(|_| count > 0) {
                let names = (0..count).map(|_| self.graph.reserve_name("child")).collect();
                self.fresh.insert(body, names);
            }
        }
        let id = self.graph.call(&candidate(node), node.target.clone(), args, kwargs, node.meta.clone());
        self.nodes.insert(node.id, id);
    }

    /// A written call, and an item for each part of its result.
    fn call(&mut self, recorded: &Graph, node: &Node, call: &WrittenCall, ways: &[(Vec<u32>, NodeId)]) -> NodeId {
        let (args, kwargs) = self.follow_all(&call.args, &call.kwargs);
        let whole = ways.iter().find(|(way, _)| way.is_empty());
        let value = match whole {
            Some((_, id)) => recorded.node(*id).meta.value.clone(),
            None if ways.is_empty() => None,
            None => Some(FakeValue::List(
                ways.iter().filter_map(|(way, id)| recorded.node(*id).meta.value.clone().filter(|_| way.len() == 1)).collect(),
            )),
        };
        let grad_fn = whole.and_then(|(_, id)| recorded.node(*id).meta.grad_fn.clone());
        let meta = Meta { value, grad_fn, ..node.meta.clone() };
        let id = self.graph.call(&snake_case(&call.name), call.target.clone(), args, kwargs, meta);
        let mut made: HashMap<&[u32], NodeId> = HashMap::from([(&[][..], id)]);
        for (way, given) in ways {
            for depth in 1..=way.len() {
                if made.contains_key(&way[..depth]) {
                    continue;
                }
                let value = recorded.node(*given).meta.value.clone().filter(|_| depth == way.len());
                let args = vec![Arg::Node(made[&way[..depth - 1]]), Arg::Int(i64::from(way[depth - 1]))];
                let grad_fn = recorded.node(*given).meta.grad_fn.clone();
                let meta = Meta { value, grad_fn, ..node.meta.clone() };
                let item = self.graph.call("getitem", Target::Getitem, args, Vec::new(), meta);
                made.insert(&way[..depth], item);
            }
            self.nodes.insert(*given, made[&way[..]]);
        }
        for (way, name) in &call.stored {
            if let Some(id) = made.get(&way[..]).filter(|_| ways.iter().any(|(w, _)| w == way)) {
                let before = self.graph.node(*id).name.clone();
                self.graph.rename(*id, name);
                self.graph.node_mut(*id).meta.first_name = Some(before);
            }
        }
        id
    }
}
