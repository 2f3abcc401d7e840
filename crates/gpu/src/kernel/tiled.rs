//! Matrix products by tiles in shared memory, for adapters whose workgroups share it without effort.

use super::{Counts, Nest, Product, finish_element, product};
use crate::wgsl::{Emitter, digits, strip};
use loops::language::{Prim, Ty};
use loops::schedule::Group;

/// Edge of a tile, and how deep one step of it goes.
pub const TILE: i64 = 64;
const DEPTH: i64 = 16;

/// Writes a product: a tile of 64 by 64 elements for each workgroup of 16 by 16 threads, 4 by 4 elements each. The left tile lies
/// transposed, so that what a thread reads of either in a turn is one vector.
pub fn write(e: &mut Emitter, group: &Group, of: &Product, stored: &dyn Fn(&Prim) -> bool) -> Nest {
    let [m, n, k] = of.mnk();
    e.line("let t = i32(local);");
    e.line("let tx = t % 16;");
    e.line("let ty = t / 16;");
    e.line(&format!("let row0 = i32(group.y) * {TILE};"));
    e.line(&format!("let column0 = i32(group.x) * {TILE};"));
    e.line("let batch = i32(group.z);");
    let coords = |row: &str, column: &str| -> Vec<String> {
        [digits("batch", of.batches), digits(row, of.rows), digits(column, of.columns)].concat()
    };
    e.sizes = group.root.out.sizes.clone();
    e.linear = None;
    for r in 0..4 {
        e.line(&format!("var acc{r} = vec4<f32>();"));
    }
    e.open(&format!("for (var k0 = 0; k0 < {k}; k0 += {DEPTH}) {{"));
    for (factor, tile, side, first, limit) in [(of.a, "tile_a", "row", "row0", m), (of.b, "tile_b", "column", "column0", n)] {
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
        e.unravel_turn("k", of.over);
        let value = strip(e.x(&factor.f()));
        e.line(&format!("loaded = {value};"));
        e.close();
        if side == "row" {
            e.line(&format!("{tile}[(l % {DEPTH}) * {} + l / {DEPTH} / 4][l / {DEPTH} % 4] = loaded;", TILE / 4));
        } else {
            e.line(&format!("{tile}[l / 4][l % 4] = loaded;"));
        }
        e.close();
    }
    e.line("workgroupBarrier();");
    e.open(&format!("for (var kk = 0; kk < {DEPTH}; kk += 1) {{"));
    e.line(&format!("let left = tile_a[kk * {} + ty];", TILE / 4));
    e.line(&format!("let right = tile_b[kk * {} + tx];", TILE / 4));
    for r in 0..4 {
        e.line(&format!("acc{r} += left[{r}] * right;"));
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
    let size = TILE * DEPTH / 4;
    let shared = format!("var<workgroup> tile_a: array<vec4<f32>, {size}>;\nvar<workgroup> tile_b: array<vec4<f32>, {size}>;\n");
    let groups = [((n + TILE - 1) / TILE) as u32, ((m + TILE - 1) / TILE) as u32, product(of.batches).max(1) as u32];
    Nest { shared, counts: Counts::Groups, size: 256, groups }
}
