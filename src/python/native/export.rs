//! What `torch.export` is written on: a program's graph as it is called, and that graph functionalized and taken apart.

use std::collections::HashSet;

use rustpython_vm::builtins::PyDictRef;
use rustpython_vm::{PyObjectRef, PyPayload, PyResult, VirtualMachine};

use super::graph_module::{self, PyGraphModule};
use super::make_fx::{decompose_by, flat_function, no_output, values_of};
use crate::aot::export::{Exported, can_stay_whole, export};
use crate::aot::make_fx::{Tracing, lift_constants, make_fx};
use crate::aot::schemas::{Function, InputSpec};
use crate::dispatch::{KeepWhole, Rule, all};
use crate::dynamo::backends::{Pipeline, config};
use crate::graph::{Arg, FakeValue, Graph, Meta, Node, NodeId, Target};
use crate::ops::convolution::ForAnyLibrary;
use crate::partition::Partitioner;
use crate::python::native::tensor::{raise, wrap};
use crate::python::span::source_in_forward;
use crate::shape::ShapeEnv;
use crate::tensor::Layout;

/// The graph of a function of a list of fake tensors, the first `state` of them parameters and buffers, its operators as they are called;
/// behind those come the constants that it reads, which are given beside the graph.
pub fn called(
    function: PyObjectRef,
    names: &[String],
    inputs: &[PyObjectRef],
    state: usize,
    env: ShapeEnv,
    vm: &VirtualMachine,
) -> PyResult {
    let given = values_of(inputs, vm)?;
    let tracing = Tracing {
        class_name: "GraphModule".to_owned(),
        real: false,
        decompose: None,
        pre_dispatch: Some(source_in_forward),
        calls_as_aten: false,
        symbols: Some(env),
    };
    let mut graph = make_fx(&flat_function(function, no_output), names, &given, tracing).map_err(|e| raise(e, vm))?;
    state_what_is_converted(&mut graph);
    let constants = lift_constants(&mut graph, state);
    let constants = constants.iter().map(|t| wrap(t, vm)).collect::<PyResult<Vec<_>>>()?;
    Ok(vm.ctx.new_tuple(vec![PyGraphModule::new(graph).into_pyobject(vm), vm.ctx.new_list(constants).into()]).into())
}

/// Puts in front of every conversion a check that what is converted looks as it did: a program is one for that alone.
fn state_what_is_converted(graph: &mut Graph) {
    let is_conversion = |node: &Node| matches!(node.op(), Some("aten.to.device" | "aten.to.dtype" | "aten.to.dtype_layout"));
    let conversions: Vec<NodeId> = graph.nodes().filter(|node| is_conversion(node)).map(|node| node.id).collect();
    let mut order: Vec<NodeId> = graph.nodes().map(|node| node.id).collect();
    for conversion in conversions {
        let Some(Arg::Node(converted)) = graph.node(conversion).args.first().cloned() else { continue };
        let Some(FakeValue::Tensor(spec)) = graph.node(converted).meta.value.clone() else { continue };
        let own = graph.node(conversion).meta.clone();
        let meta = Meta { source: own.source, modules: own.modules, seq_nr: own.seq_nr, ..Meta::default() };
        let kwargs = vec![
            ("dtype".into(), Arg::Dtype(spec.dtype)),
            ("device".into(), Arg::Device(spec.device)),
            ("layout".into(), Arg::Layout(Layout::Strided)),
        ];
        let target = Target::Op("aten._assert_tensor_metadata.default".into());
        let check = graph.call("_assert_tensor_metadata_default", target, vec![Arg::Node(converted)], kwargs, meta);
        let at = order.iter().position(|id| *id == conversion).unwrap_or(order.len());
        order.insert(at, check);
    }
    graph.reorder(order);
}

/// Such a graph functionalized: `rules` take operators apart, and what is composed of others stays whole unless `apart` names it.
/// Gives the graph, and of each input whether it is written to.
pub fn functionalized(f: &Function, specs: &[InputSpec], rules: PyDictRef, apart: Vec<String>, vm: &VirtualMachine) -> PyResult {
    let mut config = config(&Pipeline::plain(Partitioner::Default), false, None);
    config.script_decompositions = Some(decompose_by(&rules, vm)?);
    let apart: HashSet<String> = apart.into_iter().collect();
    // Nothing is differentiated: how products are folded does not depend on what requires grad.
    let specs: Vec<InputSpec> = specs.iter().map(|spec| InputSpec { requires_grad: false, ..spec.clone() }).collect();
    let (graph, metadata) = {
        let _library = ForAnyLibrary::new();
        let _whole = KeepWhole::new(move |entry, _| can_stay_whole(entry) && !apart.contains(entry.name));
        export(f, &specs, &config, Exported::Inference).map_err(|e| raise(e, vm))?
    };
    let module = graph_module::script_module(PyGraphModule::new((*graph).clone()), vm)?;
    let mutated = metadata.input_info.iter().map(|i| vm.ctx.new_bool(i.mutates_data || i.mutates_metadata).into()).collect();
    Ok(vm.ctx.new_tuple(vec![module, vm.ctx.new_list(mutated).into()]).into())
}

/// The operators that may stay whole, by their names.
pub fn may_stay_whole() -> Vec<&'static str> {
    let composite = all().iter().filter(|entry| matches!(entry.rule, Rule::Composite(_)));
    composite.filter(|entry| can_stay_whole(entry)).map(|entry| entry.name).collect()
}
