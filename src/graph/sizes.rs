//! The nodes that compute a symbolic size: made where a graph first needs them.

use super::{Arg, Target};
use crate::error::{Error, Result};
use crate::shape::{Atom, Expr, FloatExpr, SymFloat, SymInt};
use std::rc::Rc;

/// A graph being made, as far as sizes go.
pub trait SizeNodes {
    /// What is the size already: an input, a tensor's size, a node made before.
    fn known(&self, expr: &Expr) -> Option<Arg>;
    /// Adds a call that computes the size.
    fn emit(&self, name: &'static str, args: Vec<Arg>, expr: &Expr) -> Arg;
}

impl Target {
    /// Arithmetic by its name in Python's `operator` module.
    pub fn operator(name: &str) -> Self {
        Target::Operator(name.into())
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
    for (atoms, coefficient) in expr.terms() {
        let (mut symbols, others): (Vec<_>, Vec<_>) = atoms.iter().partition(|(a, _)| matches!(a, Atom::Symbol(_)));
        // Sizes in the order of the graph's inputs.
        symbols.sort_by_key(|(atom, _)| match nodes.known(&Expr::from_atom(atom)) {
            Some(Arg::Node(id)) => id.0,
            _ => u32::MAX,
        });
        let mut term: Option<(Arg, Expr)> = None;
        // A factor's own node comes right before its product.
        let times = |term: &mut Option<(Arg, Expr)>, factor: (Arg, Expr)| {
            *term = Some(match term.take() {
                Some(t) => combine(nodes, "mul", t, factor, Expr::mul),
                None => factor,
            });
        };
        for (atom, power) in symbols {
            let arg = factor(nodes, atom)?;
            (0..*power).for_each(|_| times(&mut term, (arg.clone(), Expr::from_atom(atom))));
        }
        if coefficient != 1 || atoms.is_empty() {
            times(&mut term, (Arg::Int(coefficient), Expr::from(coefficient)));
        }
        for (atom, power) in others {
            let arg = factor(nodes, atom)?;
            (0..*power).for_each(|_| times(&mut term, (arg.clone(), Expr::from_atom(atom))));
        }
        sum = match (sum, term) {
            (Some(a), Some(b)) => Some(combine(nodes, "add", a, b, Expr::add)),
            (a, b) => a.or(b),
        };
    }
    Ok(sum.map_or(Arg::Int(0), |(arg, _)| arg))
}

fn combine(nodes: &dyn SizeNodes, name: &'static str, a: (Arg, Expr), b: (Arg, Expr), op: fn(&Expr, &Expr) -> Expr) -> (Arg, Expr) {
    let expr = op(&a.1, &b.1);
    (nodes.known(&expr).unwrap_or_else(|| nodes.emit(name, vec![a.0, b.0], &expr)), expr)
}

fn factor(nodes: &dyn SizeNodes, atom: &Atom) -> Result<Arg> {
    let expr = Expr::from_atom(atom);
    if let Some(arg) = nodes.known(&expr) {
        return Ok(arg);
    }
    let (name, a, b) = match atom {
        Atom::Symbol(_) => return Err(Error::runtime(format!("the size {expr} is not computed in this graph"))),
        Atom::FloorDiv(a, b) => ("floordiv", a, b),
        Atom::Mod(a, b) => ("mod", a, b),
        Atom::Max(a, b) => ("sym_max", a, b),
        Atom::Min(a, b) => ("sym_min", a, b),
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
        FloatExpr::Sqrt(a) => nodes.emit("_sym_sqrt", vec![part(a)?], float),
        FloatExpr::Binary(name, a, b) => nodes.emit(name, vec![part(a)?, part(b)?], float),
    }
}
