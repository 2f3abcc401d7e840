//! The interpreter's module in a dedicated worker, where the page runs it.
#![cfg(all(target_arch = "wasm32", feature = "python"))]

use browser_tests::interpreter;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

#[wasm_bindgen_test]
fn a_script_prints() {
    interpreter::prints();
}

#[wasm_bindgen_test]
fn an_exception_has_its_line() {
    interpreter::raises();
}

#[wasm_bindgen_test]
fn runs_do_not_see_each_other() {
    interpreter::forgets();
}

#[wasm_bindgen_test]
fn endless_recursion_is_an_exception() {
    interpreter::survives_recursion();
}

#[wasm_bindgen_test]
fn a_compiled_function_has_its_graphs() {
    interpreter::compiles();
}

#[wasm_bindgen_test]
fn what_is_not_carried_is_imported() {
    interpreter::imports_what_is_not_carried();
}

#[wasm_bindgen_test]
fn the_standard_library_is_whole() {
    interpreter::has_the_standard_library();
}

#[wasm_bindgen_test]
fn memory_that_is_not_there_is_named() {
    interpreter::says_which_memory_is_not_there();
}

#[wasm_bindgen_test]
fn what_is_no_message_is_refused() {
    interpreter::refuses_what_is_no_message();
}
