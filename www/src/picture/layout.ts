// The whole picture: every open group laid out inside its box, the forward on the left going down, the backward on the right
// going up, and between them what is saved. Levels are laid out from the inside out; an edge that crosses a box's border does
// so at a port of its own.
import { BACKWARD, BRIDGE, FORWARD, group, type Group, type PictureInput } from "./groups";
import { ANYWHERE, FIRST, LAST, layoutLevel, type LevelEdge, Nearest, type Placed, PORT_GAP } from "./layers";

export type { Group, PictureInput } from "./groups";

/** Where everything is. Items are nodes, by their numbers, then groups. */
export interface Layout {
  nodes: number;
  groups: Group[];
  /** Per node: the item that shows it. */
  shown: Int32Array;
  parent: Int32Array;
  /** Left, top, width, height of each item, four numbers each; the width of what is not shown is 0. */
  boxes: Float32Array;
  /** Edges between shown items: from, to, how many they stand for. */
  edges: Int32Array;
  wires: Wires;
  /** Left, top, right, bottom. */
  bounds: [number, number, number, number];
}

/** Lines, by columns. */
export interface Wires {
  points: Float32Array;
  /** Where each wire's points begin, and one more for the end. */
  start: Int32Array;
  /** Shown item whose value it carries. */
  source: Int32Array;
  /** Item it leads to; `-2 - group` where it leaves that group; -1 for a bus. */
  target: Int32Array;
  /** The bus it branches from, and how many of that one's points lead here; -1 for none. */
  bus: Int32Array;
  busLength: Int32Array;
  /** `FORWARD`, `BACKWARD`, `BRIDGE`, or `CROSSING`: a value of the forward that the backward computes again. */
  kind: Uint8Array;
}

export const CROSSING = 3;

const HEADER = 24;
const PAD = 14;
const GUTTER = 44;
const CHIP_GAP = 6;
export const CLOSED_HEIGHT = 42;

/** Width of a line of text in the picture, in its own units. */
export const textWidth = (characters: number): number => characters * 6.7;

interface Inside {
  placed: Placed;
  children: readonly number[];
  width: number;
  height: number;
  /** From the level's own coordinates to the box's. */
  dx: number;
  dy: number;
  /** Per value that enters or leaves: where, in the level's own coordinates. */
  inPort: Map<number, number>;
  outPort: Map<number, number>;
  edges: readonly FlatEdge[];
  /** Per bus, one of its edges. */
  edgeOfBus: readonly FlatEdge[];
}

/** An edge of one level: child or port to child or port, and whose value it carries. */
interface FlatEdge {
  from: number;
  to: number;
  source: number;
}

/** In a level's edges: its ports, where values enter and leave. */
const PORT = -1;

export function layout(input: PictureInput): Layout {
  const grouping = group(input);
  const { groups, shown, parent, top } = grouping;
  const nodes = input.side.length;
  const items = nodes + groups.length;
  const sideOf = (item: number): number => (item < nodes ? input.side[item]! : groups[item - nodes]!.side);
  const edges = visibleEdges(input, shown);
  const levels = spread(edges, parent, items, sideOf);

  const width = new Float32Array(items);
  const height = new Float32Array(items);
  for (let item = 0; item < items; item += 1) {
    const closed = item >= nodes ? groups[item - nodes]! : undefined;
    width[item] = closed ? Math.min(260, Math.max(96, textWidth(closed.label.length) + 44)) : input.width[item]!;
    height[item] = closed ? CLOSED_HEIGHT : input.height[item]!;
  }
  const insides = new Map<number, Inside>();
  const inside = (item: number, children: readonly number[], key: number): Inside => {
    for (const childItem of children) {
      if (childItem < nodes) continue;
      const { open, children: inner, label } = groups[childItem - nodes]!;
      if (!open) continue;
      const made = inside(childItem, inner, childItem);
      insides.set(childItem, made);
      width[childItem] = Math.max(made.width, textWidth(label.length) + 56);
      made.dx += (width[childItem]! - made.width) / 2;
      height[childItem] = made.height;
    }
    const flip = item >= 0 ? groups[item - nodes]!.side === BACKWARD : false;
    return layoutInside(children, levels.get(key) ?? [], { width, height, insides, boxed: item >= 0, flip });
  };
  const forward = inside(-1, top[FORWARD], levelOf(-1, FORWARD, items));
  const backward = inside(-1, top[BACKWARD], levelOf(-1, BACKWARD, items));

  const boxes = new Float32Array(4 * items);
  const wires = new WireList();
  const faces = top[BACKWARD].length > 0;
  const chips = [...new Set(shownBridges(input, shown))];
  const gutter = faces ? 2 * GUTTER + chips.reduce((most, chip) => Math.max(most, input.width[chip]!), 0) : 0;
  const shifts = faces ? face(forward, backward, { input, groups, nodes }) : undefined;
  const ctx: Drawing = { boxes, wires, width, height, insides };
  const span = (side: Inside): number => side.placed.right - side.placed.left;
  const forwardLeft = faces ? -gutter / 2 - span(forward) : -span(forward) / 2;
  draw(ctx, forward, { x: forwardLeft - forward.placed.left, y: 0, flip: false, kind: FORWARD, shift: shifts?.forward });
  if (faces) draw(ctx, backward, { x: gutter / 2 - backward.placed.left, y: 0, flip: true, kind: BACKWARD, shift: shifts?.backward });
  bridge(ctx, input, chips, edges, sideOf);
  return { nodes, groups, shown, parent, boxes, edges, wires: wires.columns(), bounds: boundsOf(boxes) };
}

function shownBridges(input: PictureInput, shown: Int32Array): number[] {
  const found: number[] = [];
  for (let node = 0; node < shown.length; node += 1) if (input.side[node] === BRIDGE) found.push(shown[node]!);
  return found;
}

/** Edges between shown items, each once, in order of first sight. */
function visibleEdges(input: PictureInput, shown: Int32Array): Int32Array {
  const at = new Map<number, number>();
  const found: number[] = [];
  const scale = 2 ** 26;
  for (let i = 0; i < input.edges.length; i += 2) {
    const from = shown[input.edges[i]!]!;
    const to = shown[input.edges[i + 1]!]!;
    if (from === to) continue;
    const key = from * scale + to;
    const known = at.get(key);
    if (known !== undefined) {
      found[known + 2]! += 1;
      continue;
    }
    at.set(key, found.length);
    found.push(from, to, 1);
  }
  return Int32Array.from(found);
}

const levelOf = (parent: number, side: number, items: number): number => (parent >= 0 ? parent : items + side);

/** Gives every level its part of every edge: through the ports of the groups it leaves and enters, and across where they meet. */
function spread(edges: Int32Array, parent: Int32Array, items: number, sideOf: (item: number) => number): Map<number, FlatEdge[]> {
  const depth = new Int32Array(items);
  // Groups are numbered after those around them.
  for (let item = 0; item < items; item += 1) {
    let at = parent[item]!;
    while (at >= 0) {
      depth[item]! += 1;
      at = parent[at]!;
    }
  }
  const levels = new Map<number, FlatEdge[]>();
  const known = new Map<number, Set<number>>();
  const put = (key: number, from: number, to: number, source: number): void => {
    let list = levels.get(key);
    let seen = known.get(key);
    if (!list || !seen) {
      levels.set(key, (list = []));
      known.set(key, (seen = new Set()));
    }
    // Where a value comes from in a level follows from whose it is.
    const name = source * (items + 1) + to + 1;
    if (seen.has(name)) return;
    seen.add(name);
    list.push({ from, to, source });
  };
  for (let i = 0; i < edges.length; i += 3) {
    const source = edges[i]!;
    let [a, b] = [source, edges[i + 1]!];
    const side = sideOf(a);
    if (side === BRIDGE || side !== sideOf(b)) continue;
    while (parent[a] !== parent[b]) {
      const [deepA, deepB] = [depth[a]!, depth[b]!];
      if (deepA >= deepB) {
        put(parent[a]!, a, PORT, source);
        a = parent[a]!;
      }
      if (deepB >= deepA) {
        put(parent[b]!, PORT, b, source);
        b = parent[b]!;
      }
    }
    put(levelOf(parent[a]!, side, items), a, b, source);
  }
  return levels;
}

function layoutInside(
  children: readonly number[],
  edges: readonly FlatEdge[],
  { width, height, insides, boxed, flip }: { width: Float32Array; height: Float32Array; insides: ReadonlyMap<number, Inside>; boxed: boolean; flip: boolean },
): Inside {
  const index = new Map(children.map((item, at) => [item, at]));
  const widths = children.map((item) => width[item]!);
  const heights = children.map((item) => height[item]!);
  const places: number[] = children.map(() => ANYWHERE);
  const port = (known: Map<number, number>, source: number, place: number): number => {
    let at = known.get(source);
    if (at === undefined) {
      at = widths.length;
      known.set(source, at);
      widths.push(0);
      heights.push(0);
      places.push(place);
    }
    return at;
  };
  const entries = new Map<number, number>();
  const exits = new Map<number, number>();
  const buses = new Map<number, number>();
  const edgeOfBus: FlatEdge[] = [];
  const flat: LevelEdge[] = edges.map((edge) => {
    const { from, to, source } = edge;
    const start = from === PORT ? port(entries, source, FIRST) : index.get(from)!;
    const end = to === PORT ? port(exits, source, LAST) : index.get(to)!;
    const bus = buses.get(source) ?? buses.size;
    buses.set(source, bus);
    edgeOfBus[bus] ??= edge;
    const offset = (item: number, side: "inPort" | "outPort"): number => {
      const inner = insides.get(item);
      const at = inner?.[side].get(source);
      return at === undefined ? 0 : at + inner!.dx - width[item]! / 2;
    };
    return { from: start, to: end, fromOffset: from === PORT ? 0 : offset(from, "outPort"), toOffset: to === PORT ? 0 : offset(to, "inPort"), bus };
  });
  const placed = layoutLevel({ width: widths, height: heights, place: places, edges: flat });
  const dx = boxed ? PAD - placed.left : 0;
  // Room for the label, which is above: at the end of what is turned upside down. A row of ports makes some of it.
  const [start, end] = flip ? [PAD, HEADER] : [HEADER, PAD];
  const ends = (room: number, ports: boolean): number => (ports ? Math.max(0, room + 4 - PORT_GAP) : room);
  const dy = boxed ? ends(start, entries.size > 0) : 0;
  const where = (ports: Map<number, number>): Map<number, number> => new Map([...ports].map(([source, at]) => [source, placed.x[at]!]));
  return {
    placed,
    children,
    width: placed.right - placed.left + 2 * PAD,
    height: dy + placed.bottom + ends(end, exits.size > 0),
    dx,
    dy,
    inPort: where(entries),
    outPort: where(exits),
    edges,
    edgeOfBus,
  };
}

interface Shift {
  /** Tops of rows, and how far down each moves. */
  top: number[];
  by: number[];
}

/** Moves rows down so that what belongs together on both sides is at one height. */
function face(forward: Inside, backward: Inside, about: { input: PictureInput; groups: readonly Group[]; nodes: number }): { forward: Shift; backward: Shift } {
  const { input, groups, nodes } = about;
  const name = (item: number): string | undefined => {
    if (item >= nodes) return `g ${groups[item - nodes]!.path}`;
    return input.anchor[item]! >= 0 ? `n ${input.anchor[item]}` : undefined;
  };
  const total = backward.placed.bottom;
  const last = backward.placed.rows.top.length - 1;
  const backTop = backward.placed.rows.bottom.map((bottom) => total - bottom).toReversed();
  const backBottom = backward.placed.rows.top.map((top) => total - top).toReversed();
  const backRows = new Map<string, number[]>();
  backward.children.forEach((item, at) => {
    const key = name(item);
    if (key === undefined) return;
    const row = last - backward.placed.layer[at]!;
    const list = backRows.get(key);
    if (list) list.push(row);
    else backRows.set(key, [row]);
  });
  const pairs: [number, number][] = [];
  forward.children.forEach((item, at) => {
    const rows = backRows.get(name(item) ?? "");
    if (!rows) return;
    const sorted = rows.toSorted((a, b) => a - b);
    pairs.push([forward.placed.layer[at]!, sorted[sorted.length >> 1]!]);
  });
  const chain = longestChain(pairs);
  const { top, bottom } = forward.placed.rows;
  const by = { forward: top.map(() => 0), backward: backTop.map(() => 0) };
  let [atForward, atBackward, moveForward, moveBackward] = [0, 0, 0, 0];
  for (const [row, back] of [...chain, [top.length, backTop.length] as [number, number]]) {
    for (; atForward < row; atForward += 1) by.forward[atForward] = moveForward;
    for (; atBackward < back; atBackward += 1) by.backward[atBackward] = moveBackward;
    if (row >= top.length || back >= backTop.length) continue;
    const middle = (top[row]! + bottom[row]!) / 2 + moveForward;
    const backMiddle = (backTop[back]! + backBottom[back]!) / 2 + moveBackward;
    moveForward += Math.max(0, backMiddle - middle);
    moveBackward += Math.max(0, middle - backMiddle);
  }
  return { forward: { top, by: by.forward }, backward: { top: backTop, by: by.backward } };
}

/** The longest chain of pairs that grows in both parts. */
function longestChain(pairs: readonly [number, number][]): [number, number][] {
  const sorted = pairs.toSorted((a, b) => a[0] - b[0] || b[1] - a[1]);
  const ends: number[] = [];
  const before: number[] = [];
  sorted.forEach(([, back], index) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[ends[middle]!]![1] < back) low = middle + 1;
      else high = middle;
    }
    before[index] = low > 0 ? ends[low - 1]! : -1;
    ends[low] = index;
  });
  const chain: [number, number][] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at]!) chain.push(sorted[at]!);
  return chain.reverse();
}

interface Drawing {
  boxes: Float32Array;
  wires: WireList;
  width: Float32Array;
  height: Float32Array;
  insides: ReadonlyMap<number, Inside>;
}

interface Frame {
  x: number;
  y: number;
  /** Upside down: the backward goes up. */
  flip: boolean;
  kind: number;
  shift?: Shift | undefined;
  /** The group whose inside this is, and its box. */
  item?: number;
}

/** Writes an inside's boxes and wires where they are in the whole. */
function draw(ctx: Drawing, inside: Inside, frame: Frame): void {
  const { placed, children, dx, dy, edges } = inside;
  const own = frame.item;
  const total = own === undefined ? placed.bottom : ctx.height[own]!;
  const offsetX = frame.x + (own === undefined ? 0 : dx);
  const offsetY = own === undefined ? 0 : dy;
  const turn = (y: number): number => (frame.flip ? total - (y + offsetY) : y + offsetY);
  const move = (y: number): number => (frame.shift ? rowShift(frame.shift, y) : 0);
  children.forEach((item, at) => {
    const [w, h] = [ctx.width[item]!, ctx.height[item]!];
    const local = frame.flip ? turn(placed.y[at]! + h) : turn(placed.y[at]!);
    const [left, topY] = [offsetX + placed.x[at]! - w / 2, frame.y + local + move(local + h / 2)];
    ctx.boxes.set([left, topY, w, h], 4 * item);
    const inner = ctx.insides.get(item);
    if (inner) draw(ctx, inner, { x: left, y: topY, flip: frame.flip, kind: frame.kind, item });
  });
  const bases = new Map<number, number>();
  for (const wire of placed.wires) {
    const edge = wire.edge >= 0 ? edges[wire.edge]! : undefined;
    const points: number[] = [];
    for (let i = 0; i < wire.points.length; i += 2) {
      const local = turn(wire.points[i + 1]!);
      points.push(offsetX + wire.points[i]!, frame.y + local + move(local));
    }
    const border = (enters: boolean): number => (enters !== frame.flip ? frame.y : frame.y + total);
    const first = inside.edgeOfBus[wire.bus]!;
    if (first.from === PORT && (wire.edge < 0 || wire.busLength === 0)) points.unshift(points[0]!, border(true));
    if (edge?.to === PORT) points.push(points.at(-2)!, border(false));
    const target = edge ? (edge.to === PORT ? -2 - own! : edge.to) : -1;
    const extra = first.from === PORT ? 1 : 0;
    const base = wire.busLength > 0 ? (bases.get(wire.bus) ?? -1) : -1;
    const made = ctx.wires.push(points, first.source, target, base, base < 0 ? 0 : wire.busLength / 2 + extra, frame.kind);
    if (wire.edge < 0) bases.set(wire.bus, made);
  }
}

function rowShift({ top, by }: Shift, y: number): number {
  let [low, high] = [0, top.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (top[middle]! <= y + 0.01) low = middle + 1;
    else high = middle;
  }
  return low > 0 ? by[low - 1]! : 0;
}

/** Chips of saved values at the height of what they save, and the lines that meet there. */
function bridge(ctx: Drawing, input: PictureInput, chips: number[], edges: Int32Array, sideOf: (item: number) => number): void {
  const { boxes, wires } = ctx;
  const middle = (item: number): number => boxes[4 * item + 1]! + boxes[4 * item + 3]! / 2;
  const sources = new Map<number, number>();
  for (let i = 0; i < edges.length; i += 3) {
    const [from, to] = [edges[i]!, edges[i + 1]!];
    if (sideOf(to) === BRIDGE && sideOf(from) !== BRIDGE && !sources.has(to)) sources.set(to, from);
  }
  const wanted = (chip: number): number => (sources.has(chip) ? middle(sources.get(chip)!) : 0);
  chips.sort((a, b) => wanted(a) - wanted(b) || input.order[a]! - input.order[b]! || a - b);
  const places = new Nearest(chips.length);
  for (const [at, chip] of chips.entries()) places.want(at, wanted(chip), 1, at > 0 ? (input.height[chips[at - 1]!]! + input.height[chip]!) / 2 + CHIP_GAP : 0);
  places.solve(chips.length);
  chips.forEach((chip, at) => {
    const [w, h] = [input.width[chip]!, input.height[chip]!];
    boxes.set([-w / 2, places.at[at]! - h / 2, w, h], 4 * chip);
  });
  for (let i = 0; i < edges.length; i += 3) {
    const [from, to] = [edges[i]!, edges[i + 1]!];
    const [a, b] = [sideOf(from), sideOf(to)];
    if (a === b || (a !== BRIDGE && b !== BRIDGE && a !== FORWARD)) continue;
    const kind = a === BRIDGE || b === BRIDGE ? BRIDGE : CROSSING;
    const right = boxes[4 * from]! + boxes[4 * from + 2]!;
    wires.push([right, middle(from), boxes[4 * to]!, middle(to)], from, to, -1, 0, kind);
  }
}

function boundsOf(boxes: Float32Array): [number, number, number, number] {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < boxes.length; i += 4) {
    if (boxes[i + 2] === 0) continue;
    left = Math.min(left, boxes[i]!);
    top = Math.min(top, boxes[i + 1]!);
    right = Math.max(right, boxes[i]! + boxes[i + 2]!);
    bottom = Math.max(bottom, boxes[i + 1]! + boxes[i + 3]!);
  }
  return left === Infinity ? [0, 0, 0, 0] : [left, top, right, bottom];
}

class WireList {
  private points: number[] = [];
  private start: number[] = [];
  private source: number[] = [];
  private target: number[] = [];
  private bus: number[] = [];
  private busLength: number[] = [];
  private kind: number[] = [];

  push(points: readonly number[], source: number, target: number, bus: number, busLength: number, kind: number): number {
    this.start.push(this.points.length);
    for (const value of points) this.points.push(value);
    this.source.push(source);
    this.target.push(target);
    this.bus.push(bus);
    this.busLength.push(busLength);
    this.kind.push(kind);
    return this.start.length - 1;
  }

  columns(): Wires {
    return {
      points: Float32Array.from(this.points),
      start: Int32Array.from([...this.start, this.points.length]),
      source: Int32Array.from(this.source),
      target: Int32Array.from(this.target),
      bus: Int32Array.from(this.bus),
      busLength: Int32Array.from(this.busLength),
      kind: Uint8Array.from(this.kind),
    };
  }
}
