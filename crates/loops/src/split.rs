//! Long sums of few elements, taken apart: each part of the loop is a sum of its own, and a second loop adds the parts.
//!
//! A machine that runs thousands of threads at once has nothing to do where ten elements are sums of a million terms each. One
//! dimension of such a loop is cut in parts of equal length; the parts become the first dimension of a region in between. What a sum
//! of floats gives depends on the cut, as it does on every machine that adds in parallel; positions ([`Combine::ArgMax`]) are not cut.

use crate::language::{Combine, Loop, Prim, View, X, coord, float, int, over, row_major, truth};
use crate::program::{Item, Program, StorageInfo};
use tensor::Dtype;

/// What of a machine decides where a cut is worth a second loop.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    /// How many threads keep it busy.
    pub wanted: i64,
    /// Turns below which a thread's loop is not cut.
    pub turns: i64,
    /// Elements of a matrix product that one thread computes.
    pub per_product: i64,
    /// Threads that share a long sum.
    pub per_sum: i64,
}

/// Cuts the long loops of a program.
pub fn split(program: &mut Program, threads: Threads) {
    let items = std::mem::take(&mut program.items);
    for item in items {
        match item {
            Item::Prim(prim) => match parts(&prim, threads) {
                Some(cut) => cut_in_parts(program, prim, cut),
                None => program.items.push(Item::Prim(prim)),
            },
            other => program.items.push(other),
        }
    }
}

/// Which dimension of a loop is cut, and into how many parts of which length.
#[derive(Clone, Copy)]
struct Cut {
    dim: usize,
    parts: i64,
    length: i64,
}

fn parts(prim: &Prim, threads: Threads) -> Option<Cut> {
    let (sizes, busy) = match &prim.body {
        Loop::Reduce { over, combine: Combine::Sum | Combine::Prod | Combine::Max | Combine::Min, .. } => {
            (over, prim.out.numel() * threads.per_sum)
        }
        Loop::Matmul { over, .. } => (over, (prim.out.numel() + threads.per_product - 1) / threads.per_product),
        _ => return None,
    };
    let turns: i64 = sizes.iter().product();
    if busy == 0 || busy * 2 > threads.wanted || turns < 2 * threads.turns {
        return None;
    }
    let wanted = (threads.wanted / busy).min(turns / threads.turns).max(2);
    let (dim, size) = sizes.iter().copied().enumerate().max_by_key(|(_, size)| *size)?;
    // A length that divides needs no test in the loop.
    let divides = (wanted..=wanted * 2).chain((2..wanted).rev()).find(|parts| size % parts == 0 && parts * 4 >= wanted);
    let parts = divides.unwrap_or_else(|| wanted.min(size));
    (parts > 1).then(|| Cut { dim, parts, length: (size + parts - 1) / parts })
}

fn cut_in_parts(program: &mut Program, prim: Prim, Cut { dim, parts, length }: Cut) {
    let Prim { out, body, node } = prim;
    let rank = out.dim();
    let moved: Vec<X> = (0..rank).map(|d| coord(d + 1)).collect();
    let shorter = |over: &[i64]| -> Vec<i64> { over.iter().enumerate().map(|(d, size)| if d == dim { length } else { *size }).collect() };
    let turn = coord(0) * int(length) + over(dim);
    let places = |count: usize| -> Vec<X> { (0..count).map(|d| if d == dim { turn.clone() } else { over(d) }).collect() };
    let exists = |size: i64| if size == parts * length { truth(true) } else { turn.lt(&int(size)) };
    let (first, combine) = match body {
        Loop::Reduce { over, combine, body, mask } => {
            let overs = places(over.len());
            let body = body.placed(&moved, &overs);
            let exists = exists(over[dim]);
            let mask = match mask.map(|m| m.placed(&moved, &overs)) {
                Some(mask) => Some(mask.and(&exists)),
                None => (over[dim] != parts * length).then_some(exists),
            };
            (Loop::Reduce { over: shorter(&over), combine, body, mask }, combine)
        }
        Loop::Matmul { over, batch, rows, a, b } => {
            let overs = places(over.len());
            let exists = exists(over[dim]);
            let within = |x: X| X::where_(&exists, &x.placed(&moved, &overs).f(), &float(0.0));
            (Loop::Matmul { over: shorter(&over), batch: batch + 1, rows, a: within(a), b: within(b) }, Combine::Sum)
        }
        other => return program.items.push(Item::Prim(Prim { out, body: other, node })),
    };
    // Sums in parts are kept as wide as they are computed.
    let dtype = match out.dtype {
        Dtype::Float16 | Dtype::BFloat16 => Dtype::Float32,
        dtype => dtype,
    };
    let sizes: Vec<i64> = std::iter::once(parts).chain(out.sizes.iter().copied()).collect();
    let name = program.storages[out.storage].name.clone();
    program.storages.push(StorageInfo { elements: sizes.iter().product(), dtype, name });
    let between = View { storage: program.storages.len() - 1, strides: row_major(&sizes), sizes, offset: 0, dtype };
    let at: Vec<X> = std::iter::once(over(0)).chain((0..rank).map(coord)).collect();
    let second = Loop::Reduce { over: vec![parts], combine, body: between.at(at), mask: None };
    program.items.push(Item::Prim(Prim { out: between, body: first, node }));
    program.items.push(Item::Prim(Prim { out, body: second, node }));
}
