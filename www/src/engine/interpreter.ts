// The page's side of the interpreter: one worker at a time, ended to stop a script and replaced at once.
import type { Answer, CapturedGraph, Event, LastCall, Question, ScriptFile, Trial, WhatIf } from "../generated/report";
import type { FromInterpreter, ToInterpreter } from "./protocol";

export interface Handlers {
  onEvent(event: Event): void;
  /** The run is over by itself, after so many milliseconds of the interpreter's. */
  onEnd(took: number): void;
  /** The run is over because the module failed, with what it said. */
  onFailure(message: string): void;
}

/** A worker as this needs it; tests bring their own. */
export interface WorkerLike {
  postMessage(message: ToInterpreter): void;
  terminate(): void;
  onmessage: ((event: MessageEvent<FromInterpreter>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
}

export class Interpreter {
  #module: WebAssembly.Module | undefined;
  #worker: WorkerLike | undefined;
  #ready = false;
  #run = 0;
  #handlers: Handlers | undefined;
  /** Questions that are not answered yet: a script that runs is waited for. */
  readonly #asked = new Map<number, { resolve(answer: WhatIf | Answer): void; reject(error: Error): void }>();
  #ask = 0;

  /** Starts a worker at once: it is there when the module has arrived. A module that never does is the caller's to report. */
  constructor(
    module: Promise<WebAssembly.Module>,
    private readonly createWorker: () => WorkerLike,
    private readonly onReady: (ready: boolean) => void,
    /** The module cannot even start. */
    private readonly onFatal: (message: string) => void,
    /** Whether a script waits for the interpreter. */
    private readonly waited: () => boolean = () => false,
  ) {
    this.#start();
    module.then(
      (compiled) => {
        this.#module = compiled;
        this.#initialize();
      },
      () => this.#worker?.terminate(),
    );
  }

  /** Whether a script is running. */
  get busy(): boolean {
    return this.#handlers !== undefined;
  }

  /** Runs `program`; a script that still runs is ended first, silently. */
  run(program: string, files: readonly ScriptFile[], options: { backend: string; check: boolean; pretend_cuda: boolean }, handlers: Handlers): void {
    if (this.busy) this.stop();
    this.#run += 1;
    this.#handlers = handlers;
    this.#worker?.postMessage({ type: "run", run: this.#run, program, files: [...files], options });
  }

  /** What would become of a call with other sizes, by what a report says of the entries there are. */
  whatIf(regions: readonly CapturedGraph[], frame: number, trials: readonly Trial[], last?: LastCall): Promise<WhatIf> {
    return this.#question<WhatIf>((ask) => ({ type: "ask", ask, regions: [...regions], frame, trials: [...trials], last: last ?? null }));
  }

  /** Asks about the joint graph of a compilation of the last run. */
  study(compilation: number, question: Question): Promise<Answer> {
    return this.#question<Answer>((ask) => ({ type: "study", ask, compilation, question }));
  }

  #question<Kind extends WhatIf | Answer>(message: (ask: number) => ToInterpreter): Promise<Kind> {
    this.#ask += 1;
    const ask = this.#ask;
    return new Promise((resolve, reject) => {
      this.#asked.set(ask, { resolve: (answer) => resolve(answer as Kind), reject });
      this.#worker?.postMessage(message(ask));
    });
  }

  /** Ends the running script with its worker, and starts the next worker. The script's handlers hear nothing more. */
  stop(): void {
    this.#handlers = undefined;
    this.#start();
  }

  /** Ends the worker: another one takes its place. */
  end(): void {
    if (this.#worker) {
      this.#worker.onmessage = null;
      this.#worker.onerror = null;
      this.#worker.terminate();
    }
  }

  #start(): void {
    this.end();
    this.#setReady(false);
    for (const { reject } of this.#asked.values()) reject(new Error("The interpreter was started anew."));
    this.#asked.clear();
    const worker = this.createWorker();
    worker.onmessage = ({ data }) => this.#receive(data);
    worker.onerror = (event) => this.#fail(event.message || "the worker could not be started");
    this.#worker = worker;
    this.#initialize();
  }

  #initialize(): void {
    if (this.#module) this.#worker?.postMessage({ type: "init", module: this.#module, waited: this.waited() });
  }

  #receive(message: FromInterpreter): void {
    switch (message.type) {
      case "ready":
        this.#setReady(true);
        break;
      case "event":
        if (message.run === this.#run) this.#handlers?.onEvent(plain(message.event));
        break;
      case "done":
        if (message.run === this.#run) this.#release()?.onEnd(message.took);
        break;
      case "answer":
      case "unanswered":
        this.#answer(message);
        break;
      case "failed":
        this.#fail(message.message);
        break;
    }
  }

  #answer(message: FromInterpreter & { type: "answer" | "unanswered" }): void {
    const waiting = this.#asked.get(message.ask);
    this.#asked.delete(message.ask);
    if (message.type === "answer") waiting?.resolve(message.answer);
    else waiting?.reject(new Error(message.message));
  }

  /** A trap leaves the instance unusable. A module that fails before it was ready would fail again: it is not restarted. */
  #fail(message: string): void {
    if (!this.#ready) return this.onFatal(message);
    this.#start();
    this.#release()?.onFailure(message);
  }

  /** Whoever waited for the run that is over. */
  #release(): Handlers | undefined {
    const handlers = this.#handlers;
    this.#handlers = undefined;
    return handlers;
  }

  #setReady(ready: boolean): void {
    if (this.#ready === ready) return;
    this.#ready = ready;
    this.onReady(ready);
  }
}

function plain(event: Event | string): Event {
  return typeof event === "string" ? (JSON.parse(event) as Event) : event;
}
