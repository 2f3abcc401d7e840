// @vitest-environment node
import { expect, it } from "vitest";
import type { TensorData } from "../src/generated/report";
import { drawn } from "../src/panes/run/losses";
import { cells, grid, histogram, indexOf, statistics } from "../src/report/statistics";
import { elements } from "../src/report/tensor";

function tensor(dtype: string, shape: number[], stride: number[], data: ArrayBufferView): TensorData {
  return { dtype, shape, stride, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) };
}

it.each<[number[], TensorData]>([
  [[0, 2, 1, 3], tensor("float32", [2, 2], [1, 2], new Float32Array([0, 1, 2, 3]))],
  [[5, 5, 5, 5], tensor("int64", [2, 2], [0, 0], new BigInt64Array([5n]))],
  [[1, 2, 1, 2], tensor("float64", [2, 2], [0, 1], new Float64Array([1, 2]))],
  [[1, 0], tensor("bool", [2], [1], new Uint8Array([1, 0]))],
  [[1, -2, 65504, 2 ** -24], tensor("float16", [4], [1], new Uint16Array([0x3c00, 0xc000, 0x7bff, 1]))],
  [[1, -3.140625], tensor("bfloat16", [2], [1], new Uint16Array([0x3f80, 0xc049]))],
  [[7], tensor("int32", [], [], new Int32Array([7]))],
  [[], tensor("float32", [0, 3], [3, 1], new Float32Array([]))],
])("reads %j", (expected, data) => {
  expect([...(elements(data) ?? [])]).toEqual(expected);
});

it("leaves NaN and infinities out of extremes and mean, and counts them", () => {
  expect(statistics(Float64Array.of(1, NaN, 3, -Infinity, 0, 0))).toEqual({
    count: 6,
    min: 0,
    max: 3,
    mean: 1,
    deviation: Math.sqrt(1.5),
    nan: 1,
    infinite: 1,
    zero: 2,
  });
  expect(statistics(Float64Array.of(NaN)).mean).toBeNaN();
});

it("counts values by size", () => {
  expect(histogram(Float64Array.of(0, 1, 2, 3, 4, NaN, Infinity), 4)).toEqual({ from: 0, to: 4, counts: [1, 1, 1, 2] });
  expect(histogram(Float64Array.of(2, 2), 8)).toEqual({ from: 2, to: 2, counts: [2] });
  expect(histogram(Float64Array.of(), 8).counts).toEqual([]);
});

it("shows the last dimension across, and folds a long vector", () => {
  expect(grid([2, 3, 4])).toEqual({ rows: 6, columns: 4 });
  expect(grid([])).toEqual({ rows: 1, columns: 1 });
  expect(grid([100])).toEqual({ rows: 10, columns: 10 });
});

it("lets the value farthest from zero speak for a cell", () => {
  const values = Float64Array.of(1, -5, 2, 3, 0, 0, NaN, 9);
  expect(cells(values, [2, 4], 2)).toEqual({ rows: 2, columns: 2, values: Float64Array.of(-5, 3, 0, NaN), step: { rows: 1, columns: 2 } });
  expect([...cells(Float64Array.from({ length: 65 }, () => 1), [65], 100).values].filter(Number.isNaN)).toHaveLength(7);
});

it("finds an element's index", () => {
  expect(indexOf(23, [2, 3, 4])).toEqual([1, 2, 3]);
  expect(indexOf(0, [])).toEqual([]);
});

it("draws some of many steps, the last among them", () => {
  expect(drawn(0)).toEqual([]);
  expect(drawn(3)).toEqual([1, 2, 3]);
  expect(drawn(10, 4)).toEqual([1, 4, 7, 10]);
  expect(drawn(12, 4)).toEqual([1, 4, 7, 10, 12]);
});
