// The bar at the top: what this is, how scripts run, and how to share one.
import type { JSX } from "preact";
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { PYTORCH_VERSION } from "../generated/report";
import { formatBytes, formatSeconds } from "../report/format";
import { share } from "../state/address";
import { BACKENDS, LIMITS, type Options } from "../state/options";
import { options, runScript, setOption } from "../state/script";
import { engine, running, shown, stopRun } from "../state/session";

export function Header(): JSX.Element {
  return (
    <header class="header">
      <h1 class="brand">
        <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" width="20" height="20" />
        AOT Playground
        <span class="version" title="The release of PyTorch whose behaviour is imitated">
          PyTorch {PYTORCH_VERSION.replace(/\.0$/, "")}
        </span>
      </h1>
      <Status />
      <div class="actions">
        <Choice
          name="backend"
          label="Backend"
          title="What a plain torch.compile stands for"
          choices={BACKENDS.map((backend) => [backend, backend.replace("_default_partitioner", " (default partitioner)")])}
        />
        <Choice name="limit" label="Time limit" title="A script that runs longer is stopped" choices={LIMITS.map((limit) => [limit, `${limit} s`])} />
        {running.value ? (
          <button type="button" class="button danger" onClick={() => stopRun()}>
            Stop
          </button>
        ) : (
          <button type="button" class="button" title="Ctrl+Enter" disabled={engine.value.state === "failed"} onClick={runScript}>
            Run
          </button>
        )}
        <Share />
      </div>
    </header>
  );
}

function Choice<K extends keyof Options>({
  name,
  label,
  title,
  choices,
}: {
  name: K;
  label: string;
  title: string;
  choices: readonly (readonly [Options[K], string])[];
}): JSX.Element {
  return (
    <select
      class="select"
      aria-label={label}
      title={title}
      value={String(options.value[name])}
      onChange={(event) => {
        const chosen = choices.find(([value]) => String(value) === event.currentTarget.value);
        if (chosen) setOption(name, chosen[0]);
      }}
    >
      {choices.map(([value, text]) => (
        <option key={String(value)} value={String(value)}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** What goes on: the download, the run, how the last one ended. */
function Status(): JSX.Element {
  const now = engine.value;
  if (now.state === "loading" && now.progress.total > 0) {
    const { loaded, total } = now.progress;
    return (
      <div class="status">
        <progress aria-label="Loading the interpreter" value={loaded} max={total} />
        <span>
          {formatBytes(loaded)} of {formatBytes(total)}
        </span>
      </div>
    );
  }
  return (
    <div class="status" role="status" data-state={running.value ? "running" : now.state} data-elapsed={shown.value?.elapsed}>
      {statusText()}
    </div>
  );
}

function statusText(): string {
  const now = engine.value;
  if (now.state === "failed") return `The interpreter could not be loaded: ${now.message}`;
  if (running.value) return now.state === "ready" ? "Running…" : "Starting the interpreter…";
  const run = shown.value;
  if (!run) return now.state === "loading" ? "Loading the interpreter…" : "";
  const time = formatSeconds(run.elapsed / 1000);
  if (run.outcome.kind === "stopped") return "Stopped";
  return run.report.exception ? `${run.report.exception.type}, after ${time}` : `Ran in ${time}`;
}

function Share(): JSX.Element {
  const popover = useRef<HTMLDivElement>(null);
  const link = useSignal({ href: "", copied: false });
  const make = async (): Promise<void> => {
    const href = await share();
    let copied = true;
    try {
      await navigator.clipboard.writeText(href);
    } catch {
      copied = false;
    }
    link.value = { href, copied };
    popover.current?.showPopover();
  };
  const { href, copied } = link.value;
  return (
    <>
      <button type="button" class="button primary" aria-haspopup="dialog" onClick={() => void make()}>
        Share
      </button>
      <div ref={popover} popover="auto" class="popover" role="dialog" aria-label="Link to this script">
        <p role="status">{copied ? "The link is on your clipboard." : "This link brings all of this back:"}</p>
        <input class="input code" readOnly aria-label="Link" value={href} onFocus={(event) => event.currentTarget.select()} />
        <p class="muted">It holds the script and the options themselves: nothing is stored anywhere.</p>
        <button type="button" class="button" onClick={() => popover.current?.hidePopover()}>
          Close
        </button>
      </div>
    </>
  );
}
