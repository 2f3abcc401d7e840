//! One call of a compiled function: record, find or compile, run, hand out values.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use rustpython_vm::builtins::{PyDict, PyDictRef};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyResult, VirtualMachine};

use super::entries::{self, Remembered};
use super::frames::Chain;
use super::graph_module::{PyGraphModule, script_module};
use super::values::{self, Values, Verdict};
use crate::aot::compile::{Config, GraphCallable, GraphCompiler, InputSpec};
use crate::aot::interpret::replay_graph;
use crate::aot::passes::Passes;
use crate::aot::{self, Program};
use crate::capture::{Cache, DimMark, Entry, InputSource, Lookup, Recorder, Region, Runner, SeenSizes, Unsupported, what_if};
use crate::decompositions::{Table, inductor, inductor_with_eager_random};
use crate::dispatch::{Exclude, Key, Value};
use crate::error::{Error, Result};
use crate::graph::FakeValue;
use crate::partition::{PartitionConfig, Partitioner};
use crate::python::current::emit;
use crate::python::native::tensor::{raise, raised, replace_payload, to_value, wrap};
use crate::report::{self, Event, GraphRun};
use crate::shape::SymInt;
use crate::span::Source;
use crate::tensor::Tensor;

thread_local! {
    static NEXT_REGION: Cell<u32> = const { Cell::new(0) };
    static NEXT_COMPILATION: Cell<u32> = const { Cell::new(0) };
    static NEXT_FRAME: Cell<u32> = const { Cell::new(0) };
    static BREAKS: RefCell<Vec<(String, Option<Source>)>> = const { RefCell::new(Vec::new()) };
    static STANCE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Why capture stopped since the run began, each time, and where.
pub fn breaks() -> Vec<(String, Option<Source>)> {
    BREAKS.with_borrow(Clone::clone)
}

/// A graph ended.
pub fn note_break(reason: String, place: Option<Source>) {
    BREAKS.with_borrow_mut(|b| b.push((reason, place)));
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

/// Starts counting regions and compilations anew.
pub fn reset() {
    super::call::reset();
    NEXT_REGION.set(0);
    NEXT_COMPILATION.set(0);
    NEXT_FRAME.set(0);
    BREAKS.take();
    STANCE.take();
    aot::trace::reset_checkpoint_regions();
}

/// Why a graph ends where a tensor decides which way Python goes.
pub fn branch_reason(t: &Tensor) -> Unsupported {
    let computed = super::call::recorder().and_then(|r| r.computed_as(t));
    Unsupported::branch(computed.as_ref().map(|(place, call)| (place, call.clone())))
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
    pub given_up: RefCell<HashSet<usize>>,
    /// What its entries depend on besides tensors.
    pub values: Values,
    /// Places that were compiled as often as they may be.
    ended: RefCell<HashSet<usize>>,
    /// Functions that it calls and that are compiled on their own, by their code.
    called: RefCell<HashMap<usize, (PyObjectRef, Rc<CompiledFunction>)>>,
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
            called: RefCell::default(),
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
        self.called.borrow_mut().clear();
    }

    /// The place that a function goes on from.
    pub fn place(&self, chain: Chain) -> usize {
        let mut places = self.places.borrow_mut();
        places.iter().position(|p| *p == chain).unwrap_or_else(|| {
            places.push(chain);
            places.len() - 1
        })
    }

    /// A function that it calls and that is compiled on its own.
    pub fn inner(&self, code: &PyObjectRef) -> Rc<CompiledFunction> {
        let mut called = self.called.borrow_mut();
        let make = || (code.clone(), Rc::new(CompiledFunction::new(self.backend.clone(), false, self.dynamic)));
        called.entry(code.get_id()).or_insert_with(make).1.clone()
    }

    /// Whether sizes and numbers are symbols: always, never, or once they have varied. What `torch.compile` was not told, the
    /// front end's switches say.
    pub fn dynamic(&self) -> Option<bool> {
        self.dynamic.or_else(|| {
            let is_on = |name| {
                rustpython_vm::vm::thread::with_current_vm(|vm| values::config(name, vm).is_none_or(|o| o.try_to_bool(vm).unwrap_or(true)))
            };
            match (is_on("assume_static_by_default"), is_on("automatic_dynamic_shapes")) {
                (false, _) => Some(true),
                (true, false) => Some(false),
                (true, true) => None,
            }
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

pub fn switch(name: &'static str) -> bool {
    rustpython_vm::vm::thread::with_current_vm(|vm| values::setting(name, vm))
}

/// Adds to `torch._dynamo.utils.counters`.
pub fn count(group: &str, key: &str, amount: usize) {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let counted = vm.import("torch._dynamo.utils", 0).and_then(|_| {
            let module = vm.sys_module.get_attr("modules", vm)?.get_item("torch._dynamo.utils", vm)?;
            vm.call_method(&module, "_count", (group.to_owned(), key.to_owned(), amount))
        });
        drop(counted);
    });
}

/// An exception of `torch._dynamo.exc`.
pub fn dynamo_error(class: &'static str, message: &str) -> Error {
    exception("torch._dynamo.exc", class, message)
}

fn exception(module: &'static str, class: &'static str, message: &str) -> Error {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let made = vm.import(module, 0).and_then(|_| {
            let module = vm.sys_module.get_attr("modules", vm)?.get_item(module, vm)?;
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
    program: Program,
    compilation: u32,
    part: &'static str,
}

impl GraphCallable for Interpreted {
    fn call(&self, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
        let _below = Exclude::down_to(Key::Autograd);
        emit(Event::Ran { run: GraphRun { compilation: self.compilation, part: self.part.to_owned() } });
        super::bundle::run(self.compilation, self.part, self.program.graph(), inputs, |inputs| self.program.run(inputs))
    }
}

/// A compiler that runs graphs as they are.
pub fn interpreter(compilation: Rc<Cell<u32>>, part: &'static str) -> GraphCompiler {
    Rc::new(move |graph, _| {
        Ok(Rc::new(Interpreted { program: Program::new(graph), compilation: compilation.get(), part }) as Rc<dyn GraphCallable>)
    })
}

/// A configuration that reports what it makes; the number of the compilation is known once it is made.
pub fn config(backend: &Pipeline, keep_input_mutations: bool, region: Option<u32>) -> Config {
    let number = Rc::new(Cell::new(0));
    let seen = number.clone();
    Config {
        keep_input_mutations,
        partition: PartitionConfig { random_is_impure: region.is_none(), ..super::settings::partition(backend.partitioner) },
        decompositions: backend.decompositions,
        passes: backend.passes.clone(),
        partition_fn: None,
        is_outdated: None,
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

/// What a backend makes of a graph before it runs.
pub struct Pipeline {
    /// How joint graphs are split.
    pub partitioner: Partitioner,
    /// What operators are taken apart by.
    pub decompositions: Option<&'static Table>,
    /// Passes on what was traced.
    pub passes: Option<Passes>,
}

impl Pipeline {
    /// A partitioner on the operators as the script calls them.
    pub fn plain(partitioner: Partitioner) -> Self {
        Pipeline { partitioner, decompositions: None, passes: None }
    }
}

/// The pipeline of a named backend; `None` for `eager`.
fn pipeline(name: &str) -> Result<Option<Pipeline>> {
    let decomposed = |with_passes: bool| {
        let passes = super::settings::passes();
        let table = if passes.fallback_random { inductor_with_eager_random() } else { inductor() };
        Pipeline { partitioner: Partitioner::MinCut, decompositions: Some(table), passes: with_passes.then_some(passes) }
    };
    match name {
        "eager" => Ok(None),
        "aot_eager" => Ok(Some(Pipeline::plain(Partitioner::MinCut))),
        "aot_eager_decomp_partition" => Ok(Some(decomposed(false))),
        "inductor" => Ok(Some(decomposed(true))),
        "aot_eager_default_partitioner" => Ok(Some(Pipeline::plain(Partitioner::Default))),
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
    let graph = region.traced();
    match &function.backend {
        Backend::Named(name) => match pipeline(name)? {
            None => Ok(Rc::new(move |inputs| replay_graph(&graph, &mut { inputs }))),
            Some(pipeline) => {
                let specs = specs(region)?;
                let given = specs.clone();
                let f: aot::Function =
                    Rc::new(move |inputs| replay_graph(&graph, &mut given.iter().zip(inputs).map(|(spec, t)| spec.argument(t)).collect()));
                let env = region.env.clone();
                let is_outdated: Option<Rc<dyn Fn() -> bool>> = Some(Rc::new(move || !env.needed_floats().is_empty()));
                let config = Config { is_outdated, ..config(&pipeline, true, Some(number)) };
                let compiled = aot::compile(&f, &specs, &config)?;
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
            let written = region.written();
            let is_parameter = |t: &Tensor| wrap(t, vm).is_ok_and(|o| &*o.class().name() == "Parameter");
            let is_parameter: HashSet<&str> =
                region.inputs.iter().filter(|i| is_parameter(&i.real)).map(|i| i.source.name.as_str()).collect();
            let parameters = written.placeholders().filter(|n| is_parameter.contains(n.target.text().as_str())).map(|n| n.id).collect();
            let module = script_module(PyGraphModule::captured(graph, written, parameters), vm).map_err(raised)?;
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
pub fn flush(
    function: &CompiledFunction,
    recorder: &Recorder,
    place: usize,
    outputs: &[Value],
    about: &About,
    compiles: bool,
) -> Result<()> {
    let region = recorder.end(outputs)?;
    let env = region.env.clone();
    let twins: Vec<Tensor> = region.touched.iter().map(|i| i.twin.clone()).collect();
    if !crate::capture::computes(&region.graph) {
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
        match output {
            // What was stored back is the caller's tensor itself.
            Value::Tensor(lazy) if twins.iter().any(|t| t.is(lazy)) => {}
            Value::Tensor(lazy) => {
                let real = value.into_tensor()?;
                replace_payload(lazy, &real);
                recorder.arrive(lazy, &real);
            }
            // A number that only the run knew.
            Value::Int(SymInt::Sym(expr, env)) => env.learn(expr, value.int()?),
            Value::SymFloat(float) if float.hint().is_none() => float.env.learn_float(&float.expr, value.float()?),
            _ => {}
        }
    }
    Ok(())
}

/// What Python knows of a compiled function's call.
pub struct About {
    /// The function's name.
    pub name: String,
    /// Names its tensors.
    pub namer: RefCell<PyObjectRef>,
    /// What the Python values mean for the entries of the place that is recorded.
    pub verdict: RefCell<Verdict>,
    /// The globals of the function, where they are known.
    pub globals: Option<PyDictRef>,
    /// Where the tensors of an earlier call were found.
    pub remembered: RefCell<Option<Remembered>>,
    /// After a break: how PyTorch calls what is left of the function.
    pub resumed: RefCell<Option<Rest>>,
}

/// What is left of a function after a break, which PyTorch's front end compiles as a function of its own.
pub struct Rest {
    function: Rc<str>,
    name: Rc<str>,
    /// How many values it was given that no variable holds.
    unnamed: Cell<usize>,
}

impl Rest {
    /// The rest of a function after a line.
    pub fn new(function: &str, line: u32) -> Self {
        let name = format!("torch_dynamo_resume_in_{function}_at_{line}").into();
        Rest { function: function.into(), name, unnamed: Cell::new(0) }
    }

    /// The lines of the function are shown as those of its rest.
    fn rename(&self, region: &mut Region) {
        let ids: Vec<_> = region.graph.nodes().map(|n| n.id).collect();
        for id in ids {
            if let Some(source) = region.graph.node_mut(id).meta.source.as_mut().filter(|s| s.function == self.function) {
                source.function = self.name.clone();
            }
        }
    }
}

impl About {
    /// The file and the first line of the function.
    fn home(&self) -> (String, u32) {
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            let told =
                vm.call_method(&self.namer.borrow(), "home", ()).and_then(|o| o.try_to_value::<Vec<PyObjectRef>>(vm)).unwrap_or_default();
            let file = told.first().and_then(|o| o.str(vm).ok()).map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            let line = told.get(1).and_then(|o| o.clone().try_to_value::<u32>(vm).ok()).unwrap_or(0);
            (file, line)
        })
    }

    /// Where the caller keeps a tensor.
    pub fn source(&self, t: &Tensor, index: usize) -> InputSource {
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            if let Some(known) = self.remembered.borrow().as_ref().and_then(|r| r.source(t, index, vm)) {
                return known;
            }
            let told = wrap(t, vm).and_then(|o| self.namer.borrow().call((o,), vm));
            let told = told.ok().and_then(|o| crate::python::native::tensor::items(&o));
            let mut source = told.and_then(|t| input_source(&t, vm)).unwrap_or_else(|| {
                let (name, place) = match &*self.resumed.borrow() {
                    // Values of expressions under way.
                    Some(rest) => {
                        let i = rest.unnamed.replace(rest.unnamed.get() + 1);
                        (format!("L_stack{i}_"), format!("L['___stack{i}']"))
                    }
                    None => (format!("L_tensor_{index}_"), format!("L['tensor_{index}']")),
                };
                InputSource { name, source: place, ..InputSource::default() }
            });
            source.numbers = (0..t.dim()).map(|d| symbol_number(&format!("{}.size()[{d}]", source.source))).collect();
            if t.dim() == 0 {
                source.numbers.push(symbol_number(&format!("{}.item()", source.source)));
            }
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
    Some(InputSource { name: text(0)?, source: text(1)?, is_static, is_parameter, marks, ..InputSource::default() })
}

/// PyTorch numbers a symbol by the hash of where its size is found.
pub fn symbol_number(source: &str) -> u32 {
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

fn run_region(function: &CompiledFunction, mut region: Region, place: usize, about: &About) -> Result<Vec<Value>> {
    let verdict = about.verdict.borrow().clone();
    let found = function.cache.borrow().find(place, &region, &verdict.unmet);
    let reasons = match found {
        Lookup::Hit(entry) => return entry.run(&region.inputs, &entry.values(&region)),
        Lookup::Miss(reasons) => reasons,
    };
    let frame = function.frame(place);
    let stance = stance();
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
        if switch("error_on_recompile") {
            let said = format!("Recompiling function {} in {file}:{line}{triggered}", about.name);
            return Err(dynamo_error("RecompileError", &said));
        }
        emit(Event::Recompiled { reasons: reasons.iter().map(|r| format!("{frame}/{r}")).collect() });
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
    for input in region.touched.iter().filter(|i| !i.source.is_number) {
        function.seen.borrow_mut().note(place, &input.source, &input.real.sizes());
    }
    count("frames", "total", 1);
    count("frames", "ok", 1);
    count("stats", "calls_captured", region.written().nodes().filter(|n| n.opcode == crate::graph::Opcode::Call).count());
    count("stats", "unique_graphs", 1);
    let inputs = region.inputs.clone();
    if let Some(rest) = &*about.resumed.borrow() {
        rest.rename(&mut region);
    }
    let (region, compiled, mut captured) = compile_until_it_holds(function, region, about)?;
    if let Some(message) = region.violated_constraints() {
        return Err(exception("torch.fx.experimental.symbolic_shapes", "ConstraintViolationError", &message));
    }
    let needs = about.verdict.borrow().needs.clone();
    let hints = region.hints();
    let inputs: Vec<_> =
        inputs.into_iter().filter(|i| region.inputs.iter().any(|r| r.source.source == i.source.source && r.node == i.node)).collect();
    let facts = rustpython_vm::vm::thread::with_current_vm(|vm| needs.guards(vm));
    let entry = Rc::new(Entry::new(region.without_tensors(), compiled, facts));
    // Guards made while the region was traced are known now.
    captured.guards = entry.guards();
    captured.entry = Some(what_if::view(&entry, frame, function.dynamic()));
    emit(Event::Captured { region: captured });
    function.cache.borrow_mut().insert(place, entry.clone());
    let found = rustpython_vm::vm::thread::with_current_vm(|vm| entries::found(&entry.region, about.globals.as_ref(), vm));
    function.values.push(place, needs, found);
    entry.run(&inputs, &hints)
}

/// Compiles a region; once more, with numbers, where floats that were to be symbols turn out to be needed as numbers.
fn compile_until_it_holds(function: &CompiledFunction, region: Region, about: &About) -> Result<(Region, Runner, report::Region)> {
    let number = NEXT_REGION.get();
    NEXT_REGION.set(number + 1);
    let captured = report::Region {
        id: number,
        function: about.name.clone(),
        graph: crate::graph_view::view(&region.written()),
        guards: Vec::new(),
        entry: None,
        span: None,
    };
    emit(Event::Captured { region: captured.clone() });
    let compiled = compile_region(function, &region, number);
    let needed = region.env.needed_floats();
    if needed.is_empty() {
        let compiled = compiled.map_err(|e| backend_failed(&function.backend, e))?;
        return Ok((region, compiled, captured));
    }
    let origins: Vec<String> = needed.iter().map(|(_, origin, _)| origin.clone()).collect();
    let needs = about.verdict.borrow().needs.clone();
    about.verdict.borrow_mut().needs = Rc::new(function.values.with_numbers(&needs, &origins));
    compile_until_it_holds(function, region.with_numbers(&needed), about)
}
