//! Conditions on numbers that the graph checks: those that the script states (`torch._check`), where it does, and what has become known
//! of each number that only the run knows, right behind the call that gives it.

use super::tracer::Recorder;
use crate::dynamo::exc::Failure;
use crate::dynamo::settings::switch;
use crate::error::Result;
use crate::graph::{Arg, FakeValue, Graph, Meta, Node, NodeId, Opcode, Target};
use crate::shape::{Expr, Relation, SymCondition, SymInt};
use crate::span::current_source;

/// Whether a node is a check, or the condition of one.
fn checks(graph: &Graph, node: &Node) -> bool {
    let is_check = |node: &Node| node.op() == Some("aten._assert_scalar.default");
    is_check(node)
        || matches!(node.meta.value, Some(FakeValue::Condition(_))) && graph.nodes().any(|n| is_check(n) && n.inputs().contains(&node.id))
}

impl Recorder {
    /// The script says that a condition holds, and perhaps what is to be said where it does not: the graph checks it. Whether it does
    /// in this call; numbers that only the run knows are taken to fit.
    pub fn check(&self, left: &SymInt, relation: Relation, right: &SymInt, said: Option<&str>) -> Result<bool> {
        let is_known = left.hint().is_some() && right.hint().is_some();
        if is_known && !left.compare(relation, right)? {
            return Ok(false);
        }
        if !switch("do_not_emit_runtime_asserts") {
            self.record_check(left, relation, right, said)?;
        }
        if !is_known {
            self.output().stated.borrow_mut().push((left.expr(), relation, right.expr()));
            self.assume(left, relation, right);
        }
        Ok(true)
    }

    /// What the operator that was recorded last relies on is checked, as soon as the numbers in it are known.
    pub(in crate::dynamo) fn check_deferred(&self) -> Result<()> {
        let env = self.output().symbols.borrow().env.clone();
        for (left, relation, right) in env.take_deferred() {
            let first = self.output().graph.borrow().nodes().count();
            if !switch("do_not_emit_runtime_asserts") {
                self.record_check(&left, relation, &right, None)?;
                let made = self.output().graph.borrow().nodes().skip(first).map(|n| n.id).collect();
                self.output().early.borrow_mut().push(made);
            }
        }
        Ok(())
    }

    /// Moves checks of what operators rely on right behind the calls, or the inputs with their checks, that give the numbers in them.
    pub(in crate::dynamo) fn move_checks(&self, graph: &mut Graph) {
        for made in self.output().early.take() {
            let mut order: Vec<NodeId> = graph.nodes().map(|n| n.id).collect();
            order.retain(|id| !made.contains(id));
            let read: Vec<NodeId> = made.iter().flat_map(|id| graph.node(*id).inputs()).filter(|id| !made.contains(id)).collect();
            let is_own = |id: &NodeId| {
                let node = graph.node(*id);
                node.opcode == Opcode::Placeholder || read.contains(id) || checks(graph, node)
            };
            let Some(last) = order.iter().rposition(|id| read.contains(id)) else { continue };
            let behind = last + 1 + order[last + 1..].iter().take_while(|id| is_own(id)).count();
            order.splice(behind..behind, made.iter().copied());
            graph.reorder(order);
        }
    }

    /// The script says that a condition holds on numbers that only the run knows: it is checked where those come from.
    pub fn assume(&self, left: &SymInt, relation: Relation, right: &SymInt) {
        self.output().symbols.borrow().env.expect(&left.expr(), relation, &right.expr());
    }

    /// The graph ends: what is known by now of unbacked symbols is asserted right behind the nodes that define them,
    /// but for what the script checks itself in the same words.
    pub(in crate::dynamo) fn check_defined(&self, graph: &mut Graph) {
        let stated = self.output().stated.take();
        if switch("do_not_emit_runtime_asserts") {
            self.output().defined.take();
            return;
        }
        let env = self.output().symbols.borrow().env.clone();
        for (size, node) in self.output().defined.take() {
            let expr = size.expr();
            let Some(info) = expr.as_symbol().and_then(|s| env.info(s)).filter(|_| graph.nodes().any(|n| n.id == node)) else { continue };
            let bounds = [(Relation::Ge, info.lower, i64::MIN), (Relation::Le, info.upper, i64::MAX)];
            let bounds = bounds.into_iter().filter(|(_, bound, none)| bound != none);
            let mut checks: Vec<(Relation, Expr)> = bounds.map(|(relation, bound, _)| (relation, Expr::from(bound))).collect();
            checks.retain(|(relation, bound)| !stated.contains(&(expr.clone(), *relation, bound.clone())));
            let mut made: Vec<NodeId> = Vec::new();
            for (relation, bound) in checks {
                let text = relation.condition(&expr, &bound);
                self.check_in(graph, (node, relation, &bound), (&text, &text), &mut made);
            }
            // What is said the other way round from what PyTorch keeps of it is checked once more.
            let strict =
                stated.iter().filter(|(left, relation, right)| *left == expr && *relation == Relation::Gt && right.as_int().is_some());
            for (_, relation, bound) in strict {
                let (shown, said) = (relation.condition(&expr, bound), Relation::Lt.condition(bound, &expr));
                self.check_in(graph, (node, *relation, bound), (&shown, &said), &mut made);
            }
            let place = self.output().stacks.borrow().get(&node).cloned();
            if let Some(place) = place {
                self.output().stacks.borrow_mut().extend(made.iter().map(|id| (*id, place.clone())));
            }
            let mut order: Vec<NodeId> = graph.nodes().map(|n| n.id).filter(|id| !made.contains(id)).collect();
            let behind = order.iter().position(|id| *id == node).map_or(order.len(), |at| at + 1);
            order.splice(behind..behind, made);
            graph.reorder(order);
        }
    }

    fn check_in(
        &self,
        graph: &mut Graph,
        (node, relation, bound): (NodeId, Relation, &Expr),
        (shown, said): (&str, &str),
        made: &mut Vec<NodeId>,
    ) {
        let own = graph.node(node).meta.clone();
        let meta = |value| Meta { value, source: own.source.clone(), modules: own.modules.clone(), ..Meta::default() };
        let args = vec![Arg::Node(node), bound.as_int().map_or(Arg::None, Arg::Int)];
        let name = relation.operator();
        let id = graph.call(name, Target::operator(name), args, Vec::new(), meta(Some(FakeValue::Condition(shown.into()))));
        let said = format!("Runtime assertion failed for expression {said} on node '{}'", graph.node(id).name);
        let target = Target::Op("aten._assert_scalar.default".into());
        let args = vec![Arg::Node(id), Arg::Str(said.as_str().into())];
        made.extend([id, graph.call("_assert_scalar_default", target, args, Vec::new(), meta(None))]);
    }

    /// A condition that the script checks does not hold.
    pub fn check_failed(&self, message: &str, condition: &str) {
        let written = format!("call_function <function _check>(*({condition},), **{{}})");
        *self.failure.borrow_mut() = Some(Failure {
            class: "RuntimeError",
            message: message.to_owned(),
            raised: message.to_owned(),
            called: written,
            given: String::new(),
            source: current_source(),
            call: None,
        });
    }

    /// The graph checks what holds of a number that only the run knows.
    fn expect(&self, left: &SymInt, relation: Relation, right: &SymInt) -> Result<()> {
        // A bound of one number is the least or the largest that it may be.
        let is_bare = left.expr().as_symbol().is_some();
        let (relation, right) = match (relation, right.as_int().filter(|_| is_bare)) {
            (Relation::Lt, Some(bound)) => (Relation::Le, &SymInt::Int(bound - 1)),
            (Relation::Gt, Some(bound)) => (Relation::Ge, &SymInt::Int(bound + 1)),
            (relation, _) => (relation, right),
        };
        self.record_check(left, relation, right, None)?;
        self.output().symbols.borrow().env.expect(&left.expr(), relation, &right.expr());
        Ok(())
    }

    fn record_check(&self, left: &SymInt, relation: Relation, right: &SymInt, said: Option<&str>) -> Result<()> {
        let condition = SymCondition { left: left.clone(), relation, right: right.clone() };
        let id = self.condition(&condition)?;
        let shown = self.output().graph.borrow().node(id).name.to_string();
        let said = said.map_or_else(|| format!("Runtime assertion failed for expression {condition} on node '{shown}'"), str::to_owned);
        let target = Target::Op("aten._assert_scalar.default".into());
        let args = vec![Arg::Node(id), Arg::Str(said.as_str().into())];
        let meta = Meta { value: None, ..self.meta(FakeValue::None) };
        let check = self.output().graph.borrow_mut().call("_assert_scalar_default", target, args, Vec::new(), meta);
        self.output().stacks.borrow_mut().insert(check, (self.place(), self.output().inputs.borrow().len()));
        Ok(())
    }

    /// The graph asserts that an unbacked size of an input is one that the script expects.
    pub(in crate::dynamo) fn expect_bounds(&self, size: &SymInt) -> Result<()> {
        let expr = size.expr();
        let Some(info) = expr.as_symbol().and_then(|s| self.output().symbols.borrow().env.info(s)) else { return Ok(()) };
        self.expect(size, Relation::Ge, &SymInt::Int(info.lower))?;
        if info.upper == i64::MAX { Ok(()) } else { self.expect(size, Relation::Le, &SymInt::Int(info.upper)) }
    }
}
