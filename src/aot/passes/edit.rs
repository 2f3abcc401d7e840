//! A graph while a pass changes it: readers are kept up to date, and the order is made anew once, at the end.

use crate::graph::{Arg, Graph, Meta, Node, NodeId, Target};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A graph being edited.
pub struct Editor<'a> {
    graph: &'a mut Graph,
    users: Vec<Vec<NodeId>>,
    erased: HashSet<NodeId>,
    before: HashMap<NodeId, Vec<NodeId>>,
    after: HashMap<NodeId, Vec<NodeId>>,
}

/// Where new nodes go.
#[derive(Clone, Copy)]
pub enum Place {
    /// Right before a node, after what was put there already.
    Before(NodeId),
    /// Right after a node.
    After(NodeId),
}

impl<'a> Editor<'a> {
    /// Begins.
    pub fn new(graph: &'a mut Graph) -> Self {
        let users = graph.users();
        Editor { graph, users, erased: HashSet::new(), before: HashMap::new(), after: HashMap::new() }
    }

    /// The nodes that were there at the beginning and still are, in order.
    pub fn ids(&self) -> Vec<NodeId> {
        self.graph.nodes().map(|n| n.id).filter(|id| !self.erased.contains(id)).collect()
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        self.graph.node(id)
    }

    /// A node, to be changed; its arguments stay.
    pub fn meta_mut(&mut self, id: NodeId) -> &mut Meta {
        &mut self.graph.node_mut(id).meta
    }

    /// Its readers, each once.
    pub fn users(&self, id: NodeId) -> &[NodeId] {
        &self.users[id.0 as usize]
    }

    /// The node that an argument is.
    pub fn argument(&self, id: NodeId, index: usize) -> Option<NodeId> {
        match self.node(id).args.get(index) {
            Some(Arg::Node(n)) => Some(*n),
            _ => None,
        }
    }

    /// Adds a call of an operator, named after it as torch.fx names calls made by hand.
    pub fn call(&mut self, op: &str, args: Vec<Arg>, kwargs: Vec<(Rc<str>, Arg)>, meta: Meta, place: Place) -> NodeId {
        let name = snake_case(op.split_once('.').map_or(op, |(_, name)| name));
        self.insert(&name, Target::Op(op.into()), args, kwargs, meta, place)
    }

    /// Adds a call under a name of its own.
    pub fn insert(&mut self, name: &str, target: Target, args: Vec<Arg>, kwargs: Vec<(Rc<str>, Arg)>, meta: Meta, place: Place) -> NodeId {
        let id = self.graph.call(name, target, args, kwargs, meta);
        self.users.resize(self.graph.arena_len(), Vec::new());
        for input in self.node(id).inputs() {
            self.users[input.0 as usize].push(id);
        }
        match place {
            Place::Before(anchor) => self.before.entry(anchor).or_default().push(id),
            Place::After(anchor) => self.after.entry(anchor).or_default().insert(0, id),
        }
        id
    }

    /// Makes every reader of a node read another one.
    pub fn replace(&mut self, old: NodeId, new: NodeId) {
        for user in std::mem::take(&mut self.users[old.0 as usize]) {
            let node = self.graph.node_mut(user);
            let mut map = |n| Arg::Node(if n == old { new } else { n });
            node.args = node.args.iter().map(|a| a.map_nodes(&mut map)).collect();
            node.kwargs = node.kwargs.iter().map(|(k, a)| (k.clone(), a.map_nodes(&mut map))).collect();
            let readers = &mut self.users[new.0 as usize];
            if !readers.contains(&user) {
                readers.push(user);
            }
        }
    }

    /// Puts another node in the place of an argument.
    pub fn replace_argument(&mut self, id: NodeId, index: usize, new: NodeId) {
        let Some(old) = self.argument(id, index) else { return };
        self.graph.node_mut(id).args[index] = Arg::Node(new);
        self.changed_argument(id, old, new);
    }

    /// Makes one reader read another node wherever it reads this one.
    pub fn replace_in(&mut self, reader: NodeId, old: NodeId, new: NodeId) {
        let node = self.graph.node_mut(reader);
        let mut map = |n| Arg::Node(if n == old { new } else { n });
        node.args = node.args.iter().map(|a| a.map_nodes(&mut map)).collect();
        node.kwargs = node.kwargs.iter().map(|(k, a)| (k.clone(), a.map_nodes(&mut map))).collect();
        self.changed_argument(reader, old, new);
    }

    fn changed_argument(&mut self, reader: NodeId, old: NodeId, new: NodeId) {
        if !self.node(reader).inputs().contains(&old) {
            self.users[old.0 as usize].retain(|u| *u != reader);
        }
        let readers = &mut self.users[new.0 as usize];
        if self.graph.node(reader).inputs().contains(&new) && !readers.contains(&reader) {
            readers.push(reader);
        }
    }

    /// As [`Editor::replace`], for readers other than some.
    pub fn replace_for_others(&mut self, old: NodeId, new: NodeId, but: &[NodeId]) {
        let kept: Vec<NodeId> = self.users(old).iter().copied().filter(|u| but.contains(u)).collect();
        self.users[old.0 as usize].retain(|u| !but.contains(u));
        self.replace(old, new);
        self.users[old.0 as usize] = kept;
    }

    /// Whether it was removed.
    pub fn is_erased(&self, id: NodeId) -> bool {
        self.erased.contains(&id)
    }

    /// Removes a node, if nobody reads it.
    pub fn erase(&mut self, id: NodeId) {
        if !self.users[id.0 as usize].is_empty() || !self.erased.insert(id) {
            return;
        }
        for input in self.node(id).inputs() {
            self.users[input.0 as usize].retain(|u| *u != id);
        }
    }

    fn emit(&self, id: NodeId, order: &mut Vec<NodeId>) {
        for inserted in self.before.get(&id).into_iter().flatten() {
            self.emit(*inserted, order);
        }
        if !self.erased.contains(&id) {
            order.push(id);
        }
        for inserted in self.after.get(&id).into_iter().flatten() {
            self.emit(*inserted, order);
        }
    }

    /// Ends: nodes are in their new order.
    pub fn finish(self) {
        let inserted: HashSet<NodeId> = self.before.values().chain(self.after.values()).flatten().copied().collect();
        let mut order = Vec::new();
        for node in self.graph.nodes().filter(|n| !inserted.contains(&n.id)) {
            self.emit(node.id, &mut order);
        }
        self.graph.reorder(order);
    }
}

/// `sum.dim_IntList` as `sum_dim_int_list`
fn snake_case(name: &str) -> String {
    let mut made = String::new();
    let mut after_small = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && after_small {
            made.push('_');
        }
        after_small = c.is_ascii_lowercase() || c.is_ascii_digit();
        made.push(if c == '.' { '_' } else { c.to_ascii_lowercase() });
    }
    made
}

/// Which node's memory each node's value has: views have their base's. Indexed by id.
pub fn storages(graph: &Graph) -> Vec<NodeId> {
    let mut of: Vec<NodeId> = (0..graph.arena_len() as u32).map(NodeId).collect();
    for node in graph.nodes() {
        let shares = match &node.target {
            Target::Op(name) => crate::dispatch::lookup(name).is_some_and(|e| e.is_view() || e.is_mutable()),
            Target::Getitem => true,
            _ => false,
        };
        let first = match node.args.first() {
            Some(Arg::Node(first)) if shares => *first,
            _ => continue,
        };
        // Of several results, those of a view share memory and the others do not.
        let is_item = matches!(node.target, Target::Getitem);
        let many_views = || graph.node(first).op().and_then(crate::dispatch::lookup).is_some_and(|e| e.is_view());
        if !is_item || many_views() {
            of[node.id.0 as usize] = of[first.0 as usize];
        }
    }
    of
}

/// The nodes that an output returns.
pub fn returned(graph: &Graph) -> Vec<NodeId> {
    graph.outputs().iter().filter_map(|a| if let Arg::Node(n) = a { Some(*n) } else { None }).collect()
}

/// Memory that the graph writes to.
pub fn mutated(graph: &Graph, storages: &[NodeId]) -> HashSet<NodeId> {
    let writes = |op: &str| crate::dispatch::lookup(op).is_some_and(|e| e.is_mutable());
    graph
        .nodes()
        .filter(|n| n.op().is_some_and(writes))
        .filter_map(|n| match n.args.first() {
            Some(Arg::Node(target)) => Some(storages[target.0 as usize]),
            _ => None,
        })
        .collect()
}
