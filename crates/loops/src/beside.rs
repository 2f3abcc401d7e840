//! Kernels side by side: those that need nothing of each other and read the same run as one.
//!
//! Both gradients of a product read the same slopes, and so does its bias's: run apart, each fetches them from memory. What is small
//! joins whatever it can, since it costs a dispatch and little else. Source of the idea: horizontal fusion, as in A. Li et al.,
//! "Automatic horizontal fusion for GPU kernels", 2022.

use super::schedule::{Group, Step, loads};
use std::collections::HashSet;

/// Elements up to which a kernel is small.
const SMALL: i64 = 1 << 12;

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
#[derive(Clone, Default)]
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
                    let mut made = HashSet::new();
                    for prim in group.prims() {
                        prim.body.bodies().into_iter().for_each(|x| touched.reads.extend(loads(x).difference(&made)));
                        made.extend(prim.outs().map(|out| out.storage));
                    }
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

fn is_small(groups: &[Group]) -> bool {
    groups.iter().map(|group| group.root.out.numel()).sum::<i64>() <= SMALL
}

/// Takes kernels together: first those that read the same, then what is small.
pub fn beside(steps: Vec<Step>, room: &Room) -> Vec<Step> {
    let mut all: Vec<(Step, Touched)> = steps.into_iter().map(|step| (step.clone(), Touched::of(&step, room.stored))).collect();
    for want in [Want::Shared, Want::Small] {
        let mut taken: Vec<(Step, Touched)> = Vec::new();
        for (step, touched) in all {
            match partner(&taken, &step, &touched, room, want) {
                Some(at) => {
                    let (first, all) = &mut taken[at];
                    if let (Step::Kernel { groups, nodes, .. }, Step::Kernel { groups: more, nodes: also, .. }) = (first, step) {
                        groups.extend(more);
                        nodes.extend(also);
                    }
                    all.reads.extend(touched.reads);
                    all.writes.extend(touched.writes);
                }
                None => taken.push((step, touched)),
            }
        }
        all = taken;
    }
    all.into_iter().map(|(step, _)| step).collect()
}

/// What kernels are taken together for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    /// What both read.
    Shared,
    /// A dispatch less.
    Small,
}

/// The step that a kernel had best be one with, the last of equals: nothing that it needs, and nobody who needs it, lies between.
fn partner(taken: &[(Step, Touched)], step: &Step, touched: &Touched, room: &Room, want: Want) -> Option<usize> {
    let Step::Kernel { groups, .. } = step else { return None };
    let kind = (room.kind)(groups.first()?)?;
    let gain = |(step, other): &(Step, Touched)| {
        let Step::Kernel { groups: others, .. } = step else { return None };
        let bound = touched.storages().union(&other.storages()).count();
        if bound > room.buffers || others.iter().chain(groups).any(|group| (room.kind)(group) != Some(kind)) {
            return None;
        }
        let shared: i64 = touched.reads.intersection(&other.reads).map(|storage| (room.elements)(*storage)).sum();
        match want {
            Want::Shared => (shared >= SMALL).then_some(shared),
            Want::Small => (is_small(groups) || is_small(others)).then_some(shared),
        }
    };
    let between = taken.iter().enumerate().rev().take_while(|(_, (_, other))| !touched.meets(other));
    let gains = between.filter_map(|(at, other)| Some((gain(other)?, at)));
    gains.max().map(|(_, at)| at)
}
