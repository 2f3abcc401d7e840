//! Reductions and scans.

use super::{Adapter, GROUPS, MAX_GROUPS, Nest, finish_element, product, spread, start_threads};
use crate::wgsl::{Emitter, name_of, strip};
use loops::language::{Combine, Prim, Ty, X, coord, row_major};
use loops::schedule::Group;
use tensor::Dtype;

/// The neutral element of a combination, and how `acc` takes `value`.
fn combination(combine: Combine, ty: Ty) -> (&'static str, &'static str) {
    match (combine, ty) {
        (Combine::Sum, Ty::Float) => ("0.0f", "acc + value"),
        (Combine::Sum, _) => ("0", "acc + value"),
        (Combine::Prod, Ty::Float) => ("1.0f", "acc * value"),
        (Combine::Prod, _) => ("1", "acc * value"),
        (Combine::Max | Combine::ArgMax, Ty::Float) => ("-inf()", "nan_max(acc, value)"),
        (Combine::Max | Combine::ArgMax, _) => ("i32(-2147483647 - 1)", "max(acc, value)"),
        (Combine::Min | Combine::ArgMin, Ty::Float) => ("inf()", "nan_min(acc, value)"),
        (Combine::Min | Combine::ArgMin, _) => ("2147483647", "min(acc, value)"),
    }
}

/// When `value` at `at` takes the place of `acc` at `best`; the first one wins, and NaN before numbers.
fn better(combine: Combine, ty: Ty) -> String {
    let sign = if combine == Combine::ArgMax { ">" } else { "<" };
    if ty == Ty::Float {
        format!(
            "at >= 0 && (best < 0 || (is_nan(value) && !is_nan(acc)) || (!is_nan(acc) && value {sign} acc) || ((value == acc || (is_nan(value) && is_nan(acc))) && at < best))"
        )
    } else {
        format!("at >= 0 && (best < 0 || value {sign} acc || (value == acc && at < best))")
    }
}

/// A reduction, for every element.
pub struct Sum<'a> {
    /// Sizes of the loop.
    pub over: &'a [i64],
    /// How it combines.
    pub combine: Combine,
    /// What.
    pub body: &'a X,
    /// Turns for which this is false are left out.
    pub mask: Option<&'a X>,
}

/// Writes a reduction: a thread for each element, or a workgroup where there are few elements of many turns.
pub fn write(e: &mut Emitter, group: &Group, sum: &Sum, adapter: Adapter, stored: &dyn Fn(&Prim) -> bool) -> Nest {
    let Sum { over, combine, body, mask } = *sum;
    let out = &group.root.out;
    let (count, turns) = (out.numel(), product(over));
    let body = &if body.ty() == Ty::Bool { body.i() } else { body.clone() };
    let ty = body.ty();
    let arg = matches!(combine, Combine::ArgMax | Combine::ArgMin);
    let (neutral, step) = combination(combine, ty);
    let wgsl = name_of(ty);
    let whole_group = !adapter.software && turns >= 128 && (count < 2048 || turns >= 1024);
    let threads: i64 = if whole_group { if turns >= 1024 { 256 } else { 64 } } else { 64 };
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
    e.unravel("i", &out.sizes);
    [Some(body), mask].into_iter().flatten().for_each(|x| e.hoist(x));
    e.line(&format!("var acc: {wgsl} = {neutral};"));
    if arg {
        e.line("var best: i32 = -1;");
    }
    let mut blocks = if whole_group {
        e.open(&format!("for (var r = t; r < {turns}; r += {threads}) {{"));
        e.unravel_turn("r", over);
        1
    } else {
        e.open_loops("r", over)
    };
    if let Some(mask) = mask {
        let condition = strip(e.x(mask));
        e.open(&format!("if ({condition}) {{"));
        blocks += 1;
    }
    let value = strip(e.x(body));
    if arg {
        let position = if whole_group {
            "r".to_owned()
        } else {
            let strides = row_major(over);
            let terms: Vec<String> = e.overs.iter().zip(&strides).filter(|(o, _)| *o != "0").map(|(o, s)| format!("{o} * {s}")).collect();
            if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") }
        };
        e.line(&format!("let value = {value};"));
        e.line(&format!("let at = {position};"));
        e.line(&format!("if ({}) {{ acc = value; best = at; }}", better(combine, ty)));
    } else {
        e.line(&format!("let value = {value};"));
        e.line(&format!("acc = {step};"));
    }
    for _ in 0..blocks {
        e.close();
    }
    let (result, result_ty) = if arg { ("max(best, 0)", Ty::Int) } else { ("acc", ty) };
    if !whole_group {
        finish_element(e, group, result, result_ty, stored);
        return Nest::of_threads(count, threads);
    }
    e.line("shared_acc[t] = acc;");
    if arg {
        e.line("shared_best[t] = best;");
    }
    e.line("workgroupBarrier();");
    e.open(&format!("for (var reach = {}; reach > 0; reach = reach / 2) {{", threads / 2));
    e.open("if (t < reach) {");
    e.line("let acc = shared_acc[t];");
    e.line("let value = shared_acc[t + reach];");
    if arg {
        e.line("let best = shared_best[t];");
        e.line("let at = shared_best[t + reach];");
        e.line(&format!("if ({}) {{ shared_acc[t] = value; shared_best[t] = at; }}", better(combine, ty)));
    } else {
        e.line(&format!("shared_acc[t] = {step};"));
    }
    e.close();
    e.line("workgroupBarrier();");
    e.close();
    e.open("if (t == 0) {");
    let result = if arg { "max(shared_best[0], 0)" } else { "shared_acc[0]" };
    finish_element(e, group, result, result_ty, stored);
    e.close();
    let mut shared = format!("var<workgroup> shared_acc: array<{wgsl}, {threads}>;\n");
    if arg {
        shared += &format!("var<workgroup> shared_best: array<i32, {threads}>;\n");
    }
    Nest { shared, arguments: GROUPS, size: threads, groups: spread(count) }
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
    let (neutral, step) = combination(combine, body.ty());
    e.line(&format!("var acc: {} = {neutral};", name_of(body.ty())));
    e.open(&format!("for (var j = 0; j < {}; j += 1) {{", out.sizes[dim]));
    let value = strip(e.x(body));
    e.line(&format!("let value = {value};"));
    e.line(&format!("acc = {step};"));
    let rounded = match out.dtype {
        Dtype::Float16 => "round_f16(acc)",
        Dtype::BFloat16 => "round_bf16(acc)",
        _ => "acc",
    };
    e.store(out, rounded);
    e.close();
    Nest::of_threads(count, 64)
}
