// Where in the script the nodes of a run come from.
import type { NodeView, Span } from "../../generated/report";
import type { Unit } from "../../report/stages";

function nodesOf(unit: Unit | undefined, names: readonly string[]): NodeView[] {
  const wanted = new Set(names);
  const found = new Map<string, NodeView>();
  for (const stage of ["forward", "inference", "backward", "joint"] as const) {
    for (const node of unit?.stages[stage]?.nodes ?? []) if (wanted.has(node.name) && !found.has(node.name)) found.set(node.name, node);
  }
  return [...found.values()];
}

/** The lines of the script that nodes come from, in order. */
export function linesOf(unit: Unit | undefined, names: readonly string[]): number[] {
  const lines = nodesOf(unit, names).flatMap(({ span }) => (span ? [span.line] : []));
  return [...new Set(lines)].sort((a, b) => a - b);
}

/** One node's place; of several, the lines from the first to the last. */
export function spanOf(unit: Unit | undefined, names: readonly string[]): Span | undefined {
  const spans = nodesOf(unit, names).flatMap(({ span }) => (span ? [span] : []));
  const first = spans[0];
  if (!first || spans.every((span) => span.line === first.line && span.end_line === first.end_line)) return first;
  const line = Math.min(...spans.map((span) => span.line));
  return { line, column: 0, end_line: Math.max(...spans.map((span) => span.end_line)), end_column: 0 };
}

/** The nodes among `names` that come from a line. */
export function namesOn(unit: Unit | undefined, names: readonly string[], line: number): string[] {
  return nodesOf(unit, names)
    .filter(({ span }) => span?.line === line)
    .map(({ name }) => name);
}
