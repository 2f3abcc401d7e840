// What a file holds that shows reports by itself: the reports, the answers that their views need, and what differs between two. It stands in
// the file as base64 of compressed JSON, so that nothing of it can be taken for markup.
import type { Answer, LogCompilation, LogOverview, LogRegion, PairDiff, Report, ScriptFile } from "../generated/report";
import type { Timeline } from "../report/timeline";
import type { LinkedSource } from "../state/linked";
import type { Options } from "../state/options";
import type { Outcome, Printed } from "../state/session";

/** Rises when a file of an earlier page means something else; each file brings the viewer that reads it. */
const FORM = 1;

/** Answers about joint graphs, by compilation and question, as `answerKey` writes them. */
export type KeptAnswers = readonly (readonly [string, Answer])[];

/** A script's run. */
export interface KeptRun {
  kind: "run";
  title: string;
  program: string;
  files: readonly ScriptFile[];
  backend: Options["backend"];
  report: Report;
  printed: readonly Printed[];
  timeline: Timeline;
  outcome: Outcome;
  elapsed: number;
  answers: KeptAnswers;
  /** What its compilations are called where it is compared, in their order; nothing where it is not. */
  names: readonly string[];
}

/** A log of PyTorch. */
export interface KeptLog {
  kind: "log";
  title: string;
  overview: LogOverview;
  compilations: readonly (readonly [number, LogCompilation])[];
  regions: readonly (readonly [number, LogRegion])[];
  /** Scripts that were linked with it; none where paths and source are cut. */
  sources: readonly LinkedSource[];
  answers: KeptAnswers;
}

export interface Kept {
  form: number;
  parts: readonly (KeptRun | KeptLog)[];
  /** What differs between the two, or between processes of one log. */
  differences?: { pairs: readonly PairDiff[]; versions?: readonly [string | null, string | null] };
  /** Sentences about what it does not hold. */
  notes: readonly string[];
}

export const answerKey = (compilation: number, question: unknown): string => `${compilation} ${JSON.stringify(question)}`;

export async function pack(kept: Omit<Kept, "form">): Promise<string> {
  const json = JSON.stringify({ form: FORM, ...kept } satisfies Kept);
  const bytes = new Uint8Array(await new Response(new Blob([json]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer());
  let text = "";
  // Not all at once: what is given to a function is limited.
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/**
 * Reads what `pack` wrote.
 * @throws where it is something else
 */
export async function unpack(text: string): Promise<Kept> {
  const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  const json = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const kept = JSON.parse(json) as Kept;
  if (kept.form !== FORM) throw new Error(`its form is ${kept.form}`);
  return kept;
}
