// Finds what is in a rectangle without looking at everything: a uniform grid over the picture.
import type { Layout } from "./layout";

const CELL = 400;
/** What covers more cells than this is kept apart and always looked at. */
const MOST_CELLS = 256;

export interface Rectangle {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

class Cells {
  private cells = new Map<number, number[]>();
  private large: number[] = [];
  private stamp: Int32Array;
  private round = 0;

  constructor(
    private readonly bounds: Float32Array,
    count: number,
  ) {
    this.stamp = new Int32Array(count);
    for (let at = 0; at < count; at += 1) {
      if (!(bounds[4 * at + 2]! >= bounds[4 * at]!)) continue;
      // Without lists of four: there are a hundred thousand of these.
      const x0 = Math.floor(bounds[4 * at]! / CELL);
      const y0 = Math.floor(bounds[4 * at + 1]! / CELL);
      const x1 = Math.floor(bounds[4 * at + 2]! / CELL);
      const y1 = Math.floor(bounds[4 * at + 3]! / CELL);
      if ((x1 - x0 + 1) * (y1 - y0 + 1) > MOST_CELLS) this.large.push(at);
      else for (let y = y0; y <= y1; y += 1) for (let x = x0; x <= x1; x += 1) this.cell(x, y).push(at);
    }
  }

  private cell(x: number, y: number): number[] {
    const key = y * 65536 + x;
    const known = this.cells.get(key);
    if (known) return known;
    const made: number[] = [];
    this.cells.set(key, made);
    return made;
  }

  /** What touches the rectangle, in ascending order. */
  find({ left, top, right, bottom }: Rectangle): number[] {
    this.round += 1;
    const found: number[] = [];
    const { bounds } = this;
    const take = (at: number): void => {
      if (this.stamp[at] === this.round) return;
      this.stamp[at] = this.round;
      if (bounds[4 * at]! <= right && bounds[4 * at + 2]! >= left && bounds[4 * at + 1]! <= bottom && bounds[4 * at + 3]! >= top) found.push(at);
    };
    const [x0, y0, x1, y1] = [left, top, right, bottom].map((value) => Math.floor(value / CELL)) as [number, number, number, number];
    if ((x1 - x0 + 1) * (y1 - y0 + 1) > 4 * this.cells.size) for (const list of this.cells.values()) list.forEach(take);
    else {
      for (let y = y0; y <= y1; y += 1) for (let x = x0; x <= x1; x += 1) this.cells.get(y * 65536 + x)?.forEach(take);
    }
    this.large.forEach(take);
    return found.sort((a, b) => a - b);
  }
}

/** Where the items and the wires of a layout are. */
export class Grid {
  private readonly items: Cells;
  private readonly wires: Cells;

  constructor(private readonly layout: Layout) {
    const { boxes, wires } = layout;
    const edges = new Float32Array(boxes.length);
    for (let i = 0; i < boxes.length; i += 4) {
      const hidden = boxes[i + 2] === 0;
      edges[i] = hidden ? 1 : boxes[i]!;
      edges[i + 1] = boxes[i + 1]!;
      edges[i + 2] = hidden ? 0 : boxes[i]! + boxes[i + 2]!;
      edges[i + 3] = boxes[i + 1]! + boxes[i + 3]!;
    }
    this.items = new Cells(edges, boxes.length / 4);
    const count = wires.target.length;
    const around = new Float32Array(4 * count);
    for (let wire = 0; wire < count; wire += 1) {
      let left = Infinity;
      let top = Infinity;
      let right = -Infinity;
      let bottom = -Infinity;
      for (let i = wires.start[wire]!; i < wires.start[wire + 1]!; i += 2) {
        left = Math.min(left, wires.points[i]!);
        right = Math.max(right, wires.points[i]!);
        top = Math.min(top, wires.points[i + 1]!);
        bottom = Math.max(bottom, wires.points[i + 1]!);
      }
      around[4 * wire] = left - 2;
      around[4 * wire + 1] = top - 2;
      around[4 * wire + 2] = right + 2;
      around[4 * wire + 3] = bottom + 2;
    }
    this.wires = new Cells(around, count);
  }

  itemsIn(area: Rectangle): number[] {
    return this.items.find(area);
  }

  wiresIn(area: Rectangle): number[] {
    return this.wires.find(area);
  }

  /** The innermost item at a place; of an open group, its border and its label count, not its inside. */
  at(x: number, y: number, slack = 0): number | undefined {
    const { boxes, nodes, groups } = this.layout;
    const hits = this.itemsIn({ left: x - slack, top: y - slack, right: x + slack, bottom: y + slack });
    let best: number | undefined;
    for (const item of hits) {
      const isOpen = item >= nodes && groups[item - nodes]!.open;
      if (isOpen && y > boxes[4 * item + 1]! + 22) continue;
      // Groups are numbered after those around them; a node is always innermost.
      if (best === undefined || best >= nodes) best = item;
      if (item < nodes) break;
    }
    return best;
  }
}
