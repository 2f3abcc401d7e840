//! Runs scripts in this process, and keeps what became known of them.

use aot_playground::bundle::Bundle;
use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use aot_playground::report::{Event, Report};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What became known of a run.
#[derive(Default)]
pub struct Run {
    pub report: Report,
    /// By compilation.
    pub bundles: BTreeMap<u32, Bundle>,
    /// The exit status.
    pub status: i32,
}

impl Run {
    /// What the command line writes to standard error.
    pub fn stderr(&self) -> String {
        let traceback = self.report.exception.as_ref().map_or("", |e| &e.traceback);
        format!("{}{traceback}", self.report.stderr)
    }
}

/// Runs a script in an interpreter.
pub fn run_in(interpreter: &Interpreter, program: &str, options: &RunOptions) -> Run {
    let run = Rc::new(RefCell::new(Run::default()));
    let known = run.clone();
    let sink = move |event| match event {
        Event::Runnable { bundle } => drop(known.borrow_mut().bundles.insert(bundle.compilation, bundle)),
        event => known.borrow_mut().report.fold(event),
    };
    let status = interpreter.run(program, "script.py", options, Rc::new(sink));
    Run { status, ..run.take() }
}

/// Runs a script in an interpreter of its own, on a stack as large as the command line's.
pub fn run(program: &str) -> Run {
    on_large_stack(|| run_in(&Interpreter::new(), program, &RunOptions::default())).unwrap()
}

/// Runs a script that must end well.
pub fn report(program: &str) -> Report {
    let run = run(program);
    assert_eq!(run.status, 0, "{}{}", run.report.stdout, run.stderr());
    run.report
}
