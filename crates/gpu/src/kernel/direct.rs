//! Matrix products without shared memory: every thread computes a tile in its registers, and reads both factors where they lie.
//!
//! For processors that pretend to be a GPU. Their caches do what shared memory would, while each barrier makes them put the state of
//! every invocation aside; and building a kernel with barriers takes them ten times as long. What counts is how many multiplications
//! an element that is loaded takes part in.

use super::{Counts, Nest, Product, finish_element, product, spread, start_threads};
use crate::wgsl::{Emitter, digits, strip};
use loops::language::{Prim, Ty, X};
use loops::schedule::Group;

/// Invocations in a workgroup: the unit that goes to a processor's core.
const SIZE: i64 = 16;
/// Elements of a tile's edge, at most: more than 64 sums do not stay in registers.
const LONGEST: i64 = 8;
/// What a load costs, in multiplications: each lane fetches its own element.
const LOAD: i64 = 4;
/// Threads that keep a processor's lanes and cores busy.
const BUSY: i64 = 64;

/// Rows and columns of a thread's tile: the cheapest for these sizes, of what multiplying, loading and idle lanes cost.
fn tile(batches: i64, [m, n]: [i64; 2], loads: [i64; 2]) -> [i64; 2] {
    let cost = |rows: i64, columns: i64| {
        let threads = batches * ((m + rows - 1) / rows) * ((n + columns - 1) / columns);
        let each = rows * columns + loads[0] * rows + loads[1] * columns;
        // Below that many threads, others wait for them.
        each * threads.max(BUSY)
    };
    let edges = 1..=LONGEST;
    let tiles = edges.clone().flat_map(|rows| edges.clone().map(move |columns| [rows, columns]));
    tiles.min_by_key(|[rows, columns]| (cost(*rows, *columns), -rows * columns)).unwrap_or([1, 1])
}

/// Writes a product by tiles in registers.
pub fn write(e: &mut Emitter, group: &Group, of: &Product, stored: &dyn Fn(&Prim) -> bool) -> Nest {
    let (batches, [m, n, _]) = (product(of.batches), of.mnk());
    let factors = [of.a.f(), of.b.f()];
    let [rows, columns] = tile(batches, [m, n], [LOAD + factors[0].cost() as i64, LOAD + factors[1].cost() as i64]);
    let (down, across) = ((m + rows - 1) / rows, (n + columns - 1) / columns);
    let threads = batches * down * across;
    start_threads(e, threads, SIZE);
    e.line(&format!("let column0 = (i % {across}) * {columns};"));
    e.line(&format!("let row0 = (i / {across} % {down}) * {rows};"));
    e.line(&format!("let batch = i / {};", across * down));
    e.sizes = group.root.out.sizes.clone();
    e.linear = None;

    // Beyond the edge, a tile computes the last row or column again: nothing is tested in the loop.
    let mut side = |name: &str, count: i64, size: i64| -> Vec<Vec<String>> {
        let mut names = Vec::new();
        for at in 0..count {
            let place = if at == 0 { format!("{name}0") } else { format!("{name}0 + {at}") };
            names.push(e.named(name, if size % count == 0 { place } else { format!("min({place}, {})", size - 1) }));
        }
        coordinates(e, of, &names, name == "row")
    };
    let places = [side("row", rows, m), side("column", columns, n)];
    for (factor, places) in factors.iter().zip(&places) {
        for place in places {
            e.coords = place.clone();
            e.hoist(factor);
        }
    }
    for sum in 0..rows * columns {
        e.line(&format!("var acc{sum} = 0.0f;"));
    }
    let opened = e.open_loops("k", of.over);
    let mut element = |factor: &X, place: &[String]| {
        e.coords = place.to_vec();
        let value = strip(e.x(factor));
        e.named("e", value)
    };
    let left: Vec<String> = places[0].iter().map(|place| element(&factors[0], place)).collect();
    let right: Vec<String> = places[1].iter().map(|place| element(&factors[1], place)).collect();
    let mut sum = 0;
    for a in &left {
        for b in &right {
            e.line(&format!("acc{sum} += {a} * {b};"));
            sum += 1;
        }
    }
    for _ in 0..opened {
        e.close();
    }
    e.overs.clear();

    let all: Vec<String> = (0..rows * columns).map(|sum| format!("acc{sum}")).collect();
    e.line(&format!("var acc = array<f32, {}>({});", rows * columns, all.join(", ")));
    e.open(&format!("for (var down = 0; down < {rows}; down += 1) {{"));
    e.line("let row = row0 + down;");
    if m % rows != 0 {
        e.line(&format!("if (row >= {m}) {{ break; }}"));
    }
    e.open(&format!("for (var across = 0; across < {columns}; across += 1) {{"));
    e.line("let column = column0 + across;");
    if n % columns != 0 {
        e.line(&format!("if (column >= {n}) {{ break; }}"));
    }
    e.line(&format!("let i = (batch * {m} + row) * {n} + column;"));
    e.sizes = group.root.out.sizes.clone();
    e.linear = Some("i".to_owned());
    e.coords = [digits("batch", of.batches), digits("row", of.rows), digits("column", of.columns)].concat();
    finish_element(e, group, &format!("acc[down * {columns} + across]"), Ty::Float, stored);
    e.close();
    e.close();
    Nest { shared: String::new(), counts: Counts::Threads, size: SIZE, groups: spread((threads + SIZE - 1) / SIZE) }
}

/// The coordinates of the rows of a tile, or of its columns: the other side is of no concern to a factor.
fn coordinates(e: &mut Emitter, of: &Product, places: &[String], is_row: bool) -> Vec<Vec<String>> {
    let nowhere = |sizes: &[i64]| vec!["0".to_owned(); sizes.len()];
    let sizes = if is_row { of.rows } else { of.columns };
    let mut all: Vec<Vec<String>> = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let side = match (all.first(), sizes.last()) {
            // All of them in one line of the last dimension: only that coordinate differs.
            (Some(first), Some(last)) if sizes.len() > 1 && last % places.len() as i64 == 0 => {
                let end = of.batches.len() + if is_row { sizes.len() } else { of.rows.len() + sizes.len() };
                let mut side = first[end - sizes.len()..end].to_vec();
                if let Some(text) = side.last_mut() {
                    *text = format!("{text} + {at}");
                }
                side
            }
            _ => digits(place, sizes),
        };
        let (rows, columns) = if is_row { (side, nowhere(of.columns)) } else { (nowhere(of.rows), side) };
        let coords = [digits("batch", of.batches), rows, columns].concat();
        all.push(coords.into_iter().map(|text| e.named("c", text)).collect());
    }
    all
}
