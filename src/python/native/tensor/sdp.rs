//! Which ways of computing attention a script allows (`torch.nn.attention.sdpa_kernel`, `torch.backends.cuda.enable_flash_sdp`), a
//! bit per backend, numbered as PyTorch's `SDPBackend` is.

use std::cell::Cell;

/// Products and a softmax.
pub const MATH: u32 = 0;
/// The fused operator.
pub const FLASH: u32 = 1;
const ALL: u32 = 0b1_1111;

thread_local! {
    static ALLOWED: Cell<u32> = const { Cell::new(ALL) };
}

/// Whether a backend may be used.
pub fn allowed(backend: u32) -> bool {
    ALLOWED.get() >> backend & 1 == 1
}

/// Every backend's bit.
pub fn all_allowed() -> u32 {
    ALLOWED.get()
}

/// Says which backends may be used.
pub fn allow(backends: u32) {
    ALLOWED.set(backends & ALL);
}

/// A new run allows everything.
pub fn reset() {
    ALLOWED.set(ALL);
}
