// Which part of the picture is looked at: the place in the middle of the window, and the scale.
import type { Rectangle } from "./grid";

export interface Camera {
  x: number;
  y: number;
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

export const LARGEST = 2.5;
/** Room at the window's edges: above are the tools, below the legend or the card. */
const SIDES = 20;
const ABOVE = 46;
const BELOW = 40;
/** Below this nothing can be read: a picture opens at its top instead of as a whole. */
const READABLE = 0.7;

export function visible({ x, y, scale }: Camera, { width, height }: Size): Rectangle {
  return { left: x - width / 2 / scale, top: y - height / 2 / scale, right: x + width / 2 / scale, bottom: y + height / 2 / scale };
}

/** In pixels from the window's corner. */
export function toScreen(camera: Camera, size: Size, x: number, y: number): [number, number] {
  return [(x - camera.x) * camera.scale + size.width / 2, (y - camera.y) * camera.scale + size.height / 2];
}

export function toWorld(camera: Camera, size: Size, x: number, y: number): [number, number] {
  return [(x - size.width / 2) / camera.scale + camera.x, (y - size.height / 2) / camera.scale + camera.y];
}

type Bounds = readonly [number, number, number, number];

const room = ({ width, height }: Size): Size => ({ width: Math.max(1, width - 2 * SIDES), height: Math.max(1, height - ABOVE - BELOW) });

/** All of it. */
export function fit([left, top, right, bottom]: Bounds, size: Size, largest = 1): Camera {
  const { width, height } = room(size);
  const scale = Math.max(1e-4, Math.min(largest, width / Math.max(1, right - left), height / Math.max(1, bottom - top)));
  return { x: (left + right) / 2, y: (top + bottom) / 2 - (ABOVE - BELOW) / 2 / scale, scale };
}

/** All of it where that can be read; else the part that is asked for, or as much of it around its beginning as can be read. */
export function opening(whole: Bounds, part: Bounds, size: Size, beginning: number): Camera {
  for (const bounds of [whole, part]) {
    const all = fit(bounds, size);
    if (all.scale >= READABLE) return all;
  }
  const scale = Math.min(1, Math.max(READABLE, room(size).width / Math.max(1, part[2] - part[0])));
  const half = room(size).width / 2 / scale;
  // Within the part if it fills the window; else with as much of the whole as there is room for.
  const among = (bounds: Bounds, wanted: number): number => {
    const [least, most] = [bounds[0] + half, bounds[2] - half];
    return least > most ? (bounds[0] + bounds[2]) / 2 : Math.min(most, Math.max(least, wanted));
  };
  const x = part[2] - part[0] > 2 * half ? among(part, beginning) : among(whole, (part[0] + part[2]) / 2);
  return { x, y: part[1] + (size.height / 2 - ABOVE) / scale, scale };
}

/** Nearer or farther; what is at (`x`, `y`) in the window stays there. */
export function zoom(camera: Camera, size: Size, factor: number, x: number, y: number, smallest: number): Camera {
  const scale = Math.min(LARGEST, Math.max(smallest, camera.scale * factor));
  const [worldX, worldY] = toWorld(camera, size, x, y);
  return { scale, x: worldX - (x - size.width / 2) / scale, y: worldY - (y - size.height / 2) / scale };
}

/** What the card below the picture covers. */
const CARD = 90;

/** Moved no farther than needed for a box (left, top, width, height) to be seen with room around it. */
export function reveal(camera: Camera, size: Size, box: readonly number[]): Camera {
  const view = visible(camera, size);
  const unit = 1 / camera.scale;
  const [sides, above, below] = [Math.min(40, size.width / 4), Math.min(ABOVE, size.height / 4), Math.min(CARD, size.height / 3)].map((pixels) => pixels * unit) as [number, number, number];
  const shift = (low: number, high: number, from: number, to: number): number => {
    if (high - low > to - from) return low - from;
    if (low < from) return low - from;
    return high > to ? high - to : 0;
  };
  const [left, top, width, height] = box as [number, number, number, number];
  return {
    ...camera,
    x: camera.x + shift(left, left + width, view.left + sides, view.right - sides),
    y: camera.y + shift(top, top + height, view.top + above, view.bottom - below),
  };
}

/** Keeps some of the picture in the window. */
export function confine(camera: Camera, size: Size, [left, top, right, bottom]: readonly [number, number, number, number]): Camera {
  const [halfWidth, halfHeight] = [size.width / 2 / camera.scale, size.height / 2 / camera.scale];
  const [roomX, roomY] = [halfWidth * 0.8, halfHeight * 0.8];
  return {
    ...camera,
    x: Math.min(right + roomX, Math.max(left - roomX, camera.x)),
    y: Math.min(bottom + roomY, Math.max(top - roomY, camera.y)),
  };
}
