//! The tables of settings against those of PyTorch: no name is missing, each is obeyed, without effect, or refused.

use std::collections::BTreeMap;
use std::path::Path;

use aot_playground::python::{Interpreter, RunOptions, on_large_stack};

use super::script::{report, run_in};

/// Tells every setting, and whether one that is refused says so.
const TOLD: &str = r#"
import importlib
import warnings

from torch.utils._config_module import REASONS

warnings.simplefilter("ignore")
for name in MODULES:
    module = importlib.import_module(name)
    for setting, entry in module._config.items():
        default = entry.alias or repr(sorted(entry.default) if isinstance(entry.default, set) else entry.default)
        kind, _, why = entry.how.partition(" ")
        if kind == "no":
            why = REASONS.get(why.removeprefix("effect "), "")
        if kind == "refused":
            for other in (not entry.default, ["another value"]):
                try:
                    setattr(module, setting, other)
                except NotImplementedError as error:
                    why = "says so" if f"{name}.{setting}" in str(error) else str(error)
        print(name, setting, default, " ".join(entry.env[:-1]), kind, why, sep="\t")
"#;

/// Passes that a script gives Inductor for forwards and backwards, which the recorder of cases does not run.
const POST_GRAD: &str = r#"
import torch
import torch._inductor.config as config
from torch._inductor.custom_graph_pass import CustomInferenceAwareGraphPass


def cosine(graph):
    for node in graph.nodes:
        if node.target is torch.ops.aten.sin.default:
            node.target = torch.ops.aten.cos.default
            print("swapped")


class Aware(CustomInferenceAwareGraphPass):
    def __call__(self, graph, is_inference):
        print("inference", is_inference, len([n for n in graph.nodes if n.op == "placeholder"]))

    def uuid(self):
        return b"1"


def f(x):
    return x.sin().exp()


for name in ("post_grad_custom_pre_pass", "post_grad_custom_post_pass"):
    with config.patch({name: [cosine, Aware()]}):
        torch._dynamo.reset()
        x = torch.tensor([0.0, 1.0], requires_grad=True)
        out = torch.compile(f)(x)
        out.sum().backward()
        print([round(v, 4) for v in out.tolist()], [round(v, 4) for v in x.grad.tolist()])
        torch._dynamo.reset()
        with torch.no_grad():
            print([round(v, 4) for v in torch.compile(f)(x).tolist()])
"#;

#[test]
fn passes_on_forwards_and_backwards_are_run() {
    let options = RunOptions { backend: "inductor".to_owned(), ..RunOptions::default() };
    let run = on_large_stack(move || run_in(&Interpreter::new(), POST_GRAD, &options)).unwrap();
    let half = "\
swapped
inference False 1
inference False 3
[2.7183, 1.7165] [2.7183, 0.9274]
swapped
inference True 1
[2.7183, 1.7165]
";
    assert_eq!(run.report.stdout, half.repeat(2), "{}", run.stderr());
}

#[test]
fn every_setting_of_pytorch_has_a_row() {
    let recorded = include_str!("../data/settings.txt");
    let mut modules: Vec<&str> = recorded.lines().filter_map(|line| line.split('\t').next()).collect();
    modules.dedup();
    let told = report(&format!("MODULES = {modules:?}\n{TOLD}")).stdout;
    let fields = |line: &'static str| line.split('\t').collect::<Vec<_>>();
    let told: BTreeMap<(String, String), Vec<String>> = told
        .lines()
        .map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>())
        .map(|row| ((row[0].clone(), row[1].clone()), row[2..].to_vec()))
        .collect();
    let mut wrong = Vec::new();
    for line in recorded.lines() {
        let [module, name, default, variables] = fields(line)[..] else { panic!("{line}") };
        let Some(row) = told.get(&(module.to_owned(), name.to_owned())) else {
            wrong.push(format!("{module}.{name} has no row"));
            continue;
        };
        let as_list = |text: &str| text.replace(['{', '}', '[', ']'], "").replace("set()", "");
        if default != "of the machine" && as_list(default) != as_list(&row[0]) {
            wrong.push(format!("{module}.{name} is {default}, here {}", row[0]));
        }
        if variables.split(' ').any(|variable| !variable.is_empty() && !row[1].split(' ').any(|read| read == variable)) {
            wrong.push(format!("{module}.{name} is read from {variables}, here from {:?}", row[1]));
        }
        let last = name.rsplit('.').next().unwrap_or(name);
        let is_said = match (row[2].as_str(), row[3].as_str()) {
            ("alias", "") => true,
            ("no", reason) => !reason.is_empty(),
            ("refused", said) => said == "says so",
            ("obeyed", "library/settings") => POST_GRAD.contains(last),
            ("obeyed", case) => {
                std::fs::read_to_string(Path::new("tests/cases").join(format!("{case}.py"))).is_ok_and(|text| text.contains(last))
            }
            _ => false,
        };
        if !is_said {
            wrong.push(format!("{module}.{name}: {} {}", row[2], row[3]));
        }
    }
    assert_eq!(told.len(), recorded.lines().count());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
