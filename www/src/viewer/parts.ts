// The reports that a file holds, in the place of what the page would have run or opened.
import { computed, signal } from "@preact/signals";
import { setText } from "../editor/script";
import type { Answer, Question } from "../generated/report";
import { bringSources } from "../state/linked";
import { runOf, titlesOf } from "../state/logs";
import { setModules } from "../state/modules";
import { options } from "../state/options";
import { editor } from "../state/script";
import { select } from "../state/selection";
import { logRun, type Run, shown } from "../state/session";
import { COMPUTES_NOTHING } from "../state/still";
import { titleScript } from "../state/title";
import { wantedUnit } from "../state/unit";
import { type Texts, textsIn } from "../report/texts";
import { answerKey, type Kept, type KeptAnswers, type KeptLog, type KeptRun } from "./kept";

export const kept = signal<Kept>({ form: 0, parts: [], notes: [] });
/** Which of them is shown. */
export const shownPart = signal(0);
export const titles = computed(() => kept.value.parts.map(({ title }) => title));

/** Answers what was asked when the file was made; anything else would have to be computed. */
export function answering(answers: KeptAnswers): (compilation: number, question: Question) => Promise<Answer> {
  const known = new Map(answers);
  return async (compilation, question) => known.get(answerKey(compilation, question)) ?? { answer: "failed", message: COMPUTES_NOTHING };
}

/** A part as the run that views show. */
export function runOfPart(part: KeptRun | KeptLog, id: number): Run {
  const ask = answering(part.answers);
  if (part.kind === "log") {
    const { title, overview, compilations, regions } = part;
    return runOf({ id, name: title, overview, compilations: new Map(compilations), regions: new Map(regions), titles: titlesOf(overview), ask });
  }
  const { program, files, report, printed, timeline, outcome, elapsed } = part;
  return { program, ...(files.length > 0 ? { files } : {}), report, printed, bundles: new Map(), timeline, outcome, elapsed, took: 0, ask };
}

/** The texts of a compilation's graphs, by its name in the comparison. */
export function textsOfPart(part: KeptRun | KeptLog | undefined, name: string): Texts {
  if (part?.kind === "log") {
    const at = part.overview.compilations.findIndex((head) => head.name === name);
    const compilation = new Map(part.compilations).get(at);
    const captured = compilation?.region === null || !compilation ? undefined : new Map(part.regions).get(compilation.region);
    return compilation ? textsIn(compilation, captured?.region.graph.readable) : new Map();
  }
  const compilation = part?.report.compilations[part.names.indexOf(name)];
  const captured = part?.report.regions.find(({ id }) => id === compilation?.region);
  return compilation ? textsIn(compilation, captured?.graph.readable) : new Map();
}

const runs = computed(() => kept.value.parts.map((part, at) => runOfPart(part, at)));

/** Shows one of them. */
export function showPart(at: number): void {
  const [part, run] = [kept.value.parts[at], runs.value[at]];
  if (!part || !run) return;
  shownPart.value = at;
  if (part.kind === "log") {
    bringSources(at, part.sources);
    logRun.value = run;
  } else {
    logRun.value = undefined;
    shown.value = run;
    options.value = { ...options.value, backend: part.backend };
    setText(editor, part.program);
    setModules(part.files);
    titleScript(part.program);
  }
  wantedUnit.value = undefined;
  select(undefined);
}
