//! The memory limit: an allocator that counts, and what happens where a run's count passes its limit.
//!
//! There are two steps. An allocation that passes the limit is granted out of a reserve, and the interpreter is asked to raise PyTorch's
//! allocator error at its next instruction, as it is asked to stop when time is over (`limit.rs`). One that passes the reserve, too,
//! can be neither granted nor failed, for Rust's collections cannot be told: its thread stops for good, and the supervisor
//! (`supervise.rs`) ends the run. Tensors, which can be told, ask for room first and raise at once.
//!
//! In the browser nothing is counted: a worker has what the browser gives, and the page is told when that is used up.

#![cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "nothing is counted there"))]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, OnceLock};
use std::thread::Thread;

/// Bytes in use, but for what threads have not told yet.
static IN_USE: AtomicIsize = AtomicIsize::new(0);
/// What `IN_USE` may be while a run is bound.
static LIMIT: AtomicIsize = AtomicIsize::new(isize::MAX);
/// Bytes of the allocation that passed the limit and for which nothing was raised yet.
static PASSED: AtomicUsize = AtomicUsize::new(0);
/// Whether the interpreter was asked to raise something for it.
static IS_ASKED: AtomicBool = AtomicBool::new(false);
/// Bytes of the allocation that could not be granted.
static EXHAUSTED: AtomicUsize = AtomicUsize::new(0);
/// Who is woken when the limit is passed.
static WAKE: Mutex<Option<Thread>> = Mutex::new(None);

/// How many bytes a thread allocates or frees before it tells: an atomic addition for every allocation would be felt.
const UNTOLD: isize = 64 << 10;
/// What a run may use beyond its limit until the interpreter looks for the request, within a millisecond or so, and its handlers ran.
const RESERVE: isize = 64 << 20;

thread_local! {
    static OWN: Cell<isize> = const { Cell::new(0) };
    static BOUND: Cell<bool> = const { Cell::new(false) };
    static IS_SUPERVISED: Cell<bool> = const { Cell::new(false) };
}

/// What is called with the bytes of an allocation that fails, before the program ends for it.
static FAILED: OnceLock<fn(usize)> = OnceLock::new();

/// Says what is to be called with the bytes of an allocation that fails, before the program ends for it: the first who says it is heard.
pub fn on_failed_allocation(tell: fn(usize)) {
    let _ = FAILED.set(tell);
}

/// The memory, or nothing, and that is told.
fn told(pointer: *mut u8, bytes: usize) -> *mut u8 {
    if pointer.is_null() {
        if let Some(tell) = FAILED.get() {
            tell(bytes);
        }
        if IS_SUPERVISED.get() {
            stop(bytes);
        }
    }
    pointer
}

/// From now on somebody ends this thread's run where it cannot go on for want of memory.
pub(super) fn supervise() {
    IS_SUPERVISED.set(true);
}

/// Stops this thread for good.
fn stop(bytes: usize) -> ! {
    EXHAUSTED.store(bytes, Relaxed);
    loop {
        std::thread::park();
    }
}

/// An allocator whose bytes are counted. Without it as the program's global allocator, a memory limit holds for tensors alone.
pub struct Counted<A>(pub A);

/// Counts bytes that are about to be allocated, or were freed.
fn count(bytes: isize) {
    if cfg!(target_arch = "wasm32") {
        return;
    }
    // A thread that ends is not counted to the last byte.
    let Ok(own) = OWN.try_with(|own| {
        own.set(own.get() + bytes);
        own.get()
    }) else {
        return;
    };
    if own.abs() < UNTOLD {
        return;
    }
    OWN.set(0);
    let total = IN_USE.fetch_add(own, Relaxed) + own;
    let limit = LIMIT.load(Relaxed);
    if bytes > 0 && total > limit && BOUND.get() {
        pass(bytes as usize, total > limit.saturating_add(RESERVE));
    }
}

#[cold]
fn pass(bytes: usize, is_hard: bool) {
    // Neither allocates.
    let wake = || {
        if let Ok(Some(thread)) = WAKE.lock().as_deref() {
            thread.unpark();
        }
    };
    if is_hard {
        stop(bytes);
    }
    if PASSED.swap(bytes, Relaxed) == 0 {
        wake();
    }
}

// SAFETY: every call goes to the inner allocator unchanged; counting neither allocates nor unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counted<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        told(unsafe { self.0.alloc(layout) }, layout.size())
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        told(unsafe { self.0.alloc_zeroed(layout) }, layout.size())
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        told(unsafe { self.0.realloc(pointer, layout, size) }, size)
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { self.0.dealloc(pointer, layout) };
        count(-(layout.size() as isize));
    }
}

/// A run of this thread that is bound by a limit, until it is dropped.
pub(super) struct Bound {
    tensors: usize,
}

impl Bound {
    /// What the thread allocates from now on may be `bytes` more than what is in use now.
    pub(super) fn new(bytes: usize) -> Self {
        let bytes_in_all = IN_USE.load(Relaxed).saturating_add_unsigned(bytes);
        LIMIT.store(bytes_in_all, Relaxed);
        take();
        EXHAUSTED.store(0, Relaxed);
        BOUND.set(true);
        Bound { tensors: crate::tensor::set_memory_limit(bytes, Some(room)) }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        BOUND.set(false);
        LIMIT.store(isize::MAX, Relaxed);
        crate::tensor::set_memory_limit(self.tensors, None);
    }
}

/// Who is to be woken when the limit is passed.
pub(super) fn wake(thread: Option<Thread>) {
    if let Ok(mut wake) = WAKE.lock() {
        *wake = thread;
    }
}

/// Bytes that a bound run may still use.
fn room() -> usize {
    usize::try_from(LIMIT.load(Relaxed).saturating_sub(IN_USE.load(Relaxed) + OWN.get())).unwrap_or(0)
}

/// Whether the limit was passed and the interpreter is to be asked to [`take`] it: true once each time.
pub(super) fn is_to_be_asked() -> bool {
    PASSED.load(Relaxed) > 0 && !IS_ASKED.swap(true, Relaxed)
}

/// Bytes of the allocation that passed the limit; from now on it can be passed again.
pub(super) fn take() -> usize {
    // In this order: who passes it again wakes whoever asks.
    IS_ASKED.store(false, SeqCst);
    PASSED.swap(0, SeqCst)
}

/// Bytes of the allocation for which a bound run's thread stopped for good.
pub fn exhausted() -> Option<usize> {
    Some(EXHAUSTED.load(Relaxed)).filter(|&bytes| bytes > 0)
}
