//! What it takes to run a compilation elsewhere, where its values are too large to be kept.

use crate::script;
use aot_playground::backend::cpu::bundle::{completed, run_bundle_cpu};
use aot_playground::bundle::{Computed, PartResult, Value};

/// Two weights of 16 MiB, one of which is an embedding's: the tokens are kept, for not every number is one.
const LARGE: &str = "
import torch, torch.nn as nn
torch.manual_seed(0)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm, self.head = nn.Embedding(16384, 256), nn.BatchNorm1d(256), nn.Linear(256, 16384)
    def forward(self, tokens):
        return self.head(self.norm(self.embed(tokens)).relu()).logsumexp(-1).mean()
model = Model()
torch.compile(model)(torch.randint(0, 16384, (4,))).backward()
";

#[test]
fn inputs_that_are_too_large_are_drawn_and_the_rest_is_kept() {
    let run = script::run(LARGE);
    assert_eq!(run.status, 0, "{}", run.stderr());
    let bundle = &run.bundles[&0];
    assert!(bundle.backward.is_some() && bundle.recomputes && bundle.bytes > 64 << 20, "{} bytes", bundle.bytes);
    assert_eq!(bundle.drawn.len(), 1, "{:?}", bundle.drawn);
    assert!(bundle.drawn[0].deviation > 0.01 && !bundle.drawn[0].is_positive, "{:?}", bundle.drawn);
    let kept = |name: &str| bundle.drawn.iter().all(|drawn| drawn.name != name);
    let has_bytes = |value: &Value| !matches!(value, Value::Tensor { tensor } if tensor.bytes.is_empty());
    assert!(bundle.inputs.iter().all(|input| kept(&input.name) == has_bytes(&input.value)));
    let (whole, expected) = completed(bundle).unwrap();
    let expected = expected.unwrap();
    let result = run_bundle_cpu(&whole).unwrap();
    let distances =
        |part: &PartResult| part.outputs.iter().map(|Computed { max_abs, mismatch, .. }| (*max_abs, mismatch.clone())).collect::<Vec<_>>();
    for (max_abs, mismatch) in distances(&result.forward).into_iter().chain(distances(&result.backward.unwrap())) {
        assert!(mismatch.is_none() && max_abs.is_none_or(|distance| distance == 0.0), "{max_abs:?} {mismatch:?}");
    }
    assert_eq!(expected.forward.len(), result.forward.outputs.len());
    let Value::Tensor { tensor } = &expected.forward[0].value else { panic!("no loss") };
    assert!(tensor.bytes.len() == 4 && tensor.shape.is_empty(), "{tensor:?}");
}

#[test]
fn inputs_that_fit_are_the_scripts_own() {
    let run = script::run("import torch\ntorch.compile(lambda x: x.sin().sum())(torch.ones(3, requires_grad=True)).backward()\n");
    let bundle = &run.bundles[&0];
    assert!(bundle.drawn.is_empty() && !bundle.recomputes && !bundle.expected.is_empty());
    assert!(completed(bundle).unwrap().1.is_none());
}
