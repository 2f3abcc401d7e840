//! What `torch.export` asks of guards: which of them speak of one symbol alone, and by what they want it divisible (a part of PyTorch's
//! `DimConstraints`).

use super::expr::Atom;
use super::{Expr, Relation, ShapeEnv, Symbol};

/// A guard on one symbol.
pub struct GuardOnOne {
    /// The symbol.
    pub symbol: Symbol,
    /// The condition as Python.
    pub text: String,
    /// The number by which it wants the symbol to leave the remainder that its value leaves; 1 where it does not care.
    pub modulus: i64,
    /// Whether it follows from that and from what guards before it want.
    pub is_trivial: bool,
    /// Whether the symbol's value is the only one that leaves that remainder and satisfies it.
    pub is_solved: bool,
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

fn lcm(a: i64, b: i64) -> i64 {
    a / gcd(a, b) * b
}

/// The modulus that divisions of a linear expression of a symbol by numbers come to; `None` where there is a function that PyTorch's
/// solver does not know.
fn modulus(of: &Expr, symbol: &Symbol) -> Option<i64> {
    let mut found = 1;
    for (atom, _) in of.0.keys().flatten() {
        match atom {
            Atom::Symbol(_) => {}
            Atom::Sum(e) => found = lcm(found, modulus(e, symbol)?),
            Atom::FloorDiv(base, divisor) | Atom::Mod(base, divisor) | Atom::PythonMod(base, divisor) => {
                found = lcm(found, lcm(modulus(base, symbol)?, modulus(divisor, symbol)?));
                let linear = base.isolated(symbol).filter(|(_, rest)| rest.as_int().is_some());
                if let (Some((coefficient, _)), Some(divisor)) = (linear, divisor.as_int().filter(|d| *d > 0)) {
                    found = lcm(found, divisor / gcd(coefficient, divisor));
                }
            }
            Atom::Rounded(_) | Atom::Max(_) | Atom::Min(_) | Atom::Power(..) | Atom::Abs(_) | Atom::Bitwise(..) => return None,
        }
    }
    Some(found)
}

/// A condition as PyTorch's guards say it in Python: sides of an inequality that are sums or products stand without parentheses.
fn in_python(left: &Expr, relation: Relation, right: &Expr) -> String {
    let side = |e: &Expr| if matches!(relation, Relation::Eq | Relation::Ne) { e.as_operand() } else { e.in_python() };
    format!("{} {} {}", side(left), relation.text(), side(right))
}

impl ShapeEnv {
    /// Guards on one symbol that its range does not say, in the order in which they were installed, each once.
    pub fn guards_on_one(&self) -> Vec<GuardOnOne> {
        let (mut found, mut moduli): (Vec<GuardOnOne>, Vec<(Symbol, i64)>) = (Vec::new(), Vec::new());
        for guard in self.guards() {
            let (left, relation, right) = guard.number_last();
            let (left, right) = (self.simplify(left), self.simplify(right));
            let turned = right.as_symbol().is_some() && left.as_symbol().is_none();
            let (left, relation, right) = if turned { (right, relation.flipped(), left) } else { (left, relation, right) };
            let mut symbols = left.symbols();
            symbols.extend(right.symbols());
            let (Some(symbol), 1) = (symbols.pop_first(), symbols.len() + 1) else { continue };
            if self.holds_in_range(&left, relation, &right) {
                continue;
            }
            let text = in_python(&left, relation, &right);
            if found.iter().any(|g| g.text == text) {
                continue;
            }
            let known = moduli.iter().find(|(s, _)| *s == symbol).map_or(1, |(_, m)| *m);
            let wanted = if relation == Relation::Ne { None } else { modulus(&left.sub(&right), &symbol) };
            let asked = lcm(known, wanted.unwrap_or(1));
            let hint = self.hint(&Expr::symbol(symbol.clone())).unwrap_or_default();
            let holds = |value: i64| {
                let at = |e: &Expr| e.evaluate(&|_| Some(value));
                matches!((at(&left), at(&right)), (Some(l), Some(r)) if relation.holds(l, r))
            };
            let is_trivial = wanted.is_some() && asked == known && (0..64).map(|k| hint.rem_euclid(asked) + asked * (k + 1)).all(holds);
            let is_solved = wanted.is_some() && relation == Relation::Eq && !(1..64).any(|k| holds(hint + asked * k));
            moduli.retain(|(s, _)| *s != symbol);
            moduli.push((symbol.clone(), asked));
            found.push(GuardOnOne { symbol, text, modulus: wanted.unwrap_or(1), is_trivial, is_solved });
        }
        found
    }
}
