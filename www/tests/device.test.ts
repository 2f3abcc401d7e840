import { beforeEach, expect, it, vi } from "vitest";
import type { Bundle, Event } from "../src/generated/report";
import type { ModuleSource, Progress } from "../src/engine/module";
import { emptyReport, fold } from "../src/report/fold";
import { EMPTY } from "../src/report/timeline";

let device: typeof import("../src/state/gpu");
let training: typeof import("../src/state/training");
let progress: (progress: Progress) => void;

const empty = { readable: "", nodes: [] };
const compiled: Event = { event: "compiled", compilation: { id: 0, region: null, kind: "joint", joint: empty, prologue: "", epilogue: "", seq_nr: [] } };
const ran = (part: string): Event => ({ event: "ran", run: { compilation: 0, part } });
const bundle = { version: 1, compilation: 0, inputs: [], parameters: [], drawn: [], backward: {} } as unknown as Bundle;

/** A page that shows a run, with a module that never arrives. */
async function show(events: readonly Event[], bundles: ReadonlyMap<number, Bundle>): Promise<void> {
  const session = await import("../src/state/session");
  session.shown.value = { program: "", report: fold(emptyReport(), events), printed: [], bundles, timeline: EMPTY, outcome: { kind: "finished" }, elapsed: 0, took: 0 };
}

beforeEach(async () => {
  vi.resetModules();
  device = await import("../src/state/gpu");
  training = await import("../src/state/training");
  const get = (tell: (progress: Progress) => void): Promise<WebAssembly.Module> => {
    progress = tell;
    return new Promise(() => {});
  };
  device.prepareGpu({ get } as unknown as ModuleSource, () => ({}) as Worker);
  await show([compiled, ran("forward"), ran("backward")], new Map([[0, bundle]]));
});

it("a run that was cancelled while its module loads does not go on when more of it arrives", async () => {
  const run = device.runOnDevice();
  await vi.waitFor(() => expect(progress).toBeDefined());
  progress({ loaded: 1, total: 9 });
  expect(device.attempt.value).toEqual({ state: "loading", progress: { loaded: 1, total: 9 } });
  device.cancelOnDevice();
  await run;
  progress({ loaded: 2, total: 9 });
  expect(device.attempt.value).toEqual({ state: "failed", message: "Cancelled." });
});

it("nothing is trained while a run goes on, and training can be begun afterwards", async () => {
  const run = device.runOnDevice();
  await training.train();
  expect(training.descent.value).toBeUndefined();
  device.cancelOnDevice();
  await run;
  void training.train();
  expect(training.descent.value?.phase).toBe("building");
});

it("says why nothing can be run", async () => {
  expect(device.whyNotRun.value).toBeUndefined();
  const forward = { ...bundle, backward: null };
  await show([compiled, ran("forward")], new Map([[0, forward]]));
  expect(device.whyNotRun.value).toBe("The script has run no backward of it.");
  await show([compiled], new Map());
  expect(device.whyNotRun.value).toBe("Runs once the script has called a compiled function.");
  await show([compiled, ran("forward"), ran("backward")], new Map());
  expect(device.whyNotRun.value).toMatch(/tensor subclasses/);
});
