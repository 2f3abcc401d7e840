// Try another size: which cache entry would serve a call, which guard fails, and what a recompile would make.
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { CacheEntryInput, CacheEntrySymbol, CacheEntryView, CapturedGraph, Recompile, Trial, WhatIf } from "../../generated/report";
import { askWhatIf } from "../../state/session";
import { Line } from "./line";

/** A pause in typing after which the question is asked. */
const PAUSE_MS = 150;

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

export function TryAnotherSize({ regions }: { regions: readonly CapturedGraph[] }): JSX.Element | null {
  const all = useMemo(() => pieces(regions), [regions]);
  const [frame, setFrame] = useState<number>();
  const piece = all.find((candidate) => candidate.frame === frame) ?? all.find(({ last }) => last.inputs.some(({ is_static }) => !is_static));
  if (!piece) return null;
  return (
    <section class="try" aria-labelledby="try-title">
      <h2 id="try-title">Try another size</h2>
      {all.length > 1 && (
        <label class="field">
          of
          <select class="select" value={String(piece.frame)} onChange={(event) => setFrame(Number(event.currentTarget.value))}>
            {all.map(({ frame: number, title }) => (
              <option key={number} value={String(number)}>
                {title} [{number}]
              </option>
            ))}
          </select>
        </label>
      )}
      <Question key={piece.frame} frame={piece.frame} last={piece.last} regions={regions} />
    </section>
  );
}

function Question({ frame, last, regions }: { frame: number; last: CacheEntryView; regions: readonly CapturedGraph[] }): JSX.Element {
  const inputs = last.inputs.filter(({ is_static }) => !is_static);
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const [answer, setAnswer] = useState<{ is: WhatIf } | { failed: string }>();
  const textOf = (input: CacheEntryInput): string => typed[input.source] ?? input.real_sizes.join(", ");
  const wrong = inputs.filter((input) => readSizes(textOf(input)) === undefined);
  const asked = JSON.stringify(inputs.map((input): Trial => ({ source: input.source, sizes: readSizes(textOf(input)) ?? [] })));
  useEffect(() => {
    if (wrong.length > 0) return undefined;
    let current = true;
    const timer = setTimeout(() => {
      askWhatIf(regions, frame, JSON.parse(asked) as Trial[]).then(
        (is) => current && setAnswer({ is }),
        (error: unknown) => current && setAnswer({ failed: error instanceof Error ? error.message : String(error) }),
      );
    }, PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [asked, frame, regions, wrong.length]);
  return (
    <>
      <div class="try-inputs">
        {inputs.map((input) => (
          <label key={input.source} class="field">
            <span class="code">{nameOf(input.source)}</span>
            <input
              class="select code"
              type="text"
              inputMode="text"
              autocomplete="off"
              spellcheck={false}
              aria-invalid={wrong.includes(input)}
              value={textOf(input)}
              onInput={(event) => setTyped({ ...typed, [input.source]: event.currentTarget.value })}
            />
            <span class="faint code">{input.dtype}</span>
          </label>
        ))}
      </div>
      <div aria-live="polite">
        {wrong.length > 0 && <p class="warning">Sizes are whole numbers with commas between them: 8, 4.</p>}
        {wrong.length === 0 && answer && ("is" in answer ? <Answer answer={answer.is} /> : <p class="warning">{answer.failed}</p>)}
      </div>
    </>
  );
}

function Answer({ answer: { entries, recompile } }: { answer: WhatIf }): JSX.Element {
  return (
    <>
      <ol class="verdicts">
        {entries.map(({ region, failed, span }, index) => (
          <li key={region} class={failed === null ? "serves" : "fails"}>
            <span class="muted">Entry {index}:</span>{" "}
            {failed === null ? (
              <strong>serves it</strong>
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
  if (limit) return <p class="note">No entry serves it, and there are as many as PyTorch keeps for a piece of code: it would run without being compiled.</p>;
  return (
    <>
      <p>{symbols.length > 0 ? "It would be compiled anew, with the sizes that have varied as symbols:" : "It would be compiled anew, for these very sizes:"}</p>
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
