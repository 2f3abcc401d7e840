//! `Graph`: the arena of nodes, their order, and the names they are known by.

use super::steps::step;
use super::{Arg, Meta, Node, NodeId, Opcode, Shown, Target};
use diagnostics::error::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use tensor::Tensor;

/// An ordered list of nodes.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    arena: Vec<Node>,
    order: Vec<NodeId>,
    names: HashSet<Rc<str>>,
    counters: HashMap<String, u32>,
    /// The names taken since the first [`Place`] was asked for, in order, each with what it counts and where that stood before.
    taken: Option<Vec<Taken>>,
    /// Graphs that `get_attr` nodes name, in order.
    pub subgraphs: Vec<(Rc<str>, Graph)>,
    /// Constant tensors that `get_attr` nodes name, in order.
    pub constants: Vec<(Rc<str>, Tensor)>,
    /// Name of the class it prints as: `GraphModule`, `inner_f`, `<lambda>`.
    pub class_name: Rc<str>,
    /// Whether it takes its inputs as `(primals, tangents)` trees, as a joint graph does.
    pub joint_signature: bool,
    /// Of a checkpointed body: the number of the script's policy that says what becomes of its calls.
    pub checkpoint_policy: Option<u32>,
}

/// A name that was taken.
#[derive(Clone, Debug)]
struct Taken {
    name: Rc<str>,
    base: String,
    before: Option<u32>,
}

/// A place in a graph that is being made.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    arena: usize,
    order: usize,
    taken: usize,
    subgraphs: usize,
}

impl Place {
    /// How many nodes were made before it.
    pub fn arena_len(self) -> usize {
        self.arena
    }
}

impl Graph {
    /// An empty graph that prints as the given class.
    pub fn new(class_name: &str) -> Self {
        Graph { class_name: class_name.into(), ..Graph::default() }
    }

    /// The nodes, in order.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Node> + ExactSizeIterator + Clone {
        self.order.iter().map(|id| self.node(*id))
    }

    /// How many nodes it has.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether it has no node.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Ids are below this bound; arrays indexed by id have this length.
    pub fn arena_len(&self) -> usize {
        self.arena.len()
    }

    /// The node of an id.
    pub fn node(&self, id: NodeId) -> &Node {
        step();
        &self.arena[id.0 as usize]
    }

    /// The node of an id, to edit. Its name and id stay.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        step();
        &mut self.arena[id.0 as usize]
    }

    /// The node of a name.
    pub fn find(&self, name: &str) -> Option<&Node> {
        self.nodes().find(|n| &*n.name == name)
    }

    /// The inputs, in order.
    pub fn placeholders(&self) -> impl Iterator<Item = &Node> {
        self.nodes().filter(|n| n.opcode == Opcode::Placeholder)
    }

    /// The output node, where it has one yet.
    pub fn output(&self) -> Option<&Node> {
        self.nodes().next_back().filter(|n| n.opcode == Opcode::Output)
    }

    /// What is returned, one argument each; a single value counts as one.
    pub fn outputs(&self) -> Vec<Arg> {
        match self.output().and_then(|o| o.args.first()) {
            Some(Arg::Tuple(items) | Arg::List(items)) => items.clone(),
            Some(single) => vec![single.clone()],
            None => Vec::new(),
        }
    }

    /// torch.fx's way to a unique name: illegal characters become `_`; `relu`, `relu_1`, ...; a trailing number is continued.
    fn unique_name(&mut self, candidate: &str) -> Rc<str> {
        let mut clean: String = candidate.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        if clean.is_empty() {
            clean.push_str("_unnamed");
        }
        if clean.starts_with(|c: char| c.is_ascii_digit()) {
            clean.insert(0, '_');
        }
        let (base, suffix) = match clean.rsplit_once('_') {
            Some((base, digits)) if !base.is_empty() && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                (base.to_owned(), digits.parse::<u32>().ok())
            }
            _ => (clean.clone(), None),
        };
        let mut name = clean;
        let mut number = match suffix {
            Some(n) if !self.names.contains(name.as_str()) => n,
            _ => self.counters.get(&base).copied().unwrap_or(0),
        };
        if is_reserved(&name) {
            number += 1;
            name = format!("{base}_{number}");
        }
        while self.names.contains(name.as_str()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        let name: Rc<str> = name.into();
        match &mut self.taken {
            Some(taken) => {
                let before = self.counters.insert(base.clone(), number);
                taken.push(Taken { name: name.clone(), base, before });
            }
            None => drop(self.counters.insert(base, number)),
        }
        self.names.insert(name.clone());
        name
    }

    /// Gives a node another name, made unique; the old one stays taken, as in torch.fx.
    pub fn rename(&mut self, id: NodeId, candidate: &str) {
        if *candidate != *self.node(id).name {
            let name = self.unique_name(candidate);
            self.node_mut(id).name = name;
        }
    }

    /// Gives a node just this name, if it is free.
    pub fn give_name(&mut self, id: NodeId, name: &str) -> bool {
        let name: Rc<str> = name.into();
        let free = self.names.insert(name.clone());
        if free {
            self.node_mut(id).name = name;
        }
        free
    }

    /// Where the graph ends now, to [go back](Graph::go_back) to.
    pub fn place(&mut self) -> Place {
        let taken = self.taken.get_or_insert_default().len();
        Place { arena: self.arena.len(), order: self.order.len(), taken, subgraphs: self.subgraphs.len() }
    }

    /// Takes away the nodes, names and subgraphs that were added since; constants stay.
    pub fn go_back(&mut self, place: Place) {
        self.arena.truncate(place.arena);
        self.order.truncate(place.order);
        self.subgraphs.truncate(place.subgraphs);
        for Taken { name, base, before } in
            self.taken.iter_mut().flat_map(|t| t.drain(place.taken.min(t.len())..)).rev().collect::<Vec<_>>()
        {
            self.names.remove(&name);
            match before {
                Some(number) => self.counters.insert(base, number),
                None => self.counters.remove(&base),
            };
        }
    }

    /// Takes a name, which it gives, as if a node of it had been made and removed.
    pub fn reserve_name(&mut self, candidate: &str) -> Rc<str> {
        self.unique_name(candidate)
    }

    fn push(&mut self, opcode: Opcode, name: Rc<str>, target: Target, args: Vec<Arg>, kwargs: Vec<(Rc<str>, Arg)>, meta: Meta) -> NodeId {
        let id = NodeId(self.arena.len() as u32);
        self.arena.push(Node { id, opcode, name, target, args, kwargs, meta, written: None });
        self.order.push(id);
        id
    }

    /// Appends an input. Its node has the name in torch.fx's lower case: `l_x_` for `L_x_`.
    pub fn placeholder(&mut self, name: &str, meta: Meta) -> NodeId {
        let unique = self.unique_name(&snake_case(name));
        self.push(Opcode::Placeholder, unique, Target::Name(name.into()), Vec::new(), Vec::new(), meta)
    }

    /// Appends a call, its name made unique.
    pub fn call(&mut self, name: &str, target: Target, args: Vec<Arg>, kwargs: Vec<(Rc<str>, Arg)>, meta: Meta) -> NodeId {
        let unique = self.unique_name(name);
        self.push(Opcode::Call, unique, target, args, kwargs, meta)
    }

    /// Appends the call that switches the recording of gradients on or off.
    pub fn set_grad_enabled(&mut self, enabled: bool) -> NodeId {
        let shown = Shown::Function("torch._C._set_grad_enabled".into());
        let target = Target::Torch { op: "_C._set_grad_enabled".into(), shown };
        self.call("_set_grad_enabled", target, vec![Arg::Bool(enabled)], Vec::new(), Meta::default())
    }

    /// Appends a reference to a subgraph or constant.
    pub fn get_attr(&mut self, attribute: &str, meta: Meta) -> NodeId {
        let unique = self.unique_name(attribute);
        self.push(Opcode::GetAttr, unique, Target::Name(attribute.into()), Vec::new(), Vec::new(), meta)
    }

    /// Appends the output.
    pub fn set_output(&mut self, value: Arg) -> NodeId {
        let unique = self.unique_name("output");
        self.push(Opcode::Output, unique, Target::Name("output".into()), vec![value], Vec::new(), Meta::default())
    }

    /// Appends a copy of a node under the same name if it is free, with other arguments.
    pub fn copy_node(&mut self, node: &Node, map: &mut dyn FnMut(NodeId) -> Arg) -> NodeId {
        let unique = self.unique_name(&node.name);
        let args = node.args.iter().map(|a| a.map_nodes(map)).collect();
        let kwargs = node.kwargs.iter().map(|(k, a)| (k.clone(), a.map_nodes(map))).collect();
        let written = node.written.as_ref().map(|w| w.map_nodes(map));
        let id = self.push(node.opcode, unique, node.target.clone(), args, kwargs, node.meta.clone());
        self.arena[id.0 as usize].written = written;
        id
    }

    /// Removes a node that nobody reads.
    pub fn erase(&mut self, id: NodeId) {
        self.order.retain(|n| *n != id);
    }

    /// Removes every node for which `keep` is false; nothing kept may read it.
    pub fn retain(&mut self, mut keep: impl FnMut(&Node) -> bool) {
        let arena = &self.arena;
        self.order.retain(|id| keep(&arena[id.0 as usize]));
    }

    /// Puts the nodes in another order.
    pub fn reorder(&mut self, order: Vec<NodeId>) {
        self.order = order;
    }

    /// Makes every reader of one node read another value.
    pub fn replace_uses(&mut self, old: NodeId, new: &Arg) {
        self.replace_all(&HashMap::from([(old, new.clone())]));
    }

    /// Puts arguments in the place of all uses of nodes, in one walk.
    pub fn replace_all(&mut self, new: &HashMap<NodeId, Arg>) {
        let mut map = |n| new.get(&n).cloned().unwrap_or(Arg::Node(n));
        for id in &self.order {
            let node = &mut self.arena[id.0 as usize];
            // Most nodes read none of them.
            if !node.reads().iter().any(|n| new.contains_key(n)) {
                continue;
            }
            node.args = node.args.iter().map(|a| a.map_nodes(&mut map)).collect();
            node.kwargs = node.kwargs.iter().map(|(k, a)| (k.clone(), a.map_nodes(&mut map))).collect();
            if node.written.as_ref().is_some_and(|w| w.says.is_some()) {
                node.written = node.written.as_ref().map(|w| w.map_nodes(&mut map));
            }
        }
    }

    /// Readers of every node, indexed by id, each once, in order.
    pub fn users(&self) -> Vec<Vec<NodeId>> {
        let mut users = vec![Vec::new(); self.arena.len()];
        for node in self.nodes() {
            for input in node.inputs() {
                users[input.0 as usize].push(node.id);
            }
        }
        users
    }

    /// Removes calls that nobody reads and that `is_impure` does not protect, last to first (torch.fx's `eliminate_dead_code`).
    pub fn eliminate_dead_code(&mut self, is_impure: &dyn Fn(&Node) -> bool) {
        let mut uses = vec![0u32; self.arena.len()];
        for node in self.nodes() {
            for input in node.inputs() {
                uses[input.0 as usize] += 1;
            }
        }
        let mut dead = HashSet::new();
        for id in self.order.iter().rev() {
            let node = &self.arena[id.0 as usize];
            let removable = matches!(node.opcode, Opcode::Call | Opcode::GetAttr);
            if removable && uses[id.0 as usize] == 0 && !is_impure(node) {
                dead.insert(*id);
                for input in node.inputs() {
                    uses[input.0 as usize] -= 1;
                }
            }
        }
        self.order.retain(|id| !dead.contains(id));
    }

    /// Puts nodes after what they read, and leaves the order as it is otherwise: a node that has to wait comes right after what it
    /// waited for.
    pub fn sort(&mut self) {
        let mut pending: Vec<NodeId> = self.order.iter().rev().copied().collect();
        let (mut ready, mut order) = (HashSet::new(), Vec::with_capacity(pending.len()));
        let mut waiting: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        while let Some(id) = pending.pop() {
            if let Some(last) = self.node(id).inputs().into_iter().rfind(|n| !ready.contains(n)) {
                waiting.entry(last).or_default().push(id);
                continue;
            }
            ready.insert(id);
            order.push(id);
            pending.extend(waiting.remove(&id).unwrap_or_default().into_iter().rev());
        }
        self.order = order;
    }

    /// Checks the invariants that every later stage relies on.
    pub fn validate(&self) -> Result<()> {
        let mut seen = vec![false; self.arena.len()];
        let mut names = HashSet::new();
        for node in self.nodes() {
            for input in node.inputs() {
                if !seen.get(input.0 as usize).copied().unwrap_or(false) {
                    return Err(Error::runtime(format!("graph: {} reads a value that is not computed before it", node.name)));
                }
            }
            if !names.insert(&node.name) {
                return Err(Error::runtime(format!("graph: two nodes are named {}", node.name)));
            }
            seen[node.id.0 as usize] = true;
        }
        match self.output() {
            Some(_) => Ok(()),
            None => Err(Error::runtime("graph: the last node is not the output")),
        }
    }
}

/// Names that torch.fx keeps free: Python's keywords and built-in names.
fn is_reserved(name: &str) -> bool {
    const RESERVED: &[&str] = &[
        "False",
        "None",
        "True",
        "and",
        "as",
        "assert",
        "async",
        "await",
        "break",
        "class",
        "continue",
        "def",
        "del",
        "elif",
        "else",
        "except",
        "finally",
        "for",
        "from",
        "global",
        "if",
        "import",
        "in",
        "is",
        "lambda",
        "nonlocal",
        "not",
        "or",
        "pass",
        "raise",
        "return",
        "try",
        "while",
        "with",
        "yield",
        "abs",
        "all",
        "any",
        "bin",
        "bool",
        "bytes",
        "callable",
        "chr",
        "complex",
        "dict",
        "dir",
        "divmod",
        "enumerate",
        "eval",
        "exec",
        "exit",
        "filter",
        "float",
        "format",
        "getattr",
        "hash",
        "help",
        "hex",
        "id",
        "input",
        "int",
        "isinstance",
        "iter",
        "len",
        "list",
        "map",
        "max",
        "min",
        "next",
        "object",
        "oct",
        "open",
        "ord",
        "pow",
        "print",
        "property",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "slice",
        "sorted",
        "str",
        "sum",
        "super",
        "tuple",
        "type",
        "vars",
        "zip",
        "inf",
        "nan",
        "NoneType",
        "torch",
        "device",
        "fx_pytree",
        "pytree",
    ];
    RESERVED.contains(&name)
}

/// `moduleA.ALL` as `module_a.all`.
pub fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut after_lower = false;
    for c in name.chars() {
        if after_lower && c.is_ascii_uppercase() {
            out.push('_');
        }
        after_lower = c.is_ascii_lowercase();
        out.push(c.to_ascii_lowercase());
    }
    out
}
