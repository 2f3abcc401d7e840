import { beforeEach, describe, expect, it, vi } from "vitest";
import { Minimizer, type Smallest } from "../src/engine/minimizer";
import type { FromInterpreter, ToInterpreter } from "../src/engine/protocol";
import { FakeWorker } from "./fake-worker";

const task = { program: "a\nb\n", files: [], options: { backend: "aot_eager", check: false, pretend_cuda: false }, keep: "exception", limit: 10_000 };
let heard: (Smallest | string)[];
let minimizer: Minimizer;

const say = (...messages: FromInterpreter[]): void => messages.forEach((message) => FakeWorker.last.say(message));
const trying = (number: number): FromInterpreter => ({ type: "trying", ask: 0, number });
const shrunk = (text: string, tries: number, is_last = false): FromInterpreter => ({ type: "shrunk", ask: 0, text, statements: text.split("\n").length - 1, tries, is_last });
const asked = (): Extract<ToInterpreter, { type: "minimize" }> | undefined => {
  const last = FakeWorker.last.received.at(-1);
  return last?.type === "minimize" ? last : undefined;
};

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  FakeWorker.all = [];
  heard = [];
  minimizer = new Minimizer(Promise.resolve({} as WebAssembly.Module), () => new FakeWorker(), task, {
    onShrunk: (smallest) => heard.push(smallest),
    onEnd: () => heard.push("ended"),
    onRefused: (why) => heard.push(why),
  });
  await Promise.resolve();
  say({ type: "ready" });
});

describe("a search for the smallest script", () => {
  it("tells every smaller script until there is none", () => {
    expect(asked()).toMatchObject({ program: task.program, keep: "exception", lost: [] });
    say(trying(1), shrunk("a\nb\n", 0), trying(2), trying(3), shrunk("a\n", 2), shrunk("a\n", 3, true));
    expect(heard).toEqual([
      { text: "a\nb\n", statements: 2, tries: 0 },
      { text: "a\n", statements: 1, tries: 2 },
      { text: "a\n", statements: 1, tries: 3 },
      "ended",
    ]);
    expect(FakeWorker.last.terminated).toBe(true);
  });

  it("ends a script that does not end, and goes on with the smallest so far", () => {
    say(trying(1));
    vi.advanceTimersByTime(1000);
    say(shrunk("a\nb\n", 0), trying(2));
    vi.advanceTimersByTime(4900);
    expect(FakeWorker.all).toHaveLength(1);
    vi.advanceTimersByTime(200);
    expect(FakeWorker.all).toHaveLength(2);
    expect(FakeWorker.all[0]?.terminated).toBe(true);
    expect(asked()).toMatchObject({ program: "a\nb\n", lost: [1, 2] });
    say(trying(1), shrunk("a\nb\n", 0), trying(3), { type: "failed", message: "unreachable" });
    expect(FakeWorker.all).toHaveLength(3);
    say(trying(1), shrunk("a\nb\n", 0), trying(4), shrunk("b\n", 1, true));
    expect(heard.at(-2)).toEqual({ text: "b\n", statements: 1, tries: 3 });
    expect(heard.at(-1)).toBe("ended");
  });

  it("refuses what is not there, and a script that does not end", () => {
    say(trying(1), { type: "unanswered", ask: 0, message: "no exception ends the script" });
    expect(heard).toEqual(["no exception ends the script"]);
  });

  it("ends where the script itself does not end any more", () => {
    say(trying(1));
    vi.advanceTimersByTime(20_000);
    expect(heard).toEqual(["the script could not be run: it did not end"]);
  });

  it("says nothing after it was stopped", () => {
    say(trying(1), shrunk("a\nb\n", 0));
    minimizer.stop();
    vi.advanceTimersByTime(100_000);
    expect(heard).toHaveLength(1);
    expect(FakeWorker.all).toHaveLength(1);
  });
});
