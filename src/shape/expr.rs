//! Symbolic integer expressions in one normal form: a sum of products of atoms with integer coefficients.
//!
//! Normal form makes simplification and equality one thing. Printing follows sympy's, which is what PyTorch shows.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// A named size: `s77` (backed by a hint) or `u0` (unbacked).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub Rc<str>);

/// What cannot be taken apart by the rules of sums and products.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A size.
    Symbol(Symbol),
    /// Python's `a // b`.
    FloorDiv(Expr, Expr),
    /// Python's `a % b`.
    Mod(Expr, Expr),
    /// The larger of two.
    Max(Expr, Expr),
    /// The smaller of two.
    Min(Expr, Expr),
}

/// Atoms with their powers, sorted.
type Monomial = Vec<(Atom, u32)>;

/// A symbolic integer in normal form. The empty sum is zero; the empty product is one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expr(Rc<BTreeMap<Monomial, i64>>);

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

    fn atom(atom: Atom) -> Self {
        Expr(Rc::new(BTreeMap::from([(vec![(atom, 1)], 1)])))
    }

    /// The value, where no symbol is left.
    pub fn as_int(&self) -> Option<i64> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
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

    /// The symbol and the number, where the expression is a symbol's remainder (`Mod(s77, 2)`).
    pub fn as_remainder(&self) -> Option<(&Symbol, i64)> {
        match (self.0.len(), self.0.iter().next()) {
            (1, Some((m, 1))) => match m.as_slice() {
                [(Atom::Mod(a, b), 1)] => Some((a.as_symbol()?, b.as_int().filter(|n| *n > 1)?)),
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
            let sum = terms.entry(m.clone()).or_insert(0);
            *sum += c;
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

    /// `self * other`
    pub fn mul(&self, other: &Expr) -> Expr {
        let mut terms: BTreeMap<Monomial, i64> = BTreeMap::new();
        for (a, ca) in self.0.iter() {
            for (b, cb) in other.0.iter() {
                let mut m: BTreeMap<Atom, u32> = a.iter().cloned().collect();
                for (atom, power) in b {
                    *m.entry(atom.clone()).or_insert(0) += power;
                }
                let key: Monomial = m.into_iter().collect();
                let sum = terms.entry(key.clone()).or_insert(0);
                *sum += ca * cb;
                if *sum == 0 {
                    terms.remove(&key);
                }
            }
        }
        Expr(Rc::new(terms))
    }

    /// `self / divisor` where every term divides exactly (the divisor a single term).
    fn exact_div(&self, divisor: &Expr) -> Option<Expr> {
        if divisor.0.len() != 1 {
            return (self == divisor && divisor.as_int() != Some(0)).then(|| Expr::from(1));
        }
        let (dm, dc) = divisor.0.iter().next()?;
        let mut terms = BTreeMap::new();
        for (m, c) in self.0.iter() {
            if c % dc != 0 {
                return None;
            }
            let mut rest: BTreeMap<Atom, u32> = m.iter().cloned().collect();
            for (atom, power) in dm {
                match rest.get_mut(atom) {
                    Some(have) if *have > *power => *have -= power,
                    Some(have) if *have == *power => {
                        rest.remove(atom);
                    }
                    _ => return None,
                }
            }
            terms.insert(rest.into_iter().collect::<Monomial>(), c / dc);
        }
        Some(Expr(Rc::new(terms)))
    }

    /// Python's `self // other`; the caller has excluded a divisor that is the number zero.
    pub fn floor_div(&self, other: &Expr) -> Expr {
        if let (Some(a), Some(b)) = (self.as_int(), other.as_int()) {
            return Expr::from(a.div_euclid(b) - i64::from(b < 0 && a.rem_euclid(b) != 0));
        }
        if other.as_int() == Some(1) {
            return self.clone();
        }
        if let Some(quotient) = self.exact_div(other) {
            return quotient;
        }
        if let Some((a, b)) = self.without_common_symbols(other) {
            return a.floor_div(&b);
        }
        // (k*a + r) // a where part of the sum divides exactly.
        let (whole, rest) = self.split_divisible(other);
        let quotient = Expr::atom(Atom::FloorDiv(rest, other.clone()));
        match whole.exact_div(other) {
            Some(w) => w.add(&quotient),
            None => quotient,
        }
    }

    /// Both without the symbols that every term of either has: sizes are positive, so a quotient does not change.
    fn without_common_symbols(&self, divisor: &Expr) -> Option<(Expr, Expr)> {
        let (first, _) = divisor.terms().next()?;
        let in_all = |symbol: &Atom| self.terms().chain(divisor.terms()).all(|(m, _)| m.iter().any(|(a, _)| a == symbol));
        let common = first.iter().map(|(a, _)| a).find(|a| matches!(a, Atom::Symbol(_)) && in_all(a))?;
        let common = Expr::from_atom(common);
        Some((self.exact_div(&common)?, divisor.exact_div(&common)?))
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

    /// Python's `self % other`; the caller has excluded a divisor that is the number zero.
    pub fn modulo(&self, other: &Expr) -> Expr {
        if let (Some(a), Some(b)) = (self.as_int(), other.as_int()) {
            let r = a.rem_euclid(b.abs());
            return Expr::from(if b < 0 && r != 0 { r + b } else { r });
        }
        let (_, rest) = self.split_divisible(other);
        match rest.as_int() {
            Some(0) => Expr::from(0),
            _ => Expr::atom(Atom::Mod(rest, other.clone())),
        }
    }

    /// The larger of two.
    pub fn larger(&self, other: &Expr) -> Expr {
        match self.sub(other).as_int() {
            Some(d) => {
                if d >= 0 {
                    self.clone()
                } else {
                    other.clone()
                }
            }
            None if other.as_int().is_some() => Expr::atom(Atom::Max(other.clone(), self.clone())),
            None => Expr::atom(Atom::Max(self.clone(), other.clone())),
        }
    }

    /// The smaller of two.
    pub fn smaller(&self, other: &Expr) -> Expr {
        match self.sub(other).as_int() {
            Some(d) => {
                if d <= 0 {
                    self.clone()
                } else {
                    other.clone()
                }
            }
            None if other.as_int().is_some() => Expr::atom(Atom::Min(other.clone(), self.clone())),
            None => Expr::atom(Atom::Min(self.clone(), other.clone())),
        }
    }

    /// The expression with symbols replaced, in normal form again.
    pub fn substitute(&self, with: &dyn Fn(&Symbol) -> Option<Expr>) -> Expr {
        let mut sum = Expr::from(0);
        for (m, c) in self.0.iter() {
            let mut product = Expr::from(*c);
            for (atom, power) in m {
                let value = match atom {
                    Atom::Symbol(s) => with(s).unwrap_or_else(|| Expr::atom(atom.clone())),
                    Atom::FloorDiv(a, b) => {
                        let (a, b) = (a.substitute(with), b.substitute(with));
                        if b.as_int() == Some(0) { Expr::atom(Atom::FloorDiv(a, b)) } else { a.floor_div(&b) }
                    }
                    Atom::Mod(a, b) => {
                        let (a, b) = (a.substitute(with), b.substitute(with));
                        if b.as_int() == Some(0) { Expr::atom(Atom::Mod(a, b)) } else { a.modulo(&b) }
                    }
                    Atom::Max(a, b) => a.substitute(with).larger(&b.substitute(with)),
                    Atom::Min(a, b) => a.substitute(with).smaller(&b.substitute(with)),
                };
                for _ in 0..*power {
                    product = product.mul(&value);
                }
            }
            sum = sum.add(&product);
        }
        sum
    }

    /// The value under an assignment; `None` where a symbol has none (or a divisor is zero).
    pub fn evaluate(&self, of: &dyn Fn(&Symbol) -> Option<i64>) -> Option<i64> {
        self.substitute(&|s| of(s).map(Expr::from)).as_int()
    }

    /// Every symbol in it, each once, in order of name.
    pub fn symbols(&self) -> std::collections::BTreeSet<Symbol> {
        let mut found = std::collections::BTreeSet::new();
        for m in self.0.keys() {
            for (atom, _) in m {
                match atom {
                    Atom::Symbol(s) => {
                        found.insert(s.clone());
                    }
                    Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::Max(a, b) | Atom::Min(a, b) => {
                        found.extend(a.symbols());
                        found.extend(b.symbols());
                    }
                }
            }
        }
        found
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |e: &Expr| {
            let text = e.to_string();
            if e.0.len() > 1 || text.contains('*') { format!("({text})") } else { text }
        };
        match self {
            Atom::Symbol(s) => f.write_str(&s.0),
            Atom::FloorDiv(a, b) => write!(f, "({}//{})", side(a), side(b)),
            Atom::Mod(a, b) => write!(f, "Mod({a}, {b})"),
            Atom::Max(a, b) => write!(f, "Max({a}, {b})"),
            Atom::Min(a, b) => write!(f, "Min({a}, {b})"),
        }
    }
}

impl fmt::Display for Expr {
    /// Terms by falling degree, then by name; the number last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("0");
        }
        let degree = |m: &Monomial| m.iter().map(|(_, p)| *p).sum::<u32>();
        let mut terms: Vec<_> = self.0.iter().collect();
        terms.sort_by(|(a, _), (b, _)| degree(b).cmp(&degree(a)).then_with(|| a.cmp(b)));
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
                let loose = matches!(atom, Atom::FloorDiv(..) | Atom::Mod(..)) && !(alone && *power == 1);
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
