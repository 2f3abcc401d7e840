// Numbers and sizes for people.

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

export function formatSeconds(seconds: number): string {
  if (seconds < 1e-3) return `${(seconds * 1e6).toFixed(0)} µs`;
  if (seconds < 1) return `${(seconds * 1e3).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  return `${seconds.toFixed(1)} s`;
}

/** A difference: exact zero is said so. */
/** `1.24 GFLOP/s`. */
export function formatRate(perSecond: number, unit: string): string {
  const [size, prefix] = perSecond >= 1e12 ? [1e12, "T"] : perSecond >= 1e9 ? [1e9, "G"] : [1e6, "M"];
  return `${(perSecond / size).toPrecision(3)} ${prefix}${unit}`;
}

export function formatDifference(value: number | null): string {
  if (value === null) return "";
  return value === 0 ? "0" : value.toExponential(1);
}

/** `[8, 16]`. */
export function formatShape(shape: readonly (string | number)[] | null | undefined): string {
  return shape ? `[${shape.join(", ")}]` : "";
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
