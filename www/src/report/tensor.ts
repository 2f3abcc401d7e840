// Tensors as plain data, for people: their elements in order, and the first of them in nested brackets.
import type { TensorData, Value } from "../generated/report";

type Element = number | bigint | boolean;

const READERS: Record<string, { size: number; read(view: DataView, at: number): Element }> = {
  float32: { size: 4, read: (view, at) => view.getFloat32(at, true) },
  float64: { size: 8, read: (view, at) => view.getFloat64(at, true) },
  float16: { size: 2, read: (view, at) => half(view.getUint16(at, true)) },
  bfloat16: { size: 2, read: (view, at) => bfloat(view.getUint16(at, true)) },
  int64: { size: 8, read: (view, at) => view.getBigInt64(at, true) },
  int32: { size: 4, read: (view, at) => view.getInt32(at, true) },
  int16: { size: 2, read: (view, at) => view.getInt16(at, true) },
  int8: { size: 1, read: (view, at) => view.getInt8(at) },
  uint8: { size: 1, read: (view, at) => view.getUint8(at) },
  bool: { size: 1, read: (view, at) => view.getUint8(at) !== 0 },
};

/** Five bits of exponent, ten of fraction. */
function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

const word = new DataView(new ArrayBuffer(4));

/** The upper half of a float32. */
function bfloat(bits: number): number {
  word.setUint32(0, bits << 16);
  return word.getFloat32(0);
}

/** How many elements of each dimension a preview shows. */
const SHOWN = 4;

/** The first elements of a tensor, or the value itself. */
export function preview(value: Value): string {
  switch (value.kind) {
    case "none":
      return "None";
    case "tensor":
      return previewTensor(value.tensor);
    case "bool":
      return value.value ? "True" : "False";
    default:
      return String(value.value);
  }
}

function previewTensor({ dtype, shape, stride, bytes }: TensorData): string {
  const reader = READERS[dtype];
  if (!reader) return "…";
  const view = viewOf(bytes);
  const show = (dim: number, element: number): string => {
    const size = shape[dim];
    if (size === undefined) {
      const at = element * reader.size;
      return at + reader.size <= view.byteLength ? formatElement(reader.read(view, at)) : "?";
    }
    // A single row of an outer dimension is enough to see what kind of numbers these are.
    const count = Math.min(size, dim === shape.length - 1 ? SHOWN : 1);
    const items = Array.from({ length: count }, (_, index) => show(dim + 1, element + index * (stride[dim] ?? 0)));
    return `[${items.join(", ")}${count < size ? ", …" : ""}]`;
  };
  return show(0, 0);
}

/** As PyTorch prints a single number, with four digits. */
export function formatElement(value: Element): string {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "bigint" || Number.isNaN(value) || !Number.isFinite(value)) return String(value).replace("Infinity", "inf").replace("NaN", "nan");
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e5 || size < 1e-4) ? value.toExponential(2) : value.toFixed(4);
}

export function describe(value: Value): { dtype: string; shape: number[] } | undefined {
  return value.kind === "tensor" ? { dtype: value.tensor.dtype, shape: value.tensor.shape } : undefined;
}

/** The elements in row-major order, as numbers (a large int64 is rounded); `undefined` for a dtype that is not read here. */
export function elements({ dtype, shape, stride, bytes }: TensorData): Float64Array | undefined {
  const reader = READERS[dtype];
  if (!reader) return undefined;
  const view = viewOf(bytes);
  const count = shape.reduce((product, size) => product * size, 1);
  const out = new Float64Array(count);
  if (count === 0) return out;
  const index = new Array<number>(shape.length).fill(0);
  let at = 0;
  for (let i = 0; i < count; i += 1) {
    out[i] = Number(reader.read(view, at * reader.size));
    // The next index: the last dimension runs fastest.
    for (let dim = shape.length - 1; dim >= 0; dim -= 1) {
      const size = shape[dim] ?? 1;
      const step = stride[dim] ?? 0;
      index[dim] = (index[dim] ?? 0) + 1;
      at += step;
      if ((index[dim] ?? 0) < size) break;
      at -= size * step;
      index[dim] = 0;
    }
  }
  return out;
}

/** A number of a tensor of that dtype; nothing where there is none. */
export function formatNumber(value: number, dtype: string): string {
  if (Number.isNaN(value)) return "";
  return isWhole(dtype) ? String(value) : formatElement(value);
}

/** Whether a dtype holds whole numbers or truths. */
export function isWhole(dtype: string): boolean {
  return /^(u?int|bool)/.test(dtype);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
