//! Terms and formulas as they were written: nothing is simplified.

use crate::Values;
use shape::Relation;
use std::rc::Rc;

/// A variable's name.
pub type Name = Rc<str>;

/// An integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// A number.
    Number(i128),
    /// A variable.
    Variable(Name),
    /// The sum of several.
    Sum(Vec<Term>),
    /// The product of several.
    Product(Vec<Term>),
    /// Python's `a // b`.
    FloorDiv(Box<Term>, Box<Term>),
    /// Python's `a % b`.
    Mod(Box<Term>, Box<Term>),
    /// `a ** b`
    Power(Box<Term>, Box<Term>),
    /// The largest of several.
    Max(Vec<Term>),
    /// The smallest of several.
    Min(Vec<Term>),
    /// The first where the formula holds, else the second.
    If(Box<Formula>, Box<Term>, Box<Term>),
    /// What is not computed here, by its text: of a float, say. Two of one text are equal.
    Opaque(Name),
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// Holds always, or never.
    Constant(bool),
    /// A Boolean variable.
    Variable(Name),
    /// A comparison.
    Compare(Term, Relation, Term),
    /// Whether all hold.
    And(Vec<Formula>),
    /// Whether one holds.
    Or(Vec<Formula>),
    /// Whether it does not hold.
    Not(Box<Formula>),
}

/// Python's `a // b`.
pub(crate) fn floor_div(a: i128, b: i128) -> Option<i128> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

impl Term {
    /// The value where variables have these; `None` where one has none, a divisor is zero, a number is too large, or it is not computed here.
    pub fn value(&self, of: &Values) -> Option<i128> {
        match self {
            Term::Number(n) => Some(*n),
            Term::Variable(name) => of.get(name).copied(),
            Term::Sum(terms) => terms.iter().try_fold(0i128, |sum, t| sum.checked_add(t.value(of)?)),
            Term::Product(terms) => terms.iter().try_fold(1i128, |product, t| product.checked_mul(t.value(of)?)),
            Term::FloorDiv(a, b) => floor_div(a.value(of)?, b.value(of)?),
            Term::Mod(a, b) => {
                let (a, b) = (a.value(of)?, b.value(of)?);
                a.checked_sub(b.checked_mul(floor_div(a, b)?)?)
            }
            Term::Power(a, b) => a.value(of)?.checked_pow(u32::try_from(b.value(of)?).ok()?),
            Term::Max(terms) => terms.iter().map(|t| t.value(of)).collect::<Option<Vec<_>>>()?.into_iter().max(),
            Term::Min(terms) => terms.iter().map(|t| t.value(of)).collect::<Option<Vec<_>>>()?.into_iter().min(),
            Term::If(condition, yes, no) => if condition.holds(of)? { yes } else { no }.value(of),
            Term::Opaque(_) => None,
        }
    }
}

impl Formula {
    /// Whether it holds where variables have these values; `None` where that cannot be computed.
    pub fn holds(&self, of: &Values) -> Option<bool> {
        match self {
            Formula::Constant(holds) => Some(*holds),
            Formula::Variable(name) => of.get(name).map(|value| *value != 0),
            Formula::Compare(a, relation, b) => Some(relation.holds(a.value(of)?, b.value(of)?)),
            Formula::And(all) => all.iter().try_fold(true, |holds, f| Some(f.holds(of)? && holds)),
            Formula::Or(all) => all.iter().try_fold(false, |holds, f| Some(f.holds(of)? || holds)),
            Formula::Not(f) => f.holds(of).map(|holds| !holds),
        }
    }

    /// The opposite.
    #[must_use]
    pub fn negated(&self) -> Formula {
        match self {
            Formula::Constant(holds) => Formula::Constant(!holds),
            Formula::Variable(_) => Formula::Not(Box::new(self.clone())),
            Formula::Compare(a, relation, b) => Formula::Compare(a.clone(), relation.negated(), b.clone()),
            Formula::And(all) => Formula::Or(all.iter().map(Formula::negated).collect()),
            Formula::Or(all) => Formula::And(all.iter().map(Formula::negated).collect()),
            Formula::Not(f) => (**f).clone(),
        }
    }
}
