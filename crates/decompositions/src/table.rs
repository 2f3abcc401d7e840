//! The table: decompositions by operator, and what becomes of dtypes around them.

use super::expr;
use diagnostics::error::Result;
use dispatch::{Call, OpEntry, Value, all, lookup};
use operators::shapes::{default_dtype, result_type};
use std::collections::HashMap;
use tensor::{Dtype, Tensor};

/// What a call decomposes to; `None` where this call stays as it is.
pub type Decomposed = Result<Option<Value>>;

pub(super) type Rule = fn(&Call) -> Decomposed;

/// What becomes of dtypes around a decomposition.
#[derive(Clone, Copy, PartialEq)]
enum Cast {
    /// Nothing.
    None,
    /// Short floats are computed in float32, and results cast back.
    Compute,
    /// The same, and integers become floats.
    Float,
}

/// Decompositions by operator.
#[derive(Default)]
pub struct Table {
    rules: HashMap<usize, Decomposition>,
}

/// How one operator decomposes.
pub(super) struct Decomposition {
    cast: Cast,
    rule: Rule,
    /// Whether calls with complex tensors decompose, too. Others have kernels of their own here.
    takes_complex: bool,
}

impl Decomposition {
    /// Says that calls with complex tensors decompose, too.
    pub(super) fn takes_complex(&mut self) {
        self.takes_complex = true;
    }
}

impl Table {
    pub(super) fn add(&mut self, name: &str, rule: Rule) -> &mut Decomposition {
        self.put(name, Cast::None, rule)
    }

    pub(super) fn compute(&mut self, name: &str, rule: Rule) -> &mut Decomposition {
        self.put(name, Cast::Compute, rule)
    }

    pub(super) fn float(&mut self, name: &str, rule: Rule) -> &mut Decomposition {
        self.put(name, Cast::Float, rule)
    }

    fn put(&mut self, name: &str, cast: Cast, rule: Rule) -> &mut Decomposition {
        let entry = lookup(name).unwrap_or_else(|| panic!("a decomposition of {name}, which the catalogue does not have"));
        assert!(!self.rules.contains_key(&entry.id), "two decompositions of {name}");
        self.rules.entry(entry.id).or_insert(Decomposition { cast, rule, takes_complex: false })
    }

    /// Whether the table has a rule for an operator.
    pub fn has(&self, name: &str) -> bool {
        lookup(name).is_some_and(|entry| self.rules.contains_key(&entry.id))
    }

    /// The names of the operators it has rules for, sorted.
    pub fn names(&self) -> Vec<&'static str> {
        let known = all().iter().filter(|entry| self.rules.contains_key(&entry.id));
        let mut names: Vec<_> = known.map(|entry| entry.name).collect();
        names.sort_unstable();
        names
    }

    /// Makes a call in terms of other operators; `None` where it stays as it is.
    ///
    /// # Errors
    /// Those of the operators it calls.
    pub fn apply(&self, entry: &'static OpEntry, args: &[Value]) -> Decomposed {
        let Some(Decomposition { cast, rule, takes_complex }) = self.rules.get(&entry.id) else { return Ok(None) };
        let mut has_complex = false;
        args.iter().for_each(|v| v.for_each_tensor(&mut |t| has_complex |= t.dtype().is_complex()));
        if has_complex && !takes_complex {
            return Ok(None);
        }
        let call = Call { entry, args };
        if *cast == Cast::None { rule(&call) } else { promoted(&call, *cast, *rule) }
    }
}

/// The dtype that elements of a dtype are computed in.
pub(super) fn computation_dtype(dtype: Dtype) -> Dtype {
    if matches!(dtype, Dtype::Float16 | Dtype::BFloat16) { Dtype::Float32 } else { dtype }
}

/// Runs a rule on the promoted computation dtype of the tensors among its arguments; results get the promoted dtype.
fn promoted(call: &Call, cast: Cast, rule: Rule) -> Decomposed {
    let tensors: Vec<&Value> = call.args.iter().filter(|v| v.as_tensor().is_some()).collect();
    if tensors.is_empty() {
        return rule(call);
    }
    let mut result = result_type(&tensors)?;
    if cast == Cast::Float && result.is_integral() {
        result = default_dtype();
    }
    let compute = computation_dtype(result);
    let mut to_compute = |t: &Tensor| expr::cast(t, compute);
    let args = call.args.iter().map(|v| if v.as_tensor().is_some() { v.map_tensors(&mut to_compute) } else { Ok(v.clone()) });
    let args = args.collect::<Result<Vec<_>>>()?;
    let made = rule(&Call { entry: call.entry, args: &args })?;
    made.map(|value| value.map_tensors(&mut |t| expr::cast(t, result))).transpose()
}
