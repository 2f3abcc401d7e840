//! Operators on lists of tensors (`_foreach_mul`): what a call of one does to each tensor is a call of a simpler operator.

use super::registry::{entry_of, full_name};
use super::{Call, OpEntry, Type, Value, fill_args};
use diagnostics::error::{Error, Result};

/// What a call does to one of its tensors.
pub struct Each {
    /// The operator.
    pub entry: &'static OpEntry,
    /// All of its arguments. The tensors among them stand where the lists stand in the whole call.
    pub args: Vec<Value>,
}

/// Whether an operator is one on lists of tensors.
pub fn is_foreach(entry: &OpEntry) -> bool {
    entry.schema.name.starts_with("_foreach_")
}

/// The name of what an operator on lists does to each tensor, functional, in the notation of signatures: `mul.Tensor`. `base` is its name
/// without what says that it is one on lists, or in place.
pub fn name_of_each(base: &str, overload: &str) -> String {
    let of_scalars = matches!(overload, "Scalar" | "ScalarList");
    match base {
        "add" | "sub" | "mul" | "div" if of_scalars => format!("{base}.Scalar"),
        "add" | "sub" | "mul" | "div" => format!("{base}.Tensor"),
        "maximum" if of_scalars => "clamp_min".to_owned(),
        "minimum" if of_scalars => "clamp_max".to_owned(),
        "clamp_min" | "clamp_max" if !of_scalars => format!("{base}.Tensor"),
        "lerp" if of_scalars => "lerp.Scalar".to_owned(),
        "lerp" => "lerp.Tensor".to_owned(),
        "pow" if of_scalars => "pow.Tensor_Scalar".to_owned(),
        "pow" if overload == "List" => "pow.Tensor_Tensor".to_owned(),
        "pow" => "pow.Scalar".to_owned(),
        "norm" => "linalg_vector_norm".to_owned(),
        _ => base.to_owned(),
    }
}

/// What an operator on lists does to each tensor, where that is in place or not.
fn entry_of_each(entry: &OpEntry, in_place: bool) -> Result<&'static OpEntry> {
    let name = &entry.schema.name;
    let base = name.strip_prefix("_foreach_").unwrap_or(name);
    let each = name_of_each(base.strip_suffix('_').unwrap_or(base), &entry.schema.overload);
    let found = if in_place {
        // The overloads of `pow_` are not named like those of `pow`.
        let (name, overload) = each.split_once('.').unwrap_or((&each, ""));
        let overload = overload.strip_prefix("Tensor_").unwrap_or(overload);
        let joined = if overload.is_empty() { format!("{name}_") } else { format!("{name}_.{overload}") };
        entry_of(&full_name(&joined))
    } else {
        entry_of(&full_name(&each))
    };
    found.ok_or_else(|| Error::not_implemented(format!("{}: there is no operator for each tensor", entry.name)))
}

/// The functional operator that stands for an operator on lists, per tensor.
pub fn functional_of_each(entry: &OpEntry) -> Result<&'static OpEntry> {
    entry_of_each(entry, false)
}

/// The arguments of what happens to the tensor at an index.
pub fn args_of_each(whole: &OpEntry, each: &'static OpEntry, args: &[Value], index: usize) -> Result<Vec<Value>> {
    let (mut positional, mut keywords) = (Vec::new(), Vec::new());
    for (argument, value) in whole.schema.arguments.iter().zip(args) {
        let own = match (&argument.ty, value) {
            (Type::List(..), Value::List(items)) => items.get(index).cloned().unwrap_or_default(),
            // Numbers may come as one tensor.
            (Type::Tensor, Value::Tensor(numbers)) if argument.name == "scalars" => match numbers.is_fake() {
                true => Value::from(1i64),
                false => crate::aten!("_local_scalar_dense", crate::t!("select.int", numbers, 0, index)?)?,
            },
            (_, value) => value.clone(),
        };
        match argument.name.as_str() {
            "value" | "scalars" if whole.schema.name.starts_with("_foreach_addc") => keywords.push(("value", own)),
            name if argument.kwarg_only || name == "dtype" => keywords.push((name, own)),
            _ => positional.push(own),
        }
    }
    if each.schema.name == "linalg_vector_norm" {
        positional.extend([Value::None, Value::Bool(false)]);
    }
    fill_args(each, positional, &keywords)
}

/// How many tensors a call is about. Lists that do not fit are refused, in PyTorch's words.
fn count(call: &Call) -> Result<usize> {
    let arguments = call.entry.schema.arguments.iter().zip(call.args);
    let lists = arguments.clone().filter_map(|(a, v)| match (&a.ty, v) {
        (Type::List(inner, _), Value::List(items)) => Some((matches!(**inner, Type::Tensor), items.len())),
        _ => None,
    });
    let Some((_, count)) = lists.clone().find(|(of_tensors, _)| *of_tensors).filter(|(_, n)| *n > 0) else {
        return Err(Error::runtime("Tensor list must have at least one tensor."));
    };
    for (of_tensors, n) in lists {
        if n != count {
            return Err(Error::runtime(match of_tensors {
                true => format!("Tensor lists must have the same number of tensors, got {count} and {n}"),
                false => "Tensor list must have same number of elements as scalar list.".to_owned(),
            }));
        }
    }
    for (argument, value) in arguments {
        if let (Type::Tensor, "other", Value::Tensor(t)) = (&argument.ty, argument.name.as_str(), value)
            && t.dim() > 0
        {
            let (dims, elements) = (t.dim(), t.numel());
            return Err(Error::runtime(format!(
                "scalar tensor expected to be 0 dim but it has {dims} dimensions and {elements} elements."
            )));
        }
    }
    Ok(count)
}

/// What a call does to each of its tensors, in order: functional calls, or (`in_place`) calls that write to it.
pub fn each(call: &Call, in_place: bool) -> Result<Vec<Each>> {
    let entry = entry_of_each(call.entry, in_place)?;
    (0..count(call)?).map(|i| Ok(Each { entry, args: args_of_each(call.entry, entry, call.args, i)? })).collect()
}
