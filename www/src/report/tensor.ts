// Tensors as plain data, for people: the first elements, in nested brackets.
import type { TensorData, Value } from "../generated/report";

const READERS: Record<string, { size: number; read(view: DataView, at: number): number | bigint | boolean }> = {
  float32: { size: 4, read: (view, at) => view.getFloat32(at, true) },
  float64: { size: 8, read: (view, at) => view.getFloat64(at, true) },
  int64: { size: 8, read: (view, at) => view.getBigInt64(at, true) },
  int32: { size: 4, read: (view, at) => view.getInt32(at, true) },
  int16: { size: 2, read: (view, at) => view.getInt16(at, true) },
  int8: { size: 1, read: (view, at) => view.getInt8(at) },
  uint8: { size: 1, read: (view, at) => view.getUint8(at) },
  bool: { size: 1, read: (view, at) => view.getUint8(at) !== 0 },
};

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
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const show = (dim: number, element: number): string => {
    const size = shape[dim];
    if (size === undefined) {
      const at = element * reader.size;
      return at + reader.size <= view.byteLength ? number(reader.read(view, at)) : "?";
    }
    // A single row of an outer dimension is enough to see what kind of numbers these are.
    const count = Math.min(size, dim === shape.length - 1 ? SHOWN : 1);
    const items = Array.from({ length: count }, (_, index) => show(dim + 1, element + index * (stride[dim] ?? 0)));
    return `[${items.join(", ")}${count < size ? ", …" : ""}]`;
  };
  return show(0, 0);
}

function number(value: number | bigint | boolean): string {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "bigint" || Number.isNaN(value) || !Number.isFinite(value)) return String(value).replace("Infinity", "inf").replace("NaN", "nan");
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e5 || size < 1e-4) ? value.toExponential(2) : value.toFixed(4);
}

export function describe(value: Value): { dtype: string; shape: number[] } | undefined {
  return value.kind === "tensor" ? { dtype: value.tensor.dtype, shape: value.tensor.shape } : undefined;
}
