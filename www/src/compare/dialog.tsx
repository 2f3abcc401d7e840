// "Compare": the script under several backends; two compilations beside each other, or two logs: which saved values differ, in bytes, first;
// then what else does.
import { signal, useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { LogOverview, PairDiff } from "../generated/report";
import { plural } from "../report/format";
import { addLog, compare, type Log, logs, overview, type Part, sentence, textsOf, traceOf } from "../state/logs";
import { shown } from "../state/session";
import { BackendLadder } from "./ladder";
import { Differences, MOST_ROWS, type ReadTexts, type Versions } from "./differences";
import "./compare.css";

interface Side {
  log: number;
  part: Part;
}

type Result = { state: "asked" } | { state: "there"; pairs: readonly PairDiff[]; versions: Versions | undefined; texts: ReadTexts } | { state: "failed"; message: string };

const wanted = signal<readonly [Side | undefined, Side | undefined]>([undefined, undefined]);

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
      .then((found): Result => ({ state: "there", ...found, texts: async ([first, second]) => Promise.all([textsOf(one, first), textsOf(other, second)]) }))
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
      <BackendLadder />
      <h3>Logs</h3>
      <p class="muted">Compilations are matched by what they compute, and values by what computes them, whatever they are called.</p>
      {all.length === 0 && <p>No log is open. Open one, or add this script's run before you change it, to compare it with the next.</p>}
      <div class="compare-sides">
        {all.length > 0 && <Chooser label="First" side={first} onChange={(side) => (wanted.value = [side, second])} />}
        {all.length > 0 && <Chooser label="Second" side={second} onChange={(side) => (wanted.value = [first, side])} />}
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
  return <Differences pairs={result.pairs} versions={result.versions} texts={result.texts} />;
}
