//! The interpreter: RustPython with a hand-picked standard library and our `torch`, running one script at a time.
//!
//! There is one [`Interpreter`] for the life of a process or worker. Each [`run`](Interpreter::run) gets a fresh `__main__`;
//! what an earlier script could have changed in modules (`torch*` above all) is forgotten between runs: by
//! [`warm_up`](Interpreter::warm_up), when nobody waits, or else when the next run begins. Everything that becomes known (prints, graphs, the exception at the end) is an [`Event`] that goes to the run's sink at once.
//!
//! - [`current`]: the run under way, and [`emit`](current::emit) for whoever learns something
//! - [`span`]: where the script is; `files`: files beside it, and how they are imported; `packages`: those that are fetched
//! - `native/`: Python modules written in Rust; `torch/`: PyTorch's Python files; `stdlib/`, `stdlib.txt`: the library; `later.txt`:
//!   which of it the page fetches only when it is imported

mod absent;
pub mod current;
mod dialect;
pub(crate) mod escape;
mod files;
mod frozen;
mod limit;
mod memory;
pub(crate) mod native;
mod packages;
mod session;
mod set_order;
mod snapshot;
pub mod span;
mod stdio;
#[cfg(not(target_arch = "wasm32"))]
mod supervise;
pub(crate) mod traceback;
mod turn;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustpython_vm::VirtualMachine;
use web_time::Instant;

use crate::report::sentences::{Sentence, Told};
use crate::report::{Answer, Event, Exception, Question};
use current::Run;
pub use current::{RunOptions, Sink};
pub use files::ModulePath;
use files::SourceFile;
#[cfg(target_arch = "wasm32")]
pub use frozen::set_library;
use limit::Interrupter;
pub use memory::{Counted, exhausted, on_failed_allocation};
#[cfg(not(target_arch = "wasm32"))]
pub use packages::has_package;
#[cfg(target_arch = "wasm32")]
pub use packages::set_packages;
use session::Session;
#[cfg(not(target_arch = "wasm32"))]
pub use supervise::supervised;
use turn::Turn;

/// Native stack for a thread that runs an interpreter: enough for Python's own recursion limit to be what ends a recursion.
#[cfg(not(target_arch = "wasm32"))]
pub const STACK: usize = 512 << 20;

/// A Python interpreter.
pub struct Interpreter {
    vm: rustpython_vm::Interpreter,
    interrupter: Interrupter,
    session: Session,
    /// Whether a run left something to forget.
    used: Cell<bool>,
    /// Given back last.
    _turn: Turn,
}

impl Default for Interpreter {
    fn default() -> Self {
        Self::new()
    }
}

impl Interpreter {
    /// Starts an interpreter, once no other thread has one. Costly, and its memory is not all given back: start one and keep it.
    pub fn new() -> Self {
        let turn = Turn::wait();
        crate::backend::cpu::install();
        crate::backend::codegen::install();
        crate::autograd::install();
        crate::transforms::autocast::install();
        crate::transforms::levels::install();
        crate::transforms::math_bits::install();
        crate::span::set_source_provider(span::source);
        crate::span::set_span_provider(span::span);
        let (interrupter, receiver) = Interrupter::new();
        let mut settings = rustpython_vm::Settings::default();
        settings.install_signal_handlers = false;
        settings.import_site = false;
        settings.ignore_environment = true;
        // The same program prints the same order of a set everywhere and always.
        settings.hash_seed = Some(0);
        let builder = rustpython_vm::Interpreter::builder(settings);
        let natives = native::modules(&builder.ctx);
        let vm = builder
            .add_native_modules(&natives)
            .add_frozen_modules(frozen::modules())
            .init_hook(move |vm| {
                vm.set_user_signal_channel(receiver);
                if let Some(state) = rustpython_vm::common::rc::PyRc::get_mut(&mut vm.state) {
                    for name in native::REPLACED {
                        state.module_defs.remove(name);
                    }
                }
            })
            .build();
        let session = vm.enter(Session::new);
        Interpreter { vm, interrupter, session, used: Cell::new(false), _turn: turn }
    }

    /// Forgets the last run, unless one is under way.
    fn forget(&self, vm: &VirtualMachine) {
        if current::current().is_none() && self.used.take() {
            // A failure to forget can only cost memory.
            let _ = self.session.forget(vm);
        }
    }

    /// Runs `program` as Python runs a script called `filename`, and answers with the exit status. The last event is
    /// [`Event::Finished`].
    pub fn run(&self, program: &str, filename: &str, options: &RunOptions, sink: Sink) -> i32 {
        let started = Instant::now();
        let told = RefCell::new(Told::of_script(filename.rsplit('/').next().unwrap_or_default()));
        let sink: Sink = Rc::new(move |event| {
            let more = told.borrow_mut().after(&event);
            // The end is the last that is said.
            let (before, after) = if matches!(event, Event::Finished { .. }) { (more, Vec::new()) } else { (Vec::new(), more) };
            before.into_iter().chain([event]).chain(after).for_each(|event| sink(event));
        });
        let finish = |exception| sink(Event::Finished { exception, seconds: started.elapsed().as_secs_f64() });
        self.vm.enter(|vm| {
            self.forget(vm);
            let run = Run::new(sink.clone(), options.clone(), SourceFile::script(vm.ctx.intern_str(filename), program));
            let Some(running) = current::enter(run) else {
                let message = "another script is running";
                let kind = "RuntimeError".to_owned();
                let traceback = format!("{kind}: {message}\n");
                finish(Some(Exception { kind, message: message.to_owned(), traceback, span: None }));
                return 1;
            };
            self.used.set(true);
            crate::tensor::pretend_cuda(options.pretend_cuda);
            if options.pretend_cuda {
                sink(Event::PretendsCuda);
            }
            crate::dynamo::tracing::forget_studies();
            let watch = self.interrupter.watch(options, vm);
            let result = watch.stop(self.session.execute(program, filename, options, vm));
            let (exception, status) = self.session.conclude(result, vm);
            crate::dynamo::guards::last_call::tell(vm);
            finish(exception);
            drop(running);
            status
        })
    }

    /// Answers a question about a compilation of the last run, without running anything.
    pub fn ask(&self, compilation: u32, question: &Question) -> Answer {
        crate::dynamo::tracing::ask(compilation, question)
    }

    /// What there is to say of memory, per compilation of the last run that has a backward; beside it the peak under a budget.
    pub fn memory(&self, budget: f64) -> Vec<(u32, Sentence)> {
        let said = |answer| match answer {
            Answer::Peak { sentence } => Some(sentence),
            Answer::Eager { kept, .. } => Some(kept),
            _ => None,
        };
        let both = |compilation| {
            [Question::Peak { budget }, Question::Eager].map(|question| (compilation, said(self.ask(compilation, &question))))
        };
        let all = crate::dynamo::tracing::studied().into_iter().flat_map(both);
        all.filter_map(|(compilation, sentence)| Some((compilation, sentence?))).collect()
    }

    /// Gets ready for the next run: forgets the last one and imports what it imported of `torch`, untouched. Worth calling
    /// where the next run is likely to be of a similar script and time between runs is free.
    pub fn warm_up(&self) {
        if current::current().is_none() {
            // A module that cannot be imported will say so to the script that imports it.
            let _ = self.vm.enter(|vm| {
                self.forget(vm);
                self.session.warm_up(vm)
            });
        }
    }
}

/// A thread whose stack is large enough for deep recursion in scripts.
#[cfg(not(target_arch = "wasm32"))]
fn thread() -> std::thread::Builder {
    std::thread::Builder::new().name("python".to_owned()).stack_size(STACK)
}

/// Runs `body` on a thread whose stack is large enough for deep recursion in scripts. Start the interpreter inside it.
#[cfg(not(target_arch = "wasm32"))]
pub fn on_large_stack<R: Send>(body: impl FnOnce() -> R + Send) -> std::io::Result<R> {
    std::thread::scope(|scope| {
        let thread = thread().spawn_scoped(scope, body)?;
        thread.join().map_err(|_| std::io::Error::other("the interpreter's thread panicked"))
    })
}
