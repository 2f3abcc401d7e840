//! The page's examples: what the first imports, and that their graphs run as files of their own.

use crate::script;
use aot_playground::export;
use aot_playground::python::{Interpreter, RunOptions, on_large_stack};
use aot_playground::report::Report;
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
    assert!(
        python.contains("        7,  # primals_1 (x.size()[0])\n        tensor([7, 2], [2, 1], torch.float32),  # primals_2 (x)\n"),
        "{python}"
    );
}

/// An example with a change: what stands in its file, and what takes that place.
fn changed(name: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(example(name), |program, (from, to)| {
        assert!(program.contains(from), "{name} has no {from}");
        program.replace(from, to)
    })
}

fn with_backend(program: &str, backend: &str) -> Report {
    let (program, options) = (program.to_owned(), RunOptions { backend: backend.to_owned(), ..RunOptions::default() });
    on_large_stack(move || script::run_in(&Interpreter::new(), &program, &options).report).unwrap()
}

/// Bytes of activations that a run's first compilation keeps alive, and of all that it saves.
fn kept(report: &Report) -> (u64, u64) {
    let partition = report.compilations[0].partition.as_ref().unwrap();
    (partition.activation_bytes, partition.saved_bytes)
}

fn saved_bytes(report: &Report) -> Vec<u64> {
    report.compilations[0].saved.iter().flatten().filter_map(|value| value.bytes).collect()
}

/// What the page says under an example comes true when a visitor does it.
#[test]
fn what_examples_invite_to_try_changes_what_they_say() {
    let run = |name: &str, edits: &[(&str, &str)]| script::run(&changed(name, edits)).report;
    let default = "aot_eager_default_partitioner";

    let (min_cut, plain) = (run("mlp", &[]), with_backend(&example("mlp"), default));
    assert_eq!(kept(&plain).0 - kept(&min_cut).0, 2048, "mlp: recomputation saves memory");
    assert!(min_cut.compilations[0].partition.as_ref().unwrap().recomputed.len() >= 2);

    assert!(kept(&run("chain", &[])).1 * 5 == kept(&with_backend(&example("chain"), default)).1, "chain");

    let error = run("inplace", &[("x.clone()", "x")]).exception.expect("inplace: a leaf is written to");
    assert!(error.message.contains("leaf"), "{}", error.message);

    let (short, long) = (saved_bytes(&run("attention", &[])), saved_bytes(&run("attention", &[("(2, 8, 32)", "(2, 16, 32)")])));
    assert!(short.iter().zip(&long).any(|(a, b)| *b == 4 * a), "attention: {short:?} {long:?}");

    let half = ("loss_fn(x, target)\n    gradients", "loss_fn(x[:64], target[:64]) if step == 30 else loss_fn(x, target)\n    gradients");
    let [reasons] = run("training", &[half]).recompiles.try_into().expect("training: one recompile");
    assert!(reasons[0].contains("size mismatch at index 0. expected 128, actual 64"), "{reasons:?}");

    let nodes = |report: &Report| report.compilations[0].backward.as_ref().map_or(0, |graph| graph.nodes.len());
    let without = run("detach", &[("    with torch.no_grad():\n        goal", "    goal")]);
    assert!(nodes(&without) > nodes(&run("detach", &[])), "detach");

    let fused = "    return torch.nn.functional.cross_entropy(logits, target)\n    # As in";
    assert!(kept(&run("cross_entropy", &[("    # As in", fused)])).1 < kept(&run("cross_entropy", &[])).1, "cross_entropy");

    let branch = "    if y.sum().item() > 0:  # Python needs the number now: the first graph ends here\n        return torch.relu(y) + 1\n    return torch.tanh(y)";
    let one = run("graph_break", &[(branch, "    return torch.where(y.sum() > 0, torch.relu(y) + 1, torch.tanh(y))")]);
    assert_eq!((one.breaks.len(), one.compilations.len()), (0, 1), "graph_break");

    let count = |edits: &[(&str, &str)]| run("dynamic", edits).compilations.len();
    assert_eq!((count(&[]), count(&[("@torch.compile", "@torch.compile(dynamic=False)")])), (2, 3), "dynamic");

    let both = run("checkpoint", &[("return block(y)", "return checkpoint(block, y, use_reentrant=False)")]);
    assert!(kept(&both).0 < kept(&run("checkpoint", &[])).0, "checkpoint");

    let is_mask = |report: &Report| report.compilations[0].saved.iter().flatten().any(|value| value.dtype.as_deref() == Some("bool"));
    let without = run("dropout", &[("p=0.5", "p=0.0")]);
    assert!(kept(&without).1 < kept(&run("dropout", &[])).1 && !is_mask(&without), "dropout");

    let masked = [
        ("        ctx.limit = limit\n", "        ctx.limit = limit\n        ctx.save_for_backward(x)\n"),
        ("return grad * ctx.limit, None", "(x,) = ctx.saved_tensors\n        return grad * (x.abs() <= ctx.limit), None"),
    ];
    assert_ne!(run("custom_function", &masked).stdout, run("custom_function", &[]).stdout, "custom_function");

    assert!(run("aot_function", &[("graph.code", "str(graph.graph)")]).stdout.contains("graph():"), "aot_function");
}
