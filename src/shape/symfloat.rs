//! `SymFloat`: a float that is a symbol's, or computed from sizes and such symbols.
//!
//! Arithmetic never guards. Whoever asks for the number gets it with a guard: the symbols in it are numbers from then on.

use super::{Expr, Relation, ShapeEnv, SymInt, Symbol};
use crate::error::{Error, Result};
use std::fmt;
use std::rc::Rc;

/// What a float is computed from.
#[derive(Clone, Debug, PartialEq)]
pub enum FloatExpr {
    /// A float of the call: `zf19`.
    Symbol(Symbol),
    /// A number.
    Number(f64),
    /// A size as a float.
    ToFloat(Expr),
    /// Python's `a / b` of two sizes.
    IntTrueDiv(Expr, Expr),
    /// Arithmetic, by its name in Python's `operator` module.
    Binary(&'static str, Rc<FloatExpr>, Rc<FloatExpr>),
    /// The square root.
    Sqrt(Rc<FloatExpr>),
}

/// A symbolic float.
#[derive(Clone)]
pub struct SymFloat {
    /// What it is computed from.
    pub expr: Rc<FloatExpr>,
    /// Where its symbols are known.
    pub env: ShapeEnv,
}

impl FloatExpr {
    /// The value where sizes and floats have these values.
    pub fn evaluate(&self, ints: &dyn Fn(&Symbol) -> Option<i64>, floats: &dyn Fn(&Symbol) -> Option<f64>) -> Option<f64> {
        Some(match self {
            FloatExpr::Symbol(s) => floats(s)?,
            FloatExpr::Number(f) => *f,
            FloatExpr::ToFloat(e) => e.evaluate(ints)? as f64,
            FloatExpr::IntTrueDiv(a, b) => a.evaluate(ints)? as f64 / b.evaluate(ints)? as f64,
            FloatExpr::Sqrt(a) => a.evaluate(ints, floats)?.sqrt(),
            FloatExpr::Binary(name, a, b) => apply(name, a.evaluate(ints, floats)?, b.evaluate(ints, floats)?),
        })
    }

    fn each(&self, int: &mut dyn FnMut(&Expr), float: &mut dyn FnMut(&Symbol)) {
        match self {
            FloatExpr::Symbol(s) => float(s),
            FloatExpr::Number(_) => {}
            FloatExpr::ToFloat(e) => int(e),
            FloatExpr::IntTrueDiv(a, b) => {
                int(a);
                int(b);
            }
            FloatExpr::Sqrt(a) => a.each(int, float),
            FloatExpr::Binary(_, a, b) => {
                a.each(int, float);
                b.each(int, float);
            }
        }
    }
}

fn apply(name: &str, a: f64, b: f64) -> f64 {
    match name {
        "sub" => a - b,
        "mul" => a * b,
        "truediv" => a / b,
        "pow" => a.powf(b),
        _ => a + b,
    }
}

impl SymFloat {
    /// Arithmetic by its name in Python's `operator` module.
    pub fn binary(name: &'static str, a: &FloatExpr, b: &FloatExpr, env: &ShapeEnv) -> SymFloat {
        let expr = match (a, b) {
            (FloatExpr::Number(a), FloatExpr::Number(b)) => FloatExpr::Number(apply(name, *a, *b)),
            _ => FloatExpr::Binary(name, Rc::new(a.clone()), Rc::new(b.clone())),
        };
        SymFloat { expr: Rc::new(expr), env: env.clone() }
    }

    /// Python's `a / b` of two sizes.
    pub fn quotient(a: &SymInt, b: &SymInt) -> Option<SymFloat> {
        let env = [a, b].into_iter().find_map(|s| if let SymInt::Sym(_, env) = s { Some(env.clone()) } else { None })?;
        Some(SymFloat { expr: Rc::new(FloatExpr::IntTrueDiv(a.expr(), b.expr())), env })
    }

    /// A size as a float.
    pub fn of_size(size: &SymInt) -> Option<SymFloat> {
        let SymInt::Sym(expr, env) = size else { return None };
        Some(SymFloat { expr: Rc::new(FloatExpr::ToFloat(expr.clone())), env: env.clone() })
    }

    /// The square root.
    pub fn sqrt(&self) -> SymFloat {
        SymFloat { expr: Rc::new(FloatExpr::Sqrt(self.expr.clone())), env: self.env.clone() }
    }

    /// The number in the call being compiled.
    pub fn hint(&self) -> Option<f64> {
        let learned = self.env.learned_float(&self.expr);
        learned.or_else(|| self.expr.evaluate(&|s| self.env.info(s)?.hint, &|s| self.env.float(s)))
    }

    /// Whether the number of every float in it was needed.
    pub fn is_number(&self) -> bool {
        let (mut sizes, mut number, mut floats) = (false, true, false);
        self.expr.each(&mut |e| sizes |= e.as_int().is_none(), &mut |s| {
            floats = true;
            number &= self.env.is_needed(s);
        });
        !sizes && floats && number
    }

    /// Floats of the call in it are numbers from now on.
    pub fn needs_numbers(&self) {
        self.expr.each(&mut |_| {}, &mut |s| self.env.specialize_float(s));
    }

    /// The number; its symbols are numbers from now on, with guards.
    pub fn guard_float(&self) -> Result<f64> {
        let mut failed = None;
        let mut specialize = |e: &Expr| {
            if let Err(e) = self.env.specialize(e) {
                failed = Some(e);
            }
        };
        self.expr.each(&mut specialize, &mut |s| self.env.specialize_float(s));
        match (failed, self.hint()) {
            (None, Some(f)) => Ok(f),
            (Some(e), _) => Err(e),
            (None, None) => Err(Error::runtime(format!("the float {self} is known only when the program runs"))),
        }
    }

    /// Whether a relation holds in the call being compiled, with a guard.
    pub fn compare(&self, relation: Relation, other: &FloatExpr) -> Result<bool> {
        let right = SymFloat { expr: Rc::new(other.clone()), env: self.env.clone() };
        let (Some(a), Some(b)) = (self.hint(), right.hint()) else {
            return Err(Error::runtime(format!("Could not guard on data-dependent expression {self} {} {right}", relation.text())));
        };
        let holds = relation.holds_for(a, b);
        self.env.guard_floats(self.expr.clone(), if holds { relation } else { relation.negated() }, right.expr);
        Ok(holds)
    }
}

impl fmt::Display for FloatExpr {
    /// As sympy writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |e: &FloatExpr| match e {
            FloatExpr::Binary("add" | "sub", ..) | FloatExpr::IntTrueDiv(..) => format!("({e})"),
            _ => e.to_string(),
        };
        match self {
            FloatExpr::Symbol(s) => f.write_str(&s.0),
            FloatExpr::Number(n) => write!(f, "{n:?}"),
            FloatExpr::ToFloat(e) => write!(f, "ToFloat({e})"),
            FloatExpr::IntTrueDiv(a, b) => write!(f, "IntTrueDiv({a}, {b})"),
            FloatExpr::Sqrt(a) => write!(f, "OpaqueUnaryFn_sqrt({a})"),
            FloatExpr::Binary("truediv", a, b) => write!(f, "FloatTrueDiv({a}, {b})"),
            FloatExpr::Binary("pow", a, b) => write!(f, "FloatPow({a}, {b})"),
            FloatExpr::Binary("mul", a, b) => write!(f, "{}*{}", side(a), side(b)),
            FloatExpr::Binary("sub", a, b) => write!(f, "{a} - {}", side(b)),
            // A number comes last.
            FloatExpr::Binary(_, a, b) if matches!(**a, FloatExpr::Number(_)) => write!(f, "{b} + {a}"),
            FloatExpr::Binary(_, a, b) => write!(f, "{a} + {b}"),
        }
    }
}

impl fmt::Display for SymFloat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}

impl fmt::Debug for SymFloat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}
