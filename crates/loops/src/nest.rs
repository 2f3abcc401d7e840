//! The loops that scalar expressions run in: what a [`Prim`] is.
//!
//! An element on its own, a reduction, a product, a scan; and attention, which is two products and a softmax that no machine should take
//! apart where it need not.

use super::language::{View, X};
use graph::NodeId;

/// How a reduction combines what it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// The sum.
    Sum,
    /// The product.
    Prod,
    /// The largest; NaN wins.
    Max,
    /// The smallest; NaN wins.
    Min,
    /// The position (row-major in the loop) of the first largest; NaN wins.
    ArgMax,
    /// The position of the first smallest; NaN wins.
    ArgMin,
}

/// The loop that computes a region.
#[derive(Clone, Debug)]
pub enum Loop {
    /// Every element on its own.
    Pointwise(X),
    /// Every element combines the body over a loop.
    Reduce {
        /// Sizes of the loop.
        over: Vec<i64>,
        /// How.
        combine: Combine,
        /// What; in terms of [`coord`](super::language::coord) and [`over`](super::language::over).
        body: X,
        /// Turns for which this is false are left out.
        mask: Option<X>,
    },
    /// `sum over k of a * b`. The output's dimensions are batches, then rows, then columns; `a` does not depend on the
    /// columns and `b` does not depend on the rows.
    Matmul {
        /// Sizes of the loop.
        over: Vec<i64>,
        /// How many dimensions of the output are batches.
        batch: usize,
        /// How many dimensions after them are rows.
        rows: usize,
        /// Left factor.
        a: X,
        /// Right factor.
        b: X,
    },
    /// Every element combines the body over the elements before it in one dimension, itself included.
    Scan {
        /// The dimension.
        dim: usize,
        /// How.
        combine: Combine,
        /// What.
        body: X,
    },
    /// Attention, or a part of its gradient, a row of queries or keys at a time.
    Attention(Box<Attention>),
}

/// Which part of attention a loop computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// For every query the mean of values, weighed by the softmax of its scores; and the logarithm of the sum of their exponentials.
    Forward,
    /// The gradient of the queries.
    Queries,
    /// The gradient of the keys; where there is a second region, of the values too.
    Keys,
    /// The gradient of the values.
    Values,
}

/// Scaled dot-product attention without a matrix of scores: who computes it meets keys (or queries) one after the other.
///
/// The region's dimensions are batch, head, row and channel. Expressions are in terms of batch and head (`coord(0)`, `coord(1)`), of a
/// position (`over(0)`) and a channel (`over(1)`).
#[derive(Clone, Debug)]
pub struct Attention {
    /// What is computed.
    pub part: Part,
    /// How many queries and keys there are.
    pub lengths: [i64; 2],
    /// How many channels a query, a key and a value have.
    pub width: i64,
    /// What dot products are multiplied by.
    pub scale: f32,
    /// Whether a query meets only keys up to its own position.
    pub causal: bool,
    /// Of query `over(0)` and key `over(1)`: whether they meet, or what their score is greater by.
    pub mask: Option<X>,
    /// Queries.
    pub query: X,
    /// Keys.
    pub key: X,
    /// Values.
    pub value: X,
    /// What a gradient needs beside them.
    pub slopes: Option<Slopes>,
    /// The region after the first: the logarithms, without a channel; the gradient of the values.
    pub second: Option<View>,
}

/// What the gradient of attention is made of.
#[derive(Clone, Debug)]
pub struct Slopes {
    /// The gradient of the result.
    pub grad: X,
    /// Of query `over(0)`, the logarithm of the sum of exponentials.
    pub logsumexp: X,
    /// Of query `over(0)`, the dot product of the result and its gradient.
    pub delta: X,
}

impl Attention {
    fn bodies(&self) -> Vec<&X> {
        let slopes = self.slopes.iter().flat_map(|s| [&s.grad, &s.logsumexp, &s.delta]);
        [&self.query, &self.key, &self.value].into_iter().chain(&self.mask).chain(slopes).collect()
    }
    fn map(&self, f: &dyn Fn(&X) -> X) -> Attention {
        Attention {
            mask: self.mask.as_ref().map(f),
            query: f(&self.query),
            key: f(&self.key),
            value: f(&self.value),
            slopes: self.slopes.as_ref().map(|s| Slopes { grad: f(&s.grad), logsumexp: f(&s.logsumexp), delta: f(&s.delta) }),
            ..self.clone()
        }
    }
}

impl Loop {
    /// The expressions in it.
    pub fn bodies(&self) -> Vec<&X> {
        match self {
            Loop::Pointwise(x) | Loop::Scan { body: x, .. } => vec![x],
            Loop::Reduce { body, mask, .. } => std::iter::once(body).chain(mask).collect(),
            Loop::Matmul { a, b, .. } => vec![a, b],
            Loop::Attention(a) => a.bodies(),
        }
    }
    /// Rebuilt with every expression replaced.
    pub fn map(&self, f: &dyn Fn(&X) -> X) -> Loop {
        match self {
            Loop::Pointwise(x) => Loop::Pointwise(f(x)),
            Loop::Scan { dim, combine, body } => Loop::Scan { dim: *dim, combine: *combine, body: f(body) },
            Loop::Reduce { over, combine, body, mask } => {
                Loop::Reduce { over: over.clone(), combine: *combine, body: f(body), mask: mask.as_ref().map(f) }
            }
            Loop::Matmul { over, batch, rows, a, b } => Loop::Matmul { over: over.clone(), batch: *batch, rows: *rows, a: f(a), b: f(b) },
            Loop::Attention(a) => Loop::Attention(Box::new(a.map(f))),
        }
    }
}

/// One loop nest: it fills a region of a storage.
#[derive(Clone, Debug)]
pub struct Prim {
    /// What it fills; its sizes are the coordinates of the body.
    pub out: View,
    /// How.
    pub body: Loop,
    /// The graph's node it comes from.
    pub node: NodeId,
}

impl Prim {
    /// Every region that it fills.
    pub fn outs(&self) -> impl Iterator<Item = &View> {
        let second = match &self.body {
            Loop::Attention(a) => a.second.as_ref(),
            _ => None,
        };
        std::iter::once(&self.out).chain(second)
    }

    /// Of a reduction, how many rows it has, one for each element, and how many turns each.
    pub fn rows_and_turns(&self) -> Option<(i64, i64)> {
        match &self.body {
            Loop::Reduce { over, .. } => Some((self.out.numel(), over.iter().product())),
            _ => None,
        }
    }
}
