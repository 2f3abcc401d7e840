//! Expressions under other values: symbols replaced, values under an assignment, and the symbols that there are to give values to.

use super::Rounded;
use super::expr::{Atom, Expr, Symbol};
use std::collections::BTreeSet;
use std::rc::Rc;

impl Expr {
    /// The expression with symbols replaced.
    pub fn substitute(&self, with: &dyn Fn(&Symbol) -> Option<Expr>) -> Expr {
        self.substitute_all(with, &|_| None)
    }

    /// The expression with symbols replaced, and floats by their numbers.
    pub(crate) fn substitute_all(&self, with: &dyn Fn(&Symbol) -> Option<Expr>, floats: &dyn Fn(&Symbol) -> Option<f64>) -> Expr {
        let part = |e: &Expr| e.substitute_all(with, floats);
        let mut sum = Expr::from(0);
        for (m, c) in self.0.iter() {
            let mut product = Expr::from(1);
            for (atom, power) in m {
                let value = match atom {
                    Atom::Symbol(s) => with(s).unwrap_or_else(|| Expr::atom(atom.clone())),
                    Atom::Rounded(Rounded(rounding, float)) => Self::rounded(Rounded(*rounding, Rc::new(float.substitute(with, floats)))),
                    Atom::Sum(e) => part(e),
                    Atom::FloorDiv(a, b) => {
                        let (a, b) = (part(a), part(b));
                        if b.as_int() == Some(0) { Expr::atom(Atom::FloorDiv(a, b)) } else { a.floor_div(&b) }
                    }
                    Atom::Mod(a, b) | Atom::PythonMod(a, b) => {
                        let (a, b) = (part(a), part(b));
                        let is_natural = matches!(atom, Atom::Mod(..));
                        if b.as_int() == Some(0) { Expr::atom(Atom::Mod(a, b)) } else { a.modulo(&b, is_natural) }
                    }
                    Atom::Power(a, b) => part(a).to_the(&part(b)),
                    Atom::Abs(e) => part(e).magnitude(),
                    Atom::Bitwise(op, a, b) => part(a).bitwise(*op, &part(b)),
                    Atom::Max(items) => Self::extreme(items.iter().map(part), true),
                    Atom::Min(items) => Self::extreme(items.iter().map(part), false),
                };
                for _ in 0..*power {
                    product = product.mul(&value);
                }
            }
            sum = sum.add(&product.scale(*c));
        }
        sum
    }

    /// The value under an assignment; `None` where a symbol has none (or a divisor is zero).
    pub fn evaluate(&self, of: &dyn Fn(&Symbol) -> Option<i64>) -> Option<i64> {
        self.evaluate_all(of, &|_| None)
    }

    /// The same, where floats are rounded in it.
    pub(crate) fn evaluate_all(&self, of: &dyn Fn(&Symbol) -> Option<i64>, floats: &dyn Fn(&Symbol) -> Option<f64>) -> Option<i64> {
        self.substitute_all(&|s| of(s).map(Expr::from), floats).as_int()
    }

    /// Symbols of floats that are rounded in it.
    pub fn floats(&self) -> BTreeSet<Symbol> {
        let mut found = BTreeSet::new();
        self.each_leaf(&mut |leaf| {
            if let Atom::Rounded(Rounded(_, float)) = leaf {
                found.extend(float.floats());
            }
        });
        found
    }

    /// Every symbol in it, each once, in order of name.
    pub fn symbols(&self) -> BTreeSet<Symbol> {
        let mut found = BTreeSet::new();
        self.each_leaf(&mut |leaf| match leaf {
            Atom::Rounded(Rounded(_, float)) => found.extend(float.sizes()),
            Atom::Symbol(symbol) => drop(found.insert(symbol.clone())),
            _ => {}
        });
        found
    }

    /// Calls `f` on every symbol and every rounded float in it.
    fn each_leaf(&self, f: &mut dyn FnMut(&Atom)) {
        for (atom, _) in self.0.keys().flatten() {
            match atom {
                Atom::Symbol(_) | Atom::Rounded(_) => f(atom),
                Atom::Sum(e) | Atom::Abs(e) => e.each_leaf(f),
                Atom::FloorDiv(a, b) | Atom::Mod(a, b) | Atom::PythonMod(a, b) | Atom::Power(a, b) | Atom::Bitwise(_, a, b) => {
                    a.each_leaf(f);
                    b.each_leaf(f);
                }
                Atom::Max(items) | Atom::Min(items) => items.iter().for_each(|e| e.each_leaf(f)),
            }
        }
    }
}
