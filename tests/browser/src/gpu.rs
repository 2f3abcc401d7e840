//! What must hold of the GPU's module in a browser, in a page and in a worker alike.
//!
//! Without an adapter the tests fail: the browser is started so that it has one.

use aot_playground::backend::cpu::bundle::{parse_graph, run_bundle_cpu};
use aot_playground::bundle::{BUNDLE_VERSION, BackwardBundle, Bundle, Computed, Named, RunResult, TensorData, Value};
use aot_playground::graph::FakeValue;
use aot_playground::report::protocol::Runner;
use aot_playground::web::{from_js, gpu, to_js};
use serde_bytes::ByteBuf;

/// What PyTorch printed for an MLP.
const MLP: &str = include_str!("../../compilations/conformance/01_mlp.aot_eager.json");
/// Largest difference from the CPU that float32 sums of this length may have.
const TOLERANCE: f64 = 1e-5;

/// Numbers between -1 and 1 that are the same every time, for every placeholder whose name begins with `prefix`.
fn inputs(readable: &str, prefix: &str) -> Vec<Named> {
    let graph = parse_graph(readable).expect("the text is a graph");
    let placeholders = graph.placeholders().filter(|node| node.name.starts_with(prefix));
    placeholders
        .map(|node| {
            let Some(FakeValue::Tensor(spec)) = &node.meta.value else { panic!("{} is no tensor", node.name) };
            let hints = |sizes: &[aot_playground::shape::SymInt]| -> Vec<u64> {
                sizes.iter().map(|size| size.hint().expect("sizes are known") as u64).collect()
            };
            let (shape, stride) = (hints(&spec.geometry.sizes), hints(&spec.geometry.strides));
            let elements = shape.iter().product::<u64>();
            let bytes: Vec<u8> = (0..elements).flat_map(|i| ((i as f32 * 12.9898 + node.name.len() as f32).sin()).to_le_bytes()).collect();
            let tensor = TensorData { dtype: "float32".to_owned(), shape, stride, bytes: ByteBuf::from(bytes) };
            Named { name: node.name.to_string(), label: None, value: Value::Tensor { tensor } }
        })
        .collect()
}

fn bundle() -> Bundle {
    let report: serde_json::Value = serde_json::from_str(MLP).expect("the file is JSON");
    let text = |part: &str| report["compilations"][0][part].as_str().expect("a graph's text").to_owned();
    let (forward, backward) = (text("forward"), text("backward"));
    let tangents = inputs(&backward, "tangents");
    Bundle {
        version: BUNDLE_VERSION,
        compilation: 7,
        inputs: inputs(&forward, "primals"),
        forward,
        num_outputs: 1,
        expected: Vec::new(),
        backward: Some(BackwardBundle { readable: backward, tangents, tangent_of: vec![0], expected: Vec::new(), generator: None }),
        ..Bundle::default()
    }
}

/// The same bundle with what the CPU computes as what is expected.
fn with_expectations(mut bundle: Bundle) -> Bundle {
    let result = run_bundle_cpu(&bundle).expect("the CPU runs it");
    let result: RunResult = from_js(to_js(&result).expect("a result crosses")).expect("and comes back");
    let named = |outputs: Vec<Computed>| outputs.into_iter().map(|computed| computed.named).collect();
    bundle.expected = named(result.forward.outputs);
    if let (Some(part), Some(result)) = (&mut bundle.backward, result.backward) {
        part.expected = named(result.outputs);
    }
    bundle
}

pub async fn runs_forward_and_backward() {
    let bundle = with_expectations(bundle());
    // The second run finds device and pipelines.
    for _ in 0..2 {
        let crossed: Bundle = from_js(to_js(&bundle).expect("a bundle crosses")).expect("and comes back");
        let result = gpu::run_bundle(&crossed, Runner::Webgpu).await.expect("the GPU runs it");
        assert_eq!((result.compilation, result.device.backend.as_str()), (7, "webgpu"));
        let backward = result.backward.expect("there is a backward");
        assert!(result.forward.dispatches.len() > 2 && backward.dispatches.len() > 2);
        for Computed { named, max_abs, mismatch, .. } in result.forward.outputs.iter().chain(&backward.outputs) {
            assert_eq!(*mismatch, None, "{}", named.name);
            assert!(max_abs.is_none_or(|distance| distance < TOLERANCE), "{} is {max_abs:?} from the CPU's", named.name);
        }
        assert!(backward.outputs.iter().filter(|computed| computed.max_abs.is_some()).count() >= 6, "six parameters have gradients");
    }
}

pub async fn refuses_what_is_no_graph() {
    let nonsense = Bundle { forward: "<img src=x>".to_owned(), ..bundle() };
    let error = gpu::run_bundle(&nonsense, Runner::Webgpu).await.expect_err("this is no graph");
    assert!(!error.message.is_empty());
}
