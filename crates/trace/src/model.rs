//! What was found in a log, as places in its files: nothing is copied and no graph is read before it is asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// A file that was given, or unpacked from one.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name; of one out of an archive, with the archive's before it.
    pub name: String,
    /// What is in it.
    pub text: Rc<String>,
}

/// What stands before each line of a text in its file, and is no part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// Nothing.
    Nothing,
    /// A TAB, as before payloads of a trace.
    Tab,
}

/// A line of a text.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Its number in the file, counted from 1.
    pub number: u32,
    /// Where it begins in the file, without what stands before it.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// A text in one of the files.
#[derive(Clone, Debug)]
pub enum Text {
    /// Lines that follow each other.
    Whole {
        /// Which file.
        file: usize,
        /// The number of the first line, counted from 1.
        first: u32,
        /// Where it begins.
        start: usize,
        /// Where it ends.
        end: usize,
        /// What stands before each line.
        lead: Lead,
    },
    /// Lines between which others may stand.
    Lines {
        /// Which file.
        file: usize,
        /// The lines.
        lines: Vec<Line>,
    },
    /// Not in any file: put together from what a record says.
    Made {
        /// Which file holds the record.
        file: usize,
        /// The number of the record's line.
        first: u32,
        /// The text.
        text: String,
    },
}

impl Text {
    /// Which file it is in, and the number of its first line.
    pub fn place(&self) -> (usize, u32) {
        match self {
            Text::Whole { file, first, .. } | Text::Made { file, first, .. } => (*file, *first),
            Text::Lines { file, lines } => (*file, lines.first().map_or(1, |line| line.number)),
        }
    }
}

/// PyTorch's name of a compilation of a frame: `0/1`, `!0/1/0` under compiled autograd.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CompileId {
    /// Compiled autograd's count, where it had the frame compiled.
    pub compiled_autograd: Option<u32>,
    /// The frame, and which compilation of it.
    pub frame: Option<(u32, u32)>,
}

impl fmt::Display for CompileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.compiled_autograd, self.frame) {
            (Some(tape), Some((frame, compile))) => write!(f, "[!{tape}/{frame}/{compile}]"),
            (Some(tape), None) => write!(f, "[!{tape}]"),
            (None, Some((frame, compile))) => write!(f, "[{frame}/{compile}]"),
            (None, None) => f.write_str("[-/-]"),
        }
    }
}

/// Whose record it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Which process of several.
    pub rank: Option<u32>,
    /// Which compilation; `None` where the log does not say.
    pub id: Option<CompileId>,
    /// Dynamo traces a frame again where a trace is discarded: counts from 0.
    pub attempt: u32,
}

/// What a graph of a log is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// What Dynamo captured.
    Dynamo,
    /// Forward and backward in one.
    Joint,
    /// The forward.
    Forward,
    /// The backward.
    Backward,
    /// The forward alone, where nothing requires grad.
    Inference,
    /// A tape, as compiled autograd captured it.
    CompiledAutograd,
    /// Another one, by the name that the log gives it: `before_post_grad_graph`.
    Other(String),
}

impl Stage {
    /// As reports name it.
    pub fn name(&self) -> &str {
        match self {
            Stage::Dynamo => "dynamo",
            Stage::Joint => "joint",
            Stage::Forward => "forward",
            Stage::Backward => "backward",
            Stage::Inference => "inference",
            Stage::CompiledAutograd => "compiled_autograd",
            Stage::Other(name) => name,
        }
    }
}

/// A graph of a log.
#[derive(Clone, Debug)]
pub struct LoggedGraph {
    /// What it is.
    pub stage: Stage,
    /// Its text.
    pub text: Text,
    /// AOTAutograd's number of it, where the log's heading says it: `Forward graph 3`.
    pub aot_id: Option<u32>,
    /// Types of inputs that stand beside the text (`load_args`): name and type.
    pub input_types: Vec<(String, String)>,
}

/// A text of a record that is no graph: its name and where it stands.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// As the log names it.
    pub name: String,
    /// The text.
    pub text: Text,
}

/// A place in a Python file, as stacks say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The function.
    pub function: String,
    /// The line's text.
    pub code: String,
}

/// A symbol that stands for a size.
#[derive(Clone, Debug, Default)]
pub struct Symbol {
    /// `s77`
    pub name: String,
    /// The number that it stood for.
    pub hint: Option<i64>,
    /// Where it comes from: `L['x'].size()[0]`.
    pub source: String,
    /// Its range: `[2, int_oo]`.
    pub range: String,
    /// The line of the program that made it.
    pub place: Option<Place>,
}

/// A condition on symbols.
#[derive(Clone, Debug, Default)]
pub struct ShapeGuard {
    /// `Eq(s77, 2*s27)`
    pub condition: String,
    /// The line of the program that made it.
    pub place: Option<Place>,
}

/// Seconds that parts of a compilation took, by PyTorch's count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// All of it.
    pub dynamo: Option<f64>,
    /// AOTAutograd, with what it calls.
    pub aot_autograd: Option<f64>,
    /// Inductor.
    pub inductor: Option<f64>,
    /// The backward's compilation.
    pub backward: Option<f64>,
}

/// One attempt of Dynamo at a frame.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Whose.
    pub key: Key,
    /// The function.
    pub function: Option<String>,
    /// Where it is defined.
    pub place: Option<Place>,
    /// Its graph.
    pub graph: Option<LoggedGraph>,
    /// Its guards.
    pub guards: Option<Text>,
    /// Why earlier entries of the cache did not serve.
    pub recompiles: Vec<Text>,
    /// Where the graph had to end.
    pub breaks: Vec<Text>,
    /// Symbols.
    pub symbols: Vec<Symbol>,
    /// Conditions on them.
    pub shape_guards: Vec<ShapeGuard>,
    /// Why it failed: kind and message.
    pub failure: Option<(String, String)>,
    /// How long it took.
    pub times: Times,
    /// What caches were hit or missed, by PyTorch's counter.
    pub cache: Vec<(String, u64)>,
    /// What else was logged of it.
    pub artifacts: Vec<Artifact>,
}

impl Frame {
    /// What a symbol stood for.
    pub fn hint(&self, name: &str) -> Option<i64> {
        self.symbols.iter().rev().find(|symbol| symbol.name == name)?.hint
    }
}

/// One joint or inference graph, and what belongs to it.
#[derive(Clone, Debug, Default)]
pub struct Compilation {
    /// Whose.
    pub key: Key,
    /// The attempt of Dynamo that it is of, as its place among the log's frames.
    pub frame: Option<usize>,
    /// Its graphs, in the log's order.
    pub graphs: Vec<LoggedGraph>,
    /// `ViewAndMutationMeta`, as Python prints it.
    pub metadata: Option<Text>,
    /// `torch._functorch.config`, as JSON.
    pub config: Option<Text>,
    /// Prologue and epilogue, as Python code.
    pub runtime_wrappers: Option<Text>,
    /// What else was logged of it: provenance, kernels, `min_cut_information`.
    pub artifacts: Vec<Artifact>,
}

impl Compilation {
    /// The first graph of a stage.
    pub fn graph(&self, stage: &Stage) -> Option<&LoggedGraph> {
        self.graphs.iter().find(|graph| graph.stage == *stage)
    }
}

/// Something that was not understood, and how often it was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// What kind of thing.
    pub kind: String,
    /// How often.
    pub count: u32,
    /// Where first: the file's name and a line.
    pub first: (String, u32),
}

/// Everything found.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// The files.
    pub files: Vec<File>,
    /// What AOTAutograd traced, in the log's order.
    pub compilations: Vec<Compilation>,
    /// What Dynamo traced.
    pub frames: Vec<Frame>,
    /// Tapes.
    pub compiled_autograd: Vec<(Key, LoggedGraph)>,
    /// Calls that a mode printed as they were made (`DebugMode`).
    pub debug_calls: Option<Text>,
    /// The version of PyTorch that wrote it, where it says so.
    pub pytorch: Option<String>,
    /// The forms that were met, each once.
    pub forms: Vec<String>,
    /// What was not understood.
    pub unknown: Vec<Unknown>,
    /// What symbols stand for, in the place of what the log says: graphs that are read from now on have these sizes.
    pub sizes: BTreeMap<String, i64>,
}

impl Log {
    /// The lines of a text, each with its number.
    pub fn lines<'a>(&'a self, text: &'a Text) -> Box<dyn Iterator<Item = (usize, &'a str)> + 'a> {
        match text {
            Text::Whole { file, first, start, end, lead } => {
                let all = self.files[*file].text.get(*start..*end).unwrap_or_default();
                let strip = move |line: &'a str| match lead {
                    Lead::Nothing => line,
                    Lead::Tab => line.strip_prefix('\t').unwrap_or(line),
                };
                Box::new(all.lines().enumerate().map(move |(i, line)| (*first as usize + i, strip(line))))
            }
            Text::Lines { file, lines } => {
                let all = &self.files[*file].text;
                Box::new(lines.iter().map(move |line| (line.number as usize, all.get(line.start..line.end).unwrap_or_default())))
            }
            Text::Made { first, text, .. } => Box::new(text.lines().map(move |line| (*first as usize, line))),
        }
    }

    /// A text, without what stands before its lines.
    pub fn text(&self, text: &Text) -> String {
        let mut out = String::new();
        for (i, (_, line)) in self.lines(text).enumerate() {
            if i > 0 {
                out.push('\n');
            }
            out.push_str(line);
        }
        out
    }

    /// `FILE:LINE` of a text.
    pub fn place(&self, text: &Text) -> String {
        let (file, line) = text.place();
        format!("{}:{line}", self.files.get(file).map_or("", |f| f.name.as_str()))
    }

    pub(crate) fn note_unknown(&mut self, kind: &str, file: usize, line: u32) {
        match self.unknown.iter_mut().find(|known| known.kind == kind) {
            Some(known) => known.count += 1,
            None => {
                let name = self.files.get(file).map_or_else(String::new, |f| f.name.clone());
                self.unknown.push(Unknown { kind: kind.to_owned(), count: 1, first: (name, line) });
            }
        }
    }

    pub(crate) fn note_form(&mut self, form: &str) {
        if !self.forms.iter().any(|known| known == form) {
            self.forms.push(form.to_owned());
        }
    }
}
