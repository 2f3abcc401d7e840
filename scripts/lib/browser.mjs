// Starts the browser that wasm-pack.toml names.
import { createRequire } from "node:module";
import { config } from "./config.mjs";

const { chromium } = createRequire(new URL("../../www/package.json", import.meta.url))("playwright-core");

/** `without` names flags to leave out. */
export function launch({ without = [] } = {}) {
  // playwright-core adds the flag for headless itself.
  const args = config.test.args.filter((flag) => !flag.startsWith("--headless") && !without.includes(flag));
  return chromium.launch({ executablePath: config.test.binary, args });
}
