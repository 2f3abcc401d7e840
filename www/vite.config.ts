// Builds the page. The WebAssembly modules come from wasm-pack (scripts/build.mjs) and lie in pkg/.
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

/** Size of a built module: a compressed download does not tell how large it will be. */
function bytes(name: string): number {
  return statSync(fileURLToPath(new URL(`./pkg/${name}/${name}_bg.wasm`, import.meta.url)), { throwIfNoEntry: false })?.size ?? 0;
}

export default defineConfig({
  // Relative addresses: the page works under any path.
  base: "./",
  define: { __INTERPRETER_BYTES__: bytes("interpreter"), __GPU_BYTES__: bytes("gpu") },
  build: { target: "es2022", modulePreload: { polyfill: false }, assetsInlineLimit: 0, chunkSizeWarningLimit: 1000 },
  worker: { format: "es" },
  test: { environment: "happy-dom", include: ["tests/**/*.test.{ts,tsx}"] },
});
