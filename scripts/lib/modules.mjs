// Builds and tests the WebAssembly modules with wasm-pack, as wasm-pack.toml says.
import { config, ROOT } from "./config.mjs";
import { run } from "./run.mjs";

/** Cargo's flags for a module's features. */
const features = (module) => ["--no-default-features", "--features", module.features.join(",")];

/** wasm-pack finds the wrapper that adds our flags before the tool itself. */
const bindgen = {
  PATH: `${ROOT}scripts/wasm-bindgen:${process.env.PATH}`,
  WASM_BINDGEN_FLAGS: config["wasm-bindgen"].flags.join(" "),
};

export function buildModules() {
  const { target, profile, "wasm-opt": optimize } = config["wasm-pack"];
  for (const [name, module] of Object.entries(config.modules)) {
    const opt = optimize ? [] : ["--no-opt"];
    const out = ["--out-dir", module["out-dir"], "--out-name", name];
    run("wasm-pack", ["build", "--mode", "no-install", `--${profile}`, "--target", target, "--no-pack", ...opt, ...out, "--", ...features(module)], bindgen);
  }
}

export function testModules() {
  const { crate, browser, profile, timeout, driver } = config.test;
  const env = { WASM_BINDGEN_TEST_TIMEOUT: String(timeout), CHROMEDRIVER: driver };
  const where = ["--headless", `--${browser}`, `--${browser}driver`, driver];
  for (const module of Object.values(config.modules)) {
    const tests = module.tests.flatMap((test) => ["--test", test]);
    run("wasm-pack", ["test", "--mode", "no-install", `--${profile}`, ...where, crate, ...features(module), ...tests], env);
  }
}
