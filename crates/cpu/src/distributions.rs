//! Samplers that reject: Poisson, binomial, gamma, Dirichlet. Each follows PyTorch's algorithm draw for draw.

use super::elementwise::{gather, scatter, values};
use super::random::{draws, generator};
use super::special;
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable};
use tensor::random::Generator;
use tensor::{Dtype, Tensor};

/// A Poisson number: by products of uniform numbers where the rate is small, else by transformed rejection. Source: Hörmann, PTRS.
fn poisson(rate: f64, g: &Generator) -> f64 {
    if rate == 0.0 {
        return 0.0;
    }
    if rate < 10.0 {
        let (limit, mut product, mut count) = ((-rate).exp(), 1.0, 0.0);
        loop {
            product *= g.uniform64();
            if product <= limit {
                return count;
            }
            count += 1.0;
        }
    }
    let (root, log) = (rate.sqrt(), rate.ln());
    let b = 0.931 + 2.53 * root;
    let a = -0.059 + 0.02483 * b;
    let inverse = 1.1239 + 1.1328 / (b - 3.4);
    let tight = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let (u, v) = (g.uniform64() - 0.5, g.uniform64());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + rate + 0.43).floor();
        if us >= 0.07 && v <= tight {
            return k;
        }
        if k < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        if v.ln() + inverse.ln() - (a / (us * us) + b).ln() <= -rate + k * log - libm::lgamma(k + 1.0) {
            return k;
        }
    }
}

/// What Stirling's formula leaves of the logarithm of a factorial. Source: Hörmann, BTRS.
fn stirling_tail(k: f64) -> f64 {
    const SMALL: [f64; 10] = [
        0.0810614667953272,
        0.0413406959554092,
        0.0276779256849983,
        0.02079067210376509,
        0.0166446911898211,
        0.0138761288230707,
        0.0118967099458917,
        0.0104112652619720,
        0.00925546218271273,
        0.00833056343336287,
    ];
    if k <= 9.0 {
        return SMALL[k.max(0.0) as usize];
    }
    let square = (k + 1.0) * (k + 1.0);
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
}

/// A binomial number of a chance of at most a half. Source: Hörmann, BTRS.
fn rare_binomial(count: f64, p: f64, g: &Generator) -> f64 {
    if count * p < 10.0 {
        // Gaps between successes are geometric.
        let (log, mut sum, mut successes) = ((-p).ln_1p(), 0.0, 0.0);
        loop {
            sum += (g.uniform64().ln() / log).ceil();
            if sum > count {
                return successes;
            }
            successes += 1.0;
        }
    }
    let deviation = (count * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let center = count * p + 0.5;
    let tight = 0.92 - 4.2 / b;
    let r = p / (1.0 - p);
    let alpha = (2.83 + 5.1 / b) * deviation;
    let m = ((count + 1.0) * p).floor();
    loop {
        let (u, v) = (g.uniform64() - 0.5, g.uniform64());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + center).floor();
        if k < 0.0 || k > count {
            continue;
        }
        if us >= 0.07 && v <= tight {
            return k;
        }
        let v = (v * alpha / (a / (us * us) + b)).ln();
        let bound = (m + 0.5) * ((m + 1.0) / (r * (count - m + 1.0))).ln()
            + (count + 1.0) * ((count - m + 1.0) / (count - k + 1.0)).ln()
            + (k + 0.5) * (r * (count - k + 1.0) / (k + 1.0)).ln()
            + stirling_tail(m)
            + stirling_tail(count - m)
            - stirling_tail(k)
            - stirling_tail(count - k);
        if v <= bound {
            return k;
        }
    }
}

fn binomial(count: f64, p: f64, g: &Generator) -> f64 {
    if count.is_nan() {
        count
    } else if count <= 0.0 || p <= 0.0 {
        0.0
    } else if p >= 1.0 {
        count
    } else if p <= 0.5 {
        rare_binomial(count, p, g)
    } else if p > 0.5 {
        count - rare_binomial(count, 1.0 - p, g)
    } else {
        f64::NAN
    }
}

/// A gamma number of scale one. Source: Marsaglia and Tsang; the shape's arithmetic is of the tensor's dtype.
fn gamma(alpha: f64, single: bool, g: &Generator) -> f64 {
    let round = |v: f64| if single { f64::from(v as f32) } else { v };
    let (mut alpha, mut scale, inverse) = (alpha, 1.0, round(1.0 / alpha));
    if alpha < 1.0 {
        if alpha == 0.0 {
            return 0.0;
        }
        scale = (1.0 - g.uniform64()).powf(inverse);
        alpha = round(alpha + 1.0);
    }
    let d = round(alpha - f64::from(1.0f32 / 3.0));
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let (x, y) = loop {
            let x = g.normal64();
            let y = 1.0 + c * x;
            // Of a shape that is none, NaN comes out.
            if y > 0.0 || y.is_nan() {
                break (x, y);
            }
        };
        let v = y * y * y;
        let u = 1.0 - g.uniform64();
        let square = x * x;
        if u < 1.0 - f64::from(0.0331f32) * square * square || u.ln() < 0.5 * square + d * (1.0 - v + v.ln()) {
            return scale * d * v;
        }
    }
}

/// One draw per element, in the order of the operand's memory.
fn one_each(c: &Call, out: &Tensor, draw: impl Fn(f64, &Generator) -> f64) -> Result<()> {
    let (x, g) = (values::<f64>(c.tensor("self")?)?, generator(c)?);
    let mut next = 0;
    draws(out, || {
        next += 1;
        draw(x[next - 1], &g)
    })
}

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.fill("aten.poisson.default", |c, o| {
        if values::<f64>(c.tensor("self")?)?.iter().any(|rate| rate.is_nan() || *rate < 0.0) {
            return Err(Error::runtime("invalid Poisson rate, expected rate to be non-negative"));
        }
        one_each(c, &o[0], poisson)
    });
    t.fill("aten.binomial.default", |c, o| {
        let (count, p, g) = (values::<f64>(c.tensor("count")?)?, values::<f64>(c.tensor("prob")?)?, generator(c)?);
        let drawn: Vec<f64> = count.iter().zip(&p).map(|(n, p)| binomial(*n, *p, &g)).collect();
        scatter(&o[0], &drawn)
    });
    t.fill("aten._standard_gamma.default", |c, o| {
        let single = o[0].dtype() != Dtype::Float64;
        let least = if single { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
        one_each(c, &o[0], |alpha, g| gamma(alpha, single, g).max(least))
    });
    t.fill("aten._sample_dirichlet.default", |c, o| {
        let (x, g) = (c.tensor("self")?, generator(c)?);
        let classes = x.concrete()?.sizes.last().copied().unwrap_or(1).max(1);
        let single = o[0].dtype() != Dtype::Float64;
        let (least, most) =
            if single { (f64::from(f32::MIN_POSITIVE), f64::from(1.0f32.next_down())) } else { (f64::MIN_POSITIVE, 1f64.next_down()) };
        let drawn: Vec<f64> = values::<f64>(x)?.into_iter().map(|alpha| gamma(alpha, false, &g)).collect();
        let shares = drawn.chunks(classes).flat_map(|row| {
            let total: f64 = row.iter().sum();
            row.iter().map(move |v| (v / total).max(least).min(most))
        });
        scatter(&o[0], &shares.collect::<Vec<f64>>())
    });
    t.fill("aten._standard_gamma_grad.default", |c, o| {
        // By the implicit function theorem: the slope of the distribution function over its density.
        let sizes = o[0].concrete()?.sizes;
        let (alpha, x) = (gather::<f64>(c.tensor("self")?, &sizes)?, gather::<f64>(c.tensor("output")?, &sizes)?);
        let slope = |(a, x): (&f64, &f64)| {
            let step = (a * 1e-5).max(1e-9);
            let rise = special::incomplete_gamma(a + step, *x, false, f64::MAX) - special::incomplete_gamma(a - step, *x, false, f64::MAX);
            -rise / (2.0 * step) / ((a - 1.0) * x.ln() - x - libm::lgamma(*a)).exp()
        };
        scatter(&o[0], &alpha.iter().zip(&x).map(slope).collect::<Vec<f64>>())
    });
    t.fill("aten.rrelu_with_noise_functional.default", |c, o| {
        let x = c.tensor("self")?;
        let (from, to, g) = (c.get("lower").float()?, c.get("upper").float()?, generator(c)?);
        let training = c.bool("training")?;
        let (mut outs, mut noise) = (Vec::new(), Vec::new());
        for v in values::<f64>(x)? {
            let slope = match (training, v <= 0.0) {
                (true, true) => g.uniform64().mul_add(to - from, from),
                (false, true) => (from + to) / 2.0,
                _ => 1.0,
            };
            let slope = if x.dtype() == Dtype::Float64 { slope } else { f64::from(slope as f32) };
            outs.push(if v <= 0.0 { v * slope } else { v });
            noise.push(if training { slope } else { 0.0 });
        }
        scatter(&o[0], &outs)?;
        scatter(&o[1], &noise)
    });
    t.fill("aten.rrelu_with_noise_backward.default", |c, o| {
        let (from, to) = (c.get("lower").float()?, c.get("upper").float()?);
        let random = c.bool("training")? && to - from > 1e-6;
        let sizes = o[0].concrete()?.sizes;
        let read = |name: &str, is_read: bool| if is_read { gather::<f64>(c.tensor(name)?, &sizes) } else { Ok(Vec::new()) };
        let (g, x, noise) = (read("grad_output", true)?, read("self", !random)?, read("noise", random)?);
        let grads: Vec<f64> = (0..g.len())
            .map(|i| {
                if random {
                    g[i] * noise[i]
                } else if x[i] > 0.0 {
                    g[i]
                } else {
                    g[i] * (from + to) / 2.0
                }
            })
            .collect();
        scatter(&o[0], &grads)
    });
}
