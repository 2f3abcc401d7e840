//! The base of a view after the view was written to: an inverse for every view operator (PyTorch's `FunctionalInverses`).

use crate::autograd::ViewStep;
use crate::dispatch::{Call, OpEntry, Value, fill_args, lookup, op};
use crate::error::{Error, Result};
use crate::ops::shapes::{wrap_dim, wrap_dims};
use crate::ops::views::sum_to;
use crate::shape::SymInt;
use crate::t;
use crate::tensor::Tensor;

/// The base after its view was replaced: the inverse of a view operator. `base` is what the view was taken of.
pub fn inverse(step: &ViewStep, base: &Tensor, view: &Tensor) -> Result<Tensor> {
    let call = Call { entry: step.entry, args: &step.args };
    let g = base.geometry();
    let name = step.entry.base_name();
    // Where views are copies, so are those that lead back.
    let back = |name: &str, args: Vec<Value>| {
        let entry = op(name).ok_or_else(|| missing(step))?;
        let entry = if step.entry.base_name().ends_with("_copy") { copying(entry).unwrap_or(entry) } else { entry };
        crate::dispatch::call(entry, fill_args(entry, args, &[])?)?.into_tensor()
    };
    match name.strip_suffix("_copy").unwrap_or(name) {
        _ if name == "view" && step.entry.view_dtype.is_some() => t!("view.dtype", view, base.dtype()),
        "_unsafe_view" => t!("_unsafe_view", view, &g.sizes),
        "view" | "reshape" | "_reshape_alias" | "view_as" => back("view", vec![view.into(), (&g.sizes).into()]),
        "t" => back("t", vec![view.into()]),
        "transpose" | "swapaxes" => back("transpose.int", vec![view.into(), call.get("dim0").clone(), call.get("dim1").clone()]),
        "permute" => {
            let dims = wrap_dims(&call.ints("dims")?, base.dim())?;
            let mut order = vec![0i64; dims.len()];
            dims.iter().enumerate().for_each(|(i, d)| order[*d] = i as i64);
            back("permute", vec![view.into(), order.into()])
        }
        "select" => t!("select_scatter", base, view, call.get("dim"), call.get("index")),
        "slice" => t!("slice_scatter", base, view, call.get("dim"), call.get("start"), call.get("end"), call.get("step")),
        "diagonal" => t!("diagonal_scatter", base, view, call.get("offset"), call.get("dim1"), call.get("dim2")),
        "as_strided" => t!("as_strided_scatter", base, view, call.get("size"), call.get("stride"), call.get("storage_offset")),
        "view_as_real" => t!("view_as_complex", view),
        "view_as_complex" => t!("view_as_real", view),
        "unsqueeze" => back("squeeze.dim", vec![view.into(), call.get("dim").clone()]),
        "squeeze" => unsqueeze_like(view, base, &call),
        "alias" => t!("alias", view),
        "_conj" => t!("_conj", view),
        "_neg_view" => t!("_neg_view", view),
        "detach" | "lift_fresh" | "view_dtype" => t!("alias", view).map(|_| view.clone()).or_else(|_| Ok(view.clone())),
        "expand" => expand_inverse(view, base),
        "split" | "split_with_sizes" | "unbind" | "chunk" => multi_inverse(step, base, view),
        // Windows that overlap share elements: which of them a write leaves there is not defined. Those of copies are added up.
        "unfold" if !name.ends_with("_copy") && call.int("size")? > call.int("step")? => Err(Error::runtime(
            "While executing unfold, functionalization encountered a tensor being mutated that has internal overlap. When using torch.compile (or running functionalization directly), this is banned as the behavior is not well defined. Consider cloning the tensor before mutating it, or removing the mutation from your model.",
        )),
        "unfold" => t!("unfold_backward", view, &g.sizes, call.get("dimension"), call.get("size"), call.get("step")),
        _ => Err(missing(step)),
    }
}

/// The operator that copies what a view shows, where there is one.
pub(super) fn copying(view: &'static OpEntry) -> Option<&'static OpEntry> {
    let (packet, overload) = view.name.rsplit_once('.')?;
    lookup(&format!("{packet}_copy.{overload}"))
}

fn missing(step: &ViewStep) -> Error {
    Error::not_implemented(format!("functionalization: writing through a view made by {} is not supported yet", step.entry.name))
}

fn unsqueeze_like(view: &Tensor, base: &Tensor, call: &Call) -> Result<Tensor> {
    let n = base.dim();
    let dims: Vec<usize> = match call.get("dim") {
        Value::None => (0..n).collect(),
        dims => wrap_dims(&dims.ints()?, n)?,
    };
    let mut out = view.clone();
    for (d, size) in base.sizes().iter().enumerate() {
        if dims.contains(&d) && size.sym_eq(1)? {
            out = t!("unsqueeze", out, d)?;
        }
    }
    Ok(out)
}

fn expand_inverse(view: &Tensor, base: &Tensor) -> Result<Tensor> {
    let (sizes, wanted) = (view.sizes(), base.sizes());
    let lead = sizes.len() - wanted.len();
    let mut is_repeated = lead > 0;
    for (have, want) in sizes[lead..].iter().zip(&wanted) {
        is_repeated |= want.sym_eq(1)? && !have.sym_eq(1)?;
    }
    if !is_repeated {
        return Ok(view.clone());
    }
    // Each element of the base gets what was added to its copies.
    let added = t!("sub.Tensor", view, base)?;
    t!("add.Tensor", base, sum_to(&added, &wanted)?)
}

fn multi_inverse(step: &ViewStep, base: &Tensor, view: &Tensor) -> Result<Tensor> {
    let call = Call { entry: step.entry, args: &step.args };
    let index = step.result.unwrap_or(0);
    let dim = wrap_dim(call.get("dim").int().unwrap_or(0), base.dim())?;
    let size = base.size(dim);
    let (start, end) = match step.entry.base_name() {
        "unbind" => return t!("select_scatter", base, view, dim, index),
        "split" => {
            let each = call.sym_int("split_size")?;
            let start = &each * index as i64;
            let end = (&start + &each).min(&size);
            (start, end)
        }
        _ => {
            let sizes = call.sym_ints("split_sizes")?;
            let start = sizes[..index].iter().fold(0i64.into(), |n: SymInt, s| &n + s);
            let end = &start + &sizes[index];
            (start, end)
        }
    };
    t!("slice_scatter", base, view, dim, start, end, 1)
}
