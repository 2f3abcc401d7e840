//! Another size: which cache entry of a frame other sizes would hit, which guard fails, and what a recompile would make.
//!
//! It works on what the report says of entries, so that it can be asked of a run that is over. In everything that is not tried the call
//! is taken to be like the last one.

use super::text::{as_python, range};
use crate::dynamo::cache::CacheEntry;
use crate::dynamo::dynamic_shapes::{CodeId, DimMark, InputSource, SeenSizes, Symbols};
use crate::error::{Error, Result};
use crate::graph::parse_size;
use crate::report::{
    CacheEntryCondition, CacheEntryFact, CacheEntryInput, CacheEntryMark, CacheEntrySymbol, CacheEntryView, CapturedGraph, LastCall,
    LastUnmet, Recompile, Span, Trial, Verdict, WhatIf,
};
use crate::shape::{Relation, ints};
use crate::tensor::Geometry;
use std::collections::HashMap;

/// How many cache entries a code object may have.
pub const RECOMPILE_LIMIT: usize = 8;

/// An entry as plain data.
pub fn view(entry: &CacheEntry, (frame, dynamic, limit): (u32, Option<bool>, usize), facts: Vec<CacheEntryFact>) -> CacheEntryView {
    let captured = &entry.captured;
    let inputs = captured.touched.iter().map(|input| {
        let (geometry, source) = (&input.spec.spec.geometry, &input.source);
        let real = |list: &[crate::shape::SymInt]| list.iter().map(|s| s.hint().unwrap_or(0)).collect();
        let text = |list: &[crate::shape::SymInt]| list.iter().map(ToString::to_string).collect();
        CacheEntryInput {
            source: source.source.clone(),
            dtype: input.spec.spec.dtype.name().to_owned(),
            requires_grad: input.spec.requires_grad,
            is_static: source.is_static,
            sizes: text(&geometry.sizes),
            strides: text(&geometry.strides),
            real_sizes: real(&geometry.sizes),
            real_strides: real(&geometry.strides),
            numbers: source.numbers.clone(),
            marks: source.marks.iter().map(|(dim, mark)| mark_view(*dim, *mark)).collect(),
        }
    });
    let conditions = captured.env.guards().into_iter().map(|guard| CacheEntryCondition {
        left: guard.left.to_string(),
        relation: guard.relation.text().to_owned(),
        right: guard.right.to_string(),
        written: (!guard.pairs.is_empty()).then(|| guard.in_python(&|side| side.to_string())),
        span: guard.source.map(|s| s.span),
    });
    CacheEntryView {
        frame,
        dynamic,
        inputs: inputs.collect(),
        symbols: symbol_views(&captured.env),
        conditions: conditions.collect(),
        facts,
        limit: limit as u32,
    }
}

fn symbol_views(env: &crate::shape::ShapeEnv) -> Vec<CacheEntrySymbol> {
    let one = |(symbol, info): (crate::shape::Symbol, crate::shape::SymbolInfo)| CacheEntrySymbol {
        name: symbol.0.to_string(),
        source: info.origin,
        value: info.hint,
        lower: Some(info.lower).filter(|l| *l != i64::MIN),
        upper: Some(info.upper).filter(|u| *u != i64::MAX),
    };
    env.symbols().into_iter().map(one).collect()
}

fn mark_view(dim: usize, mark: DimMark) -> CacheEntryMark {
    let (kind, min, max) = match mark {
        DimMark::Dynamic(min, max) => ("dynamic", min, max),
        DimMark::Maybe(min, max) => ("maybe", min, max),
        DimMark::Unbacked(min, max) => ("unbacked", min, max),
        DimMark::Static => ("static", None, None),
    };
    CacheEntryMark { dim: dim as u32, kind: kind.to_owned(), min, max }
}

/// What would become of a call of the frame `frame` with the sizes of `trials`; inputs that are not tried are as they
/// were when an entry was made.
///
/// # Errors
/// Where the frame has no cache entry, a size is negative, or an entry's expressions cannot be read.
pub fn what_if(graphs: &[CapturedGraph], frame: u32, trials: &[Trial], call: Option<&LastCall>) -> Result<WhatIf> {
    let entries: Vec<(u32, &CacheEntryView)> =
        graphs.iter().filter_map(|r| Some((r.id, r.entry.as_ref()?))).filter(|(_, e)| e.frame == frame).collect();
    let Some((_, last)) = entries.last() else {
        return Err(Error::value(format!("nothing was compiled for frame {frame}")));
    };
    if let Some(trial) = trials.iter().find(|t| t.sizes.iter().any(|s| *s < 0)) {
        return Err(Error::value(format!("{} has a negative size", trial.source)));
    }
    let mut verdicts = Vec::new();
    for (captured, entry) in &entries {
        let unmet = call.and_then(|call| call.unmet.iter().find(|unmet| unmet.region == *captured));
        let of_values = failed_fact(entry, trials, unmet);
        let failed = of_values.map_or_else(|| failed_guard(entry, trials), |failed| Ok(Some(failed)))?;
        let (failed, span) = failed.map_or((None, None), |(text, span)| (Some(text), span));
        let unknown = if failed.is_none() { unknown_facts(entry, trials, unmet) } else { Vec::new() };
        verdicts.push(Verdict { region: *captured, failed, span, unknown });
    }
    let served = verdicts.iter().any(|v| v.failed.is_none());
    let recompile = if served {
        None
    } else {
        let made: Vec<&CacheEntryView> = entries.iter().map(|(_, e)| *e).collect();
        let (inputs, symbols) = recompiled(&made, last, trials)?;
        Some(Recompile { inputs, symbols, limit: last.limit > 0 && entries.len() >= last.limit as usize })
    };
    Ok(WhatIf { entries: verdicts, recompile })
}

/// The geometry an input would have: dense, dimensions lying in memory in the order in which they did.
fn tried(input: &CacheEntryInput, trials: &[Trial]) -> (Vec<i64>, Vec<i64>) {
    let Some(trial) = trials.iter().find(|t| t.source == input.source && t.sizes != input.real_sizes) else {
        return (input.real_sizes.clone(), input.real_strides.clone());
    };
    let rank = trial.sizes.len();
    let mut order: Vec<usize> = (0..rank).rev().collect();
    if rank == input.real_strides.len() {
        order.sort_by_key(|d| input.real_strides[*d]);
    }
    let mut strides = vec![1; rank];
    let mut next = 1i64;
    for d in order {
        strides[d] = next;
        next = next.saturating_mul(trial.sizes[d].max(1));
    }
    (trial.sizes.clone(), strides)
}

/// A source as PyTorch names it to people: `L['x'].size()[0]` is `x.size()[0]`.
fn local(source: &str) -> String {
    source.replace("L['", "").replacen("']", "", 1)
}

/// The value that a trial gives a source.
fn tried_value<'a>(source: &str, trials: &'a [Trial]) -> Option<&'a str> {
    trials.iter().find(|trial| trial.source == source)?.value.as_deref()
}

/// The guard on a Python value that fails, and the line that read the value.
fn failed_fact(entry: &CacheEntryView, trials: &[Trial], unmet: Option<&LastUnmet>) -> Option<(String, Option<Span>)> {
    let fails = |(position, fact): &(usize, &CacheEntryFact)| match (&fact.value, tried_value(&fact.source, trials)) {
        (Some(wanted), Some(found)) => wanted != found,
        _ => unmet.is_some_and(|unmet| unmet.failed.contains(&(*position as u32))),
    };
    let (_, fact) = entry.facts.iter().enumerate().find(fails)?;
    Some((local(&fact.text), fact.span.clone()))
}

/// Guards on Python values of which neither the last call nor a trial tells whether they hold.
fn unknown_facts(entry: &CacheEntryView, trials: &[Trial], unmet: Option<&LastUnmet>) -> Vec<String> {
    let is_unknown = |(position, fact): &(usize, &CacheEntryFact)| {
        let is_tried = fact.value.is_some() && tried_value(&fact.source, trials).is_some();
        !is_tried && unmet.is_some_and(|unmet| unmet.unknown.contains(&(*position as u32)))
    };
    entry.facts.iter().enumerate().filter(is_unknown).map(|(_, fact)| local(&fact.text)).collect()
}

/// The guard that an entry fails on, and the line that made it.
fn failed_guard(entry: &CacheEntryView, trials: &[Trial]) -> Result<Option<(String, Option<Span>)>> {
    let values: HashMap<&str, i64> = entry.symbols.iter().filter_map(|s| Some((s.name.as_str(), value_of(s, entry, trials)?))).collect();
    let number = |text: &str| -> Result<Option<i64>> { Ok(parse_size(text, &|name| values.get(name).copied())?.hint()) };
    for input in &entry.inputs {
        let (sizes, strides) = tried(input, trials);
        let name = local(&input.source);
        if sizes.len() != input.sizes.len() {
            return Ok(Some((format!("tensor '{name}' rank mismatch. expected {}, actual {}", input.sizes.len(), sizes.len()), None)));
        }
        for (kind, wanted, found) in [("size", &input.sizes, &sizes), ("stride", &input.strides, &strides)] {
            for (d, (text, actual)) in wanted.iter().zip(found).enumerate() {
                if let Ok(expected) = text.parse::<i64>()
                    && expected != *actual
                {
                    return Ok(Some((format!("tensor '{name}' {kind} mismatch at index {d}. expected {expected}, actual {actual}"), None)));
                }
            }
        }
    }
    for symbol in &entry.symbols {
        let (Some(value), source) = (values.get(symbol.name.as_str()), local(&symbol.source)) else { continue };
        if symbol.lower.is_some_and(|l| *value < l) || symbol.upper.is_some_and(|u| *value > u) {
            return Ok(Some((range(&source, symbol.lower, symbol.upper), None)));
        }
    }
    // Sizes that share a symbol are equal.
    for input in &entry.inputs {
        let (sizes, _) = tried(input, trials);
        for (d, (text, actual)) in input.sizes.iter().zip(&sizes).enumerate() {
            if number(text)?.is_some_and(|expected| expected != *actual) {
                return Ok(Some((format!("{}.size()[{d}] == {}", local(&input.source), in_source(text, entry)), None)));
            }
        }
    }
    for condition in &entry.conditions {
        let (Some(left), Some(right)) = (number(&condition.left)?, number(&condition.right)?) else { continue };
        let relation = Relation::ALL.into_iter().find(|r| r.text() == condition.relation);
        if relation.is_some_and(|r| !r.holds(left, right)) {
            let relation = || format!("{} {} {}", condition.left, condition.relation, condition.right);
            let text = in_source(&condition.written.clone().unwrap_or_else(relation), entry);
            return Ok(Some((text, condition.span.clone())));
        }
    }
    Ok(None)
}

/// The value of a symbol that is a size of an input; another is as it was.
fn value_of(symbol: &CacheEntrySymbol, entry: &CacheEntryView, trials: &[Trial]) -> Option<i64> {
    let read = |input: &CacheEntryInput| -> Option<i64> {
        let dim = symbol.source.strip_prefix(&input.source)?.strip_prefix(".size()[")?.strip_suffix(']')?;
        tried(input, trials).0.get(dim.parse::<usize>().ok()?).copied()
    };
    let number = || tried_value(&symbol.source, trials)?.parse().ok();
    entry.inputs.iter().find_map(read).or_else(number).or(symbol.value)
}

/// An expression with its symbols written as the script finds them.
fn in_source(text: &str, entry: &CacheEntryView) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_') {
        let end = rest[at..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(rest.len(), |n| at + n);
        out.push_str(&rest[..at]);
        let name = &rest[at..end];
        out.push_str(&entry.symbols.iter().find(|s| s.name == name).map_or_else(|| name.to_owned(), |s| local(&s.source)));
        rest = &rest[end..];
    }
    as_python(&(out + rest))
}

/// The inputs that a recompile would be for: sizes that have varied become symbols.
fn recompiled(made: &[&CacheEntryView], last: &CacheEntryView, trials: &[Trial]) -> Result<(Vec<CacheEntryInput>, Vec<CacheEntrySymbol>)> {
    let mut seen = SeenSizes::default();
    for input in made.iter().flat_map(|e| &e.inputs) {
        let real = Geometry { sizes: ints(&input.real_sizes), strides: ints(&input.real_strides), offset: 0.into() };
        seen.note(CodeId::default(), &source_of(input), &real);
    }
    let mut symbols = Symbols::default();
    let mut inputs = Vec::new();
    for (index, input) in last.inputs.iter().enumerate() {
        let (sizes, strides) = tried(input, trials);
        let source = source_of(input);
        let real = Geometry { sizes: ints(&sizes), strides: ints(&strides), offset: 0.into() };
        let plan = seen.plan(CodeId::default(), &source, &real, last.dynamic, false);
        let (geometry, _) = symbols.geometry(&source, index, &real, &plan);
        let text = |list: &[crate::shape::SymInt]| list.iter().map(ToString::to_string).collect();
        inputs.push(CacheEntryInput {
            sizes: text(&geometry.sizes),
            strides: text(&geometry.strides),
            real_sizes: sizes,
            real_strides: strides,
            ..input.clone()
        });
    }
    Ok((inputs, symbol_views(&symbols.env)))
}

fn source_of(input: &CacheEntryInput) -> InputSource {
    let mark = |m: &CacheEntryMark| match m.kind.as_str() {
        "dynamic" => DimMark::Dynamic(m.min, m.max),
        "maybe" => DimMark::Maybe(m.min, m.max),
        "unbacked" => DimMark::Unbacked(m.min, m.max),
        _ => DimMark::Static,
    };
    InputSource {
        source: input.source.clone(),
        is_static: input.is_static,
        marks: input.marks.iter().map(|m| (m.dim as usize, mark(m))).collect(),
        numbers: input.numbers.clone(),
        ..InputSource::default()
    }
}
