//! The time limit: a thread of its own asks the interpreter to stop once the time is over.
//!
//! The interpreter looks for such requests before every instruction. Handlers (`except BaseException`, `finally`) do not
//! hold the script up: until the run has ended, the same exception is raised again at the next instruction. In the browser
//! there are no threads, and whoever started the worker ends it; the functions here then do nothing.

use std::cell::RefCell;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustpython_vm::VirtualMachine;
use rustpython_vm::builtins::{PyBaseExceptionRef, PyTypeRef};
use rustpython_vm::signal::{UserSignalReceiver, UserSignalSender, user_signal_channel};

/// How long to wait for the interpreter before asking again.
const ASK_AGAIN: Duration = Duration::from_millis(20);

thread_local! {
    static ACTIVE: RefCell<Option<Active>> = const { RefCell::new(None) };
}

/// The limit of the run under way on this thread.
struct Active {
    sender: UserSignalSender,
    exception: PyBaseExceptionRef,
}

/// The way to interrupt one interpreter.
pub(super) struct Interrupter {
    sender: UserSignalSender,
    class: std::cell::OnceCell<PyTypeRef>,
}

impl Interrupter {
    /// Also gives what the interpreter must be built with.
    pub(super) fn new() -> (Self, UserSignalReceiver) {
        let (sender, receiver) = user_signal_channel();
        (Interrupter { sender, class: std::cell::OnceCell::new() }, receiver)
    }

    /// Starts the clock; it stops when the result is dropped.
    pub(super) fn start(&self, limit: Duration, vm: &VirtualMachine) -> Clock {
        if cfg!(target_arch = "wasm32") {
            return Clock { _end: None };
        }
        let class = self.class.get_or_init(|| {
            let bases = vec![vm.ctx.exceptions.base_exception_type.to_owned()];
            vm.ctx.new_exception_type("builtins", "TimeLimitExceeded", Some(bases))
        });
        let message = format!("the script ran longer than its time limit of {} s", limit.as_secs_f64());
        let exception = vm.new_exception_msg(class.clone(), message.into());
        ACTIVE.set(Some(Active { sender: self.sender.clone(), exception }));
        let (end, ended) = channel::<()>();
        let sender = self.sender.clone();
        let asker = std::thread::Builder::new().name("time limit".to_owned()).spawn(move || {
            let mut wait = limit;
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                if sender.send(Box::new(raise)).is_err() {
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
fn raise(_vm: &VirtualMachine) -> rustpython_vm::PyResult<()> {
    ACTIVE.with_borrow(|active| match active {
        Some(active) => {
            // At the next instruction again.
            let _ = active.sender.send(Box::new(raise));
            Err(active.exception.clone())
        }
        None => Ok(()),
    })
}

/// A running clock.
pub(super) struct Clock {
    /// Closing the channel ends the thread.
    _end: Option<Sender<()>>,
}

impl Drop for Clock {
    fn drop(&mut self) {
        ACTIVE.set(None);
    }
}
