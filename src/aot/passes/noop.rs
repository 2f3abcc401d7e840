//! Copies, casts and views that change nothing are replaced by what they are of.

use super::edit::{Editor, mutated, returned, storages};
use crate::error::Result;
use crate::graph::{Arg, Graph, Node, NodeId, Opcode, Target};
use crate::tensor::TensorSpec;
use std::collections::HashSet;

/// Removes them. `replayed` are positions of inputs that are written to after the graph has run: what backward needs of them is a
/// copy.
pub fn remove(graph: &mut Graph, replayed: &[usize]) -> Result<()> {
    let storage = storages(graph);
    let of = |id: NodeId| storage[id.0 as usize];
    let inputs: Vec<NodeId> = graph.nodes().filter(|n| n.opcode == Opcode::Placeholder).map(|n| n.id).collect();
    let input_storages: HashSet<NodeId> = inputs.iter().map(|id| of(*id)).collect();
    let output_storages: HashSet<NodeId> = returned(graph).into_iter().map(of).collect();
    let written = mutated(graph, &storage);
    let saved_copies: HashSet<NodeId> = replayed.iter().filter_map(|i| inputs.get(*i).copied()).collect();
    let is_joint = graph.nodes().any(|n| n.meta.is_backward);
    let mut editor = Editor::new(graph);
    for id in editor.ids() {
        let Some(source) = source(&editor, id) else { continue };
        let (a, b) = (of(id), of(source));
        let node = editor.node(id);
        if is_joint && node.op() == Some("aten.clone.default") && saved_copies.contains(&source) {
            continue;
        }
        // A copy of a conjugate is where it is computed.
        if node.op() == Some("aten.clone.default") && editor.node(source).op() == Some("aten._conj.default") {
            continue;
        }
        // Outputs share memory with inputs and with each other as they did.
        if a != b && output_storages.contains(&a) && (input_storages.contains(&b) || output_storages.contains(&b)) {
            continue;
        }
        // A copy of what is written to later stays one.
        if a != b && written.contains(&b) {
            continue;
        }
        if same_meta(node, editor.node(source)) && is_noop(&editor, id) {
            editor.replace(id, source);
            editor.erase(id);
        }
    }
    editor.finish();
    Ok(())
}

/// What a node would be replaced by.
fn source(editor: &Editor, id: NodeId) -> Option<NodeId> {
    let node = editor.node(id);
    match node.op()? {
        "aten.copy.default" => editor.argument(id, 1),
        "aten.cat.default" => match node.args.first() {
            Some(Arg::List(items)) => match items.first() {
                Some(Arg::Node(first)) => Some(*first),
                _ => None,
            },
            _ => None,
        },
        "aten.slice_scatter.default" => Some(scattered(editor, id).unwrap_or(editor.argument(id, 1)?)),
        "aten.alias.default"
        | "aten.clone.default"
        | "aten.slice.Tensor"
        | "aten.repeat.default"
        | "aten.constant_pad_nd.default"
        | "prims.convert_element_type.default"
        | "aten.ceil.default"
        | "aten.floor.default"
        | "aten.round.default"
        | "aten.trunc.default"
        | "aten.pow.Tensor_Scalar"
        | "aten.view.default"
        | "aten.view.dtype" => editor.argument(id, 0),
        _ => None,
    }
}

/// The base, where what is scattered onto it is the very part of it that is overwritten.
fn scattered(editor: &Editor, id: NodeId) -> Option<NodeId> {
    let (base, part) = (editor.argument(id, 0)?, editor.argument(id, 1)?);
    let item = editor.node(part);
    if item.target != Target::Getitem {
        return None;
    }
    let split = editor.node(editor.argument(part, 0)?);
    let Some(Arg::Int(index)) = item.args.get(1) else { return None };
    if split.op() != Some("aten.split_with_sizes.default") || !matches!(split.args.first(), Some(Arg::Node(n)) if *n == base) {
        return None;
    }
    let sizes: Vec<i64> = int_list(split.args.get(1)?)?;
    let rank = editor.node(base).tensor()?.geometry.sizes.len() as i64;
    let dim = |node: &Node, at: usize| node.args.get(at).map_or(Some(0), int).map(|d| d.rem_euclid(rank));
    let scatter = editor.node(id);
    let start = bound(scatter.args.get(3), 0)?;
    let end = bound(scatter.args.get(4), i64::MAX)?;
    let from: i64 = sizes.get(..*index as usize)?.iter().sum();
    let one_step = scatter.args.get(5).map_or(Some(1), int) == Some(1);
    let fits = start == from && end == from + sizes.get(*index as usize)?;
    (one_step && fits && dim(split, 2)? == dim(scatter, 2)?).then_some(base)
}

fn int(arg: &Arg) -> Option<i64> {
    if let Arg::Int(i) = arg { Some(*i) } else { None }
}

fn int_list(arg: &Arg) -> Option<Vec<i64>> {
    if let Arg::List(items) = arg { items.iter().map(int).collect() } else { None }
}

fn bound(arg: Option<&Arg>, default: i64) -> Option<i64> {
    match arg {
        None | Some(Arg::None) => Some(default),
        Some(given) => int(given),
    }
}

/// Whether two nodes' values look alike.
fn same_meta(a: &Node, b: &Node) -> bool {
    let (Some(a), Some(b)) = (a.tensor(), b.tensor()) else { return false };
    let alike = crate::shape::SymInt::all_statically_eq;
    let (g, h) = (&a.geometry, &b.geometry);
    alike(&g.sizes, &h.sizes) && alike(&g.strides, &h.strides) && a.dtype == b.dtype && a.device == b.device
}

/// Whether the call changes nothing, its source looking like its result.
fn is_noop(editor: &Editor, id: NodeId) -> bool {
    let node = editor.node(id);
    let spec = |at: usize| editor.argument(id, at).and_then(|n| editor.node(n).tensor());
    match node.op().unwrap_or_default() {
        "aten.slice.Tensor" => {
            let (Some(x), Some(Arg::Int(start)), Some(end)) = (spec(0), node.args.get(2), node.args.get(3)) else { return false };
            *start == 0 && reaches(end, x, node.args.get(1)) && node.args.get(4).map_or(Some(1), int) == Some(1)
        }
        "aten.slice_scatter.default" => scatter_is_noop(editor, id),
        "aten.repeat.default" => node.args.get(1).and_then(int_list).is_some_and(|r| r.iter().all(|n| *n == 1)),
        "aten.constant_pad_nd.default" => node.args.get(1).and_then(int_list).is_some_and(|p| p.iter().all(|n| *n == 0)),
        "aten.ceil.default" | "aten.floor.default" | "aten.round.default" | "aten.trunc.default" => {
            spec(0).is_some_and(|x| x.dtype.is_integral())
        }
        "aten.pow.Tensor_Scalar" => matches!(node.args.get(1), Some(Arg::Int(1))),
        "aten.cat.default" => matches!(node.args.first(), Some(Arg::List(items)) if items.len() == 1),
        // Of these nothing is asked but that source and result look alike.
        _ => true,
    }
}

/// Whether the end of a slice is the end of its dimension.
fn reaches(end: &Arg, x: &TensorSpec, dim: Option<&Arg>) -> bool {
    let rank = x.geometry.sizes.len() as i64;
    let Some(dim) = dim.map_or(Some(0), int).filter(|d| (-rank..rank).contains(d)) else { return false };
    let size = &x.geometry.sizes[dim.rem_euclid(rank) as usize];
    match end {
        Arg::Int(end) => *end == i64::MAX || size.as_int().is_some_and(|n| *end >= n),
        _ => false,
    }
}

fn scatter_is_noop(editor: &Editor, id: NodeId) -> bool {
    let node = editor.node(id);
    let spec = |at: usize| editor.argument(id, at).and_then(|n| editor.node(n).tensor());
    let (Some(base), Some(part)) = (spec(0), spec(1)) else { return false };
    if node.args.get(5).map_or(Some(1), int) != Some(1) {
        return false;
    }
    let (Some(start), end) = (bound(node.args.get(3), 0), node.args.get(4).cloned().unwrap_or(Arg::Int(i64::MAX))) else { return false };
    let (sizes, own) = (&base.geometry.sizes, &part.geometry.sizes);
    if sizes.len() != own.len() {
        return false;
    }
    let all = sizes.iter().zip(own).all(|(a, b)| a.statically_eq(b.clone()));
    if all && start == 0 && reaches(&end, base, node.args.get(2)) {
        return true;
    }
    // The base itself replaces it where it is scattered onto itself.
    scattered(editor, id).is_some()
}
