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

use super::ir::View;
use super::program::Builder;
use diagnostics::error::{Error, Result};
use dispatch::Call;

/// Families of lowerings by operator name.
const FAMILIES: &[&[(&str, Rule)]] =
    &[attention::RULES, conv::RULES, index::RULES, linear::RULES, loss::RULES, norm::RULES, pool::RULES, reduce::RULES];

/// Every operator that has a lowering. Views and in-place forms need none.
pub fn supported() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = FAMILIES.iter().flat_map(|f| f.iter().map(|(name, _)| *name)).collect();
    names.extend(pointwise::FORMULAS.iter().map(|(name, _)| *name));
    names.sort_unstable();
    names
}

/// Lowers one call; false where its operator has no rule.
pub fn lower(b: &mut Builder, call: &Call, outs: &[Option<View>]) -> Result<bool> {
    let name = call.entry.name;
    if let Some((_, formula)) = pointwise::FORMULAS.iter().find(|(n, _)| *n == name) {
        let out = outs.first().cloned().flatten().ok_or_else(|| Error::not_implemented("no result"))?;
        let body = formula(&mut Lower { b, call, outs })?;
        b.pointwise(&out, body);
        return Ok(true);
    }
    match FAMILIES.iter().flat_map(|f| f.iter()).find(|(n, _)| *n == name) {
        Some((_, rule)) => rule(&mut Lower { b, call, outs }).map(|()| true),
        None => Ok(false),
    }
}
