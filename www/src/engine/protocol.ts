// What page and workers say to each other.
import type { Answer, Bundle, CapturedGraph, Event, Named, Question, Recipe, Report, RunResult, TensorData, Training, Trial, WhatIf } from "../generated/report";

/** To the interpreter's worker. The module comes compiled, so that a second worker starts without a download. */
export type ToInterpreter =
  | { type: "init"; module: WebAssembly.Module; /** Whether a script waits already. */ waited: boolean }
  | { type: "run"; run: number; program: string; options: { backend: string } }
  /** What would become of a call of the piece of code `frame` with other sizes. */
  | { type: "ask"; ask: number; regions: readonly CapturedGraph[]; frame: number; trials: readonly Trial[] }
  /** About the joint graph of a compilation of the last run. */
  | { type: "study"; ask: number; compilation: number; question: Question };

export type FromInterpreter =
  | { type: "ready" }
  | { type: "event"; run: number; /** As JSON, where it holds no bytes. */ event: Event | string }
  | { type: "done"; run: number; /** Milliseconds that the interpreter took. */ took: number }
  | { type: "answer"; ask: number; answer: WhatIf | Answer }
  | { type: "unanswered"; ask: number; message: string }
  /** The module itself failed: its instance is of no more use. */
  | { type: "failed"; message: string };

export type Device = "webgpu" | "cpu";

export type ToGpu =
  | { type: "init"; module: WebAssembly.Module }
  | { type: "run"; run: number; bundle: Bundle; device: Device }
  /** Builds a training step and takes steps. */
  | { type: "train"; run: number; bundle: Bundle; recipe: Recipe; device: Device; steps: number }
  /** Takes further steps of what was built last. */
  | { type: "continue"; run: number; lr: number; steps: number }
  /** A value as PyTorch prints it; answered at once, whatever else goes on. */
  | { type: "print"; ask: number; tensor: TensorData }
  /** While steps are taken: another step size, or the end of it. */
  | { type: "adjust"; lr: number }
  | { type: "pause" };

export type FromGpu =
  | { type: "ready" }
  | { type: "result"; run: number; result: RunResult }
  | { type: "training"; run: number; training: Training }
  | { type: "losses"; run: number; losses: number[]; seconds: number }
  | { type: "printed"; ask: number; text: string }
  | { type: "trained"; run: number; parameters: Named[] }
  | { type: "refused"; run: number; message: string; node: string | null }
  | { type: "failed"; message: string };

/** What one graph can become, by the names of the command line. */
export type GraphFormat = "python" | "dot" | "table";

/** To the worker that makes exports; it answers every message but the first. */
export type ToExport =
  | { type: "init"; module: WebAssembly.Module }
  | { type: "graph"; readable: string; format: GraphFormat; about: string; bundle: Bundle | null }
  | { type: "logs"; report: Report };

export type FromExport = { type: "made"; text: string } | { type: "failed"; message: string };
