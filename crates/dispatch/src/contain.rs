//! A last resort: where a rule, a kernel or a derivative panics on arguments that it should have refused, the call fails and the script
//! goes on. (Where panics abort, as in WebAssembly, there is no such thing: the page starts another interpreter.)

use diagnostics::error::{Error, Result};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs a part of the operator of this name; a panic is its error.
pub fn contained<R>(name: &str, run: impl FnOnce() -> Result<R>) -> Result<R> {
    DEPTH.set(DEPTH.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(run));
    DEPTH.set(DEPTH.get() - 1);
    result.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        let said = said.unwrap_or("a panic");
        Err(Error::runtime(format!("{name}: the playground cannot compute this call: its arguments do not go together ({said})")))
    })
}

/// Whether a panic of this thread will be an error: a hook that shows panics need not show it.
pub fn is_contained() -> bool {
    DEPTH.get() > 0
}
