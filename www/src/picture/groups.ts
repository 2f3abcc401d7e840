// Nodes grouped by the module they ran in: which modules get a box, which boxes are open, and which nodes each holds.
//
// A box is a run of calls: a module that is called twice, with something between that depends on the one and leads to the other,
// gets two. So edges between boxes make no cycles, and boxes can be laid out like nodes.

/** A graph to lay out, by columns: it is handed to a worker. */
export interface PictureInput {
  width: Float32Array;
  height: Float32Array;
  /** `FORWARD`, `BACKWARD` or `BRIDGE` per node. */
  side: Uint8Array;
  /** Index into `paths`. */
  path: Int32Array;
  paths: readonly string[];
  /** What comes earlier; edges go from lower to higher. */
  order: Float64Array;
  /** Pairs: from, to. */
  edges: Int32Array;
  /** Nodes of equal numbers on both sides face each other; -1 for none. */
  anchor: Int32Array;
  /** Which boxes the visitor closed (true) or opened, by path; `*` stands for all others. */
  closed: Readonly<Record<string, boolean>>;
}

export const FORWARD = 0;
export const BACKWARD = 1;
export const BRIDGE = 2;

export interface Group {
  path: string;
  /** What its parent's name does not say already. */
  label: string;
  side: number;
  open: boolean;
  /** Nodes in it, those of inner groups too. */
  size: number;
  /** Item numbers of what is in it; none where it is closed. */
  children: number[];
  /** Item number of the group around it; -1 for none. */
  parent: number;
}

/** Items are numbered: nodes first, by their numbers, then groups. */
export interface Grouping {
  groups: Group[];
  /** Items of each side that are in no group. */
  top: [number[], number[]];
  /** Per node: the item that shows it: itself, or the outermost closed group around it. */
  shown: Int32Array;
  /** Per item: the item of the group around it; -1 for none. */
  parent: Int32Array;
}

/** Items shown at most before boxes are closed of themselves. */
export const MOST_SHOWN = 1500;

/** A module that has a box. */
interface Box {
  path: string;
  label: string;
  depth: number;
}

export function group(input: PictureInput): Grouping {
  const count = input.side.length;
  const { boxes, chainOf } = boxesOf(input);
  const isOpen = openness(input, boxes, chainOf);
  const outs = readers(input);
  const groups: Group[] = [];
  const parents: number[] = new Array<number>(count).fill(-1);
  const shown = new Int32Array(count).fill(-1);
  const child = new Int32Array(count);
  const level = new Int32Array(count).fill(-1);
  let levels = 0;

  const build = (nodes: readonly number[], depth: number, parent: number, side: number): number[] => {
    const here = levels;
    levels += 1;
    const made: { box: number; nodes: number[] }[] = [];
    const byBox = new Map<number, number>();
    for (const node of nodes) {
      level[node] = here;
      const box = chainOf[input.path[node]!]![depth] ?? -1;
      let at = box < 0 ? undefined : byBox.get(box);
      if (at === undefined) {
        at = made.length;
        made.push({ box, nodes: [] });
        if (box >= 0) byBox.set(box, at);
      }
      made[at]!.nodes.push(node);
      child[node] = at;
    }
    const parts = byBox.size > 0 ? splitCycles(made, nodes, outs, child, level, here) : made;
    return parts.map(({ box, nodes: inside }) => {
      if (box < 0) {
        const node = inside[0]!;
        parents[node] = parent;
        shown[node] = node;
        return node;
      }
      const { path, label } = boxes[box]!;
      const item = count + groups.length;
      const made: Group = { path, label, side, open: isOpen(path, depth), size: inside.length, children: [], parent };
      groups.push(made);
      parents[item] = parent;
      if (made.open) made.children = build(inside, depth + 1, item, side);
      else for (const node of inside) [shown[node], parents[node]] = [item, item];
      return item;
    });
  };
  const sides: [number[], number[]] = [[], []];
  for (let node = 0; node < count; node += 1) if (input.side[node] !== BRIDGE) sides[input.side[node]!]!.push(node);
  for (const list of sides) list.sort((a, b) => input.order[a]! - input.order[b]! || a - b);
  const top: [number[], number[]] = [build(sides[FORWARD], 0, -1, FORWARD), build(sides[BACKWARD], 0, -1, BACKWARD)];
  joinBridges(input, shown, count);
  return { groups, top, shown, parent: Int32Array.from(parents) };
}

/** What is saved of one closed group is one item: the first of them stands for all. */
function joinBridges(input: PictureInput, shown: Int32Array, count: number): void {
  const first = new Map<number, number>();
  for (let at = 0; at < input.edges.length; at += 2) {
    const [from, to] = [input.edges[at]!, input.edges[at + 1]!];
    if (input.side[to] !== BRIDGE || input.side[from] === BRIDGE) continue;
    const source = shown[from]!;
    if (source < count) continue;
    const known = first.get(source) ?? to;
    first.set(source, known);
    shown[to] = known;
  }
  for (let node = 0; node < count; node += 1) if (shown[node] === -1) shown[node] = node;
}

function readers(input: PictureInput): number[][] {
  const outs: number[][] = Array.from({ length: input.side.length }, () => []);
  for (let at = 0; at < input.edges.length; at += 2) outs[input.edges[at]!]!.push(input.edges[at + 1]!);
  return outs;
}

/** Modules that get a box, and per path the boxes around it, outermost first. */
function boxesOf(input: PictureInput): { boxes: Box[]; chainOf: number[][] } {
  interface Vertex {
    path: string;
    name: string;
    parent: Vertex | undefined;
    children: Map<string, Vertex>;
    own: number;
    total: number;
  }
  const root: Vertex = { path: "", name: "", parent: undefined, children: new Map(), own: 0, total: 0 };
  const vertices: Vertex[] = [root];
  const leaves = input.paths.map((path) => {
    let at = root;
    if (path === "") return at;
    for (const name of path.split(".")) {
      let next = at.children.get(name);
      if (!next) {
        next = { path: at.path ? `${at.path}.${name}` : name, name, parent: at, children: new Map(), own: 0, total: 0 };
        at.children.set(name, next);
        vertices.push(next);
      }
      at = next;
    }
    return at;
  });
  // What is in one box on both sides counts once: a box of one node and its gradient says nothing.
  const perSide = new Map<Vertex, [number, number]>();
  for (let node = 0; node < input.side.length; node += 1) {
    if (input.side[node] === BRIDGE || !Number.isInteger(input.order[node])) continue;
    const leaf = leaves[input.path[node]!]!;
    const counts = perSide.get(leaf) ?? [0, 0];
    counts[input.side[node]!]! += 1;
    perSide.set(leaf, counts);
  }
  for (const [leaf, counts] of perSide) leaf.own = Math.max(...counts);
  for (const vertex of vertices.toReversed()) {
    vertex.total += vertex.own;
    if (vertex.parent) vertex.parent.total += vertex.total;
  }
  const numeric = (vertex: Vertex): boolean => [...vertex.children.keys()].every((name) => /^\d+$/.test(name));
  const isBox = (vertex: Vertex): boolean => {
    if (vertex === root || vertex.total < 2) return false;
    if (vertex.own > 0) return true;
    // A list of modules is not called itself.
    const children = [...vertex.children.values()];
    return children.length > 1 && !(numeric(vertex) && children.some((inner) => inner.children.size > 0));
  };
  const boxes: Box[] = [];
  const chains = new Map<Vertex, number[]>([[root, []]]);
  for (const vertex of vertices) {
    if (!vertex.parent) continue;
    const around = chains.get(vertex.parent)!;
    if (!isBox(vertex)) {
      chains.set(vertex, around);
      continue;
    }
    const outer = around.length > 0 ? boxes[around.at(-1)!]!.path : "";
    boxes.push({ path: vertex.path, label: outer ? vertex.path.slice(outer.length + 1) : vertex.path, depth: around.length });
    chains.set(vertex, [...around, boxes.length - 1]);
  }
  const chainOf = leaves.map((leaf) => chains.get(leaf)!);
  return { boxes, chainOf };
}

/** Whether a box is open: as the visitor wants it, else as deep as there is room for. */
function openness(input: PictureInput, boxes: readonly Box[], chainOf: readonly number[][]): (path: string, depth: number) => boolean {
  const depths = boxes.reduce((most, box) => Math.max(most, box.depth + 1), 0);
  const direct = new Array<number>(depths + 1).fill(0);
  for (let node = 0; node < input.side.length; node += 1) direct[chainOf[input.path[node]!]!.length]! += 1;
  const at = new Array<number>(depths + 2).fill(0);
  for (const box of boxes) at[box.depth]! += 2;
  let deepest = 0;
  let nodes = direct[0]!;
  while (deepest < depths && nodes + direct[deepest + 1]! + at[deepest + 1]! <= MOST_SHOWN) {
    deepest += 1;
    nodes += direct[deepest]!;
  }
  // Own properties alone: a module may be called `constructor`.
  const said = (path: string): boolean | undefined => (Object.hasOwn(input.closed, path) ? input.closed[path] : undefined);
  return (path, depth) => !(said(path) ?? said("*") ?? depth >= deepest);
}

/** Takes boxes apart into runs where edges between them would make a cycle. */
function splitCycles(
  made: { box: number; nodes: number[] }[],
  nodes: readonly number[],
  outs: readonly number[][],
  child: Int32Array,
  level: Int32Array,
  here: number,
): { box: number; nodes: number[] }[] {
  const next: Set<number>[] = made.map(() => new Set());
  const waits = made.map(() => 0);
  for (const node of nodes) {
    for (const to of outs[node]!) {
      if (level[to] !== here) continue;
      const [a, b] = [child[node]!, child[to]!];
      if (a === b || next[a]!.has(b)) continue;
      next[a]!.add(b);
      waits[b]! += 1;
    }
  }
  const ready = made.flatMap((_, index) => (waits[index] === 0 ? [index] : []));
  for (let head = 0; head < ready.length; head += 1) {
    for (const to of next[ready[head]!]!) {
      waits[to]! -= 1;
      if (waits[to] === 0) ready.push(to);
    }
  }
  if (ready.length === made.length) return made;
  const parts: { box: number; nodes: number[] }[] = [];
  const whole = new Map<number, number>();
  let last = -1;
  for (const node of nodes) {
    const index = child[node]!;
    const { box } = made[index]!;
    const mayTurn = box >= 0 && waits[index]! > 0;
    let at = mayTurn ? (last === index ? parts.length - 1 : undefined) : box < 0 ? undefined : whole.get(index);
    if (at === undefined) {
      at = parts.length;
      parts.push({ box, nodes: [] });
      if (!mayTurn) whole.set(index, at);
    }
    parts[at]!.nodes.push(node);
    // A run goes on only while nothing else comes between.
    last = mayTurn && at === parts.length - 1 ? index : -1;
  }
  return parts;
}
