//! Softmax of scaled values: `x * s - (x * s).amax()` becomes `(x - x.amax()) * s`, where all values are finite, so that both
//! products are rounded alike.

use super::edit::Editor;
use super::rewrite::replace;
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::graph::{Arg, FakeValue, Graph, NodeId};
use crate::t;
use crate::tensor::{Dtype, Tensor};

/// Rewrites every such difference.
pub fn stabilize(graph: &mut Graph) -> Result<()> {
    let mut editor = Editor::new(graph);
    for id in editor.ids().into_iter().rev() {
        if let Some(found) = matched(&editor, id) {
            rewrite(&mut editor, id, &found)?;
            // What was matched goes, where nobody else reads it.
            found.nodes.into_iter().for_each(|node| editor.erase(node));
        }
    }
    editor.finish();
    Ok(())
}

/// A difference of scaled values and their largest.
struct Found {
    /// What is scaled.
    input: NodeId,
    /// By what.
    factor: Arg,
    /// Whether it is divided by it.
    divides: bool,
    /// What it is cast to in between.
    dtype: Option<Dtype>,
    dims: Vec<i64>,
    keepdim: bool,
    /// The largest value, what it is the largest of, and that before a cast.
    nodes: [NodeId; 3],
}

fn matched(editor: &Editor, id: NodeId) -> Option<Found> {
    let node = editor.node(id);
    if node.op() != Some("aten.sub.Tensor") || node.args.len() != 2 || !node.kwargs.is_empty() {
        return None;
    }
    let (whole, largest) = (editor.argument(id, 0)?, editor.argument(id, 1)?);
    let amax = editor.node(largest);
    if amax.op() != Some("aten.amax.default") || editor.users(largest).len() != 1 || editor.argument(largest, 0) != Some(whole) {
        return None;
    }
    let [_, Arg::List(dims), Arg::Bool(keepdim)] = &amax.args[..] else { return None };
    let dims = dims.iter().map(|d| if let Arg::Int(d) = d { Some(*d) } else { None }).collect::<Option<Vec<_>>>()?;
    let mut scaled = whole;
    let mut dtype = None;
    if editor.node(scaled).op() == Some("prims.convert_element_type.default") {
        if let Some(Arg::Dtype(d)) = editor.node(scaled).args.get(1) {
            dtype = Some(*d);
        }
        scaled = editor.argument(scaled, 0)?;
    }
    let product = editor.node(scaled);
    let divides = match product.op()? {
        "aten.mul.Tensor" => false,
        "aten.div.Tensor" => true,
        _ => return None,
    };
    let [a, b] = &product.args[..] else { return None };
    let fits = |input: &Arg, factor: &Arg| is_constant_along(editor, input, factor, &dims);
    let (input, factor) = match (a, b) {
        (Arg::Node(input), factor) if fits(a, factor) => (*input, factor.clone()),
        (factor, Arg::Node(input)) if !divides && fits(b, factor) => (*input, factor.clone()),
        _ => return None,
    };
    Some(Found { input, factor, divides, dtype, dims, keepdim: *keepdim, nodes: [largest, whole, scaled] })
}

/// Whether a factor is one number along the dimensions, so that it does not change which value is the largest.
fn is_constant_along(editor: &Editor, input: &Arg, factor: &Arg, dims: &[i64]) -> bool {
    let (Arg::Node(input), factor) = (input, factor) else { return false };
    let factor = match factor {
        Arg::Int(_) | Arg::Float(_) => return true,
        Arg::Node(n) => editor.node(*n),
        _ => return false,
    };
    if matches!(factor.meta.value, Some(FakeValue::Int(_))) {
        return true;
    }
    let (Some(x), Some(s)) = (editor.node(*input).tensor(), factor.tensor()) else { return false };
    let (rank, own) = (x.geometry.sizes.len(), &s.geometry.sizes);
    if rank < own.len() {
        return false;
    }
    dims.iter().all(|d| {
        let at = d.rem_euclid(rank.max(1) as i64) as usize;
        at < rank && (at + own.len() < rank || own[at + own.len() - rank].as_int() == Some(1))
    })
}

fn rewrite(editor: &mut Editor, id: NodeId, found: &Found) -> Result<()> {
    let args = [Arg::Node(found.input), found.factor.clone()];
    let largest = editor.argument(id, 1);
    replace(editor, id, &args, &|values| match values {
        [x, s] => stable(x.tensor()?, s, found),
        _ => Err(Error::runtime("softmax: expected two values")),
    })?;
    if let Some(largest) = largest {
        editor.erase(largest);
    }
    Ok(())
}

fn stable(x: &Tensor, s: &Value, found: &Found) -> Result<Tensor> {
    let scale = |a: &Tensor, by: &Value| if found.divides { t!("div.Tensor", a, by) } else { t!("mul.Tensor", a, by) };
    let (mut scaled, mut x) = (scale(x, s)?, x.clone());
    if let Some(dtype) = found.dtype {
        (scaled, x) = (t!("to.dtype", scaled, dtype)?, t!("to.dtype", x, dtype)?);
    }
    let sign = match s {
        Value::Tensor(s) => {
            let one = t!("scalar_tensor", 1; dtype = x.dtype(), device = x.device(), pin_memory = false)?;
            Value::from(t!("where.self", t!("ge.Scalar", s, 0)?, &one, t!("neg", &one)?)?)
        }
        number => Value::from(if number.float()? >= 0.0 { 1i64 } else { -1 }),
    };
    let x = t!("mul.Tensor", x, &sign)?;
    let largest = |x: &Tensor| t!("amax", x, &found.dims[..], found.keepdim);
    let difference = t!("sub.Tensor", &x, largest(&x)?)?;
    let factor = match (&sign, s) {
        (Value::Int(sign), Value::Int(s)) => Value::Int(sign * s),
        (Value::Int(sign), number) if number.is_scalar() => Value::Float(sign.guard_int()? as f64 * number.float()?),
        (sign, s) => t!("mul.Tensor", sign, s)?.into(),
    };
    let stable = scale(&difference, &factor)?;
    // Where something is infinite or no number, it comes out as it did.
    let original = t!("sub.Tensor", &scaled, largest(&scaled)?)?;
    let finite = t!("all.dims", t!("isfinite", &scaled)?, &found.dims[..], true)?;
    t!("where.self", finite, stable, original)
}
