//! The cache of a compiled function: entries by place in its code, each a compiled graph with its guards.

pub(super) mod compiled_function;
pub(super) mod found_inputs;

use super::dynamic_shapes::{Place, Witness, evaluate, value_of};
use super::guards::failures::{Failures, Holder, unmarked};
use super::guards::global_state::State;
use super::guards::text::as_python;
use super::output_graph::captured_graph::CapturedGraph;
use super::output_graph::graph_arg::GraphArg;
use crate::aot::subclass::{SubclassCreationMeta, made_alike};
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::graph::FakeValue;
use crate::report::Guard;
use crate::shape::{Expr, FloatGuard, ShapeGuard, SymInt, Symbol, SymbolInfo};
use crate::tensor::Tensor;
use rustpython_vm::PyObjectRef;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Said where every guard holds and Python took another way.
pub(in crate::dynamo) const GRAPH_DIFFERS: &str = "the captured graph differs";

/// How many cache entries a code object may have, whatever a script sets the other limit to.
pub(super) const ACCUMULATED_RECOMPILE_LIMIT: usize = 256;
/// For how many cache entries a miss says which guard failed: as many as there are, where the script does not raise PyTorch's limit of them.
/// What recompiles ever more often would otherwise report ever more each time.
pub(super) const MOST_REASONS: usize = ACCUMULATED_RECOMPILE_LIMIT;

/// What runs a compiled graph, on its symbolic sizes and tensors in the order of its placeholders.
pub type Runner = Rc<dyn Fn(Vec<Value>) -> Result<Vec<Value>>>;

/// A compiled graph with its guards.
pub struct CacheEntry {
    /// The number of its captured graph in the report.
    pub number: u32,
    /// What it was recorded as, with the symbols and guards that were found while it was compiled.
    pub captured: CapturedGraph,
    /// What runs it.
    pub compiled: Runner,
    /// What it depends on besides: Python values, as guards say it, each with the line that read it.
    pub facts: Vec<Guard>,
    /// Which values are modules, by where they are found: PyTorch checks what those hold last.
    pub(in crate::dynamo) modules: HashMap<String, Holder>,
    /// How often the guards of each value it depends on failed: PyTorch checks those first that fail most.
    pub(in crate::dynamo) failures: RefCell<Failures>,
}

/// What a guard's value is found from: whether it is a global, and the name.
pub type Root = (bool, Rc<str>);

/// A fact about Python values that a call does not meet.
#[derive(Clone, Debug)]
pub struct Unmet {
    /// What it is about.
    pub root: Root,
    /// Where exactly.
    pub source: String,
    /// What was found in the place of a constant.
    pub(in crate::dynamo) found: Option<PyObjectRef>,
    /// In the words of `TORCH_LOGS=recompiles`.
    pub text: String,
    /// Whether the entry was invalidated: none of its guards is asked.
    pub invalidates: bool,
    /// The place of another tensor, where it says that this one is that.
    pub alias_of: Option<String>,
}

/// What an entry is run with.
pub struct Admitted {
    /// Per tensor that was read, the one that is there now; none of numbers.
    tensors: Vec<Option<Tensor>>,
    /// The values of its symbols.
    pub(in crate::dynamo) values: HashMap<Symbol, i64>,
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
    /// A cache entry whose guards pass.
    Hit(Rc<CacheEntry>),
    /// There is none: per entry, newest first, the guard that failed.
    Miss(Vec<String>),
}

/// Cache entries per place in the function: the graph's number within a call.
#[derive(Default)]
pub struct Cache {
    entries: Vec<Vec<Rc<CacheEntry>>>,
    /// Entries of a place in the order in which they are asked, as far as that is known; newer ones come before them.
    order: RefCell<HashMap<usize, Vec<usize>>>,
}

impl Cache {
    /// Looks up a captured graph. `unmet` says per entry which facts about Python values the call does not meet, `others` which variables
    /// are no tensors; a miss says of the first `most` entries which guard failed.
    pub fn find(
        &self,
        place: usize,
        captured: &CapturedGraph,
        (unmet, others): (&[Vec<Unmet>], &HashMap<String, String>),
        most: usize,
    ) -> Lookup {
        let entries = self.entries.get(place).map_or(&[][..], Vec::as_slice);
        let hints = captured.hints();
        let meets = |i: usize| unmet.get(i).is_none_or(Vec::is_empty);
        let asked = self.asked(place);
        let none = Vec::new();
        // Asking is what counts how often guards fail.
        let mut failed = Vec::new();
        let serves = |i: &usize| {
            let e = &entries[*i];
            let serves = meets(*i) && e.is_guarded_for(captured) && e.captured.repeats(&e.values(captured), captured, &hints);
            if !serves && failed.len() < most {
                failed.push(e.failed_guard(captured, unmet.get(*i).unwrap_or(&none), others));
            }
            serves
        };
        let found = asked.iter().copied().find(serves);
        let Some(index) = found else {
            if entries.is_empty() {
                return Lookup::Miss(Vec::new());
            }
            // Another way through the code is not an entry that failed.
            if place > 0 && failed.iter().all(|f| f == GRAPH_DIFFERS) {
                return Lookup::Miss(Vec::new());
            }
            let mut reasons: Vec<String> = asked.iter().zip(&failed).map(|(i, failed)| format!("{i}: {failed}")).collect();
            if let Some(unlisted @ [first, ..]) = asked.get(failed.len()..) {
                reasons.push(format!("{first}: the reasons of {} cache entries are not listed", unlisted.len()));
            }
            return Lookup::Miss(reasons);
        };
        self.served(place, index);
        Lookup::Hit(entries[index].clone())
    }

    /// An entry was hit: it is asked before others.
    pub fn served(&self, place: usize, index: usize) {
        let others = self.asked(place).into_iter().filter(|i| *i != index);
        let order = [index].into_iter().chain(others).collect();
        self.order.borrow_mut().insert(place, order);
    }

    /// The position of an entry among those of a place.
    pub fn position(&self, place: usize, entry: &Rc<CacheEntry>) -> Option<usize> {
        self.entries.get(place)?.iter().position(|known| Rc::ptr_eq(known, entry))
    }

    /// The entries of a place in the order in which they are asked: new ones first, then those that were hit last.
    pub fn asked(&self, place: usize) -> Vec<usize> {
        let order = self.order.borrow();
        let listed = order.get(&place).map_or(&[][..], Vec::as_slice);
        let newest = (0..self.len(place)).rev().filter(|i| !listed.contains(i));
        newest.chain(listed.iter().copied()).collect()
    }

    /// What a call that an exception ends says of the entries of a place: per entry, newest first, the guard that failed. Nothing where
    /// one may have been hit.
    pub fn missed(&self, place: usize, captured: &CapturedGraph, unmet: &[Vec<Unmet>]) -> Vec<String> {
        match self.find(place, captured, (unmet, &HashMap::new()), MOST_REASONS) {
            Lookup::Miss(reasons) if reasons.iter().all(|r| !r.ends_with(GRAPH_DIFFERS)) => reasons,
            _ => Vec::new(),
        }
    }

    /// Adds an entry.
    pub fn insert(&mut self, place: usize, entry: Rc<CacheEntry>) {
        if self.entries.len() <= place {
            self.entries.resize_with(place + 1, Vec::new);
        }
        self.entries[place].push(entry);
    }

    /// An entry of a place, by the order in which they were made.
    pub fn entry(&self, place: usize, index: usize) -> Option<Rc<CacheEntry>> {
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

impl CacheEntry {
    /// A cache entry for a captured graph that was compiled.
    pub fn new(number: u32, captured: CapturedGraph, compiled: Runner, facts: Vec<Guard>, modules: HashMap<String, Holder>) -> Self {
        CacheEntry { number, captured, compiled, facts, modules, failures: RefCell::default() }
    }

    /// The values of its symbols in the call that a graph was captured in.
    pub fn values(&self, captured: &CapturedGraph) -> HashMap<Symbol, i64> {
        // Another way through the code looks at others: the one of that name, where there is one.
        let at = |input: &usize| {
            let (want, have) = (self.captured.touched.get(*input)?, captured.touched.get(*input));
            let same = |h: &&GraphArg| h.source.name == want.source.name;
            have.filter(same).or_else(|| captured.input_named(&want.source.name)).or(have).map(|h| &h.real)
        };
        let read = |place: &Place, symbol: &Symbol| match place {
            Place::Size(input, dim) => at(input)?.sizes().get(*dim)?.as_int(),
            Place::Stride(input, dim) => at(input)?.geometry().strides.get(*dim)?.as_int(),
            Place::Offset(input) => at(input)?.geometry().offset.as_int(),
            Place::Number => captured.env.info(symbol)?.hint,
            Place::Item(input) => super::output_graph::graph_arg::number_of(at(input)?),
        };
        self.captured.witnesses.iter().filter_map(|w| Some((w.symbol.clone(), read(&w.at, &w.symbol)?))).collect()
    }

    /// Whether its guards hold.
    fn is_guarded_for(&self, captured: &CapturedGraph) -> bool {
        let (want, have) = (&self.captured.touched, &captured.touched);
        want.len() == have.len()
            && self.captured.state == captured.state
            && want.iter().zip(have).all(|(w, h)| {
                w.source.is_number && h.source.is_number
                    || meets(w, &h.real, h.spec.requires_grad) && unmarked(&w.source.marks, &h.source.marks).is_none()
            })
            && self.holds_for(&self.values(captured), &|origin| captured.env.float_from(origin))
    }

    /// Tensors found where its inputs were (`tensor`, by position), and the values of its symbols, where its guards hold for those and for
    /// numbers found where its symbols were: nothing is recorded.
    pub fn admits(&self, tensor: &dyn Fn(usize) -> Option<Tensor>, number: &dyn Fn(&str) -> Option<Number>) -> Option<Admitted> {
        let modes = crate::dispatch::modes();
        let state = (modes.grad, modes.autocast, modes.inference, State::now());
        if (self.captured.grad, self.captured.autocast, self.captured.inference, self.captured.state) != state {
            return None;
        }
        let mut tensors: Vec<Option<Tensor>> = Vec::with_capacity(self.captured.touched.len());
        let mut known = HashSet::new();
        for (i, want) in self.captured.touched.iter().enumerate() {
            let have = if want.source.is_number { None } else { Some(tensor(i)?) };
            if let Some(have) = &have {
                let is_distinct = known.insert(have.id());
                if !is_distinct || !meets(want, have, crate::autograd::meta::requires_grad(have)) {
                    return None;
                }
            }
            tensors.push(have);
        }
        let read = |w: &Witness| match w.at {
            Place::Size(input, dim) => tensors.get(input)?.as_ref()?.geometry().sizes.get(dim)?.as_int(),
            Place::Stride(input, dim) => tensors.get(input)?.as_ref()?.geometry().strides.get(dim)?.as_int(),
            Place::Offset(input) => tensors.get(input)?.as_ref()?.geometry().offset.as_int(),
            Place::Item(input) => super::output_graph::graph_arg::number_of(tensors.get(input)?.as_ref()?),
            Place::Number => match number(&self.captured.env.info(&w.symbol)?.origin)? {
                Number::Int(i) => Some(i),
                Number::Float(_) => None,
            },
        };
        let values = self.captured.witnesses.iter().filter_map(|w| Some((w.symbol.clone(), read(w)?))).collect();
        let of_input = |origin: &str| {
            let place = origin.strip_suffix(".item()")?;
            let input = self.captured.touched.iter().position(|input| input.source.source == place)?;
            super::output_graph::graph_arg::float_of(tensors.get(input)?.as_ref()?)
        };
        let float = |origin: &str| match number(origin) {
            Some(Number::Float(f)) => Some(f),
            Some(Number::Int(_)) => None,
            None => of_input(origin),
        };
        self.holds_for(&values, &float).then_some(Admitted { tensors, values })
    }

    /// Whether these values meet its conditions on symbolic sizes and floats.
    fn holds_for(&self, values: &HashMap<Symbol, i64>, float: &dyn Fn(&str) -> Option<f64>) -> bool {
        let env = &self.captured.env;
        let in_range = |(symbol, info): &(Symbol, SymbolInfo)| values.get(symbol).is_none_or(|v| *v >= info.lower && *v <= info.upper);
        let ints = |s: &Symbol| values.get(s).copied();
        let floats = |s: &Symbol| float(&env.float_origin(s)?);
        let holds = |g: &ShapeGuard| match (evaluate(&g.left, values), evaluate(&g.right, values)) {
            (Some(left), Some(right)) => g.relation.holds(left, right),
            _ => true,
        };
        let float_holds = |g: &FloatGuard| match (g.left.evaluate(&ints, &floats), g.right.evaluate(&ints, &floats)) {
            (Some(left), Some(right)) => g.relation.holds(left, right),
            _ => true,
        };
        env.symbols().iter().all(in_range) && env.guards().iter().all(holds) && env.float_guards().iter().all(float_holds)
    }

    /// Its conditions, as PyTorch writes guards, and the lines that made them.
    pub fn guards(&self) -> Vec<Guard> {
        let plain = |text: String| Guard { text, span: None };
        let list = |sizes: &[SymInt]| {
            let items: Vec<String> = sizes.iter().map(|s| s.expr().as_int().map_or("None".to_owned(), |i| i.to_string())).collect();
            format!("[{}]", items.join(", "))
        };
        let mut guards = Vec::new();
        for input in self.captured.touched.iter().filter(|i| !i.source.is_number) {
            let (g, spec) = (&input.spec.spec.geometry, &input.spec);
            guards.push(plain(format!(
                "check_tensor({}, Tensor, {}, device={}, requires_grad={}, size={}, stride={})",
                input.source.source,
                spec.spec.dtype,
                spec.spec.device.index.map_or_else(|| "None".to_owned(), |index| index.to_string()),
                if spec.requires_grad { "True" } else { "False" },
                list(&g.sizes),
                list(&g.strides)
            )));
        }
        guards.extend(self.facts.iter().cloned());
        guards.extend(self.captured.env.guards().iter().map(|guard| self.on_sizes(guard)));
        for (_, info) in self.captured.env.symbols() {
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

    /// A condition on sizes, as a guard says it.
    pub fn on_sizes(&self, guard: &ShapeGuard) -> Guard {
        let sourced = |expr: &Expr| {
            let named = expr.substitute(&|s| Some(Expr::symbol(Symbol(self.captured.env.info(s)?.origin.as_str().into()))));
            as_python(&named.to_string())
        };
        Guard { text: guard.in_python(&sourced), span: guard.source.as_ref().map(|s| s.span.clone()) }
    }

    /// Runs it on what it admitted.
    ///
    /// # Errors
    /// Of its operators, and where a float of the call is an input.
    pub fn run_admitted(&self, admitted: &Admitted) -> Result<Vec<Value>> {
        // Inputs are among what was read, in its order.
        let mut touched = self.captured.touched.iter().zip(&admitted.tensors);
        let mut real = |input: &GraphArg| touched.find(|(known, _)| known.node == input.node)?.1.clone();
        let mut tensors = self.captured.inputs.iter().map(|input| real(input).map(Value::Tensor));
        let inputs = self.given(&mut || tensors.next().flatten(), &admitted.values)?;
        (self.compiled)(inputs)
    }

    /// Runs it on the inputs of a captured graph that hit it, with the values of its symbols there.
    pub fn run(&self, inputs: &[GraphArg], values: &HashMap<Symbol, i64>) -> Result<Vec<Value>> {
        let mut tensors = inputs.iter().map(|i| Value::Tensor(i.real.clone()));
        let inputs = self.given(&mut || tensors.next(), values)?;
        (self.compiled)(inputs)
    }

    /// What its placeholders are given: sizes, and tensors one after the other.
    fn given(&self, next: &mut dyn FnMut() -> Option<Value>, values: &HashMap<Symbol, i64>) -> Result<Vec<Value>> {
        let placeholders = self.captured.graph.placeholders();
        let given = placeholders.map(|n| match &n.meta.value {
            Some(FakeValue::Int(size)) => value_of(size, values).map(Value::from),
            _ => next(),
        });
        given.map(|v| v.ok_or_else(|| Error::runtime("a compiled graph lacks an input"))).collect()
    }
}

/// Whether a tensor is what an entry wants of an input.
fn meets(want: &GraphArg, have: &Tensor, requires_grad: bool) -> bool {
    let (w, h) = (&want.spec.spec, have.geometry());
    let fits = |(a, b): (&SymInt, &SymInt)| a.as_int().is_none_or(|a| Some(a) == b.as_int());
    // Of what a tensor is made of, symbolic sizes are those of the tensor.
    let symbols: HashMap<Symbol, i64> =
        w.geometry.sizes.iter().zip(&h.sizes).filter_map(|(w, h)| Some((w.expr().as_symbol()?.clone(), h.as_int()?))).collect();
    let of_outer = |want: &[SymInt], have: &[SymInt]| {
        want.len() == have.len() && want.iter().zip(have).all(|(w, h)| h.as_int().is_some() && value_of(w, &symbols) == h.as_int())
    };
    w.dtype == have.dtype()
        && want.spec.requires_grad == requires_grad
        && want.is_inference == crate::autograd::meta::is_inference(have)
        && w.geometry.sizes.len() == h.sizes.len()
        && w.geometry.sizes.iter().zip(&h.sizes).all(fits)
        && w.geometry.strides.iter().zip(&h.strides).all(fits)
        && SubclassCreationMeta::of(have).is_ok_and(|have| made_alike(&want.spec.subclass, &have, &of_outer))
}
