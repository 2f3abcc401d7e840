// What the partition and memory panes work out of plain data.
import { describe, expect, it } from "vitest";
import type { CurvePoint, Decision, MemoryProfile, Partition } from "../src/generated/report";
import { aliveAt, byLine, capacityText, compare, depths, peakRises } from "../src/report/partition";

const span = (line: number) => ({ line, column: 0, end_line: line, end_column: 4 });
const memory: MemoryProfile = {
  label: "eager",
  steps: [
    { name: "sin", is_backward: false, bytes: 24 },
    { name: "mul", is_backward: true, bytes: 32 },
  ],
  values: [
    { name: "primals_1", kind: "input", bytes: 8, born: 0, dies: 1, span: null },
    { name: "sin", kind: "saved", bytes: 16, born: 0, dies: 1, span: span(3) },
    { name: "mul", kind: "gradient", bytes: 8, born: 1, dies: 1, span: span(3) },
  ],
  peak_step: 1,
  peak_bytes: 32,
  saved_bytes: 0,
  between_bytes: 24,
};
const decision = (name: string, fate: string, more: Partial<Decision> = {}): Decision => ({ name, fate, reason: "", needed_by: [], recomputed_from: [], ...more });
const partition = (decisions: Decision[]): Partition => ({
  partitioner: "default_partition",
  budget: 1,
  recomputed: [],
  replayed: [],
  decisions,
  activation_bytes: 0, saved_bytes: 0,
  recompute_cost: { calls: 0, flops: 0, bytes: 0 },
  debug_report: [],
});

describe("memory", () => {
  it("is alive from birth to death, largest first", () => {
    expect(aliveAt(memory, 0).map(({ name }) => name)).toEqual(["sin", "primals_1"]);
    expect(aliveAt(memory, 1).map(({ name }) => name)).toEqual(["sin", "primals_1", "mul"]);
  });

  it("belongs to the line that made it", () => {
    expect(byLine(aliveAt(memory, 1)).map(({ line, bytes }) => [line, bytes])).toEqual([
      [3, 24],
      [undefined, 8],
    ]);
  });

  it("may peak higher on a smaller budget", () => {
    const point = (budget: number, peak_bytes: number): CurvePoint => ({ budget, peak_bytes, saved_bytes: 0, recomputed: 0, recompute: { calls: 0, flops: 0, bytes: 0 } });
    expect(peakRises([point(0, 5), point(0.5, 9), point(1, 7)]).map(({ smaller, larger }) => [smaller.budget, larger.budget])).toEqual([[0.5, 1]]);
    expect(peakRises([point(0, 5), point(1, 5)])).toEqual([]);
  });
});

describe("two partitions", () => {
  it("differ by fates and by what the other does not have", () => {
    const first = partition([decision("a", "saved"), decision("b", "recomputed"), decision("c", "saved"), decision("old", "saved")]);
    const second = partition([decision("a", "recomputed"), decision("b", "saved"), decision("c", "saved"), decision("new", "not needed")]);
    const found = compare(first, second);
    const names = Object.fromEntries(Object.entries(found).map(([key, list]) => [key, (list as Decision[]).map(({ name }) => name)]));
    expect(names).toEqual({ savedInFirst: ["a"], savedInSecond: ["b"], recomputedInFirst: ["b"], recomputedInSecond: ["a"], onlyFirst: ["old"], onlySecond: ["new"] });
  });
});

describe("partitions of a script and of the same script, edited", () => {
  const before = "import torch\ny = x.sin()\nz = y.sin() * 2";
  const after = "import torch\nw = x.sin()\ny = x.sin()\nz = y.sin() * 2";
  const at = (line: number): Partial<Decision> => ({ line });

  it("are compared by what lines say, since values are numbered anew", () => {
    const first = partition([decision("sin", "saved", at(2)), decision("sin_1", "recomputed", at(3))]);
    const second = partition([decision("sin", "not needed", at(2)), decision("sin_1", "saved", at(3)), decision("sin_2", "saved", at(4))]);
    const found = compare(first, second, [before, after]);
    expect(found.recomputedInFirst.map(({ name }) => name)).toEqual(["sin_1"]);
    expect(found.savedInSecond.map(({ name }) => name)).toEqual(["sin_2"]);
    expect(found.onlyFirst).toEqual([]);
    expect(found.onlySecond.map(({ line }) => line)).toEqual([2]);
    expect(compare(first, second).savedInFirst.map(({ name }) => name)).toEqual(["sin"]);
  });

  it("are compared by name where a line was rewritten", () => {
    const first = partition([decision("sin", "saved", at(2))]);
    const second = partition([decision("sin", "recomputed", at(2))]);
    expect(compare(first, second, ["\nx.sin()", "\nx.sin() + 1"]).savedInFirst.map(({ name }) => name)).toEqual(["sin"]);
  });
});

describe("a capacity", () => {
  const parts = { value: 2252, bytes: 1024, distance: 1, factor: 1.1, doubled: true, note: null };
  it("says how it came about", () => {
    expect(capacityText(decision("a", "saved", { capacity: parts }))).toBe(
      "1024 B × 1.1^1 (1 step from the backward) × 2 (it would be fused away if it were not saved) = 2252",
    );
    expect(capacityText(decision("a", "saved", { capacity: { ...parts, value: "inf", note: "cannot save: non-tensor output" } }))).toBe("cannot save: non-tensor output");
    expect(capacityText(decision("a", "saved"))).toBeUndefined();
  });
});

describe("a network", () => {
  it("has its values in columns after all they read", () => {
    expect(depths(4, [[0, 2], [1, 2], [2, 3], [0, 3]])).toEqual([0, 0, 1, 2]);
  });
});
