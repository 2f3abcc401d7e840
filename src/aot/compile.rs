//! The pipeline: analyse, trace, partition, compile, wrap.

use super::check::Check;
use super::context::{self, GraphBeingCompiled, Known};
use super::dedupe::{dedupe, leave_unwritten};
use super::effects;
use super::epilogue::Epilogue;
use super::freezing::freeze;
use super::higher_order;
use super::joint::{trace_inference, trace_joint};
use super::metadata::collect;
use super::philox::{hide_seed, hiding_seed};
use super::runtime::{Lowering, Runtime, views_of};
use super::schemas::{
    Adapt, Artifacts, Checking, Config, Freezing, FrozenGraph, Function, GraphCallable, GraphPass, InputSpec, OutputInfo,
    ViewAndMutationMeta,
};
use super::synthetic_base;
use super::tensorify::tensorify;
use crate::dispatch::{Exclude, Key, Modes, Value, modes, set_modes};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::partition::op_sets::is_seeded;
use crate::partition::{EagerGraph, Partitioned, Study, partition, split_regions};
use crate::tensor::{Dtype, Tensor};
use std::rc::Rc;

/// A compiled function.
pub struct Compiled {
    /// The wrapper that runs it.
    pub runtime: Runtime,
    /// From the caller's inputs to those of the wrapper: duplicates gone, aliases merged into their bases.
    adapt: Vec<Adapt>,
}

impl Compiled {
    /// Calls it on real tensors; mutations and aliases come out as the function's own.
    pub fn call(&self, inputs: Vec<Tensor>) -> Result<Vec<Value>> {
        let call = |inputs| self.runtime.call(self.adapt.iter().try_fold(inputs, |given, adapt| adapt(given))?);
        match &self.runtime.check {
            Some(check) => check.around(inputs, &call),
            None => call(inputs),
        }
    }
}

/// Gives a graph those of its inputs that are no tensors: between tensors a symbolic size travels as a tensor that holds it, and what is
/// a constant of the graph as a tensor that nothing reads.
struct WithPlain {
    graph: Rc<dyn GraphCallable>,
    /// Which of the graph's inputs, and the constant that it is.
    plain: Vec<(usize, Option<Value>)>,
}

impl GraphCallable for WithPlain {
    fn call(&self, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
        for (i, constant) in &self.plain {
            if let Some(Value::Tensor(t)) = inputs.get(*i) {
                inputs[*i] = match constant {
                    Some(constant) => constant.clone(),
                    None => crate::aten!("_local_scalar_dense", t)?,
                };
            }
        }
        self.graph.call(inputs)
    }
}

/// Fake examples of a graph's inputs; what is a constant of the graph is its own.
fn examples(graph: &Graph, inputs: &[InputSpec], metadata: &ViewAndMutationMeta) -> Result<Vec<Value>> {
    let mut examples: Vec<Value> = graph.placeholders().map(example).collect::<Result<_>>()?;
    for (i, spec) in inputs.iter().enumerate().filter(|(_, spec)| spec.symbol().is_none()) {
        if let Some(plain) = &spec.plain {
            metadata.graph_inputs(i).for_each(|at| examples[metadata.num_tokens() + at] = plain.clone());
        }
    }
    Ok(examples)
}

fn with_plain(graph: Rc<dyn GraphCallable>, inputs: &[InputSpec], metadata: &ViewAndMutationMeta) -> Rc<dyn GraphCallable> {
    let constant = |spec: &InputSpec| if spec.symbol().is_some() { None } else { spec.plain.clone() };
    let plain: Vec<(usize, Option<Value>)> = (0..inputs.len())
        .filter(|i| inputs[*i].plain.is_some())
        .flat_map(|i| metadata.graph_inputs(i).map(move |at| (at, i)))
        .map(|(at, i)| (at, constant(&inputs[i])))
        .collect();
    if plain.is_empty() { graph } else { Rc::new(WithPlain { graph, plain }) }
}

/// What is no tensor among tensors, as one that holds `size`: what [`Compiled::call`] takes for it.
pub fn size_as_tensor(size: i64) -> Result<Tensor> {
    let _below = Exclude::down_to(Key::Autograd);
    crate::t!("full", Vec::<i64>::new(), size; dtype = Dtype::Int64)
}

/// Compiles a function for inputs like these.
pub fn compile(f: &Function, inputs: &[InputSpec], config: &Config) -> Result<Compiled> {
    higher_order::register();
    let before = modes();
    // Nothing above autograd sees what happens while tracing.
    let _capture = Exclude::only(Key::Capture);
    let _hooks = crate::autograd::WithoutSavedTensorHooks::new();
    let outcome = super::interpret::with_items(|| compile_inner(f, inputs, config));
    set_modes(Modes { fake: before.fake, ..modes() });
    set_modes(before);
    outcome
}

fn compile_inner(f: &Function, inputs: &[InputSpec], config: &Config) -> Result<Compiled> {
    let takes_seed = config.switches.functionalize_rng_ops;
    if takes_seed && !crate::tensor::pretends_cuda() {
        return Err(Error::runtime("CUDA not available"));
    }
    let id = context::next_compilation();
    // Whether gradients are on where the function is called does not matter: it may turn them on.
    let wants_grad = inputs.iter().any(|i| i.requires_grad);
    let mut metadata = collect(&**f, inputs, config.keep_input_mutations)?;
    let differentiates = wants_grad
        && (metadata.output_info.iter().any(|o| o.requires_grad && !views_differentiable_input(o, &metadata))
            || metadata.input_info.iter().any(|i| {
                i.requires_grad && i.mutates_data && !i.mutations_hidden_from_autograd && !i.mutations_under_no_grad_or_inference_mode
            }));
    let function = f;
    let (mut f, mut inputs, mut adapt, mut prologue) = (f.clone(), inputs.to_vec(), Vec::new(), Vec::new());
    if let Some(adapted) = dedupe(&f, &inputs, &metadata) {
        (f, inputs) = (adapted.function, adapted.inputs);
        adapt.push(adapted.adapt);
        prologue.push(adapted.code);
        metadata = collect(&*f, &inputs, config.keep_input_mutations)?;
    }
    leave_unwritten(&mut inputs);
    if let Some((adapted, merged)) = synthetic_base::merge(&f, &inputs, &metadata, !differentiates)? {
        if metadata.requires_subclass_dispatch() {
            return Err(Error::not_implemented(
                "inputs that share memory and are written to, together with tensor subclasses, are not supported in compiled functions",
            ));
        }
        (f, inputs) = (adapted.function, adapted.inputs);
        adapt.push(adapted.adapt);
        prologue.push(adapted.code);
        if differentiates {
            synthetic_base::check_tangents(&metadata, &merged, &inputs)?;
        }
        metadata = merged;
    }
    let (f, inputs) = (&f, &inputs[..]);
    metadata.switches = config.switches;
    metadata.static_inputs = (0..inputs.len()).filter(|i| inputs[*i].is_static).collect();
    config.switches.check(inputs, &metadata)?;
    let check = |metadata: &ViewAndMutationMeta, traced: &Rc<Graph>, is_joint: bool| {
        let refusal =
            draws_otherwise(config, traced).then(|| "random numbers are drawn otherwise than in eager mode, as in PyTorch".to_owned());
        let checking =
            config.check.as_ref().map(|checking| Checking { refusal: checking.refusal.clone().or(refusal), ..checking.clone() })?;
        let (metadata, traced) = (metadata.clone(), traced.clone());
        Some(Rc::new(Check { checking, function: function.clone(), adapted: f.clone(), metadata, traced, is_joint }))
    };
    let known = config.is_captured.then(|| Rc::new(metadata.clone()));
    let _known = Known::new(known.clone());
    if differentiates {
        let tracing = GraphBeingCompiled::new(id, "joint");
        let (joint, gradients) = trace_joint(f, inputs, &metadata, config)?;
        let joint = Rc::new(joint);
        config.switches.check_graph(&joint)?;
        let mut of_tensors = tensorify(&joint)?;
        config.stop_if_outdated(&joint, true, &metadata)?;
        if let Some(pass) = &config.custom_passes.joint {
            of_tensors = Rc::new(pass(Rc::unwrap_or_clone(of_tensors))?);
        }
        let check = check(&metadata, &joint, true);
        let examples = examples(&joint, inputs, &metadata)?;
        let tokens = metadata.num_tokens();
        let num_fwd = tokens + metadata.num_forward_returns() + usize::from(takes_seed);
        let mut options = config.partition.clone();
        let in_graph = |i: usize| metadata.graph_inputs(i).map(|p| tokens + p);
        // PyTorch counts them before classes of the script's are taken apart.
        options.static_inputs = (0..inputs.len()).filter(|i| inputs[*i].is_static).map(|i| tokens + i).collect();
        let replayed = metadata.runtime_mutated().into_iter().filter(|i| metadata.input_info[*i].requires_grad);
        options.replayed_mutations = replayed.flat_map(in_graph).collect();
        let whole = with_passes(of_tensors, config, &options.replayed_mutations)?;
        let whole = if config.partition_fn.is_some() { whole } else { split_regions(whole, &options)? };
        let mut partitioned = match &config.partition_fn {
            Some(split) => {
                let (forward, backward, report) = split(&whole, num_fwd, &options.static_inputs)?;
                own_partition(forward, backward, num_fwd, report)
            }
            None => partition(&whole, num_fwd, &options)?,
        };
        drop(tracing);
        let study = Study::new(whole, num_fwd, options);
        let is_eager = config.decompositions.is_none() && config.script_decompositions.is_none() && config.passes.is_none();
        let study = Some(Rc::new(if is_eager { study } else { study.with_eager(as_eager(f, inputs, &metadata, config)) }));
        if let Some(observer) = &config.observer {
            let (prologue, epilogue) = around(prologue, &joint, &metadata, true);
            let metadata = metadata.clone();
            let artifacts = Artifacts {
                traced: joint,
                is_joint: true,
                metadata,
                partitioned: Some(partitioned),
                study,
                prologue,
                epilogue,
                is_abandoned: false,
                frozen: None,
            };
            observer(&artifacts);
            partitioned = artifacts.partitioned.ok_or_else(|| Error::runtime("a partition was lost"))?;
        }
        if let Some(parts) = partitioned.replaying.take().filter(|_| config.replay_random) {
            (partitioned.forward, partitioned.backward) = *parts;
        }
        let Partitioned { forward, backward, num_saved_symints, .. } = partitioned;
        let views = views_of(&forward).split_off(tokens);
        let num_inputs = tokens
            + (0..inputs.len()).map(|i| metadata.graph_inputs(i).len()).sum::<usize>()
            + usize::from(metadata.backward_state.is_some());
        let forward = {
            let _compiling = GraphBeingCompiled::new(id, "forward");
            let mut given = examples[..num_inputs.min(examples.len())].to_vec();
            if takes_seed {
                // Behind the tangents stand the seeds and offsets of forward and backward.
                given.extend_from_slice(&examples[examples.len() - 4..examples.len() - 2]);
            }
            let compiled = (config.fw_compiler)(forward, &given)?;
            if takes_seed { hide_seed(compiled, Some(num_fwd - 1)) } else { compiled }
        };
        let forward = with_plain(effects::hide_token(forward, metadata.has_token), inputs, &metadata);
        let at_once = num_saved_symints > 0 || config.switches.force_non_lazy_backward_lowering;
        let compiler = if takes_seed { hiding_seed(&config.bw_compiler) } else { config.bw_compiler.clone() };
        let backward = Lowering { id, graph: Rc::new(backward), gradients, compiler, known };
        let mut runtime = Runtime::joint(metadata, forward, views, backward, at_once)?;
        runtime.check = check;
        return Ok(Compiled { runtime, adapt });
    }
    let compiling = GraphBeingCompiled::new(id, "inference");
    let graph = Rc::new(trace_inference(f, inputs, &metadata, config)?);
    config.switches.check_graph(&graph)?;
    let of_tensors = tensorify(&graph)?;
    config.stop_if_outdated(&graph, false, &metadata)?;
    let check = check(&metadata, &graph, false);
    let examples = examples(&graph, inputs, &metadata)?;
    let frozen = match &config.freezing {
        Some(freezing) => Some(Rc::new(frozen(freezing, &of_tensors, !adapt.is_empty(), &metadata, config)?)),
        None => None,
    };
    if let Some(observer) = &config.observer {
        let (prologue, epilogue) = around(prologue, &graph, &metadata, false);
        observer(&Artifacts {
            traced: graph,
            is_joint: false,
            metadata: metadata.clone(),
            partitioned: None,
            study: None,
            prologue,
            epilogue,
            is_abandoned: false,
            frozen: frozen.clone(),
        });
    }
    if let (Some(freezing), Some(frozen)) = (&config.freezing, frozen) {
        (freezing.frozen)(&frozen)?;
        let examples: Vec<Value> = frozen.graph.placeholders().map(example).collect::<Result<_>>()?;
        let graph = (config.inference_compiler)(frozen.graph.clone(), &examples)?;
        let callable = effects::hide_token(Rc::new(Frozen { frozen, graph }), metadata.has_token);
        let callable = with_plain(callable, inputs, &metadata);
        let mut runtime = Runtime::inference(metadata, callable);
        runtime.check = check;
        return Ok(Compiled { runtime, adapt });
    }
    let graph = Rc::unwrap_or_clone(with_passes(of_tensors, config, &[])?);
    let mut examples = examples;
    if takes_seed {
        // PyTorch's compiler is given examples of seed and offset twice.
        examples.extend_from_within(examples.len() - 2..);
    }
    let compiled = (config.inference_compiler)(graph, &examples)?;
    let returns = metadata.num_tokens() + metadata.num_forward_returns();
    let compiled = if takes_seed { hide_seed(compiled, Some(returns)) } else { compiled };
    let callable = effects::hide_token(compiled, metadata.has_token);
    drop(compiling);
    let callable = with_plain(callable, inputs, &metadata);
    let mut runtime = Runtime::inference(metadata, callable);
    runtime.check = check;
    Ok(Compiled { runtime, adapt })
}

/// A frozen graph: of its caller's inputs it takes those that are left.
struct Frozen {
    frozen: Rc<FrozenGraph>,
    graph: Rc<dyn GraphCallable>,
}

impl GraphCallable for Frozen {
    fn call(&self, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
        self.frozen.given(inputs);
        self.graph.call(inputs)
    }
}

/// Freezes a traced graph, after Inductor's passes.
fn frozen(
    freezing: &Freezing,
    traced: &Rc<Graph>,
    is_adapted: bool,
    metadata: &ViewAndMutationMeta,
    config: &Config,
) -> Result<FrozenGraph> {
    if is_adapted {
        let text = "torch._inductor.config.freezing = True is not supported in the playground for functions of inputs that share memory and are written to, or are given twice";
        return Err(Error::not_implemented(text));
    }
    let graph = Rc::unwrap_or_clone(with_passes(traced.clone(), config, &[])?);
    freeze(graph, freezing, metadata)
}

/// Traces a function once more, with its operators as eager mode runs them.
fn as_eager(f: &Function, inputs: &[InputSpec], metadata: &ViewAndMutationMeta, config: &Config) -> EagerGraph {
    let plain = Config { decompositions: None, script_decompositions: None, observer: None, ..config.clone() };
    let (f, inputs, metadata) = (f.clone(), inputs.to_vec(), metadata.clone());
    Box::new(move || {
        let before = modes();
        let _capture = Exclude::only(Key::Capture);
        let _hooks = crate::autograd::WithoutSavedTensorHooks::new();
        let traced = super::interpret::with_items(|| trace_joint(&f, &inputs, &metadata, &plain));
        set_modes(before);
        Ok(traced?.0)
    })
}

/// Whether Inductor's random numbers stand for those of eager mode.
fn draws_otherwise(config: &Config, traced: &Graph) -> bool {
    config.passes.as_ref().is_some_and(|passes| !passes.fallback_random) && traced.nodes().any(is_seeded)
}

/// The graph as it is split or compiled: what was traced is reported, and Inductor's passes come after.
fn with_passes(mut graph: Rc<Graph>, config: &Config, replayed: &[usize]) -> Result<Rc<Graph>> {
    if let Some(passes) = config.passes.as_ref().filter(|passes| passes.use_joint_graph_passes) {
        let run = |pass: &Option<GraphPass>, graph: Rc<Graph>| match pass {
            Some(pass) => pass(Rc::unwrap_or_clone(graph)).map(Rc::new),
            None => Ok(graph),
        };
        graph = run(&config.custom_passes.joint_pre, graph)?;
        passes.apply(Rc::make_mut(&mut graph), replayed)?;
        graph = run(&config.custom_passes.joint_post, graph)?;
    }
    Ok(graph)
}

/// Whether an output is a view of an input that requires grad, or that input: the runtime makes it again with its history, and no
/// backward is needed for it.
fn views_differentiable_input(output: &OutputInfo, metadata: &ViewAndMutationMeta) -> bool {
    output.output_type.is_of_input() && output.base_idx.is_some_and(|i| metadata.input_info[i].requires_grad)
}

/// What surrounds a graph, as code: how it gets its inputs from the list `args`, and what becomes of what it returns.
fn around(mut prologue: Vec<String>, traced: &Graph, metadata: &ViewAndMutationMeta, is_joint: bool) -> (String, String) {
    let of_inputs: usize = (0..metadata.input_info.len()).map(|i| metadata.graph_inputs(i).len()).sum();
    let num_inputs = of_inputs + usize::from(metadata.backward_state.is_some());
    if metadata.subclass_inp_meta.iter().any(Option::is_some) {
        prologue.push("inputs, args = args, unwrap_tensor_subclasses(args)".to_owned());
    }
    let names: Vec<String> = traced.placeholders().skip(metadata.num_tokens()).take(num_inputs).map(|n| n.name.to_string()).collect();
    if !names.is_empty() {
        prologue.push(format!("{}{} = args", names.join(", "), if names.len() == 1 { "," } else { "" }));
    }
    prologue.push("with torch.no_grad():".to_owned());
    let graph = if is_joint { "compiled_forward" } else { "compiled_graph" };
    prologue.push(match metadata.has_token {
        true => format!("    returned = {graph}([torch.tensor([]), *args])[1:]"),
        false => format!("    returned = {graph}(args)"),
    });
    if metadata.subclass_fw_graph_out_meta.iter().any(Option::is_some) {
        prologue.push("returned = wrap_tensor_subclasses(returned)".to_owned());
    }
    // The caller's own tensors.
    let own = |i: usize| match &metadata.subclass_inp_meta[i] {
        Some(_) => format!("inputs[{i}]"),
        None => names.get(metadata.graph_inputs(i).start).cloned().unwrap_or_default(),
    };
    let inputs: Vec<String> = (0..metadata.input_info.len()).map(own).collect();
    (prologue.join("\n"), Epilogue::new(metadata, is_joint).code(&inputs))
}

/// What a partition by the script's own function comes to.
fn own_partition(forward: Graph, backward: Graph, num_fwd: usize, report: Option<crate::report::Partition>) -> Partitioned {
    let saved: Vec<String> = forward
        .outputs()
        .iter()
        .skip(num_fwd)
        .filter_map(|a| match a {
            crate::graph::Arg::Node(id) => Some(forward.node(*id).name.to_string()),
            _ => None,
        })
        .collect();
    let is_symint = |name: &String| forward.find(name).is_some_and(|n| matches!(n.meta.value, Some(crate::graph::FakeValue::Int(_))));
    let num_saved_symints = saved.iter().filter(|n| is_symint(n)).count();
    let report = report.unwrap_or_else(|| crate::report::Partition { partitioner: "partition_fn".to_owned(), ..Default::default() });
    Partitioned { forward, backward, replaying: None, saved, num_saved_symints, num_saved_no_version_check: 0, report }
}

/// A fake example of a placeholder.
pub fn example(node: &crate::graph::Node) -> Result<Value> {
    match &node.meta.value {
        Some(crate::graph::FakeValue::Tensor(spec)) => Tensor::fake(spec).map(Value::Tensor),
        Some(crate::graph::FakeValue::Int(i)) => Ok(Value::Int(i.clone())),
        _ => Ok(Value::None),
    }
}
