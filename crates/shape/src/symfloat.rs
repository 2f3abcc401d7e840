//! `SymFloat`: a float that is a symbol's, or computed from sizes and such symbols.
//!
//! Arithmetic never guards. Whoever asks for the number gets it with a guard: the symbols in it are numbers from then on.

use super::{Expr, Relation, ShapeEnv, SymInt, Symbol};
use diagnostics::error::{Error, Result};
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
    /// Arithmetic, by its name in Python's `operator` module, or the larger or smaller of two (`sym_max`, `sym_min`).
    Binary(&'static str, Rc<FloatExpr>, Rc<FloatExpr>),
    /// A function of Python's `math` module, one of [`FUNCTIONS`].
    Function(&'static str, Rc<FloatExpr>),
    /// Rounded to so many digits.
    Round(Rc<FloatExpr>, i32),
    /// The opposite.
    Neg(Rc<FloatExpr>),
}

/// Functions of Python's `math` module that PyTorch has symbols for: their names, and what graphs call.
pub const FUNCTIONS: [(&str, &str); 11] = [
    ("sqrt", "_sym_sqrt"),
    ("cos", "_sym_cos"),
    ("cosh", "_sym_cosh"),
    ("sin", "_sym_sin"),
    ("sinh", "_sym_sinh"),
    ("tan", "_sym_tan"),
    ("tanh", "_sym_tanh"),
    ("asin", "_sym_asin"),
    ("acos", "_sym_acos"),
    ("atan", "_sym_atan"),
    ("log2", "_sym_log2"),
];

/// A number as sympy writes it: with 15 digits.
fn digits(n: f64) -> String {
    let exact = format!("{n:?}");
    let rounded: f64 = format!("{n:.14e}").parse().unwrap_or(n);
    if !n.is_finite() {
        return exact;
    }
    let text = format!("{rounded:?}");
    match text.split_once('e') {
        // A mantissa always has its point, and a power its sign.
        Some((mantissa, power)) => {
            let point = if mantissa.contains('.') { "" } else { ".0" };
            let sign = if power.starts_with('-') { "" } else { "+" };
            format!("{mantissa}{point}e{sign}{power}")
        }
        None => text,
    }
}

fn function(name: &str, x: f64) -> f64 {
    match name {
        "cos" => x.cos(),
        "cosh" => x.cosh(),
        "sin" => x.sin(),
        "sinh" => x.sinh(),
        "tan" => x.tan(),
        "tanh" => x.tanh(),
        "asin" => x.asin(),
        "acos" => x.acos(),
        "atan" => x.atan(),
        "log2" => x.log2(),
        _ => x.sqrt(),
    }
}

/// Python's `round(x, digits)`: the decimal number nearest to what the float is exactly.
fn rounded_to(x: f64, digits: i32) -> f64 {
    match usize::try_from(digits) {
        Ok(digits) => format!("{x:.digits$}").parse().unwrap_or(x),
        Err(_) => {
            let unit = 10f64.powi(-digits);
            (x / unit).round_ties_even() * unit
        }
    }
}

/// How a float becomes an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rounding {
    /// Up.
    Ceil,
    /// Down.
    Floor,
    /// Towards zero.
    Trunc,
    /// To the nearest, of two to the even one.
    Round,
}

impl Rounding {
    /// By its name in Python's `math` module; `round` without digits has a name of its own.
    pub fn named(name: &str) -> Option<Rounding> {
        Some(match name {
            "ceil" => Rounding::Ceil,
            "floor" => Rounding::Floor,
            "trunc" => Rounding::Trunc,
            "round_to_int" => Rounding::Round,
            _ => return None,
        })
    }

    /// The function that PyTorch's graphs call.
    pub fn function(self) -> &'static str {
        match self {
            Rounding::Ceil => "math_ceil",
            Rounding::Floor => "math_floor",
            Rounding::Trunc => "math_trunc",
            Rounding::Round => "round",
        }
    }

    /// The rounded number; `None` where no integer holds it.
    pub fn apply(self, f: f64) -> Option<i64> {
        let whole = match self {
            Rounding::Ceil => f.ceil(),
            Rounding::Floor => f.floor(),
            Rounding::Trunc => f.trunc(),
            Rounding::Round => f.round_ties_even(),
        };
        (whole.abs() < i64::MAX as f64).then_some(whole as i64)
    }
}

/// An integer that a float was rounded to. Two are equal, and ordered, as they are written.
#[derive(Clone, Debug)]
pub struct Rounded(pub Rounding, pub Rc<FloatExpr>);

impl PartialEq for Rounded {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 && self.1 == other.1
    }
}

impl Eq for Rounded {}

impl std::hash::Hash for Rounded {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.to_string().hash(state);
    }
}

impl PartialOrd for Rounded {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rounded {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}ToInt({})", self.0, self.1)
    }
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
            FloatExpr::Function(name, a) => function(name, a.evaluate(ints, floats)?),
            FloatExpr::Round(a, digits) => rounded_to(a.evaluate(ints, floats)?, *digits),
            FloatExpr::Neg(a) => -a.evaluate(ints, floats)?,
            FloatExpr::Binary(name, a, b) => apply(name, a.evaluate(ints, floats)?, b.evaluate(ints, floats)?),
        })
    }

    /// The expression with sizes and floats replaced.
    pub fn substitute(&self, with: &dyn Fn(&Symbol) -> Option<Expr>, floats: &dyn Fn(&Symbol) -> Option<f64>) -> FloatExpr {
        let part = |e: &Rc<FloatExpr>| Rc::new(e.substitute(with, floats));
        let size = |e: &Expr| e.substitute_all(with, floats);
        match self {
            FloatExpr::Symbol(s) => floats(s).map_or_else(|| self.clone(), FloatExpr::Number),
            FloatExpr::Number(_) => self.clone(),
            FloatExpr::ToFloat(e) => FloatExpr::ToFloat(size(e)),
            FloatExpr::IntTrueDiv(a, b) => FloatExpr::IntTrueDiv(size(a), size(b)),
            FloatExpr::Function(name, a) => FloatExpr::Function(name, part(a)),
            FloatExpr::Round(a, digits) => FloatExpr::Round(part(a), *digits),
            FloatExpr::Neg(a) => FloatExpr::Neg(part(a)),
            FloatExpr::Binary(name, a, b) => FloatExpr::Binary(name, part(a), part(b)),
        }
    }

    /// The symbols of sizes in it.
    pub fn sizes(&self) -> std::collections::BTreeSet<Symbol> {
        let mut found = std::collections::BTreeSet::new();
        self.each(&mut |e| found.extend(e.symbols()), &mut |_| {});
        found
    }

    /// The symbols of floats in it.
    pub fn floats(&self) -> std::collections::BTreeSet<Symbol> {
        let mut found = std::collections::BTreeSet::new();
        let mut of_sizes = std::collections::BTreeSet::new();
        let mut note = |s: &Symbol| {
            found.insert(s.clone());
        };
        self.each(&mut |e| of_sizes.extend(e.floats()), &mut note);
        found.extend(of_sizes);
        found
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
            FloatExpr::Function(_, a) | FloatExpr::Round(a, _) | FloatExpr::Neg(a) => a.each(int, float),
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
        "sym_max" => a.max(b),
        "sym_min" => a.min(b),
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

    /// A function of Python's `math` module; `None` where it is none of [`FUNCTIONS`].
    pub fn function(&self, name: &str) -> Option<SymFloat> {
        let (name, _) = FUNCTIONS.into_iter().find(|(known, _)| *known == name)?;
        Some(SymFloat { expr: Rc::new(FloatExpr::Function(name, self.expr.clone())), env: self.env.clone() })
    }

    /// Rounded to so many digits.
    pub fn rounded_to(&self, digits: i32) -> SymFloat {
        SymFloat { expr: Rc::new(FloatExpr::Round(self.expr.clone(), digits)), env: self.env.clone() }
    }

    /// The integer that it is rounded to.
    pub fn rounded(&self, rounding: Rounding) -> SymInt {
        SymInt::Sym(Expr::rounded(Rounded(rounding, self.expr.clone())), self.env.clone())
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

    /// Whether it is computed from a float of the call.
    pub fn has(&self, symbol: &Symbol) -> bool {
        let mut found = false;
        self.expr.each(&mut |_| {}, &mut |s| found |= s == symbol);
        found
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
            (None, Some(f)) => {
                if !matches!(*self.expr, FloatExpr::Number(_)) {
                    self.env.guard_floats(self.expr.clone(), Relation::Eq, Rc::new(FloatExpr::Number(f)));
                }
                Ok(f)
            }
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
        let holds = relation.holds(a, b);
        self.env.guard_floats(self.expr.clone(), if holds { relation } else { relation.negated() }, right.expr);
        Ok(holds)
    }
}

impl FloatExpr {
    /// The larger or smaller of two is asked of them in sympy's order: numbers come first, then symbols in theirs.
    pub fn in_order<'a>(a: &'a Rc<FloatExpr>, b: &'a Rc<FloatExpr>) -> (&'a Rc<FloatExpr>, &'a Rc<FloatExpr>) {
        let key = |e: &FloatExpr| (!matches!(e, FloatExpr::Number(_)), e.to_string());
        if key(a) <= key(b) { (a, b) } else { (b, a) }
    }
}

impl fmt::Display for FloatExpr {
    /// As sympy writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |e: &FloatExpr| match e {
            FloatExpr::Binary("add" | "sub" | "truediv", ..) | FloatExpr::IntTrueDiv(..) => format!("({e})"),
            _ => e.to_string(),
        };
        let term = |e: &FloatExpr| match e {
            FloatExpr::Binary("truediv", ..) | FloatExpr::IntTrueDiv(..) => format!("({e})"),
            _ => e.to_string(),
        };
        match self {
            FloatExpr::Symbol(s) => f.write_str(&s.0),
            FloatExpr::Number(n) => f.write_str(&digits(*n)),
            FloatExpr::ToFloat(e) => write!(f, "ToFloat({e})"),
            FloatExpr::IntTrueDiv(a, b) => write!(f, "IntTrueDiv({a}, {b})"),
            FloatExpr::Function(name, a) => write!(f, "OpaqueUnaryFn_{name}({a})"),
            FloatExpr::Round(a, digits) => write!(f, "RoundDecimal({a}, {digits})"),
            FloatExpr::Neg(a) => write!(f, "-{}", side(a)),
            FloatExpr::Binary("truediv", a, b) => write!(f, "FloatTrueDiv({a}, {b})"),
            FloatExpr::Binary("pow", a, b) => write!(f, "FloatPow({a}, {b})"),
            FloatExpr::Binary(name @ ("sym_max" | "sym_min"), a, b) => {
                let (first, second) = FloatExpr::in_order(a, b);
                write!(f, "{}({first}, {second})", if *name == "sym_max" { "Max" } else { "Min" })
            }
            // A number is multiplied into a sum.
            FloatExpr::Binary("mul", a, b)
                if let (FloatExpr::Number(n), sum) | (sum, FloatExpr::Number(n)) = (&**a, &**b)
                    && let FloatExpr::Binary(name @ ("add" | "sub"), x, y) = sum =>
            {
                let times = |e: &Rc<FloatExpr>| match &**e {
                    FloatExpr::Number(m) => FloatExpr::Number(n * m),
                    _ => FloatExpr::Binary("mul", Rc::new(FloatExpr::Number(*n)), e.clone()),
                };
                FloatExpr::Binary(name, Rc::new(times(x)), Rc::new(times(y))).fmt(f)
            }
            FloatExpr::Binary("sub", a, b) if let FloatExpr::Number(n) = **b => {
                FloatExpr::Binary("add", a.clone(), Rc::new(FloatExpr::Number(-n))).fmt(f)
            }
            // Symbols of a difference are in the order of their names.
            FloatExpr::Binary("sub", a, b)
                if let (FloatExpr::Symbol(x), FloatExpr::Symbol(y)) = (&**a, &**b)
                    && y.0 < x.0 =>
            {
                write!(f, "-{b} + {a}")
            }
            FloatExpr::Binary("add", a, b)
                if let FloatExpr::Number(n) = **b
                    && n < 0.0 =>
            {
                write!(f, "{} - {}", term(a), digits(-n))
            }
            FloatExpr::Binary("mul", a, b) if matches!(**b, FloatExpr::Number(_)) => write!(f, "{b}*{}", side(a)),
            FloatExpr::Binary("mul", a, b) => write!(f, "{}*{}", side(a), side(b)),
            FloatExpr::Binary("sub", a, b) => write!(f, "{} - {}", term(a), side(b)),
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
