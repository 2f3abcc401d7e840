//! Fusion: which loops become kernels, and which loops a kernel runs.
//!
//! Three decisions, in order. A pointwise value that is cheap, or that only one loop reads, is *inlined*: its expression
//! takes the place of the load, through whatever view lies between. What is left is *grouped*: a pointwise loop joins the
//! kernel that computes one of its inputs when it visits the same elements in the same order, and reads that input from a
//! register; loops over the same rows share a kernel as [`rows`](super::rows) has it. Last, a value is *stored* only where
//! somebody outside its kernel reads it. A kernel binds at most so many storages as its machine says.

use super::address::{Address, address, own_address};
use super::language::{Kind, Loop, Prim, View, X, int};
use super::program::{Fallback, Item, Output, Program};
use super::rows::rows;
use std::collections::{HashMap, HashSet};

/// Operations beyond which an expression is not inlined.
const MAX_INLINE: usize = 160;

/// What a machine's kernels can hold, and what they had better compute again.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Storages that a kernel binds.
    pub buffers: usize,
    /// Operations of a value, made of one other, that every reader computes anew.
    pub recompute: usize,
}

/// Loops that one kernel runs.
#[derive(Clone, Debug)]
pub struct Group {
    /// The loop that decides the nest.
    pub root: Prim,
    /// Loops after it, in order: pointwise ones over as many elements or, where the root is a reduction, what [`rows`] takes.
    pub members: Vec<Prim>,
}

impl Group {
    /// Every loop in it.
    pub fn prims(&self) -> impl Iterator<Item = &Prim> {
        std::iter::once(&self.root).chain(&self.members)
    }

    /// Storages that it reads from memory, and those that it makes: what a loop has made, those after it read from registers.
    pub(super) fn touches(&self) -> (HashSet<usize>, HashSet<usize>) {
        let (mut reads, mut made) = (HashSet::new(), HashSet::new());
        for prim in self.prims() {
            prim.body.bodies().into_iter().for_each(|body| reads.extend(loads(body).difference(&made)));
            made.extend(prim.outs().map(|out| out.storage));
        }
        (reads, made)
    }
}

/// Why a loop is not part of the kernel that makes what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// It decides a nest of its own: a product, a scan, attention.
    Nest,
    /// It visits another number of elements.
    Sizes,
    /// It reads, through a view or an index, what other threads of that kernel make.
    View,
    /// The kernel would bind more storages than one can.
    Buffers,
    /// Something else that it reads is made later, or what it writes is read before.
    Order,
}

/// One step of a plan.
#[derive(Clone)]
pub enum Step {
    /// A kernel.
    Kernel {
        /// Its loops: one group of them, or several that know nothing of each other.
        groups: Vec<Group>,
        /// The nodes it computes.
        nodes: Vec<graph::NodeId>,
        /// The last node of the kernel that makes what it reads, and why they are two.
        apart: Option<(graph::NodeId, Apart)>,
    },
    /// A node on the CPU.
    Fallback(Box<Fallback>),
}

/// A scheduled program.
pub struct Schedule {
    /// Steps, in order.
    pub steps: Vec<Step>,
    /// Storages somebody outside their kernel reads.
    pub stored: HashSet<usize>,
}

/// Facts about the storages of a program.
struct Facts {
    writers: HashMap<usize, Vec<usize>>,
    readers: HashMap<usize, Vec<usize>>,
    /// Storages that must exist: outputs, inputs, what the CPU reads or writes.
    pinned: HashSet<usize>,
}

fn facts<'a>(program: &Program, items: impl IntoIterator<Item = &'a Item>) -> Facts {
    let mut f = Facts { writers: HashMap::new(), readers: HashMap::new(), pinned: HashSet::new() };
    for (_, output) in &program.outputs {
        if let Output::Tensor(view) = output {
            f.pinned.insert(view.storage);
        }
    }
    f.pinned.extend(program.inputs.iter().flatten().chain(program.constants.iter().map(|(v, _)| v)).map(|v| v.storage));
    for (i, item) in items.into_iter().enumerate() {
        match item {
            Item::Prim(prim) => {
                prim.outs().for_each(|out| f.writers.entry(out.storage).or_default().push(i));
                for body in prim.body.bodies() {
                    body.for_each_load(&mut |view, _| {
                        let readers = f.readers.entry(view.storage).or_default();
                        if readers.last() != Some(&i) {
                            readers.push(i);
                        }
                    });
                }
            }
            Item::Fallback(fallback) => {
                f.pinned.extend(fallback.reads.iter().chain(&fallback.writes).map(|v| v.storage));
            }
        }
    }
    f
}

/// Removes loops whose results nobody reads.
fn eliminate_dead(program: &Program, items: &mut Vec<Item>) {
    let mut needed = facts(program, &*items).pinned;
    let mut keep = vec![false; items.len()];
    for (i, item) in items.iter().enumerate().rev() {
        match item {
            Item::Prim(prim) if prim.outs().any(|out| needed.contains(&out.storage)) => {
                keep[i] = true;
                prim.body.bodies().iter().for_each(|x| {
                    x.for_each_load(&mut |view, _| {
                        needed.insert(view.storage);
                    })
                });
            }
            Item::Prim(_) => {}
            Item::Fallback(_) => keep[i] = true,
        }
    }
    let mut keep = keep.into_iter();
    items.retain(|_| keep.next().unwrap_or(true));
}

/// The coordinates in `out` of the element that `view[index]` loads, where `out` covers its whole storage.
fn coordinates(out: &View, view: &View, index: &[X]) -> Option<Vec<X>> {
    if view.sizes == out.sizes && view.strides == out.strides && view.offset == out.offset {
        return Some(index.to_vec());
    }
    let mut coords = vec![int(0); out.dim()];
    // Every dimension of the view is one of the region, whole or fixed at an element.
    let mut rest = view.offset - out.offset;
    let mut taken = vec![false; out.dim()];
    let mut direct = true;
    for (d, x) in index.iter().enumerate() {
        if view.sizes[d] == 1 || view.strides[d] == 0 {
            continue;
        }
        match (0..out.dim()).find(|o| !taken[*o] && out.strides[*o] == view.strides[d] && out.sizes[*o] > 1) {
            Some(o) if view.sizes[d] <= out.sizes[o] => {
                taken[o] = true;
                coords[o] = x.clone();
            }
            _ => direct = false,
        }
    }
    if direct && rest >= 0 {
        let mut dims: Vec<usize> = (0..out.dim()).filter(|d| out.sizes[*d] > 1).collect();
        dims.sort_by_key(|d| -out.strides[*d]);
        for d in dims {
            let start = rest / out.strides[d];
            rest %= out.strides[d];
            let length = index
                .iter()
                .enumerate()
                .find(|(v, _)| view.strides[*v] == out.strides[d] && view.sizes[*v] > 1)
                .map_or(1, |(v, _)| view.sizes[v]);
            if start + if taken[d] { length } else { 1 } > out.sizes[d] {
                return by_position(out, view, index);
            }
            coords[d] = &coords[d] + &int(start);
        }
        if rest == 0 {
            return Some(coords);
        }
    }
    by_position(out, view, index)
}

/// The same, from the position in storage.
fn by_position(out: &View, view: &View, index: &[X]) -> Option<Vec<X>> {
    let mut position = int(view.offset - out.offset);
    for (x, stride) in index.iter().zip(&view.strides) {
        position = &position + &(x.clone() * int(*stride));
    }
    let largest = (0..out.dim()).filter(|d| out.sizes[*d] > 1).max_by_key(|d| out.strides[*d]);
    (0..out.dim())
        .map(|d| match (out.sizes[d], out.strides[d]) {
            (1, _) => Some(int(0)),
            (_, stride) if stride < 1 => None,
            (_, stride) if Some(d) == largest => Some(position.div_by(stride)),
            (size, stride) => Some(position.div_by(stride).rem_by(size)),
        })
        .collect()
}

/// An expression with the loads of inlined values replaced by their expressions.
fn inline(x: &X, inlined: &HashMap<usize, (View, X)>) -> X {
    x.rewrite(None, &|view, index| {
        let (out, body) = inlined.get(&view.storage)?;
        let coords = coordinates(out, view, index)?;
        // Under other sizes, what is read in storage order stays so.
        let reshaped = view.sizes != out.sizes && view.numel() == out.numel() && view.is_row_major() && out.is_row_major();
        let value = body.rewrite_with(Some(&coords), &|inner, old| {
            let Some(Address::Flat(offset)) = address(inner, old, &out.sizes).filter(|_| reshaped) else { return None };
            let strides = super::language::row_major(&view.sizes);
            Some(View { sizes: view.sizes.clone(), strides, offset, ..inner.clone() }.at(index.to_vec()))
        });
        // What the value's dtype would have made of it.
        let ty = super::language::Ty::of(out.dtype)?;
        Some(value.cast(ty))
    })
}

/// Storages that an expression reads.
fn loads(x: &X) -> HashSet<usize> {
    let mut found = HashSet::new();
    x.for_each_load(&mut |view, _| {
        found.insert(view.storage);
    });
    found
}

/// Storages a loop reads.
fn bound(body: &Loop) -> usize {
    let mut found = HashSet::new();
    body.bodies().iter().for_each(|x| found.extend(loads(x)));
    found.len()
}

fn has_heavy(x: &X) -> bool {
    match &x.0.kind {
        Kind::Call(..) => true,
        Kind::Infix(op, a, b) => *op == "/" && x.ty() == super::language::Ty::Float || has_heavy(a) || has_heavy(b),
        Kind::Prefix(_, a) | Kind::Cast(a) => has_heavy(a),
        Kind::Select(c, a, b) => has_heavy(c) || has_heavy(a) || has_heavy(b),
        _ => false,
    }
}

/// Inlines pointwise values into their readers; gives the loops that are left, and per loop the nodes folded into it.
fn inline_values(program: &Program, items: Vec<Item>, limits: Limits) -> Vec<(Item, Vec<graph::NodeId>)> {
    let f = facts(program, &items);
    let mutated: HashSet<usize> = program.inputs.iter().flatten().map(|v| v.storage).filter(|s| f.writers.contains_key(s)).collect();
    let mut inlined: HashMap<usize, (View, X)> = HashMap::new();
    let mut folded: HashMap<usize, Vec<graph::NodeId>> = HashMap::new();
    let mut kept = Vec::new();
    for item in &items {
        let Item::Prim(prim) = item else {
            kept.push((item.clone(), Vec::new()));
            continue;
        };
        // A kernel binds few buffers: where inlining would bring in too many, values are computed on their own after all.
        let body = loop {
            let body = prim.body.map(&|x| inline(x, &inlined));
            if bound(&body) < limits.buffers {
                break body;
            }
            let direct: HashSet<usize> = prim.body.bodies().into_iter().flat_map(loads).filter(|s| inlined.contains_key(s)).collect();
            let Some(widest) = direct.into_iter().max_by_key(|s| (loads(&inlined[s].1).len(), *s)) else { break body };
            if let Some((out, x)) = inlined.remove(&widest) {
                let mut nodes = folded.remove(&widest).unwrap_or_default();
                let node = nodes.pop().unwrap_or(prim.node);
                kept.push((Item::Prim(Prim { out, body: Loop::Pointwise(x), node }), nodes));
            }
        };
        let mut nodes = Vec::new();
        for x in prim.body.bodies() {
            for storage in loads(x) {
                nodes.extend(folded.get(&storage).into_iter().flatten().copied());
            }
        }
        let prim = Prim { body, ..prim.clone() };
        if let Loop::Pointwise(x) = &prim.body
            && may_inline(program, &items, &f, &mutated, &prim, x, limits)
        {
            nodes.push(prim.node);
            folded.insert(prim.out.storage, nodes);
            inlined.insert(prim.out.storage, (prim.out.clone(), x.clone()));
            continue;
        }
        kept.push((Item::Prim(prim), nodes));
    }
    kept
}

fn may_inline(program: &Program, items: &[Item], f: &Facts, mutated: &HashSet<usize>, prim: &Prim, x: &X, limits: Limits) -> bool {
    let storage = prim.out.storage;
    let covers = prim.out.numel() == program.storages[storage].elements && prim.out.offset == 0 && prim.out.is_dense();
    let written_once = f.writers.get(&storage).is_some_and(|w| w.len() == 1);
    // float16, bfloat16 and small integers are rounded where they are stored.
    let exact = matches!(prim.out.dtype.itemsize(), 4 | 8) || prim.out.dtype == tensor::Dtype::Bool;
    let read = loads(x);
    if !covers || !written_once || !exact || f.pinned.contains(&storage) || read.iter().any(|s| mutated.contains(s)) {
        return false;
    }
    // A value another loop writes piece by piece may be read only when it is whole: positions see to that, not inlining.
    if read.iter().any(|s| f.writers.get(s).is_some_and(|w| w.len() > 1)) {
        return false;
    }
    let readers: Vec<&Prim> = f
        .readers
        .get(&storage)
        .into_iter()
        .flatten()
        .filter_map(|i| match &items[*i] {
            Item::Prim(p) => Some(p),
            Item::Fallback(_) => None,
        })
        .collect();
    let cost = x.cost();
    if read.is_empty() && cost <= 8 {
        return true;
    }
    if cost > MAX_INLINE || read.len() > 4 {
        return false;
    }
    let cheap = cost <= 2 && read.len() <= 1 && !has_heavy(x);
    let numel = prim.out.numel();
    let visits = |p: &Prim| match &p.body {
        Loop::Pointwise(_) => p.out.numel(),
        Loop::Reduce { over, .. } => p.out.numel() * over.iter().product::<i64>(),
        Loop::Matmul { .. } | Loop::Scan { .. } | Loop::Attention(_) => i64::MAX,
    };
    // One load takes the place of another.
    let again = cost <= limits.recompute && read.len() <= 1 && readers.iter().all(|p| visits(p) <= numel);
    match readers.as_slice() {
        _ if cheap && readers.len() <= 3 => true,
        _ if again => true,
        [only] if matches!(only.body, Loop::Matmul { .. }) => cost <= 4 && read.len() <= 2 && !has_heavy(x),
        [only] => visits(only) <= numel,
        _ => false,
    }
}

/// Groups the loops of a program into kernels.
pub fn schedule(program: &Program, limits: Limits) -> Schedule {
    let mut items = program.items.clone();
    eliminate_dead(program, &mut items);
    let items = inline_values(program, items, limits);
    let Facts { readers, pinned, .. } = facts(program, items.iter().map(|(item, _)| item));
    let mut maker = Maker {
        max_buffers: limits.buffers,
        steps: Vec::new(),
        ready: HashMap::new(),
        last_read: HashMap::new(),
        waiting: readers.into_iter().map(|(storage, readers)| (storage, readers.len())).collect(),
        kept: pinned,
    };
    for (item, folded) in items {
        match item {
            Item::Prim(prim) => maker.place(prim, folded),
            Item::Fallback(fallback) => {
                let at = maker.steps.len();
                for view in &fallback.writes {
                    maker.ready.insert(view.storage, at);
                }
                for view in &fallback.reads {
                    maker.last_read.insert(view.storage, at);
                }
                maker.steps.push(Step::Fallback(fallback));
            }
        }
    }
    let stored = stored(program, &maker.steps);
    Schedule { steps: maker.steps, stored }
}

/// Storages that are read outside the kernel that computes them.
fn stored(program: &Program, steps: &[Step]) -> HashSet<usize> {
    let mut stored: HashSet<usize> = program
        .outputs
        .iter()
        .filter_map(|(_, o)| match o {
            Output::Tensor(view) => Some(view.storage),
            Output::Constant(_) => None,
        })
        .collect();
    stored.extend(program.inputs.iter().flatten().map(|v| v.storage));
    for step in steps {
        match step {
            Step::Kernel { groups, .. } => groups.iter().for_each(|group| stored.extend(group.touches().0)),
            Step::Fallback(fallback) => stored.extend(fallback.reads.iter().chain(&fallback.writes).map(|v| v.storage)),
        }
    }
    stored
}

/// Whether a loop reads of a region's storage no more than the element that its own thread is at.
fn reads_only_own(prim: &Prim, region: &View) -> bool {
    let own = own_address(region);
    let mut only = true;
    prim.body.bodies().iter().for_each(|body| {
        body.for_each_load(&mut |view, index| {
            let same = matches!(prim.body, Loop::Pointwise(_)) && prim.out.numel() == region.numel();
            let here = same && own.is_some() && address(view, index, &prim.out.sizes) == own;
            only &= view.storage != region.storage || here;
        });
    });
    only
}

struct Maker {
    max_buffers: usize,
    steps: Vec<Step>,
    /// The step after which a storage is whole.
    ready: HashMap<usize, usize>,
    /// The last step that reads a storage.
    last_read: HashMap<usize, usize>,
    /// How many loops that read a storage have no kernel yet.
    waiting: HashMap<usize, usize>,
    /// Storages that are read outside of the kernel that makes them.
    kept: HashSet<usize>,
}

impl Maker {
    fn place(&mut self, prim: Prim, folded: Vec<graph::NodeId>) {
        let at = self.join(&prim);
        let mut nodes = folded;
        nodes.push(prim.node);
        let mut reads = HashSet::new();
        prim.body.bodies().iter().for_each(|x| reads.extend(loads(x)));
        let outs: Vec<usize> = prim.outs().map(|out| out.storage).collect();
        let at = match at {
            Ok(at) => {
                if let Some(Step::Kernel { groups, nodes: known, .. }) = self.steps.get_mut(at) {
                    groups[0].members.push(prim);
                    known.extend(nodes);
                }
                at
            }
            Err(apart) => {
                self.steps.push(Step::Kernel { groups: vec![Group { root: prim, members: Vec::new() }], nodes, apart });
                self.steps.len() - 1
            }
        };
        for read in reads {
            self.waiting.entry(read).and_modify(|n| *n = n.saturating_sub(1));
            if self.ready.get(&read) != Some(&at) {
                self.kept.insert(read);
            }
            let last = self.last_read.entry(read).or_insert(at);
            *last = (*last).max(at);
        }
        for out in outs {
            let ready = self.ready.entry(out).or_insert(at);
            *ready = (*ready).max(at);
        }
    }

    /// The kernel this loop may join: one that computes or reads one of its inputs, or reduces as many rows of as many elements, and
    /// runs when all of its other inputs are whole. Otherwise, why not the last one that computes an input.
    fn join(&self, prim: &Prim) -> Result<usize, Option<(graph::NodeId, Apart)>> {
        let mut wanted: Vec<(usize, Option<Address>)> = Vec::new();
        prim.body.bodies().iter().for_each(|body| {
            body.for_each_load(&mut |view, index| wanted.push((view.storage, address(view, index, &prim.out.sizes))));
        });
        let makers = wanted.iter().filter_map(|(storage, _)| self.ready.get(storage).copied());
        let mut candidates: Vec<usize> = match &prim.body {
            Loop::Reduce { .. } => (0..self.steps.len()).filter(|at| self.is_alike(*at, prim)).collect(),
            _ => makers.clone().chain(wanted.iter().filter_map(|(storage, _)| self.last_read.get(storage).copied())).collect(),
        };
        candidates.sort_unstable();
        candidates.dedup();
        let found = candidates.into_iter().rev().find(|&at| self.fits(at, prim, &wanted).is_ok());
        found.ok_or_else(|| {
            let last = makers.max()?;
            let Step::Kernel { nodes, .. } = &self.steps[last] else { return None };
            Some((*nodes.last()?, self.fits(last, prim, &wanted).err()?))
        })
    }

    /// Whether a kernel has a reduction of as many rows of as many turns for its root.
    fn is_alike(&self, at: usize, prim: &Prim) -> bool {
        matches!(&self.steps[at], Step::Kernel { groups, .. } if groups[0].root.rows_and_turns() == prim.rows_and_turns())
    }

    fn fits(&self, at: usize, prim: &Prim, wanted: &[(usize, Option<Address>)]) -> Result<(), Apart> {
        let Step::Kernel { groups, .. } = &self.steps[at] else { return Err(Apart::Nest) };
        let group = &groups[0];
        if matches!(prim.body, Loop::Matmul { .. } | Loop::Scan { .. } | Loop::Attention(_)) {
            return Err(Apart::Nest);
        }
        // A storage that is written in pieces, or in place: what is written stays in order, and who reads it before does so before, if
        // only in the same thread.
        let later = |times: &HashMap<usize, usize>, from: usize| times.get(&prim.out.storage).is_some_and(|r| *r >= from);
        let first_reads = || group.prims().all(|other| reads_only_own(other, &prim.out));
        let (read, made) = group.touches();
        let early = wanted.iter().any(|(storage, _)| !made.contains(storage) && self.ready.get(storage).is_some_and(|r| *r >= at));
        let overwrites = later(&self.last_read, at + 1) || later(&self.last_read, at) && !first_reads();
        if early || later(&self.ready, at + 1) || overwrites || made.contains(&prim.out.storage) {
            return Err(Apart::Order);
        }
        let numel = prim.out.numel();
        let same = match (rows(group), &prim.body, &group.root.body) {
            (Some(rows), ..) if rows.takes(prim) => Ok(()),
            (Some(rows), Loop::Pointwise(_), _) if [rows.count, rows.count * rows.turns].contains(&numel) => Err(Apart::View),
            (None, Loop::Pointwise(_), Loop::Pointwise(_) | Loop::Matmul { .. }) if group.root.out.numel() == numel => {
                let own: HashSet<(usize, Address)> = group.prims().filter_map(|p| Some((p.out.storage, own_address(&p.out)?))).collect();
                let held = |storage, at: &Option<Address>| at.as_ref().is_some_and(|a| own.contains(&(storage, a.clone())));
                if wanted.iter().all(|(storage, at)| !made.contains(storage) || held(*storage, at)) { Ok(()) } else { Err(Apart::View) }
            }
            (None, Loop::Reduce { .. }, _) | (None, _, Loop::Scan { .. } | Loop::Attention(_)) => Err(Apart::Nest),
            _ => Err(Apart::Sizes),
        };
        same?;
        let mut buffers: HashSet<usize> = read.union(&made).copied().chain(wanted.iter().map(|(s, _)| *s)).collect();
        buffers.insert(prim.out.storage);
        // What nobody else reads, or will read, stays in registers.
        let reads = |storage: &usize| usize::from(wanted.iter().any(|(s, _)| s == storage));
        let waits = |storage: &usize| self.waiting.get(storage).copied().unwrap_or(0) > reads(storage);
        buffers.retain(|storage| !made.contains(storage) || self.kept.contains(storage) || waits(storage));
        if buffers.len() <= self.max_buffers { Ok(()) } else { Err(Apart::Buffers) }
    }
}
