//! Tensors of one element that a script wrote down, and what follows from them alone: their numbers are known while a graph is traced.

use crate::dispatch::{OpEntry, OpRef, Rule, Tags, Value, run_backend};
use crate::error::Result;
use crate::shape::SymInt;
use crate::tensor::Tensor;
use std::cell::RefCell;
use std::collections::HashMap;

static CLONE: OpRef = OpRef::new("clone");

/// Such tensors, by the storage of what stands for them in a trace.
#[derive(Default)]
pub struct Constants(RefCell<HashMap<u64, Tensor>>);

impl Constants {
    /// `traced` stands for a tensor whose values are known; a copy of them is kept where there is one.
    ///
    /// # Errors
    /// Those of the copy.
    pub fn keep(&self, traced: &Tensor, t: &Tensor) -> Result<()> {
        // One that was written to has its new value already.
        if !t.is(traced) && t.numel().as_int().is_some_and(|n| n <= 1) {
            let copy = run_backend(CLONE.get(), &[t.into(), Value::None], false)?.into_tensor()?;
            self.0.borrow_mut().insert(traced.storage().id(), copy);
        }
        Ok(())
    }

    /// What a tensor stands for, where that is known. A view of one element is that element.
    pub fn of(&self, t: &Tensor) -> Option<Tensor> {
        let same = |c: &Tensor| c.dim() == t.dim() && c.numel().as_int() == t.numel().as_int();
        self.0.borrow().get(&t.storage().id()).filter(|c| same(c)).cloned()
    }

    /// The result of a call whose tensors are constants, computed; one that is written to has its new value, and is the result. Where
    /// something else takes part, what is written to is no constant any more.
    ///
    /// # Errors
    /// Those of the call.
    pub fn computed(&self, entry: &'static OpEntry, args: &[Value]) -> Result<Option<Value>> {
        if self.0.borrow().is_empty() {
            return Ok(None);
        }
        let (mut count, mut known) = (0, 0);
        args.iter().for_each(|v| v.for_each_tensor(&mut |t| (count, known) = (count + 1, known + usize::from(self.of(t).is_some()))));
        let is_inplace = matches!(entry.rule, Rule::Inplace(_));
        let is_known = count > 0 && count == known && !entry.tags.has(Tags::RANDOM) && !args.iter().any(is_symbolic);
        if !is_known || entry.is_mutable() && !is_inplace {
            if entry.is_mutable() {
                let mut constants = self.0.borrow_mut();
                args.iter().for_each(|v| v.for_each_tensor(&mut |t| drop(constants.remove(&t.storage().id()))));
            }
            return Ok(None);
        }
        let value = |t: &Tensor| Ok(self.of(t).unwrap_or_else(|| t.clone()));
        let real = args.iter().map(|v| v.map_tensors(&mut |t| value(t))).collect::<Result<Vec<_>>>()?;
        let result = run_backend(entry, &real, false)?;
        if is_inplace {
            return Ok(args.first().cloned());
        }
        let mut is_small = true;
        result.for_each_tensor(&mut |t| is_small &= t.numel().as_int().is_some_and(|n| n <= 1));
        Ok(is_small.then_some(result))
    }

    /// Keeps what the tensors of a traced call's result stand for, from the result that was computed.
    ///
    /// # Errors
    /// Those of copies.
    pub fn keep_all(&self, traced: &Value, computed: &Value) -> Result<()> {
        let (mut all, mut known) = (Vec::new(), Vec::new());
        traced.for_each_tensor(&mut |t| all.push(t.clone()));
        computed.for_each_tensor(&mut |t| known.push(t.clone()));
        all.iter().zip(&known).try_for_each(|(t, constant)| self.keep(t, constant))
    }
}

fn is_symbolic(v: &Value) -> bool {
    match v {
        Value::Int(size) => matches!(size, SymInt::Sym(..)),
        Value::SymFloat(_) => true,
        Value::List(items) => items.iter().any(is_symbolic),
        _ => false,
    }
}
