//! Arithmetic of sizes in PyTorch's references: operators as PyTorch has them in Python, which it runs on fake tensors to learn what a
//! write gives. Each step here makes the calculations and comparisons of one of them, in its order.

use super::Seen;
use diagnostics::error::Result;
use shape::{Relation, SymInt};
use std::cell::{Cell, OnceCell};
use tensor::{Geometry, Tensor};

/// A fake tensor that a reference computes with.
pub(super) struct FakeTensor {
    geometry: Geometry,
    itemsize: i64,
    /// How many elements it has, once it was asked.
    numel: OnceCell<SymInt>,
    /// Whether it was asked whether its elements lie in order.
    asked_order: Cell<bool>,
}

impl FakeTensor {
    pub(super) fn itemsize(&self) -> i64 {
        self.itemsize
    }

    pub(super) fn sizes(&self) -> &[SymInt] {
        &self.geometry.sizes
    }
}

impl Seen {
    /// The fake tensor of a tensor: its sizes are compared, and the bytes of its storage computed.
    pub(super) fn fakify(&self, t: &Tensor) -> Result<FakeTensor> {
        let g = t.geometry();
        let of = |geometry| FakeTensor {
            geometry,
            itemsize: t.dtype().itemsize() as i64,
            numel: OnceCell::new(),
            asked_order: Cell::new(false),
        };
        if g.sizes.iter().chain(&g.strides).all(|s| s.as_int().is_some()) {
            return Ok(of((*g).clone()));
        }
        let (zero, one) = (SymInt::Int(0), SymInt::Int(1));
        for size in &g.sizes {
            self.holds(size, Relation::Ge, &zero)?;
        }
        let mut reach = one.clone();
        for (size, stride) in g.sizes.iter().zip(&g.strides) {
            if self.holds(size, Relation::Eq, &zero)? {
                return Ok(of((*g).clone()));
            }
            let steps = self.mul(stride, &self.sub(size, &one)?)?;
            reach = self.add(&reach, &steps)?;
        }
        let elements = self.add(&g.offset, &reach)?;
        self.mul(&SymInt::Int(t.dtype().itemsize() as i64), &elements)?;
        Ok(of((*g).clone()))
    }

    /// A new one whose elements lie in order.
    pub(super) fn make(&self, sizes: &[SymInt], itemsize: i64) -> Result<FakeTensor> {
        let (zero, one) = (SymInt::Int(0), SymInt::Int(1));
        for size in sizes {
            self.holds(size, Relation::Ge, &zero)?;
        }
        let elements = self.add(&zero, &self.product(sizes)?)?;
        self.mul(&SymInt::Int(itemsize), &elements)?;
        let mut strides = vec![one.clone(); sizes.len()];
        for d in (1..sizes.len()).rev() {
            strides[d - 1] = self.mul(&strides[d], &self.at_least_one(&sizes[d])?)?;
        }
        let geometry = Geometry { sizes: sizes.to_vec(), strides, offset: zero };
        Ok(FakeTensor { geometry, itemsize, numel: OnceCell::new(), asked_order: Cell::new(false) })
    }

    fn count(&self, t: &FakeTensor) -> Result<SymInt> {
        if let Some(numel) = t.numel.get() {
            return Ok(numel.clone());
        }
        let numel = self.product(&t.geometry.sizes)?;
        Ok(t.numel.get_or_init(|| numel).clone())
    }

    pub(super) fn same_shape(&self, a: &[SymInt], b: &[SymInt]) -> Result<()> {
        if a.len() != b.len() {
            return Ok(());
        }
        a.iter().zip(b).try_for_each(|(a, b)| self.holds(a, Relation::Eq, b).map(drop))
    }

    fn all_same_shape(&self, tensors: &[&FakeTensor]) -> Result<()> {
        tensors.iter().try_for_each(|t| self.same_shape(tensors[0].sizes(), t.sizes()))
    }

    /// In which order an elementwise result lies: that of its operands.
    pub(super) fn order(&self, tensors: &[&FakeTensor]) -> Result<()> {
        self.all_same_shape(tensors)?;
        if tensors[0].sizes().len() < 2 {
            return Ok(());
        }
        for t in tensors {
            self.holds(&self.count(t)?, Relation::Lt, &SymInt::Int(2))?;
            if !self.lies_in_order(&t.geometry)? {
                break;
            }
        }
        Ok(())
    }

    /// The result of an elementwise call of operands of one shape.
    pub(super) fn elementwise(&self, tensors: &[&FakeTensor], itemsize: i64) -> Result<FakeTensor> {
        self.all_same_shape(tensors)?;
        self.order(tensors)?;
        self.all_same_shape(tensors)?;
        self.make(tensors[0].sizes(), itemsize)
    }

    /// The shape that shapes broadcast to.
    pub(super) fn broadcast(&self, shapes: &[&[SymInt]]) -> Result<Vec<SymInt>> {
        let one = SymInt::Int(1);
        let dims = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
        let mut common = vec![one.clone(); dims];
        for shape in shapes {
            for (size, so_far) in shape.iter().rev().zip(common.iter_mut().rev()) {
                if self.holds(size, Relation::Eq, so_far)? {
                    continue;
                }
                if self.holds(so_far, Relation::Eq, &one)? {
                    self.holds(size, Relation::Lt, &SymInt::Int(0))?;
                    *so_far = size.clone();
                }
                if !self.holds(size, Relation::Eq, &one)? {
                    self.holds(so_far, Relation::Eq, size)?;
                }
            }
        }
        Ok(common)
    }

    /// Whether a tensor is expanded to a shape.
    pub(super) fn should_expand(&self, sizes: &[SymInt], common: &[SymInt]) -> Result<bool> {
        let one = SymInt::Int(1);
        if sizes.len() != common.len() {
            return Ok(true);
        }
        for (size, wanted) in sizes.iter().zip(common) {
            if self.holds(size, Relation::Ne, wanted)? {
                return Ok(true);
            }
            // Whether both are one is asked first, then whether either is.
            let both = [self.holds(size, Relation::Eq, &one)?, self.holds(wanted, Relation::Eq, &one)?];
            if both != [true, true] {
                self.holds(size, Relation::Eq, &one)?;
                self.holds(wanted, Relation::Eq, &one)?;
            }
            self.holds(size, Relation::Eq, wanted)?;
        }
        Ok(false)
    }

    /// Looks at operands to bring them to one shape; those that have another are expanded.
    pub(super) fn expand_all(&self, tensors: &[&FakeTensor]) -> Result<()> {
        let shapes: Vec<&[SymInt]> = tensors.iter().map(|t| t.sizes()).collect();
        let common = self.broadcast(&shapes)?;
        for t in tensors {
            if self.should_expand(t.sizes(), &common)? {
                self.expand(t.sizes(), &common)?;
            }
        }
        Ok(())
    }

    fn expand(&self, sizes: &[SymInt], wanted: &[SymInt]) -> Result<()> {
        let (zero, one) = (SymInt::Int(0), SymInt::Int(1));
        let Some(lead) = wanted.len().checked_sub(sizes.len()) else { return Ok(()) };
        let pairs = || sizes.iter().zip(&wanted[lead..]);
        let broadcasts = |size: &SymInt, wanted: &SymInt| {
            self.holds(size, Relation::Eq, &one)?;
            self.holds(wanted, Relation::Eq, size)
        };
        for (size, wanted) in pairs() {
            self.holds(wanted, Relation::Eq, &SymInt::Int(-1))?;
            broadcasts(size, wanted)?;
            self.holds(wanted, Relation::Ge, &zero)?;
        }
        for wanted in wanted {
            self.holds(wanted, Relation::Ge, &zero)?;
        }
        for (size, wanted) in pairs() {
            broadcasts(size, wanted)?;
        }
        for wanted in &wanted[..lead] {
            self.holds(wanted, Relation::Ne, &one)?;
        }
        for (size, wanted) in pairs() {
            self.holds(size, Relation::Eq, &one)?;
            self.holds(size, Relation::Eq, wanted)?;
        }
        Ok(())
    }

    /// Whether elements share memory is asked: not where they lie in order, nor where, dimension by dimension from the innermost,
    /// nothing is left out.
    fn look_for_overlap(&self, numel: &SymInt, g: &Geometry) -> Result<()> {
        if self.look_at_order(numel, g)? {
            return Ok(());
        }
        let one = SymInt::Int(1);
        if let ([_, channels, _, _], [_, stride, ..]) = (&g.sizes[..], &g.strides[..]) {
            // Whether channels come last, plainly and as one condition.
            if !self.holds(channels, Relation::Eq, &one)? {
                self.holds(stride, Relation::Ne, &one)?;
            }
            let mut expected = one.clone();
            for d in [1, 3, 2, 0] {
                self.holds(&g.sizes[d], Relation::Eq, &one)?;
                self.holds(&g.strides[d], Relation::Eq, &expected)?;
                expected = self.mul(&expected, &g.sizes[d])?;
            }
        }
        let mut dims: Vec<usize> = (0..g.sizes.len()).collect();
        dims.sort_by_key(|d| g.strides[*d].hint().unwrap_or(0));
        let mut expected = one;
        for d in dims {
            if self.holds(&g.strides[d], Relation::Ne, &expected)? {
                break;
            }
            expected = self.mul(&expected, &g.sizes[d])?;
        }
        Ok(())
    }

    /// What is computed is copied to where it is to be.
    pub(super) fn copy(&self, target: &FakeTensor, value: &FakeTensor) -> Result<()> {
        let numel = self.count(target)?;
        if !target.asked_order.replace(true) {
            self.look_for_overlap(&numel, &target.geometry)?;
        }
        self.expand(value.sizes(), target.sizes())
    }
}
