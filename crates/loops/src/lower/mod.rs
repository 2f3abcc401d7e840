//! Lowerings: what each operator is as loops. A family per file; a table by operator name.
//!
//! A rule appends loops that fill the regions of the operator's results, and may make regions of its own in between; the
//! schedule decides what of this becomes a kernel. A rule that meets a case it does not cover answers with an error, and the
//! node runs on the CPU, reported as such.

mod attention;
mod conv;
mod index;
mod linear;
mod loss;
mod norm;
mod pointwise;
mod pool;
mod reduce;
mod rule;

pub use rule::{Lower, Rule};

use super::language::View;
use super::program::Builder;
use diagnostics::error::{Error, Result};
use dispatch::{Call, OpEntry, all, lookup};
use std::sync::OnceLock;

/// Families of lowerings by operator name.
const FAMILIES: &[&[(&str, Rule)]] =
    &[attention::RULES, conv::RULES, index::RULES, linear::RULES, loss::RULES, norm::RULES, pool::RULES, reduce::RULES];

/// How an operator is lowered.
#[derive(Clone, Copy)]
enum Lowering {
    /// By loops of its own.
    Loops(Rule),
    /// Every element on its own.
    Formula(pointwise::Formula),
}

/// Lowerings by operator. A name that no entry has is a mistake that the first graph on the GPU shows.
fn table() -> &'static [Option<Lowering>] {
    static TABLE: OnceLock<Vec<Option<Lowering>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = vec![None; all().len()];
        let mut put = |name: &str, lowering: Lowering| {
            let entry = lookup(name).unwrap_or_else(|| panic!("a lowering of {name}, which the catalogue does not have"));
            table[entry.id] = Some(lowering);
        };
        FAMILIES.iter().flat_map(|family| family.iter()).for_each(|(name, rule)| put(name, Lowering::Loops(*rule)));
        pointwise::FORMULAS.iter().for_each(|(name, formula)| put(name, Lowering::Formula(*formula)));
        table
    })
}

/// Whether an operator has a lowering. Views and in-place forms need none.
pub fn supports(entry: &OpEntry) -> bool {
    table().get(entry.id).is_some_and(Option::is_some)
}

/// Every operator that has a lowering, by name.
pub fn supported() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = all().iter().filter(|entry| supports(entry)).map(|entry| entry.name).collect();
    names.sort_unstable();
    names
}

/// Lowers one call; false where its operator has no rule.
pub fn lower(b: &mut Builder, call: &Call, outs: &[Option<View>]) -> Result<bool> {
    match table().get(call.entry.id).copied().flatten() {
        Some(Lowering::Formula(formula)) => {
            let out = outs.first().cloned().flatten().ok_or_else(|| Error::not_implemented("no result"))?;
            let body = formula(&mut Lower { b, call, outs })?;
            b.pointwise(&out, body);
            Ok(true)
        }
        Some(Lowering::Loops(rule)) => rule(&mut Lower { b, call, outs }).map(|()| true),
        None => Ok(false),
    }
}
