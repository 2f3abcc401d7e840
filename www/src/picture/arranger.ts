// Asks the worker for layouts. A request while another is under way takes the place of those that wait.
import type { Layout, PictureInput } from "./layout";

export interface Arranged {
  layout: Layout;
  /** What the layout took, in the worker. */
  milliseconds: number;
}

interface Answer extends Arranged {
  id: number;
}

export class Arranger {
  private worker: Worker;
  private next = 0;
  private busy = false;
  private waiting: { input: PictureInput; done: (arranged: Arranged) => void } | undefined;
  private done: ((arranged: Arranged) => void) | undefined;

  constructor(failed: (message: string) => void) {
    this.worker = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    this.worker.addEventListener("message", ({ data }: MessageEvent<Answer>) => {
      this.busy = false;
      const { done, waiting } = this;
      [this.done, this.waiting] = [undefined, undefined];
      // One that something newer waits behind is out of date.
      if (waiting) this.arrange(waiting.input, waiting.done);
      else done?.(data);
    });
    this.worker.addEventListener("error", (event) => failed(event.message || "the layout failed"));
  }

  arrange(input: PictureInput, done: (arranged: Arranged) => void): void {
    if (this.busy) {
      this.waiting = { input, done };
      return;
    }
    this.busy = true;
    this.done = done;
    this.next += 1;
    this.worker.postMessage({ id: this.next, input });
  }

  close(): void {
    this.worker.terminate();
  }
}
