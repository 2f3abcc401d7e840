//! Derivatives checked numerically: every operator of the catalogue that can be called on float64 tensors alone is compared with
//! central differences, on contiguous, transposed and zero-dimensional inputs.

use aot_playground::autograd::{self, BackwardOptions, gradient_edge, meta, run_backward};
use aot_playground::dispatch::{OpEntry, Rule, Tags, Type, Value, all, call, fill_args};
use aot_playground::error::Result;
use aot_playground::t;
use aot_playground::tensor::Tensor;

/// Random operators, a loss whose target is a constant to it, and one that reads half of a symmetric matrix.
const LEFT_OUT: &[&str] = &[
    "soft_margin_loss",
    "linalg_eigvalsh",
    "empty_like",
    "new_empty",
    "native_dropout",
    "rrelu",
    "bernoulli",
    "normal_functional",
    "uniform",
    "lift_fresh",
];
const STEP: f64 = 1e-6;

/// Numbers in (0.2, 0.8), where roots, logarithms and arc functions are smooth; the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        0.2 + 0.6 * ((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }
}

#[derive(Clone, Copy, Debug)]
enum Layout {
    Contiguous,
    Transposed,
    Scalar,
}

fn input(numbers: &mut Numbers, layout: Layout) -> Vec<f64> {
    let count = if matches!(layout, Layout::Scalar) { 1 } else { 9 };
    (0..count).map(|_| numbers.next()).collect()
}

fn tensor(values: &[f64], layout: Layout) -> Result<Tensor> {
    match layout {
        Layout::Scalar => Tensor::from_slice(values, &[]),
        Layout::Contiguous => Tensor::from_slice(values, &[3, 3]),
        Layout::Transposed => t!("t", Tensor::from_slice(values, &[3, 3])?),
    }
}

/// Calls the operator on these values and weighs its elements; `None` where it refuses such inputs or gives no float64 tensor.
fn weighed(entry: &'static OpEntry, inputs: &[Tensor]) -> Option<Tensor> {
    let args = fill_args(entry, inputs.iter().map(Value::from).collect(), &[]).ok()?;
    let out = call(entry, args).ok()?.into_tensor().ok()?;
    if out.dtype() != aot_playground::tensor::Dtype::Float64 {
        return None;
    }
    let n = out.numel().guard_int().ok()?;
    let weights: Vec<f64> = (0..n).map(|i| 1.0 + 0.37 * i as f64).collect();
    let weights = t!("view", Tensor::from_slice(&weights, &[n]).ok()?, out.sizes()).ok()?;
    t!("sum", t!("mul.Tensor", out, weights).ok()?).ok()
}

fn number(t: &Tensor) -> f64 {
    t.with_slice::<f64, _>(|s| s[t.geometry().offset.hint().unwrap_or(0) as usize]).unwrap()
}

fn elements(t: &Tensor) -> Vec<f64> {
    let dense = t!("contiguous", t).unwrap();
    dense
        .with_slice::<f64, _>(|s| {
            s[dense.geometry().offset.hint().unwrap_or(0) as usize..][..dense.numel().hint().unwrap() as usize].to_vec()
        })
        .unwrap()
}

/// Compares; `None` where the operator is not called on such inputs.
fn check(entry: &'static OpEntry, tensors: usize, layout: Layout) -> Option<Result<(), String>> {
    let mut numbers = Numbers(entry.id as u64 + 1);
    let values: Vec<Vec<f64>> = (0..tensors).map(|_| input(&mut numbers, layout)).collect();
    let leaves: Vec<Tensor> = values.iter().map(|v| tensor(v, layout).and_then(|t| t!("clone", t))).collect::<Result<_>>().ok()?;
    for leaf in &leaves {
        meta::set_requires_grad(leaf, true).ok()?;
    }
    let out = weighed(entry, &leaves)?;
    let root = gradient_edge(&out).ok()??;
    let edges: Vec<_> = leaves.iter().map(|l| gradient_edge(l).ok().flatten()).collect::<Option<_>>()?;
    let one = t!("ones_like", &out).ok()?;
    let grads = match run_backward(vec![(root, one)], Some(&edges), BackwardOptions::default()) {
        Ok(grads) => grads,
        Err(e) => return Some(Err(format!("backward fails: {e}"))),
    };
    for (which, grad) in grads.iter().enumerate() {
        let analytic = grad.as_ref().map(elements);
        // A transposed input's elements are counted in its own order.
        let order: Vec<usize> = match layout {
            Layout::Transposed => (0..9).map(|i| (i % 3) * 3 + i / 3).collect(),
            _ => (0..values[which].len()).collect(),
        };
        for (i, at) in order.iter().enumerate() {
            let shifted = |by: f64| {
                let mut all = values.clone();
                all[which][*at] += by;
                let inputs: Vec<Tensor> = all.iter().map(|v| tensor(v, layout)).collect::<Result<_>>().ok()?;
                weighed(entry, &inputs).map(|t| number(&t))
            };
            let numeric = (shifted(STEP)? - shifted(-STEP)?) / (2.0 * STEP);
            let computed = analytic.as_ref().map_or(0.0, |g| g[i]);
            if (numeric - computed).abs() > 1e-4 * (1.0 + numeric.abs()) {
                return Some(Err(format!("{layout:?}, input {which}, element {i}: {computed} instead of {numeric}")));
            }
        }
    }
    Some(Ok(()))
}

#[test]
fn derivatives_are_what_differences_say() {
    autograd::install();
    let (mut checked, mut wrong) = (0, Vec::new());
    for entry in all() {
        let differentiable = entry.derivative.is_some() || matches!(entry.rule, Rule::Composite(_));
        let random = entry.tags.has(Tags::RANDOM) || entry.tags.has(Tags::FACTORY) || LEFT_OUT.contains(&entry.base_name());
        let writes = entry.is_mutable() || matches!(entry.rule, Rule::Inplace(_) | Rule::InplaceView(_) | Rule::Data);
        let required = entry.schema.arguments.iter().filter(|a| a.default.is_none());
        if !differentiable || random || writes || required.clone().any(|a| a.ty != Type::Tensor) {
            continue;
        }
        let tensors = required.count();
        for layout in [Layout::Contiguous, Layout::Transposed, Layout::Scalar] {
            if tensors == 0 {
                continue;
            }
            match std::panic::catch_unwind(|| check(entry, tensors, layout)) {
                Ok(Some(Ok(()))) => checked += 1,
                Ok(Some(Err(why))) => wrong.push(format!("{}: {why}", entry.name)),
                Ok(None) => {}
                // Whatever a script passes, an operator answers or errs.
                Err(_) => wrong.push(format!("{}: panics on {layout:?}", entry.name)),
            }
        }
    }
    println!("{checked} derivatives checked");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 200, "only {checked} derivatives were checked");
}
