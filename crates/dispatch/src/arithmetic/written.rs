//! What PyTorch computes of sizes to learn what an in-place call gives: its references of such calls, step by step.

use super::references::FakeTensor;
use super::{Seen, is_symbolic};
use crate::stack::tracing;
use crate::{Key, OpEntry, Value, has_layer};
use diagnostics::error::Result;
use shape::{Relation, SymInt};
use tensor::Tensor;

/// An in-place call writes to its first argument: fake tensors for its tensors are made, and its reference runs on them.
pub fn ask_write(entry: &OpEntry, args: &[Value]) -> Result<()> {
    let mut tensors: Vec<Tensor> = Vec::new();
    args.iter().for_each(|arg| arg.for_each_tensor(&mut |t| tensors.push(t.clone())));
    let Some(tracer) = tracing().filter(|_| has_layer(Key::Functionalize)) else { return Ok(()) };
    if !tensors.iter().any(is_symbolic) {
        return Ok(());
    }
    let seen = Seen(tracer);
    let fakes = tensors.iter().map(|t| seen.fakify(t)).collect::<Result<Vec<_>>>()?;
    Write { seen: &seen, tensors: &fakes, args }.run(entry)
}

struct Write<'a> {
    seen: &'a Seen,
    tensors: &'a [FakeTensor],
    args: &'a [Value],
}

impl Write<'_> {
    fn run(&self, entry: &OpEntry) -> Result<()> {
        let Some(target) = self.tensors.first() else { return Ok(()) };
        let (name, wide) = (entry.base_name(), target.itemsize());
        let result = match name {
            "add_" | "sub_" | "mul_" | "div_" if entry.name.ends_with(".Scalar") => return Ok(()),
            "add_" | "sub_" | "mul_" | "div_" | "logical_and_" | "logical_or_" | "logical_xor_" | "masked_fill_" => {
                let shapes: Vec<&[SymInt]> = self.tensors.iter().take(2).map(FakeTensor::sizes).collect();
                return self.seen.broadcast(&shapes).map(drop);
            }
            "abs_" | "acos_" | "acosh_" | "asin_" | "asinh_" | "atan_" | "atanh_" | "ceil_" | "cos_" | "cosh_" | "erf_" | "erfc_"
            | "exp_" | "exp2_" | "expm1_" | "floor_" | "lgamma_" | "log_" | "log10_" | "log1p_" | "log2_" | "neg_" | "reciprocal_"
            | "rsqrt_" | "sign_" | "sin_" | "sinh_" | "sqrt_" | "tan_" | "tanh_" | "trunc_" => {
                self.written_out(self.seen.elementwise(&[target], wide)?)?
            }
            "sigmoid_" => {
                let negated = self.seen.elementwise(&[target], wide)?;
                let power = self.seen.elementwise(&[&negated], wide)?;
                let sum = self.with_number(&power, wide)?;
                self.written_out(self.with_number(&sum, wide)?)?
            }
            "remainder_" | "fmod_" if self.tensors.len() == 1 => self.written_out(self.with_number(target, wide)?)?,
            "pow_" if self.tensors.len() == 1 => {
                self.seen.expand_all(&[target])?;
                let is_square = self.args.get(1).is_some_and(|v| v.float().is_ok_and(|n| n == 2.0));
                self.written_out(if is_square { self.pair(target, target, wide)? } else { self.seen.elementwise(&[target], wide)? })?
            }
            "clamp_" if self.tensors.len() == 1 => {
                let bounds = self.args.iter().skip(1).filter(|bound| !bound.is_none()).count();
                self.written_out(self.clamp(target, bounds)?)?
            }
            "clamp_min_" | "clamp_max_" if self.tensors.len() == 1 => self.written_out(self.clamp(target, 1)?)?,
            "hardtanh_" => self.clamp(target, 2)?,
            "hardsigmoid_" | "hardswish_" => {
                let shifted = self.with_number(target, wide)?;
                let bounded = self.clamp(&shifted, 2)?;
                let product = if name == "hardswish_" { self.pair(target, &bounded, wide)? } else { bounded };
                self.with_number(&product, wide)?
            }
            "leaky_relu_" => {
                let positive = self.with_number(target, 1)?;
                let scaled = self.with_number(target, wide)?;
                self.choose([&positive, target, &scaled], wide)?
            }
            "elu_" => {
                let positive = self.with_number(target, 1)?;
                let kept = self.with_number(target, wide)?;
                let power = self.seen.elementwise(&[&self.with_number(target, wide)?], wide)?;
                let scaled = self.with_number(&power, wide)?;
                self.written_out(self.choose([&positive, &kept, &scaled], wide)?)?
            }
            "silu_" => {
                self.seen.order(&[target])?;
                self.seen.make(target.sizes(), wide)?
            }
            "round_" => self.with_number(target, wide)?,
            "copy_" => return self.tensors.get(1).map_or(Ok(()), |value| self.seen.copy(target, value)),
            "lerp_" | "addcmul_" | "addcdiv_" => {
                let operands: Vec<&FakeTensor> = self.tensors.iter().collect();
                self.seen.expand_all(&operands)?;
                let result = self.seen.elementwise(&operands, wide)?;
                return self.seen.broadcast(&[target.sizes(), result.sizes()]).map(drop);
            }
            _ => return Ok(()),
        };
        self.seen.copy(target, &result)
    }

    /// A call of a tensor and a number.
    fn with_number(&self, t: &FakeTensor, itemsize: i64) -> Result<FakeTensor> {
        self.seen.expand_all(&[t])?;
        self.seen.elementwise(&[t], itemsize)
    }

    fn pair(&self, a: &FakeTensor, b: &FakeTensor, itemsize: i64) -> Result<FakeTensor> {
        self.seen.expand_all(&[a, b])?;
        self.seen.elementwise(&[a, b], itemsize)
    }

    /// `torch.where`
    fn choose(&self, [condition, a, b]: [&FakeTensor; 3], itemsize: i64) -> Result<FakeTensor> {
        self.seen.expand_all(&[condition, a, b])?;
        self.seen.elementwise(&[condition, a, b], itemsize)
    }

    /// For every bound: what is no number or lies within stays, and the bound takes the place of the rest.
    fn clamp(&self, t: &FakeTensor, bounds: usize) -> Result<FakeTensor> {
        let wide = t.itemsize();
        let bounded = |t: &FakeTensor| {
            let is_nan = self.seen.elementwise(&[t, t], 1)?;
            let within = self.with_number(t, 1)?;
            let stays = self.pair(&within, &is_nan, 1)?;
            self.pair(&stays, t, wide)
        };
        let first = bounded(t)?;
        if bounds > 1 { bounded(&first) } else { Ok(first) }
    }

    /// A result that is written to the target has its shape.
    fn written_out(&self, result: FakeTensor) -> Result<FakeTensor> {
        let target = &self.tensors[0];
        for (size, wanted) in target.sizes().iter().zip(result.sizes()) {
            self.seen.holds(size, Relation::Ne, wanted)?;
        }
        Ok(result)
    }
}
