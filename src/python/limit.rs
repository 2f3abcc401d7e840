//! The time limit: a thread of its own asks the interpreter to stop once the time is over.
//!
//! The interpreter looks for such requests before every instruction. Handlers (`except BaseException`, `finally`) do not
//! hold the script up: until the run has ended, the same exception is raised again at the next instruction. In the browser
//! there are no threads, and whoever started the worker ends it; the functions here then do nothing.

use std::cell::{Cell, RefCell};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustpython_vm::builtins::{PyBaseException, PyBaseExceptionRef, PyTypeRef};
use rustpython_vm::signal::{UserSignalReceiver, UserSignalSender, user_signal_channel};
use rustpython_vm::{AsObject, Py, PyResult, VirtualMachine};

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

    /// Starts the clock; it stops when the result is dropped.
    pub(super) fn start(&self, limit: Duration, vm: &VirtualMachine) -> Clock {
        if cfg!(target_arch = "wasm32") {
            return Clock { _end: None };
        }
        let class = CLASS.with_borrow_mut(|class| {
            let bases = || vec![vm.ctx.exceptions.base_exception_type.to_owned()];
            class.get_or_insert_with(|| vm.ctx.new_exception_type("builtins", EXCEPTION, Some(bases()))).clone()
        });
        let exception = vm.new_exception_msg(class, time_is_over(limit).1.into());
        let number = self.runs.get() + 1;
        self.runs.set(number);
        ACTIVE.set(Some(Active { number, sender: self.sender.clone(), exception, struck: Cell::new(false) }));
        let (end, ended) = channel::<()>();
        let sender = self.sender.clone();
        let asker = std::thread::Builder::new().name("time limit".to_owned()).spawn(move || {
            let mut wait = limit;
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                if sender.send(Box::new(move |_| raise(number))).is_err() {
                    return;
                }
                wait = ASK_AGAIN;
            }
        });
        // Without a thread there is no limit, which is better than no run.
        Clock { _end: asker.is_ok().then_some(end) }
    }
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

/// A running clock.
pub(super) struct Clock {
    /// Closing the channel ends the thread.
    _end: Option<Sender<()>>,
}

impl Clock {
    /// The outcome of the script: a script that swallowed the exception of the limit does not get away with it.
    pub(super) fn stop(self, result: PyResult<()>) -> PyResult<()> {
        ACTIVE.with_borrow(|active| match active {
            Some(active) if active.struck.get() => Err(active.exception.clone()),
            _ => result,
        })
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        ACTIVE.set(None);
    }
}
