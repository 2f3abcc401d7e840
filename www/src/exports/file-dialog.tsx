// "One HTML file": what it is made of, and what it then holds, before it is made.
import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { formatBytes } from "../report/format";
import { type Log, logs, overview, sentence } from "../state/logs";
import { logRun, shown } from "../state/session";
import { WhatIsCut } from "../ui/what-is-cut";
import { download } from "./deliver";
import { gather, ranksIn, type Second, type Source, titleOfSource } from "./gather";
import { htmlFile } from "./html-file";

/** What is shown, and what may stand beside it. */
function sources(): { first: Source | undefined; others: readonly Source[] } {
  const run = shown.value;
  const own: Source[] = run && run.outcome.kind !== "running" ? [{ kind: "run", run }] : [];
  const all = logs.value.map((log): Source => ({ kind: "log", log }));
  const isShown = (source: Source): boolean => (source.kind === "log" ? source.log.id === logRun.value?.log?.id : !logRun.value);
  const first = [...own, ...all].find(isShown);
  // A run that compiled nothing has nothing to compare.
  const others = [...own.filter((source) => source.kind === "run" && source.run.report.compilations.length > 0), ...all].filter((source) => !isShown(source));
  const compares = first?.kind === "log" || (first?.run.report.compilations.length ?? 0) > 0;
  return { first, others: compares ? others : [] };
}

export function FileDialog(): JSX.Element {
  const whole = useSignal(false);
  const beside = useSignal("");
  const said = useSignal("");
  const making = useSignal(false);
  const ranks = useSignal<{ log: Log; ranks: readonly number[] } | undefined>(undefined);
  const { first, others } = sources();
  useSignalEffect(() => {
    const { first } = sources();
    if (first?.kind !== "log") return;
    const { log } = first;
    overview(log).then(
      (found) => (ranks.value = { log, ranks: ranksIn(found) }),
      () => {},
    );
  });
  if (!first) return <p class="empty">There is nothing to put into a file yet: the script still runs.</p>;
  const hasRanks = first.kind === "log" && ranks.value?.log.id === first.log.id && ranks.value.ranks.length > 1;
  const second: Second = beside.value === "ranks" ? "ranks" : others[Number(beside.value || "-1")];
  const holdsLog = first.kind === "log" || (typeof second === "object" && second.kind === "log");
  const make = async (): Promise<void> => {
    making.value = true;
    try {
      const { kept, name } = await gather(first, second, !whole.value, (progress) => (said.value = progress));
      const file = await htmlFile(kept);
      download(file, fileName(name));
      said.value = `${fileName(name)} (${formatBytes(file.size)}) is downloaded.`;
    } catch (error) {
      said.value = `It can't be made: ${sentence(error)}.`;
    } finally {
      making.value = false;
    }
  };
  return (
    <>
      <p>
        A file that any browser opens, from a disk and without a network: graphs as text, picture and table, saved values, memory, guards, and what was printed. It computes nothing: scripts,
        other partitions and other sizes need the playground.
      </p>
      {(others.length > 0 || hasRanks) && (
        <label class="field">
          Beside it, with what differs
          <select class="select" aria-label="Beside it" value={beside.value} disabled={making.value} onChange={({ currentTarget }) => (beside.value = currentTarget.value)}>
            <option value="">nothing</option>
            {hasRanks && <option value="ranks">its other ranks</option>}
            {others.map((source, at) => (
              <option key={at} value={String(at)}>
                {source.kind === "run" ? "this script's run" : titleOfSource(source)}
              </option>
            ))}
          </select>
        </label>
      )}
      {holdsLog && <WhatIsCut whole={whole} />}
      {(first.kind === "run" || (typeof second === "object" && second.kind === "run")) && <p>It holds the script, the files beside it, and what they printed.</p>}
      <div class="export-actions">
        <span role="status">{said.value}</span>
        <button type="button" class="button primary" disabled={making.value} onClick={() => void make()}>
          Download HTML file
        </button>
      </div>
    </>
  );
}

/** A name that every disk takes. */
function fileName(title: string): string {
  const base = title.replace(/\.(?:log|txt|zip|gz|aotz)$/, "").replace(/[^\w.-]+/g, "_").slice(0, 80).replace(/^[._]+|[._]+$/g, "");
  return `${base || "report"}.html`;
}
