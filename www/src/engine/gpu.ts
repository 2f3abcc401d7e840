// The page's side of the GPU: its module is fetched and its worker started when something is first run.
import type { Bundle, RunResult } from "../generated/report";
import type { ModuleSource, Progress } from "./module";
import type { Device, FromGpu, ToGpu } from "./protocol";

interface Waiting {
  run: number;
  resolve(result: RunResult): void;
  reject(error: Error): void;
}

export class Gpu {
  #worker: Promise<Worker> | undefined;
  #waiting: Waiting | undefined;
  #run = 0;

  constructor(
    private readonly source: ModuleSource,
    private readonly createWorker: () => Worker,
  ) {}

  /** Runs `bundle` and gives the result; one run at a time. */
  async run(bundle: Bundle, device: Device, onProgress: (progress: Progress) => void): Promise<RunResult> {
    if (this.#waiting) throw new Error("A run is still going on.");
    this.#worker ??= this.#start(onProgress).catch((error: unknown) => {
      this.#worker = undefined;
      throw error;
    });
    const worker = await this.#worker;
    this.#run += 1;
    const run = this.#run;
    return new Promise((resolve, reject) => {
      this.#waiting = { run, resolve, reject };
      worker.postMessage({ type: "run", run, bundle, device } satisfies ToGpu);
    });
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
    if (message.type === "ready" || message.run !== this.#waiting?.run) return;
    const { resolve, reject } = this.#waiting;
    this.#waiting = undefined;
    if (message.type === "result") resolve(message.result);
    else reject(new Error(message.node ? `${message.node}: ${message.message}` : message.message));
  }

  /** The instance is of no more use: the next run starts another. */
  #fail(message: string): void {
    void this.#worker?.then((worker) => worker.terminate());
    this.#worker = undefined;
    this.#waiting?.reject(new Error(message));
    this.#waiting = undefined;
  }
}
