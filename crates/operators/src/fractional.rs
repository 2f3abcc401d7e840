//! Fractional max pooling: windows of one size, whose beginnings a random number per plane and dimension spreads unevenly.

use crate::pooling::spatial;
use crate::shapes::may_be_same;
use diagnostics::error::{Error, Result};
use dispatch::aten;
use dispatch::{Backward, Call, CastPolicy, Grads, OpBuilder, Rule};
use shape::SymInt;
use tensor::{Dtype, TensorSpec};

type Specs = Result<Vec<Option<TensorSpec>>>;

/// Registers the family.
pub fn register(b: &mut OpBuilder) {
    for n in [2, 3] {
        b.op(
            &format!("fractional_max_pool{n}d(Tensor self, int[{n}] kernel_size, int[{n}] output_size, Tensor random_samples) -> (Tensor, Tensor)"),
            Rule::Fresh(pooled),
        ).doc("Maxima over windows that a random number spreads unevenly.").autocast(CastPolicy::Fp32)
        .grad(if n == 2 { "FractionalMaxPool2DBackward" } else { "FractionalMaxPool3DBackward" }, &["self", "result1"], gradient)
        .indices_without_grad(&[1]);
        b.op(
            &format!("fractional_max_pool{n}d_backward(Tensor grad_output, Tensor self, int[{n}] kernel_size, int[{n}] output_size, Tensor indices) -> Tensor"),
            Rule::Fresh(|c| {
                let input = c.tensor("self")?;
                let expected = sizes(c)?;
                for (argument, name) in [("grad_output", "gradOutput"), ("indices", "indices")] {
                    if !may_be_same(&c.tensor(argument)?.sizes(), &expected) {
                        return Err(Error::runtime(format!("{}(): {name} sizes unexpected", c.entry.base_name())));
                    }
                }
                Ok(vec![Some(TensorSpec::contiguous(input.sizes(), input.dtype(), input.device()))])
            }),
        );
    }
}

/// Sizes of the result.
fn sizes(c: &Call) -> Result<Vec<SymInt>> {
    let (input, n) = (c.tensor("self")?, spatial(c));
    let (kernel, output) = (c.ints("kernel_size")?, c.ints("output_size")?);
    let name = c.entry.base_name();
    for (what, given) in [("kernel_size", &kernel), ("output_size", &output)] {
        if given.len() != n {
            return Err(Error::runtime(format!("{name}: {what} must either be a single Int or tuple of Ints")));
        }
    }
    let dim = input.dim();
    if dim != n + 1 && dim != n + 2 {
        return Err(Error::runtime(format!("{name}(): Expected {}D or {}D tensor, but got: {:?}", n + 1, n + 2, input.sizes())));
    }
    if kernel.iter().any(|size| *size <= 0) {
        let shown = kernel.iter().map(i64::to_string).collect::<Vec<_>>().join("x");
        return Err(Error::runtime(format!("{name}(): kernel size should be greater than zero, but got {shown}")));
    }
    for d in 0..n {
        let size = input.size(dim - n + d);
        if size.sym_lt(&SymInt::Int(output[d]) + (kernel[d] - 1))? {
            let which = if n == 2 { ["height", "width"][d] } else { ["time", "height", "width"][d] };
            return Err(Error::runtime(format!("{name}(): pool {which} {} too large relative to input {which} {size}", kernel[d])));
        }
    }
    let mut sizes = input.sizes()[..dim - n].to_vec();
    sizes.extend(output.iter().map(|s| SymInt::Int(*s)));
    Ok(sizes)
}

fn pooled(c: &Call) -> Specs {
    let (sizes, input, samples, n) = (sizes(c)?, c.tensor("self")?, c.tensor("random_samples")?, spatial(c));
    let (dim, name) = (input.dim(), c.entry.base_name());
    let batch = if dim == n + 2 { input.size(0) } else { SymInt::Int(1) };
    let wanted = [batch, input.size(dim - n - 1), SymInt::Int(n as i64)];
    let fits = samples.dim() == 3 && !(0..3).any(|d| !samples.size(d).sym_eq(wanted[d].clone()).unwrap_or(false));
    if !fits {
        return Err(Error::runtime(format!(
            "{name}: Expect _random_samples of size {:?}, one number per plane and dimension; got {:?}",
            wanted.to_vec(),
            samples.sizes()
        )));
    }
    let values = TensorSpec::contiguous(sizes, input.dtype(), input.device());
    let indices = TensorSpec { dtype: Dtype::Int64, ..values.clone() };
    Ok(vec![Some(values), Some(indices)])
}

fn gradient(b: &Backward) -> Result<Grads> {
    let (grad, input, indices) = (b.grad()?, b.saved("self")?, b.result(1)?);
    let (kernel, output) = (b.arg("kernel_size"), b.arg("output_size"));
    Grads::one(b, "self", || {
        if spatial(&b.call()) == 2 {
            aten!("fractional_max_pool2d_backward", grad, input, kernel, output, indices)?.into_tensor()
        } else {
            aten!("fractional_max_pool3d_backward", grad, input, kernel, output, indices)?.into_tensor()
        }
    })
}
