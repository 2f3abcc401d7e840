//! The stack of layers: thread-local, re-entrant, with include and exclude state like PyTorch's dispatch keys.

use super::named::TO_COPY;
use super::{Argument, Call, Default, Fact, OpEntry, Rule, Schema, Value, run_backend};
use diagnostics::error::{Error, Result};
use shape::{SymFloat, SymInt};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tensor::{Device, Dtype, MemoryFormat, Tensor};

/// Places in the stack, top first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `torch.func` transforms.
    Transform,
    /// Capture of torch-level calls.
    Capture,
    /// `torch.autocast`.
    Autocast,
    /// Autograd, with view and version tracking.
    Autograd,
    /// Where a transform that autograd serves goes on, one level down.
    Lower,
    /// Math bits: the conjugate bit, the negative bit and zero tensors.
    MathBits,
    /// A script's `__torch_dispatch__`.
    Subclass,
    /// Functionalization.
    Functionalize,
    /// Tracing into a graph.
    Trace,
}

const KEYS: [Key; 9] =
    [Key::Transform, Key::Capture, Key::Autocast, Key::Autograd, Key::Lower, Key::MathBits, Key::Subclass, Key::Functionalize, Key::Trace];

/// A layer: it sees calls that reach it and makes calls of its own.
pub trait Layer {
    /// Its place.
    fn key(&self) -> Key;
    /// Whether it takes this call; the others go on down.
    fn wants(&self, call: &Call) -> bool;
    /// Handles the call. To go on down, it uses [`call_below`] with its own key.
    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value>;
    /// What a tensor is to those whose calls the layer sees; `None` where that is the tensor itself.
    fn seen_as(&self, _t: &Tensor) -> Result<Option<Tensor>> {
        Ok(None)
    }
    /// A float is computed here from sizes.
    fn measure_float(&self, _float: &SymFloat) -> Result<()> {
        Ok(())
    }
    /// A size is calculated here from two, by an operation named as in Python's `operator` module, whether it is used or not.
    fn calculate(&self, _name: &'static str, _a: &SymInt, _b: &SymInt, _result: &SymInt) -> Result<()> {
        Ok(())
    }
    /// Two sizes are compared here, by an operation named likewise.
    fn condition(&self, _name: &'static str, _a: &SymInt, _b: &SymInt) -> Result<()> {
        Ok(())
    }
    /// Whether a rule of a decomposition table is running: what it asks of tensors is asked here, below functionalization.
    fn takes_apart(&self) -> bool {
        false
    }
    /// Whether a tensor is asked for something for the first time.
    fn learns(&self, _t: &Tensor, _fact: Fact) -> bool {
        true
    }
    /// The number of elements of a tensor of these very sizes that was asked for it.
    fn counted(&self, _sizes: &[SymInt]) -> Option<SymInt> {
        None
    }
    /// The number of elements of a tensor, as one that is read off the tensor where something needs it.
    fn count_of(&self, _t: &Tensor) -> Option<SymInt> {
        None
    }
    /// A tensor of these sizes has so many elements.
    fn note_count(&self, _sizes: Vec<SymInt>, _count: SymInt) {}
}

/// The innermost layer of a key, where there is one and it is not excluded.
fn innermost(key: Key) -> Option<Rc<dyn Layer>> {
    (EXCLUDED.get() & (1 << key as u8) == 0).then(|| LAYERS.with_borrow(|l| l[key as usize].last().cloned()))?
}

/// A tensor's size in a dimension, as it is recorded: one of the caller's may be symbolic there.
pub fn recorded_size(t: &Tensor, dim: usize) -> Result<SymInt> {
    let seen = innermost(Key::Capture).map_or(Ok(None), |layer| layer.seen_as(t))?;
    Ok(seen.as_ref().unwrap_or(t).size(dim))
}

/// A tensor of the caller's is read: where calls are recorded it is an input from here on.
pub fn lift_to_input(t: &Tensor) -> Result<()> {
    innermost(Key::Capture).map_or(Ok(()), |layer| layer.seen_as(t).map(drop))
}

/// Takes all layers of a key away.
pub fn take_layers(key: Key) -> Vec<Rc<dyn Layer>> {
    LAYERS.with_borrow_mut(|l| std::mem::take(&mut l[key as usize]))
}

/// The tracer at work.
pub(super) fn tracing() -> Option<Rc<dyn Layer>> {
    innermost(Key::Trace)
}

/// Says that a float is computed here from sizes, whether it is used or not.
pub fn measure_float(float: &SymFloat) -> Result<()> {
    innermost(Key::Trace).map_or(Ok(()), |layer| layer.measure_float(float))
}

/// Switches that scripts set and several layers read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// `torch.is_grad_enabled()`
    pub grad: bool,
    /// `torch.is_inference_mode_enabled()`
    pub inference: bool,
    /// Whether factories make fake tensors.
    pub fake: bool,
    /// The short dtype of `torch.autocast`, where it is on.
    pub autocast: Option<Dtype>,
    /// Whether what is traced is what ATen's own composite operators call: `make_fx` without symbols, where no Python dispatcher is on.
    pub calls_as_aten: bool,
}

impl Modes {
    /// Those a script starts with.
    pub const START: Modes = Modes { grad: true, inference: false, fake: false, autocast: None, calls_as_aten: false };
}

thread_local! {
    static LAYERS: RefCell<[Vec<Rc<dyn Layer>>; 9]> = const { RefCell::new([const { Vec::new() }; 9]) };
    static EXCLUDED: Cell<u16> = const { Cell::new(0) };
    static MODES: Cell<Modes> = const { Cell::new(Modes::START) };
    static WHOLE: RefCell<Option<Rc<Choice>>> = const { RefCell::new(None) };
}

/// Which calls something holds for.
type Choice = dyn Fn(&OpEntry, &[Value]) -> bool;

/// While it lives, the composite operators of a choice are not taken apart above autograd: the layers below see them whole.
pub struct KeepWhole(Option<Rc<Choice>>);

impl KeepWhole {
    /// Keeps those that `chosen` holds for.
    pub fn new(chosen: impl Fn(&OpEntry, &[Value]) -> bool + 'static) -> Self {
        KeepWhole(WHOLE.replace(Some(Rc::new(chosen))))
    }
}

impl Drop for KeepWhole {
    fn drop(&mut self) {
        WHOLE.set(self.0.take());
    }
}

/// Whether a call of a composite operator is kept whole.
pub fn is_kept_whole(entry: &OpEntry, args: &[Value]) -> bool {
    matches!(entry.rule, Rule::Composite(_)) && WHOLE.with_borrow(|chosen| chosen.as_ref().is_some_and(|chosen| chosen(entry, args)))
}

/// The switches in force.
pub fn modes() -> Modes {
    MODES.get()
}

/// Sets the switches; gives those that were in force.
pub fn set_modes(modes: Modes) -> Modes {
    MODES.replace(modes)
}

/// Puts a layer on top of those of its key.
pub fn push_layer(layer: Rc<dyn Layer>) {
    LAYERS.with_borrow_mut(|l| l[layer.key() as usize].push(layer));
}

/// Takes the topmost layer of a key away.
pub fn pop_layer(key: Key) -> Option<Rc<dyn Layer>> {
    LAYERS.with_borrow_mut(|l| l[key as usize].pop())
}

/// Whether the layers of a key see no calls at the moment.
pub fn is_excluded(key: Key) -> bool {
    EXCLUDED.get() & (1 << key as u8) != 0
}

/// While it lives, the layers of some keys see no calls.
pub struct Exclude(u16);

impl Exclude {
    /// Excludes one key; transforms, which stand above capture, together with it.
    pub fn only(key: Key) -> Self {
        let with_transforms = if key == Key::Capture { 1 << Key::Transform as u8 } else { 0 };
        Exclude(EXCLUDED.replace(EXCLUDED.get() | 1 << key as u8 | with_transforms))
    }
    /// Lets a key see calls again.
    pub fn lift(key: Key) -> Self {
        Exclude(EXCLUDED.replace(EXCLUDED.get() & !(1 << key as u8)))
    }
    /// Excludes nothing: a call from here sees every layer, also from within one.
    pub fn nothing() -> Self {
        Exclude(EXCLUDED.replace(0))
    }
    /// Excludes one key in addition, and nothing above it.
    pub fn also(key: Key) -> Self {
        Exclude(EXCLUDED.replace(EXCLUDED.get() | 1 << key as u8))
    }
    /// Excludes capture in addition, and leaves transforms as they are.
    pub fn capture_too() -> Self {
        Exclude(EXCLUDED.replace(EXCLUDED.get() | 1 << Key::Capture as u8))
    }
    /// Excludes a key and everything above it.
    pub fn down_to(key: Key) -> Self {
        Exclude(EXCLUDED.replace(EXCLUDED.get() | ((2u16 << key as u8) - 1)))
    }
    /// Excludes capture alone: a call from here sees everything else again, also from within a layer.
    pub fn capture_alone() -> Self {
        Exclude(EXCLUDED.replace(1 << Key::Capture as u8))
    }
}

/// What is excluded at one moment, to be put back at another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Restore(u16);

impl Restore {
    /// What is excluded now.
    pub fn current() -> Self {
        Restore(EXCLUDED.get())
    }
    /// Until the guard is dropped, the same is excluded as then.
    pub fn enter(self) -> Exclude {
        Exclude(EXCLUDED.replace(self.0))
    }
}

impl Drop for Exclude {
    fn drop(&mut self) {
        EXCLUDED.set(self.0);
    }
}

/// Calls an operator with all of its arguments, from the top of what is not excluded.
pub fn call(entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    for key in KEYS {
        if key == Key::Autograd
            && let Rule::Composite(f) = entry.rule
            && !is_kept_whole(entry, &args)
        {
            if !Value::any_fake(&args) {
                super::refusals::check(entry, &args)?;
            }
            return super::contained(entry.name, || f(&Call { entry, args: &args }));
        }
        if key == Key::Autograd && super::script_has(super::Part::Composite, entry) {
            return super::call_script(super::Part::Composite, entry, &args);
        }
        if EXCLUDED.get() & (1 << key as u8) != 0 {
            continue;
        }
        let layer = LAYERS.with_borrow(|l| l[key as usize].last().cloned());
        if let Some(layer) = layer
            && layer.wants(&Call { entry, args: &args })
        {
            return layer.handle(entry, args);
        }
    }
    let out = run_backend(entry, &args, MODES.get().fake)?;
    if entry.is_mutable() && super::script::is_in_kernel() && is_excluded(Key::Autograd) {
        let written = entry.schema.arguments.iter().zip(&args).filter(|(argument, _)| argument.mutated);
        written.for_each(|(_, value)| value.for_each_tensor(&mut |t| t.bump_version()));
    }
    Ok(out)
}

/// Calls an operator from below a key; the key and everything above stay excluded meanwhile.
pub fn call_below(key: Key, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let _guard = Exclude::down_to(key);
    call(entry, args)
}

/// Whether a layer of one of these keys takes a call.
pub fn is_taken(call: &Call, keys: &[Key]) -> bool {
    keys.iter().any(|key| innermost(*key).is_some_and(|layer| layer.wants(call)))
}

/// Whether a layer of this key sees the next call.
pub fn has_layer(key: Key) -> bool {
    EXCLUDED.get() & (1 << key as u8) == 0 && LAYERS.with_borrow(|l| !l[key as usize].is_empty())
}

thread_local! {
    static DEFAULT_DEVICE: Cell<Option<Device>> = const { Cell::new(None) };
}

/// Where tensors are made that do not say where: `torch.get_default_device()`.
pub fn default_device() -> Device {
    device_context().unwrap_or(Device::CPU)
}

/// The device that a block of `with torch.device(...)`, or `torch.set_default_device`, says; PyTorch's `DeviceContext`.
pub fn device_context() -> Option<Device> {
    DEFAULT_DEVICE.get()
}

/// Sets it, and gives the one before.
pub fn set_device_context(device: Option<Device>) -> Option<Device> {
    DEFAULT_DEVICE.replace(device)
}

/// What PyTorch's Python functions add to the call of a factory: the device where nothing else says it, and unpinned memory.
pub fn fill_factory_options(entry: &OpEntry, args: &mut [Value]) {
    let arguments = &entry.schema.arguments;
    let (Some(pin_memory), Some(device)) = (entry.schema.position("pin_memory"), entry.schema.position("device")) else { return };
    // A conversion asks for what it is told.
    if entry.schema.position("copy").is_some() || TO_COPY.is(entry) {
        return;
    }
    let of_tensor = arguments.first().is_some_and(|a| a.ty == super::Type::Tensor);
    if !of_tensor && args[device].is_none() {
        args[device] = Value::Device(default_device());
    }
    if args[pin_memory].is_none() {
        args[pin_memory] = Value::Bool(false);
    }
}

/// Positional and keyword arguments as the schema's full list, defaults filled in.
pub fn fill_args(entry: &'static OpEntry, positional: Vec<Value>, keywords: &[(&str, Value)]) -> Result<Vec<Value>> {
    let arguments = &entry.schema.arguments;
    if positional.len() > arguments.len() {
        return Err(Error::type_error(format!(
            "{}() takes {} positional arguments but {} were given",
            entry.schema.name,
            arguments.len(),
            positional.len()
        )));
    }
    let mut args = positional;
    for argument in &arguments[args.len()..] {
        let given = keywords.iter().find(|(k, _)| *k == argument.name).map(|(_, v)| v.clone());
        args.push(match (given, &argument.default) {
            (Some(v), _) => v,
            (None, Some(default)) => default.value(),
            (None, None) => {
                return Err(Error::type_error(format!(
                    "{}() missing 1 required positional argument: \"{}\"",
                    entry.schema.name, argument.name
                )));
            }
        });
    }
    Ok(args)
}

impl Schema {
    /// The arguments of a call as a graph shows them, each converted: positional ones without trailing defaults, keyword-only ones
    /// that differ from theirs.
    pub fn shown<T>(&self, args: &[Value], mut convert: impl FnMut(&Argument, &Value) -> Result<T>) -> Result<(Vec<T>, Vec<(Rc<str>, T)>)> {
        let (mut positional, mut keywords, mut pending) = (Vec::new(), Vec::new(), Vec::new());
        for (argument, value) in self.arguments.iter().zip(args) {
            let is_default = argument.default.as_ref().is_some_and(|d| d.is(value));
            if !argument.kwarg_only {
                pending.push(convert(argument, value)?);
                if !is_default {
                    positional.append(&mut pending);
                }
            } else if !is_default {
                keywords.push((argument.name.as_str().into(), convert(argument, value)?));
            }
        }
        Ok((positional, keywords))
    }
}

impl Default {
    /// The default as a value.
    pub fn value(&self) -> Value {
        match self {
            Default::None | Default::Long => Value::None,
            Default::Bool(b) => Value::Bool(*b),
            Default::Int(i) => Value::from(*i),
            Default::Float(f) => Value::Float(*f),
            Default::Str(s) => Value::from(s.as_str()),
            Default::Ints(v) => Value::from(v.clone()),
            Default::Bools(v) => Value::from(v.clone()),
            Default::ContiguousFormat => Value::MemoryFormat(MemoryFormat::Contiguous),
        }
    }

    /// Whether a value is the default: graphs leave such arguments out.
    pub fn is(&self, value: &Value) -> bool {
        match (value, self) {
            (Value::None, Default::None | Default::Long) => true,
            (Value::Dtype(Dtype::Int64), Default::Long) => true,
            (Value::Bool(a), Default::Bool(b)) => a == b,
            (Value::Int(a), Default::Int(b)) => a.as_int() == Some(*b),
            (Value::Float(a), Default::Float(b)) => a == b,
            (Value::Str(a), Default::Str(b)) => **a == **b,
            (Value::List(items), Default::Ints(b)) => {
                items.len() == b.len() && items.iter().zip(b).all(|(v, d)| matches!(v, Value::Int(i) if i.as_int() == Some(*d)))
            }
            (Value::List(items), Default::Bools(b)) => {
                items.len() == b.len() && items.iter().zip(b).all(|(v, d)| matches!(v, Value::Bool(x) if x == d))
            }
            (Value::MemoryFormat(MemoryFormat::Contiguous), Default::ContiguousFormat) => true,
            _ => false,
        }
    }
}
