// What is shown: the script's run, or one of the logs that are open. It stands below the header while there are any.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { formatBytes } from "../report/format";
import { notice } from "../state/address";
import { openDialog } from "../state/dialogs";
import { closeLog, type Log, logs, reading, sentence, showLog, showScript, unreadable } from "../state/logs";
import { logRun } from "../state/session";

/** The log that is asked to be closed. */
const closing = signal<Log | undefined>(undefined);

export function LogBar(): JSX.Element | null {
  const all = logs.value;
  if (all.length === 0 && !reading.value) return null;
  const shown = logRun.value?.log?.id;
  const kept = all.filter(({ key }) => key !== undefined).reduce((sum, { bytes }) => sum + bytes, 0);
  const open = (log: Log): void => {
    showLog(log).catch((error: unknown) => (notice.value = { tone: "error", lines: [`${log.name} can't be read: ${sentence(error)}.`] }));
  };
  return (
    <section class="log-bar" aria-label="Logs">
      <div class="log-tabs" role="group" aria-label="What is shown">
        <button type="button" class="log-name" aria-pressed={shown === undefined} onClick={showScript}>
          Script
        </button>
        {all.map((log) => (
          <span key={log.id} class="log-chip">
            <button type="button" class="log-name" aria-pressed={shown === log.id} title={log.name} onClick={() => open(log)}>
              <bdi>{log.name}</bdi>
            </button>
            <button type="button" class="log-close" aria-label={`Close ${log.name}`} title="Close it, and delete it from this browser" onClick={() => (closing.value = log)}>
              ✕
            </button>
          </span>
        ))}
      </div>
      {all.length > 0 && (
        <button type="button" class="button" onClick={() => openDialog("compare")}>
          Compare…
        </button>
      )}
      <p class="muted" role="status">
        {reading.value
          ? `Reading ${reading.value}…`
          : (unreadable.value ?? `Nothing is uploaded.${kept > 0 ? ` Kept in this browser until closed: ${formatBytes(kept)}.` : " Kept until this tab closes."}`)}
      </p>
      {closing.value && all.includes(closing.value) && <Closing log={closing.value} />}
    </section>
  );
}

function Closing({ log }: { log: Log }): JSX.Element {
  return (
    <div class="log-closing" role="alert">
      <span>
        Delete <bdi>{log.name}</bdi> ({formatBytes(log.bytes)}) from this browser?
      </span>
      <button
        type="button"
        class="button danger"
        onClick={() => {
          closing.value = undefined;
          closeLog(log);
        }}
      >
        Delete
      </button>
      <button type="button" class="button" onClick={() => (closing.value = undefined)}>
        Keep
      </button>
    </div>
  );
}
