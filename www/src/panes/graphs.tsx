// The graphs of a compilation, stage by stage, as PyTorch prints them; saved values are marked, and lines linked to the
// script's.
import { effect, untracked, useSignalEffect } from "@preact/signals";
import type { EditorView } from "@codemirror/view";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { createGraphViewer, setWrapping, showGraph } from "../editor/graph";
import { reveal, showLinked } from "../editor/marks";
import { setNames } from "../editor/names";
import type { GraphView } from "../generated/report";
import { Tabs } from "../layout/tabs";
import { formatBytes, plural } from "../report/format";
import { STAGE_HELP, STAGE_TITLES, type Stage, type Unit } from "../report/stages";
import { select, selection, touches } from "../state/selection";
import { engine, graphsAreOld, graphsRun, shown } from "../state/session";
import { allUnits, selectedStage, selectedUnit, stagesOfUnit, wantedStage, wantedUnit } from "../state/unit";
import { wrapGraphs } from "../state/view";

export function GraphsPane(): JSX.Element {
  const unit = selectedUnit.value;
  const stage = selectedStage.value;
  if (!unit || !stage) return <NoGraphs />;
  return (
    <div class="graphs">
      <div class="graph-bar">
        <Chooser />
        <Tabs
          id="stage"
          label="Stage"
          class="segmented"
          tabs={stagesOfUnit.value.map((key) => ({ key, title: STAGE_TITLES[key], help: STAGE_HELP[key] }))}
          open={stage}
          onOpen={(next) => (wantedStage.value = next)}
        />
        <label class="check">
          <input type="checkbox" checked={wrapGraphs.value} onChange={(event) => (wrapGraphs.value = event.currentTarget.checked)} />
          Wrap
        </label>
      </div>
      {graphsAreOld.value && <p class="stale">The script failed before it compiled anything; these graphs are from the run before.</p>}
      <p class="caption">
        {STAGE_HELP[stage]} <Legend unit={unit} stage={stage} />
      </p>
      <GraphText />
    </div>
  );
}

function NoGraphs(): JSX.Element {
  if (!shown.value) {
    return <p class="empty">{engine.value.state === "ready" ? "The graphs appear here." : "The graphs appear here once the interpreter has arrived."}</p>;
  }
  return (
    <p class="empty">
      Nothing was compiled. Give a function to <code>torch.compile</code>, and call it.
    </p>
  );
}

/** Chooses among several compilations. */
function Chooser(): JSX.Element | null {
  const all = allUnits.value;
  if (all.length < 2) return null;
  return (
    <select
      class="select"
      aria-label="Compilation"
      value={selectedUnit.value?.key ?? ""}
      onChange={(event) => {
        wantedUnit.value = event.currentTarget.value;
      }}
    >
      {all.map(({ key, title, compilation }, index) => (
        <option key={key} value={key}>
          {`${index + 1} · ${title}${compilation ? "" : " (not compiled)"}`}
        </option>
      ))}
    </select>
  );
}

function Legend({ unit, stage }: { unit: Unit; stage: Stage }): JSX.Element | null {
  const { compilation } = unit;
  if (stage === "captured" || !compilation) return null;
  const saved = compilation.saved ?? [];
  const recomputed = compilation.partition?.recomputed ?? [];
  const bytes = saved.reduce((sum, value) => sum + (value.bytes ?? 0), 0);
  return (
    <span class="legend">
      {saved.length > 0 && (
        <span class="legend-saved">
          {plural(saved.length, "saved value")}, {formatBytes(bytes)}
        </span>
      )}
      {recomputed.length > 0 && <span class="legend-recomputed">{recomputed.length} recomputed</span>}
      {stage === "joint" && (
        <>
          <span class="legend-forward">forward</span>
          <span class="legend-backward">backward</span>
        </>
      )}
    </span>
  );
}

/** The text of the selected graph: one viewer, told what to show. */
function GraphText(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const viewer = useRef<EditorView | undefined>(undefined);

  useEffect(() => {
    const view = createGraphViewer("Graph", () => {});
    viewer.current = view;
    host.current?.append(view.dom);
    let text: string | undefined;
    let place: string | undefined;
    const stop = effect(() => {
      const unit = selectedUnit.value;
      const stage = selectedStage.value;
      const graph = stage && unit?.stages[stage];
      if (!unit || !stage || !graph) return;
      const nextPlace = `${unit.key} ${stage}`;
      if (graph.readable !== text || nextPlace !== place) {
        const { scrollTop, scrollLeft } = view.scrollDOM;
        showGraph(view, graph, `${STAGE_TITLES[stage]} graph`, (line) => choose(graph, line));
        untracked(() => setWrapping(view, wrapGraphs.value));
        if (nextPlace === place) view.requestMeasure({ read: () => {}, write: () => view.scrollDOM.scrollTo(scrollLeft, scrollTop) });
        text = graph.readable;
        place = nextPlace;
      }
      const chosen = selection.value;
      const lines = linkedLines(graph, chosen);
      showLinked(view, lines);
      const { compilation } = unit;
      view.dispatch({
        effects: setNames.of({
          saved: new Set(stage === "captured" ? [] : compilation?.saved?.map(({ name }) => name)),
          recomputed: new Set(stage === "captured" ? [] : compilation?.partition?.recomputed),
          chosen: new Set(chosen?.names),
        }),
      });
      if (chosen && chosen.from !== "graph" && lines[0] !== undefined) reveal(view, lines[0]);
    });
    return () => {
      stop();
      view.destroy();
    };
  }, []);
  useSignalEffect(() => {
    const on = wrapGraphs.value;
    if (viewer.current) setWrapping(viewer.current, on);
  });

  return <div class="graph-text" ref={host} data-stage={selectedStage.value} data-run={graphsRun.value === shown.value ? "shown" : "old"} />;
}

/** PyTorch's comment above the values of a line: `# File: script.py:14 in forward, code: ...`. */
const SOURCE = /^\s*# .*File: .*?:(\d+) in /;

function choose(graph: GraphView, line: number): void {
  const nodes = graph.nodes.filter((node) => node.text_line === line && node.op === "call_function");
  const source = Number(SOURCE.exec(graph.readable.split("\n")[line] ?? "")?.[1]);
  if (nodes.length > 0) select({ from: "graph", span: nodes.find(({ span }) => span)?.span ?? undefined, names: nodes.map(({ name }) => name) });
  else if (source > 0) select({ from: "graph", span: { line: source, column: 0, end_line: source, end_column: 0 }, names: [] });
  else select(undefined);
}

/** Lines of a graph's text, counted from 1, that belong to the choice. */
function linkedLines(graph: GraphView, chosen: typeof selection.value): number[] {
  if (!chosen) return [];
  const { span, names } = chosen;
  // A choice without names is of whole lines: whatever comes from them belongs to it.
  const belongs = (node: GraphView["nodes"][number]): boolean =>
    names.length === 0
      ? !!span && touches(node.span, span.line, span.end_line)
      : names.includes(node.name) || (!!span && !!node.span && sameSpan(node.span, span));
  return graph.nodes.flatMap((node) => (node.text_line !== null && node.op === "call_function" && belongs(node) ? [node.text_line + 1] : []));
}

function sameSpan(a: NonNullable<GraphView["nodes"][number]["span"]>, b: typeof a): boolean {
  return a.line === b.line && a.column === b.column && a.end_line === b.end_line && a.end_column === b.end_column;
}
