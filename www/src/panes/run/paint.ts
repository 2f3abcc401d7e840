// Drawing on canvases in the page's colours, sharp on every screen, again whenever the theme changes.
import { useEffect, useRef } from "preact/hooks";
import type { Cells } from "../../report/statistics";
import { onThemeChange } from "../../state/theme";

type Colour = readonly [number, number, number];

export interface Palette {
  /** Of zero: the ground. */
  zero: Colour;
  negative: Colour;
  positive: Colour;
  /** Of NaN. */
  broken: Colour;
  line: string;
}

/** The colours that `element` sees, read anew: the theme may have changed. */
function palette(element: Element): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string): Colour => {
    const hex = /^#(..)(..)(..)/.exec(style.getPropertyValue(name).trim());
    return hex ? [parseInt(hex[1] ?? "0", 16), parseInt(hex[2] ?? "0", 16), parseInt(hex[3] ?? "0", 16)] : [128, 128, 128];
  };
  return {
    zero: colour("--sunken"),
    negative: colour("--forward"),
    positive: colour("--backward"),
    broken: colour("--error"),
    line: style.getPropertyValue("--forward").trim(),
  };
}

export type Draw = (context: CanvasRenderingContext2D, palette: Palette, width: number, height: number) => void;

/** A canvas that is drawn when `inputs` change, when it is resized, and when the theme changes. */
export function useCanvas(draw: Draw, inputs: readonly unknown[]): { current: HTMLCanvasElement | null } {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    const paint = (): void => {
      const { clientWidth, clientHeight } = element;
      const scale = window.devicePixelRatio || 1;
      element.width = Math.max(1, Math.round(clientWidth * scale));
      element.height = Math.max(1, Math.round(clientHeight * scale));
      const context = element.getContext("2d");
      if (context) draw(context, palette(element), element.width, element.height);
    };
    paint();
    const resized = new ResizeObserver(paint);
    resized.observe(element);
    const stop = onThemeChange(paint);
    return () => {
      resized.disconnect();
      stop();
    };
  }, inputs);
  return canvas;
}

/** The colour of a number: its sign by hue, its size, up to `most`, by strength. */
function shade(value: number, most: number, { zero, negative, positive, broken }: Palette): Colour {
  if (Number.isNaN(value)) return broken;
  const strength = most > 0 ? Math.min(1, Math.abs(value) / most) : 0;
  const end = value < 0 ? negative : positive;
  // Small numbers are to be seen beside large ones: the root lifts them.
  const t = Math.sqrt(strength);
  return [0, 1, 2].map((i) => Math.round((zero[i] ?? 0) + ((end[i] ?? 0) - (zero[i] ?? 0)) * t)) as unknown as Colour;
}

/** Cells as a heat map that fills the canvas. `count` is how many elements there are: cells beyond the last stay empty. */
export function drawCells({ rows, columns, values }: Cells, most: number, beyond: (cell: number) => boolean): Draw {
  return (context, palette, width, height) => {
    if (rows === 0 || columns === 0) return;
    const image = context.createImageData(columns, rows);
    for (let i = 0; i < values.length; i += 1) {
      const [r, g, b] = shade(values[i] ?? NaN, most, palette);
      image.data.set([r, g, b, beyond(i) ? 0 : 255], i * 4);
    }
    const small = new OffscreenCanvas(columns, rows);
    small.getContext("2d")?.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.clearRect(0, 0, width, height);
    context.drawImage(small, 0, 0, width, height);
  };
}

/** Bars from the ground up; those left of zero in the colour of negative numbers. */
export function drawBars(counts: readonly number[], from: number, to: number): Draw {
  return (context, { negative, positive }, width, height) => {
    context.clearRect(0, 0, width, height);
    const most = Math.max(1, ...counts);
    const step = width / Math.max(1, counts.length);
    counts.forEach((count, i) => {
      if (count === 0) return;
      const middle = from + ((i + 0.5) / counts.length) * (to - from);
      context.fillStyle = `rgb(${(middle < 0 ? negative : positive).join(" ")})`;
      const tall = Math.max(1, (count / most) * height);
      context.fillRect(i * step, height - tall, Math.max(1, step - (step > 4 ? 1 : 0)), tall);
    });
  };
}
