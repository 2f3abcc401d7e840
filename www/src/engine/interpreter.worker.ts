// Runs scripts: src/web/interpreter.rs.
import init, { serve_interpreter } from "../../pkg/interpreter/interpreter.js";
import libraryUrl from "../../pkg/interpreter/library.bin?url";
import { start } from "./start";

start(
  (module) => init({ module_or_path: module }),
  (waiting, { waited }) => serve_interpreter(libraryUrl, waited ?? false, waiting),
);
