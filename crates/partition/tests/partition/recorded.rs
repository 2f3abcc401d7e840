//! Every joint graph that PyTorch printed is partitioned as PyTorch did it: forward, backward, saved values, cut.

use graph::{parse, readable};
use partition::{PartitionConfig, Partitioner, is_tangent, mark_backward, partition};
use report::Capacity;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Compilations that differ: the printed joint graph is from before Inductor's joint-graph passes (constant folding, removal
/// of no-ops and aliases, pattern rewrites), PyTorch's partition from after them.
const AFTER_JOINT_PASSES: &[&str] = &[
    "01_mlp.inductor 0",
    "04_cnn_bn_maxpool.inductor 0",
    "05_transformer_block.inductor 0",
    "06_dropout_sdpa.inductor 0",
    "06_dropout_sdpa.inductor 2",
    "07_lstm_cell.inductor 0",
    "08_embedding_ce.inductor 0",
    "09_inplace_views.inductor 0",
    "11_mutate_input_requires_grad.inductor 0",
    "13_view_of_intermediate.inductor 0",
    "14_synthetic_base.inductor 1",
    "16_detach_nograd.inductor 0",
    "18_register_hook.inductor 0",
    "19_checkpoint.inductor 0",
    "21_dynamic_true.inductor 0",
    "23_sgd_training.inductor 0",
    "24_adam_training.inductor 0",
    "29_einsum.inductor 0",
    "30_index_gather_scatter.inductor 0",
    "31_where_cumsum_softmax.inductor 0",
    "32_conv1d_conv2d.inductor 0",
    "33_resnet_block.inductor 0",
    "34_vae.inductor 0",
    "35_gan_two_losses.inductor 0",
    "35_gan_two_losses.inductor 1",
    "35_gan_two_losses.inductor 2",
    "36_compiled_autograd.inductor 1",
    "45_synthetic_base_grad.inductor 0",
    "47_print_in_training_step_mixed.inductor 0",
    "48_rnn_gru_module.inductor 0",
    "49_dropout_seeded.inductor 0",
];

fn expected() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/expected");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let name = |f: &Path| f.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(|f| (name(f), serde_json::from_str(&std::fs::read_to_string(f).unwrap()).unwrap())).collect()
}

fn difference(want: &str, got: &str) -> String {
    let at = want.lines().zip(got.lines()).position(|(a, b)| a != b);
    match at {
        Some(i) => format!(
            "line {}:\n      want {}\n      got  {}",
            i + 1,
            want.lines().nth(i).unwrap().trim(),
            got.lines().nth(i).unwrap().trim()
        ),
        None => format!("{} and {} lines", want.lines().count(), got.lines().count()),
    }
}

fn names(list: &Value) -> BTreeSet<String> {
    list.as_array().unwrap().iter().map(|s| s.as_str().unwrap_or_else(|| s["name"].as_str().unwrap()).to_owned()).collect()
}

/// What differs in one compilation.
fn compare(program: &str, number: usize, compilation: &Value) -> Vec<String> {
    let text = compilation["joint"]["readable"].as_str().unwrap();
    let hints = &compilation["shape_env"]["var_to_hint"];
    let hint = |s: &str| hints[s].as_str().and_then(|h| h.parse().ok());
    let mut joint = parse(text, &hint).unwrap().graph;
    let returned = parse(compilation["forward"]["readable"].as_str().unwrap(), &hint).unwrap().graph.outputs().len();
    let num_fwd_outputs = returned - compilation["saved"].as_array().unwrap().len();
    mark_backward(&mut joint, num_fwd_outputs);
    let static_inputs = compilation["metadata"]["static_input_indices"].as_array().unwrap();
    let mut config = PartitionConfig {
        partitioner: if compilation["partition"].get("cut").is_some() { Partitioner::MinCut } else { Partitioner::Default },
        static_inputs: static_inputs.iter().map(|i| i.as_u64().unwrap() as usize).collect(),
        ..PartitionConfig::default()
    };
    let inputs = compilation["metadata"]["input_info"].as_array().unwrap().iter().enumerate();
    let replayed = |i: &Value| i["requires_grad"] == true && i["mutates_data"] == true && i["mutation_type"] == "MUTATED_OUT_GRAPH";
    config.replayed_mutations = inputs.filter(|(_, i)| replayed(i)).map(|(p, _)| p).collect();
    if program.starts_with("43_") {
        config.partitioner = Partitioner::MinCut;
        config.activation_memory_budget = [1.0, 0.5, 0.0][number];
    }
    let done = match partition(&joint, num_fwd_outputs, &config) {
        Ok(done) => done,
        Err(e) => return vec![format!("error: {e}")],
    };
    let mut found = Vec::new();
    for (part, graph) in [("forward", &done.forward), ("backward", &done.backward)] {
        let Some(want) = compilation[part]["readable"].as_str() else { continue };
        let got = readable(graph);
        if got != want {
            found.push(format!("{part}: {}", difference(want, &got)));
        }
        graph.validate().unwrap();
    }
    if compilation.get("saved").is_some() && names(&compilation["saved"]) != done.saved.iter().cloned().collect() {
        found.push(format!("saved: want {:?}\n      got  {:?}", names(&compilation["saved"]), done.saved));
    }
    if let (Some(want), Some(cut)) = (compilation["partition"].get("cut"), &done.report.cut) {
        if want["value"].as_f64().unwrap() != cut.value {
            found.push(format!("cut value: want {} got {}", want["value"], cut.value));
        }
        let number = |v: &Value| v.as_f64().map_or("inf".to_owned(), |f| f.to_string());
        let wanted: BTreeMap<String, String> =
            want["capacities"].as_object().unwrap().iter().map(|(n, v)| (n.clone(), number(v))).collect();
        let text = |c: &Capacity| match c {
            Capacity::Finite(f) | Capacity::Symbolic(f) => f.to_string(),
            Capacity::Infinite(text) => text.clone(),
        };
        let capacities: BTreeMap<String, String> = cut.capacities.iter().map(|(n, c)| (n.clone(), text(c))).collect();
        let differs =
            wanted.iter().find(|(n, c)| capacities.get(*n) != Some(c)).map(|(n, c)| format!("{n}: {c}, got {:?}", capacities.get(n)));
        if let Some(differs) = differs.or_else(|| capacities.keys().find(|n| !wanted.contains_key(*n)).map(|n| format!("{n}: none"))) {
            found.push(format!("capacity of {differs}"));
        }
        let reasons: BTreeMap<String, String> = serde_json::from_value(want["reasons"].clone()).unwrap();
        if reasons != cut.reasons {
            let differs: Vec<_> = reasons.iter().filter(|(n, r)| cut.reasons.get(*n) != Some(r)).collect();
            let extra: Vec<_> = cut.reasons.iter().filter(|(n, _)| !reasons.contains_key(*n)).collect();
            found.push(format!("reasons: want {differs:?}, got {extra:?}"));
        }
    }
    if let (Some(want), Some(banned)) = (compilation["partition"].get("banned").filter(|b| b.is_array()), &done.report.banned)
        && config.activation_memory_budget == 1.0
    {
        let got: BTreeSet<String> = banned.iter().cloned().collect();
        if names(want) != got {
            found.push(format!("banned: want {:?}\n      got  {got:?}", names(want)));
        }
    }
    if let Some(want) = compilation.get("recomputed") {
        let got: BTreeSet<String> = done.report.recomputed.iter().cloned().collect();
        if names(want) != got {
            found.push(format!("recomputed: want {:?}\n      got  {got:?}", names(want)));
        }
    }
    found
}

#[test]
fn partitions_as_pytorch_did() {
    operators::install();
    let (mut count, mut same) = (0, 0);
    let mut failures = Vec::new();
    for (name, file) in expected() {
        for (number, compilation) in file["compilations"].as_array().unwrap().iter().enumerate() {
            if compilation.get("joint").is_none() || compilation.get("forward").is_none() {
                continue;
            }
            count += 1;
            let label = format!("{name} {number}");
            let found = compare(file["program"].as_str().unwrap(), number, compilation);
            let known = AFTER_JOINT_PASSES.contains(&label.as_str());
            same += usize::from(found.is_empty());
            if found.is_empty() == known {
                failures.push(format!("{label}\n    {}", if known { "no longer differs".to_owned() } else { found.join("\n    ") }));
            }
        }
    }
    assert!(failures.is_empty(), "{same} of {count} are the same\n{}", failures.join("\n"));
}

/// Joint graphs with random calls to recompute and with writes in the backward, and graphs as Inductor partitions them.
#[test]
fn partitions_more_graphs_as_pytorch_did() {
    operators::install();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/partition");
    let cases: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("cases.json")).unwrap()).unwrap();
    let mut failures = Vec::new();
    let positions = |v: &Value| v.as_array().unwrap().iter().map(|i| i.as_u64().unwrap() as usize).collect::<Vec<_>>();
    let cases = cases.as_array().unwrap();
    for case in cases {
        let hint = |s: &str| case["hints"][s].as_i64();
        let mut joint = parse(case["joint"].as_str().unwrap(), &hint).unwrap().graph;
        let backward: Vec<_> =
            joint.nodes().filter(|n| names(&case["is_backward"]).contains(&*n.name) && !is_tangent(n)).map(|n| n.id).collect();
        for id in backward {
            let meta = &mut joint.node_mut(id).meta;
            meta.own_source = meta.source.is_some() && !meta.is_backward;
            meta.is_backward = true;
        }
        let unwatched: Vec<_> = names(&case["no_version_check"]).iter().map(|n| joint.find(n).unwrap().id).collect();
        unwatched.into_iter().for_each(|id| joint.node_mut(id).meta.no_version_check = true);
        let config = PartitionConfig {
            partitioner: if case["partitioner"] == "default" { Partitioner::Default } else { Partitioner::MinCut },
            static_inputs: positions(&case["static_inputs"]),
            replayed_mutations: positions(&case["replayed_mutations"]),
            ..PartitionConfig::default()
        };
        let label = case["name"].as_str().unwrap();
        match partition(&joint, case["num_fwd_outputs"].as_u64().unwrap() as usize, &config) {
            Err(e) => failures.push(format!("{label}: {e}")),
            Ok(done) => {
                for (part, graph) in [("forward", &done.forward), ("backward", &done.backward)] {
                    let (want, got) = (case[part].as_str().unwrap(), readable(graph));
                    if got != want {
                        failures.push(format!("{label} {part}: {}", difference(want, &got)));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} differences in {} graphs\n{}", failures.len(), cases.len(), failures.join("\n"));
}
