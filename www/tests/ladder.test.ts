// One script under several backends: runs one after the other, and the first that differs.
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ModuleSource } from "../src/engine/module";
import type { Event } from "../src/generated/report";
import { firstDifference, firstThatDiffers, otherDifferences, type Rung } from "../src/report/ladder";
import { FakeWorker } from "./fake-worker";

const rung = (backend: string, text: string, more: Partial<Rung> = {}): Rung => ({ backend, lines: text.split("\n"), saved: 0, graphs: 1, breaks: 0, ...more });

describe("of backends", () => {
  it("the first that differs is named, with the line", () => {
    expect(firstDifference(["a", "b"], ["a", "b"])).toBeUndefined();
    expect(firstDifference(["a"], ["a", "b"])).toEqual({ line: 2, first: undefined, second: "b" });
    const rungs = [rung("eager", "a\n1"), rung("aot_eager", "a\n1"), rung("inductor", "a\n2")];
    expect(firstThatDiffers(rungs)).toEqual({ backend: "inductor", difference: { line: 2, first: "1", second: "2" } });
    // What was ended is not held against the others.
    expect(firstThatDiffers([rungs[0]!, rung("aot_eager", "a", { ended: "Stopped." })])).toBeUndefined();
  });

  it("saved bytes, graphs and breaks that differ are said", () => {
    expect(otherDifferences([rung("eager", "", { saved: undefined }), rung("aot_eager", "")])).toEqual([]);
    expect(otherDifferences([rung("eager", "", { saved: undefined }), rung("aot_eager", "", { saved: 8, breaks: 1 }), rung("inductor", "", { saved: 16 })])).toEqual([
      "Saved bytes differ: 8 B under aot_eager, 16 B under inductor.",
      "Graph breaks differ: 0 under eager, 1 under aot_eager, 0 under inductor.",
    ]);
  });
});

describe("a ladder", () => {
  let state: typeof import("../src/state/ladder");
  const started = (): string[] => FakeWorker.last.received.flatMap((message) => (message.type === "run" ? message.options.backend : []));
  const finish = (text: string): void => {
    const run = FakeWorker.last.received.filter(({ type }) => type === "run").length;
    const events: Event[] = [
      { event: "stdout", text },
      { event: "finished", exception: null, seconds: 0 },
    ];
    for (const event of events) FakeWorker.last.say({ type: "event", run, event: JSON.stringify(event) });
    FakeWorker.last.say({ type: "done", run, took: 1 });
  };

  beforeEach(async () => {
    vi.resetModules();
    FakeWorker.all = [];
    state = await import("../src/state/ladder");
    state.prepareLadder({ get: () => Promise.resolve({} as WebAssembly.Module) } as unknown as ModuleSource, () => new FakeWorker());
    state.climb();
  });

  it("runs under one backend after the other, and ends its worker", () => {
    expect(state.ladder.value).toMatchObject({ rungs: [], now: "eager" });
    finish("1\n");
    expect(state.ladder.value).toMatchObject({ rungs: [{ backend: "eager", lines: ["1"] }], now: "aot_eager" });
    finish("1\n");
    finish("2\n");
    expect(started()).toEqual(["eager", "aot_eager", "inductor"]);
    expect(state.ladder.value?.rungs.map(({ lines }) => lines[0])).toEqual(["1", "1", "2"]);
    expect(state.ladder.value?.now).toBeUndefined();
    expect(FakeWorker.last.terminated).toBe(true);
  });

  it("can be stopped: what is known stays", () => {
    finish("1\n");
    state.stopClimbing();
    expect(FakeWorker.last.terminated).toBe(true);
    expect(state.ladder.value).toMatchObject({ rungs: [{ backend: "eager" }] });
    expect(state.ladder.value?.now).toBeUndefined();
  });
});
