// Runs bundles on the GPU, and trains them: src/web/gpu.rs.
import init, { serve_gpu } from "../../pkg/gpu/gpu.js";
import { start } from "./start";

start((module) => init({ module_or_path: module }), serve_gpu);
