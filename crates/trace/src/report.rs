//! A log as a report, in the shape that a run's has: `aot-playground read --json`.
//!
//! Compilations are put together one at a time as they are written: a log of many graphs is never held as reports.

use super::decision::{self, Decision, Graphs};
use super::metadata;
use super::model::{Artifact, Compilation, Frame, Key, Log, LoggedGraph, Place, Stage, Text};
use graph::{FakeValue, Graph, Node};
use graph_view::{functionalized, saved_values, view};
use report::log::{
    ArtifactRow, BreakRow, Comparison, CompilationHead, CompilationRow, ConditionRow, FrameRow, Line, Overview, RegionRow, Seconds,
    StageRow, SymbolRow, UnknownRow,
};
use report::sentences::{BreakPlace, Misses, Told};
use report::{CapturedGraph, CompilationKind, GraphView, Guard, REPORT_VERSION, Saved, Span};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

/// The version of this shape: what is added leaves it, what changes raises it.
pub const FORMAT: u32 = 1;

fn line_of(place: &Place) -> Line {
    Line { name: String::new(), file: place.file.clone(), line: place.line, function: place.function.clone(), code: place.code.clone() }
}

/// Where a node comes from.
pub fn line_of_node(node: &Node) -> Option<Line> {
    let source = node.meta.source.as_ref()?;
    Some(Line {
        name: node.name.to_string(),
        file: source.file.to_string(),
        line: source.span.line,
        function: source.function.to_string(),
        code: source.code.to_string(),
    })
}

/// `[0/1]`
pub fn compile_id(key: &Key) -> Option<String> {
    key.id.as_ref().map(ToString::to_string)
}

fn artifacts(log: &Log, all: &[Artifact]) -> Vec<ArtifactRow> {
    all.iter().map(|artifact| ArtifactRow { name: artifact.name.clone(), text: log.text(&artifact.text) }).collect()
}

/// Why earlier entries of the cache did not serve: a reason per entry.
pub fn reasons(log: &Log, text: &Text) -> Vec<String> {
    let is_entry = |line: &str| {
        let id = line.split(": ").next().unwrap_or_default();
        id.split_once('/').is_some_and(|(a, b)| !a.is_empty() && a.bytes().chain(b.bytes()).all(|c| c.is_ascii_digit()))
    };
    let lines: Vec<String> = log.lines(text).map(|(_, line)| line.trim().trim_start_matches("- ").to_owned()).collect();
    let named: Vec<String> = lines.iter().filter(|line| is_entry(line)).cloned().collect();
    if !named.is_empty() {
        return named;
    }
    // Until PyTorch 2.2 entries had no numbers.
    let marked = log.lines(text).filter_map(|(_, line)| line.trim_start().strip_prefix("- ").map(str::to_owned));
    marked.filter(|line| !line.starts_with("User stack") && !line.starts_with("  ")).collect()
}

/// A graph break: its reason, place and text.
pub fn graph_break(log: &Log, text: &Text) -> BreakRow {
    let whole = log.text(text);
    let mut out = BreakRow::default();
    let mut title = None;
    let mut last = String::new();
    for line in whole.lines() {
        let trimmed = line.trim();
        if let Some(place) = trimmed.strip_prefix("Graph break in user code at ") {
            if let Some((file, number)) = place.rsplit_once(':') {
                out.file = file.to_owned();
                out.graph_break.span = number.parse().ok().map(span);
            }
        } else if let Some(place) = trimmed.strip_prefix("File \"").filter(|_| out.graph_break.span.is_none()) {
            if let Some((file, rest)) = place.split_once("\", line ") {
                out.file = file.to_owned();
                out.graph_break.span = rest.split(',').next().and_then(|n| n.trim().parse().ok()).map(span);
            }
        } else if trimmed.starts_with("Explanation:") && title.is_none() {
            title = Some(last.clone());
        }
        if trimmed == "User code traceback:" {
            break;
        }
        if !trimmed.is_empty() {
            last = trimmed.strip_prefix("Graph Break Reason: ").or(trimmed.strip_prefix("Graph break: ")).unwrap_or(trimmed).to_owned();
            // Until PyTorch 2.6 a break had one line.
            if trimmed.starts_with("Graph break: ") || trimmed.starts_with("Reason: ") {
                title = Some(last.trim_start_matches("Reason: ").to_owned());
            }
        }
    }
    out.graph_break.reason = title.unwrap_or(last);
    let said =
        |before: &str| whole.lines().filter_map(|line| line.trim().strip_prefix(before)).map(|said| said.trim().to_owned()).collect();
    let explained: Vec<String> = said("Explanation:");
    out.graph_break.explanation = explained.into_iter().next().unwrap_or_default();
    out.graph_break.hints = said("Hint:");
    let page = whole.split_once("please visit: ").map(|(_, rest)| rest.split_whitespace().next().unwrap_or_default());
    out.graph_break.url = page.filter(|page| page.starts_with("https://")).map(str::to_owned);
    out.text = whole;
    out
}

fn span(line: u32) -> Span {
    Span { line, column: 0, end_line: line, end_column: 0, file: None }
}

/// Guards, as PyTorch words them: leaves of the tree.
pub fn guards(log: &Log, text: &Text) -> Vec<Guard> {
    let mut out = Vec::new();
    for (_, line) in log.lines(text) {
        let line = line.trim_start_matches(['|', ' ', '+', '-']).trim_end();
        let is_node = line.starts_with("GuardManager:")
            || line.starts_with("DictGuardManager:")
            || line.starts_with("KeyManager")
            || line.starts_with("ValueManager");
        let is_head = line.is_empty()
            || line.ends_with("RootGuardManager")
            || line.starts_with("Guard latency")
            || line.starts_with("Guard eval latency")
            || line == "TREE_GUARD_MANAGER:"
            || line == "GUARDS:";
        if is_node || is_head || line == "[" || line == "]" {
            continue;
        }
        // `check  # code  # file.py:5 in f`
        let place = line.rsplit_once("  # ").and_then(|(_, place)| place.split_once(" in ")).map(|(place, _)| place);
        let at = place.and_then(|place| place.rsplit_once(':')).and_then(|(_, line)| line.parse().ok()).map(span);
        let words = line.split("  # ").next().unwrap_or(line).trim_end();
        out.push(Guard { text: words.to_owned(), span: at });
    }
    out
}

/// Shows a graph, or says why it can't be read.
fn shown(log: &Log, logged: &LoggedGraph, frame: Option<&Frame>, problems: &mut Vec<String>) -> GraphView {
    match log.graph(logged, frame) {
        Ok(parsed) => view(&parsed.graph),
        Err(error) => {
            problems.push(decision::problem(log, logged, &error.message));
            GraphView { readable: log.text(&logged.text), ..GraphView::default() }
        }
    }
}

/// A compilation.
pub fn compilation(log: &Log, index: usize) -> CompilationRow {
    let logged = &log.compilations[index];
    let frame = log.frame_of(logged);
    let graphs = decision::graphs(log, logged);
    let decided = decision::decide(log, logged, &graphs);
    let mut row = row(log, logged, index, &graphs);
    let compared = graphs.forward.is_some() || graphs.backward.is_some();
    if graphs.joint.is_some() {
        row.comparison = Some(match &decided {
            Ok(decision) => comparison(decision, compared),
            Err(why) => Comparison { differences: vec![why.clone()], ..Comparison::default() },
        });
    }
    if let Ok(decision) = decided {
        row.compilation.functionalized = Some(view(&functionalized(&decision.joint, decision.num_fwd_outputs)));
        if row.compilation.saved.is_none() {
            // The log has no forward: what would be saved.
            row.compilation.saved = Some(saved_values(&decision.ours.forward, &decision.ours.saved));
        }
        row.compilation.partition = Some(decision.ours.report);
    }
    for other in logged.graphs.iter().filter(|graph| matches!(graph.stage, Stage::Other(_))) {
        let graph = shown(log, other, frame, &mut row.problems);
        row.stages.push(StageRow { name: other.stage.name().to_owned(), graph });
    }
    row
}

fn comparison(decision: &Decision, compared: bool) -> Comparison {
    Comparison {
        same: compared.then_some(decision.is_same),
        partitioner: Some(decision.config.partitioner.name().to_owned()),
        assumed: decision.assumed.clone(),
        only_logged: decision.only_logged.clone(),
        only_here: decision.only_ours.clone(),
        differences: decision.differences.clone(),
    }
}

/// What was saved, with bytes and places, by the log's forward.
pub fn saved(graphs: &Graphs) -> Option<Vec<Saved>> {
    let names = decision::logged_saved(graphs)?;
    Some(saved_values(graphs.forward.as_ref()?, &names))
}

fn row(log: &Log, logged: &Compilation, index: usize, graphs: &Graphs) -> CompilationRow {
    let texts = |stage: &Stage, graph: &Option<Graph>| match (graph, logged.graph(stage)) {
        (Some(graph), _) => Some(view(graph)),
        // What is whole of it is its text.
        (None, Some(logged)) => Some(GraphView { readable: log.text(&logged.text), ..GraphView::default() }),
        (None, None) => None,
    };
    let is_inference = logged.graph(&Stage::Inference).is_some();
    let traced = graphs.joint.as_ref().or(graphs.inference.as_ref()).or(graphs.forward.as_ref());
    let metadata = traced.zip(metadata::metadata(log, logged)).map(|(graph, meta)| metadata::described(&meta, graph));
    let saved = if is_inference { None } else { saved(graphs) };
    let lines = |graph: &Graph| -> Vec<Line> {
        let of = |saved: &Saved| graph.find(&saved.name).and_then(line_of_node);
        saved.iter().flatten().filter_map(of).collect()
    };
    let saved_lines = graphs.forward.as_ref().map(lines).unwrap_or_default();
    let region = logged.frame.filter(|at| log.frames[*at].graph.is_some()).map(|at| region_of(log, at));
    CompilationRow {
        compile_id: compile_id(&logged.key),
        rank: logged.key.rank,
        attempt: logged.key.attempt,
        symbols: traced.map(|graph| symbols(log, logged, graph)).unwrap_or_default(),
        saved_lines,
        comparison: None,
        stages: Vec::new(),
        runtime_wrappers: logged.runtime_wrappers.as_ref().map(|text| log.text(text)),
        settings: logged.config.as_ref().and_then(|text| serde_json::from_str(&log.text(text)).ok()),
        artifacts: artifacts(log, &logged.artifacts),
        problems: graphs.problems.clone(),
        compilation: report::Compilation {
            id: index as u32,
            region,
            kind: kind_of(logged),
            joint: texts(&Stage::Joint, &graphs.joint),
            inference: texts(&Stage::Inference, &graphs.inference),
            forward: texts(&Stage::Forward, &graphs.forward),
            backward: texts(&Stage::Backward, &graphs.backward),
            metadata,
            saved,
            ..report::Compilation::default()
        },
    }
}

/// Symbols that are inputs, and what the log says that they stood for.
fn symbols(log: &Log, logged: &Compilation, graph: &Graph) -> Vec<(String, Option<i64>)> {
    let is_name = |text: &str| text.starts_with(['s', 'u']) && text.len() > 1 && text[1..].bytes().all(|c| c.is_ascii_digit());
    let inputs = graph
        .placeholders()
        .filter_map(|node| if let Some(FakeValue::Int(size)) = &node.meta.value { Some(size.to_string()) } else { None });
    let frame = log.frame_of(logged);
    inputs.filter(|text| is_name(text)).map(|name| (name.clone(), frame.and_then(|frame| frame.hint(&name)))).collect()
}

/// The number of a frame's graph among the graphs that Dynamo captured.
fn region_of(log: &Log, frame: usize) -> u32 {
    log.frames[..frame].iter().filter(|frame| frame.graph.is_some()).count() as u32
}

/// What Dynamo did of one attempt.
pub fn frame(log: &Log, of: &Frame) -> FrameRow {
    let mut problems = Vec::new();
    let graph = of.graph.as_ref().map(|logged| shown(log, logged, Some(of), &mut problems));
    FrameRow { graph, guards: guards_of(log, of), problems, ..without_graph(log, of) }
}

fn guards_of(log: &Log, of: &Frame) -> Vec<Guard> {
    of.guards.as_ref().map(|text| guards(log, text)).unwrap_or_default()
}

/// The same without its graph and guards, and with what is wrong with the graph where it can't be read.
fn beside_graph(log: &Log, of: &Frame) -> FrameRow {
    let error = of.graph.as_ref().and_then(|logged| Some((logged, log.graph(logged, Some(of)).err()?)));
    let problems = error.map(|(logged, error)| decision::problem(log, logged, &error.message)).into_iter().collect();
    FrameRow { problems, ..without_graph(log, of) }
}

fn without_graph(log: &Log, of: &Frame) -> FrameRow {
    FrameRow {
        compile_id: compile_id(&of.key),
        rank: of.key.rank,
        attempt: of.key.attempt,
        function: of.function.clone(),
        line: of.place.as_ref().map(line_of),
        graph: None,
        guards: Vec::new(),
        recompiles: of.recompiles.iter().map(|text| reasons(log, text)).collect(),
        breaks: of.breaks.iter().map(|text| graph_break(log, text)).collect(),
        symbols: of
            .symbols
            .iter()
            .map(|s| SymbolRow {
                name: s.name.clone(),
                hint: s.hint,
                source: s.source.clone(),
                range: s.range.clone(),
                line: s.place.as_ref().map(line_of),
            })
            .collect(),
        conditions: of
            .shape_guards
            .iter()
            .map(|g| ConditionRow { condition: g.condition.clone(), line: g.place.as_ref().map(line_of) })
            .collect(),
        failure: of.failure.clone(),
        seconds: Seconds {
            dynamo: of.times.dynamo,
            aot_autograd: of.times.aot_autograd,
            inductor: of.times.inductor,
            backward: of.times.backward,
        },
        cache: of.cache.clone(),
        artifacts: artifacts(log, &of.artifacts),
        problems: Vec::new(),
    }
}

fn captured_graph(log: &Log, id: u32, of: &Frame, logged: &LoggedGraph, problems: &mut Vec<String>) -> CapturedGraph {
    CapturedGraph {
        id,
        function: of.function.clone().unwrap_or_default(),
        graph: shown(log, logged, Some(of), problems),
        guards: guards_of(log, of),
        span: of.place.as_ref().map(|place| span(place.line)),
        ..CapturedGraph::default()
    }
}

/// What Dynamo captured, by its place among the log's captured graphs.
pub fn region(log: &Log, index: usize) -> Option<RegionRow> {
    let (of, logged) = log.frames.iter().filter_map(|of| Some((of, of.graph.as_ref()?))).nth(index)?;
    let mut problems = Vec::new();
    let region = captured_graph(log, index as u32, of, logged, &mut problems);
    Some(RegionRow { region, frame: FrameRow { problems, ..without_graph(log, of) } })
}

/// A log at first sight. No graph is read for it.
pub fn overview(log: &Log) -> Overview {
    let head = |(index, logged): (usize, &Compilation)| CompilationHead {
        name: super::summary::name_of(logged, index),
        rank: logged.key.rank,
        function: log.frame_of(logged).and_then(|frame| frame.function.clone()),
        kind: kind_of(logged),
        region: logged.frame.filter(|at| log.frames[*at].graph.is_some()).map(|at| region_of(log, at)),
        stages: logged.graphs.iter().map(|graph| graph.stage.name().to_owned()).collect(),
    };
    let light = |of: &Frame| {
        let all = without_graph(log, of);
        let breaks = all.breaks.into_iter().map(|row| BreakRow { text: String::new(), ..row }).collect();
        FrameRow { breaks, symbols: Vec::new(), conditions: Vec::new(), artifacts: Vec::new(), ..all }
    };
    Overview {
        pytorch: log.pytorch.clone(),
        forms: log.forms.clone(),
        files: log.files.iter().map(|file| file.name.clone()).collect(),
        bytes: log.files.iter().map(|file| file.text.len() as u64).sum(),
        compilations: log.compilations.iter().enumerate().map(head).collect(),
        frames: log.frames.iter().map(light).collect(),
        regions: log.frames.iter().enumerate().filter(|(_, of)| of.graph.is_some()).map(|(at, _)| at as u32).collect(),
        compiled_autograd: log.compiled_autograd.iter().map(|(_, logged)| log.text(&logged.text)).collect(),
        printed_calls: log.debug_calls.as_ref().map(|text| log.text(text)),
        unknown: log
            .unknown
            .iter()
            .map(|of| UnknownRow { kind: of.kind.clone(), count: of.count, file: of.first.0.clone(), line: of.first.1 })
            .collect(),
    }
}

fn kind_of(logged: &Compilation) -> CompilationKind {
    if logged.graph(&Stage::Inference).is_some() { CompilationKind::Inference } else { CompilationKind::Joint }
}

/// Frames that never reached AOTAutograd.
pub fn frames_alone(log: &Log) -> impl Iterator<Item = &Frame> {
    frames(log, false)
}

/// Frames of which AOTAutograd traced something, or of which it did not.
fn frames(log: &Log, are_compiled: bool) -> impl Iterator<Item = &Frame> {
    let compiled: HashSet<_> = log.compilations.iter().map(|c| (c.key.rank, c.key.id.as_ref())).collect();
    log.frames.iter().filter(move |frame| compiled.contains(&(frame.key.rank, frame.key.id.as_ref())) == are_compiled)
}

/// What cache misses and graph breaks come to, by rank.
pub fn sentences(log: &Log) -> Vec<(Option<u32>, Vec<Misses>, Vec<BreakPlace>)> {
    let mut ranks: BTreeMap<Option<u32>, (Told, BTreeMap<u32, Misses>, BTreeMap<u32, BreakPlace>)> = BTreeMap::new();
    for frame in &log.frames {
        let (told, misses, places) = ranks.entry(frame.key.rank).or_insert_with(|| (Told::of_log(), BTreeMap::new(), BTreeMap::new()));
        if let (Some((id, _)), Some(function)) = (frame.key.id.as_ref().and_then(|id| id.frame), &frame.function) {
            told.frame(id, function);
        }
        misses.extend(frame.recompiles.iter().filter_map(|text| told.missed(&reasons(log, text))).map(|misses| (misses.id, misses)));
        for text in &frame.breaks {
            let row = graph_break(log, text);
            let place = told.broke(&row.graph_break, Some(&row.file));
            places.insert(place.id, place);
        }
    }
    let listed =
        ranks.into_iter().map(|(rank, (_, misses, places))| (rank, misses.into_values().collect(), places.into_values().collect()));
    listed.collect()
}

/// Writes a log as a report.
///
/// # Errors
/// What the writer says.
pub fn write(log: &Log, to: &mut dyn Write) -> io::Result<()> {
    let mut object = Object { to, first: true };
    object.field("format", &FORMAT)?;
    object.field("version", &REPORT_VERSION)?;
    object.field("pytorch", &log.pytorch)?;
    object.field("files", &log.files.iter().map(|f| f.name.as_str()).collect::<Vec<_>>())?;
    object.field("forms", &log.forms)?;
    object.field("stdout", "")?;
    object.field("stderr", "")?;
    object.field("exception", &Value::Null)?;
    let captured = log.frames.iter().filter_map(|of| Some((of, of.graph.as_ref()?)));
    // What is wrong with a graph stands beside the frame.
    object.list("regions", captured.enumerate(), |(id, (of, logged))| captured_graph(log, id as u32, of, logged, &mut Vec::new()))?;
    object.list("compilations", 0..log.compilations.len(), |index| compilation(log, index))?;
    object.list("dynamo", frames_alone(log), |of| frame(log, of))?;
    object.list("frames", frames(log, true), |of| beside_graph(log, of))?;
    object.list("compiled_autograd", log.compiled_autograd.iter(), |(_, logged)| log.text(&logged.text))?;
    object.list("recompiles", log.frames.iter().flat_map(|f| &f.recompiles), |text| reasons(log, text))?;
    object.list("breaks", log.frames.iter().flat_map(|f| &f.breaks), |text| graph_break(log, text))?;
    let (misses, places) = sentences(log).into_iter().map(|(_, misses, places)| (misses, places)).unzip::<_, _, Vec<_>, Vec<_>>();
    object.field("misses", &misses.concat())?;
    object.field("break_places", &places.concat())?;
    if let Some(calls) = &log.debug_calls {
        object.field("calls_printed", &log.text(calls))?;
    }
    for name in ["tapes", "limits", "calls", "runs"] {
        object.field(name, &Value::Array(Vec::new()))?;
    }
    object.list("unknown", log.unknown.iter(), |of| UnknownRow {
        kind: of.kind.clone(),
        count: of.count,
        file: of.first.0.clone(),
        line: of.first.1,
    })?;
    object.field("finished", &true)?;
    object.field("seconds", &0.0)?;
    object.to.write_all(b"}\n")
}

/// A JSON object as it is written.
struct Object<'a> {
    to: &'a mut dyn Write,
    first: bool,
}

impl Object<'_> {
    fn name(&mut self, name: &str) -> io::Result<()> {
        self.to.write_all(if self.first { b"{" } else { b",\n" })?;
        self.first = false;
        write!(self.to, "\"{name}\":")
    }

    fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
        self.name(name)?;
        serde_json::to_writer(&mut *self.to, value).map_err(io::Error::from)
    }

    fn list<T, R: Serialize>(&mut self, name: &str, items: impl Iterator<Item = T>, row: impl Fn(T) -> R) -> io::Result<()> {
        self.name(name)?;
        self.to.write_all(b"[")?;
        for (i, item) in items.enumerate() {
            if i > 0 {
                self.to.write_all(b",\n")?;
            }
            serde_json::to_writer(&mut *self.to, &row(item)).map_err(io::Error::from)?;
        }
        self.to.write_all(b"]")
    }
}
