// The page's side of the exports: a worker is started when something is first exported.
import type { ModuleSource } from "../engine/module";
import type { FromExport, ToExport } from "../engine/protocol";

let source: ModuleSource | undefined;
let createWorker: (() => Worker) | undefined;
let worker: Promise<Worker> | undefined;
/** Requests are answered one after the other. */
let last: Promise<unknown> = Promise.resolve();

export function prepareExports(from: ModuleSource, create: () => Worker): void {
  source = from;
  createWorker = create;
}

async function start(): Promise<Worker> {
  if (!source || !createWorker) throw new Error("The page is not ready.");
  const module = await source.get();
  const started = createWorker();
  started.postMessage({ type: "init", module } satisfies ToExport);
  return started;
}

/** What the compiler makes of a request, as text. */
export function make(request: Exclude<ToExport, { type: "init" }>): Promise<string> {
  const answer = last.then(async () => {
    worker ??= start();
    const now = await worker;
    return new Promise<string>((resolve, reject) => {
      const fail = (message: string): void => {
        now.terminate();
        worker = undefined;
        reject(new Error(message));
      };
      now.onmessage = ({ data }: MessageEvent<FromExport>) => (data.type === "made" ? resolve(data.text) : fail(data.message));
      now.onerror = (event) => fail(event.message || "the worker could not be started");
      now.postMessage(request);
    });
  });
  last = answer.catch(() => {
    worker = undefined;
  });
  return answer;
}
