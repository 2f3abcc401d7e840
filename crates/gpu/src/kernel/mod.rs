//! From a group of loops to a kernel: which loop nest, how many threads, and the WGSL around the expressions.
//!
//! A group is a root loop and members; a member reads what the thread that runs it has just computed from a register. The nests: a
//! thread per element; a thread or a workgroup per row, for reductions and what shares their rows, and for scans ([`reduce`]); a thread
//! per row of attention ([`attention`]); matrix products by tiles, in memory that a workgroup shares ([`tiled`]) or in the registers of
//! each thread ([`direct`]). [`Adapter`] says which of them an adapter runs well. A kernel of several groups has a function for each.
//! Workgroups have at most 256 invocations and 16 KiB of shared memory.
//!
//! A text holds no name of a node: equal loops of equal sizes are one text, and so one pipeline.

mod attention;
mod direct;
mod reduce;
mod tiled;

use super::library;
use super::wgsl::{Binding, Emitter};
use diagnostics::error::{Error, Result};
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

/// The nest of a group, once its body is written.
struct Nest {
    /// Memory that its workgroups share.
    shared: String,
    /// Who counts.
    counts: Counts,
    /// Invocations in a workgroup.
    size: i64,
    /// Workgroups.
    groups: [u32; 3],
}

/// What a body counts by.
#[derive(Clone, Copy)]
enum Counts {
    /// `id`: threads on their own.
    Threads,
    /// `group` and `local`: workgroups, and the threads of each.
    Groups,
}

impl Nest {
    /// `threads` that count on their own, `size` in a workgroup.
    fn of_threads(threads: i64, size: i64) -> Nest {
        Nest { shared: String::new(), counts: Counts::Threads, size, groups: spread((threads + size - 1) / size) }
    }

    /// Whether its workgroups are a line, which another's can follow.
    fn is_line(&self) -> bool {
        self.groups[1..] == [1, 1]
    }
}

/// Workgroups in one dimension.
const MAX_GROUPS: i64 = 65535;

/// Writes the kernel of some groups, which need nothing of each other. `stored` says which regions somebody outside reads.
///
/// # Errors
/// Where loops of a group do not belong together, or groups do not belong side by side.
pub fn write(groups: &[Group], adapter: Adapter, stored: &dyn Fn(&Prim) -> bool) -> Result<Source> {
    let mut e = Emitter::new();
    let mut parts = Vec::new();
    for group in groups {
        let nest = write_body(&mut e, group, adapter, stored)?;
        parts.push((nest, e.take_body()));
    }
    let all: String = parts.iter().map(|(_, body)| body.as_str()).collect();
    let mut text = String::new();
    for (i, b) in e.bindings.iter().enumerate() {
        let access = if b.write { "read_write" } else { "read" };
        text += &format!("@group(0) @binding({i}) var<storage, {access}> {}: array<{}>;\n", b.name, b.ty);
    }
    parts.iter().for_each(|(nest, _)| text += &nest.shared);
    text += &format!("\n{}", library::used_by(&all));
    let operations = groups.iter().flat_map(Group::prims).map(operations).sum();
    let workgroups = match parts.as_slice() {
        [(nest, body)] => {
            let arguments = match nest.counts {
                Counts::Threads => "@builtin(global_invocation_id) id: vec3<u32>",
                Counts::Groups => GROUPS,
            };
            text += &format!("@compute @workgroup_size({})\nfn main({arguments}) {{\n{body}}}\n", nest.size);
            nest.groups
        }
        parts => side_by_side(&mut text, parts)?,
    };
    Ok(Source { wgsl: text, bindings: e.bindings, workgroups, operations })
}

/// Writes a function for each part, and an entry point whose first workgroups run the first of them. Gives the workgroups.
fn side_by_side(text: &mut String, parts: &[(Nest, String)]) -> Result<[u32; 3]> {
    let size = parts.first().map_or(1, |(nest, _)| nest.size);
    if parts.iter().any(|(nest, _)| nest.size != size || !nest.is_line()) {
        return Err(Error::runtime("kernels of different workgroups are no kernel"));
    }
    let mut entry = String::new();
    let mut first = 0;
    for (number, (nest, body)) in parts.iter().enumerate() {
        let end = first + nest.groups[0];
        let (parameters, arguments) = match nest.counts {
            Counts::Threads => ("id: vec3<u32>", format!("vec3<u32>((group.x - {first}u) * {size}u + local, 0u, 0u)")),
            Counts::Groups => ("group: vec3<u32>, local: u32", format!("vec3<u32>(group.x - {first}u, 0u, 0u), local")),
        };
        *text += &format!("fn part{number}({parameters}) {{\n{body}}}\n\n");
        let last = number + 1 == parts.len();
        entry += &match (number, last) {
            (0, _) => format!("  if (group.x < {end}u) {{\n    part0({arguments});\n"),
            (_, false) => format!("  }} else if (group.x < {end}u) {{\n    part{number}({arguments});\n"),
            (_, true) => format!("  }} else {{\n    part{number}({arguments});\n"),
        };
        first = end;
    }
    *text += &format!("@compute @workgroup_size({size})\nfn main({GROUPS}) {{\n{entry}  }}\n}}\n");
    if i64::from(first) > MAX_GROUPS { Err(Error::runtime("more workgroups than a dispatch has")) } else { Ok([first, 1, 1]) }
}

/// What groups have to have in common to be run side by side: the size of their workgroups. Nothing for one whose workgroups are no line,
/// or too long a one.
pub fn kind(group: &Group, adapter: Adapter, stored: &dyn Fn(&Prim) -> bool) -> Option<i64> {
    let nest = write_body(&mut Emitter::new(), group, adapter, stored).ok()?;
    (nest.is_line() && i64::from(nest.groups[0]) * 8 <= MAX_GROUPS).then_some(nest.size)
}

/// Writes the body of a group.
fn write_body(e: &mut Emitter, group: &Group, adapter: Adapter, stored: &dyn Fn(&Prim) -> bool) -> Result<Nest> {
    let root = &group.root;
    Ok(match &root.body {
        Loop::Matmul { over, batch, rows, a, b } => {
            let product = Product::new(&root.out.sizes, *batch, *rows, over, a, b);
            if adapter.software {
                direct::write(e, group, &product, stored)
            } else if product.fills_tiles() {
                tiled::write(e, group, &product, stored)
            } else {
                let body = Loop::Reduce { over: over.clone(), combine: Combine::Sum, body: a.clone() * b.clone(), mask: None };
                let root = Prim { body, ..root.clone() };
                reduce::write(e, &Group { root, members: group.members.clone() }, adapter, stored)?
            }
        }
        Loop::Reduce { .. } => reduce::write(e, group, adapter, stored)?,
        Loop::Attention(of) => attention::write(e, root, of),
        Loop::Scan { dim, combine, body } => reduce::scan(e, root, *dim, *combine, body),
        Loop::Pointwise(body) => {
            let count = root.out.numel();
            let size = if count >= 1 << 16 { 256 } else { 64 };
            start_threads(e, count, size);
            e.unravel("i", &root.out.sizes);
            let value = e.x(body);
            finish_element(e, group, &value, body.ty(), stored);
            Nest::of_threads(count, size)
        }
    })
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

/// Arguments of the entry point where workgroups count.
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
    keep_element(e, &group.root, value, ty, stored);
    for member in &group.members {
        let Loop::Pointwise(body) = &member.body else { continue };
        if e.sizes != member.out.sizes {
            e.unravel(&linear, &member.out.sizes);
        }
        let value = e.x(body);
        keep_element(e, member, &value, body.ty(), stored);
    }
}

/// Defines the element of a loop at which a thread is; stores it where it is needed outside.
fn keep_element(e: &mut Emitter, prim: &Prim, value: &str, ty: Ty, stored: &dyn Fn(&Prim) -> bool) {
    let name = e.define(&prim.out, value, ty);
    if stored(prim) {
        e.store(&prim.out, &name);
    }
}
