//! Operators that layers treat in a way of their own, by what they are called.

use super::{OpEntry, OpRef};

macro_rules! named {
    ($($(#[$doc:meta])* $constant:ident = $name:literal;)*) => { $($(#[$doc])* pub static $constant: OpRef = OpRef::new($name);)* };
}

named! {
    /// `aten.add.Tensor`
    ADD = "add.Tensor";
    /// `aten.alias`: a view of the whole.
    ALIAS = "alias";
    /// `aten._conj`: the view that sets the conjugate bit.
    CONJ = "_conj";
    /// `aten.copy_`
    COPY_ = "copy_";
    /// Writes a result into what was given as `out=`.
    COPY_RESULT_ = "_copy_result_";
    /// `aten.detach`
    DETACH = "detach";
    /// `aten.detach_`
    DETACH_ = "detach_";
    /// `aten.div.Tensor`
    DIV = "div.Tensor";
    /// `aten.equal`
    EQUAL = "equal";
    /// `aten.allclose`
    ALLCLOSE = "allclose";
    /// `aten.full`
    FULL = "full";
    /// `aten.index.Tensor`
    INDEX = "index.Tensor";
    /// `aten.index_put`
    INDEX_PUT = "index_put";
    /// `aten.index_put_`
    INDEX_PUT_ = "index_put_";
    /// `aten.is_nonzero`
    IS_NONZERO = "is_nonzero";
    /// `aten.item`
    ITEM = "item";
    /// `aten.lift_fresh`: a constant of the script's.
    LIFT_FRESH = "lift_fresh";
    /// `aten.lift_fresh_copy`
    LIFT_FRESH_COPY = "lift_fresh_copy";
    /// `aten._local_scalar_dense`: the number that a tensor of one element holds.
    LOCAL_SCALAR_DENSE = "_local_scalar_dense";
    /// `aten.mul.Tensor`
    MUL = "mul.Tensor";
    /// `aten._neg_view`: the view that sets the negative bit.
    NEG_VIEW = "_neg_view";
    /// `aten.resize_`
    RESIZE_ = "resize_";
    /// Gives a tensor the memory of another.
    SHALLOW_COPY_DATA_ = "shallow_copy_data_";
    /// `aten.slice.Tensor`
    SLICE = "slice.Tensor";
    /// `aten.sub.Tensor`
    SUB = "sub.Tensor";
    /// `aten._to_copy`
    TO_COPY = "_to_copy";
    /// `aten._unsafe_index.Tensor`
    UNSAFE_INDEX = "_unsafe_index.Tensor";
    /// `aten._unsafe_view`: a view that autograd takes for a new tensor.
    UNSAFE_VIEW = "_unsafe_view";
    /// `aten.view`
    VIEW = "view";
    /// `aten._efficientzerotensor`: a zero tensor.
    ZERO_TENSOR = "_efficientzerotensor";
}

/// Whether an entry is one of several.
pub fn is_any(entry: &OpEntry, of: &[&OpRef]) -> bool {
    of.iter().any(|op| op.is(entry))
}
