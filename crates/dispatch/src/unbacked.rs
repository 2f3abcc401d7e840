//! Sizes that only values decide (`nonzero`, `x[mask]`): while something is traced, whoever traces gives them a symbol.

use diagnostics::error::{Error, ErrorKind, Result};
use shape::SymInt;
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use tensor::{Tensor, TensorImpl};

/// Gives a size that is not known a symbol; it is told the largest that it can be, where that is known.
pub type SizeNamer = Rc<dyn Fn(Option<i64>) -> SymInt>;

/// A tensor, its version, and how many of its elements are not zero.
type Counted = (Weak<TensorImpl>, u64, SymInt);

thread_local! {
    static NAMER: RefCell<Option<SizeNamer>> = const { RefCell::new(None) };
    static COUNTED: RefCell<Vec<Counted>> = const { RefCell::new(Vec::new()) };
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

/// How many elements of a fake tensor are not zero: one size, as often as it is asked for, until the tensor is written to.
pub fn size_of_nonzero(tensor: &Tensor) -> Result<SymInt> {
    let is_named = NAMER.with_borrow(Option::is_some);
    let is_it = |(of, version, _): &&Counted| std::ptr::eq(of.as_ptr(), tensor.imp()) && *version == tensor.version();
    let known = COUNTED.with_borrow(|counted| counted.iter().find(is_it).map(|(.., size)| size.clone()));
    if let Some(size) = known.filter(|_| is_named) {
        return Ok(size);
    }
    let size = size_of_values(tensor.numel().as_int())?;
    COUNTED.with_borrow_mut(|counted| {
        // What lives no more is forgotten, so that its address can be another's, and what this one was.
        counted.retain(|(of, ..)| of.strong_count() > 0 && !std::ptr::eq(of.as_ptr(), tensor.imp()));
        counted.push((tensor.downgrade(), tensor.version(), size.clone()));
    });
    Ok(size)
}
