//! Attention in one pass: a thread for each row of queries (or of keys), which meets keys (or queries) one after the other.
//!
//! The softmax is online: what has been summed is scaled again whenever a larger score comes. Source: Milakov and Gimelshein.
//! The order of both loops, and the gradient without a matrix of scores. Source: Dao and others.
//! The row's own vectors and sums are in registers; its neighbours in a workgroup read the same keys at the same time.

use super::{Nest, product, start_threads};
use crate::wgsl::{Emitter, strip};
use loops::language::{Attention, Part, Prim, Slopes, Ty, View, X, coord, int, over};

/// Threads of a workgroup.
const SIZE: i64 = 16;

/// Writes attention, or a part of its gradient.
pub fn write(e: &mut Emitter, prim: &Prim, of: &Attention) -> Nest {
    let [queries, keys] = of.lengths;
    let rows = &prim.out.sizes[..3];
    let count = product(rows);
    start_threads(e, count, SIZE);
    e.unravel("i", rows);
    match (of.part, &of.slopes) {
        (Part::Forward, _) | (_, None) => forward(e, prim, of, keys),
        (Part::Queries, Some(slopes)) => gradient_of_queries(e, prim, of, slopes, keys),
        (Part::Keys, Some(slopes)) => gradient_of_keys(e, [Some(&prim.out), of.second.as_ref()], of, slopes, queries),
        (Part::Values, Some(slopes)) => gradient_of_keys(e, [None, Some(&prim.out)], of, slopes, queries),
    }
    Nest::of_threads(count, SIZE)
}

/// An expression for the row that a thread has, and for the one that it meets.
fn mine(x: &X, channel: i64) -> X {
    x.placed(&[coord(0), coord(1)], &[coord(2), int(channel)]).f()
}

fn met(x: &X, channel: i64) -> X {
    x.placed(&[coord(0), coord(1)], &[over(0), int(channel)]).f()
}

/// The channels of a row, named.
fn vector(e: &mut Emitter, x: &X, width: i64, placed: fn(&X, i64) -> X) -> Vec<String> {
    (0..width)
        .map(|channel| {
            let text = strip(e.x(&placed(x, channel)));
            e.named("e", text)
        })
        .collect()
}

fn dot(a: &[String], b: &[String]) -> String {
    let terms: Vec<String> = a.iter().zip(b).map(|(a, b)| format!("{a} * {b}")).collect();
    if terms.is_empty() { "0.0f".to_owned() } else { terms.join(" + ") }
}

/// Variables that start at zero.
fn sums(e: &mut Emitter, stem: &str, width: i64) -> Vec<String> {
    let names: Vec<String> = (0..width).map(|channel| format!("{stem}_{channel}")).collect();
    names.iter().for_each(|name| e.line(&format!("var {name} = 0.0f;")));
    names
}

/// Opens the loop over the keys that a query meets.
fn open_keys(e: &mut Emitter, of: &Attention, keys: i64) {
    let row = e.x(&coord(2));
    let end = if of.causal { format!("min({row} + 1, {keys})") } else { keys.to_string() };
    e.line(&format!("let end = {end};"));
    e.open("for (var j = 0; j < end; j += 1) {");
    e.overs = vec!["j".to_owned()];
}

/// Names the score of the query and the key that meet.
fn score(e: &mut Emitter, of: &Attention, [query, key]: [&[String]; 2], [at_query, at_key]: [X; 2]) {
    let scaled = format!("({}) * {:?}f", dot(query, key), of.scale);
    let Some(mask) = &of.mask else { return e.line(&format!("let score = {scaled};")) };
    let mask = mask.placed(&[coord(0), coord(1)], &[at_query, at_key]);
    let is_bool = mask.ty() == Ty::Bool;
    let text = strip(e.x(&if is_bool { mask } else { mask.f() }));
    e.line(&if is_bool { format!("let score = select(-inf(), {scaled}, {text});") } else { format!("let score = {scaled} + {text};") });
}

/// Writes a row of channels to a region.
fn store(e: &mut Emitter, out: &View, values: &[String]) {
    let rows = e.coords.clone();
    e.sizes = out.sizes.clone();
    e.linear = None;
    for (channel, value) in values.iter().enumerate() {
        e.coords = rows.iter().cloned().chain(std::iter::once(channel.to_string())).collect();
        let name = e.define(out, value, Ty::Float);
        e.store(out, &name);
    }
    e.coords = rows;
}

fn forward(e: &mut Emitter, prim: &Prim, of: &Attention, keys: i64) {
    let query = vector(e, &of.query, of.width, mine);
    e.line("var most = -inf();");
    e.line("var total = 0.0f;");
    let means = sums(e, "acc", of.width);
    open_keys(e, of, keys);
    let key = vector(e, &of.key, of.width, met);
    score(e, of, [&query, &key], [coord(2), over(0)]);
    e.line("let above = nan_max(most, score);");
    e.open("if (above != most) {");
    e.line("let again = exp_of(most - above);");
    e.line("total *= again;");
    means.iter().for_each(|mean| e.line(&format!("{mean} *= again;")));
    e.line("most = above;");
    e.close();
    // A row that meets nothing has no largest score.
    e.line("let weight = select(exp_of(score - most), 0.0f, most == -inf());");
    e.line("total += weight;");
    let value = vector(e, &of.value, of.width, met);
    means.iter().zip(&value).for_each(|(mean, value)| e.line(&format!("{mean} += weight * {value};")));
    e.close();
    e.overs.clear();
    e.line("let sum = select(total, 1.0f, most == -inf());");
    if let Some(logarithm) = &of.second {
        e.sizes = logarithm.sizes.clone();
        let name = e.define(logarithm, "most + log_of(sum)", Ty::Float);
        e.store(logarithm, &name);
    }
    let values: Vec<String> = means.iter().map(|mean| format!("{mean} / sum")).collect();
    store(e, &prim.out, &values);
}

/// Names the weight of the pair.
fn weight(e: &mut Emitter, logsumexp: &X) {
    let logsumexp = strip(e.x(logsumexp));
    e.line(&format!("let weight = select(exp_of(score - {logsumexp}), 0.0f, {logsumexp} == -inf());"));
}

/// Names the slope of its score.
fn slope(e: &mut Emitter, dots: &str, delta: &X) {
    let delta = strip(e.x(delta));
    e.line(&format!("let slope = weight * ({dots} - {delta});"));
}

fn gradient_of_queries(e: &mut Emitter, prim: &Prim, of: &Attention, with: &Slopes, keys: i64) {
    let query = vector(e, &of.query, of.width, mine);
    let grad = vector(e, &with.grad, of.width, mine);
    let result = sums(e, "acc", of.width);
    let (logsumexp, delta) = (mine(&with.logsumexp, 0), mine(&with.delta, 0));
    [&logsumexp, &delta].into_iter().for_each(|x| drop(e.x(x)));
    open_keys(e, of, keys);
    let key = vector(e, &of.key, of.width, met);
    score(e, of, [&query, &key], [coord(2), over(0)]);
    let value = vector(e, &of.value, of.width, met);
    weight(e, &logsumexp);
    slope(e, &dot(&grad, &value), &delta);
    result.iter().zip(&key).for_each(|(sum, key)| e.line(&format!("{sum} += slope * {key};")));
    e.close();
    e.overs.clear();
    scaled(e, &prim.out, &result, of.scale);
}

fn gradient_of_keys(e: &mut Emitter, [keys, values]: [Option<&View>; 2], of: &Attention, with: &Slopes, queries: i64) {
    let key = vector(e, &of.key, of.width, mine);
    let value = keys.map(|_| vector(e, &of.value, of.width, mine));
    let of_key = keys.map(|out| (out, sums(e, "key", of.width)));
    let of_value = values.map(|out| (out, sums(e, "value", of.width)));
    let first = if of.causal { strip(e.x(&coord(2))) } else { "0".to_owned() };
    e.open(&format!("for (var j = {first}; j < {queries}; j += 1) {{"));
    e.overs = vec!["j".to_owned()];
    let query = vector(e, &of.query, of.width, met);
    score(e, of, [&query, &key], [over(0), coord(2)]);
    weight(e, &met(&with.logsumexp, 0));
    let grad = vector(e, &with.grad, of.width, met);
    if let (Some((_, sums)), Some(value)) = (&of_key, &value) {
        slope(e, &dot(&grad, value), &met(&with.delta, 0));
        sums.iter().zip(&query).for_each(|(sum, query)| e.line(&format!("{sum} += slope * {query};")));
    }
    if let Some((_, sums)) = &of_value {
        sums.iter().zip(&grad).for_each(|(sum, grad)| e.line(&format!("{sum} += weight * {grad};")));
    }
    e.close();
    e.overs.clear();
    if let Some((out, sums)) = of_key {
        scaled(e, out, &sums, of.scale);
    }
    if let Some((out, sums)) = of_value {
        store(e, out, &sums);
    }
}

/// Writes sums that the scale of the scores is still missing from.
fn scaled(e: &mut Emitter, out: &View, sums: &[String], scale: f32) {
    let values: Vec<String> = sums.iter().map(|sum| format!("{sum} * {scale:?}f")).collect();
    store(e, out, &values);
}
