// The elements of a tensor as text, each line after the index of its first one.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { indexOf } from "../../report/statistics";
import { formatElement, isWhole } from "../../report/tensor";
import { CodeView } from "../../ui/code-view";

/** Elements on a line, at most. */
const ACROSS = 8;
/** Elements that are written out, at most. */
const MOST = 400_000;

interface Props {
  numbers: Float64Array;
  shape: readonly number[];
  dtype: string;
}

/** Lines of elements: a line begins with the index of its first one. */
export function written(numbers: Float64Array, shape: readonly number[], dtype: string): string {
  const count = Math.min(numbers.length, MOST);
  const one = (value: number): string => (dtype === "bool" ? (value ? "True" : "False") : isWhole(dtype) ? String(value) : formatElement(value));
  const texts = Array.from(numbers.subarray(0, count), one);
  const width = texts.reduce((most, text) => Math.max(most, text.length), 0);
  const columns = Math.max(1, shape.at(-1) ?? 1);
  const digits = shape.map((size) => String(Math.max(0, size - 1)).length);
  const lines: string[] = [];
  for (let at = 0; at < count; ) {
    const index = indexOf(at, shape).map((i, dim) => String(i).padStart(digits[dim] ?? 1));
    const end = Math.min(at + ACROSS, at + columns - (at % columns), count);
    lines.push(`[${index.join(", ")}]  ${texts.slice(at, end).map((text) => text.padStart(width)).join("  ")}`);
    at = end;
  }
  if (count < numbers.length) lines.push(`… and ${(numbers.length - count).toLocaleString("en")} more`);
  return lines.join("\n");
}

export function NumbersView({ numbers, shape, dtype }: Props): JSX.Element {
  const text = useMemo(() => written(numbers, shape, dtype), [numbers]);
  return <CodeView class="numbers" text={text} label="Elements" />;
}
