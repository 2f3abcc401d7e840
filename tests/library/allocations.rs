//! How often a thread allocates: what computing costs, the same on every machine.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// How often this thread allocated.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

fn count() {
    // Not of a thread that ends.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

/// An allocator that counts its calls.
pub struct Counting<A>(pub A);

// SAFETY: every call goes to the inner allocator unchanged; counting neither allocates nor unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { self.0.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { self.0.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { self.0.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { self.0.dealloc(pointer, layout) }
    }
}
