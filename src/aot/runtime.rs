//! The runtime: prologue and epilogue around compiled graphs.
//!
//! Mutated inputs are written back, aliases are rebuilt from what they alias with the history autograd expects, and the
//! forward's outputs get a node whose backward runs the compiled backward. Saved values are handed to it in a list that it
//! empties.

use super::check::{Check, Gradients};
use super::context::{GraphBeingCompiled, Known};
use super::epilogue::Epilogue;
use super::higher_order::hook::{BackwardState, backward_state, requires_compiled_autograd};
use super::schemas::{GraphCallable, GraphCompiler, ViewAndMutationMeta};
use super::subclass::{self, MaybeSubclass};
use super::tangents::{coerce, tangent_positions};
use crate::autograd::lift::{AotBackward, Lift, Lifted};
use crate::autograd::{
    Body, CreationMeta, Edge, InputMeta, Node, SavedVariable, freed, gradient_edge, keep_view, keep_view_into, keeps_graph, meta, options,
    set_creation,
};
use crate::dispatch::{Modes, Value, lookup, modes, named, set_modes};
use crate::error::{Error, Result};
use crate::graph::{Arg, Graph, Target};
use crate::t;
use crate::tensor::{Tensor, TensorImpl, TensorSpec};
use crate::transforms::levels;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

/// Sets the grad mode until dropped. Autocast is off meanwhile: the casts are in the graphs.
struct Grad(Modes);

impl Grad {
    fn set(grad: bool) -> Self {
        Grad(set_modes(Modes { grad, autocast: None, ..modes() }))
    }
}

impl Drop for Grad {
    fn drop(&mut self) {
        set_modes(Modes { grad: self.0.grad, autocast: self.0.autocast, ..modes() });
    }
}

enum Kind {
    Inference(Rc<dyn GraphCallable>),
    Joint { forward: Rc<dyn GraphCallable>, backward: Rc<Backward> },
}

/// A backward that is compiled later than its forward.
pub struct Lowering {
    /// The number of the compilation.
    pub id: u64,
    /// Its graph.
    pub graph: Rc<Graph>,
    /// What the gradients that it returns are made of.
    pub gradients: Vec<MaybeSubclass>,
    /// Compiles it.
    pub compiler: GraphCompiler,
    /// What the tracing context knew when the forward was compiled.
    pub known: Option<Rc<ViewAndMutationMeta>>,
}

/// The compiled backward, made when it is first needed.
struct Backward {
    lowering: Lowering,
    compiled: RefCell<Option<Rc<dyn GraphCallable>>>,
    /// Whether it was compiled for a run that keeps the graph: then it may overwrite nothing, in any run.
    keeps: Cell<bool>,
}

impl Backward {
    fn get(&self, keeps_graph: bool) -> Result<Rc<dyn GraphCallable>> {
        if let Some(compiled) = self.compiled.borrow().clone() {
            return Ok(compiled);
        }
        self.keeps.set(keeps_graph);
        let _known = Known::new(self.lowering.known.clone());
        let _compiling = GraphBeingCompiled::new(self.lowering.id, "backward");
        let graph = (*self.lowering.graph).clone();
        let examples: Vec<Value> = graph
            .placeholders()
            .map(|n| match &n.meta.value {
                Some(crate::graph::FakeValue::Tensor(spec)) => Tensor::fake(spec).map(Value::Tensor),
                Some(crate::graph::FakeValue::Int(i)) => Ok(Value::Int(i.clone())),
                _ => Ok(Value::None),
            })
            .collect::<Result<_>>()?;
        let compiled = (self.lowering.compiler)(graph, &examples)?;
        *self.compiled.borrow_mut() = Some(compiled.clone());
        Ok(compiled)
    }
}

/// A compiled function as it is called.
pub struct Runtime {
    metadata: ViewAndMutationMeta,
    kind: Kind,
    epilogue: Epilogue,
    /// Per value that a joint graph's forward returns, whether a view operator made it.
    views: Vec<bool>,
    /// Holds its calls against eager mode.
    pub check: Option<Rc<Check>>,
}

/// Per output of a forward, whether a view operator makes it.
pub fn views_of(forward: &Graph) -> Vec<bool> {
    forward.outputs().iter().map(|value| is_view(forward, value)).collect()
}

/// Whether a view operator makes a value of a graph; `detach` makes no view for autograd.
fn is_view(graph: &Graph, value: &Arg) -> bool {
    let Arg::Node(id) = value else { return false };
    let node = graph.node(*id);
    match (&node.target, node.args.first()) {
        (Target::Getitem, Some(of)) => is_view(graph, of),
        _ => node.op().and_then(lookup).is_some_and(|entry| entry.is_view() && !named::DETACH.is(entry)),
    }
}

impl Runtime {
    /// Without a backward.
    pub fn inference(metadata: ViewAndMutationMeta, graph: Rc<dyn GraphCallable>) -> Self {
        let epilogue = Epilogue::new(&metadata, false);
        Runtime { metadata, kind: Kind::Inference(graph), epilogue, views: Vec::new(), check: None }
    }

    /// With a backward. It is compiled at once where symbolic integers are saved for it, so that its guards are not too late; where that
    /// fails, it is tried again when the backward is needed. `views` is what [`views_of`] says of the forward.
    pub fn joint(
        metadata: ViewAndMutationMeta,
        forward: Rc<dyn GraphCallable>,
        views: Vec<bool>,
        backward: Lowering,
        at_once: bool,
    ) -> Result<Self> {
        let id = backward.id;
        let backward = Rc::new(Backward { lowering: backward, compiled: RefCell::default(), keeps: Cell::default() });
        if at_once {
            drop(backward.get(false));
        } else {
            // PyTorch counts the compilation of the backward here, and again when it comes.
            drop(GraphBeingCompiled::new(id, "backward"));
        }
        let epilogue = Epilogue::new(&metadata, true);
        Ok(Runtime { metadata, kind: Kind::Joint { forward, backward }, epilogue, views, check: None })
    }

    /// Calls the function.
    pub fn call(&self, inputs: Vec<Tensor>) -> Result<Vec<Value>> {
        self.epilogue.count_writes(&inputs, matches!(self.kind, Kind::Joint { .. }));
        let returned = match &self.kind {
            Kind::Inference(graph) => {
                let _no_grad = Grad::set(false);
                let returned = graph.call(&mut self.given_to_graph(&inputs)?)?;
                subclass::wrap_values(returned, &self.metadata.subclass_fw_graph_out_meta)?
            }
            Kind::Joint { forward, backward } => self.run_joint(forward, backward, &inputs)?,
        };
        self.epilogue.run(&inputs, returned)
    }

    fn run_joint(&self, forward: &Rc<dyn GraphCallable>, backward: &Rc<Backward>, inputs: &[Tensor]) -> Result<Vec<Value>> {
        let num_returns = self.metadata.num_forward_returns();
        let gradients = self.check.as_ref().and_then(|check| check.remember(inputs));
        let mut all = {
            let _no_grad = Grad::set(false);
            forward.call(&mut self.given_to_graph(inputs)?)?
        };
        let saved = all.split_off(num_returns.min(all.len()));
        let edges = self.edges(backward, inputs)?;
        let made_of = &self.metadata.subclass_fw_graph_out_meta;
        if edges.iter().all(Option::is_none) {
            return subclass::wrap_values(all, made_of);
        }
        // What is saved are plain tensors, some of those that inputs and outputs are made of.
        let plain_inputs = inputs.iter().map(subclass::plain).collect::<Result<Vec<_>>>()?.concat();
        let shared = |t: &Tensor, v: &Value| v.as_tensor().is_some_and(|o| o.storage().same(&t.storage()));
        let donated = self.metadata.switches.donated_buffer
            && saved
                .iter()
                .filter_map(Value::as_tensor)
                .any(|t| !all.iter().any(|o| shared(t, o)) && !plain_inputs.iter().any(|i| i.storage().same(&t.storage())));
        // What a graph of dynamic sizes saved is dynamic to the backward that reads it.
        let numbers = saved.iter().filter(|v| v.as_tensor().is_none()).count();
        let specs: Vec<Option<TensorSpec>> = backward.lowering.graph.placeholders().skip(numbers).map(|n| n.tensor().cloned()).collect();
        let mut specs = specs.into_iter();
        let mut note_dynamic = |t: &Tensor| {
            let sizes = specs.next().flatten().map(|spec| spec.geometry.sizes).unwrap_or_default();
            let dims: Vec<usize> = (0..t.dim()).filter(|d| sizes.get(*d).is_some_and(|size| size.as_int().is_none())).collect();
            note_dynamic_dims(t, dims);
        };
        // Saved inputs are saved as the tensors the caller knows, so that writes to them are noticed.
        let kept = saved
            .into_iter()
            .map(|v| match v {
                Value::Tensor(t) => {
                    let original = plain_inputs.iter().find(|i| same_view(i, &t)).cloned().unwrap_or(t);
                    note_dynamic(&original);
                    SavedVariable::input(&original).map(Kept::Tensor)
                }
                other => Ok(Kept::Other(other)),
            })
            .collect::<Result<Vec<_>>>()?;
        let mut all = subclass::wrap_values(all, made_of)?;
        let positions = tangent_positions(&self.metadata);
        let body = CompiledBackward {
            backward: backward.clone(),
            saved: RefCell::new(Some(kept)),
            tangents: RefCell::default(),
            donated,
            state: self.metadata.state_place().and_then(|place| Some((backward_state()?, place))),
            inputs: inputs.iter().map(InputMeta::of).collect(),
            gradients,
        };
        let node = Node::new("CompiledFunctionBackward", edges, Box::new(body));
        let (mut tangents, mut views) = (Vec::new(), Vec::<(u64, Tensor)>::new());
        let first_output = self.metadata.runtime_mutated().len();
        for (p, value) in all.iter_mut().enumerate() {
            let Value::Tensor(t) = value else { continue };
            if !self.has_history(p) {
                continue;
            }
            // An output that is an input or that hides what it views gets a handle of its own; one that the graph returned twice is
            // one tensor, whose history is that of its last place.
            let hides = p.checked_sub(first_output).is_some_and(|o| self.epilogue.is_unsafe_view(o));
            let is_known = meta::peek(t, |m| m.grad_fn.as_ref().is_some_and(|(known, _)| !Rc::ptr_eq(known, &node)));
            if hides {
                // As PyTorch has it: strides of dimensions of one element are then those of a new view.
                *t = t!("_unsafe_view", &*t, t.sizes())?;
            } else if is_known || inputs.iter().any(|i| i.is(t)) {
                *t = t.handle();
            } else if self.made_by_view(p) {
                // It goes on being a view, and writes to it are refused.
                let made = views.iter().find(|(of, _)| *of == t.id()).map(|(_, made)| made.clone());
                *t = made.unwrap_or_else(|| {
                    let view = t.handle();
                    match inputs.iter().find(|i| i.storage().same(&t.storage())) {
                        Some(input) => keep_view_into(&view, input),
                        None => keep_view(&view, None, Some(t), false),
                    }
                    views.push((t.id(), view.clone()));
                    view
                });
            }
            if positions.contains(&p) {
                let output = p.checked_sub(first_output).filter(|o| *o < self.metadata.output_info.len());
                tangents.push(Tangent {
                    slot: node.inputs.borrow().len(),
                    spec: t.spec(),
                    made_of: made_of[p].clone(),
                    output,
                    position: p,
                });
            }
            meta::set_history(t, &node);
        }
        if node.inputs.borrow().len() > 1 {
            views.iter().for_each(|(_, view)| set_creation(view, CreationMeta::MultiOutputNode));
        }
        if let Some(body) = node.body.as_any().downcast_ref::<CompiledBackward>() {
            *body.tangents.borrow_mut() = tangents;
        }
        Ok(all)
    }

    /// Where gradients of inputs go. An input with a history is cut off from it where the backward has no gradient for it.
    fn edges(&self, backward: &Backward, inputs: &[Tensor]) -> Result<Vec<Option<Edge>>> {
        let gradients = backward.lowering.graph.outputs();
        let is_behind_state = |i: usize| self.metadata.backward_state.is_some_and(|state| state <= i);
        let at = |i: usize| backward.lowering.gradients[..i].iter().map(subclass::count).sum::<usize>() + usize::from(is_behind_state(i));
        let is_cut = |i: usize| !self.metadata.input_info[i].is_leaf && matches!(gradients.get(at(i)), Some(Arg::None));
        inputs.iter().enumerate().map(|(i, t)| if is_cut(i) { Ok(None) } else { gradient_edge(t) }).collect()
    }

    /// Inputs as graphs take them: those of classes of the script's taken apart. Nothing stands for the state that hooks are in: the node
    /// of the backward has that.
    fn given_to_graph(&self, inputs: &[Tensor]) -> Result<Vec<Value>> {
        let made_of = self.metadata.subclass_inp_meta.iter();
        let each = inputs.iter().zip(made_of).map(|(t, meta)| subclass::graph_values(&Value::from(t), meta));
        let mut given = each.collect::<Result<Vec<_>>>()?.concat();
        if let Some(place) = self.metadata.state_place() {
            given.insert(place, Value::None);
        }
        Ok(given)
    }

    /// Whether a view operator of the graph made what the forward returns at a position.
    fn made_by_view(&self, position: usize) -> bool {
        let made_of = &self.metadata.subclass_fw_graph_out_meta;
        let at: usize = made_of[..position].iter().map(subclass::count).sum();
        made_of[position].is_none() && self.views.get(at).copied().unwrap_or_default()
    }

    /// Whether autograd takes what the forward returns at a position for its result. A view that the function made under no_grad says
    /// that it requires grad, and so has a history here, but no tangent.
    fn has_history(&self, position: usize) -> bool {
        let mutated = self.metadata.runtime_mutated();
        let info = match position.checked_sub(mutated.len()) {
            None => return self.metadata.input_info[mutated[position]].requires_grad,
            Some(output) => self.metadata.output_info.get(output),
        };
        info.is_none_or(|o| o.spec.is_some() && o.requires_grad && !o.output_type.is_regenerated())
    }
}

fn same_view(a: &Tensor, b: &Tensor) -> bool {
    if a.is(b) {
        return true;
    }
    let (x, y) = (a.geometry(), b.geometry());
    a.storage().same(&b.storage())
        && a.dtype() == b.dtype()
        && a.math_bits() == b.math_bits()
        && x.sizes.len() == y.sizes.len()
        && x.offset.hint() == y.offset.hint()
        && x.sizes.iter().zip(&y.sizes).all(|(p, q)| p.hint() == q.hint())
        && x.strides.iter().zip(&y.strides).all(|(p, q)| p.hint() == q.hint())
}

enum Kept {
    Tensor(SavedVariable),
    Other(Value),
}

/// A tangent of the backward.
#[derive(Clone)]
struct Tangent {
    /// Which of the node's gradients it is.
    slot: usize,
    /// What it looks like.
    spec: TensorSpec,
    /// What it is made of.
    made_of: MaybeSubclass,
    /// The function's output that it belongs to.
    output: Option<usize>,
    /// Which of the values that the forward returns it is the gradient of.
    position: usize,
}

/// The backward of a compiled function.
struct CompiledBackward {
    backward: Rc<Backward>,
    saved: RefCell<Option<Vec<Kept>>>,
    tangents: RefCell<Vec<Tangent>>,
    /// Whether a saved tensor belongs to the backward alone (a "donated buffer"): it may be overwritten when the graph is not kept.
    donated: bool,
    /// What the hooks are in that the function has registered, and its place among the graph's inputs.
    state: Option<(Rc<dyn BackwardState>, usize)>,
    /// What the function was given.
    inputs: Vec<InputMeta>,
    /// Compares its gradients with eager mode's.
    gradients: Option<Gradients>,
}

/// Inputs of a backward graph: symbolic integers, saved tensors, and tangents from the gradients that come.
fn prologue(
    graph: &Graph,
    tangents: &[Tangent],
    numbers: Vec<Value>,
    saved: Vec<Value>,
    mut grads: Vec<Option<Tensor>>,
) -> Result<Vec<Value>> {
    let mut inputs = numbers;
    inputs.extend(saved);
    let mut traced = graph.placeholders().skip(inputs.len()).map(|n| n.tensor().cloned()).collect::<Vec<_>>().into_iter();
    for (i, tangent) in tangents.iter().enumerate() {
        // A partition by the script may leave tangents out.
        if traced.len() == 0 {
            break;
        }
        let grad = match grads.get_mut(tangent.slot).and_then(Option::take) {
            Some(g) => g,
            None => t!("zeros", &tangent.spec.geometry.sizes; dtype = tangent.spec.dtype)?,
        };
        for plain in subclass::plain_tangent(&grad, &tangent.made_of, i, tangent.output)? {
            inputs.push(Value::Tensor(coerce(plain, traced.next().flatten().as_ref())?));
        }
    }
    Ok(inputs)
}

/// Whether a backward writes to what the forward was given.
fn writes_inputs(graph: &Graph) -> bool {
    graph.nodes().any(|node| node.op() == Some("aten.copy_.default") && node.meta.is_backward)
}

impl Body for CompiledBackward {
    fn apply(&self, node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        if self.state.is_some() {
            return Err(requires_compiled_autograd());
        }
        // It is a graph of tensors, and knows nothing of a level's.
        if levels::current().is_some() {
            return Err(Error::runtime(
                "It looks like you're trying to call a compiled backward function within vmap/grad/vjp, which isn't supported. Try wrapping vmap inside torch.compile, or skip compiling the backward function.",
            ));
        }
        let needs_graph = options().needs_graph();
        let compiled = self.backward.get(needs_graph)?;
        if self.donated && keeps_graph() && !self.backward.keeps.get() {
            return Err(Error::runtime(
                "This backward function was compiled with non-empty donated buffers which requires create_graph=False and retain_graph=False. Please keep backward(create_graph=False, retain_graph=False) across all backward() function calls, or set torch._functorch.config.donated_buffer=False to disable donated buffer.",
            ));
        }
        // Rows of gradients that follow need what this one may overwrite.
        let may_overwrite = options().more_rows && self.donated && !self.backward.keeps.get();
        let (mut tensors, mut numbers) = (Vec::new(), Vec::new());
        {
            // Where the graph is not kept, nothing but the list of inputs holds saved values: they go as the graph consumes them.
            let (held, taken) = if needs_graph { (Some(self.saved.borrow()), None) } else { (None, self.saved.take()) };
            for kept in held.as_ref().map_or(taken.as_ref(), |held| held.as_ref()).ok_or_else(freed)? {
                match kept {
                    Kept::Tensor(v) if may_overwrite => {
                        let _no_grad = Grad::set(false);
                        tensors.push(Value::Tensor(crate::t!("clone", v.unpack(node)?)?));
                    }
                    Kept::Tensor(v) => tensors.push(Value::Tensor(v.unpack(node)?)),
                    Kept::Other(v) => numbers.push(v.clone()),
                }
            }
        }
        let create_graph = modes().grad;
        if create_graph && writes_inputs(&self.backward.lowering.graph) {
            return Err(Error::runtime(
                "aot_autograd does not support input mutations with requires_grad in backward for create_graph=True",
            ));
        }
        let _no_grad = Grad::set(false);
        let arrived = self.gradients.as_ref().map(|_| grads.clone());
        let mut inputs = prologue(&self.backward.lowering.graph, &self.tangents.borrow(), numbers, tensors, grads)?;
        let sources: Vec<Tensor> = if create_graph { inputs.iter().filter_map(|v| v.as_tensor().cloned()).collect() } else { Vec::new() };
        let given = self.gradients.as_ref().map(|_| inputs.clone());
        let out = super::interpret::watched(|| compiled.call(&mut inputs))?;
        let out = subclass::wrap_values(out, &self.backward.lowering.gradients)?;
        let grads: Vec<Option<Tensor>> = out.into_iter().map(|v| v.as_tensor().cloned()).collect();
        if let (Some(gradients), Some(arrived), Some(given)) = (&self.gradients, arrived, given) {
            let tangents = self.tangents.borrow();
            let tangents: Vec<_> = tangents.iter().map(|t| (t.position, arrived.get(t.slot).cloned().flatten())).collect();
            gradients.compare(&tangents, &grads, &|| compiled.call(&mut given.clone()));
        }
        // Whatever they come from, so that the mistake shows where they are differentiated.
        if create_graph {
            let edges = sources.iter().map(gradient_edge).collect::<Result<Vec<_>>>()?;
            let twice = Node::new("CompiledFunctionBackwardBackward", edges, Box::new(DoubleBackward));
            grads.iter().flatten().for_each(|g| meta::set_history(g, &twice));
        }
        Ok(grads)
    }

    fn lift(&self, node: &Rc<Node>, lift: &mut Lift) -> Result<Lifted> {
        let backward = &self.backward;
        if backward.lowering.gradients.iter().any(Option::is_some) || self.tangents.borrow().iter().any(|t| t.made_of.is_some()) {
            return Err(Error::not_implemented(
                "compiled autograd: tensor subclasses in a compiled function are not supported in the playground",
            ));
        }
        lift.number(backward.lowering.id as usize);
        let (mut saved, mut sizes) = (Vec::new(), Vec::new());
        {
            let held = self.saved.borrow();
            let held = held.as_ref().ok_or_else(freed)?;
            for kept in held {
                if let Kept::Other(value) = kept {
                    sizes.push(lift.symbolic_size(&value.sym_int()?)?);
                }
            }
            for kept in held {
                if let Kept::Tensor(v) = kept {
                    saved.push(lift.saved(v, node)?);
                }
            }
        }
        // PyTorch's node keeps what its results and its inputs are like, too; nothing in the graph reads it.
        for meta in node.inputs.borrow().iter().chain(&self.inputs) {
            lift.list_of_sizes(&meta.sizes)?;
        }
        let context = lift.object(Rc::new(node.clone()));
        let state = self.state.as_ref().map(|(state, place)| (lift.object(state.object()), *place));
        let (graph, tangents) = (backward.lowering.graph.clone(), self.tangents.borrow().clone());
        let of_graph = graph.clone();
        let prologue = move |saved: Vec<Value>, numbers: Vec<Value>, grads: Vec<Option<Tensor>>| {
            let _no_grad = Grad::set(false);
            prologue(&of_graph, &tangents, numbers, saved, grads)
        };
        let num_gradients = backward.lowering.gradients.len();
        let backward = AotBackward { graph, id: backward.lowering.id, saved, sizes, state, prologue: Rc::new(prologue), num_gradients };
        Ok(Lifted::Compiled { context, backward })
    }

    fn release(&self) {
        *self.saved.borrow_mut() = None;
    }

    fn saved_tensors(&self, node: &Rc<Node>) -> Option<Result<Vec<Tensor>>> {
        let saved = self.saved.borrow();
        let unpacked = |kept: &Kept| if let Kept::Tensor(v) = kept { Some(v.unpack(node)) } else { None };
        Some(saved.as_ref().ok_or_else(freed).and_then(|saved| saved.iter().filter_map(unpacked).collect()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

thread_local! {
    /// Tensors that graphs of dynamic sizes saved, by number, with their dynamic dimensions.
    static DYNAMIC: RefCell<HashMap<u64, (Weak<TensorImpl>, Vec<usize>)>> = RefCell::default();
}

fn note_dynamic_dims(t: &Tensor, dims: Vec<usize>) {
    if dims.is_empty() {
        return;
    }
    DYNAMIC.with_borrow_mut(|known| {
        if known.len() == known.capacity() {
            known.retain(|_, (t, _)| t.strong_count() > 0);
        }
        known.insert(t.id(), (t.downgrade(), dims));
    });
}

/// The dimensions of a tensor whose sizes were symbols in a compiled function that saved it.
pub fn saved_dynamic_dims(t: &Tensor) -> Vec<usize> {
    DYNAMIC.with_borrow(|known| known.get(&t.id()).map(|(_, dims)| dims.clone()).unwrap_or_default())
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
