//! A number scattered onto a constant, one per row: whether each place is the row's, asked of all places at once.

use super::edit::Editor;
use super::rewrite::replace;
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::graph::{Arg, Graph, NodeId};
use crate::t;
use crate::tensor::{Dtype, Tensor};

/// Rewrites every such call.
pub fn compare_instead(graph: &mut Graph) -> Result<()> {
    let mut editor = Editor::new(graph);
    for id in editor.ids().into_iter().rev() {
        let Some(found) = matched(&editor, id)? else { continue };
        let constant = editor.argument(id, 0);
        let args: Vec<Arg> = std::iter::once(Arg::Node(found.selector)).chain(found.sizes.iter().cloned()).collect();
        replace(&mut editor, id, &args, &|values| match values {
            [Value::Tensor(selector), sizes @ ..] => compared(selector, sizes, &found),
            _ => Err(Error::runtime("scatter: expected an index")),
        })?;
        if let Some(constant) = constant {
            editor.erase(constant);
        }
    }
    editor.finish();
    Ok(())
}

/// A scatter onto `full`.
struct Found {
    /// A number or a node each.
    sizes: Vec<Arg>,
    background: Value,
    dtype: Dtype,
    dim: usize,
    selector: NodeId,
    value: Value,
}

fn number(arg: &Arg) -> Option<Value> {
    match arg {
        Arg::Int(i) => Some(Value::from(*i)),
        Arg::Float(f) => Some(Value::Float(*f)),
        Arg::Bool(b) => Some(Value::Bool(*b)),
        _ => None,
    }
}

fn matched(editor: &Editor, id: NodeId) -> Result<Option<Found>> {
    let node = editor.node(id);
    let [Arg::Node(full), Arg::Int(dim), Arg::Node(selector), value] = &node.args[..] else { return Ok(None) };
    let constant = editor.node(*full);
    if node.op() != Some("aten.scatter.value") || constant.op() != Some("aten.full.default") || editor.users(*full).len() != 1 {
        return Ok(None);
    }
    let [Arg::List(sizes), background] = &constant.args[..] else { return Ok(None) };
    let dim = dim.rem_euclid((sizes.len() as i64).max(1)) as usize;
    let (Some(index), Some(made)) = (editor.node(*selector).tensor(), constant.tensor()) else { return Ok(None) };
    let (index, whole) = (&index.geometry.sizes, &made.geometry.sizes);
    if index.len() != whole.len() || dim >= whole.len() {
        return Ok(None);
    }
    for (d, (own, all)) in index.iter().zip(whole).enumerate() {
        if d != dim && own.sym_lt(all.clone())? {
            return Ok(None);
        }
    }
    let (Some(background), Some(value)) = (number(background), number(value)) else { return Ok(None) };
    let found = Found { background, dtype: made.dtype, selector: *selector, value, sizes: sizes.clone(), dim };
    Ok(index[dim].sym_eq(1)?.then_some(found))
}

fn compared(selector: &Tensor, sizes: &[Value], found: &Found) -> Result<Tensor> {
    let length = sizes.get(found.dim).ok_or_else(|| Error::runtime("scatter: expected a size"))?;
    let places = t!("arange", length; dtype = Dtype::Int64, device = selector.device(), pin_memory = false)?;
    let mut shape = vec![Value::from(1); sizes.len()];
    shape[found.dim] = length.clone();
    let places = t!("view", places, Value::List(shape))?;
    let selected = t!("eq.Tensor", t!("expand", selector, Value::List(sizes.to_vec()))?, places)?;
    t!("to.dtype", t!("where.Scalar", selected, &found.value, &found.background)?, found.dtype)
}
