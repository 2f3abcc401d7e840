import { expect, it } from "vitest";
import type { GraphView } from "../src/generated/report";
import { labels } from "../src/report/labels";
import type { Unit } from "../src/report/stages";

const graph = (...inputs: [string, string?][]): GraphView =>
  ({ readable: "", nodes: inputs.map(([name, source], id) => ({ id, name, op: "placeholder", ...(source === undefined ? {} : { source }) })) }) as unknown as GraphView;

it("knows the inputs of every stage by what the script calls them", () => {
  const stages = {
    captured: graph(["l_self_modules_lin_parameters_weight_", "self.lin.weight"], ["l_x_", "x"]),
    joint: graph(["primals_1", "self.lin.weight"], ["primals_2", "x"], ["tangents_1"]),
    backward: graph(["primals_2", "x"], ["addmm"], ["tangents_1"]),
  };
  expect([...labels({ key: "c0", title: "f", stages, compilation: undefined } satisfies Unit)]).toEqual([
    ["l_self_modules_lin_parameters_weight_", "self.lin.weight"],
    ["l_x_", "x"],
    ["primals_1", "self.lin.weight"],
    ["primals_2", "x"],
  ]);
  expect(labels(undefined).size).toBe(0);
});
