//! Grids of places under affine maps: `affine_grid_generator`.

use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Call, Grads, OpBuilder, Rule, Value};
use shape::{SymInt, numel};
use tensor::{Layout, Tensor, TensorSpec};

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
        Rule::Fresh(|c| {
            let theta = c.tensor("theta")?;
            Ok(vec![Some(TensorSpec::contiguous(grid_sizes(c)?, theta.dtype(), theta.device()))])
        }),
    )
    .auto_linear(&["theta"])
    .grad("AffineGridGeneratorBackward", &[], |b: &Backward| {
        Grads::one(b, "theta", || {
            let (grad, call) = (b.grad()?, b.call());
            let sizes = grid_sizes(&call)?;
            let places = base_grid(grad, &sizes, call.bool("align_corners")?)?;
            let places = t!("transpose.int", t!("view", places, flat(&sizes, sizes.len() - 1))?, 1, 2)?;
            let grad = t!("reshape", grad, flat(&sizes, sizes.len() - 2))?;
            t!("transpose.int", t!("bmm", places, grad)?, 1, 2)
        })
    });
}

/// `[n, h, w, 2]` of a size `[n, c, h, w]`; one dimension more for volumes.
fn grid_sizes(c: &Call) -> Result<Vec<SymInt>> {
    let size = c.sym_ints("size")?;
    if size.len() != 4 && size.len() != 5 {
        return Err(Error::runtime("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs."));
    }
    let mut sizes = vec![size[0].clone()];
    sizes.extend_from_slice(&size[2..]);
    sizes.push(SymInt::from(size.len() as i64 - 2));
    Ok(sizes)
}

/// The grid's places as rows of so many coordinates.
fn flat(sizes: &[SymInt], coordinates: usize) -> Vec<SymInt> {
    vec![sizes[0].clone(), numel(&sizes[1..sizes.len() - 1]), SymInt::from(coordinates as i64)]
}

/// From -1 to 1 in steps: at the corners of pixels, or in their middles.
fn steps(like: &Tensor, count: &SymInt, align_corners: bool) -> Result<Tensor> {
    let count = count.guard_int()?;
    let layout = Value::Layout(Layout::Strided);
    if count <= 1 {
        return t!("scalar_tensor", 0; dtype = like.dtype(), layout = layout, device = like.device());
    }
    let line = t!("linspace", -1, 1, count; dtype = like.dtype(), layout = layout, device = like.device())?;
    if align_corners { Ok(line) } else { t!("div.Scalar", t!("mul.Scalar", line, count - 1)?, count) }
}

/// Homogeneous coordinates of the places before they are mapped.
fn base_grid(like: &Tensor, sizes: &[SymInt], align_corners: bool) -> Result<Tensor> {
    let axes = sizes.len() - 2;
    let mut padded = sizes.to_vec();
    padded[axes + 1] = SymInt::from(axes as i64 + 1);
    let layout = Value::Layout(Layout::Strided);
    let grid = t!("empty.memory_format", padded; dtype = like.dtype(), layout = layout, device = like.device())?;
    for axis in 0..axes {
        let target = t!("select.int", &grid, -1, axis as i64)?;
        let mut line = steps(like, &sizes[axes - axis], align_corners)?;
        for _ in 0..axis {
            line = t!("unsqueeze", line, -1)?;
        }
        t!("copy_", target, line)?;
    }
    t!("fill_.Scalar", t!("select.int", &grid, -1, axes as i64)?, 1)?;
    Ok(grid)
}

/// The mapped places of a call, computed by other operators.
pub fn mapped(c: &Call) -> Result<Tensor> {
    let (theta, sizes) = (c.tensor("theta")?, grid_sizes(c)?);
    let places = t!("view", base_grid(theta, &sizes, c.bool("align_corners")?)?, flat(&sizes, sizes.len() - 1))?;
    t!("view", t!("bmm", places, t!("transpose.int", theta, 1, 2)?)?, sizes)
}
