//! From a group of loops to a kernel: which loop nest, how many threads, and the WGSL around the expressions.
//!
//! A group is a root loop and members; a member reads what the thread that runs it has just computed from a register. The nests: a
//! thread per element; a thread or a workgroup per row, for reductions and what shares their rows, and for scans ([`reduce`]); a thread
//! per row of attention ([`attention`]); matrix products by tiles, in memory that a workgroup shares ([`tiled`]) or in the registers of
//! each thread ([`direct`]). [`Adapter`] says which of them an adapter runs well.
//! Workgroups have at most 256 invocations and 16 KiB of shared memory.
//!
//! A text holds no name of a node: equal loops of equal sizes are one text, and so one pipeline.

mod attention;
mod direct;
mod reduce;
mod tiled;

use super::library;
use super::wgsl::{Binding, Emitter};
use diagnostics::error::Result;
use loops::language::{Combine, Loop, Part, Prim, Ty, X};
use loops::schedule::Group;
use loops::split::Threads;

/// What of an adapter decides how kernels are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// Whether a processor pretends to be a GPU: memory that a workgroup shares and its barriers cost it more than they save, to
    /// build as to run.
    pub software: bool,
}

impl Adapter {
    /// Where a long sum is taken apart.
    pub fn threads(self) -> Threads {
        if self.software {
            Threads { wanted: 128, turns: 64, per_product: 16, per_sum: 1 }
        } else {
            Threads { wanted: 1 << 14, turns: 1 << 10, per_product: 16, per_sum: 256 }
        }
    }
}

/// A kernel, ready to be built.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its text.
    pub wgsl: String,
    /// What it binds, in order.
    pub bindings: Vec<Binding>,
    /// Workgroups to dispatch.
    pub workgroups: [u32; 3],
    /// Operations on numbers that a dispatch does: a function counts four.
    pub operations: u64,
}

/// The nest of a kernel, once its body is written.
struct Nest {
    /// Memory that its workgroups share.
    shared: String,
    /// Arguments of its entry point.
    arguments: &'static str,
    /// Invocations in a workgroup.
    size: i64,
    /// Workgroups.
    groups: [u32; 3],
}

impl Nest {
    /// `threads` that count on their own, `size` in a workgroup.
    fn of_threads(threads: i64, size: i64) -> Nest {
        Nest { shared: String::new(), arguments: THREADS, size, groups: spread((threads + size - 1) / size) }
    }
}

/// Workgroups in one dimension.
const MAX_GROUPS: i64 = 65535;

/// Writes the kernel of a group. `stored` says which regions somebody outside reads.
///
/// # Errors
/// Where its loops do not belong together.
pub fn write(group: &Group, adapter: Adapter, stored: &dyn Fn(&Prim) -> bool) -> Result<Source> {
    let mut e = Emitter::new();
    let root = &group.root;
    let nest = match &root.body {
        Loop::Matmul { over, batch, rows, a, b } => {
            let product = Product::new(&root.out.sizes, *batch, *rows, over, a, b);
            if adapter.software {
                direct::write(&mut e, group, &product, stored)
            } else if product.fills_tiles() {
                tiled::write(&mut e, group, &product, stored)
            } else {
                let body = Loop::Reduce { over: over.clone(), combine: Combine::Sum, body: a.clone() * b.clone(), mask: None };
                let root = Prim { body, ..root.clone() };
                reduce::write(&mut e, &Group { root, members: group.members.clone() }, adapter, stored)?
            }
        }
        Loop::Reduce { .. } => reduce::write(&mut e, group, adapter, stored)?,
        Loop::Attention(of) => attention::write(&mut e, root, of),
        Loop::Scan { dim, combine, body } => reduce::scan(&mut e, root, *dim, *combine, body),
        Loop::Pointwise(body) => {
            let count = root.out.numel();
            let size = if count >= 1 << 16 { 256 } else { 64 };
            start_threads(&mut e, count, size);
            e.unravel("i", &root.out.sizes);
            let value = e.x(body);
            finish_element(&mut e, group, &value, body.ty(), stored);
            Nest::of_threads(count, size)
        }
    };
    let (body, bindings) = e.finish();
    let mut text = String::new();
    for (i, b) in bindings.iter().enumerate() {
        let access = if b.write { "read_write" } else { "read" };
        text += &format!("@group(0) @binding({i}) var<storage, {access}> {}: array<{}>;\n", b.name, b.ty);
    }
    let Nest { shared, arguments, size, groups } = nest;
    text += &format!("{shared}\n{}@compute @workgroup_size({size})\nfn main({arguments}) {{\n{body}}}\n", library::used_by(&body));
    Ok(Source { wgsl: text, bindings, workgroups: groups, operations: group.prims().map(operations).sum() })
}

/// Operations on numbers that a loop does.
fn operations(prim: &Prim) -> u64 {
    let each = match &prim.body {
        Loop::Pointwise(x) => x.cost() as i64,
        Loop::Scan { body, .. } => body.cost() as i64 + 1,
        Loop::Reduce { over, body, mask, .. } => product(over) * (body.cost() + mask.as_ref().map_or(0, X::cost) + 1) as i64,
        Loop::Matmul { over, .. } => 2 * product(over),
        // Both products of a pair and its exponential; a gradient's are two or three more.
        Loop::Attention(of) => {
            let met = if matches!(of.part, Part::Keys | Part::Values) { of.lengths[0] } else { of.lengths[1] };
            let products = match of.part {
                Part::Forward | Part::Values => 1,
                Part::Queries | Part::Keys => 2,
            };
            return (product(&prim.out.sizes[..3]) * met * (4 * products * of.width + 8)).max(0) as u64;
        }
    };
    (prim.out.numel() * each).max(0) as u64
}

/// Arguments of the entry point where threads count on their own, and where workgroups do.
const THREADS: &str = "@builtin(global_invocation_id) id: vec3<u32>";
const GROUPS: &str = "@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32";

/// A matrix product: what it multiplies, and the sizes of its sides.
struct Product<'a> {
    /// Sizes of the dimensions that are batches, rows, columns, and of the loop.
    batches: &'a [i64],
    rows: &'a [i64],
    columns: &'a [i64],
    over: &'a [i64],
    /// The factors.
    a: &'a X,
    b: &'a X,
}

impl<'a> Product<'a> {
    fn new(sizes: &'a [i64], batch: usize, rows: usize, over: &'a [i64], a: &'a X, b: &'a X) -> Self {
        let (batches, rest) = sizes.split_at(batch);
        let (rows, columns) = rest.split_at(rows);
        Product { batches, rows, columns, over, a, b }
    }

    /// Rows, columns and turns.
    fn mnk(&self) -> [i64; 3] {
        [self.rows, self.columns, self.over].map(product)
    }

    /// Whether its tiles are full enough for a workgroup each.
    fn fills_tiles(&self) -> bool {
        let [m, n, k] = self.mnk();
        m >= 24 && n >= 24 && k >= 8 && product(self.batches) <= MAX_GROUPS && m.max(n) / tiled::TILE < MAX_GROUPS
    }
}

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
        if e.sizes != member.out.sizes {
            e.unravel(&linear, &member.out.sizes);
        }
        let value = e.x(body);
        let name = e.define(&member.out, &value, body.ty());
        if stored(member) {
            e.store(&member.out, &name);
        }
    }
}
