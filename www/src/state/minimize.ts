// The search for the smallest script: what is kept, how far it is. It goes on while its dialog is closed.
import { signal } from "@preact/signals";
import { Minimizer, type Smallest } from "../engine/minimizer";
import type { WorkerLike } from "../engine/interpreter";
import type { ModuleSource } from "../engine/module";
import { scriptFiles } from "./modules";
import { options } from "./options";
import { program } from "./script";

export type Keep = "exception" | "text" | "operator" | "differs";

export interface Search {
  /** What the script itself is. */
  whole?: Smallest;
  smallest?: Smallest;
  state: "running" | "stopped" | "ended" | "refused";
  /** Why it was refused: a sentence. */
  why?: string;
}

export const search = signal<Search | undefined>(undefined);

let source: ModuleSource | undefined;
let createWorker: (() => WorkerLike) | undefined;
let minimizer: Minimizer | undefined;

export function prepareMinimizing(from: ModuleSource, create: () => WorkerLike): void {
  source = from;
  createWorker = create;
}

/** What is kept, in the words of the command line. */
function words(keep: Keep, what: string): string {
  if (keep === "exception") return keep;
  return keep === "differs" ? "differs:eager" : `${keep}:${what.trim()}`;
}

/** Begins to make the script smaller; `what` is the text, or the operator. */
export function minimize(keep: Keep, what: string): void {
  minimizer?.stop();
  if (!source || !createWorker) return;
  const { backend, check, cuda, limit } = options.value;
  const change = (change: Partial<Search>): void => {
    if (search.value) search.value = { ...search.value, ...change };
  };
  search.value = { state: "running" };
  const task = { program: program(), files: scriptFiles(), options: { backend, check, pretend_cuda: cuda }, keep: words(keep, what), limit: limit * 1000 };
  minimizer = new Minimizer(source.get(), createWorker, task, {
    onShrunk: (smallest) => change({ smallest, whole: search.value?.whole ?? smallest }),
    onEnd: () => change({ state: "ended" }),
    onRefused: (why) => change({ state: "refused", why }),
  });
}

/** Ends the search; the smallest script so far stays. */
export function stopMinimizing(): void {
  minimizer?.stop();
  if (search.value?.state === "running") search.value = { ...search.value, state: "stopped" };
}
