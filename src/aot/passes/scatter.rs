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
        let Some(found) = matched(&editor, id) else { continue };
        let constant = editor.argument(id, 0);
        replace(&mut editor, id, &[Arg::Node(found.selector)], &|values| match values {
            [Value::Tensor(selector)] => compared(selector, &found),
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
    sizes: Vec<i64>,
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

fn matched(editor: &Editor, id: NodeId) -> Option<Found> {
    let node = editor.node(id);
    let [Arg::Node(full), Arg::Int(dim), Arg::Node(selector), value] = &node.args[..] else { return None };
    let constant = editor.node(*full);
    if node.op() != Some("aten.scatter.value") || constant.op() != Some("aten.full.default") || editor.users(*full).len() != 1 {
        return None;
    }
    let [Arg::List(sizes), background] = &constant.args[..] else { return None };
    let sizes = sizes.iter().map(|s| if let Arg::Int(n) = s { Some(*n) } else { None }).collect::<Option<Vec<_>>>()?;
    let dim = dim.rem_euclid((sizes.len() as i64).max(1)) as usize;
    let index = &editor.node(*selector).tensor()?.geometry.sizes;
    let covers = sizes.iter().enumerate().all(|(d, n)| match index.get(d).and_then(|s| s.as_int()) {
        Some(own) if d == dim => own == 1,
        Some(own) => own >= *n,
        None => false,
    });
    let found =
        Found { background: number(background)?, dtype: constant.tensor()?.dtype, selector: *selector, value: number(value)?, sizes, dim };
    (covers && index.len() == found.sizes.len()).then_some(found)
}

fn compared(selector: &Tensor, found: &Found) -> Result<Tensor> {
    let length = found.sizes[found.dim];
    let places = t!("arange", length; dtype = Dtype::Int64, device = selector.device(), pin_memory = false)?;
    let mut shape = vec![1i64; found.sizes.len()];
    shape[found.dim] = length;
    let places = t!("view", places, shape)?;
    let selected = t!("eq.Tensor", t!("expand", selector, &found.sizes[..])?, places)?;
    t!("to.dtype", t!("where.Scalar", selected, &found.value, &found.background)?, found.dtype)
}
