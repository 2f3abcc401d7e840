//! What a captured graph calls besides derivatives: checks of gradients, and accumulation.

use autograd::lift::dtype_of_number;
use autograd::{InputMeta, fit_gradient};
use diagnostics::error::{Error, Result};
use dispatch::Value;
use tensor::{Device, Tensor};

/// `validate_outputs(gradients, metadata)`: brings each gradient to the sizes and the dtype that its receiver expects.
///
/// # Errors
/// PyTorch's, of gradients that can't be brought there.
pub fn validate_outputs(gradients: &[Value], metadata: &[Value]) -> Result<Vec<Value>> {
    let check = |(i, (gradient, expected)): (usize, (&Value, &Value))| {
        let (Value::Tensor(gradient), Value::List(expected)) = (gradient, expected) else { return Ok(gradient.clone()) };
        let expected = input_meta(expected)?;
        Ok(Value::Tensor(fit_gradient("CompiledAutograd", || i, gradient.clone(), &expected)?))
    };
    gradients.iter().zip(metadata).enumerate().map(check).collect()
}

/// `((requires_grad, memory_format, device, dtype, layout, pinned_memory), sizes, is_subclass, grad_dtype)`
fn input_meta(parts: &[Value]) -> Result<InputMeta> {
    let wrong = || Error::type_error("validate_outputs: this is no description of a gradient");
    let options = parts.first().ok_or_else(wrong)?.list()?;
    let sizes = parts.get(1).ok_or_else(wrong)?.list()?.iter().map(Value::sym_int).collect::<Result<_>>()?;
    let device = match options.get(2) {
        Some(Value::Device(device)) => *device,
        _ => Device::CPU,
    };
    let dtype = options.get(3).and_then(|dtype| dtype.int().ok()).and_then(dtype_of_number).ok_or_else(wrong)?;
    Ok(InputMeta { sizes, dtype, device })
}

/// `AccumulateGrad`: a leaf's gradient with another one added. The first is taken over; without a graph the sum is made in place.
///
/// # Errors
/// Of the addition.
pub fn accumulate_grad(variable: &Tensor, have: Option<&Tensor>, gradient: Tensor) -> Result<Tensor> {
    autograd::accumulated(variable, have.cloned(), gradient)
}
