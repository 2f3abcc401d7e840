//! Metadata analysis: which inputs are mutated and what outputs alias (PyTorch's `ViewAndMutationMeta`).
//!
//! The function runs once on functional fake tensors with autograd on; nothing is recorded. Names and rules are those of
//! PyTorch's `collect_metadata_analysis`.

use super::effects;
use super::functional_tensor::{Functional, state, sync, wrap};
use super::functionalize::FunctionalizeLayer;
use super::higher_order::hook::take_is_used;
use super::schemas::{InputInfo, InputSpec, MutationType, OutputInfo, OutputType, Switches, ViewAndMutationMeta};
use super::subclass::{self, SubclassCreationMeta};
use super::trace::Pushed;
use crate::autograd::{Body, Node, ViewSteps, meta};
use crate::dispatch::{Modes, Value, modes, set_modes};
use crate::error::{Error, ErrorKind, Result};
use crate::span::Source;
use crate::tensor::{Tensor, TensorSpec};
use std::collections::HashMap;
use std::rc::Rc;

/// A fake tensor for an input with its autograd state: a leaf, or a tensor with a history, so that the function may write to it.
pub fn functional_input(spec: &InputSpec) -> Result<Tensor> {
    let plain = |spec: &TensorSpec| wrap(&Tensor::fake(spec)?);
    let plain = subclass::plain_specs(&spec.subclass, &spec.spec).iter().map(plain).collect::<Result<_>>()?;
    let outer = subclass::wrap_fake(plain, &spec.subclass)?;
    outer.set_math_bits(spec.math_bits);
    prepare_leaf(&outer, spec)?;
    if spec.requires_grad && !spec.is_leaf {
        give_history(&outer)?;
    }
    Ok(outer)
}

/// Makes a leaf that requires grad the result of a node that nobody runs.
pub fn give_history(t: &Tensor) -> Result<()> {
    struct Unknown;
    impl Body for Unknown {
        fn apply(&self, _node: &Rc<Node>, _grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
            Err(Error::runtime("the history of an input is not known while its function is compiled"))
        }
        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    }
    meta::set_history(t, &Node::new("NotImplemented", Vec::new(), Box::new(Unknown)));
    Ok(())
}

/// Gives a fake tensor the requires_grad (and non-leafness) of the input.
pub fn prepare_leaf(outer: &Tensor, spec: &InputSpec) -> Result<()> {
    if spec.requires_grad {
        meta::set_requires_grad(outer, true)?;
    }
    Ok(())
}

/// Runs the function once and looks.
pub fn collect(
    f: &dyn Fn(&[Tensor]) -> Result<Vec<Value>>,
    inputs: &[InputSpec],
    keep_input_mutations: bool,
) -> Result<ViewAndMutationMeta> {
    let before = modes();
    set_modes(Modes { fake: true, ..before });
    let layer = Pushed::new(Rc::new(FunctionalizeLayer::default()));
    take_is_used();
    let outcome = analyse(f, inputs, keep_input_mutations);
    drop(layer);
    let grad_after = modes().grad;
    set_modes(before);
    let mut found = outcome?;
    found.backward_state = take_is_used().map(|place| place.min(inputs.len()));
    found.grad_enabled_mutation = (grad_after != before.grad).then_some(grad_after);
    Ok(found)
}

fn analyse(f: &dyn Fn(&[Tensor]) -> Result<Vec<Value>>, inputs: &[InputSpec], keep_input_mutations: bool) -> Result<ViewAndMutationMeta> {
    let mut wrapped: Vec<Tensor> = Vec::with_capacity(inputs.len());
    for (i, spec) in inputs.iter().enumerate() {
        // A tensor given twice is one tensor to the function, and written to in both places.
        let twin = (0..i).find(|j| spec.identity.tensor != 0 && inputs[*j].identity.tensor == spec.identity.tensor);
        let t = match twin {
            Some(j) => wrapped[j].clone(),
            None => functional_input(spec)?,
        };
        wrapped.push(t);
    }
    effects::forget();
    let outputs = f(&wrapped)?;
    let has_token = effects::were_seen();

    let mut input_info = Vec::new();
    for (t, spec) in wrapped.iter().zip(inputs) {
        let states = states(t)?;
        let writes: u64 = states.iter().map(|s| s.storage.writes.get()).sum();
        let no_grad: u64 = states.iter().map(|s| s.storage.writes_no_grad.get()).sum();
        let data_replaced = states.iter().any(|s| s.data_replaced);
        let mutates_data = writes > 0 && !data_replaced;
        let mutates_metadata = states.iter().any(|s| s.metadata_mutated);
        // `mutations_hidden_from_autograd` is true of tensors without a mutation only: what a script can write shows itself to
        // functionalization, also through `detach()`.
        let all_hidden = !mutates_data && !data_replaced && spec.plain.is_none();
        let all_no_grad = mutates_data && writes == no_grad;
        // A write of a value that requires grad makes an input require grad.
        let requires_grad = meta::requires_grad(t);
        if data_replaced && writes > no_grad {
            let word = |b: bool| if b { "True" } else { "False" };
            return Err(Error::new(
                ErrorKind::Assertion,
                format!(
                    "Encountered a set_ on a graph input, but the input has other mutations that we cannot\nkeep in the graph. This is not supported today. Current state:\n  keep_input_mutations={}\n  mutates_data=False\n  mutates_metadata=True\n  mutations_hidden_from_autograd=False\n  mutations_under_no_grad_or_inference_mode=False\n  mutation_inductor_storage_resize=False\n  requires_grad={}",
                    word(keep_input_mutations),
                    word(requires_grad)
                ),
            ));
        }
        let info = InputInfo {
            is_leaf: spec.is_leaf,
            mutates_data,
            mutates_metadata,
            data_replaced,
            mutations_hidden_from_autograd: all_hidden,
            mutations_under_no_grad_or_inference_mode: all_no_grad,
            requires_grad,
            mutation_type: MutationType::NotMutated,
            written_at: written_at(&states),
            // A tangent has the strides of the value that the graph returns.
            spec: match states.as_slice() {
                [only] if mutates_data && spec.subclass.is_none() => only.value.spec(),
                _ => t.spec(),
            },
        };
        input_info.push(InputInfo { mutation_type: info.applied_by(keep_input_mutations), ..info });
    }
    let output_info = classify(&wrapped, &outputs)?;
    let num_intermediate_bases = output_info.iter().filter(|o| o.output_type == OutputType::AliasOfIntermediateSaveAsOutput).count();
    let returned = forward_returns(&input_info, &output_info, &wrapped, &outputs);
    let subclass = |value: &Value| {
        let meta = value.as_tensor().map_or(Ok(None), SubclassCreationMeta::of)?;
        Ok(meta.map(|meta| meta.with_sizes()))
    };
    Ok(ViewAndMutationMeta {
        subclass_inp_meta: inputs.iter().map(|spec| spec.subclass.clone()).collect(),
        subclass_fw_graph_out_meta: returned.iter().map(subclass).collect::<Result<_>>()?,
        input_info,
        output_info,
        num_intermediate_bases,
        keep_input_mutations,
        has_token,
        backward_state: None,
        grad_enabled_mutation: None,
        static_inputs: Vec::new(),
        switches: Switches::default(),
    })
}

/// The states of a tensor under functionalization: one for each plain tensor that it is made of.
fn states(t: &Tensor) -> Result<Vec<Functional>> {
    let of = |t: &Tensor| {
        sync(t)?;
        state(t).ok_or_else(|| Error::runtime("an input lost its functional state"))
    };
    subclass::plain(t)?.iter().map(of).collect()
}

/// Lines that write to one of the tensors that an input is made of, each once.
fn written_at(states: &[Functional]) -> Vec<Source> {
    let mut lines: Vec<Source> = Vec::new();
    for line in states.iter().flat_map(|s| s.storage.written_at.borrow().clone()) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// The values that the forward returns before saved ones: mutated inputs, outputs, intermediate bases.
pub fn forward_returns(input_info: &[InputInfo], output_info: &[OutputInfo], inputs: &[Tensor], outputs: &[Value]) -> Vec<Value> {
    let is_returned = |(info, _): &(&InputInfo, &Tensor)| info.mutation_type == MutationType::MutatedOutGraph;
    let mut returned: Vec<Value> = input_info.iter().zip(inputs).filter(is_returned).map(|(_, t)| Value::from(t)).collect();
    returned.extend(outputs.iter().cloned());
    for (info, value) in output_info.iter().zip(outputs) {
        if info.output_type == OutputType::AliasOfIntermediateSaveAsOutput
            && let Some(base) = value.as_tensor().and_then(meta::base)
        {
            returned.push(Value::Tensor(base));
        }
    }
    returned
}

fn storage_key(t: &Tensor) -> u64 {
    t.storage().id()
}

fn is_multi_output_view(t: &Tensor) -> bool {
    match state(t) {
        Some(state) => state.is_multi_output_view(),
        None => meta::peek(t, |m| m.view.as_ref().is_some_and(|v| v.steps.has_several_results())),
    }
}

fn same_geometry(a: &Tensor, b: &Tensor) -> bool {
    let (x, y) = (a.geometry(), b.geometry());
    x.sizes.len() == y.sizes.len()
        && x.sizes.iter().zip(&y.sizes).all(|(p, q)| p.statically_eq(q.clone()))
        && x.strides.iter().zip(&y.strides).all(|(p, q)| p.statically_eq(q.clone()))
        && x.offset.statically_eq(y.offset.clone())
}

fn classify(inputs: &[Tensor], outputs: &[Value]) -> Result<Vec<OutputInfo>> {
    let input_storages: HashMap<u64, usize> = inputs.iter().enumerate().map(|(i, t)| (storage_key(t), i)).collect();
    let tensors: Vec<&Tensor> = outputs.iter().filter_map(Value::as_tensor).collect();
    let mut aliases: HashMap<u64, usize> = HashMap::new();
    let mut multi: HashMap<u64, usize> = HashMap::new();
    for t in &tensors {
        *aliases.entry(storage_key(t)).or_insert(0) += 1;
        if is_multi_output_view(t) {
            *multi.entry(storage_key(t)).or_insert(0) += 1;
        }
    }
    let position = |t: &Tensor| outputs.iter().rposition(|o| o.as_tensor().is_some_and(|x| x.is(t)));
    let mut bases: Vec<Tensor> = Vec::new();
    let mut found = Vec::new();
    for output in outputs {
        let Value::Tensor(o) = output else {
            found.push(OutputInfo {
                output_type: OutputType::NonAlias,
                base_idx: None,
                requires_grad: false,
                requires_grad_for_backward: false,
                steps: ViewSteps::default(),
                spec: None,
                base: None,
            });
            continue;
        };
        let key = storage_key(o);
        let grad_fn = meta::grad_fn(o)?;
        let requires_grad = meta::requires_grad(o);
        let others = aliases.get(&key).copied().unwrap_or(0) - multi.get(&key).copied().unwrap_or(0);
        let base = meta::base(o);
        let base_requires_grad = base.as_ref().is_some_and(meta::requires_grad);
        let twins: Vec<&&Tensor> =
            tensors.iter().filter(|t| storage_key(t) == key && meta::requires_grad(t) && !t.is(o) && same_geometry(t, o)).collect();
        let is_custom = grad_fn.as_ref().is_some_and(|(node, _)| node.body.is_custom_function());
        let (output_type, base_idx) = if let (Some(_), true) = (input_storages.get(&key), is_custom) {
            (OutputType::CustomFunctionView, None)
        } else if let Some(index) = input_storages.get(&key) {
            if grad_fn.is_some() && others == 0 {
                (OutputType::NonAlias, Some(*index))
            } else if inputs.iter().any(|i| i.is(o)) {
                (OutputType::IsInput, Some(*index))
            } else {
                (OutputType::AliasOfInput, Some(*index))
            }
        } else if let (Some(base), true, true) = (&base, requires_grad, base_requires_grad) {
            if aliases.get(&key) == Some(&1) || others <= 1 {
                (OutputType::UnsafeViewAlias, None)
            } else if let Some(index) = position(base) {
                (OutputType::AliasOfIntermediateBaseIsUserOutput, Some(index))
            } else if let Some(index) = bases.iter().position(|b| b.is(base)) {
                (OutputType::AliasOfIntermediate, Some(index))
            } else {
                bases.push(base.clone());
                (OutputType::AliasOfIntermediateSaveAsOutput, Some(bases.len() - 1))
            }
        } else if let (true, Some(twin), false) = (aliases.get(&key).is_some_and(|n| *n > 1), twins.first(), requires_grad) {
            (OutputType::AliasOfIntermediateBaseIsUserOutput, position(twin))
        } else if let Some(index) = base.as_ref().filter(|b| same_geometry(o, b)).and_then(position) {
            (OutputType::AliasOfIntermediateBaseIsUserOutput, Some(index))
        } else {
            (OutputType::NonAlias, None)
        };
        // A tensor of the script's class does not say how it is a view: it is made again by its sizes and strides.
        let steps = state(o).map(|s| s.steps).unwrap_or_default();
        found.push(OutputInfo {
            output_type,
            base_idx,
            requires_grad,
            requires_grad_for_backward: requires_grad && (base.is_none() || grad_fn.is_some()),
            steps,
            spec: Some(o.spec()),
            base: base.filter(|_| output_type == OutputType::AliasOfIntermediateSaveAsOutput).map(|b| b.spec()),
        });
    }
    Ok(found)
}
