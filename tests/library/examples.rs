//! The page's examples: what the first imports, and that their graphs run as files of their own.

use crate::script;
use aot_playground::export;
use aot_playground::report::protocol::GraphFormat;
use std::path::Path;

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("www/src/gallery/examples");
    std::fs::read_to_string(folder.join(format!("{name}.py"))).unwrap()
}

/// A graph of an example's compilation, as a Python file.
fn exported(name: &str, stage: &str, id: u32) -> String {
    let ran = script::run(&example(name));
    let compilation = ran.report.compilations.iter().find(|c| c.id == id).unwrap_or_else(|| panic!("{name}: {}", ran.stderr()));
    let graph = match stage {
        "joint" => &compilation.joint,
        "forward" => &compilation.forward,
        _ => &compilation.backward,
    };
    let graph = graph.as_ref().unwrap_or_else(|| panic!("{name} has no {stage}"));
    export::graph(graph, GraphFormat::Python, &export::about(stage, id), ran.bundles.get(&id)).unwrap()
}

/// What a visitor sees first comes without another fetch.
#[test]
fn the_first_example_imports_nothing_that_is_fetched_later() {
    let later: Vec<&str> =
        include_str!("../../src/python/later.txt").lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    let printed = script::report(&format!("{}\nimport sys\nprint('modules', *sys.modules)\n", example("mlp"))).stdout;
    let modules = printed.lines().last().and_then(|line| line.strip_prefix("modules ")).unwrap_or_else(|| panic!("{printed}"));
    let is_later = |m: &&str| later.iter().any(|l| m.strip_prefix(l).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')));
    assert_eq!(modules.split(' ').filter(is_later).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn graphs_of_examples_run_as_files_of_their_own() {
    for (name, id, stages) in [
        ("attention", 0, &["forward", "backward", "joint"][..]),
        ("cross_entropy", 0, &["forward", "backward"]),
        ("checkpoint", 0, &["joint"]),
        ("dynamic", 1, &["forward"]),
    ] {
        for stage in stages {
            let python = exported(name, stage, id);
            let ran = script::run(&python);
            assert_eq!(ran.stderr(), "", "{name}, {stage}\n{python}");
            assert!(ran.report.stdout.contains("tensor("), "{name}, {stage}: {}", ran.report.stdout);
        }
    }
}

#[test]
fn a_file_holds_what_indices_and_sizes_were() {
    let python = exported("cross_entropy", "forward", 0);
    assert!(python.contains("tensor([5], [1], torch.int64, [0, 2, 1, 1, 0]),  # primals_2"), "{python}");
    let python = exported("dynamic", "forward", 1);
    assert!(python.contains("        7,  # primals_1\n        tensor([7, 2], [2, 1], torch.float32),  # primals_2\n"), "{python}");
}
