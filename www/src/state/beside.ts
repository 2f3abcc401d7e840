// A second graph beside the first: of another stage, of a run that was pinned, or of this script under another backend.
import { computed, effect, signal, untracked } from "@preact/signals";
import { Interpreter, type WorkerLike } from "../engine/interpreter";
import type { ModuleSource } from "../engine/module";
import type { Event } from "../generated/report";
import { emptyReport, fold } from "../report/fold";
import { labels } from "../report/labels";
import { STAGES, type Stage, units } from "../report/stages";
import { EMPTY } from "../report/timeline";
import { looked } from "./looked";
import { BACKENDS, type Options, options } from "./options";
import { ended, graphsRun, type Run, shown } from "./session";
import { allUnits, selectedUnit } from "./unit";

type Backend = Options["backend"];

/** A run that stays, whatever the script becomes. */
export interface Pin {
  id: number;
  title: string;
  run: Run;
}

/** What stands beside: the shown run or a pinned one, of the shown one perhaps under another backend; which stage. */
export interface Beside {
  pin?: number;
  backend?: Backend;
  stage?: Stage;
}

/** Pinned runs are held whole: this many. */
const MOST_PINS = 4;

function read(raw: unknown): Beside | undefined {
  if (typeof raw !== "object" || raw === null) return undefined;
  const { backend, stage } = raw as Record<string, unknown>;
  const known = { backend: BACKENDS.find((name) => name === backend), stage: STAGES.find((name) => name === stage) };
  return { ...(known.backend ? { backend: known.backend } : {}), ...(known.stage ? { stage: known.stage } : {}) };
}

/** A link has all of it but a pin. */
export const beside = looked<Beside | undefined>("beside", undefined, read);
export const pins = signal<readonly Pin[]>([]);
let lastPin = 0;

/** Keeps the run that is shown as the second. */
export function pin(): void {
  const run = graphsRun.value;
  if (!run) return;
  lastPin += 1;
  const what = run.log?.name ?? options.value.backend;
  const title = `${what}, pinned at ${new Date().toLocaleTimeString()}`;
  pins.value = [...pins.value, { id: lastPin, title, run }].slice(-MOST_PINS);
  const { backend: _, ...others } = beside.value ?? {};
  beside.value = { ...others, pin: lastPin };
}

/** Runs under other backends, of the script as it ran last. */
const others = signal<ReadonlyMap<Backend, Run>>(new Map());
/** Why there is none: a sentence. */
export const besideFailure = signal<string | undefined>(undefined);

const pinned = computed(() => pins.value.find(({ id }) => id === beside.value?.pin));
/** The backend that the second graph needs a run of its own for. */
const wantedBackend = computed(() => {
  const { backend } = beside.value ?? {};
  return !pinned.value && backend && backend !== options.value.backend && !graphsRun.value?.log ? backend : undefined;
});

export const besideRun = computed(() => pinned.value?.run ?? (wantedBackend.value ? others.value.get(wantedBackend.value) : graphsRun.value));

const besideUnits = computed(() => (besideRun.value === graphsRun.value ? allUnits.value : besideRun.value ? units(besideRun.value.report) : []));
/** The unit that the first graph is of, or the one in its place. */
export const besideUnit = computed(() => {
  const key = selectedUnit.value?.key;
  return besideUnits.value.find((unit) => unit.key === key) ?? besideUnits.value[allUnits.value.findIndex((unit) => unit.key === key)] ?? besideUnits.value[0];
});
export const besideStages = computed(() => STAGES.filter((stage) => besideUnit.value?.stages[stage]));
export const besideStage = computed(() => besideStages.value.find((stage) => stage === beside.value?.stage) ?? besideStages.value.at(-1));
export const besideNames = computed(() => labels(besideUnit.value));

let source: ModuleSource | undefined;
let createWorker: (() => WorkerLike) | undefined;
let second: { interpreter: Interpreter; limit: ReturnType<typeof setTimeout> } | undefined;

/** Prepares for runs under other backends: nothing is started yet. */
export function prepareBeside(from: ModuleSource, create: () => WorkerLike): void {
  source = from;
  createWorker = create;
  // What ran last is no longer what the others are of.
  let of: string | undefined;
  effect(() => {
    const backend = wantedBackend.value;
    void ended.value;
    const run = shown.value;
    if (!run || run.outcome.kind === "running") return;
    untracked(() => {
      const now = JSON.stringify([run.program, run.files, options.value]);
      if (of !== now) others.value = new Map();
      of = now;
      if (backend && !others.value.has(backend)) runUnder(backend, run);
    });
  });
}

function stop(): void {
  if (!second) return;
  clearTimeout(second.limit);
  second.interpreter.end();
  second = undefined;
}

/** Runs a program in an interpreter of its own, which ends with it. */
function runUnder(backend: Backend, { program, files }: Run): void {
  stop();
  besideFailure.value = undefined;
  if (!source || !createWorker) return;
  const events: Event[] = [];
  const take = (failure?: string): void => {
    stop();
    besideFailure.value = failure;
    const report = fold(emptyReport(), events);
    others.value = new Map(others.value).set(backend, { program, ...(files ? { files } : {}), report, printed: [], bundles: new Map(), timeline: EMPTY, outcome: { kind: "finished" }, elapsed: 0, took: 0 });
  };
  const { limit, check, cuda } = options.value;
  const interpreter = new Interpreter(source.get(), createWorker, () => {}, (message) => take(`It could not be run: ${message}.`));
  second = { interpreter, limit: setTimeout(() => take(`It was stopped after ${limit} s.`), limit * 1000) };
  interpreter.run(program, files ?? [], { backend, check, pretend_cuda: cuda }, { onEvent: (event) => events.push(event), onEnd: () => take(), onFailure: (message) => take(`It ended: ${message}.`) });
}
