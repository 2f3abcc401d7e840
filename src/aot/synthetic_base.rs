//! Synthetic bases: inputs that share storage, one of them written to, become one input, their base; the function's own inputs
//! are views of it, made inside.

use super::schemas::{Adapt, Adapted, Function, Identity, InputInfo, InputSpec, MutationType, OutputInfo, OutputType, ViewAndMutationMeta};
use super::tangents::tangent_positions;
use crate::autograd::{ViewSteps, meta};
use crate::dispatch::Value;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::SourceName;
use crate::shape::SymInt;
use crate::tensor::{Geometry, Tensor, TensorSpec};
use std::rc::Rc;

/// Where an input of the function comes from among the new inputs.
#[derive(Clone)]
enum Origin {
    /// It is one of them.
    Itself(usize),
    /// It is a view of one.
    ViewOf(usize, TensorSpec, bool),
}

fn assertion(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Assertion, message)
}

fn hints(values: &[SymInt]) -> Option<Vec<i64>> {
    values.iter().map(SymInt::hint).collect()
}

/// Sizes, strides and offset in numbers.
struct Interval {
    sizes: Vec<i64>,
    strides: Vec<i64>,
    first: i64,
}

impl Interval {
    fn of(g: &Geometry) -> Option<Self> {
        Some(Interval { sizes: hints(&g.sizes)?, strides: hints(&g.strides)?, first: g.offset.hint()? })
    }

    fn is_empty(&self) -> bool {
        self.sizes.contains(&0)
    }

    fn last(&self) -> i64 {
        self.first + self.sizes.iter().zip(&self.strides).map(|(size, stride)| (size - 1) * stride).sum::<i64>()
    }
}

/// Whether two tensors of one storage surely have no element in common: their intervals are apart, or both are matrices with
/// rows as contiguous intervals that lie beside each other.
fn apart(a: &Geometry, b: &Geometry) -> bool {
    let (Some(x), Some(y)) = (Interval::of(a), Interval::of(b)) else { return false };
    if x.is_empty() || y.is_empty() {
        return true;
    }
    let (x, y) = if x.first > y.first { (y, x) } else { (x, y) };
    if x.last() < y.first {
        return true;
    }
    let rows = |t: &Interval| t.sizes.len() == 2 && t.strides[1] == 1 && t.strides[0] > 0;
    if !rows(&x) || !rows(&y) || x.strides[0] != y.strides[0] {
        return false;
    }
    let column = (y.first - x.first) % x.strides[0];
    column >= x.sizes[1] && column + y.sizes[1] <= x.strides[0]
}

/// `compute_overlapping_inputs`: of each input, whether it overlaps another one of its storage.
pub fn overlapping<'a>(inputs: impl Iterator<Item = &'a InputSpec>) -> Vec<bool> {
    let inputs: Vec<&InputSpec> = inputs.collect();
    let overlap = |a: &InputSpec, b: &InputSpec| {
        let storage = a.identity.storage;
        storage != 0 && storage == b.identity.storage && !apart(&a.spec.geometry, &b.spec.geometry)
    };
    (0..inputs.len()).map(|i| (0..inputs.len()).any(|j| i != j && overlap(inputs[i], inputs[j]))).collect()
}

/// Groups of inputs to merge, each in order.
fn groups(inputs: &[InputSpec], metadata: &ViewAndMutationMeta) -> Vec<Vec<usize>> {
    let storage = |i: usize| inputs[i].identity.storage;
    let overlapping = overlapping(inputs.iter());
    let mut found = Vec::new();
    for i in 0..inputs.len() {
        if storage(i) == 0 || (0..i).any(|j| storage(j) == storage(i)) {
            continue;
        }
        let group: Vec<usize> = (i..inputs.len()).filter(|j| storage(*j) == storage(i)).collect();
        let is_written = group.iter().any(|i| metadata.input_info[*i].mutates_data);
        if is_written && group.iter().any(|i| overlapping[*i]) {
            found.push(group);
        }
    }
    found
}

/// What PyTorch refuses of a group.
fn check(inputs: &[InputSpec], group: &[usize], is_inference: bool) -> Result<()> {
    let base = |i: usize| inputs[i].identity.base.as_ref().map(|b| b.identity.tensor);
    let dtypes = |i: usize| inputs[i].identity.base.as_ref().map_or(inputs[i].spec.dtype, |b| b.spec.dtype);
    for pair in group.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let (own_a, own_b) = (inputs[a].identity.tensor, inputs[b].identity.tensor);
        let related = (own_a != 0 && own_a == own_b)
            || ((base(a).is_some() || base(b).is_some()) && (base(a) == base(b) || base(a) == Some(own_b) || base(b) == Some(own_a)));
        if !is_inference && !related {
            return Err(assertion(format!(
                "aot_autograd() does not yet handle non-differentiable view input mutations. input {a} and input {b} share storage but are not differentiable views of each other."
            )));
        }
        if inputs[a].spec.dtype != inputs[b].spec.dtype || dtypes(a) != inputs[a].spec.dtype || dtypes(b) != inputs[b].spec.dtype {
            return Err(assertion("aot_autograd() does not yet handle input mutations on views with different dtypes."));
        }
    }
    let bases: Vec<u64> = group.iter().filter_map(|i| base(*i)).collect();
    let Some(first) = bases.first() else { return Ok(()) };
    if bases.iter().any(|b| b != first) {
        return Err(assertion(
            "aot_autograd() does not yet handle non-differentiable view input mutations. Aliased inputs share storage but have different autograd ._base tensors.",
        ));
    }
    if group.iter().any(|i| base(*i).is_none() && inputs[*i].identity.tensor != *first) {
        return Err(assertion(
            "aot_autograd() does not yet handle non-differentiable view input mutations. Aliased inputs share storage but have mixed autograd ._base states.",
        ));
    }
    Ok(())
}

/// The spec of a group's base: the tensor all are views of, or the whole storage as a vector.
fn base_spec(inputs: &[InputSpec], group: &[usize]) -> InputSpec {
    if let Some(base) = group.iter().find_map(|i| inputs[*i].identity.base.as_ref()) {
        return (**base).clone();
    }
    let first = &inputs[group[0]];
    let spec = TensorSpec::contiguous(vec![SymInt::Int(first.identity.storage_elements)], first.spec.dtype, first.spec.device);
    let names: Vec<&str> = group.iter().filter_map(|i| inputs[*i].called.as_deref()).map(|called| called.name.as_str()).collect();
    let called = (names.len() == group.len()).then(|| Rc::new(SourceName { name: names.join(", "), is_parameter: false }));
    InputSpec {
        called,
        spec,
        requires_grad: false,
        is_leaf: true,
        is_static: false,
        plain: None,
        subclass: None,
        math_bits: Default::default(),
        identity: Identity::default(),
    }
}

/// The base itself, when the function is called.
fn base_of(given: &[Tensor], group: &[usize]) -> Result<Tensor> {
    if let Some(base) = group.iter().find_map(|i| meta::base(&given[*i])) {
        return Ok(base);
    }
    let first = &given[group[0]];
    let elements = first.storage().nbytes().guard_int()? / first.dtype().itemsize() as i64;
    let spec = TensorSpec::contiguous(vec![SymInt::Int(elements)], first.dtype(), first.device());
    Ok(first.view_as(spec.geometry))
}

/// A view of a base with the geometry and requires_grad of an input.
fn view_of(base: &Tensor, spec: &TensorSpec, requires_grad: bool) -> Result<Tensor> {
    let g = &spec.geometry;
    let view = crate::t!("as_strided", base, &g.sizes, &g.strides, &g.offset)?;
    match (meta::requires_grad(base), requires_grad) {
        (true, false) => crate::t!("detach", view),
        (false, true) => meta::set_requires_grad(&view, true).map(|()| view),
        _ => Ok(view),
    }
}

/// PyTorch takes the tangents of merged inputs for the first ones, in place of those of the first inputs written to. Where several were
/// written to that count is wrong, and where the write stays in the graph they meet other outputs: it refuses both.
pub fn check_tangents(before: &ViewAndMutationMeta, merged: &ViewAndMutationMeta, inputs: &[InputSpec]) -> Result<()> {
    let differentiable = |i: &usize| merged.input_info[*i].mutates_data && merged.input_info[*i].requires_grad;
    let counted: Vec<usize> = (0..inputs.len()).filter(differentiable).collect();
    let tangents = counted.len() + tangent_positions(before).len().saturating_sub(counted.len());
    let wanted = tangent_positions(merged);
    if wanted.len() != tangents {
        return Err(assertion(format!("outs_to_grad length ({}) != tangents length ({tangents})", wanted.len())));
    }
    let returned = merged.runtime_mutated();
    for (input, position) in counted.iter().zip(&wanted) {
        let output = position.checked_sub(returned.len()).and_then(|o| merged.output_info.get(o));
        let sizes = hints(&inputs[*input].spec.geometry.sizes).unwrap_or_default();
        if let Some(numel) = output.and_then(|o| o.spec.as_ref()?.geometry.numel().hint()).filter(|n| *n != sizes.iter().product::<i64>()) {
            let sizes = sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(Error::runtime(format!("shape '[{sizes}]' is invalid for input of size {numel}")));
        }
    }
    Ok(())
}

/// What is known of the merged inputs, derived from what was known of each, as in PyTorch: a base counts as written to, and outputs
/// keep the view operators that were seen before the merge, also where these do not fit the base.
fn merged_metadata(
    before: &ViewAndMutationMeta,
    groups: &[Vec<usize>],
    others: &[usize],
    inputs: &[InputSpec],
) -> Result<ViewAndMutationMeta> {
    let old = &before.input_info;
    let mut input_info = Vec::new();
    for group in groups.iter().cloned().chain(others.iter().map(|i| vec![*i])) {
        let (any_leaf, all_leaf) = (group.iter().any(|i| old[*i].is_leaf), group.iter().all(|i| old[*i].is_leaf));
        if any_leaf != all_leaf {
            return Err(assertion(format!("any_leaf=True != all_leaf=False for outer_indices={group:?}")));
        }
        let merged = group.len() > 1;
        let info = InputInfo {
            is_leaf: any_leaf,
            mutates_data: merged || old[group[0]].mutates_data,
            mutates_metadata: !merged && old[group[0]].mutates_metadata,
            data_replaced: !merged && old[group[0]].data_replaced,
            mutations_hidden_from_autograd: group.iter().all(|i| old[*i].mutations_hidden_from_autograd),
            mutations_under_no_grad_or_inference_mode: group.iter().all(|i| old[*i].mutations_under_no_grad_or_inference_mode),
            requires_grad: group.iter().any(|i| old[*i].requires_grad),
            mutation_type: MutationType::NotMutated,
            written_at: group.iter().flat_map(|i| old[*i].written_at.clone()).collect(),
            spec: if merged { base_spec(inputs, &group).spec } else { old[group[0]].spec.clone() },
        };
        input_info.push(InputInfo { mutation_type: info.applied_by(before.keep_input_mutations), ..info });
    }
    let of_input = |o: &OutputInfo| o.output_type.is_of_input();
    let output_info = before.output_info.iter().map(|o| {
        let Some(i) = o.base_idx.filter(|_| of_input(o)) else { return o.clone() };
        match groups.iter().position(|g| g.contains(&i)) {
            // An output that was an input is a view of the base.
            Some(base) if o.output_type == OutputType::IsInput => {
                OutputInfo { output_type: OutputType::AliasOfInput, base_idx: Some(base), steps: ViewSteps::default(), ..o.clone() }
            }
            Some(base) => OutputInfo { base_idx: Some(base), ..o.clone() },
            None => OutputInfo { base_idx: others.iter().position(|other| *other == i).map(|p| groups.len() + p), ..o.clone() },
        }
    });
    let mut merged = ViewAndMutationMeta {
        subclass_inp_meta: vec![None; input_info.len()],
        input_info,
        output_info: output_info.collect(),
        ..before.clone()
    };
    let returned = merged.runtime_mutated().len() + merged.output_info.len() + merged.num_intermediate_bases;
    merged.subclass_fw_graph_out_meta = vec![None; returned];
    Ok(merged)
}

/// Merges inputs that share storage where one of them is written to; `None` where there is nothing to do.
pub fn merge(
    f: &Function,
    inputs: &[InputSpec],
    metadata: &ViewAndMutationMeta,
    is_inference: bool,
) -> Result<Option<(Adapted, ViewAndMutationMeta)>> {
    let groups = groups(inputs, metadata);
    if groups.is_empty() {
        return Ok(None);
    }
    for group in &groups {
        check(inputs, group, is_inference)?;
        if group.iter().any(|i| metadata.input_info[*i].mutates_metadata) {
            return Err(Error::not_implemented("inputs that share storage and change their geometry in place are not supported yet"));
        }
    }
    let others: Vec<usize> = (0..inputs.len()).filter(|i| !groups.iter().any(|g| g.contains(i))).collect();
    let merged = merged_metadata(metadata, &groups, &others, inputs)?;
    let origins: Vec<Origin> = (0..inputs.len())
        .map(|i| match groups.iter().position(|g| g.contains(&i)) {
            Some(base) => Origin::ViewOf(base, inputs[i].spec.clone(), inputs[i].requires_grad),
            None => Origin::Itself(groups.len() + others.iter().position(|o| *o == i).unwrap_or(0)),
        })
        .collect();
    let inner = f.clone();
    let function: Function = Rc::new(move |given: &[Tensor]| -> Result<Vec<Value>> {
        let unpacked = origins
            .iter()
            .map(|origin| match origin {
                Origin::Itself(i) => Ok(given[*i].clone()),
                Origin::ViewOf(base, spec, requires_grad) => view_of(&given[*base], spec, *requires_grad),
            })
            .collect::<Result<Vec<_>>>()?;
        inner(&unpacked)
    });
    let mut specs: Vec<InputSpec> = groups.iter().map(|g| base_spec(inputs, g)).collect();
    specs.extend(others.iter().map(|i| inputs[*i].clone()));
    let base_code = |group: &Vec<usize>| {
        let first = group.iter().find(|i| inputs[**i].identity.base.is_some());
        first.map_or_else(
            || format!("args[{}].new_empty(0).set_(args[{}].untyped_storage())", group[0], group[0]),
            |i| format!("args[{i}]._base"),
        )
    };
    let parts = groups.iter().map(base_code).chain(others.iter().map(|i| format!("args[{i}]")));
    let code = format!("args = [{}]", parts.collect::<Vec<_>>().join(", "));
    let adapt: Adapt = Rc::new(move |given| {
        let mut made = groups.iter().map(|g| base_of(&given, g)).collect::<Result<Vec<_>>>()?;
        made.extend(others.iter().map(|i| given[*i].clone()));
        Ok(made)
    });
    Ok(Some((Adapted { function, inputs: specs, adapt, code }, merged)))
}
