import { describe, expect, it, vi } from "vitest";
import type { Compilation } from "../src/generated/report";
import { BACKWARD, FORWARD, MOST_SHOWN } from "../src/picture/groups";
import { layout, type Layout } from "../src/picture/layout";
import { drawPicture, type Picture } from "../src/picture/model";
import { inSteps } from "../src/picture/steps";
import { transformer } from "../../tests/e2e/lib/transformer.mjs";

/** A picture, however long it takes. */
function buildPicture(...of: Parameters<typeof drawPicture>): Picture | undefined {
  const steps = drawPicture(...of);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

function jointOf(blocks: number): Picture {
  const joint = transformer(blocks);
  const saved = joint.nodes.filter(({ name }) => /^(getitem|gelu|add|softmax)_/.test(name) && !name.endsWith("_backward"));
  const compilation = { saved: saved.map(({ name }) => ({ name })), partition: { recomputed: [] } } as unknown as Compilation;
  return buildPicture({ key: "c0", title: "f", stages: { joint }, compilation }, "joint")!;
}

const arrange = (picture: Picture, closed: Record<string, boolean> = {}): Layout => layout({ ...picture.input, closed });
const box = (made: Layout, item: number): [number, number, number, number] =>
  Array.from(made.boxes.subarray(4 * item, 4 * item + 4)) as [number, number, number, number];

/** Pairs of boxes that overlap although neither is around the other. */
function overlaps(made: Layout): string[] {
  const items = [...Array(made.boxes.length / 4).keys()].filter((item) => made.boxes[4 * item + 2]! > 0);
  const around = (outer: number, inner: number): boolean => {
    for (let at = made.parent[inner]!; at >= 0; at = made.parent[at]!) if (at === outer) return true;
    return false;
  };
  items.sort((a, b) => box(made, a)[1] - box(made, b)[1]);
  const found: string[] = [];
  items.forEach((a, index) => {
    const [ax, ay, aw, ah] = box(made, a);
    for (const b of items.slice(index + 1)) {
      const [bx, by, bw] = box(made, b);
      if (by >= ay + ah - 0.5) break;
      if (bx < ax + aw - 0.5 && ax < bx + bw - 0.5 && !around(a, b) && !around(b, a)) found.push(`${a} ${b}`);
    }
  });
  return found;
}

describe("a picture", () => {
  it("has no boxes that overlap, open or closed", () => {
    const picture = jointOf(6);
    expect(overlaps(arrange(picture))).toEqual([]);
    expect(overlaps(arrange(picture, { "layers.2": true, "layers.3.attn": true }))).toEqual([]);
    expect(overlaps(arrange(picture, { "*": true }))).toEqual([]);
  });

  it("keeps what is in a group inside its box", () => {
    const made = arrange(jointOf(3));
    for (let item = 0; item < made.parent.length; item += 1) {
      const outer = made.parent[item]!;
      if (outer < 0 || made.boxes[4 * item + 2] === 0) continue;
      const [x, y, w, h] = box(made, item);
      const [ox, oy, ow, oh] = box(made, outer);
      expect(x >= ox && y >= oy && x + w <= ox + ow + 0.01 && y + h <= oy + oh + 0.01).toBe(true);
    }
  });

  it("goes down in the forward and up in the backward, forward on the left", () => {
    const picture = jointOf(4);
    const made = arrange(picture);
    const { side } = picture.input;
    for (let at = 0; at < made.edges.length; at += 3) {
      const [from, to] = [made.edges[at]!, made.edges[at + 1]!];
      const [a, b] = [box(made, from), box(made, to)];
      if (side[from] === FORWARD && side[to] === FORWARD) expect(a[1] + a[3]).toBeLessThan(b[1] + 0.01);
      if (side[from] === BACKWARD && side[to] === BACKWARD) expect(b[1] + b[3]).toBeLessThan(a[1] + 0.01);
      if (side[from] === FORWARD && side[to] === BACKWARD) expect(a[0] + a[2]).toBeLessThan(b[0]);
    }
  });

  it("puts a module's forward and backward at one height", () => {
    const made = arrange(jointOf(3), { "*": true });
    const middles = new Map<string, number[]>();
    made.groups.forEach(({ path }, index) => {
      const [, y, , h] = box(made, made.nodes + index);
      middles.set(path, [...(middles.get(path) ?? []), y + h / 2]);
    });
    expect(middles.size).toBe(3);
    for (const [first, second] of middles.values()) expect(second).toBeCloseTo(first!, 1);
  });

  it("leads every wire from its source to its target without gaps", () => {
    const made = arrange(jointOf(3));
    const { wires } = made;
    for (let wire = 0; wire < wires.target.length; wire += 1) {
      const target = wires.target[wire]!;
      const points = wires.points.subarray(wires.start[wire], wires.start[wire + 1]);
      expect(points.length).toBeGreaterThanOrEqual(4);
      if (target < 0) continue;
      const [x, y, w, h] = box(made, target);
      const [endX, endY] = [points.at(-2)!, points.at(-1)!];
      expect(endX).toBeGreaterThanOrEqual(x - 0.5);
      expect(endX).toBeLessThanOrEqual(x + w + 0.5);
      expect(endY).toBeGreaterThanOrEqual(y - 0.5);
      expect(endY).toBeLessThanOrEqual(y + h + 0.5);
    }
  });

  it("is the same each time", () => {
    const [one, two] = [arrange(jointOf(5)), arrange(jointOf(5))];
    expect(Array.from(one.boxes)).toEqual(Array.from(two.boxes));
    expect(Array.from(one.wires.points)).toEqual(Array.from(two.wires.points));
  });

  it("grows with the graph and no faster", () => {
    // What is laid out and led round boxes, per block: the work is about linear in it.
    const size = (blocks: number): number => arrange(jointOf(blocks), { "*": false }).wires.points.length / blocks;
    expect(size(40)).toBeLessThan(1.5 * size(10));
  });

  it("closes modules of a large graph, and opens what is asked for", () => {
    const picture = jointOf(60);
    expect(picture.nodes.length).toBeGreaterThan(5000);
    const shown = (made: Layout): number => new Set(made.shown).size;
    expect(shown(arrange(picture))).toBeLessThan(MOST_SHOWN);
    expect(shown(arrange(picture, { "layers.7.attn": false }))).toBeGreaterThan(shown(arrange(picture)));
    expect(shown(arrange(picture, { "*": false }))).toBe(picture.nodes.length);
  }, 20_000);

  it("makes no cycle of a module that is called twice", () => {
    const joint = transformer(1);
    const calls = joint.nodes.filter(({ op, is_backward }) => op === "call_function" && !is_backward);
    calls.forEach((node, index) => (node.module_path = index % 8 < 4 ? "shared" : ""));
    const picture = buildPicture({ key: "c0", title: "f", stages: { captured: joint }, compilation: undefined }, "captured")!;
    const made = arrange(picture);
    expect(made.groups.filter(({ path }) => path === "shared").length).toBeGreaterThan(1);
    for (let at = 0; at < made.edges.length; at += 3) {
      expect(box(made, made.edges[at]!)[1]).toBeLessThan(box(made, made.edges[at + 1]!)[1]);
    }
  });

  it("shows a chip for each value saved, between its maker and its readers", () => {
    const picture = jointOf(2);
    const chip = picture.nodes.findIndex(({ shape, label }) => shape === "chip" && label === "gelu_b0");
    const made = arrange(picture);
    const maker = picture.byName.get("gelu_b0")![0]!;
    const reader = picture.byName.get("addmm_3_b0_backward")![0]!;
    expect(box(made, maker)[0]).toBeLessThan(box(made, chip)[0]);
    expect(box(made, chip)[0]).toBeLessThan(box(made, reader)[0]);
  });
});

describe("a long computation", () => {
  function* counting(steps: number): Generator<void, number> {
    for (let i = 0; i < steps; i += 1) yield;
    return steps;
  }

  it("is over at once where it is short", () => {
    let result: number | undefined;
    inSteps(counting(3), (value) => (result = value));
    expect(result).toBe(3);
  });

  it("lets others have their turn, and can be ended", () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    // Every step takes five milliseconds.
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    function* slow(): Generator<void, string> {
      for (let i = 0; i < 6; i += 1) {
        now += 5;
        yield;
      }
      return "done";
    }
    const results: string[] = [];
    inSteps(slow(), (value) => results.push(value));
    const end = inSteps(slow(), (value) => results.push(value));
    expect(results).toEqual([]);
    end();
    vi.runAllTimers();
    expect(results).toEqual(["done"]);
    clock.mockRestore();
    vi.useRealTimers();
  });
});
