// The script's runs: when they start, what is known of them, how they end.
//
// A `Run` is a value: a new one replaces it at most once per frame. Until a new run has something to show, the last one
// stays, so that quick runs do not flicker; and while a script cannot be compiled, the last graphs stay, marked as old.
import { computed, signal } from "@preact/signals";
import { Interpreter, type WorkerLike } from "../engine/interpreter";
import type { ModuleSource, Progress } from "../engine/module";
import type { Answer, Bundle, CapturedGraph, Event, LastCall, LogCompilation, LogOverview, LogRegion, Question, Report, ScriptFile, Trial, WhatIf } from "../generated/report";
import { emptyReport, fold } from "../report/fold";
import { formatSeconds } from "../report/format";
import { EMPTY, extend, type Timeline } from "../report/timeline";
import { type Options, withoutDefaults } from "./options";
import { COMPUTES_NOTHING, still } from "./still";

export type Outcome =
  | { kind: "running" }
  | { kind: "finished" }
  /** Ended from outside, with a sentence that says why. */
  | { kind: "stopped"; why: string };

/** What was printed, in order. */
export interface Printed {
  stream: "stdout" | "stderr";
  text: string;
}

export interface Run {
  program: string;
  /** Files beside it; left out where there are none. */
  files?: readonly ScriptFile[];
  report: Report;
  printed: readonly Printed[];
  /** What it takes to run a compilation elsewhere, by its id. */
  bundles: ReadonlyMap<number, Bundle>;
  /** What happened, in order. */
  timeline: Timeline;
  outcome: Outcome;
  /** Milliseconds from the request to the end, as the page saw them. */
  elapsed: number;
  /** Milliseconds of them that the interpreter took; 0 where it did not come to an end. */
  took: number;
  /** Whether it is of another machine: the example's, recorded when the page was built. */
  recorded?: true;
  /** What was answered of it when it was recorded, by compilation and question: shown until this page's own answer is there. */
  answers?: ReadonlyMap<string, Answer>;
  /** Answers questions about its joint graphs, where that is not for the interpreter, nor for what reads logs. */
  ask?(compilation: number, question: Question): Promise<Answer>;
  /** The log that it was read from: then no script ran here. */
  log?: OfLogRun;
}

/** A log that is shown in the place of a run. Its graphs are read when they are first shown. */
export interface OfLogRun {
  id: number;
  name: string;
  overview: LogOverview;
  /** What was read of it, by number. */
  compilations: ReadonlyMap<number, LogCompilation>;
  regions: ReadonlyMap<number, LogRegion>;
  /** What its units are called, by their keys. */
  titles: ReadonlyMap<string, string>;
  /** Asks about a joint graph of it. */
  ask(compilation: number, question: Question): Promise<Answer>;
}

export type Engine =
  | { state: "loading"; progress: Progress }
  | { state: "starting" }
  | { state: "ready" }
  | { state: "failed"; message: string };

export const engine = signal<Engine>({ state: "loading", progress: { loaded: 0, total: 0 } });
export const running = signal(false);
/** The run that is shown. */
export const shown = signal<Run | undefined>(undefined);
/** How many runs have ended. */
export const ended = signal(0);
const lastWithGraphs = signal<Run | undefined>(undefined);

/** The log that is shown in the place of the script's run. */
export const logRun = signal<Run | undefined>(undefined);

/** The run whose graphs are shown: the last one that had any, where the shown one ended in an exception before its first. */
export const graphsRun = computed(() => {
  if (logRun.value) return logRun.value;
  const run = shown.value;
  if (!run || hasGraphs(run) || (run.outcome.kind === "finished" && !run.report.exception)) return run;
  return lastWithGraphs.value ?? run;
});
/** Whether those graphs are of an earlier run. */
export const graphsAreOld = computed(() => !logRun.value && graphsRun.value !== shown.value && shown.value?.outcome.kind !== "running");

/** A run younger than this is not shown while it has not ended: the last one stays. */
const PATIENCE_MS = 150;
/** A running script is shown at most this often: a loop may print without pause. */
const SHOW_EVERY_MS = 50;
/** How much longer than it takes to show something the page then waits, where that is more than a frame. */
const SHARE_OF_SHOWING = 4;
const FRAME_MS = 17;
/** Printed text kept by the page, in characters. */
export const MOST_PRINTED = 200_000;

interface Request {
  program: string;
  files: readonly ScriptFile[];
  options: Options;
  /** Whose the program is. */
  origin: string;
}

/** Whose scripts the present interpreter has run. */
let used: string | undefined;

let interpreter: Interpreter | undefined;
let queued: Request | undefined;
/** The run that goes on: events that are not taken in yet, when it began, when it may next be shown. */
let active: { run: Run; events: { event: Event; at: number }[]; started: number; limit: number | undefined; frame: number | undefined; next: number } | undefined;

/** Loads the interpreter once more. */
let again: (() => void) | undefined;

/** After the interpreter could not be loaded: tries again. */
export function loadAgain(): void {
  if (engine.value.state === "failed") again?.();
}

/** Fetches the module and starts the first worker; a run asked for meanwhile begins as soon as it can. */
export async function startEngine(source: ModuleSource, createWorker: () => WorkerLike): Promise<void> {
  engine.value = { state: "loading", progress: { loaded: 0, total: 0 } };
  again = () => void startEngine(source, createWorker);
  interpreter?.end();
  running.value = queued !== undefined;
  try {
    const module = source.get((progress) => {
      if (engine.value.state === "loading") engine.value = { state: "loading", progress };
    });
    const onReady = (ready: boolean): void => {
      engine.value = { state: ready ? "ready" : "starting" };
      if (ready) beginQueued();
    };
    interpreter = new Interpreter(module, createWorker, onReady, failEngine, () => queued !== undefined);
    await module;
    if (engine.value.state === "loading") engine.value = { state: "starting" };
  } catch (error) {
    failEngine(error instanceof Error ? error.message : String(error));
  }
}

function failEngine(message: string): void {
  engine.value = { state: "failed", message };
  running.value = false;
}

/** Runs a script as soon as possible; one that still runs is ended. */
export function requestRun(program: string, files: readonly ScriptFile[], options: Options, origin: string): void {
  // Whoever runs a script wants to see it.
  logRun.value = undefined;
  // Known before a worker starts: it then starts without what would only help a later run.
  queued = { program, files, options, origin };
  if (active && interpreter?.busy) {
    end({ kind: "stopped", why: "Ended: the script was changed." });
    interpreter.stop();
  } else if (used !== undefined && used !== origin) {
    // What a script of another origin did to the interpreter ends with it.
    interpreter?.stop();
  }
  running.value = true;
  if (engine.value.state === "ready") beginQueued();
}

/** What would become of a call with other sizes; it is answered once no script runs. */
export function askWhatIf(regions: readonly CapturedGraph[], frame: number, trials: readonly Trial[], last?: LastCall): Promise<WhatIf> {
  return interpreter ? interpreter.whatIf(regions, frame, trials, last) : Promise.reject(new Error(still ? COMPUTES_NOTHING : "The interpreter has not started."));
}

/** Asks about a compilation of the last run, as the interpreter still has it. */
export async function ask(compilation: number, question: Question): Promise<Answer> {
  const failed = (message: string): Answer => ({ answer: "failed", message });
  if (!interpreter) return failed("The interpreter has not started.");
  return interpreter.study(compilation, question).catch(() => failed("The run was ended; run the script again."));
}

/** Ends the running script. What is known of it stays. */
export function stopRun(why = "Stopped."): void {
  queued = undefined;
  used = undefined;
  running.value = false;
  if (!active) return;
  end({ kind: "stopped", why });
  interpreter?.stop();
}

function beginQueued(): void {
  if (!queued || !interpreter) return;
  const { program, files, options, origin } = queued;
  queued = undefined;
  used = origin;
  const run: Run = { ...blank(program), ...(files.length > 0 ? { files } : {}), ...(replacesRecording(program) && isUsual(options) ? { answers: shown.value?.answers ?? new Map() } : {}) };
  const overdue = (): void => stopRun(`Stopped after ${formatSeconds(options.limit)}: the time limit.`);
  const limit = setTimeout(overdue, options.limit * 1000);
  active = { run, events: [], started: performance.now(), limit: limit as unknown as number, frame: undefined, next: performance.now() + PATIENCE_MS };
  scheduleFrame();
  interpreter.run(program, files, { backend: options.backend, check: options.check, pretend_cuda: options.cuda }, {
    onEvent: (event) => {
      // A script that says much keeps timers waiting.
      if (active && performance.now() - active.started > options.limit * 1000) return overdue();
      active?.events.push({ event, at: performance.now() - active.started });
      scheduleFrame();
    },
    onEnd: (took) => {
      running.value = queued !== undefined;
      end({ kind: "finished" }, took);
    },
    onFailure: (message) => {
      running.value = queued !== undefined;
      // Python's own error where memory is used up; anything else is the interpreter's.
      end({ kind: "stopped", why: `${/^(Runtime|Memory)Error: /.test(message) ? "Ended" : "The interpreter failed"}: ${message}.` });
    },
  });
}

function blank(program: string): Run {
  return { program, report: emptyReport(), printed: [], bundles: new Map(), timeline: EMPTY, outcome: { kind: "running" }, elapsed: 0, took: 0 };
}

/** Whether what is shown is a recording of this program: its own run takes that place when it has ended, so that nothing moves. */
const replacesRecording = (program: string): boolean => shown.value?.recorded === true && shown.value.program === program;

/** Recordings are made with the usual options. */
const isUsual = (options: Options): boolean => Object.keys(withoutDefaults(options)).length === 0;

/** Shows a recording, while nothing else is to be shown and the interpreter is not there. */
export function showRecording(program: string, events: readonly Event[], answers: ReadonlyMap<string, Answer>): void {
  if (shown.value || ended.value > 0 || queued?.program !== program || queued.files.length > 0 || !isUsual(queued.options)) return;
  const state = { run: { ...blank(program), recorded: true as const, answers }, events: events.map((event) => ({ event, at: 0 })) };
  absorb(state);
  publish({ ...state.run, outcome: { kind: "finished" } });
}

function scheduleFrame(): void {
  if (!active || active.frame !== undefined || replacesRecording(active.run.program)) return;
  active.frame = requestAnimationFrame(() => {
    if (!active) return;
    active.frame = undefined;
    if (performance.now() < active.next) return scheduleFrame();
    const began = performance.now();
    absorb(active);
    publish(active.run);
    active.next = began + SHOW_EVERY_MS;
    const state = active;
    // What takes long to show is shown less often: the page has most of its time for the visitor. What was published is drawn when the
    // next frame begins.
    requestAnimationFrame(() => {
      const took = performance.now() - began;
      state.next = Math.max(state.next, performance.now() + SHARE_OF_SHOWING * (took - FRAME_MS));
    });
  });
}

/** Ends the active run: what has arrived is taken in and shown. */
function end(outcome: Outcome, took = 0): void {
  if (!active) return;
  clearTimeout(active.limit);
  if (active.frame !== undefined) cancelAnimationFrame(active.frame);
  absorb(active);
  publish({ ...active.run, outcome, elapsed: performance.now() - active.started, took });
  ended.value += 1;
  active = undefined;
}

function publish(run: Run): void {
  shown.value = run;
  if (hasGraphs(run)) lastWithGraphs.value = run;
}

function absorb(state: Pick<NonNullable<typeof active>, "run" | "events">): void {
  const { run, events } = state;
  if (events.length === 0) return;
  state.events = [];
  let bundles = run.bundles;
  const printed = [...run.printed];
  for (const { event } of events) {
    if (event.event === "runnable") bundles = new Map(bundles).set(event.bundle.compilation, event.bundle);
    if (event.event === "stdout" || event.event === "stderr") print(printed, event.event, event.text);
  }
  const report = fold(
    run.report,
    events.map(({ event }) => event),
  );
  state.run = { ...run, report, bundles, timeline: extend(run.timeline, events), printed: shorten(printed) };
}

function print(printed: Printed[], stream: Printed["stream"], text: string): void {
  const last = printed.at(-1);
  if (last?.stream === stream) printed[printed.length - 1] = { stream, text: last.text + text };
  else printed.push({ stream, text });
}

/** Leaves out the earliest where there is too much. */
function shorten(printed: Printed[]): Printed[] {
  let room = MOST_PRINTED;
  const kept: Printed[] = [];
  for (const { stream, text } of printed.toReversed()) {
    if (room <= 0) break;
    kept.unshift({ stream, text: text.length > room ? text.slice(-room) : text });
    room -= text.length;
  }
  return kept;
}

function hasGraphs(run: Run): boolean {
  return run.report.regions.length > 0 || run.report.compilations.length > 0;
}
