//! `functionalize_rng_ops`: operators that draw random numbers take a seed and an offset, which are the last inputs of forward and
//! backward, and each part returns the offset that it leaves. PyTorch has this for CUDA alone, whose generator counts (Philox); here that
//! device is one that is pretended.
//!
//! What is drawn becomes calls of `rngprims.philox_rand`, each from the offset where the one before ended. At run time the seed is that of
//! the generator, and the offset goes on from call to call until another seed is set.

use super::schemas::{Decompose, GraphCallable, GraphCompiler};
use super::trace::Tracer;
use crate::dispatch::{Exclude, Key, OpEntry, Value, lookup};
use crate::error::{Error, Result};
use crate::tensor::random::default_generator;
use crate::tensor::{Device, DeviceType, Dtype, Tensor, TensorSpec};
use crate::{aten, t};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Where the numbers of a part come from: its seed and its offset, and how far the offset has gone since.
struct Part {
    seed: Tensor,
    base: Tensor,
    drawn: RefCell<Option<Tensor>>,
}

/// The seeds and offsets of a graph that is traced.
pub struct Philox {
    forward: Part,
    backward: Option<Part>,
    is_backward: Cell<bool>,
}

impl Part {
    /// Inputs of these names.
    fn new(tracer: &Tracer, names: [String; 2]) -> Result<Self> {
        let [seed, base] = names.map(|name| {
            let t = Tensor::fake(&TensorSpec::contiguous(Vec::new(), Dtype::Int64, Device::CPU))?;
            tracer.placeholder(&name, &t).map(|_| t)
        });
        Ok(Part { seed: seed?, base: base?, drawn: RefCell::default() })
    }

    /// The offset of the next draw.
    fn offset(&self) -> Result<Tensor> {
        match &*self.drawn.borrow() {
            Some(drawn) => t!("add.Tensor", &self.base, drawn),
            None => t!("add.Tensor", &self.base, 0),
        }
    }

    /// The offset that the part leaves: a multiple of four.
    fn left(&self) -> Result<Value> {
        if self.drawn.borrow().is_none() {
            return Ok((&self.base).into());
        }
        let up = t!("add.Tensor", self.offset()?, 3)?;
        t!("mul.Tensor", t!("floor_divide", up, 4)?, 4).map(Value::from)
    }

    fn draw(&self, size: &Value, dtype: &Value, device: Device) -> Result<Value> {
        if device.kind != DeviceType::Cuda {
            return Err(Error::runtime(format!(
                "You are trying to functionalize a {device} RNG operator but {device} does not use Philox/counter-based RNG. Therefore, functionalizing a {device} RNG operator is not supported. We are discussing the possibility of a Philox-based RNG implementation for CPU."
            )));
        }
        let offset = self.offset()?;
        let args = vec![size.clone(), (&self.seed).into(), offset.into(), Value::None, Value::Device(device), dtype.clone()];
        let entry = lookup("rngprims.philox_rand.default").ok_or_else(|| Error::runtime("philox_rand is not in the catalogue"))?;
        let made = crate::dispatch::call(entry, args)?.tensors()?;
        let [values, jump] = &made[..] else { return Err(Error::runtime("philox_rand gives two tensors")) };
        let before = self.drawn.take();
        let after = before.map_or_else(|| t!("add.Tensor", jump, 0), |before| t!("add.Tensor", &before, jump))?;
        self.drawn.replace(Some(after));
        Ok(values.into())
    }
}

impl Philox {
    /// The seeds and offsets of a joint graph: its last inputs.
    pub fn of_joint(tracer: &Tracer) -> Result<Rc<Self>> {
        let part = |which: &str| Part::new(tracer, [format!("{which}_seed_1"), format!("{which}_base_offset_1")]);
        let (forward, backward) = (part("fwd")?, Some(part("bwd")?));
        Ok(Rc::new(Philox { forward, backward, is_backward: Cell::new(false) }))
    }

    /// The same of a graph without a backward, whose inputs are numbered.
    pub fn of_inference(tracer: &Tracer) -> Result<Rc<Self>> {
        let count = tracer.count_inputs();
        let forward = Part::new(tracer, [format!("arg{count}_1"), format!("arg{}_1", count + 1)])?;
        Ok(Rc::new(Philox { forward, backward: None, is_backward: Cell::new(false) }))
    }

    /// What calls that draw come to, as the tracer asks.
    pub fn rules(self: &Rc<Self>) -> Decompose {
        let philox = self.clone();
        Rc::new(move |entry: &'static OpEntry, args: &[Value]| philox.apply(entry, args))
    }

    /// What follows belongs to the backward.
    pub fn enter_backward(&self) {
        self.is_backward.set(true);
    }

    /// What a call that draws comes to.
    fn apply(&self, entry: &'static OpEntry, args: &[Value]) -> Result<Option<Value>> {
        let part = self.backward.as_ref().filter(|_| self.is_backward.get()).unwrap_or(&self.forward);
        let named = |name: &str| entry.schema.position(name).and_then(|at| args.get(at)).filter(|v| !v.is_none());
        let device = |default: Device| named("device").map_or(Ok(default), |v| v.device().map(|d| d.unwrap_or(default)));
        match entry.name {
            "aten.rand.default" => {
                let dtype = named("dtype").cloned().unwrap_or(Value::Dtype(Dtype::Float32));
                part.draw(&args[0], &dtype, device(Device::CPU)?).map(Some)
            }
            "aten.rand_like.default" => {
                let x = args[0].tensor()?;
                let dtype = named("dtype").cloned().unwrap_or(Value::Dtype(x.dtype()));
                part.draw(&Value::from(x.sizes()), &dtype, device(x.device())?).map(Some)
            }
            "aten.bernoulli.p" if named("generator").is_none() => {
                let x = args[0].tensor()?;
                let drawn = t!("rand_like", x; dtype = Dtype::Float32)?;
                aten!("lt.Scalar", drawn, named("p").cloned().unwrap_or(Value::Float(0.5))).map(Some)
            }
            "aten.native_dropout.default"
            | "aten.exponential.default"
            | "aten.cauchy.default"
            | "aten.geometric.default"
            | "aten.log_normal.default" => crate::decompositions::inductor().apply(entry, args),
            _ => Ok(None),
        }
    }

    /// The offsets that forward and backward leave.
    pub fn left(&self) -> Result<(Value, Option<Value>)> {
        let _below = Exclude::down_to(Key::Functionalize);
        Ok((self.forward.left()?, self.backward.as_ref().map(Part::left).transpose()?))
    }
}

thread_local! {
    /// The seed that the offset belongs to, and the offset.
    static STATE: Cell<(u64, i64)> = const { Cell::new((0, 0)) };
}

/// Forgets how far the numbers of a run have gone.
pub fn reset() {
    STATE.set((0, 0));
}

/// A graph with seed and offset, called without.
struct WithSeed {
    graph: Rc<dyn GraphCallable>,
    /// Where the graph returns the new offset; `None` where that is last.
    place: Option<usize>,
}

impl GraphCallable for WithSeed {
    fn call(&self, inputs: &mut Vec<Value>) -> Result<Vec<Value>> {
        let seed = default_generator().initial_seed();
        let (of, offset) = STATE.get();
        let offset = if of == seed { offset } else { 0 };
        for number in [seed as i64, offset] {
            let _below = Exclude::down_to(Key::Autograd);
            inputs.push(t!("full", Vec::<i64>::new(), number; dtype = Dtype::Int64)?.into());
        }
        let mut returned = self.graph.call(inputs)?;
        let place = self.place.unwrap_or_else(|| returned.len().saturating_sub(1));
        if place < returned.len() {
            let left = returned.remove(place);
            STATE.set((seed, aten!("_local_scalar_dense", left)?.int()?));
        }
        Ok(returned)
    }
}

/// What the runtime calls in place of a graph that takes a seed.
pub(super) fn hide_seed(graph: Rc<dyn GraphCallable>, place: Option<usize>) -> Rc<dyn GraphCallable> {
    Rc::new(WithSeed { graph, place })
}

/// A compiler of backwards that take a seed.
pub(super) fn hiding_seed(compiler: &GraphCompiler) -> GraphCompiler {
    let compiler = compiler.clone();
    Rc::new(move |graph, examples| compiler(graph, examples).map(|compiled| hide_seed(compiled, None)))
}
