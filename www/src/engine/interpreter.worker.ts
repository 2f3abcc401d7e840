// Runs scripts: src/web/interpreter.rs.
import init, { serve_interpreter } from "../../pkg/interpreter/interpreter.js";
import libraryUrl from "../../pkg/interpreter/library.bin?url";
import { start } from "./start";

/** Packages that the build has fetched, by name. */
const packages = Object.fromEntries(
  Object.entries(import.meta.glob<string>("../../pkg/packages/*.json", { query: "?url", import: "default", eager: true })).map(([path, url]) => [
    path.replace(/^.*\/|\.json$/g, ""),
    url,
  ]),
);

start(
  (module) => init({ module_or_path: module }),
  (waiting, { waited }) => serve_interpreter(libraryUrl, packages, waited ?? false, waiting),
);
