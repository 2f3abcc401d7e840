//! What a run shares with everything it calls: where its events go, its options, the script and the files beside it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ruff_source_file::SourceLocation;
use rustpython_vm::VirtualMachine;
use rustpython_vm::builtins::PyStrInterned;

use super::files::{Kind, ModulePath, SourceFile};
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
    /// What it may import beside the library.
    pub modules: Arc<ModulePath>,
    /// How long it may run. Kept natively; in the browser, whoever started the worker ends it.
    pub time_limit: Option<Duration>,
    /// How many bytes it may use at a time: tensors, Python's objects, graphs and all else. Kept natively, in a program whose
    /// allocator is [`Counted`](super::Counted); the page has the limits of its worker.
    pub memory_limit: Option<usize>,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            backend: "aot_eager".to_owned(),
            check: false,
            pretend_cuda: false,
            modules: Arc::default(),
            time_limit: None,
            memory_limit: None,
        }
    }
}

/// Where a range begins and ends, of which file and in which function: the addresses of their interned names.
pub(super) type SourceKey = ((SourceLocation, SourceLocation), usize, usize);

/// One run of a script.
pub struct Run {
    /// Where events go.
    pub(super) sink: Sink,
    /// Its options.
    pub options: RunOptions,
    /// The script.
    pub(super) script: Rc<SourceFile>,
    /// What it imported of other files, by where the interned path lies, in that order.
    files: RefCell<Vec<(usize, Rc<SourceFile>)>>,
    /// Places that the compiler asked for.
    pub(super) sources: RefCell<HashMap<SourceKey, crate::span::Source>>,
}

impl Run {
    pub(super) fn new(sink: Sink, options: RunOptions, script: SourceFile) -> Self {
        Run { sink, options, script: Rc::new(script), files: RefCell::default(), sources: RefCell::default() }
    }

    /// The file that code of this path comes from: the script, or one that it imported.
    pub(super) fn file(&self, path: &PyStrInterned) -> Option<Rc<SourceFile>> {
        if std::ptr::eq(path, self.script.path) {
            return Some(self.script.clone());
        }
        let files = self.files.borrow();
        files.binary_search_by_key(&address(path), |(key, _)| *key).ok().and_then(|at| files.get(at)).map(|(_, file)| file.clone())
    }

    /// Whether code of this path is the visitor's, or of a package that was fetched for it: what is not the library's.
    pub(crate) fn has(&self, path: &PyStrInterned) -> bool {
        std::ptr::eq(path, self.script.path) || self.files.borrow().binary_search_by_key(&address(path), |(key, _)| *key).is_ok()
    }

    /// Whether other files than the script were imported.
    pub(super) fn has_files(&self) -> bool {
        !self.files.borrow().is_empty()
    }

    /// The file of this path, whether it was imported or not.
    pub(super) fn named(&self, path: &str, vm: &VirtualMachine) -> Option<Rc<SourceFile>> {
        if path == self.script.path.as_str() {
            return Some(self.script.clone());
        }
        let imported = self.files.borrow().iter().find(|(_, file)| file.path.as_str() == path).map(|(_, file)| file.clone());
        imported.or_else(|| Some(Rc::new(self.options.modules.get(path)?.clone().into_source(path, Kind::Beside, vm))))
    }

    /// Takes a file that is imported.
    pub(super) fn import(&self, file: SourceFile) {
        let mut files = self.files.borrow_mut();
        let key = address(file.path);
        if let Err(at) = files.binary_search_by_key(&key, |(key, _)| *key) {
            files.insert(at, (key, Rc::new(file)));
        }
    }
}

/// Interned texts live as long as the thread.
fn address(text: &PyStrInterned) -> usize {
    std::ptr::from_ref(text) as usize
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
