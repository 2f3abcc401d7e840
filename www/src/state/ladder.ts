// The script under one backend after the other, in an interpreter of its own that ends with the last of them: what is shown stays.
import { signal } from "@preact/signals";
import { Interpreter, type WorkerLike } from "../engine/interpreter";
import type { ModuleSource } from "../engine/module";
import type { Event } from "../generated/report";
import { emptyReport, fold } from "../report/fold";
import { type Rung, rungOf } from "../report/ladder";
import { scriptFiles } from "./modules";
import { type Options, options } from "./options";
import { program } from "./script";

/** From what runs the captured graph as it is, to what changes most of it. */
export const LADDER = ["eager", "aot_eager", "inductor"] as const satisfies readonly Options["backend"][];

export interface Ladder {
  /** The script that they are of. */
  program: string;
  rungs: readonly Rung[];
  /** The backend that runs now. */
  now?: Options["backend"];
}

export const ladder = signal<Ladder | undefined>(undefined);

let source: ModuleSource | undefined;
let createWorker: (() => WorkerLike) | undefined;
let end: (() => void) | undefined;

/** Prepares for it: nothing is started yet. */
export function prepareLadder(from: ModuleSource, create: () => WorkerLike): void {
  source = from;
  createWorker = create;
}

/** Runs the script as it is now under each backend. */
export function climb(): void {
  stopClimbing();
  if (!source || !createWorker) return;
  const [text, files, { cuda, limit }] = [program(), scriptFiles(), options.peek()];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let left = false;
  const add = (rung: Rung): void => {
    clearTimeout(timer);
    if (left) return;
    const rungs = [...(ladder.peek()?.rungs ?? []), rung];
    const now = LADDER[rungs.length];
    ladder.value = { program: text, rungs, ...(now ? { now } : {}) };
    if (now) run(now);
    else end?.();
  };
  const interpreter = new Interpreter(source.get(), createWorker, () => {}, (message) => {
    for (let missing = LADDER.length - (ladder.peek()?.rungs.length ?? 0); missing > 0 && !left; missing -= 1) {
      add(rungOf(LADDER[LADDER.length - missing]!, emptyReport(), `It could not be run: ${message}.`));
    }
  });
  const run = (backend: Options["backend"]): void => {
    const events: Event[] = [];
    const ended = (why?: string): void => add(rungOf(backend, fold(emptyReport(), events), why));
    timer = setTimeout(() => {
      interpreter.stop();
      ended(`Stopped after ${limit} s: the time limit.`);
    }, limit * 1000);
    interpreter.run(text, files, { backend, check: false, pretend_cuda: cuda }, { onEvent: (event) => events.push(event), onEnd: () => ended(), onFailure: (message) => ended(`It ended: ${message}.`) });
  };
  end = () => {
    left = true;
    clearTimeout(timer);
    interpreter.end();
    end = undefined;
  };
  ladder.value = { program: text, rungs: [], now: LADDER[0] };
  run(LADDER[0]);
}

/** Ends it: what is known of the backends that ran stays. */
export function stopClimbing(): void {
  end?.();
  if (ladder.peek()?.now) {
    const { now: _, ...known } = ladder.peek()!;
    ladder.value = known;
  }
}
