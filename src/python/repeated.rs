//! Scripts one after the other in an interpreter that is kept, on a thread of its own: a script that cannot be stopped, panics or uses up the
//! memory ends with that thread, and the next one has another.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::{Interpreter, RunOptions, memory};
use crate::report::{Event, Report};

/// How long the interpreter has to start, and to stop by itself once its time is over.
const GRACE: Duration = Duration::from_secs(1);
/// How often to look whether all is to stop, or the thread stopped for want of memory.
const LOOK: Duration = Duration::from_millis(50);

struct Thread {
    scripts: Sender<(String, RunOptions)>,
    reports: Receiver<Report>,
}

/// An interpreter for scripts that are run one after the other.
pub struct Repeated {
    filename: String,
    thread: Option<Thread>,
    is_stopped: fn() -> bool,
}

impl Repeated {
    /// What its scripts are called in tracebacks, and what says that nothing more is to be run.
    pub fn new(filename: &str, is_stopped: fn() -> bool) -> Self {
        Repeated { filename: filename.to_owned(), thread: None, is_stopped }
    }

    /// Runs a script and gives what became known: nothing at all where it could not be ended otherwise than with its thread. `None`: all is to stop.
    pub fn run(&mut self, program: &str, options: &RunOptions) -> Option<Report> {
        let thread = self.thread.take().or_else(|| self.start())?;
        let deadline = options.time_limit.and_then(|limit| Instant::now().checked_add(limit)?.checked_add(GRACE));
        if thread.scripts.send((program.to_owned(), options.clone())).is_err() {
            return Some(Report::default());
        }
        loop {
            if (self.is_stopped)() {
                return None;
            }
            match thread.reports.recv_timeout(LOOK) {
                Ok(report) => {
                    self.thread = Some(thread);
                    return Some(report);
                }
                Err(RecvTimeoutError::Disconnected) => return Some(Report::default()),
                Err(RecvTimeoutError::Timeout) => {
                    if memory::exhausted().is_some() || deadline.is_some_and(|deadline| Instant::now() > deadline) {
                        return Some(Report::default());
                    }
                }
            }
        }
    }

    fn start(&self) -> Option<Thread> {
        let (scripts, given) = channel::<(String, RunOptions)>();
        let (reports, known) = channel();
        let filename = self.filename.clone();
        let serve = move || {
            memory::supervise();
            let interpreter = Interpreter::new();
            while let Ok((program, options)) = given.recv() {
                let report = Rc::new(RefCell::new(Report::default()));
                let fold = report.clone();
                let sink = Rc::new(move |event| {
                    // Values are large, and nobody asks for them.
                    if !matches!(event, Event::Runnable { .. }) {
                        fold.borrow_mut().fold(event);
                    }
                });
                interpreter.run(&program, &filename, &options, sink);
                if reports.send(report.take()).is_err() {
                    return;
                }
            }
        };
        super::thread().spawn(serve).ok()?;
        Some(Thread { scripts, reports: known })
    }
}
