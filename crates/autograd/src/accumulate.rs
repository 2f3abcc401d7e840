//! Where the tape ends: a leaf's gradient is added up in its `.grad`.

use super::lift::{Lift, Lifted, Packed};
use super::meta;
use super::node::{Body, Node};
use diagnostics::error::Result;
use dispatch::modes;
use dispatch::t;
use shape::SymInt;
use std::any::Any;
use std::rc::Rc;
use tensor::Tensor;

/// Adds arriving gradients into a leaf's `.grad`.
pub(super) struct AccumulateGrad {
    pub(super) variable: Tensor,
}

impl Body for AccumulateGrad {
    fn apply(&self, _node: &Rc<Node>, mut grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        let Some(grad) = grads.first_mut().and_then(Option::take) else { return Ok(Vec::new()) };
        drop(grads);
        let variable = &self.variable;
        if !meta::requires_grad(variable) {
            return Ok(Vec::new());
        }
        accumulate(variable, grad)?;
        let hooks: Vec<_> = meta::peek(variable, |m| m.post_accumulate_hooks.clone());
        for (_, hook) in hooks {
            (hook.call)(Some(variable))?;
        }
        Ok(Vec::new())
    }

    fn lift(&self, node: &Rc<Node>, lift: &mut Lift) -> Result<Lifted> {
        let has_post_hooks = !node.post_hooks.borrow().is_empty();
        lift.specialize(format_args!("{} {}", modes().grad, has_post_hooks));
        if !meta::requires_grad(&self.variable) {
            return Ok(Lifted::Accumulate { variable: None, grad: Packed::None, has_post_hooks });
        }
        let variable = Some(lift.tensor(&self.variable));
        let grad = lift.optional(meta::grad(&self.variable).as_ref());
        Ok(Lifted::Accumulate { variable, grad, has_post_hooks })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The leaf an accumulator belongs to.
pub fn accumulated_variable(node: &Node) -> Option<Tensor> {
    node.body.as_any().downcast_ref::<AccumulateGrad>().map(|a| a.variable.clone())
}

/// Adds a gradient into `.grad`, which takes the variable's layout; the first one is taken over where nobody else holds it.
pub fn accumulate(variable: &Tensor, grad: Tensor) -> Result<()> {
    match meta::grad(variable) {
        None => {
            let keeps_graph = modes().grad;
            let fits = obeys_layout(&grad, variable);
            let stored = if keeps_graph {
                in_layout_of(variable, &grad)?
            } else if fits && grad.handles() == 1 {
                t!("detach", grad)?
            } else if fits {
                t!("clone", grad)?
            } else {
                in_layout_of(variable, &grad)?
            };
            meta::set_grad(variable, Some(stored));
        }
        Some(have) if modes().grad => {
            let total = t!("add.Tensor", have, grad)?;
            meta::set_grad(variable, Some(total));
        }
        Some(have) => {
            t!("add_.Tensor", have, grad)?;
        }
    }
    Ok(())
}

/// The gradient of a variable with another one added, without writing it to the variable.
pub fn accumulated(variable: &Tensor, have: Option<Tensor>, grad: Tensor) -> Result<Tensor> {
    match have {
        None if modes().grad => in_layout_of(variable, &grad),
        // Who else holds it is not known where a graph has it.
        None => t!("_first_gradient", variable, grad),
        Some(have) if modes().grad => t!("add.Tensor", have, grad),
        Some(have) => t!("add_.Tensor", have, grad),
    }
}

/// A copy of a gradient that lies in memory as its variable does, or row by row where the variable has gaps.
pub fn in_layout_of(variable: &Tensor, grad: &Tensor) -> Result<Tensor> {
    if is_dense(variable) {
        let g = variable.geometry();
        let like = t!("new_empty_strided", grad, &g.sizes, &g.strides;
            dtype = grad.dtype(), layout = dispatch::Value::Layout(tensor::Layout::Strided), device = grad.device())?;
        return t!("copy_", like, grad);
    }
    t!("clone", grad; memory_format = tensor::MemoryFormat::Contiguous)
}

/// Whether a gradient lies in memory as its variable does, or row by row where the variable has gaps. The stride of a size of 1 may be any
/// but 0: what was expanded to it shares its memory.
fn obeys_layout(grad: &Tensor, variable: &Tensor) -> bool {
    if !is_dense(variable) {
        return grad.is_contiguous().unwrap_or(false);
    }
    let (a, b) = (grad.geometry(), variable.geometry());
    let same =
        |((x, y), n): ((&SymInt, &SymInt), &SymInt)| if n.statically_eq(1) { !x.statically_eq(0) } else { x.statically_eq(y.clone()) };
    a.strides.len() == b.strides.len() && a.strides.iter().zip(&b.strides).zip(&a.sizes).all(same)
}

/// Whether elements fill memory without gaps and none is seen twice.
fn is_dense(t: &Tensor) -> bool {
    let g = t.geometry();
    let mut dims: Vec<(i64, i64)> = g.sizes.iter().zip(&g.strides).map(|(n, s)| (s.hint().unwrap_or(1), n.hint().unwrap_or(1))).collect();
    if dims.iter().any(|(_, size)| *size == 0) {
        return true;
    }
    dims.retain(|(_, size)| *size != 1);
    dims.sort_unstable();
    let mut expected = 1;
    dims.iter().all(|(stride, size)| {
        let fits = *stride == expected;
        expected *= size;
        fits
    })
}
