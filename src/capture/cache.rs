//! The cache of a compiled function: entries by region, each with the guards it depends on.

use super::recorder::Region;
use std::rc::Rc;

/// A compiled region.
pub struct Entry {
    /// What it was recorded as; a region must equal this to be served.
    pub fingerprint: String,
    /// Number of the region in the report.
    pub region: u32,
    /// What runs it.
    pub compiled: Rc<dyn Fn(Vec<crate::tensor::Tensor>) -> crate::error::Result<Vec<crate::dispatch::Value>>>,
    /// Specs of its inputs, to say which guard failed.
    pub inputs: Vec<crate::aot::compile::InputSpec>,
    /// Names of its inputs.
    pub names: Vec<String>,
    /// The grad mode it was compiled in.
    pub grad: bool,
}

/// What a look-up found.
pub enum Lookup {
    /// An entry serves.
    Hit(Rc<Entry>),
    /// None does: per entry, newest first, the guard that failed.
    Miss(Vec<String>),
}

/// Entries per place in the function: the region's number within a call.
#[derive(Default)]
pub struct Cache {
    entries: Vec<Vec<Rc<Entry>>>,
}

impl Cache {
    /// Looks for an entry that serves a region.
    pub fn find(&self, place: usize, region: &Region) -> Lookup {
        let fingerprint = region.fingerprint();
        let entries = self.entries.get(place).map_or(&[][..], Vec::as_slice);
        match entries.iter().find(|e| e.fingerprint == fingerprint) {
            Some(entry) => Lookup::Hit(entry.clone()),
            None => Lookup::Miss(entries.iter().rev().map(|e| failed_guard(e, region)).collect()),
        }
    }

    /// Adds an entry.
    pub fn insert(&mut self, place: usize, entry: Entry) {
        if self.entries.len() <= place {
            self.entries.resize_with(place + 1, Vec::new);
        }
        self.entries[place].push(Rc::new(entry));
    }

    /// How many entries a place has.
    pub fn len(&self, place: usize) -> usize {
        self.entries.get(place).map_or(0, Vec::len)
    }

    /// Whether nothing was compiled yet.
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(Vec::is_empty)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

/// The first condition of an entry that a region does not meet, in the words of `TORCH_LOGS=recompiles`.
fn failed_guard(entry: &Entry, region: &Region) -> String {
    if entry.grad != region.grad {
        return "GLOBAL_STATE changed: grad_mode ".to_owned();
    }
    for (i, (want, have)) in entry.inputs.iter().zip(&region.inputs).enumerate() {
        let name = entry.names.get(i).map_or("", String::as_str);
        let (w, h) = (&want.spec, &have.spec.spec);
        if w.dtype != h.dtype {
            return format!("tensor '{name}' dtype mismatch. expected {}, actual {}", w.dtype.scalar_type(), h.dtype.scalar_type());
        }
        if want.requires_grad != have.spec.requires_grad {
            return format!("tensor '{name}' requires_grad mismatch. expected requires_grad={}", u8::from(want.requires_grad));
        }
        if w.geometry.sizes.len() != h.geometry.sizes.len() {
            return format!("tensor '{name}' rank mismatch. expected {}, actual {}", w.geometry.sizes.len(), h.geometry.sizes.len());
        }
        for (d, (a, b)) in w.geometry.sizes.iter().zip(&h.geometry.sizes).enumerate() {
            if a.hint() != b.hint() {
                return format!("tensor '{name}' size mismatch at index {d}. expected {a}, actual {b}");
            }
        }
        for (d, (a, b)) in w.geometry.strides.iter().zip(&h.geometry.strides).enumerate() {
            if a.hint() != b.hint() {
                return format!("tensor '{name}' stride mismatch at index {d}. expected {a}, actual {b}");
            }
        }
    }
    "the recorded region differs".to_owned()
}
