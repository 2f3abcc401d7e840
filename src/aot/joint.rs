//! Traced graphs: a function's joint graph, forward and backward in one, or its inference graph.

use super::compile::{Config, Function, InputSpec};
use super::functionalize::{self, FunctionalizeLayer};
use super::metadata::{MutationType, OutputType, ViewAndMutationMeta, prepare_leaf};
use super::trace::{Pushed, TraceLayer, Tracer};
use crate::autograd::{BackwardOptions, Edge, gradient_edge, meta, run_backward};
use crate::dispatch::{Modes, Value, modes, set_modes};
use crate::error::Result;
use crate::graph::{Arg, Graph, NodeId};
use crate::tensor::{MemoryFormat, Tensor, TensorSpec};
use std::rc::Rc;

/// While it lives, calls are functionalized and recorded; afterwards modes are as before.
pub(super) struct Tracing {
    before: Modes,
    _trace: Pushed,
    _functionalize: Pushed,
}

impl Tracing {
    pub(super) fn start(tracer: &Rc<Tracer>) -> Self {
        Self::start_with(tracer, FunctionalizeLayer::default())
    }

    pub(super) fn start_with(tracer: &Rc<Tracer>, functionalize: FunctionalizeLayer) -> Self {
        let before = modes();
        super::trace::begin_tracing(tracer);
        set_modes(Modes { fake: true, ..before });
        Tracing { before, _trace: Pushed::new(Rc::new(TraceLayer(tracer.clone()))), _functionalize: Pushed::new(Rc::new(functionalize)) }
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        super::trace::end_tracing();
        set_modes(self.before);
    }
}

/// Inputs of a traced graph: placeholders for the fake tensors, and functional wrappers around them.
struct Inputs {
    inner: Vec<Tensor>,
    outer: Vec<Tensor>,
}

fn make_inputs(tracer: &Tracer, inputs: &[InputSpec], name: impl Fn(usize) -> String) -> Result<Inputs> {
    let mut made = Inputs { inner: Vec::new(), outer: Vec::new() };
    for (i, spec) in inputs.iter().enumerate() {
        let inner = Tensor::fake(&spec.spec)?;
        match &spec.symbol {
            Some(size) => tracer.symbol(&name(i), size),
            None => tracer.placeholder(&name(i), &inner)?,
        };
        let outer = functionalize::wrap(&inner)?;
        // Also without a backward: what is composed of other operators may ask.
        prepare_leaf(&outer, spec)?;
        made.inner.push(inner);
        made.outer.push(outer);
    }
    Ok(made)
}

/// The present values of inputs whose writes stay in the graph.
fn mutated_in_graph(metadata: &ViewAndMutationMeta, inputs: &Inputs) -> Result<Vec<(usize, Tensor)>> {
    let in_graph = |i: &usize| metadata.input_info[*i].mutation_type == MutationType::MutatedInGraph;
    (0..metadata.input_info.len()).filter(in_graph).map(|i| Ok((i, functionalize::unwrap(&inputs.outer[i])?))).collect()
}

fn data_replaced(outer: &Tensor) -> bool {
    functionalize::state(outer).is_some_and(|s| s.data_replaced)
}

/// Writes of inputs that stay in the graph: a trailing `copy_` or `shallow_copy_data_` for each.
fn copy_mutations(values: &[(usize, Tensor)], inputs: &Inputs) -> Result<()> {
    values.iter().try_for_each(|(i, value)| functionalize::copy_into(&inputs.inner[*i], value, data_replaced(&inputs.outer[*i])))
}

/// An output that is an input whose write stays in the graph is that input, not a second copy of its value.
fn return_written_inputs(metadata: &ViewAndMutationMeta, inputs: &Inputs, returned: &mut [Value]) {
    let first = metadata.runtime_mutated().len();
    for (info, value) in metadata.output_info.iter().zip(&mut returned[first..]) {
        if let (OutputType::IsInput, Some(i)) = (info.output_type, info.base_idx)
            && metadata.input_info[i].mutation_type == MutationType::MutatedInGraph
        {
            *value = Value::from(&inputs.inner[i]);
        }
    }
}

/// The values of outputs, writes through aliases included.
fn unwrap_all(values: &[Value]) -> Result<Vec<Value>> {
    values.iter().map(|v| v.map_tensors(&mut functionalize::unwrap)).collect()
}

/// The values the forward returns before saved ones: mutated inputs, outputs, intermediate bases.
fn forward_returns(metadata: &ViewAndMutationMeta, inputs: &[Tensor], outputs: &[Value]) -> Vec<Value> {
    let mut returned: Vec<Value> = metadata.runtime_mutated().into_iter().map(|i| Value::from(&inputs[i])).collect();
    returned.extend(outputs.iter().cloned());
    for (info, value) in metadata.output_info.iter().zip(outputs) {
        if info.output_type == OutputType::AliasOfIntermediateSaveAsOutput
            && let Some(base) = value.as_tensor().and_then(meta::base)
        {
            returned.push(Value::Tensor(base));
        }
    }
    returned
}

/// The graph of a function without a backward.
pub(super) fn trace_inference(f: &Function, specs: &[InputSpec], metadata: &ViewAndMutationMeta, config: &Config) -> Result<Graph> {
    let tracer = Tracer::new("<lambda>");
    tracer.decompose(config.decompositions);
    tracer.decompose_as_told(config.script_decompositions.clone());
    if metadata.has_token {
        tracer.begin_token("arg0_1");
    }
    let inputs = make_inputs(&tracer, specs, |i| format!("arg{}_1", metadata.num_tokens() + i))?;
    let outputs = {
        let _tracing = Tracing::start(&tracer);
        let outputs = f(&inputs.outer)?;
        copy_mutations(&mutated_in_graph(metadata, &inputs)?, &inputs)?;
        tracer.look_at_outputs();
        let mut returned = unwrap_all(&forward_returns(metadata, &inputs.outer, &outputs))?;
        return_written_inputs(metadata, &inputs, &mut returned);
        returned
    };
    tracer.finish(&outputs)
}

/// The joint graph of a function: its backward begins with the tangents.
pub(super) fn trace_joint(f: &Function, specs: &[InputSpec], metadata: &ViewAndMutationMeta, config: &Config) -> Result<Graph> {
    trace_from(f, specs, metadata, config, true)
}

/// The joint graph of a function whose one differentiable output is a loss: its backward begins with ones, and nothing reads the tangent.
pub(super) fn trace_joint_of_loss(f: &Function, specs: &[InputSpec], metadata: &ViewAndMutationMeta, config: &Config) -> Result<Graph> {
    trace_from(f, specs, metadata, config, false)
}

fn trace_from(f: &Function, specs: &[InputSpec], metadata: &ViewAndMutationMeta, config: &Config, from_tangents: bool) -> Result<Graph> {
    let tracer = Tracer::new("inner_f");
    tracer.decompose(config.decompositions);
    tracer.decompose_as_told(config.script_decompositions.clone());
    if metadata.has_token {
        tracer.begin_token("primals_1");
    }
    let inputs = make_inputs(&tracer, specs, |i| format!("primals_{}", metadata.num_tokens() + i + 1))?;
    // Tangents look like the values they are gradients of.
    let mut tangents = Vec::new();
    let mut add_tangent = |spec: &TensorSpec| -> Result<()> {
        let inner = Tensor::fake(&tangent_spec(spec)?)?;
        tracer.placeholder(&format!("tangents_{}", tangents.len() + 1), &inner)?;
        tangents.push(functionalize::wrap(&inner)?);
        Ok(())
    };
    for spec in tangent_specs(metadata) {
        add_tangent(spec)?;
    }
    let outputs = {
        let _tracing = Tracing::start(&tracer);
        // A differentiable input that is written to is written to as a copy.
        let given: Vec<Tensor> = inputs
            .outer
            .iter()
            .zip(&metadata.input_info)
            .map(|(t, info)| match (info.mutation_type, info.requires_grad && info.mutates_data, info.mutates_metadata) {
                (MutationType::MutatedOutGraph, true, _) => crate::t!("clone", t),
                (MutationType::MutatedOutGraph, _, true) => crate::t!("view", t, t.sizes()),
                _ => Ok(t.clone()),
            })
            .collect::<Result<_>>()?;
        let outputs = f(&given)?;
        let returned = forward_returns(metadata, &given, &outputs);
        given.iter().try_for_each(functionalize::sync)?;
        let written = mutated_in_graph(metadata, &inputs)?;
        tracer.enter_backward();
        let differentiated = tangent_positions(metadata);
        let mut roots = Vec::new();
        for (position, tangent) in differentiated.iter().zip(&tangents) {
            if let Some(t) = returned[*position].as_tensor()
                && let Some(edge) = gradient_edge(t)?
            {
                let gradient = match from_tangents {
                    true => tangent.clone(),
                    false => {
                        super::subgraphs::made_like("ones_like", t, &[("memory_format", Value::MemoryFormat(MemoryFormat::Preserve))])?
                    }
                };
                roots.push((edge, gradient));
            }
        }
        let mut wanted: Vec<(usize, Edge)> = Vec::new();
        for (i, t) in inputs.outer.iter().enumerate() {
            if specs[i].requires_grad
                && let Some(edge) = gradient_edge(t)?
            {
                wanted.push((i, edge));
            }
        }
        let edges: Vec<Edge> = wanted.iter().map(|(_, e)| e.clone()).collect();
        let found = run_backward(roots, Some(&edges), BackwardOptions::default())?;
        // What the forward wrote stays in the forward; what the backward wrote besides, in the backward.
        let later = mutated_in_graph(metadata, &inputs)?;
        let later: Vec<_> = later.into_iter().zip(&written).filter(|((_, now), (_, then))| !now.is(then)).map(|(now, _)| now).collect();
        tracer.leave_backward();
        copy_mutations(&written, &inputs)?;
        tracer.enter_backward();
        copy_mutations(&later, &inputs)?;
        // Outputs are looked at last: views of what was written to since they were taken are made anew here.
        tracer.look_at_outputs();
        let mut all = unwrap_all(&returned)?;
        return_written_inputs(metadata, &inputs, &mut all);
        let mut grads = vec![Value::None; specs.len()];
        for ((i, _), grad) in wanted.iter().zip(found) {
            grads[*i] = grad.as_ref().map(functionalize::unwrap).transpose()?.into();
        }
        all.extend(grads);
        all
    };
    let mut graph = tracer.finish(&outputs)?;
    return_before_writes(&mut graph);
    graph.joint_signature = true;
    Ok(graph)
}

/// A joint graph returns a written input as the input itself, not as the result of the trailing write.
fn return_before_writes(graph: &mut Graph) {
    let Some(output) = graph.output().map(|n| n.id) else { return };
    let before = |id: NodeId| match graph.node(id).args.first() {
        Some(target) if matches!(graph.node(id).op(), Some("aten.copy_.default" | "aten.shallow_copy_data_.default")) => target.clone(),
        _ => Arg::Node(id),
    };
    let args = graph.node(output).args.iter().map(|a| a.map_nodes(&mut |id| before(id))).collect();
    graph.node_mut(output).args = args;
}

/// Positions among the forward's returns of values that have a tangent.
pub fn tangent_positions(metadata: &ViewAndMutationMeta) -> Vec<usize> {
    let mutated = metadata.runtime_mutated();
    let mut positions = Vec::new();
    for (p, i) in mutated.iter().enumerate() {
        let info = &metadata.input_info[*i];
        if info.mutates_data && info.requires_grad {
            positions.push(p);
        }
    }
    for (o, info) in metadata.output_info.iter().enumerate() {
        let plain = matches!(info.output_type, OutputType::NonAlias | OutputType::UnsafeViewAlias | OutputType::CustomFunctionView);
        if plain && info.spec.is_some() && info.requires_grad_for_backward {
            positions.push(mutated.len() + o);
        }
    }
    let bases = mutated.len() + metadata.output_info.len();
    positions.extend(bases..bases + metadata.num_intermediate_bases);
    positions
}

/// A tangent is expected with the strides of its value. Where sizes are symbolic, or elements of the value share memory, only
/// the memory format counts.
fn tangent_spec(spec: &TensorSpec) -> Result<TensorSpec> {
    let g = &spec.geometry;
    let strides = match super::runtime::tangent_format(spec)? {
        Some(format) => crate::ops::layout::strides(&g.sizes, format),
        None => g.strides.clone(),
    };
    Ok(TensorSpec::strided(g.sizes.clone(), strides, spec.dtype, spec.device))
}

/// The values that have tangents, by [`tangent_positions`].
fn tangent_specs(metadata: &ViewAndMutationMeta) -> Vec<&TensorSpec> {
    let mutated = metadata.runtime_mutated().into_iter().map(|i| Some(&metadata.input_info[i].spec));
    let outputs = metadata.output_info.iter().map(|o| o.spec.as_ref());
    let bases = metadata.output_info.iter().filter(|o| o.base.is_some()).map(|o| o.base.as_ref());
    let returned: Vec<Option<&TensorSpec>> = mutated.chain(outputs).chain(bases).collect();
    tangent_positions(metadata).into_iter().filter_map(|p| returned[p]).collect()
}
