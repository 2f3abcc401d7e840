//! Sizes of a trace as terms.

use crate::{Formula, Term};
use shape::{Atom, Expr, Relation, Symbol};

/// An expression as a term.
pub fn term(expr: &Expr) -> Term {
    let product = |(factors, coefficient): (&[(Atom, u32)], i64)| {
        let number = (coefficient != 1 || factors.is_empty()).then(|| Term::Number(coefficient.into()));
        let factors = factors.iter().flat_map(|(a, power)| std::iter::repeat_n(atom(a), *power as usize));
        let all: Vec<Term> = number.into_iter().chain(factors).collect();
        single(all, Term::Product)
    };
    let terms: Vec<Term> = expr.terms().map(product).collect();
    if terms.is_empty() { Term::Number(0) } else { single(terms, Term::Sum) }
}

fn single(mut items: Vec<Term>, several: fn(Vec<Term>) -> Term) -> Term {
    if items.len() == 1 { items.remove(0) } else { several(items) }
}

fn atom(atom: &Atom) -> Term {
    let one = |e: &Expr| Box::new(term(e));
    match atom {
        Atom::Symbol(symbol) => Term::Variable(symbol.0.clone()),
        Atom::Sum(sum) => term(sum),
        // What a float is rounded to is any integer.
        Atom::Rounded(rounded) => Term::Opaque(rounded.to_string().into()),
        Atom::FloorDiv(a, b) => Term::FloorDiv(one(a), one(b)),
        Atom::Max(items) => Term::Max(items.iter().map(term).collect()),
        Atom::Min(items) => Term::Min(items.iter().map(term).collect()),
        Atom::Mod(a, b) | Atom::PythonMod(a, b) => Term::Mod(one(a), one(b)),
        Atom::Power(a, b) => Term::Power(one(a), one(b)),
        Atom::Abs(e) => Term::Max(vec![term(e), Term::Product(vec![Term::Number(-1), term(e)])]),
        Atom::Bitwise(..) => Term::Opaque(atom.to_string().into()),
    }
}

/// A condition on sizes.
pub fn comparison(left: &Expr, relation: Relation, right: &Expr) -> Formula {
    Formula::Compare(term(left), relation, term(right))
}

/// That a symbol lies between two numbers; `i64::MIN` and `i64::MAX` stand for no bound.
pub fn in_range(symbol: &Symbol, lower: i64, upper: i64) -> Vec<Formula> {
    let bound = |relation, n: i64| Formula::Compare(Term::Variable(symbol.0.clone()), relation, Term::Number(n.into()));
    let lower = (lower != i64::MIN).then(|| bound(Relation::Ge, lower));
    let upper = (upper != i64::MAX).then(|| bound(Relation::Le, upper));
    lower.into_iter().chain(upper).collect()
}
