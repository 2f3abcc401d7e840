// One script under several backends: what each printed, saved and captured, and which is the first that differs from eager mode.
import type { Report } from "../generated/report";
import { formatBytes } from "./format";
import { countsOf, keptOf } from "./counts";

/** What came of a backend. */
export interface Rung {
  backend: string;
  /** What was printed, and the exception's last line where one ended it, by lines. */
  lines: readonly string[];
  /** Bytes that are saved for backward, of all graphs; `undefined` where the backend runs no AOTAutograd. */
  saved: number | undefined;
  graphs: number;
  breaks: number;
  /** Why it did not come to its end: a sentence. */
  ended?: string;
}

export interface Difference {
  /** Counts from 1. */
  line: number;
  /** What stands there; nothing where the output is shorter. */
  first: string | undefined;
  second: string | undefined;
}

export function rungOf(backend: string, report: Report, ended?: string): Rung {
  const { graphs, breaks } = countsOf(report);
  const compilations = report.compilations.filter(({ abandoned }) => !abandoned);
  const { exception } = report;
  const printed = report.stdout + (exception ? `${report.stdout.endsWith("\n") || report.stdout === "" ? "" : "\n"}${exception.type}: ${exception.message}` : "");
  return {
    backend,
    lines: printed.replace(/\n$/, "").split("\n"),
    saved: backend === "eager" ? undefined : compilations.reduce((sum, compilation) => sum + keptOf(compilation).listed, 0),
    graphs,
    breaks,
    ...(ended === undefined ? {} : { ended }),
  };
}

/** The first line in which two outputs differ. */
export function firstDifference(one: readonly string[], other: readonly string[]): Difference | undefined {
  const most = Math.max(one.length, other.length);
  for (let at = 0; at < most; at += 1) if (one[at] !== other[at]) return { line: at + 1, first: one[at], second: other[at] };
  return undefined;
}

/** The first backend that prints something else than the first one, with the line. */
export function firstThatDiffers(rungs: readonly Rung[]): { backend: string; difference: Difference } | undefined {
  const [reference, ...others] = rungs;
  for (const { backend, lines, ended } of others) {
    const difference = reference && !ended && !reference.ended ? firstDifference(reference.lines, lines) : undefined;
    if (difference) return { backend, difference };
  }
  return undefined;
}

/** What else is not the same under all of them: sentences. */
export function otherDifferences(rungs: readonly Rung[]): string[] {
  const whole = rungs.filter(({ ended }) => !ended);
  const sentence = (what: string, of: (rung: Rung) => string | undefined): string[] => {
    const known = whole.flatMap((rung) => {
      const value = of(rung);
      return value === undefined ? [] : [[rung.backend, value] as const];
    });
    return new Set(known.map(([, value]) => value)).size > 1 ? [`${what} differ: ${known.map(([backend, value]) => `${value} under ${backend}`).join(", ")}.`] : [];
  };
  return [
    ...sentence("Saved bytes", ({ saved }) => (saved === undefined ? undefined : formatBytes(saved))),
    ...sentence("Graphs", ({ graphs }) => String(graphs)),
    ...sentence("Graph breaks", ({ breaks }) => String(breaks)),
  ];
}
