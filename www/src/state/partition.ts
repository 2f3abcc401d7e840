// Partitions of the selected compilation, also ones the script did not ask for: the interpreter still has the joint graph, so
// another budget or a "what if" needs no run. Answers are kept as long as the run they are about.
import { type Signal, computed, effect, signal } from "@preact/signals";
import type { Answer, Partition, PartitionQuery, Question } from "../generated/report";
import { type Run, ask, graphsAreOld, graphsRun, running } from "./session";
import { looked, number, oneOf, word } from "./looked";
import { selectedUnit } from "./unit";

/** A change of a partition, as links hold it. */
export function readVariant(raw: unknown): Partial<PartitionQuery> | undefined {
  if (typeof raw !== "object" || raw === null) return undefined;
  const { partitioner, budget, solver } = raw as Record<string, unknown>;
  const named = oneOf(["default_partition", "min_cut_rematerialization_partition"])(partitioner);
  const [share, by] = [number(0, 1)(budget), word(solver)];
  return { ...(named ? { partitioner: named } : {}), ...(share === undefined ? {} : { budget: share }), ...(by ? { solver: by } : {}) };
}

/** Whose decisions are shown: nothing is changed where it is empty. */
export const variant = looked<Partial<PartitionQuery>>("partition", {}, readVariant);
/** A partition put aside, to compare others with: of this run or of an earlier one, of the script as it was then. */
export const kept = signal<{ label: string; partition: Partition; program: string } | undefined>(undefined);

/** Puts a partition of the run that is shown aside. */
export function keepToCompare(partition: Partition): void {
  const label = `${nameOf(variant.value)}, kept at ${new Date().toLocaleTimeString()}`;
  kept.value = { label, partition, program: graphsRun.value?.program ?? "" };
}

/** By run; of a log, which is a new run with every graph that is read of it, by what was read of the compilation. */
const answers = new WeakMap<object, Map<string, Signal<Answer | undefined>>>();
const keyOf = (run: Run, id: number): object => run.log?.compilations.get(id) ?? run.log?.overview ?? run;

export const compilation = computed(() => selectedUnit.value?.compilation);

/** The query as the interpreter takes it. */
export function query(change: Partial<PartitionQuery>): PartitionQuery {
  return { partitioner: null, budget: null, solver: null, recompute: null, ...change };
}

/** The answer to a question about the selected compilation; `undefined` until it is there. A run is asked once it has ended. */
export function answerTo(question: Question): Answer | undefined {
  const run = graphsRun.value;
  const id = compilation.value?.id;
  if (!run || id === undefined) return undefined;
  if (graphsAreOld.value) return { answer: "failed", message: "These graphs are of the run before; what is asked here needs a run that compiles." };
  const known = answers.get(keyOf(run, id)) ?? new Map<string, Signal<Answer | undefined>>();
  answers.set(keyOf(run, id), known);
  const key = `${id} ${JSON.stringify(question)}`;
  let found = known.get(key);
  if (!found) {
    const answer = signal<Answer | undefined>(run.answers?.get(key));
    found = answer;
    known.set(key, answer);
    const stop = effect(() => {
      // What was recorded has no interpreter.
      if (run.recorded) return;
      // A log waits for nobody.
      if (!run.log && (running.value || run.outcome.kind === "running")) return;
      void (run.log?.ask ?? run.ask ?? ask)(id, question).then((given) => (answer.value = given));
      queueMicrotask(() => stop());
    });
  }
  return found.value;
}

/** The partition of the run, or of a variant of it. */
export function partitionOf(change: Partial<PartitionQuery>): { partition?: Partition; message?: string } {
  const own = compilation.value?.partition;
  if (Object.keys(change).length === 0 && own) return { partition: own };
  const answer = answerTo({ ask: "partition", query: query(change) });
  if (answer?.answer === "partition") return { partition: answer.partition.partition };
  return answer?.answer === "failed" ? { message: answer.message } : {};
}

/** The memory budget that is looked at beside the run's, until the visitor chooses another. */
export const USUAL_BUDGET = 0.5;

/** What the memory pane asks of a compilation. */
export const MEMORY_QUESTIONS = {
  eager: (): Question => ({ ask: "eager" }),
  default: (): Question => ({ ask: "partition", query: query({ partitioner: "default_partition" }) }),
  run: (): Question => ({ ask: "partition", query: query({}) }),
  budget: (budget: number): Question => ({ ask: "partition", query: query({ partitioner: "min_cut_rematerialization_partition", budget }) }),
  peak: (budget: number): Question => ({ ask: "peak", budget }),
  curve: (): Question => ({ ask: "curve", solver: null, points: 20 }),
};

/** What a variant is called. */
export function nameOf(change: Partial<PartitionQuery>): string {
  if (change.partitioner === "default_partition") return "default partitioner";
  if (typeof change.budget === "number") return `min-cut, budget ${change.budget}`;
  return change.partitioner ? "min-cut" : "this run";
}
