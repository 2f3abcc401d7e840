import { expect, it } from "vitest";
import { grouped, type Grouping, markdown, type Placed } from "../src/report/grouping";

const value = (name: string, module: string, line: number | undefined, bytes: number | undefined, type = "float32[4]"): Placed => ({ name, module, line, bytes, type });

const VALUES = [
  value("primals_1", "", undefined, 8),
  value("addmm", "blocks.0.mlp", 28, 16),
  value("gelu", "blocks.0.mlp", 29, 16),
  value("addmm_1", "blocks.1.mlp", 28, 16),
  value("gelu_1", "blocks.1.mlp", 29, 16),
  value("addmm_2", "blocks.2.mlp", 28, 32, "float32[8]"),
  value("s0", "", undefined, undefined, "SymInt"),
];

const told = (by: Exclude<Grouping, "none">): string[] => grouped(VALUES, by).map(({ title, times, bytes, items }) => `${title} x${times}: ${bytes}: ${items.map(({ name }) => name).join(" ")}`);

it("groups values by the line that made them", () => {
  expect(told("line")).toEqual([
    "no line: inputs and sizes x1: 8: primals_1 s0",
    "line 28 x1: 64: addmm addmm_1 addmm_2",
    "line 29 x1: 32: gelu gelu_1",
  ]);
});

it("folds layers that hold the same, and no others", () => {
  expect(told("module")).toEqual([
    "no module x1: 8: primals_1 s0",
    "blocks.*.mlp x2: 64: addmm gelu addmm_1 gelu_1",
    "blocks.2.mlp x1: 32: addmm_2",
  ]);
});

it("writes a table that Markdown reads", () => {
  expect(markdown(["Value", "Why"], [["a", "b | c\nd"]])).toBe("| Value | Why |\n| --- | --- |\n| a | b \\| c d |\n");
});
