//! CPU kernels: the reference that every other backend is compared with.

use crate::dispatch::KernelTable;

/// Registers every kernel.
pub fn register(_table: &mut KernelTable) {}
