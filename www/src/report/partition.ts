// What partitions and memory profiles say, worked out from the report's plain data.
import type { CurvePoint, Decision, MemoryProfile, MemoryValue, Partition } from "../generated/report";

/** Storages alive while a step runs, largest first. */
export function aliveAt({ values }: MemoryProfile, step: number): MemoryValue[] {
  return values.filter(({ born, dies, bytes }) => bytes > 0 && born <= step && step <= dies).toSorted((a, b) => b.bytes - a.bytes);
}

export interface LineOfMemory {
  line: number | undefined;
  /** The file beside the script that it is a line of. */
  file?: string;
  bytes: number;
  values: MemoryValue[];
}

/** By the script's line that made them, most bytes first; inputs and tangents come from no line. */
export function byLine(values: readonly MemoryValue[]): LineOfMemory[] {
  const lines = new Map<string, LineOfMemory>();
  for (const value of values) {
    const { line, file } = value.span ?? {};
    const key = `${file ?? ""}:${line ?? ""}`;
    const found = lines.get(key) ?? { line, ...(file === undefined ? {} : { file }), bytes: 0, values: [] };
    found.bytes += value.bytes;
    found.values.push(value);
    lines.set(key, found);
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

/** What is saved or recomputed in one partition and not in the other; `scripts` are the two scripts' texts, where they differ. */
export function compare(first: Partition, second: Partition, scripts?: readonly [string, string]): Comparison {
  const found = pairs(first.decisions, second.decisions, scripts);
  const both = found.flatMap(({ a, b }) => (a && b && a.fate !== b.fate ? [{ a, b }] : []));
  const inFirst = (fate: string): Decision[] => both.filter(({ a }) => a.fate === fate).map(({ a }) => a);
  const inSecond = (fate: string): Decision[] => both.filter(({ b }) => b.fate === fate).map(({ b }) => b);
  return {
    savedInFirst: inFirst("saved"),
    savedInSecond: inSecond("saved"),
    recomputedInFirst: inFirst("recomputed"),
    recomputedInSecond: inSecond("recomputed"),
    onlyFirst: found.flatMap(({ a, b }) => (a && !b ? [a] : [])),
    onlySecond: found.flatMap(({ a, b }) => (b && !a ? [b] : [])),
  };
}

interface Pair {
  a?: Decision;
  b?: Decision;
}

/**
 * Decisions about the same value. An edit of a script numbers values anew: they are told by what their line says and what it
 * calls, the first with the first; what is left over, by name.
 */
function pairs(first: readonly Decision[], second: readonly Decision[], scripts?: readonly [string, string]): Pair[] {
  const placesOf = (decisions: readonly Decision[], script: string | undefined): Map<string, Decision> => {
    const lines = script?.split("\n");
    const counts = new Map<string, number>();
    return new Map(
      decisions.map((decision) => {
        const { name, line } = decision;
        const text = line ? lines?.[line - 1]?.trim() : undefined;
        if (text === undefined) return [name, decision];
        const place = `${name.replace(/_\d+$/, "")} of ${text}`;
        const nth = (counts.get(place) ?? 0) + 1;
        counts.set(place, nth);
        return [`${nth} ${place}`, decision];
      }),
    );
  };
  const places = placesOf(second, scripts?.[1]);
  const found: Pair[] = [];
  const alone: Decision[] = [];
  for (const [place, a] of placesOf(first, scripts?.[0])) {
    const b = places.get(place);
    if (b) found.push({ a, b });
    else alone.push(a);
    places.delete(place);
  }
  const byName = new Map([...places.values()].map((b) => [b.name, b]));
  for (const a of alone) {
    const b = byName.get(a.name);
    byName.delete(a.name);
    found.push(b ? { a, b } : { a });
  }
  return [...found, ...[...byName.values()].map((b) => ({ b }))];
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
