//! Second derivatives of normalizations and convolutions.
//!
//! A normalization's backward maps a gradient `g` to `r (q - m(q) - n m(q n))`, where `q = g w`, `n` is the normalized input, `r`
//! its reciprocal deviation and `m` the mean over a group. It is its own adjoint, which the formulas here use.

use diagnostics::error::{Error, Result};
use dispatch::{Backward, Grads, OpBuilder, Value};
use dispatch::{aten, t};
use shape::SymInt;
use tensor::Tensor;

/// Derives the operators that are registered already.
pub fn register(b: &mut OpBuilder) {
    b.at("native_layer_norm_backward").grad(
        "NativeLayerNormBackwardBackward",
        &["grad_out", "input", "mean", "rstd", "weight"],
        layer_norm,
    );
    b.at("native_batch_norm_backward").grad(
        "NativeBatchNormBackwardBackward",
        &["grad_out", "input", "weight", "running_mean", "running_var", "save_mean", "save_invstd"],
        batch_norm,
    );
    b.at("native_group_norm_backward").grad(
        "NativeGroupNormBackwardBackward",
        &["grad_out", "input", "mean", "rstd", "weight"],
        group_norm,
    );
    b.at("convolution_backward").grad("ConvolutionBackwardBackward", &["grad_output", "input", "weight"], convolution);
}

fn mul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    t!("mul.Tensor", a, b)
}

/// A sum of what there is.
fn plus(a: Option<Tensor>, b: Option<Tensor>) -> Result<Option<Tensor>> {
    Ok(match (a, b) {
        (Some(a), Some(b)) => Some(t!("add.Tensor", a, b)?),
        (one, None) | (None, one) => one,
    })
}

/// A normalization: everything in a layout in which all of it broadcasts.
struct Norm {
    g: Tensor,
    /// The normalized input and the reciprocal deviation.
    n: Tensor,
    r: Tensor,
    weight: Option<Tensor>,
    /// Dimensions of a group, and whether its moments depend on the input.
    group: Vec<i64>,
    moments: bool,
}

/// Gradients of `g`, the input and (not yet summed over what it is broadcast to) the weight.
struct Second {
    g: Option<Tensor>,
    input: Option<Tensor>,
    weight: Option<Tensor>,
}

impl Norm {
    fn mean(&self, x: &Tensor) -> Result<Tensor> {
        t!("mean.dim", x, self.group.clone(), true)
    }
    fn weighed(&self, x: &Tensor) -> Result<Tensor> {
        self.weight.as_ref().map_or(Ok(x.clone()), |w| mul(x, w))
    }
    /// `r (q - m(q) - n m(q n))`
    fn project(&self, q: &Tensor) -> Result<Tensor> {
        if !self.moments {
            return mul(q, &self.r);
        }
        let centered = t!("sub.Tensor", q, self.mean(q)?)?;
        let along = mul(&self.n, &self.mean(&mul(q, &self.n)?)?)?;
        mul(&t!("sub.Tensor", centered, along)?, &self.r)
    }
    /// From the gradients `v` of the input's, `u` of the weight's and `s` of the bias's gradient, broadcast to the input.
    fn second(&self, v: Option<&Tensor>, u: Option<&Tensor>, s: Option<&Tensor>) -> Result<Second> {
        let mut out = Second { g: s.cloned(), input: None, weight: None };
        if let Some(u) = u {
            out.g = plus(out.g, Some(mul(u, &self.n)?))?;
            out.input = Some(self.project(&mul(u, &self.g)?)?);
        }
        let Some(v) = v else { return Ok(out) };
        let projected = self.project(v)?;
        out.g = plus(out.g, Some(self.weighed(&projected)?))?;
        out.weight = Some(mul(&self.g, &projected)?);
        if self.moments {
            // Through n, and through r, on which everything depends in proportion.
            let q = self.weighed(&self.g)?;
            let (vn, qn) = (self.mean(&mul(v, &self.n)?)?, self.mean(&mul(&q, &self.n)?)?);
            let slope = t!("neg", mul(&self.r, &t!("add.Tensor", mul(v, &qn)?, mul(&q, &vn)?)?)?)?;
            let through_n = self.project(&slope)?;
            let share = self.mean(&mul(v, &self.project(&q)?)?)?;
            let through_r = t!("neg", mul(&mul(&share, &self.r)?, &self.n)?)?;
            out.input = plus(out.input, plus(Some(through_n), Some(through_r))?)?;
        }
        Ok(out)
    }
}

fn given(b: &Backward, index: usize) -> Option<Tensor> {
    b.grads.get(index).cloned().flatten()
}

fn finish(
    b: &Backward,
    grad_name: &str,
    second: Second,
    view: impl Fn(Tensor) -> Result<Tensor>,
    to_weight: impl Fn(Tensor) -> Result<Tensor>,
) -> Result<Grads> {
    let mut grads = Grads::new(b);
    let sizes = b.sizes("input")?;
    let whole = |x: Tensor| view(t!("expand", &x, sizes.clone()).unwrap_or(x));
    grads.put(b, grad_name, second.g.map(whole).transpose()?)?;
    grads.put(b, "input", second.input.map(whole).transpose()?)?;
    grads.put(b, "weight", second.weight.map(to_weight).transpose()?)?;
    Ok(grads)
}

fn layer_norm(b: &Backward) -> Result<Grads> {
    let (g, x, mean, r) = (b.saved("grad_out")?, b.saved("input")?, b.saved("mean")?, b.saved("rstd")?);
    let count = b.arg("normalized_shape").sym_ints()?.len();
    let group = (1..=count as i64).map(|d| -d).collect();
    let n = mul(&t!("sub.Tensor", x, mean)?, r)?;
    let norm = Norm { g: g.clone(), n, r: r.clone(), weight: b.opt_saved("weight")?.cloned(), group, moments: true };
    let second = norm.second(given(b, 0).as_ref(), given(b, 1).as_ref(), given(b, 2).as_ref())?;
    let outer: Vec<i64> = (0..(x.dim() - count) as i64).collect();
    let summed = |w: Tensor| if outer.is_empty() { Ok(w) } else { t!("sum.dim_IntList", w, outer.clone()) };
    finish(b, "grad_out", second, Ok, summed)
}

fn batch_norm(b: &Backward) -> Result<Grads> {
    let (g, x, training) = (b.saved("grad_out")?, b.saved("input")?, b.arg("train").bool()?);
    let mut along = vec![1i64; x.dim()];
    along[1] = -1;
    let spread = |v: &Tensor| t!("reshape", v, along.clone());
    let (mean, r) = if training {
        (spread(b.saved("save_mean")?)?, spread(b.saved("save_invstd")?)?)
    } else {
        let shifted = t!("add.Scalar", b.saved("running_var")?, b.arg("eps"))?;
        (spread(b.saved("running_mean")?)?, spread(&t!("rsqrt", shifted)?)?)
    };
    let group: Vec<i64> = (0..x.dim() as i64).filter(|d| *d != 1).collect();
    let n = mul(&t!("sub.Tensor", x, mean)?, &r)?;
    let weight = b.opt_saved("weight")?.map(spread).transpose()?;
    let norm = Norm { g: g.clone(), n, r, weight, group: group.clone(), moments: training };
    let (u, s) = (given(b, 1).as_ref().map(spread).transpose()?, given(b, 2).as_ref().map(spread).transpose()?);
    let second = norm.second(given(b, 0).as_ref(), u.as_ref(), s.as_ref())?;
    finish(b, "grad_out", second, Ok, |w| t!("sum.dim_IntList", w, group.clone()))
}

fn group_norm(b: &Backward) -> Result<Grads> {
    let [n, c, places] = ["N", "C", "HxW"].map(|name| b.arg(name).sym_int());
    let (n, c, places, groups) = (n?, c?, places?, b.arg("group").int()?);
    let each = c.floor_div(&groups.into())?;
    let split = vec![n.clone(), groups.into(), each.clone(), places.clone()];
    let spread = |v: &Tensor| t!("reshape", v, &split);
    let per_channel = |v: &Tensor| t!("reshape", v, vec![SymInt::Int(1), groups.into(), each.clone(), SymInt::Int(1)]);
    let per_group = |v: &Tensor| t!("reshape", v, vec![n.clone(), groups.into(), SymInt::Int(1), SymInt::Int(1)]);
    let (mean, r) = (per_group(b.saved("mean")?)?, per_group(b.saved("rstd")?)?);
    let normalized = mul(&t!("sub.Tensor", spread(b.saved("input")?)?, mean)?, &r)?;
    let norm = Norm {
        g: spread(b.saved("grad_out")?)?,
        n: normalized,
        r,
        weight: b.opt_saved("weight")?.map(per_channel).transpose()?,
        group: vec![2, 3],
        moments: true,
    };
    let v = given(b, 0).as_ref().map(spread).transpose()?;
    let (u, s) = (given(b, 1).as_ref().map(per_channel).transpose()?, given(b, 2).as_ref().map(per_channel).transpose()?);
    let mut second = norm.second(v.as_ref(), u.as_ref(), s.as_ref())?;
    let sizes = b.sizes("input")?;
    let back = |x: Tensor| t!("reshape", t!("expand", x, &split)?, &sizes);
    second.g = second.g.map(back).transpose()?;
    second.input = second.input.map(back).transpose()?;
    finish(b, "grad_out", second, Ok, |w| t!("reshape", t!("sum.dim_IntList", w, vec![0i64, 3])?, vec![c.clone()]))
}

/// A convolution is linear in its input and in its weight: its backward's derivative is made of convolutions again.
fn convolution(b: &Backward) -> Result<Grads> {
    let (g, x, w) = (b.saved("grad_output")?, b.saved("input")?, b.saved("weight")?);
    let names = ["stride", "padding", "dilation", "transposed", "output_padding", "groups"];
    let [stride, padding, dilation, transposed, output_padding, groups] = names.map(|n| b.arg(n));
    let apply =
        |x: &Tensor, w: &Tensor| t!("convolution", x, w, Value::None, stride, padding, dilation, transposed, output_padding, groups);
    let back = |x: &Tensor, w: &Tensor, which: usize| -> Result<Tensor> {
        let mask = Value::List((0..3).map(|i| Value::Bool(i == which)).collect());
        let all = aten!("convolution_backward", g, x, w, Value::None, stride, padding, dilation, transposed, output_padding, groups, mask)?;
        all.list()?.get(which).and_then(Value::as_tensor).cloned().ok_or_else(|| Error::runtime("convolution_backward: no gradient"))
    };
    let (of_input, of_weight, of_bias) = (given(b, 0), given(b, 1), given(b, 2));
    let mut grads = Grads::new(b);
    if b.needs("grad_output") {
        let first = of_input.as_ref().map(|v| apply(v, w)).transpose()?;
        let second = of_weight.as_ref().map(|u| apply(x, u)).transpose()?;
        let mut along = vec![1i64; g.dim()];
        along[g.dim() + 1 - w.dim()] = -1;
        let third = of_bias.as_ref().map(|s| t!("expand", t!("reshape", s, along)?, g.sizes())).transpose()?;
        grads.put(b, "grad_output", plus(plus(first, second)?, third)?)?;
    }
    if b.needs("input") {
        grads.put(b, "input", of_weight.as_ref().map(|u| back(x, u, 0)).transpose()?)?;
    }
    if b.needs("weight") {
        grads.put(b, "weight", of_input.as_ref().map(|v| back(v, w, 1)).transpose()?)?;
    }
    Ok(grads)
}
