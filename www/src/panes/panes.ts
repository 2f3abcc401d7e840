// The panes there are. A further view is a further entry here, and its name in the layout.
import type { ComponentType } from "preact";
import { graphsRun, shown } from "../state/session";
import { AliasingPane } from "./aliasing";
import { GraphsPane } from "./graphs";
import { GuardsPane } from "./guards";
import { MemoryPane } from "./memory";
import { OutputPane, OutputTools } from "./output";
import { PartitionPane } from "./partition";
import { PlotPane, printedSeries } from "./plot";
import { RunPane } from "./run";
import { SavedPane } from "./saved";
import { ScriptPane } from "./script";
import { ScriptTools } from "./script-tabs";
import { TimelinePane } from "./timeline";
import { countsOf } from "../report/counts";
import { tapeOf } from "../report/stages";
import { selectedUnit } from "../state/unit";

export type PaneId = "script" | "output" | "graphs" | "saved" | "partition" | "memory" | "aliasing" | "guards" | "run" | "timeline" | "plot";

interface Pane {
  title: string;
  /** The title where there is little room. */
  short?: string;
  component: ComponentType;
  /** Stands at the right of the pane's tabs. */
  tools?: ComponentType;
  /** A word beside the title. */
  badge?: () => string | undefined;
}

export const PANES: Record<PaneId, Pane> = {
  script: { title: "Script", component: ScriptPane, tools: ScriptTools },
  output: { title: "Output", component: OutputPane, tools: OutputTools, badge: () => (shown.value?.report.exception ? "!" : undefined) },
  graphs: { title: "Graphs", component: GraphsPane, badge: () => count(graphsRun.value && countsOf(graphsRun.value.report).graphs) },
  saved: { title: "Saved values", short: "Saved", component: SavedPane, badge: () => count(tapeOf(selectedUnit.value)?.inputs.length ?? selectedUnit.value?.compilation?.saved?.length) },
  partition: { title: "Partition", component: PartitionPane },
  memory: { title: "Memory", component: MemoryPane },
  aliasing: { title: "Aliasing", component: AliasingPane },
  guards: { title: "Guards", component: GuardsPane, badge: () => count(graphsRun.value && countsOf(graphsRun.value.report).recompiles) },
  run: { title: "Run on GPU", short: "Run", component: RunPane },
  timeline: { title: "Timeline", component: TimelinePane },
  plot: { title: "Plot", component: PlotPane, badge: () => count(printedSeries.value[0]?.columns.length) },
};

function count(number: number | undefined): string | undefined {
  return number ? String(number) : undefined;
}
