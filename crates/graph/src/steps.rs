//! What passes over graphs cost, independent of machine and load: how often they visit a node, an edge of a network or an entry of a table.
//! Counted in builds with debug assertions.

#[cfg(debug_assertions)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many steps were counted on this thread; 0 where they are not counted.
pub fn steps() -> u64 {
    #[cfg(debug_assertions)]
    return STEPS.get();
    #[cfg(not(debug_assertions))]
    0
}

/// Counts a step of a pass: the visit of a node, or of what the pass makes of nodes.
#[inline]
pub fn step() {
    #[cfg(debug_assertions)]
    STEPS.set(STEPS.get() + 1);
}
