//! Sizes that only values decide (`nonzero`, `x[mask]`): while something is traced, whoever traces gives them a symbol.

use diagnostics::error::{Error, ErrorKind, Result};
use shape::SymInt;
use std::cell::RefCell;
use std::rc::Rc;

/// Gives a size that is not known a symbol; it is told the largest that it can be, where that is known.
pub type SizeNamer = Rc<dyn Fn(Option<i64>) -> SymInt>;

thread_local! {
    static NAMER: RefCell<Option<SizeNamer>> = const { RefCell::new(None) };
}

/// While it lives, such sizes are named by somebody.
pub struct Naming(Option<SizeNamer>);

impl Naming {
    /// Names sizes from now on.
    pub fn new(namer: SizeNamer) -> Self {
        Naming(NAMER.replace(Some(namer)))
    }
}

impl Drop for Naming {
    fn drop(&mut self) {
        NAMER.set(self.0.take());
    }
}

/// A size that the values of a fake tensor decide, `most` at most. An error where nobody names it.
pub fn size_of_values(most: Option<i64>) -> Result<SymInt> {
    let namer = NAMER.with_borrow(Clone::clone);
    namer.map(|name| name(most)).ok_or_else(|| Error::new(ErrorKind::DynamicOutputShape, "the values of a fake tensor were asked for"))
}
