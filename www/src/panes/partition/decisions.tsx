// A row per value of the forward: what became of it, by which rule, at what cost; and, asked for, what would be otherwise.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import type { Decision, Partition } from "../../generated/report";
import { formatBytes, formatShape, plural } from "../../report/format";
import { lineText, type Placed } from "../../report/grouping";
import { capacityText } from "../../report/partition";
import { looked, word } from "../../state/looked";
import { answerTo, compilation, query, variant } from "../../state/partition";
import { select } from "../../state/selection";
import { sourceNames } from "../../state/unit";
import { Coded } from "../../ui/coded";
import { SourceName } from "../../ui/source-name";
import { type ListColumn, listState, ValueList } from "../../ui/value-list";

const FATES = ["saved", "recomputed", "backward only", "not needed"] as const;

const FATE_HELP: Record<(typeof FATES)[number], string> = {
  saved: "The forward saves it for the backward",
  recomputed: "The forward computes it, and the backward once more",
  "backward only": "The backward alone needs it, and computes it",
  "not needed": "The backward does not need it",
};

const shownFates = looked<readonly string[]>("fates", FATES, (raw) => (Array.isArray(raw) ? FATES.filter((fate) => raw.includes(fate)) : undefined));
const opened = looked<string | undefined>("decision", undefined, word);
const state = listState("decisions");
/** Values of which "what if" was asked. */
const asked = signal<ReadonlySet<string>>(new Set());

interface Item extends Placed {
  decision: Decision;
}

export function DecisionsView({ partition }: { partition: Partition }): JSX.Element {
  const items = itemsOf(partition.decisions.filter(({ fate }) => shownFates.value.includes(fate)));
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
      <ValueList
        label="Decisions"
        state={state}
        items={items}
        columns={COLUMNS}
        class="decisions"
        onChoose={({ decision }) => choose(decision)}
        detail={({ name, decision }) => (opened.value === name ? <Detail decision={decision} /> : undefined)}
      />
    </div>
  );
}

function choose({ name }: Decision): void {
  opened.value = opened.value === name ? undefined : name;
  select({ from: "partition", span: compilation.value?.joint?.nodes.find((node) => node.name === name)?.span ?? undefined, names: [name] });
}

function itemsOf(decisions: readonly Decision[]): Item[] {
  const nodes = new Map((compilation.value?.joint?.nodes ?? []).map((node) => [node.name, node]));
  return decisions.map((decision) => {
    const node = nodes.get(decision.name);
    return {
      name: decision.name,
      bytes: node?.bytes ?? undefined,
      line: decision.line ?? undefined,
      file: node?.span?.file,
      module: node?.module_path ?? "",
      type: `${decision.fate} ${node?.dtype ?? ""}${formatShape(node?.shape)}`,
      decision,
    };
  });
}

const COLUMNS: readonly ListColumn<Item>[] = [
  { key: "name", title: "Value", text: ({ name }) => [name, sourceNames.value.get(name)].filter(Boolean).join(" "), cell: ({ decision }) => <Name decision={decision} /> },
  { key: "fate", title: "Fate", text: ({ decision }) => decision.fate, cell: ({ decision: { fate } }) => <span class={`fate ${fate.replace(" ", "-")}`}>{fate}</span> },
  { key: "bytes", title: "Bytes", number: true, text: ({ bytes }) => (bytes === undefined ? "" : formatBytes(bytes)), order: ({ bytes }) => bytes ?? -1 },
  { key: "why", title: "Why", text: ({ decision }) => decision.reason, cell: ({ decision }) => <Coded text={decision.reason} />, look: "why" },
  { key: "line", title: "Line", number: true, text: lineText, order: ({ line }) => line ?? -1 },
];

function Name({ decision }: { decision: Decision }): JSX.Element {
  return (
    <>
      <button type="button" class="link code" aria-expanded={opened.value === decision.name} onClick={() => choose(decision)}>
        {decision.name}
      </button>
      <SourceName of={decision.name} />
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
