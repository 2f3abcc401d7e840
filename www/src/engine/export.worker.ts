// Makes exports: src/web/export.rs.
import init, { serve_exports } from "../../pkg/interpreter/interpreter.js";
import { start } from "./start";

start((module) => init({ module_or_path: module }), serve_exports);
