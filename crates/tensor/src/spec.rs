//! What is known of a tensor without its values: sizes, strides, offset, dtype, device.

use super::{Device, Dtype};
use diagnostics::error::{Error, Result};
use shape::{SymInt, numel};

/// Sizes, strides and offset, in elements.
#[derive(Clone, Debug, Default)]
pub struct Geometry {
    /// Sizes.
    pub sizes: Vec<SymInt>,
    /// Strides.
    pub strides: Vec<SymInt>,
    /// First element, counted from the start of the storage.
    pub offset: SymInt,
}

impl Geometry {
    /// A dense row-major geometry at offset zero.
    pub fn contiguous(sizes: Vec<SymInt>) -> Self {
        let strides = contiguous_strides(&sizes);
        Geometry { sizes, strides, offset: SymInt::Int(0) }
    }

    /// Number of elements.
    pub fn numel(&self) -> SymInt {
        numel(&self.sizes)
    }

    /// Whether elements lie densely in row-major order; sizes of one do not matter. May guard.
    pub fn is_contiguous(&self) -> Result<bool> {
        let mut expected = SymInt::Int(1);
        for (size, stride) in self.sizes.iter().zip(&self.strides).rev() {
            if size.sym_eq(0)? {
                return Ok(true);
            }
            if !size.sym_eq(1)? {
                if !stride.sym_eq(expected.clone())? {
                    return self.numel().sym_eq(0);
                }
                expected = &expected * size;
            }
        }
        Ok(true)
    }

    /// Elements a storage must hold for this geometry. May guard where it is not known to be dense.
    pub fn storage_elements(&self) -> Result<SymInt> {
        let same = |(a, b): (&SymInt, &SymInt)| a.expr() == b.expr();
        let is_dense = self.strides.iter().zip(&contiguous_strides(&self.sizes)).all(same);
        if is_dense && self.offset.as_int() == Some(0) {
            return Ok(self.numel());
        }
        if self.numel().sym_eq(0)? {
            return Ok(SymInt::Int(0));
        }
        let last = self.sizes.iter().zip(&self.strides).fold(self.offset.clone(), |n, (size, stride)| &n + &(&(size - 1) * stride));
        Ok(&last + 1)
    }
}

/// Row-major strides; a size of zero counts as one, as in PyTorch.
pub fn contiguous_strides(sizes: &[SymInt]) -> Vec<SymInt> {
    let mut strides = vec![SymInt::Int(1); sizes.len()];
    for i in (0..sizes.len().saturating_sub(1)).rev() {
        strides[i] = &strides[i + 1] * &sizes[i + 1].max(&SymInt::Int(1));
    }
    strides
}

/// A tensor without its values.
#[derive(Clone, Debug)]
pub struct TensorSpec {
    /// Sizes, strides, offset.
    pub geometry: Geometry,
    /// Element type.
    pub dtype: Dtype,
    /// Device.
    pub device: Device,
}

impl TensorSpec {
    /// A contiguous tensor.
    pub fn contiguous(sizes: Vec<SymInt>, dtype: Dtype, device: Device) -> Self {
        TensorSpec { geometry: Geometry::contiguous(sizes), dtype, device }
    }

    /// With explicit strides, at offset zero.
    pub fn strided(sizes: Vec<SymInt>, strides: Vec<SymInt>, dtype: Dtype, device: Device) -> Self {
        TensorSpec { geometry: Geometry { sizes, strides, offset: SymInt::Int(0) }, dtype, device }
    }

    /// As torch.fx annotates it: `f32[2, 3][3, 1]cpu`.
    pub fn annotation(&self) -> String {
        let list = |v: &[SymInt]| v.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(", ");
        format!("{}[{}][{}]{}", self.dtype.short(), list(&self.geometry.sizes), list(&self.geometry.strides), self.device)
    }

    /// Bytes of its elements at the hinted sizes.
    pub fn bytes(&self) -> Option<u64> {
        Some((self.geometry.numel().hint()? as u64).saturating_mul(self.dtype.itemsize() as u64))
    }

    /// Bytes that a storage for it must hold.
    ///
    /// # Errors
    /// PyTorch's, where a size is negative, or sizes, strides or the storage are more than 64 bits count.
    pub fn storage_bytes(&self) -> Result<SymInt> {
        let Geometry { sizes, strides, .. } = &self.geometry;
        let list = |values: &[SymInt]| format!("[{}]", values.iter().map(SymInt::to_string).collect::<Vec<_>>().join(", "));
        if let Some(negative) = sizes.iter().find(|size| size.as_int().is_some_and(|size| size < 0)) {
            return Err(Error::runtime(format!("Trying to create tensor with negative dimension {negative}: {}", list(sizes))));
        }
        let is_beyond = |value: &SymInt| value.as_int() == Some(i64::MAX);
        let is_empty = sizes.iter().any(|size| size.as_int() == Some(0));
        if is_empty && strides.iter().any(is_beyond) {
            return Err(Error::runtime("Stride calculation overflowed"));
        }
        let bytes = &self.geometry.storage_elements()? * self.dtype.itemsize() as i64;
        if is_beyond(&bytes) || (!is_empty && is_beyond(&self.geometry.numel())) {
            let mut contiguous = strides.iter().zip(contiguous_strides(sizes));
            let with_strides =
                if contiguous.all(|(a, b)| a.as_int() == b.as_int()) { String::new() } else { format!(" and strides={}", list(strides)) };
            return Err(Error::runtime(format!("Storage size calculation overflowed with sizes={}{with_strides}", list(sizes))));
        }
        Ok(bytes)
    }
}
