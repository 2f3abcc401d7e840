// The page's side of making a script smaller: a worker of its own, ended where a script that it tries does not end, and started again with the
// smallest script so far and the numbers of those that were tried.
import type { ScriptFile, ScriptOptions } from "../generated/report";
import type { WorkerLike } from "./interpreter";
import type { FromInterpreter } from "./protocol";

export interface Smallest {
  text: string;
  statements: number;
  tries: number;
}

export interface Task {
  program: string;
  files: readonly ScriptFile[];
  options: ScriptOptions;
  /** What is kept, in the words of the command line: `text:TEXT`. */
  keep: string;
  /** Milliseconds that the script itself may run. */
  limit: number;
}

export interface Listener {
  /** The script itself keeps it; a smaller one does. */
  onShrunk(smallest: Smallest): void;
  /** There is no smaller one. */
  onEnd(): void;
  /** The script itself does not have what is to be kept, in a sentence. */
  onRefused(why: string): void;
}

/** Milliseconds that the worker has to start. */
const START = 60_000;
/** How much longer than the script itself a smaller one may run, and at least. */
const TIMES_AS_LONG = 3;
const AT_LEAST = 2000;

export class Minimizer {
  #worker: WorkerLike | undefined;
  #module: WebAssembly.Module | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #smallest: Smallest | undefined;
  /** Tries of workers that were ended. */
  #before = 0;
  /** Whether this worker has run the script that it was given. */
  #ran = false;
  readonly #tried = new Set<number>();
  #began = 0;
  /** Milliseconds that a smaller script may run. */
  #limit: number;

  constructor(
    module: Promise<WebAssembly.Module>,
    private readonly createWorker: () => WorkerLike,
    private readonly task: Task,
    private readonly listener: Listener,
  ) {
    this.#limit = task.limit;
    module.then(
      (compiled) => {
        this.#module = compiled;
        this.#start();
      },
      (error: unknown) => this.#refuse(error instanceof Error ? error.message : String(error)),
    );
  }

  /** Ends it; the listener hears nothing more. */
  stop(): void {
    this.#module = undefined;
    this.#end();
  }

  #end(): void {
    clearTimeout(this.#timer);
    if (!this.#worker) return;
    this.#worker.onmessage = null;
    this.#worker.onerror = null;
    this.#worker.terminate();
    this.#worker = undefined;
  }

  #start(): void {
    if (!this.#module) return;
    const { program, files, options, keep } = this.task;
    const worker = this.createWorker();
    this.#worker = worker;
    this.#ran = false;
    worker.onmessage = ({ data }) => this.#receive(data);
    worker.onerror = (event) => this.#failed(event.message || "the worker could not be started");
    worker.postMessage({ type: "init", module: this.#module, waited: true });
    worker.postMessage({ type: "minimize", ask: 0, program: this.#smallest?.text ?? program, files: [...files], options, keep, lost: [...this.#tried] });
    this.#wait(START);
  }

  #wait(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#failed("it did not end"), milliseconds);
  }

  #receive(message: FromInterpreter): void {
    switch (message.type) {
      case "trying":
        this.#tried.add(message.number);
        this.#began = performance.now();
        // The first script of a worker imports PyTorch.
        this.#wait(this.#ran ? this.#limit : this.task.limit + AT_LEAST);
        break;
      case "shrunk": {
        if (!this.#smallest) this.#limit = AT_LEAST + TIMES_AS_LONG * (performance.now() - this.#began);
        this.#ran = true;
        const { text, statements, tries } = message;
        this.#smallest = { text, statements, tries: this.#before + tries };
        this.listener.onShrunk(this.#smallest);
        if (message.is_last) this.#finish();
        break;
      }
      case "unanswered":
        if (this.#smallest) this.#finish();
        else this.#refuse(message.message);
        break;
      case "failed":
        this.#failed(message.message);
        break;
      default:
    }
  }

  #finish(): void {
    this.stop();
    this.listener.onEnd();
  }

  #refuse(why: string): void {
    this.stop();
    this.listener.onRefused(why);
  }

  /** A script that was tried ended its worker, or had to be ended with it. */
  #failed(why: string): void {
    this.#end();
    if (!this.#smallest) return this.#refuse(`the script could not be run: ${why}`);
    // The smallest script ran before: where it does not now, no other will.
    if (!this.#ran) return this.#finish();
    this.#before = this.#smallest.tries + 1;
    this.#start();
  }
}
