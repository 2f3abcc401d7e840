//! What is being compiled, as scripts and their compilers ask for it: the graph's name (`get_aot_graph_name`), and what the tracing
//! context of a function that Dynamo captured knows (`TracingContext.get().fw_metadata`).

use super::schemas::ViewAndMutationMeta;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

thread_local! {
    /// How many functions were compiled (PyTorch's `AOT_COUNTER`).
    static COMPILATIONS: Cell<u64> = const { Cell::new(0) };
    /// How many graphs were (PyTorch's `nth_graph`).
    static GRAPHS: Cell<u64> = const { Cell::new(0) };
    static GRAPH: RefCell<Option<String>> = const { RefCell::new(None) };
    static METADATA: RefCell<Option<Rc<ViewAndMutationMeta>>> = const { RefCell::new(None) };
}

/// Counts from the beginning.
pub fn forget() {
    COMPILATIONS.set(0);
    GRAPHS.set(0);
}

/// The number of a compilation that begins.
pub(super) fn next_compilation() -> u64 {
    COMPILATIONS.replace(COMPILATIONS.get() + 1)
}

/// The graph that is being compiled, as `0_forward`, and how many were before.
pub fn graph_being_compiled() -> (Option<String>, u64) {
    (GRAPH.with_borrow(Clone::clone), GRAPHS.get())
}

/// Mutation and aliasing of what is being compiled for Dynamo.
pub fn fw_metadata() -> Option<Rc<ViewAndMutationMeta>> {
    METADATA.with_borrow(Clone::clone)
}

/// While it lives, a graph is being compiled.
pub(super) struct GraphBeingCompiled(());

impl GraphBeingCompiled {
    /// `compilation`: its number; `part`: `joint`, `forward`, `backward` or `inference`.
    pub(super) fn new(compilation: u64, part: &str) -> Self {
        GRAPH.set(Some(format!("{compilation}_{part}")));
        GraphBeingCompiled(())
    }
}

impl Drop for GraphBeingCompiled {
    fn drop(&mut self) {
        GRAPH.set(None);
        GRAPHS.set(GRAPHS.get() + 1);
    }
}

/// While it lives, the tracing context knows a function's metadata.
pub(super) struct Known(Option<Rc<ViewAndMutationMeta>>);

impl Known {
    /// `None`: there is no tracing context.
    pub(super) fn new(metadata: Option<Rc<ViewAndMutationMeta>>) -> Self {
        Known(METADATA.replace(metadata))
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        METADATA.set(self.0.take());
    }
}
