// Which compilation and which of its stages are looked at.
import { computed, signal } from "@preact/signals";
import { isTraced, STAGES, type Stage, units } from "../report/stages";
import { graphsRun } from "./session";

/** The visitor's choices; what is shown follows them as far as it can. */
export const wantedUnit = signal<string | undefined>(undefined);
export const wantedStage = signal<Stage>("joint");

export const allUnits = computed(() => (graphsRun.value ? units(graphsRun.value.report) : []));
/** The one that is wanted; else the first that was not given up. */
export const selectedUnit = computed(
  () => allUnits.value.find(({ key }) => key === wantedUnit.value) ?? allUnits.value.find(({ compilation }) => !compilation?.abandoned) ?? allUnits.value[0],
);
export const stagesOfUnit = computed(() => STAGES.filter((stage) => selectedUnit.value?.stages[stage]));
export const selectedStage = computed(() => {
  const there = stagesOfUnit.value;
  return there.includes(wantedStage.value) ? wantedStage.value : (there.find(isTraced) ?? there[0]);
});
