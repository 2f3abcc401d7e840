//! `aot_export_joint_simple`, `aot_export_module`: the graph and the metadata alone, without a calling convention around it.

use super::compile::{Artifacts, Config, Function, InputSpec};
use super::joint::{trace_inference, trace_joint};
use super::metadata::{ViewAndMutationMeta, collect};
use crate::dispatch::{Exclude, Key, Modes, modes, set_modes};
use crate::error::Result;
use crate::graph::Graph;
use std::rc::Rc;

/// Which graph.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Exported {
    /// What the function computes.
    Inference,
    /// The same with a backward from tangents of its outputs.
    Joint,
    /// A function that asks for gradients itself: its inputs require grad.
    WithGradients,
}

/// Traces a function for inputs like these.
pub fn export(f: &Function, inputs: &[InputSpec], config: &Config, kind: Exported) -> Result<(Rc<Graph>, ViewAndMutationMeta)> {
    let before = modes();
    let _capture = Exclude::only(Key::Capture);
    let _hooks = crate::autograd::WithoutSavedTensorHooks::new();
    set_modes(Modes { grad: before.grad && kind != Exported::Inference, ..before });
    let outcome = (|| {
        let metadata = collect(&**f, inputs, config.keep_input_mutations)?;
        let graph = match kind {
            Exported::Joint => trace_joint(f, inputs, &metadata, config)?,
            _ => trace_inference(f, inputs, &metadata, config, kind == Exported::WithGradients)?,
        };
        Ok((Rc::new(graph), metadata))
    })();
    set_modes(before);
    let (graph, metadata) = outcome?;
    if let Some(observer) = &config.observer {
        let (prologue, epilogue) = (String::new(), String::new());
        let (traced, is_joint, metadata) = (graph.clone(), kind != Exported::Inference, metadata.clone());
        observer(&Artifacts { traced, is_joint, metadata, partitioned: None, study: None, prologue, epilogue, is_abandoned: false });
    }
    Ok((graph, metadata))
}
