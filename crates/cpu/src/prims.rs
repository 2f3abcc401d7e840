//! Kernels of PyTorch's `prims`, and of masked indexing.

use super::copy::write;
use super::elementwise::{scatter, values};
use diagnostics::error::{Error, Result};
use dispatch::{Call, KernelTable, Value, lookup, run_backend};
use operators::prims::pooling_call;
use tensor::random::default_generator;
use tensor::{Dtype, Tensor};

/// Registers the kernels.
pub fn register(t: &mut KernelTable) {
    t.fill("prims.convert_element_type.default", |c, o| write(&o[0], c.tensor("a")?));
    t.fill("prims.fma.default", fma);
    t.fill("prims.inductor_force_stride_order.default", |c, o| write(&o[0], c.tensor("input")?));
    t.fill("prims.rev.default", |c, o| write(&o[0], &run("aten.flip.default", vec![c.get("a").clone(), c.get("dims").clone()])?));
    t.fill("prims.iota.default", |c, o| {
        let (length, start, step) = (c.int("length")?, c.int("start")?, c.int("step")?);
        scatter(&o[0], &(0..length).map(|i| i.wrapping_mul(step).wrapping_add(start)).collect::<Vec<_>>())
    });
    t.fill("prims._low_memory_max_pool_with_offsets.default", |c, o| {
        let (entry, args) = pooling_call(c)?;
        let both = run_backend(entry, &args, false)?.tensors()?;
        write(&o[0], &both[0])?;
        let places = Places::of(c, &both[1], &sizes(c.tensor("self")?)?)?;
        scatter(&o[1], &places.map(&values::<i64>(&both[1])?, Places::offset))
    });
    t.fill("prims._low_memory_max_pool_offsets_to_indices.default", |c, o| {
        let offsets = c.tensor("self")?;
        let input: Vec<usize> = c.ints("input_size")?.iter().map(|n| *n as usize).collect();
        let places = Places::of(c, offsets, &input)?;
        scatter(&o[0], &places.map(&values::<i64>(offsets)?, Places::index))
    });
    t.fill("prims.inductor_seeds.default", |_, o| {
        let generator = default_generator();
        let n = o[0].concrete()?.numel();
        // As `torch.randint` over all integers draws them.
        scatter(&o[0], &(0..n).map(|_| generator.from_to(u64::MAX, i64::MIN)).collect::<Vec<_>>())
    });
    t.fill("prims.inductor_lookup_seed.default", |c, o| {
        let (seeds, index) = (values::<i64>(c.tensor("seeds")?)?, c.int("index")?);
        let found = usize::try_from(index).ok().and_then(|at| seeds.get(at).copied());
        let seed =
            found.ok_or_else(|| Error::index(format!("index {index} is out of bounds for dimension 0 with size {}", seeds.len())))?;
        scatter(&o[0], &[seed])
    });
    t.fill("prims.inductor_random.default", random);
    t.fill("rngprims.philox_rand.default", |c, o| {
        let number = |name| Ok::<u64, Error>(values::<i64>(c.tensor(name)?)?.first().copied().unwrap_or(0) as u64);
        let (seed, offset) = (number("seed")?, number("offset")?);
        let n = o[0].concrete()?.numel() as u64;
        let drawn: Vec<f32> = (0..n).map(|i| philox::uniform(seed, i.wrapping_add(offset))).collect();
        write(&o[0], &Tensor::from_slice(&drawn, &c.ints("size")?)?)?;
        // Every thread of a launch draws four.
        scatter(&o[1], &[if n == 0 { 0i64 } else { 4 }])
    });
    t.fill("prims.inductor_randint.default", |c, o| {
        let (low, high) = (c.int("low")?, c.int("high")?);
        let seed = seed(c)?;
        let n = o[0].concrete()?.numel();
        scatter(&o[0], &(0..n as u64).map(|i| philox::integer(seed, i, low, high)).collect::<Vec<_>>())
    });
    t.fill("aten._unsafe_masked_index.default", masked_index);
    t.fill("aten._unsafe_masked_index_put_accumulate.default", masked_put);
}

fn run(name: &str, args: Vec<Value>) -> Result<Tensor> {
    let entry = lookup(name).ok_or_else(|| Error::not_implemented(name.to_owned()))?;
    run_backend(entry, &dispatch::fill_args(entry, args, &[])?, false)?.into_tensor()
}

fn sizes(x: &Tensor) -> Result<Vec<usize>> {
    Ok(x.concrete()?.sizes)
}

/// One rounding for a product and a sum; two where the factor is a number, as PyTorch's own kernel has it, which runs when nothing is
/// lowered.
fn fma(c: &Call, o: &[Tensor]) -> Result<()> {
    let shape = sizes(&o[0])?;
    use super::elementwise::gather;
    macro_rules! run {
        ($t:ty) => {{
            let operand = |name: &str| gather::<$t>(c.tensor(name)?, &shape);
            let (a, d) = (operand("a")?, operand("c")?);
            if c.get("b").as_tensor().is_none() {
                let b = c.get("b").float()? as $t;
                return scatter(&o[0], &a.iter().zip(&d).map(|(a, d)| a * b + d).collect::<Vec<$t>>());
            }
            let b = operand("b")?;
            scatter(&o[0], &a.iter().zip(&b).zip(&d).map(|((a, b), d)| a.mul_add(*b, *d)).collect::<Vec<$t>>())
        }};
    }
    if o[0].dtype() == Dtype::Float64 { run!(f64) } else { run!(f32) }
}

/// How places in windows and in the input belong together.
struct Places {
    kernel: Vec<i64>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    input: Vec<i64>,
    output: Vec<i64>,
}

impl Places {
    fn of(c: &Call, output: &Tensor, input: &[usize]) -> Result<Places> {
        let kernel = c.ints("kernel_size")?;
        let last = |sizes: &[usize]| sizes[sizes.len() - kernel.len()..].iter().map(|n| *n as i64).collect();
        Ok(Places {
            stride: c.ints("stride")?,
            padding: c.ints("padding")?,
            dilation: c.ints("dilation")?,
            input: last(input),
            output: last(&sizes(output)?),
            kernel,
        })
    }

    /// The value of every result, from its window's first place and what was found there.
    fn map(&self, found: &[i64], of: fn(&Places, &[i64], i64) -> i64) -> Vec<i64> {
        let plane: i64 = self.output.iter().product();
        let window = |i: usize| {
            let at = unravel(i as i64 % plane, &self.output);
            (0..at.len()).map(|d| at[d].wrapping_mul(self.stride[d]).wrapping_sub(self.padding[d])).collect::<Vec<_>>()
        };
        found.iter().enumerate().map(|(i, value)| of(self, &window(i), *value)).collect()
    }

    fn offset(&self, first: &[i64], index: i64) -> i64 {
        let at = unravel(index, &self.input);
        (0..at.len()).fold(0, |n, d| n * self.kernel[d] + (at[d] - first[d]) / self.dilation[d])
    }

    fn index(&self, first: &[i64], offset: i64) -> i64 {
        let at = unravel(offset, &self.kernel);
        (0..at.len()).fold(0, |n: i64, d| {
            let along = first[d].wrapping_add(at[d].wrapping_mul(self.dilation[d]));
            n.wrapping_mul(self.input[d]).wrapping_add(along)
        })
    }
}

fn unravel(mut index: i64, sizes: &[i64]) -> Vec<i64> {
    let mut at = vec![0; sizes.len()];
    for d in (0..sizes.len()).rev() {
        at[d] = index % sizes[d];
        index /= sizes[d];
    }
    at
}

/// The seed that a call draws from.
fn seed(c: &Call) -> Result<u64> {
    let seed = values::<i64>(c.tensor("seed")?)?;
    seed.first().map(|seed| *seed as u64).ok_or_else(|| Error::runtime(format!("{}: expected a seed", c.entry.base_name())))
}

fn random(c: &Call, o: &[Tensor]) -> Result<()> {
    let seed = seed(c)?;
    let offset = c.int("offset")? as u64;
    let n = o[0].concrete()?.numel() as u64;
    let draw = if c.str("mode")? == "randn" { philox::normal } else { philox::uniform };
    scatter(&o[0], &(0..n).map(|i| draw(seed, i.wrapping_add(offset))).collect::<Vec<f32>>())
}

/// Indices in range, and whether an element is read or written at all.
fn in_range(c: &Call) -> Result<(Tensor, Value, Value)> {
    let x = c.tensor("self")?.clone();
    let shape = sizes(&x)?;
    let given = c.get("indices").list()?.len();
    if given > shape.len() {
        let dims = shape.len();
        return Err(Error::index(format!("too many indices for tensor of dimension {dims} (got {given})")));
    }
    let mut indices = Vec::new();
    for (d, index) in c.get("indices").list()?.iter().enumerate() {
        indices.push(match index {
            Value::Tensor(_) => {
                run("aten.clamp.default", vec![index.clone(), Value::from(0), Value::from(shape[d].saturating_sub(1))])?.into()
            }
            none => none.clone(),
        });
    }
    Ok((x, Value::List(indices), c.get("mask").clone()))
}

fn masked_index(c: &Call, o: &[Tensor]) -> Result<()> {
    let (x, indices, mask) = in_range(c)?;
    let picked = run("aten.index.Tensor", vec![x.into(), indices])?;
    let outside = run("aten.logical_not.default", vec![mask])?;
    write(&o[0], &run("aten.masked_fill.Scalar", vec![picked.into(), outside.into(), c.get("fill").clone()])?)
}

fn masked_put(c: &Call, o: &[Tensor]) -> Result<()> {
    let (x, indices, mask) = in_range(c)?;
    let outside = run("aten.logical_not.default", vec![mask])?;
    let kept = run("aten.masked_fill.Scalar", vec![c.get("values").clone(), outside.into(), Value::from(0)])?;
    write(&o[0], &run("aten.index_put.default", vec![x.into(), indices, kept.into(), Value::Bool(true)])?)
}

/// Philox 4x32 with ten rounds: numbers that depend on a seed and a position alone, as the code that Inductor generates draws
/// them. Of either, 32 bits count.
mod philox {
    use std::f64::consts::PI;

    // Source: Philox, its 4x32 variant.
    const KEY: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    const FACTOR: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
    /// The largest factor that keeps 31 bits below one.
    const SCALE: f32 = 4.656_612_7e-10;

    /// The four numbers at a position.
    fn draw(seed: u64, position: u64) -> [u32; 4] {
        let (mut key, mut state) = ([seed as u32, 0], [position as u32, 0, 0, 0]);
        for _ in 0..10 {
            let product = |i: usize| u64::from(state[2 * i]) * u64::from(FACTOR[i]);
            let (a, b) = (product(0), product(1));
            state = [(b >> 32) as u32 ^ state[1] ^ key[0], b as u32, (a >> 32) as u32 ^ state[3] ^ key[1], a as u32];
            key = [key[0].wrapping_add(KEY[0]), key[1].wrapping_add(KEY[1])];
        }
        state
    }

    fn below_one(bits: u32) -> f32 {
        (bits & 0x7fff_ffff) as f32 * SCALE
    }

    /// A number from zero to below one.
    pub fn uniform(seed: u64, position: u64) -> f32 {
        below_one(draw(seed, position)[0])
    }

    /// A normal number.
    pub fn normal(seed: u64, position: u64) -> f32 {
        let bits = draw(seed, position);
        let (u, v) = (1.0 - below_one(bits[0]), 1.0 - below_one(bits[1]));
        ((-2.0 * f64::from(u.ln())).sqrt() * (2.0 * PI * f64::from(v)).cos()) as f32
    }

    /// An integer from `low` to below `high`.
    pub fn integer(seed: u64, position: u64, low: i64, high: i64) -> i64 {
        let bits = draw(seed, position);
        let wide = u64::from(bits[0]) | (u64::from(bits[1]) << 32);
        ((wide % (high.wrapping_sub(low) as u64).max(1)) as i64).wrapping_add(low)
    }
}
