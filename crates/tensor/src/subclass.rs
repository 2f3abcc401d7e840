//! What makes a tensor one of a class of the script's whose `__torch_dispatch__` answers every operator.
//!
//! Only the room that runs the script knows the class. The others ask the tensor what it is made of, and have it put together again
//! of other tensors: so a graph is one of plain tensors, whatever its inputs and outputs are to the script.

use super::Tensor;
use diagnostics::error::Result;
use shape::SymInt;
use std::any::Any;
use std::rc::Rc;

/// The class of a tensor, and what the script keeps on it.
pub trait Subclass {
    /// The same, for another handle on the same tensor.
    fn copied(&self) -> Rc<dyn Subclass>;
    /// The name of the class.
    fn class_name(&self) -> String;
    /// What `t`, which this belongs to, is made of; `None` where its class does not say (`__tensor_flatten__`).
    fn flatten(&self, t: &Tensor) -> Result<Option<Parts>>;
    /// `t`, a tangent, as the class makes it one of another class, or one that says something else of itself
    /// (`__coerce_same_metadata_as_tangent__`); `None` where it does not. Without a recipe a plain tensor is wanted.
    fn coerce(&self, t: &Tensor, wanted: Option<&dyn Recipe>) -> Result<Option<Tensor>>;
    /// For the room that made it.
    fn as_any(&self) -> &dyn Any;
}

/// What a tensor is made of.
pub struct Parts {
    /// The attributes that hold tensors, in order, and the tensors.
    pub inner: Vec<(Rc<str>, Tensor)>,
    /// What puts such tensors together again.
    pub recipe: Rc<dyn Recipe>,
}

/// How a class makes a tensor of inner ones (`__tensor_unflatten__`), with what it says of the tensor besides.
pub trait Recipe {
    /// The name of the class.
    fn class_name(&self) -> String;
    /// What the class says of the tensor besides, and the class, as Python prints them.
    fn printed(&self) -> (String, String);
    /// Makes a tensor of these sizes and strides.
    fn make(&self, inner: &[(Rc<str>, Tensor)], sizes: &[SymInt], strides: &[SymInt]) -> Result<Tensor>;
    /// Whether another recipe is of the same class and says the same.
    fn same(&self, other: &dyn Recipe) -> bool;
    /// For the room that made it.
    fn as_any(&self) -> &dyn Any;
}
