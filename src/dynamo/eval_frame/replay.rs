//! A function that is a graph and nothing else does the same on every call that one cache entry serves. What its first call did is
//! noted; where the guards of that entry hold again, its compiled graph runs at once, and no Python does.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use rustpython_vm::VirtualMachine;

use crate::dispatch::Value;
use crate::dynamo::CacheEntry;
use crate::dynamo::cache::compiled_function::CompiledFunction;
use crate::dynamo::cache::found_inputs;
use crate::dynamo::guards::last_call;
use crate::dynamo::source::Locals;
use crate::error::Result;

/// A graph that ran in a call.
pub struct Ran {
    served: Weak<CompiledFunction>,
    entry: Weak<CacheEntry>,
    index: usize,
    /// What it gave.
    pub outputs: Vec<Value>,
}

thread_local! {
    /// What the call that is watched ran, where one is. None of a graph that no cache entry has.
    static RAN: RefCell<Option<Vec<Option<Ran>>>> = const { RefCell::new(None) };
}

/// Makes a call; gives the graph that it ran, if that was one, and it stood at the beginning of a compiled function and has a cache entry.
pub fn watching<R>(call: impl FnOnce() -> R) -> (R, Option<Ran>) {
    let before = RAN.replace(Some(Vec::new()));
    let result = call();
    let ran = RAN.replace(before).unwrap_or_default();
    let [only] = <[_; 1]>::try_from(ran).unwrap_or([None]);
    (result, only)
}

/// A graph of the call that is watched has run.
pub fn note(function: &Rc<CompiledFunction>, place: usize, entry: Option<&Rc<CacheEntry>>, outputs: &[Value]) {
    RAN.with_borrow_mut(|ran| {
        let Some(ran) = ran else { return };
        let entry = entry.filter(|_| place == 0);
        let index = entry.and_then(|entry| function.cache.borrow().position(0, entry));
        ran.push(entry.zip(index).map(|(entry, index)| Ran {
            served: Rc::downgrade(function),
            entry: Rc::downgrade(entry),
            index,
            outputs: outputs.to_vec(),
        }));
    });
}

/// A cache entry that may serve a call again.
pub struct Replay {
    served: Weak<CompiledFunction>,
    entry: Weak<CacheEntry>,
    index: usize,
}

impl Replay {
    /// Of the graph that a call ran.
    pub fn of(ran: &Ran) -> Self {
        Replay { served: ran.served.clone(), entry: ran.entry.clone(), index: ran.index }
    }

    /// Whether it is of the same cache entry as another.
    pub fn is(&self, ran: &Ran) -> bool {
        self.entry.ptr_eq(&ran.entry)
    }

    /// Runs its graph for a function's variables. Nothing where its guards don't hold, or what was compiled is forgotten; where they do,
    /// `begins` is called first.
    ///
    /// # Errors
    /// Of the graph's operators.
    pub fn run(&self, locals: &Locals, begins: &dyn Fn(), vm: &VirtualMachine) -> Option<Result<Vec<Value>>> {
        let (function, entry) = (self.served.upgrade()?, self.entry.upgrade()?);
        if super::runs_eagerly(vm) {
            return None;
        }
        let tensors = found_inputs::admitted(&function, (0, self.index), &entry, locals, vm)?;
        function.cache.borrow().served(0, self.index);
        last_call::note_hit(&function, 0, &entry, &tensors.values);
        begins();
        Some(entry.run_admitted(&tensors))
    }
}
