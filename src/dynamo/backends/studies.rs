//! Joint graphs of the last run, kept so that questions about them need no run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::partition::Study;
use crate::report::{Answer, Question};

/// How many are kept: those compiled last.
const LIMIT: usize = 64;

thread_local! {
    static STUDIES: RefCell<BTreeMap<u32, Rc<Study>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Forgets those of the run before.
pub fn reset() {
    STUDIES.take();
}

/// Keeps a compilation's joint graph.
pub fn keep(compilation: u32, study: Option<Rc<Study>>) {
    let Some(study) = study else { return };
    STUDIES.with_borrow_mut(|studies| {
        studies.insert(compilation, study);
        if studies.len() > LIMIT {
            studies.pop_first();
        }
    });
}

/// The compilations whose joint graphs are at hand.
pub fn known() -> Vec<u32> {
    STUDIES.with_borrow(|studies| studies.keys().copied().collect())
}

/// Answers a question about a compilation.
pub fn ask(compilation: u32, question: &Question) -> Answer {
    match STUDIES.with_borrow(|studies| studies.get(&compilation).cloned()) {
        Some(study) => study.answer(question),
        None => Answer::Failed { message: format!("The joint graph of compilation {compilation} is not at hand; run the script again.") },
    }
}
