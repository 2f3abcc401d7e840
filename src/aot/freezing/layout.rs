//! Weights of convolutions are laid out channels last, once; what the graph returns keeps the strides that it was traced with.

use super::is_convolution;
use crate::aot::passes::edit::{Editor, Place};
use crate::error::{Error, Result};
use crate::graph::{Arg, FakeValue, Graph, Meta, Node, NodeId, Opcode, SizeNodes, Target, compute_size, node_name};
use crate::shape::{Expr, FloatExpr, ShapeEnv, SymInt, numel};
use crate::tensor::{Geometry, MemoryFormat};
use std::cell::RefCell;
use std::rc::Rc;

const FORCE_STRIDES: &str = "prims.inductor_force_stride_order.default";
const AS_STRIDED: [&str; 3] = ["aten.as_strided.default", "aten.as_strided_.default", "aten.as_strided_scatter.default"];

/// Puts copies before convolutions, and what keeps strides before the output and before calls that read memory by strides.
pub fn weights_to_channels_last(graph: &mut Graph) -> Result<()> {
    let sizes = RefCell::new(size_nodes(graph));
    let mut editor = Editor::new(graph);
    for id in editor.ids().into_iter().filter(|id| is_convolution(editor.node(*id))).collect::<Vec<_>>() {
        let Some(weight) = editor.argument(id, 1) else { continue };
        let Some(spec) = editor.node(weight).tensor() else { continue };
        if spec.geometry.sizes.len() != 4 || is_channels_last(&spec.geometry) {
            continue;
        }
        let format = vec![(Rc::from("memory_format"), Arg::MemoryFormat(MemoryFormat::ChannelsLast))];
        let meta = Meta { value: editor.node(weight).meta.value.clone(), ..Meta::default() };
        let copy = editor.call("aten.clone.default", vec![Arg::Node(weight)], format, meta, Place::Before(id));
        editor.replace_argument(id, 1, copy);
    }
    let by_strides = |editor: &Editor, id: &NodeId| editor.node(*id).op().is_some_and(|op| AS_STRIDED.contains(&op));
    for id in editor.ids().into_iter().filter(|id| by_strides(&editor, id)).collect::<Vec<_>>() {
        if let Some(of) = editor.argument(id, 0)
            && let Some(kept) = with_strides(&mut editor, of, id, &sizes)?
        {
            editor.replace_argument(id, 0, kept);
        }
    }
    let Some(output) = editor.ids().into_iter().find(|id| editor.node(*id).opcode == Opcode::Output) else { return Ok(()) };
    let returned = match editor.node(output).args.first() {
        Some(Arg::Tuple(items) | Arg::List(items)) => items.clone(),
        _ => Vec::new(),
    };
    for value in returned {
        let Arg::Node(value) = value else { continue };
        let is_dense = editor.node(value).tensor().is_some_and(|spec| is_dense(&spec.geometry));
        if is_dense && let Some(kept) = with_strides(&mut editor, value, output, &sizes)? {
            editor.replace_in(output, value, kept);
        }
    }
    editor.finish();
    Ok(())
}

/// The nodes that are sizes.
fn size_nodes(graph: &Graph) -> Vec<(Expr, NodeId)> {
    let size = |n: &Node| if let Some(FakeValue::Int(size)) = &n.meta.value { Some((size.expr(), n.id)) } else { None };
    graph.nodes().filter_map(size).collect()
}

/// Sizes of a graph that is edited, computed before one of its nodes.
struct Sizes<'e, 'g> {
    editor: RefCell<&'e mut Editor<'g>>,
    known: &'e RefCell<Vec<(Expr, NodeId)>>,
    before: NodeId,
    env: ShapeEnv,
}

impl SizeNodes for Sizes<'_, '_> {
    fn known(&self, expr: &Expr) -> Option<Arg> {
        self.known.borrow().iter().find(|(size, _)| size == expr).map(|(_, id)| Arg::Node(*id))
    }

    fn rank(&self, _expr: &Expr) -> u32 {
        0
    }

    fn emit(&self, name: &'static str, args: Vec<Arg>, expr: &Expr) -> Arg {
        let meta = Meta { value: Some(FakeValue::Int(SymInt::Sym(expr.clone(), self.env.clone()))), ..Meta::default() };
        let id =
            self.editor.borrow_mut().insert(node_name(name), Target::operator(name), args, Vec::new(), meta, Place::Before(self.before));
        self.known.borrow_mut().push((expr.clone(), id));
        Arg::Node(id)
    }

    fn emit_sum(&self, terms: Vec<Arg>, _expr: &Expr) -> Option<Arg> {
        let value = |arg: &Arg| match arg {
            Arg::Int(number) => Some(Expr::from(*number)),
            Arg::Node(id) => self.known.borrow().iter().find(|(_, known)| known == id).map(|(size, _)| size.clone()),
            _ => None,
        };
        let mut terms = terms.into_iter();
        let first = terms.next()?;
        let mut sum = (value(&first)?, first);
        for term in terms {
            let expr = sum.0.add(&value(&term)?);
            let made = self.known(&expr).unwrap_or_else(|| self.emit("add", vec![sum.1, term], &expr));
            sum = (expr, made);
        }
        Some(sum.1)
    }

    fn number_first(&self) -> bool {
        true
    }

    fn float(&self, _float: &Rc<FloatExpr>) -> Result<Arg> {
        Err(Error::not_implemented("torch._inductor.config.freezing with strides that depend on floats is not supported in the playground"))
    }
}

/// A value with the strides that it has, before a node.
fn with_strides(editor: &mut Editor, value: NodeId, before: NodeId, known: &RefCell<Vec<(Expr, NodeId)>>) -> Result<Option<NodeId>> {
    let meta = Meta { value: editor.node(value).meta.value.clone(), ..Meta::default() };
    let Some(strides) = editor.node(value).tensor().map(|spec| spec.geometry.strides.clone()) else { return Ok(None) };
    let mut args = Vec::new();
    for stride in &strides {
        args.push(match stride {
            SymInt::Int(stride) => Arg::Int(*stride),
            SymInt::Sym(expr, env) => compute_size(&Sizes { editor: RefCell::new(&mut *editor), known, before, env: env.clone() }, expr)?,
        });
    }
    Ok(Some(editor.call(FORCE_STRIDES, vec![Arg::Node(value), Arg::Tuple(args)], Vec::new(), meta, Place::Before(before))))
}

/// Strides from the innermost dimension outwards, where those are numbers or alike: `order` names the dimensions, innermost first.
fn has_strides(geometry: &Geometry, order: &[usize]) -> bool {
    let mut inner: Vec<SymInt> = Vec::new();
    for dim in order {
        let (size, stride) = (&geometry.sizes[*dim], &geometry.strides[*dim]);
        if size.as_int() == Some(1) {
            continue;
        }
        if !stride.statically_eq(numel(&inner)) {
            return false;
        }
        inner.push(size.clone());
    }
    true
}

fn is_channels_last(geometry: &Geometry) -> bool {
    has_strides(geometry, &[1, 3, 2, 0])
}

/// Whether no two elements share memory and none is left out.
fn is_dense(geometry: &Geometry) -> bool {
    let mut order: Vec<usize> = (0..geometry.sizes.len()).collect();
    order.sort_by_key(|dim| (geometry.strides[*dim].hint().unwrap_or(i64::MAX), geometry.sizes[*dim].hint().unwrap_or(i64::MAX)));
    has_strides(geometry, &order)
}
