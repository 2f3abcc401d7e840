// What page and workers say to each other.
import type { Bundle, Event, RunResult } from "../generated/report";

/** To the interpreter's worker. The module comes compiled, so that a second worker starts without a download. */
export type ToInterpreter =
  | { type: "init"; module: WebAssembly.Module }
  | { type: "run"; run: number; program: string; options: { backend: string } };

export type FromInterpreter =
  | { type: "ready" }
  | { type: "event"; run: number; event: Event }
  | { type: "done"; run: number }
  /** The module itself failed: its instance is of no more use. */
  | { type: "failed"; message: string };

export type Device = "webgpu" | "cpu";

export type ToGpu = { type: "init"; module: WebAssembly.Module } | { type: "run"; run: number; bundle: Bundle; device: Device };

export type FromGpu =
  | { type: "ready" }
  | { type: "result"; run: number; result: RunResult }
  | { type: "refused"; run: number; message: string; node: string | null }
  | { type: "failed"; message: string };
