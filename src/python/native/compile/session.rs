//! One call of a compiled function: record, find or compile, run, hand out values.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use rustpython_vm::builtins::{PyDict, PyList, PyTuple};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::frames::{Chain, standing};
use super::graph_module::{PyGraphModule, script_module};
use super::reads::Resumed;
use super::values::{self, Values, Verdict};
use crate::aot::compile::{Config, GraphCallable, GraphCompiler, InputSpec};
use crate::aot::interpret::replay_graph;
use crate::aot::trace::Pushed;
use crate::aot::{self, run_graph};
use crate::capture::{
    Cache, CaptureLayer, DimMark, Entry, InputSource, Lookup, Recorder, Region, Runner, SeenSizes, Unsupported, from_user_code, what_if,
};
use crate::dispatch::{Exclude, Key, Value};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{FakeValue, Graph};
use crate::partition::{PartitionConfig, Partitioner};
use crate::python::current::emit;
use crate::python::native::tensor::{TensorBase, raise, raised, replace_payload, symbolic, symbolic_hint, to_value, wrap};
use crate::python::span::frame_mark;
use crate::report::{self, Event, GraphBreak, GraphRun};
use crate::shape::SymInt;
use crate::span::Source;
use crate::tensor::Tensor;

thread_local! {
    static RECORDER: RefCell<Option<Rc<Recorder>>> = const { RefCell::new(None) };
    static NEXT_REGION: Cell<u32> = const { Cell::new(0) };
    static NEXT_COMPILATION: Cell<u32> = const { Cell::new(0) };
    static NEXT_FRAME: Cell<u32> = const { Cell::new(0) };
    /// Where the function that is recorded goes on after its last graph ended.
    static PENDING: RefCell<Option<(Chain, Option<Resumed>)>> = const { RefCell::new(None) };
    static BREAKS: RefCell<Vec<(String, Option<Source>)>> = const { RefCell::new(Vec::new()) };
    static STANCE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Why capture stopped since the run began, each time, and where.
pub fn breaks() -> Vec<(String, Option<Source>)> {
    BREAKS.with_borrow(Clone::clone)
}

/// Says how compiled functions are called (`force_eager`, `fail_on_recompile`); gives what was said before.
pub fn set_stance(stance: String) -> String {
    let before = STANCE.replace(if stance == "default" { String::new() } else { stance });
    if before.is_empty() { "default".to_owned() } else { before }
}

/// Starts counting regions and compilations anew.
pub fn reset() {
    RECORDER.set(None);
    NEXT_REGION.set(0);
    NEXT_COMPILATION.set(0);
    NEXT_FRAME.set(0);
    BREAKS.take();
    STANCE.take();
    aot::trace::reset_checkpoint_regions();
}

/// Whether a compiled function is being recorded.
pub fn capturing() -> bool {
    RECORDER.with_borrow(Option::is_some)
}

/// Ends the region being recorded, if there is one and it is not suspended: values are needed.
pub fn break_graph(reason: &Unsupported) -> Result<()> {
    match RECORDER.with_borrow(Clone::clone) {
        Some(recorder) => recorder.break_graph(reason),
        None => Ok(()),
    }
}

/// Why a graph ends where a tensor decides which way Python goes.
pub fn branch_reason(t: &Tensor) -> Unsupported {
    let computed = recorder().and_then(|r| r.computed_as(t));
    Unsupported::branch(computed.as_ref().map(|(place, call)| (place, call.clone())))
}

/// Python goes one of two ways: what follows is code of its own.
pub fn branched(truth: bool) {
    PENDING.with_borrow_mut(|p| {
        if let Some((chain, resumed)) = p {
            chain.push((usize::from(truth), u32::MAX));
            if let Some(resumed) = resumed {
                resumed.truth = Some(truth);
            }
        }
    });
}

/// Why a graph ends at the call of a builtin.
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

/// The recorder of the compiled function being recorded, where capture is not suspended.
pub fn recorder() -> Option<Rc<Recorder>> {
    RECORDER.with_borrow(Clone::clone).filter(|_| !crate::dispatch::is_excluded(Key::Capture))
}

/// Tells the recorder that a tensor of the caller's was read.
pub fn touch(t: &Tensor, is_static: bool) -> Result<()> {
    match recorder() {
        Some(recorder) => recorder.touch(t, is_static),
        None => Ok(()),
    }
}

/// What stands for a tensor of the caller's while it is recorded: its sizes may be symbolic.
pub fn twin(t: &Tensor) -> Option<Tensor> {
    RECORDER.with_borrow(|r| r.as_ref().and_then(|r| r.twin(t)))
}

/// Tells the recorder of a change of the grad mode.
pub fn record_grad_mode(enabled: bool) {
    RECORDER.with_borrow(|r| {
        if let Some(r) = r {
            r.record_grad_mode(enabled);
        }
    });
}

/// Tells the recorder that a block of autocast begins (with a dtype, on or off) or ends.
pub fn record_autocast(begins: Option<(crate::tensor::Dtype, bool)>) {
    RECORDER.with_borrow(|r| {
        if let Some(r) = r {
            match begins {
                Some((dtype, enabled)) => r.record_autocast(dtype, enabled),
                None => r.record_autocast_end(crate::dispatch::modes().autocast),
            }
        }
    });
}

/// What compiles a region.
#[derive(Clone)]
pub enum Backend {
    /// One of PyTorch's by name.
    Named(String),
    /// The script's own: `backend(gm, example_inputs)`.
    Custom(PyObjectRef),
}

/// A compiled function between its calls.
pub struct CompiledFunction {
    /// Entries.
    pub cache: RefCell<Cache>,
    /// What compiles.
    pub backend: Backend,
    /// Whether a break is an error.
    pub fullgraph: bool,
    /// `torch.compile(dynamic=...)`
    pub dynamic: Option<bool>,
    /// Sizes that inputs had when something was compiled.
    pub seen: RefCell<SeenSizes>,
    /// Numbers of its code and of what follows its breaks, in the order in which they were first compiled.
    pub frames: RefCell<HashMap<usize, u32>>,
    /// Its code, and what follows its breaks, in the order in which they were reached.
    places: RefCell<Vec<Chain>>,
    /// Places from where the front end cannot go on.
    given_up: RefCell<HashSet<usize>>,
    /// What its entries depend on besides tensors.
    values: Values,
    /// Places that were compiled as often as they may be.
    ended: RefCell<HashSet<usize>>,
}

impl CompiledFunction {
    /// With nothing compiled yet.
    pub fn new(backend: Backend, fullgraph: bool, dynamic: Option<bool>) -> Self {
        CompiledFunction {
            cache: RefCell::default(),
            backend,
            fullgraph,
            dynamic,
            seen: RefCell::default(),
            frames: RefCell::default(),
            places: RefCell::new(vec![Chain::new()]),
            given_up: RefCell::default(),
            values: Values::default(),
            ended: RefCell::default(),
        }
    }

    /// Forgets what was compiled.
    pub fn reset(&self) {
        self.cache.borrow_mut().clear();
        self.seen.take();
        self.frames.borrow_mut().clear();
        self.places.borrow_mut().truncate(1);
        self.given_up.borrow_mut().clear();
        self.values.clear();
        self.ended.borrow_mut().clear();
    }

    /// The place that a function goes on from.
    fn place(&self, chain: Chain) -> usize {
        let mut places = self.places.borrow_mut();
        places.iter().position(|p| *p == chain).unwrap_or_else(|| {
            places.push(chain);
            places.len() - 1
        })
    }

    fn frame(&self, place: usize) -> u32 {
        *self.frames.borrow_mut().entry(place).or_insert_with(|| {
            let number = NEXT_FRAME.get();
            NEXT_FRAME.set(number + 1);
            number
        })
    }
}

/// Entries a piece of code may have; after that it runs as it is.
fn recompile_limit() -> usize {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let limit = |name| values::config(name, vm).and_then(|o| o.try_to_value::<usize>(vm).ok()).unwrap_or(what_if::RECOMPILE_LIMIT);
        // Two names of one switch: the one that was changed counts.
        let (new, old) = (limit("recompile_limit"), limit("cache_size_limit"));
        if new == what_if::RECOMPILE_LIMIT { old } else { new }
    })
}

fn switch(name: &'static str) -> bool {
    rustpython_vm::vm::thread::with_current_vm(|vm| values::setting(name, vm))
}

/// Adds to `torch._dynamo.utils.counters`.
fn count(group: &str, key: &str, amount: usize) {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let counted = vm.import("torch._dynamo.utils", 0).and_then(|_| {
            let module = vm.sys_module.get_attr("modules", vm)?.get_item("torch._dynamo.utils", vm)?;
            vm.call_method(&module, "_count", (group.to_owned(), key.to_owned(), amount))
        });
        drop(counted);
    });
}

/// An exception of `torch._dynamo.exc`.
fn dynamo_error(class: &'static str, message: &str) -> Error {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let made = vm.import("torch._dynamo.exc", 0).and_then(|_| {
            let module = vm.sys_module.get_attr("modules", vm)?.get_item("torch._dynamo.exc", vm)?;
            module.get_attr(class, vm)?.call((message.to_owned(),), vm)
        });
        match made.map(PyObjectRef::downcast) {
            Ok(Ok(exception)) => raised(exception),
            Ok(Err(_)) => Error::runtime(message),
            Err(exception) => raised(exception),
        }
    })
}

/// What PyTorch logs where a function is not compiled again.
fn warn_of_limit(name: &str, file: &str, line: u32, frame: &u32, reasons: &[String]) {
    let limit = recompile_limit();
    let last = reasons.first().map(|r| format!("{frame}/{r}")).unwrap_or_default();
    emit(Event::Stderr {
        text: format!(
            "torch._dynamo hit config.recompile_limit ({limit})\n   function: '{name}' ({file}:{line})\n   last reason: {last}\nTo log all recompilation reasons, use TORCH_LOGS=\"recompiles\".\nTo diagnose recompilation issues, see https://docs.pytorch.org/docs/main/user_guide/torch_compiler/compile/programming_model.recompilation.html\n"
        ),
    });
}

/// Runs a compiled graph below autograd.
struct Interpreted {
    graph: Graph,
    compilation: u32,
    part: &'static str,
}

impl GraphCallable for Interpreted {
    fn call(&self, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
        let _below = Exclude::down_to(Key::Autograd);
        emit(Event::Ran { run: GraphRun { compilation: self.compilation, part: self.part.to_owned() } });
        super::bundle::run(self.compilation, self.part, &self.graph, inputs, |inputs| run_graph(&self.graph, inputs))
    }
}

/// A compiler that runs graphs as they are.
pub fn interpreter(compilation: Rc<Cell<u32>>, part: &'static str) -> GraphCompiler {
    Rc::new(move |graph, _| Ok(Rc::new(Interpreted { graph, compilation: compilation.get(), part }) as Rc<dyn GraphCallable>))
}

/// A configuration that reports what it makes; the number of the compilation is known once it is made.
pub fn config(partitioner: Partitioner, keep_input_mutations: bool, region: Option<u32>) -> Config {
    let number = Rc::new(Cell::new(0));
    let seen = number.clone();
    Config {
        keep_input_mutations,
        partition: PartitionConfig { random_is_impure: region.is_none(), ..super::settings::partition(partitioner) },
        partition_fn: None,
        replay_random: true,
        fw_compiler: interpreter(number.clone(), "forward"),
        bw_compiler: interpreter(number.clone(), "backward"),
        inference_compiler: interpreter(number, "inference"),
        observer: Some(Rc::new(move |artifacts| {
            let id = NEXT_COMPILATION.get();
            NEXT_COMPILATION.set(id + 1);
            seen.set(id);
            let compilation = crate::describe::compilation(id, region, artifacts);
            super::bundle::begin(id, artifacts);
            if let Some(split) = &artifacts.partitioned {
                super::settings::log_decision(&split.report.debug_report);
            }
            super::studies::keep(id, artifacts.study.clone());
            emit(Event::Compiled { compilation });
        })),
    }
}

/// The partitioner a named backend uses; `None` for `eager`.
fn partitioner(name: &str) -> Result<Option<Partitioner>> {
    match name {
        "eager" => Ok(None),
        "aot_eager" | "inductor" | "aot_eager_decomp_partition" => Ok(Some(Partitioner::MinCut)),
        "aot_eager_default_partitioner" => Ok(Some(Partitioner::Default)),
        other => Err(Error::runtime(format!(
            "Invalid backend: '{other}'. In this playground the backends are eager, aot_eager, aot_eager_default_partitioner and inductor, or a function."
        ))),
    }
}

/// The inputs of a region's graph as AOTAutograd takes them.
fn specs(region: &Region) -> Result<Vec<InputSpec>> {
    let mut tensors = region.inputs.iter().map(|i| i.spec.clone());
    region
        .graph
        .placeholders()
        .map(|n| match &n.meta.value {
            Some(FakeValue::Int(size)) => Ok(InputSpec::of_symbol(size)),
            _ => tensors.next().ok_or_else(|| Error::runtime("a captured region lacks an input")),
        })
        .collect()
}

/// Symbolic sizes among tensors, as AOTAutograd's functions take them.
pub fn as_tensors(values: Vec<Value>) -> Result<Vec<Tensor>> {
    values
        .into_iter()
        .map(|v| match v {
            Value::Int(size) => crate::aot::compile::size_as_tensor(size.guard_int()?),
            other => other.into_tensor(),
        })
        .collect()
}

fn compile_region(function: &CompiledFunction, region: &Region, number: u32) -> Result<Runner> {
    let graph = region.graph.clone();
    match &function.backend {
        Backend::Named(name) => match partitioner(name)? {
            None => Ok(Rc::new(move |inputs| replay_graph(&graph, &mut { inputs }))),
            Some(partitioner) => {
                let specs = specs(region)?;
                let given = specs.clone();
                let f: aot::Function =
                    Rc::new(move |inputs| replay_graph(&graph, &mut given.iter().zip(inputs).map(|(spec, t)| spec.argument(t)).collect()));
                let compiled = aot::compile(&f, &specs, &config(partitioner, true, Some(number)))?;
                Ok(Rc::new(move |inputs| compiled.call(as_tensors(inputs)?)))
            }
        },
        Backend::Custom(backend) => rustpython_vm::vm::thread::with_current_vm(|vm| {
            // The script sees the tensors of the call; what it hands on to AOTAutograd is traced with their stand-ins.
            let mut twins = region.inputs.iter().map(|i| Value::Tensor(i.real.clone()));
            let examples: Vec<Value> = graph
                .placeholders()
                .filter_map(|n| match &n.meta.value {
                    Some(FakeValue::Int(size)) => Some(Value::Int(size.clone())),
                    _ => twins.next(),
                })
                .collect();
            let parameters = region.inputs.iter().filter(|i| i.source.is_parameter).map(|i| i.node).collect();
            let module = script_module(PyGraphModule::captured(graph, parameters), vm).map_err(raised)?;
            let examples = examples
                .into_iter()
                .map(|v| crate::python::native::tensor::from_value(v, vm))
                .collect::<PyResult<Vec<_>>>()
                .map_err(raised)?;
            let twins = region.inputs.iter().map(|i| (i.real.clone(), i.twin.clone())).collect();
            super::functions::set_region(Some((number, twins)));
            let made = backend.call((module, vm.ctx.new_list(examples)), vm);
            super::functions::set_region(None);
            let callable = made.map_err(raised)?;
            Ok(Rc::new(move |inputs: Vec<Value>| call_python(&callable, inputs)) as Runner)
        }),
    }
}

/// What a script sees of an error that a backend raised: `torch._dynamo.exc.BackendCompilerFailed`.
fn backend_failed(backend: &Backend, error: Error) -> Error {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let inner: PyObjectRef = raise(error, vm).into();
        let name: PyObjectRef = match backend {
            Backend::Named(name) => vm.ctx.new_str(name.as_str()).into(),
            Backend::Custom(callable) => callable.clone(),
        };
        let made = vm.import("torch._dynamo.exc", 0).and_then(|_| {
            let module = vm.sys_module.get_attr("modules", vm)?.get_item("torch._dynamo.exc", vm)?;
            module.get_attr("BackendCompilerFailed", vm)?.call((name, inner), vm)
        });
        match made.map(PyObjectRef::downcast) {
            Ok(Ok(exception)) => raised(exception),
            Ok(Err(_)) => Error::runtime("a backend failed"),
            Err(exception) => raised(exception),
        }
    })
}

/// Calls a Python callable with values; gives its results as a list.
pub fn call_python(callable: &PyObject, inputs: Vec<Value>) -> Result<Vec<Value>> {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let args =
            inputs.into_iter().map(|v| crate::python::native::tensor::from_value(v, vm)).collect::<PyResult<Vec<_>>>().map_err(raised)?;
        let result = callable.call(FuncArgs::from(args), vm).map_err(raised)?;
        match to_value(&result, vm) {
            Some(Value::List(items)) => Ok(items),
            Some(single) => Ok(vec![single]),
            None => Err(Error::type_error("a compiled graph returns tensors")),
        }
    })
}

/// Ends the region being recorded: `outputs` get their values.
fn flush(function: &CompiledFunction, recorder: &Recorder, place: usize, outputs: &[Value], about: &About, compiles: bool) -> Result<()> {
    let wanted = !outputs.is_empty() || recorder.writes_inputs();
    let region = recorder.end(if wanted { outputs } else { &[] })?;
    let has_calls = crate::capture::computes(&region.graph);
    let env = region.env.clone();
    if !wanted || !has_calls {
        env.settle();
        return Ok(());
    }
    let _capture = Exclude::only(Key::Capture);
    // The region runs in the mode it began in; its own changes of mode are recorded in it.
    let before = crate::dispatch::modes();
    crate::dispatch::set_modes(crate::dispatch::Modes { grad: region.grad, autocast: region.autocast, ..before });
    let outcome = if compiles { run_region(function, region, place, about) } else { run_as_it_is(&region) };
    env.settle();
    crate::dispatch::set_modes(before);
    for (output, value) in outputs.iter().zip(outcome?) {
        let Value::Tensor(lazy) = output else { continue };
        let real = value.into_tensor()?;
        replace_payload(lazy, &real);
        recorder.arrive(lazy, &real);
    }
    Ok(())
}

/// What Python knows of a compiled function's call.
struct About {
    /// The function's name.
    name: String,
    /// Names its tensors.
    namer: PyObjectRef,
    /// What the Python values mean for the entries of the place that is recorded.
    verdict: RefCell<Verdict>,
}

impl About {
    /// The file and the first line of the function.
    fn home(&self) -> (String, u32) {
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            let told = vm.call_method(&self.namer, "home", ()).and_then(|o| o.try_to_value::<Vec<PyObjectRef>>(vm)).unwrap_or_default();
            let file = told.first().and_then(|o| o.str(vm).ok()).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            let line = told.get(1).and_then(|o| o.clone().try_to_value::<u32>(vm).ok()).unwrap_or(0);
            (file, line)
        })
    }

    /// Where the caller keeps a tensor.
    fn source(&self, t: &Tensor, index: usize) -> InputSource {
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            let told = wrap(t, vm).and_then(|o| self.namer.call((o,), vm));
            let told = told.ok().and_then(|o| crate::python::native::tensor::items(&o));
            let mut source = told.and_then(|t| input_source(&t, vm)).unwrap_or_else(|| InputSource {
                name: format!("L_tensor_{index}_"),
                source: format!("L['tensor_{index}']"),
                ..InputSource::default()
            });
            source.numbers = (0..t.dim()).map(|d| symbol_number(&format!("{}.size()[{d}]", source.source))).collect();
            source
        })
    }
}

/// `(name, source, is_static, {dim: (kind, min, max)})` as Python tells it.
fn input_source(told: &[PyObjectRef], vm: &VirtualMachine) -> Option<InputSource> {
    let text = |i: usize| Some(told.get(i)?.downcast_ref::<rustpython_vm::builtins::PyStr>()?.to_string_lossy().into_owned());
    let mut marks = Vec::new();
    if let Some(dict) = told.get(3).and_then(|o| o.downcast_ref::<PyDict>()) {
        for (dim, mark) in dict {
            let parts = crate::python::native::tensor::items(&mark)?;
            let bound = |i: usize| parts.get(i).filter(|o| !vm.is_none(o)).and_then(|o| o.clone().try_to_value::<i64>(vm).ok());
            let kind = match &*parts.first()?.downcast_ref::<rustpython_vm::builtins::PyStr>()?.to_string_lossy() {
                "dynamic" => DimMark::Dynamic(bound(1), bound(2)),
                "maybe" => DimMark::Maybe,
                _ => DimMark::Static,
            };
            marks.push((dim.try_to_value::<usize>(vm).ok()?, kind));
        }
    }
    let is_static = told.get(2).is_some_and(|o| o.is(&vm.ctx.true_value));
    let is_parameter = is_static && text(1).is_some_and(|s| s.contains("._parameters['"));
    Some(InputSource { name: text(0)?, source: text(1)?, is_static, is_parameter, marks, numbers: Vec::new() })
}

/// PyTorch numbers a symbol by the hash of where its size is found.
fn symbol_number(source: &str) -> u32 {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(source.as_bytes());
    digest.iter().fold(0, |n, byte| (n * 256 + u32::from(*byte)) % 100)
}

/// Runs a region without compiling it.
fn run_as_it_is(region: &Region) -> Result<Vec<Value>> {
    let hints = region.hints();
    let mut tensors = region.inputs.iter().map(|i| Value::Tensor(i.real.clone()));
    let mut inputs: Vec<Value> = region
        .graph
        .placeholders()
        .filter_map(|n| match &n.meta.value {
            Some(FakeValue::Int(size)) => crate::capture::value_of(size, &hints).map(Value::from),
            _ => tensors.next(),
        })
        .collect();
    replay_graph(&region.graph, &mut inputs)
}

fn run_region(function: &CompiledFunction, region: Region, place: usize, about: &About) -> Result<Vec<Value>> {
    let verdict = about.verdict.borrow().clone();
    let found = function.cache.borrow().find(place, &region, &verdict.unmet);
    let reasons = match found {
        Lookup::Hit(entry) => return entry.run(&region.inputs, &entry.values(&region)),
        Lookup::Miss(reasons) => reasons,
    };
    let frame = function.frame(place);
    let stance = STANCE.with_borrow(Clone::clone);
    let listed: String = reasons.iter().map(|r| format!("\n    - {frame}/{r}")).collect();
    let triggered = if reasons.is_empty() { String::new() } else { format!("\n    triggered by the following guard failure(s):{listed}") };
    let (file, line) = about.home();
    if stance == "fail_on_recompile" {
        return Err(Error::runtime(format!(
            "Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: '{file}', function name: '{}', line number: {line}{triggered}",
            about.name
        )));
    }
    if stance == "eager_on_recompile" || function.ended.borrow().contains(&place) {
        return run_as_it_is(&region);
    }
    if !reasons.is_empty() {
        emit(Event::Recompiled { reasons: reasons.iter().map(|r| format!("{frame}/{r}")).collect() });
        if switch("error_on_recompile") {
            let said = format!("Recompiling function {} in {file}:{line}{triggered}", about.name);
            return Err(dynamo_error("RecompileError", &said));
        }
    }
    if function.cache.borrow().len(place) >= recompile_limit() {
        if function.fullgraph || switch("fail_on_recompile_limit_hit") {
            let why = if function.fullgraph { "fullgraph=True" } else { "fail_on_recompile_limit_hit" };
            return Err(dynamo_error("FailOnRecompileLimitHit", &format!("Hard failure due to {why}")));
        }
        warn_of_limit(&about.name, &file, line, &frame, &reasons);
        function.ended.borrow_mut().insert(place);
        return run_as_it_is(&region);
    }
    for input in &region.touched {
        function.seen.borrow_mut().note(place, &input.source, &input.real.sizes());
    }
    let number = NEXT_REGION.get();
    NEXT_REGION.set(number + 1);
    count("frames", "total", 1);
    count("frames", "ok", 1);
    count("stats", "calls_captured", region.graph.nodes().filter(|n| n.opcode == crate::graph::Opcode::Call).count());
    count("stats", "unique_graphs", 1);
    let mut captured = report::Region {
        id: number,
        function: about.name.clone(),
        graph: crate::graph_view::view(&region.graph),
        guards: Vec::new(),
        entry: None,
        span: None,
    };
    emit(Event::Captured { region: captured.clone() });
    let compiled = compile_region(function, &region, number).map_err(|e| backend_failed(&function.backend, e))?;
    let inputs = region.inputs.clone();
    let hints = region.hints();
    let facts = rustpython_vm::vm::thread::with_current_vm(|vm| verdict.needs.guards(vm));
    let entry = Rc::new(Entry::new(region.without_tensors(), compiled, facts));
    // Guards made while the region was traced are known now.
    captured.guards = entry.guards();
    captured.entry = Some(what_if::view(&entry, frame, function.dynamic));
    emit(Event::Captured { region: captured });
    function.cache.borrow_mut().insert(place, entry.clone());
    function.values.push(place, verdict.needs);
    entry.run(&inputs, &hints)
}

/// Lazy tensors and symbolic sizes in a returned structure, in order, each once.
fn returned(o: &PyObject, recorder: &Recorder, found: &mut Vec<Value>, vm: &VirtualMachine) {
    if let Some(t) = o.downcast_ref::<TensorBase>() {
        let t = t.tensor();
        if recorder.is_lazy(&t) && !is_among(&t, found) {
            found.push(Value::Tensor(t));
        }
    } else if let Some(size) = symbolic(o, vm) {
        let same = |v: &Value| matches!(v, Value::Int(known) if known.expr() == size.expr());
        if recorder.has_size(&size) && !found.iter().any(same) {
            found.push(Value::Int(size));
        }
    } else if let Some(items) = o.downcast_ref::<PyTuple>() {
        items.as_slice().iter().for_each(|i| returned(i, recorder, found, vm));
    } else if let Some(items) = o.downcast_ref::<PyList>() {
        let items = items.borrow_vec().to_vec();
        items.iter().for_each(|i| returned(i, recorder, found, vm));
    } else if let Some(dict) = o.downcast_ref::<PyDict>() {
        dict.into_iter().for_each(|(_, v)| returned(&v, recorder, found, vm));
    }
}

/// A returned structure with symbolic sizes as the numbers they are in this call.
fn numbers_for_sizes(o: PyObjectRef, vm: &VirtualMachine) -> PyResult {
    if let Some(number) = symbolic_hint(&o, vm) {
        return Ok(vm.ctx.new_int(number).into());
    }
    let class = o.class();
    if class.is(vm.ctx.types.tuple_type) {
        let Some(items) = o.downcast_ref::<PyTuple>() else { return Ok(o) };
        if !items.as_slice().iter().any(|i| symbolic_hint(i, vm).is_some()) {
            return Ok(o);
        }
        let items = items.as_slice().iter().map(|i| numbers_for_sizes(i.clone(), vm)).collect::<PyResult<Vec<_>>>()?;
        return Ok(vm.ctx.new_tuple(items).into());
    }
    if let Some(list) = o.downcast_ref::<PyList>() {
        for item in list.borrow_vec_mut().iter_mut() {
            if let Some(number) = symbolic_hint(item, vm) {
                *item = vm.ctx.new_int(number).into();
            }
        }
    }
    if let Some(dict) = o.downcast_ref::<PyDict>() {
        for (key, value) in dict {
            if let Some(number) = symbolic_hint(&value, vm) {
                dict.set_item(&*key, vm.ctx.new_int(number).into(), vm)?;
            }
        }
    }
    Ok(o)
}

fn is_among(t: &Tensor, values: &[Value]) -> bool {
    values.iter().any(|v| matches!(v, Value::Tensor(o) if o.is(t)))
}

fn known_to_python(t: &Tensor) -> bool {
    t.imp().python.borrow().is_some()
}

/// Calls a compiled function.
pub fn call(
    function: &Rc<CompiledFunction>,
    callee: &PyObject,
    name: String,
    namer: PyObjectRef,
    args: FuncArgs,
    vm: &VirtualMachine,
) -> PyResult {
    if capturing() {
        // A compiled function called while another is recorded is part of that one.
        return callee.call(args, vm);
    }
    if function.given_up.borrow().contains(&0) || STANCE.with_borrow(|s| s == "force_eager") {
        return callee.call(args, vm);
    }
    let base = frame_mark();
    let about = Rc::new(About { name, namer, verdict: RefCell::default() });
    let at = Rc::new(Cell::new(0));
    PENDING.set(None);
    // What is recorded belongs to the place that Python went on from; which way it went is known by now.
    let place = {
        let (function, at, about) = (function.clone(), at.clone(), about.clone());
        Rc::new(move || {
            if let Some((chain, resumed)) = PENDING.take() {
                at.set(function.place(chain));
                let verdict = rustpython_vm::vm::thread::with_current_vm(|vm| {
                    resumed.map(|r| function.values.at_break(at.get(), &r, vm)).unwrap_or_default()
                });
                *about.verdict.borrow_mut() = verdict;
            }
            at.get()
        })
    };
    let on_break = {
        let (function, place, about) = (function.clone(), place.clone(), about.clone());
        Rc::new(move |recorder: &Recorder, reason: &Unsupported, source: Option<Source>| -> Result<()> {
            if function.fullgraph {
                let message = format!("{}{}", reason.text(), from_user_code(source.as_ref()));
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            let (stands, alive) = rustpython_vm::vm::thread::with_current_vm(|vm| {
                let stands = standing(base, vm).map_err(raised)?;
                let alive: Vec<Tensor> = recorder.alive().into_iter().filter(known_to_python).collect();
                let operands = alive.last().map_or_else(Vec::new, |t| recorder.operands(t));
                let mut wanted = stands.wanted(alive, &operands, vm).map_err(raised)?;
                wanted.retain(|v| !matches!(v, Value::Int(size) if !recorder.has_size(size)));
                Ok::<_, Error>((stands, wanted))
            })?;
            let here = place();
            let gives_up = stands.gives_up || function.given_up.borrow().contains(&here);
            let title = if stands.gives_up { "graph break in loop" } else { reason.title() };
            let told = if reason.is_branch() { "generic_jump TensorVariable()".to_owned() } else { reason.text() };
            BREAKS.with_borrow_mut(|b| b.push((told.clone(), source.clone())));
            count("graph_break", &reason.text(), 1);
            emit(Event::Broke { graph_break: GraphBreak { reason: title.to_owned(), span: source.map(|s| s.span) } });
            flush(&function, recorder, here, &alive, &about, !gives_up)?;
            if gives_up {
                function.given_up.borrow_mut().insert(here);
                recorder.give_up();
                RECORDER.set(None);
            } else {
                PENDING.set(Some((stands.chain, stands.resumed)));
            }
            Ok(())
        })
    };
    let input_name = {
        let about = about.clone();
        Rc::new(move |t: &Tensor, index: usize| about.source(t, index))
    };
    let plan = {
        let (function, place) = (function.clone(), place.clone());
        Rc::new(move |input: &InputSource, sizes: &[SymInt]| function.seen.borrow().plan(place(), input, sizes, function.dynamic))
    };
    let recorder = Recorder::new(input_name, plan, on_break);
    let mut bound = values::bind(callee, &args, vm);
    if let Some(bound) = &bound {
        *about.verdict.borrow_mut() = function.values.at_start(bound, function.dynamic, vm);
    }
    let needs = about.verdict.borrow().needs.clone();
    let mut args = args;
    let replaced = bound.as_mut().map(|b| values::replace(b, &needs, &recorder, symbol_number, &mut args, vm)).unwrap_or_default();
    RECORDER.set(Some(recorder.clone()));
    let layer = Pushed::new(Rc::new(CaptureLayer(recorder.clone())));
    super::modules::enter_root(callee, vm);
    let result = callee.call(args, vm);
    super::modules::reset();
    let mut outputs = Vec::new();
    if let Ok(value) = &result {
        returned(value, &recorder, &mut outputs, vm);
    }
    // What escaped otherwise (to a global, an attribute, a list) is wanted too.
    for t in recorder.alive() {
        if known_to_python(&t) && !is_among(&t, &outputs) {
            outputs.push(Value::Tensor(t));
        }
    }
    let flushed = flush(function, &recorder, place(), &outputs, &about, true);
    drop(layer);
    RECORDER.set(None);
    if let Some(bound) = &mut bound {
        replaced.restore(&mut bound.locals, vm);
    }
    match (result, flushed) {
        (Err(e), _) if e.class().is(vm.ctx.exceptions.runtime_error) => {
            let said = e.as_object().str(vm).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            Err(recorder.uncaught(&said).map_or(e, |error| raise(error, vm)))
        }
        (Err(e), _) => Err(e),
        (Ok(_), Err(e)) => Err(raise(e, vm)),
        (Ok(value), Ok(())) => numbers_for_sizes(value, vm),
    }
}
