// What is counted, each in one way: header, panes, badges and tables all ask here.
import type { Compilation, Partition, Report } from "../generated/report";
import { formatBytes, plural } from "./format";
import { units } from "./stages";

export interface Counts {
  /** Graphs that Dynamo captured, compiled or not, without discarded traces. */
  graphs: number;
  /** Cache misses after which a frame was compiled again. One that reached the recompile limit was not. */
  recompiles: number;
  /** Frames that reached the recompile limit. */
  limits: number;
  /** Calls that ran such frames uncompiled. */
  uncompiled: number;
  breaks: number;
}

export function countsOf(report: Report): Counts {
  const limits = report.limits ?? [];
  return {
    graphs: units(report).filter(({ compilation }) => !compilation?.abandoned).length,
    recompiles: Math.max(0, report.recompiles.length - limits.length),
    limits: limits.length,
    uncompiled: limits.reduce((sum, { calls }) => sum + calls, 0),
    breaks: report.breaks.length,
  };
}

/** The counts as a line: those that are not 0. */
export function countsText(report: Report): string {
  const { graphs, recompiles, uncompiled, breaks } = countsOf(report);
  const parts = [
    graphs > 0 && plural(graphs, "graph"),
    recompiles > 0 && plural(recompiles, "recompile"),
    uncompiled > 0 && `${plural(uncompiled, "call")} uncompiled`,
    breaks > 0 && plural(breaks, "graph break"),
  ];
  return parts.filter(Boolean).join(" · ");
}

export interface Kept {
  /** Values saved for backward: tensors and symbolic numbers. */
  values: number;
  /** Their bytes as they are listed, views and inputs included. */
  listed: number;
  /** Bytes of activations that they keep alive: distinct storages that are no input's. */
  activations: number;
}

/** What a partition saves. */
export function keptBy(partition: Partition): Kept {
  const values = partition.decisions.filter(({ fate }) => fate === "saved").length;
  return { values, listed: partition.saved_bytes, activations: partition.activation_bytes };
}

/** What a compilation saves; its partitioner may be the script's own, and tell nothing. */
export function keptOf({ saved, partition }: Compilation): Kept {
  const list = saved ?? [];
  const listed = list.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
  // The base of a view may not be among what is saved: then the partitioner alone knows its size.
  const own = list.filter(({ view_of, of_input }) => !view_of && !of_input).reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
  return { values: list.length, listed, activations: partition && partition.decisions.length > 0 ? partition.activation_bytes : own };
}

/** `5 values saved: 16 KiB listed, 12 KiB of activations kept alive`. */
export function keptText({ values, listed, activations }: Kept): string {
  return `${plural(values, "value")} saved: ${formatBytes(listed)} listed, ${formatBytes(activations)} of activations kept alive`;
}

/** Values of the forward that the backward computes again. */
export const recomputedBy = (partition: Partition | null | undefined): number => partition?.recomputed.length ?? 0;
