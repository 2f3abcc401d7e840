//! Sizes that are calculated on the way to a call, as nodes of the graph being traced.

use super::sizes::{OwnSize, Sizes};
use super::{Tracer, coming_from};
use crate::error::Result;
use crate::graph::{Arg, FakeValue, Meta, Target};
use crate::shape::{Expr, ShapeEnv, SymInt};
use std::rc::Rc;

/// A calculation of a size: the size, where its symbols are known, the operation and its operands.
pub(super) type Pending = (Expr, ShapeEnv, Rc<(&'static str, [SymInt; 2])>);

impl Tracer {
    /// A size was calculated from two on the way to a call. While the engine runs, the calculation is made where something reads
    /// it, else at once: those that nobody reads leave a gap in the names.
    pub(super) fn calculate(&self, name: &'static str, operands: [&SymInt; 2], result: &SymInt) -> Result<()> {
        let SymInt::Sym(own, env) = result else { return Ok(()) };
        if self.in_backward.get() {
            let operands = Rc::new((name, operands.map(Clone::clone)));
            self.pending.borrow_mut().insert(own.identity(), (own.clone(), env.clone(), operands));
            return Ok(());
        }
        self.make(name, operands, own, env)
    }

    /// Whether what the script calculates is part of the graph.
    pub fn sees_script(&self) -> bool {
        self.sees_script.get().is_some()
    }

    /// The script calculated a size from two, where its own calculations are part of the graph.
    pub fn script_calculated(&self, name: &'static str, operands: [&SymInt; 2], result: &SymInt) -> Result<()> {
        let Some(provider) = self.sees_script.get() else { return Ok(()) };
        coming_from(provider(), || self.calculate(name, operands, result))
    }

    /// The script compared two sizes, where what it calculates is part of the graph. What only the run knows is a node where it is checked.
    pub fn script_compared(&self, name: &'static str, operands: [&SymInt; 2]) {
        if self.sees_script() && operands.iter().all(|size| size.hint().is_some()) {
            self.compare(name, operands);
        }
    }

    fn make(&self, name: &'static str, operands: [&SymInt; 2], own: &Expr, env: &ShapeEnv) -> Result<()> {
        let args: Option<Vec<Arg>> = operands.iter().map(|size| self.at_hand(size)).collect();
        let Some(args) = args else {
            self.graph.borrow_mut().reserve_name(name);
            return Ok(());
        };
        let value = FakeValue::Int(SymInt::Sym(own.clone(), env.clone()));
        let meta = Meta { value: Some(value), ..self.meta() };
        let id = self.graph.borrow_mut().call(name, Target::operator(name), args, Vec::new(), meta);
        self.own_sizes.borrow_mut().insert(own.identity(), (own.clone(), OwnSize::Node(id)));
        Ok(())
    }

    /// Two sizes were compared on the way to a call: nobody reads that, but while the forward is traced its name is taken.
    pub(super) fn compare(&self, name: &'static str, operands: [&SymInt; 2]) {
        if !self.in_backward.get() {
            operands.iter().for_each(|size| drop(self.at_hand(size)));
            self.graph.borrow_mut().reserve_name(name);
        }
    }

    /// The argument of a size that is a number, a symbol, a tensor's, or was computed before.
    pub(super) fn at_hand(&self, size: &SymInt) -> Option<Arg> {
        let SymInt::Sym(own, env) = size else { return size.as_int().map(Arg::Int) };
        let expr = env.simplify(own);
        if expr.as_int().is_some() || expr.as_symbol().is_some() {
            return self.size(size).ok();
        }
        if let Some(known) = Sizes(self, env).own(own, &expr) {
            return Some(known);
        }
        self.symbols.borrow().get(&expr).copied().map(Arg::Node)
    }

    /// Makes a calculation that something reads, and those that it reads in turn; whether there was one.
    pub(super) fn make_pending(&self, own: &Expr) -> Result<bool> {
        let pending = self.pending.borrow_mut().remove(&own.identity());
        let Some((own, env, calculation)) = pending else { return Ok(false) };
        let (name, operands) = &*calculation;
        for operand in operands {
            if let SymInt::Sym(own, _) = operand {
                self.make_pending(own)?;
            }
        }
        self.make(name, [&operands[0], &operands[1]], &own, &env)?;
        Ok(true)
    }

    /// The number of elements of a tensor of these very sizes that was asked for it last.
    pub(super) fn counted(&self, sizes: &[SymInt]) -> Option<SymInt> {
        self.counts.borrow().get(&identities(sizes)).map(|(_, count)| count.clone())
    }

    /// A tensor of these sizes has so many elements.
    pub(super) fn note_count(&self, sizes: Vec<SymInt>, count: SymInt) {
        self.counts.borrow_mut().insert(identities(&sizes), (sizes, count));
    }
}

/// Which computations of sizes these are.
fn identities(sizes: &[SymInt]) -> Vec<(usize, i64)> {
    let of = |size: &SymInt| match size {
        SymInt::Int(n) => (0, *n),
        SymInt::Sym(own, _) => (own.identity(), 0),
    };
    sizes.iter().map(of).collect()
}
