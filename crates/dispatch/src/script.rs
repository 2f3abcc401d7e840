//! Operators that a script defines while it runs (`torch.library`): their entries are like those of the catalogue, and what
//! computes, shapes and differentiates them are functions of the script's, which whoever runs the script calls.
//!
//! An entry lives as long as the process, one for each signature that was ever defined; a script sees those that it has defined.

use super::levels::Level;
use super::{OpEntry, Rule, Value};
use diagnostics::error::{Error, Result};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// What a script says of an operator of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Computes results (PyTorch's `CPU`).
    Kernel,
    /// Says what results look like (`Meta`).
    Fake,
    /// Composes it of other operators, above autograd (`CompositeImplicitAutograd`).
    Composite,
    /// Differentiates it, and calls it below autograd (`Autograd`). It counts what the operator writes to as written
    /// (`ADInplaceOrView`); an operator without it leaves that to its kernel's own writes.
    Autograd,
    /// Computes it for all items of a `vmap` at once (`FuncTorchBatched`).
    Batch,
}

/// Who calls the script's functions.
pub trait ScriptOperators {
    /// Whether the script says this of an operator.
    fn has(&self, part: Part, entry: &OpEntry) -> bool;
    /// Calls the script's function, on the arguments of a call.
    fn call(&self, part: Part, entry: &'static OpEntry, args: &[Value]) -> Result<Value>;
    /// Calls the script's rule for batches in a level of `vmap`, on arguments as that level has them; the results are of the level.
    fn call_batched(&self, entry: &'static OpEntry, level: &Level, args: &[Value]) -> Result<Value>;
    /// The error where a fake tensor comes and nothing says what results look like.
    fn no_fake(&self, entry: &'static OpEntry) -> Error;
}

#[derive(Default)]
struct Defined {
    operators: Option<Rc<dyn ScriptOperators>>,
    /// Those that the script has defined, by name and by packet.
    by_name: HashMap<&'static str, &'static OpEntry>,
    by_packet: HashMap<String, &'static [&'static OpEntry]>,
    /// Every entry there ever was, by namespace and signature, and every list of a packet's overloads.
    entries: HashMap<String, &'static OpEntry>,
    lists: HashMap<Vec<usize>, &'static [&'static OpEntry]>,
}

thread_local! {
    static IN_KERNEL: Cell<bool> = const { Cell::new(false) };
}

/// Whether calls come from a kernel of the script's. Autograd sees none of them, but what they write to is written.
pub(super) fn is_in_kernel() -> bool {
    IN_KERNEL.get()
}

thread_local! {
    static DEFINED: RefCell<Defined> = RefCell::default();
}

/// Says who calls the functions of the script that begins.
pub fn set_script_operators(operators: Rc<dyn ScriptOperators>) {
    DEFINED.with_borrow_mut(|d| d.operators = Some(operators));
}

/// Forgets what the script has defined.
pub fn forget_script_operators() {
    DEFINED.with_borrow_mut(|d| {
        d.operators = None;
        d.by_name.clear();
        d.by_packet.clear();
    });
}

/// Defines an operator; one of the same name is replaced. The error says what is wrong with the signature.
pub fn define(namespace: &str, signature: &str) -> Result<&'static OpEntry> {
    let text = format!("{namespace}::{signature}");
    let known = DEFINED.with_borrow(|d| d.entries.get(&text).copied());
    let entry = match known {
        Some(entry) => entry,
        None => made(namespace, signature)?,
    };
    let packet = entry.packet();
    DEFINED.with_borrow_mut(|d| {
        d.entries.insert(text, entry);
        d.by_name.insert(entry.name, entry);
        let mut all: Vec<&'static OpEntry> = d.by_packet.get(packet).map_or_else(Vec::new, |list| list.to_vec());
        all.retain(|other| other.name != entry.name);
        all.push(entry);
        let ids = all.iter().map(|e| e.id).collect();
        let list: &'static [&'static OpEntry] = d.lists.entry(ids).or_insert_with(|| all.leak());
        d.by_packet.insert(packet.to_owned(), list);
    });
    Ok(entry)
}

fn made(namespace: &str, signature: &str) -> Result<&'static OpEntry> {
    let id = super::all().len() + DEFINED.with_borrow(|d| d.entries.len());
    let entry = OpEntry::new(namespace, signature, Rule::Script).map_err(Error::runtime)?;
    Ok(Box::leak(Box::new(OpEntry { id, ..entry })))
}

/// The script's operator of a full name.
pub(super) fn lookup(name: &str) -> Option<&'static OpEntry> {
    DEFINED.with_borrow(|d| d.by_name.get(name).copied())
}

/// The overloads of a script's packet.
pub(super) fn overloads(packet: &str) -> Option<&'static [&'static OpEntry]> {
    DEFINED.with_borrow(|d| d.by_packet.get(packet).copied())
}

fn operators() -> Option<Rc<dyn ScriptOperators>> {
    DEFINED.with_borrow(|d| d.operators.clone())
}

/// Whether the script says this of an operator of its own.
pub fn script_has(part: Part, entry: &OpEntry) -> bool {
    matches!(entry.rule, Rule::Script) && operators().is_some_and(|o| o.has(part, entry))
}

/// Calls the script's function.
pub fn call_script(part: Part, entry: &'static OpEntry, args: &[Value]) -> Result<Value> {
    match operators() {
        Some(operators) => operators.call(part, entry, args),
        None => Err(Error::runtime(format!("the script that defined {} is over", entry.name))),
    }
}

/// Calls the script's rule for batches in a level of `vmap`.
pub fn call_script_batched(entry: &'static OpEntry, level: &Level, args: &[Value]) -> Result<Value> {
    match operators() {
        Some(operators) => operators.call_batched(entry, level, args),
        None => Err(Error::runtime(format!("the script that defined {} is over", entry.name))),
    }
}

/// The bottom of the stack: the script's kernel, or, for fake tensors, what it says of the results.
pub(super) fn run(entry: &'static OpEntry, args: &[Value], fake: bool) -> Result<Value> {
    if !fake {
        if !script_has(Part::Kernel, entry) {
            return Err(Error::not_implemented(format!(
                "Could not run '{}' with arguments from the 'CPU' backend: the script registers no implementation for it.",
                entry.qualified_name()
            )));
        }
        // A kernel's own calls are cast like others.
        let _casts = super::Exclude::lift(super::Key::Autocast);
        let before = IN_KERNEL.replace(true);
        let result = call_script(Part::Kernel, entry, args);
        IN_KERNEL.set(before);
        return result;
    }
    if !script_has(Part::Fake, entry) {
        // What has no results looks like nothing.
        return if entry.schema.returns.is_empty() { Ok(Value::None) } else { Err(no_fake(entry)) };
    }
    let _guard = super::Exclude::down_to(super::Key::Trace);
    let before = super::set_modes(super::Modes { fake: true, grad: false, ..super::modes() });
    let result = call_script(Part::Fake, entry, args);
    super::set_modes(super::Modes { fake: before.fake, grad: before.grad, ..super::modes() });
    result
}

fn no_fake(entry: &'static OpEntry) -> Error {
    operators().map_or_else(|| Error::runtime(entry.name), |o| o.no_fake(entry))
}
