//! Backwards of subgraphs that calls share: gradients that look alike have one.

use super::Tracer;
use crate::dispatch::Value;
use crate::tensor::{Tensor, TensorSpec};
use std::rc::Rc;

/// What gradients look like, and for each the last that is the same tensor.
pub(super) struct Look {
    specs: Vec<TensorSpec>,
    same: Vec<Option<usize>>,
}

impl Tracer {
    /// The number of a subgraph's backward that takes gradients which look like these.
    pub(in crate::aot) fn number_of_backward(&self, identifier: &Rc<str>, tangents: &[Value]) -> usize {
        let tensors: Vec<&Tensor> = tangents.iter().filter_map(Value::as_tensor).collect();
        let look = Look {
            specs: tensors.iter().map(|t| t.spec()).collect(),
            same: tensors.iter().map(|t| tensors.iter().rposition(|o| o.is(t))).collect(),
        };
        let mut known = self.backwards_of_repeated.borrow_mut();
        let mut of_region = known.iter().filter(|(of, _)| of == identifier);
        let count = of_region.clone().count();
        match of_region.position(|(_, other)| looks_alike(other, &look)) {
            Some(i) => i,
            None => {
                known.push((identifier.clone(), look));
                count
            }
        }
    }
}

fn looks_alike(a: &Look, b: &Look) -> bool {
    let same = |(a, b): (&TensorSpec, &TensorSpec)| {
        let lists = [(&a.geometry.sizes, &b.geometry.sizes), (&a.geometry.strides, &b.geometry.strides)];
        let equal = lists.iter().all(|(x, y)| x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| x.statically_eq(y.clone())));
        equal && a.dtype == b.dtype && a.device == b.device
    };
    a.same == b.same && a.specs.iter().zip(&b.specs).all(same)
}
