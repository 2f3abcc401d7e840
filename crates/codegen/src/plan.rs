//! A compiled graph as kernels and calls: chains of pointwise operators run as one kernel, what has no kernel here is called as it
//! stands. A plan is for arguments of the very sizes and strides that it was made for.

use super::choice::{Chosen, LARGE};
use super::kernel::{self, Kernel};
use super::run::Ready;
use diagnostics::error::{Error, Result};
use dispatch::{Call, Exclude, Key, OpRef, Value, is_taken, modes, run_backend};
use graph::{FakeValue, Graph, Opcode};
use loops::language::View;
use loops::program::{self, Argument, Callee, Fallback, Output, Program, StorageInfo};
use loops::schedule::{self, schedule};
use shape::{SymInt, ints};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tensor::{Device, Geometry, Storage, Tensor, TensorSpec};

/// Plans that are kept of one graph; where more are needed, sizes differ from call to call and the graph runs call by call.
const KEPT: usize = 8;
/// Storages that one kernel reads and writes.
const MAX_BUFFERS: usize = 24;

enum Step {
    Kernel(RefCell<Ready>),
    Call(Box<Fallback>),
}

/// A graph for given arguments.
struct Plan {
    storages: Vec<StorageInfo>,
    inputs: Vec<Option<View>>,
    constants: Vec<(View, Tensor)>,
    outputs: Vec<Output>,
    steps: Vec<Step>,
    /// Per step, the storages that it first writes, and those that nobody reads afterwards.
    made: Vec<Vec<usize>>,
    done: Vec<Vec<usize>>,
    /// Whether an input is written to: then two inputs may not share a storage.
    writes_inputs: bool,
}

/// A graph with the plans that were made of it.
pub struct Fused {
    plans: RefCell<HashMap<Vec<u64>, Option<Rc<Plan>>>>,
    /// Whether something in it is large enough.
    is_large: bool,
    /// Whether its results must be new: who calls it is told what is a view of what.
    only_new: bool,
}

fn is_large(graph: &Graph) -> bool {
    let numel = |spec: &TensorSpec| spec.geometry.numel().hint().is_none_or(|n| n >= LARGE);
    graph.nodes().any(|node| node.opcode == Opcode::Call && matches!(&node.meta.value, Some(FakeValue::Tensor(spec)) if numel(spec)))
}

impl Fused {
    /// Nothing is planned before the graph runs.
    pub fn new(graph: &Graph, only_new: bool) -> Self {
        Fused { plans: RefCell::default(), is_large: is_large(graph), only_new }
    }

    /// Runs the graph by a plan, where there is one for such arguments; takes the inputs then.
    pub fn run(&self, graph: &Graph, inputs: &mut Vec<Value>) -> Option<Result<Vec<Value>>> {
        if !self.is_large || !inputs.iter().all(is_bare) {
            return None;
        }
        let key = key(inputs)?;
        let known = self.plans.borrow().get(&key).cloned();
        let plan = match known {
            Some(plan) => plan?,
            None => {
                if self.plans.borrow().len() >= KEPT {
                    return None;
                }
                let made = Plan::new(graph, inputs, self.only_new).ok().map(Rc::new);
                self.plans.borrow_mut().insert(key, made.clone());
                made?
            }
        };
        if plan.writes_inputs && shared(inputs) {
            return None;
        }
        let _below = Exclude::down_to(Key::Trace);
        Some(plan.run(graph, std::mem::take(inputs)))
    }
}

/// Whether a call with a value goes straight to its kernel: no layer below autograd sees it.
fn is_bare(value: &Value) -> bool {
    static MUL: OpRef = OpRef::new("mul.Tensor");
    let Value::Tensor(_) = value else { return true };
    let args = [value.clone(), value.clone()];
    let keys = [Key::Transform, Key::Capture, Key::Lower, Key::MathBits, Key::Subclass, Key::Functionalize, Key::Trace];
    !is_taken(&Call { entry: MUL.get(), args: &args }, &keys) && !modes().fake
}

/// Whether two inputs lie in one storage.
fn shared(inputs: &[Value]) -> bool {
    let mut ids: Vec<u64> = inputs.iter().filter_map(Value::as_tensor).map(|t| t.storage().id()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    ids.len() < count
}

/// What arguments look like; nothing where one is no plain tensor in memory and no number.
fn key(inputs: &[Value]) -> Option<Vec<u64>> {
    let mut key = Vec::with_capacity(inputs.len() * 8);
    for value in inputs {
        match value {
            Value::None => key.push(0),
            Value::Bool(v) => key.push(1 + u64::from(*v)),
            Value::Int(i) => key.extend([3, i.as_int()? as u64]),
            Value::Float(v) => key.extend([4, v.to_bits()]),
            Value::Tensor(t) => {
                if t.is_fake() || t.math_bits().any() || t.device() != Device::CPU {
                    return None;
                }
                let g = t.concrete().ok()?;
                let bytes = t.storage().bytes().ok()?.len();
                key.extend([5, t.dtype() as u64, g.sizes.len() as u64, g.offset as u64, bytes as u64]);
                key.extend(g.sizes.iter().map(|s| *s as u64));
                key.extend(g.strides.iter().map(|s| *s as u64));
            }
            _ => return None,
        }
    }
    Some(key)
}

fn argument(value: &Value) -> Result<Argument> {
    Ok(match value {
        Value::Tensor(t) => Argument::Tensor(TensorSpec { geometry: (*t.geometry()).clone(), dtype: t.dtype(), device: t.device() }),
        other => Argument::Constant(other.clone()),
    })
}

impl Plan {
    fn new(graph: &Graph, inputs: &[Value], only_new: bool) -> Result<Plan> {
        // What is asserted of numbers, or waits for them, is done call by call.
        if graph.nodes().any(|node| node.op().is_some_and(|name| name.contains("_assert"))) {
            return Err(Error::not_implemented("an assertion"));
        }
        let _below = Exclude::down_to(Key::Trace);
        let arguments = inputs.iter().map(argument).collect::<Result<Vec<_>>>()?;
        let program = program::lower(graph, &arguments, Rc::new(Chosen))?;
        let scheduled = schedule(&program, schedule::Limits { buffers: MAX_BUFFERS, recompute: 0 });
        let Program { storages, inputs, outputs, constants, .. } = program;
        let outputs: Vec<Output> = outputs.into_iter().map(|(_, output)| output).collect();
        let given: Vec<usize> = inputs.iter().flatten().chain(constants.iter().map(|(v, _)| v)).map(|v| v.storage).collect();
        if only_new {
            let mut returned: Vec<usize> =
                outputs.iter().filter_map(|o| if let Output::Tensor(v) = o { Some(v.storage) } else { None }).collect();
            returned.sort_unstable();
            if returned.windows(2).any(|w| w[0] == w[1]) || returned.iter().any(|s| given.contains(s)) {
                return Err(Error::not_implemented("a result that is a view of another value"));
            }
        }
        let (mut steps, mut touched): (Vec<Step>, Vec<(Vec<usize>, Vec<usize>)>) = (Vec::new(), Vec::new());
        let mut kernels = 0;
        for step in scheduled.steps {
            match step {
                schedule::Step::Kernel { groups, .. } => {
                    let kernel = kernel::write(&groups[0], &|prim| scheduled.stored.contains(&prim.out.storage))?;
                    let Kernel { inputs, outputs, .. } = &kernel;
                    touched.push((inputs.iter().map(|p| p.storage).collect(), outputs.iter().map(|p| p.storage).collect()));
                    steps.push(Step::Kernel(RefCell::new(Ready::new(kernel)?)));
                    kernels += 1;
                }
                schedule::Step::Fallback(fallback) => {
                    let of = |views: &[View]| views.iter().map(|v| v.storage).collect::<Vec<_>>();
                    touched.push((of(&fallback.reads), of(&fallback.writes)));
                    steps.push(Step::Call(fallback));
                }
            }
        }
        if kernels == 0 {
            return Err(Error::not_implemented("nothing in it is computed here"));
        }
        let writes_inputs = touched.iter().any(|(_, writes)| writes.iter().any(|s| given.contains(s)));
        if writes_inputs && only_new {
            return Err(Error::not_implemented("an input that is written to, which is counted"));
        }
        let returned = |s: usize| outputs.iter().any(|o| matches!(o, Output::Tensor(v) if v.storage == s));
        let (mut made, mut done) = (vec![Vec::new(); steps.len()], vec![Vec::new(); steps.len()]);
        for s in 0..storages.len() {
            let uses: Vec<usize> = (0..steps.len()).filter(|i| touched[*i].0.contains(&s) || touched[*i].1.contains(&s)).collect();
            let (Some(first), Some(last)) = (uses.first(), uses.last()) else { continue };
            if !given.contains(&s) {
                made[*first].push(s);
            }
            if !returned(s) {
                done[*last].push(s);
            }
        }
        Ok(Plan { storages, inputs, constants, outputs, steps, made, done, writes_inputs })
    }

    fn run(&self, graph: &Graph, inputs: Vec<Value>) -> Result<Vec<Value>> {
        let mut held: Vec<Option<Storage>> = vec![None; self.storages.len()];
        for (view, value) in self.inputs.iter().zip(inputs) {
            if let (Some(view), Value::Tensor(t)) = (view, value) {
                held[view.storage] = Some(t.storage().clone());
            }
        }
        for (view, t) in &self.constants {
            held[view.storage] = Some(t.storage().clone());
        }
        for (i, step) in self.steps.iter().enumerate() {
            match step {
                Step::Kernel(ready) => {
                    for s in &self.made[i] {
                        held[*s] = Some(self.fresh(*s)?);
                    }
                    ready.borrow_mut().run(&|s| held.get(s).cloned().flatten())?;
                }
                Step::Call(fallback) => {
                    self.call(fallback, &mut held)
                        .map_err(|e| Error { message: format!("{}: {}", graph.node(fallback.node).name, e.message), ..e })?;
                }
            }
            for s in &self.done[i] {
                held[*s] = None;
            }
        }
        let output = |output: &Output| match output {
            Output::Constant(value) => Ok(value.clone()),
            Output::Tensor(view) => match &held[view.storage] {
                Some(storage) => Ok(Value::Tensor(seen(view, storage.clone()))),
                // Nothing had to be computed.
                None if view.numel() == 0 => Ok(Value::Tensor(seen(view, self.fresh(view.storage)?))),
                None => Err(Error::runtime("a value of a compiled graph is not there")),
            },
        };
        self.outputs.iter().map(output).collect()
    }

    fn fresh(&self, s: usize) -> Result<Storage> {
        let info = &self.storages[s];
        Storage::zeroed(info.elements.max(0) as usize * info.dtype.itemsize(), Device::CPU)
    }

    fn call(&self, fallback: &Fallback, held: &mut [Option<Storage>]) -> Result<()> {
        let mut reads = fallback.reads.iter();
        let mut real = |_: &Tensor| -> Result<Tensor> {
            let view = reads.next().ok_or_else(|| Error::runtime("an argument of a compiled graph is not there"))?;
            let storage = match &held[view.storage] {
                Some(storage) => storage.clone(),
                None => {
                    let storage = self.fresh(view.storage)?;
                    held[view.storage] = Some(storage.clone());
                    storage
                }
            };
            Ok(seen(view, storage))
        };
        let args = fallback.args.iter().map(|v| v.map_tensors(&mut real)).collect::<Result<Vec<_>>>()?;
        let result = match &fallback.callee {
            Callee::Operator(entry) => run_backend(entry, &args, false)?,
            callee => callee.run(&args)?,
        };
        let mut tensors = Vec::new();
        result.for_each_tensor(&mut |t| tensors.push(t.clone()));
        if tensors.len() != fallback.writes.len() {
            return Err(Error::runtime("it made other results than its shape rule says"));
        }
        for (view, t) in fallback.writes.iter().zip(tensors) {
            held[view.storage] = Some(adopted(view, &t, self.storages[view.storage].elements)?);
        }
        Ok(())
    }
}

fn seen(view: &View, storage: Storage) -> Tensor {
    let geometry = Geometry { sizes: ints(&view.sizes), strides: ints(&view.strides), offset: SymInt::Int(view.offset) };
    Tensor::from_storage(storage, geometry, view.dtype)
}

/// The storage of a result, where it lies as its shape rule says; a copy that does, elsewhere.
fn adopted(view: &View, t: &Tensor, elements: i64) -> Result<Storage> {
    let g = t.concrete()?;
    let lies = |strides: &[isize]| strides.iter().zip(&view.strides).zip(&view.sizes).all(|((a, b), n)| *n == 1 || *a as i64 == *b);
    let bytes = elements.max(0) as usize * view.dtype.itemsize();
    if g.offset as i64 == view.offset && lies(&g.strides) && t.storage().bytes()?.len() >= bytes && t.dtype() == view.dtype {
        return Ok(t.storage().clone());
    }
    let copy = seen(view, Storage::zeroed(bytes, Device::CPU)?);
    let args = [Value::Tensor(copy.clone()), Value::Tensor(t.clone()), Value::Bool(false)];
    run_backend(dispatch::named::COPY_.get(), &args, false)?;
    let storage = copy.storage().clone();
    Ok(storage)
}
