// The panes there are. A further view is a further entry here, and its name in the layout.
import type { ComponentType } from "preact";
import { graphsRun, shown } from "../state/session";
import { GraphsPane } from "./graphs";
import { OutputPane, OutputTools } from "./output";
import { RunPane } from "./run";
import { SavedPane } from "./saved";
import { ScriptPane } from "./script";
import { selectedUnit } from "../state/unit";

export type PaneId = "script" | "output" | "graphs" | "saved" | "run";

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
  script: { title: "Script", component: ScriptPane },
  output: { title: "Output", component: OutputPane, tools: OutputTools, badge: () => (shown.value?.report.exception ? "!" : undefined) },
  graphs: { title: "Graphs", component: GraphsPane, badge: () => count(graphsRun.value?.report.compilations.length) },
  saved: { title: "Saved values", short: "Saved", component: SavedPane, badge: () => count(selectedUnit.value?.compilation?.saved?.length) },
  run: { title: "Run on GPU", short: "Run", component: RunPane },
};

function count(number: number | undefined): string | undefined {
  return number ? String(number) : undefined;
}
