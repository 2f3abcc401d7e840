// What differs between compilations, pair by pair: saved values first, by their bytes.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { LogLine, PairDiff } from "../generated/report";
import { formatBytes, plural } from "../report/format";
import type { Texts } from "../report/texts";
import { Columns, number } from "../ui/columns";
import { lazy } from "../ui/lazy";
import "./compare.css";

/** Rows of one list at most. */
export const MOST_ROWS = 100;

/** The versions of PyTorch that wrote the two. */
export type Versions = readonly [string | null, string | null];

/** Gives the texts of the graphs of both sides of a pair, by their names. */
export type ReadTexts = (names: readonly [string, string]) => Promise<readonly [Texts, Texts]>;

interface Props {
  pairs: readonly PairDiff[];
  versions: Versions | undefined;
  texts: ReadTexts;
}

const GraphTexts = lazy(() => import("./texts").then((module) => module.GraphTexts));

export function Differences({ pairs, versions, texts }: Props): JSX.Element {
  const differing = pairs.filter(({ same }) => !same).length;
  return (
    <div class="compare-found" data-differing={differing} tabIndex={0} role="region" aria-label="What differs">
      <p role="status">
        {differing === 0 ? "Nothing differs." : `${plural(differing, "pair")} of ${pairs.length} ${differing === 1 ? "differs" : "differ"}.`}
        {versions && versions[0] !== versions[1] && ` PyTorch ${versions[0] ?? "(not named)"} and ${versions[1] ?? "(not named)"}.`}
      </p>
      {pairs.slice(0, MOST_ROWS).map((pair, at) => (
        <Pair key={at} pair={pair} texts={texts} />
      ))}
      {pairs.length > MOST_ROWS && <p class="muted">And {pairs.length - MOST_ROWS} more.</p>}
    </div>
  );
}

const size = (bytes: number | null): string => (bytes === null ? "unknown" : formatBytes(bytes));
const place = (line: LogLine | null): string => (line ? `${line.file}:${line.line}` : "");

function Pair({ pair, texts }: { pair: PairDiff; texts: ReadTexts }): JSX.Element {
  const open = useSignal(false);
  const [a, b] = pair.names;
  const title = a === b ? a : [a ?? "nothing", b ?? "nothing"].join(" and ");
  if (a === null || b === null) {
    return (
      <h3>
        {title}: only in the {b === null ? "first" : "second"}
      </h3>
    );
  }
  if (pair.same) return <h3>{title}: same</h3>;
  return (
    <section>
      <h3>{title}: differs</h3>
      <SavedValues pair={pair} />
      <Others pair={pair} />
      <details class="log-text" onToggle={({ currentTarget }) => (open.value = currentTarget.open)}>
        <summary>Graphs, line by line</summary>
        {open.value && <GraphTexts names={[a, b]} read={() => texts([a, b])} />}
      </details>
    </section>
  );
}

/** Saved values that differ, those of most bytes first. */
function SavedValues({ pair: { saved_bytes, only_first, only_second, changed } }: { pair: PairDiff }): JSX.Element {
  const one = ({ name, type, bytes, line }: PairDiff["only_first"][number], first: boolean): Row => ({
    name,
    types: first ? [type, ""] : ["", type],
    bytes: first ? [bytes, 0] : [0, bytes],
    line,
  });
  const rows: Row[] = [
    ...changed.map(({ names, types, bytes, line }): Row => ({ name: names[0] === names[1] ? names[0] : `${names[0]}, ${names[1]}`, types, bytes: bytes as Row["bytes"], line })),
    ...only_first.map((value) => one(value, true)),
    ...only_second.map((value) => one(value, false)),
  ];
  const by = ({ bytes: [a, b] }: Row): number => Math.abs((a ?? 0) - (b ?? 0));
  rows.sort((x, y) => by(y) - by(x));
  if (rows.length === 0) return <p class="caption">The same values are saved{saved_bytes[0] !== null && `: ${size(saved_bytes[0])}`}.</p>;
  return (
    <table class="table">
      <caption>
        Saved for backward: {size(saved_bytes[0])} and {size(saved_bytes[1])}
      </caption>
      <Columns titles={["Value", "First", number("Bytes"), "Second", number("Bytes"), number("Difference"), "Line"]} />
      <tbody>
        {rows.slice(0, MOST_ROWS).map(({ name, types, bytes, line }, at) => (
          <tr key={at}>
            <th scope="row" class="code">
              {name}
            </th>
            <td class="code">{types[0] || <span class="muted">not saved</span>}</td>
            <td class="number">{types[0] && size(bytes[0])}</td>
            <td class="code">{types[1] || <span class="muted">not saved</span>}</td>
            <td class="number">{types[1] && size(bytes[1])}</td>
            <td class="number">{bytes[0] !== null && bytes[1] !== null && signed(bytes[1] - bytes[0])}</td>
            <td class="code wrap">{place(line)}</td>
          </tr>
        ))}
        {rows.length > MOST_ROWS && (
          <tr>
            <td class="muted" colSpan={7}>
              and {rows.length - MOST_ROWS} more
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

interface Row {
  name: string;
  types: readonly [string, string];
  bytes: readonly [number | null, number | null];
  line: LogLine | null;
}

const signed = (bytes: number): string => `${bytes > 0 ? "+" : bytes < 0 ? "−" : ""}${formatBytes(Math.abs(bytes))}`;

function Others({ pair }: { pair: PairDiff }): JSX.Element | null {
  const { peak_bytes, operators, first_row, recompiles, breaks, guards, settings } = pair;
  const lists: readonly (readonly [string, readonly [readonly string[], readonly string[]]])[] = [
    ["recompiled", recompiles],
    ["graph break", breaks],
    ["guard", guards],
  ];
  const rows: (readonly [string, string, string])[] = [];
  if (peak_bytes[0] !== peak_bytes[1]) rows.push(["peak", size(peak_bytes[0]), size(peak_bytes[1])]);
  for (const [operator, [a, b]] of Object.entries(operators)) rows.push([operator, plural(a, "call"), plural(b, "call")]);
  if (first_row && Object.keys(operators).length === 0) rows.push(["the graphs differ first at", ...first_row]);
  for (const [what, [a, b]] of lists) rows.push(...a.map((text) => [what, text, "–"] as const), ...b.map((text) => [what, "–", text] as const));
  for (const [name, [a, b]] of Object.entries(settings)) rows.push([name, a ?? "not there", b ?? "not there"]);
  if (rows.length === 0) return null;
  return (
    <table class="table">
      <caption>What else differs</caption>
      <Columns titles={["What", "First", "Second"]} />
      <tbody>
        {rows.slice(0, MOST_ROWS).map(([what, a, b], at) => (
          <tr key={at}>
            <th scope="row" class="code wrap">
              {what}
            </th>
            <td class="code wrap">{a}</td>
            <td class="code wrap">{b}</td>
          </tr>
        ))}
        {rows.length > MOST_ROWS && (
          <tr>
            <td class="muted" colSpan={3}>
              and {rows.length - MOST_ROWS} more
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}
