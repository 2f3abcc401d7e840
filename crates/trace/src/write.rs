//! A run's report as a `TORCH_TRACE` log, so that what reads PyTorch's logs reads it.
//!
//! Graphs stand as AOTAutograd logs them: inputs and returned values one a line, with descriptors of what they are. What a report does not
//! hold is not written: times, addresses, settings other than the memory budget. Of inputs that are tensor subclasses there are no descriptors.

use graph::{Arg, Graph, Node, Style, print_readable};
use md5::{Digest, Md5};
use partition::is_tangent;
use report::{CapturedGraph, Compilation, GraphView, InputInfo, Metadata, OutputInfo, Report};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write;

/// Where PyTorch writes such records.
const DYNAMO: &str = "torch/_dynamo/output_graph.py:0";
const AOT_AUTOGRAD: &str = "torch/_functorch/_aot_autograd/graph_compile.py:0";

/// The log of a run. `script` is what the script is called.
pub fn write(report: &Report, script: &str) -> String {
    let mut out = Trace::default();
    let none = Id::default();
    out.artifact(&none, "torch/_logging/_internal.py:0", "torch_version", &json!({ "pytorch_version": report.pytorch }).to_string());
    out.record(&none, DYNAMO, "str", &json!([script, 0]), None);
    let ids = compile_ids(report);
    let mut recompiles = recompiles(report, &ids);
    for region in &report.regions {
        let id = ids.get(&region.id).cloned().unwrap_or_default();
        out.region(&id, region, script, recompiles.remove(&region.id));
        let of_region = report.compilations.iter().filter(|compilation| compilation.region == Some(region.id));
        for (attempt, compilation) in of_region.enumerate() {
            out.compilation(&Id { attempt: attempt as u32, ..id.clone() }, compilation);
        }
        let guards: String = region.guards.iter().map(|guard| guard_line(guard, script)).collect();
        out.record(&id, DYNAMO, "dynamo_cpp_guards_str", &json!({}), Some(&format!("TREE_GUARD_MANAGER:\n+- RootGuardManager\n{guards}")));
    }
    let known = |id: u32| report.regions.iter().any(|region| region.id == id);
    for compilation in report.compilations.iter().filter(|compilation| compilation.region.is_none_or(|id| !known(id))) {
        out.compilation(&none, compilation);
    }
    for tape in &report.tapes {
        out.record(&none, "torch/_dynamo/compiled_autograd.py:0", "compiled_autograd_graph", &json!({}), Some(&tape.graph.readable));
    }
    for graph_break in &report.breaks {
        let place =
            graph_break.span.as_ref().map(|span| format!("Graph break in user code at {script}:{}\n", span.line)).unwrap_or_default();
        out.artifact(&none, DYNAMO, "dynamo_graph_break_reason", &format!("{place}Graph Break Reason: {}\n", graph_break.reason));
    }
    out.text
}

/// Whose record it is.
#[derive(Clone, Debug, Default)]
struct Id {
    /// The frame, and which compilation of it.
    frame: Option<(u32, u32)>,
    attempt: u32,
}

/// Compile ids of captured graphs: the frame, and how often it was compiled before.
fn compile_ids(report: &Report) -> HashMap<u32, Id> {
    let mut counts: HashMap<u32, u32> = HashMap::new();
    let mut ids = HashMap::new();
    for region in &report.regions {
        let Some(entry) = &region.entry else { continue };
        let count = counts.entry(entry.frame).or_default();
        ids.insert(region.id, Id { frame: Some((entry.frame, *count)), attempt: 0 });
        *count += 1;
    }
    ids
}

/// Why graphs were captured, by graph: every recompile but those that reached a limit captured one.
fn recompiles(report: &Report, ids: &HashMap<u32, Id>) -> HashMap<u32, Vec<String>> {
    let again = report.regions.iter().filter(|region| ids.get(&region.id).is_some_and(|id| id.frame.is_some_and(|(_, count)| count > 0)));
    again.map(|region| region.id).zip(report.recompiles.iter().cloned()).collect()
}

fn guard_line(guard: &report::Guard, script: &str) -> String {
    let place = guard.span.as_ref().map(|span| format!("  # {script}:{} in <module>", span.line)).unwrap_or_default();
    format!("| +- {}{place}\n", guard.text.replace('\n', " "))
}

#[derive(Default)]
struct Trace {
    text: String,
}

impl Trace {
    /// Writes a record, and its payload behind TABs.
    fn record(&mut self, id: &Id, place: &str, kind: &str, value: &Value, payload: Option<&str>) {
        let _ = write!(self.text, "V0101 00:00:00.000000 1 {place}] {{\"{kind}\": {value}");
        if let Some((frame, count)) = id.frame {
            let _ = write!(self.text, ", \"frame_id\": {frame}, \"frame_compile_id\": {count}, \"attempt\": {}", id.attempt);
        }
        let Some(payload) = payload else { return self.text.push_str("}\n") };
        let sum: String = Md5::digest(payload.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(self.text, ", \"has_payload\": \"{sum}\"}}");
        for line in payload.split('\n') {
            let _ = writeln!(self.text, "\t{line}");
        }
    }

    fn artifact(&mut self, id: &Id, place: &str, name: &str, payload: &str) {
        self.record(id, place, "artifact", &json!({ "encoding": "string", "name": name }), Some(payload));
    }

    fn region(&mut self, id: &Id, region: &CapturedGraph, script: &str, recompile: Option<Vec<String>>) {
        let line = region.span.as_ref().map_or(0, |span| span.line);
        let stack = json!([{ "line": line, "name": region.function, "filename": 0 }]);
        self.record(id, "torch/_dynamo/convert_frame.py:0", "dynamo_start", &json!({ "stack": stack }), None);
        if let Some(reasons) = recompile {
            self.artifact(id, "torch/_dynamo/guards.py:0", "recompile_reasons", &reasons.join("\n"));
        }
        for symbol in region.entry.iter().flat_map(|entry| &entry.symbols) {
            let bound = |number: Option<i64>, open: &str| number.map_or_else(|| open.to_owned(), |number| number.to_string());
            let range = format!("[{}, {}]", bound(symbol.lower, "-int_oo"), bound(symbol.upper, "int_oo"));
            let mut value = json!({ "symbol": symbol.name, "vr": range, "source": symbol.source });
            if let Some(hint) = symbol.value {
                value["val"] = Value::String(hint.to_string());
            }
            self.record(id, "torch/fx/experimental/symbolic_shapes.py:0", "create_symbol", &value, None);
        }
        self.record(id, DYNAMO, "dynamo_output_graph", &json!({}), Some(&region.graph.readable));
        let metrics = json!({ "co_name": region.function, "co_filename": script, "co_firstlineno": line });
        self.record(id, "torch/_dynamo/utils.py:0", "compilation_metrics", &metrics, None);
    }

    fn compilation(&mut self, id: &Id, of: &Compilation) {
        let described = Described::of(of);
        let graphs = [
            ("aot_joint_graph", &of.joint),
            ("aot_inference_graph", &of.inference),
            ("aot_forward_graph", &of.forward),
            ("aot_backward_graph", &of.backward),
        ];
        for (kind, graph) in graphs {
            let Some(graph) = graph else { continue };
            if kind == "aot_forward_graph" {
                self.about_partition(id, of);
            }
            self.record(id, AOT_AUTOGRAD, kind, &json!({}), Some(&expanded(graph, kind, described.as_ref())));
        }
        if of.joint.is_none()
            && let Some(metadata) = &of.metadata
        {
            self.artifact(id, AOT_AUTOGRAD, "aot_forward_graph_fw_metadata", &repr(metadata));
        }
        let around = format!("{}{}", of.prologue, of.epilogue);
        if !around.is_empty() {
            self.artifact(id, AOT_AUTOGRAD, "aot_autograd_runtime_wrappers", &around);
        }
    }

    /// What the partitioner went by.
    fn about_partition(&mut self, id: &Id, of: &Compilation) {
        if let Some(partition) = &of.partition {
            let settings = json!({ "activation_memory_budget": partition.budget });
            self.artifact(id, AOT_AUTOGRAD, "torch._functorch.config", &settings.to_string());
        }
        if let Some(metadata) = &of.metadata {
            self.artifact(id, AOT_AUTOGRAD, "aot_forward_graph_fw_metadata", &repr(metadata));
        }
    }
}

/// What inputs and returned values are, in PyTorch's words.
struct Described {
    /// By input.
    inputs: HashMap<String, String>,
    /// What the forward returns to its caller.
    returned: Vec<String>,
    /// What the backward returns.
    gradients: Vec<String>,
}

impl Described {
    /// `None` where the graph's inputs are not the function's.
    fn of(of: &Compilation) -> Option<Described> {
        let metadata = of.metadata.as_ref()?;
        let view = of.joint.as_ref().or(of.inference.as_ref())?;
        let graph = read(view)?;
        let primals: Vec<&Node> = graph.placeholders().filter(|node| !is_tangent(node)).collect();
        let num_tokens = primals.len().checked_sub(metadata.input_info.len())?;
        let is_in_order = primals[num_tokens..].iter().zip(&metadata.input_info).all(|(node, info)| *node.name == *info.name);
        if !is_in_order || num_tokens > 1 {
            return None;
        }
        let plain = |i: usize| format!("PlainAOTInput(idx={i})");
        let mut inputs: HashMap<String, String> =
            primals[num_tokens..].iter().enumerate().map(|(i, node)| (node.name.to_string(), plain(i))).collect();
        inputs.extend(
            primals[..num_tokens].iter().enumerate().map(|(i, node)| (node.name.to_string(), format!("ForwardTokenAOTInput(idx={i})"))),
        );
        let mutated = |wanted: &dyn Fn(&InputInfo) -> bool| -> Vec<String> {
            let is_mutated = |info: &InputInfo| info.mutation_type == "MUTATED_OUT_GRAPH" && wanted(info);
            let all = metadata.input_info.iter().enumerate().filter(|(_, info)| is_mutated(info));
            all.map(|(i, _)| format!("InputMutationAOTOutput(mutated_input={})", plain(i))).collect()
        };
        let output = |o: usize| format!("PlainAOTOutput(idx={o})");
        let bases: Vec<String> = (0..metadata.num_intermediate_bases)
            .map(|base| {
                let is_of = |info: &OutputInfo| info.output_type.starts_with("alias_of_intermediate") && info.base_idx == Some(base);
                let first = metadata.output_info.iter().position(is_of).unwrap_or_default();
                format!("IntermediateBaseAOTOutput(base_of={})", output(first))
            })
            .collect();
        let mut returned: Vec<String> = (0..num_tokens).map(|i| format!("ForwardTokenAOTOutput(idx={i})")).collect();
        returned.extend(mutated(&|_| true));
        returned.extend((0..metadata.output_info.len()).map(output));
        returned.extend(bases.iter().cloned());
        let is_differentiated = |info: &OutputInfo| {
            info.requires_grad && ["non_alias", "unsafe_view_alias", "custom_function_view"].contains(&info.output_type.as_str())
        };
        let mut differentiated = mutated(&|info| info.mutates_data && info.requires_grad);
        differentiated.extend(metadata.output_info.iter().enumerate().filter(|(_, info)| is_differentiated(info)).map(|(o, _)| output(o)));
        differentiated.extend(bases);
        let tangents: Vec<&Node> = graph.placeholders().filter(|node| is_tangent(node)).collect();
        if tangents.len() == differentiated.len() {
            inputs.extend(
                tangents.iter().zip(differentiated).map(|(node, of)| (node.name.to_string(), format!("TangentAOTInput(output={of})"))),
            );
        }
        let gradients = (0..metadata.input_info.len()).map(|i| format!("GradAOTOutput(grad_of={})", plain(i))).collect();
        Some(Described { inputs, returned, gradients })
    }
}

/// A graph of the report, read again.
fn read(view: &GraphView) -> Option<Graph> {
    graph::parse(&view.readable, &|_| None).ok().map(|parsed| parsed.graph)
}

/// A graph as traces show it; as it is where it cannot be read.
fn expanded(view: &GraphView, kind: &str, described: Option<&Described>) -> String {
    let Some(mut graph) = read(view) else { return view.readable.clone() };
    if let Some(described) = described {
        let inputs: Vec<_> =
            graph.placeholders().filter_map(|node| Some((node.id, described.inputs.get(&*node.name)?.as_str().into()))).collect();
        for (id, text) in inputs {
            graph.node_mut(id).meta.descriptors = Some(vec![text]);
        }
        let outputs = graph.outputs();
        let of_forward = described.returned.iter().cloned();
        let all: Vec<String> = match kind {
            "aot_backward_graph" => described.gradients.clone(),
            "aot_joint_graph" => of_forward.chain(described.gradients.iter().cloned()).collect(),
            "aot_forward_graph" => of_forward.chain((0..outputs.len()).map(|i| format!("SavedForBackwardsAOTOutput(idx={i})"))).collect(),
            _ => of_forward.collect(),
        };
        // A gradient that is not there is nothing.
        let told = outputs.iter().zip(all).map(|(output, text)| match (output, text.starts_with("Grad")) {
            (Arg::None, true) => "None".into(),
            _ => text.as_str().into(),
        });
        let told: Vec<std::rc::Rc<str>> = told.collect();
        if told.len() == outputs.len()
            && let Some(id) = graph.output().map(|node| node.id)
        {
            graph.node_mut(id).meta.descriptors = Some(told);
        }
    }
    print_readable(&graph, Style { expanded: true, ..Style::FULL }).text
}

/// PyTorch's numbers of what outputs are (`OutputType`).
const OUTPUT_TYPES: &[&str] = &[
    "non_alias",
    "alias_of_input",
    "is_input",
    "alias_of_intermediate_save_as_output",
    "alias_of_intermediate",
    "alias_of_intermediate_base_is_user_output",
    "unsafe_view_alias",
    "custom_function_view",
];

/// `ViewAndMutationMeta`, as Python prints it, as far as the report has it.
fn repr(metadata: &Metadata) -> String {
    let flag = |value: bool| if value { "True" } else { "False" };
    let input = |info: &InputInfo| {
        format!(
            "InputAliasInfo(is_leaf={}, mutates_data={}, mutates_metadata={}, mutations_hidden_from_autograd={}, \
             mutations_under_no_grad_or_inference_mode={}, mutation_inductor_storage_resize=False, mutates_storage_metadata=False, \
             requires_grad={}, keep_input_mutations=True)",
            flag(info.is_leaf),
            flag(info.mutates_data),
            flag(info.mutates_metadata),
            flag(info.mutations_hidden_from_autograd),
            flag(info.mutations_under_no_grad_or_inference_mode),
            flag(info.requires_grad),
        )
    };
    let output = |info: &OutputInfo| {
        let number = OUTPUT_TYPES.iter().position(|name| *name == info.output_type).map_or(0, |at| at + 1);
        let base = info.base_idx.map_or_else(|| "None".to_owned(), |at| at.to_string());
        format!(
            "OutputAliasInfo(output_type=<OutputType.{}: {number}>, base_idx={base}, requires_grad={})",
            info.output_type,
            flag(info.requires_grad)
        )
    };
    format!(
        "ViewAndMutationMeta(input_info=[{}], output_info=[{}], num_intermediate_bases={}, keep_input_mutations=True, static_input_indices={:?})",
        metadata.input_info.iter().map(input).collect::<Vec<_>>().join(", "),
        metadata.output_info.iter().map(output).collect::<Vec<_>>().join(", "),
        metadata.num_intermediate_bases,
        metadata.static_inputs,
    )
}
