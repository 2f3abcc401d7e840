// Places in words.
import type { Span } from "../generated/report";

/** `line 7` of the script, `layers.py:7` of a file beside it. */
export function placeInWords({ line, file }: Pick<Span, "line" | "file">): string {
  return file === undefined ? `line ${line}` : `${file}:${line}`;
}

/** The same, shorter: `7` of the script. */
export function shortPlace({ line, file }: Pick<Span, "line" | "file">): string {
  return file === undefined ? String(line) : `${file}:${line}`;
}

/** Whether lines of one are lines of the other. */
export function overlaps(a: Span, b: Span): boolean {
  return a.file === b.file && a.line <= b.end_line && a.end_line >= b.line;
}
