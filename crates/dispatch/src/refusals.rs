//! Dtypes that PyTorch's kernels refuse, and its words. Such a call is refused where values are computed: a graph is traced on what
//! tensors look like alone, and fails when it runs.

use super::entry::Refusal;
use super::{OpEntry, Value};
use diagnostics::error::{Error, Result};
use tensor::Dtype;

fn is_kind(kinds: &str, dtype: Dtype) -> bool {
    let kind = match dtype {
        Dtype::Bool => "b",
        Dtype::UInt8 => "i",
        d if d.is_complex() => "c",
        d if d.is_integral() => "iu",
        Dtype::Float16 | Dtype::BFloat16 => "h",
        _ => "",
    };
    kind.chars().any(|k| kinds.contains(k))
}

/// Refuses a call whose values are to be computed, where PyTorch's kernel does.
pub fn check(entry: &OpEntry, args: &[Value]) -> Result<()> {
    super::float8::check(entry, args)?;
    if entry.refuses.is_empty() {
        return Ok(());
    }
    let mut dtypes = Vec::new();
    args.iter().for_each(|v| v.for_each_tensor(&mut |t| dtypes.push(t.dtype())));
    let (Some(first), Some(last)) = (dtypes.first().copied(), dtypes.last().copied()) else { return Ok(()) };
    for Refusal { dtypes: kinds, words } in &entry.refuses {
        let refuses = match kinds.chars().next() {
            Some('*') => dtypes.iter().all(|d| is_kind(kinds, *d)) && (dtypes.len() > 1 || first.is_complex()),
            Some('+') => dtypes.iter().any(|d| is_kind(kinds, *d)),
            Some('!') => dtypes.iter().any(|d| *d != first),
            _ => is_kind(kinds, first),
        };
        if !refuses {
            continue;
        }
        let refused = if kinds.starts_with('+') { dtypes.iter().copied().find(|d| is_kind(kinds, *d)).unwrap_or(first) } else { first };
        let (class, words) =
            if let Some((class, words)) = words.split_once(':').filter(|(c, _)| c.len() == 1) { (class, words) } else { ("", *words) };
        if !words.contains(' ') {
            return Err(Error::not_implemented(format!("\"{words}\" not implemented for '{}'", refused.scalar_type())));
        }
        let message = words.replace("{}", refused.scalar_type()).replace("{2}", last.scalar_type());
        return Err(match class {
            "R" => Error::runtime(message),
            "T" => Error::type_error(message),
            _ => Error::not_implemented(message),
        });
    }
    Ok(())
}
