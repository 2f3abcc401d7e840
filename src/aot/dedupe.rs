//! Duplicate inputs: one tensor given twice is one input of the compiled function, where it is written to.

use super::schemas::{Adapt, Adapted, Function, InputSpec, ViewAndMutationMeta};
use crate::tensor::Tensor;
use std::rc::Rc;

/// Takes duplicates away where one of them is written to; `None` where there is nothing to do.
pub fn dedupe(f: &Function, inputs: &[InputSpec], metadata: &ViewAndMutationMeta) -> Option<Adapted> {
    let first = |i: usize| {
        let id = inputs[i].identity.tensor;
        (0..i).find(|j| id != 0 && inputs[*j].identity.tensor == id).unwrap_or(i)
    };
    let is_written = |i: usize| metadata.input_info[i].mutates_data || metadata.input_info[i].mutates_metadata;
    if !(0..inputs.len()).any(|i| first(i) != i && is_written(i)) {
        return None;
    }
    let kept: Vec<usize> = (0..inputs.len()).filter(|i| first(*i) == *i).collect();
    let places: Vec<usize> = (0..inputs.len()).map(|i| kept.iter().position(|k| *k == first(i)).unwrap_or(0)).collect();
    let inner = f.clone();
    let function: Function = Rc::new(move |given: &[Tensor]| inner(&places.iter().map(|p| given[*p].clone()).collect::<Vec<_>>()));
    let specs = kept.iter().map(|i| inputs[*i].clone()).collect();
    let code = format!("args = [{}]", kept.iter().map(|i| format!("args[{i}]")).collect::<Vec<_>>().join(", "));
    let adapt: Adapt = Rc::new(move |given| Ok(kept.iter().map(|i| given[*i].clone()).collect()));
    Some(Adapted { function, inputs: specs, adapt, code })
}

/// Duplicates that are left, because nobody writes to them, are leaves that share storage with the first: they get gradients of their own.
pub fn leave_unwritten(inputs: &mut [InputSpec]) {
    for i in 0..inputs.len() {
        let id = inputs[i].identity.tensor;
        if id != 0 && (0..i).any(|j| inputs[j].identity.tensor == id) {
            inputs[i].is_leaf = true;
            inputs[i].identity.base = None;
            inputs[i].identity.tensor = 0;
        }
    }
}
