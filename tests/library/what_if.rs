//! Another size, asked of a run that is over: the answer is what the call itself does.

use crate::script;
use aot_playground::dynamo::what_if::what_if;
use aot_playground::report::Trial;

fn trial(source: &str, sizes: &[i64]) -> Trial {
    Trial { source: source.to_owned(), sizes: sizes.to_vec() }
}

const TWO_WAYS: &str = "
import torch

@torch.compile
def f(x, w):
    if x.shape[0] > 16:
        return (x @ w).relu()
    return x @ w

w = torch.randn(4, 3)
";

/// After some calls, every size is asked and then called: a hit or a recompile, for the same reasons.
fn asked_and_called(calls: &[[i64; 2]], sizes: &[[i64; 2]]) {
    let call = |[a, b]: [i64; 2]| format!("f(torch.randn({a}, {b}), torch.randn({b}, 3))\n");
    let before: String = TWO_WAYS.to_owned() + &calls.iter().map(|c| call(*c)).collect::<String>();
    let report = script::report(&before);
    let frame = report.regions[0].entry.as_ref().unwrap().frame;
    for [a, b] in sizes {
        let answer = what_if(&report.regions, frame, &[trial("L['x']", &[*a, *b]), trial("L['w']", &[*b, 3])]).unwrap();
        let after = script::report(&(before.clone() + &call([*a, *b])));
        let recompiled = after.recompiles.len() > report.recompiles.len();
        assert_eq!(answer.recompile.is_some(), recompiled, "{a}x{b}: {answer:?}");
        if let Some(recompile) = answer.recompile {
            let mut reasons: Vec<String> =
                answer.entries.iter().enumerate().map(|(i, e)| format!("{frame}/{i}: {}", e.failed.as_ref().unwrap())).collect();
            let mut said = after.recompiles.last().unwrap().clone();
            reasons.sort();
            said.sort();
            // Where both inputs differ, which is named first depends on what failed before.
            if *b == 4 {
                assert_eq!(reasons, said, "{a}x{b}");
            }
            let made = after.regions.last().unwrap().entry.as_ref().unwrap();
            // Which sizes vary; which of their symbols turn out to be one, tracing finds out.
            let size = |size: &String| size.parse::<i64>().ok();
            let shapes = |inputs: &[aot_playground::report::CacheEntryInput]| {
                inputs.iter().map(|i| i.sizes.iter().map(size).collect()).collect::<Vec<Vec<_>>>()
            };
            assert_eq!(shapes(&recompile.inputs), shapes(&made.inputs), "{a}x{b}");
        }
    }
}

#[test]
fn answers_are_what_calls_do() {
    asked_and_called(&[[8, 4]], &[[8, 4], [12, 4], [1, 4], [8, 5], [0, 4]]);
    asked_and_called(&[[8, 4], [12, 4]], &[[2, 4], [16, 4], [17, 4], [1, 4], [8, 6]]);
    asked_and_called(&[[8, 4], [12, 4], [40, 4]], &[[16, 4], [17, 4], [3, 4]]);
}

#[test]
fn another_rank_and_unequal_sizes_are_named() {
    let report = script::report(
        "
import torch
f = torch.compile(lambda x, y: x + y, dynamic=True)
f(torch.ones(6, 3), torch.ones(6, 3))
",
    );
    let ask = |x: &[i64], y: &[i64]| what_if(&report.regions, 0, &[trial("L['x']", x), trial("L['y']", y)]).unwrap();
    assert_eq!(ask(&[9, 5], &[9, 5]).entries[0].failed, None);
    let unequal = ask(&[9, 5], &[8, 5]);
    assert_eq!(unequal.entries[0].failed.as_deref(), Some("y.size()[0] == x.size()[0]"));
    let rank = ask(&[9], &[9]);
    assert_eq!(rank.entries[0].failed.as_deref(), Some("tensor 'x' rank mismatch. expected 2, actual 1"));
    assert_eq!(rank.recompile.unwrap().inputs[0].sizes.len(), 1);
    assert!(what_if(&report.regions, 7, &[]).is_err());
    assert!(what_if(&report.regions, 0, &[trial("L['x']", &[-1])]).is_err());
}
