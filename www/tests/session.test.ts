import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ModuleSource } from "../src/engine/module";
import type { CapturedGraph, Event } from "../src/generated/report";
import { DEFAULTS } from "../src/state/options";
import { FakeWorker } from "./fake-worker";

const region: CapturedGraph = { id: 0, function: "f", graph: { readable: "graph", nodes: [] }, guards: [], span: null };
const finished: Event = { event: "finished", exception: null, seconds: 0.01 };
const raised: Event = { event: "finished", exception: { type: "SyntaxError", message: "", traceback: "", span: null }, seconds: 0 };
const source = { get: () => Promise.resolve({} as WebAssembly.Module) } as unknown as ModuleSource;

let session: typeof import("../src/state/session");

/** Tells the page about the events of its latest run. */
function tell(...events: Event[]): void {
  const worker = FakeWorker.last;
  const run = lastRun(worker);
  // As the worker tells it: events come as JSON but for those that hold bytes.
  for (const event of events) worker.say({ type: "event", run, event: event.event === "runnable" ? event : JSON.stringify(event) });
}

function lastRun(worker: FakeWorker): number {
  const message = worker.received.findLast(({ type }) => type === "run");
  return message?.type === "run" ? message.run : 0;
}

function finish(...events: Event[]): void {
  tell(...events);
  FakeWorker.last.say({ type: "done", run: lastRun(FakeWorker.last), took: 1 });
}

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "requestAnimationFrame", "cancelAnimationFrame", "performance"] });
  vi.resetModules();
  FakeWorker.all = [];
  session = await import("../src/state/session");
  await session.startEngine(source, () => new FakeWorker());
});

describe("a session", () => {
  it("holds a run back until the interpreter is there", () => {
    session.requestRun("print(1)", [], DEFAULTS, "own");
    expect(FakeWorker.last.received.map(({ type }) => type)).toEqual(["init"]);
    FakeWorker.last.say({ type: "ready" });
    expect(FakeWorker.last.received.map(({ type }) => type)).toEqual(["init", "run"]);
    finish({ event: "stdout", text: "1\n" }, finished);
    expect(session.running.value).toBe(false);
    expect(session.shown.value).toMatchObject({ printed: [{ stream: "stdout", text: "1\n" }], outcome: { kind: "finished" } });
  });

  it("shows a recording of a script that waits, until its own run has ended", () => {
    const answers = new Map([['0 {"ask":"eager"}', { answer: "failed", message: "" } as const]]);
    session.requestRun("example", [], DEFAULTS, "example");
    session.showRecording("another", [{ event: "stdout", text: "1\n" }], answers);
    expect(session.shown.value).toBeUndefined();
    session.showRecording("example", [{ event: "stdout", text: "1\n" }, { event: "captured", region }, finished], answers);
    const recorded = session.shown.value;
    expect(recorded).toMatchObject({ recorded: true, answers, printed: [{ text: "1\n" }], report: { regions: [region] } });
    FakeWorker.last.say({ type: "ready" });
    tell({ event: "stdout", text: "1\n" });
    vi.advanceTimersByTime(2000);
    expect(session.shown.value).toBe(recorded);
    finish({ event: "captured", region }, finished);
    expect(session.shown.value).toMatchObject({ answers, printed: [{ text: "1\n" }], outcome: { kind: "finished" } });
    expect(session.shown.value?.recorded).toBeUndefined();
    // What has run is not replaced by a recording.
    session.showRecording("example", [{ event: "stdout", text: "2\n" }], answers);
    expect(session.shown.value?.printed).toEqual([{ stream: "stdout", text: "1\n" }]);
  });

  it("takes nothing from a recording for a run with other options", () => {
    session.requestRun("example", [], DEFAULTS, "example");
    session.showRecording("example", [{ event: "stdout", text: "1\n" }], new Map());
    session.requestRun("example", [], { ...DEFAULTS, backend: "eager" }, "example");
    FakeWorker.last.say({ type: "ready" });
    finish(finished);
    expect(session.shown.value).toMatchObject({ printed: [], outcome: { kind: "finished" } });
    expect(session.shown.value?.answers).toBeUndefined();
  });

  it("leaves a recording at once for another script", () => {
    session.requestRun("example", [], DEFAULTS, "example");
    session.showRecording("example", [{ event: "stdout", text: "1\n" }], new Map());
    session.requestRun("mine", [], DEFAULTS, "own");
    FakeWorker.last.say({ type: "ready" });
    vi.advanceTimersByTime(300);
    tell({ event: "stdout", text: "m" });
    vi.advanceTimersByTime(50);
    expect(session.shown.value).toMatchObject({ program: "mine", printed: [{ text: "m" }] });
    expect(session.shown.value?.answers).toBeUndefined();
  });

  it("shows what is known while a script runs", () => {
    FakeWorker.last.say({ type: "ready" });
    session.requestRun("", [], DEFAULTS, "own");
    tell({ event: "stdout", text: "a" });
    expect(session.shown.value).toBeUndefined();
    vi.advanceTimersByTime(300);
    tell({ event: "stdout", text: "b" }, { event: "captured", region });
    vi.advanceTimersByTime(50);
    expect(session.shown.value).toMatchObject({ outcome: { kind: "running" }, printed: [{ text: "ab" }], report: { regions: [region] } });
  });

  it("keeps what was known when it is stopped, and runs the next script in another worker", () => {
    FakeWorker.last.say({ type: "ready" });
    session.requestRun("while True: pass", [], DEFAULTS, "own");
    const first = FakeWorker.last;
    tell({ event: "stdout", text: "before" });
    session.stopRun();
    expect(first.terminated).toBe(true);
    expect(session.shown.value).toMatchObject({ outcome: { kind: "stopped" }, printed: [{ text: "before" }] });
    expect(FakeWorker.last).not.toBe(first);
    session.requestRun("print(2)", [], DEFAULTS, "own");
    FakeWorker.last.say({ type: "ready" });
    first.say({ type: "event", run: 1, event: { event: "stdout", text: "a ghost" } });
    finish({ event: "stdout", text: "2\n" }, finished);
    expect(session.shown.value?.printed).toEqual([{ stream: "stdout", text: "2\n" }]);
  });

  it("stops at the time limit", () => {
    FakeWorker.last.say({ type: "ready" });
    session.requestRun("while True: pass", [], { ...DEFAULTS, limit: 5 }, "own");
    vi.advanceTimersByTime(5_100);
    expect(FakeWorker.all[0]?.terminated).toBe(true);
    expect(session.shown.value?.outcome).toEqual({ kind: "stopped", why: "Stopped after 5.0 s: the time limit." });
  });

  it("keeps the last graphs while the script does not compile", () => {
    FakeWorker.last.say({ type: "ready" });
    session.requestRun("good", [], DEFAULTS, "own");
    finish({ event: "captured", region }, finished);
    expect(session.graphsAreOld.value).toBe(false);
    session.requestRun("bad", [], DEFAULTS, "own");
    finish(raised);
    expect(session.graphsRun.value?.program).toBe("good");
    expect(session.graphsAreOld.value).toBe(true);
    session.requestRun("nothing compiled", [], DEFAULTS, "own");
    finish(finished);
    expect(session.graphsRun.value?.program).toBe("nothing compiled");
  });

  it("says when the module fails, and starts another", () => {
    FakeWorker.last.say({ type: "ready" });
    session.requestRun("trap", [], DEFAULTS, "own");
    FakeWorker.last.say({ type: "failed", message: "unreachable" });
    expect(session.shown.value?.outcome).toEqual({ kind: "stopped", why: "The interpreter failed: unreachable." });
    expect(FakeWorker.all).toHaveLength(2);
    expect(session.engine.value.state).toBe("starting");
  });

  it("does not start a module again that cannot start", () => {
    FakeWorker.last.say({ type: "failed", message: "no memory" });
    expect(session.engine.value).toEqual({ state: "failed", message: "no memory" });
    expect(FakeWorker.all).toHaveLength(1);
  });
});
