//! Ctrl-C, where something is to be finished first: it is noted, and the second one ends the process.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static CAME: AtomicBool = AtomicBool::new(false);

extern "C" fn note(signal: libc::c_int) {
    CAME.store(true, Relaxed);
    // SAFETY: it sets a disposition, which a handler may.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// From now on the first Ctrl-C is noted.
pub fn watch() {
    let handler: extern "C" fn(libc::c_int) = note;
    // SAFETY: the handler does nothing that a handler may not.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
}

/// Whether it came.
pub fn came() -> bool {
    CAME.load(Relaxed)
}
