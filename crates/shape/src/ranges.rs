//! Ranges of expressions: between which numbers a size lies where its symbols lie between theirs.

use super::{Atom, Expr, Symbol};

/// All integers between two, both included; `None` stands for no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub low: Option<i128>,
    /// The largest.
    pub high: Option<i128>,
}

/// An end of a range: a number, or beyond all numbers on one side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Below,
    At(i128),
    Above,
}

impl End {
    fn sign(self) -> i128 {
        match self {
            End::Below => -1,
            End::At(n) => n.signum(),
            End::Above => 1,
        }
    }

    /// What lies beyond all numbers on the side of a sign.
    fn beyond(sign: i128) -> End {
        match sign {
            1.. => End::Above,
            0 => End::At(0),
            _ => End::Below,
        }
    }

    fn times(self, other: End) -> End {
        let product = match (self, other) {
            (End::At(a), End::At(b)) => a.checked_mul(b),
            _ => None,
        };
        product.map_or_else(|| End::beyond(self.sign() * other.sign()), End::At)
    }

    /// Python's `self // other` for a divisor that is not zero.
    fn over(self, other: End) -> End {
        match (self, other) {
            (End::At(a), End::At(b)) => End::At(a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)),
            // A number by one that grows without end; so do both, and the quotient is anything of its sign.
            (End::At(a), _) => End::At(if a.signum() * other.sign() < 0 { -1 } else { 0 }),
            (_, End::At(_)) => End::beyond(self.sign() * other.sign()),
            _ => End::At(if self.sign() == other.sign() { 0 } else { -1 }),
        }
    }
}

impl Range {
    /// Nothing is known.
    pub const ALL: Range = Range { low: None, high: None };

    /// One number.
    pub fn one(n: i128) -> Range {
        Range { low: Some(n), high: Some(n) }
    }

    fn ends(self) -> [End; 2] {
        [self.low.map_or(End::Below, End::At), self.high.map_or(End::Above, End::At)]
    }

    fn spanning(ends: impl Iterator<Item = End> + Clone) -> Range {
        let number = |end: Option<End>| match end {
            Some(End::At(n)) => Some(n),
            _ => None,
        };
        Range { low: number(ends.clone().min()), high: number(ends.max()) }
    }

    fn pairs(self, other: Range, op: fn(End, End) -> End) -> Range {
        let (a, b) = (self.ends(), other.ends());
        Range::spanning([op(a[0], b[0]), op(a[0], b[1]), op(a[1], b[0]), op(a[1], b[1])].into_iter())
    }

    fn add(self, other: Range) -> Range {
        let sum = |a: Option<i128>, b: Option<i128>| a?.checked_add(b?);
        Range { low: sum(self.low, other.low), high: sum(self.high, other.high) }
    }

    fn power(self, n: u32) -> Range {
        let mut product = (1..n).fold(self, |product, _| product.pairs(self, End::times));
        if n.is_multiple_of(2) {
            product.low = product.low.max(Some(0));
        }
        product
    }

    fn is_above(self, n: i128) -> bool {
        self.low.is_some_and(|low| low > n)
    }

    fn over(self, divisor: Range) -> Range {
        if !divisor.is_above(0) && divisor.high.is_none_or(|high| high >= 0) {
            return Range::ALL;
        }
        self.pairs(divisor, End::over)
    }

    /// Python's remainder takes its sign from the divisor.
    fn modulo(self, divisor: Range) -> Range {
        if !divisor.is_above(0) {
            return Range::ALL;
        }
        if self.low >= Some(0) && self.high.is_some_and(|high| high < divisor.low.unwrap_or(0)) {
            return self;
        }
        let most = divisor.high.map(|high| high - 1);
        let own = self.high.filter(|_| self.low >= Some(0));
        Range { low: Some(0), high: most.into_iter().chain(own).min() }
    }

    fn larger(self, other: Range) -> Range {
        Range { low: self.low.max(other.low), high: self.high.zip(other.high).map(|(a, b)| a.max(b)) }
    }

    fn negated(self) -> Range {
        Range { low: self.high.map(|n| -n), high: self.low.map(|n| -n) }
    }
}

impl Expr {
    /// Where the expression lies when its symbols lie in these ranges.
    pub fn range(&self, of: &dyn Fn(&Symbol) -> Range) -> Range {
        let folded = |items: &[Expr], op: fn(Range, Range) -> Range| items.iter().map(|e| e.range(of)).reduce(op).unwrap_or(Range::ALL);
        let of_atom = |atom: &Atom| match atom {
            Atom::Symbol(s) => of(s),
            Atom::Rounded(_) => Range::ALL,
            Atom::Sum(e) => e.range(of),
            Atom::FloorDiv(a, b) => a.range(of).over(b.range(of)),
            Atom::Mod(a, b) | Atom::PythonMod(a, b) => {
                let own = a.range(of);
                let is_less = own.low >= Some(0) && a.sub(b).range(of).high.is_some_and(|high| high < 0);
                if is_less { own } else { own.modulo(b.range(of)) }
            }
            // No power is smaller than zero, where its base is not.
            Atom::Power(a, _) if a.range(of).low.is_some_and(|low| low >= 0) => Range { low: Some(0), high: None },
            Atom::Power(..) => Range::ALL,
            Atom::Abs(e) => {
                let own = e.range(of);
                let away = own.larger(own.negated());
                Range { low: away.low.max(Some(0)), high: away.high }
            }
            // No bit says that it is negative, where none does in either.
            Atom::Bitwise(_, a, b) if a.range(of).low >= Some(0) && b.range(of).low >= Some(0) => Range { low: Some(0), high: None },
            Atom::Bitwise(..) => Range::ALL,
            Atom::Max(items) => folded(items, Range::larger),
            Atom::Min(items) => folded(items, |a, b| a.negated().larger(b.negated()).negated()),
        };
        self.terms().fold(Range::one(0), |sum, (product, coefficient)| {
            let start = Range::one(i128::from(coefficient));
            sum.add(product.iter().fold(start, |p, (atom, power)| p.pairs(of_atom(atom).power(*power), End::times)))
        })
    }
}
