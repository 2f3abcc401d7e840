//! Formulas as comparisons of polynomials with zero. What is no polynomial becomes a variable with what is known of it: the quotient
//! `q = a // b` has `0 <= a - b*q < b` where `b` is above zero; a divisor is not zero, as in PyTorch's validator.

use crate::formula::{Formula, Name, Term};
use crate::polynomial::{Polynomial, Var, gcd, is_small};
use shape::Relation;

/// How a polynomial compares with zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `p <= 0`
    AtMost,
    /// `p == 0`
    Zero,
    /// `p != 0`
    NotZero,
}

/// A comparison with zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// What is compared.
    pub of: Polynomial,
    /// How.
    pub kind: Kind,
}

/// A formula of comparisons with zero.
#[derive(Clone, Debug)]
pub enum Node {
    /// Holds always, or never.
    Constant(bool),
    /// A comparison.
    Literal(Literal),
    /// All hold.
    And(Vec<Node>),
    /// One holds.
    Or(Vec<Node>),
}

/// What a variable stands for that is no polynomial.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Meaning {
    Named(Name),
    Quotient(Polynomial, Polynomial),
    Extreme(Vec<Polynomial>, bool),
    Written(Term),
}

/// Comparisons that hold together, and what their variables are.
#[derive(Clone, Default)]
pub struct Problem {
    /// What holds.
    pub nodes: Vec<Node>,
    /// What was written: a solution has to satisfy it.
    pub formulas: Vec<Formula>,
    /// By variable.
    known: Vec<Meaning>,
}

/// Terms nest no deeper.
const DEEPEST: u32 = 200;

fn at_most(of: Option<Polynomial>) -> Option<Node> {
    Some(Node::Literal(Literal { of: of?, kind: Kind::AtMost }))
}

impl Problem {
    /// What formulas say together; `None` where they are too large.
    pub fn of(formulas: &[Formula]) -> Option<Problem> {
        let mut problem = Problem::default();
        formulas.iter().try_for_each(|f| problem.add(f))?;
        Some(problem)
    }

    /// One more formula; `None` where it is too large.
    pub fn add(&mut self, formula: &Formula) -> Option<()> {
        let node = self.node(formula, true, 0)?;
        self.nodes.push(node);
        self.formulas.push(formula.clone());
        Some(())
    }

    /// Names with their variables.
    pub fn names(&self) -> impl Iterator<Item = (&Name, Var)> {
        self.known.iter().enumerate().filter_map(|(at, meaning)| match meaning {
            Meaning::Named(name) => Some((name, at as Var)),
            _ => None,
        })
    }

    fn node(&mut self, formula: &Formula, holds: bool, depth: u32) -> Option<Node> {
        if depth > DEEPEST {
            return None;
        }
        let mut all = |items: &[Formula]| items.iter().map(|f| self.node(f, holds, depth + 1)).collect::<Option<Vec<_>>>();
        Some(match formula {
            Formula::Constant(constant) => Node::Constant(*constant == holds),
            Formula::And(items) if holds => Node::And(all(items)?),
            Formula::Or(items) if !holds => Node::And(all(items)?),
            Formula::And(items) | Formula::Or(items) => Node::Or(all(items)?),
            Formula::Not(f) => self.node(f, !holds, depth + 1)?,
            Formula::Variable(name) => {
                // A Boolean is zero or one.
                let var = Polynomial::variable(self.named(name));
                self.nodes.push(at_most(Polynomial::default().plus(&var, -1))?);
                self.nodes.push(at_most(var.plus(&Polynomial::from(1), -1))?);
                let of = if holds { var.plus(&Polynomial::from(1), -1)? } else { var };
                Node::Literal(Literal { of, kind: Kind::Zero })
            }
            Formula::Compare(a, relation, b) => {
                let difference = self.term(a, depth + 1)?.plus(&self.term(b, depth + 1)?, -1)?;
                compared(&difference, if holds { *relation } else { relation.negated() })?
            }
        })
    }

    fn fresh(&mut self, meaning: Meaning) -> (Var, bool) {
        if let Some(at) = self.known.iter().position(|known| *known == meaning) {
            return (at as Var, false);
        }
        self.known.push(meaning);
        (self.count() - 1, true)
    }

    /// How many variables there are.
    pub fn count(&self) -> Var {
        self.known.len() as Var
    }

    fn named(&mut self, name: &Name) -> Var {
        self.fresh(Meaning::Named(name.clone())).0
    }

    fn term(&mut self, term: &Term, depth: u32) -> Option<Polynomial> {
        if depth > DEEPEST {
            return None;
        }
        let depth = depth + 1;
        match term {
            Term::Number(n) => is_small(*n).then(|| Polynomial::from(*n)),
            Term::Variable(name) => Some(Polynomial::variable(self.named(name))),
            Term::Sum(terms) => terms.iter().try_fold(Polynomial::default(), |sum, t| sum.plus(&self.term(t, depth)?, 1)),
            Term::Product(terms) => terms.iter().try_fold(Polynomial::from(1), |product, t| product.times(&self.term(t, depth)?)),
            Term::FloorDiv(a, b) => {
                let (a, b) = (self.term(a, depth)?, self.term(b, depth)?);
                self.quotient(&a, &b)
            }
            Term::Mod(a, b) => {
                let (a, b) = (self.term(a, depth)?, self.term(b, depth)?);
                a.plus(&self.quotient(&a, &b)?.times(&b)?, -1)
            }
            Term::Power(a, b) => match self.term(b, depth)?.as_number().and_then(|n| u32::try_from(n).ok()) {
                Some(power) => {
                    let base = self.term(a, depth)?;
                    (0..power).try_fold(Polynomial::from(1), |product, _| product.times(&base))
                }
                None => Some(Polynomial::variable(self.fresh(Meaning::Written(term.clone())).0)),
            },
            Term::Max(terms) => self.extreme(terms, true, depth),
            Term::Min(terms) => self.extreme(terms, false, depth),
            Term::If(condition, yes, no) => {
                let (var, is_new) = self.fresh(Meaning::Written(term.clone()));
                let var = Polynomial::variable(var);
                if is_new {
                    let (holds, fails) = (self.node(condition, true, depth)?, self.node(condition, false, depth)?);
                    let (yes, no) = (self.term(yes, depth)?, self.term(no, depth)?);
                    let equal = |of: Polynomial| Some(Node::Literal(Literal { of: var.plus(&of, -1)?, kind: Kind::Zero }));
                    self.nodes.push(Node::Or(vec![Node::And(vec![holds, equal(yes)?]), Node::And(vec![fails, equal(no)?])]));
                }
                Some(var)
            }
            Term::Opaque(_) => Some(Polynomial::variable(self.fresh(Meaning::Written(term.clone())).0)),
        }
    }

    fn extreme(&mut self, terms: &[Term], largest: bool, depth: u32) -> Option<Polynomial> {
        let mut items = terms.iter().map(|t| self.term(t, depth)).collect::<Option<Vec<_>>>()?;
        let mut at = 1;
        while at < items.len() {
            if items[..at].contains(&items[at]) { drop(items.remove(at)) } else { at += 1 }
        }
        if let [one] = items.as_slice() {
            return Some(one.clone());
        }
        let (var, is_new) = self.fresh(Meaning::Extreme(items.clone(), largest));
        let var = Polynomial::variable(var);
        if is_new {
            let sign = if largest { 1 } else { -1 };
            // No item is beyond it, and one item is not short of it.
            let difference = |item: &Polynomial, sign: i128| Polynomial::default().plus(item, sign)?.plus(&var, -sign);
            for item in &items {
                self.nodes.push(at_most(difference(item, sign))?);
            }
            let reached = items.iter().map(|item| at_most(difference(item, -sign))).collect::<Option<Vec<_>>>()?;
            self.nodes.push(Node::Or(reached));
        }
        Some(var)
    }

    /// Python's `a // b`.
    fn quotient(&mut self, a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
        if let Some(number) = b.as_number() {
            return match number {
                0 => {
                    // Nothing holds where a divisor is zero.
                    self.nodes.push(Node::Constant(false));
                    Some(Polynomial::default())
                }
                1.. => self.quotient_by_number(a, number),
                _ => self.quotient_by_number(&Polynomial::default().plus(a, -1)?, number.checked_neg()?),
            };
        }
        self.nodes.push(Node::Literal(Literal { of: b.clone(), kind: Kind::NotZero }));
        let (whole, rest) = a.divided(b)?;
        if rest.as_number() == Some(0) {
            return Some(whole);
        }
        let (var, is_new) = self.fresh(Meaning::Quotient(rest.clone(), b.clone()));
        let var = Polynomial::variable(var);
        if is_new {
            let left = rest.plus(&b.times(&var)?, -1)?;
            let (one, negative) = (Polynomial::from(1), Polynomial::default());
            // 1 <= b, 0 <= left, left <= b - 1; or b <= -1, left <= 0, b + 1 <= left.
            let above = [one.plus(b, -1), negative.plus(&left, -1), left.plus(b, -1)?.plus(&one, 1)];
            let below = [b.plus(&one, 1), Some(left.clone()), b.plus(&left, -1)?.plus(&one, 1)];
            let all = |items: [Option<Polynomial>; 3]| items.into_iter().map(at_most).collect::<Option<Vec<_>>>().map(Node::And);
            self.nodes.push(Node::Or(vec![all(above)?, all(below)?]));
        }
        whole.plus(&var, 1)
    }

    /// The quotient by a number above zero: multiples of it are taken out, then common divisors.
    fn quotient_by_number(&mut self, a: &Polynomial, number: i128) -> Option<Polynomial> {
        let (mut whole, mut rest) = (Polynomial::default(), Polynomial::default());
        for (monomial, coefficient) in &a.0 {
            let part = |c: i128| Polynomial(if c == 0 { Default::default() } else { [(monomial.clone(), c)].into() });
            whole = whole.plus(&part(coefficient.div_euclid(number)), 1)?;
            rest = rest.plus(&part(coefficient.rem_euclid(number)), 1)?;
        }
        let common = gcd(rest.content(), number);
        if rest.as_number().is_some() || common == number {
            return Some(whole);
        }
        let (rest, number) =
            (Polynomial(rest.0.iter().map(|(m, c)| (m.clone(), c.div_euclid(common))).filter(|(_, c)| *c != 0).collect()), number / common);
        let (var, is_new) = self.fresh(Meaning::Quotient(rest.clone(), Polynomial::from(number)));
        let var = Polynomial::variable(var);
        if is_new {
            let left = rest.plus(&var, number.checked_neg()?)?;
            self.nodes.push(at_most(Polynomial::default().plus(&left, -1))?);
            self.nodes.push(at_most(left.plus(&Polynomial::from(number - 1), -1))?);
        }
        whole.plus(&var, 1)
    }
}

/// That a difference compares so with zero.
fn compared(difference: &Polynomial, relation: Relation) -> Option<Node> {
    let opposite = || Polynomial::default().plus(difference, -1);
    let one = Polynomial::from(1);
    match relation {
        Relation::Eq => Some(Node::Literal(Literal { of: difference.clone(), kind: Kind::Zero })),
        Relation::Ne => Some(Node::Literal(Literal { of: difference.clone(), kind: Kind::NotZero })),
        Relation::Le => at_most(Some(difference.clone())),
        Relation::Lt => at_most(difference.plus(&one, 1)),
        Relation::Ge => at_most(opposite()),
        Relation::Gt => at_most(opposite()?.plus(&one, 1)),
    }
}
