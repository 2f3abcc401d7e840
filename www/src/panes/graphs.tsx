// The graphs of a compilation, stage by stage, in three views: the text that PyTorch prints, a picture, a table.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Tabs } from "../layout/tabs";
import { keptOf } from "../report/counts";
import { formatBytes, plural } from "../report/format";
import { isTraced, STAGE_HELP, STAGE_TITLES, type Stage, type Unit } from "../report/stages";
import { notice } from "../state/address";
import { beside } from "../state/beside";
import { onlyGraphs } from "../state/layout";
import { unreadable } from "../state/logs";
import { COMPUTES_NOTHING, still } from "../state/still";
import { engine, graphsAreOld, graphsRun, shown } from "../state/session";
import { allUnits, selectedStage, selectedUnit, stagesOfUnit, wantedStage, wantedUnit } from "../state/unit";
import { GRAPH_VIEWS, graphView, type GraphViewKind, foldGraphs, wantedWrap, wrapGraphs } from "../state/view";
import { lazy } from "../ui/lazy";
import { copyGraph } from "../exports/copy-graph";
import { delivered } from "../exports/deliver";
import { findInGraph, GraphText } from "./graph-text";

const VIEW_TITLES: Record<GraphViewKind, string> = { text: "Text", picture: "Picture", table: "Table" };
const VIEW_HELP: Record<GraphViewKind, string> = {
  text: "As PyTorch prints it",
  picture: "Nodes and edges, by module; forward and backward face to face",
  table: "A row per node, as print_tabular",
};
const COPY_HELP: Record<GraphViewKind, string> = {
  text: "Copies the graph's text",
  picture: "Copies the picture, as PNG",
  table: "Copies the table, as graph.print_tabular() prints it",
};
const Picture = lazy(() => import("../picture/picture").then((module) => module.default));
const Beside = lazy(() => import("./beside").then((module) => module.BesideGraphs));
const Table = lazy(() => import("./graph-table").then((module) => module.default));

export function GraphsPane(): JSX.Element {
  const unit = selectedUnit.value;
  const stage = selectedStage.value;
  if (!unit || !stage) {
    return (
      <div class="graphs">
        {allUnits.value.length > 1 && (
          <div class="graph-bar">
            <Chooser />
          </div>
        )}
        <NoGraphs />
      </div>
    );
  }
  const view = graphView.value === "text" ? beside.value ? <Beside /> : <GraphText /> : graphView.value === "picture" ? <Picture /> : <Table />;
  if (onlyGraphs) return <div class="graph-view">{view}</div>;
  return (
    <div class="graphs">
      <div class="graph-bar">
        <Chooser />
        <div class="slider" onPointerMove={slide}>
          <Tabs
            id="stage"
            label="Stage"
            class="segmented"
            tabs={stagesOfUnit.value.map((key) => ({ key, title: STAGE_TITLES[key], help: STAGE_HELP[key] }))}
            open={stage}
            onOpen={(next) => (wantedStage.value = next)}
          />
        </div>
        <Tabs
          id="view"
          label="View"
          class="segmented views"
          tabs={GRAPH_VIEWS.map((key) => ({ key, title: VIEW_TITLES[key], help: VIEW_HELP[key] }))}
          open={graphView.value}
          onOpen={(next) => (graphView.value = next)}
        />
        {graphView.value === "text" && <TextOptions />}
      </div>
      {graphsAreOld.value && <p class="stale">The script failed before it compiled anything; these graphs are from the run before.</p>}
      <div class="graph-line">
        <p class="caption">
          {STAGE_HELP[stage]} <Legend unit={unit} stage={stage} />
        </p>
        {graphView.value === "text" && (
          <button
            type="button"
            class="button small"
            aria-pressed={beside.value !== undefined}
            title="A second graph beside it: another stage, another backend, a run that was pinned"
            onClick={() => (beside.value = beside.value ? undefined : {})}
          >
            Beside
          </button>
        )}
        {graphView.value === "text" && (
          <button type="button" class="button small" title="Search in this text (Ctrl+F in it)" onClick={findInGraph}>
            Find
          </button>
        )}
        {!(still && graphView.value === "table") && <CopyGraph unit={unit} stage={stage} />}
      </div>
      <div class="graph-view" id="stage-panel" role="tabpanel" aria-labelledby={`stage-tab-${stage}`}>
        <div class="graph-view" id="view-panel" role="tabpanel" aria-labelledby={`view-tab-${graphView.value}`}>
          {view}
        </div>
      </div>
    </div>
  );
}

/** Stages are slid through: a pressed pointer opens those it comes over. */
function slide(event: PointerEvent): void {
  if (event.buttons !== 1) return;
  const tab = document.elementFromPoint(event.clientX, event.clientY)?.closest("[role=tab]");
  const stage = stagesOfUnit.value.find((key) => tab?.id === `stage-tab-${key}`);
  if (stage && stage !== selectedStage.value) wantedStage.value = stage;
}

function TextOptions(): JSX.Element {
  return (
    <>
      <label class="check" title="Folds what comes from one line of the script under that line">
        <input type="checkbox" checked={foldGraphs.value} onChange={(event) => (foldGraphs.value = event.currentTarget.checked)} />
        Fold
      </label>
      <label class="check">
        <input type="checkbox" checked={wrapGraphs.value} onChange={(event) => (wantedWrap.value = event.currentTarget.checked)} />
        Wrap
      </label>
    </>
  );
}

/** Copies the graph as it is looked at. */
function CopyGraph({ unit, stage }: { unit: Unit; stage: Stage }): JSX.Element {
  const said = useSignal("");
  const of = `${unit.key} ${stage} ${graphView.value}`;
  const copy = async (): Promise<void> => {
    said.value = (await copyGraph(unit, stage, graphView.value)) ? of : "";
    if (!said.value) notice.value = { tone: "error", lines: [delivered.value] };
  };
  return (
    <button type="button" class="button small" title={COPY_HELP[graphView.value]} onClick={() => void copy()}>
      {said.value === of ? "Copied" : "Copy"}
    </button>
  );
}

function NoGraphs(): JSX.Element {
  if (still && selectedUnit.value) return <p class="empty">This file holds no graph of it. {COMPUTES_NOTHING}</p>;
  if (graphsRun.value?.log) return <p class="empty">{unreadable.value ?? (selectedUnit.value ? "Reading…" : "The log holds no graph that could be read. Its pane says what is in it.")}</p>;
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
  if (!isTraced(stage) || !compilation) return null;
  const saved = compilation.saved ?? [];
  const recomputed = compilation.partition?.recomputed ?? [];
  const { listed } = keptOf(compilation);
  return (
    <span class="legend">
      {saved.length > 0 && (
        <span class="legend-saved">
          {plural(saved.length, "saved value")}, {formatBytes(listed)}
        </span>
      )}
      {recomputed.length > 0 && <span class="legend-recomputed">{recomputed.length} recomputed</span>}
      {stage === "joint" && graphView.value !== "picture" && (
        <>
          <span class="legend-forward">forward</span>
          <span class="legend-backward">backward</span>
        </>
      )}
    </span>
  );
}
