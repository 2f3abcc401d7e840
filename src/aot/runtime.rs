//! The runtime: prologue and epilogue around compiled graphs.
//!
//! Mutated inputs are written back, aliases are rebuilt from what they alias with the history autograd expects, and the
//! forward's outputs get a node whose backward runs the compiled backward. Saved values are handed to it in a list that it
//! empties.

use super::compile::{GraphCallable, GraphCompiler, tangent_positions};
use super::metadata::{MutationType, OutputType, ViewAndMutationMeta};
use crate::autograd::{Body, Node, SavedVariable, gradient_edge, keeps_graph, meta, replay};
use crate::dispatch::{Modes, Value, modes, set_modes};
use crate::error::{Error, Result};
use crate::partition::Partitioned;
use crate::shape::SymInt;
use crate::t;
use crate::tensor::Tensor;
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// Sets the grad mode until dropped.
struct Grad(Modes);

impl Grad {
    fn set(grad: bool) -> Self {
        Grad(set_modes(Modes { grad, ..modes() }))
    }
}

impl Drop for Grad {
    fn drop(&mut self) {
        set_modes(Modes { grad: self.0.grad, ..modes() });
    }
}

enum Kind {
    Inference(Rc<dyn GraphCallable>),
    Joint { forward: Rc<dyn GraphCallable>, backward: Rc<Backward> },
}

/// The compiled backward, made when it is first needed.
struct Backward {
    partitioned: Partitioned,
    compiler: GraphCompiler,
    compiled: RefCell<Option<Rc<dyn GraphCallable>>>,
}

impl Backward {
    fn get(&self) -> Result<Rc<dyn GraphCallable>> {
        if let Some(compiled) = self.compiled.borrow().clone() {
            return Ok(compiled);
        }
        let graph = self.partitioned.backward.clone();
        let examples: Vec<Value> = graph
            .placeholders()
            .map(|n| match &n.meta.value {
                Some(crate::graph::FakeValue::Tensor(spec)) => Tensor::fake(spec).map(Value::Tensor),
                Some(crate::graph::FakeValue::Int(i)) => Ok(Value::Int(i.clone())),
                _ => Ok(Value::None),
            })
            .collect::<Result<_>>()?;
        let compiled = (self.compiler)(graph, &examples)?;
        *self.compiled.borrow_mut() = Some(compiled.clone());
        Ok(compiled)
    }
}

/// A compiled function as it is called.
pub struct Runtime {
    metadata: ViewAndMutationMeta,
    kind: Kind,
}

impl Runtime {
    /// Without a backward.
    pub fn inference(metadata: ViewAndMutationMeta, graph: Rc<dyn GraphCallable>) -> Self {
        Runtime { metadata, kind: Kind::Inference(graph) }
    }

    /// With a backward. It is compiled at once where symbolic integers are saved for it, so that its guards are not too late.
    pub fn joint(
        metadata: ViewAndMutationMeta,
        forward: Rc<dyn GraphCallable>,
        partitioned: Partitioned,
        compiler: GraphCompiler,
    ) -> Result<Self> {
        let at_once = partitioned.num_saved_symints > 0;
        let backward = Rc::new(Backward { partitioned, compiler, compiled: RefCell::default() });
        if at_once {
            backward.get()?;
        }
        Ok(Runtime { metadata, kind: Kind::Joint { forward, backward } })
    }

    /// Calls the function.
    pub fn call(&self, inputs: Vec<Tensor>) -> Result<Vec<Value>> {
        let mut returned = match &self.kind {
            Kind::Inference(graph) => {
                let _no_grad = Grad::set(false);
                let mut given: Vec<Value> = detached(&inputs)?;
                graph.call(&mut given)?
            }
            Kind::Joint { forward, backward } => self.run_joint(forward, backward, &inputs)?,
        };
        let mut rest = returned.split_off(self.metadata.runtime_mutated().len());
        self.write_back(&inputs, returned)?;
        let bases = rest.split_off(self.metadata.output_info.len());
        let outputs = self.rebuild(&inputs, rest, &bases)?;
        for (t, info) in inputs.iter().zip(&self.metadata.input_info) {
            if info.mutation_type == MutationType::MutatedInGraph {
                t.bump_version();
            }
        }
        if let Some(grad) = self.metadata.grad_enabled_mutation {
            set_modes(Modes { grad, ..modes() });
        }
        Ok(outputs)
    }

    fn run_joint(&self, forward: &Rc<dyn GraphCallable>, backward: &Rc<Backward>, inputs: &[Tensor]) -> Result<Vec<Value>> {
        let num_returns = self.metadata.num_forward_returns();
        let mut all = {
            let _no_grad = Grad::set(false);
            let mut given = detached(inputs)?;
            forward.call(&mut given)?
        };
        let saved = all.split_off(num_returns.min(all.len()));
        let edges = inputs.iter().map(gradient_edge).collect::<Result<Vec<_>>>()?;
        let shared = |t: &Tensor, v: &Value| v.as_tensor().is_some_and(|o| o.storage().same(&t.storage()));
        let donated = saved
            .iter()
            .filter_map(Value::as_tensor)
            .any(|t| !all.iter().any(|o| shared(t, o)) && !inputs.iter().any(|i| i.storage().same(&t.storage())));
        // Saved inputs are saved as the tensors the caller knows, so that writes to them are noticed.
        let kept = saved
            .into_iter()
            .map(|v| match v {
                Value::Tensor(t) => {
                    let original = inputs.iter().find(|i| same_view(i, &t)).cloned().unwrap_or(t);
                    SavedVariable::input(&original).map(Kept::Tensor)
                }
                other => Ok(Kept::Other(other)),
            })
            .collect::<Result<Vec<_>>>()?;
        let positions = tangent_positions(&self.metadata);
        let body = CompiledBackward { backward: backward.clone(), saved: RefCell::new(Some(kept)), specs: RefCell::default(), donated };
        let node = Node::new("CompiledFunctionBackward", edges, Box::new(body));
        let mut specs = Vec::new();
        for (p, value) in all.iter_mut().enumerate() {
            let Value::Tensor(t) = value else { continue };
            if !positions.contains(&p) {
                continue;
            }
            // An output that the graph returned twice, or that is an input, gets a handle of its own.
            if meta::peek(t, |m| m.grad_fn.is_some()) || inputs.iter().any(|i| i.is(t)) {
                *t = t.view_as((*t.geometry()).clone());
            }
            specs.push(t.spec());
            meta::set_history(t, &node);
        }
        if let Some(body) = node.body.as_any().downcast_ref::<CompiledBackward>() {
            *body.specs.borrow_mut() = specs;
        }
        Ok(all)
    }

    /// Writes the new values of mutated inputs into them.
    fn write_back(&self, inputs: &[Tensor], updated: Vec<Value>) -> Result<()> {
        for (i, value) in self.metadata.runtime_mutated().into_iter().zip(updated) {
            let (info, original, updated) = (&self.metadata.input_info[i], &inputs[i], value.into_tensor()?);
            if info.mutates_metadata && !info.mutates_data {
                original.set_geometry((*updated.geometry()).clone());
                original.bump_version();
                continue;
            }
            if info.mutates_metadata {
                let _no_grad = Grad::set(false);
                let g = updated.geometry();
                crate::aten!("as_strided_", original, &g.sizes, &g.strides, &g.offset)?;
            }
            if info.mutations_hidden_from_autograd || info.mutations_under_no_grad_or_inference_mode || !info.requires_grad {
                let _no_grad = Grad::set(false);
                t!("copy_", original, t!("detach", updated)?)?;
            } else {
                t!("copy_", original, updated)?;
            }
        }
        Ok(())
    }

    /// Makes outputs that alias something from what they alias.
    fn rebuild(&self, inputs: &[Tensor], raw: Vec<Value>, bases: &[Value]) -> Result<Vec<Value>> {
        let mut outputs: Vec<Value> = Vec::with_capacity(raw.len());
        let mut later = Vec::new();
        for (o, (info, value)) in self.metadata.output_info.iter().zip(&raw).enumerate() {
            let made = match (info.output_type, info.base_idx) {
                (OutputType::IsInput, Some(i)) => Value::from(&inputs[i]),
                (OutputType::AliasOfInput, Some(i)) => alias(&inputs[i], info, value)?,
                (OutputType::AliasOfIntermediate | OutputType::AliasOfIntermediateSaveAsOutput, Some(i)) => {
                    alias(bases[i].tensor()?, info, value)?
                }
                (OutputType::AliasOfIntermediateBaseIsUserOutput, Some(_)) => {
                    later.push(o);
                    value.clone()
                }
                (OutputType::UnsafeViewAlias, _) => value.clone(),
                _ => value.clone(),
            };
            outputs.push(made);
        }
        for o in later {
            let info = &self.metadata.output_info[o];
            if let Some(base) = info.base_idx.and_then(|i| outputs.get(i)).and_then(Value::as_tensor).cloned() {
                outputs[o] = alias(&base, info, &raw[o])?;
            }
        }
        Ok(outputs)
    }
}

/// Inputs as graphs take them: without history.
fn detached(inputs: &[Tensor]) -> Result<Vec<Value>> {
    Ok(inputs.iter().map(Value::from).collect())
}

fn same_view(a: &Tensor, b: &Tensor) -> bool {
    if a.is(b) {
        return true;
    }
    let (x, y) = (a.geometry(), b.geometry());
    a.storage().same(&b.storage())
        && a.dtype() == b.dtype()
        && x.sizes.len() == y.sizes.len()
        && x.offset.hint() == y.offset.hint()
        && x.sizes.iter().zip(&y.sizes).all(|(p, q)| p.hint() == q.hint())
        && x.strides.iter().zip(&y.strides).all(|(p, q)| p.hint() == q.hint())
}

fn alias(base: &Tensor, info: &super::metadata::OutputInfo, raw: &Value) -> Result<Value> {
    let _grad = Grad::set(info.requires_grad && modes().grad);
    let made = if info.steps.is_empty() || info.steps.iter().any(is_symbolic) {
        let g = raw.tensor()?.geometry();
        t!("as_strided", base, &g.sizes, &g.strides, &g.offset)?
    } else {
        replay(&info.steps, base)?
    };
    if !info.requires_grad && meta::requires_grad(&made) {
        return Ok(Value::Tensor(t!("detach", made)?));
    }
    Ok(Value::Tensor(made))
}

fn is_symbolic(step: &crate::autograd::ViewStep) -> bool {
    fn symbolic(v: &Value) -> bool {
        match v {
            Value::Int(i) => i.as_int().is_none(),
            Value::List(items) => items.iter().any(symbolic),
            _ => false,
        }
    }
    step.args.iter().any(symbolic)
}

enum Kept {
    Tensor(SavedVariable),
    Other(Value),
}

/// The backward of a compiled function.
struct CompiledBackward {
    backward: Rc<Backward>,
    saved: RefCell<Option<Vec<Kept>>>,
    /// Per differentiable output, what its gradient looks like.
    specs: RefCell<Vec<crate::tensor::TensorSpec>>,
    /// Whether a saved tensor belongs to the backward alone (a "donated buffer"): it may be overwritten when the graph is not kept.
    donated: bool,
}

impl Body for CompiledBackward {
    fn apply(&self, node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        if self.donated && keeps_graph() {
            return Err(Error::runtime(
                "This backward function was compiled with non-empty donated buffers which requires create_graph=False and retain_graph=False. Please keep backward(create_graph=False, retain_graph=False) across all backward() function calls, or set torch._functorch.config.donated_buffer=False to disable donated buffer.",
            ));
        }
        let compiled = self.backward.get()?;
        let graph = &self.backward.partitioned.backward;
        let mut tensors = Vec::new();
        let mut numbers = Vec::new();
        {
            let saved = self.saved.borrow();
            let saved = saved.as_ref().ok_or_else(|| {
                Error::runtime("Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after calling backward.")
            })?;
            for kept in saved {
                match kept {
                    Kept::Tensor(v) => tensors.push(Value::Tensor(v.unpack(node)?)),
                    Kept::Other(v) => numbers.push(v.clone()),
                }
            }
        }
        let create_graph = modes().grad;
        let _no_grad = Grad::set(false);
        // Symbolic integers come first, then saved tensors, then tangents.
        let mut inputs = numbers;
        inputs.append(&mut tensors);
        let num_tangents = graph.placeholders().count().saturating_sub(inputs.len());
        let traced: Vec<_> = graph.placeholders().skip(inputs.len()).map(|n| n.tensor().cloned()).collect();
        let specs = self.specs.borrow();
        for (i, grad) in grads.into_iter().take(num_tangents).enumerate() {
            let grad = match grad {
                Some(g) => g,
                None => {
                    let spec = specs.get(i).ok_or_else(|| Error::runtime("a gradient without a shape"))?;
                    t!("zeros", &spec.geometry.sizes; dtype = spec.dtype)?
                }
            };
            inputs.push(Value::Tensor(coerce(grad, traced.get(i).and_then(Option::as_ref))?));
        }
        let sources: Vec<Tensor> = if create_graph { inputs.iter().filter_map(|v| v.as_tensor().cloned()).collect() } else { Vec::new() };
        let out = compiled.call(&mut inputs)?;
        let grads: Vec<Option<Tensor>> = out.into_iter().map(|v| v.as_tensor().cloned()).collect();
        if sources.iter().any(meta::requires_grad) {
            let edges = sources.iter().map(gradient_edge).collect::<Result<Vec<_>>>()?;
            let twice = Node::new("CompiledFunctionBackwardBackward", edges, Box::new(DoubleBackward));
            grads.iter().flatten().for_each(|g| meta::set_history(g, &twice));
        }
        Ok(grads)
    }

    fn release(&self) {
        *self.saved.borrow_mut() = None;
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What differentiating a compiled backward comes to.
struct DoubleBackward;

impl Body for DoubleBackward {
    fn apply(&self, _node: &Rc<Node>, _grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        Err(Error::runtime("torch.compile with aot_autograd does not currently support double backward"))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A tangent in the memory layout it was traced with.
fn coerce(grad: Tensor, traced: Option<&crate::tensor::TensorSpec>) -> Result<Tensor> {
    let Some(spec) = traced else { return Ok(grad) };
    let (have, want) = (grad.geometry(), &spec.geometry);
    let fits = have.strides.len() == want.strides.len()
        && want.sizes.iter().chain(&want.strides).all(|s| s.as_int().is_some())
        && have.strides.iter().zip(&want.strides).zip(&want.sizes).all(|((a, b), n)| a.hint() == b.hint() || n.hint() == Some(1));
    if fits {
        return Ok(grad);
    }
    // Strides for the sizes at hand, in the traced order of dimensions.
    let mut order: Vec<usize> = (0..want.strides.len()).collect();
    order.sort_by_key(|d| (want.strides[*d].hint(), std::cmp::Reverse(*d)));
    let (mut strides, mut next) = (want.strides.clone(), SymInt::Int(1));
    for d in order {
        if want.strides[d].as_int().is_none() || want.sizes.iter().any(|s| s.as_int().is_none()) {
            strides[d] = next.clone();
        }
        next = &next * &have.sizes[d].max(&SymInt::Int(1));
    }
    if have.strides.iter().zip(&strides).zip(&have.sizes).all(|((a, b), n)| a.hint() == b.hint() || n.hint() == Some(1)) {
        return Ok(grad);
    }
    let like = t!("new_empty_strided", &grad, &have.sizes, &strides)?;
    t!("copy_", like, grad)
}
