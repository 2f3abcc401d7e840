//! Native functions behind `torch._functorch.aot_autograd`, `make_fx` and `torch.export`: functions traced by themselves, without
//! `torch.compile` around them.

use std::cell::RefCell;
use std::rc::Rc;

use rustpython_vm::{PyObjectRef, PyResult, VirtualMachine};

use crate::aot::schemas::{GraphCallable, GraphCompiler, InputSpec, ViewAndMutationMeta};
use crate::dispatch::Value;
use crate::error::Result;
use crate::tensor::Tensor;

thread_local! {
    static COMPILING: RefCell<Option<Compiling>> = const { RefCell::new(None) };
    /// What a partitioner of ours decided when a script called it.
    static LAST_PARTITION: RefCell<Option<crate::report::Partition>> = const { RefCell::new(None) };
}

/// A captured graph that a backend of the script's compiles.
pub struct Compiling {
    /// Its number.
    pub number: u32,
    /// Its inputs, with their fake tensors and what is known of them.
    pub inputs: Vec<(Tensor, Tensor, InputSpec)>,
    /// Whether it is to be captured again, as AOTAutograd finds out.
    pub is_outdated: Rc<dyn Fn() -> bool>,
}

/// What a partitioner of ours decided since the last time this was asked.
pub fn take_last_partition() -> Option<crate::report::Partition> {
    LAST_PARTITION.take()
}

/// Says which captured graph a backend of the script's compiles.
pub fn set_compiling(compiling: Option<Compiling>) {
    COMPILING.set(compiling);
}

/// The fake tensor of an input of the captured graph that a backend of the script's compiles.
pub fn fake_tensor(t: &Tensor) -> Option<Tensor> {
    known_input(t, |(_, fake_tensor, _)| fake_tensor.clone())
}

fn known_input<R>(t: &Tensor, of: impl FnOnce(&(Tensor, Tensor, InputSpec)) -> R) -> Option<R> {
    COMPILING.with_borrow(|compiling| compiling.as_ref()?.inputs.iter().find(|(real, ..)| real.is(t)).map(of))
}

/// What is known of an input: of one of the captured graph's, what a named backend is told.
fn spec_of(t: &Tensor) -> Result<InputSpec> {
    known_input(t, |(.., spec)| spec.clone()).map_or_else(|| InputSpec::of(t), Ok)
}

/// What a compiler of the script's gave. Of a graph without a backward autograd sees which results are views of others.
struct PythonCompiled {
    callable: PyObjectRef,
    is_inference: bool,
}

impl GraphCallable for PythonCompiled {
    fn call(&self, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
        let _below = (!self.is_inference).then(|| crate::dispatch::Exclude::down_to(crate::dispatch::Key::Autograd));
        crate::dynamo::backends::call_python(&self.callable, std::mem::take(inputs))
    }
}

/// A compiler of the script's: called with a `GraphModule` and fake examples, gives a callable.
fn python_compiler(compiler: PyObjectRef, is_inference: bool) -> GraphCompiler {
    use super::graph_module::{PyGraphModule, script_module};
    use crate::python::native::tensor::{from_value, raised};
    use rustpython_vm::PyResult;
    Rc::new(move |graph, examples| {
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            let module = script_module(PyGraphModule::new(graph), vm).map_err(raised)?;
            let examples = examples.iter().map(|v| from_value(v.clone(), vm)).collect::<PyResult<Vec<_>>>().map_err(raised)?;
            let callable = compiler.call((module, vm.ctx.new_list(examples)), vm).map_err(raised)?;
            Ok(Rc::new(PythonCompiled { callable, is_inference }) as Rc<dyn GraphCallable>)
        })
    })
}

/// Mutation and aliasing, as keyword arguments of `ViewAndMutationMeta`; of inputs and outputs those of their own classes.
fn metadata_of(metadata: &ViewAndMutationMeta, vm: &VirtualMachine) -> PyResult {
    let dict = |items: Vec<(&str, PyObjectRef)>| -> PyResult {
        let made = vm.ctx.new_dict();
        items.into_iter().try_for_each(|(name, value)| made.set_item(name, value, vm))?;
        Ok(made.into())
    };
    let flag = |b: bool| PyObjectRef::from(vm.ctx.new_bool(b));
    let number = |i: usize| PyObjectRef::from(vm.ctx.new_int(i));
    let inputs = metadata.input_info.iter().map(|i| {
        dict(vec![
            ("is_leaf", flag(i.is_leaf)),
            ("mutates_data", flag(i.mutates_data)),
            ("mutates_metadata", flag(i.mutates_metadata || i.data_replaced)),
            ("mutations_hidden_from_autograd", flag(i.mutations_hidden_from_autograd)),
            ("mutations_under_no_grad_or_inference_mode", flag(i.mutations_under_no_grad_or_inference_mode)),
            ("mutates_storage_metadata", flag(i.data_replaced)),
            ("requires_grad", flag(i.requires_grad)),
            ("keep_input_mutations", flag(metadata.keep_input_mutations)),
        ])
    });
    let outputs = metadata.output_info.iter().map(|o| {
        dict(vec![
            ("output_type", vm.ctx.new_str(o.output_type.name()).into()),
            ("is_tensor", flag(o.spec.is_some())),
            ("base_idx", o.base_idx.map_or_else(|| vm.ctx.none(), number)),
            ("requires_grad", flag(o.requires_grad)),
            ("requires_grad_for_backward", flag(o.requires_grad_for_backward)),
        ])
    });
    let (inputs, outputs) = (inputs.collect::<PyResult<Vec<_>>>()?, outputs.collect::<PyResult<Vec<_>>>()?);
    dict(vec![
        ("input_info", vm.ctx.new_list(inputs).into()),
        ("output_info", vm.ctx.new_list(outputs).into()),
        ("num_intermediate_bases", number(metadata.num_intermediate_bases)),
        ("keep_input_mutations", flag(metadata.keep_input_mutations)),
        ("grad_enabled_mutation", metadata.grad_enabled_mutation.map_or_else(|| vm.ctx.none(), flag)),
        ("static_input_indices", vm.ctx.new_list(metadata.static_inputs.iter().map(|i| number(*i)).collect()).into()),
        ("num_tokens", number(metadata.num_tokens())),
    ])
}

pub(crate) use native::module_def;

#[pymodule(name = "torch._native_aot")]
mod native {
    use std::rc::Rc;

    use rustpython_vm::builtins::PyStrRef;
    use rustpython_vm::function::FuncArgs;
    use rustpython_vm::types::Callable;
    use rustpython_vm::{AsObject, Py, PyObjectRef, PyPayload, PyResult, VirtualMachine};

    use crate::aot::schemas::{Config, InputSpec};
    use crate::aot::{self};
    use crate::dispatch::Value;
    use crate::dynamo::backends;
    use crate::partition::{PartitionConfig, Partitioner};
    use crate::python::native::graph_module::{self, Attributes, PyGraphModule};
    use crate::python::native::tensor::{from_value, items, raise, raised, to_value};
    use crate::tensor::Tensor;

    /// A function compiled by AOTAutograd alone.
    #[pyattr]
    #[pyclass(module = "torch._functorch.aot_autograd", name = "CompiledFunction")]
    #[derive(PyPayload)]
    struct PyAot(aot::Compiled, Attributes);

    impl std::fmt::Debug for PyAot {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("CompiledFunction")
        }
    }

    impl Callable for PyAot {
        type Args = FuncArgs;
        fn call(zelf: &Py<Self>, args: FuncArgs, vm: &VirtualMachine) -> PyResult {
            // What is no tensor holds its place by a number; the graph has it for a constant.
            let place = |v: Value| if matches!(v, Value::Tensor(_) | Value::Int(_)) { v } else { Value::from(0) };
            let mut inputs: Vec<Value> = args.args.iter().filter_map(|o| to_value(o, vm)).map(place).collect();
            graph_module::with_attributes(&zelf.1, &mut inputs, |t| Value::Tensor(t.clone()));
            let inputs = backends::as_tensors(inputs).map_err(|e| raise(e, vm))?;
            let out = zelf.0.call(inputs).map_err(|e| raise(e, vm))?;
            let items = out.into_iter().map(|v| from_value(v, vm)).collect::<PyResult<Vec<_>>>()?;
            Ok(vm.ctx.new_list(items).into())
        }
    }

    #[pyclass(with(Callable))]
    impl PyAot {}

    fn option(args: &FuncArgs, name: &str, vm: &VirtualMachine) -> Option<PyObjectRef> {
        args.kwargs.get(name).filter(|o| !vm.is_none(o)).cloned()
    }

    /// A Python function of tensors that gives a list, or a captured graph, and what is known of its inputs.
    fn traced_function(function: PyObjectRef, inputs: &PyObjectRef, vm: &VirtualMachine) -> PyResult<(aot::Function, Vec<InputSpec>)> {
        let inputs: Vec<PyObjectRef> = inputs.try_to_value(vm)?;
        let mut specs = inputs
            .iter()
            .map(|o| match to_value(o, vm) {
                Some(Value::Tensor(t)) => super::spec_of(&t).map_err(|e| raise(e, vm)),
                Some(plain) => Ok(InputSpec::of_plain(plain)),
                None => Err(vm.new_type_error("AOTAutograd's inputs must be tensors, numbers or texts")),
            })
            .collect::<PyResult<Vec<_>>>()?;
        let module = graph_module::native(&function, vm);
        if let Some(module) = &module {
            for (position, t) in module.attributes.iter() {
                specs.insert((*position).min(specs.len()), super::spec_of(t).map_err(|e| raise(e, vm))?);
            }
        }
        let f: aot::Function = match module {
            // A captured graph is replayed with the lines it came from.
            Some(module) => {
                let (graph, specs) = (module.graph.clone(), specs.clone());
                Rc::new(move |inputs: &[Tensor]| {
                    let mut inputs = specs.iter().zip(inputs).map(|(spec, t)| spec.argument(t)).collect();
                    aot::replay_graph(&graph.borrow(), &mut inputs)
                })
            }
            None => {
                let specs = specs.clone();
                Rc::new(move |inputs: &[Tensor]| {
                    rustpython_vm::vm::thread::with_current_vm(|vm| {
                        let args = specs.iter().zip(inputs).map(|(spec, t)| from_value(spec.argument(t), vm));
                        let out = function.call(FuncArgs::from(args.collect::<PyResult<Vec<_>>>().map_err(raised)?), vm).map_err(raised)?;
                        match to_value(&out, vm) {
                            Some(Value::List(items)) => Ok(items),
                            Some(single) => Ok(vec![single]),
                            None => {
                                let class = |o: &PyObjectRef| to_value(o, vm).is_none().then(|| o.class().to_owned());
                                let wrong = items(&out).iter().flatten().find_map(class).unwrap_or_else(|| out.class().to_owned());
                                Err(crate::python::native::make_fx::no_output(wrong.as_object(), vm))
                            }
                        }
                    })
                })
            }
        };
        Ok((f, specs))
    }

    /// `_aot_compile(flat_function, inputs, fw_compiler=, bw_compiler=, inference_compiler=, partition_fn=, keep_inference_input_mutations=)`:
    /// `flat_function` takes tensors and returns a list; with `dynamic`, all its sizes are symbols; compilers default to running
    /// graphs as they are.
    #[pyfunction]
    fn _aot_compile(args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let (Some(function), Some(inputs)) = (args.args.first().cloned(), args.args.get(1)) else {
            return Err(vm.new_type_error("_aot_compile() takes a function and its inputs"));
        };
        let module = graph_module::native(&function, vm);
        let attributes = module.as_ref().map(|m| m.attributes.clone()).unwrap_or_default();
        let captured = module.map(|m| m.graph.borrow().clone());
        let (mut f, mut specs) = traced_function(function, inputs, vm)?;
        if option(&args, "dynamic", vm).is_some_and(|o| o.is(&vm.ctx.true_value)) {
            let inputs = crate::python::native::make_fx::values_of(&inputs.try_to_value::<Vec<PyObjectRef>>(vm)?, vm)?;
            let (fake_tensors, symbols) =
                crate::python::native::make_fx::fake_inputs(inputs, "__meta_utils_unknown_tensor", true).map_err(|e| raise(e, vm))?;
            // Sizes that values decide are symbols, too.
            let (called, env) = (f, symbols.env);
            f = Rc::new(move |inputs: &[Tensor]| {
                let env = env.clone();
                let _naming = crate::dispatch::Naming::new(Rc::new(move |most| env.unbacked_size(most)));
                called(inputs)
            });
            for (spec, fake) in specs.iter_mut().zip(&fake_tensors) {
                match fake {
                    Value::Tensor(t) => spec.spec = t.spec(),
                    plain => spec.plain = Some(plain.clone()),
                }
            }
        }
        let partition_fn = option(&args, "partition_fn", vm);
        let named = partition_fn
            .as_ref()
            .and_then(|o| o.downcast_ref::<rustpython_vm::builtins::PyStr>().map(|s| s.to_string_lossy().into_owned()));
        let partitioner = if named.as_deref() == Some("min_cut") { Partitioner::MinCut } else { Partitioner::Default };
        let keep = option(&args, "keep_inference_input_mutations", vm).is_some_and(|o| o.is(&vm.ctx.true_value));
        let compiling = super::COMPILING.with_borrow(|compiling| compiling.as_ref().map(|c| (c.number, c.is_outdated.clone())));
        let (number, is_outdated) = compiling.unzip();
        let mut config = Config { is_outdated, ..backends::config(&backends::Pipeline::plain(partitioner), keep, number) };
        if let (None, Some(split)) = (&named, partition_fn) {
            config.partition_fn = Some(backends::scripted::partition_fn(split, false));
        }
        if let Some(table) = option(&args, "decompositions", vm) {
            let table = table.downcast().map_err(|_| vm.new_type_error("decompositions must be a dict"))?;
            config.script_decompositions = Some(crate::python::native::make_fx::decompose_by(&table, vm)?);
        }
        if option(&args, "force_non_lazy_backward_lowering", vm).is_some_and(|o| o.is(&vm.ctx.true_value)) {
            config.switches.force_non_lazy_backward_lowering = true;
        }
        backends::checked::look_at(&mut config, captured.as_ref());
        // A compiler of the script's own gets PyTorch's graphs as they are.
        config.replay_random = option(&args, "fw_compiler", vm).is_none() && option(&args, "bw_compiler", vm).is_none();
        if let Some(c) = option(&args, "fw_compiler", vm) {
            config.fw_compiler = super::python_compiler(c.clone(), false);
            config.bw_compiler = super::python_compiler(c.clone(), false);
            config.inference_compiler = super::python_compiler(c, true);
        }
        if let Some(c) = option(&args, "bw_compiler", vm) {
            config.bw_compiler = super::python_compiler(c, false);
        }
        if let Some(c) = option(&args, "inference_compiler", vm) {
            config.inference_compiler = super::python_compiler(c, true);
        }
        if let Some(check) = &mut config.check {
            check.runs_graphs_again =
                ["fw_compiler", "bw_compiler", "inference_compiler"].iter().all(|name| option(&args, name, vm).is_none());
        }
        let compiled = aot::compile(&f, &specs, &config).map_err(|e| raise(e, vm))?;
        Ok(PyAot(compiled, attributes).into_pyobject(vm))
    }

    /// The graph that is being compiled, `None` where none is, and how many were before.
    #[pyfunction]
    fn _graph_being_compiled() -> (Option<String>, u64) {
        aot::context::graph_being_compiled()
    }

    /// Whether there is a tracing context, and what it knows of mutation and aliasing: `None` before that was found out.
    #[pyfunction]
    fn _tracing_context(vm: &VirtualMachine) -> PyResult<(bool, PyObjectRef)> {
        let metadata = aot::context::fw_metadata();
        let exists = metadata.is_some() || super::COMPILING.with_borrow(Option::is_some);
        Ok((exists, metadata.map_or_else(|| Ok(vm.ctx.none()), |metadata| super::metadata_of(&metadata, vm))?))
    }

    /// `_make_fx(flat_function, names, inputs, class_name, mode, table, pre_dispatch)`: what the function calls, as a graph.
    #[pyfunction]
    #[allow(clippy::too_many_arguments, reason = "Python's side gives them one by one")]
    fn _make_fx(
        function: PyObjectRef,
        names: Vec<String>,
        inputs: Vec<PyObjectRef>,
        class_name: PyStrRef,
        mode: PyStrRef,
        table: Option<rustpython_vm::builtins::PyDictRef>,
        pre_dispatch: bool,
        vm: &VirtualMachine,
    ) -> PyResult {
        let class_name = class_name.to_string_lossy().into_owned();
        crate::python::native::make_fx::trace(function, names, inputs, class_name, &mode.to_string_lossy(), table, pre_dispatch, vm)
    }

    /// `_export(flat_function, names, inputs, state, symbols)`: the graph of what is called, and the constants it reads.
    #[pyfunction]
    fn _export(
        function: PyObjectRef,
        names: Vec<String>,
        inputs: Vec<PyObjectRef>,
        state: usize,
        symbols: PyObjectRef,
        vm: &VirtualMachine,
    ) -> PyResult {
        let env = crate::python::native::tensor::environment_of(&symbols)
            .ok_or_else(|| vm.new_type_error("_export() takes an environment of symbols"))?;
        crate::python::native::export::called(function, &names, &inputs, state, env, vm)
    }

    /// The name of a value in the graph that is being traced; `None` for what is no value of it.
    #[pyfunction]
    fn _traced_name(value: PyObjectRef, vm: &VirtualMachine) -> Option<String> {
        let traced = to_value(&value, vm)?;
        crate::aot::trace::current_tracer()?.name_of(&traced)
    }

    /// `_exported_functional(graph, inputs, rules, apart)`: the graph functionalized, and of each input whether it is written to.
    #[pyfunction]
    fn _exported_functional(
        function: PyObjectRef,
        inputs: PyObjectRef,
        rules: rustpython_vm::builtins::PyDictRef,
        apart: Vec<String>,
        vm: &VirtualMachine,
    ) -> PyResult {
        let (f, specs) = traced_function(function, &inputs, vm)?;
        crate::python::native::export::functionalized(&f, &specs, rules, apart, vm)
    }

    /// The compiler's graph of a module of `torch.fx` whose nodes say what their values look like.
    #[pyfunction]
    fn _graph_of(module: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let graph = crate::python::native::edited_graph::graph_with_its_values(&module, vm)?;
        Ok(graph_module::PyGraphModule::new(graph).into_pyobject(vm))
    }

    /// Names of operators that exported programs may keep, though they are composed of others.
    #[pyfunction]
    fn _may_stay_whole(vm: &VirtualMachine) -> PyObjectRef {
        let names = crate::python::native::export::may_stay_whole();
        vm.ctx.new_list(names.into_iter().map(|name| vm.ctx.new_str(name).into()).collect()).into()
    }

    /// `_functionalize(flat_function, inputs, copies_views)`: what the function gives, its writes made functional.
    #[pyfunction]
    fn _functionalize(function: PyObjectRef, inputs: Vec<PyObjectRef>, copies_views: bool, vm: &VirtualMachine) -> PyResult {
        crate::python::native::make_fx::functionalize(function, &inputs, copies_views, vm)
    }

    /// `_decomposed(overload, *args, **kwargs)`: what the call comes to by Inductor's table, or `NotImplemented`.
    #[pyfunction]
    fn _decomposed(mut args: FuncArgs, vm: &VirtualMachine) -> PyResult {
        let operator = args.take_positional().ok_or_else(|| vm.new_type_error("_decomposed() takes an operator"))?;
        crate::python::native::make_fx::decomposed(&operator, args, vm)
    }

    /// Overloads that Inductor's table has rules for.
    #[pyfunction]
    fn _decomposition_names(vm: &VirtualMachine) -> PyObjectRef {
        let names = crate::decompositions::inductor_with_eager_random().names();
        vm.ctx.new_list(names.into_iter().map(|name| vm.ctx.new_str(name).into()).collect()).into()
    }

    /// The names of operators that take functions or operators.
    #[pyfunction]
    fn _higher_order_names(vm: &VirtualMachine) -> PyObjectRef {
        vm.ctx.new_list(aot::higher_order_names().into_iter().map(|name| vm.ctx.new_str(name).into()).collect()).into()
    }

    /// `_aot_export(flat_function, inputs, "inference" | "joint" | "loss", table, reports)`: the graph, operators taken apart by the table;
    /// of each input whether it is mutated; of each output what it aliases, whether it requires grad, and its sizes; all that is known of
    /// mutation and aliasing, as text and as a dict. With `reports`, the report shows the graph.
    #[pyfunction]
    fn _aot_export(
        function: PyObjectRef,
        inputs: PyObjectRef,
        kind: PyStrRef,
        table: Option<rustpython_vm::builtins::PyDictRef>,
        reports: bool,
        vm: &VirtualMachine,
    ) -> PyResult {
        use crate::aot::export::{Exported, export};
        let kind = match &*kind.to_string_lossy() {
            "inference" => Exported::Inference,
            "joint" => Exported::Joint,
            _ => Exported::OfLoss,
        };
        let (f, specs) = traced_function(function, &inputs, vm)?;
        let mut config = backends::config(&backends::Pipeline::plain(Partitioner::Default), false, None);
        config.script_decompositions = table.map(|table| crate::python::native::make_fx::decompose_by(&table, vm)).transpose()?;
        if !reports {
            config.observer = None;
        }
        let (graph, metadata) = export(&f, &specs, &config, kind).map_err(|e| raise(e, vm))?;
        let module = graph_module::script_module(PyGraphModule::new((*graph).clone()), vm)?;
        let flag = |b: bool| PyObjectRef::from(vm.ctx.new_bool(b));
        let mutated = metadata.input_info.iter().map(|i| flag(i.mutates_data || i.mutates_metadata)).collect();
        let outputs = metadata.output_info.iter().map(|o| {
            let sizes = o.spec.iter().flat_map(|s| &s.geometry.sizes).map(|size| from_value(Value::Int(size.clone()), vm));
            let sizes = vm.ctx.new_tuple(sizes.collect::<PyResult<Vec<_>>>()?);
            Ok(vm.ctx.new_tuple(vec![vm.ctx.new_str(o.output_type.name()).into(), flag(o.requires_grad), sizes.into()]).into())
        });
        let outputs = outputs.collect::<PyResult<Vec<_>>>()?;
        Ok(vm
            .ctx
            .new_tuple(vec![
                module,
                vm.ctx.new_list(mutated).into(),
                vm.ctx.new_list(outputs).into(),
                vm.ctx.new_str(metadata.text()).into(),
                super::metadata_of(&metadata, vm)?,
            ])
            .into())
    }

    /// `_partition(joint, num_fwd_outputs, "default" | "min_cut", static_inputs)`: two graph modules.
    #[pyfunction]
    fn _partition(joint: PyObjectRef, num_fwd_outputs: usize, name: PyStrRef, static_inputs: PyObjectRef, vm: &VirtualMachine) -> PyResult {
        let static_inputs: Vec<usize> = static_inputs.try_to_value(vm)?;
        let joint = crate::python::native::edited_graph::graph_of(&joint, vm)?;
        let partitioner = if &*name.to_string_lossy() == "min_cut" { Partitioner::MinCut } else { Partitioner::Default };
        let config = PartitionConfig { static_inputs, ..crate::dynamo::backends::config::partition(partitioner) };
        let split = crate::partition::partition(&joint, num_fwd_outputs, &config).map_err(|e| raise(e, vm))?;
        super::LAST_PARTITION.set(Some(split.report));
        let parts = [split.forward, split.backward].map(|part| graph_module::script_module(PyGraphModule::new(part), vm));
        let parts = parts.into_iter().collect::<PyResult<Vec<_>>>()?;
        Ok(vm.ctx.new_tuple(parts).into())
    }
}
