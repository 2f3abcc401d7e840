//! Ten thousand random functions: what a compiled one shows is what the function shows. Compared are outputs, inputs, gradients,
//! `requires_grad`, `is_leaf`, strides, which output is which input, and what changes when outputs are written to afterwards.
//!
//! Where PyTorch's compiled function refuses, or shows something else than the function (a view made under no_grad, a write under
//! no_grad to an input with a history, an input that was merged with another), ours must do what `tests/data/random_functions.txt`
//! says that PyTorch does. `python tests/record.py data/random_functions` writes it, with the functions that this test writes into
//! the folder `RANDOM_FUNCTIONS_SCRIPTS`.
//!
//! `RANDOM_FUNCTIONS=SEED` runs one seed and prints its function as a Python script, which can be run with PyTorch.

use aot_playground::aot::schemas::{CustomPasses, InputSpec, Switches};
use aot_playground::aot::{Config, GraphCallable, GraphCompiler, compile};
use aot_playground::autograd::{BackwardOptions, gradient_edge, install, meta, run_backward};
use aot_playground::backend::cpu::{self, interpret::interpret};
use aot_playground::dispatch::{Modes, Value, modes, set_modes};
use aot_playground::error::{Error, Result};
use aot_playground::graph::Graph;
use aot_playground::partition::{PartitionConfig, Partitioner};
use aot_playground::tensor::Tensor;
use program::{Afterwards, Input, Program, invoke};
use std::collections::HashMap;
use std::rc::Rc;

#[path = "random_functions/program.rs"]
mod program;

const PROGRAMS: u64 = 10_000;
const SEED: u64 = 20_260_101;

/// What a tensor shows.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    requires_grad: bool,
    is_leaf: bool,
    sizes: Vec<i64>,
    strides: Vec<i64>,
    /// The inputs that it is.
    same: Vec<usize>,
}

/// What a function shows.
#[derive(Debug, Default)]
struct Shown {
    tensors: Vec<Seen>,
    /// Values after the call, gradients of leaves, values after outputs were written to.
    numbers: Vec<Option<Vec<f32>>>,
}

/// Whether gradients are handed to the outputs of a seed's function as expanded numbers.
fn is_strided(seed: u64) -> bool {
    seed.is_multiple_of(4)
}

fn numbers(t: &Tensor) -> Result<Vec<f32>> {
    let detached = invoke("aten.detach.default", vec![t.into()])?;
    let flat = invoke("aten.clone.default", vec![detached])?;
    let flat = invoke("aten.reshape.default", vec![flat, Value::from(vec![-1i64])])?.into_tensor()?;
    flat.with_slice(|values: &[f32]| values.to_vec())
}

fn view(of: &Tensor, sizes: [i64; 2]) -> Result<Tensor> {
    invoke("aten.view.default", vec![of.into(), Value::from(sizes.to_vec())])?.into_tensor()
}

fn slice(of: &Tensor, dim: i64, start: i64, end: i64) -> Result<Tensor> {
    invoke("aten.slice.Tensor", vec![of.into(), dim.into(), start.into(), end.into(), 1i64.into()])?.into_tensor()
}

/// The leaves and the inputs.
fn make(program: &Program) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    let leaf = Tensor::from_slice(&(0..24).map(|i| (i as f32).sin()).collect::<Vec<_>>(), &[24])?;
    meta::set_requires_grad(&leaf, program.leaf_requires_grad)?;
    let base = invoke("aten.clone.default", vec![(&leaf).into()])?.into_tensor()?;
    let mut leaves = vec![leaf.clone()];
    let mut inputs: Vec<Tensor> = Vec::new();
    for (i, input) in program.inputs.iter().enumerate() {
        let made = match input {
            Input::Leaf { requires_grad } => {
                let own = Tensor::from_slice(&(0..12).map(|j| ((i + j) as f32).cos()).collect::<Vec<_>>(), &[3, 4])?;
                meta::set_requires_grad(&own, *requires_grad)?;
                leaves.push(own.clone());
                own
            }
            Input::Copy => {
                let half = view(&slice(&leaf, 0, 0, 12)?, [3, 4])?;
                invoke("aten.clone.default", vec![half.into()])?.into_tensor()?
            }
            Input::Part { start } => view(&slice(&base, 0, *start, start + 12)?, [3, 4])?,
            Input::Columns { start } => slice(&view(&slice(&base, 0, 0, 20)?, [4, 5])?, 1, *start, start + 3)?,
            Input::Again(of) => inputs[*of].clone(),
        };
        inputs.push(made);
    }
    Ok((leaves, inputs))
}

/// Calls a function and looks at everything; `strided`: gradients come expanded.
fn observe(program: &Program, strided: bool, f: &dyn Fn(&[Tensor]) -> Result<Vec<Value>>) -> Result<Shown> {
    let (leaves, inputs) = make(program)?;
    let outputs = f(&inputs)?.into_iter().map(Value::into_tensor).collect::<Result<Vec<_>>>()?;
    let all: Vec<&Tensor> = outputs.iter().chain(&inputs).collect();
    let mut shown = Shown::default();
    for t in &all {
        let c = t.concrete()?;
        let same = (0..inputs.len()).filter(|i| inputs[*i].is(t)).collect();
        let (requires_grad, is_leaf) = (meta::requires_grad(t), meta::grad_fn(t)?.is_none());
        shown.tensors.push(Seen {
            requires_grad,
            is_leaf,
            sizes: t.sizes().iter().map(|s| s.hint().unwrap()).collect(),
            strides: c.strides.iter().map(|s| *s as i64).collect(),
            same,
        });
        shown.numbers.push(Some(numbers(t)?));
    }
    if program.afterwards == Afterwards::Write {
        invoke("aten.mul_.Tensor", vec![(&outputs[0]).into(), 0.5.into()])?;
    }
    let mut roots = Vec::new();
    for (i, t) in all.iter().enumerate() {
        if let Some(edge) = gradient_edge(t)? {
            let weight = 1.0 + i as f64 * 0.25;
            let like = invoke("aten.detach.default", vec![(*t).into()])?;
            let grad = if strided {
                let one = Tensor::from_slice(&[weight as f32], &[1])?;
                invoke("aten.expand.default", vec![one.into(), t.sizes().into()])?
            } else {
                invoke("aten.full_like.default", vec![like, weight.into()])?
            };
            roots.push((edge, grad.into_tensor()?));
        }
    }
    if !roots.is_empty() {
        run_backward(roots, None, BackwardOptions::default())?;
    }
    for leaf in &leaves {
        shown.numbers.push(meta::grad(leaf).map(|g| numbers(&g)).transpose()?);
    }
    for output in &outputs {
        let c = output.concrete()?;
        if c.sizes.iter().zip(&c.strides).any(|(size, stride)| *size > 1 && *stride == 0) {
            continue;
        }
        let target = invoke("aten.detach.default", vec![output.into()])?;
        invoke("aten.mul_.Tensor", vec![target, 1.25.into()])?;
        for t in &all {
            shown.numbers.push(Some(numbers(t)?));
        }
    }
    Ok(shown)
}

fn script(program: &Program, strided: bool) -> String {
    let mut inputs = String::new();
    let mut names = Vec::new();
    let mut leaves = vec!["leaf".to_owned()];
    let python = |b: bool| if b { "True" } else { "False" };
    for (i, input) in program.inputs.iter().enumerate() {
        let made = match input {
            Input::Leaf { requires_grad } => {
                leaves.push(format!("a{i}"));
                format!("(torch.arange(12.) + {i}).cos().view(3, 4).clone().requires_grad_({})", python(*requires_grad))
            }
            Input::Copy => "leaf[0:12].view(3, 4).clone()".to_owned(),
            Input::Part { start } => format!("base[{start}:{}].view(3, 4)", start + 12),
            Input::Columns { start } => format!("base[0:20].view(4, 5)[:, {start}:{}]", start + 3),
            Input::Again(of) => format!("a{of}"),
        };
        inputs.push_str(&format!("    a{i} = {made}\n"));
        names.push(format!("a{i}"));
    }
    let partition = if program.min_cut { "min_cut_rematerialization_partition" } else { "default_partition" };
    let write = if program.afterwards == Afterwards::Write { "    outs[0].mul_(0.5)\n" } else { "" };
    let weight = if strided { "torch.full((1,), 1 + i * 0.25).expand(t.shape)" } else { "torch.full_like(t, 1 + i * 0.25)" };
    format!(
        r#"import torch
from functorch.compile import aot_function, default_partition, min_cut_rematerialization_partition, nop

{body}
def make():
    leaf = torch.arange(24.).sin().requires_grad_({leaf})
    base = leaf.clone()
{inputs}    return [{leaves}], [{names}]

def numbers(t):
    return None if t is None else t.detach().clone().reshape(-1).tolist()

def observe(fn):
    leaves, args = make()
    outs = list(fn(*args))
    tensors = outs + args
    seen = [[t.requires_grad, t.is_leaf, list(t.shape), list(t.stride()), [t is a for a in args]] for t in tensors]
    seen += [numbers(t) for t in tensors]
{write}    wanted = [(t, {weight}) for i, t in enumerate(tensors) if t.requires_grad and (t.grad_fn is not None or t._base is None)]
    if wanted:
        torch.autograd.backward([t for t, _ in wanted], [w for _, w in wanted])
    seen += [numbers(t.grad) for t in leaves]
    for o in outs:
        if any(n > 1 and s == 0 for n, s in zip(o.shape, o.stride())):
            continue
        o.detach().mul_(1.25)
        seen += [numbers(t) for t in tensors]
    return seen

def close(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-4 * (1 + abs(a))
    return a == b

def outcome():
    try:
        eager = observe(f)
    except RuntimeError as e:
        return "eager refuses", str(e)
    compiled = aot_function(f, nop, partition_fn={partition}, keep_inference_input_mutations={keep})
    try:
        found = observe(compiled)
    except Exception as e:
        return "refuses", f"{{type(e).__name__}}: {{e}}"
    return "same" if close(eager, found) else "differs", found

if __name__ == "__main__":
    print(*outcome())
"#,
        body = program.body(),
        leaf = python(program.leaf_requires_grad),
        leaves = leaves.join(", "),
        names = names.join(", "),
        keep = python(program.keep_input_mutations),
    )
}

struct Interpreted(Graph);

impl GraphCallable for Interpreted {
    fn call(&self, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
        interpret(&self.0, std::mem::take(inputs))
    }
}

fn compiled(program: &Rc<Program>, inputs: &[Tensor]) -> Result<Vec<Value>> {
    let compiler: GraphCompiler = Rc::new(|graph, _| Ok(Rc::new(Interpreted(graph))));
    let partitioner = if program.min_cut { Partitioner::MinCut } else { Partitioner::Default };
    let config = Config {
        is_captured: false,
        switches: Switches::default(),
        custom_passes: CustomPasses::default(),
        keep_input_mutations: program.keep_input_mutations,
        partition: PartitionConfig { partitioner, ..PartitionConfig::default() },
        freezing: None,
        partition_fn: None,
        replay_random: true,
        fw_compiler: compiler.clone(),
        bw_compiler: compiler.clone(),
        inference_compiler: compiler,
        is_outdated: None,
        check: None,
        observer: None,
        script_decompositions: None,
        decompositions: None,
        passes: None,
    };
    let specs = inputs.iter().map(InputSpec::of).collect::<Result<Vec<_>>>()?;
    let traced = program.clone();
    compile(&(Rc::new(move |given: &[Tensor]| traced.run(given)) as _), &specs, &config)?.call(inputs.to_vec())
}

/// What became of a function.
enum Outcome {
    /// It fails as it is.
    EagerRefuses(Error),
    /// It fails compiled.
    Refuses(Error),
    /// What it shows, as it is and compiled.
    Ran(Shown, Shown),
}

fn outcome(seed: u64) -> Outcome {
    let program = Rc::new(Program::new(seed));
    let strided = is_strided(seed);
    set_modes(Modes::START);
    let eager = match observe(&program, strided, &|inputs| program.run(inputs)) {
        Ok(shown) => shown,
        Err(e) => return Outcome::EagerRefuses(e),
    };
    let found = observe(&program, strided, &|inputs| compiled(&program, inputs));
    assert!(modes().grad, "seed {seed} leaves grad mode off");
    found.map_or_else(Outcome::Refuses, |found| Outcome::Ran(eager, found))
}

fn close(a: &Option<Vec<f32>>, b: &Option<Vec<f32>>) -> bool {
    let near = |(x, y): (&f32, &f32)| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-4 * (1.0 + x.abs());
    match (a, b) {
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(near),
        _ => a.is_none() && b.is_none(),
    }
}

/// What differs between a function and its compiled form.
fn difference(eager: &Shown, found: &Shown) -> Option<String> {
    let tensors = eager.tensors.iter().zip(&found.tensors).find(|(a, b)| a != b);
    let numbers = eager.numbers.iter().zip(&found.numbers).position(|(a, b)| !close(a, b));
    match (tensors, numbers) {
        (Some((a, b)), _) => Some(format!("eager {a:?}\ncompiled {b:?}")),
        (_, Some(i)) => Some(format!("{i}: eager {:?}\ncompiled {:?}", eager.numbers[i], found.numbers[i])),
        _ => None,
    }
}

/// Whether something shown is what a recorded line says: per tensor whether it requires grad, whether it is a leaf, and the inputs it
/// is; per list of numbers its sum and a weighted sum.
fn fits(shown: &Shown, recorded: &str) -> bool {
    let words: Vec<&str> = recorded.split(' ').collect();
    let (tensors, numbers) = words.split_at(shown.tensors.len().min(words.len()));
    let tensor = |(seen, word): (&Seen, &&str)| {
        let flag = |on, letter| if on { letter } else { '-' };
        let inputs: String = seen.same.iter().map(ToString::to_string).collect();
        format!("{}{}{inputs}", flag(seen.requires_grad, 'r'), flag(seen.is_leaf, 'l')) == **word
    };
    let list = |(list, word): (&Option<Vec<f32>>, &&str)| {
        let (Some(list), Some((sum, weighted))) = (list, word.split_once('/')) else { return list.is_none() && *word == "none" };
        let scale = list.iter().map(|x| f64::from(x.abs())).sum::<f64>();
        let near = |wanted: &str, sum: f64| {
            let wanted: f64 = wanted.parse().unwrap();
            wanted == sum || (wanted.is_nan() && sum.is_nan()) || (wanted - sum).abs() <= 1e-3 * (1.0 + scale)
        };
        near(sum, list.iter().map(|x| f64::from(*x)).sum())
            && near(weighted, list.iter().enumerate().map(|(i, x)| f64::from(*x) * (1 + i % 3) as f64).sum())
    };
    let counted = tensors.len() == shown.tensors.len() && numbers.len() == shown.numbers.len();
    counted && shown.tensors.iter().zip(tensors).all(tensor) && shown.numbers.iter().zip(numbers).all(list)
}

/// What is wrong with what became of a function, given what PyTorch recorded of it: nothing where its compiled function shows what
/// the function shows. Where PyTorch fails on a fault of its own there is nothing to compare with.
fn wrong(outcome: &Outcome, recorded: Option<&str>) -> Option<String> {
    let said = |e: &Error| format!("raises {:?}: {}", e.kind, e.message);
    match (outcome, recorded) {
        (_, Some("fails")) | (Outcome::EagerRefuses(_), Some("eager refuses")) => None,
        (Outcome::EagerRefuses(e), _) => Some(format!("the function {}", said(e))),
        (Outcome::Refuses(_), Some("refuses")) => None,
        (Outcome::Refuses(e), _) => Some(format!("the compiled function {}", said(e))),
        (Outcome::Ran(eager, found), None) => difference(eager, found),
        (Outcome::Ran(_, found), Some(recorded)) => (!fits(found, recorded)).then(|| format!("PyTorch: {recorded}\ncompiled {found:?}")),
    }
}

#[test]
fn compiled_functions_show_what_functions_show() {
    cpu::install();
    install();
    let recorded: HashMap<u64, &str> = include_str!("../data/random_functions.txt")
        .lines()
        .map(|line| line.split_once(": ").unwrap())
        .map(|(seed, rest)| (seed.parse().unwrap(), rest))
        .collect();
    let one = std::env::var("RANDOM_FUNCTIONS").ok().and_then(|s| s.parse::<u64>().ok());
    if let Some(seed) = one {
        println!("{}", script(&Program::new(seed), is_strided(seed)));
    }
    let seeds = one.map_or(SEED..SEED + PROGRAMS, |seed| seed..seed + 1);
    println!("seeds {seeds:?}");
    if let Ok(folder) = std::env::var("RANDOM_FUNCTIONS_SCRIPTS") {
        seeds.for_each(|seed| std::fs::write(format!("{folder}/{seed}.py"), script(&Program::new(seed), is_strided(seed))).unwrap());
        return;
    }
    let (mut same, mut as_recorded, mut differ) = (0, 0, Vec::new());
    for seed in seeds {
        let recorded = recorded.get(&seed).copied();
        match wrong(&outcome(seed), recorded) {
            Some(how) => differ.push(format!("seed {seed}: {how}")),
            None if recorded.is_some() => as_recorded += 1,
            None => same += 1,
        }
    }
    println!("{same} show compiled what they show, {as_recorded} do otherwise as in PyTorch, {} are wrong", differ.len());
    differ.iter().for_each(|w| println!("{w}"));
    assert!(differ.is_empty(), "{} functions are wrong; the first: {}", differ.len(), differ[0]);
}
