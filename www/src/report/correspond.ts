// The same value in another stage: by name where it keeps it, else by the operator call and the place in the script it comes from.
import type { GraphView, NodeView, Span } from "../generated/report";
import { overlaps } from "./place";

/** What is known of a value when it is looked for elsewhere. */
export interface Trace {
  names: readonly string[];
  span: Span | undefined;
  /** Of the node it was chosen as, where it was one. */
  seq_nr?: number | null | undefined;
  is_backward?: boolean | undefined;
}

export function sameSpan(a: Span, b: Span): boolean {
  return a.file === b.file && a.line === b.line && a.column === b.column && a.end_line === b.end_line && a.end_column === b.end_column;
}

/** The node of a graph that a trace leads to; `undefined` where there is none. The more two have in common, the better; of equals, the first. */
export function correspond(graph: GraphView, trace: Trace): NodeView | undefined {
  let best: NodeView | undefined;
  let most = 0;
  for (const node of graph.nodes) {
    if (node.op === "output" && !trace.names.includes(node.name)) continue;
    const score = likeness(node, trace);
    if (score > most) [best, most] = [node, score];
  }
  return best;
}

export function likeness(node: NodeView, { names, span, seq_nr, is_backward }: Trace): number {
  const named = names.includes(node.name);
  const placed = !!span && !!node.span && sameSpan(node.span, span);
  const onLine = !!span && !!node.span && overlaps(node.span, span);
  // Stages number their values anew: one of the same name that comes from elsewhere is another.
  if (named && (onLine || !span || !node.span)) return 16;
  // A whole line was chosen: whatever comes from it.
  if (names.length === 0 && onLine) return node.op === "placeholder" ? 1 : 2;
  if (!placed) return 0;
  const sameCall = seq_nr !== null && seq_nr !== undefined && seq_nr === node.seq_nr;
  return 1 + (sameCall ? 8 : 0) + (node.is_backward === (is_backward ?? false) ? 4 : 0) + (node.op === "placeholder" ? 0 : 1);
}

/** Nodes that belong to a choice: of a value, it and what comes from the same place; of lines, what comes from them. */
export function belongs(node: NodeView, { names, span }: Trace): boolean {
  if (names.length === 0) return !!span && !!node.span && overlaps(node.span, span);
  return names.includes(node.name) || (!!span && !!node.span && sameSpan(node.span, span));
}
