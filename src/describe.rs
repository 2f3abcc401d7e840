//! From the compiler's own types to what a report shows of a compilation.

use crate::aot::schemas::{self, Artifacts, FrozenGraph, MutationType, OutputType, ViewAndMutationMeta};
use crate::graph::{Arg, Graph, Opcode, Style, Target, print_readable};
use crate::graph_view::{functionalized, mark_donated, saved_values, view};
use crate::report::sentences::donated;
use crate::report::{Compilation, CompilationKind, Freezing, FrozenConstant, GraphView, InputInfo, Metadata, OutputInfo};

/// A target with the module it is in.
fn qualified(target: &Target) -> String {
    match target {
        Target::Getitem => "_operator.getitem".to_owned(),
        Target::Operator(name) if name.starts_with("sym_") => format!("torch.{name}"),
        Target::Operator(name) => format!("_operator.{name}"),
        Target::HigherOrder(name) => format!("torch.ops.higher_order.{name}"),
        other => other.text(),
    }
}

/// One AOTAutograd compilation.
pub fn compilation(id: u32, region: Option<u32>, artifacts: &Artifacts) -> Compilation {
    let traced = view(&artifacts.traced);
    let mut out = Compilation {
        id,
        region,
        kind: if artifacts.is_joint { CompilationKind::Joint } else { CompilationKind::Inference },
        metadata: Some(metadata(&artifacts.traced, &artifacts.metadata)),
        prologue: artifacts.prologue.clone(),
        epilogue: artifacts.epilogue.clone(),
        abandoned: artifacts.is_abandoned,
        seq_nr: artifacts
            .traced
            .nodes()
            .filter(|n| n.opcode == Opcode::Call)
            .map(|n| (n.meta.seq_nr, qualified(&n.target), n.name.to_string()))
            .collect(),
        ..Compilation::default()
    };
    if artifacts.is_joint {
        out.joint = Some(traced);
    } else {
        out.inference = Some(traced);
    }
    if let Some(split) = &artifacts.partitioned {
        let num_fwd_outputs = split.forward.outputs().len().saturating_sub(split.saved.len());
        out.functionalized = Some(view(&functionalized(&artifacts.traced, num_fwd_outputs)));
        out.forward = Some(view(&split.forward));
        out.backward = Some(view(&split.backward));
        let mut saved = saved_values(&split.forward, &split.saved);
        if artifacts.metadata.switches.donated_buffer {
            mark_donated(&mut saved, &split.forward, &split.backward);
        }
        out.donated = donated(&saved);
        out.saved = Some(saved);
        out.partition = Some(split.report.clone());
    }
    if let Some(frozen) = &artifacts.frozen {
        out.frozen = Some(GraphView { readable: print_readable(&frozen.graph, Style::PLAIN).text, ..view(&frozen.graph) });
        out.freezing = Some(freezing(frozen, &artifacts.traced));
    }
    if let (Some(study), Some(metadata)) = (&artifacts.study, &mut out.metadata) {
        let of_function = |place: &usize| place.checked_sub(artifacts.metadata.num_tokens()).map(|at| at as u32);
        metadata.static_inputs = study.static_inputs().iter().filter_map(of_function).collect();
    }
    out
}

/// What became of the parameters of a graph that was frozen.
fn freezing(frozen: &FrozenGraph, traced: &Graph) -> Freezing {
    let constant = |constant: &schemas::FrozenConstant| FrozenConstant {
        name: constant.node.clone(),
        bytes: constant.bytes,
        parameters: constant.parameters.clone(),
        operators: constant.operators.clone(),
    };
    let bytes = |place: usize| traced.placeholders().nth(place).and_then(|n| n.tensor()).and_then(|t| t.bytes()).unwrap_or(0);
    let gone = (0..traced.placeholders().count()).filter(|place| !frozen.preserved.contains(place));
    Freezing {
        constants: frozen.constants.iter().map(constant).collect(),
        parameter_bytes: gone.map(bytes).sum(),
        constant_bytes: frozen.constants.iter().map(|c| c.bytes).sum(),
        folded_calls: frozen.folded_calls as u32,
        seconds: frozen.seconds,
    }
}

/// The state that hooks of the function are in, as an input.
fn backward_state(name: &str) -> InputInfo {
    InputInfo {
        name: name.to_owned(),
        is_leaf: false,
        mutates_data: false,
        mutates_metadata: false,
        mutations_hidden_from_autograd: false,
        mutations_under_no_grad_or_inference_mode: false,
        requires_grad: false,
        mutation_type: MutationType::NotMutated.name().to_owned(),
        words: "the hooks that this call registers: the backward calls them".to_owned(),
        written_at: Vec::new(),
    }
}

fn metadata(graph: &Graph, meta: &ViewAndMutationMeta) -> Metadata {
    let mut names: Vec<&str> = graph.placeholders().skip(meta.num_tokens()).map(|n| &*n.name).collect();
    let returned = graph.outputs();
    let first = meta.num_tokens() + meta.runtime_mutated().len();
    let state = meta.state_place().filter(|place| *place < names.len()).map(|place| names.remove(place));
    let mut described = Metadata {
        input_info: meta
            .input_info
            .iter()
            .zip(&names)
            .map(|(info, name)| {
                let info = InputInfo {
                    name: (*name).to_owned(),
                    is_leaf: info.is_leaf,
                    mutates_data: info.mutates_data,
                    mutates_metadata: info.mutates_metadata,
                    mutations_hidden_from_autograd: info.mutations_hidden_from_autograd,
                    mutations_under_no_grad_or_inference_mode: info.mutations_under_no_grad_or_inference_mode,
                    requires_grad: info.requires_grad,
                    mutation_type: info.mutation_type.name().to_owned(),
                    words: String::new(),
                    written_at: info.written_at.iter().map(|s| s.span.clone()).collect(),
                };
                InputInfo { words: info.in_words(), ..info }
            })
            .collect(),
        output_info: meta
            .output_info
            .iter()
            .enumerate()
            .map(|(o, info)| {
                let node = match returned.get(first + o) {
                    Some(Arg::Node(id)) => Some(graph.node(*id)),
                    _ => None,
                };
                OutputInfo {
                    output_type: info.output_type.name().to_owned(),
                    base_idx: info.base_idx.map(|i| i as u32),
                    requires_grad: info.requires_grad,
                    name: node.map(|n| n.name.to_string()),
                    words: alias_in_words(info, &names),
                    span: node.and_then(|n| n.meta.source.as_ref()).map(|s| s.span.clone()),
                }
            })
            .collect(),
        num_intermediate_bases: meta.num_intermediate_bases as u32,
        static_inputs: Vec::new(),
    };
    if let (Some(name), Some(at)) = (state, meta.backward_state) {
        described.input_info.insert(at, backward_state(name));
    }
    described
}

/// What an output aliases, for a person.
fn alias_in_words(info: &schemas::OutputInfo, inputs: &[&str]) -> String {
    let input = || info.base_idx.and_then(|i| inputs.get(i)).map_or_else(|| "an input".to_owned(), |name| format!("the input {name}"));
    let number = info.base_idx.unwrap_or(0);
    let gradient = if info.requires_grad { "" } else { ", without its history" };
    if info.spec.is_none() {
        return "No tensor: handed out as it is.".to_owned();
    }
    match info.output_type {
        OutputType::NonAlias if info.base_idx.is_some() => {
            format!("One of several views of {} that one operator made: returned as the graph made it.", input())
        }
        OutputType::NonAlias => "A tensor of its own: returned as the graph made it.".to_owned(),
        OutputType::AliasOfInput => format!("A view of {}: the runtime makes it again from your tensor{gradient}.", input()),
        OutputType::IsInput => format!("It is {}: the runtime returns your own tensor.", input()),
        OutputType::AliasOfIntermediateSaveAsOutput => format!(
            "One of several views of a value made inside: the graph returns that value too (base {number}), and the runtime makes the view again from it."
        ),
        OutputType::AliasOfIntermediate => {
            format!("Another view of the value that the graph returns as base {number}: the runtime makes it again from that.")
        }
        OutputType::AliasOfIntermediateBaseIsUserOutput => {
            format!("Shares its memory with output {number}: the runtime makes it again from that{gradient}.")
        }
        OutputType::UnsafeViewAlias => {
            "A view of a value made inside that nobody else sees: returned as the graph made it, and no view for autograd.".to_owned()
        }
        OutputType::CustomFunctionView => "A view that a custom autograd.Function made: it keeps that function's backward.".to_owned(),
    }
}
