//! Kernels against the CPU reference: graphs with random, strided inputs run on both, and every output must agree.
//!
//! Without an adapter the tests say so and pass: there is nothing to compare.
#![cfg(all(feature = "gpu", not(target_arch = "wasm32")))]

#[path = "gpu/compare.rs"]
mod compare;
#[path = "gpu/generated.rs"]
mod generated;

use aot_playground::backend::cpu::bundle::{distance, output_names, parse_graph, run_bundle_cpu};
use aot_playground::backend::cpu::step::Then;
use aot_playground::backend::cpu::training::CpuTrainer;
use aot_playground::backend::gpu::{Adapter, GpuDevice, GpuTrainer, Input, compile, run_bundle};
use aot_playground::bundle::{BUNDLE_VERSION, BackwardBundle, Bundle, Named, Recipe, TensorData, Value};
use aot_playground::graph::{Arg, Graph, Node, NodeId, Target};
use compare::{Numbers, graph, on_cpu, run_both, run_cases, unknown};
use serde_bytes::ByteBuf;
use std::collections::BTreeMap;

fn device() -> Option<GpuDevice> {
    let found = pollster::block_on(GpuDevice::request()).expect("asking for a device");
    if found.is_none() {
        println!("no GPU adapter here: nothing is compared");
    }
    found
}

/// A bundle of a compilation of PyTorch's, with random inputs and what the CPU makes of them.
fn bundle_of(compilation: &serde_json::Value) -> Bundle {
    let text = |part: &str| compilation[part].as_str().unwrap().to_owned();
    let (forward, backward) = (parse_graph(&text("forward")).unwrap(), parse_graph(&text("backward")).unwrap());
    let named = |graph: &Graph, values: Vec<Value>| -> Vec<Named> {
        graph.placeholders().zip(values).map(|(n, value)| Named { name: n.name.to_string(), label: None, value }).collect()
    };
    let outputs = |graph: &Graph, values: Vec<Value>| -> Vec<Named> {
        output_names(graph).into_iter().zip(values).map(|(name, value)| Named { name, label: None, value }).collect()
    };
    let mut numbers = Numbers(3);
    let inputs = named(&forward, numbers.inputs(&forward, -1.0, 1.0, 2));
    let expected = outputs(&forward, on_cpu(&forward, &inputs.iter().map(|n| n.value.clone()).collect::<Vec<_>>()).unwrap());
    let mut given = named(&backward, numbers.inputs(&backward, -1.0, 1.0, 2));
    for value in &mut given {
        if let Some(known) = inputs.iter().chain(&expected).find(|n| n.name == value.name) {
            value.value = known.value.clone();
        }
    }
    let gradients = outputs(&backward, on_cpu(&backward, &given.iter().map(|n| n.value.clone()).collect::<Vec<_>>()).unwrap());
    let tangents = given.into_iter().filter(|n| n.name.starts_with("tangents")).collect();
    Bundle {
        version: BUNDLE_VERSION,
        compilation: 0,
        forward: text("forward"),
        inputs,
        num_outputs: 1,
        expected,
        backward: Some(BackwardBundle { readable: text("backward"), tangents, expected: gradients, tangent_of: vec![0], generator: None }),
        parameters: serde_json::from_value(compilation["trained_inputs"].clone()).unwrap(),
        ..Bundle::default()
    }
}

/// Training on the device is training on the CPU: a hundred steps, in pieces, with momentum, from the same numbers.
#[test]
fn training_is_the_same_on_both() {
    let Some(device) = device() else { return };
    let device = std::rc::Rc::new(device);
    for program in ["01_mlp", "04_cnn_bn_maxpool", "33_resnet_block"] {
        let report = std::fs::read_to_string(format!("tests/compilations/conformance/{program}.aot_eager.json")).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let bundle = bundle_of(&report["compilations"][0]);
        let parameters: Vec<String> = bundle.parameters.iter().map(|i| bundle.inputs[*i as usize].name.clone()).collect();
        let recipe = Recipe { parameters, loss: None, lr: 0.002, momentum: 0.5 };
        let (mut on_cpu, _) = CpuTrainer::start(&bundle, Then::Descend(&recipe)).unwrap();
        let (mut on_gpu, training) = pollster::block_on(GpuTrainer::start(device.clone(), &bundle, Then::Descend(&recipe))).unwrap();
        assert!(training.dispatches > 0 && training.parameters == recipe.parameters, "{program}");
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        for (count, lr) in [(1, 0.002), (6, 0.002), (3, 0.001)] {
            expected.extend(on_cpu.steps(count, lr).unwrap());
            found.extend(pollster::block_on(on_gpu.steps(count, lr)).unwrap());
        }
        assert_eq!(found.len(), 10);
        assert!(expected.iter().all(|l| l.is_finite()) && expected[9] != expected[0], "{program}: {expected:?}");
        for (a, b) in found.iter().zip(&expected) {
            assert!((a - b).abs() <= 1e-3 * b.abs().max(1e-3), "{program}: {found:?} instead of {expected:?}");
        }
        let (a, b) = (pollster::block_on(on_gpu.parameters()).unwrap(), on_cpu.parameters().unwrap());
        for (a, b) in a.iter().zip(&b) {
            let found = distance(&a.value, &b.value).unwrap().unwrap();
            assert!(found.abs < 1e-3, "{program}: {} is {} from the CPU's", a.name, found.abs);
        }
    }
}

#[test]
fn bundles_run_on_both() {
    let report = std::fs::read_to_string("tests/compilations/conformance/01_mlp.aot_eager.json").unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let bundle = bundle_of(&report["compilations"][0]);
    let on_cpu = run_bundle_cpu(&bundle).unwrap();
    let mut results = vec![on_cpu];
    if let Some(device) = device() {
        let on_gpu = pollster::block_on(run_bundle(&device, &bundle)).unwrap();
        let kernels = &on_gpu.forward.kernels;
        assert!(kernels.len() < 6, "the forward of an MLP is a kernel per layer, not {}", kernels.len());
        assert!(kernels.iter().all(|k| !k.wgsl.is_empty() && !k.nodes.is_empty()));
        assert!(!device.timestamps || on_gpu.forward.dispatches.iter().all(|d| d.microseconds.is_some()));
        results.push(on_gpu);
    }
    for result in results {
        let backward = result.backward.unwrap();
        assert_eq!(backward.outputs.len(), 7);
        for computed in result.forward.outputs.iter().chain(&backward.outputs) {
            assert_eq!(computed.mismatch, None, "{}", computed.named.name);
            assert!(computed.max_abs.unwrap_or(0.0) < 1e-5, "{}: {:?}", computed.named.name, computed.max_abs);
        }
    }
}

/// A second run of a graph builds nothing; another size has a plan of its own, and what plans compute in between is in one pool.
#[test]
fn a_plan_is_kept_for_each_set_of_sizes() {
    let Some(device) = device() else { return };
    let bundle = |rows: u64| {
        let lines = "mm = torch.ops.aten.mm.default(a, b)\nsum_1 = torch.ops.aten.sum.dim_IntList(mm, [1], True)\ndiv = torch.ops.aten.div.Tensor(mm, sum_1)";
        let graph = graph(&format!(r#"a: "f32[{rows}, 8][8, 1]", b: "f32[8, 8][8, 1]""#), lines, "div");
        let mut numbers = Numbers(5);
        let named = graph.placeholders().map(|n| n.name.to_string()).zip(numbers.inputs(&graph, 0.5, 1.0, 1));
        Bundle {
            version: BUNDLE_VERSION,
            forward: aot_playground::graph::readable(&graph),
            inputs: named.map(|(name, value)| Named { name, label: None, value }).collect(),
            num_outputs: 1,
            ..Bundle::default()
        }
    };
    let mut seen = Vec::new();
    for rows in [64, 32, 64, 32] {
        let before = device.pipelines_built();
        let result = pollster::block_on(run_bundle(&device, &bundle(rows))).unwrap();
        let runs: Vec<u32> = result.device.plans.iter().map(|plan| plan.runs).collect();
        seen.push((rows, device.pipelines_built() > before, runs, result.device.pool));
    }
    let [(_, true, first, pool), (_, true, second, same), (_, false, third, _), (_, false, fourth, last)] = seen.as_slice() else {
        panic!("{seen:?}");
    };
    assert_eq!([first, second, third, fourth], [&vec![1], &vec![1, 1], &vec![2, 1], &vec![2, 2]]);
    // The smaller plan lives in what the larger one needs.
    assert!(*pool > 0 && pool == same && same == last, "{seen:?}");
}

#[test]
fn what_cannot_be_run_is_an_error() {
    let Some(device) = device() else { return };
    let unknown = graph(r#"a: "f32[2][1]""#, "x = torch.ops.aten.no_such_operator.default(a)", "x");
    assert!(pollster::block_on(compile(&device, &unknown)).is_err_and(|e| e.message.contains("no_such_operator")));
    let wide = graph(r#"a: "i64[1][1]""#, "x = torch.ops.aten.add.Tensor(a, 1)", "x");
    let plan = pollster::block_on(compile(&device, &wide)).unwrap();
    let tensor = TensorData { dtype: "int64".into(), shape: vec![1], stride: vec![1], bytes: ByteBuf::from((1i64 << 40).to_le_bytes()) };
    let value = Value::Tensor { tensor };
    let outcome = pollster::block_on(plan.run(&device, &[Input::Host(&value)]));
    assert!(outcome.is_err_and(|e| e.message.contains("does not fit in the 32 bits")));
    assert!(plan.notes.iter().any(|n| n.contains("int64")));
    // The device still works afterwards.
    let small = TensorData { dtype: "int64".into(), shape: vec![1], stride: vec![1], bytes: ByteBuf::from(41i64.to_le_bytes()) };
    let value = Value::Tensor { tensor: small };
    let outcome = pollster::block_on(plan.run(&device, &[Input::Host(&value)])).unwrap();
    assert!(matches!(&outcome.outputs[0].1, Value::Tensor { tensor } if tensor.bytes[..] == 42i64.to_le_bytes()));
}

#[test]
fn every_case_agrees() {
    let Some(mut device) = device() else { return };
    for software in [true, false] {
        device.adapter = Adapter { software };
        let wrong = pollster::block_on(run_cases(&device));
        assert!(wrong.is_empty(), "kernels for a software adapter: {software}\n{}", wrong.join("\n\n"));
    }
}

/// Random inputs, but for those that are known by name.
fn inputs_of(graph: &Graph, known: &BTreeMap<String, Value>) -> Vec<Value> {
    let fits = |node: &Node, value: &Value| match (value, node.tensor()) {
        (Value::Tensor { tensor }, Some(spec)) => tensor.shape.iter().zip(&spec.geometry.sizes).all(|(a, b)| b.hint() == Some(*a as i64)),
        (_, spec) => spec.is_none(),
    };
    let random = Numbers(11).inputs(graph, -0.5, 1.0, 2);
    graph
        .placeholders()
        .zip(random)
        .map(|(node, random)| known.get(&*node.name).filter(|v| fits(node, v)).cloned().unwrap_or(random))
        .collect()
}

/// Outputs that are positions of the largest elements: which of several equal ones is named is free, and masked scores are equal.
fn positions_among_equals(graph: &Graph) -> Vec<String> {
    let is_topk = |id: &NodeId| graph.node(*id).op().is_some_and(|op| op.starts_with("aten.topk."));
    graph
        .nodes()
        .filter(|n| matches!((&n.target, n.args.as_slice()), (Target::Getitem, [Arg::Node(of), Arg::Int(1)]) if is_topk(of)))
        .map(|n| n.name.to_string())
        .collect()
}

#[test]
fn graphs_of_pytorch_agree() {
    let Some(device) = device() else { return };
    let mut files: Vec<_> = std::fs::read_dir("tests/compilations/conformance").unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let (mut ran, mut absent, mut fell, mut wrong, mut refused) = (0, BTreeMap::new(), BTreeMap::new(), Vec::new(), Vec::new());
    for file in files {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        for (i, compilation) in report["compilations"].as_array().into_iter().flatten().enumerate() {
            let mut known: BTreeMap<String, Value> = BTreeMap::new();
            for part in ["forward", "backward", "inference"] {
                let Some(text) = compilation[part].as_str() else { continue };
                let read =
                    |size| aot_playground::graph::parse(text, &|_| Some(size)).unwrap_or_else(|e| panic!("{stem} {part}: {e}")).graph;
                let mut graph = read(5);
                let missing = unknown(&graph);
                if !missing.is_empty() {
                    missing.into_iter().for_each(|op| *absent.entry(op).or_insert(0) += 1);
                    continue;
                }
                if graph.nodes().filter_map(Node::op).any(|op| RANDOM.iter().any(|r| op.contains(r))) {
                    continue;
                }
                let mut values = inputs_of(&graph, &known);
                // Sizes that the script chose are not in the text: take the first that the graph's own numbers agree with.
                let symbolic = text.contains("Sym(s");
                if symbolic
                    && let Some(size) = [5, 4, 3, 8, 6, 2, 16, 7].into_iter().find(|size| {
                        graph = read(*size);
                        values = Numbers(11).inputs(&graph, 0.05, 1.0, 2);
                        on_cpu(&graph, &values).is_ok()
                    })
                {
                    println!("{stem} {part}: sizes are {size}");
                }
                let (differences, fallbacks) = match on_cpu(&graph, &values) {
                    Ok(outputs) => {
                        // What the forward saves is what the backward takes.
                        known.extend(graph.placeholders().map(|n| n.name.to_string()).zip(values.iter().cloned()));
                        known.extend(output_names(&graph).into_iter().zip(outputs));
                        pollster::block_on(run_both(&device, &graph, &values, 1e-4))
                    }
                    Err(e) => {
                        refused.push(format!("{stem} {i} {part}: {e}"));
                        continue;
                    }
                };
                fallbacks.into_iter().for_each(|op| *fell.entry(op).or_insert(0) += 1);
                let free = positions_among_equals(&graph);
                let differences = differences.into_iter().filter(|d| !free.iter().any(|name| d.contains(&format!(" {name}: "))));
                wrong.extend(differences.map(|d| format!("{stem} {i} {part}: {d}")));
                ran += 1;
            }
        }
    }
    println!("{ran} graphs ran; not in the catalogue: {absent:?}; on the CPU: {fell:?}; the CPU refuses {refused:#?}");
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n\n"));
    // Beside what draws random numbers, this alone runs on the CPU.
    let on_the_cpu: Vec<String> = fell.into_keys().collect();
    let pooling = "prims._low_memory_max_pool";
    let expected = [
        "higher_order.cond (which branch runs depends on data)".to_owned(),
        format!("{pooling}_offsets_to_indices.default (it has no lowering)"),
        format!("{pooling}_with_offsets.default (it has no lowering)"),
    ];
    assert_eq!(on_the_cpu, expected);
}

/// Parts of the names of operators that draw random numbers.
const RANDOM: &[&str] = &["native_dropout.", "rand", "bernoulli", "inductor_", "normal", "multinomial", "uniform"];
