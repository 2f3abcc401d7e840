//! `Value`: an operator's argument or result.

use diagnostics::error::{Error, Result};
use shape::{SymCondition, SymFloat, SymInt};
use std::any::Any;
use std::rc::Rc;
use tensor::{Device, Dtype, Layout, MemoryFormat, Number, Tensor};

/// An argument or result of an operator.
#[derive(Clone, Default)]
pub enum Value {
    /// `None`
    #[default]
    None,
    /// A boolean.
    Bool(bool),
    /// An integer, perhaps symbolic.
    Int(SymInt),
    /// A float.
    Float(f64),
    /// A symbolic float: whoever needs the number gets it with a guard.
    SymFloat(SymFloat),
    /// A complex number.
    Complex(f64, f64),
    /// A string.
    Str(Rc<str>),
    /// A tensor.
    Tensor(Tensor),
    /// A list or tuple.
    List(Vec<Value>),
    /// A dtype.
    Dtype(Dtype),
    /// A device.
    Device(Device),
    /// A layout.
    Layout(Layout),
    /// A memory format.
    MemoryFormat(MemoryFormat),
    /// Something only the operator understands: a random generator, or a [`SymCondition`].
    Opaque(Rc<dyn Any>),
}

impl Value {
    /// Its kind, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) | Value::SymFloat(_) => "float",
            Value::Complex(..) => "complex",
            Value::Str(_) => "str",
            Value::Tensor(_) => "Tensor",
            Value::List(_) => "list",
            Value::Dtype(_) => "torch.dtype",
            Value::Device(_) => "torch.device",
            Value::Layout(_) => "torch.layout",
            Value::MemoryFormat(_) => "torch.memory_format",
            Value::Opaque(_) => "object",
        }
    }

    fn wrong(&self, wanted: &str) -> Error {
        Error::type_error(format!("expected {wanted}, not {}", self.kind()))
    }

    /// The condition on symbolic sizes that it is.
    pub fn condition(&self) -> Option<&SymCondition> {
        if let Value::Opaque(any) = self { any.downcast_ref() } else { None }
    }

    /// Whether it is `None`.
    pub fn is_none(&self) -> bool {
        matches!(self, Value::None)
    }

    /// An integer or a float as PyTorch has it in a call on elements of a dtype: cast to it first. Anything else is left as it is, as is a
    /// number for elements of another category.
    pub fn cast_number(&self, dtype: Dtype) -> Result<Value> {
        let number = match self {
            Value::Int(i) if dtype.is_integral() || dtype.is_floating() => Number::Int(i.guard_int()?),
            Value::Float(f) if dtype.is_floating() => Number::Float(*f),
            other => return Ok(other.clone()),
        };
        Ok(match number.cast(dtype) {
            Number::Bool(b) => Value::from(i64::from(b)),
            Number::Int(i) => Value::from(i),
            other => Value::Float(other.to_f64()),
        })
    }

    /// Whether it is a Python number.
    pub fn is_scalar(&self) -> bool {
        matches!(self, Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::SymFloat(_) | Value::Complex(..))
            || self.condition().is_some()
    }

    /// The tensor.
    pub fn tensor(&self) -> Result<&Tensor> {
        match self {
            Value::Tensor(t) => Ok(t),
            other => Err(other.wrong("Tensor")),
        }
    }

    /// The tensor, taken.
    pub fn into_tensor(self) -> Result<Tensor> {
        match self {
            Value::Tensor(t) => Ok(t),
            other => Err(other.wrong("Tensor")),
        }
    }

    /// The tensor, where it is one.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self {
            Value::Tensor(t) => Some(t),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn list(&self) -> Result<&[Value]> {
        match self {
            Value::List(items) => Ok(items),
            other => Err(other.wrong("list")),
        }
    }

    /// The tensors of a list; a `None` in it is an error.
    pub fn tensors(&self) -> Result<Vec<Tensor>> {
        self.list()?.iter().map(|v| v.tensor().cloned()).collect()
    }

    /// The integer, perhaps symbolic. A bool counts.
    pub fn sym_int(&self) -> Result<SymInt> {
        match self {
            Value::Int(i) => Ok(i.clone()),
            Value::Bool(b) => Ok(SymInt::Int(*b as i64)),
            other => Err(other.wrong("int")),
        }
    }

    /// The integer; a symbolic one is specialized.
    pub fn int(&self) -> Result<i64> {
        self.sym_int()?.guard_int()
    }

    /// The integers; a single one counts as a list of one.
    pub fn sym_ints(&self) -> Result<Vec<SymInt>> {
        match self {
            Value::List(items) => items.iter().map(Value::sym_int).collect(),
            other => Ok(vec![other.sym_int()?]),
        }
    }

    /// The integers; symbolic ones are specialized.
    pub fn ints(&self) -> Result<Vec<i64>> {
        self.sym_ints()?.iter().map(SymInt::guard_int).collect()
    }

    /// The number as a float.
    pub fn float(&self) -> Result<f64> {
        match self {
            Value::Float(f) => Ok(*f),
            Value::SymFloat(f) => f.guard_float(),
            Value::Int(i) => Ok(i.guard_int()? as f64),
            Value::Bool(b) => Ok(f64::from(u8::from(*b))),
            other if other.condition().is_some() => Ok(f64::from(u8::from(other.bool()?))),
            other => Err(other.wrong("float")),
        }
    }

    /// The boolean.
    pub fn bool(&self) -> Result<bool> {
        match self {
            Value::Bool(b) => Ok(*b),
            Value::Int(i) => Ok(i.guard_int()? != 0),
            other => match other.condition() {
                Some(condition) => condition.left.compare_asked(condition.relation, &condition.right),
                None => Err(other.wrong("bool")),
            },
        }
    }

    /// The string.
    pub fn str(&self) -> Result<&str> {
        match self {
            Value::Str(s) => Ok(s),
            other => Err(other.wrong("str")),
        }
    }

    /// The dtype; `None` for None.
    pub fn dtype(&self) -> Result<Option<Dtype>> {
        match self {
            Value::Dtype(d) => Ok(Some(*d)),
            Value::None => Ok(None),
            other => Err(other.wrong("torch.dtype")),
        }
    }

    /// The device; `None` for None.
    pub fn device(&self) -> Result<Option<Device>> {
        match self {
            Value::Device(d) => Ok(Some(*d)),
            Value::None => Ok(None),
            other => Err(other.wrong("torch.device")),
        }
    }

    /// Calls `f` for every tensor in it, in order.
    pub fn for_each_tensor(&self, f: &mut dyn FnMut(&Tensor)) {
        match self {
            Value::Tensor(t) => f(t),
            Value::List(items) => items.iter().for_each(|v| v.for_each_tensor(f)),
            _ => {}
        }
    }

    /// Whether a tensor among arguments is fake.
    pub fn any_fake(args: &[Value]) -> bool {
        let mut fake = false;
        args.iter().for_each(|v| v.for_each_tensor(&mut |t| fake |= t.is_fake()));
        fake
    }

    /// The value with every tensor replaced.
    pub fn map_tensors(&self, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Value> {
        Ok(match self {
            Value::Tensor(t) => Value::Tensor(f(t)?),
            Value::List(items) => Value::List(items.iter().map(|v| v.map_tensors(f)).collect::<Result<_>>()?),
            other => other.clone(),
        })
    }
}

macro_rules! from {
    ($($type:ty => |$v:ident| $body:expr;)*) => { $(impl From<$type> for Value { fn from($v: $type) -> Value { $body } })* };
}
from! {
    bool => |v| Value::Bool(v);
    i64 => |v| Value::Int(SymInt::Int(v));
    i32 => |v| Value::Int(SymInt::Int(v.into()));
    usize => |v| Value::Int(SymInt::Int(v as i64));
    f64 => |v| Value::Float(v);
    SymInt => |v| Value::Int(v);
    &SymInt => |v| Value::Int(v.clone());
    &str => |v| Value::Str(v.into());
    Tensor => |v| Value::Tensor(v);
    &Tensor => |v| Value::Tensor(v.clone());
    Dtype => |v| Value::Dtype(v);
    Device => |v| Value::Device(v);
    MemoryFormat => |v| Value::MemoryFormat(v);
    Layout => |v| Value::Layout(v);
    &Value => |v| v.clone();
    Vec<Value> => |v| Value::List(v);
    Vec<SymInt> => |v| Value::List(v.into_iter().map(Value::Int).collect());
    &[SymInt] => |v| Value::List(v.iter().map(Value::from).collect());
    &Vec<SymInt> => |v| v.as_slice().into();
    Vec<i64> => |v| Value::List(v.into_iter().map(Value::from).collect());
    &[i64] => |v| Value::List(v.iter().map(|i| Value::from(*i)).collect());
    Vec<bool> => |v| Value::List(v.into_iter().map(Value::from).collect());
    Vec<Tensor> => |v| Value::List(v.into_iter().map(Value::from).collect());
    &[Tensor] => |v| Value::List(v.iter().map(Value::from).collect());
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(v: Option<T>) -> Value {
        v.map_or(Value::None, Into::into)
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::None => f.write_str("None"),
            Value::Bool(v) => v.fmt(f),
            Value::Int(v) => v.fmt(f),
            Value::Float(v) => v.fmt(f),
            Value::SymFloat(v) => v.fmt(f),
            Value::Complex(re, im) => write!(f, "({re}+{im}j)"),
            Value::Str(v) => v.fmt(f),
            Value::Tensor(v) => v.fmt(f),
            Value::List(v) => v.fmt(f),
            Value::Dtype(v) => v.fmt(f),
            Value::Device(v) => v.fmt(f),
            Value::Layout(v) => v.fmt(f),
            Value::MemoryFormat(v) => f.write_str(v.name()),
            Value::Opaque(_) => f.write_str("<object>"),
        }
    }
}
