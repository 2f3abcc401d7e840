//! `block_diag`: matrices along the diagonal of one.

use super::shapes::{common_device, result_type};
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Call, Complex, Grad, Grads, OpBuilder, Rule, Tags, Value};
use shape::SymInt;
use tensor::{Dtype, TensorSpec};

fn block_sizes(spec: &TensorSpec) -> (SymInt, SymInt) {
    let s = &spec.geometry.sizes;
    match s.len() {
        0 => (SymInt::Int(1), SymInt::Int(1)),
        1 => (SymInt::Int(1), s[0].clone()),
        _ => (s[0].clone(), s[1].clone()),
    }
}

fn block_diag(call: &Call) -> Result<Vec<Option<TensorSpec>>> {
    let tensors = call.tensors("tensors")?;
    if tensors.is_empty() {
        return Ok(vec![Some(TensorSpec::contiguous(shape::ints(&[1, 0]), Dtype::Float32, tensor::Device::CPU))]);
    }
    let (mut rows, mut columns) = (SymInt::Int(0), SymInt::Int(0));
    for (i, t) in tensors.iter().enumerate() {
        if t.dim() > 2 {
            return Err(Error::runtime(format!(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {} dimensions",
                t.dim()
            )));
        }
        let (r, c) = block_sizes(&t.spec());
        (rows, columns) = (&rows + &r, &columns + &c);
    }
    let values: Vec<Value> = tensors.iter().map(Value::from).collect();
    let dtype = result_type(&values.iter().collect::<Vec<_>>())?;
    Ok(vec![Some(TensorSpec::contiguous(vec![rows, columns], dtype, common_device(&tensors.iter().collect::<Vec<_>>())?))])
}

fn block_diag_grad(b: &Backward) -> Result<Grads> {
    let mut grads = Grads::new(b);
    if !b.needs("tensors") {
        return Ok(grads);
    }
    let (mut row, mut column, mut parts) = (SymInt::Int(0), SymInt::Int(0), Vec::new());
    for spec in &b.specs[0] {
        let (r, c) = block_sizes(spec);
        let (next_row, next_column) = (&row + &r, &column + &c);
        let mut part = t!("slice.Tensor", b.grad()?, 0, &row, &next_row)?;
        part = t!("slice.Tensor", part, 1, &column, &next_column)?;
        for _ in spec.geometry.sizes.len()..2 {
            part = t!("squeeze.dim", part, -1)?;
        }
        parts.push(Some(part));
        (row, column) = (next_row, next_column);
    }
    grads.0[0] = Grad::List(parts);
    Ok(grads)
}

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    b.op("block_diag(Tensor[] tensors) -> Tensor", Rule::Fresh(block_diag)).tags(Tags::COMPLEX_GRAD).complex(Complex::ByParts).grad(
        "BlockDiagBackward",
        &[],
        block_diag_grad,
    );
}
