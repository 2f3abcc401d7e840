// The page's side of the GPU: its module is fetched and its worker started when something is first run.
import type { Bundle, Named, Recipe, RunResult, TensorData, Timed, Training } from "../generated/report";
import type { ModuleSource, Progress } from "./module";
import type { FromGpu, Runner, ToGpu } from "./protocol";

export interface TrainingHandlers {
  onReady(training: Training): void;
  onLosses(losses: readonly number[], seconds: number): void;
}

/** What is asked for, and who hears the answers. */
interface Waiting {
  run: number;
  receive(message: FromGpu): void;
  reject(error: Error): void;
  /** Ends it where no answer comes; it runs once the worker has been asked. */
  limit?: ReturnType<typeof setTimeout>;
}

/** Seconds of silence after which a run or a training is ended: a kernel may never end. */
export const LONGEST_SILENCE = 60;

/** Who hears how a tensor prints. */
interface Printing {
  resolve(text: string): void;
  reject(error: Error): void;
}

type Ask = (run: number) => ToGpu;

export class Gpu {
  #worker: Promise<Worker> | undefined;
  #waiting: Waiting | undefined;
  #run = 0;
  readonly #printing = new Map<number, Printing>();

  constructor(
    private readonly source: ModuleSource,
    private readonly createWorker: () => Worker,
  ) {}

  /** Runs `bundle` and gives the result. */
  run(bundle: Bundle, device: Runner, onProgress: (progress: Progress) => void): Promise<RunResult> {
    return this.#ask(
      (run) => ({ type: "run", run, bundle, device }),
      (message, resolve) => {
        if (message.type === "result") resolve(message.result);
      },
      onProgress,
    );
  }

  /** Takes steps for about so many seconds, and tells how long they take. */
  time(
    { bundle, recipe, device, seconds }: { bundle: Bundle; recipe: Recipe | null; device: Runner; seconds: number },
    onProgress: (progress: Progress) => void,
  ): Promise<Timed> {
    return this.#ask(
      (run) => ({ type: "time", run, bundle, recipe, device, seconds }),
      (message, resolve) => {
        if (message.type === "timed") resolve(message.timed);
      },
      onProgress,
    );
  }

  /** Takes training steps and gives the parameters after them. */
  train(
    { bundle, recipe, device, steps }: { bundle: Bundle; recipe: Recipe; device: Runner; steps: number },
    handlers: TrainingHandlers,
    onProgress: (progress: Progress) => void,
  ): Promise<Named[]> {
    return this.#ask((run) => ({ type: "train", run, bundle, recipe, device, steps }), trained(handlers), onProgress);
  }

  /** Takes further steps of the training that was begun last. */
  continue(steps: number, lr: number, handlers: TrainingHandlers): Promise<Named[]> {
    return this.#ask((run) => ({ type: "continue", run, lr, steps }), trained(handlers), () => {});
  }

  /** Another step size for the steps to come. */
  adjust(lr: number): void {
    this.#tell({ type: "adjust", lr });
  }

  /** Ends the steps that are being taken; what was asked for is then answered. */
  pause(): void {
    this.#tell({ type: "pause" });
  }

  /** Ends what goes on, with its worker: a kernel that runs hears nothing. Whoever waits is told `why`. */
  cancel(why: string): void {
    if (this.#waiting) this.#fail(why);
  }

  /** A tensor as PyTorch prints it; for values of a run, so that the module is there. Rejected when the worker fails. */
  async print(tensor: TensorData): Promise<string> {
    const worker = await this.#worker;
    if (!worker) throw new Error("There is no run whose values could be printed.");
    this.#run += 1;
    const ask = this.#run;
    return new Promise((resolve, reject) => {
      this.#printing.set(ask, { resolve, reject });
      worker.postMessage({ type: "print", ask, tensor } satisfies ToGpu);
    });
  }

  /** One request at a time: a page has one device. It can be cancelled from here on, while its module is fetched as well. */
  #ask<T>(ask: Ask, receive: (message: FromGpu, resolve: (value: T) => void) => void, onProgress: (progress: Progress) => void): Promise<T> {
    if (this.#waiting) return Promise.reject(new Error("A run is still going on."));
    this.#run += 1;
    const run = this.#run;
    this.#worker ??= this.#start(onProgress);
    const begin = (worker: Worker): void => {
      if (this.#waiting?.run !== run) return;
      worker.postMessage(ask(run));
      this.#listen(this.#waiting);
    };
    return new Promise<T>((resolve, reject) => {
      const done = (value: T): void => {
        this.#rest();
        resolve(value);
      };
      this.#waiting = { run, receive: (message) => receive(message, done), reject };
      this.#worker?.then(begin, (error: unknown) => {
        if (this.#waiting?.run === run) this.#fail(error instanceof Error ? error.message : String(error));
      });
    });
  }

  /** Waits for the next answer, but not for ever. */
  #listen(waiting: Waiting): void {
    clearTimeout(waiting.limit);
    waiting.limit = setTimeout(() => this.#fail(`Ended: the device has not answered for ${LONGEST_SILENCE} seconds.`), LONGEST_SILENCE * 1000);
  }

  /** Nobody waits any more. */
  #rest(): void {
    clearTimeout(this.#waiting?.limit);
    this.#waiting = undefined;
  }

  /** Tells the worker, where there is one. */
  #tell(message: ToGpu): void {
    this.#worker?.then(
      (worker) => worker.postMessage(message),
      () => {},
    );
  }

  async #start(onProgress: (progress: Progress) => void): Promise<Worker> {
    const module = await this.source.get(onProgress);
    const worker = this.createWorker();
    worker.onmessage = ({ data }: MessageEvent<FromGpu>) => this.#receive(data);
    worker.onerror = (event) => this.#fail(event.message || "the worker could not be started");
    worker.postMessage({ type: "init", module } satisfies ToGpu);
    return worker;
  }

  #receive(message: FromGpu): void {
    if (message.type === "failed") return this.#fail(message.message);
    if (message.type === "printed") {
      this.#printing.get(message.ask)?.resolve(message.text);
      this.#printing.delete(message.ask);
      return;
    }
    if (message.type === "ready" || message.run !== this.#waiting?.run) return;
    const { reject } = this.#waiting;
    if (message.type !== "refused") {
      this.#listen(this.#waiting);
      return this.#waiting.receive(message);
    }
    this.#rest();
    const known = message.node !== null && message.message.startsWith(message.node);
    reject(new Error(message.node && !known ? `${message.node}: ${message.message}` : message.message));
  }

  /** The instance is of no more use: the next run starts another. */
  #fail(message: string): void {
    this.#worker?.then(
      (worker) => worker.terminate(),
      () => {},
    );
    this.#worker = undefined;
    const error = new Error(message);
    const waiting = this.#waiting;
    this.#rest();
    waiting?.reject(error);
    for (const printing of this.#printing.values()) printing.reject(error);
    this.#printing.clear();
  }
}

function trained(handlers: TrainingHandlers): (message: FromGpu, resolve: (parameters: Named[]) => void) => void {
  return (message, resolve) => {
    if (message.type === "training") handlers.onReady(message.training);
    else if (message.type === "losses") handlers.onLosses(message.losses, message.seconds);
    else if (message.type === "trained") resolve(message.parameters);
  };
}
