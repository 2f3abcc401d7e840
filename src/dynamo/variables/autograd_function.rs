//! `torch.autograd.Function.apply`: a forward and a backward that the script writes.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use rustpython_vm::{AsObject, PyObjectRef, PyPayload, PyResult, VirtualMachine};

use super::higher_order_ops::{self, Called};
use crate::autograd::lift::{Lift, Lifted, Packed};
use crate::autograd::{Body, InputMeta, Node, SavedVariable, freed, gradient_edge, meta, rebase_history};
use crate::dispatch::{Modes, modes, set_modes};
use crate::dynamo::eval_frame::call::Waiting;
use crate::dynamo::{Recorder, Unsupported};
use crate::error::{Error, Result};
use crate::python::native::tensor::{call_from_engine, items, raise, raised, to_tensor, wrap};
use crate::tensor::Tensor;

/// The backward of one call.
struct CustomBody {
    context: PyObjectRef,
    saved: Rc<RefCell<Saved>>,
    /// What its tensor arguments were like.
    inputs: Vec<InputMeta>,
}

/// What `save_for_backward` kept: tensors, or None where None was given.
struct Saved {
    values: Option<Vec<Option<SavedVariable>>>,
    node: std::rc::Weak<Node>,
}

impl Saved {
    fn unpack(&self) -> Result<Vec<Option<Tensor>>> {
        let node = self.node.upgrade().ok_or_else(|| Error::runtime("the node of a custom function is gone"))?;
        let values = self.values.as_ref().ok_or_else(freed)?;
        values.iter().map(|v| v.as_ref().map(|v| v.unpack(&node)).transpose()).collect()
    }
}

impl Body for CustomBody {
    fn apply(&self, _node: &Rc<Node>, grads: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        rustpython_vm::vm::thread::with_current_vm(|vm| {
            let given = grads
                .iter()
                .map(|g| g.as_ref().map_or_else(|| Ok(vm.ctx.none()), |g| wrap(g, vm)))
                .collect::<PyResult<Vec<_>>>()
                .map_err(raised)?;
            let run = self.context.get_attr("_run_backward", vm).map_err(raised)?;
            let out = call_from_engine(&run, (vm.ctx.new_list(given),), vm)?;
            let out = items(&out).ok_or_else(|| Error::type_error("a custom backward returns a tuple"))?;
            // One gradient per tensor argument, in order.
            let wanted = self.context.get_attr("_tensor_positions", vm).map_err(raised)?;
            let wanted: Vec<usize> = wanted.try_to_value(vm).map_err(raised)?;
            Ok(wanted.into_iter().map(|i| out.get(i).and_then(|o| to_tensor(o))).collect())
        })
    }

    fn lift(&self, node: &Rc<Node>, lift: &mut Lift) -> Result<Lifted> {
        let (class, materializes, is_result, is_tensor) = rustpython_vm::vm::thread::with_current_vm(|vm| {
            let read = |name: &str| self.context.get_attr(vm.ctx.intern_str(name), vm);
            let likes: PyObjectRef = read("_output_likes")?;
            let likes = items(&likes).unwrap_or_default();
            let is_result: Vec<bool> = likes.iter().map(|like| !vm.is_none(like)).collect();
            let count: usize = read("_argument_count")?.try_to_value(vm)?;
            let positions: Vec<usize> = read("_tensor_positions")?.try_to_value(vm)?;
            let is_tensor: Vec<bool> = (0..count).map(|i| positions.contains(&i)).collect();
            let class = read("_forward_cls")?.get_id();
            Ok((class, read("materialize_grads")?.is(&vm.ctx.true_value), is_result, is_tensor))
        })
        .map_err(raised)?;
        lift.number(class);
        let mut saved = Vec::new();
        {
            let held = self.saved.borrow();
            for value in held.values.as_ref().ok_or_else(freed)? {
                saved.push(match value {
                    Some(value) => lift.saved(value, node)?,
                    None => lift.optional(None),
                });
            }
        }
        lift.specialize(format_args!("{materializes} {is_tensor:?} {is_result:?}"));
        let mut zeros = Vec::new();
        for (result, is_result) in node.inputs.borrow().iter().zip(&is_result) {
            let sizes = if *is_result { lift.list_of_sizes(&result.sizes)? } else { Packed::List(Vec::new()) };
            let Packed::List(sizes) = sizes else { continue };
            zeros.push((materializes && *is_result).then_some((sizes, result.dtype, result.device)));
        }
        for input in &self.inputs {
            lift.list_of_sizes(&input.sizes)?;
        }
        let context = lift.object(Rc::new(self.context.clone()));
        Ok(Lifted::Script { context, saved, zeros, gradients: is_tensor })
    }

    fn release(&self) {
        self.saved.borrow_mut().values = None;
    }

    fn is_custom_function(&self) -> bool {
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The context of a custom function's node.
pub fn context_of(node: &Node) -> Option<PyObjectRef> {
    node.body.as_any().downcast_ref::<CustomBody>().map(|body| body.context.clone())
}

fn tensors_of(context: &PyObjectRef, name: &str, vm: &VirtualMachine) -> PyResult<Vec<Option<Tensor>>> {
    let value = context.get_attr(vm.ctx.intern_str(name), vm)?;
    Ok(items(&value).unwrap_or_default().iter().map(|o| to_tensor(o)).collect())
}

/// `_function_apply(cls, args)`
pub fn apply(cls: &PyObjectRef, args: Vec<PyObjectRef>, vm: &VirtualMachine) -> PyResult {
    call(cls, args, crate::dynamo::eval_frame::call::recorder(), Way::Whole, vm)
}

/// The same in a level of a transform, whose tape it is on: what its forward and its backward call is recorded by itself.
pub fn apply_in_level(cls: &PyObjectRef, args: Vec<PyObjectRef>, vm: &VirtualMachine) -> PyResult {
    call(cls, args, None, Way::InLevel, vm)
}

/// How a custom function is called.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// As one call.
    Whole,
    /// What is recorded waits for it, and its forward is a function of its own.
    Left,
    /// In a level of a transform.
    InLevel,
}

/// Whether gradients of one tensor are asked for as those of several arguments.
fn has_duplicates(inputs: &[Option<Tensor>]) -> bool {
    let given: Vec<&Tensor> = inputs.iter().flatten().collect();
    let is_again = |(i, t): (usize, &&Tensor)| given[..i].iter().any(|known| known.is(t));
    modes().grad && given.iter().any(|t| meta::requires_grad(t)) && given.iter().enumerate().any(is_again)
}

/// What the backward of a function changes outside of itself.
fn effect_of(cls: &PyObjectRef, args: &[PyObjectRef], vm: &VirtualMachine) -> PyResult<Option<Unsupported>> {
    let found = crate::dynamo::symbolic_convert::side_effect(&cls.get_attr("backward", vm)?, args, vm);
    Ok(found.map(|reason| reason.in_operator("autograd.Function").of_call()))
}

/// The same, recorded as one call where there is a recorder.
fn call(cls: &PyObjectRef, args: Vec<PyObjectRef>, recorder: Option<Rc<Recorder>>, way: Way, vm: &VirtualMachine) -> PyResult {
    // A function that writes to a tensor of the caller's is called as it is; to a value of the graph, it is part of it.
    let is_value = |o: &PyObjectRef| to_tensor(o).is_some_and(|t| recorder.as_ref().is_some_and(|r| r.is_traced(&r.current(&t))));
    let may_write = |method: &str| -> PyResult<bool> {
        Ok(higher_order_ops::code_names(&*cls.get_attr(vm.ctx.intern_str(method), vm)?, &["mark_dirty"], vm))
    };
    let writes = recorder.is_some() && !args.iter().any(is_value) && (may_write("forward")? || may_write("setup_context")?);
    if writes {
        crate::dynamo::eval_frame::call::break_graph(&Unsupported::other("Unsupported autograd.Function context `mark_dirty`"))
            .map_err(|e| raise(e, vm))?;
    }
    let inputs: Vec<Option<Tensor>> = args.iter().map(|o| to_tensor(o)).collect();
    if recorder.is_some() && !writes && has_duplicates(&inputs) {
        crate::dynamo::eval_frame::call::break_graph(&Unsupported::duplicate_input()).map_err(|e| raise(e, vm))?;
        return call(cls, args, None, Way::Left, vm);
    }
    let is_differentiated = modes().grad && inputs.iter().flatten().any(meta::requires_grad);
    if recorder.is_some() && !writes && is_differentiated {
        // The backward is traced beside the forward: what it changes outside would be changed now.
        if let Some(reason) = effect_of(cls, &[], vm)? {
            crate::dynamo::eval_frame::call::break_graph(&reason).map_err(|e| raise(e, vm))?;
            return call(cls, args, None, Way::Left, vm);
        }
    }
    let context = vm.call_method(cls, "_backward_cls", ())?;
    let needs: Vec<PyObjectRef> = inputs.iter().map(|t| vm.ctx.new_bool(t.as_ref().is_some_and(meta::requires_grad)).into()).collect();
    context.set_attr("needs_input_grad", vm.ctx.new_tuple(needs), vm)?;
    let positions: Vec<PyObjectRef> = (0..inputs.len()).filter(|i| inputs[*i].is_some()).map(|i| vm.ctx.new_int(i).into()).collect();
    context.set_attr("_tensor_positions", vm.ctx.new_list(positions), vm)?;
    let mut early = None;
    if let Some(recorder) = recorder.filter(|_| !writes) {
        let (forward, same) = higher_order_ops::forward(&recorder, &context, &args, vm)?;
        // What the forward left in the context may be changed, too. The forward has run, and does not run again.
        let effect = if is_differentiated { effect_of(cls, std::slice::from_ref(&context), vm)? } else { None };
        if same && effect.is_none() && forward.writes_to_values(&recorder) {
            return match higher_order_ops::function(&recorder, forward, &context, cls, &args, vm)? {
                Called::Recorded(result) => Ok(result),
                Called::Refused(reason) => {
                    crate::dynamo::eval_frame::call::break_graph(&reason.of_call()).map_err(|e| raise(e, vm))?;
                    call(cls, args, None, Way::Left, vm)
                }
            };
        }
        // The forward broke the graph: its outputs get their values now, and the backward is the script's.
        let reason = effect.unwrap_or_else(|| Unsupported::other("autograd.Function.apply"));
        crate::dynamo::eval_frame::call::break_graph(&reason).map_err(|e| raise(e, vm))?;
        early = Some(forward.result);
    }
    if way == Way::Left {
        let before = set_modes(Modes { grad: false, ..modes() });
        let forward = || vm.call_method(&context, "_run_forward", (vm.ctx.new_tuple(args.clone()),));
        let result = Waiting::during(forward, |e| raise(e, vm));
        set_modes(Modes { grad: before.grad, ..modes() });
        early = Some(result?);
    }
    let inputs: Vec<Option<Tensor>> = if early.is_some() { args.iter().map(|o| to_tensor(o)).collect() } else { inputs };
    let _eager = (way != Way::InLevel).then(crate::dispatch::Exclude::capture_too);
    let before = modes();
    let differentiable = before.grad && inputs.iter().flatten().any(meta::requires_grad);
    let edges = inputs.iter().flatten().map(gradient_edge).collect::<Result<Vec<_>>>().map_err(|e| raise(e, vm))?;
    let saved = Rc::new(RefCell::new(Saved { values: Some(Vec::new()), node: std::rc::Weak::new() }));
    let name = cls.get_attr("__name__", vm)?.str(vm)?.to_string_lossy().into_owned();
    let node = differentiable.then(|| {
        Node::new(
            format!("{name}Backward"),
            edges,
            Box::new(CustomBody {
                context: context.clone(),
                saved: saved.clone(),
                inputs: inputs.iter().flatten().map(InputMeta::of).collect(),
            }),
        )
    });
    set_modes(Modes { grad: false, ..before });
    let result = match early {
        Some(result) => Ok(result),
        None => vm.call_method(&context, "_run_forward", (vm.ctx.new_tuple(args.clone()),)),
    };
    set_modes(Modes { grad: before.grad, ..modes() });
    let result = result?;
    let Some(node) = node else { return Ok(result) };
    let several = result.downcast_ref::<rustpython_vm::builtins::PyTuple>().map(|t| t.as_slice().to_vec());
    let single = several.is_none();
    let outputs = several.unwrap_or_else(|| vec![result.clone()]);
    let dirty: Vec<Tensor> = tensors_of(&context, "dirty_tensors", vm)?.into_iter().flatten().collect();
    let constant: Vec<Tensor> = tensors_of(&context, "non_differentiable", vm)?.into_iter().flatten().collect();
    let given: Vec<Tensor> = outputs.iter().filter_map(|o| to_tensor(o)).collect();
    if !dirty.iter().all(|d| given.iter().any(|t| t.is(d))) {
        let error = "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified inplace must all be outputs of the Function.";
        return Err(raise(Error::runtime(error), vm));
    }
    let is_constant = |t: &Tensor| constant.iter().any(|c| c.is(t)) || t.dtype().is_integral();
    let several = given.iter().filter(|t| !is_constant(t)).count() > 1;
    let mut wrapped = Vec::with_capacity(outputs.len());
    for output in &outputs {
        let Some(t) = to_tensor(output) else {
            node.inputs.borrow_mut().push(crate::autograd::InputMeta {
                sizes: Vec::new(),
                dtype: crate::tensor::Dtype::Float32,
                device: crate::tensor::Device::CPU,
            });
            wrapped.push(output.clone());
            continue;
        };
        let is_input = inputs.iter().flatten().any(|i| i.is(&t));
        let is_dirty = dirty.iter().any(|d| d.is(&t));
        if is_constant(&t) {
            node.add_input(&t);
            // An input as it is keeps its history, and what is given is another tensor.
            let cut = is_input && meta::requires_grad(&t);
            wrapped.push(if cut { vm.call_method(output, "detach", ())? } else { output.clone() });
        } else if is_dirty {
            if meta::requires_grad(&t) && meta::is_leaf(&t) {
                let error = Error::runtime("a leaf Variable that requires grad has been used in an in-place operation.");
                return Err(raise(error, vm));
            }
            let is_of_leaf = |v: crate::autograd::ViewInfo| v.differentiable && meta::is_leaf(&v.base) && meta::requires_grad(&v.base);
            if meta::peek(&t, |m| m.view.clone()).is_some_and(is_of_leaf) {
                let error = Error::runtime("a view of a leaf Variable that requires grad is being used in an in-place operation.");
                return Err(raise(error, vm));
            }
            t.bump_version();
            rebase_history(&t, &node).map_err(|e| raise(e, vm))?;
            wrapped.push(output.clone());
        } else if is_input || meta::base(&t).is_some() {
            // An input or a view as it is becomes a tensor of its own, which remembers what it is a view of.
            let own = t.view_as((*t.geometry()).clone());
            own.set_math_bits(t.math_bits());
            crate::autograd::keep_view(&own, meta::peek(&t, |m| m.view.clone()), inputs.iter().flatten().find(|i| i.is(&t)), several);
            meta::set_history(&own, &node);
            wrapped.push(wrap(&own, vm)?);
        } else {
            meta::set_history(&t, &node);
            wrapped.push(output.clone());
        }
    }
    let keep = context.get_attr("to_save", vm)?;
    let mut values = Vec::new();
    for o in items(&keep).unwrap_or_default() {
        values.push(match to_tensor(&o) {
            None => None,
            Some(t) => {
                let result = outputs.iter().position(|out| out.is(&o)).filter(|_| !inputs.iter().flatten().any(|i| i.is(&t)));
                let saved = match result {
                    Some(i) => SavedVariable::result(&t, i),
                    None => SavedVariable::input(&t),
                };
                Some(saved.map_err(|e| raise(e, vm))?)
            }
        });
    }
    *saved.borrow_mut() = Saved { values: Some(values), node: Rc::downgrade(&node) };
    let unpack = vm.new_function("_unpack_saved", move |vm: &VirtualMachine| -> PyResult {
        let tensors = saved.borrow().unpack().map_err(|e| raise(e, vm))?;
        let list = tensors.into_iter().map(|t| t.map_or_else(|| Ok(vm.ctx.none()), |t| wrap(&t, vm))).collect::<PyResult<Vec<_>>>()?;
        Ok(vm.ctx.new_tuple(list).into())
    });
    context.set_attr("_unpack_saved", unpack, vm)?;
    if single { Ok(wrapped.remove(0)) } else { Ok(vm.ctx.new_tuple(wrapped).into()) }
}

/// Suspends capture for a block; transforms that the script is in go on.
#[pyclass(module = "torch._native_compile", name = "Suspended")]
#[derive(Debug, PyPayload)]
pub struct Suspended(RefCell<Option<Guard>>);

struct Guard(#[allow(dead_code)] crate::dispatch::Exclude);

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guard")
    }
}

impl Suspended {
    /// Not yet suspending.
    pub fn new() -> Self {
        Suspended(RefCell::default())
    }
}

#[pyclass]
impl Suspended {
    #[pymethod]
    fn __enter__(zelf: rustpython_vm::PyRef<Self>) -> PyObjectRef {
        *zelf.0.borrow_mut() = Some(Guard(crate::dispatch::Exclude::capture_too()));
        zelf.into()
    }

    #[pymethod]
    fn __exit__(zelf: &rustpython_vm::Py<Self>, _args: rustpython_vm::function::FuncArgs) {
        zelf.0.borrow_mut().take();
    }
}
