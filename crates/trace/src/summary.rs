//! A compilation in figures: what `explain` prints, and what two logs are compared by.

use super::decision::{self, Decision, Graphs};
use super::model::{Compilation, Frame, Key, Log, Stage};
use super::report::{graph_break, guards, line_of_node, reasons, saved};
use graph::{Arg, Graph, Node, Opcode, Target};
use partition::is_tangent;
use report::log::Line;
use report::{Answer, MemoryProfile, PartitionQuery, Question, Saved};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A value that is saved for the backward.
pub struct SavedRow {
    /// As reports have it.
    pub saved: Saved,
    /// Its line.
    pub line: Option<Line>,
    /// What computes it, whatever it is called: equal for values that are computed alike, of whatever sizes.
    pub structure: u64,
    /// Why it is saved, where the partitioner here decided as the log did.
    pub why: Option<String>,
}

/// A compilation in figures.
pub struct Summary {
    /// `rank 1 [0/1]`, or its number.
    pub name: String,
    /// `rank 1 [0/1]`, without an attempt: what is compared with what.
    pub key: (Option<u32>, Option<String>),
    /// Calls per stage.
    pub calls: Vec<(String, usize)>,
    /// Calls of the joint or inference graph, by operator.
    pub operators: BTreeMap<String, usize>,
    /// The rows of that graph without names: what is called, on which rows.
    pub rows: Vec<String>,
    /// What is saved.
    pub saved: Option<Vec<SavedRow>>,
    /// Bytes of it, where all sizes are known.
    pub saved_bytes: Option<u64>,
    /// Memory through forward and backward, where the joint graph is there.
    pub memory: Option<MemoryProfile>,
    /// Whether the partitioner here decides as the log says, and what was assumed.
    pub decision: Option<(bool, Vec<String>)>,
    /// In what they differ.
    pub differences: Vec<String>,
    /// Graph breaks of its frame.
    pub breaks: Vec<String>,
    /// Why earlier entries did not serve: all guards that failed.
    pub recompiles: Vec<String>,
    /// Guards.
    pub guards: Vec<String>,
    /// Settings, by name.
    pub settings: BTreeMap<String, String>,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// What a node is but for its name and its numbers.
fn shape_of(node: &Node, of: &dyn Fn(graph::NodeId) -> u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    node.target.text().hash(&mut hasher);
    (node.opcode == Opcode::Placeholder).hash(&mut hasher);
    fn walk(arg: &Arg, of: &dyn Fn(graph::NodeId) -> u64, hasher: &mut DefaultHasher) {
        match arg {
            Arg::Node(id) => of(*id).hash(hasher),
            Arg::List(items) | Arg::Tuple(items) => {
                items.len().hash(hasher);
                items.iter().for_each(|item| walk(item, of, hasher));
            }
            // Sizes differ between runs of one program.
            Arg::Int(_) => 1u8.hash(hasher),
            Arg::Float(f) => f.to_bits().hash(hasher),
            Arg::Bool(b) => b.hash(hasher),
            Arg::Str(s) | Arg::Op(s) | Arg::Text(s) => s.hash(hasher),
            Arg::Dtype(d) => d.hash(hasher),
            _ => 0u8.hash(hasher),
        }
    }
    node.args.iter().for_each(|arg| walk(arg, of, &mut hasher));
    node.kwargs.iter().for_each(|(name, arg)| {
        name.hash(&mut hasher);
        walk(arg, of, &mut hasher);
    });
    hasher.finish()
}

/// Per node, by id, what computes it.
fn structures(graph: &Graph) -> Vec<u64> {
    let mut found = vec![0u64; graph.arena_len()];
    for (at, node) in graph.nodes().enumerate() {
        let of = |id: graph::NodeId| found[id.0 as usize];
        let structure = match node.opcode {
            // An input is known by its place among inputs.
            Opcode::Placeholder => (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(is_tangent(node)),
            _ => shape_of(node, &of),
        };
        found[node.id.0 as usize] = structure;
    }
    found
}

/// A graph's calls without names: the operator, and the rows that it reads.
fn rows(graph: &Graph) -> Vec<String> {
    let mut number = vec![0usize; graph.arena_len()];
    let mut out = Vec::new();
    for (row, node) in graph.nodes().enumerate() {
        number[node.id.0 as usize] = row;
        let reads: Vec<String> = node.inputs().iter().map(|id| format!("%{}", number[id.0 as usize])).collect();
        let kind = match (node.opcode, node.tensor()) {
            (Opcode::Placeholder, Some(spec)) => format!("input {}", spec.dtype.short()),
            (Opcode::Placeholder, None) => "input".to_owned(),
            _ => node.target.text(),
        };
        out.push(format!("{kind}({})", reads.join(", ")));
    }
    out
}

/// How many calls a graph has.
pub fn calls(graph: &Graph) -> usize {
    graph.nodes().filter(|node| node.opcode == Opcode::Call && node.target != Target::Getitem).count()
}

fn saved_rows(graphs: &Graphs, decision: Option<&Decision>) -> Option<Vec<SavedRow>> {
    let forward = graphs.forward.as_ref()?;
    let structure = structures(forward);
    let why = |name: &str| {
        let decision = decision.filter(|decision| decision.is_same)?;
        let known = decision.ours.report.decisions.iter().find(|value| value.name == name)?;
        Some(known.reason.clone())
    };
    let row = |saved: Saved| {
        let node = forward.find(&saved.name);
        SavedRow {
            line: node.and_then(line_of_node),
            structure: node.map_or(0, |node| structure[node.id.0 as usize]),
            why: why(&saved.name),
            saved,
        }
    };
    Some(saved(graphs)?.into_iter().map(row).collect())
}

/// Memory through a joint graph, forward and backward.
fn memory(decision: Decision) -> Option<MemoryProfile> {
    match decision.study().answer(&Question::Partition { query: PartitionQuery::default() }) {
        Answer::Partition { partition } => Some(partition.memory),
        _ => None,
    }
}

/// `rank 1 [0/1] attempt 1`; `None` where the log does not say.
pub fn key_name(key: &Key) -> Option<String> {
    let id = key.id.as_ref()?;
    let rank = key.rank.map(|rank| format!("rank {rank} ")).unwrap_or_default();
    let attempt = if key.attempt > 0 { format!(" attempt {}", key.attempt) } else { String::new() };
    Some(format!("{rank}{id}{attempt}"))
}

/// What a compilation is called: by rank and compile id, or by its number.
pub fn name_of(compilation: &Compilation, index: usize) -> String {
    let rank = compilation.key.rank.map(|rank| format!("rank {rank} ")).unwrap_or_default();
    key_name(&compilation.key).unwrap_or_else(|| format!("{rank}compilation {index}"))
}

/// A compilation in figures.
pub fn summary(log: &Log, index: usize) -> Summary {
    let logged = &log.compilations[index];
    let graphs = decision::graphs(log, logged);
    let decided = if graphs.joint.is_some() { decision::decide(log, logged, &graphs).ok() } else { None };
    let is_inference = logged.graph(&Stage::Inference).is_some();
    let saved = if is_inference { None } else { saved_rows(&graphs, decided.as_ref()) };
    // A log may name sizes that no memory holds.
    let bytes = |row: &SavedRow| if row.saved.dtype.is_some() { row.saved.bytes } else { Some(0) };
    let saved_bytes = saved.as_ref().and_then(|rows| rows.iter().try_fold(0u64, |sum, row| Some(sum.saturating_add(bytes(row)?))));
    let stages = [("joint", &graphs.joint), ("inference", &graphs.inference), ("forward", &graphs.forward), ("backward", &graphs.backward)];
    let traced = graphs.joint.as_ref().or(graphs.inference.as_ref()).or(graphs.forward.as_ref()).or(graphs.backward.as_ref());
    let mut operators = BTreeMap::new();
    for node in traced.iter().flat_map(|graph| graph.nodes()).filter(|node| node.opcode == Opcode::Call) {
        *operators.entry(node.target.text()).or_insert(0) += 1;
    }
    // Attempts that were discarded say why there was a compilation at all.
    let frames: Vec<&Frame> = log.attempts(&logged.key).collect();
    let settings = logged.config.as_ref().and_then(|text| serde_json::from_str::<serde_json::Value>(&log.text(text)).ok());
    let settings = settings.as_ref().and_then(serde_json::Value::as_object).into_iter().flatten().map(|(k, v)| (k.clone(), v.to_string()));
    Summary {
        name: name_of(logged, index),
        key: (logged.key.rank, super::report::compile_id(&logged.key)),
        calls: stages.iter().filter_map(|(name, graph)| Some(((*name).to_owned(), calls(graph.as_ref()?)))).collect(),
        operators,
        rows: traced.map(rows).unwrap_or_default(),
        saved,
        saved_bytes,
        decision: decided.as_ref().filter(|_| graphs.forward.is_some()).map(|d| (d.is_same, d.assumed.clone())),
        differences: decided.as_ref().map(|d| d.differences.clone()).unwrap_or_default(),
        memory: decided.and_then(memory),
        breaks: frames.iter().flat_map(|f| &f.breaks).map(|text| broke(log, text)).collect(),
        recompiles: frames.iter().flat_map(|f| &f.recompiles).flat_map(|text| reasons(log, text)).collect(),
        guards: log
            .frame_of(logged)
            .iter()
            .filter_map(|f| f.guards.as_ref())
            .flat_map(|text| guards(log, text))
            .map(|guard| guard.text)
            .collect(),
        settings: settings.collect(),
        problems: graphs.problems,
    }
}

/// A graph break on one line.
pub fn broke(log: &Log, text: &super::model::Text) -> String {
    let row = graph_break(log, text);
    match row.graph_break.span {
        Some(span) => format!("{}:{}: {}", row.file, span.line, row.graph_break.reason),
        None => row.graph_break.reason,
    }
}
