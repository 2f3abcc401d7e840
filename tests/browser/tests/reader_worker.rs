//! The reader's module in a dedicated worker, where the page runs it.
#![cfg(all(target_arch = "wasm32", feature = "reader"))]

use browser_tests::reader;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

#[wasm_bindgen_test]
fn a_log_is_read() {
    reader::reads_a_log();
}

#[wasm_bindgen_test]
fn what_is_no_log_is_refused() {
    reader::refuses_what_is_no_log();
}
