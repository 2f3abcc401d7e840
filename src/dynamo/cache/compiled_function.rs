//! A compiled function between its calls, and what is counted over all of them: graphs, compilations, graph breaks.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use rustpython_vm::builtins::PyCode;
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, VirtualMachine};

use super::ACCUMULATED_RECOMPILE_LIMIT;
use crate::aot;
use crate::dynamo::backends::Backend;
use crate::dynamo::bytecode_analysis::decoded::Chain;
use crate::dynamo::guards::last_call::Last;
use crate::dynamo::guards::manager::Values;
use crate::dynamo::settings::{is_on, setting};
use crate::dynamo::source::Locals;
use crate::dynamo::{Cache, SeenSizes, Unsupported, what_if};
use crate::error::Error;
use crate::python::current::emit;
use crate::python::native::tensor::raised;
use crate::report::Event;
use crate::span::Source;
use crate::tensor::Tensor;

/// Codes with their functions.
type Functions = Vec<(PyObjectRef, Rc<CompiledFunction>)>;

thread_local! {
    /// Every function that was compiled, or called by one and compiled on its own.
    static FUNCTIONS: RefCell<Rc<Functions>> = RefCell::default();
    /// Codes of functions that others close over, in the order of the variables.
    static CLOSURES: RefCell<Vec<Vec<Option<PyObjectRef>>>> = const { RefCell::new(Vec::new()) };
    /// The numbers of symbols that inputs' own numbers were, and that are specialized.
    static MEMOS: RefCell<HashSet<u32>> = RefCell::default();
    static NEXT_GRAPH: Cell<u32> = const { Cell::new(0) };
    static NEXT_COMPILATION: Cell<u32> = const { Cell::new(0) };
    static NEXT_FRAME: Cell<u32> = const { Cell::new(0) };
    static ENDS_IN_BREAK: Cell<bool> = const { Cell::new(false) };
    static BREAKS: RefCell<Vec<(String, Option<Source>)>> = const { RefCell::new(Vec::new()) };
    static STANCE: RefCell<String> = const { RefCell::new(String::new()) };
    static BREAKS_ARE_ERRORS: Cell<Option<bool>> = const { Cell::new(None) };
    /// How long backends took, in seconds.
    static COMPILE_TIMES: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

/// The number of the next captured graph.
pub fn next_graph() -> u32 {
    NEXT_GRAPH.replace(NEXT_GRAPH.get() + 1)
}

/// The number of the compilation that is reported next.
pub fn next_compilation() -> u32 {
    NEXT_COMPILATION.replace(NEXT_COMPILATION.get() + 1)
}

/// Why capture stopped since the run began, each time, and where.
pub fn breaks() -> Vec<(String, Option<Source>)> {
    BREAKS.with_borrow(Clone::clone)
}

/// Runs what compiles a graph that ends because capture stopped.
pub fn ending_in_break<R>(end: impl FnOnce() -> R) -> R {
    let before = ENDS_IN_BREAK.replace(true);
    let result = end();
    ENDS_IN_BREAK.set(before);
    result
}

/// Whether the graph that is compiled ended where capture stopped.
pub fn ends_in_break() -> bool {
    ENDS_IN_BREAK.get()
}

/// Notes why capture stopped, and where.
pub fn note_break(reason: String, place: Option<Source>) {
    BREAKS.with_borrow_mut(|b| b.push((reason, place)));
}

/// A backend took so many seconds for a graph.
pub fn note_compile_time(seconds: f64) {
    COMPILE_TIMES.with_borrow_mut(|times| times.push(seconds));
}

/// How long backends took since the run began, in seconds.
pub fn compile_times() -> Vec<f64> {
    COMPILE_TIMES.with_borrow(Clone::clone)
}

/// Reports which guard of each cache entry of a frame failed, if there are entries.
pub fn note_recompiled(frame: u32, reasons: &[String]) {
    if !reasons.is_empty() {
        emit(Event::Recompiled { reasons: reasons.iter().map(|r| format!("{frame}/{r}")).collect() });
    }
}

/// Whether the script says that a break is an error, or is none.
pub fn breaks_are_errors() -> Option<bool> {
    BREAKS_ARE_ERRORS.get()
}

/// Says whether a break is an error; gives what was said before.
pub fn set_breaks_are_errors(value: Option<bool>) -> Option<bool> {
    BREAKS_ARE_ERRORS.replace(value)
}

/// How compiled functions are called.
pub fn stance() -> String {
    STANCE.with_borrow(Clone::clone)
}

/// Says how compiled functions are called (`force_eager`, `fail_on_recompile`); gives what was said before.
pub fn set_stance(stance: String) -> String {
    let before = STANCE.replace(if stance == "default" { String::new() } else { stance });
    if before.is_empty() { "default".to_owned() } else { before }
}

/// Restarts the counts of graphs and compilations.
pub fn reset() {
    crate::dynamo::guards::global_state::reset_state();
    crate::python::span::reset_left_out();
    NEXT_GRAPH.set(0);
    NEXT_COMPILATION.set(0);
    NEXT_FRAME.set(0);
    BREAKS.take();
    COMPILE_TIMES.take();
    crate::dynamo::guards::explain::keep(false);
    STANCE.take();
    BREAKS_ARE_ERRORS.set(None);
    FUNCTIONS.take();
    CLOSURES.take();
    aot::trace::reset_checkpoint_regions();
    crate::dynamo::discarded::reset();
}

/// Why a graph breaks where a tensor decides which way Python goes.
pub fn branch_reason(t: &Tensor) -> Unsupported {
    let computed = crate::dynamo::eval_frame::recorder::recorder().and_then(|r| r.computed_as(t));
    Unsupported::branch(computed.as_ref().map(|(place, call)| (place, call.clone())))
}

/// Why a graph breaks at the call of a builtin.
pub fn builtin_reason(name: &str, args: &FuncArgs) -> Unsupported {
    let types: Vec<String> = args.args.iter().map(|o| o.class().name().to_string()).collect();
    let kind = |t: &String| match t.as_str() {
        "Tensor" | "Parameter" => "tensor.TensorVariable",
        "Size" => "lists.SizeVariable",
        "list" => "lists.ListVariable",
        "tuple" => "lists.TupleVariable",
        "dict" => "dicts.ConstDictVariable",
        "SymInt" => "tensor.SymNodeVariable",
        "str" | "int" | "float" | "bool" | "NoneType" => "constant.ConstantVariable",
        _ => "user_defined.UserDefinedObjectVariable",
    };
    let kinds: Vec<String> = types.iter().map(|t| kind(t).to_owned()).collect();
    let types: Vec<String> = types.iter().map(|t| if t == "SymInt" { "int".to_owned() } else { t.clone() }).collect();
    Unsupported::builtin(name, &types, &kinds)
}

/// What Dynamo calls a value: `ConstantVariable(int: 2)`, `TupleVariable(length=1)`.
pub fn variable(o: &PyObjectRef, vm: &VirtualMachine) -> String {
    let name = o.class().name().to_string();
    let length = || o.length(vm).map_or_else(|_| String::new(), |n| format!("length={n}"));
    match name.as_str() {
        "Tensor" | "Parameter" => "TensorVariable()".to_owned(),
        "Size" => format!("SizeVariable({})", length()),
        "tuple" => format!("TupleVariable({})", length()),
        "list" => format!("ListVariable({})", length()),
        "SymInt" => "SymNodeVariable()".to_owned(),
        "Generator" => "LazyVariableTracker(realized: UserDefinedObjectVariable(Generator))".to_owned(),
        _ => format!("ConstantVariable({name}: {})", o.repr(vm).map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned())),
    }
}

/// A compiled function between its calls.
pub struct CompiledFunction {
    /// Entries.
    pub cache: RefCell<Cache>,
    /// How it was asked for.
    pub asked: Asked,
    /// Sizes that inputs had when something was compiled. This, frames and places are the code's own, however often and in whatever
    /// way it is asked to be compiled.
    pub seen: Rc<RefCell<SeenSizes>>,
    /// Frame ids of its code and of its resume functions, in the order in which they were first compiled.
    pub frames: Rc<RefCell<HashMap<usize, u32>>>,
    /// Its code and its resume functions, in the order in which they were reached.
    places: Rc<RefCell<Vec<Chain>>>,
    /// Places whose frames are skipped.
    pub skipped: Rc<RefCell<HashSet<usize>>>,
    /// The guards of its cache entries on Python values.
    pub values: Values,
    /// Places whose graphs broke.
    pub passed: RefCell<HashSet<usize>>,
    /// Places that were compiled as often as they may be.
    pub ended: RefCell<HashSet<usize>>,
    /// The last call of each place.
    pub last: RefCell<HashMap<usize, Last>>,
    /// Constant results of calls, by the place, the entry of its cache and the call.
    pub constants: RefCell<HashMap<(usize, usize, String), PyObjectRef>>,
}

/// What `torch.compile` was asked for, as far as functions of one code have a cache in common only where it is the same.
#[derive(Clone)]
pub struct Asked {
    /// What compiles.
    pub backend: Backend,
    /// `torch.compile(dynamic=...)`
    pub dynamic: Option<bool>,
    /// What its mode and options set.
    pub settings: PyObjectRef,
    /// `options={"guard_filter_fn": ...}`
    pub guard_filter: Option<PyObjectRef>,
}

impl Asked {
    fn is(&self, other: &Asked, vm: &VirtualMachine) -> bool {
        let backend = match (&self.backend, &other.backend) {
            (Backend::Named(a), Backend::Named(b)) => a == b,
            (Backend::Custom(a), Backend::Custom(b)) => a.is(b),
            _ => false,
        };
        let filter = match (&self.guard_filter, &other.guard_filter) {
            (Some(a), Some(b)) => a.is(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        backend && filter && self.dynamic == other.dynamic && vm.bool_eq(&self.settings, &other.settings).unwrap_or(false)
    }
}

/// The function of a code, compiled as it is asked for: there is one, whoever compiles or calls it.
pub fn function_of(code: &PyObject, asked: &Asked, vm: &VirtualMachine) -> Rc<CompiledFunction> {
    let known = FUNCTIONS.with_borrow(Clone::clone);
    if let Some((_, function)) = known.iter().find(|(c, f)| c.is(code) && f.asked.is(asked, vm)) {
        return function.clone();
    }
    let of_code = known.iter().find(|(c, _)| c.is(code)).map(|(_, f)| &**f);
    let made = Rc::new(CompiledFunction::new(asked.clone(), of_code));
    FUNCTIONS.with_borrow_mut(|known| Rc::make_mut(known).push((code.to_owned(), made.clone())));
    made
}

/// The number of the functions that a code closes over, by their codes: PyTorch remembers the sizes of a wrapper's calls for each function
/// that it wraps. Zero where there are none.
pub fn closure_of(code: &PyObject, locals: &Locals, vm: &VirtualMachine) -> usize {
    let Some(code) = code.downcast_ref::<PyCode>() else { return 0 };
    let value = |name: &str| locals.iter().find(|(n, _)| **n == *name).map(|(_, value)| value);
    let code_of = |value: &PyObjectRef| value.get_attr("__code__", vm).ok().filter(|code| code.downcast_ref::<PyCode>().is_some());
    let codes: Vec<Option<PyObjectRef>> = code.freevars.iter().map(|name| value(name.as_str()).and_then(code_of)).collect();
    if codes.iter().all(Option::is_none) {
        return 0;
    }
    let same = |a: &Option<PyObjectRef>, b: &Option<PyObjectRef>| match (a, b) {
        (Some(a), Some(b)) => a.is(b),
        (a, b) => a.is_none() && b.is_none(),
    };
    CLOSURES.with_borrow_mut(|known| {
        let is_known = |all: &Vec<Option<PyObjectRef>>| all.len() == codes.len() && all.iter().zip(&codes).all(|(a, b)| same(a, b));
        known.iter().position(is_known).map_or_else(
            || {
                known.push(codes.clone());
                known.len()
            },
            |at| at + 1,
        )
    })
}

/// All functions.
pub fn functions() -> Vec<Rc<CompiledFunction>> {
    FUNCTIONS.with_borrow(|known| known.iter().map(|(_, function)| function.clone()).collect())
}

/// The functions of a code.
pub fn functions_of(code: &PyObject) -> Vec<Rc<CompiledFunction>> {
    FUNCTIONS.with_borrow(|known| known.iter().filter(|(c, _)| c.is(code)).map(|(_, f)| f.clone()).collect())
}

/// Notes that symbols of inputs' own numbers are specialized; whether one was not before. Dynamo knows them by their names.
pub fn specialize_memos(numbers: &[u32]) -> bool {
    MEMOS.with_borrow_mut(|known| numbers.iter().filter(|number| known.insert(**number)).count() > 0)
}

/// Forgets which floats were specialized: Dynamo does when it restarts its analysis because of a graph break.
pub fn forget_numbers() {
    MEMOS.take();
    FUNCTIONS.with_borrow(Clone::clone).iter().for_each(|(_, function)| function.values.forget_numbers());
}

/// Forgets what was compiled.
pub fn forget() {
    NEXT_FRAME.set(0);
    CLOSURES.take();
    MEMOS.take();
    crate::python::span::reset_left_out();
    FUNCTIONS.with_borrow(Clone::clone).iter().for_each(|(_, function)| function.reset());
}

impl CompiledFunction {
    /// The frame that begins at a place is skipped from now on.
    pub fn skip_frame(&self, place: usize) {
        self.skipped.borrow_mut().insert(place);
    }

    /// Whether the frame that begins at a place is skipped.
    pub fn is_skipped(&self, place: usize) -> bool {
        self.skipped.borrow().contains(&place)
    }

    /// With nothing compiled yet; `of_code` is the code compiled as it was asked for before.
    pub fn new(asked: Asked, of_code: Option<&CompiledFunction>) -> Self {
        CompiledFunction {
            cache: RefCell::default(),
            constants: RefCell::default(),
            asked,
            seen: of_code.map_or_else(Rc::default, |f| f.seen.clone()),
            frames: of_code.map_or_else(Rc::default, |f| f.frames.clone()),
            places: of_code.map_or_else(|| Rc::new(RefCell::new(vec![Chain::new()])), |f| f.places.clone()),
            skipped: of_code.map_or_else(Rc::default, |f| f.skipped.clone()),
            values: of_code.map_or_else(Values::default, |f| Values::of_code(&f.values)),
            passed: RefCell::default(),
            ended: RefCell::default(),
            last: RefCell::default(),
        }
    }

    fn reset(&self) {
        self.cache.borrow_mut().clear();
        self.constants.borrow_mut().clear();
        self.seen.take();
        self.frames.borrow_mut().clear();
        self.places.borrow_mut().truncate(1);
        self.skipped.borrow_mut().clear();
        self.values.clear();
        self.passed.borrow_mut().clear();
        self.ended.borrow_mut().clear();
        self.last.borrow_mut().clear();
    }

    /// The place that a function goes on from.
    pub fn place(&self, chain: Chain) -> usize {
        let mut places = self.places.borrow_mut();
        places.iter().position(|p| *p == chain).unwrap_or_else(|| {
            places.push(chain);
            places.len() - 1
        })
    }

    /// Whether sizes and numbers are symbols: always, never, or once they have varied. What `torch.compile` was not told,
    /// `torch._dynamo.config` says.
    pub fn dynamic(&self) -> Option<bool> {
        self.asked.dynamic.or_else(|| match (is_on("assume_static_by_default"), is_on("automatic_dynamic_shapes")) {
            (false, _) => Some(true),
            (true, false) => Some(false),
            (true, true) => None,
        })
    }

    /// The frame id of a place.
    pub fn frame(&self, place: usize) -> u32 {
        *self.frames.borrow_mut().entry(place).or_insert_with(|| {
            let number = NEXT_FRAME.get();
            NEXT_FRAME.set(number + 1);
            number
        })
    }
}

/// Which limit of `torch._dynamo.config` a place with so many cache entries has reached, and what it is: the code runs as it is from
/// then on. The accumulated limit holds where a script raises the other one, so that no call asks more entries than that.
pub fn reached_limit(entries: usize) -> Option<(&'static str, usize)> {
    limits().into_iter().find(|(_, limit)| entries >= *limit)
}

/// How many cache entries a place may have.
pub fn recompile_limit() -> usize {
    limits().into_iter().map(|(_, limit)| limit).min().unwrap_or(usize::MAX)
}

fn limits() -> [(&'static str, usize); 2] {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let limit = |name, default| {
            (name, setting("torch._dynamo.config", name, vm).and_then(|o| o.try_to_value::<usize>(vm).ok()).unwrap_or(default))
        };
        let accumulated = limit("accumulated_recompile_limit", ACCUMULATED_RECOMPILE_LIMIT);
        let specific = limit("recompile_limit", what_if::RECOMPILE_LIMIT);
        [accumulated, specific]
    })
}

/// Adds to `torch._dynamo.utils.counters`.
pub fn count(group: &str, key: &str, amount: usize) {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let module = crate::python::native::calls::imported("torch._dynamo.utils", vm);
        drop(module.and_then(|module| vm.call_method(&module, "_count", (group.to_owned(), key.to_owned(), amount))));
    });
}

/// Counts a frame that Dynamo has looked into: `is_ok` where nothing kept it from being traced.
pub fn count_frame(is_ok: bool) {
    count("frames", "total", 1);
    if is_ok {
        count("frames", "ok", 1);
    }
}

/// An exception of `torch._dynamo.exc`.
pub fn dynamo_error(class: &'static str, message: &str) -> Error {
    exception("torch._dynamo.exc", class, message)
}

pub fn exception(module: &'static str, class: &'static str, message: &str) -> Error {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let class = crate::python::native::calls::imported(module, vm).and_then(|module| module.get_attr(class, vm));
        let made = class.and_then(|class| class.call((message.to_owned(),), vm));
        match made.map(PyObjectRef::downcast) {
            Ok(Ok(exception)) => raised(exception),
            Ok(Err(_)) => Error::runtime(message),
            Err(exception) => raised(exception),
        }
    })
}
