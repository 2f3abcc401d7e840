//! The files that several tools read say the same: the browser that wasm-pack's test runner starts is that of
//! `wasm-pack.toml`, and the wasm-bindgen of the crate is that of the tool.

use std::fs;
use std::path::Path;

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

#[test]
fn webdriver_json_agrees_with_wasm_pack_toml() {
    let config: toml::Table = toml::from_str(&read("wasm-pack.toml")).unwrap();
    let driver: serde_json::Value = serde_json::from_str(&read("tests/browser/webdriver.json")).unwrap();
    let test = serde_json::to_value(&config["test"]).unwrap();
    let expected = serde_json::json!({ "goog:chromeOptions": { "binary": test["binary"], "args": test["args"] } });
    assert_eq!(driver, expected);
}

#[test]
fn the_wasm_bindgen_crate_is_pinned() {
    let manifest: toml::Table = toml::from_str(&read("Cargo.toml")).unwrap();
    let pinned = manifest["target"]["cfg(target_arch = \"wasm32\")"]["dependencies"]["wasm-bindgen"].as_str().unwrap();
    assert!(pinned.starts_with('='), "the tool must be of exactly the crate's release, so {pinned} must name one");
}
