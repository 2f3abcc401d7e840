//! Sums and products right behind a convolution with a constant are computed into its weight and bias (PyTorch's `binary_folding`):
//! so batch normalization disappears.

use super::constant_folding::Folder;
use super::{CONVERT, CONVOLUTION, RESHAPE};
use crate::aot::passes::edit::{Editor, Place};
use crate::error::Result;
use crate::graph::{Arg, Graph, Meta, Node, NodeId, Opcode, Target};
use crate::tensor::{Dtype, promote};

const SUMS: [&str; 2] = ["aten.add.Tensor", "aten.sub.Tensor"];
const PRODUCTS: [&str; 2] = ["aten.mul.Tensor", "aten.div.Tensor"];

fn is_binary(node: &Node) -> bool {
    node.op().is_some_and(|op| SUMS.contains(&op) || PRODUCTS.contains(&op))
}

/// Which arguments of a call are its weight and bias.
fn constants_of(node: &Node) -> &'static [usize] {
    match node.op() {
        Some(CONVOLUTION) => &[1, 2],
        Some("aten.addmm.default") => &[0, 2],
        Some("aten.mm.default") => &[1],
        _ => &[],
    }
}

/// Convolutions and matrix products in low precision whose result is cast to it again behind operations in single precision: weights are
/// computed in that, and cast at the end.
pub struct MixedPrecision(Vec<(NodeId, Dtype)>);

impl MixedPrecision {
    /// Those of a graph.
    pub fn find(graph: &Graph) -> Self {
        let users = graph.users();
        let only = |id: NodeId| if let [user] = users[id.0 as usize][..] { Some(graph.node(user)) } else { None };
        let is_mixed = |node: &Node| {
            let dtype = node.tensor()?.dtype;
            let mut user = only(node.id)?;
            if constants_of(node).is_empty() || !matches!(dtype, Dtype::Float16 | Dtype::BFloat16) || user.tensor()?.dtype != Dtype::Float32
            {
                return None;
            }
            while is_binary(user) {
                user = only(user.id)?;
            }
            (user.op() == Some(CONVERT)).then_some((node.id, dtype))
        };
        MixedPrecision(graph.nodes().filter_map(is_mixed).collect())
    }

    fn has(&self, id: NodeId) -> bool {
        self.0.iter().any(|(of, _)| *of == id)
    }

    /// Casts weights and biases to the precision of their convolutions.
    pub fn recover(&self, graph: &mut Graph) {
        let mut editor = Editor::new(graph);
        for (id, dtype) in &self.0 {
            if !editor.ids().contains(id) {
                continue;
            }
            for at in constants_of(editor.node(*id)) {
                let Some(of) = editor.argument(*id, *at) else { continue };
                let mut meta = Meta::default();
                meta.value = editor.node(of).meta.value.clone();
                if let Some(crate::graph::FakeValue::Tensor(spec)) = &mut meta.value {
                    spec.dtype = *dtype;
                }
                let cast = editor.call(CONVERT, vec![Arg::Node(of), Arg::Dtype(*dtype)], Vec::new(), meta, Place::Before(*id));
                editor.replace_argument(*id, *at, cast);
            }
        }
        editor.finish();
    }
}

/// Folds the operation behind each convolution, the last first. Gives whether there was any.
pub fn fold(graph: &mut Graph, mixed: &mut MixedPrecision, folder: &Folder) -> Result<bool> {
    let mut editor = Editor::new(graph);
    let mut constants = Vec::new();
    let mut found = false;
    for id in editor.ids().into_iter().rev() {
        let Some((convolution, other)) = foldable(&editor, id, mixed) else { continue };
        found = true;
        fold_one(&mut editor, (id, convolution, &other), mixed, &mut constants);
    }
    editor.finish();
    for (id, number, dtype) in constants {
        let held = crate::t!("scalar_tensor", number; dtype = dtype)?;
        folder.number(graph, id, held);
    }
    Ok(found)
}

/// The convolution that an operation can be computed into, and its other operand.
fn foldable(editor: &Editor, id: NodeId, mixed: &MixedPrecision) -> Option<(NodeId, Arg)> {
    let node = editor.node(id);
    if !is_binary(node) || !node.kwargs.is_empty() {
        return None;
    }
    let [Arg::Node(of), other] = &node.args[..] else { return None };
    let convolution = editor.node(*of);
    if convolution.op() != Some(CONVOLUTION) || convolution.args.len() != 9 || editor.users(*of).len() != 1 {
        return None;
    }
    let is_constant = |id: NodeId| editor.node(id).opcode == Opcode::GetAttr;
    let Arg::Node(weight) = convolution.args[1] else { return None };
    if !is_constant(weight) || editor.users(weight).len() != 1 {
        return None;
    }
    if let Arg::Node(bias) = convolution.args[2]
        && !is_constant(bias)
    {
        return None;
    }
    let weight = editor.node(weight).tensor()?;
    if !weight.dtype.is_floating() {
        return None;
    }
    match other {
        Arg::Float(_) => Some((*of, other.clone())),
        Arg::Node(with) if is_constant(*with) => {
            let with = editor.node(*with).tensor()?;
            let fits_dtype = promote(with.dtype, weight.dtype) == weight.dtype
                || mixed.has(*of) && (with.dtype == Dtype::Float32 || matches!(weight.dtype, Dtype::Float16 | Dtype::BFloat16));
            let sizes = |spec: &crate::tensor::TensorSpec| spec.geometry.sizes.iter().map(|s| s.as_int()).collect::<Option<Vec<i64>>>();
            let fits = along_channels(&sizes(weight)?, &sizes(with)?);
            (with.dtype.is_floating() && fits_dtype && fits).then(|| (*of, other.clone()))
        }
        _ => None,
    }
}

/// Whether a value varies with the channels of a convolution's result alone.
fn along_channels(weight: &[i64], other: &[i64]) -> bool {
    if weight.len() < other.len() {
        return false;
    }
    let channel = usize::from(weight.len() != other.len() + 1);
    other.iter().enumerate().all(|(i, size)| *size == 1 || i == channel && weight.first() == Some(size))
}

/// A new weight, or a new bias, or both, in the place of an operation; a number becomes a constant, of which `constants` says the value.
fn fold_one(
    editor: &mut Editor,
    (id, convolution, other): (NodeId, NodeId, &Arg),
    mixed: &mut MixedPrecision,
    constants: &mut Vec<(NodeId, f64, Dtype)>,
) {
    let op = editor.node(id).op().unwrap_or_default().to_owned();
    let mut args = editor.node(convolution).args.clone();
    let meta = editor.node(convolution).meta.clone();
    let Some(weight) = editor.argument(convolution, 1).and_then(|w| editor.node(w).tensor().cloned()) else { return };
    let channels = weight.geometry.sizes.first().and_then(|s| s.as_int()).unwrap_or(0);
    let mut resized = |editor: &mut Editor, sizes: Vec<i64>| {
        let shape = Arg::Tuple(sizes.into_iter().map(Arg::Int).collect());
        let call = |editor: &mut Editor, op: &str, of: Arg, shape: Arg| {
            editor.call(op, vec![of, shape], Vec::new(), Meta::default(), Place::Before(id))
        };
        let is_one =
            |of: &NodeId| editor.node(*of).tensor().is_some_and(|spec| spec.geometry.sizes.iter().all(|size| size.as_int() == Some(1)));
        let one = match other {
            Arg::Float(number) => {
                let held = editor.insert(
                    "other_tensor",
                    Target::Name("other_tensor".into()),
                    Vec::new(),
                    Vec::new(),
                    Meta::default(),
                    Place::Before(id),
                );
                constants.push((held, *number, weight.dtype));
                Some(held)
            }
            Arg::Node(of) => Some(*of).filter(is_one),
            _ => None,
        };
        match one {
            Some(one) => {
                let one = call(editor, RESHAPE, Arg::Node(one), Arg::Tuple(vec![Arg::Int(1)]));
                call(editor, "aten.expand.default", Arg::Node(one), shape)
            }
            None => call(editor, RESHAPE, other.clone(), shape),
        }
    };
    let combined = |editor: &mut Editor, a: Arg, b: NodeId| {
        let of = if let Arg::Node(of) = &a { editor.node(*of).meta.clone() } else { Meta::default() };
        editor.call(&op, vec![a, Arg::Node(b)], Vec::new(), of, Place::Before(id))
    };
    if SUMS.contains(&&*op) {
        let with = resized(editor, vec![channels]);
        let bias = if matches!(args[2], Arg::None) { Arg::Int(0) } else { args[2].clone() };
        args[2] = Arg::Node(combined(editor, bias, with));
    } else {
        let mut sizes = vec![1; weight.geometry.sizes.len()];
        sizes[0] = channels;
        let with = resized(editor, sizes);
        args[1] = Arg::Node(combined(editor, args[1].clone(), with));
        if !matches!(args[2], Arg::None) {
            let with = resized(editor, vec![channels]);
            args[2] = Arg::Node(combined(editor, args[2].clone(), with));
        }
    }
    let made = editor.call(CONVOLUTION, args, Vec::new(), meta, Place::Before(id));
    if let Some(known) = mixed.0.iter_mut().find(|(of, _)| *of == convolution) {
        known.0 = made;
    }
    editor.replace(id, made);
    editor.erase(id);
    editor.erase(convolution);
}
