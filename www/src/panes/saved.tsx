// The values that the forward saves for the backward: name, type, bytes, the line that made them, and why they are saved.
import type { JSX } from "preact";
import type { Compilation, Saved } from "../generated/report";
import { keptOf } from "../report/counts";
import { formatBytes, formatShape, plural } from "../report/format";
import { tapeOf } from "../report/stages";
import { select, selection } from "../state/selection";
import { graphsAreOld, graphsRun } from "../state/session";
import { selectedUnit, whyNoTrace } from "../state/unit";
import { Columns, number } from "../ui/columns";
import { SourceName } from "../ui/source-name";
import { Decided } from "./log";
import { TapeInputs } from "./tape-inputs";

export function SavedPane(): JSX.Element {
  const tape = tapeOf(selectedUnit.value);
  return tape ? <TapeInputs tape={tape} /> : <SavedOfForward />;
}

function SavedOfForward(): JSX.Element {
  const compilation = selectedUnit.value?.compilation;
  if (!compilation) return <p class="empty">{whyNoTrace.value ?? "The values saved between forward and backward appear here."}</p>;
  if (compilation.kind === "inference") return <p class="empty">Nothing requires grad here: there is no backward to save anything for.</p>;
  if (compilation.abandoned) return <p class="empty">This trace was discarded before it was partitioned: a dynamic float had to be specialized.</p>;
  const saved = compilation.saved ?? [];
  if (saved.length === 0) return <p class="empty">The backward needs nothing of the forward.</p>;
  const { listed, activations } = keptOf(compilation);
  const why = reasons(compilation);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Saved values">
      {graphsRun.value?.log && <Decided />}
      {graphsAreOld.value && <p class="stale">From the run before: the script failed before it compiled anything.</p>}
      <table class="table sentences">
        <Columns titles={["Value", "Type", "Shape", number("Bytes"), number("Line"), why.size > 0 && "Why"]} />
        <tbody>
          {saved.map((value) => (
            <Row key={value.name} value={value} why={why} />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" colSpan={3}>
              {plural(saved.length, "value")}
            </th>
            <td class="number" data-listed={listed}>
              {formatBytes(listed)}
            </td>
            <td />
            {why.size > 0 && <td class="muted">as listed, views and inputs included</td>}
          </tr>
          <tr>
            <th scope="row" colSpan={3}>
              Activations kept alive
            </th>
            <td class="number" data-activations={activations}>
              {formatBytes(activations)}
            </td>
            <td />
            {why.size > 0 && <td class="muted">each storage once; inputs are in memory already</td>}
          </tr>
        </tfoot>
      </table>
      {compilation.partition && (
        <p class="caption">
          Chosen by <code>{compilation.partition.partitioner}</code>.
        </p>
      )}
    </div>
  );
}

function Row({ value, why }: { value: Saved; why: ReadonlyMap<string, string> }): JSX.Element {
  const chosen = selection.value?.names.includes(value.name) ?? false;
  const choose = (): void => select({ from: "saved", span: value.span ?? undefined, names: [value.name] });
  return (
    <tr class={chosen ? "chosen" : ""} onClick={choose}>
      <th scope="row">
        <button type="button" class="link code saved-name" aria-pressed={chosen} onClick={choose}>
          {value.name}
        </button>
        <SourceName of={value.name} />
        {value.view_of ? (
          <span class="muted saved-note">
            view of {value.view_of} <SourceName of={value.view_of} />
          </span>
        ) : (
          value.of_input && <span class="muted saved-note">input</span>
        )}
      </th>
      <td class="code">{value.sym ? "SymInt" : value.dtype}</td>
      <td class="code">{value.sym ?? formatShape(value.shape)}</td>
      <td class="number">{value.bytes === undefined || value.bytes === null ? "" : formatBytes(value.bytes)}</td>
      <td class="number">{value.span?.line}</td>
      {why.size > 0 && <td class="muted why">{why.get(value.name)}</td>}
    </tr>
  );
}

function reasons(compilation: Compilation): Map<string, string> {
  const decided = compilation.partition?.decisions ?? [];
  return new Map(decided.flatMap(({ name, reason }) => (reason ? [[name, reason]] : [])));
}
