//! Reductions, what shares their rows, and scans.
//!
//! A kernel goes through its rows in the passes of [`loops::rows`]: a thread has a row, or a workgroup's threads share it, each of them
//! taking every n-th turn where they are n.

use super::{Adapter, Counts, MAX_GROUPS, Nest, keep_element, product, spread, start_threads};
use crate::wgsl::{Emitter, digits, name_of, strip};
use diagnostics::error::{Error, Result};
use loops::language::{Combine, Loop, Prim, Ty, View, X, coord, row_major};
use loops::rows::{Elements, Pass, Side, rows};
use loops::schedule::Group;
use tensor::Dtype;

/// The neutral element of a combination.
fn neutral(combine: Combine, ty: Ty) -> &'static str {
    match (combine, ty) {
        (Combine::Sum, Ty::Float) => "0.0f",
        (Combine::Sum, _) => "0",
        (Combine::Prod, Ty::Float) => "1.0f",
        (Combine::Prod, _) => "1",
        (Combine::Max | Combine::ArgMax, Ty::Float) => "-inf()",
        (Combine::Max | Combine::ArgMax, _) => "i32(-2147483647 - 1)",
        (Combine::Min | Combine::ArgMin, Ty::Float) => "inf()",
        (Combine::Min | Combine::ArgMin, _) => "2147483647",
    }
}

/// What `acc` and `value` combine to.
fn combined(combine: Combine, ty: Ty, acc: &str, value: &str) -> String {
    match (combine, ty) {
        (Combine::Sum, _) => format!("{acc} + {value}"),
        (Combine::Prod, _) => format!("{acc} * {value}"),
        (Combine::Max | Combine::ArgMax, Ty::Float) => format!("nan_max({acc}, {value})"),
        (Combine::Max | Combine::ArgMax, _) => format!("max({acc}, {value})"),
        (Combine::Min | Combine::ArgMin, Ty::Float) => format!("nan_min({acc}, {value})"),
        (Combine::Min | Combine::ArgMin, _) => format!("min({acc}, {value})"),
    }
}

/// When `value` at `at` takes the place of `acc` at `best`; the first one wins, and NaN before numbers.
fn better(combine: Combine, ty: Ty, [acc, best]: [&str; 2], [value, at]: [&str; 2]) -> String {
    let sign = if combine == Combine::ArgMax { ">" } else { "<" };
    if ty == Ty::Float {
        format!(
            "{at} >= 0 && ({best} < 0 || (is_nan({value}) && !is_nan({acc})) || (!is_nan({acc}) && {value} {sign} {acc}) || (({value} == {acc} || (is_nan({value}) && is_nan({acc}))) && {at} < {best}))"
        )
    } else {
        format!("{at} >= 0 && ({best} < 0 || {value} {sign} {acc} || ({value} == {acc} && {at} < {best}))")
    }
}

/// A reduction while it is written.
struct Sum<'a> {
    prim: &'a Prim,
    over: &'a [i64],
    combine: Combine,
    body: X,
    mask: Option<&'a X>,
    /// Names of what it has so far, and of where that was met.
    acc: String,
    best: String,
}

impl<'a> Sum<'a> {
    fn new(e: &mut Emitter, prim: &'a Prim) -> Option<Sum<'a>> {
        let Loop::Reduce { over, combine, body, mask } = &prim.body else { return None };
        let body = if body.ty() == Ty::Bool { body.i() } else { body.clone() };
        Some(Sum { prim, over, combine: *combine, body, mask: mask.as_ref(), acc: e.fresh("acc"), best: e.fresh("best") })
    }

    fn ty(&self) -> Ty {
        self.body.ty()
    }

    fn is_position(&self) -> bool {
        matches!(self.combine, Combine::ArgMax | Combine::ArgMin)
    }

    /// Takes in `value`, met at `at`.
    fn take(&self, e: &mut Emitter, value: &str, at: &str) {
        let Sum { acc, best, .. } = self;
        if self.is_position() {
            let better = better(self.combine, self.ty(), [acc, best], [value, at]);
            e.line(&format!("if ({better}) {{ {acc} = {value}; {best} = {at}; }}"));
        } else {
            e.line(&format!("{acc} = {};", combined(self.combine, self.ty(), acc, value)));
        }
    }

    /// Takes in `value`, met at `at` after all that it has: no branch, and no comparison of places.
    fn take_next(&self, e: &mut Emitter, value: &str, at: &str) {
        let Sum { acc, best, .. } = self;
        let sign = if self.combine == Combine::ArgMax { ">" } else { "<" };
        let nan = if self.ty() == Ty::Float { format!(" | (is_nan({value}) & !is_nan({acc}))") } else { String::new() };
        let better = e.fresh("t");
        e.line(&format!("let {better} = ({best} < 0) | ({value} {sign} {acc}){nan};"));
        e.line(&format!("{acc} = select({acc}, {value}, {better});"));
        e.line(&format!("{best} = select({best}, {at}, {better});"));
    }

    /// One turn of its loop.
    fn turn(&self, e: &mut Emitter) {
        let masked = self.mask.is_some();
        if let Some(mask) = self.mask {
            let condition = strip(e.x(mask));
            e.open(&format!("if ({condition}) {{"));
        }
        let text = strip(e.x(&self.body));
        let value = e.named("v", text);
        if self.is_position() {
            let at = position(e, self.over);
            self.take_next(e, &value, &at);
        } else {
            self.take(e, &value, "");
        }
        if masked {
            e.close();
        }
    }
}

/// Where a turn is among all, row-major.
fn position(e: &mut Emitter, over: &[i64]) -> String {
    let turning = e.overs.iter().zip(row_major(over)).filter(|(o, _)| *o != "0");
    let terms: Vec<String> = turning.map(|(o, stride)| if stride == 1 { o.clone() } else { format!("{o} * {stride}") }).collect();
    if terms.is_empty() { "0".to_owned() } else { e.named("p", terms.join(" + ")) }
}

/// Who has a row, and what they know of it.
struct Team {
    /// How many threads of a workgroup share it; with none, it is one thread's.
    shared_by: Option<i64>,
    /// Memory that they share.
    memory: String,
    /// Values of the row that are in registers.
    known: Vec<View>,
}

/// Writes a group whose root is a reduction: a thread for each row, or a workgroup where there are few rows of many turns.
pub fn write(e: &mut Emitter, group: &Group, adapter: Adapter, stored: &dyn Fn(&Prim) -> bool) -> Result<Nest> {
    let rows = rows(group).ok_or_else(|| Error::runtime("loops of one kernel do not share their rows"))?;
    let (count, turns) = (rows.count, rows.turns);
    let passes = rows.into_passes();
    let whole_group = !adapter.software && turns >= 128 && (count < 2048 || turns >= 1024);
    let threads = match () {
        () if whole_group && turns >= 1024 => 256,
        // Few threads with much to do: workgroups are small, so that every core gets some.
        () if adapter.software && count <= 1 << 12 => 16,
        () => 64,
    };
    if whole_group {
        if count <= MAX_GROUPS {
            e.line("let i = i32(group.x);");
        } else {
            e.line(&format!("let i = i32(group.x + group.y * {MAX_GROUPS}u);"));
        }
        e.line(&format!("if (i >= {count}) {{ return; }}"));
        e.line("let t = i32(local);");
    } else {
        start_threads(e, count, threads);
    }
    let mut team = Team { shared_by: whole_group.then_some(threads), memory: String::new(), known: Vec::new() };
    for pass in &passes {
        write_pass(e, pass, turns, &mut team, stored);
    }
    Ok(match whole_group {
        true => Nest { shared: team.memory, counts: Counts::Groups, size: threads, groups: spread(count) },
        false => Nest::of_threads(count, threads),
    })
}

fn write_pass(e: &mut Emitter, pass: &Pass, turns: i64, team: &mut Team, stored: &dyn Fn(&Prim) -> bool) {
    let sums: Vec<Sum> = pass.sums.iter().filter_map(|prim| Sum::new(e, prim)).collect();
    e.overs.clear();
    for sum in &sums {
        e.unravel("i", &sum.prim.out.sizes);
        [Some(&sum.body), sum.mask].into_iter().flatten().for_each(|x| e.hoist(x));
        e.line(&format!("var {}: {} = {};", sum.acc, name_of(sum.ty()), neutral(sum.combine, sum.ty())));
        if sum.is_position() {
            e.line(&format!("var {}: i32 = -1;", sum.best));
        }
    }
    // What an element's place owes to its row is the same in every turn.
    pass.elements.iter().for_each(|elements| drop(row_place(e, elements, turns)));
    // Loops within loops need no division for their coordinates.
    let nested = sums
        .first()
        .map(|sum| sum.over)
        .filter(|over| team.shared_by.is_none() && pass.elements.is_empty() && sums.iter().all(|sum| sum.over == *over));
    let opened = match (nested, team.shared_by) {
        (Some(over), _) => e.open_loops("r", over),
        (None, Some(threads)) => {
            e.open(&format!("for (var r = t; r < {turns}; r += {threads}) {{"));
            1
        }
        (None, None) => {
            e.open(&format!("for (var r = 0; r < {turns}; r += 1) {{"));
            1
        }
    };
    for sum in &sums {
        e.unravel("i", &sum.prim.out.sizes);
        if nested.is_none() {
            e.unravel_turn("r", sum.over);
        }
        sum.turn(e);
    }
    for elements in &pass.elements {
        enter(e, elements, turns, &team.known);
        if let Loop::Pointwise(body) = &elements.prim.body {
            let value = e.x(body);
            keep_element(e, elements.prim, &value, body.ty(), stored);
        }
    }
    for _ in 0..opened {
        e.close();
    }
    e.overs.clear();
    if let Some(threads) = team.shared_by {
        sums.iter().for_each(|sum| gather(e, sum, threads, &mut team.memory));
    }
    for sum in &sums {
        e.unravel("i", &sum.prim.out.sizes);
        let (text, ty) = if sum.is_position() { (format!("max({}, 0)", sum.best), Ty::Int) } else { (sum.acc.clone(), sum.ty()) };
        row_value(e, sum.prim, &text, ty, team, stored);
    }
    for prim in &pass.after {
        let Loop::Pointwise(body) = &prim.body else { continue };
        e.unravel("i", &prim.out.sizes);
        let value = e.x(body);
        row_value(e, prim, &value, body.ty(), team, stored);
    }
}

/// Defines a value of each row; one thread of those that have it stores it.
fn row_value(e: &mut Emitter, prim: &Prim, value: &str, ty: Ty, team: &mut Team, stored: &dyn Fn(&Prim) -> bool) {
    let name = e.define(&prim.out, value, ty);
    team.known.push(prim.out.clone());
    if !stored(prim) {
        return;
    }
    if team.shared_by.is_some() {
        if e.bindings.iter().any(|b| b.storage == prim.out.storage && b.read) {
            // All of them have read it before one writes.
            e.line("storageBarrier();");
        }
        e.open("if (t == 0) {");
    }
    e.store(&prim.out, &name);
    if team.shared_by.is_some() {
        e.close();
    }
}

/// The coordinates of a loop over all elements that are its row's, and where the row starts.
fn row_place(e: &mut Emitter, elements: &Elements, turns: i64) -> (Vec<String>, String) {
    let coords = digits("i", &elements.sizes(Side::Rows)).into_iter().map(|text| e.named("c", text)).collect();
    (coords, e.named("o", format!("i * {turns}")))
}

/// Enters the element of a loop over all elements at which a turn is, and what is known of its row.
fn enter(e: &mut Emitter, elements: &Elements, turns: i64, known: &[View]) {
    let (of_row, start) = row_place(e, elements, turns);
    let (mut of_row, mut of_turn) = (of_row.into_iter(), digits("r", &elements.sizes(Side::Turns)).into_iter());
    e.sizes = elements.prim.out.sizes.clone();
    e.coords = elements.sides.iter().filter_map(|side| if *side == Side::Rows { of_row.next() } else { of_turn.next() }).collect();
    e.linear = elements.is_row_by_row().then(|| e.named("p", format!("{start} + r")));
    for value in known {
        if let Some(at) = elements.address_of_row(value) {
            e.meet(value, at);
        }
    }
}

/// Combines what the threads of a workgroup have found of a row: all of them have it then.
fn gather(e: &mut Emitter, sum: &Sum, threads: i64, memory: &mut String) {
    let Sum { acc, best, .. } = sum;
    let (values, places) = (format!("shared_{acc}"), format!("shared_{best}"));
    *memory += &format!("var<workgroup> {values}: array<{}, {threads}>;\n", name_of(sum.ty()));
    e.line(&format!("{values}[t] = {acc};"));
    if sum.is_position() {
        *memory += &format!("var<workgroup> {places}: array<i32, {threads}>;\n");
        e.line(&format!("{places}[t] = {best};"));
    }
    e.line("workgroupBarrier();");
    e.open(&format!("for (var reach = {}; reach > 0; reach = reach / 2) {{", threads / 2));
    e.open("if (t < reach) {");
    e.line(&format!("let value = {values}[t + reach];"));
    if sum.is_position() {
        e.line(&format!("let at = {places}[t + reach];"));
    }
    sum.take(e, "value", "at");
    e.line(&format!("{values}[t] = {acc};"));
    if sum.is_position() {
        e.line(&format!("{places}[t] = {best};"));
    }
    e.close();
    e.line("workgroupBarrier();");
    e.close();
    e.line(&format!("{acc} = {values}[0];"));
    if sum.is_position() {
        e.line(&format!("{best} = {places}[0];"));
    }
}

/// Writes a scan: a thread for each row.
pub fn scan(e: &mut Emitter, root: &Prim, dim: usize, combine: Combine, body: &X) -> Nest {
    let out = &root.out;
    let mut rows = out.sizes.clone();
    rows[dim] = 1;
    let count = product(&rows);
    start_threads(e, count, 64);
    e.unravel("i", &rows);
    for d in 0..rows.len() {
        e.coords[d] = e.x(&coord(d));
    }
    e.coords[dim] = "j".to_owned();
    e.sizes = out.sizes.clone();
    e.linear = None;
    let body = &if body.ty() == Ty::Bool { body.i() } else { body.clone() };
    e.line(&format!("var acc: {} = {};", name_of(body.ty()), neutral(combine, body.ty())));
    e.open(&format!("for (var j = 0; j < {}; j += 1) {{", out.sizes[dim]));
    let value = strip(e.x(body));
    e.line(&format!("let value = {value};"));
    e.line(&format!("acc = {};", combined(combine, body.ty(), "acc", "value")));
    let rounded = match out.dtype {
        Dtype::Float16 => "round_f16(acc)",
        Dtype::BFloat16 => "round_bf16(acc)",
        _ => "acc",
    };
    e.store(out, rounded);
    e.close();
    Nest::of_threads(count, 64)
}
