//! Another size, asked of a run that is over: the answer is what the call itself does.

use crate::script;
use aot_playground::dynamo::what_if::what_if;
use aot_playground::report::{LastCall, Trial};

fn trial(source: &str, sizes: &[i64]) -> Trial {
    Trial { source: source.to_owned(), sizes: sizes.to_vec(), value: None }
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
        let answer = what_if(&report.regions, frame, &[trial("L['x']", &[*a, *b]), trial("L['w']", &[*b, 3])], None).unwrap();
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
    let ask = |x: &[i64], y: &[i64]| what_if(&report.regions, 0, &[trial("L['x']", x), trial("L['y']", y)], None).unwrap();
    assert_eq!(ask(&[9, 5], &[9, 5]).entries[0].failed, None);
    let unequal = ask(&[9, 5], &[8, 5]);
    assert_eq!(unequal.entries[0].failed.as_deref(), Some("y.size()[0] == x.size()[0]"));
    let rank = ask(&[9], &[9]);
    assert_eq!(rank.entries[0].failed.as_deref(), Some("tensor 'x' rank mismatch. expected 2, actual 1"));
    assert_eq!(rank.recompile.unwrap().inputs[0].sizes.len(), 1);
    assert!(what_if(&report.regions, 7, &[], None).is_err());
    assert!(what_if(&report.regions, 0, &[trial("L['x']", &[-1])], None).is_err());
}

/// The values of the last call, with some of them changed.
fn like_the_last(call: &LastCall, changes: &[(&str, &str)]) -> Vec<Trial> {
    let sizes = call.inputs.iter().map(|input| trial(&input.source, &input.sizes));
    let values = call.values.iter().map(|known| {
        let change = changes.iter().find(|(source, _)| *source == known.source).map(|(_, value)| (*value).to_owned());
        Trial { source: known.source.clone(), sizes: Vec::new(), value: Some(change.unwrap_or_else(|| known.value.clone())) }
    });
    sizes.chain(values).collect()
}

const COUNTS: &str = "
import torch
torch._dynamo.config.recompile_limit = 3

class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x, scale):
        self.step += 1
        return x * self.step * scale

model = Counter()
f = torch.compile(model)
";

#[test]
fn guards_on_python_values_are_asked_of_the_last_call() {
    let report = script::report(&(COUNTS.to_owned() + "for _ in range(5): f(torch.ones(4), 'a' and 2.5)\n"));
    let call = &report.calls[0];
    assert_eq!(call.region, None, "the last call is beyond the limit: {call:?}");
    let step = call.values.iter().find(|known| known.source.ends_with(".step")).expect("the step is guarded");
    assert_eq!(step.value, "4", "{call:?}");
    let ask = |value: &str| what_if(&report.regions, call.frame, &like_the_last(call, &[(&step.source, value)]), Some(call)).unwrap();
    let now = ask("4");
    assert!(now.entries.iter().all(|verdict| verdict.failed.as_ref().is_some_and(|failed| failed.contains(".step == "))), "{now:?}");
    assert!(now.recompile.is_some_and(|recompile| recompile.limit), "three entries are all that there may be");
    let then = ask("1");
    assert_eq!(then.entries.iter().filter(|verdict| verdict.failed.is_none()).count(), 1, "{then:?}");
    let [limit] = report.limits.as_slice() else { panic!("{:?}", report.limits) };
    assert_eq!((limit.config.as_str(), limit.limit, limit.calls, limit.function.as_str()), ("recompile_limit", 3, 2, "forward"));
    assert_eq!(limit.called_at.iter().map(|span| span.line).collect::<Vec<_>>(), [16]);
}

#[test]
fn a_call_that_was_a_hit_tells_its_values_and_those_it_did_not_read() {
    let program = "
import torch
@torch.compile
def f(x, flag, k):
    if flag:
        return x * k
    return x + 1
f(torch.ones(4), True, 'a' == 'b')
f(torch.ones(4), False, 7)
f(torch.ones(9), False, 7)
f(torch.ones(5), False, 7)
";
    let report = script::report(program);
    let call = &report.calls[0];
    let last = report.regions.last().unwrap();
    assert_eq!((call.region, call.inputs[0].sizes.as_slice()), (Some(last.id), &[5][..]), "{call:?}");
    let ask = |flag: &str| what_if(&report.regions, call.frame, &like_the_last(call, &[("L['flag']", flag)]), Some(call)).unwrap();
    let same = ask("False");
    assert_eq!(same.entries.last().unwrap().failed, None);
    assert!(same.entries[0].failed.as_ref().is_some_and(|failed| failed == "flag == True"), "{same:?}");
    let other = ask("True");
    assert!(other.entries[1..].iter().all(|verdict| verdict.failed.is_some()), "{other:?}");
}
