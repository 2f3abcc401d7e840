//! From records to compilations: what a log says one after the other, put where it belongs.
//!
//! AOTAutograd compiles one function at a time, so what it logs belongs to the graph that it logged last under the same compile id. What it
//! logs before that graph (an inference's metadata) waits for it.

use std::collections::HashMap;

use super::model::{Artifact, Compilation, Frame, Key, Log, LoggedGraph, Stage, Text};

/// What waits for its graph.
#[derive(Default)]
struct Waiting {
    metadata: Option<Text>,
    artifacts: Vec<Artifact>,
}

/// Puts records together.
pub(crate) struct Assembler<'a> {
    pub(crate) log: &'a mut Log,
    frames: HashMap<Key, usize>,
    /// The last compilation of each rank and compile id, whatever the attempt.
    last: HashMap<(Option<u32>, Option<super::model::CompileId>), usize>,
    waiting: HashMap<Key, Waiting>,
    /// The process that a file's name says, for records that don't.
    rank: Option<u32>,
}

/// 3 of `rank_3/raw.jsonl` and `torch_trace_rank_3_abc.log`.
fn rank_of(name: &str) -> Option<u32> {
    let (_, after) = name.rsplit_once("rank_")?;
    let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    after[..digits].parse().ok()
}

impl<'a> Assembler<'a> {
    /// Of the records of a file.
    pub(crate) fn new(log: &'a mut Log, file: Option<usize>) -> Self {
        let rank = file.and_then(|file| rank_of(&log.files.get(file)?.name));
        Assembler { log, frames: HashMap::new(), last: HashMap::new(), waiting: HashMap::new(), rank }
    }

    /// Whose a record is, where it may leave out the process.
    pub(crate) fn key(&self, key: Key) -> Key {
        Key { rank: key.rank.or(self.rank), ..key }
    }

    /// The attempt of Dynamo that a record is of.
    pub(crate) fn frame(&mut self, key: &Key) -> &mut Frame {
        let at = self.frame_place(key);
        &mut self.log.frames[at]
    }

    fn frame_place(&mut self, key: &Key) -> usize {
        match self.frames.get(key) {
            Some(at) => *at,
            None => {
                self.log.frames.push(Frame { key: key.clone(), ..Frame::default() });
                self.frames.insert(key.clone(), self.log.frames.len() - 1);
                self.log.frames.len() - 1
            }
        }
    }

    fn latest(&self, key: &Key) -> Option<usize> {
        self.last.get(&(key.rank, key.id.clone())).copied()
    }

    fn start(&mut self, key: &Key) -> &mut Compilation {
        let frame = key.id.is_some().then(|| self.frame_place(key));
        let waited = self.waiting.remove(key).unwrap_or_default();
        let made =
            Compilation { key: key.clone(), frame, metadata: waited.metadata, artifacts: waited.artifacts, ..Compilation::default() };
        self.log.compilations.push(made);
        let at = self.log.compilations.len() - 1;
        self.last.insert((key.rank, key.id.clone()), at);
        &mut self.log.compilations[at]
    }

    /// A graph.
    pub(crate) fn graph(&mut self, key: &Key, graph: LoggedGraph) {
        match &graph.stage {
            Stage::Dynamo => {
                let frame = self.frame(key);
                if frame.graph.is_none() {
                    frame.graph = Some(graph);
                } else {
                    frame.artifacts.push(Artifact { name: "dynamo_output_graph".to_owned(), text: graph.text });
                }
            }
            Stage::CompiledAutograd => self.log.compiled_autograd.push((key.clone(), graph)),
            Stage::Joint | Stage::Inference => self.start(key).graphs.push(graph),
            Stage::Forward | Stage::Backward => {
                let fits = |of: &&mut Compilation| {
                    let same_number =
                        |known: &LoggedGraph| known.aot_id.is_none() || graph.aot_id.is_none() || known.aot_id == graph.aot_id;
                    of.graph(&graph.stage).is_none() && of.graph(&Stage::Inference).is_none() && of.graphs.iter().all(same_number)
                };
                let latest = self.latest(key);
                match latest.map(|at| &mut self.log.compilations[at]).filter(fits) {
                    Some(of) => of.graphs.push(graph),
                    None => self.start(key).graphs.push(graph),
                }
            }
            Stage::Other(_) => match self.latest(key) {
                Some(at) => self.log.compilations[at].graphs.push(graph),
                None => {
                    let name = graph.stage.name().to_owned();
                    self.frame(key).artifacts.push(Artifact { name, text: graph.text });
                }
            },
        }
    }

    /// Metadata: of the joint graph that was logged last, or of the inference graph that comes next.
    pub(crate) fn metadata(&mut self, key: &Key, text: Text) {
        let open = |of: &&mut Compilation| of.metadata.is_none() && of.graph(&Stage::Joint).is_some();
        match self.latest(key).map(|at| &mut self.log.compilations[at]).filter(open) {
            Some(of) => of.metadata = Some(text),
            None => self.waiting.entry(key.clone()).or_default().metadata = Some(text),
        }
    }

    /// A setting or code that follows its graph.
    pub(crate) fn field(&mut self, key: &Key, name: &str, text: Text, field: impl FnOnce(&mut Compilation) -> &mut Option<Text>) {
        match self.latest(key) {
            Some(at) => {
                let known = field(&mut self.log.compilations[at]);
                if known.is_none() {
                    *known = Some(text);
                }
            }
            None => self.artifact(key, name, text),
        }
    }

    /// What is kept as it is.
    pub(crate) fn artifact(&mut self, key: &Key, name: &str, text: Text) {
        let artifact = Artifact { name: name.to_owned(), text };
        match self.latest(key) {
            Some(at) => self.log.compilations[at].artifacts.push(artifact),
            None if key.id.is_some() => self.frame(key).artifacts.push(artifact),
            None => self.waiting.entry(key.clone()).or_default().artifacts.push(artifact),
        }
    }
}
