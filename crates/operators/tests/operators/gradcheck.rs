//! Derivatives checked numerically: every operator of the catalogue that can be called on float64 tensors alone is compared with
//! central differences, on contiguous, transposed, strided, broadcast, zero-dimensional and empty inputs; and its second derivative
//! with differences of the first.

use autograd::{BackwardOptions, gradient_edge, meta, run_backward};
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{OpEntry, Rule, Tags, Type, Value, all, call, fill_args};
use tensor::Tensor;

/// Operators whose results are random, uninitialized or independent of their inputs: nothing to compare.
const LEFT_OUT: &[&str] =
    &["empty_like", "new_empty", "native_dropout", "rrelu", "bernoulli", "normal_functional", "uniform", "lift_fresh"];
const STEP: f64 = 1e-6;
/// Differences larger than this come of a division by what should be zero.
const SINGULAR: f64 = 1e4;

/// Numbers in (0.2, 0.8), where roots, logarithms and arc functions are smooth; the same on every run.
struct Numbers(u64);

impl Numbers {
    /// An operator's numbers: other operators that come and go do not change them.
    fn of(name: &str) -> Self {
        Numbers(name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)))
    }

    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        0.2 + 0.6 * ((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// How an operator sees a leaf.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Contiguous,
    Transposed,
    /// Every other column of a wider leaf.
    Strided,
    /// One column seen three times.
    Broadcast,
    Scalar,
    Empty,
    /// Pairs of a real and an imaginary part.
    Complex,
}

const LAYOUTS: &[Layout] =
    &[Layout::Contiguous, Layout::Transposed, Layout::Strided, Layout::Broadcast, Layout::Scalar, Layout::Empty, Layout::Complex];

impl Layout {
    fn leaf_sizes(self) -> &'static [i64] {
        match self {
            Layout::Scalar => &[],
            Layout::Contiguous | Layout::Transposed => &[3, 3],
            Layout::Strided => &[3, 6],
            Layout::Broadcast => &[3, 1],
            Layout::Empty => &[0, 3],
            Layout::Complex => &[3, 3, 2],
        }
    }
    fn see(self, leaf: &Tensor) -> Result<Tensor> {
        match self {
            Layout::Transposed => t!("t", leaf),
            Layout::Strided => t!("slice.Tensor", leaf, 1, 0, 6, 2),
            Layout::Broadcast => t!("expand", leaf, vec![3i64, 3]),
            Layout::Complex => t!("view_as_complex", leaf),
            _ => Ok(leaf.clone()),
        }
    }
}

/// Inputs as the operator takes them: symmetric, positive definite or triangular matrices, targets that are constants.
fn prepared(entry: &'static OpEntry, mut inputs: Vec<Tensor>) -> Result<Vec<Tensor>> {
    let eye = |a: &Tensor| if a.dim() == 2 { t!("eye", a.size(0); dtype = a.dtype()) } else { Err(Error::runtime("not a matrix")) };
    let turned = |a: &Tensor| t!("conj", t!("transpose.int", a, -2, -1)?);
    let triangular = |a: &Tensor| t!("add.Tensor", t!("tril", a)?, eye(a)?);
    match entry.base_name() {
        "cholesky" | "linalg_cholesky" | "linalg_cholesky_ex" => {
            let a = &inputs[0];
            inputs[0] = t!("add.Tensor", t!("matmul", a, turned(a)?)?, eye(a)?)?;
        }
        "linalg_eigvalsh" | "linalg_eigh" | "_linalg_eigh" => inputs[0] = t!("add.Tensor", &inputs[0], turned(&inputs[0])?)?,
        "cholesky_inverse" => inputs[0] = triangular(&inputs[0])?,
        "cholesky_solve" => inputs[1] = triangular(&inputs[1])?,
        // One magnitude for each row.
        "_weight_norm" | "_weight_norm_interface" => inputs[1] = t!("slice.Tensor", &inputs[1], 1, 0, 1)?,
        // Far from where singular values are cut off.
        "linalg_pinv" if inputs.len() == 2 => {
            inputs[0] = t!("add.Tensor", &inputs[0], eye(&inputs[0])?)?;
            inputs[1] = t!("mul.Scalar", &inputs[1], 1e-6)?;
        }
        _ => {}
    }
    Ok(inputs)
}

/// Whether an input is a constant to the operator.
fn is_constant(entry: &'static OpEntry, which: usize) -> bool {
    which == 1 && matches!(entry.base_name(), "soft_margin_loss" | "linalg_pinv")
}

/// Calls the operator and weighs its elements; `None` where it refuses such inputs or gives no float64 tensor.
fn weighed(entry: &'static OpEntry, inputs: &[Tensor]) -> Option<Tensor> {
    let args = fill_args(entry, inputs.iter().map(Value::from).collect(), &[]).ok()?;
    let out = call(entry, args).ok()?.into_tensor().ok()?;
    let out = if out.dtype().is_complex() { t!("view_as_real", t!("resolve_conj", out).ok()?).ok()? } else { out };
    if out.dtype() != tensor::Dtype::Float64 {
        return None;
    }
    total(&out)
}

/// A sum in which no two elements count alike.
fn total(out: &Tensor) -> Option<Tensor> {
    let n = out.numel().guard_int().ok()?;
    let weights: Vec<f64> = (0..n).map(|i| 1.0 + 0.37 * i as f64).collect();
    let weights = t!("view", Tensor::from_slice(&weights, &[n]).ok()?, out.sizes()).ok()?;
    t!("sum", t!("mul.Tensor", out, weights).ok()?).ok()
}

fn number(t: &Tensor) -> f64 {
    t.with_slice::<f64, _>(|s| s[t.geometry().offset.hint().unwrap_or(0) as usize]).unwrap()
}

fn elements(t: &Tensor) -> Vec<f64> {
    let dense = t!("contiguous", t!("resolve_neg", t!("resolve_conj", t).unwrap()).unwrap()).unwrap();
    if dense.numel().hint() == Some(0) {
        return Vec::new();
    }
    dense
        .with_slice::<f64, _>(|s| {
            s[dense.geometry().offset.hint().unwrap_or(0) as usize..][..dense.numel().hint().unwrap() as usize].to_vec()
        })
        .unwrap()
}

/// Leaves that require grad, of these values.
fn leaves_of(values: &[Vec<f64>], layout: Layout) -> Option<Vec<Tensor>> {
    let leaf = |v: &Vec<f64>| -> Option<Tensor> {
        let leaf = Tensor::from_slice(v, layout.leaf_sizes()).ok()?;
        meta::set_requires_grad(&leaf, true).ok()?;
        Some(leaf)
    };
    values.iter().map(leaf).collect()
}

/// The gradients of a sum.
fn gradients(out: &Tensor, leaves: &[Tensor], create_graph: bool) -> Option<Result<Vec<Option<Tensor>>>> {
    let root = gradient_edge(out).ok()??;
    let edges: Vec<_> = leaves.iter().map(|l| gradient_edge(l).ok().flatten()).collect::<Option<_>>()?;
    let one = t!("ones_like", out).ok()?;
    Some(run_backward(vec![(root, one)], Some(&edges), BackwardOptions { retain_graph: create_graph, create_graph, more_rows: false }))
}

/// What is differentiated: the operator, or the sum of its gradients.
fn objective(entry: &'static OpEntry, leaves: &[Tensor], layout: Layout, order: usize) -> Option<Result<Tensor>> {
    let inputs: Vec<Tensor> = leaves.iter().map(|l| layout.see(l)).collect::<Result<_>>().ok()?;
    let out = weighed(entry, &prepared(entry, inputs).ok()?)?;
    if order == 1 {
        return Some(Ok(out));
    }
    // A square as well, so that what is linear has a second derivative of its own.
    let out = t!("add.Tensor", &out, t!("mul.Tensor", &out, &out).ok()?).ok()?;
    let grads = match gradients(&out, leaves, true)? {
        Ok(grads) => grads,
        Err(e) => return Some(Err(e)),
    };
    let sums: Vec<Tensor> = grads.iter().flatten().map(total).collect::<Option<_>>()?;
    let mut sums = sums.into_iter();
    let first = sums.next()?;
    Some(sums.try_fold(first, |a, b| t!("add.Tensor", a, b)))
}

/// What a failing backward says of an operator. PyTorch says that it lacks some derivatives, or refuses a matrix, in these words.
fn failure(error: &diagnostics::error::Error) -> Option<Result<(), String>> {
    let lacking = error.message.ends_with("does not support automatic differentiation for outputs with complex dtype.")
        || error.message.starts_with("the derivative for '")
        || error.message.ends_with("the input matrix is singular.");
    // An empty weight is normalized by no rows of a size that could be inferred.
    let lacking = lacking || error.message.ends_with("can be any value and is ambiguous");
    if lacking { None } else { Some(Err(format!("backward fails: {error}"))) }
}

/// Compares; `None` where the operator is not called on such inputs, or has no such derivative.
fn check(entry: &'static OpEntry, tensors: usize, layout: Layout, order: usize) -> Option<Result<(), String>> {
    let mut numbers = Numbers::of(entry.name);
    let count = layout.leaf_sizes().iter().product::<i64>() as usize;
    let values: Vec<Vec<f64>> = (0..tensors).map(|_| (0..count).map(|_| numbers.next()).collect()).collect();
    let leaves = leaves_of(&values, layout)?;
    let out = match objective(entry, &leaves, layout, order)? {
        Ok(out) => out,
        Err(e) => return failure(&e),
    };
    let grads = match gradients(&out, &leaves, false)? {
        Ok(grads) => grads,
        Err(e) => return failure(&e),
    };
    let step = if order == 1 { STEP } else { 10.0 * STEP };
    for (which, grad) in grads.iter().enumerate().filter(|(which, _)| !is_constant(entry, *which)) {
        let analytic = grad.as_ref().map(elements);
        for at in 0..count {
            let shifted = |by: f64| {
                let mut all = values.clone();
                all[which][at] += by;
                objective(entry, &leaves_of(&all, layout)?, layout, order)?.ok().map(|t| number(&t))
            };
            let numeric = (shifted(step)? - shifted(-step)?) / (2.0 * step);
            // A matrix of equal rows is singular, and its inverse what rounding makes of it, as in PyTorch.
            if numeric.abs() > SINGULAR {
                return None;
            }
            let computed = analytic.as_ref().map_or(0.0, |g| g[at]);
            if (numeric - computed).abs() > 1e-4 * (1.0 + numeric.abs()) {
                return Some(Err(format!("{layout:?}, input {which}, element {at}: {computed} instead of {numeric}")));
            }
        }
    }
    Some(Ok(()))
}

/// Every operator that takes tensors alone, in every layout; how many were compared, and what is wrong.
fn check_all(order: usize) -> (usize, Vec<String>) {
    cpu::install();
    autograd::install();
    let (mut checked, mut wrong) = (0, Vec::new());
    for entry in all() {
        let differentiable = entry.derivative.is_some() || matches!(entry.rule, Rule::Composite(_));
        let random = entry.tags.has(Tags::RANDOM) || entry.tags.has(Tags::FACTORY) || LEFT_OUT.contains(&entry.base_name());
        let writes = entry.is_mutable() || matches!(entry.rule, Rule::Inplace(_) | Rule::InplaceView(_) | Rule::Data);
        let required = entry.schema.arguments.iter().filter(|a| a.default.is_none());
        let tensors = required.clone().count();
        if !differentiable || random || writes || tensors == 0 || required.clone().any(|a| a.ty != Type::Tensor) {
            continue;
        }
        for layout in LAYOUTS {
            match std::panic::catch_unwind(|| check(entry, tensors, *layout, order)) {
                Ok(Some(Ok(()))) => checked += 1,
                Ok(Some(Err(why))) => wrong.push(format!("{}: {why}", entry.name)),
                Ok(None) => {}
                // Whatever a script passes, an operator answers or errs.
                Err(_) => wrong.push(format!("{}: panics on {layout:?}", entry.name)),
            }
        }
    }
    println!("{checked} derivatives of order {order} checked");
    (checked, wrong)
}

#[test]
fn derivatives_are_what_differences_say() {
    let (checked, wrong) = check_all(1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 600, "only {checked} derivatives were checked");
}

#[test]
fn second_derivatives_are_what_differences_of_the_first_say() {
    let (checked, wrong) = check_all(2);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 400, "only {checked} second derivatives were checked");
}
