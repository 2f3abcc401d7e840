//! The GPU's module in a page.
#![cfg(all(target_arch = "wasm32", feature = "gpu"))]

use browser_tests::gpu;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
async fn a_bundle_runs_forward_and_backward() {
    gpu::runs_forward_and_backward().await;
}

#[wasm_bindgen_test]
async fn what_is_no_graph_is_refused() {
    gpu::refuses_what_is_no_graph().await;
}
