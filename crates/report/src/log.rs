//! What is read of PyTorch's logs, as plain data: compilations in the shape that a run's report has, with what only a log says of them, and
//! what differs between two.

use super::{CapturedGraph, Compilation, CompilationKind, GraphBreak, GraphView, Guard};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A log at first sight: what is in it, and none of its graphs.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogOverview"))]
pub struct Overview {
    /// The version of PyTorch that wrote it, where it says so.
    pub pytorch: Option<String>,
    /// Which forms were met.
    pub forms: Vec<String>,
    /// The files, those of archives included.
    pub files: Vec<String>,
    /// Their bytes, together.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// What AOTAutograd traced, in the log's order.
    pub compilations: Vec<CompilationHead>,
    /// What Dynamo traced, attempts that were discarded included: without graphs, guards and texts.
    pub frames: Vec<FrameRow>,
    /// Per graph that Dynamo captured, its frame's place among `frames`.
    pub regions: Vec<u32>,
    /// Graphs of compiled autograd.
    pub compiled_autograd: Vec<String>,
    /// Calls that a mode printed as they were made (`DebugMode`).
    pub printed_calls: Option<String>,
    /// What was not understood.
    pub unknown: Vec<UnknownRow>,
}

/// A compilation at first sight.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogCompilationHead"))]
pub struct CompilationHead {
    /// `rank 1 [0/1]`, or its number.
    pub name: String,
    /// Which process of several.
    pub rank: Option<u32>,
    /// The function.
    pub function: Option<String>,
    /// Joint or inference.
    pub kind: CompilationKind,
    /// The graph that Dynamo captured for it, as its place among `regions`.
    pub region: Option<u32>,
    /// Its graphs, by name.
    pub stages: Vec<String>,
}

/// A graph that Dynamo captured, with its frame.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogRegion"))]
pub struct RegionRow {
    /// The graph and its guards.
    pub region: CapturedGraph,
    /// What else the log says of the frame.
    pub frame: FrameRow,
}

/// Something that was not understood, and how often it was met.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogUnknown"))]
pub struct UnknownRow {
    /// What kind of thing.
    pub kind: String,
    /// How often.
    pub count: u32,
    /// Where first: the file.
    pub file: String,
    /// Where first: the line.
    pub line: u32,
}

/// A file as it was given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogFile"))]
pub struct GivenFile {
    /// Its name, folders before it.
    pub name: String,
    /// What is in it.
    #[cfg_attr(test, ts(type = "Uint8Array"))]
    pub bytes: serde_bytes::ByteBuf,
}

/// A compilation of an open log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct OfLog {
    /// The log.
    pub log: u32,
    /// Its number.
    pub compilation: u32,
    /// What symbols are to stand for, in the place of what the log says.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "Record<string, number>"))]
    pub sizes: BTreeMap<String, i64>,
}

/// An open log, or what one process wrote of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct RankOf {
    /// The log.
    pub log: u32,
    /// The process; all of them where it is absent.
    pub rank: Option<u32>,
}

/// A line of the program.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogLine"))]
pub struct Line {
    /// The value that it computes; empty for a frame.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<String>"))]
    pub name: String,
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The function.
    pub function: String,
    /// The line's text.
    pub code: String,
}

/// The partitioner's decision here beside the logged one.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogComparison"))]
pub struct Comparison {
    /// Whether forward and backward are the logged ones; nothing where they were not compared.
    pub same: Option<bool>,
    /// The partitioner that was used here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub partitioner: Option<String>,
    /// What the log does not say and was assumed.
    pub assumed: Vec<String>,
    /// Values that only the log's forward saves.
    pub only_logged: Vec<String>,
    /// Values that only this partitioner saves.
    pub only_here: Vec<String>,
    /// In what they differ; or why they were not compared.
    pub differences: Vec<String>,
}

/// Seconds that parts took.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogSeconds"))]
pub struct Seconds {
    /// All of it.
    pub dynamo: Option<f64>,
    /// AOTAutograd, with what it calls.
    pub aot_autograd: Option<f64>,
    /// Inductor.
    pub inductor: Option<f64>,
    /// The backward's compilation.
    pub backward: Option<f64>,
}

/// A symbol.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogSymbol"))]
pub struct SymbolRow {
    /// `s77`
    pub name: String,
    /// What it stood for.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub hint: Option<i64>,
    /// Where it comes from.
    pub source: String,
    /// Its range.
    pub range: String,
    /// The line that made it.
    pub line: Option<Line>,
}

/// A condition on symbols.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogCondition"))]
pub struct ConditionRow {
    /// `Eq(s77, 2*s27)`
    pub condition: String,
    /// The line that made it.
    pub line: Option<Line>,
}

/// A text that is no graph.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogArtifact"))]
pub struct ArtifactRow {
    /// As the log names it.
    pub name: String,
    /// The text.
    pub text: String,
}

/// Another graph of a compilation.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogStage"))]
pub struct StageRow {
    /// As the log names it.
    pub name: String,
    /// The graph.
    #[serde(flatten)]
    pub graph: GraphView,
}

/// A compilation: what a run's report says of one, and what only a log says.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogCompilation"))]
pub struct CompilationRow {
    /// `[0/1]`; nothing where the log does not say.
    pub compile_id: Option<String>,
    /// Which process of several.
    pub rank: Option<u32>,
    /// The attempt of Dynamo.
    pub attempt: u32,
    /// What a run's report has.
    #[serde(flatten)]
    pub compilation: Compilation,
    /// Symbols that are inputs of its graphs, and what the log says that they stood for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<(String, Option<f64>)>>"))]
    pub symbols: Vec<(String, Option<i64>)>,
    /// Lines of the saved values, with their files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<Line>>"))]
    pub saved_lines: Vec<Line>,
    /// The decision here beside the logged one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub comparison: Option<Comparison>,
    /// Other graphs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<StageRow>>"))]
    pub stages: Vec<StageRow>,
    /// Prologue and epilogue as PyTorch wrote them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub runtime_wrappers: Option<String>,
    /// `torch._functorch.config`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional, type = "Record<string, unknown>"))]
    pub settings: Option<Value>,
    /// Other texts: kernels, provenance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<ArtifactRow>>"))]
    pub artifacts: Vec<ArtifactRow>,
    /// What could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    pub problems: Vec<String>,
}

/// What Dynamo did of one attempt at a frame.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogFrame"))]
pub struct FrameRow {
    /// `[0/1]`
    pub compile_id: Option<String>,
    /// Which process of several.
    pub rank: Option<u32>,
    /// The attempt.
    pub attempt: u32,
    /// The function.
    pub function: Option<String>,
    /// Where it is.
    pub line: Option<Line>,
    /// Its graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub graph: Option<GraphView>,
    /// Its guards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<Guard>>"))]
    pub guards: Vec<Guard>,
    /// Guards that failed before, per entry of the cache.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<Vec<String>>>"))]
    pub recompiles: Vec<Vec<String>>,
    /// Where the graph had to end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<BreakRow>>"))]
    pub breaks: Vec<BreakRow>,
    /// Symbols.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<SymbolRow>>"))]
    pub symbols: Vec<SymbolRow>,
    /// Conditions on them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<ConditionRow>>"))]
    pub conditions: Vec<ConditionRow>,
    /// Why it failed: kind and message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub failure: Option<(String, String)>,
    /// How long it took.
    pub seconds: Seconds,
    /// PyTorch's counters of its caches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<(String, f64)>>"))]
    pub cache: Vec<(String, u64)>,
    /// Other texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<ArtifactRow>>"))]
    pub artifacts: Vec<ArtifactRow>,
    /// What could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    pub problems: Vec<String>,
}

/// A graph break.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts", rename = "LogBreak"))]
pub struct BreakRow {
    /// What a run's report says of it.
    #[serde(flatten)]
    pub graph_break: GraphBreak,
    /// The file.
    pub file: String,
    /// All that PyTorch says.
    pub text: String,
}

/// A saved value that both have, of another size or kind.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct ChangedValue {
    /// Its names.
    pub names: (String, String),
    /// Its bytes.
    #[cfg_attr(test, ts(type = "[number | null, number | null]"))]
    pub bytes: (Option<u64>, Option<u64>),
    /// Its type.
    pub types: (String, String),
    /// Its line in the first.
    pub line: Option<Line>,
}

/// A saved value that one has.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct OneValue {
    /// Its name.
    pub name: String,
    /// Its bytes.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub bytes: Option<u64>,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its line.
    pub line: Option<Line>,
}

/// What differs between two compilations.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct PairDiff {
    /// What they are called; nothing for one that only the other log has.
    pub names: (Option<String>, Option<String>),
    /// Whether nothing differs.
    pub same: bool,
    /// Bytes saved.
    #[cfg_attr(test, ts(type = "[number | null, number | null]"))]
    pub saved_bytes: (Option<u64>, Option<u64>),
    /// Saved by the first alone.
    pub only_first: Vec<OneValue>,
    /// Saved by the second alone.
    pub only_second: Vec<OneValue>,
    /// Saved by both, of other types.
    pub changed: Vec<ChangedValue>,
    /// Bytes at the peak.
    #[cfg_attr(test, ts(type = "[number | null, number | null]"))]
    pub peak_bytes: (Option<u64>, Option<u64>),
    /// Operators whose count differs: how often in each.
    #[cfg_attr(test, ts(type = "Record<string, [number, number]>"))]
    pub operators: BTreeMap<String, (usize, usize)>,
    /// The first row of the joint or inference graph that differs.
    pub first_row: Option<(String, String)>,
    /// Guards that failed before.
    pub recompiles: (Vec<String>, Vec<String>),
    /// Graph breaks.
    pub breaks: (Vec<String>, Vec<String>),
    /// Guards of one alone.
    pub guards: (Vec<String>, Vec<String>),
    /// Settings that differ.
    #[cfg_attr(test, ts(type = "Record<string, [string | null, string | null]>"))]
    pub settings: BTreeMap<String, (Option<String>, Option<String>)>,
}

/// Two logs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct LogDiff {
    /// The version of this shape.
    pub format: u32,
    /// Whether nothing differs.
    pub same: bool,
    /// The versions of PyTorch.
    pub pytorch: (Option<String>, Option<String>),
    /// Pairs of compilations, in order.
    pub compilations: Vec<PairDiff>,
}
