//! What a run shares with everything it calls: where its events go, its options, the script's name and text.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use ruff_source_file::SourceLocation;
use rustpython_vm::builtins::PyStrInterned;

use crate::report::Event;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Run>>> = const { RefCell::new(None) };
}

/// Where events go.
pub type Sink = Rc<dyn Fn(Event)>;

/// How a script is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// PyTorch's name of the backend that a plain `torch.compile` stands for.
    pub backend: String,
    /// Whether what compiled functions give is compared with eager mode.
    pub check: bool,
    /// Whether there is a CUDA device, pretended: its tensors are computed on the CPU.
    pub pretend_cuda: bool,
    /// How long it may run. Kept natively; in the browser, whoever started the worker ends it.
    pub time_limit: Option<Duration>,
    /// How many bytes it may use at a time: tensors, Python's objects, graphs and all else. Kept natively, in a program whose
    /// allocator is [`Counted`](super::Counted); the page has the limits of its worker.
    pub memory_limit: Option<usize>,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions { backend: "aot_eager".to_owned(), check: false, pretend_cuda: false, time_limit: None, memory_limit: None }
    }
}

/// One run of a script.
pub struct Run {
    /// Where events go.
    pub(super) sink: Sink,
    /// Its options.
    pub options: RunOptions,
    /// The script's name, as tracebacks show it.
    pub filename: &'static PyStrInterned,
    /// The script's lines, without their ends.
    pub(super) lines: Vec<String>,
    /// Places of the script that the compiler asked for, by their range and where their function's name lies.
    pub(super) sources: RefCell<HashMap<((SourceLocation, SourceLocation), usize), crate::span::Source>>,
}

impl Run {
    /// Line `number` (counted from 1) of the script without surrounding white space; empty where there is none.
    pub fn line(&self, number: usize) -> &str {
        self.raw_line(number).trim()
    }

    /// How many columns of white space line `number` begins with.
    pub(super) fn indent(&self, number: usize) -> u32 {
        let line = self.raw_line(number);
        line.chars().take_while(|c| c.is_whitespace()).count() as u32
    }

    /// Column in characters of what the interpreter counts in bytes.
    pub(super) fn column(&self, line: usize, bytes: usize) -> u32 {
        self.raw_line(line).get(..bytes).map_or(bytes, |before| before.chars().count()) as u32
    }

    /// Line `number` as it is, without its end.
    pub(super) fn raw_line(&self, number: usize) -> &str {
        number.checked_sub(1).and_then(|index| self.lines.get(index)).map_or("", String::as_str)
    }
}

/// The run of this thread, while there is one.
pub fn current() -> Option<Rc<Run>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Makes something known. Without a run nobody listens.
pub fn emit(event: Event) {
    if let Some(run) = current() {
        (run.sink)(event);
    }
}

/// Makes `run` the current one until the guard is dropped; `None` where another run is under way.
pub(super) fn enter(run: Run) -> Option<Guard> {
    CURRENT.with_borrow_mut(|current| match current {
        Some(_) => None,
        None => {
            *current = Some(Rc::new(run));
            Some(Guard)
        }
    })
}

/// Ends the current run when dropped.
pub(super) struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| *current = None);
    }
}
