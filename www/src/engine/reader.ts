// The page's side of what reads logs: its module is fetched and its worker started when the first log is opened.
import type { Answer, Bundle, LogCompilation, LogDiff, LogOverview, LogRegion, OfLog, PairDiff, Question, RankOf, Report } from "../generated/report";
import type { ModuleSource } from "./module";
import type { FromReader, ToReader } from "./protocol";

/** A file of a log: its name, with folders before it, and its bytes. */
export interface LogBytes {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

export class Reader {
  #worker: Promise<Worker> | undefined;
  readonly #asked = new Map<number, Waiting>();
  readonly #open = new Set<number>();
  #ask = 0;

  constructor(
    private readonly source: ModuleSource,
    private readonly createWorker: () => Worker,
  ) {}

  /** Whether a log is open: when the worker fails, none is any more. */
  has(log: number): boolean {
    return this.#open.has(log);
  }

  /** Opens files as one log. They are handed over: nobody else has their bytes from then on. */
  async open(log: number, files: readonly LogBytes[]): Promise<LogOverview> {
    const overview = await this.#question<LogOverview>(
      (ask) => ({ type: "open", ask, log, files: [...files] }),
      files.map(({ bytes }) => bytes.buffer),
    );
    this.#open.add(log);
    return overview;
  }

  close(log: number): void {
    if (!this.#open.delete(log)) return;
    this.#worker?.then(
      (worker) => worker.postMessage({ type: "close", log } satisfies ToReader),
      () => {},
    );
  }

  compilation(of: OfLog): Promise<LogCompilation> {
    return this.#question((ask) => ({ type: "compilation", ask, of }));
  }

  region(log: number, region: number): Promise<LogRegion> {
    return this.#question((ask) => ({ type: "region", ask, log, region }));
  }

  study(of: OfLog, question: Question): Promise<Answer> {
    return this.#question((ask) => ({ type: "study", ask, of, question }));
  }

  /** A run as the log that PyTorch would write of it. */
  write(report: Report): Promise<string> {
    return this.#question((ask) => ({ type: "write", ask, report }));
  }

  /** The log as it is handed on. */
  pack(log: number, name: string, cut: boolean): Promise<{ aotz: number; name: string; files: unknown }> {
    return this.#question((ask) => ({ type: "pack", ask, log, name, cut }));
  }

  /** The compilation with inputs that are drawn. */
  runnable(of: OfLog): Promise<Bundle> {
    return this.#question((ask) => ({ type: "runnable", ask, of }));
  }

  compare(first: OfLog, second: OfLog): Promise<PairDiff> {
    return this.#question((ask) => ({ type: "compare", ask, first, second }));
  }

  diff(first: RankOf, second: RankOf): Promise<LogDiff> {
    return this.#question((ask) => ({ type: "diff", ask, first, second }));
  }

  async #question<T>(message: (ask: number) => ToReader, transfer: Transferable[] = []): Promise<T> {
    this.#ask += 1;
    const ask = this.#ask;
    this.#worker ??= this.#start();
    const worker = await this.#worker.catch((error: unknown) => {
      this.#worker = undefined;
      throw error;
    });
    return new Promise<T>((resolve, reject) => {
      this.#asked.set(ask, { resolve: (answer) => resolve(answer as T), reject });
      worker.postMessage(message(ask), transfer);
    });
  }

  async #start(): Promise<Worker> {
    const module = await this.source.get().catch((error: unknown) => {
      throw new Error(`What reads logs could not be fetched (${error instanceof Error ? error.message : String(error)}); open the log again to try once more`);
    });
    const worker = this.createWorker();
    worker.onmessage = ({ data }: MessageEvent<FromReader>) => this.#receive(data);
    worker.onerror = (event) => this.#fail(event.message || "the worker could not be started");
    worker.postMessage({ type: "init", module } satisfies ToReader);
    return worker;
  }

  #receive(message: FromReader): void {
    if (message.type === "ready") return;
    if (message.type === "failed") return this.#fail(message.message);
    const waiting = this.#asked.get(message.ask);
    this.#asked.delete(message.ask);
    if (message.type === "answer") waiting?.resolve(JSON.parse(message.text));
    else if (message.type === "runnable") waiting?.resolve(message.bundle);
    else waiting?.reject(new Error(message.message));
  }

  /** The instance is of no more use: the next question starts another. */
  #fail(message: string): void {
    this.#worker?.then(
      (worker) => worker.terminate(),
      () => {},
    );
    this.#worker = undefined;
    this.#open.clear();
    const memory = /^(?:Runtime|Memory)Error: /.test(message);
    const error = new Error(memory ? "there is not enough memory in this browser to read it" : `the reader failed: ${message}`);
    for (const { reject } of this.#asked.values()) reject(error);
    this.#asked.clear();
  }
}
