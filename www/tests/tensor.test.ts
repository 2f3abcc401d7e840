// @vitest-environment node
import { expect, it } from "vitest";
import type { Value } from "../src/generated/report";
import { formatBytes, formatSeconds } from "../src/report/format";
import { preview } from "../src/report/tensor";

function tensor(dtype: string, shape: number[], stride: number[], data: ArrayBufferView): Value {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return { kind: "tensor", tensor: { dtype, shape, stride, bytes } };
}

it.each<[string, Value]>([
  ["[1.0000, 2.5000]", tensor("float32", [2], [1], new Float32Array([1, 2.5]))],
  ["[[0.0000, 2.0000], …]", tensor("float64", [2, 2], [1, 2], new Float64Array([0, 1, 2, 3]))],
  ["[[7.0000, 7.0000, 7.0000, 7.0000, …], …]", tensor("float32", [3, 5], [0, 0], new Float32Array([7]))],
  ["3", tensor("int64", [], [], new BigInt64Array([3n]))],
  ["[True, False]", tensor("bool", [2], [1], new Uint8Array([1, 0]))],
  ["[nan, -inf, 1.00e-9]", tensor("float32", [3], [1], new Float32Array([NaN, -Infinity, 1e-9]))],
  ["[]", tensor("float32", [0], [1], new Float32Array([]))],
  ["None", { kind: "none" }],
])("previews %s", (text, value) => {
  expect(preview(value)).toBe(text);
});

it("formats sizes and times", () => {
  expect([7, 7168, 3 << 20].map(formatBytes)).toEqual(["7 B", "7.0 KiB", "3.0 MiB"]);
  expect([2e-6, 2.5e-3, 0.03, 10].map(formatSeconds)).toEqual(["2 µs", "2.5 ms", "30 ms", "10.0 s"]);
});
