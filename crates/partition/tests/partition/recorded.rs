//! Joint graphs as PyTorch's partitioners got them (`tests/compilations`) are partitioned as PyTorch did it: forward, backward,
//! what is saved, recomputed and banned, and the network whose cut decides it.

use graph::{Graph, parse, readable};
use partition::{MemoryBudgetSolver, PartitionConfig, Partitioner, is_tangent, partition};
use report::Capacity;
use serde::Deserialize;
use serde_json::Value;
use similar::TextDiff;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Program {
    compilations: Vec<Compilation>,
}

#[derive(Deserialize)]
struct Compilation {
    forward: Option<String>,
    backward: Option<String>,
    #[serde(default)]
    saved: Vec<String>,
    #[serde(default)]
    recomputed: BTreeSet<String>,
    /// What symbols stood for.
    #[serde(default)]
    hints: BTreeMap<String, i64>,
    partition: Option<Partition>,
}

#[derive(Deserialize)]
struct Partition {
    partitioner: String,
    budget: f64,
    /// Entries of `torch._functorch.config` that the program changed.
    settings: BTreeMap<String, Value>,
    joint: String,
    num_fwd_outputs: usize,
    static_inputs: Vec<usize>,
    replayed_mutations: Vec<usize>,
    is_backward: BTreeSet<String>,
    no_version_check: Vec<String>,
    banned: Option<BTreeSet<String>>,
    cut: Option<Cut>,
}

#[derive(Deserialize)]
struct Cut {
    value: f64,
    capacities: BTreeMap<String, Value>,
    reasons: BTreeMap<String, String>,
}

/// The recordings, by the names of their files.
fn recordings() -> Vec<(String, Program)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compilations");
    let inside = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<PathBuf>>();
    let mut files: Vec<PathBuf> = inside(&root).iter().flat_map(|topic| inside(topic)).collect();
    files.sort();
    let name = |f: &Path| f.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(|f| (name(f), serde_json::from_str(&std::fs::read_to_string(f).unwrap()).unwrap())).collect()
}

/// The joint graph, with the marks that its text does not have.
fn joint_of(compilation: &Compilation, recorded: &Partition) -> Graph {
    let mut joint = parse(&recorded.joint, &|symbol| compilation.hints.get(symbol).copied()).unwrap().graph;
    let backward: Vec<_> = joint.nodes().filter(|n| recorded.is_backward.contains(&*n.name) && !is_tangent(n)).map(|n| n.id).collect();
    for id in backward {
        let meta = &mut joint.node_mut(id).meta;
        meta.own_source = meta.source.is_some() && !meta.is_backward;
        meta.is_backward = true;
    }
    let unchecked: Vec<_> = recorded.no_version_check.iter().map(|name| joint.find(name).unwrap().id).collect();
    unchecked.into_iter().for_each(|id| joint.node_mut(id).meta.no_version_check = true);
    joint
}

/// The partitioner's settings; `None` where the program gave a function of its own for one, or budgets that a graph's text does not
/// hold.
fn config_of(recorded: &Partition) -> Option<PartitionConfig> {
    let mut config = PartitionConfig {
        partitioner: if recorded.partitioner == "default" { Partitioner::Default } else { Partitioner::MinCut },
        static_inputs: recorded.static_inputs.clone(),
        replayed_mutations: recorded.replayed_mutations.clone(),
        activation_memory_budget: recorded.budget,
        ..PartitionConfig::default()
    };
    for (name, value) in &recorded.settings {
        let flag = value.as_bool().unwrap_or_default();
        match (name.as_str(), value) {
            ("cse", _) => config.cse = flag,
            ("treat_parameters_as_free_to_save", _) => config.treat_parameters_as_free_to_save = flag,
            ("recompute_views", _) => config.recompute_views = flag,
            ("aggressive_recomputation", _) => config.aggressive_recomputation = flag,
            ("ban_recompute_used_far_apart", _) => config.min_cut.ban_if_used_far_apart = flag,
            ("ban_recompute_long_fusible_chains", _) => config.min_cut.ban_if_long_fusible_chains = flag,
            ("ban_recompute_materialized_backward", _) => config.min_cut.ban_if_materialized_backward = flag,
            ("ban_recompute_not_in_allowlist", _) => config.min_cut.ban_if_not_in_allowlist = flag,
            ("ban_recompute_reductions", _) => config.min_cut.ban_if_reduction = flag,
            ("max_dist_from_bw", Value::Number(far)) => config.max_dist_from_bw = far.as_u64()?,
            ("activation_memory_budget_solver", Value::String(solver)) if solver != "a function" => {
                config.activation_memory_budget_solver = MemoryBudgetSolver::of(solver);
            }
            _ => return None,
        }
    }
    Some(config)
}

/// A graph's text without the numbers of the symbols that stand for sizes of the random generator's state: PyTorch numbers them by how
/// many tensors became fake before in the process.
fn without_generator_sizes(text: &str) -> String {
    let mut parts = text.split("\"u8[s");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += "\"u8[s";
        out += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out
}

/// What differs in one compilation, a paragraph each.
fn differences(compilation: &Compilation, recorded: &Partition, config: &PartitionConfig) -> String {
    let joint = joint_of(compilation, recorded);
    let done = match partition(&joint, recorded.num_fwd_outputs, config) {
        Ok(done) => done,
        Err(error) => return format!("error: {error}\n"),
    };
    let mut found = String::new();
    let mut compare = |what: &str, want: &str, got: &str| {
        if want != got {
            write!(found, "{what}\n{}", TextDiff::from_lines(want, got).unified_diff().header("PyTorch", "ours")).unwrap();
        }
    };
    for (part, want, graph) in [("forward", &compilation.forward, &done.forward), ("backward", &compilation.backward, &done.backward)] {
        graph.validate().unwrap();
        if let Some(want) = want {
            compare(part, &without_generator_sizes(want), &without_generator_sizes(&readable(graph)));
        }
    }
    let lines = |names: &mut dyn Iterator<Item = &String>| names.fold(String::new(), |text, name| text + name + "\n");
    let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    compare("saved", &lines(&mut sorted(&compilation.saved).iter()), &lines(&mut sorted(&done.saved).iter()));
    compare("recomputed", &lines(&mut compilation.recomputed.iter()), &lines(&mut sorted(&done.report.recomputed).iter()));
    if let (Some(want), Some(cut)) = (&recorded.cut, &done.report.cut) {
        compare("cut's value", &format!("{}\n", want.value), &format!("{}\n", cut.value));
        let theirs = |capacity: &Value| capacity.as_f64().map_or("inf".to_owned(), |f| f.to_string());
        let ours = |capacity: &Capacity| match capacity {
            Capacity::Finite(f) | Capacity::Symbolic(f) => f.to_string(),
            Capacity::Infinite(text) => text.clone(),
        };
        let want_capacities = want.capacities.iter().fold(String::new(), |text, (n, c)| text + &format!("{n}: {}\n", theirs(c)));
        let sorted: BTreeMap<_, _> = cut.capacities.iter().collect();
        let capacities = sorted.iter().fold(String::new(), |text, (n, c)| text + &format!("{n}: {}\n", ours(c)));
        compare("capacities", &want_capacities, &capacities);
        let reasons = |of: &BTreeMap<String, String>| of.iter().fold(String::new(), |text, (n, r)| text + &format!("{n}: {r}\n"));
        compare("reasons", &reasons(&want.reasons), &reasons(&cut.reasons.clone().into_iter().collect()));
    }
    // With a budget, networks are cut again and again, with other bans each time.
    if let (Some(want), Some(banned), 1.0) = (&recorded.banned, &done.report.banned, config.activation_memory_budget) {
        let banned: BTreeSet<String> = banned.iter().cloned().collect();
        compare("banned", &lines(&mut want.iter()), &lines(&mut banned.iter()));
    }
    found
}

#[test]
fn partitions_as_pytorch_did() {
    operators::install();
    let (mut count, mut failures) = (0, String::new());
    for (name, program) in recordings() {
        for (number, compilation) in program.compilations.iter().enumerate() {
            let Some(recorded) = compilation.partition.as_ref().filter(|_| compilation.forward.is_some()) else { continue };
            let Some(config) = config_of(recorded) else { continue };
            count += 1;
            let found = differences(compilation, recorded, &config);
            if !found.is_empty() {
                writeln!(failures, "=== {name}, compilation {number}\n{found}").unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(count > 190, "{count} partitions");
}
