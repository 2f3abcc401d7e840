//! `aot_export_joint_simple`, `aot_export_module`: the graph and the metadata alone, without a calling convention around it.

use super::higher_order;
use super::interpret::run;
use super::joint::{trace_inference, trace_joint, trace_joint_of_loss};
use super::make_fx::{Tracing, make_fx};
use super::metadata::{collect, prepare_leaf};
use super::schemas::{Artifacts, Config, Function, InputSpec, ViewAndMutationMeta};
use crate::dispatch::{Exclude, Key, Modes, OpEntry, Tags, Value, modes, set_modes};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::tensor::Tensor;
use std::rc::Rc;

/// Which graph.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Exported {
    /// What the function computes.
    Inference,
    /// The same with a backward from tangents of its outputs.
    Joint,
    /// The same with the gradients of the one output that is differentiable, a loss: no tangents, and no place for gradients there are not.
    OfLoss,
}

/// Traces a function for inputs like these.
pub fn export(f: &Function, inputs: &[InputSpec], config: &Config, kind: Exported) -> Result<(Rc<Graph>, ViewAndMutationMeta)> {
    higher_order::register();
    let before = modes();
    let _capture = Exclude::only(Key::Capture);
    let _hooks = crate::autograd::WithoutSavedTensorHooks::new();
    let is_joint = kind != Exported::Inference;
    set_modes(Modes { grad: before.grad && is_joint, ..before });
    let outcome = (|| {
        let metadata = collected(&**f, inputs, config.keep_input_mutations)?;
        metadata.check_export(is_joint)?;
        let traced = Rc::new(match kind {
            Exported::Joint => trace_joint(f, inputs, &metadata, config)?.0,
            Exported::OfLoss => trace_joint_of_loss(f, inputs, &metadata, config)?.0,
            Exported::Inference => trace_inference(f, inputs, &metadata, config)?,
        });
        if let Some(observer) = &config.observer {
            let (prologue, epilogue) = (String::new(), String::new());
            let (traced, metadata) = (traced.clone(), metadata.clone());
            observer(&Artifacts {
                traced,
                is_joint,
                metadata,
                partitioned: None,
                study: None,
                prologue,
                epilogue,
                is_abandoned: false,
                frozen: None,
            });
        }
        let graph = if kind == Exported::OfLoss { Rc::new(without_tangents(&traced, inputs, &metadata)?) } else { traced };
        Ok((graph, metadata))
    })();
    set_modes(before);
    outcome
}

/// What the function does to its inputs. A write to a leaf is no error as yet: whoever exports hears why it is refused.
fn collected(f: &dyn Fn(&[Tensor]) -> Result<Vec<Value>>, inputs: &[InputSpec], keep_input_mutations: bool) -> Result<ViewAndMutationMeta> {
    let results: Vec<InputSpec> = inputs.iter().map(|i| InputSpec { is_leaf: false, ..i.clone() }).collect();
    let mut metadata = collect(f, &results, keep_input_mutations)?;
    metadata.input_info.iter_mut().zip(inputs).for_each(|(info, input)| info.is_leaf = input.is_leaf);
    Ok(metadata)
}

/// Whether PyTorch lets an operator that is composed of others stay whole in an exported program: it says what it computes, and
/// writes to nothing and aliases nothing whatever it is given.
pub fn can_stay_whole(entry: &OpEntry) -> bool {
    let schema = &entry.schema;
    schema.arguments.iter().all(|a| a.alias.is_none()) && !entry.tags.has(Tags::APART_IN_EXPORT)
}

/// A joint graph that reads no tangents as a graph of its inputs alone, traced once more.
fn without_tangents(joint: &Graph, inputs: &[InputSpec], metadata: &ViewAndMutationMeta) -> Result<Graph> {
    if metadata.has_token {
        return Err(Error::not_implemented("exporting a loss whose function makes calls that take a token is not supported yet"));
    }
    let tangents = joint.placeholders().count() - inputs.len();
    let returns = metadata.num_forward_returns();
    let call = |given: &[Value]| {
        let mut all: Vec<Value> = given.iter().cloned().chain((0..tangents).map(|_| Value::None)).collect();
        let mut returned = run(joint, &mut all, false)?;
        let gradients = returned.split_off(returns);
        returned.extend(gradients.into_iter().filter(|g| !g.is_none()));
        Ok(returned)
    };
    let names: Vec<String> = (0..inputs.len()).map(|i| format!("arg{i}_1")).collect();
    // Inputs require grad once more: what a derivative would keep of results is recorded, though nobody reads it.
    let given = inputs.iter().map(|i| {
        let fake = Tensor::fake(&i.spec)?;
        prepare_leaf(&fake, i)?;
        Ok(i.argument(&fake))
    });
    let given = given.collect::<Result<Vec<_>>>()?;
    make_fx(
        &call,
        &names,
        &given,
        Tracing {
            class_name: "<lambda>".to_owned(),
            real: false,
            decompose: None,
            pre_dispatch: None,
            calls_as_aten: false,
            symbols: None,
        },
    )
}
