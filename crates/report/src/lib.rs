//! What the page and the command line show: a stream of [`Event`]s, folded into one versioned [`Report`].
//!
//! A backward is compiled later than its forward, a training loop may never end, and Stop kills the worker that runs the
//! script; so everything known is sent the moment it is known, and a report is never more than the fold of the events so
//! far. Nothing here refers to the compiler's own types. The TypeScript types of the page are generated from this file
//! (`cargo test` writes `www/src/generated/`, and fails where the committed ones differ).

use serde::{Deserialize, Serialize};

use crate::bundle::Bundle;

/// The version of the report's shape; a reader that meets another one says so.
pub const REPORT_VERSION: u32 = 1;
/// The release of PyTorch whose behaviour is imitated.
pub const PYTORCH_VERSION: &str = "2.15.0";

pub mod bundle;
mod cache_entry;
mod capture;
mod check;
mod freezing;
pub mod log;
mod partition;
pub mod protocol;
pub mod sentences;
/// The same file once more, so that the place in the script has a TypeScript type where those of this crate have theirs.
#[cfg(test)]
#[path = "../../diagnostics/src/span.rs"]
mod span;
mod throttle;
#[cfg(test)]
mod typescript;
mod validation;

pub use cache_entry::{
    CacheEntryCondition, CacheEntryFact, CacheEntryInput, CacheEntryMark, CacheEntrySymbol, CacheEntryView, LastCall, LastInput, LastUnmet,
    LastValue, Recompile, Trial, Verdict, WhatIf,
};
pub use capture::{GraphBreak, RecompileLimit};
pub use check::{Check, Difference, DifferingNode};
#[cfg(not(test))]
pub use diagnostics::span::Span;
pub use freezing::{Freezing, FrozenConstant};
pub use partition::*;
use sentences::{BreakPlace, Misses, Sentence};
#[cfg(test)]
pub use span::Span;
pub use throttle::Throttle;
pub use validation::{NarrowedSymbol, Validation, ValidationSize, ValidationVerdict};

/// An exception that ended the script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Exception {
    /// Name of its class, as Python shows it.
    #[serde(rename = "type")]
    pub kind: String,
    /// `str()` of it.
    pub message: String,
    /// The whole traceback, as Python prints it.
    pub traceback: String,
    /// Innermost place in the script itself.
    pub span: Option<Span>,
}

/// One node of a graph, as page and tools address it: `id` is stable within its graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct NodeView {
    /// Position in the graph's order.
    pub id: u32,
    /// Name as printed.
    pub name: String,
    /// torch.fx's opcode: `placeholder`, `call_function`, `get_attr`, `output`.
    pub op: String,
    /// What is called, as `print_tabular` shows it: `aten.mm.default`.
    pub target: String,
    /// Positional arguments, as `print_tabular` shows them: `(primals_1, 2)`.
    pub args: String,
    /// Keyword arguments, as `print_tabular` shows them: `{'dtype': torch.float32}`.
    pub kwargs: String,
    /// Line of the readable text that defines it, counted from 0.
    pub text_line: Option<u32>,
    /// Name of the dtype (`float32`), for a tensor.
    pub dtype: Option<String>,
    /// Sizes, each a number or a symbolic expression.
    pub shape: Option<Vec<String>>,
    /// Strides in elements.
    pub stride: Option<Vec<String>>,
    /// Bytes of its storage at the hinted sizes.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub bytes: Option<u64>,
    /// Nodes it reads, in order of first use.
    pub inputs: Vec<u32>,
    /// Where in the script it comes from; for a backward node, where its forward node does.
    pub span: Option<Span>,
    /// Innermost module first to last, as in `named_modules()`: `layers.0.attn`.
    pub module_path: String,
    /// What the script called, by name (torch.fx's `source_fn_stack`): `conv2d`; for a backward node, what its forward node is of.
    pub source_fn: Option<String>,
    /// Whether it was traced while the autograd engine ran.
    pub is_backward: bool,
    /// Whether it writes to one of its arguments.
    pub mutates: bool,
    /// Sequence number of the forward operator it belongs to.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub seq_nr: Option<i64>,
    /// Of an input, what the script calls it (`model.blocks.3.attn.qkv.weight`); of a tangent, whose gradient it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub source: Option<String>,
}

/// A graph: its text as PyTorch prints it, and its nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct GraphView {
    /// `print_readable(include_stride=True, include_device=True)`.
    pub readable: String,
    /// Its nodes, in order.
    pub nodes: Vec<NodeView>,
    /// Where it and its subgraphs stand in the text, each before its own.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<ModuleView>>"))]
    pub modules: Vec<ModuleView>,
}

/// A graph or subgraph as a module: its lines in the text, and what a Python file of its own needs beside them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct ModuleView {
    /// A name for its class that none of the others has.
    pub name: String,
    /// The first line of its `forward`, counted from 0.
    pub first: u32,
    /// The first line after those that take the inputs.
    pub body: u32,
    /// The first line that is no longer of its `forward`.
    pub end: u32,
    /// Of a joint graph, whose inputs and outputs are trees: the head that takes them one by one, and what it returns then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flat: Option<(String, String)>,
    /// What it takes, in order.
    pub inputs: Vec<InputView>,
    /// What it reads of itself: the path of each attribute, and what is there.
    pub attributes: Vec<InputView>,
    /// What its code takes from Python's `operator` and, with `math_` before the name, from `math`.
    pub imports: Vec<String>,
}

/// An input or an attribute of a graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct InputView {
    /// Its name; of an attribute, the path.
    pub name: String,
    /// What is known of it.
    pub value: ExampleValue,
}

/// What stands for a value in a call that nobody made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ExampleValue {
    /// `None`
    #[default]
    None,
    /// A number, a truth value, or a constant tensor with its elements, as Python writes it.
    Literal {
        /// `1.0`
        text: String,
    },
    /// A tensor of this geometry.
    Tensor {
        /// Name of the dtype.
        dtype: String,
        /// Sizes; 4 where nobody knows the number.
        #[cfg_attr(test, ts(type = "Array<number>"))]
        shape: Vec<i64>,
        /// Strides in elements.
        #[cfg_attr(test, ts(type = "Array<number>"))]
        stride: Vec<i64>,
    },
    /// A subgraph.
    Module {
        /// The name of its class.
        name: String,
    },
}

/// A graph that `torch.compile` captured, before autograd or functionalization.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct CapturedGraph {
    /// Counts from 0 in the order of capture.
    pub id: u32,
    /// Name of the Python function.
    pub function: String,
    /// The captured graph of torch-level calls.
    pub graph: GraphView,
    /// Guards of its cache entry.
    pub guards: Vec<Guard>,
    /// What its cache entry wants of a call, once there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entry: Option<CacheEntryView>,
    /// Whether its guards imply what tracing asked for, where sizes are symbols.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub validation: Option<Validation>,
    /// Where its function is defined.
    pub span: Option<Span>,
    /// The tape that it is the backward of, where compiled autograd had it captured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub tape: Option<u32>,
}

/// A tape that compiled autograd captured as a graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Tape {
    /// Counts from 0 in the order of capture.
    pub id: u32,
    /// `CompiledAutograd0`
    pub name: String,
    /// Its graph.
    pub graph: GraphView,
    /// Why no tape that was met before served, in the words of `TORCH_LOGS=compiled_autograd_verbose`.
    pub reasons: Vec<String>,
    /// How many later backwards it served.
    pub hits: u32,
    /// Tensors that it reads, in the order of the graph's inputs.
    #[serde(default)]
    pub inputs: Vec<TapeInput>,
}

/// A tensor that a captured tape reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct TapeInput {
    /// Its name in the graph: `getitem_1`.
    pub name: String,
    /// The node of autograd that reads it first, as the graph's comments name it: `MulBackward0`.
    pub read_by: String,
    /// The place of that node among the calls.
    pub call: u32,
    /// The line of the script that the node is of.
    pub span: Option<Span>,
    /// The compilation whose forward saved it, where one did, and what that calls it.
    pub saved: Option<(u32, String)>,
}

/// A condition under which a compiled graph may be used again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Guard {
    /// The condition, in the words of `TORCH_LOGS=guards`.
    pub text: String,
    /// The line that made it.
    pub span: Option<Span>,
}

/// What kind of graph AOTAutograd traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(rename_all = "lowercase")]
pub enum CompilationKind {
    /// Forward and backward in one graph.
    #[default]
    Joint,
    /// Nothing requires grad: a forward alone.
    Inference,
}

/// Per input: how it is mutated (PyTorch's `InputAliasInfo`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct InputInfo {
    /// Its placeholder in the joint or inference graph.
    pub name: String,
    /// Whether it is a leaf of the autograd graph.
    pub is_leaf: bool,
    /// Whether its values change.
    pub mutates_data: bool,
    /// Whether its sizes, strides or offset change.
    pub mutates_metadata: bool,
    /// Whether every mutation is hidden from autograd (`.data`, `detach()`).
    pub mutations_hidden_from_autograd: bool,
    /// Whether every mutation happens under `no_grad` or inference mode.
    pub mutations_under_no_grad_or_inference_mode: bool,
    /// Whether it requires grad.
    pub requires_grad: bool,
    /// `NOT_MUTATED`, `MUTATED_IN_GRAPH` or `MUTATED_OUT_GRAPH`.
    pub mutation_type: String,
    /// What happens to it, in a sentence.
    #[serde(default)]
    pub words: String,
    /// Lines that write to it.
    #[serde(default)]
    pub written_at: Vec<Span>,
}

impl InputInfo {
    /// What happens to it, for a person.
    pub fn in_words(&self) -> String {
        let unseen = if self.mutations_under_no_grad_or_inference_mode { ", under no_grad" } else { "" };
        match self.mutation_type.as_str() {
            "NOT_MUTATED" => "Only read.".to_owned(),
            "MUTATED_IN_GRAPH" => format!("Written to in place{unseen}: the graph computes its new value and ends with a copy_ into it."),
            _ if !self.mutates_data => "Its sizes or strides change in place: the runtime sets them on your tensor.".to_owned(),
            _ => {
                let also = if self.mutates_metadata { "sizes and strides, then the new " } else { "new " };
                let clone = if self.requires_grad { "works on a clone, so that gradients see the old value, and " } else { "" };
                format!(
                    "Written to in place{unseen}: the graph {clone}returns the new value; the runtime gives your tensor its {also}numbers."
                )
            }
        }
    }
}

/// Per output: what it aliases (PyTorch's `OutputAliasInfo`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct OutputInfo {
    /// PyTorch's `OutputType`: `non_alias`, `alias_of_input`, `is_input`, ...
    pub output_type: String,
    /// Index of the input or intermediate base it aliases.
    pub base_idx: Option<u32>,
    /// Whether it requires grad.
    pub requires_grad: bool,
    /// Its value in the joint or inference graph, where it is a tensor.
    #[serde(default)]
    pub name: Option<String>,
    /// What it aliases and who makes it, in a sentence.
    #[serde(default)]
    pub words: String,
    /// The line that makes it.
    #[serde(default)]
    pub span: Option<Span>,
}

/// PyTorch's `ViewAndMutationMeta`, as far as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Metadata {
    /// Per input, in the order of the placeholders.
    pub input_info: Vec<InputInfo>,
    /// Per output of the script's function.
    pub output_info: Vec<OutputInfo>,
    /// Intermediates returned only because an output is a view of them.
    pub num_intermediate_bases: u32,
    /// Inputs that live as long as the model, by index.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<u32>>"))]
    pub static_inputs: Vec<u32>,
}

/// A value saved by the forward for the backward: a tensor, or a symbolic integer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Saved {
    /// Its name in the joint graph.
    pub name: String,
    /// Dtype, of a tensor.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dtype: Option<String>,
    /// Sizes, of a tensor.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shape: Option<Vec<String>>,
    /// Strides, of a tensor.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stride: Option<Vec<String>>,
    /// Bytes at the hinted sizes, of a tensor.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional, type = "number"))]
    pub bytes: Option<u64>,
    /// The value whose storage it lies in, where it is a view: it takes no memory of its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub view_of: Option<String>,
    /// Whether that storage is an input's: it is in memory already.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub of_input: bool,
    /// Whether it belongs to the backward alone, which may overwrite it (a donated buffer).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub donated: bool,
    /// The expression, of a symbolic integer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sym: Option<String>,
    /// Where in the script it was computed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub span: Option<Span>,
}

/// One AOTAutograd compilation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Compilation {
    /// Counts from 0 in the order of compilation.
    pub id: u32,
    /// The captured graph it comes from, where `torch.compile` made it.
    pub region: Option<u32>,
    /// Joint or inference.
    pub kind: CompilationKind,
    /// The forward before it is differentiated: writes and views made functional. Of an inference, `inference` is that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub functionalized: Option<GraphView>,
    /// Forward and backward in one graph.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub joint: Option<GraphView>,
    /// The forward alone, where nothing requires grad.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inference: Option<GraphView>,
    /// The inference graph with its parameters as constants, as `torch._inductor.freezing` logs it: without strides and devices.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub frozen: Option<GraphView>,
    /// What freezing did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub freezing: Option<Freezing>,
    /// The partitioned forward.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub forward: Option<GraphView>,
    /// The partitioned backward.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub backward: Option<GraphView>,
    /// Mutation and aliasing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metadata: Option<Metadata>,
    /// What the runtime does with the caller's inputs before the graph, as Python code on the list `args`.
    #[serde(default)]
    pub prologue: String,
    /// What the runtime does with what the graph returned: writes to mutated inputs, views made again; as Python code.
    #[serde(default)]
    pub epilogue: String,
    /// Whether its trace was discarded: a dynamic float had to be specialized (TensorifyScalarRestartAnalysis).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub abandoned: bool,
    /// Values saved between forward and backward, in the forward's order.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub saved: Option<Vec<Saved>>,
    /// What donated saved values mean for `retain_graph=True`, where there are any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(test, ts(optional))]
    pub donated: Option<Sentence>,
    /// What the partitioner decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub partition: Option<Partition>,
    /// Calls of the traced graph: sequence number, target, name.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "Array<[number | null, string, string]>"))]
    pub seq_nr: Vec<(Option<i64>, String, String)>,
}

/// A compiled graph that was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct GraphRun {
    /// Which compilation.
    pub compilation: u32,
    /// `forward`, `backward` or `inference`.
    pub part: String,
}

/// Something became known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The script printed.
    Stdout {
        /// What, newlines included.
        text: String,
    },
    /// The script wrote to standard error (warnings).
    Stderr {
        /// What, newlines included.
        text: String,
    },
    /// The run has a CUDA device that is pretended.
    PretendsCuda,
    /// A graph was captured.
    Captured {
        /// The graph; one of an id seen before replaces it.
        region: CapturedGraph,
    },
    /// A graph was traced by AOTAutograd and, where it has a backward, partitioned.
    Compiled {
        /// The compilation; one of an id seen before replaces it.
        compilation: Compilation,
    },
    /// Capture had to stop.
    Broke {
        /// Where and why.
        graph_break: GraphBreak,
    },
    /// A call of a compiled function missed the cache.
    Recompiled {
        /// Per cache entry, the guard that failed.
        reasons: Vec<String>,
    },
    /// A frame has as many cache entries as it may have: it is not compiled again.
    Limited {
        /// Which limit, of which frame.
        limit: RecompileLimit,
    },
    /// The script is about to end: the last call of a frame.
    Called {
        /// Its values.
        call: LastCall,
    },
    /// A call ran such a frame without compiling it.
    Uncompiled {
        /// The frame.
        frame: u32,
        /// The call in the script.
        span: Option<Span>,
    },
    /// What the cache misses of a frame come to so far.
    Misses {
        /// By cause; those of a frame seen before replace what was said of it.
        misses: Misses,
    },
    /// A graph broke: how often it has at that place.
    BreakPlace {
        /// The place; one of an id seen before replaces it.
        place: BreakPlace,
    },
    /// Compiled autograd made a graph.
    CompiledAutograd {
        /// The graph; one of an id seen before replaces it.
        tape: Tape,
    },
    /// A backward had a tape like one that was captured.
    TapeHit {
        /// Which.
        tape: u32,
    },
    /// A compiled graph was run.
    Ran {
        /// Which.
        run: GraphRun,
    },
    /// A compiled graph's values were compared with eager mode's, or could not be.
    Checked {
        /// What the calls of its compilation came to; one of a compilation seen before replaces it.
        check: Check,
    },
    /// A compilation's forward ran for the first time, or its backward did: what it takes to run them elsewhere.
    Runnable {
        /// Text, inputs and what the CPU computed; one of a compilation seen before replaces it.
        bundle: Bundle,
    },
    /// The script ended.
    Finished {
        /// The exception that ended it, if one did.
        exception: Option<Exception>,
        /// Seconds from start to end.
        seconds: f64,
    },
}

/// Everything known of one run of a script: the fold of its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct Report {
    /// [`REPORT_VERSION`].
    pub version: u32,
    /// [`PYTORCH_VERSION`].
    pub pytorch: String,
    /// Whether there was a CUDA device, pretended: its tensors were computed on the CPU.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub pretends_cuda: bool,
    /// What the script printed.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// The exception that ended it.
    pub exception: Option<Exception>,
    /// Captured graphs.
    pub regions: Vec<CapturedGraph>,
    /// AOTAutograd compilations.
    pub compilations: Vec<Compilation>,
    /// Compiled-autograd graphs, as text.
    pub compiled_autograd: Vec<String>,
    /// The same graphs: nodes, why they were captured, how often they served.
    pub tapes: Vec<Tape>,
    /// Per recompilation, the guards that failed.
    pub recompiles: Vec<Vec<String>>,
    /// Frames that were not compiled again.
    #[serde(default)]
    pub limits: Vec<RecompileLimit>,
    /// The last call of each frame that has cache entries, once the script has ended.
    #[serde(default)]
    pub calls: Vec<LastCall>,
    /// Where capture stopped.
    pub breaks: Vec<GraphBreak>,
    /// The cache misses of each frame, by cause.
    #[serde(default)]
    pub misses: Vec<Misses>,
    /// Each place where graphs broke.
    #[serde(default)]
    pub break_places: Vec<BreakPlace>,
    /// Compiled graphs that ran, in order.
    pub runs: Vec<GraphRun>,
    /// By compilation, how its values compare with eager mode's, where the run was to compare them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<Check>>"))]
    pub checks: Vec<Check>,
    /// Whether the script ended.
    pub finished: bool,
    /// How long it ran, in seconds; 0 while it runs.
    pub seconds: f64,
}

impl Default for Report {
    fn default() -> Self {
        Report {
            version: REPORT_VERSION,
            pytorch: PYTORCH_VERSION.to_owned(),
            pretends_cuda: false,
            stdout: String::new(),
            stderr: String::new(),
            exception: None,
            regions: Vec::new(),
            compilations: Vec::new(),
            compiled_autograd: Vec::new(),
            tapes: Vec::new(),
            recompiles: Vec::new(),
            limits: Vec::new(),
            calls: Vec::new(),
            breaks: Vec::new(),
            misses: Vec::new(),
            break_places: Vec::new(),
            runs: Vec::new(),
            checks: Vec::new(),
            finished: false,
            seconds: 0.0,
        }
    }
}

impl Report {
    /// Takes in one event. Bundles are not part of a report: they are data, kept by whoever wants to run them.
    pub fn fold(&mut self, event: Event) {
        match event {
            Event::PretendsCuda => self.pretends_cuda = true,
            Event::Stdout { text } => self.stdout.push_str(&text),
            Event::Stderr { text } => self.stderr.push_str(&text),
            Event::Captured { region } => match self.regions.iter_mut().find(|r| r.id == region.id) {
                Some(known) => *known = region,
                None => self.regions.push(region),
            },
            Event::Compiled { compilation } => match self.compilations.iter_mut().find(|c| c.id == compilation.id) {
                Some(known) => *known = compilation,
                None => self.compilations.push(compilation),
            },
            Event::Broke { graph_break } => self.breaks.push(graph_break),
            Event::Recompiled { reasons } => self.recompiles.push(reasons),
            Event::Limited { limit } => self.limits.push(limit),
            Event::Called { call } => self.calls.push(call),
            Event::Uncompiled { frame, span } => {
                self.limits.iter_mut().filter(|limit| limit.frame == frame).for_each(|limit| limit.note(span.clone()))
            }
            Event::Misses { misses } => match self.misses.iter_mut().find(|known| known.id == misses.id) {
                Some(known) => *known = misses,
                None => self.misses.push(misses),
            },
            Event::BreakPlace { place } => match self.break_places.iter_mut().find(|known| known.id == place.id) {
                Some(known) => *known = place,
                None => self.break_places.push(place),
            },
            Event::CompiledAutograd { tape } => {
                let known = self.tapes.iter().position(|known| known.id == tape.id);
                let text = known.and_then(|at| self.compiled_autograd.get_mut(at));
                match text {
                    Some(text) => text.clone_from(&tape.graph.readable),
                    None => self.compiled_autograd.push(tape.graph.readable.clone()),
                }
                match known.and_then(|at| self.tapes.get_mut(at)) {
                    Some(known) => *known = tape,
                    None => self.tapes.push(tape),
                }
            }
            Event::TapeHit { tape } => {
                self.tapes.iter_mut().filter(|known| known.id == tape).for_each(|known| known.hits = known.hits.saturating_add(1))
            }
            Event::Ran { run } => self.runs.push(run),
            Event::Checked { check } => match self.checks.iter_mut().find(|known| known.compilation == check.compilation) {
                Some(known) => *known = check,
                None => self.checks.push(check),
            },
            Event::Runnable { .. } => {}
            Event::Finished { exception, seconds } => {
                self.exception = exception;
                self.seconds = seconds;
                self.finished = true;
            }
        }
    }
}
