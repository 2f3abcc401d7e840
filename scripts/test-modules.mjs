// Runs the crate's own tests in the browser: in a page and in a dedicated worker. `--no-run` only compiles them.
import { compileTests, testModules } from "./lib/modules.mjs";

if (process.argv.includes("--no-run")) compileTests();
else testModules();
