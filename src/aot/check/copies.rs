//! Copies of a call's inputs: what shares memory in the call shares memory among the copies.

use crate::aot::like::over;
use crate::aot::metadata::give_history;
use crate::autograd::meta;
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::tensor::{Device, Dtype, Geometry, MathBits, Tensor};

/// An input, without its values.
struct Input {
    /// Which of the storages holds them.
    storage: usize,
    geometry: Geometry,
    dtype: Dtype,
    device: Device,
    math_bits: MathBits,
    requires_grad: bool,
    is_leaf: bool,
    /// The first of the inputs that is this tensor.
    first: usize,
}

/// The inputs of a call as they were before it.
pub struct Copies {
    storages: Vec<Vec<u8>>,
    inputs: Vec<Input>,
}

impl Copies {
    /// Of the inputs of a call.
    ///
    /// # Errors
    /// Where one has no values.
    pub fn of(inputs: &[Tensor]) -> Result<Self> {
        let (mut ids, mut storages) = (Vec::new(), Vec::new());
        let mut known = Vec::new();
        for t in inputs {
            let id = t.storage().id();
            let storage = match ids.iter().position(|known| *known == id) {
                Some(at) => at,
                None => {
                    ids.push(id);
                    storages.push(t.storage().bytes()?.to_vec());
                    ids.len() - 1
                }
            };
            known.push(Input {
                storage,
                geometry: (*t.geometry()).clone(),
                dtype: t.dtype(),
                device: t.device(),
                math_bits: t.math_bits(),
                requires_grad: meta::requires_grad(t),
                is_leaf: meta::grad_fn(t).is_ok_and(|made| made.is_none()),
                first: inputs.iter().position(|other| other.is(t)).unwrap_or(known.len()),
            });
        }
        Ok(Copies { storages, inputs: known })
    }

    /// The inputs once more, as the function may be called on them; one given twice is one tensor.
    ///
    /// # Errors
    /// For want of memory.
    pub fn make(&self) -> Result<Vec<Tensor>> {
        let mut firsts: Vec<Option<Tensor>> = vec![None; self.storages.len()];
        let mut made: Vec<Tensor> = Vec::with_capacity(self.inputs.len());
        for (i, input) in self.inputs.iter().enumerate() {
            if input.first < i {
                made.push(made[input.first].clone());
                continue;
            }
            let bytes = self.storages.get(input.storage).ok_or_else(|| Error::runtime("a storage was not copied"))?;
            let t = match &firsts[input.storage] {
                Some(first) => first.view_dtype(input.geometry.clone(), input.dtype),
                None => over(bytes, input.geometry.clone(), input.dtype, input.device)?,
            };
            firsts[input.storage].get_or_insert_with(|| t.clone());
            t.set_math_bits(input.math_bits);
            if input.requires_grad {
                meta::set_requires_grad(&t, true)?;
                if !input.is_leaf {
                    give_history(&t)?;
                }
            }
            made.push(t);
        }
        Ok(made)
    }

    /// The inputs once more, each with memory of its own: leaves whose gradients are wanted, and what the function is called on, which it
    /// may write to where `is_written` says so.
    ///
    /// # Errors
    /// For want of memory.
    pub fn make_differentiable(&self, is_written: &dyn Fn(usize) -> bool) -> Result<(Vec<Option<Tensor>>, Vec<Tensor>)> {
        let (mut leaves, mut given) = (Vec::new(), Vec::new());
        for (i, input) in self.inputs.iter().enumerate() {
            let bytes = self.storages.get(input.storage).ok_or_else(|| Error::runtime("a storage was not copied"))?;
            let leaf = over(bytes, input.geometry.clone(), input.dtype, input.device)?;
            leaf.set_math_bits(input.math_bits);
            if !input.requires_grad {
                leaves.push(None);
                given.push(leaf);
                continue;
            }
            meta::set_requires_grad(&leaf, true)?;
            given.push(if !input.is_leaf || is_written(i) {
                crate::aten!("clone", &leaf).and_then(Value::into_tensor)?
            } else {
                leaf.clone()
            });
            leaves.push(Some(leaf));
        }
        Ok((leaves, given))
    }
}
