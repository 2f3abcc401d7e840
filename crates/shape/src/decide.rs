//! What is known of a relation between sizes without looking at the call: from ranges of symbols and from conditions that hold.

use super::env::Inner;
use super::ranges::Range;
use super::{Expr, Relation, ShapeEnv, Symbol, SymbolInfo};

impl SymbolInfo {
    fn range(&self) -> Range {
        let bound = |n: i64, none: i64| (n != none).then_some(i128::from(n));
        Range { low: bound(self.lower, i64::MIN), high: bound(self.upper, i64::MAX) }
    }
}

/// Whether the relation to zero holds of all numbers in a range, or of none.
fn settled(range: Range, relation: Relation) -> Option<bool> {
    let (low, high) = (range.low, range.high);
    let (below, above) = (high.is_some_and(|h| h < 0), low.is_some_and(|l| l > 0));
    let (at_most, at_least) = (high.is_some_and(|h| h <= 0), low.is_some_and(|l| l >= 0));
    let (holds, fails) = match relation {
        Relation::Eq => (at_most && at_least, below || above),
        Relation::Ne => (below || above, at_most && at_least),
        Relation::Lt => (below, at_least),
        Relation::Le => (at_most, above),
        Relation::Gt => (above, at_most),
        Relation::Ge => (at_least, below),
    };
    if holds { Some(true) } else { fails.then_some(false) }
}

/// The numbers that a difference may be of which a relation to zero is known; all but zero is no range.
fn of_which(relation: Relation) -> Range {
    match relation {
        Relation::Eq => Range::one(0),
        Relation::Ne => Range::ALL,
        Relation::Lt => Range { low: None, high: Some(-1) },
        Relation::Le => Range { low: None, high: Some(0) },
        Relation::Gt => Range { low: Some(1), high: None },
        Relation::Ge => Range { low: Some(0), high: None },
    }
}

impl Inner {
    fn range(&self, expr: &Expr) -> Range {
        // Symbols counted from one upwards, and all multiplied out, say most: of s0*s1 - s0 nothing is known, of s0*s1 + s1 it is.
        let start = |s: &Symbol| self.symbols.get(s).filter(|i| i.lower != i64::MIN).map(|i| i.lower - 1).filter(|n| *n != 0);
        let moved = expr.substitute(&|s| start(s).map(|n| Expr::symbol(s.clone()).add(&Expr::from(n)))).expanded();
        moved.range(&|s| {
            let Some(info) = self.symbols.get(s) else {
                // A quotient of a size by what divides it is one at least.
                return if s.0.contains('/') { Range { low: Some(1), high: None } } else { Range::ALL };
            };
            let range = info.range();
            let from = i128::from(start(s).unwrap_or(0));
            Range { low: range.low.map(|n| n - from), high: range.high.map(|n| n - from) }
        })
    }

    /// The difference of two expressions, symbols that a number is known to divide written as multiples of it: quotients by it
    /// are exact then.
    fn exact_difference(&self, left: &Expr, right: &Expr) -> Option<Expr> {
        if self.divisors.is_empty() {
            return None;
        }
        let multiple = |s: &Symbol| self.divisors.get(s).map(|k| Expr::symbol(Symbol(format!("{}/{k}", s.0).into())).scale(*k));
        Some(left.substitute(&multiple).expanded().sub(&right.substitute(&multiple).expanded()))
    }

    /// A condition holds from here on.
    pub(super) fn hold(&mut self, left: &Expr, relation: Relation, right: &Expr) {
        let (difference, number) = left.sub(right).without_number();
        self.holding.entry(difference).or_default().push((number, relation));
    }

    /// Where a difference lies, or whether it is zero, by conditions that hold of it up to a number.
    fn implied(&self, difference: &Expr, relation: Relation) -> Option<bool> {
        let (difference, number) = difference.without_number();
        let opposite = difference.scale(-1);
        [(difference, false), (opposite, true)].into_iter().find_map(|(asked, is_opposite)| {
            self.holding.get(&asked)?.iter().find_map(|(from, known)| {
                let (from, known) = if is_opposite { (-i128::from(*from), known.flipped()) } else { (i128::from(*from), *known) };
                let further = i128::from(number) - from;
                if known == Relation::Ne {
                    return match relation {
                        Relation::Eq if further == 0 => Some(false),
                        Relation::Ne if further == 0 => Some(true),
                        _ => None,
                    };
                }
                let range = of_which(known);
                settled(Range { low: range.low.map(|n| n + further), high: range.high.map(|n| n + further) }, relation)
            })
        })
    }

    /// A condition narrows the range of every symbol that it can be solved for. One that has a single value left is that number.
    pub(super) fn narrow(&mut self, left: &Expr, relation: Relation, right: &Expr) {
        let difference = left.sub(right).expanded();
        for symbol in difference.symbols() {
            let Some((coefficient, rest)) = difference.isolated(&symbol) else { continue };
            let range = self.range(&rest);
            let Some(info) = self.symbols.get_mut(&symbol) else { continue };
            // coefficient * symbol + rest, where the sign of the coefficient is taken away.
            let (k, relation) = (i128::from(coefficient), if coefficient < 0 { relation.flipped() } else { relation });
            let (least, most) = (range.low.map(|n| -n), range.high.map(|n| -n));
            // symbol <= -rest / k at most, and symbol >= -rest / k at least.
            let (least, most) = if k < 0 { (least.map(|n| -n), most.map(|n| -n)) } else { (most, least) };
            let k = k.abs();
            let floor = |n: i128| n.div_euclid(k);
            let ceil = |n: i128| -((-n).div_euclid(k));
            let clamp = |n: i128| i64::try_from(n).ok();
            let at_most = |strict: i128| most.and_then(|n| clamp(floor(n - strict)));
            let at_least = |strict: i128| least.and_then(|n| clamp(ceil(n + strict)));
            if let Some(bound) = match relation {
                Relation::Lt => at_most(1),
                Relation::Le | Relation::Eq => at_most(0),
                _ => None,
            } {
                info.upper = info.upper.min(bound);
            }
            if let Some(bound) = match relation {
                Relation::Gt => at_least(1),
                Relation::Ge | Relation::Eq => at_least(0),
                _ => None,
            } {
                info.lower = info.lower.max(bound);
            }
            if info.lower == info.upper && !self.replacements.contains_key(&symbol) {
                let number = Expr::from(info.lower);
                self.replace(symbol, number);
            }
        }
    }

    /// A symbol is an expression from here on.
    pub(super) fn replace(&mut self, symbol: Symbol, value: Expr) {
        let with = |s: &Symbol| (*s == symbol).then(|| value.clone());
        // Most symbols are numbers by then.
        for known in self.replacements.values_mut().filter(|known| known.as_int().is_none() && known.symbols().contains(&symbol)) {
            *known = known.substitute(&with);
        }
        self.replacements.insert(symbol, value);
    }
}

impl ShapeEnv {
    /// The least and the largest value of an expression whose symbols lie in their ranges, where there are such.
    pub fn bounds(&self, expr: &Expr) -> (Option<i64>, Option<i64>) {
        let range = self.0.borrow().range(&self.simplify(expr).expanded());
        let number = |n: Option<i128>| n.and_then(|n| i64::try_from(n).ok());
        (number(range.low), number(range.high))
    }

    /// Whether a relation follows from the ranges of symbols alone.
    pub fn holds_in_range(&self, left: &Expr, relation: Relation, right: &Expr) -> bool {
        let difference = left.sub(right).expanded();
        match difference.as_int() {
            Some(d) => relation.holds(d, 0),
            None => settled(self.0.borrow().range(&difference), relation) == Some(true),
        }
    }

    /// The truth of a relation, where it holds or fails for every allowed value; never guards.
    pub fn decide(&self, left: &Expr, relation: Relation, right: &Expr) -> Option<bool> {
        let (left, right) = (self.simplify(left).expanded(), self.simplify(right).expanded());
        let difference = left.sub(&right);
        if let Some(d) = difference.as_int() {
            return Some(relation.holds(d, 0));
        }
        let inner = self.0.borrow();
        settled(inner.range(&difference), relation)
            .or_else(|| settled(inner.range(&inner.exact_difference(&left, &right)?), relation))
            .or_else(|| inner.implied(&difference, relation))
    }
}
