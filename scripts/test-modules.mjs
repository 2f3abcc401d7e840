// Runs the crate's own tests in the browser: in a page and in a dedicated worker.
import { testModules } from "./lib/modules.mjs";

testModules();
