//! Arithmetic of sizes on the way to a call, as a graph being traced sees it.
//!
//! PyTorch's tracer makes a node of every product, sum and comparison of symbolic sizes, also of those that its own code makes while
//! it takes a call apart. What nobody reads is dropped from the graph and its name stays taken, so that names in a printed graph tell
//! what was computed: whether elements lie in order, whether a view is possible, how large a storage is. That is computed here in
//! PyTorch's order. Truths come from what is known and from the sizes of the call; they never guard.

use super::stack::{Key, Layer, has_layer, tracing};
use diagnostics::error::Result;
use shape::{Relation, SymInt};
use std::rc::Rc;
use tensor::{Geometry, Tensor};

mod compared;
mod references;
mod written;

pub use compared::{ask_broadcast, ask_broadcast_all, ask_call, ask_view_made};
pub use written::ask_write;

/// What a tensor remembers once it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fact {
    /// How many elements it has.
    Numel,
    /// Whether its elements lie in order.
    Contiguity,
}

/// Arithmetic that the innermost tracer sees.
struct Seen(Rc<dyn Layer>);

impl Seen {
    fn made(&self, name: &'static str, a: &SymInt, b: &SymInt, result: SymInt) -> Result<SymInt> {
        let SymInt::Sym(expr, env) = &result else { return Ok(result) };
        if expr.as_int().is_some() {
            return Ok(result);
        }
        // What comes out equal to an operand is computed, too.
        let is_operand = |s: &SymInt| matches!(s, SymInt::Sym(e, _) if e.identity() == expr.identity());
        let result = if is_operand(a) || is_operand(b) { SymInt::Sym(expr.anew(), env.clone()) } else { result };
        self.0.calculate(name, a, b, &result)?;
        Ok(result)
    }

    /// A product; with one, it is the other factor.
    fn mul(&self, a: &SymInt, b: &SymInt) -> Result<SymInt> {
        match (a.as_int(), b.as_int()) {
            (Some(1), _) => Ok(b.clone()),
            (_, Some(1)) => Ok(a.clone()),
            _ => self.made("mul", a, b, a * b),
        }
    }

    fn add(&self, a: &SymInt, b: &SymInt) -> Result<SymInt> {
        self.made("add", a, b, a + b)
    }

    fn sub(&self, a: &SymInt, b: &SymInt) -> Result<SymInt> {
        self.made("sub", a, b, a - b)
    }

    fn holds(&self, a: &SymInt, relation: Relation, b: &SymInt) -> Result<bool> {
        // A symbol that has turned out to be a number is that.
        if let (Some(a), Some(b)) = (a.expr().as_int(), b.expr().as_int()) {
            return Ok(relation.holds(a, b));
        }
        self.0.condition(relation.operator(), a, b)?;
        let hints = || Some(relation.holds(a.hint()?, b.hint()?));
        Ok(a.decide(relation, b).or_else(hints).unwrap_or(false))
    }

    fn product(&self, sizes: &[SymInt]) -> Result<SymInt> {
        sizes.iter().try_fold(SymInt::Int(1), |product, size| self.mul(&product, size))
    }

    fn numel(&self, t: &Tensor) -> Result<SymInt> {
        let sizes = t.sizes();
        // What a decomposition works on was counted when it was made.
        if self.0.takes_apart() || !self.0.learns(t, Fact::Numel) {
            return Ok(self.0.counted(&sizes).unwrap_or_else(|| t.numel()));
        }
        let count = self.product(&sizes)?;
        self.0.note_count(sizes, count.clone());
        Ok(count)
    }

    /// Looks whether elements lie in order, from the innermost dimension outwards; where they do not, makes one condition of it.
    fn contiguity(&self, t: &Tensor) -> Result<()> {
        let numel = self.numel(t)?;
        if !self.0.learns(t, Fact::Contiguity) {
            return Ok(());
        }
        self.look_at_order(&numel, &t.geometry()).map(drop)
    }

    /// The same of a tensor that lies so; whether they do.
    fn look_at_order(&self, numel: &SymInt, g: &Geometry) -> Result<bool> {
        let (zero, one) = (SymInt::Int(0), SymInt::Int(1));
        self.holds(numel, Relation::Eq, &zero)?;
        if self.lies_in_order(g)? {
            return Ok(true);
        }
        self.holds(numel, Relation::Eq, &zero)?;
        let mut expected = one.clone();
        for (size, stride) in g.sizes.iter().zip(&g.strides).rev() {
            self.holds(size, Relation::Eq, &one)?;
            self.holds(stride, Relation::Eq, &expected)?;
            expected = self.mul(&expected, size)?;
        }
        // Whether it lies in order is asked once more, plainly.
        self.holds(numel, Relation::Eq, &zero)?;
        let mut expected = one.clone();
        for (size, stride) in g.sizes.iter().zip(&g.strides).rev() {
            if self.holds(size, Relation::Eq, &one)? {
                continue;
            }
            if self.holds(stride, Relation::Ne, &expected)? {
                break;
            }
            expected = self.mul(&expected, size)?;
        }
        Ok(false)
    }

    /// A size, or one where it is less: a node of its own, whatever is known of the size.
    fn at_least_one(&self, size: &SymInt) -> Result<SymInt> {
        let one = SymInt::Int(1);
        if size.expr().as_int().is_none() {
            self.0.condition("sym_max", size, &one)?;
        }
        Ok(size.max(&one))
    }

    fn lies_in_order(&self, g: &Geometry) -> Result<bool> {
        let one = SymInt::Int(1);
        let (mut expected, mut at_most) = (one.clone(), one.clone());
        for (size, stride) in g.sizes.iter().zip(&g.strides).rev() {
            if self.holds(size, Relation::Eq, &one)? {
                continue;
            }
            if self.holds(stride, Relation::Ne, &expected)? && self.holds(stride, Relation::Ne, &at_most)? {
                return Ok(false);
            }
            at_most = self.mul(&at_most, &self.at_least_one(size)?)?;
            expected = self.mul(&expected, size)?;
        }
        Ok(true)
    }

    /// Sizes that were asked for, with the one that is left out.
    fn infer(&self, numel: &SymInt, wanted: &[SymInt]) -> Result<Vec<SymInt>> {
        let (left_out, one) = (SymInt::Int(-1), SymInt::Int(1));
        let mut known = one.clone();
        for size in wanted.iter().filter(|s| s.as_int() != Some(-1)) {
            self.holds(size, Relation::Eq, &left_out)?;
            self.holds(size, Relation::Gt, &left_out)?;
            known = self.mul(&known, size)?;
        }
        if wanted.iter().all(|s| s.as_int() != Some(-1)) {
            self.holds(numel, Relation::Eq, &known)?;
            return Ok(wanted.to_vec());
        }
        self.holds(&known, Relation::Gt, &SymInt::Int(0))?;
        let left = self.made("mod", numel, &known, numel.modulo(&known)?)?;
        self.holds(&left, Relation::Eq, &SymInt::Int(0))?;
        self.holds(numel, Relation::Eq, &known)?;
        self.holds(&known, Relation::Ne, &SymInt::Int(0))?;
        let rest = self.made("floordiv", numel, &known, numel.floor_div(&known)?)?;
        Ok(wanted.iter().map(|s| if s.as_int() == Some(-1) { rest.clone() } else { s.clone() }).collect())
    }

    /// Looks for strides of a view, chunk by chunk of dimensions that lie next to each other.
    fn view_strides(&self, g: &Geometry, wanted: &[SymInt]) -> Result<()> {
        let (zero, one) = (SymInt::Int(0), SymInt::Int(1));
        let numel = self.product(&g.sizes)?;
        if self.holds(&numel, Relation::Eq, &zero)? {
            return Ok(());
        }
        let Some(mut base) = g.strides.last().cloned() else { return Ok(()) };
        let (mut count, mut viewed, mut left) = (one.clone(), one.clone(), wanted);
        for d in (0..g.sizes.len()).rev() {
            count = self.mul(&count, &g.sizes[d])?;
            let ends = d == 0
                || (self.holds(&g.sizes[d - 1], Relation::Ne, &one)?
                    && self.holds(&g.strides[d - 1], Relation::Ne, &self.mul(&count, &base)?)?);
            if !ends {
                continue;
            }
            while let Some((size, rest)) = left.split_last() {
                if !self.holds(&viewed, Relation::Lt, &count)? && !self.holds(size, Relation::Eq, &one)? {
                    break;
                }
                self.mul(&viewed, &base)?;
                viewed = self.mul(&viewed, size)?;
                left = rest;
            }
            if self.holds(&viewed, Relation::Ne, &count)? {
                return Ok(());
            }
            if d > 0 {
                base = g.strides[d - 1].clone();
                (count, viewed) = (one.clone(), one.clone());
            }
        }
        Ok(())
    }
}

/// The tracer, where a size of a tensor is symbolic. What functionalization has taken apart was asked before; what a decomposition
/// takes apart was not.
fn seen_with(t: &Tensor) -> Option<Seen> {
    let tracer = tracing().filter(|tracer| has_layer(Key::Functionalize) || tracer.takes_apart())?;
    is_symbolic(t).then_some(Seen(tracer))
}

/// Whether a size or a stride is symbolic.
fn is_symbolic(t: &Tensor) -> bool {
    let g = t.geometry();
    g.sizes.iter().chain(&g.strides).any(|s| s.as_int().is_none())
}

/// A product of sizes, multiplied one after the other.
pub fn multiply(sizes: &[SymInt]) -> Result<SymInt> {
    tracing().map_or_else(|| Ok(shape::numel(sizes)), |tracer| Seen(tracer).product(sizes))
}

/// `a + b`
pub fn add_sizes(a: &SymInt, b: &SymInt) -> Result<SymInt> {
    tracing().map_or_else(|| Ok(a + b), |tracer| Seen(tracer).add(a, b))
}

/// `a - b`
pub fn subtract_sizes(a: &SymInt, b: &SymInt) -> Result<SymInt> {
    tracing().map_or_else(|| Ok(a - b), |tracer| Seen(tracer).sub(a, b))
}

/// Python's `a // b`
pub fn divide_sizes(a: &SymInt, b: &SymInt) -> Result<SymInt> {
    let result = a.floor_div(b)?;
    tracing().map_or_else(|| Ok(result.clone()), |tracer| Seen(tracer).made("floordiv", a, b, result.clone()))
}

/// Python's `a % b`
pub fn remainder_sizes(a: &SymInt, b: &SymInt) -> Result<SymInt> {
    let result = a.modulo(b)?;
    tracing().map_or_else(|| Ok(result.clone()), |tracer| Seen(tracer).made("mod", a, b, result.clone()))
}

/// Two sizes are compared.
pub fn compare_sizes(a: &SymInt, relation: Relation, b: &SymInt) -> Result<()> {
    tracing().map_or(Ok(()), |tracer| Seen(tracer).holds(a, relation, b).map(drop))
}

/// A tensor is asked how many elements it has.
pub fn ask_numel(t: &Tensor) -> Result<()> {
    seen_with(t).map_or(Ok(()), |seen| seen.numel(t).map(drop))
}

/// How many elements a tensor of these sizes has: as it was computed when it was asked, where it was.
pub fn counted(sizes: &[SymInt]) -> SymInt {
    tracing().and_then(|tracer| tracer.counted(sizes)).unwrap_or_else(|| shape::numel(sizes))
}

/// How many elements a tensor has; where a tracer sees it, a number that is read off this very tensor.
pub fn count_of(t: &Tensor) -> SymInt {
    tracing().and_then(|tracer| tracer.count_of(t)).unwrap_or_else(|| t.numel())
}

/// A tensor is asked in which order its dimensions lie in memory.
pub fn ask_order(t: &Tensor) -> Result<()> {
    let Some(seen) = seen_with(t) else { return Ok(()) };
    let numel = seen.numel(t)?;
    if !seen.holds(&numel, Relation::Lt, &SymInt::Int(2))? {
        seen.lies_in_order(&t.geometry())?;
    }
    Ok(())
}

/// A tensor is asked whether it has elements.
pub fn ask_empty(t: &Tensor) -> Result<()> {
    let Some(seen) = seen_with(t) else { return Ok(()) };
    seen.holds(&seen.numel(t)?, Relation::Eq, &SymInt::Int(0)).map(drop)
}

/// A tensor is asked whether its elements lie in order.
pub fn ask_contiguity(t: &Tensor) -> Result<()> {
    seen_with(t).map_or(Ok(()), |seen| seen.contiguity(t))
}

/// A tensor whose elements do not lie in order is asked for a view of other sizes; gives them as they were computed, where a
/// tracer sees it.
pub fn ask_view(t: &Tensor, wanted: &[SymInt]) -> Result<Option<Vec<SymInt>>> {
    let Some(seen) = seen_with(t) else { return Ok(None) };
    let numel = seen.numel(t)?;
    let sizes = seen.infer(&numel, wanted)?;
    seen.view_strides(&t.geometry(), &sizes)?;
    Ok(Some(sizes))
}
