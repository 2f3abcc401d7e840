//! Logs as text: what `TORCH_LOGS` prints, in whatever state people paste it, and graphs alone.
//!
//! A graph begins at a line `class NAME(torch.nn.Module):` or `def forward(`. If a logger's prefix stands before that line, the lines of the
//! same process are the graph's, whatever other processes and the program print between them, until it logs something else; if none does, the
//! lines that follow are, as far as they are indented.

use std::collections::HashMap;

use super::assemble::Assembler;
use super::model::{Artifact, Key, Line, Log, LoggedGraph, Stage, Symbol, Text};
use super::prefix::{Prefixed, prefixed};

/// Of which compilation and artifact a line is: rank, compile id, attempt, name.
type Logger<'a> = (Option<u32>, Option<super::model::CompileId>, u32, Option<&'a str>);

/// A process: what one logs is not mixed with what another does.
type Process<'a> = (Option<u32>, Option<&'a str>);

/// A text that is being read.
enum Open<'a> {
    /// A graph, whose `forward` stands at an indentation, once that is known.
    Graph { title: Option<String>, lines: Vec<Line>, indent: Option<usize>, returned: bool },
    /// Lines of an artifact that is no graph.
    Artifact { tag: &'a str, lines: Vec<Line> },
}

/// What is known of a process.
#[derive(Default)]
struct State<'a> {
    title: Option<String>,
    open: Option<Open<'a>>,
    logger: Logger<'a>,
}

/// Whether a line begins a graph's class, also where a path stands before it.
pub(crate) fn is_class(text: &str) -> bool {
    let text = text.trim_end();
    text.ends_with("(torch.nn.Module):") && (text.trim_start().starts_with("class ") || text.contains(" class "))
}

/// Whether a text may be a log or a graph.
pub(crate) fn is_log(text: &str) -> bool {
    const SIGNS: &[&str] =
        &["(torch.nn.Module):", "def forward(", "] [__", ".__graph_code: [", ".__aot_graphs: [", ".__graph_breaks: [", ".__guards: ["];
    let trimmed = text.trim_start();
    let is_page = ["<html", "<!doctype", "<!DOCTYPE"].iter().any(|head| trimmed.starts_with(head));
    let imports = |line: &str| line.starts_with("import torch") || line.starts_with("from torch");
    let is_script = text.lines().any(imports) && !text.contains("torch.ops.");
    !is_script && !is_page && !trimmed.starts_with('{') && SIGNS.iter().any(|sign| text.contains(sign))
}

struct Reader<'a, 'l> {
    to: Assembler<'l>,
    file: usize,
    states: HashMap<Process<'a>, State<'a>>,
    /// The graph that lines without a prefix belong to.
    bare: State<'a>,
    /// The stage that the file's name says.
    stage: Option<Stage>,
    /// The process that logged last.
    last: Option<Process<'a>>,
}

/// Reads a log; `stage` is what the file's name says that its graph is.
pub(crate) fn read(log: &mut Log, file: usize, stage: Option<Stage>) {
    log.note_form(if stage.is_some() { "graph" } else { "TORCH_LOGS" });
    let text = log.files[file].text.clone();
    let to = Assembler::new(log, Some(file));
    let mut reader = Reader { to, file, states: HashMap::new(), bare: State::default(), stage, last: None };
    let base = text.as_ptr() as usize;
    for (i, raw) in text.lines().enumerate() {
        let line = prefixed(raw);
        let start = line.rest.as_ptr() as usize - base;
        let place = Line { number: i as u32 + 1, start, end: start + line.rest.len() };
        reader.line(line, place);
    }
    reader.finish();
}

impl<'a> Reader<'a, '_> {
    fn line(&mut self, line: Prefixed<'a>, place: Line) {
        if !line.is_logged {
            return self.bare_line(line.rest, place);
        }
        self.close_bare();
        let logger: Logger = (line.rank, line.id.clone(), line.attempt, line.tag);
        let process = (line.rank, line.process);
        self.last = Some(process);
        let text = line.rest;
        let mut state = self.states.remove(&process).unwrap_or_default();
        let moved = state.logger != logger;
        let done = match &mut state.open {
            _ if moved => true,
            Some(Open::Graph { lines, indent, returned, .. }) => {
                let goes_on = belongs(text, indent, returned);
                if goes_on {
                    lines.push(place);
                }
                !goes_on
            }
            Some(Open::Artifact { tag, lines }) => {
                let ends = match *tag {
                    "recompiles" => text.starts_with("Recompiling function"),
                    "graph_breaks" => text.starts_with("Graph break in user code") || text.starts_with("Graph break:"),
                    "guards" => text.starts_with("GUARDS:"),
                    _ => true,
                };
                if !ends {
                    lines.push(place);
                }
                ends
            }
            None => true,
        };
        if done {
            if let Some(open) = state.open.take() {
                self.close(&state.logger, open);
            }
            state.logger = logger.clone();
            self.begin(&logger, &mut state, text, place);
        }
        self.states.insert(process, state);
    }

    /// A line that begins something, or stands alone.
    fn begin(&mut self, logger: &Logger<'a>, state: &mut State<'a>, text: &'a str, place: Line) {
        if let Some(title) = title(text) {
            state.title = Some(title.to_owned());
        } else if is_class(text) || text.trim_start().starts_with("def forward(") {
            let mut indent = None;
            let mut returned = false;
            if !is_class(text) {
                belongs(text, &mut indent, &mut returned);
            }
            state.open = Some(Open::Graph { title: state.title.take(), lines: vec![place], indent, returned });
        } else if let Some(at) = text.find("fw_metadata=ViewAndMutationMeta(") {
            let start = place.start + at + "fw_metadata=".len();
            let end = text.rfind(", inner_meta=").map_or(place.end, |at| place.start + at);
            let line = Line { start, end: end.max(start), ..place };
            let text = Text::Lines { file: self.file, lines: vec![line] };
            let key = self.to.key(key(logger));
            self.to.metadata(&key, text);
        } else if let Some(tag @ ("recompiles" | "graph_breaks" | "guards")) = logger.3 {
            if text.starts_with("Guard eval latency") {
                return;
            }
            state.open = Some(Open::Artifact { tag, lines: vec![place] });
        } else if let Some(symbol) = created_symbol(text) {
            let key = self.to.key(key(logger));
            self.to.frame(&key).symbols.push(symbol);
        } else if !is_known(text) {
            let kind = format!("lines of {}", logger.3.unwrap_or("other loggers"));
            self.to.log.note_unknown(&kind, self.file, place.number);
        }
    }

    fn bare_line(&mut self, text: &'a str, place: Line) {
        if let Some(Open::Graph { lines, indent, returned, .. }) = &mut self.bare.open {
            if belongs(text, indent, returned) {
                lines.push(place);
                return;
            }
            self.close_bare();
        }
        let starts = is_class(text) || text.trim_start().starts_with("def forward(");
        // Under prefixed loggers an open graph goes on after lines of others.
        if starts {
            let (mut indent, mut returned) = (None, false);
            if !is_class(text) {
                belongs(text, &mut indent, &mut returned);
            }
            let title =
                self.bare.title.take().or_else(|| self.last.as_ref().and_then(|l| self.states.get_mut(l)).and_then(|s| s.title.take()));
            self.bare.open = Some(Open::Graph { title, lines: vec![place], indent, returned });
        } else if let Some(title) = title(text) {
            self.bare.title = Some(title.to_owned());
        }
    }

    fn close_bare(&mut self) {
        if let Some(open) = self.bare.open.take() {
            // The record before it says whose it is.
            let logger = self.last.as_ref().and_then(|process| self.states.get(process)).map(|state| state.logger.clone());
            self.close(&logger.unwrap_or_default(), open);
        }
    }

    fn close(&mut self, logger: &Logger<'a>, open: Open<'a>) {
        let key = self.to.key(key(logger));
        match open {
            Open::Graph { title, lines, .. } => {
                let stage = self.stage.clone().or_else(|| title.as_deref().and_then(stage_of)).or(match logger.3 {
                    Some("graph_code" | "graph") => Some(Stage::Dynamo),
                    Some("aot_joint_graph") => Some(Stage::Joint),
                    _ => None,
                });
                let text = Text::Lines { file: self.file, lines };
                let head = head(self.to.log, &text);
                let stage = match stage {
                    // A forward alone of inputs that are no primals.
                    Some(Stage::Forward) if !head.contains("primals") && !head.contains("fwd_rng") => Stage::Inference,
                    Some(stage) => stage,
                    None => guess(&head),
                };
                let aot_id = title.as_deref().and_then(|t| t.rsplit(' ').next()).and_then(|n| n.parse().ok());
                self.to.graph(&key, LoggedGraph { stage, text, aot_id, input_types: Vec::new() });
            }
            Open::Artifact { tag, lines } => {
                let text = Text::Lines { file: self.file, lines };
                let frame = self.to.frame(&key);
                match tag {
                    "recompiles" => frame.recompiles.push(text),
                    "graph_breaks" => frame.breaks.push(text),
                    "guards" if frame.guards.is_none() => frame.guards = Some(text),
                    _ => frame.artifacts.push(Artifact { name: tag.to_owned(), text }),
                }
            }
        }
    }

    fn finish(mut self) {
        self.close_bare();
        let mut left: Vec<(Logger, Open)> = self.states.drain().filter_map(|(_, state)| Some((state.logger, state.open?))).collect();
        let first = |open: &Open| match open {
            Open::Graph { lines, .. } | Open::Artifact { lines, .. } => lines.first().map_or(0, |line| line.number),
        };
        left.sort_by_key(|(_, open)| first(open));
        for (logger, open) in left {
            self.close(&logger, open);
        }
    }
}

fn key(logger: &Logger) -> Key {
    Key { rank: logger.0, id: logger.1.clone(), attempt: logger.2 }
}

/// Whether a line is part of the open graph.
fn belongs(text: &str, indent: &mut Option<usize>, returned: &mut bool) -> bool {
    let content = text.trim_start();
    let own = text.len() - content.len();
    let content = content.trim_end();
    match *indent {
        None => {
            // Between the class and its `forward`: an `__init__` at most.
            let is_forward = content.starts_with("def forward(");
            if is_forward {
                *indent = Some(own);
            }
            is_forward || content.is_empty() || (own > 0 && !is_class(content) && title(text).is_none())
        }
        Some(_) if content.is_empty() => true,
        Some(indent) => {
            let inside = own > indent || (own == indent && (is_class(text) || content.starts_with("):") || content.starts_with(") ->")));
            if inside && own > indent && content.starts_with("return ") {
                *returned = true;
            }
            // A function alone ends with what it returns, where the text goes on as far to the right.
            inside && title(text).is_none()
        }
    }
}

/// `Forward graph 0` of ` ===== Forward graph 0 =====`.
fn title(text: &str) -> Option<&str> {
    let text = text.trim();
    let inner = text.trim_matches('=');
    let bars = text.len() - inner.len();
    (bars >= 6 && text.starts_with("===") && text.ends_with("===")).then(|| inner.trim()).filter(|inner| !inner.is_empty())
}

fn stage_of(title: &str) -> Option<Stage> {
    let lower = title.to_ascii_lowercase();
    Some(match lower.as_str() {
        t if t.starts_with("joint graph") => Stage::Joint,
        t if t.contains("before unlifting") => Stage::Other(lower.replace(' ', "_")),
        t if t.starts_with("forward graph") => Stage::Forward,
        t if t.starts_with("backward graph") => Stage::Backward,
        t if t.starts_with("compiled autograd graph") => Stage::CompiledAutograd,
        t if t.starts_with("__compiled_fn") => Stage::Dynamo,
        "before post grad" => Stage::Other("before_post_grad_graph".to_owned()),
        "after post grad" => Stage::Other("inductor_post_grad_graph".to_owned()),
        "before pre grad" => Stage::Other("before_pre_grad_graph".to_owned()),
        "traced graph" => return None,
        _ => Stage::Other(lower.replace(' ', "_")),
    })
}

/// The first lines of a graph: its class and inputs.
fn head(log: &Log, text: &Text) -> String {
    let mut out = String::new();
    for (_, line) in log.lines(text).take(512) {
        out.push_str(line);
        out.push('\n');
        let line = line.trim();
        if line.ends_with("):") && !is_class(line) || line.starts_with(')') {
            break;
        }
    }
    out
}

/// What a graph is that nothing names.
pub(crate) fn guess(head: &str) -> Stage {
    let inputs = head.split_once("def forward(").map_or(head, |(_, inputs)| inputs);
    let has = |name: &str| inputs.contains(name);
    match () {
        () if head.contains("class CompiledAutograd") => Stage::CompiledAutograd,
        () if has("primals") && has("tangents") && (has("self, primals, tangents") || has("        primals,\n")) => Stage::Joint,
        () if has("tangents_1") || has("tangents_") => Stage::Backward,
        () if has("primals_") => Stage::Forward,
        () if has("arg0_1") => Stage::Inference,
        () if has("L_") || has("G_") || has("L__self__") => Stage::Dynamo,
        () => Stage::Inference,
    }
}

/// `create_symbol s77 = 3 for L['x'].size()[0] [2, int_oo] ...`
fn created_symbol(text: &str) -> Option<Symbol> {
    let rest = text.strip_prefix("create_symbol ")?;
    let (name, rest) = rest.split_once(" = ")?;
    let (hint, rest) = rest.split_once(" for ")?;
    let (source, rest) = rest.split_once(" [").unwrap_or((rest, ""));
    let range = rest.split_once(']').map(|(range, _)| format!("[{range}]")).unwrap_or_default();
    Some(Symbol { name: name.to_owned(), hint: hint.parse().ok(), source: source.to_owned(), range, place: None })
}

/// Lines that are no news.
fn is_known(text: &str) -> bool {
    let text = text.trim();
    text.is_empty()
        || ["TRACED GRAPH", "aot_config id:", "Guard eval latency", "TREE_GUARD_MANAGER:"].iter().any(|known| text.starts_with(known))
}
