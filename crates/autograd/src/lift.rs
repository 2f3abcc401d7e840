//! A tape taken apart for compiled autograd: what nodes keep becomes inputs of a graph, and the rest a key that says which tapes are alike.
//!
//! PyTorch's `CompiledNodeArgs`: tensors and sizes are inputs, and everything else is specialized. A node's own part is `Body::lift`.

use diagnostics::error::{Error, Result};
use dispatch::Value;
use shape::SymInt;
use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::io::Write;
use std::rc::Rc;
use tensor::{Device, Dtype, Geometry, Tensor, TensorSpec};

/// An argument of a call in the graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Packed {
    /// None, and a tensor that is undefined.
    None,
    /// A truth value.
    Bool(bool),
    /// A number, and what PyTorch writes as one: dtypes, layouts, memory formats.
    Int(i64),
    /// A number.
    Float(f64),
    /// A number.
    Complex(f64, f64),
    /// A text.
    Str(Rc<str>),
    /// A device.
    Device(Device),
    /// An input of the graph that is a tensor, by number.
    Tensor(usize),
    /// A size: the number of an input of the graph.
    Size(usize),
    /// A tensor that a hook of the script's unpacks in the graph: the numbers of hook and data.
    Unpack(usize, usize),
    /// A list.
    List(Vec<Packed>),
    /// A tuple.
    Tuple(Vec<Packed>),
}

/// The derivative of an operator as a function of what its node saved.
pub trait Functional {
    /// Gradients of the inputs of the node. `args` are its saved fields, in their order.
    fn call(&self, grads: &[Option<Tensor>], needs: &[bool], args: &[Value]) -> Result<Vec<Option<Tensor>>>;
}

/// The backward of a compiled function, which is copied into the graph.
pub struct AotBackward {
    /// The graph: symbolic integers, saved tensors, tangents.
    pub graph: Rc<graph::Graph>,
    /// The number of the compilation.
    pub id: u64,
    /// Saved tensors.
    pub saved: Vec<Packed>,
    /// Saved symbolic integers.
    pub sizes: Vec<Packed>,
    /// What the hooks are in that the function has registered, among the objects, where it has any: the graph's last input. With it its place
    /// among the gradients that the graph gives, where nothing stands for it.
    pub state: Option<(usize, usize)>,
    /// Inputs of the graph from saved tensors, saved integers and gradients.
    pub prologue: Rc<dyn Fn(Vec<Value>, Vec<Value>, Vec<Option<Tensor>>) -> Result<Vec<Value>>>,
    /// How many gradients it gives: the graph's first outputs.
    pub num_gradients: usize,
}

/// What a node becomes in the graph.
pub enum Lifted {
    /// The gradients that a backward starts with.
    Root(Vec<Packed>),
    /// A call of `torch._dynamo.compiled_autograd.ops.NAME`.
    Call {
        /// `MulBackward0`
        name: Rc<str>,
        /// Which gradients are asked for.
        needs: Vec<bool>,
        /// Saved fields.
        args: Vec<Packed>,
        /// What is called.
        function: Rc<dyn Functional>,
        /// Per gradient that the function gives, which edge of the node it is for.
        edges: Vec<Option<usize>>,
        /// The results of the forward that have gradients, of which the function is given one each.
        results: Vec<usize>,
    },
    /// A leaf: the tensor, and its gradient so far.
    Accumulate {
        /// The leaf; none where nothing is accumulated.
        variable: Option<Packed>,
        /// Its gradient.
        grad: Packed,
        /// Whether the node has hooks that run after it.
        has_post_hooks: bool,
    },
    /// A write through a view.
    CopySlices {
        /// Sizes, strides and offset of the base.
        base: [Packed; 3],
        /// Of the view.
        view: [Packed; 3],
        /// What was written by.
        inner: Box<Lifted>,
    },
    /// A function of the script's: the number of its context among the hooks, and what it saved.
    Script {
        /// The context.
        context: usize,
        /// Saved tensors.
        saved: Vec<Packed>,
        /// Per gradient that comes, sizes, dtype and device of the zeros that an undefined one is replaced by; none where it stays so.
        zeros: Vec<Option<(Vec<Packed>, Dtype, Device)>>,
        /// Per argument of the forward, whether it is a tensor, whose gradient the backward gives.
        gradients: Vec<bool>,
    },
    /// A compiled function: the number of its context among the hooks.
    Compiled {
        /// The context.
        context: usize,
        /// Its backward.
        backward: AotBackward,
    },
}

/// The key of one node, as far as it is known.
#[derive(Default)]
pub struct Lift {
    /// Inputs that are tensors.
    pub inputs: Vec<Tensor>,
    pub(super) known: HashMap<u64, usize>,
    /// Sizes, in the order in which the tape says them.
    pub sizes: Vec<i64>,
    /// Sizes, by number, that are inputs of the graph in any case: a compiled function saved them as symbols.
    pub symbolic: HashSet<usize>,
    /// Hooks and contexts.
    pub objects: Vec<Rc<dyn Any>>,
    /// What hooks of saved tensors packed.
    pub packed_data: Vec<Rc<dyn Any>>,
    key: Vec<u8>,
    /// Nodes whose gradients are asked for, by address, where not all are.
    pub(super) executed: Option<HashSet<usize>>,
}

/// PyTorch's number of a dtype (`c10::ScalarType`).
pub fn dtype_number(dtype: Dtype) -> i64 {
    match dtype {
        Dtype::UInt8 => 0,
        Dtype::Int8 => 1,
        Dtype::Int16 => 2,
        Dtype::Int32 => 3,
        Dtype::Int64 => 4,
        Dtype::Float16 => 5,
        Dtype::Float32 => 6,
        Dtype::Float64 => 7,
        Dtype::Complex64 => 9,
        Dtype::Complex128 => 10,
        Dtype::Bool => 11,
        Dtype::BFloat16 => 15,
        Dtype::Float8E5m2 => 23,
        Dtype::Float8E4m3fn => 24,
    }
}

/// The dtype of such a number.
pub fn dtype_of_number(number: i64) -> Option<Dtype> {
    Dtype::ALL.iter().copied().find(|dtype| dtype_number(*dtype) == number)
}

impl Lift {
    /// Adds to the key.
    pub fn specialize(&mut self, what: impl Display) {
        // Writing to memory fails where there is none, which ends the program in any case.
        let _ = write!(self.key, "{what}");
        self.key.push(0xff);
    }

    /// Adds a number to the key.
    pub fn number(&mut self, number: usize) {
        self.key.extend_from_slice(&(number as u64).to_le_bytes());
    }

    /// The key of what was lifted since the last.
    pub fn take_key(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.key)
    }

    /// Says whose gradients are asked for, by address; of all nodes where there is nothing.
    pub fn executes(&mut self, nodes: Option<HashSet<usize>>) {
        self.executed = nodes;
    }

    /// A size becomes an input.
    pub fn size(&mut self, size: &SymInt) -> Result<Packed> {
        self.sizes.push(size.guard_int()?);
        Ok(Packed::Size(self.sizes.len() - 1))
    }

    /// A size that a compiled function saved as a symbol becomes an input.
    pub fn symbolic_size(&mut self, size: &SymInt) -> Result<Packed> {
        self.symbolic.insert(self.sizes.len());
        self.size(size)
    }

    /// Sizes become inputs.
    pub fn list_of_sizes(&mut self, sizes: &[SymInt]) -> Result<Packed> {
        self.number(sizes.len());
        Ok(Packed::List(sizes.iter().map(|s| self.size(s)).collect::<Result<_>>()?))
    }

    /// Sizes, strides and offset.
    pub fn geometry(&mut self, geometry: &Geometry) -> Result<[Packed; 3]> {
        Ok([self.list_of_sizes(&geometry.sizes)?, self.list_of_sizes(&geometry.strides)?, self.size(&geometry.offset)?])
    }

    /// A constant.
    pub fn constant(&mut self, value: &Value) -> Result<Packed> {
        let packed = pack_constant(value)?;
        self.specialize(format_args!("{packed:?}"));
        Ok(packed)
    }

    /// Device, dtype and layout.
    pub fn options(&mut self, dtype: Dtype, device: Device) -> Packed {
        self.specialize(format_args!("{device} {dtype}"));
        options(dtype, device)
    }

    /// A hook or a context.
    pub fn object(&mut self, object: Rc<dyn Any>) -> usize {
        self.objects.push(object);
        self.number(self.objects.len());
        self.objects.len() - 1
    }
}

/// `at::TensorOptions` as the graph has it: requires_grad, memory format, device, dtype, layout, pinned memory.
pub fn options(dtype: Dtype, device: Device) -> Packed {
    let parts = [Packed::None, Packed::None, Packed::Device(device), Packed::Int(dtype_number(dtype)), Packed::Int(0), Packed::None];
    Packed::Tuple(parts.into())
}

fn pack_constant(value: &Value) -> Result<Packed> {
    Ok(match value {
        Value::Opaque(_) if value.condition().is_some() => Packed::Bool(value.bool()?),
        Value::None | Value::Opaque(_) => Packed::None,
        Value::Bool(b) => Packed::Bool(*b),
        Value::Int(i) => Packed::Int(i.guard_int()?),
        Value::Float(f) => Packed::Float(*f),
        Value::SymFloat(f) => Packed::Float(f.hint().ok_or_else(|| Error::runtime("a float without a value on a tape"))?),
        Value::Complex(re, im) => Packed::Complex(*re, *im),
        Value::Str(s) => Packed::Str(s.clone()),
        Value::Dtype(d) => Packed::Int(dtype_number(*d)),
        Value::Device(d) => Packed::Device(*d),
        Value::Layout(_) => Packed::Int(0),
        Value::MemoryFormat(m) => Packed::Int(*m as i64),
        Value::Tensor(_) => return Err(Error::runtime("a tensor among the constants of a tape")),
        Value::List(items) => Packed::List(items.iter().map(pack_constant).collect::<Result<_>>()?),
    })
}

/// Sizes of a tensor argument, where the call says them.
pub(super) fn with_sizes(spec: &mut TensorSpec, value: &Value, part: Part) -> Result<()> {
    let list = || value.list()?.iter().map(Value::sym_int).collect::<Result<Vec<_>>>();
    match part {
        Part::Sizes if !value.is_none() => spec.geometry.sizes = list()?,
        Part::Strides => {
            let strides = list()?;
            if strides.len() == spec.geometry.sizes.len() {
                spec.geometry.strides = strides;
            }
        }
        Part::At(i) => {
            if let Some(size) = spec.geometry.sizes.get_mut(i) {
                *size = value.sym_int()?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// A part of a tensor's geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Sizes,
    Strides,
    At(usize),
}
