// Two partitions side by side: of this run, of another partitioner or budget, or one put aside before the script was edited.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import type { Decision, Partition, PartitionQuery } from "../../generated/report";
import { recomputedBy } from "../../report/counts";
import { formatBytes } from "../../report/format";
import { compare } from "../../report/partition";
import { looked } from "../../state/looked";
import { kept, nameOf, partitionOf, readVariant, variant } from "../../state/partition";
import { graphsRun } from "../../state/session";
import { Columns } from "../../ui/columns";
import { Names } from "./decisions";
import { Variants } from "./variants";

const other = looked<Partial<PartitionQuery>>("compareWith", { partitioner: "default_partition" }, readVariant);
const useKept = signal(false);

export function CompareView(): JSX.Element {
  const first = partitionOf(variant.value);
  const aside = useKept.value ? kept.value : undefined;
  const second = aside ? { partition: aside.partition } : partitionOf(other.value);
  const message = first.message ?? second.message;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Comparison">
      {kept.value && (
        <label class="check compare-kept">
          <input type="checkbox" checked={useKept.value} onChange={({ currentTarget }) => (useKept.value = currentTarget.checked)} />
          With what was kept: {kept.value.label}
        </label>
      )}
      {!aside && <Variants label="Compare with" value={other.value} onChange={(next) => (other.value = next)} />}
      {message && <p class="note error">{message}</p>}
      {first.partition && second.partition ? (
        <Differences first={first.partition} second={second.partition} names={[nameOf(variant.value), aside?.label ?? nameOf(other.value)]} then={aside?.program} />
      ) : (
        !message && <p class="empty">Partitioning…</p>
      )}
    </div>
  );
}

interface Props {
  first: Partition;
  second: Partition;
  names: [string, string];
  /** The script of the second one, where that was put aside. */
  then: string | undefined;
}

function Differences({ first, second, names, then }: Props): JSX.Element {
  const now = graphsRun.value?.program;
  const found = compare(first, second, now !== undefined && then !== undefined && now !== then ? [now, then] : undefined);
  const rows: [string, Decision[], Decision[]][] = [
    ["Saved here alone", found.savedInFirst, found.savedInSecond],
    ["Recomputed here alone", found.recomputedInFirst, found.recomputedInSecond],
    ["Values the other does not have", found.onlyFirst, found.onlySecond],
  ];
  const same = rows.every(([, a, b]) => a.length + b.length === 0);
  return (
    <table class="table compare">
      <Columns titles={["", ...names]} />
      <tbody>
        <tr>
          <th scope="row">Saved bytes, as listed</th>
          {[first, second].map((partition, i) => (
            <td key={i}>{formatBytes(partition.saved_bytes)}</td>
          ))}
        </tr>
        <tr>
          <th scope="row">Activations kept alive</th>
          {[first, second].map((partition, i) => (
            <td key={i}>{formatBytes(partition.activation_bytes)}</td>
          ))}
        </tr>
        <tr>
          <th scope="row">Recomputed</th>
          {[first, second].map((partition, i) => (
            <td key={i}>{recomputedBy(partition)}</td>
          ))}
        </tr>
        {same ? (
          <tr>
            <th scope="row">Decisions</th>
            <td colSpan={2}>the same for every value</td>
          </tr>
        ) : (
          rows.map(([label, a, b]) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {[a, b].map((decisions, i) => (
                <td key={i}>{decisions.length > 0 ? <Names names={decisions.map(({ name }) => name)} /> : "–"}</td>
              ))}
            </tr>
          ))
        )}
      </tbody>
    </table>
  );
}
