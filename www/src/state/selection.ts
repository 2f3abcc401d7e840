// What is chosen, in whichever view: a place in the script, and the names of values. Every view shows the same choice.
import { signal } from "@preact/signals";
import type { Span } from "../generated/report";

export interface Selection {
  /** Which view chose: it does not scroll itself. */
  from: "script" | "graph" | "saved" | "output" | "run";
  /** Range of lines of the script. */
  span: Span | undefined;
  /** Names of values, in the graphs. */
  names: readonly string[];
}

export const selection = signal<Selection | undefined>(undefined);

export function select(next: Selection | undefined): void {
  selection.value = next;
}

/** Whether `span` touches the lines `first..=last`. */
export function touches(span: Span | null | undefined, first: number, last: number): boolean {
  return !!span && span.line <= last && span.end_line >= first;
}
