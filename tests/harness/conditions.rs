//! Whether size conditions of two sides say the same of the sizes that a compiled graph serves. They are expressions in Python's
//! syntax, written differently by either side: conditions.py evaluates both on many sizes.

use crate::run::{Job, script};
use libtest_mimic::Failed;

/// How ours stand to PyTorch's.
pub enum Relation {
    /// Both hold of the same sizes.
    Equivalent,
    /// Ours hold of fewer sizes; an example.
    Stricter(String),
    /// Ours hold of a size that PyTorch's do not hold of; an example.
    Other(String),
}

const EVALUATE: &str = include_str!("conditions.py");

/// Compares conditions in the form of the recorder's: lines `symbol NAME: LOWER UPPER VALUE`, `guard EXPRESSION`, `replaced NAME:
/// EXPRESSION`.
///
/// # Errors
///
/// Where one cannot be evaluated.
pub fn relation(theirs: &str, ours: &str) -> Result<Relation, Failed> {
    if theirs == ours {
        return Ok(Relation::Equivalent);
    }
    let source = format!("theirs, ours = {theirs:?}, {ours:?}\n{EVALUATE}");
    let observed = script(&Job { source, file: "conditions.py".to_owned(), ..Job::default() })?;
    if let Some(traceback) = observed.traceback {
        return Err(traceback.into());
    }
    let printed = observed.items["stdout"].trim_end();
    let (verdict, example) = printed.split_once(' ').unwrap_or((printed, ""));
    match verdict {
        "equivalent" => Ok(Relation::Equivalent),
        "stricter" => Ok(Relation::Stricter(example.to_owned())),
        "other" => Ok(Relation::Other(example.to_owned())),
        _ => Err(format!("conditions.py printed {printed:?}").into()),
    }
}
