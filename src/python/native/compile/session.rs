//! One call of a compiled function: record, find or compile, run, hand out values.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustpython_vm::builtins::{PyDict, PyList, PyTuple};
use rustpython_vm::function::FuncArgs;
use rustpython_vm::{PyObject, PyObjectRef, PyPayload, PyResult, VirtualMachine};

use super::graph_module::PyGraphModule;
use crate::aot::compile::{Config, GraphCallable, GraphCompiler, InputSpec};
use crate::aot::interpret::replay_graph;
use crate::aot::trace::Pushed;
use crate::aot::{self, run_graph};
use crate::capture::{Cache, CaptureLayer, Entry, Lookup, Recorder, Region};
use crate::dispatch::{Exclude, Key, Value};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::partition::{PartitionConfig, Partitioner};
use crate::python::current::emit;
use crate::python::native::tensor::{TensorBase, raise, raised, replace_payload, to_value, wrap};
use crate::report::{self, Event, GraphBreak, GraphRun};
use crate::span::Source;
use crate::tensor::Tensor;

thread_local! {
    static RECORDER: RefCell<Option<Rc<Recorder>>> = const { RefCell::new(None) };
    static NEXT_REGION: Cell<u32> = const { Cell::new(0) };
    static NEXT_COMPILATION: Cell<u32> = const { Cell::new(0) };
    static BREAKS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// How many regions were captured since the run began, and why capture stopped, each time.
pub fn counts() -> (u32, Vec<String>) {
    (NEXT_REGION.get(), BREAKS.with_borrow(Clone::clone))
}

/// Starts counting regions and compilations anew.
pub fn reset() {
    RECORDER.set(None);
    NEXT_REGION.set(0);
    NEXT_COMPILATION.set(0);
    BREAKS.take();
    aot::trace::reset_checkpoint_regions();
}

/// Whether a compiled function is being recorded.
pub fn capturing() -> bool {
    RECORDER.with_borrow(Option::is_some)
}

/// Ends the region being recorded, if there is one and it is not suspended: values are needed.
pub fn break_graph(reason: &str) -> Result<()> {
    match RECORDER.with_borrow(Clone::clone) {
        Some(recorder) => recorder.break_graph(reason),
        None => Ok(()),
    }
}

/// The recorder of the compiled function being recorded, where capture is not suspended.
pub fn recorder() -> Option<Rc<Recorder>> {
    RECORDER.with_borrow(Clone::clone).filter(|_| !crate::dispatch::is_excluded(Key::Capture))
}

/// Tells the recorder that a tensor of the caller's was read.
pub fn touch(t: &Tensor, is_static: bool) -> Result<()> {
    match RECORDER.with_borrow(Clone::clone) {
        Some(recorder) => recorder.touch(t, is_static),
        None => Ok(()),
    }
}

/// Tells the recorder of a change of the grad mode.
pub fn record_grad_mode(enabled: bool) {
    RECORDER.with_borrow(|r| {
        if let Some(r) = r {
            r.record_grad_mode(enabled);
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
        fw_compiler: interpreter(number.clone(), "forward"),
        bw_compiler: interpreter(number.clone(), "backward"),
        inference_compiler: interpreter(number, "inference"),
        observer: Some(Rc::new(move |artifacts| {
            let id = NEXT_COMPILATION.get();
            NEXT_COMPILATION.set(id + 1);
            seen.set(id);
            let compilation = crate::describe::compilation(id, region, artifacts);
            super::bundle::begin(id, artifacts);
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

type Runner = Rc<dyn Fn(Vec<Tensor>) -> Result<Vec<Value>>>;

fn compile_region(function: &CompiledFunction, region: &Region, number: u32) -> Result<Runner> {
    let graph = region.graph.clone();
    match &function.backend {
        Backend::Named(name) => match partitioner(name)? {
            None => Ok(Rc::new(move |inputs| replay_graph(&graph, &mut inputs.into_iter().map(Value::Tensor).collect()))),
            Some(partitioner) => {
                let specs: Vec<InputSpec> = region.inputs.iter().map(|i| i.spec.clone()).collect();
                let f: aot::Function = Rc::new(move |inputs| replay_graph(&graph, &mut inputs.iter().map(Value::from).collect()));
                let compiled = aot::compile(&f, &specs, &config(partitioner, true, Some(number)))?;
                Ok(Rc::new(move |inputs| compiled.call(inputs)))
            }
        },
        Backend::Custom(backend) => rustpython_vm::vm::thread::with_current_vm(|vm| {
            let module: PyObjectRef = PyGraphModule::new(graph).into_pyobject(vm);
            let examples = region.inputs.iter().map(|i| wrap(&i.twin, vm)).collect::<PyResult<Vec<_>>>().map_err(raised)?;
            super::functions::set_region(Some(number));
            let made = backend.call((module, vm.ctx.new_list(examples)), vm);
            super::functions::set_region(None);
            let callable = made.map_err(raised)?;
            Ok(Rc::new(move |inputs: Vec<Tensor>| call_python(&callable, inputs.into_iter().map(Value::Tensor).collect())) as Runner)
        }),
    }
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
fn flush(function: &CompiledFunction, recorder: &Recorder, place: usize, outputs: &[Tensor], name: &str) -> Result<()> {
    let wanted = !outputs.is_empty() || recorder.writes_inputs();
    let region = recorder.end(if wanted { outputs } else { &[] })?;
    let has_calls = crate::capture::computes(&region.graph);
    if !wanted || !has_calls {
        return Ok(());
    }
    let _capture = Exclude::only(Key::Capture);
    // The region runs in the mode it began in; its own changes of mode are recorded in it.
    let before = crate::dispatch::modes();
    crate::dispatch::set_modes(crate::dispatch::Modes { grad: region.grad, ..before });
    let outcome = run_region(function, &region, place, name);
    crate::dispatch::set_modes(before);
    for (lazy, value) in outputs.iter().zip(outcome?) {
        let real = value.into_tensor()?;
        replace_payload(lazy, &real);
        recorder.arrive(lazy, &real);
    }
    Ok(())
}

fn run_region(function: &CompiledFunction, region: &Region, place: usize, name: &str) -> Result<Vec<Value>> {
    let found = function.cache.borrow().find(place, region);
    let entry = match found {
        Lookup::Hit(entry) => entry,
        Lookup::Miss(reasons) => {
            let number = NEXT_REGION.get();
            NEXT_REGION.set(number + 1);
            if !reasons.is_empty() {
                emit(Event::Recompiled {
                    reasons: reasons.iter().map(|r| format!("{place}/{}: {r}", function.cache.borrow().len(place) - 1)).collect(),
                });
            }
            emit(Event::Captured {
                region: report::Region {
                    id: number,
                    function: name.to_owned(),
                    graph: crate::graph_view::view(&region.graph),
                    guards: Vec::new(),
                    span: None,
                },
            });
            let compiled = compile_region(function, region, number)?;
            let names = region.inputs.iter().map(|i| region.graph.node(i.node).name.to_string()).collect();
            let entry = Entry {
                fingerprint: region.fingerprint(),
                region: number,
                compiled,
                inputs: region.inputs.iter().map(|i| i.spec.clone()).collect(),
                names,
                grad: region.grad,
            };
            function.cache.borrow_mut().insert(place, entry);
            match function.cache.borrow().find(place, region) {
                Lookup::Hit(entry) => entry,
                Lookup::Miss(_) => return Err(Error::runtime("a region differs from itself")),
            }
        }
    };
    (entry.compiled)(region.inputs.iter().map(|i| i.real.clone()).collect())
}

/// Lazy tensors in a returned structure, in order, each once.
fn returned(o: &PyObject, recorder: &Recorder, found: &mut Vec<Tensor>) {
    if let Some(t) = o.downcast_ref::<TensorBase>() {
        let t = t.tensor();
        if recorder.is_lazy(&t) && !found.iter().any(|f| f.is(&t)) {
            found.push(t);
        }
    } else if let Some(items) = o.downcast_ref::<PyTuple>() {
        items.as_slice().iter().for_each(|i| returned(i, recorder, found));
    } else if let Some(items) = o.downcast_ref::<PyList>() {
        let items = items.borrow_vec().to_vec();
        items.iter().for_each(|i| returned(i, recorder, found));
    } else if let Some(dict) = o.downcast_ref::<PyDict>() {
        dict.into_iter().for_each(|(_, v)| returned(&v, recorder, found));
    }
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
    let place = Rc::new(Cell::new(0));
    let on_break = {
        let (function, place, name) = (function.clone(), place.clone(), name.clone());
        Rc::new(move |recorder: &Recorder, reason: &str, source: Option<Source>| -> Result<()> {
            if function.fullgraph {
                return Err(Error::runtime(format!("Graph break under fullgraph=True: {reason}")));
            }
            BREAKS.with_borrow_mut(|b| b.push(reason.to_owned()));
            emit(Event::Broke { graph_break: GraphBreak { reason: reason.to_owned(), span: source.map(|s| s.span) } });
            let alive: Vec<Tensor> = recorder.alive().into_iter().filter(known_to_python).collect();
            flush(&function, recorder, place.get(), &alive, &name)?;
            place.set(place.get() + 1);
            Ok(())
        })
    };
    let input_name = Rc::new(move |t: &Tensor, index: usize| {
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            let named = wrap(t, vm).and_then(|o| namer.call((o,), vm));
            match named.ok().and_then(|o| o.downcast_ref::<rustpython_vm::builtins::PyStr>().map(|s| s.to_string_lossy().into_owned())) {
                Some(name) => name,
                None => format!("L_tensor_{index}_"),
            }
        })
    });
    let recorder = Recorder::new(input_name, on_break);
    RECORDER.set(Some(recorder.clone()));
    let layer = Pushed::new(Rc::new(CaptureLayer(recorder.clone())));
    let result = callee.call(args, vm);
    let mut outputs = Vec::new();
    if let Ok(value) = &result {
        returned(value, &recorder, &mut outputs);
    }
    // What escaped otherwise (to a global, an attribute, a list) is wanted too.
    for t in recorder.alive() {
        if known_to_python(&t) && !outputs.iter().any(|o| o.is(&t)) {
            outputs.push(t);
        }
    }
    let flushed = flush(function, &recorder, place.get(), &outputs, &name);
    drop(layer);
    RECORDER.set(None);
    match (result, flushed) {
        (Err(e), _) => Err(e),
        (Ok(_), Err(e)) => Err(raise(e, vm)),
        (Ok(value), Ok(())) => Ok(value),
    }
}
