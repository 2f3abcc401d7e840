//! The classes that entries give operators are PyTorch's own lists: `op_sets.txt` beside this, which
//! `tests/recorders/operators/op_sets.py` prints.
//!
//! Of PyTorch's names those count that the catalogue has, and of those the functional ones: graphs that are split write to nothing
//! but what they were given.

use graph::{Graph, Meta, Node, Target};
use partition::op_sets;
use std::collections::{BTreeMap, BTreeSet};

type Names = BTreeSet<String>;

fn recorded() -> BTreeMap<&'static str, Names> {
    let lines = include_str!("op_sets.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(':')).map(|(set, names)| (set, names.split_whitespace().map(str::to_owned).collect())).collect()
}

/// Those of some names whose calls have a property.
fn of(names: &Names, target: impl Fn(&str) -> Target, holds: fn(&Node) -> bool) -> Names {
    let mut graph = Graph::new("sets");
    let ids: Vec<_> = names.iter().map(|name| graph.call("call", target(name), Vec::new(), Vec::new(), Meta::default())).collect();
    names.iter().zip(ids).filter(|(_, id)| holds(graph.node(*id))).map(|(name, _)| name.clone()).collect()
}

fn difference(set: &str, want: &Names, have: &Names, out: &mut String) {
    want.difference(have).for_each(|name| out.push_str(&format!("-{set}: {name}\n")));
    have.difference(want).for_each(|name| out.push_str(&format!("+{set}: {name}\n")));
}

#[test]
fn classes_are_pytorchs_lists() {
    operators::install();
    let packets: Names = dispatch::all().iter().filter(|e| !e.is_mutable()).map(|e| e.packet().to_owned()).collect();
    let overload = |packet: &str| Target::Op(format!("{packet}.default").into());
    let sets: [(&str, fn(&Node) -> bool, &[&str]); 8] = [
        ("recomputable_ops", op_sets::is_recomputable, &[]),
        ("fusible_ops", op_sets::is_fusible, &[]),
        ("view_ops", op_sets::is_view, &[]),
        ("random_ops", op_sets::is_random, &[]),
        ("compute_intensive_ops", op_sets::is_compute_intensive, &[]),
        ("nondeterministic_seeded", op_sets::is_seeded, &[]),
        // Memory that nothing was written to yet is not merged either.
        ("never_merged", op_sets::is_never_merged, &["aten.empty"]),
        // These share memory though their schemas do not say so.
        (
            "aliasing",
            op_sets::is_aliasing,
            &["aten._unsafe_view", "aten.unsafe_chunk", "aten.unsafe_split", "aten.unsafe_split_with_sizes"],
        ),
    ];
    let recorded = recorded();
    let mut out = String::new();
    for (set, holds, besides) in sets {
        let mut want: Names = recorded[set].intersection(&packets).cloned().collect();
        want.extend(besides.iter().map(|name| (*name).to_owned()));
        difference(set, &want, &of(&packets, overload, holds), &mut out);
    }
    assert!(out.is_empty(), "- is PyTorch's and not ours, + is ours and not PyTorch's:\n{out}");
}

#[test]
fn arithmetic_of_sizes_is_recomputable() {
    operators::install();
    let names = &recorded()["recomputable_functions"];
    let target = |name: &str| if name == "getitem" { Target::Getitem } else { Target::Operator(name.into()) };
    assert_eq!(&of(names, target, op_sets::is_recomputable), names);
}
