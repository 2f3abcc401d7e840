// Which compilation and which of its stages are looked at.
import { computed, signal } from "@preact/signals";
import { labels } from "../report/labels";
import { isTraced, STAGES, type Stage, units } from "../report/stages";
import { options } from "./options";
import { graphsRun } from "./session";

/** The visitor's choices; what is shown follows them as far as it can. */
export const wantedUnit = signal<string | undefined>(undefined);
export const wantedStage = signal<Stage>("joint");

export const allUnits = computed(() => {
  const run = graphsRun.value;
  if (!run) return [];
  const titles = run.log?.titles;
  const all = units(run.report);
  return titles ? all.map((unit) => ({ ...unit, title: titles.get(unit.key) ?? unit.title })) : all;
});
/** The one that is wanted; else the first that was not given up. */
export const selectedUnit = computed(
  () => allUnits.value.find(({ key }) => key === wantedUnit.value) ?? allUnits.value.find(({ compilation }) => !compilation?.abandoned) ?? allUnits.value[0],
);
/** What the script calls the inputs of its graphs, by their names there. */
export const sourceNames = computed(() => labels(selectedUnit.value));
export const stagesOfUnit = computed(() => STAGES.filter((stage) => selectedUnit.value?.stages[stage]));
export const selectedStage = computed(() => {
  const there = stagesOfUnit.value;
  return there.includes(wantedStage.value) ? wantedStage.value : (there.find(isTraced) ?? there[0]);
});

/** Why a unit has none of what AOTAutograd makes: a sentence. */
export const whyNoTrace = computed(() => {
  const unit = selectedUnit.value;
  if (!unit || unit.compilation) return undefined;
  if (graphsRun.value?.log) return `${unit.title}: the log has no graph of AOTAutograd of it.`;
  if (unit.tape && !unit.stages.captured) return "A compiler of the script's own has this graph: what it makes of it is not known here.";
  const graph = unit.title;
  return options.value.backend === "eager"
    ? `${graph}: backend="eager" does not run AOTAutograd: the captured graph runs as it is.`
    : `${graph}: its backend did not run AOTAutograd.`;
});
