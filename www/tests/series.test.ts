import { describe, expect, it } from "vitest";
import { findSeries } from "../src/report/series";

const lines = (count: number, line: (index: number) => string): string => Array.from({ length: count }, (_, index) => line(index)).join("\n");

describe("printed numbers", () => {
  it("of a training loop are series over its steps", () => {
    const [series] = findSeries(lines(5, (i) => `step ${i * 10}  loss ${(1 / (i + 1)).toFixed(3)}  accuracy ${0.5 + i / 10}`));
    expect(series?.x).toEqual({ label: "step", values: [0, 10, 20, 30, 40] });
    expect(series?.columns.map(({ label }) => label)).toEqual(["loss", "accuracy"]);
    expect(series?.columns[0]?.values).toEqual([1, 0.5, 0.333, 0.25, 0.2]);
  });

  it.each([
    ["epoch 1/9: loss=2.5e-1 acc=91%", (i: number) => `epoch ${i + 1}/9: loss=${9 - i}.5e-1 acc=${80 + i}%`, "epoch", ["loss", "acc"]],
    ["a bare number", (i: number) => `${2.5 - i}`, "line", ["number 1"]],
    ["[epoch 1] loss: 3", (i: number) => `[epoch ${i}] loss: ${3 - i}`, "epoch", ["loss"]],
    ["layer1.weight 0.5", (i: number) => `layer1.weight ${i * 0.5}`, "line", ["layer1.weight"]],
    ["-1 and nan", (i: number) => `loss ${i === 2 ? "nan" : -i}`, "line", ["loss"]],
  ])("of the form %s are found", (_name, line, x, labels) => {
    const [series] = findSeries(lines(4, line));
    expect(series?.x.label).toBe(x);
    expect(series?.columns.map(({ label }) => label)).toEqual(labels);
  });

  it("of several forms are told apart, the most frequent first", () => {
    const all = findSeries(lines(8, (i) => (i % 4 === 3 ? `validation ${i * 2}` : `loss ${1 / (i + 1)}`)) + "\nvalidation 9");
    expect(all.map(({ title }) => title)).toEqual(["loss …", "validation …"]);
  });

  it("that never change, or that come once or twice, are none", () => {
    expect(findSeries("loss 1\nloss 1\nloss 1\nloss 1")).toEqual([]);
    expect(findSeries("loss 1\nloss 2")).toEqual([]);
    expect(findSeries("no numbers\nat all\n")).toEqual([]);
  });

  it("of a printed tensor are none", () => {
    const row = lines(20, (i) => String(i / 3)).replaceAll("\n", ", ");
    expect(findSeries(lines(5, () => row))).toEqual([]);
  });
});
