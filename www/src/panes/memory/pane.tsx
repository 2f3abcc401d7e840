// Memory over time: live bytes through forward and backward in eager mode and under several partitions, what is alive at the
// peak or at any step, by line of the script; and the curve over memory budgets.
import { computed } from "@preact/signals";
import type { JSX } from "preact";
import type { MemoryProfile } from "../../generated/report";
import { recomputedBy } from "../../report/counts";
import { formatBytes, plural } from "../../report/format";
import { aliveAt, byLine } from "../../report/partition";
import { placeInWords, shortPlace } from "../../report/place";
import { looked, number as readNumber, oneOf } from "../../state/looked";
import { answerTo, compilation, MEMORY_QUESTIONS, USUAL_BUDGET } from "../../state/partition";
import { select } from "../../state/selection";
import { graphsRun } from "../../state/session";
import { COMPUTES_NOTHING, still } from "../../state/still";
import { Columns, number } from "../../ui/columns";
import { SentenceText } from "../../ui/sentence";
import { TermLink } from "../../ui/term";
import { SourceName } from "../../ui/source-name";
import { Decided } from "../log";
import { Chart, type Series } from "./chart";
import { Curve } from "./curve";
import { whyNoTrace } from "../../state/unit";
import "../partition/partition.css";

/** The budget beside the others. */
export const budget = looked("memoryBudget", USUAL_BUDGET, readNumber(0, 1));
const chosen = looked<string>("memorySeries", "run", oneOf(["eager", "default", "run", "budget"]));
/** The step looked at, of the chosen series; the peak where none is. */
const step = looked<number | undefined>("memoryStep", undefined, readNumber(0, 1e9));

interface Shown extends Series {
  savedBytes: number | undefined;
  activations: number | undefined;
  recomputed: number | undefined;
}

const KINDS = [
  { key: "eager", label: () => "eager" },
  { key: "default", label: () => "default partitioner" },
  { key: "run", label: () => "this run" },
  { key: "budget", label: () => `min-cut, budget ${budget.value}` },
] as const;

const answers = computed(() => {
  const found: Shown[] = [];
  let message: string | undefined;
  for (const { key, label } of KINDS) {
    const answer = answerTo(MEMORY_QUESTIONS[key](budget.value));
    if (answer?.answer === "failed") message = answer.message;
    if (answer?.answer === "eager") found.push({ key, label: label(), memory: answer.memory, savedBytes: undefined, activations: undefined, recomputed: undefined });
    if (answer?.answer === "partition") {
      const { partition, memory } = answer.partition;
      found.push({ key, label: label(), memory, savedBytes: partition.saved_bytes, activations: partition.activation_bytes, recomputed: recomputedBy(partition) });
    }
  }
  return { found, message };
});

export function MemoryView(): JSX.Element {
  const unit = compilation.value;
  if (!unit?.partition && graphsRun.value?.log && unit?.kind === "joint") return <Decided />;
  if (!unit?.partition) return <p class="empty">{unit ? "There is no backward here to keep memory for." : (whyNoTrace.value ?? "Memory through forward and backward appears here.")}</p>;
  const { found, message } = answers.value;
  // Of a large report a file holds only some of the answers.
  if (message && (!still || found.length === 0)) return <p class={still ? "empty" : "note error"}>{message}</p>;
  if (found.length === 0) return <p class="empty">Following every storage…</p>;
  const series = found.find(({ key }) => key === chosen.value) ?? found[0];
  // A step of a link may be beyond the series.
  const at = series && Math.min(step.value ?? series.memory.peak_step, series.memory.steps.length - 1);
  const choose = (key: string, position?: number): void => {
    chosen.value = key;
    step.value = position;
  };
  return (
    <div class="scroll memory" tabIndex={0} role="region" aria-label="Memory">
      {graphsRun.value?.log && <Decided />}
      <Peak />
      <Chart series={found} chosen={series?.key} at={at} onChoose={choose} />
      <Totals found={found} onChoose={choose} />
      {still ? (
        <p class="caption">{COMPUTES_NOTHING}</p>
      ) : (
        <label class="field run-controls">
          Budget
          <input type="range" min="0" max="1" step="0.05" value={budget.value} onInput={({ currentTarget }) => (budget.value = Number(currentTarget.value))} />
          <output class="code">{budget.value}</output>
        </label>
      )}
      {series && at !== undefined && <Alive label={series.label} memory={series.memory} at={at} />}
      <Curve budget={budget.value} onChoose={(chosenBudget) => still || ((budget.value = chosenBudget), choose("budget"))} />
    </div>
  );
}

/** The answer on top: where the peak of the run is and of what, and the peak under the budget beside it. */
function Peak(): JSX.Element | null {
  const answer = answerTo(MEMORY_QUESTIONS.peak(budget.value));
  if (answer?.answer !== "peak") return null;
  return (
    <p class="answer">
      <SentenceText of={answer.sentence} from="memory" />{" "}
      <span class="muted">
        Terms: <TermLink of="peak">peak</TermLink>, <TermLink of="budget">memory budget</TermLink>
      </span>
    </p>
  );
}

function Totals({ found, onChoose }: { found: readonly Shown[]; onChoose(key: string): void }): JSX.Element {
  return (
    <table class="table">
      <Columns titles={["Mode", number("Saved", "Bytes of saved values as listed, views and inputs included"), number("Activations", "Storages of saved values, each once, without inputs: what saving keeps alive"), number("Live between", "Live between forward and backward, parameters included"), number("Peak"), "at", number("Recomputed")]} />
      <tbody>
        {found.map(({ key, label, memory, savedBytes, activations, recomputed }) => (
          <tr key={key} class={key === chosen.value ? "chosen" : ""}>
            <th scope="row">
              <button type="button" class={`link series-${key}`} aria-pressed={key === chosen.value} onClick={() => onChoose(key)}>
                {label}
              </button>
            </th>
            <td class="number">{savedBytes === undefined ? "" : formatBytes(savedBytes)}</td>
            <td class="number">{activations === undefined ? "" : formatBytes(activations)}</td>
            <td class="number">{formatBytes(memory.between_bytes)}</td>
            <td class="number" data-peak={memory.peak_bytes}>
              {formatBytes(memory.peak_bytes)}
            </td>
            <td class="code">{memory.steps[memory.peak_step]?.name}</td>
            <td class="number">{recomputed ?? ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What is alive at a step, by line. */
function Alive({ label, memory, at }: { label: string; memory: MemoryProfile; at: number }): JSX.Element {
  const current = memory.steps[at];
  const alive = aliveAt(memory, at);
  return (
    <>
      <label class="field run-controls">
        Step
        <input type="range" min="0" max={memory.steps.length - 1} value={at} onInput={({ currentTarget }) => (step.value = Number(currentTarget.value))} />
        <output class="code">
          {current?.name} ({current?.is_backward ? "backward" : "forward"})
        </output>
        {step.value !== undefined && (
          <button type="button" class="link" onClick={() => (step.value = undefined)}>
            To the peak
          </button>
        )}
      </label>
      <table class="table alive">
        <caption>
          {plural(alive.length, "storage")} alive {at === memory.peak_step ? "at the peak" : "there"}, {label}: {formatBytes(current?.bytes ?? 0)}
        </caption>
        <Columns titles={[number("Line"), number("Bytes"), "Values"]} />
        <tbody>
          {byLine(alive).map(({ line, file, bytes, values }) => (
            <tr key={`${file ?? ""}:${line ?? 0}`}>
              <td class="number">
                {line === undefined ? (
                  "inputs"
                ) : (
                  <button
                    type="button"
                    class="link code"
                    aria-label={placeInWords({ line, ...(file === undefined ? {} : { file }) }).replace(/^line/, "Line")}
                    onClick={() => select({ from: "memory", span: values[0]?.span ?? undefined, names: values.map(({ name }) => name) })}
                  >
                    {shortPlace({ line, ...(file === undefined ? {} : { file }) })}
                  </button>
                )}
              </td>
              <td class="number">{formatBytes(bytes)}</td>
              <td class="code wrap">
                {values.slice(0, 12).map(({ name, kind }, at) => (
                  <>
                    {at > 0 && ", "}
                    {name} <SourceName of={name} />
                    {kind === "temporary" ? "" : ` (${kind})`}
                  </>
                ))}
                {values.length > 12 && `, and ${values.length - 12} more`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
