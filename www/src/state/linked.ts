// Scripts that the visitor gave beside logs: they stand in the place of the lines that a log holds, until it is closed or the tab is.
import { computed, signal } from "@preact/signals";
import { fitOf, type Fit, type Known, knownLines } from "../report/source-lines";
import { graphsRun } from "./session";
import { allUnits } from "./unit";

/** A file of the program that a log is of. */
export interface LinkedSource {
  /** Its path, as the log has it. */
  file: string;
  text: string;
}

const all = signal<ReadonlyMap<number, readonly LinkedSource[]>>(new Map());
/** The file that is looked at, by its path. */
export const openSource = signal<string | undefined>(undefined);

/** Of the log that is shown. */
export const linkedSources = computed(() => all.value.get(graphsRun.value?.log?.id ?? -1) ?? []);

/** The lines that the graphs of the shown log hold, as far as they were read. */
function known(): Known[] {
  return knownLines(allUnits.peek().flatMap(({ stages }) => Object.values(stages)));
}

/** Links a file with the log that is shown, if it is one of its program's; says which, and how well its lines fit. */
export function linkSource(name: string, text: string): Fit | undefined {
  const log = graphsRun.peek()?.log?.id;
  const fit = log === undefined ? undefined : fitOf(name, text, known());
  if (!fit || log === undefined) return undefined;
  const others = (all.peek().get(log) ?? []).filter(({ file }) => file !== fit.file);
  all.value = new Map(all.peek()).set(log, [...others, { file: fit.file, text }]);
  openSource.value = fit.file;
  return fit;
}

/** What is linked with a log. */
export const sourcesOf = (log: number): readonly LinkedSource[] => all.peek().get(log) ?? [];

/** Links what was linked before. */
export function bringSources(log: number, sources: readonly LinkedSource[]): void {
  all.value = new Map(all.peek()).set(log, sources);
}

/** Takes a file away again. */
export function unlinkSource(path: string): void {
  const log = graphsRun.peek()?.log?.id;
  if (log !== undefined) all.value = new Map(all.peek()).set(log, linkedSources.peek().filter(({ file }) => file !== path));
}
