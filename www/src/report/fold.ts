// The report is the fold of the events so far, here as in Rust (`Report::fold`): a test holds the two together.
import { type Event, PYTORCH_VERSION, type RecompileLimit, type Report, REPORT_VERSION, type Span } from "../generated/report";

export function emptyReport(): Report {
  return {
    version: REPORT_VERSION,
    pytorch: PYTORCH_VERSION,
    stdout: "",
    stderr: "",
    exception: null,
    regions: [],
    compilations: [],
    compiled_autograd: [],
    tapes: [],
    recompiles: [],
    limits: [],
    calls: [],
    breaks: [],
    misses: [],
    break_places: [],
    runs: [],
    finished: false,
    seconds: 0,
  };
}

/** Takes in `events`; `report` stays as it is. */
export function fold(report: Report, events: readonly Event[]): Report {
  // Copied once for all of them: a training loop sends thousands.
  const next: Report = {
    ...report,
    regions: [...report.regions],
    compilations: [...report.compilations],
    compiled_autograd: [...report.compiled_autograd],
    tapes: [...report.tapes],
    recompiles: [...report.recompiles],
    limits: [...report.limits],
    calls: [...report.calls],
    breaks: [...report.breaks],
    misses: [...report.misses],
    break_places: [...report.break_places],
    runs: [...report.runs],
    ...(report.checks && { checks: [...report.checks] }),
  };
  for (const event of events) take(next, event);
  return next;
}

function take(report: Report, event: Event): void {
  switch (event.event) {
    case "stdout":
      report.stdout += event.text;
      break;
    case "stderr":
      report.stderr += event.text;
      break;
    case "captured":
      replaceOrAdd(report.regions, event.region);
      break;
    case "compiled":
      replaceOrAdd(report.compilations, event.compilation);
      break;
    case "broke":
      report.breaks.push(event.graph_break);
      break;
    case "pretends_cuda":
      report.pretends_cuda = true;
      break;
    case "recompiled":
      report.recompiles.push(event.reasons);
      break;
    case "limited":
      report.limits.push(event.limit);
      break;
    case "called":
      report.calls.push(event.call);
      break;
    case "uncompiled":
      report.limits = report.limits.map((limit) => (limit.frame === event.frame ? withCall(limit, event.span) : limit));
      break;
    case "misses":
      replaceOrAdd(report.misses, event.misses);
      break;
    case "break_place":
      replaceOrAdd(report.break_places, event.place);
      break;
    case "compiled_autograd":
      replaceOrAdd(report.tapes, event.tape);
      report.compiled_autograd[report.tapes.indexOf(event.tape)] = event.tape.graph.readable;
      break;
    case "tape_hit":
      report.tapes = report.tapes.map((tape) => (tape.id === event.tape ? { ...tape, hits: tape.hits + 1 } : tape));
      break;
    case "ran":
      report.runs.push(event.run);
      break;
    case "checked": {
      const { check } = event;
      report.checks ??= [];
      const known = report.checks.findIndex(({ compilation }) => compilation === check.compilation);
      if (known >= 0) report.checks[known] = check;
      else report.checks.push(check);
      break;
    }
    case "runnable":
      break;
    case "finished":
      report.exception = event.exception;
      report.seconds = event.seconds;
      report.finished = true;
      break;
  }
}

/** Places of uncompiled calls that are kept. */
const MOST_PLACES = 100;

/** Counts a call that ran uncompiled. */
function withCall(limit: RecompileLimit, span: Span | null): RecompileLimit {
  const same = (other: Span): boolean => span !== null && JSON.stringify(other) === JSON.stringify(span);
  const isNew = span !== null && limit.called_at.length < MOST_PLACES && !limit.called_at.some(same);
  return { ...limit, calls: limit.calls + 1, called_at: isNew ? [...limit.called_at, span] : limit.called_at };
}

/** What is known of an id grows: the latest of it counts. */
function replaceOrAdd<T extends { id: number }>(list: T[], item: T): void {
  const known = list.findIndex(({ id }) => id === item.id);
  if (known >= 0) list[known] = item;
  else list.push(item);
}
