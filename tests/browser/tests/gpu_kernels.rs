//! Kernels against the CPU reference in a browser, in a dedicated worker as on the page: its shader compiler is another one.
#![cfg(all(target_arch = "wasm32", feature = "gpu"))]

#[path = "../../gpu/compare.rs"]
mod compare;

use aot_playground::backend::gpu::GpuDevice;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

#[wasm_bindgen_test]
async fn every_case_agrees() {
    let device = GpuDevice::request().await.expect("asking for a device").expect("the browser has an adapter");
    let wrong = compare::run_cases(&device).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
