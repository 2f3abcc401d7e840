//! Calls of higher-order operators in a graph being traced, and calls that take a token.

use super::layout::look_for_format;
use super::{Tracer, fake_value};
use crate::aot::effects::{WITH_EFFECTS, token_spec};
use crate::dispatch::{OpEntry, Value};
use crate::error::Result;
use crate::graph::{Arg, FakeValue, Graph, Meta, NodeId, Opcode, Target};
use crate::tensor::Tensor;
use compiled_autograd::capture::trace_wrapped;
use std::rc::Rc;

/// A part of the arguments of a higher-order operator.
pub enum Piece {
    /// A subgraph, and what it is named after.
    Body(&'static str, Graph),
    /// A value.
    One(Value),
    /// Several values.
    Tuple(Vec<Value>),
    /// Several values.
    List(Vec<Value>),
    /// Several parts, in a tuple.
    Nested(Vec<Piece>),
    /// As the graph has it, without nodes in it.
    Written(Arg),
    /// A subgraph of the first number that is free for its kind.
    Fresh(&'static str, Graph),
    /// A subgraph that calls of one identifier share.
    Repeated(Rc<str>, Graph),
}

impl Tracer {
    /// Records a call whose order counts: it takes the token, and gives the next one before its results.
    pub(super) fn record_with_token(&self, token: NodeId, entry: &'static OpEntry, args: &[Value], result: &Value) -> Result<()> {
        let (positional, keywords) = self.arguments(entry, args)?;
        let results: Vec<Value> = match result {
            Value::List(items) if !items.is_empty() => items.clone(),
            Value::List(_) => vec![Value::None],
            single => vec![single.clone()],
        };
        let next = Tensor::fake(&token_spec())?;
        let results: Vec<Value> = std::iter::once(Value::from(&next)).chain(results).collect();
        let meta = self.meta();
        let args = [Arg::Node(token), Arg::Op(entry.name.into())].into_iter().chain(positional).collect();
        let call_meta = Meta { value: Some(FakeValue::List(results.iter().map(fake_value).collect())), ..meta.clone() };
        let target = Target::HigherOrder(WITH_EFFECTS.into());
        let call = self.graph.borrow_mut().call(WITH_EFFECTS, target, args, keywords, call_meta);
        self.record_items(call, &results, &meta)?;
        self.token.set(self.known(&next));
        Ok(())
    }

    /// Records that gradients are recorded from here on, or are not.
    pub(in crate::aot) fn record_grad_mode(&self, enabled: bool) {
        self.graph.borrow_mut().set_grad_enabled(enabled);
    }

    /// Records a higher-order operator whose arguments are given by name.
    pub(in crate::aot) fn record_by_name(
        &self,
        name: &str,
        args: Vec<Arg>,
        keywords: Vec<(Rc<str>, Arg)>,
        results: &[Value],
    ) -> Result<()> {
        let meta = self.meta();
        let value = FakeValue::List(results.iter().map(fake_value).collect());
        let call_meta = Meta { value: Some(value), ..meta.clone() };
        let call = self.graph.borrow_mut().call(name, Target::HigherOrder(name.into()), args, keywords, call_meta);
        self.record_items(call, results, &meta)
    }

    /// A node for each of several results. An undefined one has a node too, which nobody reads: it takes a name, as in PyTorch.
    pub(super) fn record_items(&self, call: NodeId, results: &[Value], meta: &Meta) -> Result<()> {
        for (i, item) in results.iter().enumerate() {
            let meta = Meta { value: Some(fake_value(item)), ..meta.clone() };
            let args = vec![Arg::Node(call), Arg::Int(i as i64)];
            let node = self.graph.borrow_mut().call("getitem", Target::Getitem, args, Vec::new(), meta.clone());
            match item {
                Value::Tensor(t) => {
                    self.nodes.borrow_mut().insert(t.id(), node);
                    self.note_sizes(t, node);
                    look_for_format(t)?;
                }
                Value::List(items) => self.record_items(node, items, &meta)?,
                Value::Int(number) => drop(self.symbols.borrow_mut().insert(number.expr(), node)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Records the call of a higher-order operator, its bodies as subgraphs of one number: the first that is free for the first of them.
    pub fn record_higher_order(&self, op: &str, pieces: Vec<Piece>, results: &[Value]) -> Result<()> {
        let meta = self.meta();
        pieces.iter().try_for_each(|piece| self.sizes_first(piece))?;
        let kind = pieces.iter().find_map(|p| if let Piece::Body(kind, _) = p { Some(*kind) } else { None }).unwrap_or_default();
        let taken = |i: &usize| self.graph.borrow().subgraphs.iter().any(|(n, _)| **n == *format!("{kind}_{i}"));
        let number = (0..).find(|i| !taken(i)).unwrap_or(0);
        let args = pieces.into_iter().map(|piece| self.piece(piece, number, &meta)).collect::<Result<Vec<_>>>()?;
        let call_meta = Meta { value: Some(FakeValue::List(results.iter().map(fake_value).collect())), ..meta.clone() };
        let call = self.graph.borrow_mut().call(op, Target::HigherOrder(op.into()), args, Vec::new(), call_meta);
        self.record_items(call, results, &meta)?;
        Ok(())
    }

    /// Nodes of sizes and conditions among a call's arguments come before its bodies.
    fn sizes_first(&self, piece: &Piece) -> Result<()> {
        let is_size = |v: &&Value| v.condition().is_some() || matches!(v, Value::Int(size) if size.as_int().is_none());
        let each = |values: &[Value]| values.iter().filter(is_size).try_for_each(|v| self.argument(v).map(drop));
        match piece {
            Piece::One(value) => each(std::slice::from_ref(value)),
            Piece::Tuple(values) | Piece::List(values) => each(values),
            Piece::Nested(pieces) => pieces.iter().try_for_each(|piece| self.sizes_first(piece)),
            Piece::Body(..) | Piece::Written(_) | Piece::Fresh(..) | Piece::Repeated(..) => Ok(()),
        }
    }

    /// A part of the arguments as the graph keeps it; bodies that are numbered together have this number.
    fn piece(&self, piece: Piece, number: usize, meta: &Meta) -> Result<Arg> {
        let all = |values: &[Value]| values.iter().map(|v| self.argument(v)).collect::<Result<Vec<_>>>();
        let subgraph = |name: String, body: Graph| {
            let mut graph = self.graph.borrow_mut();
            graph.subgraphs.push((name.as_str().into(), body));
            Arg::Node(graph.get_attr(&name, meta.clone()))
        };
        Ok(match piece {
            Piece::One(value) => self.argument(&value)?,
            Piece::Tuple(values) => Arg::Tuple(all(&values)?),
            Piece::List(values) => Arg::List(all(&values)?),
            Piece::Nested(pieces) => Arg::Tuple(pieces.into_iter().map(|p| self.piece(p, number, meta)).collect::<Result<_>>()?),
            Piece::Written(arg) => arg,
            Piece::Body(kind, body) => subgraph(format!("{kind}_{number}"), body),
            Piece::Fresh(kind, body) => {
                let taken = |name: &String| self.graph.borrow().subgraphs.iter().any(|(n, _)| **n == *name.as_str());
                let name = (0..).map(|i| format!("{kind}{i}")).find(|name| !taken(name)).unwrap_or_default();
                subgraph(name, body)
            }
            Piece::Repeated(identifier, body) => {
                let known = self.repeated.borrow().iter().position(|of| *of == identifier);
                match known {
                    Some(i) => Arg::Node(self.graph.borrow_mut().get_attr(&format!("repeated_subgraph{i}"), meta.clone())),
                    None => {
                        let i = self.repeated.borrow().len();
                        self.repeated.borrow_mut().push(identifier);
                        subgraph(format!("repeated_subgraph{i}"), body)
                    }
                }
            }
        })
    }

    /// Records the call of an operator that is in no catalogue, by its text; `named` is what its node is named after.
    pub(in crate::aot) fn record_by_text(&self, op: &str, named: &str, args: &[Value], result: &Tensor) -> Result<()> {
        let args = args.iter().map(|v| self.argument(v)).collect::<Result<Vec<_>>>()?;
        let meta = Meta { value: Some(FakeValue::Tensor(result.spec())), ..self.meta() };
        let node = self.graph.borrow_mut().call(named, Target::Op(op.into()), args, Vec::new(), meta);
        self.nodes.borrow_mut().insert(result.id(), node);
        self.note_sizes(result, node);
        Ok(())
    }

    /// Records the call of a hook that is in the backward state.
    pub(in crate::aot) fn record_hook(&self, op: &str, grad: &Tensor, result: &Tensor) -> Result<()> {
        let target = trace_wrapped(&self.graph.borrow(), op.into());
        let args = vec![self.argument(&Value::from(grad))?];
        let keywords = self.backward_state.get().map(|state| ("bw_state".into(), Arg::Node(state))).into_iter().collect();
        let meta = Meta { value: Some(FakeValue::Tensor(result.spec())), ..self.meta() };
        let node = self.graph.borrow_mut().call("trace_wrapped", target, args, keywords, meta);
        self.nodes.borrow_mut().insert(result.id(), node);
        self.note_sizes(result, node);
        Ok(())
    }

    /// Adds the state that hooks are in, as an input.
    pub(in crate::aot) fn take_backward_state(&self, name: &str) {
        let node = self.graph.borrow_mut().placeholder(name, Meta::default());
        self.backward_state.set(Some(node));
    }

    /// A backward's subgraph: all its calls belong to the call whose backward is being traced.
    pub fn as_backward_of_call(&self, mut graph: Graph) -> Graph {
        let here = self.meta();
        let calls: Vec<NodeId> = graph.nodes().filter(|n| n.opcode == Opcode::Call).map(|n| n.id).collect();
        for id in calls {
            let meta = &mut graph.node_mut(id).meta;
            (meta.source, meta.is_backward, meta.own_source) = (here.source.clone(), true, false);
        }
        graph
    }
}
