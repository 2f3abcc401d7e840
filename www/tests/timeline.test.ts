import { describe, expect, it } from "vitest";
import type { CapturedGraph, Compilation, Event, NodeView } from "../src/generated/report";
import { EMPTY, extend, type Moment } from "../src/report/timeline";

const region = (id: number, line: number): Event => ({
  event: "captured",
  region: { id, function: "f", graph: { readable: "", nodes: [{ span: { line, column: 0, end_line: line, end_column: 4 } } as NodeView] }, guards: [], span: null } satisfies CapturedGraph,
});
const compiled = (id: number): Event => ({ event: "compiled", compilation: { id, region: id, backward: { readable: "", nodes: [] } } as unknown as Compilation });
const ran = (compilation: number, part: string): Event => ({ event: "ran", run: { compilation, part } });
const broke = (line: number): Event => ({ event: "broke", graph_break: { reason: "item", span: { line, column: 0, end_line: line, end_column: 4 } } });

function moments(...events: Event[]): readonly Moment[] {
  return extend(
    EMPTY,
    events.map((event, at) => ({ event, at })),
  ).moments;
}

const whys = (all: readonly Moment[]): unknown[] => all.flatMap((moment) => (moment.kind === "captured" ? [moment.why] : []));

describe("the timeline", () => {
  it("counts the runs of a training loop together", () => {
    const loop = Array.from({ length: 50 }, () => [ran(0, "forward"), ran(0, "backward")]).flat();
    const all = moments(region(0, 3), region(0, 3), compiled(0), ...loop);
    expect(all.map(({ kind }) => kind)).toEqual(["captured", "compiled", "ran"]);
    expect(all[2]).toMatchObject({ at: 3, until: 102, runs: [{ compilation: 0, forward: 50, backward: 50, inference: 0 }] });
  });

  it("says why compiled autograd captured a tape, and counts what it served with the runs", () => {
    const captured: Event = {
      event: "compiled_autograd",
      tape: { id: 0, name: "CompiledAutograd0", graph: { readable: "", nodes: [] }, reasons: ["Cache miss due to new autograd node"], hits: 0, inputs: [] },
    };
    const hit: Event = { event: "tape_hit", tape: 0 };
    const all = moments(captured, ran(0, "inference"), hit, ran(0, "inference"), hit);
    expect(all).toEqual([
      { kind: "tape", at: 0, tape: 0, name: "CompiledAutograd0", reasons: ["Cache miss due to new autograd node"] },
      { kind: "ran", at: 1, until: 4, runs: [{ compilation: 0, forward: 0, backward: 0, inference: 2 }], hits: [{ tape: 0, times: 2 }], uncompiled: [] },
    ]);
  });

  it("says which calls ran uncompiled after a limit, and from which lines", () => {
    const limit = { frame: 0, function: "forward", config: "recompile_limit", limit: 8, reason: "0/7: self.step == 7", calls: 0, called_at: [] };
    const call = (line: number): Event => ({ event: "uncompiled", frame: 0, span: { line, column: 0, end_line: line, end_column: 4 } });
    const all = moments({ event: "recompiled", reasons: ["0/7: self.step == 7"] }, { event: "limited", limit }, call(9), call(9), call(12), region(3, 4));
    expect(all.slice(0, 2)).toEqual([
      { kind: "limited", at: 1, frame: 0, function: "forward", config: "recompile_limit", limit: 8, reason: "0/7: self.step == 7" },
      { kind: "ran", at: 2, until: 4, runs: [], hits: [], uncompiled: [{ frame: 0, times: 3, lines: [9, 12] }] },
    ]);
    // The guards that failed were of the call that was not compiled.
    expect(whys(all)).toEqual([{ kind: "first" }]);
  });

  it("says which guard made a function compile again", () => {
    const all = moments(region(0, 3), ran(0, "forward"), { event: "recompiled", reasons: ["0/0: size mismatch"] }, region(1, 3));
    expect(whys(all)).toEqual([{ kind: "first" }, { kind: "guards", failed: ["0/0: size mismatch"] }]);
  });

  it("tells what ends at a break from what follows it", () => {
    const all = moments(broke(5), region(0, 4), compiled(0), ran(0, "forward"), region(1, 6), ran(1, "forward"));
    expect(whys(all)).toEqual([{ kind: "first" }, { kind: "break", line: 5 }]);
    // Nothing was captured before this break.
    expect(whys(moments(broke(5), region(0, 6)))).toEqual([{ kind: "break", line: 5 }]);
    // What ends at it was compiled before.
    expect(whys(moments(broke(5), ran(0, "forward"), region(1, 3)))).toEqual([{ kind: "break", line: 5 }]);
  });

  it("says what was given up to be traced again", () => {
    const given = { event: "compiled", compilation: { id: 0, region: 0, abandoned: true } as unknown as Compilation } satisfies Event;
    const all = moments(region(0, 3), given, region(1, 3), compiled(1));
    expect(all.map(({ kind }) => kind)).toEqual(["captured", "abandoned", "captured", "compiled"]);
  });

  it("grows with what arrives, and leaves what was", () => {
    const first = extend(EMPTY, [{ event: region(0, 3), at: 1 }]);
    const second = extend(first, [{ event: { event: "finished", exception: null, seconds: 1 }, at: 9 }]);
    expect(first.moments).toHaveLength(1);
    expect(second.moments.map(({ kind }) => kind)).toEqual(["captured", "finished"]);
  });
});
