//! Forward mode: the tangent of a tensor, which every operator carries from its arguments on to its results.
//!
//! A tensor that has one is a dual number. What an operator does to tangents is said by its entry (`OpEntry::forward`): nothing else
//! than to the tensors, where it is linear; what its gradient formula does, where it is elementwise; or a formula of its own. It is
//! computed by calls like any other, so that it is differentiated, batched and traced like them. An operator of which nothing is said
//! has its derivative applied twice: the product with the transposed Jacobian is linear in its vector, and the derivative of that is
//! the product with the Jacobian.
//!
//! A tensor without a tangent among others that have one has a zero that is known to be zero (`_efficientzerotensor`). A tangent lies in
//! memory as its primal does. A write to a view gives a tangent to the base, and views of a base that has got one have it, too.

use super::engine::{BackwardOptions, run_backward};
use super::meta;
use super::node::gradient_edge;
use super::views::{ViewStep, replay};
use diagnostics::error::{Error, Result};
use dispatch::t;
use dispatch::{Backward, Call, Dual, Forward, ForwardFormula, Grad, Modes, OpEntry, Rule, Tags, Value, call, modes, named, op, set_modes};
use shape::SymInt;
use std::cell::Cell;
use tensor::{Device, Dtype, Layout, Tensor};

thread_local! {
    static LEVELS: Cell<usize> = const { Cell::new(0) };
}

/// A level of forward mode begins (1) or ends (-1).
pub fn nest(step: isize) {
    LEVELS.set(LEVELS.get().saturating_add_signed(step));
}

/// Ends every level.
pub fn reset() {
    LEVELS.set(0);
}

/// The tangent of a tensor, where it has one.
pub fn tangent(t: &Tensor) -> Result<Option<Tensor>> {
    if LEVELS.get() == 0 {
        return Ok(None);
    }
    let (own, view) = meta::peek(t, |m| m.forward.as_ref().map_or((None, None), |f| (f.tangent.clone(), f.view.clone())));
    let (None, Some((base, steps))) = (&own, view) else { return Ok(own) };
    // Its base may have got one by a write.
    let Some(of_base) = tangent(&base)? else { return Ok(None) };
    let made = same_view(t, &base, &steps, &of_base)?;
    keep(t, &made);
    Ok(Some(made))
}

/// What a view of a tensor is, of another that lies in memory as that does: by its strides, where they say it.
fn same_view(view: &Tensor, base: &Tensor, steps: &[ViewStep], other: &Tensor) -> Result<Tensor> {
    if view.dtype() != base.dtype() || view.math_bits() != base.math_bits() {
        return replay(steps, other);
    }
    let g = view.geometry();
    t!("as_strided", other, &g.sizes, &g.strides, g.offset.clone())
}

fn keep(t: &Tensor, tangent: &Tensor) {
    meta::with(t, |m| m.forward.get_or_insert_default().tangent = Some(tangent.clone()));
}

/// Gives a tensor a tangent, by a write or not.
pub fn set_tangent(t: &Tensor, tangent_of_t: Tensor, is_write: bool) -> Result<()> {
    if tangent(&tangent_of_t)?.is_some() {
        return Err(Error::runtime("Setting a forward grad that itself has a forward gradient at the same level 0 is not supported."));
    }
    let own = meta::peek(t, |m| m.forward.as_ref().and_then(|f| f.tangent.clone()));
    if let Some(own) = own {
        let is_same = own.is(&tangent_of_t);
        return if is_same {
            Ok(())
        } else {
            Err(Error::runtime("Cannot set a value of a forward grad if it already exists. Inplace operations should modify it inplace."))
        };
    }
    let mut new = tangent_of_t;
    let view = meta::peek(t, |m| m.forward.as_ref().and_then(|f| f.view.clone()));
    if let (true, Some((base, steps))) = (is_write, &view)
        && tangent(base)?.is_none()
    {
        let of_base = if lies_alike(&new, base)? && lies_alike(&new, t)? {
            new.clone()
        } else {
            let zeros = t!("_new_zeros_with_same_feature_meta", &new, base)?;
            let part = same_view(t, base, steps, &zeros)?;
            t!("copy_", &part, &new)?;
            new = part;
            zeros
        };
        set_tangent(base, of_base, false)?;
    }
    if !lies_alike(&new, t)? {
        let zeros = t!("_new_zeros_with_same_feature_meta", &new, t)?;
        new = t!("copy_", &zeros, new)?;
    }
    keep(t, &new);
    Ok(())
}

/// Whether two tensors lie in memory alike: sizes of storages, geometry, and conjugate and negative bits.
fn lies_alike(a: &Tensor, b: &Tensor) -> Result<bool> {
    let (g, h) = (a.geometry(), b.geometry());
    let elements = |t: &Tensor| t.storage().nbytes().floor_div(&SymInt::from(t.dtype().itemsize() as i64));
    // A level below may hide dimensions: how large its storage is says nothing.
    let is_wrapped = |t: &Tensor| t.imp().transform.borrow().is_some();
    if !(is_wrapped(a) || is_wrapped(b)) && !elements(a)?.statically_eq(elements(b)?) || g.sizes.len() != h.sizes.len() {
        return Ok(false);
    }
    if !SymInt::all_statically_eq(&g.sizes, &h.sizes) || a.math_bits() != b.math_bits() {
        return Ok(false);
    }
    let one = |n: &SymInt| matches!(n.hint(), Some(0 | 1));
    let strides = g.sizes.iter().zip(g.strides.iter().zip(&h.strides)).all(|(size, (a, b))| one(size) || a.statically_eq(b.clone()));
    Ok(strides && (is_wrapped(a) || g.offset.statically_eq(h.offset.clone())))
}

/// Its primal: a view without a tangent. A number that stands for a tensor is itself.
pub fn primal(t: &Tensor) -> Result<Tensor> {
    let view = t!("alias", t)?;
    meta::with(&view, |m| m.forward = None);
    Ok(view)
}

/// A dual number.
pub fn make_dual(primal_of_it: &Tensor, tangent_of_it: Tensor) -> Result<Tensor> {
    let dual = primal(primal_of_it)?;
    set_tangent(&dual, tangent_of_it, false)?;
    Ok(dual)
}

/// Remembers what a view is a view of.
pub(super) fn note_view(view: &Tensor, of: &Tensor, step: &ViewStep) {
    if LEVELS.get() == 0 {
        return;
    }
    let parent = meta::peek(of, |m| m.forward.as_ref().and_then(|f| f.view.clone()));
    let (base, mut steps) = parent.unwrap_or_else(|| (of.clone(), Vec::new()));
    steps.push(step.clone());
    meta::with(view, |m| m.forward.get_or_insert_default().view = Some((base, steps)));
}

/// A call of an operator on dual numbers: what its tangents are computed of.
pub(super) struct DualCall {
    entry: &'static OpEntry,
    args: Vec<Value>,
    /// What a tensor was that is written to, where a formula reads that.
    original: Option<Tensor>,
}

impl DualCall {
    /// Looks for tangents before a call; `None` where there are none.
    pub(super) fn before(entry: &'static OpEntry, args: &[Value]) -> Result<Option<DualCall>> {
        if LEVELS.get() == 0 || entry.not_differentiable || named::DETACH.is(entry) {
            return Ok(None);
        }
        let mut has = false;
        for arg in args {
            let mut error = None;
            arg.for_each_tensor(&mut |t| match tangent(t) {
                Ok(found) => has |= found.is_some(),
                Err(e) => error = Some(e),
            });
            error.map_or(Ok(()), Err)?;
        }
        if !has {
            return Ok(None);
        }
        let original = match (functional(entry), args.first()) {
            (Some(functional), Some(Value::Tensor(t))) if !named::COPY_.is(entry) && reads_primal_of_self(functional) => {
                Some(t!("clone", t)?)
            }
            _ => None,
        };
        Ok(Some(DualCall { entry, args: args.to_vec(), original }))
    }

    /// What the operator is composed of, where it is composed on dual numbers.
    pub(super) fn composed(&self) -> Option<Result<Value>> {
        match &self.entry.forward {
            Some(Forward::Composed(f)) => Some(f(&Call { entry: self.entry, args: &self.args })),
            _ => None,
        }
    }

    /// Gives the results their tangents.
    pub(super) fn after(self, out: &Value) -> Result<()> {
        if let Rule::InplaceView(_) = self.entry.rule {
            // Another view of the same memory: so is its tangent.
            let mut args = self.args;
            if let Some(own) = tangent(args[0].tensor()?)? {
                args[0] = Value::Tensor(own);
                dispatch::call(self.entry, args)?;
            }
            return Ok(());
        }
        let results: Vec<Option<Tensor>> = match out {
            Value::List(items) => items.iter().map(|v| v.as_tensor().cloned()).collect(),
            other => vec![other.as_tensor().cloned()],
        };
        if results.iter().flatten().all(|t| t.dtype().is_integral()) {
            return Ok(());
        }
        let Some(functional) = functional(self.entry) else {
            let formula = formulas(self.entry, &self.args, &results, None)?;
            for (result, tangent) in results.iter().zip(formula) {
                if let (Some(result), Some(tangent)) = (result, tangent)
                    && !result.dtype().is_integral()
                {
                    set_tangent(result, tangent, false)?;
                }
            }
            return Ok(());
        };
        let target = self.args[0].tensor()?;
        if named::COPY_.is(self.entry) {
            return copied(target, self.args[1].as_tensor());
        }
        let own = tangent(target)?;
        let found = formulas(functional, &self.args, &results, Some(Written { own: own.as_ref(), original: self.original.as_ref() }))?;
        let Some(Some(new)) = found.into_iter().next() else { return Ok(()) };
        match own {
            Some(own) => t!("copy_", &own, new).map(drop),
            None => set_tangent(target, new, true),
        }
    }
}

/// The functional form of an operator that writes to its first argument.
fn functional(entry: &'static OpEntry) -> Option<&'static OpEntry> {
    match entry.rule {
        Rule::Inplace(name) => op(name),
        _ => None,
    }
}

fn reads_primal_of_self(entry: &OpEntry) -> bool {
    match &entry.forward {
        Some(Forward::Formulas(all)) => all.iter().any(|f| f.reads.contains(&"self_p")),
        Some(Forward::Elementwise(_)) => entry.derivative.as_ref().is_some_and(|d| d.saves.contains(&"self")),
        Some(Forward::Linear(_)) => false,
        Some(Forward::Composed(_)) | None => true,
    }
}

/// A copy into a tensor.
fn copied(target: &Tensor, source: Option<&Tensor>) -> Result<()> {
    let of_source = source.map(tangent).transpose()?.flatten();
    match (tangent(target)?, of_source) {
        (Some(own), Some(new)) => t!("copy_", &own, new).map(drop),
        (Some(own), None) => t!("fill_.Scalar", &own, 0).map(drop),
        (None, Some(new)) => {
            let fits = SymInt::all_statically_eq(&new.sizes(), &target.sizes());
            let new = if fits { t!("clone", new)? } else { t!("broadcast_to", new, target.sizes())? };
            set_tangent(target, new, true)
        }
        (None, None) => Ok(()),
    }
}

/// A tensor that is written to: its tangent, and itself as it was before.
#[derive(Clone, Copy)]
struct Written<'a> {
    own: Option<&'a Tensor>,
    original: Option<&'a Tensor>,
}

/// What is read of arguments.
struct Reader<'a> {
    entry: &'static OpEntry,
    args: &'a [Value],
    written: Option<Written<'a>>,
    results: &'a [Option<Tensor>],
}

impl Reader<'_> {
    fn tangent_of(&self, value: &Value, is_target: bool) -> Result<Value> {
        let like = |t: &Tensor| zero(t.sizes(), t.dtype(), t.device());
        match value {
            Value::Tensor(t) => {
                if let (true, Some(written)) = (is_target, self.written) {
                    return match (written.original, written.own) {
                        (Some(original), _) => tangent(original)?.map_or_else(|| zeros(t), Ok).map(Value::from),
                        (None, Some(own)) => t!("clone", own).map(Value::from),
                        (None, None) => zeros(t).map(Value::from),
                    };
                }
                match tangent(t)? {
                    Some(tangent) => Ok(tangent.into()),
                    None => like(t).map(Value::from),
                }
            }
            Value::List(items) => Ok(Value::List(items.iter().map(|v| self.tangent_of(v, false)).collect::<Result<_>>()?)),
            Value::Int(_) => zero(Vec::new(), Dtype::Int64, Device::CPU).map(Value::from),
            Value::Float(_) => zero(Vec::new(), Dtype::Float64, Device::CPU).map(Value::from),
            Value::Bool(_) => zero(Vec::new(), Dtype::Bool, Device::CPU).map(Value::from),
            Value::Complex(..) => zero(Vec::new(), Dtype::Complex128, Device::CPU).map(Value::from),
            other => Ok(other.clone()),
        }
    }

    fn primal_of(&self, value: &Value, is_target: bool) -> Result<Value> {
        if let (true, Some(written)) = (is_target, self.written) {
            let original = written.original.ok_or_else(|| Error::runtime(format!("{}: what was written to is gone", self.entry.name)))?;
            return primal(original).map(Value::from);
        }
        value.map_tensors(&mut primal)
    }

    /// What a formula reads, in PyTorch's order: what is written to comes last, as it was before.
    fn read_all(&self, names: &'static [&'static str]) -> Result<Vec<(&'static str, Value)>> {
        let target = self.entry.schema.arguments.first().map_or("", |a| &*a.name);
        let is_target = |name: &str| self.written.is_some() && &name[..name.len() - 2] == target;
        let mut read = Vec::new();
        for name in names {
            match is_target(name) {
                false => read.push(self.read(name)?),
                // PyTorch takes the new value's primal, too.
                true if name.ends_with("_p") => self.results.first().and_then(Option::as_ref).map_or(Ok(()), |t| primal(t).map(drop))?,
                true => {}
            }
        }
        for name in names.iter().filter(|name| is_target(name)) {
            read.push(self.read(name)?);
        }
        Ok(read)
    }

    fn read(&self, name: &'static str) -> Result<(&'static str, Value)> {
        let argument = &name[..name.len() - 2];
        let at = self.entry.schema.position(argument);
        let at = at.ok_or_else(|| Error::runtime(format!("{}: no argument {argument}", self.entry.name)))?;
        let value = match name.ends_with("_t") {
            true => self.tangent_of(&self.args[at], at == 0)?,
            false => self.primal_of(&self.args[at], at == 0)?,
        };
        Ok((name, value))
    }
}

/// A zero that is known to be one.
fn zero(sizes: Vec<SymInt>, dtype: Dtype, device: Device) -> Result<Tensor> {
    t!("_efficientzerotensor", sizes; dtype = dtype, layout = Value::Layout(Layout::Strided), device = device)
}

fn zeros(t: &Tensor) -> Result<Tensor> {
    t!("zeros", t.sizes(); dtype = t.dtype(), layout = Value::Layout(Layout::Strided), device = t.device())
}

/// The tangents of the results of a call, `None` where one has none.
fn formulas(entry: &'static OpEntry, args: &[Value], results: &[Option<Tensor>], written: Option<Written>) -> Result<Vec<Option<Tensor>>> {
    let reader = Reader { entry, args, written, results };
    match &entry.forward {
        Some(Forward::Linear(names)) => {
            let mut given = args.to_vec();
            for name in *names {
                let at = entry.schema.position(name).ok_or_else(|| Error::runtime(format!("{}: no argument {name}", entry.name)))?;
                given[at] = reader.tangent_of(&args[at], at == 0)?;
            }
            // What is its argument in another place is so as a tangent, too.
            if named::ALIAS.is(entry) {
                return Ok(vec![given[0].as_tensor().cloned()]);
            }
            Ok(match call(entry, given)? {
                Value::List(items) => items.into_iter().map(|v| v.as_tensor().cloned()).collect(),
                other => vec![other.as_tensor().cloned()],
            })
        }
        Some(Forward::Elementwise(name)) => elementwise(&reader, name).map(|t| vec![Some(t)]),
        Some(Forward::Formulas(all)) => {
            let mut tangents = vec![None; results.len()];
            for ForwardFormula { result, reads, formula } in all {
                tangents[*result] = Some(formula(&Dual { entry, args, results, read: reader.read_all(reads)? })?);
            }
            Ok(tangents)
        }
        Some(Forward::Composed(_)) | None => by_derivative(&reader),
    }
}

fn conj(t: Tensor) -> Result<Tensor> {
    if t.dtype().is_complex() { t!("conj", t) } else { Ok(t) }
}

/// The gradient formula, on the conjugate of the tangent in place of a gradient.
fn elementwise(reader: &Reader, name: &str) -> Result<Tensor> {
    let entry = reader.entry;
    let missing = || Error::runtime(format!("derivative for aten::{} is not implemented", entry.schema.name));
    let derivative = entry.derivative.as_ref().ok_or_else(missing)?;
    let at = entry.schema.position(name).ok_or_else(missing)?;
    let reads_self = derivative.saves.contains(&name);
    let reads_result = derivative.saves.iter().any(|s| s.starts_with("result"));
    let mut results = reader.results.to_vec();
    // Of what is written to, the new value's primal is taken first.
    if let (Some(_), true, Some(Some(result))) = (reader.written, reads_self || reads_result, results.first()) {
        results[0] = Some(primal(result)?);
    }
    let tangent = reader.tangent_of(&reader.args[at], at == 0)?.into_tensor()?;
    // The formula of a holomorphic function is the real one's: its conjugates are around it.
    let holomorphic = entry.tags.has(Tags::HOLOMORPHIC);
    let tangent = if holomorphic { tangent } else { conj(tangent)? };
    let mut args = reader.args.to_vec();
    if reads_self {
        args[at] = reader.primal_of(&reader.args[at], at == 0)?;
    }
    let needs: Vec<bool> = (0..args.len()).map(|i| i == at).collect();
    let grad = by_formula(entry, reader.args, &args, &results, &[Some(tangent)], &needs)?.swap_remove(at);
    let Grad::Tensor(grad) = grad else {
        return zero(sizes_of(reader.results), dtype_of(reader.results), Device::CPU);
    };
    if holomorphic { Ok(grad) } else { conj(grad) }
}

fn sizes_of(results: &[Option<Tensor>]) -> Vec<SymInt> {
    results.first().and_then(Option::as_ref).map_or_else(Vec::new, Tensor::sizes)
}

fn dtype_of(results: &[Option<Tensor>]) -> Dtype {
    results.first().and_then(Option::as_ref).map_or(Dtype::Float32, Tensor::dtype)
}

/// Runs an operator's gradient formula.
fn by_formula(
    entry: &'static OpEntry,
    original: &[Value],
    args: &[Value],
    results: &[Option<Tensor>],
    grads: &[Option<Tensor>],
    needs: &[bool],
) -> Result<Vec<Grad>> {
    let missing = || Error::runtime(format!("derivative for aten::{} is not implemented", entry.schema.name));
    let derivative = entry.derivative.as_ref().ok_or_else(missing)?;
    let specs = super::layer::specs_of(original);
    let result_specs: Vec<_> = results.iter().map(|r| r.as_ref().map(Tensor::spec)).collect();
    let backward = Backward { entry, args, specs: &specs, results, result_specs: &result_specs, grads, needs, numel: None };
    Ok(dispatch::contained(backward.entry.name, || (derivative.formula)(&backward))?.0)
}

/// The derivative applied twice: first to weights that stand for gradients, then the result's, with respect to those.
fn by_derivative(reader: &Reader) -> Result<Vec<Option<Tensor>>> {
    let entry = reader.entry;
    if entry.derivative.is_none() {
        return Err(Error::not_implemented(format!(
            "Trying to use forward AD with {} that does not support it because it has not been implemented yet.\nPlease file an issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can prioritize its implementation or let us know if you would be interested in this feature.",
            entry.base_name()
        )));
    }
    let before = set_modes(Modes { grad: true, ..modes() });
    let outcome = twice(reader);
    set_modes(before);
    outcome
}

fn twice(reader: &Reader) -> Result<Vec<Option<Tensor>>> {
    let entry = reader.entry;
    let args =
        reader.args.iter().enumerate().map(|(i, v)| reader.primal_of(v, i == 0 && reader.written.is_some())).collect::<Result<Vec<_>>>()?;
    let has_tangent = |v: &Value| -> Result<bool> {
        let mut has = Ok(false);
        v.for_each_tensor(&mut |t| match tangent(t) {
            Ok(found) => has = has.clone().map(|h: bool| h || found.is_some()),
            Err(e) => has = Err(e),
        });
        has
    };
    let needs = reader.args.iter().map(has_tangent).collect::<Result<Vec<_>>>()?;
    let results: Vec<Option<Tensor>> = reader.results.iter().map(|r| r.as_ref().map(primal).transpose()).collect::<Result<_>>()?;
    let mut weights: Vec<Option<Tensor>> = Vec::new();
    for (i, result) in results.iter().enumerate() {
        let differentiable = result.as_ref().is_some_and(|t| !t.dtype().is_integral()) && !entry.non_differentiable_results.contains(&i);
        let weight = match result {
            Some(t) if differentiable => Some(t!("ones_like", t)?),
            _ => None,
        };
        if let Some(weight) = &weight {
            meta::set_requires_grad(weight, true)?;
        }
        weights.push(weight);
    }
    let grads = by_formula(entry, reader.args, &args, &results, &weights, &needs)?;
    let mut roots = Vec::new();
    for (i, (grad, value)) in grads.into_iter().zip(reader.args).enumerate() {
        let tangents = reader.tangent_of(value, i == 0)?;
        let pairs: Vec<(Tensor, Tensor)> = match (grad, tangents) {
            (Grad::Tensor(grad), Value::Tensor(tangent)) => vec![(grad, tangent)],
            (Grad::List(grads), Value::List(tangents)) => {
                grads.into_iter().zip(tangents).filter_map(|(g, t)| Some((g?, t.as_tensor().cloned()?))).collect()
            }
            _ => Vec::new(),
        };
        for (grad, tangent) in pairs {
            if tangent.math_bits().zero {
                continue;
            }
            if let Some(edge) = gradient_edge(&grad)? {
                roots.push((edge, tangent));
            }
        }
    }
    let given: Vec<&Tensor> = weights.iter().flatten().collect();
    let mut edges = Vec::new();
    for weight in &given {
        edges.extend(gradient_edge(weight)?);
    }
    let found = match roots.is_empty() {
        true => vec![None; edges.len()],
        false => run_backward(roots, Some(&edges), BackwardOptions { retain_graph: true, create_graph: true, more_rows: false })?,
    };
    let mut found = found.into_iter();
    weights
        .iter()
        .map(|weight| match weight {
            Some(weight) => found.next().flatten().map_or_else(|| zeros(weight), Ok).map(Some),
            None => Ok(None),
        })
        .collect()
}
