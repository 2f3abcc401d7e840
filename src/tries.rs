//! Scripts that are tried, one after the other, in a process of their own: a script that cannot be stopped, uses up the memory or ends the
//! interpreter ends with that process, and the next one has another.
//!
//! The process is this program, called with the same arguments and [`SERVE`] before them. A line of its standard input is a script, a line of
//! its standard output the report.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use aot_playground::python::{Interpreter, RunOptions, exhausted, on_large_stack};
use aot_playground::report::{Event, Report};
use serde::{Deserialize, Serialize};

use crate::interrupt;

/// The option of a process that runs what is tried.
pub const SERVE: &str = "serve-tries";
/// How long the process has to start, and to stop a script by itself once its time is over.
const GRACE: Duration = Duration::from_secs(1);
/// How often to look for Ctrl-C, or whether the memory is used up.
const LOOK: Duration = Duration::from_millis(50);

/// A script, and of its options those that may differ from one to the next.
#[derive(Serialize, Deserialize)]
struct Script {
    program: String,
    backend: String,
    check: bool,
    time_limit: Option<Duration>,
}

struct Process {
    child: Child,
    scripts: ChildStdin,
    reports: Receiver<Report>,
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process for scripts that are tried one after the other.
pub struct Tries {
    program: std::path::PathBuf,
    process: Option<Process>,
}

impl Tries {
    /// # Errors
    ///
    /// Where this program cannot be found.
    pub fn new() -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| format!("can't find this program: {error}"))?;
        Ok(Tries { program, process: None })
    }

    /// Runs a script and gives what became known: nothing at all where its process had to be ended. `None` after Ctrl-C.
    pub fn run(&mut self, program: &str, options: &RunOptions) -> Option<Report> {
        let mut process = self.process.take().or_else(|| self.start())?;
        let (backend, check, time_limit) = (options.backend.clone(), options.check, options.time_limit);
        let script = serde_json::to_string(&Script { program: program.to_owned(), backend, check, time_limit }).ok()?;
        let deadline = time_limit.and_then(|limit| Instant::now().checked_add(limit)?.checked_add(GRACE));
        let given = process.scripts.write_all(format!("{script}\n").as_bytes()).and_then(|()| process.scripts.flush());
        while given.is_ok() && !interrupt::came() {
            match process.reports.recv_timeout(LOOK) {
                Ok(report) => {
                    self.process = Some(process);
                    return Some(report);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if deadline.is_some_and(|deadline| Instant::now() > deadline) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        (!interrupt::came()).then(Report::default)
    }

    fn start(&self) -> Option<Process> {
        let mut command = Command::new(&self.program);
        command.arg(format!("--{SERVE}")).args(std::env::args_os().skip(1));
        // What a script that ends the process says is nobody's to see.
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let (scripts, lines) = (child.stdin.take()?, BufReader::new(child.stdout.take()?).lines());
        let (sender, reports) = channel();
        std::thread::spawn(move || {
            let known = lines.map_while(Result::ok).map_while(|line| serde_json::from_str(&line).ok());
            known.take_while(|report| sender.send(Report::clone(report)).is_ok()).for_each(drop);
        });
        Some(Process { child, scripts, reports })
    }
}

/// Serves as the process that runs what is tried, until standard input ends.
///
/// # Errors
///
/// Where there is no thread.
pub fn serve(filename: &str, options: &RunOptions) -> Result<u8, String> {
    // An allocation that cannot be granted stops its thread, and nobody can tell it.
    std::thread::spawn(|| {
        while exhausted().is_none() {
            std::thread::sleep(LOOK);
        }
        std::process::exit(1);
    });
    on_large_stack(|| run_all(filename, options)).map_err(|error| error.to_string())?;
    Ok(0)
}

fn run_all(filename: &str, options: &RunOptions) {
    let interpreter = Interpreter::new();
    let scripts = std::io::stdin().lines().map_while(Result::ok).map_while(|line| serde_json::from_str::<Script>(&line).ok());
    for Script { program, backend, check, time_limit } in scripts {
        let report = Rc::new(RefCell::new(Report::default()));
        let fold = report.clone();
        let sink = Rc::new(move |event| {
            // Values are large, and nobody asks for them.
            if !matches!(event, Event::Runnable { .. }) {
                fold.borrow_mut().fold(event);
            }
        });
        interpreter.run(&program, filename, &RunOptions { backend, check, time_limit, ..options.clone() }, sink);
        let told = serde_json::to_string(&report.take()).ok().map(|text| crate::print(&(text + "\n")));
        if !matches!(told, Some(Ok(_))) {
            return;
        }
    }
}
