//! The guards of a [`ShapeEnv`] against what its trace asked for, and what they leave of each symbol.

use crate::expressions::{comparison, in_range, term};
use crate::{Budget, Formula, Term, Values, Verdict, implies_within, needed_within};
use shape::{Operation, Relation, ShapeEnv, ShapeGuard, Symbol};

/// Of more guards nothing is said of what they leave of symbols.
const MOST_GUARDS: usize = 64;

/// What validation says of one environment.
#[derive(Clone, Debug)]
pub struct Validation {
    /// Whether the guards imply what was asked for.
    pub verdict: Verdict,
    /// What was asked for, simplifications of operations included, in the order of [`Verdict::Counterexample`].
    pub source: Vec<Asked>,
    /// What holds where the guards pass.
    pub target: Vec<Formula>,
    /// Symbols that guards speak of.
    pub narrowed: Vec<Narrowed>,
}

/// A condition that the trace depends on.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The condition.
    pub formula: Formula,
    /// As it was asked for; none of what an operation was simplified to.
    pub guard: Option<ShapeGuard>,
}

/// What guards leave of a symbol.
#[derive(Clone, Debug)]
pub struct Narrowed {
    /// The symbol.
    pub symbol: Symbol,
    /// Guards that speak of it, by position among those of the environment.
    pub guards: Vec<usize>,
    /// The only value that is left, with the fewest guards that leave it.
    pub only: Option<(i64, Vec<usize>)>,
}

fn equal(left: Term, right: Term) -> Formula {
    Formula::Compare(left, Relation::Eq, right)
}

/// What was asked for: conditions, that symbols which are something else are that, and that operations are what they were simplified to.
fn source(env: &ShapeEnv) -> Vec<Asked> {
    let of_guard = |guard: ShapeGuard| Asked { formula: comparison(&guard.left, guard.relation, &guard.right), guard: Some(guard) };
    let asked = env.asked().into_iter().map(of_guard);
    let silent = |formula| Asked { formula, guard: None };
    let replaced = env.replacements().into_iter().map(|(symbol, by)| silent(equal(Term::Variable(symbol.0), term(&by))));
    let computed = env.computed().into_iter().map(|(operation, left, right, result)| {
        let (a, b) = (term(&left), term(&right));
        let written = match operation {
            Operation::Add => Term::Sum(vec![a, b]),
            Operation::Sub => Term::Sum(vec![a, Term::Product(vec![Term::Number(-1), b])]),
            Operation::Mul => Term::Product(vec![a, b]),
            Operation::FloorDiv => Term::FloorDiv(Box::new(a), Box::new(b)),
            Operation::Mod => Term::Mod(Box::new(a), Box::new(b)),
            Operation::Power => Term::Power(Box::new(a), Box::new(b)),
            Operation::Max => Term::Max(vec![a, b]),
            Operation::Min => Term::Min(vec![a, b]),
        };
        silent(equal(written, term(&result)))
    });
    asked.chain(replaced).chain(computed).collect()
}

/// Validates what an environment's guards say; nothing where it has no symbols.
pub fn validate(env: &ShapeEnv) -> Option<Validation> {
    let symbols = env.symbols();
    if symbols.is_empty() {
        return None;
    }
    let hints: Values = symbols.iter().filter_map(|(s, info)| Some((s.0.clone(), info.hint?.into()))).collect();
    let guards = env.guards();
    // Sizes that a tensor may have at all; what only the run knows is checked by the graph.
    let ranges: Vec<Formula> = symbols.iter().flat_map(|(s, info)| in_range(s, info.lower, info.upper)).collect();
    let expected = env.expected();
    let checked = expected.iter().map(|(left, relation, right)| comparison(left, *relation, right));
    let own: Vec<Formula> = guards.iter().map(|g| comparison(&g.left, g.relation, &g.right)).collect();
    let target: Vec<Formula> = own.iter().cloned().chain(ranges).chain(checked).collect();
    let source = source(env);
    let formulas: Vec<Formula> = source.iter().map(|asked| asked.formula.clone()).collect();
    let verdict = implies_within(&target, &formulas, &hints, &mut Budget::default());
    let narrowed = if guards.len() > MOST_GUARDS { Vec::new() } else { narrowed(env, &guards, &own, &hints) };
    Some(Validation { verdict, source, target, narrowed })
}

fn narrowed(env: &ShapeEnv, guards: &[ShapeGuard], own: &[Formula], hints: &Values) -> Vec<Narrowed> {
    let mut budget = Budget::default();
    // The range with which a symbol began is not known any more: a size is zero at least, and has no guard for that.
    let sizes: Vec<Formula> = env.symbols().iter().filter(|(s, _)| env.is_size(s)).flat_map(|(s, _)| in_range(s, 2, i64::MAX)).collect();
    let of_symbol = |(symbol, info): (Symbol, shape::SymbolInfo)| {
        let speaks = |guard: &ShapeGuard| guard.left.symbols().contains(&symbol) || guard.right.symbols().contains(&symbol);
        let named: Vec<usize> = (0..guards.len()).filter(|i| speaks(&guards[*i])).collect();
        if named.is_empty() {
            return None;
        }
        let only = info.hint.and_then(|value| {
            let asked = equal(Term::Variable(symbol.0.clone()), Term::Number(value.into()));
            Some((value, needed_within(&sizes, own, &asked, hints, &mut budget)?))
        });
        Some(Narrowed { symbol, guards: named, only })
    };
    env.symbols().into_iter().filter_map(of_symbol).collect()
}
