//! Graphs run on the GPU and on the CPU, and what differs.

use aot_playground::backend::cpu::bundle::{distance, parse_graph, to_plain, to_value};
use aot_playground::backend::cpu::interpret::interpret;
use aot_playground::backend::gpu::{GpuDevice, Input, argument_of, compile_for};
use aot_playground::bundle::{TensorData, Value};
use aot_playground::dispatch::lookup;
use aot_playground::graph::{FakeValue, Graph, Node};
use aot_playground::tensor::{Dtype, TensorSpec};
use serde_bytes::ByteBuf;

include!("cases.rs");

/// Rows, columns and length of products: at, before and after the edges of tiles and of what is cut.
const PRODUCTS: &[(usize, usize, usize)] = &[
    (1, 1, 1),
    (1, 9, 17),
    (8, 8, 1),
    (7, 65, 8),
    (24, 24, 8),
    (64, 64, 16),
    (65, 63, 17),
    (129, 31, 33),
    (2, 2, 4097),
    (0, 3, 5),
    (3, 4, 0),
];

/// Runs every small graph on both; gives what is wrong.
pub async fn run_cases(device: &GpuDevice) -> Vec<String> {
    let mut wrong = Vec::new();
    for (m, n, k) in PRODUCTS {
        // Either factor row by row, and column by column.
        for (a, b) in [((*k, 1), (*n, 1)), ((1, *m), (1, *k))] {
            let inputs = format!(r#"a: "f32[{m}, {k}][{}, {}]", b: "f32[{k}, {n}][{}, {}]""#, a.0, a.1, b.0, b.1);
            let graph = graph(&inputs, "mm = torch.ops.aten.mm.default(a, b)\nrelu = torch.ops.aten.relu.default(mm)", "mm, relu");
            let values = Numbers(3).inputs(&graph, -1.0, 1.0, 3);
            let (differences, _) = run_both(device, &graph, &values, 2e-5).await;
            wrong.extend(differences.into_iter().map(|d| format!("{m} by {n} over {k}: {d}")));
        }
    }
    for (name, inputs, lines, result) in CASES {
        let graph = graph(inputs, lines, result);
        let missing = unknown(&graph);
        if !missing.is_empty() {
            wrong.push(format!("{name}: the catalogue has no {missing:?}"));
            continue;
        }
        for (low, high) in [(-2.0, 2.0), (0.05, 1.0)] {
            let values = Numbers(7).inputs(&graph, low, high, 3);
            let (differences, fallbacks) = run_both(device, &graph, &values, 2e-5).await;
            if !fallbacks.is_empty() && !name.ends_with("(CPU)") {
                wrong.push(format!("{name}: on the CPU: {fallbacks:?}"));
            }
            wrong.extend(differences.into_iter().map(|d| format!("{name}: {d}")));
        }
    }
    wrong
}

/// Numbers that look random and are the same every time.
pub struct Numbers(pub u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    pub fn tensor(&mut self, spec: &TensorSpec, low: f64, high: f64, integers: i64) -> Value {
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
    pub fn inputs(&mut self, graph: &Graph, low: f64, high: f64, integers: i64) -> Vec<Value> {
        let value = |node: &Node, me: &mut Self| match &node.meta.value {
            Some(FakeValue::Tensor(spec)) => me.tensor(spec, low, high, integers),
            Some(FakeValue::Int(i)) => Value::Int { value: i.hint().unwrap() },
            other => panic!("{}: no input for {other:?}", node.name),
        };
        graph.placeholders().map(|n| value(n, self)).collect()
    }
}

pub fn on_cpu(graph: &Graph, inputs: &[Value]) -> aot_playground::error::Result<Vec<Value>> {
    let values = inputs.iter().map(|v| to_value(v).unwrap()).collect();
    interpret(graph, values)?.iter().map(to_plain).collect()
}

/// Runs a graph on both; gives what differs, and the nodes that ran on the CPU.
pub async fn run_both(device: &GpuDevice, graph: &Graph, inputs: &[Value], tolerance: f64) -> (Vec<String>, Vec<String>) {
    let expected = on_cpu(graph, inputs).unwrap_or_else(|e| panic!("{e}"));
    let arguments: Vec<_> = inputs.iter().map(|v| argument_of(v).unwrap()).collect();
    let plan = compile_for(device, graph, &arguments).await.unwrap_or_else(|e| panic!("{e}"));
    let fallbacks = plan.fallbacks.iter().map(|f| format!("{} ({})", f.op, f.reason)).collect();
    let given: Vec<Input> = inputs.iter().map(Input::Host).collect();
    let mut wrong = Vec::new();
    for round in 0..2 {
        let outcome = plan.run(device, &given).await.unwrap_or_else(|e| panic!("{e}"));
        for ((name, value), wanted) in outcome.outputs.iter().zip(&expected) {
            match distance(value, wanted) {
                Ok(None) => {}
                Ok(Some(d)) if d.rel <= tolerance || d.abs <= tolerance * largest(wanted) => {}
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
pub fn graph(inputs: &str, lines: &str, result: &str) -> Graph {
    let body: String = lines.lines().map(|l| format!("        {}\n", l.trim())).collect();
    let text = format!("class GraphModule(torch.nn.Module):\n    def forward(self, {inputs}):\n{body}        return ({result},)\n");
    parse_graph(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Operators of a graph that the catalogue does not have.
pub fn unknown(graph: &Graph) -> Vec<String> {
    aot_playground::backend::cpu::install();
    graph.nodes().filter_map(Node::op).filter(|op| lookup(op).is_none() && *op != "aten.sym_size.int").map(str::to_owned).collect()
}
