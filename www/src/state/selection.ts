// What is chosen, in whichever view: a place in the script, and the names of values. Every view shows the same choice.
import { signal } from "@preact/signals";
import type { Span } from "../generated/report";

export interface Selection {
  /** Which view chose: it does not scroll itself. */
  from: "script" | "graph" | "beside" | "picture" | "table" | "saved" | "output" | "run" | "guards" | "aliasing" | "partition" | "memory" | "link";
  /** Range of lines of the script. */
  span: Span | undefined;
  /** Names of values, in the graphs. */
  names: readonly string[];
}

export const selection = signal<Selection | undefined>(undefined);

export function select(next: Selection | undefined): void {
  selection.value = next;
}

/** A choice as plain data, for links: names, and the four numbers of its span. */
export interface KeptSelection {
  names?: readonly string[];
  span?: readonly [number, number, number, number];
  /** The file beside the script that the span is of. */
  file?: string;
}

/** Lines of a script that a link may point at: far more than scripts have. */
const MOST_LINES = 100_000;
/** Names of one choice that are kept at most: a line of a large graph may stand for thousands. */
const MOST_NAMES = 32;

export function keptSelection(): KeptSelection | undefined {
  const chosen = selection.value;
  if (!chosen || (chosen.names.length === 0 && !chosen.span)) return undefined;
  const { names, span } = chosen;
  return {
    ...(names.length > 0 ? { names: names.slice(0, MOST_NAMES) } : {}),
    ...(span ? { span: [span.line, span.column, span.end_line, span.end_column] as const } : {}),
    ...(span?.file === undefined ? {} : { file: span.file }),
  };
}

/** Chooses what `keptSelection` gave once; anything else chooses nothing. Says whether something was chosen. */
export function bringSelection(raw: unknown): boolean {
  const { names, span, file } = (typeof raw === "object" && raw !== null ? raw : {}) as { names?: unknown; span?: unknown; file?: unknown };
  const isSpan = Array.isArray(span) && span.length === 4 && span.every((n) => Number.isInteger(n) && (n as number) >= 0);
  const known = Array.isArray(names) ? names.filter((name) => typeof name === "string").slice(0, MOST_NAMES) : [];
  if (!isSpan && known.length === 0) return false;
  const [line, column, end_line, end_column] = isSpan ? (span as number[]).map((n) => Math.min(n, MOST_LINES)) as [number, number, number, number] : [0, 0, 0, 0];
  select({ from: "link", span: isSpan ? { line, column, end_line, end_column, ...(typeof file === "string" ? { file } : {}) } : undefined, names: known });
  return true;
}

/** Whether `span` touches the lines `first..=last`. */
export function touches(span: Span | null | undefined, first: number, last: number): boolean {
  return !!span && span.file === undefined && span.line <= last && span.end_line >= first;
}
