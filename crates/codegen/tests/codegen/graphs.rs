//! Fused graphs beside the same graphs call by call: the same bits, whatever lies how.

use super::random::Random;
use codegen::Fused;
use cpu::bundle::parse_graph;
use cpu::interpret::interpret;
use dispatch::Value;
use graph::Graph;
use shape::ints;
use tensor::{Dtype, Geometry, Tensor};

const ROWS: i64 = 64;
const COLUMNS: i64 = 81;

/// Functions of one tensor and of two, with what they take besides.
const ONE: [&str; 24] = [
    "abs.default({})",
    "clamp.default({}, -1.0, 2.5)",
    "clone.default({})",
    "erf.default({})",
    "exp.default({})",
    "expm1.default({})",
    "gelu.default({})",
    "gelu.default({}, approximate = 'tanh')",
    "hardtanh.default({})",
    "leaky_relu.default({}, 0.1)",
    "log.default({})",
    "log1p.default({})",
    "mul.Tensor({}, 0.3)",
    "neg.default({})",
    "pow.Tensor_Scalar({}, 2)",
    "pow.Tensor_Scalar({}, 3)",
    "reciprocal.default({})",
    "relu.default({})",
    "rsqrt.default({})",
    "sigmoid.default({})",
    "silu.default({})",
    "softplus.default({})",
    "sqrt.default({})",
    "tanh.default({})",
];
const TWO: [&str; 11] = [
    "add.Tensor({}, {})",
    "div.Tensor({}, {})",
    "gelu_backward.default({}, {})",
    "gelu_backward.default({}, {}, approximate = 'tanh')",
    "maximum.default({}, {})",
    "minimum.default({}, {})",
    "mul.Tensor({}, {})",
    "sigmoid_backward.default({}, {})",
    "sub.Tensor({}, {})",
    "tanh_backward.default({}, {})",
    "threshold_backward.default({}, {}, 0)",
];
/// Conditions, of which a choice is made at once.
const TESTS: [&str; 4] = ["gt.Tensor", "le.Tensor", "eq.Tensor", "ne.Tensor"];

fn written(form: &str, operands: &[&str]) -> String {
    operands.iter().fold(form.to_owned(), |text, operand| text.replacen("{}", operand, 1))
}

/// A random graph of chains on matrices.
fn graph(random: &mut Random) -> (String, usize) {
    let spec = |sizes: &str| format!("\"f32{sizes}cpu\"");
    let full = spec(&format!("[{ROWS}, {COLUMNS}][{COLUMNS}, 1]"));
    let arguments: Vec<String> = (0..6).map(|i| format!("primals_{i}: {full}")).collect();
    let mut text = format!("class GraphModule(torch.nn.Module):\n    def forward(self, {}):\n", arguments.join(", "));
    // The first three inputs are whole matrices.
    let mut whole: Vec<String> = (0..3).map(|i| format!("primals_{i}")).collect();
    let small: Vec<String> = (3..6).map(|i| format!("primals_{i}")).collect();
    let count = 4 + random.below(12);
    for i in 0..count {
        let a = whole[random.below(whole.len())].clone();
        let b = if random.below(3) == 0 { small[random.below(3)].clone() } else { whole[random.below(whole.len())].clone() };
        let call = match random.below(5) {
            0 | 1 => written(ONE[random.below(ONE.len())], &[&a]),
            2 | 3 => written(TWO[random.below(7)], &[&a, &b]),
            _ if random.below(2) == 0 => {
                let c = &whole[random.below(whole.len())];
                written(TWO[7 + random.below(4)], &[&a, c])
            }
            _ => {
                let test = TESTS[random.below(TESTS.len())];
                text += &format!("        c_{i}: \"b8[{ROWS}, {COLUMNS}][{COLUMNS}, 1]cpu\" = torch.ops.aten.{test}({a}, {b})\n");
                format!("where.self(c_{i}, {b}, {a})")
            }
        };
        text += &format!("        v_{i}: {full} = torch.ops.aten.{call}\n");
        whole.push(format!("v_{i}"));
    }
    let outputs: Vec<String> = (0..1 + random.below(3)).map(|i| format!("v_{}", count - 1 - i)).collect();
    text += &format!("        return ({},)\n", outputs.join(", "));
    (text, outputs.len())
}

fn tensor(random: &mut Random, sizes: &[i64], strides: &[i64], offset: i64) -> Tensor {
    let last: i64 = offset + sizes.iter().zip(strides).map(|(n, s)| (n - 1) * s).sum::<i64>();
    let values: Vec<f32> = (0..=last).map(|_| random.float()).collect();
    let memory = Tensor::from_slice(&values, &[last + 1]).unwrap();
    memory.view_as(Geometry { sizes: ints(sizes), strides: ints(strides), offset: offset.into() })
}

/// Matrices as they lie in scripts: whole, transposed, every other column; a row, a column, a number.
fn inputs(random: &mut Random) -> Vec<Value> {
    let mut all = Vec::new();
    for _ in 0..3 {
        let t = match random.below(4) {
            0 => tensor(random, &[ROWS, COLUMNS], &[1, ROWS], 0),
            1 => tensor(random, &[ROWS, COLUMNS], &[2 * COLUMNS, 2], 3),
            _ => tensor(random, &[ROWS, COLUMNS], &[COLUMNS, 1], 0),
        };
        all.push(Value::Tensor(t));
    }
    all.push(tensor(random, &[COLUMNS], &[1], 5).into());
    all.push(tensor(random, &[ROWS, 1], &[1, 1], 0).into());
    all.push(tensor(random, &[], &[], 0).into());
    all
}

fn bits(value: &Value) -> Vec<u32> {
    let t = value.as_tensor().unwrap();
    let values: Vec<f32> = cpu::elementwise::values(t).unwrap();
    // Of NaN only that it is NaN.
    values.into_iter().map(|v| if v.is_nan() { f32::NAN.to_bits() } else { v.to_bits() }).collect()
}

fn install() {
    cpu::install();
    codegen::install();
}

/// Runs a graph by both ways.
fn check(text: &str, graph: &Graph, inputs: &[Value]) {
    let fused = Fused::new(graph, false);
    let found = fused.run(graph, &mut inputs.to_vec()).unwrap_or_else(|| panic!("nothing was fused:\n{text}")).unwrap();
    let expected = interpret(graph, inputs.to_vec()).unwrap();
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        let (strides_a, strides_b) =
            (a.as_tensor().unwrap().concrete().unwrap().strides, b.as_tensor().unwrap().concrete().unwrap().strides);
        assert_eq!(strides_a, strides_b, "strides of result {i}:\n{text}");
        let (a, b) = (bits(a), bits(b));
        if let Some(at) = (0..a.len()).find(|at| a[*at] != b[*at]) {
            let (a, b) = (f32::from_bits(a[at]), f32::from_bits(b[at]));
            panic!("result {i} at {at}: {a:e} fused, {b:e} call by call:\n{text}");
        }
    }
}

#[test]
fn random_graphs_give_the_bits_of_their_calls() {
    install();
    let mut random = Random(3);
    for _ in 0..120 {
        let (text, _) = graph(&mut random);
        let graph = parse_graph(&text).unwrap_or_else(|e| panic!("{}:\n{text}", e.message));
        check(&text, &graph, &inputs(&mut random));
    }
}

#[test]
fn calls_between_kernels_and_small_values() {
    install();
    let full = format!("\"f32[{ROWS}, {COLUMNS}][{COLUMNS}, 1]cpu\"");
    let text = format!(
        "class GraphModule(torch.nn.Module):
    def forward(self, primals_0: {full}, primals_1: {full}):
        exp: {full} = torch.ops.aten.exp.default(primals_0)
        mul: {full} = torch.ops.aten.mul.Tensor(exp, primals_1)
        sum_1: \"f32[{ROWS}, 1][1, 1]cpu\" = torch.ops.aten.sum.dim_IntList(mul, [1], True)
        tanh: \"f32[{ROWS}, 1][1, 1]cpu\" = torch.ops.aten.tanh.default(sum_1)
        t: \"f32[{COLUMNS}, {ROWS}][1, {COLUMNS}]cpu\" = torch.ops.aten.t.default(mul)
        mm: \"f32[{ROWS}, {ROWS}][{ROWS}, 1]cpu\" = torch.ops.aten.mm.default(exp, t)
        add: \"f32[{ROWS}, {ROWS}][{ROWS}, 1]cpu\" = torch.ops.aten.add.Tensor(mm, tanh)
        sigmoid: \"f32[{ROWS}, {ROWS}][{ROWS}, 1]cpu\" = torch.ops.aten.sigmoid.default(add)
        view: \"f32[4096][1]cpu\" = torch.ops.aten.view.default(sigmoid, [4096])
        neg: \"f32[4096][1]cpu\" = torch.ops.aten.neg.default(view)
        return (neg, sigmoid, t, tanh)
"
    );
    let graph = parse_graph(&text).unwrap_or_else(|e| panic!("{}", e.message));
    let mut random = Random(4);
    check(&text, &graph, &inputs(&mut random)[..2]);
}

#[test]
fn an_input_is_written_in_place() {
    install();
    let full = format!("\"f32[{ROWS}, {COLUMNS}][{COLUMNS}, 1]cpu\"");
    let text = format!(
        "class GraphModule(torch.nn.Module):
    def forward(self, primals_0: {full}, primals_1: {full}):
        mul: {full} = torch.ops.aten.mul.Tensor(primals_0, primals_1)
        exp: {full} = torch.ops.aten.exp.default(mul)
        copy_: {full} = torch.ops.aten.copy_.default(primals_0, exp)
        return (mul,)
"
    );
    let graph = parse_graph(&text).unwrap_or_else(|e| panic!("{}", e.message));
    let values = || inputs(&mut Random(5));
    let (mut a, b) = (values()[..2].to_vec(), values()[..2].to_vec());
    let kept = a.clone();
    let found = Fused::new(&graph, false).run(&graph, &mut a).unwrap().unwrap();
    let expected = interpret(&graph, b.clone()).unwrap();
    assert_eq!(bits(&found[0]), bits(&expected[0]));
    assert_eq!(bits(&kept[0]), bits(&b[0]), "what was written");
    // Where both inputs lie in one storage, calls must keep their order.
    let one = values()[0].clone();
    assert!(Fused::new(&graph, false).run(&graph, &mut vec![one.clone(), one]).is_none());
}

#[test]
fn other_dtypes_stay_with_their_own_kernels() {
    install();
    let text = "class GraphModule(torch.nn.Module):
    def forward(self, primals_0: \"i64[5000][1]cpu\"):
        add: \"i64[5000][1]cpu\" = torch.ops.aten.add.Tensor(primals_0, 1)
        mul: \"i64[5000][1]cpu\" = torch.ops.aten.mul.Tensor(add, add)
        return (mul,)
";
    let graph = parse_graph(text).unwrap_or_else(|e| panic!("{}", e.message));
    let wide: Vec<i64> = (0..5000).map(|i| i * 3_000_000_000).collect();
    let input = Value::Tensor(Tensor::from_slice(&wide, &[5000]).unwrap());
    assert_eq!(input.as_tensor().unwrap().dtype(), Dtype::Int64);
    assert!(Fused::new(&graph, false).run(&graph, &mut vec![input]).is_none());
}
