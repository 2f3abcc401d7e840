//! Backends: those that have a name, with what each makes of a graph before it runs, and those of the script.

pub(super) mod bundle;
pub(crate) mod checked;
pub(crate) mod config;
pub(crate) mod freezing;
pub(crate) mod scripted;
pub(crate) mod studies;

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

use rustpython_vm::function::FuncArgs;
use rustpython_vm::{AsObject, PyObject, PyObjectRef, PyResult};

use super::cache::compiled_function::{CompiledFunction, next_compilation};
use crate::aot::check::runs_again;
use crate::aot::passes::Passes;
use crate::aot::replay_graph;
use crate::aot::schemas::{Config, GraphCallable, GraphCompiler, InputSpec};
use crate::aot::{self, Program};
use crate::decompositions::{Table, inductor, inductor_with_eager_random};
use crate::dispatch::{Exclude, Key, Value};
use crate::dynamo::{CapturedGraph, Runner};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::FakeValue;
use crate::partition::{PartitionConfig, Partitioner};
use crate::python::current::emit;
use crate::python::native::aot_functions::{Compiling, set_compiling};
use crate::python::native::graph_module::{Attributes, PyGraphModule, script_module};
use crate::python::native::tensor::{raise, raised, to_value, wrap};
use crate::report::{Event, GraphRun};
use crate::shape::SymFloat;
use crate::tensor::Tensor;

/// What compiles a captured graph.
#[derive(Clone)]
pub enum Backend {
    /// One of PyTorch's by name.
    Named(String),
    /// The script's own: `backend(gm, example_inputs)`.
    Custom(PyObjectRef),
}

/// Runs a compiled graph below autograd. Of a graph without a backward autograd sees which results are views of others.
struct Interpreted {
    program: Program,
    compilation: u32,
    part: &'static str,
}

impl GraphCallable for Interpreted {
    fn call(&self, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
        let _below = (self.part != "inference").then(|| Exclude::down_to(Key::Autograd));
        if !runs_again() {
            emit(Event::Ran { run: GraphRun { compilation: self.compilation, part: self.part.to_owned() } });
        }
        bundle::run(self.compilation, self.part, self.program.graph(), inputs, |inputs| self.program.run(inputs))
    }
}

/// A compiler that runs graphs as they are.
pub fn interpreter(compilation: Rc<Cell<u32>>, part: &'static str) -> GraphCompiler {
    Rc::new(move |graph, _| {
        let program = Program::new(graph, part == "inference");
        Ok(Rc::new(Interpreted { program, compilation: compilation.get(), part }) as Rc<dyn GraphCallable>)
    })
}

/// A configuration that reports what it makes; the number of the compilation is known once it is made.
pub fn config(backend: &Pipeline, keep_input_mutations: bool, captured: Option<u32>) -> Config {
    let number = Rc::new(Cell::new(0));
    let seen = number.clone();
    let of_inductor = backend.passes.is_some();
    let compiler = |part| match (of_inductor, interpreter(number.clone(), part)) {
        (true, compiler) => scripted::with_post_grad_passes(compiler, part == "inference"),
        (false, compiler) => compiler,
    };
    Config {
        switches: config::switches(),
        custom_passes: scripted::custom_passes(of_inductor),
        is_captured: captured.is_some(),
        keep_input_mutations,
        partition: PartitionConfig { random_is_impure: captured.is_none(), ..config::partition(backend.partitioner) },
        decompositions: backend.decompositions,
        script_decompositions: None,
        passes: backend.passes.clone(),
        freezing: None,
        partition_fn: if of_inductor { scripted::custom_partitioner() } else { None },
        is_outdated: None,
        replay_random: true,
        fw_compiler: compiler("forward"),
        bw_compiler: compiler("backward"),
        inference_compiler: compiler("inference"),
        check: checked::checking(number.clone()),
        observer: Some(Rc::new(move |artifacts| {
            let id = next_compilation();
            seen.set(id);
            let compilation = crate::describe::compilation(id, captured, artifacts);
            bundle::begin(id, artifacts);
            if let Some(split) = &artifacts.partitioned {
                config::log_decision(&split.report.debug_report);
            }
            studies::keep(id, artifacts.study.clone());
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
    /// Whether what a function writes to its inputs is written in the graph, and not after it.
    pub keep_input_mutations: bool,
}

impl Pipeline {
    /// A partitioner on the operators as the script calls them.
    pub fn plain(partitioner: Partitioner) -> Self {
        Pipeline { partitioner, decompositions: None, passes: None, keep_input_mutations: true }
    }
}

/// The pipeline of a named backend; `None` for `eager`.
fn pipeline(name: &str) -> Result<Option<Pipeline>> {
    let decomposed = |with_passes: bool| {
        if config::is_on("selective_decompose") {
            let text =
                "torch._functorch.config.selective_decompose = True is not supported in the playground under a backend with decompositions";
            return Err(Error::not_implemented(text));
        }
        let passes = config::passes();
        let table = if passes.fallback_random { inductor_with_eager_random() } else { inductor() };
        Ok(Some(Pipeline {
            partitioner: Partitioner::MinCut,
            decompositions: Some(table),
            passes: with_passes.then_some(passes),
            keep_input_mutations: with_passes,
        }))
    };
    match name {
        "eager" => Ok(None),
        "aot_eager" => Ok(Some(Pipeline::plain(Partitioner::MinCut))),
        "aot_eager_decomp_partition" => decomposed(false),
        "inductor" => decomposed(true),
        "aot_eager_default_partitioner" => Ok(Some(Pipeline::plain(Partitioner::Default))),
        other => Err(Error::runtime(format!(
            "Invalid backend: '{other}'. In this playground the backends are eager, aot_eager, aot_eager_default_partitioner and inductor, or a function."
        ))),
    }
}

/// The inputs of a captured graph as AOTAutograd takes them.
fn specs(captured: &CapturedGraph) -> Result<Vec<InputSpec>> {
    let mut tensors = captured.inputs.iter().map(|i| i.spec.clone());
    captured
        .graph
        .placeholders()
        .map(|n| match &n.meta.value {
            Some(FakeValue::Int(size)) => Ok(InputSpec { called: n.meta.input.clone(), ..InputSpec::of_symbol(size) }),
            _ => tensors.next().ok_or_else(|| Error::runtime("a captured graph lacks an input")),
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

/// Whether AOTAutograd wants the graph traced again, once it has put tensors in the place of floats: it does where the graph
/// `is_abandoned` anyhow.
fn is_outdated(captured: &CapturedGraph, is_abandoned: bool) -> Rc<dyn Fn() -> bool> {
    let (env, unread) = (captured.env.clone(), captured.unread_floats());
    Rc::new(move || {
        // Floats that no tensor takes the place of are numbers, also those that nothing computes with.
        unread.iter().for_each(SymFloat::needs_numbers);
        env.restart_with_numbers() || is_abandoned
    })
}

/// Compiles a captured graph. One that `is_abandoned` AOTAutograd traces, and asks for it to be captured again.
pub fn compile_graph(function: &CompiledFunction, captured: &CapturedGraph, number: u32, is_abandoned: bool) -> Result<Runner> {
    let graph = captured.traced();
    match &function.asked.backend {
        Backend::Named(name) => match pipeline(name)? {
            None => Ok(Rc::new(move |inputs| replay_graph(&graph, &mut { inputs }))),
            Some(pipeline) => {
                let specs = specs(captured)?;
                let given = specs.clone();
                let f: aot::Function =
                    Rc::new(move |inputs| replay_graph(&graph, &mut given.iter().zip(inputs).map(|(spec, t)| spec.argument(t)).collect()));
                let is_outdated = Some(is_outdated(captured, is_abandoned));
                let freezing = freezing::freezing(captured, pipeline.passes.is_some());
                let mut config = Config { is_outdated, freezing, ..config(&pipeline, pipeline.keep_input_mutations, Some(number)) };
                checked::look_at(&mut config, Some(&captured.graph));
                let compiled = aot::compile(&f, &specs, &config)?;
                Ok(Rc::new(move |inputs| compiled.call(as_tensors(inputs)?)))
            }
        },
        Backend::Custom(backend) => rustpython_vm::vm::thread::with_current_vm(|vm| {
            // The script sees the tensors of the call; what it hands on to AOTAutograd is traced with their fake tensors.
            let mut inputs = captured.inputs.iter();
            let mut attributes: Vec<(usize, Tensor)> = Vec::new();
            let mut examples: Vec<Value> = Vec::new();
            for (position, node) in graph.placeholders().enumerate() {
                match &node.meta.value {
                    Some(FakeValue::Int(size)) => examples.push(Value::Int(size.clone())),
                    _ => match inputs.next() {
                        Some(input) if input.source.attribute.is_some() => attributes.push((position, input.real.clone())),
                        Some(input) => examples.push(Value::Tensor(input.real.clone())),
                        None => {}
                    },
                }
            }
            let attributes: Attributes = attributes.into();
            let own: Vec<usize> = attributes.iter().map(|(position, _)| *position).collect();
            let written = captured.written();
            let is_parameter = |t: &Tensor| wrap(t, vm).is_ok_and(|o| &*o.class().name() == "Parameter");
            let is_parameter: HashSet<&str> =
                captured.inputs.iter().filter(|i| is_parameter(&i.real)).map(|i| i.source.name.as_str()).collect();
            let parameters = written.placeholders().filter(|n| is_parameter.contains(n.target.text().as_str())).map(|n| n.id).collect();
            let module = script_module(PyGraphModule::captured(graph, written, parameters, attributes), vm).map_err(raised)?;
            let examples = examples
                .into_iter()
                .map(|v| crate::python::native::tensor::from_value(v, vm))
                .collect::<PyResult<Vec<_>>>()
                .map_err(raised)?;
            let known = captured.inputs.iter().map(|i| (i.real.clone(), i.fake_tensor.clone(), i.spec.clone())).collect();
            set_compiling(Some(Compiling { number, inputs: known, is_outdated: is_outdated(captured, is_abandoned) }));
            let made = backend.call((module, vm.ctx.new_list(examples)), vm);
            set_compiling(None);
            let callable = made.map_err(raised)?;
            if !callable.is_callable() {
                return Err(Error::new(ErrorKind::Assertion, "compiler_fn did not return callable"));
            }
            Ok(Rc::new(move |inputs: Vec<Value>| {
                let is_given = |position: &usize| !own.contains(position);
                call_python(&callable, inputs.into_iter().enumerate().filter(|(i, _)| is_given(i)).map(|(_, v)| v).collect())
            }) as Runner)
        }),
    }
}

/// What a script sees of an error that a backend raised: `torch._dynamo.exc.BackendCompilerFailed`.
pub fn backend_failed(backend: &Backend, error: Error) -> Error {
    rustpython_vm::vm::thread::with_current_vm(|vm| {
        let inner: PyObjectRef = raise(error, vm).into();
        let name: PyObjectRef = match backend {
            Backend::Named(name) => vm.ctx.new_str(name.as_str()).into(),
            Backend::Custom(callable) => callable.clone(),
        };
        let class =
            crate::python::native::calls::imported("torch._dynamo.exc", vm).and_then(|module| module.get_attr("BackendCompilerFailed", vm));
        let made = class.and_then(|class| class.call((name, inner), vm));
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
