//! Files of their own: `torch_compile_debug`, the minifier's, JSON of one artifact, calls of a mode.

use serde_json::Value;

use super::assemble::Assembler;
use super::folder::whole;
use super::model::{Artifact, Key, Log, LoggedGraph, Stage, Text};
use super::text::guess;

/// Types of what a file's `load_args` makes, by the names that its comments give: sizes in order of the arguments.
fn load_args(text: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for line in text.lines().map(str::trim) {
        let Some((call, name)) = line.rsplit_once("  # ") else { continue };
        if let Some(call) = call.strip_prefix("reader.tensor(").and_then(|c| c.strip_suffix(')')) {
            out.extend(tensor_type(call).map(|written| (name.to_owned(), written)));
        } else if let Some(number) = call.strip_prefix("reader.symint(").and_then(|c| c.strip_suffix(')')) {
            out.push((name.to_owned(), format!("Sym({number})")));
        }
    }
    out
}

/// `buf0, (5, 8), (8, 1), dtype=torch.float16, is_leaf=True`, as graphs write a type.
fn tensor_type(call: &str) -> Option<String> {
    let (_, rest) = call.split_once(", ")?;
    let (shape, rest) = tuple(rest)?;
    let (strides, rest) = match rest.strip_prefix(", ").filter(|r| r.starts_with('(')) {
        Some(rest) => {
            let (strides, rest) = tuple(rest)?;
            (strides, rest)
        }
        None => (contiguous(&shape), rest),
    };
    let field = |name: &str| rest.split_once(name).map(|(_, v)| v.split(',').next().unwrap_or_default());
    let dtype = field("dtype=torch.").and_then(|name| tensor::Dtype::parse(name.trim())).unwrap_or(tensor::Dtype::Float32);
    let device = rest.split_once("device='").map_or("cpu", |(_, v)| v.split('\'').next().unwrap_or("cpu"));
    let list = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    Some(format!("{}[{}][{}]{device}", dtype.short(), list(&shape), list(&strides)))
}

/// `(5, 8)` and what follows.
fn tuple(text: &str) -> Option<(Vec<i64>, &str)> {
    let (inside, rest) = text.strip_prefix('(')?.split_once(')')?;
    let numbers = inside.split(',').map(str::trim).filter(|n| !n.is_empty()).map(|n| n.parse().ok()).collect::<Option<_>>()?;
    Some((numbers, rest))
}

fn contiguous(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d].saturating_mul(shape[d].max(1));
    }
    strides
}

/// A file that runs one graph: `fx_graph_runnable.py`, `repro.py`, a checkpoint of the minifier.
pub(crate) fn read_runnable(log: &mut Log, file: usize) {
    log.note_form("runnable graph");
    let text = log.files[file].text.clone();
    let version = text.lines().find_map(|line| line.strip_prefix("# torch version: "));
    if log.pytorch.is_none() {
        log.pytorch = version.map(|v| v.trim().to_owned());
    }
    let (mut start, mut first, mut end) = (None, 0, text.len());
    let mut at = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        match start {
            None if line.trim_start().starts_with("def forward(") => (start, first) = (Some(at), i as u32 + 1),
            Some(_) if !line.trim().is_empty() && !line.starts_with([' ', ')']) => {
                end = at;
                break;
            }
            _ => {}
        }
        at += line.len();
    }
    let Some(start) = start else { return log.note_unknown("a runnable file without a `forward`", file, 1) };
    let whole = Text::Whole { file, first, start, end, lead: super::model::Lead::Nothing };
    let head: String = log.lines(&whole).take(1).map(|(_, line)| line.to_owned()).collect();
    let input_types = load_args(text.get(end..).unwrap_or_default());
    let stage = guess(&head);
    let mut to = Assembler::new(log, Some(file));
    to.graph(&Key::default(), LoggedGraph { stage, text: whole, aot_id: None, input_types });
}

/// Calls of `DebugMode`: `aten::mm(t$1: f32[3, 3], ...)  ->  t$2: f32[3, 3]`.
pub(crate) fn is_debug_calls(text: &str) -> bool {
    text.lines()
        .take(200)
        .any(|line| line.trim_start().split_once('(').is_some_and(|(name, rest)| name.contains("::") && rest.contains("->")))
}

/// What a JSON file is, if it is an artifact that is known by its fields.
pub(crate) fn json_artifact(text: &str) -> Option<&'static str> {
    let value: Value = serde_json::from_str(text).ok()?;
    let has = |name: &str| value.get(name).is_some();
    match () {
        () if has("Joint Graph Size") || has("Joint Graph Node Information") => Some("min_cut_information"),
        () if has("preToPost") || has("postToPre") || has("cppCodeToPost") || has("postToCppCode") => {
            Some("inductor_provenance_tracking_node_mappings")
        }
        () if has("pytorch_version") => Some("torch_version"),
        () if has("treat_parameters_as_free_to_save") => Some("torch._functorch.config"),
        () => None,
    }
}

/// A file whose whole is one artifact: kept with the last compilation, or with none.
pub(crate) fn read_artifact(log: &mut Log, file: usize, name: &str) {
    log.note_form(name);
    let text = whole(log, file);
    match log.compilations.last_mut() {
        Some(last) if name == "torch._functorch.config" => last.config = Some(text),
        Some(last) => last.artifacts.push(Artifact { name: name.to_owned(), text }),
        None => {
            let artifacts = vec![Artifact { name: name.to_owned(), text }];
            log.frames.push(super::model::Frame { artifacts, ..super::model::Frame::default() });
        }
    }
}

/// The stage of a graph in a file of `torch_compile_debug`.
pub(crate) fn stage_of_file(name: &str) -> Option<&'static str> {
    let name = name.rsplit('/').next().unwrap_or(name);
    match name.split_once('.').map_or(name, |(stem, _)| stem) {
        "fx_graph_transformed" => Some("fx_graph_transformed"),
        "ir_pre_fusion" => Some("ir_pre_fusion"),
        "ir_post_fusion" => Some("ir_post_fusion"),
        "output_code" => Some("inductor_output_code"),
        _ => None,
    }
}

/// A graph of `torch_compile_debug` after Inductor's passes.
pub(crate) fn stage(name: &str) -> Stage {
    Stage::Other(name.to_owned())
}
