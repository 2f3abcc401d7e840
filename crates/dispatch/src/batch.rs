//! Batching: what an operator does in `vmap`, where tensors hide a dimension. Entries say it; the level that calls them is
//! `transforms::batching`.

use super::levels::{Level, wrap, wrapped};
use super::{Call, OpEntry, Value};
use crate::t;
use diagnostics::error::Result;
use shape::SymInt;
use tensor::Tensor;

/// How an operator is called on tensors that hide a dimension.
#[derive(Clone, Copy)]
pub enum Batch {
    /// Item after item, and the results are stacked, as PyTorch's own fallback does it.
    ByItem,
    /// Elements are computed on their own: tensors are broadcast, with the hidden dimension in front. A loss that is reduced is
    /// reduced per item.
    Elementwise,
    /// Dimensions and sizes among its arguments are shifted by one.
    Shifted,
    /// By a rule of its own.
    Rule(BatchRule),
    /// It is composed of other operators, which are batched in turn.
    Composed(fn(&Call) -> Result<Value>),
    /// The same, by Inductor's decomposition.
    Decomposed,
}

/// Calls an operator one level below, and wraps its results; `None` where this call goes item by item.
pub type BatchRule = fn(&BatchCall) -> Result<Option<Value>>;

/// A call in a level of `vmap`.
#[derive(Clone, Copy)]
pub struct BatchCall<'a> {
    /// The level.
    pub level: &'a Level,
    /// How many items there are.
    pub size: &'a SymInt,
    /// The operator.
    pub entry: &'static OpEntry,
    /// Its arguments, as the level's call was given them.
    pub args: &'a [Value],
}

impl<'a> BatchCall<'a> {
    /// The call, for its typed accessors.
    pub fn call(&self) -> Call<'a> {
        Call { entry: self.entry, args: self.args }
    }
    /// An argument.
    pub fn get(&self, name: &str) -> &'a Value {
        self.call().get(name)
    }
    /// A tensor as the level below sees it.
    pub fn of(&self, t: &Tensor) -> BatchedTensor {
        BatchedTensor::of(t, self.level)
    }
    /// A tensor argument as the level below sees it.
    pub fn tensor(&self, name: &str) -> Result<BatchedTensor> {
        self.call().tensor(name).map(|t| self.of(t))
    }
    /// Every tensor among the arguments, in order.
    pub fn tensors(&self) -> Vec<BatchedTensor> {
        let mut tensors = Vec::new();
        self.args.iter().for_each(|v| v.for_each_tensor(&mut |t| tensors.push(self.of(t))));
        tensors
    }
    /// The arguments with every tensor replaced.
    pub fn map(&self, f: impl Fn(&BatchedTensor) -> Result<Tensor>) -> Result<Vec<Value>> {
        self.args.iter().map(|v| v.map_tensors(&mut |t| f(&self.of(t)))).collect()
    }
    /// A tensor of the level, of which `batch_dim` is hidden.
    pub fn wrap(&self, value: &Tensor, batch_dim: Option<usize>) -> Value {
        wrap(value, self.level, batch_dim).into()
    }
    /// Tensors of the level, which hide the same dimension.
    pub fn wrap_all(&self, results: &Value, batch_dim: usize) -> Result<Value> {
        results.map_tensors(&mut |t| Ok(wrap(t, self.level, Some(batch_dim))))
    }
}

/// One tensor among the arguments, as the level below sees it.
pub struct BatchedTensor {
    /// The tensor of the level below.
    pub value: Tensor,
    /// The dimension that is hidden, where one is.
    pub batch_dim: Option<usize>,
}

impl BatchedTensor {
    /// A tensor, as the level below one sees it.
    pub fn of(t: &Tensor, level: &Level) -> BatchedTensor {
        match wrapped(t) {
            Some(w) if w.number == level.number => BatchedTensor { value: w.value, batch_dim: w.batch_dim },
            _ => BatchedTensor { value: t.clone(), batch_dim: None },
        }
    }

    /// Dimensions that the script sees.
    pub fn rank(&self) -> usize {
        self.value.dim() - usize::from(self.batch_dim.is_some())
    }

    /// With the hidden dimension first.
    ///
    /// # Errors
    /// Those of a view.
    pub fn front(&self) -> Result<Tensor> {
        match self.batch_dim {
            Some(dim) if dim > 0 => t!("movedim.int", &self.value, dim as i64, 0),
            _ => Ok(self.value.clone()),
        }
    }

    /// With a hidden dimension in front in any case.
    ///
    /// # Errors
    /// Those of a view.
    pub fn every(&self, size: &SymInt) -> Result<Tensor> {
        if self.batch_dim.is_some() {
            return self.front();
        }
        let mut sizes = vec![size.clone()];
        sizes.extend(self.value.sizes());
        t!("expand", &self.value, sizes)
    }

    /// With a hidden dimension in front in any case, by views that name every dimension.
    ///
    /// # Errors
    /// Those of a view.
    pub fn aligned(&self, size: &SymInt) -> Result<Tensor> {
        let value = match self.batch_dim {
            Some(dim) => {
                let dims = std::iter::once(dim).chain((0..self.value.dim()).filter(|d| *d != dim)).map(|d| d as i64);
                return t!("permute", &self.value, dims.collect::<Vec<_>>());
            }
            None => t!("unsqueeze", &self.value, 0)?,
        };
        let mut sizes = value.sizes();
        sizes[0] = size.clone();
        t!("expand", value, sizes)
    }

    /// With the hidden dimension first, and so many dimensions after it.
    ///
    /// # Errors
    /// Those of a view.
    pub fn padded(&self, rank: usize) -> Result<Tensor> {
        if self.batch_dim.is_none() || self.rank() >= rank { self.front() } else { self.viewed(rank) }
    }

    /// The same as a view, also where nothing is to be filled in.
    ///
    /// # Errors
    /// Those of a view.
    pub fn viewed(&self, rank: usize) -> Result<Tensor> {
        let value = self.front()?;
        let sizes = value.sizes();
        let mut padded = vec![sizes[0].clone()];
        padded.extend((self.rank()..rank).map(|_| SymInt::Int(1)));
        padded.extend(sizes.into_iter().skip(1));
        t!("view", value, padded)
    }
}
