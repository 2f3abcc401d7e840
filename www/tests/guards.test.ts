import { expect, it, vi } from "vitest";
import { Interpreter } from "../src/engine/interpreter";
import { fieldsOf, readSizes } from "../src/panes/guards/another-size";
import { FakeWorker } from "./fake-worker";

it.each([
  ["8, 4", [8, 4]],
  ["[8,4]", [8, 4]],
  ["(8 4)", [8, 4]],
  ["2x3", [2, 3]],
  ["[]", []],
  ["", []],
  ["-1", undefined],
  ["8, a", undefined],
  ["1e3", undefined],
])("reads the sizes %j", (text, sizes) => {
  expect(readSizes(text)).toEqual(sizes);
});

it("answers questions about sizes, and refuses them when the worker ends", async () => {
  const interpreter = new Interpreter(Promise.resolve({} as WebAssembly.Module), () => new FakeWorker(), vi.fn(), vi.fn());
  await Promise.resolve();
  const answer = { entries: [], recompile: null };
  const first = interpreter.whatIf([], 0, []);
  const second = interpreter.whatIf([], 1, []);
  const third = interpreter.whatIf([], 2, []);
  expect(FakeWorker.last.received.map((message) => message.type)).toEqual(["init", "ask", "ask", "ask"]);
  FakeWorker.last.say({ type: "unanswered", ask: 2, message: "a negative size" });
  FakeWorker.last.say({ type: "answer", ask: 1, answer });
  await expect(first).resolves.toEqual(answer);
  await expect(second).rejects.toThrow("a negative size");
  interpreter.stop();
  await expect(third).rejects.toThrow("started anew");
});

it("offers the last call's sizes and every constant that a guard asks for", () => {
  const fact = (source: string, value: string | null) => ({ source, text: "", value, span: null });
  const input = (source: string, is_static: boolean) => ({ source, is_static, dtype: "float32", requires_grad: false, sizes: ["8"], strides: ["1"], real_sizes: [8], real_strides: [1], numbers: [], marks: [] });
  const entry = (facts: ReturnType<typeof fact>[]) => ({ frame: 0, dynamic: null, inputs: [input("L['x']", false), input("L['self'].weight", true)], symbols: [{ name: "s1", source: "L['k']", value: 4, lower: null, upper: null }], conditions: [], facts, limit: 8 });
  const region = (id: number, facts: ReturnType<typeof fact>[]) => ({ id, function: "f", graph: { readable: "", nodes: [] }, guards: [], span: null, entry: entry(facts) });
  const regions = [region(0, [fact("L['self'].step", "1"), fact("L['mode']", "'a'")]), region(1, [fact("L['self'].step", "2"), fact("L['self']", null)])];
  const call = { frame: 0, region: 1, inputs: [{ source: "L['x']", sizes: [12] }], values: [{ source: "L['self'].step", value: "2" }, { source: "L['k']", value: "9" }], unmet: [] };
  const found = fieldsOf({ frame: 0, regions, last: regions[1]!.entry, call });
  expect(found.tensors).toEqual([{ source: "L['x']", initial: "12", dtype: "float32" }]);
  expect(found.values).toEqual([{ source: "L['self'].step", initial: "2" }, { source: "L['k']", initial: "9" }, { source: "L['mode']", initial: "'a'" }]);
});
