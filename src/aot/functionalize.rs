//! Functionalization: in-place operators become functional ones, a write through a view becomes a scatter onto its base.

use super::functional_inverses::copying;
use super::functional_tensor::{Functional, note_line, replace, set_state, state, sync, unwrap_args, wrap};
use super::higher_order::auto_functionalized;
use super::{effects, trace};
use crate::autograd::ViewStep;
use crate::dispatch::foreach::is_foreach;
use crate::dispatch::{Call, Key, Layer, OpEntry, Rule, Tags, Value, call_below, lookup, named, op};
use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// The layer of dispatch.
#[derive(Default)]
pub struct FunctionalizeLayer {
    /// Whether views become copies, too.
    pub copies_views: bool,
    /// Whether a view is taken of the value that a tensor had when it was used last, and made anew when it is used itself: so it is
    /// outside of AOTAutograd, which looks at a tensor before it calls anything.
    pub views_stale: bool,
}

impl Layer for FunctionalizeLayer {
    fn key(&self) -> Key {
        Key::Functionalize
    }

    fn wants(&self, _call: &Call) -> bool {
        true
    }

    fn handle(&self, entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
        match entry.rule {
            // A constant of the script's becomes a value of the graph as a copy.
            Rule::View(_) if named::LIFT_FRESH.is(entry) => fresh(named::LIFT_FRESH_COPY.get(), args),
            Rule::View(_) => view(entry, args, self.copies_views, self.views_stale),
            Rule::Script if entry.is_mutable() => auto_functionalized::functionalized(entry, args),
            Rule::Script => fresh(entry, args),
            // Autograd takes its result for a new tensor, but it has the memory of what it views.
            _ if named::UNSAFE_VIEW.is(entry) => view(entry, args, false, false),
            Rule::Inplace(_) if named::COPY_RESULT_.is(entry) => take_result(entry, args),
            Rule::Inplace(_) if named::SHALLOW_COPY_DATA_.is(entry) => replace_data(entry, args),
            Rule::Inplace(functional) if is_foreach(entry) => inplace_each(entry, functional, args),
            Rule::Inplace(functional) => inplace(entry, functional, args),
            Rule::InplaceView(_) => inplace_view(entry, args),
            _ if entry.is_mutable() => mutating(entry, args),
            _ => fresh(entry, args),
        }
    }
}

/// Calls the operator that stands for a call. In a checkpointed region every result is kept, detached, for a recomputation that
/// tracing never makes: nodes that nobody reads, which leave nothing but a gap in the names.
fn call_inner(entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let result = call_below(Key::Functionalize, entry, args)?;
    if named::DETACH.is(entry) || !trace::in_checkpoint() {
        return Ok(result);
    }
    // A region within another keeps it for both.
    for _ in 0..trace::origin().checkpoint_depth {
        let mut kept = Vec::new();
        result.for_each_tensor(&mut |t| kept.push(t.clone()));
        // A batch norm updates its statistics where they are.
        if entry.base_name().contains("native_batch_norm") {
            kept.truncate(3);
        }
        kept.iter().try_for_each(|t| call_below(Key::Functionalize, named::DETACH.get(), vec![t.into()]).map(drop))?;
    }
    Ok(result)
}

fn fresh(entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    if entry.tags.has(Tags::ORDERED) {
        effects::see();
    }
    crate::dispatch::ask_call(entry, &args)?;
    let is_made_for_script = is_made_for_script(entry, &args);
    let out = call_inner(entry, unwrap_args(&args)?)?.map_tensors(&mut |t| wrap(t))?;
    // PyTorch hands what it made to the script alone. Where a checkpointed region keeps it, too, the script gets a view.
    if trace::in_checkpoint() && is_made_for_script {
        return view(named::DETACH.get(), vec![out], false, false);
    }
    Ok(out)
}

/// Whether a call makes a tensor of nothing, or like another, and is the script's own: only those say whether memory is pinned.
fn is_made_for_script(entry: &OpEntry, args: &[Value]) -> bool {
    let makes_from = |a: &crate::dispatch::Argument| &*a.name == "self";
    let pins = entry.schema.position("pin_memory").and_then(|at| args.get(at));
    pins.is_some_and(|pins| !matches!(pins, Value::None))
        && (entry.base_name().ends_with("_like") || !entry.schema.arguments.iter().any(makes_from))
}

fn view(entry: &'static OpEntry, args: Vec<Value>, copies: bool, stale: bool) -> Result<Value> {
    let Some(of) = args.iter().find_map(Value::as_tensor).cloned() else { return fresh(entry, args) };
    let Some(_) = state(&of) else {
        let out = call_inner(entry, unwrap_args(&args)?)?;
        return out.map_tensors(&mut |t| wrap(t));
    };
    let mut as_it_is = |t: &Tensor| Ok(state(t).map_or_else(|| t.clone(), |s| s.value));
    let inner = if stale { args.iter().map(|v| v.map_tensors(&mut as_it_is)).collect::<Result<_>>()? } else { unwrap_args(&args)? };
    let base = state(&of).ok_or_else(|| Error::runtime("a functional tensor lost its state"))?;
    let below = if copies { copying(entry).unwrap_or(entry) } else { entry };
    crate::dispatch::ask_call(entry, &args)?;
    let out = call_inner(below, inner)?;
    let mut made = Vec::new();
    out.for_each_tensor(&mut |t| made.push(t.clone()));
    made.iter().try_for_each(crate::dispatch::ask_view_made)?;
    if named::UNSAFE_VIEW.is(entry) {
        crate::dispatch::ask_view(&of, &Call { entry, args: &args }.sym_ints("size")?)?;
    }
    let mut kept = args;
    kept[0] = Value::None;
    let several = matches!(out, Value::List(_));
    let mut index = 0;
    out.map_tensors(&mut |value| {
        let outer = if value.dtype() == of.dtype() {
            of.view_as((*value.geometry()).clone())
        } else {
            of.view_dtype((*value.geometry()).clone(), value.dtype())
        };
        let steps = base.steps.and(ViewStep { entry: below, args: kept.clone(), result: several.then_some(index) });
        index += 1;
        set_state(
            &outer,
            Functional {
                value: value.clone(),
                storage: base.storage.clone(),
                steps,
                // As in PyTorch, a view starts at generation zero: where its storage was written to before, it is made anew on first use.
                generation: 0,
                metadata_mutated: false,
                data_replaced: false,
            },
        );
        Ok(outer)
    })
}

/// A value whose conjugate and negative bits are resolved.
fn resolved(t: &Tensor) -> Result<Tensor> {
    static CLONE: crate::dispatch::OpRef = crate::dispatch::OpRef::new("clone");
    if !t.math_bits().any() {
        return Ok(t.clone());
    }
    call_inner(CLONE.get(), crate::dispatch::fill_args(CLONE.get(), vec![t.into()], &[])?)?.into_tensor()
}

fn inplace(entry: &'static OpEntry, functional: &'static str, args: Vec<Value>) -> Result<Value> {
    let target = args.first().map_or_else(|| Err(Error::runtime("nothing to write to")), |v| v.tensor().cloned())?;
    let inner = unwrap_args(&args)?;
    let Some(before) = state(&target) else {
        // A tensor from outside the traced function: written to as it is.
        call_below(Key::Functionalize, entry, inner)?;
        return Ok(Value::Tensor(target));
    };
    let functional = op(functional).ok_or_else(|| Error::not_implemented(format!("{} has no functional form", entry.name)))?;
    crate::dispatch::ask_write(entry, &args)?;
    // A copy in place reads conjugates as they are, one that is not in place does not.
    static COPY: crate::dispatch::OpRef = crate::dispatch::OpRef::new("copy");
    let inner = if COPY.is(functional) { inner.iter().map(|v| v.map_tensors(&mut resolved)).collect::<Result<_>>()? } else { inner };
    let out = call_inner(functional, inner)?.into_tensor()?;
    check_shape(&before.value, &out)?;
    replace(&target, out)?;
    Ok(Value::Tensor(target))
}

/// A write to every tensor of a list: the functional operator gives all their values.
fn inplace_each(entry: &'static OpEntry, functional: &'static str, args: Vec<Value>) -> Result<Value> {
    let targets = args.first().map_or_else(|| Err(Error::runtime("nothing to write to")), Value::tensors)?;
    let inner = unwrap_args(&args)?;
    if targets.iter().all(|t| state(t).is_none()) {
        // Tensors from outside the traced function: written to as they are.
        return call_below(Key::Functionalize, entry, inner);
    }
    let functional = op(functional).ok_or_else(|| Error::not_implemented(format!("{} has no functional form", entry.name)))?;
    for (target, value) in targets.iter().zip(call_inner(functional, inner)?.tensors()?) {
        check_shape(target, &value)?;
        replace(target, value)?;
    }
    Ok(Value::None)
}

/// `out=`: the result of a call is the target's value from now on.
fn take_result(entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let target = args.first().map_or_else(|| Err(Error::runtime("nothing to write to")), |v| v.tensor().cloned())?;
    let mut inner = unwrap_args(&args)?;
    match (state(&target), inner.pop()) {
        (Some(_), Some(Value::Tensor(result))) => replace(&target, result)?,
        _ => drop(call_below(Key::Functionalize, entry, unwrap_args(&args)?)?),
    }
    Ok(Value::Tensor(target))
}

/// `target.data = source`: from here on they share memory; what viewed the target goes on viewing what it had.
fn replace_data(entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let [target, source] = [&args[0], &args[1]].map(|v| v.tensor().cloned());
    let (target, source) = (target?, source?);
    let Some(before) = state(&target) else {
        call_below(Key::Functionalize, entry, unwrap_args(&args)?)?;
        return Ok(Value::Tensor(target));
    };
    sync(&source)?;
    let Some(of) = (match state(&source) {
        Some(s) => Some(s),
        None => state(&wrap(&source)?),
    }) else {
        return Err(Error::runtime("a functional tensor lost its state"));
    };
    check_shape(&before.value, &of.value)?;
    note_line(&of.storage);
    set_state(&target, Functional { metadata_mutated: before.metadata_mutated, data_replaced: true, ..of });
    Ok(Value::Tensor(target))
}

fn check_shape(target: &Tensor, value: &Tensor) -> Result<()> {
    let (a, b) = (target.sizes(), value.sizes());
    let mut same = a.len() == b.len();
    for (x, y) in a.iter().zip(&b) {
        same = same && x.sym_eq(y.clone())?;
    }
    if same { Ok(()) } else { Err(Error::runtime(format!("output with shape {a:?} doesn't match the broadcast shape {b:?}"))) }
}

/// The view operator that an in-place one is named after: the overload with the same arguments.
fn view_form(entry: &OpEntry) -> Option<&'static OpEntry> {
    let name = entry.base_name().trim_end_matches('_');
    let kinds = |e: &OpEntry| e.schema.arguments.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
    let mut overloads = crate::dispatch::overloads(&format!("aten.{name}")).iter();
    overloads.find(|e| kinds(e) == kinds(entry)).copied()
}

fn inplace_view(entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let target = args.first().map_or_else(|| Err(Error::runtime("nothing to change")), |v| v.tensor().cloned())?;
    let view = view_form(entry).ok_or_else(|| Error::not_implemented(format!("{} has no functional form", entry.name)))?;
    let inner = unwrap_args(&args)?;
    let Some(mut s) = state(&target) else {
        call_below(Key::Functionalize, entry, inner)?;
        return Ok(Value::Tensor(target));
    };
    let value = call_inner(view, inner)?.into_tensor()?;
    let mut kept = args;
    kept[0] = Value::None;
    s.steps = s.steps.and(ViewStep { entry: view, args: kept, result: None });
    target.set_geometry((*value.geometry()).clone());
    s.value = value;
    s.metadata_mutated = true;
    note_line(&s.storage);
    set_state(&target, s);
    Ok(Value::Tensor(target))
}

/// An operator that writes to arguments other than `self`: its functional form returns their new values after its results.
fn mutating(entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let functional =
        format!("{}_functional.{}", &entry.name[..entry.name.rfind('.').unwrap_or(0)], entry.name.rsplit('.').next().unwrap_or("default"));
    let functional = lookup(&functional)
        .or_else(|| lookup(&format!("{}_functional.default", &entry.name[..entry.name.rfind('.').unwrap_or(0)])))
        .ok_or_else(|| Error::not_implemented(format!("{} has no functional form", entry.name)))?;
    let inner = unwrap_args(&args)?;
    let Value::List(mut results) = call_inner(functional, inner)? else {
        return Err(Error::runtime(format!("{}: expected several results", functional.name)));
    };
    let written: Vec<&Tensor> =
        entry.schema.arguments.iter().zip(&args).filter(|(a, _)| a.mutated).filter_map(|(_, v)| v.as_tensor()).collect();
    let new = results.split_off(results.len().saturating_sub(written.len()));
    for (target, value) in written.into_iter().zip(new) {
        if let Value::Tensor(value) = value {
            replace(target, value)?;
        }
    }
    let wrapped = results.iter().map(|v| v.map_tensors(&mut |t| wrap(t))).collect::<Result<Vec<_>>>()?;
    Ok(if entry.schema.returns.len() > 1 { Value::List(wrapped) } else { wrapped.into_iter().next().unwrap_or_default() })
}
