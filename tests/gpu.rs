//! Kernels against the CPU reference: graphs with random, strided inputs run on both, and every output must agree.
//!
//! Without an adapter the tests say so and pass: there is nothing to compare.
#![cfg(feature = "gpu")]

use aot_playground::backend::cpu::bundle::{distance, output_names, parse_graph, run_bundle_cpu, to_plain, to_value};
use aot_playground::backend::cpu::interpret::interpret;
use aot_playground::backend::gpu::{GpuDevice, Input, argument_of, compile, compile_for, run_bundle};
use aot_playground::bundle::{BUNDLE_VERSION, BackwardBundle, Bundle, Named, TensorData, Value};
use aot_playground::dispatch::lookup;
use aot_playground::graph::{FakeValue, Graph, Node};
use aot_playground::tensor::{Dtype, TensorSpec};
use serde_bytes::ByteBuf;
use std::collections::BTreeMap;

fn device() -> Option<GpuDevice> {
    let found = pollster::block_on(GpuDevice::request()).expect("asking for a device");
    if found.is_none() {
        println!("no GPU adapter here: nothing is compared");
    }
    found
}

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    fn tensor(&mut self, spec: &TensorSpec, low: f64, high: f64, integers: i64) -> Value {
        let hint = |v: &[aot_playground::shape::SymInt]| -> Vec<u64> { v.iter().map(|s| s.hint().unwrap() as u64).collect() };
        let (shape, stride) = (hint(&spec.geometry.sizes), hint(&spec.geometry.strides));
        let extent = if shape.contains(&0) { 0 } else { 1 + shape.iter().zip(&stride).map(|(a, b)| (a - 1) * b).sum::<u64>() };
        let mut bytes = Vec::new();
        for _ in 0..extent {
            let x = low + (high - low) * self.next();
            let whole = (self.next() * integers as f64) as i64;
            match spec.dtype {
                Dtype::Float32 => bytes.extend((x as f32).to_le_bytes()),
                Dtype::Float64 => bytes.extend(x.to_le_bytes()),
                Dtype::Float16 => bytes.extend(half::f16::from_f64(x).to_le_bytes()),
                Dtype::BFloat16 => bytes.extend(half::bf16::from_f64(x).to_le_bytes()),
                Dtype::Bool => bytes.push(u8::from(x > (low + high) / 2.0)),
                Dtype::Int64 => bytes.extend(whole.to_le_bytes()),
                Dtype::Int32 => bytes.extend((whole as i32).to_le_bytes()),
                Dtype::UInt8 | Dtype::Int8 => bytes.push(whole as u8),
                other => panic!("no inputs of {other}"),
            }
        }
        let dtype = spec.dtype.name().to_owned();
        Value::Tensor { tensor: TensorData { dtype, shape, stride, bytes: ByteBuf::from(bytes) } }
    }
    /// One value per placeholder.
    fn inputs(&mut self, graph: &Graph, low: f64, high: f64, integers: i64) -> Vec<Value> {
        let value = |node: &Node, me: &mut Self| match &node.meta.value {
            Some(FakeValue::Tensor(spec)) => me.tensor(spec, low, high, integers),
            Some(FakeValue::Int(i)) => Value::Int { value: i.hint().unwrap() },
            other => panic!("{}: no input for {other:?}", node.name),
        };
        graph.placeholders().map(|n| value(n, self)).collect()
    }
}

fn on_cpu(graph: &Graph, inputs: &[Value]) -> aot_playground::error::Result<Vec<Value>> {
    let values = inputs.iter().map(|v| to_value(v).unwrap()).collect();
    interpret(graph, values)?.iter().map(to_plain).collect()
}

/// Runs a graph on both; gives what differs, and the nodes that ran on the CPU.
fn run_both(device: &GpuDevice, graph: &Graph, inputs: &[Value], tolerance: f64) -> (Vec<String>, Vec<String>) {
    let expected = on_cpu(graph, inputs).unwrap_or_else(|e| panic!("{e}"));
    let arguments: Vec<_> = inputs.iter().map(|v| argument_of(v).unwrap()).collect();
    let plan = pollster::block_on(compile_for(device, graph, &arguments)).unwrap_or_else(|e| panic!("{e}"));
    let fallbacks = plan.fallbacks.iter().map(|f| format!("{} ({})", f.op, f.reason)).collect();
    let given: Vec<Input> = inputs.iter().map(Input::Host).collect();
    let mut wrong = Vec::new();
    for round in 0..2 {
        let outcome = pollster::block_on(plan.run(device, &given)).unwrap_or_else(|e| panic!("{e}"));
        for ((name, value), wanted) in outcome.outputs.iter().zip(&expected) {
            match distance(value, wanted) {
                Ok(None) => {}
                Ok(Some((abs, rel))) if rel <= tolerance || abs <= tolerance * largest(wanted) => {}
                other => {
                    let text: Vec<_> = plan.kernels.iter().filter(|k| k.nodes.contains(name)).map(|k| k.wgsl.as_str()).collect();
                    wrong.push(format!("round {round}: {name}: {other:?}\n{}", text.join("\n")));
                }
            }
        }
    }
    (wrong, fallbacks)
}

fn largest(value: &Value) -> f64 {
    match value {
        Value::Tensor { tensor } => {
            let numbers = aot_playground::backend::cpu::bundle::numbers(tensor).unwrap_or_default();
            numbers.into_iter().filter(|x| x.is_finite()).fold(0.05, |m, x| m.max(x.abs()))
        }
        _ => 0.0,
    }
}

/// A graph from its inputs, its lines and what it returns.
fn graph(inputs: &str, lines: &str, result: &str) -> Graph {
    let body: String = lines.lines().map(|l| format!("        {}\n", l.trim())).collect();
    let text = format!("class GraphModule(torch.nn.Module):\n    def forward(self, {inputs}):\n{body}        return ({result},)\n");
    parse_graph(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Operators of a graph that the catalogue does not have.
fn unknown(graph: &Graph) -> Vec<String> {
    graph.nodes().filter_map(Node::op).filter(|op| lookup(op).is_none()).map(str::to_owned).collect()
}

/// A bundle of a compilation of PyTorch's, with random inputs and what the CPU makes of them.
fn bundle_of(compilation: &serde_json::Value) -> Bundle {
    let text = |part: &str| compilation[part]["readable"].as_str().unwrap().to_owned();
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
        backward: Some(BackwardBundle { readable: text("backward"), tangents, expected: gradients }),
    }
}

#[test]
fn bundles_run_on_both() {
    let report = std::fs::read_to_string("tests/conformance/expected/01_mlp.aot_eager.json").unwrap();
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

include!("gpu/cases.rs");

#[test]
fn every_case_agrees() {
    let Some(device) = device() else { return };
    let mut wrong = Vec::new();
    for (name, inputs, lines, result) in CASES {
        let graph = graph(inputs, lines, result);
        let missing = unknown(&graph);
        if !missing.is_empty() {
            println!("{name}: the catalogue has no {missing:?}");
            continue;
        }
        for (low, high) in [(-2.0, 2.0), (0.05, 1.0)] {
            let values = Numbers(7).inputs(&graph, low, high, 3);
            let (differences, fallbacks) = run_both(&device, &graph, &values, 2e-5);
            if !fallbacks.is_empty() && !name.ends_with("(CPU)") {
                wrong.push(format!("{name}: on the CPU: {fallbacks:?}"));
            }
            wrong.extend(differences.into_iter().map(|d| format!("{name}: {d}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
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

#[test]
fn graphs_of_pytorch_agree() {
    let Some(device) = device() else { return };
    let mut files: Vec<_> = std::fs::read_dir("tests/conformance/expected").unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let (mut ran, mut absent, mut fell, mut wrong, mut refused) = (0, BTreeMap::new(), BTreeMap::new(), Vec::new(), Vec::new());
    for file in files {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        for (i, compilation) in report["compilations"].as_array().into_iter().flatten().enumerate() {
            let mut known: BTreeMap<String, Value> = BTreeMap::new();
            for part in ["forward", "backward", "inference"] {
                let Some(text) = compilation[part]["readable"].as_str().or(compilation[part].as_str()) else { continue };
                let read =
                    |size| aot_playground::graph::parse(text, &|_| Some(size)).unwrap_or_else(|e| panic!("{stem} {part}: {e}")).graph;
                let mut graph = read(5);
                let missing = unknown(&graph);
                let other: Vec<_> =
                    graph.nodes().filter(|n| n.target.text().starts_with("higher_order")).map(|n| n.target.text()).collect();
                if !missing.is_empty() || !other.is_empty() {
                    missing.into_iter().chain(other).for_each(|op| *absent.entry(op).or_insert(0) += 1);
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
                        run_both(&device, &graph, &values, 1e-4)
                    }
                    Err(e) => {
                        refused.push(format!("{stem} {i} {part}: {e}"));
                        continue;
                    }
                };
                fallbacks.into_iter().for_each(|op| *fell.entry(op).or_insert(0) += 1);
                wrong.extend(differences.into_iter().map(|d| format!("{stem} {i} {part}: {d}")));
                ran += 1;
            }
        }
    }
    println!("{ran} graphs ran; not in the catalogue: {absent:?}; on the CPU: {fell:?}; the CPU refuses {refused:#?}");
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n\n"));
}

/// Parts of the names of operators that draw random numbers.
const RANDOM: &[&str] = &["native_dropout.", "rand", "bernoulli", "inductor_", "normal", "multinomial", "uniform"];
