//! Printed tensors against PyTorch: cases recorded by `data/printing.py`.

use super::recorded;
use serde_json::Value as Json;
use tensor::print::{PrintOptions, Suffixes, repr, set_print_options};

#[test]
fn tensors_print_as_pytorch_prints_them() {
    let data: Json = serde_json::from_str(include_str!("data/printing.json")).unwrap();
    let cases = data["cases"].as_array().unwrap();
    let mut wrong = Vec::new();
    for case in cases {
        let tensor = recorded::tensor(&data["tensors"][case[0]["x"].as_u64().unwrap() as usize]);
        let given = &case[1];
        let mut options = PrintOptions::default().profile(given["profile"].as_str().unwrap_or("default"));
        let number = |name: &str| given[name].as_u64().map(|n| n as usize);
        options.precision = number("precision").unwrap_or(options.precision);
        options.threshold = given["threshold"].as_f64().unwrap_or(options.threshold);
        options.edgeitems = number("edgeitems").unwrap_or(options.edgeitems);
        options.linewidth = number("linewidth").unwrap_or(options.linewidth);
        options.sci_mode = given["sci_mode"].as_bool();
        set_print_options(options);
        let suffixes = Suffixes {
            grad_fn: case[2]["grad_fn"].as_str().map(str::to_owned),
            requires_grad: case[2]["requires_grad"].as_bool().unwrap_or(false),
            ..Suffixes::default()
        };
        let (got, want) = (repr(&tensor, &suffixes).unwrap(), case[3].as_str().unwrap());
        if got != want {
            wrong.push(format!("{given}\n{got}\nnot\n{want}"));
        }
    }
    let shown = wrong.iter().take(8).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(wrong.is_empty(), "{} of {} differ:\n{shown}", wrong.len(), cases.len());
}
