// @vitest-environment node
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Gpu, LONGEST_SILENCE } from "../src/engine/gpu";
import type { ModuleSource } from "../src/engine/module";
import type { FromGpu, ToGpu } from "../src/engine/protocol";
import type { Bundle, Recipe, RunResult, TensorData, Training } from "../src/generated/report";

class FakeGpuWorker {
  readonly received: ToGpu[] = [];
  terminated = false;
  onmessage: ((event: { data: FromGpu }) => void) | null = null;
  postMessage(message: ToGpu): void {
    this.received.push(message);
  }
  terminate(): void {
    this.terminated = true;
  }
  say(message: FromGpu): void {
    this.onmessage?.({ data: message });
  }
  /** The number of the last request, once it has arrived. */
  async run(type: ToGpu["type"]): Promise<number> {
    await vi.waitFor(() => expect(this.received.at(-1)?.type).toBe(type));
    const last = this.received.at(-1);
    return last && "run" in last ? last.run : -1;
  }
}

const bundle = {} as Bundle;
const recipe = { parameters: [], loss: null, lr: 0.1, momentum: 0 } as Recipe;
const result = { version: 1 } as RunResult;
let workers: FakeGpuWorker[];
let gpu: Gpu;

beforeEach(() => {
  workers = [];
  const source = { get: () => Promise.resolve({} as WebAssembly.Module) } as unknown as ModuleSource;
  gpu = new Gpu(source, () => {
    workers.push(new FakeGpuWorker());
    return workers.at(-1) as unknown as Worker;
  });
});

afterEach(() => void vi.useRealTimers());

async function worker(): Promise<FakeGpuWorker> {
  await vi.waitFor(() => expect(workers).not.toHaveLength(0));
  return workers.at(-1) as FakeGpuWorker;
}

it("gives a run's result, and refuses a second one meanwhile", async () => {
  const first = gpu.run(bundle, "webgpu", () => {});
  const run = await (await worker()).run("run");
  await expect(gpu.run(bundle, "cpu", () => {})).rejects.toThrow("still going on");
  workers[0]?.say({ type: "result", run: run + 7, result });
  workers[0]?.say({ type: "result", run, result });
  await expect(first).resolves.toBe(result);
  expect(workers).toHaveLength(1);
});

it("can be cancelled: the run is told, and the next has another worker", async () => {
  const first = gpu.run(bundle, "webgpu", () => {});
  await (await worker()).run("run");
  gpu.cancel("Cancelled.");
  await expect(first).rejects.toThrow("Cancelled.");
  await vi.waitFor(() => expect(workers[0]?.terminated).toBe(true));
  const second = gpu.run(bundle, "webgpu", () => {});
  await vi.waitFor(() => expect(workers).toHaveLength(2));
  const run = await workers[1]!.run("run");
  workers[1]?.say({ type: "result", run, result });
  await expect(second).resolves.toBe(result);
});

it("can be cancelled while its module is fetched", async () => {
  let arrive: (module: WebAssembly.Module) => void = () => {};
  const source = { get: () => new Promise((resolve) => (arrive = resolve)) } as unknown as ModuleSource;
  const slow = new Gpu(source, () => {
    workers.push(new FakeGpuWorker());
    return workers.at(-1) as unknown as Worker;
  });
  const first = slow.run(bundle, "webgpu", () => {});
  slow.cancel("Cancelled.");
  await expect(first).rejects.toThrow("Cancelled.");
  arrive({} as WebAssembly.Module);
  await vi.waitFor(() => expect(workers[0]?.terminated).toBe(true));
  expect(workers[0]?.received.map(({ type }) => type)).not.toContain("run");
  const second = slow.run(bundle, "webgpu", () => {});
  arrive({} as WebAssembly.Module);
  await vi.waitFor(() => expect(workers).toHaveLength(2));
  workers[1]?.say({ type: "result", run: await workers[1].run("run"), result });
  await expect(second).resolves.toBe(result);
});

it("ends what the device does not answer, and only that", async () => {
  const trained = gpu.train({ bundle, recipe, device: "webgpu", steps: 3 }, { onReady() {}, onLosses() {} }, () => {});
  const run = await (await worker()).run("train");
  vi.useFakeTimers();
  for (let steps = 0; steps < 3; steps++) {
    workers[0]?.say({ type: "losses", run, losses: [1], seconds: 1 });
    vi.advanceTimersByTime((LONGEST_SILENCE - 1) * 1000);
  }
  expect(workers[0]?.terminated).toBe(false);
  vi.advanceTimersByTime(1000);
  await expect(trained).rejects.toThrow("has not answered for 60 seconds");
  expect(workers[0]?.terminated).toBe(true);
});

it("names the node that a refusal concerns, once", async () => {
  for (const message of ["no such operator", "addmm: no such operator"]) {
    const refused = gpu.run(bundle, "webgpu", () => {});
    const run = await (await worker()).run("run");
    workers[0]?.say({ type: "refused", run, message, node: "addmm" });
    await expect(refused).rejects.toThrow(/^addmm: no such operator$/);
  }
});

it("hears of training as it goes on, and can pause it", async () => {
  const onReady = vi.fn();
  const onLosses = vi.fn();
  const trained = gpu.train({ bundle, recipe, device: "webgpu", steps: 3 }, { onReady, onLosses }, () => {});
  const fake = await worker();
  const run = await fake.run("train");
  fake.say({ type: "training", run, training: { loss: "mean" } as Training });
  fake.say({ type: "losses", run, losses: [3, 2], seconds: 0.5 });
  gpu.adjust(0.01);
  gpu.pause();
  await vi.waitFor(() => expect(fake.received.slice(-2)).toEqual([{ type: "adjust", lr: 0.01 }, { type: "pause" }]));
  fake.say({ type: "trained", run, parameters: [] });
  await expect(trained).resolves.toEqual([]);
  expect(onReady).toHaveBeenCalledWith({ loss: "mean" });
  expect(onLosses).toHaveBeenCalledWith([3, 2], 0.5);
  const more = gpu.continue(5, 0.1, { onReady, onLosses });
  fake.say({ type: "trained", run: await fake.run("continue"), parameters: [] });
  await expect(more).resolves.toEqual([]);
});

it("starts anew after the instance has failed", async () => {
  const lost = gpu.run(bundle, "webgpu", () => {});
  const first = await worker();
  await first.run("run");
  first.say({ type: "failed", message: "unreachable" });
  await expect(lost).rejects.toThrow("unreachable");
  await vi.waitFor(() => expect(first.terminated).toBe(true));
  const again = gpu.run(bundle, "webgpu", () => {});
  await vi.waitFor(() => expect(workers).toHaveLength(2));
  const second = workers[1] as FakeGpuWorker;
  second.say({ type: "result", run: await second.run("run"), result });
  await expect(again).resolves.toBe(result);
});

it("prints tensors, and says when the worker fails meanwhile", async () => {
  const tensor = {} as TensorData;
  await expect(gpu.print(tensor)).rejects.toThrow("no run");
  const running = gpu.run(bundle, "webgpu", () => {});
  const fake = await worker();
  const run = await fake.run("run");
  const asked = async (): Promise<number> => {
    await fake.run("print");
    const last = fake.received.at(-1);
    return last?.type === "print" ? last.ask : -1;
  };
  const printed = gpu.print(tensor);
  fake.say({ type: "printed", ask: await asked(), text: "tensor(1.)" });
  await expect(printed).resolves.toBe("tensor(1.)");
  fake.say({ type: "result", run, result });
  await running;
  const lost = [gpu.print(tensor), gpu.print(tensor)];
  await vi.waitFor(() => expect(fake.received.filter(({ type }) => type === "print")).toHaveLength(3));
  fake.say({ type: "failed", message: "unreachable" });
  for (const promise of lost) await expect(promise).rejects.toThrow("unreachable");
  await expect(gpu.print(tensor)).rejects.toThrow("no run");
});
