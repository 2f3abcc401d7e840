// What partitions and memory profiles say, worked out from the report's plain data.
import type { CurvePoint, Decision, MemoryProfile, MemoryValue, Partition } from "../generated/report";

/** Storages alive while a step runs, largest first. */
export function aliveAt({ values }: MemoryProfile, step: number): MemoryValue[] {
  return values.filter(({ born, dies, bytes }) => bytes > 0 && born <= step && step <= dies).toSorted((a, b) => b.bytes - a.bytes);
}

export interface LineOfMemory {
  line: number | undefined;
  bytes: number;
  values: MemoryValue[];
}

/** By the script's line that made them, most bytes first; inputs and tangents come from no line. */
export function byLine(values: readonly MemoryValue[]): LineOfMemory[] {
  const lines = new Map<number | undefined, LineOfMemory>();
  for (const value of values) {
    const line = value.span?.line;
    const found = lines.get(line) ?? { line, bytes: 0, values: [] };
    found.bytes += value.bytes;
    found.values.push(value);
    lines.set(line, found);
  }
  return [...lines.values()].toSorted((a, b) => b.bytes - a.bytes);
}

/** Pairs of budgets of which the smaller one needs more memory at its peak. */
export function peakRises(points: readonly CurvePoint[]): { smaller: CurvePoint; larger: CurvePoint }[] {
  return points.slice(1).flatMap((larger, i) => {
    const smaller = points[i];
    return smaller && smaller.peak_bytes > larger.peak_bytes ? [{ smaller, larger }] : [];
  });
}

export interface Comparison {
  /** Saved in the first one alone. */
  savedInFirst: Decision[];
  savedInSecond: Decision[];
  recomputedInFirst: Decision[];
  recomputedInSecond: Decision[];
  /** Values that only one of the two has at all: the script was edited. */
  onlyFirst: Decision[];
  onlySecond: Decision[];
}

/** What is saved or recomputed in one partition and not in the other, by name. */
export function compare(first: Partition, second: Partition): Comparison {
  const fates = ({ decisions }: Partition): Map<string, Decision> => new Map(decisions.map((decision) => [decision.name, decision]));
  const [a, b] = [fates(first), fates(second)];
  const differing = (one: Map<string, Decision>, other: Map<string, Decision>, fate: string): Decision[] =>
    [...one.values()].filter((decision) => decision.fate === fate && other.has(decision.name) && other.get(decision.name)?.fate !== fate);
  const only = (one: Map<string, Decision>, other: Map<string, Decision>): Decision[] => [...one.values()].filter(({ name }) => !other.has(name));
  return {
    savedInFirst: differing(a, b, "saved"),
    savedInSecond: differing(b, a, "saved"),
    recomputedInFirst: differing(a, b, "recomputed"),
    recomputedInSecond: differing(b, a, "recomputed"),
    onlyFirst: only(a, b),
    onlySecond: only(b, a),
  };
}

/** How a capacity came about: `1024 B × 1.1^3, doubled: it would be fused away = 2725`. */
export function capacityText({ capacity }: Decision): string | undefined {
  if (!capacity) return undefined;
  const value = String(capacity.value);
  if (capacity.note) return value === "inf" ? capacity.note : `${value}: ${capacity.note}`;
  const doubled = capacity.doubled ? " × 2 (it would be fused away if it were not saved)" : "";
  const steps = capacity.distance === 1 ? "1 step" : `${capacity.distance} steps`;
  return `${capacity.bytes} B × 1.1^${capacity.distance} (${steps} from the backward)${doubled} = ${value}`;
}

/** Columns of a network: how many reads lie before a value. */
export function depths(count: number, edges: readonly (readonly [number, number])[]): number[] {
  const depth = new Array<number>(count).fill(0);
  // Values come in the graph's order: every edge goes onward.
  for (const [from, to] of edges.toSorted((a, b) => a[0] - b[0])) depth[to] = Math.max(depth[to] ?? 0, (depth[from] ?? 0) + 1);
  return depth;
}
