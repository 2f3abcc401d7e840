//! `guard_filter_fn`: a function of the script's says which facts about Python values a compiled graph is guarded on. Guards of tensors, of
//! sizes and of global state stay.

use std::cell::RefCell;
use std::rc::Rc;

use rustpython_vm::builtins::PyBaseExceptionRef;
use rustpython_vm::{PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::guard::{Fact, Kind};
use super::text::strip_locals;
use crate::dynamo::source::{Locals, Source};

thread_local! {
    static ERROR: RefCell<Option<PyBaseExceptionRef>> = const { RefCell::new(None) };
}

/// What the filter of the call that runs raised.
pub fn take_error() -> Option<PyBaseExceptionRef> {
    ERROR.take()
}

/// The facts that a filter keeps, and the values that others are about: constants and objects.
pub fn kept(facts: Vec<Fact>, filter: &PyObject, locals: &Locals, vm: &VirtualMachine) -> (Vec<Fact>, Vec<(Rc<Source>, PyObjectRef)>) {
    // What holds of symbols is no guard that a filter is asked about.
    let (of_symbols, facts): (Vec<_>, Vec<_>) = facts.into_iter().partition(|fact| matches!(fact.kind, Kind::NotNan));
    let keeps = match asked(&facts, filter, locals, vm) {
        Ok(keeps) => keeps,
        Err(error) => {
            ERROR.set(Some(error));
            return (facts.into_iter().chain(of_symbols).collect(), Vec::new());
        }
    };
    let (kept, dropped): (Vec<_>, Vec<_>) = facts.into_iter().zip(keeps).partition(|(_, keeps)| *keeps);
    let value = |(fact, _): (Fact, bool)| match fact.kind {
        Kind::Equals(value) | Kind::Is(value) => Some((fact.source, value)),
        _ => None,
    };
    (kept.into_iter().map(|(fact, _)| fact).chain(of_symbols).collect(), dropped.into_iter().filter_map(value).collect())
}

fn asked(facts: &[Fact], filter: &PyObject, locals: &Locals, vm: &VirtualMachine) -> PyResult<Vec<bool>> {
    const HOME: &str = "torch._dynamo.guards";
    vm.import(HOME, 0)?;
    let home = vm.sys_module.get_attr("modules", vm)?.get_item(HOME, vm)?;
    let row = |fact: &Fact| -> PyObjectRef {
        let value = fact.source.value(locals, vm).unwrap_or_else(|| vm.ctx.none());
        let holders = fact.source.holders().iter().filter_map(|source| source.value(locals, vm)).collect();
        vm.ctx
            .new_tuple(vec![
                vm.ctx.new_str(strip_locals(&fact.source.text(vm))).into(),
                value,
                vm.ctx.new_str(kind(&fact.kind)).into(),
                vm.ctx.new_bool(fact.source.root().0).into(),
                vm.ctx.new_list(holders).into(),
            ])
            .into()
    };
    let rows = vm.ctx.new_list(facts.iter().map(row).collect());
    home.get_attr("_kept", vm)?.call((filter.to_owned(), rows), vm)?.try_to_value(vm)
}

/// Names that the library's side tells PyTorch's apart by.
fn kind(kind: &Kind) -> &'static str {
    match kind {
        Kind::Equals(_) => "equals",
        Kind::Is(_) => "is",
        Kind::Type(_) => "type",
        Kind::Length(_) | Kind::Entries(_) => "length",
        Kind::Remaining(_) => "remaining",
        Kind::Key(_) | Kind::KeyAt(..) => "key",
        Kind::Contains(_, true) => "contains",
        Kind::Contains(_, false) => "lacks",
        Kind::HasAttr(..) => "attribute",
        Kind::Same(_) => "same",
        Kind::NotNan => "symbol",
        Kind::Temporary => "temporary",
    }
}
