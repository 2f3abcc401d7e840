// A row per value of the forward: what became of it, by which rule, at what cost; and, asked for, what would be otherwise.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import type { Decision, Partition } from "../../generated/report";
import { formatBytes, plural } from "../../report/format";
import { capacityText } from "../../report/partition";
import { looked, word } from "../../state/looked";
import { answerTo, compilation, query, variant } from "../../state/partition";
import { select, selection } from "../../state/selection";
import { Columns, number } from "../../ui/columns";
import { SourceName } from "../../ui/source-name";

/** Rows drawn before the visitor asks for all of them. */
const MOST_ROWS = 300;
const FATES = ["saved", "recomputed", "backward only", "not needed"] as const;

const FATE_HELP: Record<(typeof FATES)[number], string> = {
  saved: "The forward saves it for the backward",
  recomputed: "The forward computes it, and the backward once more",
  "backward only": "The backward alone needs it, and computes it",
  "not needed": "The backward does not need it",
};

const shownFates = looked<readonly string[]>("fates", FATES, (raw) => (Array.isArray(raw) ? FATES.filter((fate) => raw.includes(fate)) : undefined));
const opened = looked<string | undefined>("decision", undefined, word);
const all = signal(false);
/** Values of which "what if" was asked. */
const asked = signal<ReadonlySet<string>>(new Set());

export function DecisionsView({ partition }: { partition: Partition }): JSX.Element {
  const rows = partition.decisions.filter(({ fate }) => shownFates.value.includes(fate));
  const drawn = all.value ? rows : rows.slice(0, MOST_ROWS);
  const toggle = (fate: string, on: boolean): void => {
    shownFates.value = FATES.filter((f) => (f === fate ? on : shownFates.value.includes(f)));
  };
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Decisions">
      <p class="run-controls">
        {FATES.map((fate) => (
          <label key={fate} class={`check fate ${fate.replace(" ", "-")}`} title={FATE_HELP[fate]}>
            <input type="checkbox" checked={shownFates.value.includes(fate)} onChange={({ currentTarget }) => toggle(fate, currentTarget.checked)} />
            {fate} ({partition.decisions.filter((d) => d.fate === fate).length})
          </label>
        ))}
      </p>
      <table class="table decisions">
        <Columns titles={["Value", "Fate", "Why", number("Line")]} />
        <tbody>
          {drawn.map((decision) => (
            <Row key={decision.name} decision={decision} />
          ))}
        </tbody>
      </table>
      {drawn.length < rows.length && (
        <p class="caption">
          {plural(rows.length - drawn.length, "more value")}.{" "}
          <button type="button" class="link" onClick={() => (all.value = true)}>
            Show all
          </button>
        </p>
      )}
    </div>
  );
}

function Row({ decision }: { decision: Decision }): JSX.Element {
  const { name, fate, reason, line } = decision;
  const isOpen = opened.value === name;
  const span = compilation.value?.joint?.nodes.find((node) => node.name === name)?.span ?? undefined;
  const choose = (): void => {
    opened.value = isOpen ? undefined : name;
    select({ from: "partition", span, names: [name] });
  };
  return (
    <>
      <tr class={selection.value?.names.includes(name) ? "chosen" : ""}>
        <th scope="row">
          <button type="button" class="link code" aria-expanded={isOpen} onClick={choose}>
            {name}
          </button>
          <SourceName of={name} />
        </th>
        <td class={`fate ${fate.replace(" ", "-")}`}>{fate}</td>
        <td class="why">{reason}</td>
        <td class="number">{line}</td>
      </tr>
      {isOpen && (
        <tr class="detail-row">
          <td colSpan={4}>
            <Detail decision={decision} />
          </td>
        </tr>
      )}
    </>
  );
}

function Detail({ decision }: { decision: Decision }): JSX.Element {
  const { name, fate, needed_by, recomputed_from, cost } = decision;
  const capacity = capacityText(decision);
  return (
    <dl class="facts">
      {capacity && (
        <>
          <dt>Capacity</dt>
          <dd>{capacity}</dd>
        </>
      )}
      {needed_by.length > 0 && (
        <>
          <dt>Read in the backward by</dt>
          <dd>
            <Names names={needed_by} />
          </dd>
        </>
      )}
      {fate === "recomputed" && cost && (
        <>
          <dt>Recomputed from</dt>
          <dd>
            <Names names={recomputed_from} />
            {`: ${plural(cost.calls, "call")}, ${formatBytes(cost.bytes)} written`}
            {cost.flops > 0 && `, ${cost.flops.toExponential(1)} flops`}
          </dd>
        </>
      )}
      {fate === "saved" && (
        <>
          <dt>If it were recomputed</dt>
          <dd>{asked.value.has(name) ? <Counterfactual name={name} /> : <AskButton name={name} />}</dd>
        </>
      )}
    </dl>
  );
}

function AskButton({ name }: { name: string }): JSX.Element {
  return (
    <button type="button" class="button" onClick={() => (asked.value = new Set(asked.value).add(name))}>
      What would be saved instead?
    </button>
  );
}

function Counterfactual({ name }: { name: string }): JSX.Element {
  const answer = answerTo({ ask: "counterfactual", name, query: query(variant.value) });
  if (!answer) return <>Asking…</>;
  if (answer.answer !== "counterfactual") return <>{answer.answer === "failed" ? answer.message : ""}</>;
  const { impossible, saved_instead, no_longer_saved, bytes, cut, recomputed } = answer.counterfactual;
  if (impossible) return <>{impossible}</>;
  const change = bytes === 0 ? "as many bytes saved" : `${formatBytes(Math.abs(bytes))} ${bytes > 0 ? "more" : "less"} saved`;
  const others = no_longer_saved.filter((value) => value.name !== name).map((value) => value.name);
  return (
    <span data-counterfactual={name}>
      {saved_instead.length > 0 ? (
        <>
          <Names names={saved_instead.map((value) => value.name)} /> would be saved instead
        </>
      ) : (
        "nothing more would be saved"
      )}
      {others.length > 0 && (
        <>
          {" "}
          (and <Names names={others} /> no longer)
        </>
      )}
      {`: ${change}`}
      {cut !== 0 && `, the cut ${Math.abs(cut)} ${cut > 0 ? "dearer" : "cheaper, were it not for the rule"}`}
      {recomputed.length > 0 && (
        <>
          ; recomputed: <Names names={recomputed} />
        </>
      )}
      .
    </span>
  );
}

/** Names of values; a long list is cut. */
export function Names({ names }: { names: readonly string[] }): JSX.Element {
  const most = 12;
  return (
    <>
      {names.slice(0, most).map((name, i) => (
        <>
          {i > 0 && ", "}
          <button type="button" class="link code" onClick={() => select({ from: "partition", span: undefined, names: [name] })}>
            {name}
          </button>
          <SourceName of={name} />
        </>
      ))}
      {names.length > most && `, and ${names.length - most} more`}
    </>
  );
}
