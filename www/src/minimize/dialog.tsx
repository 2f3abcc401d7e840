// "Minimize": what is kept of the script, and the smallest one so far, as it shrinks.
import { pythonLanguage } from "@codemirror/lang-python";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Report } from "../generated/report";
import { plural } from "../report/format";
import { units } from "../report/stages";
import { closeDialog } from "../state/dialogs";
import { type Keep, minimize, type Search, search, stopMinimizing } from "../state/minimize";
import { useProgram } from "../state/script";
import { shown } from "../state/session";
import { CodeView } from "../ui/code-view";
import "./minimize.css";

const KEEPS: readonly (readonly [Keep, string, string])[] = [
  ["exception", "The exception", "The script still ends in an exception of this class with this message, whatever numbers are in it."],
  ["text", "A text", "The script still prints this text, or its exception has it."],
  ["operator", "An operator", "A graph of the script still calls this operator."],
  ["differs", "What differs from eager mode", "The script still computes or prints something else than in eager mode."],
];

/** Operators of a report's graphs, in the order of their names. */
function operators(report: Report | undefined): string[] {
  const nodes = report ? units(report).flatMap(({ stages }) => Object.values(stages).flatMap((graph) => graph.nodes)) : [];
  const targets = nodes.filter(({ op, target }) => op === "call_function" && target.startsWith("aten.")).map(({ target }) => target);
  return [...new Set(targets)].toSorted();
}

export function MinimizeDialog(): JSX.Element {
  const report = shown.value?.report;
  const exception = report?.exception;
  const keep = useSignal<Keep>(exception ? "exception" : "text");
  const texts = useSignal({ text: report?.stdout.trim().split("\n").at(-1) ?? "", operator: operators(report)[0] ?? "" });
  const now = search.value;
  const isRunning = now?.state === "running";
  const chosen = keep.value;
  const what = chosen === "text" || chosen === "operator" ? texts.value[chosen] : "";
  const isReady = chosen === "exception" ? exception : chosen === "differs" || what.trim() !== "";
  return (
    <>
      <p>Takes statements, arguments, modules and sizes away as long as the script still has what you keep. Your script stays as it is until you use what is left.</p>
      <fieldset class="minimize-keeps" disabled={isRunning}>
        <legend>Keep</legend>
        <div class="export-formats">
          {KEEPS.map(([name, title]) => (
            <label key={name} class="choice">
              <input type="radio" name="keep" checked={chosen === name} onChange={() => (keep.value = name)} />
              <span>{title}</span>
            </label>
          ))}
        </div>
        <p class="muted">{KEEPS.find(([name]) => name === chosen)?.[2]}</p>
        {chosen === "exception" && <p class="minimize-what">{exception ? `${exception.type}: ${exception.message.split("\n")[0]}` : "No exception ended the last run."}</p>}
        {(chosen === "text" || chosen === "operator") && (
          <input
            class="input minimize-input"
            aria-label={chosen === "text" ? "Text" : "Operator"}
            placeholder={chosen === "text" ? "a text that it prints" : "aten.mm"}
            list={chosen === "operator" ? "minimize-operators" : undefined}
            value={what}
            spellcheck={false}
            onInput={({ currentTarget: { value } }) => (texts.value = { ...texts.value, [chosen]: value })}
          />
        )}
        <datalist id="minimize-operators">
          {operators(report).map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </fieldset>
      {now?.smallest && <CodeView class="minimize-text" text={now.smallest.text} label="The smallest script so far" language={pythonLanguage} numbered />}
      <div class="export-actions">
        <span role="status">{now && inWords(now)}</span>
        {isRunning ? (
          <button type="button" class="button" onClick={stopMinimizing}>
            Stop
          </button>
        ) : (
          <button type="button" class={now?.smallest ? "button" : "button primary"} disabled={!isReady} onClick={() => minimize(chosen, what)}>
            Start
          </button>
        )}
        {now?.smallest && (
          <button type="button" class="button primary" disabled={isRunning} onClick={() => now.smallest && take(now.smallest.text)}>
            Use this script
          </button>
        )}
      </div>
    </>
  );
}

function inWords({ whole, smallest, state, why }: Search): string {
  if (state === "refused") return `There is nothing to keep: ${why}.`;
  if (!whole || !smallest) return state === "running" ? "Running the script…" : "Stopped before the script had ended.";
  const so = { running: "so far", stopped: "when it was stopped", ended: "" }[state];
  return `${plural(smallest.statements, "statement")} of ${whole.statements} ${so}, ${plural(smallest.tries, "script")} tried`.replace(" ,", ",");
}

/** Puts it into the editor, where it can be undone. */
function take(text: string): void {
  useProgram(text);
  search.value = undefined;
  closeDialog();
}
