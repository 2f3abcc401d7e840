//! `FakeTensorMode` as a script has it: calls are answered by shape rules alone, and what they make belongs to the mode.
//!
//! A call is the mode's where the script is inside of it, or where a tensor of it takes part. What a storage without bytes belongs to
//! is a number kept there (`Storage::fake_mode`), which views share; the compiler's own fake tensors have the number 0 and stay as
//! they are.

use super::constants::Constants;
use crate::dispatch::{Call, Key, Layer, Naming, OpEntry, OpRef, Rule, Tags, Value, modes, named, push_layer, run_backend, set_modes};
use crate::error::{Error, ErrorKind, Result};
use crate::shape::{ShapeEnv, SymInt};
use crate::tensor::{Device, DeviceType, Geometry, OfFakeMode, Tensor, TensorSpec};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A mode.
pub struct FakeMode {
    /// Its number, from 1.
    pub number: u32,
    /// The symbols of its sizes, where it has any.
    pub env: Option<ShapeEnv>,
    /// Whether real tensors stand for fake ones of the same looks.
    pub allows_real: bool,
    /// Whether the number that a tensor holds is a symbol.
    pub names_scalars: bool,
    /// Whether a size that values decide is a symbol.
    pub names_sizes: bool,
    constants: Constants,
}

#[derive(Default)]
struct Known {
    all: Vec<Rc<FakeMode>>,
    /// Those that the script is in, the innermost last; `None` where it left all for a while.
    entered: Vec<Option<Rc<FakeMode>>>,
}

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
    static IS_PARAMETER: Cell<fn(&Tensor) -> bool> = const { Cell::new(|_| false) };
}

/// Says how a tensor is told to be a module's parameter.
pub fn set_is_parameter(is_parameter: fn(&Tensor) -> bool) {
    IS_PARAMETER.set(is_parameter);
}

/// A new mode. The first one puts the layer in place.
pub fn create(env: Option<ShapeEnv>, allows_real: bool, names_scalars: bool, names_sizes: bool) -> Rc<FakeMode> {
    KNOWN.with_borrow_mut(|known| {
        if known.all.is_empty() {
            push_layer(Rc::new(FakeLayer));
        }
        let number = known.all.len() as u32 + 1;
        let mode = Rc::new(FakeMode { number, env, allows_real, names_scalars, names_sizes, constants: Constants::default() });
        known.all.push(mode.clone());
        mode
    })
}

/// The mode of a number.
pub fn numbered(number: u32) -> Option<Rc<FakeMode>> {
    KNOWN.with_borrow(|known| known.all.get((number as usize).checked_sub(1)?).cloned())
}

/// The script enters a mode; with `None`, it leaves all of them until [`exit`].
pub fn enter(mode: Option<Rc<FakeMode>>) {
    KNOWN.with_borrow_mut(|known| known.entered.push(mode));
}

/// The script leaves what it entered last.
pub fn exit() {
    KNOWN.with_borrow_mut(|known| drop(known.entered.pop()));
}

/// The mode that the script is in.
pub fn entered() -> Option<Rc<FakeMode>> {
    KNOWN.with_borrow(|known| known.entered.last().cloned().flatten())
}

/// Forgets every mode; the layer is taken away with the others of its key.
pub fn reset() {
    KNOWN.take();
}

/// The fake tensor of a mode for a real one, its sizes being numbers.
pub fn from_tensor(mode: &FakeMode, t: &Tensor) -> Result<Tensor> {
    let _made_by = OfFakeMode::new(mode.number);
    Tensor::fake(&t.spec())
}

impl FakeMode {
    /// What stands for a tensor whose values are known.
    fn constant(&self, t: &Tensor) -> Result<Tensor> {
        let fake = from_tensor(self, t)?;
        self.constants.keep(&fake, t)?;
        Ok(fake)
    }

    /// The result of a call whose tensors are constants.
    fn computed(&self, entry: &'static OpEntry, args: &[Value]) -> Result<Option<Value>> {
        let computed = self.constants.computed(entry, args)?;
        match computed {
            Some(result) if !matches!(entry.rule, Rule::Inplace(_)) => result.map_tensors(&mut |t| self.constant(t)).map(Some),
            written => Ok(written),
        }
    }
}

/// The first tensor among arguments that a mode made.
fn of_a_mode(args: &[Value]) -> Option<u32> {
    let mut found = None;
    args.iter().for_each(|v| {
        v.for_each_tensor(&mut |t| {
            let number = t.storage().fake_mode();
            found = found.or((number != 0).then_some(number));
        });
    });
    found
}

struct FakeLayer;

impl Layer for FakeLayer {
    fn key(&self) -> Key {
        Key::Subclass
    }

    fn wants(&self, call: &Call) -> bool {
        entered().is_some() || of_a_mode(call.args).is_some()
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        let mode = entered().or_else(|| of_a_mode(&args).and_then(numbered));
        let mode = mode.ok_or_else(|| Error::runtime("a tensor belongs to a mode that is gone"))?;
        if named::is_any(entry, &[&named::LIFT_FRESH, &named::LIFT_FRESH_COPY]) && !args[0].tensor()?.is_fake() {
            return mode.constant(args[0].tensor()?).map(Value::Tensor);
        }
        let mut args = own(&mode, entry, args)?;
        if let Some(known) = mode.computed(entry, &args)? {
            return Ok(known);
        }
        let _made_by = OfFakeMode::new(mode.number);
        let _naming = mode.env.clone().filter(|_| mode.names_sizes).map(|env| Naming::new(Rc::new(move |most| env.unbacked_size(most))));
        check_devices(entry, &args)?;
        let is_constant_pad =
            entry.name == "aten.pad.default" && !args.get(2).is_some_and(|mode| mode.str().is_ok_and(|m| m != "constant"));
        if is_constant_pad || entry.name == "aten.constant_pad_nd.default" {
            // PyTorch's kernel takes sizes as numbers; graphs have a rule of their own for it.
            let t = args[0].tensor()?;
            let number = |size: &SymInt| size.guard_int().map(SymInt::Int);
            let is_number = |size: &SymInt| size.as_int().is_some();
            if t.sizes().iter().chain(&t.geometry().strides).all(is_number) {
                return answer(entry, args);
            }
            let sizes = t.sizes().iter().map(number).collect::<Result<Vec<_>>>()?;
            let strides = t.geometry().strides.iter().map(number).collect::<Result<Vec<_>>>()?;
            let spec = t.spec();
            args[0] = Tensor::fake(&TensorSpec { geometry: Geometry { sizes, strides, ..spec.geometry.clone() }, ..spec })?.into();
        }
        if named::LOCAL_SCALAR_DENSE.is(entry) {
            return number_of(&mode, args[0].tensor()?, entry);
        }
        answer(entry, args)
    }
}

/// What the layers below say of a call: another may stand there, a graph that is traced.
fn answer(entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let before = set_modes(crate::dispatch::Modes { fake: true, ..modes() });
    let result = if crate::dispatch::has_layer(Key::Trace) {
        crate::dispatch::call_below(Key::Subclass, entry, args)
    } else {
        run_backend(entry, &args, true)
    };
    set_modes(before);
    let decides_size = entry.tags.has(Tags::DYNAMIC_SHAPE);
    result.map_err(|e| match e.kind {
        ErrorKind::DataDependent if decides_size => Error::new(ErrorKind::DynamicOutputShape, entry.name),
        _ => e,
    })
}

/// The number that a tensor of one element holds: a symbol, where the mode has symbols.
fn number_of(mode: &FakeMode, t: &Tensor, entry: &OpEntry) -> Result<Value> {
    let Some(env) = mode.env.as_ref().filter(|_| mode.names_scalars) else { return Err(Error::new(ErrorKind::DataDependent, entry.name)) };
    let dtype = t.dtype();
    match () {
        () if dtype.is_floating() => Ok(Value::SymFloat(env.unbacked_float("item"))),
        () if dtype.is_integral() && dtype != crate::tensor::Dtype::Bool => Ok(Value::Int(env.unbacked("item", i64::MIN))),
        () => Err(Error::new(ErrorKind::DataDependent, entry.name)),
    }
}

/// Arguments as tensors of the mode.
fn own(mode: &FakeMode, entry: &'static OpEntry, args: Vec<Value>) -> Result<Vec<Value>> {
    let owned = |t: &Tensor| {
        let number = t.storage().fake_mode();
        match () {
            // The compiler's own fake tensors may be used in any mode.
            () if number == mode.number || number == 0 && t.is_fake() => Ok(t.clone()),
            () if mode.allows_real => from_tensor(mode, t),
            () if number != 0 => {
                let name = |n: u32| {
                    format!("<torch._subclasses.fake_tensor.FakeTensorMode object at {:#x}>", 0x7f00_0000_0000_u64 + u64::from(n) * 64)
                };
                let message = format!("Mixing fake modes NYI x.fake_mode={} vs self={}", name(number), name(mode.number));
                Err(Error::new(ErrorKind::Assertion, message))
            }
            () => Err(Error::new(
                ErrorKind::Assertion,
                format!(
                    "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'. Found in \
                     {}",
                    call_in_words(entry, &args)?
                ),
            )),
        }
    };
    args.iter().map(|v| v.map_tensors(&mut |t| owned(t))).collect()
}

/// A call as PyTorch shows it where it refuses one: tensors by their sizes.
fn call_in_words(entry: &'static OpEntry, args: &[Value]) -> Result<String> {
    let text = |_: &crate::dispatch::Argument, v: &Value| Ok(in_words(v));
    let (positional, keywords) = entry.schema.shown(args, text)?;
    let keywords = keywords.into_iter().map(|(name, value)| format!("{name}={value}"));
    let all: Vec<String> = positional.into_iter().chain(keywords).collect();
    Ok(format!("{}({})", entry.name, all.join(", ")))
}

fn in_words(value: &Value) -> String {
    match value {
        Value::Tensor(t) => {
            let sizes: Vec<String> = t.sizes().iter().map(ToString::to_string).collect();
            let sizes = if let [one] = &sizes[..] { format!("({one},)") } else { format!("({})", sizes.join(", ")) };
            let dtype = if t.dtype() == crate::tensor::Dtype::Float32 { String::new() } else { format!(", dtype={}", t.dtype()) };
            let grad = if crate::autograd::meta::requires_grad(t) { ", requires_grad=True" } else { "" };
            let class = if t.is_fake() { "FakeTensor(..." } else { "tensor([...]" };
            let class = if IS_PARAMETER.get()(t) { format!("Parameter containing:\n{class}") } else { class.to_owned() };
            format!("{class}, size={sizes}{dtype}{grad})")
        }
        Value::List(items) => format!("[{}]", items.iter().map(in_words).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

/// Operands lie on one device; a number in a tensor of the CPU goes with any.
fn check_devices(entry: &OpEntry, args: &[Value]) -> Result<()> {
    static COPY: OpRef = OpRef::new("copy");
    if named::is_any(entry, &[&named::TO_COPY, &named::COPY_, &COPY, &named::INDEX_PUT_, &named::INDEX_PUT, &named::INDEX]) {
        return Ok(());
    }
    let mut devices: Vec<Device> = Vec::new();
    let is_number = |t: &Tensor| t.dim() == 0 && t.device().kind == DeviceType::Cpu;
    args.iter().for_each(|v| {
        v.for_each_tensor(&mut |t| {
            if !is_number(t) && !devices.contains(&t.device()) {
                devices.push(t.device())
            }
        })
    });
    match &devices[..] {
        [a, b, ..] => Err(Error::new(
            ErrorKind::FakeDeviceMismatch,
            format!("Expected all tensors to be on the same device, but found at least two devices, {a} and {b}!"),
        )),
        _ => Ok(()),
    }
}
