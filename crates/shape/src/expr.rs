//! Symbolic integer expressions: a sum of products of atoms with integer coefficients.
//!
//! As in sympy, which PyTorch computes and prints with, a product of sums stays a product: a sum is then a factor
//! ([`Atom::Sum`]). [`Expr::expanded`] is one normal form for all expressions that are equal as polynomials; decisions go by that.

use super::Rounded;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// A named size: `s77` (backed by a hint) or `u0` (unbacked).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub Rc<str>);

/// What cannot be taken apart by the rules of sums and products. The order is that in which sympy writes factors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A size.
    Symbol(Symbol),
    /// A sum of several terms, as a factor.
    Sum(Expr),
    /// A float, rounded.
    Rounded(Rounded),
    /// Python's `a // b`.
    FloorDiv(Expr, Expr),
    /// The largest of several.
    Max(Vec<Expr>),
    /// The smallest of several.
    Min(Vec<Expr>),
    /// Python's `a % b` where neither is negative.
    Mod(Expr, Expr),
    /// Python's `a % b`.
    PythonMod(Expr, Expr),
    /// `a ** b`, of an exponent that is no number.
    Power(Expr, Expr),
    /// The distance from zero.
    Abs(Expr),
    /// Python's `a & b`, `a | b` or `a ^ b`.
    Bitwise(Bitwise, Expr, Expr),
}

/// An operation on the bits of two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bitwise {
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
}

impl Bitwise {
    /// All of them.
    pub const ALL: [Bitwise; 3] = [Bitwise::And, Bitwise::Or, Bitwise::Xor];

    /// The function in Python's `operator` module.
    pub fn function(self) -> &'static str {
        match self {
            Bitwise::And => "and_",
            Bitwise::Or => "or_",
            Bitwise::Xor => "xor",
        }
    }

    /// How Python writes it.
    pub fn operator(self) -> &'static str {
        match self {
            Bitwise::And => "&",
            Bitwise::Or => "|",
            Bitwise::Xor => "^",
        }
    }

    fn of(self, a: i64, b: i64) -> i64 {
        match self {
            Bitwise::And => a & b,
            Bitwise::Or => a | b,
            Bitwise::Xor => a ^ b,
        }
    }
}

/// Atoms with their powers, sorted.
pub(super) type Monomial = Vec<(Atom, u32)>;

/// A symbolic integer in normal form. The empty sum is zero; the empty product is one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expr(pub(super) Rc<BTreeMap<Monomial, i64>>);

/// Products by the power of their first atom, then of the next: multiplied by the same, they keep their order.
fn lexicographic(a: &[(Atom, u32)], b: &[(Atom, u32)]) -> Ordering {
    match (a, b) {
        ([], _) | (_, []) => a.len().cmp(&b.len()),
        ([(x, m), a @ ..], [(y, n), b @ ..]) => y.cmp(x).then(m.cmp(n)).then_with(|| lexicographic(a, b)),
    }
}

impl From<i64> for Expr {
    fn from(value: i64) -> Self {
        let mut terms = BTreeMap::new();
        if value != 0 {
            terms.insert(Vec::new(), value);
        }
        Expr(Rc::new(terms))
    }
}

impl Expr {
    /// The symbol itself.
    pub fn symbol(symbol: Symbol) -> Self {
        Self::atom(Atom::Symbol(symbol))
    }

    /// The expression that is one atom.
    pub fn from_atom(atom: &Atom) -> Self {
        Self::atom(atom.clone())
    }

    /// A float, rounded.
    pub fn rounded(rounded: Rounded) -> Self {
        match rounded.1.evaluate(&|_| None, &|_| None).and_then(|f| rounded.0.apply(f)) {
            Some(number) => Expr::from(number),
            None => Self::atom(Atom::Rounded(rounded)),
        }
    }

    pub(super) fn atom(atom: Atom) -> Self {
        Expr(Rc::new(BTreeMap::from([(vec![(atom, 1)], 1)])))
    }

    /// Tells one computation of a size from another with the same value: copies have the same number while one of them lives.
    pub fn identity(&self) -> usize {
        Rc::as_ptr(&self.0).addr()
    }

    /// The same, computed anew: of an identity of its own.
    #[must_use]
    pub fn anew(&self) -> Self {
        Expr(Rc::new((*self.0).clone()))
    }

    /// The value, where no symbol is left.
    pub fn as_int(&self) -> Option<i64> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// What a symbol is where the expression is zero: where it stands alone in one term, once, and nowhere else.
    pub fn solved_for(&self, symbol: &Symbol) -> Option<Expr> {
        let (coefficient, rest) = self.isolated(symbol)?;
        (coefficient.abs() == 1).then(|| rest.scale(-coefficient))
    }

    /// The number before a symbol and what is left, where the symbol stands alone in one term, once, and nowhere else.
    pub fn isolated(&self, symbol: &Symbol) -> Option<(i64, Expr)> {
        let alone = vec![(Atom::Symbol(symbol.clone()), 1)];
        let coefficient = self.0.get(&alone).copied()?;
        let rest = self.sub(&Expr::of_product(alone, coefficient));
        (!rest.symbols().contains(symbol)).then_some((coefficient, rest))
    }

    /// What the expression is but for its number, and the number.
    pub fn without_number(&self) -> (Expr, i64) {
        let mut terms = (*self.0).clone();
        let number = terms.remove(&Vec::new()).unwrap_or(0);
        (Expr(Rc::new(terms)), number)
    }

    /// The symbol, where the expression is one.
    pub fn as_symbol(&self) -> Option<&Symbol> {
        match (self.0.len(), self.0.iter().next()) {
            (1, Some((m, 1))) => match m.as_slice() {
                [(Atom::Symbol(s), 1)] => Some(s),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the expression is a quotient and nothing else.
    pub fn is_quotient(&self) -> bool {
        matches!((self.0.len(), self.0.iter().next()), (1, Some((m, 1))) if matches!(m.as_slice(), [(Atom::FloorDiv(..), 1)]))
    }

    /// The symbol and the number, where the expression is a symbol's remainder (`Mod(s77, 2)`).
    pub fn as_remainder(&self) -> Option<(&Symbol, i64)> {
        match (self.0.len(), self.0.iter().next()) {
            (1, Some((m, 1))) => match m.as_slice() {
                [(Atom::Mod(a, b) | Atom::PythonMod(a, b), 1)] => Some((a.as_symbol()?, b.as_int().filter(|n| *n > 1)?)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Its terms: atoms with their powers, and a coefficient.
    pub fn terms(&self) -> impl Iterator<Item = (&[(Atom, u32)], i64)> {
        self.0.iter().map(|(m, c)| (m.as_slice(), *c))
    }

    /// `self + other`
    pub fn add(&self, other: &Expr) -> Expr {
        let mut terms = (*self.0).clone();
        for (m, c) in other.0.iter() {
            // The end of a slice that has none is as large as a number gets.
            let sum = terms.entry(m.clone()).or_insert(0);
            *sum = sum.saturating_add(*c);
            if *sum == 0 {
                terms.remove(m);
            }
        }
        Expr(Rc::new(terms))
    }

    /// `self * factor`
    pub fn scale(&self, factor: i64) -> Expr {
        if factor == 0 {
            return Expr::from(0);
        }
        Expr(Rc::new(self.0.iter().map(|(m, c)| (m.clone(), c * factor)).collect()))
    }

    /// `self - other`
    pub fn sub(&self, other: &Expr) -> Expr {
        self.add(&other.scale(-1))
    }

    /// One product with a number before it; a sum that is alone is that sum.
    fn of_product(product: Monomial, coefficient: i64) -> Expr {
        match product.as_slice() {
            _ if coefficient == 0 => Expr::from(0),
            [(Atom::Sum(sum), 1)] => sum.scale(coefficient),
            _ => Expr(Rc::new(BTreeMap::from([(product, coefficient)]))),
        }
    }

    /// The factors and the number of what is no sum; a sum is one factor.
    fn as_product(&self) -> (Monomial, i64) {
        match (self.0.len(), self.0.iter().next()) {
            (0, _) => (Vec::new(), 0),
            (1, Some((m, c))) => (m.clone(), *c),
            _ => (vec![(Atom::Sum(self.clone()), 1)], 1),
        }
    }

    /// `self * other`. A number is multiplied into a sum, anything else stands beside it.
    pub fn mul(&self, other: &Expr) -> Expr {
        match (self.as_int(), other.as_int()) {
            (Some(n), _) => return other.scale(n),
            (_, Some(n)) => return self.scale(n),
            _ => {}
        }
        let ((a, ca), (b, cb)) = (self.as_product(), other.as_product());
        Self::of_product(merged(&a, &b), ca * cb)
    }

    /// The product with every sum multiplied out.
    fn mul_expanded(&self, other: &Expr) -> Expr {
        let mut terms: BTreeMap<Monomial, i64> = BTreeMap::new();
        for (a, ca) in self.0.iter() {
            for (b, cb) in other.0.iter() {
                let key = merged(a, b);
                let sum = terms.entry(key.clone()).or_insert(0);
                *sum += ca * cb;
                if *sum == 0 {
                    terms.remove(&key);
                }
            }
        }
        Expr(Rc::new(terms))
    }

    /// The normal form by which expressions are compared: no product of sums, no multiples of the divisor in a remainder.
    pub fn expanded(&self) -> Expr {
        let mut sum = Expr::from(0);
        for (m, c) in self.0.iter() {
            let mut product = Expr::from(*c);
            for (atom, power) in m {
                let value = match atom {
                    Atom::Symbol(_) | Atom::Rounded(_) => Expr::atom(atom.clone()),
                    Atom::Sum(e) => e.expanded(),
                    Atom::FloorDiv(a, b) => a.expanded().quotient(&b.expanded(), true),
                    Atom::Mod(a, b) | Atom::PythonMod(a, b) => a.expanded().reduced_modulo(&b.expanded()),
                    Atom::Power(a, b) => a.expanded().to_the(&b.expanded()),
                    Atom::Abs(a) => a.expanded().magnitude(),
                    Atom::Bitwise(op, a, b) => a.expanded().bitwise(*op, &b.expanded()),
                    Atom::Max(items) => Self::extreme(items.iter().map(Expr::expanded), true),
                    Atom::Min(items) => Self::extreme(items.iter().map(Expr::expanded), false),
                };
                // What a quotient cancels to may be a product of sums again: it is none here, as both were expanded.
                (0..*power).for_each(|_| product = product.mul_expanded(&value));
            }
            sum = sum.add(&product);
        }
        sum
    }

    /// `self / divisor` where every term divides exactly.
    fn exact_div(&self, divisor: &Expr) -> Option<Expr> {
        let (dm, dc) = divisor.as_product();
        if dc == 0 {
            return None;
        }
        if self == divisor {
            return Some(Expr::from(1));
        }
        let mut sum = Expr::from(0);
        for (m, c) in self.0.iter() {
            if c % dc != 0 {
                return None;
            }
            let mut rest: BTreeMap<Atom, u32> = m.iter().cloned().collect();
            for (atom, power) in &dm {
                match rest.get_mut(atom) {
                    Some(have) if *have > *power => *have -= power,
                    Some(have) if *have == *power => {
                        rest.remove(atom);
                    }
                    _ => return None,
                }
            }
            sum = sum.add(&Self::of_product(rest.into_iter().collect(), c / dc));
        }
        Some(sum)
    }

    /// Python's `self // other`; the caller has excluded a divisor that is the number zero. Only factors that both have as they
    /// stand are left out: of a square, the size itself is none.
    pub fn floor_div(&self, other: &Expr) -> Expr {
        self.quotient(other, false)
    }

    /// The same; `cancels` says whether a size is a factor of its powers.
    fn quotient(&self, other: &Expr, cancels: bool) -> Expr {
        let exact_div = |a: &Expr, b: &Expr| a.exact_div(b).filter(|_| cancels || a.has_factors(b));
        if let (Some(a), Some(b)) = (self.as_int(), other.as_int()) {
            return Expr::from(a.div_euclid(b) - i64::from(b < 0 && a.rem_euclid(b) != 0));
        }
        if other.as_int() == Some(1) {
            return self.clone();
        }
        if let Some(quotient) = exact_div(self, other) {
            return quotient;
        }
        // (a // b) // c is a // (b * c) where c is positive, as sizes are.
        if let (Some((Atom::FloorDiv(a, b), 1)), true) = (self.as_atom(), other.as_int().is_none_or(|n| n > 0)) {
            return a.quotient(&b.mul(other), cancels);
        }
        if let Some((a, b)) = self.without_common_factors(other, cancels) {
            return a.quotient(&b, cancels);
        }
        // A sum of several terms may divide a sum: (4*n - 4) // (n - 1).
        if other.0.len() > 1
            && let Some(quotient) = self.polynomial_quotient(other)
        {
            return quotient;
        }
        // (k*n + r) // n, the terms that a number divides apart.
        let (whole, rest) = if other.as_int().is_some() { self.split_divisible(other) } else { (Expr::from(0), self.clone()) };
        match (whole.as_int() != Some(0)).then(|| whole.exact_div(other)).flatten() {
            Some(whole) => whole.add(&rest.quotient(other, cancels)),
            None => Expr::atom(Atom::FloorDiv(rest, other.clone())),
        }
    }

    /// The quotient by a sum, both as polynomials of their atoms, where nothing is left over.
    fn polynomial_quotient(&self, divisor: &Expr) -> Option<Expr> {
        let leading = |e: &Expr| {
            let (product, coefficient) = e.terms().max_by(|(a, _), (b, _)| lexicographic(a, b))?;
            Some(Expr::of_product(product.to_vec(), coefficient))
        };
        let (mut rest, divisor) = (self.expanded(), divisor.expanded());
        let (first, mut quotient) = (leading(&divisor)?, Expr::from(0));
        while rest.as_int() != Some(0) {
            let term = leading(&rest)?.exact_div(&first)?;
            rest = rest.sub(&term.mul(&divisor).expanded());
            quotient = quotient.add(&term);
        }
        Some(quotient)
    }

    /// Whether every term has all factors of the divisor, to the same power.
    fn has_factors(&self, divisor: &Expr) -> bool {
        let (factors, _) = divisor.as_product();
        self == divisor || self.terms().all(|(m, _)| factors.iter().all(|f| m.contains(f)))
    }

    /// The atom and its power, where the expression is no more than that.
    pub(super) fn as_atom(&self) -> Option<(&Atom, u32)> {
        match (self.0.len(), self.0.iter().next()) {
            (1, Some((m, 1))) => match m.as_slice() {
                [(atom, power)] => Some((atom, *power)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Both without the factors that every term of either has, and without the numbers that divide all: a quotient does not change.
    fn without_common_factors(&self, divisor: &Expr, cancels: bool) -> Option<(Expr, Expr)> {
        let (dm, dc) = divisor.as_product();
        let gcd = |a: i64, b: i64| {
            let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a as i64
        };
        let number = self.0.values().fold(divisor.0.values().copied().fold(0, gcd), |g, c| gcd(g, *c));
        let in_all = |(atom, power): &(Atom, u32)| self.terms().all(|(m, _)| m.iter().any(|(a, p)| a == atom && (cancels || p == power)));
        let common = dm.iter().find(|factor| in_all(factor)).map(|(atom, power)| match atom {
            Atom::Sum(sum) if cancels || *power == 1 => sum.clone(),
            other => Self::of_product(vec![(other.clone(), if cancels { 1 } else { *power })], 1),
        });
        let by = match common {
            Some(common) => common,
            None if number > 1 && (dc != number || self.as_int() != Some(number)) => Expr::from(number),
            None => return None,
        };
        Some((self.exact_div(&by)?, divisor.exact_div(&by)?))
    }

    /// The terms that `divisor` divides, and the others.
    fn split_divisible(&self, divisor: &Expr) -> (Expr, Expr) {
        let (mut whole, mut rest) = (BTreeMap::new(), BTreeMap::new());
        for (m, c) in self.0.iter() {
            let term = Expr(Rc::new(BTreeMap::from([(m.clone(), *c)])));
            if term.exact_div(divisor).is_some() {
                whole.insert(m.clone(), *c)
            } else {
                rest.insert(m.clone(), *c)
            };
        }
        (Expr(Rc::new(whole)), Expr(Rc::new(rest)))
    }

    /// Python's `self ** exponent`, of an exponent that is not negative.
    pub fn to_the(&self, exponent: &Expr) -> Expr {
        const LONGEST: u32 = 64;
        let power = exponent.as_int().and_then(|n| u32::try_from(n).ok());
        match (self.as_int(), power) {
            (Some(base), Some(power)) if base.checked_pow(power).is_some() => Expr::from(base.pow(power)),
            (None, Some(power)) if power <= LONGEST => (0..power).fold(Expr::from(1), |product, _| product.mul(self)),
            _ => Expr::atom(Atom::Power(self.clone(), exponent.clone())),
        }
    }

    /// The distance from zero. Which sign stands inside is sympy's choice: the first term's is positive.
    pub fn magnitude(&self) -> Expr {
        match self.as_int() {
            Some(n) => Expr::from(n.abs()),
            None if self.to_string().starts_with('-') => Expr::atom(Atom::Abs(self.scale(-1))),
            None => Expr::atom(Atom::Abs(self.clone())),
        }
    }

    /// An operation on the bits of both.
    pub fn bitwise(&self, op: Bitwise, other: &Expr) -> Expr {
        match (self.as_int(), other.as_int()) {
            (Some(a), Some(b)) => Expr::from(op.of(a, b)),
            // A number stands last.
            (Some(_), None) => Expr::atom(Atom::Bitwise(op, other.clone(), self.clone())),
            _ => Expr::atom(Atom::Bitwise(op, self.clone(), other.clone())),
        }
    }

    /// Python's `self % other`; the caller has excluded a divisor that is the number zero, and knows whether neither is negative.
    pub fn modulo(&self, other: &Expr, is_natural: bool) -> Expr {
        if let (Some(a), Some(b)) = (self.as_int(), other.as_int()) {
            let r = a.rem_euclid(b.abs());
            return Expr::from(if b < 0 && r != 0 { r + b } else { r });
        }
        let (_, rest) = self.split_divisible(other);
        match rest.as_int() {
            Some(0) => Expr::from(0),
            // The parity of a number is known where that of what is left is.
            Some(1) if other.as_int() == Some(2) => Expr::from(1),
            _ if is_natural => Expr::atom(Atom::Mod(self.clone(), other.clone())),
            _ => Expr::atom(Atom::PythonMod(self.clone(), other.clone())),
        }
    }

    /// The remainder of what is left without multiples of the divisor.
    fn reduced_modulo(&self, other: &Expr) -> Expr {
        if other.as_int() == Some(0) {
            return Expr::atom(Atom::Mod(self.clone(), other.clone()));
        }
        let (_, rest) = self.split_divisible(other);
        rest.modulo(other, true)
    }

    /// The largest of several, or the smallest: numbers and repetitions are put together.
    pub(super) fn extreme(items: impl Iterator<Item = Expr>, largest: bool) -> Expr {
        let mut number: Option<i64> = None;
        let mut others: Vec<Expr> = Vec::new();
        let mut add = |e: &Expr| match e.as_int() {
            Some(n) => number = Some(number.map_or(n, |m| if largest { m.max(n) } else { m.min(n) })),
            None if others.contains(e) => {}
            None => others.push(e.clone()),
        };
        for item in items {
            match item.as_atom() {
                Some((Atom::Max(inner), 1)) if largest => inner.iter().for_each(&mut add),
                Some((Atom::Min(inner), 1)) if !largest => inner.iter().for_each(&mut add),
                _ => add(&item),
            }
        }
        // The smaller expressions first, as sympy has them.
        others.sort_by_key(|e| (e.nodes(), e.to_string()));
        let mut all: Vec<Expr> = number.map(Expr::from).into_iter().chain(others).collect();
        match (all.len(), largest) {
            (1, _) => all.remove(0),
            (_, true) => Expr::atom(Atom::Max(all)),
            (_, false) => Expr::atom(Atom::Min(all)),
        }
    }

    /// The larger of two.
    pub fn larger(&self, other: &Expr) -> Expr {
        Self::extreme([self.clone(), other.clone()].into_iter(), true)
    }

    /// The smaller of two.
    pub fn smaller(&self, other: &Expr) -> Expr {
        Self::extreme([self.clone(), other.clone()].into_iter(), false)
    }

    /// The number of nodes of the expression as a tree.
    fn nodes(&self) -> usize {
        let of_atom = |atom: &Atom| match atom {
            Atom::Symbol(_) => 1,
            Atom::Rounded(_) => 2,
            Atom::Sum(e) => e.nodes(),
            Atom::Abs(e) => 1 + e.nodes(),
            Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::PythonMod(a, b) | Atom::Power(a, b) | Atom::Bitwise(_, a, b) => {
                1 + a.nodes() + b.nodes()
            }
            Atom::Max(items) | Atom::Min(items) => 1 + items.iter().map(Expr::nodes).sum::<usize>(),
        };
        let of_term = |(m, c): (&Monomial, &i64)| {
            let factors: usize = m.iter().map(|(a, power)| of_atom(a) + if *power > 1 { 2 } else { 0 }).sum();
            let count = m.len() + usize::from(*c != 1 || m.is_empty());
            factors + usize::from(*c != 1 || m.is_empty()) + usize::from(count > 1)
        };
        self.0.iter().map(of_term).sum::<usize>() + usize::from(self.0.len() > 1)
    }

    /// The least value that sympy's assumptions give the expression where they give one that is not negative: symbols that
    /// `positive` names are above zero; ranges play no part.
    pub fn least(&self, positive: &dyn Fn(&Symbol) -> bool) -> Option<i64> {
        let natural = |e: &Expr| e.least(positive).filter(|n| *n >= 0);
        let of_atom = |atom: &Atom| match atom {
            Atom::Symbol(s) => positive(s).then_some(1),
            Atom::Rounded(_) => None,
            Atom::Sum(e) => natural(e),
            Atom::FloorDiv(a, b) => natural(a).and(natural(b)).map(|_| 0),
            Atom::Mod(..) => Some(0),
            Atom::PythonMod(_, b) => natural(b).filter(|n| *n > 0).map(|_| 0),
            Atom::Power(a, _) => natural(a).map(|n| n.min(1)),
            Atom::Abs(_) => Some(0),
            Atom::Bitwise(..) => None,
            Atom::Max(items) => items.iter().filter_map(natural).max(),
            Atom::Min(items) => items.iter().map(natural).min()?,
        };
        self.0.iter().try_fold(0i64, |sum, (m, c)| {
            let product = m.iter().try_fold(1i64, |p, (atom, power)| p.checked_mul(of_atom(atom)?.checked_pow(*power)?))?;
            (*c > 0 || m.is_empty()).then(|| sum.checked_add(product.checked_mul(*c)?))?
        })
    }

    /// Whether the expression is the largest of several, or the smallest.
    pub fn is_extreme(&self) -> bool {
        matches!(self.as_atom(), Some((Atom::Max(_) | Atom::Min(_), 1)))
    }

    /// Whether a quotient, a remainder or a power is in it: equations with those are not solved for a symbol.
    pub fn has_division(&self) -> bool {
        let divides = |atom: &Atom| match atom {
            Atom::Symbol(_) | Atom::Rounded(_) => false,
            Atom::FloorDiv(..) | Atom::Mod(..) | Atom::PythonMod(..) | Atom::Power(..) | Atom::Abs(_) | Atom::Bitwise(..) => true,
            Atom::Sum(e) => e.has_division(),
            Atom::Max(items) | Atom::Min(items) => items.iter().any(Expr::has_division),
        };
        self.0.keys().flatten().any(|(atom, _)| divides(atom))
    }
}

/// The factors of two products together.
fn merged(a: &Monomial, b: &Monomial) -> Monomial {
    let mut factors: BTreeMap<Atom, u32> = a.iter().cloned().collect();
    for (atom, power) in b {
        *factors.entry(atom.clone()).or_insert(0) += power;
    }
    factors.into_iter().collect()
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |e: &Expr| match (e.as_int(), e.as_atom()) {
            (Some(0..), _) | (_, Some((Atom::Symbol(_) | Atom::Rounded(_) | Atom::Max(_) | Atom::Min(_), 1))) => e.to_string(),
            _ => format!("({e})"),
        };
        let list = |items: &[Expr]| items.iter().map(Expr::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Atom::Symbol(s) => f.write_str(&s.0),
            Atom::Rounded(rounded) => rounded.fmt(f),
            Atom::Sum(e) => write!(f, "({e})"),
            Atom::FloorDiv(a, b) => write!(f, "({}//{})", side(a), side(b)),
            Atom::Max(items) => write!(f, "Max({})", list(items)),
            Atom::Min(items) => write!(f, "Min({})", list(items)),
            Atom::Mod(a, b) => write!(f, "Mod({a}, {b})"),
            Atom::PythonMod(a, b) => write!(f, "PythonMod({a}, {b})"),
            Atom::Power(a, b) => write!(f, "PowByNatural({a}, {b})"),
            Atom::Abs(e) => write!(f, "Abs({e})"),
            Atom::Bitwise(op, a, b) => write!(f, "BitwiseFn_bitwise_{}({a}, {b})", op.function().trim_end_matches('_')),
        }
    }
}

impl fmt::Display for Expr {
    /// Terms by falling degree, then by name; the number last, but first where one factor is taken from it (`5 - s0`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("0");
        }
        let degree = |m: &Monomial| m.iter().map(|(_, p)| *p).sum::<u32>();
        let mut terms: Vec<_> = self.0.iter().collect();
        terms.sort_by(|(a, _), (b, _)| degree(b).cmp(&degree(a)).then_with(|| a.cmp(b)));
        if let [(first, c), (number, n)] = terms.as_slice()
            && (first.len() == 1 && **c < 0 && number.is_empty() && **n > 0)
        {
            terms.reverse();
        }
        for (i, (m, c)) in terms.into_iter().enumerate() {
            let magnitude = c.unsigned_abs();
            match (i, *c < 0) {
                (0, true) => f.write_str("-")?,
                (0, false) => {}
                (_, true) => f.write_str(" - ")?,
                (_, false) => f.write_str(" + ")?,
            }
            // Quotients and remainders bind loosely: within anything larger they stand in parentheses of their own.
            let alone = self.0.len() == 1 && m.len() == 1 && *c == 1;
            let factor = |(atom, power): &(Atom, u32)| {
                let loose =
                    matches!(atom, Atom::FloorDiv(..) | Atom::Mod(..) | Atom::PythonMod(..) | Atom::Bitwise(..)) && !(alone && *power == 1);
                let base = if loose { format!("({atom})") } else { atom.to_string() };
                if *power == 1 { base } else { format!("{base}**{power}") }
            };
            let mut factors: Vec<String> = m.iter().map(factor).collect();
            if magnitude != 1 || factors.is_empty() {
                factors.insert(0, magnitude.to_string());
            }
            f.write_str(&factors.join("*"))?;
        }
        Ok(())
    }
}
