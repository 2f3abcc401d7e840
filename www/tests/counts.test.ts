import { expect, it } from "vitest";
import type { Compilation, Event, Partition, Saved } from "../src/generated/report";
import { countsOf, countsText, keptBy, keptOf, recomputedBy } from "../src/report/counts";
import { emptyReport, fold } from "../src/report/fold";

const empty = { readable: "", nodes: [] };
const captured = (id: number): Event => ({ event: "captured", region: { id, function: "f", graph: empty, guards: [], span: null } });
const compiled = (id: number, abandoned = false): Event => ({
  event: "compiled",
  compilation: { id, region: id, kind: "inference", prologue: "", epilogue: "", seq_nr: [], ...(abandoned ? { abandoned } : {}) },
});
const missed: Event = { event: "recompiled", reasons: ["0/0: n == 1"] };
const limited: Event = { event: "limited", limit: { frame: 0, function: "f", config: "recompile_limit", limit: 8, reason: "", calls: 0, called_at: [] } };
const uncompiled: Event = { event: "uncompiled", frame: 0, span: null };

it("a call that reaches the recompile limit is no recompile, and a discarded trace is no graph", () => {
  const eight = Array.from({ length: 8 }, (_, id) => (id === 0 ? [captured(0), compiled(0)] : [missed, captured(id), compiled(id)])).flat();
  const report = fold(emptyReport(), [...eight, compiled(8, true), missed, limited, uncompiled, uncompiled]);
  expect(countsOf(report)).toEqual({ graphs: 8, recompiles: 7, limits: 1, uncompiled: 2, breaks: 0 });
  expect(countsText(report)).toBe("8 graphs · 7 recompiles · 2 calls uncompiled");
});

it("counts a graph that has no compilation, or is not compiled yet", () => {
  expect(countsOf(fold(emptyReport(), [captured(0), compiled(0), captured(1)])).graphs).toBe(2);
});

it("tells listed bytes from activations that are kept alive", () => {
  const saved: Saved[] = [
    { name: "primals_1", dtype: null, shape: null, stride: null, bytes: 400, of_input: true, sym: null, span: null },
    { name: "t", dtype: null, shape: null, stride: null, bytes: 400, view_of: "primals_1", of_input: true, sym: null, span: null },
    { name: "addmm", dtype: null, shape: null, stride: null, bytes: 64, sym: null, span: null },
    { name: "view", dtype: null, shape: null, stride: null, bytes: 64, view_of: "addmm", sym: null, span: null },
    { name: "s0", sym: "s0", dtype: null, shape: null, stride: null, span: null },
  ];
  expect(keptOf({ saved } as unknown as Compilation)).toEqual({ values: 5, listed: 928, activations: 64 });
  const decisions = saved.map(({ name }) => ({ name, fate: "saved" }));
  const partition = { decisions, saved_bytes: 928, activation_bytes: 64, recomputed: ["relu"] } as unknown as Partition;
  expect(keptBy(partition)).toEqual(keptOf({ saved, partition } as unknown as Compilation));
  expect(recomputedBy(partition)).toBe(1);
  expect(recomputedBy(undefined)).toBe(0);
});
