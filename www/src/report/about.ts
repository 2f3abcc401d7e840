// What there is to say of a name in a graph: what it is, its type in words, where it comes from, what became of it.
import type { GraphView, NodeView } from "../generated/report";
import { formatBytes, plural } from "./format";
import { placeInWords } from "./place";
import type { Stage, Unit } from "./stages";

export interface About {
  name: string;
  /** What the script calls it. */
  source: string | undefined;
  facts: string[];
  /** What calls it, for the signature. */
  target: string | undefined;
}

/** Readers that are named. */
const MOST_READERS = 4;

/** What is known of the value of a name in a stage; nothing where the graph has none of that name. */
export function about(unit: Unit, stage: Stage, name: string): About | undefined {
  const graph = unit.stages[stage];
  const node = graph?.nodes.find((candidate) => candidate.name === name && candidate.op !== "output");
  if (!graph || !node) return undefined;
  const isCall = node.op.startsWith("call");
  const facts = [whatItIs(node, stage, unit), typeInWords(node), place(node), ...fate(unit, name), readers(graph, node)];
  return { name, source: node.source ?? undefined, facts: facts.filter((fact) => fact !== ""), target: isCall ? node.target : undefined };
}

function whatItIs(node: NodeView, stage: Stage, unit: Unit): string {
  if (node.op !== "placeholder") return node.op === "get_attr" ? "attribute of the graph" : `result of ${node.target}`;
  if (node.name.startsWith("tangents_")) {
    const isScalar = node.shape?.length === 0;
    return `tangent: the gradient that arrives for an output${isScalar ? "; 1.0 where loss.backward() is called on it" : ""}`;
  }
  if (stage === "backward" && unit.compilation?.saved?.some(({ name }) => name === node.name)) return "saved by the forward for the backward";
  return "graph input";
}

/** `float32, 4 × 64 × 128, contiguous, 128 KiB`. */
export function typeInWords({ dtype, shape, stride, bytes }: NodeView): string {
  if (!shape) return "";
  const sizes = shape.length === 0 ? "a scalar" : shape.join(" × ");
  const layout = stride && shape.length > 0 ? (isContiguous(shape, stride) ? "contiguous" : `strides ${stride.join(", ")}`) : "";
  return [dtype ?? "", sizes, layout, bytes === null ? "" : formatBytes(bytes)].filter(Boolean).join(", ");
}

/** Whether strides are those of rows one after the other; with symbols only where that is plain. */
function isContiguous(shape: readonly string[], stride: readonly string[]): boolean {
  let expected = 1;
  for (let at = shape.length - 1; at >= 0; at -= 1) {
    const [size, step] = [Number(shape[at]), Number(stride[at])];
    if (Number.isNaN(size) || Number.isNaN(step)) return false;
    if (size !== 1 && step !== expected) return false;
    expected *= size;
  }
  return true;
}

function place({ span, module_path, is_backward, op }: NodeView): string {
  const line = span ? `${is_backward && op.startsWith("call") ? "backward of " : ""}${placeInWords(span)}` : "";
  return [line, module_path && `in ${module_path}`].filter(Boolean).join(", ");
}

function fate(unit: Unit, name: string): string[] {
  const decision = unit.compilation?.partition?.decisions.find((candidate) => candidate.name === name);
  if (!decision) return [];
  return [decision.reason ? `${decision.fate}: ${decision.reason}` : decision.fate];
}

function readers({ nodes }: GraphView, { id }: NodeView): string {
  const found = nodes.filter(({ inputs, op }) => op !== "output" && inputs.includes(id)).map(({ name }) => name);
  if (found.length === 0) return "";
  const more = found.length > MOST_READERS ? ` and ${plural(found.length - MOST_READERS, "other")}` : "";
  return `read by ${found.slice(0, MOST_READERS).join(", ")}${more}`;
}
