//! Kernels side by side: those that need nothing of each other and read the same run as one.
//!
//! Both gradients of a product read the same slopes, and so does its bias's: run apart, each fetches them from memory. What is small
//! joins whatever it can, since it costs a dispatch and little else. Source: Li and others.

use super::schedule::{Group, Step};
use std::collections::HashSet;

/// Elements up to which a kernel is small.
const SMALL: i64 = 1 << 12;

/// Steps back that a partner is looked for.
const FARTHEST: usize = 64;

/// What a machine's kernels hold.
pub struct Room<'a> {
    /// Storages that a kernel binds.
    pub buffers: usize,
    /// What kernels have to have in common to be one; nothing for one that stays alone.
    pub kind: &'a dyn Fn(&Group) -> Option<i64>,
    /// Storages that somebody outside their kernel reads.
    pub stored: &'a HashSet<usize>,
    /// Elements of a storage.
    pub elements: &'a dyn Fn(usize) -> i64,
}

/// What a step reads and writes in memory.
#[derive(Default)]
struct Touched {
    reads: HashSet<usize>,
    writes: HashSet<usize>,
}

impl Touched {
    fn of(step: &Step, stored: &HashSet<usize>) -> Touched {
        let mut touched = Touched::default();
        match step {
            Step::Kernel { groups, .. } => {
                for group in groups {
                    let (reads, made) = group.touches();
                    touched.reads.extend(reads);
                    touched.writes.extend(made.intersection(stored));
                }
            }
            Step::Fallback(fallback) => {
                touched.reads.extend(fallback.reads.iter().map(|view| view.storage));
                touched.writes.extend(fallback.writes.iter().map(|view| view.storage));
            }
        }
        touched
    }

    /// Whether the two have to stay in order.
    fn meets(&self, other: &Touched) -> bool {
        let either = |a: &Touched, b: &Touched| !a.writes.is_disjoint(&b.reads) || !a.writes.is_disjoint(&b.writes);
        either(self, other) || either(other, self)
    }

    fn storages(&self) -> HashSet<usize> {
        self.reads.union(&self.writes).copied().collect()
    }
}

/// A step on its way.
struct Taken {
    step: Step,
    touched: Touched,
    /// What others have to have in common with it.
    kind: Option<i64>,
}

impl Taken {
    fn new(step: Step, room: &Room) -> Taken {
        let kind = match &step {
            Step::Kernel { groups, .. } => groups.first().and_then(room.kind),
            Step::Fallback(_) => None,
        };
        Taken { touched: Touched::of(&step, room.stored), kind, step }
    }

    fn is_small(&self) -> bool {
        match &self.step {
            Step::Kernel { groups, .. } => groups.iter().map(|group| group.root.out.numel()).sum::<i64>() <= SMALL,
            Step::Fallback(_) => false,
        }
    }

    fn take(&mut self, other: Taken) {
        if let (Step::Kernel { groups, nodes, .. }, Step::Kernel { groups: more, nodes: also, .. }) = (&mut self.step, other.step) {
            groups.extend(more);
            nodes.extend(also);
        }
        self.touched.reads.extend(other.touched.reads);
        self.touched.writes.extend(other.touched.writes);
    }
}

/// Takes kernels together: first those that read the same, then what is small.
pub fn beside(steps: Vec<Step>, room: &Room) -> Vec<Step> {
    let mut all: Vec<Taken> = steps.into_iter().map(|step| Taken::new(step, room)).collect();
    for want in [Want::Shared, Want::Small] {
        let mut taken: Vec<Taken> = Vec::new();
        for next in all {
            match partner(&taken, &next, room, want) {
                Some(at) => taken[at].take(next),
                None => taken.push(next),
            }
        }
        all = taken;
    }
    all.into_iter().map(|taken| taken.step).collect()
}

/// What kernels are taken together for.
#[derive(Clone, Copy)]
enum Want {
    /// What both read.
    Shared,
    /// A dispatch less.
    Small,
}

/// The step that a kernel had best be one with, the last of equals: nothing that it needs, and nobody who needs it, lies between.
fn partner(taken: &[Taken], next: &Taken, room: &Room, want: Want) -> Option<usize> {
    next.kind?;
    let own = next.touched.storages();
    let gain = |other: &Taken| {
        let bound = own.union(&other.touched.storages()).count();
        if bound > room.buffers || other.kind != next.kind {
            return None;
        }
        let both = next.touched.reads.intersection(&other.touched.reads);
        let shared: i64 = both.map(|storage| (room.elements)(*storage)).sum();
        match want {
            Want::Shared => (shared >= SMALL).then_some(shared),
            Want::Small => (next.is_small() || other.is_small()).then_some(shared),
        }
    };
    let between = taken.iter().enumerate().rev().take(FARTHEST).take_while(|(_, other)| !next.touched.meets(&other.touched));
    between.filter_map(|(at, other)| Some((gain(other)?, at))).max().map(|(_, at)| at)
}
