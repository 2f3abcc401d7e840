//! What the page and its workers say to each other, once a worker has its module.

use serde::{Deserialize, Serialize};

use crate::bundle::{Bundle, Named, Recipe, RunResult, TensorData, Timed, Training};
use crate::log::{GivenFile, OfLog, RankOf};
use crate::{Answer, CapturedGraph, Event, GraphView, LastCall, Question, Report, Trial, WhatIf};

/// How a script is to be run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct ScriptOptions {
    /// What a plain `torch.compile` stands for.
    pub backend: String,
    /// Whether what compiled functions give is compared with eager mode.
    #[serde(default)]
    pub check: bool,
    /// Whether there is a CUDA device, pretended: its tensors are computed on the CPU.
    #[serde(default)]
    pub pretend_cuda: bool,
}

/// A file beside the script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
pub struct ScriptFile {
    /// Its name, with folders: `model/layers.py`.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// To the interpreter's worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToInterpreter {
    /// Run a script.
    Run {
        /// What answers bear.
        run: u32,
        /// The script.
        program: String,
        /// Files beside it, which it may import.
        files: Vec<ScriptFile>,
        /// How.
        options: ScriptOptions,
    },
    /// What would become of a call of a piece of code with other sizes?
    Ask {
        /// What the answer bears.
        ask: u32,
        /// Graphs of the report.
        regions: Vec<CapturedGraph>,
        /// The piece of code.
        frame: u32,
        /// The sizes, and other values.
        trials: Vec<Trial>,
        /// The call whose values hold of everything else.
        #[serde(default)]
        last: Option<LastCall>,
    },
    /// A question about the joint graph of a compilation of the last run.
    Study {
        /// What the answer bears.
        ask: u32,
        /// The compilation.
        compilation: u32,
        /// The question.
        question: Question,
    },
    /// Make a script smaller. Answered by [`Trying`](FromInterpreter::Trying) before each script that is tried and by
    /// [`Shrunk`](FromInterpreter::Shrunk), or not at all.
    Minimize {
        /// What answers bear.
        ask: u32,
        /// The script.
        program: String,
        /// Files beside it, which it may import.
        files: Vec<ScriptFile>,
        /// How it is run.
        options: ScriptOptions,
        /// What is kept, in the words of the command line: `text:TEXT`.
        keep: String,
        /// Numbers of scripts that are known not to keep it.
        #[cfg_attr(test, ts(type = "Array<number>"))]
        lost: Vec<u64>,
    },
}

/// An event as it crosses: as JSON, where it holds no bytes. One string is handed on in a fraction of the time that its objects, made
/// one by one and cloned, would take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(untagged)]
pub enum Told {
    /// JSON.
    Text(String),
    /// The event itself.
    Event(Event),
}

/// What an [`Ask`](ToInterpreter::Ask) or a [`Study`](ToInterpreter::Study) is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(untagged)]
pub enum Reply {
    /// About other sizes.
    WhatIf(WhatIf),
    /// About a joint graph.
    Answer(Answer),
}

/// From the interpreter's worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromInterpreter {
    /// It takes scripts.
    Ready,
    /// Something became known.
    Event {
        /// Whose.
        run: u32,
        /// What.
        event: Told,
    },
    /// A run is over.
    Done {
        /// Which.
        run: u32,
        /// Milliseconds that the interpreter took.
        took: f64,
    },
    /// An answer.
    Answer {
        /// To what.
        ask: u32,
        /// What it is.
        answer: Reply,
    },
    /// A script is tried, which may never end.
    Trying {
        /// For whom.
        ask: u32,
        /// Its number.
        #[cfg_attr(test, ts(type = "number"))]
        number: u64,
    },
    /// A script keeps what is to be kept: first the script itself, then smaller ones.
    Shrunk {
        /// For whom.
        ask: u32,
        /// It.
        text: String,
        /// How many statements it has.
        statements: u32,
        /// How many scripts were tried.
        tries: u32,
        /// Whether no smaller one was found.
        is_last: bool,
    },
    /// Why there is no answer.
    Unanswered {
        /// To what.
        ask: u32,
        /// A sentence.
        message: String,
    },
    /// The module itself failed: its instance is of no more use.
    Failed {
        /// What it said.
        message: String,
    },
}

/// What runs a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(rename_all = "snake_case")]
pub enum Runner {
    /// The GPU.
    Webgpu,
    /// The reference.
    Cpu,
}

/// To the GPU's worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToGpu {
    /// Run a bundle.
    Run {
        /// What answers bear.
        run: u32,
        /// The bundle.
        bundle: Bundle,
        /// What runs it.
        device: Runner,
    },
    /// Build a training step and take steps.
    Train {
        /// What answers bear.
        run: u32,
        /// What is trained.
        bundle: Bundle,
        /// How.
        recipe: Recipe,
        /// What takes the steps.
        device: Runner,
        /// How many.
        steps: u32,
    },
    /// Take further steps of what was built last.
    Continue {
        /// What answers bear.
        run: u32,
        /// Step size.
        lr: f64,
        /// How many.
        steps: u32,
    },
    /// Take steps, one after the other, and tell how long they take.
    Time {
        /// What the answer bears.
        run: u32,
        /// What is timed.
        bundle: Bundle,
        /// How a step changes its parameters; without it, a step is forward and backward.
        recipe: Option<Recipe>,
        /// What takes the steps.
        device: Runner,
        /// How long steps are taken, about.
        seconds: f64,
    },
    /// A value as PyTorch prints it; answered at once, whatever else goes on.
    Print {
        /// What the answer bears.
        ask: u32,
        /// The value.
        tensor: TensorData,
    },
    /// While steps are taken: another step size.
    Adjust {
        /// Step size.
        lr: f64,
    },
    /// While steps are taken: the end of it.
    Pause,
}

/// From the GPU's worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromGpu {
    /// It takes bundles.
    Ready,
    /// What a run came to.
    Result {
        /// Which.
        run: u32,
        /// What it came to.
        result: RunResult,
    },
    /// How long steps take.
    Timed {
        /// Which.
        run: u32,
        /// It.
        timed: Timed,
    },
    /// A training is ready to take steps.
    Training {
        /// Which.
        run: u32,
        /// About it.
        training: Training,
    },
    /// Steps were taken.
    Losses {
        /// Whose.
        run: u32,
        /// The loss before each.
        losses: Vec<f64>,
        /// What they took.
        seconds: f64,
    },
    /// A value as PyTorch prints it.
    Printed {
        /// Which.
        ask: u32,
        /// The text.
        text: String,
    },
    /// All steps were taken, or it was paused.
    Trained {
        /// Which.
        run: u32,
        /// The parameters as they are now.
        parameters: Vec<Named>,
    },
    /// Why something could not be done.
    Refused {
        /// Which.
        run: u32,
        /// A sentence.
        message: String,
        /// The node it concerns.
        node: Option<String>,
    },
    /// The module itself failed: its instance is of no more use.
    Failed {
        /// What it said.
        message: String,
    },
}

/// What one graph can become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(rename_all = "snake_case")]
pub enum GraphFormat {
    /// A Python file that runs by itself.
    Python,
    /// Graphviz.
    Dot,
    /// `graph.print_tabular()`.
    Table,
}

impl GraphFormat {
    /// By its name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "python" => Some(GraphFormat::Python),
            "dot" => Some(GraphFormat::Dot),
            "table" => Some(GraphFormat::Table),
            _ => None,
        }
    }
}

/// To the worker that makes exports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToExport {
    /// One graph in another form.
    Graph {
        /// The graph.
        graph: GraphView,
        /// The form.
        format: GraphFormat,
        /// Which graph it is, for people.
        about: String,
        /// The compilation's, where there is one.
        bundle: Option<Bundle>,
    },
    /// Every graph of a report, as PyTorch logs them.
    Logs {
        /// The report.
        report: Report,
    },
}

/// From the worker that makes exports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromExport {
    /// What was asked for.
    Made {
        /// As text.
        text: String,
    },
    /// Why there is nothing.
    Failed {
        /// A sentence.
        message: String,
    },
}

/// To the worker that reads logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToReader {
    /// Open files as one log. Answered by an [`Overview`](crate::log::Overview).
    Open {
        /// What the answer bears.
        ask: u32,
        /// What the log is called from now on.
        log: u32,
        /// The files.
        files: Vec<GivenFile>,
    },
    /// Forget a log.
    Close {
        /// Which.
        log: u32,
    },
    /// Read the graphs of a compilation. Answered by a [`CompilationRow`](crate::log::CompilationRow).
    Compilation {
        /// What the answer bears.
        ask: u32,
        /// Which.
        of: OfLog,
    },
    /// Read what Dynamo captured. Answered by a [`RegionRow`](crate::log::RegionRow).
    Region {
        /// What the answer bears.
        ask: u32,
        /// The log.
        log: u32,
        /// Its place among the log's regions.
        region: u32,
    },
    /// A question about the joint graph of a compilation. Answered by an [`Answer`].
    Study {
        /// What the answer bears.
        ask: u32,
        /// Which.
        of: OfLog,
        /// The question.
        question: Question,
    },
    /// A run's report as a `TORCH_TRACE` log. Answered by its text.
    Write {
        /// What the answer bears.
        ask: u32,
        /// The report.
        report: Report,
    },
    /// The log as it is handed on, as JSON: without what nothing reads, and without paths and source where that is wanted.
    Pack {
        /// What the answer bears.
        ask: u32,
        /// Which.
        log: u32,
        /// What it is called.
        name: String,
        /// Whether paths and source are left out.
        cut: bool,
    },
    /// The compilation with inputs that are drawn. Answered by [`Runnable`](FromReader::Runnable).
    Runnable {
        /// What the answer bears.
        ask: u32,
        /// Which.
        of: OfLog,
    },
    /// What differs between two compilations? Answered by a [`PairDiff`](crate::log::PairDiff).
    Compare {
        /// What the answer bears.
        ask: u32,
        /// The first.
        first: OfLog,
        /// The second.
        second: OfLog,
    },
    /// What differs between two logs, or between ranks? Answered by a [`LogDiff`](crate::log::LogDiff).
    Diff {
        /// What the answer bears.
        ask: u32,
        /// The first.
        first: RankOf,
        /// The second.
        second: RankOf,
    },
}

/// From the worker that reads logs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(export_to = "report.ts"))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromReader {
    /// It takes questions.
    Ready,
    /// What can be run.
    Runnable {
        /// To what.
        ask: u32,
        /// Graphs and inputs.
        bundle: Bundle,
    },
    /// An answer, as JSON.
    Answer {
        /// To what.
        ask: u32,
        /// JSON.
        text: String,
    },
    /// Why there is no answer.
    Unanswered {
        /// To what.
        ask: u32,
        /// A sentence.
        message: String,
    },
    /// The module itself failed: its instance is of no more use.
    Failed {
        /// What it said.
        message: String,
    },
}
