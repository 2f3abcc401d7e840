//! The limits of a run: a thread of its own asks the interpreter to stop once the time is over, and to raise an error once the memory
//! is used up.
//!
//! The interpreter looks for such requests before every instruction. Once time is over, handlers (`except BaseException`, `finally`)
//! do not hold the script up: until the run has ended, the same exception is raised again at the next instruction. The error about
//! memory is raised once and is the script's to handle. In the browser there are no threads, and whoever started the worker ends
//! it; the functions here then do nothing.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::Thread;
use std::time::{Duration, Instant};

use rustpython_vm::builtins::{PyBaseException, PyBaseExceptionRef, PyTypeRef};
use rustpython_vm::signal::{UserSignalReceiver, UserSignalSender, user_signal_channel};
use rustpython_vm::{AsObject, Py, PyResult, VirtualMachine};

use super::current::RunOptions;
use super::memory;

/// How long to wait for the interpreter before asking again.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// The name of the limit's exception.
const EXCEPTION: &str = "TimeLimitExceeded";

/// What a run ends in when its time is over: the exception's name and message.
pub(super) fn time_is_over(limit: Duration) -> (&'static str, String) {
    (EXCEPTION, format!("the script ran longer than its time limit of {} s", limit.as_secs_f64()))
}

thread_local! {
    static ACTIVE: RefCell<Option<Active>> = const { RefCell::new(None) };
    static CLASS: RefCell<Option<PyTypeRef>> = const { RefCell::new(None) };
}

/// The limit of the run under way on this thread.
struct Active {
    number: u64,
    sender: UserSignalSender,
    exception: PyBaseExceptionRef,
    struck: Cell<bool>,
}

/// The way to interrupt one interpreter.
pub(super) struct Interrupter {
    sender: UserSignalSender,
    /// Runs with a limit so far: a request to stop one run must not stop the next.
    runs: Cell<u64>,
}

impl Interrupter {
    /// Also gives what the interpreter must be built with.
    pub(super) fn new() -> (Self, UserSignalReceiver) {
        let (sender, receiver) = user_signal_channel();
        (Interrupter { sender, runs: Cell::new(0) }, receiver)
    }

    /// Starts to watch a run's limits; it ends when the result is dropped.
    pub(super) fn watch(&self, options: &RunOptions, vm: &VirtualMachine) -> Watch {
        let limit = options.time_limit;
        if cfg!(target_arch = "wasm32") || (limit.is_none() && options.memory_limit.is_none()) {
            return Watch { asker: None, is_over: Default::default(), _bound: None };
        }
        let class = CLASS.with_borrow_mut(|class| {
            let bases = || vec![vm.ctx.exceptions.base_exception_type.to_owned()];
            class.get_or_insert_with(|| vm.ctx.new_exception_type("builtins", EXCEPTION, Some(bases()))).clone()
        });
        let exception = vm.new_exception_msg(class, time_is_over(limit.unwrap_or_default()).1.into());
        let number = self.runs.get() + 1;
        self.runs.set(number);
        ACTIVE.set(Some(Active { number, sender: self.sender.clone(), exception, struck: Cell::new(false) }));
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, sender) = (is_over.clone(), self.sender.clone());
        let ask = move || {
            let mut due = limit.and_then(|limit| Instant::now().checked_add(limit));
            while !over.load(Relaxed) {
                if memory::is_to_be_asked() && sender.send(Box::new(move |vm| raise_memory(number, vm))).is_err() {
                    return;
                }
                match due.map(|due| due.saturating_duration_since(Instant::now())) {
                    None => std::thread::park(),
                    Some(left) if !left.is_zero() => std::thread::park_timeout(left),
                    Some(_) => {
                        if sender.send(Box::new(move |_| raise(number))).is_err() {
                            return;
                        }
                        due = Instant::now().checked_add(ASK_AGAIN);
                    }
                }
            }
        };
        // Without a thread there is no limit, which is better than no run.
        let asker = std::thread::Builder::new().name("limits".to_owned()).spawn(ask).ok().map(|thread| thread.thread().clone());
        memory::wake(asker.clone());
        Watch { asker, is_over, _bound: options.memory_limit.map(memory::Bound::new) }
    }
}

/// What the interpreter does when it is told that the memory is used up.
fn raise_memory(number: u64, vm: &VirtualMachine) -> PyResult<()> {
    let bytes = memory::take();
    if ACTIVE.with_borrow(|active| active.as_ref().is_some_and(|active| active.number == number)) {
        return Err(vm.new_runtime_error(crate::tensor::not_enough_memory(bytes as u128).to_string()));
    }
    Ok(())
}

/// What the interpreter does when it is asked to stop.
fn raise(number: u64) -> PyResult<()> {
    ACTIVE.with_borrow(|active| match active {
        Some(active) if active.number == number => {
            active.struck.set(true);
            // At the next instruction again.
            let _ = active.sender.send(Box::new(move |_| raise(number)));
            Err(active.exception.clone())
        }
        _ => Ok(()),
    })
}

/// Whether `exception` is that of the limit. Raised again and again on its way out, it has passed a frame more than once.
pub(super) fn is_time_limit(exception: &Py<PyBaseException>) -> bool {
    CLASS.with_borrow(|class| class.as_ref().is_some_and(|class| exception.class().is(class)))
}

/// A run's limits while they are watched.
pub(super) struct Watch {
    asker: Option<Thread>,
    is_over: Arc<AtomicBool>,
    _bound: Option<memory::Bound>,
}

impl Watch {
    /// The outcome of the script: a script that swallowed the exception of the limit does not get away with it.
    pub(super) fn stop(self, result: PyResult<()>) -> PyResult<()> {
        ACTIVE.with_borrow(|active| match active {
            Some(active) if active.struck.get() => Err(active.exception.clone()),
            _ => result,
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        ACTIVE.set(None);
        self.is_over.store(true, Relaxed);
        if let Some(asker) = self.asker.take() {
            memory::wake(None);
            asker.unpark();
        }
    }
}
