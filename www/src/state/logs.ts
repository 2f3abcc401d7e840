// Logs of PyTorch that the visitor opened: read by a worker, shown in the place of the script's run, kept by the browser until they are
// closed. Nothing of them is sent anywhere.
import { computed, effect, signal, untracked } from "@preact/signals";
import type { ModuleSource } from "../engine/module";
import { Reader } from "../engine/reader";
import type { Answer, LogCompilation, LogDiff, LogOverview, LogRegion, OfLog, PairDiff, Question, Report } from "../generated/report";
import { emptyReport } from "../report/fold";
import { type Texts, textsIn } from "../report/texts";
import { EMPTY } from "../report/timeline";
import { embedded } from "./embedded";
import { deleteLog, type KeptFile, storedLogs, storeLog } from "./log-store";
import { select } from "./selection";
import { graphsRun, logRun, type OfLogRun, type Run } from "./session";
import { selectedUnit, wantedUnit } from "./unit";

export interface Log {
  id: number;
  name: string;
  bytes: number;
  files: readonly KeptFile[];
  /** Its key in the browser's storage; `undefined` where it is not kept. */
  key: number | undefined;
}

/** Compilations of a log whose graphs are held at once. */
const MOST_READ = 8;

export const logs = signal<readonly Log[]>([]);
/** The name of what is being read. */
export const reading = signal<string | undefined>(undefined);
/** Logs that were read before, as they were left. */
const left = new Map<number, Run>();

let reader: Reader | undefined;
let last = 0;

/** Prepares for logs: the module is fetched when the first is opened. */
export async function prepareReader(source: ModuleSource, createWorker: () => Worker): Promise<void> {
  reader = new Reader(source, createWorker);
  if (embedded) return;
  const stored = await storedLogs();
  const found = stored.map(({ key, name, files }) => ({ id: (last += 1), name, files, bytes: size(files), key }));
  logs.value = [...found, ...logs.value];
}

function size(files: readonly KeptFile[]): number {
  return files.reduce((sum, { blob }) => sum + blob.size, 0);
}

/**
 * Reads files as one log, and keeps and shows it.
 * @throws a sentence where they are no log
 */
export async function openLog(name: string, files: readonly KeptFile[], keeps = true): Promise<void> {
  await addLog(name, files, show, keeps);
}

/** The same, but what is shown stays. */
export async function addLog(name: string, files: readonly KeptFile[], then: (log: Log, overview: LogOverview) => void = () => {}, keeps = true): Promise<void> {
  const log = { id: (last += 1), name, files, bytes: size(files), key: undefined };
  const overview = await overviewOf(log);
  logs.value = [...logs.value, log];
  then(log, overview);
  if (!keeps || embedded) return;
  const key = await storeLog(name, files);
  if (logs.value.includes(log)) logs.value = logs.value.map((other) => (other === log ? { ...log, key } : other));
  // It was closed meanwhile.
  else if (key !== undefined) void deleteLog(key);
}

/** Reads files as a log that is neither kept nor shown. */
export async function look(files: readonly KeptFile[]): Promise<LogOverview> {
  return withLog("", files, async (_reader, _log, overview) => overview);
}

/** Opens files as a log that is neither kept nor shown, for as long as it is used. */
export async function withLog<T>(name: string, files: readonly KeptFile[], use: (reader: Reader, log: number, overview: LogOverview) => Promise<T>): Promise<T> {
  const log = { id: (last += 1), name, files, bytes: size(files), key: undefined };
  const overview = await overviewOf(log);
  try {
    return await use(await readerOf(log), log.id, overview);
  } finally {
    reader?.close(log.id);
  }
}

async function overviewOf(log: Log): Promise<LogOverview> {
  if (!reader) throw new Error("The page is not ready.");
  reading.value = log.name || "what was pasted";
  try {
    const files = await Promise.all(log.files.map(async ({ name, blob }) => ({ name, bytes: new Uint8Array(await blob.arrayBuffer()) })));
    return await reader.open(log.id, files);
  } finally {
    reading.value = undefined;
  }
}

/** The reader, with a log open in it: where it failed it was started anew. */
async function readerOf(log: Log): Promise<Reader> {
  if (!reader?.has(log.id)) await overviewOf(log);
  if (!reader) throw new Error("The page is not ready.");
  return reader;
}

/**
 * Shows a log that was opened before, as it was left.
 * @throws a sentence where it can't be read any more
 */
export async function showLog(log: Log): Promise<void> {
  const known = left.get(log.id);
  if (known) return put(known);
  show(log, await overviewOf(log));
}

/** Shows the script's own run again. */
export function showScript(): void {
  if (!logRun.value) return;
  logRun.value = undefined;
  wantedUnit.value = undefined;
  select(undefined);
}

/** Closes a log: the browser keeps nothing of it. */
export function closeLog(log: Log): void {
  if (logRun.value?.log?.id === log.id) showScript();
  reader?.close(log.id);
  left.delete(log.id);
  logs.value = logs.value.filter(({ id }) => id !== log.id);
  if (log.key !== undefined) void deleteLog(log.key);
}

/** Shows a run of a log; `again`: more of what is shown. */
function put(run: Run, again = false): void {
  if (run.log) left.set(run.log.id, run);
  logRun.value = run;
  if (again) return;
  wantedUnit.value = undefined;
  select(undefined);
}

function show(log: Log, overview: LogOverview): void {
  const ask = async (compilation: number, question: Question): Promise<Answer> => {
    try {
      return await (await readerOf(log)).study(ofLog(log.id, compilation), question);
    } catch (error) {
      return { answer: "failed", message: sentence(error) };
    }
  };
  put(runOf({ id: log.id, name: log.name, overview, compilations: new Map(), regions: new Map(), titles: titlesOf(overview), ask }));
}

/** What the units of a log are called, by their keys. */
export function titlesOf(overview: LogOverview): ReadonlyMap<string, string> {
  const compilations = overview.compilations.map(({ name, function: of }, index): [string, string] => [`c${index}`, [name, of].filter(Boolean).join(" ")]);
  const regions = overview.regions.map((at, index): [string, string] => [`r${index}`, frameName(overview, at)]);
  return new Map([...compilations, ...regions]);
}

/** `rank 1 [0/1] f` */
export function frameName({ frames }: LogOverview, at: number): string {
  const frame = frames[at];
  const rank = typeof frame?.rank === "number" ? `rank ${frame.rank}` : undefined;
  const attempt = frame && frame.attempt > 0 ? `attempt ${frame.attempt}` : undefined;
  return [rank, frame?.compile_id, attempt, frame?.function].filter(Boolean).join(" ");
}

/** A log in the place of a run. */
export function runOf(log: OfLogRun, bundles: Run["bundles"] = new Map()): Run {
  return { program: "", report: reportOf(log), printed: [], bundles, timeline: EMPTY, outcome: { kind: "finished" }, elapsed: 0, took: 0, log };
}

/** A log in the shape of a run's report: what is not read yet stands in it without graphs. */
function reportOf({ overview, compilations, regions }: OfLogRun): Report {
  const { frames } = overview;
  return {
    ...emptyReport(),
    pytorch: overview.pytorch ?? "",
    finished: true,
    regions: overview.regions.map(
      (at, id) => regions.get(id)?.region ?? { id, function: frames[at]?.function ?? "", graph: { readable: "", nodes: [] }, guards: [], span: null },
    ),
    compilations: overview.compilations.map(({ region, kind }, id) => compilations.get(id) ?? { id, region, kind, prologue: "", epilogue: "", seq_nr: [] }),
    tapes: overview.compiled_autograd.map((readable, id) => ({ id, name: `CompiledAutograd${id}`, graph: { readable, nodes: [] }, reasons: [], hits: 0, inputs: [] })),
    recompiles: frames.flatMap(({ recompiles }) => recompiles ?? []),
    breaks: frames.flatMap(({ breaks }) => breaks ?? []),
  };
}

/** Sizes that the visitor entered for symbols, by `log compilation`. */
const entered = signal<ReadonlyMap<string, Readonly<Record<string, number>>>>(new Map());

/** A compilation, at the sizes that the visitor entered. */
function ofLog(log: number, compilation: number): OfLog {
  return { log, compilation, sizes: { ...entered.peek().get(`${log} ${compilation}`) } };
}

/** Sizes that the visitor entered for the selected compilation. */
export const enteredSizes = computed(() => entered.value.get(`${logRun.value?.log?.id} ${selectedUnit.value?.compilation?.id}`) ?? {});

/** Takes a size for a symbol of the selected compilation, or what the log says of it: bytes, memory and the partition are then of these sizes. */
export function enterSize(symbol: string, size: number | undefined): void {
  const log = logRun.value?.log;
  const compilation = selectedUnit.value?.compilation?.id;
  if (!log || compilation === undefined) return;
  const { [symbol]: _, ...others } = enteredSizes.value;
  entered.value = new Map(entered.value).set(`${log.id} ${compilation}`, size === undefined ? others : { ...others, [symbol]: size });
  void read(log, compilation, null, true);
}

/** Makes the selected compilation ready to be run: with inputs that are drawn. */
export async function drawInputs(): Promise<void> {
  const id = logRun.value?.log?.id;
  const compilation = selectedUnit.value?.compilation?.id;
  const log = logs.value.find((log) => log.id === id);
  if (!log || compilation === undefined) return;
  const bundle = await (await readerOf(log)).runnable(ofLog(log.id, compilation));
  const run = logRun.value;
  if (run?.log?.id === log.id) put({ ...run, bundles: new Map(run.bundles).set(compilation, bundle) }, true);
}

/** A run as the `TORCH_TRACE` log that PyTorch would write of it. */
export async function traceOf(report: Report): Promise<string> {
  if (!reader) throw new Error("the page is not ready");
  return reader.write(report);
}

/** The log that is shown as it is handed on: without paths and source where they are cut. */
export async function packed(cut: boolean): Promise<{ text: string; name: string }> {
  const id = logRun.peek()?.log?.id;
  const log = logs.peek().find((log) => log.id === id);
  if (!log) throw new Error("it was closed");
  return packedLog(log, cut);
}

/** Any log that is open, as it is handed on. */
export async function packedLog(log: Log, cut: boolean): Promise<{ text: string; name: string }> {
  const made = await (await readerOf(log)).pack(log.id, log.name, cut);
  return { text: JSON.stringify(made), name: made.name };
}

/** What is being read, as `log compilation`. */
const asked = new Set<string>();
/** Why something could not be read. */
export const unreadable = signal<string | undefined>(undefined);

// What is selected is read.
effect(() => {
  const log = logRun.value?.log;
  const unit = selectedUnit.value;
  if (!log || !unit) return;
  const compilation = unit.compilation?.id;
  const region = compilation === undefined ? (unit.tape ? null : Number(unit.key.slice(1))) : (unit.compilation?.region ?? null);
  untracked(() => void read(log, compilation, region));
});

async function read(log: OfLogRun, compilation: number | undefined, region: number | null, anew = false): Promise<void> {
  const known = !anew && (compilation === undefined || log.compilations.has(compilation)) && (region === null || log.regions.has(region));
  const at = compilation === undefined ? undefined : ofLog(log.id, compilation);
  const name = JSON.stringify([at, region]);
  const of = logs.value.find(({ id }) => id === log.id);
  if (known || asked.has(name) || !of) return;
  asked.add(name);
  unreadable.value = undefined;
  try {
    const from = await readerOf(of);
    const [readCompilation, readRegion] = await Promise.all([
      compilation === undefined || !at ? undefined : ((anew ? undefined : log.compilations.get(compilation)) ?? from.compilation(at)),
      region === null ? undefined : (log.regions.get(region) ?? from.region(log.id, region)),
    ]);
    const now = logRun.value?.log;
    if (now?.id !== log.id) return;
    // Meanwhile the visitor has entered other sizes.
    if (at && JSON.stringify(at) !== JSON.stringify(ofLog(at.log, at.compilation))) return;
    const compilations = newest(now.compilations, compilation, readCompilation);
    const regions = newest(now.regions, region ?? undefined, readRegion);
    const bundles = new Map(logRun.value?.bundles);
    if (anew && compilation !== undefined) bundles.delete(compilation);
    put(runOf({ ...now, compilations, regions }, bundles), true);
  } catch (error) {
    unreadable.value = sentence(error);
  } finally {
    asked.delete(name);
  }
}

/** Adds what was read; what was read long ago is let go. */
function newest<T>(of: ReadonlyMap<number, T>, at: number | undefined, value: T | undefined): ReadonlyMap<number, T> {
  if (at === undefined || value === undefined) return of;
  const others = [...of].filter(([key]) => key !== at);
  return new Map([...others.slice(-(MOST_READ - 1)), [at, value]]);
}

/** What the log says of the selected unit. */
export function ofSelected(): { compilation: LogCompilation | undefined; region: LogRegion | undefined } | undefined {
  const log = graphsRun.value?.log;
  const unit = selectedUnit.value;
  if (!log || !unit) return undefined;
  const { compilation } = unit;
  const region = compilation ? compilation.region : unit.tape ? null : Number(unit.key.slice(1));
  return { compilation: compilation && log.compilations.get(compilation.id), region: region === null ? undefined : log.regions.get(region) };
}

/** A log at first sight. */
export async function overview(log: Log): Promise<LogOverview> {
  return (logRun.peek()?.log?.id === log.id ? logRun.peek()?.log?.overview : undefined) ?? left.get(log.id)?.log?.overview ?? overviewOf(log);
}

/** What of a log is compared: one of its compilations, what one process wrote, or all of it. */
export interface Part {
  compilation?: number;
  rank?: number;
}

/** What differs between two logs, or parts of them. A compilation is compared with the first of what stands for many. */
export async function compare(
  first: readonly [Log, Part],
  second: readonly [Log, Part],
): Promise<{ pairs: readonly PairDiff[]; versions: LogDiff["pytorch"] | undefined }> {
  await readerOf(first[0]);
  const from = await readerOf(second[0]);
  const [{ id: one }, a] = first;
  const [{ id: other }, b] = second;
  if (a.compilation === undefined && b.compilation === undefined) {
    const { compilations, pytorch } = await from.diff({ log: one, rank: a.rank ?? null }, { log: other, rank: b.rank ?? null });
    return { pairs: compilations, versions: pytorch };
  }
  const pair = await from.compare(ofLog(one, a.compilation ?? 0), ofLog(other, b.compilation ?? 0));
  return { pairs: [pair], versions: undefined };
}

/** The texts of a compilation's graphs, by its name in the log. */
export async function textsOf(log: Log, name: string): Promise<Texts> {
  const { compilations } = await overview(log);
  const at = compilations.findIndex((head) => head.name === name);
  if (at < 0) throw new Error(`the log has no compilation ${name}`);
  const from = await readerOf(log);
  const compilation = await from.compilation(ofLog(log.id, at));
  const captured = compilation.region === null ? undefined : await from.region(log.id, compilation.region);
  return textsIn(compilation, captured?.region.graph.readable);
}

/** A sentence of an error. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
