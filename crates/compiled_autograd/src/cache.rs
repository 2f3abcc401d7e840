//! Which tapes are alike: PyTorch's shadow graph. Its paths are the keys of the nodes' calls, one after the other; where a path ends, what was
//! captured is kept, with the sizes that it was captured with.

use super::tape::Tape;
use std::collections::HashMap;
use std::rc::Rc;

/// A size as it was met last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownSize {
    /// Its value.
    pub value: i64,
    /// Whether it is an input of the graph; else the graph has the value in it.
    pub is_dynamic: bool,
}

/// Where a path ends.
#[derive(Default)]
struct End<T> {
    sizes: Vec<KnownSize>,
    captured: Option<Rc<T>>,
}

/// A place in the shadow graph.
struct Place<T> {
    next: HashMap<Vec<u8>, Place<T>>,
    end: End<T>,
}

impl<T> Default for Place<T> {
    fn default() -> Self {
        Place { next: HashMap::new(), end: End { sizes: Vec::new(), captured: None } }
    }
}

/// The shadow graph, with what was captured.
pub struct Cache<T> {
    root: Place<T>,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Cache { root: Place::default() }
    }
}

/// What the cache says of a tape.
pub struct Found<T> {
    /// What was captured for tapes like it.
    pub captured: Option<Rc<T>>,
    /// Its sizes.
    pub sizes: Vec<KnownSize>,
    /// Why nothing was, as `compiled_autograd_verbose` logs it.
    pub reasons: Vec<String>,
}

impl<T> Cache<T> {
    /// Whether no tape was met.
    pub fn is_empty(&self) -> bool {
        self.root.next.is_empty()
    }

    fn place(&mut self, tape: &Tape, reasons: &mut Vec<String>) -> &mut Place<T> {
        let mut place = &mut self.root;
        for (number, key) in tape.keys.iter().enumerate() {
            if reasons.is_empty() && !place.next.contains_key(key) {
                let call = &tape.calls[number];
                let known: Vec<String> = place.next.keys().map(|key| key.len().to_string()).collect();
                let known = known.join(",");
                reasons.push(format!(
                    "Cache miss due to new autograd node: {} (NodeCall {number}) with key size {}, previous key sizes=[{known}]",
                    call.name,
                    key.len()
                ));
            }
            place = place.next.entry(key.clone()).or_default();
        }
        place
    }

    /// Looks a tape up, and notes its sizes. `dynamic`: sizes are inputs from the first on, not only those that have changed.
    pub fn find(&mut self, tape: &Tape, dynamic: bool) -> Found<T> {
        let mut reasons = Vec::new();
        let place = self.place(tape, &mut reasons);
        let end = &mut place.end;
        let values = &tape.lift.sizes;
        if end.sizes.len() != values.len() {
            let is_dynamic = |i: usize| dynamic || tape.lift.symbolic.contains(&i);
            end.sizes = values.iter().enumerate().map(|(i, value)| KnownSize { value: *value, is_dynamic: is_dynamic(i) }).collect();
        }
        let mut is_hit = end.captured.is_some();
        for (number, (known, value)) in end.sizes.iter_mut().zip(values).enumerate() {
            if known.value == *value {
                continue;
            }
            if !known.is_dynamic {
                is_hit = false;
                reasons.push(of_size(tape, number));
            }
            *known = KnownSize { value: *value, is_dynamic: true };
        }
        if !is_hit {
            end.captured = None;
        }
        Found { captured: end.captured.clone(), sizes: end.sizes.clone(), reasons }
    }

    /// Keeps what was captured for a tape.
    pub fn insert(&mut self, tape: &Tape, captured: Rc<T>) {
        self.place(tape, &mut vec![String::new()]).end.captured = Some(captured);
    }
}

/// Which node a size that has changed belongs to.
fn of_size(tape: &Tape, number: usize) -> String {
    let at = tape.calls.iter().position(|call| number < call.sizes).unwrap_or(tape.calls.len() - 1);
    let start = if at == 0 { 0 } else { tape.calls[at - 1].sizes };
    let name = &tape.calls[at].name;
    format!("Cache miss due to changed shapes: marking size idx {} of {name} (NodeCall {at}) as dynamic", number - start)
}
