// Reads logs: src/web/reader.rs.
import init, { serve_reader } from "../../pkg/reader/reader.js";
import { start } from "./start";

start((module) => init({ module_or_path: module }), serve_reader);
