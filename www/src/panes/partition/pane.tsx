// What became of every forward value, and why; the cut as a network; partitions side by side.
import type { JSX } from "preact";
import type { Partition } from "../../generated/report";
import { Tabs } from "../../layout/tabs";
import { keptBy, keptText, recomputedBy } from "../../report/counts";
import { looked, oneOf } from "../../state/looked";
import { compilation, keepToCompare, partitionOf, variant } from "../../state/partition";
import { graphsAreOld, graphsRun } from "../../state/session";
import { Decided } from "../log";
import { CompareView } from "./compare";
import { DecisionsView } from "./decisions";
import { NetworkView } from "./network";
import { SharedVariant } from "./variants";
import { whyNoTrace } from "../../state/unit";
import "./partition.css";

type View = "decisions" | "network" | "compare";
const VIEWS = [
  { key: "decisions", title: "Decisions" },
  { key: "network", title: "Cut" },
  { key: "compare", title: "Compare" },
] as const;
const open = looked<View>("partitionView", "decisions", oneOf(VIEWS.map(({ key }) => key)));

export function PartitionView(): JSX.Element {
  const unit = compilation.value;
  if (!unit?.partition && graphsRun.value?.log && unit?.kind === "joint") return <Decided />;
  if (!unit?.partition) {
    const nothing = unit ? "Nothing requires grad here: there is nothing to partition." : (whyNoTrace.value ?? "Why each value is saved or recomputed appears here.");
    return <p class="empty">{nothing}</p>;
  }
  const { partition, message } = partitionOf(variant.value);
  return (
    <div class="partition">
      {graphsAreOld.value && <p class="stale">From the run before: the script failed before it compiled anything.</p>}
      {graphsRun.value?.log && <Decided />}
      <SharedVariant />
      {message && <p class="note error">{message}</p>}
      {partition && <Summary partition={partition} />}
      <Tabs id="partition-view" label="Of the partition" tabs={VIEWS} open={open.value} onOpen={(view) => (open.value = view)} class="segmented" />
      <div class="partition-body" id="partition-view-panel" role="tabpanel" aria-labelledby={`partition-view-tab-${open.value}`}>
        {open.value === "network" ? (
          <NetworkView />
        ) : open.value === "compare" ? (
          <CompareView />
        ) : partition ? (
          <DecisionsView partition={partition} />
        ) : (
          !message && <p class="empty">Partitioning…</p>
        )}
      </div>
    </div>
  );
}

function Summary({ partition }: { partition: Partition }): JSX.Element {
  const cut = partition.decisive ?? partition.cut;
  const { flops } = partition.recompute_cost;
  return (
    <>
      <p class="summary">
        <code class="chip">{partition.partitioner}</code>
        <span class="chip">
          {keptText(keptBy(partition))}
        </span>
        <span class="chip">
          {recomputedBy(partition)} recomputed{flops > 0 && `, ${flops.toExponential(1)} flops`}
        </span>
        {cut && <span class="chip">cut of {cut.value}</span>}
        <button type="button" class="link" onClick={() => keepToCompare(partition)}>
          Keep to compare
        </button>
      </p>
      {partition.replayed.length > 0 && (
        <p class="note">
          PyTorch computes <code>{partition.replayed.join(", ")}</code> again in the backward with new random numbers, so that its gradients are wrong. The
          decision shown is PyTorch's; what runs here draws the forward's numbers again.
        </p>
      )}
    </>
  );
}
