// Layouts without a worker, which a file that is opened from a disk can't start: in the place of `picture/arranger.ts`.
import { layout, type PictureInput } from "../picture/layout";
import type { Arranged } from "../picture/arranger";

export class Arranger {
  private waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly failed: (message: string) => void) {}

  arrange(input: PictureInput, done: (arranged: Arranged) => void): void {
    clearTimeout(this.waiting);
    // After what is on the screen says that it goes on.
    this.waiting = setTimeout(() => {
      const started = performance.now();
      let made;
      try {
        made = layout(input);
      } catch (error) {
        return this.failed(error instanceof Error ? error.message : String(error));
      }
      done({ layout: made, milliseconds: performance.now() - started });
    }, 0);
  }

  close(): void {
    clearTimeout(this.waiting);
  }
}
