// The stages of a compilation, in the order they come to be.
import type { CapturedGraph, Compilation, GraphView, Report, Tape } from "../generated/report";

export const STAGES = ["tape", "captured", "functionalized", "joint", "forward", "backward", "inference", "frozen"] as const;
export type Stage = (typeof STAGES)[number];

/** Whether AOTAutograd makes it: what stands before has no saved values. */
export const isTraced = (stage: Stage): boolean => stage !== "tape" && stage !== "captured";

export const STAGE_TITLES: Record<Stage, string> = {
  tape: "Compiled autograd",
  captured: "Captured",
  functionalized: "Functionalized",
  joint: "Joint",
  forward: "Forward",
  backward: "Backward",
  inference: "Inference",
  frozen: "Frozen",
};

/** What a stage is, in one sentence. */
export const STAGE_HELP: Record<Stage, string> = {
  tape: "The backward as compiled autograd captured it: a call per autograd node, and the hooks in their place.",
  captured: "What torch.compile recorded of the Python code, before autograd.",
  functionalized: "The forward before it is differentiated: what writes in place is functional now, and operators are ATen's.",
  joint: "Joint graph: forward and backward before they are split, in-place ops already functionalized. primals: inputs and parameters; tangents: gradients of the outputs.",
  forward: "The partitioned forward: it returns its outputs, then the values saved for the backward.",
  backward: "The partitioned backward: it takes the saved values and the tangents, and returns the gradients.",
  inference: "Nothing requires grad: the forward alone.",
  frozen: "The inference graph with parameters as constants (_frozen_param0), and what depends on them alone computed once, as torch._inductor.freezing logs it.",
};

/** One thing to look at: a compilation with the region it comes from, or either alone. */
export interface Unit {
  key: string;
  title: string;
  stages: Partial<Record<Stage, GraphView>>;
  compilation: Compilation | undefined;
  /** The tape whose backward it is. */
  tape?: Tape | undefined;
}

/** The tape whose tensors are what a unit reads; where it has a backward of its own, that is what the forward saves for. */
export const tapeOf = (unit: Unit | undefined): Tape | undefined => (unit?.compilation?.kind === "joint" ? undefined : unit?.tape);

/** PyTorch's compile ids of captured graphs, as `TORCH_LOGS` has them: frame, then how often that was compiled before. */
export function compileIds(report: Report): ReadonlyMap<number, string> {
  const counts = new Map<number, number>();
  const ids = new Map<number, string>();
  for (const { id, entry } of report.regions) {
    if (!entry) continue;
    const count = counts.get(entry.frame) ?? 0;
    counts.set(entry.frame, count + 1);
    ids.set(id, `[${entry.frame}/${count}]`);
  }
  return ids;
}

/** Graphs of a log are read when they are first shown. */
const isRead = ({ graph }: CapturedGraph): boolean => graph.readable !== "";

/** The units of a report: a captured region that was not compiled (yet) is one of its own. */
export function units(report: Report): Unit[] {
  const result: Unit[] = [];
  const compiled = new Set<number>();
  const tapes = new Set<number>();
  const ids = compileIds(report);
  const titled = (region: CapturedGraph | undefined, id: number): string =>
    region ? [region.function, ids.get(region.id)].filter(Boolean).join(" ") : `graph ${id}`;
  // Several graphs may come of one tape: each has it before it.
  const withTape = (unit: Unit, region: CapturedGraph | undefined): Unit => {
    const tape = report.tapes.find(({ id }) => id === region?.tape);
    if (!tape) return unit;
    tapes.add(tape.id);
    return { ...unit, stages: { tape: tape.graph, ...unit.stages }, tape };
  };
  const regions = new Map(report.regions.map((region) => [region.id, region]));
  for (const compilation of report.compilations) {
    const region = compilation.region === null ? undefined : regions.get(compilation.region);
    if (region) compiled.add(region.id);
    const stages: Unit["stages"] = {};
    if (region && isRead(region)) stages.captured = region.graph;
    for (const stage of ["functionalized", "joint", "forward", "backward", "inference", "frozen"] as const) {
      const graph = compilation[stage];
      if (graph) stages[stage] = graph;
    }
    const title = compilation.abandoned ? `${titled(region, compilation.id)} (trace discarded)` : titled(region, compilation.id);
    result.push(withTape({ key: `c${compilation.id}`, title, stages, compilation }, region));
  }
  for (const region of report.regions) {
    if (!compiled.has(region.id)) {
      const stages = isRead(region) ? { captured: region.graph } : {};
      result.push(withTape({ key: `r${region.id}`, title: titled(region, region.id), stages, compilation: undefined }, region));
    }
  }
  // A compiler of the script's may do anything with a tape.
  for (const tape of report.tapes) {
    if (!tapes.has(tape.id)) result.push({ key: `t${tape.id}`, title: tape.name, stages: { tape: tape.graph }, compilation: undefined, tape });
  }
  return result;
}
