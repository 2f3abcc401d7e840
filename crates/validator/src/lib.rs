//! Translation validation: whether the guards that run (the target) imply the conditions that tracing asked for (the source).
//!
//! [`implies`] decides it for what guards are made of: comparisons of sums, products, floor divisions and remainders of integers. It knows
//! three answers, and of those that say something none is wrong: a proof follows from rules that hold of all integers, a counterexample
//! was computed through every formula ([`Formula::holds`]), and everything else is "not decided".
//!
//! A condition does not follow where the target together with its opposite has a solution. [`satisfiable`] looks for one:
//! [`problem`] turns formulas into comparisons of polynomials with zero, quotients being variables of their own; [`search`] narrows the
//! bounds of variables, replaces those that equations solve, and splits what is left into boxes; [`linear`] eliminates variables from the
//! inequalities (Fourier-Motzkin), products taken as variables that the bounds of their factors tie to those.
//!
//! Work is counted in steps and not in time, so that the same guards have the same answer everywhere.

mod environment;
mod expressions;
mod formula;
mod linear;
mod polynomial;
mod problem;
mod search;
mod text;

pub use environment::{Asked, Narrowed, Validation, validate};
pub use expressions::{comparison, in_range, term};
pub use formula::{Formula, Name, Term};
pub use text::{Unreadable, parse};

use problem::Problem;
use search::{Answer, Search};
use std::collections::BTreeMap;

/// Values of variables. A Boolean variable is zero or one.
pub type Values = BTreeMap<Name, i128>;

/// How much work may be done.
#[derive(Clone, Copy, Debug)]
pub struct Budget(u32);

impl Default for Budget {
    /// About thirty milliseconds.
    fn default() -> Self {
        Budget(25_000)
    }
}

/// Whether the target implies the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Proved,
    /// These values satisfy the target, and not this formula of the source (by position).
    Counterexample(Values, usize),
    /// No proof and no counterexample was found.
    NotDecided,
}

/// Whether formulas hold together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Satisfiable {
    /// For these values.
    Yes(Values),
    /// For none.
    No,
    /// Neither was found.
    Unknown,
}

/// Whether every formula of `source` holds wherever those of `target` do. `hints` are values that are tried first.
pub fn implies(target: &[Formula], source: &[Formula], hints: &Values) -> Verdict {
    implies_within(target, source, hints, &mut Budget::default())
}

/// The same, with no more work than this; what was done is taken from it.
pub fn implies_within(target: &[Formula], source: &[Formula], hints: &Values, Budget(steps): &mut Budget) -> Verdict {
    let Some(common) = Problem::of(target) else { return Verdict::NotDecided };
    let common = Search::new(common, hints, steps);
    let mut is_proved = true;
    for (at, asked) in source.iter().enumerate() {
        if target.contains(asked) {
            continue;
        }
        let opposite = Formula::Not(Box::new(asked.clone()));
        match common.with(&opposite, steps) {
            Answer::No => {}
            Answer::Yes(values) if target.iter().chain([&opposite]).all(|f| f.holds(&values) == Some(true)) => {
                return Verdict::Counterexample(values, at);
            }
            _ => is_proved = false,
        }
    }
    if is_proved { Verdict::Proved } else { Verdict::NotDecided }
}

/// Whether all formulas hold for some values. `hints` are values that are tried first.
pub fn satisfiable(formulas: &[Formula], hints: &Values) -> Satisfiable {
    let Budget(mut steps) = Budget::default();
    let Some(common) = Problem::of(&[]) else { return Satisfiable::Unknown };
    let all = Formula::And(formulas.to_vec());
    match Search::new(common, hints, &mut steps).with(&all, &mut steps) {
        Answer::No => Satisfiable::No,
        Answer::Yes(values) if all.holds(&values) == Some(true) => Satisfiable::Yes(values),
        _ => Satisfiable::Unknown,
    }
}

/// The fewest formulas of `among` that together with `given` imply `asked`, by position, in their order; `None` where all do not, or where
/// that is not decided. No formula of the answer can be left out.
pub fn needed(given: &[Formula], among: &[Formula], asked: &Formula, hints: &Values) -> Option<Vec<usize>> {
    needed_within(given, among, asked, hints, &mut Budget::default())
}

/// The same, with no more work than this.
pub(crate) fn needed_within(
    given: &[Formula],
    among: &[Formula],
    asked: &Formula,
    hints: &Values,
    budget: &mut Budget,
) -> Option<Vec<usize>> {
    let mut proves = |kept: &[usize]| {
        let formulas: Vec<Formula> = given.iter().cloned().chain(kept.iter().filter_map(|i| among.get(*i).cloned())).collect();
        implies_within(&formulas, std::slice::from_ref(asked), hints, budget) == Verdict::Proved
    };
    let mut kept: Vec<usize> = (0..among.len()).collect();
    if !proves(&kept) {
        return None;
    }
    // Later guards narrow what earlier ones left: those that can be spared are sought from the end.
    for i in (0..among.len()).rev() {
        let without: Vec<usize> = kept.iter().copied().filter(|k| *k != i).collect();
        if proves(&without) {
            kept = without;
        }
    }
    Some(kept)
}
