//! Bundles whose values were not all kept: inputs are drawn, and the CPU computes what is expected of them.

use super::bundle::{failed, run_bundle_cpu, to_value};
use diagnostics::error::{Error, Result};
use report::bundle::{BackwardBundle, Bundle, Drawn, Expected, Named, PartResult, RunError, TensorData, Value};
use serde_bytes::ByteBuf;
use std::borrow::Cow;
use tensor::Dtype;
use tensor::random::Generator;

/// Whether values of a dtype can be drawn: those of integers may be indices.
pub fn is_drawable(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::Float16 | Dtype::BFloat16 | Dtype::Float32 | Dtype::Float64)
}

/// The bundle with all values, and what the CPU computed where it did not have that.
///
/// # Errors
/// Where the CPU cannot run it.
pub fn completed(bundle: &Bundle) -> Result<(Cow<'_, Bundle>, Option<Expected>), RunError> {
    if bundle.drawn.is_empty() && !bundle.recomputes {
        return Ok((Cow::Borrowed(bundle), None));
    }
    let mut whole = bundle.clone();
    let tangents = whole.backward.iter_mut().flat_map(|part: &mut BackwardBundle| &mut part.tangents);
    for (seed, named) in whole.inputs.iter_mut().chain(tangents).enumerate() {
        let Some(drawn) = bundle.drawn.iter().find(|drawn| drawn.name == named.name) else { continue };
        if let Value::Tensor { tensor } = &mut named.value {
            fill(tensor, drawn, seed as u64).map_err(|e| failed(&e))?;
        }
    }
    whole.drawn.clear();
    whole.recomputes = false;
    whole.expected.clear();
    let result = run_bundle_cpu(&whole)?;
    let given = |part: PartResult| part.outputs.into_iter().map(|computed| computed.named).collect::<Vec<Named>>();
    whole.expected = given(result.forward);
    if let (Some(part), Some(computed)) = (&mut whole.backward, result.backward) {
        let primals = whole.inputs.iter().map(|input| Some(input.name.clone()));
        part.expected = given(computed).into_iter().zip(primals).map(|(named, label)| Named { label, ..named }).collect();
    }
    let backward = whole.backward.as_ref().map(|part| part.expected.clone()).unwrap_or_default();
    let expected = Expected { forward: whole.expected.clone(), backward };
    Ok((Cow::Owned(whole), Some(expected)))
}

/// Draws a tensor's elements, the same ones every time.
fn fill(tensor: &mut TensorData, drawn: &Drawn, seed: u64) -> Result<()> {
    let dtype = Dtype::parse(&tensor.dtype).filter(|dtype| is_drawable(*dtype));
    let dtype = dtype.ok_or_else(|| Error::type_error(format!("{} are not drawn", tensor.dtype)))?;
    let is_empty = tensor.shape.contains(&0);
    let last: u64 = tensor.shape.iter().zip(&tensor.stride).map(|(size, stride)| size.saturating_sub(1).saturating_mul(*stride)).sum();
    let count = if is_empty { 0 } else { usize::try_from(last.saturating_add(1)).map_err(|_| Error::value("too many elements"))? };
    tensor::check_room(count as u64, dtype.itemsize())?;
    let generator = Generator::new(seed);
    let mut bytes = Vec::with_capacity(count * dtype.itemsize());
    for _ in 0..count {
        let value = drawn.mean + drawn.deviation * generator.normal64();
        write(dtype, if drawn.is_positive { value.abs() } else { value }, &mut bytes);
    }
    tensor.bytes = ByteBuf::from(bytes);
    // Whoever reads it checks it against its sizes and strides.
    to_value(&Value::Tensor { tensor: tensor.clone() }).map(drop)
}

fn write(dtype: Dtype, value: f64, bytes: &mut Vec<u8>) {
    match dtype {
        Dtype::Float16 => bytes.extend(half::f16::from_f64(value).to_le_bytes()),
        Dtype::BFloat16 => bytes.extend(half::bf16::from_f64(value).to_le_bytes()),
        Dtype::Float64 => bytes.extend(value.to_le_bytes()),
        _ => bytes.extend((value as f32).to_le_bytes()),
    }
}
