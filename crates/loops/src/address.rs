//! Where loads lie: two loops that visit the same elements in the same order meet in what they load and compute.

use super::language::{Kind, View, X, coord, row_major};

/// Where a load lies, as a function of the element's coordinates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// The element's row-major position, plus an offset.
    Flat(i64),
    /// The sum of coordinates times strides, plus an offset; over coordinates of these sizes.
    Affine(Vec<i64>, Vec<i64>, i64),
}

/// The address of `view[index]` where every index is a coordinate or a constant; `None` otherwise.
pub fn address(view: &View, index: &[X], sizes: &[i64]) -> Option<Address> {
    let (mut strides, mut offset) = (vec![0; sizes.len()], view.offset);
    for (x, stride) in index.iter().zip(&view.strides) {
        match &x.0.kind {
            Kind::Coord(d) if *d < sizes.len() => strides[*d] += stride,
            Kind::Int(v) => offset += i64::from(*v) * stride,
            _ => return None,
        }
    }
    Some(address_of(strides, offset, sizes))
}

/// The address that the sum of coordinates times strides is, plus an offset.
pub fn address_of(mut strides: Vec<i64>, offset: i64, sizes: &[i64]) -> Address {
    let mut flat = row_major(sizes);
    for strides in [&mut strides, &mut flat] {
        strides.iter_mut().zip(sizes).filter(|(_, size)| **size == 1).for_each(|(stride, _)| *stride = 0);
    }
    if strides == flat { Address::Flat(offset) } else { Address::Affine(sizes.to_vec(), strides, offset) }
}

/// The address that a region's own element has.
pub fn own_address(view: &View) -> Option<Address> {
    let index: Vec<X> = (0..view.dim()).map(coord).collect();
    address(view, &index, &view.sizes)
}
