//! The interpreters of a process take turns, a thread at a time: RustPython keeps one cache of methods for all threads. A thread that
//! reads an entry while another replaces it may count a reference to the other thread's object, and these counts are not atomic.

use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{ThreadId, current};

/// Which thread has interpreters, and how many.
static HOLDER: Mutex<Option<(ThreadId, usize)>> = Mutex::new(None);
/// Told when it has none any more.
static FREE: Condvar = Condvar::new();

fn holder() -> MutexGuard<'static, Option<(ThreadId, usize)>> {
    HOLDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This thread's right to an interpreter, which stays on it.
pub struct Turn(PhantomData<*const ()>);

impl Turn {
    /// Waits until no other thread has an interpreter.
    pub fn wait() -> Self {
        let this = current().id();
        let others = |holder: &mut Option<(ThreadId, usize)>| holder.is_some_and(|(thread, _)| thread != this);
        let mut holder = FREE.wait_while(holder(), others).unwrap_or_else(PoisonError::into_inner);
        let (_, interpreters) = holder.get_or_insert((this, 0));
        *interpreters += 1;
        Turn(PhantomData)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut holder = holder();
        *holder = holder.take().filter(|(_, interpreters)| *interpreters > 1).map(|(thread, interpreters)| (thread, interpreters - 1));
        if holder.is_none() {
            FREE.notify_one();
        }
    }
}
