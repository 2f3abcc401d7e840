// Where in the script the nodes of a run come from.
import type { NodeView, Span } from "../../generated/report";
import { shortPlace } from "../../report/place";
import type { Unit } from "../../report/stages";

function nodesOf(unit: Unit | undefined, names: readonly string[]): NodeView[] {
  const wanted = new Set(names);
  const found = new Map<string, NodeView>();
  for (const stage of ["forward", "inference", "backward", "joint"] as const) {
    for (const node of unit?.stages[stage]?.nodes ?? []) if (wanted.has(node.name) && !found.has(node.name)) found.set(node.name, node);
  }
  return [...found.values()];
}

/** The lines that nodes come from, those of the script first, in order. */
export function linesOf(unit: Unit | undefined, names: readonly string[]): Pick<Span, "line" | "file">[] {
  const places = new Map(nodesOf(unit, names).flatMap(({ span }) => (span ? [[shortPlace(span), { line: span.line, ...(span.file === undefined ? {} : { file: span.file }) }] as const] : [])));
  return [...places.values()].sort((a, b) => (a.file ?? "").localeCompare(b.file ?? "") || a.line - b.line);
}

/** One node's place; of several, the lines from the first to the last of the first one's file. */
export function spanOf(unit: Unit | undefined, names: readonly string[]): Span | undefined {
  const all = nodesOf(unit, names).flatMap(({ span }) => (span ? [span] : []));
  const first = all[0];
  const spans = all.filter(({ file }) => file === first?.file);
  if (!first || spans.every((span) => span.line === first.line && span.end_line === first.end_line)) return first;
  const line = Math.min(...spans.map((span) => span.line));
  return { ...first, line, column: 0, end_line: Math.max(...spans.map((span) => span.end_line)), end_column: 0 };
}

/** The nodes among `names` that come from a line. */
export function namesOn(unit: Unit | undefined, names: readonly string[], { line, file }: Pick<Span, "line" | "file">): string[] {
  return nodesOf(unit, names)
    .filter(({ span }) => span?.line === line && span.file === file)
    .map(({ name }) => name);
}
