// Going about a picture by keyboard: along edges where there are any in the direction, else to what is nearest there.
import type { Grid } from "./grid";
import type { Layout } from "./layout";

export type Direction = "up" | "down" | "left" | "right";

/** Which edges touch each shown item. */
export class Neighbours {
  private readonly ins = new Map<number, number[]>();
  private readonly outs = new Map<number, number[]>();

  constructor({ edges }: Layout) {
    const put = (map: Map<number, number[]>, key: number, value: number): void => {
      const list = map.get(key);
      if (list) list.push(value);
      else map.set(key, [value]);
    };
    for (let at = 0; at < edges.length; at += 3) {
      put(this.outs, edges[at]!, edges[at + 1]!);
      put(this.ins, edges[at + 1]!, edges[at]!);
    }
  }

  /** What it reads. */
  inputs(item: number): readonly number[] {
    return this.ins.get(item) ?? [];
  }

  /** What reads it. */
  readers(item: number): readonly number[] {
    return this.outs.get(item) ?? [];
  }
}

const middle = ({ boxes }: Layout, item: number): [number, number] => [
  boxes[4 * item]! + boxes[4 * item + 2]! / 2,
  boxes[4 * item + 1]! + boxes[4 * item + 3]! / 2,
];

/** Items that can be gone to: nodes and closed groups. */
function isStop({ boxes, nodes, groups }: Layout, item: number): boolean {
  return boxes[4 * item + 2]! > 0 && (item < nodes || !groups[item - nodes]!.open);
}

/** The next item in a direction; `undefined` at the end. */
export function neighbour(layout: Layout, grid: Grid, neighbours: Neighbours, item: number, direction: Direction): number | undefined {
  const [x, y] = middle(layout, item);
  const sideways = direction === "left" || direction === "right";
  const sign = direction === "down" || direction === "right" ? 1 : -1;
  const ahead = (other: number): number => {
    const [otherX, otherY] = middle(layout, other);
    return sign * (sideways ? otherX - x : otherY - y);
  };
  const cost = (other: number): number => {
    const [otherX, otherY] = middle(layout, other);
    return sideways ? Math.abs(otherX - x) + 4 * Math.abs(otherY - y) : Math.abs(otherY - y) + 0.6 * Math.abs(otherX - x);
  };
  const joined = [...neighbours.inputs(item), ...neighbours.readers(item)].filter((other) => ahead(other) > 4);
  // Sideways an edge counts only where it runs that way: across the bridge.
  const along = sideways ? joined.filter((other) => crosses(layout, item, other)) : joined;
  const open = item >= layout.nodes && layout.groups[item - layout.nodes]!.open;
  if (open && direction === "down") return firstInside(layout, item);
  if (sideways) {
    const row = best(inBand(layout, grid, item, sign).filter((other) => other !== item && isStop(layout, other)), cost);
    return row ?? best(along, cost);
  }
  return best(along, cost) ?? best(beyond(layout, grid, item, sign).filter((other) => isStop(layout, other)), cost);
}

function crosses(layout: Layout, a: number, b: number): boolean {
  const [ax] = middle(layout, a);
  const [bx] = middle(layout, b);
  return Math.abs(ax - bx) > (layout.boxes[4 * a + 2]! + layout.boxes[4 * b + 2]!) / 2;
}

function best(items: readonly number[], cost: (item: number) => number): number | undefined {
  let found: number | undefined;
  let least = Infinity;
  for (const item of items) {
    const price = cost(item);
    if (price < least) [found, least] = [item, price];
  }
  return found;
}

/** Items beside one, at its height. */
function inBand(layout: Layout, grid: Grid, item: number, sign: number): number[] {
  const [left, top, width, height] = layout.boxes.subarray(4 * item, 4 * item + 4) as unknown as [number, number, number, number];
  const [start, end] = sign > 0 ? [left + width + 1, layout.bounds[2]] : [layout.bounds[0], left - 1];
  return start > end ? [] : grid.itemsIn({ left: start, right: end, top: top + height / 2 - 8, bottom: top + height / 2 + 8 });
}

/** Items above or below one, near it. */
function beyond(layout: Layout, grid: Grid, item: number, sign: number): number[] {
  const [left, top, width, height] = layout.boxes.subarray(4 * item, 4 * item + 4) as unknown as [number, number, number, number];
  const [start, end] = sign > 0 ? [top + height + 1, layout.bounds[3]] : [layout.bounds[1], top - 1];
  if (start > end) return [];
  const near = grid.itemsIn({ left: left - 40, right: left + width + 40, top: sign > 0 ? start : Math.max(start, end - 800), bottom: sign > 0 ? Math.min(end, start + 800) : end });
  return near.filter((other) => other !== item && sign * (layout.boxes[4 * other + 1]! - top) > 0);
}

/** The first item of an open group, as one reads. */
export function firstInside(layout: Layout, item: number): number | undefined {
  const { children } = layout.groups[item - layout.nodes]!;
  return best(children, (child) => middle(layout, child)[1] * 1e4 + middle(layout, child)[0]);
}

/** The topmost item among those that `counts`. */
export function firstItem(layout: Layout, counts: (item: number) => boolean): number | undefined {
  let found: number | undefined;
  let least = Infinity;
  for (let item = 0; item < layout.boxes.length / 4; item += 1) {
    if (!isStop(layout, item) || !counts(item)) continue;
    const price = middle(layout, item)[1];
    if (price < least) [found, least] = [item, price];
  }
  return found;
}
