//! Operators against PyTorch: calls recorded by `data/operators.py`, with results, strides and messages.

use super::recorded::{class, compare, value};
use dispatch::{Value, call, fill_args, lookup};
use serde_json::Value as Json;

fn check(file: &str) {
    cpu::install();
    let data: Json = serde_json::from_str(file).unwrap();
    let tensors = data["tensors"].as_array().unwrap();
    let mut wrong = Vec::new();
    let cases = data["cases"].as_array().unwrap();
    for case in cases {
        let name = case[0].as_str().unwrap();
        let args: Vec<Value> = case[1].as_array().unwrap().iter().map(|v| value(v, tensors)).collect();
        let keywords: Vec<(&str, Value)> = case[2].as_object().unwrap().iter().map(|(k, v)| (k.as_str(), value(v, tensors))).collect();
        let Some(entry) = lookup(name) else {
            wrong.push(format!("{name}: there is no such operator"));
            continue;
        };
        let shown = format!("{args:?}");
        let run = || fill_args(entry, args, &keywords).and_then(|args| call(entry, args));
        let Ok(answer) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) else {
            wrong.push(format!("{name}{shown}: a panic"));
            continue;
        };
        let verdict = match (answer, case[3].get("error")) {
            (Ok(got), None) => compare(&got, &case[3]),
            (Ok(got), Some(error)) => Err(format!("{got:?}, not {error}")),
            (Err(e), None) => Err(format!("{e:?}")),
            (Err(e), Some(error)) => {
                let same = class(e.kind) == error[0].as_str().unwrap() && e.message.lines().next() == error[1].as_str();
                if same { Ok(()) } else { Err(format!("{e:?}, not {error}")) }
            }
        };
        if let Err(why) = verdict {
            wrong.push(format!("{name}{shown} {:?}: {why}", keywords));
        }
    }
    let shown = wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {} differ:\n{shown}", wrong.len(), cases.len());
}

macro_rules! families {
    ($($name:ident)*) => { $(
        #[test]
        fn $name() {
            check(include_str!(concat!("data/operators_", stringify!($name), ".json")));
        }
    )* };
}
families! { views scatters joining gathering advanced sorting }
