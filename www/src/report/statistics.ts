// What many numbers come to: extremes, mean, a histogram, a picture of them in cells.

export interface Statistics {
  count: number;
  /** Of the finite ones; NaN where there is none. */
  min: number;
  max: number;
  mean: number;
  /** Standard deviation of the finite ones, without Bessel's correction. */
  deviation: number;
  nan: number;
  infinite: number;
  zero: number;
}

export function statistics(values: Float64Array): Statistics {
  let [min, max, mean, squares, finite, nan, infinite, zero] = [Infinity, -Infinity, 0, 0, 0, 0, 0, 0];
  for (const value of values) {
    if (Number.isNaN(value)) nan += 1;
    else if (!Number.isFinite(value)) infinite += 1;
    else {
      finite += 1;
      if (value === 0) zero += 1;
      if (value < min) min = value;
      if (value > max) max = value;
      // Welford's way: no sum grows large.
      const difference = value - mean;
      mean += difference / finite;
      squares += difference * (value - mean);
    }
  }
  const none = finite === 0;
  return {
    count: values.length,
    min: none ? NaN : min,
    max: none ? NaN : max,
    mean: none ? NaN : mean,
    deviation: none ? NaN : Math.sqrt(squares / finite),
    nan,
    infinite,
    zero,
  };
}

export interface Histogram {
  from: number;
  to: number;
  counts: number[];
}

/** Finite values by size, in `bins` equal steps from the least to the greatest; a single value gets one bin. */
export function histogram(values: Float64Array, bins: number): Histogram {
  const { min, max } = statistics(values);
  if (Number.isNaN(min)) return { from: 0, to: 0, counts: [] };
  const counts = new Array<number>(min === max ? 1 : bins).fill(0);
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    const at = min === max ? 0 : Math.min(bins - 1, Math.floor(((value - min) / (max - min)) * bins));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return { from: min, to: max, counts };
}

/** Rows and columns that a tensor's elements are shown in: the last dimension across, all others down. */
export function grid(shape: readonly number[]): { rows: number; columns: number } {
  const columns = shape.at(-1) ?? 1;
  const rows = shape.slice(0, -1).reduce((product, size) => product * size, 1);
  // A vector in a single row would be a line: it is folded into a block.
  if (rows === 1 && columns > 64) {
    const width = Math.ceil(Math.sqrt(columns));
    return { rows: Math.ceil(columns / width), columns: width };
  }
  return { rows, columns };
}

export interface Cells {
  rows: number;
  columns: number;
  /** Row by row; NaN where a cell has no element or one of its elements is NaN. */
  values: Float64Array;
  /** Elements that a cell stands for, down and across. */
  step: { rows: number; columns: number };
}

/** Elements as cells, at most `most` each way: where several share a cell, the one farthest from zero speaks for them. */
export function cells(values: Float64Array, shape: readonly number[], most: number): Cells {
  const { rows, columns } = grid(shape);
  const step = { rows: Math.max(1, Math.ceil(rows / most)), columns: Math.max(1, Math.ceil(columns / most)) };
  const size = { rows: Math.ceil(rows / step.rows), columns: Math.ceil(columns / step.columns) };
  const out = new Float64Array(size.rows * size.columns).fill(NaN);
  const seen = new Uint8Array(out.length);
  for (let i = 0; i < values.length; i += 1) {
    const row = Math.floor(i / columns);
    const cell = Math.floor(row / step.rows) * size.columns + Math.floor((i - row * columns) / step.columns);
    const value = values[i] ?? NaN;
    const before = out[cell] ?? NaN;
    if (!seen[cell] || Number.isNaN(value) || (!Number.isNaN(before) && Math.abs(value) > Math.abs(before))) out[cell] = value;
    seen[cell] = 1;
  }
  return { ...size, values: out, step };
}

/** The index of an element, given its place in row-major order. */
export function indexOf(place: number, shape: readonly number[]): number[] {
  const index: number[] = [];
  let rest = place;
  for (const size of shape.toReversed()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return index;
}
