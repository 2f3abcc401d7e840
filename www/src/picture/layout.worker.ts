// Lays pictures out off the main thread; the latest request is answered, older ones are not waited for.
import { layout, type PictureInput } from "./layout";

export interface LayoutRequest {
  id: number;
  input: PictureInput;
}

addEventListener("message", ({ data: { id, input } }: MessageEvent<LayoutRequest>) => {
  const started = performance.now();
  const made = layout(input);
  const { boxes, edges, shown, parent, wires } = made;
  const columns = [boxes, edges, shown, parent, ...Object.values(wires)] as { buffer: ArrayBuffer }[];
  postMessage({ id, layout: made, milliseconds: performance.now() - started }, { transfer: columns.map(({ buffer }) => buffer) });
});
