//! Products composed of others: matmul, linear, outer, inner, tensordot, kron, multi_dot, bilinear.
//!
//! Which kernel a matmul ends in, and whether it folds its batch dimensions first, shows in every traced graph.

use crate::geometry as geo;
use crate::matrix::cpp_name;
use crate::shapes::{broadcast_two, dim_of, wrap_dims};
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Call, CastPolicy, Complex, Grad, Grads, Key, OpBuilder, Rule, Value, has_layer, modes};
use shape::{Relation, SymInt};
use tensor::{Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "matmul(Tensor self, Tensor other) -> Tensor",
        Rule::Composite(|c| matmul(c.tensor("self")?, c.tensor("other")?).map(Value::from)),
    )
    .doc("The product of matrices, vectors or batches of them.")
    .autocast(CastPolicy::LowerPrecisionFp);
    b.op(
        "linalg_matmul(Tensor self, Tensor other) -> Tensor",
        Rule::Composite(|c| matmul(c.tensor("self")?, c.tensor("other")?).map(Value::from)),
    )
    .doc("The product of matrices, vectors or batches of them.");
    b.op("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", Rule::Composite(linear))
        .doc("`input @ weight.T + bias`.")
        .autocast(CastPolicy::LowerPrecisionFp)
        .under_transforms(super::batch_composed::linear);
    b.op("outer(Tensor self, Tensor vec2) -> Tensor", Rule::Composite(outer)).doc("The outer product of vectors.");
    b.op(
        "ger(Tensor self, Tensor vec2) -> Tensor",
        Rule::Composite(|c| t!("outer", c.tensor("self")?, c.tensor("vec2")?).map(Value::from)),
    )
    .doc("The outer product of vectors.");
    b.op("inner(Tensor self, Tensor other) -> Tensor", Rule::Composite(inner)).doc("Products over the last dimensions.");
    b.op("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", Rule::Composite(tensordot)).function();
    b.op("kron(Tensor self, Tensor other) -> Tensor", Rule::Composite(kron)).doc("The Kronecker product.");
    b.op("linalg_multi_dot(Tensor[] tensors) -> Tensor", Rule::Composite(multi_dot)).doc("A chain of products, in the cheapest order.");
    b.op("chain_matmul(Tensor[] matrices) -> Tensor", Rule::Composite(chain_matmul));
    b.op("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", Rule::Composite(bilinear))
        .doc("`input1 @ weight @ input2 + bias`, per output feature.");
    b.op(
        "_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
        Rule::Fresh(trilinear_spec),
    ).complex(Complex::Product(&["i1", "i2", "i3"]))
    .grad("TrilinearBackward", &["i1", "i2", "i3"], trilinear_grad);
}

/// Whether the batch dimensions of the larger operand are folded into its rows, so that one mm does the work.
fn should_fold(a: &Tensor, b: &Tensor) -> Result<bool> {
    let (large, small) = if a.dim() >= b.dim() { (a, b) } else { (b, a) };
    if large.dim() < 3 || small.dim() > 2 {
        return Ok(false);
    }
    // Otherwise the backward would make a large temporary.
    if autograd::meta::requires_grad(small) {
        return Ok(true);
    }
    if a.dim() == 2 {
        return Ok(false);
    }
    let one = SymInt::Int(1);
    let g = large.geometry();
    let numel = dispatch::multiply(&g.sizes)?;
    dispatch::compare_sizes(&numel, Relation::Eq, &SymInt::Int(0))?;
    if numel.statically_eq(0) {
        return Ok(true);
    }
    let mut expected = vec![one.clone(); g.sizes.len()];
    for d in (1..g.sizes.len()).rev() {
        expected[d - 1] = dispatch::multiply(&[g.sizes[d].clone(), expected[d].clone()])?;
    }
    for ((size, stride), expected) in g.sizes.iter().zip(&g.strides).zip(&expected) {
        dispatch::compare_sizes(size, Relation::Eq, &one)?;
        if size.statically_eq(1) {
            continue;
        }
        dispatch::compare_sizes(stride, Relation::Eq, expected)?;
        if !stride.sym_eq(expected.clone())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A product without a dimension of one: in place in eager mode, as autograd's node shows; traces and transforms see the view.
fn squeezed(product: Tensor, dim: i64) -> Result<Tensor> {
    let is_seen = product.is_fake() || product.imp().transform.borrow().is_some() || has_layer(Key::Functionalize) || has_layer(Key::Trace);
    if is_seen { t!("squeeze.dim", product, dim) } else { t!("squeeze_.dim", product, dim) }
}

fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    match (a.dim(), b.dim()) {
        (0, _) | (_, 0) => {
            Err(Error::runtime(format!("both arguments to matmul need to be at least 1D, but they are {}D and {}D", a.dim(), b.dim())))
        }
        (1, 1) => t!("dot", a, b),
        (2, 1) => t!("mv", a, b),
        (1, 2) => squeezed(t!("mm", t!("unsqueeze", a, 0)?, b)?, 0),
        (2, 2) => t!("mm", a, b),
        _ if should_fold(a, b)? => folded(a, b),
        _ => batched(a, b),
    }
}

fn folded(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let transpose = b.dim() > a.dim();
    let large = if transpose { t!("transpose.int", b, -2, -1)? } else { a.clone() };
    let small = match (transpose, a.dim()) {
        (false, _) => b.clone(),
        (true, 2) => t!("t", a)?,
        (true, _) => a.clone(),
    };
    let sizes = large.sizes();
    let (last, batch) = (sizes[sizes.len() - 1].clone(), &sizes[..sizes.len() - 1]);
    let rows = t!("reshape", large, vec![dispatch::multiply(batch)?, last])?;
    let mut result = batch.to_vec();
    if small.dim() == 1 {
        return t!("_unsafe_view", t!("mv", rows, small)?, result);
    }
    result.push(small.size(1));
    let product = t!("_unsafe_view", t!("mm", rows, small)?, result)?;
    if transpose { t!("contiguous", t!("transpose.int", product, -2, -1)?) } else { Ok(product) }
}

fn batched(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (sa, sb) = (a.sizes(), b.sizes());
    let (da, db) = (sa.len(), sb.len());
    let rows = if da > 1 { sa[da - 2].clone() } else { SymInt::Int(1) };
    let inner_a = sa[da - 1].clone();
    let inner_b = if db > 1 { sb[db - 2].clone() } else { sb[db - 1].clone() };
    let cols = if db > 1 { sb[db - 1].clone() } else { SymInt::Int(1) };
    let (batch_a, batch_b) = (&sa[..da.saturating_sub(2)], &sb[..db.saturating_sub(2)]);
    // A batch of one that requires grad is better folded than expanded.
    if da == 3 && db == 3 {
        dispatch::compare_sizes(&batch_a[0], Relation::Ne, &batch_b[0])?;
    }
    if da == 3 && db == 3 && !batch_a[0].sym_eq(batch_b[0].clone())? {
        if batch_a[0].statically_eq(1) && autograd::meta::requires_grad(a) {
            return matmul(&t!("squeeze.dim", a, 0)?, b);
        }
        if batch_b[0].statically_eq(1) && autograd::meta::requires_grad(b) {
            return matmul(a, &t!("squeeze.dim", b, 0)?);
        }
    }
    dispatch::ask_broadcast(&[batch_a, batch_b])?;
    let batch = broadcast_two(batch_a, batch_b)?;
    let count = dispatch::multiply(&batch)?;
    let with = |tail: &[&SymInt]| batch.iter().chain(tail.iter().copied()).cloned().collect::<Vec<_>>();
    let left = t!("reshape", t!("expand", a, with(&[&rows, &inner_a]))?, vec![count.clone(), rows.clone(), inner_a])?;
    let mut result = batch.clone();
    if da > 1 {
        result.push(rows);
    }
    if db == 1 {
        let right = t!("reshape", t!("expand", b, with(&[&inner_b]))?, vec![count, inner_b])?;
        let product = squeezed(t!("bmm", left, t!("unsqueeze", right, 2)?)?, -1)?;
        return shaped(product, result);
    }
    let right = t!("reshape", t!("expand", b, with(&[&inner_b, &cols]))?, vec![count, inner_b, cols.clone()])?;
    result.push(cols);
    shaped(t!("bmm", left, right)?, result)
}

/// A product of batches in its own shape: no view for autograd, but what is traced shows one.
fn shaped(product: Tensor, sizes: Vec<SymInt>) -> Result<Tensor> {
    let is_seen = modes().fake || product.is_fake() || has_layer(Key::Trace);
    if is_seen && !modes().calls_as_aten { t!("view", product, sizes) } else { t!("_unsafe_view", product, sizes) }
}

fn is_in_order(t: &Tensor) -> Result<bool> {
    dispatch::ask_contiguity(t)?;
    t.is_contiguous()
}

fn linear(c: &Call) -> Result<Value> {
    let (input, weight, bias) = (c.tensor("input")?, c.tensor("weight")?, c.opt_tensor("bias"));
    if input.dim() == 0 || weight.dim() == 0 {
        return Err(Error::runtime(format!(
            "both arguments to linear need to be at least 1D, but they are {}D and {}D",
            input.dim(),
            weight.dim()
        )));
    }
    let transposed = || t!("t", weight);
    Ok(Value::from(match bias {
        None => t!("matmul", input, transposed()?)?,
        Some(bias) if input.dim() == 2 => t!("addmm", bias, input, transposed()?)?,
        Some(bias) if is_in_order(input)? => {
            let sizes = input.sizes();
            let (last, batch) = (sizes[sizes.len() - 1].clone(), &sizes[..sizes.len() - 1]);
            let rows = t!("reshape", input, vec![dispatch::multiply(batch)?, last])?;
            let product = t!("addmm", bias, rows, transposed()?)?;
            let mut result = batch.to_vec();
            result.push(product.size(1));
            t!("_unsafe_view", product, result)?
        }
        Some(bias) => {
            let product = t!("matmul", input, transposed()?)?;
            t!("add.Tensor", product, bias)?
        }
    }))
}

fn outer(c: &Call) -> Result<Value> {
    let (a, b) = (c.tensor("self")?, c.tensor("vec2")?);
    for (name, t) in [("self", a), ("vec2", b)] {
        if t.dim() != 1 {
            return Err(Error::runtime(format!("outer: Expected 1-D argument {name}, but got {}-D", t.dim())));
        }
    }
    Ok(Value::from(t!("mul.Tensor", t!("reshape", a, vec![a.size(0), SymInt::Int(1)])?, b)?))
}

fn inner(c: &Call) -> Result<Value> {
    let (a, b) = (c.tensor("self")?, c.tensor("other")?);
    if a.dim() == 0 || b.dim() == 0 {
        return Ok(Value::from(t!("mul.Tensor", a, b)?));
    }
    if !a.size(a.dim() - 1).sym_eq(b.size(b.dim() - 1))? {
        return Err(Error::runtime(format!(
            "inner() the last dimension must match on both input tensors but got shapes {:?} and {:?}",
            a.sizes(),
            b.sizes()
        )));
    }
    Ok(Value::from(t!("tensordot", a, b, vec![-1i64], vec![-1i64])?))
}

fn tensordot(c: &Call) -> Result<Value> {
    let (mut a, mut b) = (c.tensor("self")?.clone(), c.tensor("other")?.clone());
    let (dims_a, dims_b) = (c.ints("dims_self")?, c.ints("dims_other")?);
    if dims_a.len() != dims_b.len() {
        return Err(Error::runtime("both dimension lists should have same length"));
    }
    if a.dtype() != b.dtype() {
        return Err(Error::runtime("both inputs should have same dtype"));
    }
    let wrap = |dims: &[i64], t: &Tensor| if dims.is_empty() { Ok(Vec::new()) } else { wrap_dims(dims, t.dim()) };
    let (at_a, at_b) = (wrap(&dims_a, &a)?, wrap(&dims_b, &b)?);
    let mut shared = SymInt::Int(1);
    for i in 0..dims_a.len() {
        let (sa, sb) = (a.size(dim_of(&a, dims_a[i])?), b.size(dim_of(&b, dims_b[i])?));
        if sb.sym_eq(1)? {
            a = t!("sum.dim_IntList", a, vec![dims_a[i]], true)?;
        } else if sa.sym_eq(1)? {
            b = t!("sum.dim_IntList", b, vec![dims_b[i]], true)?;
        } else if sa.sym_eq(sb.clone())? {
            shared = &shared * &sa;
        } else {
            return Err(Error::runtime(format!(
                "contracted dimensions need to match, but first has size {sa} in dim {} and second has size {sb} in dim {}",
                dims_a[i], dims_b[i]
            )));
        }
    }
    let (mut order_a, mut order_b, mut result) = (Vec::new(), dims_b.clone(), Vec::new());
    let (mut rows, mut cols) = (SymInt::Int(1), SymInt::Int(1));
    for i in (0..a.dim()).filter(|i| !at_a.contains(i)) {
        order_a.push(i as i64);
        rows = dispatch::multiply(&[rows, a.size(i)])?;
        result.push(a.size(i));
    }
    order_a.extend(&dims_a);
    for i in (0..b.dim()).filter(|i| !at_b.contains(i)) {
        order_b.push(i as i64);
        cols = dispatch::multiply(&[cols, b.size(i)])?;
        result.push(b.size(i));
    }
    for count in [&rows, &cols] {
        dispatch::compare_sizes(count, Relation::Ne, &SymInt::Int(1))?;
    }
    if rows.sym_eq(1)? && cols.sym_eq(1)? {
        // One number: a dot product where both are vectors without a copy.
        let (a, b, flat) = (t!("permute", a, order_a)?, t!("permute", b, order_b)?, [shared]);
        let is_vector = |t: &Tensor| Ok::<_, Error>(geo::view_strides(&t.geometry(), &flat)?.is_some());
        let product = if is_vector(&a)? && is_vector(&b)? {
            t!("dot", t!("flatten.using_ints", a)?, t!("flatten.using_ints", b)?)?
        } else {
            t!("sum", t!("mul.Tensor", t!("squeeze", a)?, t!("squeeze", b)?)?)?
        };
        return Ok(Value::from(t!("reshape", product, result)?));
    }
    let a = t!("reshape", t!("permute", a, order_a)?, vec![rows, shared.clone()])?;
    let b = t!("reshape", t!("permute", b, order_b)?, vec![shared, cols])?;
    Ok(Value::from(t!("reshape", t!("mm", a, b)?, result)?))
}

fn kron(c: &Call) -> Result<Value> {
    let (a, b) = (c.tensor("self")?, c.tensor("other")?);
    let n = a.dim().max(b.dim());
    let padded = |t: &Tensor| [vec![SymInt::Int(1); n - t.dim()], t.sizes()].concat();
    let (sa, sb) = (padded(a), padded(b));
    let one = SymInt::Int(1);
    let a = t!("_unsafe_view", a, sa.iter().flat_map(|s| [s.clone(), one.clone()]).collect::<Vec<_>>())?;
    let b = t!("_unsafe_view", b, sb.iter().flat_map(|s| [one.clone(), s.clone()]).collect::<Vec<_>>())?;
    let result: Vec<SymInt> = sa.iter().zip(&sb).map(|(x, y)| x * y).collect();
    Ok(Value::from(t!("_unsafe_view", t!("mul.Tensor", a, b)?, result)?))
}

fn chain_matmul(c: &Call) -> Result<Value> {
    let matrices = c.tensors("matrices")?;
    match matrices.as_slice() {
        [] => Err(Error::runtime("chain_matmul(): Expected one or more matrices")),
        [only] => Ok(Value::from(t!("clone", only)?)),
        _ => Ok(Value::from(t!("linalg_multi_dot", matrices)?)),
    }
}

/// The product of a chain in the cheapest order; vectors may stand at its ends.
fn multi_dot(c: &Call) -> Result<Value> {
    let mut tensors = c.tensors("tensors")?;
    let n = tensors.len();
    if n < 2 {
        return Err(Error::runtime(format!("multi_dot(): expected at least 2 tensors but got {n}")));
    }
    let mut result = Vec::new();
    for (end, dim) in [(0, 0), (n - 1, 1)] {
        let t = tensors[end].clone();
        match t.dim() {
            1 => tensors[end] = t!("unsqueeze", t, dim as i64)?,
            2 => result.push(t.size(dim)),
            d => {
                let which = if end == 0 { "first" } else { "last" };
                return Err(Error::runtime(format!("multi_dot(): the {which} tensor must be 1D or 2D but got {d}D")));
            }
        }
    }
    if let Some((i, other)) = tensors.iter().enumerate().find(|(_, t)| t.dtype() != tensors[0].dtype()) {
        return Err(Error::runtime(format!(
            "multi_dot(): all tensors must have be the same dtype but tensor 0 is {} and tensor {i} {}",
            cpp_name(tensors[0].dtype()),
            cpp_name(other.dtype())
        )));
    }
    if n == 2 {
        return Ok(Value::from(t!("view", t!("mm", &tensors[0], &tensors[1])?, result)?));
    }
    let mut sizes = Vec::with_capacity(n + 1);
    for (i, t) in tensors.iter().enumerate() {
        if t.dim() != 2 {
            return Err(Error::runtime(format!("multi_dot(): tensor {i} must be 2D but got {}D", t.dim())));
        }
        sizes.push(t.size(0).guard_int()?);
    }
    sizes.push(tensors[n - 1].size(1).guard_int()?);
    for (i, pair) in tensors.windows(2).enumerate() {
        if !super::shapes::may_be_same(&[pair[0].size(1)], &[pair[1].size(0)]) {
            return Err(Error::runtime(format!(
                "multi_dot(): tensors {i} and {} with shapes {:?} and {:?} cannot be multiplied",
                i + 1,
                pair[0].sizes(),
                pair[1].sizes()
            )));
        }
    }
    let split = cheapest_order(&sizes);
    Ok(Value::from(t!("view", multiply_chain(&tensors, &split, 0, n - 1)?, result)?))
}

/// Where to split the chain from matrix i to matrix j, by the textbook's dynamic programme.
fn cheapest_order(sizes: &[i64]) -> Vec<Vec<usize>> {
    let n = sizes.len() - 1;
    let (mut cost, mut split) = (vec![vec![0f64; n]; n], vec![vec![0; n]; n]);
    for length in 1..n {
        for i in 0..n - length {
            let j = i + length;
            cost[i][j] = f64::INFINITY;
            for k in i..j {
                let q = cost[i][k] + cost[k + 1][j] + sizes[i] as f64 * sizes[k + 1] as f64 * sizes[j + 1] as f64;
                if q < cost[i][j] {
                    (cost[i][j], split[i][j]) = (q, k);
                }
            }
        }
    }
    split
}

fn multiply_chain(tensors: &[Tensor], split: &[Vec<usize>], i: usize, j: usize) -> Result<Tensor> {
    if i == j {
        return Ok(tensors[i].clone());
    }
    let k = split[i][j];
    t!("mm", multiply_chain(tensors, split, i, k)?, multiply_chain(tensors, split, k + 1, j)?)
}

fn bilinear(c: &Call) -> Result<Value> {
    let (a, b, weight, bias) = (c.tensor("input1")?, c.tensor("input2")?, c.tensor("weight")?, c.opt_tensor("bias"));
    let all = [("input1", Some(a)), ("input2", Some(b)), ("weight", Some(weight)), ("bias", bias)];
    if all.iter().any(|(_, t)| t.is_some_and(|t| t.dtype() != a.dtype())) {
        let shown = all.iter().filter_map(|(name, t)| Some(format!("{name}: {}", cpp_name((*t)?.dtype()))));
        let said = shown.collect::<Vec<_>>().join(", ");
        return Err(Error::runtime(format!("All tensors must have the same dtype, got {said}")));
    }
    if a.dim() != b.dim() {
        return Err(Error::runtime(format!("bilinear(): input dimensions do not match: got {} and {}", a.dim(), b.dim())));
    }
    for i in 0..a.dim().saturating_sub(1) {
        if !a.size(i).sym_eq(b.size(i))? {
            return Err(Error::runtime(format!(
                "bilinear(): input batch dimensions do not match at dim {i}: got {} and {}",
                a.size(i),
                b.size(i)
            )));
        }
    }
    for (name, t, dims) in [("input1", a, 1), ("input2", b, 1), ("weight", weight, 3)] {
        crate::shapes::need_dims("bilinear", name, t, dims)?;
    }
    let last = |t: &Tensor| t.size(t.dim() - 1);
    for (name, t, dim) in [("input1", a, 1), ("input2", b, 2)] {
        if !last(t).sym_eq(weight.size(dim))? {
            return Err(Error::runtime(format!(
                "bilinear(): {name} size does not match weight size: got {} but expected {}",
                last(t),
                weight.size(dim)
            )));
        }
    }
    let mut result = a.sizes();
    result.pop();
    result.push(weight.size(0));
    let flat = |t: &Tensor| t!("reshape", t, vec![SymInt::Int(-1), last(t)]);
    let product = t!("_trilinear", flat(a)?, weight, flat(b)?, vec![1i64, 3], vec![0i64], vec![1i64, 2], vec![2i64, 3])?;
    let product = t!("reshape", product, result)?;
    Ok(Value::from(match bias {
        Some(bias) => t!("add.Tensor", product, bias)?,
        None => product,
    }))
}

/// Sizes of an operand with dimensions of one inserted.
pub fn inserted<T: Clone>(sizes: &[T], at: &[i64], one: T) -> Vec<T> {
    let mut out = sizes.to_vec();
    for i in at {
        out.insert((*i).clamp(0, out.len() as i64) as usize, one.clone());
    }
    out
}

fn trilinear_spec(c: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let mut shapes = Vec::new();
    for (name, expand) in [("i1", "expand1"), ("i2", "expand2"), ("i3", "expand3")] {
        shapes.push(inserted(&c.tensor(name)?.sizes(), &c.ints(expand)?, SymInt::Int(1)));
    }
    let full = crate::shapes::broadcast(&shapes)?;
    let summed = c.ints("sumdim")?;
    let sizes = full.into_iter().enumerate().filter(|(i, _)| !summed.contains(&(*i as i64))).map(|(_, s)| s).collect();
    let like = c.tensor("i1")?;
    Ok(vec![Some(TensorSpec::contiguous(sizes, like.dtype(), like.device()))])
}

fn trilinear_grad(b: &Backward) -> Result<Grads> {
    let (mut grads, grad) = (Grads::new(b), b.grad()?);
    let arg = |name| b.arg(name).clone();
    let (e1, e2, e3, sum) = (arg("expand1"), arg("expand2"), arg("expand3"), arg("sumdim"));
    let saved = |name| b.saved(name);
    let mut formulas: Vec<Grad> = Vec::new();
    for name in ["i1", "i2", "i3"] {
        formulas.push(if !b.needs(name) {
            Grad::None
        } else {
            Grad::Tensor(match name {
                "i1" => t!("_trilinear", grad, saved("i2")?, saved("i3")?, &sum, &e2, &e3, &e1)?,
                "i2" => t!("_trilinear", saved("i1")?, grad, saved("i3")?, &e1, &sum, &e3, &e2)?,
                _ => t!("_trilinear", saved("i1")?, saved("i2")?, grad, &e1, &e2, &sum, &e3)?,
            })
        });
    }
    for (i, g) in formulas.into_iter().enumerate() {
        grads.0[i] = g;
    }
    Ok(grads)
}
