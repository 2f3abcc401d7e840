//! Saved values: what a node keeps of the forward, and the check that nobody wrote to it since.

use super::meta;
use super::node::Node;
use diagnostics::error::{Error, Result};
use dispatch::{Key, call_below};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use tensor::Tensor;

/// What was saved is asked for when it is gone: the error that says so.
pub fn freed() -> Error {
    Error::runtime(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after calling backward.",
    )
}

/// `torch.autograd.graph.saved_tensors_hooks`.
pub trait SavedTensorHooks {
    /// Turns a tensor into what is kept.
    fn pack(&self, t: &Tensor) -> Result<Rc<dyn Any>>;
    /// Turns what was kept into the tensor again.
    fn unpack(&self, packed: &Rc<dyn Any>) -> Result<Tensor>;
    /// The script's function that packs, as the room above knows it.
    fn pack_function(&self) -> Rc<dyn Any>;
    /// The script's function that unpacks, as the room above knows it.
    fn unpack_function(&self) -> Rc<dyn Any>;
}

thread_local! {
    static HOOKS: RefCell<Vec<Rc<dyn SavedTensorHooks>>> = const { RefCell::new(Vec::new()) };
}

/// From now on, saved tensors go through these hooks.
pub fn push_saved_tensor_hooks(hooks: Rc<dyn SavedTensorHooks>) {
    HOOKS.with_borrow_mut(|h| h.push(hooks));
}

/// The hooks that a tensor saved now goes through.
pub fn top_saved_tensor_hooks() -> Option<Rc<dyn SavedTensorHooks>> {
    HOOKS.with_borrow(|h| h.last().cloned())
}

/// While it lives, saved tensors are kept as they are: what is traced or recorded is not the script's forward.
pub struct WithoutSavedTensorHooks(Vec<Rc<dyn SavedTensorHooks>>);

impl WithoutSavedTensorHooks {
    /// Puts hooks aside.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        WithoutSavedTensorHooks(HOOKS.take())
    }
}

impl Drop for WithoutSavedTensorHooks {
    fn drop(&mut self) {
        HOOKS.set(std::mem::take(&mut self.0));
    }
}

/// Ends what [`push_saved_tensor_hooks`] began.
pub fn pop_saved_tensor_hooks() {
    HOOKS.with_borrow_mut(Vec::pop);
}

enum Kept {
    /// An input, as it is.
    Original(Tensor),
    /// A result, without its history: the node itself is its history.
    Result(Tensor, usize),
    /// Through hooks, and the tensor's history, which what they give again has too.
    Packed(Rc<dyn SavedTensorHooks>, Rc<dyn Any>, History),
}

/// What a saved tensor is to the tape.
enum History {
    /// Nothing: it requires no grad.
    Constant,
    /// A leaf, by its accumulator: whether it is still there, the tape says.
    Leaf(Weak<Node>),
    /// A result of another node.
    Made(Rc<Node>, usize),
    /// A result of the node that saves it.
    Own(usize),
}

impl History {
    fn of(t: &Tensor) -> Result<Self> {
        Ok(match meta::grad_fn(t)? {
            Some((node, index)) => History::Made(node, index),
            None if meta::requires_grad(t) => History::Leaf(Rc::downgrade(&meta::accumulator(t))),
            None => History::Constant,
        })
    }

    /// Gives a tensor the history; `node` is the one that saved it.
    fn give(&self, t: &Tensor, node: Option<&Rc<Node>>) {
        let made = match (self, node) {
            (History::Made(node, index), _) => Some((node.clone(), *index)),
            (History::Own(index), Some(node)) => Some((node.clone(), *index)),
            (History::Leaf(accumulator), _) => {
                meta::with(t, |m| (m.requires_grad, m.accumulator) = (true, accumulator.clone()));
                None
            }
            _ => None,
        };
        if made.is_some() {
            meta::with(t, |m| m.grad_fn = made);
        }
    }
}

/// A value kept for the backward.
pub struct SavedVariable {
    kept: Kept,
    version: u64,
    /// The tensor whose version is checked.
    checked: Option<Tensor>,
}

thread_local! {
    static DETACHING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the `detach` that a layer sees is that of a value which is kept for the backward, or read there.
pub fn is_detaching() -> bool {
    DETACHING.get()
}

/// `detach` as layers below autograd see it.
fn detach(t: &Tensor) -> Result<Tensor> {
    // A tensor of a transform's level is detached without a call.
    if let Some(bare) = dispatch::levels::detached(t) {
        return Ok(bare);
    }
    static OP: dispatch::OpRef = dispatch::OpRef::new("detach");
    let outer = DETACHING.replace(true);
    let made = call_below(Key::Autograd, OP.get(), vec![t.into()]);
    DETACHING.set(outer);
    made?.into_tensor()
}

impl SavedVariable {
    /// Keeps an input of the forward.
    pub fn input(t: &Tensor) -> Result<Self> {
        if meta::is_inference(t) {
            return Err(Error::runtime(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`.",
            ));
        }
        if let Some(hooks) = top_saved_tensor_hooks() {
            return SavedVariable::through(hooks, t, History::of(t)?);
        }
        Ok(SavedVariable { kept: Kept::Original(t.clone()), version: t.version(), checked: Some(t.clone()) })
    }

    /// Keeps result `index` of the forward.
    pub fn result(t: &Tensor, index: usize) -> Result<Self> {
        if let Some(hooks) = top_saved_tensor_hooks() {
            return SavedVariable::through(hooks, t, History::Own(index));
        }
        let bare = detach(t)?;
        Ok(SavedVariable { version: t.version(), checked: Some(bare.clone()), kept: Kept::Result(bare, index) })
    }

    /// Keeps what hooks make of a tensor.
    fn through(hooks: Rc<dyn SavedTensorHooks>, t: &Tensor, history: History) -> Result<Self> {
        let version = t.version();
        let packed = hooks.pack(t)?;
        if t.version() != version {
            return Err(Error::runtime(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to perform in-place operations on the input to a pack hook.",
            ));
        }
        Ok(SavedVariable { kept: Kept::Packed(hooks, packed, history), version: 0, checked: None })
    }

    /// The script's function that unpacks it, and what that is given, where there is one.
    pub fn packed(&self) -> Option<(Rc<dyn Any>, Rc<dyn Any>)> {
        match &self.kept {
            Kept::Packed(hooks, packed, _) => Some((hooks.unpack_function(), packed.clone())),
            _ => None,
        }
    }

    /// The value of an input; an error where it was written to in place.
    pub fn unpack_input(&self) -> Result<Tensor> {
        self.unpack_for(None)
    }

    /// The value, for the backward of a node; an error where it was written to in place.
    pub fn unpack(&self, node: &Rc<Node>) -> Result<Tensor> {
        self.unpack_for(Some(node))
    }

    fn unpack_for(&self, node: Option<&Rc<Node>>) -> Result<Tensor> {
        if let Some(t) = &self.checked
            && t.version() != self.version
        {
            return Err(modified(t, node.filter(|_| matches!(self.kept, Kept::Result(..))), self.version));
        }
        match (&self.kept, node) {
            (Kept::Original(t), _) | (Kept::Result(t, _), None) => Ok(t.clone()),
            (Kept::Result(t, index), Some(node)) => {
                let fresh = detach(t)?;
                // Where its level has ended, it is what it stood for, which has no part in that level's tape.
                if dispatch::levels::stands_for(t, &fresh) {
                    return Ok(fresh);
                }
                History::Own(*index).give(&fresh, Some(node));
                Ok(fresh)
            }
            (Kept::Packed(hooks, packed, history), _) => {
                let fresh = detach(&hooks.unpack(packed)?)?;
                history.give(&fresh, node);
                Ok(fresh)
            }
        }
    }
}

/// What a node is the backward of: `Exp` for `ExpBackward0`.
pub(super) fn operation(node: &str) -> &str {
    node.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches("Backward")
}

/// What is said of a tensor that was written to, the result of a node where there is one.
fn modified(t: &Tensor, node: Option<&Rc<Node>>, expected: u64) -> Error {
    let kind = match t.dtype().scalar_type() {
        "ComplexFloat" => "torch.ComplexFloatTensor".to_owned(),
        name => format!("torch.{name}Tensor"),
    };
    let sizes = t.sizes().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let made_by = if let Some(node) = node {
        format!(", which is output 0 of {},", operation(&node.full_name()))
    } else {
        meta::peek(t, |m| m.grad_fn.as_ref().map(|(n, i)| format!(", which is output {i} of {},", operation(&n.full_name()))))
            .unwrap_or_default()
    };
    let hint = if super::anomaly::mode().0 {
        "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was changed in there or anywhere later. Good luck!"
    } else {
        "enable anomaly detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
    };
    Error::runtime(format!(
        "one of the variables needed for gradient computation has been modified by an inplace operation: [{kind} [{sizes}]]{made_by} is at version {}; expected version {expected} instead. Hint: {hint}",
        t.version()
    ))
}
