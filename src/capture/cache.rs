//! The cache of a compiled function: entries by region, each with the guards it depends on.

use super::recorder::{Region, RegionInput};
use super::symbols::{evaluate, value_of};
use crate::dispatch::Value;
use crate::error::{Error, Result};
use crate::graph::FakeValue;
use crate::report::Guard;
use crate::shape::{Expr, SymInt, Symbol};
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
    /// Python values it depends on: how a guard says it, and the value (`L['p']`, `0.0`).
    pub facts: Vec<(String, String)>,
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
}

impl Cache {
    /// Looks for an entry that serves a region; `facts` are the Python values of the call, asked for on a miss only.
    pub fn find(&self, place: usize, region: &Region, facts: impl Fn() -> Vec<(String, String)>) -> Lookup {
        let entries = self.entries.get(place).map_or(&[][..], Vec::as_slice);
        let wanted = region.fingerprint(&region.hints());
        match entries.iter().find(|e| e.serves(region, wanted.as_deref())) {
            Some(entry) => Lookup::Hit(entry.clone()),
            None if entries.is_empty() => Lookup::Miss(Vec::new()),
            None => {
                let facts = facts();
                let failed: Vec<String> = entries.iter().map(|e| e.failed_guard(region, &facts)).collect();
                // After a break each way that Python goes on is code of its own.
                if place > 0 && failed.iter().all(|f| f == REGION_DIFFERS) {
                    return Lookup::Miss(Vec::new());
                }
                Lookup::Miss(failed.iter().enumerate().rev().map(|(i, f)| format!("{i}: {f}")).collect())
            }
        }
    }

    /// Adds an entry.
    pub fn insert(&mut self, place: usize, entry: Rc<Entry>) {
        if self.entries.len() <= place {
            self.entries.resize_with(place + 1, Vec::new);
        }
        self.entries[place].push(entry);
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
    }
}

impl Entry {
    /// The values of its symbols for the inputs of a region.
    fn values(&self, touched: &[RegionInput]) -> HashMap<Symbol, i64> {
        let read = |input: usize, dim: usize| touched.get(input)?.real.sizes().get(dim)?.as_int();
        self.region.witnesses.iter().filter_map(|w| Some((w.symbol.clone(), read(w.input, w.dim)?))).collect()
    }

    fn serves(&self, region: &Region, wanted: Option<&str>) -> bool {
        let values = self.values(&region.touched);
        let (want, have) = (&self.region.touched, &region.touched);
        want.len() == have.len()
            && want.iter().zip(have).all(|(w, h)| failed_check(w, h).is_none())
            && self.failed_condition(&values).is_none()
            && wanted.is_some()
            && self.region.fingerprint(&values).as_deref() == wanted
    }

    /// The condition on symbolic sizes that these values do not meet.
    fn failed_condition(&self, values: &HashMap<Symbol, i64>) -> Option<String> {
        let env = &self.region.env;
        for (symbol, info) in env.symbols() {
            let Some(value) = values.get(&symbol) else { continue };
            let source = info.origin.replace("L['", "").replacen("']", "", 1);
            if *value < info.lower {
                return Some(format!("{} <= {source}", info.lower));
            }
            if *value > info.upper {
                return Some(format!("{source} <= {}", info.upper));
            }
        }
        for guard in env.guards() {
            let (Some(left), Some(right)) = (evaluate(&guard.left, values), evaluate(&guard.right, values)) else { continue };
            if !guard.relation.holds(left, right) {
                return Some(format!("{} {} {}", self.in_source(&guard.left), guard.relation.text(), self.in_source(&guard.right)));
            }
        }
        None
    }

    /// An expression with sizes written as the script finds them.
    fn in_source(&self, expr: &Expr) -> String {
        let named = expr.substitute(&|s| {
            let origin = self.region.env.info(s)?.origin.replace("L['", "").replacen("']", "", 1);
            Some(Expr::symbol(Symbol(origin.as_str().into())))
        });
        named.to_string()
    }

    /// Its conditions, as PyTorch writes guards, and the lines that made them.
    pub fn guards(&self) -> Vec<Guard> {
        let plain = |text: String| Guard { text, span: None };
        let list = |sizes: &[SymInt]| {
            let items: Vec<String> = sizes.iter().map(|s| s.expr().as_int().map_or("None".to_owned(), |i| i.to_string())).collect();
            format!("[{}]", items.join(", "))
        };
        let mut guards = Vec::new();
        for input in &self.region.touched {
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
        guards
            .extend(self.facts.iter().filter(|(what, _)| !what.contains(" is ")).map(|(what, value)| plain(format!("{what} == {value}"))));
        let sourced = |expr: &Expr| {
            let named = expr.substitute(&|s| Some(Expr::symbol(Symbol(self.region.env.info(s)?.origin.as_str().into()))));
            named.to_string()
        };
        for guard in self.region.env.guards() {
            let text = format!("{} {} {}", sourced(&guard.left), guard.relation.text(), sourced(&guard.right));
            guards.push(Guard { text, span: guard.source.map(|s| s.span) });
        }
        for (_, info) in self.region.env.symbols() {
            guards.push(plain(match info.upper {
                i64::MAX => format!("{} <= {}", info.lower, info.origin),
                upper => format!("{} <= {} <= {upper}", info.lower, info.origin),
            }));
        }
        guards
    }

    /// Runs it on the inputs of a region that it serves.
    pub fn run(&self, inputs: &[RegionInput], touched: &[RegionInput]) -> Result<Vec<Value>> {
        let values = self.values(touched);
        let mut tensors = inputs.iter().map(|i| Value::Tensor(i.real.clone()));
        let inputs = self
            .region
            .graph
            .placeholders()
            .map(|n| match &n.meta.value {
                Some(FakeValue::Int(size)) => value_of(size, &values).map(Value::from),
                _ => tensors.next(),
            })
            .map(|v| v.ok_or_else(|| Error::runtime("a compiled region lacks an input")))
            .collect::<Result<Vec<_>>>()?;
        (self.compiled)(inputs)
    }

    /// The first condition that a region does not meet, in the words of `TORCH_LOGS=recompiles`.
    fn failed_guard(&self, region: &Region, facts: &[(String, String)]) -> String {
        if self.region.grad != region.grad {
            return "GLOBAL_STATE changed: grad_mode ".to_owned();
        }
        // What a script passes is looked at before what its modules hold.
        let (held, passed): (Vec<_>, Vec<_>) = self.region.touched.iter().partition(|i| i.source.is_static);
        for want in passed.into_iter().chain(held) {
            let have = region.touched.iter().find(|h| h.source.name == want.source.name);
            if let Some(reason) = have.and_then(|have| failed_check(want, have)) {
                return reason;
            }
        }
        if let Some(reason) = self.failed_condition(&self.values(&region.touched)) {
            return reason;
        }
        let changed = self.facts.iter().find(|(what, value)| facts.iter().find(|(w, _)| w == what).is_none_or(|(_, v)| v != value));
        match changed {
            Some((what, _)) if what.contains(" is ") => what.replace("L['", "").replace("']", ""),
            Some((what, value)) => format!("{} == {value}", what.replace("L['", "").replacen("']", "", 1)),
            None => REGION_DIFFERS.to_owned(),
        }
    }
}

/// How an input differs from what an entry wants of it.
fn failed_check(want: &RegionInput, have: &RegionInput) -> Option<String> {
    let name = want.source.source.replace("L['", "").replacen("']", "", 1);
    let (w, h) = (&want.spec.spec, have.real.spec());
    if w.dtype != h.dtype {
        return Some(format!("tensor '{name}' dtype mismatch. expected {}, actual {}", w.dtype.scalar_type(), h.dtype.scalar_type()));
    }
    if want.spec.requires_grad != have.spec.requires_grad {
        return Some(format!("tensor '{name}' requires_grad mismatch. expected requires_grad={}", u8::from(want.spec.requires_grad)));
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
