//! From a group of loops to a kernel: which loop nest, how many threads, and the WGSL around the expressions.
//!
//! A group is a root loop and pointwise members over the same number of elements; a member reads what the thread that
//! runs it has just computed from a register. Three nests exist: a thread per element (with a serial loop inside, for
//! small reductions and scans), a workgroup per element (large reductions), and a register-blocked tile per workgroup
//! (matrix products). Workgroups have at most 256 invocations and 16 KiB of shared memory.

use super::library;
use super::wgsl::{Binding, Emitter, digits, name_of};
use loops::language::{Combine, Kind, Loop, Prim, Ty, X, coord, row_major};
use loops::schedule::Group;
use tensor::Dtype;

/// A kernel, ready to be built.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its text.
    pub wgsl: String,
    /// What it binds, in order.
    pub bindings: Vec<Binding>,
    /// Workgroups to dispatch.
    pub workgroups: [u32; 3],
}

/// Workgroups in one dimension.
const MAX_GROUPS: i64 = 65535;
/// Edge of a matrix product's tile, and how deep one step of it goes.
const TILE: i64 = 64;
const DEPTH: i64 = 16;

/// Writes the kernel of a group. `stored` says which regions somebody outside reads; `names` gives storages their names.
pub fn write(group: &Group, title: &str, stored: &dyn Fn(&Prim) -> bool, names: &dyn Fn(usize) -> String) -> Source {
    let mut e = Emitter::new(names);
    let root = &group.root;
    let out_numel = root.out.numel();
    let (head, size, groups) = match &root.body {
        Loop::Matmul { over, batch, rows, a, b } => {
            let (b_sizes, rest) = root.out.sizes.split_at(*batch);
            let (m_sizes, n_sizes) = rest.split_at(*rows);
            let (m, n, k) = (product(m_sizes), product(n_sizes), product(over));
            if m >= 24 && n >= 24 && k >= 8 && product(b_sizes) <= MAX_GROUPS && m.max(n) / TILE < MAX_GROUPS {
                tiled(&mut e, group, over, (b_sizes, m_sizes, n_sizes), (a, b), stored)
            } else {
                let body = a.clone() * b.clone();
                reduction(&mut e, group, over, Combine::Sum, &body, None, stored)
            }
        }
        Loop::Reduce { over, combine, body, mask } => reduction(&mut e, group, over, *combine, body, mask.as_ref(), stored),
        Loop::Scan { dim, combine, body } => scan(&mut e, root, *dim, *combine, body),
        Loop::Pointwise(body) => {
            let threads = if out_numel >= 1 << 16 { 256 } else { 64 };
            start_threads(&mut e, out_numel, threads);
            e.unravel("i", &root.out.sizes);
            let value = e.x(body);
            finish_element(&mut e, group, &value, body.ty(), stored);
            (THREADS.to_owned(), threads, spread((out_numel + threads - 1) / threads))
        }
    };
    let (body, bindings) = e.finish();
    let mut text = format!("// {title}\n");
    for (i, b) in bindings.iter().enumerate() {
        let access = if b.write { "read_write" } else { "read" };
        text += &format!("@group(0) @binding({i}) var<storage, {access}> {}: array<{}>;\n", b.name, b.ty);
    }
    let (shared, arguments) = head.split_once('|').unwrap_or(("", &head));
    text += shared;
    text += "\n";
    text += &library::used_by(&body);
    text += &format!("@compute @workgroup_size({size})\nfn main({arguments}) {{\n{body}}}\n");
    Source { wgsl: text, bindings, workgroups: groups }
}

/// Arguments of the entry point where threads count on their own, and where workgroups do.
const THREADS: &str = "|@builtin(global_invocation_id) id: vec3<u32>";
const GROUPS: &str = "@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32";

fn product(sizes: &[i64]) -> i64 {
    sizes.iter().product()
}

/// Workgroups in a line, folded where the line is too long.
fn spread(groups: i64) -> [u32; 3] {
    let groups = groups.max(1);
    if groups <= MAX_GROUPS { [groups as u32, 1, 1] } else { [MAX_GROUPS as u32, ((groups + MAX_GROUPS - 1) / MAX_GROUPS) as u32, 1] }
}

fn start_threads(e: &mut Emitter, count: i64, threads: i64) {
    if (count + threads - 1) / threads <= MAX_GROUPS {
        e.line("let i = i32(id.x);");
    } else {
        e.line(&format!("let i = i32(id.x + id.y * {}u);", MAX_GROUPS * threads));
    }
    e.line(&format!("if (i >= {count}) {{ return; }}"));
}

/// Defines the root's element, runs the members and stores what is needed outside.
fn finish_element(e: &mut Emitter, group: &Group, value: &str, ty: Ty, stored: &dyn Fn(&Prim) -> bool) {
    let linear = e.linear.clone().unwrap_or_else(|| "i".to_owned());
    let name = e.define(&group.root.out, value, ty);
    if stored(&group.root) {
        e.store(&group.root.out, &name);
    }
    for member in &group.members {
        let Loop::Pointwise(body) = &member.body else { continue };
        e.unravel(&linear, &member.out.sizes);
        let value = e.x(body);
        let name = e.define(&member.out, &value, body.ty());
        if stored(member) {
            e.store(&member.out, &name);
        }
    }
}

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

fn reduction(
    e: &mut Emitter,
    group: &Group,
    over: &[i64],
    combine: Combine,
    body: &X,
    mask: Option<&X>,
    stored: &dyn Fn(&Prim) -> bool,
) -> (String, i64, [u32; 3]) {
    let out = &group.root.out;
    let (count, turns) = (out.numel(), product(over));
    let body = &if body.ty() == Ty::Bool { body.i() } else { body.clone() };
    let ty = body.ty();
    let arg = matches!(combine, Combine::ArgMax | Combine::ArgMin);
    let (neutral, step) = combination(combine, ty);
    let wgsl = name_of(ty);
    let whole_group = turns >= 128 && (count < 2048 || turns >= 1024);
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
    // Coordinates are named before the loop, where they stay known.
    let used: Vec<usize> = (0..out.dim()).collect();
    for d in used {
        if [Some(body), mask].into_iter().flatten().any(|x| reads_coord(x, d)) {
            e.x(&coord(d));
        }
    }
    e.line(&format!("var acc: {wgsl} = {neutral};"));
    if arg {
        e.line("var best: i32 = -1;");
    }
    let mut blocks = 0;
    if whole_group {
        e.open(&format!("for (var r = t; r < {turns}; r += {threads}) {{"));
        e.overs = digits("r", over);
        blocks += 1;
        let named: Vec<String> = e.overs.clone();
        for (d, text) in named.iter().enumerate() {
            if text.contains(['/', '%']) {
                e.line(&format!("let r{d} = {text};"));
                e.overs[d] = format!("r{d}");
            }
        }
    } else {
        e.overs = Vec::new();
        for (d, size) in over.iter().enumerate() {
            if *size == 1 {
                e.overs.push("0".to_owned());
            } else {
                e.open(&format!("for (var r{d} = 0; r{d} < {size}; r{d} += 1) {{"));
                e.overs.push(format!("r{d}"));
                blocks += 1;
            }
        }
    }
    if let Some(mask) = mask {
        let condition = super::wgsl::strip(e.x(mask));
        e.open(&format!("if ({condition}) {{"));
        blocks += 1;
    }
    let value = super::wgsl::strip(e.x(body));
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
        return (THREADS.to_owned(), threads, spread((count + threads - 1) / threads));
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
    (format!("{shared}|{GROUPS}"), threads, spread(count))
}

fn reads_coord(x: &X, d: usize) -> bool {
    match &x.0.kind {
        Kind::Coord(c) => *c == d,
        Kind::Load(_, index) => index.iter().any(|i| reads_coord(i, d)),
        Kind::Infix(_, a, b) => reads_coord(a, d) || reads_coord(b, d),
        Kind::Call(_, args) => args.iter().any(|a| reads_coord(a, d)),
        Kind::Prefix(_, a) | Kind::Cast(a) => reads_coord(a, d),
        Kind::Select(c, a, b) => reads_coord(c, d) || reads_coord(a, d) || reads_coord(b, d),
        _ => false,
    }
}

fn scan(e: &mut Emitter, root: &Prim, dim: usize, combine: Combine, body: &X) -> (String, i64, [u32; 3]) {
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
    let value = super::wgsl::strip(e.x(body));
    e.line(&format!("let value = {value};"));
    e.line(&format!("acc = {step};"));
    let rounded = match out.dtype {
        Dtype::Float16 => "round_f16(acc)",
        Dtype::BFloat16 => "round_bf16(acc)",
        _ => "acc",
    };
    e.store(out, rounded);
    e.close();
    (THREADS.to_owned(), 64, spread((count + 63) / 64))
}

/// A tile of 64 by 64 elements per workgroup of 16 by 16 threads, 4 by 4 elements each.
fn tiled(
    e: &mut Emitter,
    group: &Group,
    over: &[i64],
    (b_sizes, m_sizes, n_sizes): (&[i64], &[i64], &[i64]),
    (a, b): (&X, &X),
    stored: &dyn Fn(&Prim) -> bool,
) -> (String, i64, [u32; 3]) {
    let (m, n, k) = (product(m_sizes), product(n_sizes), product(over));
    e.line("let t = i32(local);");
    e.line("let tx = t % 16;");
    e.line("let ty = t / 16;");
    e.line(&format!("let row0 = i32(group.y) * {TILE};"));
    e.line(&format!("let column0 = i32(group.x) * {TILE};"));
    e.line("let batch = i32(group.z);");
    let coords =
        |row: &str, column: &str| -> Vec<String> { [digits("batch", b_sizes), digits(row, m_sizes), digits(column, n_sizes)].concat() };
    e.sizes = group.root.out.sizes.clone();
    e.linear = None;
    for r in 0..4 {
        e.line(&format!("var acc{r} = vec4<f32>();"));
    }
    e.open(&format!("for (var k0 = 0; k0 < {k}; k0 += {DEPTH}) {{"));
    for (factor, tile, side, first, limit) in [(a, "tile_a", "row", "row0", m), (b, "tile_b", "column", "column0", n)] {
        e.open(&format!("for (var l = t; l < {}; l += 256) {{", TILE * DEPTH));
        // The left tile is read along k, the right one along columns: neighbours in a row-major matrix.
        if side == "row" {
            e.line(&format!("let k = k0 + l % {DEPTH};"));
            e.line(&format!("let row = {first} + l / {DEPTH};"));
        } else {
            e.line(&format!("let k = k0 + l / {TILE};"));
            e.line(&format!("let column = {first} + l % {TILE};"));
        }
        e.line("var loaded = 0.0f;");
        e.open(&format!("if ({side} < {limit} && k < {k}) {{"));
        e.coords = coords("row", "column");
        e.overs = digits("k", over);
        let named: Vec<String> = e.overs.clone();
        for (d, text) in named.iter().enumerate() {
            if text.contains(['/', '%']) {
                e.line(&format!("let k_{d} = {text};"));
                e.overs[d] = format!("k_{d}");
            }
        }
        let value = super::wgsl::strip(e.x(&factor.f()));
        e.line(&format!("loaded = {value};"));
        e.close();
        if side == "row" {
            e.line(&format!("{tile}[(l % {DEPTH}) * {TILE} + l / {DEPTH}] = loaded;"));
        } else {
            e.line(&format!("{tile}[l] = loaded;"));
        }
        e.close();
    }
    e.line("workgroupBarrier();");
    e.open(&format!("for (var kk = 0; kk < {DEPTH}; kk += 1) {{"));
    e.line(&format!("let at_a = kk * {TILE} + ty * 4;"));
    e.line(&format!("let at_b = kk * {TILE} + tx * 4;"));
    e.line("let right = vec4<f32>(tile_b[at_b], tile_b[at_b + 1], tile_b[at_b + 2], tile_b[at_b + 3]);");
    for r in 0..4 {
        e.line(&format!("acc{r} += tile_a[at_a + {r}] * right;"));
    }
    e.close();
    e.line("workgroupBarrier();");
    e.close();
    e.line("var acc = array<vec4<f32>, 4>(acc0, acc1, acc2, acc3);");
    e.open("for (var o = 0; o < 16; o += 1) {");
    e.line("let row = row0 + ty * 4 + o / 4;");
    e.line("let column = column0 + tx * 4 + o % 4;");
    e.open(&format!("if (row < {m} && column < {n}) {{"));
    e.line(&format!("let i = (batch * {m} + row) * {n} + column;"));
    e.unravel("i", &group.root.out.sizes.clone());
    finish_element(e, group, "acc[o / 4][o % 4]", Ty::Float, stored);
    e.close();
    e.close();
    let shared = format!("var<workgroup> tile_a: array<f32, {0}>;\nvar<workgroup> tile_b: array<f32, {0}>;\n", TILE * DEPTH);
    let groups = [((n + TILE - 1) / TILE) as u32, ((m + TILE - 1) / TILE) as u32, product(b_sizes).max(1) as u32];
    (format!("{shared}|{GROUPS}"), 256, groups)
}
