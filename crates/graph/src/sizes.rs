//! The nodes that compute a symbolic size: made where a graph first needs them, and made one where they are equal.

use super::{Arg, FakeValue, Graph, Node, NodeId, Opcode, Target};
use diagnostics::error::{Error, Result};
use shape::{Atom, Expr, FUNCTIONS, FloatExpr, Rounded, Rounding, SymFloat, SymInt};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A graph being made, as far as sizes go.
pub trait SizeNodes {
    /// What is the size already: an input, a tensor's size, a node made before.
    fn known(&self, expr: &Expr) -> Option<Arg>;
    /// Where a symbol stands among the factors of a product: in the order of the graph's inputs.
    fn rank(&self, expr: &Expr) -> u32;
    /// Adds a call that computes the size.
    fn emit(&self, name: &'static str, args: Vec<Arg>, expr: &Expr) -> Arg;
    /// Adds a call that computes a sum of several at once; `None` where sums are computed step by step. Who has it computes what is
    /// read off results as Dynamo does, in sympy's order.
    fn emit_sum(&self, _terms: Vec<Arg>, _expr: &Expr) -> Option<Arg> {
        None
    }
    /// Whether numbers come first in products.
    fn number_first(&self) -> bool {
        false
    }
    /// The argument that stands for a float.
    fn float(&self, float: &Rc<FloatExpr>) -> Result<Arg>;
}

/// The name that a node gets for a call of arithmetic: functions of Python's `math` are named without the module.
pub fn node_name(operator: &str) -> &str {
    operator.strip_prefix("math_").unwrap_or(operator)
}

impl Target {
    /// Arithmetic by its name in Python's `operator` module, or a function of `math`.
    pub fn operator(name: &str) -> Self {
        Target::Operator(name.into())
    }
}

fn value(atom: &Atom) -> Expr {
    match atom {
        Atom::Sum(sum) => sum.clone(),
        other => Expr::from_atom(other),
    }
}

/// The argument that stands for a size. In a product sizes come first, then the number, then quotients.
pub fn compute(nodes: &dyn SizeNodes, expr: &Expr) -> Result<Arg> {
    if let Some(i) = expr.as_int() {
        return Ok(Arg::Int(i));
    }
    if let Some(arg) = nodes.known(expr) {
        return Ok(arg);
    }
    let mut sum: Option<(Arg, Expr)> = None;
    let mut terms = Vec::new();
    let mut parts: Vec<_> = expr.terms().collect();
    if nodes.number_first() {
        // Bare symbols come before products, as sympy has them.
        parts.sort_by_key(|(atoms, coefficient)| match atoms {
            [] => 0,
            [(Atom::Symbol(_), 1)] if *coefficient == 1 => 1,
            _ => 2,
        });
    }
    for (atoms, coefficient) in parts {
        let (mut symbols, others): (Vec<_>, Vec<_>) = atoms.iter().partition(|(a, _)| matches!(a, Atom::Symbol(_)));
        // Sizes in the order of the graph's inputs.
        if !nodes.number_first() {
            symbols.sort_by_key(|(atom, _)| nodes.rank(&Expr::from_atom(atom)));
        }
        let mut term: Option<(Arg, Expr)> = None;
        // A factor's own node comes right before its product.
        let times = |term: &mut Option<(Arg, Expr)>, factor: (Arg, Expr)| {
            *term = Some(match term.take() {
                Some(t) => combine(nodes, "mul", t, factor, Expr::mul),
                None => factor,
            });
        };
        let number = |term: &mut Option<(Arg, Expr)>| {
            if coefficient != 1 || atoms.is_empty() {
                times(term, (Arg::Int(coefficient), Expr::from(coefficient)));
            }
        };
        if nodes.number_first() {
            number(&mut term);
        }
        for (atom, power) in symbols {
            let arg = factor(nodes, atom)?;
            (0..*power).for_each(|_| times(&mut term, (arg.clone(), value(atom))));
        }
        if !nodes.number_first() {
            number(&mut term);
        }
        for (atom, power) in others {
            let arg = factor(nodes, atom)?;
            (0..*power).for_each(|_| times(&mut term, (arg.clone(), value(atom))));
        }
        terms.extend(term.as_ref().map(|(arg, _)| arg.clone()));
        if nodes.number_first() {
            continue;
        }
        sum = match (sum, term) {
            (Some(a), Some(b)) => Some(combine(nodes, "add", a, b, Expr::add)),
            (a, b) => a.or(b),
        };
    }
    match (nodes.number_first(), terms.len()) {
        (true, 1) => Ok(terms.remove(0)),
        (true, _) => nodes.emit_sum(terms, expr).ok_or_else(|| Error::runtime(format!("the sum {expr} is not computed in this graph"))),
        _ => Ok(sum.map_or(Arg::Int(0), |(arg, _)| arg)),
    }
}

fn combine(nodes: &dyn SizeNodes, name: &'static str, a: (Arg, Expr), b: (Arg, Expr), op: fn(&Expr, &Expr) -> Expr) -> (Arg, Expr) {
    let expr = op(&a.1, &b.1);
    (nodes.known(&expr).unwrap_or_else(|| nodes.emit(name, vec![a.0, b.0], &expr)), expr)
}

fn factor(nodes: &dyn SizeNodes, atom: &Atom) -> Result<Arg> {
    if let Atom::Sum(e) = atom {
        return compute(nodes, e);
    }
    let expr = Expr::from_atom(atom);
    if let Some(arg) = nodes.known(&expr) {
        return Ok(arg);
    }
    let fold = |name: &'static str, items: &[Expr], op: fn(&Expr, &Expr) -> Expr| {
        let (first, others) = items.split_first().ok_or_else(|| Error::runtime("nothing to compare"))?;
        let start = (compute(nodes, first)?, first.clone());
        others.iter().try_fold(start, |so_far, e| Ok(combine(nodes, name, so_far, (compute(nodes, e)?, e.clone()), op))).map(|(arg, _)| arg)
    };
    let (name, a, b) = match atom {
        Atom::Rounded(Rounded(rounding, float)) => {
            // `round` says that there are no digits.
            let digits = (*rounding == Rounding::Round).then_some(Arg::None);
            let args = [nodes.float(float)?].into_iter().chain(digits).collect();
            return Ok(nodes.emit(rounding.function(), args, &expr));
        }
        Atom::Max(items) => return fold("sym_max", items, Expr::larger),
        Atom::Min(items) => return fold("sym_min", items, Expr::smaller),
        Atom::Symbol(_) | Atom::Sum(_) => return Err(Error::runtime(format!("the size {expr} is not computed in this graph"))),
        Atom::FloorDiv(a, b) => ("floordiv", a, b),
        Atom::Mod(a, b) | Atom::PythonMod(a, b) => ("mod", a, b),
        Atom::Power(a, b) => ("pow", a, b),
        Atom::Abs(e) => {
            let arg = compute(nodes, e)?;
            return Ok(nodes.emit("abs", vec![arg], &expr));
        }
        Atom::Bitwise(op, a, b) => (op.function(), a, b),
    };
    Ok(nodes.emit(name, vec![compute(nodes, a)?, compute(nodes, b)?], &expr))
}

/// A graph being made, as far as symbolic floats go.
pub trait FloatNodes {
    /// The argument that stands for a size.
    fn size(&self, size: &SymInt) -> Result<Arg>;
    /// What is the float already.
    fn known(&self, float: &SymFloat) -> Option<Arg>;
    /// Adds a call that computes the float; with the name of nothing, the float is one of the call.
    fn emit(&self, name: &'static str, args: Vec<Arg>, float: &SymFloat) -> Result<Arg>;
}

/// The argument that stands for a float.
pub fn compute_float(nodes: &dyn FloatNodes, float: &SymFloat) -> Result<Arg> {
    if let Some(arg) = nodes.known(float) {
        return Ok(arg);
    }
    let part = |expr: &Rc<FloatExpr>| compute_float(nodes, &SymFloat { expr: expr.clone(), env: float.env.clone() });
    let size = |expr: &Expr| match expr.as_int() {
        Some(i) => Ok(Arg::Int(i)),
        None => nodes.size(&SymInt::Sym(expr.clone(), float.env.clone())),
    };
    match &*float.expr {
        FloatExpr::Number(f) => Ok(Arg::Float(*f)),
        FloatExpr::Symbol(_) => nodes.emit("", Vec::new(), float),
        FloatExpr::ToFloat(e) => nodes.emit("sym_float", vec![size(e)?], float),
        FloatExpr::IntTrueDiv(a, b) => nodes.emit("truediv", vec![size(a)?, size(b)?], float),
        FloatExpr::Function(name, a) => {
            let called = FUNCTIONS.into_iter().find(|(known, _)| known == name).map_or(*name, |(_, called)| called);
            nodes.emit(called, vec![part(a)?], float)
        }
        FloatExpr::Round(a, digits) => nodes.emit("round", vec![part(a)?, Arg::Int(i64::from(*digits))], float),
        FloatExpr::Neg(a) => nodes.emit("neg", vec![part(a)?], float),
        FloatExpr::Binary(name, a, b) => nodes.emit(name, vec![part(a)?, part(b)?], float),
    }
}

impl Graph {
    /// Makes equal sizes and conditions on them one node: the first that depends on inputs that are sizes alone stands for those that follow.
    pub fn unify_sizes(&mut self) {
        let size = |n: &Node| match &n.meta.value {
            Some(FakeValue::Int(size)) if size.as_int().is_none() => Some(Ok(size.expr())),
            Some(FakeValue::Condition(text)) => Some(Err(text.clone())),
            _ => None,
        };
        let is_read_off = |n: &Node| matches!(n.target, Target::Operator(_)) || n.op() == Some("aten.sym_size.int");
        let (mut first, mut of_inputs) = (HashMap::<std::result::Result<Expr, Rc<str>>, NodeId>::new(), HashSet::new());
        let mut again = Vec::new();
        for node in self.nodes() {
            let Some(expr) = size(node) else { continue };
            let known = first.get(&expr).copied();
            match (node.opcode, known) {
                (Opcode::Placeholder, _) => {
                    of_inputs.insert(node.id);
                    first.insert(expr, node.id);
                }
                (_, Some(known)) if is_read_off(node) => {
                    of_inputs.insert(node.id);
                    again.push((node.id, known));
                }
                _ if node.inputs().iter().all(|i| of_inputs.contains(i)) => {
                    of_inputs.insert(node.id);
                    first.insert(expr, node.id);
                }
                _ => {}
            }
        }
        for (id, known) in again {
            self.replace_uses(id, &Arg::Node(known));
            self.erase(id);
        }
    }
}
