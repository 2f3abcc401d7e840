//! Scripts beside what PyTorch printed and compiled for them: `tests/cases/TOPIC/NAME.py` and `NAME.expected`, which
//! `python tests/record.py` writes. docs/tests.md says what is compared.
//!
//! `CASE=pattern` runs those whose `TOPIC/NAME BACKEND` contains it, `SEED=number` repeats an order, `ACCEPT=1` writes what is ours alone.

#[path = "harness/command_line.rs"]
mod command_line;
#[path = "harness/compare.rs"]
mod compare;
#[path = "harness/conditions.rs"]
mod conditions;
#[path = "harness/differences.rs"]
mod differences;
#[path = "harness/expected.rs"]
mod expected;
#[path = "../src/module_files.rs"]
mod module_files;
#[path = "harness/number_examples.rs"]
mod number_examples;
#[path = "harness/numbers.rs"]
mod numbers;
#[path = "harness/observed.rs"]
mod observed;
#[path = "harness/run.rs"]
mod run;
#[path = "harness/shuffle.rs"]
mod shuffle;
#[path = "harness/topics.rs"]
mod topics;

use differences::KnownDifferences;
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeSet;
use std::sync::Arc;
use topics::Case;

/// How many cases also go through the command line.
const BY_COMMAND_LINE: usize = 20;

fn main() {
    if run::served() {
        return;
    }
    let mut arguments = Arguments::from_args();
    arguments.filter = arguments.filter.or_else(|| std::env::var("CASE").ok());
    let cases = topics::cases();
    let known = Arc::new(KnownDifferences::read());
    let runs: Vec<(Arc<Case>, Option<String>)> =
        cases.iter().flat_map(|case| case.backends().into_iter().map(|backend| (case.clone(), backend))).collect();
    let graphs: usize = runs.iter().map(|(case, backend)| case.expected.graphs(backend.as_deref())).sum();
    println!("{} cases, {} runs, {graphs} graphs", cases.len(), runs.len());
    let names: BTreeSet<String> = runs.iter().map(|(case, backend)| case.run_name(backend.as_deref())).collect();
    let mut trials: Vec<Trial> = vec![{
        let known = known.clone();
        Trial::test("known_differences name cases that there are", move || known.check_names(&names))
    }];
    trials.extend(number_examples::examples().into_iter().map(|(got, want, same)| {
        Trial::test(format!("`{got}` beside `{want}`"), move || if numbers::alike(got, want) == same { Ok(()) } else { Err("".into()) })
    }));
    for (case, backend) in &runs {
        let (case, backend, known) = (case.clone(), backend.clone(), known.clone());
        let name = case.run_name(backend.as_deref());
        let lacks = case.lacks();
        if let Some(package) = &lacks {
            println!("{name} is left out: this build has no {package} (python3 scripts/packages.py)");
        }
        let trial = Trial::test(name, move || {
            let observed = run::run(&case, backend.as_deref())?;
            verdict(&case, backend.as_deref(), &known, &observed)
        });
        trials.push(trial.with_ignored_flag(lacks.is_some()));
    }
    let every = (runs.len() / BY_COMMAND_LINE).max(1);
    for (case, backend) in runs.iter().filter(|(case, _)| case.lacks().is_none()).step_by(every).take(BY_COMMAND_LINE) {
        let (case, backend, known) = (case.clone(), backend.clone(), known.clone());
        let name = format!("{} by the command line", case.run_name(backend.as_deref()));
        trials.push(Trial::test(name, move || {
            let observed = command_line::run(&case, backend.as_deref())?;
            verdict(&case, backend.as_deref(), &known, &observed)
        }));
    }
    shuffle::shuffle(&mut trials);
    libtest_mimic::run(&arguments, trials).exit();
}

/// Compares a run with what was recorded of it, and the result with the differences that are known.
fn verdict(case: &Case, backend: Option<&str>, known: &KnownDifferences, observed: &observed::Observed) -> Result<(), Failed> {
    let found = compare::compare(case, backend, observed)?;
    known.judge(&case.run_name(backend), &found).map_err(Failed::from)
}
