// A worker whose answers the test writes.
import type { WorkerLike } from "../src/engine/interpreter";
import type { FromInterpreter, ToInterpreter } from "../src/engine/protocol";

export class FakeWorker implements WorkerLike {
  static all: FakeWorker[] = [];
  readonly received: ToInterpreter[] = [];
  terminated = false;
  onmessage: ((event: MessageEvent<FromInterpreter>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;

  constructor() {
    FakeWorker.all.push(this);
  }

  static get last(): FakeWorker {
    const last = FakeWorker.all.at(-1);
    if (!last) throw new Error("no worker was made");
    return last;
  }

  postMessage(message: ToInterpreter): void {
    this.received.push(message);
  }

  terminate(): void {
    this.terminated = true;
  }

  say(message: FromInterpreter): void {
    this.onmessage?.({ data: message } as MessageEvent<FromInterpreter>);
  }
}
