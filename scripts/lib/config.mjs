// Reads wasm-pack.toml, the one place that says how the WebAssembly modules are built and tested.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const { parse: parseToml } = createRequire(new URL("../../www/package.json", import.meta.url))("smol-toml");

export const config = parseToml(readFileSync(`${ROOT}wasm-pack.toml`, "utf8"));

/** The release of wasm-bindgen that Cargo.lock names: the tool must be the same. */
export function wasmBindgenVersion() {
  const { package: packages } = parseToml(readFileSync(`${ROOT}Cargo.lock`, "utf8"));
  return packages.find(({ name }) => name === "wasm-bindgen").version;
}
