//! The order of hooks and accumulation: a captured graph has them where the engine would run them.
//!
//! The passes are those of PyTorch's `end_capture`, in its order.

use super::capture::{DYNAMO, shown_name};
use super::order::Order;
use graph::{Arg, Graph, Node, NodeId, Opcode, Shown, Target};

struct Pass<'a> {
    graph: &'a Graph,
    users: Vec<Vec<NodeId>>,
    order: Order,
}

/// Puts hooks and accumulation in their place.
pub(crate) fn reorder(graph: &mut Graph) {
    let nodes: Vec<NodeId> = graph.nodes().map(|n| n.id).collect();
    let mut pass = Pass { users: graph.users(), order: Order::new(&nodes, graph.arena_len()), graph };
    pass.delay_unpack_hooks();
    pass.tensor_pre_hooks();
    pass.pre_hooks_early();
    pass.accumulation();
    pass.pre_hooks_late();
    pass.post_acc_grad_hooks();
    pass.post_hooks();
    let order = pass.order.nodes();
    graph.reorder(order);
}

fn calls(node: &Node, name: &str) -> bool {
    matches!(&node.target, Target::Torch { shown: Shown::Function(shown), .. } if **shown == *shown_name(DYNAMO, name))
}

fn node_of(arg: Option<&Arg>) -> Option<NodeId> {
    match arg {
        Some(Arg::Node(id)) => Some(*id),
        _ => None,
    }
}

fn nodes_of(arg: Option<&Arg>) -> Vec<NodeId> {
    match arg {
        Some(Arg::List(items) | Arg::Tuple(items)) => items.iter().filter_map(|item| node_of(Some(item))).collect(),
        _ => Vec::new(),
    }
}

impl Pass<'_> {
    fn node(&self, id: NodeId) -> &Node {
        self.graph.node(id)
    }

    /// Calls of hooks of a kind, in their order now.
    fn hooks(&self, kind: &str) -> Vec<NodeId> {
        let is_of_kind =
            |node: &Node| calls(node, "call_hook") && node.kwargs.iter().any(|(_, v)| matches!(v, Arg::Str(s) if **s == *kind));
        self.order.nodes().into_iter().filter(|id| is_of_kind(self.node(*id))).collect()
    }

    fn is_placeholder(&self, id: NodeId) -> bool {
        let node = self.node(id);
        let is_input = |id: NodeId| self.node(id).opcode == Opcode::Placeholder;
        node.opcode == Opcode::Placeholder || node.target == Target::Getitem && node_of(node.args.first()).is_some_and(is_input)
    }

    fn is_item(&self, id: NodeId) -> bool {
        self.node(id).target == Target::Getitem
    }

    fn last(&self, ids: impl IntoIterator<Item = NodeId>) -> Option<NodeId> {
        ids.into_iter().max_by_key(|id| self.order.place(*id))
    }

    /// Whether a node has to be moved to come right after another.
    fn has_to_move(&self, anchor: NodeId, node: NodeId) -> bool {
        self.order.previous(node) != Some(anchor) && !self.is_placeholder(anchor)
    }

    /// A saved tensor is unpacked right before it is read.
    fn delay_unpack_hooks(&mut self) {
        for hook in self.hooks("unpack_hook") {
            let users = self.users[hook.0 as usize].clone();
            if let Some(first) = users.into_iter().min_by_key(|id| self.order.place(*id)) {
                self.order.put_before(first, hook);
            }
        }
    }

    /// A hook on a gradient runs when the gradient is there.
    fn tensor_pre_hooks(&mut self) {
        for hook in self.hooks("tensor_pre_hook") {
            let (Some(function), Some(grad)) = (node_of(self.node(hook).args.first()), node_of(self.node(hook).args.get(1))) else {
                continue;
            };
            if self.has_to_move(grad, hook) {
                self.order.put_after(grad, function);
                self.order.put_after(function, hook);
            }
        }
    }

    /// Hooks before a node run as soon as they can, so that accumulation behind them does.
    fn pre_hooks_early(&mut self) {
        for hook in self.hooks("pre_hook") {
            let Some(function) = node_of(self.node(hook).args.first()) else { continue };
            let grads = nodes_of(self.node(hook).args.get(1));
            let mut block = vec![hook];
            let mut wait_for = Vec::new();
            for grad in grads {
                if self.is_item(grad) {
                    wait_for.extend(node_of(self.node(grad).args.first()));
                    block.push(grad);
                } else {
                    wait_for.push(grad);
                }
            }
            let Some(anchor) = self.last(wait_for) else { continue };
            if self.has_to_move(anchor, hook) {
                self.order.put_after(anchor, function);
                for node in block {
                    self.order.put_after(function, node);
                }
            }
        }
    }

    /// A leaf accumulates its gradient as soon as it is there.
    fn accumulation(&mut self) {
        let all: Vec<NodeId> = self.order.nodes().into_iter().filter(|id| calls(self.node(*id), "call_accumulate_grad")).collect();
        for node in all {
            let args = &self.node(node).args;
            let (variable, have, grad) = (node_of(args.first()), node_of(args.get(1)), node_of(args.get(2)));
            let item = grad.filter(|grad| self.is_item(*grad));
            let grad = match item {
                Some(item) => node_of(self.node(item).args.first()),
                None => grad,
            };
            let Some(anchor) = self.last([variable, have, grad].into_iter().flatten()) else { continue };
            if self.has_to_move(anchor, node) {
                self.order.put_after(anchor, node);
                if let Some(item) = item {
                    self.order.put_after(anchor, item);
                }
            }
        }
    }

    /// Hooks before a node run right before it, as in the engine.
    fn pre_hooks_late(&mut self) {
        for hook in self.hooks("pre_hook").into_iter().rev() {
            let Some(function) = node_of(self.node(hook).args.first()) else { continue };
            let items = self.users[hook.0 as usize].clone();
            let Some(registered) = items.first().and_then(|item| self.users[item.0 as usize].first().copied()) else { continue };
            if self.order.next(hook) != Some(registered) {
                self.order.put_before(registered, function);
                self.order.put_before(registered, hook);
                for item in items {
                    self.order.put_before(registered, item);
                }
            }
        }
    }

    /// Hooks after accumulation run right after it.
    fn post_acc_grad_hooks(&mut self) {
        for hook in self.hooks("post_acc_grad_hook").into_iter().rev() {
            let (Some(function), Some(variable)) = (node_of(self.node(hook).args.first()), node_of(self.node(hook).args.get(1))) else {
                continue;
            };
            let accumulation = self.users[variable.0 as usize].iter().copied().find(|id| calls(self.node(*id), "call_accumulate_grad"));
            if let Some(accumulation) = accumulation {
                self.order.put_after(accumulation, function);
                self.order.put_after(function, hook);
            }
        }
    }

    /// Hooks after a node that gives nothing run when it is done.
    fn post_hooks(&mut self) {
        for hook in self.hooks("post_hook").into_iter().rev() {
            let Some(function) = node_of(self.node(hook).args.first()) else { continue };
            if !matches!(self.node(hook).args.get(1), Some(Arg::List(items) | Arg::Tuple(items)) if items.is_empty()) {
                continue;
            }
            let grads = nodes_of(self.node(hook).args.get(2));
            let mut wait_for = grads.clone();
            for grad in grads {
                wait_for.extend(self.users[grad.0 as usize].iter().copied().filter(|user| !calls(self.node(*user), "call_hook")));
            }
            let Some(anchor) = self.last(wait_for) else { continue };
            if calls(self.node(anchor), "call_accumulate_grad") {
                let is_after_it = |id: &NodeId| {
                    let node = self.node(*id);
                    calls(node, "call_hook") && node.kwargs.iter().any(|(_, v)| matches!(v, Arg::Str(s) if &**s == "post_acc_grad_hook"))
                };
                let variable = node_of(self.node(anchor).args.first());
                let after = variable.and_then(|v| self.users[v.0 as usize].iter().copied().rfind(is_after_it));
                if let Some(after) = after {
                    self.order.put_after(after, function);
                    self.order.put_after(function, hook);
                    continue;
                }
            }
            if self.has_to_move(anchor, hook) {
                self.order.put_after(anchor, function);
                self.order.put_after(function, hook);
            }
        }
    }
}
