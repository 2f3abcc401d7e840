// The text of the selected graph as PyTorch prints it: saved values are marked, and lines linked to the script's.
import { effect, type ReadonlySignal, untracked, useSignalEffect } from "@preact/signals";
import type { EditorView } from "@codemirror/view";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { foldAllSources, sourceLine, unfoldAt } from "../editor/folds";
import { openFind } from "../editor/find";
import { createGraphViewer, isCall, showGraph } from "../editor/graph";
import { reveal, showLinked } from "../editor/marks";
import { setNames } from "../editor/names";
import { setWrapping } from "../editor/wrapping";
import type { GraphView, Span } from "../generated/report";
import { about } from "../report/about";
import { belongs, correspond } from "../report/correspond";
import { isTraced, STAGE_TITLES, type Stage, type Unit } from "../report/stages";
import { select, type Selection, selection } from "../state/selection";
import { graphsRun, shown } from "../state/session";
import { selectedStage, selectedUnit, sourceNames } from "../state/unit";
import { foldGraphs, wrapGraphs } from "../state/view";

let shownViewer: EditorView | undefined;

/** Opens the search in the text that is shown. */
export function findInGraph(): void {
  if (shownViewer) openFind(shownViewer);
}

/** Which graph a viewer shows. */
export interface ShownGraph {
  unit: ReadonlySignal<Unit | undefined>;
  stage: ReadonlySignal<Stage | undefined>;
  /** What the script calls its inputs. */
  names: ReadonlySignal<ReadonlyMap<string, string>>;
  from: Selection["from"];
  label: string;
}

/** The graph that is selected. */
export const FIRST: ShownGraph = { unit: selectedUnit, stage: selectedStage, names: sourceNames, from: "graph", label: "Graph" };

/** One viewer, told what to show. */
export function GraphText({ of = FIRST, onView }: { of?: ShownGraph; onView?: (view: EditorView) => void }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const viewer = useRef<EditorView | undefined>(undefined);

  useEffect(() => {
    const view = createGraphViewer(of.label, () => {});
    viewer.current = view;
    if (of === FIRST) shownViewer = view;
    onView?.(view);
    host.current?.append(view.dom);
    let text: string | undefined;
    let place: string | undefined;
    const stop = effect(() => {
      const unit = of.unit.value;
      const stage = of.stage.value;
      const graph = stage && unit?.stages[stage];
      if (!unit || !stage || !graph) return;
      const nextPlace = `${unit.key} ${stage}`;
      const moved = nextPlace !== place;
      const chosen = selection.value;
      if (graph.readable !== text || moved) {
        const { scrollTop, scrollLeft } = view.scrollDOM;
        showGraph(view, graph, of === FIRST ? `${STAGE_TITLES[stage]} graph` : of.label, (line) => choose(graph, line, of.from), (name) => about(unit, stage, name));
        untracked(() => {
          setWrapping(view, wrapGraphs.value);
          if (foldGraphs.value) foldAllSources(view, true);
        });
        if (!moved) view.requestMeasure({ read: () => {}, write: () => view.scrollDOM.scrollTo(scrollLeft, scrollTop) });
        text = graph.readable;
        place = nextPlace;
      }
      const lines = linkedLines(graph, chosen);
      showLinked(view, lines);
      const { compilation } = unit;
      const partitioned = isTraced(stage) && stage !== "functionalized";
      view.dispatch({
        effects: setNames.of({
          saved: new Set(partitioned ? compilation?.saved?.map(({ name }) => name) : []),
          recomputed: new Set(partitioned ? compilation?.partition?.recomputed : []),
          chosen: new Set(chosen?.names),
          sources: of.names.value,
        }),
      });
      if (chosen && (chosen.from !== of.from || moved)) {
        const main = correspond(graph, chosen)?.text_line;
        const line = typeof main === "number" && lines.includes(main + 1) ? main + 1 : lines[0];
        if (line !== undefined) {
          unfoldAt(view, line);
          reveal(view, line);
        }
      }
    });
    return () => {
      stop();
      if (shownViewer === view) shownViewer = undefined;
      view.destroy();
    };
  }, []);
  useSignalEffect(() => {
    const on = wrapGraphs.value;
    if (viewer.current) setWrapping(viewer.current, on);
  });
  useSignalEffect(() => {
    const on = foldGraphs.value;
    if (viewer.current) foldAllSources(viewer.current, on);
  });

  return <div class="graph-text" ref={host} data-stage={of.stage.value} data-run={graphsRun.value === shown.value ? "shown" : "old"} />;
}

function choose(graph: GraphView, line: number, from: Selection["from"]): void {
  const nodes = graph.nodes.filter((node) => node.text_line === line && isCall(node));
  const source = sourceLine(graph.readable.split("\n")[line] ?? "");
  if (nodes.length > 0) select({ from, span: nodes.find(({ span }) => span)?.span ?? undefined, names: nodes.map(({ name }) => name) });
  else if (source) select({ from, span: sourceSpan(graph, line, source), names: [] });
  else select(undefined);
}

/** The place that a comment names, as what stands below it has it: what a package computes is meant as the line that calls it. */
function sourceSpan(graph: GraphView, line: number, source: number): Span {
  const below = graph.nodes.find(({ span, text_line }) => span && text_line !== null && text_line > line);
  return below?.span ?? { line: source, column: 0, end_line: source, end_column: 0 };
}

/** Lines of a graph's text, counted from 1, that belong to the choice. */
function linkedLines(graph: GraphView, chosen: Selection | undefined): number[] {
  if (!chosen) return [];
  return graph.nodes.flatMap((node) => (node.text_line !== null && isCall(node) && belongs(node, chosen) ? [node.text_line + 1] : []));
}
