//! In-place names that stand for others, and small operators of integers and matrices.

use super::common::*;
use super::layout::{spec, suggested};
use diagnostics::error::{Error, Result};
use dispatch::{Backward, Call, CastPolicy, Grads, OpBuilder, Rule, Tags, Value};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::{Dtype, MemoryFormat};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    macro_rules! same {
        ($($schema:literal => $of:literal;)*) => { $(b.op($schema, Rule::Composite(|c| aten!($of, &c.args[0], &c.args[1])));)* };
    }
    same! {
        "multiply_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)" => "mul_.Tensor";
        "multiply_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)" => "mul_.Scalar";
        "divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)" => "div_.Tensor";
        "divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)" => "div_.Scalar";
        "arctan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)" => "atan2_";
        "greater_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)" => "gt_.Tensor";
        "greater_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)" => "gt_.Scalar";
        "greater_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)" => "ge_.Tensor";
        "greater_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)" => "ge_.Scalar";
        "less_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)" => "lt_.Tensor";
        "less_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)" => "lt_.Scalar";
        "less_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)" => "le_.Tensor";
        "less_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)" => "le_.Scalar";
        "not_equal_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)" => "ne_.Tensor";
        "not_equal_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)" => "ne_.Scalar";
    }
    b.op(
        "subtract_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
        Rule::Composite(|c| aten!("sub_.Tensor", c.get("self"), c.get("other"); alpha = c.get("alpha"))),
    );
    b.op("fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)", Rule::Composite(fill_diagonal))
        .doc("The diagonal set to a value.");
    for name in ["gcd", "lcm"] {
        b.op(&format!("{name}(Tensor self, Tensor other) -> Tensor"), Rule::Fresh(whole))
            .tags(Tags::POINTWISE)
            .not_differentiable()
            .inplace();
    }
    b.at("gcd").doc("The greatest common divisor.");
    b.at("lcm").doc("The least common multiple.");
    register_unpooling(b);
    b.op(
        "pdist(Tensor self, float p=2) -> Tensor",
        Rule::Composite(|c| {
            let x = c.tensor("self")?;
            if x.dim() != 2 {
                return Err(Error::runtime("pdist only supports 2D tensors, got: ".to_owned() + &x.dim().to_string() + "D"));
            }
            let rows = x.size(0);
            let pairs = t!("triu_indices", rows.clone(), rows, 1)?;
            let row = |i: i64| t!("index_select", x, 0, t!("select.int", &pairs, 0, i)?);
            aten!("linalg_vector_norm", t!("sub.Tensor", row(0)?, row(1)?)?, c.get("p"), vec![-1i64])
        }),
    )
    .doc("Distances between all pairs of rows.")
    .function();
}

/// Two integers, promoted.
fn whole(c: &Call) -> Specs {
    let specs = promoted(c, &["self", "other"])?;
    let dtype = specs[0].as_ref().map_or(Dtype::Int64, |s| s.dtype);
    if dtype.is_floating() || dtype.is_complex() || dtype == Dtype::Bool {
        let stub = format!("{}_cpu", c.entry.base_name().trim_end_matches('_'));
        return Err(Error::not_implemented(format!("\"{stub}\" not implemented for '{}'", dtype.scalar_type())));
    }
    Ok(specs)
}

fn fill_diagonal(c: &Call) -> Result<Value> {
    let x = c.tensor("self")?;
    let (g, sizes) = (x.geometry(), x.sizes());
    if sizes.len() < 2 {
        return Err(Error::runtime("dimensions must larger than 1"));
    }
    for pair in sizes.windows(2) {
        if sizes.len() > 2 && !pair[0].sym_eq(pair[1].clone())? {
            return Err(Error::runtime("all dimensions of input must be of equal length"));
        }
    }
    let step = g.strides.iter().fold(SymInt::Int(0), |sum, s| &sum + s);
    let (rows, columns) = (sizes[0].guard_int()?, sizes[1].guard_int()?);
    let fill =
        |size: i64, offset: SymInt| t!("fill_.Scalar", t!("as_strided", x, vec![size], vec![step.clone()], offset)?, c.get("fill_value"));
    fill(sizes.iter().map(|s| s.hint().unwrap_or(0)).min().unwrap_or(0), g.offset.clone())?;
    if c.bool("wrap")? && sizes.len() == 2 && rows > columns + 1 {
        // A row is left out after each block.
        tensor::check_count(rows / (columns + 1))?;
        let mut start = columns + 1;
        while start < rows {
            fill((rows - start).min(columns), &g.offset + &(&g.strides[0] * start))?;
            start += columns + 1;
        }
    }
    Ok(x.into())
}

fn unpooled(c: &Call) -> Specs {
    let (x, indices, output) = (c.tensor("self")?, c.tensor("indices")?, c.sym_ints("output_size")?);
    let name = c.entry.base_name();
    if indices.dtype() != Dtype::Int64 {
        return Err(Error::runtime(format!("elements in indices should be type int64 but got: {}", indices.dtype().scalar_type())));
    }
    let n = crate::pooling::spatial(c);
    if x.dim() != n + 1 && x.dim() != n + 2 {
        return Err(Error::runtime(format!(
            "Input to {name} should be a {}d or {}d Tensor, but got a tensor with {} dimensions.",
            n + 1,
            n + 2,
            x.dim()
        )));
    }
    if output.len() != n {
        let elements = if n == 2 { "two elements (height, width)" } else { "three elements (depth, height, width)" };
        return Err(Error::runtime(format!("There should be exactly {elements} in output_size, but got {} elements.", output.len())));
    }
    let same = x.sizes().iter().zip(&indices.sizes()).all(|(a, b)| a.statically_eq(b.clone())) && x.dim() == indices.dim();
    if !same {
        return Err(Error::runtime(format!("Expected shape of indices to be: {:?} but got: {:?}", x.sizes(), indices.sizes())));
    }
    let mut sizes = x.sizes()[..x.dim() - output.len()].to_vec();
    let planar = output.len() == 2;
    sizes.extend(output);
    Ok(vec![Some(spec(sizes, if planar { suggested(x) } else { MemoryFormat::Contiguous }, x))])
}

fn unpool_grad(b: &Backward, dims: usize) -> Result<Grads> {
    let indices = b.saved("indices")?;
    unary_grad(b, |g| {
        let sizes = indices.sizes();
        let mut flat = sizes[..sizes.len() - dims].to_vec();
        flat.push(SymInt::Int(-1));
        let places = t!("view", indices, &flat)?;
        let g = t!("contiguous", g; memory_format = crate::layout::suggested(indices))?;
        t!("view", t!("gather", t!("view", g, &flat)?, -1, places)?, sizes)
    })
}

fn register_unpooling(b: &mut OpBuilder) {
    b.op("max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor", Rule::Fresh(unpooled))
        .doc("Values put back where a pooling found them.")
        .autocast(CastPolicy::Fp32)
        .auto_linear(&["self"]);
    b.grad("MaxUnpool2DBackward", &["indices"], |b| unpool_grad(b, 2));
    b.op(
        "max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor",
        Rule::Fresh(unpooled),
    )
    .doc("Values put back where a pooling found them.")
    .autocast(CastPolicy::Fp32)
    .auto_linear(&["self"]);
    b.grad("MaxUnpool3DBackward", &["indices"], |b| unpool_grad(b, 3));
}
