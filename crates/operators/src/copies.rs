//! Copies of views: `permute_copy` and its relatives give what the view of the same name shows, as tensors of their own.

use super::common::Specs;
use diagnostics::error::{Error, Result};
use dispatch::{Batch, Call, OpBuilder, OpEntry, Rule, Tags, lookup};
use dispatch::{aten, t};
use tensor::{Geometry, Tensor, TensorSpec};

/// The view that an operator copies.
fn view_of(call: &Call) -> Result<&'static OpEntry> {
    let (head, overload) = call.entry.name.rsplit_once('.').unwrap_or((call.entry.name, "default"));
    lookup(&format!("{}.{overload}", head.trim_end_matches("_copy"))).ok_or_else(|| Error::not_implemented(call.entry.name))
}

/// What is viewed: the tensor itself, or where its elements do not lie so that `view` could show them, a contiguous one in its place.
fn viewable(call: &Call) -> Result<Tensor> {
    let base = call.tensor("self")?;
    if call.entry.name != "aten.view_copy.default" {
        return Ok(base.clone());
    }
    let g = base.geometry();
    let sizes = super::geometry::infer_size(&call.sym_ints("size")?, &g.numel())?;
    if super::geometry::view_strides(&g, &sizes)?.is_some() {
        return Ok(base.clone());
    }
    if base.is_fake() {
        return Tensor::fake(&TensorSpec::contiguous(base.sizes(), base.dtype(), base.device()));
    }
    let sizes = base.concrete()?.sizes.iter().map(|s| *s as i64).collect::<Vec<_>>();
    Tensor::from_bytes(&tensor::strided::dense_bytes(base)?, &sizes, base.dtype())
}

/// The views that are copied.
pub fn shown(call: &Call) -> Result<Vec<Tensor>> {
    let entry = view_of(call)?;
    let Rule::View(rule) = entry.rule else { return Err(Error::not_implemented(call.entry.name)) };
    let base = &viewable(call)?;
    let mut args = call.args.to_vec();
    args[0] = base.into();
    let view = Call { entry, args: &args };
    let dtype = entry.view_dtype.map_or(Ok(base.dtype()), |f| f(&view))?;
    let make = |g: Geometry| if dtype == base.dtype() { base.view_as(g) } else { base.view_dtype(g, dtype) };
    Ok(rule(&view)?.into_iter().map(make).collect())
}

fn copied(call: &Call) -> Specs {
    Ok(shown(call)?.into_iter().map(|v| Some(TensorSpec::contiguous(v.sizes(), v.dtype(), v.device()))).collect())
}

/// Whether an operator is one of the copies made here.
pub fn copies(entry: &OpEntry) -> bool {
    matches!(entry.rule, Rule::Fresh(_)) && entry.base_name().strip_suffix("_copy").is_some_and(|name| VIEWS.contains(&name))
}

/// Views whose copies are operators.
const VIEWS: &[&str] = &[
    "as_strided",
    "expand",
    "permute",
    "select",
    "slice",
    "split",
    "split_with_sizes",
    "squeeze",
    "t",
    "transpose",
    "unbind",
    "unfold",
    "unsqueeze",
    "view",
    "view_as_complex",
    "view_as_real",
];

/// Registers the family; the views are registered before.
pub fn register(b: &mut OpBuilder) {
    b.copies(VIEWS, Rule::Fresh(copied));
    // An offset counts from where the batch begins.
    b.at("as_strided_copy").batch(Batch::Composed(|c| {
        let view = t!("as_strided", c.get("self"), c.get("size"), c.get("stride"), c.get("storage_offset"))?;
        aten!("clone", view; memory_format = tensor::MemoryFormat::Contiguous)
    }));
    b.op(
        "narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
        Rule::Composite(|c| {
            let part = t!("narrow", c.get("self"), c.get("dim"), c.get("start"), c.get("length"))?;
            aten!("clone", part; memory_format = tensor::MemoryFormat::Contiguous)
        }),
    )
    .tags(Tags::APART_IN_EXPORT);
    b.op(
        "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
        Rule::Composite(|c| aten!("resize_", c.get("self"), c.tensor("the_template")?.sizes())),
    )
    .doc("Another tensor's sizes in place.");
}
