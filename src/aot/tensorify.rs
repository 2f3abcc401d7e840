//! Symbolic floats of a traced graph as tensors: what computes with a float computes with a tensor that holds it, so that no
//! float is saved for the backward.
//!
//! A float that something else needs, as a number, stays; then it is a number, and the function is compiled again.

use crate::dispatch::Value;
use crate::error::Result;
use crate::graph::{Arg, FakeValue, Graph, Meta, Node, NodeId, Target};
use crate::shape::{Atom, Expr, FloatExpr, SymInt};
use crate::tensor::{Device, Dtype, TensorSpec};
use std::rc::Rc;

/// The overload of an operator that takes a tensor where it had a float.
fn of_tensors(op: &str) -> Option<&'static str> {
    Some(match op {
        "aten.mul.Tensor" => "aten.mul.Tensor",
        "aten.add.Tensor" => "aten.add.Tensor",
        "aten.sub.Tensor" => "aten.sub.Tensor",
        "aten.div.Tensor" => "aten.div.Tensor",
        "aten.gt.Scalar" => "aten.gt.Tensor",
        "aten.lt.Scalar" => "aten.lt.Tensor",
        "aten.ge.Scalar" => "aten.ge.Tensor",
        "aten.le.Scalar" => "aten.le.Tensor",
        "aten.eq.Scalar" => "aten.eq.Tensor",
        "aten.ne.Scalar" => "aten.ne.Tensor",
        "aten.clamp_min.default" => "aten.clamp_min.Tensor",
        "aten.clamp_max.default" => "aten.clamp_max.Tensor",
        _ => return None,
    })
}

struct Tensors<'a> {
    graph: &'a mut Graph,
    /// The nodes in their new order.
    order: Vec<NodeId>,
    /// Floats that are tensors.
    known: Vec<(Rc<FloatExpr>, NodeId)>,
    /// Sizes that are tensors.
    known_sizes: Vec<(Expr, NodeId)>,
    meta: Meta,
}

impl Tensors<'_> {
    fn call(&mut self, op: &str, args: Vec<Arg>, kwargs: Vec<(Rc<str>, Arg)>, spec: TensorSpec) -> NodeId {
        let name = op.split_once('.').map_or(op, |(_, name)| name).replace('.', "_").to_lowercase();
        let meta = Meta { value: Some(FakeValue::Tensor(spec)), ..self.meta.clone() };
        let id = self.graph.call(&name, Target::Op(op.into()), args, kwargs, meta);
        self.order.push(id);
        id
    }

    fn scalar(dtype: Dtype) -> TensorSpec {
        TensorSpec::contiguous(Vec::new(), dtype, Device::CPU)
    }

    fn dtype(&self, id: NodeId) -> Option<Dtype> {
        self.graph.node(id).tensor().map(|t| t.dtype)
    }

    fn convert(&mut self, id: NodeId, dtype: Dtype) -> NodeId {
        if self.dtype(id) == Some(dtype) {
            return id;
        }
        self.call("prims.convert_element_type.default", vec![Arg::Node(id), Arg::Dtype(dtype)], Vec::new(), Self::scalar(dtype))
    }

    /// A new tensor that holds a number.
    fn number(&mut self, number: Arg, dtype: Dtype) -> NodeId {
        self.call("aten.scalar_tensor.default", vec![number], vec![("dtype".into(), Arg::Dtype(dtype))], Self::scalar(dtype))
    }

    /// The tensor that holds a size: a symbol's, and of those what sums and products make; `None` where tensors cannot compute it.
    fn size_tensor(&mut self, expr: &Expr, size: &dyn Fn(&Graph, &Expr) -> Option<NodeId>) -> Option<NodeId> {
        if let Some((_, id)) = self.known_sizes.iter().find(|(e, _)| e == expr) {
            return Some(*id);
        }
        let single = Self::scalar(Dtype::Float32);
        let id = if expr.as_symbol().is_some() {
            let node = size(self.graph, expr)?;
            self.call("aten.scalar_tensor.default", vec![Arg::Node(node)], Vec::new(), single)
        } else {
            let terms: Vec<(Vec<(Atom, u32)>, i64)> = expr.terms().map(|(factors, count)| (factors.to_vec(), count)).collect();
            let mut sum = None;
            for (factors, count) in terms {
                let mut product = (count != 1 || factors.is_empty()).then(|| self.number(Arg::Int(count), Dtype::Int64));
                for (atom, power) in factors {
                    let (Atom::Symbol(symbol), 1) = (atom, power) else { return None };
                    let factor = self.size_tensor(&Expr::symbol(symbol), size)?;
                    product = Some(match product {
                        Some(left) => self.call("aten.mul.Tensor", vec![Arg::Node(left), Arg::Node(factor)], Vec::new(), single.clone()),
                        None => factor,
                    });
                }
                let product = product?;
                sum = Some(match sum {
                    Some(left) => self.call("aten.add.Tensor", vec![Arg::Node(left), Arg::Node(product)], Vec::new(), single.clone()),
                    None => product,
                });
            }
            sum?
        };
        self.known_sizes.push((expr.clone(), id));
        Some(id)
    }

    /// The tensor that holds a float; `None` where tensors cannot compute it.
    fn tensor(&mut self, expr: &Rc<FloatExpr>, size: &dyn Fn(&Graph, &Expr) -> Option<NodeId>) -> Option<NodeId> {
        if let Some((_, id)) = self.known.iter().find(|(e, _)| e == expr) {
            return Some(*id);
        }
        let double = Self::scalar(Dtype::Float64);
        let id = match &**expr {
            // A number is made anew wherever it stands.
            FloatExpr::Number(f) => return Some(self.number(Arg::Float(*f), Dtype::Float64)),
            FloatExpr::IntTrueDiv(a, b) => {
                // What it is made of is there before it turns out that it cannot be computed.
                self.size_tensor(a, size)?;
                self.size_tensor(b, size)?;
                return None;
            }
            FloatExpr::Symbol(_) | FloatExpr::Round(..) | FloatExpr::Function("asin", _) => return None,
            FloatExpr::ToFloat(e) => {
                let made = self.size_tensor(e, size)?;
                self.convert(made, Dtype::Float64)
            }
            FloatExpr::Function(name, a) => {
                let a = self.tensor(a, size)?;
                self.call(&format!("aten.{name}.default"), vec![Arg::Node(a)], Vec::new(), double)
            }
            FloatExpr::Neg(a) => {
                let a = self.tensor(a, size)?;
                self.call("aten.neg.default", vec![Arg::Node(a)], Vec::new(), double)
            }
            FloatExpr::Binary(name @ ("sym_max" | "sym_min"), a, b) => {
                let op = if *name == "sym_max" { "aten.maximum.default" } else { "aten.minimum.default" };
                let (a, b) = FloatExpr::in_order(a, b);
                let (a, b) = (self.tensor(a, size)?, self.tensor(b, size)?);
                self.call(op, vec![Arg::Node(a), Arg::Node(b)], Vec::new(), double)
            }
            FloatExpr::Binary("sub", a, b) => {
                // To sympy a difference is a sum, whose numbers come first.
                let (first, second) = match &**b {
                    FloatExpr::Number(f) => (self.tensor(&Rc::new(FloatExpr::Number(-f)), size)?, self.tensor(a, size)?),
                    _ => {
                        let (a, b) = (self.tensor(a, size)?, self.tensor(b, size)?);
                        let sign = self.number(Arg::Int(-1), Dtype::Int64);
                        (a, self.call("aten.mul.Tensor", vec![Arg::Node(sign), Arg::Node(b)], Vec::new(), double.clone()))
                    }
                };
                self.call("aten.add.Tensor", vec![Arg::Node(first), Arg::Node(second)], Vec::new(), double)
            }
            FloatExpr::Binary(name, a, b) => {
                let op = match *name {
                    "mul" => "aten.mul.Tensor",
                    "truediv" => "aten.true_divide.Tensor",
                    "pow" => "aten.pow.Tensor_Tensor",
                    _ => "aten.add.Tensor",
                };
                // To sympy the factors of a product have an order of their own.
                let (a, b) = if *name == "mul" { FloatExpr::in_order(a, b) } else { (a, b) };
                let (a, b) = (self.tensor(a, size)?, self.tensor(b, size)?);
                self.call(op, vec![Arg::Node(a), Arg::Node(b)], Vec::new(), double)
            }
        };
        self.known.push((expr.clone(), id));
        Some(id)
    }
}

fn float_of(node: &Node) -> Option<Rc<FloatExpr>> {
    match &node.meta.value {
        Some(FakeValue::SymFloat(f)) => Some(f.expr.clone()),
        _ => None,
    }
}

/// The graph with tensors for its symbolic floats. Floats that stay are said to be needed as numbers.
pub fn tensorify(traced: &Rc<Graph>) -> Result<Rc<Graph>> {
    if !traced.nodes().any(|n| float_of(n).is_some()) {
        return Ok(traced.clone());
    }
    let mut graph = Graph::clone(traced);
    let nodes: Vec<NodeId> = traced.nodes().map(|n| n.id).collect();
    let mut tensors = Tensors { graph: &mut graph, order: Vec::new(), known: Vec::new(), known_sizes: Vec::new(), meta: Meta::default() };
    let size = |graph: &Graph, expr: &Expr| {
        let is_it = |n: &&Node| matches!(&n.meta.value, Some(FakeValue::Int(size @ SymInt::Sym(..))) if size.expr() == *expr);
        graph.nodes().find(is_it).map(|n| n.id)
    };
    for id in nodes {
        let node = tensors.graph.node(id).clone();
        // What is made here belongs to neither forward nor backward, as far as the partitioner knows.
        tensors.meta = Meta { value: None, is_backward: false, is_trailing: true, ..node.meta.clone() };
        if node.op() == Some("aten._local_scalar_dense.default")
            && let (Some(expr), Some(Arg::Node(t))) = (float_of(&node), node.args.first())
        {
            tensors.order.push(id);
            let double = Tensors::scalar(Dtype::Float64);
            let args = vec![Arg::Node(*t), Arg::Dtype(Dtype::Float64)];
            let held = tensors.call("prims.convert_element_type.default", args, Vec::new(), double);
            tensors.known.push((expr, held));
            continue;
        }
        let replacement = node.op().and_then(of_tensors).zip(node.tensor().cloned());
        let has_float = node.args.iter().any(|a| matches!(a, Arg::Node(n) if float_of(tensors.graph.node(*n)).is_some()));
        let Some((op, spec)) = replacement.filter(|_| has_float) else {
            tensors.order.push(id);
            continue;
        };
        let place = tensors.order.len();
        let compute = if matches!(spec.dtype, Dtype::Float16 | Dtype::BFloat16) { Dtype::Float32 } else { spec.dtype };
        let args: Option<Vec<Arg>> = node
            .args
            .iter()
            .map(|arg| {
                let Arg::Node(n) = arg else { return Some(arg.clone()) };
                let Some(expr) = float_of(tensors.graph.node(*n)) else { return Some(arg.clone()) };
                let held = tensors.tensor(&expr, &size)?;
                Some(Arg::Node(if compute == Dtype::Bool { held } else { tensors.convert(held, compute) }))
            })
            .collect();
        // What was made on the way stands behind the call, also where it is not replaced.
        let Some(args) = args else {
            tensors.order.insert(place, id);
            continue;
        };
        let computed = TensorSpec { dtype: compute, ..spec.clone() };
        let mut made = tensors.call(op, args, node.kwargs.clone(), computed);
        if compute != spec.dtype {
            made = tensors.call("prims.convert_element_type.default", vec![Arg::Node(made), Arg::Dtype(spec.dtype)], Vec::new(), spec);
        }
        // Readers come later: those that were moved already read nothing of it.
        tensors.graph.replace_uses(id, &Arg::Node(made));
    }
    let order = std::mem::take(&mut tensors.order);
    graph.reorder(order);
    let is_impure = |node: &Node| node.op().is_some_and(|op| op != "aten._local_scalar_dense.default" && super::trace::is_impure(op));
    graph.eliminate_dead_code(&is_impure);
    for node in graph.nodes() {
        match &node.meta.value {
            Some(FakeValue::SymFloat(float)) => float.needs_numbers(),
            // What a float is rounded to is a number, and so is the float.
            Some(FakeValue::Int(SymInt::Sym(rounded, env))) => rounded.floats().iter().for_each(|float| env.specialize_float(float)),
            _ => {}
        }
    }
    graph.validate()?;
    Ok(Rc::new(graph))
}

/// `prims.convert_element_type`
pub(super) fn convert_element_type(args: &[Value]) -> Result<Value> {
    let dtype = args[1].dtype()?.unwrap_or(Dtype::Float32);
    Ok(Value::Tensor(crate::t!("_to_copy", args[0].tensor()?; dtype = dtype)?))
}
