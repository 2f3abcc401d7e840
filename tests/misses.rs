//! Which guard failed where a function is compiled again: the scripts of `tests/misses` against what PyTorch said of them, and printed.
//! `tests/misses/record.py` records it.
#![cfg(feature = "python")]

use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use aot_playground::report::Report;
use serde::Deserialize;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

#[derive(Deserialize)]
struct Recorded {
    name: String,
    stdout: String,
    /// Per compilation that another entry did not spare, what failed of each entry, those asked first before.
    misses: Vec<Vec<String>>,
}

#[test]
fn guards_fail_as_pytorch_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/misses");
    let recorded: Vec<Recorded> = serde_json::from_str(&std::fs::read_to_string(folder.join("recorded.json")).unwrap()).unwrap();
    assert!(recorded.len() >= 18);
    let wrong = on_large_stack(move || {
        let interpreter = Interpreter::new();
        let differs = |want: &Recorded| {
            let file = format!("{}.py", want.name);
            let script = std::fs::read_to_string(folder.join(&file)).unwrap();
            let report = Rc::new(RefCell::new(Report::default()));
            let sink = report.clone();
            let options = RunOptions { backend: "aot_eager".to_owned(), ..RunOptions::default() };
            interpreter.run(&script, &file, &options, Rc::new(move |event| sink.borrow_mut().fold(event)));
            let report = report.take();
            let guard = |reason: &String| reason.split(" # ").next().unwrap_or_default().trim_end().to_owned();
            let misses: Vec<Vec<String>> = report.recompiles.iter().map(|all| all.iter().map(guard).collect()).collect();
            let mut said = String::new();
            if misses != want.misses {
                said += &format!("{}\n  ours    {misses:?}\n  PyTorch {:?}\n", want.name, want.misses);
            }
            if report.stdout != want.stdout {
                said += &format!("{} prints\n{}PyTorch\n{}", want.name, report.stdout, want.stdout);
            }
            said
        };
        recorded.iter().map(differs).collect::<String>()
    })
    .unwrap();
    assert!(wrong.is_empty(), "{wrong}");
}
