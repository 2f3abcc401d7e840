// Graphs that are compared line by line: which stages two compilations have, and where one begins.
import { expect, it } from "vitest";
import type { Compilation, LogCompilation } from "../src/generated/report";
import { firstOther, stagesOfBoth, textsIn } from "../src/report/texts";

const graph = (readable: string) => ({ readable, nodes: [] });
const of = (more: object): Compilation => ({ id: 0, region: null, kind: "joint", prologue: "", epilogue: "", seq_nr: [], ...more }) as unknown as Compilation;

it("has a text per stage, the log's own after the usual ones", () => {
  const texts = textsIn(of({ joint: graph("j"), forward: graph("f"), backward: null, stages: [{ name: "before_post_grad_graph", readable: "p", nodes: [] }] }) as LogCompilation, "c");
  expect([...texts]).toEqual([
    ["Captured", "c"],
    ["Joint", "j"],
    ["Forward", "f"],
    ["before_post_grad_graph", "p"],
  ]);
});

it("begins with the first stage that is not the same in both", () => {
  const one = textsIn(of({ joint: graph("j"), forward: graph("f") }), undefined);
  const other = textsIn(of({ joint: graph("j"), forward: graph("g"), backward: graph("b") }), "c");
  expect(stagesOfBoth(one, other)).toEqual(["Joint", "Forward"]);
  expect(firstOther(one, other)).toBe("Forward");
  expect(firstOther(one, one)).toBe("Joint");
  expect(firstOther(one, new Map())).toBeUndefined();
});
