//! The derivative of an operator for compiled autograd: what its node saved as the arguments of a call, and that call.

use super::layer::{OpBody, Saved, Shape};
use super::lift::{Functional, Lift, Lifted, Packed, Part, dtype_number, options, with_sizes};
use super::lift_nodes::unsupported;
use super::node::Node;
use super::saved::freed;
use diagnostics::error::{Error, Result};
use dispatch::saved_fields::{FieldKind, SavedField, SavedFields};
use dispatch::{Derivative, OpEntry, Value};
use shape::SymInt;
use std::ops::Range;
use std::rc::Rc;
use tensor::{Device, Dtype, Tensor, TensorSpec};

/// Where a field's value is among what a node knows.
enum Place {
    /// An argument.
    Argument(usize),
    /// A part of the geometry of an argument's tensor.
    Geometry(usize, Part),
    /// How many elements or dimensions an argument's tensor has, or the sizes that it is blocked by.
    Derived,
    /// What a dtype, layout or list of an argument is.
    Of(usize),
    /// A result.
    Result(usize),
    /// A size of a result.
    ResultSize(usize, usize),
    /// This operator has nothing of that name, where another with the same node has.
    Nowhere,
}

/// Which dimension `_sym_argsize_1` or `_sym_argsize_minus_1` names.
fn dimension(index: &str, rank: usize) -> Option<usize> {
    match index.strip_prefix("minus_") {
        Some(from_end) => rank.checked_sub(from_end.parse().ok()?),
        None => index.parse().ok(),
    }
}

/// Where a field's value is.
fn place_of(entry: &OpEntry, specs: &[Vec<TensorSpec>], results: &[Option<TensorSpec>], field: &SavedField) -> Place {
    found_place(entry, specs, results, field).unwrap_or(Place::Nowhere)
}

fn found_place(entry: &OpEntry, specs: &[Vec<TensorSpec>], results: &[Option<TensorSpec>], field: &SavedField) -> Option<Place> {
    if field.is_result {
        let numbered = |name: &str| name.strip_prefix("result").and_then(|n| if n.is_empty() { Some(0) } else { n.parse().ok() });
        let named = |name: &str| entry.schema.returns.iter().position(|r| r.name.as_deref() == Some(name)).or_else(|| numbered(name));
        if let Some((name, index)) = field.name.split_once("_sym_argsize_") {
            let at = named(name)?;
            return Some(Place::ResultSize(at, dimension(index, results.get(at)?.as_ref()?.geometry.sizes.len())?));
        }
        return named(field.name).map(Place::Result);
    }
    if let Some(at) = entry.schema.position(field.name) {
        return Some(Place::Argument(at));
    }
    let of = |suffix: &str| entry.schema.position(field.name.strip_suffix(suffix)?);
    let geometry = |suffix: &str, part: Part| of(suffix).map(|at| Place::Geometry(at, part));
    if let Some((name, index)) = field.name.split_once("_sym_argsize_") {
        let at = entry.schema.position(name)?;
        let index = dimension(index, specs[at].first()?.geometry.sizes.len())?;
        return Some(Place::Geometry(at, Part::At(index)));
    }
    let kinds = ["_scalar_type", "_layout", "_options", "_info", "_geometry", "_args_scalartypes", "_args_sizes", "_args_sizes_symint"];
    geometry("_sym_sizes", Part::Sizes)
        .or_else(|| geometry("_sym_sizes_opt", Part::Sizes))
        .or_else(|| geometry("_sym_strides", Part::Strides))
        .or_else(|| kinds.iter().find_map(|kind| of(kind)).map(Place::Of))
        .or_else(|| of("_sym_numel").or_else(|| of("_dim")).or_else(|| of("_self_sym_blocksize_opt")).map(|_| Place::Derived))
}

/// A dtype's number, and no dtype's for what is not there.
fn number_of(spec: Option<&TensorSpec>) -> Packed {
    spec.map_or(Packed::None, |spec| Packed::Int(dtype_number(spec.dtype)))
}

impl OpBody {
    fn spec(&self, at: usize) -> Result<&TensorSpec> {
        self.specs[at].first().ok_or_else(|| Error::runtime(format!("{}: a saved field of what is no tensor", self.entry.name)))
    }

    /// What the node keeps, lifted.
    pub(super) fn lift_fields(&self, node: &Rc<Node>, lift: &mut Lift) -> Result<Lifted> {
        let Some(fields) = self.derivative.fields else { return Err(unsupported(node)) };
        let (ranges, mut needs, mut edges, mut args) = (ranges(&self.shapes), Vec::new(), Vec::new(), Vec::new());
        // Whose gradients could be asked for: that decides on what was saved.
        let mut could = Vec::new();
        for (name, is_list) in &fields.inputs {
            let at = self.entry.schema.position(name).ok_or_else(|| unsupported(node))?;
            let range = ranges[at].clone();
            needs.push(range.clone().any(|slot| lift.asks(node, slot)));
            could.push(range.clone().any(|slot| node.should_compute(slot)));
            match *is_list {
                true => {
                    args.push(Packed::Int(range.len() as i64));
                    edges.extend(range.map(Some));
                }
                false => edges.push((!range.is_empty()).then_some(range.start)),
            }
        }
        lift.specialize(self.entry.name);
        lift.specialize(format_args!("{needs:?}{could:?}{args:?}"));
        for specs in &self.specs {
            specs.iter().for_each(|spec| lift.specialize(format_args!("{} {}", spec.dtype, spec.geometry.sizes.len())));
        }
        for field in &fields.fields {
            args.push(self.lift_field(node, field, &ranges, &could, lift)?);
        }
        // What the formula reads besides.
        let extra = self.unlisted(fields);
        for at in &extra {
            args.push(self.lift_saved(node, *at, lift)?);
        }
        let extra_results = self.unlisted_results(fields);
        for at in &extra_results {
            let kept = self.results.borrow();
            if let Some((_, saved)) = kept.iter().flatten().find(|(i, _)| i == at) {
                args.push(lift.saved(saved, node)?);
            }
        }
        let results = self.differentiable_results();
        let function = FunctionalDerivative {
            results: results.clone(),
            entry: self.entry,
            derivative: self.derivative,
            fields,
            args: self.args.clone(),
            specs: self.specs.clone(),
            result_specs: self.result_specs.borrow().clone(),
            shapes: self.shapes.clone(),
            extra,
            extra_results,
        };
        Ok(Lifted::Call { name: node.full_name().into(), needs, args, function: Rc::new(function), edges, results })
    }

    /// Results that have gradients; undefined ones keep their place.
    fn differentiable_results(&self) -> Vec<usize> {
        let specs = self.result_specs.borrow();
        let has = |i: &usize| {
            !self.entry.non_differentiable_results.contains(i) && specs[*i].as_ref().is_none_or(|spec| !spec.dtype.is_integral())
        };
        if specs.is_empty() { vec![0] } else { (0..specs.len()).filter(has).collect() }
    }

    /// Arguments that the formula reads, and PyTorch's does not.
    fn unlisted(&self, fields: &SavedFields) -> Vec<usize> {
        let saved = self.saved.borrow();
        let saved = saved.iter().flatten().map(|(at, _)| *at);
        saved.filter(|at| !fields.fields.iter().any(|f| !f.is_result && self.entry.schema.position(f.name) == Some(*at))).collect()
    }

    /// Results that the formula reads, and PyTorch's does not.
    fn unlisted_results(&self, fields: &SavedFields) -> Vec<usize> {
        let specs = self.result_specs.borrow();
        let is_listed = |at: usize| {
            fields.fields.iter().any(|f| match place_of(self.entry, &self.specs, &specs, f) {
                Place::Result(i) => i == at || f.kind == FieldKind::Tensors,
                _ => false,
            })
        };
        self.results.borrow().iter().flatten().map(|(at, _)| *at).filter(|at| !is_listed(*at)).collect()
    }

    /// The edges of PyTorch's node, in its order: one per argument that has a gradient, also where a number or nothing stands for it.
    pub(super) fn edges_of_fields(&self) -> Option<Vec<Option<usize>>> {
        let (fields, ranges) = (self.derivative.fields?, ranges(&self.shapes));
        let mut shown = Vec::new();
        for (name, is_list) in &fields.inputs {
            let slots = ranges[self.entry.schema.position(name)?].clone();
            match !is_list && slots.is_empty() {
                true => shown.push(None),
                false => shown.extend(slots.map(Some)),
            }
        }
        Some(shown)
    }

    /// What a script sees of a field: tensors, numbers and sizes.
    pub(super) fn shown_field(&self, node: &Rc<Node>, name: &str) -> Option<Result<(Value, bool)>> {
        let field = self.derivative.fields?.fields.iter().find(|field| field.name == name)?;
        Some(self.field_value(node, field).map(|value| (value, field.is_int64)))
    }

    fn field_value(&self, node: &Rc<Node>, field: &SavedField) -> Result<Value> {
        let result_specs = self.result_specs.borrow();
        let sizes = |sizes: &[SymInt]| Value::List(sizes.iter().cloned().map(Value::Int).collect());
        let is_lost = self.saved.borrow().is_none() || self.results.borrow().is_none();
        match (place_of(self.entry, &self.specs, &result_specs, field), field.kind) {
            (Place::Argument(_) | Place::Result(_), FieldKind::Tensor | FieldKind::Tensors) if is_lost => Err(freed()),
            (Place::Argument(at), FieldKind::Tensor | FieldKind::Tensors) => {
                let saved = self.saved.borrow();
                saved.iter().flatten().find(|(i, _)| *i == at).map_or(Ok(Value::None), |(_, saved)| saved.unpack(node))
            }
            (Place::Result(at), FieldKind::Tensor) => match self.results.borrow().iter().flatten().find(|(i, _)| *i == at) {
                Some((_, saved)) => saved.unpack(node).map(Value::Tensor),
                None => Ok(Value::None),
            },
            (Place::Argument(at), FieldKind::Constant | FieldKind::Sizes) => Ok(self.args[at].clone()),
            (Place::Geometry(at, part), _) => self.spec(at).map(|spec| match part {
                Part::Sizes => sizes(&spec.geometry.sizes),
                Part::Strides => sizes(&spec.geometry.strides),
                Part::At(i) => Value::Int(spec.geometry.sizes[i].clone()),
            }),
            _ => Err(Error::not_implemented(format!("{}._saved_{} is not available in the playground", node.full_name(), field.name))),
        }
    }

    fn lift_saved(&self, node: &Rc<Node>, at: usize, lift: &mut Lift) -> Result<Packed> {
        let saved = self.saved.borrow();
        let Some((_, value)) = saved.iter().flatten().find(|(i, _)| *i == at) else {
            // A number that the operator takes for a tensor is one to autograd.
            return Ok(match &self.args[at] {
                value @ (Value::Int(_) | Value::Float(_) | Value::Bool(_)) => lift.tensor(&number_as_tensor(value)?),
                _ => lift.optional(None),
            });
        };
        match value {
            Saved::One(v) => lift.saved(v, node),
            Saved::Many(list) => {
                lift.number(list.len());
                let each = list.iter().map(|v| match v {
                    Some(v) => lift.saved(v, node),
                    None => Ok(lift.optional(None)),
                });
                Ok(Packed::List(each.collect::<Result<_>>()?))
            }
        }
    }

    fn lift_field(&self, node: &Rc<Node>, field: &SavedField, slots: &[Range<usize>], could: &[bool], lift: &mut Lift) -> Result<Packed> {
        if field.kind == FieldKind::RetainVariables {
            // The node has not been told that it will be freed.
            return Ok(Packed::Bool(true));
        }
        let is_kept = field.serves.is_empty() || field.serves.iter().any(|i| could.get(*i).copied().unwrap_or(false));
        let place = place_of(self.entry, &self.specs, &self.result_specs.borrow(), field);
        let needs_edge = |at: usize| slots[at].clone().any(|slot| node.should_compute(slot));
        match (place, field.kind) {
            (_, FieldKind::Tensor) if !is_kept => Ok(lift.optional(None)),
            // An operator without the flag is the one that does not train.
            (Place::Nowhere, FieldKind::Constant) if field.name == "training" => lift.constant(&Value::Bool(false)),
            (Place::Nowhere, _) => Ok(lift.optional(None)),
            (Place::ResultSize(i, dim), _) => {
                let size = self.result_specs.borrow().get(i).and_then(|s| Some(s.as_ref()?.geometry.sizes.get(dim)?.clone()));
                match size {
                    Some(size) => lift.size(&size),
                    None => Ok(lift.optional(None)),
                }
            }
            (Place::Result(i), FieldKind::Tensors) => {
                let kept = self.results.borrow();
                let mut each = Vec::new();
                for (_, saved) in kept.iter().flatten().filter(|(at, _)| *at >= i) {
                    each.push(lift.saved(saved, node)?);
                }
                Ok(Packed::List(each))
            }
            (Place::Result(i), _) => {
                let kept = self.results.borrow();
                match kept.iter().flatten().find(|(at, _)| *at == i) {
                    Some((_, saved)) => lift.saved(saved, node),
                    None => Ok(lift.optional(None)),
                }
            }
            (Place::Argument(at), FieldKind::Tensor | FieldKind::Tensors) => self.lift_saved(node, at, lift),
            (Place::Argument(at), FieldKind::Sizes) => match &self.args[at] {
                Value::List(sizes) => {
                    let sizes = sizes.iter().map(Value::sym_int).collect::<Result<Vec<SymInt>>>()?;
                    lift.list_of_sizes(&sizes)
                }
                Value::None => Ok(lift.optional(None)),
                size => lift.size(&size.sym_int()?),
            },
            (Place::Argument(at), _) => lift.constant(&self.args[at]),
            (Place::Geometry(at, part), _) => {
                // An undefined tensor has one size, zero.
                let Some(spec) = self.specs[at].first() else { return lift.list_of_sizes(&[SymInt::Int(0)]) };
                match part {
                    Part::Sizes => lift.list_of_sizes(&spec.geometry.sizes),
                    Part::Strides if needs_edge(at) => lift.list_of_sizes(&spec.geometry.strides),
                    Part::Strides => lift.list_of_sizes(&[]),
                    Part::At(i) => lift.size(&spec.geometry.sizes[i]),
                }
            }
            (Place::Of(at), FieldKind::Dtype) => {
                let packed = number_of(self.specs[at].first());
                // A number that the operator takes for a tensor.
                Ok(if packed == Packed::None { Packed::Int(dtype_number(number_dtype(&self.args[at]))) } else { packed })
            }
            (Place::Of(at), FieldKind::Dtypes) => Ok(Packed::List(self.specs[at].iter().map(|spec| number_of(Some(spec))).collect())),
            (Place::Of(_), FieldKind::Layout) => Ok(Packed::Int(0)),
            (Place::Of(at), FieldKind::Options) => self.spec(at).map(|spec| lift.options(spec.dtype, spec.device)),
            (Place::Of(at), FieldKind::Info) => {
                let (sizes, dtype, device) = match self.specs[at].first() {
                    Some(spec) => (spec.geometry.sizes.clone(), spec.dtype, spec.device),
                    None => (Vec::new(), number_dtype(&self.args[at]), Device::CPU),
                };
                Ok(Packed::Tuple(vec![lift.list_of_sizes(&sizes)?, options(dtype, device)]))
            }
            (Place::Of(at), FieldKind::Geometry) => {
                let geometry = self.spec(at)?.geometry.clone();
                Ok(Packed::Tuple(lift.geometry(&geometry)?.into()))
            }
            (Place::Of(at), FieldKind::SizesOfEach) => {
                lift.number(self.specs[at].len());
                Ok(Packed::List(self.specs[at].iter().map(|spec| lift.list_of_sizes(&spec.geometry.sizes)).collect::<Result<_>>()?))
            }
            (Place::Of(at), FieldKind::ConstantSizesOfEach) => {
                let list = |spec: &TensorSpec| Value::List(spec.geometry.sizes.iter().cloned().map(Value::Int).collect());
                lift.constant(&Value::List(self.specs[at].iter().map(list).collect()))
            }
            (Place::Derived, _) if field.name.ends_with("_sym_numel") => {
                let at = self.entry.schema.position(field.name.trim_end_matches("_sym_numel")).unwrap_or(0);
                let count = self.spec(at)?.geometry.sizes.iter().fold(SymInt::Int(1), |product, size| &product * size);
                lift.size(&count)
            }
            (Place::Derived, _) if field.name.ends_with("_dim") => {
                let at = self.entry.schema.position(field.name.trim_end_matches("_dim")).unwrap_or(0);
                let rank = self.spec(at)?.geometry.sizes.len();
                lift.constant(&Value::Int(SymInt::Int(rank as i64)))
            }
            (Place::Derived, _) => Ok(lift.optional(None)),
            (Place::Of(_), _) => Err(unsupported(node)),
        }
    }
}

/// Per argument, which edges of a node are its tensors'.
fn ranges(shapes: &[Shape]) -> Vec<Range<usize>> {
    let mut next = 0;
    let range = |shape: &Shape| {
        next += shape.count();
        next - shape.count()..next
    };
    shapes.iter().map(range).collect()
}

/// The dtype of a number that stands for a tensor.
fn number_dtype(value: &Value) -> Dtype {
    match value {
        Value::Bool(_) => Dtype::Bool,
        Value::Float(_) | Value::SymFloat(_) => Dtype::Float64,
        Value::Complex(..) => Dtype::Complex128,
        other if other.condition().is_some() => Dtype::Bool,
        _ => Dtype::Int64,
    }
}

fn number_as_tensor(value: &Value) -> Result<Tensor> {
    dispatch::t!("scalar_tensor", value.clone(); dtype = number_dtype(value), device = Device::CPU)
}

/// The derivative of an operator, as its node was when it was lifted.
struct FunctionalDerivative {
    entry: &'static OpEntry,
    derivative: &'static Derivative,
    fields: &'static SavedFields,
    args: Vec<Value>,
    specs: Vec<Vec<TensorSpec>>,
    result_specs: Vec<Option<TensorSpec>>,
    shapes: Vec<Shape>,
    /// Arguments, and results, that the formula reads besides the fields.
    extra: Vec<usize>,
    extra_results: Vec<usize>,
    /// Results that have gradients.
    results: Vec<usize>,
}

impl Functional for FunctionalDerivative {
    fn call(&self, grads: &[Option<Tensor>], needs: &[bool], given: &[Value]) -> Result<Vec<Option<Tensor>>> {
        let mut by_result = vec![None; self.results.iter().max().map_or(0, |last| last + 1).max(self.result_specs.len())];
        for (i, grad) in self.results.iter().zip(grads) {
            by_result[*i] = grad.clone();
        }
        let grads = by_result.as_slice();
        let (mut args, mut specs) = (self.args.clone(), self.specs.clone());
        let mut result_specs = self.result_specs.clone();
        let mut results: Vec<Option<Tensor>> = vec![None; result_specs.len()];
        let lists = self.fields.inputs.iter().filter(|(_, is_list)| *is_list).count();
        let mut given = given.iter().skip(lists);
        let missing = || Error::type_error(format!("{}: too few arguments", self.fields.node));
        let mut numel = None;
        let mut said: Vec<(usize, Part, &Value)> = Vec::new();
        for field in &self.fields.fields {
            let value = given.next().ok_or_else(missing)?;
            match (place_of(self.entry, &self.specs, &self.result_specs, field), field.kind) {
                (Place::Derived, FieldKind::Sizes) if field.name.ends_with("_sym_numel") => numel = Some(value.sym_int()?),
                (Place::Nowhere | Place::ResultSize(..), _) => {}
                (Place::Result(i), FieldKind::Tensors) => {
                    for (slot, value) in results.iter_mut().skip(i).zip(value.list()?) {
                        *slot = value.as_tensor().cloned();
                    }
                }
                (Place::Result(i), _) => {
                    if let Some(slot) = results.get_mut(i) {
                        *slot = value.as_tensor().cloned();
                    }
                }
                // What stands for a number is none where the formula does not read it.
                (Place::Argument(at), FieldKind::Tensor) if self.args[at].is_scalar() && value.is_none() => {}
                (Place::Argument(at), FieldKind::Tensor | FieldKind::Tensors) => args[at] = value.clone(),
                (Place::Argument(at), FieldKind::Sizes) => args[at] = value.clone(),
                (Place::Geometry(at, part), _) => said.push((at, part, value)),
                (Place::Of(at), FieldKind::Info) => {
                    if let (Some(spec), Some(sizes)) = (specs[at].first_mut(), value.list()?.first()) {
                        with_sizes(spec, sizes, Part::Sizes)?;
                    }
                }
                (Place::Of(at), FieldKind::Geometry) => {
                    if let (Some(spec), [sizes, strides, offset]) = (specs[at].first_mut(), value.list()?) {
                        with_sizes(spec, sizes, Part::Sizes)?;
                        with_sizes(spec, strides, Part::Strides)?;
                        spec.geometry.offset = offset.sym_int()?;
                    }
                }
                (Place::Of(at), FieldKind::SizesOfEach | FieldKind::ConstantSizesOfEach) => {
                    for (spec, sizes) in specs[at].iter_mut().zip(value.list()?) {
                        with_sizes(spec, sizes, Part::Sizes)?;
                    }
                }
                _ => {}
            }
        }
        for at in &self.extra {
            args[*at] = given.next().ok_or_else(missing)?.clone();
        }
        for at in &self.extra_results {
            if let Some(slot) = results.get_mut(*at) {
                *slot = given.next().ok_or_else(missing)?.as_tensor().cloned();
            }
        }
        // What is there says its own sizes, where no field does.
        for (arg, specs) in args.iter().zip(&mut specs) {
            match arg {
                Value::Tensor(t) => specs.iter_mut().for_each(|spec| *spec = t.spec()),
                Value::List(items) => {
                    for (spec, item) in specs.iter_mut().zip(items) {
                        if let Value::Tensor(t) = item {
                            *spec = t.spec();
                        }
                    }
                }
                _ => {}
            }
        }
        for (at, part, value) in said {
            if let Some(spec) = specs[at].first_mut() {
                with_sizes(spec, value, part)?;
            }
        }
        for (i, spec) in result_specs.iter_mut().enumerate() {
            match (spec.as_mut(), results[i].as_ref(), grads.get(i).and_then(Option::as_ref)) {
                (Some(spec), Some(t), _) => *spec = t.spec(),
                (Some(spec), None, Some(grad)) if grad.dim() == spec.geometry.sizes.len() => spec.geometry.sizes = grad.sizes(),
                _ => {}
            }
        }
        let mut wanted = vec![false; self.entry.schema.arguments.len()];
        for ((name, _), needed) in self.fields.inputs.iter().zip(needs) {
            if let Some(at) = self.entry.schema.position(name) {
                wanted[at] = *needed;
            }
        }
        let formula = super::layer::Formula { entry: self.entry, derivative: self.derivative, shapes: &self.shapes, numel };
        let by_slot = formula.run(&args, &specs, &results, &result_specs, grads.to_vec(), &wanted)?;
        // In the order of the node's inputs, which have gradients.
        let ranges = ranges(&self.shapes);
        let mut out = Vec::new();
        for (name, is_list) in &self.fields.inputs {
            let range = self.entry.schema.position(name).map_or(0..0, |at| ranges[at].clone());
            match (*is_list, range.is_empty()) {
                (false, true) => out.push(None),
                _ => out.extend(range.map(|slot| by_slot.get(slot).cloned().flatten())),
            }
        }
        Ok(out)
    }
}
