//! Random guard sets beside the verdicts of z3 (`python tests/record.py data/guard_sets` records them).
//!
//! The usual tests look at the first few hundred. All of them, with how many are decided and how long the slowest takes:
//! `cargo test -p validator -- --ignored --nocapture`.

use std::time::{Duration, Instant};
use validator::{Formula, Values, Verdict, implies, parse};

const RECORDED: &str = include_str!("guard_sets.txt");

/// How many sets of a hundred are to be decided.
const DECIDED: usize = 90;

/// Formulas that stand one after the other.
fn formulas(text: &str) -> Vec<Formula> {
    let (mut found, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            found.push(parse(text[start..=at].trim()).unwrap());
            start = at + 1;
        }
    }
    found
}

#[derive(Default)]
struct Counted {
    sets: usize,
    decided: usize,
    slowest: Duration,
    /// What contradicts z3, or itself.
    wrong: Vec<String>,
    undecided: Vec<String>,
}

fn count(lines: impl Iterator<Item = &'static str>) -> Counted {
    let mut counted = Counted::default();
    for line in lines {
        let (recorded, sets) = line.split_once(' ').unwrap();
        let (target, source) = sets.split_once(" => ").unwrap();
        let (target, source) = (formulas(target), formulas(source));
        let start = Instant::now();
        let verdict = implies(&target, &source, &Values::new());
        counted.slowest = counted.slowest.max(start.elapsed());
        counted.sets += 1;
        let said = match &verdict {
            Verdict::Proved => "proved",
            Verdict::Counterexample(..) => "counterexample",
            Verdict::NotDecided => "not decided",
        };
        let is_wrong = match &verdict {
            Verdict::Proved => recorded == "counterexample",
            Verdict::Counterexample(values, at) => {
                recorded == "proved" || source[*at].holds(values) != Some(false) || target.iter().any(|f| f.holds(values) != Some(true))
            }
            Verdict::NotDecided => false,
        };
        if is_wrong {
            counted.wrong.push(format!("{said}: {line}"));
        }
        if verdict == Verdict::NotDecided {
            counted.undecided.push(line.to_owned());
        } else {
            counted.decided += 1;
        }
    }
    counted
}

fn check(counted: &Counted) {
    assert!(counted.wrong.is_empty(), "against z3:\n{}", counted.wrong.join("\n"));
    let undecided = counted.undecided.join("\n");
    assert!(
        counted.decided * 100 >= counted.sets * DECIDED,
        "{} of {} are decided; not these:\n{undecided}",
        counted.decided,
        counted.sets
    );
}

#[test]
fn the_first_agree_with_z3() {
    check(&count(RECORDED.lines().take(400)));
}

#[test]
#[ignore = "ten thousand sets take a while"]
fn all_agree_with_z3() {
    let counted = count(RECORDED.lines());
    println!("{} of {} decided, the slowest in {:?}", counted.decided, counted.sets, counted.slowest);
    check(&counted);
}
