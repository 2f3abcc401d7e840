//! What a call of a compiled function costs once its graph is in the cache, next to the same call without `torch.compile`, and what
//! the guards of its entry cost alone, and what compiled autograd costs next to an eager backward: `capture.py` measures.
//!
//! `cargo bench --no-default-features --features python --bench capture`

use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use aot_playground::report::Report;
use std::cell::RefCell;
use std::rc::Rc;

/// Compiling makes many small objects, which the system's allocator takes a third of the time for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let outcome = on_large_stack(|| {
        let program = include_str!("capture.py").replace("from block import Block\n", include_str!("block.py"));
        let report = Rc::new(RefCell::new(Report::default()));
        let sink = report.clone();
        let options = RunOptions::default();
        Interpreter::new().run(&program, "bench.py", &options, Rc::new(move |event| sink.borrow_mut().fold(event)));
        report.take()
    });
    match outcome {
        Ok(report) => print!("{}{}{}", report.stdout, report.stderr, report.exception.map(|e| e.traceback).unwrap_or_default()),
        Err(error) => println!("{error:?}"),
    }
}
