//! Which calls kernels of this crate compute: one place for eager calls and for compiled graphs, so that both give the same bits.
//!
//! The choice depends on the operator and on the dtypes and sizes of a call, never on who makes it. Below [`LARGE`] elements
//! everything is left to the operators' own kernels.

use super::kernel;
use diagnostics::error::{Error, Result};
use dispatch::{Call, OpEntry, Value, all};
use loops::language::{Prim, View};
use loops::program::Machine;
use std::sync::OnceLock;
use tensor::Dtype;

/// Elements of a result from which on its kernel is chosen here.
pub const LARGE: i64 = 4096;

/// Operators whose own kernels give the bits that ours do: a single rounded operation, or none.
const EXACT: &[&str] = &[
    "aten.add.Scalar",
    "aten.add.Tensor",
    "aten.clone.default",
    "aten._to_copy.default",
    "aten.copy.default",
    "aten.div.Scalar",
    "aten.div.Tensor",
    "aten.expand_copy.default",
    "aten.fill.Scalar",
    "aten.full.default",
    "aten.full_like.default",
    "aten.mul.Scalar",
    "aten.mul.Tensor",
    "aten.neg.default",
    "aten.ones.default",
    "aten.ones_like.default",
    "aten.rsub.Scalar",
    "aten.rsub.Tensor",
    "aten.sub.Scalar",
    "aten.sub.Tensor",
    "aten.zeros.default",
    "aten.zeros_like.default",
    "prims.convert_element_type.default",
];

/// Operators that are computed here wherever they are called, compiled or not: for their bits, or because their own kernels take
/// element by element.
const OURS: &[&str] = &[
    "aten.abs.default",
    "aten.clamp.default",
    "aten.clamp_max.default",
    "aten.clamp_min.default",
    "aten.elu.default",
    "aten.elu_backward.default",
    "aten.eq.Scalar",
    "aten.eq.Tensor",
    "aten.erf.default",
    "aten.exp.default",
    "aten.expm1.default",
    "aten.ge.Scalar",
    "aten.ge.Tensor",
    "aten.gelu.default",
    "aten.gelu_backward.default",
    "aten.gt.Scalar",
    "aten.gt.Tensor",
    "aten.hardsigmoid.default",
    "aten.hardsigmoid_backward.default",
    "aten.hardswish.default",
    "aten.hardswish_backward.default",
    "aten.hardtanh.default",
    "aten.hardtanh_backward.default",
    "aten.le.Scalar",
    "aten.le.Tensor",
    "aten.leaky_relu.default",
    "aten.leaky_relu_backward.default",
    "aten.log.default",
    "aten.log1p.default",
    "aten.logical_not.default",
    "aten.lt.Scalar",
    "aten.lt.Tensor",
    "aten.masked_fill.Scalar",
    "aten.maximum.default",
    "aten.minimum.default",
    "aten.mish.default",
    "aten.native_dropout_backward.default",
    "aten.ne.Scalar",
    "aten.ne.Tensor",
    "aten.pow.Tensor_Scalar",
    "aten.reciprocal.default",
    "aten.relu.default",
    "aten.rsqrt.default",
    "aten.sigmoid.default",
    "aten.sigmoid_backward.default",
    "aten.silu.default",
    "aten.silu_backward.default",
    "aten.softplus.default",
    "aten.softplus_backward.default",
    "aten.sqrt.default",
    "aten.square.default",
    "aten.tanh.default",
    "aten.tanh_backward.default",
    "aten.threshold_backward.default",
    "aten.where.ScalarOther",
    "aten.where.ScalarSelf",
    "aten.where.self",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Exact,
    Ours,
}

fn class(entry: &OpEntry) -> Option<Class> {
    static TABLE: OnceLock<Vec<Option<Class>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table = vec![None; all().len()];
        for (names, class) in [(EXACT, Class::Exact), (OURS, Class::Ours)] {
            for entry in all().iter().filter(|entry| names.contains(&entry.name)) {
                table[entry.id] = Some(class);
            }
        }
        table
    });
    table.get(entry.id).copied().flatten()
}

/// Whether an eager call of an operator may be computed here.
pub fn is_ours(entry: &OpEntry) -> bool {
    class(entry) == Some(Class::Ours)
}

/// The machine of this crate: single precision and bools, large results, operators of the lists.
pub struct Chosen;

impl Machine for Chosen {
    fn takes_call(&self, call: &Call, outs: &[Option<View>]) -> Result<()> {
        let left = |why: &str| Err(Error::not_implemented(why));
        if class(call.entry).is_none() {
            return left("its own kernel computes it");
        }
        let [Some(out)] = outs else { return left("several results") };
        if out.numel() < LARGE {
            return left("it is small");
        }
        let mut fits = matches!(out.dtype, Dtype::Float32 | Dtype::Bool);
        call.args.iter().for_each(|v| v.for_each_tensor(&mut |t| fits &= matches!(t.dtype(), Dtype::Float32 | Dtype::Bool)));
        if !fits {
            return left("dtypes other than float32 and bool");
        }
        // A factor is fused with the sum by the operator's own kernel.
        if call.entry.schema.position("alpha").is_some()
            && !matches!(call.get("alpha"), Value::None)
            && call.float("alpha")? != 1.0
            && ["add", "sub", "rsub"].contains(&call.entry.base_name())
        {
            return left("a sum with a factor");
        }
        Ok(())
    }

    fn takes(&self, prim: &Prim) -> Result<()> {
        kernel::takes(prim)
    }
}
