//! Anomaly mode: a backward that fails, or gives NaN, names the forward call that made it.
//!
//! While the mode is on, every node keeps the script's stack of the moment it was made, and the node that was running then
//! (where a backward is differentiated). What the stack looks like and where the warning goes is the business of a [`Witness`],
//! which the room above installs.

use super::node::{Node, current_node};
use diagnostics::error::{Error, Result};
use dispatch::{Exclude, Key, Modes, modes, set_modes};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tensor::Tensor;

/// Who knows where the script is and tells it what was found.
pub trait Witness {
    /// The script's stack, outermost first, as Python prints one.
    fn stack(&self) -> String;
    /// Warns.
    fn warn(&self, message: &str);
}

/// What a node keeps of its making.
pub struct Made {
    stack: String,
    during: Option<Rc<Node>>,
}

impl Made {
    /// The stack, an entry for each place.
    pub fn entries(&self) -> Vec<String> {
        let mut entries: Vec<String> = Vec::new();
        for line in self.stack.split_inclusive('\n') {
            match entries.last_mut() {
                Some(last) if !line.starts_with("  File ") => last.push_str(line),
                _ => entries.push(line.to_string()),
            }
        }
        entries
    }

    /// The node that was running then.
    pub fn parent(&self) -> Option<&Rc<Node>> {
        self.during.as_ref()
    }
}

thread_local! {
    static MODE: Cell<(bool, bool)> = const { Cell::new((false, true)) };
    static WITNESS: RefCell<Option<Rc<dyn Witness>>> = const { RefCell::new(None) };
    static INSIDE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Whether the mode is on, and whether NaN counts as a failure.
pub fn mode() -> (bool, bool) {
    MODE.get()
}

/// Switches the mode.
pub fn set_mode(enabled: bool, check_nan: bool) {
    MODE.set((enabled, check_nan));
}

/// Whether results of a backward are checked for NaN.
pub fn checks_nan() -> bool {
    let (enabled, check_nan) = MODE.get();
    enabled && check_nan && !modes().fake
}

/// Says who witnesses.
pub fn set_witness(witness: Rc<dyn Witness>) {
    WITNESS.set(Some(witness));
}

/// Warns the script of something that its backward does.
pub(super) fn warn(message: &str) {
    if let Some(witness) = WITNESS.with_borrow(Clone::clone) {
        witness.warn(message);
    }
}

/// What a node that is made now keeps.
pub(super) fn made() -> Option<Box<Made>> {
    if !MODE.get().0 || modes().fake {
        return None;
    }
    let witness = WITNESS.with_borrow(Clone::clone)?;
    Some(Box::new(Made { stack: witness.stack(), during: current_node() }))
}

/// The line, inside of a compiled graph, that is to blame for what its node is about to fail for: one more entry of the stack.
pub fn blame(line: String) {
    INSIDE.set(Some(line));
}

/// Whether any element is NaN.
pub fn has_nan(t: &Tensor) -> Result<bool> {
    if t.dtype().is_integral() {
        return Ok(false);
    }
    let _below = Exclude::down_to(Key::Trace);
    dispatch::aten!("_local_scalar_dense", dispatch::t!("any", dispatch::t!("isnan", t)?)?)?.bool()
}

/// Fails where a gradient that a node computed has a NaN in it.
pub(super) fn check(node: &Node, outputs: &[Option<Tensor>]) -> Result<()> {
    if !checks_nan() {
        return Ok(());
    }
    let before = set_modes(Modes { grad: false, ..modes() });
    let found = outputs.iter().map(|o| o.as_ref().map_or(Ok(false), has_nan)).collect::<Result<Vec<_>>>();
    set_modes(before);
    match found?.iter().position(|nan| *nan) {
        Some(i) => Err(Error::runtime(format!("Function '{}' returned nan values in its {i}th output.", node.name))),
        None => Ok(()),
    }
}

/// Tells what was kept of a node that failed.
pub(super) fn tell(node: &Node) {
    let inside = INSIDE.take();
    if !MODE.get().0 || modes().fake {
        return;
    }
    let Some(witness) = WITNESS.with_borrow(Clone::clone) else { return };
    let Some(made) = &node.made else {
        witness.warn(&format!(
            "Error detected in {}. No forward pass information available. Enable detect anomaly during forward pass for more information.",
            node.name
        ));
        return;
    };
    let inside = inside.unwrap_or_default();
    witness.warn(&format!("Error detected in {}. Traceback of forward call that caused the error:\n{}{inside}", node.name, made.stack));
    let mut parent = made.during.clone();
    while let Some(node) = parent {
        let Some(made) = &node.made else {
            witness.warn(&format!(
                "\n\nPrevious calculation was induced by {}. No forward pass information available. Enable detect anomaly during forward pass for more information.",
                node.name
            ));
            break;
        };
        witness.warn(&format!(
            "\n\nPrevious calculation was induced by {}. Traceback of forward call that induced the previous calculation:\n{}",
            node.name, made.stack
        ));
        parent = made.during.clone();
    }
}
