//! What happens after a compiled graph has run, as a plan: made once when the function is compiled, run on every call, and
//! shown as code.
//!
//! First the new values of mutated inputs are written into the caller's tensors, then every output is handed out: as it came,
//! as an input, or as a view made again of what it aliases, with the history autograd expects.

use super::schemas::{MutationType, OutputType, ViewAndMutationMeta};
use crate::autograd::{ViewStep, meta, replay};
use crate::dispatch::{Modes, Value, modes, named, set_modes};
use crate::error::{Error, ErrorKind, Result};
use crate::shape::SymInt;
use crate::t;
use crate::tensor::Tensor;

/// A write to one of the caller's tensors. `value` counts the values that the graph returns before its outputs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Write {
    /// It takes the sizes and strides of a returned value.
    Restride { input: usize, value: usize },
    /// It takes the numbers of a returned value; a leaf that requires grad takes them without history.
    Copy { input: usize, value: usize, is_leaf: bool },
}

/// What an aliasing output is a view of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Input(usize),
    Output(usize),
    Intermediate(usize),
}

/// How an output comes about.
#[derive(Clone)]
enum Made {
    /// As the graph returned it.
    AsReturned,
    /// The same values, no longer a view for autograd.
    UnsafeView,
    /// The caller's own tensor.
    Input(usize),
    /// View operators on its base; where they are not known for all sizes, `as_strided`.
    View { base: Base, steps: Option<Vec<ViewStep>>, requires_grad: bool },
}

/// What happens after the graph.
#[derive(Clone)]
pub struct Epilogue {
    num_updated: usize,
    /// Inputs that the graph writes to itself.
    written: Vec<usize>,
    writes: Vec<Write>,
    outputs: Vec<Made>,
    /// Per output, dimensions of symbolic sizes: what is compiled for it next has symbols there, too.
    dynamic_dims: Vec<Vec<usize>>,
    grad_mode: Option<bool>,
}

impl Epilogue {
    /// The plan that the analysis comes to. Only a joint graph's lone views are hidden from autograd: others have no history.
    pub fn new(metadata: &ViewAndMutationMeta, is_joint: bool) -> Self {
        let mutated = metadata.runtime_mutated();
        let mut writes = Vec::new();
        for (value, input) in mutated.iter().copied().enumerate() {
            let info = &metadata.input_info[input];
            if info.mutates_metadata {
                writes.push(Write::Restride { input, value });
            }
            if info.mutates_data {
                writes.push(Write::Copy { input, value, is_leaf: info.is_leaf });
            }
        }
        let in_graph = |input: &usize| {
            let info = &metadata.input_info[*input];
            info.mutation_type == MutationType::MutatedInGraph && info.mutates_data
        };
        let written = (0..metadata.input_info.len()).filter(in_graph).collect();
        let outputs = metadata.output_info.iter().map(|info| {
            let known = !info.steps.is_empty() && !info.steps.iter().any(is_symbolic);
            let view = |base| {
                let restrided = matches!(base, Base::Input(i) if metadata.input_info[i].mutates_metadata);
                let steps = (known && !restrided).then(|| info.steps.iter().map(as_view).collect());
                Made::View { base, steps, requires_grad: info.requires_grad }
            };
            let of_base = |made: &dyn Fn(usize) -> Made| info.base_idx.map_or(Made::AsReturned, made);
            match info.output_type {
                OutputType::IsInput => of_base(&Made::Input),
                OutputType::AliasOfInput => of_base(&|i| view(Base::Input(i))),
                OutputType::AliasOfIntermediate | OutputType::AliasOfIntermediateSaveAsOutput => of_base(&|i| view(Base::Intermediate(i))),
                OutputType::AliasOfIntermediateBaseIsUserOutput => of_base(&|i| view(Base::Output(i))),
                OutputType::UnsafeViewAlias if is_joint => Made::UnsafeView,
                OutputType::UnsafeViewAlias | OutputType::NonAlias | OutputType::CustomFunctionView => Made::AsReturned,
            }
        });
        let symbolic = |sizes: &[SymInt]| (0..sizes.len()).filter(|d| sizes[*d].expr().as_int().is_none()).collect();
        let dynamic_dims = metadata.output_info.iter().map(|o| o.spec.as_ref().map_or_else(Vec::new, |s| symbolic(&s.geometry.sizes)));
        Epilogue {
            num_updated: mutated.len(),
            written,
            writes,
            outputs: outputs.collect(),
            dynamic_dims: dynamic_dims.collect(),
            grad_mode: metadata.grad_enabled_mutation,
        }
    }

    /// Whether an output is handed to autograd under a new handle, as a value that is no view.
    pub fn is_unsafe_view(&self, output: usize) -> bool {
        matches!(self.outputs.get(output), Some(Made::UnsafeView))
    }

    /// Counts the writes of the graph itself, before values are saved: by the wrapper, which cannot know that the graph counts its
    /// `copy_`, too, and once for that, where autograd does not see it.
    pub fn count_writes(&self, inputs: &[Tensor], below_autograd: bool) {
        for input in &self.written {
            inputs[*input].bump_version();
            if below_autograd {
                inputs[*input].bump_version();
            }
        }
    }

    /// Runs it on what the graph returned: mutated inputs, outputs, intermediate bases.
    pub fn run(&self, inputs: &[Tensor], mut returned: Vec<Value>) -> Result<Vec<Value>> {
        let mut raw = returned.split_off(self.num_updated.min(returned.len()));
        for write in &self.writes {
            write.run(inputs, &returned)?;
        }
        drop(returned);
        let bases = raw.split_off(self.outputs.len().min(raw.len()));
        let mut outputs: Vec<Value> = Vec::with_capacity(raw.len());
        for (made, value) in self.outputs.iter().zip(&raw) {
            outputs.push(match made {
                Made::AsReturned | Made::UnsafeView => {
                    if modes().inference {
                        value.for_each_tensor(&mut |t| meta::with(t, |m| m.inference = true));
                    }
                    value.clone()
                }
                Made::Input(i) => Value::from(&inputs[*i]),
                Made::View { base, steps, requires_grad } => {
                    let base = match base {
                        Base::Input(i) => &inputs[*i],
                        Base::Output(i) => raw.get(*i).unwrap_or(&Value::None).tensor()?,
                        Base::Intermediate(i) => bases.get(*i).unwrap_or(&Value::None).tensor()?,
                    };
                    Value::Tensor(alias(base, steps.as_deref(), *requires_grad, value)?)
                }
            });
        }
        for (output, dims) in outputs.iter().zip(&self.dynamic_dims) {
            if let Value::Tensor(t) = output {
                dims.iter().for_each(|d| t.mark_dynamic_dim(*d));
            }
        }
        if let Some(grad) = self.grad_mode {
            set_modes(Modes { grad, ..modes() });
        }
        Ok(outputs)
    }

    /// The plan as code. Inputs go by the names of the graph's placeholders, what the graph returned is `updated`, `outs` and
    /// `bases`.
    pub fn code(&self, inputs: &[String]) -> String {
        let name = |i: usize| inputs.get(i).cloned().unwrap_or_else(|| format!("args[{i}]"));
        let mut lines = Vec::new();
        let num_bases =
            self.outputs.iter().filter_map(|m| if let Made::View { base: Base::Intermediate(i), .. } = m { Some(i + 1) } else { None });
        let mut parts = Vec::new();
        for (part, count) in [("updated", self.num_updated), ("outs", self.outputs.len()), ("bases", num_bases.max().unwrap_or(0))] {
            if count > 0 {
                parts.push((part, count));
            }
        }
        let mut start = 0;
        for (part, count) in &parts {
            if parts.len() == 1 {
                lines.push(format!("{part} = returned"));
            } else {
                lines.push(format!("{part} = returned[{start}:{}]", start + count));
            }
            start += count;
        }
        lines.extend(self.written.iter().map(|input| format!("torch.autograd.graph.increment_version({})", name(*input))));
        lines.extend(self.writes.iter().map(|w| w.code(&name)));
        let made = self.outputs.iter().enumerate().map(|(o, made)| made.code(o, &name)).collect::<Vec<_>>();
        if let Some(grad) = self.grad_mode {
            lines.push(format!("torch.set_grad_enabled({})", if grad { "True" } else { "False" }));
        }
        match made.as_slice() {
            [] => lines.push("return ()".to_owned()),
            [one] => lines.push(format!("return ({one},)")),
            many => {
                lines.push("return (".to_owned());
                lines.extend(many.iter().map(|m| format!("    {m},")));
                lines.push(")".to_owned());
            }
        }
        lines.join("\n")
    }
}

impl Write {
    fn run(&self, inputs: &[Tensor], updated: &[Value]) -> Result<()> {
        let value = |i: usize| updated.get(i).unwrap_or(&Value::None).tensor();
        match self {
            Write::Restride { input, value: v } => {
                let g = value(*v)?.geometry();
                crate::aten!("as_strided_", &inputs[*input], &g.sizes, &g.strides, &g.offset).map(|_| ())
            }
            Write::Copy { input, value: v, is_leaf } => {
                let target = &inputs[*input];
                let target = if *is_leaf && meta::requires_grad(target) { t!("detach", target)? } else { target.clone() };
                crate::aten!("copy_", target, value(*v)?).map(|_| ())
            }
        }
    }

    fn code(&self, name: &dyn Fn(usize) -> String) -> String {
        match self {
            Write::Restride { input, value } => {
                let new = format!("updated[{value}]");
                format!("{}.as_strided_({new}.size(), {new}.stride(), {new}.storage_offset())", name(*input))
            }
            Write::Copy { input, value, is_leaf: true } => {
                let name = name(*input);
                format!("({name}.detach() if {name}.requires_grad else {name}).copy_(updated[{value}])")
            }
            Write::Copy { input, value, is_leaf: false } => format!("{}.copy_(updated[{value}])", name(*input)),
        }
    }
}

impl Made {
    fn code(&self, output: usize, name: &dyn Fn(usize) -> String) -> String {
        match self {
            Made::AsReturned => format!("outs[{output}]"),
            Made::UnsafeView => format!("torch.ops.aten._unsafe_view(outs[{output}], outs[{output}].shape)"),
            Made::Input(i) => name(*i),
            Made::View { base, steps, requires_grad } => {
                let base = match base {
                    Base::Input(i) => name(*i),
                    Base::Output(i) => format!("outs[{i}]"),
                    Base::Intermediate(i) => format!("bases[{i}]"),
                };
                let out = format!("outs[{output}]");
                let made = match steps {
                    Some(steps) => steps.iter().fold(base, |of, step| step_code(step, &of)),
                    None => format!("{base}.as_strided({out}.size(), {out}.stride(), {out}.storage_offset())"),
                };
                if *requires_grad || made.ends_with(".detach()") { made } else { format!("{made}.detach()") }
            }
        }
    }
}

/// A view of `base` made again: by its view operators, or with the geometry that the graph returned.
fn alias(base: &Tensor, steps: Option<&[ViewStep]>, requires_grad: bool, raw: &Value) -> Result<Tensor> {
    let made = match steps {
        Some(steps) => {
            let (made, wanted) = (replay(steps, base)?, raw.tensor()?.sizes());
            if made.sizes().iter().map(SymInt::hint).ne(wanted.iter().map(SymInt::hint)) {
                return Err(Error::new(
                    ErrorKind::Assertion,
                    format!(
                        "incorrect out shape after application of ViewMeta sequence: {} (actual) vs {} (expected)",
                        tuple(&made.sizes()),
                        tuple(&wanted)
                    ),
                ));
            }
            made
        }
        None => {
            let g = raw.tensor()?.geometry();
            t!("as_strided", base, &g.sizes, &g.strides, &g.offset)?
        }
    };
    match (meta::requires_grad(base), requires_grad) {
        (true, false) => t!("detach", made),
        (false, true) => meta::set_requires_grad(&made, true).map(|()| made),
        _ => Ok(made),
    }
}

/// Sizes as Python writes a tuple.
fn tuple(sizes: &[SymInt]) -> String {
    let items: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    if let [one] = items.as_slice() { format!("({one},)") } else { format!("({})", items.join(", ")) }
}

/// A view operator as a method call on `of`; arguments at the end that have their default are left out.
fn step_code(step: &ViewStep, of: &str) -> String {
    let mut args: Vec<String> = step.args.iter().skip(1).map(python).collect();
    while args.last().is_some_and(|last| last == "None" || last == "9223372036854775807") {
        args.pop();
    }
    let name = step.entry.base_name();
    let call = match name {
        // No methods of tensors.
        "slice" | "alias" | "_reshape_alias" | "view_dtype" => {
            args.insert(0, of.to_owned());
            format!("torch.ops.aten.{name}({})", args.join(", "))
        }
        _ => format!("{of}.{name}({})", args.join(", ")),
    };
    step.result.map_or(call.clone(), |i| format!("{call}[{i}]"))
}

/// A value as Python writes it.
fn python(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(i) => i.to_string(),
        Value::Float(f) => crate::graph::float_repr(*f),
        Value::Str(s) => format!("'{s}'"),
        Value::Dtype(d) => d.to_string(),
        Value::List(items) => format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", ")),
        _ => "None".to_owned(),
    }
}

/// An operator whose result autograd takes for a new tensor is an ordinary view where the result is made again.
fn as_view(step: &ViewStep) -> ViewStep {
    let entry = if named::UNSAFE_VIEW.is(step.entry) { named::VIEW.get() } else { step.entry };
    ViewStep { entry, ..step.clone() }
}

fn is_symbolic(step: &ViewStep) -> bool {
    fn symbolic(v: &Value) -> bool {
        match v {
            Value::Int(i) => i.as_int().is_none(),
            Value::List(items) => items.iter().any(symbolic),
            _ => false,
        }
    }
    step.args.iter().any(symbolic)
}
