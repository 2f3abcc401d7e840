// One level of a picture: boxes in rows, edges down. Rows come from longest paths; a value read far below runs down in a bus of
// its own, one for all its readers; the order within rows from barycentres; places from isotonic regression, which gives every
// box the place nearest to its neighbours that the order allows. Each step is about linear in boxes and edges.

/** Boxes and edges of a level. An edge leaves and enters at an offset from the middle of a box. */
export interface Level {
  /** Widths and heights of the boxes, in the order of the graph. */
  width: ArrayLike<number>;
  height: ArrayLike<number>;
  /** Where a box has to be: anywhere, in the first row (a value that enters), in the last (one that leaves). */
  place: ArrayLike<number>;
  edges: readonly LevelEdge[];
}

export interface LevelEdge {
  from: number;
  to: number;
  fromOffset: number;
  toOffset: number;
  /** Edges of one bus begin at the same place and run together as far as they can. */
  bus: number;
}

export const ANYWHERE = 0;
export const FIRST = 1;
export const LAST = 2;

/** A line: x, y, x, y, ... going down. */
export interface Wire {
  points: number[];
  /** The edge it ends; -1 for the bus itself. */
  edge: number;
  bus: number;
  /** How much of the bus leads to this branch, in numbers of `points` of the bus. */
  busLength: number;
}

export interface Placed {
  /** Middle and top of each box. */
  x: Float64Array;
  y: Float64Array;
  layer: Int32Array;
  left: number;
  right: number;
  bottom: number;
  /** Top and bottom of each row. */
  rows: { top: number[]; bottom: number[] };
  wires: Wire[];
}

const COLUMN_GAP = 22;
const BUS_GAP = 12;
const ROW_GAP = 34;
/** Between a row of ports and the next. */
export const PORT_GAP = 16;
/** How much a branch of a bus pulls at both ends: little, so that buses run straight beside chains and push nothing aside. */
const BRANCH_WEIGHT = 0.2;
/** Width of a box that has others in it. */
const LARGE = 240;
/** Vertices of buses per box, beyond which the longest run straight: time stays linear. */
const BUS_BUDGET = 6;

interface Link {
  vertex: number;
  /** From the middle of the neighbour, and of the vertex itself. */
  there: number;
  here: number;
  weight: number;
}

export function layoutLevel(level: Level): Placed {
  const n = level.width.length;
  const layer = assignLayers(level);
  const layers = n === 0 ? 0 : layer.reduce((most, l) => Math.max(most, l), 0) + 1;
  const buses = collectBuses(level, layer);

  // Vertices: the boxes, then a point per bus and row it crosses.
  const vertexLayer: number[] = Array.from(layer);
  const widths: number[] = Array.from(level.width);
  const up: Link[][] = Array.from({ length: n }, () => []);
  const down: Link[][] = Array.from({ length: n }, () => []);
  const link = (a: number, from: number, b: number, to: number, weight: number): void => {
    // Between large boxes the middles are lined up, not the ports: else a chain of them wanders off to the side.
    const large = widths[a]! > LARGE && widths[b]! > LARGE;
    const [aOffset, bOffset] = large ? [0, 0] : [from, to];
    down[a]!.push({ vertex: b, there: bOffset, here: aOffset, weight });
    up[b]!.push({ vertex: a, there: aOffset, here: bOffset, weight });
  };
  const chains = new Map<number, number[]>();
  for (const [bus, { from, offset, last, edges, straight }] of buses) {
    const chain: number[] = [];
    const first = layer[from]! + 1;
    if (!straight) {
      for (let at = first; at < last; at += 1) {
        const vertex = vertexLayer.length;
        vertexLayer.push(at);
        widths.push(0);
        up.push([]);
        down.push([]);
        const before = chain.at(-1);
        link(before ?? from, before === undefined ? offset : 0, vertex, 0, before === undefined ? 0.5 : 6);
        chain.push(vertex);
      }
    }
    chains.set(bus, chain);
    for (const index of edges) {
      const edge = level.edges[index]!;
      const reached = layer[edge.to]! - 1 - first;
      const via = straight ? undefined : chain[Math.min(reached, chain.length - 1)];
      if (via !== undefined && reached >= 0) link(via, 0, edge.to, edge.toOffset, BRANCH_WEIGHT);
      else if (!straight || reached < 0) link(from, offset, edge.to, edge.toOffset, 3);
    }
  }

  const rows: number[][] = Array.from({ length: layers }, () => []);
  for (let vertex = 0; vertex < vertexLayer.length; vertex += 1) rows[vertexLayer[vertex]!]!.push(vertex);
  order(rows, up, down, widths);
  const centre = arrange(rows, up, down, widths, n);

  const { top, bottom } = rowEdges(rows, level, n);
  const x = new Float64Array(n);
  const y = new Float64Array(n);
  let left = Infinity;
  let right = -Infinity;
  for (let vertex = 0; vertex < vertexLayer.length; vertex += 1) {
    const half = widths[vertex]! / 2;
    left = Math.min(left, centre[vertex]! - half);
    right = Math.max(right, centre[vertex]! + half);
    if (vertex >= n) continue;
    const row = layer[vertex]!;
    x[vertex] = centre[vertex]!;
    y[vertex] = (top[row]! + bottom[row]! - level.height[vertex]!) / 2;
  }
  const wires = route(level, layer, buses, chains, { x, y, centre, top, bottom });
  return { x, y, layer, left: n ? left : 0, right: n ? right : 0, bottom: layers ? bottom[layers - 1]! : 0, rows: { top, bottom }, wires };
}

interface Bus {
  from: number;
  offset: number;
  /** Row of its last reader. */
  last: number;
  edges: number[];
  /** Drawn straight across: too long to be led round boxes. */
  straight: boolean;
}

/** Edges by bus; those that go up or stay in a row (there are none in a graph without cycles) run straight. */
function collectBuses(level: Level, layer: Int32Array): Map<number, Bus> {
  const buses = new Map<number, Bus>();
  level.edges.forEach((edge, index) => {
    const known = buses.get(edge.bus);
    if (known) {
      known.edges.push(index);
      known.last = Math.max(known.last, layer[edge.to]!);
    } else {
      buses.set(edge.bus, { from: edge.from, offset: edge.fromOffset, last: layer[edge.to]!, edges: [index], straight: false });
    }
  });
  const span = (bus: Bus): number => bus.last - layer[bus.from]! - 1;
  let total = 0;
  for (const bus of buses.values()) total += Math.max(0, span(bus));
  const budget = 64 + BUS_BUDGET * level.width.length;
  if (total > budget) {
    for (const bus of [...buses.values()].sort((a, b) => span(b) - span(a))) {
      if (total <= budget) break;
      bus.straight = true;
      total -= Math.max(0, span(bus));
    }
  }
  return buses;
}

/** Rows: below all that is read, and no higher than needed where moving down makes edges shorter. */
export function assignLayers(level: Level): Int32Array {
  const n = level.width.length;
  const outs: number[][] = Array.from({ length: n }, () => []);
  const ins: number[][] = Array.from({ length: n }, () => []);
  const seen = new Set<number>();
  for (const { from, to } of level.edges) {
    const key = from * n + to;
    if (from === to || seen.has(key)) continue;
    seen.add(key);
    outs[from]!.push(to);
    ins[to]!.push(from);
  }
  const layer = new Int32Array(n);
  const waits = ins.map((list) => list.length);
  const sorted: number[] = [];
  for (let v = 0; v < n; v += 1) if (waits[v] === 0) sorted.push(v);
  for (let head = 0; head < sorted.length; head += 1) {
    const v = sorted[head]!;
    for (const to of outs[v]!) {
      layer[to] = Math.max(layer[to]!, layer[v]! + 1);
      waits[to]! -= 1;
      if (waits[to] === 0) sorted.push(to);
    }
  }
  // Whatever a box alone reads moves down with it.
  const moves: boolean[] = new Array<boolean>(n).fill(false);
  for (const v of sorted) moves[v] = ins[v]!.every((u) => moves[u]! && outs[u]!.length === 1);
  for (let at = sorted.length - 1; at >= 0; at -= 1) {
    const v = sorted[at]!;
    if (outs[v]!.length === 0) continue;
    const lowest = outs[v]!.reduce((least, to) => Math.min(least, layer[to]!), Infinity) - 1;
    const held = ins[v]!.filter((u) => !(moves[u]! && outs[u]!.length === 1)).length;
    if (lowest > layer[v]! && held < outs[v]!.length) layer[v] = lowest;
  }
  let most = 0;
  let least = Infinity;
  let ports = false;
  for (let v = 0; v < n; v += 1) {
    if (level.place[v] !== ANYWHERE) {
      ports = true;
      continue;
    }
    most = Math.max(most, layer[v]!);
    least = Math.min(least, layer[v]!);
  }
  if (!ports && (least === Infinity || least === 0)) return layer;
  const first = least === Infinity ? 0 : least - (hasPlace(level, FIRST) ? 1 : 0);
  for (let v = 0; v < n; v += 1) {
    const place = level.place[v];
    layer[v] = place === FIRST ? 0 : place === LAST ? most + 1 - first : layer[v]! - first;
  }
  return layer;
}

function hasPlace(level: Level, place: number): boolean {
  for (let v = 0; v < level.width.length; v += 1) if (level.place[v] === place) return true;
  return false;
}

const SWEEPS = 4;

/** Puts the vertices of each row in an order with few crossings. */
function order(rows: number[][], up: Link[][], down: Link[][], widths: readonly number[]): void {
  const position = new Float64Array(widths.length);
  const place = (row: number[]): void => row.forEach((vertex, index) => (position[vertex] = index));
  rows.forEach(place);
  const key = new Float64Array(widths.length);
  const sweep = (row: number[], links: Link[][]): void => {
    if (row.length < 2) return;
    for (const vertex of row) {
      const list = links[vertex]!;
      if (list.length === 0) {
        key[vertex] = position[vertex]!;
        continue;
      }
      let sum = 0;
      let weights = 0;
      for (const { vertex: other, there, weight } of list) {
        const half = widths[other]! / 2;
        sum += weight * (position[other]! + (half > 0 ? (0.49 * there) / half : 0));
        weights += weight;
      }
      key[vertex] = sum / weights;
    }
    let sorted = true;
    for (let index = 1; index < row.length && sorted; index += 1) sorted = key[row[index - 1]!]! <= key[row[index]!]!;
    if (sorted) return;
    moved = true;
    row.sort((a, b) => key[a]! - key[b]! || position[a]! - position[b]!);
    place(row);
  };
  let moved = true;
  for (let round = 0; round < SWEEPS && moved; round += 1) {
    moved = false;
    for (let at = 1; at < rows.length; at += 1) sweep(rows[at]!, up);
    for (let at = rows.length - 2; at >= 0; at -= 1) sweep(rows[at]!, down);
  }
  if (moved) for (let at = 1; at < rows.length; at += 1) sweep(rows[at]!, up);
}

/** The middle of every vertex. */
function arrange(rows: number[][], up: Link[][], down: Link[][], widths: readonly number[], boxes: number): Float64Array {
  const centre = new Float64Array(widths.length);
  const apart = (a: number, b: number): number =>
    (widths[a]! + widths[b]!) / 2 + (a < boxes && b < boxes && widths[a]! > 0 && widths[b]! > 0 ? COLUMN_GAP : BUS_GAP);
  for (const row of rows) {
    let at = 0;
    row.forEach((vertex, index) => {
      if (index > 0) at += apart(row[index - 1]!, vertex);
      centre[vertex] = at;
    });
    for (const vertex of row) centre[vertex]! -= at / 2;
  }
  const places = new Nearest(rows.reduce((most, row) => Math.max(most, row.length), 0));
  const settle = (row: number[], sides: Link[][][]): void => {
    for (let index = 0; index < row.length; index += 1) {
      const vertex = row[index]!;
      let sum = 0;
      let weights = 0;
      for (const links of sides) {
        for (const { vertex: other, there, here, weight } of links[vertex]!) {
          sum += weight * (centre[other]! + there - here);
          weights += weight;
        }
      }
      const gap = index > 0 ? apart(row[index - 1]!, vertex) : 0;
      if (weights > 0) places.want(index, sum / weights, weights, gap);
      else places.want(index, centre[vertex]!, 0.05, gap);
    }
    places.solve(row.length);
    for (let index = 0; index < row.length; index += 1) centre[row[index]!] = places.at[index]!;
  };
  const [above, below, both] = [[up], [down], [up, down]];
  for (let round = 0; round < 3; round += 1) {
    for (let at = 1; at < rows.length; at += 1) settle(rows[at]!, above);
    for (let at = rows.length - 2; at >= 0; at -= 1) settle(rows[at]!, below);
  }
  for (let round = 0; round < 2; round += 1) for (const row of rows) settle(row, both);
  return centre;
}

/** Places in a given order, far enough apart, with the least weighted square distance from those wanted. */
export class Nearest {
  /** The places, once solved. */
  readonly at: Float64Array;
  private readonly wanted: Float64Array;
  private readonly weight: Float64Array;
  private readonly offset: Float64Array;
  private readonly count: Int32Array;

  constructor(most: number) {
    [this.at, this.wanted, this.weight, this.offset] = [0, 1, 2, 3].map(() => new Float64Array(most)) as [Float64Array, Float64Array, Float64Array, Float64Array];
    this.count = new Int32Array(most);
  }

  /** Says where one is wanted, how much that matters, and how far from the one before it has to be. In order. */
  want(index: number, at: number, weight: number, gap: number): void {
    const offset = index > 0 ? this.offset[index - 1]! + gap : 0;
    this.offset[index] = offset;
    this.wanted[index] = at - offset;
    this.weight[index] = weight;
  }

  solve(length: number): void {
    const { at, wanted, weight, offset, count } = this;
    // With the gaps taken off, "in order and apart" is "not decreasing": neighbours that violate it are pooled. A pool's mean
    // and weight take the place of its first member's.
    let pools = 0;
    for (let index = 0; index < length; index += 1) {
      let [mean, heavy, members] = [wanted[index]!, weight[index]!, 1];
      while (pools > 0 && wanted[pools - 1]! > mean) {
        pools -= 1;
        const before = weight[pools]!;
        mean = (wanted[pools]! * before + mean * heavy) / (before + heavy);
        heavy += before;
        members += count[pools]!;
      }
      [wanted[pools], weight[pools], count[pools]] = [mean, heavy, members];
      pools += 1;
    }
    let index = 0;
    for (let pool = 0; pool < pools; pool += 1) {
      for (let member = 0; member < count[pool]!; member += 1) {
        at[index] = wanted[pool]! + offset[index]!;
        index += 1;
      }
    }
  }
}

function rowEdges(rows: readonly number[][], level: Level, boxes: number): { top: number[]; bottom: number[] } {
  const top: number[] = [];
  const bottom: number[] = [];
  let at = 0;
  rows.forEach((row, index) => {
    const height = row.reduce((most, vertex) => (vertex < boxes ? Math.max(most, level.height[vertex]!) : most), 0);
    if (index > 0) at += height === 0 || bottom[index - 1] === top[index - 1] ? PORT_GAP : ROW_GAP;
    top.push(at);
    at += height;
    bottom.push(at);
  });
  return { top, bottom };
}

interface Places {
  x: Float64Array;
  y: Float64Array;
  centre: Float64Array;
  top: readonly number[];
  bottom: readonly number[];
}

/** Lines along the buses, and from them to their readers. */
function route(level: Level, layer: Int32Array, buses: Map<number, Bus>, chains: Map<number, number[]>, places: Places): Wire[] {
  const { x, y, centre, top, bottom } = places;
  const wires: Wire[] = [];
  for (const [id, bus] of buses) {
    const chain = chains.get(id)!;
    const row = layer[bus.from]!;
    const startX = x[bus.from]! + bus.offset;
    const start = [startX, y[bus.from]! + level.height[bus.from]!];
    if (bottom[row]! > start[1]! + 0.5) start.push(startX, bottom[row]!);
    const line = [...start];
    const lengths: number[] = [];
    chain.forEach((vertex, index) => {
      const at = centre[vertex]!;
      const crossed = row + 1 + index;
      add(line, at, top[crossed]!);
      add(line, at, bottom[crossed]!);
      lengths.push(line.length);
    });
    if (chain.length > 0) wires.push({ points: line, edge: -1, bus: id, busLength: 0 });
    for (const index of bus.edges) {
      const edge = level.edges[index]!;
      const target = layer[edge.to]!;
      const via = bus.straight ? -1 : Math.min(target - row - 2, chain.length - 1);
      const points = via >= 0 ? [centre[chain[via]!]!, bottom[row + 1 + via]!] : [...start];
      const endX = x[edge.to]! + edge.toOffset;
      add(points, endX, top[target]!);
      if (y[edge.to]! > top[target]! + 0.5) add(points, endX, y[edge.to]!);
      wires.push({ points, edge: index, bus: id, busLength: via >= 0 ? lengths[via]! : 0 });
    }
  }
  return wires;
}

/** Adds a point; one that continues a vertical line takes the place of the last. */
function add(points: number[], x: number, y: number): void {
  const n = points.length;
  if (n >= 4 && points[n - 2] === x && points[n - 4] === x) points[n - 1] = y;
  else points.push(x, y);
}
