//! Outputs of a graph besides what it computes: inputs that the script writes to and stores back where they came from (`self.n += 1`),
//! which Dynamo returns, and numbers of the call, which it does not.

use crate::autograd::meta;
use crate::dispatch::Value;
use crate::dynamo::Recorder;
use crate::dynamo::dynamic_shapes::Place;
use crate::error::Result;
use crate::graph::NodeId;
use crate::shape::{Expr, SymInt, Symbol};
use crate::span::Written;
use crate::tensor::Tensor;

impl Recorder {
    /// A tensor was written to by a call.
    pub(in crate::dynamo) fn note_stored(&self, t: &Tensor, call: NodeId) {
        let is_operator = matches!(Written::current(), Some(Written::Operator(_)));
        if is_operator && self.output().inputs.borrow().iter().any(|i| i.fake_tensor.is(t)) && (self.surroundings.stores_result)() {
            let output = self.output();
            let mut stored = output.stored.borrow_mut();
            stored.retain(|(known, _)| !known.is(t));
            stored.push((t.clone(), call));
        }
    }

    /// A tensor of the caller's was stored where it was, as the result of the call that gave it again.
    pub fn note_stored_again(&self, t: &Tensor) {
        let Some((fake_tensor, _)) = self.given_again(t) else { return };
        let Some(call) = self.output().writing.last_call(fake_tensor.id()) else { return };
        let output = self.output();
        let mut stored = output.stored.borrow_mut();
        if !stored.iter().any(|(known, _)| known.is(&fake_tensor)) {
            stored.push((fake_tensor, call));
        }
    }

    /// The gradient of a tensor of the caller's was set to a value of the graph: the graph gives it back, also where it is an input that
    /// was written to.
    pub fn note_gradient(&self, of: &Tensor, gradient: &Tensor) {
        let output = self.output();
        let written = self.fake_tensor(gradient).filter(|fake_tensor| fake_tensor.version() > 0);
        if let Some(fake_tensor) = written
            && let Some(call) = output.nodes.borrow().get(&fake_tensor.id()).copied()
            && !output.stored.borrow().iter().any(|(known, _)| known.is(&fake_tensor))
        {
            output.stored.borrow_mut().push((fake_tensor, call));
        }
        let mut known = output.gradients.borrow_mut();
        if self.is_traced(gradient) && !of.is_fake() && !known.iter().any(|t| t.is(of)) {
            known.push(of.clone());
        }
    }

    /// Whether a value of the graph is the gradient of a tensor of the caller's.
    pub fn is_gradient(&self, t: &Tensor) -> bool {
        self.output().gradients.borrow().iter().any(|of| meta::grad(of).is_some_and(|g| g.is(t)))
    }

    /// The graph has run: gradients that were set to values of it have those.
    pub fn settle_gradients(&self, of: &[Tensor]) {
        for of in of {
            if let Some(gradient) = meta::grad(of) {
                let now = self.current(&gradient);
                if !now.is(&gradient) {
                    meta::set_grad(of, Some(now));
                }
            }
        }
    }

    /// Inputs that were stored back: what stands for each, and the script's tensor.
    pub fn stored_back(&self) -> Vec<(Tensor, Tensor)> {
        let output = self.output();
        let inputs = output.inputs.borrow();
        let known = |t: &Tensor| inputs.iter().find(|i| i.fake_tensor.is(t)).map(|i| i.real.clone());
        self.output().stored.borrow().iter().filter_map(|(t, _)| Some((t.clone(), known(t)?))).collect()
    }

    /// These are inputs, in this order, whether they are read or not. Of the `holders` only the size in the second dimension is wanted.
    pub fn keep_inputs(&self, tensors: &[Tensor], holders: &[Tensor]) -> Result<()> {
        self.output().keeping.set(true);
        let touched = tensors.iter().try_for_each(|t| self.touch(t, false));
        self.output().keeping.set(false);
        touched?;
        holders.iter().try_for_each(|t| self.touch(t, false))?;
        // Sizes that no holder has.
        let left = self.output().unplaced_sizes.take();
        self.output().sizes_without_holder.borrow_mut().extend(left.iter().map(|size| self.size_input(size)));
        self.output().kept.borrow_mut().extend(tensors.iter().map(Tensor::id));
        self.output().holders.borrow_mut().extend(holders.iter().map(Tensor::id));
        Ok(())
    }

    /// Values that are gradients of the caller's tensors, in the order in which those are inputs.
    pub fn in_order_of_leaves(&self, outputs: &mut [Value]) {
        let output = self.output();
        let (gradients, by_real) = (output.gradients.borrow(), output.by_real.borrow());
        let place = |v: &Value| {
            let t = v.as_tensor()?;
            let leaf = gradients.iter().find(|of| meta::grad(of).is_some_and(|g| g.is(t)))?;
            by_real.get(&leaf.id()).copied()
        };
        let slots: Vec<usize> = (0..outputs.len()).filter(|i| place(&outputs[*i]).is_some()).collect();
        let mut values: Vec<Value> = slots.iter().map(|i| outputs[*i].clone()).collect();
        values.sort_by_key(|v| place(v));
        for (slot, value) in slots.into_iter().zip(values) {
            outputs[slot] = value;
        }
    }

    /// Whether a symbolic size is a number of the call as it was given: Python has it already.
    pub fn is_number(&self, size: &SymInt) -> bool {
        size.expr().as_symbol().is_some() && self.is_of_numbers(&size.expr())
    }

    /// Whether an expression has no other symbols than numbers of the call.
    pub(in crate::dynamo) fn is_of_numbers(&self, expr: &Expr) -> bool {
        let output = self.output();
        let symbols = output.symbols.borrow();
        let is_number = |s: &&Symbol| symbols.witnesses.iter().any(|w| w.symbol == **s && w.at == Place::Number);
        let found = expr.symbols();
        !found.is_empty() && found.iter().all(|s| is_number(&s))
    }
}
