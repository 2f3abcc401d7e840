//! The last call of each frame: what is asked of guards when a run is over is asked of its values.
//!
//! Of a call that hit the cache the entry tells them: its guards passed. Of one that ran uncompiled, the guards that failed do.

use std::collections::HashMap;
use std::rc::Rc;

use rustpython_vm::VirtualMachine;

use super::guard::{Fact, Kind, constant, repr};
use super::needs::Needs;
use crate::dynamo::cache::compiled_function::{CompiledFunction, functions};
use crate::dynamo::dynamic_shapes::{Place, value_of};
use crate::dynamo::{CacheEntry, CapturedGraph, Unmet, strip_locals};
use crate::python::current::emit;
use crate::report::{CacheEntryFact, Event, LastCall, LastInput, LastUnmet, LastValue};
use crate::shape::Symbol;

/// The last call of a place.
pub enum Last {
    /// It hit an entry, with these values of its symbols.
    Hit(Rc<CacheEntry>, HashMap<Symbol, i64>),
    /// It ran uncompiled.
    Miss {
        /// Its tensors.
        inputs: Vec<LastInput>,
        /// Its symbols.
        numbers: Vec<LastValue>,
        /// Per entry, the facts that did not hold.
        unmet: Vec<Vec<Unmet>>,
    },
}

/// A call hit an entry.
pub fn note_hit(function: &CompiledFunction, place: usize, entry: &Rc<CacheEntry>, values: &HashMap<Symbol, i64>) {
    function.last.borrow_mut().insert(place, Last::Hit(entry.clone(), values.clone()));
}

/// A call ran uncompiled.
pub fn note_miss(function: &CompiledFunction, place: usize, captured: &CapturedGraph, unmet: &[Vec<Unmet>]) {
    let size = |input: &crate::dynamo::output_graph::graph_arg::GraphArg| LastInput {
        source: input.source.source.clone(),
        sizes: input.real.sizes().iter().filter_map(crate::shape::SymInt::as_int).collect(),
    };
    let inputs = captured.touched.iter().filter(|input| !input.source.is_number).map(size).collect();
    let numbers = numbers(captured, &captured.hints());
    function.last.borrow_mut().insert(place, Last::Miss { inputs, numbers, unmet: unmet.to_vec() });
}

/// The integers of a call that are symbols.
fn numbers(captured: &CapturedGraph, values: &HashMap<Symbol, i64>) -> Vec<LastValue> {
    let of_numbers = captured.witnesses.iter().filter(|witness| matches!(witness.at, Place::Number));
    let one = |symbol: &Symbol| Some(LastValue { source: captured.env.info(symbol)?.origin, value: values.get(symbol)?.to_string() });
    of_numbers.filter_map(|witness| one(&witness.symbol)).collect()
}

/// What a cache entry is guarded on, as the report has it.
pub fn facts(needs: &Needs, vm: &VirtualMachine) -> Vec<CacheEntryFact> {
    let one = |fact: &Fact| CacheEntryFact {
        source: fact.source.text(vm),
        text: fact.text(vm),
        value: constant(fact, vm),
        span: fact.place.as_ref().map(|place| place.span.clone()),
    };
    needs.facts.iter().map(one).collect()
}

/// Tells the last call of every frame.
pub fn tell(vm: &VirtualMachine) {
    for function in functions() {
        for (place, last) in &*function.last.borrow() {
            emit(Event::Called { call: told(&function, *place, last, vm) });
        }
    }
}

fn told(function: &CompiledFunction, place: usize, last: &Last, vm: &VirtualMachine) -> LastCall {
    let entries: Vec<(Rc<CacheEntry>, Rc<Needs>)> = (0..function.cache.borrow().len(place))
        .filter_map(|index| Some((function.cache.borrow().entry(place, index)?, function.values.entry(place, index)?.0)))
        .collect();
    let mut values: Vec<LastValue> = Vec::new();
    let mut learn = |source: String, value: String| {
        if values.iter().all(|known| known.source != source) {
            values.push(LastValue { source, value });
        }
    };
    let positions = |is: &dyn Fn(&Fact) -> bool, needs: &Needs| -> Vec<u32> {
        needs.facts.iter().enumerate().filter(|(_, fact)| is(fact)).map(|(position, _)| position as u32).collect()
    };
    let mut unmet = Vec::new();
    let (region, inputs, numbers) = match last {
        Last::Hit(hit, symbols) => {
            let known = entries.iter().find(|(entry, _)| Rc::ptr_eq(entry, hit)).map(|(_, needs)| needs.clone()).unwrap_or_default();
            known.facts.iter().filter_map(|fact| Some((fact.source.text(vm), constant(fact, vm)?))).for_each(|(s, v)| learn(s, v));
            let sources: Vec<String> = known.facts.iter().map(|fact| fact.source.text(vm)).collect();
            for (entry, needs) in entries.iter().filter(|(entry, _)| !Rc::ptr_eq(entry, hit)) {
                let of = |fact: &Fact| {
                    let source = fact.source.text(vm);
                    let same = known.facts.iter().zip(&sources).filter(|(_, s)| **s == source).map(|(known, _)| &known.kind);
                    let told: Vec<&Kind> = same.filter(|kind| fact.kind.is_told_by(kind, vm)).collect();
                    (!told.is_empty()).then(|| told.iter().any(|kind| fact.kind.says(kind, vm)))
                };
                unmet.push(LastUnmet {
                    region: entry.number,
                    failed: positions(&|fact| of(fact) == Some(false), needs),
                    unknown: positions(&|fact| of(fact).is_none(), needs),
                });
            }
            let size = |input: &crate::dynamo::output_graph::graph_arg::GraphArg| LastInput {
                source: input.source.source.clone(),
                sizes: input.spec.spec.geometry.sizes.iter().filter_map(|size| value_of(size, symbols)).collect(),
            };
            let tensors = hit.captured.touched.iter().filter(|input| !input.source.is_number);
            (Some(hit.number), tensors.map(size).collect(), numbers(&hit.captured, symbols))
        }
        Last::Miss { inputs, numbers, unmet: per_entry } => {
            for ((entry, needs), failing) in entries.iter().zip(per_entry) {
                let failed = |fact: &Fact| {
                    let (source, text) = (fact.source.text(vm), strip_locals(&fact.text(vm)));
                    let is_type = matches!(fact.kind, Kind::Type(_));
                    failing.iter().any(|unmet| unmet.source == source && (is_type || unmet.text.starts_with(&text)))
                };
                for unmet in failing {
                    if let Some(found) = &unmet.found {
                        learn(unmet.source.clone(), repr(found, vm));
                    }
                }
                let held = needs.facts.iter().filter(|fact| !failed(fact));
                held.filter_map(|fact| Some((fact.source.text(vm), constant(fact, vm)?))).for_each(|(s, v)| learn(s, v));
                unmet.push(LastUnmet { region: entry.number, failed: positions(&failed, needs), unknown: Vec::new() });
            }
            (None, inputs.clone(), numbers.clone())
        }
    };
    numbers.into_iter().for_each(|LastValue { source, value }| learn(source, value));
    LastCall { frame: function.frame(place), region, inputs, values, unmet }
}
