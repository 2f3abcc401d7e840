//! Functionalization: in-place operators become functional ones, a write through a view becomes a scatter onto its base.
//!
//! A functional tensor wraps the current value of a tensor. Tensors that alias share a [`FunctionalStorage`]: it holds the
//! value of the base and the writes not yet applied to it. A write replaces the writer's value, is queued on the storage and
//! applied at once for the writer; other aliases notice by the generation that they are stale, and replay their views from
//! the updated base when they are next used. (The design of PyTorch's FunctionalTensorWrapper.)

use crate::autograd::ViewStep;
use crate::dispatch::foreach::is_foreach;
use crate::dispatch::{Call, Key, Layer, OpEntry, Rule, Tags, Value, call_below, lookup, modes, op};
use crate::error::{Error, Result};
use crate::span::Source;
use crate::tensor::Tensor;
use crate::{aten, t};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What aliases share.
pub struct FunctionalStorage {
    base: RefCell<Tensor>,
    updates: RefCell<Vec<(Tensor, Vec<ViewStep>)>>,
    generation: Cell<u64>,
    /// How many writes there were.
    pub writes: Cell<u64>,
    /// Of them, under no_grad or inference mode.
    pub writes_no_grad: Cell<u64>,
    /// Lines that wrote, each once.
    pub written_at: RefCell<Vec<Source>>,
}

/// The state of one functional tensor.
#[derive(Clone)]
pub struct Functional {
    value: Tensor,
    /// Shared with its aliases.
    pub storage: Rc<FunctionalStorage>,
    /// From the base to this tensor.
    pub steps: Vec<ViewStep>,
    generation: u64,
    /// Whether its geometry was changed in place.
    pub metadata_mutated: bool,
    /// Whether it was given another tensor's memory: `t.data = other`.
    pub data_replaced: bool,
}

impl Functional {
    /// Whether it was reached through an operator with several views as results.
    pub fn is_multi_output_view(&self) -> bool {
        self.steps.iter().any(|step| step.result.is_some())
    }
}

/// Reads the state of a functional tensor.
pub fn state(t: &Tensor) -> Option<Functional> {
    t.imp().functional.borrow().as_ref().and_then(|b| b.downcast_ref::<Functional>()).cloned()
}

fn set_state(t: &Tensor, state: Functional) {
    *t.imp().functional.borrow_mut() = Some(Box::new(state));
}

/// Wraps a value that aliases nothing.
pub fn wrap(value: &Tensor) -> Result<Tensor> {
    let outer = Tensor::fake(&value.spec())?;
    outer.set_lazy(value.lazy());
    let storage = Rc::new(FunctionalStorage {
        base: RefCell::new(value.clone()),
        updates: RefCell::default(),
        generation: Cell::new(0),
        writes: Cell::new(0),
        writes_no_grad: Cell::new(0),
        written_at: RefCell::default(),
    });
    set_state(
        &outer,
        Functional { value: value.clone(), storage, steps: Vec::new(), generation: 0, metadata_mutated: false, data_replaced: false },
    );
    Ok(outer)
}

/// The current value of a tensor, writes through its aliases included; a tensor that is not functional is its own value.
pub fn unwrap(t: &Tensor) -> Result<Tensor> {
    sync(t)?;
    Ok(state(t).map_or_else(|| t.clone(), |s| s.value))
}

/// Applies queued writes to the base and regenerates the value from it.
pub fn sync(t: &Tensor) -> Result<()> {
    let Some(mut s) = state(t) else { return Ok(()) };
    if s.generation == s.storage.generation.get() {
        return Ok(());
    }
    apply_updates(&s.storage)?;
    let base = s.storage.base.borrow().clone();
    s.value = replay_below(&s.steps, &base)?;
    s.generation = s.storage.generation.get();
    set_state(t, s);
    Ok(())
}

fn replay_below(steps: &[ViewStep], base: &Tensor) -> Result<Tensor> {
    let _guard = crate::dispatch::Exclude::down_to(Key::Functionalize);
    crate::autograd::replay(steps, base)
}

fn apply_updates(storage: &FunctionalStorage) -> Result<()> {
    let updates = std::mem::take(&mut *storage.updates.borrow_mut());
    let _guard = crate::dispatch::Exclude::down_to(Key::Functionalize);
    for (value, steps) in updates {
        let base = storage.base.borrow().clone();
        // Every intermediate view of the old base, then scatter back from the innermost.
        let mut views = vec![base];
        for step in steps.iter().take(steps.len().saturating_sub(1)) {
            let next = step.apply(&views[views.len() - 1])?;
            views.push(next);
        }
        let mut written = value;
        for (step, of) in steps.iter().zip(&views).rev() {
            written = inverse(step, of, &written)?;
        }
        *storage.base.borrow_mut() = written;
    }
    Ok(())
}

/// The base after its view was replaced: the inverse of a view operator. `base` is what the view was taken of.
pub fn inverse(step: &ViewStep, base: &Tensor, view: &Tensor) -> Result<Tensor> {
    let call = Call { entry: step.entry, args: &step.args };
    let g = base.geometry();
    let name = step.entry.base_name();
    // Where views are copies, so are those that lead back.
    let back = |name: &str, args: Vec<Value>| {
        let entry = op(name).ok_or_else(|| missing(step))?;
        let entry = if step.entry.base_name().ends_with("_copy") { copying(entry).unwrap_or(entry) } else { entry };
        crate::dispatch::call(entry, crate::dispatch::fill_args(entry, args, &[])?)?.into_tensor()
    };
    match name.strip_suffix("_copy").unwrap_or(name) {
        _ if name == "view" && step.entry.view_dtype.is_some() => t!("view.dtype", view, base.dtype()),
        "_unsafe_view" => t!("_unsafe_view", view, &g.sizes),
        "view" | "reshape" | "_reshape_alias" | "view_as" => back("view", vec![view.into(), (&g.sizes).into()]),
        "t" => back("t", vec![view.into()]),
        "transpose" | "swapaxes" => back("transpose.int", vec![view.into(), call.get("dim0").clone(), call.get("dim1").clone()]),
        "permute" => {
            let dims = crate::ops::shapes::wrap_dims(&call.ints("dims")?, base.dim())?;
            let mut order = vec![0i64; dims.len()];
            dims.iter().enumerate().for_each(|(i, d)| order[*d] = i as i64);
            back("permute", vec![view.into(), order.into()])
        }
        "select" => t!("select_scatter", base, view, call.get("dim"), call.get("index")),
        "slice" => t!("slice_scatter", base, view, call.get("dim"), call.get("start"), call.get("end"), call.get("step")),
        "diagonal" => t!("diagonal_scatter", base, view, call.get("offset"), call.get("dim1"), call.get("dim2")),
        "as_strided" => t!("as_strided_scatter", base, view, call.get("size"), call.get("stride"), call.get("storage_offset")),
        "view_as_real" => t!("view_as_complex", view),
        "view_as_complex" => t!("view_as_real", view),
        "unsqueeze" => back("squeeze.dim", vec![view.into(), call.get("dim").clone()]),
        "squeeze" => unsqueeze_like(view, base, &call),
        "alias" => t!("alias", view),
        "_conj" => t!("_conj", view),
        "_neg_view" => t!("_neg_view", view),
        "detach" | "lift_fresh" | "view_dtype" => t!("alias", view).map(|_| view.clone()).or_else(|_| Ok(view.clone())),
        "expand" => expand_inverse(view, base),
        "split" | "split_with_sizes" | "unbind" | "chunk" => multi_inverse(step, base, view),
        // Windows that overlap share elements: which of them a write leaves there is not defined.
        "unfold" if call.int("size")? > call.int("step")? => Err(Error::runtime(
            "While executing unfold, functionalization encountered a tensor being mutated that has internal overlap. When using torch.compile (or running functionalization directly), this is banned as the behavior is not well defined. Consider cloning the tensor before mutating it, or removing the mutation from your model.",
        )),
        "unfold" => t!("unfold_backward", view, &g.sizes, call.get("dimension"), call.get("size"), call.get("step")),
        _ => Err(missing(step)),
    }
}

fn missing(step: &ViewStep) -> Error {
    Error::not_implemented(format!("functionalization: writing through a view made by {} is not supported yet", step.entry.name))
}

fn unsqueeze_like(view: &Tensor, base: &Tensor, call: &Call) -> Result<Tensor> {
    let n = base.dim();
    let dims: Vec<usize> = match call.get("dim") {
        Value::None => (0..n).collect(),
        dims => crate::ops::shapes::wrap_dims(&dims.ints()?, n)?,
    };
    let mut out = view.clone();
    for (d, size) in base.sizes().iter().enumerate() {
        if dims.contains(&d) && size.sym_eq(1)? {
            out = t!("unsqueeze", out, d)?;
        }
    }
    Ok(out)
}

fn expand_inverse(view: &Tensor, base: &Tensor) -> Result<Tensor> {
    let (sizes, wanted) = (view.sizes(), base.sizes());
    let lead = sizes.len() - wanted.len();
    let mut dims: Vec<i64> = (0..lead as i64).collect();
    for (i, want) in wanted.iter().enumerate() {
        if want.sym_eq(1)? && !sizes[lead + i].sym_eq(1)? {
            dims.push((lead + i) as i64);
        }
    }
    if dims.is_empty() {
        return Ok(view.clone());
    }
    // Each element of the base gets what was added to its copies.
    let added = t!("sub.Tensor", view, base)?;
    let summed = t!("sum.dim_IntList", added, dims, true)?;
    let summed = if lead > 0 { t!("view", summed, wanted)? } else { summed };
    t!("add.Tensor", base, summed)
}

fn multi_inverse(step: &ViewStep, base: &Tensor, view: &Tensor) -> Result<Tensor> {
    let call = Call { entry: step.entry, args: &step.args };
    let index = step.result.unwrap_or(0);
    let dim = crate::ops::shapes::wrap_dim(call.get("dim").int().unwrap_or(0), base.dim())?;
    let size = base.size(dim);
    let (start, end) = match step.entry.base_name() {
        "unbind" => return t!("select_scatter", base, view, dim, index),
        "split" => {
            let each = call.sym_int("split_size")?;
            let start = &each * index as i64;
            let end = (&start + &each).min(&size);
            (start, end)
        }
        _ => {
            let sizes = call.sym_ints("split_sizes")?;
            let start = sizes[..index].iter().fold(0i64.into(), |n: crate::shape::SymInt, s| &n + s);
            let end = &start + &sizes[index];
            (start, end)
        }
    };
    t!("slice_scatter", base, view, dim, start, end, 1)
}

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
        static LIFTED: crate::dispatch::OpRef = crate::dispatch::OpRef::new("lift_fresh_copy");
        match entry.rule {
            // A constant of the script's becomes a value of the graph as a copy.
            Rule::View(_) if entry.base_name() == "lift_fresh" => fresh(LIFTED.get(), args),
            Rule::View(_) => view(entry, args, self.copies_views, self.views_stale),
            Rule::Script if entry.is_mutable() => super::auto_functionalized::functionalized(entry, args),
            Rule::Script => fresh(entry, args),
            // Autograd takes its result for a new tensor, but it has the memory of what it views.
            _ if entry.base_name() == "_unsafe_view" => view(entry, args, false, false),
            Rule::Inplace(_) if entry.name == "aten._copy_result_.default" => take_result(entry, args),
            Rule::Inplace(_) if entry.base_name() == "shallow_copy_data_" => replace_data(entry, args),
            Rule::Inplace(functional) if is_foreach(entry) => inplace_each(entry, functional, args),
            Rule::Inplace(functional) => inplace(entry, functional, args),
            Rule::InplaceView(_) => inplace_view(entry, args),
            _ if entry.is_mutable() => mutating(entry, args),
            _ => fresh(entry, args),
        }
    }
}

static DETACH: crate::dispatch::OpRef = crate::dispatch::OpRef::new("detach");

/// Calls the operator that stands for a call. In a checkpointed region every result is kept, detached, for a recomputation that
/// tracing never makes: nodes that nobody reads, which leave nothing but a gap in the names.
fn call_inner(entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    let result = call_below(Key::Functionalize, entry, args)?;
    if entry.name == DETACH.get().name || !super::trace::in_checkpoint() {
        return Ok(result);
    }
    // A region within another keeps it for both.
    for _ in 0..super::trace::origin().checkpoint_depth {
        let mut kept = Vec::new();
        result.for_each_tensor(&mut |t| kept.push(t.clone()));
        // A batch norm updates its statistics where they are.
        if entry.base_name().contains("native_batch_norm") {
            kept.truncate(3);
        }
        kept.iter().try_for_each(|t| call_below(Key::Functionalize, DETACH.get(), vec![t.into()]).map(drop))?;
    }
    Ok(result)
}

/// Arguments of a call: what has to be made anew for it is traced as the value it replaces was.
pub(super) fn unwrap_args(args: &[Value]) -> Result<Vec<Value>> {
    let mut current = |t: &Tensor| {
        let before = super::trace::set_replayed(state(t).map(|s| s.value.id()));
        let value = unwrap(t);
        super::trace::set_replayed(before);
        value
    };
    args.iter().map(|v| v.map_tensors(&mut current)).collect()
}

fn fresh(entry: &'static OpEntry, args: Vec<Value>) -> Result<Value> {
    if entry.tags.has(Tags::ORDERED) {
        super::effects::see();
    }
    crate::dispatch::ask_call(entry, &args)?;
    let is_made_for_script = is_made_for_script(entry, &args);
    let out = call_inner(entry, unwrap_args(&args)?)?.map_tensors(&mut |t| wrap(t))?;
    // PyTorch hands what it made to the script alone. Where a checkpointed region keeps it, too, the script gets a view.
    if super::trace::in_checkpoint() && is_made_for_script {
        return view(DETACH.get(), vec![out], false, false);
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

/// The operator that copies what a view shows, where there is one.
fn copying(view: &'static OpEntry) -> Option<&'static OpEntry> {
    let (packet, overload) = view.name.rsplit_once('.')?;
    lookup(&format!("{packet}_copy.{overload}"))
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
    if entry.base_name() == "_unsafe_view" {
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
        let mut steps = base.steps.clone();
        steps.push(ViewStep { entry: below, args: kept.clone(), result: several.then_some(index) });
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

/// Remembers the line that writes.
fn note_line(storage: &FunctionalStorage) {
    if let Some(source) = super::trace::origin().source {
        let mut lines = storage.written_at.borrow_mut();
        if !lines.contains(&source) {
            lines.push(source);
        }
    }
}

/// Replaces the value of a functional tensor: the write that an in-place operator stands for.
pub fn replace(target: &Tensor, value: Tensor) -> Result<()> {
    let Some(mut s) = state(target) else {
        return Err(Error::runtime("mutating a non-functional tensor with a functional tensor is not allowed."));
    };
    let value = if value.dtype() == target.dtype() {
        value
    } else {
        let _guard = crate::dispatch::Exclude::down_to(Key::Functionalize);
        let layout = Value::Layout(crate::tensor::Layout::Strided);
        t!("_to_copy", value; dtype = target.dtype(), layout = layout)?
    };
    let storage = s.storage.clone();
    storage.writes.set(storage.writes.get() + 1);
    if !modes().grad {
        storage.writes_no_grad.set(storage.writes_no_grad.get() + 1);
    }
    note_line(&storage);
    storage.generation.set(storage.generation.get() + 1);
    storage.updates.borrow_mut().push((value.clone(), s.steps.clone()));
    s.value = value;
    set_state(target, s);
    sync(target)
}

/// A value with what was put off done.
fn done(t: &Tensor) -> Result<Tensor> {
    static CLONE: crate::dispatch::OpRef = crate::dispatch::OpRef::new("clone");
    if !t.lazy().any() {
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
    let inner = match functional.base_name() {
        "copy" => inner.iter().map(|v| v.map_tensors(&mut done)).collect::<Result<_>>()?,
        _ => inner,
    };
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
    s.steps.push(ViewStep { entry: view, args: kept, result: None });
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

/// `copy_` of a value into an input at the end of a graph, seen by the tracer only; where the input was given other memory, that.
pub fn copy_into(target: &Tensor, value: &Tensor, data_replaced: bool) -> Result<()> {
    let _guard = crate::dispatch::Exclude::down_to(Key::Functionalize);
    if data_replaced {
        return aten!("shallow_copy_data_", target, value).map(|_| ());
    }
    let g = target.geometry();
    if g.sizes.iter().zip(&g.strides).any(|(size, stride)| stride.as_int() == Some(0) && size.as_int().is_some_and(|n| n > 1)) {
        return Err(Error::runtime("more than one element of the written-to tensor refers to a single memory location"));
    }
    aten!("copy_", target, value).map(|_| ())
}
