//! Kernels that copy, convert and fill.

use super::elementwise::{gather, number, scatter, values};
use crate::elementwise::with_element;
use diagnostics::error::{Error, Result};
use dispatch::{Call, Kernel, KernelTable, Value};
use tensor::{Dtype, Tensor};

/// Copies `src`, broadcast and converted, into `dst`. The two may share a storage.
pub fn write(dst: &Tensor, src: &Tensor) -> Result<()> {
    let to = dst.concrete()?;
    let from = src.concrete()?;
    if dst.dtype() == src.dtype() && to.sizes == from.sizes && to.is_contiguous() && from.is_contiguous() {
        let (size, n) = (dst.dtype().itemsize(), to.numel());
        if n == 0 {
            return Ok(());
        }
        let (a, b) = (to.offset * size, from.offset * size);
        let (target, source) = (dst.storage().clone(), src.storage().clone());
        if target.same(&source) {
            target.bytes_mut()?.copy_within(b..b + n * size, a);
        } else {
            target.bytes_mut()?[a..a + n * size].copy_from_slice(&source.bytes()?[b..b + n * size]);
        }
        return Ok(());
    }
    match src.dtype() {
        Dtype::Float64 => scatter(dst, &gather::<f64>(src, &to.sizes)?),
        d if d.is_integral() => scatter(dst, &gather::<i64>(src, &to.sizes)?),
        _ => scatter(dst, &gather::<f32>(src, &to.sizes)?),
    }
}

/// The value of a tensor of one element, as a Python number.
pub fn item(x: &Tensor) -> Result<Value> {
    let single =
        |n: usize| if n == 1 { Ok(()) } else { Err(Error::runtime(format!("a Tensor with {n} elements cannot be converted to Scalar"))) };
    single(x.concrete()?.numel())?;
    Ok(match x.dtype() {
        d if d.is_complex() => {
            let z = super::complex::read(&x.into(), &x.concrete()?.sizes)?[0];
            Value::Complex(z.re, z.im)
        }
        Dtype::Bool => Value::Bool(values::<i64>(x)?[0] != 0),
        d if d.is_integral() => Value::from(values::<i64>(x)?[0]),
        _ => Value::Float(values::<f64>(x)?[0]),
    })
}

/// Fills a tensor with a number or the value of a tensor.
pub fn fill(out: &Tensor, value: &Value) -> Result<()> {
    let is_tensor = matches!(value, Value::Tensor(_));
    let value = match value {
        Value::Tensor(t) => item(t)?,
        other => other.clone(),
    };
    // A single short float is filled from a double, and becomes infinite.
    let is_short = matches!(out.dtype(), Dtype::Float16 | Dtype::BFloat16);
    if !(is_short && (is_tensor || out.concrete()?.numel() == 1)) && !matches!(value, Value::Complex(..)) {
        super::arranging::check_fits(&value, out.dtype())?;
    }
    let value = match value {
        Value::Complex(re, im) if out.dtype() == Dtype::Bool => Value::Int(i64::from(re != 0.0 || im != 0.0).into()),
        Value::Complex(re, 0.0) => Value::Float(re),
        Value::Complex(..) => {
            let name = out.dtype().c_name().replace("at::", "c10::");
            return Err(Error::runtime(format!("value cannot be converted to type {name} without overflow")));
        }
        real => real,
    };
    let n = out.concrete()?.numel();
    if n == 0 {
        return Ok(());
    }
    if out.dtype().is_integral() && !matches!(value, Value::Float(_)) {
        let v: i64 = number(&value)?;
        return scatter(out, &vec![v; n]);
    }
    let v: f64 = number(&value)?;
    let g = out.concrete()?;
    if g.is_contiguous() && out.dtype() != Dtype::Bool {
        use super::elementwise::Compute;
        return with_element!(out.dtype(), "fill_cpu", T => out.with_slice_mut::<T, _>(|d| d[g.offset..g.offset + n].fill(v.write())));
    }
    scatter(out, &vec![v; n])
}

/// Writes the views that an operator copies into its results.
fn write_views(c: &Call, outs: &[Tensor]) -> Result<()> {
    for (view, out) in operators::copies::shown(c)?.iter().zip(outs) {
        if out.dtype().is_complex() {
            write(&super::complex::part(out, 0), &super::complex::part(view, 0))?;
            write(&super::complex::part(out, 1), &super::complex::part(view, 1))?;
        } else {
            write(out, view)?;
        }
    }
    Ok(())
}

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    for name in
        ["aten.clone.default", "aten.lift_fresh_copy.default", "aten.lift.default", "aten.detach_copy.default", "aten.alias_copy.default"]
    {
        t.fill(name, |c, o| write(&o[0], c.tensor("self")?));
    }
    t.fill("aten._to_copy.default", |c, o| match c.get("self") {
        Value::Tensor(of) => write(&o[0], of),
        number => fill(&o[0], number),
    });
    for entry in dispatch::all() {
        if operators::copies::copies(entry) {
            t.fill(entry.name, write_views);
            t.complex(entry.name, Kernel::Fill(write_views));
        }
    }
    t.fill("aten.copy.default", |c, o| write(&o[0], c.tensor("src")?));
    t.mutate("aten.shallow_copy_data_.default", |c| {
        c.tensor("input")?.adopt(c.tensor("source")?);
        Ok(())
    });
    t.mutate("aten.copy_.default", |c| {
        check_copy(c)?;
        write(c.tensor("self")?, c.tensor("src")?)
    });
    t.mutate("aten._copy_result_.default", |c| write(c.tensor("self")?, c.tensor("result")?));
    for name in ["aten.fill.Scalar", "aten.fill.Tensor"] {
        t.fill(name, |c, o| fill(&o[0], c.get("value")));
    }
    for name in ["aten.fill_.Scalar", "aten.fill_.Tensor"] {
        t.mutate(name, |c| {
            if let Value::Tensor(v) = c.get("value")
                && v.dim() != 0
            {
                return Err(Error::runtime(format!(
                    "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
                    v.dim()
                )));
            }
            fill(c.tensor("self")?, c.get("value"))
        });
    }
    t.fill("aten.zero.default", |_, _| Ok(()));
    t.mutate("aten.zero_.default", |c| fill(c.tensor("self")?, &Value::from(0)));
    t.fill("aten._assert_async.default", |c, _| check_nonzero(c, "Expected Tensor with single nonzero value, but got zero"));
    t.fill("aten._assert_async.msg", |c, _| check_nonzero(c, c.str("assert_msg")?));
    t.fill("aten._assert_tensor_metadata.default", |c, _| operators::factory::check_metadata(c));
}

/// Fails with a message where a tensor's only element is zero.
fn check_nonzero(c: &Call, message: &str) -> Result<()> {
    let is_zero = match item(c.tensor("self")?)? {
        Value::Bool(b) => !b,
        Value::Complex(re, im) => re == 0.0 && im == 0.0,
        number => number.float()? == 0.0,
    };
    if is_zero { Err(Error::runtime(message)) } else { Ok(()) }
}

/// The source must broadcast to the target without changing it.
fn check_copy(c: &Call) -> Result<()> {
    let (x, src) = (c.tensor("self")?.concrete()?.sizes, c.tensor("src")?.concrete()?.sizes);
    let lead = src.len().saturating_sub(x.len());
    let fits = src[..lead].iter().all(|n| *n == 1) && {
        let src = &src[lead..];
        src.iter().zip(&x[x.len() - src.len()..]).all(|(s, n)| s == n || *s == 1)
    };
    if fits {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {}",
        x.last().copied().unwrap_or(1),
        src.last().copied().unwrap_or(1),
        x.len().max(1) - 1
    )))
}
