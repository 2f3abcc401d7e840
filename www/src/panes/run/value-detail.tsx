// One value in full: a large heat map that tells the element under the pointer, a histogram, what PyTorch prints, and the numbers themselves;
// of what the device computed, of what the CPU computed, or of the difference.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Computed, TensorData, Value } from "../../generated/report";
import { formatDifference, plural } from "../../report/format";
import { cells, grid, histogram, indexOf, statistics, type Statistics } from "../../report/statistics";
import { elements, formatElement, formatNumber } from "../../report/tensor";
import { gpu } from "../../state/gpu";
import { lazy } from "../../ui/lazy";
import { drawBars, drawCells, useCanvas } from "./paint";

const SIDES = { device: "Computed", cpu: "CPU", difference: "Difference" } as const;
type Side = keyof typeof SIDES;

const side = signal<Side>("device");
const FORMS = ["Picture", "Printed", "Numbers"] as const;
const form = signal<(typeof FORMS)[number]>("Picture");
const BINS = 40;
/** Cells of the large heat map, each way. */
const MOST = 256;

const Numbers = lazy(() => import("./numbers").then(({ NumbersView }) => NumbersView));

interface Props {
  computed: Computed | undefined;
  tensor: TensorData;
  numbers: Float64Array;
  facts: Statistics;
  expected: Value | undefined;
}

export function ValueDetail({ computed, tensor, numbers, facts, expected }: Props): JSX.Element {
  const reference = useMemo(() => (expected?.kind === "tensor" ? elements(expected.tensor) : undefined), [expected]);
  const comparable = reference !== undefined && reference.length === numbers.length;
  const wanted = comparable ? side.value : "device";
  const shown = useMemo(() => {
    if (wanted === "device" || !reference) return numbers;
    return wanted === "cpu" ? reference : numbers.map((value, i) => value - (reference[i] ?? NaN));
  }, [wanted, numbers, reference]);
  const what = useMemo(() => (shown === numbers ? facts : statistics(shown)), [shown]);
  const printed = useMemo(() => {
    if (wanted === "device") return tensor;
    return wanted === "cpu" && expected?.kind === "tensor" ? expected.tensor : doubles(shown, tensor.shape);
  }, [wanted, tensor, shown]);
  return (
    <div class="detail">
      <div class="detail-bar">
        {comparable && (
          <span class="segmented" role="group" aria-label="Whose values">
            {Object.entries(SIDES).map(([key, title]) => (
              <button key={key} type="button" class="tab" aria-pressed={wanted === key} onClick={() => (side.value = key as Side)}>
                {title}
              </button>
            ))}
          </span>
        )}
        <span class="segmented" role="group" aria-label="How they are shown">
          {FORMS.map((title) => (
            <button key={title} type="button" class="tab" aria-pressed={form.value === title} onClick={() => (form.value = title)}>
              {title}
            </button>
          ))}
        </span>
      </div>
      {form.value === "Printed" ? (
        <Printed tensor={printed} />
      ) : form.value === "Numbers" ? (
        <Numbers numbers={shown} shape={tensor.shape} dtype={wanted === "difference" ? "float64" : tensor.dtype} />
      ) : (
        <div class="detail-pictures">
          <HeatMap numbers={shown} tensor={tensor} facts={what} />
          <Distribution numbers={shown} tensor={tensor} facts={what} />
        </div>
      )}
      {computed && <Distance computed={computed} reference={reference} numbers={numbers} shape={tensor.shape} />}
    </div>
  );
}

/** Numbers as a tensor of float64. */
function doubles(numbers: Float64Array, shape: number[]): TensorData {
  const stride = shape.map((_, dim) => shape.slice(dim + 1).reduce((product, size) => product * size, 1));
  return { dtype: "float64", shape, stride, bytes: new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength) };
}

/** What `print` would print. */
function Printed({ tensor }: { tensor: TensorData }): JSX.Element {
  const [text, setText] = useState<string>();
  useEffect(() => {
    let current = true;
    setText(undefined);
    const show = (made: string): void => {
      if (current) setText(made);
    };
    gpu?.print(tensor).then(show, (error: Error) => show(`This could not be printed: ${error.message}`));
    return () => (current = false);
  }, [tensor]);
  return (
    <pre class="printed code" tabIndex={0} aria-label="As PyTorch prints it">
      {text}
    </pre>
  );
}

function HeatMap({ numbers, tensor, facts }: { numbers: Float64Array; tensor: TensorData; facts: Statistics }): JSX.Element {
  const { shape } = tensor;
  const picture = useMemo(() => cells(numbers, shape, MOST), [numbers]);
  const most = Math.max(Math.abs(facts.min), Math.abs(facts.max));
  const { columns } = grid(shape);
  const [under, setUnder] = useState<number>();
  const place = (cell: number): number => {
    const row = Math.floor(cell / picture.columns) * picture.step.rows;
    return row * columns + (cell % picture.columns) * picture.step.columns;
  };
  const canvas = useCanvas((...where) => drawCells(picture, most, (cell) => place(cell) >= numbers.length)(...where), [picture]);
  const follow = (event: PointerEvent): void => {
    const box = canvas.current?.getBoundingClientRect();
    if (!box) return;
    const column = Math.floor(((event.clientX - box.left) / box.width) * picture.columns);
    const row = Math.floor(((event.clientY - box.top) / box.height) * picture.rows);
    const inside = column >= 0 && row >= 0 && column < picture.columns && row < picture.rows;
    setUnder(inside && place(row * picture.columns + column) < numbers.length ? row * picture.columns + column : undefined);
  };
  const move = (event: KeyboardEvent): void => {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -picture.columns, ArrowDown: picture.columns };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = under === undefined ? 0 : under + step;
    if (next >= 0 && next < picture.values.length && place(next) < numbers.length) setUnder(next);
  };
  const shared = picture.step.rows * picture.step.columns;
  const size = Math.max(4, Math.min(20, Math.floor(420 / Math.max(picture.columns, picture.rows))));
  return (
    <figure class="heat">
      <canvas
        ref={canvas}
        class="heat-map"
        style={{ width: `${picture.columns * size}px`, aspectRatio: `${picture.columns} / ${picture.rows}` }}
        tabIndex={0}
        role="img"
        aria-label={`Heat map of ${plural(numbers.length, "element")}: blue below zero, orange above. Arrow keys go from element to element.`}
        onPointerMove={follow}
        onPointerLeave={() => setUnder(undefined)}
        onKeyDown={move}
      />
      <figcaption class="muted" aria-live="polite">
        {under === undefined ? (
          <>
            <span class="key-negative">below zero</span> <span class="key-positive">above zero</span>
            {facts.nan > 0 && <span class="key-broken">NaN</span>}
            {shared > 1 && `, ${shared} elements to a cell`}
          </>
        ) : (
          <span class="code">
            [{indexOf(place(under), shape).join(", ")}]{shared > 1 && " and on"}: {formatNumber(picture.values[under] ?? NaN, tensor.dtype) || "nan"}
          </span>
        )}
      </figcaption>
    </figure>
  );
}

function Distribution({ numbers, tensor, facts }: { numbers: Float64Array; tensor: TensorData; facts: Statistics }): JSX.Element {
  const bars = useMemo(() => histogram(numbers, BINS), [numbers]);
  const canvas = useCanvas((...where) => drawBars(bars.counts, bars.from, bars.to)(...where), [bars]);
  return (
    <figure class="distribution">
      <canvas ref={canvas} class="bars" role="img" aria-label={`Histogram from ${formatElement(bars.from)} to ${formatElement(bars.to)}`} />
      <figcaption class="axis code">
        <span>{formatNumber(facts.min, tensor.dtype)}</span>
        <span>{formatNumber(facts.max, tensor.dtype)}</span>
      </figcaption>
      <dl class="facts">
        <Fact name="mean" value={Number.isNaN(facts.mean) ? "" : formatElement(facts.mean)} />
        <Fact name="std" value={Number.isNaN(facts.deviation) ? "" : formatElement(facts.deviation)} />
        <Fact name="zeros" value={facts.zero.toLocaleString("en")} />
        <Fact name="NaN" value={facts.nan.toLocaleString("en")} bad={facts.nan > 0} />
        <Fact name="infinite" value={facts.infinite.toLocaleString("en")} bad={facts.infinite > 0} />
        <Fact name="elements" value={facts.count.toLocaleString("en")} />
      </dl>
    </figure>
  );
}

function Fact({ name, value, bad = false }: { name: string; value: string; bad?: boolean }): JSX.Element {
  return (
    <div>
      <dt class="muted">{name}</dt>
      <dd class={bad ? "code warning" : "code"}>{value}</dd>
    </div>
  );
}

/** The largest difference, where it is, and what is to be expected. */
function Distance({
  computed: { at, max_abs, max_rel, outside, mismatch },
  reference,
  numbers,
  shape,
}: {
  computed: Computed;
  reference: Float64Array | undefined;
  numbers: Float64Array;
  shape: readonly number[];
}): JSX.Element | null {
  if (mismatch) return <p class="warning">Cannot be compared with the CPU's: {mismatch}.</p>;
  if (max_abs === null || !reference) return null;
  if (max_abs === 0 || !at) return <p class="muted">Every element is the CPU's, to the last bit.</p>;
  const place = at.reduce((sum, index, dim) => sum * (shape[dim] ?? 1) + index, 0);
  return (
    <p class="muted">
      Farthest from the CPU at <code>[{at.join(", ")}]</code>: <code>{numbers[place]}</code> instead of <code>{reference[place]}</code>, {formatDifference(max_abs)}{" "}
      apart; relative to its element at most {formatDifference(max_rel)}.{" "}
      {outside
        ? `${plural(outside, "element is", "elements are")} beyond what torch.testing.assert_close allows (rtol 1.3e-6 and atol 1e-5 for float32).`
        : "All of it is within what torch.testing.assert_close allows: a GPU adds in another order, and each addition rounds."}
    </p>
  );
}
