//! Symbolic sizes and floats of a graph being traced: the nodes that they are read off or computed by.

use super::Tracer;
use super::origin::hands_on;
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::graph::{Arg, FakeValue, FloatNodes, Meta, Node, NodeId, SizeNodes, Target, compute_float, compute_size, node_name};
use crate::shape::{Expr, FloatExpr, Relation, ShapeEnv, SymCondition, SymFloat, SymInt};
use crate::tensor::Tensor;
use std::rc::Rc;

/// A symbol that is an input of its own. PyTorch reads it off the first tensor that has that size when a tensor's size is asked
/// for. In the end an input stands in its place (`Graph::unify_sizes`), of equal ones the last: the node is gone, its name is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InputSize {
    /// No tensor has that size.
    Number,
    /// A tensor has it.
    OfTensor,
}

/// Where one computation of a size is found.
#[derive(Clone, Copy)]
pub(super) enum OwnSize {
    /// It is a tensor's, in a dimension.
    OfTensor(NodeId, usize),
    /// It is the number of a tensor's elements.
    CountOf(NodeId),
    /// A node computes it.
    Node(NodeId),
}

impl Tracer {
    /// Remembers the symbolic sizes of a tensor that a node makes.
    pub(super) fn note_sizes(&self, t: &Tensor, id: NodeId) {
        for (dim, size) in t.sizes().iter().enumerate() {
            if size.as_int().is_none() {
                let expr = size.expr();
                if let SymInt::Sym(own, _) = size {
                    let of_tensor = || (own.clone(), OwnSize::OfTensor(id, dim));
                    self.own_sizes.borrow_mut().entry(own.identity()).or_insert_with(of_tensor);
                }
                self.sizes.borrow_mut().entry(expr).or_insert((id, dim));
                if let Some(known) = self.input_sizes.borrow_mut().get_mut(&size.expr()).filter(|s| **s == InputSize::Number) {
                    *known = InputSize::OfTensor;
                }
            }
        }
    }

    /// The node that computes a symbolic size.
    pub(super) fn size(&self, size: &SymInt) -> Result<Arg> {
        match size {
            SymInt::Int(i) => Ok(Arg::Int(*i)),
            SymInt::Sym(own, env) => {
                let is_pending = self.make_pending(own)?;
                let (sizes, expr) = (Sizes(self, env), size.expr());
                // One that only the run knows is no input: each tensor that has it is asked for its own.
                let is_found = self.symbols.borrow().contains_key(&expr) || self.sizes.borrow().contains_key(&expr);
                let is_given = self.input_sizes.borrow().contains_key(&expr) || is_found && env.hint(&expr).is_some();
                let is_computed = expr.as_int().is_none() && (expr.as_symbol().is_none() || is_pending || !is_given);
                if let Some(known) = is_computed.then(|| sizes.own(own, &expr)).flatten() {
                    return Ok(known);
                }
                let made = compute_size(&sizes, &expr)?;
                if let (Arg::Node(id), true) = (&made, is_computed) {
                    self.own_sizes.borrow_mut().insert(own.identity(), (own.clone(), OwnSize::Node(*id)));
                }
                Ok(made)
            }
        }
    }

    /// The number of elements of a tensor that is a value of the graph, where it is symbolic.
    pub(super) fn count_of(&self, t: &Tensor) -> Option<SymInt> {
        let SymInt::Sym(expr, env) = t.numel() else { return None };
        let node = self.known(t)?;
        let mut counted = self.counted_off.borrow_mut();
        let own = counted.entry(node).or_insert_with(|| {
            let own = expr.anew();
            self.own_sizes.borrow_mut().insert(own.identity(), (own.clone(), OwnSize::CountOf(node)));
            own
        });
        Some(SymInt::Sym(own.clone(), env))
    }

    /// Whether a float is computed from the number of a tensor's elements: then it is no other's, also where that is equal.
    fn is_of_count(&self, float: &FloatExpr) -> bool {
        match float {
            FloatExpr::ToFloat(size) => self.counted_off.borrow().values().any(|own| own.identity() == size.identity()),
            FloatExpr::Binary(_, a, b) => self.is_of_count(a) || self.is_of_count(b),
            FloatExpr::Neg(a) => self.is_of_count(a),
            _ => false,
        }
    }

    /// A tensor's number was asked for, which is a symbol.
    pub fn item(&self, t: &Tensor, number: &Value) -> Result<()> {
        self.item_by("_local_scalar_dense", t, number)
    }

    /// The same, as it is called.
    pub(in crate::aot) fn item_as_called(&self, t: &Tensor, number: &Value) -> Result<()> {
        self.item_by("item", t, number)
    }

    fn item_by(&self, name: &str, t: &Tensor, number: &Value) -> Result<()> {
        let args = vec![self.argument(&Value::from(t))?];
        let target = Target::Op(format!("aten.{name}.default").into());
        match number {
            Value::SymFloat(float) => drop(self.float_call(name, target, args, float)),
            Value::Int(size @ SymInt::Sym(_, env)) => drop(Sizes(self, env).call(name, target, args, &size.expr())),
            _ => {}
        }
        Ok(())
    }

    /// A condition on numbers that only the run knows: it is checked where it stands.
    pub fn expect(&self, name: &'static str, sides: [&Value; 2], node: &Node, said: &Value) -> Result<()> {
        let text = match (sides[0].sym_int(), sides[1].sym_int(), Relation::ALL.into_iter().find(|r| r.operator() == name)) {
            (Ok(a), Ok(b), Some(relation)) => Some(FakeValue::Condition(a.condition(relation, &b).into())),
            _ => node.meta.value.clone(),
        };
        let sides = sides.into_iter().map(|side| self.argument(side)).collect::<Result<Vec<_>>>()?;
        let meta = Meta { value: text, ..self.meta() };
        let condition = self.graph.borrow_mut().call(name, Target::operator(name), sides, Vec::new(), meta);
        let args = vec![Arg::Node(condition), self.argument(said)?];
        let target = Target::Op("aten._assert_scalar.default".into());
        self.graph.borrow_mut().call("_assert_scalar", target, args, Vec::new(), self.meta());
        Ok(())
    }

    /// The script states a condition on numbers that only the run knows: the graph checks it, written as PyTorch keeps it, with the smaller
    /// side first. A bound that one symbol has by itself is checked with the symbol's range.
    pub fn state(&self, left: &SymInt, relation: Relation, right: &SymInt) -> Result<()> {
        let ((SymInt::Sym(_, env), _) | (_, SymInt::Sym(_, env))) = (left, right) else { return Ok(()) };
        env.note_stated(relation.operator());
        for side in [left, right].into_iter().filter_map(|side| self.at_hand(side)) {
            let graph = self.graph.borrow();
            let mut todo: Vec<NodeId> = if let Arg::Node(id) = side { vec![id] } else { Vec::new() };
            while let Some(node) = todo.pop().map(|id| graph.node(id)) {
                if let Target::Operator(name) = &node.target {
                    env.note_stated(name);
                    todo.extend(node.inputs());
                }
            }
        }
        self.check(left, relation, right)
    }

    /// The same for what an operator relies on.
    pub fn check(&self, left: &SymInt, relation: Relation, right: &SymInt) -> Result<()> {
        let (left, relation, right) = match relation {
            Relation::Gt => (right, Relation::Lt, left),
            Relation::Ge => (right, Relation::Le, left),
            _ => (left, relation, right),
        };
        let is_bound = |a: &SymInt, b: &SymInt| a.as_int().is_some() && b.expr().as_symbol().is_some();
        if relation == Relation::Le && (is_bound(left, right) || is_bound(right, left)) {
            return Ok(());
        }
        let text = left.condition(relation, right);
        let (name, sides) = match (left.as_int(), relation) {
            (Some(_), Relation::Lt) => (Relation::Gt.operator(), [right, left]),
            (Some(_), Relation::Le) => (Relation::Ge.operator(), [right, left]),
            _ => (relation.operator(), [left, right]),
        };
        let sides = sides.into_iter().map(|side| self.argument(&Value::Int(side.clone()))).collect::<Result<Vec<_>>>()?;
        let meta = Meta { value: Some(FakeValue::Condition(text.as_str().into())), ..self.meta() };
        let condition = self.graph.borrow_mut().call(name, Target::operator(name), sides, Vec::new(), meta);
        let target = Target::Op("aten._assert_scalar.default".into());
        let args = vec![Arg::Node(condition), Arg::Str(text.as_str().into())];
        self.graph.borrow_mut().call("_assert_scalar_default", target, args, Vec::new(), self.meta());
        Ok(())
    }

    /// The node of a condition on sizes, which a call chooses by.
    pub(super) fn condition(&self, condition: &SymCondition) -> Result<Arg> {
        let text: Rc<str> = condition.to_string().as_str().into();
        let known = self.conditions.borrow().get(&text).copied();
        if let Some(known) = known {
            return Ok(Arg::Node(known));
        }
        let sides = condition.sides().into_iter().map(|side| self.size(side)).collect::<Result<Vec<_>>>()?;
        let meta = Meta { value: Some(FakeValue::Condition(text.clone())), ..self.meta() };
        let name = condition.relation.operator();
        let id = self.graph.borrow_mut().call(name, Target::operator(name), sides, Vec::new(), meta);
        self.conditions.borrow_mut().insert(text, id);
        Ok(Arg::Node(id))
    }

    pub(super) fn float_call(&self, name: &str, target: Target, args: Vec<Arg>, float: &SymFloat) -> Arg {
        let meta = Meta { value: Some(FakeValue::SymFloat(float.clone())), ..self.meta() };
        let id = self.graph.borrow_mut().call(name, target, args, Vec::new(), meta);
        self.floats.borrow_mut().push((float.expr.clone(), id));
        Arg::Node(id)
    }

    /// A size was computed from others: the call stands here, where something reads it.
    pub fn computed(&self, name: &str, operands: &[Value], result: &Value) -> Result<()> {
        if let Value::SymFloat(float) = result {
            return compute_float(self, float).map(drop);
        }
        let Value::Int(size @ SymInt::Sym(_, env)) = result else { return Ok(()) };
        let expr = size.expr();
        if expr.as_int().is_none() && expr.as_symbol().is_none() {
            let operand = |v: &Value| match self.argument(v)? {
                Arg::List(terms) => Ok(Arg::Tuple(terms)),
                other => Ok(other),
            };
            let mut args = operands.iter().map(operand).collect::<Result<Vec<_>>>()?;
            // Of two, the symbolic one is asked for the larger or the smaller.
            if matches!(name, "sym_max" | "sym_min") && matches!(args.first(), Some(Arg::Int(_))) {
                args.reverse();
            }
            if let (Arg::Node(id), SymInt::Sym(own, _)) = (Sizes(self, env).call(name, Target::operator(name), args, &expr), size) {
                self.own_sizes.borrow_mut().insert(own.identity(), (own.clone(), OwnSize::Node(id)));
            }
        }
        Ok(())
    }

    /// Whether a symbol that is an input is read off the tensor that has that size, unless the script handed the number on itself.
    fn is_read_off(&self, expr: &Expr) -> bool {
        let is_of_tensor = self.input_sizes.borrow().get(expr) == Some(&InputSize::OfTensor);
        is_of_tensor && !self.wants_number.get() && (self.in_backward.get() || !hands_on(expr))
    }
}

/// Sizes of the graph being traced, and their symbols.
pub(super) struct Sizes<'a>(pub &'a Tracer, pub &'a ShapeEnv);

impl Sizes<'_> {
    fn call(&self, name: &str, target: Target, args: Vec<Arg>, expr: &Expr) -> Arg {
        let value = FakeValue::Int(SymInt::Sym(expr.clone(), self.1.clone()));
        let meta = Meta { value: Some(value), ..self.0.meta() };
        let id = self.0.graph.borrow_mut().call(node_name(name), target, args, Vec::new(), meta);
        if !self.0.input_sizes.borrow().contains_key(expr) {
            self.0.symbols.borrow_mut().insert(expr.clone(), id);
            self.0.own_sizes.borrow_mut().insert(expr.identity(), (expr.clone(), OwnSize::Node(id)));
        }
        Arg::Node(id)
    }

    /// The node that has this very computation of a size.
    pub(super) fn own(&self, own: &Expr, expr: &Expr) -> Option<Arg> {
        let found = self.0.own_sizes.borrow().get(&own.identity()).map(|(_, own)| *own)?;
        Some(match found {
            OwnSize::Node(id) => Arg::Node(id),
            OwnSize::OfTensor(id, dim) => self.size_of(id, dim, expr),
            OwnSize::CountOf(id) => {
                let made = self.made_of_count(id, expr);
                self.0.own_sizes.borrow_mut().insert(own.identity(), (own.clone(), OwnSize::Node(made)));
                Arg::Node(made)
            }
        })
    }

    /// The node that reads the number of elements off a tensor. Another tensor's is another, also where it is equal.
    fn made_of_count(&self, tensor: NodeId, expr: &Expr) -> NodeId {
        let value = FakeValue::Int(SymInt::Sym(expr.clone(), self.1.clone()));
        let meta = Meta { value: Some(value), ..self.0.meta() };
        let target = Target::Op("aten.sym_numel.default".into());
        self.0.graph.borrow_mut().call("sym_numel_default", target, vec![Arg::Node(tensor)], Vec::new(), meta)
    }

    fn size_of(&self, tensor: NodeId, dim: usize, expr: &Expr) -> Arg {
        let read = self.0.read_sizes.borrow().get(&(tensor, dim)).copied();
        if let Some(id) = read {
            return Arg::Node(id);
        }
        let made = self.call("sym_size_int", Target::Op("aten.sym_size.int".into()), vec![Arg::Node(tensor), Arg::Int(dim as i64)], expr);
        if let Arg::Node(id) = made {
            self.0.read_sizes.borrow_mut().insert((tensor, dim), id);
        }
        made
    }
}

impl SizeNodes for Sizes<'_> {
    fn known(&self, expr: &Expr) -> Option<Arg> {
        if expr.as_symbol().is_none()
            && let Some(arg) = self.own(expr, expr)
        {
            return Some(arg);
        }
        let known = self.0.symbols.borrow().get(expr).copied();
        if let Some(id) = known.filter(|_| !self.0.is_read_off(expr)) {
            return Some(Arg::Node(id));
        }
        let (id, dim) = self.0.sizes.borrow().get(expr).copied()?;
        Some(self.size_of(id, dim, expr))
    }

    fn rank(&self, expr: &Expr) -> u32 {
        self.0.symbols.borrow().get(expr).map_or(u32::MAX, |id| id.0)
    }

    fn emit(&self, name: &'static str, args: Vec<Arg>, expr: &Expr) -> Arg {
        self.call(name, Target::operator(name), args, expr)
    }

    fn float(&self, float: &Rc<FloatExpr>) -> Result<Arg> {
        compute_float(self.0, &SymFloat { expr: float.clone(), env: self.1.clone() })
    }
}

impl FloatNodes for Tracer {
    fn size(&self, size: &SymInt) -> Result<Arg> {
        Tracer::size(self, size)
    }

    fn known(&self, float: &SymFloat) -> Option<Arg> {
        // What is a number by now is written as one.
        if float.is_number() {
            return float.hint().map(Arg::Float);
        }
        let is_own = self.is_of_count(&float.expr) || self.own_floats.borrow().iter().any(|own| Rc::ptr_eq(own, &float.expr));
        let is_same = |e: &Rc<FloatExpr>| if is_own { Rc::ptr_eq(e, &float.expr) } else { *e == float.expr };
        self.floats.borrow().iter().find(|(e, _)| is_same(e)).map(|(_, id)| Arg::Node(*id))
    }

    fn emit(&self, name: &'static str, args: Vec<Arg>, float: &SymFloat) -> Result<Arg> {
        if name.is_empty() {
            return Err(Error::runtime(format!("the float {float} is no input of this graph")));
        }
        Ok(self.float_call(name, Target::operator(name), args, float))
    }
}
