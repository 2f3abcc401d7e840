//! Errors as values: what a script would see as a Python exception, and nothing else.

use std::any::Any;
use std::fmt;
use std::rc::Rc;

/// The Python class an error becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// `RuntimeError`
    Runtime,
    /// `TypeError`
    Type,
    /// `ValueError`
    Value,
    /// `IndexError`
    Index,
    /// `NotImplementedError`: the operator or feature is not there.
    NotImplemented,
    /// `AttributeError`
    Attribute,
    /// `AssertionError`
    Assertion,
    /// `ZeroDivisionError`
    ZeroDivision,
    /// `OverflowError`
    Overflow,
    /// `RuntimeError`, as PyTorch has it: there is no memory for a tensor.
    Memory,
    /// `torch.linalg.LinAlgError`
    LinAlg,
    /// What capture cannot have in one graph (`torch._dynamo.exc.Unsupported`).
    Unsupported,
    /// A call that failed while it was captured (`torch._dynamo.exc.TorchRuntimeError`).
    TorchRuntime,
    /// A value was asked of a fake tensor (`torch._subclasses.fake_tensor.DataDependentOutputException`).
    DataDependent,
    /// The size of a result depends on values of a fake tensor (`torch._subclasses.fake_tensor.DynamicOutputShapeException`).
    DynamicOutputShape,
    /// Operands of a fake tensor's call lie on several devices (`torch._subclasses.fake_tensor.FakeTensorDeviceMismatchError`).
    FakeDeviceMismatch,
    /// A guard on an unbacked symbol (`torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode`).
    GuardOnDataDependent,
    /// A size that does not lie where the script said it does (`torch.fx.experimental.symbolic_shapes.ConstraintViolationError`).
    ConstraintViolation,
}

/// An error: its Python class and message, or an exception of the script that passes through.
#[derive(Clone)]
pub struct Error {
    /// The Python class.
    pub kind: ErrorKind,
    /// The message, in PyTorch's words where it has words for it.
    pub message: String,
    /// A Python exception on its way through the compiler, kept whole.
    pub foreign: Option<Rc<dyn Any>>,
}

impl Error {
    /// An error of the given class.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), foreign: None }
    }
    /// `RuntimeError(message)`
    pub fn runtime(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Runtime, message)
    }
    /// `TypeError(message)`
    pub fn type_error(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Type, message)
    }
    /// `ValueError(message)`
    pub fn value(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Value, message)
    }
    /// `IndexError(message)`
    pub fn index(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Index, message)
    }
    /// `NotImplementedError(message)`
    pub fn not_implemented(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotImplemented, message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The result of what may fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;
