//! The stack of layers: thread-local, re-entrant, with include and exclude state like PyTorch's dispatch keys.

use super::{Call, Default, OpEntry, Rule, Value, run_backend};
use crate::error::{Error, Result};
use crate::tensor::MemoryFormat;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Places in the stack, top first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Capture of torch-level calls.
    Capture,
    /// `torch.func` transforms.
    Transform,
    /// `torch.autocast`.
    Autocast,
    /// Autograd, with view and version tracking.
    Autograd,
    /// Functionalization.
    Functionalize,
    /// A script's `__torch_dispatch__`.
    Subclass,
    /// Tracing into a graph.
    Trace,
}

const KEYS: [Key; 7] = [Key::Capture, Key::Transform, Key::Autocast, Key::Autograd, Key::Functionalize, Key::Subclass, Key::Trace];

/// A layer: it sees calls that reach it and makes calls of its own.
pub trait Layer {
    /// Its place.
    fn key(&self) -> Key;
    /// Whether it takes this call; the others go on down.
    fn wants(&self, call: &Call) -> bool;
    /// Handles the call. To go on down, it uses [`call_below`] with its own key.
    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value>;
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
}

thread_local! {
    static LAYERS: RefCell<[Vec<Rc<dyn Layer>>; 7]> = const { RefCell::new([const { Vec::new() }; 7]) };
    static EXCLUDED: Cell<u8> = const { Cell::new(0) };
    static MODES: Cell<Modes> = const { Cell::new(Modes { grad: true, inference: false, fake: false }) };
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
pub struct Exclude(u8);

impl Exclude {
    /// Excludes one key.
    pub fn only(key: Key) -> Self {
        Exclude(EXCLUDED.replace(EXCLUDED.get() | 1 << key as u8))
    }
    /// Excludes a key and everything above it.
    pub fn down_to(key: Key) -> Self {
        Exclude(EXCLUDED.replace(EXCLUDED.get() | ((2u16 << key as u8) - 1) as u8))
    }
    /// Excludes capture alone: a call from here sees everything else again, also from within a layer.
    pub fn capture_alone() -> Self {
        Exclude(EXCLUDED.replace(1 << Key::Capture as u8))
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
        {
            return f(&Call { entry, args: &args });
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
    run_backend(entry, &args, MODES.get().fake)
}

/// Calls an operator from below a key; the key and everything above stay excluded meanwhile.
pub fn call_below(key: Key, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let _guard = Exclude::down_to(key);
    call(entry, args)
}

/// Whether a layer of this key sees the next call.
pub fn has_layer(key: Key) -> bool {
    EXCLUDED.get() & (1 << key as u8) == 0 && LAYERS.with_borrow(|l| !l[key as usize].is_empty())
}

/// What PyTorch's Python functions add to the call of a factory: the device where nothing else says it, and unpinned memory.
pub fn fill_factory_options(entry: &OpEntry, args: &mut [Value]) {
    let arguments = &entry.schema.arguments;
    let (Some(pin_memory), Some(device)) = (entry.schema.position("pin_memory"), entry.schema.position("device")) else { return };
    if matches!(entry.base_name(), "to" | "_to_copy") {
        return;
    }
    let of_tensor = arguments.first().is_some_and(|a| a.ty == super::Type::Tensor);
    if !of_tensor && args[device].is_none() {
        args[device] = Value::Device(crate::tensor::Device::CPU);
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

impl Default {
    /// The default as a value.
    pub fn value(&self) -> Value {
        match self {
            Default::None => Value::None,
            Default::Bool(b) => Value::Bool(*b),
            Default::Int(i) => Value::from(*i),
            Default::Float(f) => Value::Float(*f),
            Default::Str(s) => Value::from(s.as_str()),
            Default::Ints(v) => Value::from(v.clone()),
            Default::Bools(v) => Value::from(v.clone()),
            Default::ContiguousFormat => Value::MemoryFormat(MemoryFormat::Contiguous),
        }
    }
}
