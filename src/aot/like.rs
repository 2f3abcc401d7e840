//! Tensors of zeros or ones that look like another.

use crate::dispatch::{Value, call, fill_args, fill_factory_options, op};
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// `torch.zeros_like`, `torch.ones_like`, as a script calls them.
pub(super) fn made_like(name: &str, t: &Tensor, keywords: &[(&str, Value)]) -> Result<Tensor> {
    let entry = op(name).ok_or_else(|| Error::runtime(format!("{name} is not in the catalogue")))?;
    let mut args = fill_args(entry, vec![t.into()], keywords)?;
    fill_factory_options(entry, &mut args);
    call(entry, args)?.into_tensor()
}
