//! Operators by name: the catalogue's, or the script's own.

use super::registry::{entry_of, full_name, ordered_overloads_of, overloads_of};
use super::{OpEntry, script};

/// The entry of a full name: `aten.add.Tensor`; of the catalogue, or of the script's own.
pub fn lookup(name: &str) -> Option<&'static OpEntry> {
    entry_of(name).or_else(|| script::lookup(name))
}

/// The entry of a signature-style name in `aten`: `add.Tensor`, `mm`; of another namespace, that comes first: `prims.fma`.
pub fn op(name: &str) -> Option<&'static OpEntry> {
    lookup(&full_name(name))
}

/// The overloads of a packet, in the order of registration: `aten.add`.
pub fn overloads(packet: &str) -> &'static [&'static OpEntry] {
    overloads_of(packet).or_else(|| script::overloads(packet)).unwrap_or(&[])
}

/// The overloads of a packet in the order in which a call from Python tries them: a tensor without dimensions also passes for a
/// number, so a signature that has a tensor where another has a number comes first, as in PyTorch's argument parser.
pub fn overloads_as_called(packet: &str) -> &'static [&'static OpEntry] {
    ordered_overloads_of(packet).unwrap_or_else(|| overloads(packet))
}
