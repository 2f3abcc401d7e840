// The values that the forward saves for the backward: name, type, bytes, the line that made them, and why they are saved.
import type { JSX } from "preact";
import type { Compilation, Saved } from "../generated/report";
import { keptOf } from "../report/counts";
import { formatBytes, formatShape, plural } from "../report/format";
import { lineText, type Placed } from "../report/grouping";
import { tapeOf } from "../report/stages";
import { select, selection } from "../state/selection";
import { graphsAreOld, graphsRun } from "../state/session";
import { selectedUnit, sourceNames, whyNoTrace } from "../state/unit";
import { Coded } from "../ui/coded";
import { EagerKept } from "../ui/eager-kept";
import { SentenceText } from "../ui/sentence";
import { SourceName } from "../ui/source-name";
import { TermLink } from "../ui/term";
import { type ListColumn, listState, Share, ValueList } from "../ui/value-list";
import { FrozenConstants } from "./frozen-constants";
import { Decided } from "./log";
import { TapeInputs } from "./tape-inputs";

const state = listState("saved");

export function SavedPane(): JSX.Element {
  const tape = tapeOf(selectedUnit.value);
  return tape ? <TapeInputs tape={tape} /> : <SavedOfForward />;
}

interface Item extends Placed {
  value: Saved;
  why: string;
}

function SavedOfForward(): JSX.Element {
  const compilation = selectedUnit.value?.compilation;
  if (!compilation) return <p class="empty">{whyNoTrace.value ?? "The values saved between forward and backward appear here."}</p>;
  if (compilation.freezing) return <FrozenConstants freezing={compilation.freezing} />;
  if (compilation.kind === "inference") return <p class="empty">Nothing requires grad here: there is no backward to save anything for.</p>;
  if (compilation.abandoned) return <p class="empty">This trace was discarded before it was partitioned: a dynamic float had to be specialized.</p>;
  const items = itemsOf(compilation);
  if (items.length === 0) return <p class="empty">The backward needs nothing of the forward.</p>;
  const { listed, activations } = keptOf(compilation);
  const columns = columnsOf(listed, Math.max(0, ...items.map(({ bytes }) => bytes ?? 0)), items.some(({ why }) => why !== ""));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Saved values">
      {graphsRun.value?.log && <Decided />}
      {graphsAreOld.value && <p class="stale">From the run before: the script failed before it compiled anything.</p>}
      <EagerKept />
      {compilation.donated && (
        <p class="answer">
          <SentenceText of={compilation.donated} from="saved" />
        </p>
      )}
      <ValueList
        label="Saved values"
        state={state}
        items={items}
        columns={columns}
        class="sentences shares"
        onChoose={({ value }) => select({ from: "saved", span: value.span ?? undefined, names: [value.name] })}
      >
        <tfoot>
          <tr>
            <th scope="row" colSpan={3}>
              {plural(items.length, "value")}
            </th>
            <td class="number" data-listed={listed}>
              {formatBytes(listed)}
            </td>
            <td colSpan={columns.length - 4} class="muted">
              as listed, views and inputs included
            </td>
          </tr>
          <tr>
            <th scope="row" colSpan={3}>
              <TermLink of="activations">Activations</TermLink> kept alive
            </th>
            <td class="number" data-activations={activations}>
              {formatBytes(activations)}
            </td>
            <td colSpan={columns.length - 4} class="muted">
              each storage once; inputs are in memory already
            </td>
          </tr>
        </tfoot>
      </ValueList>
      {compilation.partition && (
        <p class="caption">
          <TermLink of="saved">Saved</TermLink> as the <TermLink of="partitioner">partitioner</TermLink> <code>{compilation.partition.partitioner}</code> chose.
        </p>
      )}
    </div>
  );
}

function itemsOf(compilation: Compilation): Item[] {
  const why = new Map((compilation.partition?.decisions ?? []).map(({ name, reason }) => [name, reason]));
  const modules = new Map((compilation.joint?.nodes ?? []).map(({ name, module_path }) => [name, module_path]));
  return (compilation.saved ?? []).map((value) => ({
    name: value.name,
    bytes: value.bytes ?? undefined,
    line: value.span?.line,
    file: value.span?.file,
    module: modules.get(value.name) ?? "",
    type: value.sym ? "SymInt" : `${value.dtype}${formatShape(value.shape)}`,
    value,
    why: why.get(value.name) ?? "",
  }));
}

function columnsOf(listed: number, most: number, hasReasons: boolean): ListColumn<Item>[] {
  const columns: ListColumn<Item>[] = [
    { key: "name", title: "Value", text: ({ name }) => [name, sourceNames.value.get(name)].filter(Boolean).join(" "), cell: ({ value }) => <Name value={value} /> },
    { key: "dtype", title: "Type", text: ({ value }) => (value.sym ? "SymInt" : (value.dtype ?? "")), look: "code" },
    { key: "shape", title: "Shape", text: ({ value }) => value.sym ?? formatShape(value.shape), look: "code" },
    { key: "bytes", title: "Bytes", number: true, text: ({ bytes }) => (bytes === undefined ? "" : formatBytes(bytes)), order: ({ bytes }) => bytes ?? -1 },
    {
      key: "share",
      title: "Of total",
      help: "Share of the bytes as listed",
      number: true,
      text: ({ bytes }) => (bytes === undefined || listed === 0 ? "" : `${((bytes / listed) * 100).toFixed(1)}%`),
      order: ({ bytes }) => bytes ?? -1,
      cell: ({ bytes }) => (bytes === undefined ? <></> : <Share of={bytes} total={listed} most={most} />),
      ofGroup: (bytes) => <Share of={bytes} total={listed} most={listed} />,
    },
    { key: "line", title: "Line", number: true, text: lineText, order: ({ line }) => line ?? -1 },
  ];
  return hasReasons ? [...columns, { key: "why", title: "Why", text: ({ why }) => why, cell: ({ why }) => <Coded text={why} />, look: "muted why" }] : columns;
}

function Name({ value }: { value: Saved }): JSX.Element {
  const chosen = selection.value?.names.includes(value.name) ?? false;
  return (
    <>
      <button
        type="button"
        class="link code saved-name"
        aria-pressed={chosen}
        onClick={() => select({ from: "saved", span: value.span ?? undefined, names: [value.name] })}
      >
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
      {value.donated && <span class="muted saved-note">donated</span>}
    </>
  );
}
