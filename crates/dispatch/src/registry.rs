//! The registry: every operator of the catalogue, built once, and references to them.

use super::{OpBuilder, OpEntry, Type};
use operator_classes::OpClasses;
use std::collections::HashMap;
use std::sync::OnceLock;

struct Registry {
    entries: Vec<&'static OpEntry>,
    by_name: HashMap<&'static str, &'static OpEntry>,
    by_packet: HashMap<String, Vec<&'static OpEntry>>,
    /// What may be done with calls of a packet's overloads.
    classes: HashMap<&'static str, OpClasses>,
    /// Of packets that calls try in another order: that order.
    as_called: HashMap<String, Vec<&'static OpEntry>>,
}

/// What registers every operator. Operators are made of dispatch, so that it can't name them.
static CATALOGUE: OnceLock<fn(&mut OpBuilder)> = OnceLock::new();

/// Says what registers every operator, before the first is looked up: `operators::install` does. What comes later changes nothing.
pub fn install_catalogue(register: fn(&mut OpBuilder)) {
    let _ = CATALOGUE.set(register);
    operator_classes::install(classes_of);
}

/// What may be done with calls of a packet's overloads.
fn classes_of(packet: &str) -> OpClasses {
    registry().classes.get(packet).copied().unwrap_or_default()
}

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut builder = OpBuilder::new();
        let register = CATALOGUE
            .get()
            .expect("no operators are known yet: call `operators::install()`, or `cpu::install()`, which brings kernels, too");
        register(&mut builder);
        let mut registry = Registry {
            entries: Vec::new(),
            by_name: HashMap::new(),
            by_packet: HashMap::new(),
            classes: HashMap::new(),
            as_called: HashMap::new(),
        };
        for mut entry in builder.finish() {
            entry.id = registry.entries.len();
            let entry: &'static OpEntry = Box::leak(Box::new(entry));
            let name = entry.name;
            assert!(registry.by_name.insert(name, entry).is_none(), "the catalogue has two entries for {name}");
            registry.entries.push(entry);
            let classes = registry.classes.entry(entry.packet()).or_default();
            *classes = *classes | entry.classes();
            registry.by_packet.entry(entry.packet().to_owned()).or_default().push(entry);
        }
        for (packet, entries) in &registry.by_packet {
            let ordered = order_of_calls(entries);
            if ordered.iter().zip(entries).any(|(a, b)| a.id != b.id) {
                registry.as_called.insert(packet.clone(), ordered);
            }
        }
        registry
    })
}

/// Every entry, in the order of registration.
pub fn all() -> &'static [&'static OpEntry] {
    &registry().entries
}

/// The catalogue's entry of a full name: `aten.add.Tensor`.
pub(super) fn entry_of(name: &str) -> Option<&'static OpEntry> {
    registry().by_name.get(name).copied()
}

/// The full name of a signature-style one in `aten`: `add.Tensor`, `mm`; of another namespace, that comes first: `prims.fma`.
pub(super) fn full_name(name: &str) -> String {
    match name {
        _ if name.starts_with("prims.") => format!("{name}.default"),
        _ if name.contains('.') => format!("aten.{name}"),
        _ => format!("aten.{name}.default"),
    }
}

/// The overloads of a packet of the catalogue, in the order of registration.
pub(super) fn overloads_of(packet: &str) -> Option<&'static [&'static OpEntry]> {
    registry().by_packet.get(packet).map(Vec::as_slice)
}

/// The same in the order of calls, where that is another.
pub(super) fn ordered_overloads_of(packet: &str) -> Option<&'static [&'static OpEntry]> {
    registry().as_called.get(packet).map(Vec::as_slice)
}

fn order_of_calls(entries: &[&'static OpEntry]) -> Vec<&'static OpEntry> {
    fn number_for_tensor(number: &Type, tensor: &Type) -> bool {
        match (number, tensor) {
            (Type::Scalar, Type::Tensor) => true,
            (Type::Optional(a), Type::Optional(b)) => number_for_tensor(a, b),
            _ => false,
        }
    }
    let yields_to = |a: &OpEntry, b: &OpEntry| {
        let (a, b) = (&a.schema.arguments, &b.schema.arguments);
        let mut pairs = a.iter().zip(b).map(|(a, b)| (a.ty == b.ty, number_for_tensor(&a.ty, &b.ty)));
        a.len() == b.len() && pairs.all(|(same, smaller)| same || smaller) && a.iter().zip(b).any(|(a, b)| a.ty != b.ty)
    };
    let mut ordered: Vec<&'static OpEntry> = Vec::new();
    for entry in entries {
        let place = ordered.iter().position(|before| yields_to(before, entry)).unwrap_or(ordered.len());
        ordered.insert(place, entry);
    }
    ordered
}

/// A name in the program's text that becomes an entry on first use.
pub struct OpRef {
    name: &'static str,
    entry: OnceLock<&'static OpEntry>,
}

impl OpRef {
    /// A reference by signature-style name.
    pub const fn new(name: &'static str) -> Self {
        OpRef { name, entry: OnceLock::new() }
    }

    /// Whether an entry is the one that is meant.
    pub fn is(&self, entry: &OpEntry) -> bool {
        std::ptr::eq(self.get(), entry)
    }

    /// The entry. Names here are the program's own: one that does not exist is a bug that the first use shows.
    pub fn get(&self) -> &'static OpEntry {
        self.entry.get_or_init(|| entry_of(&full_name(self.name)).unwrap_or_else(|| panic!("the catalogue has no operator {}", self.name)))
    }
}
