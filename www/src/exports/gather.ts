// What goes into a file that shows reports by itself: a run or a log with the answers that its views need, perhaps a second one beside it, and
// what differs between the two. Of logs a copy is read, which is cut before it is, where that is wanted.
import type { Reader } from "../engine/reader";
import type { Answer, LogCompilation, LogOverview, LogRegion, PairDiff, Question } from "../generated/report";
import { plural } from "../report/format";
import { sourcesOf } from "../state/linked";
import { type Log, packedLog, sentence, traceOf, withLog } from "../state/logs";
import { options } from "../state/options";
import { MEMORY_QUESTIONS, USUAL_BUDGET } from "../state/partition";
import { ask, type Run } from "../state/session";
import { answerKey, type Kept, type KeptLog, type KeptRun } from "../viewer/kept";
import { titleIn } from "./text";

/** What a file may be made of. */
export type Source = { kind: "run"; run: Run } | { kind: "log"; log: Log };

/** What stands beside the first: nothing, another report, or the other processes of the same log. */
export type Second = Source | "ranks" | undefined;

export interface Gathered {
  kept: Omit<Kept, "form">;
  /** What a file of it is called. */
  name: string;
}

/** Characters of one report's graphs at most: browsers open files of that size. */
const MOST = 64e6;
/** Milliseconds for questions of one report; the usual ones take far less. */
const PATIENCE_MS = 20_000;
/** Processes that are compared with the first at most. */
const MOST_RANKS = 16;

export const titleOfSource = (source: Source): string => (source.kind === "log" ? source.log.name : (titleIn(source.run.program) ?? "This script's run"));

/**
 * Gathers reports; `tell` hears how far it is.
 * @throws a sentence where a log can't be read any more
 */
export async function gather(first: Source, second: Second, cut: boolean, tell: (progress: string) => void): Promise<Gathered> {
  return opened(first, cut, tell, async (one) => {
    if (second === "ranks") {
      const pairs = await betweenRanks(one);
      return { kept: { parts: [one.part], differences: { pairs }, notes: one.notes }, name: one.part.title };
    }
    if (!second) return { kept: { parts: [one.part], notes: one.notes }, name: one.part.title };
    return opened(second, cut, tell, async (other) => {
      tell("Comparing…");
      const ids = await Promise.all([one.id(), other.id()]);
      const { compilations, pytorch } = await ids[1].reader.diff({ log: ids[0].log, rank: null }, { log: ids[1].log, rank: null });
      const differences = { pairs: compilations, versions: pytorch };
      return { kept: { parts: [one.part, other.part], differences, notes: [...one.notes, ...other.notes] }, name: one.part.title };
    });
  });
}

/** A report that is open, while it is used. */
interface Opened {
  part: KeptRun | KeptLog;
  notes: string[];
  /** As what it is compared. */
  id(): Promise<{ reader: Reader; log: number }>;
}

async function opened<T>(source: Source, cut: boolean, tell: (progress: string) => void, use: (opened: Opened) => Promise<T>): Promise<T> {
  if (source.kind === "run") return ofRun(source.run, tell, use);
  const { text, name } = await packedLog(source.log, cut);
  // As the file that the page hands a log on as.
  const blob = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
  return withLog(name, [{ name: `${name}.aotz`, blob }], async (reader, log, overview) => {
    const { part, notes } = await ofLog(name, reader, log, overview, tell);
    if (!cut) part.sources = sourcesOf(source.log.id);
    return use({ part, notes, id: async () => ({ reader, log }) });
  });
}

async function ofRun<T>(run: Run, tell: (progress: string) => void, use: (opened: Opened) => Promise<T>): Promise<T> {
  const { program, files = [], report, printed, timeline, outcome, elapsed } = run;
  const partitioned = report.compilations.flatMap(({ id, partition }) => (partition ? id : []));
  // What is recorded has no interpreter: what was answered then is all there is.
  const { answers, note } = run.recorded ? { answers: [...(run.answers ?? [])], note: undefined } : await answersOf(partitioned, ask, tell);
  const title = titleOfSource({ kind: "run", run });
  const part: KeptRun = { kind: "run", title, program, files, backend: options.peek().backend, report, printed, timeline, outcome, elapsed, answers, names: [] };
  // It takes part in a comparison as the log that PyTorch would write of it.
  let log: Promise<{ reader: Reader; log: number }> | undefined;
  let close = (): void => {};
  const open = async (): Promise<{ reader: Reader; log: number }> => {
    const blob = new Blob([await traceOf(report)]);
    return new Promise((resolve, reject) => {
      withLog(title, [{ name: "script.log", blob }], (reader, id, { compilations }) => {
        // A trace that was discarded may be written more than once: then names would be others'.
        if (compilations.length === report.compilations.length) part.names = compilations.map(({ name }) => name);
        resolve({ reader, log: id });
        return new Promise<void>((done) => (close = done));
      }).catch(reject);
    });
  };
  try {
    return await use({ part, notes: note ? [note] : [], id: () => (log ??= open()) });
  } finally {
    close();
  }
}

async function ofLog(title: string, reader: Reader, log: number, overview: LogOverview, tell: (progress: string) => void): Promise<{ part: KeptLog; notes: string[] }> {
  const notes: string[] = [];
  const compilations: [number, LogCompilation][] = [];
  const regions: [number, LogRegion][] = [];
  let room = MOST;
  const total = overview.compilations.length + overview.regions.length;
  for (let at = 0; at < total && room > 0; at += 1) {
    tell(`Graphs: ${at} of ${total}`);
    const region = at - overview.compilations.length;
    const read = region < 0 ? await reader.compilation({ log, compilation: at, sizes: {} }) : await reader.region(log, region);
    room -= JSON.stringify(read).length;
    if (room <= 0) break;
    if (region < 0) compilations.push([at, read as LogCompilation]);
    else regions.push([region, read as LogRegion]);
  }
  const left = total - compilations.length - regions.length;
  if (left > 0) notes.push(`${title} is too large for one file: ${plural(left, "graph")} of ${total} are not in it.`);
  const partitioned = compilations.flatMap(([id, { partition }]) => (partition ? id : []));
  const { answers, note } = await answersOf(partitioned, (compilation, question) => reader.study({ log, compilation, sizes: {} }, question), tell);
  if (note) notes.push(note);
  return { part: { kind: "log", title, overview, compilations, regions, sources: [], answers }, notes };
}

/** Asks what the memory views need, of one compilation after the other, while there is time. */
async function answersOf(
  compilations: readonly number[],
  answer: (compilation: number, question: Question) => Promise<Answer>,
  tell: (progress: string) => void,
): Promise<{ answers: [string, Answer][]; note: string | undefined }> {
  const answers: [string, Answer][] = [];
  const until = performance.now() + PATIENCE_MS;
  let answered = 0;
  for (const id of compilations) {
    if (performance.now() > until) break;
    tell(`Memory: ${answered} of ${compilations.length}`);
    for (const question of Object.values(MEMORY_QUESTIONS)) {
      const asked = question(USUAL_BUDGET);
      const given = await answer(id, asked).catch((error: unknown): Answer => ({ answer: "failed", message: sentence(error) }));
      if (given.answer !== "failed") answers.push([answerKey(id, asked), given]);
    }
    answered += 1;
  }
  const left = compilations.length - answered;
  return { answers, note: left > 0 ? `Memory is in it for ${answered} of ${plural(compilations.length, "compilation")}.` : undefined };
}

/** What differs between the first process of a log and each other one. */
async function betweenRanks({ part, id }: Opened): Promise<PairDiff[]> {
  const { reader, log } = await id();
  const [first, ...others] = part.kind === "log" ? ranksIn(part.overview) : [];
  const pairs: PairDiff[] = [];
  for (const rank of others.slice(0, MOST_RANKS)) pairs.push(...(await reader.diff({ log, rank: first ?? 0 }, { log, rank })).compilations);
  return pairs;
}

/** Processes that wrote a log, in order. */
export function ranksIn({ compilations }: LogOverview): number[] {
  return [...new Set(compilations.flatMap(({ rank }) => rank ?? []))].toSorted((a, b) => a - b);
}
