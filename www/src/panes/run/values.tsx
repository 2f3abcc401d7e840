// Every value of a run as a row: a small heat map, its statistics, its distance from the CPU's; one of them in full.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Bundle, Computed, RunResult, TensorData } from "../../generated/report";
import { formatDifference, formatShape } from "../../report/format";
import { labels } from "../../report/labels";
import type { Unit } from "../../report/stages";
import { cells, statistics, type Statistics } from "../../report/statistics";
import { describe, elements, formatElement, formatNumber, preview } from "../../report/tensor";
import { select, selection } from "../../state/selection";
import { Columns, number } from "../../ui/columns";
import { drawCells, useCanvas } from "./paint";
import { spanOf } from "./places";
import { ValueDetail } from "./value-detail";

/** The value that is looked at in full, by its place in the run: `gradients 2`. */
const open = signal<string | undefined>(undefined);

export function ValuesView({ result, bundle, unit }: { result: RunResult; bundle: Bundle; unit: Unit | undefined }): JSX.Element {
  const outputs = result.forward.outputs.slice(0, bundle.num_outputs);
  const saved = result.forward.outputs.slice(bundle.num_outputs);
  const known = labels(unit);
  const expected = result.expected?.forward ?? bundle.expected;
  return (
    <>
      <Values title="Outputs" values={outputs} expected={expected} unit={unit} known={known} />
      {result.backward && bundle.backward && (
        <Values title="Gradients" values={result.backward.outputs} expected={result.expected?.backward ?? bundle.backward.expected} unit={unit} known={known} gradients />
      )}
      <Values title="Saved values" values={saved} expected={expected.slice(bundle.num_outputs)} unit={unit} known={known} />
    </>
  );
}

interface Props {
  title: string;
  values: readonly Computed[];
  expected: readonly { value: Computed["value"] }[];
  unit: Unit | undefined;
  known: ReadonlyMap<string, string>;
  gradients?: boolean;
}

function Values({ title, values, expected, unit, known, gradients = false }: Props): JSX.Element | null {
  const shown = values.map((value, index) => ({ value, index })).filter(({ value }) => !gradients || value.value.kind !== "none");
  if (shown.length === 0) return null;
  return (
    <table class="table values">
      <caption>{title}</caption>
      <Columns
        titles={[
          "Value",
          { title: "Heat map", hidden: true },
          "Shape",
          number("min"),
          number("mean"),
          number("max"),
          number("Δ CPU", "Largest absolute difference from what the CPU computed"),
          number("Δ rel", "Largest difference relative to the element"),
        ]}
      />
      <tbody>
        {shown.map(({ value, index }) => {
          const key = `${title} ${index}`;
          const source = gradients ? known.get(value.label ?? "") ?? value.label : known.get(value.name);
          return (
            <Row
              key={key}
              id={key}
              computed={value}
              label={source && gradients ? `∂ ${source}` : source}
              expected={expected[index]?.value}
              span={spanOf(unit, [value.name])}
            />
          );
        })}
      </tbody>
    </table>
  );
}

interface RowProps {
  id: string;
  computed: Computed;
  label: string | null | undefined;
  expected: Computed["value"] | undefined;
  span: ReturnType<typeof spanOf>;
}

function Row({ id, computed, label, expected, span }: RowProps): JSX.Element {
  const { name, value, mismatch, max_abs, max_rel, outside } = computed;
  const tensor = value.kind === "tensor" ? value.tensor : undefined;
  const numbers = useMemo(() => (tensor ? elements(tensor) : undefined), [tensor]);
  const facts = useMemo(() => (numbers ? statistics(numbers) : undefined), [numbers]);
  const isOpen = open.value === id;
  const chosen = selection.value?.names.includes(name) ?? false;
  return (
    <>
      <tr class={[mismatch ? "bad" : "", chosen ? "chosen" : ""].join(" ")}>
        <th scope="row">
          <button type="button" class="link code" aria-pressed={chosen} onClick={() => select({ from: "run", span, names: [name] })}>
            {name}
          </button>
          {label && <span class="muted code value-label">{label}</span>}
        </th>
        <td class="thumb-cell">
          {tensor && numbers && facts && (
            <button
              type="button"
              class="thumb"
              aria-expanded={isOpen}
              aria-label={`${isOpen ? "Close" : "Look at"} the elements of ${name}${numbers.length > 1 ? "" : `: ${preview(value)}`}`}
              onClick={() => (open.value = isOpen ? undefined : id)}
            >
              {numbers.length > 1 ? <Thumb tensor={tensor} numbers={numbers} facts={facts} /> : <span class="code">{preview(value)}</span>}
            </button>
          )}
          {!tensor && <span class="code">{preview(value)}</span>}
        </td>
        <td class="code">{formatShape(describe(value)?.shape)}</td>
        {facts ? (
          <>
            <td class="number">{formatNumber(facts.min, tensor?.dtype ?? "")}</td>
            <td class="number">{Number.isNaN(facts.mean) ? "" : formatElement(facts.mean)}</td>
            <td class="number">{formatNumber(facts.max, tensor?.dtype ?? "")}</td>
          </>
        ) : (
          <td colSpan={3} />
        )}
        {mismatch ? (
          <td colSpan={2}>{mismatch}</td>
        ) : (
          <>
            <td class={outside ? "number warning" : "number"} title={outside ? `${outside} elements are beyond what assert_close allows` : undefined}>
              {formatDifference(max_abs)}
            </td>
            <td class="number">{formatDifference(max_rel)}</td>
          </>
        )}
      </tr>
      {isOpen && tensor && numbers && facts && (
        <tr class="detail-row">
          <td colSpan={8}>
            <ValueDetail computed={computed} tensor={tensor} numbers={numbers} facts={facts} expected={expected} />
          </td>
        </tr>
      )}
    </>
  );
}

function Thumb({ tensor, numbers, facts }: { tensor: TensorData; numbers: Float64Array; facts: Statistics }): JSX.Element {
  const most = Math.max(Math.abs(facts.min), Math.abs(facts.max));
  const canvas = useCanvas((...where) => drawCells(cells(numbers, tensor.shape, 48), most, () => false)(...where), [numbers]);
  return <canvas ref={canvas} class="thumb-map" aria-hidden="true" />;
}
