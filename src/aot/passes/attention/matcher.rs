//! Looking for a small graph in a large one, backwards from its first result.
//!
//! Other results are looked for from what has been matched: a call that reads a matched value may be one that a pattern's call
//! stands for. Every value between arguments and results must be read as often as in the pattern.

use super::super::edit::Editor;
use super::patterns::Candidate;
use crate::graph::{Arg, FakeValue, Graph, Node, NodeId, Opcode};
use std::collections::{HashMap, HashSet};

/// A graph to look for.
pub struct Pattern {
    graph: Graph,
    users: Vec<Vec<NodeId>>,
    outputs: Vec<Option<NodeId>>,
    /// The names of arguments.
    names: HashMap<NodeId, String>,
    /// Numbers that stand for an argument.
    scalars: Vec<(f64, &'static str)>,
    /// Whether numbers and sizes count.
    exact: bool,
}

/// Where a pattern was found.
#[derive(Clone, Default)]
pub struct Match {
    /// What its arguments are.
    pub args: HashMap<String, Arg>,
    /// The nodes that its calls are, in the order in which they were matched.
    pub nodes: Vec<NodeId>,
    /// Its results.
    pub outputs: Vec<Option<NodeId>>,
    known: HashMap<NodeId, Arg>,
}

impl Pattern {
    /// A pattern in which numbers, sizes and dtypes are left open.
    pub fn rough(graph: Graph, candidate: &Candidate, trains: bool) -> Self {
        let scalars = candidate.parameters(trains).filter_map(|p| p.stands_for().map(|n| (n, p.name()))).collect();
        Self::new(graph, candidate, trains, scalars, false)
    }

    /// A pattern traced on the arguments that it should have.
    pub fn exact(graph: Graph, candidate: &Candidate, trains: bool) -> Self {
        Self::new(graph, candidate, trains, Vec::new(), true)
    }

    fn new(graph: Graph, candidate: &Candidate, trains: bool, scalars: Vec<(f64, &'static str)>, exact: bool) -> Self {
        let users = graph.users();
        let outputs = graph.outputs().into_iter().map(|a| if let Arg::Node(n) = a { Some(n) } else { None }).collect();
        let mut tensors = candidate.parameters(trains).filter(|p| p.stands_for().is_none()).map(|p| p.name().to_owned());
        let mut names = HashMap::new();
        for node in graph.placeholders() {
            let name = if node.name.starts_with("tangents") { node.name.to_string() } else { tensors.next().unwrap_or_default() };
            names.insert(node.id, name);
        }
        Pattern { graph, users, outputs, names, scalars, exact }
    }

    /// The operator of its first result.
    pub fn anchor(&self) -> Option<&str> {
        self.outputs.first().copied().flatten().and_then(|id| self.graph.node(id).op())
    }

    /// Looks for it where a node is its first result.
    pub fn find(&self, editor: &Editor, id: NodeId) -> Option<Match> {
        let mut found = Match::default();
        let mut outputs = self.outputs.iter();
        let first = (*outputs.next()?)?;
        if !self.node(editor, first, id, &mut found) {
            return None;
        }
        for output in outputs.flatten() {
            let mut searched = HashSet::new();
            let mut candidates = Vec::new();
            self.anchors(editor, *output, &found, &mut searched, &mut candidates);
            let hit = candidates.into_iter().find_map(|id| {
                let mut trial = found.clone();
                self.node(editor, *output, id, &mut trial).then_some(trial)
            });
            found = hit?;
        }
        found.outputs = self.outputs.iter().map(|o| o.and_then(|o| as_node(found.known.get(&o)))).collect();
        Some(found)
    }

    /// Nodes that may be a pattern's call, given what has been matched.
    fn anchors(&self, editor: &Editor, wanted: NodeId, found: &Match, searched: &mut HashSet<NodeId>, into: &mut Vec<NodeId>) {
        if let Some(id) = as_node(found.known.get(&wanted)) {
            into.push(id);
            return;
        }
        let target = &self.graph.node(wanted).target;
        for input in self.graph.node(wanted).inputs() {
            let mut below = Vec::new();
            self.anchors(editor, input, found, searched, &mut below);
            for other in below {
                for user in editor.users(other) {
                    if !searched.contains(user) && editor.node(*user).target == *target {
                        into.push(*user);
                        searched.insert(*user);
                    }
                }
            }
        }
    }

    fn node(&self, editor: &Editor, wanted: NodeId, id: NodeId, found: &mut Match) -> bool {
        if let Some(known) = found.known.get(&wanted) {
            return *known == Arg::Node(id);
        }
        let pattern = self.graph.node(wanted);
        if pattern.opcode == Opcode::Placeholder {
            return self.bind(wanted, &Arg::Node(id), found);
        }
        let node = editor.node(id);
        let is_output = self.outputs.contains(&Some(wanted));
        let read = is_output || editor.users(id).len() == self.users[wanted.0 as usize].len();
        if node.opcode != Opcode::Call || node.target != pattern.target || !read || node.args.len() != pattern.args.len() {
            return false;
        }
        if self.exact && !same_value(pattern, node) {
            return false;
        }
        let rank = pattern.args.first().and_then(|a| if let Arg::Node(n) = a { self.graph.node(*n).tensor() } else { None });
        let rank = rank.map_or(0, |spec| spec.geometry.sizes.len());
        let is_sized = matches!(node.op(), Some("aten.view.default" | "aten.expand.default" | "aten.full.default" | "aten.rand.default"));
        for (wanted, have) in pattern.args.iter().zip(&node.args) {
            let sizes = is_sized && matches!(wanted, Arg::List(_));
            if !sizes && !self.arg(editor, wanted, have, rank, found) {
                return false;
            }
        }
        for (name, wanted) in &pattern.kwargs {
            match node.kwargs.iter().find(|(k, _)| k == name) {
                Some((_, have)) if self.arg(editor, wanted, have, rank, found) => {}
                None if is_default(wanted) => {}
                _ => return false,
            }
        }
        if !node.kwargs.iter().all(|(k, v)| is_default(v) || pattern.kwargs.iter().any(|(name, _)| name == k)) {
            return false;
        }
        found.nodes.push(id);
        found.known.insert(wanted, Arg::Node(id));
        true
    }

    fn bind(&self, wanted: NodeId, have: &Arg, found: &mut Match) -> bool {
        found.known.insert(wanted, have.clone());
        let Some(name) = self.names.get(&wanted) else { return false };
        same_argument(found, name, have)
    }

    fn arg(&self, editor: &Editor, wanted: &Arg, have: &Arg, rank: usize, found: &mut Match) -> bool {
        let number = match wanted {
            Arg::Int(i) => Some(*i as f64),
            Arg::Float(f) => Some(*f),
            _ => None,
        };
        if let Some((_, name)) = number.and_then(|n| self.scalars.iter().find(|(s, _)| *s == n)) {
            return same_argument(found, name, have);
        }
        match (wanted, have) {
            (Arg::Node(wanted), have) => match have {
                Arg::Node(id) => self.node(editor, *wanted, *id, found),
                have if self.graph.node(*wanted).opcode == Opcode::Placeholder => match found.known.get(wanted).cloned() {
                    Some(known) => known == *have,
                    None => self.bind(*wanted, have, found),
                },
                _ => false,
            },
            (Arg::List(wanted), have) if wanted.iter().any(|a| matches!(a, Arg::Node(_))) => match have {
                Arg::List(have) => wanted.len() == have.len() && wanted.iter().zip(have).all(|(w, h)| self.arg(editor, w, h, rank, found)),
                _ => false,
            },
            (Arg::Int(_) | Arg::Float(_) | Arg::Dtype(_) | Arg::Device(_), _) if !self.exact => true,
            (Arg::List(items), _) if !self.exact && !items.is_empty() => true,
            (Arg::List(wanted), Arg::List(have)) => {
                let same = |w: &Arg, h: &Arg| match (w, h) {
                    (Arg::Int(w), Arg::Int(h)) if rank > 0 => w.rem_euclid(rank as i64) == h.rem_euclid(rank as i64),
                    _ => w == h,
                };
                wanted.len() == have.len() && wanted.iter().zip(have).all(|(w, h)| same(w, h))
            }
            (Arg::Int(w), Arg::Float(h)) | (Arg::Float(h), Arg::Int(w)) => *w as f64 == *h,
            (wanted, have) => wanted == have,
        }
    }
}

fn as_node(arg: Option<&Arg>) -> Option<NodeId> {
    match arg {
        Some(Arg::Node(id)) => Some(*id),
        _ => None,
    }
}

fn same_argument(found: &mut Match, name: &str, have: &Arg) -> bool {
    match found.args.get(name) {
        Some(known) => known == have,
        None => {
            found.args.insert(name.to_owned(), have.clone());
            true
        }
    }
}

/// Keyword arguments that say what holds without them.
fn is_default(arg: &Arg) -> bool {
    matches!(arg, Arg::None | Arg::Bool(false) | Arg::Layout(crate::tensor::Layout::Strided))
}

fn same_value(wanted: &Node, have: &Node) -> bool {
    match (&wanted.meta.value, &have.meta.value) {
        (Some(FakeValue::Tensor(w)), Some(FakeValue::Tensor(h))) => {
            let (ws, hs) = (&w.geometry.sizes, &h.geometry.sizes);
            let sizes = ws.len() == hs.len() && ws.iter().zip(hs).all(|(a, b)| a.statically_eq(b.clone()));
            w.dtype == h.dtype && w.device == h.device && sizes
        }
        _ => true,
    }
}
