//! `SymInt`: a size that is a number, or an expression in a [`ShapeEnv`].

use super::{Bitwise, Expr, Operation, Relation, ShapeEnv, Symbol};
use diagnostics::error::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::fmt;
use std::ops::{Add, Mul, Sub};

/// A size. Arithmetic never guards; comparison may, and may fail.
#[derive(Clone)]
pub enum SymInt {
    /// A number.
    Int(i64),
    /// An expression over the symbols of an environment.
    Sym(Expr, ShapeEnv),
}

impl From<i64> for SymInt {
    fn from(value: i64) -> Self {
        SymInt::Int(value)
    }
}

impl Default for SymInt {
    fn default() -> Self {
        SymInt::Int(0)
    }
}

impl SymInt {
    /// The number, where it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            SymInt::Int(i) => Some(*i),
            SymInt::Sym(..) => None,
        }
    }

    /// The expression.
    pub fn expr(&self) -> Expr {
        match self {
            SymInt::Int(i) => Expr::from(*i),
            SymInt::Sym(e, env) => env.simplify(e),
        }
    }

    fn env2<'a>(&'a self, other: &'a SymInt) -> Option<&'a ShapeEnv> {
        match (self, other) {
            (SymInt::Sym(_, env), _) | (_, SymInt::Sym(_, env)) => Some(env),
            _ => None,
        }
    }

    fn of(expr: Expr, env: &ShapeEnv) -> SymInt {
        match expr.as_int() {
            Some(i) => SymInt::Int(i),
            None => SymInt::Sym(expr, env.clone()),
        }
    }

    fn combine(&self, other: &SymInt, operation: Operation, op: impl Fn(&Expr, &Expr) -> Expr) -> SymInt {
        match self.env2(other) {
            Some(env) => {
                let (left, right) = (self.expr(), other.expr());
                let result = op(&left, &right);
                env.note_computed(operation, &left, &right, &result);
                SymInt::of(result, env)
            }
            None => SymInt::Int(op(&self.expr(), &other.expr()).as_int().unwrap_or_default()),
        }
    }

    /// Python's `self // other`.
    pub fn floor_div(&self, other: &SymInt) -> Result<SymInt> {
        if other.as_int() == Some(0) {
            return Err(Error::new(ErrorKind::ZeroDivision, "integer division or modulo by zero"));
        }
        Ok(match (self, other) {
            (SymInt::Int(a), SymInt::Int(b)) => {
                SymInt::Int(a.wrapping_div(*b) - i64::from(a.wrapping_rem(*b) != 0 && ((*a < 0) != (*b < 0))))
            }
            _ => self.combine(other, Operation::FloorDiv, Expr::floor_div),
        })
    }

    /// Python's `self ** exponent`, of an exponent that is not negative.
    pub fn to_the(&self, exponent: &SymInt) -> SymInt {
        self.combine(exponent, Operation::Power, Expr::to_the)
    }

    /// What the function of this name in Python's `operator` module, or in torch, makes of integers; of those of one argument, the
    /// second is not read. `None` for another name.
    ///
    /// # Errors
    ///
    /// Where the divisor is zero.
    pub fn calculated(operator: &str, a: &SymInt, b: &SymInt) -> Result<Option<SymInt>> {
        let power = || SymInt::Int(2).to_the(b);
        Ok(Some(match operator {
            "add" => a + b,
            "sub" => a - b,
            "mul" => a * b,
            "floordiv" => a.floor_div(b)?,
            "mod" => a.modulo(b)?,
            "sym_max" => a.max(b),
            "sym_min" => a.min(b),
            "neg" => &SymInt::Int(0) - a,
            "abs" => a.magnitude(),
            "pow" => a.to_the(b),
            "lshift" => a * &power(),
            "rshift" => a.floor_div(&power())?,
            other => match Bitwise::ALL.into_iter().find(|op| op.function() == other) {
                Some(op) => a.bitwise(op, b),
                None => return Ok(None),
            },
        }))
    }

    /// The distance from zero: the number or its negative, where its sign is known.
    pub fn magnitude(&self) -> SymInt {
        match self {
            SymInt::Int(i) => SymInt::Int(i.wrapping_abs()),
            SymInt::Sym(expr, env) => match env.bounds(expr) {
                (Some(0..), _) => self.clone(),
                (_, Some(..=0)) => &SymInt::Int(0) - self,
                _ => SymInt::of(expr.magnitude(), env),
            },
        }
    }

    /// An operation on the bits of both.
    pub fn bitwise(&self, op: Bitwise, other: &SymInt) -> SymInt {
        let result = self.expr().bitwise(op, &other.expr());
        match self.env2(other) {
            Some(env) => SymInt::of(result, env),
            None => SymInt::Int(result.as_int().unwrap_or_default()),
        }
    }

    /// Python's `self % other`.
    pub fn modulo(&self, other: &SymInt) -> Result<SymInt> {
        if other.as_int() == Some(0) {
            return Err(Error::new(ErrorKind::ZeroDivision, "integer division or modulo by zero"));
        }
        if let (SymInt::Int(a), SymInt::Int(b)) = (self, other) {
            let rest = a.wrapping_rem(*b);
            return Ok(SymInt::Int(if rest != 0 && ((rest < 0) != (*b < 0)) { rest + b } else { rest }));
        }
        let is_natural = |size: &SymInt| match size {
            SymInt::Sym(_, env) => size.is_above(false) || env.bounds(&size.expr()).0.is_some_and(|least| least >= 0),
            SymInt::Int(i) => *i >= 0,
        };
        let is_natural = is_natural(self) && is_natural(other);
        Ok(self.combine(other, Operation::Mod, |a, b| a.modulo(b, is_natural)))
    }

    /// Whether it is known to be no less than zero (`strictly`: to be above zero) without looking at what the symbols' ranges are.
    fn is_above(&self, strictly: bool) -> bool {
        match self {
            SymInt::Int(i) => *i >= i64::from(strictly),
            SymInt::Sym(_, env) => env.is_above(&self.expr(), strictly),
        }
    }

    /// Whether zero or one is surely no larger, as sympy sees it: not where it is the largest of several itself.
    fn surely_reaches(&self, n: i64) -> bool {
        self.is_above(n == 1) && !self.expr().is_extreme()
    }

    /// The larger of two, without a guard.
    pub fn max(&self, other: &SymInt) -> SymInt {
        match (self, other) {
            (SymInt::Int(a), SymInt::Int(b)) => SymInt::Int(*a.max(b)),
            (SymInt::Int(n @ 0..=1), size) | (size, SymInt::Int(n @ 0..=1)) if size.surely_reaches(*n) => {
                self.combine(other, Operation::Max, |_, _| size.expr())
            }
            _ => self.combine(other, Operation::Max, Expr::larger),
        }
    }

    /// The smaller of two, without a guard.
    pub fn min(&self, other: &SymInt) -> SymInt {
        match (self, other) {
            (SymInt::Int(a), SymInt::Int(b)) => SymInt::Int(*a.min(b)),
            (SymInt::Int(n @ 0..=1), size) | (size, SymInt::Int(n @ 0..=1)) if size.surely_reaches(*n) => {
                self.combine(other, Operation::Min, |_, _| Expr::from(*n))
            }
            _ => self.combine(other, Operation::Min, Expr::smaller),
        }
    }

    /// Whether the relation holds, where that is known for every value of the symbols; never guards.
    pub fn decide(&self, relation: Relation, other: &SymInt) -> Option<bool> {
        match (self, other) {
            (SymInt::Int(a), SymInt::Int(b)) => Some(relation.holds(*a, *b)),
            _ => self.env2(other)?.decide(&self.expr(), relation, &other.expr()),
        }
    }

    /// Whether the relation holds; guards where symbols decide.
    pub fn compare(&self, relation: Relation, other: &SymInt) -> Result<bool> {
        match (self, other) {
            (SymInt::Int(a), SymInt::Int(b)) => Ok(relation.holds(*a, *b)),
            _ => match self.env2(other) {
                Some(env) => env.evaluate(&self.expr(), relation, &other.expr()),
                None => Ok(false),
            },
        }
    }

    /// [`SymInt::compare`] for the script, which is always told the truth.
    ///
    /// # Errors
    ///
    /// Where only the run knows.
    pub fn compare_asked(&self, relation: Relation, other: &SymInt) -> Result<bool> {
        match (self, other) {
            (SymInt::Int(a), SymInt::Int(b)) => Ok(relation.holds(*a, *b)),
            _ => match self.env2(other) {
                Some(env) => env.evaluate_asked(&self.expr(), relation, &other.expr()),
                None => Ok(false),
            },
        }
    }

    /// Whether all pairs are equal, asked at once ([`ShapeEnv::all_equal`]).
    ///
    /// # Errors
    ///
    /// Where only the run knows.
    pub fn all_equal(pairs: &[(SymInt, SymInt)]) -> Result<bool> {
        let sides: Vec<(Expr, Expr)> = pairs.iter().map(|(a, b)| (a.expr(), b.expr())).collect();
        match pairs.iter().find_map(|(a, b)| a.env2(b)) {
            Some(env) => env.all_equal(&sides),
            None => Ok(sides.iter().all(|(a, b)| a == b)),
        }
    }

    /// Whether the relation holds; guards where symbols decide, and is `otherwise` where only the run knows.
    pub fn holds_or(&self, relation: Relation, other: &SymInt, otherwise: bool) -> Result<bool> {
        match self.decide(relation, other) {
            Some(known) => Ok(known),
            None if self.hint().is_none() || other.hint().is_none() => Ok(otherwise),
            None => self.compare(relation, other),
        }
    }

    /// Whether the two are equal; guards where symbols decide. Where only the run knows, they are from here on, and the graph is to check it
    /// ([`ShapeEnv::take_deferred`]).
    pub fn expect_eq(&self, other: &SymInt) -> Result<bool> {
        match (self.decide(Relation::Eq, other), self.env2(other)) {
            (Some(known), _) => Ok(known),
            (None, Some(env)) if self.hint().is_none() || other.hint().is_none() => {
                env.defer(self, Relation::Eq, other);
                Ok(true)
            }
            _ => self.compare(Relation::Eq, other),
        }
    }

    /// A side of an inequality as it prints: a quotient by itself stands in brackets of its own.
    fn side(&self) -> String {
        if self.expr().is_quotient() { format!("({self})") } else { self.to_string() }
    }

    /// A condition as PyTorch prints it: one that sympy sees to hold of sizes is `True`.
    pub fn condition(&self, relation: Relation, other: &SymInt) -> String {
        let is_above = |a: &SymInt, b: &SymInt, strictly: bool| match a.env2(b) {
            Some(env) => env.is_above(&a.expr().sub(&b.expr()), strictly),
            None => false,
        };
        let is_seen = match relation {
            Relation::Eq => self.expr() == other.expr(),
            Relation::Ne => false,
            Relation::Gt | Relation::Ge => is_above(self, other, relation == Relation::Gt),
            Relation::Lt | Relation::Le => is_above(other, self, relation == Relation::Lt),
        };
        match relation {
            _ if is_seen => "True".to_owned(),
            Relation::Eq | Relation::Ne => relation.condition(self, other),
            _ => relation.condition(&self.side(), &other.side()),
        }
    }

    /// `self == other`, guarding.
    pub fn sym_eq(&self, other: impl Into<SymInt>) -> Result<bool> {
        self.compare(Relation::Eq, &other.into())
    }

    /// The same, where an operator has to know: an error where only the run does.
    pub fn known_eq(&self, other: impl Into<SymInt>) -> Result<bool> {
        let other = other.into();
        if (self.hint().is_none() || other.hint().is_none()) && self.decide(Relation::Eq, &other).is_none() {
            let condition = Relation::Eq.condition(self, &other);
            let sizes: Vec<String> = [self, &other]
                .into_iter()
                .filter_map(|side| if let SymInt::Sym(expr, env) = side { Some((expr.symbols(), env)) } else { None })
                .flat_map(|(symbols, env)| symbols.into_iter().filter(|s| env.is_size(s)).map(|s| s.0.to_string()))
                .collect();
            let sizes = if sizes.is_empty() { "none".to_owned() } else { sizes.join(", ") };
            return Err(Error::new(
                ErrorKind::GuardOnDataDependent,
                format!(
                    "Could not guard on data-dependent expression {condition} (unhinted: {condition}).  (Size-like symbols: {sizes})\n\n\
                     consider using data-dependent friendly APIs such as guard_or_false, guard_or_true and statically_known_true."
                ),
            ));
        }
        self.sym_eq(other)
    }

    /// `self < other`, guarding.
    pub fn sym_lt(&self, other: impl Into<SymInt>) -> Result<bool> {
        self.compare(Relation::Lt, &other.into())
    }

    /// Whether two lists are as long and have equal items for every value of the symbols; never guards.
    pub fn all_statically_eq(a: &[SymInt], b: &[SymInt]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.statically_eq(b.clone()))
    }

    /// Whether the two are equal for every value of the symbols that the environment allows; never guards.
    pub fn statically_eq(&self, other: impl Into<SymInt>) -> bool {
        let other = other.into();
        match (self, &other) {
            (SymInt::Int(a), SymInt::Int(b)) => a == b,
            _ => match self.env2(&other) {
                Some(env) => env.decide(&self.expr(), Relation::Eq, &other.expr()) == Some(true),
                None => false,
            },
        }
    }

    /// The number; an expression is specialized to its hint, with a guard.
    pub fn guard_int(&self) -> Result<i64> {
        match self {
            SymInt::Int(i) => Ok(*i),
            SymInt::Sym(e, env) => env.specialize(e),
        }
    }

    /// The number this stands for in the call being compiled; never guards. `None` for unbacked symbols.
    pub fn hint(&self) -> Option<i64> {
        match self {
            SymInt::Int(i) => Some(*i),
            SymInt::Sym(e, env) => env.hint(e),
        }
    }

    /// The size with other symbols; `None` where one of its own has no successor.
    pub fn translated(&self, successors: &HashMap<Symbol, SymInt>) -> Option<SymInt> {
        if self.as_int().is_some() {
            return Some(self.clone());
        }
        let expr = self.expr();
        if !expr.symbols().iter().all(|s| successors.contains_key(s)) {
            return None;
        }
        let env = successors.values().find_map(|s| if let SymInt::Sym(_, env) = s { Some(env) } else { None });
        let expr = expr.substitute(&|s| successors.get(s).map(SymInt::expr));
        match (expr.as_int(), env) {
            (Some(i), _) => Some(SymInt::Int(i)),
            (None, Some(env)) => Some(SymInt::Sym(expr, env.clone())),
            (None, None) => None,
        }
    }

    /// What the size is in the graph that follows its own, where that knows its symbols.
    pub fn succeeded(&self) -> Option<SymInt> {
        match self {
            SymInt::Sym(_, env) => self.translated(&env.successors()?),
            SymInt::Int(_) => None,
        }
    }
}

impl fmt::Display for SymInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SymInt::Int(i) => i.fmt(f),
            SymInt::Sym(..) => self.expr().fmt(f),
        }
    }
}

impl fmt::Debug for SymInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// Numbers saturate: a size at the end of the range is one that nothing can have, and whatever makes a tensor of it says so.
macro_rules! arithmetic {
    ($trait:ident, $method:ident, $number:expr, $expr:expr) => {
        impl $trait<&SymInt> for &SymInt {
            type Output = SymInt;
            fn $method(self, other: &SymInt) -> SymInt {
                match (self, other) {
                    (SymInt::Int(a), SymInt::Int(b)) => SymInt::Int($number(*a, *b)),
                    _ => self.combine(other, Operation::$trait, $expr),
                }
            }
        }
        impl $trait<i64> for &SymInt {
            type Output = SymInt;
            fn $method(self, other: i64) -> SymInt {
                $trait::$method(self, &SymInt::Int(other))
            }
        }
    };
}
arithmetic!(Add, add, i64::saturating_add, Expr::add);
arithmetic!(Sub, sub, i64::saturating_sub, Expr::sub);
arithmetic!(Mul, mul, i64::saturating_mul, Expr::mul);

/// Numbers as sizes.
pub fn ints(values: &[i64]) -> Vec<SymInt> {
    values.iter().map(|v| SymInt::Int(*v)).collect()
}

/// Sizes as numbers; an expression is specialized, with a guard.
pub fn concrete(values: &[SymInt]) -> Result<Vec<i64>> {
    values.iter().map(SymInt::guard_int).collect()
}

/// The product of sizes.
pub fn numel(sizes: &[SymInt]) -> SymInt {
    sizes.iter().fold(SymInt::Int(1), |n, s| &n * s)
}
