// Numbers that the script prints as it goes, drawn as lines; the same numbers as a table on demand.
import { computed } from "@preact/signals";
import type { JSX } from "preact";
import { findSeries, type Series } from "../report/series";
import { flag, looked, word } from "../state/looked";
import { shown } from "../state/session";
import { Chart } from "../ui/chart";
import { Columns, number } from "../ui/columns";

/** The series in what was printed. */
export const printedSeries = computed(() => {
  const printed = shown.value?.printed;
  return printed ? findSeries(printed.map(({ stream, text }) => (stream === "stdout" ? text : "")).join("")) : [];
});

const wanted = looked<string | undefined>("plotSeries", undefined, word);
const asTable = looked("plotTable", false, flag);
const logarithmic = looked("plotLogarithmic", false, flag);

export function PlotPane(): JSX.Element {
  const all = printedSeries.value;
  const series = all.find(({ title }) => title === wanted.value) ?? all[0];
  if (!series) {
    return (
      <p class="empty">
        Lines with numbers that the script prints again and again, such as <code>step 10 loss 0.5</code>, are drawn here.
      </p>
    );
  }
  const positive = series.columns.every(({ values }) => values.every((value) => !(value <= 0)));
  return (
    <div class="plot-pane">
      <div class="plot-bar">
        {all.length > 1 && (
          <select class="select" aria-label="Lines" value={series.title} onChange={(event) => (wanted.value = event.currentTarget.value)}>
            {all.map(({ title }) => (
              <option key={title} value={title}>
                {title}
              </option>
            ))}
          </select>
        )}
        <label class="check">
          <input
            type="checkbox"
            checked={logarithmic.value && positive}
            disabled={!positive}
            onChange={(event) => (logarithmic.value = event.currentTarget.checked)}
          />
          Logarithmic
        </label>
        <label class="check">
          <input type="checkbox" checked={asTable.value} onChange={(event) => (asTable.value = event.currentTarget.checked)} />
          As a table
        </label>
      </div>
      {asTable.value ? (
        <Numbers series={series} />
      ) : (
        <Chart
          label={`${series.columns.map(({ label }) => label).join(", ")} by ${series.x.label}, as the script printed them`}
          x={series.x}
          columns={series.columns}
          logarithmic={logarithmic.value && positive}
        />
      )}
    </div>
  );
}

function Numbers({ series: { x, columns } }: { series: Series }): JSX.Element {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Printed numbers">
      <table class="table">
        <Columns titles={[x, ...columns].map(({ label }) => number(label))} />
        <tbody>
          {x.values.map((at, row) => (
            <tr key={row}>
              <th scope="row" class="number">
                {at}
              </th>
              {columns.map(({ label, values }) => (
                <td key={label} class="number">
                  {values[row]}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
