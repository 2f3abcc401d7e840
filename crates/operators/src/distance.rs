//! Distances and similarities of vectors, and the losses made of them.

use crate::loss::apply_reduction;
use crate::shapes::{broadcast_two, result_type};
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Call, CastPolicy, Grads, OpBuilder, Rule, Value, modes, set_modes};
use shape::{Relation, SymInt, numel};
use tensor::{MemoryFormat, Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", Rule::Composite(cosine_similarity))
        .doc("The cosine of the angle between vectors.");
    b.op(
        "pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False) -> Tensor",
        Rule::Composite(pairwise_distance),
    )
    .doc("Distances between rows.");
    b.op("cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor", Rule::Composite(cdist))
        .autocast(CastPolicy::Fp32)
        .refuses("bic", "R:cdist only supports floating-point dtypes, X1 got: {}");
    b.op("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", Rule::Fresh(cdist_spec)).refuses("h", "cdist").grad(
        "CdistBackward",
        &["x1", "x2", "result"],
        cdist_grad,
    );
    b.op("_cdist_backward(Tensor grad_output, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor", Rule::Fresh(cdist_backward_spec));
    b.op("_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", Rule::Fresh(cdist_spec)).grad(
        "EuclideanDistBackward",
        &["x1", "x2", "result"],
        euclidean_grad,
    );
    b.op(
        "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean) -> Tensor",
        Rule::Composite(cosine_embedding_loss),
    )
    .doc("How far cosine similarities are from being 1 or below a margin.")
    .autocast(CastPolicy::Fp32);
    b.op(
        "hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=Mean) -> Tensor",
        Rule::Composite(hinge_embedding_loss),
    )
    .doc("A loss of distances labelled 1 or -1.")
    .function()
    .autocast(CastPolicy::Fp32);
    b.op(
        "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean) -> Tensor",
        Rule::Composite(margin_ranking_loss),
    )
    .doc("How far a ranking is from holding by a margin.")
    .autocast(CastPolicy::Fp32);
    b.op(
        "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool swap=False, int reduction=Mean) -> Tensor",
        Rule::Composite(triplet_margin_loss),
    ).doc("How far an anchor is from being nearer to the positive by a margin.").autocast(CastPolicy::Fp32);
    b.op(
        "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
        Rule::Composite(poisson_nll_loss),
    )
    .doc("The negative log likelihood of a Poisson distribution.")
    .autocast(CastPolicy::Fp32);
}

fn cosine_similarity(c: &Call) -> Result<Value> {
    let (mut a, mut b) = (c.tensor("x1")?.clone(), c.tensor("x2")?.clone());
    let dtype = result_type(&[c.get("x1"), c.get("x2")])?;
    if !dtype.is_floating() {
        return Err(Error::runtime(format!("expected common dtype to be floating point, yet common dtype is {}", dtype.scalar_type())));
    }
    let sizes = broadcast_two(&a.sizes(), &b.sizes())?;
    let mut same = a.dim() == b.dim();
    for (x, y) in a.sizes().iter().zip(b.sizes()) {
        same = same && x.statically_eq(y);
    }
    for t in [&mut b, &mut a] {
        *t = crate::softmax::to_dtype(t, Some(dtype))?;
        if !same {
            *t = t!("expand", &*t, sizes.clone())?;
        }
    }
    let dim = vec![c.get("dim").clone()];
    let norm = |t: &Tensor| t!("clone", t!("linalg_vector_norm", t, 2, dim.clone(), true)?);
    let (mut norm_a, mut norm_b) = (norm(&a)?, norm(&b)?);
    // The floor under the norms has no derivative.
    let before = set_modes(dispatch::Modes { grad: false, ..modes() });
    let clamped = t!("scalar_tensor", c.float("eps")?; dtype = dtype, device = norm_a.device()).and_then(|floor| {
        norm_a = t!("clamp_min_.Tensor", &norm_a, &floor)?;
        norm_b = t!("clamp_min_.Tensor", &norm_b, &floor)?;
        Ok(())
    });
    set_modes(before);
    clamped?;
    let b = t!("div.Tensor", b, norm_b)?;
    let a = t!("div.Tensor", a, norm_a)?;
    Ok(t!("sum.dim_IntList", t!("mul.Tensor", a, b)?, dim)?.into())
}

fn pairwise_distance(c: &Call) -> Result<Value> {
    let (a, b) = (c.tensor("x1")?, c.tensor("x2")?);
    let dim = a.dim().max(b.dim()) as i64 - 1;
    let difference = t!("add.Scalar", t!("sub.Tensor", a, b)?, c.float("eps")?)?;
    Ok(t!("norm.ScalarOpt_dim", difference, c.float("p")?, vec![dim], c.bool("keepdim")?)?.into())
}

fn cdist(c: &Call) -> Result<Value> {
    let (a, b, p) = (c.tensor("x1")?, c.tensor("x2")?, c.float("p")?);
    for (name, t) in [("X1", a), ("X2", b)] {
        if t.dim() < 2 {
            return Err(Error::runtime(format!("cdist only supports at least 2D tensors, {name} got: {}D", t.dim())));
        }
    }
    let (cols_a, cols_b) = (a.size(a.dim() - 1), b.size(b.dim() - 1));
    if !cols_a.sym_eq(cols_b.clone())? {
        return Err(Error::runtime(format!("X1 and X2 must have the same number of columns. X1: {cols_a} X2: {cols_b}")));
    }
    if p < 0.0 {
        return Err(Error::runtime("cdist only supports non-negative p values"));
    }
    let mode = if c.get("compute_mode").is_none() { 0 } else { c.int("compute_mode")? };
    let (rows_a, rows_b) = (a.size(a.dim() - 2), b.size(b.dim() - 2));
    for t in [a, b] {
        dispatch::ask_empty(t)?;
    }
    for rows in [&rows_a, &rows_b] {
        dispatch::compare_sizes(rows, Relation::Gt, &SymInt::Int(25))?;
    }
    let many = SymInt::Int(25).sym_lt(rows_a.clone())? || SymInt::Int(25).sym_lt(rows_b.clone())?;
    if p == 2.0 && (mode == 1 || (mode == 0 && many)) {
        let (sa, sb) = (a.sizes(), b.sizes());
        let batch = broadcast_two(&sa[..sa.len() - 2], &sb[..sb.len() - 2])?;
        let result = [batch.clone(), vec![rows_a.clone(), rows_b.clone()]].concat();
        let flat = |t: &Tensor, rows: SymInt| {
            let full = t!("expand", t, [batch.clone(), vec![rows.clone(), cols_a.clone()]].concat())?;
            t!("reshape", full, vec![numel(&batch), rows, cols_a.clone()])
        };
        let (flat_a, flat_b) = (flat(a, rows_a)?, flat(b, rows_b)?);
        // Without a batch the flat forms are made all the same, and not used.
        let distances = if batch.is_empty() { t!("_euclidean_dist", a, b)? } else { t!("_euclidean_dist", flat_a, flat_b)? };
        return Ok(t!("view", distances, result)?.into());
    }
    Ok(t!("_cdist_forward", a, b, p, c.get("compute_mode"))?.into())
}

fn cdist_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (a, b) = (c.tensor("x1")?, c.tensor("x2")?);
    crate::shapes::need_dims("cdist", "X1", a, 2)?;
    crate::shapes::need_dims("cdist", "X2", b, 2)?;
    let (sa, sb) = (a.sizes(), b.sizes());
    let (cols_a, cols_b) = (&sa[sa.len() - 1], &sb[sb.len() - 1]);
    if !crate::shapes::may_be_same(std::slice::from_ref(cols_a), std::slice::from_ref(cols_b)) {
        return Err(Error::runtime(format!("X1 and X2 must have the same number of columns. X1: {cols_a} X2: {cols_b}")));
    }
    let mut sizes = broadcast_two(&sa[..sa.len() - 2], &sb[..sb.len() - 2])?;
    sizes.push(sa[sa.len() - 2].clone());
    sizes.push(sb[sb.len() - 2].clone());
    Ok(vec![Some(TensorSpec::contiguous(sizes, a.dtype(), a.device()))])
}

fn cdist_backward_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (a, distances) = (c.tensor("x1")?, c.tensor("cdist")?);
    let expected = cdist_spec(c)?.into_iter().flatten().next().map_or_else(Vec::new, |spec| spec.geometry.sizes);
    for (name, t) in [("grad_output", c.tensor("grad_output")?), ("cdist", distances)] {
        crate::shapes::need_sizes("_cdist_backward", name, t, &expected)?;
    }
    let mut sizes = distances.sizes();
    sizes.pop();
    sizes.push(a.size(a.dim() - 1));
    Ok(vec![Some(TensorSpec::contiguous(sizes, a.dtype(), a.device()))])
}

fn cdist_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad, distances) = (Grads::new(b), b.grad()?, b.result(0)?);
    let (x1, x2, p) = (b.saved("x1")?, b.saved("x2")?, b.arg("p"));
    let flipped = |t: &Tensor| t!("contiguous", t!("transpose.int", t, -2, -1)?; memory_format = MemoryFormat::Contiguous);
    grads.set(b, "x1", || t!("_cdist_backward", t!("contiguous", grad)?, x1, x2, p, distances))?;
    grads.set(b, "x2", || {
        let distances = flipped(distances)?;
        t!("_cdist_backward", flipped(grad)?, x2, x1, p, distances)
    })?;
    Ok(grads)
}

fn euclidean_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad, distances) = (Grads::new(b), b.grad()?, b.result(0)?);
    let (x1, x2) = (b.saved("x1")?, b.saved("x2")?);
    let ratio = t!("div.Tensor", grad, distances)?;
    let ratio = t!("masked_fill_.Scalar", ratio, t!("eq.Scalar", distances, 0)?, 0)?;
    grads.set(b, "x1", || {
        let product = t!("matmul", &ratio, x2)?;
        let own = t!("mul.Tensor", x1, t!("sum.dim_IntList", &ratio, vec![-1i64], true)?)?;
        t!("sub.Tensor", own, product)
    })?;
    grads.set(b, "x2", || {
        let product = t!("matmul", t!("transpose.int", &ratio, -2, -1)?, x1)?;
        let sums = t!("unsqueeze", t!("sum.dim_IntList", &ratio, vec![-2i64])?, -1)?;
        t!("sub.Tensor", t!("mul.Tensor", x2, sums)?, product)
    })?;
    Ok(grads)
}

/// `number - t`, the way PyTorch's operator makes it.
fn number_minus(number: impl Into<Value>, t: &Tensor) -> Result<Tensor> {
    let filled = t!("fill_.Scalar", t!("empty_like", t; memory_format = MemoryFormat::Preserve)?, number.into())?;
    t!("sub_.Tensor", filled, t)
}

fn zeros_like(t: &Tensor) -> Result<Tensor> {
    t!("zeros_like", t; memory_format = MemoryFormat::Contiguous)
}

fn cosine_embedding_loss(c: &Call) -> Result<Value> {
    let (a, b, target) = (c.tensor("input1")?, c.tensor("input2")?, c.tensor("target")?);
    if target.dim() > 1 {
        return Err(Error::runtime("0D or 1D target tensor expected, multi-target not supported"));
    }
    let wanted = target.dim() + 1;
    if a.dim() != wanted || b.dim() != wanted {
        return Err(Error::runtime(format!(
            "{}D target tensor expects {wanted}D input tensors, but found inputs with sizes {:?} and {:?}.",
            target.dim(),
            a.sizes(),
            b.sizes()
        )));
    }
    let dim = vec![target.dim() as i64];
    let product_sum = |x: &Tensor, y: &Tensor| t!("sum.dim_IntList", t!("mul.Tensor", x, y)?, dim.clone());
    let epsilon = f64::from(1e-12f32);
    let product = product_sum(a, b)?;
    let square_a = t!("add.Scalar", product_sum(a, a)?, epsilon)?;
    let square_b = t!("add.Scalar", product_sum(b, b)?, epsilon)?;
    let norm = t!("sqrt_", t!("mul.Tensor", square_a, square_b)?)?;
    let cosine = t!("div.Tensor", product, norm)?;
    let zeros = zeros_like(&cosine)?;
    let positive = number_minus(1, &cosine)?;
    let negative = t!("clamp_min_", t!("sub.Scalar", cosine, c.float("margin")?)?, 0)?;
    let positive = t!("where.self", t!("eq.Scalar", target, 1)?, positive, &zeros)?;
    let negative = t!("where.self", t!("eq.Scalar", target, -1)?, negative, zeros)?;
    apply_reduction(t!("add.Tensor", positive, negative)?, c.int("reduction")?)
}

fn hinge_embedding_loss(c: &Call) -> Result<Value> {
    let (input, target) = (c.tensor("self")?, c.tensor("target")?);
    let zeros = zeros_like(input)?;
    let margin = t!("clamp_min_", number_minus(c.float("margin")?, input)?, 0)?;
    let far = t!("where.self", t!("ne.Scalar", target, 1)?, margin, &zeros)?;
    let near = t!("where.self", t!("ne.Scalar", target, -1)?, input, zeros)?;
    apply_reduction(t!("add.Tensor", far, near)?, c.int("reduction")?)
}

fn margin_ranking_loss(c: &Call) -> Result<Value> {
    let (a, b, target) = (c.tensor("input1")?, c.tensor("input2")?, c.tensor("target")?);
    let difference = t!("sub.Tensor", a, b)?;
    let loss = t!("add.Scalar", t!("mul.Tensor", t!("neg", target)?, difference)?, c.float("margin")?)?;
    apply_reduction(t!("clamp_min_", loss, 0)?, c.int("reduction")?)
}

fn triplet_margin_loss(c: &Call) -> Result<Value> {
    let (anchor, positive, negative) = (c.tensor("anchor")?, c.tensor("positive")?, c.tensor("negative")?);
    if anchor.dim() != positive.dim() || positive.dim() != negative.dim() {
        return Err(Error::runtime(format!(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor {}D, positive {}D, and negative {}D inputs",
            anchor.dim(),
            positive.dim(),
            negative.dim()
        )));
    }
    let distance = |a: &Tensor, b: &Tensor| t!("pairwise_distance", a, b, c.float("p")?, c.float("eps")?);
    let near = distance(anchor, positive)?;
    let mut far = distance(anchor, negative)?;
    if c.bool("swap")? {
        far = t!("minimum", far, distance(positive, negative)?)?;
    }
    let loss = t!("sub.Tensor", t!("add.Scalar", near, c.float("margin")?)?, far)?;
    apply_reduction(t!("clamp_min", loss, 0)?, c.int("reduction")?)
}

fn poisson_nll_loss(c: &Call) -> Result<Value> {
    let (input, target) = (c.tensor("input")?, c.tensor("target")?);
    let mut loss = if c.bool("log_input")? {
        let product = t!("mul.Tensor", target, input)?;
        t!("sub.Tensor", t!("exp", input)?, product)?
    } else {
        let log = t!("log", t!("add.Scalar", input, c.float("eps")?)?)?;
        t!("sub.Tensor", input, t!("mul.Tensor", target, log)?)?
    };
    if c.bool("full")? {
        // Stirling's approximation of the factorial's logarithm, where the target exceeds one.
        let half_log = t!("mul.Scalar", t!("log", t!("mul.Scalar", target, std::f64::consts::TAU)?)?, 0.5)?;
        let stirling = t!("add.Tensor", t!("sub.Tensor", t!("mul.Tensor", target, t!("log", target)?)?, target)?, half_log)?;
        let small = t!("le.Scalar", target, 1)?;
        loss = t!("add_.Tensor", loss, t!("masked_fill.Scalar", stirling, small, 0)?)?;
    }
    apply_reduction(loss, c.int("reduction")?)
}
