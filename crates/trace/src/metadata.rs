//! `ViewAndMutationMeta`, as a log prints it, and `torch._functorch.config`.

use super::model::{Compilation, Log};
use super::repr::{self, Repr};
use graph::{Graph, Node};
use partition::{MemoryBudgetSolver, PartitionConfig, RuntimeEstimator, is_tangent};
use report::{InputInfo, Metadata, OutputInfo};
use serde_json::Value;

/// What is known of an input.
#[derive(Clone, Debug, Default)]
pub struct LoggedInput {
    /// As reports say it, without the name.
    pub info: InputInfo,
    /// Whether the runtime gives it its new value, after the graph has run.
    pub is_mutated_at_runtime: bool,
}

/// Mutation and aliasing, as the log says it.
#[derive(Clone, Debug, Default)]
pub struct LoggedMetadata {
    /// Per input.
    pub inputs: Vec<LoggedInput>,
    /// Per output.
    pub outputs: Vec<OutputInfo>,
    /// Values that are returned only because outputs are views of them.
    pub num_intermediate_bases: u32,
    /// Inputs that live as long as the model.
    pub static_inputs: Vec<usize>,
    /// How many effect tokens come before the inputs.
    pub num_tokens: usize,
}

/// Reads the metadata of a compilation, where it is logged whole.
pub fn metadata(log: &Log, compilation: &Compilation) -> Option<LoggedMetadata> {
    let text = log.text(compilation.metadata.as_ref()?);
    let read = repr::parse(&text)?;
    let flag = |of: &Repr, name: &str| of.field(name).is_some_and(Repr::is_true);
    let input = |of: &Repr| {
        let info = InputInfo {
            is_leaf: flag(of, "is_leaf"),
            mutates_data: flag(of, "mutates_data"),
            mutates_metadata: flag(of, "mutates_metadata"),
            mutations_hidden_from_autograd: flag(of, "mutations_hidden_from_autograd"),
            mutations_under_no_grad_or_inference_mode: flag(of, "mutations_under_no_grad_or_inference_mode"),
            requires_grad: flag(of, "requires_grad"),
            ..InputInfo::default()
        };
        let resized = flag(of, "mutation_inductor_storage_resize");
        let in_graph = flag(of, "keep_input_mutations")
            && !flag(of, "mutates_storage_metadata")
            && (info.mutates_data || resized)
            && ((!info.mutates_metadata && !info.requires_grad)
                || info.mutations_hidden_from_autograd
                || info.mutations_under_no_grad_or_inference_mode)
            && !info.mutates_metadata;
        let (kind, is_mutated_at_runtime) = match info.mutates_data || info.mutates_metadata || resized {
            false => ("NOT_MUTATED", false),
            true if in_graph => ("MUTATED_IN_GRAPH", false),
            true => ("MUTATED_OUT_GRAPH", true),
        };
        LoggedInput { info: InputInfo { mutation_type: kind.to_owned(), ..info }, is_mutated_at_runtime }
    };
    let output = |of: &Repr| OutputInfo {
        output_type: of.field("output_type").and_then(Repr::enumeration).unwrap_or_default().to_owned(),
        base_idx: of.field("base_idx").and_then(Repr::number).and_then(|n| u32::try_from(n).ok()),
        requires_grad: flag(of, "requires_grad"),
        ..OutputInfo::default()
    };
    let list = |name: &str| read.field(name).map(Repr::items).unwrap_or_default();
    let tokens = match read.field("tokens") {
        Some(Repr::Dict(entries)) => entries.len(),
        _ => 0,
    };
    Some(LoggedMetadata {
        inputs: list("input_info").iter().map(input).collect(),
        outputs: list("output_info").iter().map(output).collect(),
        num_intermediate_bases: read
            .field("num_intermediate_bases")
            .and_then(Repr::number)
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(0),
        static_inputs: list("static_input_indices").iter().filter_map(|n| usize::try_from(n.number()?).ok()).collect(),
        num_tokens: tokens,
    })
}

/// The number of the function's input that a graph's input is, or is a part of: 2 of `PlainAOTInput(idx=2)`.
fn plain_index(node: &Node) -> Option<usize> {
    let text = node.meta.descriptors.as_ref()?.first()?;
    let (_, rest) = text.split_once("PlainAOTInput(idx=")?;
    rest.split(')').next()?.parse().ok()
}

/// Where inputs of the function are among a joint graph's primals.
pub fn positions(joint: &Graph, num_tokens: usize, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    let primals: Vec<&Node> = joint.placeholders().filter(|node| !is_tangent(node)).collect();
    let described = primals.iter().any(|node| plain_index(node).is_some());
    let is_wanted = |(at, node): (usize, &&Node)| {
        let number = if described { plain_index(node) } else { at.checked_sub(num_tokens) };
        number.is_some_and(&wanted).then_some(at)
    };
    primals.iter().enumerate().filter_map(is_wanted).collect()
}

/// The metadata as reports show it, with the names of a graph's inputs and outputs.
pub fn described(meta: &LoggedMetadata, graph: &Graph) -> Metadata {
    let names: Vec<&str> = graph.placeholders().skip(meta.num_tokens).map(|node| &*node.name).collect();
    let named = |(i, input): (usize, &LoggedInput)| InputInfo {
        name: names.get(i).map_or_else(String::new, |name| (*name).to_owned()),
        words: input.info.in_words(),
        ..input.info.clone()
    };
    Metadata {
        input_info: meta.inputs.iter().enumerate().map(named).collect(),
        output_info: meta.outputs.clone(),
        num_intermediate_bases: meta.num_intermediate_bases,
        static_inputs: meta.static_inputs.iter().map(|at| *at as u32).collect(),
    }
}

/// The partitioner's settings by the log, and what had to be assumed.
pub fn settings(log: &Log, compilation: &Compilation) -> (PartitionConfig, Vec<String>) {
    let mut config = PartitionConfig::default();
    let mut assumed = Vec::new();
    let read = compilation.config.as_ref().and_then(|text| serde_json::from_str::<Value>(&log.text(text)).ok());
    let Some(read) = read else {
        assumed.push("the log has no torch._functorch.config: its defaults are assumed".to_owned());
        return (config, assumed);
    };
    let flag = |name: &str, target: &mut bool| {
        if let Some(value) = read.get(name).and_then(Value::as_bool) {
            *target = value;
        }
    };
    flag("cse", &mut config.cse);
    flag("treat_parameters_as_free_to_save", &mut config.treat_parameters_as_free_to_save);
    flag("recompute_views", &mut config.recompute_views);
    flag("aggressive_recomputation", &mut config.aggressive_recomputation);
    flag("ban_recompute_used_far_apart", &mut config.min_cut.ban_if_used_far_apart);
    flag("ban_recompute_long_fusible_chains", &mut config.min_cut.ban_if_long_fusible_chains);
    flag("ban_recompute_materialized_backward", &mut config.min_cut.ban_if_materialized_backward);
    flag("ban_recompute_not_in_allowlist", &mut config.min_cut.ban_if_not_in_allowlist);
    flag("ban_recompute_reductions", &mut config.min_cut.ban_if_reduction);
    flag("activation_memory_budget_require_full_coverage", &mut config.activation_memory_budget_require_full_coverage);
    if let Some(far) = read.get("max_dist_from_bw").and_then(Value::as_u64) {
        config.max_dist_from_bw = far;
    }
    if let Some(budget) = read.get("activation_memory_budget").and_then(Value::as_f64) {
        config.activation_memory_budget = budget;
    }
    let solver = read.get("activation_memory_budget_solver").and_then(Value::as_str);
    let estimator = read.get("activation_memory_budget_runtime_estimator").and_then(Value::as_str);
    if let Some(name) = solver {
        config.activation_memory_budget_solver = MemoryBudgetSolver::of(name);
    }
    if let Some(name) = estimator {
        config.activation_memory_budget_runtime_estimator = RuntimeEstimator::of(name);
    }
    if config.activation_memory_budget < 1.0 && (solver.is_none() || estimator.is_none()) {
        assumed.push("the log does not say how the memory budget is solved: the solver dp and the estimator flops are assumed".to_owned());
    }
    (config, assumed)
}
