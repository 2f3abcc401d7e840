//! What was saved for the backward: as the log says it, and as the partitioner here decides it under the log's settings.

use super::metadata::{metadata, positions, settings};
use super::model::{Compilation, Log, LoggedGraph, Stage};
use diagnostics::error::Result;
use graph::{Arg, Graph, NodeId, Style, print_readable};
use partition::{PartitionConfig, Partitioned, Partitioner, Study, is_tangent, mark_backward, partition};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::OnceLock;

/// The graphs of a compilation, read.
#[derive(Default)]
pub struct Graphs {
    /// Forward and backward in one.
    pub joint: Option<Graph>,
    /// The forward alone.
    pub inference: Option<Graph>,
    /// The partitioned forward.
    pub forward: Option<Graph>,
    /// The partitioned backward.
    pub backward: Option<Graph>,
    /// What could not be read, a sentence each.
    pub problems: Vec<String>,
}

/// Reads the graphs of AOTAutograd.
pub fn graphs(log: &Log, compilation: &Compilation) -> Graphs {
    let mut out = Graphs::default();
    for (stage, target) in [
        (Stage::Joint, &mut out.joint),
        (Stage::Inference, &mut out.inference),
        (Stage::Forward, &mut out.forward),
        (Stage::Backward, &mut out.backward),
    ] {
        if let Some(logged) = compilation.graph(&stage) {
            match log.graph(logged, log.frame_of(compilation)) {
                Ok(parsed) => *target = Some(parsed.graph),
                Err(error) => out.problems.push(problem(log, logged, &error.message)),
            }
        }
    }
    out
}

/// Says which graph could not be read, and where and why.
pub fn problem(log: &Log, logged: &LoggedGraph, message: &str) -> String {
    let (file, line) = logged.text.place();
    let name = log.files.get(file).map_or("", |file| file.name.as_str());
    format!("{name}: the {} graph at line {line} is not whole: {message}", logged.stage.name())
}

/// How many of a forward's outputs are the function's: those before what is saved.
pub fn num_fwd_outputs(graphs: &Graphs) -> Option<usize> {
    let described = |graph: &Graph, ends: &dyn Fn(&str) -> bool| {
        let all = graph.output()?.meta.descriptors.as_ref()?;
        Some(all.iter().position(|text| ends(text)).unwrap_or(all.len()))
    };
    let is_gradient = |text: &str| text.starts_with("GradAOTOutput(") || text.contains("base=GradAOTOutput(");
    let forward = graphs.forward.as_ref();
    forward
        .and_then(|forward| described(forward, &|text| text.starts_with("SavedForBackwards")))
        .or_else(|| {
            // What the backward takes beside tangents was saved.
            let taken = graphs.backward.as_ref()?.placeholders().filter(|node| !is_tangent(node)).count();
            forward?.outputs().len().checked_sub(taken)
        })
        .or_else(|| {
            let joint = graphs.joint.as_ref()?;
            let all = joint.output()?.meta.descriptors.as_ref()?;
            all.iter().any(|text| is_gradient(text)).then(|| described(joint, &is_gradient)).flatten()
        })
}

/// Names of what a forward saves, in its order.
pub fn logged_saved(graphs: &Graphs) -> Option<Vec<String>> {
    let forward = graphs.forward.as_ref()?;
    let first = num_fwd_outputs(graphs)?;
    let name = |output: Arg| if let Arg::Node(id) = output { Some(forward.node(id).name.to_string()) } else { None };
    Some(forward.outputs().into_iter().skip(first).filter_map(name).collect())
}

/// The partitioner's decision beside the log's.
pub struct Decision {
    /// The settings that were used.
    pub config: PartitionConfig,
    /// What had to be assumed.
    pub assumed: Vec<String>,
    /// Ours.
    pub ours: Partitioned,
    /// The joint graph, with the backward's calls marked.
    pub joint: Graph,
    /// How many outputs are the forward's.
    pub num_fwd_outputs: usize,
    /// Whether forward and backward are the log's.
    pub is_same: bool,
    /// Values that only the log's forward saves.
    pub only_logged: Vec<String>,
    /// Values that only ours saves.
    pub only_ours: Vec<String>,
    /// In what it differs, in sentences.
    pub differences: Vec<String>,
}

/// A graph's text as far as two graphs are compared: without comments and the class's name.
fn comparable(graph: &Graph) -> String {
    let mut graph = graph.clone();
    // How a type is written is not what it is.
    let with_value: Vec<NodeId> = graph.nodes().filter(|n| n.meta.written_type.is_some() && n.meta.value.is_some()).map(|n| n.id).collect();
    with_value.into_iter().for_each(|id| graph.node_mut(id).meta.written_type = None);
    // Releases return lists or tuples.
    let outputs = Arg::Tuple(graph.outputs());
    if let Some(id) = graph.output().map(|output| output.id) {
        graph.node_mut(id).args = vec![outputs];
    }
    let text = print_readable(&graph, Style::FULL).text;
    let mut out = String::new();
    for line in text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        // The generator's state has sizes that count tensors.
        let mut parts = line.split("\"u8[s");
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            out.push_str("\"u8[s");
            out.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
        }
        out.push('\n');
    }
    out
}

/// The types that a log without strides or devices does not hold, taken away from ours.
fn has_full_types(graph: &Graph) -> bool {
    graph.placeholders().any(|node| node.tensor().is_some())
}

/// Partitions a logged joint graph as the log's settings say.
///
/// # Errors
/// A sentence that says what is missing.
pub fn decide(log: &Log, compilation: &Compilation, graphs: &Graphs) -> std::result::Result<Decision, String> {
    let Some(joint) = &graphs.joint else { return Err("the log has no joint graph of it".to_owned()) };
    let Some(outputs) = num_fwd_outputs(graphs) else {
        return Err(
            "the log does not say how many outputs are the forward's: neither forward, backward nor descriptors are there".to_owned()
        );
    };
    if !has_full_types(joint) {
        return Err("the joint graph has no types".to_owned());
    }
    let (mut config, mut assumed) = settings(log, compilation);
    match metadata(log, compilation) {
        Some(meta) => {
            let is_static = |i: usize| meta.static_inputs.contains(&i);
            config.static_inputs = positions(joint, meta.num_tokens, is_static);
            let replayed = |i: usize| meta.inputs.get(i).is_some_and(|input| input.is_mutated_at_runtime && input.info.requires_grad);
            config.replayed_mutations = positions(joint, meta.num_tokens, replayed);
        }
        None => assumed.push("the log has no metadata: no input is assumed to live as long as the model, or to be written to".to_owned()),
    }
    let mut joint = joint.clone();
    mark_backward(&mut joint, outputs);
    let passed = JOINT_PASSES.get().map(|passes| {
        let mut graph = joint.clone();
        passes(&mut graph, &config.replayed_mutations).map(|()| graph)
    });
    let passed = passed.and_then(Result::ok);
    let default = PartitionConfig { partitioner: Partitioner::Default, ..config.clone() };
    let mut tries: Vec<(&Graph, PartitionConfig, &str)> = vec![(&joint, config.clone(), "")];
    if let Some(passed) = &passed {
        let after = (passed, config, "Inductor's passes ran on the joint graph before it was split");
        if is_of_inductor(compilation) { tries.insert(0, after) } else { tries.push(after) }
    }
    tries.push((&joint, default, "default_partition: that is what splits it as logged"));
    let mut best = None;
    for (graph, config, assumption) in tries {
        match attempt(graph, outputs, config, graphs) {
            Ok((config, ours, comparison)) => {
                let is_same = comparison.is_same();
                if is_same || best.is_none() {
                    best = Some(Ok((graph.clone(), config, ours, comparison, assumption)));
                }
                if is_same {
                    break;
                }
            }
            Err(error) if best.is_none() => best = Some(Err(error)),
            Err(_) => {}
        }
    }
    let (joint, config, ours, comparison, assumption) = match best {
        Some(Ok(best)) => best,
        Some(Err(error)) => return Err(format!("the partitioner cannot split it: {}", error.message)),
        None => return Err("the partitioner was not asked".to_owned()),
    };
    if !assumption.is_empty() {
        assumed.push(assumption.to_owned());
    }
    let Comparison { only_logged, only_ours, differences } = comparison;
    let is_same = differences.is_empty();
    Ok(Decision { config, assumed, ours, joint, num_fwd_outputs: outputs, is_same, only_logged, only_ours, differences })
}

impl Decision {
    /// Takes further questions about the joint graph: other partitioners and budgets, memory.
    pub fn study(self) -> Study {
        Study::new(Rc::new(self.joint), self.num_fwd_outputs, self.config)
    }
}

/// Inductor's passes on a joint graph; positions of inputs that are written to after the graph has run.
pub type JointPasses = fn(&mut Graph, &[usize]) -> Result<()>;

static JOINT_PASSES: OnceLock<JointPasses> = OnceLock::new();

/// Says what Inductor's passes on joint graphs are, before the first log is read. What comes later changes nothing.
pub fn install_joint_passes(passes: JointPasses) {
    let _ = JOINT_PASSES.set(passes);
}

/// Whether Inductor compiled it.
fn is_of_inductor(compilation: &Compilation) -> bool {
    compilation.artifacts.iter().any(|artifact| artifact.name == "inductor_output_code")
        || compilation.graphs.iter().any(|graph| graph.stage.name().contains("grad_graph"))
}

#[derive(Default)]
struct Comparison {
    only_logged: Vec<String>,
    only_ours: Vec<String>,
    differences: Vec<String>,
}

impl Comparison {
    fn is_same(&self) -> bool {
        self.differences.is_empty()
    }
}

fn attempt(joint: &Graph, outputs: usize, config: PartitionConfig, logged: &Graphs) -> Result<(PartitionConfig, Partitioned, Comparison)> {
    let ours = partition(joint, outputs, &config)?;
    let mut found = Comparison::default();
    if let Some(saved) = logged_saved(logged) {
        let (theirs, own): (HashSet<&String>, HashSet<&String>) = (saved.iter().collect(), ours.saved.iter().collect());
        found.only_logged = saved.iter().filter(|name| !own.contains(name)).cloned().collect();
        found.only_ours = ours.saved.iter().filter(|name| !theirs.contains(name)).cloned().collect();
        for (whose, names) in [("the log", &found.only_logged), ("this partitioner", &found.only_ours)] {
            if !names.is_empty() {
                found.differences.push(format!("only {whose} saves {}", names.join(", ")));
            }
        }
        if found.differences.is_empty() && saved != ours.saved {
            found.differences.push("the same values are saved in another order".to_owned());
        }
    }
    if found.differences.is_empty() {
        for (name, logged, graph) in [("forward", &logged.forward, &ours.forward), ("backward", &logged.backward, &ours.backward)] {
            if let Some(logged) = logged
                && let Some(line) = first_difference(&comparable(logged), &comparable(graph))
            {
                found.differences.push(format!("the {name} differs: {line}"));
            }
        }
    }
    Ok((config, ours, found))
}

/// The first line in which two texts differ.
fn first_difference(want: &str, got: &str) -> Option<String> {
    if want == got {
        return None;
    }
    let at = want.lines().zip(got.lines()).find(|(a, b)| a != b);
    Some(match at {
        Some((a, b)) => format!("logged `{a}`, here `{b}`"),
        None => "one has more lines".to_owned(),
    })
}
