//! Tensors that look like another: zeros, ones, copies.

use crate::dispatch::{Value, call, fill_args, fill_factory_options, op};
use crate::error::{Error, Result};
use crate::tensor::{Device, Dtype, Geometry, Storage, Tensor};

/// `torch.zeros_like`, `torch.ones_like`, as a script calls them.
pub(super) fn made_like(name: &str, t: &Tensor, keywords: &[(&str, Value)]) -> Result<Tensor> {
    let entry = op(name).ok_or_else(|| Error::runtime(format!("{name} is not in the catalogue")))?;
    let mut args = fill_args(entry, vec![t.into()], keywords)?;
    fill_factory_options(entry, &mut args);
    call(entry, args)?.into_tensor()
}

/// A tensor over a storage of its own with these bytes.
///
/// # Errors
/// For want of memory.
pub fn over(bytes: &[u8], geometry: Geometry, dtype: Dtype, device: Device) -> Result<Tensor> {
    let storage = Storage::zeroed(bytes.len(), device)?;
    storage.bytes_mut()?.copy_from_slice(bytes);
    Ok(Tensor::from_storage(storage, geometry, dtype))
}

/// A copy of a tensor, its whole storage included, without history.
///
/// # Errors
/// Where it has no values.
pub fn copied(t: &Tensor) -> Result<Tensor> {
    let copy = over(&t.storage().bytes()?, (*t.geometry()).clone(), t.dtype(), t.device())?;
    copy.set_math_bits(t.math_bits());
    Ok(copy)
}
