// How things are looked at. A link can carry all of it; these are the names:
//
//   graphView      (here)      "text" | "picture" | "table": how a graph is shown
//   wrapGraphs     (here)      whether long lines of graphs are wrapped
//   foldGraphs     (here)      whether what comes from one line of the script is folded under it
//   collapsed      (here)      which groups of the picture the visitor closed or opened, by path: a plain record
//   wantedUnit     (unit.ts)   key of the compilation, wantedStage (unit.ts) one of STAGES
//   selection      (selection.ts)  `keptSelection()` gives it as plain data, `bringSelection(raw)` takes that back, checked
import { signal } from "@preact/signals";

export const GRAPH_VIEWS = ["text", "picture", "table"] as const;
export type GraphViewKind = (typeof GRAPH_VIEWS)[number];

/** How the graph is shown. */
export const graphView = signal<GraphViewKind>("text");
/** Whether long lines of graphs are wrapped. */
export const wrapGraphs = signal(false);
/** Whether what comes from one line of the script is folded under it. */
export const foldGraphs = signal(false);
/** Groups of the picture that the visitor closed (`true`) or opened (`false`), by their path; others are as they come. */
export const collapsed = signal<Readonly<Record<string, boolean>>>({});
