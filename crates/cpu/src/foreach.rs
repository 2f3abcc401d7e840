//! Operators on lists of tensors: each tensor goes through the kernel of its own operator.

use diagnostics::error::Result;
use dispatch::foreach::{each, is_foreach};
use dispatch::{Call, KernelTable, Value, all, run_backend};

fn apply(call: &Call) -> Result<Value> {
    each(call, false)?.into_iter().map(|one| run_backend(one.entry, &one.args, false)).collect::<Result<Vec<_>>>().map(Value::List)
}

/// Registers the kernels.
pub fn register(table: &mut KernelTable) {
    for entry in all().iter().filter(|e| is_foreach(e) && !e.is_mutable()) {
        table.make(entry.name, apply);
    }
}
