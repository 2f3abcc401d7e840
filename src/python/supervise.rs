//! A script on a thread of its own, whose time is over when it is over, whatever the interpreter is doing.
//!
//! The interpreter looks for requests to stop before every instruction (`limit.rs`). What a single instruction does (a power of
//! large integers, a regular expression, one kernel) nobody can interrupt: then the run ends without it.

use std::io;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::limit::time_is_over;
use super::{Interpreter, RunOptions, STACK};
use crate::report::{Event, Exception};

/// How long the interpreter has to stop by itself, once its time is over: then its traceback says where.
const GRACE: Duration = Duration::from_millis(300);
/// Events that wait to be told, at most: a script that says more waits in turn.
const MOST_WAITING: usize = 1024;

enum Message {
    /// The interpreter is there, and the clock runs.
    Began,
    Said(Event),
    /// The exit status.
    Ended(i32),
}

/// Runs a script and tells each event the moment it is known; gives the exit status. A thread that did not stop in time runs on: the
/// process is to end soon.
///
/// # Errors
/// Where there is no thread, or it panicked.
pub fn run_supervised(program: String, filename: String, options: RunOptions, mut tell: impl FnMut(Event)) -> io::Result<i32> {
    let limit = options.time_limit;
    let (sender, receiver) = sync_channel(MOST_WAITING);
    std::thread::Builder::new().name("python".to_owned()).stack_size(STACK).spawn(move || {
        let interpreter = Interpreter::new();
        // A supervisor that is gone needs to know nothing.
        let _ = sender.send(Message::Began);
        let said = sender.clone();
        let sink = Rc::new(move |event| drop(said.send(Message::Said(event))));
        let status = interpreter.run(&program, &filename, &options, sink);
        let _ = sender.send(Message::Ended(status));
    })?;
    let mut deadline = None;
    loop {
        match next(&receiver, deadline) {
            Ok(Message::Began) => deadline = limit.and_then(|limit| Instant::now().checked_add(limit)?.checked_add(GRACE)),
            Ok(Message::Said(event)) => tell(event),
            Ok(Message::Ended(status)) => return Ok(status),
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the interpreter's thread panicked")),
            Err(RecvTimeoutError::Timeout) => {
                let limit = limit.unwrap_or_default();
                let (kind, message) = time_is_over(limit);
                let traceback = format!("{kind}: {message}\n");
                let exception = Exception { kind: kind.to_owned(), message, traceback, span: None };
                tell(Event::Finished { exception: Some(exception), seconds: (limit + GRACE).as_secs_f64() });
                return Ok(1);
            }
        }
    }
}

/// The next message; events that came in time do not extend it.
fn next(receiver: &Receiver<Message>, deadline: Option<Instant>) -> Result<Message, RecvTimeoutError> {
    match deadline {
        Some(deadline) => match deadline.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => receiver.recv_timeout(left),
            _ => Err(RecvTimeoutError::Timeout),
        },
        None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}
