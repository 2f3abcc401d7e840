// Training steps with the compiled graphs: the recipe, the loss as it falls, and the parameters afterwards.
import { pythonLanguage } from "@codemirror/lang-python";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Named } from "../../generated/report";
import { formatBytes, formatSeconds, formatShape, plural } from "../../report/format";
import { labels } from "../../report/labels";
import { statistics } from "../../report/statistics";
import { elements, formatElement } from "../../report/tensor";
import { attempt, bundle, cancelOnDevice } from "../../state/gpu";
import { isTiming } from "../../state/timing";
import {
  descending,
  descent,
  type Descent,
  frozen,
  lr,
  momentum,
  pauseTraining,
  setLr,
  STEPS,
  steps,
  train,
  trainable,
  trainOn,
} from "../../state/training";
import { selectedUnit } from "../../state/unit";
import { CodeView } from "../../ui/code-view";
import { Columns, number } from "../../ui/columns";
import { Losses } from "./losses";
import { Adapter, Drawn } from "./pane";

const PYTHON = pythonLanguage;

export function TrainingView(): JSX.Element {
  const what = bundle.value;
  const now = descent.value;
  if (!what && !now) return <p class="empty">Once the script has run a compiled forward and backward, they can be trained here.</p>;
  return (
    <div class="training">
      {what && !what.backward ? (
        <p class="empty">The script has run no backward of this graph, so there are no gradients to train with.</p>
      ) : (
        what && <Recipe />
      )}
      {now && <Progress now={now} old={now.bundle !== what} />}
      {!now && what?.backward && (
        <p class="empty">
          Each step runs the compiled forward, the compiled backward and the optimizer as one graph: its kernels are built once and replayed, and
          parameters stay on the device between steps. Every step sees the batch that the script gave.
        </p>
      )}
    </div>
  );
}

function Recipe(): JSX.Element {
  const busy = descending.value;
  const names = trainable.value;
  const known = labels(selectedUnit.value);
  const chosen = names.filter((name) => !frozen.value.has(name));
  const toggle = (name: string): void => {
    const next = new Set(frozen.value);
    if (!next.delete(name)) next.add(name);
    frozen.value = next;
  };
  const isElsewhere = attempt.value?.state === "loading" || isTiming.value;
  const resting = descent.value?.phase === "resting" && descent.value.bundle === bundle.value;
  return (
    <>
      <div class="recipe">
        {busy ? (
          <>
            <button type="button" class="button primary" onClick={pauseTraining}>
              Pause
            </button>
            <button type="button" class="button" onClick={() => cancelOnDevice()}>
              Cancel
            </button>
          </>
        ) : (
          <button
            type="button"
            class="button primary"
            disabled={chosen.length === 0 || isElsewhere}
            title={isElsewhere ? "A run is still going on: the device does one thing at a time" : undefined}
            onClick={() => void train()}
          >
            {resting ? "Start again" : "Train"}
          </button>
        )}
        {resting && (
          <button type="button" class="button" disabled={isElsewhere} onClick={() => void trainOn()}>
            {plural(steps.value, "step")} more
          </button>
        )}
        <label class="field">
          steps
          <select class="select" value={String(steps.value)} disabled={busy} onChange={(event) => (steps.value = Number(event.currentTarget.value))}>
            {STEPS.map((count) => (
              <option key={count} value={String(count)}>
                {count.toLocaleString("en")}
              </option>
            ))}
          </select>
        </label>
        <NumberField name="lr" value={lr.value} onChange={setLr} help="SGD's step size. It may be changed while steps are taken." />
        <NumberField
          name="momentum"
          value={momentum.value}
          disabled={busy}
          onChange={(value) => (momentum.value = value)}
          help="How much of the last step's direction is kept."
        />
      </div>
      <details class="parameters">
        <summary>{names.length === 0 ? "Nothing here can be trained" : `${chosen.length} of ${plural(names.length, "parameter")} trained`}</summary>
        <ul>
          {names.map((name) => (
            <li key={name}>
              <label class="check">
                <input type="checkbox" checked={!frozen.value.has(name)} disabled={busy} onChange={() => toggle(name)} />
                <span class="code">{known.get(name) ?? name}</span>
                {known.has(name) && <span class="faint code">{name}</span>}
              </label>
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

interface FieldProps {
  name: string;
  value: number;
  disabled?: boolean;
  help: string;
  onChange(value: number): void;
}

function NumberField({ name, value, disabled = false, help, onChange }: FieldProps): JSX.Element {
  return (
    <label class="field" title={help}>
      {name}
      <input
        class="select number-input"
        type="number"
        step="any"
        min="0"
        value={value}
        disabled={disabled}
        onInput={(event) => {
          const next = event.currentTarget.valueAsNumber;
          if (Number.isFinite(next) && next >= 0) onChange(next);
        }}
      />
    </label>
  );
}

function Progress({ now, old }: { now: Descent; old: boolean }): JSX.Element {
  const { phase, training, losses, taken, wanted, seconds, progress, message, parameters } = now;
  const last = losses.at(-1);
  const rate = seconds > 0 && taken > 0 ? taken / seconds : undefined;
  const broken = last !== undefined && !Number.isFinite(last);
  return (
    <>
      {old && <p class="stale">This training is of another compilation, or of an earlier script.</p>}
      {training && <Adapter device={training.device} />}
      <Drawn bundle={now.bundle} />
      <p class="summary" aria-live="polite">
        {phase === "building" && (
          <span class="chip">
            {progress && progress.loaded < progress.total
              ? `Loading the GPU module: ${formatBytes(progress.loaded)} of ${formatBytes(progress.total)}`
              : "Building the step…"}
          </span>
        )}
        {taken > 0 && (
          <>
            <span class={broken ? "chip bad" : "chip good"} data-loss={last}>
              loss {last === undefined ? "" : formatElement(last)}
            </span>
            <span class="chip" data-steps={taken}>
              {plural(taken, "step")}
              {phase === "running" ? "…" : ""}
            </span>
          </>
        )}
        {rate !== undefined && (
          <span class="chip">
            {rate >= 10 ? Math.round(rate).toLocaleString("en") : rate.toFixed(1)} steps a second
          </span>
        )}
        {phase === "running" && rate !== undefined && taken < wanted && (
          <span class="chip" data-left={wanted - taken}>
            about {formatSeconds((wanted - taken) / rate)} for the {(wanted - taken).toLocaleString("en")} to come
          </span>
        )}
        {training && training.device.backend !== "cpu" && (
          <span class="chip">
            {plural(training.dispatches, "dispatch", "dispatches")} a step
            <span class="muted">
              , {formatBytes(training.bytes)} on the device, {formatSeconds(training.compile_seconds)} to build
            </span>
          </span>
        )}
      </p>
      {phase === "failed" && <p class="note error">No step can be taken: {message}.</p>}
      {broken && <p class="note">The loss is no longer finite: the steps are too large. A smaller lr and a fresh start help.</p>}
      {training?.stands_in && (
        <p class="note">
          No output of this graph is a scalar, so the mean of the squares of <code>{training.loss}</code> stands in for a loss.
        </p>
      )}
      {training && training.carried.length > 0 && (
        <p class="caption">
          Carried from step to step, as the forward writes to {training.carried.length === 1 ? "it" : "them"}: <code>{training.carried.join(", ")}</code>.
        </p>
      )}
      {training?.notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
      {taken > 0 && <Losses losses={losses} taken={taken} />}
      {parameters && <Parameters values={parameters} now={now} />}
      {training && (
        <details class="step-graph">
          <summary>The step as a graph</summary>
          <CodeView class="step-text" text={training.readable} label="The training step" language={PYTHON} />
        </details>
      )}
    </>
  );
}

/** How far every parameter has moved from where the script left it. */
function Parameters({ values, now }: { values: readonly Named[]; now: Descent }): JSX.Element {
  const known = labels(selectedUnit.value);
  const rows = useMemo(
    () =>
      values.map(({ name, value }) => {
        const before = now.bundle.inputs.find((input) => input.name === name)?.value;
        const numbers = value.kind === "tensor" ? elements(value.tensor) : undefined;
        // What was drawn for the training is not here.
        const isDrawn = now.bundle.drawn.some((drawn) => drawn.name === name);
        const start = before?.kind === "tensor" && !isDrawn ? elements(before.tensor) : undefined;
        const moved = numbers && start ? Math.sqrt(numbers.reduce((sum, x, i) => sum + (x - (start[i] ?? 0)) ** 2, 0)) : undefined;
        return { name, shape: value.kind === "tensor" ? value.tensor.shape : undefined, facts: numbers && statistics(numbers), moved };
      }),
    [values],
  );
  return (
    <table class="table">
      <caption>Parameters now</caption>
      <Columns titles={["Parameter", "Shape", number("min"), number("mean"), number("max"), number("moved", "Distance from where it began, as a vector's length")]} />
      <tbody>
        {rows.map(({ name, shape, facts, moved }) => (
          <tr key={name}>
            <th scope="row" class="code">
              {known.get(name) ?? name}
            </th>
            <td class="code">{formatShape(shape)}</td>
            <td class="number">{facts && formatElement(facts.min)}</td>
            <td class="number">{facts && formatElement(facts.mean)}</td>
            <td class="number">{facts && formatElement(facts.max)}</td>
            <td class="number">{moved !== undefined && formatElement(moved)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
