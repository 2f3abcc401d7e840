//! Settings of the whole program that compiled code depends on, besides the modes of dispatch: another one is another entry.

use crate::tensor::{Device, Dtype};
use std::cell::Cell;

/// Such settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// `torch.use_deterministic_algorithms`
    pub deterministic: bool,
    /// Whether those that are not are only warned of.
    pub warn_only: bool,
    /// `torch.set_num_threads`
    pub threads: u32,
    /// `torch.set_default_dtype`
    pub dtype: Dtype,
    /// `torch.set_default_device`, or a block of `with torch.device(...)`
    pub device: Option<Device>,
}

const START: (bool, bool, u32) = (false, false, 1);

thread_local! {
    static SAID: Cell<(bool, bool, u32)> = const { Cell::new(START) };
}

impl State {
    /// Those that hold now.
    pub fn now() -> Self {
        let (deterministic, warn_only, threads) = SAID.get();
        let (dtype, device) = (crate::ops::shapes::default_dtype(), crate::dispatch::device_context());
        State { deterministic, warn_only, threads, dtype, device }
    }

    /// What differs in another state, as PyTorch names it.
    pub fn changed(&self, now: &State) -> String {
        let differs = [
            (self.deterministic != now.deterministic, "deterministic_algorithms "),
            (self.warn_only != now.warn_only, "deterministic_algorithms_warn_only "),
            (self.threads != now.threads, "num_threads "),
            (self.dtype != now.dtype, "default_dtype "),
        ];
        differs.iter().filter(|(differs, _)| *differs).map(|(_, name)| *name).collect()
    }
}

/// The script says whether algorithms are deterministic, whether it is only warned of others, and how many threads there are.
pub fn set_state(deterministic: bool, warn_only: bool, threads: u32) {
    SAID.set((deterministic, warn_only, threads));
}

/// What a script starts with.
pub fn reset_state() {
    SAID.set(START);
}
