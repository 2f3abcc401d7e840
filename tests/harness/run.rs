//! Runs scripts in processes of this program, one for each thread of the tests, that keep an interpreter and answer lines of JSON. An
//! interpreter forgets a script before it runs the next, as in the page; starting one for every script would take longer than the
//! script. A process each, because interpreters in threads of one process share a cache of methods, read without a lock while
//! another thread writes it. What ends a process fails that script alone.

use crate::module_files;
use crate::observed::{Observed, observed};
use crate::topics::Case;
use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use aot_playground::report::Report;
use libtest_mimic::Failed;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long a script may run. Most take a tenth of a second; a loaded machine takes its time.
pub const TIME_LIMIT: Duration = Duration::from_secs(120);

/// The argument of a process that runs scripts.
const SERVE: &str = "--serve-scripts";

/// A script to run.
#[derive(Default, Serialize, Deserialize)]
pub struct Job {
    /// Its text.
    pub source: String,
    /// The name of its file, as tracebacks say it.
    pub file: String,
    /// The backend that a plain `torch.compile` stands for, where it is not the default.
    pub backend: Option<String>,
    /// Whether a CUDA device is pretended.
    pub pretend_cuda: bool,
    /// The folder of what it imports beside the library.
    pub modules: Option<PathBuf>,
}

impl Job {
    /// What it did, with its exit status, or why what it imports cannot be read.
    fn run(self, interpreter: &Interpreter) -> Result<(Report, i32), String> {
        let mut options = RunOptions { pretend_cuda: self.pretend_cuda, time_limit: Some(TIME_LIMIT), ..RunOptions::default() };
        if let Some(backend) = self.backend {
            options.backend = backend;
        }
        if let Some(folder) = self.modules {
            let entry = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Arc::make_mut(&mut options.modules).add(&entry, module_files::read(&folder)?);
        }
        let report = Rc::new(RefCell::new(Report::default()));
        let sink = report.clone();
        let status = interpreter.run(&self.source, &self.file, &options, Rc::new(move |event| sink.borrow_mut().fold(event)));
        Ok((report.take(), status))
    }
}

/// Whether this process was started to run scripts; if so, it has run them all.
///
/// # Panics
///
/// Where a line is no job.
pub fn served() -> bool {
    let serves = std::env::args().any(|argument| argument == SERVE);
    if serves {
        let served = on_large_stack(|| {
            let interpreter = Interpreter::new();
            for line in std::io::stdin().lines() {
                let job: Job = serde_json::from_str(&line?).expect("a line is a job");
                let answer = job.run(&interpreter).map(|(report, status)| observed(&report, status, ""));
                println!("{}", serde_json::to_string(&answer).expect("what was observed is text"));
            }
            std::io::Result::Ok(())
        });
        served.flatten().expect("jobs are read");
    }
    serves
}

/// A process that runs scripts.
struct Worker {
    process: Child,
    jobs: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// Those that wait for a script.
static IDLE: Mutex<Vec<Worker>> = Mutex::new(Vec::new());

impl Worker {
    fn start() -> std::io::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?).arg(SERVE).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(jobs), Some(answers)) = (process.stdin.take(), process.stdout.take()) else { unreachable!("both are piped") };
        Ok(Worker { process, jobs, answers: BufReader::new(answers) })
    }

    /// What a script did.
    fn ask(&mut self, job: &Job) -> Result<Observed, Failed> {
        let ask = serde_json::to_string(job)? + "\n";
        let mut answer = String::new();
        if self.jobs.write_all(ask.as_bytes()).is_err() || self.answers.read_line(&mut answer)? == 0 {
            return Err(format!("the script's process ended ({}): see the message above", self.process.wait()?).into());
        }
        Ok(serde_json::from_str::<Result<Observed, String>>(&answer)??)
    }
}

/// What a script did.
///
/// # Errors
///
/// Where its process ends.
pub fn script(job: &Job) -> Result<Observed, Failed> {
    let idle = IDLE.lock()?.pop();
    let mut worker = idle.map_or_else(Worker::start, Ok)?;
    let observed = worker.ask(job)?;
    IDLE.lock()?.push(worker);
    Ok(observed)
}

/// Runs a case.
///
/// # Errors
///
/// Where its process ends.
pub fn run(case: &Case, backend: Option<&str>) -> Result<Observed, Failed> {
    script(&Job {
        source: std::fs::read_to_string(&case.script)?,
        file: case.script.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        backend: backend.map(str::to_owned),
        pretend_cuda: case.topic.pretend_cuda,
        modules: case.modules(),
    })
}
