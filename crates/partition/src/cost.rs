//! What computing a value costs, as PyTorch's memory budget estimates it.

use super::config::RuntimeEstimator;
use super::joint::Joint;
use super::op_sets::packet;
use diagnostics::error::{Error, Result};
use graph::{Arg, FakeValue, Node, NodeId};

/// Sizes that depend on data count as this many.
const UNKNOWN_SIZE: f64 = 4096.0;

/// A value as the solvers that work in float32 see it.
pub(super) fn float32(value: f64) -> f32 {
    value as f32
}

/// The costs of calls by an estimator.
pub(super) fn estimate_runtimes(joint: &Joint, nodes: &[NodeId], estimator: &RuntimeEstimator) -> Result<Vec<f64>> {
    match estimator {
        RuntimeEstimator::Flops => Ok(nodes.iter().map(|id| flops(joint, joint.graph.node(*id)).max(1.0)).collect()),
        RuntimeEstimator::Testing => Ok(vec![1.0; nodes.len()]),
        RuntimeEstimator::Custom(estimator) => (estimator.0)(joint.graph, nodes),
        RuntimeEstimator::Other(name) if name == "profile" => {
            Err(Error::runtime("The runtime estimator 'profile' measures on a GPU, and there is none; use 'flops' or 'testing'"))
        }
        RuntimeEstimator::Other(name) => Err(Error::runtime(format!("Not aware of runtime estimator: {name}"))),
    }
}

fn sizes(value: Option<&FakeValue>) -> Vec<f64> {
    match value {
        Some(FakeValue::Tensor(spec)) => spec.geometry.sizes.iter().map(|s| s.hint().map_or(UNKNOWN_SIZE, |n| n as f64)).collect(),
        _ => Vec::new(),
    }
}

/// Two per multiplication of a convolution.
fn convolution(x: &[f64], weight: &[f64], out: &[f64], transposed: bool) -> f64 {
    match (x.first(), weight.len() > 2) {
        (Some(batch), true) => {
            let moved = if transposed { x } else { out };
            2.0 * batch * moved.iter().skip(2).product::<f64>() * weight.iter().product::<f64>()
        }
        _ => 0.0,
    }
}

/// Floating-point operations of a call, as PyTorch's flop counter counts them: of matrix products, convolutions and attention.
pub(super) fn flops(joint: &Joint, node: &Node) -> f64 {
    let shape = |i: usize| match node.args.get(i) {
        Some(Arg::Node(id)) => sizes(joint.graph.node(*id).meta.value.as_ref()),
        _ => Vec::new(),
    };
    let product = |a: usize| match (shape(a).as_slice(), shape(a + 1).as_slice()) {
        ([m, k], [_, n]) => 2.0 * m * n * k,
        ([b, m, k], [_, _, n]) => 2.0 * b * m * n * k,
        _ => 0.0,
    };
    match packet(node) {
        Some("aten.mm" | "aten.bmm" | "aten._scaled_mm") => product(0),
        Some("aten.addmm" | "aten.baddbmm") => product(1),
        Some("aten.convolution" | "aten._convolution") => {
            let transposed = matches!(node.args.get(6), Some(Arg::Bool(true)));
            convolution(&shape(0), &shape(1), &sizes(node.meta.value.as_ref()), transposed)
        }
        Some("aten.convolution_backward") => convolution_backward(node, &shape),
        Some(p) if p.starts_with("aten._scaled_dot_product") && !p.ends_with("_backward") => {
            match (shape(0).as_slice(), shape(1).as_slice(), shape(2).as_slice()) {
                ([b, h, sq, dq], [_, _, sk, _], [_, _, _, dv]) => 2.0 * b * h * (sq * sk * dq + sq * sk * dv),
                _ => 0.0,
            }
        }
        _ => 0.0,
    }
}

fn convolution_backward(node: &Node, shape: &dyn Fn(usize) -> Vec<f64>) -> f64 {
    let (grad, x, weight) = (shape(0), shape(1), shape(2));
    let transposed = matches!(node.args.get(7), Some(Arg::Bool(true)));
    let swapped = |s: &[f64]| match s {
        [a, b, rest @ ..] => [&[*b, *a], rest].concat(),
        short => short.to_vec(),
    };
    let wanted = |i: usize| match node.args.get(10) {
        Some(Arg::List(mask) | Arg::Tuple(mask)) => matches!(mask.get(i), Some(Arg::Bool(true))),
        _ => false,
    };
    let mut total = 0.0;
    if wanted(0) {
        total += convolution(&grad, &weight, &x, !transposed);
    }
    if wanted(1) {
        let (a, b) = if transposed { (&grad, &x) } else { (&x, &grad) };
        total += convolution(&swapped(a), &swapped(b), &swapped(&weight), false);
    }
    total
}
