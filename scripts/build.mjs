// Builds the page into www/dist: the packages, the notices, the WebAssembly modules, then the page around them, then the compressed files.
// `--quick` builds the modules as tests in the browser are built: almost twice as large and slower, in half the time.
import { writeFileSync } from "node:fs";
import { ROOT } from "./lib/config.mjs";
import { buildModules } from "./lib/modules.mjs";
import { notices } from "./lib/notices.mjs";
import { copyPackages, fetchPackages } from "./lib/packages.mjs";
import { run } from "./lib/run.mjs";

fetchPackages();
// Early: a licence that is not allowed ends the build before anything is compiled. The page keeps what lies in public/.
writeFileSync(`${ROOT}www/public/third-party.txt`, notices());
const quick = process.argv.includes("--quick");
buildModules({ quick });
copyPackages();
run("npm", ["run", "--silent", "--prefix", "www", "build"]);
run("node", [`${ROOT}scripts/precompress.mjs`, `${ROOT}www/dist`, ...(quick ? ["--quick"] : [])]);
