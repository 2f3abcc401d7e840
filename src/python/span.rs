//! Where the script is: the source range of the expression it is evaluating, also while that expression runs library code.
//!
//! The interpreter keeps its frames in a chain; the innermost one whose code comes from the script says where the script
//! is. Walking there costs a pointer comparison per frame, so every operator call can afford to ask.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use ruff_source_file::SourceLocation;
use rustpython_vm::builtins::{PyCode, PyDict, PyDictRef, PyStr, PyStrInterned};
use rustpython_vm::bytecode::CodeFlags;
use rustpython_vm::common::atomic::Radium;
use rustpython_vm::frame::{FrameObject, InterpreterFrame, current_thread_frame_materialize, current_thread_iframe};
use rustpython_vm::vm::thread::with_current_vm;
use rustpython_vm::{Py, PyObject, PyObjectRef, PyRef, VirtualMachine};

use super::current::{Run, current};
use super::files::{Kind, SourceFile};
use crate::report::Span;

/// A place in the script, or in a file beside it, that is being executed.
pub struct Place {
    file: Rc<SourceFile>,
    /// The expression.
    pub span: Span,
    /// Name of the function it is in; `<module>` at the top level.
    pub function: &'static str,
}

impl Place {
    /// The text of its first line, without surrounding white space.
    pub fn code(&self) -> &str {
        self.file.line(self.span.line as usize)
    }

    /// The file's name.
    pub fn filename(&self) -> &'static str {
        self.file.path.as_str()
    }
}

/// The innermost place in what the visitor wrote; `None` when no script is running.
pub fn here() -> Option<Place> {
    let run = current()?;
    visitors(&run).next().map(Standpoint::place)
}

/// The source range of [`here`].
pub fn span() -> Option<Span> {
    let run = current()?;
    visitors(&run).next().map(|at| at.span())
}

/// Every place that is on the stack, but for the library's, outermost first.
pub fn stack() -> Vec<Place> {
    let Some(run) = current() else { return Vec::new() };
    let mut places: Vec<Place> = standpoints(&run).map(Standpoint::place).collect();
    places.reverse();
    places
}

/// Whether the code that runs is not the library's.
pub fn in_script() -> bool {
    let innermost = || Frames(current_thread_iframe()).next();
    current().is_some_and(|run| innermost().is_some_and(|frame| run.has(frame.code().source_path())))
}

/// Whether a module's code is that of a file beside the script.
pub fn is_beside(module: &PyObject, vm: &VirtualMachine) -> bool {
    let Some(run) = current().filter(|run| run.has_files()) else { return false };
    let path = module.dict().and_then(|namespace| namespace.get_item_opt("__file__", vm).ok().flatten());
    path.is_some_and(|path| path.downcast_ref::<PyStr>().is_some_and(|path| run.has(vm.ctx.intern_str(&*path.to_string_lossy()))))
}

/// Where a frame stands.
struct Standpoint {
    file: Rc<SourceFile>,
    range: (SourceLocation, SourceLocation),
    function: &'static str,
}

impl Standpoint {
    fn span(&self) -> Span {
        span_of(&self.file, &self.range.0, &self.range.1)
    }

    fn place(self) -> Place {
        Place { span: self.span(), file: self.file, function: self.function }
    }
}

/// Where frames stand that are not the library's, innermost first.
fn standpoints(run: &Run) -> impl Iterator<Item = Standpoint> {
    standpoints_of(run, Frames(current_thread_iframe()))
}

/// Those of what the visitor wrote.
fn visitors(run: &Run) -> impl Iterator<Item = Standpoint> {
    standpoints(run).filter(|at| at.file.kind != Kind::Package)
}

fn standpoints_of(run: &Run, frames: impl Iterator<Item = &'static InterpreterFrame>) -> impl Iterator<Item = Standpoint> {
    frames.filter_map(|frame| {
        let code = frame.code();
        let file = run.file(code.source_path())?;
        let last = frame.lasti.load(Ordering::Relaxed) as usize;
        Some(Standpoint { file, range: *code.locations.get(last.saturating_sub(1))?, function: code.obj_name.as_str() })
    })
}

/// Whether a file's code was generated for a graph: `GraphModule` names it so.
fn is_generated(path: &PyStrInterned) -> bool {
    path.as_str().starts_with("<eval_with_key>.")
}

struct Frames(*const InterpreterFrame);

impl Iterator for Frames {
    type Item = &'static InterpreterFrame;

    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: the chain holds the frames that this thread is executing. They outlive the walk, which runs nothing in
        // the interpreter; the references do not leave this module.
        let frame = unsafe { self.0.as_ref()? };
        self.0 = frame.previous();
        Some(frame)
    }
}

/// A mark for the frame that runs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameMark(usize);

/// The frame that runs now.
pub fn frame_mark() -> FrameMark {
    FrameMark(current_thread_iframe() as usize)
}

/// A frame above a marked one.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// The frame.
    pub id: usize,
    /// The instruction that it is at.
    pub at: u32,
    /// Where the call that it is at begins: at that instruction, but for a comprehension, which ends there.
    pub since: u32,
    /// Whether its code is the script's, or was generated for a graph.
    pub is_script: bool,
    /// Whether Dynamo compiles such functions as frames of their own: the script's, but for comprehensions and generators, steps of
    /// optimizers, bodies of PyTorch's modules that have hooks, and code that was generated for a graph.
    pub is_own: bool,
    /// Whether it is a comprehension or a generator of the script's: it is skipped where a graph breaks in it.
    pub is_generator: bool,
    /// Whether it is the body of one of PyTorch's modules: without hooks those are not compiled on their own.
    pub is_module: bool,
    /// Whether it is one of `torch.nn.functional`.
    pub is_function: bool,
    /// Whether it calls a module's hooks.
    pub calls_hooks: bool,
    /// Whether it is such a body that Dynamo has skipped.
    is_left_out: bool,
}

/// What the functions of a library's file are to Dynamo. The file says it itself, before anything else: `__dynamo__ = "modules"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryFile {
    /// Like any other.
    Other,
    /// `modules`: bodies of `torch.nn` modules, and what calls their hooks.
    Modules,
    /// `containers`: modules whose loops are loops to PyTorch, too.
    Containers,
    /// `functions`: those of `torch.nn.functional`, which count as one call.
    Functions,
    /// `optimizers`: the file of the step that is compiled on its own.
    Optimizers,
}

impl LibraryFile {
    /// The file that a frame's code comes from.
    pub fn of(frame: &InterpreterFrame) -> Self {
        // Paths are interned: they live as long as the thread.
        let path = std::ptr::from_ref(frame.code().source_path()) as usize;
        if let Some(known) = LIBRARY_FILES.with_borrow(|files| files.get(&path).copied()) {
            return known;
        }
        let said = with_current_vm(|vm| frame.globals().get_item_opt("__dynamo__", vm).ok().flatten());
        let said = said.as_ref().and_then(|o| o.downcast_ref::<PyStr>()).map(|s| s.to_string_lossy());
        let file = match said.as_deref() {
            Some("modules") => LibraryFile::Modules,
            Some("containers") => LibraryFile::Containers,
            Some("functions") => LibraryFile::Functions,
            Some("optimizers") => LibraryFile::Optimizers,
            _ => LibraryFile::Other,
        };
        LIBRARY_FILES.with_borrow_mut(|files| files.insert(path, file));
        file
    }
}

thread_local! {
    static LIBRARY_FILES: RefCell<HashMap<usize, LibraryFile>> = RefCell::default();
    static LEFT_OUT: RefCell<HashSet<usize>> = RefCell::default();
}

/// Dynamo has met this code outside of a graph and skipped it: it does not trace it again.
pub fn leave_out(code: &Py<PyCode>) {
    LEFT_OUT.with_borrow_mut(|left| left.insert(std::ptr::from_ref(code) as usize));
}

/// Whether Dynamo skips this code.
pub fn is_left_out(code: &Py<PyCode>) -> bool {
    LEFT_OUT.with_borrow(|left| left.contains(&(std::ptr::from_ref(code) as usize)))
}

/// Forgets which code was left out.
pub fn reset_left_out() {
    LEFT_OUT.take();
}

/// Where a frame stands: its instruction, and, below a comprehension's, the one at which that ends, with the one at which it begins.
/// A comprehension's code is part of the function's; to PyTorch's Dynamo, which reads the bytecode of CPython 3.11, it is a function that
/// is called.
fn places_in(frame: &InterpreterFrame, run: Option<&Run>) -> (u32, Option<(u32, u32)>) {
    let at = frame.lasti.load(Ordering::Relaxed).saturating_sub(1);
    let is_script = run.is_some_and(|run| run.has(frame.code().source_path()));
    (at, is_script.then(|| crate::dynamo::tracing::comprehension(frame.code(), at)).flatten())
}

/// Whether a frame runs code that is not the library's.
fn is_script(frame: &InterpreterFrame) -> bool {
    current().is_some_and(|run| run.has(frame.code().source_path()))
}

/// What the names of the script's frames mean, innermost first: their variables and their globals.
pub fn scopes(vm: &VirtualMachine) -> Vec<(Option<PyDictRef>, PyDictRef)> {
    let mut found = Vec::new();
    let mut frame: Option<PyObjectRef> = current_thread_frame_materialize(vm).map(Into::into);
    while let Some(object) = frame.take() {
        if let Some(frame) = object.downcast_ref::<FrameObject>().filter(|f| is_script(f.iframe())) {
            let locals = frame.locals(vm).ok().and_then(|locals| locals.obj().to_owned().downcast::<PyDict>().ok());
            found.push((locals, frame.iframe().globals().to_owned()));
        }
        frame = object.get_attr("f_back", vm).ok().filter(|back| !vm.is_none(back));
    }
    found
}

/// The innermost place in the script of a marked frame and of those that called it.
pub fn span_below(mark: FrameMark) -> Option<Span> {
    let run = current()?;
    let above = Frames(current_thread_iframe()).take_while(|frame| std::ptr::from_ref(*frame) as usize != mark.0).count();
    let below = Frames(current_thread_iframe()).skip(above);
    standpoints_of(&run, below).find(|at| at.file.kind != Kind::Package).map(|at| at.span())
}

/// The instructions that the frames above a marked one are at, outermost first.
pub fn instructions_above(mark: FrameMark) -> Rc<[u32]> {
    let run = current();
    let above = Frames(current_thread_iframe()).take_while(|frame| std::ptr::from_ref(*frame) as usize != mark.0);
    let mut found: Vec<u32> = Vec::new();
    for frame in above {
        let (at, around) = places_in(frame, run.as_deref());
        found.push(at);
        found.extend(around.map(|(_, end)| end));
    }
    found.reverse();
    found.into()
}

/// The code of the frames above a marked one and the instructions that they are at, innermost first.
pub fn codes_above(mark: FrameMark) -> Vec<(PyRef<PyCode>, u32)> {
    let run = current();
    let above = Frames(current_thread_iframe()).take_while(|frame| std::ptr::from_ref(*frame) as usize != mark.0);
    let mut found = Vec::new();
    for frame in above {
        let (at, around) = places_in(frame, run.as_deref());
        found.push((frame.code().to_owned(), at));
        found.extend(around.map(|(_, end)| (frame.code().to_owned(), end)));
    }
    found
}

/// The frames above a marked one, outermost first; none where it does not run any more.
pub fn frames_above(mark: FrameMark) -> Option<Vec<Standing>> {
    let run = current()?;
    let mut found = Vec::new();
    for frame in Frames(current_thread_iframe()) {
        let id = std::ptr::from_ref(frame) as usize;
        if id == mark.0 {
            found.reverse();
            return Some(found);
        }
        let code = frame.code();
        let (path, name) = (code.source_path(), code.obj_name.as_str());
        let is_script = run.has(path) || is_generated(path);
        let is_generator = is_script && (name != "<lambda>" && name.starts_with('<') || code.flags.contains(CodeFlags::GENERATOR));
        let library = if is_script { LibraryFile::Other } else { LibraryFile::of(frame) };
        let is_own = if is_script { !is_generator } else { name == "step" && library == LibraryFile::Optimizers };
        let is_of_modules = matches!(library, LibraryFile::Modules | LibraryFile::Containers);
        let is_module = is_of_modules && name == "forward";
        let calls_hooks = is_of_modules && name == "_call_with_hooks";
        if calls_hooks && let Some(body) = found.last_mut().filter(|inner: &&mut Standing| inner.is_module) {
            body.is_own = !body.is_left_out;
        }
        let is_left_out = is_module && is_left_out(code);
        let is_function = library == LibraryFile::Functions;
        let (at, around) = places_in(frame, Some(&run));
        let frame = Standing { id, is_module, is_function, at, since: at, is_script, is_own, is_generator, calls_hooks, is_left_out };
        if around.is_some() {
            found.push(Standing { is_own: false, is_generator: true, ..frame });
        }
        let (since, at) = around.unwrap_or((at, at));
        found.push(Standing { at, since, ..frame });
    }
    None
}

/// A call under way.
pub struct Called {
    /// Its frame, as long as it runs.
    pub id: usize,
    /// What is called, where that closes over something.
    pub function: Option<PyObjectRef>,
    /// Its code.
    pub code: PyRef<PyCode>,
    /// The instruction that it is at.
    pub at: u32,
}

/// The calls above a marked frame, outermost first; none where none of them closes over anything.
pub fn called_above(mark: FrameMark) -> Vec<Called> {
    let above = || Frames(current_thread_iframe()).take_while(|f| std::ptr::from_ref(*f) as usize != mark.0);
    if above().all(|f| f.code().freevars.is_empty()) {
        return Vec::new();
    }
    let called = |f: &'static InterpreterFrame| {
        let function = f.func_obj().filter(|_| !f.code().freevars.is_empty());
        let at = f.lasti.load(Ordering::Relaxed).saturating_sub(1);
        Called { id: std::ptr::from_ref(f) as usize, function: function.map(ToOwned::to_owned), code: f.code().to_owned(), at }
    };
    let mut found: Vec<_> = above().map(called).collect();
    found.reverse();
    found
}

/// The code of a frame so many calls above the running one, and the instruction it is at.
pub fn caller(depth: usize) -> Option<(PyRef<PyCode>, u32)> {
    let frame = Frames(current_thread_iframe()).nth(depth)?;
    Some((frame.code().to_owned(), frame.lasti.load(Ordering::Relaxed).saturating_sub(1)))
}

/// The code of the script's innermost frame, and the instruction it is at.
pub fn script_caller() -> Option<(PyRef<PyCode>, u32)> {
    let run = current()?;
    let frame = Frames(current_thread_iframe()).find(|frame| run.has(frame.code().source_path()))?;
    Some((frame.code().to_owned(), frame.lasti.load(Ordering::Relaxed).saturating_sub(1)))
}

/// [`here`] as the compiler keeps it: every recorded call asks, so that a place is made out once.
pub fn source() -> Option<crate::span::Source> {
    source_in(|_| true)
}

/// The innermost place of the script in a module's `forward`, or anywhere, where none runs.
pub fn source_in_forward() -> Option<crate::span::Source> {
    source_in(|function| function == "forward").or_else(source)
}

fn source_in(is_wanted: fn(&str) -> bool) -> Option<crate::span::Source> {
    let run = current()?;
    let mut places = standpoints(&run).skip_while(|at| !is_wanted(at.function));
    let at = places.next()?;
    if at.file.kind == Kind::Package {
        // PyTorch shows the package's line; what is meant is the visitor's that called it.
        let shown = kept(&at.file, at.span(), at.function);
        let Some(outer) = places.find(|at| at.file.kind != Kind::Package) else { return Some(shown) };
        return Some(crate::span::Source { library_line: Some(shown.span.line), span: outer.span(), ..shown });
    }
    let key = (at.range, std::ptr::from_ref(at.file.path) as usize, at.function.as_ptr() as usize);
    if let Some(known) = run.sources.borrow().get(&key) {
        return Some(known.clone());
    }
    let made = kept(&at.file, at.span(), at.function);
    run.sources.borrow_mut().insert(key, made.clone());
    Some(made)
}

/// A place of code that does not run; `None` for the library's.
pub fn place_in(code: &Py<PyCode>, (start, end): (SourceLocation, SourceLocation)) -> Option<crate::span::Source> {
    let file = current()?.file(code.source_path())?;
    Some(kept(&file, span_of(&file, &start, &end), code.obj_name.as_str()))
}

fn span_of(file: &SourceFile, start: &SourceLocation, end: &SourceLocation) -> Span {
    Span {
        line: start.line.get() as u32,
        column: file.column(start.line.get(), start.character_offset.to_zero_indexed()),
        end_line: end.line.get() as u32,
        end_column: file.column(end.line.get(), end.character_offset.to_zero_indexed()),
        file: file.of_span(),
    }
}

fn kept(file: &SourceFile, span: Span, function: &str) -> crate::span::Source {
    crate::span::Source {
        file: file.name.clone(),
        function: function.into(),
        code: file.line(span.line as usize).into(),
        indent: file.indent(span.line as usize),
        library_line: None,
        span,
    }
}
