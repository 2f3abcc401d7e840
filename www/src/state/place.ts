// What is looked at, as links hold it: panes in front, compilation, stage, how graphs are shown, what is chosen.
import { PANES, type PaneId } from "../panes/panes";
import { quote, quoteAll } from "../report/quote";
import { STAGES } from "../report/stages";
import { embedded } from "./embedded";
import { front, onlyGraphs, panesInFront, showPane } from "./layout";
import type { Place } from "./link";
import { bringLooks, keptLooks } from "./looked";
import { bringSelection, keptSelection, select } from "./selection";
import { selectedStage, selectedUnit, wantedStage, wantedUnit } from "./unit";
import { collapsed, foldGraphs, GRAPH_VIEWS, graphView, wantedWrap } from "./view";

/** What is looked at now. */
export function currentPlace(): Place {
  const panes = panesInFront();
  const unit = selectedUnit.value?.key;
  const stage = selectedStage.value;
  const chosen = keptSelection();
  const looks = keptLooks();
  return {
    ...(panes.length > 0 ? { panes } : {}),
    ...(unit === undefined ? {} : { unit }),
    ...(stage === undefined ? {} : { stage }),
    ...(graphView.value === "text" ? {} : { graphs: graphView.value }),
    ...(wantedWrap.value === undefined ? {} : { wrap: wantedWrap.value }),
    ...(foldGraphs.value ? { fold: true } : {}),
    ...(Object.keys(collapsed.value).length > 0 ? { collapsed: collapsed.value } : {}),
    ...(Object.keys(looks).length > 0 ? { look: looks } : {}),
    ...(chosen ? { selection: chosen } : {}),
  };
}

/** Goes to a place, as far as this page has it; gives sentences on what it has not. */
export function goTo(place: Place): string[] {
  const notes: string[] = [];
  const unknown: string[] = [];
  const known = <Name extends string>(name: string | undefined, all: readonly Name[], what: string): Name | undefined => {
    const found = all.find((candidate) => candidate === name);
    if (name !== undefined && found === undefined) notes.push(`It shows ${what} this page does not have: ${quote(name)}.`);
    return found;
  };
  // A frame has fewer groups: it begins with script and graphs, or with the pane that was opened last.
  for (const name of embedded ? [] : (place.panes ?? [])) {
    if (Object.hasOwn(PANES, name)) showPane(name as PaneId);
    else unknown.push(name);
  }
  if (unknown.length > 0) notes.push(`It shows ${unknown.length > 1 ? "views" : "a view"} this page does not have: ${quoteAll(unknown)}.`);
  bringLooks(place.look ?? {});
  if (embedded && front.value) showPane(front.value);
  wantedUnit.value = place.unit;
  wantedStage.value = known(place.stage, STAGES, "a stage") ?? wantedStage.value;
  graphView.value = onlyGraphs ?? known(place.graphs, GRAPH_VIEWS, "graphs in a way") ?? graphView.value;
  wantedWrap.value = place.wrap ?? wantedWrap.value;
  foldGraphs.value = place.fold ?? foldGraphs.value;
  collapsed.value = place.collapsed ?? {};
  if (!bringSelection(place.selection)) select(undefined);
  return notes;
}
