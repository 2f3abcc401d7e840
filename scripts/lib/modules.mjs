// Builds and tests the WebAssembly modules with wasm-pack, as wasm-pack.toml says.
import { readFileSync, writeFileSync } from "node:fs";
import { config, ROOT } from "./config.mjs";
import { run } from "./run.mjs";
import { withoutSection } from "./sections.mjs";

/** Cargo's flags for a module's features. */
const features = (module) => ["--no-default-features", "--features", module.features.join(",")];

/** wasm-pack finds the wrapper that adds our flags before the tool itself. */
const bindgen = {
  PATH: `${ROOT}scripts/wasm-bindgen:${process.env.PATH}`,
  WASM_BINDGEN_FLAGS: config["wasm-bindgen"].flags.join(" "),
};

/** A folder of their own for what is built like the tests: cargo lets nobody else into one that it builds in, and natively it builds beside. */
const apart = { CARGO_TARGET_DIR: `${ROOT}target/browser` };

/** `quick` builds them with the profile of the tests, with which they then share what is compiled. */
export function buildModules({ quick }) {
  const { crate, target, profile, "wasm-opt": optimize } = config["wasm-pack"];
  const how = !quick ? ["--profile", profile] : config.test.profile === "dev" ? ["--dev"] : ["--profile", config.test.profile];
  for (const [name, module] of Object.entries(config.modules)) {
    const opt = optimize ? [] : ["--no-opt"];
    const out = ["--out-dir", `${ROOT}${module["out-dir"]}`, "--out-name", name];
    run("wasm-pack", ["build", crate, "--mode", "no-install", ...how, "--target", target, "--no-pack", ...opt, ...out, "--", ...features(module)], { ...bindgen, ...(quick ? apart : {}) });
    if (module["fetched-section"]) split(`${ROOT}${module["out-dir"]}/`, `${name}_bg.wasm`, module["fetched-section"]);
  }
}

/** Moves a section of a module into a file of its own beside it. */
function split(folder, file, section) {
  const { module, content } = withoutSection(readFileSync(folder + file), section);
  if (content.length === 0) throw new Error(`${file} has no section ${section}`);
  writeFileSync(folder + file, module);
  writeFileSync(`${folder}${section}.bin`, content);
}

/** The tests of a module that run in the browser, as arguments of cargo. */
const testsOf = (module) => module.tests.flatMap((test) => ["--test", test]);

/** Compiles what `testModules` runs. */
export function compileTests() {
  const { crate, profile } = config.test;
  const how = ["--target", "wasm32-unknown-unknown", ...(profile === "dev" ? [] : [`--${profile}`])];
  for (const module of Object.values(config.modules)) {
    run("cargo", ["test", "--no-run", "--manifest-path", `${ROOT}${crate}/Cargo.toml`, ...how, ...features(module), ...testsOf(module)], apart);
  }
}

export function testModules() {
  const { crate, browser, profile, timeout, driver } = config.test;
  const env = { ...apart, WASM_BINDGEN_TEST_TIMEOUT: String(timeout), CHROMEDRIVER: driver };
  const where = ["--headless", `--${browser}`, `--${browser}driver`, driver];
  for (const module of Object.values(config.modules)) {
    run("wasm-pack", ["test", "--mode", "no-install", ...(profile === "dev" ? [] : [`--${profile}`]), ...where, crate, ...features(module), ...testsOf(module)], env);
  }
}
