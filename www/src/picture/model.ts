// From a stage of a compilation to what the picture shows: nodes with their sides, looks and words, and the edges between them.
//
// A joint graph, and a forward with its backward, have two sides; what is saved is a chip between them. An output is not one
// large node but a small one per value returned, beside what computes it.
import type { GraphView, NodeView } from "../generated/report";
import { formatBytes } from "../report/format";
import type { Stage, Unit } from "../report/stages";
import { BACKWARD, BRIDGE, FORWARD, type PictureInput } from "./groups";
import { textWidth } from "./layout";

export type Shape = "call" | "input" | "output" | "chip";

/** What a node is besides a call: each has a letter and a colour. */
export interface Look {
  shape: Shape;
  backward: boolean;
  saved: boolean;
  recomputed: boolean;
  mutates: boolean;
}

export interface PictureNode extends Look {
  /** The node it stands for; an output's is the graph's output. */
  node: NodeView;
  /** The stage whose graph that is. */
  stage: Stage;
  label: string;
  detail: string;
}

export interface Picture {
  nodes: PictureNode[];
  input: Omit<PictureInput, "closed">;
  /** Numbers of the nodes of each name. */
  byName: ReadonlyMap<string, readonly number[]>;
  twoSided: boolean;
}

const DTYPES: Record<string, string> = {
  float32: "f32", float64: "f64", float16: "f16", bfloat16: "bf16", int64: "i64", int32: "i32", int16: "i16", int8: "i8", uint8: "u8", bool: "b8",
  complex64: "c64", complex128: "c128",
};

/** `f32[8, 16]`; nothing for what is no tensor. */
export function typeOf(node: NodeView): string {
  return node.shape ? `${DTYPES[node.dtype ?? ""] ?? node.dtype ?? ""}[${node.shape.join(", ")}]` : "";
}

const LONGEST = 30;
const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
/** Names of captured inputs say the most at their end: `l_self_modules_0_parameters_weight_`. */
const cutName = (text: string): string => (text.length > LONGEST ? `…${text.slice(1 - LONGEST)}` : text);

/** What the script calls an input, and its type where there is room for both. */
function inputDetail(node: NodeView): string {
  const both = [node.source, typeOf(node)].filter(Boolean).join(" ");
  return both.length > LONGEST ? cutName(node.source ?? both) : both;
}

/** Nodes between two steps. */
const STRIDE = 500;

/** The picture of a stage, in steps: a graph may have tens of thousands of nodes, and the page goes on meanwhile. */
export function* drawPicture(unit: Unit, stage: Stage): Generator<void, Picture | undefined> {
  const { stages, compilation } = unit;
  const graph = stages[stage];
  if (!graph) return undefined;
  const draft = new Draft();
  const savedNames = new Set(compilation?.saved?.map(({ name }) => name));
  const recomputed = new Set(compilation?.partition?.recomputed);
  const { forward, backward } = stages;
  if ((stage === "forward" || stage === "backward") && forward && backward) {
    const inForward = yield* draft.add(forward, "forward", () => FORWARD, { saved: savedNames });
    yield* draft.outputs(forward, "forward", inForward, (index, count) => (index < count - savedNames.size ? { side: FORWARD, label: "output" } : undefined));
    const isSaved = (node: NodeView): boolean => node.op === "placeholder" && savedNames.has(node.name) && inForward.has(node.name);
    const inBackward = yield* draft.add(backward, "backward", (node) => (isSaved(node) ? BRIDGE : BACKWARD), { recomputed });
    for (const name of savedNames) {
      const [from, to] = [inForward.get(name), inBackward.get(name)];
      if (from !== undefined && to !== undefined) draft.edge(from, to);
    }
    const primals = forward.nodes.filter(({ op }) => op === "placeholder");
    yield* draft.outputs(backward, "backward", inBackward, (index) => ({ side: BACKWARD, label: gradient(primals[index]) }));
  } else if (stage === "joint") {
    const ofForward = new Set(forward?.nodes.map(({ name }) => name));
    const sideOf = (node: NodeView): number => {
      if (node.op === "placeholder") return node.name.startsWith("tangents_") || node.is_backward ? BACKWARD : FORWARD;
      return node.is_backward && !ofForward.has(node.name) ? BACKWARD : FORWARD;
    };
    const all = yield* draft.add(graph, stage, sideOf, { saved: savedNames, recomputed, bridges: savedNames });
    const outputs = outputNames(stages.functionalized).length;
    const primals = graph.nodes.filter((node) => node.op === "placeholder" && sideOf(node) === FORWARD);
    yield* draft.outputs(graph, stage, all, (index) =>
      outputs === 0 || index < outputs ? { side: FORWARD, label: "output" } : { side: BACKWARD, label: gradient(primals[index - outputs]) },
    );
  } else {
    const all = yield* draft.add(graph, stage, () => FORWARD, {});
    yield* draft.outputs(graph, stage, all, () => ({ side: FORWARD, label: "output" }));
  }
  return yield* draft.finish();
}

const gradient = (primal: NodeView | undefined): string => (primal ? `grad of ${primal.source ?? primal.name}` : "gradient");

/** Names of the values that a graph returns, in order; `None` is one. */
function outputNames(graph: GraphView | undefined): string[] {
  const output = graph?.nodes.findLast(({ op }) => op === "output");
  return output?.args.match(/[A-Za-z_]\w*/g) ?? [];
}

interface Marks {
  saved?: ReadonlySet<string>;
  recomputed?: ReadonlySet<string>;
  /** Values whose readers on the other side read a chip between. */
  bridges?: ReadonlySet<string>;
}

/** A picture being made. */
class Draft {
  private nodes: PictureNode[] = [];
  private side: number[] = [];
  private order: number[] = [];
  private path: string[] = [];
  private anchor: number[] = [];
  private edges: number[] = [];

  edge(from: number, to: number): void {
    this.edges.push(from, to);
  }

  private push(node: Omit<PictureNode, "label"> & { label: string }, side: number, order: number, path: string): number {
    this.nodes.push({ ...node, label: cutName(node.label), detail: cut(node.detail) });
    this.side.push(side);
    this.order.push(order);
    this.path.push(path);
    this.anchor.push(node.shape === "call" ? (node.node.seq_nr ?? -1) : -1);
    return this.nodes.length - 1;
  }

  /** Adds a graph's nodes but its output; gives their numbers by name. */
  *add(graph: GraphView, stage: Stage, sideOf: (node: NodeView) => number, marks: Marks): Generator<void, Map<string, number>> {
    const numbers: number[] = [];
    const byName = new Map<string, number>();
    for (const node of graph.nodes) {
      if (node.id % STRIDE === 0) yield;
      if (node.op === "output") continue;
      const side = sideOf(node);
      const isInput = node.op === "placeholder" || node.op === "get_attr";
      const at = this.push(
        {
          node,
          stage,
          shape: side === BRIDGE ? "chip" : isInput ? "input" : "call",
          backward: side === BACKWARD,
          saved: side === BRIDGE || (marks.saved?.has(node.name) ?? false),
          recomputed: side !== BRIDGE && (marks.recomputed?.has(node.name) ?? false),
          mutates: node.mutates,
          label: node.name,
          detail: side === BRIDGE ? savedDetail(node) : isInput ? inputDetail(node) : typeOf(node) || node.target.replace(/\.default$/, ""),
        },
        side,
        // What is only read stands with its first reader.
        isInput ? -0.5 : node.id,
        node.module_path,
      );
      numbers[node.id] = at;
      byName.set(node.name, at);
    }
    const chips = new Map<number, number>();
    for (const node of graph.nodes) {
      if (node.id % STRIDE === 0) yield;
      const to = numbers[node.id];
      if (to === undefined || node.op === "output") continue;
      for (const input of node.inputs) {
        const from = numbers[input];
        if (from === undefined) continue;
        const crosses = this.side[from] === FORWARD && this.side[to] === BACKWARD;
        const source = this.nodes[from]!;
        if (crosses && marks.bridges?.has(source.node.name)) {
          let chip = chips.get(from);
          if (chip === undefined) {
            chip = this.push({ ...source, shape: "chip", saved: true, label: source.node.name, detail: savedDetail(source.node) }, BRIDGE, source.node.id, "");
            chips.set(from, chip);
            this.edge(from, chip);
          }
          this.edge(chip, to);
        } else {
          this.edge(from, to);
        }
      }
    }
    yield* this.settleInputs(graph, numbers);
    return byName;
  }

  /** An input goes where its readers are: into the innermost module that holds them all. */
  private *settleInputs(graph: GraphView, numbers: readonly number[]): Generator<void> {
    const common = new Map<number, { path: string[]; order: number }>();
    for (const node of graph.nodes) {
      if (node.id % STRIDE === 0) yield;
      const to = numbers[node.id];
      if (to === undefined || this.nodes[to]!.shape !== "call") continue;
      for (const input of node.inputs) {
        const from = numbers[input];
        if (from === undefined || this.nodes[from]!.shape !== "input" || this.side[from] !== this.side[to]) continue;
        const path = node.module_path ? node.module_path.split(".") : [];
        const known = common.get(from);
        if (!known) common.set(from, { path, order: node.id - 0.5 });
        else known.path = known.path.slice(0, known.path.findIndex((name, i) => name !== path[i]) >>> 0);
      }
    }
    for (const [at, { path, order }] of common) {
      this.path[at] = path.join(".");
      this.order[at] = order;
    }
  }

  /** Adds a small node per value returned; `what` says on which side and under what name, or that it is not shown. */
  *outputs(graph: GraphView, stage: Stage, byName: ReadonlyMap<string, number>, what: (index: number, count: number) => { side: number; label: string } | undefined): Generator<void> {
    const output = graph.nodes.findLast(({ op }) => op === "output");
    if (!output) return;
    const names = outputNames(graph);
    const many = names.filter((name, index) => name !== "None" && what(index, names.length)?.label === "output").length > 1;
    for (const [index, name] of names.entries()) {
      if (index % STRIDE === 0) yield;
      const from = byName.get(name);
      const shown = what(index, names.length);
      if (from === undefined || !shown) continue;
      const label = shown.label === "output" && many ? `output ${index}` : shown.label;
      const look = { shape: "output" as const, backward: shown.side === BACKWARD, saved: false, recomputed: false, mutates: false };
      // A gradient of what the forward has already computed stays on the side of what it is computed from.
      const side = this.side[from] === BRIDGE ? BACKWARD : this.side[from]!;
      const at = this.push({ ...look, node: output, stage, label, detail: "" }, side, this.order[from]! + 0.5 + index / (4 * names.length), this.path[from]!);
      this.edge(from, at);
    }
  }

  *finish(): Generator<void, Picture> {
    const count = this.nodes.length;
    const paths = new Map<string, number>();
    const path = Int32Array.from(this.path, (text) => {
      const known = paths.get(text) ?? paths.size;
      paths.set(text, known);
      return known;
    });
    const width = new Float32Array(count);
    const height = new Float32Array(count);
    const byName = new Map<string, number[]>();
    for (const [at, node] of this.nodes.entries()) {
      if (at % STRIDE === 0) yield;
      const letters = Math.max(node.label.length, node.detail.length);
      const badges = Number(node.saved && node.shape !== "chip") + Number(node.recomputed) + Number(node.mutates);
      width[at] = Math.max(node.shape === "call" ? 72 : 56, textWidth(letters) + 24 + 17 * badges);
      height[at] = node.detail ? 38 : 26;
      if (node.shape === "output") continue;
      const list = byName.get(node.node.name);
      if (list) list.push(at);
      else byName.set(node.node.name, [at]);
    }
    const input = {
      width, height, path,
      paths: [...paths.keys()],
      side: Uint8Array.from(this.side),
      order: Float64Array.from(this.order),
      edges: Int32Array.from(this.edges),
      anchor: Int32Array.from(this.anchor),
    };
    return { nodes: this.nodes, input, byName, twoSided: this.side.includes(BACKWARD) };
  }
}

function savedDetail(node: NodeView): string {
  const type = typeOf(node);
  const bytes = node.bytes === null ? "" : formatBytes(node.bytes);
  return [type, bytes].filter(Boolean).join(" · ") || "saved";
}
