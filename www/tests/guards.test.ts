import { expect, it, vi } from "vitest";
import { Interpreter } from "../src/engine/interpreter";
import { readSizes } from "../src/panes/guards/another-size";
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
