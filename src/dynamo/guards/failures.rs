//! Guard failures: what is said of the first guard of a cache entry that fails, in the words of `TORCH_LOGS=recompiles`.
//!
//! PyTorch keeps guards as a tree: the function's variables and its globals, what those hold, and so on. At every level what failed most is
//! asked first; where nothing has failed yet, local variables come before globals, what modules hold comes last, and shorter names first.
//! Conditions on sizes are asked when all that is over: sizes that are equal, then other conditions, then ranges.

use super::text::{as_python, range, strip_locals};
use crate::dynamo::cache::{CacheEntry, GRAPH_DIFFERS, Unmet};
use crate::dynamo::dynamic_shapes::{DimMark, Place, evaluate};
use crate::dynamo::output_graph::captured_graph::CapturedGraph;
use crate::dynamo::output_graph::graph_arg::GraphArg;
use crate::shape::{Expr, FloatExpr, FloatGuard, Relation, SymInt, Symbol};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

/// A module that guards are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// One of the script's.
    Own,
    /// One of PyTorch's.
    Library,
}

/// How often guards failed below each place in the tree, and which failure was the last.
#[derive(Default)]
pub struct Failures {
    places: HashMap<String, (u32, u32)>,
    count: u32,
}

/// A place among its neighbours in the tree; the least is asked first.
type Rank = (Reverse<u32>, u32, u8, usize, String);

/// A guard that fails.
struct Failed {
    source: String,
    text: String,
    /// The place of another tensor, where it says that this one is that: those are made last.
    alias_of: Option<String>,
}

/// The places on the way to a guard's value, outermost first: `L`, `L['self']`, `L['self']._modules`.
fn places(source: &str) -> Vec<&str> {
    let Some(start) = source.find("L['").or_else(|| source.find("G['")) else { return vec![source] };
    // What is computed from a value is one place behind it.
    let (mut found, begin) = match start {
        0 => (vec![&source[..1]], 1),
        start => {
            let end = source[start..].find("']").map_or(source.len(), |n| start + n + 2);
            let mut found = vec![&source[start..=start], &source[start..end]];
            // What its class holds is found further on.
            let Some(dict) = source.strip_prefix("dict(type(").and_then(|_| source.find("__dict__)")).map(|n| n + "__dict__)".len()) else {
                found.push(source);
                return found;
            };
            found.push(&source[..dict]);
            if dict == source.len() {
                return found;
            }
            (found, dict)
        }
    };
    let mut depth = 0;
    for (i, c) in source.char_indices().skip_while(|(i, _)| *i < begin) {
        match c {
            '[' => {
                if depth == 0 && i > begin {
                    found.push(&source[..i]);
                }
                depth += 1;
            }
            ']' => depth -= 1,
            '.' if depth == 0 => found.push(&source[..i]),
            _ => {}
        }
    }
    found.push(source);
    found
}

/// Where the object is that a tensor is found in: one of numpy's arrays or scalars, or the tensor itself.
fn held_at(source: &str) -> &str {
    source.strip_prefix("___from_numpy(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(source)
}

impl Failures {
    fn note(&mut self, source: &str) {
        self.count += 1;
        for place in places(source) {
            let slot = self.places.entry(place.to_owned()).or_default();
            *slot = (slot.0 + 1, self.count);
        }
    }

    fn rank(&self, failed: &Failed, modules: &HashMap<String, Holder>, is_held: bool) -> Vec<Rank> {
        let of = |source: &str| self.rank_at(source, failed.alias_of.is_some(), modules, is_held);
        // That two are one is checked with the second of them.
        failed.alias_of.iter().map(|other| of(other)).fold(of(&failed.source), Ord::max)
    }

    fn rank_at(&self, source: &str, is_alias: bool, modules: &HashMap<String, Holder>, is_held: bool) -> Vec<Rank> {
        let mut holder = 0;
        let way = places(source);
        let last = way.len().saturating_sub(1);
        let rank = |(i, place): (usize, &str)| {
            holder = match modules.get(place) {
                Some(Holder::Own) => 1,
                Some(Holder::Library) => 2,
                None if is_held && place.ends_with("._modules") => holder.max(1),
                None => holder,
            };
            // Of two that failed as often, the one that did so first.
            let (often, at) = self.places.get(place).copied().unwrap_or_default();
            let kind = if is_alias && i == last { u8::MAX } else { holder };
            let order = if i == 0 { u8::from(place == "G") } else { kind };
            (Reverse(often), at, order, place.len(), place.to_owned())
        };
        way.into_iter().enumerate().map(rank).collect()
    }
}

impl CacheEntry {
    /// What is said of the first guard that a call fails; counts the failure.
    pub(in crate::dynamo) fn failed_guard(&self, captured: &CapturedGraph, unmet: &[Unmet], others: &HashMap<String, String>) -> String {
        if let Some(invalid) = unmet.iter().find(|u| u.invalidates) {
            return invalid.text.clone();
        }
        let state = changed_state(&self.captured, captured);
        if !state.is_empty() {
            return format!("GLOBAL_STATE changed: {state}");
        }
        // PyTorch keeps the device as a mode of `__torch_function__`.
        if self.captured.state.device != captured.state.device {
            return "___check_torch_function_mode_stack()".to_owned();
        }
        let of_fact = |u: &Unmet| Failed { source: u.source.clone(), text: u.text.clone(), alias_of: u.alias_of.clone() };
        let mut failed: Vec<Failed> = unmet.iter().map(of_fact).collect();
        for want in &self.captured.touched {
            let modes = (self.captured.inference, captured.inference);
            let check = |have| {
                let marks = |have: &GraphArg| unmarked(&want.source.marks, &have.source.marks);
                self.failed_check(want, have).or_else(|| failed_dispatch(want, have, modes)).or_else(|| marks(have))
            };
            if let Some(text) = captured.input_named(&want.source.name).and_then(check) {
                failed.push(Failed { source: want.source.source.clone(), text, alias_of: None });
            } else if let (None, Some(class)) = (captured.input_named(&want.source.name), others.get(held_at(&want.source.source))) {
                let source = want.source.source.clone();
                let text = format!("expected type of '{}' to be <class 'torch.Tensor'>, but found {class}", strip_locals(&source));
                failed.push(Failed { source, text, alias_of: None });
            }
        }
        let held = |source: &str| self.captured.touched.iter().any(|t| t.source.is_static && t.source.source == source);
        let mut failures = self.failures.borrow_mut();
        let first = failed.into_iter().min_by_key(|f| failures.rank(f, &self.modules, held(&f.source)));
        if let Some(first) = first {
            failures.note(&first.source);
            return first.text;
        }
        let duplicates = || {
            let (text, last) = self.captured.duplicates(captured)?;
            // It fails with the last of them.
            failures.note(&last);
            Some(text)
        };
        self.failed_condition(captured).or_else(duplicates).unwrap_or_else(|| GRAPH_DIFFERS.to_owned())
    }

    /// The condition on symbolic sizes and floats that a call fails.
    fn failed_condition(&self, captured: &CapturedGraph) -> Option<String> {
        let (env, mut values) = (&self.captured.env, self.values(captured));
        // Where each symbol is found first, and what must be equal to something that is known.
        let (mut first, mut equal): (Vec<(Symbol, String, Option<i64>)>, Vec<(String, Expr, Option<i64>)>) = Default::default();
        let mut look = |place: String, expr: &Expr, have: Option<i64>| {
            let expr = env.simplify(expr);
            match expr.as_symbol() {
                Some(symbol) if first.iter().all(|(s, ..)| s != symbol) => first.push((symbol.clone(), place, have)),
                _ => equal.push((place, expr, have)),
            }
        };
        for want in self.captured.touched.iter().filter(|i| !i.source.is_number) {
            let (geometry, have) = (&want.spec.spec.geometry, captured.input_named(&want.source.name).map(|i| i.real.geometry()));
            let lists = [("size", &geometry.sizes), ("stride", &geometry.strides)];
            for (kind, list) in lists {
                for (d, size) in list.iter().enumerate() {
                    if let SymInt::Sym(expr, _) = size
                        && env.simplify(expr).as_int().is_none()
                    {
                        let place = format!("{}.{kind}()[{d}]", want.source.source);
                        let found = have.as_ref().map(|g| if kind == "size" { &g.sizes } else { &g.strides });
                        look(place, expr, found.and_then(|list| list.get(d)?.as_int()));
                    }
                }
            }
        }
        for witness in self.captured.witnesses.iter().filter(|w| matches!(w.at, Place::Number | Place::Offset(_) | Place::Item(_))) {
            if let Some(info) = env.info(&witness.symbol) {
                look(info.origin, &Expr::symbol(witness.symbol.clone()), values.get(&witness.symbol).copied());
            }
        }
        // What several sizes have become is read off the first of them.
        values.extend(first.iter().filter_map(|(symbol, _, have)| Some((symbol.clone(), (*have)?))));
        let origin = |s: &Symbol| {
            first.iter().find(|(known, ..)| known == s).map(|(_, place, _)| place.clone()).or_else(|| Some(env.info(s)?.origin))
        };
        let named = |expr: &Expr| expr.substitute(&|s| Some(Expr::symbol(Symbol(strip_locals(&origin(s)?).as_str().into()))));
        let in_source = |expr: &Expr| as_python(&named(expr).as_operand());
        for (place, expr, have) in &equal {
            if let (Some(want), Some(have)) = (evaluate(expr, &values), have)
                && want != *have
            {
                return Some(format!("{} == {}", strip_locals(place), as_python(&named(expr).to_string())));
            }
        }
        for guard in env.guards() {
            let (left, right) = (env.simplify(&guard.left), env.simplify(&guard.right));
            if env.holds_in_range(&left, guard.relation, &right) {
                continue;
            }
            let (Some(l), Some(r)) = (evaluate(&left, &values), evaluate(&right, &values)) else { continue };
            if !guard.relation.holds(l, r) {
                if !guard.pairs.is_empty() {
                    return Some(guard.in_python(&|side| in_source(&env.simplify(side))));
                }
                let is_symmetric = matches!(guard.relation, Relation::Eq | Relation::Ne);
                // A number comes last.
                let turned = is_symmetric && left.as_int().is_some() && right.as_int().is_none();
                let (left, right) = if turned { (&right, &left) } else { (&left, &right) };
                return Some(format!("{} {} {}", in_source(left), guard.relation.text(), in_source(right)));
            }
        }
        let ints = |s: &Symbol| values.get(s).copied();
        let floats = |s: &Symbol| captured.env.float_from(&env.float_origin(s)?);
        for guard in env.float_guards() {
            let (Some(left), Some(right)) = (guard.left.evaluate(&ints, &floats), guard.right.evaluate(&ints, &floats)) else { continue };
            if !guard.relation.holds(left, right) {
                return Some(self.float_guard(&guard, &in_source));
            }
        }
        first.iter().find_map(|(symbol, place, _)| {
            let (value, info) = (values.get(symbol)?, env.info(symbol)?);
            let bound = |b: i64, none: i64| (b != none).then_some(b);
            let fails = *value < info.lower || *value > info.upper;
            fails.then(|| range(&strip_locals(place), bound(info.lower, i64::MIN), bound(info.upper, i64::MAX)))
        })
    }

    /// A condition on floats, with those written as the script finds them.
    fn float_guard(&self, guard: &FloatGuard, size: &dyn Fn(&Expr) -> String) -> String {
        let side = |expr: &FloatExpr| match expr {
            FloatExpr::Symbol(s) => strip_locals(&self.captured.env.float_origin(s).unwrap_or_default()),
            FloatExpr::IntTrueDiv(a, b) => format!("({} / {})", size(a), size(b)),
            other => other.to_string(),
        };
        format!("{} {} {}", side(&guard.left), guard.relation.text(), side(&guard.right))
    }

    /// How an input differs from what an entry wants of it.
    fn failed_check(&self, want: &GraphArg, have: &GraphArg) -> Option<String> {
        if want.source.is_number && have.source.is_number {
            return None;
        }
        let name = strip_locals(&want.source.source);
        let of_parameter = if want.source.is_parameter {
            ". Guard failed on a parameter, consider using torch._dynamo.config.force_parameter_static_shapes = False to allow dynamism on parameters."
        } else {
            ""
        };
        let (w, h) = (&want.spec.spec, have.real.spec());
        if w.dtype != h.dtype {
            return Some(format!("tensor '{name}' dtype mismatch. expected {}, actual {}", w.dtype.scalar_type(), h.dtype.scalar_type()));
        }
        if want.spec.requires_grad != have.spec.requires_grad {
            return Some(format!(
                "tensor '{name}' requires_grad mismatch. expected requires_grad={}{of_parameter}",
                u8::from(want.spec.requires_grad)
            ));
        }
        let (a, b) = (w.geometry.sizes.len(), h.geometry.sizes.len());
        if a != b {
            return Some(format!("tensor '{name}' rank mismatch. expected {a}, actual {b}"));
        }
        let kinds = [("size", &w.geometry.sizes, &h.geometry.sizes), ("stride", &w.geometry.strides, &h.geometry.strides)];
        for (kind, wanted, found) in kinds {
            for (d, (a, b)) in wanted.iter().zip(found).enumerate() {
                // A symbol that turned out to be a number is one.
                let a = self.captured.env.simplify(&a.expr()).as_int();
                if let Some(a) = a.filter(|a| Some(*a) != b.as_int()) {
                    return Some(format!("tensor '{name}' {kind} mismatch at index {d}. expected {a}, actual {b}"));
                }
            }
        }
        None
    }
}

/// The modes and settings that differ between two captured graphs.
fn changed_state(before: &CapturedGraph, now: &CapturedGraph) -> String {
    let autocast = match (before.autocast, now.autocast) {
        (None, Some(_)) | (Some(_), None) => "autocast(cpu)_enabled ",
        (Some(a), Some(b)) if a != b => "autocast(cpu)_dtype ",
        _ => "",
    };
    let grad = if before.grad == now.grad { "" } else { "grad_mode " };
    format!("{grad}{autocast}{}", before.state.changed(&now.state))
}

/// How a tensor dispatches otherwise than that of the entry: `modes` are whether the entry and the call are of inference mode. A tensor
/// made in inference mode has no keys of autograd's in any mode.
fn failed_dispatch(want: &GraphArg, have: &GraphArg, modes: (bool, bool)) -> Option<String> {
    let keys = |input: &GraphArg, in_inference_mode: bool| match (input.is_inference, in_inference_mode) {
        (true, _) => "DispatchKeySet(CPU, BackendSelect)",
        (false, true) => "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView)",
        (false, false) => "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)",
    };
    let (wanted, found) = (keys(want, modes.0), keys(have, modes.1));
    (wanted != found && !want.source.is_number && !have.source.is_number).then(|| {
        let name = strip_locals(&want.source.source);
        format!("tensor '{name}' dispatch key set mismatch. expected {wanted}, actual {found}")
    })
}

/// What a tensor's marks ask for that an entry was not made for. Marks that it lacks ask for nothing.
pub(in crate::dynamo) fn unmarked(want: &[(usize, DimMark)], have: &[(usize, DimMark)]) -> Option<String> {
    if have.is_empty() {
        return None;
    }
    if want.is_empty() {
        return Some("_has_dynamo_dim_marking is present on runtime tensor but was absent at compile time".to_owned());
    }
    let kinds: [(&str, fn(&DimMark) -> bool); 4] = [
        ("_dynamo_dynamic_indices", |m| matches!(m, DimMark::Dynamic(..))),
        ("_dynamo_weak_dynamic_indices", |m| matches!(m, DimMark::Maybe(..))),
        ("_dynamo_unbacked_indices", |m| matches!(m, DimMark::Unbacked(..))),
        ("_dynamo_static_indices", |m| matches!(m, DimMark::Static)),
    ];
    let set = |of: &BTreeSet<usize>| format!("{{{}}}", of.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    let dims = |marks: &[(usize, DimMark)], is: fn(&DimMark) -> bool| -> BTreeSet<usize> {
        marks.iter().filter(|(_, mark)| is(mark)).map(|(d, _)| *d).collect()
    };
    let sets = kinds.map(|(name, is)| (name, dims(want, is), dims(have, is)));
    let more = sets.iter().find(|(_, want, have)| !want.is_empty() && !have.is_subset(want));
    let new = || sets.iter().find(|(_, want, have)| want.is_empty() && !have.is_empty());
    let ranges = |marks: &[(usize, DimMark)]| -> BTreeSet<(usize, Option<i64>, Option<i64>)> {
        let bounds = |(d, mark): &(usize, DimMark)| match mark {
            DimMark::Dynamic(min, max) | DimMark::Maybe(min, max) if min.is_some() || max.is_some() => Some((*d, *min, *max)),
            _ => None,
        };
        marks.iter().filter_map(bounds).collect()
    };
    let (asked, wanted) = (ranges(have), ranges(want));
    match (more, new()) {
        (Some((name, want, have)), _) => {
            Some(format!("{name} not a subset: runtime {} is not a subset of compiled {}", set(have), set(want)))
        }
        (None, Some((name, ..))) => Some(format!("{name} should be absent but is present on runtime tensor")),
        _ if asked == wanted => None,
        _ => {
            let bound = |n: &Option<i64>| n.map_or("None".to_owned(), |n| n.to_string());
            let one =
                |(d, min, max): &(usize, Option<i64>, Option<i64>)| format!("_DimRange(dim={d}, min={}, max={})", bound(min), bound(max));
            let all: Vec<String> = wanted.iter().map(one).collect();
            let expected = if all.is_empty() { "None".to_owned() } else { format!("{{{}}}", all.join(", ")) };
            Some(format!("_dynamo_dynamic_range mismatch: expected {expected}"))
        }
    }
}
