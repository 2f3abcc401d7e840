// What happened in a run, in order: regions captured and why, compilations, graph breaks, and runs between them.
import type { Event, Report } from "../generated/report";

/** How often the parts of a compilation ran. */
export interface Runs {
  compilation: number;
  forward: number;
  backward: number;
  inference: number;
}

/** How often a frame that is not compiled any more ran uncompiled, and from which lines it was called. */
export interface Uncompiled {
  frame: number;
  times: number;
  lines: readonly number[];
}

/** How often a tape that was captured served again. */
export interface Hits {
  tape: number;
  times: number;
}

/** Something that happened; `at` is in milliseconds since the run began. */
export type Moment =
  | { kind: "captured"; at: number; region: number; function: string; why: Why }
  | { kind: "compiled"; at: number; compilation: number; region: number | null; backward: boolean }
  /** What was traced was given up: a float that was a symbol has to be a number. */
  | { kind: "abandoned"; at: number; compilation: number; region: number | null }
  /** The backward of an earlier compilation is there now. */
  | { kind: "backward"; at: number; compilation: number; region: number | null }
  | { kind: "broke"; at: number; reason: string; line: number | undefined; file?: string }
  /** Compiled autograd captured a tape: why none that was met before served. */
  | { kind: "tape"; at: number; tape: number; name: string; reasons: readonly string[] }
  /** A frame reached a limit of `torch._dynamo.config`: it is not compiled again. */
  | { kind: "limited"; at: number; frame: number; function: string; config: string; limit: number; reason: string }
  | { kind: "ran"; at: number; until: number; runs: readonly Runs[]; hits: readonly Hits[]; uncompiled: readonly Uncompiled[] }
  | { kind: "finished"; at: number; exception: string | undefined; line: number | undefined; file?: string };

/** Why a region was captured. */
export type Why =
  | { kind: "first" }
  /** Guards that failed, one per cache entry that was there. */
  | { kind: "guards"; failed: readonly string[] }
  /** Capture went on after a break at this line. */
  | { kind: "break"; line: number | undefined; file?: string };

/** The moments so far, and what the next event needs of them. */
export interface Timeline {
  moments: readonly Moment[];
  /** Guards that failed for the region that comes next. */
  failed: readonly string[];
  /** A break whose continuation has not been captured. */
  broken: { line: number | undefined; file?: string; ended: boolean } | undefined;
}

export const EMPTY: Timeline = { moments: [], failed: [], broken: undefined };

/** Takes in events; `timeline` stays as it is. It is copied once for all of them: a training loop sends thousands. */
export function extend(timeline: Timeline, events: readonly { event: Event; at: number }[]): Timeline {
  const moments = [...timeline.moments];
  let { failed, broken } = timeline;
  for (const { event, at } of events) {
    switch (event.event) {
      case "recompiled":
        failed = event.reasons;
        break;
      case "broke":
        broken = { line: event.graph_break.span?.line, ...fileOf(event.graph_break.span), ended: false };
        moments.push({ kind: "broke", at, reason: event.graph_break.reason, line: broken.line, ...fileOf(broken) });
        break;
      case "captured": {
        const { id, graph } = event.region;
        if (moments.some((moment) => moment.kind === "captured" && moment.region === id)) break;
        const first = Math.min(...graph.nodes.flatMap(({ span }) => (span && span.file === broken?.file ? [span.line] : [])));
        // The region that ends at a break is captured after the break is known; what follows it comes later.
        const follows = broken && (broken.ended || (broken.line !== undefined && first > broken.line));
        const why: Why = failed.length > 0 ? { kind: "guards", failed } : follows ? { kind: "break", line: broken?.line, ...fileOf(broken) } : { kind: "first" };
        moments.push({ kind: "captured", at, region: id, function: event.region.function, why });
        failed = [];
        broken = broken && !follows ? { ...broken, ended: true } : undefined;
        break;
      }
      case "compiled": {
        const { id, region, backward, abandoned } = event.compilation;
        if (abandoned) {
          moments.push({ kind: "abandoned", at, compilation: id, region });
          break;
        }
        const before = moments.some((moment) => moment.kind === "compiled" && moment.compilation === id);
        if (!before) moments.push({ kind: "compiled", at, compilation: id, region, backward: !!backward });
        else if (backward && !hasBackward(moments, id)) moments.push({ kind: "backward", at, compilation: id, region });
        break;
      }
      case "compiled_autograd":
        moments.push({ kind: "tape", at, tape: event.tape.id, name: event.tape.name, reasons: event.tape.reasons });
        break;
      case "tape_hit":
        countHit(moments, event.tape, at);
        break;
      case "limited": {
        const { frame, function: name, config, limit, reason } = event.limit;
        moments.push({ kind: "limited", at, frame, function: name, config, limit, reason });
        failed = [];
        break;
      }
      case "uncompiled":
        countUncompiled(moments, event.frame, event.span?.file === undefined ? event.span?.line : undefined, at);
        break;
      case "ran":
        if (broken) broken = { ...broken, ended: true };
        countRun(moments, event.run.compilation, event.run.part, at);
        break;
      case "finished":
        moments.push({ kind: "finished", at, exception: event.exception?.type, line: event.exception?.span?.line, ...fileOf(event.exception?.span) });
        break;
      default:
        break;
    }
  }
  return { moments, failed, broken };
}

function hasBackward(moments: readonly Moment[], id: number): boolean {
  return moments.some(
    (moment) => (moment.kind === "compiled" && moment.compilation === id && moment.backward) || (moment.kind === "backward" && moment.compilation === id),
  );
}

/** Runs between two other moments are counted together: a training loop has thousands. */
function countRun(moments: Moment[], compilation: number, part: string, at: number): void {
  const last = moments.at(-1);
  const known = last?.kind === "ran" ? last.runs : [];
  const before = known.find((runs) => runs.compilation === compilation) ?? { compilation, forward: 0, backward: 0, inference: 0 };
  const after = { ...before };
  if (part === "forward" || part === "backward" || part === "inference") after[part] += 1;
  const runs = [...known.filter((other) => other !== before), after].sort((a, b) => a.compilation - b.compilation);
  if (last?.kind === "ran") moments[moments.length - 1] = { ...last, until: at, runs };
  else moments.push({ kind: "ran", at, until: at, runs, hits: [], uncompiled: [] });
}

/** Hits are counted with the runs that they are among. */
function countHit(moments: Moment[], tape: number, at: number): void {
  const last = moments.at(-1);
  const known = last?.kind === "ran" ? last.hits : [];
  const before = known.find((hits) => hits.tape === tape);
  const hits = [...known.filter((other) => other !== before), { tape, times: (before?.times ?? 0) + 1 }].sort((a, b) => a.tape - b.tape);
  if (last?.kind === "ran") moments[moments.length - 1] = { ...last, until: at, hits };
  else moments.push({ kind: "ran", at, until: at, runs: [], hits, uncompiled: [] });
}

/** Calls that ran uncompiled are counted with the runs that they are among. */
function countUncompiled(moments: Moment[], frame: number, line: number | undefined, at: number): void {
  const last = moments.at(-1);
  const known = last?.kind === "ran" ? last.uncompiled : [];
  const before = known.find((calls) => calls.frame === frame);
  const lines = before?.lines ?? [];
  const after = { frame, times: (before?.times ?? 0) + 1, lines: line === undefined || lines.includes(line) ? lines : [...lines, line] };
  const uncompiled = [...known.filter((other) => other !== before), after].sort((a, b) => a.frame - b.frame);
  if (last?.kind === "ran") moments[moments.length - 1] = { ...last, until: at, uncompiled };
  else moments.push({ kind: "ran", at, until: at, runs: [], hits: [], uncompiled });
}

/** The file of a place, where it is not the script. */
function fileOf(place: { file?: string } | null | undefined): { file?: string } {
  return place?.file === undefined ? {} : { file: place.file };
}

/** Lines that a region's calls come from, first and last, of the file that the first comes from. */
export function linesOf(report: Report, region: number | null): { first: number; last: number; file?: string } | undefined {
  const nodes = report.regions.find(({ id }) => id === region)?.graph.nodes ?? [];
  const spans = nodes.flatMap(({ span }) => (span ? [span] : []));
  const lines = spans.filter(({ file }) => file === spans[0]?.file).flatMap(({ line, end_line }) => [line, end_line]);
  return lines.length > 0 ? { first: Math.min(...lines), last: Math.max(...lines), ...fileOf(spans[0]) } : undefined;
}
