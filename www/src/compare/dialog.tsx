// Two compilations beside each other, or two logs: which saved values differ, in bytes, first; then what else does.
import { signal, useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { LogLine, LogOverview, PairDiff } from "../generated/report";
import { formatBytes, plural } from "../report/format";
import { addLog, compare, type Log, logs, overview, type Part, sentence, traceOf } from "../state/logs";
import { shown } from "../state/session";
import { Columns, number } from "../ui/columns";
import "./compare.css";

interface Side {
  log: number;
  part: Part;
}

type Result = { state: "asked" } | { state: "there"; pairs: readonly PairDiff[]; versions: readonly [string | null, string | null] | undefined } | { state: "failed"; message: string };

const wanted = signal<readonly [Side | undefined, Side | undefined]>([undefined, undefined]);
/** Rows of one list at most. */
const MOST_ROWS = 100;

/** Both sides, as far as there are logs: the last two; of one alone its first two ranks, or its first two compilations. */
function sides(all: readonly Log[]): readonly [Side | undefined, Side | undefined] {
  const [a, b] = wanted.value;
  const there = (side: Side | undefined): Side | undefined => (all.some(({ id }) => id === side?.log) ? side : undefined);
  const [before, last] = [all.at(-2), all.at(-1)];
  if (!last) return [undefined, undefined];
  if (before) return [there(a) ?? { log: before.id, part: {} }, there(b) ?? { log: last.id, part: {} }];
  const [rank, other] = ranksOf(last);
  const parts: readonly [Part, Part] = rank !== undefined && other !== undefined ? [{ rank }, { rank: other }] : [{ compilation: 0 }, { compilation: 1 }];
  return [there(a) ?? { log: last.id, part: parts[0] }, there(b) ?? { log: last.id, part: parts[1] }];
}

/** Logs at first sight, as far as they were looked at here. */
const known = signal<ReadonlyMap<number, LogOverview>>(new Map());

/** Processes that wrote a log, where there are several. */
function ranksOf({ id }: Log): number[] {
  const ranks = new Set((known.value.get(id)?.compilations ?? []).flatMap(({ rank }) => rank ?? []));
  return ranks.size > 1 ? [...ranks].toSorted((a, b) => a - b) : [];
}

export function CompareDialog(): JSX.Element {
  const result = useSignal<Result | undefined>(undefined);
  const all = logs.value;
  const [first, second] = sides(all);
  useSignalEffect(() => {
    for (const log of logs.value) {
      if (known.value.has(log.id)) continue;
      overview(log).then(
        (found) => (known.value = new Map(known.value).set(log.id, found)),
        () => {},
      );
    }
  });
  useSignalEffect(() => {
    const [a, b] = sides(logs.value);
    const [one, other] = [a, b].map((side) => logs.value.find(({ id }) => id === side?.log));
    if (!a || !b || !one || !other || !known.value.has(one.id) || !known.value.has(other.id)) return;
    let gone = false;
    result.value = { state: "asked" };
    compare([one, a.part], [other, b.part])
      .then((found): Result => ({ state: "there", ...found }))
      .catch((error: unknown): Result => ({ state: "failed", message: sentence(error) }))
      .then((now) => {
        if (!gone) result.value = now;
      });
    return () => {
      gone = true;
    };
  });
  return (
    <>
      <p class="muted">Compilations are matched by what they compute, and values by what computes them, whatever they are called.</p>
      <div class="compare-sides">
        <Chooser label="First" side={first} onChange={(side) => (wanted.value = [side, second])} />
        <Chooser label="Second" side={second} onChange={(side) => (wanted.value = [first, side])} />
        <OwnRun />
      </div>
      {all.map((log) => ranksOf(log).length > 1 && <Ranks key={log.id} log={log} ranks={ranksOf(log)} />)}
      <Found result={result.value} />
    </>
  );
}

/** Which processes of a log compiled otherwise than the first, and where first. */
function Ranks({ log, ranks }: { log: Log; ranks: readonly number[] }): JSX.Element {
  const rows = useSignal<readonly { rank: number; first: string | undefined }[]>([]);
  const [one, ...others] = ranks;
  useEffect(() => {
    let gone = false;
    const look = async (): Promise<void> => {
      for (const rank of others.slice(0, MOST_ROWS)) {
        const { pairs } = await compare([log, { rank: one ?? 0 }], [log, { rank }]);
        if (gone) return;
        const differing = pairs.find(({ same }) => !same);
        rows.value = [...rows.value, { rank, first: differing && (differing.names[1] ?? differing.names[0] ?? "") }];
      }
    };
    // What can't be compared is said where it is chosen to be.
    look().catch(() => {});
    return () => {
      gone = true;
    };
  }, []);
  const alike = rows.value.filter(({ first }) => first === undefined).map(({ rank }) => rank);
  return (
    <p class="compare-ranks" role="status">
      <bdi>{log.name}</bdi>, beside rank {one}:{" "}
      {[
        ...rows.value.flatMap(({ rank, first }) => (first === undefined ? [] : `rank ${rank} differs, first in ${first}`)),
        ...(alike.length > 0 ? [`the same: rank ${alike.join(", ")}`] : []),
        ...(rows.value.length < others.length ? [`${plural(others.length - rows.value.length, "rank")} to go`] : []),
      ].join("; ")}
    </p>
  );
}

/** Takes the script's own run in, as the log that PyTorch would write of it. */
function OwnRun(): JSX.Element | null {
  const message = useSignal("");
  const report = shown.value?.report;
  if (!report || report.compilations.length === 0) return null;
  const add = async (): Promise<void> => {
    try {
      const text = await traceOf(report);
      await addLog(`this script at ${new Date().toLocaleTimeString()}`, [{ name: "script.log", blob: new Blob([text]) }]);
    } catch (error) {
      message.value = `The script's run can't be added: ${sentence(error)}.`;
    }
  };
  return (
    <>
      <button type="button" class="button" onClick={() => void add()}>
        Add this script's run
      </button>
      {message.value && <p class="note error">{message.value}</p>}
    </>
  );
}

function Chooser({ label, side, onChange }: { label: string; side: Side | undefined; onChange(side: Side): void }): JSX.Element {
  const log = logs.value.find(({ id }) => id === side?.log);
  const compilations = (log && known.value.get(log.id)?.compilations) ?? [];
  return (
    <div class="compare-side">
      <label class="field">
        {label}
        <select class="select" aria-label={`${label}: log`} value={String(side?.log ?? "")} onChange={({ currentTarget }) => onChange({ log: Number(currentTarget.value), part: {} })}>
          {logs.value.map(({ id, name }) => (
            <option key={id} value={String(id)}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <select
        class="select"
        aria-label={`${label}: compilation`}
        value={side && textOf(side.part)}
        onChange={({ currentTarget: { value } }) => side && onChange({ ...side, part: partOf(value) })}
      >
        <option value="all">all compilations, in pairs</option>
        {log &&
          ranksOf(log).map((rank) => (
            <option key={`rank ${rank}`} value={`rank ${rank}`}>
              all of rank {rank}
            </option>
          ))}
        {compilations.map(({ name, function: of }, at) => (
          <option key={at} value={String(at)}>
            {[name, of].filter(Boolean).join(" ")}
          </option>
        ))}
      </select>
    </div>
  );
}

const textOf = ({ compilation, rank }: Part): string => (compilation !== undefined ? String(compilation) : rank !== undefined ? `rank ${rank}` : "all");

function partOf(text: string): Part {
  if (text === "all") return {};
  return text.startsWith("rank ") ? { rank: Number(text.slice(5)) } : { compilation: Number(text) };
}

function Found({ result }: { result: Result | undefined }): JSX.Element | null {
  if (!result) return null;
  if (result.state === "asked") return <p class="empty">Comparing…</p>;
  if (result.state === "failed") return <p class="note error">{result.message}</p>;
  const { pairs, versions } = result;
  const differing = pairs.filter(({ same }) => !same).length;
  return (
    <div class="compare-found" data-differing={differing} tabIndex={0} role="region" aria-label="What differs">
      <p role="status">
        {differing === 0 ? "Nothing differs." : `${plural(differing, "pair")} of ${pairs.length} ${differing === 1 ? "differs" : "differ"}.`}
        {versions && versions[0] !== versions[1] && ` PyTorch ${versions[0] ?? "(not named)"} and ${versions[1] ?? "(not named)"}.`}
      </p>
      {pairs.slice(0, MOST_ROWS).map((pair, at) => (
        <Pair key={at} pair={pair} />
      ))}
      {pairs.length > MOST_ROWS && <p class="muted">And {pairs.length - MOST_ROWS} more.</p>}
    </div>
  );
}

const size = (bytes: number | null): string => (bytes === null ? "unknown" : formatBytes(bytes));
const place = (line: LogLine | null): string => (line ? `${line.file}:${line.line}` : "");

function Pair({ pair }: { pair: PairDiff }): JSX.Element {
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
