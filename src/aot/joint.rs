//! Traced graphs: a function's joint graph, forward and backward in one, or its inference graph.

use super::functional_tensor::{copy_into, state, sync, unwrap, wrap};
use super::like::made_like;
use super::metadata::{self, prepare_leaf};
use super::philox::Philox;
use super::schemas::{Config, Function, InputSpec, MutationType, OutputType, ViewAndMutationMeta};
use super::subclass::{self, MaybeSubclass, Part, SubclassCreationMeta};
use super::tangents::{gradient_of, tangent_positions, tangent_spec, tangent_specs};
use super::trace::Tracer;
use super::tracing::Tracing;
use crate::autograd::{BackwardOptions, Edge, gradient_edge, run_backward};
use crate::dispatch::Value;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::Graph;
use crate::tensor::{MemoryFormat, Tensor};
use std::rc::Rc;

/// Inputs of a traced graph: placeholders for the fake tensors that they are made of, and functional tensors for the function.
struct Inputs {
    inner: Vec<Vec<Tensor>>,
    outer: Vec<Tensor>,
}

/// Placeholders in order; before the input of a number stands the `state` that hooks are in.
fn make_inputs(tracer: &Tracer, inputs: &[InputSpec], state: Option<usize>, name: impl Fn(usize) -> String) -> Result<Inputs> {
    let mut made = Inputs { inner: Vec::new(), outer: Vec::new() };
    let mut names = (0..).map(name);
    let take_state = |at: usize, names: &mut dyn Iterator<Item = String>| {
        if state == Some(at) {
            names.next().iter().for_each(|name| tracer.take_backward_state(name));
        }
    };
    for (i, spec) in inputs.iter().enumerate() {
        take_state(i, &mut names);
        let mut inner = Vec::new();
        for (part, name) in subclass::parts_of(&spec.subclass, &spec.spec).iter().zip(&mut names) {
            let id = match (part, &spec.plain, spec.symbol()) {
                (Part::Size(size), ..) => tracer.size_of_part(&name, size),
                (Part::Tensor(of), plain, symbol) => {
                    let t = Tensor::fake(of)?;
                    inner.push(t.clone());
                    match (plain, symbol) {
                        (_, Some(size)) => tracer.symbol(&name, size),
                        (Some(plain), None) => tracer.plain_input(&name, plain),
                        (None, None) => tracer.placeholder(&name, &t)?,
                    }
                }
            };
            tracer.call_input(id, spec.called.clone());
        }
        let outer = functional(&inner, &spec.subclass)?;
        outer.set_math_bits(spec.math_bits);
        // Also without a backward: what is composed of other operators may ask.
        prepare_leaf(&outer, spec)?;
        made.inner.push(inner);
        made.outer.push(outer);
    }
    take_state(inputs.len(), &mut names);
    Ok(made)
}

/// A functional tensor for the function, of the plain ones that it is made of.
fn functional(plain: &[Tensor], meta: &MaybeSubclass) -> Result<Tensor> {
    subclass::wrap_fake(plain.iter().map(wrap).collect::<Result<_>>()?, meta)
}

/// A write that stays in the graph: to a tensor that an input is made of, its new value, and whether it is the input's other memory.
struct Mutation {
    of: Tensor,
    value: Tensor,
    data_replaced: bool,
}

/// The present values of inputs whose writes stay in the graph.
fn mutated_in_graph(metadata: &ViewAndMutationMeta, inputs: &Inputs) -> Result<Vec<Mutation>> {
    let in_graph = |i: &usize| metadata.input_info[*i].mutation_type == MutationType::MutatedInGraph;
    let mut all = Vec::new();
    for i in (0..metadata.input_info.len()).filter(in_graph) {
        for (of, outer) in inputs.inner[i].iter().zip(subclass::plain(&inputs.outer[i])?) {
            let value = unwrap(&outer)?;
            let data_replaced = state(&outer).is_some_and(|s| s.data_replaced);
            // Of what a tensor is made of, some may not have been written to.
            if inputs.inner[i].len() == 1 || !value.is(of) {
                all.push(Mutation { of: of.clone(), value, data_replaced });
            }
        }
    }
    Ok(all)
}

/// Writes of inputs that stay in the graph: a trailing `copy_` or `shallow_copy_data_` for each.
fn copy_mutations(values: &[Mutation]) -> Result<()> {
    values.iter().try_for_each(|m| copy_into(&m.of, &m.value, m.data_replaced))
}

/// What the backward alone writes to an input: a `copy_` that stays in the backward.
fn copy_written_by_backward(inputs: &Inputs, metadata: &ViewAndMutationMeta) -> Result<()> {
    for (i, info) in metadata.input_info.iter().enumerate() {
        for (of, outer) in inputs.inner[i].iter().zip(subclass::plain(&inputs.outer[i])?) {
            let Some(now) = state(&outer) else { continue };
            if now.metadata_mutated && !info.mutates_metadata {
                return Err(unsupported("Found a graph input that had its metadata mutated in the backward. This is not supported"));
            }
            let is_written = now.storage.writes.get() > 0 && !now.data_replaced;
            if is_written && !info.mutates_data && !info.data_replaced {
                copy_into(of, &unwrap(&outer)?, false)?;
            }
        }
    }
    Ok(())
}

/// What the backward writes to a tangent, each with the functional tensor that stands for it. Nothing reads it afterwards: as in PyTorch the
/// joint graph alone has it.
fn copy_written_tangents(tangents: &[(Tensor, Tensor)]) -> Result<()> {
    for (of, outer) in tangents {
        let Some(now) = state(outer) else { continue };
        if now.metadata_mutated {
            let said = "Found an input to the backward that had metadata mutated during the backward pass. This is not supported";
            return Err(unsupported(said));
        }
        if now.storage.writes.get() > 0 {
            copy_into(of, &unwrap(outer)?, false)?;
        }
    }
    Ok(())
}

fn unsupported(said: &str) -> Error {
    Error::new(ErrorKind::Assertion, said)
}

/// An output that is an input whose write stays in the graph is that input, not a second copy of its value.
fn return_written_inputs(metadata: &ViewAndMutationMeta, inputs: &Inputs, returned: &mut [Vec<Value>]) -> Result<()> {
    let first = metadata.runtime_mutated().len();
    for (info, value) in metadata.output_info.iter().zip(&mut returned[first..]) {
        if let (OutputType::IsInput, Some(i)) = (info.output_type, info.base_idx)
            && metadata.input_info[i].mutation_type == MutationType::MutatedInGraph
        {
            *value = subclass::values_of(&inputs.inner[i], &inputs.outer[i], &metadata.subclass_inp_meta[i])?;
        }
    }
    Ok(())
}

/// The values of an output, writes through aliases included: of the tensors that it is made of.
fn unwrap_each(value: &Value, meta: &MaybeSubclass) -> Result<Vec<Value>> {
    subclass::graph_values(value, meta)?.iter().map(|v| v.map_tensors(&mut unwrap)).collect()
}

/// The same of all that the forward returns.
fn unwrap_all(values: &[Value], metadata: &ViewAndMutationMeta) -> Result<Vec<Vec<Value>>> {
    values.iter().zip(&metadata.subclass_fw_graph_out_meta).map(|(value, meta)| unwrap_each(value, meta)).collect()
}

/// The values the forward returns before saved ones.
fn forward_returns(metadata: &ViewAndMutationMeta, inputs: &[Tensor], outputs: &[Value]) -> Vec<Value> {
    metadata::forward_returns(&metadata.input_info, &metadata.output_info, inputs, outputs)
}

/// The graph of a function without a backward.
pub(super) fn trace_inference(f: &Function, specs: &[InputSpec], metadata: &ViewAndMutationMeta, config: &Config) -> Result<Graph> {
    let tracer = Tracer::new("<lambda>");
    tracer.decompose(config.decompositions);
    tracer.decompose_as_told(config.script_decompositions.clone());
    if metadata.has_token {
        tracer.begin_token("arg0_1");
    }
    let name = |i: usize| format!("arg{}_1", metadata.num_tokens() + i);
    let inputs = make_inputs(&tracer, specs, metadata.backward_state, name)?;
    let philox = metadata.switches.functionalize_rng_ops.then(|| Philox::of_inference(&tracer)).transpose()?;
    philox.iter().for_each(|philox| tracer.draw_by(philox.rules()));
    let outputs = {
        let _tracing = Tracing::start(&tracer);
        let outputs = f(&inputs.outer)?;
        copy_mutations(&mutated_in_graph(metadata, &inputs)?)?;
        tracer.enter_outputs();
        let mut returned = unwrap_all(&forward_returns(metadata, &inputs.outer, &outputs), metadata)?;
        return_written_inputs(metadata, &inputs, &mut returned)?;
        if let Some(philox) = &philox {
            returned.push(vec![philox.left()?.0]);
        }
        returned.concat()
    };
    tracer.finish(&outputs)
}

/// A joint graph, and what the gradients that its backward returns are made of, input by input.
pub(super) type Joint = (Graph, Vec<MaybeSubclass>);

/// The joint graph of a function: its backward begins with the tangents.
pub(super) fn trace_joint(f: &Function, specs: &[InputSpec], metadata: &ViewAndMutationMeta, config: &Config) -> Result<Joint> {
    trace_from(f, specs, metadata, config, true)
}

/// The joint graph of a function whose one differentiable output is a loss: its backward begins with ones, and nothing reads the tangent.
pub(super) fn trace_joint_of_loss(f: &Function, specs: &[InputSpec], metadata: &ViewAndMutationMeta, config: &Config) -> Result<Joint> {
    trace_from(f, specs, metadata, config, false)
}

fn trace_from(f: &Function, specs: &[InputSpec], metadata: &ViewAndMutationMeta, config: &Config, from_tangents: bool) -> Result<Joint> {
    let tracer = Tracer::new("inner_f");
    tracer.decompose(config.decompositions);
    tracer.decompose_as_told(config.script_decompositions.clone());
    if metadata.has_token {
        tracer.begin_token("primals_1");
    }
    let name = |i: usize| format!("primals_{}", metadata.num_tokens() + i + 1);
    let inputs = make_inputs(&tracer, specs, metadata.backward_state, name)?;
    // Tangents look like the values they are gradients of.
    let mut tangents = Vec::new();
    let mut tangent_parts = Vec::new();
    let mut names = (1..).map(|i| format!("tangents_{i}"));
    for (position, spec, meta) in tangent_specs(metadata) {
        let called = Rc::new(gradient_of(metadata, specs, position));
        let specs = subclass::plain_specs(meta, spec);
        let inner = specs.iter().map(|spec| Tensor::fake(&tangent_spec(spec, metadata.switches)?)).collect::<Result<Vec<_>>>()?;
        for (t, name) in inner.iter().zip(&mut names) {
            let id = tracer.placeholder(&name, t)?;
            tracer.call_input(id, Some(called.clone()));
        }
        let outer = functional(&inner, meta)?;
        tangent_parts.extend(inner.into_iter().zip(subclass::plain(&outer)?));
        tangents.push(outer);
    }
    let philox = metadata.switches.functionalize_rng_ops.then(|| Philox::of_joint(&tracer)).transpose()?;
    philox.iter().for_each(|philox| tracer.draw_by(philox.rules()));
    let mut gradients = vec![None; specs.len()];
    let outputs = {
        let _tracing = Tracing::start(&tracer);
        // A differentiable input that is written to is written to as a copy.
        let given: Vec<Tensor> = inputs
            .outer
            .iter()
            .zip(&metadata.input_info)
            .map(|(t, info)| match info.mutation_type {
                MutationType::MutatedOutGraph if info.requires_grad && info.mutates_data => crate::t!("clone", t),
                MutationType::MutatedOutGraph if info.mutates_metadata => crate::t!("view", t, t.sizes()),
                MutationType::MutatedOutGraph | MutationType::MutatedInGraph | MutationType::NotMutated => Ok(t.clone()),
            })
            .collect::<Result<_>>()?;
        let outputs = f(&given)?;
        let returned = forward_returns(metadata, &given, &outputs);
        for t in &given {
            subclass::plain(t)?.iter().try_for_each(sync)?;
        }
        let written = mutated_in_graph(metadata, &inputs)?;
        tracer.enter_backward();
        philox.iter().for_each(|philox| philox.enter_backward());
        let differentiated = tangent_positions(metadata);
        let mut roots = Vec::new();
        for (position, tangent) in differentiated.iter().zip(&tangents) {
            if let Some(t) = returned[*position].as_tensor()
                && let Some(edge) = gradient_edge(t)?
            {
                let gradient = match from_tangents {
                    true => tangent.clone(),
                    false => made_like("ones_like", t, &[("memory_format", Value::MemoryFormat(MemoryFormat::Preserve))])?,
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
        let later = mutated_in_graph(metadata, &inputs)?;
        tracer.enter_writes();
        copy_written_by_backward(&inputs, metadata)?;
        tracer.leave_backward();
        copy_written_tangents(&tangent_parts)?;
        // What the forward wrote stays in the forward; what the backward wrote besides, in the backward.
        let is_known = |now: &Mutation| written.iter().any(|then| then.of.is(&now.of) && then.value.is(&now.value));
        let later: Vec<_> = later.into_iter().filter(|now| !is_known(now)).collect();
        copy_mutations(&written)?;
        tracer.enter_backward();
        copy_mutations(&later)?;
        // Outputs are unwrapped last: views whose base was written to since are regenerated here.
        tracer.enter_outputs();
        let mut all = unwrap_all(&returned, metadata)?;
        return_written_inputs(metadata, &inputs, &mut all)?;
        let mut grads = vec![vec![Value::None]; specs.len()];
        for ((i, _), grad) in wanted.iter().zip(found) {
            if let Some(grad) = &grad {
                gradients[*i] = SubclassCreationMeta::of(grad)?.map(|meta| meta.with_sizes());
                grads[*i] = unwrap_each(&Value::from(grad), &gradients[*i])?;
            }
        }
        all.extend(grads);
        // The state has a place among the gradients, too.
        if let Some(state) = metadata.backward_state {
            all.insert(returned.len() + state, vec![Value::None]);
        }
        if let Some(philox) = &philox {
            let (forward, backward) = philox.left()?;
            all.insert(returned.len(), vec![forward]);
            all.extend(backward.map(|left| vec![left]));
        }
        all.concat()
    };
    let mut graph = tracer.finish(&outputs)?;
    graph.joint_signature = true;
    Ok((graph, gradients))
}
