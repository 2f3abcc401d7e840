//! What passes over graphs cost, independent of machine and load: how often they visit a node. Counted in builds with debug assertions.

#[cfg(debug_assertions)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How often nodes were visited on this thread; 0 where that is not counted.
pub fn steps() -> u64 {
    #[cfg(debug_assertions)]
    return STEPS.get();
    #[cfg(not(debug_assertions))]
    0
}

#[inline]
pub(crate) fn step() {
    #[cfg(debug_assertions)]
    STEPS.set(STEPS.get() + 1);
}
