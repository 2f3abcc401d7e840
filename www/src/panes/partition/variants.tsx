// Which partition is looked at: the run's own, or one that the interpreter makes on demand.
import type { JSX } from "preact";
import type { PartitionQuery } from "../../generated/report";
import { variant } from "../../state/partition";

export const SOLVERS = ["dp", "greedy", "ilp"] as const;

/** Of a partition's query, as the controls show it. */
export function Variants({ value, onChange, label }: { value: Partial<PartitionQuery>; onChange(next: Partial<PartitionQuery>): void; label: string }): JSX.Element {
  const kind = value.partitioner === "default_partition" ? "default" : value.budget === undefined ? "own" : "budget";
  const choose = (next: string): void => {
    if (next === "default") onChange({ partitioner: "default_partition" });
    else if (next === "budget") onChange({ partitioner: "min_cut_rematerialization_partition", budget: 0.5 });
    else onChange({});
  };
  return (
    <div class="run-controls variants" role="group" aria-label={label}>
      <label class="field">
        {label}
        <select class="select" value={kind} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          <option value="own">this run</option>
          <option value="default">default partitioner</option>
          <option value="budget">min-cut with a budget</option>
        </select>
      </label>
      {kind === "budget" && (
        <>
          <label class="field">
            Budget
            <input
              type="range"
              min="0"
              max="1"
              step="0.05"
              value={value.budget ?? 1}
              onInput={({ currentTarget }) => onChange({ ...value, budget: Number(currentTarget.value) })}
            />
            <output class="code">{value.budget}</output>
          </label>
          <label class="field">
            Solver
            <select class="select" value={value.solver ?? ""} onChange={({ currentTarget }) => onChange(withSolver(value, currentTarget.value))}>
              <option value="">this run</option>
              {SOLVERS.map((solver) => (
                <option key={solver} value={solver}>
                  {solver}
                </option>
              ))}
            </select>
          </label>
        </>
      )}
    </div>
  );
}

function withSolver({ solver: _, ...rest }: Partial<PartitionQuery>, name: string): Partial<PartitionQuery> {
  return name ? { ...rest, solver: name } : rest;
}

/** The variant that all views share. */
export function SharedVariant(): JSX.Element {
  return <Variants label="Partition" value={variant.value} onChange={(next) => (variant.value = next)} />;
}
