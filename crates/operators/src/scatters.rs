//! Writing a part into a whole without mutation: the scatters that functionalization makes of views, and the backward
//! operators of views, which scatter into zeros.

use super::geometry as geo;
use super::joining::{like, preserved};
use super::views::zeros_of;
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Batch, Call, Complex, Grads, OpBuilder, Rule, Tags, Value};
use shape::SymInt;
use tensor::{Geometry, Tensor, TensorSpec};

fn opt_sym_int(value: &Value) -> Result<Option<SymInt>> {
    if value.is_none() { Ok(None) } else { value.sym_int().map(Some) }
}

/// Where in a whole of this geometry the part of a scatter, or of a view's backward, belongs.
pub fn region(call: &Call, whole: &Geometry) -> Result<Geometry> {
    match call.entry.schema.name.as_str() {
        "slice_scatter" | "slice_backward" => {
            let (start, end) = (opt_sym_int(call.get("start"))?, opt_sym_int(call.get("end"))?);
            geo::slice(whole, call.int("dim")?, start.as_ref(), end.as_ref(), &call.sym_int("step")?)
        }
        "select_scatter" | "select_backward" => geo::select(whole, call.int("dim")?, &call.sym_int("index")?),
        "diagonal_scatter" | "diagonal_backward" => geo::diagonal(whole, call.int("offset")?, call.int("dim1")?, call.int("dim2")?),
        "as_strided_scatter" => {
            let offset = opt_sym_int(call.get("storage_offset"))?;
            geo::as_strided(whole, &call.sym_ints("size")?, &call.sym_ints("stride")?, offset.as_ref())
        }
        "diag_embed" => {
            let n = whole.sizes.len();
            let (a, b) = (call.int("dim1")?, call.int("dim2")?);
            geo::diagonal(whole, call.int("offset")?, super::shapes::wrap_dim(a, n)? as i64, super::shapes::wrap_dim(b, n)? as i64)
        }
        other => Err(Error::runtime(format!("{other} does not write into a region"))),
    }
}

fn scatter(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (tensor, source) = (call.tensor("self")?, call.tensor("src")?);
    let part = region(call, &tensor.geometry())?;
    if !geo::same_sizes(&part.sizes, &source.sizes())? {
        return Err(Error::runtime(format!(
            "expected src to have a size equal to the slice of self. src size = {}, slice size = {}",
            geo::list(&source.sizes()),
            geo::list(&part.sizes)
        )));
    }
    let g = tensor.geometry();
    let overlaps = g.sizes.iter().zip(&g.strides).any(|(n, stride)| stride.as_int() == Some(0) && n.as_int() != Some(1));
    if !overlaps {
        // The whole keeps its place in memory exactly, holes included.
        return Ok(vec![Some(TensorSpec { geometry: (*g).clone(), dtype: tensor.dtype(), device: tensor.device() })]);
    }
    preserved(tensor)
}

fn backward(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let (grad, sizes) = (call.tensor("grad_output")?, call.sym_ints("input_sizes")?);
    region(call, &Geometry::contiguous(sizes.clone()))?;
    Ok(like(grad, sizes))
}

/// Gradients of a scatter: zeros where the part was written for the whole, the view of the gradient for the part.
fn scatter_grad(b: &Backward, again: fn(&Backward, Tensor) -> Result<Tensor>, view: fn(&Backward) -> Result<Tensor>) -> Result<Grads> {
    let mut grads = Grads::new(b);
    grads.set(b, "self", || {
        let source = b.spec("src")?;
        again(b, zeros_of(source, &source.geometry.sizes)?)
    })?;
    grads.set(b, "src", || view(b))?;
    Ok(grads)
}

fn as_strided_scatter_grad(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    let (size, stride, offset) = (b.arg("size"), b.arg("stride"), b.arg("storage_offset"));
    grads.set(b, "self", || {
        let input = b.spec("self")?.geometry.clone();
        let grad = super::view_composites::contiguous(b.grad()?)?;
        let part = t!("as_strided", &grad, size, stride, offset)?;
        let fresh = t!("new_zeros", &grad, &input.sizes)?;
        let result = t!("as_strided", fresh, &input.sizes, &input.strides)?;
        t!("copy_", t!("as_strided", &result, size, stride, offset)?, part)?;
        Ok(result)
    })?;
    grads.set(b, "src", || t!("as_strided", super::view_composites::contiguous(b.grad()?)?, size, stride, offset))?;
    Ok(grads)
}

/// Registers scatters and the views' backward operators.
pub fn register(b: &mut OpBuilder) {
    b.op(
        "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
        Rule::Fresh(scatter),
    )
    .doc("A copy with a slice replaced.")
    .batch(Batch::Shifted)
    .complex(Complex::ByParts)
    .auto_linear(&["self", "src"])
    .tags(Tags::COMPLEX_GRAD)
    .grad("SliceScatterBackward", &[], |b| {
        scatter_grad(
            b,
            |b, zeros| t!("slice_scatter", b.grad()?, zeros, b.arg("dim"), b.arg("start"), b.arg("end"), b.arg("step")),
            |b| t!("slice.Tensor", b.grad()?, b.arg("dim"), b.arg("start"), b.arg("end"), b.arg("step")),
        )
    });
    b.op("select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", Rule::Fresh(scatter))
        .doc("A copy with one index of a dimension replaced.")
        .batch(Batch::Shifted)
        .complex(Complex::ByParts)
        .auto_linear(&["self", "src"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("SelectScatterBackward", &[], |b| {
            scatter_grad(
                b,
                |b, zeros| t!("select_scatter", b.grad()?, zeros, b.arg("dim"), b.arg("index")),
                |b| t!("select.int", b.grad()?, b.arg("dim"), b.arg("index")),
            )
        });
    b.op("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", Rule::Fresh(scatter))
        .tags(Tags::COMPLEX_GRAD)
        .doc("A copy with its diagonal replaced.")
        .batch(Batch::Shifted)
        .complex(Complex::ByParts)
        .auto_linear(&["self", "src"])
        .grad("DiagonalScatterBackward", &[], |b| {
            scatter_grad(
                b,
                |b, zeros| t!("diagonal_scatter", b.grad()?, zeros, b.arg("offset"), b.arg("dim1"), b.arg("dim2")),
                |b| t!("diagonal", b.grad()?, b.arg("offset"), b.arg("dim1"), b.arg("dim2")),
            )
        });
    b.op(
        "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
        Rule::Fresh(scatter),
    )
    .complex(Complex::ByParts)
    .tags(Tags::COMPLEX_GRAD)
    .doc("A copy with a strided view replaced.")
    .auto_linear(&["self", "src"])
    .grad("AsStridedScatterBackward", &[], as_strided_scatter_grad);

    b.op(
        "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor",
        Rule::Fresh(backward),
    )
    .batch(Batch::Shifted)
    .complex(Complex::ByParts)
    .auto_linear(&["grad_output"])
    .tags(Tags::COMPLEX_GRAD)
    .grad("SliceBackwardBackward", &[], |b| {
        Grads::one(b, "grad_output", || t!("slice.Tensor", b.grad()?, b.arg("dim"), b.arg("start"), b.arg("end"), b.arg("step")))
    });
    b.op("select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor", Rule::Fresh(backward))
        .batch(Batch::Shifted)
        .complex(Complex::ByParts)
        .auto_linear(&["grad_output"])
        .tags(Tags::COMPLEX_GRAD)
        .grad("SelectBackwardBackward", &[], |b| {
            Grads::one(b, "grad_output", || t!("select.int", b.grad()?, b.arg("dim"), b.arg("index")))
        });
    b.op("diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor", Rule::Fresh(backward))
        .tags(Tags::COMPLEX_GRAD)
        .batch(Batch::Shifted)
        .complex(Complex::ByParts)
        .auto_linear(&["grad_output"])
        .grad("DiagonalBackwardBackward", &[], |b| {
            Grads::one(b, "grad_output", || t!("diagonal", b.grad()?, b.arg("offset"), b.arg("dim1"), b.arg("dim2")))
        });
    b.op(
        "unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
        Rule::Fresh(|c| Ok(like(c.tensor("grad_in")?, c.sym_ints("input_sizes")?))),
    )
    .complex(Complex::ByParts)
    .auto_linear(&["grad_in"])
    .tags(Tags::COMPLEX_GRAD)
    .grad("UnfoldBackwardBackward", &[], |b| {
        Grads::one(b, "grad_in", || t!("unfold", b.grad()?, b.arg("dim"), b.arg("size"), b.arg("step")))
    });
}
