//! Views that undo each other, and casts of casts.

use super::edit::{Editor, Place};
use crate::graph::{Arg, FakeValue, Graph, Node, NodeId};
use crate::shape::SymInt;
use crate::tensor::Dtype;

/// Removes views of the same sizes, views back to the sizes of what was viewed, and permutations that undo each other.
pub fn remove_pointless_views(graph: &mut Graph) {
    let mut editor = Editor::new(graph);
    for id in editor.ids().into_iter().rev() {
        match editor.node(id).op() {
            Some("aten.view.default") => view(&mut editor, id),
            Some("aten.permute.default") => permute(&mut editor, id),
            _ => {}
        }
    }
    editor.finish();
}

/// The argument, where it is a call of the same operator that nobody else reads.
fn inner(editor: &Editor, id: NodeId, op: &str) -> Option<NodeId> {
    let first = editor.argument(id, 0)?;
    (editor.node(first).op() == Some(op) && editor.users(first).len() == 1).then_some(first)
}

fn view(editor: &mut Editor, id: NodeId) {
    let Some(first) = editor.argument(id, 0) else { return };
    if has_sizes(editor, editor.node(first), editor.node(id).args.get(1)) {
        editor.replace(id, first);
        editor.erase(id);
        return;
    }
    let Some(first) = inner(editor, id, "aten.view.default") else { return };
    let Some(base) = editor.argument(first, 0) else { return };
    if has_sizes(editor, editor.node(base), editor.node(id).args.get(1)) {
        editor.replace(id, base);
        editor.erase(id);
        editor.erase(first);
    }
}

/// Whether a value has the sizes that a view asks for; one of them may be left to be found.
fn has_sizes(editor: &Editor, node: &Node, wanted: Option<&Arg>) -> bool {
    let (Some(spec), Some(Arg::List(wanted))) = (node.tensor(), wanted) else { return false };
    let sizes = &spec.geometry.sizes;
    let mut open = 0;
    let fits = sizes.iter().zip(wanted).all(|(size, want)| {
        let want = match want {
            Arg::Int(n) => SymInt::Int(*n),
            Arg::Node(n) => match &editor.node(*n).meta.value {
                Some(FakeValue::Int(n)) => n.clone(),
                _ => return false,
            },
            _ => return false,
        };
        open += usize::from(want.as_int() == Some(-1));
        want.as_int() == Some(-1) || size.statically_eq(want)
    });
    sizes.len() == wanted.len() && fits && open <= 1
}

fn permute(editor: &mut Editor, id: NodeId) {
    let Some(first) = inner(editor, id, "aten.permute.default") else { return };
    let order = |node: &Node| match node.args.get(1) {
        Some(Arg::List(items)) => items.iter().map(|a| if let Arg::Int(i) = a { Some(*i as usize) } else { None }).collect(),
        _ => None,
    };
    let orders: (Option<Vec<usize>>, Option<Vec<usize>>) = (order(editor.node(first)), order(editor.node(id)));
    let ((Some(a), Some(b)), Some(base)) = (orders, editor.argument(first, 0)) else { return };
    if b.iter().enumerate().all(|(i, d)| a.get(*d) == Some(&i)) {
        editor.replace(id, base);
        editor.erase(id);
        editor.erase(first);
    }
}

/// A cast of a cast is one, unless what lies between is narrower.
pub fn join_casts(graph: &mut Graph) {
    const CAST: &str = "prims.convert_element_type.default";
    let mut editor = Editor::new(graph);
    for id in editor.ids().into_iter().rev() {
        if editor.node(id).op() != Some(CAST) {
            continue;
        }
        let Some(first) = inner(&editor, id, CAST) else { continue };
        let Some(base) = editor.argument(first, 0) else { continue };
        let to = |node: &Node| if let Some(Arg::Dtype(d)) = node.args.get(1) { Some(*d) } else { None };
        let dtypes = (editor.node(base).tensor().map(|s| s.dtype), to(editor.node(first)), to(editor.node(id)));
        let (Some(from), Some(middle), Some(last)) = dtypes else { continue };
        let floats = |d: Dtype| d.is_floating();
        if !(floats(from) && floats(middle) && floats(last)) || middle.itemsize() < last.itemsize() {
            continue;
        }
        let meta = editor.node(id).meta.clone();
        let made = editor.call(CAST, vec![Arg::Node(base), Arg::Dtype(last)], Vec::new(), meta, Place::Before(id));
        editor.replace(id, made);
        editor.erase(id);
        editor.erase(first);
    }
    editor.finish();
}
