// The loss before each step, as it comes in.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Chart } from "../../ui/chart";

/** Points that are drawn at most: of a longer run, evenly spaced ones and the last. */
const MOST = 2000;

const logarithmic = signal(false);

interface Props {
  losses: readonly number[];
  /** How many there are: the list grows in place. */
  taken: number;
}

/** The steps whose losses are drawn, counted from 1. */
export function drawn(taken: number, most = MOST): number[] {
  const step = Math.max(1, Math.ceil(taken / most));
  const steps = Array.from({ length: Math.ceil(taken / step) }, (_, index) => index * step + 1);
  if (taken > 0 && steps.at(-1) !== taken) steps.push(taken);
  return steps;
}

export function Losses({ losses, taken }: Props): JSX.Element {
  const { x, columns, positive } = useMemo(() => {
    const steps = drawn(taken);
    const values = steps.map((step) => losses[step - 1] ?? NaN);
    return { x: { label: "step", values: steps }, columns: [{ label: "loss", values }], positive: values.every((value) => !(value <= 0)) };
  }, [losses, taken]);
  const [first, last] = [losses[0], losses.at(-1)];
  return (
    <div class="losses">
      <label class="check">
        <input
          type="checkbox"
          checked={logarithmic.value && positive}
          disabled={!positive}
          onChange={(event) => (logarithmic.value = event.currentTarget.checked)}
        />
        Logarithmic
      </label>
      <Chart
        label={`Loss over ${taken} steps, from ${first?.toPrecision(4) ?? ""} to ${last?.toPrecision(4) ?? ""}`}
        x={x}
        columns={columns}
        logarithmic={logarithmic.value && positive}
      />
    </div>
  );
}
