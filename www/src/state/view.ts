// How things are looked at. A link can carry all of it; these are the names:
//
//   graphView      (here)      "text" | "picture" | "table": how a graph is shown
//   wantedWrap     (here)      whether long lines of graphs are wrapped, where the visitor said it
//   foldGraphs     (here)      whether what comes from one line of the script is folded under it
//   collapsed      (here)      which groups of the picture the visitor closed or opened, by path: a plain record
//   wantedUnit     (unit.ts)   key of the compilation, wantedStage (unit.ts) one of STAGES
//   selection      (selection.ts)  `keptSelection()` gives it as plain data, `bringSelection(raw)` takes that back, checked
import { computed, signal } from "@preact/signals";
import { narrow } from "./layout";

export const GRAPH_VIEWS = ["text", "picture", "table"] as const;
export type GraphViewKind = (typeof GRAPH_VIEWS)[number];

/** How the graph is shown. */
export const graphView = signal<GraphViewKind>("text");
/** Whether long lines of graphs are wrapped, where the visitor said it. */
export const wantedWrap = signal<boolean | undefined>(undefined);
/** Whether they are: a narrow window has no room for them. */
export const wrapGraphs = computed(() => wantedWrap.value ?? narrow.value);
/** Whether what comes from one line of the script is folded under it. */
export const foldGraphs = signal(false);
/** Groups of the picture that the visitor closed (`true`) or opened (`false`), by their path; others are as they come. */
export const collapsed = signal<Readonly<Record<string, boolean>>>({});
