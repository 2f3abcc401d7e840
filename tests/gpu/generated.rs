//! Graphs that nobody wrote: whatever they say, they are refused or become kernels that naga, WebGPU's reader of WGSL in wgpu, takes. No device
//! is needed. `KERNELS=number` tries so many graphs, `SEED=number` begins at that seed (it is printed).

use crate::compare::CASES;
use aot_playground::backend::cpu::bundle::parse_graph;
use aot_playground::backend::gpu::{Adapter, kernels};
use aot_playground::bundle::Kernel;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many are tried where nobody says.
const FEW: u64 = 2000;

struct Draw(u64);

impl Draw {
    /// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }

    fn of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "16",
    "33",
    "64",
    "65",
    "257",
    "3000",
    "70000",
    "-1",
    "-2",
    "-7",
    "1.5",
    "-0.0",
    "inf",
    "-inf",
    "nan",
    "1e-30",
    "1e39",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "True",
    "None",
    "[]",
    "[0, 1]",
];
const DTYPES: &[&str] = &["f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "b8", "c64"];
const TORCH_DTYPES: &[&str] = &["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"];

/// Operators of one value, with the rest of the call.
const UNARY: &[(&str, &str)] = &[
    ("sin.default", ""),
    ("exp.default", ""),
    ("tanh.default", ""),
    ("gelu.default", ""),
    ("rsqrt.default", ""),
    ("relu.default", ""),
    ("neg.default", ""),
    ("abs.default", ""),
    ("sign.default", ""),
    ("logical_not.default", ""),
    ("add.Tensor", ", 1"),
    ("mul.Tensor", ", 2.5"),
    ("div.Tensor", ", 0"),
    ("div.Tensor_mode", ", 3, rounding_mode = 'floor'"),
    ("pow.Tensor_Scalar", ", 3"),
    ("remainder.Scalar", ", 0"),
    ("bitwise_not.default", ""),
    ("gt.Scalar", ", 0.5"),
    ("eq.Scalar", ", 1"),
    ("clamp.default", ", -1, 1"),
    ("_softmax.default", ", -1, False"),
    ("_log_softmax.default", ", 0, False"),
    ("sum.default", ""),
    ("sum.dim_IntList", ", [-1], True"),
    ("sum.dim_IntList", ", [0]"),
    ("mean.dim", ", [-1]"),
    ("amax.default", ", [0], True"),
    ("argmax.default", ", 0"),
    ("prod.dim_int", ", 0"),
    ("var.correction", ", [0], correction = 1"),
    ("any.dim", ", 0"),
    ("cumsum.default", ", 0"),
    ("cumprod.default", ", -1"),
    ("t.default", ""),
    ("transpose.int", ", 0, -1"),
    ("permute.default", ", [1, 0]"),
    ("unsqueeze.default", ", 0"),
    ("squeeze.dim", ", 0"),
    ("expand.default", ", [4, 4]"),
    ("slice.Tensor", ", 0, 1, 9223372036854775807"),
    ("slice.Tensor", ", 0, 0, 9223372036854775807, 2"),
    ("select.int", ", 0, 0"),
    ("view.default", ", [-1]"),
    ("reshape.default", ", [2, -1]"),
    ("flip.default", ", [0]"),
    ("constant_pad_nd.default", ", [1, 1], 2.0"),
    ("clone.default", ""),
    ("tril.default", ""),
    ("triu.default", ", 1"),
    ("_to_copy.default", ", dtype = torch.int64"),
    ("_to_copy.default", ", dtype = torch.float16"),
    ("_to_copy.default", ", dtype = torch.bool"),
    ("full_like.default", ", 3"),
    ("sort.default", ""),
    ("unfold.default", ", 0, 2, 1"),
    ("diagonal.default", ""),
    ("as_strided.default", ", [2, 2], [1, 1]"),
];
/// Operators of two.
const BINARY: &[&str] = &[
    "add.Tensor",
    "sub.Tensor",
    "mul.Tensor",
    "div.Tensor",
    "pow.Tensor_Tensor",
    "maximum.default",
    "minimum.default",
    "gt.Tensor",
    "le.Tensor",
    "eq.Tensor",
    "bitwise_and.Tensor",
    "bitwise_xor.Tensor",
    "logical_or.default",
    "atan2.default",
    "remainder.Tensor",
    "fmod.Tensor",
    "mm.default",
    "bmm.default",
    "mv.default",
    "dot.default",
    "copy.default",
    "copy_.default",
    "add_.Tensor",
    "mul_.Tensor",
    "hypot.default",
];

/// A graph of operators drawn one after the other, each of values before it.
fn chain(draw: &mut Draw) -> String {
    let sizes = [draw.of(&["4", "1", "2", "7", "0", "70"]), draw.of(&["4", "3", "1", "65", "300"])];
    let input = |name: &str, draw: &mut Draw| {
        let dtype = if draw.below(3) > 0 { "f32" } else { draw.of(DTYPES) };
        let sizes: Vec<&str> = (0..draw.of(&[2, 2, 2, 1, 0, 3])).map(|_| draw.of(&sizes)).collect();
        format!("{name}: \"{dtype}[{}]\"", sizes.join(", "))
    };
    let inputs: Vec<String> = ["a", "b", "c"].iter().map(|name| input(name, draw)).collect();
    let mut names: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
    let mut text = format!("class GraphModule(torch.nn.Module):\n    def forward(self, {}):\n", inputs.join(", "));
    for i in 0..1 + draw.below(8) {
        // The newest more often than the others.
        let operand = |draw: &mut Draw| names[names.len() - 1 - draw.below(names.len()).min(draw.below(names.len()))].clone();
        let call = match draw.below(8) {
            0..=4 => {
                let (op, rest) = draw.of(UNARY);
                format!("{op}({}{rest})", operand(draw))
            }
            5 | 6 => format!("{}({}, {})", draw.of(BINARY), operand(draw), operand(draw)),
            _ => {
                let dim = draw.below(2);
                match draw.below(5) {
                    0 => format!("where.self({}, {}, {})", operand(draw), operand(draw), operand(draw)),
                    1 => format!("cat.default([{}, {}], {dim})", operand(draw), operand(draw)),
                    2 => format!("index_select.default({}, {dim}, {})", operand(draw), operand(draw)),
                    3 => format!("addmm.default({}, {}, {})", operand(draw), operand(draw), operand(draw)),
                    _ => format!("index.Tensor({}, [{}])", operand(draw), operand(draw)),
                }
            }
        };
        text += &format!("        v{i} = torch.ops.aten.{call}\n");
        names.push(format!("v{i}"));
    }
    let results = names[3..].iter().filter(|_| draw.below(3) > 0).cloned().chain([names[names.len() - 1].clone()]);
    text + &format!("        return ({},)\n", results.collect::<Vec<_>>().join(", "))
}

/// The parts of a text that are numbers, words, or neither.
fn parts(text: &str) -> Vec<&str> {
    let kind = |c: char| {
        if c.is_ascii_digit() {
            0
        } else if c.is_alphabetic() || c == '_' || c == '.' {
            1
        } else {
            2
        }
    };
    let mut parts = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, c) in text.char_indices() {
        // A digit within a word is part of it.
        let now = if kind(c) == 0 && last == Some(1) { 1 } else { kind(c) };
        if last.is_some_and(|last| last != now || now == 2) {
            parts.push(&text[start..at]);
            start = at;
        }
        last = Some(now);
    }
    parts.push(&text[start..]);
    parts
}

/// One of the cases that are compared with the CPU, with some other numbers, types, operators and values.
fn edited(draw: &mut Draw) -> String {
    let (_, inputs, lines, result) = CASES[draw.below(CASES.len())];
    let body: String = lines.lines().map(|l| format!("        {}\n", l.trim())).collect();
    let text = format!("class GraphModule(torch.nn.Module):\n    def forward(self, {inputs}):\n{body}        return ({result},)\n");
    let mut parts: Vec<String> = parts(&text).into_iter().map(str::to_owned).collect();
    for _ in 0..1 + draw.below(3) {
        let is_number = |p: &String| p.starts_with(|c: char| c.is_ascii_digit());
        let is_op = |p: &String| p.starts_with("torch.ops.aten.");
        let kinds: [&dyn Fn(&String) -> bool; 4] =
            [&is_number, &|p| DTYPES.contains(&&**p), &is_op, &|p| p.strip_prefix("torch.").is_some_and(|d| TORCH_DTYPES.contains(&d))];
        let kind = draw.of(&[0, 0, 0, 1, 2, 3]);
        let at: Vec<usize> = (0..parts.len()).filter(|i| kinds[kind](&parts[*i])).collect();
        if at.is_empty() {
            continue;
        }
        let at = draw.of(&at);
        parts[at] = match kind {
            0 => draw.of(NUMBERS).to_owned(),
            1 => draw.of(DTYPES).to_owned(),
            2 if draw.below(2) == 0 => format!("torch.ops.aten.{}", draw.of(BINARY)),
            2 => format!("torch.ops.aten.{}", draw.of(UNARY).0),
            _ => format!("torch.{}", draw.of(TORCH_DTYPES)),
        };
    }
    parts.concat()
}

/// How many kernels a graph becomes, on every kind of adapter.
fn check(text: &str) -> Result<usize, String> {
    let Ok(graph) = parse_graph(text) else { return Ok(0) };
    let mut written = 0;
    for software in [false, true] {
        let Ok(kernels) = kernels(&graph, Adapter { software }) else { return Ok(0) };
        validate(&kernels)?;
        written += kernels.len();
    }
    Ok(written)
}

/// Whether a device would take them.
fn validate(kernels: &[Kernel]) -> Result<(), String> {
    for kernel in kernels.iter().filter(|k| !k.wgsl.is_empty()) {
        let module = naga::front::wgsl::parse_str(&kernel.wgsl).map_err(|e| e.emit_to_string(&kernel.wgsl) + &kernel.wgsl)?;
        // What every device of WebGPU can do, and naga calls a capability.
        let mut validator = Validator::new(ValidationFlags::all(), Capabilities::SHADER_FLOAT16_IN_FLOAT32);
        validator.validate(&module).map_err(|e| e.emit_to_string(&kernel.wgsl) + &kernel.wgsl)?;
    }
    Ok(())
}

#[test]
fn generated_graphs_become_valid_kernels() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    // The few of every run are the same ones everywhere; a longer run goes where none was.
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() << 20);
    let begin = || number("KERNELS").map_or(1, |_: u64| clock());
    let first: u64 = number("SEED").unwrap_or_else(begin);
    let count = number("KERNELS").unwrap_or(FEW);
    println!("SEED={first}");
    aot_playground::backend::cpu::install();
    let (mut wrong, mut written) = (Vec::new(), 0);
    for seed in first..first + count {
        let mut draw = Draw(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let text = if draw.below(2) == 0 { chain(&mut draw) } else { edited(&mut draw) };
        match catch_unwind(AssertUnwindSafe(|| check(&text))) {
            Ok(Ok(kernels)) => written += kernels,
            Ok(Err(refused)) => wrong.push(format!("SEED={seed}: {refused}\n{text}")),
            Err(_) => wrong.push(format!("SEED={seed}: panics\n{text}")),
        }
        if wrong.len() == 20 {
            break;
        }
    }
    println!("{count} graphs, {written} kernels");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(written as u64 > count / 2, "too few graphs are any: {written} kernels of {count}");
}
