// Try another call: which cache entry would be hit, which guard fails, and what a recompile would make. Sizes and Python values are those
// of the last call, and can be changed.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { CacheEntryInput, CacheEntrySymbol, CacheEntryView, CapturedGraph, LastCall, Recompile, Trial, WhatIf } from "../../generated/report";
import { plural } from "../../report/format";
import { looked, number as readNumber, words } from "../../state/looked";
import { askWhatIf } from "../../state/session";
import { Line } from "./line";

/** A pause in typing after which the question is asked. */
const PAUSE_MS = 150;
/** Python values shown before the visitor asks for all of them. */
const MOST_VALUES = 12;
/** Guards named of which nobody knows whether they pass. */
const MOST_UNKNOWN = 4;

const frameTried = looked<number | undefined>("triedFrame", undefined, readNumber(0, 1e9));
/** What was typed, by frame and source. */
const typed = looked<Readonly<Record<string, string>>>("tried", {}, words);

/** Pieces of code that have entries, by PyTorch's numbers for them, each with its last entry. */
function pieces(regions: readonly CapturedGraph[]): { frame: number; title: string; last: CacheEntryView }[] {
  const found = new Map<number, { frame: number; title: string; last: CacheEntryView }>();
  for (const { entry, function: title } of regions) if (entry) found.set(entry.frame, { frame: entry.frame, title, last: entry });
  return [...found.values()];
}

/** Sizes as they are typed: `8, 4`, `[8, 4]` or `8 4`; `undefined` where they are none. */
export function readSizes(text: string): number[] | undefined {
  const inner = text.trim().replace(/^[[(]/, "").replace(/[\])]$/, "").trim();
  if (inner === "") return [];
  const parts = inner.split(/[\s,×x]+/).filter((part) => part !== "");
  return parts.every((part) => /^\d{1,9}$/.test(part)) ? parts.map(Number) : undefined;
}

/** As the script calls it: `L['x']` is `x`. */
function nameOf(source: string): string {
  return source.replace(/^[LG]\['([^']*)'\]/, "$1");
}

export function TryAnotherCall({ regions, calls }: { regions: readonly CapturedGraph[]; calls: readonly LastCall[] }): JSX.Element | null {
  const all = useMemo(() => pieces(regions), [regions]);
  const varies = ({ last }: { last: CacheEntryView }): boolean => last.inputs.some(({ is_static }) => !is_static) || last.facts.some(({ value }) => value !== null);
  const piece = all.find((candidate) => candidate.frame === frameTried.value) ?? all.find(varies);
  if (!piece) return null;
  return (
    <section class="try" aria-labelledby="try-title">
      <h2 id="try-title">Try another call</h2>
      {all.length > 1 && (
        <label class="field">
          of
          <select class="select" value={String(piece.frame)} onChange={(event) => (frameTried.value = Number(event.currentTarget.value))}>
            {all.map(({ frame: number, title }) => (
              <option key={number} value={String(number)}>
                {title} [{number}]
              </option>
            ))}
          </select>
        </label>
      )}
      <Question key={piece.frame} frame={piece.frame} regions={regions} last={piece.last} call={calls.find((call) => call.frame === piece.frame)} />
    </section>
  );
}

interface Asked {
  frame: number;
  regions: readonly CapturedGraph[];
  last: CacheEntryView;
  /** The last call of the frame, once the script has ended. */
  call: LastCall | undefined;
}

/** A field: a tensor's sizes, or a Python value. */
interface Field {
  source: string;
  initial: string;
  /** Of a tensor. */
  dtype?: string;
}

/** What can be tried: sizes of tensors that are no parameters, and constants that guards of any entry ask for. */
export function fieldsOf({ frame, regions, last, call }: Asked): { tensors: Field[]; values: Field[] } {
  const sizes = (input: CacheEntryInput): readonly number[] => call?.inputs.find(({ source }) => source === input.source)?.sizes ?? input.real_sizes;
  const tensors = last.inputs.filter(({ is_static }) => !is_static).map((input) => ({ source: input.source, initial: sizes(input).join(", "), dtype: input.dtype }));
  const values: Field[] = [];
  const add = (source: string, wanted: string): void => {
    if (values.every((field) => field.source !== source)) values.push({ source, initial: call?.values.find((value) => value.source === source)?.value ?? wanted });
  };
  for (const { entry } of regions.toReversed()) {
    if (entry?.frame !== frame) continue;
    for (const { source, value } of entry.facts) if (value !== null) add(source, value);
    for (const { source, value } of entry.symbols) if (!source.includes(".size()[") && !source.includes(".stride()[")) add(source, String(value ?? ""));
  }
  return { tensors, values };
}

function Question(asked: Asked): JSX.Element {
  const { frame, regions, call } = asked;
  const { tensors, values } = useMemo(() => fieldsOf(asked), [frame, regions, call]);
  const [answer, setAnswer] = useState<{ is: WhatIf } | { failed: string }>();
  const [all, setAll] = useState(false);
  const textOf = ({ source, initial }: Field): string => typed.value[`${frame} ${source}`] ?? initial;
  const wrong = tensors.filter((field) => readSizes(textOf(field)) === undefined);
  const trials: Trial[] = [
    ...tensors.map((field) => ({ source: field.source, sizes: readSizes(textOf(field)) ?? [], value: null })),
    // A value that the last call did not have is tried once it is typed.
    ...values
      .filter(({ source }) => `${frame} ${source}` in typed.value || !call || call.values.some((value) => value.source === source))
      .map((field) => ({ source: field.source, sizes: [], value: textOf(field).trim() })),
  ];
  const question = JSON.stringify(trials);
  useEffect(() => {
    if (wrong.length > 0) return undefined;
    let current = true;
    const timer = setTimeout(() => {
      askWhatIf(regions, frame, JSON.parse(question) as Trial[], call).then(
        (is) => current && setAnswer({ is }),
        (error: unknown) => current && setAnswer({ failed: error instanceof Error ? error.message : String(error) }),
      );
    }, PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [question, frame, regions, call, wrong.length]);
  const drawn = all ? values : values.slice(0, MOST_VALUES);
  const input = (field: Field): JSX.Element => (
    <label key={field.source} class="field">
      <span class="code">{nameOf(field.source)}</span>
      <input
        class="select code"
        type="text"
        inputMode="text"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={wrong.includes(field)}
        value={textOf(field)}
        onInput={(event) => (typed.value = { ...typed.value, [`${frame} ${field.source}`]: event.currentTarget.value })}
      />
      {field.dtype && <span class="faint code">{field.dtype}</span>}
    </label>
  );
  return (
    <>
      <p class="muted">
        {call
          ? `The values are those of the last call${call.region === null ? ", which ran uncompiled" : ""}.`
          : "The values are those that the last entry was made for: the last call is known once the script has ended."}{" "}
        What is not listed is taken to be as it was.
      </p>
      <div class="try-inputs">
        {tensors.map(input)}
        {drawn.map(input)}
        {drawn.length < values.length && (
          <button type="button" class="link" onClick={() => setAll(true)}>
            {plural(values.length - drawn.length, "more value")}
          </button>
        )}
      </div>
      <div aria-live="polite">
        {wrong.length > 0 && <p class="warning">Sizes are whole numbers with commas between them: 8, 4.</p>}
        {wrong.length === 0 && answer && ("is" in answer ? <Answer frame={frame} answer={answer.is} /> : <p class="warning">{answer.failed}</p>)}
      </div>
    </>
  );
}

function Answer({ frame, answer: { entries, recompile } }: { frame: number; answer: WhatIf }): JSX.Element {
  return (
    <>
      <ol class="verdicts">
        {entries.map(({ region, failed, span, unknown }, index) => (
          <li key={region} class={failed === null ? "serves" : "fails"}>
            <span class="muted code">
              [{frame}/{index}]:
            </span>{" "}
            {failed === null ? (
              unknown.length === 0 ? (
                <>
                  <strong>hit</strong>: every guard passes
                </>
              ) : (
                <>
                  <strong>hit, if</strong> {unknown.slice(0, MOST_UNKNOWN).map((text, at) => (
                    <>
                      {at > 0 && ", "}
                      <code key={text}>{text}</code>
                    </>
                  ))}
                  {unknown.length > MOST_UNKNOWN && ` and ${plural(unknown.length - MOST_UNKNOWN, "other guard")}`} {unknown.length === 1 ? "passes" : "pass"}:
                  the last call did not read {unknown.length === 1 ? "that value" : "these values"}
                </>
              )
            ) : (
              <>
                fails on <code>{failed}</code>
                {span && (
                  <>
                    , of line <Line span={span} />
                  </>
                )}
              </>
            )}
          </li>
        ))}
      </ol>
      {recompile && <Anew recompile={recompile} />}
    </>
  );
}

function Anew({ recompile: { inputs, symbols, limit } }: { recompile: Recompile }): JSX.Element {
  if (limit) return <p class="note">A cache miss in every entry, and there are as many as the recompile limit allows: the call runs uncompiled.</p>;
  return (
    <>
      <p>{symbols.length > 0 ? "Recompiles, with dynamic sizes:" : "Recompiles, with static sizes:"}</p>
      <ul class="anew code">
        {inputs
          .filter(({ is_static }) => !is_static)
          .map(({ source, dtype, sizes, strides }) => (
            <li key={source}>
              {nameOf(source)}: {dtype}[{sizes.join(", ")}][{strides.join(", ")}]
            </li>
          ))}
        {symbols.map((symbol) => (
          <li key={symbol.name} class="muted">
            {bounds(symbol)} <span class="faint">= {nameOf(symbol.source)}, now {symbol.value}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function bounds({ name, lower, upper }: CacheEntrySymbol): string {
  return `${lower === null ? "" : `${lower} <= `}${name}${upper === null ? "" : ` <= ${upper}`}`;
}
