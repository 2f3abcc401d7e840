//! The cache of a compiled function: entries by region, each with the guards it depends on.

use super::region::{Region, RegionInput};
use super::symbols::{Place, Witness, evaluate, value_of};
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::graph::FakeValue;
use crate::report::Guard;
use crate::shape::{Expr, FloatExpr, FloatGuard, Relation, SymInt, Symbol};
use crate::tensor::Tensor;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Said where every guard holds and Python took another way.
const REGION_DIFFERS: &str = "the recorded region differs";

/// What runs a compiled region, on its symbolic sizes and tensors in the order of its placeholders.
pub type Runner = Rc<dyn Fn(Vec<Value>) -> Result<Vec<Value>>>;

/// A compiled region.
pub struct Entry {
    /// What it was recorded as, with the symbols and guards that were found while it was compiled.
    pub region: Region,
    /// What runs it.
    pub compiled: Runner,
    /// What it depends on besides: Python values, as guards say it, each with the line that read it.
    pub facts: Vec<Guard>,
    /// How often the guards of each value it depends on failed: PyTorch checks those first that fail most.
    failures: RefCell<Failures>,
}

/// What a guard's value is found from: whether it is a global, and the name.
pub type Root = (bool, Rc<str>);

/// How often guards failed, and which failure that was: of values, by what they are found from, and of each by itself.
#[derive(Default)]
struct Failures {
    roots: HashMap<Root, (u32, u32)>,
    sources: HashMap<String, (u32, u32)>,
    count: u32,
}

impl Failures {
    fn note(&mut self, root: Root, source: &str) {
        self.count += 1;
        for slot in [self.roots.entry(root).or_default(), self.sources.entry(source.to_owned()).or_default()] {
            *slot = (slot.0 + 1, self.count);
        }
    }
}

/// A fact about Python values that a call does not meet.
#[derive(Clone, Debug)]
pub struct Unmet {
    /// What it is about.
    pub root: Root,
    /// Where exactly.
    pub source: String,
    /// In the words of `TORCH_LOGS=recompiles`.
    pub text: String,
}

/// A number that a script passes.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
}

/// What a look-up found.
pub enum Lookup {
    /// An entry serves.
    Hit(Rc<Entry>),
    /// None does: per entry, newest first, the guard that failed.
    Miss(Vec<String>),
}

/// Entries per place in the function: the region's number within a call.
#[derive(Default)]
pub struct Cache {
    entries: Vec<Vec<Rc<Entry>>>,
    /// Entries of a place in the order in which they are asked, as far as that is known; newer ones come before them.
    order: RefCell<HashMap<usize, Vec<usize>>>,
}

impl Cache {
    /// Looks for an entry that serves a region. `unmet` says per entry which facts about Python values the call does not meet.
    pub fn find(&self, place: usize, region: &Region, unmet: &[Vec<Unmet>]) -> Lookup {
        let entries = self.entries.get(place).map_or(&[][..], Vec::as_slice);
        let hints = region.hints();
        let meets = |i: usize| unmet.get(i).is_none_or(Vec::is_empty);
        let asked = self.asked(place);
        let serves = |i: &usize| {
            let e = &entries[*i];
            meets(*i) && e.is_guarded_for(region) && e.region.repeats(&e.values(region), region, &hints)
        };
        let found = asked.iter().copied().find(serves);
        let Some(index) = found else {
            if entries.is_empty() {
                return Lookup::Miss(Vec::new());
            }
            let none = Vec::new();
            let failed: Vec<String> =
                entries.iter().enumerate().map(|(i, e)| e.failed_guard(region, unmet.get(i).unwrap_or(&none))).collect();
            // Another way through the code is not an entry that failed.
            if place > 0 && failed.iter().all(|f| f == REGION_DIFFERS) {
                return Lookup::Miss(Vec::new());
            }
            return Lookup::Miss(asked.into_iter().map(|i| format!("{i}: {}", failed[i])).collect());
        };
        let served = [index].into_iter().chain(asked.into_iter().filter(|i| *i != index)).collect();
        self.order.borrow_mut().insert(place, served);
        Lookup::Hit(entries[index].clone())
    }

    /// The entries of a place in the order in which they are asked: new ones first, then those that served last.
    pub fn asked(&self, place: usize) -> Vec<usize> {
        let order = self.order.borrow();
        let listed = order.get(&place).map_or(&[][..], Vec::as_slice);
        let newest = (0..self.len(place)).rev().filter(|i| !listed.contains(i));
        newest.chain(listed.iter().copied()).collect()
    }

    /// What a call that an exception ends says of the entries of a place: per entry, newest first, the guard that failed. Nothing where
    /// one may have served.
    pub fn missed(&self, place: usize, region: &Region, unmet: &[Vec<Unmet>]) -> Vec<String> {
        match self.find(place, region, unmet) {
            Lookup::Miss(reasons) if reasons.iter().all(|r| !r.ends_with(REGION_DIFFERS)) => reasons,
            _ => Vec::new(),
        }
    }

    /// Adds an entry.
    pub fn insert(&mut self, place: usize, entry: Rc<Entry>) {
        if self.entries.len() <= place {
            self.entries.resize_with(place + 1, Vec::new);
        }
        self.entries[place].push(entry);
    }

    /// An entry of a place, by the order in which they were made.
    pub fn entry(&self, place: usize, index: usize) -> Option<Rc<Entry>> {
        self.entries.get(place)?.get(index).cloned()
    }

    /// The entry of a place that is asked first.
    pub fn latest(&self, place: usize) -> Option<usize> {
        self.asked(place).first().copied()
    }

    /// How many entries a place has.
    pub fn len(&self, place: usize) -> usize {
        self.entries.get(place).map_or(0, Vec::len)
    }

    /// Whether nothing was compiled yet.
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(Vec::is_empty)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.order.borrow_mut().clear();
    }
}

impl Entry {
    /// An entry for a region that was compiled.
    pub fn new(region: Region, compiled: Runner, facts: Vec<Guard>) -> Self {
        Entry { region, compiled, facts, failures: RefCell::default() }
    }

    /// The values of its symbols in the call that a region was recorded in.
    pub fn values(&self, region: &Region) -> HashMap<Symbol, i64> {
        // Another way through the code looks at others: the one of that name, where there is one.
        let at = |input: &usize| {
            let (want, have) = (self.region.touched.get(*input)?, region.touched.get(*input));
            let same = |h: &&RegionInput| h.source.name == want.source.name;
            have.filter(same).or_else(|| region.input_named(&want.source.name)).or(have).map(|h| &h.real)
        };
        let read = |place: &Place, symbol: &Symbol| match place {
            Place::Size(input, dim) => at(input)?.sizes().get(*dim)?.as_int(),
            Place::Stride(input, dim) => at(input)?.geometry().strides.get(*dim)?.as_int(),
            Place::Offset(input) => at(input)?.geometry().offset.as_int(),
            Place::Number => region.env.info(symbol)?.hint,
            Place::Item(input) => super::numbers::number_of(at(input)?),
        };
        self.region.witnesses.iter().filter_map(|w| Some((w.symbol.clone(), read(&w.at, &w.symbol)?))).collect()
    }

    /// Whether its guards hold.
    fn is_guarded_for(&self, region: &Region) -> bool {
        let (want, have) = (&self.region.touched, &region.touched);
        want.len() == have.len()
            && want.iter().zip(have).all(|(w, h)| w.source.is_number && h.source.is_number || meets(w, &h.real, h.spec.requires_grad))
            && self.failed_condition(&self.values(region), &|origin| region.env.float_from(origin)).is_none()
    }

    /// Whether its guards hold for tensors found where its inputs were (`tensor`, by position), and for numbers found where its
    /// symbols were: nothing is recorded.
    pub fn admits(&self, tensor: &dyn Fn(usize) -> Option<Tensor>, number: &dyn Fn(&str) -> Option<Number>) -> bool {
        let modes = crate::dispatch::modes();
        if self.region.grad != modes.grad || self.region.autocast != modes.autocast || self.region.inference != modes.inference {
            return false;
        }
        let mut found: Vec<Option<Tensor>> = Vec::with_capacity(self.region.touched.len());
        for (i, want) in self.region.touched.iter().enumerate() {
            let have = if want.source.is_number { None } else { tensor(i) };
            let fits = match &have {
                Some(have) => {
                    let distinct = !found.iter().flatten().any(|known| known.is(have));
                    distinct && meets(want, have, crate::autograd::meta::requires_grad(have))
                }
                None => want.source.is_number,
            };
            if !fits {
                return false;
            }
            found.push(have);
        }
        if self.region.witnesses.is_empty() && self.region.env.guards().is_empty() && self.region.env.float_guards().is_empty() {
            return true;
        }
        let read = |w: &Witness| match w.at {
            Place::Size(input, dim) => found.get(input)?.as_ref()?.geometry().sizes.get(dim)?.as_int(),
            Place::Stride(input, dim) => found.get(input)?.as_ref()?.geometry().strides.get(dim)?.as_int(),
            Place::Offset(input) => found.get(input)?.as_ref()?.geometry().offset.as_int(),
            Place::Item(input) => super::numbers::number_of(found.get(input)?.as_ref()?),
            Place::Number => match number(&self.region.env.info(&w.symbol)?.origin)? {
                Number::Int(i) => Some(i),
                Number::Float(_) => None,
            },
        };
        let values = self.region.witnesses.iter().filter_map(|w| Some((w.symbol.clone(), read(w)?))).collect();
        let float = |origin: &str| match number(origin)? {
            Number::Float(f) => Some(f),
            Number::Int(_) => None,
        };
        self.failed_condition(&values, &float).is_none()
    }

    /// The condition on symbolic sizes that these values do not meet.
    fn failed_condition(&self, values: &HashMap<Symbol, i64>, float: &dyn Fn(&str) -> Option<f64>) -> Option<String> {
        let env = &self.region.env;
        for (symbol, info) in env.symbols() {
            let Some(value) = values.get(&symbol) else { continue };
            let source = strip_locals(&info.origin);
            if *value < info.lower || *value > info.upper {
                let bound = |b: i64, none: i64| (b != none).then_some(b);
                return Some(range(&source, bound(info.lower, i64::MIN), bound(info.upper, i64::MAX)));
            }
        }
        for guard in env.guards() {
            let (Some(left), Some(right)) = (evaluate(&guard.left, values), evaluate(&guard.right, values)) else { continue };
            if !guard.relation.holds(left, right) {
                let is_symmetric = matches!(guard.relation, Relation::Eq | Relation::Ne);
                // A number comes last.
                let turned = is_symmetric && guard.left.as_int().is_some() && guard.right.as_int().is_none();
                let (left, right) = if turned { (&guard.right, &guard.left) } else { (&guard.left, &guard.right) };
                return Some(format!("{} {} {}", self.in_source(left), guard.relation.text(), self.in_source(right)));
            }
        }
        let ints = |s: &Symbol| values.get(s).copied();
        let floats = |s: &Symbol| float(&env.float_origin(s)?);
        for guard in env.float_guards() {
            let (Some(left), Some(right)) = (guard.left.evaluate(&ints, &floats), guard.right.evaluate(&ints, &floats)) else { continue };
            if !guard.relation.holds(left, right) {
                return Some(self.float_guard(&guard));
            }
        }
        None
    }

    /// A condition on floats, with those written as the script finds them.
    fn float_guard(&self, guard: &FloatGuard) -> String {
        let side = |expr: &FloatExpr| match expr {
            FloatExpr::Symbol(s) => strip_locals(&self.region.env.float_origin(s).unwrap_or_default()),
            other => other.to_string(),
        };
        format!("{} {} {}", side(&guard.left), guard.relation.text(), side(&guard.right))
    }

    /// An expression with sizes written as the script finds them.
    fn in_source(&self, expr: &Expr) -> String {
        let named = expr.substitute(&|s| {
            let origin = strip_locals(&self.region.env.info(s)?.origin);
            Some(Expr::symbol(Symbol(origin.as_str().into())))
        });
        as_python(&named.as_operand())
    }

    /// Its conditions, as PyTorch writes guards, and the lines that made them.
    pub fn guards(&self) -> Vec<Guard> {
        let plain = |text: String| Guard { text, span: None };
        let list = |sizes: &[SymInt]| {
            let items: Vec<String> = sizes.iter().map(|s| s.expr().as_int().map_or("None".to_owned(), |i| i.to_string())).collect();
            format!("[{}]", items.join(", "))
        };
        let mut guards = Vec::new();
        for input in self.region.touched.iter().filter(|i| !i.source.is_number) {
            let (g, spec) = (&input.spec.spec.geometry, &input.spec);
            guards.push(plain(format!(
                "check_tensor({}, Tensor, {}, device=None, requires_grad={}, size={}, stride={})",
                input.source.source,
                spec.spec.dtype,
                if spec.requires_grad { "True" } else { "False" },
                list(&g.sizes),
                list(&g.strides)
            )));
        }
        guards.extend(self.facts.iter().cloned());
        let sourced = |expr: &Expr| {
            let named = expr.substitute(&|s| Some(Expr::symbol(Symbol(self.region.env.info(s)?.origin.as_str().into()))));
            as_python(&named.to_string())
        };
        for guard in self.region.env.guards() {
            let text = format!("{} {} {}", sourced(&guard.left), guard.relation.text(), sourced(&guard.right));
            guards.push(Guard { text, span: guard.source.map(|s| s.span) });
        }
        for (_, info) in self.region.env.symbols() {
            if info.lower == i64::MIN && info.upper == i64::MAX {
                continue;
            }
            guards.push(plain(match info.upper {
                i64::MAX => format!("{} <= {}", info.lower, info.origin),
                upper => format!("{} <= {} <= {upper}", info.lower, info.origin),
            }));
        }
        guards
    }

    /// Runs it on the inputs of a region that it serves, with the values of its symbols there.
    pub fn run(&self, inputs: &[RegionInput], values: &HashMap<Symbol, i64>) -> Result<Vec<Value>> {
        let mut tensors = inputs.iter().map(|i| Value::Tensor(i.real.clone()));
        let inputs = self
            .region
            .graph
            .placeholders()
            .map(|n| match &n.meta.value {
                Some(FakeValue::Int(size)) => value_of(size, values).map(Value::from),
                _ => tensors.next(),
            })
            .map(|v| v.ok_or_else(|| Error::runtime("a compiled region lacks an input")))
            .collect::<Result<Vec<_>>>()?;
        (self.compiled)(inputs)
    }

    /// The first condition that a region does not meet, in the words of `TORCH_LOGS=recompiles`. PyTorch checks the values that
    /// failed most first, then local variables, then globals, by the length of their names.
    fn failed_guard(&self, region: &Region, unmet: &[Unmet]) -> String {
        let state = changed_state(&self.region, region);
        if !state.is_empty() {
            return format!("GLOBAL_STATE changed: {state}");
        }
        let mut failed: Vec<(Root, String, String)> = unmet.iter().map(|u| (u.root.clone(), u.source.clone(), u.text.clone())).collect();
        // What a script passes is looked at before what its modules hold.
        let held = |source: &str| self.region.touched.iter().any(|t| t.source.is_static && t.source.source == source);
        for want in &self.region.touched {
            let have = region.input_named(&want.source.name);
            let modes = (self.region.inference, region.inference);
            if let Some(reason) = have.and_then(|have| failed_check(want, have).or_else(|| failed_dispatch(want, have, modes))) {
                failed.push((root_of(&want.source.source), want.source.source.clone(), reason));
            }
        }
        if !failed.is_empty() {
            let mut failures = self.failures.borrow_mut();
            // Of two that failed as often, the one that did so first.
            let often = |known: Option<&(u32, u32)>| known.map_or((std::cmp::Reverse(0), 0), |(n, at)| (std::cmp::Reverse(*n), *at));
            let global: u32 = failures.roots.iter().filter(|(r, _)| r.0).map(|(_, (n, _))| *n).sum();
            let local: u32 = failures.roots.iter().filter(|(r, _)| !r.0).map(|(_, (n, _))| *n).sum();
            failed.sort_by_key(|(root, source, _)| {
                let kind = std::cmp::Reverse(if root.0 { global } else { local });
                let (of_root, of_source) = (often(failures.roots.get(root)), often(failures.sources.get(source)));
                (kind, root.0, of_root, held(source), root.1.len(), root.1.clone(), of_source, source.len(), source.clone())
            });
            let (root, source, reason) = failed.swap_remove(0);
            failures.note(root, &source);
            return reason;
        }
        let values = self.values(region);
        let of_sizes = || self.failed_equality(region, &values);
        let condition = || self.failed_condition(&values, &|origin| region.env.float_from(origin));
        let duplicates = || {
            let (said, last) = self.region.duplicates(region)?;
            // It fails where the last of them is looked at.
            self.failures.borrow_mut().note(root_of(&last), &last);
            Some(said)
        };
        of_sizes().or_else(condition).or_else(duplicates).unwrap_or_else(|| REGION_DIFFERS.to_owned())
    }

    /// A size that was the same as another and is so no more: one symbol stands for both.
    fn failed_equality(&self, region: &Region, values: &HashMap<Symbol, i64>) -> Option<String> {
        self.region.touched.iter().find_map(|want| {
            let have = region.input_named(&want.source.name)?.real.sizes();
            want.spec.spec.geometry.sizes.iter().zip(&have).enumerate().find_map(|(d, (size, have))| {
                let SymInt::Sym(symbol, _) = size else { return None };
                let origin = strip_locals(&self.region.env.info(symbol.as_symbol()?)?.origin);
                let differs = evaluate(symbol, values)? != have.as_int()?;
                differs.then(|| format!("{}.size()[{d}] == {origin}", strip_locals(&want.source.source)))
            })
        })
    }
}

/// That a size is within bounds, as a guard says it.
pub(super) fn range(source: &str, lower: Option<i64>, upper: Option<i64>) -> String {
    match (lower, upper) {
        (Some(lower), Some(upper)) if lower == upper => format!("{source} == {lower}"),
        (Some(lower), Some(upper)) => format!("{lower} <= {source} <= {upper}"),
        (Some(lower), None) => format!("{lower} <= {source}"),
        (None, upper) => format!("{source} <= {}", upper.unwrap_or(i64::MAX)),
    }
}

/// A printed expression with functions as a guard's Python calls them.
pub(super) fn as_python(text: &str) -> String {
    const NAMES: [(&str, &str); 6] = [
        ("Max(", "torch.sym_max("),
        ("Min(", "torch.sym_min("),
        ("TruncToInt(", "math.trunc("),
        ("FloorToInt(", "math.floor("),
        ("CeilToInt(", "math.ceil("),
        ("ToFloat(", "torch.sym_float("),
    ];
    NAMES.iter().fold(text.to_owned(), |text, (name, python)| text.replace(name, python))
}

/// The modes that differ between two regions.
fn changed_state(before: &Region, now: &Region) -> String {
    let autocast = match (before.autocast, now.autocast) {
        (None, Some(_)) | (Some(_), None) => "autocast(cpu)_enabled ",
        (Some(a), Some(b)) if a != b => "autocast(cpu)_dtype ",
        _ => "",
    };
    let grad = if before.grad == now.grad { "" } else { "grad_mode " };
    format!("{grad}{autocast}")
}

/// What a tensor's source starts from.
fn root_of(source: &str) -> Root {
    let name = source.get(3..).and_then(|s| s.split("']").next()).unwrap_or(source);
    (source.starts_with('G'), name.into())
}

/// A guard's text with local variables by their names: `L['x'].n` becomes `x.n`.
pub fn strip_locals(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("L['") {
        let after = &rest[start + 3..];
        let Some(end) = after.find("']") else { break };
        out.push_str(&rest[..start]);
        out.push_str(&after[..end]);
        rest = &after[end + 2..];
    }
    out.push_str(rest);
    out
}

/// Whether a tensor is what an entry wants of an input.
fn meets(want: &RegionInput, have: &Tensor, requires_grad: bool) -> bool {
    let (w, h) = (&want.spec.spec, have.geometry());
    let fits = |(a, b): (&SymInt, &SymInt)| a.as_int().is_none_or(|a| Some(a) == b.as_int());
    w.dtype == have.dtype()
        && want.spec.requires_grad == requires_grad
        && w.geometry.sizes.len() == h.sizes.len()
        && w.geometry.sizes.iter().zip(&h.sizes).all(fits)
        && w.geometry.strides.iter().zip(&h.strides).all(fits)
}

/// How a tensor dispatches otherwise than in the mode in which the entry was made: `modes` are whether that and the call's were inference
/// mode. A tensor made in inference mode has no such keys in any mode.
fn failed_dispatch(want: &RegionInput, have: &RegionInput, modes: (bool, bool)) -> Option<String> {
    let is_plain = !want.source.is_number && !have.source.is_number && !crate::autograd::meta::is_inference(&have.real);
    let keys = |inference: bool| match inference {
        true => "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView)",
        false => "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)",
    };
    (is_plain && modes.0 != modes.1).then(|| {
        let name = strip_locals(&want.source.source);
        format!("tensor '{name}' dispatch key set mismatch. expected {}, actual {}", keys(modes.0), keys(modes.1))
    })
}

/// How an input differs from what an entry wants of it.
fn failed_check(want: &RegionInput, have: &RegionInput) -> Option<String> {
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
            if a.as_int().is_some() && a.as_int() != b.as_int() {
                return Some(format!("tensor '{name}' {kind} mismatch at index {d}. expected {a}, actual {b}"));
            }
        }
    }
    None
}
