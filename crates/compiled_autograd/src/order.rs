//! The order of a graph's nodes while they are moved about: where each stands, and who is before and after it.

use graph::NodeId;

/// How far apart neighbours are at first.
const GAP: i128 = 1 << 64;

/// A doubly linked list of nodes that knows which of two comes first.
pub(crate) struct Order {
    before: Vec<Option<NodeId>>,
    after: Vec<Option<NodeId>>,
    place: Vec<i128>,
    first: Option<NodeId>,
}

impl Order {
    pub fn new(nodes: &[NodeId], arena: usize) -> Self {
        let mut order = Order { before: vec![None; arena], after: vec![None; arena], place: vec![0; arena], first: nodes.first().copied() };
        for pair in nodes.windows(2) {
            order.after[at(pair[0])] = Some(pair[1]);
            order.before[at(pair[1])] = Some(pair[0]);
        }
        order.renumber();
        order
    }

    fn renumber(&mut self) {
        let mut next = self.first;
        let mut place = 0;
        while let Some(node) = next {
            self.place[at(node)] = place;
            place += GAP;
            next = self.after[at(node)];
        }
    }

    /// The node before this one.
    pub fn previous(&self, node: NodeId) -> Option<NodeId> {
        self.before[at(node)]
    }

    /// The node after this one.
    pub fn next(&self, node: NodeId) -> Option<NodeId> {
        self.after[at(node)]
    }

    /// Where it stands: greater is later.
    pub fn place(&self, node: NodeId) -> i128 {
        self.place[at(node)]
    }

    fn unlink(&mut self, node: NodeId) {
        let (before, after) = (self.before[at(node)].take(), self.after[at(node)].take());
        match before {
            Some(before) => self.after[at(before)] = after,
            None => self.first = after,
        }
        if let Some(after) = after {
            self.before[at(after)] = before;
        }
    }

    /// Puts a node right after another.
    pub fn put_after(&mut self, anchor: NodeId, node: NodeId) {
        if anchor == node {
            return;
        }
        self.unlink(node);
        let after = self.after[at(anchor)];
        self.link(Some(anchor), node, after);
    }

    /// Puts a node right before another.
    pub fn put_before(&mut self, anchor: NodeId, node: NodeId) {
        if anchor == node {
            return;
        }
        self.unlink(node);
        let before = self.before[at(anchor)];
        self.link(before, node, Some(anchor));
    }

    fn link(&mut self, before: Option<NodeId>, node: NodeId, after: Option<NodeId>) {
        self.before[at(node)] = before;
        self.after[at(node)] = after;
        match before {
            Some(before) => self.after[at(before)] = Some(node),
            None => self.first = Some(node),
        }
        if let Some(after) = after {
            self.before[at(after)] = Some(node);
        }
        let low = before.map(|n| self.place[at(n)]);
        let high = after.map(|n| self.place[at(n)]);
        let place = match (low, high) {
            (Some(low), Some(high)) => low + (high - low) / 2,
            (Some(low), None) => low + GAP,
            (None, Some(high)) => high - GAP,
            (None, None) => 0,
        };
        self.place[at(node)] = place;
        if low.is_some_and(|low| low == place) {
            self.renumber();
        }
    }

    /// All nodes, in order.
    pub fn nodes(&self) -> Vec<NodeId> {
        std::iter::successors(self.first, |node| self.after[at(*node)]).collect()
    }
}

fn at(node: NodeId) -> usize {
    node.0 as usize
}
