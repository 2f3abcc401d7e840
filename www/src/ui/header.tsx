// The bar at the top: what this is, how scripts run, and the ways in and out.
import type { JSX } from "preact";
import { BUILD, VERSION } from "../build";
import { PYTORCH_VERSION } from "../generated/report";
import { formatBytes, formatSeconds } from "../report/format";
import { quote } from "../report/quote";
import { openDialog } from "../state/dialogs";
import { BACKENDS, DEFAULTS, type Options, options } from "../state/options";
import { runScript, setOption } from "../state/script";
import { ended, engine, loadAgain, logRun, running, shown, stopRun } from "../state/session";
import { OpenButton } from "./open-button";
import { OptionsMenu } from "./options";
import { ShareMenu } from "./share";

export function Header(): JSX.Element {
  return (
    <header class="header">
      <h1 class="brand">
        <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" width="20" height="20" />
        AOT Playground
        <span class="version" title="The release of PyTorch whose behaviour is imitated">
          PyTorch {(shown.value?.report.pytorch ?? PYTORCH_VERSION).replace(/\.0$/, "")}
        </span>
        <Version />
      </h1>
      <Status />
      <div class="actions">
        <button type="button" class="button" onClick={() => openDialog("gallery")}>
          Examples
        </button>
        <OpenButton title="Opens a script, or logs, traces and graphs that PyTorch wrote: in this page, nothing is uploaded">Open</OpenButton>
        <select
          class="select backend"
          aria-label="Backend of torch.compile"
          title="What a plain torch.compile stands for. A backend that the script names itself is not changed."
          value={options.value.backend}
          onChange={({ currentTarget }) => setOption("backend", readBackend(currentTarget.value))}
        >
          {BACKENDS.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <OptionsMenu />
        <button type="button" class="button" onClick={() => openDialog("help")}>
          Help
        </button>
        {running.value ? (
          <button type="button" class="button run-stop danger" onClick={() => stopRun()}>
            Stop
          </button>
        ) : engine.value.state === "failed" ? (
          <button type="button" class="button" onClick={loadAgain}>
            Load again
          </button>
        ) : (
          <button type="button" class="button run-stop" title="Ctrl+Enter" onClick={runScript}>
            Run
          </button>
        )}
        <ShareMenu />
      </div>
    </header>
  );
}

/** What this build of the page is, and where its source is. */
function Version(): JSX.Element {
  const about = "The version of this page, and the commit that it was built from";
  if (!BUILD.source) {
    return (
      <span class="version build" title={about}>
        {VERSION}
      </span>
    );
  }
  return (
    <a class="version build" title={`${about}: to its source`} href={BUILD.source} target="_blank" rel="noopener">
      {VERSION}
    </a>
  );
}

function readBackend(name: string): Options["backend"] {
  return BACKENDS.find((known) => known === name) ?? DEFAULTS.backend;
}

/** What goes on: the download, the run, how the last one ended. */
export function Status(): JSX.Element {
  const now = engine.value;
  if (now.state === "loading" && now.progress.total > 0) {
    const { loaded, total } = now.progress;
    return (
      <div class="status">
        <progress aria-label="Loading the interpreter" value={loaded} max={total} />
        <Recording />
        <span>
          {formatBytes(loaded)} of {formatBytes(total)}
        </span>
      </div>
    );
  }
  return (
    <div
      class="status"
      role="status"
      data-state={running.value ? "running" : now.state}
      data-elapsed={shown.value?.elapsed}
      data-took={shown.value?.took}
      data-ended={ended.value}
    >
      <Recording />
      <span class="status-text">{statusText()}</span>
    </div>
  );
}

/** Says that what is shown is not of this browser yet. */
function Recording(): JSX.Element | null {
  if (!shown.value?.recorded || logRun.value) return null;
  return (
    <span class="recording" title="What is shown was recorded when this page was built. Your browser's own run takes its place as soon as it is there.">
      Recording
    </span>
  );
}

/** The name of an exception: one that no Python class has is quoted, since the script may call it anything. */
function named(type: string): string {
  return /^[A-Za-z_][\w.]{0,59}$/.test(type) ? type : quote(type);
}

function statusText(): string {
  const now = engine.value;
  if (now.state === "failed") return `The interpreter could not be loaded: ${now.message}`;
  if (running.value) return now.state === "ready" ? "Running…" : "Starting the interpreter…";
  const run = shown.value;
  if (!run) return now.state === "loading" ? "Loading the interpreter…" : "";
  const time = formatSeconds(run.elapsed / 1000);
  if (run.outcome.kind === "stopped") return "Stopped";
  return run.report.exception ? `${named(run.report.exception.type)}, after ${time}` : `Ran in ${time}`;
}
