//! A script on a thread of its own, whose time is over when it is over, whatever the interpreter is doing.
//!
//! The interpreter looks for requests to stop before every instruction (`limit.rs`). What a single instruction does (a power of
//! large integers, a regular expression, one kernel) nobody can interrupt: then the run ends without it.

use std::io;
use std::rc::Rc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::limit::time_is_over;
use super::{Interpreter, RunOptions, memory};
use crate::report::{Event, Exception};
use crate::tensor::not_enough_memory;

/// How long the interpreter has to stop by itself, once its time is over: then its traceback says where.
const GRACE: Duration = Duration::from_millis(300);
/// How often to look whether the thread stopped for want of memory.
const LOOK: Duration = Duration::from_millis(50);
/// Events that wait to be told, at most: a script that says more waits in turn.
const MOST_WAITING: usize = 1024;

enum Message<R> {
    /// The interpreter is there, and the clock runs.
    Began,
    Said(Event),
    Ended(R),
}

/// Runs a script with an interpreter on a thread of its own and tells each event the moment it is known. `then`, on that thread,
/// gives what is wanted of the interpreter, with the script's exit status; there is nothing where a limit was passed and the thread
/// could not be told: it does not stop by itself, and the process is to end soon.
///
/// # Errors
/// Where there is no thread, or it panicked.
pub fn supervised<R: Send + 'static>(
    program: String,
    filename: String,
    options: RunOptions,
    mut tell: impl FnMut(Event),
    then: impl FnOnce(&Interpreter, i32) -> R + Send + 'static,
) -> io::Result<Option<R>> {
    let limits = options.clone();
    let (sender, receiver) = sync_channel(MOST_WAITING);
    super::thread().spawn(move || {
        memory::supervise();
        let interpreter = Interpreter::new();
        // A supervisor that is gone needs to know nothing.
        let _ = sender.send(Message::Began);
        let said = sender.clone();
        let sink = Rc::new(move |event| drop(said.send(Message::Said(event))));
        let status = interpreter.run(&program, &filename, &options, sink);
        let _ = sender.send(Message::Ended(then(&interpreter, status)));
    })?;
    let mut began = None;
    loop {
        let deadline = began.and_then(|began: Instant| began.checked_add(limits.time_limit?)?.checked_add(GRACE));
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // A thread that stopped for want of memory says nothing.
        let message = match left.map_or(LOOK, |left| left.min(LOOK)) {
            // Events that came in time do not extend it.
            Duration::ZERO => Err(RecvTimeoutError::Timeout),
            wait => receiver.recv_timeout(wait),
        };
        let (kind, message) = match message {
            Ok(Message::Began) => {
                began = Some(Instant::now());
                continue;
            }
            Ok(Message::Said(event)) => {
                tell(event);
                continue;
            }
            Ok(Message::Ended(result)) => return Ok(Some(result)),
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the interpreter's thread panicked")),
            Err(RecvTimeoutError::Timeout) => match (memory::exhausted(), left) {
                (Some(bytes), _) => ("RuntimeError", not_enough_memory(bytes as u128).to_string()),
                (None, Some(Duration::ZERO)) => time_is_over(limits.time_limit.unwrap_or_default()),
                (None, _) => continue,
            },
        };
        let traceback = format!("{kind}: {message}\n");
        let exception = Exception { kind: kind.to_owned(), message, traceback, span: None };
        tell(Event::Finished { exception: Some(exception), seconds: began.map_or(0.0, |began| began.elapsed().as_secs_f64()) });
        return Ok(None);
    }
}
