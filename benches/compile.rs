//! What compiling costs, from Python to partitioned graphs, beside PyTorch on the same programs (see compile.py).
//!
//! `cargo bench --no-default-features --features python --bench compile`

use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use aot_playground::report::{Event, Report};
use std::cell::RefCell;
use std::rc::Rc;

/// Compiling makes many small objects, which the system's allocator takes a third of the time for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let outcome = on_large_stack(|| {
        let report = Rc::new(RefCell::new(Report::default()));
        let sink = report.clone();
        // Graphs are taken note of and dropped: a report of every run would hold thousands.
        let fold = move |event: Event| {
            if !matches!(event, Event::Compiled { .. } | Event::Captured { .. } | Event::Ran { .. }) {
                sink.borrow_mut().fold(event);
            }
        };
        let program = include_str!("compile.py").replace("from block import Block\n", include_str!("block.py"));
        Interpreter::new().run(&program, "compile.py", &RunOptions::default(), Rc::new(fold));
        report.take()
    });
    match outcome {
        Ok(report) => print!("{}{}{}", report.stdout, report.stderr, report.exception.map(|e| e.traceback).unwrap_or_default()),
        Err(error) => println!("{error:?}"),
    }
}
