// Builds the page into www/dist: the WebAssembly modules, then the page around them, then the compressed files.
import { buildModules } from "./lib/modules.mjs";
import { run } from "./lib/run.mjs";

buildModules();
run("npm", ["run", "--silent", "--prefix", "www", "build"]);
