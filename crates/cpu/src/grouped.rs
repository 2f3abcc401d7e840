//! Pointwise kernels of functions that PyTorch's vectorized code computes otherwise than what it leaves over: whole groups of elements
//! along a line, and the rest of the line one by one.

use super::elementwise::{Compute, Operand, Plan, broadcast_strides};
use super::widest::widest;
use diagnostics::error::Result;
use dispatch::Value;
use tensor::Tensor;

/// Elements that a vectorized kernel computes at once; what a line leaves over it computes one by one.
const GROUP: usize = 32;
/// Elements for which an operand that is the same everywhere is written out.
const PIECE: usize = 1024;

/// A function of two elements that is told whether they are some of a whole group.
pub trait Grouped<C> {
    /// Its result.
    fn at(&self, a: C, b: C, grouped: bool) -> C;
}

impl<C, F: Fn(C, C, bool) -> C> Grouped<C> for F {
    #[inline(always)]
    fn at(&self, a: C, b: C, grouped: bool) -> C {
        self(a, b, grouped)
    }
}

/// A [`Grouped`] function over some numbers, which is always compiled into its loop: a closure that does much is not.
macro_rules! grouped {
    ([$($number:ident),*] |$a:ident: $t:ty, $v:ident| $body:expr) => {
        $crate::grouped::grouped!([$($number),*] |$a: $t, _b, $v| $body)
    };
    ([$($number:ident),*] |$a:ident: $t:ty, $b:ident, $v:ident| $body:expr) => {{
        struct Step {
            $($number: $t),*
        }
        impl $crate::grouped::Grouped<$t> for Step {
            #[inline(always)]
            fn at(&self, $a: $t, $b: $t, $v: bool) -> $t {
                let Step { $($number),* } = *self;
                $body
            }
        }
        Step { $($number),* }
    }};
}
pub(crate) use grouped;

widest! {
    fn in_groups<C: Compute, F: Grouped<C>>(a: &[C], b: &[C], out: &mut [C], f: &F) {
        for ((o, a), b) in out.iter_mut().zip(a).zip(b) {
            *o = f.at(*a, *b, true);
        }
    }
}

fn left_over<C: Compute>(a: &[C], b: &[C], out: &mut [C], f: &impl Grouped<C>) {
    out.iter_mut().zip(a).zip(b).for_each(|((o, a), b)| *o = f.at(*a, *b, false));
}

/// The lines that a vectorized kernel goes along: everything where all lies alike, else what lies side by side in every operand.
struct Lines {
    /// Elements of a line.
    length: usize,
    /// Per dimension of a line: elements of the index from one to the next, elements of the dimension, and its step in the line.
    dims: Vec<(usize, usize, usize)>,
}

impl Lines {
    fn new(plan: &Plan, operands: &[&Value]) -> Result<Lines> {
        let out = &plan.out;
        let tensors = operands.iter().filter_map(|v| v.as_tensor());
        let strides = tensors.map(|t| Ok(broadcast_strides(&t.concrete()?, &out.sizes))).collect::<Result<Vec<_>>>()?;
        let places = |of: &[isize]| of.iter().zip(&out.strides).zip(&out.sizes).all(|((a, b), n)| *n == 1 || a == b);
        let whole = strides.iter().all(|of| of.iter().all(|s| *s == 0) || plan.flat && places(of));
        if whole && plan.flat {
            return Ok(Lines { length: out.numel(), dims: vec![(1, out.numel().max(1), 1)] });
        }
        // Dimensions from the one that lies closest together on; neighbours that one stride covers are one.
        let mut order: Vec<usize> = (0..out.sizes.len()).filter(|d| out.sizes[*d] != 1).collect();
        order.sort_by_key(|d| (out.strides[*d], std::cmp::Reverse(*d)));
        let (mut length, mut dims) = (1, Vec::new());
        let mut together: Vec<isize> = Vec::new();
        for (k, d) in order.into_iter().enumerate() {
            let steps: Vec<isize> = std::iter::once(&out.strides).chain(&strides).map(|s| s[d]).collect();
            if k == 0 {
                if steps[0] != 1 || steps.iter().any(|s| !matches!(s, 0 | 1)) {
                    return Ok(Lines { length: 0, dims });
                }
                together = steps;
            } else if steps.iter().zip(&together).any(|(s, first)| *s != first * length as isize) {
                break;
            }
            // Elements are counted in the result's memory order where the plan is flat.
            let index = if plan.flat { out.strides[d] as usize } else { out.sizes[d + 1..].iter().product() };
            dims.push((index, out.sizes[d], length));
            length *= out.sizes[d];
        }
        Ok(Lines { length, dims })
    }

    /// Elements of a line in whole groups.
    fn in_groups(&self) -> usize {
        self.length - self.length % GROUP
    }

    /// Whether an element is one of a whole group.
    fn grouped(&self, i: usize) -> bool {
        let place: usize = self.dims.iter().map(|(index, size, step)| i / index % size * step).sum();
        place < self.in_groups()
    }

    /// Calls `f` with runs of elements, from one to another, and whether they are in whole groups.
    fn runs(&self, n: usize, mut f: impl FnMut(usize, usize, bool)) {
        match self.dims[..] {
            _ if self.in_groups() == 0 => f(0, n, false),
            [(1, size, 1)] => {
                for start in (0..n).step_by(size) {
                    f(start, start + self.in_groups(), true);
                    f(start + self.in_groups(), start + size, false);
                }
            }
            _ => (0..n).for_each(|i| f(i, i + 1, self.grouped(i))),
        }
    }

    /// `out = f(a, b)`
    fn fill<C: Compute>(&self, a: Operand<C>, b: Operand<C>, out: &mut [C], f: &impl Grouped<C>) {
        let written = |of: Operand<C>| match of {
            Operand::One(v) => vec![v; out.len().min(PIECE)],
            Operand::Slice(_) => Vec::new(),
        };
        let (all_a, all_b) = (written(a), written(b));
        fn part<'a, C>(of: Operand<'a, C>, all: &'a [C], at: usize, size: usize) -> &'a [C] {
            match of {
                Operand::Slice(s) => &s[at..at + size],
                Operand::One(_) => &all[..size],
            }
        }
        self.runs(out.len(), |from, to, grouped| {
            for at in (from..to).step_by(PIECE) {
                let size = PIECE.min(to - at);
                let (a, b, out) = (part(a, &all_a, at, size), part(b, &all_b, at, size), &mut out[at..at + size]);
                if grouped { in_groups(a, b, out, f) } else { left_over(a, b, out, f) }
            }
        });
    }
}

/// `out = f(a, b)`, where `f` is told whether the element is one of a whole group.
pub fn map2_grouped<C: Compute>(a: &Value, b: &Value, out: &Tensor, f: impl Fn(C, C, bool) -> C) -> Result<()> {
    map2_steps(a, b, out, f)
}

/// `out = f(a)`, where `f` is told whether the element is one of a whole group.
pub fn map1_grouped<C: Compute>(a: &Value, out: &Tensor, f: impl Fn(C, bool) -> C) -> Result<()> {
    map1_steps(a, out, |x: C, _: C, grouped: bool| f(x, grouped))
}

/// `out = f(a, b)` for what `grouped!` makes.
pub fn map2_steps<C: Compute>(a: &Value, b: &Value, out: &Tensor, f: impl Grouped<C>) -> Result<()> {
    let plan = Plan::new(out, &[a, b])?;
    let lines = Lines::new(&plan, &[a, b])?;
    plan.operand::<C, _>(a, &mut |a| plan.operand::<C, _>(b, &mut |b| plan.fill::<C>(out, &mut |d| lines.fill(a, b, d, &f)))?)?
}

/// `out = f(a)` for what `grouped!` makes.
pub fn map1_steps<C: Compute>(a: &Value, out: &Tensor, f: impl Grouped<C>) -> Result<()> {
    let plan = Plan::new(out, &[a])?;
    let lines = Lines::new(&plan, &[a])?;
    plan.operand::<C, _>(a, &mut |a| plan.fill::<C>(out, &mut |d| lines.fill(a, a, d, &f)))?
}
