//! Records of a trace: what each kind says, and where it goes.

use serde_json::Value;

use super::assemble::Assembler;
use super::model::{CompileId, Key, LoggedGraph, Place, ShapeGuard, Stage, Symbol, Text, Times};

/// The texts that stacks name by number.
#[derive(Default)]
pub(crate) struct Strings(Vec<String>);

impl Strings {
    pub(crate) fn set(&mut self, number: u64, text: &str) {
        // A number from nowhere must not ask for memory.
        let Ok(number) = usize::try_from(number) else { return };
        if number < self.0.len() + 4096 {
            if number >= self.0.len() {
                self.0.resize(number + 1, String::new());
            }
            self.0[number] = text.to_owned();
        }
    }

    fn place(&self, frame: &Value) -> Option<Place> {
        let file = match frame.get("filename") {
            Some(Value::Number(number)) => self.0.get(usize::try_from(number.as_u64()?).ok()?)?.clone(),
            Some(Value::String(name)) => name.clone(),
            _ => return None,
        };
        let text = |name: &str| frame.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let line = frame.get("line").and_then(Value::as_u64).and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        Some(Place { file, line, function: text("name"), code: text("loc") })
    }

    /// The innermost place of a stack.
    fn innermost(&self, stack: Option<&Value>) -> Option<Place> {
        stack?.as_array()?.last().and_then(|frame| self.place(frame))
    }
}

fn number(record: &Value, name: &str) -> Option<u32> {
    record.get(name).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok())
}

/// Whose record it is.
pub(crate) fn key(record: &Value) -> Key {
    let frame = number(record, "frame_id").zip(number(record, "frame_compile_id"));
    let id = CompileId { compiled_autograd: number(record, "compiled_autograd_id"), frame };
    let known = id.frame.is_some() || id.compiled_autograd.is_some();
    Key { rank: number(record, "rank"), id: known.then_some(id), attempt: number(record, "attempt").unwrap_or(0) }
}

/// Names beside the one that says what a record is.
const COMMON: &[&str] = &[
    "rank",
    "frame_id",
    "frame_compile_id",
    "compiled_autograd_id",
    "attempt",
    "has_payload",
    "payload_filename",
    "payload",
    "process",
    "stack",
    "pathname",
    "lineno",
    "thread",
    "timestamp",
];

/// Kinds that are known and say nothing that is shown.
pub(crate) const SKIPPED: &[&str] = &[
    "chromium_event",
    "describe_storage",
    "describe_tensor",
    "describe_source",
    "dump_file",
    "expression_created",
    "missing_fake_kernel",
    "mismatched_fake_kernel",
    "propagate_real_tensors_provenance",
    "symbolic_shape_specialization",
    "torch_dynamo_start",
    "link",
    "graph_dump",
    "optimize_ddp_split_graph",
    "optimize_ddp_split_child",
    "cudagraph",
    "pgo",
];

/// Kinds whose payload is what they say.
pub(crate) const PAYLOADS: &[&str] = &[
    "dynamo_output_graph",
    "aot_joint_graph",
    "aot_forward_graph",
    "aot_backward_graph",
    "aot_inference_graph",
    "compiled_autograd_graph",
    "dynamo_cpp_guards_str",
    "dynamo_guards",
    "inductor_output_code",
    "inductor_post_grad_graph",
    "inductor_pre_grad_graph",
];

/// Takes in a record.
pub(crate) fn record(to: &mut Assembler, strings: &mut Strings, record: &Value, payload: Option<Text>, file: usize, line: u32) {
    let Some(fields) = record.as_object() else { return to.log.note_unknown("a record that is no object", file, line) };
    let Some((kind, value)) = fields.iter().find(|(name, _)| !COMMON.contains(&name.as_str())) else {
        // A stack alone.
        return;
    };
    let key = to.key(key(record));
    let graph = |stage: Stage, text: Text| LoggedGraph { stage, text, aot_id: None, input_types: Vec::new() };
    match (kind.as_str(), payload) {
        ("str", _) => {
            if let (Some(text), Some(number)) = (value.get(0).and_then(Value::as_str), value.get(1).and_then(Value::as_u64)) {
                strings.set(number, text);
            }
        }
        ("dynamo_start", _) => {
            let place = strings.innermost(value.get("stack"));
            let frame = to.frame(&key);
            frame.function = place.as_ref().map(|p| p.function.clone()).filter(|f| !f.is_empty());
            frame.place = place;
        }
        ("dynamo_output_graph", Some(text)) => to.graph(&key, graph(Stage::Dynamo, text)),
        ("aot_joint_graph", Some(text)) => to.graph(&key, graph(Stage::Joint, text)),
        ("aot_forward_graph", Some(text)) => to.graph(&key, graph(Stage::Forward, text)),
        ("aot_backward_graph", Some(text)) => to.graph(&key, graph(Stage::Backward, text)),
        ("aot_inference_graph", Some(text)) => to.graph(&key, graph(Stage::Inference, text)),
        ("inductor_post_grad_graph" | "inductor_pre_grad_graph", Some(text)) => {
            to.graph(&key, graph(Stage::Other(kind.clone()), text));
        }
        ("compiled_autograd_graph", Some(text)) => to.graph(&key, graph(Stage::CompiledAutograd, text)),
        ("dynamo_cpp_guards_str", Some(text)) => to.frame(&key).guards = Some(text),
        ("dynamo_guards", Some(text)) => {
            let guards = &mut to.frame(&key).guards;
            if guards.is_none() {
                *guards = Some(text);
            }
        }
        ("inductor_output_code", Some(text)) => to.artifact(&key, kind, text),
        ("create_symbol" | "create_unbacked_symbol", _) => {
            let text = |name: &str| value.get(name).map(plain).unwrap_or_default();
            let place = strings.innermost(value.get("user_stack"));
            let symbol = Symbol { name: text("symbol"), hint: text("val").parse().ok(), source: text("source"), range: text("vr"), place };
            to.frame(&key).symbols.push(symbol);
        }
        ("guard_added_fast" | "guard_added", _) => {
            let condition = value.get("expr").map(plain).unwrap_or_default();
            let place = strings.innermost(value.get("user_stack"));
            to.frame(&key).shape_guards.push(ShapeGuard { condition, place });
        }
        ("compilation_metrics" | "bwd_compilation_metrics", _) => metrics(to, &key, value, kind == "bwd_compilation_metrics"),
        ("artifact", payload) => artifact(to, &key, value, payload, file, line),
        (known, _) if SKIPPED.contains(&known) => {}
        // Its payload is not there, which was said already.
        (known, None) if PAYLOADS.contains(&known) => {}
        (unknown, _) => to.log.note_unknown(unknown, file, line),
    }
}

/// A text without its quotes; anything else as JSON writes it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn artifact(to: &mut Assembler, key: &Key, value: &Value, payload: Option<Text>, file: usize, line: u32) {
    let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
    let Some(text) = payload else { return };
    let graph = |stage: Stage, text: Text| LoggedGraph { stage, text, aot_id: None, input_types: Vec::new() };
    match name {
        "torch_version" => {
            let json = to.log.text(&text);
            let version = serde_json::from_str::<Value>(&json).ok().and_then(|v| Some(v.get("pytorch_version")?.as_str()?.to_owned()));
            to.log.pytorch = version.or(to.log.pytorch.take());
        }
        "recompile_reasons" => to.frame(key).recompiles.push(text),
        "dynamo_graph_break_reason" => to.frame(key).breaks.push(text),
        "torch._functorch.config" => to.field(key, name, text, |of| &mut of.config),
        "aot_forward_graph_fw_metadata" => to.metadata(key, text),
        "aot_autograd_runtime_wrappers" => to.field(key, name, text, |of| &mut of.runtime_wrappers),
        "before_post_grad_graph" | "inductor_post_grad_graph" | "after_post_grad_graph" | "before_joint_graph" | "after_joint_graph" => {
            to.graph(key, graph(Stage::Other(name.to_owned()), text));
        }
        "before_pre_grad_graph" | "after_pre_grad_graph" | "dynamo_side_effects" | "dynamo_error" => {
            let artifact = super::model::Artifact { name: name.to_owned(), text };
            to.frame(key).artifacts.push(artifact);
        }
        "aot_inference_graph_after_hop_passes" => to.graph(key, graph(Stage::Other(name.to_owned()), text)),
        name => {
            let known = ["fx_graph_", "inductor_provenance", "min_cut_", "aot_forward_graph_fw_subclass", "compiled_autograd_graph"];
            let is_known = known.iter().any(|prefix| name.starts_with(prefix)) || name.ends_with("_BYTECODE");
            if !is_known {
                to.log.note_unknown(&format!("artifact {name}"), file, line);
            }
            to.artifact(key, name, text);
        }
    }
}

fn metrics(to: &mut Assembler, key: &Key, value: &Value, of_backward: bool) {
    let number = |name: &str| value.get(name).and_then(Value::as_f64);
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let micros = |name: &str, seconds: &str| number(name).map(|n| n / 1e6).or_else(|| number(seconds));
    let frame = to.frame(key);
    if of_backward {
        let known =
            micros("backward_cumulative_compile_time_us", "backward_compile_time_s").or_else(|| number("duration_us").map(|n| n / 1e6));
        frame.times.backward = known.or(frame.times.backward);
        return;
    }
    frame.times = Times {
        dynamo: micros("dynamo_cumulative_compile_time_us", "entire_frame_compile_time_s"),
        aot_autograd: micros("aot_autograd_cumulative_compile_time_us", "backend_compile_time_s"),
        inductor: micros("inductor_cumulative_compile_time_us", "inductor_compile_time_s"),
        backward: frame.times.backward,
    };
    if let Some(kind) = text("fail_type") {
        frame.failure = Some((kind, text("fail_reason").unwrap_or_default()));
    }
    frame.function = text("co_name").or(frame.function.take());
    if let (Some(file), Some(line)) = (text("co_filename"), value.get("co_firstlineno").and_then(Value::as_u64)) {
        let function = frame.function.clone().unwrap_or_default();
        frame.place = Some(Place { file, line: u32::try_from(line).unwrap_or(0), function, code: String::new() });
    }
    let counters =
        value.as_object().into_iter().flatten().filter(|(name, _)| name.ends_with("_hit_count") || name.ends_with("_miss_count"));
    frame.cache = counters.filter_map(|(name, count)| Some((name.clone(), count.as_u64()?))).collect();
}
