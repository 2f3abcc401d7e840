// What page and workers say to each other: generated from Rust's types, but for the first message.
import type * as report from "../generated/report";

/** The module comes compiled, so that a second worker starts without a download. */
export interface Init {
  type: "init";
  module: WebAssembly.Module;
  /** Whether a script waits already. */
  waited?: boolean;
}

/** The module itself failed: its instance is of no more use. */
export interface Failed {
  type: "failed";
  message: string;
}

export type ToInterpreter = Init | report.ToInterpreter;
export type ToGpu = Init | report.ToGpu;
export type ToExport = Init | report.ToExport;
export type ToReader = Init | report.ToReader;
export type { FromExport, FromGpu, FromInterpreter, FromReader, GraphFormat, Runner } from "../generated/report";
